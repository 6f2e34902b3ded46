"""Verification: only what was executed makes a version usable, and what is wrong is named."""

import dataclasses

import pytest

from environments import services
from environments.adapters.pack_verification import Verified
from environments.core.errors import SandboxFailedError, StaleStateError
from environments.models import EnvironmentVersion, Job, VerificationRun
from environments.runtime.cases import CaseResult, CasesResult
from environments.runtime.conformance import Check, ConformanceReport, Finding
from environments.runtime.figures import Rate, Rates, ToolFigures
from environments.runtime.pack import read_pack
from environments.runtime.records import CallRecord, CallStatus
from environments.runtime.sandbox.errors import EpisodeLost, SandboxUnavailableError, SandboxViolation
from environments.services import verification
from environments.services.registry import PACKS
from environments.services.verification import verify_environment
from tests.environments.runtime.test_conformance import TRANSFORMS
from tests.factories.environments import JobFactory
from tests.factories.registry import little_version, shipped_version, unchecked_version

pytestmark = pytest.mark.django_db
Status = EnvironmentVersion.Status
VERIFIED = Status.VERIFIED


def fresh(version):
    return EnvironmentVersion.objects.select_related("environment").get(pk=version.pk)


def steps(version):
    return list(version.history.order_by("pk").values_list("before", "after"))


@pytest.fixture
def few_calls(monkeypatch):
    """Fewer random calls, for tests of what a run stores."""
    real = verification.check_environment
    monkeypatch.setattr(
        verification, "check_environment", lambda *arguments: real(*arguments, num_calls=10, with_cases=True)
    )


@pytest.fixture
def conforms(monkeypatch):
    """A run that finds nothing, without a worker, for tests of what moves the status."""
    monkeypatch.setattr(verification, "_execute", lambda version, report: Verified((), (), 180, 180))


def finds(monkeypatch, *findings, cases=None):
    """A run in which the conformance suite says just this."""
    report = ConformanceReport("0" * 64, findings, 100, 90, cases)
    monkeypatch.setattr(verification, "check_environment", lambda *_arguments: report)


# --- What passes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["repair_cafe", "seed_bank", "tide_gauges"])
def test_shipped_pack_is_verified(name):
    version = shipped_version(name, status=Status.DRAFT)

    run = verify_environment(version=version)

    assert (run.outcome, run.findings, run.number, run.verifier_version) == ("passed", [], 1, "verification/2")
    assert (run.num_cases, run.num_cases_held) == (version.num_cases, version.num_cases)
    assert run.num_answered == run.num_calls >= 150
    assert run.completeness_ratio == 1.0
    assert run.effects.keys() == {tool.name for tool in version.tools.all()}
    assert run.case_results.filter(holds=True, problems=[]).count() == version.num_cases
    found = fresh(version)
    assert found.status == VERIFIED
    assert found.environment.verified_version == found
    assert steps(version) == [("", "draft"), ("draft", "verified")]
    step = version.history.first()
    assert (step.run, step.actor) == (run, None)
    assert f"{version.num_cases} cases held" in step.reason


def test_effects_that_agents_are_told_are_those_that_were_seen(few_calls):
    version = shipped_version("tide_gauges", status=Status.DRAFT)

    run = verify_environment(version=version)

    kinds = {tool.name: tool.effect for tool in version.tools.all()}
    assert {kinds[name] for name, effects in run.effects.items() if effects["is_destructive"]} <= {"write"}
    assert all(run.effects[name] == {"is_destructive": False, "is_idempotent": True}
               for name, kind in kinds.items() if kind == "read")  # fmt: skip
    assert set(kinds.values()) == {"read", "write"}


# --- What fails -------------------------------------------------------------------------------------------------------


NAMED_EARLIER = {"reject_undeclared": "case_code", "output_schema": "schema_required_unknown", "cases": "case_code"}
"""What the host's half of validation, which a run starts with, says of three mutants before a worker sees them."""


