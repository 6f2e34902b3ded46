"""Every kind of job that a person can start, run for real, and run twice."""

import ipaddress

import orjson
import pytest
from django.core.cache import cache
from django.utils import timezone

from environments import services
from environments.core.jobs import Queue, job_kinds
from environments.models import (
    Compilation,
    CompiledEnvironment,
    CompiledOperation,
    Job,
    Operation,
    SourceDocument,
    VerificationRun,
)
from environments.services import self_check
from tests.factories.registry import shipped_version
from tests.factories.sites import api, open_site
from tests.factories.sources import PETS, openapi_document

pytestmark = pytest.mark.django_db


def a_list(site):
    """A list of two documents."""
    site.put("/a.json", api("Shelter"))
    site.put("/b.json", api("Garage", "car"))
    return {"address": site.put_list("/list.json", {"a": "/a.json", "b": "/b.json"})}


def an_upload():
    return {"document": str(services.store_upload(data=orjson.dumps(PETS), name="pets.json").code)}


def a_shipped_document():
    return {"documents": [str(services.import_shipped_document(name="rbaskets.in").code)]}


PARAMETERS = {
    "self_check": dict,
    "seed_load": lambda: {"mode": "rows", "count": 2500, "seed": 3},
    "verify_environment": lambda: {"version": str(shipped_version("tide_gauges", status="draft").code)},
    "install_packs": lambda: {"names": ["repair_cafe", "tide_gauges"]},
    "import_source": an_upload,
    "import_collection": a_list,
    "clean_operations": lambda: {"collection": openapi_document().source.collection},
    "import_shipped_documents": lambda: {"names": ["openstf.io"]},
    "compile_environments": a_shipped_document,
}
"""How each startable kind is run here; a kind without an entry fails `test_every_startable_kind_is_run_twice`."""


def run_with_children(job):
    """Runs the job and everything it spawns, in this process, as workers would."""
    queue = [job.code]

    def send(code):
        queue.append(code)
        return True

    while queue:
        services.execute_job(job_code=queue.pop(0), send=send)
        services.sweep_jobs(send=send)
    job.refresh_from_db()
    return job


def rows_of(job):
    fields = ("key", "kind", "code", "status", "parameters", "result", "error_code", "created_at", "finished_at")
    return list(job.children.order_by("key").values_list(*fields[: 7 if job.kind == "seed_load" else 2]))


def test_every_startable_kind_is_run_twice():
    assert {kind.name for kind in job_kinds() if kind.is_startable} == PARAMETERS.keys()


NUM_CHILDREN = {
    "self_check": len(Queue),
    "seed_load": 2500,
    "install_packs": 2,
    "import_collection": 1,
    "compile_environments": 1,
}


def rows_of_sources():
    heads = SourceDocument.objects.order_by("code").values_list("pk", "code", "status", "funnel", "guard_version")
    return list(heads), list(Operation.objects.order_by("code").values_list("pk", "code", "is_kept", "content"))


def rows_of_ledger():
    heads = Compilation.objects.order_by("pk").values_list("pk", "code", "status", "report", "num_tools")
    environments = CompiledEnvironment.objects.order_by("pk").values_list("pk", "name", "outcome", "version")
    return list(heads), list(environments), list(CompiledOperation.objects.order_by("pk").values_list("pk", "reason"))


@pytest.fixture
def site(settings):
    settings.FETCH_ALLOWED_NETWORKS = [ipaddress.ip_network("127.0.0.0/8")]
    with open_site() as site:
        yield site


