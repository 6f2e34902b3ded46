"""How a worker process locks itself: resource limits, privileges, Landlock, seccomp. Standard library and ctypes only.

Called once, by `worker`, after everything is imported and before the first untrusted byte is read; nothing here can be
undone afterwards. The order matters and each step says why. A layer that `layers.RULES` calls required
and that fails raises LockdownError, so the worker serves nothing; one that is only expected is reported as missing.

Reference: man 2 seccomp, landlock_create_ruleset, prctl, setrlimit, capset; man 7 landlock, capabilities.
"""

import contextlib
import ctypes
import errno
import os
import resource
import struct
from collections.abc import Callable
from typing import Final

from environments.runtime.sandbox import bpf, syscalls
from environments.runtime.sandbox.limits import Limits

PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 4, 24, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
SECCOMP_SET_MODE_FILTER = 1
CAPABILITY_VERSION_3 = 0x20080522
CAP_KILL, CAP_SETGID, CAP_SETUID = 5, 6, 7
NOBODY = 65534
# One uid for each live worker: no two share a signal target, a quota or a /proc entry. Above every range that
# distributions hand out, below 2**31; the process id (at most 2**22) makes it unique on the machine.
FIRST_UID = 0x70000000
STACK_BYTES = 16 << 20
NUM_DESCRIPTORS = 8
# LANDLOCK_ACCESS_FS_*: 13 rights in ABI 1, then REFER, TRUNCATE, (none in 4), IOCTL_DEV.
LANDLOCK_FS_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15}
LANDLOCK_FS_RIGHTS_NEWEST = 16
LANDLOCK_NETWORK = 0b11  # BIND_TCP, CONNECT_TCP: from ABI 4
LANDLOCK_SCOPES = 0b11  # ABSTRACT_UNIX_SOCKET, SIGNAL: from ABI 6
LANDLOCK_CREATE_RULESET_VERSION = 1

MACHINE: Final = os.uname().machine  # asked now, since uname itself is refused once locked
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class LockdownError(RuntimeError):
    """A required layer is not to be had; `layer` names it."""

    def __init__(self, layer: str, message: str) -> None:
        super().__init__(f"{layer}: {message}")
        self.layer = layer


class _SockFilter(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint32)]


class _SockFprog(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.POINTER(_SockFilter))]


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


def raw_syscall(number: int, *arguments: "int | ctypes._CArgObject | ctypes.c_void_p") -> int:
    """Makes a system call that the standard library does not wrap.

    Raises:
        OSError: As the kernel says.
    """
    converted = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *converted))
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def raw_prctl(option: int, *arguments: int) -> None:
    """prctl(2).

    Raises:
        OSError: As the kernel says.
    """
    padded = [*arguments, 0, 0, 0, 0][:4]
    if _libc.prctl(option, *(ctypes.c_ulong(value) for value in padded)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def limit_resources(limits: Limits) -> str:
    """Everything that RLIMIT_* can bound, but processes and descriptors, which later steps still need.

    Raises:
        LockdownError: The kernel refuses a limit.
    """
    wanted = {
        "CORE": 0,
        "FSIZE": 0,
        "MEMLOCK": 0,
        "MSGQUEUE": 0,
        "NICE": 0,
        "RTPRIO": 0,
        "SIGPENDING": 16,
        "AS": limits.memory_bytes,
        "CPU": limits.cpu_seconds,
        "STACK": STACK_BYTES,
    }
    for name, value in wanted.items():
        lower_limit(name, value)
    return "AS CPU FSIZE NOFILE CORE NPROC MEMLOCK STACK MSGQUEUE SIGPENDING NICE RTPRIO"


def lower_limit(name: str, value: int) -> None:
    """Lowers one resource limit for good, to what the hard limit allows.

    Raises:
        LockdownError: Refused.
    """
    kind = getattr(resource, f"RLIMIT_{name}", None)
    if kind is None:
        return
    try:
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)  # raising one needs CAP_SYS_RESOURCE
        # The kernel says SIGXCPU at the soft limit, which tells the host why, and SIGKILL at the hard one.
        soft = max(1, value - 1) if name == "CPU" else value
        resource.setrlimit(kind, (soft, value))
    except (ValueError, OSError) as error:
        raise LockdownError("rlimits", f"RLIMIT_{name}={value} refused: {error}") from error


