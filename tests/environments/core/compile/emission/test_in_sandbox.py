"""The emitted shop in the locked worker: every tool, every refusal, the edges of every page."""

import json

import pytest

from environments.core.compile.emission import emit_pack
from environments.runtime.pack import encode_pack
from environments.runtime.records import CallStatus
from environments.runtime.sandbox.pool import WorkerPool
from environments.runtime.session import Environment
from tests.environments.core.compile.emission.states import SHOP_ROWS, scenario
from tests.factories.blueprints import shop


@pytest.fixture(scope="module")
def environment():
    with WorkerPool() as pool:
        yield Environment(emit_pack(shop(), [scenario(SHOP_ROWS)], []), pool)


@pytest.fixture
def session(environment):
    found = environment.open("small")
    yield found
    found.close()


@pytest.fixture
def good(session):
    def call(tool, /, **arguments):
        record = session.call(tool, arguments)
        assert record.status is CallStatus.SUCCESS, record.observation
        return json.loads(record.observation)

    return call


@pytest.fixture
def code(session):
    def call(tool, /, **arguments):
        record = session.call(tool, arguments)
        assert record.status is CallStatus.REJECTION, record.observation
        assert record.changes == ()
        return record.code

    return call


def row(session, table, **key):
    [found] = [each for each in session.state()[table] if key.items() <= each.items()]
    return found


def test_worker_finds_no_fault(environment):
    described = environment.players.describe(encode_pack(environment.pack), environment.content_sha256)
    assert list(described.faults) == []
    assert {table.name for table in described.tables} == SHOP_ROWS.keys()


# Customers


def test_customers_by_page(good):
    first = good("list_customers")
    assert first["ok"] is True
    assert first["meta"] == {"total": 4, "page": 1, "per_page": 3, "pages": 2, "next": 2}
    assert first["customers"][0] == {
        "object": "customer", "id": "cus_a", "name": "Ada Lovelace", "email": "ada@example.org", "is_active": True,
        "created_at": "2026-01-01T08:00:00Z",
    }  # fmt: skip
    second = good("list_customers", page=2)
    assert [each["id"] for each in second["customers"]] == ["cus_d"]
    assert second["meta"]["next"] is None
    assert good("list_customers", page=3) == {
        "ok": True, "customers": [], "meta": {"total": 4, "page": 3, "per_page": 3, "pages": 2, "next": None},
    }  # fmt: skip
    assert good("list_customers", per_page=4)["meta"]["next"] is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"query": "100%"}, ["cus_b"]),
        ({"query": "_"}, ["cus_b"]),
        ({"query": "%"}, ["cus_b"]),
        ({"query": "LOVE"}, ["cus_a"]),
        ({"query": "Ö"}, ["cus_c"]),
        ({"query": "ö"}, []),
        ({"query": "example.COM"}, ["cus_d"]),
        ({"query": "", "per_page": 9}, ["cus_a", "cus_b", "cus_c", "cus_d"]),
        ({"active": False}, ["cus_b"]),
        ({"active": True}, ["cus_a", "cus_c", "cus_d"]),
        ({"active": True, "query": "bo"}, []),
    ],
)
def test_customers_by_search_and_filter(good, arguments, expected):
    found = good("list_customers", **arguments)
    assert [each["id"] for each in found["customers"]] == expected
    assert found["meta"]["total"] == len(expected)


