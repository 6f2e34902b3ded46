"""The tables of an episode as plain rows: keys, what a deletion takes along, and what changed since the start."""

from collections.abc import Iterable, Iterator, Mapping

from environments.core.compile.reference.errors import UnspecifiedError
from environments.core.compile.reference.forms import Row, Stored
from environments.core.compile.semantics import Blueprint, Column, ForeignKey, Generated, OnDelete, Table, ValueKind
from environments.runtime.records import ChangeKind, RowChange

Key = tuple[Stored, ...]
Rows = dict[Key, Row]
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_WHOLE_KINDS = frozenset({ValueKind.INTEGER, ValueKind.EPOCH, ValueKind.EPOCH_MILLISECONDS})


class Shape:
    """What a blueprint says of its tables, looked up once."""

    def __init__(self, blueprint: Blueprint) -> None:
        self.tables = {table.name: table for table in blueprint.tables}
        self.columns: dict[str, dict[str, Column]] = {
            table.name: {column.name: column for column in table.columns} for table in blueprint.tables
        }
        self.generated: dict[str, str] = {
            table.name: column.name
            for table in blueprint.tables
            for column in table.columns
            if column.generated is Generated.ID
        }
        self.pointing: dict[str, list[tuple[Table, ForeignKey]]] = {table.name: [] for table in blueprint.tables}
        for table in blueprint.tables:
            for foreign_key in table.foreign_keys:
                if foreign_key.table in self.pointing:
                    self.pointing[foreign_key.table].append((table, foreign_key))

    def key_of(self, table: str, row: Row) -> Key:
        """The primary key of a row."""
        return tuple(row[name] for name in self.tables[table].primary_key)


class State:
    """Rows by table and key, and how many ids of each table were given out.

    A value: every change makes another `State` by way of a `Draft`, so that a refused call has nothing to undo and
    states can be shared.
    """

    __slots__ = ("fresh", "issued", "rows", "shape")

    def __init__(
        self,
        shape: Shape,
        rows: Mapping[str, Rows],
        issued: Mapping[str, int] | None = None,
        fresh: frozenset[str] = frozenset(),
    ) -> None:
        self.shape = shape
        self.rows = rows
        self.issued = issued or {}
        self.fresh = fresh
        """Ids that stand for those which only the runtime makes: nothing may depend on their text."""

    @classmethod
    def of(cls, shape: Shape, rows: Mapping[str, Iterable[Row]]) -> "State":
        """The state that a scenario's rows are."""
        return cls(
            shape,
            {name: {shape.key_of(name, row): row for row in rows.get(name, ())} for name in shape.tables},
        )

    def all(self, table: str) -> Iterable[Row]:
        """Every row of a table."""
        return self.rows[table].values()

    def find(self, table: str, where: Mapping[str, Stored]) -> list[Row]:
        """The rows whose columns equal these values; NULL equals nothing."""
        if None in where.values():
            return []
        primary_key = self.shape.tables[table].primary_key
        if len(where) == len(primary_key) and all(name in where for name in primary_key):
            row = self.rows[table].get(tuple(where[name] for name in primary_key))
            return [] if row is None else [row]
        found = list(self.rows[table].values())
        for name, value in where.items():
            found = [row for row in found if row[name] == value]
        return found

    def changes_since(self, start: "State") -> tuple[RowChange, ...]:
        """What leads from an earlier state to this one, tables in the blueprint's order, keys in order."""
        return tuple(
            change
            for name in self.shape.tables
            if self.rows[name] is not start.rows[name]
            for change in _differences(self.shape.tables[name], start.rows[name], self.rows[name])
        )


