"""Schemas and what they say of values: right, in order, and cheap whatever they hold."""

import dataclasses
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.runtime.schema import ArgumentValidator, ResultValidator, SchemaError, check_schema
from environments.runtime.schema.compiled import compile_schema
from environments.runtime.schema.keywords import FORMATS, KEYWORDS, MAX_DEFINITIONS, MAX_SUBSCHEMAS
from environments.runtime.schema.validators import MAX_ERRORS, MAX_VALUE_BYTES
from tests.environments.runtime.pack.small import small_pack

HOST_SECONDS = 0.010


def cpu_seconds(function):
    """The least CPU time of five runs, so that a busy machine does not count."""
    times = []
    for _ in range(5):
        started = time.process_time()
        function()
        times.append(time.process_time() - started)
    return min(times)


def chain(length):
    links = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": {**links, f"d{length}": {"type": "integer"}}}


def nested(depth, keyword="items"):
    schema = {"type": "integer"}
    for _ in range(depth):
        schema = {keyword: schema}
    return schema


def doubling(length):
    links = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n - 1}"}] * 2} for n in range(1, length + 1)}
    return {"$ref": f"#/$defs/d{length}", "$defs": {"d0": {"type": "integer"}, **links}}


def dense(size):
    return {
        "$ref": "#/$defs/d0",
        "$defs": {
            f"d{n}": {"properties": {f"p{m}": {"$ref": f"#/$defs/d{(n * 7 + m * 13) % size}"} for m in range(8)}}
            for n in range(size)
        },
    }


HOSTILE = {
    "nested_plus": {"type": "string", "pattern": "^(a+)+$"},
    "nested_star": {"type": "string", "pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"},
    "huge_repeat": {"type": "string", "pattern": "((a{500}){500}){500}"},
    "unicode_repeat": {"type": "string", "pattern": r"(\pL{100}){100}"},
    "many_patterns": {"anyOf": [{"pattern": "(?i)\\pL{3}" + "x" * n} for n in range(20)]},
    "same_patterns": {"anyOf": [{"pattern": "^\\w{1,300}$"}] * (MAX_SUBSCHEMAS - 1)},
    "many_fitting_patterns": {"anyOf": [{"pattern": f"^\\w{{1,300}}{n}$"} for n in range(20)]},
    "text_of_10_mb": {"description": "x" * 10_000_000},
    "array_of_10_mb": {"enum": list(range(1_500_000))},
    "keys_of_10_mb": {"properties": {f"property_{n:05}": {} for n in range(700_000)}},
    "example_of_10_mb": {"examples": [["x" * 1000] * 10_000]},
    "deep": nested(100_000),
    "deep_properties": nested(20_000, "not"),
    "chain_of_references": chain(MAX_DEFINITIONS - 1),
    "long_chain_of_references": chain(2_400),
    "doubling_references": doubling(60),
    "dense_references": dense(55),
    "endless_reference": {"$ref": "#"},
    "many_schemas": {"properties": {f"p{n}": {"type": "string", "maxLength": n} for n in range(MAX_SUBSCHEMAS - 1)}},
    "many_names": {"required": [f"p{n}" for n in range(MAX_SUBSCHEMAS)]},
    "too_many_names": {"required": [f"p{n}" for n in range(7_000)]},
    "many_choices": {"enum": [f"{n:020}" for n in range(2_000)]},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_schema_costs_the_host_under_10_ms(name):
    schema = HOSTILE[name]
    assert cpu_seconds(lambda: check_schema(schema)) < HOST_SECONDS


@pytest.mark.parametrize("name", [name for name, schema in HOSTILE.items() if not check_schema(schema)])
def test_hostile_schema_that_is_accepted_is_harmless_with_hostile_values(name):
    validator = (
        validator_of({"type": "object", "properties": {"x": HOSTILE[name]}}) if "$defs" not in HOSTILE[name] else None
    )
    for value in ("a" * 200_000 + "!", "aA" * 100_000, [1] * 100_000, {"a": 1}, 7):
        if validator:
            assert cpu_seconds(lambda value=value: validator.errors({"x": value})) < 0.2
        else:
            assert cpu_seconds(lambda value=value: compile_schema(HOSTILE[name]).is_valid(value)) < 0.2


def validator_of(input_schema):
    return ArgumentValidator(dataclasses.replace(small_pack().tools[0], input_schema=input_schema))


@pytest.mark.parametrize(
    "schema",
    [
        {"additionalProperties": {"anyOf": [{"const": n} for n in range(490)]}},
        {"additionalProperties": {"allOf": [{"properties": {"a": {"enum": [n]}}} for n in range(240)]}},
        {
            "additionalProperties": {
                "oneOf": [{"items": {"anyOf": [{"const": n} for n in range(22)]}} for _ in range(20)]
            }
        },
        {"additionalProperties": {"allOf": [{"pattern": f"^a{{1,{n + 200}}}$"} for n in range(20)]}},
        {"additionalProperties": {"uniqueItems": True, "items": {"uniqueItems": True}}},
    ],
)
@pytest.mark.parametrize(
    "value",
    ["x", {"a": "x"}, ["x"] * 300, [[n] for n in range(500)], "a" * 3_000],
    ids=["text", "object", "list", "lists", "long"],
)
def test_wide_schema_and_large_value_together_are_bounded(schema, value):
    assert not check_schema(schema)
    validator = validator_of({"type": "object", **schema})
    for number in (1, 20, 60, 6_000):
        started = time.process_time()
        errors = validator.errors({f"p{n}": value for n in range(number)})
        assert time.process_time() - started < 1.0
        assert len(errors) <= MAX_ERRORS


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"type": ["string", "null"], "enum": ["a", None]},
        {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"const": 3}}},
        {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}},
        {  # any JSON
            "$ref": "#/$defs/any",
            "$defs": {
                "any": {
                    "anyOf": [
                        {"type": ["string", "number", "boolean", "null"]},
                        {"type": "array", "items": {"$ref": "#/$defs/any"}},
                        {"type": "object", "additionalProperties": {"$ref": "#/$defs/any"}},
                    ]
                }
            },
        },
        {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}},
        {"prefixItems": [{"minimum": 1}, {"exclusiveMaximum": 2.5}], "items": False, "minItems": 1, "maxItems": 2},
        {"multipleOf": 0.01, "not": {"const": 3}, "title": "x", "examples": [1], "default": 2},
        nested(15),
        {"properties": {f"p{n}": {} for n in range(MAX_SUBSCHEMAS - 1)}},
    ],
)
def test_schemas_of_every_accepted_kind_have_no_fault(schema):
    assert check_schema(schema) == ()
    compile_schema(schema)