def test_customer_is_made_shown_changed_and_deleted(session, good, code):
    assert code("create_customer", name="X", email="ada@example.org") == "email_taken"
    [made] = good("create_customer", name="Eve", email="eve@example.org")["data"]
    assert made == {
        "object": "customer", "id": made["id"], "name": "Eve", "email": "eve@example.org", "is_active": True,
        "created_at": "2026-03-02T09:00:00Z",
    }  # fmt: skip
    assert good("get_customer", id=made["id"]) == made
    assert code("update_customer", id=made["id"], email="ada@example.org") == "email_taken"
    assert code("update_customer", id="nobody", email="ada@example.org") == "customer_not_found"
    assert good("update_customer", id=made["id"], email="eve@example.org", is_active=False)["is_active"] is False
    assert good("update_customer", id=made["id"], name="Eva") == {**made, "name": "Eva", "is_active": False}
    assert session.call("update_customer", {"id": made["id"]}).changes == ()
    assert code("get_customer", id="nobody") == "customer_not_found"
    assert code("delete_customer", id="nobody") == "customer_not_found"
    assert code("delete_customer", id="cus_a") == "customer_in_use"
    assert good("delete_customer", id=made["id"])["name"] == "Eva"
    assert code("get_customer", id=made["id"]) == "customer_not_found"


def test_deleting_a_customer_takes_links_along_and_empties_gifts(session, good):
    good("delete_customer", id="cus_d")
    assert row(session, "order_lines", order_id=1, sku="cap")["gift_for"] is None
    assert not [each for each in session.state()["watches"] if each["customer_id"] == "cus_d"]


# Products


def walk(good, tool, place, **arguments):
    """Keys of all pages, each behind the last."""
    found, after = [], {}
    while True:
        page = good(tool, **arguments, **after)
        keys = [each["sku"] for each in page[place]]
        found += keys
        assert page["has_more"] is (page["last"] is not None)
        if page["last"] is None:
            return found
        assert keys[-1] == page["last"]
        assert len(keys) == arguments["limit"]
        after = {"starting_after": page["last"]}


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 7])
def test_products_behind_a_key_come_exactly_once(good, limit):
    assert walk(good, "list_products", "data", limit=limit) == ["fan", "ax", "egg", "bat", "cap", "dye"]
    assert walk(good, "list_products", "data", limit=limit, min_price=5.5, released_before="2026-01-01") == [
        "fan", "ax", "egg",
    ]  # fmt: skip


def test_products_begin_behind_a_row_that_does_not_match(good):
    found = good("list_products", starting_after="bat", released_before="2026-12-31")
    assert [each["sku"] for each in found["data"]] == ["cap", "dye"]


def test_products_are_listed_with_default_size_and_bounds(good, code):
    assert len(good("list_products")["data"]) == 4
    assert [each["sku"] for each in good("list_products", min_price=20)["data"]] == ["fan", "ax", "egg"]
    assert [each["sku"] for each in good("list_products", released_before="2024-12-31")["data"]] == ["dye"]
    assert code("list_products", starting_after="zzz") == "product_not_found"
    assert good("list_product_keys") == {"skus": ["ax", "bat", "cap", "dye", "egg", "fan"]}


def test_product_is_put_anew_and_over(session, good):
    made = good("put_product", sku="gin", title="Gin", tags=["é", 'a"b'], secret="s")
    assert made == {
        "sku": "gin", "title": "Gin", "price": 0.0, "tags": ["é", 'a"b'], "released": None, "url": "/products/gin",
    }  # fmt: skip
    assert row(session, "products", sku="gin")["secret"] == "s"
    changed = good("put_product", sku="ax", title="Big axe", price=1)
    assert changed == {
        "sku": "ax", "title": "Big axe", "price": 1.0, "tags": None, "released": "2025-05-01", "url": "/products/ax",
    }  # fmt: skip
    assert row(session, "products", sku="ax")["secret"] is None


def test_product_is_deleted_unless_it_is_ordered(session, good, code):
    assert code("delete_product", sku="zzz") == "product_not_found"
    assert code("delete_product", sku="ax") == "product_in_use"
    assert good("delete_product", sku="fan") == {}
    assert not [each for each in session.state()["watches"] if each["sku"] == "fan"]


