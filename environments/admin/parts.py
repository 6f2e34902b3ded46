"""What versions hold: tables, tools, scenarios, cases and sources; written once, so only to be read."""

from typing import Any

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from environments.admin.base import VERSION_CONTENT, RegistryAdmin, code_text, linked, outside_link, preview, shown
from environments.models import Case, Provenance, Scenario, Table, Tool

NUM_ROWS = shown("num_rows", _("number of rows"))


class PartAdmin(RegistryAdmin):
    """Rows of a version's content, in the pack's order."""

    unread = VERSION_CONTENT
    list_select_related = ["version__environment"]
    ordering = ["-version_id", "position"]


@admin.register(Table)
class TableAdmin(PartAdmin):
    """Tables: their role and what their columns mean."""

    wide = ("columns",)
    list_display = ["name", "version", "role", "description"]
    list_filter = ["role", "version__status"]
    search_fields = ["name", "version__environment__name", "description"]
    fields = ["name", linked("version"), "role", "description", preview("columns")]


@admin.register(Tool)
class ToolAdmin(PartAdmin):
    """Tools: interface, conditions and effect; their source is the function of that name in the version's tools.py."""

    wide = (
        "input_schema", "output_schema", "argument_names", "captures", "preconditions", "postconditions", "rejections",
        "origin",
    )  # fmt: skip
    list_display = ["name", "version", "effect", "audience", "title"]
    list_filter = ["effect", "audience", "version__status"]
    search_fields = ["name", "title", "version__environment__name"]
    fieldsets = [
        (None, {"fields": ["name", "code", linked("version"), "effect", "audience", "title", "description"]}),
        (_("Interface"), {"fields": [preview("input_schema"), preview("output_schema"), preview("argument_names")]}),
        (
            _("Conditions"),
            {"fields": [preview(name) for name in ("captures", "preconditions", "postconditions", "rejections")]},
        ),
        (_("Origin"), {"fields": [preview("origin")]}),
    ]


@admin.register(Scenario)
class ScenarioAdmin(PartAdmin):
    """Named initial states."""

    wide = ("rows",)
    list_display = ["name", "version", "level", NUM_ROWS, "seed", "clock_start"]
    list_filter = ["level", "version__status"]
    search_fields = ["name", "version__environment__name"]
    fields = ["name", "code", linked("version"), "level", "seed", "clock_start", NUM_ROWS, preview("rows")]


@admin.register(Case)
class CaseAdmin(PartAdmin):
    """Verification cases."""

    wide = ("rows", "calls", "expect", "changes")
    list_display = ["name", "version", "tool", "kind", "scenario", "author"]
    list_filter = ["kind", "version__status"]
    search_fields = ["name", "tool", "version__environment__name"]
    fields = [
        "name", linked("version"), "tool", "kind", "author", "scenario", preview("rows"), preview("calls"),
        preview("expect", _("expected")), preview("changes"),
    ]  # fmt: skip


@admin.register(Provenance)
class ProvenanceAdmin(PartAdmin):
    """Authentic sources of versions."""

    wide = ("licence",)
    list_display = ["address", "version", "kind", "retrieved_at", "source_version"]
    list_filter = ["kind", "version__status"]
    search_fields = ["address", "sha256", "version__environment__name"]
    fields = ["shown_address", linked("version"), "kind", "shown_sha256", "retrieved_at", "source_version",
              preview("licence")]  # fmt: skip

    @admin.display(description=_("address"))
    def shown_address(self, row: Any) -> Any:
        """The address, followed only on the web."""
        return outside_link(row.address)

    @admin.display(description=_("SHA-256"))
    def shown_sha256(self, row: Any) -> Any:
        """Of what was fetched."""
        return code_text(row.sha256)
