"""Packs with one seeded fault each."""

import ast
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

import numpy as np
import orjson

from environments.core.compile.mutation.model import Mutant, Operator
from environments.core.compile.mutation.python_faults import python_faults
from environments.core.compile.mutation.sql_faults import Surroundings, sql_faults
from environments.runtime.pack.model import Condition, Pack, Tool

_MAX_VALUES: Final = 12
"""A column with more distinct texts holds no states."""


def mutants(pack: Pack, seed: int, max_per_operator: int, *, keeps_postconditions: bool = False) -> Iterator[Mutant]:
    """Seeded faults, by operator and then in the order of the pack.

    Args:
        pack: A pack whose cases hold.
        seed: Of the draw and of what is put in another's place.
        max_per_operator: How many of each kind; drawn where there are more.
        keeps_postconditions: Whether tools may still notice their own faults; without, cases must.

    Yields:
        Packs that differ from the given one in one place. Deterministic.
    """
    found: dict[Operator, list[_Fault]] = {}
    base = pack if keeps_postconditions else _without_postconditions(pack)
    for fault in _Faults(base, seed).all():
        found.setdefault(fault.operator, []).append(fault)
    for operator in Operator:
        faults = found.get(operator, [])
        unit = int.from_bytes(sha256(operator.value.encode()).digest()[:8], "big")
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(unit,)))
        drawn = sorted(int(place) for place in rng.permutation(len(faults))[:max_per_operator])
        for place in drawn:
            fault = faults[place]
            yield Mutant(operator, fault.tool, fault.place, dataclasses.replace(base, **fault.parts))


@dataclass(frozen=True, slots=True)
class _Fault:
    """A fault before it is drawn: the parts of the pack that it changes."""

    operator: Operator
    tool: str
    place: str
    parts: Mapping[str, Any]


def _without_postconditions(pack: Pack) -> Pack:
    tools = []
    for tool in pack.tools:
        texts = " ".join(condition.sql for condition in tool.preconditions)
        captures = {name: sql for name, sql in tool.captures.items() if f":before_{name}" in texts}
        tools.append(dataclasses.replace(tool, postconditions=(), captures=captures))
    return dataclasses.replace(pack, tools=tuple(tools))


@dataclass(slots=True)
class _Faults:
    """Finds every fault of a pack, each text once."""

    pack: Pack
    seed: int
    _seen: set[tuple[Operator, bytes]] = field(default_factory=set)

    def all(self) -> Iterator[_Fault]:
        rng = np.random.default_rng(np.random.SeedSequence(self.seed))
        around = _surroundings(self.pack)
        yield from self._of_source(around, rng)
        yield from self._of_conditions(around, rng)
        yield from self._of_defaults()

    # tools.py

    def _of_source(self, around: Surroundings, rng: np.random.Generator) -> Iterator[_Fault]:
        module = ast.parse(self.pack.tools_py)
        lines = self.pack.tools_py.splitlines(keepends=True)
        functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
        for function in functions:
            tool = self._tool_of(function.name, functions)
            first, last = function.lineno - 1, function.end_lineno or function.lineno
            original = ast.unparse(function)
            for edit in python_faults(function, around, rng):
                text = edit.text(function)
                if text == original or not self._is_new(edit.operator, [function.name, text]):
                    continue
                source = "".join([*lines[:first], text, "\n", *lines[last:]])
                line = getattr(edit.slot.node, "lineno", function.lineno)
                place = f"tools.py:{line} {_difference(original, text)}"
                yield _Fault(edit.operator, tool, place, {"tools_py": source})

    def _tool_of(self, name: str, functions: list[ast.FunctionDef]) -> str:
        """The tool that a function is, or the first one that comes to it."""
        tools = {tool.name for tool in self.pack.tools}
        calls = {
            function.name: {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
            for function in functions
        }
        waiting = [name]
        for one in waiting:
            if one in tools:
                return one
            waiting += [caller for caller, named in calls.items() if one in named and caller not in waiting]
        return ""

    # environment.json

    def _of_conditions(self, around: Surroundings, rng: np.random.Generator) -> Iterator[_Fault]:
        here = Surroundings(around.columns, around.values, is_of_one=True)
        for tool in self.pack.tools:
            for number, condition in enumerate(tool.preconditions):
                place = f"preconditions/{number}"
                rest = (*tool.preconditions[:number], *tool.preconditions[number + 1 :])
                yield self._with(tool, Operator.MISSING_CHECK, f"{place} {condition.code}", preconditions=rest)
                for operator, sql in sql_faults(condition.sql, here, rng):
                    if operator in _RESULTS or not self._is_new(operator, [tool.name, number, sql]):
                        continue
                    changed: list[Condition] = list(tool.preconditions)
                    changed[number] = dataclasses.replace(condition, sql=sql)
                    yield self._with(tool, operator, f"{place} {sql}", preconditions=tuple(changed))

    def _of_defaults(self) -> Iterator[_Fault]:
        for tool in self.pack.tools:
            for name, entry in tool.input_schema.get("properties", {}).items():
                if not isinstance(entry, Mapping) or entry.get("default") is None:
                    continue
                other = _other_value(entry)
                if other is not None:
                    properties = {**tool.input_schema["properties"], name: {**entry, "default": other}}
                    schema = {**tool.input_schema, "properties": properties}
                    place = f"input_schema/{name} {entry['default']!r} -> {other!r}"
                    yield self._with(tool, Operator.DEFAULT_CHANGED, place, input_schema=schema)

    def _with(self, tool: Tool, operator: Operator, place: str, **parts: Any) -> _Fault:
        changed = dataclasses.replace(tool, **parts)
        tools = tuple(changed if each is tool else each for each in self.pack.tools)
        return _Fault(operator, tool.name, place, {"tools": tools})

    def _is_new(self, operator: Operator, parts: list[Any]) -> bool:
        mark = (operator, orjson.dumps(parts))
        is_new = mark not in self._seen
        self._seen.add(mark)
        return is_new


_RESULTS: Final = frozenset({Operator.RESULT_LOST, Operator.SWAPPED_COLUMNS})
"""Faults of what a statement answers; a condition answers nothing but yes and no."""


def _surroundings(pack: Pack) -> Surroundings:
    held: dict[str, dict[str, None]] = {}
    for scenario in pack.scenarios:
        for rows in scenario.rows.values():
            for row in rows:
                for name, value in row.items():
                    if isinstance(value, str):
                        held.setdefault(name, {})[value] = None
    values = {name: tuple(found) for name, found in sorted(held.items()) if len(found) <= _MAX_VALUES}
    return Surroundings({name: tuple(table.columns) for name, table in pack.tables.items()}, values)


def _other_value(schema: Mapping[str, Any]) -> Any:
    default = schema["default"]
    if isinstance(default, bool):
        return not default
    if isinstance(default, int | float):
        return default + 1 if default + 1 <= schema.get("maximum", default + 1) else default - 1
    if isinstance(default, str):
        return next((value for value in schema.get("enum", (f"{default}x",)) if value not in (default, None)), None)
    return None


def _difference(before: str, after: str) -> str:
    """The first line that differs, in its two forms."""
    pairs = zip(before.splitlines(), [*after.splitlines(), ""], strict=False)
    one, other = next(((one, other) for one, other in pairs if one != other), ("", ""))
    return f"{one.strip()} -> {other.strip()}"
