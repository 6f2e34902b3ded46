"""Which columns a table has, and what is left of nested values."""

import pytest

from environments.core.compile.semantics import MAX_COLUMNS, ColumnRole, Generated, Table, ValueKind
from tests.environments.core.compile.inference.documents import (
    FLAG,
    NUMBER,
    REAL,
    TEXT,
    TIME,
    array,
    blueprint_of,
    columns_of,
    crud,
    enum,
    meaning_of,
    obj,
    op,
    ref,
    table_of,
)

AZURE_PATH = "/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}/providers/Microsoft.Shop/stores"


def azure(schema: dict) -> dict:
    item = f"{AZURE_PATH}/{{storeName}}"
    return {
        f"GET {AZURE_PATH}": op(obj(value=array(schema), nextLink=TEXT), name="Stores_List"),
        f"GET {item}": op(schema, name="Stores_Get"),
        f"PUT {item}": op(schema, body=schema, status="201", name="Stores_CreateOrUpdate"),
        f"PATCH {item}": op(schema, body=schema, name="Stores_Update"),
        f"DELETE {item}": op(status="204", name="Stores_Delete"),
    }


def orders(name: str = "orders", body: dict | None = None, **properties: object) -> Table:
    return table_of(crud("/orders", obj(("id", "name"), id=TEXT, name=TEXT, **properties), body), name=name)


def test_members_of_the_wrapper_are_columns_when_the_family_has_one() -> None:
    store = obj(
        id=TEXT, name=TEXT, type=TEXT, location=TEXT,
        properties=obj(size=NUMBER, location=TEXT, address=obj(street=TEXT, town=TEXT)),
    )  # fmt: skip

    table = blueprint_of(azure(store), provider="azure.com").table("stores")
    columns = columns_of(table)

    assert columns["size"].path == ("properties", "size")
    assert columns["location"].path == ("location",)
    assert "properties" not in columns
    assert columns["address_street"].path == ("properties", "address", "street")


def test_a_small_object_is_promoted_when_it_holds_plain_values_only() -> None:
    columns = columns_of(orders(address=obj(street=TEXT, town=TEXT)))

    assert columns["address_street"].path == ("address", "street")
    assert columns["address_town"].path == ("address", "town")
    assert "address" not in columns


@pytest.mark.parametrize(
    "given",
    [
        obj(a=TEXT, b=TEXT, c=TEXT, d=TEXT, e=TEXT),
        obj(a=TEXT, deeper=obj(b=TEXT)),
        obj(a=TEXT, several=array(TEXT)),
        obj(id=TEXT, a=TEXT),
    ],
    ids=["five", "nested", "array", "reference"],
)
def test_an_object_is_json_when_it_is_no_handful_of_plain_values(given: dict) -> None:
    columns = columns_of(orders(address=given))

    assert columns["address"].kind is ValueKind.JSON
    assert not [name for name in columns if name.startswith("address_")]


def test_a_promoted_name_keeps_apart_when_the_top_level_has_it_too() -> None:
    columns = columns_of(orders(city=TEXT, address=obj(city=TEXT, zip=TEXT)))

    assert columns["city"].path == ("city",)
    assert columns["address_city"].path == ("address", "city")


def test_a_promoted_column_gives_way_when_its_whole_name_stands_at_the_top() -> None:
    columns = columns_of(orders(address=obj(city=TEXT, zip=TEXT), address_city=TEXT))

    assert columns["address_city"].path == ("address_city",)


def test_an_embedded_row_is_a_reference_when_its_table_is_there() -> None:
    customer = obj(("id", "name"), id=TEXT, name=TEXT, phone=TEXT)
    order = obj(("id", "name"), id=TEXT, name=TEXT, customer=ref("Customer"))
    paths = crud("/orders", ref("Order")) | crud("/customers", ref("Customer"))

    blueprint = blueprint_of(paths, {"Order": order, "Customer": customer})
    table = blueprint.table("orders")

    assert columns_of(table)["customer_id"].path == ("customer", "id")
    assert [(key.columns, key.table) for key in table.foreign_keys] == [(("customer_id",), "customers")]


