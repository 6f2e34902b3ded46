"""Every SQL text that a pack's tools and conditions run: what it may do, what it reads, what it gives.

SQLite's authorizer is asked when a text is prepared and silent when the prepared statement is used again, so what it
said is kept with the text, once for each engine. A text that is not in the book is prepared under the authorizer
first, without the statement cache and without running it, so nothing that the engine itself prepared (its savepoints)
can be reached by naming the same text.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import apsw

from environments.runtime.engine.errors import FailureReason, ToolFailure
from environments.runtime.engine.sql_text import clock_or_chance, undoes_everything
from environments.runtime.records import ColumnRef
from environments.runtime.tables import TableInfo

MAX_SQL_CHARACTERS = 20_000
MAX_TEXTS = 4_096
"""A tool that writes a new text for each call would otherwise fill the memory."""
SAVEPOINT_BASE = "envfactory_base"
SAVEPOINT_CALL = "envfactory_call"

_FUNCTION_NAMES = """
    -> ->> abs avg ceil ceiling char coalesce concat concat_ws count cume_dist date datetime degrees dense_rank exp
    first_value floor glob group_concat hex if ifnull iif instr json json_array json_array_insert json_array_length
    json_each json_error_position json_extract json_group_array json_group_object json_insert json_object json_patch
    json_pretty json_quote json_remove json_replace json_set json_tree json_type json_valid julianday lag last_value
    lead length like likelihood likely ln log log10 log2 lower ltrim max median min mod nth_value ntile nullif
    octet_length percent_rank percentile percentile_cont percentile_disc pi pow power quote radians rank replace
    round row_number rtrim sign sqrt strftime string_agg substr substring sum time timediff total trim trunc typeof
    unicode unixepoch unlikely upper
"""
FUNCTIONS = frozenset(_FUNCTION_NAMES.split())
"""SQL functions that give the same for the same arguments and are cheap for their length.

