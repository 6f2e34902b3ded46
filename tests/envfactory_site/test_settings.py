"""Settings: what the environment may say, what keeps a start from happening, and that every variable is documented."""

import gc
import os
import re
import secrets
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError
from django.db.utils import ConnectionHandler
from kombu import Connection

from envfactory_site.settings import base, env
from environments.adapters.embedded import EmbeddedServices

ROOT: Path = settings.BASE_DIR
GOOD = {
    "SECRET_KEY": secrets.token_urlsafe(48),
    "ALLOWED_HOSTS": "console.example.org",
    "DATABASE_URL": "postgresql://u:p@localhost:5432/name",
    "REDIS_URL": "redis://localhost:6379",
}


def start(*, module: str = "production", **changes: str | None) -> subprocess.CompletedProcess[str]:
    """Loads Django in a process of its own; None takes a variable away."""
    environment = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": f"envfactory_site.settings.{module}", **GOOD}
    environment |= {name: value for name, value in changes.items() if value is not None}
    for name in [name for name, value in changes.items() if value is None]:
        del environment[name]
    return subprocess.run(
        [sys.executable, "-c", "import django; django.setup(); print('started')"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# --- Starting ---------------------------------------------------------------------------------------------------------


def test_production_starts_when_everything_is_set():
    done = start()

    assert (done.returncode, done.stdout) == (0, "started\n"), done.stderr


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"DEBUG": "1"}, "DEBUG is on: unset it, or use envfactory_site.settings.local."),
        ({"SECRET_KEY": None}, "SECRET_KEY is missing or weak: set SECRET_KEY or SECRET_KEY_FILE to 50 random"),
        ({"SECRET_KEY": "short"}, "SECRET_KEY is missing or weak"),
        ({"SECRET_KEY": "ab" * 40}, "SECRET_KEY is missing or weak"),
        ({"ALLOWED_HOSTS": None}, "ALLOWED_HOSTS is empty or a wildcard: name the hosts"),
        ({"ALLOWED_HOSTS": " , "}, "ALLOWED_HOSTS is empty or a wildcard"),
        ({"ALLOWED_HOSTS": "console.example.org,*"}, "ALLOWED_HOSTS is empty or a wildcard"),
        ({"ALLOWED_HOSTS": "*.example.org"}, "ALLOWED_HOSTS is empty or a wildcard"),
        ({"ALLOWED_HOSTS": "."}, "ALLOWED_HOSTS is empty or a wildcard"),
        ({"DATABASE_URL": None}, "DATABASE_URL is not set: postgresql://user:password@host:5432/name."),
        ({"REDIS_URL": None}, "REDIS_URL is not set: redis://host:6379."),
        ({"DATABASE_URL": "mysql://u:hunter2@h/n"}, "DATABASE_URL must look like postgresql://"),
        ({"REDIS_URL": "amqp://u:hunter2@h"}, "REDIS_URL must look like redis://"),
        ({"SECURE_SSL_REDIRECT": "maybe"}, "SECURE_SSL_REDIRECT='maybe' is neither true nor false."),
        ({"SECURE_HSTS_SECONDS": "-1"}, "SECURE_HSTS_SECONDS='-1' is below 0."),
        ({"JOB_SWEEP_SECONDS": "0"}, "JOB_SWEEP_SECONDS='0' is below 1."),
        ({"THROTTLE_LOGIN": "often"}, "THROTTLE_LOGIN='often' is not a rate such as 10/min."),
        ({"SECRET_KEY_FILE": "/run/secrets/key"}, "Both SECRET_KEY and SECRET_KEY_FILE are set; set one."),
        ({"SECRET_KEY": None, "SECRET_KEY_FILE": "/no/file"}, "SECRET_KEY_FILE names /no/file, which can't be read"),
    ],
)
def test_start_is_refused_with_what_to_do_when_production_is_unsafe(changes, words):
    done = start(**changes)

    assert done.returncode != 0
    assert done.stdout == ""
    assert "ImproperlyConfigured" in done.stderr
    assert words in done.stderr
    assert "hunter2" not in done.stderr


def test_every_fault_is_told_at_once_when_nothing_is_set():
    done = start(**dict.fromkeys(GOOD))

    assert done.returncode != 0
    assert [line.split()[1] for line in done.stderr.splitlines() if line.startswith("- ")] == [
        "SECRET_KEY", "ALLOWED_HOSTS", "DATABASE_URL", "REDIS_URL",
    ]  # fmt: skip


