"""The audit trail."""

from collections.abc import Mapping
from typing import Any

from environments.models import AuditEvent, User


def record_audit(
    *,
    actor: User | None,
    action: str,
    subject_kind: str,
    subject_code: str = "",
    detail: Mapping[str, Any] | None = None,
    address: str | None = None,
) -> AuditEvent:
    """Appends who did what to what; call it in the transaction of the change itself."""
    return AuditEvent.objects.create(
        actor=actor,
        action=action,
        subject_kind=subject_kind,
        subject_code=subject_code,
        detail=dict(detail or {}),
        address=address,
    )
