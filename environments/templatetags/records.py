"""Template tags for what calls did: changed rows, cells, and text from outside made harmless to read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from environments.runtime.net_changes import change_from_json
from environments.runtime.records import ChangeKind, RowChange, Value
from environments.templatetags.console import count

register = template.Library()

MAX_CHANGES = 100
"""Changed rows that one list shows unless it is told otherwise."""
PREVIEW_CHARACTERS = 160
"""Of a cell, before the rest is folded."""
CELL_CHARACTERS = 4096
"""Of a cell, unfolded."""

_PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"} | {0x7F: "\u2421"}
# Control characters of the second kind, and what has no width or turns the reading direction.
_UNSEEN = ((0x80, 0x9F), (0xAD, 0xAD), (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0xFEFF, 0xFEFF))
_ESCAPED = {code: f"\\u{code:04x}" for first, last in _UNSEEN for code in range(first, last + 1)}
_VISIBLE = _PICTURES | _ESCAPED | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


@dataclass(frozen=True, slots=True)
class ShownChange:
    """One changed row as a page lists it.

    Attributes:
        sign: Plus, minus or tilde.
        tint: The part of the class name that colours it: inserted, deleted or changed.
        word: What the sign says.
        key: Column and value of its primary key.
        cells: Column, value before and value after; an inserted row has only those after, a deleted one those before.
    """

    kind: str
    sign: str
    tint: str
    word: str
    key: Sequence[tuple[str, Value]]
    cells: Sequence[tuple[str, Value, Value]]


@dataclass(slots=True)
class ShownTable:
    """The changed rows of one table, with how many of each kind there are in all, shown or not."""

    name: str
    changes: list[ShownChange]
    num_inserted: int = 0
    num_deleted: int = 0
    num_changed: int = 0


@register.filter
def at(found: Mapping[str, Any] | None, key: str) -> Any:
    """Return what a mapping holds for a key that the template does not know; None for nothing."""
    return found.get(key) if found else None


@register.filter
def pairs(found: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return a mapping's keys with their values; `.items` would be its value for the key “items”."""
    return list(found.items())


@register.filter
def visible(text: object) -> str:
    """Return text from outside with every character that a reader could not see, or that turns the line, shown."""
    return str(text).translate(_VISIBLE)


@register.filter
def cell(value: Value) -> SafeString:
    """Return a column's value for a table's cell: NULL and nothing told apart from text, long text folded."""
    if value is None:
        return format_html('<span class="cell-null">{}</span>', "NULL")
    if value == "":
        return format_html('<span class="cell-null">{}</span>', _("empty text"))
    text = visible(value)
    if len(text) <= PREVIEW_CHARACTERS:
        return format_html('<span class="cell-value">{}</span>', text)
    rest = len(text) - CELL_CHARACTERS
    more = _("and %(count)s more characters") % {"count": count(rest)} if rest > 0 else ""
    return format_html(
        '<details class="cell-long"><summary><span class="cell-value">{}…</span></summary>'
        '<div class="cell-value">{}</div><span class="muted">{}</span></details>',
        text[:PREVIEW_CHARACTERS], text[:CELL_CHARACTERS], more,
    )  # fmt: skip


@register.filter
def changes_by_table(changes: Iterable[RowChange | Mapping[str, Any]] | None, limit: object = None) -> list[ShownTable]:
    """Return changed rows by table, at most `limit` of them in all; the counts of a table are of all its rows."""
    most = MAX_CHANGES if limit in (None, "") else int(str(limit))
    tables: dict[str, ShownTable] = {}
    num_shown = 0
    for given in changes or ():
        change = given if isinstance(given, RowChange) else change_from_json(given)
        table = tables.setdefault(change.table, ShownTable(change.table, []))
        if change.kind is ChangeKind.INSERT:
            table.num_inserted += 1
        elif change.kind is ChangeKind.DELETE:
            table.num_deleted += 1
        else:
            table.num_changed += 1
        if num_shown < most:
            table.changes.append(_shown(change))
            num_shown += 1
    return list(tables.values())


def _shown(change: RowChange) -> ShownChange:
    before, after = change.before or {}, change.after or {}
    # The key stands beside the sign and is not repeated among the columns.
    names = [name for name in dict.fromkeys((*before, *after)) if name not in change.key]
    cells = [(name, before.get(name), after.get(name)) for name in names]
    sign, tint, word = {
        ChangeKind.INSERT: ("+", "inserted", _("inserted")),
        ChangeKind.DELETE: ("−", "deleted", _("deleted")),  # noqa: RUF001 - the minus sign, as wide as the plus
        ChangeKind.UPDATE: ("~", "changed", _("changed")),
    }[change.kind]
    return ShownChange(change.kind.value, sign, tint, word, list(change.key.items()), cells)


@register.filter
def num_left_out(tables: Sequence[ShownTable]) -> int:
    """Return how many changed rows of `changes_by_table` are counted but not shown."""
    return sum(
        table.num_inserted + table.num_deleted + table.num_changed - len(table.changes) for table in tables
    )  # fmt: skip
