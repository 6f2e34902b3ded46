from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from environments.core.compile.reading.calls import ShapeType
from environments.core.compile.reading.shapes import EXPANDS, Shapes
from environments.runtime.schema import check_schema
from tests.environments.core.compile.reading.operations import NUMBER, TEXT, array, obj

CUSTOMER = obj(("id",), id=TEXT, name=TEXT)


def test_parts_of_all_of_are_merged_with_what_stands_beside() -> None:
    shapes = Shapes({"Base": obj(("id",), id=TEXT, kind={"type": "string"})})
    node = {
        "allOf": [{"$ref": "#/definitions/Base"}, obj(("size",), size=NUMBER)],
        "properties": {"kind": {"description": "Only words, no type."}},
    }

    shape = shapes.of(node)

    assert shape.type is ShapeType.OBJECT
    assert list(shape.properties) == ["id", "kind", "size"]
    assert shape.properties["kind"] == {"type": "string"}
    assert shape.required == {"id", "size"}


def test_a_reference_with_words_beside_it_keeps_the_name() -> None:
    shapes = Shapes({"Customer": CUSTOMER})

    shape = shapes.of({"allOf": [{"$ref": "#/definitions/Customer"}, {"description": "Who *pays*."}]})

    assert shape.name == "Customer"
    assert shape.description == "Who pays ."


def test_required_members_of_a_choice_are_those_of_all_variants() -> None:
    shape = Shapes({}).of({"oneOf": [obj(("a", "b"), a=TEXT, b=TEXT), obj(("b",), b=TEXT, c=NUMBER), {"type": "null"}]})

    assert shape.required == {"b"}
    assert list(shape.properties) == ["a", "b", "c"]
    assert shape.is_nullable


def test_variants_that_only_restrict_are_none() -> None:
    shape = Shapes({}).of({**obj(a=TEXT, b=TEXT), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})

    assert list(shape.properties) == ["a", "b"]
    assert shape.required == frozenset()


def test_an_id_or_the_object_that_it_names_is_a_text() -> None:
    shapes = Shapes({"customer": CUSTOMER})

    shape = shapes.of({"anyOf": [{"type": "string", "maxLength": 50}, {"$ref": "#/definitions/customer"}]})

    assert shape.type is ShapeType.STRING
    assert shape.keywords[EXPANDS] == "customer"
    assert EXPANDS not in shapes.plain(shape.schema)


def test_an_empty_text_that_unsets_is_no_variant() -> None:
    shape = Shapes({}).of({"anyOf": [{"type": "integer"}, {"type": "string", "enum": [""]}]})

    assert shape.type is ShapeType.INTEGER


def test_an_enum_beside_a_plain_text_is_open() -> None:
    shape = Shapes({}).of({"anyOf": [{"type": "string"}, {"type": "string", "enum": ["a", "b"]}]})

    assert (shape.type, shape.values) == (ShapeType.STRING, ())


def test_null_is_no_value_but_noted() -> None:
    shape = Shapes({}).of({"type": ["string", "null"], "enum": ["a", None]})

    assert (shape.type, shape.values, shape.is_nullable) == (ShapeType.STRING, ("a",), True)


def test_words_that_say_read_only_count() -> None:
    shapes = Shapes({})

    assert shapes.of({"type": "string", "description": "[Output Only] Set by the server."}).is_read_only
    assert shapes.of({"type": "string", "description": "Output only. Set by the server."}).is_read_only
    assert not shapes.of({"type": "string", "description": "Whether the disk is read only."}).is_read_only


def test_circles_end() -> None:
    definitions: dict[str, Any] = {
        "Node": obj(next={"$ref": "#/definitions/Node"}),
        "Loop": {"allOf": [{"$ref": "#/definitions/Loop"}]},
        "Ring": {"$ref": "#/definitions/Ring"},
    }
    shapes = Shapes(definitions)

    assert shapes.of({"$ref": "#/definitions/Loop"}).type is ShapeType.ANY
    assert shapes.of({"$ref": "#/definitions/Ring"}).type is ShapeType.ANY
    node = shapes.of({"$ref": "#/definitions/Node"})
    assert shapes.of(node.properties["next"]) is node


def test_the_same_node_gives_the_same_shape() -> None:
    shapes = Shapes({"Customer": CUSTOMER})
    node = {"$ref": "#/definitions/Customer"}

    assert shapes.of(node) is shapes.of(node) is shapes.of({"$ref": "#/definitions/Customer"})


def test_promoted_members_and_small_parts_are_members_of_the_row() -> None:
    resource = obj(
        ("id", "properties"),
        id=TEXT,
        properties=obj(("state",), state=TEXT, sku=obj(("name",), name=TEXT, tier=TEXT), owner=obj(id=TEXT, name=TEXT)),
        price=obj(("amount",), amount=NUMBER, currency=TEXT),
        big=obj(a=TEXT, b=TEXT, c=TEXT, d=TEXT, e=TEXT),
        tags={"type": "object"},
    )
    shapes = Shapes({})

    found = {each.path: each.is_required for each in shapes.properties(shapes.of(resource), frozenset({"properties"}))}

    assert found == {
        ("id",): True,
        ("properties", "state"): True,
        ("properties", "sku", "name"): False,
        ("properties", "sku", "tier"): False,
        ("properties", "owner"): False,
        ("price", "amount"): False,
        ("price", "currency"): False,
        ("big",): False,
        ("tags",): False,
    }


def test_a_plain_schema_is_one_that_tools_may_use() -> None:
    shapes = Shapes({"Customer": CUSTOMER})
    node = obj(
        ("code",),
        code={"type": "string", "pattern": "^(?=x)", "format": "int99", "description": "A code."},
        day={"type": "string", "format": "date", "nullable": True},
        customers=array({"$ref": "#/definitions/Customer"}),
        deep=obj(deeper=obj(deepest=obj(x=TEXT))),
        choice={"oneOf": [{"type": "string"}, {"type": "integer"}]},
    )

    plain = shapes.plain(node, depth=2)

    assert check_schema(plain) == ()
    assert plain["required"] == ["code"]
    properties = plain["properties"]
    assert isinstance(properties, dict)
    assert properties["code"] == {"type": "string", "description": "A code."}
    assert properties["day"] == {"type": "string", "format": "date"}
    assert properties["deep"] == {"type": "object", "properties": {"deeper": {"type": "object"}}}
    assert properties["choice"] == {"type": "string"}


SCHEMAS = st.recursive(
    st.sampled_from(
        [TEXT, NUMBER, {"type": "null"}, {"enum": ["a", None]}, {}, {"$ref": "#/definitions/A"}, {"const": 3}]
    ),
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(lambda each: obj(**each)),
        inner.map(array),
        st.lists(inner, min_size=1, max_size=3).flatmap(
            lambda parts: st.sampled_from(["allOf", "oneOf", "anyOf"]).map(lambda key: {key: parts})
        ),
    ),
    max_leaves=8,
)


@given(SCHEMAS, SCHEMAS)
def test_any_schema_has_a_shape_and_a_usable_plain_form(schema: Any, definition: Any) -> None:
    shapes = Shapes({"A": definition})

    shape = shapes.of(schema)

    assert shapes.of(schema) is shape
    assert None not in shape.values
    assert check_schema(shapes.plain(schema)) == ()
