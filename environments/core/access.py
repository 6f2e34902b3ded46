"""Who may do what: one table of roles and permissions, and the same permissions cut down by a token's scopes."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final


class Permission(StrEnum):
    """What can be allowed."""

    VIEW = "view"
    REVIEW = "review"
    ADJUDICATE = "adjudicate"
    OPEN_SESSIONS = "open_sessions"
    RUN_JOBS = "run_jobs"
    EXPORT = "export"
    ADMINISTER = "administer"


class Role(StrEnum):
    """What a person is here to do. Each user has one."""

    VIEWER = "viewer"
    REVIEWER = "reviewer"
    OPERATOR = "operator"
    ADMIN = "admin"


class Scope(StrEnum):
    """What an API token may be used for; never more than its owner may do."""

    READ = "read"
    REVIEW = "review"
    SESSIONS = "sessions"
    JOBS = "jobs"
    EXPORT = "export"
    ADMIN = "admin"


ROLE_PERMISSIONS: Final[dict[Role, frozenset[Permission]]] = {
    Role.VIEWER: frozenset({Permission.VIEW}),
    Role.REVIEWER: frozenset({Permission.VIEW, Permission.REVIEW, Permission.OPEN_SESSIONS}),
    Role.OPERATOR: frozenset(Permission) - {Permission.ADJUDICATE, Permission.ADMINISTER},
    Role.ADMIN: frozenset(Permission),
}

SCOPE_PERMISSIONS: Final[dict[Scope, frozenset[Permission]]] = {
    Scope.READ: frozenset({Permission.VIEW}),
    Scope.REVIEW: frozenset({Permission.VIEW, Permission.REVIEW, Permission.ADJUDICATE}),
    Scope.SESSIONS: frozenset({Permission.VIEW, Permission.OPEN_SESSIONS}),
    Scope.JOBS: frozenset({Permission.VIEW, Permission.RUN_JOBS}),
    Scope.EXPORT: frozenset({Permission.VIEW, Permission.EXPORT}),
    Scope.ADMIN: frozenset(Permission),
}


def role_permissions(role: Role, *, is_lead: bool) -> frozenset[Permission]:
    """Permissions of a role; a lead is a reviewer, operator or admin who may also adjudicate."""
    permissions = ROLE_PERMISSIONS[role]
    if is_lead and Permission.REVIEW in permissions:
        return permissions | {Permission.ADJUDICATE}
    return permissions


def scope_permissions(scopes: Iterable[Scope]) -> frozenset[Permission]:
    """Permissions that any of the scopes lets through."""
    allowed: frozenset[Permission] = frozenset()
    for scope in scopes:
        allowed |= SCOPE_PERMISSIONS[scope]
    return allowed
