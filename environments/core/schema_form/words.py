"""A JSON Schema in words: the rows of a table that people read, constraints one by one, references followed."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from environments.runtime.references import pointer_part
from environments.runtime.schema.references import LOCAL_REFERENCE

MAX_TABLE_ROWS: Final = 300
MAX_TABLE_DEPTH: Final = 8
MAX_REFERENCES: Final = 8
"""References that lead straight to another one."""
MAX_SHOWN: Final = 300
"""Characters of one word of a constraint."""
MAX_LISTED: Final = 40
"""Values of an enum that are listed."""

_TYPE_WORDS = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
    "object": "object",
    "array": "array",
}
_CONSTRAINTS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} character(s)",
    "maxLength": "at most {} character(s)",
    "minItems": "at least {} item(s)",
    "maxItems": "at most {} item(s)",
    "pattern": "matches {}",
}


@dataclass(frozen=True, slots=True)
class SchemaRow:
    """One line of a schema's table.

    Attributes:
        name: Of the property; `[]` for the items of an array, empty for one of several forms.
        depth: How deep it is nested, from 0.
        type_words: What the value is.
        is_required: Whether it must be given; None where that makes no sense.
        constraints: What else is asked of it.
        default: As JSON; None without one.
        description: The schema's own words.
        pointer: Where in the schema's values it is, with `*` for any item.
    """

    name: str
    depth: int
    type_words: str
    is_required: bool | None
    constraints: tuple[str, ...]
    default: str | None
    description: str
    pointer: str


def schema_rows(schema: Any) -> tuple[SchemaRow, ...]:
    """The parts of a schema from the top, each property before its own; at most `MAX_TABLE_ROWS`."""
    rows: list[SchemaRow] = []
    for row in _members(schema, schema, 0, ""):
        if len(rows) == MAX_TABLE_ROWS:
            rows.append(SchemaRow("…", 0, "more than can be shown", None, (), None, "", ""))
            break
        rows.append(row)
    return tuple(rows)


def _members(root: Any, schema: Any, depth: int, pointer: str) -> Iterator[SchemaRow]:
    found = follow_reference(root, schema)
    if found is None or depth >= MAX_TABLE_DEPTH:
        return
    required = found.get("required")
    required = required if isinstance(required, list | tuple) else ()
    properties = found.get("properties")
    for name, part in properties.items() if isinstance(properties, Mapping) else ():
        yield from _part(root, part, str(name), depth, pointer + pointer_part(name), is_required=name in required)
    if isinstance(found.get("additionalProperties"), Mapping):
        yield from _part(root, found["additionalProperties"], "any other name", depth, f"{pointer}/*")
    for position, part in enumerate(_list(found.get("prefixItems"))):
        yield from _part(root, part, f"[{position}]", depth, f"{pointer}/{position}")
    if isinstance(found.get("items"), Mapping) and (_is_rich(root, found["items"]) or depth == 0):
        yield from _part(root, found["items"], "[ ]", depth, f"{pointer}/*")
    for keyword, words in (("anyOf", "any of these"), ("oneOf", "exactly one of these"), ("allOf", "all of these")):
        for position, part in enumerate(_list(found.get(keyword)), 1):
            yield from _part(root, part, f"{words}, {position}", depth, pointer)


def _part(
    root: Any, schema: Any, name: str, depth: int, pointer: str, *, is_required: bool | None = None
) -> Iterator[SchemaRow]:
    found = follow_reference(root, schema)
    if found is None:
        yield SchemaRow(name, depth, "anything" if schema is True else "nothing", is_required, (), None, "", pointer)
        return
    description = found.get("description")
    yield SchemaRow(
        name=name,
        depth=depth,
        type_words=type_words(root, found),
        is_required=is_required,
        constraints=tuple(constraint_words(found)),
        default=json_text(found["default"])[:MAX_SHOWN] if "default" in found else None,
        description=description if isinstance(description, str) else "",
        pointer=pointer,
    )
    yield from _members(root, found, depth + 1, pointer)


def _is_rich(root: Any, schema: Any) -> bool:
    """Whether an array's items say more than their type, which stands beside the array itself."""
    found = follow_reference(root, schema) or {}
    return bool(found.keys() - {"type", "title", "$defs"})


def type_words(root: Any, schema: Mapping[str, Any]) -> str:
    """What a value of the schema is, in a word or a few."""
    if "const" in schema:
        return "always this"
    if "enum" in schema:
        return "one of these"
    types = schema.get("type")
    names = [str(name) for name in (types if isinstance(types, list) else [types]) if name is not None]
    if not names:
        return (
            "object" if isinstance(schema.get("properties"), Mapping) else "any of several" if _forms(schema) else "any"
        )
    words = " or ".join(_TYPE_WORDS.get(name, name[:MAX_SHOWN]) for name in names)
    if isinstance(schema.get("format"), str):
        words += f" ({schema['format'][:MAX_SHOWN]})"
    if "array" in names:
        items = follow_reference(root, schema.get("items"))
        item_types = items.get("type") if items else None
        if isinstance(item_types, str):
            plural = {"object": "objects", "array": "arrays", "string": "texts", "boolean": "true or false"}
            words += f" of {plural.get(item_types, f'{item_types[:MAX_SHOWN]}s')}"
    return words


def _forms(schema: Mapping[str, Any]) -> bool:
    return bool(schema.keys() & {"anyOf", "oneOf", "allOf"})


def constraint_words(schema: Mapping[str, Any]) -> Iterator[str]:
    """What a schema asks of a value besides its type, one thing at a time."""
    if "const" in schema:
        yield json_text(schema["const"])[:MAX_SHOWN]
    values = schema.get("enum")
    if isinstance(values, list):
        listed = [value if isinstance(value, str) and value else json_text(value) for value in values[:MAX_LISTED]]
        more = f" and {len(values) - MAX_LISTED} more" if len(values) > MAX_LISTED else ""
        yield ", ".join(text[:MAX_SHOWN] for text in listed) + more
    for keyword, words in _CONSTRAINTS.items():
        if keyword in schema:
            value = schema[keyword]
            words = words.replace("(s)", "" if value == 1 else "s")
            yield words.format((value if isinstance(value, str) else json_text(value))[:MAX_SHOWN])
    if schema.get("uniqueItems") is True:
        yield "no item twice"
    if "not" in schema:
        yield f"not {json_text(schema['not'])[:MAX_SHOWN]}"


def follow_reference(root: Any, schema: Any) -> Mapping[str, Any] | None:
    """A schema with its own reference replaced by what it points to; None if it is no object or leads nowhere.

    Keywords beside the reference, such as a description, win over those it points to.
    """
    beside: dict[str, Any] = {}
    for _ in range(MAX_REFERENCES):
        if not isinstance(schema, Mapping):
            return None
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return {**schema, **beside} if beside else schema
        beside = {**{name: value for name, value in schema.items() if name != "$ref"}, **beside}
        match = LOCAL_REFERENCE.fullmatch(reference)
        if match is None or not isinstance(root, Mapping):
            return None
        if not match.group(1):
            schema = root
            continue
        definitions = root.get("$defs")
        name = match.group(2).replace("~1", "/").replace("~0", "~")
        schema = definitions.get(name) if isinstance(definitions, Mapping) else None
    return None


def json_text(value: Any, indent: int | None = None) -> str:
    """A JSON value as text that every encoding can carry."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    except (RecursionError, ValueError):
        return "…"
    return text if text.isascii() or _is_plain(text) else json.dumps(value, indent=indent, default=str)


def _is_plain(text: str) -> bool:
    return all(character.isprintable() or character == "\n" for character in text)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
