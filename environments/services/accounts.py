"""Logins, API tokens and preferences."""

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from environments.core.access import Scope
from environments.core.errors import FieldError, InvalidInputError, StaleStateError
from environments.models import ApiToken, User
from environments.services.audit import record_audit

TOKEN_START = "evf_"  # noqa: S105 - the public start of every key, so that secret scanners can recognise one


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token and its key, which is never to be had again."""

    token: ApiToken
    key: str


def create_api_token(
    *, user: User, name: str, scopes: Sequence[Scope], expires_at: datetime | None = None, address: str | None = None
) -> IssuedToken:
    """Creates a token for the person; its key has 256 random bits and is stored as a keyed hash.

    Raises:
        InvalidInputError: If there is no scope, or the expiry is in the past.
    """
    if not scopes:
        fault = FieldError("/scopes", "required", "Choose at least one scope.")
        raise InvalidInputError(fault.detail, fields=(fault,))
    if expires_at is not None and expires_at <= timezone.now():
        fault = FieldError("/expires_at", "past", "The expiry must be in the future.")
        raise InvalidInputError(fault.detail, fields=(fault,))
    key = TOKEN_START + secrets.token_urlsafe(32)
    with transaction.atomic():
        token = ApiToken.objects.create(
            user=user,
            name=name,
            prefix=key[:12],
            key_hash=hash_api_key(key),
            scopes=sorted({scope.value for scope in scopes}),
            expires_at=expires_at,
        )
        record_audit(
            actor=user,
            action="token.create",
            subject_kind="api_token",
            subject_code=str(token.code),
            detail={"name": name, "scopes": token.scopes},
            address=address,
        )
    return IssuedToken(token, key)


def revoke_api_token(*, user: User, code: UUID, address: str | None = None) -> ApiToken:
    """Revokes one of the person's own tokens at once.

    Raises:
        ApiToken.DoesNotExist: If the person has no such token.
        StaleStateError: If it was revoked before.
    """
    with transaction.atomic():
        token = ApiToken.objects.get(user=user, code=code)
        if not ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=timezone.now()):
            raise StaleStateError("The token was already revoked.")
        record_audit(
            actor=user,
            action="token.revoke",
            subject_kind="api_token",
            subject_code=str(token.code),
            detail={"name": token.name},
            address=address,
        )
    token.refresh_from_db()
    return token


def find_api_token(key: str) -> ApiToken | None:
    """The usable token with that key, or None."""
    if not key.startswith(TOKEN_START):
        return None
    return ApiToken.read_usable(hash_api_key(key))


def change_preferences(*, user: User, theme: str | None = None, density: str | None = None) -> None:
    """Stores how the person wants the console to look.

    Raises:
        InvalidInputError: If a value is not among the choices.
    """
    chosen = {"theme": (theme, User.Theme), "density": (density, User.Density)}
    changed = {name: value for name, (value, _choices) in chosen.items() if value is not None}
    faults = tuple(
        FieldError(f"/{name}", "invalid_choice", f"{value!r} is not one of {', '.join(chosen[name][1].values)}.")
        for name, value in changed.items()
        if value not in chosen[name][1].values
    )
    if faults:
        raise InvalidInputError("That preference is not known.", fields=faults)
    for name, value in changed.items():
        setattr(user, name, value)
    user.save(update_fields=list(changed))


def issue_login(*, username: str, role: User.Role, is_lead: bool = False) -> str | None:
    """Creates the user with a random password and returns it; None if the user exists (the password is kept)."""
    if User.objects.filter(username=username).exists():
        return None
    password = secrets.token_urlsafe(12)
    with transaction.atomic():
        user = User.objects.create_user(username, password=password, role=role, is_lead=is_lead)
        record_audit(actor=None, action="user.create", subject_kind="user", subject_code=str(user.code))
    return password


def hash_api_key(key: str) -> str:
    """What is stored of a key: a keyed hash, so that a copy of the table opens nothing."""
    return hmac.digest(settings.SECRET_KEY.encode(), b"api-token:" + key.encode(), "sha256").hex()
