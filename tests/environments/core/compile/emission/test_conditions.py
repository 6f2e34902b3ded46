"""Post-conditions that are easily said wrongly."""

import sqlite3

import pytest

from environments.core.compile.emission.conditions import postconditions
from environments.core.compile.emission.sql import Subject
from environments.core.compile.semantics import (
    Answer,
    ArgumentRole,
    Assignment,
    Blueprint,
    ColumnRole,
    Kind,
    Meaning,
    Result,
    Source,
    Table,
    ValueKind,
)
from tests.factories.blueprints import argument, column


@pytest.mark.parametrize("name", ["value", "id", "path", "data"])
def test_json_column_is_compared_by_its_own_members_whatever_it_is_called(name):
    table = Table(
        "settings",
        "setting",
        "",
        (column("code", role=ColumnRole.KEY, is_required=True), column(name, ValueKind.JSON, {"type": "object"})),
        ("code",),
    )
    meaning = Meaning(
        Kind.PATCH,
        "settings",
        (
            argument("code", ArgumentRole.KEY, is_required=True),
            argument(name, ArgumentRole.SET, {"type": "object"}),
        ),
        (),
        Result(Answer.NOTHING),
        assignments=(Assignment(name, Source.ARGUMENT, name),),
    )
    blueprint = Blueprint("some_service", "t", "d", "d", "p", "plain", (table,), (), ())
    (condition,) = postconditions(Subject.of(meaning, blueprint))
    database = sqlite3.connect(":memory:")
    database.execute(f'CREATE TABLE settings (code TEXT PRIMARY KEY, "{name}" TEXT)')
    database.execute("INSERT INTO settings VALUES ('a', '{\"x\": 1}'), ('b', '{}')")

    def holds(code, value):
        return database.execute(condition.sql, {"code": code, name: value}).fetchone()[0]

    assert holds("a", '{"x":1}')
    assert not holds("a", "{}")
    assert holds("b", "{}")
    assert not holds("b", '{"x":1}')
    assert holds("a", None)
