"""Arguments: filters, searches, sorts, pages."""

import pytest

from environments.core.compile.semantics import ArgumentRole, Meaning, PageFact
from tests.environments.core.compile.inference.documents import (
    FLAG,
    NUMBER,
    REAL,
    TEXT,
    TIME,
    arguments_of,
    array,
    blueprint_of,
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

STATUS = enum("open", "closed")
ORDER = obj(
    ("id", "name"), id=TEXT, name=TEXT, note=TEXT, status=STATUS, total=REAL, count=NUMBER, paid=FLAG,
    created_at=TIME, shop_id=TEXT, tags=array(TEXT), pin=TEXT | {"writeOnly": True},
)  # fmt: skip
PATHS = crud("/orders", ref("Order"))


def paths_with(answer: dict | None = None, **given: object) -> dict:
    return PATHS | {"GET /orders": op(answer or array(ref("Order")), **given)}


def listing(answer: dict | None = None, **given: object) -> Meaning:
    """The meaning of the list of orders with these inputs."""
    return meaning_of(blueprint_of(paths_with(answer, **given), {"Order": ORDER}), "GET /orders")


def dropped(**query: object) -> dict[str, str]:
    blueprint = blueprint_of(paths_with(query=query), {"Order": ORDER})
    return dict(tool_of(blueprint, "GET /orders").dropped)


# --- Filters ----------------------------------------------------------------------------------------------------------


def test_a_parameter_filters_when_a_column_answers_it() -> None:
    meaning = listing(query={"status": STATUS, "name": TEXT, "paid": FLAG, "shopId": TEXT})

    assert [(each.name, each.role, each.column) for each in meaning.arguments] == [
        ("status", ArgumentRole.FILTER, "status"),
        ("name", ArgumentRole.FILTER, "name"),
        ("paid", ArgumentRole.FILTER, "paid"),
        ("shopId", ArgumentRole.FILTER, "shop_id"),
    ]


def test_a_parameter_filters_when_its_name_is_a_thing_and_the_column_its_id() -> None:
    assert [each.column for each in listing(query={"shop": TEXT}).arguments] == ["shop_id"]


@pytest.mark.parametrize("name", ["filter[status]", "status__exact", "filter.status"])
def test_a_parameter_filters_when_its_name_is_decorated(name: str) -> None:
    meaning = listing(query={name: STATUS})

    assert [(each.name, each.role, each.column) for each in meaning.arguments] == [
        (name, ArgumentRole.FILTER, "status")
    ]
    assert meaning.arguments[0].python_name.isidentifier()


@pytest.mark.parametrize(
    ("name", "role", "column"),
    [
        ("min_total", "at_least", "total"),
        ("total_max", "at_most", "total"),
        ("total__gte", "at_least", "total"),
        ("created_after", "at_least", "created_at"),
        ("created_before", "at_most", "created_at"),
        ("created_at[lte]", "at_most", "created_at"),
    ],
)
def test_a_parameter_is_a_bound_when_its_name_says_so(name: str, role: str, column: str) -> None:
    schema = REAL if "total" in name else TIME

    assert [(each.role, each.column) for each in listing(query={name: schema}).arguments] == [(role, column)]


def test_both_bounds_stand_when_they_are_of_one_column() -> None:
    assert arguments_of(listing(query={"min_total": REAL, "max_total": REAL})) == {
        "min_total": "at_least",
        "max_total": "at_most",
    }


def test_an_array_is_one_of_several_when_its_items_fit_the_column() -> None:
    meaning = listing(query={"status": array(STATUS), "ids": array(TEXT)})

    assert [(each.name, each.role, each.column) for each in meaning.arguments] == [
        ("status", ArgumentRole.ONE_OF, "status"),
        ("ids", ArgumentRole.ONE_OF, "id"),
    ]
    assert meaning.arguments[0].schema["items"]["enum"] == ["open", "closed"]


@pytest.mark.parametrize(
    ("name", "schema"),
    [("colour", TEXT), ("total", REAL), ("tags", TEXT), ("pin", TEXT), ("count", array(FLAG)), ("paid", TEXT)],
    ids=["no column", "real number", "json", "secret", "items differ", "text for a flag"],
)
def test_a_parameter_is_dropped_when_no_column_answers_it(name: str, schema: dict) -> None:
    assert dropped(**{name: schema}) == {name: "no_column"}


def test_a_list_is_left_out_when_a_parameter_without_column_is_required() -> None:
    paths = paths_with(query={"colour": TEXT}, required=("colour",)) | {
        "GET /orders/search": op(array(ref("Order")), query={"name": TEXT})
    }

    made = compile_document(paths, {"Order": ORDER})

    assert reasons(made) == {"GET /orders": "required_parameter_unknown"}


def test_a_filter_takes_any_text_when_the_column_is_bounded() -> None:
    order = obj(("id", "name"), id=TEXT, name=TEXT | {"maxLength": 5, "pattern": "^a"}, note=TEXT)
    paths = crud("/orders", order) | {"GET /orders": op(array(order), query={"name": TEXT | {"maxLength": 3}})}

    schema = meaning_of(blueprint_of(paths), "GET /orders").arguments[0].schema

    assert schema == {"type": "string"}


def test_a_required_reference_is_a_scope_when_it_is_a_parameter() -> None:
    shop = obj(("id", "name"), id=TEXT, name=TEXT, city=TEXT)
    paths = paths_with(query={"shop_id": TEXT}, required=("shop_id",)) | crud("/shops", shop)

    meaning = meaning_of(blueprint_of(paths, {"Order": ORDER}), "GET /orders")

    assert arguments_of(meaning) == {"shop_id": "scope"}
    assert [check.code for check in meaning.checks] == ["shop_not_found"]


def test_the_path_filters_when_it_goes_on_to_a_value() -> None:
    paths = PATHS | {"GET /orders/status/{status}": op(array(ref("Order")), path={"status": STATUS})}

    meaning = meaning_of(blueprint_of(paths, {"Order": ORDER}), "GET /orders/status/{status}")

    assert [(each.name, each.role, each.is_required) for each in meaning.arguments] == [
        ("status", ArgumentRole.FILTER, True)
    ]


def test_required_arguments_come_first_when_some_are_optional() -> None:
    paths = paths_with(query={"status": STATUS, "name": TEXT}, required=("name",))

    meaning = meaning_of(blueprint_of(paths, {"Order": ORDER}), "GET /orders")

    assert [each.name for each in meaning.arguments] == ["name", "status"]


# --- Searching and sorting --------------------------------------------------------------------------------------------


def test_a_search_looks_into_texts_when_the_parameter_is_free() -> None:
    meaning = listing(query={"q": TEXT})

    assert arguments_of(meaning) == {"q": "search"}
    assert meaning.search_columns == ("name", "note")


@pytest.mark.parametrize("words", ["A Lucene query.", "A filter expression.", "Regular expression on the name"])
def test_a_search_is_dropped_when_it_has_a_language_of_its_own(words: str) -> None:
    blueprint = blueprint_of(paths_with(query={"q": TEXT}, says={"q": words}), {"Order": ORDER})

    assert tool_of(blueprint, "GET /orders").dropped == (("q", "no_column"),)


def test_a_search_is_dropped_when_the_rows_have_no_texts() -> None:
    order = obj(("id", "total"), id=TEXT, total=NUMBER, weight=NUMBER)
    paths = crud("/orders", order, obj(("weight",), weight=NUMBER)) | {
        "GET /orders": op(array(order), query={"q": TEXT})
    }

    assert tool_of(blueprint_of(paths), "GET /orders").dropped == (("q", "no_column"),)


def test_a_sort_keeps_the_values_that_are_columns_when_it_has_others() -> None:
    meaning = listing(query={"sort": enum("name", "created", "magic"), "direction": enum("asc", "desc")})

    assert arguments_of(meaning) == {"sort": "sort", "direction": "direction"}
    assert meaning.sorts == (("name", "name"), ("created", "created_at"))
    assert meaning.arguments[0].schema["enum"] == ["name", "created"]
    assert meaning.descending_values == ("desc",)


def test_a_sort_turns_round_when_its_values_have_a_minus() -> None:
    meaning = listing(query={"sort": enum("name", "-name", "created_at", "-created_at")})

    assert meaning.descending_values == ("-",)
    assert meaning.sorts == (("name", "name"), ("created_at", "created_at"))
    assert meaning.arguments[0].schema["enum"] == ["name", "created_at", "-name", "-created_at"]


def test_a_direction_is_nothing_when_there_is_no_sort() -> None:
    assert listing(query={"direction": enum("asc", "desc")}).arguments == ()


def test_a_sort_is_dropped_when_no_value_is_a_column() -> None:
    assert dropped(sort=enum("magic", "luck")) == {"sort": "no_column"}


def test_a_list_is_in_the_order_of_its_key_when_nothing_sorts_it() -> None:
    assert [(each.column, each.is_descending) for each in listing().order] == [("id", False)]


# --- Pages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "roles"),
    [
        ({"page": NUMBER, "per_page": NUMBER}, {"page": "page", "per_page": "size"}),
        ({"offset": NUMBER, "limit": NUMBER}, {"offset": "offset", "limit": "size"}),
        ({"page_token": TEXT, "page_size": NUMBER}, {"page_token": "cursor", "page_size": "size"}),
        ({"starting_after": TEXT, "limit": NUMBER}, {"starting_after": "after", "limit": "size"}),
        ({"page": NUMBER, "offset": NUMBER}, {"page": "page"}),
    ],
)
def test_a_list_is_paged_when_inputs_say_how(query: dict, roles: dict) -> None:
    meaning = listing(query=query)

    assert arguments_of(meaning) == roles
    assert meaning.page_size == 20


