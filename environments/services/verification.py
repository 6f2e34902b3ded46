"""Verification: the one entry by which a version of any author becomes usable, and only by what was executed."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from django.db import transaction

from environments.core.access import Permission
from environments.core.errors import FieldError, InvalidInputError, SandboxFailedError, StaleStateError
from environments.core.jobs import COLLECT_STAGE, WAITING, JobContext, JobKind, Queue, Waiting
from environments.core.seeds import content_code
from environments.models import CaseResult, EnvironmentVersion, Job, User, VerificationRun
from environments.runtime.cases import CaseResult as PlayedCase
from environments.runtime.conformance import Check, Finding, check_environment
from environments.runtime.effects import Effects, observe_effects
from environments.runtime.pack import check_pack
from environments.runtime.pack.documents import TOOLS
from environments.runtime.sandbox.errors import (
    HarnessTampered,
    ReplayMismatch,
    SandboxError,
    SandboxProtocolError,
    SandboxViolation,
)
from environments.services.registry import import_shipped_pack, shipped_packs
from environments.services.workers import environment_of, worker_pool

VERIFIER_VERSION: Final = "conformance/1"
"""What a run says it was made by; raised whenever a check is added or changed."""

SUSPECT_CODES: Final = frozenset(
    kind.code for kind in (HarnessTampered, ReplayMismatch, SandboxProtocolError, SandboxViolation)
)
"""How calls are lost by the pack's own doing, and not by the machinery's."""

Outcome = VerificationRun.Outcome
Status = EnvironmentVersion.Status


@dataclass(frozen=True, slots=True)
class _Verified:
    """What execution showed, before it is stored."""

    findings: tuple[Finding, ...]
    cases: tuple[PlayedCase, ...] = ()
    num_calls: int = 0
    num_answered: int = 0
    effects: dict[str, Effects] = field(default_factory=dict)

    @property
    def outcome(self) -> Outcome:
        """Passed without a finding; undecided if the machinery lost a call, which makes what follows look wrong too."""
        if not self.findings:
            return Outcome.PASSED
        lost = {finding.code for finding in self.findings if finding.check == Check.INFRASTRUCTURE}
        return Outcome.UNDECIDED if lost and not lost & SUSPECT_CODES else Outcome.FAILED


def verify_environment(
    *, version: EnvironmentVersion, job: Job | None = None, report: Callable[[str], None] = lambda stage: None
) -> VerificationRun:
    """Checks the pack, runs its cases and its conformance in locked workers, and moves the version's status.

    A version passes with no finding at all. A run that the machinery spoilt is undecided and moves nothing.

    Args:
        version: Draft, rejected, or verified before.
        job: The job that runs it; the same job twice gives the same run.
        report: Called with each stage's name.

    Raises:
        StaleStateError: If the version is retired or discarded.
        SandboxFailedError: If the workers can't be had; nothing is stored.
    """
    if job is not None:
        earlier = VerificationRun.objects.filter(job=job).first()
        if earlier is not None:
            return earlier
    if version.status != Status.VERIFIED and not version.may_become(Status.VERIFIED):
        raise StaleStateError(f"{version} is {version.status}: it is not verified any more.")
    found = _execute(version, report)
    report("store")
    return _store(version, found, job)


def _execute(version: EnvironmentVersion, report: Callable[[str], None]) -> _Verified:
    report("validate")
    # A pack that was set aside for crashes gets another chance: somebody asked to look again.
    worker_pool().release(version.content_sha256)
    try:
        environment = environment_of(version)
        faults = check_pack(environment.pack, require_cases=True)
        if not faults:
            described = worker_pool().describe(environment.encoded, environment.content_sha256)
            faults = tuple(described.faults)
        if faults:
            return _Verified(
                tuple(Finding(Check.VALIDATION, fault.code, fault.place, fault.message) for fault in faults)
            )
        report("conform")
        checked = check_environment(environment, described)
        effects: dict[str, Effects] = {}
        if checked.conforms:
            report("effects")
            effects = observe_effects(environment)
    except SandboxError as error:
        if error.code in SUSPECT_CODES:
            return _Verified((Finding(Check.FAILURE, error.code, TOOLS, str(error)),))
        raise SandboxFailedError(f"{error.code}: {error}") from error
    cases = checked.cases.cases if checked.cases else ()
    return _Verified(checked.findings, cases, checked.num_calls, checked.num_answered, effects)


def _store(version: EnvironmentVersion, found: _Verified, job: Job | None) -> VerificationRun:
    with transaction.atomic():
        version = EnvironmentVersion.objects.select_for_update(of=("self",)).select_related("environment").get(
            pk=version.pk
        )  # fmt: skip
        latest = version.runs.order_by("-number").values_list("number", flat=True).first()
        number = (latest or 0) + 1
        run = VerificationRun.objects.create(
            code=content_code("verification_run", 0, f"{version.content_sha256}/{number}"),
            version=version,
            number=number,
            job=job,
            verifier_version=VERIFIER_VERSION,
            outcome=found.outcome,
            findings=[asdict(finding) for finding in found.findings],
            effects={name: asdict(effects) for name, effects in found.effects.items()},
            num_cases=len(found.cases),
            num_cases_held=sum(case.holds for case in found.cases),
            num_calls=found.num_calls,
            num_answered=found.num_answered,
        )
        keys = dict(version.cases.values_list("name", "pk"))
        CaseResult.objects.bulk_create(
            (
                CaseResult(run=run, case_id=keys[case.name], holds=case.holds, problems=list(case.problems))
                for case in found.cases
            ),
            batch_size=1000,
        )
        status = {Outcome.PASSED: Status.VERIFIED, Outcome.FAILED: Status.REJECTED}.get(found.outcome)
        if status is not None and status != version.status:
            version.move(status, reason=_reason(found), actor=job.created_by if job else None, run=run)
    return run


def _reason(found: _Verified) -> str:
    if not found.findings:
        return f"{len(found.cases)} cases held, {found.num_answered} of {found.num_calls} random calls answered"
    first = found.findings[0]
    more = f", and {len(found.findings) - 1} more" if len(found.findings) > 1 else ""
    return f"{first.check}: {first.place}: {first.message[:300]}{more}".replace("\0", "\\0")


# --- Jobs -------------------------------------------------------------------------------------------------------------


def run_verify_environment(context: JobContext) -> dict[str, Any]:
    """Verifies one version and says what came of it."""
    version = (
        EnvironmentVersion.objects.select_related("environment").filter(code=context.parameters["version"]).first()
    )
    if version is None:
        fault = FieldError("/parameters/version", "unknown", "No environment version has this code.")
        raise InvalidInputError(fault.detail, fields=(fault,))
    stages = ("validate", "conform", "effects", "store")

    def report(stage: str) -> None:
        context.progress(stage, stages.index(stage), len(stages))

    run = verify_environment(version=version, job=Job.objects.get(code=context.job_code), report=report)
    context.progress("store", len(stages), len(stages))
    for finding in run.findings[:20]:
        context.log("error", f"{finding['check']} at {finding['place']}: {finding['message'][:400]}")
    return {
        "environment": version.environment.name,
        "version": version.number,
        "run": str(run.code),
        "outcome": run.outcome,
        "findings": len(run.findings),
        "cases_held": run.num_cases_held,
        "cases": run.num_cases,
    }


def run_install_packs(context: JobContext) -> dict[str, Any] | Waiting:
    """Imports the packs that ship with the project and verifies each in a job of its own."""
    if context.stage == COLLECT_STAGE:
        return {child.key: child.result or {"error": child.error_code} for child in context.children()}
    names = context.parameters["names"] or shipped_packs()
    user = User.objects.filter(jobs__code=context.job_code).first()
    for done, name in enumerate(names):
        context.progress("import", done, len(names))
        imported = import_shipped_pack(name=name, user=user)
        context.log("info", f"{imported.version}: {'imported' if imported.is_new else 'already there'}")
        if imported.version.status != Status.VERIFIED and imported.version.may_become(Status.VERIFIED):
            context.spawn(VERIFY_ENVIRONMENT.name, {"version": str(imported.version.code)}, key=name)
    context.progress("import", len(names), len(names))
    return WAITING if context.children() else {name: {"outcome": "verified before"} for name in names}


VERIFY_ENVIRONMENT: Final = JobKind(
    name="verify_environment",
    title="Verify environment",
    description="Checks a version's pack, runs its cases and its conformance in locked workers, and moves its status.",
    queue=Queue.BUILD,
    parameters={
        "type": "object",
        "properties": {
            "version": {"type": "string", "format": "uuid", "description": "Code of the environment version."}
        },
        "required": ["version"],
        "additionalProperties": False,
    },
    run=run_verify_environment,
    permission=Permission.RUN_JOBS,
    soft_seconds=1800,
    hard_seconds=1860,
)

INSTALL_PACKS: Final = JobKind(
    name="install_packs",
    title="Install reference packs",
    description="Imports the packs that ship with EnvFactory and verifies each.",
    queue=Queue.BUILD,
    parameters={
        "type": "object",
        "properties": {
            "names": {
                "type": "array",
                "items": {"type": "string"},
                "uniqueItems": True,
                "default": [],
                "description": "Names of shipped packs; none means all.",
            }
        },
        "additionalProperties": False,
    },
    run=run_install_packs,
    soft_seconds=600,
    hard_seconds=660,
)
