"""The pages of the environments app: jobs, settings and the audit trail."""

from environments.views.accounts import preferences, settings, token_create, token_revoke
from environments.views.audit import audit
from environments.views.jobs import (
    job_cancel,
    job_curve,
    job_detail,
    job_list,
    job_log,
    job_new,
    job_retry,
    running_jobs,
)

__all__ = [
    "audit",
    "job_cancel",
    "job_curve",
    "job_detail",
    "job_list",
    "job_log",
    "job_new",
    "job_retry",
    "preferences",
    "running_jobs",
    "settings",
    "token_create",
    "token_revoke",
]
