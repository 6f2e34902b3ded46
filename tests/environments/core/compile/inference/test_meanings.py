"""Kinds, transitions, defaults, answers, and what only one family has."""

from typing import Any

import pytest

from environments.core.compile.inference.names import past_participle
from environments.core.compile.semantics import (
    Absent,
    Answer,
    Blueprint,
    ColumnRole,
    Exists,
    Kind,
    Meaning,
    Part,
    Source,
    StateAllows,
    ValueKind,
)
from tests.environments.core.compile.inference.documents import (
    FLAG,
    NUMBER,
    TEXT,
    TIME,
    arguments_of,
    array,
    blueprint_of,
    columns_of,
    compile_document,
    crud,
    enum,
    meaning_of,
    obj,
    op,
    reasons,
    ref,
    tool_of,
)

ORDER = obj(("id", "name"), id=TEXT, name=TEXT, note=TEXT, total=NUMBER)
PATHS = crud("/orders", ref("Order"), obj(("name",), name=TEXT, note=TEXT))


def kind_of(key: str, operation: dict[str, Any], **given: Any) -> Kind:
    blueprint = blueprint_of(PATHS | {key: operation}, {"Order": ORDER}, **given)
    return meaning_of(blueprint, key).kind


# --- Kinds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "operation", "kind"),
    [
        ("GET /orders", op(array(ref("Order"))), Kind.LIST),
        ("GET /orders/search", op(array(ref("Order"))), Kind.LIST),
        ("POST /orders/search", op(array(ref("Order")), body=obj(name=TEXT)), Kind.LIST),
        ("GET /orders/ids", op(array(TEXT)), Kind.LIST_KEYS),
        ("GET /orders/count", op(obj(count=NUMBER)), Kind.COUNT),
        ("GET /orders/{id}", op(ref("Order")), Kind.GET),
        ("POST /orders", op(ref("Order"), body=obj(name=TEXT), status="201"), Kind.CREATE),
        ("POST /orders/create", op(ref("Order"), body=obj(note=TEXT)), Kind.CREATE),
        ("PUT /orders/{id}", op(ref("Order"), body=obj(name=TEXT)), Kind.REPLACE),
        ("PATCH /orders/{id}", op(ref("Order"), body=obj(name=TEXT)), Kind.PATCH),
        ("DELETE /orders/{id}", op(status="204"), Kind.DELETE),
        ("POST /orders/{id}/delete", op(status="204"), Kind.DELETE),
        ("POST /orders/{id}/update", op(ref("Order"), body=obj(note=TEXT)), Kind.PATCH),
    ],
)
def test_an_operation_has_its_kind_when_method_and_path_say_so(key: str, operation: dict[str, Any], kind: Kind) -> None:
    paths = dict(PATHS)
    # What does the same would take its name.
    for same in {
        Kind.LIST: ["GET /orders"],
        Kind.CREATE: ["POST /orders"],
        Kind.PATCH: ["PATCH /orders/{id}"],
        Kind.DELETE: ["DELETE /orders/{id}"],
    }.get(kind, []):
        paths.pop(same)
    paths |= {key: operation, "PUT /orders/{id}": op(ref("Order"), body=obj(name=TEXT))} | {key: operation}
    paths |= {"GET /orders/count": op(obj(count=NUMBER))} | {key: operation}

    assert meaning_of(blueprint_of(paths, {"Order": ORDER}), key).kind is kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ListWidgets", Kind.LIST),
        ("DescribeWidget", Kind.GET),
        ("CreateWidget", Kind.CREATE),
        ("UpdateWidget", Kind.PATCH),
        ("PutWidget", Kind.UPSERT),
        ("DeleteWidget", Kind.DELETE),
    ],
)
def test_an_operation_has_its_kind_when_its_name_says_so(name: str, kind: Kind) -> None:
    widget = obj(("Name",), Name=TEXT, Size=NUMBER)
    key, body = obj(("Name",), Name=TEXT), obj(("Name", "Size"), Name=TEXT, Size=NUMBER)
    given = {
        "ListWidgets": op(obj(Widgets=array(widget)), body=obj(NextToken=TEXT)),
        "DescribeWidget": op(obj(Widget=widget), body=key),
        "CreateWidget": op(obj(Widget=widget), body=body),
        "UpdateWidget": op(obj(Widget=widget), body=body),
        "PutWidget": op(obj(Widget=widget), body=body),
        "DeleteWidget": op(body=key),
    }
    paths = {f"POST /#X-Amz-Target=Shop_2020.{each}": {**made, "operationId": each} for each, made in given.items()}

    blueprint = blueprint_of(paths, provider="amazonaws.com")
    tool = next(tool for tool in blueprint.tools if tool.operation.endswith(name))

    assert tool.meaning.kind is kind
    if kind not in (Kind.LIST, Kind.CREATE):
        assert arguments_of(tool.meaning)["Name"] == "key"


