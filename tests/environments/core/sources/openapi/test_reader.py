from typing import Any

import pytest

from environments.core.errors import UnreadableSourceError
from environments.core.sources.model import DocumentLicence, Fetched, Location, input_schema, success_response
from environments.core.sources.openapi import OpenApiReader
from environments.core.sources.openapi.reader import MAX_OPERATIONS, MAX_PATH, name_of
from tests.environments.core.sources.openapi.documents import ADDRESS, first, openapi, read, swagger

YAML = """\
# A shop
openapi: 3.0.1
info: {title: Shop, version: 1.10, license: {name: MIT}}
servers:
  - url: https://{region}.shop.example.co.uk/v1
paths:
  /orders/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer}}
    get:
      operationId: getOrder
      summary: Get an order
      tags: [orders]
      responses:
        200:
          description: The order
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Order'}
        4XX: {description: No}
components:
  schemas:
    Order:
      type: object
      properties:
        state: {type: string, enum: [on, off, 010]}
        placed: {type: string, format: date, example: 2024-01-31}
"""


def test_yaml_is_read_like_json_when_it_holds_an_openapi_document() -> None:
    document = read(YAML)
    (operation,) = document.operations
    assert (document.dialect, document.title, document.provider) == ("openapi 3.0", "Shop", "example.co.uk")
    assert document.licence == DocumentLicence("MIT", "MIT", None)
    assert (operation.key, operation.name, operation.title) == ("GET /orders/{id}", "getOrder", "Get an order")
    assert operation.tags == ("orders",)
    assert [(each.status, each.media_type, each.schema) for each in operation.responses] == [
        ("200", "application/json", {"$ref": "#/definitions/Order"}),
        ("4XX", None, None),
    ]
    assert document.definitions["Order"]["properties"] == {
        "state": {"type": "string", "enum": ["on", "off", "010"]},
        "placed": {"type": "string", "format": "date", "examples": ["2024-01-31"]},
    }


@pytest.mark.parametrize(
    ("head", "dialect"),
    [
        ({"openapi": "3.0.0"}, "openapi 3.0"),
        ({"openapi": "3.1.1"}, "openapi 3.1"),
        ({"openapi": "3.2.0"}, "openapi 3.2"),
        ({"openapi": 3.1}, "openapi 3.1"),
        ({"swagger": "2.0"}, "swagger 2.0"),
        ({"swagger": 2}, "swagger 2.0"),
    ],
)
def test_the_dialect_is_named_when_the_version_is_known(head: dict[str, Any], dialect: str) -> None:
    assert read({**head, "paths": {"/a": {"get": {}}}}).dialect == dialect


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "is an object"),
        ("openapi", "is an object"),
        ({"openapi": "4.0.0", "paths": {"/a": {}}}, "says '4.0.0'"),
        ({"swagger": "1.2", "paths": {"/a": {}}}, "says '1.2'"),
        ({"openapi": True, "paths": {"/a": {}}}, "names no OpenAPI version"),
        ({"paths": {"/a": {}}}, "names no OpenAPI version"),
        ({"openapi": "3.1.0", "webhooks": {"a": {}}}, "webhooks only"),
        ({"openapi": "3.1.0", "paths": {}}, "no paths"),
        ({"openapi": "3.1.0", "paths": [1]}, "no paths"),
    ],
)
def test_a_clear_error_is_raised_when_it_is_no_document_with_paths(value: Any, message: str) -> None:
    with pytest.raises(UnreadableSourceError, match=message):
        read(value)