def test_an_embedded_row_holds_the_other_tables_key_when_that_is_no_id() -> None:
    user = obj(("id", "login"), id=NUMBER, login=TEXT, bio=TEXT)
    order = obj(("id", "name"), id=TEXT, name=TEXT, owner=ref("User"))
    paths = crud("/orders", ref("Order")) | crud("/users", ref("User"), obj(("login",), login=TEXT), key="username")

    table = blueprint_of(paths, {"Order": order, "User": user}).table("orders")

    assert columns_of(table)["owner_login"].path == ("owner", "login")
    assert columns_of(table)["owner_login"].kind is ValueKind.TEXT
    assert [(key.columns, key.targets) for key in table.foreign_keys] == [(("owner_login",), ("login",))]


def test_an_array_is_no_column_when_its_items_have_a_table() -> None:
    item = obj(("id", "name"), id=TEXT, name=TEXT, order_id=TEXT)
    order = obj(("id", "name"), id=TEXT, name=TEXT, items=array(ref("Item")), tags=array(TEXT))
    paths = crud("/orders", ref("Order")) | crud("/items", ref("Item"))

    blueprint = blueprint_of(paths, {"Order": order, "Item": item})
    columns = columns_of(blueprint.table("orders"))

    assert "items" not in columns
    assert columns["tags"].kind is ValueKind.JSON
    assert ("items",) not in [each.path for each in meaning_of(blueprint, "GET /orders/{id}").result.view.properties]


def test_a_member_is_no_column_when_the_document_leaves_its_type_open() -> None:
    assert "anything" not in columns_of(orders(anything={}))


def test_a_member_is_a_constant_when_it_can_only_have_one_value() -> None:
    blueprint = blueprint_of(crud("/orders", obj(("id", "name"), id=TEXT, name=TEXT, object=enum("order"))))

    assert "object" not in columns_of(blueprint.table("orders"))
    assert meaning_of(blueprint, "GET /orders/{id}").result.view.constants == ((("object",), "order"),)


def test_an_enum_is_kept_when_it_has_up_to_sixty_values() -> None:
    columns = columns_of(
        orders(size=enum("s", "m", "l"), zone=enum(*(f"z{each}" for each in range(61))), level=enum(1, 2))
    )

    assert columns["size"].values == ("s", "m", "l")
    assert columns["zone"].values == ()
    assert columns["level"].values == (1, 2)


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        (TEXT, ValueKind.TEXT),
        (NUMBER, ValueKind.INTEGER),
        (REAL, ValueKind.REAL),
        (FLAG, ValueKind.BOOLEAN),
        (TIME, ValueKind.TIME),
        ({"type": "string", "format": "date"}, ValueKind.DATE),
        ({"type": "integer", "format": "unix-time"}, ValueKind.EPOCH),
        ({"type": "integer", "description": "Unix time in milliseconds"}, ValueKind.EPOCH_MILLISECONDS),
        (array(TEXT), ValueKind.JSON),
        ({"type": "object", "additionalProperties": TEXT}, ValueKind.JSON),
    ],
)
def test_a_column_holds_values_as_their_schema_says_when_its_name_says_nothing(schema: dict, kind: ValueKind) -> None:
    assert columns_of(orders(value=schema))["value"].kind is kind


def test_times_are_given_by_the_episode_when_their_names_say_created_or_updated() -> None:
    columns = columns_of(orders(created_at=TIME, updatedAt={"type": "integer"}))

    assert (columns["created_at"].role, columns["created_at"].kind) == (ColumnRole.CREATED, ValueKind.TIME)
    assert (columns["updated_at"].role, columns["updated_at"].kind) == (ColumnRole.UPDATED, ValueKind.EPOCH)
    assert columns["created_at"].generated is columns["updated_at"].generated is Generated.NOW


def test_a_number_is_whole_when_it_is_an_id() -> None:
    assert columns_of(orders(shop_id=REAL))["shop_id"].kind is ValueKind.INTEGER


