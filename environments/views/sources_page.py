"""What the pages of one source show, made from the rows: its head, operations, leak hits, terms and problems."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from environments import services
from environments.core.access import Permission
from environments.core.cleaning import REASONS
from environments.core.sources import readers
from environments.forms import OperationFilterForm
from environments.models import (
    DOCUMENT_KIND,
    Decision,
    Job,
    LatePaginator,
    LeakHit,
    Operation,
    OperationQuerySet,
    Source,
    SourceDocument,
    User,
)
from environments.services.document_use import OBSTACLES, DocumentUse, document_use
from environments.services.leak_guard import LEAK_HIT_KIND
from environments.services.source_jobs import IMPORT_SOURCE
from environments.views.facets import Choice, Facet, FacetKind, address_maker, make_facets
from environments.views.registry_page import is_web_address
from environments.views.sources_funnel import EFFECT_WORDS, make_funnel, reason_words
from environments.views.sources_list import overruled_codes
from environments.web import HtmxHttpRequest

NUM_OPERATIONS_SHOWN = 50
NUM_PROBLEMS_SHOWN = 200
NUM_NEIGHBOURS_SHOWN = 12
NUM_READINGS_SHOWN = 50
NUM_DUPLICATES_SHOWN = 20

Status = SourceDocument.Status
Verdict = Decision.Verdict

KEPT, LEFT_OUT, NOT_CLEANED = "yes", "no", "none"
KEPT_VALUES: Mapping[str, bool | None] = {KEPT: True, LEFT_OUT: False, NOT_CLEANED: None}
FACETS = (
    FacetKind(
        "kept",
        gettext_lazy("Kept"),
        {KEPT: gettext_lazy("Kept"), LEFT_OUT: gettext_lazy("Left out"), NOT_CLEANED: gettext_lazy("Not cleaned")},
    ),
    FacetKind("effect", gettext_lazy("Effect"), EFFECT_WORDS),
)
RULE_WORDS = {
    "names": gettext_lazy("names of tools"),
    "schemas": gettext_lazy("arguments of tools"),
    "tables": gettext_lazy("tables and schemas"),
    "wording": gettext_lazy("wording of names"),
    "texts": gettext_lazy("texts, word for word"),
    "vectors": gettext_lazy("meaning of texts"),
}

# --- The head, the same on every page of the source -------------------------------------------------------------------


def find_document(request: HtmxHttpRequest, code: UUID) -> SourceDocument:
    """The source's document that the address names, or its newest one, without its bytes.

    Raises:
        Http404: There is no such source, or it has no such document.
    """
    documents = SourceDocument.objects.select_related("source__created_by").defer("data", "related")
    wanted = request.GET.get("document") or request.POST.get("document")
    if wanted:
        try:
            named = UUID(wanted)
        except ValueError:
            raise Http404("This is no code of a document.") from None
        return get_object_or_404(documents, source__code=code, code=named)
    return get_object_or_404(documents, latest_of__code=code)


def head_context(document: SourceDocument, user: User) -> dict[str, Any]:
    """Title, state, facts and what the person may do."""
    source = document.source
    is_latest = source.latest_document_id == document.pk
    use = document_use(document)
    hits = hit_lines(document)
    return {
        "source": source,
        "document": document,
        "document_query": "" if is_latest else f"?document={document.code}",
        "is_latest": is_latest,
        "is_linked": is_web_address(document.address),
        "num_readings": source.documents.count(),
        "use": use,
        "obstacles": [OBSTACLES[code] for code in use.obstacles],
        "num_hits": len(hits),
        "num_open_hits": sum(not hit.decision for hit in hits),
        "hits": hits,
        "num_problems": len(document.problems),
        "running_job": source_jobs(source).unfinished().first(),
        "may_run": user.may(Permission.RUN_JOBS),
        "may_review": user.may(Permission.REVIEW),
        "can_fetch": is_latest and fetch_parameters(source) is not None,
        "is_unfinished": _is_unfinished(document),
    }


def _is_unfinished(document: SourceDocument) -> bool:
    """Whether reading it again would bring something: it was cut off, or an earlier reader has read it."""
    is_outdated = document.reader_version != readers.READER_VERSION
    return is_outdated or (document.status == Status.READ and not document.guard_version)


def fetch_parameters(source: Source) -> dict[str, Any] | None:
    """What a job needs to read the source anew where it came from; None for an upload or a file of somebody's disk."""
    if is_web_address(source.address):
        is_server = source.kind == Source.Kind.MCP_SERVER
        return {"address": source.address, **({"kind": source.kind} if is_server else {})}
    name = source.address.removeprefix("mcp+stdio:")
    return {"server": name} if source.address != name and name in settings.MCP_STDIO_SERVERS else None


