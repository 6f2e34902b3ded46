"""An episode's state at any step, forward and back, and which step wrote each cell.

Made of the start rows and the changes that each call recorded; no call is played. Every version of every changed row is
kept, so the state at a step is one look-up per row, however many steps there are.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from environments.runtime.net_changes import sort_key
from environments.runtime.records import ChangeKind, Row, RowChange, Value

START: Final = -1
"""The step before the first."""

Key = tuple[Value, ...]
"""Values of a row's primary key, in the key's order."""


@dataclass(frozen=True, slots=True)
class RowAt:
    """One row as it is after a step.

    Attributes:
        key: What identifies it.
        row: Its values; of a removed row the last ones.
        kind: How it differs from the start, None if it does not.
        here: What the step itself did to it, None if nothing.
    """

    key: Key
    row: Row
    kind: ChangeKind | None
    here: RowChange | None

    @property
    def is_removed(self) -> bool:
        """Whether it is there no more."""
        return self.kind is ChangeKind.DELETE or (self.here is not None and self.here.kind is ChangeKind.DELETE)


@dataclass(frozen=True, slots=True)
class TableAt:
    """One table in figures, after a step.

    Attributes:
        name: Its name.
        num_rows: Rows there now.
        num_added: Rows that were not there at the start.
        num_removed: Rows of the start that are gone.
        num_changed: Rows of the start with other values.
        num_here: Rows that the step itself wrote.
    """

    name: str
    num_rows: int
    num_added: int
    num_removed: int
    num_changed: int
    num_here: int

    @property
    def is_changed(self) -> bool:
        """Whether it differs from the start, or the step wrote to it."""
        return bool(self.num_added or self.num_removed or self.num_changed or self.num_here)


@dataclass(slots=True)
class _Versions:
    """What became of one row: after each of `steps` it is the version at the same place, None while it is gone."""

    steps: list[int] = field(default_factory=list)
    rows: list[Row | None] = field(default_factory=list)
    changes: list[RowChange] = field(default_factory=list)


class _Table:
    """The rows of one table through all steps."""

    def __init__(self, name: str, columns: Sequence[str], key_columns: Sequence[str], start: Sequence[Row]) -> None:
        self.name = name
        self.columns = tuple(columns)
        self.key_columns = tuple(key_columns)
        self.start: dict[Key, Row] = {self.key_of(row): row for row in start}
        self.versions: dict[Key, _Versions] = {}
        self._sorted: list[Key] | None = None

    def key_of(self, row: Row) -> Key:
        return tuple(row[column] for column in self.key_columns)

    def add(self, step: int, change: RowChange) -> None:
        key = self.key_of(change.key)
        versions = self.versions.setdefault(key, _Versions())
        before = versions.rows[-1] if versions.rows else self.start.get(key)
        if (before is None) != (change.kind is ChangeKind.INSERT):
            there = "is not there" if before is None else "is there already"
            raise ValueError(f"step {step}: {change.kind} of {self.name} {dict(change.key)}, which {there}")
        after: Row | None = None
        if change.kind is not ChangeKind.DELETE:
            written = {**(before or {}), **(change.after or {})}
            after = {column: written.get(column) for column in self.columns}
        versions.steps.append(step)
        versions.rows.append(after)
        versions.changes.append(change)
        self._sorted = None

    def keys(self) -> list[Key]:
        """Every key that there ever was, as SQLite sorts them."""
        if self._sorted is None:
            self._sorted = sorted(self.start.keys() | self.versions.keys(), key=_order)
        return self._sorted

    def row(self, key: Key, at: int) -> Row | None:
        versions = self.versions.get(key)
        place = bisect_right(versions.steps, at) if versions else 0
        return versions.rows[place - 1] if versions and place else self.start.get(key)

    def change(self, key: Key, at: int) -> RowChange | None:
        """What exactly this step did to the row."""
        versions = self.versions.get(key)
        place = bisect_right(versions.steps, at) if versions else 0
        return versions.changes[place - 1] if versions and place and versions.steps[place - 1] == at else None

    def since_start(self, key: Key, at: int) -> RowChange | None:
        """How the row differs from the start."""
        before, after = self.start.get(key), self.row(key, at)
        if before == after:
            return None
        key_values = dict(zip(self.key_columns, key, strict=True))
        if before is None:
            return RowChange(self.name, key_values, ChangeKind.INSERT, None, after)
        if after is None:
            return RowChange(self.name, key_values, ChangeKind.DELETE, before, None)
        differing = [column for column in self.columns if before[column] != after[column]]
        return RowChange(
            self.name,
            key_values,
            ChangeKind.UPDATE,
            {column: before[column] for column in differing},
            {column: after[column] for column in differing},
        )


class Timeline:
    """The states of one episode.

    Args:
        columns: Names of the columns by table, in the tables' order.
        keys: Names of the primary key's columns by table, in the key's order.
        start: Rows at the start by table; a table without rows may be left out.
        steps: The changes of each call in order, as its record has them.

    Raises:
        ValueError: The changes do not fit the start: an insert of a row that is there, an update of one that is not.
    """

    def __init__(
        self,
        columns: Mapping[str, Sequence[str]],
        keys: Mapping[str, Sequence[str]],
        start: Mapping[str, Sequence[Row]],
        steps: Sequence[Sequence[RowChange]],
    ) -> None:
        self.num_steps = len(steps)
        self._tables = {name: _Table(name, columns[name], keys[name], start.get(name, ())) for name in columns}
        for step, changes in enumerate(steps):
            for change in changes:
                table = self._tables.get(change.table)
                if table is None:
                    raise ValueError(f"step {step}: there is no table {change.table}")
                table.add(step, change)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables, in order."""
        return tuple(self._tables)

    @property
    def num_values(self) -> int:
        """How many values it keeps: what it costs in memory."""
        return sum(
            len(table.columns) * (len(table.start) + sum(len(each.steps) for each in table.versions.values()))
            for table in self._tables.values()
        )

    def columns(self, table: str) -> tuple[str, ...]:
        """Names of a table's columns.

        Raises:
            KeyError: There is no such table.
        """
        return self._tables[table].columns

    def key_columns(self, table: str) -> tuple[str, ...]:
        """Names of the columns of its primary key."""
        return self._tables[table].key_columns

    def rows(self, table: str, at: int) -> list[Row]:
        """The rows of a table after step `at` by primary key; `START` is before the first."""
        found = self._tables[table]
        return [row for key in found.keys() if (row := found.row(key, at)) is not None]  # noqa: SIM118 - not a dict

    def state(self, at: int) -> dict[str, list[Row]]:
        """Every row of every table after step `at`."""
        return {name: self.rows(name, at) for name in self._tables}

    def counts(self, at: int) -> list[TableAt]:
        """Every table in figures; costs one look at each row that ever changed."""
        return [self._count(table, at) for table in self._tables.values()]

    def _count(self, table: _Table, at: int) -> TableAt:
        kinds = [change.kind for key in table.versions if (change := table.since_start(key, at)) is not None]
        added, removed = kinds.count(ChangeKind.INSERT), kinds.count(ChangeKind.DELETE)
        here = sum(table.change(key, at) is not None for key in table.versions)
        changed = kinds.count(ChangeKind.UPDATE)
        return TableAt(table.name, len(table.start) + added - removed, added, removed, changed, here)

    def changed_first(self, table: str, at: int) -> list[RowAt]:
        """The rows of a table: those that the step wrote, then those that differ from the start, then the others.

        Removed rows are among the first two, with the values that they had last. Each part is by primary key.
        """
        found = self._tables[table]
        written: list[RowAt] = []
        changed: list[RowAt] = []
        others: list[RowAt] = []
        for key in found.keys():  # noqa: SIM118 - not a dict
            row = found.row(key, at)
            here, change = found.change(key, at), found.since_start(key, at)
            if row is None and here is None and change is None:
                continue  # not there yet, or come and gone
            shown = RowAt(key, row or self._last_row(found, key, at), change.kind if change else None, here)
            (written if here else changed if change else others).append(shown)
        return [*written, *changed, *others]

    def _last_row(self, table: _Table, key: Key, at: int) -> Row:
        """What a removed row held before it was removed."""
        versions = table.versions[key]
        for row in reversed(versions.rows[: bisect_right(versions.steps, at)]):
            if row is not None:
                return row
        return table.start[key]

    def last_writer(self, table: str, key: Key, column: str, at: int) -> int | None:
        """The last step up to `at` that wrote the cell, None if it is as at the start.

        An insert or a delete writes every cell of its row, an update those whose values it changed.
        """
        versions = self._tables[table].versions.get(key)
        if versions is None:
            return None
        for place in range(bisect_right(versions.steps, at) - 1, -1, -1):
            change = versions.changes[place]
            if change.kind is not ChangeKind.UPDATE or column in (change.after or {}):
                return versions.steps[place]
        return None

    def since_start(self, at: int) -> tuple[RowChange, ...]:
        """How the state after step `at` differs from the start, in the order of a diff."""
        changes = (table.since_start(key, at) for table in self._tables.values() for key in table.versions)
        return tuple(sorted((change for change in changes if change is not None), key=sort_key))


def _order(key: Key) -> tuple[tuple[int, Value], ...]:
    """SQLite's order: NULL, then numbers, then text by code point."""
    return tuple((0, 0) if value is None else (2 if isinstance(value, str) else 1, value) for value in key)
