"""Arguments for calls that are to succeed: parents that exist, names that are free, values that make a difference."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from environments.core.compile.reference.forms import shown
from environments.core.compile.reference.playing import Stage
from environments.core.compile.reference.values import ArgumentValues
from environments.core.compile.semantics import Absent, Argument, ArgumentRole, Exists, Kind, PlannedTool

_MAX_ATTEMPTS: Final = 40
_MAX_DRAWS: Final = 8
Bound = tuple[tuple[str, ...], list[tuple[Any, ...]]]
"""Names of arguments, and the values that they may have together."""


class Filler:
    """Finds values for arguments.

    Args:
        stage: The scenarios.
        values: Draws values that no row has to hold.
        rng: Draws them; the same generator and the same questions give the same answers.
    """

    def __init__(self, stage: Stage, values: ArgumentValues, rng: np.random.Generator) -> None:
        self._stage = stage
        self._values = values
        self._rng = rng

    def fill(
        self,
        scenario: str,
        tool: PlannedTool,
        arguments: Iterable[Argument],
        base: Mapping[str, Any] | None = None,
        unlike: Mapping[str, Any] | None = None,
    ) -> dict[str, Any] | None:
        """Arguments that a call succeeds with.

        Args:
            scenario: Where it is to succeed.
            tool: The tool.
            arguments: Those that are to be filled.
            base: Those that are fixed.
            unlike: Values that arguments must not have, since they have them already.

        Returns:
            All of them; None if no attempt succeeded.
        """
        fixed = dict(base or {})
        wanted = [argument for argument in arguments if argument.name not in fixed]
        groups = self._groups(scenario, tool, {argument.name for argument in wanted}, fixed)
        for attempt in range(_MAX_ATTEMPTS):
            made = self._attempt(scenario, tool, wanted, groups, fixed, unlike or {}, attempt)
            if made is not None and self._stage.is_allowed(scenario, tool, made):
                return made
            if not wanted:
                break
        return None

    def draw(self, tool: PlannedTool, argument: Argument, unlike: Any = None, avoid: Collection[Any] = ()) -> Any:
        """A value for one argument, another one than `unlike`; None if none is known."""
        table = self._stage.blueprint.table(tool.meaning.table)
        for _ in range(_MAX_DRAWS):
            value = self._values(argument, table, self._stage.blueprint, self._rng, avoid)
            if value is not None and value != unlike:
                return value
        return None

    def _attempt(
        self,
        scenario: str,
        tool: PlannedTool,
        wanted: Iterable[Argument],
        groups: Iterable[Bound],
        fixed: Mapping[str, Any],
        unlike: Mapping[str, Any],
        attempt: int,
    ) -> dict[str, Any] | None:
        found: dict[str, Any] = dict(fixed)
        rest = attempt
        for names, choices in groups:
            open_names = [name for name in names if name not in found]
            possible = [
                values
                for values in choices
                if all(found.get(name, value) == value for name, value in zip(names, values, strict=True))
                and (len(choices) == 1 or all(unlike.get(n, ()) != v for n, v in zip(names, values, strict=True)))
            ]
            if not open_names:
                continue
            if not possible:
                return None
            # The last parent first: a lookup that takes the first one is then found out.
            values = possible[-1 - rest % len(possible)]
            rest //= len(possible)
            found.update(zip(names, values, strict=True))
        for argument in wanted:
            if argument.name in found:
                continue
            # No two arguments alike, so that none can stand for another.
            used = [each for each in found.values() if isinstance(each, str | int | float)]
            avoid = [*self._taken(scenario, tool, argument), *used]
            value = self.draw(tool, argument, unlike.get(argument.name), avoid)
            if value is None:
                if argument.is_required:
                    return None
                continue
            found[argument.name] = value
        return {argument.name: found[argument.name] for argument in tool.meaning.arguments if argument.name in found}

    def _taken(self, scenario: str, tool: PlannedTool, argument: Argument) -> list[Any]:
        """Values of an argument that rows must not have yet, or with which the call would make no row."""
        meaning = tool.meaning
        columns = [
            (check.table, column)
            for check in meaning.checks
            if isinstance(check, Absent)
            for column, name in check.where
            if name == argument.name
        ]
        if meaning.kind is Kind.UPSERT and argument.column == self._stage.blueprint.table(meaning.table).key:
            columns.append((meaning.table, argument.column))
        return [value for table, column in columns for (value,) in self._values_of(scenario, table, [column])]

    def _groups(self, scenario: str, tool: PlannedTool, wanted: set[str], fixed: Mapping[str, Any]) -> list[Bound]:
        """Arguments that name rows which must be there, the longest names first."""
        groups = []
        checked: set[str] = set()
        # A row that the call makes need not be there, whatever a later check of the meaning says.
        for check in tool.meaning.checks:
            if isinstance(check, Exists):
                names = tuple(argument for _, argument in check.where)
                checked.update(names)
                if wanted.intersection(names) and all(name in wanted or name in fixed for name in names):
                    groups.append((names, self._values_of(scenario, check.table, [name for name, _ in check.where])))
        groups.sort(key=lambda group: -len(group[0]))
        loose = [
            argument
            for argument in tool.meaning.with_role(ArgumentRole.SCOPE)
            if argument.name in wanted and argument.name not in checked and argument.column
        ]
        if loose:
            values = self._values_of(scenario, tool.meaning.table, [str(argument.column) for argument in loose])
            if values:
                groups.append((tuple(argument.name for argument in loose), values))
        return groups

    def _values_of(self, scenario: str, table: str, names: list[str]) -> list[tuple[Any, ...]]:
        columns = self._stage.columns[table]
        found = {
            tuple(row[name] for name in names): None
            for row in self._stage.rows(scenario, table)
            if all(row[name] is not None for name in names)
        }
        return [
            tuple(shown(columns[name], value) for name, value in zip(names, values, strict=True)) for values in found
        ]


def falsy_values(argument: Argument) -> Iterator[Any]:
    """Values that code takes for absent ones if it asks the wrong way."""
    kind = argument.schema.get("type", "string")
    for name in (kind,) if isinstance(kind, str) else kind:
        if name == "boolean":
            yield False
        elif name in ("integer", "number"):
            yield 0
        elif name == "string":
            yield ""
        elif name == "array":
            yield []
