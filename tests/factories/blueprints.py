"""A hand-written plan of a shop that has every kind of tool, column, check and page that semantics.py knows."""

from typing import Any

from environments.core.compile.semantics import (
    Absent,
    Answer,
    Argument,
    ArgumentRole,
    Assignment,
    Blueprint,
    Check,
    Column,
    ColumnRole,
    Exists,
    ForeignKey,
    Generated,
    InUse,
    Kind,
    Meaning,
    OnDelete,
    Order,
    PageFact,
    Part,
    PlannedTool,
    Result,
    Schema,
    Shown,
    Source,
    SourceFacts,
    StateAllows,
    Table,
    TableRole,
    Template,
    Through,
    ValueKind,
    View,
)

SOURCE = "5" * 64
TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
TIME: Schema = {"type": "string", "format": "date-time", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"}
SIZE: Schema = {"type": "integer", "minimum": 1, "maximum": 100}
STATES = ("open", "paid", "shipped", "cancelled")
STATE: Schema = {"type": "string", "enum": list(STATES)}
TAGS: Schema = {"type": "array", "items": {"type": "string"}}
Role = ArgumentRole


def column(name: str, kind: ValueKind = ValueKind.TEXT, schema: Schema = TEXT, **more: Any) -> Column:
    """A column that the API shows under its own name."""
    return Column(name, kind, more.pop("path", (name,)), schema, more.pop("description", f"The {name}."), **more)


def argument(name: str, role: ArgumentRole, schema: Schema = TEXT, **more: Any) -> Argument:
    """An argument; keys and scopes are required."""
    is_required = more.pop("is_required", role in (Role.KEY, Role.SCOPE))
    named = name if role in (Role.KEY, Role.SCOPE, Role.SET, Role.FILTER) else None
    python_name = more.pop("python_name", name)
    return Argument(
        name,
        python_name,
        role,
        schema,
        f"The {name}.",
        is_required,
        more.pop("column", named),
        more.pop("default", None),
    )


def given(*names: str) -> tuple[Assignment, ...]:
    """Columns that take the argument of their own name."""
    return tuple(Assignment(name, Source.ARGUMENT, name) for name in names)


CUSTOMERS = Table(
    "customers",
    "customer",
    "A person who buys.",
    (
        column("id", role=ColumnRole.KEY, is_required=True, generated=Generated.ID, comparison="exempt"),
        column("name", is_required=True, schema={"type": "string", "maxLength": 80}),
        column("email", is_required=True, schema={"type": "string", "format": "email"}),
        column("is_active", ValueKind.BOOLEAN, {"type": "boolean"}, is_required=True, default=1),
        column(
            "created_at",
            ValueKind.TIME,
            TIME,
            role=ColumnRole.CREATED,
            is_required=True,
            generated=Generated.NOW,
            comparison="exempt",
        ),
    ),
    ("id",),
    unique=(("email",),),
)
PRODUCTS = Table(
    "products",
    "product",
    "Something to buy.",
    (
        column("sku", role=ColumnRole.KEY, is_required=True),
        column("title", is_required=True),
        column("price", ValueKind.REAL, {"type": "number", "minimum": 0}, is_required=True, default=0.0),
        column("tags", ValueKind.JSON, TAGS),
        column("released", ValueKind.DATE, {"type": "string", "format": "date", "pattern": r"^\d{4}-\d\d-\d\d$"}),
        column("url", template=Template(("/products/", Part("sku"))), is_required=True),
        column("secret", is_secret=True, path=()),
    ),
    ("sku",),
)
ORDERS = Table(
    "orders",
    "order",
    "What a customer wants to buy.",
    (
        column(
            "id", ValueKind.INTEGER, INTEGER, role=ColumnRole.KEY, is_required=True, generated=Generated.ID,
            comparison="exempt",
        ),
        column("customer_id", is_required=True, comparison=None, path=("customer", "id")),
        column("status", schema=STATE, role=ColumnRole.STATUS, is_required=True, values=STATES, default="open"),
        column("total", ValueKind.REAL, NUMBER),
        column("note", comparison="semantic"),
        column("city", path=("address", "city")),
        column(
            "created", ValueKind.EPOCH, INTEGER, role=ColumnRole.CREATED, is_required=True, generated=Generated.NOW,
            comparison="exempt",
        ),
        column(
            "updated", ValueKind.EPOCH_MILLISECONDS, INTEGER, role=ColumnRole.UPDATED, generated=Generated.NOW,
            comparison="exempt",
        ),
    ),
    ("id",),
    (ForeignKey(("customer_id",), "customers", ("id",), OnDelete.RESTRICT),),
)  # fmt: skip
LINES = Table(
    "order_lines",
    "order_line",
    "One product of an order.",
    (
        column("order_id", ValueKind.INTEGER, INTEGER, role=ColumnRole.SCOPE, is_required=True, comparison=None),
        column("sku", role=ColumnRole.KEY, is_required=True, comparison=None),
        column("quantity", ValueKind.INTEGER, {"type": "integer", "minimum": 1}, is_required=True, default=1),
        column("gift_for", comparison=None),
    ),
    ("order_id", "sku"),
    (
        ForeignKey(("order_id",), "orders", ("id",), OnDelete.CASCADE),
        ForeignKey(("sku",), "products", ("sku",), OnDelete.RESTRICT),
        ForeignKey(("gift_for",), "customers", ("id",), OnDelete.SET_NULL),
    ),
)
WATCHES = Table(
    "watches",
    "watch",
    "A customer who watches a product.",
    (
        column("customer_id", role=ColumnRole.SCOPE, is_required=True, comparison=None),
        column("sku", role=ColumnRole.KEY, is_required=True, comparison=None),
    ),
    ("customer_id", "sku"),
    (
        ForeignKey(("customer_id",), "customers", ("id",), OnDelete.CASCADE),
        ForeignKey(("sku",), "products", ("sku",), OnDelete.CASCADE),
    ),
    TableRole.LINK,
)

CUSTOMER = View(
    "customer",
    "customers",
    tuple(Shown((name,), name) for name in ("id", "name", "email", "is_active", "created_at")),
    ((("object",), "customer"),),
)
PRODUCT = View(
    "product", "products", tuple(Shown((name,), name) for name in ("sku", "title", "price", "tags", "released", "url"))
)
ORDER = View(
    "order",
    "orders",
    (
        Shown(("id",), "id"),
        Shown(("customer", "id"), "customer_id"),
        Shown(("status",), "status"),
        Shown(("total",), "total"),
        Shown(("note",), "note"),
        Shown(("address", "city"), "city"),
        Shown(("created",), "created"),
        Shown(("updated",), "updated"),
    ),
)
LINE = View("order_line", "order_lines", tuple(Shown((n,), n) for n in ("order_id", "sku", "quantity", "gift_for")))

CUSTOMER_FOUND = Exists("customer_not_found", "customers", (("id", "id"),))
ORDER_FOUND = Exists("order_not_found", "orders", (("id", "id"),))
BY_ID = (argument("id", Role.KEY),)
BY_NUMBER = (argument("id", Role.KEY, INTEGER),)
BY_KEY = (Order("id"),)
ROW_OF_ORDER = Result(Answer.ROW, ("data",), ORDER)


def _tool(name: str, kind: Kind, table: str, *arguments: Argument, **more: Any) -> PlannedTool:
    checks: tuple[Check, ...] = more.pop("checks", ())
    result: Result = more.pop("result", Result(Answer.NOTHING))
    ordered = sorted(arguments, key=lambda each: not each.is_required)
    meaning = Meaning(kind, table, tuple(ordered), checks, result, **more)
    words = name.replace("_", " ")
    return PlannedTool(name, words.capitalize(), f"{words.capitalize()}.", meaning, SOURCE, f"TOOL {name}")


def shop() -> Blueprint:
    """The whole shop."""
    tools = (
        # customers
        _tool(
            "list_customers", Kind.LIST, "customers",
            argument("query", Role.SEARCH), argument("active", Role.FILTER, {"type": "boolean"}, column="is_active"),
            argument("page", Role.PAGE, {"type": "integer", "minimum": 1}, default=1),
            argument("per_page", Role.SIZE, SIZE, default=3),
            result=Result(
                Answer.ROWS, ("customers",), CUSTOMER,
                (
                    (("meta", "total"), PageFact.TOTAL), (("meta", "page"), PageFact.PAGE),
                    (("meta", "per_page"), PageFact.SIZE), (("meta", "pages"), PageFact.NUM_PAGES),
                    (("meta", "next"), PageFact.NEXT_PAGE),
                ),
                ((("ok",), True),),
            ),
            order=BY_KEY, page_size=3, search_columns=("name", "email"),
        ),
        _tool("get_customer", Kind.GET, "customers", *BY_ID, checks=(CUSTOMER_FOUND,),
              result=Result(Answer.ROW, (), CUSTOMER)),
        _tool(
            "create_customer", Kind.CREATE, "customers",
            argument("name", Role.SET, {"type": "string", "minLength": 1, "maxLength": 80}, is_required=True),
            argument("email", Role.SET, {"type": "string", "format": "email"}, is_required=True),
            argument("is_active", Role.SET, {"type": "boolean"}),
            checks=(Absent("email_taken", "customers", (("email", "email"),)),),
            result=Result(Answer.ROW, ("data",), CUSTOMER, one_in_list=True),
            assignments=(
                Assignment("id", Source.NEW_ID), *given("name", "email", "is_active"),
                Assignment("created_at", Source.NOW),
            ),
        ),
        _tool(
            "update_customer", Kind.PATCH, "customers", *BY_ID,
            argument("name", Role.SET, {"type": "string", "minLength": 1, "maxLength": 80}),
            argument("email", Role.SET, {"type": "string", "format": "email"}),
            argument("is_active", Role.SET, {"type": "boolean"}),
            checks=(CUSTOMER_FOUND, Absent("email_taken", "customers", (("email", "email"),), (("id", "id"),))),
            result=Result(Answer.ROW, (), CUSTOMER), assignments=given("name", "email", "is_active"),
        ),
        _tool(
            "delete_customer", Kind.DELETE, "customers", *BY_ID,
            checks=(CUSTOMER_FOUND, InUse("customer_in_use", "orders", (("customer_id", "id"),))),
            result=Result(Answer.ROW, (), CUSTOMER),
        ),
        # products
        _tool(
            "list_products", Kind.LIST, "products",
            argument("starting_after", Role.AFTER), argument("limit", Role.SIZE, SIZE, default=4),
            argument("min_price", Role.AT_LEAST, NUMBER, column="price"),
            argument("released_before", Role.AT_MOST, TEXT, column="released"),
            checks=(Exists("product_not_found", "products", (("sku", "starting_after"),)),),
            result=Result(
                Answer.ROWS, ("data",), PRODUCT,
                ((("has_more",), PageFact.HAS_MORE), (("last",), PageFact.NEXT_AFTER)), ((("object",), "list"),),
            ),
            order=(Order("price", is_descending=True), Order("sku")), page_size=4,
        ),
        _tool("list_product_keys", Kind.LIST_KEYS, "products", result=Result(Answer.KEYS, ("skus",)),
              order=(Order("sku"),)),
        _tool(
            "put_product", Kind.UPSERT, "products",
            argument("sku", Role.KEY, {"type": "string", "minLength": 1, "maxLength": 20}),
            argument("title", Role.SET, is_required=True),
            argument("price", Role.SET, {"type": "number", "minimum": 0}),
            argument("tags", Role.SET, TAGS), argument("secret", Role.SET),
            result=Result(Answer.ROW, (), PRODUCT),
            assignments=(*given("sku", "title", "price", "tags"), Assignment("url", Source.TEMPLATE), *given("secret")),
            updates=(*given("title", "price", "tags", "secret"),),
        ),
        _tool(
            "delete_product", Kind.DELETE, "products", argument("sku", Role.KEY),
            checks=(
                Exists("product_not_found", "products", (("sku", "sku"),)),
                InUse("product_in_use", "order_lines", (("sku", "sku"),)),
            ),
        ),
        # orders
        _tool(
            "list_orders", Kind.LIST, "orders",
            argument("customer", Role.FILTER, column="customer_id"),
            argument("status", Role.ONE_OF, {"type": "array", "items": STATE}, column="status"),
            argument("created_gte", Role.AT_LEAST, INTEGER, column="created"),
            argument("sort", Role.SORT, {"type": "string", "enum": ["total", "created", "-total", "-created"]}),
            argument("cursor", Role.CURSOR, {"type": "string", "pattern": "^[0-9]{1,9}$"}),
            argument("size", Role.SIZE, SIZE, default=5),
            result=Result(
                Answer.ROWS, ("orders", "items"), ORDER,
                ((("next",), PageFact.NEXT_CURSOR), (("here",), PageFact.HERE), (("size",), PageFact.SIZE)),
            ),
            order=BY_KEY, sorts=(("total", "total"), ("created", "created")), descending_values=("-",), page_size=5,
        ),
        _tool(
            "search_orders", Kind.LIST, "orders",
            argument("note", Role.SEARCH, is_required=True),
            argument("order_by", Role.SORT, {"type": "string", "enum": ["when", "amount"]}),
            argument("direction", Role.DIRECTION, {"type": "string", "enum": ["asc", "desc"]}),
            argument("from", Role.OFFSET, {"type": "integer", "minimum": 0}, python_name="from_", default=0),
            result=Result(Answer.ROWS, ("found",), ORDER, ((("from",), PageFact.OFFSET),)),
            order=(Order("created", is_descending=True), Order("id")), sorts=(("when", "created"), ("amount", "total")),
            descending_values=("desc",), page_size=20, search_columns=("note", "city"),
        ),
        _tool("count_orders", Kind.COUNT, "orders", argument("status", Role.FILTER, STATE),
              result=Result(Answer.NUMBER, ("count",))),
        _tool("sum_order_totals", Kind.SUM, "orders",
              argument("customer", Role.FILTER, is_required=True, column="customer_id"),
              result=Result(Answer.NUMBER, ("total",)), sum_column="total"),
        _tool("get_order", Kind.GET, "orders", *BY_NUMBER, checks=(ORDER_FOUND,), result=ROW_OF_ORDER),
        _tool(
            "create_order", Kind.CREATE, "orders",
            argument("customer", Role.SET, is_required=True, column="customer_id"),
            argument("total", Role.SET, NUMBER), argument("note", Role.SET), argument("city", Role.SET),
            checks=(Exists("customer_not_found", "customers", (("id", "customer"),)),),
            result=ROW_OF_ORDER,
            assignments=(
                Assignment("id", Source.NEW_ID), Assignment("customer_id", Source.ARGUMENT, "customer"),
                Assignment("status", Source.DEFAULT), *given("total", "note", "city"),
                Assignment("created", Source.NOW), Assignment("updated", Source.NOW),
            ),
        ),
        _tool(
            "replace_order", Kind.REPLACE, "orders", *BY_NUMBER,
            argument("total", Role.SET, NUMBER, is_required=True), argument("note", Role.SET),
            argument("city", Role.SET),
            checks=(ORDER_FOUND,), result=ROW_OF_ORDER,
            assignments=(*given("total", "note", "city"), Assignment("updated", Source.NOW)),
        ),
        _tool(
            "cancel_order", Kind.TRANSITION, "orders", *BY_NUMBER,
            checks=(
                ORDER_FOUND,
                StateAllows(
                    "order_not_cancellable", "orders", (("id", "id"),), "status", refused=("cancelled", "shipped")
                ),
            ),
            result=ROW_OF_ORDER,
            assignments=(
                Assignment("status", Source.CONSTANT, constant="cancelled"), Assignment("updated", Source.NOW),
            ),
            verb="cancel",
        ),
        _tool(
            "ship_order", Kind.TRANSITION, "orders", *BY_NUMBER,
            argument("note", Role.SET),
            checks=(
                ORDER_FOUND, StateAllows("order_not_paid", "orders", (("id", "id"),), "status", allowed=("paid",)),
            ),
            result=ROW_OF_ORDER,
            assignments=(
                Assignment("status", Source.CONSTANT, constant="shipped"), *given("note"),
                Assignment("updated", Source.NOW),
            ),
            verb="ship",
        ),
        _tool("delete_order", Kind.DELETE, "orders", *BY_NUMBER, checks=(ORDER_FOUND,)),
        # lines
        _tool(
            "list_order_lines", Kind.LIST, "order_lines", argument("order_id", Role.SCOPE, INTEGER),
            checks=(Exists("order_not_found", "orders", (("id", "order_id"),)),),
            result=Result(Answer.ROWS, ("lines",), LINE), order=(Order("order_id"), Order("sku")),
        ),
        _tool(
            "get_order_line", Kind.GET, "order_lines",
            argument("order_id", Role.KEY, INTEGER), argument("sku", Role.KEY),
            checks=(
                Exists("order_not_found", "orders", (("id", "order_id"),)),
                Exists("order_line_not_found", "order_lines", (("order_id", "order_id"), ("sku", "sku"))),
            ),
            result=Result(Answer.ROW, (), LINE),
        ),
        _tool(
            "create_order_line", Kind.CREATE, "order_lines",
            argument("order_id", Role.SCOPE, INTEGER), argument("sku", Role.SET, is_required=True),
            argument("quantity", Role.SET, {"type": "integer", "minimum": 1}), argument("gift_for", Role.SET),
            checks=(
                Exists("order_not_found", "orders", (("id", "order_id"),)),
                Exists("product_not_found", "products", (("sku", "sku"),)),
                Exists("customer_not_found", "customers", (("id", "gift_for"),)),
                Absent("order_line_exists", "order_lines", (("order_id", "order_id"), ("sku", "sku"))),
            ),
            result=Result(Answer.ROW, (), LINE), assignments=given("order_id", "sku", "quantity", "gift_for"),
        ),
        _tool(
            "delete_order_line", Kind.DELETE, "order_lines",
            argument("order_id", Role.KEY, INTEGER), argument("sku", Role.KEY),
            checks=(Exists("order_line_not_found", "order_lines", (("order_id", "order_id"), ("sku", "sku"))),),
        ),
        # watches
        _tool(
            "watch_product", Kind.LINK, "watches", argument("customer_id", Role.KEY), argument("sku", Role.KEY),
            checks=(
                Exists("customer_not_found", "customers", (("id", "customer_id"),)),
                Exists("product_not_found", "products", (("sku", "sku"),)),
            ),
            assignments=given("customer_id", "sku"),
        ),
        _tool(
            "unwatch_product", Kind.UNLINK, "watches", argument("customer_id", Role.KEY), argument("sku", Role.KEY),
            checks=(Exists("watch_not_found", "watches", (("customer_id", "customer_id"), ("sku", "sku"))),),
        ),
        _tool(
            "list_watched_products", Kind.LIST, "products",
            argument("customer_id", Role.SCOPE),
            argument("max_price", Role.AT_MOST, NUMBER, column="price"),
            checks=(Exists("customer_not_found", "customers", (("id", "customer_id"),)),),
            result=Result(Answer.ROWS, ("products",), PRODUCT, ((("total",), PageFact.TOTAL),)), order=(Order("sku"),),
            through=Through("watches", (("customer_id", "customer_id"),), (("sku", "sku"),)),
        ),
    )  # fmt: skip
    facts = SourceFacts(
        sha256=SOURCE,
        kind="openapi",
        address="https://shop.example/openapi.json",
        retrieved_at="2026-03-01T00:00:00Z",
        title="Shop",
        provider="shop.example",
        version="1.0",
        licence_spdx="CC0-1.0",
    )
    return Blueprint(
        name="shop",
        title="Shop",
        domain="retail",
        description="A small shop: customers, products, orders and who watches what.",
        provider="shop.example",
        family="plain",
        tables=(CUSTOMERS, PRODUCTS, ORDERS, LINES, WATCHES),
        tools=tools,
        sources=(facts,),
    )
