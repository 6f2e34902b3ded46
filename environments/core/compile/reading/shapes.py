"""Schemas as shapes: merged one level at a time, cached by node, never expanded."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import orjson

from environments.core.cleaning.descriptions import plain_text
from environments.core.compile.reading.calls import Property, Shape, ShapeType
from environments.core.compile.reading.vocabulary import REFERENCE_MEMBERS
from environments.core.compile.reading.words import squash
from environments.core.compile.semantics import Schema
from environments.core.sources.model import named
from environments.runtime.schema.compiled import SchemaError, compile_schema
from environments.runtime.schema.keywords import FORMATS, MAX_PATTERN_CHARACTERS

MAX_MERGES: Final = 12
"""References, parts and variants inside one another, for one level of a value."""
MAX_DESCRIPTION: Final = 400
MAX_PROMOTED_MEMBERS: Final = 4
"""Of a nested object that is no resource of its own."""
MAX_EXAMPLE_BYTES: Final = 600
MAX_EXAMPLES: Final = 4

EXPANDS: Final = "expands"
"""Among the keywords of a text that may be shown as a whole object: the name of that object's definition."""

_KEYWORDS: Final = (
    "format", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
    "minItems", "maxItems", "multipleOf", "uniqueItems",
)  # fmt: skip
_SAYS_TYPE: Final = frozenset(
    {"$ref", "type", "properties", "items", "enum", "const", "allOf", "oneOf", "anyOf", "format"}
)
_READ_ONLY: Final = re.compile(r"\W{0,2}(output|read)[ -]?only\b", re.IGNORECASE)
"""As descriptions begin where a format had no word for it."""
_TYPE_NAMES: Final = {each.value: each for each in ShapeType if each is not ShapeType.ANY}
_TEXT_FORMATS: Final = frozenset({"date-time", "date", "uuid", "uri", "email", "ipv4", "ipv6", "hostname", "byte"})
_NUMBERS: Final = frozenset({ShapeType.INTEGER, ShapeType.NUMBER})
_SCALARS: Final = frozenset({ShapeType.STRING, ShapeType.BOOLEAN}) | _NUMBERS
_OBJECTS: Final = frozenset({ShapeType.OBJECT})
_ARRAYS: Final = frozenset({ShapeType.ARRAY})
_NOTHING: Final = Shape(ShapeType.ANY)