@pytest.mark.parametrize("kind", PARAMETERS)
def test_second_run_leaves_the_same_rows(kind, operator, site, settings):
    settings.JOB_HEARTBEAT_SECONDS = 600  # its own connection would not see the row of this test's transaction
    make = PARAMETERS[kind]
    job, _ = services.create_job(
        kind=kind, parameters=make(site) if kind == "import_collection" else make(), user=operator
    )
    run_with_children(job)
    assert job.status == "succeeded", job.error_message
    num_runs, sources, ledger = VerificationRun.objects.count(), rows_of_sources(), rows_of_ledger()
    first, result = rows_of(job), job.result

    # As if the worker had died after its last row and before it could say so.
    Job.objects.filter(pk=job.pk).update(status="queued", stage="", finished_at=None, result=None)
    job.refresh_from_db()
    run_with_children(job)

    assert job.status == "succeeded", job.error_message
    assert rows_of(job) == first
    assert len(first) == NUM_CHILDREN.get(kind, 0)
    expected_runs = {"verify_environment": 1, "install_packs": 2, "compile_environments": 1}
    assert VerificationRun.objects.count() == num_runs == expected_runs.get(kind, 0)
    assert rows_of_sources() == sources
    assert rows_of_ledger() == ledger
    if kind != "self_check":
        assert job.result == result


def test_seed_load_is_resumed_where_it_was_killed(operator):
    whole, _ = services.create_job(kind="seed_load", parameters={"count": 2500, "seed": 3}, user=operator)
    run_with_children(whole)
    killed, _ = services.create_job(kind="seed_load", parameters={"count": 2500, "seed": 3}, user=operator)
    run_with_children(killed)
    Job.objects.filter(pk=whole.children.first().pk).update(key="x")  # nothing of the other job is touched

    kept = set(killed.children.order_by("key").values_list("pk", flat=True)[:1200])
    killed.children.exclude(pk__in=kept)._raw_delete("default")
    Job.objects.filter(pk=killed.pk).update(status="queued", stage="", finished_at=None)
    run_with_children(killed)

    assert killed.children.count() == 2500
    assert kept <= set(killed.children.values_list("pk", flat=True))


def test_seed_load_runs_real_jobs_when_asked(operator, django_capture_on_commit_callbacks):
    parameters = {"mode": "jobs", "count": 12, "seed": 1}
    job, _ = services.create_job(kind="seed_load", parameters=parameters, user=operator)
    again, _ = services.create_job(kind="seed_load", parameters=parameters, user=operator)

    run_with_children(job)
    run_with_children(again)

    assert job.result == {"jobs": 12, "succeeded": 12}
    values = [child.result["value"] for child in job.children.order_by("key")]
    assert values == [child.result["value"] for child in again.children.order_by("key")]
    assert len(set(values)) == 12


@pytest.mark.parametrize(
    ("broken", "named"),
    [("_vector_distance", "vector distance"), ("_clock", "clock"), ("_disk", "disk"), ("_cache_round_trip", "cache")],
)
def test_self_check_fails_and_names_what_is_broken(operator, monkeypatch, broken, named):
    def fail():
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(self_check, broken, fail)
    job, _ = services.create_job(kind="self_check", parameters={}, user=operator)

    run_with_children(job)

    assert (job.status, job.error_code) == ("failed", "self_check_failed")
    assert named in job.error_message
    assert job.events.filter(level="error", text__contains="broken on purpose").exists()


def test_self_check_notices_a_cache_that_keeps_what_was_deleted(monkeypatch):
    monkeypatch.setattr(cache, "delete", lambda key: True)

    with pytest.raises(RuntimeError, match="deleted"):
        self_check._cache_round_trip()


def test_self_check_notices_a_clock_that_is_off(monkeypatch, db):
    real = timezone.now
    monkeypatch.setattr(self_check.timezone, "now", lambda: real() + self_check.MAX_CLOCK_DIFFERENCE * 2)

    with pytest.raises(RuntimeError, match="NTP"):
        self_check._clock()


def test_self_check_notices_a_full_disk(monkeypatch):
    monkeypatch.setattr(self_check, "MIN_FREE_BYTES", 1 << 60)

    with pytest.raises(RuntimeError, match="GiB free"):
        self_check._disk()
