"""Rows of the shop, written by hand: a small state for expectations by hand, and four scenarios for cases."""

from environments.runtime.pack.model import Scenario

CLOCK = "2026-03-02T09:00:00Z"


def customer(id, name, email, is_active=1, created_at="2026-01-05T08:00:00Z"):
    return {"id": id, "name": name, "email": email, "is_active": is_active, "created_at": created_at}


def product(sku, title, price, tags=None, released=None, secret=None):
    return {
        "sku": sku, "title": title, "price": price, "tags": tags, "released": released, "url": f"/products/{sku}",
        "secret": secret,
    }  # fmt: skip


def order(id, customer_id, status="open", total=None, note=None, city=None, created=1_767_600_000, updated=None):
    return {
        "id": id, "customer_id": customer_id, "status": status, "total": total, "note": note, "city": city,
        "created": created, "updated": updated,
    }  # fmt: skip


def line(order_id, sku, quantity=1, gift_for=None):
    return {"order_id": order_id, "sku": sku, "quantity": quantity, "gift_for": gift_for}


SMALL = {
    "customers": (
        customer("cus_a", "Ada Wong", "ada@example.com"),
        customer("cus_b", "Bob Ray", "bob@example.com", 0),
        customer("cus_c", "Cleo Ada", "cleo@example.org"),
        customer("cus_d", "Dan Fox", "dan@example.org"),
    ),
    "products": (
        product("apple", "Red apple", 0.5, '["fruit","red"]', "2025-01-01"),
        product("book", "Green book", 12.0, None, "2025-06-30", "hidden"),
        product("chair", "Oak chair", 80.0, "[]", None),
        product("drum", "Tin drum", 12.0, None, "2026-01-15"),
        product("easel", "Easel", 30.0, None, "2025-06-30"),
    ),
    "orders": (
        order(1, "cus_a", "open", 10.0, "Ring twice", "Oslo", 100, 100_000),
        order(2, "cus_b", "paid", None, "by the door", "Rome", 200),
        order(3, "cus_a", "shipped", 5.5, None, "oslo", 300),
        order(7, "cus_a", "cancelled", 5.5, "100% cotton", None, 300),
    ),
    "order_lines": (
        line(1, "apple", 4, "cus_d"),
        line(1, "book", 1),
        line(2, "apple", 2),
    ),
    "watches": (
        {"customer_id": "cus_a", "sku": "apple"},
        {"customer_id": "cus_a", "sku": "chair"},
        {"customer_id": "cus_d", "sku": "apple"},
    ),
}  # fmt: skip


def _many():
    names = ["Ada Wong", "Bob Ray", "Cleo Ada", "Dan Fox", "Eve Moss", "Finn Hill", "Gus Rayner", "Hana Ito"]
    customers = tuple(
        customer(f"cus_{name[:2].lower()}{n}", name, f"{name.split()[0].lower()}{n}@example.com", int(n % 3 != 1))
        for n, name in enumerate(names)
    )
    titles = ["Red apple", "Green book", "Oak chair", "Tin drum", "Easel", "Fan", "Glass of 100% juice", "Hat", "Ink"]
    products = tuple(
        product(
            title.split()[-1].lower(), title, [0.5, 12.0, 80.0, 12.0, 30.0, 12.0, 3.25, 20.0, 2.0][n],
            [None, "[]", '["new"]', '["old","rare"]'][n % 4], [None, "2025-01-01", "2025-06-30"][n % 3],
            "hidden" if n % 2 else None,
        )
        for n, title in enumerate(titles)
    )  # fmt: skip
    products = tuple(sorted(products, key=lambda each: each["sku"]))
    states = ["open", "paid", "shipped", "cancelled"]
    orders = tuple(
        order(
            n, customers[[0, 0, 0, 1, 2, 0, 3, 1, 0, 2, 0, 0][n - 1]]["id"], states[n % 4],
            [None, 10.0, 5.5, 42.25, 10.0][n % 5], [None, "Ring twice", "by the door", "100% sure"][n % 4],
            ["Oslo", None, "Rome"][n % 3], 1_767_600_000 + 3_600 * (n % 7), 1_767_600_000_000 if n % 2 else None,
        )
        for n in range(1, 13)
    )  # fmt: skip
    lines = tuple(
        line(number, sku, quantity, gift)
        for number, sku, quantity, gift in [
            (1, "apple", 4, None), (1, "book", 1, customers[4]["id"]), (2, "apple", 2, None), (3, "book", 1, None),
            (3, "chair", 6, customers[4]["id"]), (5, "apple", 1, None), (5, "drum", 3, None),
        ]
    )  # fmt: skip
    watches = tuple(
        {"customer_id": customers[who]["id"], "sku": sku}
        for who, sku in [(0, "apple"), (0, "chair"), (0, "drum"), (4, "apple"), (4, "ink")]
    )
    return {
        "customers": tuple(sorted(customers, key=lambda each: each["id"])),
        "products": products,
        "orders": orders,
        "order_lines": lines,
        "watches": tuple(sorted(watches, key=lambda each: (each["customer_id"], each["sku"]))),
    }


def small():
    """The state of the expectations by hand."""
    return Scenario("small", "simple", CLOCK, 0, SMALL)


def scenarios():
    """Four scenarios of the shop."""
    boundary = {
        "customers": (customer("cus_0", "Zoë", "z@example.com"), customer("cus_1", "Y", "y@example.com", 0)),
        "products": (product("a", "A", 0.0), product("zz", "100%", 0.01, "[]", "2026-03-02")),
        "orders": (order(1, "cus_0", "paid"),),
        "order_lines": (),
        "watches": (),
    }
    return (
        Scenario("boundary", "boundary", CLOCK, 3, boundary),
        Scenario("complex", "complex", CLOCK, 2, _many()),
        Scenario("medium", "medium", CLOCK, 1, _many()),
        Scenario("simple", "simple", CLOCK, 0, SMALL),
    )
