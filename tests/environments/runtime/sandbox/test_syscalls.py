"""The filter allows exactly what it says: by simulation for both machines, and by a sweep inside a locked process."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from environments.runtime.sandbox import bpf, syscalls

ROOT = Path(__file__).parents[4]
BY_ARGUMENT = {
    "steady": {"mmap", "mprotect", "futex"},
    "zygote": {"mmap", "mprotect", "futex", "clone", "prctl", "kill"},
}

# uretprobe and uprobe pass every filter from Linux 6.14 on (kernel/seccomp.c, seccomp_uprobe_exception).
UPROBE_EXCEPTIONS = {"x86_64": (335, 336)}


def run_filter(program: list[bpf.Instruction], number: int, architecture: int, arguments: tuple[int, ...] = ()) -> int:
    """Interprets a filter as the kernel does."""
    data = number.to_bytes(4, "little") + architecture.to_bytes(4, "little") + bytes(8)
    data += b"".join(value.to_bytes(8, "little") for value in (*arguments, 0, 0, 0, 0, 0, 0)[:6])
    accumulator = position = 0
    while True:
        code, if_true, if_false, value = program[position]
        position += 1
        if code == bpf.LOAD:
            accumulator = int.from_bytes(data[value : value + 4], "little")
        elif code == bpf.AND:
            accumulator &= value
        elif code == bpf.RETURN:
            return value
        else:
            holds = {
                bpf.JUMP_EQUAL: accumulator == value,
                bpf.JUMP_GREATER: accumulator >= value,
                bpf.JUMP_SET: bool(accumulator & value),
            }[code]
            position += if_true if holds else if_false


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("profile", ["steady", "zygote"])
def test_filter_allows_exactly_the_listed_calls(machine: str, profile: bpf.Profile) -> None:
    program = bpf.build_filter(profile, machine)
    architecture = syscalls.AUDIT_ARCH[machine]
    listed = {*syscalls.STEADY, *(syscalls.ZYGOTE if profile == "zygote" else ())} - BY_ARGUMENT[profile]
    allowed = {syscalls.number(name, machine) for name in listed} - {None}
    killed = {syscalls.number(name, machine) for name in syscalls.KILL}
    for number in range(1200):
        if number in {syscalls.number(name, machine) for name in BY_ARGUMENT[profile]}:
            continue
        verdict = run_filter(program, number, architecture)
        if number in allowed:
            assert verdict == bpf.ALLOW, number
        elif number in killed:
            assert verdict == bpf.KILL_PROCESS, number
        else:
            expected = errno.ENOSYS if number == syscalls.number("clone3", machine) else errno.EPERM
            assert verdict == bpf.ERRNO | expected, number


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filter_looks_at_arguments(machine: str) -> None:
    architecture = syscalls.AUDIT_ARCH[machine]

    def verdict(profile: bpf.Profile, name: str, *arguments: int) -> int:
        return run_filter(
            bpf.build_filter(profile, machine), syscalls.number(name, machine) or -1, architecture, arguments
        )

    for name in ("mmap", "mprotect"):
        assert verdict("steady", name, 0, 4096, 3) == bpf.ALLOW
        assert verdict("steady", name, 0, 4096, 4) == bpf.ERRNO | errno.EACCES
        assert verdict("zygote", name, 0, 4096, 7) == bpf.ERRNO | errno.EACCES
    assert verdict("steady", "futex", 0, 1) == bpf.ALLOW
    assert verdict("steady", "futex", 0, 1 | 128) == bpf.ALLOW
    assert verdict("steady", "futex", 0, 0) == bpf.ERRNO | errno.EPERM
    assert verdict("steady", "futex", 0, 9 | 128) == bpf.ERRNO | errno.EPERM
    assert verdict("zygote", "clone", 0x01200011) == bpf.ALLOW  # what glibc's fork asks for
    for flag in (0x00000100, 0x00010000, 0x10000000, 0x40000000, 0x00020000, 0x80):
        assert verdict("zygote", "clone", 0x01200011 | flag) == bpf.ERRNO | errno.EPERM
    assert verdict("steady", "clone", 0x01200011) == bpf.ERRNO | errno.EPERM
    assert verdict("zygote", "prctl", 1, 9) == bpf.ALLOW
    assert verdict("zygote", "prctl", 4, 1) == bpf.ERRNO | errno.EPERM
    assert verdict("zygote", "kill", 1, 9) == bpf.ALLOW
    assert verdict("zygote", "kill", 1, 15) == bpf.ERRNO | errno.EPERM


def test_filter_kills_when_the_architecture_is_another() -> None:
    program = bpf.build_filter("steady", "x86_64")
    assert run_filter(program, 0, 0x40000003) == bpf.KILL_PROCESS  # i386, as int 0x80 makes
    assert run_filter(program, bpf.X32_BIT, syscalls.AUDIT_ARCH["x86_64"]) == bpf.KILL_PROCESS


def test_unknown_machine_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="riscv64"):
        bpf.build_filter("steady", "riscv64")


SWEEP = """
import ctypes, errno, os, sys
sys.path.insert(0, {root!r})
from environments.runtime.sandbox import lockdown, syscalls
from environments.runtime.sandbox.limits import Limits
compiled = lockdown.compile_filter("steady")
lockdown.raw_prctl(lockdown.PR_SET_NO_NEW_PRIVS, 1)
answers = []
for number in range(601):
    child = os.fork()
    if child == 0:
        lockdown.install_filter(compiled)
        lockdown._libc.syscall(number, -1, -1, -1, -1, -1, -1)
        os._exit(100 + min(ctypes.get_errno(), 100))
    _, status = os.waitpid(child, 0)
    answers.append(str(os.WTERMSIG(status) + 1000 if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)))
