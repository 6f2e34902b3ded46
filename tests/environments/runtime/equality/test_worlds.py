"""Whole comparisons on random worlds: other routes are Equal, single faults Different, brute force agrees."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from environments.runtime.equality import Outcome, compare
from tests.environments.runtime.equality import oracle
from tests.environments.runtime.equality.worlds import FAULTS, Random, break_one, disturb, random_world, run_changes

# A shrinkable source of chance: a failure ends as the smallest world that still fails.
CHANCE = st.randoms(use_true_random=False)
small_worlds = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


def start_rows(world):
    return {name: world.rows_in_start(name) for name in world.tables}


def assert_other_route_is_equal(rng, num_fresh):
    world = random_world(rng, num_fresh)
    result = compare(world.start, run_changes(world, rng), run_changes(world, rng))
    assert result.outcome is Outcome.EQUAL
    assert not result.missing
    assert not result.unexpected
    assert not result.fuzzy


def assert_faults_are_different(rng, num_fresh):
    world = random_world(rng, num_fresh)
    reference = run_changes(world, rng)
    for fault in FAULTS:
        candidate = break_one(world, run_changes(world, rng), fault, rng)
        if candidate is None:
            continue
        for one, other in ((reference, candidate), (candidate, reference)):
            result = compare(world.start, one, other)
            assert result.outcome is Outcome.DIFFERENT, fault
            assert result.missing or result.unexpected, fault


def assert_agrees_with_brute_force(rng, num_fresh):
    """Whether the oracle could tell, so that callers can count."""
    world = random_world(rng, num_fresh)
    reference = run_changes(world, rng)
    candidate = disturb(world, run_changes(world, rng), rng)
    expected = oracle.are_equal(world.tables, start_rows(world), reference, candidate)
    if expected is None:
        return None
    for one, other in ((reference, candidate), (candidate, reference)):
        assert compare(world.start, one, other).outcome is (Outcome.EQUAL if expected else Outcome.DIFFERENT)
    return expected


@given(CHANCE, st.integers(0, 6))
@small_worlds
def test_other_route_is_equal_when_world_is_small(rng, num_fresh):
    assert_other_route_is_equal(rng, num_fresh)


@given(CHANCE, st.integers(1, 6))
@small_worlds
def test_single_fault_is_different_when_world_is_small(rng, num_fresh):
    assert_faults_are_different(rng, num_fresh)


@given(CHANCE, st.integers(1, 5))
@small_worlds
def test_brute_force_agrees_when_world_is_small(rng, num_fresh):
    assert_agrees_with_brute_force(rng, num_fresh)


@pytest.mark.parametrize("num_fresh", [5, 20, 60])
def test_other_route_is_equal_when_world_is_larger(num_fresh):
    for seed in range(60):
        assert_other_route_is_equal(Random(seed), num_fresh)


@pytest.mark.parametrize("num_fresh", [1, 5, 20, 60])
def test_single_fault_is_different_when_world_is_larger(num_fresh):
    for seed in range(30):
        assert_faults_are_different(Random(10_000 + seed), num_fresh)


def test_brute_force_agrees_on_both_answers():
    answers = [assert_agrees_with_brute_force(Random(20_000 + seed), seed % 6 + 1) for seed in range(400)]
    assert min(answers.count(True), answers.count(False)) > 100


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_brute_force_agrees_on_ten_thousand_worlds(block):
    for seed in range(1_000):
        assert_agrees_with_brute_force(Random(1_000_000 + 1_000 * block + seed), seed % 6 + 1)


@pytest.mark.slow
@pytest.mark.parametrize("num_fresh", [200, 500, 1_500])
def test_large_worlds_are_told_apart(num_fresh):
    for seed in range(15):
        assert_other_route_is_equal(Random(30_000 + seed), num_fresh)
        assert_faults_are_different(Random(40_000 + seed), num_fresh)
