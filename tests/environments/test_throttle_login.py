"""Log-in attempts are counted by address and by name, in Valkey and without it."""

from collections.abc import Iterator

import pytest
from django.core.cache import caches
from django.test import Client, override_settings
from rest_framework.settings import api_settings

from envfactory_site.settings import base
from environments.adapters.embedded import EmbeddedServices
from environments.api.throttling import LoginThrottle
from tests.factories.environments import PASSWORD, UserFactory

TOO_MANY = "Too many attempts"


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServices]:
    """A server of its own, as a count that another run clears proves nothing."""
    with EmbeddedServices(tmp_path_factory.mktemp("throttle"), postgres=False, durable=False) as services:
        yield services


@pytest.fixture(autouse=True)
def _ten_a_minute(monkeypatch: pytest.MonkeyPatch, valkey: EmbeddedServices) -> Iterator[None]:
    monkeypatch.setattr(LoginThrottle, "THROTTLE_RATES", {**api_settings.DEFAULT_THROTTLE_RATES, "login": "10/min"})
    with override_settings(CACHES=base.caches(valkey.redis_url)):
        yield
        caches["default"].clear()


def attempt(name: str, *, address: str = "192.0.2.1", password: str = "wrong", **headers: str) -> str:
    """Posts the form and says what came of it: `in`, `wrong` or `throttled`."""
    data = {"username": name, "password": password}
    answer = Client(REMOTE_ADDR=address).post("/accounts/login/", data, headers=headers)
    is_throttled = TOO_MANY in answer.content.decode()
    assert is_throttled is (answer.status_code == 429)
    return {302: "in", 422: "wrong", 429: "throttled"}[answer.status_code]


def test_rate_of_production_is_ten_a_minute():
    assert base.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]["login"] in {"10/min", None}
    assert LoginThrottle().rate == "10/min"


def test_eleventh_attempt_is_refused_for_the_address_whatever_the_name(viewer):
    assert [attempt(f"nobody{number}") for number in range(10)] == ["wrong"] * 10

    assert attempt("somebody-else") == "throttled"
    assert attempt("vera", password=PASSWORD) == "throttled"
    assert attempt("vera", password=PASSWORD, address="192.0.2.2") == "in"


def test_eleventh_attempt_is_refused_for_the_name_whatever_the_address(viewer):
    assert [attempt("vera", address=f"192.0.2.{number}") for number in range(10)] == ["wrong"] * 10

    assert attempt("vera", password=PASSWORD, address="192.0.2.99") == "throttled"
    assert attempt("VERA", address="192.0.2.98") == "throttled"


def test_another_name_from_another_address_is_not_held_back(viewer):
    for number in range(11):
        attempt("vera", address=f"192.0.2.{number}")
    UserFactory.create(username="willy")

    assert attempt("willy", address="192.0.2.77", password=PASSWORD) == "in"


def test_right_password_counts_too(viewer):
    assert [attempt("vera", password=PASSWORD) for _ in range(10)] == ["in"] * 10

    assert attempt("vera", password=PASSWORD) == "throttled"


def test_forged_forwarded_header_gives_no_new_attempts(viewer):
    for number in range(10):
        attempt(f"nobody{number}", **{"X-Forwarded-For": f"198.51.100.{number}"})

    assert attempt("vera", password=PASSWORD, **{"X-Forwarded-For": "198.51.100.200"}) == "throttled"


def test_refusal_tells_nothing_about_the_password(viewer):
    for _ in range(10):
        attempt("vera")
    data = {"username": "vera", "password": PASSWORD}
    right = Client(REMOTE_ADDR="192.0.2.1").post("/accounts/login/", data)
    wrong = Client(REMOTE_ADDR="192.0.2.1").post("/accounts/login/", data | {"password": "wrong"})

    assert right.context["form"].non_field_errors() == wrong.context["form"].non_field_errors()
    assert "sessionid" not in right.cookies


def test_admin_site_has_no_login_of_its_own_to_go_round_the_count(admin):
    for number in range(10):
        attempt(f"nobody{number}")

    data = {"username": "ada", "password": PASSWORD}
    answer = Client(REMOTE_ADDR="192.0.2.1").post("/admin/login/?next=/admin/", data)

    assert "sessionid" not in answer.cookies


def test_attempts_are_counted_while_valkey_is_down(viewer, tmp_path):
    services = EmbeddedServices(tmp_path / "gone", postgres=False)  # never started
    with override_settings(CACHES=base.caches(services.redis_url)):
        try:
            assert [attempt(f"nobody{number}") for number in range(10)] == ["wrong"] * 10
            assert attempt("vera", password=PASSWORD) == "throttled"
            assert attempt("vera", password=PASSWORD, address="192.0.2.2") == "in"
        finally:
            caches["default"]._memory.clear()