class Shapes:
    """The shapes of one document.

    Args:
        definitions: What `$ref`s name.
    """

    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self._definitions = definitions
        self._names = {id(node): name for name, node in definitions.items()}
        self._shapes: dict[int, Shape] = {}
        self._properties: dict[tuple[int, frozenset[str]], tuple[Property, ...]] = {}
        # An id names a node only while the node lives.
        self._kept: list[object] = []

    def of(self, schema: Schema | None) -> Shape:
        """The shape of a schema node; the same object for the same node. Cycles and depth are guarded."""
        return _NOTHING if schema is None else self._shape(schema, ())

    def variants(self, schema: Schema) -> tuple[Shape, ...]:
        """The shapes among which a value may choose, without null; the schema's own shape if it leaves no choice."""
        node = named(schema, self._definitions)
        choices = [part for key in ("oneOf", "anyOf") for part in node.get(key, ()) if isinstance(part, Mapping)]
        shapes = tuple(self.of(part) for part in choices if part.get("type") != "null")
        return shapes or (self.of(schema),)

    def properties(self, shape: Shape, promoted: frozenset[str] = frozenset()) -> tuple[Property, ...]:
        """The members of an object shape after promotion.

        A member whose name is among `promoted` (`properties`, `attributes`, `metadata`, by the family's conventions)
        and whose shape is an object is replaced by its own members; so is any other nested object of at most four
        scalar members that has no id of its own (`name: {first, last}`, `price: {amount, currency}`).
        """
        key = (id(shape), promoted)
        if key not in self._properties:
            self._kept.append(shape)
            self._properties[key] = tuple(self._members(shape, promoted))
        return self._properties[key]

    def plain(self, schema: Schema, depth: int = 3, max_members: int = 24) -> dict[str, object]:
        """The schema without `$ref`, allOf and unions, as tools may show it; deeper levels are `{"type": "object"}`.

        Only what a tool's schema may hold is kept: formats that are checked, patterns that a linear engine accepts,
        enums of plain values. Examples stay where they are small.
        """
        return self._plain(self.of(schema), depth, max_members)

    # --- Merging ----------------------------------------------------------------------------------------------------

    def _shape(self, schema: Schema, trail: tuple[int, ...]) -> Shape:
        known = self._shapes.get(id(schema))
        if known is not None:
            return known
        if id(schema) in trail or len(trail) > MAX_MERGES:
            return Shape(ShapeType.ANY)
        trail = (*trail, id(schema))
        if "$ref" in schema:
            shape = self._refined(self._shape(named(schema, self._definitions), trail), schema)
        else:
            shape = self._merged(schema, trail)
        self._shapes[id(schema)] = shape
        self._kept.append(schema)
        return shape

    def _refined(self, shape: Shape, beside: Schema) -> Shape:
        """The target of a reference with what stands beside it."""
        rest = {key: value for key, value in beside.items() if key != "$ref"}
        if not rest:
            return shape
        own = _own(rest)
        return replace(
            shape,
            description=own.description or shape.description,
            examples=own.examples or shape.examples,
            default=own.default if own.default is not None else shape.default,
            is_read_only=shape.is_read_only or own.is_read_only,
            is_write_only=shape.is_write_only or own.is_write_only,
            is_deprecated=shape.is_deprecated or own.is_deprecated,
            keywords={**shape.keywords, **own.keywords},
            values=own.values or shape.values,
            schema=beside,
        )

    def _merged(self, schema: Schema, trail: tuple[int, ...]) -> Shape:
        shape = _own(schema)
        parts = [self._shape(part, trail) for part in schema.get("allOf", ()) if isinstance(part, Mapping)]
        if parts:
            shape = self._joined(parts, shape)
        for key in ("oneOf", "anyOf"):
            given = [part for part in schema.get(key, ()) if isinstance(part, Mapping)]
            if given:
                is_nullable = any(_is_null(part) for part in given)
                variants = [self._shape(part, trail) for part in given if not _is_null(part) and part]
                shape = self._united(shape, [each for each in variants if not _only_restricts(each)], is_nullable)
        return replace(shape, type=_type_of(shape), name=self._names.get(id(schema), shape.name), schema=schema)

    def _joined(self, parts: Sequence[Shape], own: Shape) -> Shape:
        """All parts of an `allOf` and what stands beside them."""
        everything = (*parts, own)
        properties: dict[str, Schema] = {}
        for part in everything:
            for name, node in part.properties.items():
                if name not in properties or _SAYS_TYPE & node.keys():
                    properties[name] = node
        named = [part for part in parts if part.name]
        last = tuple(reversed(everything))
        return Shape(
            type=next((part.type for part in last if part.type is not ShapeType.ANY), ShapeType.ANY),
            name=named[0].name if len(named) == 1 and not own.properties else "",
            properties=properties,
            required=frozenset().union(*(part.required for part in everything)),
            items=next((part.items for part in last if part.items is not None), None),
            values=next((part.values for part in last if part.values), ()),
            is_nullable=any(part.is_nullable for part in everything),
            is_read_only=any(part.is_read_only for part in everything),
            is_write_only=any(part.is_write_only for part in everything),
            is_deprecated=any(part.is_deprecated for part in everything),
            examples=next((part.examples for part in last if part.examples), ()),
            default=next((part.default for part in last if part.default is not None), None),
            description=next((part.description for part in last if part.description), ""),
            keywords={key: value for part in everything for key, value in part.keywords.items()},
        )

    def _united(self, own: Shape, variants: Sequence[Shape], is_nullable: bool) -> Shape:
        """A choice of variants beside what holds for all of them."""
        kept = [each for each in variants if each.values != ("",)]
        is_nullable = is_nullable or own.is_nullable or any(each.is_nullable for each in variants)
        if not kept:
            return replace(own, is_nullable=is_nullable)
        choice = kept[0] if len(kept) == 1 else self._choice(kept)
        if own.type in _SCALARS and choice.type not in _SCALARS:
            choice = own
        return replace(
            choice,
            name=choice.name if not own.properties else "",
            properties={**choice.properties, **own.properties},
            required=choice.required | own.required,
            items=own.items if own.items is not None else choice.items,
            values=own.values or choice.values,
            is_nullable=is_nullable,
            is_read_only=own.is_read_only or choice.is_read_only,
            is_write_only=own.is_write_only or choice.is_write_only,
            is_deprecated=own.is_deprecated,
            examples=own.examples or choice.examples,
            default=own.default if own.default is not None else choice.default,
            description=own.description or choice.description,
            keywords={**choice.keywords, **own.keywords},
        )

    def _choice(self, variants: Sequence[Shape]) -> Shape:
        types = {each.type for each in variants}
        examples = next((each.examples for each in variants if each.examples), ())
        if types <= _OBJECTS:
            properties: dict[str, Schema] = {}
            for each in variants:
                for name, node in each.properties.items():
                    properties.setdefault(name, node)
            required = frozenset.intersection(*(each.required for each in variants))
            return Shape(ShapeType.OBJECT, properties=properties, required=required, examples=examples)
        if types <= _ARRAYS:
            items = [each.items for each in variants if each.items is not None]
            distinct = list({id(each): each for each in items}.values())
            union: Schema | None = {"anyOf": distinct} if len(distinct) > 1 else next(iter(distinct), None)
            return Shape(ShapeType.ARRAY, items=union, examples=examples)
        if types <= _SCALARS:
            return _scalar_choice(variants, types)
        texts = [each for each in variants if each.type is ShapeType.STRING]
        objects = [each for each in variants if each.type is ShapeType.OBJECT]
        if len(texts) == 1 and objects and len(texts) + len(objects) == len(variants):
            # An id, or the object that it names where the caller asks for it.
            names = [each.name for each in objects if each.name]
            expands = {EXPANDS: names[0]} if names else {}
            return replace(texts[0], keywords={**texts[0].keywords, **expands})
        return Shape(ShapeType.ANY, examples=examples)

    # --- Members ----------------------------------------------------------------------------------------------------

    def _members(self, shape: Shape, promoted: frozenset[str]) -> Iterator[Property]:
        for name, node in shape.properties.items():
            inner = self.of(node)
            is_required = name in shape.required
            if inner.type is not ShapeType.OBJECT or not inner.properties:
                yield Property((name,), inner, is_required)
            elif name in promoted:
                for below in self._members(inner, frozenset()):
                    yield Property((name, *below.path), below.shape, is_required and below.is_required)
            elif self._is_part(inner):
                for child, schema in inner.properties.items():
                    yield Property((name, child), self.of(schema), is_required and child in inner.required)
            else:
                yield Property((name,), inner, is_required)

    def _is_part(self, shape: Shape) -> bool:
        """Whether an object is but a few values of the row that holds it."""
        return (
            len(shape.properties) <= MAX_PROMOTED_MEMBERS
            and not any(squash(name) in REFERENCE_MEMBERS for name in shape.properties)
            and all(self.of(node).is_scalar for node in shape.properties.values())
        )

    # --- Plain schemas ----------------------------------------------------------------------------------------------

    def _plain(self, shape: Shape, depth: int, max_members: int) -> dict[str, object]:
        made: dict[str, object] = {}
        if shape.type is not ShapeType.ANY:
            made["type"] = [shape.type.value, "null"] if shape.is_nullable else shape.type.value
        values = [value for value in shape.values if not isinstance(value, dict | list)]
        if values and len(values) == len(shape.values):
            made["enum"] = [*values, None] if shape.is_nullable else values
        made.update(_checked_keywords(shape))
        if shape.type is ShapeType.ARRAY:
            items = self._plain(self.of(shape.items), depth - 1, max_members) if depth > 0 else {}
            if items:
                made["items"] = items
        elif shape.type is ShapeType.OBJECT and depth > 0 and shape.properties:
            properties: dict[str, object] = {}
            for name, node in list(shape.properties.items())[:max_members]:
                inner = self.of(node)
                member = self._plain(inner, depth - 1, max_members)
                if inner.description:
                    member["description"] = inner.description
                properties[name] = member
            made["properties"] = properties
            required = [name for name in properties if name in shape.required]
            if required:
                made["required"] = required
        examples = [each for each in shape.examples if _is_small(each)][:MAX_EXAMPLES]
        if examples:
            made["examples"] = examples
        if shape.default is not None and _is_small(shape.default):
            made["default"] = shape.default
        return made


