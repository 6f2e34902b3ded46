"""What environment.json says of tools, tables and sources."""

from dataclasses import replace

import pytest

from environments.core.compile.emission import emit_pack, tool_entries
from environments.core.compile.emission.conditions import json_path
from environments.core.compile.emission.schemas import clean
from environments.core.compile.emission.wording import with_article
from environments.core.compile.semantics import ArgumentRole, StateAllows
from environments.runtime.engine.engine import Engine
from environments.runtime.pack import check_pack
from tests.environments.core.compile.emission.odd import odd
from tests.environments.core.compile.emission.states import ODD_ROWS, SHOP_ROWS, scenario
from tests.factories.blueprints import shop


@pytest.fixture(scope="module")
def tools():
    return {tool.name: tool for tool in tool_entries(shop())}


@pytest.mark.parametrize(("make", "rows"), [(shop, SHOP_ROWS), (odd, ODD_ROWS)])
def test_pack_has_no_fault(make, rows):
    pack = emit_pack(make(), [scenario(rows)], [])
    assert check_pack(pack) == ()
    assert Engine(pack).faults == ()


def test_arguments_are_as_planned(tools):
    schema = tools["search_orders"].input_schema
    assert list(schema["properties"]) == ["note", "order_by", "direction", "from"]
    assert schema["required"] == ["note"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["from"] == {"type": "integer", "minimum": 0, "description": "The from.", "default": 0}
    assert tools["search_orders"].argument_names == {"from": "from_"}
    before = tools["list_products"].input_schema["properties"]["released_before"]
    assert before["pattern"] == "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


def test_answers_hold_all_and_null_only_where_it_may_be(tools):
    order = tools["get_order"].output_schema["properties"]["data"]
    assert order["required"] == ["id", "customer", "status", "total", "note", "address", "created", "updated"]
    assert order["properties"]["customer"]["properties"]["id"]["type"] == "string"
    assert order["properties"]["total"]["type"] == ["number", "null"]
    assert order["properties"]["status"]["enum"] == ["open", "paid", "shipped", "cancelled"]
    assert tools["list_products"].output_schema["properties"]["object"] == {"const": "list"}
    customers = tools["list_customers"].output_schema
    assert customers["properties"]["meta"]["properties"]["next"]["type"] == ["integer", "null"]
    assert customers["properties"]["customers"]["items"]["properties"]["email"]["format"] == "email"
    assert tools["delete_order"].output_schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_format_is_promised_only_if_every_writer_keeps_to_it():
    blueprint = shop()
    loose = tuple(
        replace(
            tool,
            meaning=replace(
                tool.meaning,
                arguments=tuple(
                    replace(each, schema={"type": "string"}) if each.name == "email" else each
                    for each in tool.meaning.arguments
                ),
            ),
        )
        if tool.name == "update_customer"
        else tool
        for tool in blueprint.tools
    )
    [found] = [tool for tool in tool_entries(replace(blueprint, tools=loose)) if tool.name == "get_customer"]
    assert "format" not in found.output_schema["properties"]["email"]


def test_refusals_are_said_in_words(tools):
    said = {
        (tool.name, item.code): (item.message, item.policy) for tool in tools.values() for item in tool.preconditions
    }
    assert said["create_order", "customer_not_found"] == ("There is no customer with this id.", None)
    assert said["create_order_line", "customer_not_found"][0] == "There is no customer with the id given as gift_for."
    assert said["create_customer", "email_taken"] == (
        "There is already a customer with this email.", "No two customers have the same email.",
    )  # fmt: skip
    assert said["delete_customer", "customer_in_use"] == (
        "There are still orders that belong to this customer.",
        "A customer to which orders still belong cannot be deleted.",
    )
    assert said["ship_order", "order_not_paid"] == (
        "The order's status must be paid.", "To ship an order, its status must be paid.",
    )  # fmt: skip
    assert said["cancel_order", "order_not_cancellable"][1] == (
        "To cancel an order, its status must not be cancelled or shipped."
    )


@pytest.mark.parametrize(
    ("noun", "expected"),
    [("order", "an order"), ("user", "a user"), ("hour", "an hour"), ("unit", "a unit"), ("key", "a key")],
)
def test_article(noun, expected):
    assert with_article(noun) == expected


def test_descriptions_say_what_is_needed_and_given_once(tools):
    assert tools["create_order"].description == "Create order. Needs customer. Gives the order."
    blueprint = shop()
    own = replace(blueprint.tools[1], description="Shows one. Needs id. Returns the customer")
    assert tool_entries(replace(blueprint, tools=(own,)))[0].description == "Shows one. Needs id. Returns the customer."


@pytest.mark.parametrize(
    ("allowed", "refused", "expected"),
    [
        (("a",), (), "note IS NOT NULL AND note = 'a'"),
        (("a", None), (), "note IS NULL OR note = 'a'"),
        ((), ("a", "b"), "note IS NULL OR note NOT IN ('a', 'b')"),
        ((), ("a", None), "note IS NOT NULL AND note <> 'a'"),
    ],
)
def test_states_that_may_be_null(allowed, refused, expected):
    blueprint = shop()
    [tool] = [tool for tool in blueprint.tools if tool.name == "ship_order"]
    state = StateAllows("odd_state", "orders", (("id", "id"),), "note", allowed, refused)
    meaning = replace(tool.meaning, checks=(tool.meaning.checks[0], state))
    [entry] = tool_entries(replace(blueprint, tools=(replace(tool, meaning=meaning),)))
    assert entry.preconditions[1].sql == f"SELECT {expected} FROM orders WHERE id = :id"


def test_checks_of_one_code_are_one_condition():
    blueprint = shop()
    [tool] = [tool for tool in blueprint.tools if tool.name == "watch_product"]
    same = tuple(replace(check, code="not_found") for check in tool.meaning.checks)
    [entry] = tool_entries(replace(blueprint, tools=(replace(tool, meaning=replace(tool.meaning, checks=same)),)))
    [condition] = entry.preconditions
    assert condition.sql.count("EXISTS") == 2


def test_every_tool_that_can_be_wrong_has_a_postcondition(tools):
    assert [name for name, tool in tools.items() if not tool.postconditions] == []
    assert tools["create_customer"].captures == {}
    assert {tool.name: tool.captures for tool in tool_entries(odd())}["create_group"] == {
        "rows": 'SELECT count(*) FROM "group"'
    }


def test_schemas_are_cleaned():
    odd_words = {"format": "phone", "pattern": "(?=a)", "x-odd": 1, "minLength": -1, "maximum": 2**60}
    good_words = {"type": ["string", "null"], "items": {"type": "integer"}, "description": "a b", "enum": ["a", None]}
    assert clean({**odd_words, **good_words, "items": {"$ref": "#/x", "type": "integer"}}) == good_words
    assert clean({"description": "a\n\tb", "enum": ("a", None)}) == {"description": "a b", "enum": ["a", None]}


def test_null_is_no_value_of_an_argument():
    blueprint = shop()
    [tool] = [tool for tool in blueprint.tools if tool.name == "count_orders"]
    [argument] = tool.meaning.arguments
    loose = replace(argument, schema={"type": ["string", "null"], "enum": ["open", None]}, role=ArgumentRole.FILTER)
    meaning = replace(tool.meaning, arguments=(loose,))
    [entry] = tool_entries(replace(blueprint, tools=(replace(tool, meaning=meaning),)))
    assert entry.input_schema["properties"]["status"] == {
        "type": "string",
        "enum": ["open"],
        "description": "The status.",
    }


def test_paths_into_the_result():
    assert json_path(("data",), ("@id", "x"), first=True) == "'$.data[0].\"@id\".x'"
    assert json_path(("it's",)) == "'$.\"it''s\"'"
    assert json_path(('a"b',)) is None


def test_columns_are_compared_as_the_contract_allows():
    tables = emit_pack(odd(), [], []).tables
    assert {name: column.comparison for name, column in tables["items"].columns.items()} == {
        "group": None, "name": "hard", "rank": "hard", "path": "hard", "from": "semantic",
    }  # fmt: skip
    assert (tables["group"].columns["id"].generated, tables["group"].columns["id"].format) == ("id", "uuid")
    assert tables["group"].columns["place"].generated == "now"
    orders = emit_pack(shop(), [], []).tables["orders"].columns
    assert (orders["created"].generated, orders["created"].comparison) == (None, "exempt")


def test_licence_is_that_of_all_sources():
    blueprint = shop()
    [source] = blueprint.sources
    other = replace(source, sha256="6" * 64, licence_spdx="MIT")
    unknown = replace(source, licence_spdx=None)
    named = [
        emit_pack(replace(blueprint, sources=each), [], []).licence for each in ((source,), (source, other), (unknown,))
    ]
    assert [(each.spdx, each.name is None) for each in named] == [("CC0-1.0", True), (None, False), (None, False)]
    assert named[2].address == source.address