def test_production_starts_when_every_secret_is_a_file(tmp_path):
    files: dict[str, str | None] = {}
    for name in ("SECRET_KEY", "DATABASE_URL", "REDIS_URL"):
        (tmp_path / name).write_text(f"{GOOD[name]}\n")
        files |= {name: None, f"{name}_FILE": str(tmp_path / name)}

    done = start(**files)

    assert done.returncode == 0, done.stderr


def test_local_settings_make_a_private_key_once(tmp_path):
    own = {"SECRET_KEY": None, "ALLOWED_HOSTS": None, "VAR_DIR": str(tmp_path / "var")}

    assert start(module="local", **own).returncode == 0
    key = tmp_path / "var" / "secret_key"
    first = key.read_text()
    assert start(module="local", **own).returncode == 0

    assert key.read_text() == first
    assert len(first) >= 50
    assert key.stat().st_mode & 0o777 == 0o600
    assert key.parent.stat().st_mode & 0o777 == 0o700


# --- Readers ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def variable(monkeypatch: pytest.MonkeyPatch) -> Any:
    def change(value: str, name: str = "X") -> None:
        monkeypatch.setenv(name, value)

    return change


@pytest.mark.parametrize(("value", "is_true"), [("1", True), ("YES", True), ("on", True), ("0", False), ("Off", False)])
def test_boolean_is_read(variable, value, is_true):
    variable(value)

    assert env.boolean("X", not is_true) is is_true


@pytest.mark.parametrize("value", ["2", "ja", "truee", "-"])
def test_boolean_is_refused_when_it_is_neither(variable, value):
    variable(value)

    with pytest.raises(ImproperlyConfigured, match=f"X='{value}' is neither"):
        env.boolean("X", False)


@pytest.mark.parametrize("value", ["1.5", "ten", "1e3", "0x10", "--1"])
def test_number_is_refused_when_it_is_none(variable, value):
    variable(value)

    with pytest.raises(ImproperlyConfigured, match="is not a whole number"):
        env.number("X", 1)


def test_number_is_refused_below_the_minimum(variable):
    variable("2")

    assert env.number("X", 9, minimum=2) == 2
    with pytest.raises(ImproperlyConfigured, match="below 3"):
        env.number("X", 9, minimum=3)


@pytest.mark.parametrize("value", ["10", "10/fortnight", "0/min", "-1/min", "ten/min", "10/min/s", " "])
def test_rate_is_refused_when_it_is_none(variable, value):
    variable(value)

    with pytest.raises(ImproperlyConfigured, match="is not a rate"):
        env.rate("X", "1/s")


def test_words_are_split_at_commas_and_empty_ones_dropped(variable):
    variable(" a.example , ,b.example,")

    assert env.words("X") == ["a.example", "b.example"]


def test_defaults_hold_when_a_variable_is_empty(variable):
    variable("")

    assert (env.text("X", "d"), env.boolean("X", True), env.number("X", 7), env.words("X")) == ("d", True, 7, [])
    assert env.rate("X", "1/s") == "1/s"


def test_secret_file_is_read_without_its_line_end(variable, tmp_path):
    (tmp_path / "secret").write_text("  hunter2 \n")
    variable(str(tmp_path / "secret"), "X_FILE")

    assert env.text("X") == "hunter2"


def test_secret_file_is_refused_without_showing_it_when_it_is_not_text(variable, tmp_path):
    (tmp_path / "secret").write_bytes(b"hunter2\xff\xfe")
    variable(str(tmp_path / "secret"), "X_FILE")

    with pytest.raises(ImproperlyConfigured, match="not text in UTF-8") as caught:
        env.text("X")
    assert caught.value.__suppress_context__


def test_secret_is_refused_when_both_forms_are_set(variable, tmp_path):
    variable("a")
    variable(str(tmp_path), "X_FILE")

    with pytest.raises(ImproperlyConfigured, match="Both X and X_FILE"):
        env.text("X")


# --- Addresses --------------------------------------------------------------------------------------------------------


