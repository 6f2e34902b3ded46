"""What the pages of one environment version show, made from the rows: its head, tools, tables, record and history."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from environments import services
from environments.core.access import Permission
from environments.core.errors import NotVerifiedError, SandboxFailedError
from environments.models import (
    VERSION_KIND,
    CaseResult,
    Decision,
    EnvironmentVersion,
    Job,
    Scenario,
    StatusChange,
    Table,
    Tool,
    User,
    VerificationRun,
)
from environments.runtime.tables import ColumnInfo, TableInfo
from environments.views.facets import FacetKind, make_facets
from environments.web import HtmxHttpRequest

NUM_VERSIONS_SHOWN = 6
NUM_SCENARIOS_SHOWN = 50
NUM_ROWS_SHOWN = 50
NUM_RUNS_SHOWN = 20
NUM_FINDINGS_SHOWN = 200
NUM_FAILED_CASES_SHOWN = 100
RUN_DETAILS: Final = ("findings", "effects", "figures", "warnings", "tool_tables", "dropped")
"""Columns of a run that only the page of the run itself reads."""

Status = EnvironmentVersion.Status
Verdict = Decision.Verdict

TOOL_FACETS = (
    FacetKind("effect", gettext_lazy("Effect"), dict(Tool.Effect.choices)),
    FacetKind("audience", gettext_lazy("Audience"), dict(Tool.Audience.choices)),
)

# --- The head, the same on every page of the version ------------------------------------------------------------------


def head_context(version: EnvironmentVersion, user: User) -> dict[str, Any]:
    """Title, state, facts and what the person may do."""
    may_verify = version.status == Status.VERIFIED or version.may_become(Status.VERIFIED)
    last_change = version.history.select_related("actor", "decision").first()
    numbers = list(version.environment.versions.order_by("-number").values_list("number", "status"))
    return {
        "version": version,
        "environment": version.environment,
        "versions": [(number, Status(status).label) for number, status in numbers[:NUM_VERSIONS_SHOWN]],
        "num_versions": len(numbers),
        "is_newest": numbers[0][0] == version.number,
        "newest_number": numbers[0][0],
        "run": version.runs.order_by("-number").defer(*RUN_DETAILS).first(),
        "running_job": verification_jobs(version).unfinished().first(),
        "is_quarantined": version.status in {Status.DRAFT, Status.REJECTED},
        "last_change": last_change,
        "last_reasons": reasons_of(last_change.decision if last_change else None),
        "may_verify": may_verify and user.may(Permission.RUN_JOBS),
        "may_approve": may_decide(user) and version.is_usable and _approval(version) != Verdict.APPROVE,
        "may_decide": may_decide(user) and bool(allowed_verdicts(version)),
        "may_open": version.is_usable and user.may(Permission.OPEN_SESSIONS),
        "is_approved": version.is_usable and _approval(version) == Verdict.APPROVE,
    }


def _approval(version: EnvironmentVersion) -> str | None:
    approval: str | None = getattr(version, "approval", None)
    return approval


def may_decide(user: User) -> bool:
    """Whether the person may judge versions."""
    return user.may(Permission.REVIEW)


def allowed_verdicts(version: EnvironmentVersion) -> list[Verdict]:
    """What a person may decide about a version in its present state."""
    verdicts = [Verdict.APPROVE] if version.is_usable else []
    moves = {Verdict.REJECT: Status.REJECTED, Verdict.RETIRE: Status.RETIRED, Verdict.DISCARD: Status.DISCARDED}
    return verdicts + [verdict for verdict, status in moves.items() if version.may_become(status)]


def verification_jobs(version: EnvironmentVersion) -> Any:
    """The jobs that verify or verified it, newest first, without what is heavy."""
    jobs = Job.objects.filter(kind=services.VERIFY_ENVIRONMENT.name, parameters={"version": str(version.code)})
    return jobs.order_by("-id").defer("result", "manifest")


# --- Tools ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolLine:
    """One tool as a row.

    Attributes:
        tool: The tool.
        arguments: Name, and whether it must be given.
        num_cases: How many cases test it.
        num_held: How many of them held in the newest run; None where no case of it was run.
    """

    tool: Tool
    arguments: Sequence[tuple[str, bool]]
    num_cases: int
    num_held: int | None


def tools_context(request: HtmxHttpRequest, version: EnvironmentVersion) -> dict[str, Any]:
    """The tools, narrowed by effect and audience."""
    tools = list(Tool.objects.for_version(version).defer("output_schema", "captures", "origin"))
    wanted = {kind.name: request.GET.get(kind.name, "") for kind in TOOL_FACETS}
    facets, num_left = make_facets(
        TOOL_FACETS,
        Counter((tool.effect, tool.audience) for tool in tools).items(),
        wanted,
        request.GET,
        any_label=_("Any"),
    )
    run = version.runs.order_by("-number").defer(*RUN_DETAILS).first()
    num_cases = Counter(version.cases.values_list("tool", flat=True))
    held = held_by_tool(run)
    shown = [tool for tool in tools if all(not value or getattr(tool, name) == value for name, value in wanted.items())]
    return {
        "facets": facets,
        "num_left": num_left,
        "num_all": len(tools),
        "lines": [
            ToolLine(tool, arguments_of(tool), num_cases[tool.name], held[tool.name][0] if tool.name in held else None)
            for tool in shown
        ],
    }


def arguments_of(tool: Tool) -> list[tuple[str, bool]]:
    """Names of its arguments, each with whether it must be given; what must comes first."""
    required = set(tool.input_schema.get("required", ()))
    names = [(name, name in required) for name in tool.input_schema.get("properties", {})]
    return sorted(names, key=lambda each: not each[1])


def held_by_tool(run: VerificationRun | None) -> dict[str, tuple[int, int]]:
    """By tool, how many of its cases held in the run and how many were played."""
    if run is None:
        return {}
    results = CaseResult.objects.filter(run=run).order_by().values_list("case__tool", "holds")
    played = Counter(results)
    tools = {tool for tool, _holds in played}
    return {tool: (played[tool, True], played[tool, True] + played[tool, False]) for tool in tools}


# --- Tables and scenarios ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableLine:
    """One table as a row."""

    table: Table
    info: TableInfo | None
    num_rows: int


@dataclass(frozen=True, slots=True)
class ColumnLine:
    """One column: what the pack says of it, and what the worker found.

    Attributes:
        name: Its name.
        meaning: Class, generated, format and description of the pack.
        info: Type and null; None while nothing may load the pack.
        is_key: Whether it belongs to the primary key.
        is_unique: Whether a UNIQUE constraint names it.
        refers_to: Table and column that it points to, None for a plain one.
    """

    name: str
    meaning: Mapping[str, Any]
    info: ColumnInfo | None
    is_key: bool
    is_unique: bool
    refers_to: tuple[str, str] | None


def tables_context(request: HtmxHttpRequest, version: EnvironmentVersion) -> dict[str, Any]:
    """The tables, with how many rows each has in the chosen scenario."""
    scenarios, scenario = chosen_scenario(request, version)
    described, problem = described_tables(version)
    counts = row_counts(scenario)
    return {
        "scenarios": scenarios,
        "scenario": scenario,
        "described_problem": problem,
        "lines": [
            TableLine(table, described.get(table.name), counts.get(table.name, 0))
            for table in version.tables.order_by("position")
        ],
    }


def table_context(request: HtmxHttpRequest, version: EnvironmentVersion, table: Table) -> dict[str, Any]:
    """One table's columns, and a page of its rows in the chosen scenario."""
    scenarios, scenario = chosen_scenario(request, version)
    described, problem = described_tables(version)
    info = described.get(table.name)
    rows = _rows(scenario, table.name)
    page = Paginator(rows, NUM_ROWS_SHOWN).get_page(request.GET.get("page"))
    columns = [*(column.name for column in info.columns)] if info else list(table.columns)
    return {
        "table": table,
        "info": info,
        "scenarios": scenarios,
        "scenario": scenario,
        "described_problem": problem,
        "columns": [_column_line(name, table.columns.get(name, {}), info) for name in columns],
        "page": page,
        "column_names": columns,
        "cells": [[row.get(name) for name in columns] for row in page.object_list],
    }


