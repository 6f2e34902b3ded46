"""The life of a job, without a broker: sending is a list."""

import threading
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from environments import services
from environments.core import jobs as core_jobs
from environments.core.access import Permission
from environments.core.errors import (
    EnvFactoryError,
    IdempotencyConflictError,
    InvalidInputError,
    PermissionDeniedError,
    StaleStateError,
    TransientError,
)
from environments.core.jobs import COLLECT_STAGE, WAITING, JobKind, Queue
from environments.models import AuditEvent, Job, JobEvent
from tests.factories.environments import JobFactory

pytestmark = pytest.mark.django_db
ANYTHING = {"type": "object"}


@pytest.fixture
def sent():
    """Codes that were put on the queue, and a sender that notes them."""

    class Sent(list[UUID]):
        def __call__(self, job_code: UUID) -> bool:
            self.append(job_code)
            return True

    return Sent()


@pytest.fixture
def register(monkeypatch):
    """Registers a kind for this test alone."""
    monkeypatch.setattr(core_jobs, "_KINDS", dict(core_jobs._KINDS))

    def register(run, name="example", **changes):
        kind = JobKind(name, "Example", "", Queue.DEFAULT, changes.pop("parameters", ANYTHING), run, **changes)
        core_jobs.register_job_kind(kind)
        return kind

    return register


def start(kind, user=None, **parameters):
    job, _ = services.create_job(kind=kind, parameters=parameters, user=user)
    return job


def run(job, send):
    services.execute_job(job_code=job.code, send=send)
    job.refresh_from_db()
    return job


def make_stale(job, **changes):
    long_ago = timezone.now() - timedelta(hours=1)
    Job.objects.filter(pk=job.pk).update(status="running", heartbeat_at=long_ago, **changes)
    job.refresh_from_db()
    return job


# --- Creating ---------------------------------------------------------------------------------------------------------


def test_created_job_has_defaults_manifest_and_audit_row(operator):
    job = start("seed_load", operator, count=7)

    assert job.parameters == {"count": 7, "mode": "rows", "seed": 0, "milliseconds": 0}
    assert job.status == Job.Status.QUEUED
    assert job.manifest.keys() >= {"python", "numpy", "faker", "envfactory", "commit"}
    assert job.manifest["numpy"] is not None
    audit = AuditEvent.objects.get(action="job.start")
    assert (audit.actor, audit.subject_code) == (operator, str(job.code))


def test_same_key_gives_the_same_job_and_other_parameters_a_conflict(operator):
    ask = {"kind": "seed_load", "user": operator, "idempotency_key": "k"}
    first, is_new = services.create_job(parameters={"count": 7}, **ask)
    again, is_new_again = services.create_job(parameters={"count": 7}, **ask)

    assert (first.pk, is_new, is_new_again) == (again.pk, True, False)
    with pytest.raises(IdempotencyConflictError):
        services.create_job(parameters={"count": 8}, **ask)
    assert Job.objects.count() == 1


def test_nothing_is_created_when_the_person_may_not_or_the_kind_only_spawns(viewer, operator):
    with pytest.raises(PermissionDeniedError, match=Permission.RUN_JOBS):
        start("seed_load", viewer)
    with pytest.raises(InvalidInputError, match="only started by other jobs"):
        start("seed_row", operator, index=0)
    assert not Job.objects.exists()


# --- Running ----------------------------------------------------------------------------------------------------------


def test_successful_run_keeps_result_progress_and_log(register, sent):
    def work(context):
        for done in range(3):
            context.progress("count", done, 3)
            context.log("info", f"line {done}")
        context.progress("count", 3, 3)
        return {"answer": 42}

    register(work)

    job = run(start("example"), sent)

    assert (job.status, job.result, job.done_units, job.total_units) == ("succeeded", {"answer": 42}, 3, 3)
    assert job.finished_at is not None
    lines = [event.text for event in job.events.filter(kind=JobEvent.Kind.LOG)]
    assert lines == ["line 0", "line 1", "line 2"]
    assert [event.text for event in job.events.filter(kind=JobEvent.Kind.STATUS)] == ["running", "succeeded"]


