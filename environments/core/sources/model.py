"""What every reader gives: a document with its operations, whatever form the source had.

Schemas are JSON Schema 2020-12 in which every `$ref` is `#/definitions/<name>` and points into the document's
`definitions`: they are never expanded, since the largest documents would not fit into memory (Microsoft Graph:
11,142 operations over 1,112 shapes).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol

Schema = Mapping[str, Any]

MAX_HOPS: Final = 32
"""Definitions that are nothing but another one's name."""


class SourceKind(StrEnum):
    """What form a source has."""

    OPENAPI = "openapi"
    MCP_SERVER = "mcp_server"
    TOOL_LIST = "tool_list"
    PYTHON_SKETCH = "python_sketch"
    WEB_PAGE = "web_page"


class Effect(StrEnum):
    """Whether an operation changes the state behind it; unknown until a rule or a model says so."""

    READ = "read"
    WRITE = "write"
    UNKNOWN = "unknown"


class Location(StrEnum):
    """Where an argument travels."""

    PATH = "path"
    QUERY = "query"
    HEADER = "header"
    COOKIE = "cookie"
    BODY = "body"
    ARGUMENT = "argument"
    """Of a tool, which has no HTTP request."""


@dataclass(frozen=True, slots=True)
class DocumentLicence:
    """What a document itself says of its terms.

    Attributes:
        spdx: An SPDX identifier, if it gives one or names a licence that has one beyond doubt.
        name: As written.
        address: As written.
    """

    spdx: str | None = None
    name: str | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of an operation.

    Attributes:
        name: As the source has it.
        location: Where it travels; members of a JSON body are not parameters but the body's schema.
        is_required: Whether a call without it is refused.
        schema: Its values.
        description: What it means; empty if the source says nothing.
        is_deprecated: Whether the source advises against it.
    """

    name: str
    location: Location
    is_required: bool
    schema: Schema
    description: str = ""
    is_deprecated: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """What a request carries.

    Attributes:
        media_type: Of the representation that was chosen: JSON first, then forms.
        schema: Its content.
        is_required: Whether a call without it is refused.
        examples: Whole examples, as given.
    """

    media_type: str
    schema: Schema
    is_required: bool = False
    description: str = ""
    examples: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Response:
    """One answer.

    Attributes:
        status: `200`, `2XX`, `default`; `result` for tools.
        media_type: None for an answer without content.
        schema: None where the content has none.
        examples: Whole examples, as given.
    """

    status: str
    media_type: str | None = None
    schema: Schema | None = None
    description: str = ""
    examples: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Hints:
    """What a source claims of an operation's effect; claims are never taken for proof."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation or tool as its source describes it.

    Attributes:
        key: Identity within the document: `GET /pets/{id}`, or a tool's name.
        name: The source's own name (operationId, tool name); made from method and path where there is none.
        title: A short line.
        description: Everything longer.
        method: Upper-case HTTP method; empty for tools.
        path: Path template; empty for tools.
        parameters: In the source's order, path-level ones first.
        body: None without one.
        responses: In the source's order.
        tags: As given.
        is_deprecated: As given.
        security: Names of the schemes that a call needs, alternatives joined.
        hints: Claims of effect.
        aliases: Other names under which the source knows it.
        problems: What could not be read of it, one code and sentence each; the rest stands.
    """

    key: str
    name: str
    title: str = ""
    description: str = ""
    method: str = ""
    path: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    responses: tuple[Response, ...] = ()
    tags: tuple[str, ...] = ()
    is_deprecated: bool = False
    security: tuple[str, ...] = ()
    hints: Hints = field(default_factory=Hints)
    aliases: tuple[str, ...] = ()
    problems: tuple["Problem", ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read.

    Attributes:
        code: Stable name.
        place: In the document: a JSON pointer, a line, a heading.
        message: For people.
        excerpt: The source's own words at that place, where a model may read what a rule could not.
    """

    code: str
    place: str
    message: str
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A whole source, read.

    Attributes:
        kind: Its form.
        dialect: More exactly: `openapi 3.0`, `swagger 2.0`, `mcp`, `openai`, `envfactory`, `toolbench`, ...
        title: What it calls itself.
        version: Its own version.
        description: Its own words.
        licence: Its own terms.
        provider: Whose API it is: the host's registrable name, or what a collection says.
        servers: Addresses under which the API is served.
        operations: In the source's order.
        definitions: Named schemas; `$ref`s of all schemas point here.
        problems: Of the document as a whole.
    """

    kind: SourceKind
    dialect: str
    title: str
    version: str = ""
    description: str = ""
    licence: DocumentLicence = field(default_factory=DocumentLicence)
    provider: str = ""
    servers: tuple[str, ...] = ()
    operations: tuple[Operation, ...] = ()
    definitions: Mapping[str, Schema] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Fetched:
    """Bytes with where they come from: what adapters hand to readers.

    Attributes:
        address: Where it was read, after redirects; `file:` addresses name files of the machine's owner.
        data: The bytes.
        media_type: What the server said, without parameters; empty if it said nothing.
        related: Other documents that this one refers to, by the address that it uses for them.
    """

    address: str
    data: bytes
    media_type: str = ""
    related: Mapping[str, bytes] = field(default_factory=dict)


class SourceReader(Protocol):
    """Turns one form of document into operations."""

    kind: SourceKind

    def recognises(self, fetched: Fetched) -> bool:
        """Whether the bytes look like this form; cheap, never raises."""

    def read(self, fetched: Fetched) -> Document:
        """The document.

        Raises:
            UnreadableSourceError: It is not of this form, or breaks a limit; nothing is half-read.
        """


def success_response(operation: Operation) -> Response | None:
    """The answer of a call that succeeds: the lowest 2xx with a schema, else the lowest 2xx, else the default."""
    successes = sorted(
        (response for response in operation.responses if response.status[:1] == "2" or response.status == "result"),
        key=lambda response: (response.schema is None, response.status),
    )
    if successes:
        return successes[0]
    return next((response for response in operation.responses if response.status == "default"), None)


def input_schema(operation: Operation, definitions: Mapping[str, Schema]) -> dict[str, Any]:
    """All arguments as one object schema: parameters by name, a body's members beside them where it is an object.

    A body that is no object, or whose members would hide a parameter, stands under `body`. Of two parameters of one
    name the second is called by its place, too: `query_id` beside `id`. `$ref`s below are kept.
    """
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in operation.parameters:
        schema = dict(parameter.schema)
        if parameter.description and "description" not in schema:
            schema["description"] = parameter.description
        name = _free_name(parameter.name, parameter.location, properties)
        properties[name] = schema
        if parameter.is_required:
            required.append(name)
    body = operation.body
    if body is not None:
        content = named(body.schema, definitions)
        members = content.get("properties")
        if isinstance(members, Mapping) and not members.keys() & properties.keys() and "allOf" not in content:
            properties.update(members)
            if body.is_required:
                required.extend(name for name in content.get("required", ()) if name in members)
        else:
            name = _free_name("body", Location.BODY, properties)
            properties[name] = dict(body.schema)
            if body.is_required:
                required.append(name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _free_name(name: str, location: Location, taken: Mapping[str, Any]) -> str:
    if name not in taken:
        return name
    base = other = f"{location}_{name}"
    number = 1
    while other in taken:
        number += 1
        other = f"{base}_{number}"
    return other


def named(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """What a schema stands for: the definition that its `$ref` names, else itself; nothing for one in a circle."""
    for _ in range(MAX_HOPS):
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        schema = definitions.get(reference.removeprefix("#/definitions/"), {})
    return {}
