"""The static check: each rule finds the mutant made for it, and nothing in the packs that are right."""

import dataclasses
from pathlib import Path

import pytest

from environments.core.logic import Severity, ToolUse, check_logic
from environments.runtime.engine import Engine
from environments.runtime.pack import read_pack
from environments.runtime.pack.model import Condition, Scenario
from environments.runtime.tables import ColumnInfo, ForeignKey, TableInfo
from tests.factories.little_pack import NUMBER, ROWS, SCHEMA, TEXT, TOOLS, library, object_schema, with_tool

PACKS = sorted((Path(__file__).parents[4] / "environments" / "packs").glob("*/environment.json"))
TABLES = Engine(library()).tables
BOOK = object_schema(("book_id",), book_id=TEXT)


def act(*before, after=(), captures=None, inputs=BOOK, body="return {'x': 1}", **more):
    """The lending library with a tool of these conditions."""
    names = "".join(f", {name}{'' if name in inputs['required'] else '=None'}" for name in inputs["properties"])
    arguments = f", *{names}" if names else ""
    return with_tool(
        f"def act(ctx{arguments}):\n    {body}",
        inputs=inputs,
        captures=captures or {},
        preconditions=tuple(Condition(f"code_{n}", sql, "No.") for n, sql in enumerate(before)),
        postconditions=tuple(Condition(f"after_{n}", sql, "No.") for n, sql in enumerate(after)),
        **more,
    )


def found(pack, tables=TABLES):
    return {(one.code, one.severity) for one in check_logic(pack, tables).findings if one.code != "table_unused"}


def codes(pack, tables=TABLES):
    return {code for code, _ in found(pack, tables)}


# --- Packs that are right ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PACKS, ids=lambda path: path.parent.name)
def test_shipped_packs_have_no_finding(path):
    pack = read_pack(path.parent)
    report = check_logic(pack, Engine(pack).tables)
    assert report.findings == ()
    assert report.tools.keys() == {tool.name for tool in pack.tools}


def test_little_pack_has_one_warning_for_the_table_that_no_tool_uses():
    report = check_logic(library(), TABLES)
    assert [(one.code, one.place) for one in report.findings] == [("table_unused", "tables/shelf")]
    assert (report.errors, len(report.warnings)) == ((), 1)


def test_map_of_tools_and_tables_joins_what_is_written_and_what_was_seen():
    seen = {"draw": ToolUse(written_tables=frozenset({"shelf"}))}
    tools = check_logic(library(), TABLES, seen).tools
    assert tools["lend"].read_tables == {"books", "members", "loans"}
    assert tools["lend"].written_tables == {"books", "loans"}
    assert ("loans", "note") in tools["lend"].writes
    assert tools["get_book"].read_tables == {"books"}  # by way of a helper
    assert tools["draw"].written_tables == {"tickets", "shelf"}


# --- Names and types --------------------------------------------------------------------------------------------------


def test_name_that_no_table_has_is_found_in_conditions_and_code():
    assert codes(act("SELECT EXISTS (SELECT 1 FROM novels WHERE id = :book_id)")) == {"name_unknown"}
    assert codes(act("SELECT pages > 0 FROM books WHERE id = :book_id")) == {"name_unknown"}
    body = "return ctx.db.one('SELECT pages FROM books WHERE id = :id', id=book_id)"
    assert codes(act(body=body)) == {"name_unknown"}


@pytest.mark.parametrize(
    ("sql", "schema"),
    [
        ("SELECT EXISTS (SELECT 1 FROM members WHERE id = :key)", TEXT),
        ("SELECT EXISTS (SELECT 1 FROM books WHERE id = :key)", NUMBER),
        ("SELECT copies > '1' FROM books WHERE title = :key", TEXT),
        ("SELECT EXISTS (SELECT 1 FROM books b JOIN members m ON m.id = b.title WHERE b.id = :key)", TEXT),
    ],
)
def test_type_that_does_not_fit_its_column_is_found(sql, schema):
    assert "type_mismatch" in codes(act(sql, inputs=object_schema(("key",), key=schema)))


def test_type_that_fits_is_not_found():
    either = {"type": ["integer", "null"]}
    assert codes(act("SELECT :key IS NULL OR copies >= :key FROM books WHERE id = 'bk-1'",
                     inputs=object_schema((), key=either))) == set()  # fmt: skip


def test_type_is_held_against_the_column_that_code_writes():
    body = "ctx.db.run('UPDATE books SET copies = :n', n=book_id)\n    return {'x': 1}"
    assert codes(act(body=body)) == {"type_mismatch"}
    changed = "book_id = 1\n    ctx.db.run('UPDATE books SET copies = :n', n=book_id)\n    return {'x': 1}"
    assert codes(act(body=changed)) == set()


