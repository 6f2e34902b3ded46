from typing import Any

import pytest

from environments.core.compile.reading.calls import Input, Place
from environments.core.compile.reading.families import PLAIN, family_named
from environments.core.compile.reading.reading import UnreadOperationError
from environments.core.compile.semantics import ArgumentRole
from tests.environments.core.compile.reading.operations import NUMBER, ORDER, TEXT, TIME, array, call, obj

Role = ArgumentRole
ORDERS = obj(orders=array(ORDER), next=TEXT)


def only(query: dict[str, Any], *, family: str = "plain", description: str = "", rows: Any = None) -> Input | None:
    answer = ORDERS if rows is None else obj(orders=array(rows))
    name = next(iter(query))
    read = call("GET /orders", answer, query=query, family=family_named(family), descriptions={name: description})
    return read.inputs[0] if read.inputs else None


@pytest.mark.parametrize(
    ("name", "schema", "description", "role", "target"),
    [
        ("page", NUMBER, "", Role.PAGE, "page"),
        ("page[number]", NUMBER, "", Role.PAGE, "page[number]"),
        ("per_page", NUMBER, "", Role.SIZE, "per_page"),
        ("limit", TEXT, "", Role.SIZE, "limit"),
        ("$top", NUMBER, "", Role.SIZE, "$top"),
        ("offset", NUMBER, "", Role.OFFSET, "offset"),
        ("first", NUMBER, "Index of the first result.", Role.OFFSET, "first"),
        ("first", NUMBER, "How many to give.", Role.SIZE, "first"),
        ("offset", TEXT, "An offset token of the last answer.", Role.CURSOR, "offset"),
        ("pageToken", TEXT, "", Role.CURSOR, "pageToken"),
        ("starting_after", TEXT, "", Role.AFTER, "starting_after"),
        ("since", NUMBER, "Only orders with an ID greater than this ID.", Role.AFTER, "since"),
        ("sort", {"type": "string", "enum": ["total", "created_at"]}, "", Role.SORT, "sort"),
        ("sort", {"type": "string", "enum": ["asc", "desc"]}, "", Role.DIRECTION, "sort"),
        ("order", {"type": "string", "enum": ["asc", "desc"]}, "", Role.DIRECTION, "order"),
        ("q", TEXT, "", Role.SEARCH, "q"),
        ("query", TEXT, "In Lucene syntax.", None, "query"),
        ("status", TEXT, "", None, "status"),
        ("status", array(TEXT), "", Role.ONE_OF, "status"),
        ("ids", array(TEXT), "", Role.ONE_OF, "id"),
        ("ids", TEXT, "Comma-separated.", None, "ids"),
        ("filter[status]", TEXT, "", None, "status"),
        ("filter[id]", array(TEXT), "", Role.ONE_OF, "id"),
        ("total__gte", NUMBER, "", Role.AT_LEAST, "total"),
        ("total__gt", NUMBER, "", None, "total__gt"),
        ("created_at[lte]", TIME, "", Role.AT_MOST, "created_at"),
        ("min_total", NUMBER, "", Role.AT_LEAST, "total"),
        ("totalMax", NUMBER, "", Role.AT_MOST, "total"),
        ("created_after", TIME, "", Role.AT_LEAST, "createdat"),
        ("created_before", TIME, "", Role.AT_MOST, "createdat"),
        ("since", TIME, "", Role.AT_LEAST, "createdat"),
        ("end_date", TEXT, "The last date.", Role.AT_MOST, "createdat"),
        ("from_status", TEXT, "", None, "from_status"),
        ("since", TEXT, "A word.", None, "since"),
        ("other__gte", NUMBER, "", None, "other__gte"),
    ],
)
def test_the_name_of_an_input_of_a_list_says_what_it_does(
    name: str, schema: Any, description: str, role: Role | None, target: str
) -> None:
    found = only({name: schema}, description=description)

    assert found is not None
    assert (found.role, found.target) == (role, target)


def test_of_two_times_the_description_chooses() -> None:
    rows = obj(id=TEXT, created_at=TIME, updated_at=TIME)

    unsaid = only({"since": TIME}, rows=rows)
    said = only({"since": TIME}, rows=rows, description="Only orders last updated after this time.")

    assert unsaid is not None
    assert unsaid.role is None
    assert said is not None
    assert (said.role, said.target) == (Role.AT_LEAST, "updatedat")


def test_a_column_called_as_a_page_is_a_column_unless_it_surely_pages() -> None:
    rows = obj(id=TEXT, size=NUMBER, position=TEXT, limit=NUMBER)

    assert [only({name: schema}, rows=rows).role for name, schema in  # type: ignore[union-attr]
            (("size", NUMBER), ("position", TEXT), ("limit", NUMBER))] == [None, None, Role.SIZE]  # fmt: skip


