"""The JSON Schemas of a tool: what it takes and what it gives."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from environments.core.compile.emission.sql import Subject, default_of, may_be_null
from environments.core.compile.emission.wording import cut, on_one_line
from environments.core.compile.semantics import (
    Answer,
    Argument,
    ArgumentRole,
    Blueprint,
    Column,
    Generated,
    PageFact,
    Schema,
    Source,
    Table,
    ValueKind,
    View,
)
from environments.runtime.pack.limits import MAX_INTEGER
from environments.runtime.schema.check import check_schema
from environments.runtime.schema.keywords import FORMATS, KEYWORDS

MAX_TEXT: Final = 400
"""Characters of a description."""
MAX_NESTING: Final = 6
TIME_PATTERNS: Final = {
    ValueKind.TIME: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
    ValueKind.DATE: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
}
CURSOR_PATTERN: Final = "^[0-9]{1,9}$"
_TYPES: Final = {
    ValueKind.INTEGER: "integer",
    ValueKind.EPOCH: "integer",
    ValueKind.EPOCH_MILLISECONDS: "integer",
    ValueKind.REAL: "number",
    ValueKind.BOOLEAN: "boolean",
}
_ROLE_TYPES: Final = {
    ArgumentRole.PAGE: "integer",
    ArgumentRole.OFFSET: "integer",
    ArgumentRole.SIZE: "integer",
    ArgumentRole.ONE_OF: "array",
}
_COUNT: Final = {"type": "integer", "minimum": 0}
_FACTS: Final[Mapping[PageFact, Schema]] = {
    PageFact.TOTAL: {**_COUNT, "description": "How many match, on all pages."},
    PageFact.HERE: {**_COUNT, "description": "How many are on this page."},
    PageFact.HAS_MORE: {"type": "boolean", "description": "Whether more follow."},
    PageFact.NEXT_CURSOR: {"type": ["string", "null"], "description": "Where the next page begins; null on the last."},
    PageFact.NEXT_PAGE: {"type": ["integer", "null"], "description": "Number of the next page; null on the last."},
    PageFact.PAGE: {"type": "integer", "description": "Number of this page."},
    PageFact.SIZE: {"type": "integer", "description": "How many a page holds at most."},
    PageFact.OFFSET: {**_COUNT, "description": "How many come before this page."},
    PageFact.NUM_PAGES: {**_COUNT, "description": "How many pages there are."},
}


# --- What it takes ----------------------------------------------------------------------------------------------------


def input_schema(subject: Subject) -> dict[str, Any]:
    """The schema of a tool's arguments."""
    made: dict[str, Any] = {
        "type": "object",
        "properties": {argument.name: _argument(argument, subject) for argument in subject.meaning.arguments},
    }
    if required := [argument.name for argument in subject.meaning.arguments if argument.is_required]:
        made["required"] = required
    return {**made, "additionalProperties": False}


def _argument(argument: Argument, subject: Subject) -> dict[str, Any]:
    made = without_null(clean(argument.schema))
    column = _column(argument, subject)
    if "type" not in made and "enum" not in made:
        made = {
            "type": _ROLE_TYPES.get(argument.role) or _TYPES.get(column.kind if column else ValueKind.TEXT, "string"),
            **made,
        }
    if column is not None and made.get("type") == "string" and "pattern" not in made and column.kind in TIME_PATTERNS:
        made["pattern"] = TIME_PATTERNS[column.kind]
    if argument.role is ArgumentRole.CURSOR and made.get("type") == "string" and "pattern" not in made:
        made["pattern"] = CURSOR_PATTERN
    made.pop("default", None)
    made["description"] = _text(argument.description) or _text(argument.name)
    default = default_of(argument, subject.meaning)
    if default is not None and not argument.is_required:
        made["default"] = default
    return made


def _column(argument: Argument, subject: Subject) -> Column | None:
    through = subject.meaning.through
    if argument.column is None or (through is not None and argument.name in {name for _, name in through.scope}):
        return None
    return subject.table.column(argument.column)


