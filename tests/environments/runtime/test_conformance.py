"""The conformance suite: the shipped packs pass it, and every mutant fails it by its name."""

import dataclasses
import re
from pathlib import Path

import pytest

from environments.runtime.conformance import BULK, Check, check_environment
from environments.runtime.engine import Engine
from environments.runtime.pack import encode_pack, read_pack
from environments.runtime.pack.model import Case, CaseCall, Column, Condition, Expectation, Rejection, Scenario, Table
from environments.runtime.records import CallStatus
from environments.runtime.sandbox.pool import PoolSettings, WorkerPool
from environments.runtime.session import Environment
from tests.factories.little_pack import (
    ROWS,
    SCHEMA,
    TABLES,
    TEXT,
    TOOL_LIST,
    TOOLS,
    library,
    object_schema,
    with_tool,
)

PACKS = sorted((Path(__file__).parents[3] / "environments" / "packs").glob("*/environment.json"))


@pytest.fixture(scope="module")
def pool():
    with WorkerPool() as found:
        yield found


@pytest.fixture(scope="module")
def loose_pool():
    """Workers whose engine leaves the gate out, so that the checks themselves are what finds a mutant."""
    with WorkerPool(PoolSettings(is_gated=False)) as found:
        yield found


def check(pool, pack, **more):
    environment = Environment(pack, pool)
    described = pool.describe(encode_pack(pack), environment.content_sha256)
    return check_environment(environment, described, **{"num_calls": 50, **more})


@pytest.mark.parametrize("path", PACKS, ids=lambda path: path.parent.name)
def test_the_shipped_packs_conform(pool, path):
    report = check(pool, read_pack(path.parent))
    assert report.findings == ()
    assert report.completeness_ratio == 1.0
    assert report.cases.holds
    assert report.num_calls >= 150


def test_the_little_pack_conforms(pool):
    assert check(pool, library()).findings == ()


def test_the_report_is_the_same_twice(pool):
    pack = read_pack(PACKS[0].parent)
    first, second = (check(pool, pack, with_cases=False) for _ in range(2))
    assert first == second


def source(old, new):
    assert old in TOOLS
    return library(tools_py=TOOLS.replace(old, new))


def schema(old, new):
    assert old in SCHEMA
    return library(schema_sql=SCHEMA.replace(old, new))


def column(table, name, value):
    columns = {**TABLES[table].columns, name: value}
    return library(tables={**TABLES, table: dataclasses.replace(TABLES[table], columns=columns)})


def act(body, **more):
    return with_tool("def act(ctx):\n" + "\n".join(f"    {line}" for line in body.split("\n")), **more)


