"""System call numbers and which of them a locked worker may make, each with its reason.

Swept with apsw 3.54, msgspec 0.23, jsonschema-rs 0.60 and CPython 3.11 loaded (tests/environments/runtime/sandbox/
test_syscalls.py repeats the sweep): what is listed here and nothing else is needed once everything is imported.
From Linux 6.14 on uretprobe and uprobe (335, 336 on x86_64) pass every filter; outside the kernel's own trampoline
they end in SIGILL or ENXIO.

Reference: linux/arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h (aarch64).
"""

from typing import Final, NamedTuple


class Numbers(NamedTuple):
    """The number of one system call on each machine; None where it does not exist."""

    x86_64: int | None
    aarch64: int | None


AUDIT_ARCH: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH_* of linux/audit.h, what seccomp_data.arch must hold."""

NUMBERS: Final[dict[str, Numbers]] = {
    "read": Numbers(0, 63),
    "write": Numbers(1, 64),
    "close": Numbers(3, 57),
    "poll": Numbers(7, None),
    "mmap": Numbers(9, 222),
    "mprotect": Numbers(10, 226),
    "munmap": Numbers(11, 215),
    "brk": Numbers(12, 214),
    "rt_sigaction": Numbers(13, 134),
    "rt_sigprocmask": Numbers(14, 135),
    "rt_sigreturn": Numbers(15, 139),
    "mremap": Numbers(25, 216),
    "madvise": Numbers(28, 233),
    "setitimer": Numbers(38, 103),
    "getpid": Numbers(39, 172),
    "clone": Numbers(56, 220),
    "wait4": Numbers(61, 260),
    "kill": Numbers(62, 129),
    "gettimeofday": Numbers(96, 169),
    "ptrace": Numbers(101, 117),
    "getppid": Numbers(110, 173),
    "prctl": Numbers(157, 167),
    "mount": Numbers(165, 40),
    "init_module": Numbers(175, 105),
    "gettid": Numbers(186, 178),
    "futex": Numbers(202, 98),
    "restart_syscall": Numbers(219, 128),
    "clock_gettime": Numbers(228, 113),
    "exit_group": Numbers(231, 94),
    "kexec_load": Numbers(246, 104),
    "add_key": Numbers(248, 217),
    "keyctl": Numbers(250, 219),
    "ppoll": Numbers(271, 73),
    "unshare": Numbers(272, 97),
    "set_robust_list": Numbers(273, 99),
    "pipe2": Numbers(293, 59),
    "perf_event_open": Numbers(298, 241),
    "prlimit64": Numbers(302, 261),
    "open_by_handle_at": Numbers(304, 265),
    "setns": Numbers(308, 268),
    "process_vm_readv": Numbers(310, 270),
    "process_vm_writev": Numbers(311, 271),
    "finit_module": Numbers(313, 273),
    "seccomp": Numbers(317, 277),
    "getrandom": Numbers(318, 278),
    "bpf": Numbers(321, 280),
    "userfaultfd": Numbers(323, 282),
    "rseq": Numbers(334, 293),
    "io_uring_setup": Numbers(425, 425),
    "pidfd_open": Numbers(434, 434),
    "clone3": Numbers(435, 435),
    "pidfd_getfd": Numbers(438, 438),
    "landlock_create_ruleset": Numbers(444, 444),
    "landlock_restrict_self": Numbers(446, 446),
}

STEADY: Final = {
    "read": "the next frame; the descriptors are the socket, /dev/null and the error pipe",
    "write": "the answer",
    "munmap": "the allocator gives memory back",
    "brk": "the allocator",
    "mremap": "realloc of large blocks",
    "madvise": "the allocator gives pages back",
    "rt_sigaction": "signal.signal, and the interpreter's own end",
    "rt_sigprocmask": "signal handling in glibc",
    "rt_sigreturn": "return from the soft timer's handler",
    "setitimer": "arming and disarming the timers of a call and a frame",
    "getrandom": "seeds of hash maps in Rust, of Python's random; SQLite's generator",
    "getpid": "SQLite's generator, when it finds /dev/urandom closed",
    "restart_syscall": "the kernel resumes an interrupted read",
    "clock_gettime": "CPU clocks; the others only where the vDSO can't answer (some hypervisors)",
    "gettimeofday": "only where the vDSO can't answer",
    "exit_group": "the end",
}
"""Allowed whatever the arguments. mmap, mprotect and futex are allowed by argument (`bpf`): no executable memory, no
waiting.

Left out on purpose: nanosleep and clock_nanosleep (a sleeper spends no CPU time, so it would
outlive its host), close, lseek and fstat (no file can be open, and closing the channel only hides an end), sigaltstack,
sched_yield, membarrier, gettid, exit, getrusage, clock_getres (nothing in steady state makes them: one thread, no Rust
stack guard after start; the host reads use in /proc).
"""

ZYGOTE: Final = {
    "poll": "waits for a child's answer, its deadline and its host's end",
    "ppoll": "the same on aarch64",
    "pipe2": "one pipe for each child",
    "close": "the pipe's ends; the child closes the host's socket",
    "wait4": "reaps its child",
    "kill": "ends a child at its deadline (SIGKILL alone)",
    "getppid": "a child checks that its zygote still lives",
    "gettid": "the interpreter's threading module after a fork",
    "prctl": "PR_SET_PDEATHSIG alone, in the child (safe here: a zygote has one thread)",
    "prlimit64": "the child gives up processes and takes a CPU limit of its own",
    "seccomp": "the child adds the steady filter before the first untrusted byte of code runs",
    "set_robust_list": "glibc's fork",
    "rseq": "glibc's fork",
}
"""Allowed to the zygote beside STEADY; clone too, by argument. The zygote runs no tool code; its child loses these."""

KILL: Final = (
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "io_uring_setup",
    "keyctl",
    "add_key",
    "mount",
    "unshare",
    "setns",
    "kexec_load",
    "init_module",
    "finit_module",
    "pidfd_open",
    "pidfd_getfd",
    "open_by_handle_at",
)
"""Never an honest mistake: the process dies (SIGSYS) and the pack is quarantined. Everything else gets EPERM, which a
tool sees as PermissionError."""


def number(name: str, machine: str) -> int | None:
    """The number of a system call on a machine (`x86_64` or `aarch64`), None if it has none there."""
    entry = NUMBERS[name]
    return entry.x86_64 if machine == "x86_64" else entry.aarch64
