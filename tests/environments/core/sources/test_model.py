from environments.core.sources.model import (
    MAX_HOPS,
    Body,
    Location,
    Operation,
    Parameter,
    Response,
    Schema,
    input_schema,
    named,
    success_response,
)


def test_a_body_stands_beside_parameters_when_it_is_an_object() -> None:
    definitions = {"Order": {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "lost"]}}
    parameter = Parameter("id", Location.PATH, True, {"type": "integer"}, "Which one")
    operation = Operation("k", "n", parameters=(parameter,), body=Body("m", {"$ref": "#/definitions/Order"}, True))
    schema = input_schema(operation, definitions)
    assert list(schema["properties"]) == ["id", "a", "b"]
    assert schema["properties"]["id"] == {"type": "integer", "description": "Which one"}
    assert schema["required"] == ["id", "a"]


def test_a_body_keeps_its_own_name_when_a_member_would_hide_a_parameter() -> None:
    parameter = Parameter("a", Location.QUERY, False, {})
    body = Body("m", {"type": "object", "properties": {"a": {}}, "required": ["a"]}, True)
    schema = input_schema(Operation("k", "n", parameters=(parameter,), body=body), {})
    assert list(schema["properties"]) == ["a", "body"]
    assert schema["required"] == ["body"]


def test_a_name_stands_for_nothing_when_definitions_name_each_other_in_a_circle() -> None:
    circle: dict[str, Schema] = {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}
    assert named({"$ref": "#/definitions/a"}, circle) == {}
    assert named({"$ref": "#/definitions/none"}, {}) == {}
    chain = {f"s{n}": {"$ref": f"#/definitions/s{n + 1}"} for n in range(MAX_HOPS - 2)}
    assert named({"$ref": "#/definitions/s0"}, {**chain, f"s{MAX_HOPS - 2}": {"type": "string"}}) == {"type": "string"}


def test_the_answer_of_success_falls_back_when_none_is_described() -> None:
    error, default = Response("400", "m", {}), Response("default", "m", {})
    assert success_response(Operation("k", "n", responses=(error,))) is None
    assert success_response(Operation("k", "n", responses=(error, default))) is default
