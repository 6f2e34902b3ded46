"""Whatever stands in whatever place of a document, reading ends: with a document, or with one clear error."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import orjson
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.core.cleaning import DuplicateIndex, clean
from environments.core.errors import UnreadableSourceError
from environments.core.sources.model import Document, Fetched, input_schema
from environments.core.sources.openapi import OpenApiReader

MEDIA = {
    "schema": {"$ref": "#/components/schemas/Order"},
    "example": {"a": 1},
    "examples": {"a": {"value": 1}, "b": {"$ref": "#/components/examples/b"}},
}
OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "t", "version": "1", "license": {"name": "MIT", "url": "https://opensource.org/licenses/MIT"}},
    "servers": [{"url": "https://a.example"}],
    "security": [{"key": []}],
    "paths": {
        "/a/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "post": {
                "operationId": "a",
                "tags": ["x"],
                "parameters": [
                    {"$ref": "#/components/parameters/q"},
                    {"name": "h", "in": "header", "content": {"a": MEDIA}},
                ],
                "requestBody": {"required": True, "content": {"application/json": MEDIA}},
                "responses": {"200": {"description": "d", "content": {"application/json": MEDIA}}},
            },
        },
        "/b": {"$ref": "#/paths/~1a~1{id}"},
    },
    "components": {
        "examples": {"b": {"value": 2}},
        "parameters": {"q": {"name": "q", "in": "query", "schema": {"type": "string", "enum": ["a"]}}},
        "schemas": {
            "Order": {
                "type": "object",
                "required": ["id"],
                "properties": {
                    "id": {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
                    "next": {"$ref": "#/components/schemas/Order", "nullable": True},
                    "list": {"type": "array", "items": {"oneOf": [{"type": "string"}]}},
                },
                "additionalProperties": {"type": "string"},
                "discriminator": {"propertyName": "id", "mapping": {"a": "Order"}},
            }
        },
    },
}
SWAGGER: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "t"},
    "host": "a.example",
    "schemes": ["https"],
    "consumes": ["application/json"],
    "paths": {
        "/a": {
            "post": {
                "parameters": [
                    {"name": "b", "in": "body", "schema": {"$ref": "#/definitions/Order"}},
                    {"name": "q", "in": "query", "type": "array", "items": {"type": "string"}},
                ],
                "responses": {"200": {"schema": {"$ref": "#/definitions/Order"}, "examples": {"application/json": 1}}},
            },
            "put": {"parameters": [{"name": "f", "in": "formData", "type": "file"}, {"name": "g", "in": "formData"}]},
        }
    },
    "definitions": {"Order": {"type": "object", "properties": {"id": {"type": "integer"}}}},
}  # fmt: skip

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(
        ["", "\0", "#", "#/", "#/paths/~1a", "#/components/schemas/Order", "#/components", "http://[x#/", "$ref",
         "string", "object", "body", "formData", "query", "application/json", "x-a", "//[", "{", "1e5", "9" * 400]
    )
)  # fmt: skip
KEYS = st.text(max_size=4) | st.sampled_from(
    ["$ref", "type", "properties", "items", "allOf", "anyOf", "enum", "required", "name", "in", "schema", "content",
     "example", "examples", "nullable", "discriminator", "mapping", "propertyName", "additionalProperties", "format",
     "default", "value"]
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    for key, part in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        yield from places(part, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], part: Any) -> Any:
    made = copy.deepcopy(value)
    node = made
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = part
    return made


def check(data: bytes) -> None:
    try:
        document = OpenApiReader().read(Fetched("https://a.example/x.json", data))
    except UnreadableSourceError:
        return
    check_document(document)


def check_document(document: Document) -> None:
    """What later parts of the product rely on."""
    written = orjson.dumps([document.operations, document.definitions, document.problems]).decode()
    assert "\\u0000" not in written
    assert len({operation.key for operation in document.operations}) == len(document.operations)
    for reference in references_of([document.definitions, *(input_schema(each, {}) for each in document.operations)]):
        assert reference.removeprefix("#/definitions/") in document.definitions
    for schema in document.definitions.values():
        assert jsonschema_rs.meta.is_valid({**schema, "$schema": "https://json-schema.org/draft/2020-12/schema"})
    cleaning = clean(document)
    index = DuplicateIndex()
    for operation, cleaned in zip(document.operations, cleaning.operations, strict=True):
        assert cleaned.key == operation.key
        assert cleaned.description
        index.add(operation.key, operation, document)


def references_of(schema: Any) -> Iterator[str]:
    """References where schemas stand; not those inside examples, defaults and enums, which are values."""
    if isinstance(schema, list):
        for part in schema:
            yield from references_of(part)
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for key, part in schema.items():
            if key in ("properties", "patternProperties", "dependentSchemas"):
                yield from references_of(list(part.values()))
            elif key not in ("enum", "default", "const", "examples"):
                yield from references_of(part)


@settings(max_examples=300, deadline=5_000)
@given(base=st.sampled_from([OPENAPI, SWAGGER]), data=st.data())
def test_reading_ends_well_when_any_value_stands_in_any_place(base: Any, data: st.DataObject) -> None:
    value = base
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(sorted(places(value), key=repr)))
        value = replaced(value, path, data.draw(VALUES))
    check(json.dumps(value).encode("utf-8", "surrogatepass"))


@settings(max_examples=60, deadline=5_000)
@given(data=st.data())
def test_reading_ends_well_when_the_document_is_yaml(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(places(SWAGGER), key=repr)))
    text = yaml.safe_dump(replaced(SWAGGER, path, data.draw(VALUES)), allow_unicode=True)
    check(text.encode("utf-8", "surrogatepass"))


@settings(max_examples=60, deadline=5_000)
@given(data=st.data())
def test_reading_ends_well_when_bytes_are_cut_out_or_put_in(data: st.DataObject) -> None:
    whole = json.dumps(data.draw(st.sampled_from([OPENAPI, SWAGGER]))).encode()
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 40)))
    check(whole[:start] + data.draw(st.binary(max_size=8)) + whole[end:])


@pytest.mark.parametrize("base", [OPENAPI, SWAGGER])
def test_the_documents_that_are_broken_above_are_read_when_they_are_whole(base: Any) -> None:
    document = OpenApiReader().read(Fetched("https://a.example/x.json", json.dumps(base).encode()))
    assert len(document.operations) == 2
    assert not document.problems
    check_document(document)