def test_database_address_is_taken_apart():
    found = env.database("postgres://us%40er:p%2Fw%3A@db.example:6432/my%20base?sslmode=require&application_name=x")

    assert found == {
        "NAME": "my base",
        "USER": "us@er",
        "PASSWORD": "p/w:",
        "HOST": "db.example",
        "PORT": "6432",
        "OPTIONS": {"sslmode": "require", "application_name": "x"},
    }


@pytest.mark.parametrize(
    "url", ["postgresql://u@/name?host=%2Frun%2FPg&port=5433", "postgresql://u@%2Frun%2FPg:5433/name"]
)
def test_database_address_may_name_a_socket_directory(url):
    found = env.database(url)

    assert (found["HOST"], found["PORT"], found["NAME"], found["OPTIONS"]) == ("/run/Pg", "5433", "name", {})


@pytest.mark.parametrize(
    "url",
    [
        "db.example/name", "mysql://h/n", "postgresql://h", "postgresql://h/", "postgresql://u:hunter2@h:port/n",
        "postgresql://u:hunter2@h:99999/n", "postgresql://[::1/n", "postgresql://u:hun#ter2@h/n", "nonsense",
    ],
)  # fmt: skip
def test_database_address_is_refused_without_showing_it_when_wrong(url):
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL must look like") as caught:
        env.database(url)
    assert caught.value.__cause__ is None
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "cache", "broker"),
    [
        ("redis://h:6379", "redis://h:6379/1", "redis://h:6379/0"),
        ("redis://:p%40w@h:6379/5", "redis://:p%40w@h:6379/1", "redis://:p%40w@h:6379/0"),
        ("redis://h/?db=5", "redis://h/1", "redis://h/0"),
        (
            "rediss://u:p%2Fw@h:6380/2?ssl_cert_reqs=required",
            "rediss://u:p%2Fw@h:6380/1?ssl_cert_reqs=required",
            "rediss://u:p%2Fw@h:6380/0?ssl_cert_reqs=required",
        ),
        ("unix:///run/V%20k.sock", "unix:///run/V%20k.sock?db=1", "redis+socket:///run/V%20k.sock?virtual_host=0"),
        ("unix://:pw@/v.sock?db=3", "unix://:pw@/v.sock?db=1", "redis+socket://:pw@/v.sock?virtual_host=0"),
    ],
)
def test_redis_address_names_one_database_for_each_use(url, cache, broker):
    assert env.redis_address(url, database_number=1) == cache
    assert env.broker_address(url, database_number=0) == broker


@pytest.mark.parametrize("url", ["amqp://h", "h:6379", "redis://:hunter2@h:port", "redis://[::1", ""])
def test_redis_address_is_refused_without_showing_it_when_wrong(url):
    for read in (env.redis_address, env.broker_address):
        with pytest.raises(ImproperlyConfigured, match="REDIS_URL must look like") as caught:
            read(url, database_number=0)
        assert "hunter2" not in str(caught.value)


def test_redis_addresses_mean_the_same_to_the_client_and_to_celery():
    url = "rediss://u:p%2Fw@h:6380?ssl_cert_reqs=required"

    client = redis.Redis.from_url(env.redis_address(url, database_number=1)).connection_pool
    broker = Connection(env.broker_address(url, database_number=0))

    assert {name: client.connection_kwargs[name] for name in ("host", "port", "username", "password", "db")} == {
        "host": "h", "port": 6380, "username": "u", "password": "p/w", "db": 1,
    }  # fmt: skip
    assert issubclass(client.connection_class, redis.SSLConnection)
    assert (broker.hostname, broker.port, broker.userid, broker.password) == ("h", 6380, "u", "p/w")
    assert broker.virtual_host == "0"
    assert broker.ssl


def test_a_socket_whose_path_needs_quoting_is_reached_by_the_client_and_by_celery(tmp_path):
    """Celery and redis-py take a path apart in ways of their own; both must end at the same file."""
    with EmbeddedServices(tmp_path / "a b%c", postgres=False, durable=False) as services:
        client = redis.Redis.from_url(env.redis_address(services.redis_url, database_number=1))
        assert client.ping()
        assert client.connection_pool.connection_kwargs["db"] == 1
        with Connection(env.broker_address(services.redis_url, database_number=0)) as broker:
            broker.ensure_connection(max_retries=1, timeout=5)
            broker.default_channel.client.set("seen", 1)
        assert redis.Redis.from_url(env.redis_address(services.redis_url, database_number=0)).get("seen") == b"1"
        assert client.get("seen") is None


