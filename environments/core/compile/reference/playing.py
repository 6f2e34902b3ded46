"""From a planned sequence of calls to a case: played by the interpreter, never by the tools."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from environments.core.compile.reference.errors import UnspecifiedError
from environments.core.compile.reference.forms import Row, shown
from environments.core.compile.reference.interpreter import Interpreter
from environments.core.compile.semantics import (
    Answer,
    Argument,
    ArgumentRole,
    Blueprint,
    Column,
    Kind,
    PlannedTool,
    Result,
)
from environments.runtime.pack.model import Case, CaseCall, Expectation, Scenario
from environments.runtime.records import CallStatus
from environments.runtime.schema.compiled import SchemaError, compile_schema

AUTHOR = "compiler"
CLOCK_START = "2026-03-02T09:00:00Z"
"""When the episodes of compiled packs begin; cases with rows of their own begin then."""
INVALID = "invalid_arguments"
CaseKind = Literal["success", "boundary", "rejection"]
_PREFERRED = {"medium": 0, "complex": 1, "simple": 2, "boundary": 3}
_NAMING = frozenset({ArgumentRole.KEY, ArgumentRole.SCOPE})
MAX_RESULT_BYTES = 240_000
"""A longer answer is refused by the runtime, with whatever else it adds to it."""
MAX_NAME = 92
"""Of a case, so that a number has room behind it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Calls that are to become a case.

    Attributes:
        slug: What it shows, for its name.
        kind: Of the case.
        scenario: Where it starts.
        calls: At least one; the tool that the case is about is among them.
        code: What the last call is refused with, `INVALID` if it never reaches the tool; None if it succeeds.
        shows: Columns that expected rows of lists are cut down to, with their keys; None shows all.
        rows: Rows of its own, if no scenario serves.
    """

    slug: str
    kind: CaseKind
    scenario: str
    calls: tuple[CaseCall, ...]
    code: str | None = None
    shows: frozenset[str] | None = None
    rows: Mapping[str, tuple[Row, ...]] | None = None


class Stage:
    """What every writer of cases needs to know: the blueprint, its scenarios, and the rows in them.

    Args:
        blueprint: The environment as planned.
        scenarios: Of its pack.
    """

    def __init__(self, blueprint: Blueprint, scenarios: Sequence[Scenario]) -> None:
        self.blueprint = blueprint
        self.tools = {tool.name: tool for tool in blueprint.tools}
        self.scenarios = sorted(scenarios, key=lambda each: (_PREFERRED[each.level], each.name))
        self._interpreters = {scenario.name: Interpreter(blueprint, scenario) for scenario in scenarios}
        self._validators: dict[str, Any] = {}
        self._rows: dict[tuple[str, str], list[Row]] = {}
        self.columns: dict[str, dict[str, Column]] = {
            table.name: {column.name: column for column in table.columns} for table in blueprint.tables
        }

    @property
    def names(self) -> list[str]:
        """The scenarios, those that serve most cases first."""
        return [scenario.name for scenario in self.scenarios]

    def named(self, level: str) -> str | None:
        """The scenario of a level."""
        return next((scenario.name for scenario in self.scenarios if scenario.level == level), None)

    def play(self, scenario: str) -> Interpreter:
        """A new episode."""
        return self._interpreters[scenario].fork()

    def look(self, scenario: str) -> Interpreter:
        """The start of an episode, to ask and never to change."""
        return self._interpreters[scenario]

    def rows(self, scenario: str, table: str) -> list[Row]:
        """The rows of a table in the order of their keys."""
        found = self._rows.get((scenario, table))
        if found is None:
            key = self.blueprint.table(table).primary_key
            rows = list(self.look(scenario).state.all(table))
            rows.sort(key=lambda row: [(isinstance(row[name], str), row[name]) for name in key])
            found = self._rows[scenario, table] = rows
        return found

    def fits(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Whether arguments fit the schemas of a tool."""
        if tool not in self._validators:
            self._validators[tool] = _validator(self.tools[tool])
        validator = self._validators[tool]
        return validator is not None and bool(validator.is_valid(dict(arguments)))

    def bound(self, tool: PlannedTool, row: Row) -> dict[str, Any] | None:
        """The arguments that name a row; None if a part of its name is NULL."""
        columns = self.columns[tool.meaning.table]
        joined = {name for _, name in tool.meaning.through.scope} if tool.meaning.through else set()
        named = {
            argument.name: shown(columns[argument.column], row[argument.column])
            for argument in tool.meaning.arguments
            if argument.role in _NAMING and argument.column in columns and argument.name not in joined
        }
        return None if None in named.values() else named

    def is_allowed(self, scenario: str, tool: PlannedTool, arguments: Mapping[str, Any]) -> bool:
        """Whether a call fits the schemas and no check refuses it."""
        return self.fits(tool.name, arguments) and not self.look(scenario).refused_by(tool.name, arguments)

    def tools_of(self, table: str, *kinds: Kind) -> list[PlannedTool]:
        """The tools about a table, in the blueprint's order."""
        return [tool for tool in self.blueprint.tools if tool.meaning.table == table and tool.meaning.kind in kinds]


def _validator(tool: PlannedTool) -> Any:
    arguments = tool.meaning.arguments
    schema = {
        "type": "object",
        "properties": {argument.name: argument.schema for argument in arguments},
        "required": [argument.name for argument in arguments if argument.is_required],
        "additionalProperties": False,
    }
    try:
        return compile_schema(schema)
    except SchemaError:
        return None  # no call of it can be judged, so it has no case


def arguments_of(tool: PlannedTool, *roles: ArgumentRole) -> tuple[Argument, ...]:
    """A tool's arguments of these roles."""
    return tool.meaning.with_role(*roles)