@pytest.mark.parametrize(
    "keyword",
    [
        "$id",
        "$schema",
        "$anchor",
        "$dynamicRef",
        "$recursiveRef",
        "$vocabulary",
        "$comment",
        "if",
        "then",
        "else",
        "contains",
        "minContains",
        "patternProperties",
        "propertyNames",
        "dependentSchemas",
        "dependentRequired",
        "unevaluatedProperties",
        "unevaluatedItems",
        "minProperties",
        "maxProperties",
        "definitions",
        "contentSchema",
        "deprecated",
        "x-a",
    ],
)
def test_other_keywords_are_refused(keyword):
    (fault,) = check_schema({"properties": {"a": {keyword: {}}}})
    assert (fault.code, fault.place) == ("schema_keyword", f"schema/properties/a/{keyword}")


def test_accepted_keywords_are_those_of_the_issue():
    accepted = """type properties required additionalProperties items prefixItems enum const minimum maximum
        exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format minItems maxItems uniqueItems
        anyOf oneOf allOf not $defs $ref title description default examples"""
    assert set(KEYWORDS) == set(accepted.split())


BAD_BY_FORMAT = {
    "date": "2026-02-30",
    "date-time": "2026-02-28 09:00",
    "time": "25:00:00Z",
    "duration": "1 day",
    "email": "a.b.c",
    "hostname": "a b",
    "ipv4": "1.2.3.256",
    "ipv6": "1::2::3",
    "uri": "not a uri",
    "uri-reference": "::",
    "uuid": "1234",
    "json-pointer": "a/b",
}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_accepted_formats_are_really_checked(name):
    assert not compile_schema({"format": name}).is_valid(BAD_BY_FORMAT[name])
    assert compile_schema({"format": name}).is_valid(7)


def test_remote_references_are_never_fetched():
    with pytest.raises(SchemaError):
        compile_schema({"$ref": "http://127.0.0.1:9/schema.json"})


def test_errors_have_pointers_and_messages_in_order():
    tool = small_pack().tools[0]
    validator = ArgumentValidator(tool)
    assert validator.errors({"board_code": "OAK", "from": "Ida"}) == []
    assert validator.errors({"board_code": "oak", "remark": 3, "more": 1}) == [
        {"pointer": "", "message": '"from" is a required property'},
        {"pointer": "", "message": "Additional properties are not allowed ('more' was unexpected)"},
        {"pointer": "/board_code", "message": 'the value does not match "^[A-Z]{3}$"'},
        {"pointer": "/remark", "message": 'the value is not of type "string"'},
    ]
    assert validator.errors([1])[0]["pointer"] == ""
    assert validator.errors(None)[0]["message"] == 'the value is not of type "object"'


