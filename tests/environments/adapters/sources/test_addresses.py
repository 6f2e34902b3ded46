"""An address with the files that it names, and a page that only links to its description."""

import ipaddress
import itertools
import json
import socket
import time

import pytest

from environments.adapters.fetching import FetchedPage, FetchPolicy
from environments.adapters.sources import address as module
from environments.adapters.sources import fetch_source
from environments.adapters.sources.address import MAX_NAMED, MAX_RELATED, named_files
from environments.core.errors import FetchFailedError, FetchRefusedError
from environments.core.sources import readers
from tests.environments.adapters.loopback import Handler, Loopback, answer, path_of

POLICY = FetchPolicy(
    allowed_networks=(ipaddress.ip_network("127.0.0.0/8"),), max_bytes=1 << 20, read_seconds=2.0, total_seconds=4.0
)


def openapi(**parts: object) -> bytes:
    return json.dumps({"openapi": "3.0.0", "info": {"title": "T", "version": "1"}, **parts}).encode()


def site(pages: dict[str, bytes]) -> Handler:
    def handle(connection: socket.socket, head: bytes) -> None:
        body = pages.get(path_of(head))
        connection.sendall(answer(b"", "404 Not Found") if body is None else answer(body))

    return handle


class Web:
    """Pages without sockets, which counts what was asked for."""

    def __init__(self, pages: dict[str, bytes | Exception], moved: dict[str, str] | None = None) -> None:
        self.asked: list[str] = []
        self.policies: list[FetchPolicy] = []
        self._pages = pages
        self._moved = moved or {}

    def __call__(self, address: str, policy: FetchPolicy) -> FetchedPage:
        self.asked.append(address)
        self.policies.append(policy)
        found = self._pages.get(self._moved.get(address, address), FetchRefusedError(f"{address}: 404"))
        if isinstance(found, Exception):
            raise found
        return FetchedPage(self._moved.get(address, address), 200, "", found)


# Referred files


def test_files_of_the_same_host_are_read_with_the_document() -> None:
    pages = {
        "/api/openapi.json": openapi(
            paths={"/pets": {"get": {"responses": {"200": {"$ref": "answers.yaml#/Pets"}}}}},
            components={"schemas": {"Own": {"type": "string"}}},
        ),
        "/api/answers.yaml": b"Pets:\n  description: All\n  content:\n    application/json:\n"
        b"      schema: {$ref: 'deep/schemas.json#/Pets'}\n",
        "/api/deep/schemas.json": b'{"Pets": {"type": "array", "items": {"type": "string"}}}',
    }
    with Loopback(site(pages)) as server:
        fetched = fetch_source(server.address("/api/openapi.json#/info"), POLICY)

    assert [address.rpartition("/api/")[2] for address in fetched.related] == ["answers.yaml", "deep/schemas.json"]
    (operation,) = readers.read(fetched).operations
    assert operation.responses[0].schema is not None
    assert not operation.problems


def test_file_of_another_host_is_never_asked_for() -> None:
    references = [
        "https://evil.example/a.json#/X", "http://api.example/b.json", "https://api.example:444/c.json",
        "//evil.example/d.yaml", "file:///etc/e.json", "http://[bad/f.json",
    ]  # fmt: skip
    web = Web({"https://api.example/o.json": openapi(paths=[{"$ref": each} for each in references])})

    assert fetch_source("https://api.example/o.json", POLICY, get=web).related == {}
    assert web.asked == ["https://api.example/o.json"]


def test_file_that_redirects_to_another_host_is_left_out() -> None:
    web = Web(
        {"https://a.example/o.json": openapi(x={"$ref": "x.json"}), "https://b.example/x.json": b"{}"},
        {"https://a.example/x.json": "https://b.example/x.json"},
    )

    assert fetch_source("https://a.example/o.json", POLICY, get=web).related == {}


def test_file_that_can_not_be_had_is_left_out() -> None:
    web = Web(
        {
            "https://a.example/o.json": openapi(x=[{"$ref": "gone.json"}, {"$ref": "late.json"}, {"$ref": "is.json"}]),
            "https://a.example/late.json": FetchFailedError("late"),
            "https://a.example/is.json": b"{}",
        }
    )

    assert set(fetch_source("https://a.example/o.json", POLICY, get=web).related) == {"https://a.example/is.json"}


