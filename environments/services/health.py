"""Readiness checks: what must answer before a process takes work. Apps register theirs."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from django.core.cache import caches
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from environments.adapters.cache import ResilientRedisCache

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Outcome of one check; `message` says what to do when it failed."""

    name: str
    is_ok: bool
    message: str
    milliseconds: float


_CHECKS: dict[str, Callable[[], str]] = {}


def register_check(name: str, check: Callable[[], str]) -> None:
    """Adds a readiness check: a function that returns a short fact or raises with what is wrong."""
    _CHECKS[name] = check


def readiness() -> list[CheckResult]:
    """Runs every registered check; a check that raises is a failed one."""
    return [_run(name, check) for name, check in sorted(_CHECKS.items())]


def _run(name: str, check: Callable[[], str]) -> CheckResult:
    start = time.perf_counter()
    try:
        message, is_ok = check(), True
    except Exception as error:  # noqa: BLE001 - whatever a check raises is its finding
        logger.warning("event=check_failed check=%s error=%s", name, type(error).__name__)
        message, is_ok = f"{type(error).__name__}: {error}".splitlines()[0][:300], False
    return CheckResult(name, is_ok, message, (time.perf_counter() - start) * 1000)


def check_database() -> str:
    """PostgreSQL answers and has pgvector."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version'), extversion FROM pg_extension WHERE extname='vector'")
        row = cursor.fetchone()
    if row is None:
        raise RuntimeError("The extension vector is missing: run `manage.py migrate` as a user who may create it.")
    return f"PostgreSQL {row[0]}, pgvector {row[1]}"


def check_migrations() -> str:
    """No migration is waiting."""
    executor = MigrationExecutor(connection)
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if waiting:
        raise RuntimeError(f"{len(waiting)} migrations are not applied: run `manage.py migrate`.")
    return "all applied"


def check_broker() -> str:
    """The broker's server answers."""
    cache = caches["default"]
    if not isinstance(cache, ResilientRedisCache):
        raise TypeError(f"The cache is a {type(cache).__name__}, whose server can't be asked.")
    return cache.ping()
