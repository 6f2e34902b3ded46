"""Jobs: the list, the form that starts one, and the live page of one."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from environments import jobs
from environments.core.access import Permission
from environments.core.errors import InvalidInputError, PermissionDeniedError, StaleStateError
from environments.core.jobs import JobKind, job_kinds
from environments.core.schema_form import Unread, build_form, changed_rows, focused, messages_by_field, read_form
from environments.forms import UNFINISHED, JobFilterForm
from environments.models import Job, JobQuerySet, LatePaginator
from environments.views.job_page import curve_context, narrow, page_context
from environments.web import HtmxHttpRequest, client_address, permission_required, redirect_after, render_page

PAGE_SIZE = 50
NUM_RUNNING_SHOWN = 10
SORTS = {
    "-created": ("-id",),
    "created": ("id",),
    "kind": ("kind", "-id"),
    "-kind": ("-kind", "id"),
    "status": ("status", "-id"),
    "-status": ("-status", "id"),
}


@require_GET
def job_list(request: HtmxHttpRequest) -> HttpResponse:
    """All jobs, filtered and sorted by the address; the table refreshes itself while anything runs."""
    form = JobFilterForm(request.GET, kinds=job_kinds())
    form.is_valid()
    sort = request.GET.get("sort", "-created")
    rows = _filtered(form.cleaned_data, request).order_by(*SORTS.get(sort, SORTS["-created"]))
    page = LatePaginator(narrow(rows), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "form": form,
        "page": page,
        "sort": sort if sort in SORTS else "-created",
        "is_filtered": any(form.cleaned_data.values()),
        "is_live": Job.objects.unfinished().exists(),
        "parent": form.cleaned_data.get("parent"),
        "may_start": request.user.may(Permission.RUN_JOBS),
    }
    return render_page(request, "environments/job_list.html", context, partial="jobs")


def _filtered(wanted: dict[str, Any], request: HtmxHttpRequest) -> JobQuerySet:
    rows = Job.objects.all()
    if wanted.get("parent"):
        # By key, not by join: only then does the planner walk the rows in order instead of sorting them all.
        parent = Job.objects.filter(code=wanted["parent"]).values_list("pk", flat=True).first()
        rows = rows.filter(parent_id=parent or 0)
    elif not wanted.get("scope"):
        rows = rows.top_level()
    if wanted.get("status") == UNFINISHED:
        rows = rows.unfinished()
    elif wanted.get("status"):
        rows = rows.filter(status=wanted["status"])
    if wanted.get("kind"):
        rows = rows.filter(kind=wanted["kind"])
    if wanted.get("mine"):
        rows = rows.filter(created_by=request.user)
    return rows


@require_GET
def running_jobs(request: HtmxHttpRequest) -> HttpResponse:
    """The menu behind the count in the top bar."""
    rows = narrow(Job.objects.top_level().unfinished()).order_by("-id")[:NUM_RUNNING_SHOWN]
    return render_page(request, "environments/running_jobs.html", {"unfinished_jobs": rows}, partial="running_jobs")


@require_http_methods(["GET", "POST"])
@permission_required(Permission.RUN_JOBS)
def job_new(request: HtmxHttpRequest) -> HttpResponse:
    """Starts a job: its kind from the address, its parameters from the kind's schema."""
    kinds = [kind for kind in job_kinds() if kind.is_startable and request.user.may(kind.permission)]
    kind = _chosen_kind(request, kinds)
    if request.method == "POST" and kind is not None:
        return _start(request, kinds, kind)
    parameters = {} if kind is None else {**_defaults(kind), **_earlier_parameters(request, kind)}
    return _render_form(request, kinds, kind, parameters)


def _chosen_kind(request: HtmxHttpRequest, kinds: list[JobKind]) -> JobKind | None:
    name = request.POST.get("kind") or request.GET.get("kind")
    return next((kind for kind in kinds if kind.name == name), None)