@pytest.mark.parametrize("name", TRANSFORMS)
def test_mutant_is_rejected_and_what_is_wrong_is_named(name):
    version = unchecked_version(TRANSFORMS[name](read_pack(PACKS / "tide_gauges")))

    run = verify_environment(version=version)

    assert run.outcome == "failed"
    assert NAMED_EARLIER.get(name, name.split()[0]) in {finding["code"] for finding in run.findings}
    assert fresh(version).status == Status.REJECTED
    assert fresh(version).environment.verified_version is None
    step = version.history.first()
    assert (step.before, step.after, step.run) == ("draft", "rejected", run)
    first = run.findings[0]
    assert first["check"] in step.reason
    assert first["message"][:40] in step.reason
    assert run.effects == {}
    assert run.num_cases == run.case_results.count()
    assert run.num_cases_held == run.case_results.filter(holds=True).count()


def test_pack_without_a_case_for_each_tool_is_rejected_before_it_runs():
    version = little_version()

    run = verify_environment(version=version)

    assert {finding["code"] for finding in run.findings} == {"case_coverage"}
    assert (run.outcome, run.num_cases, run.num_calls) == ("failed", 0, 0)
    assert fresh(version).status == Status.REJECTED


def test_case_that_does_not_hold_is_kept_with_what_was_not_as_expected(few_calls):
    pack = read_pack(PACKS / "tide_gauges")
    position, case = next((at, one) for at, one in enumerate(pack.cases) if one.changes)
    wrong = dataclasses.replace(case, changes=())
    cases = (*pack.cases[:position], wrong, *pack.cases[position + 1 :])
    version = unchecked_version(dataclasses.replace(pack, cases=cases))

    run = verify_environment(version=version)

    broken = run.case_results.get(holds=False)
    assert broken.case.name == case.name
    assert broken.problems
    assert (run.num_cases_held, run.num_cases) == (len(cases) - 1, len(cases))
    assert [finding["place"] for finding in run.findings] == [f"cases/{case.name}"]


def test_finding_that_quotes_a_control_character_is_stored_and_logged(monkeypatch, operator):
    version = shipped_version("tide_gauges", status=Status.DRAFT)
    case = version.cases.all()[0]
    result = CaseResult(case.name, case.tool, case.kind, ("it gave \0",), (), ())
    finds(monkeypatch, Finding(Check.CASES, "cases", "cases/\0", "it gave \0"), cases=CasesResult((result,)))

    job = run_job(operator, version.code)

    assert job.status == "succeeded", job.error_message
    run = version.runs.get()
    assert run.findings[0]["message"] == "it gave \0"
    assert run.case_results.get().problems == ["it gave \0"]
    assert job.events.filter(level="error", text__contains="it gave").exists()


# --- When the machinery is to blame -----------------------------------------------------------------------------------

LOST = Finding(Check.INFRASTRUCTURE, "episode_lost", "scenarios/small/3/draw", "the call was lost")
DERIVED = Finding(Check.RESET, "reset_determinism", "scenarios/small", "the same calls led to another state")


@pytest.mark.parametrize("status", [Status.DRAFT, VERIFIED])
@pytest.mark.parametrize("findings", [(LOST,), (LOST, DERIVED)], ids=["alone", "with what follows from it"])
def test_lost_call_leaves_it_undecided_and_moves_nothing(monkeypatch, findings, status):
    finds(monkeypatch, *findings)
    version = shipped_version("tide_gauges", status=status)
    past = steps(version)

    run = verify_environment(version=version)

    assert (run.outcome, len(run.findings)) == ("undecided", len(findings))
    assert fresh(version).status == status
    assert steps(version) == past


