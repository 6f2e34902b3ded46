"""Everything that rows must obey, checked without the code that makes them: in plain Python and in real SQLite."""

import datetime
import json
import re
from collections.abc import Iterator

import apsw

from environments.core.compile.semantics import Blueprint, Column, Table, ValueKind
from environments.runtime.pack.model import Scenario
from environments.runtime.schema.compiled import SchemaError, compile_schema

_TYPES = {ValueKind.TEXT: str, ValueKind.TIME: str, ValueKind.DATE: str, ValueKind.JSON: str, ValueKind.REAL: float}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_SQL_TYPES = {ValueKind.REAL: "REAL", ValueKind.TEXT: "TEXT", ValueKind.TIME: "TEXT", ValueKind.DATE: "TEXT"}


def faults(blueprint: Blueprint, scenario: Scenario) -> list[str]:
    """What is wrong with the rows of a scenario."""
    found = []
    if list(scenario.rows) != [table.name for table in blueprint.tables]:
        found.append("tables are not those of the blueprint, in order")
    for table in blueprint.tables:
        rows = scenario.rows[table.name]
        found += [f"{scenario.name}.{table.name}: {fault}" for fault in _table_faults(blueprint, scenario, table, rows)]
    return found


def _table_faults(blueprint: Blueprint, scenario: Scenario, table: Table, rows) -> Iterator[str]:
    names = [column.name for column in table.columns]
    validators = {column.name: _validator(column) for column in table.columns}
    for row in rows:
        if list(row) != names:
            yield f"columns {list(row)}"
        for column in table.columns:
            for fault in _value_faults(column, row[column.name], validators[column.name]):
                yield f"{column.name}: {fault}"
            if column.template is not None:
                parts = [part if isinstance(part, str) else str(row[part.column]) for part in column.template.parts]
                if row[column.name] != "".join(parts):
                    yield f"{column.name} is not its template"
    for columns in (table.primary_key, *table.unique):
        values = [tuple(row[name] for name in columns) for row in rows]
        whole = [value for value in values if None not in value]
        if len(set(whole)) != len(whole):
            yield f"{columns} repeat"
        if columns == table.primary_key and len(whole) != len(values):
            yield "NULL in the primary key"
    for key in table.foreign_keys:
        there = {tuple(row[name] for name in key.targets) for row in scenario.rows[key.table]}
        for row in rows:
            value = tuple(row[name] for name in key.columns)
            if None not in value and value not in there:
                yield f"{key.columns} = {value} points nowhere"


def _value_faults(column: Column, value, validator) -> Iterator[str]:
    if value is None:
        if column.is_required:
            yield "NULL"
        return
    wanted = _TYPES.get(column.kind, int)
    if type(value) is not wanted:
        yield f"{value!r} is no {wanted.__name__}"
        return
    if wanted is int and abs(value) > 1 << 53:
        yield f"{value} is beyond 2**53"
    if column.kind is ValueKind.BOOLEAN and value not in (0, 1):
        yield f"{value} is neither 0 nor 1"
    if column.values and value not in column.values:
        yield f"{value!r} is not among its values"
    if column.kind is ValueKind.TIME:
        if not _TIME.fullmatch(value):
            yield f"{value!r} has another form"
        datetime.datetime.fromisoformat(value)
    if column.kind is ValueKind.DATE:
        if not _DATE.fullmatch(value):
            yield f"{value!r} has another form"
        datetime.date.fromisoformat(value)
    if isinstance(value, str) and (("\0" in value) or len(value.encode()) > 64 << 10):
        yield "text that no column takes"
    shown = json.loads(value) if column.kind is ValueKind.JSON else value
    if column.kind is ValueKind.BOOLEAN:
        shown = bool(shown)
    if column.template is None and validator is not None and not validator.is_valid(shown):
        yield f"{shown!r} does not fit {column.schema}"


def _validator(column: Column):
    try:
        return compile_schema(column.schema)
    except SchemaError:
        return None


def ddl(blueprint: Blueprint) -> str:
    """CREATE statements with every constraint of the blueprint."""
    return "\n".join(_create(table) for table in blueprint.tables)


def _create(table: Table) -> str:
    lines = []
    for column in table.columns:
        kind = "TEXT" if column.kind is ValueKind.JSON else _SQL_TYPES.get(column.kind, "INTEGER")
        name = f'"{column.name}"'
        line = f"{name} {kind}{' NOT NULL' if column.is_required else ''}"
        if column.values and column.kind is not ValueKind.BOOLEAN:
            values = ", ".join(
                json.dumps(v).replace("'", "''") if isinstance(v, int) else _text(v) for v in column.values
            )
            line += f" CHECK ({name} IN ({values}))"
        elif column.kind is ValueKind.BOOLEAN:
            line += f" CHECK ({name} IN (0, 1))"
        elif column.kind is ValueKind.JSON:
            line += f" CHECK ({name} IS NULL OR json_valid({name}))"
        lines.append(line)
    lines.append(f"PRIMARY KEY ({_names(table.primary_key)})")
    lines += [f"UNIQUE ({_names(columns)})" for columns in table.unique]
    lines += [
        f'FOREIGN KEY ({_names(key.columns)}) REFERENCES "{key.table}" ({_names(key.targets)})'
        for key in table.foreign_keys
    ]
    return f'CREATE TABLE "{table.name}" ({", ".join(lines)}) STRICT;'


def _names(columns) -> str:
    return ", ".join(f'"{name}"' for name in columns)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def load(blueprint: Blueprint, scenario: Scenario) -> apsw.Connection:
    """A database that holds the scenario.

    Raises:
        apsw.ConstraintError: A row breaks a constraint.
    """
    connection = apsw.Connection(":memory:")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(ddl(blueprint))
    connection.execute("BEGIN; PRAGMA defer_foreign_keys = ON")
    for table in blueprint.tables:
        names = [column.name for column in table.columns]
        marks = ", ".join("?" for _ in names)
        connection.executemany(
            f'INSERT INTO "{table.name}" ({_names(names)}) VALUES ({marks})',
            [tuple(row[name] for name in names) for row in scenario.rows[table.name]],
        )
    connection.execute("COMMIT")
    return connection


def rows_by_key(connection: apsw.Connection, table: Table) -> list[tuple]:
    """The rows of a table as SQLite sorts them by primary key."""
    columns = _names([column.name for column in table.columns])
    return list(connection.execute(f'SELECT {columns} FROM "{table.name}" ORDER BY {_names(table.primary_key)}'))
