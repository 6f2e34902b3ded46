"""Columns that name rows of another table without a foreign key: `active_deployment_name`, `hub`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from environments.core.compile.reading.words import singular, words_of
from environments.core.compile.rows.parents import Made, Row
from environments.core.compile.rows.plans import Change, TablePlan
from environments.core.compile.semantics import Blueprint, Table, Value, ValueKind

_REWRITTEN: Final = frozenset({Change.CASE, Change.WILDCARD, Change.NO_WILDCARD})
_NAMES: Final = ("name", "display_name", "title")


@dataclass(frozen=True, slots=True)
class Borrowed:
    """A column that holds another table's.

    Attributes:
        column: Of the table that names.
        table: That is named.
        source: Its column.
    """

    column: str
    table: str
    source: str


def borrowed_columns(plan: TablePlan, blueprint: Blueprint) -> tuple[Borrowed, ...]:
    """Columns whose name is another table's noun, alone, or with words before it and `_name` behind."""
    searched = {probe.column for probe in plan.probes if probe.change in _REWRITTEN}
    parts = {name for column in plan.templates for name in _parts(plan.table, column.name)}
    kept = {*searched, *parts, *plan.table.primary_key, *(name for names in plan.table.unique for name in names)}
    found = []
    for column in plan.made:
        if column.kind is not ValueKind.TEXT or column.values or column.name in kept or column.name in plan.states:
            continue
        words = words_of(column.name)
        has_ending = len(words) > 1 and words[-1] == "name"
        stem = words[:-1] if has_ending else words
        for other in blueprint.tables:
            noun = words_of(other.noun)
            is_named = stem[-len(noun) :] == noun if has_ending else stem == noun
            if other.name == plan.table.name or not is_named or singular(column.name) == plan.table.noun:
                continue
            source = _source(other, has_ending=has_ending)
            if source is not None:
                found.append(Borrowed(column.name, other.name, source))
                break
    return tuple(found)


def _parts(table: Table, name: str) -> list[str]:
    template = table.column(name).template
    return [] if template is None else [part.column for part in template.parts if not isinstance(part, str)]


def _source(table: Table, *, has_ending: bool) -> str | None:
    texts = {column.name for column in table.columns if column.kind is ValueKind.TEXT}
    wanted = (*_NAMES, table.key) if has_ending else (table.key, *_NAMES)
    return next((name for name in wanted if name in texts), None)


def borrow(borrowed: Borrowed, mine: Made, theirs: Made) -> None:
    """Gives each row a value that a row of the other table has: of its own children or scope if there are any.

    Rows that had the same value have the same again where neither children nor a scope decides.
    """
    shared = [
        name
        for name in mine.plan.table.primary_key[:-1]
        if any(column.name == name for column in theirs.plan.table.columns)
    ]
    children = next((key for key in theirs.plan.parents if key.table == mine.plan.table.name), None)
    chosen: dict[tuple[Value, ...], Value] = {}
    for row in mine.rows:
        if row[borrowed.column] is None:
            continue
        numbers: Sequence[int] = theirs.where(tuple(shared), tuple(row[name] for name in shared))
        if children is not None:
            own = set(theirs.where(children.columns, tuple(row[name] for name in children.targets)))
            numbers = [number for number in numbers if number in own]
        values = dict.fromkeys(_fitting(theirs.rows, numbers, borrowed.source, mine.plan, borrowed.column))
        if values:
            place = (row[borrowed.column], *values)
            if place not in chosen:
                taken = sum(known[1:] == place[1:] for known in chosen)
                chosen[place] = list(values)[taken % len(values)]
            row[borrowed.column] = chosen[place]
        elif children is not None and not mine.plan.table.column(borrowed.column).is_required:
            row[borrowed.column] = None


def _fitting(rows: Sequence[Row], numbers: Sequence[int], source: str, plan: TablePlan, column: str) -> list[Value]:
    spec = plan.specs[column]
    found = []
    for number in numbers:
        value = rows[number][source]
        is_short = isinstance(value, str) and spec.min_length <= len(value) <= (spec.max_length or 1 << 30)
        if is_short and (spec.check is None or spec.check(value)):
            found.append(value)
    return found
