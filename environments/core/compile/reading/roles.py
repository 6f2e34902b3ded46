"""What an input of a list does besides naming a column: pages, orders, searches, bounds."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from environments.core.compile.reading.calls import Input, Shape, ShapeType
from environments.core.compile.reading.shapes import Shapes
from environments.core.compile.reading.vocabulary import (
    AFTER,
    AT_LEAST_WORDS,
    AT_MOST_WORDS,
    CREATED,
    CURSOR,
    DIRECTION,
    DIRECTION_VALUES,
    OFFSET,
    PAGE,
    SEARCH,
    SIZE,
    SORT,
    STRICT_PAGING,
    TIME_RANGES,
    UPDATED,
)
from environments.core.compile.reading.words import singular, snake, squash
from environments.core.compile.semantics import ArgumentRole

Columns = Mapping[str, Shape]
"""Shapes of the row's members by squashed name."""
Read = tuple[ArgumentRole | None, str]
"""A role and the name of the column that is meant; the input's own name where it has no other."""

_NUMBERS: Final = frozenset({ShapeType.INTEGER, ShapeType.NUMBER})
_COUNTING: Final = _NUMBERS | {ShapeType.STRING, ShapeType.ANY}
_OPERATORS: Final[Mapping[str, ArgumentRole]] = {
    **dict.fromkeys(("gte", "ge", "min", "from", "after", "start", "since", ">", ">="), ArgumentRole.AT_LEAST),
    **dict.fromkeys(("lte", "le", "max", "to", "before", "end", "until", "<", "<="), ArgumentRole.AT_MOST),
    "in": ArgumentRole.ONE_OF,
}
_EQUAL: Final = frozenset({"eq", "exact", "iexact", ""})
_LANGUAGE: Final = re.compile(
    r"\b(lucene|expressions?|syntax|sql|odata|json|operators?|dsl|jql|cql|fiql|rsql|regex|regular|logical|conditions?)\b",
    re.IGNORECASE,
)
"""A search in a language of its own."""
_TIME_WORDS: Final = re.compile(
    r"\b(dates?|times?|timestamps?|iso.?8601|epoch|day|rfc.?3339|datetime)\b", re.IGNORECASE
)
_TIME_NAME: Final = re.compile(r"(date|time|timestamp|at|on|datetime|day)$")
_SURE_BOUNDS: Final = frozenset({"min", "minimum", "max", "maximum", "gte", "lte", "ge", "le", "lower", "upper"})
_TIME_FORMATS: Final = frozenset({"date", "date-time", "datetime"})
_TIME_TAILS: Final = ("", "at", "on", "date", "time", "datetime", "timestamp")
_FIRST: Final = re.compile(r"offset|index|first result|skip|start", re.IGNORECASE)
"""`first` is a size, unless it says otherwise."""
_ORDERED: Final = re.compile(r"\b(asc|desc|ascending|descending)\b", re.IGNORECASE)


def role_of(each: Input, columns: Columns, patterns: Sequence[re.Pattern[str]], shapes: Shapes) -> Read:
    """The role of an input of a list.

    Args:
        each: With its own name as target.
        columns: Of the rows that are listed; empty if they are unknown.
        patterns: Of decorated names.
        shapes: Of the document.
    """
    for read in (_paging, _decorated, _order, _own_column, _search, _several, _bound, _time_range):
        found = read(each, columns, patterns, shapes)
        if found is not None:
            return found
    return None, each.name


def _paging(each: Input, columns: Columns, _: Sequence[re.Pattern[str]], __: Shapes) -> Read | None:
    name, shape = squash(each.name), each.shape
    if name in columns and name not in STRICT_PAGING:
        return None
    says_time = _says_time(each)
    if name in AFTER and shape.type in (ShapeType.STRING, ShapeType.INTEGER) and not says_time:
        return ArgumentRole.AFTER, each.name
    if name in PAGE and shape.type in _COUNTING:
        is_token = shape.type is ShapeType.STRING and re.search(r"token|cursor", each.description, re.IGNORECASE)
        return (ArgumentRole.CURSOR if is_token else ArgumentRole.PAGE), each.name
    is_offset = name in OFFSET or (name == "first" and _FIRST.search(each.description))
    if is_offset and shape.type in _NUMBERS and not says_time:
        return ArgumentRole.OFFSET, each.name
    if name in SIZE and (shape.type in _NUMBERS or (shape.type is ShapeType.STRING and name in STRICT_PAGING)):
        return ArgumentRole.SIZE, each.name
    if name in CURSOR and shape.type in (ShapeType.STRING, ShapeType.ANY) and not says_time:
        return ArgumentRole.CURSOR, each.name
    if name in OFFSET and name in STRICT_PAGING and shape.type is ShapeType.STRING and not says_time:
        return ArgumentRole.CURSOR if "token" in each.description.lower() else ArgumentRole.OFFSET, each.name
    return None


def _decorated(each: Input, columns: Columns, patterns: Sequence[re.Pattern[str]], _: Shapes) -> Read | None:
    for pattern in patterns:
        match = pattern.fullmatch(each.name)
        if match is None:
            continue
        named = match.groupdict()
        column, operator = named["column"], (named.get("operator") or "").lower()
        if columns and squash(column) not in columns:
            continue
        role = _OPERATORS.get(operator)
        if role is ArgumentRole.ONE_OF or (operator in _EQUAL and each.shape.type is ShapeType.ARRAY):
            return (ArgumentRole.ONE_OF, column) if each.shape.type is ShapeType.ARRAY else (None, each.name)
        if role is not None:
            return role, column
        return None, column if operator in _EQUAL else each.name
    return None


