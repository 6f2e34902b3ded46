"""The fetch policy before hostile addresses, names, redirects and servers, all of them real ones on loopback."""

import gzip
import ipaddress
import itertools
import os
import socket
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from environments.adapters.fetching import FetchPolicy, check_address, fetch, refusal_of, resolve_name
from environments.core.errors import FetchFailedError, FetchRefusedError
from tests.environments.adapters.loopback import Handler, Loopback, answer, certificate, path_of

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)
POLICY = FetchPolicy(
    allowed_networks=LOOPBACK, max_bytes=100_000, connect_seconds=2.0, read_seconds=1.0, total_seconds=1.5
)
BOUND_SECONDS = 6.0
"""Of every refusal here, on a busy machine; the policy itself allows 1.5."""


@pytest.fixture(autouse=True)
def _ends_in_time() -> Iterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started < BOUND_SECONDS


def says(content: bytes) -> Handler:
    return lambda connection, head: connection.sendall(content)


# Addresses


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0.1", "172.16.5.4", "192.168.1.1", "127.0.0.1", "127.8.8.8", "0.0.0.0", "169.254.1.1",
        "169.254.169.254", "169.254.170.2", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192",
        "198.18.0.1", "192.0.2.5", "203.0.113.7", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
        "::", "::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::7f00:1",
        "2002:7f00:1::1", "2002:a00:1::", "2002:a9fe:a9fe::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:0:a00:1::1", "100::1", "4000::1",
        "not an address", "",
    ],
)  # fmt: skip
def test_address_is_refused_when_it_is_not_public(text: str) -> None:
    assert refusal_of(text) is not None


@pytest.mark.parametrize("text", ["93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::101:101"])
def test_address_is_let_through_when_it_is_public(text: str) -> None:
    assert refusal_of(text) is None


def test_listed_network_is_let_through_and_no_other() -> None:
    listed = (ipaddress.ip_network("10.1.0.0/16"), ipaddress.ip_network("fd12::/16"))

    assert refusal_of("10.1.2.3", listed) is None
    assert refusal_of("fd12::9", listed) is None
    assert refusal_of("10.2.0.1", listed) is not None
    assert refusal_of("fd13::9", listed) is not None
    assert refusal_of("::ffff:10.2.0.1", listed) is not None


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd", "ftp://example.com/a", "gopher://example.com/", "javascript:alert(1)", "data:,x", "//x/y",
        "example.com/openapi.json", "", "http://", "http:///path", "http:example.com", "https://:443/", "http://a:0/",
        "http://a:99999/", "http://a:b/", "http://[::1", "http://[z]/", "http://user@example.com/",
        "http://user:secret@example.com/", "http://example.com@127.0.0.1/", "http://example.com\\@127.0.0.1/",
        "http:\\\\127.0.0.1/", "http://exa mple.com/", " http://example.com/", "http://example.com/\n",
        "http://example.com/\r\nHost: x", "http://example.com/\0", "http://exämple.com/", "http://example.com/\u202e",
        "http://example.com/" + "a" * 3_000,
    ],
)  # fmt: skip
def test_address_is_refused_when_it_is_no_plain_one(address: str) -> None:
    with pytest.raises(FetchRefusedError) as caught:
        fetch(address, POLICY, resolve=lambda host, port: pytest.fail("nothing may be asked"))
    assert "secret" not in str(caught.value)
    assert str(caught.value).isprintable()


def test_address_is_taken_apart_when_it_is_plain() -> None:
    assert check_address("https://Example.com/a?b=c#d") == (True, "example.com", 443, "/a?b=c")
    assert check_address("http://[2606:4700::1]:8080") == (False, "2606:4700::1", 8080, "/")


# Names


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "localhost", "[::1]"])
def test_own_machine_is_refused_however_it_is_written(host: str) -> None:
    with Loopback(says(answer(b"{}"))) as server, pytest.raises(FetchRefusedError, match="not a public address"):
        fetch(f"http://{host}:{server.port}/", FetchPolicy(total_seconds=2.0))
    assert server.num_connections == 0


