from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from environments.core.access import Scope
from environments.models import ApiToken, User
from environments.services import create_api_token
from tests.factories.environments import PASSWORD

pytestmark = pytest.mark.django_db


def text(response: Any) -> str:
    return str(response.content.decode())


def after(client: Client, response: Any) -> str:
    """The page that the answer sends the person to."""
    assert response.status_code == 303
    return text(client.get(response["Location"]))


class TestPreferences:
    def test_theme_switch_goes_back_to_where_it_was(self, operator_client: Client, operator: User) -> None:
        response = operator_client.post("/settings/preferences/", {"theme": "dark", "next": "/jobs/?status=failed"})

        operator.refresh_from_db()
        assert (response.status_code, response["Location"]) == (303, "/jobs/?status=failed")
        assert operator.theme == "dark"
        assert 'data-theme="dark"' in text(operator_client.get("/"))

    def test_script_gets_json(self, operator_client: Client) -> None:
        response = operator_client.post(
            "/settings/preferences/", {"theme": "light"}, headers={"Accept": "application/json"}
        )

        assert response.json() == {"theme": "light", "density": "comfortable"}

    @pytest.mark.parametrize("elsewhere", ["//example.org/", "https://example.org/", "javascript:alert(1)", ""])
    def test_never_leads_to_another_site(self, operator_client: Client, elsewhere: str) -> None:
        response = operator_client.post("/settings/preferences/", {"theme": "dark", "next": elsewhere})

        assert response["Location"] == "/settings/"

    def test_density_is_stored_and_said(self, operator_client: Client, operator: User) -> None:
        response = operator_client.post("/settings/preferences/", {"theme": "system", "density": "compact"})

        operator.refresh_from_db()
        assert operator.density == "compact"
        page = after(operator_client, response)
        assert "Saved." in page
        assert 'data-density="compact"' in page

    def test_unknown_value_changes_nothing(self, operator_client: Client, operator: User) -> None:
        response = operator_client.post("/settings/preferences/", {"theme": "pink"})

        operator.refresh_from_db()
        assert operator.theme == "system"
        assert "That preference is not known." in after(operator_client, response)


class TestTokens:
    def test_key_is_shown_once(self, operator_client: Client, operator: User) -> None:
        given = {"name": "ci", "scopes": ["read"], "days": "30"}
        response = operator_client.post("/settings/tokens/", given, follow=True)

        token = ApiToken.objects.get(user=operator)
        assert token.expires_at is not None
        assert timedelta(days=29) < token.expires_at - timezone.now() < timedelta(days=31)
        assert text(response).count(f"{token.prefix}") >= 2
        assert "no-store" in response["Cache-Control"]
        assert "shown this once" not in text(operator_client.get("/settings/"))

    def test_may_never_expire(self, operator_client: Client, operator: User) -> None:
        operator_client.post("/settings/tokens/", {"name": "ci", "scopes": ["read"], "days": ""})

        assert ApiToken.objects.get(user=operator).expires_at is None

    def test_says_what_is_missing_at_the_field(self, operator_client: Client) -> None:
        response = operator_client.post("/settings/tokens/", {"name": "", "days": "30"})

        assert response.status_code == 422
        assert text(response).count("This field is required.") == 2
        assert not ApiToken.objects.exists()

    def test_is_revoked_by_its_owner_only(self, operator_client: Client, operator: User, viewer: User) -> None:
        own = create_api_token(user=operator, name="own", scopes=[Scope.READ]).token
        other = create_api_token(user=viewer, name="other", scopes=[Scope.READ]).token

        mine = operator_client.post(f"/settings/tokens/{own.code}/revoke/")
        said = after(operator_client, mine)
        theirs = operator_client.post(f"/settings/tokens/{other.code}/revoke/")

        assert "is revoked" in said
        assert theirs.status_code == 404
        assert list(ApiToken.objects.filter(revoked_at__isnull=True)) == [other]


class TestLogin:
    def test_lets_in_with_the_right_password(self, client: Client, operator: User) -> None:
        response = client.post("/accounts/login/", {"username": "otto", "password": PASSWORD, "next": "/jobs/"})

        assert (response.status_code, response["Location"]) == (302, "/jobs/")

    def test_says_what_is_wrong(self, client: Client, operator: User) -> None:
        response = client.post("/accounts/login/", {"username": "otto", "password": "wrong"})

        assert "Please enter a correct username and password" in text(response)

    def test_stops_guessing(self, client: Client, operator: User, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("environments.api.throttling.LoginThrottle.rate", "2/min", raising=False)

        answers = [
            text(client.post("/accounts/login/", {"username": "otto", "password": word}))
            for word in ("a", "b", PASSWORD)
        ]

        assert ["Too many attempts" in answer for answer in answers] == [False, False, True]

    def test_logging_out_needs_a_post(self, operator_client: Client) -> None:
        assert operator_client.get("/accounts/logout/").status_code == 405
        assert operator_client.post("/accounts/logout/")["Location"] == "/accounts/login/"
