"""The groups of the attack suite that need more than one call to tell."""

import contextlib
import json
import os
import random  # noqa: TID251 - a seeded instance; numpy is not here
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from environments.runtime.sandbox import frames
from environments.runtime.sandbox.differential import find_differences
from environments.runtime.sandbox.errors import RequestError, SandboxError
from environments.runtime.sandbox.pool import PoolSettings, WorkerPool
from environments.runtime.schema import ArgumentValidator
from tests.environments.runtime.sandbox.attacks.arena import LIMITS, START, Arena, processes_of_group
from tests.environments.runtime.sandbox.attacks.little import HONEST_TOOLS, LIST_ANSWER
from tests.environments.runtime.sandbox.attacks.model import BIG, SLOW, Attack

HOST_PROGRAM = Path(__file__).with_name("host_program.py")

# Tools that the functions below call; in the pack beside the catalogue's.
EXTRA: tuple[Attack, ...] = (
    Attack(
        28,
        "other episodes",
        """
frame, found = sys._getframe(), "none"
while frame is not None:
    for thing in list(frame.f_locals.values()):
        for episode in list(getattr(thing, "episodes", {}).values()):
            if any(row["name"] == "of another session" for row in episode.state()["seeds"]):
                found = "found"
    frame = frame.f_back
return found
""",
        frozenset(),
    ),
    *(
        Attack(29, name, body, frozenset())
        for name, body in (
            ("module global", "g = _here.__globals__\ng['n'] = g.get('n', 0) + 1\nreturn g['n']"),
            ("function attribute", "_here.n = getattr(_here, 'n', 0) + 1\nreturn _here.n"),
            ("class attribute", "k = IMP('fractions').Fraction\nk.n = getattr(k, 'n', 0) + 1\nreturn k.n"),
            ("default argument", "_count_default()\nreturn len(_count_default())"),
            (
                "cache",
                "m = IMP('re')\nn = len(m._cache)\nm.compile('leak' + str(n))\nreturn len(m._cache) - n + (n > 0) * 0",
            ),
            ("decimal context", "c = decimal.getcontext()\np = c.prec\nc.prec = 5\nreturn p"),
            ("closure", "return _closure()"),
            ("module attribute", "m = IMP('json')\nm.n = getattr(m, 'n', 0) + 1\nreturn m.n"),
            ("attribute of a library function", "f = IMP('json').dumps\nf.n = getattr(f, 'n', 0) + 1\nreturn f.n"),
        )
    ),
    Attack(
        39,
        "fill the database",
        "for i in range(10**6):\n"
        "    ctx.db.run('INSERT INTO seeds (id, name, grams) VALUES (:i, :n, 0)', i=1000 + i, n='z' * 1000000)",
        frozenset(),
    ),
    Attack(
        43,
        "order and hashes",
        "words = {'rye', 'oats', 'barley', 'spelt', 'emmer', 'einkorn'}\n"
        "return str([list(words), hash('rye'), time.tzname])",
        frozenset(),
    ),
    Attack(45, "spin", "return sum(range(10**12))", frozenset()),
    Attack(
        45,
        "spin, every timer and signal disarmed",
        "for t in (0, 1, 2):\n    signal.setitimer(t, 0)\n"
        "for s in (signal.SIGALRM, signal.SIGPROF, signal.SIGXCPU, signal.SIGVTALRM):\n"
        "    signal.signal(s, signal.SIG_IGN)\n"
        "while True:\n    pass",
        frozenset(),
    ),
)


Tools = dict[tuple[int, str], str]
"""Tool name by group and attack name."""


def other_sessions(arena: Arena, tools: Tools) -> None:
    """28. Warm shares a process between sessions of one pack, which is documented; fork shares nothing."""
    marker = ("add_seed", {"name": "of another session", "grams": 1})
    if arena.mode == "warm":
        number, arena.next_episode = arena.next_episode, arena.next_episode + 1
        arena.worker.open({number: START})
        arena.worker.calls([frames.Call(number, *marker)])
    else:
        arena.run([marker])
    found = arena.outcome(tools[28, "other episodes"])
    assert found == "none" if arena.mode == "fork" else found in ("none", "found"), found
    arena.close()


def leaks(arena: Arena, tools: Tools) -> None:
    """29. What one episode leaves for the next: nothing in fork mode; in warm mode differential replay finds it."""
    names = {name: tool for (group, name), tool in tools.items() if group == 29}
    arena.close()
    seen = {name: (arena.outcome(tool), arena.outcome(tool)) for name, tool in names.items()}
    if arena.mode == "fork":
        for name, (first, second) in seen.items():
            assert first == second, f"{name}: {first}, then {second}"
    else:
        with WorkerPool(PoolSettings(limits=LIMITS, num_spares=0, is_gated=False)) as pool:
            for name, tool in names.items():
                calls = [(tool, arena.world.arguments)]
                found = find_differences(pool, arena.pack, "shelf", 7, calls, repeats=1)
                first, second = seen[name]
                assert bool(found) == (first != second), f"{name}: {first}, then {second}, but {found}"
    arena.close()


