from datetime import timedelta

import pytest
from django.contrib.auth import authenticate
from django.db import IntegrityError, transaction
from django.utils import timezone

from environments import services
from environments.core.access import Permission, Scope
from environments.core.errors import InvalidInputError, StaleStateError
from environments.models import ApiToken, AuditEvent, User
from tests.factories.environments import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db


def issue(user, *scopes, **changes):
    return services.create_api_token(user=user, name="ci", scopes=scopes or [Scope.READ], **changes)


def test_key_is_not_stored_and_finds_its_token(operator):
    issued = issue(operator)

    stored = ApiToken.objects.values().get()
    assert issued.key not in str(stored)
    assert issued.key.startswith("evf_")
    assert services.find_api_token(issued.key) == issued.token
    assert services.find_api_token(issued.key[:-1] + "!") is None
    assert services.find_api_token("other_" + issued.key) is None


def test_hash_depends_on_the_secret_key(operator, settings):
    issued = issue(operator)

    settings.SECRET_KEY = "another"

    assert services.find_api_token(issued.key) is None


@pytest.mark.parametrize("end", ["revoked", "expired", "inactive owner"])
def test_token_is_refused_when_it_has_ended(operator, end):
    issued = issue(operator, expires_at=timezone.now() + timedelta(hours=1))
    if end == "revoked":
        services.revoke_api_token(user=operator, code=issued.token.code)
    elif end == "expired":
        long_ago = timezone.now() - timedelta(days=2)
        ApiToken.objects.update(created_at=long_ago, expires_at=timezone.now() - timedelta(seconds=1))
    else:
        User.objects.filter(pk=operator.pk).update(is_active=False)

    assert services.find_api_token(issued.key) is None


def test_token_may_what_both_its_owner_and_its_scopes_may(reviewer, admin):
    assert issue(reviewer, Scope.JOBS, Scope.REVIEW).token.permissions == {Permission.VIEW, Permission.REVIEW}
    assert issue(admin, Scope.EXPORT).token.permissions == {Permission.VIEW, Permission.EXPORT}


def test_only_the_owner_revokes_and_only_once(operator, reviewer):
    token = issue(operator).token

    with pytest.raises(ApiToken.DoesNotExist):
        services.revoke_api_token(user=reviewer, code=token.code)
    services.revoke_api_token(user=operator, code=token.code)
    with pytest.raises(StaleStateError):
        services.revoke_api_token(user=operator, code=token.code)
    assert list(AuditEvent.objects.values_list("action", flat=True)) == ["token.revoke", "token.create"]


def test_bad_tokens_are_refused_with_the_field_named(operator):
    with pytest.raises(InvalidInputError) as caught:
        services.create_api_token(user=operator, name="x", scopes=[])
    assert caught.value.fields[0].pointer == "/scopes"
    with pytest.raises(InvalidInputError) as caught:
        issue(operator, expires_at=timezone.now())
    assert caught.value.fields[0].pointer == "/expires_at"
    assert not ApiToken.objects.exists()


def test_last_use_is_noted_at_most_once_a_minute(operator, django_assert_num_queries):
    token = issue(operator).token
    token.touch()
    token.refresh_from_db()

    assert token.last_used_at is not None
    with django_assert_num_queries(0):
        token.touch()


def test_issued_login_works_and_is_issued_once():
    password = services.issue_login(username="rita", role=User.Role.REVIEWER, is_lead=True)

    user = authenticate(username="rita", password=password)
    assert user is not None
    assert user.may(Permission.ADJUDICATE)
    assert services.issue_login(username="rita", role=User.Role.ADMIN) is None
    assert User.objects.get(username="rita").role == User.Role.REVIEWER


def test_role_decides_djangos_flags_and_the_database_holds_it():
    flags = {role: (UserFactory.create(role=role).is_staff, role == User.Role.ADMIN) for role in User.Role}

    assert flags == {
        "viewer": (False, False),
        "reviewer": (False, False),
        "operator": (True, False),
        "admin": (True, True),
    }
    for role, (is_staff, is_superuser) in flags.items():
        user = User.objects.get(role=role)
        assert (user.is_staff, user.is_superuser) == (is_staff, is_superuser)
    with pytest.raises(IntegrityError, match="user_superuser_is_admin"), transaction.atomic():
        User.objects.filter(role="viewer").update(is_superuser=True)


def test_role_change_by_update_fields_changes_the_flags_too(admin):
    admin.role = User.Role.VIEWER
    admin.save(update_fields=["role"])

    admin.refresh_from_db()
    assert (admin.is_superuser, admin.is_staff) == (False, False)


def test_inactive_person_may_nothing(admin):
    admin.is_active = False

    assert admin.permissions == frozenset()
    assert authenticate(username=admin.username, password=PASSWORD) is not None, "the stored row is still active"


def test_superuser_command_makes_an_admin():
    user = User.objects.create_superuser("root", password=PASSWORD, is_staff=True, is_superuser=True)

    assert user.role == User.Role.ADMIN


def test_unknown_preference_is_refused_and_nothing_is_stored(viewer):
    services.change_preferences(user=viewer, theme="dark", density="compact")
    with pytest.raises(InvalidInputError) as caught:
        services.change_preferences(user=viewer, theme="pink", density="comfortable")

    assert [field.pointer for field in caught.value.fields] == ["/theme"]
    viewer.refresh_from_db()
    assert (viewer.theme, viewer.density) == ("dark", "compact")
