"""Documents and packs as the guard's subjects."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from environments.core.leak_guard.model import GuardSubject, GuardTable, GuardTool, Member
from environments.core.sources.model import Document, Operation, Schema, input_schema, named
from environments.runtime.pack.model import Pack

MAX_MEMBERS: Final = 60
"""Of one tool or table; later ones add nothing to what is told by the first."""
MAX_DEPTH: Final = 3
MAX_TABLES: Final = 3_000
MAX_TEXT: Final = 160
"""Characters of a description that are compared: the first sentence says what a tool does, rules come later."""
_KINDS: Final = {
    "string": "string",
    "str": "string",
    "integer": "number",
    "number": "number",
    "float": "number",
    "boolean": "boolean",
    "array": "array",
    "tuple": "array",
    "object": "object",
    "dict": "object",
}


def subject_of(document: Document) -> GuardSubject:
    """A document's operations, and its named schemas in the place of tables. Cost is linear in the document."""
    definitions = document.definitions
    return GuardSubject(
        name=document.title,
        tools=tuple(_tool(operation, definitions) for operation in document.operations),
        tables=tuple(_tables(definitions)),
        texts=(document.description,) if document.description else (),
    )


def subject_of_pack(pack: Pack) -> GuardSubject:
    """An environment's tools and tables; its seed rows are not compared."""
    tools = tuple(
        GuardTool(tool.name, tool_text(tool.title, tool.description), members(tool.input_schema, {}))
        for tool in pack.tools
    )
    tables = tuple(
        GuardTable(name, tuple(Member(column) for column in table.columns)) for name, table in pack.tables.items()
    )
    return GuardSubject(pack.title, tools, tables, (pack.description,) if pack.description else ())


def tool_text(title: str, description: str) -> str:
    """Title and description without saying anything twice."""
    title, description = title.strip(), description.strip()
    text = description if title.rstrip(".").casefold() in description.casefold() else f"{title}. {description}".strip()
    return text[:MAX_TEXT]


def members(schema: Schema, definitions: Mapping[str, Schema]) -> tuple[Member, ...]:
    """Properties of an object schema and of the objects inside it, outer ones first, each name once."""
    found: dict[str, Member] = {}
    level: list[Schema] = [schema]
    for _ in range(MAX_DEPTH):
        below: list[Schema] = []
        for each in level:
            content = named(each, definitions)
            for name, member_schema, is_required in _properties(content, definitions):
                if len(found) >= MAX_MEMBERS:
                    return tuple(found.values())
                member = named(member_schema, definitions)
                found.setdefault(name, Member(name, kind_of(member), is_required))
                below.append(_inside(member, definitions))
        level = below
    return tuple(found.values())


def kind_of(schema: Schema) -> str:
    """The kind of a schema's values."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        kinds = next((kind for kind in kinds if kind != "null"), None)
    if kinds is None and "properties" in schema:
        return "object"
    return _KINDS.get(kinds, "any") if isinstance(kinds, str) else "any"


def _tool(operation: Operation, definitions: Mapping[str, Schema]) -> GuardTool:
    text = tool_text(operation.title, operation.description)
    return GuardTool(operation.name, text, members(input_schema(operation, definitions), definitions))


def _tables(definitions: Mapping[str, Schema]) -> Iterator[GuardTable]:
    for name, schema in list(definitions.items())[:MAX_TABLES]:
        columns = tuple(
            Member(column, kind_of(named(content, definitions)), is_required)
            for column, content, is_required in _properties(schema, definitions)
        )
        if len(columns) > 1:
            yield GuardTable(name, columns[:MAX_MEMBERS])


def _properties(schema: Schema, definitions: Mapping[str, Schema]) -> Iterator[tuple[str, Schema, bool]]:
    parts: list[Any] = [schema, *(schema.get("allOf") or ())]
    for part in parts:
        content = named(part, definitions) if isinstance(part, Mapping) else {}
        required = content.get("required")
        names = frozenset(each for each in required if isinstance(each, str)) if isinstance(required, list) else ()
        properties = content.get("properties")
        if isinstance(properties, Mapping):
            for name, member in properties.items():
                yield name, member if isinstance(member, Mapping) else {}, name in names


def _inside(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    items = schema.get("items")
    return named(items, definitions) if isinstance(items, Mapping) else schema