def without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without null: to a tool, null is the same as absent."""
    made = dict(schema)
    if isinstance(made.get("type"), list):
        kinds = [kind for kind in made["type"] if kind != "null"]
        made["type"] = kinds[0] if len(kinds) == 1 else kinds
    if isinstance(made.get("enum"), list):
        made["enum"] = [value for value in made["enum"] if value is not None]
    return made


def clean(schema: Schema, depth: int = 0) -> dict[str, Any]:
    """What of a document's schema tools may use: known keywords in their form, formats and patterns that work."""
    made: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in ("items", "additionalProperties", "not"):
            if isinstance(value, bool):
                made[keyword] = value
            elif isinstance(value, Mapping) and depth < MAX_NESTING:
                made[keyword] = clean(value, depth + 1)
        elif keyword == "properties":
            if isinstance(value, Mapping) and depth < MAX_NESTING:
                made[keyword] = {
                    name: clean(entry, depth + 1) for name, entry in value.items() if isinstance(entry, Mapping)
                }
        elif keyword in ("anyOf", "oneOf", "allOf"):
            entries = [clean(entry, depth + 1) for entry in value if isinstance(entry, Mapping)]
            if entries and len(entries) == len(value) and depth < MAX_NESTING:
                made[keyword] = entries
        elif keyword == "description":
            if text := _text(str(value)):
                made[keyword] = text
        elif _is_usable(keyword, value):
            made[keyword] = list(value) if isinstance(value, tuple) else value
    if made.get("additionalProperties") is False and "required" in made:
        made["required"] = [name for name in made["required"] if name in made.get("properties", {})]
    return made


def _is_usable(keyword: str, value: Any) -> bool:
    if keyword not in KEYWORDS or keyword.startswith("$") or keyword == "prefixItems":
        return False
    has_form = KEYWORDS[keyword][0]
    if has_form is not None and not has_form(list(value) if isinstance(value, tuple) else value):
        return False
    if keyword == "format":
        return value in FORMATS
    if keyword == "pattern":
        return _is_pattern(value)
    numbers = value if isinstance(value, list | tuple) else [value]
    return all(not isinstance(each, int | float) or abs(each) <= MAX_INTEGER for each in numbers)


@lru_cache(4_096)
def _is_pattern(pattern: str) -> bool:
    return not check_schema({"pattern": pattern})


def _text(text: str) -> str:
    return cut(on_one_line(text), MAX_TEXT)


# --- What it gives ----------------------------------------------------------------------------------------------------


def output_schema(subject: Subject, blueprint: Blueprint) -> dict[str, Any]:
    """The schema of a tool's result: all that it holds, and null only where it may be."""
    return _object(_result_entries(subject, blueprint))


def _result_entries(subject: Subject, blueprint: Blueprint) -> Iterator[tuple[tuple[str, ...], Schema]]:
    result, table = subject.meaning.result, subject.table
    yield from ((path, _constant(value)) for path, value in result.constants)
    if result.form is Answer.KEYS or (result.form is Answer.ROWS and result.view is None):
        yield result.place, {"type": "array", "items": _value(table.column(table.key), table, blueprint)}
    elif result.form is Answer.ROWS and result.view is not None:
        yield result.place, {"type": "array", "items": _object(_view_entries(result.view, blueprint))}
    elif result.form is Answer.NUMBER:
        yield result.place, _number(subject)
    elif result.form is Answer.ROW and result.view is not None:
        entries = _view_entries(result.view, blueprint)
        if not result.place:
            yield from entries
        elif result.one_in_list:
            yield result.place, {"type": "array", "items": _object(entries), "minItems": 1, "maxItems": 1}
        else:
            yield result.place, _object(entries)
    for path, fact in result.page_facts:
        yield path, _fact(fact, subject, blueprint)


def _number(subject: Subject) -> Schema:
    if subject.meaning.sum_column is None:
        return {**_COUNT, "description": "How many there are."}
    column = subject.table.column(subject.meaning.sum_column)
    return {"type": _TYPES.get(column.kind, "number"), "description": "Their sum."}


def _fact(fact: PageFact, subject: Subject, blueprint: Blueprint) -> Schema:
    if fact is PageFact.NEXT_AFTER:
        key = _value(subject.table.column(subject.table.key), subject.table, blueprint)
        return {**_nullable(key), "description": "Key of the last one here if more follow; else null."}
    if fact is PageFact.SIZE and subject.meaning.page_size is None and subject.one(ArgumentRole.SIZE) is None:
        return {"type": "null", "description": "A page holds all."}
    return _FACTS[fact]


