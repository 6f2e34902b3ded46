"""Sessions over REST and in the console: each request locks the row, restores it into a worker, runs, stores.

Any number of processes serve one session and a restart loses nothing (docs/contracts.md, C5). What a process restored
it keeps for a while, so that the next request for the same session finds its state there if nobody else changed it.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from environments.core.access import Permission
from environments.core.errors import (
    FieldError,
    InvalidInputError,
    NotVerifiedError,
    PermissionDeniedError,
    QuotaExceededError,
    ReplayDiffersError,
    SandboxFailedError,
    SessionClosedError,
    SessionLeasedError,
)
from environments.core.jobs import unstorable_strings
from environments.models import ApiToken, EnvironmentSession, EnvironmentVersion, ToolCall, User
from environments.runtime.records import CallRecord, CallStatus, RowChange
from environments.runtime.sandbox.errors import RequestError, SandboxError
from environments.runtime.session import Audience, Call, Environment, Session, SessionError, Start, State
from environments.runtime.transcripts import Transcript, dump_transcript
from environments.services.workers import environment_of

MAX_BATCH: Final = 256
"""Calls in one request."""
MAX_KEPT: Final = 256
"""Restored states that a process keeps between requests; each costs a worker a few hundred kilobytes."""
UNPLAYED: Final = frozenset({CallStatus.INVALID, CallStatus.INFRASTRUCTURE})
"""Calls that never reached a tool and are not played again."""

Status = EnvironmentSession.Status


# --- Restoring --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Restored:
    """A session's state in a worker of this process.

    Attributes:
        runtime: The live session; its own transcript is not used, since the row's is the truth.
        revision: The row's revision that it stands for.
        episode: The row's episode.
    """

    runtime: Session
    revision: int
    episode: int


class _Kept:
    """Restored states by session, the longest unused let go first; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_pk: OrderedDict[int, Restored] = OrderedDict()

    def take(self, row: EnvironmentSession) -> Restored | None:
        """The state that stands for the row as it is now; anything older is let go."""
        with self._lock:
            found = self._by_pk.pop(row.pk, None)
        if found is None:
            return None
        if (found.revision, found.episode) == (row.revision, row.episode):
            return found
        close_quietly(found.runtime)
        return None

    def keep(self, row: EnvironmentSession, restored: Restored) -> None:
        """Keeps it for the next request."""
        with self._lock:
            former = self._by_pk.pop(row.pk, None)
            self._by_pk[row.pk] = restored
            surplus = [self._by_pk.popitem(last=False)[1] for _ in range(max(0, len(self._by_pk) - MAX_KEPT))]
        for old in [former, *surplus]:
            if old is not None and old is not restored:
                close_quietly(old.runtime)


_kept = _Kept()


def close_quietly(session: Session) -> None:
    """Lets go of a live session whose worker may be gone already."""
    try:
        session.close()
    except SandboxError:
        return


def restore_session(row: EnvironmentSession) -> Restored:
    """Brings a stored session to life: from its snapshot, then the calls stored after it, each compared.

    Raises:
        ReplayDiffersError: A call answered otherwise than its record.
        SandboxFailedError: The worker can't be had, or was lost.
    """
    environment = environment_of(row.version)
    snapshot = row.snapshot if row.snapshot is not None else row.start_snapshot
    with sandbox_errors():
        live = open_at(environment, row.scenario, row.seed, snapshot)
        later = row.transcript.filter(index__gte=row.snapshot_calls).exclude(
            status__in=[each.value for each in UNPLAYED]
        )
        records = [call.to_core() for call in later]
        again = live.calls([(record.tool, record.arguments) for record in records], audience=None)
    for record, made in zip(records, again, strict=True):
        if (record.status, record.observation) != (made.status, made.observation):
            close_quietly(live)
            raise ReplayDiffersError(
                f"Call {record.index} ({record.tool}) answered otherwise when it was played again; the environment "
                "is suspect and the session can't go on."
            )
    return Restored(live, row.revision, row.episode)


def open_at(environment: Environment, scenario: str, seed: int | None, snapshot: str | None) -> Session:
    """A live session at a scenario, or at a snapshot of an episode from it."""
    live = environment.open(scenario, seed)
    if snapshot is not None:
        live.restore(snapshot.encode())
    return live