def test_a_written_member_is_a_secret_when_no_answer_shows_it_and_requests_must_have_it() -> None:
    body = obj(("name", "password", "colour"), name=TEXT, password=TEXT, colour=TEXT, hint=TEXT)

    columns = columns_of(orders(body=body, note=TEXT, colour=TEXT, total=NUMBER))

    assert columns["password"].is_secret
    assert columns["password"].path == ()
    assert "hint" not in columns


def test_a_secret_is_never_shown_when_the_schema_says_write_only() -> None:
    order = obj(("id", "name"), id=TEXT, name=TEXT, pin=TEXT | {"writeOnly": True})

    blueprint = blueprint_of(crud("/orders", order, obj(("name",), name=TEXT, pin=TEXT)))
    view = meaning_of(blueprint, "GET /orders/{id}").result.view

    assert columns_of(blueprint.table("orders"))["pin"].is_secret
    assert "pin" not in [each.column for each in view.properties]


def test_no_second_id_is_a_column_when_a_request_names_the_row_another_way() -> None:
    secret = TEXT | {"writeOnly": True}
    body = obj(("name",), name=TEXT, note=TEXT, OrderId=secret, voucher=secret)
    columns = columns_of(orders(body=body, total=NUMBER, note=TEXT))

    assert "order_id" not in columns
    assert columns["voucher"].is_secret


def test_a_table_keeps_its_bound_when_the_document_has_more_members() -> None:
    many = {f"member_{each}": TEXT for each in range(MAX_COLUMNS + 30)}
    table = orders(status=enum("open", "closed"), **many)
    columns = columns_of(table)

    assert len(columns) <= MAX_COLUMNS
    assert {"id", "name", "status", "member_0"} <= columns.keys()
    assert f"member_{MAX_COLUMNS + 29}" not in columns


def test_json_goes_first_when_a_table_has_too_many_members() -> None:
    many = {f"member_{each}": array(TEXT) if each < 10 else TEXT for each in range(MAX_COLUMNS - 5)}

    columns = columns_of(orders(**many))

    assert {"member_0", "member_10", "member_54"} <= columns.keys()
    assert "member_9" not in columns


def test_names_are_fit_for_sql_and_python_when_the_documents_are_not() -> None:
    columns = columns_of(orders(**{"class": TEXT, "2fa": TEXT, "rowid": TEXT, "@type": TEXT, "größe": TEXT, "-": TEXT}))

    assert list(columns) == ["id", "name", "class_", "n2fa", "rowid_", "type", "gro_e", "x"]
    assert all(name.isidentifier() and name == name.lower() for name in columns)
    assert columns["class_"].path == ("class",)
    assert columns["rowid_"].path == ("rowid",)


def test_columns_keep_apart_when_two_names_differ_only_in_spelling() -> None:
    columns = columns_of(orders(**{"unitPrice": NUMBER, "unit_price": NUMBER, "Unit-Price": NUMBER}))

    assert [each.path for each in columns.values() if "price" in each.name] == [("unitPrice",)]


def test_columns_keep_apart_when_their_names_have_no_ascii_letter() -> None:
    order = obj(("id", "name"), id=TEXT, name=TEXT, 价格=NUMBER, 数量=NUMBER)

    blueprint = blueprint_of(crud("/orders", order, obj(("name",), name=TEXT, 数量=NUMBER)))
    columns = columns_of(blueprint.table("orders"))
    set_by = {each.name: columns[each.column].path for each in meaning_of(blueprint, "PATCH /orders/{id}").arguments}

    # They may be left out, but no argument may set another one's column.
    assert set_by.get("数量", ("数量",)) == ("数量",)


def test_further_members_are_columns_when_another_answer_shows_them() -> None:
    full = obj(id=TEXT, name=TEXT, note=TEXT, total=NUMBER)
    other = obj(id=TEXT, name=TEXT, weight=NUMBER)
    paths = crud("/orders", full) | {"GET /orders": op(array(other))}

    assert "weight" in columns_of(table_of(paths, name="orders"))