# Orders


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"sort": "total", "size": 7}, [2, 6, 5, 3, 1, 4, 9]),
        ({"sort": "-total", "size": 7}, [9, 1, 4, 3, 5, 2, 6]),
        ({"sort": "created", "size": 3}, [6, 1, 2]),
        ({"sort": "-created", "size": 6}, [9, 5, 4, 2, 3, 1]),
        ({"customer": "cus_c"}, [5, 6]),
        ({"status": ["open", "paid"], "size": 9}, [1, 2, 5, 6, 9]),
        ({"status": [], "size": 9}, [1, 2, 3, 4, 5, 6, 9]),
        ({"status": ["paid"], "customer": "cus_a"}, [2]),
        ({"created_gte": 1767600003}, [4, 5, 9]),
        ({"cursor": "6"}, [9]),
        ({"cursor": "7"}, []),
    ],
)
def test_orders_in_order(good, arguments, expected):
    found = good("list_orders", **arguments)
    assert [each["id"] for each in found["orders"]["items"]] == expected
    assert found["here"] == len(expected)
    assert found["size"] == arguments.get("size", 5)


@pytest.mark.parametrize("size", [1, 2, 3, 6, 7, 8])
def test_orders_by_cursor_come_exactly_once(good, size):
    found, cursor = [], {}
    while cursor is not None:
        page = good("list_orders", size=size, sort="-total", **cursor)
        found += [each["id"] for each in page["orders"]["items"]]
        cursor = {"cursor": page["next"]} if page["next"] is not None else None
    assert found == [9, 1, 4, 3, 5, 2, 6]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"note": "door"}, [9, 3, 1, 6]),
        ({"note": "door", "order_by": "when"}, [6, 1, 3, 9]),
        ({"note": "door", "order_by": "when", "direction": "desc"}, [9, 3, 1, 6]),
        ({"note": "door", "order_by": "amount", "direction": "asc"}, [6, 3, 1, 9]),
        ({"note": "door", "order_by": "amount", "direction": "desc"}, [9, 1, 3, 6]),
        ({"note": "door", "direction": "asc"}, [9, 3, 1, 6]),
        ({"note": "door", "from": 3}, [6]),
        ({"note": "door", "from": 4}, []),
        ({"note": "BONN"}, [5, 1]),
        ({"note": "_"}, [4]),
        ({"note": "%"}, [3]),
    ],
)
def test_orders_by_search(good, arguments, expected):
    found = good("search_orders", **arguments)
    assert [each["id"] for each in found["found"]] == expected
    assert found["from"] == arguments.get("from", 0)


def test_orders_are_counted_and_summed(good):
    assert good("count_orders") == {"count": 7}
    assert good("count_orders", status="paid") == {"count": 2}
    assert good("sum_order_totals", customer="cus_a") == {"total": 1021.0}
    assert good("sum_order_totals", customer="cus_d") == {"total": 0}


def test_order_is_made_replaced_and_deleted(session, good, code):
    assert code("create_order", customer="nobody") == "customer_not_found"
    made = good("create_order", customer="cus_b", note="n", city="c")["data"]
    assert made == {
        "id": 10, "customer": {"id": "cus_b"}, "status": "open", "total": None, "note": "n", "address": {"city": "c"},
        "created": 1772442000, "updated": 1772442000000,
    }  # fmt: skip
    assert good("get_order", id=10) == {"data": made}
    assert code("get_order", id=11) == "order_not_found"
    assert code("replace_order", id=11, total=1) == "order_not_found"
    replaced = good("replace_order", id=1, total=2, city="Ulm")["data"]
    assert (replaced["total"], replaced["note"], replaced["address"], replaced["status"]) == (
        2.0,
        None,
        {"city": "Ulm"},
        "open",
    )
    assert replaced["updated"] == 1772442000000
    assert replaced["created"] == 1767600000
    assert code("delete_order", id=11) == "order_not_found"
    assert good("delete_order", id=1) == {}
    assert {each["order_id"] for each in session.state()["order_lines"]} == {2, 3}