Left out on purpose: random and its kin, everything that tells about the connection (changes, last_insert_rowid), BLOBs,
extensions, and printf and format, which spin for seconds in C on `%.*c`.
"""
_TABLE_FUNCTIONS = frozenset({"json_each", "json_tree"})
_PLAIN_ACTIONS = frozenset({apsw.SQLITE_SELECT, apsw.SQLITE_RECURSIVE})
_WRITE_ACTIONS = frozenset({apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE, apsw.SQLITE_DELETE})


_MODULES = frozenset(
    str(name)
    for (name,) in apsw.Connection(":memory:").execute("PRAGMA module_list").fetchall()
    if name not in _TABLE_FUNCTIONS
)


def _is_module(table: str) -> bool:
    return table.lower() in _MODULES or table.lower().startswith(("sqlite_", "pragma_"))


class Guard:
    """The authorizer of one connection: an allow-list, and an observer while a new text is prepared.

    Attributes:
        is_trusted: The engine's own statements (PRAGMA, applying changes) are running; a pack's never do meanwhile.
        refused: What was refused last, for the message.
        seen: While a text is learnt, what it reads; otherwise None.
        events: While a text is learnt, how many actions it takes.
    """

    __slots__ = ("_tables", "events", "is_trusted", "refused", "seen")

    def __init__(self, tables: Iterable[str]) -> None:
        self._tables = frozenset(tables)
        self.is_trusted = False
        self.refused = ""
        self.seen: set[tuple[str, str]] | None = None
        self.events = 0

    def __call__(
        self, action: int, first: str | None, second: str | None, database: str | None, inner: str | None
    ) -> int:
        """What SQLite asks for each action of a text that it prepares."""
        if self.is_trusted:
            return apsw.SQLITE_OK
        if action == apsw.SQLITE_READ:
            table = first or ""
            if table in self._tables:
                if self.seen is not None:
                    self.events += 1
                    self.seen.add((table, second or ""))
                return apsw.SQLITE_OK
            # With no column, this is count(*) over a common table expression or subquery of that name.
            allowed = table in _TABLE_FUNCTIONS or (not second and not _is_module(table))
        elif action in _PLAIN_ACTIONS:
            allowed = True
        elif action in _WRITE_ACTIONS:
            allowed = first in self._tables
        elif action == apsw.SQLITE_FUNCTION:
            allowed = (second or "").lower() in FUNCTIONS
        elif action == apsw.SQLITE_SAVEPOINT:
            # Only the engine's own: a pack's texts are learnt first, and learning refuses this action.
            allowed = self.seen is None and second in (SAVEPOINT_BASE, SAVEPOINT_CALL)
        else:
            allowed = False
        if allowed:
            self.events += 1
            return apsw.SQLITE_OK
        name = apsw.mapping_authorizer_function.get(action, action)
        self.refused = " ".join(str(part) for part in (str(name).removeprefix("SQLITE_"), first, second) if part)
        return apsw.SQLITE_DENY


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """One SQL text of a pack.

    Attributes:
        sql: The text.
        reads: Columns that it may read, as the authorizer said.
        is_readonly: Whether it cannot change the state.
        columns: Names of its result columns.
        parameters: Names of its parameters.
    """

    sql: str
    reads: frozenset[ColumnRef]
    is_readonly: bool
    columns: tuple[str, ...]
    parameters: tuple[str, ...]


class NullParameters(dict[str, Any]):
    """Every parameter is NULL: a text is only prepared, not run."""

    def __missing__(self, key: str) -> None:
        return None


class StatementBook:
    """The texts of one pack, shared by all its episodes."""

    def __init__(self, tables: Iterable[TableInfo]) -> None:
        tables = tuple(tables)
        self._columns = {table.name: frozenset(column.name for column in table.columns) for table in tables}
        self._keys = {table.name: table.primary_key for table in tables}
        self.known: dict[str, Statement] = {}

    def new_guard(self) -> Guard:
        """An authorizer for one more connection."""
        return Guard(self._columns)

    def learn(self, connection: apsw.Connection, guard: Guard, sql: Any) -> Statement:
        """Prepares a text without running it and keeps what was learnt.

        Raises:
            ToolFailure: `sql_refused` for what a pack must not do, `sql_error` for what SQLite cannot prepare.
        """
        known = self.known.get(sql) if isinstance(sql, str) else None
        if known is not None:
            return known
        statement = self._prepare(connection, guard, sql)
        if len(self.known) >= MAX_TEXTS:
            self.known.clear()
        self.known[sql] = statement
        return statement

    def _prepare(self, connection: apsw.Connection, guard: Guard, sql: Any) -> Statement:
        if not isinstance(sql, str):
            raise ToolFailure(FailureReason.SQL_REFUSED, f"SQL is a {type(sql).__name__}, not text")
        if len(sql) > MAX_SQL_CHARACTERS:
            raise ToolFailure(FailureReason.SQL_REFUSED, f"SQL is longer than {MAX_SQL_CHARACTERS} characters")
        found: dict[str, Any] = {}

        def look(cursor: apsw.Cursor, text: str, bindings: Any) -> bool:
            found["text"] = text
            found["is_explain"] = bool(cursor.is_explain)
            found["is_readonly"] = cursor.is_readonly
            found["parameters"] = cursor.bindings_names
            found["columns"] = tuple(column[0] for column in cursor.get_description())
            return False

        cursor = connection.cursor()
        cursor.exec_trace = look
        guard.seen, guard.events, guard.refused = set(), 0, ""
        try:
            cursor.execute(sql, NullParameters(), can_cache=False)
        except apsw.ExecTraceAbort:
            pass
        except apsw.AuthError:
            raise ToolFailure(FailureReason.SQL_REFUSED, f"not allowed: {guard.refused}") from None
        except apsw.BindingsError:
            raise ToolFailure(FailureReason.SQL_REFUSED, "only named parameters (:name) are allowed") from None
        except (apsw.Error, ValueError, UnicodeEncodeError) as error:
            # A refused function fails as an ordinary error of preparing.
            if guard.refused:
                raise ToolFailure(FailureReason.SQL_REFUSED, f"not allowed: {guard.refused}") from None
            raise ToolFailure(FailureReason.SQL_ERROR, str(error)) from None
        finally:
            seen, events = guard.seen, guard.events
            guard.seen = None
            cursor.close(True)
        return self._statement(sql, found, seen or set(), events)

    def _statement(self, sql: str, found: Mapping[str, Any], seen: set[tuple[str, str]], events: int) -> Statement:
        if not events or found["is_explain"]:
            raise ToolFailure(FailureReason.SQL_REFUSED, "no statement, or EXPLAIN")
        if sql[len(found["text"]) :].strip(" \t\r\n;"):
            raise ToolFailure(FailureReason.SQL_REFUSED, "more than one statement")
        if undoes_everything(sql):
            raise ToolFailure(FailureReason.SQL_REFUSED, "OR ROLLBACK would undo the whole episode")
        if not all(str(name).isidentifier() for name in found["parameters"]):
            raise ToolFailure(FailureReason.SQL_REFUSED, "only named parameters (:name) are allowed")
        if asked := clock_or_chance(sql):
            raise ToolFailure(FailureReason.SQL_REFUSED, f"{asked}: use ctx.now(), ctx.rng or a parameter")
        columns = found["columns"]
        if len(set(columns)) != len(columns):
            raise ToolFailure(FailureReason.SQL_REFUSED, f"two result columns of one name in {', '.join(columns)}")
        return Statement(
            sql=sql,
            reads=frozenset(self._reads(seen)),
            is_readonly=found["is_readonly"],
            columns=columns,
            parameters=tuple(dict.fromkeys(found["parameters"])),
        )

    def _reads(self, seen: set[tuple[str, str]]) -> Iterable[ColumnRef]:
        for table, column in seen:
            if column in self._columns[table]:
                yield table, column
            else:
                # count(*) and rowid read no named column, but depend on which rows there are: on the key.
                for key in self._keys[table]:
                    yield table, key
