"""Which part of JSON Schema 2020-12 tools may use, and how much of it.

The list is what models understand and what can be checked, generated from and costed: no remote references, no
annotations that change validity, no keywords whose cost is not linear in the value.
"""

from collections.abc import Callable, Mapping
from typing import Any

TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})
FORMATS = frozenset(
    {
        "date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference", "uuid",
        "json-pointer",
    }
)  # fmt: skip
"""Formats that the validator really checks."""

MAX_SCHEMA_BYTES = 64 << 10
MAX_DEPTH = 16
"""Schemas inside one another; $defs count from themselves."""
MAX_SUBSCHEMAS = 500
MAX_DEFINITIONS = 100
MAX_EXPANDED = 2_000
"""Subschemas after every $ref is replaced by its target: bounds the work for one value."""
MAX_PATTERNS = 20
MAX_PATTERN_CHARACTERS = 512
PATTERN_SIZE_LIMIT = 1 << 16
"""Compiled size of one pattern; a pattern that fits costs at most 0.7 ms to compile."""
MAX_LISTED = 2_000
"""Entries of an enum."""

SUBSCHEMA = frozenset({"additionalProperties", "items", "not"})
SUBSCHEMA_LISTS = frozenset({"prefixItems", "anyOf", "oneOf", "allOf"})
SUBSCHEMA_MAPS = frozenset({"properties", "$defs"})
SAME_VALUE = frozenset({"anyOf", "oneOf", "allOf", "not"})
"""Keywords whose schemas look at the same value again."""


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in TYPES for name in names) and _is_set(names)


def _is_set(value: Any) -> bool:
    return len(set(value)) == len(value)


def _is_names(value: Any) -> bool:
    if not isinstance(value, list) or len(value) > MAX_SUBSCHEMAS:
        return False
    return all(isinstance(name, str) for name in value) and _is_set(value)


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _is_enum(value: Any) -> bool:
    # Objects and arrays in an enum are compared one by one with every value: 30,000 items took 20 s.
    return isinstance(value, list) and 0 < len(value) <= MAX_LISTED and all(map(_is_scalar, value))


KEYWORDS: Mapping[str, tuple[Callable[[Any], bool] | None, str]] = {
    "type": (_is_type, "the name of a type, or several different ones"),
    "properties": (None, ""),
    "required": (_is_names, f"an array of at most {MAX_SUBSCHEMAS} different names"),
    "additionalProperties": (None, ""),
    "items": (None, ""),
    "prefixItems": (None, ""),
    "enum": (_is_enum, f"1 to {MAX_LISTED} values that are neither objects nor arrays"),
    "const": (_is_scalar, "a value that is neither object nor array"),
    "minimum": (_is_number, "a number"),
    "maximum": (_is_number, "a number"),
    "exclusiveMinimum": (_is_number, "a number"),
    "exclusiveMaximum": (_is_number, "a number"),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    "minLength": (_is_count, "a count"),
    "maxLength": (_is_count, "a count"),
    "pattern": (_is_text, "a regular expression"),
    "format": (_is_text, "the name of a format"),
    "minItems": (_is_count, "a count"),
    "maxItems": (_is_count, "a count"),
    "uniqueItems": (lambda value: isinstance(value, bool), "true or false"),
    "anyOf": (None, ""),
    "oneOf": (None, ""),
    "allOf": (None, ""),
    "not": (None, ""),
    "$defs": (None, ""),
    "$ref": (_is_text, "a reference"),
    "title": (_is_text, "text"),
    "description": (_is_text, "text"),
    "default": (lambda value: True, ""),
    "examples": (lambda value: isinstance(value, list), "an array"),
}
"""By keyword: whether a value has its form, and what that is; None where the value is made of schemas."""
