"""What the page of one operation shows: its arguments, body and answers as tables, definitions one level down."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from environments.core.errors import SandboxFailedError, UnreadableSourceError
from environments.core.schema_form.words import constraint_words, json_text, type_words
from environments.core.sources import model as core
from environments.core.sources import readers
from environments.models import Operation, SourceDocument
from environments.services.sketches import read_source
from environments.views.sources_page import NUM_DUPLICATES_SHOWN, reason_lines
from environments.web import HtmxHttpRequest

logger = logging.getLogger(__name__)

MAX_LINES = 200
MAX_DEPTH = 4
MAX_DEFINITIONS_SHOWN = 40
MAX_JSON_CHARACTERS = 60_000
MAX_READ_BYTES = 2 << 20
"""A document that reads in a fraction of a second; definitions of a larger one are shown when a person asks."""
PREFIX = "#/definitions/"
_WITH_DEFINITIONS = frozenset(
    {core.SourceKind.OPENAPI, core.SourceKind.TOOL_LIST, core.SourceKind.MCP_SERVER, core.SourceKind.PYTHON_SKETCH}
)


@dataclass(frozen=True, slots=True)
class SchemaLine:
    """One line of a schema's table.

    Attributes:
        name: Of the property; `[ ]` for the items of an array.
        depth: How deep it is nested, from 0.
        type_words: What the value is; empty where only a definition says it.
        reference: Name of the definition that says what it, or what each of its items, is.
        is_required: Whether it must be given; None where that makes no sense.
        constraints: What else is asked of it.
        description: The source's words.
    """

    name: str
    depth: int
    type_words: str
    reference: str
    is_required: bool | None
    constraints: Sequence[str]
    description: str


@dataclass(frozen=True, slots=True)
class SchemaView:
    """A schema as it is shown.

    Attributes:
        head: What it is as a whole, without a name.
        lines: Its members.
        text: As JSON.
        is_cut: Whether the JSON is longer than what is shown.
    """

    head: SchemaLine
    lines: Sequence[SchemaLine]
    text: str
    is_cut: bool


@dataclass(frozen=True, slots=True)
class ParameterLine:
    """One argument: its own words, and what its schema says."""

    parameter: core.Parameter
    schema: SchemaLine
    members: Sequence[SchemaLine]


def operation_context(request: HtmxHttpRequest, document: SourceDocument, row: Operation) -> dict[str, Any]:
    """Everything the page of an operation shows."""
    operation = row.to_core()
    schemas = [
        *(parameter.schema for parameter in operation.parameters),
        *([operation.body.schema] if operation.body else []),
        *(response.schema for response in operation.responses if response.schema is not None),
    ]
    names = list(dict.fromkeys(name for schema in schemas for name in references(schema)))
    asked = request.GET.get("definition", "")
    if asked:
        names = [asked, *(name for name in names if name != asked)]
    is_large = document.num_bytes > MAX_READ_BYTES
    is_wanted = bool(names) and (not is_large or bool(asked) or "definitions" in request.GET)
    definitions = definitions_of(document) if is_wanted else None
    duplicates = row.duplicates.select_related("document__source").only(
        "code", "key", "duplicate_of", "document__title", "document__source__code"
    )
    text, is_cut = cut_json(row.content)
    return {
        "operation": row,
        "found": operation,
        "reasons": reason_lines(row),
        "hints": [(name, value) for name, value in _hints(operation.hints) if value is not None],
        "parameters": [parameter_line(parameter) for parameter in operation.parameters],
        "body": None if operation.body is None else schema_view(operation.body.schema),
        "responses": [
            (response, None if response.schema is None else schema_view(response.schema))
            for response in operation.responses
        ],
        "names": names,
        "definitions": [
            (name, schema_view(definitions[name]) if name in definitions else None)
            for name in names[:MAX_DEFINITIONS_SHOWN]
        ]
        if definitions is not None
        else [],
        "num_definitions_more": max(0, len(names) - MAX_DEFINITIONS_SHOWN),
        "asks_for_definitions": bool(names) and not is_wanted,
        "asked_definition": asked,
        "duplicates": duplicates.order_by("pk")[:NUM_DUPLICATES_SHOWN],
        "text": text,
        "is_cut": is_cut,
    }


def _hints(hints: core.Hints) -> list[tuple[str, bool | None]]:
    return [
        ("read_only", hints.read_only), ("destructive", hints.destructive), ("idempotent", hints.idempotent),
    ]  # fmt: skip


def definitions_of(document: SourceDocument) -> Mapping[str, core.Schema]:
    """The document's named schemas, read from its bytes; none where it can't be read any more."""
    if document.source.kind not in _WITH_DEFINITIONS:
        return {}
    try:
        if document.num_bytes > MAX_READ_BYTES:
            return _read_definitions(document)
        return _kept_definitions(document.pk, readers.READER_VERSION)
    except SandboxFailedError as error:  # a sketch, and no worker can be locked here; the rest of the page holds
        logger.warning("event=definitions_unread document=%s code=%s", document.code, error.code)
        return {}


@lru_cache(maxsize=8)
def _kept_definitions(key: int, _version: str) -> Mapping[str, core.Schema]:
    """People look at one operation after another; a document's bytes never change."""
    return _read_definitions(SourceDocument.objects.select_related("source").get(pk=key))


