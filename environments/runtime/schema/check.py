"""Whether a schema is one that tools may use, found out in bounded time however hostile it is."""

from collections.abc import Iterator
from typing import Any

import orjson

from environments.runtime.faults import Fault
from environments.runtime.schema.compiled import SchemaError, compile_schema
from environments.runtime.schema.keywords import (
    FORMATS,
    KEYWORDS,
    MAX_DEFINITIONS,
    MAX_DEPTH,
    MAX_PATTERN_CHARACTERS,
    MAX_PATTERNS,
    MAX_SCHEMA_BYTES,
    MAX_SUBSCHEMAS,
    SUBSCHEMA,
    SUBSCHEMA_LISTS,
    SUBSCHEMA_MAPS,
)
from environments.runtime.schema.references import LOCAL_REFERENCE, References

_MAX_FAULTS = 20
_MAX_NESTING = 64


def check_schema(schema: Any, place: str = "schema") -> tuple[Fault, ...]:
    """The faults of any schema of a tool.

    Args:
        schema: A parsed JSON value.
        place: Where it stands; faults are named below it.

    Returns:
        Nothing if it can be used. Costs under 10 ms whatever the schema holds.
    """
    size = _check_size(schema, place)
    if size:
        return size
    walk = _Walk(place)
    walk.visit(schema)
    if walk.faults:
        return tuple(walk.faults[:_MAX_FAULTS])
    references = References(schema)
    if references.problem:
        code, message = references.problem
        return (Fault(code, place, message),)
    fault = _compile_fault(schema, place, walk.patterns)
    return (fault,) if fault else ()


def check_input_schema(schema: Any, place: str) -> tuple[Fault, ...]:
    """The faults of the schema of a tool's arguments: as `check_schema`, and a closed object with good defaults."""
    faults = list(check_schema(schema, place) or _check_object(schema, place))
    if not faults and schema.get("additionalProperties") is not False:
        faults.append(Fault("schema_open_input", place, "arguments that no property names would be accepted"))
    return tuple(faults or _check_defaults(schema, place))


def check_output_schema(schema: Any, place: str) -> tuple[Fault, ...]:
    """The faults of the schema of a tool's result: as `check_schema`, and an object."""
    return check_schema(schema, place) or tuple(_check_object(schema, place))


def _check_size(schema: Any, place: str) -> tuple[Fault, ...]:
    """Faults of size and nesting; looks at no more of the schema than may be there."""
    room = MAX_SCHEMA_BYTES
    stack = [(schema, 0)]
    while stack:
        value, depth = stack.pop()
        if depth > _MAX_NESTING:
            return (Fault("schema_too_deep", place, f"nested deeper than {_MAX_NESTING}"),)
        if isinstance(value, dict):
            room -= len(value) * 4 + 2
            if room >= 0:
                room -= sum(map(len, value))
                stack.extend((entry, depth + 1) for entry in value.values())
        elif isinstance(value, list | tuple):
            room -= len(value) + 2
            if room >= 0:
                stack.extend((entry, depth + 1) for entry in value)
        else:
            room -= len(value) + 2 if isinstance(value, str) else 1
        if room < 0:
            return (Fault("schema_too_large", place, f"more than {MAX_SCHEMA_BYTES} bytes"),)
    try:
        size = len(orjson.dumps(schema, option=orjson.OPT_STRICT_INTEGER))
    except (orjson.JSONEncodeError, RecursionError) as error:
        return (Fault("schema_value", place, f"not JSON: {error}"),)
    return (
        (Fault("schema_too_large", place, f"{size} bytes, not {MAX_SCHEMA_BYTES}"),) if size > MAX_SCHEMA_BYTES else ()
    )


def _check_object(schema: Any, place: str) -> Iterator[Fault]:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        yield Fault("schema_not_object", place, 'its root has no "type": "object"')


def _check_defaults(schema: dict[str, Any], place: str) -> Iterator[Fault]:
    properties = schema.get("properties", {})
    defaults = {
        name: entry["default"] for name, entry in properties.items() if isinstance(entry, dict) and "default" in entry
    }
    for name in sorted(defaults.keys() & set(schema.get("required", ()))):
        yield Fault("schema_default", f"{place}/properties/{name}", "a required property needs no default")
    refused: dict[str, str] = {}
    if defaults:
        for error in compile_schema(schema).iter_errors(defaults):
            if error.instance_path:
                refused.setdefault(str(error.instance_path[0]), error.message)
    for name, message in refused.items():
        yield Fault("schema_default", f"{place}/properties/{name}/default", message[:200])


