"""Schemas of every version as JSON Schema 2020-12, named ones as definitions; nothing is expanded."""

import math
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from environments.core.sources.budget import Budget
from environments.core.sources.model import Problem
from environments.core.sources.references import References, Target, UnresolvedError, definition_name
from environments.core.sources.text_values import clean_text

MAX_INLINE_DEPTH: Final = 48
MAX_DEFINITIONS: Final = 20_000
MAX_ENUM: Final = 2_000
MAX_EXAMPLES: Final = 8
MAX_COUNT: Final = 2**53
MAX_PROBLEMS: Final = 200

_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_COUNTS: Final = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains",
                  "maxContains")  # fmt: skip
_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_FLAGS: Final = ("uniqueItems", "readOnly", "writeOnly", "deprecated")
_TEXTS: Final = ("format", "pattern", "contentEncoding", "contentMediaType")
_SCHEMA_KEYS: Final = ("additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
                       "unevaluatedProperties", "unevaluatedItems")  # fmt: skip
_SCHEMA_LISTS: Final = ("allOf", "oneOf", "anyOf", "prefixItems")
_SCHEMA_MAPS: Final = ("properties", "patternProperties", "dependentSchemas")
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")
_BESIDE_A_REFERENCE: Final = frozenset({"$ref", "nullable", "x-nullable"})


