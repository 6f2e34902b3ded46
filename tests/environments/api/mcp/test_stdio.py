"""`manage.py serve_mcp` with the official client, and what a terminal sees of it."""

import asyncio
import json
import os
import signal
import subprocess
import sys

import pytest
from django.conf import settings
from django.db import connection
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from environments.models import EnvironmentVersion
from tests.environments.api.mcp.clients import error_code, text_of, value_of
from tests.factories.registry import shipped_version

pytestmark = [pytest.mark.django_db(transaction=True)]

INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}  # fmt: skip


def command_line(*arguments):
    return ["manage.py", "serve_mcp", *arguments]


def surroundings():
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "envfactory_site.settings.test",
        "TEST_DATABASE_NAME": connection.settings_dict["NAME"],
    }


def parameters(*arguments):
    return StdioServerParameters(
        command=sys.executable, args=command_line(*arguments), env=surroundings(), cwd=settings.BASE_DIR
    )


def started(*arguments):
    return subprocess.Popen(
        [sys.executable, *command_line(*arguments)], cwd=settings.BASE_DIR, env=surroundings(), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def ended(*arguments):
    return subprocess.run(
        [sys.executable, *command_line(*arguments)], cwd=settings.BASE_DIR, env=surroundings(), text=True,
        stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=100,
    )  # fmt: skip


async def play(client):
    tools = (await client.list_tools()).tools
    assert len(tools) == 12
    joined = await client.call_tool("register_visitor", {"name": "Mara Falk", "email": "mara@example.org"})
    again = await client.call_tool("register_visitor", {"name": "Mara Falk", "email": "mara@example.org"})
    wrong = await client.call_tool("nothing", {})
    found = await client.call_tool("find_visitor", {"email": "mara@example.org"})
    assert again.is_error
    assert error_code(wrong) == "unknown_tool"
    assert value_of(found)
    return text_of(joined)


def test_it_serves_one_state_under_either_protocol(transactional_db):
    shipped_version("repair_cafe")

    async def legacy():
        async with (
            stdio_client(parameters("repair_cafe", "--seed", "3")) as (read, write),
            ClientSession(read, write) as client,
        ):
            assert (await client.initialize()).protocol_version == "2025-11-25"
            return await play(client)

    async def modern():
        async with Client(parameters("repair_cafe", "--seed", "3"), mode="auto") as client:
            assert client.protocol_version == "2026-07-28"
            assert client.instructions.startswith("Repair")
            return await play(client)

    # A process each, so the second finds nothing of the first; the same seed gives the same ids.
    assert asyncio.run(legacy()) == asyncio.run(modern())


@pytest.mark.parametrize("ending", ["end of input", "SIGTERM", "SIGINT"])
def test_it_ends_cleanly_and_says_nothing_but_the_protocol(ending):
    shipped_version("repair_cafe")
    process = started("repair_cafe", "--scenario", "medium")
    process.stdin.write("this is no message\n" + json.dumps(INITIALIZE) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    while answer.get("id") != 1:
        answer = json.loads(process.stdout.readline())
    assert answer["result"]["serverInfo"]["name"] == "envfactory"
    if ending == "end of input":
        process.stdin.close()
    else:
        process.send_signal(getattr(signal, ending))
    assert process.wait(30) == 0
    assert process.stdout.read() == ""
    assert "Traceback" not in process.stderr.read()
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no_such"], "There is no environment named 'no_such'. Verified ones: repair_cafe."),
        (
            ["repair_cafe", "--scenario", "nowhere"],
            "has no scenario named 'nowhere'. Its scenarios: boundary, complex, medium, simple.",
        ),
        (["repair_cafe", "--number", "7"], "repair_cafe has no version 7."),
        (["tide_gauges"], "tide_gauges has no verified version"),
        (["tide_gauges", "--number", "1"], "is draft: only verified versions can be played."),
        (["repair_cafe", "--seed", "x"], "invalid int value"),
    ],
)
def test_it_says_what_is_wrong_when_it_can_not_serve(arguments, words):
    shipped_version("repair_cafe")
    shipped_version("tide_gauges", status=EnvironmentVersion.Status.DRAFT)
    done = ended(*arguments)
    assert done.returncode != 0
    assert words in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
