"""One episode's state: an SQLite database in memory inside one open transaction.

The transaction has two savepoints. Everything above the base one is the episode, so a reset is one `ROLLBACK TO`
(about a microsecond, whatever the size of the state); the second one is opened by the first statement of a call that
can write, so that calls which only read pay nothing for it.

SQLite rolls the *whole* transaction back when it runs out of pages or is interrupted while it writes, and when a
statement says `OR ROLLBACK`. Then the state is gone: `is_lost` says so and the episode rebuilds it from its changes.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NoReturn

import apsw
import orjson

from environments.runtime.engine.changes import Logged, TableShape, Values
from environments.runtime.engine.errors import FailureReason, LimitExceeded, ToolFailure
from environments.runtime.engine.sql_text import quote
from environments.runtime.engine.statements import (
    SAVEPOINT_BASE,
    SAVEPOINT_CALL,
    NullParameters,
    Statement,
    StatementBook,
)
from environments.runtime.records import ChangeKind, RowChange, Value

STEPS_PER_TICK = 1_000
MAX_TICKS = 2_000
"""Steps of SQLite's virtual machine that one call may take, in ticks: some 20 ms of a quiet core."""
HEAVY_TICKS = MAX_TICKS // 2
MAX_STATEMENTS = 20_000
MAX_ROWS = 10_000
MAX_RESULT_BYTES = 4 << 20
MAX_CHANGED_ROWS = 10_000
MAX_VALUE_BYTES = 1 << 20
MAX_PAGES = 4_096
"""Pages of 4 KiB: 16 MiB of state."""
_FIRST_ROWS = 16
_MORE_ROWS = 256

