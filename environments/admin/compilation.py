"""Compilations and their ledger: only to read, since the ledger is append-only."""

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
)
from environments.admin.sources import DOCUMENT_CONTENT
from environments.models import Compilation, CompiledEnvironment, CompiledOperation

VERSION_CONTENT = ("version__schema_sql", "version__tools_py", "version__description")


@admin.register(Compilation)
class CompilationAdmin(RegistryAdmin):
    """Runs of the compiler."""

    wide = ("report", "copies", "failures")
    list_display = ["code", "status", "num_documents", "num_operations", "num_tools", "num_verified", "num_distinct",
                    "created_at"]  # fmt: skip
    list_filter = ["status", "compiler_version"]
    search_fields = ["code"]
    fieldsets = [
        (None, {"fields": ["code", "status", linked("job"), "compiler_version", "seed", "target_tools",
                           preview("scope")]}),
        (_("Figures"), {"fields": ["num_documents", "num_batches", "num_operations", "num_tools", "num_environments",
                                   "num_verified", "num_distinct", preview("report"), preview("copies"),
                                   preview("failures")]}),
        (_("Run"), {"fields": ["created_at", "finished_at", linked("created_by")]}),
    ]  # fmt: skip

    def sections(self, request: HttpRequest, row: Any) -> Iterable[Section]:
        """Its first environments."""
        environments = list(row.environments.without_facts()[:SECTION_ROWS])
        cells = [
            (row_link(each), each.get_outcome_display(), each.num_tools, each.reason or NOTHING)
            for each in environments
        ]
        yield Section(
            _("Environments"), (_("Environment"), _("Outcome"), _("Tools"), _("Because")), cells,
            row.environments.count(), list_address(CompiledEnvironment, compilation=row.pk), _("None was planned."),
        )  # fmt: skip


@admin.register(CompiledEnvironment)
class CompiledEnvironmentAdmin(RegistryAdmin):
    """Planned environments and what came of them."""

    wide = ("facts", "detail")
    unread = VERSION_CONTENT
    list_display = ["name", "provider", "outcome", "reason", "num_tools", "num_tables", "meets_bar", "created_at"]
    list_filter = ["outcome", "meets_bar", "family"]
    search_fields = ["name", "title", "provider"]
    fieldsets = [
        (None, {"fields": [linked("compilation"), "batch", "name", "title", "provider", "family",
                           linked("version")]}),
        (_("Outcome"), {"fields": ["outcome", "reason", preview("detail"), "num_tools", "num_dropped", "num_tables",
                                   "meets_bar", "suspicion", "seconds", preview("facts"), "created_at"]}),
    ]  # fmt: skip

    def sections(self, request: HttpRequest, row: Any) -> Iterable[Section]:
        """Its operations."""
        operations = list(row.operations.order_by("pk")[:SECTION_ROWS])
        cells = [(row_link(each), each.tool, each.kind, each.reason or NOTHING) for each in operations]
        yield Section(
            _("Operations"), (_("Operation"), _("Tool"), _("Kind"), _("Dropped because")), cells,
            row.operations.count(), list_address(CompiledOperation, environment=row.pk), _("It has none."),
        )  # fmt: skip


@admin.register(CompiledOperation)
class CompiledOperationAdmin(RegistryAdmin):
    """The ledger."""

    unread = (*(f"document__{name}" for name in DOCUMENT_CONTENT), "environment__facts")
    list_display = ["key", "tool", "kind", "reason", linked("document")]
    list_filter = ["reason", "kind"]
    search_fields = ["key", "tool", "operation_code"]
    list_select_related = ["document"]
    fieldsets = [
        (None, {"fields": [linked("compilation"), "batch", linked("document"), "key", "operation_code"]}),
        (_("Came to"), {"fields": [linked("environment"), "tool", "kind", "table", "reason", "detail"]}),
    ]