def test_name_is_refused_when_one_of_its_addresses_is_private() -> None:
    with pytest.raises(FetchRefusedError, match=r"10\.0\.0\.5 is not a public address; FETCH_ALLOWED_NETWORKS"):
        fetch("http://api.example/", POLICY, resolve=lambda host, port: ["93.184.216.34", "10.0.0.5"])


def test_connection_goes_to_the_checked_address_when_dns_changes_its_answer() -> None:
    answers = itertools.chain([["127.0.0.1"]], itertools.repeat(["169.254.169.254"]))
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return next(answers)

    with Loopback(says(answer(b'{"a": 1}', headers=("Content-Type: Application/JSON; charset=utf-8",)))) as server:
        page = fetch(server.address("/api?x=1", "rebinding.example"), POLICY, resolve=resolve)
        assert (page.data, page.media_type, page.status) == (b'{"a": 1}', "application/json", 200)
        assert asked == ["rebinding.example"]  # once: nothing can change in between
        assert server.heads[0].startswith(b"GET /api?x=1 HTTP/1.1\r\nHost: rebinding.example:")

        with pytest.raises(FetchRefusedError, match=r"169\.254\.169\.254"):
            fetch(server.address("/", "rebinding.example"), POLICY, resolve=resolve)


def test_second_exchange_is_checked_anew_when_a_redirect_keeps_the_name() -> None:
    answers = iter([["127.0.0.1"], ["192.168.0.1"]])
    with Loopback(says(answer(status="302 Found", headers=("Location: /next",)))) as server:
        with pytest.raises(FetchRefusedError, match=r"192\.168\.0\.1"):
            fetch(server.address(host="rebinding.example"), POLICY, resolve=lambda host, port: next(answers))
        assert len(server.heads) == 1


@pytest.mark.parametrize(("answers", "error"), [([], FetchFailedError), (["junk"], FetchRefusedError)])
def test_name_without_a_usable_address_is_an_error(answers: list[str], error: type[Exception]) -> None:
    with pytest.raises(error):
        fetch("http://nowhere.example/", POLICY, resolve=lambda host, port: answers)


def test_unknown_name_is_a_failure() -> None:
    with pytest.raises(FetchFailedError, match="can't be resolved"):
        resolve_name("a..b", 80)


def test_name_service_that_says_nothing_is_given_up() -> None:
    over = threading.Event()

    def resolve(host: str, port: int) -> list[str]:
        over.wait(10)
        return []

    with pytest.raises(FetchFailedError, match="in time"):
        fetch("http://slow.example/", POLICY, resolve=resolve)
    over.set()


def test_next_address_of_a_name_is_tried_when_the_first_is_dead() -> None:
    policy = replace(POLICY, allowed_networks=(*LOOPBACK, ipaddress.ip_network("::1")))
    with Loopback(says(answer(b"ok"))) as server:  # on 127.0.0.1 only
        page = fetch(server.address(host="two.example"), policy, resolve=lambda host, port: ["::1", "127.0.0.1"])
    assert page.data == b"ok"


def test_own_public_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("environments.adapters.fetching.refusal_of", lambda text, allowed=(): None)
    with Loopback(says(answer(b"{}"))) as server, pytest.raises(FetchRefusedError, match="this machine's own address"):
        fetch(server.address(), FetchPolicy(total_seconds=2.0))


# Redirects


def redirecting(targets: dict[str, str], status: str = "302 Found") -> Handler:
    def handle(connection: socket.socket, head: bytes) -> None:
        target = targets.get(path_of(head))
        if target is None:
            connection.sendall(answer(b"end"))
        else:
            connection.sendall(answer(status=status, headers=(f"Location: {target}",)))

    return handle


@pytest.mark.parametrize("status", ["301 M", "302 F", "303 S", "307 T", "308 P"])
def test_redirect_is_followed_when_it_is_allowed(status: str) -> None:
    with Loopback(redirecting({"/a": "b?c=1"}, status)) as server:
        page = fetch(server.address("/a"), POLICY)
        assert (page.address, page.data) == (server.address("/b?c=1"), b"end")


@pytest.mark.parametrize(
    "target",
    [
        "http://10.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://[::1]/", "//192.168.1.1/x",
        "file:///etc/passwd", "gopher://x/", "http://user:pass@example.com/", "http://[broken", "http://a\\b/",
    ],
)  # fmt: skip
def test_redirect_is_refused_when_its_target_is(target: str) -> None:
    with Loopback(redirecting({"/": target})) as server, pytest.raises(FetchRefusedError):
        fetch(server.address(), POLICY)


