from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory, override_settings
from django.urls import path

from envfactory_site import urls, views
from environments import services
from environments.core import errors
from environments.models import User
from environments.services import CheckResult

pytestmark = pytest.mark.django_db

PARTIAL = {"HX-Request": "true", "HX-Request-Type": "partial"}


def break_down(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("a bug")


class BrokenUrls:
    urlpatterns = [path("broken/", break_down), path("api/v1/broken/", break_down), *urls.urlpatterns]
    handler500 = urls.handler500
    handler404 = urls.handler404


def text(response: Any) -> str:
    return str(response.content.decode())


class TestHome:
    def test_says_what_to_do_next_and_how_the_services_are(self, operator_client: Client) -> None:
        page = text(operator_client.get("/"))

        assert "Run the self-check" in page
        assert "Database" in page

    def test_offers_a_viewer_nothing_that_it_may_not_do(self, viewer: User) -> None:
        client = Client()
        client.force_login(viewer)

        page = text(client.get("/"))

        assert "/jobs/new/" not in page
        assert "Read the help" in page

    def test_sends_only_its_panels_when_htmx_asks(self, operator_client: Client) -> None:
        assert "<html" not in text(operator_client.get("/", headers=PARTIAL))


class TestHelp:
    def test_lists_roles_and_terms(self, operator_client: Client) -> None:
        page = text(operator_client.get("/help/"))

        for label in (*User.Role.labels, "trajectory", "seed chain"):
            assert str(label) in page

    def test_explains_every_error_code(self, operator_client: Client) -> None:
        page = text(operator_client.get("/help/errors/"))

        for error in errors.EnvFactoryError.__subclasses__():
            assert f'id="{error.code}"' in page
        for code in ("not_found", "throttled", "csrf_failed", "internal_error"):
            assert f'id="{code}"' in page


class TestHealth:
    def test_healthz_answers_without_a_login_or_a_query(self, client: Client, django_assert_num_queries: Any) -> None:
        with django_assert_num_queries(0):
            assert client.get("/healthz").content == b"ok"

    def test_readyz_tells_strangers_no_more_than_names(self, client: Client) -> None:
        body = client.get("/readyz").json()

        assert body["is_ready"] is True
        assert {frozenset(check) for check in body["checks"]} == {frozenset({"name", "is_ok"})}

    def test_readyz_answers_503_when_a_check_fails(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        failed = CheckResult("disk", False, "secret path is full", 1.0)
        monkeypatch.setattr(services, "readiness", lambda: [failed])

        response = client.get("/readyz")

        assert response.status_code == 503
        assert "secret" not in text(response)


class TestFailures:
    def test_404_is_a_page_a_region_or_a_problem_body(self, operator_client: Client) -> None:
        page = operator_client.get("/nowhere/")
        region = operator_client.get("/nowhere/", headers=PARTIAL)
        problem = operator_client.get("/api/nowhere/")

        assert "<html" in text(page)
        assert page.status_code == region.status_code == problem.status_code == 404
        assert text(region).strip().startswith('<div class="problem"')
        assert problem["Content-Type"] == "application/problem+json"
        assert problem.json()["code"] == "not_found"

    @pytest.mark.parametrize(
        ("address", "kind"), [("/broken/", "text/html"), ("/api/v1/broken/", "application/problem+json")]
    )
    def test_500_needs_no_context(self, operator: User, address: str, kind: str) -> None:
        client = Client(raise_request_exception=False)
        client.force_login(operator)

        with override_settings(ROOT_URLCONF=BrokenUrls):
            response = client.get(address)

        assert response.status_code == 500
        assert response["Content-Type"].startswith(kind)
        assert "a bug" not in text(response)

    def test_csrf_failure_says_what_to_do(self, operator: User) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(operator)

        response = client.post("/settings/preferences/", {"theme": "dark"})

        assert response.status_code == 403
        assert "This form is out of date" in text(response)

    def test_400_is_a_page(self, rf: RequestFactory) -> None:
        response = views.bad_request(rf.get("/"), ValueError())

        assert response.status_code == 400
