"""Jobs over the API: submit, list, show, cancel, retry, events, kinds."""

from urllib.parse import urlsplit
from uuid import UUID

import pytest
from django.utils import timezone

from environments import jobs
from environments.core import jobs as core_jobs
from environments.core.access import Permission
from environments.core.jobs import JobKind, Queue
from environments.models import AuditEvent, Job, JobEvent
from tests.factories.environments import JobFactory

pytestmark = pytest.mark.django_db
URL = "/api/v1/jobs/"
NOWHERE = UUID(int=0)
"""The code of nothing."""


def problem(response, status, code):
    """The body, once it is what RFC 9457 asks for."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    body = response.json()
    assert set(body) == {"type", "title", "status", "detail", "instance", "code", "errors"}
    assert (body["status"], body["code"], body["type"]) == (status, code, f"/help/errors/#{code}")
    return body


def pointers(body):
    return [fault["pointer"] for fault in body["errors"]]


def submit(api, parameters=None, kind="seed_load", **headers):
    return api.post(URL, {"kind": kind, "parameters": parameters or {}}, headers=headers)


def final(**changes):
    return JobFactory.create(status="succeeded", finished_at=timezone.now(), **changes)


@pytest.fixture
def sent(monkeypatch):
    """Codes that were sent; there is no broker in these tests."""
    codes = []
    monkeypatch.setattr(jobs, "send_job", lambda code: bool(codes.append(code)) or True)
    return codes


# --- Submitting -------------------------------------------------------------------------------------------------------


def test_submitted_job_is_queued_and_sent(api, operator, sent, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        response = submit(api, {"count": 5})

    assert response.status_code == 202
    job = Job.objects.get()
    assert response.json()["code"] == str(job.code)
    assert response["Location"] == f"http://testserver/api/v1/jobs/{job.code}/"
    assert response.json()["parameters"] == {"count": 5, "mode": "rows", "seed": 0, "milliseconds": 0}
    assert (job.created_by, sent) == (operator, [job.code])
    assert AuditEvent.objects.get(action="job.start").address == "127.0.0.1"


def test_caller_is_told_when_broker_is_down(api, monkeypatch, django_capture_on_commit_callbacks):
    monkeypatch.setattr(jobs, "send_job", lambda code: False)

    with django_capture_on_commit_callbacks(execute=True):
        response = submit(api)

    assert (response.status_code, response.json()["is_unsent"]) == (202, True)


def test_same_idempotency_key_gives_the_same_job(api, sent):
    first = submit(api, {"count": 5}, **{"Idempotency-Key": "k1"})
    again = submit(api, {"count": 5, "seed": 0}, **{"Idempotency-Key": "k1"})
    other = submit(api, {"count": 5}, **{"Idempotency-Key": "k2"})

    assert [first.status_code, again.status_code, other.status_code] == [202, 200, 202]
    assert first.json()["code"] == again.json()["code"] != other.json()["code"]
    assert first["Location"] == again["Location"]


@pytest.mark.parametrize("change", [{"kind": "self_check"}, {"parameters": {"count": 6}}])
def test_same_idempotency_key_is_a_conflict_for_something_else(api, change):
    headers = {"Idempotency-Key": "k1"}
    api.post(URL, {"kind": "seed_load", "parameters": {"count": 5}}, headers=headers)

    problem(api.post(URL, {"kind": "seed_load", **change}, headers=headers), 409, "idempotency_conflict")


@pytest.mark.parametrize("key", ["", "x" * 201, "a b", "é"])
def test_idempotency_key_of_another_form_is_refused(api, key):
    assert pointers(problem(submit(api, **{"Idempotency-Key": key}), 400, "invalid_input")) == ["Idempotency-Key"]
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, ["/kind"]),
        ({"kind": ""}, ["/kind"]),
        ({"kind": None}, ["/kind"]),
        ({"kind": ["seed_load"]}, ["/kind"]),
        ({"kind": "x" * 65}, ["/kind"]),
        ({"kind": "queue_probe_build"}, ["/kind"]),
        ({"kind": "seed_load", "parameters": None}, ["/parameters"]),
        ({"kind": "seed_load", "parameters": []}, ["/parameters"]),
        ({"kind": "seed_load", "parameters": {"count": 0}}, ["/parameters/count"]),
        ({"kind": "seed_load", "parameters": {"count": "5"}}, ["/parameters/count"]),
        ({"kind": "seed_load", "parameters": {"count": 10**30}}, ["/parameters/count"]),
        ({"kind": "seed_load", "parameters": {"count": 0, "mode": "x"}}, ["/parameters/count", "/parameters/mode"]),
        ({"kind": "seed_load", "parameter": {}}, ["/parameter"]),
        ({"kind": "seed_load", "a/b~c": 1}, ["/a~1b~0c"]),
        ([], [""]),
        ("text", [""]),
        (7, [""]),
    ],
)
def test_wrong_submission_names_its_field(api, body, expected):
    found = problem(api.post(URL, body), 400, "invalid_input")

    assert sorted(pointers(found)) == expected
    assert found["instance"] == URL
    assert not Job.objects.exists()


def test_unknown_kind_lists_the_known_ones(api):
    found = problem(submit(api, kind="nonsense"), 400, "unknown_job_kind")

    assert pointers(found) == ["/kind"]
    assert "seed_load" in found["detail"]


def test_unknown_parameter_is_refused(api):
    found = problem(submit(api, {"cuont": 5}), 400, "invalid_input")

    assert "cuont" in found["errors"][0]["detail"]


def test_whole_number_written_with_a_point_is_stored_as_one(api):
    response = api.post(URL, b'{"kind": "seed_load", "parameters": {"count": 5.0}}', content_type="application/json")

    assert response.status_code == 202
    assert type(Job.objects.get().parameters["count"]) is int


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"\xff\xfe",
        b'{"kind": NaN}',
        b'{"kind": "seed_load", "parameters": {"count": Infinity}}',
        b'{"kind": "seed_load", "parameters": {"count": 1e999}}',
        b'{"kind": "seed_load", "parameters": {"mode": "\\u0000"}}',
        b'{"kind": "seed_load", "parameters": {"\\u0000": 1}}',
        b'{"kind": "seed_load", "parameters": {"mode": "\\ud800"}}',
        b"[" * 900 + b"]" * 900,
        b"[" * 100_000,
        b'{"kind": "seed_load", "parameters": ' + b'{"a":' * 70 + b"1" + b"}" * 71,
    ],
)
def test_body_that_is_not_json_is_refused(api, body):
    found = api.post(URL, body, content_type="application/json")

    assert found.status_code == 400, found.content
    assert found.json()["code"] in {"parse_error", "invalid_input"}


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "nonsense"]
)
def test_body_of_another_type_is_refused(api, content_type):
    problem(api.post(URL, b"kind=seed_load", content_type=content_type), 415, "unsupported_media_type")


def test_body_above_the_limit_is_refused(api, settings):
    body = b'{"kind": "' + b"x" * settings.DATA_UPLOAD_MAX_MEMORY_SIZE + b'"}'

    problem(api.post(URL, body, content_type="application/json"), 413, "payload_too_large")


# --- Reading ----------------------------------------------------------------------------------------------------------


def test_job_shows_parent_person_progress_and_result(api, operator):
    parent = JobFactory.create()
    job = final(parent=parent, key="a", created_by=operator, done_units=1, total_units=4, result={"rows": 1})

    found = api.get(f"{URL}{job.code}/").json()

    assert (found["parent"], found["created_by"], found["result"]) == (str(parent.code), "otto", {"rows": 1})
    assert (found["progress_ratio"], found["title"]) == (0.25, "Load-test job")
    assert "id" not in found


def test_job_of_a_kind_that_is_gone_is_shown(api):
    job = JobFactory.create(kind="gone")

    assert api.get(f"{URL}{job.code}/").json()["title"] == "gone"
    assert api.get(URL).json()["count"] == 1


def test_list_is_newest_first_in_pages_that_link_to_each_other(api):
    made = [str(JobFactory.create().code) for _ in range(5)][::-1]

    first = api.get(URL, {"page_size": 2}).json()
    codes = [row["code"] for row in first["results"]]
    page = first
    while page["next"]:
        parts = urlsplit(page["next"])
        page = api.get(f"{parts.path}?{parts.query}").json()
        codes += [row["code"] for row in page["results"]]

    assert (first["count"], first["previous"], codes) == (5, None, made)
    assert "parameters" not in first["results"][0]
    problem(api.get(URL, {"page": 4, "page_size": 2}), 404, "not_found")


def test_filters_narrow_the_list(api, operator, admin):
    parent = JobFactory.create(kind="seed_load", queue="default", created_by=operator)
    child = final(parent=parent, key="a", created_by=admin)
    codes = {"parent": str(parent.code), "child": str(child.code)}

    def found(**query):
        rows = api.get(URL, query).json()["results"]
        return sorted(name for name, code in codes.items() if code in {row["code"] for row in rows})

    assert found(status="succeeded") == found(kind="seed_row") == found(queue="build") == ["child"]
    assert found(parent=parent.code) == found(is_top_level="false") == found(created_by="ada") == ["child"]
    assert found(is_top_level="true") == found(status="queued") == ["parent"]
    assert found(status=["succeeded", "queued"]) == found(ordering="kind") == ["child", "parent"]
    assert found(created_after="2000-01-01T00:00:00Z", created_before="9999-01-01T00:00:00Z") == ["child", "parent"]
    assert found(created_after="2000-01-01T00:00:00+23:59") == ["child", "parent"]
    assert found(kind="unknown") == found(parent=NOWHERE) == []


def test_order_is_total_so_that_pages_never_overlap(api):
    for index in range(9):
        JobFactory.create(kind="ab"[index % 2])

    for ordering in ("kind", "-kind", "created", "-created", "status", "-status"):
        codes = [
            row["code"]
            for page in range(1, 6)
            for row in api.get(URL, {"ordering": ordering, "page": page, "page_size": 2}).json()["results"]
        ]
        assert len(set(codes)) == 9
    kinds = [row["kind"] for row in api.get(URL, {"ordering": "-kind"}).json()["results"]]
    assert kinds == sorted(kinds, reverse=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("statsu", "failed"),
        ("status", "nonsense"),
        ("status", ""),
        ("queue", "nonsense"),
        ("parent", "nonsense"),
        ("is_top_level", "maybe"),
        ("created_after", "yesterday"),
        ("created_after", "2026-13-01T00:00:00Z"),
        ("created_after", "0001-01-01T00:00:00+10:00"),
        ("created_before", "9999-12-31T23:59:59-12:00"),
        ("kind", "a\x00b"),
        ("kind", ["seed_row", "seed_load"]),
        ("page", ["1", "2"]),
        ("kind", ""),
        ("kind", " "),
        ("parent", " "),
        ("created_after", " "),
        ("ordering", "parameters"),
        ("ordering", "kind,status"),
        ("page", "0"),
        ("page", "-1"),
        ("page", "last"),
        ("page", "1.0"),
        ("page", "9" * 5000),
        ("page_size", "501"),
        ("page_size", "0"),
        ("page_size", "many"),
        ("cursor", "cD0x"),
        ("format", "xml"),
    ],
)
def test_query_parameter_that_does_not_fit_is_named(api, name, value):
    found = problem(api.get(URL, {name: value}), 400, "invalid_input")

    assert pointers(found) == [f"?{name}"]
    assert found["errors"][0]["detail"]


def test_parameters_are_checked_where_there_are_none(api, sent):
    job = JobFactory.create()

    for url in (f"{URL}{job.code}/?page=1", "/api/v1/job-kinds/?page=1", "/api/v1/me/?x=1"):
        assert len(pointers(problem(api.get(url), 400, "invalid_input"))) == 1
    problem(api.post(f"{URL}{job.code}/cancel/?force=1"), 400, "invalid_input")
    job.refresh_from_db()
    assert job.status == "queued"


@pytest.mark.parametrize("num_rows", [1, 40])
def test_list_takes_the_same_queries_for_any_number_of_rows(
    api, operator, django_assert_num_queries, num_rows, monkeypatch
):
    parent = JobFactory.create()
    for index in range(num_rows):
        JobFactory.create(parent=parent, key=str(index), created_by=operator)
    api.get(URL)  # notes the token's use, once a minute

    with django_assert_num_queries(4):  # token, count, keys, rows
        assert len(api.get(URL).json()["results"]) == num_rows + 1


def test_unknown_job_is_a_problem(api):
    for url in (f"{URL}{NOWHERE}/", f"{URL}{NOWHERE}/events/"):
        problem(api.get(url), 404, "not_found")
    for action in ("cancel", "retry"):
        problem(api.post(f"{URL}{NOWHERE}/{action}/"), 404, "not_found")


# --- Cancelling and retrying ------------------------------------------------------------------------------------------


def test_queued_job_is_cancelled_with_its_children(api):
    parent = JobFactory.create(kind="seed_load", status="waiting")
    child, done = JobFactory.create(parent=parent, key="a"), final(parent=parent, key="b")

    response = api.post(f"{URL}{parent.code}/cancel/")

    assert (response.status_code, response.json()["status"]) == (202, "cancelled")
    child.refresh_from_db()
    done.refresh_from_db()
    assert (child.status, done.status) == ("cancelled", "succeeded")


def test_running_job_is_asked_to_stop(api):
    job = JobFactory.create(status="running", heartbeat_at=timezone.now())

    response = api.post(f"{URL}{job.code}/cancel/")

    assert response.status_code == 202
    assert (response.json()["status"], response.json()["is_cancelling"]) == ("running", True)
    assert response.json()["cancel_requested_at"]


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_final_job_is_queued_again(api, sent, status, django_capture_on_commit_callbacks):
    job = JobFactory.create(status=status, error_code="x", finished_at=timezone.now())

    with django_capture_on_commit_callbacks(execute=True):
        response = api.post(f"{URL}{job.code}/retry/")

    assert (response.status_code, response.json()["status"], sent) == (202, "queued", [job.code])


def test_what_the_state_does_not_allow_is_a_conflict(api):
    queued, done = JobFactory.create(), final()

    problem(api.post(f"{URL}{queued.code}/retry/"), 409, "stale_state")
    problem(api.post(f"{URL}{done.code}/retry/"), 409, "stale_state")
    problem(api.post(f"{URL}{done.code}/cancel/"), 409, "stale_state")


# --- Kinds and their permission ---------------------------------------------------------------------------------------


def test_kinds_show_schema_and_permission(api):
    kinds = {kind["name"]: kind for kind in api.get("/api/v1/job-kinds/").json()}

    assert kinds["seed_load"]["parameters"]["properties"]["count"]["minimum"] == 1
    assert (kinds["seed_load"]["permission"], kinds["seed_row"]["is_startable"]) == ("run_jobs", False)
    assert api.get("/api/v1/job-kinds/seed_load/").json() == kinds["seed_load"]
    problem(api.get("/api/v1/job-kinds/nonsense/"), 404, "not_found")


def test_kind_asks_for_its_own_permission(api, monkeypatch):
    monkeypatch.setattr(core_jobs, "_KINDS", dict(core_jobs._KINDS))
    kind = JobKind("secret", "", "", Queue.DEFAULT, {"type": "object"}, lambda job: None, Permission.ADMINISTER)
    core_jobs.register_job_kind(kind)
    job = JobFactory.create(kind="secret")

    for response in (submit(api, kind="secret"), api.post(f"{URL}{job.code}/cancel/")):
        assert "administer" in problem(response, 403, "permission_denied")["detail"]


# --- Events -----------------------------------------------------------------------------------------------------------


def test_events_come_oldest_first_behind_a_cursor_that_survives_new_ones(api):
    job, other = JobFactory.create(), JobFactory.create()
    for index in range(5):
        job.add_event(JobEvent.Kind.LOG, level="info", text=str(index))
        other.add_event(JobEvent.Kind.LOG, text="other")

    page = api.get(f"{URL}{job.code}/events/", {"page_size": 2}).json()
    texts = [event["text"] for event in page["results"]]
    job.add_event(JobEvent.Kind.LOG, text="5")
    while page["next"]:
        parts = urlsplit(page["next"])
        page = api.get(f"{parts.path}?{parts.query}").json()
        texts += [event["text"] for event in page["results"]]

    assert texts == list("012345")
    back = urlsplit(page["previous"])
    assert [event["text"] for event in api.get(f"{back.path}?{back.query}").json()["results"]] == ["2", "3"]


def test_events_after_an_id_and_of_a_kind(api):
    job = JobFactory.create()
    first = job.add_event(JobEvent.Kind.LOG, text="first")
    job.add_event(JobEvent.Kind.STATUS, text="second")
    job.add_event(JobEvent.Kind.LOG, text="third")

    def texts(**query):
        return [event["text"] for event in api.get(f"{URL}{job.code}/events/", query).json()["results"]]

    assert texts(after=first.pk) == ["second", "third"]
    assert texts(after=first.pk, kind="log") == ["third"]
    assert texts(kind=["log", "status"]) == ["first", "second", "third"]
    assert texts(after=2**63 - 1) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("after", "-1"),
        ("after", "x"),
        ("after", str(2**63)),
        ("kind", "nonsense"),
        ("page", "1"),
        ("page_size", "1001"),
        ("cursor", "nonsense"),
        ("cursor", "cD1hYmM="),  # p=abc
        ("cursor", "cD05OTk5OTk5OTk5OTk5OTk5OTk5OTk5"),  # p=9999…
        ("cursor", "é"),
    ],
)
def test_events_refuse_what_does_not_fit(api, name, value):
    job = JobFactory.create()

    found = problem(api.get(f"{URL}{job.code}/events/", {name: value}), 400, "invalid_input")

    assert pointers(found) == [f"?{name}"]


@pytest.mark.parametrize("num_rows", [1, 60])
def test_events_take_the_same_queries_for_any_number(api, django_assert_num_queries, num_rows):
    job = JobFactory.create()
    for _ in range(num_rows):
        job.add_event(JobEvent.Kind.LOG)
    api.get(URL)

    with django_assert_num_queries(3):  # token, job, events
        assert len(api.get(f"{URL}{job.code}/events/").json()["results"]) == num_rows
