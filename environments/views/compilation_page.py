"""What the pages of compilations show, made from the rows: the list, one run, its ledger."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from environments.core.compile.report import REASONS, Report
from environments.forms import CompiledEnvironmentFilterForm, CompiledOperationFilterForm
from environments.models import Compilation, CompiledEnvironment, CompiledOperation, LatePaginator
from environments.views.compilation_charts import KIND_WORDS, make_charts, make_compilation_funnel
from environments.views.facets import FacetKind, make_facets
from environments.views.sources_funnel import reason_words
from environments.web import HtmxHttpRequest

PAGE_SIZE = 50
NUM_REASONS_IN_FUNNEL = 12
NUM_EXAMPLES = 3
NUM_FAILURES_SHOWN = 50
NUM_VALUES_SHOWN = 20

TOOL = "tool"
OUTCOMES = dict(CompiledEnvironment.Outcome.choices)
ENVIRONMENT_FACETS = (
    FacetKind("outcome", gettext_lazy("Outcome"), OUTCOMES),
    FacetKind("family", gettext_lazy("Conventions"), {}),
    FacetKind("provider", gettext_lazy("Provider"), {}, NUM_VALUES_SHOWN),
)
ENVIRONMENT_SORTS = {
    "name": ("name", "batch"), "-name": ("-name", "batch"),
    "tools": ("num_tools", "name", "batch"), "-tools": ("-num_tools", "name", "batch"),
    "tables": ("num_tables", "name", "batch"), "-tables": ("-num_tables", "name", "batch"),
    "suspicion": ("suspicion", "name", "batch"), "-suspicion": ("-suspicion", "name", "batch"),
}  # fmt: skip


def list_context(request: HtmxHttpRequest) -> dict[str, Any]:
    """Compilations, newest first."""
    rows = Compilation.objects.without_report().select_related("created_by", "job").order_by("-id")
    page = LatePaginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    return {"page": page, "lines": [(row, scope_words(row.scope)) for row in page.object_list]}


def scope_words(scope: Mapping[str, Any]) -> str:
    """Which documents a compilation is of."""
    documents = scope.get("documents") or ()
    parts = [
        *([_("provider %(name)s") % {"name": scope["provider"]}] if scope.get("provider") else []),
        *([_("collection %(name)s") % {"name": scope["collection"]}] if scope.get("collection") else []),
        *([_("the shipped documents")] if scope.get("shipped") else []),
        *([_("%(num)d chosen documents") % {"num": len(documents)}] if len(documents) > 1 else []),
        *([_("one chosen document")] if len(documents) == 1 else []),
    ]
    return ", ".join(parts) or _("every source")


# --- One compilation --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReasonLine:
    """Why operations are in no environment.

    Attributes:
        code: The reason.
        label: In a few words.
        sentence: In a sentence, where there is one.
        num: How many operations.
        examples: Some of them.
    """

    code: str
    label: str
    sentence: str
    num: int
    examples: Sequence[CompiledOperation]


def head_context(compilation: Compilation) -> dict[str, Any]:
    """Title, state and facts, the same on every page of a compilation."""
    job = compilation.job
    return {
        "compilation": compilation,
        "scope": scope_words(compilation.scope),
        "running_job": job if job is not None and not job.is_final else None,
        "num_left_out": max(0, compilation.num_operations - compilation.num_tools),
    }


def detail_context(request: HtmxHttpRequest, compilation: Compilation) -> dict[str, Any]:
    """Funnel, charts, reasons with examples, and a page of environments."""
    report = compilation.to_core()
    return {
        "report": report,
        "funnel": make_compilation_funnel(compilation, report, NUM_REASONS_IN_FUNNEL),
        "charts": make_charts(report),
        "bars": _bars(report),
        "reasons": _reasons(compilation, report),
        "failures": sorted(compilation.failures.items())[:NUM_FAILURES_SHOWN],
        **environments_context(request, compilation),
    }


def _bars(report: Report) -> list[tuple[Any, int, int]]:
    """What counts: label, by the loose bar, by the strict one."""
    words = {
        "all": _("Verified environments"),
        "distinct": _("Without near copies and older versions"),
        "others": _("Of these, outside the four largest families"),
        "others_capped": _("The same, at most 40 of one provider"),
        "providers": _("Providers"),
        "tools": _("Tools in them"),
    }
    return [(label, getattr(report.loose, name), getattr(report.strict, name)) for name, label in words.items()]


def _reasons(compilation: Compilation, report: Report) -> list[ReasonLine]:
    rows = CompiledOperation.objects.filter(compilation=compilation).left_out()
    place = Window(RowNumber(), partition_by=F("reason"), order_by=F("id").asc())
    examples: dict[str, list[CompiledOperation]] = {}
    for row in (
        rows.annotate(place=place)
        .filter(place__lte=NUM_EXAMPLES)
        .select_related("document__source")
        .only("key", "reason", "detail", "operation_code", "document__title", "document__source__code")
        .order_by("id")
    ):
        examples.setdefault(row.reason, []).append(row)
    return [
        ReasonLine(
            each.name, reason_words(each.name), REASONS.get(each.name, ""), each.num, examples.get(each.name, ())
        )
        for each in report.reasons
    ]


@dataclass(frozen=True, slots=True)
class EnvironmentLine:
    """One environment as a row.

    Attributes:
        row: The row.
        copy: Why it does not count beside another one, and that one's name; None if it counts.
        reason: Why it failed, in a few words.
    """

    row: CompiledEnvironment
    copy: tuple[str, str] | None
    reason: str


def environments_context(request: HtmxHttpRequest, compilation: Compilation) -> dict[str, Any]:
    """A page of its environments, narrowed by outcome, family and provider."""
    form = CompiledEnvironmentFilterForm(request.GET)
    form.is_valid()
    wanted: dict[str, str] = form.cleaned_data
    rows = compilation.environments.all()
    for word in wanted.get("q", "").split():
        rows = rows.filter(title__icontains=word) | rows.filter(name__icontains=word)
    counted: QuerySet[Any] = rows.order_by().values_list("outcome", "family", "provider").annotate(num=Count("pk"))
    facets, num_left = make_facets(
        ENVIRONMENT_FACETS, [(values, num) for *values, num in counted], wanted, request.GET, any_label=_("Any")
    )
    kept = {kind.name: wanted[kind.name] for kind in ENVIRONMENT_FACETS if wanted.get(kind.name)}
    sort = request.GET.get("sort", "name")
    order = ENVIRONMENT_SORTS.get(sort, ENVIRONMENT_SORTS["name"])
    found = rows.filter(**kept).select_related("version__environment").without_facts()
    content = [f"version__{column}" for column in ("schema_sql", "tools_py", "description")]
    paginator = LatePaginator(found.defer(*content).order_by(*order), PAGE_SIZE)
    paginator.__dict__["count"] = num_left  # the facets have counted already
    page = paginator.get_page(request.GET.get("page"))
    copies = {tuple(each["environment"]): each for each in compilation.copies}
    return {
        "facets": facets,
        "page": page,
        "lines": [
            EnvironmentLine(row, _copy(copies.get((row.provider, row.name))), reason_words(row.reason))
            for row in page.object_list
        ],
        "sort": sort if sort in ENVIRONMENT_SORTS else "name",
        "words": wanted.get("q", ""),
        "kept_query": [(name, value) for name, value in wanted.items() if value and name != "q"],
        "is_filtered": any(wanted.values()),
    }


def _copy(found: Mapping[str, Any] | None) -> tuple[str, str] | None:
    return None if found is None else (reason_words(found["kind"]), found["of"][1])


# --- The ledger -------------------------------------------------------------------------------------------------------


def operations_context(request: HtmxHttpRequest, compilation: Compilation) -> dict[str, Any]:
    """A page of the ledger: what each operation came to."""
    form = CompiledOperationFilterForm(request.GET)
    form.is_valid()
    wanted: dict[str, str] = form.cleaned_data
    rows = CompiledOperation.objects.filter(compilation=compilation).search(wanted.get("q", ""))
    found: QuerySet[Any] = rows.order_by().values_list("reason", "kind").annotate(num=Count("pk"))
    counts: Counter[tuple[str, str]] = Counter()
    for reason, kind, num in found:
        counts[reason or TOOL, kind] += num
    frequent = Counter(code for code, _kind in counts.elements() if code != TOOL)
    labels = {TOOL: _("A tool"), **{code: reason_words(code) for code, _num in frequent.most_common()}}
    kinds = (FacetKind("reason", _("Came to"), labels), FacetKind("kind", _("Kind"), KIND_WORDS))
    facets, num_left = make_facets(kinds, list(counts.items()), wanted, request.GET, any_label=_("Any"))
    if wanted.get("reason"):
        rows = rows.filter(reason="" if wanted["reason"] == TOOL else wanted["reason"])
    if wanted.get("kind"):
        rows = rows.filter(kind=wanted["kind"])
    narrow = rows.select_related("document__source", "environment__version__environment").only(
        "key", "tool", "kind", "table", "reason", "detail", "operation_code", "document__title",
        "document__source__code", "environment__name", "environment__version__number",
        "environment__version__environment__name",
    )  # fmt: skip
    paginator = LatePaginator(narrow.order_by("id"), PAGE_SIZE)
    paginator.__dict__["count"] = num_left  # the facets have counted already
    page = paginator.get_page(request.GET.get("page"))
    return {
        "facets": facets,
        "page": page,
        "lines": [OperationLine.of(row) for row in page.object_list],
        "words": wanted.get("q", ""),
        "kept_query": [(name, value) for name, value in wanted.items() if value and name != "q"],
        "is_filtered": any(wanted.values()),
    }


@dataclass(frozen=True, slots=True)
class OperationLine:
    """One operation of the ledger as a row.

    Attributes:
        row: The row.
        kind: What its tool does.
        reason: Why it is in no environment, in a few words.
        sentence: In a sentence, where there is one.
    """

    row: CompiledOperation
    kind: Any
    reason: str
    sentence: str

    @classmethod
    def of(cls, row: CompiledOperation) -> "OperationLine":
        """The row in words."""
        return cls(row, KIND_WORDS.get(row.kind, row.kind), reason_words(row.reason), REASONS.get(row.reason, ""))