def test_lost_case_is_the_machinerys_and_not_the_packs(monkeypatch):
    version = shipped_version("tide_gauges", status=VERIFIED)
    case = version.cases.all()[0]
    record = CallRecord(
        0,
        case.tool,
        {},
        CallStatus.INFRASTRUCTURE,
        "episode_lost",
        "{}",
        (),
        frozenset(),
        frozenset(),
        frozenset(),
        1.0,
    )
    lost = CaseResult(case.name, case.tool, case.kind, ("it ended as infrastructure",), (record,), (), True)
    monkeypatch.setattr("environments.runtime.conformance.run_cases", lambda *_arguments, **_more: CasesResult((lost,)))

    run = verify_environment(version=version)

    assert [(finding["check"], finding["code"]) for finding in run.findings] == [("infrastructure", "episode_lost")]
    assert run.outcome == "undecided"
    assert fresh(version).status == VERIFIED


@pytest.mark.parametrize("code", ["sandbox_violation", "sandbox_protocol", "harness_tampered", "replay_mismatch"])
def test_call_that_the_pack_itself_broke_fails_it(monkeypatch, code):
    finds(monkeypatch, LOST, dataclasses.replace(LOST, code=code))
    version = shipped_version("tide_gauges", status=VERIFIED)

    assert verify_environment(version=version).outcome == "failed"
    assert fresh(version).status == Status.REJECTED


@pytest.mark.parametrize("error", [SandboxUnavailableError("no Landlock"), EpisodeLost("gone")])
def test_nothing_is_stored_when_the_workers_cannot_be_had(monkeypatch, error):
    def fail(*_arguments):
        raise error

    monkeypatch.setattr(verification, "check_environment", fail)
    version = shipped_version("tide_gauges", status=VERIFIED)
    past = steps(version)

    with pytest.raises(SandboxFailedError, match=error.code):
        verify_environment(version=version)

    assert not VerificationRun.objects.exists()
    assert (fresh(version).status, steps(version)) == (VERIFIED, past)


def test_pack_that_breaks_the_lock_is_rejected(monkeypatch):
    def fail(*_arguments):
        raise SandboxViolation("killed by the kernel")

    monkeypatch.setattr(verification, "check_environment", fail)
    version = shipped_version("tide_gauges", status=Status.DRAFT)

    run = verify_environment(version=version)

    assert (run.outcome, run.findings[0]["code"]) == ("failed", "sandbox_violation")
    assert fresh(version).status == Status.REJECTED


def test_pack_that_was_set_aside_is_looked_at_again(few_calls):
    version = shipped_version("tide_gauges", status=Status.DRAFT)
    pool = services.worker_pool()
    verify_environment(version=version)
    runner = pool._runners[version.content_sha256]
    runner.crashes.reason = "3 crashes in 60 s"
    assert version.content_sha256 in pool.quarantined()

    assert verify_environment(version=fresh(version)).outcome == "passed"


# --- More than one run ------------------------------------------------------------------------------------------------


def test_one_job_makes_one_run_when_it_runs_twice(few_calls, operator):
    version = shipped_version("tide_gauges", status=Status.DRAFT)
    job = JobFactory.create(kind="verify_environment", created_by=operator)

    first, second = (verify_environment(version=fresh(version), job=job) for _ in range(2))

    assert first == second == VerificationRun.objects.get()
    assert (first.job, version.history.first().actor) == (job, operator)
    assert steps(version) == [("", "draft"), ("draft", "verified")]


def test_runs_are_numbered_and_have_codes_of_their_own(conforms):
    version = shipped_version("tide_gauges", status=Status.DRAFT)

    runs = [verify_environment(version=fresh(version)) for _ in range(3)]

    assert [run.number for run in runs] == [1, 2, 3]
    assert len({run.code for run in runs}) == 3
    assert steps(version) == [("", "draft"), ("draft", "verified")]


