"""The layers of the lock: what each stops, whether it is required, and the remedy where it is missing."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class LayerRule:
    """What a layer is for.

    Attributes:
        is_required: Whether nothing runs without it.
        purpose: What it stops.
        remedy: What a person does where it is missing.
    """

    is_required: bool
    purpose: str
    remedy: str


RULES: Final[dict[str, LayerRule]] = {
    "process": LayerRule(
        True,
        "tool code is in another process, with a clean environment and no inherited descriptor",
        "The interpreter must be executable by this user, with environments/runtime, apsw, msgspec, orjson and "
        "jsonschema_rs readable; /proc must be mounted. Only Linux on x86_64 and aarch64 has this lock.",
    ),
    "rlimits": LayerRule(
        True,
        "memory, CPU time, files, processes and descriptors are bounded",
        "Allow setrlimit and prlimit64 in the container's seccomp profile.",
    ),
    "no_new_privs": LayerRule(
        True,
        "no program that it runs could gain privileges",
        "A kernel of 3.5 or newer; allow prctl in the container's seccomp profile.",
    ),
    "seccomp": LayerRule(
        True,
        "only the system calls that steady work needs are possible",
        "A kernel with CONFIG_SECCOMP_FILTER; allow the seccomp system call in the container's profile (Docker's and "
        "containerd's default profiles do). gVisor, WSL1, macOS and Windows have no such filter.",
    ),
    "self_test": LayerRule(
        True,
        "the locked worker tries what must be refused and finds it refused",
        "The named probe was not refused: do not run anything here; report it with the kernel's version.",
    ),
    "uid": LayerRule(
        False,
        "the worker is nobody: it owns no file, and no other process that it could signal",
        "Run as an ordinary user, or give the container CAP_SETUID, CAP_SETGID and CAP_KILL.",
    ),
    "landlock": LayerRule(
        False,
        "files, TCP, abstract sockets and signals are refused a second time, whatever seccomp lets pass",
        "A kernel of 5.13 or newer with landlock among its LSMs (lsm=landlock,...); allow the landlock system calls in "
        "the container's profile (moby, containerd and podman do since 2022). SANDBOX_REQUIRE_LANDLOCK=1 makes it "
        "required.",
    ),
}
