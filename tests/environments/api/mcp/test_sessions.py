"""`/mcp/s/<code>/` with the official clients of both protocol generations against a real server."""

import asyncio
import json
import signal
import subprocess
import sys
from datetime import timedelta

import httpx
import pytest
from django.utils import timezone
from mcp.shared.exceptions import MCPError

from environments.core.access import Scope
from environments.models import EnvironmentSession, User
from environments.runtime.sandbox.pool import WorkerPool
from environments.runtime.session import Environment
from environments.runtime.transcripts import read_transcript
from environments.services import (
    close_session,
    park_idle_sessions,
    revoke_api_token,
    session_state,
    session_transcript,
)
from tests.environments.api.mcp.clients import (
    CLIENTS,
    ask,
    bearer,
    beside,
    error_code,
    issue,
    legacy_client,
    message_of,
    modern_client,
    text_of,
    value_of,
)
from tests.factories.environments import UserFactory
from tests.factories.little_pack import library

pytestmark = [pytest.mark.django_db(transaction=True)]

both = pytest.mark.parametrize("connect", CLIENTS.values(), ids=CLIENTS)
eras = pytest.mark.parametrize("modern", [False, True], ids=CLIENTS)
LEND = {"member_id": 1, "book_id": "bk-1"}


@pytest.fixture
def address_of(console_server):
    return lambda session: f"{console_server}/mcp/s/{session.code}/"


# --- What an agent sees -----------------------------------------------------------------------------------------------


@both
def test_tools_are_listed_with_schemas_and_hints(connect, address_of, open_session, token):
    address = address_of(open_session())

    async def list_tools():
        async with connect(address, token.key) as client:
            return (await client.list_tools()).tools

    tools = asyncio.run(list_tools())
    assert [tool.name for tool in tools] == [tool.name for tool in library().tools]
    for tool, expected in zip(tools, library().tools, strict=True):
        assert tool.input_schema == expected.input_schema
        assert tool.output_schema == expected.output_schema
        assert (tool.title, tool.description) == (expected.title, expected.description)
        hints, reads = tool.annotations, expected.effect == "read"
        assert (hints.read_only_hint, hints.open_world_hint) == (reads, False)
        # Nothing has been verified, so whatever writes is to be handled with care.
        assert (hints.destructive_hint, hints.idempotent_hint) == (not reads, reads)


@both
def test_an_agent_is_told_about_the_environment(connect, address_of, open_session, token):
    address = address_of(open_session())

    async def introduce():
        if connect is modern_client:
            async with connect(address, token.key, mode="auto") as client:
                assert client.protocol_version == "2026-07-28"
                return client.instructions
        async with connect(address, token.key) as client:
            return client.initialize_result.instructions

    assert asyncio.run(introduce()) == "Library\n\nA lending library"


@both
def test_answers_are_the_observations_of_every_other_door(connect, address_of, open_session, token, version):
    calls = [
        ("get_book", {"book_id": "bk-1"}),
        ("lend", LEND),
        ("get_book", {"book_id": "no"}),
        ("lend", {"member_id": 1, "book_id": "bk-2"}),
        ("lend", {"member_id": "1", "more": 2}),
        ("draw", {}),
        ("no_such_tool", {}),
        ("draw", {}),
    ]
    session = open_session()

    async def play():
        async with connect(address_of(session), token.key) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    results = asyncio.run(play())
    with WorkerPool() as pool:
        records = Environment(library(), pool).open("small").calls(calls)
    assert [text_of(result) for result in results] == [record.observation for record in records]
    assert [result.is_error for result in results] == [record.status != "success" for record in records]
    assert [value_of(result) for result in results if not result.is_error]
    assert [error_code(result) for result in results if result.is_error] == [
        "no_book", "no_copies", "invalid_arguments", "unknown_tool",
    ]  # fmt: skip
    stored = read_transcript(session_transcript(session=session)).records
    assert [(record.index, record.tool, record.arguments, record.observation) for record in stored] == [
        (index, name, arguments, record.observation)
        for index, ((name, arguments), record) in enumerate(zip(calls, records, strict=True))
    ]


def test_a_session_goes_on_under_another_protocol_version(address_of, open_session, token):
    session = open_session()

    async def play():
        async with legacy_client(address_of(session), token.key) as client:
            first = value_of(await client.call_tool("draw", {}))
        async with modern_client(address_of(session), token.key) as client:
            second = value_of(await client.call_tool("draw", {}))
        return first, second

    first, second = asyncio.run(play())
    with WorkerPool() as pool:
        records = Environment(library(), pool).open("small").calls([("draw", {}), ("draw", {})])
    assert [first, second] == [json.loads(record.observation) for record in records]