def _read_definitions(document: SourceDocument) -> Mapping[str, core.Schema]:
    try:
        return read_source(document.to_core(), core.SourceKind(document.source.kind)).definitions
    except UnreadableSourceError:
        return {}


# --- Schemas as tables ------------------------------------------------------------------------------------------------


def parameter_line(parameter: core.Parameter) -> ParameterLine:
    """An argument with what its schema says."""
    return ParameterLine(parameter, _line("", parameter.schema, 0, None), list(_members(parameter.schema, 0)))


def schema_view(schema: Any) -> SchemaView:
    """A schema as a table and as JSON; definitions that it names are not followed."""
    text, is_cut = cut_json(schema)
    lines: list[SchemaLine] = []
    for line in _members(schema, 0):
        if len(lines) == MAX_LINES:
            lines.append(SchemaLine("…", 0, "more than can be shown; the JSON has all of it", "", None, (), ""))
            break
        lines.append(line)
    return SchemaView(_line("", schema, 0, None), lines, text, is_cut)


def _members(schema: Any, depth: int) -> Iterator[SchemaLine]:
    if not isinstance(schema, Mapping) or depth >= MAX_DEPTH:
        return
    required = schema.get("required")
    required = required if isinstance(required, list | tuple) else ()
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, Mapping) else ():
        yield _line(str(name), part, depth, name in required)
        yield from _members(part, depth + 1)
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping) and others:
        yield _line("any other name", others, depth, None)
        yield from _members(others, depth + 1)
    items = schema.get("items")
    if isinstance(items, Mapping) and items.keys() - {"type", "title", "$ref", "format"}:
        yield _line("[ ]", items, depth, None)
        yield from _members(items, depth + 1)
    for keyword, words in (("anyOf", "any of"), ("oneOf", "exactly one of"), ("allOf", "all of")):
        parts = schema.get(keyword)
        for position, part in enumerate(parts if isinstance(parts, list) else (), 1):
            yield _line(f"{words}, {position}", part, depth, None)
            yield from _members(part, depth + 1)


def _line(name: str, schema: Any, depth: int, is_required: bool | None) -> SchemaLine:
    if not isinstance(schema, Mapping):
        return SchemaLine(name, depth, "nothing" if schema is False else "anything", "", is_required, (), "")
    items = schema.get("items")
    own, of_items = reference_of(schema), reference_of(items)
    if own:
        words = ""
    elif of_items and schema.get("type") == "array":
        words = "array of"
    else:
        words, of_items = type_words({}, schema), ""
    description = schema.get("description")
    return SchemaLine(
        name, depth, words, own or of_items, is_required, tuple(constraint_words(schema)),
        description if isinstance(description, str) else "",
    )  # fmt: skip


def reference_of(schema: Any) -> str:
    """Name of the definition that a schema stands for; empty if it is one itself."""
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    return reference.removeprefix(PREFIX) if isinstance(reference, str) and reference.startswith(PREFIX) else ""


def references(schema: Any) -> Iterator[str]:
    """Names of the definitions that a schema mentions, in its order, itself not followed."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            name = reference_of(part)
            if name:
                yield name
            waiting.extend(reversed([each for each in part.values() if isinstance(each, Mapping | list)]))
        elif isinstance(part, list):
            waiting.extend(reversed(part))


def cut_json(value: Any) -> tuple[str, bool]:
    """A value as indented JSON, at most `MAX_JSON_CHARACTERS` of it, and whether that is not all."""
    text = json_text(value, indent=2)
    return text[:MAX_JSON_CHARACTERS], len(text) > MAX_JSON_CHARACTERS