def test_values_that_a_column_never_holds_are_found():
    assert "values_apart" in codes(act("SELECT is_active = 2 FROM members WHERE email = :book_id"))
    inputs = object_schema(("state",), state={"type": "integer", "enum": [3, 4]})
    assert "values_apart" in codes(act("SELECT EXISTS (SELECT 1 FROM members WHERE is_active = :state)", inputs=inputs))


# --- Keys -------------------------------------------------------------------------------------------------------------


def table(name, *keys, key="id", unique=(), **columns):
    kinds = {"id": "INTEGER", **columns}
    infos = tuple(ColumnInfo(one, kind.removesuffix("?"), kind.endswith("?")) for one, kind in kinds.items())
    return TableInfo(name, "entity", infos, (key,) if key else (), keys, unique)


def key_codes(*tables, rows=None):
    pack = library(tools=(), scenarios=(Scenario("one", "simple", "2026-03-02T09:00:00Z", 0, rows or {}),))
    return found(pack, tables)


def test_keys_that_do_not_work_are_found():
    to_a = ForeignKey(("a_id",), "a", ("id",))
    error, warning = Severity.ERROR, Severity.WARNING
    assert key_codes(table("a"), table("b", to_a, a_id="INTEGER")) == set()
    assert key_codes(table("a", key=None)) == {("key_missing", error)}
    assert key_codes(table("a", id="REAL")) == {("key_type", error)}
    assert key_codes(table("b", to_a, a_id="INTEGER")) == {("foreign_key_unknown", error)}
    assert key_codes(table("a"), table("b", to_a, a_id="TEXT")) == {("foreign_key_type", error)}
    to_name = ForeignKey(("a_title",), "a", ("title",))
    assert key_codes(table("a", title="TEXT"), table("b", to_name, a_title="TEXT")) == {("foreign_key_no_key", error)}
    unique = table("a", title="TEXT", unique=(("title",),))
    assert key_codes(unique, table("b", to_name, a_title="TEXT")) == set()
    assert key_codes(table("b", ForeignKey(("a_id",), "b", ("nothing",)), a_id="INTEGER")) == {
        ("foreign_key_unknown", error)
    }
    circle = (
        table("a", ForeignKey(("b_id",), "b", ("id",)), b_id="INTEGER"), table("b", to_a, a_id="INTEGER"),
    )  # fmt: skip
    assert key_codes(*circle) == {("foreign_key_cycle", error)}
    assert key_codes(*circle, rows={"a": ({"id": 1, "b_id": 1},), "b": ({"id": 1, "a_id": 1},)}) == {
        ("foreign_key_cycle", warning)
    }
    loose = (table("a", ForeignKey(("b_id",), "b", ("id",)), b_id="INTEGER?"), circle[1])
    assert key_codes(*loose) == {("foreign_key_cycle", warning)}
    tree = table("a", ForeignKey(("up",), "a", ("id",)), up="INTEGER?")
    assert key_codes(tree) == set()


# --- Reaching a tool --------------------------------------------------------------------------------------------------

NO_SHELF = tuple(
    Scenario(
        "bare", "simple", "2026-03-02T09:00:00Z", 5, {name: rows for name, rows in ROWS.items() if name != "shelf"}
    )
    for _ in range(1)
)
ROOM = object_schema(("room",), room=TEXT)
ON_SHELF = "SELECT EXISTS (SELECT 1 FROM shelf WHERE room = :room)"


def test_tool_that_needs_a_row_nothing_can_make_is_found():
    pack = act(ON_SHELF, inputs=ROOM)
    assert codes(pack) == set()
    bare = dataclasses.replace(pack, scenarios=NO_SHELF)
    assert "tool_unreachable" in codes(bare)


def test_tool_that_makes_the_row_is_enough_if_it_can_be_reached():
    pack = dataclasses.replace(act(ON_SHELF, inputs=ROOM), scenarios=NO_SHELF)
    insert = (
        "\n\ndef put(ctx, *, room):\n"
        "    ctx.db.run('INSERT INTO shelf (room, place) VALUES (:room, 1)', room=room)\n    return {'x': 1}\n"
    )
    put = dataclasses.replace(pack.tools[-1], name="put", preconditions=())
    assert codes(dataclasses.replace(pack, tools=(*pack.tools, put), tools_py=pack.tools_py + insert)) == set()
    needy = dataclasses.replace(put, preconditions=(Condition("x", ON_SHELF, "No."),))
    waiting = dataclasses.replace(pack, tools=(*pack.tools, needy), tools_py=pack.tools_py + insert)
    assert "tool_unreachable" in codes(waiting)


# --- Conditions -------------------------------------------------------------------------------------------------------