def _order(each: Input, columns: Columns, _: Sequence[re.Pattern[str]], __: Shapes) -> Read | None:
    name, shape = squash(each.name), each.shape
    if (name not in SORT and name not in DIRECTION) or shape.type not in (ShapeType.STRING, ShapeType.ANY):
        return None
    if name in columns and not _ORDERED.search(each.description) and not shape.values:
        return None
    values = [str(value).lower() for value in shape.values]
    if values:
        if all(value in DIRECTION_VALUES for value in values):
            return ArgumentRole.DIRECTION, each.name
        return (ArgumentRole.SORT, each.name) if name in SORT else None
    if name in SORT and (
        name not in DIRECTION or name in ("sort", "ordering") or not _ORDERED.search(each.description)
    ):
        return ArgumentRole.SORT, each.name
    return (ArgumentRole.DIRECTION, each.name) if _ORDERED.search(each.description) else None


def _own_column(each: Input, columns: Columns, _: Sequence[re.Pattern[str]], __: Shapes) -> Read | None:
    column = columns.get(squash(each.name))
    if column is None:
        return None
    is_many = each.shape.type is ShapeType.ARRAY and column.is_scalar
    return (ArgumentRole.ONE_OF if is_many else None), each.name


def _search(each: Input, _: Columns, __: Sequence[re.Pattern[str]], ___: Shapes) -> Read | None:
    is_free = squash(each.name) in SEARCH and each.shape.type is ShapeType.STRING and not each.shape.values
    if not is_free or _LANGUAGE.search(each.description):
        return None
    return ArgumentRole.SEARCH, each.name


def _several(each: Input, columns: Columns, _: Sequence[re.Pattern[str]], __: Shapes) -> Read | None:
    """`ids`, `statuses`: an array of values of one column."""
    if each.shape.type is not ShapeType.ARRAY:
        return None
    one = singular(snake(each.name))
    column = columns.get(squash(one))
    return (ArgumentRole.ONE_OF, one) if column is not None and column.is_scalar else None


def _bound(each: Input, columns: Columns, _: Sequence[re.Pattern[str]], __: Shapes) -> Read | None:
    """`min_price`, `created_after`, `amountFrom`."""
    words = snake(each.name).split("_")
    if len(words) < 2 or not (each.shape.is_scalar or each.shape.type is ShapeType.ANY):
        return None
    for word, rest in ((words[0], words[1:]), (words[-1], words[:-1])):
        role = (
            ArgumentRole.AT_LEAST if word in AT_LEAST_WORDS else ArgumentRole.AT_MOST if word in AT_MOST_WORDS else None
        )
        if role is None:
            continue
        for name in _spellings("".join(rest)):
            column = columns.get(name)
            if column is not None and not column.values and _can_bound(word, name, column):
                return role, name
    return None


def _spellings(name: str) -> Iterator[str]:
    for tail in _TIME_TAILS:
        yield name + tail
    if name in ("modified", "updated", "changed"):
        yield from sorted(UPDATED)
    if name == "created":
        yield from sorted(CREATED)


def _can_bound(word: str, name: str, column: Shape) -> bool:
    if column.type in _NUMBERS:
        return word in _SURE_BOUNDS or _is_time(name, column) or word in ("from", "to")
    return _is_time(name, column)


def _is_time(name: str, column: Shape) -> bool:
    is_known = name in CREATED or name in UPDATED
    if column.type in _NUMBERS:
        return is_known or name.endswith(("time", "timestamp", "date"))
    if column.type is not ShapeType.STRING:
        return False
    named = column.keywords.get("format")
    if named is not None or column.values:
        return named in _TIME_FORMATS or is_known
    return is_known or (bool(_TIME_NAME.search(name)) and bool(_TIME_WORDS.search(column.description)))


def _says_time(each: Input) -> bool:
    """Whether an input is a time, by its format or its description."""
    if each.shape.keywords.get("format") in _TIME_FORMATS:
        return True
    return bool(_TIME_WORDS.search(each.description)) and each.shape.type in (ShapeType.STRING, *_NUMBERS)


def _time_range(each: Input, columns: Columns, _: Sequence[re.Pattern[str]], __: Shapes) -> Read | None:
    """`since`, `end_date`: of which time, the description says, or there is but one."""
    name = squash(each.name)
    if name not in TIME_RANGES:
        return None
    if (
        name == "since"
        and each.shape.type is ShapeType.INTEGER
        and re.search(r"\bid\b", each.description, re.IGNORECASE)
    ):
        return ArgumentRole.AFTER, each.name
    if not _says_time(each):
        return None
    text = each.description.lower()
    times = [column for column, shape in columns.items() if shape.is_scalar and _is_time(column, shape)]
    for names, words in ((UPDATED, ("updated", "modified", "changed")), (CREATED, ("created", "creation", "added"))):
        if any(word in text for word in words):
            times = [column for column in times if column in names]
            break
    if len(times) != 1:
        return None
    return (ArgumentRole.AT_LEAST if TIME_RANGES[name] else ArgumentRole.AT_MOST), times[0]
