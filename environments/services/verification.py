"""Verification: the one entry by which a version of any author becomes usable, and only by what was executed."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from django.db import transaction

from environments.adapters.pack_verification import Verified, examine, verify_pack
from environments.core.access import Permission
from environments.core.errors import FieldError, InvalidInputError, SandboxFailedError, StaleStateError
from environments.core.jobs import COLLECT_STAGE, WAITING, JobContext, JobKind, Queue, Waiting
from environments.core.seeds import content_code
from environments.models import CaseResult, EnvironmentVersion, Job, User, VerificationRun
from environments.runtime.conformance import BULK, FULL, check_environment
from environments.runtime.pack import content_sha256
from environments.runtime.sandbox.errors import SandboxError
from environments.services.registry import import_pack, import_shipped_pack, shipped_packs
from environments.services.workers import environment_of, worker_pool

VERIFIER_VERSION: Final = "verification/2"
"""What a run says it was made by; raised whenever a check is added or changed."""

RATES: Final = ("interface", "execution", "transition")
"""The three rates, in the order in which they are told."""

Outcome = VerificationRun.Outcome
Status = EnvironmentVersion.Status


def verify_environment(
    *,
    version: EnvironmentVersion,
    job: Job | None = None,
    may_drop: bool = False,
    report: Callable[[str], None] = lambda stage: None,
) -> VerificationRun:
    """Checks the pack, runs its cases and its conformance in locked workers, and moves the version's status.

    A version passes with no finding at all and all three rates at 100 %. A run that the machinery spoilt is undecided
    and moves nothing. Where tools may be dropped, what is left becomes a version of its own, which the run is of, and
    the version that was asked for is discarded, as it is if too little is left.

    Args:
        version: Draft, rejected, or verified before.
        job: The job that runs it; the same job twice gives the same run.
        may_drop: Whether tools that fail are dropped with what depends on them: for versions that the compiler wrote,
            none of which has been verified before.
        report: Called with each stage's name.

    Raises:
        StaleStateError: If the version is retired or discarded, or verified and tools were to be dropped.
        SandboxFailedError: If the workers can't be had; nothing is stored.
    """
    if job is not None:
        earlier = VerificationRun.objects.filter(job=job).first()
        if earlier is not None:
            return earlier
    if version.status != Status.VERIFIED and not version.may_become(Status.VERIFIED):
        raise StaleStateError(f"{version} is {version.status}: it is not verified any more.")
    if may_drop and version.status == Status.VERIFIED:
        raise StaleStateError(f"{version} is verified: no tool of it is dropped.")
    found = _execute_with_dropping(version, report) if may_drop else _execute(version, report)
    report("store")
    return record_verification(version=version, found=found, job=job, may_drop=may_drop)


def record_verification(
    *, version: EnvironmentVersion, found: Verified, job: Job | None = None, may_drop: bool = False
) -> VerificationRun:
    """Stores what a verification showed, and moves statuses by it.

    Args:
        version: What was asked for; with its own content or, if tools were dropped, with more.
        found: What checking and execution showed, here or in a process of its own.
        job: The job that did it.
        may_drop: Whether tools could be dropped, so that a pack that fails is discarded instead of rejected.
    """
    with transaction.atomic():
        version = _locked(version)
        if not may_drop or found.is_undecided:
            return _store(version, found, job)
        if found.passes and found.pack is not None and content_sha256(found.pack) != version.content_sha256:
            user = job.created_by if job is not None else None
            origin = EnvironmentVersion.Origin(version.origin)
            reduced = _locked(import_pack(pack=found.pack, origin=origin, user=user).version)
            names = ", ".join(one.tool for one in found.dropped)
            if version.may_become(Status.DISCARDED):
                reason = f"{len(found.dropped)} tools dropped, what is left is {reduced}: {names}"[:2000]
                version.move(Status.DISCARDED, reason=reason, actor=user)
            return _store(reduced, found, job)
        return _store(version, found, job, discards=True)


def _locked(version: EnvironmentVersion) -> EnvironmentVersion:
    rows = EnvironmentVersion.objects.select_for_update(of=("self",)).select_related("environment")
    return rows.get(pk=version.pk)


def _execute(version: EnvironmentVersion, report: Callable[[str], None]) -> Verified:
    # A pack that was set aside for crashes gets another chance: somebody asked to look again.
    worker_pool().release(version.content_sha256)
    try:
        return examine(
            environment_of(version),
            worker_pool(),
            depth=FULL,
            checker=lambda environment, described: check_environment(environment, described),
            report=report,
        )
    except SandboxError as error:
        raise SandboxFailedError(f"{error.code}: {error}") from error


def _execute_with_dropping(version: EnvironmentVersion, report: Callable[[str], None]) -> Verified:
    worker_pool().release(version.content_sha256)
    try:
        return verify_pack(version.to_core(), worker_pool(), depth=BULK, may_drop=True, report=report)
    except SandboxError as error:
        raise SandboxFailedError(f"{error.code}: {error}") from error


def _outcome(found: Verified) -> Outcome:
    """Passed without a finding; undecided if the machinery lost a call."""
    if found.is_undecided:
        return Outcome.UNDECIDED
    is_whole = not found.figures or found.all_figures.rates.are_full
    return Outcome.PASSED if found.passes and is_whole else Outcome.FAILED


def _store(version: EnvironmentVersion, found: Verified, job: Job | None, *, discards: bool = False) -> VerificationRun:
    """The run of a locked version, and its status after it."""
    outcome = _outcome(found)
    latest = version.runs.order_by("-number").values_list("number", flat=True).first()
    number = (latest or 0) + 1
    keys = dict(version.cases.values_list("name", "pk"))
    # Where tools were dropped in vain, the cases are those of what was left, which are some of the version's.
    cases = [case for case in found.cases if case.name in keys]
    rates = found.all_figures.rates
    run = VerificationRun.objects.create(
        code=content_code("verification_run", 0, f"{version.content_sha256}/{number}"),
        version=version,
        number=number,
        job=job,
        verifier_version=VERIFIER_VERSION,
        outcome=outcome,
        findings=[asdict(finding) for finding in found.findings],
        effects={name: asdict(effects) for name, effects in found.effects.items()},
        figures=found.figures_document(),
        rates={name: asdict(getattr(rates, name)) for name in RATES} if found.figures else {},
        warnings=[asdict(one) for one in found.warnings],
        tool_tables=found.uses_document(),
        dropped=[asdict(one) for one in found.dropped],
        num_cases=len(cases),
        num_cases_held=sum(case.holds for case in cases),
        num_calls=found.num_calls,
        num_answered=found.num_answered,
    )
    CaseResult.objects.bulk_create(
        (
            CaseResult(run=run, case_id=keys[case.name], holds=case.holds, problems=list(case.problems))
            for case in cases
        ),
        batch_size=1000,
    )
    failed = Status.DISCARDED if discards else Status.REJECTED
    status = {Outcome.PASSED: Status.VERIFIED, Outcome.FAILED: failed}.get(outcome)
    if status is not None and status != version.status:
        version.move(status, reason=_reason(found), actor=job.created_by if job else None, run=run)
    return run


def _reason(found: Verified) -> str:
    if found.lacks:
        return f"below the bar: {', '.join(found.lacks)}; {len(found.dropped)} tools dropped"
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
