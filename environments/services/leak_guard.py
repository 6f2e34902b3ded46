"""The leak guard over stored documents: hits are rows, and a person may overrule one with a reason."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import orjson
from django.db import transaction

from environments.core.embedding import LexicalEmbedder, Vectors
from environments.core.errors import FieldError, InvalidInputError, StaleStateError
from environments.core.leak_guard import Examination, Guard, GuardData, Hit, subject_of
from environments.core.seeds import content_code
from environments.core.sources.model import Document, SourceKind
from environments.models import Decision, LeakHit, SourceDocument, User
from environments.models.sources import DOCUMENT_KIND
from environments.services.embeddings import embed, embedder
from environments.services.review import record_decision
from environments.services.sketches import read_source

LEAK_HIT_KIND: Final = "leak_hit"
"""What decisions and audit rows call a hit."""
DATA_FILE: Final = Path(__file__).parents[1] / "data" / "leak_guard.json"


def guard() -> Guard:
    """The guard with the settings' embedder, or with the lexical one if the data file has no vectors of that.

    Raises:
        InvalidInputError: The settings name an embedder that is not there.
    """
    chosen = embedder().name
    return _guard(chosen if chosen in guard_data().vector_thresholds else LexicalEmbedder.name)


@functools.cache
def guard_data() -> GuardData:
    """The data that ships, read once."""
    return GuardData.from_json(orjson.loads(DATA_FILE.read_bytes()))


def examine_document(*, document: SourceDocument, found: Document | None = None) -> Examination:
    """What the guard says of a document, with the nearest benchmarks; stores nothing.

    Args:
        document: Which was read.
        found: What was read of it, to save reading it again.

    Raises:
        UnreadableSourceError: The document can't be read.
        TransientError: The embedder can't be reached.
    """
    whole = found or read_source(document.to_core(), SourceKind(document.source.kind))
    return guard().examine(subject_of(whole))


def check_document(*, document: SourceDocument, found: Document | None = None) -> list[LeakHit]:
    """Compares a document with the public benchmarks and keeps the hits; a second check of the same adds nothing.

    Args:
        document: Which was read.
        found: What was read of it, to save reading it again.

    Returns:
        The hits of this version of the guard, overruled ones among them.

    Raises:
        UnreadableSourceError: The document can't be read.
        TransientError: The embedder can't be reached.
    """
    version = guard().version
    examination = examine_document(document=document, found=found)
    rows = [_row(hit, document, version, examination.embedder) for hit in examination.hits]
    with transaction.atomic():
        LeakHit.objects.bulk_create(rows, ignore_conflicts=True)
        SourceDocument.objects.filter(pk=document.pk).update(guard_version=version)
    document.guard_version = version
    return _hits(document)


def overrule_hit(*, hit: LeakHit, user: User, note: str) -> Decision:
    """Records that a person takes a hit for an accident; the hit stays.

    Raises:
        PermissionDeniedError: The person may not review.
        InvalidInputError: No reason is given.
        StaleStateError: The hit is overruled already.
    """
    if not note.strip():
        fault = FieldError("/note", "required", "Say why this is no copy of the benchmark.")
        raise InvalidInputError(fault.detail, fields=(fault,))
    with transaction.atomic():
        # The lock makes the second of two concurrent overrulings see the first.
        LeakHit.objects.select_for_update().get(pk=hit.pk)
        if _is_overruled([hit]):
            raise StaleStateError("This hit has already been overruled.")
        return record_decision(
            actor=user,
            subject_kind=LEAK_HIT_KIND,
            subject_code=hit.code,
            subject_sha256=hit.subject_sha256,
            verdict=Decision.Verdict.APPROVE,
            note=note.strip(),
        )


def open_hits(document: SourceDocument) -> list[LeakHit]:
    """Hits of the newest check that nobody has overruled.

    An overruling holds for the same content, benchmark and rule, whatever version of the guard finds it again.
    """
    every = LeakHit.objects.filter(
        subject_kind=DOCUMENT_KIND, subject_code=document.code, subject_sha256=document.sha256
    )
    same: dict[tuple[str, str], list[LeakHit]] = {}
    for hit in every:
        same.setdefault((hit.benchmark, hit.rule), []).append(hit)
    return [hit for hit in _hits(document) if not _is_overruled(same[hit.benchmark, hit.rule])]


def is_blocked(document: SourceDocument) -> bool:
    """Whether a document stays out: it has an open hit, or the guard has not seen it."""
    return not document.guard_version or bool(open_hits(document))


@functools.lru_cache(maxsize=4)
def _guard(model: str) -> Guard:
    if model == LexicalEmbedder.name:
        # Cheaper made than stored and read.
        return Guard(guard_data(), LexicalEmbedder().embed, model)

    def vectors(texts: Sequence[str]) -> Vectors:
        return embed(texts, "leak_guard").vectors

    return Guard(guard_data(), vectors, model)


def _hits(document: SourceDocument) -> list[LeakHit]:
    found = LeakHit.objects.filter(
        subject_kind=DOCUMENT_KIND,
        subject_code=document.code,
        subject_sha256=document.sha256,
        guard_version=document.guard_version,
    )
    return list(found.order_by("benchmark", "rule"))


def _is_overruled(hits: list[LeakHit]) -> bool:
    approvals = Decision.objects.filter(
        subject_kind=LEAK_HIT_KIND,
        subject_code__in=[hit.code for hit in hits],
        verdict=Decision.Verdict.APPROVE,
        superseded_by=None,
    )
    return approvals.exists()


def _row(hit: Hit, document: SourceDocument, version: str, model: str | None) -> LeakHit:
    key = f"{document.code} {document.sha256} {version} {hit.benchmark} {hit.rule}"
    return LeakHit(
        code=content_code(LEAK_HIT_KIND, 0, key),
        subject_kind=DOCUMENT_KIND,
        subject_code=document.code,
        subject_sha256=document.sha256,
        guard_version=version,
        benchmark=hit.benchmark,
        rule=hit.rule.value,
        score=hit.score,
        threshold=hit.threshold,
        evidence={
            "num_matched": hit.num_matched,
            "embedder": model,
            "neighbours": [[each.own, each.other, each.score] for each in hit.neighbours],
        },
    )