def source_jobs(source: Source) -> Any:
    """The jobs that read it, newest first, without what is heavy."""
    wanted = [{"document": str(code)} for code in source.documents.values_list("code", flat=True)[:NUM_READINGS_SHOWN]]
    fetched = fetch_parameters(source)
    if fetched is not None:
        wanted.append(fetched)
    jobs = Job.objects.filter(kind=IMPORT_SOURCE.name, parameters__in=wanted)
    return jobs.order_by("-id").defer("result", "manifest")


# --- Operations -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OperationLine:
    """One operation as a row.

    Attributes:
        operation: The row.
        reasons: Why it is left out: in a few words, and in a sentence.
    """

    operation: Operation
    reasons: Sequence[tuple[str, str]]


def operations_context(request: HtmxHttpRequest, document: SourceDocument) -> dict[str, Any]:
    """A page of operations, narrowed by what cleaning says of them; and the funnel of all of them."""
    form = OperationFilterForm(request.GET)
    form.is_valid()
    wanted: dict[str, str] = form.cleaned_data
    found = Operation.objects.filter(document=document).search(wanted.get("q", ""))
    values: QuerySet[Any] = found.order_by()
    counted = [
        (_kept_value(is_kept), effect, tuple(reasons), num)
        for is_kept, effect, reasons, num in values.values_list("is_kept", "effect", "reasons").annotate(
            num=Count("pk")
        )
    ]
    reason = wanted.get("reason", "")
    facets, num_left = make_facets(
        FACETS,
        [((kept, effect), num) for kept, effect, reasons, num in counted if not reason or reason in reasons],
        wanted,
        request.GET,
        any_label=_("Any"),
    )
    facets.append(_reason_facet(counted, wanted, request))
    paginator = LatePaginator(_narrow(_narrowed(found, wanted)), NUM_OPERATIONS_SHOWN)
    paginator.__dict__["count"] = num_left  # the facets have counted already
    page = paginator.get_page(request.GET.get("page"))
    return {
        "facets": facets,
        "page": page,
        "lines": [OperationLine(row, reason_lines(row)) for row in page.object_list],
        "funnel": make_funnel([document.funnel]),
        "words": wanted.get("q", ""),
        "kept_query": [
            *([("document", str(document.code))] if "document" in request.GET else []),
            *((name, value) for name, value in wanted.items() if value and name != "q"),
        ],
        "is_filtered": any(wanted.values()),
    }


def _kept_value(is_kept: bool | None) -> str:
    return next(value for value, meaning in KEPT_VALUES.items() if meaning is is_kept)


def _reason_facet(
    counted: Sequence[tuple[str, str, tuple[str, ...], int]], wanted: Mapping[str, str], request: HtmxHttpRequest
) -> Facet:
    """A facet of its own: an operation may have several reasons, so the choices may add up to more than all."""
    nums: Counter[str] = Counter()
    total = 0
    for kept, effect, reasons, num in counted:
        if wanted.get("kept", "") in {"", kept} and wanted.get("effect", "") in {"", effect}:
            total += num
            nums.update(dict.fromkeys(reasons, num))
    address = address_maker(request.GET, "reason")
    current = wanted.get("reason", "")
    codes = sorted(nums.keys() | ({current} - {""}), key=lambda code: (-nums[code], code))
    choices = [Choice(reason_words(code), nums[code], address(code), code == current) for code in codes]
    return Facet("reason", _("Reason"), [Choice(_("Any"), total, address(""), not current), *choices], [])


def _narrowed(rows: OperationQuerySet, wanted: Mapping[str, str]) -> OperationQuerySet:
    if wanted.get("kept"):
        known = wanted["kept"] in KEPT_VALUES
        rows = _by_kept(rows, KEPT_VALUES[wanted["kept"]]) if known else rows.none()
    if wanted.get("effect"):
        rows = rows.filter(effect=wanted["effect"])
    if wanted.get("reason"):
        rows = rows.filter(reasons__contains=[wanted["reason"]])
    return rows.order_by("position")


def _by_kept(rows: OperationQuerySet, is_kept: bool | None) -> OperationQuerySet:
    return rows.filter(is_kept__isnull=True) if is_kept is None else rows.filter(is_kept=is_kept)


