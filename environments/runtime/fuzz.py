"""Random calls that are valid: what a sensible agent could send, from schemas, rows, cases and earlier results.

Ids of rows made on the way are taken from earlier results by reference, never by value, so that the same calls can be
made again in a run whose ids are others.
"""

import random  # noqa: TID251 - a seeded instance of its own; the runtime has no numpy
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from environments.runtime.pack.model import CaseCall, Pack, Tool
from environments.runtime.records import Row, Value
from environments.runtime.references import REFERENCE, pointer_part, resolve, shift_references
from environments.runtime.schema import ArgumentValidator
from environments.runtime.tables import TableInfo

MAX_TRIES = 24
_MAX_VALUES = 40
_MAX_DEPTH = 6
_STORY_SHARE = 0.15
_WORDS = ("alder", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel", "iris", "juniper")
_TEXTS_OF_FORMAT = {
    "date": ("2026-03-02", "2026-03-09", "2025-12-31"),
    "date-time": ("2026-03-02T09:00:00Z", "2026-03-03T10:30:00Z", "2025-12-31T23:59:00Z"),
    "time": ("09:00:00Z", "23:59:59Z"),
    "email": ("ada@example.org", "bo.li@example.com"),
    "uri": ("https://example.org/a", "https://example.com/b?c=d"),
    "uuid": ("6f1c2b0a-3d4e-4f5a-8b6c-7d8e9f0a1b2c", "0a1b2c3d-4e5f-4a6b-9c7d-8e9f0a1b2c3d"),
    "hostname": ("example.org", "a.example.com"),
    "ipv4": ("192.0.2.1", "198.51.100.7"),
    "ipv6": ("2001:db8::1",),
}
_CHARACTERS = string.ascii_lowercase + string.ascii_uppercase + string.digits


class FuzzValues:
    """What arguments of one pack are drawn from whatever the start, collected once."""

    def __init__(self, pack: Pack) -> None:
        self.validators = {tool.name: ArgumentValidator(tool) for tool in pack.tools}
        self.given: dict[tuple[str, str], list[Any]] = {}
        for case in pack.cases:
            for call in case.calls:
                for name, value in call.arguments.items():
                    values = self.given.setdefault((call.tool, name), [])
                    if len(values) < _MAX_VALUES and REFERENCE not in str(value):
                        _add(values, value)


class CallFuzzer:
    """Draws valid calls of one pack; the same seed and results give the same calls."""

    def __init__(
        self,
        pack: Pack,
        tables: Sequence[TableInfo],
        rows: Mapping[str, Sequence[Row]],
        seed: int,
        scenario: str | None = None,
        values: FuzzValues | None = None,
    ) -> None:
        """Collects the values that arguments are drawn from.

        Args:
            pack: The pack.
            tables: Its tables.
            rows: The rows that the calls start from.
            seed: Of the draws.
            scenario: The start's name; cases that start there are played in between, since a way through several
                calls is seldom found by chance.
            values: What `FuzzValues` collects of the pack, if it is there already.
        """
        self._stories = [
            case.calls for case in pack.cases if case.calls and scenario is not None and case.scenario == scenario
        ]
        self._told: list[CaseCall] = []
        self._told_from = 0
        self._draw = random.Random(seed)  # noqa: S311 - a test's choices, no secret
        self._tools = pack.tools
        values = values or FuzzValues(pack)
        self._validators = values.validators
        self._given = values.given
        self._columns = _column_values(tables, rows)
        self._found: dict[str, list[tuple[int, str]]] = {}
        self._num_found = 0

    def next_call(self, results: Sequence[Any], tools: Sequence[str] = ()) -> CaseCall | None:
        """A call that may follow calls with these results.

        Args:
            results: Of all calls so far; the next time there are these and more.
            tools: Which are tried first, in this order; no story is begun then.

        Returns:
            The call, with references to earlier results; None if no tool got valid arguments.
        """
        if not tools and not self._told and self._stories and self._draw.random() < _STORY_SHARE:
            self._told = list(self._draw.choice(self._stories))
            self._told_from = len(results)
        while self._told:
            told = self._told.pop(0)
            arguments = shift_references(told.arguments, self._told_from)
            if self._is_valid(told.tool, arguments, results):
                return CaseCall(told.tool, arguments)
            self._told = []  # what follows may stand on this call
        by_chance = list(self._tools)
        self._draw.shuffle(by_chance)
        if tools:
            by_chance.sort(key=lambda tool: tools.index(tool.name) if tool.name in tools else len(tools))
        found = self._named(results)
        for tool in by_chance:
            for _ in range(MAX_TRIES):
                arguments = self._arguments(tool, found)
                if self._is_valid(tool.name, arguments, results):
                    return CaseCall(tool.name, arguments)
        return None

    def _named(self, results: Sequence[Any]) -> Mapping[str, list[tuple[int, str]]]:
        """Where earlier results hold a value under a name, or under its parent's name and its own.

        Items of lists are left out: their order may be that of new ids, which says nothing about the rows.
        """
        for position in range(self._num_found, len(results)):
            result = results[position]
            if isinstance(result, Mapping) and "error" not in result:
                _collect(result, "", "", position, self._found)
        self._num_found = len(results)
        return self._found

    def _is_valid(self, tool: str, arguments: Mapping[str, Any], results: Sequence[Any]) -> bool:
        try:
            return not self._validators[tool].errors(resolve(arguments, results))
        except (LookupError, TypeError):
            return False

    def _arguments(self, tool: Tool, found: Mapping[str, list[tuple[int, str]]]) -> dict[str, Any]:
        schema = tool.input_schema
        required = set(schema.get("required", ()))
        arguments = {}
        for name in sorted(schema.get("properties", {})):
            if name in required or self._draw.random() < 0.4:
                arguments[name] = self._value(tool, name, schema["properties"][name], found)
        return arguments

    def _value(self, tool: Tool, name: str, schema: Any, found: Mapping[str, list[tuple[int, str]]]) -> Any:
        sources = [
            (3, found.get(name, ())),
            (4, self._columns.get(name, ())),
            (3, self._given.get((tool.name, name), ())),
            (2, (None,)),
        ]
        usable = [(weight, values) for weight, values in sources if values]
        weights = [weight for weight, _ in usable]
        values = self._draw.choices([values for _, values in usable], weights)[0]
        if values == (None,):
            return self._from_schema(schema, schema, 0)
        chosen = self._draw.choice(values)
        return {REFERENCE: list(chosen)} if values is found.get(name) else chosen

    def _from_schema(self, schema: Any, root: Any, depth: int) -> Any:
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return self._draw.choice(_WORDS)
        reference = schema.get("$ref")
        if isinstance(reference, str):
            return self._from_schema(_at_reference(root, reference), root, depth + 1)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._draw.choice(schema["enum"])
        for word in ("oneOf", "anyOf"):
            if word in schema:
                return self._from_schema(self._draw.choice(schema[word]), root, depth + 1)
        if "allOf" in schema:
            merged: dict[str, Any] = {name: value for name, value in schema.items() if name != "allOf"}
            for part in schema["allOf"]:
                merged.update(part if isinstance(part, Mapping) else {})
            return self._from_schema(merged, root, depth + 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = self._draw.choice(kind)
        if kind == "integer":
            return self._integer(schema)
        if kind == "number":
            low, high = _bounds(schema, -1000.0, 1000.0)
            return round(self._draw.uniform(low, high), 3)
        if kind == "boolean":
            return self._draw.random() < 0.5
        if kind == "null":
            return None
        if kind == "array":
            few = int(schema.get("minItems", 0))
            size = self._draw.randint(few, max(few, min(int(schema.get("maxItems", few + 3)), few + 3)))
            return [self._from_schema(schema.get("items", {}), root, depth + 1) for _ in range(size)]
        if kind == "object":
            required = set(schema.get("required", ()))
            return {
                name: self._from_schema(part, root, depth + 1)
                for name, part in sorted(schema.get("properties", {}).items())
                if name in required or self._draw.random() < 0.5
            }
        return self._text(schema)

    def _integer(self, schema: Mapping[str, Any]) -> int:
        low, high = _bounds(schema, -100, 100)
        step = schema.get("multipleOf", 1)
        if isinstance(step, int) and step > 1:
            return self._draw.randint(-(-int(low) // step), int(high) // step) * step
        # Small numbers are the likelier quantities; the whole range would nearly always be refused.
        near = min(int(high), int(low) + 12) if self._draw.random() < 0.7 else int(high)
        return self._draw.randint(int(low), max(int(low), near))

    def _text(self, schema: Mapping[str, Any]) -> str:
        few, many = int(schema.get("minLength", 0)), int(schema.get("maxLength", 60))
        if isinstance(schema.get("pattern"), str):
            return matching_text(schema["pattern"], self._draw)
        if schema.get("format") in _TEXTS_OF_FORMAT:
            return self._draw.choice(_TEXTS_OF_FORMAT[schema["format"]])
        text = " ".join(self._draw.choice(_WORDS) for _ in range(self._draw.randint(1, 4)))
        while len(text) < few:
            text += " " + self._draw.choice(_WORDS)
        return text[:many]


def matching_text(pattern: str, draw: random.Random) -> str:
    """A text that a pattern of classes, groups, alternatives and counts matches; other patterns give what they can."""
    try:
        parsed = re._parser.parse(pattern)  # type: ignore[attr-defined]  # the standard library has no public one
    except (re.error, OverflowError, RecursionError):
        return ""
    return _from_parsed(parsed, draw)


def _from_parsed(parsed: Any, draw: random.Random) -> str:
    written = []
    for operation, detail in parsed:
        name = str(operation)
        if name == "LITERAL":
            written.append(chr(detail))
        elif name == "NOT_LITERAL":
            written.append(draw.choice([one for one in _CHARACTERS if ord(one) != detail]))
        elif name == "ANY":
            written.append(draw.choice(_CHARACTERS))
        elif name == "IN":
            written.append(_from_class(detail, draw))
        elif name == "CATEGORY":
            written.append(draw.choice(_of_category(str(detail))))
        elif name == "BRANCH":
            written.append(_from_parsed(draw.choice(detail[1]), draw))
        elif name == "SUBPATTERN":
            written.append(_from_parsed(detail[-1], draw))
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            low, high, inner = detail
            times = draw.randint(low, max(low, min(int(high), low + 6)))
            written.extend(_from_parsed(inner, draw) for _ in range(times))
    return "".join(written)


def _from_class(parts: Any, draw: random.Random) -> str:
    chosen: list[str] = []
    is_negated = False
    for operation, detail in parts:
        name = str(operation)
        if name == "NEGATE":
            is_negated = True
        elif name == "LITERAL":
            chosen.append(chr(detail))
        elif name == "RANGE":
            chosen.extend(chr(code) for code in range(detail[0], min(detail[1], detail[0] + 200) + 1))
        elif name == "CATEGORY":
            chosen.extend(_of_category(str(detail)))
    if is_negated:
        refused = set(chosen)
        chosen = [one for one in _CHARACTERS if one not in refused]
    return draw.choice(chosen) if chosen else ""


def _of_category(name: str) -> str:
    if name.endswith(("NOT_DIGIT", "NOT_SPACE")):
        return string.ascii_lowercase
    if name.endswith("DIGIT"):
        return string.digits
    if name.endswith(("SPACE", "NOT_WORD")):
        return " "
    return _CHARACTERS


def _bounds(schema: Mapping[str, Any], low: float, high: float) -> tuple[float, float]:
    least = schema.get("minimum", schema.get("exclusiveMinimum", None))
    most = schema.get("maximum", schema.get("exclusiveMaximum", None))
    nudge = 1 if schema.get("type") == "integer" else 0.001
    if least is not None:
        low = least + (nudge if "minimum" not in schema else 0)
        high = max(high, low + 200)
    if most is not None:
        high = most - (nudge if "maximum" not in schema else 0)
        low = min(low, high) if least is not None else min(low, high - 200)
    return low, high


def _at_reference(root: Any, reference: str) -> Any:
    found = root
    for part in reference.removeprefix("#/").split("/"):
        found = found.get(part, {}) if isinstance(found, Mapping) else {}
    return found


def _add(values: list[Any], value: Any) -> None:
    if len(values) < _MAX_VALUES and value not in values:
        values.append(value)


def _column_values(tables: Sequence[TableInfo], rows: Mapping[str, Sequence[Row]]) -> dict[str, list[Value]]:
    """Values of the start rows by the names that an argument for them may have."""
    found: dict[str, list[Value]] = {}
    for table in tables:
        singular = table.name.removesuffix("s")
        names = {column.name: {column.name, f"{singular}_{column.name}"} for column in table.columns}
        for other in tables:
            for key in other.foreign_keys:
                if key.table == table.name:
                    for own, target in zip(key.columns, key.targets, strict=True):
                        names[target].add(own)
        for row in rows.get(table.name, ()):
            for column, aliases in names.items():
                value = row.get(column)
                if value is not None:
                    for alias in sorted(aliases):
                        _add(found.setdefault(alias, []), value)
    return found


def _collect(value: Any, pointer: str, parent: str, position: int, found: dict[str, list[tuple[int, str]]]) -> None:
    if isinstance(value, Mapping):
        for name, item in value.items():
            place = pointer + pointer_part(name)
            if isinstance(item, Mapping):
                _collect(item, place, name.removesuffix("s"), position, found)
            elif item is not None and not isinstance(item, list):
                for alias in sorted({name, f"{parent}_{name}"}):
                    places = found.setdefault(alias, [])
                    places.append((position, place))
                    del places[:-_MAX_VALUES]
