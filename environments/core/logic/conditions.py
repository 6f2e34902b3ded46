"""Whether the conditions of a tool can hold together, can fail at all, and can hold in a state that there is."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from environments.core.logic.formulas import Formula, Translator
from environments.core.logic.model import LogicFinding, Severity
from environments.core.logic.solver import Domains, can_hold, negated
from environments.core.logic.statements import StatementReader
from environments.core.logic.states import Truth, truth_in
from environments.core.logic.types import json_types
from environments.runtime.pack.model import Condition, Scenario, Tool
from environments.runtime.records import ColumnRef
from environments.runtime.tables import TableInfo


class ConditionChecker:
    """Looks at the conditions of a pack's tools."""

    def __init__(
        self,
        tables: Mapping[str, TableInfo],
        values: Mapping[ColumnRef, Sequence[Any]],
        scenarios: Sequence[Scenario],
        reader: StatementReader,
    ) -> None:
        """Takes what conditions are held against.

        Args:
            tables: By name.
            values: The only values of columns that have such.
            scenarios: The states that there are to begin with.
            reader: Tells which columns a condition asks.
        """
        self._tables = tables
        self._columns = {
            (table.name, column.name): (
                column.type,
                column.is_nullable,
                values.get((table.name, column.name), ()),
            )
            for table in tables.values()
            for column in table.columns
        }
        self._states = [{name: scenario.rows.get(name, ()) for name in tables} for scenario in scenarios]
        self._reader = reader
        self._seen: dict[str, list[Truth]] = {}

    def check(self, tool: Tool, written: Collection[ColumnRef], grown: Collection[str]) -> Iterator[LogicFinding]:
        """Findings about one tool.

        Args:
            tool: The tool.
            written: Columns that some tool of the pack writes.
            grown: Tables that some tool adds rows to or deletes rows from.
        """
        translator = Translator(self._tables, tool.captures)
        domains = _domains(tool, self._columns)
        before = [(one, translator.condition(one.sql)) for one in tool.preconditions]
        yield from self._check_before(tool, before, domains)
        yield from self._check_after(tool, before, translator, domains)
        for position, one in enumerate(tool.preconditions):
            yield from self._check_states(tool, position, one, written, grown)

    def _check_before(
        self, tool: Tool, conditions: Sequence[tuple[Condition, Formula | None]], domains: Domains
    ) -> Iterator[LogicFinding]:
        earlier: list[tuple[Condition, Formula]] = []
        for position, (condition, formula) in enumerate(conditions):
            if formula is None:
                continue
            place = f"tools/{tool.name}/preconditions/{position}"
            known = [one for _, one in earlier]
            if not can_hold([formula], domains):
                message = f"{condition.code}: it can never hold, so {tool.name} never succeeds"
                yield LogicFinding("condition_never_holds", place, message, tool=tool.name)
                return
            if not can_hold([*known, formula], domains):
                other = next((one.code for one, early in earlier if not can_hold([early, formula], domains)), None)
                name = other or " and ".join(one.code for one, _ in earlier)
                message = f"{condition.code} cannot hold where {name} does"
                yield LogicFinding("conditions_contradict", place, message, tool=tool.name)
                return
            if not can_hold([*known, negated(formula)], domains):
                message = f"nothing can be rejected with {condition.code}: it holds wherever it is asked"
                yield LogicFinding("rejection_impossible", place, message, tool=tool.name)
            earlier.append((condition, formula))

    def _check_after(
        self,
        tool: Tool,
        before: Sequence[tuple[Condition, Formula | None]],
        translator: Translator,
        domains: Domains,
    ) -> Iterator[LogicFinding]:
        known = [formula for _, formula in before if formula is not None]
        if known and not can_hold(known, domains):
            return  # said already
        after: list[Formula] = []
        for position, condition in enumerate(tool.postconditions):
            formula = translator.condition(condition.sql, is_after=True)
            if formula is None:
                continue
            place = f"tools/{tool.name}/postconditions/{position}"
            if not can_hold([formula], domains):
                message = f"{condition.code}: it can never hold, so every success becomes a failure"
                yield LogicFinding("condition_never_holds", place, message, tool=tool.name)
            elif not can_hold([*known, formula], domains):
                message = f"{condition.code} cannot hold where the pre-conditions did"
                yield LogicFinding("postcondition_contradicts", place, message, tool=tool.name)
            elif after and not can_hold([*after, formula], domains):
                message = f"{condition.code} cannot hold together with the post-conditions before it"
                yield LogicFinding("conditions_contradict", place, message, tool=tool.name)
            else:
                after.append(formula)

    def _check_states(
        self, tool: Tool, position: int, condition: Condition, written: Collection[ColumnRef], grown: Collection[str]
    ) -> Iterator[LogicFinding]:
        use = self._reader.read(condition.sql).use
        if (
            not self._states
            or any(name in grown for name in use.read_tables)
            or any(column in written for column in use.reads)
        ):
            return  # other states than these can be reached
        found = self._seen.get(condition.sql)
        if found is None:
            found = self._seen[condition.sql] = [truth_in(condition.sql, state) for state in self._states]
        place = f"tools/{tool.name}/preconditions/{position}"
        if all(one is Truth.FALSE for one in found):
            message = f"{condition.code}: it holds in no scenario for any arguments, and no tool changes what it asks"
            yield LogicFinding("condition_unmet", place, message, tool=tool.name)
        elif all(one is Truth.TRUE for one in found):
            message = f"{condition.code}: it holds in every scenario, and no tool changes what it asks"
            yield LogicFinding("condition_always_holds", place, message, Severity.WARNING, tool.name)


def _domains(tool: Tool, columns: Mapping[ColumnRef, tuple[str, bool, Sequence[Any]]]) -> Domains:
    properties = tool.input_schema.get("properties", {})
    required = set(tool.input_schema.get("required", ()))
    parameters: dict[str, tuple[Any, bool, Sequence[str]]] = {}
    bounds: dict[str, tuple[float | None, float | None]] = {}
    for name, schema in properties.items():
        python_name = tool.argument_names.get(name, name)
        types = json_types(schema, tool.input_schema)
        values = _enum(schema)
        if isinstance(schema, Mapping) and types <= {"integer", "number"}:
            bounds[python_name] = _number(schema.get("minimum")), _number(schema.get("maximum"))
        is_optional = name not in required
        for spelled in {name, python_name}:
            parameters[spelled] = (values, is_optional, tuple(sorted(types)))
    return Domains(parameters, columns, bounds)


def _enum(schema: Any) -> tuple[Any, ...] | None:
    if not isinstance(schema, Mapping):
        return None
    values = schema.get("enum", (schema["const"],) if "const" in schema else None)
    if values is None or any(isinstance(value, dict | list) for value in values):
        return None
    return tuple(int(value) if isinstance(value, bool) else value for value in values)


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
