"""Authentic descriptions of tools as rows: where each came from, its bytes, and what was read and kept of it."""

import uuid
import zlib
from datetime import datetime
from hashlib import sha256
from typing import Any, Self

import orjson
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from environments.core.seeds import content_code
from environments.core.sources import model as core
from environments.models.fields import ExactJSONField
from environments.runtime.pack.shapes import from_document, to_json

DOCUMENT_KIND = "source_document"
"""What decisions and audit rows call a document."""


class SourceQuerySet(models.QuerySet["Source"]):
    """Chains over sources."""

    def search(self, words: str) -> Self:
        """Those whose title, provider or address holds every word."""
        rows = self
        for word in words.split():
            rows = rows.filter(
                Q(address__icontains=word) | Q(provider__icontains=word) | Q(latest_document__title__icontains=word)
            )
        return rows


class Source(models.Model):
    """An address (or an upload) from which a description of tools was or can be read; each reading is a document."""

    class Kind(models.TextChoices):
        """What form it has."""

        OPENAPI = core.SourceKind.OPENAPI.value, _("OpenAPI")
        MCP_SERVER = core.SourceKind.MCP_SERVER.value, _("MCP server")
        TOOL_LIST = core.SourceKind.TOOL_LIST.value, _("Tool list")
        PYTHON_SKETCH = core.SourceKind.PYTHON_SKETCH.value, _("Python sketch")
        WEB_PAGE = core.SourceKind.WEB_PAGE.value, _("Documentation page")

    code = models.UUIDField(unique=True, editable=False)
    address = models.TextField(unique=True)
    kind = models.CharField(max_length=16, choices=Kind)
    collection = models.CharField(max_length=64, blank=True)
    provider = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    latest_document = models.OneToOneField(
        "SourceDocument", models.PROTECT, null=True, editable=False, related_name="latest_of"
    )

    objects = SourceQuerySet.as_manager()

    class Meta:
        ordering = ["provider", "address"]
        indexes = [models.Index(fields=["collection", "id"], name="source_collection")]

    def __str__(self) -> str:
        return self.address

    @staticmethod
    def code_of(address: str) -> uuid.UUID:
        """The public code of the source with that address."""
        return content_code("source", 0, address)


class SourceDocumentQuerySet(models.QuerySet["SourceDocument"]):
    """Chains over documents."""

    def latest(self) -> Self:  # type: ignore[override]  # the newest reading of each source, not of all
        """The newest reading of each source."""
        return self.filter(latest_of__isnull=False)

    def without_data(self) -> Self:
        """For lists: leaves the bytes out."""
        return self.defer(*SourceDocument.WIDE_COLUMNS)


class SourceDocument(models.Model):
    """One reading of a source: its bytes as they came, and what they say of themselves."""

    WIDE_COLUMNS = ("data", "related", "problems", "description", "funnel")
    """Columns that may hold megabytes; no list reads them."""

    class Status(models.TextChoices):
        """How far it has come."""

        FETCHED = "fetched", _("Fetched")
        READ = "read", _("Read")
        UNREADABLE = "unreadable", _("Unreadable")

    class Terms(models.TextChoices):
        """What the document's own licence allows (docs/sources.md)."""

        FREE = "free", _("Free")
        OTHER = "other", _("Other terms")
        UNKNOWN = "unknown", _("Says nothing")

    code = models.UUIDField(unique=True, editable=False)
    source = models.ForeignKey(Source, models.PROTECT, related_name="documents")
    sha256 = models.CharField(max_length=64)
    address = models.TextField()
    media_type = models.CharField(max_length=200, blank=True)
    retrieved_at = models.DateTimeField()
    data = models.BinaryField()
    related = models.BinaryField(null=True)
    num_bytes = models.PositiveBigIntegerField()
    status = models.CharField(max_length=16, choices=Status, default=Status.FETCHED)
    reader_version = models.CharField(max_length=40, blank=True)
    dialect = models.CharField(max_length=40, blank=True)
    title = models.TextField(blank=True)
    version = models.TextField(blank=True)
    description = models.TextField(blank=True)
    licence_spdx = models.TextField(null=True)
    licence_name = models.TextField(null=True)
    licence_address = models.TextField(null=True)
    terms = models.CharField(max_length=16, choices=Terms, default=Terms.UNKNOWN)
    problems = ExactJSONField(default=list)
    num_operations = models.PositiveIntegerField(default=0)
    num_kept = models.PositiveIntegerField(default=0)
    cleaner_version = models.CharField(max_length=40, blank=True)
    guard_version = models.CharField(max_length=64, blank=True)
    funnel = ExactJSONField(default=dict)

    objects = SourceDocumentQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["sha256"], name="source_document_sha256_index")]
        constraints = [
            models.UniqueConstraint(fields=["source", "sha256"], name="source_document_content_unique"),
            models.CheckConstraint(
                condition=Q(status__in=["fetched", "read", "unreadable"]), name="source_document_status_known"
            ),
            models.CheckConstraint(
                condition=Q(terms__in=["free", "other", "unknown"]), name="source_document_terms_known"
            ),
            models.CheckConstraint(condition=Q(sha256__regex=r"^[0-9a-f]{64}$"), name="source_document_sha256_hex"),
        ]

    def __str__(self) -> str:
        return f"{self.title or self.address} {self.sha256[:8]}"

    def to_core(self) -> core.Fetched:
        """What was fetched, with the files that it refers to."""
        related = {} if self.related is None else orjson.loads(zlib.decompress(self.related))
        # Latin-1 carries any byte through JSON and back.
        files = {name: text.encode("latin-1") for name, text in related.items()}
        return core.Fetched(self.address, zlib.decompress(self.data), self.media_type, files)

    @classmethod
    def from_core(cls, fetched: core.Fetched, source: Source, retrieved_at: datetime) -> Self:
        """The unsaved row of what was fetched."""
        digest = sha256(fetched.data)
        for name in sorted(fetched.related):
            digest.update(b"\0" + name.encode() + b"\0" + fetched.related[name])
        related = {name: data.decode("latin-1") for name, data in fetched.related.items()}
        return cls(
            code=content_code(DOCUMENT_KIND, 0, f"{source.address} {digest.hexdigest()}"),
            source=source,
            sha256=digest.hexdigest(),
            address=fetched.address,
            media_type=fetched.media_type[:200],
            retrieved_at=retrieved_at,
            data=zlib.compress(fetched.data, 6),
            related=zlib.compress(orjson.dumps(related), 6) if related else None,
            num_bytes=len(fetched.data) + sum(map(len, fetched.related.values())),
        )

    @property
    def licence(self) -> core.DocumentLicence:
        """The document's own terms."""
        return core.DocumentLicence(self.licence_spdx, self.licence_name, self.licence_address)


