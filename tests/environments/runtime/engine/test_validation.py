"""The worker's half of validation: every fault of schema.sql, conditions and source by its name, on mutants."""

import dataclasses
import itertools
from pathlib import Path

import pytest

from environments.runtime.engine import Engine, PackRefusedError
from environments.runtime.pack import read_pack
from environments.runtime.pack.model import Case, CaseCall, Column, Condition, Rejection, Scenario, Table
from tests.factories.little_pack import (
    ROWS,
    SCHEMA,
    TABLES,
    TOOL_LIST,
    TOOLS,
    library,
    object_schema,
    with_tool,
)


def codes(pack):
    return {fault.code for fault in Engine(pack).faults}


def test_the_pack_itself_has_no_faults():
    assert Engine(library()).faults == ()


def replaced(text, old, new):
    assert old in text
    return text.replace(old, new, 1)


SCHEMA_MUTANTS = [
    (") STRICT;\nCREATE TABLE books", ");\nCREATE TABLE books", "table_not_strict"),
    ("copies INTEGER", "copies INT", "sql_type"),
    ("weight REAL", "weight BLOB", "sql_type"),
    ("weight REAL", "weight ANY", "sql_type"),
    ("weight REAL", "weight", "sql_type"),
    ("weight REAL", "weight NUMERIC", "sql_type"),
    ("id INTEGER PRIMARY KEY,\n    name", "id INTEGER PRIMARY KEY AUTOINCREMENT,\n    name", "sql_statement"),
    ("title TEXT NOT NULL", "title TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP", "sql_statement"),
    ("title TEXT NOT NULL", "title TEXT NOT NULL DEFAULT (date('now'))", "sql_statement"),
    ("number INTEGER NOT NULL", "number INTEGER NOT NULL DEFAULT (random())", "sql_statement"),
    ("email TEXT NOT NULL UNIQUE", "email TEXT NOT NULL UNIQUE ON CONFLICT ROLLBACK", "sql_statement"),
    ("REFERENCES members (id)", "REFERENCES members (id) DEFERRABLE INITIALLY DEFERRED", "sql_statement"),
    ("note TEXT\n", "note TEXT GENERATED ALWAYS AS (lent_at) STORED\n", "sql_statement"),
    ("REFERENCES members (id)", "REFERENCES nobody (id)", "foreign_key_target"),
    ("REFERENCES members (id)", "REFERENCES members (name)", "foreign_key_target"),
    ("REFERENCES members (id)", "REFERENCES members (nothing)", "sql_syntax"),
    ("member_id INTEGER NOT NULL REFERENCES", "member_id TEXT NOT NULL REFERENCES", "foreign_key_target"),
    ("REFERENCES members (id)", "REFERENCES tickets (id)", "foreign_key_log"),
    ("    number INTEGER NOT NULL\n", "    number INTEGER NOT NULL, more TEXT\n", "column_undescribed"),
    ("    note TEXT\n", "    memo TEXT\n", "column_unknown"),
    (" ON DELETE SET NULL,\n    PRIMARY KEY (room, place)\n", "\n", "table_without_key"),
    ("CREATE INDEX", "CREATE INDX", "sql_syntax"),
    ("CREATE TABLE shelf (", "CREATE TABLE shelf", "sql_syntax"),
    ("title TEXT NOT NULL,", "title TEXT NOT NULL UNIQUE, FOREIGN KEY", "sql_syntax"),
    ("loans_by_member ON loans (member_id)", "loans_by_member ON loans (nothing)", "sql_syntax"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "code"), SCHEMA_MUTANTS)
def test_mutants_of_the_schema(old, new, code):
    engine = Engine(library(schema_sql=replaced(SCHEMA, old, new)))
    assert code in {fault.code for fault in engine.faults}
    assert {column.type for table in engine.tables for column in table.columns} <= {"INTEGER", "REAL", "TEXT"}


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER t AFTER DELETE ON loans BEGIN DELETE FROM books; END",
        "CREATE TEMP TABLE x (a INTEGER PRIMARY KEY) STRICT",
        "CREATE TABLE x AS SELECT 1",
        "CREATE VIRTUAL TABLE x USING fts5(a)",
        "INSERT INTO members VALUES (1, 'a', 'a', 1)",
        "PRAGMA foreign_keys = 0",
        "ATTACH '/tmp/x' AS x",
        "DROP TABLE loans",
        "ALTER TABLE loans ADD COLUMN x TEXT",
        "BEGIN",
        "VACUUM",
        "SELECT 1",
        "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
    ],
)
def test_statements_that_schema_sql_must_not_hold(statement):
    assert "sql_statement" in codes(library(schema_sql=f"{SCHEMA}\n{statement};"))


def test_more_or_fewer_tables_than_described():
    more = f"{SCHEMA}\nCREATE TABLE extra (id INTEGER PRIMARY KEY) STRICT;"
    assert codes(library(schema_sql=more)) == {"table_undescribed"}
    described = {**TABLES, "ghosts": Table("Ghosts", "entity", {"id": Column("hard")})}
    assert codes(library(tables=described)) == {"table_unknown"}