def test_files_that_name_each_other_are_read_once() -> None:
    pages: dict[str, bytes | Exception] = {
        f"https://a.example/{name}.json": json.dumps([{"$ref": f"{other}.json#/x"} for other in "oab"]).encode()
        for name in "oab"
    }
    web = Web(pages)

    assert len(fetch_source("https://a.example/o.json", POLICY, get=web).related) == 2
    assert sorted(web.asked) == sorted(pages)


def test_chain_of_files_without_end_is_cut() -> None:
    asked = itertools.count()

    def get(address: str, policy: FetchPolicy) -> FetchedPage:
        following = json.dumps([{"$ref": f"{next(asked)}-{place}.json"} for place in range(50)]).encode()
        return FetchedPage(address, 200, "", following)

    assert len(fetch_source("https://a.example/o.json", POLICY, get=get).related) == MAX_RELATED


def test_files_together_are_no_larger_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RELATED_BYTES", 1_000)
    pages: dict[str, bytes | Exception] = {f"https://a.example/{n}.json": b" " * 400 for n in range(9)}
    pages["https://a.example/o.json"] = openapi(x=[{"$ref": f"{n}.json"} for n in range(9)])
    web = Web(pages)

    fetch_source("https://a.example/o.json", POLICY, get=web)

    assert [policy.max_bytes for policy in web.policies] == [1 << 20, 1_000, 600, 200]


def test_files_are_not_waited_for_when_the_time_is_over() -> None:
    def handle(connection: socket.socket, head: bytes) -> None:
        if path_of(head) == "/o.json":
            connection.sendall(answer(openapi(x=[{"$ref": f"{n}.json"} for n in range(60)])))
        else:
            connection.recv(1)

    started = time.monotonic()
    with Loopback(handle) as server:
        assert fetch_source(server.address("/o.json"), POLICY).related == {}
        assert len(server.heads) < 6
    assert time.monotonic() - started < 10.0


def test_names_are_found_in_json_and_yaml_within_limits() -> None:
    data = b"""{"$ref": "a.json#/x"} $ref: b.yaml
      $ref: './c.yml#/d'  {"$ref":"#/own"} {"$ref": "page.html"} "$ref" : "a.json" {"$ref": ""}"""

    assert named_files("https://a.example/x/o.json", data) == [
        f"https://a.example/x/{name}" for name in ("a.json", "b.yaml", "c.yml")
    ]
    many = b"".join(b'{"$ref": "%d.json"}' % n for n in range(200_000))
    assert len(named_files("https://a.example/", many)) == MAX_NAMED


@pytest.mark.parametrize("data", [b'"$ref"' + b" " * 4_000_000, b"$ref:" * 1_000_000, b"\xff\x00$ref: \xff.json"])
def test_names_are_looked_for_in_time_when_the_document_is_hostile(data: bytes) -> None:
    started = time.monotonic()
    named_files("https://a.example/", data)
    assert time.monotonic() - started < 3.0


# Pages that link to a description


def test_description_is_read_instead_of_the_page_that_links_to_it() -> None:
    pages = {
        "/docs/": b'<html><head><link rel="service-desc" href="/openapi.json"></head><body>Words</body></html>',
        "/openapi.json": openapi(paths={"/a": {"get": {"responses": {"200": {"$ref": "r.json"}}}}}),
        "/r.json": b'{"description": "fine"}',
    }
    with Loopback(site(pages)) as server:
        fetched = fetch_source(server.address("/docs/"), POLICY)
        assert fetched.address == server.address("/openapi.json")
        assert list(fetched.related) == [server.address("/r.json")]


@pytest.mark.parametrize(
    "target",
    [
        "/gone.json", "http://169.254.169.254/openapi.json", "http://10.0.0.1/openapi.json", "file:///etc/passwd",
        "/page.json", "http://user:pass@127.0.0.1/openapi.json",
    ],
)  # fmt: skip
def test_page_is_read_itself_when_its_link_leads_to_no_description(target: str) -> None:
    page = f'<html><head><link rel="service-desc" href="{target}"></head><body><h1>GET /a</h1></body></html>'.encode()
    with Loopback(site({"/docs": page, "/page.json": b"<html>another page</html>"})) as server:
        assert fetch_source(server.address("/docs"), POLICY).data == page


def test_link_is_one_hop_and_no_more() -> None:
    link = b'<html><link rel="service-desc" href="/%d.json"></html>'
    pages = {f"/{n}.json": link % (n + 1) for n in range(9)}
    with Loopback(site(pages)) as server:
        fetch_source(server.address("/0.json"), POLICY)
        assert [path_of(head) for head in server.heads] == ["/0.json", "/1.json"]
