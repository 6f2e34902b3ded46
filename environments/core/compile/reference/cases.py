"""Verification cases of every tool: what must happen is worked out by the interpreter (docs/contracts.md, C2)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import numpy as np
import orjson

from environments.core.compile.reference.filling import Filler
from environments.core.compile.reference.making_cases import MakingCases
from environments.core.compile.reference.playing import Plan, Stage, make_case
from environments.core.compile.reference.reading_cases import ReadingCases
from environments.core.compile.reference.refusal_cases import RefusalCases
from environments.core.compile.reference.row_cases import RowCases
from environments.core.compile.reference.values import ArgumentValues
from environments.core.compile.rows import plausible_argument
from environments.core.compile.semantics import Blueprint, Kind, PlannedTool
from environments.runtime.pack.model import Case, Scenario
from environments.runtime.records import CallStatus

MAX_CASES: Final = 40
"""Of one tool."""
MAX_CALLS: Final = 60
"""In all cases of one tool; more are made in slow environments only."""
_MAX_ACCEPTED: Final = 6


@dataclass(frozen=True, slots=True)
class Uncovered:
    """What no case of a tool shows, so that the tool can't be verified.

    Attributes:
        tool: Its name.
        what: `success`, `boundary` or `rejection` for a kind of case, else the code that no case is rejected with.
    """

    tool: str
    what: str


def make_cases(
    blueprint: Blueprint, scenarios: Sequence[Scenario], seed: int, values: ArgumentValues = plausible_argument
) -> tuple[Case, ...]:
    """The cases of every tool, in the blueprint's order.

    Args:
        blueprint: The environment as planned.
        scenarios: Of its pack; cases start from them.
        seed: Of the values that are drawn.
        values: Draws values for arguments that set columns.

    Returns:
        Cases whose expectations come from the interpreter. The same arguments give the same cases; what one tool gets
        depends on its own name and not on the others'.
    """
    stage = Stage(blueprint, scenarios)
    made: list[Case] = []
    for tool in blueprint.tools:
        unit = int.from_bytes(sha256(tool.name.encode()).digest()[:8], "big")
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(unit,)))
        made.extend(_cases_of(stage, tool, Filler(stage, values, rng)))
    return tuple(made)


def uncovered(blueprint: Blueprint, cases: Sequence[Case]) -> tuple[Uncovered, ...]:
    """What verification asks of the cases of each tool and the scenarios didn't allow."""
    found = []
    for tool in blueprint.tools:
        own = [case for case in cases if case.tool == tool.name]
        kinds = {case.kind for case in own}
        found += [Uncovered(tool.name, kind) for kind in ("success", "boundary", "rejection") if kind not in kinds]
        met = {
            expect.code
            for case in own
            for call, expect in zip(case.calls, case.expect, strict=True)
            if call.tool == tool.name and expect.status is CallStatus.REJECTION
        }
        codes = dict.fromkeys(check.code for check in tool.meaning.checks)
        found += [Uncovered(tool.name, code) for code in codes if code not in met]
    return tuple(found)


def _cases_of(stage: Stage, tool: PlannedTool, filler: Filler) -> list[Case]:
    accepted = _take(stage, tool, _accepted_plans(stage, tool, filler), MAX_CASES - _reserved(tool))
    calls = []
    for case in accepted:
        last, expect = case.calls[-1], case.expect[-1]
        if len(case.calls) == 1 and expect.code is None and case.scenario is not None:
            calls.append((case.scenario, last.arguments))
    refused = _take(stage, tool, RefusalCases(stage, tool, calls[:_MAX_ACCEPTED]).plans(), _reserved(tool))
    return _distinct((*accepted, *refused))


def _reserved(tool: PlannedTool) -> int:
    """How many of a tool's cases are kept for refusals."""
    return min(2 * len(tool.meaning.checks) + 5, MAX_CASES // 2)


def _accepted_plans(stage: Stage, tool: PlannedTool, filler: Filler) -> Iterator[Plan]:
    kind = tool.meaning.kind
    if kind in (Kind.LIST, Kind.LIST_KEYS, Kind.COUNT, Kind.SUM):
        yield from ReadingCases(stage, tool).plans()
        return
    if kind in (Kind.CREATE, Kind.LINK, Kind.UPSERT):
        yield from MakingCases(stage, tool, filler).plans()
    if kind not in (Kind.CREATE, Kind.LINK):
        yield from RowCases(stage, tool, filler).plans()


def _take(stage: Stage, tool: PlannedTool, plans: Iterator[Plan], most: int) -> list[Case]:
    """The first cases that come of plans, within the limits."""
    made: list[Case] = []
    num_calls = 0
    for plan in plans:
        case = make_case(stage, tool, plan)
        if case is None:
            continue
        num_calls += len(case.calls)
        if len(made) == most or num_calls > MAX_CALLS:
            break
        made.append(case)
    return made


def _distinct(cases: Sequence[Case]) -> list[Case]:
    """Cases without those that make the same calls from the same start, unless they alone are of their kind."""
    kept: list[Case] = []
    seen: set[bytes] = set()
    names: set[str] = set()
    kinds: set[str] = set()
    for case in cases:
        calls = [[call.tool, call.arguments] for call in case.calls]
        mark = orjson.dumps([case.scenario, case.rows, calls], option=orjson.OPT_SORT_KEYS)
        if mark in seen and case.kind in kinds:
            continue
        seen.add(mark)
        kinds.add(case.kind)
        name, number = case.name, 1
        while name in names:
            number += 1
            name = f"{case.name}_{number}"
        names.add(name)
        kept.append(case if name == case.name else _renamed(case, name))
    return kept


def _renamed(case: Case, name: str) -> Case:
    return Case(
        name, case.tool, case.kind, case.calls, case.expect, case.changes, case.author, case.scenario, case.rows
    )