def changed_column(table, column, value):
    columns = {**TABLES[table].columns, column: value}
    return library(tables={**TABLES, table: dataclasses.replace(TABLES[table], columns=columns)})


@pytest.mark.parametrize(
    ("table", "column", "value", "code"),
    [
        ("books", "title", Column(), "column_without_class"),
        ("loans", "member_id", Column("hard"), "column_class_foreign_key"),
        ("books", "id", Column("semantic"), "column_class_key"),
        ("books", "id", Column("exempt"), "column_class_key"),
        ("books", "id", Column(generated="random"), "column_class_key"),
        ("members", "email", Column("semantic"), "column_class_key"),
        ("members", "email", Column(generated="now"), "column_class_key"),
        ("shelf", "room", Column("semantic"), "column_class_key"),
        ("books", "tags", Column("semantic"), "column_class_json"),
        ("books", "copies", Column("semantic"), "column_class_text"),
        ("books", "title", Column(generated="id"), "generated_id_key"),
        ("shelf", "place", Column(generated="id"), "generated_id_key"),
        ("books", "copies", Column(generated="now"), "generated_type"),
        ("members", "id", Column(generated="id", format="uuid"), "generated_type"),
    ],
)
def test_mutants_of_the_classes(table, column, value, code):
    assert code in codes(changed_column(table, column, value))


def changed_tool(name, **changes):
    tools = tuple(dataclasses.replace(tool, **changes) if tool.name == name else tool for tool in TOOL_LIST)
    return library(tools=tools)


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT nothing FROM members", "condition_sql"),
        ("SELECT", "condition_sql"),
        ("SELECT 1 FROM nowhere", "condition_sql"),
        ("SELECT 1, 2 AS b", "condition_columns"),
        ("DELETE FROM loans", "condition_forbidden"),
        ("DELETE FROM loans RETURNING 1", "condition_forbidden"),
        ("SELECT random() > 0", "condition_forbidden"),
        ("SELECT date('now') > '2026'", "condition_forbidden"),
        ("SELECT 1; SELECT 1", "condition_forbidden"),
        ("PRAGMA foreign_keys", "condition_forbidden"),
        ("SELECT count(*) FROM sqlite_schema", "condition_forbidden"),
        ("SELECT load_extension('x')", "condition_forbidden"),
        ("SELECT ? = 1", "condition_forbidden"),
    ],
)
def test_mutants_of_conditions(sql, code):
    for field, place in (("preconditions", "preconditions/0/sql"), ("postconditions", "postconditions/0/sql")):
        faults = Engine(changed_tool("lend", **{field: (Condition("x", sql, "x"),)})).faults
        assert (code, f"tools/lend/{place}") in {(fault.code, fault.place) for fault in faults}
    faults = Engine(changed_tool("lend", captures={"copies": sql})).faults
    assert (code, "tools/lend/captures/copies") in {(fault.code, fault.place) for fault in faults}


SOURCE_MUTANTS = [
    ("def get_book(ctx, *, book_id):", "def get_book(ctx, book_id):", "signature"),
    ("def get_book(ctx, *, book_id):", "def get_book(ctx, *, book_id, more=None):", "signature"),
    ("def get_book(ctx, *, book_id):", "def get_book(ctx, *, book_id=None):", "signature"),
    ("def get_book(ctx, *, book_id):", "def get_book(ctx, *, book):", "signature"),
    ("def get_book(ctx, *, book_id):", "def get_book(ctx, **arguments):", "signature"),
    ("def get_book(ctx, *, book_id):", "def get_book(context, *, book_id):", "signature"),
    ("def list_books(ctx, *, limit=10):", "def list_books(ctx, *, limit=11):", "signature"),
    ("def list_books(ctx, *, limit=10):", "def list_books(ctx, *, limit):", "signature"),
    ("def lend(ctx, *, member_id, book_id, note=None):", "def lend(ctx, *, member_id, book_id, note=''):", "signature"),
    ("from_}", "from_, }", None),
    ("def join(", "def joins(", "function_missing"),
    ("def join(", "def joins(", "function_unknown"),
    ('ctx.reject("no_loan"', 'ctx.reject("no_lone"', "reject_undeclared"),
    ('ctx.reject("no_loan"', 'ctx.reject("no_lone"', "rejection_unused"),
    ('ctx.reject("no_loan"', 'ctx.reject(loan_id', "reject_undeclared"),
    ("SELECT book_id FROM loans", "SELECT book_id FROM lones", "tool_sql"),
    ("SELECT book_id FROM loans", "SELECT book FROM loans", "tool_sql"),
    ("DELETE FROM loans WHERE id = :loan_id", "DELETE FROM loans WHERE id = :id", "tool_sql"),
    ("DELETE FROM loans WHERE id = :loan_id", "DELETE FROM loans", "tool_sql"),
    ("DELETE FROM loans WHERE id = :loan_id", "DROP TABLE loans", "tool_sql"),
    ("copies = copies + 1", "copies = copies + random()", "tool_sql"),
    ("FROM books WHERE id = :book_id\"\n\n", "FROM bocks WHERE id = :book_id\"\n\n", "tool_sql"),
    ("import json", "import os", "source_forbidden"),
    ("return {\"given_back\": True}", "return {\"given_back\": True", "source_syntax"),
    ("_FIND = ", "CACHE = {}\n_FIND = ", "source_statement"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "code"), SOURCE_MUTANTS)