@contextmanager
def sandbox_errors() -> Iterator[None]:
    """Turns what goes wrong at the sandbox's boundary into errors that doors can answer with.

    Raises:
        InvalidInputError: A snapshot that is none, or of something else.
        SandboxFailedError: The worker can't be had, or was lost.
    """
    try:
        yield
    except SessionError as error:
        raise InvalidInputError(str(error), fields=(FieldError("/snapshot", "invalid", str(error)),)) from error
    except RequestError as error:
        raise InvalidInputError(str(error), fields=(FieldError("", error.kind, str(error)),)) from error
    except SandboxError as error:
        raise SandboxFailedError(f"{error.code}: {error}") from error


@contextmanager
def _held(session: EnvironmentSession, *, writes: bool) -> Iterator[tuple[EnvironmentSession, Restored]]:
    """The locked row with its state; what was restored is kept unless something was raised."""
    with transaction.atomic():
        row = lock_session(session)
        if writes and row.is_leased:
            raise SessionLeasedError(
                "An agent is using the session over MCP. It can be changed here 10 seconds after the agent's last call."
            )
        if row.status == Status.PARKED:
            EnvironmentSession.objects.filter(pk=row.pk).update(status=Status.OPEN)
            row.status = Status.OPEN
        if writes and row.leased_until is not None:
            # The holder's lease has run out: from here on it can store nothing more.
            EnvironmentSession.objects.filter(pk=row.pk).update(fence=row.fence + 1, leased_until=None)
            row.fence, row.leased_until = row.fence + 1, None
        restored = _kept.take(row) or restore_session(row)
        try:
            yield row, restored
        except BaseException:
            close_quietly(restored.runtime)
            raise
        restored.revision, restored.episode = row.revision, row.episode
    _kept.keep(row, restored)


def lock_session(session: EnvironmentSession) -> EnvironmentSession:
    """The row as it is now, locked to the end of the transaction.

    Raises:
        SessionClosedError: It was closed.
    """
    rows = EnvironmentSession.objects.select_for_update(of=("self",)).select_related("version__environment")
    row = rows.get(pk=session.pk)
    if row.status == Status.CLOSED:
        raise SessionClosedError("The session is closed; its transcript can still be read. Open another.")
    return row


# --- Use --------------------------------------------------------------------------------------------------------------


def create_session(
    *,
    user: User,
    version: EnvironmentVersion,
    scenario: str,
    seed: int | None = None,
    token: ApiToken | None = None,
    title: str = "",
) -> EnvironmentSession:
    """Opens a session on a verified version.

    Args:
        user: Whose it is; nobody else sees it.
        version: What is played.
        scenario: Name of one of its scenarios.
        seed: Of ids and randomness; None is the scenario's own.
        token: The key that asks; the session's MCP address then answers to no other.
        title: For the person's own lists.

    Raises:
        PermissionDeniedError: If the person may not open sessions.
        NotVerifiedError: If the version is in quarantine, rejected, retired or discarded.
        InvalidInputError: If it has no such scenario.
        QuotaExceededError: If the person has as many open sessions as the settings allow.
    """
    if not user.may(Permission.OPEN_SESSIONS):
        raise PermissionDeniedError("Opening a session needs the permission open_sessions.")
    _check_usable(version)
    names = list(version.scenarios.order_by("position").values_list("name", flat=True))
    if scenario not in names:
        fault = FieldError("/scenario", "unknown", f"Its scenarios: {', '.join(names)}.")
        raise InvalidInputError(f"{version} has no scenario named {scenario!r}.", fields=(fault,))
    with transaction.atomic():
        _check_quota(user)
        return EnvironmentSession.objects.create(
            user=user, token=token, version=version, scenario=scenario, seed=seed, title=title
        )


def call_session(
    *, session: EnvironmentSession, calls: Sequence[Call], audience: Audience | None = "agent"
) -> list[CallRecord]:
    """Makes calls in order and stores each with where they led, before anything is answered.

    Raises:
        InvalidInputError: If there are too many, or arguments that no record can keep.
        QuotaExceededError: If the session has as many calls as the settings allow.
        SessionClosedError, SessionLeasedError, ReplayDiffersError, SandboxFailedError: See there; nothing is stored.
    """
    check_calls(calls)
    with _held(session, writes=True) as (row, restored):
        _check_length(row, len(calls))
        with sandbox_errors():
            made = restored.runtime.calls(calls, audience=audience)
            records = [replace(record, index=row.num_calls + place) for place, record in enumerate(made)]
            snapshot = restored.runtime.snapshot().decode()
        if not row.append(records, snapshot=snapshot):  # pragma: no cover - the row is locked
            raise SessionLeasedError("The session was changed meanwhile.")
    return records