def test_parameters_of_the_path_are_replaced_when_the_operation_has_its_own() -> None:
    shared = [
        {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
        {"name": "limit", "in": "query", "schema": {"type": "integer"}, "description": "of the path"},
        {"name": "limit", "in": "header", "schema": {"type": "integer"}},
    ]
    own = [
        {"name": "limit", "in": "query", "required": True, "schema": {"type": "number"}, "deprecated": True},
        {"name": "cursor", "in": "cookie", "schema": {"type": "string"}},
    ]
    found = read({"openapi": "3.0.0", "paths": {"/a/{id}": {"parameters": shared, "get": {"parameters": own}}}})
    assert [
        (each.name, each.location, each.is_required, each.schema["type"], each.is_deprecated)
        for each in found.operations[0].parameters
    ] == [
        ("id", Location.PATH, True, "string", False),
        ("limit", Location.QUERY, True, "number", True),
        ("limit", Location.HEADER, False, "integer", False),
        ("cursor", Location.COOKIE, False, "string", False),
    ]


def test_arguments_have_names_of_their_own_when_two_parameters_share_one() -> None:
    parameters = [
        {"name": "id", "in": "path", "schema": {"type": "integer"}},
        {"name": "id", "in": "query", "required": True, "schema": {"type": "string"}},
        {"name": "body", "in": "query", "schema": {"type": "string"}},
    ]
    body = {"required": True, "content": {"application/json": {"schema": {"type": "array"}}}}
    document = read(openapi({"parameters": parameters, "requestBody": body}))
    schema = input_schema(document.operations[0], document.definitions)
    assert schema["required"] == ["id", "query_id", "body_body"]
    assert [each["type"] for each in schema["properties"].values()] == ["integer", "string", "string", "array"]


def test_a_path_parameter_is_required_when_the_document_forgets_to_say_so() -> None:
    operation = first(openapi({"parameters": [{"name": "id", "in": "path", "schema": {}}]}))
    assert operation.parameters[0].is_required


@pytest.mark.parametrize("name", ["Accept", "authorization", "Content-Type"])
def test_headers_are_no_arguments_when_openapi_3_says_to_ignore_them(name: str) -> None:
    parameters = [{"name": name, "in": "header", "schema": {"type": "string"}}]
    assert first(openapi({"parameters": parameters})).parameters == ()
    assert len(first(swagger({"parameters": [{"name": name, "in": "header", "type": "string"}]})).parameters) == 1


def test_what_is_wrong_with_a_parameter_is_noted_when_it_cannot_be_read() -> None:
    parameters = [
        {"in": "query", "schema": {}},
        {"name": "a", "in": "matrix"},
        {"name": "b", "in": ["query"]},
        {"$ref": "#/components/parameters/none"},
        "limit",
        {"name": "fine", "in": "query", "schema": {"type": "string"}},
    ]
    operation = first(openapi({"parameters": parameters}))
    assert [each.name for each in operation.parameters] == ["fine"]
    assert [each.code for each in operation.problems] == [
        "parameter_without_name",
        "parameter_location_unknown",
        "parameter_location_unknown",
        "reference_unresolved",
        "not_an_object",
    ]
    assert operation.problems[0].place == "/paths/~1things/post/parameters/0"


@pytest.mark.parametrize(
    ("kinds", "chosen"),
    [
        (["application/xml", "application/json"], "application/json"),
        (["application/xml", "application/vnd.api+json; charset=utf-8"], "application/vnd.api+json; charset=utf-8"),
        (["application/xml", "multipart/form-data"], "multipart/form-data"),
        (["image/png"], "image/png"),
    ],
)
def test_json_is_chosen_first_when_a_body_has_several_media_types(kinds: list[str], chosen: str) -> None:
    content = {kind: {"schema": {"type": "object", "title": kind}} for kind in kinds}
    body = first(openapi({"requestBody": {"content": content, "required": True}})).body
    assert body is not None
    assert (body.media_type, body.schema["title"], body.is_required) == (chosen, chosen, True)


@pytest.mark.parametrize("content", [None, {}, [], {"application/json": None}])
def test_a_body_without_content_is_a_problem_when_it_cannot_be_read(content: Any) -> None:
    operation = first(openapi({"requestBody": {"content": content}}))
    assert operation.body is None
    assert [each.code for each in operation.problems] == ["body_without_content"]


@pytest.mark.parametrize("value", [True, 0, "", "x", [], ["schema"], [{"schema": {}}]])
@pytest.mark.parametrize("kind", ["", "application/json", "text/plain"])
def test_a_media_type_is_a_noted_problem_when_it_is_no_object(kind: str, value: Any) -> None:
    content = {kind: value, "image/png": {"schema": {"type": "string"}}}
    wholly = first(
        openapi(
            {
                "parameters": [{"name": "q", "in": "query", "content": {kind: value}, "example": "x"}],
                "requestBody": {"content": {kind: value}},
                "responses": {"200": {"content": {kind: value}}},
            }
        )
    )
    partly = first(openapi({"requestBody": {"content": content}, "responses": {"200": {"content": content}}}))

    assert sorted(each.code for each in wholly.problems) == ["body_without_content", *["media_not_an_object"] * 3]
    assert (wholly.body, wholly.parameters[0].schema) == (None, {"examples": ["x"]})
    assert (wholly.responses[0].schema, wholly.responses[0].media_type) == (None, None)
    assert [(each.code, each.place) for each in partly.problems] == [
        ("media_not_an_object", f"/paths/~1things/post/requestBody/content/{kind}"),
        ("media_not_an_object", f"/paths/~1things/post/responses/200/content/{kind}"),
    ]
    assert partly.body is not None
    assert partly.body.media_type == partly.responses[0].media_type == "image/png"


def test_examples_are_kept_when_they_stand_beside_the_schema() -> None:
    media = {
        "schema": {"type": "object"},
        "example": {"a": 1},
        "examples": {"one": {"$ref": "#/components/examples/two"}, "lost": {"$ref": "#/none"}},
    }
    operation = first(
        openapi(
            {
                "parameters": [{"name": "q", "in": "query", "schema": {"type": "string"}, "example": "x"}],
                "responses": {"200": {"content": {"application/json": media}}},
            },
            components={"examples": {"two": {"value": {"a": 2}}}},
        )
    )
    assert operation.responses[0].examples == ({"a": 1}, {"a": 2})
    assert operation.parameters[0].schema["examples"] == ["x"]
    assert operation.problems == ()


def test_the_answer_of_success_is_found_when_several_are_described() -> None:
    responses = {
        "default": {"content": {"application/json": {"schema": {"title": "error"}}}},
        "204": {"description": "nothing"},
        "2xx": {"content": {"application/json": {"schema": {"title": "some"}}}},
        "201": {"content": {"application/json": {"schema": {"title": "made"}}}},
    }
    operation = first(openapi({"responses": responses}))
    answer = success_response(operation)
    assert answer is not None
    assert (answer.status, answer.schema) == ("201", {"title": "made"})
    assert [each.status for each in operation.responses] == ["default", "204", "2XX", "201"]


def test_parts_are_found_when_paths_responses_and_parameters_are_references() -> None:
    document = read(
        {
            "openapi": "3.1.0",
            "paths": {
                "/a": {"$ref": "#/components/pathItems/a"},
                "/b": {"$ref": "#/paths/~1a"},
                "/c": {"post": {"requestBody": {"$ref": "#/components/requestBodies/c"}}},
                "/d": {"get": {"responses": {"200": {"$ref": "#/paths/~1a/get/responses/200"}}}},
            },
            "components": {
                "pathItems": {
                    "a": {
                        "get": {
                            "parameters": [{"$ref": "#/components/parameters/q", "description": "beside"}],
                            "responses": {"200": {"$ref": "#/components/responses/ok"}},
                        }
                    }
                },
                "parameters": {"q": {"name": "q", "in": "query", "schema": {"type": "string"}}},
                "responses": {"ok": {"content": {"application/json": {"schema": {"type": "integer"}}}}},
                "requestBodies": {"c": {"content": {"application/json": {"schema": {"type": "boolean"}}}}},
            },
        }
    )
    a, b, c, d = document.operations
    assert [each.name for each in a.parameters] == ["q"]
    assert a.responses[0].schema == b.responses[0].schema == d.responses[0].schema == {"type": "integer"}
    assert c.body is not None
    assert c.body.schema == {"type": "boolean"}
    assert all(operation.problems == () for operation in document.operations)


def test_swagger_bodies_and_forms_become_bodies_when_they_are_parameters() -> None:
    json_body = {"name": "order", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Order"}}
    form: list[dict[str, Any]] = [
        {"name": "title", "in": "formData", "type": "string", "required": True, "description": "of it"},
        {"name": "file", "in": "formData", "type": "file"},
    ]
    document = read(
        {
            "swagger": "2.0",
            "host": "api.shop.example",
            "basePath": "/v2",
            "schemes": ["http"],
            "produces": ["application/xml", "application/json"],
            "definitions": {"Order": {"type": "object", "properties": {"id": {"type": "integer"}}}},
            "parameters": {"limit": {"name": "limit", "in": "query", "type": "integer", "default": 10}},
            "paths": {
                "/a": {"post": {"parameters": [json_body, {"$ref": "#/parameters/limit"}]}},
                "/b": {"parameters": [form[0]], "post": {"parameters": [{**form[0], "required": False}, form[1]]}},
                "/c": {
                    "get": {
                        "responses": {
                            "200": {
                                "schema": {"type": "array", "items": {"$ref": "#/definitions/Order"}},
                                "examples": {"application/json": [{"id": 1}]},
                            },
                            "404": {"description": "none"},
                        }
                    }
                },
            },
        }
    )
    a, b, c = document.operations
    assert (document.servers, document.provider) == (("http://api.shop.example/v2",), "shop.example")
    assert a.body is not None
    assert (a.body.media_type, a.body.schema, a.body.is_required) == (
        "application/json", {"$ref": "#/definitions/Order"}, True,
    )  # fmt: skip
    assert a.parameters[0].schema == {"type": "integer", "default": 10}
    assert b.body is not None
    assert (b.body.media_type, b.body.is_required) == ("multipart/form-data", False)
    assert b.body.schema == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "of it"},
            "file": {"type": "string", "format": "binary"},
        },
    }
    assert c.responses[0].media_type == "application/json"
    assert c.responses[0].examples == ([{"id": 1}],)
    assert (c.responses[1].media_type, c.responses[1].schema) == (None, None)