def test_redirects_are_refused_when_they_never_end() -> None:
    with Loopback(redirecting({"/a": "/b", "/b": "/a"})) as server:
        with pytest.raises(FetchRefusedError, match="more than 5 redirects"):
            fetch(server.address("/a"), POLICY)
        assert len(server.heads) == 6


def test_headers_stay_with_their_host_when_a_redirect_leaves_it() -> None:
    with Loopback(says(answer(b"end"))) as other:
        with Loopback(redirecting({"/a": "/b", "/b": other.address("/c", "other.example")})) as server:
            address = server.address("/a", "first.example")
            fetch(address, POLICY, headers={"Authorization": "Bearer secret"}, resolve=lambda host, port: ["127.0.0.1"])
        assert [b"Bearer secret" in head for head in server.heads] == [True, True]
        assert [b"secret" in head for head in other.heads] == [False]


# Sizes


def drip(pieces: Iterable[bytes], seconds: float) -> Handler:
    """Says one piece after the other, then nothing until the client leaves."""

    def handle(connection: socket.socket, head: bytes) -> None:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(seconds)
        connection.recv(1)

    return handle


def test_answer_is_refused_when_it_says_that_it_is_too_large() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 200000000\r\n\r\n"
    with Loopback(says(head)) as server, pytest.raises(FetchRefusedError, match="larger than"):
        fetch(server.address(), POLICY)


def test_answer_is_refused_when_it_grows_too_large_in_pieces() -> None:
    pieces = itertools.chain(
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"],
        itertools.repeat(b"1000\r\n" + b"x" * 4096 + b"\r\n"),
    )
    with Loopback(drip(pieces, 0)) as server, pytest.raises(FetchRefusedError, match="larger than"):
        fetch(server.address(), POLICY)


def test_answer_of_exactly_the_limit_is_read() -> None:
    with Loopback(says(answer(b"x" * 100_000))) as server:
        assert len(fetch(server.address(), POLICY).data) == 100_000


def test_packed_answer_is_unpacked() -> None:
    packed = gzip.compress(b"a" * 50_000) + gzip.compress(b"b" * 50_000)
    with Loopback(says(answer(packed, headers=("Content-Encoding: gzip",)))) as server:
        assert fetch(server.address(), POLICY).data == b"a" * 50_000 + b"b" * 50_000


def bomb(size: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(1 << 20)
    return b"".join(packer.compress(zeros) for _ in range(size >> 20)) + packer.flush()


@pytest.mark.parametrize(
    ("packed", "error", "words"),
    [
        (bomb(256 << 20), FetchRefusedError, "larger than"),
        (b"".join(gzip.compress(b"") for _ in range(4_000)), FetchFailedError, "too many parts"),
        (gzip.compress(b"a" * 5_000)[:-9], FetchFailedError, "too early"),
        (b"no gzip at all", FetchFailedError, "broken"),
    ],
    ids=["bomb", "parts", "cut", "junk"],
)
def test_packed_answer_is_an_error_when_it_is_hostile(packed: bytes, error: type[Exception], words: str) -> None:
    handler = says(answer(packed, headers=("Content-Encoding: gzip",)))
    with Loopback(handler) as server, pytest.raises(error, match=words):
        fetch(server.address(), POLICY)


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "deflate"])
def test_encoding_is_refused_when_it_was_not_asked_for(encoding: str) -> None:
    handler = says(answer(b"x", headers=(f"Content-Encoding: {encoding}",)))
    with Loopback(handler) as server, pytest.raises(FetchRefusedError, match="not asked for"):
        fetch(server.address(), POLICY)


# Time


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 200 OK\r\n"] + [b"X-Slow: 1\r\n"] * 200,
        [b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"] + [b"x"] * 900,
        [b"HTTP/1.1 102 Processing\r\n\r\n"] * 200,
        [],
    ],
    ids=["headers", "body", "informational", "silence"],
)
def test_slow_answer_is_given_up_at_the_deadline(pieces: list[bytes]) -> None:
    with Loopback(drip(pieces, 0.05)) as server:
        started = time.monotonic()
        with pytest.raises(FetchFailedError, match="in time"):
            fetch(server.address(), POLICY)
        assert time.monotonic() - started < 4.0


