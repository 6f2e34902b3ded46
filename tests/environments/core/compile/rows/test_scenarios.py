"""The four scenarios of the shop: constraints, order, coherence, near misses, determinism."""

import datetime
import json
import os
import subprocess
import sys
import unicodedata
from dataclasses import replace
from itertools import pairwise

import pytest

from environments.core.compile.rows import LEVELS, make_scenarios
from environments.core.compile.semantics import Argument, ArgumentRole, Kind, StateAllows, ValueKind
from environments.runtime.pack.model import Scenario
from tests.environments.core.compile.rows.constraints import faults, load, rows_by_key
from tests.factories.blueprints import shop

CLOCK = "2026-03-02T09:00:00Z"


@pytest.fixture(scope="module")
def scenarios() -> dict[str, Scenario]:
    return {scenario.name: scenario for scenario in make_scenarios(shop(), 7)}


def test_scenarios_are_the_four_levels(scenarios):
    assert tuple(scenarios) == LEVELS == ("simple", "medium", "complex", "boundary")
    assert all(each.level == name and each.clock_start == CLOCK and each.seed == 7 for name, each in scenarios.items())


@pytest.mark.parametrize("seed", [0, 1, 7, 99])
def test_rows_obey_every_constraint(seed):
    blueprint = shop()
    for scenario in make_scenarios(blueprint, seed):
        assert faults(blueprint, scenario) == []


def test_sqlite_takes_the_rows_and_sorts_them_alike(scenarios):
    blueprint = shop()
    for scenario in scenarios.values():
        connection = load(blueprint, scenario)
        for table in blueprint.tables:
            assert rows_by_key(connection, table) == [tuple(row.values()) for row in scenario.rows[table.name]]


def test_checker_sees_broken_rows(scenarios):
    blueprint, simple = shop(), scenarios["simple"]
    order = simple.rows["orders"][0]
    for change in ({"status": "lost"}, {"customer_id": "nobody"}, {"total": 1}, {"created": None}, {"id": 2}):
        rows = {**simple.rows, "orders": ({**order, **change}, *simple.rows["orders"][1:])}
        assert faults(blueprint, replace(simple, rows=rows)), change


def test_sizes_by_level(scenarios):
    sizes = {name: {table: len(rows) for table, rows in each.rows.items()} for name, each in scenarios.items()}
    assert all(2 <= size <= 4 for size in sizes["simple"].values())
    assert all(6 <= size <= 16 for size in sizes["medium"].values())
    assert all(size > sizes["medium"][table] for table, size in sizes["complex"].items())
    assert all(1 <= size <= 4 for size in sizes["boundary"].values())


def test_lists_need_a_second_page_in_complex(scenarios):
    blueprint = shop()
    for tool in blueprint.tools:
        meaning = tool.meaning
        if meaning.kind is Kind.LIST and meaning.page_size and not meaning.through:
            assert len(scenarios["complex"].rows[meaning.table]) > meaning.page_size, tool.name


def test_children_are_skewed_and_some_parents_have_none(scenarios):
    for name in ("medium", "complex"):
        rows = scenarios[name].rows
        owners = [row["customer_id"] for row in rows["orders"]]
        customers = {row["id"] for row in rows["customers"]}
        assert customers - set(owners), name
        top = sorted((owners.count(each) for each in set(owners)), reverse=True)
        assert sum(top[:3]) >= 0.6 * len(owners), name
    assert {row["id"] for row in scenarios["boundary"].rows["customers"]} - {
        row["customer_id"] for row in scenarios["boundary"].rows["orders"]
    }


@pytest.mark.parametrize("level", ["medium", "complex", "boundary"])
def test_every_transition_is_allowed_in_some_rows_and_refused_in_others(scenarios, level):
    seen = 0
    for tool in shop().tools:
        for check in tool.meaning.checks:
            if isinstance(check, StateAllows):
                states = [row[check.column] for row in scenarios[level].rows[check.table]]
                allowed = [s in check.allowed if check.allowed else s not in check.refused for s in states]
                assert {True, False} == set(allowed), (tool.name, states)
                seen += 1
    assert seen == 2


def test_every_transition_is_covered_whatever_the_seed():
    for seed in range(8):
        for scenario in make_scenarios(shop(), seed)[1:]:
            states = {row["status"] for row in scenario.rows["orders"]}
            assert "paid" in states
            assert states & {"cancelled", "shipped"}


def test_times_are_in_order(scenarios):
    clock = 1_772_442_000
    for scenario in scenarios.values():
        for row in scenario.rows["orders"]:
            assert row["created"] <= row["updated"] / 1000 <= clock
        for row in scenario.rows["customers"]:
            assert row["created_at"] <= CLOCK


def test_children_are_not_older_than_their_parents(scenarios):
    rows = scenarios["simple"].rows
    made = {row["id"]: row["created_at"] for row in rows["customers"]}
    from_text = {name: _seconds(text) for name, text in made.items()}
    assert all(from_text[row["customer_id"]] <= row["created"] for row in rows["orders"])


def _seconds(text: str) -> float:
    return datetime.datetime.fromisoformat(text).timestamp()


def test_emails_belong_to_the_person(scenarios):
    for name in ("simple", "medium", "complex"):
        for row in scenarios[name].rows["customers"]:
            bare = unicodedata.normalize("NFKD", row["name"]).encode("ascii", "ignore").decode()
            first, last = bare.lower().split()[:2]
            assert row["email"].lower().startswith(f"{first}.{last}"), row


