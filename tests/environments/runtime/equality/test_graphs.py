"""Symmetric and adversarial graphs of rows: right and fast, or undecided within the budget, never wrong."""

import time
from dataclasses import replace

import pytest

from environments.runtime.equality import Outcome, StartState, compare
from environments.runtime.equality.comparison import DEFAULT_BUDGET
from environments.runtime.tables import ForeignKey
from tests.environments.runtime.equality.graphs import (
    EMPTY,
    NODES,
    chain,
    graph,
    nodes,
    rings,
    rook,
    shrikhande,
    twisted,
)
from tests.environments.runtime.equality.worlds import ID, NOTE, Random, column, insert, table


def outcome(one, other, **options):
    return compare(EMPTY, one, other, **options).outcome


@pytest.mark.parametrize(
    "links",
    [
        pytest.param([None] * 1_000, id="alike rows"),
        pytest.param(chain(1_000), id="a chain"),
        pytest.param(rings(1_000), id="a ring"),
        pytest.param(rings(*[3] * 50), id="50 rings of 3"),
        pytest.param(rings(*[20] * 20), id="20 rings of 20"),
        pytest.param(chain(50) + [None] * 50, id="a chain and rows alone"),
        pytest.param([0] * 500, id="a star on a row that points to itself"),
    ],
)
def test_symmetric_rows_are_equal_at_little_cost(links):
    rng = Random(1)
    result = compare(EMPTY, nodes(links, rng), nodes(links, rng))
    assert result.outcome is Outcome.EQUAL
    assert result.num_steps < 60 * len(links)
    assert len(set(result.renaming.values())) == len(links)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (rings(6), rings(3, 3)),
        (rings(50, 50), rings(49, 51)),
        (chain(9), rings(9)),
        (rings(*[4] * 20), rings(*[5] * 16)),
    ],
)
def test_rings_are_different_when_their_lengths_differ(one, other):
    result = compare(EMPTY, nodes(one, Random(1)), nodes(other, Random(2)))
    assert result.outcome is Outcome.DIFFERENT
    assert result.missing


def test_alike_bundles_are_told_apart_when_a_child_moved():
    rng = Random(3)
    bundles = [(parent, 50 + 4 * parent + child) for parent in range(50) for child in range(4)]
    assert outcome(graph(250, bundles, rng), graph(250, bundles, rng)) is Outcome.EQUAL
    moved = [*bundles[:-1], (0, bundles[-1][1])]
    assert outcome(graph(250, bundles, rng), graph(250, moved, rng)) is Outcome.DIFFERENT


def test_strongly_regular_graphs_are_decided():
    rng = Random(4)
    assert outcome(graph(16, rook(), rng), graph(16, rook(), rng)) is Outcome.EQUAL
    assert outcome(graph(16, shrikhande(), rng), graph(16, shrikhande(), rng)) is Outcome.EQUAL
    assert outcome(graph(16, rook(), rng), graph(16, shrikhande(), rng)) is Outcome.DIFFERENT


@pytest.mark.parametrize("num_nodes", [4, 10, 20, 40, pytest.param(100, marks=pytest.mark.slow)])
def test_graphs_beyond_refinement_are_never_judged_wrong(num_nodes):
    rng = Random(6)
    size, plain = twisted(num_nodes, is_twisted=False)
    _, wrong = twisted(num_nodes, is_twisted=True)
    started = time.process_time()
    twisted_result = compare(EMPTY, graph(size, plain, rng), graph(size, wrong, rng))
    assert twisted_result.outcome is (Outcome.DIFFERENT if num_nodes <= 10 else Outcome.UNDECIDED)
    assert twisted_result.num_steps <= DEFAULT_BUDGET
    assert outcome(graph(size, plain, rng), graph(size, plain, rng)) is not Outcome.DIFFERENT
    assert time.process_time() - started < 15


def test_budget_is_a_number_of_steps_and_not_of_seconds():
    rng = Random(7)
    one, other = nodes(rings(30), rng), nodes(rings(30), rng)
    needed = compare(EMPTY, one, other).num_steps
    assert outcome(one, other, budget=needed) is Outcome.EQUAL
    result = compare(EMPTY, one, other, budget=needed - 1)
    assert result.outcome is Outcome.UNDECIDED
    assert result.num_steps == needed - 1
    assert not result.renaming


