"""Environments: the list, the import of a pack, and the pages of one version."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from environments import jobs, services
from environments.core.access import Permission
from environments.core.errors import (
    InvalidInputError,
    InvalidPackError,
    PermissionDeniedError,
    QuotaExceededError,
    StaleStateError,
)
from environments.forms import DecisionForm, ImportForm
from environments.models import Decision, Environment, EnvironmentVersion
from environments.runtime.faults import FAULT_KINDS
from environments.runtime.pack import zip_pack
from environments.views import registry_page
from environments.views.registry_list import list_context
from environments.web import HtmxHttpRequest, client_address, permission_required, redirect_after, render_page

FILES = {"schema.sql": "schema_sql", "tools.py": "tools_py"}
"""What of a pack is shown as text, and the column that holds it."""


@require_GET
def environment_list(request: HtmxHttpRequest) -> HttpResponse:
    """All environments by their newest version; facets, search, order and page are the address."""
    context = {**list_context(request), "may_import": request.user.may(Permission.RUN_JOBS)}
    return render_page(request, "environments/environment_list.html", context, partial="environments")


@require_http_methods(["GET", "POST"])
@permission_required(Permission.RUN_JOBS)
def environment_import(request: HtmxHttpRequest) -> HttpResponse:
    """Takes a pack in; what the host sees wrong with it is listed by place."""
    form = ImportForm(request.POST, request.FILES) if request.method == "POST" else ImportForm()
    if request.method != "POST":
        return _render_import(request, form)
    if not form.is_valid():
        return _render_import(request, form, status=422)
    try:
        imported = services.import_pack_file(
            data=form.cleaned_data["pack"].read(), user=request.user, address=client_address(request)
        )
    except InvalidPackError as error:
        return _render_import(request, form, error=error, status=422)
    if imported.is_new:
        messages.success(request, _("The pack is imported. It is in quarantine until verified."))
    else:
        messages.info(request, _("This content is here already; nothing was added."))
    return redirect_after(request, _version_url("version_detail", imported.version))


def _render_import(
    request: HtmxHttpRequest, form: ImportForm, *, error: InvalidPackError | None = None, status: int = 200
) -> HttpResponse:
    faults = []
    for fault in error.fields if error is not None else ():
        remedy = FAULT_KINDS[fault.code].remedy if fault.code in FAULT_KINDS else ""
        message = fault.detail.removesuffix(remedy).rstrip(" .")
        faults.append({"place": fault.pointer.lstrip("/"), "message": message, "remedy": remedy, "code": fault.code})
    context = {"form": form, "faults": faults, "shipped": services.shipped_packs()}
    return render_page(request, "environments/environment_import.html", context, status=status)


# --- One version ------------------------------------------------------------------------------------------------------


@require_GET
def environment_detail(request: HtmxHttpRequest, name: str) -> HttpResponse:
    """The newest version of an environment."""
    environment = get_object_or_404(Environment.objects.filter(latest_version__isnull=False), name=name)
    newest = environment.versions.order_by("-number").values_list("number", flat=True)[0]
    return _tools(request, _version(name, newest))


@require_GET
def version_detail(request: HtmxHttpRequest, name: str, number: int) -> HttpResponse:
    """A version with its tools, narrowed by effect and audience."""
    return _tools(request, _version(name, number))


def _tools(request: HtmxHttpRequest, version: EnvironmentVersion) -> HttpResponse:
    context = registry_page.tools_context(request, version)
    return _render(request, version, "version_detail", context, partial="tools")


@require_GET
def version_tables(request: HtmxHttpRequest, name: str, number: int) -> HttpResponse:
    """Its tables, with how many rows a scenario has of each."""
    version = _version(name, number)
    return _render(request, version, "version_tables", registry_page.tables_context(request, version), partial="tables")


@require_GET
def version_table(request: HtmxHttpRequest, name: str, number: int, table: str) -> HttpResponse:
    """One table: its columns, and its rows in a scenario."""
    version = _version(name, number)
    found = get_object_or_404(version.tables, name=table)
    return _render(
        request, version, "version_table", registry_page.table_context(request, version, found), partial="table_rows"
    )


@require_GET
def version_scenarios(request: HtmxHttpRequest, name: str, number: int) -> HttpResponse:
    """Its scenarios; a session starts from one."""
    version = _version(name, number)
    return _render_scenarios(request, version)


def _render_scenarios(
    request: HtmxHttpRequest, version: EnvironmentVersion, *, problem: str = "", status: int = 200
) -> HttpResponse:
    context = {**registry_page.scenarios_context(request, version), "problem": problem}
    return _render(request, version, "version_scenarios", context, partial="scenarios", status=status)


@require_POST
@permission_required(Permission.OPEN_SESSIONS)
def version_open_session(request: HtmxHttpRequest, name: str, number: int) -> HttpResponse:
    """Opens a session from a scenario and goes to its page."""
    version = _version(name, number)
    try:
        session = services.create_session(user=request.user, version=version, scenario=request.POST.get("scenario", ""))
    except InvalidInputError as error:
        return _render_scenarios(request, version, problem=str(error), status=422)
    except (StaleStateError, QuotaExceededError) as error:
        return _render_scenarios(request, version, problem=str(error), status=409)
    return redirect_after(request, reverse("session_detail", args=[session.code]))


@require_GET
def version_verification(request: HtmxHttpRequest, name: str, number: int) -> HttpResponse:
    """Its verification runs; follows the one that is at work."""
    return _render_verification(request, _version(name, number))


def _render_verification(
    request: HtmxHttpRequest, version: EnvironmentVersion, *, problem: str = "", status: int = 200
) -> HttpResponse:
    context = {**registry_page.verification_context(request, version), "problem": problem}
    return _render(request, version, "version_verification", context, partial="version_state", status=status)


@require_POST
@permission_required(Permission.RUN_JOBS)
def version_verify(request: HtmxHttpRequest, name: str, number: int) -> HttpResponse:
    """Starts a verification and goes where it can be followed."""
    version = _version(name, number)
    try:
        job = jobs.start_verification(version=version, user=request.user, address=client_address(request))
    except PermissionDeniedError as error:
        raise PermissionDenied(str(error)) from error
    except StaleStateError as error:
        return _render_verification(request, _version(name, number), problem=str(error), status=409)
    if job.is_unsent:
        messages.warning(request, _("The job is saved, but the broker can't be reached. It starts by itself later."))
    return redirect_after(request, _version_url("version_verification", version))


@require_http_methods(["GET", "POST"])
@permission_required(Permission.REVIEW)
def version_decide(request: HtmxHttpRequest, name: str, number: int) -> HttpResponse:
    """A person's verdict on the version: its form, and what it does."""
    version = _version(name, number)
    verdicts = registry_page.allowed_verdicts(version)
    if request.method != "POST":
        form = DecisionForm(verdicts, initial={"verdict": request.GET.get("verdict", "")})
        return _render(request, version, "version_decide", {"form": form})
    form = DecisionForm(verdicts, request.POST)
    if form.is_stale():
        problem = _("The version is %(status)s now, which does not allow that.") % {
            "status": version.get_status_display().lower()
        }
        return _render(request, version, "version_decide", {"form": form, "problem": problem}, status=409)
    if not form.is_valid():
        return _render(request, version, "version_decide", {"form": form}, status=422)
    try:
        decision = services.decide_version(version=version, user=request.user, **form.cleaned_data)
    except InvalidInputError as error:
        form.show_faults(error.fields)
        return _render(request, version, "version_decide", {"form": form}, status=422)
    except StaleStateError as error:
        context = {"form": form, "problem": str(error)}
        return _render(request, _version(name, number), "version_decide", context, status=409)
    done = {
        Decision.Verdict.APPROVE: _("%(version)s is approved."),
        Decision.Verdict.REJECT: _("%(version)s is rejected."),
        Decision.Verdict.RETIRE: _("%(version)s is retired."),
        Decision.Verdict.DISCARD: _("%(version)s is discarded; its rows stay in the registry."),
    }
    messages.success(request, done[Decision.Verdict(decision.verdict)] % {"version": version})
    return redirect_after(request, _version_url("version_history", version))