def test_second_delivery_does_nothing_when_the_job_is_running_or_final(register, sent):
    runs = []

    def work(context):
        runs.append(context.attempt)
        services.execute_job(job_code=context.job_code, send=sent)

    register(work)
    job = run(start("example"), sent)

    run(job, sent)

    assert runs == [1]


@pytest.mark.parametrize(
    ("error", "code"),
    [(ValueError("odd"), "internal_error"), (EnvFactoryError("no luck"), "error"), (KeyError("k"), "internal_error")],
)
def test_error_ends_the_job_with_its_code(register, sent, error, code):
    def work(context):
        raise error

    register(work)

    job = run(start("example"), sent)

    assert (job.status, job.error_code) == ("failed", code)
    assert str(error) in job.error_message


def test_interrupted_run_has_timed_out(register, sent):
    class Interrupted(Exception):  # noqa: N818 - as a worker's own, which is not named an error either
        pass

    def work(context):
        raise Interrupted

    register(work)
    job = start("example")

    services.execute_job(job_code=job.code, send=sent, interruption=Interrupted)

    job.refresh_from_db()
    assert (job.status, job.error_code) == ("failed", "timed_out")


def test_result_that_is_not_json_fails_the_job(register, sent):
    register(lambda context: {"a set": {1}})

    assert run(start("example"), sent).error_code == "internal_error"


@pytest.mark.parametrize("error", [TransientError("rate limit"), OperationalError("connection lost")])
def test_transient_error_is_tried_again_later_and_fails_at_the_cap(register, sent, error):
    def work(context):
        raise error

    register(work, max_attempts=2)
    job = run(start("example"), sent)

    assert (job.status, job.num_failures) == ("queued", 1)
    assert job.not_before_at > timezone.now()
    assert run(job, sent).attempt == 1, "not before its time"
    Job.objects.filter(pk=job.pk).update(not_before_at=None)
    job = run(job, sent)
    assert (job.status, job.attempt) == ("failed", 2)
    assert job.error_message == str(error)


def test_loser_writes_nothing_more_when_another_worker_has_taken_over(register, sent):
    def work(context):
        Job.objects.filter(code=context.job_code).update(attempt=9)
        context.log("info", "from the dead")

    register(work)
    job = run(start("example"), sent)

    assert (job.status, job.attempt) == ("running", 9)
    assert not job.events.filter(kind=JobEvent.Kind.LOG).exists()


def test_progress_is_written_once_a_second_but_every_stage_and_end_is(register, sent):
    def work(context):
        for stage in ("a", "b"):
            for done in range(101):
                context.progress(stage, done, 100)

    register(work)
    job = run(start("example"), sent)

    marks = [(event.stage, event.data["done"]) for event in job.events.filter(kind__in=["stage", "progress"])]
    assert marks == [("a", 0), ("a", 100), ("b", 0), ("b", 100)]


# --- Cancelling and retrying ------------------------------------------------------------------------------------------


def test_queued_job_is_cancelled_at_once(operator, register, sent):
    register(lambda context: None)
    job = start("example", operator)

    services.cancel_job(job=job, user=operator)

    assert job.status == "cancelled"
    assert run(job, sent).attempt == 0
    with pytest.raises(StaleStateError):
        services.cancel_job(job=job, user=operator)


def test_running_job_stops_when_its_loop_looks(operator, register, sent):
    reached = []

    def work(context):
        services.cancel_job(job=Job.objects.get(code=context.job_code), user=operator)
        reached.append("asked")
        context._looked_at = float("-inf")  # as if a second had passed
        context.check_cancelled()
        reached.append("went on")

    register(work)
    job = run(start("example", operator), sent)

    assert (job.status, reached) == ("cancelled", ["asked"])


def test_cancelled_or_failed_job_runs_again_when_retried(operator, register, sent, django_capture_on_commit_callbacks):
    register(lambda context: "done")
    job = start("example", operator)
    services.cancel_job(job=job, user=operator)

    with django_capture_on_commit_callbacks(execute=True):
        services.retry_job(job=job, user=operator, send=sent)

    assert sent == [job.code]
    assert run(job, sent).result == "done"
    with pytest.raises(StaleStateError):
        services.retry_job(job=job, user=operator, send=sent)


def test_nobody_without_the_permission_cancels_or_retries(operator, viewer, sent):
    job = start("seed_load", operator)

    with pytest.raises(PermissionDeniedError):
        services.cancel_job(job=job, user=viewer)
    with pytest.raises(PermissionDeniedError):
        services.retry_job(job=job, user=viewer, send=sent)


