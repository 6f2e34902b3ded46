"""What a kind of job is and what its run may do; the table, the queue and the worker are elsewhere.

An app registers its kinds in `AppConfig.ready()`; one list, one API and one page then show all work.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal, Protocol
from uuid import UUID

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind

from environments.core.access import Permission
from environments.core.errors import FieldError, InvalidInputError, UnknownJobKindError


class Queue(StrEnum):
    """Where a kind's jobs wait. One worker can serve several queues; `train` is served one job at a time."""

    DEFAULT = "default"
    BUILD = "build"
    ROLLOUT = "rollout"
    TRAIN = "train"


class Waiting:
    """Type of `WAITING`."""


WAITING: Final = Waiting()
"""Returned by a run that spawned children: the row waits, no worker does, and `collect` follows the last child."""

COLLECT_STAGE: Final = "collect"
"""The stage at which a parent is queued again once its last child is final."""

LogLevel = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class ChildOutcome:
    """A final or unfinished child as its parent sees it."""

    code: UUID
    key: str
    status: str
    result: Any
    error_code: str
    error_message: str


class JobContext(Protocol):
    """What a run may see and do."""

    @property
    def job_code(self) -> UUID:
        """The job's public code."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The job's parameters, valid for the kind's schema, defaults filled in."""

    @property
    def stage(self) -> str:
        """The stage at which the row was claimed: empty at first, `collect` after the children."""

    @property
    def attempt(self) -> int:
        """How often the row has been claimed, this time included."""

    def progress(self, stage: str, done: int, total: int | None) -> None:
        """Reports that `done` of `total` units of a stage are finished; written at most once a second.

        Raises:
            JobCancelledError: If somebody asked to cancel.
            JobLostError: If another worker has taken the row over.
        """

    def log(self, level: LogLevel, text: str) -> None:
        """Appends a line to the job's log; never prompts, secrets or whole payloads."""

    def check_cancelled(self) -> None:
        """Looks for a wish to cancel, at most once a second; call it in every loop.

        Raises:
            JobCancelledError: If somebody asked to cancel.
            JobLostError: If another worker has taken the row over.
        """

    def spawn(self, kind: str, parameters: Mapping[str, Any], key: str) -> UUID:
        """Creates the child with that key unless it exists already, and returns its code."""

    def children(self) -> Sequence[ChildOutcome]:
        """The children by key."""


@dataclass(frozen=True, slots=True)
class JobKind:
    """One kind of work.

    Attributes:
        name: lower_snake, unique, final once released.
        title: What a person reads, such as "Self-check".
        description: One or two sentences for the form and the API.
        queue: Where its jobs wait.
        parameters: JSON Schema (draft 2020-12) of type object with `additionalProperties: false`.
        run: The work. It may be started again at any point, so its results go under unique keys.
        permission: What a person needs to start, cancel or retry one.
        soft_seconds: After this long the run is interrupted and fails with `timed_out`.
        hard_seconds: After this long its process is killed; the sweep then counts an attempt.
        max_attempts: How often it may be tried when a worker dies or an error is transient.
        is_startable: Whether people may start it themselves; false for kinds that only spawn.
    """

    name: str
    title: str
    description: str
    queue: Queue
    parameters: Mapping[str, Any]
    run: Callable[[JobContext], Any]
    permission: Permission = Permission.RUN_JOBS
    soft_seconds: int = 3600
    hard_seconds: int = 3660
    max_attempts: int = 3
    is_startable: bool = True
    _validator: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.hard_seconds <= self.soft_seconds:
            raise ValueError(f"job kind {self.name}: hard_seconds must be above soft_seconds")
        object.__setattr__(self, "_validator", jsonschema_rs.Draft202012Validator(dict(self.parameters)))

    def check_parameters(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the parameters with the schema's top-level defaults filled in.

        Raises:
            InvalidInputError: If they do not fit the schema; `fields` points at each fault below `/parameters`.
        """
        properties: Mapping[str, Any] = self.parameters.get("properties", {})
        filled = {name: schema["default"] for name, schema in properties.items() if "default" in schema}
        filled.update(parameters)
        faults = unstorable_strings(filled) or tuple(
            FieldError(_pointer(path), code, error.message)
            for error in self._validator.iter_errors(filled)
            for code, path in _places(error)
        )
        if faults:
            raise InvalidInputError(f"The parameters of {self.name} do not fit its schema.", fields=faults)
        for name, schema in properties.items():
            # To JSON Schema 5.0 is an integer; to range() it is not.
            if schema.get("type") == "integer" and isinstance(filled.get(name), float):
                filled[name] = int(filled[name])
        return filled


_KINDS: dict[str, JobKind] = {}


def register_job_kind(kind: JobKind) -> None:
    """Makes a kind known; called from `AppConfig.ready()`.

    Raises:
        ValueError: If another kind has that name.
    """
    if _KINDS.get(kind.name, kind) != kind:
        raise ValueError(f"job kind {kind.name} is registered twice")
    _KINDS[kind.name] = kind


def job_kind(name: str) -> JobKind:
    """Returns the registered kind.

    Raises:
        UnknownJobKindError: If no app registered it.
    """
    try:
        return _KINDS[name]
    except KeyError:
        known = ", ".join(sorted(_KINDS))
        detail = f"No kind is named {name!r}. Known kinds: {known}."
        raise UnknownJobKindError(detail, fields=(FieldError("/kind", "unknown", detail),)) from None


def job_kinds() -> list[JobKind]:
    """All kinds by name."""
    return [_KINDS[name] for name in sorted(_KINDS)]


_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def unstorable_strings(
    value: Any, path: tuple[str | int, ...] = (), *, root: str = "/parameters"
) -> tuple[FieldError, ...]:
    """Faults of every string below `value` that PostgreSQL cannot keep: a NUL or half of a surrogate pair."""
    if isinstance(value, str):
        if _UNSTORABLE.search(value):
            return (FieldError(_pointer(path, root), "invalid", "holds a NUL character or a lone surrogate"),)
        return ()
    if isinstance(value, Mapping):
        pairs = [(key, key, item) for key, item in value.items()]
    elif isinstance(value, list | tuple):
        pairs = [("", index, item) for index, item in enumerate(value)]
    else:
        return ()
    return tuple(
        fault
        for key, step, item in pairs
        for part in (key, item)
        for fault in unstorable_strings(part, (*path, step), root=root)
    )


def _places(error: jsonschema_rs.ValidationError) -> list[tuple[str, tuple[str | int, ...]]]:
    """The fields that an error is about, each with its code; an absent or unknown field is named itself."""
    path = tuple(error.instance_path)
    if isinstance(error.kind, ValidationErrorKind.Required):
        return [("required", (*path, error.kind.property))]
    if isinstance(error.kind, ValidationErrorKind.AdditionalProperties):
        return [("unknown", (*path, name)) for name in error.kind.unexpected]
    return [("invalid", path)]


def _pointer(path: Sequence[str | int], root: str = "/parameters") -> str:
    escaped = (str(part).replace("~", "~0").replace("/", "~1") for part in path)
    return root + "".join(f"/{part}" for part in escaped)
