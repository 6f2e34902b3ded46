"""What the tests of the MCP door share: a person with a token, a version to play, sessions and servers."""

import dataclasses
from collections.abc import Callable, Iterator

import pytest

from environments.models import EnvironmentSession, EnvironmentVersion, User
from environments.runtime.pack.model import Pack, Provenance
from environments.services import close_session, create_session, import_pack
from tests.environments.api.mcp.clients import Server, issue
from tests.factories.little_pack import library, object_schema, with_tool

SLOW = """
def act(ctx, *, seconds=1):
    number = 0
    for _ in range(int(seconds * 20_000_000)):
        number += 1
    ctx.db.run("UPDATE books SET copies = copies + 1 WHERE id = 'bk-1'")
    return {"done": True}
"""


@pytest.fixture(scope="session")
def console_server(django_db_setup: None) -> Iterator[str]:
    """A console for these tests alone: its threads keep their connections a while, which other tests count."""
    server = Server()
    try:
        server.wait()
        yield server.address
    finally:
        server.stop()


SOURCE = Provenance("sketch", "https://example.org/library", "0" * 64, "2026-03-01T00:00:00Z")


def installed(pack: Pack) -> EnvironmentVersion:
    pack = dataclasses.replace(pack, provenance=(SOURCE,))
    version = import_pack(pack=pack, origin=EnvironmentVersion.Origin.UPLOADED, user=None).version
    if version.status != EnvironmentVersion.Status.VERIFIED:
        assert version.move(EnvironmentVersion.Status.VERIFIED, reason="as the test needs it")
    return version


@pytest.fixture
def version(transactional_db: None) -> EnvironmentVersion:
    """A lending library, whose tools read, write, refuse and draw."""
    return installed(library())


@pytest.fixture
def slow_version(transactional_db: None) -> EnvironmentVersion:
    """The library with a tool that takes a while."""
    return installed(with_tool(SLOW, inputs=object_schema(seconds={"type": "number", "default": 1})))


@pytest.fixture
def token(operator: User):
    """An operator's token for sessions, with its key."""
    return issue(operator)


@pytest.fixture
def open_session(operator: User, token, version: EnvironmentVersion) -> Iterator[Callable[..., EnvironmentSession]]:
    """Opens sessions of the token's; they are closed at the end, so that a shared server lets go of them."""
    opened = []

    def open_session(**changes) -> EnvironmentSession:
        arguments = {"user": operator, "version": version, "scenario": "small", "token": token.token, **changes}
        opened.append(create_session(**arguments))
        return opened[-1]

    yield open_session
    for session in opened:
        close_session(session=session)


@pytest.fixture
def start_server(transactional_db: None) -> Iterator[Callable[..., Server]]:
    """Starts servers of the test's own."""
    servers: list[Server] = []

    def start_server(**environment: str) -> Server:
        servers.append(Server(**environment))
        return servers[-1]

    yield start_server
    for server in servers:
        server.stop()
