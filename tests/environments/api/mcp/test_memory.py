"""`/mcp/e/<environment>/`: a state in memory for each connection of 2025-11-25, and none for 2026-07-28."""

import asyncio

import httpx
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from environments.api.mcp.doors import MAX_STATES_OF_USER, MemoryStates
from environments.core.errors import QuotaExceededError
from environments.models import EnvironmentSession, EnvironmentVersion
from environments.models.accounts import Bearer
from environments.services import revoke_api_token
from environments.services.admission import Admission
from tests.environments.api.mcp.clients import ask, bearer, issue, legacy_client, message_of, modern_client, value_of
from tests.factories.environments import UserFactory
from tests.factories.registry import little_pack, unchecked_version

pytestmark = [pytest.mark.django_db(transaction=True)]

INITIALIZE = {
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}
DRAW = {"method": "tools/call", "params": {"name": "draw", "arguments": {}}}


@pytest.fixture
def address(console_server, version):
    return f"{console_server}/mcp/e/library/"


def connected(address, key):
    """The id of a new connection."""
    response = ask(address, key, **INITIALIZE)
    assert response.status_code == 200
    return {"Mcp-Session-Id": response.headers["Mcp-Session-Id"]}


def ticket_of(response):
    assert response.status_code == 200
    return response.json()["result"]["structuredContent"]["ticket"]


def test_each_connection_has_a_state_of_its_own(address, token):
    async def play():
        async with legacy_client(address, token.key) as one, legacy_client(address, token.key) as other:
            tickets = [value_of(await client.call_tool("draw", {})) for client in (one, other, one)]
            assert (await one.list_tools()).tools[0].name == "get_book"
            return tickets

    first, second, third = asyncio.run(play())
    assert first == second
    assert third != first
    assert not EnvironmentSession.objects.exists()


def test_scenario_and_seed_are_as_the_address_says(address, token):
    async def books(query):
        async with legacy_client(f"{address}{query}", token.key) as client:
            found = value_of(await client.call_tool("list_books", {}))["books"]
            return len(found), value_of(await client.call_tool("draw", {}))["number"]

    async def play():
        return [await books(query) for query in ("", "?seed=5", "?seed=6", "?scenario=empty", "?scenario=empty&seed=6")]

    default, same, other, empty, other_empty = asyncio.run(play())
    assert default == same
    assert (default[0], empty[0]) == (2, 0)
    assert len({default[1], other[1]}) == 2
    assert empty[1] != other_empty[1]


def test_a_pack_that_no_worker_takes_is_the_servers_fault_and_not_the_arguments(console_server, token):
    broken = unchecked_version(little_pack(name="broken", tools_py="def nothing(ctx):\n    return {}\n"))
    assert broken.move(EnvironmentVersion.Status.VERIFIED)
    address = f"{console_server}/mcp/e/broken/"

    response = ask(address, token.key, headers=connected(address, token.key), **DRAW)

    assert response.status_code == 200
    error = response.json()["error"]
    assert (error["code"], error["data"]["code"]) == (INTERNAL_ERROR, "sandbox_failed")
    assert "PackRefusedError" in error["message"]


def test_the_newest_protocol_is_told_to_make_a_session(address, token):
    async def play():
        async with modern_client(address, token.key) as client:
            for ask_it in (lambda: client.call_tool("draw", {}), client.list_tools):
                with pytest.raises(MCPError, match="POST /api/v1/sessions/") as caught:
                    await ask_it()
                assert caught.value.error.data["supported"][-1] == "2025-11-25"

    asyncio.run(play())


def test_a_client_that_may_choose_takes_the_older_protocol(address, token):
    async def play():
        async with modern_client(address, token.key, mode="auto") as client:
            assert client.protocol_version == "2025-11-25"
            return value_of(await client.call_tool("draw", {}))["ticket"]

    assert asyncio.run(play())


def test_a_connection_ends_when_its_client_says_so(address, token):
    known = connected(address, token.key)
    assert ticket_of(ask(address, token.key, headers=known, **DRAW))
    gone = httpx.delete(address, headers={**bearer(token.key), **known, "Mcp-Protocol-Version": "2025-11-25"})
    assert gone.status_code == 200
    response = ask(address, token.key, headers=known, **DRAW)
    assert (response.status_code, message_of(response)) == (
        404, "The connection has ended. Connect again; it starts anew.",
    )  # fmt: skip