# --- Isolation --------------------------------------------------------------------------------------------------------


def test_two_clients_at_once_never_see_one_another(address_of, open_session, token):
    ours, theirs = open_session(), open_session()

    async def play(connect, session, name):
        async with connect(address_of(session), token.key) as client:
            for number in range(10):
                joined = await client.call_tool("join", {"name": name, "email": f"{name}{number}@example.org"})
                # Were the state shared, the other's members would have taken these numbers.
                assert value_of(joined)["member_id"] == 8 + number
                value_of(await client.call_tool("lend", LEND)) if number < 2 else None

    async def play_both():
        await asyncio.gather(play(legacy_client, ours, "ours"), play(modern_client, theirs, "theirs"))

    asyncio.run(play_both())
    for session, name in ((ours, "ours"), (theirs, "theirs")):
        members = [row["email"] for row in session_state(session=session)["members"]]
        assert members[2:] == [f"{name}{number}@example.org" for number in range(10)]


CLIENT = """
import asyncio, sys
from tests.environments.api.mcp.clients import {connect}

async def main():
    async with {connect}("{address}", "{key}") as client:
        await client.call_tool("draw", {{}})
        print("ready", flush=True)
        while True:
            await client.call_tool("act", {{"seconds": 0.1}})

asyncio.run(main())
"""


@pytest.mark.parametrize("connect", ["legacy_client", "modern_client"])
def test_a_client_killed_in_a_call_leaves_the_other_well(connect, address_of, open_session, token, slow_version):
    killed, other = open_session(version=slow_version), open_session(version=slow_version)
    source = f"import django; django.setup()\n{CLIENT}".format(
        connect=connect, address=address_of(killed), key=token.key
    )
    process = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)

    async def play():
        async with legacy_client(address_of(other), token.key) as client:
            first = value_of(await client.call_tool("draw", {}))
            assert process.stdout.readline() == "ready\n"
            await asyncio.sleep(0.5)  # it does nothing but make slow calls
            process.send_signal(signal.SIGKILL)
            process.wait(10)
            rest = [value_of(await client.call_tool("draw", {})) for _ in range(5)]
            return [first, *rest]

    drawn = asyncio.run(play())
    process.stdout.close()
    assert len({row["ticket"] for row in drawn}) == 6

    async def go_on():
        async with modern_client(address_of(killed), token.key) as client:
            return await client.call_tool("get_book", {"book_id": "bk-1"})

    # The call that nobody waited for was made to its end before the next one, or not at all.
    found = value_of(asyncio.run(go_on()))
    first, *slow, last = read_transcript(session_transcript(session=killed)).records
    assert [first.tool, last.tool] == ["draw", "get_book"]
    assert slow
    assert {(record.tool, record.status) for record in slow} == {("act", "success")}
    assert found["book"]["copies"] == 2 + len(slow)


def test_a_burst_of_calls_is_made_one_after_another(address_of, open_session, token):
    session = open_session()

    async def play():
        async with (
            legacy_client(address_of(session), token.key) as ours,
            modern_client(address_of(session), token.key) as theirs,
        ):
            calls = [(ours, theirs)[number % 2].call_tool("draw", {}) for number in range(64)]
            return await asyncio.gather(*calls)

    results = [text_of(result) for result in asyncio.run(play())]
    stored = read_transcript(session_transcript(session=session)).records
    assert [record.index for record in stored] == list(range(64))
    assert sorted(record.observation for record in stored) == sorted(results)
    assert len(set(results)) == 64
    with WorkerPool() as pool:
        assert [record.observation for record in stored] == [
            record.observation for record in Environment(library(), pool).open("small").calls([("draw", {})] * 64)
        ]


# --- Who may come in --------------------------------------------------------------------------------------------------


@eras
def test_a_request_without_a_good_token_is_401(modern, address_of, open_session, operator):
    address = address_of(open_session())
    expired = issue(operator)
    type(expired.token).objects.filter(pk=expired.token.pk).update(
        created_at=timezone.now() - timedelta(days=2), expires_at=timezone.now() - timedelta(days=1)
    )
    for headers in ({}, bearer("evf_wrong"), bearer(expired.key), {"Authorization": "Basic eDp5"}, bearer("no start")):
        response = ask(address, headers=headers, modern=modern)
        assert response.status_code == 401
        assert response.headers["WWW-Authenticate"].startswith("Bearer")
        assert "token" in message_of(response)