def test_putting_an_item_makes_it_when_the_document_says_created() -> None:
    shop = obj(("name",), name=TEXT, city=TEXT)
    paths = {
        "GET /shops": op(array(shop)),
        "GET /shops/{name}": op(shop),
        "PUT /shops/{name}": op(shop, body=obj(city=TEXT), status="201"),
        "DELETE /shops/{name}": op(status="204"),
        "GET /shops/count": op(obj(count=NUMBER)),
    }

    meaning = meaning_of(blueprint_of(paths), "PUT /shops/{name}")

    assert meaning.kind is Kind.UPSERT
    assert meaning.checks == ()
    assert [(each.column, each.source) for each in meaning.assignments] == [
        ("name", Source.ARGUMENT),
        ("city", Source.ARGUMENT),
    ]
    assert [each.column for each in meaning.updates] == ["city"]


def test_posting_to_an_item_changes_it_when_the_family_does_so() -> None:
    paths = PATHS | {"POST /orders/{id}": op(ref("Order"), body=obj(note=TEXT))}
    paths.pop("PATCH /orders/{id}")

    stripe = blueprint_of(paths, {"Order": ORDER}, provider="stripe.com")
    made = compile_document(paths, {"Order": ORDER})

    assert meaning_of(stripe, "POST /orders/{id}").kind is Kind.PATCH
    assert reasons(made)["POST /orders/{id}"] == "post_on_item"


# --- Transitions ------------------------------------------------------------------------------------------------------


def transition(verb: str, provider: str = "shop.example", **members: Any) -> Meaning | str:
    """The meaning of a verb behind an order with these members, or the reason why it has none."""
    order = obj(("id", "name"), id=TEXT, name=TEXT, **members)
    key = f"POST /orders/{{id}}/{verb}"
    made = compile_document(crud("/orders", order) | {key: op(order)}, provider=provider)
    return reasons(made).get(key) or meaning_of(made.blueprints[0], key)


@pytest.mark.parametrize(
    ("verb", "members", "column", "value"),
    [
        ("cancel", {"status": enum("open", "cancelled")}, "status", "cancelled"),
        ("cancel", {"status": enum("OPEN", "CANCELED")}, "status", "CANCELED"),
        ("pause", {"state": enum("STATE_ACTIVE", "STATE_PAUSED")}, "state", "STATE_PAUSED"),
        ("approve", {"approval_status": enum("pending", "approved")}, "approval_status", "approved"),
        ("archive", {"archived": FLAG}, "archived", 1),
        ("unarchive", {"is_archived": FLAG}, "is_archived", 0),
        ("close", {"isOpen": FLAG}, "is_open", 0),
    ],
)
def test_a_verb_sets_a_state_when_the_schema_has_it(
    verb: str, members: dict[str, Any], column: str, value: Any
) -> None:
    meaning = transition(verb, **members)

    assert isinstance(meaning, Meaning)
    assert (meaning.kind, meaning.verb) == (Kind.TRANSITION, verb)
    assert [(each.column, each.constant) for each in meaning.assignments] == [(column, value)]


@pytest.mark.parametrize(
    ("verb", "members"),
    [
        ("cancel", {"note": TEXT}),
        ("cancel", {"status": enum("open", "closed")}),
        ("cancel", {"status": TEXT}),
        ("cancel", {"billing_status": enum("new", "cancelled"), "shipping_status": enum("new", "cancelled")}),
        ("send", {"status": enum("draft", "sent")}),
        ("archive", {"archived": TIME}),
    ],
    ids=["no state", "another state", "no enum", "two states", "another verb", "a time"],
)
def test_a_verb_is_left_out_when_the_schema_has_no_such_state(verb: str, members: dict[str, Any]) -> None:
    assert transition(verb, **members) == "no_state_for_verb"


def test_the_main_state_is_meant_when_several_have_the_value() -> None:
    meaning = transition("cancel", status=enum("new", "cancelled"), shipping_status=enum("new", "cancelled"))

    assert [each.column for each in meaning.assignments] == ["status"]


