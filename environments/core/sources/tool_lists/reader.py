"""Reads lists of tools: OpenAI functions, MCP listings, Anthropic tools, EnvFactory, ToolBench, xLAM/APIGen, ToolACE.

Rows of datasets repeat tools; the first of each name and interface is taken.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

import orjson

from environments.core.errors import UnreadableSourceError
from environments.core.licences import licence_of
from environments.core.sources.budget import Budget
from environments.core.sources.model import (
    Body,
    Document,
    Fetched,
    Hints,
    Location,
    Operation,
    Parameter,
    Problem,
    Response,
    SourceKind,
    named,
)
from environments.core.sources.providers import registrable_name
from environments.core.sources.references import References
from environments.core.sources.schemas import MAX_PROBLEMS, Schemas
from environments.core.sources.text_values import clean_text, parse_rows, scalar_text
from environments.core.sources.tool_lists.forms import Found, tools_in
from environments.core.sources.tool_lists.words import plain_schema, schema_of_words

MAX_TOOLS: Final = 50_000
MEDIA_TYPE: Final = "application/json"

_JSON: Final = re.compile(rb"^(\xef\xbb\xbf)?\s*[\[{]")
_WORDS: Final = (b'"tools"', b'"function"', b'"functions"', b'"inputSchema"', b'"input_schema"', b'"api_list"',
                 b'"parameters"', b'"required_parameters"', b'"conversations"')  # fmt: skip
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})


class ToolListReader:
    """Reads every published form; which one a document has is seen from its keys, tool by tool."""

    kind = SourceKind.TOOL_LIST

    def recognises(self, fetched: Fetched) -> bool:
        """Whether it is JSON or JSON lines with the words of a tool list."""
        return bool(_JSON.match(fetched.data)) and any(word in fetched.data for word in _WORDS)

    def read(self, fetched: Fetched) -> Document:
        """The document.

        Raises:
            UnreadableSourceError: It is no JSON, no tool is in it, or it breaks a limit.
        """
        return _Reading(fetched, self.kind).document()


class McpServerReader:
    """Reads what an MCP server said of itself: `{"server": ..., "protocolVersion": ..., "tools": [...]}`."""

    kind = SourceKind.MCP_SERVER

    def recognises(self, fetched: Fetched) -> bool:
        """Whether it is JSON with an answer to `initialize` and one to `tools/list`."""
        return bool(_JSON.match(fetched.data)) and b'"protocolVersion"' in fetched.data and b'"tools"' in fetched.data

    def read(self, fetched: Fetched) -> Document:
        """The document.

        Raises:
            UnreadableSourceError: It is no JSON, no tool is in it, or it breaks a limit.
        """
        return _Reading(fetched, self.kind).document()


class _NoToolError(Exception):
    """What looked like a tool is none; noted as a problem."""


class _Reading:
    """One list while it is read."""

    def __init__(self, fetched: Fetched, kind: SourceKind) -> None:
        self._fetched = fetched
        self._kind = kind
        self._budget = Budget()
        self._references = References({}, "", {})
        self._schemas = Schemas(self._references, self._budget, keeps_siblings=True)
        self._problems: list[Problem] = []
        self._dialects: Counter[str] = Counter()
        self._num_schemas = 0

    def document(self) -> Document:
        value = parse_rows(self._fetched.data)
        operations = tuple(self._operations(value))
        if not operations:
            raise UnreadableSourceError("No tool of a known form is in it.")
        head = value if isinstance(value, Mapping) else {}
        server = head.get("server")
        server = server if isinstance(server, Mapping) else {}
        names = (*(head.get(key) for key in ("title", "class_name", "tool_name", "name")), server.get("title"),
                 server.get("name"))  # fmt: skip
        words = (head.get(key) for key in ("description", "tool_description", "instructions"))
        return Document(
            kind=self._kind,
            dialect=max(self._dialects, key=lambda name: self._dialects[name]),
            title=_first_text(names, 300) or self._fetched.address.rsplit("/", 1)[-1],
            version=scalar_text(head.get("version") or server.get("version"), 100),
            description=_first_text(words, 20_000),
            licence=licence_of(head.get("license") or head.get("licence")),
            provider=self._provider(head, server),
            operations=operations,
            definitions=self._schemas.definitions,
            problems=(*self._problems, *self._schemas.problems),
        )

    def _provider(self, head: Mapping[str, Any], server: Mapping[str, Any]) -> str:
        host = clean_text(head.get("host"), 300)
        addresses = (f"https://{host}" if host and "//" not in host else host, clean_text(head.get("home_url"), 500),
                     clean_text(server.get("websiteUrl"), 500), self._fetched.address)  # fmt: skip
        return next(filter(None, map(registrable_name, addresses)), "")

    def _operations(self, value: Any) -> Iterator[Operation]:
        seen: set[bytes] = set()
        interfaces: set[tuple[str, bytes]] = set()
        num_by_name: Counter[str] = Counter()
        for found in tools_in(value):
            context = {key: found.row.get(key) for key in ("class_name", "tool_name", "category_name")}
            written = sha256(orjson.dumps([found.dialect, context, found.tool])).digest()
            if written in seen:
                continue
            seen.add(written)
            try:
                operation = _BUILDERS[found.dialect](self, found)
            except _NoToolError as error:
                if len(self._problems) < MAX_PROBLEMS:
                    self._problems.append(Problem("no_tool", found.place, str(error)))
                continue
            interface = operation.name, _digest(operation)
            if interface in interfaces:
                continue
            interfaces.add(interface)
            if len(interfaces) > MAX_TOOLS:
                raise UnreadableSourceError(f"The list has more than {MAX_TOOLS:,} different tools.")
            self._dialects[found.dialect] += 1
            num_by_name[operation.name] += 1
            number = num_by_name[operation.name]
            yield operation if number == 1 else replace(operation, key=f"{operation.key} ({number})")

    def operation(
        self, found: Found, tool: Mapping[str, Any], name: str, schema: Any, result: Any = None, **rest: Any
    ) -> Operation:
        """The operation of a tool.

        Args:
            found: Where it stands.
            tool: The object that holds its words.
            name: Its name.
            schema: Of its arguments, as written.
            result: Schema of its answer, as written.
            rest: More of the operation.
        """
        problems: list[Problem] = []
        if schema is not None and not isinstance(schema, Mapping):
            problems.append(Problem("schema_unreadable", found.place, "the schema of its arguments is no object"))
            schema = None
        whole = self._schema(plain_schema(schema or {}), name, found.place, problems)
        content = named(whole, self._schemas.definitions)
        kinds = content.get("type", "object")
        if "object" not in (kinds if isinstance(kinds, list) else [kinds]):
            problems.append(Problem("schema_unreadable", found.place, f"its arguments are a {kinds}, not an object"))
        required = frozenset(content.get("required", ()))
        members = content.get("properties") or {}
        answer = None
        if isinstance(result, Mapping):
            answer = self._schema(plain_schema(result), f"{name} result", found.place, problems)
        return Operation(
            key=name,
            name=name,
            title=self._text(tool.get("title"), 500),
            description=self._text(tool.get("description")),
            parameters=tuple(
                Parameter(
                    name=each,
                    location=Location.ARGUMENT,
                    is_required=each in required,
                    schema=part,
                    description=part.get("description", ""),
                )
                for each, part in members.items()
                if each.strip() and len(each) <= 300
            ),
            # Arguments that no list of names describes: a map, or one of several objects.
            body=Body(MEDIA_TYPE, whole, is_required=True) if not members and _takes_something(content) else None,
            responses=()
            if answer is None
            else (Response("result", MEDIA_TYPE, answer, answer.get("description", "")),),
            problems=tuple(problems),
            **rest,
        )

    def _schema(self, schema: dict[str, Any], name: str, place: str, problems: list[Problem]) -> dict[str, Any]:
        """A tool's schema; its own `$defs` become definitions of the document under names of their own."""
        self._num_schemas += 1
        file = f"{self._num_schemas}/{name}"
        self._references.add(file, schema)
        return self._schemas.read(schema, place, problems, file)

    def _text(self, value: Any, limit: int = 20_000) -> str:
        return self._budget.keep(clean_text(value, limit))