OPEN = "SELECT copies > 0 FROM books WHERE id = :book_id"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (OPEN, "SELECT copies = 0 FROM books WHERE id = :book_id"),
        (OPEN, "SELECT b.copies < 1 FROM books b WHERE b.id = :book_id"),
        ("SELECT EXISTS (SELECT 1 FROM books WHERE id = :book_id)",
         "SELECT NOT EXISTS (SELECT 1 FROM books WHERE id = :book_id)"),
        ("SELECT count(*) = 0 FROM loans WHERE book_id = :book_id",
         "SELECT EXISTS (SELECT 1 FROM loans WHERE book_id = :book_id)"),
        ("SELECT :book_id = 'a'", "SELECT :book_id IN ('b', 'c')"),
        ("SELECT title IN ('a', 'b') FROM books WHERE id = :book_id",
         "SELECT title = 'c' FROM books WHERE id = :book_id"),
    ],
)  # fmt: skip
def test_conditions_that_never_hold_together_are_found(first, second):
    assert codes(act(first, second)) == {"conditions_contradict"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (OPEN, "SELECT copies < 5 FROM books WHERE id = :book_id"),
        (OPEN, "SELECT copies = 0 FROM books WHERE id = 'other'"),
        (OPEN, "SELECT weight > 0 AND weight < 1 FROM books WHERE id = :book_id"),
        ("SELECT length(:book_id) > 3", "SELECT length(:book_id) < 9"),
        ("SELECT :book_id <> 'a'", "SELECT :book_id <> 'b'"),
    ],
)
def test_conditions_that_may_hold_together_are_not_found(first, second):
    assert codes(act(first, second)) == set()


def test_condition_that_never_holds_is_found():
    assert "condition_never_holds" in codes(act("SELECT 1 = 2"))
    assert "condition_never_holds" in codes(act("SELECT copies < 1 AND copies > 1 FROM books WHERE id = :book_id"))
    few = object_schema(("n",), n={"type": "integer", "minimum": 1, "maximum": 9})
    assert "condition_never_holds" in codes(act("SELECT :n < 1", inputs=few))
    assert "condition_never_holds" not in codes(act("SELECT :n < 2", inputs=few))


def test_code_that_nothing_can_be_rejected_with_is_found():
    there = "SELECT EXISTS (SELECT 1 FROM books WHERE id = :book_id)"
    assert codes(act(OPEN, there)) == {"rejection_impossible"}
    assert codes(act(there, OPEN)) == set()
    few = object_schema(("n",), n={"type": "integer", "minimum": 1})
    assert codes(act("SELECT :n > 0", inputs=few)) == {"rejection_impossible"}


def test_post_condition_that_the_captured_state_contradicts_is_found():
    captures = {"copies": "SELECT copies FROM books WHERE id = :book_id"}
    assert codes(act(OPEN, after=("SELECT :before_copies = 0",), captures=captures)) == {"postcondition_contradicts"}
    assert codes(act(OPEN, after=("SELECT :before_copies = 1",), captures=captures)) == set()
    # After the call the column may be anything.
    assert codes(act(OPEN, after=("SELECT copies = 0 FROM books WHERE id = :book_id",))) == set()


def test_post_conditions_that_never_hold_together_are_found():
    after = ("SELECT copies = 0 FROM books WHERE id = :book_id", "SELECT copies = 1 FROM books WHERE id = :book_id")
    assert codes(act(after=after)) == {"conditions_contradict"}
    assert codes(act(after=("SELECT 0",))) == {"condition_never_holds"}


def test_condition_that_no_row_of_any_scenario_meets_is_found_unless_a_tool_can_change_that():
    never = "SELECT place > 7 FROM shelf WHERE room = :room"
    assert codes(act(never, inputs=ROOM)) == {"condition_unmet"}
    assert codes(act("SELECT place > 1 FROM shelf WHERE room = :room", inputs=ROOM)) == set()
    body = "ctx.db.run('UPDATE shelf SET place = 9 WHERE room = :room', room=room)\n    return {'x': 1}"
    assert codes(act(never, inputs=ROOM, body=body)) == set()


def test_condition_that_always_holds_is_a_warning():
    pack = act("SELECT NOT EXISTS (SELECT 1 FROM shelf WHERE place > 7)")
    assert found(pack) == {("condition_always_holds", Severity.WARNING)}


def test_same_findings_in_the_same_order_twice():
    pack = act("SELECT nothing FROM nowhere", "SELECT 1 = 2")
    assert check_logic(pack, TABLES) == check_logic(pack, Engine(library()).tables)


def test_source_that_is_no_python_is_left_to_validation():
    assert codes(library(tools_py=TOOLS + "\ndef (")) == set()
    assert codes(library(schema_sql=SCHEMA + ";;")) == set()
