from typing import Any

import jsonschema_rs
import pytest

from tests.environments.core.sources.openapi.documents import first, openapi, read, schema_of, swagger


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"nullable": True}, {}),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 1}),
        ({"type": "integer", "maximum": 9, "exclusiveMaximum": False}, {"type": "integer", "maximum": 9}),
        ({"type": "integer", "exclusiveMinimum": 1}, {"type": "integer", "exclusiveMinimum": 1}),
        ({"exclusiveMinimum": True}, {}),
        ({"type": "string", "maxLength": "20", "minLength": 2.0}, {"type": "string", "minLength": 2, "maxLength": 20}),
        ({"type": "number", "minimum": "0.5"}, {"type": "number", "minimum": 0.5}),
        ({"type": "file"}, {"type": "string", "format": "binary"}),
        ({"type": "String"}, {"type": "string"}),
        ({"properties": {"a": True}}, {"properties": {"a": {}}, "type": "object"}),
        ({"properties": {"a": False}}, {"properties": {"a": {"not": {}}}, "type": "object"}),
        ({"items": {}}, {"items": {}, "type": "array"}),
        ({"type": "array", "items": [{"type": "string"}]}, {"type": "array", "prefixItems": [{"type": "string"}]}),
        ({"type": "array", "items": []}, {"type": "array"}),
        ({"type": "array", "enum": ["a", "b"]}, {"type": "array", "items": {"enum": ["a", "b"]}}),
        ({"type": "string", "enum": [1, True, "x"]}, {"type": "string", "enum": ["1", "true", "x"]}),
        ({"type": "integer", "enum": ["1", 2]}, {"type": "integer", "enum": [1, 2]}),
        ({"type": "boolean", "enum": [True]}, {"type": "boolean", "enum": [True]}),
        ({"example": 1, "type": "integer"}, {"type": "integer", "examples": [1]}),
        ({"type": "object", "additionalProperties": False}, {"type": "object", "additionalProperties": False}),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            {"type": "object", "additionalProperties": {"type": "integer"}},
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string", "required": True}}, "required": True},
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        ),
        ({"type": "object", "required": ["a", "a", 1, {}]}, {"type": "object", "required": ["a", "1"]}),
        ({"oneOf": [{"type": "string"}], "allOf": []}, {"oneOf": [{"type": "string"}]}),
        ({"xml": {}, "externalDocs": {}, "x-a": 1, "type": "string"}, {"type": "string"}),
        ({"default": None, "const": {"a": [1]}}, {"default": None, "const": {"a": [1]}}),
    ],
)  # fmt: skip
def test_a_schema_becomes_json_schema_2020_12_when_it_is_read(given: dict[str, Any], expected: dict[str, Any]) -> None:
    found = schema_of(given)
    assert found == expected
    assert jsonschema_rs.meta.is_valid({"$schema": "https://json-schema.org/draft/2020-12/schema", **found})


@pytest.mark.parametrize(
    "schema",
    [
        {"maxLength": -1}, {"maxLength": "many"}, {"minimum": None}, {"multipleOf": 0}, {"maxItems": [1]},
        {"minItems": 1e300},
    ],
)  # fmt: skip
def test_a_bound_is_left_out_with_a_problem_when_it_is_none(schema: dict[str, Any]) -> None:
    operation = first(openapi({"requestBody": {"content": {"application/json": {"schema": schema}}}}))
    assert operation.body is not None
    assert operation.body.schema == {}
    assert [each.code for each in operation.problems] == ["bound_unreadable"]


def test_null_is_allowed_beside_a_reference_when_the_schema_is_nullable() -> None:
    name = {"$ref": "#/components/schemas/Name"}
    null = {"type": "null"}
    assert schema_of({**name, "nullable": True}, Name={"type": "string"}) == {
        "anyOf": [{"$ref": "#/definitions/Name"}, null]
    }
    assert schema_of({"allOf": [name], "nullable": True}, Name={"type": "string"}) == {
        "anyOf": [{"allOf": [{"$ref": "#/definitions/Name"}]}, null]
    }


def test_what_stands_beside_a_reference_counts_when_the_version_is_3_1() -> None:
    given = {"$ref": "#/components/schemas/Name", "description": "whose", "maxLength": 9}
    assert schema_of(given, version="3.0.3", Name={"type": "string"}) == {
        "$ref": "#/definitions/Name", "description": "whose",
    }  # fmt: skip
    assert schema_of(given, version="3.1.0", Name={"type": "string"}) == {
        "$ref": "#/definitions/Name", "description": "whose", "maxLength": 9,
    }  # fmt: skip


