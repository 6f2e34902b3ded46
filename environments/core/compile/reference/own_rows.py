"""Rows of a case's own, for what no scenario shows: a list longer than a page, a state that no row is in."""

import re
from collections.abc import Iterable
from typing import Final

from environments.core.compile.reference.forms import Row, Stored
from environments.core.compile.reference.playing import Stage
from environments.core.compile.semantics import Meaning, Part, Table, ValueKind

MAX_COPIES: Final = 101
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_WHOLE: Final = frozenset({ValueKind.INTEGER, ValueKind.EPOCH, ValueKind.EPOCH_MILLISECONDS})
OwnRows = dict[str, tuple[Row, ...]]


def with_parents(stage: Stage, scenario: str, rows: Iterable[tuple[str, Row]]) -> OwnRows:
    """Rows and everything that they point to, in the order of their keys."""
    found: dict[str, dict[tuple[Stored, ...], Row]] = {table.name: {} for table in stage.blueprint.tables}
    waiting = list(rows)
    for name, row in waiting:
        table = stage.blueprint.table(name)
        key = tuple(row[column] for column in table.primary_key)
        if key in found[name]:
            continue
        found[name][key] = row
        for foreign_key in table.foreign_keys:
            values = {
                target: row[column] for column, target in zip(foreign_key.columns, foreign_key.targets, strict=True)
            }
            waiting += [
                (foreign_key.table, each) for each in stage.look(scenario).state.find(foreign_key.table, values)
            ]
    return {
        name: tuple(each[key] for key in sorted(each, key=lambda key: [(isinstance(part, str), part) for part in key]))
        for name, each in found.items()
    }


def with_value(stage: Stage, scenario: str, table: str, row: Row, column: str, value: Stored) -> OwnRows:
    """A row with another value in one column, and everything that it points to."""
    return with_parents(stage, scenario, [(table, {**row, column: value})])


def multiplied(stage: Stage, scenario: str, meaning: Meaning, row: Row, count: int, link: Row | None) -> OwnRows | None:
    """A row and copies of it that differ in nothing but their names.

    Args:
        stage: The scenarios.
        scenario: Where the row is.
        meaning: Of a list that the row is in.
        row: The row.
        count: How many there are to be.
        link: What joins it to its parent, for a list by way of links.

    Returns:
        The rows; None if no other name can be made up.
    """
    table = stage.blueprint.table(meaning.table)
    rows: list[tuple[str, Row]] = [(table.name, row)]
    links: list[tuple[str, Row]] = []
    if meaning.through is not None:
        if link is None:
            return None
        links.append((meaning.through.table, link))
    for number in range(1, min(count, MAX_COPIES)):
        copy = _copied(table, row, number)
        if copy is None:
            return None
        rows.append((table.name, copy))
        if meaning.through is not None and link is not None:
            joined = {column: copy[target] for column, target in meaning.through.join}
            links.append((meaning.through.table, {**link, **joined}))
    return with_parents(stage, scenario, [*rows, *links])


def _copied(table: Table, row: Row, number: int) -> Row | None:
    """The row under another name."""
    pointing = {name for foreign_key in table.foreign_keys for name in foreign_key.columns}
    named = [table.key, *(names[-1] for names in table.unique)]
    copy = dict(row)
    for name in dict.fromkeys(named):
        column = table.column(name)
        value = row[name]
        if column.template is not None or (value is None and name != table.key):
            continue
        if name in pointing or column.values:
            return None
        if column.kind in _WHOLE and isinstance(value, int):
            copy[name] = value + number
        elif column.kind is ValueKind.TEXT and isinstance(value, str):
            copy[name] = _other_text(value, number)
        else:
            return None
    for column in table.columns:
        if column.template is not None:
            parts = column.template.parts
            copy[column.name] = "".join(str(copy[part.column]) if isinstance(part, Part) else part for part in parts)
    return copy


def _other_text(text: str, number: int) -> str:
    if _UUID.fullmatch(text):
        return f"{text[:-4]}{number:04x}"
    name, at, place = text.partition("@")
    return f"{name}{number}{at}{place}"