def test_a_list_has_no_pages_when_no_input_says_how() -> None:
    assert listing().page_size is None


def test_a_size_is_bounded_when_the_document_allows_more() -> None:
    schema, default = {"type": "integer", "maximum": 5000, "default": 500}, 100
    argument = listing(query={"limit": schema}).arguments[0]

    assert (argument.schema, argument.default) == ({"type": "integer", "minimum": 1, "maximum": 100}, default)


def test_the_first_page_is_zero_when_the_document_says_so() -> None:
    assert listing(query={"page": {"type": "integer", "minimum": 0}}).first_page == 0
    assert listing(query={"page": NUMBER}).first_page == 1


def test_a_row_must_be_there_when_a_page_starts_after_it() -> None:
    meaning = listing(query={"starting_after": TEXT})

    assert [(check.code, check.where) for check in meaning.checks] == [("order_not_found", (("id", "starting_after"),))]


def test_an_envelope_says_of_pages_what_the_list_can_answer() -> None:
    answer = obj(data=array(ref("Order")), total=NUMBER, has_more=FLAG, page=NUMBER, next_cursor=TEXT)

    facts = dict(listing(answer, query={"page": NUMBER}).result.page_facts)

    assert facts == {("total",): PageFact.TOTAL, ("has_more",): PageFact.HAS_MORE, ("page",): PageFact.PAGE}


