"""The replay of a session: step by step, its state at any step, and what would be if a call had been another one."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from environments import services
from environments.core.access import Permission
from environments.core.errors import (
    EnvFactoryError,
    InvalidInputError,
    PermissionDeniedError,
    QuotaExceededError,
    SandboxFailedError,
    StaleStateError,
)
from environments.core.timeline import START
from environments.forms import ReplayForm, WhatIfForm
from environments.models import EnvironmentSession
from environments.models.fields import exact_json
from environments.services.timelines import ReplayCheck
from environments.templatetags.replay import on_lines
from environments.views.replay_page import (
    PREVIEW_CHARACTERS,
    Replay,
    comparison_context,
    frame_context,
    read_replay,
    state_context,
    step_context,
)
from environments.web import HtmxHttpRequest, permission_required, redirect_after, render_page

TEMPLATE = "environments/session_detail.html"
STATUS_OF_ERROR: dict[type[EnvFactoryError], int] = {
    InvalidInputError: 422, StaleStateError: 409, QuotaExceededError: 429, SandboxFailedError: 503,
}  # fmt: skip
PLAIN_TEXT = "text/plain; charset=utf-8"


def own_session(request: HtmxHttpRequest, code: UUID) -> EnvironmentSession:
    """The person's own session.

    Raises:
        Http404: There is none of that code, or it is another's.
    """
    rows = EnvironmentSession.objects.for_user(request.user).for_list().select_related("forked_from")
    session = rows.defer("snapshot", "forked_from__snapshot").filter(code=code).first()
    if session is None:
        raise Http404("There is no such session.")
    return session


def error_status(error: EnvFactoryError) -> int:
    """The status with which a page tells of an error."""
    return next((status for kind, status in STATUS_OF_ERROR.items() if isinstance(error, kind)), 400)


@require_GET
def session_detail(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """A session at the first step that the filters let through, or on to the step that the form names."""
    replay = read_replay(request, own_session(request, code))
    form = ReplayForm(request.GET)
    form.is_valid()
    wanted = form.cleaned_data.get("step")
    if wanted is not None and replay.episode.num_calls:
        return HttpResponseRedirect(replay.step_url(min(wanted, replay.episode.num_calls - 1)))
    index = replay.listed.values_list("index", flat=True).first()
    return _render_step(request, replay, index, partial="session_replay")


@require_GET
def session_step(request: HtmxHttpRequest, code: UUID, index: int) -> HttpResponse:
    """One step: the call, what it returned, changed, read and wrote."""
    return _render_step(request, read_replay(request, own_session(request, code)), index)


@require_GET
def session_result(request: HtmxHttpRequest, code: UUID, index: int) -> HttpResponse:
    """One step with more of its result."""
    form = ReplayForm(request.GET)
    form.is_valid()
    shown = form.cleaned_data.get("shown") or PREVIEW_CHARACTERS
    replay = read_replay(request, own_session(request, code))
    return _render_step(request, replay, index, shown=shown, partial="session_result")


@require_GET
def session_raw(request: HtmxHttpRequest, code: UUID, index: int) -> HttpResponse:
    """A result, byte for byte, as plain text."""
    replay = read_replay(request, own_session(request, code))
    text = replay.calls.filter(index=index).values_list("observation", flat=True).first()
    if text is None:
        raise Http404("The episode has no such step.")
    response = HttpResponse(text, content_type=PLAIN_TEXT, headers={"X-Content-Type-Options": "nosniff"})
    if "download" in request.GET:
        response["Content-Disposition"] = f'attachment; filename="{str(code)[:8]}-step-{index}.json"'
    return response


def _render_step(
    request: HtmxHttpRequest,
    replay: Replay,
    index: int | None,
    *,
    shown: int = PREVIEW_CHARACTERS,
    partial: str = "session_view",
    form: WhatIfForm | None = None,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    if index is not None and index >= replay.episode.num_calls:
        raise Http404("The episode has no such step.")
    context: dict[str, Any] = {
        **frame_context(request, replay, at=index if index is not None else START),
        "view": "step",
        "view_template": "environments/_session_step.html",
        "problem": problem,
    }
    if index is not None:
        context |= step_context(replay, index, shown=shown)
        context["form"] = form or WhatIfForm(
            initial={
                "episode": replay.episode.number,
                "index": index,
                "arguments": on_lines(exact_json(context["call"].arguments)),
            }
        )
    return render_page(request, TEMPLATE, context, partial=partial, status=status)


@require_GET
def session_state(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """The state after a step."""
    replay = read_replay(request, own_session(request, code))
    form = ReplayForm(request.GET)
    form.is_valid()
    at = _step_asked_for(replay, form.cleaned_data.get("at"))
    context = {
        **frame_context(request, replay, at=at),
        "view": "state",
        "view_template": "environments/_session_state.html",
    }
    return _render_worked(
        request, context, lambda: state_context(replay, services.episode_timeline(episode=replay.episode), at, form)
    )


def _step_asked_for(replay: Replay, text: str | None) -> int:
    """The step in the address; the last one if it names none that there is."""
    last = replay.episode.num_calls - 1
    if text == "start":
        return START
    try:
        return min(max(int(text or last), START), last)
    except ValueError:
        return last


def _render_worked(
    request: HtmxHttpRequest, context: dict[str, Any], make: Callable[[], dict[str, Any]]
) -> HttpResponse:
    """A page whose content needs the worker; without it the page says why, and the frame stays."""
    status = 200
    try:
        context |= make()
    except EnvFactoryError as error:
        status = error_status(error)
        context["problem"] = str(error)
    return render_page(request, TEMPLATE, context, partial="session_view", status=status)


@require_GET
def session_comparison(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """A fork beside the record that it came from."""
    replay = read_replay(request, own_session(request, code))
    comparison = services.compare_with_record(episode=replay.episode)
    if comparison is None:
        raise Http404("The session is no fork of another.")
    context = {
        **frame_context(request, replay, at=comparison.first),
        "view": "comparison",
        "view_template": "environments/_session_comparison.html",
    }
    return _render_worked(request, context, lambda: comparison_context(replay, comparison))


@require_POST
@permission_required(Permission.OPEN_SESSIONS)
def session_replay_check(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """Plays the record again in a forked child and says whether every byte is the same."""
    replay = read_replay(request, own_session(request, code))
    index = replay.listed.values_list("index", flat=True).first()
    check: ReplayCheck | None = None
    problem, status = "", 200
    try:
        check = services.check_replay(episode=replay.episode)
    except EnvFactoryError as error:
        problem, status = str(error), error_status(error)
    context: dict[str, Any] = {
        **frame_context(request, replay, at=index if index is not None else START),
        "view": "step",
        "view_template": "environments/_session_step.html",
        "check": check,
        "check_problem": problem,
        "difference_url": replay.step_url(check.difference.index) if check and check.difference else "",
    }
    if index is not None:
        context |= step_context(replay, index)
    return render_page(request, TEMPLATE, context, partial="replay_check", status=status)


@require_POST
@permission_required(Permission.OPEN_SESSIONS)
def session_what_if(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """Makes a recorded call with other arguments in a fork, and leads to the fork."""
    session = own_session(request, code)
    form = WhatIfForm(request.POST)
    form.is_valid()
    episode = services.find_episode(session=session, number=form.cleaned_data.get("episode"))
    index = form.cleaned_data.get("index")
    if episode is None or index is None or index >= episode.num_calls:
        raise Http404("The episode has no such step.")
    replay = Replay(episode, "", failed=False)
    if not form.is_valid():
        return _render_step(request, replay, index, form=form, status=422)
    try:
        fork = services.try_what_if(
            episode=episode,
            user=request.user,
            index=index,
            arguments=form.cleaned_data["arguments"],
            goes_on=form.cleaned_data["goes_on"],
        )
    except PermissionDeniedError as error:
        raise PermissionDenied(str(error)) from error
    except InvalidInputError as error:
        form.show_faults(error.fields)
        return _render_step(request, replay, index, form=form, status=422)
    except EnvFactoryError as error:
        return _render_step(request, replay, index, form=form, problem=str(error), status=error_status(error))
    messages.success(request, _("Played in a fork; the record is as it was."))
    return redirect_after(request, reverse("session_step", args=[fork.code, index]))
