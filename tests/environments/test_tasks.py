"""Wiring of the one task: on commit, to the kind's queue, with the kind's limits, and again without harm."""

import base64
import json

import pytest
import redis
from kombu.exceptions import OperationalError

from envfactory_site.celery import app
from environments import jobs, tasks
from environments.core.jobs import Queue, job_kind
from environments.models import Job

pytestmark = pytest.mark.django_db


def messages_of(job, settings):
    """The job's messages on the real broker, by queue; other tests may have put theirs beside them."""
    client = redis.Redis.from_url(settings.EMBEDDED_SERVICES.redis_url)
    try:
        found = [(queue.value, message) for queue in Queue for message in client.lrange(queue.value, 0, -1)]
    finally:
        client.close()
    decoded = [(queue, json.loads(message)) for queue, message in found]
    return [(queue, message) for queue, message in decoded if str(job.code) in message["headers"]["kwargsrepr"]]


def test_job_is_sent_to_its_queue_once_it_is_committed(operator, settings, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=False) as callbacks:
        job, is_new = jobs.start_job(kind="self_check", parameters={}, user=operator)
    assert is_new
    assert messages_of(job, settings) == []
    assert job.is_unsent

    for callback in callbacks:
        callback()

    ((queue, message),) = messages_of(job, settings)
    assert queue == "default"
    assert json.loads(base64.b64decode(message["body"]))[1] == {"job_code": str(job.code)}
    kind = job_kind("self_check")
    assert message["headers"]["timelimit"] == [kind.hard_seconds, kind.soft_seconds]
    assert message["content-type"] == "application/json"
    job.refresh_from_db()
    assert not job.is_unsent


@pytest.mark.parametrize("error", [OperationalError("down"), ConnectionRefusedError()])
def test_row_waits_when_the_broker_is_down(operator, monkeypatch, django_capture_on_commit_callbacks, error):
    def refuse(**options):
        raise error

    monkeypatch.setattr(tasks.run_job, "apply_async", refuse)

    with django_capture_on_commit_callbacks(execute=True):
        job, _ = jobs.start_job(kind="self_check", parameters={}, user=operator)

    job.refresh_from_db()
    assert job.is_unsent


def test_task_run_twice_runs_the_job_once(operator):
    job, _ = jobs.start_job(kind="seed_load", parameters={"count": 10}, user=operator)

    tasks.run_job.apply(kwargs={"job_code": str(job.code)}, throw=True)
    tasks.run_job.apply(kwargs={"job_code": str(job.code)}, throw=True)

    job.refresh_from_db()
    assert (job.status, job.attempt, job.children.count()) == ("succeeded", 1, 10)


def test_sweep_task_sends_what_waits(operator, monkeypatch):
    job, _ = jobs.start_job(kind="seed_load", parameters={"count": 10}, user=operator)
    sent = []
    monkeypatch.setattr(tasks.run_job, "apply_async", lambda **options: sent.append(options["kwargs"]["job_code"]))

    tasks.sweep_jobs.apply(throw=True)
    tasks.sweep_jobs.apply(throw=True)

    assert sent == [str(job.code)], "the second sweep finds it sent"
    assert Job.objects.get().sent_at is not None


def test_settings_make_delivery_at_least_once():
    assert app.conf.task_acks_late
    assert app.conf.task_reject_on_worker_lost
    assert app.conf.worker_prefetch_multiplier == 1
    assert app.conf.accept_content == ["json"]
    longest = max(job_kind(name).hard_seconds for name in ("self_check", "seed_load", "seed_row"))
    assert app.conf.broker_transport_options["visibility_timeout"] > longest