def test_an_envelope_gives_the_last_key_when_the_list_goes_on_after_a_row() -> None:
    answer = obj(data=array(ref("Order")), next_cursor=TEXT)

    result = listing(answer, query={"starting_after": TEXT, "limit": NUMBER}).result

    assert result.page_facts == ((("next_cursor",), PageFact.NEXT_AFTER),)


def test_an_envelope_says_only_how_many_when_there_are_no_pages() -> None:
    answer = obj(data=array(ref("Order")), total=NUMBER, has_more=FLAG)

    assert listing(answer).result.page_facts == ((("total",), PageFact.TOTAL),)


# --- Writes -----------------------------------------------------------------------------------------------------------


def test_members_set_columns_when_they_are_of_the_row() -> None:
    body = obj(("name",), name=TEXT, status=STATUS, created_at=TIME, shop_id=TEXT)
    blueprint = blueprint_of(crud("/orders", ORDER, body))

    create, update = meaning_of(blueprint, "POST /orders"), meaning_of(blueprint, "PATCH /orders/{id}")

    assert arguments_of(create) == {"name": "set", "status": "set", "shop_id": "set"}
    assert arguments_of(update) == {"id": "key", "name": "set", "status": "set", "shop_id": "set"}
    assert tool_of(blueprint, "POST /orders").dropped == (("created_at", "not_settable"),)


def test_promoted_members_set_columns_when_a_request_nests_them_too() -> None:
    order = obj(("id", "name"), id=TEXT, name=TEXT, address=obj(street=TEXT, town=TEXT))
    blueprint = blueprint_of(crud("/orders", order, obj(("name",), name=TEXT, address=obj(street=TEXT, town=TEXT))))

    arguments = meaning_of(blueprint, "POST /orders").arguments

    assert [(each.name, each.column) for each in arguments] == [
        ("name", "name"),
        ("address_street", "address_street"),
        ("address_town", "address_town"),
    ]


def test_a_query_sets_nothing_when_the_request_has_a_body() -> None:
    paths = PATHS | {"POST /orders": op(ref("Order"), body=obj(name=TEXT), query={"note": TEXT}, status="201")}

    blueprint = blueprint_of(paths, {"Order": ORDER})

    assert arguments_of(meaning_of(blueprint, "POST /orders")) == {"name": "set"}
    assert tool_of(blueprint, "POST /orders").dropped == (("note", "not_settable"),)


def test_a_read_only_member_is_no_argument_when_a_request_shows_it() -> None:
    order = obj(("id", "name"), id=TEXT, name=TEXT, note=TEXT, price=NUMBER | {"readOnly": True})

    assert arguments_of(meaning_of(blueprint_of(crud("/orders", order, order)), "POST /orders")) == {
        "id": "set",
        "name": "set",
        "note": "set",
    }


def test_an_embedded_object_sets_the_reference_when_a_request_carries_it() -> None:
    customer = obj(("id", "name"), id=TEXT, name=TEXT, phone=TEXT)
    order = obj(("id", "name"), id=TEXT, name=TEXT, customer=ref("Customer"))
    paths = crud("/orders", ref("Order"), obj(("name",), name=TEXT, customer_id=TEXT)) | crud(
        "/customers", ref("Customer")
    )

    blueprint = blueprint_of(paths, {"Order": order, "Customer": customer})

    assert [each.column for each in meaning_of(blueprint, "POST /orders").arguments] == ["name", "customer_id"]
