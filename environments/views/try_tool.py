"""The page of one tool, and trying it: a form made of its schema, the call, and why it ended as it did."""

import re
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from environments import services
from environments.core.access import Permission
from environments.core.errors import (
    EnvFactoryError,
    InvalidInputError,
    QuotaExceededError,
    SandboxFailedError,
    StaleStateError,
)
from environments.core.schema_form import (
    Problem,
    Reading,
    Unread,
    changed_rows,
    json_text,
    parse_typed_json,
    read_form,
)
from environments.models import EnvironmentSession, Tool
from environments.runtime.session import Call
from environments.views import tool_page
from environments.views.tool_page import Attempt
from environments.web import HtmxHttpRequest, HttpResponseSeeOther, permission_required, render_page

SEED = re.compile(r"-?[0-9]{1,18}", re.ASCII)


@require_GET
def tool_detail(request: HtmxHttpRequest, name: str, number: int, tool: str) -> HttpResponse:
    """A tool with all that is known of it; `?session=` goes on in a session, `&step=` shows what a call there did."""
    found = tool_page.find_tool(name, number, tool)
    attempt = tool_page.first_attempt(request, found)
    call = None
    if attempt.session is not None:
        call = tool_page.step_of(attempt.session, found, request.GET.get("step", ""))
    if attempt.session is None or call is None:
        return _render(request, found, attempt)
    response = _render(
        request,
        found,
        tool_page.attempt_of(call, attempt.session, as_json=attempt.raw is not None),
        tool_page.call_context(found, attempt.session, call),
    )
    # After a call htmx is redirected here; the address bar shall say so, so that a reload shows the same.
    response["HX-Push-Url"] = request.get_full_path()
    return response


@require_POST
@permission_required(Permission.OPEN_SESSIONS)
def tool_try(request: HtmxHttpRequest, name: str, number: int, tool: str) -> HttpResponse:
    """Calls the tool in a session, or changes the form: rows come and go, fields become JSON and back."""
    found = tool_page.find_tool(name, number, tool)
    if not found.version.is_usable:
        return _render(request, found, Attempt(), status=409)
    attempt, reading = _typed(request, found)
    action = request.POST.get("action", "call")
    changed = changed_rows(reading.value, action)
    if changed is not None:
        return _render(request, found, replace(attempt, value=changed[0], focus=changed[1]))
    if action == "start_over" and attempt.session is not None:
        return _start_over(request, found, attempt, attempt.session)
    if reading.problems:
        details = [(problem.pointer, problem.message) for problem in reading.problems]
        return _render(request, found, replace(attempt, details=details), status=422)
    if action == "raw":
        return _render(request, found, replace(attempt, raw=json_text(reading.value, indent=2)))
    if action == "form":
        return _render(request, found, replace(attempt, raw=None))
    return _call(request, found, attempt)


def _typed(request: HtmxHttpRequest, tool: Tool) -> tuple[Attempt, Reading]:
    """What was typed, and what of it can't be read."""
    session = tool_page.named_session(request, tool, request.POST.get("session", ""))
    raw = request.POST.get("raw")
    typed = read_form(tool.input_schema, dict(request.POST.lists())) if raw is None else _read_raw(raw)
    reading = _checked(typed)
    attempt = Attempt(
        value=reading.value,
        raw=raw,
        scenario=request.POST.get("scenario", ""),
        seed=request.POST.get("seed", "").strip(),
        session=session,
        case=request.POST.get("case", ""),
    )
    return attempt, reading


def _read_raw(text: str) -> Reading:
    try:
        value = parse_typed_json(text) if text.strip() else {}
    except ValueError as error:
        return Reading(Unread(text), (Problem("", str(error)),))
    return Reading(value)


def _checked(reading: Reading) -> Reading:
    """The reading, with a problem if it is no object, which no call can have."""
    if reading.problems or isinstance(reading.value, dict):
        return reading
    return Reading(reading.value, (Problem("", _("The arguments are one JSON object, as {“name”: value}.")),))


def _call(request: HtmxHttpRequest, tool: Tool, attempt: Attempt) -> HttpResponse:
    call: Call = (tool.name, attempt.value)
    try:
        session, earlier = _session(request, tool, attempt)
        try:
            records = services.call_session(session=session, calls=[*earlier, call], audience=None)
        except EnvFactoryError:
            if attempt.session is None:
                services.close_session(session=session)
            raise
    except InvalidInputError as error:
        details = [(fault.pointer.removeprefix("/calls/0/arguments"), fault.detail) for fault in error.fields]
        return _render(request, tool, replace(attempt, details=details, problem=str(error)), status=422)
    except (StaleStateError, QuotaExceededError) as error:
        return _render(request, tool, replace(attempt, problem=str(error)), status=409)
    except SandboxFailedError as error:
        return _render(request, tool, replace(attempt, problem=str(error)), status=503)
    query = {"session": session.code, "step": records[-1].index}
    if attempt.raw is not None:
        query["input"] = "raw"
    return HttpResponseSeeOther(f"{_address(tool)}?{urlencode(query)}#try-it")


def _session(request: HtmxHttpRequest, tool: Tool, attempt: Attempt) -> tuple[EnvironmentSession, tuple[Call, ...]]:
    """The session to call in, a new one unless one is named, and the calls that a case makes first."""
    if attempt.session is not None:
        return attempt.session, ()
    earlier: tuple[Call, ...] = ()
    case = tool.version.cases.filter(name=attempt.case).first() if attempt.case else None
    if case is not None and tool.version.is_usable:
        example = services.case_example(version=tool.version, case=case, tool=tool.name)
        earlier = example.earlier if example is not None else ()
    session = services.create_session(
        user=request.user,
        version=tool.version,
        scenario=attempt.scenario,
        seed=_seed(attempt.seed),
        title=_("Try %(tool)s") % {"tool": tool.name},
    )
    return session, earlier


def _seed(text: str) -> int | None:
    if not text:
        return None
    if not SEED.fullmatch(text):
        raise InvalidInputError(_("The seed is a whole number of at most 18 digits; left empty, it is the scenario's."))
    return int(text)


def _start_over(request: HtmxHttpRequest, tool: Tool, attempt: Attempt, session: EnvironmentSession) -> HttpResponse:
    try:
        services.reset_session(session=session)
    except EnvFactoryError as error:
        return _render(request, tool, replace(attempt, problem=str(error)), status=409)
    messages.success(request, _("The session is back at the start of its scenario; its calls are kept in its replay."))
    session.refresh_from_db()
    return _render(request, tool, replace(attempt, session=session))


def _address(tool: Tool) -> str:
    return reverse("tool_detail", args=[tool.version.environment.name, tool.version.number, tool.name])


def _render(
    request: HtmxHttpRequest, tool: Tool, attempt: Attempt, more: dict[str, Any] | None = None, *, status: int = 200
) -> HttpResponse:
    may_try = tool.version.is_usable and request.user.may(Permission.OPEN_SESSIONS)
    context = {
        **tool_page.tool_context(request, tool),
        **(tool_page.attempt_context(tool, attempt, request.user) if may_try else {}),
        **(more or {}),
        "address": _address(tool),
    }
    return render_page(request, "environments/tool_detail.html", context, partial="try_it", status=status)