def session_state(*, session: EnvironmentSession) -> State:
    """Every row of every table by primary key."""
    with _held(session, writes=False) as (_, restored), sandbox_errors():
        return restored.runtime.state()


def session_diff(*, session: EnvironmentSession, since: str | None = None) -> tuple[RowChange, ...]:
    """Net changes since the scenario, or since a snapshot of the same start."""
    with _held(session, writes=False) as (_, restored), sandbox_errors():
        return restored.runtime.diff(since.encode() if since is not None else None)


def session_snapshot(*, session: EnvironmentSession) -> str:
    """State, clock, id counters and call count, to be restored in any session of the same version."""
    with _held(session, writes=False) as (_, restored), sandbox_errors():
        return restored.runtime.snapshot().decode()


def reset_session(*, session: EnvironmentSession, scenario: str | None = None, seed: int | None = None) -> None:
    """Starts anew at a scenario with an empty transcript; the calls so far are kept as an earlier episode.

    Args:
        session: Which.
        scenario: By default the one it started with.
        seed: None is the scenario's own.
    """
    with _held(session, writes=True) as (row, restored), sandbox_errors():
        name = scenario if scenario is not None else row.scenario
        if restored.runtime.environment.pack.scenario(name) is None:
            fault = FieldError("/scenario", "unknown", f"{row.version} has no scenario named {name!r}.")
            raise InvalidInputError(fault.detail, fields=(fault,))
        restored.runtime.reset(name, seed)
        _begin_episode(row, scenario=name, seed=seed, start_snapshot=None)


def restore_snapshot(*, session: EnvironmentSession, snapshot: str) -> None:
    """Goes on from a snapshot of the same version; the calls so far are kept as an earlier episode.

    Raises:
        InvalidInputError: It is no snapshot of this version.
    """
    with _held(session, writes=True) as (row, restored), sandbox_errors():
        restored.runtime.restore(snapshot.encode())
        start = restored.runtime.start
        if not isinstance(start.scenario, str):
            raise SessionError("the snapshot starts from a scenario that is not the version's")
        _begin_episode(row, scenario=start.scenario, seed=start.seed, start_snapshot=snapshot)


def fork_session(
    *,
    session: EnvironmentSession,
    user: User,
    at: int | None = None,
    token: ApiToken | None = None,
    title: str = "",
) -> EnvironmentSession:
    """A second session with the same start and the first calls of this one; from here on they never see one another.

    Args:
        session: The person's own.
        user: Who forks it.
        at: How many calls it takes over; None takes all.
        token: The key that asks.
        title: For the person's own lists.

    Raises:
        InvalidInputError: If `at` is more than there are.
        QuotaExceededError: If the person has as many open sessions as the settings allow.
    """
    _check_usable(session.version)
    with transaction.atomic():
        row = EnvironmentSession.objects.select_for_update(of=("self",)).get(pk=session.pk)
        num_calls = row.num_calls if at is None else at
        if not 0 <= num_calls <= row.num_calls:
            fault = FieldError("/at", "invalid", f"The session has {row.num_calls} calls.")
            raise InvalidInputError(fault.detail, fields=(fault,))
        _check_quota(user)
        covers = row.snapshot is not None and row.snapshot_calls <= num_calls
        forked = EnvironmentSession.objects.create(
            user=user, token=token, version=row.version, title=title or row.title,
            scenario=row.scenario, seed=row.seed, start_snapshot=row.start_snapshot,
            snapshot=row.snapshot if covers else None, snapshot_calls=row.snapshot_calls if covers else 0,
            num_calls=num_calls, forked_from=row, forked_calls=num_calls,
        )  # fmt: skip
        taken = row.transcript.filter(index__lt=num_calls)
        ToolCall.objects.bulk_create((_copy(call, forked) for call in taken.iterator(500)), batch_size=500)
    return forked


