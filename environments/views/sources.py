"""Sources: the list with its funnel, the import, and the pages of one source and of one operation."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django import forms as django_forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from environments import jobs, services
from environments.core.access import Permission
from environments.core.errors import InvalidInputError, PermissionDeniedError, StaleStateError, UnreadableSourceError
from environments.core.sources.model import SourceKind
from environments.forms import (
    ReasonForm,
    RefusalForm,
    SourceAddressForm,
    SourceCollectionForm,
    SourceServerForm,
    SourceUploadForm,
)
from environments.models import DOCUMENT_KIND, LeakHit, Operation, SourceDocument
from environments.services.document_use import allow_document, refuse_document
from environments.services.leak_guard import overrule_hit
from environments.services.source_jobs import CLEAN_OPERATIONS, IMPORT_COLLECTION, IMPORT_SOURCE
from environments.services.sources import store_upload
from environments.views import sources_page
from environments.views.sources_list import NO_COLLECTION, list_context
from environments.views.sources_operation import operation_context
from environments.web import HtmxHttpRequest, client_address, permission_required, redirect_after, render_page

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@require_GET
def source_list(request: HtmxHttpRequest) -> HttpResponse:
    """All sources by their newest reading; facets, search, order and page are the address."""
    found = list_context(request)
    chosen = dict(found["kept_query"])
    # What is compiled is all that a provider and a collection have, so other filters offer nothing.
    can_compile = not found["words"] and chosen.keys() <= {"provider", "collection"} and bool(found["funnel"].kept)
    context = {
        **found,
        "may_run": request.user.may(Permission.RUN_JOBS),
        "can_compile": can_compile and chosen.get("collection") != NO_COLLECTION,
        "provider": chosen.get("provider", ""),
        "collection": chosen.get("collection", ""),
    }
    return render_page(request, "environments/source_list.html", context, partial="sources")


# --- Import -----------------------------------------------------------------------------------------------------------

WAYS: Mapping[str, Callable[..., django_forms.Form]] = {
    "address": SourceAddressForm,
    "upload": SourceUploadForm,
    "server": SourceServerForm,
    "collection": SourceCollectionForm,
}


@require_http_methods(["GET", "POST"])
@permission_required(Permission.RUN_JOBS)
def source_import(request: HtmxHttpRequest) -> HttpResponse:
    """Four ways in, each a form of its own; each starts a job and leads to its page."""
    way = request.POST.get("way", "")
    forms = {
        name: make(request.POST, files=request.FILES, auto_id=f"{name}_%s")
        if name == way
        else make(auto_id=f"{name}_%s")
        for name, make in WAYS.items()
    }
    if request.method != "POST":
        return _render_import(request, forms)
    if way not in forms or not forms[way].is_valid():
        return _render_import(request, forms, status=422)
    form = forms[way]
    try:
        kind, parameters = _job_of(request, way, form.cleaned_data)
        return _start(request, kind, parameters)
    except InvalidInputError as error:
        for fault in error.fields:
            name = fault.pointer.rpartition("/")[2]
            form.add_error(name if name in form.fields else next(iter(form.fields)), fault.detail)
    except UnreadableSourceError as error:
        form.add_error(next(iter(form.fields)), str(error))
    return _render_import(request, forms, status=422)


def _job_of(request: HtmxHttpRequest, way: str, found: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Kind and parameters of the job; an upload is stored first, as it comes only once.

    Raises:
        InvalidInputError: The file can't be taken.
        UnreadableSourceError: No reader knows its form.
    """
    kind = {"kind": found["kind"]} if found.get("kind") else {}
    if way == "upload":
        file = found["document"]
        document = store_upload(
            data=file.read(),
            name=file.name,
            media_type=file.content_type or "",
            kind=SourceKind(kind["kind"]) if kind else None,
            user=request.user,
        )
        return IMPORT_SOURCE.name, {"document": str(document.code)}
    if way == "collection":
        return IMPORT_COLLECTION.name, {name: found[name] for name in ("address", "name", "limit", "refresh")}
    if way == "server":
        return IMPORT_SOURCE.name, {"server": found["server"]}
    return IMPORT_SOURCE.name, {"address": found["address"], **kind}