@require_GET
def version_history(request: HtmxHttpRequest, name: str, number: int) -> HttpResponse:
    """Who changed its status or decided on it, when and why."""
    version = _version(name, number)
    return _render(request, version, "version_history", registry_page.history_context(version))


@require_GET
def version_sources(request: HtmxHttpRequest, name: str, number: int) -> HttpResponse:
    """What it was made from and under which licence."""
    version = _version(name, number)
    return _render(request, version, "version_sources", registry_page.sources_context(version))


@require_GET
def version_code(request: HtmxHttpRequest, name: str, number: int, file: str) -> HttpResponse:
    """One of its source files as text."""
    if file not in FILES:
        raise Http404(f"A pack has no file {file!r} to show.")
    version = _version(name, number)
    text: str = EnvironmentVersion.objects.values_list(FILES[file], flat=True).get(pk=version.pk)
    num_lines = text.count("\n") + (not text.endswith("\n"))
    context = {"file": file, "files": FILES, "text": text, "numbers": range(1, num_lines + 1), "num_lines": num_lines}
    return _render(request, version, "version_code", context)


@require_GET
def version_pack(request: HtmxHttpRequest, name: str, number: int) -> HttpResponse:
    """The pack as a zip, the same bytes each time."""
    version = _version(name, number)
    response = HttpResponse(zip_pack(version.to_core()), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{name}-{number}.zip"'
    return response


def _version(name: str, number: int) -> EnvironmentVersion:
    versions = EnvironmentVersion.objects.select_related("environment", "created_by").without_content()
    return get_object_or_404(versions.with_approval(), environment__name=name, number=number)


def _version_url(page: str, version: EnvironmentVersion) -> str:
    return reverse(page, args=[version.environment.name, version.number])


def _render(
    request: HtmxHttpRequest,
    version: EnvironmentVersion,
    page: str,
    context: dict[str, Any],
    *,
    partial: str | None = None,
    status: int = 200,
) -> HttpResponse:
    shown = {**registry_page.head_context(version, request.user), **context, "section": page}
    return render_page(request, f"environments/{page}.html", shown, partial=partial, status=status)
