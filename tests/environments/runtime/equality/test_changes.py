"""Folding changes, and what is refused before anything is compared (sentences 1, 3, 6 and 13)."""

import pytest

from environments.runtime.equality import EqualityError, StartState, compare, find_table_faults
from environments.runtime.equality.changes import fold_changes
from environments.runtime.equality.errors import (
    MalformedChangeError,
    MalformedRequestError,
    MalformedStateError,
    MalformedTablesError,
)
from environments.runtime.records import ChangeKind, RowChange
from environments.runtime.tables import ForeignKey
from tests.environments.runtime.equality.worlds import ID, NOTE, column, delete, insert, table, update

ITEMS = table("items", ID, column("name"), column("count", "INTEGER"), column("at", comparison="exempt"))
ROW = {"id": 1, "name": "a", "count": 1, "at": "t"}
NEW = {"id": 5, "name": "b", "count": 2, "at": "t"}
START = StartState([ITEMS], {"items": [ROW]})
KEY = {"id": 1}


@pytest.mark.parametrize(
    ("changes", "images"),
    [
        ([insert("items", NEW)], {5: NEW}),
        ([insert("items", NEW), delete("items", {"id": 5})], {}),
        ([insert("items", NEW), update("items", {"id": 5}, count=3)], {5: {**NEW, "count": 3}}),
        ([update("items", KEY, count=2), update("items", KEY, name="c")], {1: {**ROW, "count": 2, "name": "c"}}),
        ([update("items", KEY, count=2), update("items", KEY, count=1)], {}),
        ([update("items", KEY, count=2), delete("items", KEY)], {1: None}),
        ([delete("items", KEY), insert("items", {**ROW, "count": 9})], {1: {**ROW, "count": 9}}),
        ([delete("items", KEY), insert("items", ROW)], {}),
        ([delete("items", KEY), insert("items", ROW), delete("items", KEY)], {1: None}),
        ([update("items", {"id": 1.0}, count=2.0)], {1: {**ROW, "count": 2}}),
        ([insert("items", {**NEW, "count": True})], {5: {**NEW, "count": 1}}),
        (
            [insert("items", {name: NEW[name] for name in ("id", "name", "count")})],
            {5: {"id": 5, "name": "b", "count": 2}},
        ),
    ],
)
def test_changes_are_folded_per_key(changes, images):
    assert fold_changes(START, changes) == {("items", (key,)): image for key, image in images.items()}


UPDATE = ChangeKind.UPDATE


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (insert("nothing", NEW), "no such table"),
        (insert("items", ROW), "exists already"),
        (update("items", {"id": 2}, count=1), "does not exist"),
        (delete("items", {"id": 2}), "does not exist"),
        (RowChange("items", {}, UPDATE, None, {}), "must name id"),
        (RowChange("items", {"id": None}, UPDATE, None, {}), "no id"),
        (RowChange("items", {"id": "1"}, UPDATE, None, {}), "str in column id"),
        (RowChange("items", {"id": 1, "name": "a"}, UPDATE, None, {}), "must name id"),
        (RowChange("items", KEY, "replace", None, {}), "no kind of change"),
        (RowChange("items", KEY, UPDATE), "no image after"),
        (RowChange("items", KEY, UPDATE, None, {"id": 2}), "a changed key is a delete and an insert"),
        (RowChange("items", KEY, UPDATE, None, {"colour": "red"}), "no column colour"),
        (RowChange("items", KEY, UPDATE, None, {"count": "many"}), "str in column count"),
        (RowChange("items", KEY, UPDATE, {"count": 7}, {"count": 2}), "otherwise before in count"),
        (RowChange("items", KEY, ChangeKind.DELETE, {**ROW, "name": "z"}), "otherwise before in name"),
        (RowChange("items", KEY, ChangeKind.DELETE, ROW, ROW), "an image that its kind has not"),
        (RowChange("items", {"id": 5}, ChangeKind.INSERT, NEW, NEW), "an image that its kind has not"),
        (RowChange("items", {"id": 6}, ChangeKind.INSERT, None, NEW), "a changed key is a delete and an insert"),
        (insert("items", {"id": 5, "name": "b"}), "lacks count"),
    ],
)
def test_change_is_refused_when_it_does_not_fit(change, words):
    for sides in (([change], []), ([], [change])):
        with pytest.raises(MalformedChangeError, match=words):
            compare(START, *sides)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({"nothing": []}, "unknown tables: nothing"),
        ({"items": [ROW, ROW]}, "two rows"),
        ({"items": [{"name": "a"}]}, "no id"),
        ({"items": [{"id": 1, "name": "a"}]}, "lacks count"),
        ({"items": [{**ROW, "count": 1.5}]}, "float in column count"),
        ({"items": [{**ROW, "colour": "red"}]}, "no column colour"),
    ],
)
def test_start_rows_are_refused_when_they_do_not_fit(rows, words):
    with pytest.raises(MalformedStateError, match=words):
        compare(StartState([ITEMS], rows), [update("items", KEY, count=2)], [])