class OperationQuerySet(models.QuerySet["Operation"]):
    """Chains over operations."""

    def kept(self) -> Self:
        """Those that cleaning kept."""
        return self.filter(is_kept=True)

    def latest(self) -> Self:  # type: ignore[override]  # of each source's newest document, not of all
        """Those of each source's newest document."""
        return self.filter(document__latest_of__isnull=False)

    def without_content(self) -> Self:
        """For lists: leaves schemas out."""
        return self.defer("content")

    def search(self, words: str) -> Self:
        """Those whose key, name, title or description holds every word."""
        rows = self
        for word in words.split():
            rows = rows.filter(
                Q(key__icontains=word)
                | Q(name__icontains=word)
                | Q(title__icontains=word)
                | Q(description__icontains=word)
            )
        return rows


class Operation(models.Model):
    """One operation of a document, and whether cleaning kept it."""

    CONTENT_COLUMNS = ("content", "description", "completed_description")
    """Columns that no list of the API reads."""

    class Effect(models.TextChoices):
        """What it is taken to do to the state; a proposal until execution shows it."""

        READ = core.Effect.READ.value, _("Reads")
        WRITE = core.Effect.WRITE.value, _("Writes")
        UNKNOWN = core.Effect.UNKNOWN.value, _("Unknown")

    code = models.UUIDField(unique=True, editable=False)
    document = models.ForeignKey(SourceDocument, models.CASCADE, related_name="operations")
    position = models.PositiveIntegerField()
    key = models.TextField()
    name = models.TextField()
    title = models.TextField(blank=True)
    description = models.TextField(blank=True)
    method = models.CharField(max_length=16, blank=True)
    path = models.TextField(blank=True)
    content = ExactJSONField()
    effect = models.CharField(max_length=8, choices=Effect, default=Effect.UNKNOWN)
    effect_rule = models.CharField(max_length=64, blank=True)
    is_kept = models.BooleanField(null=True)
    reasons = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    duplicate_of = models.ForeignKey("self", models.SET_NULL, null=True, related_name="duplicates")
    completed_description = models.TextField(blank=True)

    objects = OperationQuerySet.as_manager()

    class Meta:
        ordering = ["document", "position"]
        indexes = [
            models.Index(fields=["document", "is_kept", "position"], name="operation_document_kept"),
            models.Index(fields=["name"], name="operation_name"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["document", "key"], name="operation_key_unique"),
            models.CheckConstraint(condition=Q(effect__in=["read", "write", "unknown"]), name="operation_effect_known"),
            models.CheckConstraint(
                condition=~Q(is_kept=False) | Q(reasons__len__gt=0), name="operation_left_out_has_reason"
            ),
        ]

    def __str__(self) -> str:
        return self.key

    def to_core(self) -> core.Operation:
        """The operation as its reader gave it."""
        return from_document(core.Operation, self.content)

    @classmethod
    def from_core(cls, operation: core.Operation, document: SourceDocument, position: int) -> Self:
        """The unsaved row."""
        return cls(
            code=content_code("operation", 0, f"{document.code} {operation.key}"),
            document=document,
            position=position,
            key=operation.key,
            name=operation.name,
            title=operation.title,
            description=operation.description,
            method=operation.method,
            path=operation.path,
            content=_as_json(operation),
        )


def _as_json(operation: core.Operation) -> Any:
    """What `to_json` gives, in a tenth of the time."""
    try:
        return orjson.loads(orjson.dumps(operation))
    except TypeError:  # a schema holds an integer beyond 64 bits
        return to_json(operation)


class LeakHit(models.Model):
    """A document (or, later, anything else) that resembles a public benchmark; it stays out unless a person overrules.

    The decision that overrules is a `Decision` on the hit's code and content.
    """

    code = models.UUIDField(unique=True, editable=False)
    subject_kind = models.CharField(max_length=64)
    subject_code = models.UUIDField()
    subject_sha256 = models.CharField(max_length=64)
    guard_version = models.CharField(max_length=64)
    benchmark = models.CharField(max_length=64)
    rule = models.CharField(max_length=32)
    score = models.FloatField()
    threshold = models.FloatField()
    evidence: Any = ExactJSONField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["subject_kind", "subject_code"], name="leak_hit_subject")]
        constraints = [
            models.UniqueConstraint(
                fields=["subject_code", "subject_sha256", "guard_version", "benchmark", "rule"], name="leak_hit_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.benchmark} {self.rule} {self.score:.2f}"
