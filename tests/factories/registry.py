"""Versions in the registry, as tests need them."""

from typing import Any

from environments import services
from environments.core.seeds import content_code
from environments.models import Environment, EnvironmentSession, EnvironmentVersion, VerificationRun
from environments.runtime.pack.model import Case, CaseCall, Expectation, Pack, Provenance
from environments.runtime.records import CallRecord, CallStatus
from tests.factories.little_pack import library

PERSON = Provenance("person", "https://example.org/library", "a" * 64, "2026-03-02T09:00:00Z")
DRAW = Case(
    "draw_once", "draw", "success", (CaseCall("draw", {}),), (Expectation(CallStatus.SUCCESS),), (), "person",
    scenario="small",
)  # fmt: skip


def shipped_version(name: str = "seed_bank", *, status: str = EnvironmentVersion.Status.VERIFIED) -> EnvironmentVersion:
    """A shipped pack in the registry; verified means here that its status says so, without a run."""
    version = services.import_shipped_pack(name=name).version
    if status != version.status:
        assert version.move(EnvironmentVersion.Status(status), reason="as the test needs it")
    return version


def little_pack(**changes: Any) -> Pack:
    """The lending library with a source and one case, so that it can be imported; some of its parts replaced."""
    return library(**{"provenance": (PERSON,), "cases": (DRAW,), **changes})


def little_version(**changes: Any) -> EnvironmentVersion:
    """The lending library in the registry, as a draft."""
    origin = EnvironmentVersion.Origin.UPLOADED
    return services.import_pack(pack=little_pack(**changes), origin=origin, user=None).version


def unchecked_version(pack: Pack) -> EnvironmentVersion:
    """Any pack's rows, written without the checks of an import and read again."""
    environment, _ = Environment.objects.get_or_create(
        name=pack.name, defaults={"code": Environment.code_of(pack.name)}
    )
    version = EnvironmentVersion.from_core(
        pack, environment=environment, number=environment.versions.count() + 1,
        origin=EnvironmentVersion.Origin.UPLOADED, created_by=None,
    )  # fmt: skip
    version.save(force_insert=True)
    for rows in version.parts_from_core(pack):
        for row in rows:
            row.save(force_insert=True)
    version.history.create(after=version.status)
    environment.point_at_versions()
    return EnvironmentVersion.objects.get(pk=version.pk)


def finished_run(version: EnvironmentVersion, **fields: Any) -> VerificationRun:
    """A verification run with a result for each case of the version, as if workers had run it."""
    number = version.runs.count() + 1
    run = VerificationRun.objects.create(
        code=content_code("verification_run", 0, f"{version.content_sha256}/{number}"), version=version, number=number,
        **{"verifier_version": "conformance/1", "outcome": "passed", **fields},
    )  # fmt: skip
    for case in version.cases.all():
        run.case_results.create(case=case, holds=run.outcome == "passed", problems=[])
    return run


def session_with_calls(version: EnvironmentVersion, user: Any, count: int = 1) -> EnvironmentSession:
    """A session with recorded calls that no worker has made."""
    session = EnvironmentSession.objects.create(user=user, version=version, scenario="small")
    records = [
        CallRecord(index, "draw", {}, CallStatus.SUCCESS, None, '{"number":1}', (), frozenset(), frozenset(),
                   frozenset(), 12.5)
        for index in range(count)
    ]  # fmt: skip
    assert session.append(records)
    return session