def _narrow(rows: OperationQuerySet) -> OperationQuerySet:
    """What a row of the list needs; schemas, descriptions and the other document's bytes stay where they are."""
    return rows.select_related("duplicate_of__document__source").only(
        "code", "key", "name", "title", "method", "path", "effect", "effect_rule", "is_kept", "reasons", "position",
        "document", "duplicate_of__code", "duplicate_of__key", "duplicate_of__document__code",
        "duplicate_of__document__title", "duplicate_of__document__source__code",
    )  # fmt: skip


def reason_lines(operation: Operation) -> list[tuple[str, str]]:
    """Why it is left out: in a few words, and in a sentence."""
    return [(reason_words(code), REASONS.get(code, code)) for code in operation.reasons]


# --- Leak guard -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HitLine:
    """One hit.

    Attributes:
        hit: The row.
        rule: What is alike, in words.
        neighbours: Part of the document, part of the benchmark, and how alike they are.
        num_more: Neighbours that are not shown.
        embedder: Whose vectors were compared; empty if none were.
        decision: The one that overrules it.
    """

    hit: LeakHit
    rule: Any
    neighbours: Sequence[tuple[str, str, float]]
    num_more: int
    embedder: str
    decision: Decision | None


def hit_lines(document: SourceDocument) -> list[HitLine]:
    """The hits of the newest check, each with the decision that overrules it, if there is one."""
    every = list(
        LeakHit.objects.filter(
            subject_kind=DOCUMENT_KIND, subject_code=document.code, subject_sha256=document.sha256
        ).order_by("benchmark", "rule", "-id")
    )
    overruled = overruled_codes(hit.code for hit in every) if every else set()
    decisions = Decision.objects.filter(
        subject_kind=LEAK_HIT_KIND, subject_code__in=overruled, verdict=Verdict.APPROVE, superseded_by=None
    )
    by_code = {each.subject_code: each for each in decisions.select_related("actor")} if overruled else {}
    # An overruling holds for the same content, benchmark and rule, whatever version of the guard found it.
    standing = {(hit.benchmark, hit.rule): by_code[hit.code] for hit in every if hit.code in by_code}
    return [
        _hit_line(hit, standing.get((hit.benchmark, hit.rule)))
        for hit in every
        if hit.guard_version == document.guard_version
    ]


def _hit_line(hit: LeakHit, decision: Decision | None) -> HitLine:
    evidence = hit.evidence if isinstance(hit.evidence, dict) else {}
    neighbours = [(own, other, score) for own, other, score in evidence.get("neighbours", ())]
    return HitLine(
        hit=hit,
        rule=RULE_WORDS.get(hit.rule, hit.rule),
        neighbours=neighbours[:NUM_NEIGHBOURS_SHOWN],
        num_more=max(0, len(neighbours) - NUM_NEIGHBOURS_SHOWN),
        embedder=evidence.get("embedder") or "",
        decision=decision,
    )


# --- Provenance and terms ---------------------------------------------------------------------------------------------


def terms_context(document: SourceDocument, use: DocumentUse) -> dict[str, Any]:
    """Where it came from, what its terms are, what people decided, and its other readings."""
    decisions = Decision.objects.filter(subject_kind=DOCUMENT_KIND, subject_code=document.code)
    readings = document.source.documents.without_data()
    return {
        "licence_is_linked": is_web_address(document.licence_address),
        "has_related": SourceDocument.objects.filter(pk=document.pk, related__isnull=False).exists(),
        "decisions": [(each, _reasons(each)) for each in decisions.select_related("actor").order_by("-id")],
        "readings": readings.order_by("-id")[:NUM_READINGS_SHOWN],
        "can_allow": bool({"terms", "refused", "leak"} & set(use.obstacles)),
        "can_refuse": "refused" not in use.obstacles,
    }


def _reasons(decision: Decision) -> list[str]:
    """A decision's reasons as sentences: of a refusal, or of what an approval lets through."""
    known = OBSTACLES if decision.verdict == Verdict.APPROVE else services.REJECT_REASONS
    return [known.get(code, code) for code in decision.reason_codes]


def problems_context(document: SourceDocument) -> dict[str, Any]:
    """What could not be read, by place; an operation's own problems are on its page."""
    return {
        "problems": document.problems[:NUM_PROBLEMS_SHOWN],
        "num_problems_more": max(0, len(document.problems) - NUM_PROBLEMS_SHOWN),
    }
