"""What the conformance suite looks for, how much it plays, and what it says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from environments.runtime.cases import CasesResult
from environments.runtime.faults import Fault
from environments.runtime.figures import ToolFigures
from environments.runtime.records import ColumnRef
from environments.runtime.tables import TableInfo

MAX_FINDINGS = 100


class Check(StrEnum):
    """What a finding is about."""

    VALIDATION = "validation"
    CASES = "cases"
    FAILURE = "failure"
    UNDECLARED_CODE = "undeclared_code"
    OUTPUT_SCHEMA = "output_schema"
    READ_CHANGED = "read_changed_state"
    REFUSED_CHANGED = "refused_changed_state"
    FOREIGN_KEYS = "foreign_keys"
    RESET = "reset_determinism"
    ISOLATION = "isolation"
    PROCESS = "process_determinism"
    RESTORE = "restore_determinism"
    LEAK = "leak"
    SHIFTED_IDS = "shifted_ids"
    CLOSE = "close"
    COMPLETENESS = "completeness"
    WRITE_UNCHANGED = "write_changed_nothing"
    LOGIC = "logic"
    INFRASTRUCTURE = "infrastructure"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that an environment does not do as it must.

    Attributes:
        check: Which rule.
        code: The exact name: a fault's code, a failure's reason, else the rule's own.
        place: Where: a scenario and call, a tool, a file.
        message: What happened, for people.
        tool: The tool that it is about; empty if it is about the whole pack or that is not known.
    """

    check: Check
    code: str
    place: str
    message: str
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Touched:
    """Columns that calls of one tool were seen to use; conditions and captures count as reading."""

    reads: frozenset[ColumnRef] = frozenset()
    writes: frozenset[ColumnRef] = frozenset()


@dataclass(frozen=True, slots=True)
class Depth:
    """How much is played.

    Attributes:
        num_calls: Random calls from each scenario.
        calls_of_tool: Random calls that each tool gets at least, over all scenarios; 0 leaves it to chance. With it,
            `num_calls` is only what is made where it asks for less.
        num_together: Random calls in one frame; a call refers to results of earlier frames only.
        is_bulk: Whether the state is looked at once for each scenario instead of after every call, and reuse of a
            worker is tried with what was played instead of with episodes of its own.
        plays_alone: Whether a run is compared with one in another process.
    """

    num_calls: int = 60
    calls_of_tool: int = 0
    num_together: int = 1
    is_bulk: bool = False
    plays_alone: bool = True


FULL = Depth()
"""For packs that people and models write."""
BULK = Depth(num_calls=10, calls_of_tool=2, num_together=8, is_bulk=True)
"""For packs that a compiler wrote: the same rules, each shown once instead of many times."""


@dataclass(frozen=True, slots=True)
class ConformanceReport:
    """What `check_environment` found.

    Attributes:
        content_sha256: The pack that was checked.
        findings: What is wrong, at most `MAX_FINDINGS`.
        num_calls: Valid calls made.
        num_answered: Those with an answer or a declared rejection.
        cases: How the pack's own cases ended; None if they were not run.
        figures: What was seen of each tool, in its three rates.
        touched: By tool, the columns that its calls were seen to read and to write.
    """

    content_sha256: str
    findings: tuple[Finding, ...]
    num_calls: int
    num_answered: int
    cases: CasesResult | None
    figures: Mapping[str, ToolFigures] = field(default_factory=dict)
    touched: Mapping[str, Touched] = field(default_factory=dict)

    @property
    def conforms(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    @property
    def completeness_ratio(self) -> float:
        """Share of valid calls that were answered or rejected by a declared code; 1 where none was made."""
        return self.num_answered / self.num_calls if self.num_calls else 1.0


class Described(Protocol):
    """The worker's half of validation."""

    @property
    def faults(self) -> Sequence[Fault]:
        """What is wrong with the pack."""

    @property
    def tables(self) -> Sequence[TableInfo]:
        """Its tables."""
