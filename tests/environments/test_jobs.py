"""Starting verifications: the decision and the job are one step."""

import threading

import pytest
from django.db import connection

from environments.core.errors import PermissionDeniedError, StaleStateError
from environments.jobs import start_verification
from environments.models import AuditEvent, Decision, EnvironmentVersion, Job
from tests.factories.environments import JobFactory
from tests.factories.registry import little_version

pytestmark = pytest.mark.django_db
Status = EnvironmentVersion.Status


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    """Codes of jobs that were put on the queue."""
    codes = []
    monkeypatch.setattr("environments.jobs.send_job", lambda code: codes.append(code) or True)
    return codes


def test_verification_is_a_decision_and_a_job(operator, sent, django_capture_on_commit_callbacks):
    version = little_version()

    with django_capture_on_commit_callbacks(execute=True):
        job = start_verification(version=version, user=operator, address="192.0.2.7")

    assert (job.kind, job.status, job.created_by) == ("verify_environment", "queued", operator)
    assert job.parameters == {"version": str(version.code)}
    assert sent == [job.code]
    decision = Decision.objects.get()
    assert (decision.actor, decision.verdict, decision.subject_code) == (operator, "verify", version.code)
    assert decision.subject_sha256 == version.content_sha256
    assert AuditEvent.objects.get(action="job.start").address == "192.0.2.7"


def test_verification_needs_the_permission_to_run_jobs(reviewer):
    with pytest.raises(PermissionDeniedError, match="run_jobs"):
        start_verification(version=little_version(), user=reviewer)
    assert not Job.objects.exists()
    assert not Decision.objects.exists()


@pytest.mark.parametrize("route", [(Status.DISCARDED,), (Status.VERIFIED, Status.RETIRED)])
def test_version_that_is_out_of_the_work_is_not_verified(operator, route):
    version = little_version()
    for step in route:
        version.move(step)

    with pytest.raises(StaleStateError, match=route[-1]):
        start_verification(version=version, user=operator)
    assert not Job.objects.exists()
    assert not Decision.objects.exists()


def test_version_is_not_verified_twice_at_the_same_time(operator):
    version, other = little_version(), little_version(title="Another")
    job = start_verification(version=version, user=operator)
    start_verification(version=other, user=operator)

    assert start_verification(version=version, user=operator) == job
    assert Decision.objects.filter(subject_code=version.code).count() == 1

    Job.objects.filter(pk=job.pk).update(status="cancelled", finished_at=job.created_at)
    assert start_verification(version=version, user=operator) != job


def test_part_of_another_job_that_verifies_it_counts(operator):
    version = little_version()
    parameters = {"version": str(version.code)}
    part = JobFactory.create(kind="verify_environment", parameters=parameters, parent=JobFactory.create())

    assert start_verification(version=version, user=operator) == part
    assert not Decision.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_one_of_many_who_press_the_button_starts_the_job(operator):
    version = little_version()
    barrier, outcomes = threading.Barrier(4), []

    def press():
        mine = EnvironmentVersion.objects.select_related("environment").get(pk=version.pk)
        barrier.wait()
        try:
            outcomes.append(start_verification(version=mine, user=operator))
        finally:
            connection.close()

    threads = [threading.Thread(target=press) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert outcomes == [Job.objects.get()] * 4
    assert Decision.objects.count() == 1
