"""How values of a schema are drawn, and how text becomes a value again."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from environments.core.schema_form.values import ABSENT, LONG_TEXT, MAX_CHOICES, Kind
from environments.core.schema_form.words import follow_reference, json_text

NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,39})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?", re.ASCII)
DATE = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Shape:
    """How values of a schema are drawn and read.

    Attributes:
        kind: The control.
        schema: With its reference followed.
        is_nullable: Null is a value too.
        may_be_empty: The empty text may be a value.
        values: Those of a choice.
    """

    kind: Kind
    schema: Mapping[str, Any]
    is_nullable: bool = False
    may_be_empty: bool = False
    values: tuple[Any, ...] = ()


def shape_of(root: Any, schema: Any) -> Shape:
    """How a part of a schema is drawn; what is not understood is JSON."""
    found = follow_reference(root, schema)
    if found is None:
        return Shape("json", {})
    if found.keys() & {"anyOf", "oneOf", "allOf", "not", "$ref"}:
        return Shape("json", found)
    if "const" in found or "enum" in found:
        return _choice(found)
    types = found.get("type")
    names = types if isinstance(types, list) else [types]
    is_nullable = "null" in names
    rest = [name for name in names if name != "null"]
    if len(rest) != 1:
        return Shape("json", found)
    match rest[0]:
        case "boolean":
            return Shape("boolean", found, is_nullable, values=(True, False))
        case "integer" | "number":
            return Shape(rest[0], found, is_nullable)
        case "string":
            return _text_shape(found, is_nullable=is_nullable)
        case "object" if not is_nullable and _is_plain_object(found):
            return Shape("object", found)
        case "array" if not is_nullable and isinstance(found.get("items"), Mapping) and "prefixItems" not in found:
            return Shape("array", found)
    return Shape("json", found)


def _choice(schema: Mapping[str, Any]) -> Shape:
    values = [schema["const"]] if "const" in schema else schema["enum"]
    if not isinstance(values, list) or len(values) > MAX_CHOICES:
        return Shape("json", schema)
    is_fit = all(written(value) is not None or value is None or isinstance(value, bool) for value in values)
    return Shape("choice", schema, values=tuple(values)) if is_fit else Shape("json", schema)


def _text_shape(schema: Mapping[str, Any], *, is_nullable: bool) -> Shape:
    most, least = schema.get("maxLength"), schema.get("minLength")
    named_format = schema.get("format")
    is_short = named_format is not None or "pattern" in schema or (isinstance(most, int) and most <= LONG_TEXT)
    may_be_empty = named_format is None and "pattern" not in schema and not (isinstance(least, int) and least > 0)
    kind: Kind = "date" if named_format == "date" else "text" if is_short else "long_text"
    return Shape(kind, schema, is_nullable, may_be_empty)


def _is_plain_object(schema: Mapping[str, Any]) -> bool:
    """Whether its members are known, and can be the names of controls."""
    properties = schema.get("properties", {} if schema.get("additionalProperties") is False else None)
    if not isinstance(properties, Mapping) or not isinstance(schema.get("required", ()), list | tuple):
        return False
    return all(isinstance(name, str) and name.isprintable() and len(name) <= LONG_TEXT for name in properties)


def read_leaf(shape: Shape, text: str, state: str, *, is_forced: bool) -> Any:
    """The value of one control.

    Args:
        shape: How it was drawn.
        text: What stands in it; of a choice the number of the chosen value.
        state: The flag that is set beside it.
        is_forced: Whether an empty control is an empty text, as in a row, and not a value that is left out.
    """
    if state == "null" and shape.is_nullable:
        return None
    if shape.kind in {"boolean", "choice"}:
        if text.isascii() and text.isdigit() and len(text) < 5 and int(text) < len(shape.values):
            return shape.values[int(text)]
        return text if is_forced else ABSENT
    if text == "":
        return "" if is_forced or state == "empty" else ABSENT
    if shape.kind in {"integer", "number"} and NUMBER.fullmatch(text.strip()):
        return json.loads(text)
    return text


def written(value: Any) -> str | None:
    """A scalar as a text control keeps it; None if it would not."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        text = json_text(value)
    else:
        return None
    return text if all(character.isprintable() or character == "\n" for character in text) else None


def is_same(one: Any, other: Any) -> bool:
    """Equality that tells 1, 1.0 and true apart."""
    if one.__class__ is not other.__class__:
        return False
    if isinstance(one, float):
        return one == other and json_text(one) == json_text(other)
    return bool(one == other)
