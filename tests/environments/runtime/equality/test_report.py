"""A comparison as JSON and as sentences."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from environments.runtime.equality import compare, explain, from_json, to_json
from environments.runtime.equality.errors import MalformedReportError
from tests.environments.runtime.equality.graphs import EMPTY, nodes, rings
from tests.environments.runtime.equality.shop import LONG_NOTE, line, mail, order, start
from tests.environments.runtime.equality.worlds import Random, delete, disturb, random_world, run_changes, update

GOLDEN = Path(__file__).parent / "golden"


def different():
    reference = [
        order(5, note=LONG_NOTE),
        line(5, 1, data='{"size": 2}'),
        order(6, status="paid", total=math.inf),
        line(6, 1, item="cup"),
        update("orders", {"id": 1}, note="do not call the customer at home today", total=5.0),
        delete("mails", {"id": 1}),
    ]
    candidate = [
        order(8, note=LONG_NOTE.replace("today", "tonight")),
        line(8, 1, data='{"size": 3}'),
        order(9, status="paid", total=math.inf, customer_id=2),
        line(8, 2, item="cup"),
        update("orders", {"id": 1}, note="do call the customer at home today", total=5.1),
        update("customers", {"id": 3}, level=2, name="żółć"),
        mail(7, address=None),
    ]
    answers = [("orders", (6,), (8,))]
    return compare(start(), reference, candidate, same_rows=answers)


def equal():
    reference = [order(5, note=LONG_NOTE), line(5, 1), update("customers", {"id": 1}, level=2)]
    candidate = [
        order(8, note=LONG_NOTE.replace("today", "tonight")),
        line(8, 1),
        update("customers", {"id": 1}, level=2),
    ]
    return compare(start(language="sw"), reference, candidate)


def undecided():
    rng = Random(1)
    return compare(EMPTY, nodes(rings(4), rng), nodes(rings(4), rng), budget=5)


@pytest.mark.parametrize("make", [different, equal, undecided])
def test_report_is_as_in_the_golden_files(make):
    """To change a format on purpose: a new format number, and the files written anew from `to_json` and `explain`."""
    comparison = make()
    document, sentences = GOLDEN / f"{make.__name__}.json", GOLDEN / f"{make.__name__}.txt"
    assert to_json(comparison) == document.read_bytes().rstrip(b"\n")
    assert list(explain(comparison)) == sentences.read_text(encoding="utf-8").splitlines()
    assert from_json(document.read_bytes()) == comparison


@given(st.randoms(use_true_random=False), st.integers(0, 4))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_report_is_read_back_as_it_was(rng, num_fresh):
    world = random_world(rng, num_fresh)
    comparison = compare(world.start, run_changes(world, rng), disturb(world, run_changes(world, rng), rng))
    assert from_json(to_json(comparison)) == comparison
    assert to_json(from_json(to_json(comparison))) == to_json(comparison)
    assert all(sentence.endswith(".") for sentence in explain(comparison))


def test_report_is_refused_when_it_is_of_another_form():
    document = json.loads(to_json(different()))
    finding = document["missing"][0]
    broken = [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        {**document, "format": "envfactory-comparison/2"},
        {**document, "outcome": "perhaps"},
        {**document, "more": 1},
        {name: value for name, value in document.items() if name != "matched"},
        {**document, "renaming": [["orders", [1]]]},
        {**document, "num_steps": None},
        {**document, "missing": [{**finding, "rule": "whim"}]},
        {**document, "missing": [{**finding, "more": 1}]},
        {**document, "missing": [{**finding, "reference": {"$real": "nan"}}]},
        {**document, "missing": [1]},
    ]
    for text in broken:
        with pytest.raises(MalformedReportError):
            from_json(text if isinstance(text, str) else json.dumps(text))


def test_sentences_stay_short_when_values_are_long():
    result = compare(start(), [order(5, status="x" * 5_000)], [order(6, status="y" * 5_000)])
    assert max(map(len, explain(result))) < 250
    assert explain(compare(start(), [], [])) == ("Equal: nothing changed.",)
