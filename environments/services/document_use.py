"""What may be made from a document: its terms, the leak guard and people's decisions together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db import transaction

from environments.core.access import Permission
from environments.core.errors import FieldError, InvalidInputError, PermissionDeniedError, StaleStateError
from environments.models import DOCUMENT_KIND, Decision, SourceDocument, User
from environments.services.leak_guard import open_hits, overrule_hit
from environments.services.registry import REJECT_REASONS
from environments.services.review import record_decision

OBSTACLES: Final = {
    "unread": "It has not been read, or can't be.",
    "unguarded": "The leak guard has not looked at it.",
    "leak": "It resembles a public benchmark, and nobody has overruled that.",
    "refused": "A person has refused it.",
    "terms": "Its own terms are not free, and nobody has allowed it.",
}
"""What can stand against a document. `terms` alone forbids only that something made from it ships or is exported."""
TERMS: Final = "terms"
"""Reason code of a decision that lets a document through in spite of its terms."""


@dataclass(frozen=True, slots=True)
class DocumentUse:
    """What may be made from a document.

    Attributes:
        obstacles: Codes of `OBSTACLES`, in their order.
    """

    obstacles: tuple[str, ...]

    @property
    def may_build(self) -> bool:
        """Whether environments may be made from it."""
        return not set(self.obstacles) - {TERMS}

    @property
    def may_ship(self) -> bool:
        """Whether what is made from it may be exported or shipped."""
        return not self.obstacles


def document_use(document: SourceDocument) -> DocumentUse:
    """What may be made from a document, and what stands against it."""
    standing = _standing_verdict(document)
    found = {
        "unread": document.status != SourceDocument.Status.READ,
        "unguarded": not document.guard_version,
        "leak": bool(open_hits(document)),
        "refused": standing == Decision.Verdict.REJECT,
        "terms": document.terms != SourceDocument.Terms.FREE and standing != Decision.Verdict.APPROVE,
    }
    return DocumentUse(tuple(code for code in OBSTACLES if found[code]))


def is_usable(document: SourceDocument, *, ships: bool = False) -> bool:
    """Whether environments may be made from a document; with `ships`, whether they may also leave the house."""
    use = document_use(document)
    return use.may_ship if ships else use.may_build


def allow_document(*, document: SourceDocument, user: User, note: str) -> list[Decision]:
    """Records that a person lets a document through: in spite of its terms, an earlier refusal, and each open leak hit.

    Returns:
        The decisions: one on the document, if its terms or a refusal stood against it, and one on each hit.

    Raises:
        PermissionDeniedError: The person may not review.
        InvalidInputError: No reason is given.
        StaleStateError: Nothing that a person can overrule stands against it.
    """
    _check(user, note)
    with transaction.atomic():
        _lock(document)
        obstacles = document_use(document).obstacles
        decisions = []
        reasons = [code for code in obstacles if code in ("refused", TERMS)]
        if reasons:
            decisions.append(_record(document, user, Decision.Verdict.APPROVE, reasons, note))
        decisions += [overrule_hit(hit=hit, user=user, note=note) for hit in open_hits(document)]
        if not decisions:
            raise StaleStateError("Nothing that a person can overrule stands against this document.")
    return decisions


def refuse_document(*, document: SourceDocument, user: User, reason_codes: Sequence[str], note: str) -> Decision:
    """Records that a person keeps a document out, or takes back that it was allowed.

    Raises:
        PermissionDeniedError: The person may not review.
        InvalidInputError: A reason is missing or unknown.
        StaleStateError: It is refused already.
    """
    _check(user, note)
    unknown = sorted(set(reason_codes) - REJECT_REASONS.keys())
    if unknown:
        detail = f"Unknown: {', '.join(unknown)}. Known: {', '.join(REJECT_REASONS)}."
        raise InvalidInputError(detail, fields=(FieldError("/reason_codes", "unknown", detail),))
    with transaction.atomic():
        _lock(document)
        if _standing_verdict(document) == Decision.Verdict.REJECT:
            raise StaleStateError("This document has already been refused.")
        return _record(document, user, Decision.Verdict.REJECT, reason_codes, note)


def _check(user: User, note: str) -> None:
    if not user.may(Permission.REVIEW):
        raise PermissionDeniedError(f"{user} may not review.")
    if not note.strip():
        fault = FieldError("/note", "required", "Say why.")
        raise InvalidInputError(fault.detail, fields=(fault,))


def _lock(document: SourceDocument) -> None:
    """Two decisions on the same document take turns."""
    SourceDocument.objects.select_for_update().only("pk").get(pk=document.pk)


def _record(
    document: SourceDocument, user: User, verdict: Decision.Verdict, reasons: Sequence[str], note: str
) -> Decision:
    return record_decision(
        actor=user, subject_kind=DOCUMENT_KIND, subject_code=document.code, subject_sha256=document.sha256,
        verdict=verdict, reason_codes=reasons, note=note.strip(),
    )  # fmt: skip


def _standing_verdict(document: SourceDocument) -> str | None:
    """The newest verdict on this content that no other replaces."""
    standing = Decision.objects.filter(
        subject_kind=DOCUMENT_KIND, subject_code=document.code, subject_sha256=document.sha256, superseded_by=None
    )
    return standing.order_by("-pk").values_list("verdict", flat=True).first()