WRONG_CASE = Case(
    "wrong",
    "draw",
    "success",
    (CaseCall("draw", {}),),
    (Expectation(CallStatus.SUCCESS, None, {"number": 1}),),
    (),
    "person",
    scenario="small",
)
BAD_ROWS = {**ROWS, "books": ({**ROWS["books"][0], "copies": -1}, ROWS["books"][1])}
MUTANTS = {
    # The worker's half of validation
    "syntax": (source("return {", "return {{"), Check.VALIDATION, "source_syntax"),
    "import": (source("import json", "import os"), Check.VALIDATION, "source_forbidden"),
    "file": (source('"book": book}', '"book": open("x")}'), Check.VALIDATION, "source_forbidden"),
    "module state": (source("_FIND =", "SEEN = {}\n_FIND ="), Check.VALIDATION, "source_statement"),
    "clock": (act("return {'x': datetime.now().isoformat()}"), Check.VALIDATION, "source_forbidden"),
    "order of a set": (act("return {'x': list({'a', 'b'})}"), Check.VALIDATION, "source_forbidden"),
    "no function": (source("def draw(", "def _draw("), Check.VALIDATION, "function_missing"),
    "function too many": (source("def _book(", "def book("), Check.VALIDATION, "function_unknown"),
    "other argument": (source("def draw(ctx, *, count=1)", "def draw(ctx, *, num=1)"), Check.VALIDATION, "signature"),
    "undeclared code": (source('"no_loan"', '"lost_loan"'), Check.VALIDATION, "reject_undeclared"),
    "unused code": (source('"too_many"', '"no_book"'), Check.VALIDATION, "rejection_unused"),
    "wrong SQL": (source("SELECT book_id FROM", "SELECT books FROM"), Check.VALIDATION, "tool_sql"),
    "parameter missing": (source(" note=note,\n", "\n"), Check.VALIDATION, "tool_sql"),
    "not strict": (
        schema(") STRICT;\nCREATE TABLE loans", ");\nCREATE TABLE loans"),
        Check.VALIDATION,
        "table_not_strict",
    ),
    "blob": (schema("weight REAL", "weight BLOB"), Check.VALIDATION, "sql_type"),
    "trigger": (
        library(schema_sql=f"{SCHEMA}CREATE TRIGGER t AFTER DELETE ON loans BEGIN DELETE FROM books; END;"),
        Check.VALIDATION,
        "sql_statement",
    ),
    "key to nothing": (
        schema("REFERENCES members (id)", "REFERENCES clubs (id)"),
        Check.VALIDATION,
        "foreign_key_target",
    ),
    "no class": (column("books", "title", Column()), Check.VALIDATION, "column_without_class"),
    "soft key": (column("members", "email", Column("semantic")), Check.VALIDATION, "column_class_key"),
    "ghost table": (
        library(tables={**TABLES, "ghosts": Table("Ghosts", "entity", {"id": Column("hard")})}),
        Check.VALIDATION,
        "table_unknown",
    ),
    "condition that writes": (
        act("return {}", preconditions=(Condition("x", "DELETE FROM loans RETURNING 1", "x"),)),
        Check.VALIDATION,
        "condition_forbidden",
    ),
    "condition that asks the clock": (
        act("return {}", preconditions=(Condition("x", "SELECT date('now') > '2020'", "x"),)),
        Check.VALIDATION,
        "condition_forbidden",
    ),
    "condition of nothing": (
        act("return {}", preconditions=(Condition("x", "SELECT x FROM books", "x"),)),
        Check.VALIDATION,
        "condition_sql",
    ),
    "bad rows": (
        library(scenarios=(Scenario("small", "simple", "2026-03-02T09:00:00Z", 5, BAD_ROWS),)),
        Check.VALIDATION,
        "scenario_rows",
    ),
    # What shows only when it runs
    "case": (library(cases=(WRONG_CASE,)), Check.CASES, "cases"),
    "exception": (act("return {'x': 1 // 0}"), Check.FAILURE, "exception"),
    "double name": (
        library(tools=tuple(dataclasses.replace(tool, preconditions=()) for tool in TOOL_LIST if tool.name != "lend"),
                tools_py=TOOLS.replace("def lend(", "def _lend(")),
        Check.FAILURE,
        "sql_error",
    ),
    "swallowed rejection": (
        act("try:\n    ctx.reject('no', 'x')\nfinally:\n    return {}", rejections=(Rejection("no", "x"),)),
        Check.FAILURE,
        "rejection_swallowed",
    ),
    "reading tool that writes": (
        act("ctx.db.run('UPDATE books SET copies = copies + 1')\nreturn {'x': 1}", effect="read"),
        Check.FAILURE,
        "read_tool_wrote",
    ),
    "own id": (
        act("ctx.db.run(\"INSERT INTO tickets (id, number) VALUES (hex(:t), 1)\", t=ctx.now())\nreturn {'x': 1}"),
        Check.FAILURE,
        "id_not_issued",
    ),
    "post-condition": (
        act("return {'x': 1}", postconditions=(Condition("two", "SELECT json_extract(:result, '$.x') = 2", "x"),)),
        Check.FAILURE,
        "postcondition",
    ),
    "result off its schema": (
        act("return {'x': 1}", outputs=object_schema(("x",), x=TEXT)),
        Check.FAILURE,
        "output_schema",
    ),
    "result that is no object": (act("return ['x']"), Check.FAILURE, "result_type"),
    "result that is no JSON": (act("return {'x': {'a'}}"), Check.FAILURE, "result_type"),
    "NaN": (act("return {'x': float('nan')}"), Check.FAILURE, "output_schema"),
    "long result": (act("return {'x': 'y' * 300000}"), Check.FAILURE, "result_too_large"),
    "huge number": (
        act("ctx.db.run('UPDATE books SET copies = :n', n=2**60)\nreturn {'x': 1}"),
        Check.FAILURE,
        "value_range",
    ),
    "endless statement": (
        act(
            "return ctx.db.one('WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
            "SELECT count(*) AS n FROM c')"
        ),
        Check.FAILURE,
        "limit_steps",
    ),
    "condition of several rows": (
        act("return {'x': 1}", preconditions=(Condition("x", "SELECT 1 FROM (VALUES (1), (2))", "x"),)),
        Check.FAILURE,
        "condition_error",
    ),
    "empty answers": (act("return {}"), Check.COMPLETENESS, "completeness"),
    "id in text": (
        source("id=member, name=name", "id=member, name=f'{name} {member}'"),
        Check.SHIFTED_IDS,
        "shifted_ids",
    ),
    "id in JSON": (
        act(
            "new = ctx.new_id('members')\nmail = f'{new}@example.org'\n"
            "ctx.db.run('INSERT INTO members VALUES (:id, :n, :m, 1)', id=new, n='x', m=mail)\nreturn {'x': new}"
        ),
        Check.SHIFTED_IDS,
        "shifted_ids",
    ),
    "id that decides": (
        act(
            "new = ctx.new_id('members')\n"
            "if new < 500:\n    ctx.reject('early', 'x')\nreturn {'x': new}",
            rejections=(Rejection("early", "x"),),
        ),
        Check.SHIFTED_IDS,
        "shifted_ids",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_mutants_fail_by_name(pool, name):
    pack, rule, code = MUTANTS[name]
    pack = dataclasses.replace(pack, scenarios=pack.scenarios[:1])
    report = check(pool, pack, num_calls=12 if name == "endless statement" else 150)
    assert not report.conforms
    assert (rule, code) in {(finding.check, finding.code) for finding in report.findings}, report.findings


@pytest.mark.parametrize("name", sorted(MUTANTS.keys() - {"endless statement"}))
def test_mutants_fail_in_bulk_by_the_same_rule(pool, name):
    pack, rule, _ = MUTANTS[name]
    pack = dataclasses.replace(pack, scenarios=pack.scenarios[:1])
    report = check(pool, pack, depth=dataclasses.replace(BULK, plays_alone=False), num_calls=150)
    assert rule in {finding.check for finding in report.findings}, report.findings


LEAKS = {
    "a counter on a library": (
        "import json\n\n\ndef act(ctx):\n    json.count = getattr(json, 'count', 0) + 1\n    return {'x': json.count}",
        {Check.RESET, Check.ISOLATION, Check.PROCESS, Check.LEAK},
    ),
    "the wall clock": (
        "import datetime\n\n\ndef act(ctx):\n    return {'x': datetime.datetime.now().isoformat()}",
        {Check.RESET, Check.ISOLATION, Check.PROCESS, Check.LEAK},
    ),
    "a cache in a library": (
        "import string\n\n\ndef act(ctx):\n    seen = vars(string).setdefault('seen', [])\n    seen.append(1)\n"
        "    return {'x': len(seen)}",
        {Check.RESET, Check.ISOLATION, Check.PROCESS, Check.LEAK},
    ),
}


@pytest.mark.parametrize("name", sorted(LEAKS))
def test_what_the_gate_would_refuse_is_found_by_playing(loose_pool, name):
    code, rules = LEAKS[name]
    code = code.replace("getattr(json, 'count', 0)", "(json.count if 'count' in json.__dict__ else 0)")
    code = code.replace("vars(string)", "string.__dict__")
    pack = with_tool(code, effect="read")
    environment = Environment(pack, loose_pool)
    described = dataclasses.replace(_Described(Engine(pack).tables))
    report = check_environment(environment, described, num_calls=50)
    assert rules & {finding.check for finding in report.findings} == rules
    bulk = check_environment(environment, described, depth=BULK)
    assert {Check.RESET, Check.LEAK, Check.PROCESS} & {finding.check for finding in bulk.findings}
    assert "act" in {finding.tool for finding in bulk.findings}


@dataclasses.dataclass(frozen=True)
class _Described:
    tables: tuple
    faults: tuple = ()


# Mutants of the shipped packs


def _first(pack, test):
    return next(tool for tool in pack.tools if test(tool))


def _with_tool(pack, tool, **changes):
    tools = tuple(dataclasses.replace(one, **changes) if one is tool else one for one in pack.tools)
    return dataclasses.replace(pack, tools=tools)


def _with_text(pack, field, old, new):
    text = getattr(pack, field)
    assert re.search(old, text)
    return dataclasses.replace(pack, **{field: re.sub(old, new, text, count=1)})


def _writes(tool):
    return tool.effect == "write"


def _drop_function(pack):
    return _with_text(pack, "tools_py", rf"def {pack.tools[0].name}\(", f"def _{pack.tools[0].name}(")


def _more_arguments(pack):
    return _with_text(
        pack, "tools_py", rf"def {pack.tools[0].name}\((\s*)ctx, \*,", rf"def {pack.tools[0].name}(\1ctx, *, more,"
    )


def _drop_class(pack):
    for name, table in pack.tables.items():
        for column, meaning in table.columns.items():
            if meaning.comparison == "hard":
                columns = {**table.columns, column: Column()}
                return dataclasses.replace(
                    pack, tables={**pack.tables, name: dataclasses.replace(table, columns=columns)}
                )
    raise AssertionError


def _bad_condition(pack):
    tool = _first(pack, lambda one: one.preconditions)
    wrong = dataclasses.replace(tool.preconditions[0], sql="SELECT nothing FROM nowhere")
    return _with_tool(pack, tool, preconditions=(wrong, *tool.preconditions[1:]))


def _undeclare(pack):
    tool = _first(pack, lambda one: one.rejections)
    return _with_tool(pack, tool, rejections=())


def _call_it_a_read(pack):
    changed = {change.table for case in pack.cases for change in case.changes if case.tool}
    assert changed
    tool = _first(pack, lambda one: _writes(one) and any(case.changes and case.tool == one.name for case in pack.cases))
    return _with_tool(pack, tool, effect="read")


def _more_result(pack):
    tool = pack.tools[0]
    schema = {**tool.output_schema, "required": [*tool.output_schema.get("required", ()), "not_there"]}
    return _with_tool(pack, tool, output_schema=schema)


def _broken_promise(pack):
    tool = _first(pack, lambda one: not _writes(one))
    return _with_tool(pack, tool, postconditions=(Condition("never", "SELECT 0", "Never."),))


def _drop_precondition(pack):
    codes = {(case.tool, expected.code) for case in pack.cases for expected in case.expect}
    tool = _first(pack, lambda one: one.preconditions and (one.name, one.preconditions[0].code) in codes)
    return _with_tool(pack, tool, preconditions=tool.preconditions[1:])


def _write_nothing(pack):
    source = re.sub(r"ctx\.db\.run\(", "_no(", pack.tools_py) + "\n\ndef _no(*_, **__):\n    return 1\n"
    return dataclasses.replace(pack, tools_py=source)


def _orphan(pack):
    schema = Engine(pack).tables
    start = pack.scenarios[-1]
    parent = next(
        key.table
        for table in schema
        for key in table.foreign_keys
        if key.table != table.name and any(row[key.columns[0]] is not None for row in start.rows.get(table.name, ()))
    )
    broken = dataclasses.replace(start, rows={**start.rows, parent: ()})
    return dataclasses.replace(pack, scenarios=(*pack.scenarios[:-1], broken))


TRANSFORMS = {
    "function_missing": _drop_function,
    "signature": _more_arguments,
    "source_forbidden": lambda pack: dataclasses.replace(pack, tools_py=f"{pack.tools_py}\n\nimport os\n"),
    "source_statement": lambda pack: dataclasses.replace(pack, tools_py=f"{pack.tools_py}\n\nCACHE = []\n"),
    "tool_sql": lambda pack: _with_text(pack, "tools_py", r"SELECT ", "SELECT nothing_at_all, "),
    "table_not_strict": lambda pack: _with_text(pack, "schema_sql", r"\)\s*STRICT", ")"),
    "sql_type": lambda pack: _with_text(pack, "schema_sql", r"TEXT NOT NULL", "BLOB NOT NULL"),
    "column_without_class": _drop_class,
    "condition_sql": _bad_condition,
    "reject_undeclared": _undeclare,
    "scenario_foreign_keys": _orphan,
    "read_tool_wrote": _call_it_a_read,
    "output_schema": _more_result,
    "postcondition": _broken_promise,
    "cases": _drop_precondition,
    "cases of silent tools": _write_nothing,
}


@pytest.mark.parametrize("name", sorted(TRANSFORMS))
@pytest.mark.parametrize("path", PACKS, ids=lambda path: path.parent.name)
def test_mutants_of_the_shipped_packs_fail_by_name(pool, path, name):
    mutant = TRANSFORMS[name](read_pack(path.parent))
    report = check(pool, mutant, num_calls=40)
    assert name.split()[0] in {finding.code for finding in report.findings}