class Draft:
    """Changes that become a new state together, or not at all."""

    def __init__(self, state: State, highest: Mapping[str, int]) -> None:
        self._state = state
        self._shape = state.shape
        self._highest = highest
        self._rows = dict(state.rows)
        self._own: set[str] = set()
        self._issued = dict(state.issued)
        self._fresh = state.fresh
        self._written: dict[tuple[str, Key], None] = {}

    def new_id(self, table: str) -> int | str:
        """An id for a new row: the next number, or a text that stands for the one that the runtime makes."""
        number = self._issued[table] = self._issued.get(table, 0) + 1
        column = self._shape.columns[table][self._shape.generated[table]]
        if column.kind in _WHOLE_KINDS:
            return self._highest.get(table, 0) + number
        made = self._text_id(table, column, number)
        self._fresh |= {made}
        return made

    def _text_id(self, table: str, column: Column, number: int) -> str:
        """A text of the form that the runtime's ids have, so that it fits where theirs do."""
        place = list(self._shape.tables).index(table)
        if column.schema.get("format") == "uuid":
            return f"00000000-0000-4000-8000-{place:04x}{number:08x}"
        letters = "".join(_LETTERS[place * 1_024 + number >> shift & 31] for shift in (20, 15, 10, 5, 0))
        held = [str(row[column.name]) for row in self._state.rows[table].values()]
        return f"{_shared_start(held) or table[:3] + '_'}zzzzz{letters}"

    def insert(self, table: str, row: Row) -> None:
        """Adds a row.

        Raises:
            UnspecifiedError: The key is taken.
        """
        key = self._shape.key_of(table, row)
        rows = self._writable(table)
        if key in rows:
            raise UnspecifiedError(f"a second row of {table} with the key {key}")
        rows[key] = row
        self._written[table, key] = None

    def update(self, table: str, before: Row, after: Row) -> None:
        """Puts a row into another's place.

        Raises:
            UnspecifiedError: Its key would change while rows point to it.
        """
        key, new_key = self._shape.key_of(table, before), self._shape.key_of(table, after)
        if key == new_key:
            self._writable(table)[key] = after
            self._written[table, key] = None
            return
        if any(self._pointing(table, before)):
            raise UnspecifiedError(f"the key {key} of {table} would change while rows point to it")
        del self._writable(table)[key]
        self.insert(table, after)

    def delete(self, table: str, row: Row) -> None:
        """Removes a row with all that lives below it.

        Raises:
            UnspecifiedError: A row that must not lose it points to it.
        """
        self._writable(table).pop(self._shape.key_of(table, row), None)
        for other, foreign_key, pointing in list(self._pointing(table, row)):
            key = self._shape.key_of(other.name, pointing)
            if key not in self._rows[other.name]:
                continue
            if foreign_key.on_delete is OnDelete.CASCADE:
                self.delete(other.name, pointing)
            elif foreign_key.on_delete is OnDelete.SET_NULL:
                current = self._rows[other.name][key]
                self.update(other.name, current, {**current, **dict.fromkeys(foreign_key.columns)})
            else:
                raise UnspecifiedError(f"a row of {other.name} points to the deleted row of {table}")

    def finished(self) -> State:
        """The new state.

        Raises:
            UnspecifiedError: A row that was written breaks a rule of its table.
        """
        for table, key in self._written:
            row = self._rows[table].get(key)
            if row is not None:
                self._check(self._shape.tables[table], row)
        return State(self._shape, self._rows, self._issued, self._fresh)

    def _writable(self, table: str) -> Rows:
        if table not in self._own:
            self._own.add(table)
            self._rows[table] = dict(self._rows[table])
        return self._rows[table]

    def _pointing(self, table: str, row: Row) -> Iterator[tuple[Table, ForeignKey, Row]]:
        """The rows that point to a row, with their table and key."""
        for other, foreign_key in self._shape.pointing[table]:
            values = [
                (name, row[target]) for name, target in zip(foreign_key.columns, foreign_key.targets, strict=True)
            ]
            for pointing in list(self._rows[other.name].values()):
                if all(pointing[name] == value and value is not None for name, value in values):
                    yield other, foreign_key, pointing

    def _check(self, table: Table, row: Row) -> None:
        for column in table.columns:
            value = row[column.name]
            if value is None and (column.is_required or column.name in table.primary_key):
                raise UnspecifiedError(f"{table.name}.{column.name} would be NULL")
            if value is not None and column.values and value not in column.values:
                raise UnspecifiedError(f"{table.name}.{column.name} would be {value!r}")
        for names in table.unique:
            values = [row[name] for name in names]
            same = [other for other in self._rows[table.name].values() if [other[name] for name in names] == values]
            if None not in values and len(same) > 1:
                raise UnspecifiedError(f"two rows of {table.name} would share {', '.join(names)}")
        for foreign_key in table.foreign_keys:
            pointed = tuple(row[name] for name in foreign_key.columns)
            if None not in pointed and not self._has(foreign_key, pointed):
                raise UnspecifiedError(f"a row of {table.name} would point to no row of {foreign_key.table}")

    def _has(self, foreign_key: ForeignKey, pointed: Key) -> bool:
        rows = self._rows.get(foreign_key.table, {})
        if foreign_key.targets == self._shape.tables[foreign_key.table].primary_key:
            return pointed in rows
        return any(tuple(row[name] for name in foreign_key.targets) == pointed for row in rows.values())


def _shared_start(ids: list[str]) -> str:
    """What ids begin with: up to the last separator that all share, else their shared letters."""
    if not ids:
        return ""
    low, high = min(ids), max(ids)
    length = next((n for n, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))
    start = low[:length]
    last = max(start.rfind(each) for each in "_-:./#")
    return start[: last + 1] if last > 0 else start[: len(start) - len(start.lstrip("abcdefghijklmnopqrstuvwxyz"))]


def _differences(table: Table, before: Rows, after: Rows) -> Iterator[RowChange]:
    keys = [key for key, row in before.items() if after.get(key) is not row]
    keys += [key for key in after if key not in before]
    for key in sorted(keys, key=lambda key: [(isinstance(part, str), part) for part in key]):
        old, new = before.get(key), after.get(key)
        named = dict(zip(table.primary_key, key, strict=True))
        if old is None:
            yield RowChange(table.name, named, ChangeKind.INSERT, None, dict(new or {}))
        elif new is None:
            yield RowChange(table.name, named, ChangeKind.DELETE, dict(old), None)
        else:
            # A number and its like as another type are not told apart: a column has one type.
            unlike = [name for name in old if old[name] != new[name]]
            if unlike:
                yield RowChange(
                    table.name,
                    named,
                    ChangeKind.UPDATE,
                    {name: old[name] for name in unlike},
                    {name: new[name] for name in unlike},
                )
