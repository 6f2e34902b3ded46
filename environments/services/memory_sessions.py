"""Sessions in this process's memory only, for stdio and `/mcp/e/`: nothing is stored; they end with their caller."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from environments.adapters.threads import DatabaseThreads
from environments.core.errors import (
    FieldError,
    InvalidInputError,
    NotVerifiedError,
    QuotaExceededError,
    SessionClosedError,
)
from environments.models import Environment, EnvironmentVersion, Scenario
from environments.runtime.records import CallRecord
from environments.runtime.session import Session
from environments.services.sessions import check_calls, close_quietly, open_at, sandbox_errors
from environments.services.workers import environment_of


@dataclass(frozen=True, slots=True)
class MemoryStart:
    """A start that exists and may be played."""

    version: EnvironmentVersion
    scenario: str
    seed: int | None


def find_memory_start(
    *, name: str, scenario: str | None = None, seed: int | None = None, number: int | None = None
) -> MemoryStart:
    """The start that is asked for.

    Args:
        name: The environment's.
        scenario: By default its simplest.
        seed: Of ids and randomness; None is the scenario's own.
        number: Of the version; by default the newest that is verified.

    Raises:
        InvalidInputError: If there is no such environment, version or scenario; the field says which.
        NotVerifiedError: If that version may not be played, or none may.
    """
    environment = Environment.objects.select_related("verified_version__environment").filter(name=name).first()
    if environment is None:
        known = ", ".join(Environment.objects.verified().values_list("name", flat=True)[:20]) or "none yet"
        raise _unknown("/environment", f"There is no environment named {name!r}. Verified ones: {known}.")
    version = environment.verified_version
    if number is not None:
        version = environment.versions.select_related("environment").filter(number=number).first()
        if version is None:
            raise _unknown("/version", f"{name} has no version {number}.")
    if version is None:
        raise NotVerifiedError(f"{name} has no verified version: only those can be played.")
    if not version.is_usable:
        raise NotVerifiedError(f"{version} is {version.status}: only verified versions can be played.")
    levels = dict(version.scenarios.order_by("position").values_list("name", "level"))
    if scenario is None:
        scenario = min(levels, key=lambda name: Scenario.Level.values.index(levels[name]))
    if scenario not in levels:
        raise _unknown(
            "/scenario", f"{version} has no scenario named {scenario!r}. Its scenarios: {', '.join(levels)}."
        )
    return MemoryStart(version, scenario, seed)


class MemorySession:
    """One state; its calls are made one after another, and its worker is first asked for when it is called."""

    def __init__(self, start: MemoryStart, threads: DatabaseThreads) -> None:
        self.start = start
        self.used = time.monotonic()
        self._threads = threads
        self._lock = asyncio.Lock()
        self._live: Session | None = None
        self._num_calls = 0
        self._is_closed = False

    @property
    def is_busy(self) -> bool:
        """Whether a call is being made."""
        return self._lock.locked()

    def touch(self) -> None:
        """Notes that it is in use, so that it is not taken for idle."""
        self.used = time.monotonic()

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> CallRecord:
        """Makes one call.

        Raises:
            InvalidInputError: The arguments hold what no record can keep.
            SessionClosedError: It was closed.
            QuotaExceededError: It has had as many calls as the settings allow.
            SandboxFailedError: The worker can't be had.
        """
        async with self._lock, self._threads.share(self.start.version.pk):
            if self._is_closed:
                raise SessionClosedError("The connection has ended. Connect again; it starts anew.")
            try:
                return await self._threads.run(self._call, tool, arguments)
            finally:
                self.used = time.monotonic()

    async def close(self) -> None:
        """Lets go of the state; closing twice is harmless."""
        async with self._lock:
            self._is_closed = True
            live, self._live = self._live, None
            if live is not None:
                await self._threads.run(close_quietly, live)

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> CallRecord:
        check_calls([(tool, arguments)])
        if self._num_calls >= settings.SESSION_MAX_CALLS:
            raise QuotaExceededError(
                f"A session holds at most {settings.SESSION_MAX_CALLS} calls (SESSION_MAX_CALLS). Connect again."
            )
        with sandbox_errors():
            if self._live is None:
                self._live = open_at(environment_of(self.start.version), self.start.scenario, self.start.seed, None)
            record = self._live.call(tool, arguments)
        self._live.transcript.clear()  # nobody reads it
        self._num_calls += 1
        return record


def _unknown(pointer: str, detail: str) -> InvalidInputError:
    return InvalidInputError(detail, fields=(FieldError(pointer, "unknown", detail),))
