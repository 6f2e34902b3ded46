"""What the cases of a reading tool have in common: where its calls start from, and what it would answer."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from environments.core.compile.reference.errors import UnspecifiedError
from environments.core.compile.reference.forms import Row, holds_text, shown
from environments.core.compile.reference.interpreter import filled
from environments.core.compile.reference.playing import Plan, Stage
from environments.core.compile.reference.selection import ordered, steps_of
from environments.core.compile.reference.values import absent_values
from environments.core.compile.semantics import Argument, ArgumentRole, Exists, Meaning, Order, PlannedTool
from environments.runtime.pack.model import CaseCall

MAX_CHOICES: Final = 8
_MAX_OPENINGS: Final = 24
NARROWING: Final = (
    ArgumentRole.FILTER,
    ArgumentRole.ONE_OF,
    ArgumentRole.AT_LEAST,
    ArgumentRole.AT_MOST,
    ArgumentRole.SEARCH,
)
_PAGING: Final = frozenset(
    {ArgumentRole.SIZE, ArgumentRole.PAGE, ArgumentRole.OFFSET, ArgumentRole.CURSOR, ArgumentRole.AFTER}
)


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a reading call is made from: a scenario and the arguments that it can't do without."""

    scenario: str
    base: Mapping[str, Any]
    num_rows: int


