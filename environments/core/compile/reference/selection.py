"""Which rows a meaning is about, in which order, and which of them stand on the page that is asked for."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from environments.core.compile.reference.errors import UnspecifiedError
from environments.core.compile.reference.forms import Row, holds_text, stored
from environments.core.compile.reference.rows import State
from environments.core.compile.semantics import Argument, ArgumentRole, Column, Meaning, Order, PageFact

_EQUAL = frozenset({ArgumentRole.KEY, ArgumentRole.SCOPE, ArgumentRole.FILTER})


def matching(meaning: Meaning, arguments: Mapping[str, Any], state: State) -> list[Row]:
    """The rows that a call is about, in no order that means anything.

    Args:
        meaning: What the tool means.
        arguments: With defaults filled in; an absent argument asks for nothing.
        state: The rows.
    """
    columns = state.shape.columns[meaning.table]
    joined = [name for _, name in meaning.through.scope] if meaning.through else []
    given = [
        argument
        for argument in meaning.arguments
        if argument.name not in joined and arguments.get(argument.name) is not None
    ]
    equal = {
        argument.column: stored(columns[argument.column], arguments[argument.name])
        for argument in given
        if argument.role in _EQUAL and argument.column is not None
    }
    found = state.find(meaning.table, equal) if equal else list(state.all(meaning.table))
    for argument in given:
        if argument.role not in _EQUAL:
            found = _kept(meaning, argument, arguments[argument.name], columns, found)
    return _joined(meaning, arguments, state, found) if meaning.through else found


def _kept(
    meaning: Meaning, argument: Argument, value: Any, columns: Mapping[str, Column], rows: list[Row]
) -> list[Row]:
    """The rows that one argument leaves."""
    role = argument.role
    if role is ArgumentRole.SEARCH:
        return [row for row in rows if any(holds_text(row[name], value) for name in meaning.search_columns)]
    if argument.column is None or role not in (ArgumentRole.ONE_OF, ArgumentRole.AT_LEAST, ArgumentRole.AT_MOST):
        return rows
    name, column = argument.column, columns[argument.column]
    if role is ArgumentRole.ONE_OF:
        values = [stored(column, item) for item in value]
        return [row for row in rows if row[name] in values] if values else rows
    bound: Any = stored(column, value)
    present = [(row, row[name]) for row in rows]
    if role is ArgumentRole.AT_LEAST:
        return [row for row, held in present if held is not None and held >= bound]
    return [row for row, held in present if held is not None and held <= bound]


def _joined(meaning: Meaning, arguments: Mapping[str, Any], state: State, rows: list[Row]) -> list[Row]:
    """The rows that a link table joins to the parent."""
    through = meaning.through
    if through is None:
        return rows
    columns = state.shape.columns[through.table]
    scope = {
        name: stored(columns[name], arguments[argument])
        for name, argument in through.scope
        if arguments.get(argument) is not None
    }
    links = state.find(through.table, scope) if scope else list(state.all(through.table))
    pairs = {tuple(link[name] for name, _ in through.join) for link in links}
    return [row for row in rows if tuple(row[name] for _, name in through.join) in pairs]


# --- Order ------------------------------------------------------------------------------------------------------------


def steps_of(meaning: Meaning, arguments: Mapping[str, Any]) -> tuple[Order, ...]:
    """The steps of the order that a call asks for."""
    [sort] = meaning.with_role(ArgumentRole.SORT)[:1] or (None,)
    [direction] = meaning.with_role(ArgumentRole.DIRECTION)[:1] or (None,)
    wanted = arguments.get(sort.name) if sort else None
    turned = arguments.get(direction.name) in meaning.descending_values if direction else False
    if wanted is None:
        return meaning.order
    if direction is None and "-" in meaning.descending_values and str(wanted).startswith("-"):
        wanted, turned = str(wanted)[1:], True
    column = dict(meaning.sorts).get(str(wanted))
    return meaning.order if column is None else (Order(column, turned), *meaning.order)


def ordered(rows: Sequence[Row], steps: Sequence[Order], state: State) -> list[Row]:
    """The rows in order: NULLs first going up, text by code point.

    Raises:
        UnspecifiedError: The order depends on an id that only the runtime makes.
    """
    result = list(rows)
    for step in reversed(steps):
        name = step.column
        result.sort(
            key=lambda row, name=name: (False,) if row[name] is None else (True, row[name]),  # type: ignore[misc]
            reverse=step.is_descending,
        )
    if state.fresh:
        for one, other in itertools.pairwise(result):
            name = next((step.column for step in steps if one[step.column] != other[step.column]), "")
            if name and (one[name] in state.fresh or other[name] in state.fresh):
                raise UnspecifiedError(f"the order depends on a new {name}")
    return result


# --- Pages ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list.

    Attributes:
        rows: The rows on it.
        total: Rows of the whole list.
        skipped: Rows of the list before it.
        size: Rows that it holds at most; None if a page is the whole list.
        number: As PAGE counts.
        key: Column whose value AFTER takes.
    """

    rows: tuple[Row, ...]
    total: int
    skipped: int
    size: int | None
    number: int
    key: str

    @property
    def has_more(self) -> bool:
        """Whether rows come behind it."""
        return self.skipped + len(self.rows) < self.total

    def fact(self, fact: PageFact) -> Any:
        """What an envelope says of it."""
        return {
            PageFact.TOTAL: self.total,
            PageFact.HERE: len(self.rows),
            PageFact.HAS_MORE: self.has_more,
            PageFact.NEXT_CURSOR: str(self.skipped + (self.size or 0)) if self.has_more else None,
            PageFact.NEXT_AFTER: self.rows[-1][self.key] if self.has_more and self.rows else None,
            PageFact.NEXT_PAGE: self.number + 1 if self.has_more else None,
            PageFact.PAGE: self.number,
            PageFact.SIZE: self.size,
            PageFact.OFFSET: self.skipped,
            PageFact.NUM_PAGES: -(-self.total // self.size) if self.size else min(self.total, 1),
        }[fact]


def page_of(meaning: Meaning, arguments: Mapping[str, Any], rows: Sequence[Row], state: State) -> Page:
    """The page of a list that a call asks for.

    Raises:
        UnspecifiedError: The order depends on an id that only the runtime makes.
    """
    key = state.shape.tables[meaning.table].key
    given: dict[ArgumentRole, Any] = {
        argument.role: arguments[argument.name]
        for argument in meaning.arguments
        if arguments.get(argument.name) is not None
    }
    steps = steps_of(meaning, arguments)
    size = int(given.get(ArgumentRole.SIZE, 0)) or meaning.page_size
    number = int(given.get(ArgumentRole.PAGE, meaning.first_page))
    skip = 0
    if ArgumentRole.PAGE in given and size:
        skip = (number - meaning.first_page) * size
    elif ArgumentRole.OFFSET in given:
        skip = int(given[ArgumentRole.OFFSET])
    elif ArgumentRole.CURSOR in given:
        skip = int(given[ArgumentRole.CURSOR])
    elif ArgumentRole.AFTER in given:
        return _page_behind(meaning, arguments, rows, state, key, size, given[ArgumentRole.AFTER])
    whole = ordered(rows, steps, state)
    here = whole[skip:] if size is None else whole[skip : skip + size]
    return Page(tuple(here), len(whole), skip, size, number, key)


def _page_behind(
    meaning: Meaning,
    arguments: Mapping[str, Any],
    rows: Sequence[Row],
    state: State,
    key: str,
    size: int | None,
    after: Any,
) -> Page:
    """The page that begins behind the row with a key, whether or not that row is in the list itself."""
    columns = state.shape.columns[meaning.table]
    where = {key: stored(columns[key], after)}
    for argument in meaning.with_role(ArgumentRole.SCOPE):
        if argument.column in columns and not meaning.through:
            where[argument.column] = stored(columns[argument.column], arguments[argument.name])
    found = state.find(meaning.table, where)
    if len(found) != 1:
        raise UnspecifiedError(f"{len(found)} rows of {meaning.table} have the key {after!r}")
    mark = found[0]
    whole = ordered([*(row for row in rows if row is not mark), mark], steps_of(meaning, arguments), state)
    place = next(position for position, row in enumerate(whole) if row is mark)
    is_in = any(row is mark for row in rows)
    behind = whole[place + 1 :]
    here = behind if size is None else behind[:size]
    skipped = place + 1 if is_in else place
    return Page(tuple(here), len(rows), skipped, size, meaning.first_page, key)
