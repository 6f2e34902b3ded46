"""Sessions and their calls: the lists read neither states nor results, and nothing here plays anything."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from environments.admin.base import (
    NOTHING,
    SECTION_ROWS,
    VERSION_CONTENT,
    RegistryAdmin,
    Section,
    linked,
    list_address,
    preview,
    row_link,
    shown,
)
from environments.models import EnvironmentSession, PastEpisode, ToolCall

NUM_CALLS = shown("num_calls", _("calls"))


@admin.register(EnvironmentSession)
class EnvironmentSessionAdmin(RegistryAdmin):
    """States of environments and who holds them."""

    unread = ("start_snapshot", "snapshot", *VERSION_CONTENT)
    list_display = ["code", "version", "user", "status", "scenario", NUM_CALLS, "used_at"]
    list_filter = ["status", "user"]
    search_fields = ["code", "title", "user__username", "version__environment__name"]
    list_select_related = ["version__environment", "user"]
    fieldsets = [
        (None, {"fields": ["code", "title", linked("version"), linked("user"), "status", "scenario", "seed"]}),
        (_("Calls"), {"fields": ["episode", NUM_CALLS, "snapshot_calls", "revision", "fence", "leased_until"]}),
        (_("Fork"), {"fields": [linked("forked_from"), "forked_calls"]}),
        (_("Times"), {"fields": ["created_at", "used_at", "closed_at"]}),
    ]

    def sections(self, request: HttpRequest, row: Any) -> Iterable[Section]:
        """The first calls of the episode in hand."""
        calls = list(row.transcript.for_outline()[:SECTION_ROWS])
        cells = [
            (
                row_link(call, call.index),
                call.tool,
                call.get_status_display(),
                call.error_code or NOTHING,
                call.num_changes,
            )
            for call in calls
        ]
        yield Section(
            _("Calls of this episode"), (_("Call"), _("Tool"), _("Status"), _("Code"), _("Changes")), cells,
            row.num_calls, list_address(ToolCall, session=row.pk, episode=row.episode), _("No call has been made yet."),
        )  # fmt: skip


@admin.register(ToolCall)
class ToolCallAdmin(RegistryAdmin):
    """Recorded calls, append-only."""

    wide = ("arguments", "observation", "changes", "columns")
    unread = (
        "session__start_snapshot", "session__snapshot", "session__version__schema_sql", "session__version__tools_py",
    )  # fmt: skip
    list_display = ["index", "tool", "status", "error_code", "session", "microseconds", "at"]
    list_filter = ["status", "session__status"]
    search_fields = ["tool", "error_code", "session__code__exact"]
    list_select_related = ["session__version__environment"]
    ordering = ["-id"]
    fields = [
        linked("session"), "episode", "index", "tool", "status", "error_code", preview("arguments"),
        preview("observation"), preview("changes"), preview("columns", _("columns read and written")), "microseconds",
        "at",
    ]  # fmt: skip


@admin.register(PastEpisode)
class PastEpisodeAdmin(RegistryAdmin):
    """Episodes that a reset or a restored snapshot ended."""

    unread = (
        "start_snapshot",
        "session__start_snapshot",
        "session__snapshot",
        "session__version__schema_sql",
        "session__version__tools_py",
    )
    list_display = ["number", "session", "scenario", NUM_CALLS, "ended_at"]
    list_filter = ["session__status"]
    search_fields = ["scenario", "session__code", "session__version__environment__name"]
    list_select_related = ["session__version__environment"]
    ordering = ["-id"]
    fields = [linked("session"), "number", "scenario", "seed", NUM_CALLS, "ended_at"]