def test_deadline_counts_redirects_too() -> None:
    def handle(connection: socket.socket, head: bytes) -> None:
        server.wait(0.6)
        connection.sendall(answer(status="302 Found", headers=(f"Location: {path_of(head)}x",)))

    with Loopback(handle) as server, pytest.raises(FetchFailedError, match="in time"):
        fetch(server.address(), POLICY)


# Broken answers


OK = b"HTTP/1.1 200 OK\r\n"
BROKEN = {
    "nothing": b"",
    "zeros": b"\0\0\0\0",
    "ssh": b"SSH-2.0-OpenSSH_9.6\r\n",
    "cut": OK + b"Content-Length: 10\r\n\r\nabc",
    "negative": OK + b"Content-Length: -5\r\n\r\n",
    "two lengths": OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "bad chunk": OK + b"Transfer-Encoding: chunked\r\n\r\nZZZ\r\n",
    "huge header": OK + b"X: " + b"y" * 300_000,
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_broken_answer_is_a_failure(content: bytes) -> None:
    with Loopback(says(content)) as server, pytest.raises(FetchFailedError):
        fetch(server.address(), POLICY)


@pytest.mark.parametrize("status", ["300", "302", "304", "400", "401", "403", "404", "410", "501"])
def test_status_is_refused_when_it_will_stay(status: str) -> None:
    with Loopback(says(answer(status=f"{status} X"))) as server:
        address = server.address()
        with pytest.raises(FetchRefusedError, match=f"the server answered {status}"):
            fetch(address, POLICY)


@pytest.mark.parametrize("status", ["408", "425", "429", "500", "502", "503", "504"])
def test_status_is_a_failure_when_it_may_pass(status: str) -> None:
    with Loopback(says(answer(b"x", f"{status} X"))) as server:
        address = server.address()
        with pytest.raises(FetchFailedError, match=f"the server answered {status}"):
            fetch(address, POLICY)


def test_closed_port_is_a_failure() -> None:
    with Loopback(says(b"")) as server:
        address = server.address()
    with pytest.raises(FetchFailedError, match="ConnectError"):
        fetch(address, POLICY)


# TLS


def test_certificate_must_be_known_and_name_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = certificate(tmp_path, ["good.example"])
    with Loopback(says(answer(b"secure")), context) as server:

        def read(host: str) -> bytes:
            return fetch(server.address("/", host), POLICY, resolve=lambda name, port: ["127.0.0.1"]).data

        with pytest.raises(FetchRefusedError, match="self-signed certificate"):
            read("good.example")
        monkeypatch.setitem(os.environ, "SSL_CERT_FILE", str(tmp_path / "own.pem"))
        assert read("good.example") == b"secure"  # the name is checked, not the address 127.0.0.1
        with pytest.raises(FetchRefusedError, match="Hostname mismatch"):
            read("bad.example")


def test_certificate_is_refused_when_it_is_out_of_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = certificate(tmp_path, ["old.example"], days=-1)
    monkeypatch.setitem(os.environ, "SSL_CERT_FILE", str(tmp_path / "own.pem"))
    with Loopback(says(answer()), context) as server, pytest.raises(FetchRefusedError, match="expired"):
        fetch(server.address("/", "old.example"), POLICY, resolve=lambda name, port: ["127.0.0.1"])


def test_redirect_from_https_to_http_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = certificate(tmp_path, ["good.example"])
    monkeypatch.setitem(os.environ, "SSL_CERT_FILE", str(tmp_path / "own.pem"))
    handler = redirecting({"/": "http://good.example/"})
    with Loopback(handler, context) as server, pytest.raises(FetchRefusedError, match="without TLS"):
        fetch(server.address("/", "good.example"), POLICY, resolve=lambda name, port: ["127.0.0.1"])


def test_plain_server_at_an_https_address_is_a_failure() -> None:
    with Loopback(says(answer())) as server, pytest.raises(FetchFailedError):
        fetch(f"https://127.0.0.1:{server.port}/", POLICY)
