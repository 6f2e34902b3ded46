"""Whether a request over MCP may come in: its token and the session that it names, in one statement.

Each request asks, so a revoked token is refused at once; a tool call costs about a millisecond, so this costs little.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.db.models.functions import Now

from environments.core.access import Permission, Role, Scope, role_permissions, scope_permissions
from environments.models import ApiToken
from environments.models.accounts import Bearer
from environments.models.statements import execute_prepared
from environments.services.accounts import TOKEN_START, hash_api_key

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class AdmittedSession:
    """A session's row, as far as a request needs it.

    Attributes:
        pk: The row's key.
        version: The version's key.
        status: Whether it can be used.
        has_expired: Whether nobody used it for so long that its address ends, parked already or not.
    """

    pk: int
    version: int
    status: str
    has_expired: bool


@dataclass(frozen=True, slots=True)
class Admission:
    """Who asks, and for what.

    Attributes:
        bearer: The token.
        user: The owner's key.
        may_open: Whether it may be used for sessions.
        session: The session that was named; None if the token's owner has none such, or another token made it.
    """

    bearer: Bearer
    user: int
    may_open: bool
    session: AdmittedSession | None


def admit(key: str, code: UUID | None = None) -> Admission | None:
    """Who the key belongs to, and the session with that code; None if no usable token has the key."""
    if not key.startswith(TOKEN_START):
        return None
    return on_live_connection(lambda: _admit(key, code))


def on_live_connection(read: Callable[[], Result]) -> Result:
    """What the function reads; once more on a new connection if the one that was kept has broken."""
    try:
        return read()
    except (OperationalError, InterfaceError):
        connection.close()
        return read()


def _admit(key: str, code: UUID | None) -> Admission | None:
    found = execute_prepared(_ADMIT, {"hash": hash_api_key(key), "code": code, "idle": settings.SESSION_IDLE_SECONDS})
    if found is None:
        return None
    token, user, scopes, role, is_lead, is_unnoted, *session = found
    if is_unnoted:
        ApiToken.objects.filter(pk=token).update(last_used_at=Now())
    allowed = role_permissions(Role(role), is_lead=is_lead) & scope_permissions(Scope(scope) for scope in scopes)
    named = AdmittedSession(*session) if session[0] is not None else None
    return Admission(Bearer(token, role), user, Permission.OPEN_SESSIONS in allowed, named)


_ADMIT: Final = """
SELECT token.id, owner.id, token.scopes, owner.role, owner.is_lead,
       token.last_used_at IS NULL OR token.last_used_at < now() - interval '1 minute',
       session.id, session.version_id, session.status, session.used_at < now() - %(idle)s * interval '1 second'
FROM environments_apitoken AS token
JOIN environments_user AS owner ON owner.id = token.user_id AND owner.is_active
LEFT JOIN environments_environmentsession AS session
    ON session.code = %(code)s::uuid AND session.user_id = owner.id
    AND (session.token_id = token.id OR session.token_id IS NULL)
WHERE token.key_hash = %(hash)s AND token.revoked_at IS NULL
  AND (token.expires_at IS NULL OR token.expires_at > now())
"""