class Schemas:
    """Normalises schemas of one document and collects those that are referred to.

    Args:
        references: Where its references lead.
        budget: What may be written in all.
        keeps_siblings: Whether keywords beside a `$ref` count, as they do since OpenAPI 3.1; before, only texts do.

    Attributes:
        definitions: Normalised schemas by name; grows while schemas are normalised.
        problems: What could not be read of definitions.
    """

    def __init__(self, references: References, budget: Budget, *, keeps_siblings: bool) -> None:
        self.definitions: dict[str, Any] = {}
        self.problems: list[Problem] = []
        self._references = references
        self._budget = budget
        self._keeps_siblings = keeps_siblings
        self._names: dict[tuple[str, str], str] = {}
        self._numbers: dict[str, int] = {}
        self._pending: list[tuple[str, Target]] = []
        self._noted = self.problems

    def read(self, node: Any, place: str, problems: list[Problem], file: str = "") -> dict[str, Any]:
        """The schema at a place; what it refers to is among `definitions` when this returns.

        Args:
            node: What stands there.
            place: Where, for problems.
            problems: Takes what could not be read of this schema itself.
            file: Which file it stands in.

        Raises:
            UnreadableSourceError: The budget is spent.
        """
        self._noted = problems
        made = self._schema(node, place, file, 0)
        self._noted = self.problems
        # One after another, so that depth never follows references.
        while self._pending:
            name, target = self._pending.pop()
            self.definitions[name] = self._schema(target.value, f"{target.file}#{target.pointer}", target.file, 0)
        return made

    def _problem(self, code: str, place: str, message: str) -> None:
        self._budget.spend()
        if len(self._noted) < MAX_PROBLEMS:
            self._noted.append(Problem(code, place[:300], message[:300]))

    def _schema(self, node: Any, place: str, file: str, depth: int) -> dict[str, Any]:
        self._budget.spend()
        if isinstance(node, bool):
            return {} if node else {"not": {}}
        if not isinstance(node, Mapping):
            self._problem("schema_not_an_object", place, f"a schema is expected, not {type(node).__name__}")
            return {}
        if depth > MAX_INLINE_DEPTH:
            self._problem("schema_too_deep", place, f"nested deeper than {MAX_INLINE_DEPTH} levels")
            return {}
        is_reference = "$ref" in node and not isinstance(node["$ref"], Mapping)
        made = self._reference(node, place, file, depth) if is_reference else self._content(node, place, file, depth)
        return _nullable(made) if node.get("nullable") is True or node.get("x-nullable") is True else made

    def _content(self, node: Mapping[str, Any], place: str, file: str, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        self._types(node, made, place)
        self._words(node, made)
        self._bounds(node, made, place)
        self._parts(node, made, place, file, depth)
        self._discriminator(node, made, place, file)
        return made

    def _reference(self, node: Mapping[str, Any], place: str, file: str, depth: int) -> dict[str, Any]:
        name = self._definition(node["$ref"], place, file)
        if name is None:
            return {}
        made: dict[str, Any] = {"$ref": f"#/definitions/{name}"}
        self._budget.spend(8 * len(node))
        if self._keeps_siblings and node.keys() - _BESIDE_A_REFERENCE:
            rest = {key: value for key, value in node.items() if key not in _BESIDE_A_REFERENCE}
            return made | self._content(rest, place, file, depth)
        self._words({key: node[key] for key in ("title", "description") if key in node}, made)
        if node.get("readOnly") is True:
            made["readOnly"] = True
        return made

    def _definition(self, reference: Any, place: str, file: str, code: str = "reference_unresolved") -> str | None:
        """The name of the definition that a reference leads to; it is filled later."""
        try:
            target = self._references.follow(reference, file)
        except UnresolvedError as error:
            self._problem(code, place, str(error))
            return None
        key = (target.file, target.pointer)
        if key not in self._names:
            if len(self._names) >= MAX_DEFINITIONS:
                self._problem("too_many_definitions", place, f"more than {MAX_DEFINITIONS} named schemas")
                return None
            base = name = definition_name(target)
            while name in self.definitions:
                self._numbers[base] = self._numbers.get(base, 1) + 1
                name = f"{base}_{self._numbers[base]}"
            self._names[key] = name
            self.definitions[name] = {}  # takes the name
            self._pending.append((name, target))
        return self._names[key]

    def _types(self, node: Mapping[str, Any], made: dict[str, Any], place: str) -> None:
        given = node.get("type")
        types = [given] if isinstance(given, str) else given if isinstance(given, list) else []
        words = [each.lower() for each in types[:10] if isinstance(each, str)]
        known = [each for each in dict.fromkeys(words) if each in _TYPES]
        if given == "file":
            made.update(type="string", format="binary")
        elif known:
            made["type"] = known[0] if len(known) == 1 else known
        elif given is not None:
            self._problem("type_unknown", place, f"{str(given)[:100]!r} is no type of JSON Schema")
        enum = node.get("enum")
        if isinstance(enum, list) and enum:
            if len(enum) > MAX_ENUM:
                self._problem("enum_too_long", place, f"{len(enum)} values; none is kept")
            else:
                self._enum(self._budget.keep(enum), made)

    def _enum(self, values: list[Any], made: dict[str, Any]) -> None:
        """Values as the type has them: YAML turns `"1"` without quotes into a number, and lists mean their items."""
        kind = made.get("type")
        if kind == "string":
            made["enum"] = [_as_text(value) for value in values]
        elif kind == "integer":
            made["enum"] = [
                int(value) if isinstance(value, str) and _INTEGER.fullmatch(value) else value for value in values
            ]
        elif kind == "array" and not any(isinstance(value, list) for value in values):
            made["items"] = {"enum": values}
        else:
            made["enum"] = values

    def _words(self, node: Mapping[str, Any], made: dict[str, Any]) -> None:
        for word in ("title", "description"):
            text = clean_text(node.get(word))
            if text:
                made[word] = self._budget.keep(text)
        examples = node.get("examples")
        if isinstance(examples, list) and examples:
            made["examples"] = [self._budget.keep(each) for each in examples[:MAX_EXAMPLES]]
        elif node.get("example") is not None:
            made["examples"] = [self._budget.keep(node["example"])]

    def _bounds(self, node: Mapping[str, Any], made: dict[str, Any], place: str) -> None:
        for key in (*_COUNTS, *_NUMBERS):
            if key in node and not isinstance(node[key], bool):
                number = _number(node[key])
                is_count = key in _COUNTS
                if (
                    number is None
                    or (is_count and not 0 <= number <= MAX_COUNT)
                    or (key == "multipleOf" and number <= 0)
                ):
                    self._problem("bound_unreadable", place, f"{key} is {str(node[key])[:100]!r}")
                else:
                    made[key] = int(number) if is_count else number
        for exclusive, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            # Before JSON Schema draft 6 it was a flag of the plain bound.
            if node.get(exclusive) is True and plain in made:
                made[exclusive] = made.pop(plain)
        for key in _FLAGS:
            if isinstance(node.get(key), bool):
                made[key] = node[key]
        for key in _TEXTS:
            text = clean_text(node.get(key), 2_000)
            if text and key not in made:
                made[key] = self._budget.keep(text)
        for key in ("default", "const"):
            if key in node:
                made[key] = self._budget.keep(node[key])
        required = node.get("required")
        if isinstance(required, list):
            names = list(dict.fromkeys(name for name in map(_as_text, required) if isinstance(name, str)))
            if names:
                self._budget.spend(sum(map(len, names)))
                made["required"] = names

    def _parts(self, node: Mapping[str, Any], made: dict[str, Any], place: str, file: str, depth: int) -> None:
        for key in _SCHEMA_MAPS:
            members = node.get(key)
            if isinstance(members, Mapping):
                made[key] = {
                    self._budget.keep(name): self._schema(part, f"{place}/{key}/{name}"[:400], file, depth + 1)
                    for name, part in members.items()
                }
                if key == "properties":
                    _lift_required(members, made)
        items = node.get("items")
        if isinstance(items, list):  # a tuple, before 2020-12
            if items:
                made["prefixItems"] = [self._schema(part, f"{place}/items", file, depth + 1) for part in items]
        elif isinstance(items, Mapping | bool):
            made["items"] = self._schema(items, f"{place}/items", file, depth + 1) | made.get("items", {})
        for key in _SCHEMA_LISTS:
            parts = node.get(key)
            if isinstance(parts, list) and parts:
                made[key] = [
                    self._schema(part, f"{place}/{key}/{index}", file, depth + 1) for index, part in enumerate(parts)
                ]
        for key in _SCHEMA_KEYS:
            part = node.get(key)
            if isinstance(part, bool):
                made[key] = part
            elif isinstance(part, Mapping):
                made[key] = self._schema(part, f"{place}/{key}", file, depth + 1)
        if "type" not in made and "properties" in made:
            made["type"] = "object"
        elif "type" not in made and "items" in made:
            made["type"] = "array"

    def _discriminator(self, node: Mapping[str, Any], made: dict[str, Any], place: str, file: str) -> None:
        given = node.get("discriminator")
        property_name = clean_text(given.get("propertyName") if isinstance(given, Mapping) else given, 300)
        if not property_name:
            return
        made["discriminator"] = {"propertyName": property_name}
        mapping = given.get("mapping") if isinstance(given, Mapping) else None
        targets: dict[str, str] = {}
        for value, reference in islice(mapping.items(), MAX_ENUM) if isinstance(mapping, Mapping) else ():
            is_name = isinstance(reference, str) and not set(reference) & {"/", "#"} and ".json" not in reference
            shown = f"#/components/schemas/{reference}" if is_name else reference
            # Documents made by tools often map to files that were merged into them: no reason to drop an operation.
            name = self._definition(shown, f"{place}/discriminator", file, "discriminator_unresolved")
            if name is not None:
                targets[self._budget.keep(value)] = f"#/definitions/{name}"
        if targets:
            made["discriminator"]["mapping"] = targets


def _lift_required(members: Mapping[str, Any], made: dict[str, Any]) -> None:
    """`required: true` inside a property, as draft 3 had it, belongs to the object."""
    lifted = [name for name, part in members.items() if isinstance(part, Mapping) and part.get("required") is True]
    if lifted:
        made["required"] = list(dict.fromkeys([*made.get("required", ()), *lifted]))


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with null among its values."""
    if any(key in schema for key in ("$ref", "allOf", "oneOf", "anyOf", "const")):
        return {"anyOf": [schema, {"type": "null"}]}
    made = dict(schema)
    kind = made.get("type")
    if kind is not None:
        made["type"] = list(dict.fromkeys([*([kind] if isinstance(kind, str) else kind), "null"]))
    if "enum" in made and None not in made["enum"]:
        made["enum"] = [*made["enum"], None]
    return made


def _number(value: Any) -> int | float | None:
    """A number, also one that was written as text."""
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return None
        value = float(value) if "." in value else int(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number else None


def _as_text(value: Any) -> Any:
    """What stands for a text although YAML took it for something else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value
