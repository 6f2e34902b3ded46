"""Real services for the whole suite, a console that serves the test database, and the people that tests need."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import httpx
import psycopg
import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.test import Client
from rest_framework.test import APIClient

from environments.core.access import Scope
from environments.models import User
from environments.services import close_worker_pool, create_api_token
from tests.environments.runtime.sandbox.attacks.table import pytest_terminal_summary
from tests.factories.environments import UserFactory

__all__ = ["pytest_terminal_summary"]  # a hook, which only the first conftest has in the process that prints

READY_SECONDS = 30
TEMPORARY = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Starts PostgreSQL and Valkey, or joins those that another process of this run has started."""
    if not hasattr(config, "workerinput"):
        # Not pytest's own place, which every run of the same person closes again to others: as root, the servers that
        # tests start there run as another account.
        config.stash[TEMPORARY] = os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.mkdtemp(prefix="envfactory-tests-")
    os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")  # Playwright runs an event loop in the test's thread
    settings.EMBEDDED_SERVICES.acquire()
    if len(settings.EMBEDDED_SERVICES.holders) == 1:
        _drop_databases_of_killed_runs()


def _drop_databases_of_killed_runs() -> None:
    with psycopg.connect(settings.EMBEDDED_SERVICES.database_url, autocommit=True) as connection:
        names = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE 'test\\_%'").fetchall()
        for (name,) in names:
            connection.execute(psycopg.sql.SQL("DROP DATABASE IF EXISTS {}").format(psycopg.sql.Identifier(name)))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Lets go; the last process stops them."""
    settings.EMBEDDED_SERVICES.release()
    if TEMPORARY in config.stash:
        shutil.rmtree(config.stash[TEMPORARY], ignore_errors=True)


@pytest.fixture(autouse=True)
def _clear_cache() -> Iterator[None]:
    yield
    cache.clear()


@pytest.fixture(scope="session", autouse=True)
def _end_workers() -> Iterator[None]:
    """Ends the sandbox's workers with the tests, not after them."""
    yield
    close_worker_pool()


@pytest.fixture
def viewer(db: None) -> User:
    return UserFactory.create(username="vera", role=User.Role.VIEWER)


@pytest.fixture
def reviewer(db: None) -> User:
    return UserFactory.create(username="rosa", role=User.Role.REVIEWER)


@pytest.fixture
def operator(db: None) -> User:
    return UserFactory.create(username="otto", role=User.Role.OPERATOR)


@pytest.fixture
def admin(db: None) -> User:
    return UserFactory.create(username="ada", role=User.Role.ADMIN)


@pytest.fixture
def operator_client(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def api(operator: User) -> APIClient:
    """An API client with an operator's token of every scope but admin."""
    issued = create_api_token(user=operator, name="test", scopes=[scope for scope in Scope if scope != Scope.ADMIN])
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {issued.key}")
    return client


@pytest.fixture(scope="session")
def console_server(django_db_setup: None) -> Iterator[str]:
    """Address of a console that serves the test database."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "envfactory_site.settings.test",
        "TEST_DATABASE_NAME": connection.settings_dict["NAME"],
    }
    command = [
        sys.executable, "-m", "uvicorn", "envfactory_site.asgi:application", "--port", str(port),
        "--log-level", "warning", "--timeout-graceful-shutdown", "1",
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_until_ready(address, process)
        yield address
    finally:
        process.terminate()
        process.wait(20)


def _wait_until_ready(address: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, "uvicorn ended"
        try:
            if httpx.get(f"{address}/healthz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("the console did not become ready")
