"""What changed, as docs/contracts.md, C4 wants it: images folded per key, in order, sorted by table and key.

SQLite's pre-update hook reports every row that a statement inserts, updates or deletes, cascades included, about 15
times cheaper than a session object and its changeset for each call (1 against 16 µs). It reports rows of a statement
that then fails, too, so after a failed statement the last images are read again instead of believed.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

from environments.runtime.engine.errors import FailureReason, ToolFailure
from environments.runtime.records import ChangeKind, ColumnRef, RowChange, Value
from environments.runtime.tables import TableInfo

MAX_INTEGER = 1 << 53
Values = tuple[Value, ...]
Logged = tuple[str, Values | None, Values | None]
"""(table, row before, row after) as the hook saw them."""
Key = tuple[str, Values]
"""(table, values of its primary key by column name)."""


class TableShape:
    """One table, laid out for the hot path."""

    __slots__ = ("all_columns", "columns", "generated", "key_columns", "key_of", "name", "primary_key")

    def __init__(self, table: TableInfo) -> None:
        self.name = table.name
        self.columns = tuple(column.name for column in table.columns)
        self.primary_key = table.primary_key
        # Changes name and sort keys by column name, so that their order can be told from the changes alone.
        self.key_columns = tuple(sorted(table.primary_key))
        positions = [self.columns.index(column) for column in self.key_columns]
        self.key_of: Callable[[Values], Values] = (
            itemgetter(*positions) if len(positions) > 1 else _single_key(positions[0])
        )
        self.all_columns: frozenset[ColumnRef] = frozenset((table.name, column) for column in self.columns)
        self.generated = table.generated_id

    def row(self, values: Values) -> dict[str, Value]:
        """The values by column."""
        return dict(zip(self.columns, values, strict=True))

    def key(self, values: Values) -> dict[str, Value]:
        """The key's values by column."""
        return dict(zip(self.key_columns, values, strict=True))


def _single_key(position: int) -> Callable[[Values], Values]:
    return lambda values: (values[position],)


def collect(
    log: Sequence[Logged], shapes: Mapping[str, TableShape], reread: Callable[[str, Values], Values | None] | None
) -> tuple[tuple[RowChange, ...], frozenset[ColumnRef]]:
    """The net changes of one call and the columns written.

    Args:
        log: What the hook saw, in order.
        shapes: Tables by name.
        reread: Reads a row by its key; given when a statement failed, so that the log tells too much.

    Raises:
        ToolFailure: `value_range` for an integer past 2^53 or an infinite number.
    """
    first: dict[Key, Values | None] = {}
    last: dict[Key, Values | None] = {}
    for table, before, after in log:
        key_of = shapes[table].key_of
        if before is not None:
            key = (table, key_of(before))
            first.setdefault(key, before)
            last[key] = None
        if after is not None:
            key = (table, key_of(after))
            first.setdefault(key, None)
            last[key] = after
    if reread is not None:
        last = {key: reread(*key) for key in last}
    changes: list[RowChange] = []
    written: set[ColumnRef] = set()
    for key in sorted(last) if len(last) > 1 else last:
        table, key_values = key
        change = _change(shapes[table], key_values, first[key], last[key])
        if change is None:
            continue
        changes.append(change)
        if change.kind is ChangeKind.UPDATE:
            written.update((table, column) for column in change.after or ())
        else:
            written |= shapes[table].all_columns
    return tuple(changes), frozenset(written)


def _change(shape: TableShape, key: Values, before: Values | None, after: Values | None) -> RowChange | None:
    if after is None:
        if before is None:
            return None
        return RowChange(shape.name, shape.key(key), ChangeKind.DELETE, shape.row(before), None)
    for value in after:
        if value.__class__ is int:
            if not -MAX_INTEGER <= value <= MAX_INTEGER:
                raise ToolFailure(FailureReason.VALUE_RANGE, f"{shape.name}: the integer {value} is past 2^53")
        elif value.__class__ is float and not math.isfinite(value):
            raise ToolFailure(FailureReason.VALUE_RANGE, f"{shape.name}: {value} is no finite number")
    if before is None:
        return RowChange(shape.name, shape.key(key), ChangeKind.INSERT, None, shape.row(after))
    if before == after:
        return None
    differing = [
        (column, old, new) for column, old, new in zip(shape.columns, before, after, strict=True) if old != new
    ]
    return RowChange(
        shape.name,
        shape.key(key),
        ChangeKind.UPDATE,
        {column: old for column, old, _ in differing},
        {column: new for column, _, new in differing},
    )