def test_verified_version_is_rejected_when_it_now_fails(few_calls):
    earlier = shipped_version("tide_gauges")
    version = unchecked_version(TRANSFORMS["output_schema"](read_pack(PACKS / "tide_gauges")))
    version.move(VERIFIED, reason="by an older suite")
    assert fresh(version).environment.verified_version == version

    run = verify_environment(version=fresh(version))

    assert run.outcome == "failed"
    assert fresh(version).status == Status.REJECTED
    assert fresh(version).environment.verified_version == earlier
    assert steps(version)[-1] == ("verified", "rejected")


def test_rejected_version_comes_back_when_it_now_passes(conforms):
    version = shipped_version("tide_gauges", status=Status.REJECTED)

    verify_environment(version=version)

    assert steps(version)[-1] == ("rejected", "verified")


@pytest.mark.parametrize(
    ("before", "meanwhile"), [(VERIFIED, Status.RETIRED), (Status.DRAFT, Status.DISCARDED)], ids=str
)
def test_version_stays_where_a_person_put_it_while_it_was_verified(monkeypatch, before, meanwhile):
    version = shipped_version("tide_gauges", status=before)

    def execute(version, report):
        assert fresh(version).move(meanwhile, reason="a person decided")
        return Verified((), (), 180, 180)

    monkeypatch.setattr(verification, "_execute", execute)
    run = verify_environment(version=version)

    assert run.outcome == "passed"
    assert fresh(version).status == meanwhile
    assert steps(version)[-1] == (before, meanwhile)


@pytest.mark.parametrize("route", [(VERIFIED, Status.RETIRED), (Status.DISCARDED,)], ids=["retired", "discarded"])
def test_retired_and_discarded_versions_are_not_run(monkeypatch, route):
    version = shipped_version("tide_gauges", status=Status.DRAFT)
    for step in route:
        assert version.move(step)
    monkeypatch.setattr(verification, "_execute", lambda *_arguments: pytest.fail("it was run"))

    with pytest.raises(StaleStateError, match="not verified any more"):
        verify_environment(version=version)
    assert not version.runs.exists()


# --- Jobs -------------------------------------------------------------------------------------------------------------


def run_job(operator, version_code):
    job, _ = services.create_job(kind="verify_environment", parameters={"version": str(version_code)}, user=operator)
    services.execute_job(job_code=job.code, send=lambda job_code: True)
    return Job.objects.get(pk=job.pk)


def test_job_says_what_came_of_it(few_calls, operator):
    version = shipped_version("tide_gauges", status=Status.DRAFT)

    job = run_job(operator, version.code)

    assert job.status == "succeeded", job.error_message
    assert job.result == {
        "environment": "tide_gauges", "version": 1, "run": str(version.runs.get().code), "outcome": "passed",
        "findings": 0, "cases_held": version.num_cases, "cases": version.num_cases,
    }  # fmt: skip
    assert (job.stage, job.done_units, job.total_units) == ("store", 4, 4)


def test_job_logs_the_findings_of_a_run_that_failed(operator):
    version = little_version()

    job = run_job(operator, version.code)

    assert (job.status, job.result["outcome"]) == ("succeeded", "failed")
    assert job.events.filter(level="error", text__contains="it has no case of kind").exists()
    assert job.events.filter(level="error").count() == min(20, job.result["findings"])
    assert version.history.first().actor == operator


def test_job_fails_by_name_when_there_is_no_such_version(operator):
    job = run_job(operator, "00000000-0000-4000-8000-000000000000")

    assert (job.status, job.error_code) == ("failed", "invalid_input")


def test_job_fails_by_name_when_the_workers_cannot_be_had(monkeypatch, operator):
    def fail(*_arguments):
        raise SandboxUnavailableError("no Landlock")

    monkeypatch.setattr(verification, "check_environment", fail)

    job = run_job(operator, shipped_version("tide_gauges", status=Status.DRAFT).code)

    assert (job.status, job.error_code) == ("failed", "sandbox_failed")
    assert "Landlock" in job.error_message


# --- Rates, and tools that are dropped --------------------------------------------------------------------------------


