"""The list of sources: its facets with counts, its order, its rows, and the funnel of what it shows."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, Exists, F, OuterRef, QuerySet, TextField, Value, When
from django.utils.translation import gettext_lazy as _

from environments.forms import SourceFilterForm
from environments.models import DOCUMENT_KIND, Decision, LatePaginator, LeakHit, Source, SourceDocument, SourceQuerySet
from environments.services.leak_guard import LEAK_HIT_KIND
from environments.views.facets import FacetKind, make_facets
from environments.views.sources_funnel import make_funnel
from environments.web import HtmxHttpRequest

PAGE_SIZE = 50
NUM_PROVIDERS_SHOWN = 20
HITS, CLEAR, UNCHECKED = "hits", "clear", "unchecked"
NO_COLLECTION = "none"

FACETS = (
    FacetKind("kind", _("Form"), dict(Source.Kind.choices)),
    FacetKind("terms", _("Terms"), dict(SourceDocument.Terms.choices)),
    FacetKind("status", _("Status"), dict(SourceDocument.Status.choices)),
    FacetKind("leaks", _("Leak guard"), {HITS: _("Hits"), CLEAR: _("No hit"), UNCHECKED: _("Not checked")}),
    FacetKind("collection", _("Collection"), {NO_COLLECTION: _("None")}),
    FacetKind("provider", _("Provider"), {}, NUM_PROVIDERS_SHOWN),
)
COLUMNS = {
    "kind": "kind", "terms": "latest_document__terms", "status": "latest_document__status", "leaks": "leaks",
    "collection": "collection_name", "provider": "provider",
}  # fmt: skip
SORTS = {
    "title": ("latest_document__title", "address"),
    "-title": ("-latest_document__title", "address"),
    "provider": ("provider", "address"),
    "-provider": ("-provider", "address"),
    "kept": ("latest_document__num_kept", "address"),
    "-kept": ("-latest_document__num_kept", "address"),
    "read": ("latest_document__num_operations", "address"),
    "-read": ("-latest_document__num_operations", "address"),
    "retrieved": ("latest_document__retrieved_at", "address"),
    "-retrieved": ("-latest_document__retrieved_at", "address"),
}


@dataclass(frozen=True, slots=True)
class HitCount:
    """Hits of the leak guard on one document, by its newest check.

    Attributes:
        num: All of them.
        num_overruled: Those that a person took for an accident.
    """

    num: int = 0
    num_overruled: int = 0

    @property
    def num_open(self) -> int:
        """Those that keep the document out."""
        return self.num - self.num_overruled


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One row of the list."""

    source: Source
    document: SourceDocument
    hits: HitCount


def list_context(request: HtmxHttpRequest) -> dict[str, Any]:
    """Everything the list shows, as its address says."""
    form = SourceFilterForm(request.GET)
    form.is_valid()
    wanted: dict[str, str] = form.cleaned_data
    sort = request.GET.get("sort", "title")
    order = SORTS.get(sort, SORTS["title"])
    found = _with_facets(Source.objects.search(wanted.get("q", "")).filter(latest_document__isnull=False))
    counted: QuerySet[Any] = found.order_by().values_list(*COLUMNS.values()).annotate(num=Count("pk"))
    facets, num_left = make_facets(
        FACETS, [(values, num) for *values, num in counted], wanted, request.GET, any_label=_("Any")
    )
    rows = found.filter(**{column: wanted[name] for name, column in COLUMNS.items() if wanted.get(name)})
    paginator = LatePaginator(_narrow(rows).order_by(*order), PAGE_SIZE)
    paginator.__dict__["count"] = num_left  # the facets have counted already
    page = paginator.get_page(request.GET.get("page"))
    return {
        "facets": facets,
        "page": page,
        "lines": _lines(list(page.object_list)),
        "funnel": make_funnel(rows.order_by().values_list("latest_document__funnel", flat=True)),
        "num_sources": num_left,
        "sort": sort if sort in SORTS else "title",
        "words": wanted.get("q", ""),
        "kept_query": [(name, value) for name, value in wanted.items() if value and name != "q"],
        "is_filtered": any(wanted.values()),
    }


def _with_facets(rows: SourceQuerySet) -> SourceQuerySet:
    """With what the guard found of the newest document, and a name for having no collection."""
    hits = LeakHit.objects.filter(
        subject_kind=DOCUMENT_KIND,
        subject_code=OuterRef("latest_document__code"),
        subject_sha256=OuterRef("latest_document__sha256"),
        guard_version=OuterRef("latest_document__guard_version"),
    )
    leaks = Case(
        When(latest_document__guard_version="", then=Value(UNCHECKED)),
        When(Exists(hits), then=Value(HITS)),
        default=Value(CLEAR),
        output_field=TextField(),
    )
    name = Case(When(collection="", then=Value(NO_COLLECTION)), default=F("collection"), output_field=TextField())
    return rows.annotate(leaks=leaks, collection_name=name)


def _narrow(rows: SourceQuerySet) -> SourceQuerySet:
    heavy = ("data", "related", "problems", "description", "funnel")
    return rows.select_related("latest_document").defer(*(f"latest_document__{name}" for name in heavy))


def _lines(sources: list[Source]) -> list[SourceLine]:
    documents = [source.latest_document for source in sources]
    counts = count_hits([document for document in documents if document is not None])
    return [
        SourceLine(source, document, counts.get(document.pk, HitCount()))
        for source, document in zip(sources, documents, strict=True)
        if document is not None
    ]


def count_hits(documents: Sequence[SourceDocument]) -> dict[int, HitCount]:
    """By document (its key), the hits of its newest check; two queries for any number of documents.

    An overruling holds for the same content, benchmark and rule, whatever version of the guard found it.
    """
    every = LeakHit.objects.filter(subject_kind=DOCUMENT_KIND, subject_code__in=[each.code for each in documents])
    found = list(every.values_list("code", "subject_code", "subject_sha256", "guard_version", "benchmark", "rule"))
    overruled = overruled_codes(code for code, *_rest in found) if found else set()
    same = {
        (subject, sha256, benchmark, rule)
        for code, subject, sha256, _version, benchmark, rule in found
        if code in overruled
    }
    nums: Counter[int] = Counter()
    nums_overruled: Counter[int] = Counter()
    by_code = {document.code: document for document in documents}
    for _code, subject, sha256, version, benchmark, rule in found:
        document = by_code[subject]
        if (sha256, version) == (document.sha256, document.guard_version):
            nums[document.pk] += 1
            nums_overruled[document.pk] += (subject, sha256, benchmark, rule) in same
    return {key: HitCount(num, nums_overruled[key]) for key, num in nums.items()}


def overruled_codes(codes: Iterable[Any]) -> set[Any]:
    """Of hits, those that a standing decision overrules."""
    decisions = Decision.objects.filter(
        subject_kind=LEAK_HIT_KIND,
        subject_code__in=list(codes),
        verdict=Decision.Verdict.APPROVE,
        superseded_by=None,
    )
    return set(decisions.values_list("subject_code", flat=True))
