"""The MCP door before the official conformance suite, in both protocol versions.

Which scenarios apply is decided here, one by one: what the suite lists is either run or named with the reason why not,
so a new version of the suite can't add something unseen. tests/conformance/fetch.py says where the suite comes from.
"""

import asyncio
import json
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings
from playwright._impl._driver import compute_driver_executable

from environments import services
from environments.core.access import Scope
from environments.models import EnvironmentVersion
from environments.runtime.pack import read_pack
from tests.factories.environments import UserFactory

HERE = Path(settings.BASE_DIR) / "tests" / "conformance"
SUITE = Path(settings.BASE_DIR) / ".venv" / "conformance" / "node_modules" / "@modelcontextprotocol" / "conformance"
SECONDS = 120

PACK_SCHEMA = {
    "json-schema-2020-12-$schema": "a pack's schemas are of that dialect, which is the default of the protocol",
    "sep-2106-conditional-keywords-preserved": "packs have no if, then and else (docs/contracts.md, C2)",
    "sep-2106-anchor-keyword-preserved": "packs have no $anchor (docs/contracts.md, C2)",
}
NO_CAPABILITIES = {
    "sep-2575-server-rejects-undeclared-capability": "no tool needs anything of the client",
    "sep-2575-missing-capability-http-400": "no tool needs anything of the client",
}
TOOLS_ALONE = {
    "sep-2549-prompts-list-caching-hints": "environments have no prompts",
    "sep-2549-resources-list-caching-hints": "environments have no resources",
    "sep-2549-resources-templates-list-caching-hints": "environments have no resources",
}

STATELESS = {
    "server-initialize": {},
    "ping": {},
    "tools-list": {},
    "tools-call-simple-text": {},
    "tools-call-error": {},
    "json-schema-2020-12": PACK_SCHEMA,
    "dns-rebinding-protection": {},
}

APPLY: dict[str, dict[str, dict[str, dict[str, str]]]] = {
    "2025-11-25": {
        "s": STATELESS,
        "e": {**STATELESS, "server-session-lifecycle": {}, "server-sse-multiple-streams": {}},
    },
    "2026-07-28": {
        "s": {
            "server-stateless": NO_CAPABILITIES,
            "tools-list": {},
            "tools-call-simple-text": {},
            "tools-call-error": {},
            "json-schema-2020-12": PACK_SCHEMA,
            "server-sse-multiple-streams": {},
            "dns-rebinding-protection": {},
            "caching": TOOLS_ALONE,
            "http-header-validation": {},
            "input-required-result-unsupported-methods": {},
        },
    },
}
"""By protocol version and address (`/mcp/s/<code>/` or `/mcp/e/<environment>/`): the scenarios that are run, each with
those of its checks that can't hold here, and why. MCP sessions are at the second address alone, in the older protocol
alone."""

DO_NOT_APPLY = {
    "environments have no resources": r"resources-.*|sep-2164-resource-not-found",
    "environments have no prompts": r"prompts-.*",
    "environments complete no arguments": r"completion-complete",
    "results are JSON texts, never images, audio or resources": (
        r"tools-call-(image|audio|embedded-resource|mixed-content)"
    ),
    "a call runs whole in a locked worker and says nothing meanwhile": (
        r"logging-set-level|tools-call-with-(logging|progress)"
    ),
    "tools ask the client for nothing": r"tools-call-(sampling|elicitation)|elicitation-.*|input-required-result-.*",
    "answers are plain JSON, not event streams": r"server-sse-polling",
    "no argument is mirrored in a header: packs have no x-mcp-header": r"http-custom-header-server-validation",
}
"""Why not, with the names of the scenarios."""


