"""MCP servers' own listings: three reference servers as they are, and servers that do all they can to misbehave."""

import gzip
import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright._impl._driver import compute_driver_executable

from environments.adapters.fetching import FetchPolicy
from environments.adapters.sources import list_server_tools
from environments.adapters.sources.mcp_servers import list_http_tools, list_stdio_tools
from environments.adapters.sources.mcp_stdio import StdioLimits
from environments.core.errors import EnvFactoryError, FetchFailedError, FetchRefusedError
from environments.core.sources import readers
from environments.core.sources.model import Fetched, SourceKind
from tests.environments.adapters.loopback import Handler, Loopback, answer, certificate

SERVERS = Path(settings.BASE_DIR) / ".venv" / "conformance" / "node_modules" / "@modelcontextprotocol"
NODE = compute_driver_executable()[0]
HOSTILE = Path(__file__).with_name("hostile_mcp.py")
QUICK = StdioLimits(seconds=4.0, output_bytes=4 << 20)
POLICY = FetchPolicy(
    allowed_networks=(ipaddress.ip_network("127.0.0.0/8"),), max_bytes=4 << 20, read_seconds=3.0, total_seconds=6.0
)


def program(name: str) -> str:
    found = SERVERS / f"server-{name}" / "dist" / "index.js"
    assert found.is_file(), f"The MCP reference servers are not in {SERVERS}: run make conformance"
    return str(found)


def hostile(way: str, file: str | Path = "/dev/null") -> list[str]:
    return [sys.executable, "-I", str(HOSTILE), way, str(file)]


def read(fetched: Fetched) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(fetched.data)
    return value


# Reference servers

