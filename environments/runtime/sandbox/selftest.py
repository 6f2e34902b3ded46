"""Proof from inside: every probe must be refused by the kernel, not fail for another reason."""

import _socket
import mmap
import os
import resource
import signal
from collections.abc import Callable

ANYTHING_BUT_PERMISSION = "failed for another reason than a refusal"


def find_holes(*, tries_exec: bool = True) -> list[str]:
    """The probes that were not refused; empty in a locked process.

    Args:
        tries_exec: Whether running a program is one of them; off where the answer is known and would end the process.

    Made to be harmless where it is not locked: what it creates it removes, what it signals is signal 0. Only
    `execve` would not return: the process is then another program, and its host sees no hello.
    """
    probes: dict[str, Callable[[], object]] = {
        "open a file": lambda: os.open("/etc/passwd", os.O_RDONLY),
        "open /proc/self/environ": lambda: os.open("/proc/self/environ", os.O_RDONLY),
        "list a folder": lambda: os.listdir("/"),  # noqa: PTH208 - the raw call is what is probed
        "stat a file": lambda: os.stat("/"),  # noqa: PTH116
        "create a file": _create_file,
        "internet socket": lambda: _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM),
        "datagram socket": lambda: _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM),
        "unix socket": lambda: _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM),
        "signal another process": lambda: os.kill(1, 0),
        "become root": lambda: os.setresuid(0, 0, 0),
        "writable and executable memory": _map_executable,
        "raise a limit": _raise_limit,
        "a file name in the kernel's answer": os.getcwd,
        "wait for a signal": lambda: signal.sigtimedwait([signal.SIGUSR1], 0),
    }
    if tries_exec:
        probes["run a program"] = lambda: os.execve("/bin/true", ["true"], {})  # noqa: S606
    holes = []
    for name, probe in probes.items():
        try:
            probe()
        except PermissionError:
            continue
        except OSError as error:
            holes.append(f"{name} ({ANYTHING_BUT_PERMISSION}: {error.strerror})")
            continue
        holes.append(name)
    return holes


def _create_file() -> None:
    path = f"/tmp/.envfactory_sandbox_{os.getpid()}"  # noqa: S108 - must be refused
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.unlink(path)  # noqa: PTH108


def _map_executable() -> None:
    mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()


def _raise_limit() -> None:
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))
    except ValueError as error:  # how the resource module tells EPERM
        raise PermissionError(str(error)) from None
