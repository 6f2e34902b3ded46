"""What execution showed of each tool, in three rates that are reported apart.

Interface agreement: its declaration has no fault, its answers fit their schema, its rejections are declared. Tool
execution: its calls end as a success or an anticipated rejection, not as an unexpected failure. Expected state
transition: its cases end with the answers and the changes that were expected.

Reference:
    Xu et al. 2026, EnvFactory, arXiv 2605.18703, the test engine.

Differs:
    Calls that the machinery lost count in no rate: they say nothing about the tool.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from environments.runtime.cases import CaseResult
from environments.runtime.pack.model import Case, Pack, Tool
from environments.runtime.records import CallRecord, CallStatus
from environments.runtime.schema import ResultValidator

_REFUSALS = frozenset({CallStatus.REJECTION, CallStatus.INVALID})


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of what was looked at were as they must be."""

    num_held: int = 0
    num: int = 0

    @property
    def is_full(self) -> bool:
        """Whether something was looked at and all of it held."""
        return self.num > 0 and self.num_held == self.num

    @property
    def ratio(self) -> float | None:
        """The share; None where nothing was looked at."""
        return self.num_held / self.num if self.num else None

    def __add__(self, other: "Rate") -> "Rate":
        return Rate(self.num_held + other.num_held, self.num + other.num)


@dataclass(frozen=True, slots=True)
class Rates:
    """The three rates of a tool, or of all tools."""

    interface: Rate = Rate()
    execution: Rate = Rate()
    transition: Rate = Rate()

    @property
    def are_full(self) -> bool:
        """Whether all three are 100 %."""
        return self.interface.is_full and self.execution.is_full and self.transition.is_full

    def __add__(self, other: "Rates") -> "Rates":
        return Rates(
            self.interface + other.interface, self.execution + other.execution, self.transition + other.transition
        )


@dataclass(frozen=True, slots=True)
class ToolFigures:
    """How one tool did; every call has exactly one of the three outcomes.

    Attributes:
        num_successes: Calls of it in cases and random play that ended well.
        num_rejections: Those that were refused by a declared code, or off their schema where a case expects that.
        num_failures: All others: exceptions, undeclared codes, refusals that no case expects.
    """

    num_successes: int = 0
    num_rejections: int = 0
    num_failures: int = 0
    rates: Rates = Rates()

    @property
    def num_calls(self) -> int:
        """Calls of it that were made."""
        return self.num_successes + self.num_rejections + self.num_failures

    @property
    def completeness_ratio(self) -> float | None:
        """Share of its calls that were answered or refused as anticipated."""
        return (self.num_calls - self.num_failures) / self.num_calls if self.num_calls else None


def total(figures: Iterable[ToolFigures]) -> ToolFigures:
    """The figures of all tools together."""
    found = ToolFigures()
    for one in figures:
        found = ToolFigures(
            found.num_successes + one.num_successes,
            found.num_rejections + one.num_rejections,
            found.num_failures + one.num_failures,
            found.rates + one.rates,
        )
    return found


def figures_to_json(figures: ToolFigures) -> dict[str, int]:
    """The figures as flat JSON."""
    written = {
        "num_successes": figures.num_successes,
        "num_rejections": figures.num_rejections,
        "num_failures": figures.num_failures,
    }
    for name in ("interface", "execution", "transition"):
        rate: Rate = getattr(figures.rates, name)
        written |= {f"num_{name}_held": rate.num_held, f"num_{name}": rate.num}
    return written


@dataclass(slots=True)
class _Counts:
    """What is counted of one tool while it is played."""

    outcomes: dict[str, int] = field(default_factory=lambda: {"success": 0, "rejection": 0, "failure": 0})
    interface: list[bool] = field(default_factory=list)
    transition: list[bool] = field(default_factory=list)

    def figures(self, is_declared_well: bool) -> ToolFigures:
        num_calls = sum(self.outcomes.values())
        interface = [is_declared_well, *self.interface]
        rates = Rates(
            Rate(sum(interface), len(interface)),
            Rate(num_calls - self.outcomes["failure"], num_calls),
            Rate(sum(self.transition), len(self.transition)),
        )
        found = self.outcomes
        return ToolFigures(found["success"], found["rejection"], found["failure"], rates)


class FigureCounter:
    """Counts while a pack is played."""

    def __init__(self, pack: Pack) -> None:
        self.validators = {tool.name: ResultValidator(tool) for tool in pack.tools}
        self.codes = {tool.name: declared_codes(tool) for tool in pack.tools}
        self._cases = {case.name: case for case in pack.cases}
        self._counts = {tool.name: _Counts() for tool in pack.tools}

    def note_call(self, record: CallRecord, expected: CallStatus | None = None, result: Any = None) -> None:
        """Takes a call into account.

        Args:
            record: The call.
            expected: How a case expects it to end; None for a random call, which is valid.
            result: Its parsed observation, if somebody has parsed it.
        """
        counts = self._counts.get(record.tool)
        if counts is None or record.status is CallStatus.INFRASTRUCTURE:
            return
        if record.status is CallStatus.SUCCESS:
            counts.outcomes["success"] += 1
            value = orjson.loads(record.observation) if result is None else result
            counts.interface.append(not self.validators[record.tool].errors(value))
            return
        is_declared = record.status is CallStatus.REJECTION and record.code in self.codes[record.tool]
        is_anticipated = is_declared or (record.status is CallStatus.INVALID and expected is CallStatus.INVALID)
        counts.outcomes["rejection" if is_anticipated else "failure"] += 1
        if record.status in _REFUSALS:
            counts.interface.append(is_anticipated)

    def note_case(self, played: CaseResult) -> None:
        """Takes a case and its calls into account."""
        case = self._cases.get(played.name)
        if case is None or played.is_infrastructure:
            return
        for record, expect in zip(played.records, case.expect, strict=False):
            self.note_call(record, expect.status)
        if case.tool in self._counts:
            self._counts[case.tool].transition.append(played.holds)

    def figures(self, faulty: Iterable[str] = ()) -> dict[str, ToolFigures]:
        """By tool, in the pack's order; `faulty` are those whose declaration is wrong."""
        wrong = set(faulty)
        return {name: counts.figures(name not in wrong) for name, counts in self._counts.items()}


def declared_codes(tool: Tool) -> frozenset[str]:
    """The codes that the tool may reject with."""
    return frozenset(condition.code for condition in tool.preconditions) | {entry.code for entry in tool.rejections}


def case_outcome(case: Case, played: CaseResult) -> str:
    """Which of the three a case ended as: `success`, `anticipated_rejection` or `unexpected_failure`."""
    if not played.holds:
        return "unexpected_failure"
    ends = [expect.status for call, expect in zip(case.calls, case.expect, strict=True) if call.tool == case.tool]
    return "anticipated_rejection" if ends and ends[-1] in _REFUSALS else "success"


def count_case_outcomes(pack: Pack, played: Iterable[CaseResult]) -> dict[str, dict[str, int]]:
    """By tool, how many of its cases ended as each of the three."""
    cases: Mapping[str, Case] = {case.name: case for case in pack.cases}
    found = {tool.name: {"success": 0, "anticipated_rejection": 0, "unexpected_failure": 0} for tool in pack.tools}
    for one in played:
        case = cases.get(one.name)
        if case is not None and case.tool in found and not one.is_infrastructure:
            found[case.tool][case_outcome(case, one)] += 1
    return found