def _own(schema: Schema) -> Shape:
    """What a node says by itself, without its parts and variants."""
    description = short_text(str(schema.get("description") or schema.get("title") or ""))
    given = schema.get("type")
    types = [given] if isinstance(given, str) else [each for each in given or () if isinstance(each, str)]
    values: Sequence[Any] = schema.get("enum") or ((schema["const"],) if schema.get("const") is not None else ())
    members = schema.get("properties")
    items = schema.get("items")
    examples = [each for each in schema.get("examples", ()) if each is not None]
    default = schema.get("default")
    if default is not None:
        examples.append(default)
    return Shape(
        type=_listed_type([each for each in types if each != "null"]),
        properties={
            name: node for name, node in (members.items() if isinstance(members, Mapping) else ())
            if isinstance(node, Mapping)
        },
        required=frozenset(schema.get("required", ())),
        items=items if isinstance(items, Mapping) else None,
        values=tuple(value for value in values if value is not None),
        is_nullable="null" in types or None in values,
        is_read_only=schema.get("readOnly") is True or bool(_READ_ONLY.match(description)),
        is_write_only=schema.get("writeOnly") is True,
        is_deprecated=schema.get("deprecated") is True,
        examples=tuple(examples),
        default=default,
        description=description,
        keywords={key: schema[key] for key in _KEYWORDS if key in schema},
    )  # fmt: skip