def full_database(arena: Arena, tools: Tools) -> None:
    """39. A state that is full loses nothing that was there before the call."""
    calls = [(tools[39, "fill the database"], arena.world.arguments), ("list_seeds", {})]
    try:
        first, second = arena.run(calls)
    except SandboxError as error:
        if type(error).__name__ not in SLOW | BIG:
            raise
        return
    if isinstance(first, frames.Broken):
        assert first.kind in ("lost", "memory", "timeout"), first
        return  # the pool replays: test_pool shows it
    assert first.status == "failure", first
    assert isinstance(second, frames.Recorded), second
    assert second.observation == LIST_ANSWER


def determinism(arena: Arena, tools: Tools) -> None:
    """43. Clock, chance, ids, set order and hashes: two processes answer with the same bytes.

    The gate refuses the last two; they are the same even where it was bypassed.
    """
    answers = []
    calls: list[tuple[str, dict[str, Any]]] = [("mix", {}), ("mix", {}), ("add_seed", {"name": "rye", "grams": 1})]
    calls.append((tools[43, "order and hashes"], arena.world.arguments))
    for mode in ("warm", arena.mode, "fork"):
        other = Arena(mode, arena.pack, arena.world)
        try:
            outcomes = other.run(calls)
        finally:
            other.close()
        assert all(isinstance(outcome, frames.Recorded) and outcome.status == "success" for outcome in outcomes)
        answers.append([outcome.observation for outcome in outcomes if isinstance(outcome, frames.Recorded)])
    assert answers[0] == answers[1] == answers[2], answers


def crafted_states(arena: Arena, tools: Tools) -> None:
    """44. Snapshots that were tampered with may cost the worker that reads them, never the host."""
    if arena.mode == "warm":
        arena.worker.open({900: START})
        good = arena.worker.snapshots([900])[0]
    else:
        good = arena.worker.transact(START, [], wants=["snapshot"]).snapshot or b""
    chance = random.Random(5)
    bad = [b"", b"\xff" * 100, b"[" * 100000, b"SQLite format 3\0" + bytes(4096), good[:-2]]
    for _ in range(15):
        flipped = bytearray(good)
        for _ in range(chance.randint(1, 8)):
            flipped[chance.randrange(len(flipped))] = chance.randrange(256)
        bad.append(bytes(flipped))
    for snapshot in bad:
        with contextlib.suppress(SandboxError):
            arena.run([("list_seeds", {})], frames.Start("shelf", 7, snapshot))


def orphans(arena: Arena, tools: Tools) -> None:
    """45. A host killed by SIGKILL leaves nothing: idle gone in 1 s, spinning in 5 s, hostile with its CPU limit."""
    cases = {"idle": ("", 1.0), "spin": (tools[45, "spin"], 5.0)}
    hostile = tools[45, "spin, every timer and signal disarmed"]
    cases["hostile"] = (hostile, 10.0)
    for name, (tool, seconds) in cases.items():
        command = [sys.executable, "-s", str(HOST_PROGRAM), "victim", arena.mode, tool]
        # Its own group, so that nothing but its end can end the worker.
        victim = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        try:
            assert victim.stdout is not None
            leader = int(victim.stdout.readline())
            if tool:
                wait_until_spinning(leader, arena.mode)
        finally:
            victim.kill()
            victim.wait()
            if victim.stdout is not None:
                victim.stdout.close()
        killed_at = time.monotonic()
        while left := processes_of_group(leader):
            if time.monotonic() > killed_at + seconds:
                for process in left:
                    os.kill(process, signal.SIGKILL)
                raise AssertionError(f"{name}: {left} outlived its host by {seconds} s")
            time.sleep(0.02)


