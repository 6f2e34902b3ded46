"""Sources: bytes in, operations out, and what cleaning says of them.

Each step can be made again: the bytes are stored first, so a better reader or another rule needs no second fetch.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from environments.adapters.fetching import FetchPolicy
from environments.core.cleaning import CLEANER_VERSION, Cleaning, Coverage, DuplicateIndex, clean
from environments.core.errors import FieldError, InvalidInputError, UnreadableSourceError
from environments.core.licences import terms_of
from environments.core.sources import readers
from environments.core.sources.model import Document, Fetched, SourceKind
from environments.models import Operation, Source, SourceDocument, User
from environments.runtime.pack.shapes import to_json
from environments.services.audit import record_audit
from environments.services.sketches import read_source

Status = SourceDocument.Status
BATCH_ROWS: Final = 500
MAX_NAME: Final = 200
_CLEANED: Final = ("is_kept", "reasons", "effect", "effect_rule", "completed_description", "duplicate_of")
_REPLACED: Final = (
    "position", "name", "title", "description", "method", "path", "content",
    *_CLEANED,
)  # fmt: skip
"""Everything but what makes an operation the same one: its document and key."""
_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f/\\\ud800-\udfff]")


def fetch_policy() -> FetchPolicy:
    """What the settings allow to be read."""
    return FetchPolicy(allowed_networks=settings.FETCH_ALLOWED_NETWORKS, max_bytes=settings.FETCH_MAX_MEGABYTES << 20)


def store_document(
    *,
    fetched: Fetched,
    kind: SourceKind | None = None,
    address: str = "",
    collection: str = "",
    provider: str = "",
    user: User | None = None,
    retrieved_at: datetime | None = None,
) -> tuple[SourceDocument, bool]:
    """Keeps what was fetched, before anything is read of it.

    Args:
        fetched: The bytes and where they were read.
        kind: Its form; None lets the readers decide.
        address: The source's identity: what was asked for, if a redirect led elsewhere.
        collection: Of which it is part.
        provider: What the collection says.
        user: Who asked for it.
        retrieved_at: When; now by default.

    Returns:
        The document, and whether its content is new. The source points at it either way.

    Raises:
        UnreadableSourceError: No reader knows the form; nothing is stored.
    """
    form, identity = kind or readers.kind_of(fetched), address or fetched.address
    with transaction.atomic():
        source, is_new_source = Source.objects.get_or_create(
            address=identity,
            defaults={
                "code": Source.code_of(identity), "kind": form.value, "collection": collection,
                "provider": provider[:200], "created_by": user,
            },
        )  # fmt: skip
        # Of two that store the same at once, the second waits here and then finds the first one's document.
        source = Source.objects.select_for_update().get(pk=source.pk)
        made = SourceDocument.from_core(fetched, source, retrieved_at or timezone.now())
        document = SourceDocument.objects.filter(code=made.code).first()
        is_new = document is None
        if document is None:
            made.save(force_insert=True)
            document = made
        document.source = source
        if (source.latest_document_id, source.kind) != (document.pk, form.value):
            source.latest_document, source.kind = document, form.value
            source.save(update_fields=["latest_document", "kind"])
        if is_new_source and not collection:
            record_audit(
                actor=user, action="source.import", subject_kind="source", subject_code=str(source.code),
                detail={"address": source.address[:500], "kind": form.value},
            )  # fmt: skip
    return document, is_new


def store_upload(
    *, data: bytes, name: str, media_type: str = "", kind: SourceKind | None = None, user: User | None = None
) -> SourceDocument:
    """Keeps an uploaded file under the address `upload:<start of its SHA-256>/<name>`.

    Args:
        data: The file.
        name: Its name, without folders; an ending such as `.py` or `.md` helps to recognise the form.
        media_type: What the browser or caller says.
        kind: Its form; None lets the readers decide.
        user: Who uploads it.

    Raises:
        InvalidInputError: There is nothing in it, it is larger than `FETCH_MAX_MEGABYTES`, or the name does not do.
        UnreadableSourceError: No reader knows the form; nothing is stored.
    """
    fault: FieldError | None = None
    if not data:
        fault = FieldError("", "empty", "The file is empty.")
    elif len(data) > settings.FETCH_MAX_MEGABYTES << 20:
        fault = FieldError("", "too_large", f"The file is larger than {settings.FETCH_MAX_MEGABYTES} MiB.")
    elif not name.strip() or len(name) > MAX_NAME or _UNFIT.search(name):
        detail = f"A name has 1 to {MAX_NAME} characters, and no slashes or control characters among them."
        fault = FieldError("?name", "invalid", detail)
    if fault is not None:
        raise InvalidInputError(fault.detail, fields=(fault,))
    address = f"upload:{sha256(data).hexdigest()[:16]}/{name}"
    document, _ = store_document(fetched=Fetched(address, data, media_type), kind=kind, user=user)
    return document


def parse_document(document: SourceDocument) -> Document:
    """What the stored bytes say, by the reader of the source's kind; writes nothing.

    Raises:
        UnreadableSourceError: They can't be read.
    """
    return read_source(document.to_core(), SourceKind(document.source.kind))


def read_document(*, document: SourceDocument) -> Document | None:
    """Reads and cleans the stored bytes, and keeps head and operations at once.

    An operation that an earlier reader kept, too, stays the same row; one that is no longer read goes.

    Returns:
        What was read, or None: then the row says why.
    """
    try:
        found = parse_document(document)
    except UnreadableSourceError as error:
        with transaction.atomic():
            document.operations.all().delete()
            _update(
                document, status=Status.UNREADABLE, reader_version=readers.READER_VERSION, num_operations=0, num_kept=0,
                problems=[{"code": error.code, "place": "", "message": str(error)}], cleaner_version="", funnel={},
                guard_version="",
            )  # fmt: skip
        return None
    rows = [Operation.from_core(operation, document, place) for place, operation in enumerate(found.operations)]
    cleaning = clean(found)
    firsts = _apply(rows, cleaning, found, DuplicateIndex())
    with transaction.atomic():
        # Two readings of the same document take turns.
        SourceDocument.objects.select_for_update().only("pk").get(pk=document.pk)
        _keep(document, rows, firsts)
        _update(
            document,
            status=Status.READ,
            reader_version=readers.READER_VERSION,
            dialect=found.dialect,
            title=found.title,
            version=found.version,
            description=found.description,
            licence_spdx=found.licence.spdx,
            licence_name=found.licence.name,
            licence_address=found.licence.address,
            terms=terms_of(found.licence),
            problems=[to_json(problem) for problem in found.problems],
            num_operations=len(rows),
            guard_version="",
            **_figures(rows, cleaning.coverage),
        )
        if not document.source.provider and found.provider:
            Source.objects.filter(pk=document.source_id).update(provider=found.provider[:200])
            document.source.provider = found.provider[:200]
    return found


def clean_document(
    *, document: SourceDocument, found: Document | None = None, duplicates: DuplicateIndex | None = None
) -> Cleaning:
    """Says again of each operation whether it is kept, why not, and what it is taken to do; writes what has changed.

    Args:
        document: Which was read.
        found: What was read of it, to save reading it again.
        duplicates: Operations of the documents before this one; by default only this document's own are compared.

    Raises:
        UnreadableSourceError: The document can't be read.
    """
    whole = found or parse_document(document)
    # With `document`, which Django would otherwise load for each row by itself.
    rows = list(document.operations.only("document", "code", "key", *_CLEANED).order_by("position"))
    if [row.key for row in rows] != [operation.key for operation in whole.operations]:
        # An earlier reader kept other operations.
        fresh = read_document(document=document)
        if fresh is None:
            raise UnreadableSourceError(document.problems[0]["message"])
        return clean_document(document=document, found=fresh, duplicates=duplicates)
    before = [_state(row) for row in rows]
    cleaning = clean(whole)
    firsts = _apply(rows, cleaning, whole, duplicates if duplicates is not None else DuplicateIndex())
    pointed = dict(Operation.objects.filter(code__in=set(firsts.values())).values_list("code", "pk"))
    for row in rows:
        row.duplicate_of_id = pointed[firsts[row.key]] if row.key in firsts else None
    changed = [row for row, state in zip(rows, before, strict=True) if _state(row) != state]
    figures = _figures(rows, cleaning.coverage)
    if changed or any(getattr(document, name) != value for name, value in figures.items()):
        with transaction.atomic():
            Operation.objects.bulk_update(changed, list(_CLEANED), batch_size=BATCH_ROWS)
            _update(document, **figures)
    return cleaning


def _apply(rows: Sequence[Operation], cleaning: Cleaning, document: Document, index: DuplicateIndex) -> dict[str, UUID]:
    """Writes into the rows what cleaning says.

    Returns:
        By key of each operation that repeats another one: the code of that.
    """
    firsts: dict[str, UUID] = {}
    for row, operation, cleaned in zip(rows, document.operations, cleaning.operations, strict=True):
        reasons = list(cleaned.reasons)
        first = None if reasons else index.add(str(row.code), operation, document)
        if first is not None:
            reasons.append("duplicate")
            firsts[row.key] = UUID(first)
        row.is_kept, row.reasons = not reasons, reasons
        row.effect, row.effect_rule = cleaned.effect.value, cleaned.effect_rule
        row.completed_description = cleaned.description
    return firsts


def _keep(document: SourceDocument, rows: Sequence[Operation], firsts: dict[str, UUID]) -> None:
    """What is repeated goes in before what repeats it and points there."""
    gone = set(document.operations.values_list("code", flat=True)) - {row.code for row in rows}
    if gone:
        document.operations.filter(code__in=gone).delete()
    by_code = {row.code: row for row in rows}
    repeated = [row for row in rows if row.key in firsts]
    _upsert([row for row in rows if row.key not in firsts])
    for row in repeated:
        row.duplicate_of = by_code[firsts[row.key]]
    _upsert(repeated)


def _upsert(rows: Sequence[Operation]) -> None:
    Operation.objects.bulk_create(
        rows, batch_size=BATCH_ROWS, update_conflicts=True, unique_fields=["code"], update_fields=_REPLACED
    )


def _state(row: Operation) -> tuple[Any, ...]:
    return (row.is_kept, row.reasons, row.effect, row.effect_rule, row.completed_description, row.duplicate_of_id)


def _figures(rows: Sequence[Operation], coverage: Coverage) -> dict[str, Any]:
    funnel = {
        "read": len(rows),
        "kept": sum(bool(row.is_kept) for row in rows),
        "reasons": dict(Counter(reason for row in rows for reason in row.reasons)),
        "effects": dict(Counter(row.effect for row in rows if row.is_kept)),
        "coverage": asdict(coverage),
    }
    return {"num_kept": funnel["kept"], "cleaner_version": CLEANER_VERSION, "funnel": funnel}


def add_funnels(funnels: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The funnel of many documents together, from what each keeps of its own; reasons come most frequent first."""
    total: dict[str, Any] = {"documents": 0, "read": 0, "kept": 0}
    reasons: Counter[str] = Counter()
    effects: Counter[str] = Counter()
    coverage = Coverage()
    for funnel in funnels:
        total["documents"] += 1
        total["read"] += funnel.get("read", 0)
        total["kept"] += funnel.get("kept", 0)
        reasons.update(funnel.get("reasons", {}))
        effects.update(funnel.get("effects", {}))
        coverage += Coverage(**funnel.get("coverage", {}))
    ordered = sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    return {**total, "reasons": dict(ordered), "effects": dict(sorted(effects.items())), "coverage": asdict(coverage)}


def _update(document: SourceDocument, **changes: Any) -> None:
    SourceDocument.objects.filter(pk=document.pk).update(**changes)
    for name, value in changes.items():
        setattr(document, name, value)