# --- Children ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def family(register):
    """A parent of three; the child named in `failing` fails."""
    failing: set[str] = set()

    def parent(context):
        if context.stage == COLLECT_STAGE:
            return {child.key: child.status for child in context.children()}
        for key in "abc":
            context.spawn("child", {"key": key}, key=key)
        return WAITING

    def child(context):
        if context.parameters["key"] in failing:
            raise ValueError("broken")
        return context.parameters["key"]

    register(parent, "parent")
    register(child, "child", is_startable=False)
    return failing


def run_all(sent):
    while sent:
        services.execute_job(job_code=sent.pop(0), send=sent)


def test_parent_waits_for_its_children_and_collects(family, sent, django_capture_on_commit_callbacks):
    job = start("parent")
    with django_capture_on_commit_callbacks(execute=True):
        run(job, sent)
    assert (job.status, len(sent)) == ("waiting", 3)

    run_all(sent)

    job.refresh_from_db()
    assert (job.status, job.result) == ("succeeded", dict.fromkeys("abc", "succeeded"))
    assert job.attempt == 2


def test_failed_child_does_not_sink_its_siblings(family, sent, django_capture_on_commit_callbacks):
    family.add("b")
    job = start("parent")
    with django_capture_on_commit_callbacks(execute=True):
        run(job, sent)

    run_all(sent)

    job.refresh_from_db()
    assert job.result == {"a": "succeeded", "b": "failed", "c": "succeeded"}


def test_parent_run_twice_has_the_same_children(family, sent, django_capture_on_commit_callbacks):
    job = start("parent")
    with django_capture_on_commit_callbacks(execute=True):
        run(job, sent)
    before = set(job.children.values_list("code", flat=True))

    make_stale(job)  # the worker died right after it spawned
    services.sweep_jobs(send=sent)
    Job.objects.filter(pk=job.pk).update(not_before_at=None)
    with django_capture_on_commit_callbacks(execute=True):
        run(job, sent)

    assert set(job.children.values_list("code", flat=True)) == before
    assert job.status == "waiting"


def test_cancelling_a_parent_cancels_its_children(family, operator, sent, django_capture_on_commit_callbacks):
    job = start("parent", operator)
    with django_capture_on_commit_callbacks(execute=True):
        run(job, sent)
    running = job.children.get(key="a")
    Job.objects.filter(pk=running.pk).update(status="running", heartbeat_at=timezone.now())

    services.cancel_job(job=job, user=operator)

    assert job.status == "cancelled"
    states = {child.key: (child.status, child.is_cancelling) for child in job.children.all()}
    assert states == {"a": ("running", True), "b": ("cancelled", False), "c": ("cancelled", False)}


def test_child_spawned_after_the_wish_to_cancel_is_cancelled_too(register, operator, sent):
    def parent(context):
        services.cancel_job(job=Job.objects.get(code=context.job_code), user=operator)
        context.spawn("child", {}, key="late")
        return WAITING

    register(parent, "parent")
    register(lambda context: None, "child", is_startable=False)
    job = start("parent", operator)

    run(job, sent)

    assert job.children.get().status == "cancelled"
    assert job.status == "cancelled"


def test_retrying_a_parent_runs_only_what_did_not_succeed(family, operator, sent, django_capture_on_commit_callbacks):
    family.add("b")
    job = start("parent", operator)
    with django_capture_on_commit_callbacks(execute=True):
        run(job, sent)
    run_all(sent)
    job.refresh_from_db()
    Job.objects.filter(pk=job.pk).update(status="failed", error_code="x")
    job.refresh_from_db()
    family.clear()

    with django_capture_on_commit_callbacks(execute=True):
        services.retry_job(job=job, user=operator, send=sent)
    assert set(sent) == {job.code, job.children.get(key="b").code}
    with django_capture_on_commit_callbacks(execute=True):
        run_all(sent)
    job.refresh_from_db()

    assert job.result == dict.fromkeys("abc", "succeeded")
    assert {child.key: child.attempt for child in job.children.all()} == {"a": 1, "b": 2, "c": 1}


# --- Sweeping ---------------------------------------------------------------------------------------------------------


