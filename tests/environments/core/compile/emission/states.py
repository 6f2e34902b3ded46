"""States of the shop and of the odd plan, small enough to know by heart."""

from environments.core.compile.emission.pack import CLOCK_START
from environments.runtime.pack.model import Scenario


def _rows(names: str, *rows: tuple) -> list[dict]:
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


SHOP_ROWS = {
    "customers": _rows(
        "id name email is_active created_at",
        ("cus_a", "Ada Lovelace", "ada@example.org", 1, "2026-01-01T08:00:00Z"),
        ("cus_b", "Bo 100% Sure", "bo_1@example.org", 0, "2026-01-02T08:00:00Z"),
        ("cus_c", "Cy Ö", "cy@example.org", 1, "2026-01-03T08:00:00Z"),
        ("cus_d", "Di", "di@EXAMPLE.com", 1, "2026-01-04T08:00:00Z"),
    ),
    "products": _rows(
        "sku title price tags released url secret",
        ("ax", "Axe", 20.0, '["tool","sharp"]', "2025-05-01", "/products/ax", "s1"),
        ("bat", "Bat", 5.5, None, None, "/products/bat", None),
        ("cap", "Cap", 5.5, "[]", "2026-02-01", "/products/cap", None),
        ("dye", "Dye", 0.0, '["\\u00e9"]', "2024-12-31", "/products/dye", None),
        ("egg", "Egg", 20.0, None, "2025-05-01", "/products/egg", None),
        ("fan", "Fan", 99.0, None, "2025-05-02", "/products/fan", None),
    ),
    "orders": _rows(
        "id customer_id status total note city created updated",
        (1, "cus_a", "open", 10.5, "Leave at the door", "Bonn", 1767600000, 1767600000123),
        (2, "cus_a", "paid", None, None, None, 1767600001, None),
        (3, "cus_b", "shipped", 7.25, "100% cotton", "DOORN", 1767600001, None),
        (4, "cus_a", "cancelled", 10.5, "a_b", "Köln", 1767600003, None),
        (5, "cus_c", "paid", 0.25, None, "bonn", 1767600004, None),
        (6, "cus_c", "open", None, "DOOR", None, 1767500000, None),
        (9, "cus_a", "open", 1000.0, "at the door", None, 1767600009, None),
    ),
    "order_lines": _rows(
        "order_id sku quantity gift_for",
        (1, "ax", 1, None), (1, "cap", 3, "cus_d"), (2, "ax", 2, "cus_b"), (3, "bat", 1, None),
    ),
    "watches": _rows(
        "customer_id sku", ("cus_a", "ax"), ("cus_a", "bat"), ("cus_b", "ax"), ("cus_d", "fan"),
    ),
}  # fmt: skip

_GROUPS = tuple(f"0000000{number}-0000-4000-8000-000000000000" for number in range(5))
ODD_ROWS = {
    "group": _rows(
        "id order values is_open random parent place",
        (_GROUPS[0], 3, "UTC", 1, '{"a": [1, null]}', None, None),
        (_GROUPS[1], None, "now", None, "{}", _GROUPS[0], "2026-01-01"),
        (_GROUPS[2], 3, "it's", 0, "{}", _GROUPS[1], None),
        (_GROUPS[3], 7, None, 1, "{}", None, None),
        (_GROUPS[4], None, 'a "b"', 1, "{}", _GROUPS[0], None),
    ),
    "items": [
        {"group": _GROUPS[group], "name": name, "rank": rank, "path": f"/g/{_GROUPS[group]}/i/{name}'s", "from": None}
        for group, name, rank in (
            (0, "a", 1.0), (0, "b", None), (0, "c", 2.0), (0, "d", 1.0), (0, "e", None), (1, "a", 1.5), (1, "b", 1.0),
            (1, "c", None),
        )
    ],
    "notes": _rows("name json count", ("notes/One", "One", 1), ("notes/one", "one", 5), ("notes/two", "two", 0)),
    "pins": _rows(
        "note group item",
        ("notes/One", _GROUPS[0], "a"), ("notes/One", _GROUPS[0], "c"), ("notes/One", _GROUPS[1], "a"),
        ("notes/one", _GROUPS[0], "b"),
    ),
}  # fmt: skip


def scenario(rows: dict, name: str = "small") -> Scenario:
    return Scenario(name, "simple", CLOCK_START, 7, {table: tuple(each) for table, each in rows.items()})