def test_mutants_of_the_source(old, new, code):
    found = codes(library(tools_py=replaced(TOOLS, old, new)))
    assert (code in found) if code else not found


def test_an_argument_that_the_schema_lacks_and_one_that_the_function_lacks():
    pack = changed_tool("join", input_schema=object_schema(("name",), name={"type": "string"}))
    messages = [fault.message for fault in Engine(pack).faults if fault.code == "signature"]
    assert any("has no email" in message for message in messages)
    assert any("default" in message for message in messages) is False
    pack = changed_tool("join", argument_names={"name": "called"})
    assert any("lacks called" in fault.message for fault in Engine(pack).faults)


def test_codes_of_helpers_count_for_the_tools_that_call_them():
    source = (
        "def _check(ctx):\n    ctx.reject('shut', 'Shut.')\n\n\n"
        "def _more(ctx):\n    _check(ctx)\n\n\n"
        "def act(ctx):\n    _more(ctx)\n    return {}"
    )
    assert codes(with_tool(source, rejections=(Rejection("shut", "Shut."),))) == set()
    assert codes(with_tool(source)) == {"reject_undeclared"}


@pytest.mark.parametrize(
    ("table", "row", "code"),
    [
        ("books", {"copies": -1}, "scenario_rows"),
        ("books", {"copies": "two"}, "scenario_rows"),
        ("books", {"copies": None}, "scenario_rows"),
        ("books", {"tags": "no json"}, "scenario_rows"),
        ("books", {"nothing": 1}, "scenario_rows"),
        ("loans", {"member_id": 99}, "scenario_foreign_keys"),
        ("loans", {"id": "a"}, "scenario_key_order"),
        ("members", {"email": "ada@example.org"}, "scenario_rows"),
    ],
)
def test_mutants_of_scenarios_and_of_rows_of_cases(table, row, code):
    last = {**ROWS[table][-1], **row}
    rows = {**ROWS, table: (*ROWS[table][:-1], last)}
    scenario = Scenario("small", "simple", "2026-03-02T09:00:00Z", 5, rows)
    faults = Engine(library(scenarios=(scenario,))).faults
    assert code in {fault.code for fault in faults}
    assert all(fault.place.startswith(f"scenarios/small/rows/{table}") for fault in faults)
    case = Case("one", "draw", "success", (CaseCall("draw", {}),), (), (), "person", rows=rows)
    assert code in codes(library(cases=(case,)))


def test_gate_false_runs_what_the_gate_refuses():
    pack = with_tool("CACHE = []\ndef act(ctx):\n    CACHE.append(1)\n    return {'n': len(CACHE)}")
    with pytest.raises(PackRefusedError):
        Engine(pack).open("small")
    episode = Engine(pack, gate=False).open("small")
    assert episode.call("act", {}).observation == '{"n":1}'


def test_classes_and_helpers_are_new_in_each_episode():
    source = (
        "class Count:\n    def __init__(self):\n        self.n = 0\n\n\n"
        "def _next(ctx):\n    Count.n = 1 + (Count.n if 'n' in Count.__dict__ else 0)\n    return Count.n\n\n\n"
        "def act(ctx):\n    act.n = act.__dict__.get('n', 0) + 1\n    return {'n': _next(ctx), 'm': act.n}"
    )
    engine = Engine(with_tool(source, effect="read"), gate=False)
    episode = engine.open("small")
    assert episode.call("act", {}).observation == '{"n":1,"m":1}'
    assert episode.call("act", {}).observation == '{"n":2,"m":2}'
    episode.reset()
    assert episode.call("act", {}).observation == '{"n":1,"m":1}'
    assert engine.open("small").call("act", {}).observation == '{"n":1,"m":1}'


def test_building_an_engine_and_opening_an_episode_execute_nothing_of_the_pack():
    engine = Engine(library(tools_py=f"{TOOLS}\n1 / 0\n"), gate=False)
    episode = engine.open("small")
    assert episode.state()["books"]
    assert episode.call("draw", {}).code == "internal_error"


PACKS = sorted((Path(__file__).parents[4] / "environments" / "packs").glob("*/environment.json"))


@pytest.mark.parametrize("path", PACKS, ids=lambda path: path.parent.name)
def test_the_shipped_packs_have_no_faults(path):
    assert Engine(read_pack(path.parent)).faults == ()


@pytest.mark.parametrize("path", PACKS, ids=lambda path: path.parent.name)
def test_dropping_any_helper_or_tool_of_a_shipped_pack_is_found(path):
    pack = read_pack(path.parent)
    for tool in itertools.islice(pack.tools, 6):
        source = replaced(pack.tools_py, f"def {tool.name}(", f"def _{tool.name}(")
        assert "function_missing" in codes(dataclasses.replace(pack, tools_py=source))
