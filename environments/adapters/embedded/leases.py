"""Who uses the servers: one locked file per holder, and one lock around every start and stop.

Both are `flock`s, so the kernel drops them with the process, whatever ended it. A lock belongs to the open file: a
forked child (a Celery pool) keeps its parent's lease alive. The descriptor is closed on exec, so no server inherits it.
"""

import errno
import fcntl
import os
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from environments.adapters.embedded.account import Account
from environments.adapters.embedded.errors import EmbeddedServiceError

# Longer than the slowest thing done under the lock: a start with recovery, or a stop that has to be forced.
LOCK_LIMIT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that uses the servers; it may have died and left children that still do."""

    pid: int
    command: str

    def __str__(self) -> str:
        return f"pid {self.pid} ({self.command})"


@dataclass(frozen=True, slots=True)
class Lease:
    """This process's own locked file."""

    path: Path
    descriptor: int
    pid: int


class LeaseBook:
    """The lease files and the start/stop lock in one directory."""

    def __init__(self, directory: Path, account: Account) -> None:
        self._directory = directory
        self._lock = directory / "lock"
        self._account = account

    @contextmanager
    def serialised(self) -> Iterator[None]:
        """Keep every other process, and thread, out of starting, stopping and counting."""
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._account.own(descriptor)
            deadline = time.monotonic() + LOCK_LIMIT_SECONDS
            while not _try_lock(descriptor, fcntl.LOCK_EX):
                if time.monotonic() > deadline:
                    holder = os.pread(descriptor, 200, 0).decode(errors="replace") or "unknown"
                    message = (
                        f"another process has been starting or stopping the embedded services for more than "
                        f"{LOCK_LIMIT_SECONDS:.0f} s: look at it or end it ({holder})"
                    )
                    raise EmbeddedServiceError(message)
                time.sleep(0.02)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(_own_holder()).encode(), 0)
            try:
                yield
            finally:
                # Explicitly, not only by close: a child forked meanwhile by another thread shares this lock.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
        finally:
            os.close(descriptor)

    def take(self) -> Lease:
        """Add this process's lease and remove those of dead ones; call it `serialised`."""
        for path in self._files():
            if not _is_locked(path):
                path.unlink(missing_ok=True)
        path = self._directory / f"{os.getpid()}-{secrets.token_hex(4)}.lease"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        self._account.own(descriptor)
        os.write(descriptor, _own_holder().command.encode())
        return Lease(path, descriptor, os.getpid())

    def drop(self, lease: Lease) -> None:
        """Close this process's lease; call it `serialised`. Children forked since then still hold it."""
        os.close(lease.descriptor)
        if not _is_locked(lease.path):
            lease.path.unlink(missing_ok=True)

    def holders(self, *, besides: Lease | None = None) -> list[Holder]:
        """Return who holds a lease now, in order of pid."""
        held = (path for path in self._files() if not (besides and path == besides.path) and _is_locked(path))
        found = []
        for path in held:
            command = path.read_text(errors="replace") if path.exists() else ""
            found.append(Holder(int(path.name.partition("-")[0]), command))
        return sorted(found, key=lambda holder: holder.pid)

    def _files(self) -> list[Path]:
        return list(self._directory.glob("*.lease"))


def _own_holder() -> Holder:
    return Holder(os.getpid(), " ".join([Path(sys.argv[0]).name, *sys.argv[1:3]])[:100])


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
            return False
        raise
    return True


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)
