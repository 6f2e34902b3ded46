"""Every error below /api/ is a problem body, whoever makes it."""

import pytest
from django.test import Client

from envfactory_site.problems import STATUS_OF_ERROR
from environments.api import viewsets
from environments.core import errors
from tests.environments.api.test_jobs import problem

pytestmark = pytest.mark.django_db


def test_unknown_address_is_a_problem(api):
    for client in (api, Client()):
        for url in ("/api/", "/api/v1/", "/api/v1/nothing/", "/api/v2/jobs/", "/api/v1/jobs/not-a-code/"):
            problem(client.get(url), 404, "not_found")
            problem(client.post(url), 404, "not_found")


@pytest.mark.parametrize("method", ["put", "patch", "delete", "options", "trace"])
def test_method_that_an_address_does_not_take_is_a_problem_with_allow(api, method):
    expected = {"/api/v1/jobs/": "GET, POST, HEAD", "/api/v1/me/": "GET, HEAD", "/api/v1/job-kinds/": "GET, HEAD"}
    for url, allowed in expected.items():
        response = getattr(api, method)(url) if method != "trace" else api.generic("TRACE", url)
        problem(response, 405, "method_not_allowed")
        assert set(response["Allow"].split(", ")) == set(allowed.split(", "))


def test_post_to_what_can_only_be_read_is_a_problem(api):
    for url in ("/api/v1/me/", "/api/v1/audit/", "/api/v1/schema/", "/api/v1/tokens/"):
        problem(api.post(url), 405, "method_not_allowed")


def test_head_answers_like_get(api):
    for url in ("/api/v1/me/", "/api/v1/jobs/", "/api/v1/schema/"):
        response = api.head(url)
        assert (response.status_code, response.content) == (200, b"")


def test_answer_other_than_json_is_refused(api):
    problem(api.get("/api/v1/jobs/", headers={"Accept": "text/csv"}), 406, "not_acceptable")


def test_bug_is_a_problem_that_says_nothing_of_itself(api, monkeypatch):
    def fail(*args, **kwargs):
        raise ValueError("a secret")

    monkeypatch.setattr(viewsets, "job_kinds", fail)
    api.raise_request_exception = False

    response = api.get("/api/v1/job-kinds/")

    assert problem(response, 500, "internal_error")["errors"] == []
    assert b"secret" not in response.content
    assert b"ValueError" not in response.content


@pytest.mark.parametrize("error", list(STATUS_OF_ERROR), ids=lambda error: error.code)
def test_domain_error_has_its_status_and_code(api, monkeypatch, error):
    def fail(*args, **kwargs):
        raise error("What happened.", fields=(errors.FieldError("/a", "b", "c"),))

    monkeypatch.setattr(viewsets, "job_kinds", fail)

    body = problem(api.get("/api/v1/job-kinds/"), int(STATUS_OF_ERROR[error]), error.code)

    assert (body["detail"], body["errors"]) == ("What happened.", [{"pointer": "/a", "code": "b", "detail": "c"}])


def test_domain_error_that_no_request_may_raise_is_a_bug(api, monkeypatch):
    def fail(*args, **kwargs):
        raise errors.JobLostError("a secret")

    monkeypatch.setattr(viewsets, "job_kinds", fail)
    api.raise_request_exception = False

    problem(api.get("/api/v1/job-kinds/"), 500, "internal_error")
