"""Laid-out text means what it was made of, and no line is longer than it must be."""

import ast

from hypothesis import given
from hypothesis import strategies as st

from environments.core.compile.emission.names import quoted
from environments.core.compile.emission.python_text import Call, Dict, Sql, text_literal, value_literal, written
from environments.core.compile.emission.sql import literal, parameters

WORDS = st.lists(
    st.sampled_from(
        ["SELECT", "a,", "FROM t", "WHERE x = :x", "AND", "(b OR c)", "'it''s; AND'", '"o r"', "{y}", "\\n"]
    )
    | st.text("ab'\"{}\\ é\n", max_size=9).map(literal),
    max_size=40,
).map(" ".join)


@given(st.text())
def test_text_is_what_its_literal_says(text):
    assert ast.literal_eval(text_literal(text)) == text


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    )
)
def test_value_is_what_its_literal_says(value):
    assert ast.literal_eval(value_literal(value)) == value


@given(WORDS, st.booleans())
def test_sql_is_whole_however_it_is_broken(sql, is_slotted):
    text = f"{sql} {{{{where}}}} x" if is_slotted else sql
    lines = written("found = ", Call("call", (("", Sql(text)), ("value", "value"), ("other", "other"))))
    seen = {}
    scope = {"call": lambda got, **more: seen.update(got=got, **more), "where": "W", "value": 1, "other": 2}
    exec("\n".join(line[4:] for line in lines), scope)
    assert seen == {"got": f"{sql} W x" if is_slotted else sql, "value": 1, "other": 2}


@given(st.dictionaries(st.text("ab'\" ", min_size=1, max_size=30), st.text(max_size=30), max_size=8))
def test_object_is_whole_however_it_is_broken(entries):
    lines = written("found = ", Dict(tuple((name, text_literal(value)) for name, value in entries.items())))
    scope = {}
    exec("\n".join(line[4:] for line in lines), scope)
    assert scope["found"] == entries


def test_long_clauses_are_cut_at_their_parts():
    columns = ", ".join(f"column_{number}" for number in range(30))
    lines = written(
        "rows = ", Call("ctx.db.all", (("", Sql(f"SELECT {columns} FROM things WHERE id = :id")), ("id", "id")))
    )
    assert all(len(line) <= 120 for line in lines)
    assert lines[-3:] == ['        " FROM things WHERE id = :id",', "        id=id,", "    )"] or lines[-3].endswith(
        'FROM things WHERE id = :id",'
    )


def test_parameters_are_not_looked_for_in_quotation_marks():
    assert parameters("SELECT ':a', \":b\" WHERE x = :c AND y = :d AND z = :c") == ("c", "d")


def test_names_are_quoted_only_where_they_must_be():
    assert [quoted(name) for name in ("name", "order", "Random", "a b", 'a"b', "key", "1a")] == [
        "name", '"order"', '"Random"', '"a b"', '"a""b"', "key", '"1a"',
    ]  # fmt: skip


def test_literals_hold_no_word_of_the_clock():
    assert [literal(value) for value in ("UTC", "now", "it's", None, 1, 0.5)] == [
        "('UT' || 'C')", "('no' || 'w')", "'it''s'", "NULL", "1", "0.5",
    ]  # fmt: skip