_LIMITS = {
    apsw.SQLITE_LIMIT_LENGTH: MAX_VALUE_BYTES,
    apsw.SQLITE_LIMIT_SQL_LENGTH: 256 << 10,
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    apsw.SQLITE_LIMIT_COLUMN: 100,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 20,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 200,
    apsw.SQLITE_LIMIT_FUNCTION_ARG: 64,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    apsw.SQLITE_LIMIT_TRIGGER_DEPTH: 32,
    apsw.SQLITE_LIMIT_VARIABLE_NUMBER: 200,
    apsw.SQLITE_LIMIT_VDBE_OP: 100_000,
    apsw.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_SWITCHES = {
    apsw.SQLITE_DBCONFIG_ENABLE_FKEY: 1,
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION: 0,
    # "name" is a column or an error, never a text: a misspelt column must not become a constant.
    apsw.SQLITE_DBCONFIG_DQS_DML: 0,
    apsw.SQLITE_DBCONFIG_DQS_DDL: 0,
}
_RELEASE_CALL = f"RELEASE {SAVEPOINT_CALL}"
_ROLLBACK_CALL = f"ROLLBACK TO {SAVEPOINT_CALL}"
_OPEN_CALL = f"SAVEPOINT {SAVEPOINT_CALL}"
_ROLLBACK_BASE = f"ROLLBACK TO {SAVEPOINT_BASE}"


class EpisodeTime(apsw.VFS):
    """The clock and chance that SQLite itself would ask: the running episode's clock, and no chance.

    The guard refuses `random()` and the gate `date('now')`, but an agent may give 'now' as an argument of a tool that
    passes it on to `date()`. With this, even that gives the same bytes in every replay.
    """

    NAME = "envfactory"

    def __init__(self) -> None:
        super().__init__(self.NAME, "")
        self.milliseconds = 0
        """Since the Julian epoch, as SQLite counts."""

    def xCurrentTimeInt64(self) -> int:  # noqa: N802 - named by SQLite
        """The running episode's time."""
        return self.milliseconds

    def xRandomness(self, numbytes: int) -> bytes:  # noqa: N802 - named by SQLite
        """Zeros; also spares a locked worker the attempt to open /dev/urandom."""
        return bytes(numbytes)


TIME = EpisodeTime()
JULIAN_MILLISECONDS = 210_866_760_000_000
"""1970-01-01 in milliseconds of the Julian epoch."""


class StepBudget:
    """How many steps of SQLite's virtual machine a call has left: the same on every machine, unlike seconds.

    SQLite counts a prepared statement's steps on from its earlier runs, so a statement with history ticks up to one
    tick earlier than a new one. A call that uses over half of the budget is therefore decided again on a connection
    without history (`RerunFresh`), so that no outcome depends on what ran before.
    """

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_TICKS

    def __call__(self) -> bool:
        """Called by SQLite after each tick; True interrupts."""
        self.left -= 1
        return self.left < 0


def open_connection() -> apsw.Connection:
    """An empty database in memory with the limits and switches of every pack."""
    connection = apsw.Connection(":memory:", vfs=EpisodeTime.NAME, statementcachesize=128)
    for limit, value in _LIMITS.items():
        connection.limit(limit, value)
    for switch, value in _SWITCHES.items():
        connection.config(switch, value)
    return connection


class Database:
    """The state of one episode and the only way to it.

    Attributes:
        budget: Steps left in the running call.
        used: Statements that the running call executed, in order; what the tool ran only, not the conditions.
        log: Rows that the running call changed, as the hook saw them.
        is_lost: The whole transaction is gone.
    """

    __slots__ = (
        "_book",
        "_connection",
        "_guard",
        "_has_call_savepoint",
        "_has_failed_statement",
        "_known",
        "_shapes",
        "_spent",
        "budget",
        "log",
        "used",
    )

    def __init__(self, image: bytes, book: StatementBook, shapes: Mapping[str, TableShape]) -> None:
        self._book = book
        self._known = book.known
        self._shapes = shapes
        self.budget = StepBudget()
        self.used: list[Statement] = []
        self.log: list[Logged] = []
        self._has_call_savepoint = False
        self._has_failed_statement = False
        self._spent: LimitExceeded | None = None
        self._connection = connection = open_connection()
        connection.deserialize("main", image)
        # After deserialize, which replaces the pager and with it the page limit.
        connection.execute(f"PRAGMA temp_store=MEMORY; PRAGMA max_page_count={MAX_PAGES}; PRAGMA foreign_keys=1")
        self._guard = guard = book.new_guard()
        connection.execute(f"BEGIN; SAVEPOINT {SAVEPOINT_BASE}")
        connection.authorizer = guard
        connection.preupdate_hook(self._on_change)
        connection.set_progress_handler(self.budget, STEPS_PER_TICK)

    def _on_change(self, update: Any) -> None:
        log = self.log
        if len(log) <= MAX_CHANGED_ROWS:
            log.append((update.table_name, update.old, update.new))

    # What a tool does, through ctx.db.

    def one(self, sql: str, parameters: Mapping[str, Any]) -> dict[str, Value] | None:
        """The first row."""
        statement = self._known.get(sql) or self._book.learn(self._connection, self._guard, sql)
        self._start(statement)
        try:
            row = self._connection.execute(sql, parameters).fetchone()
        except Exception as error:  # noqa: BLE001 - sorted in _raise
            self._raise(error)
        if self._has_call_savepoint:
            self._check_changes()
        return None if row is None else dict(zip(statement.columns, row, strict=True))

    def all(self, sql: str, parameters: Mapping[str, Any]) -> list[dict[str, Value]]:
        """Every row, at most `MAX_ROWS` and `MAX_RESULT_BYTES`."""
        statement = self._known.get(sql) or self._book.learn(self._connection, self._guard, sql)
        self._start(statement)
        columns = statement.columns
        found: list[dict[str, Value]] = []
        num_bytes, wanted = 0, _FIRST_ROWS
        try:
            cursor = self._connection.execute(sql, parameters)
            while rows := list(islice(cursor, wanted)):
                num_bytes += len(orjson.dumps(rows))
                found += [dict(zip(columns, row, strict=True)) for row in rows]
                if len(found) > MAX_ROWS or num_bytes > MAX_RESULT_BYTES:
                    self._limit(
                        FailureReason.LIMIT_ROWS, f"a query gave over {MAX_ROWS} rows or {MAX_RESULT_BYTES} bytes"
                    )
                if len(rows) < wanted:
                    break
                wanted = _MORE_ROWS
        except Exception as error:  # noqa: BLE001 - sorted in _raise
            self._raise(error)
        if self._has_call_savepoint:
            self._check_changes()
        return found

    def run(self, sql: str, parameters: Mapping[str, Any]) -> int:
        """How many rows the statement changed, cascades not counted."""
        statement = self._known.get(sql) or self._book.learn(self._connection, self._guard, sql)
        self._start(statement)
        connection = self._connection
        try:
            for _ in connection.execute(sql, parameters):
                pass
        except Exception as error:  # noqa: BLE001 - sorted in _raise
            self._raise(error)
        if statement.is_readonly:
            return 0
        self._check_changes()
        return connection.changes()

    def _start(self, statement: Statement) -> None:
        if self._spent is not None:
            raise self._spent
        used = self.used
        used.append(statement)
        if len(used) > MAX_STATEMENTS:
            self._limit(FailureReason.LIMIT_STATEMENTS, f"over {MAX_STATEMENTS} statements in one call")
        if not statement.is_readonly and not self._has_call_savepoint:
            self._connection.execute(_OPEN_CALL)
            self._has_call_savepoint = True

    def _check_changes(self) -> None:
        if len(self.log) > MAX_CHANGED_ROWS:
            self._limit(FailureReason.LIMIT_CHANGES, f"over {MAX_CHANGED_ROWS} rows changed in one call")

    def _limit(self, reason: FailureReason, detail: str) -> NoReturn:
        """Ends the call for good: a tool that swallows this gets it again from its next statement."""
        self._spent = LimitExceeded(reason, detail)
        raise self._spent from None

    def check_spent(self) -> None:
        """After the tool: raises what it met and swallowed."""
        if self._spent is not None:
            raise self._spent

    def _raise(self, error: Exception) -> NoReturn:
        self._has_failed_statement = True
        if self.budget.left < 0:
            self._limit(FailureReason.LIMIT_STEPS, "over the steps that one call may take")
        if isinstance(error, apsw.FullError):
            self._limit(FailureReason.LIMIT_STATE, f"the state grew over {MAX_PAGES} pages")
        if not self._connection.in_transaction:
            self._limit(FailureReason.SQL_ERROR, f"the statement undid the whole state: {error}")
        if isinstance(error, apsw.NoMemError):
            raise MemoryError from None
        if isinstance(error, apsw.AuthError):
            raise ToolFailure(FailureReason.SQL_REFUSED, f"not allowed: {self._guard.refused}") from None
        if isinstance(error, apsw.Error):
            raise ToolFailure(FailureReason.SQL_ERROR, str(error)) from None
        if isinstance(error, KeyError):
            raise ToolFailure(FailureReason.SQL_ERROR, f"no value for the parameter {error}") from None
        raise error

    # What the engine does around a call.

    def learn(self, sql: str) -> Statement:
        """Prepares a text of the pack without running it.

        Raises:
            ToolFailure: It cannot be prepared or does what a pack must not.
        """
        return self._book.learn(self._connection, self._guard, sql)

    def prepare_known(self) -> None:
        """Prepares every text that is known by now, and the savepoints, so that the first calls need not.

        For a process that forks children from here: nothing is run, and the statements wait in the cache.
        """
        cursor = self._connection.cursor()
        cursor.exec_trace = lambda *_: False
        for sql in self._known:
            with suppress(apsw.ExecTraceAbort):
                cursor.execute(sql, NullParameters())
        cursor.close(True)
        for sql in (_OPEN_CALL, _ROLLBACK_CALL, _RELEASE_CALL):
            self._connection.execute(sql)

    def value(self, sql: str, parameters: Mapping[str, Any]) -> tuple[Value, ...]:
        """The values of a condition's or capture's first column, of at most two rows.

        Raises:
            ToolFailure: `condition_error`.
        """
        try:
            rows = list(islice(self._connection.execute(sql, parameters), 2))
        except Exception as error:  # noqa: BLE001 - sorted below
            if self.budget.left < 0:
                self._limit(FailureReason.LIMIT_STEPS, "over the steps that one call may take")
            raise ToolFailure(FailureReason.CONDITION_ERROR, str(error)) from None
        return tuple(row[0] for row in rows)

    def begin(self) -> None:
        """Before each call."""
        self.budget.left = MAX_TICKS
        self._spent = None
        if self.used:
            self.used = []

    @property
    def is_heavy(self) -> bool:
        """Whether the running call used so many steps that its history could matter."""
        return self.budget.left < MAX_TICKS - HEAVY_TICKS

    @property
    def is_lost(self) -> bool:
        """Whether SQLite has rolled the whole transaction back."""
        return not self._connection.in_transaction

    @property
    def has_broken_keys(self) -> bool:
        """Whether a foreign key points to nothing.

        Keys are immediate, so every statement that broke one has already failed; this asks SQLite for the keys that
        it left to be checked later, of which there must be none.
        """
        return self._connection.status(apsw.SQLITE_DBSTATUS_DEFERRED_FKS)[0] != 0

    def changed(self) -> tuple[Sequence[Logged], bool]:
        """What the hook saw in this call, and whether a statement failed, so that rows must be read again."""
        return self.log, self._has_failed_statement

    def reread(self, table: str, key: Values) -> Values | None:
        """One row by its key."""
        found: Values | None = self._connection.execute(self._shapes[table].select_row, key).fetchone()
        return found

    def release(self) -> None:
        """Keeps what the call changed."""
        if self._has_call_savepoint:
            self._has_call_savepoint = False
            self._connection.execute(_RELEASE_CALL)
            self.log.clear()
            self._has_failed_statement = False

    def roll_back(self) -> None:
        """Undoes what the call changed; `is_lost` may be true afterwards."""
        if self._has_call_savepoint:
            self._has_call_savepoint = False
            self.log.clear()
            if self._connection.in_transaction:
                self._connection.execute(_ROLLBACK_CALL)
                self._connection.execute(_RELEASE_CALL)
        self._has_failed_statement = False

    def reset(self) -> None:
        """Back to the base image."""
        self.log.clear()
        self._has_call_savepoint = self._has_failed_statement = False
        self._connection.execute(_ROLLBACK_BASE)

    def apply(self, changes: Sequence[RowChange]) -> None:
        """Makes changes that led from the base image to a state; their order does not matter.

        They may come from a snapshot that anybody wrote, so each is held to the base image and to the one form that a
        net change of it can have. Rows are taken out before others are put in, so that values can move between unique
        rows, and foreign keys are switched off meanwhile and checked at the end.

        Raises:
            ValueError: The changes do not fit the base image; the state is then good for nothing.
        """
        connection = self._connection
        self._guard.is_trusted = True
        try:
            connection.preupdate_hook(None)
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_FKEY, 0)
            removed: dict[TableShape, list[Values]] = {}
            added: dict[TableShape, list[Values]] = {}
            seen: set[tuple[str, Values]] = set()
            for change in changes:
                shape = self._shapes.get(change.table)
                if shape is None:
                    raise ValueError(f"there is no table {change.table[:80]}")
                key = shape.key_values(change)
                row: Values | None = None
                if change.kind is not ChangeKind.INSERT:  # else the key's own constraint tells of a row that is there
                    row = self.reread(change.table, key)
                    removed.setdefault(shape, []).append(key)
                values = shape.apply_to(change, key, row)
                if values is not None:
                    added.setdefault(shape, []).append(values)
                seen.add((change.table, key))
            if len(seen) != len(changes):
                raise ValueError("two changes of one row")
            for shape, keys in removed.items():
                connection.executemany(shape.delete_row, keys)
            for shape, rows in added.items():
                connection.executemany(shape.insert_row, rows)
            if connection.execute("PRAGMA foreign_key_check").fetchone():
                raise ValueError("the changes leave a foreign key that points to nothing")
        except (apsw.Error, OverflowError) as error:
            raise ValueError(f"the changes do not fit the base image: {error}") from None
        finally:
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_FKEY, 1)
            connection.preupdate_hook(self._on_change)
            self._guard.is_trusted = False

    def dump(self) -> dict[str, list[dict[str, Value]]]:
        """Every row of every table, in the order of the primary key."""
        state = {}
        for name, shape in self._shapes.items():
            order = ", ".join(f"{quote(column)} COLLATE BINARY" for column in shape.primary_key)
            rows = self._connection.execute(f"SELECT * FROM {quote(name)} ORDER BY {order}").fetchall()  # noqa: S608
            state[name] = [dict(zip(shape.columns, row, strict=True)) for row in rows]
        return state

    def broken_keys(self) -> int:
        """How many rows point to nothing, by a full check of the whole state."""
        self._guard.is_trusted = True
        try:
            return len(self._connection.execute("PRAGMA foreign_key_check").fetchall())
        finally:
            self._guard.is_trusted = False

    def close(self) -> None:
        """Frees the state; closing twice is harmless."""
        self._connection.close()


def insert_row(connection: apsw.Connection, table: str, row: Mapping[str, Value]) -> None:
    """Inserts one row given by column."""
    columns = ", ".join(quote(column) for column in row)
    marks = ", ".join("?" for _ in row)
    connection.execute(f"INSERT INTO {quote(table)} ({columns}) VALUES ({marks})", tuple(row.values()))  # noqa: S608