def reference(position: int, pointer: str) -> dict[str, Any]:
    """What stands for an earlier result in a case."""
    return {"$result": [position, pointer]}


def pointer_of(result: Result, column: str) -> str | None:
    """Where a result that is one row shows a column."""
    if result.form is not Answer.ROW or result.view is None:
        return None
    for entry in result.view.properties:
        if entry.column == column:
            inner = ("0",) if result.one_in_list and result.place else ()
            return "".join(_step(part) for part in (*result.place, *inner, *entry.path))
    return None


def _step(part: str | int) -> str:
    return "/" + str(part).replace("~", "~0").replace("/", "~1")


def make_case(stage: Stage, tool: PlannedTool, plan: Plan) -> Case | None:
    """The case of a plan; None where the meaning does not give what the plan is about."""
    if plan.rows is None:
        episode = stage.play(plan.scenario)
    else:
        episode = Interpreter(stage.blueprint, Scenario("own", "boundary", CLOCK_START, 0, plan.rows))
    results: list[dict[str, Any]] = []
    expected: list[Expectation] = []
    for position, call in enumerate(plan.calls):
        is_last = position == len(plan.calls) - 1
        arguments = resolved(call.arguments, results)
        is_fit = stage.fits(call.tool, arguments)
        if is_last and plan.code == INVALID:
            if is_fit:
                return None
            expected.append(Expectation(CallStatus.INVALID, INVALID))
            continue
        if not is_fit:
            return None
        try:
            outcome = episode.call(call.tool, arguments)
        except UnspecifiedError:
            return None
        if outcome.code != (plan.code if is_last else None):
            return None
        if len(orjson.dumps(outcome.result)) > MAX_RESULT_BYTES:
            return None
        results.append(outcome.result or {})
        shown_result = outcome.result
        if shown_result is not None and plan.shows is not None:
            shown_result = _cut(stage, stage.tools[call.tool], shown_result, plan.shows)
        expected.append(Expectation(outcome.status, outcome.code, shown_result))
    fresh = episode.state.fresh
    if fresh:
        kept = {value for change in episode.changes if change.after for value in change.key.values()}
        expected = _with_references(expected, results, fresh, kept)
    return Case(
        name=f"{tool.name}_{plan.slug}"[:MAX_NAME],
        tool=tool.name,
        kind=plan.kind,
        calls=plan.calls,
        expect=tuple(expected),
        changes=episode.changes,
        author=AUTHOR,
        scenario=plan.scenario if plan.rows is None else None,
        rows=plan.rows,
    )


def resolved(value: Any, results: Sequence[Any]) -> Any:
    """The value with every reference to an earlier result replaced by what it stands for."""
    if isinstance(value, Mapping):
        if value.keys() == {"$result"}:
            position, pointer = value["$result"]
            found = results[position]
            for part in pointer.split("/")[1:]:
                name = part.replace("~1", "/").replace("~0", "~")
                found = found[int(name)] if isinstance(found, list) else found[name]
            return found
        return {name: resolved(item, results) for name, item in value.items()}
    if isinstance(value, list):
        return [resolved(item, results) for item in value]
    return value


def _cut(stage: Stage, tool: PlannedTool, result: dict[str, Any], shows: frozenset[str]) -> dict[str, Any]:
    """A list's result with a few properties of each row: the others are looked at by another case."""
    meaning = tool.meaning
    view = meaning.result.view
    if meaning.kind is not Kind.LIST or view is None or not meaning.result.place:
        return result
    key = stage.blueprint.table(meaning.table).primary_key
    kept = [entry for entry in view.properties if entry.column in shows or entry.column in key]
    if not any(entry.column in key for entry in kept):
        return result
    made = orjson.loads(orjson.dumps(result))
    holder = made
    for name in meaning.result.place[:-1]:
        holder = holder[name]
    rows = []
    for row in holder[meaning.result.place[-1]]:
        less: dict[str, Any] = {}
        for entry in kept:
            source, target = row, less
            for name in entry.path[:-1]:
                source, target = source[name], target.setdefault(name, {})
            target[entry.path[-1]] = source[entry.path[-1]]
        rows.append(less)
    holder[meaning.result.place[-1]] = rows
    return made  # type: ignore[no-any-return]


def _with_references(
    expected: Sequence[Expectation], results: Sequence[Any], fresh: frozenset[str], kept: set[Any]
) -> list[Expectation]:
    """Expectations in which an id that only the runtime makes refers to where it was first answered.

    There it stays if its row does, since it is then paired with the runtime's; else nothing is said of it.
    """
    first: dict[str, dict[str, Any]] = {}
    for position, result in enumerate(results):
        for pointer, value in _scalars(result, ""):
            if isinstance(value, str) and value in fresh:
                first.setdefault(value, reference(position, pointer))
    made = []
    for position, item in enumerate(expected):
        result = None if item.result is None else _referring(item.result, "", position, first, kept)
        made.append(Expectation(item.status, item.code, result))
    return made


def _referring(value: Any, pointer: str, position: int, first: Mapping[str, Any], kept: set[Any]) -> Any:
    if isinstance(value, dict):
        return {name: _referring(item, pointer + _step(name), position, first, kept) for name, item in value.items()}
    if isinstance(value, list):
        return [_referring(item, pointer + _step(n), position, first, kept) for n, item in enumerate(value)]
    if isinstance(value, str) and value in first:
        is_first = first[value] == reference(position, pointer)
        return value if is_first and value in kept else first[value]
    return value


def _scalars(value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _scalars(item, pointer + _step(name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _scalars(item, pointer + _step(number))
    else:
        yield pointer, value
