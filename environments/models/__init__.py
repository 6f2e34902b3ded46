"""The tables of the environments app."""

from environments.models.accounts import ApiToken, AuditEvent, User, UserManager
from environments.models.jobs import Job, JobEvent, JobEventQuerySet, JobQuerySet
from environments.models.paging import LatePaginator
from environments.models.review import Decision

__all__ = [
    "ApiToken",
    "AuditEvent",
    "Decision",
    "Job",
    "JobEvent",
    "JobEventQuerySet",
    "JobQuerySet",
    "LatePaginator",
    "User",
    "UserManager",
]
