"""The seccomp filter as a classic BPF program, built in Python: no compiler, no libseccomp.

Reference: linux/Documentation/userspace-api/seccomp_filter.rst; include/uapi/linux/{seccomp,filter,bpf_common}.h.
"""

import errno
from typing import Final, Literal, NamedTuple

from environments.runtime.sandbox import syscalls

Profile = Literal["steady", "zygote"]
"""`steady`: runs tool code. `zygote`: runs none, may fork, and its child adds `steady` first."""


class Instruction(NamedTuple):
    """One struct sock_filter."""

    code: int
    if_true: int
    if_false: int
    value: int


# Opcodes: load a word at an absolute offset, the three jumps, and-with-constant, return a constant.
LOAD, JUMP_EQUAL, JUMP_GREATER, JUMP_SET, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
# Offsets in struct seccomp_data; both machines are little-endian, so an argument's low word comes first. The high
# word need not be looked at: the kernel reads these arguments as 32-bit values, or their bits above are not flags.
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
KILL_PROCESS: Final = 0x80000000
ALLOW: Final = 0x7FFF0000
ERRNO: Final = 0x00050000

PROT_EXEC = 4
FUTEX_WAKE, FUTEX_COMMAND = 1, 0x7F
PR_SET_PDEATHSIG = 1
SIGKILL = 9
X32_BIT = 0x40000000
# All CLONE_NEW* (and CLONE_NEWTIME), then CLONE_VM and CLONE_THREAD: fork() sets none of them.
CLONE_FORBIDDEN = 0x7E020080 | 0x00000100 | 0x00010000


def _argument(index: int) -> Instruction:
    return Instruction(LOAD, 0, 0, FIRST_ARGUMENT + 8 * index)


def _return(value: int) -> Instruction:
    return Instruction(RETURN, 0, 0, value)


def _for_number(number: int | None, body: list[Instruction]) -> list[Instruction]:
    """Runs the body, which must return, for one system call; nothing where the machine has no such call."""
    if number is None:
        return []
    return [Instruction(JUMP_EQUAL, 0, len(body), number), *body]


def _unless_set(argument: int, bits: int, refusal: int) -> list[Instruction]:
    """Refuses if any of the bits is set in the argument, else allows."""
    return [_argument(argument), Instruction(JUMP_SET, 0, 1, bits), _return(ERRNO | refusal), _return(ALLOW)]


def _only_equal(argument: int, value: int) -> list[Instruction]:
    """Allows only that value of the argument."""
    return [_argument(argument), Instruction(JUMP_EQUAL, 1, 0, value), _return(ERRNO | errno.EPERM), _return(ALLOW)]


def build_filter(profile: Profile, machine: str) -> list[Instruction]:
    """The program for one profile on one machine.

    Args:
        profile: What the process will do.
        machine: `x86_64` or `aarch64`, as os.uname says.

    Raises:
        ValueError: No table for that machine.
    """
    architecture = syscalls.AUDIT_ARCH.get(machine)
    if architecture is None:
        raise ValueError(f"no system call table for {machine}; there is one for {', '.join(syscalls.AUDIT_ARCH)}")
    program = [
        Instruction(LOAD, 0, 0, ARCHITECTURE),
        Instruction(JUMP_EQUAL, 1, 0, architecture),
        _return(KILL_PROCESS),
        Instruction(LOAD, 0, 0, NUMBER),
    ]
    if machine == "x86_64":
        # The x32 ABI reaches the same calls under other numbers.
        program += [Instruction(JUMP_GREATER, 0, 1, X32_BIT), _return(KILL_PROCESS)]

    def add(name: str, body: list[Instruction]) -> None:
        program.extend(_for_number(syscalls.number(name, machine), body))

    special = ("prctl", "kill")
    for name in syscalls.STEADY:
        add(name, [_return(ALLOW)])
    for name in ("mmap", "mprotect"):
        add(name, _unless_set(2, PROT_EXEC, errno.EACCES))
    # Waking is what an uncontended lock may do; waiting could outlive the host without spending CPU time.
    add(
        "futex",
        [
            _argument(1),
            Instruction(AND, 0, 0, FUTEX_COMMAND),
            Instruction(JUMP_EQUAL, 1, 0, FUTEX_WAKE),
            _return(ERRNO | errno.EPERM),
            _return(ALLOW),
        ],
    )
    if profile == "zygote":
        for name in syscalls.ZYGOTE:
            if name not in special:
                add(name, [_return(ALLOW)])
        add("prctl", _only_equal(0, PR_SET_PDEATHSIG))
        add("kill", _only_equal(1, SIGKILL))
        add("clone", _unless_set(0, CLONE_FORBIDDEN, errno.EPERM))
    # Its flags are in memory, where a filter can't look; glibc falls back to clone.
    add("clone3", [_return(ERRNO | errno.ENOSYS)])
    for name in syscalls.KILL:
        add(name, [_return(KILL_PROCESS)])
    program.append(_return(ERRNO | errno.EPERM))
    return program