print(" ".join(answers))
"""


def test_sweep_of_all_numbers_from_inside_agrees() -> None:
    """Calls 0 to 600 with senseless arguments, each in a forked child that locked itself with the real filter."""
    machine = os.uname().machine
    script = SWEEP.format(root=str(ROOT))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    allowed = {syscalls.number(name, machine) for name in (*syscalls.STEADY, *BY_ARGUMENT["steady"])}
    killed = {syscalls.number(name, machine) for name in syscalls.KILL}
    for number, answer in enumerate(map(int, done.stdout.split())):
        if number in killed:
            assert answer == 1031, number  # SIGSYS
        elif number == syscalls.number("clone3", machine):
            assert answer == 100 + errno.ENOSYS, number
        elif number in UPROBE_EXCEPTIONS.get(machine, ()):
            # SIGILL or ENXIO: only the kernel's own trampoline may make them.
            assert answer in (100 + errno.EPERM, 100 + errno.ENXIO, 1004), number
        elif number not in allowed:
            assert answer == 100 + errno.EPERM, number


@pytest.mark.skipif(not Path("/usr/bin/strace").exists(), reason="strace is not installed")
def test_steady_work_makes_listed_calls_only(tmp_path: Path) -> None:
    """A traced worker: between its hello and its end it makes no call that the filter would refuse."""
    trace = tmp_path / "trace"
    script = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from environments.runtime.pack import encode_pack
from environments.runtime.sandbox import frames
from environments.runtime.sandbox.host import Worker
from tests.environments.runtime.sandbox.attacks.little import make_pack
for mode in ("warm", "fork"):
    with Worker(mode) as worker:
        worker.load(encode_pack(make_pack()), is_gated=False)
        calls = [frames.Call(1, "add_seed", {{"name": "a" * 50000, "grams": 1}}), frames.Call(1, "mix", {{}}),
                 frames.Call(1, "list_seeds", {{}})] * 30
        if mode == "fork":
            worker.transact(frames.Start("shelf"), calls, wants=["state", "diff", "snapshot"])
        else:
            worker.open({{n: frames.Start("shelf", n) for n in range(50)}})
            worker.calls(calls)
            worker.states([1]), worker.diffs([1]), worker.snapshots([1])
            worker.open({{1: frames.Start("shelf", 9)}})
"""
    command = ["/usr/bin/strace", "-f", "-o", str(trace), "-e", "trace=all", sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if "ptrace" in done.stderr:
        pytest.skip("ptrace is not to be had here")
    assert done.returncode == 0, done.stderr[-2000:]
    locked: set[str] = set()
    refused: list[str] = []
    for line in trace.read_text(errors="replace").splitlines():
        process, _, call = line.partition(" ")
        call = call.strip()
        if call.startswith("execve(") and "/bin/true" in call:
            locked.add(process)  # the self-test's last probe
        elif process in locked and "EPERM" in call:
            refused.append(call)
    assert len(locked) == 2
    assert not refused