def _name(tool: Mapping[str, Any], *keys: str) -> str:
    name = _first_text((tool.get(key) for key in keys or ("name",)), 300)
    if not name:
        raise _NoToolError("it has no name")
    return name


def _from_openai(reading: _Reading, found: Found) -> Operation:
    nested = found.tool.get("function")
    function = nested if isinstance(nested, Mapping) else found.tool
    result = function.get("returns", function.get("response"))
    return reading.operation(found, function, _name(function), function.get("parameters"), result)


def _from_mcp(reading: _Reading, found: Found) -> Operation:
    tool = found.tool
    notes = tool.get("annotations")
    notes = notes if isinstance(notes, Mapping) else {}
    claims = (notes.get(key) for key in ("readOnlyHint", "destructiveHint", "idempotentHint"))
    hints = Hints(*(claim if isinstance(claim, bool) else None for claim in claims))
    words = tool if tool.get("title") else {**tool, "title": notes.get("title")}
    return reading.operation(found, words, _name(tool), tool.get("inputSchema"), tool.get("outputSchema"), hints=hints)


def _from_envfactory(reading: _Reading, found: Found) -> Operation:
    name = _name(found.tool)
    server = clean_text(found.row.get("class_name"), 100)
    aliases = (f"{server}-{name}",) if server else ()  # the name under which its own runs know it
    schemas = found.tool.get("input_schema"), found.tool.get("output_schema")
    return reading.operation(found, found.tool, name, *schemas, aliases=aliases)