@pytest.mark.parametrize(
    ("verb", "members", "allowed", "refused", "code"),
    [
        ("cancel", {"status": enum("open", "cancelled")}, (), ("cancelled",), "order_already_cancelled"),
        ("approve", {"status": enum("pending", "new", "approved")}, ("pending",), (), "order_cannot_be_approved"),
        ("resume", {"status": enum("paused", "running")}, ("paused",), (), "order_cannot_be_resumed"),
        ("archive", {"archived": FLAG}, (), (1,), "order_cannot_be_archived"),
    ],
)
def test_a_verb_is_refused_when_the_state_does_not_let_it(
    verb: str, members: dict[str, Any], allowed: tuple[Any, ...], refused: tuple[Any, ...], code: str
) -> None:
    meaning = transition(verb, **members)
    first, second = meaning.checks

    assert isinstance(first, Exists)
    assert isinstance(second, StateAllows)
    assert (second.code, second.allowed, second.refused) == (code, allowed, refused)
    assert second.where == (("id", "id"),)


def test_a_verb_is_never_refused_when_doing_it_twice_is_no_fault() -> None:
    meaning = transition("pause", status=enum("running", "paused"))

    assert [type(check) for check in meaning.checks] == [Exists]


def test_a_verb_takes_values_when_its_request_has_columns() -> None:
    order = obj(("id", "name"), id=TEXT, name=TEXT, reason=TEXT, status=enum("open", "cancelled"), updated_at=TIME)
    paths = crud("/orders", order) | {"POST /orders/{id}/cancel": op(order, body=obj(reason=TEXT, loudly=FLAG))}

    blueprint = blueprint_of(paths)
    meaning = meaning_of(blueprint, "POST /orders/{id}/cancel")

    assert arguments_of(meaning) == {"id": "key", "reason": "set"}
    assert {each.column for each in meaning.assignments} == {"reason", "status", "updated_at"}
    assert tool_of(blueprint, "POST /orders/{id}/cancel").dropped == (("loudly", "no_column"),)
    assert tool_of(blueprint, "POST /orders/{id}/cancel").name == "cancel_order"


@pytest.mark.parametrize(
    ("verb", "past"),
    [("cancel", "cancelled"), ("close", "closed"), ("verify", "verified"), ("approve", "approved"), ("lock", "locked"),
     ("deploy", "deployed"), ("pay", "paid"), ("stop", "stopped"), ("unfreeze", "unfrozen")],
)  # fmt: skip
def test_a_verb_has_its_past_when_a_code_needs_it(verb: str, past: str) -> None:
    assert past_participle(verb) == past


# --- Defaults and NOT NULL --------------------------------------------------------------------------------------------


def created(body: dict[str, Any], *required: str, **members: Any) -> dict[str, Any]:
    """Columns of orders that are made by this body."""
    order = obj(("id", "name", *required), id=TEXT, name=TEXT, **members)
    return columns_of(blueprint_of(crud("/orders", order, body)).table("orders"))


NAMED = obj(("name",), name=TEXT)


@pytest.mark.parametrize(
    ("values", "first"),
    [
        (("cancelled", "pending", "open"), "open"),
        (("failed", "shipped", "odd"), None),
        (("closed", "failed"), None),
        (("STATUS_CLOSED", "STATUS_ACTIVE"), "STATUS_ACTIVE"),
    ],
)
def test_a_new_row_has_the_likeliest_state_when_nobody_says(values: tuple[str, ...], first: str | None) -> None:
    column = created(NAMED, status=enum(*values))["status"]

    assert (column.role, column.default, column.values) == (ColumnRole.STATUS, first, values)


def test_a_new_row_has_the_documents_default_when_there_is_one() -> None:
    columns = created(NAMED, status=enum("open", "draft", default="open"), level=NUMBER | {"default": 3})

    assert (columns["status"].default, columns["level"].default) == ("open", 3)


def test_a_flag_is_off_when_a_creation_need_not_say() -> None:
    columns = created(
        obj(("name", "gift"), name=TEXT, gift=FLAG), urgent=FLAG, gift=FLAG, loud=FLAG | {"default": True}
    )

    assert (columns["urgent"].default, columns["gift"].default, columns["loud"].default) == (0, None, 1)


def test_a_default_is_none_when_the_column_could_not_hold_it() -> None:
    columns = created(NAMED, level=NUMBER | {"default": "high"}, size=enum("s", "m") | {"default": "xl"})

    assert (columns["level"].default, columns["size"].default) == (None, None)


def test_a_column_is_never_null_when_answers_require_it_and_creations_give_it() -> None:
    body = obj(("name", "city"), name=TEXT, city=TEXT, zip=TEXT)
    columns = created(body, "city", "zip", "tax", "open", city=TEXT, zip=TEXT, tax=TEXT, open=FLAG)

    assert {name for name, column in columns.items() if column.is_required} == {"id", "name", "city", "open"}


