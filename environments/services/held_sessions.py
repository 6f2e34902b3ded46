"""Sessions that this process holds in memory for agents, each under a lease on its row (docs/contracts.md, C5).

Whoever holds a session has raised the row's `fence`, and stores each call before it is answered, in one statement that
does nothing if the fence or the revision is another's by now. So a holder needs nobody's leave and may die at any
moment: the next process raises the fence, restores from the row and goes on. Console and REST wait for the lease to
end; agents never do, so any number of processes may serve one session in turn.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from django.utils import timezone

from environments.adapters.threads import DatabaseThreads
from environments.core.errors import EnvFactoryError, PermissionDeniedError, SandboxFailedError, SessionClosedError
from environments.models import EnvironmentSession, ToolCall
from environments.models import sessions as stored
from environments.models.accounts import Bearer
from environments.runtime.records import CallRecord
from environments.runtime.session import Session
from environments.services.sessions import (
    check_calls,
    check_length,
    close_quietly,
    lock_session,
    restore_session,
    sandbox_errors,
)

logger = logging.getLogger(__name__)

MAX_HELD: Final = 512
"""Sessions in memory; the longest unused is given back for another."""
SNAPSHOT_CALLS: Final = 32
"""Calls after which a snapshot is stored with the call: what another process plays again at most."""
SWEEP_SECONDS: Final = 1.0

ANOTHER: Final = "Make another with POST /api/v1/sessions/ and connect to its mcp_url."


@dataclass(slots=True)
class _Held:
    """One session's place in memory; `row` and `live` are there while this process is its holder."""

    pk: int
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    used: float = field(default_factory=time.monotonic)
    row: EnvironmentSession | None = None
    live: Session | None = None

    @property
    def is_idle(self) -> bool:
        """Whether its lease has ended and nobody is using it."""
        return not self.lock.locked() and time.monotonic() - self.used > stored.LEASE_SECONDS

    def drop(self) -> None:
        """Forgets the state, which the row no longer stands for."""
        live, self.row, self.live = self.live, None, None
        if live is not None:
            close_quietly(live)


