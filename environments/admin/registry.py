"""Environments and their versions: what they hold, how far each has come, and the buttons that move them."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext_lazy as _

from environments.admin import actions
from environments.admin.base import (
    NOTHING,
    SECTION_ROWS,
    PageLink,
    RegistryAdmin,
    Section,
    code_text,
    linked,
    list_address,
    moment,
    outside_link,
    preview,
    row_address,
    row_link,
    short_hash,
    shown,
    words,
)
from environments.core.access import Permission
from environments.models import (
    VERSION_KIND,
    Case,
    Decision,
    Environment,
    EnvironmentVersion,
    Provenance,
    Scenario,
    StatusChange,
    Table,
    Tool,
    VerificationRun,
)
from environments.services import allowed_verdicts

VERSION_ADMIN: Final = "admin:environments_environmentversion"
CONTENT = ("schema_sql", "tools_py")
NUM_TOOLS = shown("num_tools", _("tools"))
NUM_CASES = shown("num_cases", _("cases"))


class RegistryPage(RegistryAdmin):
    """A list with the button that imports a pack."""

    change_list_template = "admin/environments/registry_list.html"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list."""
        may_import = actions.person(request).may(Permission.RUN_JOBS)
        return super().changelist_view(request, {**(extra_context or {}), "may_import": may_import})


@admin.register(Environment)
class EnvironmentAdmin(RegistryPage):
    """Names in the registry; everything else belongs to their versions."""

    unread = tuple(f"{name}__{column}" for name in ("latest_version", "verified_version") for column in CONTENT)
    list_display = ["name", "shown_title", "shown_domain", "shown_latest", "shown_verified", "created_at"]
    list_filter = [("verified_version", admin.EmptyFieldListFilter), "latest_version__status", "latest_version__origin"]
    search_fields = ["name", "latest_version__title", "latest_version__domain"]
    list_select_related = ["latest_version__environment", "verified_version__environment"]
    fields = ["name", "code", "shown_title", "shown_domain", "shown_description", "shown_latest", "shown_verified",
              "created_at"]  # fmt: skip

    @admin.display(description=_("title"), ordering="latest_version__title")
    def shown_title(self, row: Any) -> Any:
        """Of the latest version."""
        return row.latest_version.title if row.latest_version else NOTHING

    @admin.display(description=_("domain"), ordering="latest_version__domain")
    def shown_domain(self, row: Any) -> Any:
        """Of the latest version."""
        return row.latest_version.domain if row.latest_version else NOTHING

    @admin.display(description=_("description"))
    def shown_description(self, row: Any) -> Any:
        """Of the latest version."""
        return row.latest_version.description if row.latest_version else NOTHING

    @admin.display(description=_("latest version"), ordering="latest_version__number")
    def shown_latest(self, row: Any) -> Any:
        """With its status."""
        version = row.latest_version
        return row_link(version, f"{version.number}, {version.get_status_display()}") if version else NOTHING

    @admin.display(description=_("verified version"), ordering="verified_version__number")
    def shown_verified(self, row: Any) -> Any:
        """The one that is used when only the environment is named."""
        return row_link(row.verified_version, row.verified_version.number) if row.verified_version else NOTHING

    def sections(self, request: HttpRequest, row: Any) -> Iterable[Section]:
        """The newest versions."""
        versions = row.versions.without_content().with_approval().order_by("-number")[:SECTION_ROWS]
        cells = [
            (row_link(one, one.number), one.get_status_display(), words(one.approval or NOTHING),
             one.get_origin_display(), one.num_tools, one.num_cases, short_hash(one.content_sha256),
             moment(one.created_at))
            for one in versions
        ]  # fmt: skip
        yield Section(
            _("Versions"),
            (_("Number"), _("Status"), _("Approval"), _("Origin"), _("Tools"), _("Cases"), "SHA-256", _("Imported")),
            cells, row.latest_version.number if row.latest_version else 0,
            list_address(EnvironmentVersion, environment=row.pk), _("No pack of this name has been imported."),
        )  # fmt: skip


