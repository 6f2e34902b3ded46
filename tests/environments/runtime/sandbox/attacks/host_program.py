"""The host program of the attack suite: one process for each user, told by lines of JSON which cell to run.

`serve` runs cells; `victim`, `removed` and `place` are hosts for groups 45, 47 and 48.
"""

# ruff: noqa: E402, T201, BLE001 - the path comes first; it talks by printing; it reports whatever went wrong

import ctypes
import errno
import io
import json
import logging
import os
import resource
import sys
import tempfile
import traceback
from typing import Any

sys.path[:0] = [path for path in os.environ.get("ATTACK_PATH", "").split(os.pathsep) if path]

from environments.runtime.sandbox import bpf, frames, lockdown, syscalls
from environments.runtime.sandbox.attestation import read_status
from environments.runtime.sandbox.errors import SandboxError
from environments.runtime.sandbox.host import Mode, Worker
from environments.runtime.sandbox.limits import Limits
from environments.runtime.sandbox.policy import Policy
from tests.environments.runtime.sandbox.attacks.arena import LIMITS, START, Arena, World
from tests.environments.runtime.sandbox.attacks.catalogue import ATTACKS
from tests.environments.runtime.sandbox.attacks.little import (
    ATTACK_ARGUMENTS,
    attack_tool,
    make_attack_pack,
)
from tests.environments.runtime.sandbox.attacks.special import EXTRA, SPECIAL, deep_arguments

ALL = (*ATTACKS, *EXTRA)
TOOLS = {(attack.group, attack.name): attack_tool(number) for number, attack in enumerate(ALL)}
MOST_BYTES = 2 << 30
MEMORY_CANARY = os.environ.get("DJANGO_SECRET_KEY", "") + "-in-memory"


def run_cell(group: int, arena: Arena) -> None:
    """One group in one mode; raises what is wrong."""
    if group in SPECIAL:
        SPECIAL[group](arena, TOOLS)
        arena.check_world()
        arena.check_next_session()
        return
    for number, attack in enumerate(ATTACKS):
        if attack.group == group:
            run_attack(arena, attack, attack_tool(number))
    if group == 24:
        deep_arguments(arena)
        arena.check_next_session()


def run_attack(arena: Arena, attack: Any, tool: str) -> None:
    expected = attack.expected(arena.mode)
    outcome = arena.outcome(tool)
    if outcome in ("timeout", "ToolTimeout") and outcome not in expected:
        arena.close()  # a busy machine: once more
        outcome = arena.outcome(tool)
    assert outcome in expected, f"{attack.name}: {outcome}, expected {sorted(expected)}; {arena.seen[-1:]}"
    if attack.group == 25 and arena.mode == "warm":
        assert read_status(arena.worker.process_id)["Threads"] == "1"
    arena.check_world()
    if attack.is_poison:
        arena.close()
    arena.check_next_session()


def serve() -> None:
    world = World()
    pack = make_attack_pack(ALL)
    arenas = {mode: Arena(mode, pack, world) for mode in ("warm", "fork")}
    for line in sys.stdin:
        request = json.loads(line)
        arena = arenas[request["mode"]]
        arena.notes = []
        try:
            run_cell(request["group"], arena)
            answer = {"result": "passed", "notes": arena.notes}
        except BaseException:
            arena.close()
            answer = {"result": "failed", "reason": traceback.format_exc()[-3000:]}
        print(json.dumps(answer), flush=True)
    for arena in arenas.values():
        arena.close()


def victim(mode: Mode, tool: str) -> None:
    """A host that is going to be killed while its worker idles or runs a tool."""
    limits = Limits(
        memory_bytes=LIMITS.memory_bytes, cpu_seconds=2, soft_seconds=LIMITS.soft_seconds, frame_grace_seconds=0.3
    )
    worker = Worker(mode, limits)
    worker.load(make_attack_pack(ALL), is_gated=False)
    print(worker.process_id, flush=True)
    values = dict.fromkeys(ATTACK_ARGUMENTS, 0)
    if not tool:
        sys.stdin.read()
    elif mode == "fork":
        worker.transact(START, [frames.Call(0, tool, values)], seconds=60)
    else:
        worker.open({1: START})
        worker.calls([frames.Call(1, tool, values)], seconds=60)
    os._exit(0)


HARMLESS = ((1, "open /etc/passwd with the real open"), (9, "TCP to a listener"))
REMOVED = {
    "seccomp": ("seccomp", errno.ENOSYS),
    "no_new_privs": ("prctl", errno.EPERM),
    "rlimits": ("prlimit64", errno.EPERM),
    "landlock": ("landlock_create_ruleset", errno.ENOSYS),
    "uid": (None, errno.EPERM),
}


