"""The tables of the environments app."""

from environments.models.accounts import ApiToken, AuditEvent, User, UserManager
from environments.models.jobs import Job, JobEvent, JobEventQuerySet, JobQuerySet
from environments.models.paging import LatePaginator
from environments.models.registry import (
    VERSION_KIND,
    Case,
    CaseResult,
    Environment,
    EnvironmentQuerySet,
    EnvironmentVersion,
    EnvironmentVersionQuerySet,
    Provenance,
    Scenario,
    StatusChange,
    Table,
    Tool,
    ToolQuerySet,
    VerificationRun,
)
from environments.models.review import Decision
from environments.models.sessions import EnvironmentSession, EnvironmentSessionQuerySet, ToolCall, ToolCallQuerySet

__all__ = [
    "VERSION_KIND",
    "ApiToken",
    "AuditEvent",
    "Case",
    "CaseResult",
    "Decision",
    "Environment",
    "EnvironmentQuerySet",
    "EnvironmentSession",
    "EnvironmentSessionQuerySet",
    "EnvironmentVersion",
    "EnvironmentVersionQuerySet",
    "Job",
    "JobEvent",
    "JobEventQuerySet",
    "JobQuerySet",
    "LatePaginator",
    "Provenance",
    "Scenario",
    "StatusChange",
    "Table",
    "Tool",
    "ToolCall",
    "ToolCallQuerySet",
    "ToolQuerySet",
    "User",
    "UserManager",
    "VerificationRun",
]