def _effective_capabilities() -> int:
    """The low 32 bits of the effective set; capget rather than /proc, which may be missing."""
    header = _CapabilityHeader(CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()
    if _libc.capget(ctypes.byref(header), ctypes.byref(sets)) != 0:
        return 0
    return int(sets[0])


def drop_privileges() -> str:
    """Leaves root for a uid of this worker's own, then gives up every capability.

    Returns:
        What was reached: the uid, or why root stayed (then without capabilities).

    Raises:
        LockdownError: Capabilities remain.
    """
    for capability in range(64):  # the bounding set first: it takes CAP_SETPCAP, which leaving root gives up
        try:
            raw_prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break  # past the last one, or not permitted: then there is none to drop
    told = f"uid {os.geteuid()}, not root"
    if os.geteuid() == 0:
        told = _leave_root()
    with contextlib.suppress(OSError):  # a kernel before 4.3 has no ambient set
        raw_prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = _CapabilityHeader(CAPABILITY_VERSION_3, 0)
    empty = (ctypes.c_uint32 * 6)()
    if _libc.capset(ctypes.byref(header), ctypes.byref(empty)) != 0:
        raise LockdownError("uid", f"capset refused: {os.strerror(ctypes.get_errno())}")
    return told


def _leave_root() -> str:
    capabilities = _effective_capabilities()
    # Without CAP_KILL the host, root in name only, could no longer kill a process of another uid.
    for capability, name in ((CAP_SETUID, "SETUID"), (CAP_SETGID, "SETGID"), (CAP_KILL, "KILL")):
        if not capabilities >> capability & 1:
            return f"stays root without capabilities: CAP_{name} is not to be had"
    reason = ""
    for uid in (FIRST_UID + os.getpid(), NOBODY):
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        except OSError as error:  # outside a user namespace's map, or refused by a filter
            reason = str(error)
            continue
        return f"uid {uid}"
    return f"stays root without capabilities: {reason}"


def forbid_new_privileges() -> str:
    """No exec can ever give more than the process has; also what lets it install a filter unprivileged.

    Raises:
        LockdownError: Refused (a kernel before 3.5).
    """
    try:
        raw_prctl(PR_SET_NO_NEW_PRIVS, 1)
    except OSError as error:
        raise LockdownError("no_new_privs", str(error)) from error
    return "on"


def landlock_version() -> int:
    """The kernel's Landlock ABI.

    Raises:
        OSError: ENOSYS, EOPNOTSUPP or EPERM where there is none.
    """
    number = syscalls.number("landlock_create_ruleset", MACHINE)
    return raw_syscall(number or 444, ctypes.c_void_p(None), 0, LANDLOCK_CREATE_RULESET_VERSION)


def deny_files_and_network() -> str:
    """A Landlock domain that handles every right and grants none.

    Returns:
        `ABI n`, or `missing: reason`.
    """
    try:
        version = landlock_version()
        words = [(1 << LANDLOCK_FS_RIGHTS.get(version, LANDLOCK_FS_RIGHTS_NEWEST)) - 1]
        if version >= 4:
            words.append(LANDLOCK_NETWORK)
        if version >= 6:
            words.append(LANDLOCK_SCOPES)
        raw = struct.pack(f"{len(words)}Q", *words)
        attributes = ctypes.create_string_buffer(raw, len(raw))
        ruleset = raw_syscall(444, ctypes.byref(attributes), len(raw), 0)
        try:
            raw_syscall(446, ruleset, 0)
        finally:
            os.close(ruleset)
    except OSError as error:
        return f"missing: {errno.errorcode.get(error.errno or 0, 'unknown')}"
    return f"ABI {version}"


_kept: list[object] = []
"""Filters in the kernel's own copy need no memory here, but one compiled early and installed late does."""


def compile_filter(profile: bpf.Profile) -> _SockFprog:
    """The filter in the kernel's form; a zygote compiles its children's once.

    Raises:
        LockdownError: No table for this machine.
    """
    try:
        program = bpf.build_filter(profile, MACHINE)
    except ValueError as error:
        raise LockdownError("seccomp", str(error)) from error
    array = (_SockFilter * len(program))(*(_SockFilter(*instruction) for instruction in program))
    compiled = _SockFprog(len(program), array)
    _kept.append((array, compiled))
    return compiled


def install_filter(compiled: _SockFprog) -> str:
    """Installs a seccomp filter for good.

    Raises:
        LockdownError: Refused, with the errno's name.
    """
    number = syscalls.number("seccomp", MACHINE)
    try:
        raw_syscall(number or -1, SECCOMP_SET_MODE_FILTER, 0, ctypes.byref(compiled))
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, "unknown")
        raise LockdownError("seccomp", f"{name}: {error.strerror}") from error
    return f"{compiled.len} instructions"


def lock(profile: bpf.Profile, limits: Limits, *, is_unsafe: bool = False) -> dict[str, str]:
    """Locks this process for good.

    Args:
        profile: `steady` to run tool code, `zygote` to fork children that will.
        limits: The resource limits.
        is_unsafe: Go on without a layer that can't be had; its entry then begins with `missing`.

    Returns:
        What each layer reached, by name: rlimits, uid, no_new_privs, landlock, seccomp.

    Raises:
        LockdownError: A required layer is missing and is_unsafe is not set.
    """
    layers: dict[str, str] = {}

    def apply(name: str, step: Callable[[], str]) -> None:
        try:
            layers[name] = step()
        except LockdownError as error:
            if not is_unsafe:
                raise
            layers[name] = f"missing: {error}"

    def forbid_processes() -> str:
        # NPROC counts the uid's processes: it can't bound a zygote whose uid is its host's; clone's filter does.
        if profile == "steady":
            lower_limit("NPROC", 0)
        return layers["rlimits"]

    def few_descriptors() -> str:
        lower_limit("NOFILE", NUM_DESCRIPTORS)
        return layers["rlimits"]

    apply("rlimits", lambda: limit_resources(limits))
    apply("uid", drop_privileges)
    try:
        raw_prctl(PR_SET_DUMPABLE, 0)  # no core, no ptrace, /proc/self is root's
    except OSError as error:
        layers["uid"] += f"; still dumpable: {error}"
    apply("rlimits", forbid_processes)
    apply("no_new_privs", forbid_new_privileges)
    layers["landlock"] = deny_files_and_network()
    apply("rlimits", few_descriptors)  # after Landlock, whose ruleset needs a free descriptor
    apply("seccomp", lambda: install_filter(compile_filter(profile)))
    return layers
