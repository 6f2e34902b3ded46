"""Forms made of JSON Schemas: what is drawn, what comes back, and schemas that mean harm."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from environments.core.schema_form import (
    ABSENT,
    MAX_FIELDS,
    MAX_ROWS,
    MAX_TABLE_ROWS,
    FormField,
    Unread,
    add_row,
    build_form,
    messages_by_field,
    parse_typed_json,
    read_form,
    remove_row,
    schema_rows,
)
from environments.runtime.pack import read_pack
from environments.runtime.schema import ArgumentValidator

PACKS = {folder.name: read_pack(folder) for folder in sorted(Path("environments/packs").iterdir()) if folder.is_dir()}


def sent(form: FormField) -> dict[str, list[str]]:
    """What a browser sends for these fields when nobody touches them; newlines go as browsers send them."""
    data: dict[str, list[str]] = {}
    for field in form.every:
        if field.kind == "json" and field.was_drawn_otherwise:
            data[f"k:{field.pointer}"] = ["json"]
        if field.kind == "array":
            data[f"r:{field.pointer}"] = [child.pointer.rpartition("/")[2] for child in field.children]
        if field.kind not in {"object", "array"}:
            data[f"v:{field.pointer}"] = [field.text.replace("\n", "\r\n")]
        if field.state:
            data[f"s:{field.pointer}"] = [field.state]
    return data


def round_trip(schema: Any, value: Any) -> Any:
    reading = read_form(schema, sent(build_form(schema, value)))
    assert reading.problems == ()
    return reading.value


def objects(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def field_of(schema: Any, value: Any, pointer: str) -> FormField:
    return next(each for each in build_form(schema, value).every if each.pointer == pointer)


# --- Drawing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string", "maxLength": 40}, "text"),
        ({"type": "string", "pattern": "^[A-Z]{2}$"}, "text"),
        ({"type": "string", "format": "date-time"}, "text"),
        ({"type": "string", "format": "uuid"}, "text"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string"}, "long_text"),
        ({"type": "string", "maxLength": 500}, "long_text"),
        ({"type": "integer"}, "integer"),
        ({"type": "number"}, "number"),
        ({"type": "boolean"}, "boolean"),
        ({"enum": ["a", 1, None]}, "choice"),
        ({"const": 5}, "choice"),
        ({"type": ["string", "null"], "maxLength": 5}, "text"),
        (objects(a={"type": "integer"}), "object"),
        ({"type": "array", "items": {"type": "integer"}}, "array"),
        ({"type": "array", "items": objects(a={"type": "integer"})}, "array"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "json"),
        ({"oneOf": [{"type": "integer"}]}, "json"),
        ({"type": "string", "not": {"const": "a"}}, "json"),
        ({"type": ["string", "integer"]}, "json"),
        ({"type": "object"}, "json"),
        ({"type": "object", "additionalProperties": False}, "object"),
        ({"type": "array"}, "json"),
        ({"type": "array", "items": {"type": "integer"}, "prefixItems": [{}]}, "json"),
        ({}, "json"),
        (True, "json"),
        ({"$ref": "#/$defs/missing"}, "json"),
        ({"enum": list(range(1000))}, "json"),
    ],
)
def test_field_is_drawn_by_the_schema_of_its_part(schema, kind):
    assert field_of(objects(part=schema), ABSENT, "/part").kind == kind


def test_reference_is_followed_and_words_beside_it_win():
    schema = {**objects(part={"$ref": "#/$defs/code", "description": "Mine."})}
    schema["$defs"] = {"code": {"type": "string", "maxLength": 3, "description": "Its own."}}

    part = field_of(schema, ABSENT, "/part")

    assert (part.kind, part.description, part.constraints) == ("text", "Mine.", ("at most 3 characters",))


def test_field_has_a_title_for_people():
    schema = objects(num_rows={"type": "integer"}, count={"type": "integer", "title": "How many"})

    assert [field.title for field in build_form(schema).children] == ["Num rows", "How many"]


def test_field_says_what_leaving_it_out_means_and_whether_it_is_required():
    schema = objects(("a",), a={"type": "integer", "minimum": 1}, b={"type": "integer", "default": 20})

    first, second = build_form(schema, {"a": 5}).children

    assert (first.is_required, first.is_given, first.text, first.default) == (True, True, "5", None)
    assert (second.is_required, second.is_given, second.text, second.default) == (False, False, "", "20")


@pytest.mark.parametrize(
    "value",
    ["a\rb", "a\x00b", "\ud800", "\u202etxt", 5, True, None, ["x"], {"x": 1}],
)
def test_value_that_its_own_control_would_not_keep_is_drawn_as_json(value):
    part = field_of(objects(part={"type": "string", "maxLength": 9}), {"part": value}, "/part")

    assert part.kind == "json"
    assert part.was_drawn_otherwise
    assert json.loads(part.text) == value


def test_text_of_digits_for_an_integer_stays_text():
    schema = objects(part={"type": "integer"})

    assert round_trip(schema, {"part": "5"}) == {"part": "5"}
    assert round_trip(schema, {"part": 5}) == {"part": 5}
    assert round_trip(schema, {"part": 5.0}) == {"part": 5.0}


def test_deep_and_wide_parts_are_drawn_as_json_and_come_back():
    deep: Any = {"type": "integer"}
    value: Any = 1
    for _ in range(8):
        deep, value = objects(a=deep), {"a": value}
    wide = objects(**{f"p{number}": {"type": "integer"} for number in range(MAX_FIELDS + 1)})
    rows = {"type": "array", "items": {"type": "integer"}}

    assert round_trip(deep, value) == value
    assert build_form(wide, {}).kind == "json"
    assert field_of(objects(a=rows), {"a": [1] * (MAX_ROWS + 1)}, "/a").kind == "json"
    assert len(list(build_form(objects(a=rows, b=rows), {"a": [1] * MAX_ROWS, "b": [2]}).every)) == MAX_ROWS + 4


# --- Reading ----------------------------------------------------------------------------------------------------------


def test_typed_text_becomes_the_value_that_its_schema_asks_for():
    schema = objects(
        n={"type": "integer"}, x={"type": "number"}, b={"type": "boolean"}, c={"enum": ["red", 2]},
        t={"type": "string"}, l={"type": "array", "items": {"type": "integer"}},
    )  # fmt: skip
    data = {"v:/n": [" 12"], "v:/x": ["1.5e2"], "v:/b": ["1"], "v:/c": ["1"], "v:/t": ["a\r\nb"]}

    rows = {"r:/l": ["7", "x"], "v:/l/7": ["3"], "v:/l/x": ["four"]}

    assert read_form(schema, data | rows).value == {
        "n": 12,
        "x": 150.0,
        "b": False,
        "c": 2,
        "t": "a\nb",
        "l": [3, "four"],
    }


def test_what_is_left_empty_is_left_out():
    schema = objects(("t", "o", "l"), t={"type": "string"}, i={"type": "integer"}, o=objects(a={"type": "integer"}),
                     l={"type": "array", "items": {}}, p=objects(a={"type": "integer"}))  # fmt: skip

    assert read_form(schema, {"v:/t": [""], "v:/i": [""]}).value == {"o": {}, "l": []}
    assert read_form(schema, {"s:/t": ["empty"], "s:/p": ["given"]}).value == {"t": "", "o": {}, "l": [], "p": {}}


def test_text_that_is_no_json_is_kept_and_named():
    schema = objects(j={}, l={"type": "array", "items": {}})

    reading = read_form(schema, {"v:/j": ["{oops"], "r:/l": ["a"], "v:/l/a": [""]})

    assert reading.value == {"j": Unread("{oops"), "l": [Unread("")]}
    assert [problem.pointer for problem in reading.problems] == ["/j", "/l/0"]
    assert "line 1, column 2" in reading.problems[0].message
    assert field_of(schema, reading.value, "/j").text == "{oops"


@pytest.mark.parametrize("text", ["[1", '{"a":1,"a":2}', "NaN", "[" * 5000, "1" * 5000, '"\\ud800"', "x" * 300_000])
def test_json_is_read_strictly(text):
    with pytest.raises(ValueError, match="This"):
        parse_typed_json(text)


def test_rows_come_and_go():
    schema = objects(o=objects(l={"type": "array", "items": objects(a={"type": "integer"})}))

    one = add_row(add_row(ABSENT, "/o/l"), "/o/l")
    drawn = build_form(schema, one)

    assert one == {"o": {"l": [ABSENT, ABSENT]}}
    assert [row.label for row in drawn.children[0].children[0].children] == ["1", "2"]
    assert read_form(schema, sent(drawn)).value == {"o": {"l": [{}, {}]}}
    assert remove_row({"o": {"l": [1, 2, 3]}}, "/o/l/1") == {"o": {"l": [1, 3]}}


@pytest.mark.parametrize(
    "pointer", ["", "/", "/o/l/9", "/o/l/-1", "/o/l/²", "/o/x/0", "/o/l/0/0/0", "l", "/o/l/99999999"]
)
def test_rows_that_are_not_there_change_nothing(pointer):
    value = {"o": {"l": [1]}}

    assert remove_row(value, pointer) == value
    assert add_row(value, f"{pointer}/0/0/0/0/0/0/0") is not None


# --- Messages ---------------------------------------------------------------------------------------------------------


def test_messages_stand_at_the_field_that_they_are_about():
    schema = objects(("a", "b"), a={"type": "integer"}, b={"type": "string"}, j={})
    form = build_form(schema, {"a": "x", "j": {"deep": [1]}})
    details = [("/a", "not an integer"), ("/j/deep/0", "too small"), ("", '"b" is a required property')]

    found = messages_by_field(form, details, needed="needed")

    assert found == {
        "/a": ("not an integer",),
        "/j": ("too small",),
        "": ('"b" is a required property',),
        "/b": ("needed",),
    }


# --- Round trips ------------------------------------------------------------------------------------------------------

TOOLS = [(name, tool) for name, pack in PACKS.items() for tool in pack.tools]


@pytest.mark.parametrize(("name", "tool"), TOOLS, ids=[f"{name}.{tool.name}" for name, tool in TOOLS])
def test_every_tool_of_the_shipped_packs_is_drawn_without_json_and_every_case_comes_back(name, tool):
    assert all(field.kind != "json" for field in build_form(tool.input_schema).every)
    calls = [call for case in PACKS[name].cases for call in case.calls if call.tool == tool.name]
    for call in calls:
        assert round_trip(tool.input_schema, call.arguments) == call.arguments


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_valid_arguments_of_the_shipped_packs_come_back(data):
    _, tool = data.draw(st.sampled_from(TOOLS))
    arguments = data.draw(values_of(tool.input_schema))
    assert ArgumentValidator(tool).errors(arguments) == []

    assert round_trip(tool.input_schema, arguments) == arguments


def values_of(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of the part of JSON Schema that the shipped packs use."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(schema.get("minimum", 1 - 2**53), schema.get("maximum", 2**53 - 1))
        case "number":
            return st.floats(schema["minimum"], schema["maximum"], allow_nan=False) | st.just(schema["minimum"])
        case "array":
            items = values_of(schema["items"])
            return st.lists(items, min_size=schema["minItems"], max_size=schema["maxItems"])
        case "object":
            parts = {name: values_of(part) for name, part in schema["properties"].items()}
            required = {name: part for name, part in parts.items() if name in schema.get("required", ())}
            optional = {name: part for name, part in parts.items() if name not in required}
            return st.fixed_dictionaries(required, optional=optional)
    if schema.get("format") == "uuid":
        return st.uuids().map(str)
    if schema.get("format") == "date":
        return st.dates().map(str)
    if schema.get("format") == "email":
        return st.just("ada@example.org")
    if "pattern" in schema:
        pattern = schema["pattern"].replace("\\d", "[0-9]")
        if "format" in schema:
            return st.datetimes().map(lambda at: at.strftime("%Y-%m-%dT%H:%M:00Z").rjust(20, "0"))
        return st.from_regex(pattern, fullmatch=True).filter(lambda text: len(text) <= schema.get("maxLength", 99))
    return st.text(st.characters(exclude_categories=["Cs"]), min_size=schema.get("minLength", 0),
                   max_size=schema["maxLength"])  # fmt: skip


SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    SCALARS | TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=8
)
SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "string", "maxLength": 4},
            {"type": "string", "format": "date"},
            {},
            True,
            {"type": "integer"},
            {"type": "number"},
            {"type": "boolean"},
            {"type": ["string", "null"]},
            {"type": ["integer", "null"]},
            {"enum": [1, "1", None, True, 1.0]},
            {"const": "x"},
            {"$ref": "#"},
        ]
    ),
    lambda inner: (
        st.dictionaries(TEXTS, inner, max_size=4).map(lambda parts: objects(tuple(parts)[:2], **parts))
        | inner.map(lambda item: {"type": "array", "items": item})
    ),
    max_leaves=10,
)


@settings(max_examples=400, deadline=None)
@given(SCHEMAS, VALUES)
def test_any_value_comes_back_from_the_form_of_any_schema(schema, value):
    """Also one that does not fit: a stored call may be of another schema's mind than the form."""
    again = round_trip(schema, value)
    if isinstance(value, dict):  # required objects and arrays that were left out are given
        again = {name: part for name, part in again.items() if name in value or part not in ({}, [])}
    assert json.dumps(_bare(again), sort_keys=True) == json.dumps(_bare(value), sort_keys=True)


