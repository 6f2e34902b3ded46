"""What changed, as docs/contracts.md, C4 wants it: images folded per key, in order, sorted by table and key.

SQLite's pre-update hook reports every row that a statement inserts, updates or deletes, cascades included, about 15
times cheaper than a session object and its changeset for each call (1 against 16 µs). It reports rows of a statement
that then fails, too, so after a failed statement the last images are read again instead of believed.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

from environments.runtime.engine.errors import FailureReason, ToolFailure
from environments.runtime.engine.sql_text import quote
from environments.runtime.records import ChangeKind, ColumnRef, Row, RowChange, Value
from environments.runtime.tables import TableInfo

MAX_INTEGER = 1 << 53
Values = tuple[Value, ...]
Logged = tuple[str, Values | None, Values | None]
"""(table, row before, row after) as the hook saw them."""
Key = tuple[str, Values]
"""(table, values of its primary key by column name)."""


_NULL = type(None)
_TYPES: dict[str, tuple[type, ...]] = {"INTEGER": (int, _NULL), "REAL": (float, int, _NULL), "TEXT": (str, _NULL)}


class TableShape:
    """One table, laid out for the hot path.

    Attributes:
        select_row: SQL that reads the row of a key (its columns by name).
        delete_row: SQL that deletes it.
        insert_row: SQL that inserts the values of all columns in their order.
    """

    __slots__ = (
        "_names",
        "_types",
        "all_columns",
        "columns",
        "delete_row",
        "generated",
        "insert_row",
        "key_columns",
        "key_of",
        "name",
        "primary_key",
        "select_row",
    )

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
        self._names = frozenset(self.columns)
        self._types = tuple(_TYPES[column.type] for column in table.columns)
        name, where = quote(table.name), " AND ".join(f"{quote(column)} = ?" for column in self.key_columns)
        self.select_row = f"SELECT * FROM {name} WHERE {where}"  # noqa: S608 - names come from the schema
        self.delete_row = f"DELETE FROM {name} WHERE {where}"  # noqa: S608
        self.insert_row = f"INSERT INTO {name} VALUES ({', '.join('?' for _ in self.columns)})"  # noqa: S608

    def row(self, values: Values) -> dict[str, Value]:
        """The values by column."""
        return dict(zip(self.columns, values, strict=True))

    def key(self, values: Values) -> dict[str, Value]:
        """The key's values by column."""
        return dict(zip(self.key_columns, values, strict=True))

    def key_values(self, change: RowChange) -> Values:
        """The key of a change that may come from anywhere.

        Raises:
            ValueError: It is not the table's key, or null.
        """
        key = change.key
        if len(key) == len(self.key_columns):
            values = tuple(map(key.get, self.key_columns))
            if None not in values:
                return values
        raise ValueError(f"a key of {self.name} has values for {', '.join(self.key_columns)}")

    def apply_to(self, change: RowChange, key: Values, base: Values | None) -> Values | None:
        """The row that a change, which may come from anywhere, makes of the base image's row; None deletes it.

        Raises:
            ValueError: The change does not follow from the base image or is not in the one form that it can have.
        """
        before, after = change.before, change.after
        values: Values | None = None
        if change.kind is ChangeKind.INSERT:
            fits = before is None and after is not None and after.keys() == self._names
            if fits and after is not None:
                values = tuple(map(after.get, self.columns))
        elif base is None:
            fits = False
        elif change.kind is ChangeKind.DELETE:
            fits = after is None and before == self.row(base)
        else:
            fits = before is not None and after is not None and self._is_update(before, after, base)
            if fits and after is not None:
                values = tuple(map({**self.row(base), **after}.get, self.columns))
        held = base if values is None else values
        if not fits or held is None or not _is_same(self.key_of(held), key):
            raise ValueError(f"{change.kind} of {self.name} {dict(change.key)} does not fit the base image")
        if values is not None:
            self._check_values(values)
        return values

    def _is_update(self, before: Row, after: Row, base: Values) -> bool:
        row = self.row(base)
        return (
            bool(after)
            and after.keys() == before.keys()
            and after.keys() <= row.keys()
            and after.keys().isdisjoint(self.key_columns)
            and all(row[column] == before[column] != after[column] for column in after)
        )

    def _check_values(self, values: Values) -> None:
        """Values that SQLite would take, but change or keep past the contract's range."""
        for value, kinds in zip(values, self._types, strict=True):
            kind = value.__class__
            if kind not in kinds or (kind is int and not -MAX_INTEGER <= value <= MAX_INTEGER):  # type: ignore[operator]  # by its class
                raise ValueError(f"{self.name}: the values are not of the columns' types, or an integer is past 2^53")


def _is_same(first: Values, second: Values) -> bool:
    """Whether keys are equal and of equal types, which 1 and 1.0 are not."""
    return first == second and all(one.__class__ is two.__class__ for one, two in zip(first, second, strict=True))


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
