"""Cases in which a call is refused: each check by itself, and arguments that never reach the tool."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from environments.core.compile.reference.forms import Row, shown
from environments.core.compile.reference.playing import INVALID, Plan, Stage
from environments.core.compile.reference.values import absent_values
from environments.core.compile.semantics import (
    Absent,
    Argument,
    ArgumentRole,
    Check,
    Exists,
    InUse,
    PlannedTool,
    StateAllows,
)
from environments.runtime.pack.model import CaseCall

_MAX_ABSENT: Final = 4
_MAX_TRIES: Final = 60
_MAX_ROWS: Final = 40


class RefusalCases:
    """Plans rejection cases of one tool.

    Args:
        stage: The scenarios.
        tool: The tool.
        accepted: Calls that succeed, as (scenario, arguments): what is refused differs from them in one thing.
    """

    def __init__(self, stage: Stage, tool: PlannedTool, accepted: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        self._stage = stage
        self._tool = tool
        self._checks = tool.meaning.checks
        self._accepted = list(accepted)

    def plans(self) -> Iterator[Plan]:
        """One plan for each way in which a check refuses."""
        for place, check in enumerate(self._checks):
            for slug, candidates in self._ways(check):
                plan = self._first_that_fails(place, candidates, f"{check.code}{slug}")
                if plan is not None:
                    yield plan
        yield from self._invalid()

    # State

    def _ways(self, check: Check) -> Iterator[tuple[str, Iterator[tuple[str, dict[str, Any]]]]]:
        """Kinds of calls that a check may refuse, each with candidates."""
        if isinstance(check, Exists):
            yield "", self._with_absent(check, check.where)
            if len(check.where) > 1:
                for pair in check.where:
                    yield f"_{_plain(pair[1])[:20]}", self._with_other(check, pair)
            return
        if isinstance(check, Absent):
            yield "", self._with_taken(check)
            return
        yield "", self._with_rows(check)

    def _with_absent(self, check: Exists, where: Iterable[tuple[str, str]]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Names that no row has."""
        for scenario, given in self._accepted:
            for column, argument in reversed(list(where)):
                held = self._stage.columns[check.table][column]
                taken = [shown(held, row[column]) for row in self._stage.rows(scenario, check.table)]
                values = absent_values(
                    [value for value in taken if value is not None],
                    lambda value, given=given, argument=argument: self._stage.fits(  # type: ignore[misc]
                        self._tool.name, {**given, argument: value}
                    ),
                )
                for value in itertools.islice(values, _MAX_ABSENT):
                    yield scenario, {**given, argument: value}

    def _with_other(self, check: Exists, pair: tuple[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """The right name under another parent: all parts but one are of a row, and the one is of another row."""
        column, argument = pair
        columns = self._stage.columns[check.table]
        for scenario, given in self._accepted:
            rows = self._stage.rows(scenario, check.table)[:_MAX_ROWS]
            values = list(dict.fromkeys(shown(columns[column], row[column]) for row in rows))
            wide = [*values, *self._parents(scenario, argument)]
            for row in reversed(rows):
                named = {name: shown(columns[held], row[held]) for held, name in check.where}
                for value in dict.fromkeys(wide):
                    if value is not None and value != named[argument]:
                        yield scenario, {**given, **named, argument: value}

    def _parents(self, scenario: str, argument: str) -> Iterator[Any]:
        """Values of an argument that name a row of another table."""
        for check in self._checks:
            if isinstance(check, Exists) and len(check.where) == 1 and check.where[0][1] == argument:
                column = self._stage.columns[check.table][check.where[0][0]]
                for row in self._stage.rows(scenario, check.table):
                    yield shown(column, row[column.name])

    def _with_taken(self, check: Absent) -> Iterator[tuple[str, dict[str, Any]]]:
        """Values that another row has."""
        columns = self._stage.columns[check.table]
        for scenario, given in self._accepted:
            for row in reversed(self._stage.rows(scenario, check.table)):
                yield scenario, {**given, **{name: shown(columns[held], row[held]) for held, name in check.where}}

    def _with_rows(self, check: InUse | StateAllows) -> Iterator[tuple[str, dict[str, Any]]]:
        """Rows that are in use, or in a state that forbids it."""
        columns = self._stage.columns[check.table]
        extra = next((dict(given) for _, given in self._accepted), {})
        for scenario in self._stage.names:
            for row in self._stage.rows(scenario, check.table):
                named = {name: shown(columns[held], row[held]) for held, name in check.where}
                yield scenario, {**extra, **named}
            for row in self._stage.rows(scenario, self._tool.meaning.table):
                bound = self._stage.bound(self._tool, row)
                if bound is not None:
                    yield scenario, {**extra, **bound, **self._aligned(check, row, bound)}

    def _aligned(self, check: InUse | StateAllows, row: Row, bound: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of the check that a row of the tool's table has, beside its name."""
        columns = self._stage.columns[self._tool.meaning.table]
        by_name = {argument.name: argument for argument in self._tool.meaning.arguments}
        found = {}
        for _, name in check.where:
            argument = by_name.get(name)
            if name not in bound and argument is not None and argument.column in columns:
                found[name] = shown(columns[argument.column], row[argument.column])
        return found

    def _first_that_fails(self, place: int, candidates: Iterator[tuple[str, dict[str, Any]]], slug: str) -> Plan | None:
        """A call that this check refuses: alone if possible, else before the others."""
        fallback = None
        tries = itertools.islice(candidates, _MAX_TRIES if self._accepted else 4 * _MAX_TRIES)
        for scenario, arguments in tries:
            if None in arguments.values() or not self._stage.fits(self._tool.name, arguments):
                continue
            refused = self._stage.look(scenario).refused_by(self._tool.name, arguments)
            if refused == (place,):
                return self._plan(slug, scenario, arguments, self._checks[place].code)
            if refused[:1] == (place,) and fallback is None:
                fallback = self._plan(slug, scenario, arguments, self._checks[place].code)
        return fallback

    # Arguments

    def _invalid(self) -> Iterator[Plan]:
        if not self._accepted:
            return
        scenario, given = self._accepted[0]
        yield self._plan("unknown_argument", scenario, {**given, "no_such_argument": 1}, INVALID)
        for slug, argument, value in self._misfits():
            yield self._plan(
                f"{slug}_{_plain(argument.python_name)[:30]}", scenario, {**given, argument.name: value}, INVALID
            )
        required = [argument for argument in self._tool.meaning.arguments if argument.is_required]
        for argument in required[-1:]:
            less = {name: value for name, value in given.items() if name != argument.name}
            yield self._plan(f"without_{_plain(argument.python_name)[:30]}", scenario, less, INVALID)

    def _misfits(self) -> Iterator[tuple[str, Argument, Any]]:
        """A wrong type, a value off an enum, a size of nothing: at most one of each."""
        arguments = self._tool.meaning.arguments
        for argument in arguments[:1]:
            yield "wrong_type", argument, {"a": [1]}
        for argument in arguments:
            if argument.schema.get("enum"):
                yield "off_enum", argument, "no-such-value"
                break
        for argument in self._tool.meaning.with_role(ArgumentRole.SIZE):
            yield "size_zero", argument, 0

    def _plan(self, slug: str, scenario: str, arguments: Mapping[str, Any], code: str) -> Plan:
        return Plan(slug, "rejection", scenario, (CaseCall(self._tool.name, dict(arguments)),), code)


def _plain(name: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name.lower()).strip("_")
