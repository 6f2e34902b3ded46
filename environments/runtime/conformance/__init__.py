"""`check_environment`: what every environment must do before it may be used, in the manner of Gymnasium's checker.

It plays random valid calls from every scenario in the locked workers and holds what happens against the rules: the same
start and calls give the same bytes (after a reset, beside other sessions, in another process), reads and refused calls
change nothing, answers fit their schema, foreign keys are whole, and ids are nothing but names (a run with all id
counters moved on by 1,000 is Equal). Everything that is wrong is a finding with a stable name.
"""

from environments.runtime.cases import run_cases
from environments.runtime.conformance.bulk import BulkChecker
from environments.runtime.conformance.checker import Checker
from environments.runtime.conformance.model import (
    BULK,
    FULL,
    MAX_FINDINGS,
    Check,
    ConformanceReport,
    Depth,
    Described,
    Finding,
    Touched,
)
from environments.runtime.session import Environment

__all__ = [
    "BULK",
    "FULL",
    "Check",
    "ConformanceReport",
    "Depth",
    "Described",
    "Finding",
    "Touched",
    "check_environment",
]


def check_environment(
    environment: Environment,
    described: Described,
    *,
    num_calls: int | None = None,
    seed: int = 0,
    with_cases: bool = True,
    depth: Depth = FULL,
) -> ConformanceReport:
    """Checks an environment.

    Args:
        environment: The pack with its workers.
        described: The worker's half of its validation.
        num_calls: Random calls from each scenario; by default as many as the depth says.
        seed: Of the random calls.
        with_cases: Whether the pack's own cases are run, too.
        depth: How much is played.

    Returns:
        The report; deterministic for an environment that conforms.
    """
    faults = tuple(described.faults)
    if faults:
        found = [Finding(Check.VALIDATION, fault.code, fault.place, fault.message) for fault in faults[:MAX_FINDINGS]]
        return ConformanceReport(environment.content_sha256, tuple(found), 0, 0, None)
    tables = tuple(described.tables)
    checker = BulkChecker(environment, tables, depth) if depth.is_bulk else Checker(environment, tables)
    cases = None
    if with_cases:
        cases = run_cases(environment, tables, repeats_last=depth.is_bulk, reuses_sessions=depth.is_bulk)
        checker.note_cases(cases)
    for position, scenario in enumerate(environment.pack.scenarios):
        checker.check_scenario(scenario, depth.num_calls if num_calls is None else num_calls, seed + position)
    checker.finish()
    checker.check_completeness()
    if cases is not None:
        checker.check_effects(cases)
    return ConformanceReport(
        environment.content_sha256,
        tuple(checker.findings[:MAX_FINDINGS]),
        checker.num_calls,
        checker.num_answered,
        cases,
        checker.counter.figures(),
        checker.touched(),
    )
