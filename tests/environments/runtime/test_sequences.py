"""Random sequences of valid calls over the shipped packs: no failure, whole keys, the same in another process."""

from functools import cache
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from environments.runtime.engine import Engine
from environments.runtime.fuzz import CallFuzzer
from environments.runtime.pack import read_pack
from environments.runtime.records import CallStatus
from environments.runtime.references import resolve
from environments.runtime.sandbox.pool import WorkerPool
from environments.runtime.session import Environment

PACKS = sorted(path.parent.name for path in (Path(__file__).parents[3] / "environments" / "packs").glob("*/cases.json"))
SEEDS = st.tuples(st.integers(0, 2**32), st.integers(0, 3), st.integers(1, 16))


@pytest.fixture(scope="module")
def environments():
    with WorkerPool() as pool:
        yield {name: Environment(loaded(name)[0], pool) for name in PACKS}


@cache
def loaded(name):
    pack = read_pack(Path(__file__).parents[3] / "environments" / "packs" / name)
    return pack, Engine(pack)


def play(environments, name, drawn):
    seed, which, length = drawn
    pack, engine = loaded(name)
    scenario = pack.scenarios[which % len(pack.scenarios)]
    here = engine.open(scenario)
    fuzzer = CallFuzzer(pack, engine.tables, scenario.rows, seed, scenario.name)
    calls, results = [], []
    for _ in range(length):
        call = fuzzer.next_call(results)
        arguments = resolve(dict(call.arguments), results)
        before = here.snapshot()
        record = here.call(call.tool, arguments)
        assert record.status in (CallStatus.SUCCESS, CallStatus.REJECTION), (call, here.failure)
        assert here.broken_foreign_keys() == 0
        if record.status is CallStatus.REJECTION:
            assert here.snapshot() == before
        calls.append((call.tool, arguments))
        results.append(orjson.loads(record.observation))
    there = environments[name].open(scenario.name)
    answers = there.calls(calls, audience=None)
    assert [orjson.loads(record.observation) for record in answers] == results
    assert there.snapshot() == here.snapshot()
    assert there.state() == here.state()
    there.close()
    here.close()


@pytest.mark.parametrize("name", PACKS)
def test_random_sequences(environments, name):
    @settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(SEEDS)
    def run(drawn):
        play(environments, name, drawn)

    run()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", PACKS)
def test_ten_thousand_random_sequences(environments, name):
    @settings(max_examples=3_400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(SEEDS)
    def run(drawn):
        play(environments, name, drawn)

    run()