def test_a_name_is_made_when_the_operation_has_no_id() -> None:
    assert first(openapi()).name == "post_things"
    assert name_of("get", "/pets/{petId}/photos.json") == "get_pets_by_petid_photos_json"
    assert name_of("get", "//[x") == "get_x"  # which is no address


def test_odd_members_are_passed_over_when_a_document_has_them() -> None:
    document = read(
        {
            "openapi": "3.0.0",
            "info": {"title": 7, "version": None, "license": "MIT"},
            "servers": "https://a.example",
            "security": [{"key": []}, "key", {"key": [], "token": []}],
            "paths": {
                "x-note": {"get": {}},
                "/a": {"summary": "s", "get": {"tags": "a", "deprecated": "yes", "responses": []}, "post": None},
                "/b": ["get"],
                "/c": {"get": "x"},
                "/d" * MAX_PATH: {"get": {}},
            },
        }
    )
    (operation,) = document.operations
    assert (document.title, document.version, document.servers) == ("7", "", ())
    assert (operation.tags, operation.is_deprecated, operation.responses) == ((), False, ())
    assert operation.security == ("key", "token")
    assert [each.code for each in document.problems] == [
        "not_an_object", "operation_not_an_object", "path_too_long",
    ]  # fmt: skip


def test_a_document_is_refused_when_it_has_too_many_paths() -> None:
    with pytest.raises(UnreadableSourceError, match="more than 50,000 paths"):
        read({"openapi": "3.0.0", "paths": {f"/{number}": None for number in range(MAX_OPERATIONS + 1)}})


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"openapi": "3.0.0", "paths": {}}', True),
        (b'{"info": {"title": "x"}, "swagger" : "2.0"}', True),
        (b"{openapi: 3.0.0, paths: {}}", True),
        (b"\xef\xbb\xbf# comment\n---\nswagger: '2.0'\n", True),
        (b"info:\n  title: |\n    words without a colon\npaths:\n- a\nopenapi: 3.1.0\n", True),
        (b'{"tools": [{"name": "read_openapi", "description": "openapi: 3"}]}', False),
        (b"# Guide\n\nOur document begins so:\n\nopenapi: 3.0.0\n", False),
        (b"<html><pre>\nopenapi: 3.0.0\n</pre></html>", False),
        (b"title: openapi: 3\n", False),
        (b"", False),
    ],
)
def test_documents_are_recognised_when_they_name_a_version_at_the_top(data: bytes, expected: bool) -> None:
    assert OpenApiReader().recognises(Fetched(ADDRESS, data)) is expected
