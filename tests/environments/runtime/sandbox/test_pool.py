"""The pool: batches, losses and replay, culprits, quarantine, recycling, idleness, threads and forks."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from environments.runtime.pack import encode_pack
from environments.runtime.records import CallStatus
from environments.runtime.sandbox.attestation import read_status
from environments.runtime.sandbox.differential import find_differences
from environments.runtime.sandbox.errors import (
    PackQuarantinedError,
    PoolClosedError,
    RequestError,
    SandboxError,
    ToolCrash,
    ToolTimeout,
)
from environments.runtime.sandbox.limits import MEBIBYTE, Limits
from environments.runtime.sandbox.pool import PoolSettings, WorkerPool
from environments.runtime.sandbox.runner import Upkeep
from tests.environments.runtime.sandbox.attacks.little import ADD_ANSWER, LIST_ANSWER, make_pack, make_tool
from tests.environments.runtime.sandbox.attacks.model import PREAMBLE

ROOT = Path(__file__).parents[4]
LIMITS = Limits(memory_bytes=512 * MEBIBYTE, soft_seconds=0.3, frame_grace_seconds=0.3)
BAD = {
    "crash": "C.string_at(0)",
    "crash_if_many": "if len(ctx.db.all('SELECT id FROM seeds')) > 13:\n        C.string_at(0)",
    "hang": "return {'n': sum(range(10**12))}",
    "spin": "while True:\n        pass",
    "violate": "syscall(101, 0, 0, 0, 0)",
    "forge": "for d in channels():\n        os.write(d, bytes(64))",
    "tamper": "gc.disable()",
    "hoard": "x = []\n    while True:\n        x.append(bytearray(1 << 24))",
    "unsteady": "IMP('json').n = getattr(IMP('json'), 'n', 0) + 1\n    return {'n': IMP('json').n}",
}
SOURCE = PREAMBLE + "".join(f"\n\ndef {name}(ctx):\n    {body}\n    return {{}}\n" for name, body in BAD.items())
HOSTILE = encode_pack(make_pack([make_tool(name, {}) for name in BAD], SOURCE, "hostile"))
HONEST = encode_pack(make_pack())
ADD = ("add_seed", {"name": "rye", "grams": 1})
LIST: tuple[str, dict[str, Any]] = ("list_seeds", {})


def make_pool(**changes: Any) -> WorkerPool:
    upkeep = changes.pop("upkeep", Upkeep())
    return WorkerPool(PoolSettings(limits=LIMITS, upkeep=upkeep, is_gated=False, **{"num_spares": 0, **changes}))


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    with make_pool() as made:
        yield made


def wait_for(holds: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.01)
    return False


def is_gone(process_id: int) -> bool:
    try:
        return read_status(process_id)["State"][0] in "ZX"
    except OSError:
        return True


# Calls


def test_calls_of_many_episodes_come_back_in_order(pool: WorkerPool) -> None:
    episodes = pool.open(HONEST, [("shelf", seed) for seed in range(40)])
    records = pool.calls([(episode, *call) for episode in episodes for call in (ADD, LIST, ADD)])
    assert [record.index for record in records] == [0, 1, 2] * 40
    assert {record.status for record in records} == {CallStatus.SUCCESS}
    assert records[0].observation == ADD_ANSWER
    assert records[0].changes[0].after == {"id": 13, "name": "rye", "grams": 1}
    assert records[2].arguments == ADD[1]
    assert len(pool.workers) == 1


def test_two_packs_never_share_a_process(pool: WorkerPool) -> None:
    (first,) = pool.open(HONEST, [("shelf", 1)])
    (second,) = pool.open(HOSTILE, [("shelf", 1)])
    records = pool.calls([(first, *ADD), (second, *LIST), (first, *LIST), (second, *ADD)])
    assert [record.index for record in records] == [0, 0, 1, 1]
    assert len({worker.process_id for worker in pool.workers}) == 2


def test_pack_is_described_by_the_worker(pool: WorkerPool) -> None:
    loaded = pool.describe(HONEST)
    assert loaded.faults == []
    assert [table.name for table in loaded.tables] == ["seeds"]


@pytest.mark.parametrize("mode", ["warm", "fork"])
def test_episode_can_be_read_reset_and_restored(pool: WorkerPool, mode: Any) -> None:
    (episode,) = pool.open(HONEST, [("shelf", 1)], mode=mode)
    episode.call(*ADD)
    snapshot = episode.snapshot()
    assert len(episode.state()["seeds"]) == 13
    assert [change.key for change in episode.diff()] == [{"id": 13}]
    episode.reset("shelf", 1)
    assert episode.diff() == ()
    assert episode.call(*ADD).index == 0
    episode.reset("shelf", 1, snapshot)
    assert len(episode.state()["seeds"]) == 13
    assert episode.call(*ADD).observation == '{"id":14}'
    episode.close()
    episode.close()
    assert episode.call(*ADD).code == "episode_lost"


def test_unknown_scenario_is_told_and_costs_nothing(pool: WorkerPool) -> None:
    with pytest.raises(RequestError, match="no scenario nowhere"):
        pool.open(HONEST, [("nowhere", 1)])
    assert pool.open(HONEST, [("shelf", 1)])[0].call(*ADD).status == "success"


def test_transaction_leaves_nothing(pool: WorkerPool) -> None:
    first = pool.transact(HONEST, "shelf", 3, [ADD, LIST], wants=["state", "diff", "snapshot"])
    second = pool.transact(HONEST, "shelf", 3, [ADD, LIST], wants=["state", "diff", "snapshot"])
    assert [record.observation for record in first.records] == [record.observation for record in second.records]
    assert (first.state, first.diff, first.snapshot) == (second.state, second.diff, second.snapshot)
    assert first.state is not None
    assert len(first.state["seeds"]) == 13


def test_warm_and_fork_answer_the_same_bytes(pool: WorkerPool) -> None:
    calls = [ADD, ("mix", {}), LIST, ("mix", {}), ADD]
    (warm,) = pool.open(HONEST, [("shelf", 5)])
    (forked,) = pool.open(HONEST, [("shelf", 5)], mode="fork")
    alone = pool.transact(HONEST, "shelf", 5, calls)
    answers = [[record.observation for record in episode.calls(calls)] for episode in (warm, forked)]
    assert answers[0] == answers[1] == [record.observation for record in alone.records]
    assert find_differences(pool, HONEST, "shelf", 5, calls, [[LIST, ADD]]) == ()


def test_differential_replay_finds_what_a_tool_leaves(pool: WorkerPool) -> None:
    found = find_differences(pool, HOSTILE, "shelf", 5, [("unsteady", {})], [[LIST]])
    assert {difference.where for difference in found} == {"later", "reversed"}


# Losses


def test_killed_worker_is_replaced_and_its_episodes_replayed(pool: WorkerPool) -> None:
    episodes = pool.open(HONEST, [("shelf", seed) for seed in range(3)])
    for episode in episodes:
        episode.calls([ADD, ("mix", {}), ("find_seed", {"name": "rye"})])
    states = [episode.state() for episode in episodes]
    os.kill(pool.workers[0].process_id, signal.SIGKILL)
    record = episodes[0].call(*ADD)
    assert (record.index, record.observation) == (3, '{"id":14}')
    assert [episode.state() for episode in episodes[1:]] == states[1:]


def test_only_the_culprit_is_told_when_a_frame_is_lost(pool: WorkerPool) -> None:
    episodes = pool.open(HOSTILE, [("shelf", seed) for seed in range(4)])
    bad = episodes[2]
    requests = [(episode, *ADD) for episode in episodes]
    records = pool.calls([*requests, (bad, "crash", {}), *requests])
    assert [record.code for record in records] == [None] * 4 + ["tool_crash"] + [None] * 4
    assert records[4].status == CallStatus.INFRASTRUCTURE
    assert [record.index for record in records[5:]] == [1] * 4
    assert all(len(episode.state()["seeds"]) == 14 for episode in episodes)


@pytest.mark.parametrize("tool", ["hang", "spin"])
def test_time_out_is_confirmed_alone_and_the_others_go_on(pool: WorkerPool, tool: str) -> None:
    first, second = pool.open(HOSTILE, [("shelf", 1), ("shelf", 2)])
    started = time.monotonic()
    records = pool.calls([(first, *ADD), (second, tool, {}), (second, *ADD), (first, *LIST)])
    assert time.monotonic() - started < 5
    assert [record.code for record in records] == [None, "tool_timeout", None, None]
    assert pool.quarantined() == {}
    # For a while the same call is refused unmade, so that a policy that repeats it costs nothing.
    started = time.monotonic()
    assert second.call(tool, {}).code == "tool_timeout"
    assert time.monotonic() - started < 0.2


def test_memory_is_the_environments_failure(pool: WorkerPool) -> None:
    (episode,) = pool.open(HOSTILE, [("shelf", 1)])
    record = episode.call("hoard", {})
    assert record.code in ("tool_memory", "tool_timeout")  # page faults can be slower than the soft timer
    assert (record.status == CallStatus.FAILURE) == (record.code == "tool_memory")
    assert episode.call(*ADD).status == CallStatus.SUCCESS


def test_three_crashes_open_the_breaker_until_released(pool: WorkerPool) -> None:
    (episode,) = pool.open(HOSTILE, [("shelf", 1)])
    sha = episode.runner.content_sha256
    assert episode.call("crash", {}).code == "tool_crash"
    episode.calls([ADD, ADD])
    assert episode.call("crash_if_many", {}).code == "tool_crash"
    assert pool.quarantined() == {}
    with pytest.raises(ToolCrash):
        pool.transact(HOSTILE, "shelf", 1, [("crash", {})])
    assert "3 crashes" in pool.quarantined()[sha]
    assert episode.call(*ADD).code == "pack_quarantined"
    with pytest.raises(PackQuarantinedError):
        pool.transact(HOSTILE, "shelf", 1, [ADD])
    assert pool.open(HONEST, [("shelf", 1)])[0].call(*ADD).status == "success"
    pool.release(sha)
    assert episode.call(*ADD).observation == '{"id":15}'


@pytest.mark.parametrize(("tool", "code"), [("violate", "sandbox_violation"), ("forge", "sandbox_protocol")])
def test_hostile_pack_is_quarantined_at_once(pool: WorkerPool, tool: str, code: str) -> None:
    (episode,) = pool.open(HOSTILE, [("shelf", 1)])
    assert episode.call(tool, {}).code in (code, "pack_quarantined")
    (reason,) = pool.quarantined().values()
    assert reason.startswith(code)
    assert episode.call(*LIST).code == "pack_quarantined"


def test_tampering_moves_the_pack_to_fork_mode(pool: WorkerPool) -> None:
    first, second = pool.open(HOSTILE, [("shelf", 1), ("shelf", 2)])
    second.calls([ADD])
    record = first.call("tamper", {})
    assert record.status == CallStatus.SUCCESS  # its own child may do to itself what it likes
    assert first.runner.is_forked
    assert [worker.mode for worker in pool.workers] == ["fork"]
    assert second.call(*ADD).observation == '{"id":14}'
    assert len(second.state()["seeds"]) == 14


def test_pack_that_answers_otherwise_when_replayed_is_told(pool: WorkerPool) -> None:
    first, second = pool.open(HOSTILE, [("shelf", 1), ("shelf", 2)])
    assert first.call("unsteady", {}).observation == '{"n":1}'
    assert second.call("unsteady", {}).observation == '{"n":2}'
    pool.workers[0].kill()
    assert second.call(*ADD).code == "replay_mismatch"


@pytest.mark.parametrize("value", [2**70, "\ud800"], ids=["large", "half"])
def test_arguments_that_no_frame_carries_are_the_agents(pool: WorkerPool, value: object) -> None:
    first, second = pool.open(HONEST, [("shelf", 1), ("shelf", 2)])
    records = pool.calls([(first, *ADD), (first, "find_seed", {"name": value}), (second, *ADD)])
    assert [record.status for record in records] == ["success", "invalid", "success"]
    assert json.loads(records[1].observation)["error"]["code"] == "invalid_arguments"


def test_time_out_of_a_transaction_is_tried_twice(pool: WorkerPool) -> None:
    started = time.monotonic()
    with pytest.raises(ToolTimeout):
        pool.transact(HOSTILE, "shelf", 1, [("spin", {})])
    assert 0.55 < time.monotonic() - started < 5
    assert pool.transact(HOSTILE, "shelf", 1, [ADD]).records[0].status == "success"


# Upkeep


def test_long_log_is_replaced_by_a_snapshot() -> None:
    with make_pool(upkeep=Upkeep(checkpoint_calls=10)) as pool:
        (episode,) = pool.open(HONEST, [("shelf", 1)])
        for _ in range(3):
            episode.calls([ADD] * 9 + [("mix", {})])
        assert len(episode.held.log) < 10
        assert episode.held.start.snapshot is not None
        expected = episode.state()
        pool.workers[0].kill()
        assert episode.state() == expected
        assert episode.call(*LIST).index == 30


def test_worker_is_recycled_between_frames(caplog: pytest.LogCaptureFixture) -> None:
    with make_pool(upkeep=Upkeep(recycle_calls=100)) as pool, caplog.at_level(logging.INFO):
        (episode,) = pool.open(HONEST, [("shelf", 1)])
        before = pool.workers[0].process_id
        for _ in range(200):
            assert episode.call(*LIST).observation == LIST_ANSWER
        assert pool.workers[0].process_id != before
        assert "recycled" in caplog.text
        assert episode.call(*ADD).index == 200


def test_spare_takes_over_and_is_replaced() -> None:
    with make_pool(num_spares=1) as pool:
        (episode,) = pool.open(HONEST, [("shelf", 1)])
        assert wait_for(lambda: len(pool.workers) == 2, 10)
        spare = pool._spares[0].process_id
        os.kill(episode.runner.workers[0].process_id, signal.SIGKILL)
        assert episode.call(*ADD).observation == ADD_ANSWER
        assert episode.runner.workers[0].process_id == spare
        assert wait_for(lambda: len(pool._spares) == 1, 10)


def test_idle_processes_are_closed_and_come_back() -> None:
    with make_pool(num_spares=1, idle_seconds=0.4) as pool:
        (episode,) = pool.open(HONEST, [("shelf", 1)])
        episode.call(*ADD)
        assert wait_for(lambda: not pool.workers, 10)
        assert episode.call(*ADD).observation == '{"id":14}'


def test_longest_unused_pack_makes_room() -> None:
    packs = [encode_pack(make_pack(name=f"little_{number}")) for number in range(3)]
    with make_pool(max_packs=2) as pool:
        episodes = [pool.open(pack, [("shelf", 1)])[0] for pack in packs]
        assert len(pool.workers) == 2
        assert not episodes[0].runner.workers
        assert episodes[0].call(*ADD).observation == ADD_ANSWER
        assert not episodes[1].runner.workers


def test_closed_pool_has_no_process_and_says_so() -> None:
    pool = make_pool(num_spares=1)
    (episode,) = pool.open(HONEST, [("shelf", 1)])
    pool.transact(HONEST, "shelf", 1, [])
    assert wait_for(lambda: len(pool.workers) == 3, 10)
    processes = [worker.process_id for worker in pool.workers]
    started = time.monotonic()
    pool.close()
    assert time.monotonic() - started < 1
    pool.close()
    assert all(is_gone(process) for process in processes)
    with pytest.raises(PoolClosedError):
        episode.call(*ADD)


def test_close_ends_a_frame_in_flight() -> None:
    pool = make_pool()
    (episode,) = pool.open(HOSTILE, [("shelf", 1)])
    slow = threading.Thread(target=lambda: episode.call("hang", {}))
    slow.start()
    time.sleep(0.05)
    started = time.monotonic()
    pool.close()
    assert time.monotonic() - started < 0.3
    slow.join(0.3)  # long before its deadline
    assert not slow.is_alive()
    assert pool.workers == []


def test_threads_share_a_pool(pool: WorkerPool) -> None:
    wrong: list[object] = []

    def play(number: int) -> None:
        try:
            pack = HONEST if number % 2 else HOSTILE
            (episode,) = pool.open(pack, [("shelf", number)])
            answers = [episode.call(*ADD).observation for _ in range(20)]
            if answers != [f'{{"id":{13 + position}}}' for position in range(20)]:
                wrong.append(answers)
        except SandboxError as error:
            wrong.append(error)

    threads = [threading.Thread(target=play, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(pool.workers) == 2


def test_worker_outlives_the_thread_that_started_it(pool: WorkerPool) -> None:
    opened: list[Any] = []
    thread = threading.Thread(target=lambda: opened.extend(pool.open(HONEST, [("shelf", 1)])))
    thread.start()
    thread.join()
    time.sleep(0.1)
    before = pool.workers[0].process_id
    assert opened[0].call(*ADD).observation == ADD_ANSWER
    assert pool.workers[0].process_id == before


# Forks and ends of the host

PREFORK = """
import os, sys, time
sys.path.insert(0, {root!r})
from tests.environments.runtime.sandbox.test_pool import HONEST, ADD, make_pool
pool = make_pool(num_spares=1)
(episode,) = pool.open(HONEST, [("shelf", 1)])
episode.call(*ADD)
parents = [worker.process_id for worker in pool.workers]
children = []
for number in range(3):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        answer = "wrong"
        try:
            record = episode.call(*ADD)
            own = [worker.process_id for worker in pool.workers]
            if record.observation == '{{"id":14}}' and not set(own) & set(parents):
                answer = "right " + " ".join(map(str, own))
            pool.close()
        finally:
            os.write(write, answer.encode())
            os._exit(0)
    os.waitpid(child, 0)
    print(os.read(read, 1000).decode(), flush=True)
assert episode.call(*ADD).observation == '{{"id":14}}'
print("parent right", *[worker.process_id for worker in pool.workers], flush=True)
# A child that lives on must not keep the parent's workers alive.
if os.fork() == 0:
    os.close(1)
    os.close(2)
    time.sleep(6)
    os._exit(0)
os.kill(os.getpid(), 9)
"""


def test_pool_is_safe_under_prefork() -> None:
    """As Celery's prefork: a pool that was used before the fork works in every child, by own processes."""
    done = subprocess.run(
        [sys.executable, "-c", PREFORK.format(root=str(ROOT))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        start_new_session=True,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": ""},
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines] == ["right"] * 3 + ["parent"], done.stderr[-3000:]
    workers = [int(word) for line in lines for word in line if word.isdigit()]
    assert wait_for(lambda: all(is_gone(worker) for worker in workers), 1.5)
