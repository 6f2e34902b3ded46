"""What the page of one tool shows, made from the rows: interface, conditions, code, record, a call that was tried."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from environments import services
from environments.core.access import Permission
from environments.core.errors import EnvFactoryError, SandboxFailedError
from environments.core.schema_form import ABSENT, build_form, focused, json_text, messages_by_field, schema_rows
from environments.core.source_text import function_text
from environments.models import CaseResult, EnvironmentSession, EnvironmentVersion, Scenario, Tool, ToolCall
from environments.runtime.records import Evaluated
from environments.web import HtmxHttpRequest

NUM_SESSIONS_OFFERED = 10
NUM_CASES_SHOWN = 50
PREVIEW_CHARACTERS = 4000
"""Of an observation, before the rest is folded."""

Session = EnvironmentSession


# --- The tool itself --------------------------------------------------------------------------------------------------


def find_tool(name: str, number: int, tool: str) -> Tool:
    """The tool of that version, with the version."""
    versions = EnvironmentVersion.objects.select_related("environment").without_content()
    version = get_object_or_404(versions, environment__name=name, number=number)
    found = get_object_or_404(Tool, version=version, name=tool)
    found.version = version
    return found


def tool_context(request: HtmxHttpRequest, tool: Tool) -> dict[str, Any]:
    """Everything on the page but the call to try."""
    version = tool.version
    source: str = EnvironmentVersion.objects.values_list("tools_py", flat=True).get(pk=version.pk)
    run = version.runs.order_by("-number").defer("findings").first()
    cases = list(version.cases.filter(tool=tool.name).order_by("position")[:NUM_CASES_SHOWN])
    results = CaseResult.objects.filter(run=run, case__in=cases) if run is not None else CaseResult.objects.none()
    by_case = {result.case_id: result for result in results}
    return {
        "environment": version.environment,
        "version": version,
        "tool": tool,
        "arguments": schema_rows(tool.input_schema),
        "results": schema_rows(tool.output_schema),
        "source": function_text(source, tool.name),
        "run": run,
        "effects": run.effects.get(tool.name) if run is not None else None,
        "cases": [(case, by_case.get(case.pk)) for case in cases],
        "num_cases": version.cases.filter(tool=tool.name).count(),
        "may_try": version.is_usable and request.user.may(Permission.OPEN_SESSIONS),
        "may_open_sessions": request.user.may(Permission.OPEN_SESSIONS),
    }


# --- The call to try --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Attempt:
    """What stands in the form.

    Attributes:
        value: The arguments; perhaps with parts that are absent or no JSON.
        raw: The text to edit instead of fields; None for fields.
        scenario: Where a new session would start.
        seed: As typed.
        session: The session that goes on instead.
        case: The case that the arguments are of; its earlier calls are made first.
        details: Pointer and message of what is wrong.
        problem: What is wrong with the whole.
        focus: Pointer of the field, or of what holds the field, that the cursor goes to.
    """

    value: Any = ABSENT
    raw: str | None = None
    scenario: str = ""
    seed: str = ""
    session: Session | None = None
    case: str = ""
    details: Sequence[tuple[str, str]] = ()
    problem: str = ""
    focus: str = ""


def attempt_context(tool: Tool, attempt: Attempt, user: Any) -> dict[str, Any]:
    """The form and what it can be filled from."""
    form = build_form(tool.input_schema, attempt.value)
    messages = messages_by_field(form, attempt.details, needed=_("Required, but not given."))
    if attempt.raw is not None:
        messages = {"": tuple(f"{pointer} {message}".strip() for pointer, message in attempt.details)}
    version = tool.version
    scenarios = list(version.scenarios.order_by("position").values("name", "level", "num_rows", "seed"))
    examples = version.cases.filter(tool=tool.name, scenario__isnull=False).order_by("position")
    return {
        "attempt": attempt,
        "form": form,
        "field_messages": messages,
        "messages_of_all": messages.get("", ()),
        "focus": focused(form, attempt.focus or next((pointer for pointer in messages if pointer), "")),
        "session": attempt.session,
        "scenarios": scenarios,
        "scenario": attempt.scenario or _usual_scenario(scenarios),
        "open_sessions": _open_sessions(version, user, but=attempt.session),
        "examples": list(examples.values_list("name", "kind")[:NUM_CASES_SHOWN]),
        "earlier": _earlier(tool, attempt),
    }


def _usual_scenario(scenarios: Sequence[Mapping[str, Any]]) -> str:
    """A medium one, else the first: enough rows for a call to find something, few enough to read."""
    medium = [each["name"] for each in scenarios if each["level"] == Scenario.Level.MEDIUM]
    return next(iter([*medium, *(each["name"] for each in scenarios)]), "")


def _open_sessions(version: EnvironmentVersion, user: Any, *, but: Session | None) -> "QuerySet[Session]":
    rows = Session.objects.for_user(user).filter(version=version).exclude(status=Session.Status.CLOSED)
    others = rows.exclude(pk=but.pk) if but is not None else rows
    return others.for_list().order_by("-used_at", "-id")[:NUM_SESSIONS_OFFERED]


def _earlier(tool: Tool, attempt: Attempt) -> list[str]:
    """Names of the tools that the case calls first; they are called in a new session only."""
    if not attempt.case or attempt.session is not None:
        return []
    case = tool.version.cases.filter(name=attempt.case).first()
    if case is None:
        return []
    positions = [position for position, call in enumerate(case.calls) if call["tool"] == tool.name]
    return [call["tool"] for call in case.calls[: positions[-1]]] if positions else []


def first_attempt(request: HtmxHttpRequest, tool: Tool) -> Attempt:
    """What the address asks for: a session to go on in, a case's arguments, a scenario.

    Raises:
        Http404: There is no such session of this person.
    """
    session = named_session(request, tool, request.GET.get("session", ""))
    case = tool.version.cases.filter(name=request.GET.get("case", "")).first() if "case" in request.GET else None
    raw = "" if request.GET.get("input") == "raw" else None
    attempt = Attempt(raw=raw, scenario=request.GET.get("scenario", ""), session=session)
    if case is None:
        return attempt
    try:
        example = services.case_example(version=tool.version, case=case, tool=tool.name)
    except SandboxFailedError as error:
        return Attempt(raw=raw, session=session, problem=str(error))
    if example is None:
        problem = _("The case “%(case)s” can't be used here: it starts from rows of its own.") % {"case": case.name}
        return Attempt(raw=raw, session=session, problem=problem)
    value = dict(example.arguments)
    text = json_text(value, indent=2) if raw is not None else None
    return Attempt(value, text, example.scenario, session=session, case=case.name)


def named_session(request: HtmxHttpRequest, tool: Tool, code: str) -> Session | None:
    """The person's own session of the tool's version with that code; None if none is named.

    Raises:
        Http404: There is no such session of this person.
    """
    if not code:
        return None
    try:
        session = services.find_session(user=request.user, code=UUID(code))
    except ValueError:
        session = None
    if session is None or session.version_id != tool.version_id:
        raise Http404("You have no session with this code of this version.")
    return session


# --- The call that was tried ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConditionLine:
    """A condition of the tool and what it gave.

    Attributes:
        condition: As the pack has it: code, SQL, message, policy.
        state: `held`, `failed`, `not_reached`, or empty if it is not known.
        value: What its SQL gave.
        problem: Why it gave no value.
        decided: Whether it is the one that ended the call.
    """

    condition: Mapping[str, Any]
    state: str
    value: Any = None
    problem: str = ""
    decided: bool = False


def step_of(session: Session, tool: Tool, text: str) -> ToolCall | None:
    """The call of this tool at that index of the session's present episode."""
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        return None
    return session.transcript.filter(index=int(text), tool=tool.name).first()