def wait_until_spinning(leader: int, mode: str) -> None:
    """Until the call is running: a second process in fork mode, CPU time in warm mode."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if mode == "fork" and len(processes_of_group(leader)) == 2:
            return
        if mode == "warm":
            state = Path(f"/proc/{leader}/stat").read_text().rpartition(")")[2].split()[0]
            time.sleep(0.1)
            if state == "R":
                return
        time.sleep(0.02)
    raise AssertionError("the call never started")


def arguments(arena: Arena, tools: Tools) -> None:
    """46. What a policy may send: held to the schema before the worker, and harmless if it were not."""
    validator = ArgumentValidator(HONEST_TOOLS[1])
    wrong: list[Any] = [{}, {"name": 1}, {"name": None}, {"name": "x" * 101}, {"name": "x", "more": 1}, {"name": ["x"]}]
    wrong += [{"name": "y" * (10 << 20)}, [], "name", {"name": {"$ref": "#"}}, {"name": float("nan")}]
    for value in wrong:
        assert validator.errors(value), str(value)[:80]
    texts = ["../../etc/passwd", "'; DROP TABLE seeds; --", "{0.__class__}", "%s%n", "\0", "seed 1' OR '1'='1"]
    for text in texts:
        assert not validator.errors({"name": text})
        (outcome,) = arena.run([("find_seed", {"name": text})])
        assert isinstance(outcome, frames.Recorded)
        assert outcome.observation == '{"seeds":[]}', outcome
    for tool in ("no_such_tool", "_here", "_body_0", "__builtins__", "os.system", ""):
        (outcome,) = arena.run([(tool, {})])
        assert isinstance(outcome, frames.Recorded)
        assert outcome.status == "invalid", outcome
    for value in (2**70, "\ud800", b"x", object(), nested(100_000)):
        try:
            outcomes = arena.run([("find_seed", {"name": value})])
        except RequestError as error:
            check_unsendable(error)
        else:
            assert all(isinstance(outcome, frames.Recorded) for outcome in outcomes)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def deep_arguments(arena: Arena) -> None:
    """24, the part that comes from outside: an argument nested deeper than any stack."""
    try:
        arena.run([("find_seed", {"name": nested(100_000)})])
    except RequestError as error:
        check_unsendable(error)
    else:
        raise AssertionError("it was sent")


def check_unsendable(error: RequestError) -> None:
    assert error.kind == "unsendable", error


def run_host(*words: str) -> dict[str, Any]:
    command = [sys.executable, "-s", str(HOST_PROGRAM), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout, done.stderr[-1000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def removed_layers(arena: Arena, tools: Tools) -> None:
    """47. Each layer refused by the kernel, one at a time: as the policy table says."""
    mode = arena.mode
    for layer in ("seccomp", "no_new_privs", "rlimits"):
        told = run_host("removed", layer, mode, "strict")
        assert told["error"] == "SandboxUnavailableError", (layer, told)
        assert f"Missing layer: {layer}" in told["message"], told
        assert len(told["message"]) > 80, "no remedy"
    told = run_host("removed", "landlock", mode, "strict")
    assert told["layers"]["landlock"] == "missing: ENOSYS", told
    assert "landlock" in told["log"], "no warning"
    told = run_host("removed", "landlock", mode, "require_landlock")
    assert "Missing layer: landlock" in told["message"], told
    told = run_host("removed", "seccomp", mode, "unsafe")
    assert told["layers"]["seccomp"].startswith("missing"), told
    assert "UNSAFE" in told["log"], told
    told = run_host("removed", "seccomp", mode, "unsafe_in_production")
    assert told["error"] == "SandboxUnavailableError", told
    if os.geteuid() == 0:
        told = run_host("removed", "uid", mode, "strict")
        assert told["layers"]["uid"].startswith("stays root without capabilities"), told
        assert told["capabilities"] == 0, told


def odd_places(arena: Arena, tools: Tools) -> None:
    """48. Odd installations start, or say clearly why not."""
    mode = arena.mode
    told = run_host("place", "no_interpreter", mode)
    assert "Missing layer: process" in told["message"], told
    told = run_host("place", "no_passwd_entry", mode)
    assert told["answer"] == LIST_ANSWER, told
    if os.geteuid() == 0:
        for place in ("read_only_root", "noexec_tmp"):
            told = run_host("place", place, mode)
            if "namespace" in told:  # none to be had, as in a container
                arena.notes.append(f"{place} was not tried, as there is no mount namespace: {told['namespace']}")
                continue
            assert told["answer"] == LIST_ANSWER, told
        told = run_host("place", "no_proc", mode)
        if "namespace" in told:
            arena.notes.append(f"no_proc was not tried, as there is no mount namespace: {told['namespace']}")
        else:
            assert "/proc" in told["message"], told
    else:
        arena.notes.append("read_only_root, noexec_tmp and no_proc were not tried: mounting is root's alone")


SPECIAL: dict[int, Callable[[Arena, Tools], None]] = {
    28: other_sessions,
    29: leaks,
    39: full_database,
    43: determinism,
    44: crafted_states,
    45: orphans,
    46: arguments,
    47: removed_layers,
    48: odd_places,
}
