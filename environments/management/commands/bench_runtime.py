"""`manage.py bench_runtime`: what a call, a reset, a session and a verdict cost in the locked workers.

Worker and host times are CPU times, since other programs may run beside this; round trips and verdicts are wall times.
The pack is the bench's own: 20 tables of 25 rows, so that nothing else that is slow hides in it.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from environments.management.benchmarks import ROUNDS, BenchCommand, Figure
from environments.runtime.engine import Engine
from environments.runtime.pack.model import Column, Condition, Licence, Pack, Scenario, Table, Tool
from environments.runtime.records import Row
from environments.runtime.sandbox.pool import PoolSettings, WorkerPool
from environments.runtime.session import Environment, Session, Start, call_many

BATCH: Final = 64
NUM_TABLES: Final = 20
ROWS: Final = 500
SIZES: Final = (100, 10_000)
NUM_LIVE: Final = 3_000
VERDICT_CALLS: Final = 20
_SECONDS: Final = 30.0

_SCHEMA = "".join(
    f"CREATE TABLE t{number} (id INTEGER PRIMARY KEY, name TEXT NOT NULL, amount INTEGER NOT NULL CHECK (amount >= 0), "
    f"ratio REAL, note TEXT) STRICT;\nCREATE INDEX t{number}_by_name ON t{number} (name);\n"
    for number in range(NUM_TABLES)
)
_READ = """
def {name}(ctx, *, id):
    return {{"row": ctx.db.one("SELECT id, name, amount, ratio, note FROM t3 WHERE id = :id", id=id)}}
"""
_WRITE = """
def {name}(ctx, *, id, note):
    ctx.db.run("UPDATE t3 SET amount = amount + 1 WHERE id = :id", id=id)
    new = ctx.new_id("t5")
    ctx.db.run(
        "INSERT INTO t5 (id, name, amount, ratio, note) VALUES (:id, :name, 1, 2.5, :note)",
        id=new, name=ctx.now(), note=note,
    )
    return {{"id": new, "at": ctx.now()}}