def described_tables(version: EnvironmentVersion) -> tuple[dict[str, TableInfo], str]:
    """The worker's description by table, and why there is none."""
    try:
        return {table.name: table for table in services.describe_tables(version=version)}, ""
    except NotVerifiedError:
        return {}, _("Types, keys and references are read by a worker once the version is verified.")
    except SandboxFailedError as error:
        return {}, _("Types, keys and references can't be read now: %(error)s") % {"error": error}


def chosen_scenario(request: HtmxHttpRequest, version: EnvironmentVersion) -> tuple[list[Scenario], Scenario | None]:
    """All scenarios without their rows, and the one that the address names, else the first."""
    scenarios = list(version.scenarios.order_by("position").defer("rows"))
    name = request.GET.get("scenario")
    chosen = next((each for each in scenarios if each.name == name), scenarios[0] if scenarios else None)
    return scenarios, chosen


def row_counts(scenario: Scenario | None) -> dict[str, int]:
    """By table, how many rows the scenario has."""
    if scenario is None:
        return {}
    rows: QuerySet[Any] = Scenario.objects.filter(pk=scenario.pk).with_row_counts()
    return rows.values_list("row_counts", flat=True).get() or {}


def _rows(scenario: Scenario | None, table: str) -> list[Mapping[str, Any]]:
    if scenario is None:
        return []
    rows: Mapping[str, list[Mapping[str, Any]]] = Scenario.objects.values_list("rows", flat=True).get(pk=scenario.pk)
    return rows.get(table, [])