def test_definitions_hold_one_another_when_schemas_are_recursive() -> None:
    document = read(
        openapi(
            {
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}}
                }
            },
            components={
                "schemas": {
                    "Node": {
                        "type": "object",
                        "properties": {
                            "parent": {"$ref": "#/components/schemas/Node"},
                            "children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
                        },
                    },
                    "Tree": {"allOf": [{"$ref": "#/components/schemas/Node"}, {"type": "object"}]},
                    "Unused": {"type": "string"},
                }
            },
        )
    )
    assert document.definitions == {
        "Node": {
            "type": "object",
            "properties": {
                "parent": {"$ref": "#/definitions/Node"},
                "children": {"type": "array", "items": {"$ref": "#/definitions/Tree"}},
            },
        },
        "Tree": {"allOf": [{"$ref": "#/definitions/Node"}, {"type": "object"}]},
    }


def test_a_discriminator_names_definitions_when_it_maps_values() -> None:
    pet = {
        "oneOf": [{"$ref": "#/components/schemas/Cat"}],
        "discriminator": {
            "propertyName": "kind",
            "mapping": {"cat": "#/components/schemas/Cat", "dog": "Dog", "cow": "cow.json"},
        },
    }
    document = read(
        openapi(
            {"requestBody": {"content": {"application/json": {"schema": pet}}}},
            components={"schemas": {"Cat": {"type": "object"}, "Dog": {"type": "object"}}},
        )
    )
    (operation,) = document.operations
    assert operation.body is not None
    assert operation.body.schema["discriminator"] == {
        "propertyName": "kind", "mapping": {"cat": "#/definitions/Cat", "dog": "#/definitions/Dog"},
    }  # fmt: skip
    assert [each.code for each in operation.problems] == ["discriminator_unresolved"]
    found = first(swagger({"parameters": [{"name": "b", "in": "body", "schema": {"discriminator": "kind"}}]}))
    assert found.body is not None
    assert found.body.schema == {"discriminator": {"propertyName": "kind"}}


def test_definitions_have_names_of_their_own_when_pointers_end_alike() -> None:
    other = {"definitions": {"Pet": {"type": "integer"}}}
    document = read(
        openapi(
            {
                "requestBody": {
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "properties": {
                                    "a": {"$ref": "#/components/schemas/Pet"},
                                    "b": {"$ref": "other.json#/definitions/Pet"},
                                    "c": {"$ref": "#/components/schemas/a~1b%20c"},
                                    "d": {
                                        "$ref": "#/paths/~1things/post/responses/200/content/application~1json/schema"
                                    },
                                },
                            }
                        }
                    }
                },
                "responses": {"200": {"content": {"application/json": {"schema": {"type": "string"}}}}},
            },
            components={"schemas": {"Pet": {"type": "object"}, "a/b c": {"type": "number"}}},
        ),
        related={"https://api.example.org/v1/other.json": other},
    )
    body = document.operations[0].body
    assert body is not None
    names = [each["$ref"].removeprefix("#/definitions/") for each in body.schema["properties"].values()]
    assert names == ["Pet", "Pet_2", "a_b_c", "200_application_json"]
    assert [document.definitions[name]["type"] for name in names] == ["object", "integer", "number", "string"]


def test_what_cannot_be_read_is_the_operations_problem_when_it_stands_inside() -> None:
    schema = {
        "type": "object",
        "properties": {
            "lost": {"$ref": "#/components/schemas/None"},
            "odd": "string",
            "kind": {"type": "money"},
            "many": {"enum": list(range(3_000))},
            "deep": {"$ref": "#/components/schemas/Bad"},
        },
    }
    document = read(
        openapi(
            {"requestBody": {"content": {"application/json": {"schema": schema}}}},
            components={"schemas": {"Bad": {"properties": {"a": {"$ref": "#/nowhere"}}}}},
        )
    )
    assert [each.code for each in document.operations[0].problems] == [
        "reference_unresolved", "schema_not_an_object", "type_unknown", "enum_too_long",
    ]  # fmt: skip
    assert [each.place for each in document.problems] == ["#/components/schemas/Bad/properties/a"]


def test_a_schema_is_cut_off_with_a_problem_when_it_is_nested_too_deep() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(55):
        schema = {"type": "array", "items": schema}
    operation = first(openapi({"requestBody": {"content": {"application/json": {"schema": schema}}}}))
    assert [each.code for each in operation.problems] == ["schema_too_deep"]


def test_the_same_bytes_come_out_when_a_document_is_read_twice() -> None:
    keys = {"format": "x", "pattern": "a", "minLength": 1, "maxLength": 2, "readOnly": True, "deprecated": True}
    assert list(schema_of({"type": "string", **keys})) == list(
        schema_of({**dict(reversed(keys.items())), "type": "string"})
    )
