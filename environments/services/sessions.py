"""Sessions over REST and in the console: each request locks the row, restores it into a worker, runs, stores.

Any number of processes serve one session and a restart loses nothing (docs/contracts.md, C5). What a process restored
it keeps for a while, so that the next request for the same session finds its state there if nobody else changed it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

import orjson
from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
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
from environments.models import ApiToken, EnvironmentSession, EnvironmentVersion, PastEpisode, User
from environments.models import Environment as RegisteredEnvironment
from environments.runtime.pack.limits import MAX_INTEGER
from environments.runtime.records import CallRecord, CallStatus, RowChange
from environments.runtime.sandbox.errors import RequestError, SandboxError
from environments.runtime.session import Audience, Call, Environment, Session, SessionError, Start, State
from environments.runtime.transcripts import dump_records
from environments.services.workers import environment_of, worker_pool

MAX_BATCH: Final = 256
"""Calls in one request."""
MAX_KEPT: Final = 256
"""Restored states that a process keeps between requests; each costs a worker a few hundred kilobytes."""
UNPLAYED: Final = frozenset({CallStatus.INVALID, CallStatus.INFRASTRUCTURE})
"""Calls that never reached a tool and are not played again."""
SNAPSHOT_CALLS: Final = 32
"""Calls after which a snapshot is stored with them: what a process that restores the session plays again at most.

With 500 changed rows a snapshot costs some 3 ms to make and to store, and a call played again 0.1 ms.
"""
DELETED_AT_ONCE: Final = 20
"""Sessions in one statement of the sweep; each may have ten thousand calls."""

Status = EnvironmentSession.Status
_PLAYED: Final = (CallStatus.SUCCESS.value, CallStatus.REJECTION.value)
"""Calls whose observation must come again; failures left no trace in the state and may have cost a worker."""
_PLAYABLE: Final = frozenset({EnvironmentVersion.Status.VERIFIED, EnvironmentVersion.Status.RETIRED})
"""Of a retired version no new session is opened; those that there are go on."""


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
    """Restored states by session, the longest unused let go first; thread-safe. Only a cache: the row is the truth."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_pk: OrderedDict[int, Restored] = OrderedDict()

    def take(self, row: EnvironmentSession) -> Restored | None:
        """The state that stands for the row as it is now, for the taker alone; anything else is let go."""
        with self._lock:
            found = self._by_pk.pop(row.pk, None)
        if found is None:
            return None
        is_same = (found.revision, found.episode) == (row.revision, row.episode)
        if is_same and found.runtime.environment.players is worker_pool():
            return found
        close_quietly(found.runtime)
        return None

    def keep(self, row: EnvironmentSession, restored: Restored) -> None:
        """Keeps it for the next request, unless a later state is kept already."""
        dropped = []
        with self._lock:
            former = self._by_pk.pop(row.pk, None)
            if former is not None and former.revision > restored.revision:
                former, restored = restored, former
            self._by_pk[row.pk] = restored
            if former is not None:
                dropped.append(former)
            while len(self._by_pk) > MAX_KEPT:
                dropped.append(self._by_pk.popitem(last=False)[1])
        for each in dropped:
            close_quietly(each.runtime)

    def drop(self, pk: int) -> None:
        """Lets go of a session's state."""
        with self._lock:
            found = self._by_pk.pop(pk, None)
        if found is not None:
            close_quietly(found.runtime)


_kept = _Kept()


def close_quietly(session: Session) -> None:
    """Lets go of a live session whose worker may be gone already."""
    try:
        session.close()
    except SandboxError:
        return


def restore_session(row: EnvironmentSession) -> Restored:
    """Brings a stored session to life: from its snapshot, then the calls stored after it, each compared.

    Nothing is locked: calls are only ever added, and those beyond the row's count are left alone.

    Raises:
        ReplayDiffersError: A call answered otherwise than its record, or the snapshot does not fit its environment.
        SandboxFailedError: The worker can't be had, or was lost.
    """
    if "snapshot" in row.get_deferred_fields():
        row.read_state()
    environment = environment_of(row.version)
    snapshot = row.snapshot if row.snapshot is not None else row.start_snapshot
    later = row.transcript.filter(index__gte=row.snapshot_calls, index__lt=row.num_calls, status__in=_PLAYED)
    records = [call.to_core() for call in later] if row.num_calls > row.snapshot_calls else []
    try:
        with sandbox_errors():
            live = open_at(environment, row.scenario, row.seed, snapshot)
    except InvalidInputError as error:
        raise ReplayDiffersError(f"The stored state does not fit its environment any more: {error}") from error
    try:
        with sandbox_errors():
            again = live.calls([(record.tool, record.arguments) for record in records], audience=None)
        for record, made in zip(records, again, strict=True):
            if made.status is CallStatus.INFRASTRUCTURE:
                raise SandboxFailedError(f"Call {record.index} ({record.tool}) could not be played again: {made.code}.")
            if (record.status, record.observation) != (made.status, made.observation):
                raise ReplayDiffersError(
                    f"Call {record.index} ({record.tool}) answered otherwise when it was played again; the environment "
                    "is suspect and the session can't go on."
                )
    except BaseException:
        close_quietly(live)
        raise
    return Restored(live, row.revision, row.episode)


