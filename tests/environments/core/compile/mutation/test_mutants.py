"""Seeded faults: what each operator does to a text, that none is a copy, and that the shop's cases notice them."""

import ast
import dataclasses
from pathlib import Path

import numpy as np
import pytest

from environments.core.compile.emission import emit_pack
from environments.core.compile.mutation import Mutant, Operator, Score, mutants, score
from environments.core.compile.mutation.python_faults import python_faults
from environments.core.compile.mutation.sql_faults import Surroundings, sql_faults
from environments.core.compile.mutation.sql_sites import site_of
from environments.core.compile.reference import make_cases
from environments.runtime.cases import run_cases
from environments.runtime.engine import Engine
from environments.runtime.pack import read_pack
from environments.runtime.pack.model import Condition
from environments.runtime.session import Environment
from tests.environments.core.compile.reference.shop_rows import scenarios
from tests.factories.blueprints import shop

TOOLS = (
    "list_customers", "list_products", "list_orders", "put_product", "ship_order", "get_order_line", "update_customer",
    "delete_order_line",
)  # fmt: skip
SHOP = dataclasses.replace(shop(), tools=tuple(tool for tool in shop().tools if tool.name in TOOLS))
PACK = emit_pack(SHOP, scenarios(), make_cases(SHOP, scenarios(), 1))
SEED_BANK = Path(__file__).parents[5] / "environments" / "packs" / "seed_bank"
AROUND = Surroundings({"a": ("x", "y", "z"), "b": ("x", "y")}, {"state": ("open", "closed")})
CONDITION = dataclasses.replace(AROUND, is_of_one=True)


def faults_of(sql, around=AROUND):
    found = {}
    for operator, text in sql_faults(sql, around, np.random.default_rng(0)):
        found.setdefault(operator, []).append(text)
    return found


def edits_of(source):
    function = ast.parse(source).body[0]
    found = {}
    for edit in python_faults(function, AROUND, np.random.default_rng(0)):
        found.setdefault(edit.operator, []).append(edit.text(function).splitlines()[-1].strip())
    return found


@pytest.mark.parametrize(
    ("sql", "operator", "expected"),
    [
        ("SELECT x FROM a WHERE y = :y", Operator.WRONG_TABLE, ['SELECT x FROM "b" WHERE y = :y']),
        (
            "SELECT x FROM a WHERE (:y IS NULL OR y = :y) AND z = :z",
            Operator.DROPPED_FILTER,
            ["SELECT x FROM a WHERE z = :z"],
        ),
        (
            "SELECT x FROM a WHERE (:y IS NULL OR y = :y) AND z = :z",
            Operator.DROPPED_LIST_SCOPE,
            ["SELECT x FROM a WHERE :y IS NULL OR y = :y"],
        ),
        ("SELECT x FROM a WHERE z = :z", Operator.DROPPED_LIST_SCOPE, ["SELECT x FROM a"]),
        ("SELECT x FROM a WHERE y >= :y", Operator.COMPARISON_OFF, ["SELECT x FROM a WHERE y > :y"]),
        ("SELECT x FROM a WHERE y < :y", Operator.COMPARISON_OFF, ["SELECT x FROM a WHERE y <= :y"]),
        (
            "SELECT x FROM a LIMIT :n OFFSET :m",
            Operator.LIMIT_OFF,
            ["SELECT x FROM a LIMIT :n + 1 OFFSET :m", "SELECT x FROM a LIMIT :n - 1 OFFSET :m"],
        ),
        (
            "SELECT x FROM a LIMIT :n OFFSET :m",
            Operator.OFFSET_OFF,
            ["SELECT x FROM a LIMIT :n OFFSET :m + 1", "SELECT x FROM a LIMIT :n OFFSET :m - 1"],
        ),
        ("SELECT x FROM a LIMIT :n + 1", Operator.LIMIT_OFF, ["SELECT x FROM a LIMIT :n + 1 - 1"]),
        (
            "SELECT x FROM a ORDER BY y DESC, x",
            Operator.SORT_REVERSED,
            ["SELECT x FROM a ORDER BY y ASC, x", "SELECT x FROM a ORDER BY y DESC, x DESC"],
        ),
        ("SELECT x FROM a ORDER BY y DESC, x", Operator.SORT_DROPPED, ["SELECT x FROM a ORDER BY x"]),
        (
            "UPDATE a SET y = :y, z = 'open' WHERE x = :x",
            Operator.LOST_UPDATE,
            ["UPDATE a SET z = 'open' WHERE x = :x", "UPDATE a SET y = :y WHERE x = :x"],
        ),
        (
            "UPDATE a SET y = :y, z = 'open' WHERE x = :x",
            Operator.SWAPPED_COLUMNS,
            ["UPDATE a SET y = 'open', z = :y WHERE x = :x"],
        ),
        (
            "UPDATE a SET y = 'open' WHERE x = :x",
            Operator.CONSTANT_CHANGED,
            ["UPDATE a SET y = 'closed' WHERE x = :x"],
        ),
        ("UPDATE a SET y = 'odd' WHERE x = :x", Operator.CONSTANT_CHANGED, ["UPDATE a SET y = 'odd_x' WHERE x = :x"]),
        ("UPDATE a SET y = 1 WHERE x = :x", Operator.EVERY_ROW, ["UPDATE a SET y = 1"]),
        ("DELETE FROM a WHERE x = :x AND y = :y", Operator.EVERY_ROW, ["DELETE FROM a"]),
        (
            "DELETE FROM a WHERE x = :x AND y = :y",
            Operator.DROPPED_ROW_SCOPE,
            ["DELETE FROM a WHERE y = :y", "DELETE FROM a WHERE x = :x"],
        ),
        (
            "INSERT INTO a (x, y) VALUES (:x, coalesce(:y, 3))",
            Operator.SWAPPED_COLUMNS,
            ["INSERT INTO a (y, x) VALUES (:x, COALESCE(:y, 3))"],
        ),
        (
            "INSERT INTO a (x, y) VALUES (:x, coalesce(:y, 3))",
            Operator.LOST_UPDATE,
            ["INSERT INTO a (y) VALUES (COALESCE(:y, 3))", "INSERT INTO a (x) VALUES (:x)"],
        ),
        (
            "INSERT INTO a (x, y) VALUES (:x, coalesce(:y, 3))",
            Operator.FALLBACK_DROPPED,
            ["INSERT INTO a (x, y) VALUES (:x, :y)"],
        ),
        ("SELECT x, y FROM a", Operator.SWAPPED_COLUMNS, ['SELECT y AS "x", x AS "y" FROM a']),
        ("SELECT x, y FROM a", Operator.RESULT_LOST, ["SELECT y FROM a", "SELECT x FROM a"]),
    ],
)
def test_faults_of_sql(sql, operator, expected):
    assert faults_of(sql)[operator] == expected