def _from_anthropic(reading: _Reading, found: Found) -> Operation:
    return reading.operation(found, found.tool, _name(found.tool), found.tool.get("input_schema"))


def _from_toolbench(reading: _Reading, found: Found) -> Operation:
    tool = found.tool
    name = _name(tool, "name", "api_name")
    properties: dict[str, Any] = {}
    required: list[str] = []
    for key in ("required_parameters", "optional_parameters"):
        listed = tool.get(key)
        for each in listed if isinstance(listed, list) else ():
            own = clean_text(each.get("name"), 300) if isinstance(each, Mapping) else ""
            if not own:
                continue
            properties[own] = {**schema_of_words(each.get("type"))[0], "description": each.get("description")}
            value = each.get("default")
            if value not in (None, ""):
                # What stands beside a required argument was put there to try it out.
                properties[own]["default" if key.startswith("optional") else "example"] = value
            if key.startswith("required"):
                required.append(own)
    service = _first_text((found.row.get("tool_name"), tool.get("tool_name")), 200)
    category = _first_text((found.row.get("category_name"), tool.get("category_name")), 200)
    answers = (tool.get("schema"), tool.get("template_response"))
    method = clean_text(tool.get("method"), 10).upper()
    return reading.operation(
        found,
        {"title": tool.get("title"), "description": tool.get("description") or tool.get("api_description")},
        name,
        {"type": "object", "properties": properties, "required": required},
        next((answer for answer in answers if isinstance(answer, Mapping) and "properties" in answer), None),
        aliases=(f"{name}_for_{service}",) if service else (),
        tags=(category,) if category else (),
        hints=Hints(read_only=method in _SAFE_METHODS if method else None),
    )


def _from_xlam(reading: _Reading, found: Found) -> Operation:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, each in found.tool["parameters"].items():
        if not isinstance(each, Mapping):
            continue
        words, is_optional = schema_of_words(each.get("type"))
        properties[name] = {**plain_schema({key: part for key, part in each.items() if key != "type"}), **words}
        has_default = each.get("default") not in (None, "")
        if not has_default:
            properties[name].pop("default", None)
        # These lists mark an argument that may be left out by its type's words or by a default.
        if not is_optional and not has_default and each.get("required") is not False:
            required.append(name)
    schema = {"type": "object", "properties": properties, "required": required}
    return reading.operation(found, found.tool, _name(found.tool), schema)


_BUILDERS: Final[dict[str, Callable[[_Reading, Found], Operation]]] = {
    "openai": _from_openai,
    "mcp": _from_mcp,
    "envfactory": _from_envfactory,
    "anthropic": _from_anthropic,
    "toolbench": _from_toolbench,
    "xlam": _from_xlam,
    "toolace": _from_openai,
}


def _takes_something(schema: Mapping[str, Any]) -> bool:
    if any(key in schema for key in ("allOf", "anyOf", "oneOf", "patternProperties")):
        return True
    return schema.get("additionalProperties", False) is not False


def _first_text(values: Any, limit: int) -> str:
    return next(filter(None, (scalar_text(value, limit) for value in values)), "")


def _digest(operation: Operation) -> bytes:
    """What two tools of one name must share to be one."""
    parts = [[each.name, each.is_required, each.schema] for each in operation.parameters]
    body = None if operation.body is None else operation.body.schema
    return sha256(orjson.dumps([parts, body], option=orjson.OPT_SORT_KEYS)).digest()