def open_at(environment: Environment, scenario: str, seed: int | None, snapshot: str | None) -> Session:
    """A live session at a scenario, or at a snapshot of an episode from it."""
    if snapshot is None:
        return environment.open(scenario, seed)
    return environment.open_snapshot(snapshot.encode("utf-8", "surrogatepass"))


@contextmanager
def sandbox_errors(pointer: str = "/snapshot") -> Iterator[None]:
    """Turns what goes wrong at the sandbox's boundary into errors that doors can answer with.

    Args:
        pointer: The field that holds the snapshot, if a caller gave one.

    Raises:
        InvalidInputError: A snapshot that is none, or of something else.
        SandboxFailedError: The worker can't be had, was lost, or does not take the pack.
    """
    try:
        yield
    except (SessionError, RequestError) as error:
        if isinstance(error, RequestError) and error.kind in RequestError.OF_PACK_OR_WORKER:
            raise SandboxFailedError(f"{error.code}: {error}") from error
        code = error.kind if isinstance(error, RequestError) else "invalid"
        raise InvalidInputError(str(error), fields=(FieldError(pointer, code, str(error)),)) from error
    except SandboxError as error:
        raise SandboxFailedError(f"{error.code}: {error}") from error


@contextmanager
def _changing(session: EnvironmentSession) -> Iterator[EnvironmentSession]:
    """The locked row, awake and in nobody else's hands, to the end of the block.

    The transaction is the outermost one: a state is kept for a revision only once that revision is stored for good.
    """
    with transaction.atomic(durable=True):
        row = lock_session(session)
        if row.is_held:
            raise SessionLeasedError(
                "An agent is using the session over MCP. It can be changed here 10 seconds after the agent's last call."
            )
        if row.status == Status.PARKED:
            _check_quota(row.user_id)
            EnvironmentSession.objects.filter(pk=row.pk).update(status=Status.OPEN)
            row.status = Status.OPEN
        if row.leased_until is not None:
            # The holder's lease has run out: from here on it can store nothing more.
            EnvironmentSession.objects.filter(pk=row.pk).update(fence=row.fence + 1, leased_until=None)
            row.fence, row.leased_until = row.fence + 1, None
        yield row


@contextmanager
def _reading(session: EnvironmentSession) -> Iterator[Session]:
    """The state as stored last. The row is not locked, so that whoever is changing it need not wait."""
    row = EnvironmentSession.read_to_play(pk=session.pk)
    if row is None:
        raise SessionClosedError("The session is gone.")
    _check_playable(row)
    restored = _kept.take(row) or restore_session(row)
    try:
        yield restored.runtime
    except BaseException:
        close_quietly(restored.runtime)
        raise
    _kept.keep(row, restored)


def lock_session(session: EnvironmentSession) -> EnvironmentSession:
    """The row as it is now, locked to the end of the transaction, without its snapshots.

    Lock order everywhere: the session, then its owner; never two sessions.

    Raises:
        EnvironmentSession.DoesNotExist: It was deleted.
        SessionClosedError: It was closed.
        NotVerifiedError: Its version is in quarantine.
    """
    row = EnvironmentSession.read_to_play(pk=session.pk, locks=True)
    if row is None:
        raise EnvironmentSession.DoesNotExist
    _check_playable(row)
    return row


