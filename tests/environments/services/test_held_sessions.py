"""A session's life in the memory of one process: what is stored when, and what ends it."""

import asyncio
from datetime import timedelta

import pytest
from django.db import OperationalError, connections
from django.utils import timezone

from environments.adapters.threads import DatabaseThreads
from environments.core.access import Scope
from environments.core.errors import (
    InvalidInputError,
    PermissionDeniedError,
    QuotaExceededError,
    SandboxFailedError,
    SessionClosedError,
)
from environments.models import EnvironmentSession
from environments.models import sessions as stored
from environments.models.accounts import Bearer
from environments.runtime.sandbox.errors import EpisodeLost
from environments.runtime.session import Session
from environments.services import create_api_token, create_session, revoke_api_token, session_state
from environments.services import held_sessions as held
from environments.services.held_sessions import HeldSessions
from tests.factories.registry import shipped_version

pytestmark = [pytest.mark.django_db(transaction=True)]

READ = ("list_parts", {})
JOIN = ("register_visitor", {"name": "Mara Falk", "email": "mara@example.org"})


@pytest.fixture
def token(operator):
    return create_api_token(user=operator, name="x", scopes=[Scope.SESSIONS]).token


@pytest.fixture
def bearer(token):
    return Bearer(token.pk, token.user.role)


@pytest.fixture
def session(operator, token):
    version = shipped_version("repair_cafe")
    return create_session(user=operator, version=version, scenario="simple", token=token)


def run(play):
    """Runs a coroutine function with the sessions of a loop; its threads' connections are closed at the end."""

    async def main():
        threads = DatabaseThreads(2)
        sessions = HeldSessions(threads)
        try:
            return await play(sessions)
        finally:
            await sessions.close()
            await threads.run(connections.close_all)
            threads.close()

    return asyncio.run(main())


def test_a_call_is_stored_with_a_lease_when_it_is_answered(session, bearer):
    async def play(sessions):
        record = await sessions.call(session.pk, *JOIN, bearer)
        await asyncio.to_thread(refresh)
        return record

    def refresh():
        session.refresh_from_db()
        connections.close_all()

    record = run(play)
    assert (record.index, record.status) == (0, "success")
    assert (session.num_calls, session.fence, session.is_leased) == (1, 1, True)
    assert session.snapshot_calls == 0
    assert [call.to_core().observation for call in session.transcript] == [record.observation]
    session.refresh_from_db()
    assert (session.snapshot_calls, session.leased_until) == (1, None)  # closed meanwhile


def test_a_snapshot_is_stored_every_so_many_calls(session, bearer, monkeypatch):
    monkeypatch.setattr(held, "SNAPSHOT_CALLS", 4)
    seen = []

    async def play(sessions):
        for _ in range(9):
            await sessions.call(session.pk, *READ, bearer)
            seen.append(sessions._by_pk[session.pk].row.snapshot_calls)

    run(play)
    assert seen == [0, 0, 0, 4, 4, 4, 4, 8, 8]


def test_the_state_is_restored_when_another_process_has_had_the_session(session, bearer):
    async def play(sessions):
        other = HeldSessions(sessions._threads)
        first = await sessions.call(session.pk, *JOIN, bearer)
        second = await other.call(session.pk, *JOIN, bearer)
        third = await sessions.call(session.pk, *JOIN, bearer)
        await other.close()
        return first, second, third

    first, second, third = run(play)
    assert [record.status for record in (first, second, third)] == ["success", "rejection", "rejection"]
    assert [record.index for record in (first, second, third)] == [0, 1, 2]


def test_nothing_is_stored_or_changed_when_the_token_was_revoked_meanwhile(session, bearer, token, operator):
    async def play(sessions):
        await sessions.call(session.pk, *READ, bearer)
        await asyncio.to_thread(revoke)
        for _ in range(2):
            with pytest.raises(PermissionDeniedError):
                await sessions.call(session.pk, *JOIN, bearer)

    def revoke():
        revoke_api_token(user=operator, code=token.code)
        connections.close_all()

    run(play)
    session.refresh_from_db()
    assert session.num_calls == 1
    assert not [row for row in session_state(session=session)["visitors"] if row["email"] == "mara@example.org"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"status": "closed", "closed_at": timezone.now()}, "is closed"),
        ({"status": "parked"}, "has expired"),
        ({"used_at": timezone.now() - timedelta(days=1)}, "has expired"),
    ],
)
@pytest.mark.parametrize("is_held", [False, True])
def test_a_session_that_has_ended_is_refused(session, bearer, change, words, is_held):
    async def play(sessions):
        if is_held:
            await sessions.call(session.pk, *READ, bearer)
        await asyncio.to_thread(end)
        with pytest.raises(SessionClosedError, match=words):
            await sessions.call(session.pk, *READ, bearer)

    def end():
        EnvironmentSession.objects.filter(pk=session.pk).update(fence=100, **change)
        connections.close_all()

    run(play)