@both
def test_a_revoked_token_is_refused_at_once(connect, address_of, open_session, operator):
    token = issue(operator, "short")
    session = open_session(token=token.token)

    async def play():
        async with connect(address_of(session), token.key) as client:
            value_of(await client.call_tool("draw", {}))
            await beside(revoke_api_token, user=operator, code=token.token.code)
            for ask_again in (lambda: client.call_tool("draw", {}), client.list_tools):
                with pytest.raises(MCPError, match="revoked"):
                    await ask_again()

    asyncio.run(play())
    assert ask(address_of(session), token.key).status_code == 401
    session.refresh_from_db()
    assert session.num_calls == 1


@eras
@pytest.mark.parametrize("method", ["tools/list", "tools/call"])
def test_a_revoked_token_is_401_whatever_was_asked_before(modern, method, address_of, open_session, operator):
    token = issue(operator, "short")
    session = open_session(token=token.token)
    params = {"name": "draw", "arguments": {}} if method == "tools/call" else {}
    assert ask(address_of(session), token.key, method=method, params=params, modern=modern).status_code == 200
    revoke_api_token(user=operator, code=token.token.code)
    response = ask(address_of(session), token.key, method=method, params=params, modern=modern)
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_token_is_refused_when_its_owner_may_open_sessions_no_more(address_of, open_session, operator, token):
    session = open_session()
    call = {"method": "tools/call", "params": {"name": "draw", "arguments": {}}}
    assert ask(address_of(session), token.key, **call).status_code == 200
    operator.role = User.Role.VIEWER
    operator.save()
    assert ask(address_of(session), token.key, **call).status_code == 401
    assert ask(address_of(session), token.key, **call).status_code == 403
    operator.is_active = False
    operator.save()
    assert ask(address_of(session), token.key, **call).status_code == 401


def test_a_token_without_the_scope_is_403(address_of, open_session, operator):
    reader = issue(operator, "reader", scopes=[Scope.READ, Scope.JOBS])
    response = ask(address_of(open_session(token=None)), reader.key)
    assert (response.status_code, message_of(response)) == (403, "The token lacks the scope sessions.")


def test_a_session_answers_to_the_token_that_made_it_only(address_of, open_session, operator, token):
    second = issue(operator, "second")
    stranger = issue(UserFactory.create(role=User.Role.OPERATOR))
    bound, free = open_session(), open_session(token=None)
    assert ask(address_of(bound), token.key).status_code == 200
    assert ask(address_of(bound), second.key).status_code == 404
    assert ask(address_of(free), second.key).status_code == 200
    refused = [ask(address_of(session), stranger.key) for session in (bound, free)]
    nowhere = ask(f"{address_of(bound)[:-37]}{'0' * 8}-0000-4000-8000-{'0' * 12}/", stranger.key)
    assert [response.status_code for response in [*refused, nowhere]] == [404, 404, 404]
    # Nothing tells a stranger whether the session is there.
    assert {response.text for response in refused} == {nowhere.text}


@pytest.mark.parametrize("place", ["nothing", "", "0", "%00", "../e/library", "'; DROP TABLE x"])
def test_an_address_that_is_none_is_404(place, console_server, token):
    response = ask(f"{console_server}/mcp/s/{place}/", token.key)
    assert response.status_code == 404
    assert response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:80", "Origin": "http://evil.example:80"}, 421),
        ({"Origin": "same"}, 200),
    ],
)
def test_pages_of_other_sites_are_refused(headers, status, console_server, address_of, open_session, token):
    sent = {**headers, **({"Origin": console_server} if headers.get("Origin") == "same" else {})}
    assert ask(address_of(open_session()), token.key, headers=sent).status_code == status


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "HEAD"])
def test_other_methods_are_405(method, address_of, open_session, token):
    response = httpx.request(method, address_of(open_session()), headers=bearer(token.key))
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")


def test_a_body_that_is_too_large_is_413(address_of, open_session, token):
    response = ask(address_of(open_session()), token.key, params={"name": "draw", "arguments": {"x": "y" * 3_000_000}})
    assert response.status_code == 413


# --- The end of an address --------------------------------------------------------------------------------------------