def test_a_connection_ends_when_it_is_idle(start_server, version, token):
    server = start_server(SESSION_IDLE_SECONDS="1")
    server.wait()
    address = f"{server.address}/mcp/e/library/"
    known = connected(address, token.key)
    assert ticket_of(ask(address, token.key, headers=known, **DRAW))
    asyncio.run(asyncio.sleep(2.5))
    assert ask(address, token.key, headers=known, **DRAW).status_code == 404


def test_a_connection_belongs_to_its_token_and_its_environment(address, console_server, operator, token):
    known = connected(address, token.key)
    first = ticket_of(ask(address, token.key, headers=known, **DRAW))
    for key in (issue(operator, "second").key, issue(UserFactory.create(role="operator")).key):
        assert ask(address, key, headers=known, **DRAW).status_code == 404
    elsewhere = ask(f"{console_server}/mcp/e/another/", token.key, headers=known, **DRAW)
    assert elsewhere.status_code == 404
    assert ticket_of(ask(address, token.key, headers=known, **DRAW)) != first


def test_of_two_ids_in_one_request_both_parts_read_the_same(address, operator, token):
    """The library reads the first of two headers; a state chosen by the second would be another person's."""
    other = issue(UserFactory.create(role="operator"))
    mine, theirs = connected(address, token.key), connected(address, other.key)
    ticket_of(ask(address, other.key, headers=theirs, **DRAW))
    headers = [
        *bearer(token.key).items(),
        ("Accept", "application/json, text/event-stream"),
        ("Mcp-Protocol-Version", "2025-11-25"),
        *mine.items(),
        *theirs.items(),
    ]
    body = {"jsonrpc": "2.0", "id": 1, **DRAW}
    doubled = httpx.post(address, json=body, headers=headers)
    swapped = httpx.post(address, json=body, headers=[*headers[:3], *theirs.items(), *mine.items()])
    assert swapped.status_code in {400, 404}
    # As if mine had been sent alone: the first ticket of a fresh state.
    assert ticket_of(doubled) == ticket_of(ask(address, token.key, headers=connected(address, token.key), **DRAW))


def test_a_revoked_token_ends_a_connection_at_once(address, operator):
    token = issue(operator, "short")
    known = connected(address, token.key)
    assert ticket_of(ask(address, token.key, headers=known, **DRAW))
    revoke_api_token(user=operator, code=token.token.code)
    response = ask(address, token.key, headers=known, **DRAW)
    assert (response.status_code, message_of(response)) == (401, "The token is unknown, expired or revoked.")


@pytest.mark.parametrize(
    ("place", "status", "words"),
    [
        ("nothing/", 404, "no environment named 'nothing'"),
        ("library/?scenario=nowhere", 400, "Its scenarios: small, empty."),
        ("library/?seed=x", 400, "whole number"),
        ("library/?seed=" + "9" * 30, 400, "whole number"),
        ("library/?seed=1&seed=2", 400, "each once"),
        ("library/?version=1", 400, "nothing else"),
        ("library/?" + "a=1&" * 50, 400, "nothing else"),
        ("LIBRARY/", 404, "Addresses are"),
        ("library/more/", 404, "Addresses are"),
    ],
)
def test_an_address_that_is_none_says_why(place, status, words, address, console_server, token):
    response = ask(f"{console_server}/mcp/e/{place}", token.key, **INITIALIZE)
    assert response.status_code == status
    assert words in message_of(response)


def test_a_version_in_quarantine_can_not_be_played(address, version, token):
    assert version.move(EnvironmentVersion.Status.RETIRED, reason="as the test needs it")
    response = ask(address, token.key, **INITIALIZE)
    assert response.status_code == 400
    assert "no verified version" in message_of(response)


def test_nobody_comes_in_without_a_token(address):
    assert ask(address, **INITIALIZE).status_code == 401


def test_one_person_can_have_only_so_many_states():
    states = MemoryStates()
    admission = Admission(Bearer(1, "operator"), user=7, may_open=True, session=None)
    for number in range(MAX_STATES_OF_USER):
        with states.place(7):
            states.add(str(number), admission, None)
    with pytest.raises(QuotaExceededError, match="the limit"), states.place(7):
        raise AssertionError("not reached")
    with states.place(8):
        pass
