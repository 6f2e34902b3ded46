"""Verification of a pack without a database: static logic, conformance, cases, effects, the three rates, dropping.

The one way by which a pack of any author is judged. Services store what it says; bulk commands use it as it is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final

from environments.core.compile.bar import STRICT, Bar, Standing, standing_of
from environments.core.logic import LogicFinding, ToolUse, check_logic, read_source
from environments.core.logic.reduction import Dropped, reduce_pack
from environments.runtime.cases import CaseResult
from environments.runtime.conformance import (
    FULL,
    Check,
    ConformanceReport,
    Depth,
    Described,
    Finding,
    check_environment,
)
from environments.runtime.effects import Effects, effects_of, observe_effects
from environments.runtime.faults import Fault
from environments.runtime.figures import ToolFigures, count_case_outcomes, figures_to_json, total
from environments.runtime.pack import check_pack
from environments.runtime.pack.documents import TOOLS
from environments.runtime.pack.model import Pack
from environments.runtime.sandbox.errors import (
    HarnessTampered,
    ReplayMismatch,
    SandboxError,
    SandboxProtocolError,
    SandboxViolation,
)
from environments.runtime.sandbox.pool import WorkerPool
from environments.runtime.session import Environment

SUSPECT_CODES: Final = frozenset(
    kind.code for kind in (HarnessTampered, ReplayMismatch, SandboxProtocolError, SandboxViolation)
)
"""How calls are lost by the pack's own doing, and not by the machinery's."""

MAX_ROUNDS: Final = 6
"""How often a pack is checked again after tools were dropped."""
BELOW_BAR: Final = "below_bar"

Checker = Callable[[Environment, Described], ConformanceReport]
Report = Callable[[str], None]


def _tell_nobody(_stage: str) -> None:
    """The report of whoever does not ask."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What checking and execution showed.

    Attributes:
        findings: What is wrong; empty if the pack may be used.
        cases: How its cases ended.
        num_calls: Random valid calls.
        num_answered: Those that were answered or refused by a declared code.
        effects: By tool, what its writes are like; empty unless everything held.
        figures: By tool, the three rates and outcomes.
        warnings: What somebody should look at.
        uses: By tool, the tables and columns that it uses.
        pack: What was checked last: the pack, or what is left of it.
        dropped: Tools that were left out of it, each with its reason.
        standing: What the pack has, if it came so far.
        lacks: What it lacks for the bar, as codes.
    """

    findings: tuple[Finding, ...]
    cases: tuple[CaseResult, ...] = ()
    num_calls: int = 0
    num_answered: int = 0
    effects: Mapping[str, Effects] = field(default_factory=dict)
    figures: Mapping[str, ToolFigures] = field(default_factory=dict)
    warnings: tuple[LogicFinding, ...] = ()
    uses: Mapping[str, ToolUse] = field(default_factory=dict)
    pack: Pack | None = None
    dropped: tuple[Dropped, ...] = ()
    standing: Standing | None = None
    lacks: tuple[str, ...] = ()

    @property
    def is_undecided(self) -> bool:
        """Whether the machinery lost a call, which makes what follows look wrong, too."""
        lost = {finding.code for finding in self.findings if finding.check is Check.INFRASTRUCTURE}
        return bool(lost) and not lost & SUSPECT_CODES

    @property
    def passes(self) -> bool:
        """Whether nothing is wrong and nothing lacks."""
        return not self.findings and not self.lacks

    @property
    def all_figures(self) -> ToolFigures:
        """The figures of all tools together."""
        return total(self.figures.values())

    def figures_document(self) -> dict[str, dict[str, int]]:
        """By tool, outcomes of calls and of cases and the three rates, as JSON."""
        outcomes = count_case_outcomes(self.pack, self.cases) if self.pack is not None else {}
        return {
            name: figures_to_json(figures)
            | {f"num_cases_{outcome}": count for outcome, count in outcomes.get(name, {}).items()}
            for name, figures in self.figures.items()
        }

    def uses_document(self) -> dict[str, dict[str, list[str]]]:
        """By tool, the tables that it reads and writes, as JSON."""
        return {
            name: {"reads": sorted(use.read_tables), "writes": sorted(use.written_tables)}
            for name, use in self.uses.items()
        }


def examine(
    environment: Environment,
    pool: WorkerPool,
    *,
    depth: Depth = FULL,
    checker: Checker | None = None,
    report: Report = _tell_nobody,
) -> Verified:
    """Checks one pack as it is.

    Args:
        environment: The pack with its workers.
        pool: Which those are.
        depth: How much is played.
        checker: What plays; by default `check_environment` at that depth.
        report: Called with each stage's name.

    Raises:
        SandboxError: The workers cannot be had; what the pack itself broke is a finding instead.
    """
    report("validate")
    pack = environment.pack
    try:
        faults = check_pack(pack, require_cases=True)
        if faults:
            return _faulty(pack, faults)
        described = pool.describe(environment.encoded, environment.content_sha256)
        if described.faults:
            return _faulty(pack, tuple(described.faults))
        logic = check_logic(pack, described.tables)
        report("conform")
        played = checker(environment, described) if checker else check_environment(environment, described, depth=depth)
        findings = (*(_as_finding(one) for one in logic.errors), *played.findings)
        cases = played.cases.cases if played.cases is not None else ()
        effects: dict[str, Effects] = {}
        if not findings:
            report("effects")
            effects = effects_of(pack, cases) if depth.is_bulk else observe_effects(environment)
    except SandboxError as error:
        if error.code not in SUSPECT_CODES:
            raise
        return Verified((Finding(Check.FAILURE, error.code, TOOLS, str(error)),), pack=pack)
    seen = {
        name: ToolUse(
            touched.reads,
            touched.writes,
            frozenset(table for table, _ in touched.reads),
            frozenset(table for table, _ in touched.writes),
        )
        for name, touched in played.touched.items()
    }
    uses = {name: use | seen.get(name, ToolUse()) for name, use in logic.tools.items()}
    wrong = {one.tool for one in logic.errors}
    figures = {name: _declared_wrong(one) if name in wrong else one for name, one in played.figures.items()}
    held = {case.name for case in cases if case.holds}
    return Verified(
        findings, cases, played.num_calls, played.num_answered, effects, figures, logic.warnings, uses, pack,
        standing=standing_of(pack, described.tables, uses, held),
    )  # fmt: skip


def verify_pack(
    pack: Pack,
    pool: WorkerPool,
    *,
    depth: Depth = FULL,
    may_drop: bool = False,
    bar: Bar | None = STRICT,
    report: Report = _tell_nobody,
) -> Verified:
    """Checks a pack, and if tools may be dropped, checks what is left without those that fail.

    Args:
        pack: The pack.
        pool: The workers.
        depth: How much is played.
        may_drop: Whether a tool that fails is dropped with what depends on it; for packs of a compiler.
        bar: What must be left of a pack of which tools may be dropped; None: anything.
        report: Called with each stage's name.

    Returns:
        What the last round showed, with everything that was dropped before. Deterministic but for lost calls.

    Raises:
        SandboxError: The workers cannot be had.
    """
    dropped: tuple[Dropped, ...] = ()
    for _ in range(MAX_ROUNDS):
        found = examine(Environment(pack, pool), pool, depth=depth, report=report)
        if not may_drop or found.is_undecided:
            return replace(found, dropped=dropped)
        if not found.findings:
            lacks = bar.problems(found.standing) if bar is not None and found.standing is not None else ()
            return replace(found, dropped=dropped, lacks=lacks)
        problems = _problems(found.findings, pack)
        if not problems:
            break  # what is wrong is no tool's
        reduction = reduce_pack(pack, problems)
        dropped += reduction.dropped
        pack = reduction.pack
        if bar is not None and len(pack.tools) < bar.min_tools:
            return replace(found, dropped=dropped, lacks=("few_tools",))
        if not pack.tools:
            break
    return replace(found, dropped=dropped)


def sampled_depth(depth: Depth, pack: Pack, share: int = 4) -> Depth:
    """The depth with a run in another process for one of `share` packs, chosen by their content."""
    digest = sha256("\0".join((pack.name, pack.title, pack.schema_sql, pack.tools_py)).encode()).hexdigest()
    return replace(depth, plays_alone=int(digest[:8], 16) % share == 0)


def _problems(findings: tuple[Finding, ...], pack: Pack) -> dict[str, tuple[str, str]]:
    """By tool, the first thing that was found; nothing if any is about the whole pack."""
    found: dict[str, tuple[str, str]] = {}
    for finding in findings:
        if finding.tool and pack.tool(finding.tool) is not None:
            found.setdefault(finding.tool, (finding.code, f"{finding.place}: {finding.message}"[:500]))
        elif finding.check is not Check.COMPLETENESS:
            return {}
    return found


def _as_finding(one: LogicFinding) -> Finding:
    return Finding(Check.LOGIC, one.code, one.place, one.message, one.tool)


def _faulty(pack: Pack, faults: tuple[Fault, ...]) -> Verified:
    source = read_source(pack.tools_py)
    names = [tool.name for tool in pack.tools]
    findings = []
    for fault in faults:
        tool = ""
        kind, _, rest = fault.place.partition("/")
        if kind == "tools":
            tool = rest.partition("/")[0]
        elif kind == "cases":
            tool = next((case.tool for case in pack.cases if case.name == rest.partition("/")[0]), "")
        elif fault.place.startswith(f"{TOOLS}:") and source is not None:
            line = fault.place.rpartition(":")[2]
            users = source.users(names, int(line)) if line.isdecimal() else []
            tool = users[0] if users else ""
        findings.append(Finding(Check.VALIDATION, fault.code, fault.place, fault.message, tool))
    return Verified(tuple(findings), pack=pack)


def _declared_wrong(figures: ToolFigures) -> ToolFigures:
    """The figures with the declaration, which is one of the things that agree or do not, counted as wrong."""
    interface = figures.rates.interface
    rates = replace(figures.rates, interface=replace(interface, num_held=max(0, interface.num_held - 1)))
    return replace(figures, rates=rates)