def _view_entries(view: View, blueprint: Blueprint) -> Iterator[tuple[tuple[str, ...], Schema]]:
    table = blueprint.table(view.table)
    yield from ((path, _constant(value)) for path, value in view.constants)
    yield from ((entry.path, _value(table.column(entry.column), table, blueprint)) for entry in view.properties)


def _object(entries: Iterable[tuple[tuple[str, ...], Schema]]) -> dict[str, Any]:
    grouped: dict[str, list[tuple[tuple[str, ...], Schema]]] = {}
    for path, schema in entries:
        grouped.setdefault(path[0], []).append((path[1:], schema))
    properties = {name: parts[-1][1] if not parts[-1][0] else _object(parts) for name, parts in grouped.items()}
    made: dict[str, Any] = {"type": "object", "properties": properties}
    if properties:
        made["required"] = list(properties)
    return {**made, "additionalProperties": False}


def _constant(value: Any) -> Schema:
    if isinstance(value, list | tuple):
        return {"type": "array"}
    return {"type": "object"} if isinstance(value, Mapping) else {"const": value}


def _value(column: Column, table: Table, blueprint: Blueprint) -> dict[str, Any]:
    """The schema of what a column shows: no more than every row will keep to, whoever wrote it."""
    made = (
        _json_value(column, table, blueprint)
        if column.kind is ValueKind.JSON
        else _plain_value(column, table, blueprint)
    )
    if may_be_null(column, table):
        made = _nullable(made)
    if text := _text(column.description):
        made["description"] = text
    return made


def _plain_value(column: Column, table: Table, blueprint: Blueprint) -> dict[str, Any]:
    made: dict[str, Any] = {"type": _TYPES.get(column.kind, "string")}
    if column.values:
        made["enum"] = list(column.values)
    name = column.schema.get("format")
    if name in FORMATS and _keeps_format(column, table, blueprint):
        made["format"] = name
    return made


def _keeps_format(column: Column, table: Table, blueprint: Blueprint) -> bool:
    name = column.schema.get("format")
    if column.generated is Generated.ID:
        return name == "uuid"
    is_made = column.template is not None or column.default is not None
    is_foreign = any(column.name in key.columns for key in table.foreign_keys)
    given = [schema.get("format") for schema in _writers(column, table, blueprint)]
    return not is_made and not is_foreign and all(each == name for each in given)


def _json_value(column: Column, table: Table, blueprint: Blueprint) -> dict[str, Any]:
    made = _shape(column.schema)
    given = [_shape(schema) for schema in _writers(column, table, blueprint)]
    if all(each == made for each in given):
        return made
    return {"type": made["type"]} if all(each.get("type") == made.get("type") for each in given) else {}


def _writers(column: Column, table: Table, blueprint: Blueprint) -> Iterator[Schema]:
    """The schemas of all arguments that set a column."""
    for tool in blueprint.tools:
        meaning = tool.meaning
        if meaning.table != table.name:
            continue
        arguments = {argument.name: argument for argument in meaning.arguments}
        for assignment in (*meaning.assignments, *meaning.updates):
            if assignment.column == column.name and assignment.source is Source.ARGUMENT:
                yield arguments[assignment.argument or ""].schema


def _shape(schema: Schema, depth: int = 0) -> dict[str, Any]:
    """Types only, some levels deep."""
    made: dict[str, Any] = {}
    if _is_usable("type", schema.get("type")):
        made["type"] = schema["type"]
    if depth < MAX_NESTING:
        if isinstance(schema.get("items"), Mapping) and (items := _shape(schema["items"], depth + 1)):
            made["items"] = items
        if isinstance(schema.get("properties"), Mapping):
            named = {
                name: _shape(entry, depth + 1)
                for name, entry in schema["properties"].items()
                if isinstance(entry, Mapping)
            }
            if named:
                made["properties"] = named
    return made


def _nullable(schema: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(schema)
    if isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    elif isinstance(made.get("type"), list) and "null" not in made["type"]:
        made["type"] = [*made["type"], "null"]
    if "enum" in made:
        made["enum"] = [*made["enum"], None]
    return made
