"""Changed rows and cells as pages show them."""

from typing import Any

import pytest
from django.template.loader import render_to_string

from environments.runtime.records import ChangeKind, RowChange
from environments.templatetags.records import CELL_CHARACTERS, at, cell, changes_by_table, pairs, visible

INSERT = {"table": "loans", "key": {"id": 1}, "kind": "insert", "before": None, "after": {"id": 1, "note": None}}
UPDATE = RowChange("loans", {"id": 2}, ChangeKind.UPDATE, {"note": "a"}, {"note": ""})
MINUS = "\N{MINUS SIGN}"
DELETE = RowChange("books", {"room": "e", "place": 3}, ChangeKind.DELETE, {"room": "e", "place": 3, "book": "x"}, None)


def rendered(**context: Any) -> str:
    return render_to_string("environments/_row_changes.html", context)


def test_changes_are_shown_by_table_with_sign_key_and_cells():
    loans, books = changes_by_table([INSERT, DELETE, UPDATE])

    assert (loans.name, loans.num_inserted, loans.num_changed, loans.num_deleted) == ("loans", 1, 1, 0)
    assert [(change.sign, change.key, change.cells) for change in loans.changes] == [
        ("+", [("id", 1)], [("note", None, None)]),
        ("~", [("id", 2)], [("note", "a", "")]),
    ]
    assert books.changes[0].key == [("room", "e"), ("place", 3)]
    assert books.changes[0].cells == [("book", "x", None)]


def test_partial_tells_null_and_empty_text_apart_and_says_the_words():
    html = rendered(changes=[INSERT, UPDATE, DELETE])

    assert "NULL" in html
    assert "empty text" in html
    assert "+1 inserted" in html
    assert f"{MINUS}1 deleted" in html
    assert "~1 changed" in html
    assert "becomes" in html


def test_partial_shows_at_most_what_it_may_and_counts_the_rest():
    html = rendered(changes=[INSERT, UPDATE, DELETE], limit=1)

    assert html.count("<tbody") == 1
    assert "2 more changed rows are not shown." in html


def test_partial_says_that_nothing_changed():
    assert "No row changed." in rendered(changes=[])
    assert "All as it was." in rendered(changes=None, nothing="All as it was.")


def test_values_are_text_whatever_they_hold():
    change = {**INSERT, "after": {"note": "<script>alert(1)</script>\x00\u202e"}, "key": {"<b>": "<i>"}}

    html = rendered(changes=[{**change, "table": "<u>"}])

    assert "<script>" not in html
    assert "<b>" not in html
    assert "<u>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;␀\\u202e" in html


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\tb\nc", "a\tb\nc"), ("\x1b[31m", "␛[31m"), ("\x7f", "␡"), ("\x85", "\\u0085"), ("\u200b", "\\u200b"),
     ("\ud800", "\ufffd"), (5, "5"), ("né", "né")],
)  # fmt: skip
def test_no_character_hides(text, shown):
    assert visible(text) == shown


def test_long_cells_are_folded_and_cut():
    html = cell("x" * (CELL_CHARACTERS + 1234))

    assert html.startswith("<details")
    assert "and 1,234 more characters" in html
    assert len(html) < CELL_CHARACTERS + 1000


def test_at_gives_nothing_for_nothing():
    assert at({"a": 1}, "a") == 1
    assert at({"a": 1}, "b") is None
    assert at(None, "a") is None


def test_pairs_are_those_of_a_mapping_with_any_keys():
    assert pairs({"items": 1, "a": 2}) == [("items", 1), ("a", 2)]