def test_conditions_of_conditions_are_of_one_row():
    sql = "SELECT EXISTS (SELECT 1 FROM a WHERE x = :x AND y = :y)"

    assert faults_of(sql, CONDITION)[Operator.DROPPED_ROW_SCOPE] == [
        "SELECT EXISTS(SELECT 1 FROM a WHERE y = :y)",
        "SELECT EXISTS(SELECT 1 FROM a WHERE x = :x)",
    ]
    assert Operator.CONSTANT_CHANGED not in faults_of(sql, CONDITION)


@pytest.mark.parametrize("text", ["not SQL at all (", "PRAGMA user_version", "name", ""])
def test_what_is_no_statement_has_no_faults(text):
    assert faults_of(text) == {}
    assert site_of(ast.Constant(text)) is None


def test_faults_of_python():
    found = edits_of(
        "def act(ctx, *, page, size):\n"
        "    skip = (page - 1) * size\n"
        "    return {'rows': ctx.db.all('SELECT x FROM a LIMIT :n OFFSET :m', n=size, m=skip), 'page': page}"
    )
    assert len(found[Operator.OFFSET_OFF]) == 4  # the page's number and the statement's offset, each up and down
    assert found[Operator.WRONG_ARGUMENT] == [
        "return {'rows': ctx.db.all('SELECT x FROM a LIMIT :n OFFSET :m', n=skip, m=size), 'page': page}"
    ]
    assert "return {'page': page}" in found[Operator.RESULT_LOST]
    assert any(text.startswith("return {'rows': page") for text in found[Operator.RESULT_SWAPPED])


def test_faults_of_python_writes_and_checks():
    found = edits_of("def act(ctx, *, x):\n    ctx.db.run('DELETE FROM a WHERE x = :x', x=x)")
    assert found[Operator.WRITE_DROPPED] == ["pass"]
    found = edits_of("def act(ctx, *, x):\n    if x:\n        ctx.reject('no', 'No.')")
    assert Operator.MISSING_CHECK in found
    found = edits_of("def act(ctx, *, x):\n    return {'rows': x[:x], 'more': len(x) > x}")
    assert found[Operator.LIMIT_OFF] == ["return {'rows': x[:x + 1], 'more': len(x) > x}"]
    assert found[Operator.COMPARISON_OFF] == ["return {'rows': x[:x], 'more': len(x) >= x}"]


