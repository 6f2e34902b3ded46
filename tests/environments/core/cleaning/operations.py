"""Little operations for the rules of cleaning."""

from typing import Any

from environments.core.sources.model import (
    Body,
    Document,
    Location,
    Operation,
    Parameter,
    Response,
    SourceKind,
)

TEXT = {"type": "string"}
THING = {"type": "object", "properties": {"id": {"type": "integer"}, "label": TEXT}}


def parameter(name: str, location: Location = Location.QUERY, **schema: Any) -> Parameter:
    return Parameter(name, location, location == Location.PATH, schema or TEXT)


def operation(key: str = "GET /things/{id}", *, name: str = "", title: str = "Get a thing", **rest: Any) -> Operation:
    """An operation that is kept; a key without a space is a tool's name."""
    method, _, path = key.rpartition(" ")
    if not method:
        method, path, name = "", "", name or key
    given: dict[str, Any] = {
        "parameters": (parameter("id", Location.PATH if method else Location.ARGUMENT),),
        "responses": (Response("200", "application/json", THING),),
        **rest,
    }
    return Operation(key, name or f"{method.lower()}Thing", title, method=method, path=path, **given)


def body(schema: Any = None, *, media_type: str = "application/json", is_required: bool = True) -> Body:
    return Body(media_type, THING if schema is None else schema, is_required)


def document(*operations: Operation, title: str = "Things", provider: str = "example.org", **rest: Any) -> Document:
    return Document(SourceKind.OPENAPI, "openapi 3.0", title, provider=provider, operations=operations, **rest)
