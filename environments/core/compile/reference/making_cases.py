"""Cases of tools that make rows: create, upsert, link."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from environments.core.compile.reference.errors import UnspecifiedError
from environments.core.compile.reference.filling import Filler, falsy_values
from environments.core.compile.reference.forms import shown
from environments.core.compile.reference.lives import Lives
from environments.core.compile.reference.playing import CaseKind, Plan, Stage
from environments.core.compile.semantics import Absent, Argument, Kind, PlannedTool
from environments.runtime.pack.model import CaseCall

_MAX_ALONE: Final = 3


class MakingCases:
    """Plans cases of one tool that makes a row."""

    def __init__(self, stage: Stage, tool: PlannedTool, filler: Filler) -> None:
        self._stage = stage
        self._tool = tool
        self._meaning = tool.meaning
        self._filler = filler
        self._stories = Lives(stage, tool, filler)

    def plans(self) -> Iterator[Plan]:
        """The plans, the most telling first."""
        required = [argument for argument in self._meaning.arguments if argument.is_required]
        optional = [argument for argument in self._meaning.arguments if not argument.is_required]
        found = self._filled(required)
        if found is None:
            return
        scenario, least = found
        whole = self._filler.fill(scenario, self._tool, self._meaning.arguments) if optional else None
        if whole is not None and not self._is_specified(scenario, least):
            required, least = list(self._meaning.arguments), whole
        slug = "new_pair" if self._meaning.kind is Kind.LINK else "only_required"
        yield self._plan(slug, "success", scenario, least)
        if whole is not None:
            yield self._plan("all", "success", scenario, whole)
        yield from self._stories.whole(scenario, whole or least)
        yield from self._falsy(scenario, least)
        yield from self._stories.of(scenario, whole or least)
        yield from self._stories.twice(scenario, least)
        for argument in optional[:_MAX_ALONE]:
            alone = self._filler.fill(scenario, self._tool, [argument], least)
            if alone is not None and argument.name in alone:
                yield self._plan(f"with_{argument.python_name.strip('_')[:30]}", "success", scenario, alone)
        yield from self._near_misses(required)
        yield from self._elsewhere(scenario, required)
        if self._meaning.kind is Kind.LINK:
            yield from self._again()

    def _is_specified(self, scenario: str, arguments: Mapping[str, Any]) -> bool:
        try:
            self._stage.play(scenario).call(self._tool.name, arguments)
        except UnspecifiedError:
            return False
        return True

    def _filled(self, arguments: Sequence[Argument]) -> tuple[str, dict[str, Any]] | None:
        for scenario in self._stage.names:
            found = self._filler.fill(scenario, self._tool, arguments)
            if found is not None and (self._is_new(scenario, found) or scenario == self._stage.names[-1]):
                return scenario, found
        return None

    def _is_new(self, scenario: str, arguments: Mapping[str, Any]) -> bool:
        """Whether the call makes a row: a pair that is there is no case of a new one."""
        return bool(next(self._stories.of(scenario, arguments), None)) or self._meaning.kind is not Kind.LINK

    def _falsy(self, scenario: str, least: Mapping[str, Any]) -> Iterator[Plan]:
        """Zero, false and the empty text, which are values."""
        given = dict(least)
        for argument in self._meaning.arguments:
            if argument.column is None:
                continue
            for value in falsy_values(argument):
                if self._stage.is_allowed(scenario, self._tool, {**given, argument.name: value}):
                    given[argument.name] = value
        if given != least:
            yield self._plan("falsy", "boundary", scenario, given)

    def _near_misses(self, required: Sequence[Argument]) -> Iterator[Plan]:
        """A name that is taken elsewhere, but not where the row is to be."""
        for check in self._meaning.checks:
            if not isinstance(check, Absent) or len(check.where) < 2:
                continue
            columns = self._stage.columns[check.table]
            for _, argument in check.where:
                plan = self._near_miss(check, columns, argument, required)
                if plan is not None:
                    yield plan

    def _near_miss(
        self, check: Absent, columns: Mapping[str, Any], other: str, required: Sequence[Argument]
    ) -> Plan | None:
        for scenario in self._stage.names:
            for row in reversed(self._stage.rows(scenario, check.table)):
                base = {
                    argument: shown(columns[column], row[column])
                    for column, argument in check.where
                    if argument != other and row[column] is not None
                }
                wanted = [argument for argument in self._meaning.arguments if argument in required]
                found = self._filler.fill(scenario, self._tool, wanted, base)
                if found is not None:
                    return self._plan(f"other_{other.lower()}"[:50], "success", scenario, found)
        return None

    def _elsewhere(self, scenario: str, required: Sequence[Argument]) -> Iterator[Plan]:
        """At the boundary, or wherever else it can be."""
        for name in reversed(self._stage.names):
            found = self._filler.fill(name, self._tool, required)
            if found is not None:
                yield self._plan(f"at_{name}"[:50], "boundary", name, found)
                return

    def _again(self) -> Iterator[Plan]:
        """A pair that is there."""
        for scenario in self._stage.names:
            for row in self._stage.rows(scenario, self._meaning.table):
                named = self._stage.bound(self._tool, row)
                if named is not None and self._stage.is_allowed(scenario, self._tool, named):
                    yield self._plan("there_already", "boundary", scenario, named)
                    return

    def _plan(self, slug: str, kind: CaseKind, scenario: str, arguments: Mapping[str, Any]) -> Plan:
        return Plan(_plain(slug), kind, scenario, (CaseCall(self._tool.name, dict(arguments)),))


def _plain(slug: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in slug)