class HeldSessions:
    """The sessions that one event loop's requests use; the calls of each are made one after another."""

    def __init__(self, threads: DatabaseThreads) -> None:
        self._threads = threads
        self._by_pk: OrderedDict[int, _Held] = OrderedDict()

    def __len__(self) -> int:
        return len(self._by_pk)

    async def call(
        self, session: int, tool: str, arguments: Mapping[str, Any], bearer: Bearer, *, version: int = 0
    ) -> CallRecord:
        """Makes one call and stores it; only then it is answered.

        Args:
            session: The row's key.
            tool: Name of the tool as called.
            arguments: As called.
            bearer: Who calls.
            version: The version's key: those of one version share a few threads.

        Raises:
            PermissionDeniedError: The token is good no more; nothing is stored.
            SessionClosedError: It is closed, parked or has expired.
            QuotaExceededError: It has as many calls as the settings allow.
            InvalidInputError: The arguments hold what no record can keep.
            ReplayDiffersError, SandboxFailedError: It can't be restored; nothing is stored.
        """
        while True:
            held = self._by_pk.get(session)
            if held is None:
                held = self._by_pk[session] = _Held(session)
            self._by_pk.move_to_end(session)
            async with held.lock:
                if self._by_pk.get(session) is not held:
                    continue  # it was given back while this call waited
                try:
                    async with self._threads.share(version):
                        return await self._threads.run(_call, held, tool, arguments, bearer)
                finally:
                    held.used = time.monotonic()

    async def tend(self) -> None:
        """Gives back what nobody has used for a lease's time and what is too much, until it is cancelled."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            for held in self._surplus():
                if not held.lock.locked():
                    await self._release(held)

    async def close(self) -> None:
        """Gives everything back, so that REST and other processes need not wait for a lease to end."""
        await asyncio.gather(*(self._release(held) for held in list(self._by_pk.values())))

    def _surplus(self) -> list[_Held]:
        places = list(self._by_pk.values())
        too_many = max(0, len(places) - MAX_HELD)
        return [
            held
            for position, held in enumerate(places)
            if held.is_idle or (position < too_many and not held.lock.locked())
        ]

    async def _release(self, held: _Held) -> None:
        async with held.lock:
            self._by_pk.pop(held.pk, None)
            try:
                await self._threads.run(_release, held)
            except (EnvFactoryError, DatabaseError, InterfaceError) as error:
                logger.warning("event=session_not_released session=%s error=%s", held.pk, error)
                held.drop()


# --- In threads -------------------------------------------------------------------------------------------------------


def _call(held: _Held, tool: str, arguments: Mapping[str, Any], bearer: Bearer) -> CallRecord:
    check_calls([(tool, arguments)])
    attempt = _Attempt(held, tool, arguments, bearer)
    try:
        return attempt.make()
    except (OperationalError, InterfaceError) as error:
        # The connection broke: perhaps only after the call was stored.
        logger.warning("event=session_store_lost session=%s error=%s", held.pk, error)
        connection.close()
        return attempt.find_stored() or attempt.make()


@dataclass(slots=True)
class _Attempt:
    """One call on its way: in the state that is held, or else in one taken over for it.

    Attributes:
        row: The row that the last try was to be stored in.
        record: What the last try gave.
    """

    held: _Held
    tool: str
    arguments: Mapping[str, Any]
    bearer: Bearer
    row: EnvironmentSession | None = None
    record: CallRecord | None = None

    def make(self) -> CallRecord:
        """The stored record."""
        try:
            return self._make_held() or self._make_taken()
        except BaseException:
            self.held.drop()
            raise

    def find_stored(self) -> CallRecord | None:
        """The record, if the last try was stored after all."""
        if self.row is None or self.record is None:
            return None
        calls = ToolCall.objects.filter(session=self.row, episode=self.row.episode, index=self.record.index)
        same = calls.filter(observation=self.record.observation, microseconds=self.record.microseconds)
        return self.record if same.exists() else None

    def _make_held(self) -> CallRecord | None:
        """None if nothing is held, or the row turns out to be another's; then nothing has happened."""
        held = self.held
        if held.row is None or held.live is None:
            return None
        try:
            record, snapshot = self._play(held.row, held.live)
        except SandboxFailedError as error:
            logger.warning("event=session_state_lost session=%s error=%s", held.pk, error)
            held.drop()
            return None
        if held.row.append([record], snapshot=snapshot, leases=True, bearer=self.bearer):
            return record
        held.drop()
        return None

    def _make_taken(self) -> CallRecord:
        """Takes the session over and plays under the row's lock: two takers would otherwise undo one another."""
        with transaction.atomic():
            try:
                row = lock_session(EnvironmentSession(pk=self.held.pk))
            except EnvironmentSession.DoesNotExist:
                raise SessionClosedError(f"The session is gone. {ANOTHER}") from None
            check_open(row.status, has_expired=row.expires_at < timezone.now())
            row.fence += 1
            EnvironmentSession.objects.filter(pk=row.pk).update(fence=row.fence)
            self.held.row, self.held.live = row, restore_session(row).runtime
            record, snapshot = self._play(row, self.held.live)
            if not row.append([record], snapshot=snapshot, leases=True, bearer=self.bearer):
                raise PermissionDeniedError("The token is unknown, expired or revoked.")  # all else is under the lock
        return record

    def _play(self, row: EnvironmentSession, live: Session) -> tuple[CallRecord, str | None]:
        """The call's record, numbered as the row counts, and a snapshot when one is due."""
        check_length(row, 1)
        live.transcript.clear()  # the row's is the truth
        self.row = row
        with sandbox_errors():
            record = self.record = replace(live.call(self.tool, self.arguments), index=row.num_calls)
            is_due = row.num_calls + 1 - row.snapshot_calls >= SNAPSHOT_CALLS
            return record, live.snapshot().decode() if is_due else None


def _release(held: _Held) -> None:
    """Ends the lease, with a snapshot so that whoever comes next plays nothing again."""
    row, live = held.row, held.live
    if row is not None and live is not None:
        with sandbox_errors():
            snapshot = live.snapshot().decode() if row.snapshot_calls < row.num_calls else None
        row.append([], snapshot=snapshot, leases=False)
    held.drop()


def check_open(status: str, *, has_expired: bool) -> None:
    """Refuses what is no longer used over MCP.

    Raises:
        SessionClosedError: With what to do instead.
    """
    if status == EnvironmentSession.Status.CLOSED:
        raise SessionClosedError(f"The session is closed. {ANOTHER}")
    if has_expired or status == EnvironmentSession.Status.PARKED:
        raise SessionClosedError(f"The session's address has expired: nobody used it for long. {ANOTHER}")