def _bare(value: Any) -> Any:
    """The value without what an empty object or array may be added to."""
    if isinstance(value, dict):
        return {name: _bare(part) for name, part in value.items() if _bare(part) not in ({}, [])}
    if isinstance(value, list):
        return [_bare(part) for part in value]
    return value


# --- Schemas that mean harm -------------------------------------------------------------------------------------------


def nested(depth: int, wrap: Any) -> Any:
    schema: Any = {"type": "integer"}
    for _ in range(depth):
        schema = wrap(schema)
    return schema


HOSTILE = {
    "deep objects": nested(400, lambda inner: objects(a=inner)),
    "deep arrays": nested(400, lambda inner: {"type": "array", "items": inner}),
    "deep forms": nested(400, lambda inner: {"anyOf": [inner, inner]}),
    "deep not": nested(5000, lambda inner: {"not": inner}),
    "wide": objects(**{f"p{number}": {"type": "string"} for number in range(20_000)}),
    "wide and deep": nested(7, lambda inner: objects(**{f"p{number}": inner for number in range(50)})),
    "itself": {"$ref": "#"},
    "each other": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    "a tree": {**objects(left={"$ref": "#"}, right={"$ref": "#"}, more={"type": "array", "items": {"$ref": "#"}})},
    "odd names": objects(**{"": {}, "/": {}, "~": {}, "a\x00b": {}, "x" * 5000: {}, "__proto__": {}, "<b>": {}}),
    "odd words": objects(a={"type": 5, "description": [1], "enum": {}, "minLength": "x", "default": {"a": [None]}}),
    "odd parts": {"type": "object", "properties": [1, 2], "required": 5, "items": 3, "anyOf": "x", "prefixItems": 1},
    "odd types": objects(a={"type": ["string", 5, None]}, b={"type": []}, c={"type": {"a": 1}}, d={"$ref": 5}),
    "huge pattern": objects(a={"type": "string", "pattern": "(a+)+$" * 20_000}),
    "slow pattern": objects(a={"type": "string", "pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}),
    "huge enum": objects(a={"enum": [str(number) for number in range(100_000)]}),
    "huge default": objects(a={"type": "string", "default": "x" * 1_000_000}),
    "not a schema": "text",
    "nothing": None,
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_no_schema_breaks_a_form_or_takes_long(name):
    schema = HOSTILE[name]
    value = {"a": "a" * 50 + "!", "left": {"left": {"left": {"left": {"left": {}}}}}, "p1": {"p1": 5}}
    started = time.process_time()

    form = build_form(schema, value)
    again = read_form(schema, sent(form)).value
    empty = read_form(schema, sent(build_form(schema)))
    rows = schema_rows(schema)

    assert time.process_time() - started < 1.0
    assert again == value or form.kind != "json"
    assert _bare(again) == _bare(value)
    assert len(list(form.every)) <= MAX_FIELDS + 1
    assert len(rows) <= MAX_TABLE_ROWS + 1
    assert empty.value is not ABSENT


# --- The table --------------------------------------------------------------------------------------------------------


def test_table_has_a_row_for_each_part_with_its_words():
    schema = objects(
        ("code", "items"),
        code={"type": "string", "format": "uuid", "description": "Which."},
        items={
            "type": "array", "minItems": 1, "items": objects(("n",), n={"type": "integer", "minimum": 1, "default": 2})
        },
        either={"anyOf": [{"const": 5}, {"type": ["string", "null"], "maxLength": 3}]},
    )  # fmt: skip

    rows = [
        (row.depth, row.name, row.type_words, row.is_required, row.constraints, row.default)
        for row in schema_rows(schema)
    ]

    assert rows == [
        (0, "code", "text (uuid)", True, (), None),
        (0, "items", "array of objects", True, ("at least 1 item",), None),
        (1, "[ ]", "object", None, (), None),
        (2, "n", "integer", True, ("at least 1",), "2"),
        (0, "either", "any of several", False, (), None),
        (1, "any of these, 1", "always this", None, ("5",), None),
        (1, "any of these, 2", "text or null", None, ("at most 3 characters",), None),
    ]


def test_table_ends_a_schema_that_refers_to_itself():
    rows = schema_rows(objects(child={"$ref": "#"}))

    assert len(rows) == 8
    assert {row.name for row in rows} == {"child"}
