"""What the static check of a pack finds."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from environments.runtime.records import ColumnRef


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """Something of the pack cannot be as it says."""
    WARNING = "warning"
    """It can, but somebody should look."""


@dataclass(frozen=True, slots=True)
class LogicFinding:
    """One thing that does not fit together.

    Attributes:
        code: Stable name of the rule.
        place: Where it stands, as `tools/lend/preconditions/1` or `tables/loans`.
        message: For people.
        severity: Whether it makes the pack unfit.
        tool: The tool that it is about; empty for tables and the whole pack.
    """

    code: str
    place: str
    message: str
    severity: Severity = Severity.ERROR
    tool: str = ""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """Columns that a tool uses, by its SQL and its conditions; a table that is used as a whole has no columns here."""

    reads: frozenset[ColumnRef] = frozenset()
    writes: frozenset[ColumnRef] = frozenset()
    read_tables: frozenset[str] = frozenset()
    written_tables: frozenset[str] = frozenset()

    def __or__(self, other: "ToolUse") -> "ToolUse":
        return ToolUse(
            self.reads | other.reads,
            self.writes | other.writes,
            self.read_tables | other.read_tables,
            self.written_tables | other.written_tables,
        )

    @property
    def tables(self) -> frozenset[str]:
        """Every table that it reads or writes."""
        return self.read_tables | self.written_tables


@dataclass(frozen=True, slots=True)
class LogicReport:
    """What was found, and which tables each tool uses."""

    findings: tuple[LogicFinding, ...]
    tools: Mapping[str, ToolUse]

    @property
    def errors(self) -> tuple[LogicFinding, ...]:
        """Findings that make the pack unfit."""
        return tuple(one for one in self.findings if one.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[LogicFinding, ...]:
        """The others."""
        return tuple(one for one in self.findings if one.severity is Severity.WARNING)
