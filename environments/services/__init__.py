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
from environments.services.registry import (
    REJECT_REASONS,
    Imported,
    decide_version,
    import_pack,
    import_pack_file,
    import_shipped_pack,
    shipped_packs,
)
from environments.services.review import record_decision
from environments.services.sessions import (
    call_session,
    close_session,
    create_session,
    delete_old_sessions,
    find_session,
    fork_session,
    park_idle_sessions,
    reset_session,
    restore_snapshot,
    session_diff,
    session_snapshot,
    session_state,
    session_transcript,
)
from environments.services.verification import verify_environment
from environments.services.workers import close_worker_pool, environment_of, worker_pool

__all__ = [
    "REJECT_REASONS",
    "CheckResult",
    "Imported",
    "IssuedToken",
    "call_session",
    "cancel_job",
    "change_preferences",
    "close_session",
    "close_worker_pool",
    "create_api_token",
    "create_job",
    "create_session",
    "decide_version",
    "delete_old_sessions",
    "environment_of",
    "execute_job",
    "find_api_token",
    "find_session",
    "fork_session",
    "import_pack",
    "import_pack_file",
    "import_shipped_pack",
    "issue_login",
    "mark_sent",
    "park_idle_sessions",
    "readiness",
    "record_audit",
    "record_decision",
    "register_check",
    "reset_session",
    "restore_snapshot",
    "retry_job",
    "revoke_api_token",
    "session_diff",
    "session_snapshot",
    "session_state",
    "session_transcript",
    "shipped_packs",
    "sweep_jobs",
    "verify_environment",
    "worker_pool",
]