def test_a_session_that_is_gone_is_refused(session, bearer):
    session.delete()

    async def play(sessions):
        with pytest.raises(SessionClosedError, match="gone"):
            await sessions.call(session.pk or 0, *READ, bearer)

    run(play)


def test_a_full_session_is_refused(session, bearer, settings):
    settings.SESSION_MAX_CALLS = 2

    async def play(sessions):
        for _ in range(2):
            await sessions.call(session.pk, *READ, bearer)
        for _ in range(2):
            with pytest.raises(QuotaExceededError):
                await sessions.call(session.pk, *READ, bearer)

    run(play)
    session.refresh_from_db()
    assert session.num_calls == 2


def test_arguments_that_no_record_can_keep_are_refused(session, bearer):
    async def play(sessions):
        with pytest.raises(InvalidInputError):
            await sessions.call(session.pk, "list_parts", {"name_contains": "\x00"}, bearer)

    run(play)
    session.refresh_from_db()
    assert session.num_calls == 0


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_call_is_made_once_when_the_connection_breaks_as_it_is_stored(session, bearer, monkeypatch, is_stored):
    append = EnvironmentSession.append
    breaks = [False, True]

    def broken(self, *args, **kwargs):
        if breaks and breaks.pop(0):
            if is_stored:
                assert append(self, *args, **kwargs)
            raise OperationalError("the connection is lost")
        return append(self, *args, **kwargs)

    monkeypatch.setattr(EnvironmentSession, "append", broken)

    async def play(sessions):
        await sessions.call(session.pk, *READ, bearer)
        joined = await sessions.call(session.pk, *JOIN, bearer)
        again = await sessions.call(session.pk, *JOIN, bearer)
        return joined, again

    joined, again = run(play)
    assert (joined.status, again.status) == ("success", "rejection")
    session.refresh_from_db()
    assert [call.tool for call in session.transcript] == ["list_parts", "register_visitor", "register_visitor"]


def test_a_call_is_made_in_a_restored_state_when_the_worker_is_lost(session, bearer, monkeypatch):
    call = Session.call
    loses = [False, True]

    def lost(self, *args, **kwargs):
        if loses and loses.pop(0):
            raise EpisodeLost("gone")
        return call(self, *args, **kwargs)

    monkeypatch.setattr(Session, "call", lost)

    async def play(sessions):
        first = await sessions.call(session.pk, *JOIN, bearer)
        return first, await sessions.call(session.pk, *JOIN, bearer)

    first, second = run(play)
    assert (first.status, second.status, second.index) == ("success", "rejection", 1)


def test_a_session_is_well_again_when_its_worker_could_not_be_had(session, bearer, monkeypatch):
    call = Session.call

    def lost(self, *args, **kwargs):
        raise EpisodeLost("gone")

    async def play(sessions):
        await sessions.call(session.pk, *JOIN, bearer)
        monkeypatch.setattr(Session, "call", lost)
        with pytest.raises(SandboxFailedError):
            await sessions.call(session.pk, *JOIN, bearer)
        monkeypatch.setattr(Session, "call", call)
        return await sessions.call(session.pk, *JOIN, bearer)

    assert run(play).status == "rejection"
    session.refresh_from_db()
    assert session.num_calls == 2


def test_what_is_idle_or_too_much_is_given_back(session, bearer, operator, token, monkeypatch):
    monkeypatch.setattr(held, "SWEEP_SECONDS", 0.02)
    monkeypatch.setattr(held, "MAX_HELD", 1)
    second = create_session(user=operator, version=session.version, scenario="simple", token=token)

    async def play(sessions):
        tending = asyncio.create_task(sessions.tend())
        await sessions.call(session.pk, *READ, bearer)
        await sessions.call(second.pk, *READ, bearer)
        while len(sessions) > 1:
            await asyncio.sleep(0.02)
        assert second.pk in sessions._by_pk  # the one used last stays
        monkeypatch.setattr(stored, "LEASE_SECONDS", 0)
        while len(sessions):
            await asyncio.sleep(0.02)
        tending.cancel()
        return await sessions.call(session.pk, *READ, bearer)

    assert run(play).index == 1


def test_a_cancelled_call_ends_before_the_next_begins(session, bearer):
    async def play(sessions):
        await sessions.call(session.pk, *READ, bearer)
        task = asyncio.create_task(sessions.call(session.pk, *JOIN, bearer))
        await asyncio.sleep(0)
        task.cancel()
        again = await sessions.call(session.pk, *JOIN, bearer)
        with pytest.raises(asyncio.CancelledError):
            await task
        return again

    # Cancelled before it began, or else made to its end: then the second finds the visitor there.
    again = run(play)
    session.refresh_from_db()
    assert (again.status, session.num_calls) in {("success", 2), ("rejection", 3)}
