"""Several web processes and one session: they take it from one another, and the death of one loses nothing."""

import asyncio
import json
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from environments.core.errors import SessionLeasedError
from environments.models import EnvironmentSession
from environments.runtime.sandbox.pool import WorkerPool
from environments.runtime.session import Environment
from environments.runtime.transcripts import read_transcript
from environments.services import call_session, session_state, session_transcript
from tests.environments.api.mcp.clients import ask, issue, legacy_client, modern_client, text_of, value_of
from tests.factories.little_pack import library

pytestmark = [pytest.mark.django_db(transaction=True)]

DRAW = {"method": "tools/call", "params": {"name": "draw", "arguments": {}}}


def expected(calls):
    """What the calls give in one process that nobody disturbs."""
    with WorkerPool() as pool:
        return [record.observation for record in Environment(library(), pool).open("small").calls(calls)]


def observations(session):
    return [record.observation for record in read_transcript(session_transcript(session=session)).records]


@pytest.fixture
def two_servers(start_server):
    servers = [start_server(), start_server()]
    for server in servers:
        server.wait()
    return servers


def test_two_processes_serve_one_session_in_turn(two_servers, open_session, token):
    session = open_session()

    async def play():
        first, second = (server.address_of(session) for server in two_servers)
        async with legacy_client(first, token.key) as one, modern_client(second, token.key) as other:
            return [text_of(await (one, other)[number % 2].call_tool("draw", {})) for number in range(10)]

    answers = asyncio.run(play())
    assert answers == expected([("draw", {})] * 10)
    assert observations(session) == answers
    session.refresh_from_db()
    assert (session.num_calls, session.fence) == (10, 10)


def test_two_processes_at_once_lose_no_call_and_make_none_twice(two_servers, open_session, token):
    session = open_session()

    async def play():
        first, second = (server.address_of(session) for server in two_servers)
        async with legacy_client(first, token.key) as one, modern_client(second, token.key) as other:
            calls = [(one, other)[number % 2].call_tool("draw", {}) for number in range(40)]
            return [text_of(result) for result in await asyncio.gather(*calls)]

    answers = asyncio.run(play())
    assert len(set(answers)) == 40
    assert sorted(observations(session)) == sorted(answers)
    assert observations(session) == expected([("draw", {})] * 40)


def test_another_process_takes_over_when_the_holder_is_killed(two_servers, open_session, token):
    session = open_session()
    holder, other = two_servers

    async def play(server, count):
        async with modern_client(server.address_of(session), token.key) as client:
            return [text_of(await client.call_tool("draw", {})) for _ in range(count)]

    # Past a stored snapshot, so that what follows it must be played again.
    before = asyncio.run(play(holder, 40))
    holder.kill()
    after = asyncio.run(play(other, 3))
    assert [*before, *after] == expected([("draw", {})] * 43) == observations(session)
    session.refresh_from_db()
    assert session.snapshot_calls == 32


def test_a_process_killed_in_the_middle_of_calls_loses_none_that_it_answered(two_servers, open_session, token):
    session = open_session()
    holder, other = two_servers
    answered = []

    async def play():
        async with legacy_client(holder.address_of(session), token.key) as client:
            while True:
                answered.append(text_of(await client.call_tool("draw", {})))
                if len(answered) == 20:
                    asyncio.get_running_loop().call_later(0.004, holder.process.kill)

    with pytest.raises(BaseException):  # noqa: B017 - whatever the library makes of it, among others a group
        asyncio.run(play())

    async def go_on():
        async with legacy_client(other.address_of(session), token.key) as client:
            return text_of(await client.call_tool("draw", {}))

    last = asyncio.run(go_on())
    stored = observations(session)
    assert stored == expected([("draw", {})] * len(stored))
    assert stored[: len(answered)] == answered
    assert len(stored) - len(answered) in {1, 2}  # the last one, and perhaps one whose answer was lost
    assert stored[-1] == last


def test_writing_over_rest_waits_for_the_lease_to_end(console_server, open_session, token):
    session = open_session()
    address = f"{console_server}/mcp/s/{session.code}/"
    assert ask(address, token.key, **DRAW).status_code == 200
    with pytest.raises(SessionLeasedError):
        call_session(session=session, calls=[("draw", {})])
    assert len(session_state(session=session)["tickets"]) == 1  # reading need not wait
    # Ten seconds later, in a moment.
    row = EnvironmentSession.objects.filter(pk=session.pk, leased_until__gt=timezone.now())
    assert row.update(leased_until=timezone.now() - timedelta(seconds=1)) == 1
    (record,) = call_session(session=session, calls=[("draw", {})])
    # What the server holds is old now; it takes the session back, and nothing of either is lost.
    answer = ask(address, token.key, **DRAW).json()["result"]["content"][0]["text"]
    assert observations(session) == expected([("draw", {})] * 3)
    assert observations(session)[1:] == [record.observation, answer]


def test_an_idle_session_is_given_back_with_a_snapshot(start_server, open_session, token, monkeypatch):
    server = start_server()
    server.wait()
    session = open_session()
    assert ask(server.address_of(session), token.key, **DRAW).status_code == 200
    session.refresh_from_db()
    assert (session.snapshot_calls, session.is_leased) == (0, True)
    deadline = timezone.now() + timedelta(seconds=30)
    while timezone.now() < deadline and session.leased_until is not None:
        session.refresh_from_db()
    assert session.leased_until is None
    assert session.snapshot_calls == 1
    assert call_session(session=session, calls=[("draw", {})])[0].status == "success"
    assert json.loads(ask(server.address_of(session), token.key, **DRAW).json()["result"]["content"][0]["text"])
    assert observations(session) == expected([("draw", {})] * 3)


def test_a_stopping_process_gives_its_sessions_back(start_server, open_session, token):
    server = start_server()
    server.wait()
    sessions = [open_session() for _ in range(5)]
    for session in sessions:
        assert ask(server.address_of(session), token.key, **DRAW).status_code == 200
    server.stop()
    for session in sessions:
        session.refresh_from_db()
        assert (session.leased_until, session.snapshot_calls) == (None, 1)


def test_the_database_may_break_every_connection(console_server, open_session, token):
    session = open_session()
    address = f"{console_server}/mcp/s/{session.code}/"
    answers = []
    for _ in range(4):
        answers.append(ask(address, token.key, **DRAW).json()["result"]["content"][0]["text"])
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
    assert answers == expected([("draw", {})] * 4) == observations(session)


@pytest.mark.parametrize("lifespan", ["on", "off"])
def test_it_works_whether_the_server_sends_lifespan_events_or_not(lifespan, start_server, open_session, token):
    server = start_server(UVICORN_LIFESPAN=lifespan)
    server.wait()
    session = open_session()

    async def play():
        async with modern_client(server.address_of(session), token.key) as client:
            return value_of(await client.call_tool("draw", {}))

    assert asyncio.run(play())["ticket"]


def test_it_works_with_a_pool_of_connections(start_server, open_session, operator):
    token = issue(operator, "pooled")
    server = start_server(DATABASE_POOL_SIZE="2")
    server.wait()
    sessions = [open_session(token=token.token) for _ in range(6)]

    async def play(session):
        async with modern_client(server.address_of(session), token.key) as client:
            return [text_of(await client.call_tool("draw", {})) for _ in range(3)]

    async def play_all():
        return await asyncio.gather(*(play(session) for session in sessions))

    assert asyncio.run(play_all()) == [expected([("draw", {})] * 3)] * 6