def test_a_column_may_be_null_when_the_schema_allows_it() -> None:
    columns = created(obj(("name", "city"), name=TEXT, city=TEXT), "city", city=TEXT | {"nullable": True})

    assert not columns["city"].is_required


def test_a_new_row_is_written_whole_when_it_is_made() -> None:
    order = obj(("id", "name"), id=TEXT, name=TEXT, status=enum("open", "closed"), created_at=TIME, updated_at=TIME)
    blueprint = blueprint_of(crud("/orders", order))

    sources = {each.column: each.source for each in meaning_of(blueprint, "POST /orders").assignments}
    changed = {each.column: each.source for each in meaning_of(blueprint, "PATCH /orders/{id}").assignments}

    assert sources == {
        "id": Source.NEW_ID,
        "name": Source.ARGUMENT,
        "status": Source.DEFAULT,
        "created_at": Source.NOW,
        "updated_at": Source.NOW,
    }
    assert changed == {"name": Source.ARGUMENT, "updated_at": Source.NOW}


def test_texts_are_compared_by_meaning_when_people_write_them_freely() -> None:
    columns = created(NAMED, description=TEXT, code=TEXT)

    assert (columns["description"].comparison, columns["code"].comparison) == ("semantic", "hard")


# --- Answers ----------------------------------------------------------------------------------------------------------


def result_of(key: str, answer: Any, **given: Any) -> Any:
    return meaning_of(blueprint_of(PATHS | {key: op(answer, **given)}, {"Order": ORDER}), key).result


def test_a_result_has_the_documents_envelope_when_there_is_one() -> None:
    answer = obj(success=FLAG, object=enum("list"), data=array(ref("Order")))

    result = result_of("GET /orders", answer)

    assert (result.form, result.place) == (Answer.ROWS, ("data",))
    assert dict(result.constants) == {("success",): True, ("object",): "list"}


def test_a_bare_array_is_named_after_its_table_when_a_result_must_be_an_object() -> None:
    assert result_of("GET /orders", array(ref("Order"))).place == ("orders",)


def test_a_row_is_one_in_a_list_when_the_document_shows_it_so() -> None:
    result = result_of("GET /orders/{id}", obj(data=array(ref("Order"))))

    assert (result.form, result.place, result.one_in_list) == (Answer.ROW, ("data",), True)


def test_a_row_is_a_result_by_itself_when_it_has_no_envelope() -> None:
    result = result_of("GET /orders/{id}", ref("Order"))

    assert (result.form, result.place, result.one_in_list) == (Answer.ROW, (), False)
    assert [each.path for each in result.view.properties] == [("id",), ("name",), ("note",), ("total",)]


def test_nothing_is_answered_when_the_document_shows_nothing() -> None:
    assert result_of("DELETE /orders/{id}", None, status="204").form is Answer.NOTHING


def test_a_number_is_answered_where_the_document_has_it() -> None:
    result = result_of("GET /orders/count", obj(count=NUMBER))

    assert (result.form, result.place) == (Answer.NUMBER, ("count",))


def test_keys_are_answered_when_the_document_lists_only_them() -> None:
    result = result_of("GET /orders/ids", array(TEXT))

    assert (result.form, result.place) == (Answer.KEYS, ("ids",))


def test_an_answer_is_left_out_when_less_than_half_of_it_is_the_row() -> None:
    odd = obj(id=TEXT, a=TEXT, b=TEXT, c=TEXT, d=TEXT)

    made = compile_document(PATHS | {"PUT /orders/{id}": op(odd, body=obj(note=TEXT))}, {"Order": ORDER})

    assert reasons(made) == {"PUT /orders/{id}": "response_unlike_resource"}


def test_views_are_shared_when_two_answers_show_the_same() -> None:
    blueprint = blueprint_of(PATHS, {"Order": ORDER})
    views = {tool.meaning.result.view.name for tool in blueprint.tools if tool.meaning.result.view is not None}

    assert views == {"order"}


def test_views_have_names_of_their_own_when_they_show_different_parts() -> None:
    paths = PATHS | {"GET /orders": op(array(ref("OrderSummary")))}
    blueprint = blueprint_of(paths, {"Order": ORDER, "OrderSummary": obj(id=TEXT, name=TEXT)})

    assert meaning_of(blueprint, "GET /orders").result.view.name == "order_summary"


# --- Azure ------------------------------------------------------------------------------------------------------------