def _earlier_parameters(request: HtmxHttpRequest, kind: JobKind) -> dict[str, Any]:
    """Parameters of the job that `?like=` names, to run it again."""
    try:
        code = UUID(request.GET.get("like", ""))
    except ValueError:
        return {}
    job = Job.objects.filter(code=code, kind=kind.name).first()
    return job.parameters if job else {}


def _defaults(kind: JobKind) -> dict[str, Any]:
    """What the kind's schema says of parameters that are left out, to be seen and changed."""
    properties = kind.parameters.get("properties", {})
    return {name: schema["default"] for name, schema in properties.items() if "default" in schema}


def _start(request: HtmxHttpRequest, kinds: list[JobKind], kind: JobKind) -> HttpResponse:
    reading = read_form(kind.parameters, dict(request.POST.lists()))
    changed = changed_rows(reading.value, request.POST.get("action", ""))
    if changed is not None:
        return _render_form(request, kinds, kind, changed[0], focus=changed[1])
    if reading.problems:
        faults = [(problem.pointer, problem.message) for problem in reading.problems]
        return _render_form(request, kinds, kind, reading.value, faults, status=422)
    try:
        job, _is_new = jobs.start_job(
            kind=kind.name,
            parameters=reading.value,
            user=request.user,
            address=client_address(request),
        )
    except InvalidInputError as error:
        faults = [(fault.pointer.removeprefix("/parameters"), fault.detail) for fault in error.fields]
        return _render_form(request, kinds, kind, reading.value, faults, status=422)
    if job.is_unsent:
        messages.warning(request, _("The job is saved, but the broker can't be reached. It starts by itself later."))
    return redirect_after(request, reverse("job_detail", args=[job.code]))


def _render_form(
    request: HtmxHttpRequest,
    kinds: list[JobKind],
    kind: JobKind | None,
    parameters: dict[str, Any] | Unread,
    faults: Iterable[tuple[str, str]] = (),
    *,
    focus: str = "",
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {"kinds": kinds, "kind": kind}
    if kind is not None:
        form = build_form(kind.parameters, parameters)
        found = messages_by_field(form, faults, needed=_("Required, but not given."))
        context |= {"form": form, "field_messages": found, "messages_of_all": found.get("", ())}
        context["focus"] = focused(form, focus or next((pointer for pointer in found if pointer), ""))
    return render_page(request, "environments/job_form.html", context, partial="job_parameters", status=status)


@require_GET
def job_detail(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """One job, live while it is not final."""
    return _render_job(request, _job(code))


@require_POST
def job_cancel(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """Asks a job and its parts to stop."""
    return _change(request, code, jobs.cancel_job, _("The job stops at its next step; what is done is kept."))


@require_POST
def job_retry(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """Queues a failed or cancelled job again."""
    return _change(request, code, jobs.retry_job, _("The job is queued again; what had finished is kept."))


def _change(request: HtmxHttpRequest, code: UUID, change: Any, done: str) -> HttpResponse:
    job = _job(code)
    try:
        change(job=job, user=request.user, address=client_address(request))
    except PermissionDeniedError as error:
        raise PermissionDenied(str(error)) from error
    except StaleStateError as error:
        job.refresh_from_db()
        return _render_job(request, job, problem=str(error), status=409)
    messages.success(request, done)
    return redirect_after(request, reverse("job_detail", args=[code]))


@require_GET
def job_log(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """The end of the job's log, for a page whose event stream fails."""
    job = _job(code)
    return render_page(request, "environments/job_detail.html", page_context(request, job), partial="job_log")


@require_GET
def job_curve(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """Finished units over time in the present stage, as a chart with its table."""
    job = _job(code)
    context = {"job": job, **curve_context(job)}
    return render_page(request, "environments/job_curve.html", context, partial="job_curve")


def _job(code: UUID) -> Job:
    return get_object_or_404(Job.objects.select_related("created_by", "parent"), code=code)


def _render_job(request: HtmxHttpRequest, job: Job, *, problem: str = "", status: int = 200) -> HttpResponse:
    context = {**page_context(request, job), "problem": problem}
    return render_page(request, "environments/job_detail.html", context, partial="job_state", status=status)