"""
_TOOLS = "".join(
    source.format(name=name)
    for name, source in (("read", _READ), ("read_checked", _READ), ("write", _WRITE), ("write_checked", _WRITE))
)
_CALLS: dict[str, dict[str, Any]] = {
    "read": {"id": 3},
    "read_checked": {"id": 3},
    "write": {"id": 3, "note": "hello"},
    "write_checked": {"id": 3, "note": "hello"},
}
_TARGETS = {"read": 25.0, "read_checked": 45.0, "write": 60.0, "write_checked": 100.0}
_NAMES = {
    "read": "bare read",
    "read_checked": "read with 2 + 2 conditions",
    "write": "bare write",
    "write_checked": "write with 2 + 2 conditions",
}


@dataclass(slots=True)
class _Measured:
    """Samples by figure, one for each round."""

    samples: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        """One more sample."""
        self.samples.setdefault(name, []).append(value)

    def median(self, name: str) -> float:
        """The median of the rounds."""
        return statistics.median(self.samples[name])


class Command(BenchCommand):
    help = "Measures calls, resets, sessions and verdicts in the locked workers, with their targets."

    def measure(self, *, is_quick: bool, say: Callable[[str], None]) -> list[Figure]:
        num_frames = 20 if is_quick else 100
        num_live = 300 if is_quick else NUM_LIVE
        measured = _Measured()
        with WorkerPool(PoolSettings(num_spares=0, idle_seconds=600)) as pool:
            environments = {rows: Environment(_pack(rows), pool) for rows in (*SIZES, ROWS)}
            for number in range(ROUNDS):
                say(f"Round {number + 1} of {ROUNDS} …")
                for rows, environment in environments.items():
                    _measure_calls(pool, environment, rows, num_frames, measured)
                _measure_plain_function(measured)
                _measure_resets(pool, environments[ROWS], num_frames, measured)
                _measure_round_trips(environments[ROWS], num_frames * 5, measured)
                _measure_verdicts(environments[ROWS], 20 if is_quick else 60, measured)
                _measure_engine(num_frames * 10, measured)
            say(f"Opening {num_live:,} sessions …")
            live_gib = _measure_live(pool, environments[ROWS], num_live)
            idle_seconds = _measure_close(pool)
        flat = max(measured.median(f"{name} {SIZES[1]}") / measured.median(f"{name} {SIZES[0]}") for name in _CALLS)
        figures = [
            Figure(f"Worker CPU, {_NAMES[name]}, batch of {BATCH}", measured.median(f"{name} {ROWS}"), "µs", target)
            for name, target in _TARGETS.items()
        ]
        verdict, fork = measured.median("verdict"), measured.median("bare fork")
        return [
            *figures,
            Figure("Host CPU for each call, validation included", measured.median("host"), "µs", 30.0),
            Figure("Reset with first call, worker CPU without frames", measured.median("engine reset"), "µs", 50.0),
            Figure("Reset with first call, worker CPU, a frame for each reset", measured.median("reset"), "µs"),
            Figure("Round trip of one call", measured.median("round trip"), "µs", 150.0),
            Figure(f"Costliest call at {SIZES[1]:,} rows over {SIZES[0]:,}", flat, "times", 2.0),
            Figure(f"Memory of {num_live:,} live sessions", live_gib, "GiB", None if is_quick else 1.2),
            Figure(f"Verdict of {VERDICT_CALLS} calls in a forked child", verdict, "ms"),
            Figure("Bare fork, exit and wait of a process with the engine", fork, "ms"),
            Figure("Verdict over bare fork", verdict / fork, "times", 3.0),
            Figure("Workers gone after the pool is closed", idle_seconds, "s", 1.0),
            Figure("Engine without a worker, bare read", measured.median("engine read"), "µs"),
            Figure("Plain function over a dict, in this process", measured.median("plain"), "µs"),
        ]


def _pack(num_rows: int) -> Pack:
    columns = {
        "id": Column(generated="id"),
        "name": Column("hard"),
        "amount": Column("hard"),
        "ratio": Column("hard"),
        "note": Column("semantic"),
    }
    rows: dict[str, tuple[Row, ...]] = {
        f"t{table}": tuple(
            {"id": number + 1, "name": f"n{number}", "amount": number, "ratio": 1.5, "note": "x" * 30}
            for number in range(num_rows // NUM_TABLES)
        )
        for table in range(NUM_TABLES)
    }
    return Pack(
        name=f"bench_{num_rows}",
        title="Bench",
        domain="bench",
        description="Tables of numbers",
        language="en",
        licence=Licence("CC0-1.0"),
        clock_start="2026-03-02T09:00:00Z",
        clock_step_seconds=0,
        tables={f"t{number}": Table("Numbers", "entity", columns) for number in range(NUM_TABLES)},
        tools=tuple(_tool(name) for name in _CALLS),
        provenance=(),
        schema_sql=_SCHEMA,
        tools_py=_TOOLS,
        scenarios=(Scenario("start", "simple", "2026-03-02T09:00:00Z", 1, rows),),
    )


def _tool(name: str) -> Tool:
    is_write, is_checked = name.startswith("write"), name.endswith("checked")
    properties: dict[str, Any] = {"id": {"type": "integer", "minimum": 1}}
    if is_write:
        properties["note"] = {"type": "string", "maxLength": 200}
    outputs = {"id": {"type": "integer"}, "at": {"type": "string"}} if is_write else {"row": {"type": "object"}}
    there = Condition("not_there", "SELECT count(*) FROM t3 WHERE id = :id", "There is no such row.")
    whole = Condition("below_zero", "SELECT amount >= 0 FROM t3 WHERE id = :id", "It is below zero.")
    answered = Condition("answered", "SELECT :result IS NOT NULL", "There is a result.")
    return Tool(
        name=name,
        title=name,
        description=name,
        effect="write" if is_write else "read",
        audience="agent",
        input_schema=_object(properties),
        output_schema=_object(outputs),
        preconditions=(there, whole) if is_checked else (),
        postconditions=(answered, there) if is_checked else (),
    )


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _worker_cpu(pool: WorkerPool) -> float:
    """CPU seconds of every worker so far, to the nanosecond."""
    found = 0.0
    for worker in pool.workers:
        found += int(Path(f"/proc/{worker.process_id}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9
    return found


def _open(environment: Environment, number: int) -> list[Session]:
    return environment.open_many([("start", None)] * number)


def _close(sessions: Sequence[Session]) -> None:
    for session in sessions:
        session.close()


def _measure_calls(pool: WorkerPool, environment: Environment, rows: int, num_frames: int, measured: _Measured) -> None:
    sessions = _open(environment, 8)
    for name, arguments in _CALLS.items():
        batch = [(session, name, arguments) for session in sessions for _ in range(BATCH // len(sessions))]
        records = call_many(batch)
        if any(record.status != "success" for record in records):
            raise AssertionError(records[0].observation)
        worker, host = _worker_cpu(pool), time.thread_time()
        for _ in range(num_frames):
            call_many(batch)
        num_calls = num_frames * len(batch)
        if rows == ROWS:
            measured.add("host", (time.thread_time() - host) / num_calls * 1e6)
        measured.add(f"{name} {rows}", (_worker_cpu(pool) - worker) / num_calls * 1e6)
        for session in sessions:
            session.reset("start")
    _close(sessions)


def _measure_resets(pool: WorkerPool, environment: Environment, num_frames: int, measured: _Measured) -> None:
    sessions = _open(environment, BATCH)
    batch = [(session, "read", _CALLS["read"]) for session in sessions]
    call_many(batch)
    worker = _worker_cpu(pool)
    num_rounds = max(1, num_frames // 10)
    for _ in range(num_rounds):
        for session in sessions:
            session.reset("start")
        call_many(batch)
    measured.add("reset", (_worker_cpu(pool) - worker) / (num_rounds * BATCH) * 1e6)
    _close(sessions)


def _measure_round_trips(environment: Environment, num_calls: int, measured: _Measured) -> None:
    session = environment.open("start")
    times = []
    for _ in range(num_calls):
        started = time.perf_counter()
        session.call("read", _CALLS["read"])
        times.append(time.perf_counter() - started)
    measured.add("round trip", statistics.median(times) * 1e6)
    session.close()


_FORK = """
import os, sys, time
import environments.runtime.engine
for _ in sys.stdin:
    started = time.perf_counter()
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    print(time.perf_counter() - started, flush=True)
"""


def _measure_verdicts(environment: Environment, number: int, measured: _Measured) -> None:
    """Verdicts and, in turn with them, bare forks of a process that holds what a zygote holds but for the pack."""
    names = ["read_checked", "write_checked"] * (VERDICT_CALLS // 2)
    calls = [(name, _CALLS[name]) for name in names]
    environment.play(Start("start"), calls)
    verdicts, forks = [], []
    with subprocess.Popen(  # noqa: S603 - our own interpreter and program
        [sys.executable, "-c", _FORK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    ) as forking:
        if forking.stdin is None or forking.stdout is None:
            raise AssertionError("the forking process has no pipes")
        for _ in range(number):
            forking.stdin.write("\n")
            forking.stdin.flush()
            forks.append(float(forking.stdout.readline()))
            started = time.perf_counter()
            environment.play(Start("start"), calls)
            verdicts.append(time.perf_counter() - started)
        forking.stdin.close()
    measured.add("verdict", statistics.median(verdicts) * 1e3)
    measured.add("bare fork", statistics.median(forks) * 1e3)


def _measure_engine(num_calls: int, measured: _Measured) -> None:
    """The engine in this process: what is left of a call without frames, lock and host."""
    episode = Engine(_pack(ROWS)).open("start")
    arguments = _CALLS["read"]
    episode.call("read", arguments)
    started = time.thread_time()
    for _ in range(num_calls):
        episode.call("read", arguments)
    measured.add("engine read", (time.thread_time() - started) / num_calls * 1e6)
    started = time.thread_time()
    for _ in range(num_calls):
        episode.reset()
        episode.call("read", arguments)
    measured.add("engine reset", (time.thread_time() - started) / num_calls * 1e6)
    episode.close()


def _measure_plain_function(measured: _Measured) -> None:
    rows = {number: {"id": number, "name": f"n{number}"} for number in range(ROWS)}

    def read(*, id: int) -> dict[str, Any]:
        return {"row": dict(rows[id])}

    started = time.thread_time()
    for _ in range(10_000):
        read(id=3)
    measured.add("plain", (time.thread_time() - started) / 10_000 * 1e6)


def _measure_live(pool: WorkerPool, environment: Environment, number: int) -> float:
    """GiB of the workers that hold so many sessions, each with a read and a write behind it."""
    sessions: list[Session] = []
    while len(sessions) < number:
        opened = _open(environment, min(100, number - len(sessions)))
        call_many([(session, name, _CALLS[name]) for session in opened for name in ("read", "write")])
        sessions += opened
    found = 0
    for worker in pool.workers:
        pages = int(Path(f"/proc/{worker.process_id}/statm").read_text(encoding="ascii").split()[1])
        found = max(found, pages * os.sysconf("SC_PAGE_SIZE"))
    _close(sessions)
    return found / 2**30


def _measure_close(pool: WorkerPool) -> float:
    """Seconds until every worker is gone after the pool is closed."""
    numbers = [worker.process_id for worker in pool.workers]
    started = time.perf_counter()
    pool.close()
    while any(Path(f"/proc/{number}").exists() for number in numbers):
        if time.perf_counter() - started > _SECONDS:
            break
        time.sleep(0.005)
    return time.perf_counter() - started
