"""schema.sql: the tables of a blueprint, for people to read and for SQLite to hold every row to."""

from collections.abc import Iterator
from typing import Final

from environments.core.compile.emission.names import listed, quoted
from environments.core.compile.emission.sql import literals, may_be_null
from environments.core.compile.emission.wording import on_one_line
from environments.core.compile.semantics import (
    ArgumentRole,
    Blueprint,
    Column,
    ForeignKey,
    OnDelete,
    Table,
    ValueKind,
)

MAX_COMMENT: Final = 80
"""Longer descriptions are in environment.json only."""
_WIDTH: Final = 120
_TYPES: Final = {
    ValueKind.INTEGER: "INTEGER",
    ValueKind.EPOCH: "INTEGER",
    ValueKind.EPOCH_MILLISECONDS: "INTEGER",
    ValueKind.BOOLEAN: "INTEGER",
    ValueKind.REAL: "REAL",
}
_FORMS: Final = {ValueKind.TIME: "____-__-__T__:__:__Z", ValueKind.DATE: "____-__-__"}
_ON_DELETE: Final = {OnDelete.CASCADE: "CASCADE", OnDelete.SET_NULL: "SET NULL", OnDelete.RESTRICT: "RESTRICT"}


def emit_schema(blueprint: Blueprint) -> str:
    """The text of schema.sql; deterministic."""
    head = "\n".join(f"-- {line}" for line in _head(blueprint))
    return "\n\n".join([head, *(_table(table, blueprint) for table in blueprint.tables)]) + "\n"


def _head(blueprint: Blueprint) -> Iterator[str]:
    line = ""
    for word in on_one_line(f"{blueprint.title}: {blueprint.description}").split():
        if line and len(line) + len(word) > _WIDTH - len("--  "):
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line


def _table(table: Table, blueprint: Blueprint) -> str:
    entries = [(_column(column, table), _comment(column.description)) for column in table.columns]
    if len(table.primary_key) > 1:
        entries.append((f"PRIMARY KEY ({listed(table.primary_key)})", ""))
    entries += [(f"UNIQUE ({listed(names)})", "") for names in table.unique if len(names) > 1]
    entries += [
        (f"FOREIGN KEY ({listed(key.columns)}) {_references(key)}", "")
        for key in table.foreign_keys
        if len(key.columns) > 1
    ]
    last = len(entries) - 1
    lines = [f"    {text}{'' if place == last else ','}{comment}" for place, (text, comment) in enumerate(entries)]
    comment = _comment(table.description).strip()
    head = [comment] if comment else []
    return "\n".join([*head, f"CREATE TABLE {quoted(table.name)} (", *lines, ") STRICT;", *_indexes(table, blueprint)])


def _comment(text: str) -> str:
    short = on_one_line(text)
    return f" -- {short}" if short and len(short) <= MAX_COMMENT else ""


def _column(column: Column, table: Table) -> str:
    name = quoted(column.name)
    parts = [name, _TYPES.get(column.kind, "TEXT")]
    if table.primary_key == (column.name,):
        parts.append("PRIMARY KEY")
    elif column.is_required or column.name in table.primary_key:
        parts.append("NOT NULL")
    if (column.name,) in table.unique:
        parts.append("UNIQUE")
    if check := _check(column, name, table):
        parts.append(f"CHECK ({check})")
    parts += [_references(key) for key in table.foreign_keys if key.columns == (column.name,)]
    return " ".join(parts)


def _check(column: Column, name: str, table: Table) -> str:
    if column.kind is ValueKind.BOOLEAN:
        return f"{name} IN (0, 1)"
    if column.values:
        return f"{name} IN ({literals(column.values)})"
    if column.kind is ValueKind.JSON:
        return f"{name} IS NULL OR json_valid({name})" if may_be_null(column, table) else f"json_valid({name})"
    if column.kind in _FORMS:
        return f"{name} LIKE '{_FORMS[column.kind]}'"
    return ""


def _references(key: ForeignKey) -> str:
    return f"REFERENCES {quoted(key.table)} ({listed(key.targets)}) ON DELETE {_ON_DELETE[key.on_delete]}"


def _indexes(table: Table, blueprint: Blueprint) -> Iterator[str]:
    """Indexes on columns by which rows are always looked up: foreign keys, scopes and filters that must be given.

    A filter that may be absent is written so that no index can serve it.
    """
    served = [table.primary_key, *table.unique]
    wanted = [key.columns for key in table.foreign_keys]
    wanted += [
        (argument.column,)
        for tool in blueprint.tools
        if tool.meaning.table == table.name and tool.meaning.through is None
        for argument in tool.meaning.with_role(ArgumentRole.SCOPE, ArgumentRole.FILTER)
        if argument.is_required and argument.column is not None
    ]
    for columns in wanted:
        if any(other[: len(columns)] == columns for other in served):
            continue
        served.append(columns)
        name = quoted(f"{table.name}_by_{'_and_'.join(columns)}")
        yield f"CREATE INDEX {name} ON {quoted(table.name)} ({listed(columns)});"