def close_session(*, session: EnvironmentSession) -> None:
    """Ends it; its transcript stays readable. Closing twice is harmless."""
    changed = EnvironmentSession.objects.filter(pk=session.pk).exclude(status=Status.CLOSED)
    changed.update(
        status=Status.CLOSED, closed_at=timezone.now(), leased_until=None, fence=session.fence + 1,
    )  # fmt: skip
    session.refresh_from_db()


def session_transcript(*, session: EnvironmentSession) -> bytes:
    """The calls of the episode in hand as `envfactory-transcript/1`: enough to play it again anywhere."""
    start = Start(
        session.scenario, session.seed, session.start_snapshot.encode() if session.start_snapshot is not None else None
    )
    records = tuple(call.to_core() for call in session.transcript)
    return dump_transcript(Transcript(session.version.content_sha256, start, records))


def find_session(*, user: User, code: UUID) -> EnvironmentSession | None:
    """The person's own session with that code; another's is as good as none."""
    return EnvironmentSession.objects.for_user(user).select_related("version__environment").filter(code=code).first()


def park_idle_sessions() -> int:
    """Parks what nobody used for long: its MCP address ends, REST and the console wake it. Returns how many."""
    return EnvironmentSession.objects.idle().update(status=Status.PARKED, leased_until=None)


def delete_old_sessions() -> int:
    """Deletes closed sessions after the days that the settings keep them. Returns how many."""
    oldest = timezone.now() - timedelta(days=settings.SESSION_KEEP_DAYS)
    _, counts = EnvironmentSession.objects.filter(status=Status.CLOSED, closed_at__lt=oldest).delete()
    return counts.get(EnvironmentSession._meta.label, 0)


def check_calls(calls: Sequence[Call]) -> None:
    """Refuses what no record can keep before anything runs.

    Raises:
        InvalidInputError: Too many calls, or characters that PostgreSQL can't keep.
    """
    if len(calls) > MAX_BATCH:
        fault = FieldError("/calls", "too_many", f"At most {MAX_BATCH} calls in one request.")
        raise InvalidInputError(fault.detail, fields=(fault,))
    faults = [
        fault
        for place, (tool, arguments) in enumerate(calls)
        for fault in unstorable_strings({"tool": tool, "arguments": arguments}, (place,), root="/calls")
    ]
    if faults:
        raise InvalidInputError("The calls hold what no record can keep.", fields=tuple(faults[:20]))


def _check_usable(version: EnvironmentVersion) -> None:
    if not version.is_usable:
        raise NotVerifiedError(f"{version} is {version.status}: only verified versions can be played.")


def _check_quota(user: User) -> None:
    """Counts under a lock on the person, so that requests side by side can't both take the last place."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if EnvironmentSession.objects.for_user(user).open().count() >= settings.SESSION_QUOTA:
        raise QuotaExceededError(
            f"You have {settings.SESSION_QUOTA} open sessions, which is the limit (SESSION_QUOTA). Close some first."
        )


def _check_length(row: EnvironmentSession, more: int) -> None:
    if row.num_calls + more > settings.SESSION_MAX_CALLS:
        raise QuotaExceededError(
            f"A session holds at most {settings.SESSION_MAX_CALLS} calls (SESSION_MAX_CALLS); this one has "
            f"{row.num_calls}. Reset it, or go on in a fork of its snapshot."
        )


def _begin_episode(row: EnvironmentSession, *, scenario: str, seed: int | None, start_snapshot: str | None) -> None:
    row.scenario, row.seed, row.start_snapshot = scenario, seed, start_snapshot
    row.episode += 1
    row.revision += 1
    row.num_calls = row.snapshot_calls = 0
    row.snapshot = None
    row.used_at = timezone.now()
    row.save(update_fields=["scenario", "seed", "start_snapshot", "episode", "revision", "num_calls",
                            "snapshot_calls", "snapshot", "used_at"])  # fmt: skip


def _copy(call: ToolCall, session: EnvironmentSession) -> ToolCall:
    names = ("index", "tool", "arguments", "status", "error_code", "observation", "changes", "columns", "microseconds")
    return ToolCall(
        session=session, episode=session.episode, at=call.at, **{name: getattr(call, name) for name in names}
    )