def test_sweep_takes_up_a_dead_workers_job_until_the_cap(register, sent):
    register(lambda context: "done", max_attempts=2)
    job = make_stale(start("example"), attempt=1)

    counts = services.sweep_jobs(send=sent)
    job.refresh_from_db()
    assert (counts["released"], job.status, job.num_failures) == (1, "queued", 1)

    make_stale(job)
    counts = services.sweep_jobs(send=sent)
    job.refresh_from_db()
    assert (counts["failed"], job.status, job.error_code) == (1, "failed", "worker_lost")


def test_sweep_leaves_a_beating_job_alone(sent):
    job = JobFactory.create(status="running", heartbeat_at=timezone.now(), sent_at=timezone.now())

    assert not any(services.sweep_jobs(send=sent).values())
    job.refresh_from_db()
    assert job.status == "running"


def test_sweep_cancels_a_dead_job_that_was_to_be_cancelled(sent):
    job = make_stale(JobFactory.create(), cancel_requested_at=timezone.now())

    services.sweep_jobs(send=sent)

    job.refresh_from_db()
    assert job.status == "cancelled"


def test_sweep_sends_what_the_broker_never_got(sent, settings):
    unsent = JobFactory.create()
    lost = JobFactory.create(sent_at=timezone.now() - timedelta(seconds=settings.JOB_RESEND_SECONDS + 1))
    JobFactory.create(sent_at=timezone.now())
    JobFactory.create(not_before_at=timezone.now() + timedelta(minutes=1))

    services.sweep_jobs(send=sent)

    assert sent == [unsent.code, lost.code]


def test_sweep_stops_sending_when_the_broker_is_down():
    JobFactory.create_batch(5)
    tried = []

    def refuse(code):
        tried.append(code)
        return False

    assert services.sweep_jobs(send=refuse)["sent"] == 0
    assert len(tried) == 1


def test_sweep_wakes_a_parent_that_nobody_woke(family, sent, django_capture_on_commit_callbacks):
    job = start("parent")
    with django_capture_on_commit_callbacks(execute=True):
        run(job, sent)
    job.children.update(status="succeeded", finished_at=timezone.now())
    sent.clear()

    services.sweep_jobs(send=sent)

    job.refresh_from_db()
    assert (job.status, job.stage, sent) == ("queued", COLLECT_STAGE, [job.code])


# --- The database keeps what the code promises ------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["environments_jobevent", "environments_decision", "environments_auditevent"])
@pytest.mark.parametrize("statement", ["UPDATE {} SET id = id", "DELETE FROM {}"])
def test_append_only_rows_cannot_be_changed(table, statement, operator):
    from django.db import IntegrityError, transaction

    job = start("seed_load", operator)
    job.add_event(JobEvent.Kind.LOG, text="x")
    services.record_decision(
        actor=operator, subject_kind="job", subject_code=job.code, subject_sha256="0" * 64, verdict="approve"
    )

    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement.format(table))


@pytest.mark.django_db(transaction=True)
def test_one_of_many_concurrent_claims_wins():
    job = JobFactory.create()
    barrier, claimed = threading.Barrier(8), []

    def claim():
        try:
            barrier.wait()
            claimed.append(Job.objects.claim(job.code, worker="w") is not None)
        finally:
            connection.close()

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(claimed) == [False] * 7 + [True]
    job.refresh_from_db()
    assert job.attempt == 1


@pytest.mark.django_db(transaction=True)
def test_event_ids_grow_in_commit_order_within_a_job():
    job = JobFactory.create(status="running", heartbeat_at=timezone.now())
    seen, stop = [], threading.Event()

    def write(number):
        try:
            own = Job.objects.get(pk=job.pk)
            for line in range(40):
                own.add_log("info", f"{number}.{line}")
        finally:
            connection.close()

    def read():
        try:
            last = 0
            while not stop.is_set() or JobEvent.objects.filter(job=job).after(last).exists():
                for event in JobEvent.objects.filter(job=job).after(last):
                    seen.append(event.pk)
                    last = event.pk
        finally:
            connection.close()

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    reader = threading.Thread(target=read)
    for thread in [reader, *writers]:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join()

    assert len(seen) == 160, "a reader that goes on from the last id it saw misses nothing"
