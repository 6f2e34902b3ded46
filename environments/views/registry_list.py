"""The list of environments: its facets with counts, its order and its rows."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from environments.forms import EnvironmentFilterForm
from environments.models import Decision, Environment, EnvironmentQuerySet, EnvironmentVersion, LatePaginator, Tool
from environments.views.facets import FacetKind, make_facets
from environments.web import HtmxHttpRequest

PAGE_SIZE = 50
NO_DECISION = "none"

Verdict = Decision.Verdict
APPROVALS = {
    Verdict.APPROVE.value: _("Approved"),
    NO_DECISION: _("Not decided"),
    Verdict.REQUEST_CHANGES.value: _("Changes requested"),
    Verdict.REJECT.value: _("Rejected"),
    Verdict.RETIRE.value: _("Retired"),
    Verdict.DISCARD.value: _("Discarded"),
}
FACETS = (
    FacetKind("status", _("Status"), dict(EnvironmentVersion.Status.choices)),
    FacetKind("approval", _("Approval"), APPROVALS),
    FacetKind("origin", _("Origin"), dict(EnvironmentVersion.Origin.choices)),
    FacetKind("domain", _("Domain"), {}),
)
SORTS = {
    "name": ("name",),
    "-name": ("-name",),
    "domain": ("latest_version__domain", "name"),
    "-domain": ("-latest_version__domain", "name"),
    "status": ("latest_version__status", "name"),
    "-status": ("-latest_version__status", "name"),
    "tools": ("latest_version__num_tools", "name"),
    "-tools": ("-latest_version__num_tools", "name"),
    "tables": ("latest_version__num_tables", "name"),
    "-tables": ("-latest_version__num_tables", "name"),
    "updated": ("changed_at", "name"),
    "-updated": ("-changed_at", "name"),
}


@dataclass(frozen=True, slots=True)
class EnvironmentLine:
    """One row of the list."""

    environment: Environment
    version: EnvironmentVersion
    num_reads: int
    num_writes: int


def list_context(request: HtmxHttpRequest) -> dict[str, Any]:
    """Everything the list shows, as its address says."""
    form = EnvironmentFilterForm(request.GET)
    form.is_valid()
    wanted: dict[str, str] = form.cleaned_data
    sort = request.GET.get("sort", "name")
    order = SORTS.get(sort, SORTS["name"])
    found = Environment.objects.search(wanted.get("q", "")).filter(latest_version__isnull=False).with_approval()
    values: QuerySet[Any] = found.order_by()
    counted = values.values_list(
        "latest_version__status", "approval", "latest_version__origin", "latest_version__domain"
    ).annotate(num=Count("pk"))  # fmt: skip
    facets, num_left = make_facets(
        FACETS,
        [((status, approval or NO_DECISION, origin, domain), num) for status, approval, origin, domain, num in counted],
        wanted,
        request.GET,
        any_label=_("Any"),
    )
    rows = _narrowed(found, wanted).with_record().with_versions().order_by(*order)
    paginator = LatePaginator(rows, PAGE_SIZE)
    paginator.__dict__["count"] = num_left  # the facets have counted already
    page = paginator.get_page(request.GET.get("page"))
    return {
        "facets": facets,
        "page": page,
        "lines": _lines(list(page.object_list)),
        "sort": sort if sort in SORTS else "name",
        "words": wanted.get("q", ""),
        "is_filtered": any(wanted.values()),
    }


def _narrowed(rows: EnvironmentQuerySet, wanted: dict[str, str]) -> EnvironmentQuerySet:
    for name in ("status", "origin", "domain"):
        if wanted.get(name):
            rows = rows.filter(**{f"latest_version__{name}": wanted[name]})
    if wanted.get("approval") == NO_DECISION:
        return rows.filter(Q(approval__isnull=True))
    return rows.filter(Q(approval=wanted["approval"])) if wanted.get("approval") else rows


def _lines(environments: list[Environment]) -> list[EnvironmentLine]:
    versions = [environment.latest_version for environment in environments]
    effects = {
        (version, effect): num
        for version, effect, num in Tool.objects.filter(version__in=versions)
        .order_by()
        .values_list("version", "effect")
        .annotate(num=Count("pk"))
    }
    return [
        EnvironmentLine(
            environment,
            version,
            num_reads=effects.get((version.pk, Tool.Effect.READ.value), 0),
            num_writes=effects.get((version.pk, Tool.Effect.WRITE.value), 0),
        )
        for environment in environments
        if (version := environment.latest_version) is not None
    ]