def compiled_version(pack):
    return services.import_pack(pack=pack, origin=EnvironmentVersion.Origin.COMPILED, user=None).version


def cafe_with(old, new):
    pack = read_pack(PACKS / "repair_cafe")
    assert old in pack.tools_py
    return dataclasses.replace(pack, tools_py=pack.tools_py.replace(old, new))


def test_run_tells_three_rates_apart_and_which_tables_each_tool_uses(few_calls):
    version = shipped_version("tide_gauges", status=Status.DRAFT)

    run = verify_environment(version=version)

    assert list(run.rates) == ["interface", "execution", "transition"]
    assert all(rate["num_held"] == rate["num"] > 0 for rate in run.rates.values())
    assert run.rates["transition"]["num"] == run.num_cases
    names = {tool.name for tool in version.tools.all()}
    assert run.figures.keys() == run.tool_tables.keys() == names
    assert sum(one["num_execution"] for one in run.figures.values()) == run.rates["execution"]["num"]
    assert all(one["num_failures"] == one["num_cases_unexpected_failure"] == 0 for one in run.figures.values())
    known = set(version.tables.values_list("name", flat=True))
    assert all(set(use["reads"]) | set(use["writes"]) <= known for use in run.tool_tables.values())
    assert (run.warnings, run.dropped) == ([], [])


def test_version_is_not_admitted_when_a_rate_is_not_full(monkeypatch):
    short = {"draw": ToolFigures(1, 0, 0, Rates(Rate(1, 1), Rate(1, 1), Rate(0, 1)))}
    found = Verified((), (), 180, 180, figures=short)
    monkeypatch.setattr(verification, "_execute", lambda version, report: found)

    run = verify_environment(version=shipped_version("tide_gauges", status=Status.DRAFT))

    assert (run.outcome, run.rates["transition"]) == ("failed", {"num_held": 0, "num": 1})


def test_failing_tool_of_a_compiled_version_is_dropped_and_the_rest_is_a_version_of_its_own(operator):
    version = compiled_version(cafe_with("status = 'collected'", "status = 'repaired'"))
    job = JobFactory.create(kind="verify_environment", created_by=operator)

    run, again = (verify_environment(version=fresh(version), job=job, may_drop=True) for _ in range(2))

    assert run == again == VerificationRun.objects.get()
    assert (run.outcome, run.job, run.findings) == ("passed", job, [])
    assert [(one["tool"], one["code"]) for one in run.dropped] == [("confirm_collection", "cases")]
    kept = fresh(run.version)
    assert kept != version
    assert (kept.status, kept.origin, kept.number) == (VERIFIED, "compiled", 2)
    assert kept.environment.verified_version == kept
    assert kept.num_tools == version.num_tools - 1
    assert all(rate["num_held"] == rate["num"] for rate in run.rates.values())
    assert fresh(version).status == Status.DISCARDED
    assert "confirm_collection" in version.history.first().reason


def test_compiled_version_below_the_bar_is_discarded_with_everything_that_went():
    version = compiled_version(cafe_with("ctx.db.", "ctx.nothing."))

    run = verify_environment(version=version, may_drop=True)

    assert (run.version, run.outcome) == (version, "failed")
    assert len(run.dropped) > 10
    assert fresh(version).status == Status.DISCARDED
    assert version.history.first().reason.startswith("below the bar: few_tools")
    assert EnvironmentVersion.objects.count() == 1


def test_right_compiled_version_stays_as_it_is():
    version = compiled_version(read_pack(PACKS / "repair_cafe"))

    run = verify_environment(version=version, may_drop=True)

    assert (run.version, run.outcome, run.dropped) == (version, "passed", [])
    assert EnvironmentVersion.objects.count() == 1


def test_no_tool_of_a_verified_version_is_dropped():
    with pytest.raises(StaleStateError, match="no tool of it is dropped"):
        verify_environment(version=shipped_version("tide_gauges"), may_drop=True)
