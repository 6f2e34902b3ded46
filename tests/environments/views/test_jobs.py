from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from environments.models import Job, JobEvent, User
from tests.factories.environments import JobFactory

pytestmark = pytest.mark.django_db

PARTIAL = {"HX-Request": "true", "HX-Request-Type": "partial"}
RUNNING: dict[str, Any] = {"status": "running", "attempt": 1}


def text(response: Any) -> str:
    return str(response.content.decode())


def running_job(**values: Any) -> Job:
    now = timezone.now()
    return JobFactory.create(**{**RUNNING, "started_at": now, "stage_started_at": now, "heartbeat_at": now, **values})


def final_job(status: str, **values: Any) -> Job:
    error = {"error_code": "worker_lost", "error_message": "The worker died."} if status == "failed" else {}
    return JobFactory.create(**{"status": status, "finished_at": timezone.now(), **error, **values})


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


class TestList:
    def test_shows_the_page_with_an_honest_count(self, operator_client: Client) -> None:
        JobFactory.create_batch(3)

        response = operator_client.get("/jobs/")

        assert response.status_code == 200
        assert "3 of 3" in text(response)
        assert response["Vary"].count("HX-Request-Type") == 1

    def test_sends_only_its_region_when_htmx_asks(self, operator_client: Client) -> None:
        response = operator_client.get("/jobs/", headers=PARTIAL)

        assert text(response).strip().startswith("<section")
        assert "<html" not in text(response)

    def test_refreshes_itself_only_while_something_is_unfinished(self, operator_client: Client) -> None:
        final_job("succeeded")
        assert 'hx-trigger="every 5s"' not in text(operator_client.get("/jobs/"))

        running_job()
        assert 'hx-trigger="every 5s"' in text(operator_client.get("/jobs/"))

    def test_filters_by_status_kind_and_person(self, operator_client: Client, operator: User) -> None:
        mine = final_job("failed", created_by=operator)
        final_job("failed")
        final_job("succeeded", created_by=operator)

        page = text(operator_client.get("/jobs/?status=failed&kind=seed_row&mine=on"))

        assert "1 of 1" in page
        assert str(mine.code) in page

    def test_shows_parts_only_when_asked(self, operator_client: Client) -> None:
        parent = running_job()
        JobFactory.create(parent=parent, key="row-1")

        assert "1 of 1" in text(operator_client.get("/jobs/"))
        assert "2 of 2" in text(operator_client.get("/jobs/?scope=all"))
        assert "row-1" in text(operator_client.get(f"/jobs/?parent={parent.code}"))

    def test_pages_keep_the_filter_and_say_which_rows_they_show(self, operator_client: Client) -> None:
        JobFactory.create_batch(51)

        first = text(operator_client.get("/jobs/?kind=seed_row"))
        second = text(operator_client.get("/jobs/?kind=seed_row&page=2"))

        assert "1–50 of 51" in first  # noqa: RUF001 - a range is written with an en dash
        assert "?kind=seed_row&amp;page=2" in first
        assert "51–51 of 51" in second  # noqa: RUF001

    @pytest.mark.parametrize(
        "query", ["?status=nonsense", "?sort=nonsense", "?page=nonsense", "?parent=nonsense", "?kind=%00"]
    )
    def test_stays_up_when_the_address_is_nonsense(self, operator_client: Client, query: str) -> None:
        JobFactory.create()

        assert operator_client.get(f"/jobs/{query}").status_code == 200

    def test_costs_as_many_queries_for_many_rows_as_for_one(
        self, operator_client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        JobFactory.create_batch(30)

        with django_assert_max_num_queries(8):
            operator_client.get("/jobs/")

    def test_tells_a_viewer_who_may_start_jobs_when_empty(self, viewer: User) -> None:
        page = text(sign_in(viewer).get("/jobs/"))

        assert "An operator or an admin can start jobs" in page
        assert "New job" not in page


class TestForm:
    def test_makes_fields_from_the_kind_s_schema(self, operator_client: Client) -> None:
        page = text(operator_client.get("/jobs/new/?kind=seed_load"))

        assert 'name="v:/count"' in page
        assert 'name="v:/mode"' in page
        assert "How many" in page
        assert 'value="1000"' in page

    def test_starts_the_job_and_goes_to_its_page(self, operator_client: Client, operator: User) -> None:
        response = operator_client.post("/jobs/new/", {"kind": "seed_load", "v:/mode": "0", "v:/count": "5"})

        job = Job.objects.get()
        assert response.status_code == 303
        assert response["Location"] == f"/jobs/{job.code}/"
        assert (job.created_by, job.parameters["count"]) == (operator, 5)

    def test_shows_the_schema_s_fault_at_the_field(self, operator_client: Client) -> None:
        response = operator_client.post("/jobs/new/", {"kind": "seed_load", "v:/mode": "0", "v:/count": "-5"})

        assert response.status_code == 422
        assert "-5 is less than the minimum" in text(response)
        assert 'aria-invalid="true"' in text(response)
        assert not Job.objects.exists()

    def test_shows_text_that_is_no_number_with_the_schema_s_fault(self, operator_client: Client) -> None:
        response = operator_client.post("/jobs/new/", {"kind": "seed_load", "v:/count": "many"})

        assert response.status_code == 422
        assert 'value="many"' in text(response)
        assert "is not of type" in text(response)

    def test_takes_a_list_row_by_row(self, operator_client: Client) -> None:
        rows = {"r:/names": ["0"], "v:/names/0": "tide_gauges"}
        operator_client.post("/jobs/new/", {"kind": "install_packs", **rows})

        assert Job.objects.get().parameters == {"names": ["tide_gauges"]}

    def test_adds_a_row_and_starts_nothing(self, operator_client: Client) -> None:
        response = operator_client.post("/jobs/new/", {"kind": "install_packs", "action": "add:/names"})

        assert response.status_code == 200
        assert 'name="v:/names/0"' in text(response)
        assert not Job.objects.exists()

    def test_fills_in_the_parameters_of_an_earlier_job(self, operator_client: Client) -> None:
        earlier = final_job("succeeded", kind="seed_load", parameters={"mode": "rows", "count": 77})

        assert 'value="77"' in text(operator_client.get(f"/jobs/new/?kind=seed_load&like={earlier.code}"))

    def test_is_closed_to_viewers(self, viewer: User) -> None:
        client = sign_in(viewer)

        assert client.get("/jobs/new/").status_code == 403
        assert client.post("/jobs/new/", {"kind": "self_check"}).status_code == 403

    @pytest.mark.parametrize("kind", ["", "nonsense", "seed_row"])
    def test_shows_no_parameters_for_a_kind_that_cannot_be_started(self, operator_client: Client, kind: str) -> None:
        response = operator_client.post("/jobs/new/", {"kind": kind})

        assert response.status_code == 200
        assert not Job.objects.exists()


class TestPage:
    def test_is_live_while_the_job_is_not_final(self, operator_client: Client) -> None:
        job = running_job(stage="rows", done_units=3, total_units=10)

        page = text(operator_client.get(f"/jobs/{job.code}/"))

        assert f'hx-sse:connect="/api/v1/jobs/{job.code}/stream/?after=0"' in page
        assert "every 5s" in page
        assert "3 of 10" in page

    def test_is_still_once_the_job_is_final(self, operator_client: Client) -> None:
        job = final_job("succeeded", result={"rows": 5})

        page = text(operator_client.get(f"/jobs/{job.code}/"))

        assert "hx-sse:connect" not in page
        assert "every 5s" not in page
        assert "rows" in page

    def test_says_why_it_failed_and_what_to_do(self, operator_client: Client) -> None:
        job = final_job("failed")

        page = text(operator_client.get(f"/jobs/{job.code}/"))

        assert "The worker died." in page
        assert "then retry" in page

    def test_warns_when_the_heart_stopped(self, operator_client: Client) -> None:
        job = running_job(heartbeat_at=timezone.now() - timedelta(minutes=5))

        assert "No heartbeat for 5 min" in text(operator_client.get(f"/jobs/{job.code}/"))

    def test_shows_what_a_job_logged_as_text(self, operator_client: Client) -> None:
        job = running_job()
        job.add_event(JobEvent.Kind.LOG, level="info", text="<script>alert(1)</script>")

        page = text(operator_client.get(f"/jobs/{job.code}/"))

        assert "&lt;script&gt;alert(1)" in page
        assert "<script>alert" not in page

    def test_counts_its_parts_with_the_failed_on_top(self, operator_client: Client) -> None:
        parent = running_job()
        final_job("succeeded", parent=parent, key="good")
        final_job("failed", parent=parent, key="bad")

        page = text(operator_client.get(f"/jobs/{parent.code}/"))

        assert "1 succeeded · 1 failed" in page
        assert page.index("bad</span>") < page.index("good</span>")

    @pytest.mark.parametrize(("path", "root"), [("", "job-state"), ("log/", "job-log-lines"), ("curve/", "job-curve")])
    def test_sends_its_regions_when_htmx_asks(self, operator_client: Client, path: str, root: str) -> None:
        job = running_job()

        response = operator_client.get(f"/jobs/{job.code}/{path}", headers=PARTIAL)

        assert response.status_code == 200
        assert f'id="{root}-{job.code}"' in text(response)
        assert "<html" not in text(response)

    def test_answers_404_when_there_is_no_such_job(self, operator_client: Client) -> None:
        assert operator_client.get(f"/jobs/{UUID(int=1)}/").status_code == 404


class TestSteering:
    def test_cancels_and_comes_back(self, operator_client: Client) -> None:
        job = JobFactory.create()

        response = operator_client.post(f"/jobs/{job.code}/cancel/")

        job.refresh_from_db()
        assert response.status_code == 303
        assert job.status == Job.Status.CANCELLED

    def test_answers_409_with_the_present_state_when_it_is_too_late(self, operator_client: Client) -> None:
        job = final_job("succeeded")

        response = operator_client.post(f"/jobs/{job.code}/cancel/", headers=PARTIAL)

        assert response.status_code == 409
        assert "already succeeded" in text(response)
        assert f'id="job-state-{job.code}"' in text(response)

    def test_retries_what_failed(self, operator_client: Client) -> None:
        job = final_job("failed")

        response = operator_client.post(f"/jobs/{job.code}/retry/", headers=PARTIAL)

        job.refresh_from_db()
        assert (response.status_code, response["HX-Redirect"]) == (204, f"/jobs/{job.code}/")
        assert job.status == Job.Status.QUEUED

    @pytest.mark.parametrize("action", ["cancel", "retry"])
    def test_is_closed_to_viewers(self, viewer: User, action: str) -> None:
        job = final_job("failed") if action == "retry" else JobFactory.create()
        client = sign_in(viewer)

        assert client.post(f"/jobs/{job.code}/{action}/").status_code == 403
        assert f"/{action}/" not in text(client.get(f"/jobs/{job.code}/"))

    @pytest.mark.parametrize("action", ["cancel", "retry"])
    def test_changes_nothing_on_get(self, operator_client: Client, action: str) -> None:
        assert operator_client.get(f"/jobs/{JobFactory.create().code}/{action}/").status_code == 405


def test_running_jobs_menu_lists_what_is_unfinished(operator_client: Client) -> None:
    running_job(kind="self_check", stage="services", done_units=1, total_units=4)

    region = text(operator_client.get("/jobs/running/", headers=PARTIAL))
    page = text(operator_client.get("/jobs/running/"))

    assert 'id="running-jobs"' in region
    assert "1 of 4" in region
    assert "<html" in page


@pytest.mark.parametrize("path", ["/", "/jobs/", "/jobs/new/", "/jobs/running/", "/settings/", "/audit/", "/help/"])
def test_pages_ask_for_a_login(client: Client, path: str) -> None:
    response = client.get(path)

    assert response.status_code == 302
    assert response["Location"] == f"/accounts/login/?next={path}"