def azure_stores() -> Blueprint:
    base = "/subscriptions/{subscriptionId}/resourceGroups/{group}/providers/Microsoft.Shop/stores"
    item = f"{base}/{{storeName}}"
    store = obj(
        id=TEXT, name=TEXT, type=TEXT, location=TEXT,
        properties=obj(size=NUMBER, provisioningState=enum("Failed", "Succeeded", "Creating")),
    )  # fmt: skip
    paths = {
        f"GET {base}": op(obj(value=array(ref("Store")), nextLink=TEXT), name="Stores_List"),
        f"GET {item}": op(ref("Store"), name="Stores_Get"),
        f"PUT {item}": op(ref("Store"), body=ref("Store"), status="201", name="Stores_CreateOrUpdate"),
        f"DELETE {item}": op(status="204", name="Stores_Delete"),
        f"PATCH {item}": op(ref("Store"), body=obj(properties=obj(size=NUMBER)), name="Stores_Update"),
    }
    return blueprint_of(paths, {"Store": store}, provider="azure.com")


def test_an_azure_id_is_made_of_the_path_when_callers_choose_the_name() -> None:
    table = azure_stores().table("stores")
    template = columns_of(table)["id"].template

    assert table.primary_key == ("subscription_id", "group", "name")
    assert template.parts == (
        "/subscriptions/", Part("subscription_id"), "/resourceGroups/", Part("group"),
        "/providers/Microsoft.Shop/stores/", Part("name"),
    )  # fmt: skip


def test_an_azure_type_is_a_constant_when_the_path_says_it() -> None:
    blueprint = azure_stores()
    get = next(tool.meaning for tool in blueprint.tools if tool.meaning.kind is Kind.GET)

    assert "type" not in columns_of(blueprint.table("stores"))
    assert get.result.view.constants == ((("type",), "Microsoft.Shop/stores"),)


def test_an_azure_resource_is_provisioned_when_it_is_made() -> None:
    blueprint = azure_stores()
    put = next(tool.meaning for tool in blueprint.tools if tool.meaning.kind is Kind.UPSERT)

    assert columns_of(blueprint.table("stores"))["provisioning_state"].default == "Succeeded"
    assert [each.source for each in put.assignments if each.column == "id"] == [Source.TEMPLATE]
    assert {each.column for each in put.updates} == {"location", "size", "provisioning_state"}


def test_an_azure_request_sets_neither_id_nor_type_when_they_are_derived() -> None:
    put = next(tool.meaning for tool in azure_stores().tools if tool.meaning.kind is Kind.UPSERT)

    assert {"id", "type"}.isdisjoint(arguments_of(put))


def test_an_azure_answer_nests_members_when_columns_were_promoted() -> None:
    get = next(tool.meaning for tool in azure_stores().tools if tool.meaning.kind is Kind.GET)

    assert ("properties", "size") in [each.path for each in get.result.view.properties]


# --- Checks -----------------------------------------------------------------------------------------------------------


def test_checks_go_from_the_outside_in_when_a_row_is_made_below_parents() -> None:
    shelf = obj(("name",), name=TEXT, owner_id=TEXT)
    paths = {
        **crud("/shops", obj(("id", "name"), id=TEXT, name=TEXT, city=TEXT), key="shop_id"),
        **crud("/owners", obj(("id", "name"), id=TEXT, name=TEXT), key="owner_id"),
        **crud("/shops/{shop_id}/shelves", shelf, obj(("name",), name=TEXT, owner_id=TEXT), key="name"),
    }

    checks = meaning_of(blueprint_of(paths), "POST /shops/{shop_id}/shelves").checks

    assert [check.code for check in checks] == ["shop_not_found", "owner_not_found", "shelf_exists"]
    assert isinstance(checks[-1], Absent)
    assert checks[-1].where == (("shop_id", "shop_id"), ("name", "name"))


def test_codes_stay_short_when_nouns_are_long() -> None:
    noun = "extraordinarily_long_winded_and_pointless_resource"
    blueprint = blueprint_of(crud(f"/{noun}s", ORDER, obj(("name",), name=TEXT, note=TEXT)))

    codes = [check.code for tool in blueprint.tools for check in tool.meaning.checks]

    assert codes
    assert all(len(code) <= 48 and code.endswith("_not_found") for code in codes)


def test_kinds_of_columns_win_when_a_parameter_has_another_type() -> None:
    order = obj(("id", "name"), id=NUMBER, name=TEXT)
    blueprint = blueprint_of(crud("/orders", order, key="id", key_schema=TEXT))

    assert meaning_of(blueprint, "GET /orders/{id}").arguments[0].schema == {"type": "integer"}
    assert columns_of(blueprint.table("orders"))["id"].kind is ValueKind.INTEGER
