"""Cases of tools about one row that is there: get, patch, replace, transition, delete, unlink."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from environments.core.compile.reference.errors import UnspecifiedError
from environments.core.compile.reference.filling import Filler, falsy_values
from environments.core.compile.reference.forms import Row, Stored, shown
from environments.core.compile.reference.own_rows import with_parents, with_value
from environments.core.compile.reference.playing import CaseKind, Plan, Stage
from environments.core.compile.reference.stories import Stories
from environments.core.compile.semantics import (
    Absent,
    Argument,
    ArgumentRole,
    Exists,
    InUse,
    Kind,
    PlannedTool,
    StateAllows,
)
from environments.runtime.pack.model import CaseCall

_MAX_ALONE: Final = 6
_MAX_STATES: Final = 8
_CHANGING: Final = frozenset({Kind.PATCH, Kind.REPLACE, Kind.TRANSITION, Kind.UPSERT})


@dataclass(frozen=True, slots=True)
class Pick:
    """A row that a call may be about, and the arguments that it can't do without."""

    scenario: str
    row: Row
    base: Mapping[str, Any]


class RowCases:
    """Plans cases of one tool that names a row."""

    def __init__(self, stage: Stage, tool: PlannedTool, filler: Filler) -> None:
        self._stage = stage
        self._tool = tool
        self._meaning = tool.meaning
        self._filler = filler
        self._stories = Stories(stage, tool)
        self._sets = self._meaning.with_role(ArgumentRole.SET)
        self._picks = self._find_picks()

    def plans(self) -> Iterator[Plan]:
        """The plans, the most telling first."""
        if not self._picks:
            yield from self._states()
            yield from self._alone()
            return
        for slug, kind, pick in self._places():
            yield self._plan(slug, kind, pick, pick.base)
        if self._meaning.kind in _CHANGING:
            yield from self._changes()
        yield from self._states()
        if not self._meaning.reads_only:
            yield from self._stories.of(self._some(1).scenario, self._some(1).base)
            yield from self._stories.twice(self._some(0).scenario, self._some(0).base)

    # Which rows

    def _find_picks(self) -> list[Pick]:
        found = []
        for scenario in self._stage.names:
            for row in self._stage.rows(scenario, self._meaning.table):
                named = self._stage.bound(self._tool, row)
                if named is None:
                    continue
                required = [argument for argument in self._sets if argument.is_required]
                if not required:
                    base: dict[str, Any] | None = named
                    is_good = self._stage.is_allowed(scenario, self._tool, named)
                else:
                    if self._stage.look(scenario).refused_by(self._tool.name, named):
                        continue
                    base = self._filler.fill(scenario, self._tool, required, named, self._held(row))
                    is_good = base is not None
                if is_good and base is not None and self._is_specified(scenario, base):
                    found.append(Pick(scenario, row, base))
        return found

    def _is_specified(self, scenario: str, arguments: Mapping[str, Any]) -> bool:
        try:
            self._stage.play(scenario).call(self._tool.name, arguments)
        except UnspecifiedError:
            return False
        return True

    def _some(self, number: int) -> Pick:
        first = self._picks[0].scenario
        here = [pick for pick in self._picks if pick.scenario == first]
        return here[number % len(here)]

    def _places(self) -> Iterator[tuple[str, CaseKind, Pick]]:
        """First, last and middle rows, rows that nearly have another's name, full and empty ones."""
        first = self._picks[0].scenario
        here = [pick for pick in self._picks if pick.scenario == first]
        yield "last", "success", here[-1]
        yield "first", "boundary", here[0]
        yield from (("near_" + name, "success", pick) for name, pick in self._near_misses())
        if len(here) > 2:
            yield "middle", "success", here[len(here) // 2]
        if self._meaning.kind in (Kind.GET, Kind.DELETE):
            by_nulls = sorted(here, key=lambda pick: sum(value is None for value in pick.row.values()))
            yield "full", "success", by_nulls[0]
            yield "sparse", "boundary", by_nulls[-1]
        if self._meaning.kind is Kind.DELETE:
            yield "with_most_below", "success", max(here, key=self._num_changes)
        elsewhere = [pick for pick in self._picks if pick.scenario == self._stage.named("boundary")]
        if elsewhere:
            yield "boundary", "boundary", elsewhere[-1]

    def _num_changes(self, pick: Pick) -> int:
        return len(self._stage.play(pick.scenario).call(self._tool.name, pick.base).changes)

    def _near_misses(self) -> Iterator[tuple[str, Pick]]:
        """For each part of a row's name, a row that isn't the first one of the other parts."""
        naming = [
            argument
            for argument in self._meaning.with_role(ArgumentRole.KEY, ArgumentRole.SCOPE)
            if argument.column in self._stage.columns[self._meaning.table]
        ]
        if len(naming) < 2:
            return
        for argument in naming:
            columns = [str(other.column) for other in naming if other is not argument]
            for pick in self._picks:
                rows = self._stage.rows(pick.scenario, self._meaning.table)
                alike = [row for row in rows if all(row[name] == pick.row[name] for name in columns)]
                if len(alike) > 1 and alike[0] is not pick.row:
                    yield argument.python_name.strip("_")[:30], pick
                    break

    # Changes

    def _held(self, row: Row) -> dict[str, Any]:
        columns = self._stage.columns[self._meaning.table]
        return {
            each.name: shown(columns[each.column], row[each.column]) for each in self._sets if each.column in columns
        }

    def _changes(self) -> Iterator[Plan]:
        optional = [argument for argument in self._sets if not argument.is_required]
        first = self._picks[0].scenario
        here = sorted(
            (pick for pick in self._picks if pick.scenario == first),
            key=lambda pick: sum(value is None for value in pick.row.values()),
        )
        fullest = here[0]
        whole = self._filled(fullest, self._sets)
        if optional and whole is not None:
            yield self._plan("all", "success", fullest, whole)
            yield from self._stories.of(fullest.scenario, whole, "all_")
        if optional:
            # Nothing but the name: what is absent keeps its value, or goes back to its default.
            yield self._plan("only_required", "boundary", fullest, fullest.base)
        for number, argument in enumerate(optional):
            if number == _MAX_ALONE:
                break
            pick = here[number % min(len(here), 3)]
            alone = self._filled(pick, [argument])
            if alone is not None and argument.name in alone:
                yield self._plan(f"only_{argument.python_name.strip('_')[:30]}", "success", pick, alone)
        yield from self._falsy(fullest)
        yield from self._own_values(fullest)

    def _filled(self, pick: Pick, arguments: Sequence[Argument]) -> dict[str, Any] | None:
        unlike = self._held(pick.row)
        base = {name: value for name, value in pick.base.items() if name not in {each.name for each in arguments}}
        return self._filler.fill(pick.scenario, self._tool, arguments, base, unlike)

    def _falsy(self, pick: Pick) -> Iterator[Plan]:
        """Zero, false and the empty text, which are values."""
        given: dict[str, Any] = dict(pick.base)
        for argument in self._sets:
            for value in falsy_values(argument):
                if self._stage.is_allowed(pick.scenario, self._tool, {**given, argument.name: value}):
                    given[argument.name] = value
        if given != pick.base:
            yield self._plan("falsy", "boundary", pick, given)

    def _own_values(self, pick: Pick) -> Iterator[Plan]:
        """The row's own value of what is unique is not taken by another."""
        held = self._held(pick.row)
        for check in self._meaning.checks:
            if not isinstance(check, Absent) or not check.besides:
                continue
            own = {argument: held[argument] for _, argument in check.where if held.get(argument) is not None}
            if own and self._stage.is_allowed(pick.scenario, self._tool, {**pick.base, **own}):
                yield self._plan(f"own_{check.code}"[:50], "boundary", pick, {**pick.base, **own})

    # States

    def _states(self) -> Iterator[Plan]:
        """Every state from which the change is allowed, and every one from which it isn't."""
        for check in self._meaning.checks:
            if not isinstance(check, StateAllows) or check.table != self._meaning.table:
                continue
            column = self._stage.columns[check.table][check.column]
            states: list[Stored] = list(column.values) or list(dict.fromkeys((*check.allowed, *check.refused)))
            if not column.is_required:
                states.append(None)
            for number, state in enumerate(states[:_MAX_STATES]):
                yield from self._state(check, state, number)

    def _state(self, check: StateAllows, state: Stored, number: int) -> Iterator[Plan]:
        is_refused = state not in check.allowed if check.allowed else state in check.refused
        slug = f"{'refused' if is_refused else 'from'}_{number}_{_word(state)}"
        for scenario in self._stage.names:
            for row in self._stage.rows(scenario, check.table):
                if row[check.column] != state or type(row[check.column]) is not type(state):
                    continue
                named = self._stage.bound(self._tool, row)
                base = None if named is None else self._with_required(scenario, row, named)
                if base is None:
                    continue
                code = check.code if is_refused else None
                yield Plan(
                    slug,
                    "rejection" if is_refused else "success",
                    scenario,
                    (CaseCall(self._tool.name, base),),
                    code,
                )
                return
        yield from self._made_up(check, state, slug, is_refused=is_refused)

    def _made_up(self, check: StateAllows, state: Stored, slug: str, *, is_refused: bool) -> Iterator[Plan]:
        """A row in a state that no row of a scenario is in."""
        for scenario in self._stage.names:
            for row in self._stage.rows(scenario, check.table)[:1]:
                named = self._stage.bound(self._tool, row)
                base = None if named is None else self._with_required(scenario, row, named)
                if base is None:
                    continue
                rows = with_value(self._stage, scenario, check.table, row, check.column, state)
                call = (CaseCall(self._tool.name, base),)
                if is_refused:
                    yield Plan(slug, "rejection", scenario, call, check.code, rows=rows)
                else:
                    yield Plan(slug, "success", scenario, call, rows=rows)
                    if not self._picks:
                        yield Plan(f"{slug}_alone"[:57], "boundary", scenario, call, rows=rows)
                return

    def _alone(self) -> Iterator[Plan]:
        """A row that nothing points to, where in every scenario something points to each."""
        if not any(isinstance(check, InUse) for check in self._meaning.checks):
            return
        for scenario in self._stage.names:
            for row in self._stage.rows(scenario, self._meaning.table)[:1]:
                named = self._stage.bound(self._tool, row)
                if named is None:
                    continue
                rows = with_parents(self._stage, scenario, [(self._meaning.table, row)])
                call = CaseCall(self._tool.name, named)
                yield Plan("alone", "success", scenario, (call,), rows=rows)
                code = next((check.code for check in self._meaning.checks if isinstance(check, Exists)), None)
                yield Plan("alone_twice", "boundary", scenario, (call, call), code, rows=rows)
                return

    def _with_required(self, scenario: str, row: Row, named: Mapping[str, Any]) -> dict[str, Any] | None:
        """Arguments of a call about a row that may be refused for its state alone."""
        made = dict(named)
        for argument in self._sets:
            if argument.is_required:
                value = self._filler.draw(self._tool, argument, self._held(row).get(argument.name))
                if value is None:
                    return None
                made[argument.name] = value
        return made

    def _plan(self, slug: str, kind: CaseKind, pick: Pick, arguments: Mapping[str, Any]) -> Plan:
        return Plan(slug, kind, pick.scenario, (CaseCall(self._tool.name, dict(arguments)),))


def _word(value: Stored) -> str:
    text = "null" if value is None else str(value).lower()
    return "".join(itertools.islice((letter for letter in text if letter.isascii() and letter.isalnum()), 20))
