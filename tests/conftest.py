"""Real services for the whole suite, and the people that tests need."""

import os
from collections.abc import Iterator

import psycopg
import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client
from rest_framework.test import APIClient

from environments.core.access import Scope
from environments.models import User
from environments.services import create_api_token
from tests.factories.environments import UserFactory


def pytest_configure(config: pytest.Config) -> None:
    """Starts PostgreSQL and Valkey, or joins those that another process of this run has started."""
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


@pytest.fixture(autouse=True)
def _clear_cache() -> Iterator[None]:
    yield
    cache.clear()


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
    issued = create_api_token(user=operator, name="test", scopes=[Scope.READ, Scope.JOBS, Scope.REVIEW, Scope.EXPORT])
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {issued.key}")
    return client