def remove(layer: str) -> None:
    """Makes the kernel refuse one layer to this process and its children, as a container's profile would."""
    name, code = REMOVED[layer]
    number = syscalls.number(name, lockdown.MACHINE) if name else {"x86_64": 117, "aarch64": 147}[lockdown.MACHINE]
    program = [
        bpf.Instruction(bpf.LOAD, 0, 0, bpf.NUMBER),
        bpf.Instruction(bpf.JUMP_EQUAL, 0, 1, number or 0),
        bpf.Instruction(bpf.RETURN, 0, 0, bpf.ERRNO | code),
        bpf.Instruction(bpf.RETURN, 0, 0, bpf.ALLOW),
    ]
    array = (lockdown._SockFilter * len(program))(*(lockdown._SockFilter(*each) for each in program))
    lockdown.raw_prctl(lockdown.PR_SET_NO_NEW_PRIVS, 1)
    lockdown.install_filter(lockdown._SockFprog(len(program), array))


def removed(layer: str, mode: Mode, how: str) -> dict[str, Any]:
    policy = {
        "strict": Policy(),
        "require_landlock": Policy(require_landlock=True),
        "unsafe": Policy.from_environment({"SANDBOX_ALLOW_UNSAFE": "1"}, is_production=False),
        "unsafe_in_production": Policy.from_environment({"SANDBOX_ALLOW_UNSAFE": "1"}, is_production=True),
    }[how]
    remove(layer)
    return tell(mode, policy)


def tell(mode: Mode, policy: Policy | None = None) -> dict[str, Any]:
    """Starts a worker and tells what came of it."""
    log = io.StringIO()
    logging.basicConfig(stream=log, level=logging.INFO, force=True)
    try:
        with Worker(mode, LIMITS, policy) as worker:
            worker.load(make_attack_pack(ALL), is_gated=False)
            if mode == "fork":
                (outcome,) = worker.transact(START, [frames.Call(0, "list_seeds", {})]).outcomes
            else:
                worker.open({1: START})
                (outcome,) = worker.calls([frames.Call(1, "list_seeds", {})])
            return {
                "layers": worker.hello.layers,
                "capabilities": int(read_status(worker.process_id)["CapEff"], 16),
                "answer": outcome.observation if isinstance(outcome, frames.Recorded) else str(outcome),
                "log": log.getvalue(),
            }
    except SandboxError as error:
        return {"error": type(error).__name__, "message": str(error), "log": log.getvalue()}


def teeth(mode: Mode) -> dict[str, str]:
    """What harmless attacks reach in a worker that has neither seccomp nor Landlock: the suite must see it."""
    remove("landlock")
    remove("seccomp")
    world = World()
    reached = {}
    policy = Policy(allow_unsafe=True, is_production=False)
    with Worker(mode, LIMITS, policy) as worker:
        worker.load(make_attack_pack(ALL), is_gated=False)
        for group, name in HARMLESS:
            call = frames.Call(1, TOOLS[group, name], world.arguments)
            if mode == "fork":
                (outcome,) = worker.transact(START, [call]).outcomes
            else:
                worker.open({1: START})
                (outcome,) = worker.calls([call])
            reached[name] = outcome.observation if isinstance(outcome, frames.Recorded) else outcome.kind
    return reached


def place(name: str, mode: Mode) -> dict[str, Any]:
    """A host in an odd place."""
    libc = ctypes.CDLL(None, use_errno=True)
    private, bind, remount, read_only, no_exec, recursive = 1 << 18, 4096, 32, 1, 8, 16384
    if name == "no_interpreter":
        sys.executable = "/root/nowhere/python"
    elif name == "no_passwd_entry":
        for variable in ("HOME", "USER", "LOGNAME", "PATH"):  # the worker's own uid never has an entry
            os.environ.pop(variable, None)
    else:
        if libc.unshare(0x00020000) or libc.mount(b"none", b"/", None, private | recursive, None):
            return {"namespace": "none to be had"}
        if name == "read_only_root":
            failed = libc.mount(b"none", b"/", None, remount | bind | read_only, None)
        elif name == "noexec_tmp":
            failed = libc.mount(b"none", os.fsencode(_temporary_place()), b"tmpfs", no_exec, None)
        else:
            failed = libc.umount2(b"/proc", 2)
        if failed:
            return {"namespace": os.strerror(ctypes.get_errno())}
    return tell(mode)


def _temporary_place() -> str:
    """/tmp, or, where that holds this very checkout or its interpreter, a new TMPDIR."""
    if not any(path.startswith("/tmp/") for path in (__file__, sys.prefix, sys.base_prefix)):
        return "/tmp"
    os.environ["TMPDIR"] = tempfile.mkdtemp()
    return os.environ["TMPDIR"]


def main() -> None:
    word, *rest = sys.argv[1:]
    mode: Mode = "fork" if "fork" in rest else "warm"
    if word == "serve":
        serve()
    elif word == "victim":
        victim(mode, rest[1])
    elif word == "removed":
        print(json.dumps(removed(rest[0], mode, rest[2])))
    elif word == "teeth":
        print(json.dumps(teeth(mode)))
    else:
        print(json.dumps(place(rest[0], mode)))


if __name__ == "__main__":
    # Whatever goes wrong, with or without a layer, this host and all its children stay small.
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    main()