def test_order_changes_its_state_only_from_where_it_may(good, code):
    assert good("cancel_order", id=1)["data"]["status"] == "cancelled"
    assert good("cancel_order", id=2)["data"]["status"] == "cancelled"
    assert [code("cancel_order", id=number) for number in (1, 3, 8)] == [
        "order_not_cancellable", "order_not_cancellable", "order_not_found",
    ]  # fmt: skip
    shipped = good("ship_order", id=5, note="by bike")["data"]
    assert (shipped["status"], shipped["note"], shipped["address"]) == ("shipped", "by bike", {"city": "bonn"})
    assert [code("ship_order", id=number) for number in (5, 6, 8)] == [
        "order_not_paid", "order_not_paid", "order_not_found",
    ]  # fmt: skip


def test_shipping_without_a_note_keeps_the_old_one(good):
    good("replace_order", id=2, total=1, note="keep")
    assert good("ship_order", id=2)["data"]["note"] == "keep"


# Lines and watches


def test_lines_of_an_order(good, code):
    assert good("list_order_lines", order_id=1) == {
        "lines": [
            {"order_id": 1, "sku": "ax", "quantity": 1, "gift_for": None},
            {"order_id": 1, "sku": "cap", "quantity": 3, "gift_for": "cus_d"},
        ]
    }
    assert good("list_order_lines", order_id=9) == {"lines": []}
    assert code("list_order_lines", order_id=8) == "order_not_found"
    assert good("get_order_line", order_id=2, sku="ax")["quantity"] == 2
    assert code("get_order_line", order_id=8, sku="ax") == "order_not_found"
    assert code("get_order_line", order_id=3, sku="ax") == "order_line_not_found"


def test_line_is_made_and_deleted(session, good, code):
    new = {"order_id": 3, "sku": "ax"}
    assert code("create_order_line", order_id=8, sku="ax") == "order_not_found"
    assert code("create_order_line", order_id=3, sku="zzz") == "product_not_found"
    assert code("create_order_line", **new, gift_for="nobody") == "customer_not_found"
    assert code("create_order_line", order_id=3, sku="bat") == "order_line_exists"
    assert good("create_order_line", **new) == {**new, "quantity": 1, "gift_for": None}
    assert code("create_order_line", **new) == "order_line_exists"
    assert good("delete_order_line", **new) == {}
    assert code("delete_order_line", **new) == "order_line_not_found"
    assert len(session.state()["order_lines"]) == 4


def test_watch_done_twice_changes_nothing(session, good, code):
    pair = {"customer_id": "cus_b", "sku": "dye"}
    assert code("unwatch_product", **pair) == "watch_not_found"
    assert len(session.call("watch_product", pair).changes) == 1
    again = session.call("watch_product", pair)
    assert (again.status, again.changes) == (CallStatus.SUCCESS, ())
    assert code("watch_product", customer_id="nobody", sku="dye") == "customer_not_found"
    assert code("watch_product", customer_id="cus_b", sku="zzz") == "product_not_found"
    assert good("unwatch_product", **pair) == {}
    assert {"customer_id": "cus_b", "sku": "ax"} in session.state()["watches"]


def test_watched_products_are_those_of_the_customer(good, code):
    found = good("list_watched_products", customer_id="cus_a")
    assert ([each["sku"] for each in found["products"]], found["total"]) == (["ax", "bat"], 2)
    assert found["products"][0]["tags"] == ["tool", "sharp"]
    cheap = good("list_watched_products", customer_id="cus_a", max_price=5.5)
    assert ([each["sku"] for each in cheap["products"]], cheap["total"]) == (["bat"], 1)
    assert good("list_watched_products", customer_id="cus_c") == {"products": [], "total": 0}
    assert code("list_watched_products", customer_id="nobody") == "customer_not_found"


def test_reads_say_which_columns_an_answer_comes_from(session):
    assert ("products", "secret") not in session.call("list_products", {}).reads
    assert session.call("count_orders", {"status": "open"}).reads >= {("orders", "status")}
