"""Sources and what was read of them; a list never reads a document's bytes or an operation's schemas."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from environments.admin.base import (
    NOTHING,
    SECTION_ROWS,
    RegistryAdmin,
    Section,
    linked,
    list_address,
    preview,
    row_link,
    shown,
)
from environments.models import LeakHit, Operation, Source, SourceDocument, TextEmbedding

DOCUMENT_CONTENT = ("data", "related", "problems", "description", "funnel")


@admin.register(Source)
class SourceAdmin(RegistryAdmin):
    """Addresses and uploads from which descriptions of tools were read."""

    unread = tuple(f"latest_document__{name}" for name in DOCUMENT_CONTENT)
    list_display = ["address", "kind", "provider", "collection", linked("latest_document"), "created_at"]
    list_filter = ["kind", "collection"]
    search_fields = ["address", "provider", "code"]
    list_select_related = ["latest_document"]
    fieldsets = [
        (None, {"fields": ["code", "address", "kind", "provider", "collection", linked("latest_document")]}),
        (_("Import"), {"fields": ["created_at", linked("created_by")]}),
    ]

    def sections(self, request: HttpRequest, row: Any) -> Iterable[Section]:
        """Its readings, newest first."""
        documents = list(row.documents.without_data()[:SECTION_ROWS])
        cells = [(row_link(each), each.get_status_display(), each.num_operations, each.num_kept) for each in documents]
        yield Section(
            _("Documents"), (_("Document"), _("Status"), _("Operations"), _("Kept")), cells,
            row.documents.count(), list_address(SourceDocument, source=row.pk), _("Nothing was read yet."),
        )  # fmt: skip


@admin.register(SourceDocument)
class SourceDocumentAdmin(RegistryAdmin):
    """Single readings of sources."""

    wide = ("problems", "description", "funnel")
    unread = ("data", "related")
    list_display = ["title", linked("source"), "status", "dialect", "terms", "num_operations", "num_kept",
                    "retrieved_at"]  # fmt: skip
    list_filter = ["status", "terms", "dialect"]
    search_fields = ["title", "sha256", "code", "source__address"]
    list_select_related = ["source"]
    fieldsets = [
        (None, {"fields": ["code", linked("source"), "status", "title", "version", "dialect", preview("description")]}),
        (_("Content"), {"fields": ["sha256", "num_bytes", "media_type", "address", "retrieved_at"]}),
        (_("Terms"), {"fields": ["terms", "licence_spdx", "licence_name", "licence_address"]}),
        (
            _("Operations"),
            {
                "fields": [
                    "num_operations", "num_kept", "reader_version", "cleaner_version", preview("funnel"),
                    preview("problems"),
                ]
            },
        ),
    ]  # fmt: skip

    def sections(self, request: HttpRequest, row: Any) -> Iterable[Section]:
        """Its first operations."""
        operations = list(row.operations.without_content().order_by("position")[:SECTION_ROWS])
        cells = [
            (row_link(each), each.name, each.get_effect_display(), ", ".join(each.reasons) or NOTHING)
            for each in operations
        ]
        yield Section(
            _("Operations"), (_("Operation"), _("Name"), _("Effect"), _("Left out because")), cells,
            row.num_operations, list_address(Operation, document=row.pk), _("None was read."),
        )  # fmt: skip


@admin.register(Operation)
class OperationAdmin(RegistryAdmin):
    """Operations of documents, kept and left out."""

    wide = ("content", "description", "completed_description")
    unread = (*(f"document__{name}" for name in DOCUMENT_CONTENT), "duplicate_of__content")
    list_display = ["key", "name", linked("document"), "effect", "is_kept", "reasons"]
    list_filter = ["effect", "is_kept", "effect_rule"]
    search_fields = ["key", "name", "code"]
    list_select_related = ["document"]
    fieldsets = [
        (None, {"fields": ["code", linked("document"), "key", "name", "title", preview("description")]}),
        (_("Cleaning"), {"fields": ["is_kept", "reasons", linked("duplicate_of"), "effect", "effect_rule",
                                    preview("completed_description")]}),
        (_("Content"), {"fields": ["method", "path", preview("content")]}),
    ]  # fmt: skip


@admin.register(LeakHit)
class LeakHitAdmin(RegistryAdmin):
    """What resembles a public benchmark."""

    wide = ("evidence",)
    list_display = ["subject_kind", "subject_code", "benchmark", "rule", "score", "threshold", "created_at"]
    list_filter = ["benchmark", "rule", "subject_kind"]
    search_fields = ["subject_code", "benchmark"]
    fieldsets = [
        (None, {"fields": ["code", "subject_kind", "subject_code", "subject_sha256"]}),
        (_("Hit"), {"fields": ["benchmark", "rule", "score", "threshold", "guard_version", preview("evidence"),
                               "created_at"]}),
    ]  # fmt: skip


@admin.register(TextEmbedding)
class TextEmbeddingAdmin(RegistryAdmin):
    """Vectors of texts; only their hash, maker and length are shown."""

    unread = ("vector",)
    list_display = ["text_sha256", "model", shown("dimension", _("dimension"))]
    list_filter = ["model"]
    search_fields = ["text_sha256", "model"]
    fields = ["text_sha256", "model", "dimension"]
