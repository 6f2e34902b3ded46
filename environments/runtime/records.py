"""What a call did, as plain records that every part shares (docs/contracts.md, C4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Value = str | int | float | None
"""What a column holds; there are no BLOBs."""
Row = Mapping[str, Value]
ColumnRef = tuple[str, str]
"""(table, column)."""


class ChangeKind(StrEnum):
    """How a row changed."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


class CallStatus(StrEnum):
    """How a call ended; each has exactly one."""

    INVALID = "invalid"
    SUCCESS = "success"
    REJECTION = "rejection"
    FAILURE = "failure"
    INFRASTRUCTURE = "infrastructure"


class Culprit(StrEnum):
    """Whose fault a failed rollout is."""

    AGENT = "agent"
    ENVIRONMENT = "environment"
    USER = "user"
    INFRASTRUCTURE = "infrastructure"


@dataclass(frozen=True, slots=True)
class RowChange:
    """One changed row.

    Attributes:
        table: Its table.
        key: Its primary key, by column.
        kind: How it changed.
        before: Every column of a deleted row, the changed columns of an updated one, None for an inserted one.
        after: Every column of an inserted row, the changed columns of an updated one, None for a deleted one.
    """

    table: str
    key: Row
    kind: ChangeKind
    before: Row | None = None
    after: Row | None = None


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What one capture or condition gave in one call.

    Attributes:
        name: The capture's name or the condition's code.
        value: What its SQL gave; long text is cut.
        problem: Why it gave no value: no row, several rows, an error of its SQL; empty if it gave one.
    """

    name: str
    value: Value = None
    problem: str = ""

    @property
    def holds(self) -> bool:
        """Whether a condition with this value holds: only the integer 1 does."""
        return not self.problem and self.value.__class__ is int and self.value == 1


@dataclass(frozen=True, slots=True)
class Explanation:
    """What every capture and condition of one call gives (docs/contracts.md, C4), whichever of them decided it.

    Attributes:
        captures: Each in name order.
        preconditions: Each in listed order; empty if a capture gave no value, since they are then not reached.
        postconditions: Each in listed order; empty if the tool was not run, or did not end well.
    """

    captures: tuple[Evaluated, ...] = ()
    preconditions: tuple[Evaluated, ...] = ()
    postconditions: tuple[Evaluated, ...] = ()


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call of a tool and everything it did.

    Attributes:
        index: Position in the episode, from 0.
        tool: Name of the tool as called.
        arguments: As called; defaults are not filled in.
        status: How it ended.
        code: The code of a rejection or error; None on success.
        observation: What the agent reads, the same bytes everywhere.
        changes: Rows changed, by table and key; empty unless successful.
        reads: Columns that the tool's SQL may read, as the authorizer said at prepare time.
        writes: Columns of the changed rows that were written.
        condition_reads: Columns that captures and conditions read.
        microseconds: Worker time; the one field that differs between equal runs.
    """

    index: int
    tool: str
    arguments: Mapping[str, Any]
    status: CallStatus
    code: str | None
    observation: str
    changes: tuple[RowChange, ...] = ()
    reads: frozenset[ColumnRef] = frozenset()
    writes: frozenset[ColumnRef] = frozenset()
    condition_reads: frozenset[ColumnRef] = frozenset()
    microseconds: float = 0.0

    def numbered(self, index: int) -> "CallRecord":
        """The same record at another position; `dataclasses.replace` takes seven times as long."""
        if index == self.index:
            return self
        return CallRecord(
            index, self.tool, self.arguments, self.status, self.code, self.observation, self.changes, self.reads,
            self.writes, self.condition_reads, self.microseconds,
        )  # fmt: skip
