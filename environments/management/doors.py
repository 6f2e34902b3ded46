"""What `bench_doors` goes through: a pack, web processes that serve it, and clients of the REST and the MCP door."""

import hashlib
import http.client
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol
from urllib.parse import urlsplit

import httpx2
from django.core.management.base import CommandError
from mcp import Client, ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from environments.adapters.processes import APPLICATION, web_command
from environments.adapters.supervisor import Supervisor
from environments.management.benchmarks import HOST, free_port
from environments.runtime.pack.model import Column, Condition, Licence, Pack, Provenance, Scenario, Table, Tool
from environments.runtime.records import Row

SCENARIO: Final = "start"
NUM_ROWS: Final = 500
TIMEOUT_SECONDS: Final = 120
READY_SECONDS: Final = 60
KEPT_SECONDS: Final = 2.0
"""How long a silent connection is used again; the server closes it after five."""

# --- The pack ---------------------------------------------------------------------------------------------------------

_SCHEMA = """
CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    note TEXT
) STRICT;
"""
_TOOLS = '''
"""Tools of the bench."""


def get_entry(ctx, *, id):
    return ctx.db.one("SELECT id, name, amount, note FROM entries WHERE id = :id", id=id)


def note_entry(ctx, *, id, note):
    ctx.db.run("UPDATE entries SET note = :note WHERE id = :id", id=id, note=note)
    return {"id": id, "note": note}


def raise_amounts(ctx):
    ctx.db.run("UPDATE entries SET amount = amount + 1")
    return {"num_rows": ctx.db.one("SELECT count(*) AS count FROM entries")["count"]}
'''


def bench_pack() -> Pack:
    """Entries with notes: what is measured is the doors, so nothing in it is slow."""
    entry = {
        "id": {"type": "integer", "minimum": 1},
        "name": {"type": "string"},
        "amount": {"type": "integer"},
        "note": {"type": ["string", "null"], "maxLength": 200},
    }
    note = {"id": entry["id"], "note": {"type": "string", "maxLength": 200}}
    rows: tuple[Row, ...] = tuple(
        {"id": number + 1, "name": f"entry {number}", "amount": number, "note": None} for number in range(NUM_ROWS)
    )
    return Pack(
        name="bench_doors",
        title="Bench",
        domain="bench",
        description="Entries with notes",
        language="en",
        licence=Licence("CC0-1.0"),
        clock_start="2026-03-02T09:00:00Z",
        clock_step_seconds=0,
        tables={
            "entries": Table(
                "Entries",
                "entity",
                {"id": Column("hard"), "name": Column("hard"), "amount": Column("hard"), "note": Column("semantic")},
            )
        },
        tools=(
            _tool("get_entry", "read", {"id": entry["id"]}, entry),
            _tool("note_entry", "write", note, note),
            _tool("raise_amounts", "write", {}, {"num_rows": {"type": "integer"}}),
        ),
        provenance=(
            Provenance(
                kind="person",
                address="https://creativecommons.org/publicdomain/zero/1.0/",
                sha256=hashlib.sha256(_TOOLS.encode()).hexdigest(),
                retrieved_at="2026-03-02T09:00:00Z",
            ),
        ),
        schema_sql=_SCHEMA,
        tools_py=_TOOLS,
        scenarios=(Scenario(SCENARIO, "simple", "2026-03-02T09:00:00Z", 1, {"entries": rows}),),
    )


def _tool(name: str, effect: Literal["read", "write"], inputs: dict[str, Any], outputs: dict[str, Any]) -> Tool:
    there = Condition("no_such_entry", "SELECT count(*) FROM entries WHERE id = :id", "There is no such entry.")
    return Tool(
        name=name,
        title=name.replace("_", " ").capitalize(),
        description=f"{name.replace('_', ' ').capitalize()}.",
        effect=effect,
        audience="agent",
        input_schema=_object(inputs),
        output_schema=_object(outputs),
        preconditions=(there,) if "id" in inputs else (),
    )


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


