"""From documents to proven packs, without a database: what `compile_environments` stores and `bench_corpus` counts.

A planned environment goes through four makers (rows, cases, emission, verification), none of which sees another's work
on the way. What fails stays one environment's failure.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from environments.adapters.pack_verification import Verified, sampled_depth, verify_pack
from environments.core.compile.bar import LOOSE, STRICT
from environments.core.compile.emission import emit_pack
from environments.core.compile.inference import compile_operations
from environments.core.compile.reference import make_cases
from environments.core.compile.report import EnvironmentFacts, environment_facts
from environments.core.compile.rows import make_scenarios
from environments.core.compile.semantics import Blueprint, Compilation, LeftOut, SourcedOperation, SourceFacts
from environments.core.errors import EnvFactoryError, SandboxFailedError, TransientError
from environments.core.sources.model import Document
from environments.runtime.conformance import BULK
from environments.runtime.pack import Pack
from environments.runtime.sandbox.errors import SandboxError
from environments.services.workers import worker_pool

logger = logging.getLogger(__name__)

COMPILER_VERSION: Final = "compiler/1"
"""What a compilation says it was made by; raised whenever a rule changes what is made."""
_FAULTS: Final = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip
"""What a bug in the compiler raises; a worker that can't be had is something else."""

Prove = Callable[[Pack], Verified]


@dataclass(frozen=True, slots=True)
class Made:
    """What came of one planned environment.

    Attributes:
        blueprint: The plan.
        facts: Its figures, after verification.
        draft: The pack as it was emitted; None if that failed.
        found: What verification showed, of the draft or of what is left of it; None if it could not be asked.
        failed: Tools that verification dropped, each with its reason.
        details: For people, by dropped tool: what was found.
        reason: Why it can't be used; empty if it can.
        detail: The same, for people.
        seconds: Rows, cases, emission and verification together.
    """

    blueprint: Blueprint
    facts: EnvironmentFacts
    draft: Pack | None
    found: Verified | None
    failed: Mapping[str, str]
    details: Mapping[str, str]
    reason: str
    detail: str
    seconds: float

    @property
    def pack(self) -> Pack | None:
        """What was proven, without the tools that failed; None if nothing was."""
        return self.found.pack if self.found is not None and not self.reason else None


def source_operations(document: Document, facts: SourceFacts, keys: Sequence[str]) -> list[SourcedOperation]:
    """A document's operations of these keys, in its order."""
    wanted = frozenset(keys)
    return [SourcedOperation(each, facts) for each in document.operations if each.key in wanted]


def plan_environments(operations: Sequence[SourcedOperation], *, target_tools: int | None = None) -> Compilation:
    """What the compiler makes of some operations; one on which it fails leaves them all out with its message."""
    try:
        return compile_operations(operations, target_tools=target_tools)
    except _FAULTS as error:
        logger.exception("event=compiler_failed operations=%d", len(operations))
        detail = _words(error)
        left = tuple(LeftOut(each.facts.sha256, each.operation.key, "compiler_fault", detail) for each in operations)
        return Compilation((), left)


def prove_pack(pack: Pack) -> Verified:
    """Verifies a pack in this process's workers; tools that fail are dropped with what depends on them.

    Raises:
        SandboxFailedError: The workers can't be had.
    """
    try:
        return verify_pack(pack, worker_pool(), depth=sampled_depth(BULK, pack), may_drop=True, bar=LOOSE)
    except SandboxError as error:
        raise SandboxFailedError(f"{error.code}: {error}") from error


def make_environment(blueprint: Blueprint, *, seed: int, prove: Prove = prove_pack) -> Made:
    """Rows, cases, pack and proof of one planned environment.

    Args:
        blueprint: The plan.
        seed: Of rows and cases.
        prove: What verifies a pack and drops what fails.

    Raises:
        SandboxFailedError: The workers can't be had.
    """
    started = time.monotonic()
    draft: Pack | None = None
    found: Verified | None = None
    reason, detail = "", ""
    try:
        draft = draft_pack(blueprint, seed)
        found = prove(draft)
    except (SandboxFailedError, TransientError):
        raise
    except (EnvFactoryError, *_FAULTS) as error:
        logger.exception("event=environment_failed name=%s", blueprint.name)
        reason, detail = "compiler_fault", _words(error)
    if found is not None:
        reason, detail = _verdict(found)
    failed, details = _dropped(found)
    proven = found.pack if found is not None and not reason else None
    facts = environment_facts(
        blueprint,
        failed=failed,
        num_rows=sum(len(rows) for scenario in proven.scenarios for rows in scenario.rows.values()) if proven else 0,
        num_cases=len(proven.cases) if proven else 0,
        meets_bar=found is not None and not reason and _meets_bar(found),
    )
    seconds = round(time.monotonic() - started, 4)
    return Made(blueprint, facts, draft, found, failed, details, reason, detail, seconds)


def _verdict(found: Verified) -> tuple[str, str]:
    """Why a pack can't be used, as a reason and for people; empty if it can."""
    if found.passes:
        return "", ""
    if found.is_undecided:
        return "undecided", "The machinery lost a call, so that nothing is said of the pack."
    if found.lacks:
        return "below_bar", ", ".join(found.lacks)
    first = found.findings[0]
    return "environment_discarded", f"{first.check}: {first.place}: {first.message}"[:1000]


def _meets_bar(found: Verified) -> bool:
    return found.standing is not None and not STRICT.problems(found.standing)


def _dropped(found: Verified | None) -> tuple[dict[str, str], dict[str, str]]:
    failed: dict[str, str] = {}
    details: dict[str, str] = {}
    for each in found.dropped if found is not None else ():
        failed[each.tool] = "depends_on_failed" if each.code == "depends_on_dropped" else "tool_failed"
        details[each.tool] = f"{each.code}: {each.detail}"[:1000]
    return failed, details


def draft_pack(blueprint: Blueprint, seed: int) -> Pack:
    """A planned environment as a pack that nothing has run yet; the same plan and seed give the same bytes."""
    scenarios = make_scenarios(blueprint, seed)
    return emit_pack(blueprint, scenarios, make_cases(blueprint, scenarios, seed))


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:1000].replace("\0", "\\0")
