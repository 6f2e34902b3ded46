"""The manager: addresses, leases, start and stop of both servers as one."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import psycopg
import redis

from environments.adapters.embedded import postgres as postgres_module
from environments.adapters.embedded import valkey as valkey_module
from environments.adapters.embedded.account import Account
from environments.adapters.embedded.errors import EmbeddedServiceError
from environments.adapters.embedded.leases import Holder, Lease, LeaseBook
from environments.adapters.embedded.postgres import Postgres
from environments.adapters.embedded.processes import Places
from environments.adapters.embedded.valkey import Valkey

SOCKET_PATH_LIMIT_BYTES = 107
# Not tempfile.gettempdir(): the address must be the same in every terminal, whatever TMPDIR says there.
SHORT_DIRECTORY = Path("/tmp")  # noqa: S108 - the directory made in it is checked for owner, kind and mode
# pg_ctl puts the path between double quotes in a shell command, as it is; libpq takes a comma for a list of hosts.
UNSAFE_CHARACTERS = frozenset(',"$`\\\n')
MIN_FREE_BYTES = 200_000_000


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """How one server is doing; `version` and `seconds_up` are empty when it does not answer."""

    name: str
    address: str
    pid: int | None
    version: str = ""
    seconds_up: float | None = None

    @property
    def is_running(self) -> bool:
        """Whether its process is alive."""
        return self.pid is not None


class EmbeddedServices:
    """PostgreSQL and Valkey under one directory, shared by every process that holds a lease on them.

    Args:
        var_directory: Where everything lies; made with mode 0700. Two directories are two independent sets of servers.
        durable: False, for tests, leaves out what protects data from a crash of the machine. Whoever starts the
            servers decides.
        postgres: Whether PostgreSQL is wanted.
        valkey: Whether Valkey is wanted.
    """

    def __init__(
        self, var_directory: Path, *, durable: bool = True, postgres: bool = True, valkey: bool = True
    ) -> None:
        self._var = Path(var_directory).resolve()
        self._account = Account.for_directory(self._var)
        self._run = self._var / "run"
        self._keep = self._run / "keep"
        self._sockets = self._socket_directory()
        self._leases = LeaseBook(self._run, self._account)
        self._lease: Lease | None = None
        places = Places(self._var, self._sockets, self._account, durable)
        # Both are stopped at the end, wanted here or not: another process may have wanted the other one.
        self._servers: tuple[Postgres | Valkey, ...] = (Postgres(places), Valkey(places))
        wanted = {Postgres.name: postgres, Valkey.name: valkey}
        self._wanted = [server for server in self._servers if wanted[server.name]]

    @property
    def database(self) -> dict[str, str]:
        """HOST, PORT, NAME and USER as Django's DATABASES takes them; nothing needs to run for it."""
        name = postgres_module.NAME
        return {"HOST": str(self._sockets), "PORT": postgres_module.PORT, "NAME": name, "USER": name}

    @property
    def database_url(self) -> str:
        """The same as a libpq URL."""
        name = postgres_module.NAME
        return f"postgresql://{name}@/{name}?host={quote(str(self._sockets), safe='')}&port={postgres_module.PORT}"

    @property
    def redis_url(self) -> str:
        """Address of Valkey for redis-py and Django's cache."""
        return f"unix://{quote(str(self._sockets / valkey_module.SOCKET_NAME))}?db=0"

    @property
    def is_kept(self) -> bool:
        """Whether the servers stay up without leases."""
        return self._keep.exists()

    @property
    def holders(self) -> list[Holder]:
        """Who holds a lease now, this process included."""
        return self._leases.holders()

    def acquire(self) -> None:
        """Start what does not run and hold a lease; again on a held one, bring back a server that died.

        Several calls on one object are one lease. A forked child that calls it gets a lease of its own.

        Raises:
            EmbeddedServiceError: A server cannot be had; the message says why and what to do.
        """
        with self._prepared():
            had_lease = self._own_lease() is not None
            if not had_lease:
                self._lease = self._leases.take()
            try:
                self._check_disk()
                for server in self._wanted:
                    server.ensure()
            except BaseException:
                # A lease from before stays: its holder still uses the other server, and may try again.
                if had_lease:
                    raise
                with suppress(EmbeddedServiceError, OSError):
                    self._leave()
                raise

    def release(self) -> None:
        """Drop the lease; the last holder stops the servers, unless they are kept. A forked child does nothing."""
        if self._own_lease() is None:
            return
        with self._prepared():
            self._leave()

    def keep(self) -> None:
        """Let the servers stay up without leases until `stop` (call it while holding one)."""
        with self._prepared():
            self._keep.touch(mode=0o600)
            self._account.own(self._keep)

    def stop(self, *, force: bool = False) -> None:
        """Stop the servers and drop the own lease.

        Raises:
            EmbeddedServiceError: Others hold leases and `force` is false, or a server does not stop.
        """
        with _clear_errors(self._var):
            if not self._run.exists():
                return
        with self._prepared():
            own = self._own_lease()
            others = self._leases.holders(besides=own)
            if others and not force:
                named = ", ".join(str(holder) for holder in others)
                message = f"the embedded services are in use by {named}: end these processes first, or force the stop"
                raise EmbeddedServiceError(message)
            self._drop_lease()
            self._stop_servers()

    def status(self) -> list[ServiceStatus]:
        """Return how each server is doing; starts nothing and waits for nobody."""
        with _clear_errors(self._var):
            return [self._status(server) for server in self._wanted]

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()

    def _socket_directory(self) -> Path:
        if len(os.fsencode(self._run / postgres_module.SOCKET_NAME)) <= SOCKET_PATH_LIMIT_BYTES:
            return self._run
        digest = hashlib.sha256(os.fsencode(self._var)).hexdigest()[:16]
        return SHORT_DIRECTORY / f"envfactory-{self._account.uid}-{digest}"

    @contextmanager
    def _prepared(self) -> Iterator[None]:
        """The directories exist and no other process starts or stops anything."""
        if set(str(self._var)) & UNSAFE_CHARACTERS:
            message = f"PostgreSQL cannot work below {self._var}: use a path without commas, quotes, $, ` and \\"
            raise EmbeddedServiceError(message)
        with _clear_errors(self._var):
            for directory in (self._var, self._run, self._var / "log"):
                self._account.make_private(directory)
            if self._sockets != self._run:
                self._account.make_private(self._sockets, adopt=False)
            with self._leases.serialised():
                yield

    def _check_disk(self) -> None:
        free = shutil.disk_usage(self._var).free
        if free < MIN_FREE_BYTES and any(server.pid() is None for server in self._wanted):
            message = (
                f"{self._var} has {free // 1_000_000} MB of free disk, the embedded services need "
                f"{MIN_FREE_BYTES // 1_000_000} MB: make room, or set DATABASE_URL and REDIS_URL"
            )
            raise EmbeddedServiceError(message)

    def _own_lease(self) -> Lease | None:
        """Return the lease of this process, not one inherited by fork."""
        return self._lease if self._lease and self._lease.pid == os.getpid() else None

    def _drop_lease(self) -> None:
        if own := self._own_lease():
            self._leases.drop(own)
            self._lease = None

    def _leave(self) -> None:
        self._drop_lease()
        if not self._keep.exists() and not self._leases.holders():
            self._stop_servers()

    def _stop_servers(self) -> None:
        for server in reversed(self._servers):
            server.stop()
        self._keep.unlink(missing_ok=True)
        if self._sockets != self._run:
            with suppress(OSError):
                self._sockets.rmdir()

    def _status(self, server: Postgres | Valkey) -> ServiceStatus:
        address = self.database_url if isinstance(server, Postgres) else self.redis_url
        pid = server.pid()
        if pid is not None:
            with suppress(psycopg.Error, redis.RedisError):
                version, seconds_up = server.ask()
                return ServiceStatus(server.name, address, pid, version, seconds_up)
        return ServiceStatus(server.name, address, pid)


@contextmanager
def _clear_errors(var_directory: Path) -> Iterator[None]:
    """Say in one line which file or directory cannot be used, and why."""
    try:
        yield
    except OSError as error:
        message = f"the embedded services cannot use {error.filename or var_directory}: {error.strerror or error}"
        raise EmbeddedServiceError(message) from error