# --- Processes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Served:
    """A web process."""

    address: str
    process_id: int

    def cpu_seconds(self) -> float:
        """What it has used so far, all its threads together, to the hundredth."""
        fields = Path(f"/proc/{self.process_id}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def web_processes(number: int, environment: Mapping[str, str]) -> Iterator[list[Served]]:
    """Web processes of one site, as `manage.py run` starts them."""
    with ExitStack() as stack:
        yield [stack.enter_context(_served(web_command, "/readyz", environment)) for _ in range(number)]


@contextmanager
def noop_process() -> Iterator[Served]:
    """The no-op MCP server under the same web server, with the same options."""

    def command(*, host: str, port: int) -> list[str]:
        site = f"{APPLICATION}.asgi:application"
        noop = "environments.management.noop_mcp:application"
        return [noop if part == site else part for part in web_command(host=host, port=port)]

    with _served(command, None, {}) as served:
        yield served


@contextmanager
def _served(command: Callable[..., list[str]], path: str | None, environment: Mapping[str, str]) -> Iterator[Served]:
    port = free_port()
    with Supervisor() as supervisor:
        process_id = supervisor.start("web", command(host=HOST, port=port), environment)
        _wait_for(port, path)
        yield Served(f"http://{HOST}:{port}", process_id)


def _wait_for(port: int, path: str | None) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection(HOST, port, timeout=READY_SECONDS)
        try:
            connection.connect()
            if path is None:
                return
            connection.request("GET", path)
            if connection.getresponse().status == http.HTTPStatus.OK:
                return
        except OSError:
            time.sleep(0.05)
        finally:
            connection.close()
    raise CommandError(f"A web process did not become ready within {READY_SECONDS} s.")


# --- REST -------------------------------------------------------------------------------------------------------------


class Rest:
    """One kept connection to the API of one web process."""

    def __init__(self, address: str, key: str) -> None:
        self.address = address
        self._key = key
        self._connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=TIMEOUT_SECONDS)
        self._used = time.monotonic()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What a request below /api/v1/ is answered with.

        Raises:
            CommandError: It is a problem.
        """
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body)
        if time.monotonic() - self._used > KEPT_SECONDS:
            self._connection.close()  # the next request opens another
        self._connection.request(method, f"/api/v1/{path}", content, headers)
        response = self._connection.getresponse()
        answer = response.read()
        self._used = time.monotonic()
        if response.status >= http.HTTPStatus.BAD_REQUEST:
            raise CommandError(f"{method} {path} answers {response.status}: {answer[:500].decode(errors='replace')}")
        return json.loads(answer) if answer else None

    def open_session(self, environment: str) -> dict[str, Any]:
        """A new session at the start."""
        created: dict[str, Any] = self.ask("POST", "sessions/", {"environment": environment, "scenario": SCENARIO})
        return created

    def call_many(self, code: str, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
        """The records of a batch.

        Raises:
            CommandError: A call was no success.
        """
        body = {"calls": [{"tool": tool, "arguments": arguments} for tool, arguments in calls]}
        records: list[dict[str, Any]] = self.ask("POST", f"sessions/{code}/calls/", body)
        for record in records:
            if record["status"] != "success":
                raise CommandError(f"{record['tool']} ends as {record['status']}: {record['observation']}")
        return records


# --- MCP --------------------------------------------------------------------------------------------------------------


CLIENTS: Final = {"2025-11-25": "ClientSession", "2026-07-28": "Client"}
"""Protocol versions, each with the official client that is made to speak it here."""


class Caller(Protocol):
    """A connected client of the official SDK."""

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None) -> CallToolResult:
        """Calls a tool."""


def http_client(key: str) -> httpx2.AsyncClient:
    """What any number of MCP clients of one token share."""
    return httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=TIMEOUT_SECONDS)


@asynccontextmanager
async def mcp_client(protocol: str, address: str, http: httpx2.AsyncClient) -> AsyncIterator[Caller]:
    """The official client of a protocol version, connected, with the tools listed.

    Raises:
        CommandError: The server speaks another version.
    """
    transport = streamable_http_client(address, http_client=http)
    if CLIENTS[protocol] == "Client":
        async with Client(transport) as client:
            _check(protocol, client.protocol_version)
            await client.list_tools()
            yield client
    else:
        async with transport as (reading, writing), ClientSession(reading, writing) as session:
            _check(protocol, (await session.initialize()).protocol_version)
            await session.list_tools()
            yield session


def _check(expected: str, found: str | int) -> None:
    if found != expected:
        raise CommandError(f"The server speaks protocol {found}, not {expected}.")


def mcp_address(web_address: str, session: Mapping[str, Any]) -> str:
    """The session's MCP address at one of the web processes."""
    return f"{web_address}{urlsplit(session['mcp_url']).path}"


def text_of(result: CallToolResult) -> str:
    """The one text of an answer."""
    (content,) = result.content
    if not isinstance(content, TextContent):
        raise CommandError(f"A tool answers with {content.type}, not text.")
    return content.text