@admin.register(EnvironmentVersion)
class EnvironmentVersionAdmin(RegistryPage):
    """Packs, whole; only their status moves, by a verification or by a decision."""

    wide = CONTENT
    list_display = ["__str__", "status", "shown_approval", "origin", NUM_TOOLS, NUM_CASES, "shown_licence",
                    "created_at"]  # fmt: skip
    list_filter = ["status", "origin", "language", "licence_spdx"]
    search_fields = ["environment__name", "title", "domain", "content_sha256", "code"]
    list_select_related = ["environment", "created_by"]
    date_hierarchy = "created_at"
    actions = [actions.verify_selected, actions.approve_selected]
    fieldsets = [
        (None, {"fields": [
            (linked("environment"), "number", "status", "shown_approval"),
            ("title", "domain", "language"),
            "description",
        ]}),
        (_("Identity"), {"fields": [
            "shown_sha256", "code", ("origin", shown("created_at", _("imported at")), linked("created_by")),
        ]}),
        (_("Licence"), {"fields": [
            (shown("licence_spdx", _("SPDX identifier")), shown("licence_name", _("name"))), "shown_licence_address",
        ]}),
        (_("Content"), {"fields": [
            (NUM_TOOLS, shown("num_tables", _("tables")), shown("num_scenarios", _("scenarios")), NUM_CASES),
            (shown("clock_start", _("clock starts at")), shown("clock_step_seconds", _("clock step in seconds"))),
        ]}),
        (_("Source"), {"fields": [preview("schema_sql", "schema.sql"), preview("tools_py", "tools.py")],
                       "classes": ["collapse"]}),
    ]  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> Any:
        """With the verdict that stands."""
        rows: Any = super().get_queryset(request)
        return rows.with_approval()

    @admin.display(description=_("approval"))
    def shown_approval(self, row: Any) -> str:
        """The newest decision that stands."""
        return words(row.approval) if row.approval else NOTHING

    @admin.display(description=_("licence"), ordering="licence_spdx")
    def shown_licence(self, row: Any) -> Any:
        """Its identifier, else its name."""
        return row.licence_spdx or row.licence_name

    @admin.display(description=_("licence address"))
    def shown_licence_address(self, row: Any) -> Any:
        """The address, followed only on the web."""
        return outside_link(row.licence_address)

    @admin.display(description=_("content SHA-256"))
    def shown_sha256(self, row: Any) -> Any:
        """The identity of the content."""
        return code_text(row.content_sha256)

    def has_verify_permission(self, request: HttpRequest) -> bool:
        """Whether the person may start verifications."""
        return actions.person(request).may(Permission.RUN_JOBS)

    def has_approve_permission(self, request: HttpRequest) -> bool:
        """Whether the person may decide about many versions at once."""
        user = actions.person(request)
        return user.may(Permission.REVIEW) and user.may(Permission.ADJUDICATE)

    def get_urls(self) -> list[URLPattern]:
        """With import, export and decisions."""
        wrap: Callable[..., Any] = self.admin_site.admin_view
        return [
            path("import/", wrap(self.import_view), name="environments_environmentversion_import"),
            path("<int:pk>/export/", wrap(self.export_view), name="environments_environmentversion_export"),
            path(
                "<int:pk>/decide/<slug:verdict>/", wrap(self.decide_view), name="environments_environmentversion_decide"
            ),
            *super().get_urls(),
        ]

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """The page that imports a pack."""
        return actions.import_pack(request, self.admin_site)

    def export_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The pack as a zip."""
        return actions.export_pack(request, pk)

    def decide_view(self, request: HttpRequest, pk: int, verdict: str) -> HttpResponse:
        """The page that asks before a decision is recorded."""
        return actions.decide(request, self.admin_site, pk, verdict)

    def page_links(self, request: HttpRequest, row: Any) -> Iterable[PageLink]:
        """Every decision that the version's status and the person's permissions allow, and the export."""
        user = actions.person(request)
        for verdict in allowed_verdicts(row):
            if user.may(actions.permission_for(verdict)):
                yield PageLink(
                    actions.BUTTONS[verdict], reverse(f"{VERSION_ADMIN}_decide", args=[row.pk, verdict.value])
                )
        yield PageLink(_("Export pack"), reverse(f"{VERSION_ADMIN}_export", args=[row.pk]))

    def sections(self, request: HttpRequest, row: Any) -> Iterable[Section]:
        """What was found of the version, what was decided about it, and what it holds."""
        runs = list(row.runs.defer("findings", "effects").order_by("-number")[:SECTION_ROWS])
        yield Section(
            _("Verification runs"),
            (_("Run"), _("Outcome"), _("Cases held"), _("Cases"), _("Calls answered"), _("Calls"), _("At")),
            [(row_link(one, one.number), one.get_outcome_display(), one.num_cases_held, one.num_cases,
              one.num_answered, one.num_calls, moment(one.created_at)) for one in runs],
            runs[0].number if runs else 0, list_address(VerificationRun, version=row.pk), _("It was never verified."),
        )  # fmt: skip
        if runs:
            yield self._findings(runs[0])
        changes = list(row.history.select_related("actor", "run", "decision").defer("run__findings", "run__effects")
                       [: SECTION_ROWS + 1])  # fmt: skip
        yield Section(
            _("History"), (_("At"), _("From"), _("To"), _("By"), _("Cause"), _("Reason")),
            [(row_link(one, moment(one.at)), one.get_before_display() or NOTHING, one.get_after_display(),
              one.actor or NOTHING, _cause(one), one.reason) for one in changes[:SECTION_ROWS]],
            row.history.count() if len(changes) > SECTION_ROWS else len(changes),
            list_address(StatusChange, version=row.pk),
        )  # fmt: skip
        about = Decision.objects.filter(subject_kind=VERSION_KIND, subject_code=row.code).select_related("actor")
        decisions = list(about[: SECTION_ROWS + 1])
        yield Section(
            _("Decisions"), (_("At"), _("By"), _("Verdict"), _("Reasons"), _("Note")),
            [(row_link(one, moment(one.at)), one.actor, words(one.verdict), ", ".join(map(words, one.reason_codes)),
              one.note)
             for one in decisions[:SECTION_ROWS]],
            about.count() if len(decisions) > SECTION_ROWS else len(decisions),
            list_address(Decision, q=row.code), _("Nobody has decided about it."),
        )  # fmt: skip
        yield from _content(row)

    def _findings(self, run: Any) -> Section:
        findings = run.findings
        return Section(
            _("Findings of the latest run"), (_("Check"), _("Code"), _("Place"), _("What happened")),
            [(words(one["check"]), code_text(one["code"]), code_text(one["place"]), one["message"])
             for one in findings[:SECTION_ROWS]],
            len(findings), row_address(run), _("Nothing was found to be wrong."),
        )  # fmt: skip


def _cause(change: Any) -> Any:
    if change.run is not None:
        return row_link(change.run, _("Run %(number)s") % {"number": change.run.number})
    return row_link(change.decision, _("Decision")) if change.decision is not None else NOTHING


def _content(version: Any) -> Iterable[Section]:
    def of(model: Any, *columns: str) -> list[Any]:
        rows = model.objects.filter(version=version).order_by("position")
        return list(rows.only("version_id", *columns)[:SECTION_ROWS])

    sources = of(Provenance, "kind", "address", "source_version", "retrieved_at", "sha256")

    yield Section(
        _("Sources"), (_("Kind"), _("Address"), _("Version"), _("Retrieved"), "SHA-256"),
        [(row_link(one, one.kind), outside_link(one.address), one.source_version or NOTHING, one.retrieved_at,
          short_hash(one.sha256)) for one in sources],
        Provenance.objects.filter(version=version).count(), list_address(Provenance, version=version.pk),
    )  # fmt: skip
    yield Section(
        _("Tools"), (_("Tool"), _("Effect"), _("Called by"), _("Title")),
        [(row_link(one), one.get_effect_display(), one.get_audience_display(), one.title)
         for one in of(Tool, "name", "effect", "audience", "title")],
        version.num_tools, list_address(Tool, version=version.pk),
    )  # fmt: skip
    yield Section(
        _("Tables"), (_("Table"), _("Role"), _("Description")),
        [(row_link(one), one.role, one.description) for one in of(Table, "name", "role", "description")],
        version.num_tables, list_address(Table, version=version.pk),
    )  # fmt: skip
    yield Section(
        _("Scenarios"), (_("Scenario"), _("Level"), _("Rows"), _("Seed")),
        [(row_link(one), one.get_level_display(), one.num_rows, one.seed)
         for one in of(Scenario, "name", "level", "num_rows", "seed")],
        version.num_scenarios, list_address(Scenario, version=version.pk), _("It has no scenario."),
    )  # fmt: skip
    yield Section(
        _("Cases"), (_("Case"), _("Tool"), _("Kind"), _("Author")),
        [(row_link(one), one.tool, words(one.kind), one.author) for one in of(Case, "name", "tool", "kind", "author")],
        version.num_cases, list_address(Case, version=version.pk), _("It has no case."),
    )  # fmt: skip