LOG = table("log", ID, column("item", "INTEGER"), role="log", foreign_keys=[ForeignKey(("item",), "items", ("id",))])


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ([ITEMS, ITEMS], "two tables"),
        ([table("t", column("a"), key=())], "no primary key"),
        ([table("t", column("a"), key=("b",))], r"absent columns \['b'\]"),
        ([table("t", ID, column("a"), key=("id", "a"))], "not the whole primary key"),
        ([table("t", column("a"), column("b", generated="id"), key=("a",))], "not the whole primary key"),
        ([table("t", NOTE, key=("note",))], "t.note identifies rows, so it cannot be semantic"),
        ([table("t", column("a", comparison="exempt"), key=("a",))], "cannot be exempt"),
        ([table("t", column("a", generated="random"), key=("a",))], "cannot be random"),
        ([table("t", ID, column("a", generated="now"), unique=[("a",)])], "cannot be now"),
        ([table("t", ID, column("a", "INTEGER", is_json=True))], "holds JSON"),
        ([table("t", ID, column("a", comparison="semantic", is_json=True))], "holds JSON"),
        ([LOG], "which is no table"),
        ([ITEMS, table("t", ID, column("a"), foreign_keys=[ForeignKey(("a",), "items", ("id",))])], "another type"),
        ([ITEMS, table("t", ID, column("a"), foreign_keys=[ForeignKey(("a",), "items", ("no",))])], "absent"),
        ([ITEMS, table("t", ID, column("a"), foreign_keys=[ForeignKey(("a",), "items", ("at",))])], "cannot be exempt"),
    ],
)
def test_tables_are_refused_when_they_cannot_be_compared(tables, words):
    assert any(find_table_faults(tables))
    with pytest.raises(MalformedTablesError, match=words):
        StartState(tables, {})


@pytest.mark.parametrize(
    "options",
    [
        {"allowed_tables": ["nothing"]},
        {"allowed_tables": ["items"]},
        {"same_rows": [("nothing", (1,), (1,))]},
        {"same_rows": [("items", (1, 2), (1,))]},
        {"same_rows": [("items", ("a",), (1,))]},
        {"budget": 0},
    ],
)
def test_request_is_refused_when_it_makes_no_sense(options):
    with pytest.raises(MalformedRequestError):
        compare(StartState([ITEMS, LOG], {}), [], [], **options)


def test_log_cannot_be_allowed_when_another_table_points_to_it():
    below = table("below", ID, column("log_id", "INTEGER"), foreign_keys=[ForeignKey(("log_id",), "log", ("id",))])
    with pytest.raises(MalformedRequestError, match="another table points to it"):
        compare(StartState([ITEMS, LOG, below], {}), [], [], allowed_tables=["log"])


def test_every_refusal_is_an_equality_error():
    for error in (MalformedChangeError, MalformedRequestError, MalformedStateError, MalformedTablesError):
        assert issubclass(error, EqualityError)