class _Walk:
    """Looks at every subschema's keywords; stops at the limits."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.faults: list[Fault] = []
        self.patterns: dict[str, str] = {}
        self._num_subschemas = 0

    def visit(self, schema: Any) -> None:
        stack: list[tuple[Any, str, int]] = [(schema, self.place, 1)]
        while stack and len(self.faults) < _MAX_FAULTS:
            item, place, depth = stack.pop()
            self._num_subschemas += 1
            if self._num_subschemas > MAX_SUBSCHEMAS:
                self._add("schema_too_large", self.place, f"more than {MAX_SUBSCHEMAS} schemas in it")
                return
            if depth > MAX_DEPTH:
                self._add("schema_too_deep", place, f"more than {MAX_DEPTH} schemas inside one another")
            elif isinstance(item, dict):
                stack.extend(reversed(list(self._children(item, place, depth))))
            elif not isinstance(item, bool):
                self._add("schema_value", place, "a schema is expected")

    def _children(self, schema: dict[str, Any], place: str, depth: int) -> Iterator[tuple[Any, str, int]]:
        for keyword, value in schema.items():
            where = f"{place}/{keyword}"
            if keyword not in KEYWORDS or (keyword == "$defs" and depth > 1):
                self._add("schema_keyword", where[:300], "the keyword is not accepted here")
            elif keyword in SUBSCHEMA:
                yield value, where, depth + 1
            elif keyword in SUBSCHEMA_LISTS:
                if not isinstance(value, list) or not value:
                    self._add("schema_value", where, "an array of schemas is expected")
                else:
                    yield from ((entry, f"{where}/{index}", depth + 1) for index, entry in enumerate(value))
            elif keyword in SUBSCHEMA_MAPS:
                if not isinstance(value, dict):
                    self._add("schema_value", where, "schemas by name are expected")
                else:
                    if keyword == "$defs" and len(value) > MAX_DEFINITIONS:
                        self._add("schema_too_large", where, f"more than {MAX_DEFINITIONS} definitions")
                        return
                    start = 1 if keyword == "$defs" else depth
                    yield from ((entry, f"{where}/{name}", start + 1) for name, entry in value.items())
            else:
                self._check_value(keyword, value, where)
        required, properties = schema.get("required"), schema.get("properties")
        if isinstance(required, list) and isinstance(properties, dict) and schema.get("additionalProperties") is False:
            for name in required:
                if isinstance(name, str) and name not in properties:
                    self._add("schema_required_unknown", f"{place}/required", f"{name[:80]!r} is no property")

    def _check_value(self, keyword: str, value: Any, where: str) -> None:
        has_form, form = KEYWORDS[keyword]
        if has_form is not None and not has_form(value):
            self._add("schema_value", where, f"{form} is expected")
        elif keyword == "format" and value not in FORMATS:
            self._add("schema_format", where, f"{value[:40]!r} is not checked by anything")
        elif keyword == "pattern":
            self.patterns.setdefault(value, where)
            if len(value) > MAX_PATTERN_CHARACTERS or len(self.patterns) > MAX_PATTERNS:
                limits = f"{MAX_PATTERNS} patterns of {MAX_PATTERN_CHARACTERS} characters"
                self._add("schema_pattern", where, f"at most {limits} are accepted")
        elif keyword == "$ref" and not LOCAL_REFERENCE.fullmatch(value):
            self._add("schema_reference_remote", where, f"{value[:80]!r} is not below #/$defs/")

    def _add(self, code: str, place: str, message: str) -> None:
        self.faults.append(Fault(code, place, message))


def _compile_fault(schema: Any, place: str, patterns: dict[str, str]) -> Fault | None:
    try:
        compile_schema(schema)
    except SchemaError as error:
        for pattern, where in patterns.items():
            try:
                compile_schema({"pattern": pattern})
            except SchemaError:
                message = "no linear-time engine accepts the pattern, or it grows too large"
                return Fault("schema_pattern", where, message)
        return Fault("schema_value", place, str(error)[:300])
    return None
