"""Whether the runtime would take a value."""

from collections.abc import Callable, Mapping
from typing import Any

from environments.core.compile.semantics import Schema
from environments.runtime.schema.compiled import SchemaError, compile_schema


def validity(schema: Schema) -> Callable[[Any], bool] | None:
    """The check that the runtime makes; formats that it does not know are left out, as emission leaves them out."""
    for attempt in (schema, without(schema, frozenset({"format"})), without(schema, frozenset({"format", "pattern"}))):
        try:
            return compile_schema(attempt).is_valid
        except SchemaError:
            continue
    return None


def without(schema: Any, keys: frozenset[str]) -> Any:
    """The schema without some keywords, at every level; members of that name stay."""
    if isinstance(schema, list | tuple):
        return [without(each, keys) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, Mapping):
            made[key] = {name: without(each, keys) for name, each in value.items()}
        elif key not in keys:
            made[key] = without(value, keys) if key in ("items", "additionalProperties", "anyOf", "oneOf") else value
    return made