def _check_playable(row: EnvironmentSession) -> None:
    if row.status == Status.CLOSED:
        raise SessionClosedError("The session is closed; its transcript can still be read. Open another.")
    if row.version.status not in _PLAYABLE:
        raise NotVerifiedError(f"{row.version} is {row.version.status}: its tools run no more.")


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
    check_seed(seed)
    names = list(version.scenarios.order_by("position").values_list("name", flat=True))
    if scenario not in names:
        raise _unknown_scenario(version, scenario, names)
    with transaction.atomic():
        _check_quota(user.pk)
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
    restored: Restored | None = None
    try:
        with _changing(session) as row:
            check_length(row, len(calls))
            restored = _kept.take(row) or restore_session(row)
            with sandbox_errors():
                made = restored.runtime.calls(calls, audience=audience)
                restored.runtime.transcript.clear()  # the row's is the truth
                is_due = row.num_calls + len(calls) - row.snapshot_calls >= SNAPSHOT_CALLS
                snapshot = restored.runtime.snapshot().decode() if is_due else None
            records = [record.numbered(row.num_calls + place) for place, record in enumerate(made)]
            if not row.append(records, snapshot=snapshot):  # pragma: no cover - the row is locked
                raise SessionLeasedError("The session was changed meanwhile.")
    except BaseException:
        if restored is not None:
            close_quietly(restored.runtime)
        raise
    restored.revision = row.revision
    _kept.keep(row, restored)
    return records


def session_state(*, session: EnvironmentSession) -> State:
    """Every row of every table by primary key."""
    with _reading(session) as live, sandbox_errors():
        return live.state()


def session_diff(*, session: EnvironmentSession, since: str | None = None) -> tuple[RowChange, ...]:
    """Net changes since the scenario, or since a snapshot of the same start.

    Raises:
        InvalidInputError: It is no snapshot of this version, or of another start.
    """
    with _reading(session) as live, sandbox_errors("/since"):
        return live.diff(since.encode("utf-8", "surrogatepass") if since is not None else None)


def session_snapshot(*, session: EnvironmentSession) -> str:
    """State, clock, id counters and call count, to be restored in any session of the same version."""
    with _reading(session) as live, sandbox_errors():
        return live.snapshot().decode()


def reset_session(*, session: EnvironmentSession, scenario: str | None = None, seed: int | None = None) -> None:
    """Starts anew at a scenario with an empty transcript; the calls so far are kept as an earlier episode.

    The state so far is not restored, so that this also helps where it no longer can be.

    Args:
        session: Which.
        scenario: By default the one it started with.
        seed: None is the scenario's own.

    Raises:
        InvalidInputError: If the version has no such scenario.
        SessionClosedError, SessionLeasedError, SandboxFailedError: See there; nothing has changed.
    """
    check_seed(seed)

    def start(row: EnvironmentSession) -> Session:
        name = scenario if scenario is not None else row.scenario
        environment = environment_of(row.version)
        if environment.pack.scenario(name) is None:
            raise _unknown_scenario(row.version, name, [each.name for each in environment.pack.scenarios])
        return open_at(environment, name, seed, None)

    _begin_episode(session, start)


def restore_snapshot(*, session: EnvironmentSession, snapshot: str) -> None:
    """Goes on from a snapshot of the same version; the calls so far are kept as an earlier episode.

    Raises:
        InvalidInputError: It is no snapshot of this version; nothing has changed.
        SessionClosedError, SessionLeasedError, SandboxFailedError: See there; nothing has changed.
    """

    def start(row: EnvironmentSession) -> Session:
        environment, text = environment_of(row.version), snapshot.encode("utf-8", "surrogatepass")
        # Before it is opened: a worker keeps whole scenarios, and a caller could make up any number of them.
        if not isinstance(environment.read_snapshot(text).scenario, str):
            raise SessionError("the snapshot starts from a scenario that is not the version's")
        return environment.open_snapshot(text)

    _begin_episode(session, start)


def fork_session(
    *,
    session: EnvironmentSession,
    user: User,
    at: int | None = None,
    episode: int | None = None,
    token: ApiToken | None = None,
    title: str = "",
) -> EnvironmentSession:
    """A second session with the same start and the first calls of this one; from here on they never see one another.

    Args:
        session: The person's own.
        user: Who forks it.
        at: How many calls it takes over; None takes all.
        episode: Of which episode; None is the one in hand.
        token: The key that asks.
        title: For the person's own lists.

    Raises:
        InvalidInputError: If `at` is more than there are, or there is no such episode.
        QuotaExceededError: If the person has as many open sessions as the settings allow.
    """
    _check_usable(session.version)
    with transaction.atomic():
        row = EnvironmentSession.objects.select_for_update(of=("self",), no_key=True).get(pk=session.pk)
        origin = _episode_start(row, episode)
        num_calls = origin.num_calls if at is None else at
        if not 0 <= num_calls <= origin.num_calls:
            fault = FieldError("/at", "invalid", f"The session has {origin.num_calls} calls.")
            raise InvalidInputError(fault.detail, fields=(fault,))
        _check_quota(user.pk)
        covers = origin is row and row.snapshot is not None and row.snapshot_calls <= num_calls
        taken_from = row.episode if episode is None else episode
        forked = EnvironmentSession.objects.create(
            user=user, token=token, version=session.version, title=title or row.title,
            scenario=origin.scenario, seed=origin.seed, start_snapshot=origin.start_snapshot,
            snapshot=row.snapshot if covers else None, snapshot_calls=row.snapshot_calls if covers else 0,
            num_calls=num_calls, forked_from=row, forked_calls=num_calls, forked_episode=taken_from,
        )  # fmt: skip
        forked.take_calls(row, episode=taken_from, num_calls=num_calls)
    return forked


