"""Little OpenAPI documents, and what the reader makes of them."""

from typing import Any

import orjson

from environments.core.sources.model import Document, Fetched, Operation
from environments.core.sources.openapi import OpenApiReader

ADDRESS = "https://api.example.org/v1/openapi.json"


def openapi(operation: dict[str, Any] | None = None, *, version: str = "3.0.3", **rest: Any) -> dict[str, Any]:
    """A document with one operation, `POST /things`."""
    return {
        "openapi": version,
        "info": {"title": "Things", "version": "1"},
        "paths": {"/things": {"post": operation or {}}},
        **rest,
    }


def swagger(operation: dict[str, Any] | None = None, **rest: Any) -> dict[str, Any]:
    """The same in Swagger 2.0."""
    return {
        "swagger": "2.0",
        "info": {"title": "Things", "version": "1"},
        "paths": {"/things": {"post": operation or {}}},
        **rest,
    }


def read(value: Any, related: dict[str, Any] | None = None) -> Document:
    """The document of a value, or of its text."""
    data = value.encode() if isinstance(value, str) else orjson.dumps(value)
    files = {name: orjson.dumps(part) for name, part in (related or {}).items()}
    return OpenApiReader().read(Fetched(ADDRESS, data, related=files))


def first(value: Any, related: dict[str, Any] | None = None) -> Operation:
    """Its first operation."""
    return read(value, related).operations[0]


def schema_of(schema: Any, *, version: str = "3.0.3", **components: Any) -> Any:
    """What becomes of a schema in a request's body."""
    body = {"content": {"application/json": {"schema": schema}}}
    found = first(openapi({"requestBody": body}, version=version, components={"schemas": components}))
    assert found.body is not None
    return found.body.schema
