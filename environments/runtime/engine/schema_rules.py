"""schema.sql: runs it under an authorizer, reads the tables back, names what docs/contracts.md (C2, C6) forbids.

The tables are read from the database that SQLite made, never from the text; the text is looked at only for the few
words that SQLite does not report (DEFERRABLE, AUTOINCREMENT, ON CONFLICT, the clock and chance).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Literal, cast

import apsw

from environments.runtime.engine.database import open_connection
from environments.runtime.engine.sql_text import clock_or_chance, quote, tokens
from environments.runtime.engine.statements import FUNCTIONS
from environments.runtime.faults import Fault
from environments.runtime.pack.model import Column, Pack, Table
from environments.runtime.tables import ColumnInfo, ColumnType, Comparison, ForeignKey, TableInfo

_PLACE = "schema.sql"
_TYPES = frozenset({"INTEGER", "REAL", "TEXT"})
_FORBIDDEN_WORDS = {
    "DEFERRABLE": "keys must be checked at once; deferred ones are not checked inside an episode's transaction",
    "AUTOINCREMENT": "ids come from ctx.new_id",
    "CONFLICT": "what happens on a conflict is said in the tool, not in the schema",
}
_JSON_CHECK = re.compile(r"json_valid\s*\(\s*[\"`\[]?", re.IGNORECASE)
_CREATE = re.compile(r"\s*CREATE\s+(?:TABLE|(?:UNIQUE\s+)?INDEX)\b", re.IGNORECASE)
_ALLOWED_ACTIONS = frozenset(
    {
        apsw.SQLITE_CREATE_TABLE,
        apsw.SQLITE_CREATE_INDEX,
        apsw.SQLITE_READ,
        apsw.SQLITE_REINDEX,
    }
)


class LoadedSchema:
    """The schema of a pack after SQLite has made it.

    Attributes:
        statements: The statements that make an empty state, tables first.
        tables: As read back, by name.
        faults: What is wrong; with any of `BLOCKING` no state can be made.
    """

    def __init__(self, pack: Pack) -> None:
        self.statements: tuple[str, ...] = ()
        self.tables: tuple[TableInfo, ...] = ()
        self.faults: list[Fault] = []
        connection = open_connection()
        try:
            if self._create(connection, pack.schema_sql):
                self._read(connection, pack.tables)
        finally:
            connection.close()

    def _fault(self, code: str, message: str, place: str = _PLACE) -> None:
        self.faults.append(Fault(code, place, message))

    def _create(self, connection: apsw.Connection, sql: str) -> bool:
        refused: list[str] = []

        def guard(action: int, first: str | None, second: str | None, database: str | None, inner: str | None) -> int:
            if action in _ALLOWED_ACTIONS:
                return apsw.SQLITE_OK
            if action == apsw.SQLITE_FUNCTION and (second or "").lower() in FUNCTIONS:
                return apsw.SQLITE_OK
            if action in (apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE) and first in ("sqlite_master", "sqlite_sequence"):
                return apsw.SQLITE_OK
            name = str(apsw.mapping_authorizer_function.get(action, action)).removeprefix("SQLITE_")
            refused.append(" ".join(part for part in (name, first, second) if part))
            return apsw.SQLITE_DENY

        def look(cursor: apsw.Cursor, text: str, bindings: object) -> bool:
            words = tokens(text)
            if words and words != [";"] and not _CREATE.match(" ".join(words)):
                refused.append(" ".join(words[:4]))
                return False
            return True

        cursor = connection.cursor()
        cursor.exec_trace = look
        connection.authorizer = guard
        try:
            cursor.execute(sql)
        except (apsw.Error, ValueError) as error:
            if refused:
                self._fault("sql_statement", f"not allowed in schema.sql: {refused[-1]}")
            elif re.search(r"unknown datatype|missing datatype", str(error)):
                self._fault("sql_type", str(error))
            elif re.search(r"PRIMARY KEY missing", str(error)):
                self._fault("table_without_key", str(error))
            else:
                self._fault("sql_syntax", str(error))
            return False
        finally:
            connection.authorizer = None
            cursor.close(True)
        return True

    def _read(self, connection: apsw.Connection, described: Mapping[str, Table]) -> None:
        listing = connection.execute("PRAGMA main.table_list").fetchall()
        strict = {
            str(name): (bool(is_strict), bool(without_rowid))
            for _, name, kind, _, without_rowid, is_strict in listing
            if kind == "table" and not str(name).startswith("sqlite_")
        }
        texts = dict(
            connection.execute(
                "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"
            )
        )
        indexes = [
            sql
            for (sql,) in connection.execute(
                "SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name"
            )
        ]
        tables = []
        creates = []
        for name, text in texts.items():
            place = f"{_PLACE}:{name}"
            is_strict, without_rowid = strict[name]
            if not is_strict:
                self._fault("table_not_strict", f"{name} is not STRICT", place)
            words = tokens(text)
            for word, reason in _FORBIDDEN_WORDS.items():
                if word in words:
                    self._fault("sql_statement", f"{name}: {word} is not allowed: {reason}", place)
            if asked := clock_or_chance(text):
                self._fault("sql_statement", f"{name}: {asked} is not allowed: use ctx.now() or ctx.rng", place)
            table = self._table(connection, name, text, described.get(name), place)
            tables.append(table)
            creates.append(_create_statement(connection, text, table, without_rowid))
        for sql in indexes:
            if asked := clock_or_chance(sql):
                self._fault("sql_statement", f"{asked} is not allowed in an index")
        for name in described:
            if name not in texts:
                self._fault("table_unknown", f"schema.sql has no table {name}", f"tables/{name}")
        self.tables = tuple(tables)
        self.statements = (*creates, *indexes)
        by_name = {table.name: table for table in tables}
        for table in tables:
            self.faults.extend(_relations(table, by_name))
            if table.name in described:
                self.faults.extend(_classes(table, by_name, described[table.name]))

    def _table(
        self, connection: apsw.Connection, name: str, text: str, described: Table | None, place: str
    ) -> TableInfo:
        if described is None:
            self._fault("table_undescribed", f"environment.json does not describe {name}", place)
        keys = _foreign_keys(connection, name)
        in_foreign_key = {column for key in keys for column in key.columns}
        meanings = described.columns if described is not None else {}
        columns = []
        primary: dict[int, str] = {}
        for _, column, declared, not_null, _, position, hidden in connection.execute(
            f"PRAGMA table_xinfo({quote(name)})"
        ):
            column_place = f"{place}.{column}"
            if hidden:
                self._fault("sql_statement", f"{name}.{column}: computed columns are not allowed", column_place)
            if declared.upper() not in _TYPES:
                self._fault("sql_type", f"{name}.{column} is {declared or 'without type'}", column_place)
            if position:
                primary[position] = column
            meaning = meanings.get(column)
            if described is not None and meaning is None:
                self._fault("column_undescribed", f"environment.json does not describe {name}.{column}", column_place)
            columns.append(_column(column, declared, not (not_null or position), meaning, in_foreign_key, text))
        known = {column.name for column in columns}
        for column in meanings:
            if column not in known:
                self._fault("column_unknown", f"{name} has no column {column}", f"tables/{name}/columns/{column}")
        if not primary:
            self._fault("table_without_key", f"{name} has no primary key", place)
        return TableInfo(
            name=name,
            role=described.role if described is not None else "entity",
            columns=tuple(columns),
            primary_key=tuple(primary[position] for position in sorted(primary)),
            foreign_keys=keys,
            unique=_unique(connection, name),
        )


def _column(
    name: str, declared: str, is_nullable: bool, meaning: Column | None, in_foreign_key: set[str], text: str
) -> ColumnInfo:
    generated = meaning.generated if meaning is not None else None
    given = meaning.comparison if meaning is not None else None
    default: Comparison = "exempt" if generated is not None and name not in in_foreign_key else "hard"
    return ColumnInfo(
        name=name,
        type=cast("ColumnType", declared.upper()),
        is_nullable=is_nullable,
        comparison=given or default,
        generated=generated,
        format=meaning.format if meaning is not None else None,
        is_json=any(_begins_with(text, match.end(), name) for match in _JSON_CHECK.finditer(text)),
    )


def _begins_with(text: str, start: int, name: str) -> bool:
    """Whether the word at a place of a statement is this name, in any case."""
    end = start + len(name)
    following = text[end : end + 1]
    return text[start:end].lower() == name.lower() and not (following.isalnum() or following == "_")


def _foreign_keys(connection: apsw.Connection, table: str) -> tuple[ForeignKey, ...]:
    found: dict[int, tuple[str, list[tuple[int, str, str | None]]]] = {}
    for number, position, target, column, target_column, *_ in connection.execute(
        f"PRAGMA foreign_key_list({quote(table)})"
    ):
        found.setdefault(number, (target, []))[1].append((position, column, target_column))
    keys = []
    for target, parts in found.values():
        parts.sort()
        targets = [part for _, _, part in parts]
        if None in targets:  # REFERENCES t without columns means its primary key
            rows = connection.execute(f"PRAGMA table_info({quote(target)})").fetchall()
            targets = [str(row[1]) for row in sorted(rows, key=lambda row: cast("int", row[5])) if row[5]]
        keys.append(ForeignKey(tuple(column for _, column, _ in parts), target, tuple(str(part) for part in targets)))
    return tuple(sorted(keys, key=lambda key: key.columns))


def _unique(connection: apsw.Connection, table: str) -> tuple[tuple[str, ...], ...]:
    found = []
    for _, index, is_unique, origin, is_partial in connection.execute(f"PRAGMA index_list({quote(table)})").fetchall():
        if not is_unique or origin == "pk" or is_partial:
            continue
        columns = [cast("str | None", row[2]) for row in connection.execute(f"PRAGMA index_info({quote(str(index))})")]
        if None not in columns:  # an index over an expression
            found.append(tuple(str(column) for column in columns))
    return tuple(sorted(found))


def _create_statement(connection: apsw.Connection, text: str, table: TableInfo, without_rowid: bool) -> str:
    """The table's text, made WITHOUT ROWID unless its key *is* the rowid.

    A hidden rowid is state that no row shows: it decides the order of unsorted queries and is lost by restoring rows
    from their values. Without it, the order depends on the rows alone, so a restored or rebuilt episode answers with
    the same bytes. The text ends with its table options, since SQLite stores it without what follows.
    """
    origins = {row[3] for row in connection.execute(f"PRAGMA index_list({quote(table.name)})")}
    is_rowid = len(table.primary_key) == 1 and "pk" not in origins
    if without_rowid or is_rowid or not table.primary_key:
        return text
    return f"{text}, WITHOUT ROWID"


def _relations(table: TableInfo, tables: Mapping[str, TableInfo]) -> Iterator[Fault]:
    place = f"{_PLACE}:{table.name}"
    for key in table.foreign_keys:
        target = tables.get(key.table)
        names = ", ".join(key.columns)
        if target is None:
            yield Fault("foreign_key_target", place, f"{table.name}({names}) refers to {key.table}, which is no table")
            continue
        unique = {frozenset(target.primary_key), *(frozenset(columns) for columns in target.unique)}
        if len(key.columns) != len(key.targets) or frozenset(key.targets) not in unique:
            yield Fault(
                "foreign_key_target",
                place,
                f"{table.name}({names}) refers to {key.table}({', '.join(key.targets)}), which is no key there",
            )
            continue
        if target.role == "log" and target.name != table.name:
            yield Fault("foreign_key_log", place, f"{table.name}({names}) refers to the log table {target.name}")
        for column, target_column in zip(key.columns, key.targets, strict=True):
            if table.column(column).type != target.column(target_column).type:
                yield Fault(
                    "foreign_key_target",
                    place,
                    f"{table.name}.{column} and {target.name}.{target_column} have different types",
                )


def _classes(table: TableInfo, tables: Mapping[str, TableInfo], described: Table) -> Iterator[Fault]:
    in_foreign_key = {column for key in table.foreign_keys for column in key.columns}
    referenced = {
        column
        for other in tables.values()
        for key in other.foreign_keys
        if key.table == table.name
        for column in key.targets
    }
    in_key = {*table.primary_key, *referenced, *(column for columns in table.unique for column in columns)}
    for column in table.columns:
        meaning = described.columns.get(column.name)
        if meaning is None:
            continue
        place = f"tables/{table.name}/columns/{column.name}"
        is_foreign = column.name in in_foreign_key
        if meaning.comparison is None and meaning.generated is None and not is_foreign:
            yield Fault("column_without_class", place, f"{table.name}.{column.name} has no class")
        if meaning.comparison is not None and is_foreign:
            yield Fault("column_class_foreign_key", place, f"{table.name}.{column.name} is a foreign key")
        if column.name in in_key and meaning.generated != "id" and not is_foreign and column.comparison != "hard":
            yield Fault("column_class_key", place, f"{table.name}.{column.name} is in a key and not hard")
        if column.name in in_key and is_foreign and meaning.generated in ("now", "random"):
            yield Fault("column_class_key", place, f"{table.name}.{column.name} is in a key and {meaning.generated}")
        if meaning.comparison == "semantic":
            if column.is_json:
                yield Fault("column_class_json", place, f"{table.name}.{column.name} is JSON and semantic")
            elif column.type != "TEXT":
                yield Fault("column_class_text", place, f"{table.name}.{column.name} is {column.type} and semantic")
        if meaning.generated == "id" and table.primary_key != (column.name,):
            yield Fault("generated_id_key", place, f"{table.name}.{column.name} is not the whole primary key")
        wanted: tuple[Literal["INTEGER", "REAL", "TEXT"], ...] = ("INTEGER", "REAL", "TEXT")
        if meaning.generated == "id":
            wanted = ("INTEGER", "TEXT")
        if meaning.generated == "now" or meaning.format == "uuid":
            wanted = ("TEXT",)
        if column.type not in wanted:
            yield Fault("generated_type", place, f"{table.name}.{column.name} is {column.type}")