# --- The pool ---------------------------------------------------------------------------------------------------------


# psycopg_pool drops a connection that it finds broken without closing it, which psycopg's destructor warns of.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_pool_serves_threads_and_recovers_when_the_server_restarts(tmp_path, variable, django_db_blocker):
    variable("2", "DATABASE_POOL_SIZE")
    with EmbeddedServices(tmp_path / "servers", valkey=False, durable=False) as services:
        handler = ConnectionHandler(base.databases(dict(env.database(services.database_url))))
        pids: list[int] = []

        def ask() -> None:
            connection = handler["default"]
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid(), pg_sleep(0.05)")
                pids.append(cursor.fetchone()[0])
            connection.close()

        def ask_from_threads(number: int) -> None:
            threads = [threading.Thread(target=ask) for _ in range(number)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        with django_db_blocker.unblock():
            ask_from_threads(6)
            assert len(pids) == 6
            assert len(set(pids)) <= 2
            before = set(pids)
            pids.clear()

            server = next(status.pid for status in services.status() if status.name == "postgres")
            assert server is not None
            psutil.Process(server).kill()
            psutil.wait_procs([psutil.Process(server)] if psutil.pid_exists(server) else [], timeout=10)
            services.acquire()

            ask_from_threads(4)
            assert len(pids) == 4
            assert not before & set(pids)
            handler["default"].close_pool()
            gc.collect()


def test_connection_is_refused_in_time_when_nothing_listens(django_db_blocker):
    handler = ConnectionHandler(base.databases(dict(env.database("postgresql://u@127.0.0.1:1/n"))))

    with django_db_blocker.unblock(), pytest.raises(OperationalError, match="refused"):
        handler["default"].ensure_connection()


def test_no_pool_is_kept_unless_asked_for(variable):
    variable("", "DATABASE_POOL_SIZE")

    assert "pool" not in base.databases({})["default"]["OPTIONS"]


# --- The document -----------------------------------------------------------------------------------------------------

READER = re.compile(
    r"""\b(?:env\.)?(?:text|boolean|number|rate|words|choice|networks|commands)\(\s*f?["']([A-Z][A-Z0-9_]+)["']"""
)
DIRECT = re.compile(r"""(?:os\.)?environ(?:\.get\(|\[|\.setdefault\()\s*["']([A-Z][A-Z0-9_]+)["']""")


def variables_of_the_code() -> set[str]:
    sources = [ROOT / "manage.py"]
    for package in ("envfactory_site", "environments", "graphs", "trajectories", "training"):
        sources += (ROOT / package).rglob("*.py")
    return {name for source in sources for kind in (READER, DIRECT) for name in kind.findall(source.read_text())}


def documented() -> dict[str, list[str]]:
    rows = {}
    for line in (ROOT / "docs" / "settings.md").read_text().splitlines():
        if match := re.match(r"\| `([A-Z][A-Z0-9_]+)` \|", line):
            assert match[1] not in rows, f"{match[1]} stands there twice"
            rows[match[1]] = [cell.strip() for cell in line.strip("|").split("|")]
    return rows


def test_every_variable_that_the_code_reads_is_documented_and_no_other():
    read = variables_of_the_code()

    assert {"SECRET_KEY", "THROTTLE_LOGIN", "JOB_STALE_SECONDS", "DATABASE_POOL_SIZE", "ALLOWED_HOSTS"} <= read
    assert read == set(documented())


def test_every_documented_variable_has_a_default_a_meaning_and_an_example():
    for name, cells in documented().items():
        assert len(cells) == 4, name
        assert all(cells), name


def test_documented_defaults_are_those_of_the_code():
    found = re.findall(
        r"""env\.(?:text|number|rate|boolean)\("([A-Z_]+)", ([^,)]+)""",
        "".join(path.read_text() for path in (ROOT / "envfactory_site" / "settings").glob("*.py")),
    )
    rows = documented()

    assert len(found) >= 12
    for name, default in found:
        if default.startswith("str("):
            continue  # a path, told in words
        value = str(365 * 86400) if "*" in default else default.strip('"').lower()
        assert f"`{value}`" in rows[name][1].lower(), name
