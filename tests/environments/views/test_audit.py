from typing import Any

import pytest
from django.test import Client

from environments.models import Decision, User
from environments.services import record_audit
from tests.factories.environments import JobFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin_client(admin: User) -> Client:
    client = Client()
    client.force_login(admin)
    return client


def text(response: Any) -> str:
    return str(response.content.decode())


def test_audit_is_for_admins_only(operator_client: Client) -> None:
    response = operator_client.get("/audit/")

    assert response.status_code == 403
    assert "/audit/" not in text(operator_client.get("/"))


def test_audit_lists_changes_and_filters_them(admin_client: Client, operator: User, viewer: User) -> None:
    job = JobFactory.create()
    record_audit(
        actor=operator, action="job.start", subject_kind="job", subject_code=str(job.code), detail={"kind": "x"}
    )
    record_audit(actor=viewer, action="token.create", subject_kind="api_token")

    everything = text(admin_client.get("/audit/"))
    filtered = text(admin_client.get(f"/audit/?actor=OTTO&action=job.&subject={job.code.hex}"))

    assert "2 of 2" in everything
    assert "1 of 1" in filtered
    assert f"/jobs/{job.code}/" in filtered


def test_audit_shows_decisions(admin_client: Client, reviewer: User) -> None:
    Decision.objects.create(
        actor=reviewer,
        subject_kind="task",
        subject_code=JobFactory.create().code,
        subject_sha256="0" * 64,
        verdict="reject",
        reason_codes=["ambiguous"],
        note="Two orders fit.",
    )

    page = text(admin_client.get("/audit/?show=decisions"))

    assert "ambiguous" in page
    assert "Two orders fit." in page


@pytest.mark.parametrize(
    "query", ["?subject=nonsense", "?show=nonsense", "?page=-1", "?show=decisions&subject=nonsense"]
)
def test_audit_stays_up_when_the_address_is_nonsense(admin_client: Client, query: str) -> None:
    assert admin_client.get(f"/audit/{query}").status_code == 200


def test_audit_sends_only_its_rows_when_htmx_asks(admin_client: Client) -> None:
    response = admin_client.get("/audit/", headers={"HX-Request": "true", "HX-Request-Type": "partial"})

    assert text(response).strip().startswith('<section class="region" id="audit-rows"')