def _render_import(
    request: HtmxHttpRequest, forms: Mapping[str, django_forms.Form], *, status: int = 200
) -> HttpResponse:
    faulty = next((form.fields[name] for form in forms.values() for name in form.errors if name in form.fields), None)
    if faulty is not None:
        faulty.widget.attrs["autofocus"] = True
    context = {
        "forms": forms,
        "servers": sorted(settings.MCP_STDIO_SERVERS),
        "shipped": services.shipped_documents(),
        "max_megabytes": settings.FETCH_MAX_MEGABYTES,
    }
    return render_page(request, "environments/source_import.html", context, status=status)


def _start(request: HtmxHttpRequest, kind: str, parameters: Mapping[str, Any]) -> HttpResponse:
    """Starts a job and leads to its page.

    Raises:
        InvalidInputError: The parameters are refused.
    """
    job, _is_new = jobs.start_job(kind=kind, parameters=parameters, user=request.user, address=client_address(request))
    if job.is_unsent:
        messages.warning(request, _("The job is saved, but the broker can't be reached. It starts by itself later."))
    return redirect_after(request, reverse("job_detail", args=[job.code]))


# --- One source -------------------------------------------------------------------------------------------------------


@require_GET
def source_detail(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """A source with its operations and its funnel."""
    document = sources_page.find_document(request, code)
    context = sources_page.operations_context(request, document)
    return _render(request, document, "source_detail", context, partial="operations")


@require_GET
def source_guard(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """What the leak guard found, with the nearest neighbours."""
    return _render(request, sources_page.find_document(request, code), "source_guard", {"form": ReasonForm()})


@require_POST
@permission_required(Permission.REVIEW)
def source_overrule(request: HtmxHttpRequest, code: UUID, hit: UUID) -> HttpResponse:
    """Records that a hit is an accident."""
    document = sources_page.find_document(request, code)
    form = ReasonForm(request.POST)
    found = get_object_or_404(LeakHit, subject_kind=DOCUMENT_KIND, subject_code=document.code, code=hit)
    context = {"form": form, "chosen_hit": hit}
    try:
        if form.is_valid():
            overrule_hit(hit=found, user=request.user, **form.cleaned_data)
            messages.success(request, _("The hit is overruled; it stays on the page with your reason."))
            return redirect_after(request, _url("source_guard", document))
    except StaleStateError as error:
        return _render(request, document, "source_guard", {**context, "problem": str(error)}, status=409)
    return _render(request, document, "source_guard", context, status=422)


@require_GET
def source_terms(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """Where it came from, its licence, and what people decided about it."""
    document = sources_page.find_document(request, code)
    return _render_terms(request, document, {"allow_form": _allow_form(), "refuse_form": _refuse_form()})


@require_POST
@permission_required(Permission.REVIEW)
def source_allow(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """Records that a person lets a document through in spite of what stands against it."""
    document = sources_page.find_document(request, code)
    form = _allow_form(request.POST)
    context = {"allow_form": form, "refuse_form": _refuse_form()}
    try:
        if form.is_valid():
            allow_document(document=document, user=request.user, **form.cleaned_data)
            messages.success(request, _("The document is allowed; your reason is kept with it."))
            return redirect_after(request, _url("source_terms", document))
    except StaleStateError as error:
        return _render_terms(request, document, {**context, "problem": str(error)}, status=409)
    return _render_terms(request, document, context, status=422)


@require_POST
@permission_required(Permission.REVIEW)
def source_refuse(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """Records that a person keeps a document out."""
    document = sources_page.find_document(request, code)
    form = _refuse_form(request.POST)
    context = {"allow_form": _allow_form(), "refuse_form": form}
    try:
        if form.is_valid():
            refuse_document(document=document, user=request.user, **form.cleaned_data)
            messages.success(request, _("The document is refused; nothing is made from it."))
            return redirect_after(request, _url("source_terms", document))
    except StaleStateError as error:
        return _render_terms(request, document, {**context, "problem": str(error)}, status=409)
    return _render_terms(request, document, context, status=422)


def _allow_form(data: Mapping[str, Any] | None = None) -> ReasonForm:
    return ReasonForm(data, auto_id="allow_%s")


def _refuse_form(data: Mapping[str, Any] | None = None) -> RefusalForm:
    return RefusalForm(data, auto_id="refuse_%s")


def _render_terms(
    request: HtmxHttpRequest, document: SourceDocument, context: Mapping[str, Any], *, status: int = 200
) -> HttpResponse:
    return _render(request, document, "source_terms", context, status=status)


@require_GET
def source_problems(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """What could not be read, by place."""
    document = sources_page.find_document(request, code)
    return _render(request, document, "source_problems", sources_page.problems_context(document))


@require_GET
def source_raw(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """The document's bytes as they came; an attachment of no known type, so that no browser shows or runs it."""
    document = sources_page.find_document(request, code)
    name = _UNSAFE.sub("-", document.address.partition("?")[0].rstrip("/").rpartition("/")[2]).strip("-.")[:100]
    response = HttpResponse(document.to_core().data, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{name or "document"}"'
    return response


@require_POST
@permission_required(Permission.RUN_JOBS)
def source_read(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """Reads the stored document again, or fetches the source anew."""
    document = sources_page.find_document(request, code)
    parameters = {"document": str(document.code)}
    if request.POST.get("from") == "origin":
        parameters = sources_page.fetch_parameters(document.source) or parameters
    return _start_or_say(request, document, IMPORT_SOURCE.name, parameters)


@require_POST
@permission_required(Permission.RUN_JOBS)
def source_clean(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """Cleans again all that the source is compared with: its collection, or everything."""
    document = sources_page.find_document(request, code)
    return _start_or_say(request, document, CLEAN_OPERATIONS.name, {"collection": document.source.collection})


def _start_or_say(
    request: HtmxHttpRequest, document: SourceDocument, kind: str, parameters: Mapping[str, Any]
) -> HttpResponse:
    try:
        return _start(request, kind, parameters)
    except PermissionDeniedError as error:
        raise PermissionDenied(str(error)) from error
    except InvalidInputError as error:
        context = {**sources_page.operations_context(request, document), "problem": str(error)}
        return _render(request, document, "source_detail", context, status=422)


@require_GET
def operation_detail(request: HtmxHttpRequest, code: UUID, operation: UUID) -> HttpResponse:
    """One operation: what it takes and gives, in whose words, and what cleaning says of it."""
    rows = Operation.objects.select_related("duplicate_of__document__source").defer(
        "duplicate_of__content", "duplicate_of__document__data", "duplicate_of__document__related"
    )
    row = get_object_or_404(rows, code=operation, document__source__code=code)
    document = SourceDocument.objects.select_related("source").defer("data", "related").get(pk=row.document_id)
    context = {
        "source": document.source,
        "document": document,
        "document_query": "" if document.source.latest_document_id == document.pk else f"?document={document.code}",
        **operation_context(request, document, row),
    }
    return render_page(request, "environments/operation_detail.html", context)


def _url(page: str, document: SourceDocument) -> str:
    source = document.source
    query = "" if source.latest_document_id == document.pk else f"?document={document.code}"
    return reverse(page, args=[source.code]) + query


def _render(
    request: HtmxHttpRequest,
    document: SourceDocument,
    page: str,
    context: Mapping[str, Any],
    *,
    partial: str | None = None,
    status: int = 200,
) -> HttpResponse:
    head = sources_page.head_context(document, request.user)
    shown = {**head, **context, "section": page}
    if page == "source_terms":
        shown |= sources_page.terms_context(document, head["use"])
    return render_page(request, f"environments/{page}.html", shown, partial=partial, status=status)