def test_holes_of_a_text_stay_where_they_are():
    source = (
        "def act(ctx, *, x):\n"
        "    where = ' WHERE x = :x'\n"
        "    order = {'up': 'y, x', 'down': 'y DESC, x'}.get(x, 'x')\n"
        "    return ctx.db.all(f'SELECT x, y FROM a{where} ORDER BY {order} LIMIT :x', x=x)"
    )
    function = ast.parse(source).body[0]
    texts = {
        operator: [
            edit.text(function)
            for edit in python_faults(function, AROUND, np.random.default_rng(0))
            if edit.operator is operator
        ]
        for operator in (Operator.WRONG_TABLE, Operator.DROPPED_LIST_SCOPE, Operator.SORT_REVERSED)
    }
    [wrong] = texts[Operator.WRONG_TABLE]
    assert """f'SELECT x, y FROM "b"{where} ORDER BY {order} LIMIT :x'""" in wrong
    assert ["where = ''" in text for text in texts[Operator.DROPPED_LIST_SCOPE]] == [True]
    lookups = [text.splitlines()[2].strip() for text in texts[Operator.SORT_REVERSED]]
    assert "order = {'up': 'y DESC, x', 'down': 'y DESC, x'}.get(x, 'x')" in lookups
    assert "order = {'up': 'y, x', 'down': 'y DESC, x'}.get(x, 'x DESC')" in lookups
    assert ast.unparse(function) == ast.unparse(ast.parse(source).body[0])


def test_mutants_are_the_same_each_time_and_never_the_pack():
    found = list(mutants(PACK, 3, 4))
    marks = [(each.operator, each.tool, each.place) for each in found]

    assert marks == [(each.operator, each.tool, each.place) for each in mutants(PACK, 3, 4)]
    assert {operator for operator, _, _ in marks} == set(Operator)
    assert len(marks) == len(set(marks))
    assert {tool for _, tool, _ in marks} <= {tool.name for tool in PACK.tools}
    for mutant in found:
        assert (mutant.pack.tools_py, mutant.pack.tools) != (PACK.tools_py, PACK.tools)
        assert mutant.pack.cases == PACK.cases
        compile(mutant.pack.tools_py, "tools.py", "exec")


def little_pack():
    tools = tuple(tool for tool in SHOP.tools if tool.name == "ship_order")
    pack = emit_pack(dataclasses.replace(SHOP, tools=tools), scenarios(), ())
    tool = dataclasses.replace(pack.tools[0], postconditions=(Condition("kept", "SELECT 1", "It holds."),))
    return dataclasses.replace(pack, tools=(tool,))


def test_another_seed_draws_other_mutants():
    first, second = ([mutant.place for mutant in mutants(little_pack(), seed, 2)] for seed in (1, 2))

    assert first != second


def test_tools_do_not_notice_their_own_faults_unless_asked():
    assert all(not mutant.pack.tools[0].postconditions for mutant in mutants(little_pack(), 1, 1))
    assert all(
        mutant.pack.tools[0].postconditions for mutant in mutants(little_pack(), 1, 1, keeps_postconditions=True)
    )


def test_packs_of_any_author_have_mutants():
    found = list(mutants(read_pack(SEED_BANK), 1, 3))

    assert len({mutant.operator for mutant in found}) >= 14
    assert {Operator.MISSING_CHECK, Operator.LOST_UPDATE, Operator.DROPPED_FILTER} <= {each.operator for each in found}


def test_scores_are_by_operator():
    made = [
        Mutant(operator, "t", "p", PACK) for operator in (Operator.LIMIT_OFF, Operator.LIMIT_OFF, Operator.LOST_UPDATE)
    ]

    found = score(zip(made, [True, False, True], strict=True))

    assert found == (Score(Operator.LIMIT_OFF, 1, 2), Score(Operator.LOST_UPDATE, 1, 1))
    assert [each.caught_ratio for each in found] == [0.5, 1.0]


class InProcess:
    """Plays a pack's episodes here: mutants of our own need no locked worker, and there are many."""

    def __init__(self, engine):
        self._engine = engine

    def open(self, pack, starts, *, mode="warm", content_sha256=None):
        return [self._engine.open(scenario, seed) for scenario, seed in starts]

    def calls(self, calls):
        return [player.call(tool, arguments) for player, tool, arguments in calls]


def is_caught(mutant):
    engine = Engine(mutant.pack)
    if engine.faults:
        return True
    cases = [case for case in PACK.cases if any(call.tool == mutant.tool for call in case.calls)]
    return not run_cases(Environment(mutant.pack, InProcess(engine)), engine.tables, cases).holds


def test_the_cases_of_the_shop_notice_faults_of_every_operator():
    # One of each here; `bench_mutants` counts all of them.
    found = score((mutant, is_caught(mutant)) for mutant in mutants(PACK, 1, 1))

    assert len(found) == len(Operator)
    assert [each for each in found if each.num_caught < each.num_mutants] == []


def test_the_pack_itself_is_not_taken_for_a_mutant():
    assert not is_caught(Mutant(Operator.LIMIT_OFF, "list_orders", "", PACK))