@eras
def test_an_expired_address_is_404_and_says_what_to_do(modern, address_of, open_session, token):
    call = {"method": "tools/call", "params": {"name": "draw", "arguments": {}}, "modern": modern}
    expired, parked, closed = (open_session() for _ in range(3))
    for session in (expired, parked, closed):
        assert ask(address_of(session), token.key, **call).status_code == 200
    old = EnvironmentSession.objects.filter(pk__in=[expired.pk, parked.pk])
    old.filter(pk=parked.pk).update(used_at=timezone.now() - timedelta(hours=1))
    assert park_idle_sessions() == 1
    old.filter(pk=expired.pk).update(used_at=timezone.now() - timedelta(hours=1))
    close_session(session=closed)
    for session, words in ((expired, "expired"), (parked, "expired"), (closed, "closed")):
        for _ in range(2):
            response = ask(address_of(session), token.key, modern=modern)
            assert response.status_code == 404
            assert words in message_of(response)
            assert "POST /api/v1/sessions/" in message_of(response)
    for session in (parked, closed):
        assert ask(address_of(session), token.key, **call).status_code == 404
        session.refresh_from_db()
        assert session.num_calls == 1


@both
def test_a_client_reads_why_its_session_is_gone(connect, address_of, open_session, token):
    session = open_session()

    async def play():
        async with connect(address_of(session), token.key) as client:
            value_of(await client.call_tool("draw", {}))
            await beside(close_session, session=session)
            with pytest.raises(MCPError, match="is closed"):
                await client.call_tool("draw", {})

    asyncio.run(play())


# --- Hostile input ----------------------------------------------------------------------------------------------------

DEEP = "[" * 200 + "]" * 200


@eras
@pytest.mark.parametrize(
    "arguments",
    [
        '{"book_id": "\\u0000"}',
        '{"book_id": "\\ud800"}',
        '{"\\udfff": 1}',
        '{"book_id": NaN}',
        '{"book_id": Infinity}',
        '{"book_id": 1e999}',
        '{"book_id": ' + "9" * 400 + "}",
        '{"book_id": ' + "9" * 5000 + "}",
        '{"book_id": ' + DEEP + "}",
        '{"book_id": "' + "x" * 100_000 + '"}',
        '{"book_id": "<script>alert(1)</script>\\u001b[31m\\u202e"}',
        '{"book_id": "\'; DROP TABLE books; --"}',
        '{"book_id": "a", "book_id": "bk-1"}',
        "[]",
        "null",
        '"bk-1"',
        "7",
    ],
    ids=lambda text: text[:40],
)
def test_hostile_arguments_harm_nobody(arguments, modern, address_of, open_session, token):
    address = address_of(open_session())
    meta = (
        '{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}'
        if modern
        else "{}"
    )
    body = (
        '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", '
        f'"params": {{"name": "get_book", "arguments": {arguments}, "_meta": {meta}}}}}'
    )
    headers = {
        **bearer(token.key),
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Mcp-Protocol-Version": "2026-07-28" if modern else "2025-11-25",
        **({"Mcp-Method": "tools/call", "Mcp-Name": "get_book"} if modern else {}),
    }
    response = httpx.post(address, content=body, headers=headers, timeout=60)
    assert response.status_code < 500
    answer = response.json()
    if "result" in answer:
        found = json.loads(answer["result"]["content"][0]["text"])
        if answer["result"].get("isError"):
            assert found["error"]["code"] in {"invalid_arguments", "no_book"}
        else:
            assert found["book"]["id"] == "bk-1"
    else:
        assert answer["error"]["code"] in {-32700, -32600, -32602}
    # The session is as well as before.
    call = {"method": "tools/call", "params": {"name": "get_book", "arguments": {"book_id": "bk-1"}}}
    assert ask(address, token.key, **call).json()["result"]["structuredContent"]["book"]["copies"] == 2


@eras
@pytest.mark.parametrize("name", ["", "reset", "snapshot", "get_book\n", "x" * 10_000, "🙂", "\u0000", "../lend"])
def test_a_tool_that_is_none_is_an_error_that_the_agent_reads(name, modern, address_of, open_session, token):
    params = {"name": name, "arguments": {}}
    headers = {"Mcp-Name": "=?base64?" + __import__("base64").b64encode(name.encode()).decode() + "?="}
    response = ask(
        address_of(open_session()), token.key, method="tools/call", params=params, modern=modern, headers=headers
    )
    assert response.status_code == 200
    result = response.json()["result"]
    assert result["isError"]
    assert json.loads(result["content"][0]["text"])["error"]["code"] in {"unknown_tool", "invalid_arguments"}


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"\xff", b"null", b'{"jsonrpc":"2.0"}', b'[{"jsonrpc":"2.0","id":1}]']
)
def test_a_body_that_is_no_message_is_400(body, address_of, open_session, token):
    headers = {**bearer(token.key), "Content-Type": "application/json", "Accept": "application/json"}
    assert httpx.post(address_of(open_session()), content=body, headers=headers).status_code == 400