class Suite:
    """The fetched suite, run by the Node.js that Playwright brings."""

    def __init__(self) -> None:
        program = SUITE / "dist" / "index.js"
        assert program.is_file(), f"The MCP conformance suite is not in {SUITE}: run make conformance"
        self._command = [compute_driver_executable()[0], str(program)]

    def scenarios(self) -> dict[str, set[str]]:
        """Names of the server's scenarios by protocol version, without those of extensions."""
        listed = subprocess.run([*self._command, "list", "--server"], capture_output=True, text=True, check=True)
        found: dict[str, set[str]] = {}
        for name, versions in re.findall(r"^  - (\S+) \[(.*)\]$", listed.stdout, re.MULTILINE):
            for version in versions.split(","):
                found.setdefault(version, set()).add(name)
        return found

    def checks(self, *, address: str, version: str, scenario: str, directory: Path) -> list[tuple[str, str, str]]:
        """What came of a scenario: id, status and message of each check."""
        subprocess.run(
            [
                *self._command, "server", "--url", address, "--scenario", scenario, "--spec-version", version,
                "--output-dir", str(directory),
            ],
            stdout=subprocess.DEVNULL, timeout=SECONDS, check=False,
        )  # fmt: skip
        (report,) = directory.rglob("checks.json")
        return [(each["id"], each["status"], each.get("errorMessage", "")) for each in json.loads(report.read_bytes())]


@contextmanager
def presenting(token: str, address: str) -> Iterator[str]:
    """An address at which each request gets the token on its way: the suite has no option for one.

    Nothing else of a request or an answer is touched.
    """
    host, port = address.removeprefix("http://").split(":")
    started = threading.Event()
    ports: list[int] = []
    loop = asyncio.new_event_loop()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ahead_reader, ahead_writer = await asyncio.open_connection(host, int(port))
        answers = asyncio.create_task(copy(ahead_reader, writer))
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                line, _, fields = head.partition(b"\r\n")
                length = re.search(rb"(?i)\ncontent-length: *(\d+)", head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                ahead_writer.write(line + b"\r\nAuthorization: Bearer " + token.encode() + b"\r\n" + fields + body)
                await ahead_writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            ahead_writer.close()
        await answers

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        ports.append(server.sockets[0].getsockname()[1])
        started.set()
        await stopped.wait()
        server.close()

    stopped = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    started.wait()
    try:
        yield f"http://127.0.0.1:{ports[0]}"
    finally:
        loop.call_soon_threadsafe(stopped.set)
        thread.join()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


@pytest.fixture(scope="module")
def suite() -> Suite:
    return Suite()


@pytest.fixture
def doors(transactional_db: None, console_server: str) -> Iterator[dict[str, str]]:
    """A session's and its environment's MCP address, which need no token."""
    user = UserFactory.create(role="operator")
    issued = services.create_api_token(user=user, name="conformance", scopes=[Scope.SESSIONS])
    pack = read_pack(HERE / "pack")
    version = services.import_pack(pack=pack, origin=EnvironmentVersion.Origin.UPLOADED, user=user).version
    assert version.move(EnvironmentVersion.Status.VERIFIED, reason="as the test needs it")
    session = services.create_session(user=user, token=issued.token, version=version, scenario="start")
    with presenting(issued.key, console_server) as base:
        yield {"s": f"{base}/mcp/s/{session.code}/", "e": f"{base}/mcp/e/{pack.name}/"}


def test_every_scenario_of_the_suite_is_run_or_explained(suite):
    listed = suite.scenarios()
    explained = re.compile("|".join(f"(?:{names})" for names in DO_NOT_APPLY.values()))

    for version, doors in APPLY.items():
        run = {name for scenarios in doors.values() for name in scenarios}
        assert run <= listed[version]
        assert {name for name in listed[version] - run if not explained.fullmatch(name)} == set()


@pytest.mark.parametrize(
    ("version", "door", "scenario"),
    [(version, door, name) for version, doors in APPLY.items() for door, names in doors.items() for name in names],
)
def test_door_conforms(suite, doors, version, door, scenario, tmp_path):
    excused = APPLY[version][door][scenario]

    checks = suite.checks(address=doors[door], version=version, scenario=scenario, directory=tmp_path)

    failed = {name: message for name, status, message in checks if status in {"FAILURE", "WARNING"}}
    assert {name: message for name, message in failed.items() if name not in excused} == {}
    assert [status for _, status, _ in checks].count("SUCCESS") > 0
    assert set(excused) <= {name for name, status, _ in checks if status != "SUCCESS"}, "excused without need"
