"""A value in its two forms: as its column stores it, and as the API shows it."""

import datetime
import math
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from environments.core.compile.semantics import Column, ValueKind

Stored = str | int | float | None
Row = Mapping[str, Stored]


def stored(column: Column, value: Any) -> Stored:
    """An argument's value as the column holds it; None stays None."""
    if value is None:
        return None
    kind = column.kind
    if kind is ValueKind.JSON:
        return orjson.dumps(value).decode()
    if kind is ValueKind.BOOLEAN:
        return int(value)
    if kind is ValueKind.REAL:
        return float(value)
    if kind in _WHOLE and isinstance(value, float) and value.is_integer():
        return int(value)
    return value  # type: ignore[no-any-return]


def shown(column: Column, value: Stored) -> Any:
    """A column's value as answers show it."""
    if value is None:
        return None
    if column.kind is ValueKind.JSON:
        return orjson.loads(str(value))
    if column.kind is ValueKind.BOOLEAN:
        return value == 1
    return value


def moment(column: Column, now: str) -> Stored:
    """A time of the form `YYYY-MM-DDTHH:MM:SSZ` in the column's own form."""
    if column.kind is ValueKind.DATE:
        return now[:10]
    if column.kind in (ValueKind.EPOCH, ValueKind.EPOCH_MILLISECONDS):
        parsed = datetime.datetime.strptime(now, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.UTC)
        seconds = int(parsed.timestamp())
        return seconds * 1000 if column.kind is ValueKind.EPOCH_MILLISECONDS else seconds
    return now


def total_of(values: Iterable[Stored]) -> int | float:
    """Their sum; NULL counts for nothing. Exact to the last digit that a double has."""
    numbers = [value for value in values if isinstance(value, int | float)]
    if all(isinstance(value, int) for value in numbers):
        return sum(numbers)
    return math.fsum(numbers)


def holds_text(value: Stored, text: str) -> bool:
    """Whether the text occurs in it, in any case of ASCII letters; never in NULL."""
    # Bytes know no other letters than ASCII, so theirs is the case that is meant.
    return value is not None and text.encode().lower() in str(value).encode().lower()


def put(target: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Sets what stands at a path, making the objects on the way."""
    for name in path[:-1]:
        target = target.setdefault(name, {})
    target[path[-1]] = value


_WHOLE = frozenset({ValueKind.INTEGER, ValueKind.EPOCH, ValueKind.EPOCH_MILLISECONDS})