def close_session(*, session: EnvironmentSession) -> None:
    """Ends it at once, leased or not; its transcript stays readable. Closing twice is harmless."""
    changed = EnvironmentSession.objects.filter(pk=session.pk).exclude(status=Status.CLOSED)
    changed.update(status=Status.CLOSED, closed_at=Now(), leased_until=None, fence=F("fence") + 1)
    _kept.drop(session.pk)
    session.refresh_from_db(fields=["status", "closed_at", "leased_until", "fence"])


def session_transcript(*, session: EnvironmentSession) -> bytes:
    """The calls of the episode in hand as `envfactory-transcript/1`: enough to play it again anywhere."""
    start = Start(
        session.scenario, session.seed, session.start_snapshot.encode() if session.start_snapshot is not None else None
    )
    records = (call.to_core() for call in session.transcript.iterator(500))
    return dump_records(session.version.content_sha256, start, records)


def find_session(*, user: User, code: UUID) -> EnvironmentSession | None:
    """The person's own session with that code, without its snapshots; another's is as good as none."""
    return EnvironmentSession.objects.for_user(user).for_list().filter(code=code).first()


def find_session_to_play(*, user: User, code: UUID) -> EnvironmentSession | None:
    """The same as `find_session` with little of the row, for what happens many times a second."""
    return EnvironmentSession.read_to_play(code=code, user=user.pk)


def find_version(*, environment: str | None = None, version: UUID | None = None) -> EnvironmentVersion:
    """The version to play: the one with that code, or the newest verified one of the environment.

    Raises:
        InvalidInputError: There is none of that name or code.
        NotVerifiedError: No version of the environment is verified.
    """
    rows = EnvironmentVersion.objects.select_related("environment").without_content()
    if version is not None:
        found = rows.filter(code=version).first()
        if found is None:
            fault = FieldError("/version", "unknown", f"No version has the code {version}.")
            raise InvalidInputError(fault.detail, fields=(fault,))
        return found
    named = RegisteredEnvironment.objects.filter(name=environment).first()
    if named is None:
        fault = FieldError("/environment", "unknown", f"No environment is named {environment}.")
        raise InvalidInputError(fault.detail, fields=(fault,))
    if named.verified_version_id is None:
        raise NotVerifiedError(f"No version of {environment} is verified: only verified versions can be played.")
    return rows.get(pk=named.verified_version_id)


def park_idle_sessions() -> int:
    """Parks what nobody used for long: its MCP address ends, REST and the console wake it. Returns how many."""
    with transaction.atomic():
        # What a request holds just now is in use; and nobody waits for locks taken one after another.
        idle = EnvironmentSession.objects.idle().select_for_update(skip_locked=True, no_key=True)
        found = list(idle.order_by("pk").values_list("pk", flat=True))
        return EnvironmentSession.objects.filter(pk__in=found).update(status=Status.PARKED, leased_until=None)


def delete_old_sessions() -> int:
    """Deletes closed sessions after the days that the settings keep them. Returns how many."""
    oldest = timezone.now() - timedelta(days=settings.SESSION_KEEP_DAYS)
    old = EnvironmentSession.objects.filter(status=Status.CLOSED, closed_at__lt=oldest).order_by("pk")
    num_deleted = 0
    while found := list(old.values_list("pk", flat=True)[:DELETED_AT_ONCE]):
        _, counts = EnvironmentSession.objects.filter(pk__in=found).only("pk").delete()
        num_deleted += counts.get(EnvironmentSession._meta.label, 0)
    return num_deleted