def test_errors_are_the_same_however_the_schema_is_written():
    properties = {f"p{n}": {"type": "integer", "minimum": 5, "maximum": 1} for n in range(30)}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    other = {key: schema[key] for key in reversed(schema)}
    other["properties"] = {name: dict(reversed(properties[name].items())) for name in reversed(properties)}
    value = {f"p{n}": 3 for n in range(30)}
    errors = validator_of(schema).errors(value)
    assert errors == validator_of(other).errors(value) == validator_of(schema).errors(dict(reversed(value.items())))
    assert len(errors) == MAX_ERRORS


def test_pointers_are_escaped_and_messages_short():
    schema = {"type": "object", "properties": {"a/b~c": {"enum": ["x" * 200, "y" * 200]}}}
    (error,) = validator_of(schema).errors({"a/b~c": "z"})
    assert error["pointer"] == "/a~1b~0c"
    assert len(error["message"]) == 300


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        [None, -float("inf")],
        2**53,
        -(2**63),
        10**400,
        "\ud800",
        b"x",
        {1: 2},
        object(),
        {"a"},
    ],
)
def test_values_that_are_no_json_are_refused(value):
    (error,) = validator_of({"type": "object"}).errors({"x": value})
    assert error["pointer"] == ""
    assert "not JSON" in error["message"]


def test_integers_of_53_bits_and_null_are_accepted():
    assert validator_of({"type": "object"}).errors({"x": [2**53 - 1, 1 - 2**53, None, True, 1.5]}) == []


def test_arguments_of_256_kib_are_accepted_and_no_more():
    validator = validator_of({"type": "object"})
    room = MAX_VALUE_BYTES - len('{"x":""}')
    assert validator.errors({"x": "y" * room}) == []
    assert "larger" in validator.errors({"x": "y" * (room + 1)})[0]["message"]
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert "not JSON" in validator.errors({"x": deep})[0]["message"]


def test_defaults_are_filled_into_a_copy():
    schema = {
        "type": "object",
        "properties": {"a": {"default": 3}, "b": {"default": []}, "c": {"default": None}, "d": {"type": "string"}},
    }
    validator = validator_of(schema)
    arguments = {"a": 4}
    filled = validator.fill_defaults(arguments)
    assert filled == {"a": 4, "b": [], "c": None}
    assert arguments == {"a": 4}
    filled["b"].append(1)
    assert validator.fill_defaults({})["b"] == []
    assert schema["properties"]["b"]["default"] == []


def test_results_are_checked_by_the_output_schema():
    validator = ResultValidator(small_pack().tools[0])
    assert validator.errors({"loan_id": 1}) == []
    assert validator.errors({"loan_id": 0})[0]["pointer"] == "/loan_id"
    assert validator.errors({})


def test_validation_costs_a_fraction_of_the_host_budget():
    validator = ArgumentValidator(small_pack().tools[0])
    arguments = {"board_code": "OAK", "from": "Ida", "remark": "Careful"}

    def a_thousand_calls():
        for _ in range(1_000):
            validator.errors(arguments)
            validator.fill_defaults(arguments)

    assert cpu_seconds(a_thousand_calls) < 0.010  # 10 of the 30 microseconds a call; measured 1.5


schemas = st.recursive(
    st.sampled_from(
        [
            {},
            True,
            False,
            {"type": "string"},
            {"enum": [1, "a"]},
            {"pattern": "^(a|b)*$"},
            {"$ref": "#/$defs/a"},
            {"$ref": "#/$defs/b"},
            {"$ref": "#"},
            {"const": None},
            {"type": 3},
            3,
            {"minimum": "x"},
            {"format": "uuid"},
        ]
    ),
    lambda inner: st.one_of(
        st.builds(lambda key, value: {key: value}, st.sampled_from(["items", "not", "additionalProperties"]), inner),
        st.builds(
            lambda key, value: {key: value},
            st.sampled_from(["anyOf", "allOf", "prefixItems"]),
            st.lists(inner, max_size=3),
        ),
        st.builds(lambda value: {"properties": value}, st.dictionaries(st.sampled_from("ab"), inner, max_size=2)),
    ),
    max_leaves=8,
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["a", "ab", "zz"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None)
@given(schemas, schemas, schemas, values)
def test_schemas_without_fault_compile_and_judge_values_quickly(root, first, second, value):
    schema = {"allOf": [root], "$defs": {"a": first, "b": second}}
    if check_schema(schema):
        return
    validator = compile_schema(schema)
    started = time.process_time()
    validator.is_valid(value)
    assert time.process_time() - started < 0.05