def _column_line(name: str, meaning: Mapping[str, Any], info: TableInfo | None) -> ColumnLine:
    if info is None:
        return ColumnLine(name, meaning, None, is_key=False, is_unique=False, refers_to=None)
    pairs = (
        (key.table, target)
        for key in info.foreign_keys
        for column, target in zip(key.columns, key.targets, strict=True)
        if column == name
    )
    return ColumnLine(
        name,
        meaning,
        info.column(name),
        is_key=name in info.primary_key,
        is_unique=any(name in columns for columns in info.unique),
        refers_to=next(pairs, None),
    )


def scenarios_context(request: HtmxHttpRequest, version: EnvironmentVersion) -> dict[str, Any]:
    """A page of scenarios, each with its rows by table."""
    rows: QuerySet[Any] = version.scenarios.order_by("position").with_row_counts().defer("rows")
    page = Paginator(rows, NUM_SCENARIOS_SHOWN).get_page(request.GET.get("page"))
    return {
        "page": page,
        "lines": [
            (scenario, [(table, num) for table, num in sorted((scenario.row_counts or {}).items()) if num])
            for scenario in page.object_list
        ],
    }


# --- Verification -----------------------------------------------------------------------------------------------------


RATE_TITLES: Final = {
    "interface": gettext_lazy("Interface agreement"),
    "execution": gettext_lazy("Tool execution"),
    "transition": gettext_lazy("State transition"),
}


@dataclass(frozen=True, slots=True)
class RecordLine:
    """What one run says of one tool."""

    tool: str
    num_held: int
    num_cases: int
    effects: Mapping[str, bool] | None
    figures: Mapping[str, int] | None = None
    tables: Mapping[str, Sequence[str]] | None = None


