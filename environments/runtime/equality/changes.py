"""The start state, and changes folded per key against it (C6, sentences 1, 3, 6 and 13).

Changes come net or call by call. Folding keeps the last image of each row: insert then delete is nothing, insert then
update an insert, delete then insert of one key an update, and a row that ends as it was in the start state no change.
Every value is cast to its column's type on the way in, and what does not fit raises before anything is compared.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from environments.runtime.equality.errors import (
    EqualityError,
    MalformedChangeError,
    MalformedStateError,
    MalformedTablesError,
    MalformedValueError,
)
from environments.runtime.equality.values import cast, is_soft
from environments.runtime.records import ChangeKind, Row, RowChange, Value
from environments.runtime.tables import ColumnInfo, TableInfo

Key = tuple[Value, ...]
RowId = tuple[str, Key]
"""(table, primary key)."""
Images = Mapping[RowId, Row | None]
"""The last image of each row that differs from the start state, None for a deleted one, in order of first change."""


@dataclass(frozen=True, slots=True)
class ComparedTable:
    """A table as the comparison sees it.

    Attributes:
        info: The table.
        compared: Columns compared by value: neither exempt, nor fresh, nor part of a foreign key.
        soft: Which of `compared` have a lenient rule, by position.
        columns: Every column by name.
        needed: Columns that an inserted row must hold: all but those that nothing looks at.
        is_referenced: Whether another table points here.
    """

    info: TableInfo
    is_referenced: bool
    compared: tuple[ColumnInfo, ...] = field(init=False)
    soft: tuple[int, ...] = field(init=False)
    columns: Mapping[str, ColumnInfo] = field(init=False)
    needed: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        linked = {name for foreign_key in self.info.foreign_keys for name in foreign_key.columns}
        compared = tuple(
            column
            for column in self.info.columns
            if column.name not in linked and column.comparison != "exempt" and column.generated != "id"
        )
        needed = {*linked, *self.info.primary_key, *(column.name for column in compared)}
        object.__setattr__(self, "compared", compared)
        object.__setattr__(self, "soft", tuple(place for place, column in enumerate(compared) if is_soft(column)))
        object.__setattr__(self, "columns", {column.name: column for column in self.info.columns})
        object.__setattr__(self, "needed", frozenset(needed))

    def key_of(self, row: Row) -> Key:
        """The primary key of a row, cast.

        Raises:
            MalformedValueError: A part is absent, NULL or of another type.
        """
        key = []
        for name in self.info.primary_key:
            value = cast(self.columns[name], row.get(name))
            if value is None:
                raise MalformedValueError(f"no {name} in a key of {self.info.name}")
            key.append(value)
        return tuple(key)

    def cast_row(self, row: Row) -> dict[str, Value]:
        """A row or part of one, cast.

        Raises:
            MalformedValueError: A column is not of the table, or a value not of its column's type.
        """
        result = {}
        for name, value in row.items():
            column = self.columns.get(name)
            if column is None:
                raise MalformedValueError(f"{self.info.name} has no column {name}")
            result[name] = cast(column, value)
        return result


class StartState:
    """The rows both sides started from, indexed once and used for any number of comparisons.

    Args:
        tables: Every table of the pack.
        rows: The rows of each table; a table without rows may be left out.
        language: The pack's language, for negation words.

    Raises:
        MalformedTablesError: The tables cannot be compared; the message lists why.
        MalformedStateError: Rows of an unknown table, without a key, or two of one key.
    """

    def __init__(self, tables: Iterable[TableInfo], rows: Mapping[str, Iterable[Row]], *, language: str = "en") -> None:
        infos = tuple(tables)
        faults = tuple(find_table_faults(infos))
        if faults:
            raise MalformedTablesError("; ".join(faults))
        referenced = {key.table for info in infos for key in info.foreign_keys if key.table != info.name}
        self.tables = {info.name: ComparedTable(info, info.name in referenced) for info in infos}
        self.language = language
        unknown = [name for name in rows if name not in self.tables]
        if unknown:
            raise MalformedStateError(f"rows of unknown tables: {', '.join(sorted(unknown))}")
        self._rows = {name: _by_key(table, rows.get(name, ())) for name, table in self.tables.items()}
        self._by_columns: dict[tuple[str, tuple[str, ...]], dict[Key, Key]] = {}

    def row(self, table: str, key: Key) -> dict[str, Value] | None:
        """The whole row with that key, cast; None where there is none.

        Raises:
            MalformedStateError: It lacks a column or holds a value of another type.
        """
        row = self._rows[table].get(key)
        if row is None:
            return None
        try:
            result = self.tables[table].cast_row(row)
        except MalformedValueError as error:
            raise MalformedStateError(f"the row {key} of {table} in the start state: {error}") from error
        absent = self.tables[table].needed - result.keys()
        if absent:
            raise MalformedStateError(f"the row {key} of {table} in the start state lacks {', '.join(sorted(absent))}")
        return result

    def holds(self, table: str, key: Key) -> bool:
        """Whether there is a row with that key."""
        return key in self._rows[table]

    def find(self, table: str, columns: tuple[str, ...], values: Key) -> Key | None:
        """The key of the row whose columns, a key or UNIQUE, hold these values."""
        if columns == self.tables[table].info.primary_key:
            return values if values in self._rows[table] else None
        index = self._by_columns.get((table, columns))
        if index is None:
            index = {tuple(row.get(name) for name in columns): key for key, row in self._rows[table].items()}
            self._by_columns[table, columns] = index
        return index.get(values)


def _by_key(table: ComparedTable, rows: Iterable[Row]) -> dict[Key, Row]:
    result: dict[Key, Row] = {}
    for row in rows:
        try:
            key = table.key_of(row)
        except MalformedValueError as error:
            raise MalformedStateError(f"a row of the start state: {error}") from error
        if key in result:
            raise MalformedStateError(f"two rows of {table.info.name} have the key {key}")
        result[key] = row
    return result


def find_table_faults(tables: Iterable[TableInfo]) -> Iterator[str]:
    """Why tables cannot be compared, one sentence each; a check of a pack lists them, `StartState` refuses them."""
    by_name: dict[str, TableInfo] = {}
    for table in tables:
        if table.name in by_name:
            yield f"two tables are named {table.name}"
        by_name[table.name] = table
    for table in by_name.values():
        names = [column.name for column in table.columns]
        used = [*table.primary_key, *(name for key in table.foreign_keys for name in key.columns)]
        absent = sorted(set(used) - set(names))
        if absent or not table.primary_key or len(set(names)) < len(names):
            yield f"{table.name} has no primary key, two columns of one name, or a key over absent columns {absent}"
            continue
        for column in table.columns:
            if column.generated == "id" and table.primary_key != (column.name,):
                yield f"{table.name}.{column.name} is a generated id and not the whole primary key"
            if column.is_json and (column.type != "TEXT" or column.comparison == "semantic"):
                yield f"{table.name}.{column.name} holds JSON, so it must be TEXT and hard or exempt"
        yield from _foreign_key_faults(table, by_name)
    yield from _key_faults(by_name)


def _foreign_key_faults(table: TableInfo, by_name: Mapping[str, TableInfo]) -> Iterator[str]:
    for key in table.foreign_keys:
        place = f"{table.name}({', '.join(key.columns)})"
        target = by_name.get(key.table)
        if target is None:
            yield f"{place} points to {key.table}, which is no table"
            continue
        types = {column.name: column.type for column in target.columns}
        if not key.columns or len(key.columns) != len(key.targets) or set(key.targets) - set(types):
            yield f"{place} points to columns of {key.table} that are absent or of another number"
        elif any(table.column(own).type != types[name] for own, name in zip(key.columns, key.targets, strict=True)):
            yield f"{place} points to columns of another type"


def _key_faults(by_name: Mapping[str, TableInfo]) -> Iterator[str]:
    """A column that identifies rows must be hard, a foreign key or the generated id (sentence 6)."""
    identifying: dict[tuple[str, str], None] = {}
    for table in by_name.values():
        for name in (*table.primary_key, *(name for columns in table.unique for name in columns)):
            identifying[table.name, name] = None
        for key in table.foreign_keys:
            if key.table in by_name:
                identifying.update(dict.fromkeys((key.table, name) for name in key.targets))
    for table_name, name in identifying:
        table = by_name[table_name]
        column = next((column for column in table.columns if column.name == name), None)
        if column is None or any(name in key.columns for key in table.foreign_keys) or column.generated == "id":
            continue
        if column.comparison != "hard" or column.generated is not None:
            what = column.generated or column.comparison
            yield f"{table_name}.{name} identifies rows, so it cannot be {what}"


def fold_changes(start: StartState, changes: Iterable[RowChange]) -> dict[RowId, Row | None]:
    """The last image of every row that differs from the start state.

    Args:
        start: The start state.
        changes: Net, or call by call in order.

    Returns:
        Images, as `Images` says.

    Raises:
        MalformedChangeError: A change does not fit the tables or the rows before it.
    """
    images: dict[RowId, Row | None] = {}
    originals: dict[RowId, Row | None] = {}
    for number, change in enumerate(changes):
        try:
            row_id = _row_id(start, change)
            if row_id not in images:
                images[row_id] = originals[row_id] = start.row(*row_id)
            images[row_id] = _apply(start.tables[change.table], change, row_id[1], images[row_id])
        except MalformedStateError:
            raise
        except EqualityError as error:
            raise MalformedChangeError(f"change {number}, {change.kind} of {change.table}: {error}") from error
    return {row_id: image for row_id, image in images.items() if image != originals[row_id]}


def _row_id(start: StartState, change: RowChange) -> RowId:
    table = start.tables.get(change.table)
    if table is None:
        raise MalformedChangeError("there is no such table")
    if set(change.key) != set(table.info.primary_key):
        raise MalformedChangeError(f"its key must name {', '.join(table.info.primary_key)}")
    return change.table, table.key_of(change.key)


def _apply(table: ComparedTable, change: RowChange, key: Key, before: Row | None) -> Row | None:
    """The row after one change."""
    if change.kind not in tuple(ChangeKind):
        raise MalformedChangeError(f"there is no kind of change {change.kind!r}")
    is_insert, is_delete = change.kind == ChangeKind.INSERT, change.kind == ChangeKind.DELETE
    if is_insert != (before is None):
        raise MalformedChangeError(f"the row {key} {'exists already' if is_insert else 'does not exist'}")
    if (is_insert and change.before is not None) or (is_delete and change.after is not None):
        raise MalformedChangeError("it holds an image that its kind has not")
    if before is not None and change.before is not None:
        told = table.cast_row(change.before)
        unlike = sorted(name for name, value in told.items() if before.get(name, value) != value)
        if unlike:
            raise MalformedChangeError(f"the row {key} was otherwise before in {', '.join(unlike)}")
    if is_delete:
        return None
    if change.after is None:
        raise MalformedChangeError("it holds no image after")
    after = {**(before or {}), **table.cast_row(change.after)}
    absent = sorted(table.needed - after.keys())
    if absent:
        raise MalformedChangeError(f"the inserted row lacks {', '.join(absent)}")
    if table.key_of(after) != key:
        raise MalformedChangeError(f"the row's key is not {key}; a changed key is a delete and an insert")
    return after


def sort_key(row_id: RowId) -> tuple[str, tuple[tuple[bool, Value], ...]]:
    """Orders rows by table and key; numbers come before text."""
    table, key = row_id
    return table, tuple((isinstance(value, str), value) for value in key)