def test_other_number_of_rows_is_different_even_without_budget():
    size, plain = twisted(20, is_twisted=False)
    rng = Random(8)
    one, other = graph(size, plain, rng), graph(size + 1, plain, rng)
    assert outcome(one, other, budget=1) is Outcome.DIFFERENT


CHILDREN = table("children", ID, NOTE, column("up", "INTEGER"), foreign_keys=[ForeignKey(("up",), "nodes", ("id",))])
FAMILIES = StartState([NODES, CHILDREN], {})
FIVE, TEN = "one two three four five", "six seven eight nine ten"


def family(texts, seed=8):
    """Alike parents, each with one child for each of its texts."""
    changes = nodes([None] * len(texts), Random(seed))
    for parent, own in zip(list(changes), texts, strict=True):
        for text in own:
            changes.append(insert("children", {"id": len(changes), "note": text, "up": parent.key["id"]}))
    return changes


@pytest.mark.parametrize("other", [[(FIVE, FIVE), (TEN, TEN)] * 10, [(FIVE, TEN)] * 19 + [(FIVE, "none of these")]])
def test_near_texts_among_alike_families_do_not_explode(other):
    """20 alike parents whose children differ in texts only: no bijection, and no need to try 20! of them."""
    reference = family([(FIVE, TEN)] * 20)
    assert compare(FAMILIES, reference, family(other)).outcome is Outcome.DIFFERENT
    near = family([(TEN, FIVE.replace("five", "six"))] * 20)
    result = compare(FAMILIES, reference, near)
    assert result.outcome is Outcome.EQUAL
    assert len(result.fuzzy) == 20


def test_exact_bijection_is_preferred_to_a_fuzzy_one():
    texts = [(f"one two three four five {word}",) for word in ("six", "ten", "ant", "bee", "cow")]
    result = compare(FAMILIES, family(texts), family(texts[::-1], seed=9))
    assert result.outcome is Outcome.EQUAL
    assert not result.fuzzy


@pytest.mark.parametrize("seed", range(6))
def test_exact_bijection_is_preferred_when_equal_rows_hide_it(seed):
    """The children that the search looks at first are all equal; only others tell which parents belong together."""
    to_node = ForeignKey(("up",), "nodes", ("id",))
    tables = [table(name, ID, NOTE, column("up", "INTEGER"), foreign_keys=[to_node]) for name in ("first", "second")]
    world = StartState([NODES, *tables], {})

    def run(rng):
        changes = nodes([None] * 4, rng)
        parents = [change.key["id"] for change in changes]
        rows = [("first", f"{FIVE} {word}") for word in ("six", "ten", "ant", "bee")] + [("second", "alike")] * 4
        rng.shuffle(parents)
        ids = rng.sample(range(100), len(rows))
        for own, up, (name, note) in zip(ids, parents * 2, rows, strict=True):
            changes.append(insert(name, {"id": own, "note": note, "up": up}))
        return changes

    rng = Random(seed)
    result = compare(world, run(rng), run(rng))
    assert result.outcome is Outcome.EQUAL
    assert not result.fuzzy


ITEMS = StartState([table("items", ID, NOTE, column("size", "REAL"))], {})


def items(*texts):
    return [insert("items", {"id": place, "note": text, "size": None}) for place, text in enumerate(texts)]


def test_equal_normal_forms_are_one_class_when_their_tokens_differ():
    """The normal form of "notable" is that of "no table", its tokens are others; the other texts are only near."""
    result = compare(ITEMS, items("notable left", FIVE), items("no table left", FIVE.replace("five", "six")))
    assert result.outcome is Outcome.EQUAL
    assert sorted(finding.rule for finding in result.matched if finding.column == "note") == ["fuzzy", "normalised"]


def test_other_number_of_near_texts_is_different_whatever_the_budget():
    texts = [f"{FIVE} {word}" for word in ("six", "ten", "ant", "bee", "cow")]
    near = [f"{text} now" for text in texts]
    assert compare(ITEMS, items(*texts), items(*near, "extra"), budget=1).outcome is Outcome.DIFFERENT
    assert compare(ITEMS, items(*texts), items(*near), budget=1).outcome is Outcome.UNDECIDED


