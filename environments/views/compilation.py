"""Compilations: the list, one run with its ledger, and how a version was compiled."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from environments import jobs
from environments.core.access import Permission
from environments.core.errors import InvalidInputError
from environments.forms import CompileForm
from environments.models import Compilation, EnvironmentVersion
from environments.services.compilation_jobs import COMPILE_ENVIRONMENTS
from environments.views import compilation_page, registry_page
from environments.views.compilation_version import compiled_context, compiled_tool_context
from environments.web import HtmxHttpRequest, client_address, permission_required, redirect_after, render_page


@require_GET
def compilation_list(request: HtmxHttpRequest) -> HttpResponse:
    """Every compilation, newest first."""
    return _render_list(request)


def _render_list(request: HtmxHttpRequest, *, problem: str = "", status: int = 200) -> HttpResponse:
    context = {
        **compilation_page.list_context(request), "may_run": request.user.may(Permission.RUN_JOBS), "problem": problem,
    }  # fmt: skip
    return render_page(request, "environments/compilation_list.html", context, partial="compilations", status=status)


@require_POST
@permission_required(Permission.RUN_JOBS)
def compilation_start(request: HtmxHttpRequest) -> HttpResponse:
    """Starts to compile a provider, a collection, one document, or everything, and leads to the job's page."""
    form = CompileForm(request.POST)
    if not form.is_valid():
        words = "; ".join(f"{name}: {fault}" for name, faults in form.errors.items() for fault in faults)
        return _render_list(request, problem=words, status=422)
    given = form.cleaned_data
    parameters = {
        "provider": given["provider"],
        "collection": given["collection"],
        "documents": [str(given["document"])] if given["document"] else [],
        "target": given["target"] or 0,
    }
    try:
        job, _is_new = jobs.start_job(
            kind=COMPILE_ENVIRONMENTS.name, parameters=parameters, user=request.user, address=client_address(request)
        )
    except InvalidInputError as error:
        return _render_list(request, problem=str(error), status=422)
    if job.is_unsent:
        messages.warning(request, _("The job is saved, but the broker can't be reached. It starts by itself later."))
    return redirect_after(request, reverse("job_detail", args=[job.code]))


def _find(code: UUID) -> Compilation:
    return get_object_or_404(Compilation.objects.select_related("created_by", "job"), code=code)


@require_GET
def compilation_detail(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """One compilation: its funnel, reasons with examples, charts, and its environments."""
    compilation = _find(code)
    context = {
        **compilation_page.head_context(compilation),
        **compilation_page.detail_context(request, compilation),
        "section": "compilation_detail",
    }
    return render_page(request, "environments/compilation_detail.html", context, partial="environments")


@require_GET
def compilation_operations(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """Its ledger: what every operation came to."""
    compilation = _find(code)
    context = {
        **compilation_page.head_context(compilation),
        **compilation_page.operations_context(request, compilation),
        "section": "compilation_operations",
    }
    return render_page(request, "environments/compilation_operations.html", context, partial="operations")


# --- A version --------------------------------------------------------------------------------------------------------


def _version(name: str, number: int) -> EnvironmentVersion:
    versions = EnvironmentVersion.objects.select_related("environment", "created_by").without_content()
    return get_object_or_404(versions.with_approval(), environment__name=name, number=number)


@require_GET
def version_compiled(request: HtmxHttpRequest, name: str, number: int) -> HttpResponse:
    """What a compilation kept for the version, what it left, and why."""
    version = _version(name, number)
    context = {
        **registry_page.head_context(version, request.user),
        **compiled_context(request, version),
        "section": "version_compiled",
    }
    return render_page(request, "environments/version_compiled.html", context, partial="left_out")


@require_GET
def version_compiled_tool(request: HtmxHttpRequest, name: str, number: int, tool: str) -> HttpResponse:
    """The operation of the source beside the tool that was made of it."""
    version = _version(name, number)
    context = {
        **registry_page.head_context(version, request.user),
        **compiled_tool_context(version, tool),
        "section": "version_compiled_tool",
    }
    return render_page(request, "environments/version_compiled_tool.html", context)