def verification_context(request: HtmxHttpRequest, version: EnvironmentVersion) -> dict[str, Any]:
    """The chosen run in full, the other runs, and the job that is at work or came to nothing."""
    runs = list(version.runs.select_related("job").defer(
        *RUN_DETAILS, "job__result", "job__manifest", "job__parameters"
    )[: NUM_RUNS_SHOWN + 1])  # fmt: skip
    shown = _chosen_run(request, version, runs)
    job = verification_jobs(version).first()
    stands_for_last_run = job is not None and any(run.job_id == job.pk for run in runs)
    return {
        "runs": runs[:NUM_RUNS_SHOWN],
        "has_more_runs": len(runs) > NUM_RUNS_SHOWN,
        "shown_run": shown,
        "lost_job": job if job is not None and job.is_final and not stands_for_last_run else None,
        **(_run_context(shown) if shown is not None else {}),
    }


def _chosen_run(
    request: HtmxHttpRequest, version: EnvironmentVersion, runs: Sequence[VerificationRun]
) -> VerificationRun | None:
    number = request.GET.get("run", "")
    wanted = version.runs.filter(number=int(number)) if number.isdecimal() and len(number) < 9 else None
    found = wanted.first() if wanted is not None else None
    return found or (version.runs.get(pk=runs[0].pk) if runs else None)


def _run_context(run: VerificationRun) -> dict[str, Any]:
    held = held_by_tool(run)
    names = list(dict.fromkeys([*run.effects, *run.figures, *held]))
    lines = [
        RecordLine(
            name, *held.get(name, (0, 0)), run.effects.get(name), run.figures.get(name), run.tool_tables.get(name)
        )
        for name in names
    ]
    failed = CaseResult.objects.filter(run=run, holds=False).select_related("case").only(
        "problems", "case__name", "case__tool", "case__kind"
    ).order_by("case__position")  # fmt: skip
    return {
        "rates": [(RATE_TITLES[name], rate) for name, rate in run.rates.items() if name in RATE_TITLES],
        "record_lines": sorted(lines, key=lambda line: line.num_held == line.num_cases),
        "failed_cases": failed[:NUM_FAILED_CASES_SHOWN],
        "num_failed_cases": run.num_cases - run.num_cases_held,
        "findings": _grouped(run.findings[:NUM_FINDINGS_SHOWN]),
        "num_findings": len(run.findings),
        "num_findings_shown": min(len(run.findings), NUM_FINDINGS_SHOWN),
    }


def _grouped(findings: Iterable[Mapping[str, Any]]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for finding in findings:
        groups.setdefault(str(finding["check"]), []).append(finding)
    return list(groups.items())


# --- History ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Happening:
    """One entry of the history: a change of status, a decision, or both at once."""

    at: datetime
    change: StatusChange | None
    decision: Decision | None
    reasons: Sequence[str]


def history_context(version: EnvironmentVersion) -> dict[str, Any]:
    """Status changes and decisions, newest first, and the other versions of the environment."""
    changes = list(version.history.select_related("actor", "run", "decision__actor"))
    told = {change.decision_id for change in changes if change.decision_id}
    decisions = Decision.objects.filter(subject_kind=VERSION_KIND, subject_code=version.code).select_related("actor")
    happenings = [Happening(change.at, change, change.decision, reasons_of(change.decision)) for change in changes]
    happenings += [
        Happening(decision.at, None, decision, reasons_of(decision)) for decision in decisions.exclude(pk__in=told)
    ]
    siblings = version.environment.versions.order_by("-number").without_content().with_approval()
    return {
        "happenings": sorted(happenings, key=lambda each: each.at, reverse=True),
        "siblings": siblings.select_related("created_by"),
    }


def reasons_of(decision: Decision | None) -> list[str]:
    """The decision's reasons as sentences."""
    return [services.REJECT_REASONS.get(code, code) for code in (decision.reason_codes if decision else ())]


# --- Sources ----------------------------------------------------------------------------------------------------------


def sources_context(version: EnvironmentVersion) -> dict[str, Any]:
    """Licence and provenance; only addresses of the web become links."""
    return {
        "licence_is_linked": is_web_address(version.licence_address),
        "sources": [(source, is_web_address(source.address)) for source in version.provenance.order_by("position")],
    }


def is_web_address(text: str | None) -> bool:
    """Whether it may stand in a link: anything but http and https could run a script."""
    return text is not None and text.startswith(("https://", "http://"))