def attempt_of(call: ToolCall, session: Session, *, as_json: bool) -> Attempt:
    """The form as it was for a call that was made, to be made again."""
    return Attempt(
        value=call.arguments,
        raw=json_text(call.arguments, indent=2) if as_json else None,
        scenario=session.scenario,
        session=session,
        details=list(invalid_details(call)),
    )


def invalid_details(call: ToolCall) -> Iterable[tuple[str, str]]:
    """Pointers and messages that the agent got with an invalid call."""
    if call.status != ToolCall.Status.INVALID:
        return
    for detail in json.loads(call.observation)["error"].get("details", ()):
        yield detail["pointer"], detail["message"]


def call_context(tool: Tool, session: Session, call: ToolCall) -> dict[str, Any]:
    """What the call gave, changed, read and wrote, and what each condition of the tool said of it."""
    episode = services.find_episode(session=session)
    explanation, problem = None, ""
    if episode is not None:
        try:
            explanation = services.explain_call(episode=episode, call=call)
        except EnvFactoryError as error:
            problem = str(error)
    found = explanation.found if explanation is not None else None
    reached = found is not None
    before = _lines(tool.preconditions, found.preconditions if found else (), reached=reached)
    after = _lines(tool.postconditions, found.postconditions if found else (), reached=reached)
    if call.status == ToolCall.Status.REJECTION:
        before = _decided(before)
    elif call.status == ToolCall.Status.FAILURE:
        after = _decided(after)
    pretty = json.dumps(json.loads(call.observation), indent=2, ensure_ascii=False)
    return {
        "call": call,
        "call_milliseconds": call.microseconds / 1000,
        "observation_pretty": pretty[:PREVIEW_CHARACTERS],
        "observation_rest": pretty[PREVIEW_CHARACTERS:],
        "observation_bytes": len(call.observation.encode("utf-8", "surrogatepass")),
        "before_lines": before,
        "after_lines": after,
        "captured": list(zip(tool.captures.items(), found.captures, strict=False)) if found else [],
        "explanation": explanation,
        "explanation_problem": problem,
        "columns": {
            "reads": _by_table(call.columns["reads"]),
            "writes": _by_table(call.columns["writes"]),
            "condition_reads": _by_table(call.columns["condition_reads"]),
        },
    }


def _lines(
    conditions: Sequence[Mapping[str, Any]], found: Sequence[Evaluated], *, reached: bool
) -> list[ConditionLine]:
    if not found:
        return [ConditionLine(condition, "not_reached" if reached else "") for condition in conditions]
    return [
        ConditionLine(condition, "held" if each.holds else "failed", each.value, each.problem)
        for condition, each in zip(conditions, found, strict=False)
    ]


def _decided(lines: Sequence[ConditionLine]) -> list[ConditionLine]:
    """The lines with the first failed one marked: conditions are judged in order."""
    first = next((position for position, line in enumerate(lines) if line.state == "failed"), None)
    return [
        ConditionLine(line.condition, line.state, line.value, line.problem, decided=position == first)
        for position, line in enumerate(lines)
    ]


def _by_table(columns: Iterable[Sequence[str]]) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for table, column in columns:
        found.setdefault(table, []).append(column)
    return sorted((table, sorted(names)) for table, names in found.items())
