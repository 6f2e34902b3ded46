"""The page of the API's description, offline and under the content security policy (which `page` checks)."""

import pytest

from environments.models import User
from tests.environments.api.test_access import MATRIX

pytestmark = [pytest.mark.e2e]


def test_docs_show_every_operation_and_try_one(sign_in, operator: User, console_server: str) -> None:
    page = sign_in(operator)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    page.goto("/api/v1/docs/")
    page.locator(".opblock").first.wait_for()

    assert page.locator(".opblock").count() == len(MATRIX) - 2  # without the description itself
    assert all(address.startswith((console_server, "data:")) for address in asked)

    me = page.locator("#operations-me-me_retrieve")
    me.get_by_role("button").first.click()
    me.get_by_role("button", name="Try it out").click()
    me.get_by_role("button", name="Execute").click()
    me.locator(".live-responses-table").wait_for()
    assert '"username": "otto"' in me.locator(".live-responses-table").inner_text()


def test_docs_start_a_job_with_the_session(sign_in, operator: User) -> None:
    page = sign_in(operator)
    page.goto("/api/v1/docs/")

    create = page.locator("#operations-jobs-jobs_create")
    create.get_by_role("button").first.click()
    create.get_by_role("button", name="Try it out").click()
    create.locator("textarea").fill('{"kind": "seed_load", "parameters": {"count": 3}}')
    with page.expect_response("**/api/v1/jobs/") as answer:
        create.get_by_role("button", name="Execute").click()

    assert answer.value.status == 202
    create.locator(".live-responses-table").wait_for()
