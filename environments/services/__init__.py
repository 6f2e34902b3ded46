"""State changes and use cases; nothing here knows HTTP, Celery or templates."""

from environments.services.accounts import (
    IssuedToken,
    change_preferences,
    create_api_token,
    find_api_token,
    issue_login,
    revoke_api_token,
)
from environments.services.audit import record_audit
from environments.services.health import CheckResult, readiness, register_check
from environments.services.jobs import cancel_job, create_job, execute_job, mark_sent, retry_job, sweep_jobs
from environments.services.review import record_decision

__all__ = [
    "CheckResult",
    "IssuedToken",
    "cancel_job",
    "change_preferences",
    "create_api_token",
    "create_job",
    "execute_job",
    "find_api_token",
    "issue_login",
    "mark_sent",
    "readiness",
    "record_audit",
    "record_decision",
    "register_check",
    "retry_job",
    "revoke_api_token",
    "sweep_jobs",
]