def chained_families(num_families, seed, *, shift=0.0, noise=0.0, num_children=1):
    """(start state, changes) of alike parents with children whose numbers are near their neighbours' only.

    With two children the numbers of the second run in another order, and both must agree on the parent.
    """
    to_node = ForeignKey(("up",), "nodes", ("id",))
    names = [f"child{number}" for number in range(num_children)]
    children = [table(n, ID, column("size", "REAL"), column("up", "INTEGER"), foreign_keys=[to_node]) for n in names]
    rng = Random(seed)
    changes = nodes([None] * num_families, rng)
    parents = [change.key["id"] for change in changes]
    order = list(range(num_families))
    for name in names:
        ids = rng.sample(range(num_families), num_families)
        sizes = [1 + 5e-7 * place + shift + rng.uniform(-noise, noise) for place in order]
        rows = [{"id": own, "size": size, "up": up} for own, size, up in zip(ids, sizes, parents, strict=True)]
        changes += [insert(name, row) for row in rows]
        Random(99).shuffle(order)
    return StartState([NODES, *children], {}), changes


@pytest.mark.parametrize(("num_families", "shift"), [(30, 2e-7), (100, -7e-7), (300, 2e-7)])
def test_chained_numbers_among_alike_families_are_decided(num_families, shift):
    """Pairing along a perfect matching of the children leads to no dead end, whichever parents that pairs."""
    world, reference = chained_families(num_families, 1)
    _, candidate = chained_families(num_families, 2, shift=shift)
    result = compare(world, reference, candidate)
    assert result.outcome is Outcome.EQUAL
    assert result.num_steps < 30 * num_families
    assert {finding.rule for finding in result.matched if finding.column == "size"} == {"tolerance"}
    _, far = chained_families(num_families, 2, shift=shift + 2.2e-6)
    assert compare(world, reference, far).outcome is Outcome.DIFFERENT


def test_dead_ends_are_seen_ahead_when_two_chains_must_agree():
    world, reference = chained_families(20, 1, num_children=2)
    for seed in range(2, 12):
        _, candidate = chained_families(20, seed, noise=9.5e-7, num_children=2)
        result = compare(world, reference, candidate)
        assert result.outcome is Outcome.EQUAL
        assert result.num_steps < 100_000


def test_ring_is_different_when_it_runs_the_other_way():
    def ring(*labels):
        links = {labels[0]: labels[1], labels[1]: labels[2], labels[2]: labels[0]}
        numbers = {label: place for place, label in enumerate("abc", 1)}
        return [
            insert("nodes", {"id": numbers[label], "label": label, "next": numbers[links[label]]}) for label in "abc"
        ]

    assert outcome(ring("a", "b", "c"), ring("b", "c", "a")) is Outcome.EQUAL
    assert outcome(ring("a", "b", "c"), ring("a", "c", "b")) is Outcome.DIFFERENT


def test_alike_rows_keep_the_foreign_key_that_points_to_them():
    for seed in range(8):
        rng = Random(seed)
        assert outcome(graph(2, [(0, 1)], rng), graph(2, [(0, 1)], rng)) is Outcome.EQUAL
        assert outcome(graph(3, [(0, 1), (0, 2)], rng), graph(3, [(0, 1), (2, 1)], rng)) is Outcome.DIFFERENT


def test_all_fuzzy_texts_end_within_the_budget():
    """Rows alike in all but a text that is near every other text: the dearest honest case."""
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota"]

    def run(seed, extra):
        texts = [" ".join([*words, "abcdefghij"[place % 10], chr(97 + place // 10), extra]) for place in range(200)]
        Random(seed).shuffle(texts)
        return items(*texts)

    started = time.process_time()
    result = compare(ITEMS, run(1, "now"), run(2, "soon"))
    assert result.outcome is Outcome.EQUAL
    assert time.process_time() - started < 5


def test_wrong_value_among_twins_is_reported_once():
    for links in (rings(*[3] * 5), rings(*[20] * 20), [None] * 30):
        rng = Random(7)
        reference, candidate = nodes(links, rng), nodes(links, rng)
        candidate[0] = replace(candidate[0], after={**candidate[0].after, "label": "wrong"})
        result = compare(EMPTY, reference, candidate)
        assert [finding.column for finding in result.missing] == ["label"]
        assert not result.unexpected