def test_ids_share_a_prefix_that_ends_in_a_separator(scenarios):
    for scenario in scenarios.values():
        assert all(row["id"].startswith("cust_") for row in scenario.rows["customers"])
        assert sorted(row["id"] for row in scenario.rows["orders"]) == list(range(1, len(scenario.rows["orders"]) + 1))


def test_texts_are_about_their_things(scenarios):
    titles = [row["title"] for row in scenarios["simple"].rows["products"]]
    assert len(set(titles)) == 3
    assert all(len(title) > 3 and title[0].isupper() for title in titles)
    prices = [row["price"] for row in scenarios["complex"].rows["products"]]
    assert all(round(price, 2) == price and 0 < price < 1_000 for price in prices)
    notes = [row["note"] for row in scenarios["complex"].rows["orders"] if row["note"]]
    assert len(set(notes)) > 6


def test_boundary_has_extremes(scenarios):
    rows = scenarios["boundary"].rows
    names = [row["name"] for row in rows["customers"]]
    assert sorted(map(len, names)) == [1, 80]
    assert any(not name.isascii() for name in names)
    assert {0.0} < {row["price"] for row in rows["products"]}
    assert any(row["released"] is None and row["tags"] is None for row in rows["products"])


# --- Near misses ------------------------------------------------------------------------------------------------------


def _matches(row, argument: Argument, value) -> bool:
    held = row[argument.column]
    if argument.role is ArgumentRole.AT_LEAST:
        return held is not None and held >= value
    if argument.role is ArgumentRole.AT_MOST:
        return held is not None and held <= value
    return held == value


@pytest.mark.parametrize("level", ["medium", "complex"])
def test_dropping_any_filter_changes_some_answer(scenarios, level):
    roles = (ArgumentRole.FILTER, ArgumentRole.ONE_OF, ArgumentRole.AT_LEAST, ArgumentRole.AT_MOST)
    checked = 0
    for tool in shop().tools:
        meaning = tool.meaning
        filters = [each for each in meaning.with_role(*roles) if each.column]
        rows = scenarios[level].rows[meaning.table]
        for dropped in filters if meaning.through is None else ():
            rest = [each for each in filters if each is not dropped]
            differs = any(
                [r for r in rows if all(_matches(r, each, base[each.column]) for each in filters)]
                != [r for r in rows if all(_matches(r, each, base[each.column]) for each in rest)]
                for base in rows
                if all(base[each.column] is not None for each in filters)
            )
            assert differs, (tool.name, dropped.name)
            checked += 1
    assert checked == 8


@pytest.mark.parametrize("level", ["medium", "complex"])
def test_near_misses_of_ranges_are_next_to_a_value(scenarios, level):
    prices = sorted(row["price"] for row in scenarios[level].rows["products"])
    gaps = [round(high - low, 2) for low, high in pairwise(prices)]
    assert 0.01 in gaps, "a price just beside another"
    assert 0.0 in gaps, "two alike"
    created = sorted(row["created"] for row in scenarios[level].rows["orders"])
    assert 1 in [high - low for low, high in pairwise(created)]


@pytest.mark.parametrize("level", ["medium", "complex"])
def test_searched_texts_have_wildcards_and_other_cases(scenarios, level):
    rows = scenarios[level].rows["orders"]
    notes = [row["note"] for row in rows if row["note"]]
    wild = [note for note in notes if "%" in note and "_" in note]
    assert wild
    lower = [text.lower() for row in rows for text in (row["note"], row["city"]) if text]
    texts = {text for row in rows for text in (row["note"], row["city"]) if text}
    assert len({text.lower() for text in texts}) < len(texts), "one text in two cases"
    assert any("50 x off" in text for text in lower)


# --- Determinism ------------------------------------------------------------------------------------------------------

_SCRIPT = """
import hashlib, json
from environments.core.compile.rows import make_scenarios
from tests.factories.blueprints import shop
made = make_scenarios(shop(), 7)
rows = [[each.name, {name: list(map(dict, rows)) for name, rows in each.rows.items()}] for each in made]
print(hashlib.sha256(json.dumps(rows).encode()).hexdigest())
"""


def test_same_seed_gives_the_same_bytes_under_any_hash_seed():
    digests = set()
    for hash_seed in ("1", "424242"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": "."}
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True, env=environment
        )
        digests.add(done.stdout)
    assert len(digests) == 1


def test_another_seed_gives_other_rows(scenarios):
    assert make_scenarios(shop(), 7) == tuple(scenarios.values())
    other = make_scenarios(shop(), 8)
    assert all(mine.rows != theirs.rows for mine, theirs in zip(scenarios.values(), other, strict=True))


def test_a_changed_table_leaves_the_others_as_they_were(scenarios):
    blueprint = shop()
    tables = list(blueprint.tables)
    products = tables[1]
    tables[1] = replace(products, columns=tuple(each for each in products.columns if each.name != "released"))
    changed = {each.name: each for each in make_scenarios(replace(blueprint, tables=tuple(tables)), 7)}
    for name, scenario in scenarios.items():
        assert changed[name].rows["customers"] == scenario.rows["customers"]
        assert changed[name].rows["orders"] == scenario.rows["orders"]
        assert changed[name].rows["products"] != scenario.rows["products"]


def test_json_columns_hold_compact_json(scenarios):
    for scenario in scenarios.values():
        for table in shop().tables:
            for column in table.columns:
                if column.kind is ValueKind.JSON:
                    for row in scenario.rows[table.name]:
                        text = row[column.name]
                        assert text is None or isinstance(json.loads(text), list)
