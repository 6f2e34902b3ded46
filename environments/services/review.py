"""Recording decisions."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.db import transaction

from environments.core.access import Permission
from environments.core.errors import FieldError, InvalidInputError, PermissionDeniedError, StaleStateError
from environments.models import Decision, User

OTHER: Final = "other"
"""The reason code that stands for none of the others; it means nothing without a note."""


def record_decision(
    *,
    actor: User,
    subject_kind: str,
    subject_code: UUID,
    subject_sha256: str,
    verdict: Decision.Verdict,
    reason_codes: Sequence[str] = (),
    note: str = "",
    supersedes: Decision | None = None,
) -> Decision:
    """Appends a decision on the content with that hash.

    Raises:
        PermissionDeniedError: If the actor may not review, or would overrule somebody else's decision without
            `adjudicate`.
        InvalidInputError: If a rejection names no reason, or the reason `other` comes without a note.
        StaleStateError: If `supersedes` is already superseded or is about something else.
    """
    if not actor.may(Permission.REVIEW):
        raise PermissionDeniedError(f"{actor} may not review.")
    if verdict == Decision.Verdict.REJECT and not reason_codes:
        fault = FieldError("/reason_codes", "required", "A rejection needs at least one reason.")
        raise InvalidInputError(fault.detail, fields=(fault,))
    if OTHER in reason_codes and not note.strip():
        fault = FieldError("/note", "required", f"The reason '{OTHER}' needs a note that says which.")
        raise InvalidInputError(fault.detail, fields=(fault,))
    if supersedes is not None:
        if supersedes.actor_id != actor.pk and not actor.may(Permission.ADJUDICATE):
            raise PermissionDeniedError("Only a lead may overrule another person's decision.")
        if (supersedes.subject_kind, supersedes.subject_code) != (subject_kind, subject_code):
            raise StaleStateError("The decision to be replaced is about something else.")
    with transaction.atomic():
        if supersedes is not None:
            # The lock makes the second of two concurrent replacements see the first.
            locked = Decision.objects.select_for_update().get(pk=supersedes.pk)
            if Decision.objects.filter(supersedes=locked).exists():
                raise StaleStateError("That decision has already been replaced; reload and look again.")
        return Decision.objects.create(
            actor=actor,
            subject_kind=subject_kind,
            subject_code=subject_code,
            subject_sha256=subject_sha256,
            verdict=verdict,
            reason_codes=list(reason_codes),
            note=note,
            supersedes=supersedes,
        )