@pytest.mark.parametrize("name", ["api_key", "fields", "$select", "alt", "api-version", "fields[orders]", "locale"])
def test_what_is_about_the_transport_is_no_input(name: str) -> None:
    assert only({name: TEXT}) is None


def test_a_soft_word_is_an_input_when_the_rows_have_it() -> None:
    assert only({"locale": TEXT}, rows=obj(id=TEXT, locale=TEXT)) is not None


def test_twilio_ranges_have_signs() -> None:
    rows = obj(sid=TEXT, date_created=TIME)

    found = call(
        "GET /orders", obj(orders=array(rows)), family=family_named("twilio"),
        query={"DateCreated": TIME, "DateCreated<": TIME, "DateCreated>": TIME},
    )  # fmt: skip

    assert [(each.role, each.target) for each in found.inputs] == [
        (None, "DateCreated"),
        (Role.AT_MOST, "DateCreated"),
        (Role.AT_LEAST, "DateCreated"),
    ]


def test_objects_in_the_query_are_taken_apart() -> None:
    created = {"anyOf": [obj(gte=NUMBER, lt=NUMBER), NUMBER]}

    found = call("GET /orders", obj(data=array(obj(id=TEXT, created=NUMBER))), query={"created": created})

    assert [(each.name, each.role, each.target) for each in found.inputs] == [
        ("created[gte]", Role.AT_LEAST, "created"),
        ("created[lt]", None, "created[lt]"),
    ]


def test_an_input_in_two_spellings_is_one() -> None:
    found = call("GET /orders", ORDERS, query={"max-results": NUMBER, "MaxResults": TEXT})

    assert [each.name for each in found.inputs] == ["max-results"]


def test_inputs_follow_path_query_body() -> None:
    found = call("POST /users/{user}/orders", ORDER, query={"copy": TEXT}, body=obj(("total",), total=NUMBER))

    assert [(each.name, each.place, each.is_required, each.role) for each in found.inputs] == [
        ("user", Place.PATH, True, None),
        ("copy", Place.QUERY, False, None),
        ("total", Place.BODY, True, None),
    ]


def test_bodies_are_unwrapped_and_promoted() -> None:
    azure = call(
        "PUT /subscriptions/{s}/things/{name}", ORDER, family=family_named("azure"),
        body=obj(("properties",), location=TEXT, id={"type": "string", "readOnly": True},
                 properties=obj(("state",), state=TEXT, sku=obj(tier=TEXT))),
    )  # fmt: skip
    asana = call("POST /tasks", ORDER, family=family_named("asana"), body=obj(data=obj(name=TEXT)))
    json_api = call(
        "POST /articles", ORDER, family=family_named("jsonapi"),
        body=obj(data=obj(type=TEXT, attributes=obj(title=TEXT), relationships=obj(author=obj(data=obj(id=TEXT))))),
    )  # fmt: skip
    plain = call("POST /orders", ORDER, body=obj(order=obj(total=NUMBER)))
    nested = call("POST /orders", ORDER, body=obj(filter=obj(total=NUMBER, a=TEXT, b=TEXT, c=TEXT, d=TEXT)))

    assert [(each.path, each.is_required) for each in azure.inputs if each.place is Place.BODY] == [
        (("location",), False),
        (("properties", "state"), True),
        (("properties", "sku", "tier"), False),
    ]
    assert [each.path for each in asana.inputs] == [("name",)]
    assert [each.path for each in json_api.inputs] == [("attributes", "title"), ("relationships", "author")]
    assert [each.path for each in plain.inputs] == [("total",)]
    assert [each.path for each in nested.inputs] == [("filter",)]


def test_a_list_as_body_is_noted() -> None:
    found = call("POST /orders", ORDER, body=array(obj(total=NUMBER)))

    assert found.body_is_list
    assert found.inputs == ()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"body": TEXT}, "unstructured_body"),
        ({"body": array(TEXT)}, "unstructured_body"),
        ({"body": {"type": "object", "additionalProperties": TEXT}}, "unstructured_body"),
        ({"body": {"type": "string", "format": "binary"}}, "binary_or_text_body"),
        ({"body": {}, "body_media": "text/plain"}, "binary_or_text_body"),
        ({"body": obj(file={"type": "string", "format": "binary"})}, "binary_or_text_body"),
        ({"body": array(obj(op=TEXT, path=TEXT, value=TEXT))}, "json_patch_body"),
        ({"body": obj(a=TEXT), "headers": ("X-Colour",)}, "required_header_unknown"),
    ],
)
def test_requests_that_are_no_named_values_are_left_out(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnreadOperationError) as caught:
        call("POST /orders", ORDER, **given)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "header", ["X-Api-Key", "X-Amz-Date", "Authorization", "If-Match", "Accept-Language", "X-VO-Api-Id"]
)
def test_headers_about_the_caller_are_no_inputs(header: str) -> None:
    assert call("GET /orders", ORDERS, headers=(header,), family=PLAIN).inputs == ()
