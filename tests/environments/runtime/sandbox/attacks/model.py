"""One attack and what may come of it.

This folder uses the standard library and `environments.runtime` only, because its host program also runs as a user who
can read nothing else.
"""

from dataclasses import dataclass

REFUSED = frozenset({"PermissionError"})
"""The kernel said no, and the tool saw it."""
ABSENT = frozenset({"ModuleNotFoundError", "ImportError", "AttributeError", "KeyError", "NameError"})
"""What it reached for is not in the process and can't be loaded."""
FAILED = frozenset({"failure"})
KILLED = frozenset({"ToolTimeout"})
"""The host's deadline, or the kernel's CPU limit."""
SLOW = frozenset({"timeout", "ToolTimeout", "failure"})
"""Stopped by the engine's step budget, the worker's soft timer, or the host."""
BIG = frozenset({"memory", "timeout", "ToolTimeout", "ToolMemory", "ToolCrash", "MemoryError", "failure"})
"""Stopped by the memory limit, however that shows, or by time on the way there."""
CRASH = frozenset({"ToolCrash"})
VIOLATION = frozenset({"SandboxViolation"})
PROTOCOL = frozenset({"SandboxProtocolError"})


@dataclass(frozen=True)
class Attack:
    """A hostile tool.

    Attributes:
        group: Its number in `groups.GROUPS`.
        name: What it does, in words.
        body: Its code, after an escape from the engine's gate; `host`, `tcp`, `udp` are the host's process id and
            ports. It returns what it reached; refusals show as the name of their exception.
        expect: Words of which the outcome must be one.
        in_fork: The same in fork mode, where it differs.
        is_poison: Whether the warm worker is worth nothing afterwards.
    """

    group: int
    name: str
    body: str
    expect: frozenset[str]
    in_fork: frozenset[str] | None = None
    is_poison: bool = False

    def expected(self, mode: str) -> frozenset[str]:
        """What may come of it in that mode."""
        return self.in_fork if self.in_fork is not None and mode == "fork" else self.expect


PREAMBLE = '''
import json, re, decimal

_real = json.loads.__globals__["__builtins__"]
_real = _real if type(_real) is dict else _real.__dict__

def _here():
    return None

_here.__globals__.update({name: value for name, value in _real.items() if name not in ("__name__", "__doc__")})
IMP = _real["__import__"]
os, sys, signal, gc = IMP("os"), IMP("sys"), IMP("signal"), IMP("gc")
time, _socket, apsw = IMP("time"), sys.modules["_socket"], IMP("apsw")
OPEN = IMP("io").open
LOCK = sys.modules["environments.runtime.sandbox.lockdown"]
C, LIBC = LOCK.ctypes, LOCK._libc
MARK = "efx_attack"

def syscall(number, *arguments):
    C.set_errno(0)
    result = LIBC.syscall(C.c_long(number), *[C.c_long(a) if type(a) is int else a for a in arguments])
    if result == -1:
        raise OSError(C.get_errno(), "syscall")
    return result

def attempt(*actions):
    """The outcome of each: ALLOWED, or the exception's name; one word if they agree."""
    seen = []
    for action in actions:
        try:
            action()
            seen.append("ALLOWED")
        except BaseException as error:
            if type(error).__name__ == "SoftTimeoutError":
                raise
            seen.append(type(error).__name__)
    return seen[0] if len(set(seen)) == 1 else " ".join(seen)

def channels():
    """Descriptors of this process that can be written to, standard ones left out."""
    found = []
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"")
        except OSError:
            continue
        found.append(descriptor)
    return found

def _count_default(seen=[]):
    seen.append(1)
    return seen


def _make_closure():
    n = 0

    def count():
        nonlocal n
        n += 1
        return n

    return count


_closure = _make_closure()
'''
