"""Parts of the search by themselves, against the plainest code that does the same."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.runtime.equality.closure import close_classes
from environments.runtime.equality.matching import match_all
from environments.runtime.equality.partition import BudgetSpentError, Partition, Steps
from environments.runtime.equality.values import Judge, is_within_tolerance
from tests.environments.runtime.equality.worlds import NOTE, column

REAL = column("size", "REAL")
words = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "not", "5"]), max_size=7).map(" ".join)


@given(st.lists(words | st.none(), max_size=12))
@settings(max_examples=300, deadline=None)
def test_texts_share_a_class_when_a_chain_of_near_texts_joins_them(texts):
    judge = Judge()

    def are_near(one, other):
        if one is None or other is None:
            return one is other
        return judge.judge(NOTE, one, other).is_equal

    classes = close_classes(NOTE, texts, judge, Steps(10**6))
    expected = list(range(len(texts)))
    for _ in texts:  # the closure, by passing the smallest number on until nothing changes
        expected = [
            min([expected[j] for j, other in enumerate(texts) if are_near(text, other)] + [expected[i]])
            for i, text in enumerate(texts)
        ]
    assert [[a == b for b in classes] for a in classes] == [[a == b for b in expected] for a in expected]


@given(st.lists(st.integers(0, 12).map(lambda n: 1.0 + n * 4e-7) | st.sampled_from([-1.0, 0.0, None]), max_size=12))
@settings(max_examples=200, deadline=None)
def test_near_numbers_share_a_class(numbers):
    classes = close_classes(REAL, numbers, Judge(), Steps(1))
    for (one, its_class), (other, other_class) in itertools.product(zip(numbers, classes, strict=True), repeat=2):
        if one is None or other is None:
            assert (its_class == other_class) == (one is other)
        elif is_within_tolerance(one, other):
            assert its_class == other_class
        elif abs(one - other) > 1e-4:
            assert its_class != other_class


def test_far_texts_cost_no_steps():
    steps = Steps(10**6)
    far = [f"{letter}1 " * 3 + f"{letter}{letter} {letter}x {letter}y" for letter in "abcdefghij"]
    assert len(set(close_classes(NOTE, far, Judge(), steps))) == 10
    assert steps.used == 0


@given(st.integers(0, 5), st.data())
@settings(max_examples=300, deadline=None)
def test_matching_is_found_when_any_permutation_is_one(size, data):
    lefts, rights = list(range(size)), list(range(size, 2 * size))
    alike = data.draw(st.sets(st.sampled_from([*itertools.product(lefts, rights)]) if size else st.nothing()))
    colours = data.draw(st.lists(st.integers(0, 3), min_size=2 * size, max_size=2 * size))
    alike |= {(left, right) for left, right in itertools.product(lefts, rights) if colours[left] == colours[right]}
    known = dict(data.draw(st.sampled_from([(), tuple(zip(lefts, rights, strict=True))])))
    known = {left: right for left, right in known.items() if (left, right) in alike}
    found = match_all(lefts, rights, colours.__getitem__, lambda left, right: (left, right) in alike, known)
    possible = any(
        all((left, right) in alike for left, right in zip(lefts, order, strict=True))
        for order in itertools.permutations(rights)
    )
    assert (found is not None) == possible
    if found is not None:
        assert [left for left, _ in found] == lefts
        assert sorted(right for _, right in found) == rights
        assert set(found) <= alike


def test_long_chains_of_matches_do_not_recurse():
    size = 1_200
    lefts, rights = list(range(size)), list(range(size, 2 * size))
    # Each left row is like its own and the next right row, the last only like the first: one path through all.
    found = match_all(
        lefts,
        rights,
        lambda item: item if item < size else item - size - 1 if item > size else -1,
        lambda left, right: (
            (left < size - 1 and right - size in {left, left + 1}) or (left, right) == (size - 1, 2 * size - 1)
        ),
        {},
    )
    assert found == [(left, size + left) for left in lefts]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6))
@settings(max_examples=100, deadline=None)
def test_partition_is_as_it_was_when_undone(choices):
    """Rows 0 to 9 in one ring, 10 to 19 in another."""
    neighbours = [
        [(0, node // 10 * 10 + (node + 1) % 10), (1, node // 10 * 10 + (node - 1) % 10)] for node in range(20)
    ]
    partition = Partition([range(20)], 10, neighbours, Steps(10**6))
    before = sorted(partition.cells[0])
    for choice in choices:
        mark = partition.mark
        assert mark == 0
        number = partition.split(0, [choice, 10 + choice])
        assert partition.refine([number]) is not None
        assert not partition.large or all(len(partition.cells[cell]) > 2 for cell in partition.large)
        assert all(partition.is_balanced(cell) for cell in partition.cells)
        assert all(node in partition.cells[partition.cell_of[node]] for node in range(20))
        partition.undo(mark)
        assert sorted(partition.cells[0]) == before
        assert partition.cell_of == [0] * 20
        assert list(partition.large) == [0]


def test_steps_end_exactly_at_the_budget():
    steps = Steps(3)
    steps.spend(3)
    with pytest.raises(BudgetSpentError):
        steps.spend(1)
    assert steps.used == 3