def check_calls(calls: Sequence[Call]) -> None:
    """Refuses what no record can keep before anything runs.

    Raises:
        InvalidInputError: Too many calls, or characters that PostgreSQL can't keep.
    """
    if len(calls) > MAX_BATCH:
        fault = FieldError("/calls", "too_many", f"At most {MAX_BATCH} calls in one request.")
        raise InvalidInputError(fault.detail, fields=(fault,))
    if _are_storable(calls):
        return
    faults = [
        fault
        for place, (tool, arguments) in enumerate(calls)
        for fault in unstorable_strings({"tool": tool, "arguments": arguments}, (place,), root="/calls")
    ]
    if faults:
        raise InvalidInputError("The calls hold what no record can keep.", fields=tuple(faults[:20]))


def _are_storable(calls: Sequence[Call]) -> bool:
    """Whether no string can hold a NUL or half of a surrogate pair; false for what has to be looked at one by one."""
    try:
        return b"\\u0000" not in orjson.dumps(calls)
    except TypeError:
        return False


def _check_usable(version: EnvironmentVersion) -> None:
    if not version.is_usable:
        raise NotVerifiedError(f"{version} is {version.status}: only verified versions can be played.")


def check_seed(seed: int | None) -> None:
    """Refuses a seed that readers of JSON would take for another number.

    Raises:
        InvalidInputError: It is past 2^53.
    """
    if seed is not None and not -MAX_INTEGER <= seed <= MAX_INTEGER:
        fault = FieldError("/seed", "invalid", "A seed is a whole number within 2^53 of 0.")
        raise InvalidInputError(fault.detail, fields=(fault,))


def check_length(row: EnvironmentSession, more: int) -> None:
    """Refuses more calls than the settings allow.

    Raises:
        QuotaExceededError: The session would have too many.
    """
    if row.num_calls + more > settings.SESSION_MAX_CALLS:
        raise QuotaExceededError(
            f"A session holds at most {settings.SESSION_MAX_CALLS} calls (SESSION_MAX_CALLS); this one has "
            f"{row.num_calls}. Reset it, or restore its snapshot: both begin an empty transcript."
        )


def _check_quota(user: int) -> None:
    """Counts under a lock on the person, so that requests side by side can't both take the last place."""
    User.objects.select_for_update(no_key=True).only("pk").get(pk=user)
    if EnvironmentSession.objects.filter(user=user).open().count() >= settings.SESSION_QUOTA:
        raise QuotaExceededError(
            f"You have {settings.SESSION_QUOTA} open sessions, which is the limit (SESSION_QUOTA). Close some first."
        )


def _unknown_scenario(version: EnvironmentVersion, name: str, names: Sequence[str]) -> InvalidInputError:
    fault = FieldError("/scenario", "unknown", f"Its scenarios: {', '.join(names)}.")
    return InvalidInputError(f"{version} has no scenario named {name[:80]!r}.", fields=(fault,))


def _episode_start(row: EnvironmentSession, episode: int | None) -> EnvironmentSession | PastEpisode:
    """What holds where the episode began: the row itself for the one in hand."""
    if episode is None or episode == row.episode:
        return row
    past = row.past_episode(episode)
    if past is None:
        fault = FieldError("/episode", "unknown", f"The session has no episode {episode}.")
        raise InvalidInputError(fault.detail, fields=(fault,))
    return past


def _begin_episode(session: EnvironmentSession, start: Callable[[EnvironmentSession], Session]) -> None:
    """Ends the episode in hand and begins another where `start` opens the state."""
    live: Session | None = None
    try:
        with _changing(session) as row:
            with sandbox_errors():
                live = start(row)
                # The worker's own form of it, not the caller's.
                snapshot = live.snapshot().decode() if live.start.snapshot is not None else None
            row.refresh_from_db(fields=["start_snapshot"])
            PastEpisode.objects.create(
                session=row, number=row.episode, scenario=row.scenario, seed=row.seed,
                start_snapshot=row.start_snapshot, num_calls=row.num_calls,
            )  # fmt: skip
            row.scenario, row.seed, row.start_snapshot = str(live.start.scenario), live.start.seed, snapshot
            row.episode += 1
            row.revision += 1
            row.num_calls = row.snapshot_calls = 0
            row.snapshot = None
            row.used_at = timezone.now()
            row.save(update_fields=["scenario", "seed", "start_snapshot", "episode", "revision", "num_calls",
                                    "snapshot_calls", "snapshot", "used_at"])  # fmt: skip
    except BaseException:
        if live is not None:
            close_quietly(live)
        raise
    _kept.keep(row, Restored(live, row.revision, row.episode))
