"""The interpreter: what each of the shop's tools must give, worked out by hand, and what holds of all of them."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.core.compile.reference import Interpreter, UnspecifiedError
from environments.core.compile.semantics import (
    Answer,
    ArgumentRole,
    Assignment,
    Kind,
    Meaning,
    OnDelete,
    Order,
    PlannedTool,
    Result,
    Source,
)
from environments.runtime.pack.model import Scenario
from environments.runtime.records import CallStatus, ChangeKind, RowChange
from tests.environments.core.compile.reference.shop_rows import CLOCK, SMALL, small
from tests.factories.blueprints import shop

NOW_SECONDS = 1_772_442_000  # 2026-03-02T09:00:00Z
SHOP = shop()
ADA = {
    "object": "customer", "id": "cus_a", "name": "Ada Wong", "email": "ada@example.com", "is_active": True,
    "created_at": "2026-01-05T08:00:00Z",
}  # fmt: skip
BOB = {**ADA, "id": "cus_b", "name": "Bob Ray", "email": "bob@example.com", "is_active": False}
CLEO = {**ADA, "id": "cus_c", "name": "Cleo Ada", "email": "cleo@example.org"}
DAN = {**ADA, "id": "cus_d", "name": "Dan Fox", "email": "dan@example.org"}
APPLE = {
    "sku": "apple", "title": "Red apple", "price": 0.5, "tags": ["fruit", "red"], "released": "2025-01-01",
    "url": "/products/apple",
}  # fmt: skip
BOOK = {
    "sku": "book", "title": "Green book", "price": 12.0, "tags": None, "released": "2025-06-30",
    "url": "/products/book",
}  # fmt: skip
CHAIR = {
    "sku": "chair", "title": "Oak chair", "price": 80.0, "tags": [], "released": None, "url": "/products/chair",
}  # fmt: skip
ORDER_1 = {
    "id": 1, "customer": {"id": "cus_a"}, "status": "open", "total": 10.0, "note": "Ring twice",
    "address": {"city": "Oslo"}, "created": 100, "updated": 100_000,
}  # fmt: skip


@pytest.fixture
def play():
    return Interpreter(SHOP, small())


def succeeds(play, tool, **arguments):
    outcome = play.call(tool, arguments)
    assert (outcome.status, outcome.code) == (CallStatus.SUCCESS, None)
    return outcome.result


def refuses(play, tool, **arguments):
    outcome = play.call(tool, arguments)
    assert (outcome.status, outcome.result, outcome.changes) == (CallStatus.REJECTION, None, ())
    return outcome.code


def ids(rows, key="id"):
    return [row[key] for row in rows]


# --- Customers --------------------------------------------------------------------------------------------------------


def test_list_customers_shows_the_first_page_when_nothing_is_asked(play):
    assert succeeds(play, "list_customers") == {
        "customers": [ADA, BOB, CLEO],
        "meta": {"total": 4, "page": 1, "per_page": 3, "pages": 2, "next": 2},
        "ok": True,
    }


@pytest.mark.parametrize(
    ("arguments", "expected", "meta"),
    [
        ({"page": 2}, [DAN], {"total": 4, "page": 2, "per_page": 3, "pages": 2, "next": None}),
        ({"page": 3}, [], {"total": 4, "page": 3, "per_page": 3, "pages": 2, "next": None}),
        ({"page": 2, "per_page": 1}, [BOB], {"total": 4, "page": 2, "per_page": 1, "pages": 4, "next": 3}),
        ({"per_page": 4}, [ADA, BOB, CLEO, DAN], {"total": 4, "page": 1, "per_page": 4, "pages": 1, "next": None}),
        ({"query": "ADA"}, [ADA, CLEO], {"total": 2, "page": 1, "per_page": 3, "pages": 1, "next": None}),
        ({"query": ".ORG"}, [CLEO, DAN], {"total": 2, "page": 1, "per_page": 3, "pages": 1, "next": None}),
        ({"query": "%"}, [], {"total": 0, "page": 1, "per_page": 3, "pages": 0, "next": None}),
        ({"active": False}, [BOB], {"total": 1, "page": 1, "per_page": 3, "pages": 1, "next": None}),
        ({"active": True, "query": "o"}, [ADA, CLEO, DAN], {"total": 3, "page": 1, "per_page": 3, "pages": 1, "next": None}),  # noqa: E501
    ],
)  # fmt: skip
def test_list_customers_when_asked(play, arguments, expected, meta):
    result = succeeds(play, "list_customers", **arguments)

    assert (result["customers"], result["meta"]) == (expected, meta)


def test_get_customer(play):
    assert succeeds(play, "get_customer", id="cus_b") == BOB
    assert refuses(play, "get_customer", id="cus_B") == "customer_not_found"


def test_create_customer(play):
    result = succeeds(play, "create_customer", name="Fay", email="fay@example.com")

    [fay] = result["data"]
    assert fay == {
        "object": "customer", "id": fay["id"], "name": "Fay", "email": "fay@example.com", "is_active": True,
        "created_at": CLOCK,
    }  # fmt: skip
    row = {"id": fay["id"], "name": "Fay", "email": "fay@example.com", "is_active": 1, "created_at": CLOCK}
    assert play.changes == (RowChange("customers", {"id": fay["id"]}, ChangeKind.INSERT, None, row),)
    assert succeeds(play, "get_customer", id=fay["id"]) == fay
    assert refuses(play, "create_customer", name="Gus", email="fay@example.com") == "email_taken"


def test_create_customer_gives_each_a_new_id_of_the_columns_type(play):
    first = succeeds(play, "create_customer", name="Fay", email="fay@example.com", is_active=False)["data"][0]
    second = succeeds(play, "create_customer", name="Gus", email="gus@example.com")["data"][0]

    assert first["is_active"] is False
    assert isinstance(first["id"], str)
    assert first["id"] != second["id"]


def test_update_customer(play):
    assert succeeds(play, "update_customer", id="cus_b", is_active=True) == {**BOB, "is_active": True}
    assert play.changes == (
        RowChange("customers", {"id": "cus_b"}, ChangeKind.UPDATE, {"is_active": 0}, {"is_active": 1}),
    )
    assert succeeds(play, "update_customer", id="cus_b", email="bob@example.com")["email"] == "bob@example.com"
    assert refuses(play, "update_customer", id="cus_b", email="ada@example.com") == "email_taken"
    assert refuses(play, "update_customer", id="cus_x", email="ada@example.com") == "customer_not_found"


def test_delete_customer_takes_what_lives_below_and_empties_what_points(play):
    assert succeeds(play, "delete_customer", id="cus_d") == DAN
    assert play.changes == (
        RowChange("customers", {"id": "cus_d"}, ChangeKind.DELETE, SMALL["customers"][3], None),
        RowChange(
            "order_lines", {"order_id": 1, "sku": "apple"}, ChangeKind.UPDATE, {"gift_for": "cus_d"}, {"gift_for": None}
        ),
        RowChange(
            "watches", {"customer_id": "cus_d", "sku": "apple"}, ChangeKind.DELETE,
            {"customer_id": "cus_d", "sku": "apple"}, None,
        ),
    )  # fmt: skip
    assert refuses(play, "delete_customer", id="cus_d") == "customer_not_found"
    assert refuses(play, "delete_customer", id="cus_b") == "customer_in_use"


# --- Products ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "skus", "has_more", "last"),
    [
        ({}, ["chair", "easel", "book", "drum"], True, "drum"),
        ({"starting_after": "drum"}, ["apple"], False, None),
        ({"starting_after": "book", "limit": 1}, ["drum"], True, "drum"),
        ({"starting_after": "apple"}, [], False, None),
        ({"min_price": 12}, ["chair", "easel", "book", "drum"], False, None),
        ({"min_price": 12.01}, ["chair", "easel"], False, None),
        ({"released_before": "2025-06-30"}, ["easel", "book", "apple"], False, None),
        ({"released_before": "2025-06-30", "starting_after": "chair", "limit": 2}, ["easel", "book"], True, "book"),
        ({"min_price": 30, "starting_after": "drum"}, [], False, None),
    ],
)
def test_list_products(play, arguments, skus, has_more, last):
    result = succeeds(play, "list_products", **arguments)

    assert ids(result["data"], "sku") == skus
    assert (result["has_more"], result["last"], result["object"]) == (has_more, last, "list")


def test_list_products_shows_whole_rows_and_no_secret(play):
    assert succeeds(play, "list_products", limit=3)["data"][0] == CHAIR
    assert succeeds(play, "list_products", starting_after="easel", limit=1)["data"] == [BOOK]
    assert refuses(play, "list_products", starting_after="nothing") == "product_not_found"


def test_list_product_keys(play):
    assert succeeds(play, "list_product_keys") == {"skus": ["apple", "book", "chair", "drum", "easel"]}


def test_put_product_makes_what_is_not_there(play):
    assert succeeds(play, "put_product", sku="fan", title="Fan") == {
        "sku": "fan", "title": "Fan", "price": 0.0, "tags": None, "released": None, "url": "/products/fan",
    }  # fmt: skip
    assert play.changes[0].kind is ChangeKind.INSERT
    assert play.changes[0].after["secret"] is None


def test_put_product_replaces_what_is_there(play):
    result = succeeds(play, "put_product", sku="book", title="Blue book", tags=["new"])

    assert result == {**BOOK, "title": "Blue book", "price": 0.0, "tags": ["new"]}
    assert play.changes == (
        RowChange(
            "products", {"sku": "book"}, ChangeKind.UPDATE,
            {"title": "Green book", "price": 12.0, "tags": None, "secret": "hidden"},
            {"title": "Blue book", "price": 0.0, "tags": '["new"]', "secret": None},
        ),
    )  # fmt: skip


def test_delete_product(play):
    assert succeeds(play, "delete_product", sku="chair") == {}
    assert [(change.table, change.kind) for change in play.changes] == [
        ("products", ChangeKind.DELETE),
        ("watches", ChangeKind.DELETE),
    ]
    assert refuses(play, "delete_product", sku="apple") == "product_in_use"
    assert refuses(play, "delete_product", sku="chair") == "product_not_found"


# --- Orders -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "expected", "following"),
    [
        ({}, [1, 2, 3, 7], None),
        ({"size": 3}, [1, 2, 3], "3"),
        ({"size": 3, "cursor": "3"}, [7], None),
        ({"size": 2, "cursor": "1"}, [2, 3], "3"),
        ({"customer": "cus_a"}, [1, 3, 7], None),
        ({"status": ["paid", "shipped"]}, [2, 3], None),
        ({"status": []}, [1, 2, 3, 7], None),
        ({"created_gte": 200}, [2, 3, 7], None),
        ({"sort": "total"}, [2, 3, 7, 1], None),
        ({"sort": "-total"}, [1, 3, 7, 2], None),
        ({"sort": "-created"}, [3, 7, 2, 1], None),
        ({"sort": "created", "size": 1, "cursor": "2"}, [3], "3"),
    ],
)
def test_list_orders(play, arguments, expected, following):
    result = succeeds(play, "list_orders", **arguments)

    assert ids(result["orders"]["items"]) == expected
    assert result["next"] == following
    assert result["here"] == len(expected)
    assert result["size"] == arguments.get("size", 5)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"note": "OSLO"}, [3, 1]),
        ({"note": "%"}, [7]),
        ({"note": "o"}, [3, 7, 2, 1]),
        ({"note": "o", "order_by": "amount"}, [2, 3, 7, 1]),
        ({"note": "o", "order_by": "amount", "direction": "asc"}, [2, 3, 7, 1]),
        ({"note": "o", "order_by": "amount", "direction": "desc"}, [1, 3, 7, 2]),
        ({"note": "o", "order_by": "when", "direction": "desc", "from": 2}, [2, 1]),
    ],
)
def test_search_orders(play, arguments, expected):
    result = succeeds(play, "search_orders", **arguments)

    assert ids(result["found"]) == expected
    assert result["from"] == arguments.get("from", 0)


def test_count_orders(play):
    assert succeeds(play, "count_orders") == {"count": 4}
    assert succeeds(play, "count_orders", status="open") == {"count": 1}


def test_sum_order_totals_leaves_null_out(play):
    assert succeeds(play, "sum_order_totals", customer="cus_a") == {"total": 21.0}
    assert succeeds(play, "sum_order_totals", customer="cus_b") == {"total": 0}
    assert succeeds(play, "sum_order_totals", customer="nobody") == {"total": 0}


def test_get_order(play):
    assert succeeds(play, "get_order", id=1) == {"data": ORDER_1}
    assert succeeds(play, "get_order", id=7)["data"]["address"] == {"city": None}
    assert refuses(play, "get_order", id=4) == "order_not_found"


def test_create_order_counts_on_from_the_highest_id(play):
    result = succeeds(play, "create_order", customer="cus_b", total=3, city="Bonn")

    assert result["data"] == {
        "id": 8, "customer": {"id": "cus_b"}, "status": "open", "total": 3.0, "note": None,
        "address": {"city": "Bonn"}, "created": NOW_SECONDS, "updated": NOW_SECONDS * 1000,
    }  # fmt: skip
    assert succeeds(play, "create_order", customer="cus_b")["data"]["id"] == 9
    assert refuses(play, "create_order", customer="cus_x") == "customer_not_found"
    assert succeeds(play, "create_order", customer="cus_b")["data"]["id"] == 10


def test_replace_order_forgets_what_is_absent(play):
    result = succeeds(play, "replace_order", id=1, total=0, city="Bern")

    assert result["data"] == {
        **ORDER_1, "total": 0.0, "note": None, "address": {"city": "Bern"}, "updated": NOW_SECONDS * 1000
    }  # fmt: skip
    assert refuses(play, "replace_order", id=5, total=1) == "order_not_found"


def test_cancel_order_from_every_state(play):
    assert succeeds(play, "cancel_order", id=1)["data"]["status"] == "cancelled"
    assert succeeds(play, "cancel_order", id=2)["data"]["updated"] == NOW_SECONDS * 1000
    assert refuses(play, "cancel_order", id=3) == "order_not_cancellable"
    assert refuses(play, "cancel_order", id=7) == "order_not_cancellable"
    assert refuses(play, "cancel_order", id=1) == "order_not_cancellable"
    assert refuses(play, "cancel_order", id=9) == "order_not_found"


def test_ship_order_keeps_the_note_when_none_is_given(play):
    assert refuses(play, "ship_order", id=1) == "order_not_paid"
    result = succeeds(play, "ship_order", id=2)
    assert (result["data"]["status"], result["data"]["note"]) == ("shipped", "by the door")


def test_ship_order_takes_a_new_note(play):
    assert succeeds(play, "ship_order", id=2, note="")["data"]["note"] == ""


def test_delete_order_takes_its_lines(play):
    assert succeeds(play, "delete_order", id=1) == {}
    assert [(change.table, dict(change.key)) for change in play.changes] == [
        ("orders", {"id": 1}),
        ("order_lines", {"order_id": 1, "sku": "apple"}),
        ("order_lines", {"order_id": 1, "sku": "book"}),
    ]


# --- Lines and watches ------------------------------------------------------------------------------------------------


def test_list_order_lines(play):
    first = {"order_id": 1, "sku": "apple", "quantity": 4, "gift_for": "cus_d"}
    second = {"order_id": 1, "sku": "book", "quantity": 1, "gift_for": None}

    assert succeeds(play, "list_order_lines", order_id=1) == {"lines": [first, second]}
    assert succeeds(play, "list_order_lines", order_id=3) == {"lines": []}
    assert refuses(play, "list_order_lines", order_id=4) == "order_not_found"


def test_get_order_line(play):
    expected = {"order_id": 2, "sku": "apple", "quantity": 2, "gift_for": None}
    assert succeeds(play, "get_order_line", order_id=2, sku="apple") == expected
    assert refuses(play, "get_order_line", order_id=2, sku="book") == "order_line_not_found"
    assert refuses(play, "get_order_line", order_id=4, sku="book") == "order_not_found"


def test_create_order_line(play):
    expected = {"order_id": 2, "sku": "book", "quantity": 1, "gift_for": None}
    assert succeeds(play, "create_order_line", order_id=2, sku="book") == expected
    gift = succeeds(play, "create_order_line", order_id=3, sku="apple", quantity=2, gift_for="cus_b")
    assert gift == {"order_id": 3, "sku": "apple", "quantity": 2, "gift_for": "cus_b"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"order_id": 5, "sku": "apple"}, "order_not_found"),
        ({"order_id": 1, "sku": "axe"}, "product_not_found"),
        ({"order_id": 1, "sku": "drum", "gift_for": "cus_x"}, "customer_not_found"),
        ({"order_id": 1, "sku": "apple"}, "order_line_exists"),
    ],
)
def test_create_order_line_when_refused(play, arguments, code):
    assert refuses(play, "create_order_line", **arguments) == code


def test_delete_order_line(play):
    assert succeeds(play, "delete_order_line", order_id=1, sku="apple") == {}
    assert [dict(change.key) for change in play.changes] == [{"order_id": 1, "sku": "apple"}]
    assert refuses(play, "delete_order_line", order_id=1, sku="apple") == "order_line_not_found"


def test_watch_product_twice_changes_nothing_more(play):
    assert succeeds(play, "watch_product", customer_id="cus_b", sku="drum") == {}
    before = play.changes
    assert play.call("watch_product", {"customer_id": "cus_b", "sku": "drum"}).changes == ()
    assert play.changes == before
    assert len(before) == 1
    assert refuses(play, "watch_product", customer_id="cus_x", sku="drum") == "customer_not_found"
    assert refuses(play, "watch_product", customer_id="cus_b", sku="axe") == "product_not_found"


def test_unwatch_product(play):
    assert succeeds(play, "unwatch_product", customer_id="cus_a", sku="apple") == {}
    assert [dict(change.key) for change in play.changes] == [{"customer_id": "cus_a", "sku": "apple"}]
    assert refuses(play, "unwatch_product", customer_id="cus_a", sku="apple") == "watch_not_found"


def test_list_watched_products(play):
    assert succeeds(play, "list_watched_products", customer_id="cus_a") == {"products": [APPLE, CHAIR], "total": 2}
    assert succeeds(play, "list_watched_products", customer_id="cus_a", max_price=0.5)["products"] == [APPLE]
    assert succeeds(play, "list_watched_products", customer_id="cus_b") == {"products": [], "total": 0}
    assert refuses(play, "list_watched_products", customer_id="cus_x") == "customer_not_found"


# --- What a meaning leaves open ---------------------------------------------------------------------------------------


def without_checks(name):
    tools = tuple(
        dataclasses.replace(tool, meaning=dataclasses.replace(tool.meaning, checks=())) if tool.name == name else tool
        for tool in SHOP.tools
    )
    return Interpreter(dataclasses.replace(SHOP, tools=tools), small())


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("delete_customer", {"id": "cus_a"}),  # orders must keep their customer
        ("delete_customer", {"id": "cus_x"}),
        ("get_order", {"id": 5}),
        ("update_customer", {"id": "cus_b", "email": "ada@example.com"}),  # unique
        ("create_order", {"customer": "cus_x"}),  # a foreign key
        ("create_order_line", {"order_id": 1, "sku": "apple"}),  # the key is taken
    ],
)
def test_a_call_that_no_check_covers_is_left_open_and_changes_nothing(tool, arguments):
    play = without_checks(tool)

    with pytest.raises(UnspecifiedError):
        play.call(tool, arguments)

    assert play.changes == ()


def test_an_order_by_a_new_text_id_is_left_open(play):
    succeeds(play, "create_customer", name="Fay", email="fay@example.com")

    with pytest.raises(UnspecifiedError):
        play.call("list_customers", {})
    assert ids(succeeds(play, "list_customers", query="fay")["customers"], "name") == ["Fay"]


def test_a_template_follows_the_columns_that_it_is_made_of():
    tool = next(tool for tool in SHOP.tools if tool.name == "put_product")
    rename = dataclasses.replace(
        tool.meaning,
        kind=Kind.PATCH,
        assignments=(Assignment("url", Source.TEMPLATE), Assignment("sku", Source.CONSTANT, constant="zip")),
    )
    tools = (dataclasses.replace(tool, meaning=rename),)
    play = Interpreter(dataclasses.replace(SHOP, tools=tools), small())

    assert succeeds(play, "put_product", sku="easel", title="x")["url"] == "/products/zip"
    assert [change.kind for change in play.changes] == [ChangeKind.DELETE, ChangeKind.INSERT]
    with pytest.raises(UnspecifiedError):
        play.call("put_product", {"sku": "book", "title": "x"})


def test_a_cascade_that_meets_a_row_which_must_stay_is_left_open():
    tables = tuple(
        dataclasses.replace(
            table,
            foreign_keys=tuple(dataclasses.replace(key, on_delete=OnDelete.RESTRICT) for key in table.foreign_keys),
        )
        if table.name == "order_lines"
        else table
        for table in SHOP.tables
    )
    play = Interpreter(dataclasses.replace(SHOP, tables=tables), small())

    with pytest.raises(UnspecifiedError):
        play.call("delete_order", {"id": 1})
    assert succeeds(play, "delete_order", id=3) == {}


# --- Properties -------------------------------------------------------------------------------------------------------

KEYS = {
    "id": st.sampled_from(["cus_a", "cus_b", "cus_d", "cus_x", 1, 2, 3, 5, 7]),
    "order_id": st.integers(1, 4),
    "sku": st.sampled_from(["apple", "book", "chair", "axe"]),
    "customer_id": st.sampled_from(["cus_a", "cus_b", "cus_x"]),
    "customer": st.sampled_from(["cus_a", "cus_b", "cus_x"]),
    "email": st.sampled_from(["ada@example.com", "new@example.com"]),
}
OTHERS = {"name": "N", "title": "T", "note": "n", "total": 2.5, "quantity": 3, "gift_for": "cus_b", "is_active": False}


@st.composite
def writes(draw):
    tool = draw(st.sampled_from([tool for tool in SHOP.tools if not tool.meaning.reads_only]))
    arguments = {}
    for argument in tool.meaning.arguments:
        if argument.is_required or draw(st.booleans()):
            values = KEYS.get(argument.name)
            value = draw(values) if values is not None else OTHERS.get(argument.name)
            if value is not None:
                arguments[argument.name] = value
    return tool.name, arguments


@settings(max_examples=60, deadline=None)
@given(st.lists(writes(), max_size=6))
def test_refused_calls_change_nothing_and_changes_add_up(calls):
    play = Interpreter(SHOP, small())
    for tool, arguments in calls:
        before = play.state
        outcome = play.call(tool, arguments)
        if outcome.status is CallStatus.REJECTION:
            assert play.state is before
            assert outcome.changes == ()
            assert play.refused_by(tool, arguments)
        else:
            assert not Interpreter(SHOP, Scenario("same", "simple", CLOCK, 0, rows_of(before))).refused_by(
                tool, arguments
            )
    rows = {table: dict(found) for table, found in Interpreter(SHOP, small()).state.rows.items()}
    for change in play.changes:
        key = tuple(change.key[name] for name in SHOP.table(change.table).primary_key)
        if change.kind is ChangeKind.DELETE:
            assert rows[change.table].pop(key) == change.before
        else:
            rows[change.table][key] = {**rows[change.table].get(key, {}), **change.after}
    assert rows == {table: dict(found) for table, found in play.state.rows.items()}


def rows_of(state):
    return {table: tuple(found.values()) for table, found in state.rows.items()}


@settings(max_examples=40, deadline=None)
@given(size=st.integers(1, 6), sort=st.sampled_from([None, "total", "-total", "created", "-created"]))
def test_pages_joined_are_the_whole_list(size, sort):
    play = Interpreter(SHOP, small())
    order = {} if sort is None else {"sort": sort}
    whole = succeeds(play, "list_orders", size=100, **order)["orders"]["items"]
    joined, cursor = [], "0"
    while cursor is not None:
        page = succeeds(play, "list_orders", size=size, cursor=cursor, **order)
        joined += page["orders"]["items"]
        cursor = page["next"]
    assert joined == whole
    assert len(whole) == succeeds(play, "count_orders")["count"]


@settings(max_examples=20, deadline=None)
@given(size=st.integers(1, 5))
def test_pages_behind_a_key_joined_are_the_whole_list(size):
    play = Interpreter(SHOP, small())
    joined = succeeds(play, "list_products", limit=size)
    rows = joined["data"]
    while joined["last"] is not None:
        joined = succeeds(play, "list_products", limit=size, starting_after=joined["last"])
        rows += joined["data"]
    assert rows == succeeds(play, "list_products", limit=100)["data"]


@settings(max_examples=30, deadline=None)
@given(st.permutations(SMALL["orders"]), st.sampled_from(["total", "-total", "created", "-created"]))
def test_the_order_is_total_however_rows_are_stored(rows, sort):
    shuffled = Interpreter(SHOP, Scenario("shuffled", "simple", CLOCK, 0, {**SMALL, "orders": tuple(rows)}))

    assert succeeds(shuffled, "list_orders", sort=sort) == succeeds(
        Interpreter(SHOP, small()), "list_orders", sort=sort
    )


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([2, 3]), st.sampled_from(["chair", "drum", "easel"]), st.integers(1, 9))
def test_a_deletion_undoes_a_creation(order_id, sku, quantity):
    play = Interpreter(SHOP, small())
    succeeds(play, "create_order_line", order_id=order_id, sku=sku, quantity=quantity)
    assert len(play.changes) == 1

    succeeds(play, "delete_order_line", order_id=order_id, sku=sku)

    assert play.changes == ()


def test_a_list_without_pages_counts_as_one(play):
    meaning = Meaning(Kind.LIST_KEYS, "orders", (), (), Result(Answer.KEYS, ("ids",)), order=(Order("id", True),))
    tools = (PlannedTool("keys", "Keys", "Keys.", meaning, "5" * 64, "KEYS"),)
    play = Interpreter(dataclasses.replace(SHOP, tools=tools), small())

    assert succeeds(play, "keys") == {"ids": [7, 3, 2, 1]}
    assert meaning.with_role(ArgumentRole.SIZE) == ()