class Reader:
    """One tool that reads many rows, and the places that it can read them from."""

    def __init__(self, stage: Stage, tool: PlannedTool, spots: Sequence[Spot] | None = None) -> None:
        self._stage = stage
        self._tool = tool
        self._meaning: Meaning = tool.meaning
        self._spots = [spot for name in stage.names for spot in self._openings(name)] if spots is None else spots
        self._wide = self._widest()

    # Where from

    def _openings(self, scenario: str) -> list[Spot]:
        """Combinations of the required arguments: with rows behind them, then without."""
        spots = [
            Spot(scenario, given, len(self._rows(scenario, given)))
            for base in itertools.islice(self._scope_values(scenario), _MAX_OPENINGS)
            for given in self._required(scenario, base)
            if self._stage.is_allowed(scenario, self._tool, given)
        ]
        spots.sort(key=lambda spot: spot.num_rows == 0)
        return spots

    def _scope_values(self, scenario: str) -> Iterator[dict[str, Any]]:
        scopes = self._meaning.with_role(ArgumentRole.SCOPE, ArgumentRole.KEY)
        if not scopes:
            yield {}
            return
        through = self._meaning.through
        joined = {argument: column for column, argument in through.scope} if through else {}
        own = [argument for argument in scopes if argument.name not in joined]
        seen: dict[str, None] = {}
        links = self._stage.rows(scenario, through.table) if through else [{}]
        rows = self._stage.rows(scenario, self._meaning.table) if own else [{}]
        combinations = [
            {
                **self._taken(through.table if through else "", link, joined),
                **self._taken(self._meaning.table, row, {argument.name: str(argument.column) for argument in own}),
            }
            for link in links
            for row in rows
        ]
        parents = [
            self._taken(check.table, row, {argument: column for column, argument in check.where})
            for check in self._meaning.checks
            if isinstance(check, Exists) and {name for _, name in check.where} == {each.name for each in scopes}
            for row in self._stage.rows(scenario, check.table)
        ]
        for values in (*combinations, *parents):
            if len(values) == len(scopes) and None not in values.values() and repr(values) not in seen:
                seen[repr(values)] = None
                yield values

    def _taken(self, table: str, row: Row, names: Mapping[str, str]) -> dict[str, Any]:
        if not names:
            return {}
        columns = self._stage.columns[table]
        return {argument: shown(columns[column], row[column]) for argument, column in names.items()}

    def _required(self, scenario: str, base: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The scope with a few values of each further required argument."""
        wanted = [one for one in self._meaning.with_role(*NARROWING) if one.is_required and one.name not in base]
        if not wanted:
            yield dict(base)
            return
        rows = self._rows(scenario, base)
        choices = [list(self._first_choices(argument, rows, scenario)) for argument in wanted]
        for values in itertools.islice(itertools.product(*choices), MAX_CHOICES):
            yield {**base, **{argument.name: value for argument, value in zip(wanted, values, strict=True)}}

    def _first_choices(self, argument: Argument, rows: Sequence[Row], scenario: str) -> Iterator[Any]:
        if argument.role is not ArgumentRole.SEARCH:
            yield from itertools.islice(self._choices(argument, rows, scenario), 4)
            return
        # A piece of each row, the commonest first: lists of one row show no order.
        texts = [row[column] for row in rows for column in self._meaning.search_columns]
        found = dict.fromkeys(piece for text in texts for piece in itertools.islice(pieces_of(text), 2))
        count = {piece: sum(holds_text(text, piece) for text in texts) for piece in found}
        yield from sorted(found, key=lambda piece: -count[piece])[:4]

    # Values

    def _choices(self, argument: Argument, rows: Sequence[Row], scenario: str) -> Iterator[Any]:
        """Values for a narrowing argument, those that part the rows first, one that no row has last."""
        if argument.role is ArgumentRole.SEARCH:
            for row in rows:
                for column in self._meaning.search_columns:
                    yield from pieces_of(row[column])
            return
        column = self._columns[str(argument.column)]
        held = [row[column.name] for row in rows if row[column.name] is not None]
        distinct: list[Any] = sorted(set(held), key=lambda value: (held.count(value) == len(rows), str(value)))
        if argument.role in (ArgumentRole.AT_LEAST, ArgumentRole.AT_MOST):
            bounds: list[Any] = sorted(set(held))
            yield from (shown(column, value) for value in _from_the_middle(bounds))
            return
        is_many = argument.role is ArgumentRole.ONE_OF
        for value in distinct:
            yield [shown(column, value)] if is_many else shown(column, value)
        everywhere = [shown(column, row[column.name]) for row in self._stage.rows(scenario, self._meaning.table)]
        for value in itertools.islice(absent_values(everywhere, lambda _: True), 2):
            yield [value] if is_many else value

    # Order

    def _first_page(self, rows: Sequence[Row]) -> list[int]:
        """Which rows the first page shows, the largest that can be asked for."""
        size = next(iter(self._wide.values()), self._meaning.page_size)
        return [id(row) for row in rows[:size]]

    def _num_steps_seen(self, spot: Spot, given: Mapping[str, Any]) -> int:
        """How many steps of an order a list shows: those without which, or turned round, it would be another."""
        arguments = filled(self._meaning, {**spot.base, **given})
        steps = steps_of(self._meaning, arguments)
        rows = self._rows(spot.scenario, arguments)
        state = self._stage.look(spot.scenario).state
        seen = 0
        for place, step in enumerate(steps):
            behind = steps[place + 1 :]
            others = [(*steps[:place], Order(step.column, not step.is_descending), *behind)]
            if behind:
                others.append((*steps[:place], *behind))
            lists = [ordered(rows, other, state) for other in others]
            seen += all(self._first_page(rows) != self._first_page(other) for other in lists)
        return seen

    # Asking the interpreter

    @property
    def _columns(self) -> Mapping[str, Any]:
        return self._stage.columns[self._meaning.table]

    def _rows(self, scenario: str, given: Mapping[str, Any]) -> list[Row]:
        return self._stage.look(scenario).rows_for(self._tool.name, given)

    def _answer(self, scenario: str, given: Mapping[str, Any]) -> dict[str, Any] | None:
        try:
            return self._stage.look(scenario).call(self._tool.name, given).result
        except UnspecifiedError:
            return None

    def _fits(self, spot: Spot, given: Mapping[str, Any]) -> bool:
        return self._stage.is_allowed(spot.scenario, self._tool, {**spot.base, **given})

    def _widest(self) -> dict[str, Any]:
        """The largest page, so that nothing that matters is behind it."""
        for argument in self._meaning.with_role(ArgumentRole.SIZE):
            largest = argument.schema.get("maximum", 100)
            return {argument.name: min(int(largest), 1_000)}
        return {}

    def _plan(self, slug: str, kind: Any, spot: Spot, given: Mapping[str, Any], *, is_short: bool = False) -> Plan:
        is_paged = bool({argument.role for argument in self._meaning.arguments if argument.name in given} & _PAGING)
        wide = self._wide if is_short and given and not is_paged else {}
        arguments = {**spot.base, **wide, **given}
        shows = self._shows(given) if is_short else None
        return Plan(slug, kind, spot.scenario, (CaseCall(self._tool.name, arguments),), shows=shows)

    def _shows(self, given: Mapping[str, Any]) -> frozenset[str]:
        named = {str(each.column) for each in self._meaning.arguments if each.name in given and each.column}
        sorted_by = {column for _, column in self._meaning.sorts}
        return frozenset(named | sorted_by)

    def _slug(self, name: str) -> str:
        argument = next(each for each in self._meaning.arguments if each.name == name)
        return argument.python_name.strip("_")[:30]


def pieces_of(value: Any) -> Iterator[str]:
    """Parts of a text, not from its start, in another case."""
    text = "" if value is None else str(value)
    for length in (5, 4, 3):
        for start in (1, 0, len(text) // 2):
            piece = text[start : start + length]
            if len(piece) == length and any(letter.isalpha() and letter.isascii() for letter in piece):
                yield piece.swapcase() if piece.isascii() else piece


def _from_the_middle(values: Sequence[Any]) -> Iterator[Any]:
    """The middle one first, then those around it."""
    middle = len(values) // 2
    yield from sorted(values, key=lambda value: abs(values.index(value) - middle))
