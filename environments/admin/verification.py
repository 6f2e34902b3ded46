"""What executing versions has shown, and each step of their status; both append-only."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Count, Q
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from environments.admin.base import (
    SECTION_ROWS,
    VERSION_CONTENT,
    RegistryAdmin,
    Section,
    code_text,
    is_of_one_row,
    linked,
    list_address,
    preview,
    row_link,
    words,
)
from environments.models import CaseResult, StatusChange, VerificationRun

MAX_TOOLS_SHOWN = 128
"""As many as a pack may have."""


@admin.register(VerificationRun)
class VerificationRunAdmin(RegistryAdmin):
    """Verification runs: what was checked, what was found, how the cases ended."""

    unread = VERSION_CONTENT
    list_display = ["__str__", "outcome", "shown_cases", "shown_calls", "verifier_version", "created_at"]
    list_filter = ["outcome", "verifier_version"]
    search_fields = ["code", "version__environment__name", "version__content_sha256"]
    list_select_related = ["version__environment"]
    date_hierarchy = "created_at"
    fields = ["code", linked("version"), "number", "outcome", "shown_cases", "shown_calls", "verifier_version",
              linked("job"), "created_at"]  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> Any:
        """Lists read no findings; a run's own page lists them."""
        rows = super().get_queryset(request)
        return rows if is_of_one_row(request) else rows.defer("findings", "effects")

    @admin.display(description=_("cases that held"), ordering="num_cases_held")
    def shown_cases(self, row: Any) -> str:
        """Of all."""
        return f"{row.num_cases_held:,} / {row.num_cases:,}"

    @admin.display(description=_("random calls answered"), ordering="num_answered")
    def shown_calls(self, row: Any) -> str:
        """Of all."""
        return f"{row.num_answered:,} / {row.num_calls:,}"

    def sections(self, request: HttpRequest, row: Any) -> Iterable[Section]:
        """Findings, cases that did not hold, cases by tool, and how each tool's writes were seen."""
        findings = row.findings
        yield Section(
            _("Findings"), (_("Check"), _("Code"), _("Place"), _("What happened")),
            [(words(one["check"]), code_text(one["code"]), code_text(one["place"]), one["message"])
             for one in findings],
            len(findings), empty=_("Nothing was found to be wrong."),
        )  # fmt: skip
        broken = row.case_results.filter(holds=False).select_related("case")
        shown = list(broken.defer("case__rows", "case__calls", "case__expect", "case__changes")[:SECTION_ROWS])
        yield Section(
            _("Cases that did not hold"), (_("Case"), _("Tool"), _("What was not as expected")),
            [(row_link(one.case), one.case.tool, "; ".join(one.problems)) for one in shown],
            row.num_cases - row.num_cases_held, list_address(CaseResult, run=row.pk, holds__exact=0),
            _("Every case that was run held."),
        )  # fmt: skip
        by_tool = list(
            row.case_results.values("case__tool").annotate(total=Count("pk"), held=Count("pk", filter=Q(holds=True)))
            .order_by("case__tool")[:MAX_TOOLS_SHOWN]
        )  # fmt: skip
        yield Section(
            _("Cases by tool"), (_("Tool"), _("Held"), _("Cases")),
            [(one["case__tool"], one["held"], one["total"]) for one in by_tool],
            len(by_tool), empty=_("The run made no case: it ended before."),
        )  # fmt: skip
        effects = row.effects
        yield Section(
            _("Effects that were seen"),
            (_("Tool"), _("Changes or deletes rows"), _("A second equal call does nothing")),
            [(name, _yes(one["is_destructive"]), _yes(one["is_idempotent"])) for name, one in effects.items()],
            len(effects), empty=_("Effects are looked at only once a version conforms."),
        )  # fmt: skip


def _yes(is_so: bool) -> Any:
    return _("yes") if is_so else _("no")


@admin.register(CaseResult)
class CaseResultAdmin(RegistryAdmin):
    """How each case ended in each run."""

    wide = ("problems",)
    unread = (
        "case__rows", "case__calls", "case__expect", "case__changes", "run__findings", "run__effects",
        "run__version__schema_sql", "run__version__tools_py",
    )  # fmt: skip
    list_display = ["case", "holds", "run"]
    list_filter = ["holds", "case__kind"]
    search_fields = ["case__name", "case__tool", "run__version__environment__name"]
    list_select_related = ["case", "run__version__environment"]
    fields = [linked("case"), linked("run"), "holds", preview("problems")]


@admin.register(StatusChange)
class StatusChangeAdmin(RegistryAdmin):
    """The history of all versions."""

    unread = VERSION_CONTENT
    list_display = ["__str__", "version", "at", "actor", "reason"]
    list_filter = ["after", "before"]
    search_fields = ["version__environment__name", "version__content_sha256", "reason"]
    list_select_related = ["version__environment", "actor"]
    date_hierarchy = "at"
    fields = [linked("version"), "at", "before", "after", "reason", linked("actor"), linked("run"), linked("decision")]
