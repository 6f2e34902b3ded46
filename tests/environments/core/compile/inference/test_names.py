"""Names of environments, tables, tools and arguments."""

import re

import pytest

from environments.core.compile.inference import compile_operations
from environments.core.compile.inference.names import python_name, view_name
from tests.environments.core.compile.inference.consistency import faults_of
from tests.environments.core.compile.inference.documents import (
    NUMBER,
    TEXT,
    array,
    blueprint_of,
    compile_document,
    crud,
    enum,
    names_of,
    obj,
    op,
    ref,
    sourced,
    tool_of,
)

ORDER = obj(("id", "name"), id=TEXT, name=TEXT, note=TEXT, status=enum("open", "cancelled"))
PATHS = crud("/orders", ref("Order"))


def test_tools_are_called_verb_and_noun_when_nothing_else_is_called_so() -> None:
    paths = PATHS | {
        "POST /orders/{id}/cancel": op(ref("Order")),
        "PUT /orders/{id}": op(ref("Order"), body=obj(name=TEXT)),
        "GET /orders/count": op(obj(count=NUMBER)),
        "GET /orders/search": op(array(ref("Order")), query={"q": TEXT}),
    }
    blueprint = blueprint_of(paths, {"Order": ORDER})

    assert {tool.name for tool in blueprint.tools} == {
        "list_orders", "search_orders", "get_order", "create_order", "update_order", "replace_order", "delete_order",
        "cancel_order", "count_orders",
    }  # fmt: skip


def test_tools_are_called_after_the_parent_when_two_list_the_same() -> None:
    order = obj(("id", "name"), id=TEXT, name=TEXT, shop_id=TEXT)
    paths = crud("/orders", ref("Order")) | crud(
        "/shops", obj(("id", "name"), id=TEXT, name=TEXT, city=TEXT), key="shop_id"
    )
    paths |= {"GET /shops/{shop_id}/orders": op(array(ref("Order")))}

    blueprint = blueprint_of(paths, {"Order": order})

    assert tool_of(blueprint, "GET /orders").name == "list_orders"
    assert tool_of(blueprint, "GET /shops/{shop_id}/orders").name == "list_shop_orders"


def test_tools_are_described_by_the_document_when_it_has_a_sentence() -> None:
    paths = PATHS | {"GET /orders": op(array(ref("Order")), summary="Shows all `orders` of the shop. Newest first.")}
    blueprint = blueprint_of(paths, {"Order": ORDER})

    assert tool_of(blueprint, "GET /orders").description == "Shows all orders of the shop."
    assert tool_of(blueprint, "GET /orders/{id}").description == "Get order."


def test_a_long_noun_is_cut_at_a_word_when_a_name_would_be_too_long() -> None:
    noun = "extraordinarily_long_winded_and_pointless_business_arrangement"
    blueprint = blueprint_of(crud(f"/{noun}s", ORDER))

    assert blueprint.tables[0].name == "and_pointless_business_arrangements"
    assert {len(tool.name) <= 38 for tool in blueprint.tools} == {True}
    assert tool_of(blueprint, f"GET /{noun}s").name == "list_pointless_business_arrangements"


@pytest.mark.parametrize(
    "literal", ["3d_models", "__orders", "orders--x", "order__items", "Größen", "select", "tables"]
)
def test_names_are_regular_when_the_documents_are_not(literal: str) -> None:
    operations = sourced(crud(f"/{literal}", ORDER))

    made = compile_operations(operations)

    assert len(made.blueprints) == 1
    assert faults_of(made, operations) == []


def test_an_environment_is_called_after_provider_and_noun() -> None:
    blueprint = blueprint_of(PATHS, {"Order": ORDER}, provider="stripe.com", title="Stripe API")

    assert blueprint.name == "stripe_orders"
    assert blueprint.title == "Stripe API: orders"
    assert blueprint.domain == "stripe"


def test_environments_keep_apart_when_they_would_be_called_the_same() -> None:
    operations = [*sourced(PATHS, {"Order": ORDER}, title="A", provider="a.com"),
                  *sourced(PATHS, {"Order": ORDER}, title="B", provider="a.local")]  # fmt: skip

    assert [blueprint.name for blueprint in compile_operations(operations).blueprints] == ["a_orders", "a_local_orders"]


@pytest.mark.parametrize(
    "provider", ["", "0", "x.y", "überall.example", "a-very-long-provider-name.example", "1.2.3.4"]
)
def test_an_environment_has_a_fit_name_when_its_provider_has_an_odd_one(provider: str) -> None:
    name = blueprint_of(PATHS, {"Order": ORDER}, provider=provider, address="https://x.example/a.json").name

    assert re.fullmatch(r"[a-z][a-z0-9_]{2,23}", name)
    assert "__" not in name


def test_a_table_takes_its_parents_noun_when_two_have_the_same() -> None:
    comment = obj(("id", "body"), id=TEXT, body=TEXT, likes=NUMBER)
    paths: dict = {}
    for noun in ("blog", "shop"):
        paths |= crud(f"/{noun}s", obj(("id", "name"), id=TEXT, name=TEXT, **{noun: NUMBER}), key=f"{noun}_id")
        paths |= crud(f"/{noun}s/{{{noun}_id}}/comments", ref("Comment"), obj(("body",), body=TEXT))

    blueprint = blueprint_of(paths, {"Comment": comment})

    assert {"comments", "shop_comments"} <= names_of(blueprint.tables)
    assert "create_shop_comment" in {tool.name for tool in blueprint.tools}


def test_names_do_not_grow_when_a_document_is_compiled_twice() -> None:
    first, second = compile_document(PATHS, {"Order": ORDER}), compile_document(PATHS, {"Order": ORDER})

    assert first == second


@pytest.mark.parametrize(
    ("name", "python"),
    [("id", "id"), ("orderId", "order_id"), ("class", "class_"), ("json", "json_"), ("filter[status]", "filter_status"),
     ("2fa", "n_2fa"), ("before_id", "arg_before_id"), ("$top", "top"), ("价格", "x"), ("_", "_"), ("-", "x")],
)  # fmt: skip
def test_an_argument_has_a_python_name_when_the_api_calls_it_otherwise(name: str, python: str) -> None:
    assert python_name(name, ()) == python


def test_python_names_keep_apart_when_two_would_be_the_same() -> None:
    assert python_name("order-id", ("order_id",)) == "order_id_2"


def test_views_are_called_after_their_purpose_when_the_definition_says_it() -> None:
    assert view_name("order", "OrderSummary", ()) == "order_summary"
    assert view_name("order", "Order", ("order",)) == "order_2"