EXPECTED = {
    "everything": {"echo": ["message"], "get-sum": ["a", "b"], "get-structured-content": ["location"]},
    "memory": {"create_entities": ["entities"], "search_nodes": ["query"], "read_graph": []},
    "filesystem": {"read_text_file": ["path", "tail", "head"], "move_file": ["source", "destination"]},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_reference_server_is_read_over_stdio(name: str, tmp_path: Path) -> None:
    words = {"everything": ["stdio"], "memory": [], "filesystem": [str(tmp_path)]}[name]

    fetched = list_server_tools(name, [NODE, program(name), *words])

    listing = read(fetched)
    assert fetched.address == f"mcp+stdio:{name}"
    assert set(listing) == {"server", "protocolVersion", "instructions", "tools"}
    assert name in listing["server"]["name"]
    document = readers.read(fetched)
    assert (document.kind, document.dialect) == (SourceKind.MCP_SERVER, "mcp")
    assert readers.read(fetched, SourceKind.MCP_SERVER) == document
    assert [operation.name for operation in document.operations] == [tool["name"] for tool in listing["tools"]]
    found = {
        operation.name: [parameter.name for parameter in operation.parameters] for operation in document.operations
    }
    assert EXPECTED[name].items() <= found.items()
    assert all(operation.description for operation in document.operations)
    assert not document.problems


def test_annotations_and_output_schemas_are_kept(tmp_path: Path) -> None:
    listing = readers.read(list_server_tools("files", [NODE, program("filesystem"), str(tmp_path)]))
    tools = {operation.name: operation for operation in listing.operations}

    assert tools["read_text_file"].hints.read_only is True
    assert tools["write_file"].hints.read_only is False
    assert tools["write_file"].hints.destructive is True
    assert tools["read_text_file"].responses[0].schema is not None


@pytest.fixture
def everything_over_http() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [NODE, program("everything"), "streamableHttp"],
        env={"PORT": str(port)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        wait_until(lambda: can_connect(port), 30)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def can_connect(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_until(holds: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "in time"
        time.sleep(0.02)


def test_reference_server_is_read_over_http(everything_over_http: str) -> None:
    policy = replace(POLICY, total_seconds=30.0, read_seconds=20.0)

    fetched = list_server_tools(everything_over_http, policy=policy)

    assert fetched.address == everything_over_http
    document = readers.read(fetched)
    assert document.kind == SourceKind.MCP_SERVER
    assert {"echo", "get-sum"} <= {operation.name for operation in document.operations}


# How a command is run


def test_server_is_apart_from_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "of the host")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")

    shown = json.loads(read(list_stdio_tools("env", hostile("environment"), QUICK))["tools"][0]["description"])

    assert set(shown["names"]) - {"LC_CTYPE"} == {"PATH", "HOME", "TMPDIR", "LANG"}
    assert shown["names"]["HOME"] == shown["folder"]
    assert shown["files"] == []
    assert not Path(shown["folder"]).exists()
    limits = shown["limits"]
    assert (limits["CORE"], limits["CPU"], limits["FSIZE"]) == (0, QUICK.cpu_seconds, QUICK.file_bytes)
    assert (limits["NOFILE"], limits["AS"]) == (QUICK.descriptors, QUICK.address_bytes)
    assert limits["NPROC"] > QUICK.threads


def test_words_beside_messages_are_passed_over() -> None:
    listing = read(list_stdio_tools("talks", hostile("honest"), QUICK))

    assert listing["tools"] == [
        {"name": "tool", "description": "Does it.", "inputSchema": {"type": "object", "properties": {}}}
    ]
    assert listing["server"] == {"name": "hostile", "version": "1"}


@pytest.mark.parametrize("command", [[], ["no-such-command-anywhere"], ["/etc/passwd"], [""]])
def test_command_that_can_not_be_run_is_refused(command: list[str]) -> None:
    with pytest.raises(FetchRefusedError, match="command"):
        list_stdio_tools("none", command, QUICK)


def test_program_that_does_not_start_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"#!/no/such/interpreter\n")
    broken.chmod(0o755)
    with pytest.raises(FetchFailedError, match="does not start"):
        list_stdio_tools("broken", [str(broken)], QUICK)


# Hostile servers


@pytest.mark.parametrize(
    ("way", "error", "words"),
    [
        ("silent", FetchFailedError, "within 4 seconds"),
        ("silent later", FetchFailedError, "within 4 seconds"),
        ("flood of errors", FetchFailedError, "within 4 seconds"),
        ("gone", FetchFailedError, "exit code 3. a reason"),
        ("flood", FetchRefusedError, "more than 4 MiB"),
        ("flood of messages", FetchRefusedError, "more than 4 MiB"),
        ("garbage", FetchRefusedError, "no MCP"),
        ("wrong shape", FetchRefusedError, "no MCP"),
        ("deep", FetchRefusedError, "no MCP"),
        ("no tools", FetchRefusedError, "no tools"),
        ("loop", FetchRefusedError, "never ends"),
        ("empty pages", FetchRefusedError, "never ends"),
        ("ten thousand", FetchRefusedError, "more than 10,000 tools"),
        ("fork bomb", FetchFailedError, "more than 32 processes"),
        ("memory", FetchFailedError, "of memory"),
    ],
)
def test_hostile_server_is_an_error_in_bounded_time(
    way: str, error: type[Exception], words: str, tmp_path: Path
) -> None:
    started = time.monotonic()
    limits = replace(
        QUICK,
        seconds=4.0 if "silent" in way or "errors" in way else 30.0,
        memory_bytes=256 << 20 if way == "memory" else 64 << 30,  # each of the others is to meet its own limit alone
    )

    with pytest.raises(error, match=words):
        list_stdio_tools("hostile", hostile(way, tmp_path / "ids"), limits)

    assert time.monotonic() - started < 25.0


@pytest.mark.parametrize("way", ["children", "children, then silent", "children, then gone", "fork bomb"])
def test_nothing_of_a_server_is_left_when_it_is_over(way: str, tmp_path: Path) -> None:
    file = tmp_path / "ids"
    try:
        list_stdio_tools("forks", hostile(way, file), QUICK)
    except FetchFailedError:
        assert way != "children"

    assert running_with(file) == []
    if way != "fork bomb":  # which is ended before it has written
        assert len(json.loads(file.read_text())) == 7


def test_nothing_of_a_server_is_left_when_its_host_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "ids"
    code = (
        "from environments.adapters.sources.mcp_servers import list_stdio_tools\n"
        f"list_stdio_tools('forks', {hostile('children, then silent', file)!r})\n"
    )
    host = subprocess.Popen([sys.executable, "-c", code], cwd=settings.BASE_DIR)
    wait_until(lambda: file.exists() and file.stat().st_size > 10, 30)
    assert len(running_with(file)) >= 7
    host.kill()
    host.wait(10)

    wait_until(lambda: not running_with(file), 10)


def running_with(file: Path) -> list[int]:
    """Processes that have the file's path on their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                is_meant = str(file).encode() in (folder / "cmdline").read_bytes()
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if is_meant and state not in "ZX":
                found.append(int(folder.name))
    return found


# Over HTTP


def says(content: bytes) -> Handler:
    return lambda connection, head: connection.sendall(content)


JSON = ("Content-Type: application/json",)
EVENTS = ("Content-Type: text/event-stream",)


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:9/mcp", "http://[::1]:9/", "http://169.254.169.254/mcp", "http://2130706433:9/"],
)
def test_private_address_is_refused(address: str) -> None:
    with pytest.raises(FetchRefusedError, match="not a public address"):
        list_http_tools(address, FetchPolicy(total_seconds=5.0))


@pytest.mark.parametrize("address", ["mcp+stdio:files", "file:///etc/passwd", "http://user:word@example.com/"])
def test_address_that_is_no_plain_one_is_refused(address: str) -> None:
    with pytest.raises(FetchRefusedError):
        list_http_tools(address, POLICY)


def test_connection_goes_to_the_checked_address_when_dns_changes_its_answer() -> None:
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])
    with Loopback(says(answer(b"{}", headers=JSON))) as server:
        with pytest.raises(EnvFactoryError, match=r"10\.0\.0\.1 is not a public address"):
            list_http_tools(
                server.address("/mcp", "rebinding.example"), POLICY, resolve=lambda host, port: next(answers)
            )
        assert len(server.heads) == 1


@pytest.mark.parametrize("target", ["http://10.0.0.1/mcp", "http://169.254.169.254/", "https://example.com/mcp"])
def test_redirect_to_another_host_is_not_followed(target: str) -> None:
    handler = says(answer(status="307 Temporary", headers=(f"Location: {target}",)))
    with Loopback(handler) as server:
        address = server.address("/mcp")
        with pytest.raises(FetchFailedError, match="not followed"):
            list_http_tools(address, POLICY)


def test_redirects_are_bounded_when_they_stay() -> None:
    with Loopback(says(answer(status="307 Temporary", headers=("Location: /mcp",)))) as server:
        with pytest.raises(FetchFailedError):
            list_http_tools(server.address("/mcp"), POLICY)
        assert len(server.heads) <= 2 * (POLICY.max_redirects + 1)


def test_certificate_must_name_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = certificate(tmp_path, ["good.example"])
    with Loopback(says(answer(b"no", "404 Not Found")), context) as server:
        for host, error, words in (
            ("bad.example", FetchRefusedError, "self-signed certificate"),
            ("bad.example", FetchRefusedError, "Hostname mismatch"),
            ("good.example", FetchFailedError, "Not Found"),
        ):
            address = server.address("/mcp", host)
            with pytest.raises(error, match=words):
                list_http_tools(address, POLICY, resolve=lambda name, port: ["127.0.0.1"])
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "own.pem"))


def endless(head: bytes, piece: bytes) -> Handler:
    def handle(connection: socket.socket, _: bytes) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(piece)

    return handle


def silent(connection: socket.socket, head: bytes) -> None:
    while connection.recv(65536):
        pass


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: "
HTTP_SERVERS: dict[str, tuple[Handler, type[Exception], str]] = {
    "status": (says(answer(b"no", "500 Oops")), FetchFailedError, "error"),
    "page": (says(answer(b"<html>", headers=("Content-Type: text/html",))), FetchFailedError, "content type"),
    "junk": (says(answer(b"]]]", headers=JSON)), FetchFailedError, "parse JSON"),
    "no http": (says(b"SSH-2.0-x\r\n\r\n"), FetchFailedError, "RemoteProtocolError"),
    "cut": (says(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"), FetchFailedError,
            "RemoteProtocolError"),
    "packed": (says(answer(gzip.compress(bytes(9 << 20)), headers=(*JSON, "Content-Encoding: gzip"))),
               FetchRefusedError, "packed"),
    "flood": (endless(CHUNKED + b"application/json\r\n\r\n", b"10000\r\n" + b" " * 65536 + b"\r\n"), FetchRefusedError,
              "more than 4 MiB"),
    "flood of events": (endless(CHUNKED + b"text/event-stream\r\n\r\n", b"10\r\n" + b"data: 012345678\n" + b"\r\n"),
                        EnvFactoryError, "within 6 seconds|more than 4 MiB"),
    "silence": (silent, FetchFailedError, "in time"),
}  # fmt: skip


@pytest.mark.parametrize("way", HTTP_SERVERS)
def test_hostile_http_server_is_an_error_in_bounded_time(way: str) -> None:
    handler, error, words = HTTP_SERVERS[way]
    started = time.monotonic()
    with Loopback(handler) as server:
        address = server.address("/mcp")
        with pytest.raises(error, match=words):
            list_http_tools(address, POLICY)
    assert time.monotonic() - started < 20.0