def _listed_type(types: Sequence[str]) -> ShapeType:
    known = {_TYPE_NAMES[each] for each in types if each in _TYPE_NAMES}
    if len(known) == 1:
        return next(iter(known))
    if known and known <= _NUMBERS:
        return ShapeType.NUMBER
    return ShapeType.STRING if known and known <= _SCALARS else ShapeType.ANY


def _type_of(shape: Shape) -> ShapeType:
    """The type that a shape has, said or meant."""
    if shape.type is not ShapeType.ANY:
        return shape.type
    if shape.properties:
        return ShapeType.OBJECT
    if shape.items is not None:
        return ShapeType.ARRAY
    if shape.values:
        kinds = {type(value) for value in shape.values}
        known = {str: ShapeType.STRING, bool: ShapeType.BOOLEAN, int: ShapeType.INTEGER, float: ShapeType.NUMBER}
        return known.get(next(iter(kinds)), ShapeType.ANY) if len(kinds) == 1 else ShapeType.ANY
    if shape.keywords.get("format") in _TEXT_FORMATS or shape.keywords.get("pattern"):
        return ShapeType.STRING
    return ShapeType.ANY


def _scalar_choice(variants: Sequence[Shape], types: set[ShapeType]) -> Shape:
    first = variants[0]
    kind = first.type if len(types) == 1 else ShapeType.NUMBER if types <= _NUMBERS else ShapeType.STRING
    # An enum beside a plain text only names the values that are known today.
    values: dict[Any, None] = {}
    if kind is first.type and all(each.values for each in variants):
        values = dict.fromkeys(value for each in variants for value in each.values)
    shared = dict(first.keywords) if len(types) == 1 else {}
    for each in variants[1:]:
        shared = {key: value for key, value in shared.items() if each.keywords.get(key) == value}
    examples = tuple(example for each in variants for example in each.examples)
    return Shape(kind, values=tuple(values), examples=examples, keywords=shared)


def _is_null(schema: Schema) -> bool:
    return schema.get("type") in ("null", ["null"]) or schema.get("enum") == [None]


def _only_restricts(shape: Shape) -> bool:
    """Whether a variant says nothing but which members must be there."""
    return shape.type is ShapeType.ANY and not shape.properties and not shape.values and not shape.keywords


def _checked_keywords(shape: Shape) -> Iterator[tuple[str, object]]:
    for key, value in shape.keywords.items():
        if key == "format":
            if value in FORMATS and shape.type is ShapeType.STRING:
                yield key, value
        elif key == "pattern":
            if shape.type is ShapeType.STRING and _is_linear(value):
                yield key, value
        elif key != EXPANDS:
            yield key, value


@lru_cache(4096)
def _is_linear(pattern: str) -> bool:
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        return False
    try:
        compile_schema({"pattern": pattern})
    except SchemaError:
        return False
    return True


def _is_small(value: object) -> bool:
    return len(orjson.dumps(value)) <= MAX_EXAMPLE_BYTES


def short_text(text: str, limit: int = MAX_DESCRIPTION) -> str:
    """Text without mark-up, cut behind a sentence or word where it is longer than the limit."""
    plain = plain_text(text[: limit * 4])
    if len(plain) <= limit:
        return plain
    head = plain[:limit]
    stop = head.rfind(". ")
    return head[: stop + 1] if stop > limit // 3 else head[: head.rfind(" ")].rstrip(",;:") + "…"
