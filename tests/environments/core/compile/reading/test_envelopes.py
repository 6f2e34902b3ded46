from typing import Any

import pytest

from environments.core.compile.reading.calls import Envelope, Form
from environments.core.compile.reading.families import family_named
from environments.core.compile.semantics import PageFact
from tests.environments.core.compile.reading.operations import NUMBER, ORDER, TEXT, array, call, obj

ORDERS = array(ORDER)
FLAG = {"type": "boolean"}
DATA: dict[str, Any] = {"kind": {"type": "string", "default": "shop#orders"}}


def envelope(key: str, answer: Any, **given: Any) -> Envelope:
    return call(key, answer, **given).envelope


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        (ORDERS, ()),
        (obj(data=ORDERS), ("data",)),
        (obj(value=ORDERS, nextLink=TEXT), ("value",)),
        (obj(items=ORDERS, nextPageToken=TEXT, kind=TEXT, id=TEXT), ("items",)),
        (obj(Orders=ORDERS, NextToken=TEXT), ("Orders",)),
        (obj(count=NUMBER, next=TEXT, previous=TEXT, results=ORDERS), ("results",)),
        (obj(status_code=NUMBER, status_reason=TEXT, result=ORDERS), ("result",)),
        (obj(status_code=NUMBER, result=obj(items=ORDERS, total=NUMBER)), ("result", "items")),
        (obj(_embedded=obj(orders=ORDERS), _links=obj(), page=obj(number=NUMBER)), ("_embedded", "orders")),
        (obj(customerOrders=ORDERS), ("customerOrders",)),
        (obj(orders=ORDERS, users=array(obj(id=TEXT, name=TEXT))), ()),
    ],
)
def test_rows_are_found_under_every_envelope(answer: Any, place: tuple[str, ...]) -> None:
    found = envelope("GET /orders", answer)

    if not place and answer is not ORDERS:
        assert found.form is Form.OTHER  # two lists: which one is meant, nobody says
        return
    assert (found.form, found.place) == (Form.ROWS, place)
    assert found.entity is not None
    assert list(found.entity.properties) == list(ORDER["properties"])


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        (ORDER, ()),
        (obj(order=ORDER), ("order",)),
        (obj(data=ORDER, meta=obj()), ("data",)),
        (obj(Order=ORDER, RequestId=TEXT), ("Order",)),
        (obj(status=TEXT, message=TEXT, result=ORDER), ("result",)),
        (obj(status=TEXT, message=TEXT, address=obj(street=TEXT, city=TEXT)), ()),
        (obj(id=TEXT, items=array(obj(sku=TEXT, amount=NUMBER))), ()),
        (obj(order_id=TEXT, data=obj(a=TEXT, b=TEXT)), ()),
    ],
)
def test_a_row_is_found_under_every_envelope(answer: Any, place: tuple[str, ...]) -> None:
    found = envelope("GET /orders/{id}", answer)

    assert (found.form, found.place, found.one_in_list) == (Form.ROW, place, False)


def test_a_single_row_in_a_list_is_a_row() -> None:
    found = envelope("GET /orders/{id}", obj(orders=ORDERS))

    assert (found.form, found.place, found.one_in_list) == (Form.ROW, ("orders",), True)


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("GET /playlists/{id}", obj(items=ORDERS, total=NUMBER)),
        ("GET /playlists/{id}", obj(items=ORDERS)),
        ("POST /orders", obj(orders=ORDERS)),
    ],
)
def test_a_list_is_no_single_row_when_it_pages_or_another_thing_was_asked(key: str, answer: Any) -> None:
    found = envelope(key, answer)

    assert (found.form, found.one_in_list) == (Form.ROWS, False)


@pytest.mark.parametrize(
    ("key", "answer", "form"),
    [
        ("DELETE /orders/{id}", None, Form.EMPTY),
        ("DELETE /orders/{id}", obj(), Form.EMPTY),
        ("DELETE /orders/{id}", obj(data=obj()), Form.EMPTY),
        ("DELETE /orders/{id}", obj(success=FLAG, message=TEXT), Form.EMPTY),
        ("GET /orders/count", NUMBER, Form.NUMBER),
        ("GET /orders/count", obj(count=NUMBER), Form.NUMBER),
        ("GET /tags", array(TEXT), Form.SCALARS),
        ("GET /tags", obj(tags=array(TEXT), NextToken=TEXT), Form.SCALARS),
        ("GET /orders", array(obj(order=ORDER)), Form.OTHER),
        ("GET /orders", array(array(TEXT)), Form.OTHER),
        ("GET /orders", {"type": "object", "additionalProperties": ORDER}, Form.OTHER),
        ("GET /orders", {"type": "boolean"}, Form.OTHER),
    ],
)
def test_other_answers_have_their_form(key: str, answer: Any, form: Form) -> None:
    assert envelope(key, answer).form is form


def test_a_bare_202_is_a_job() -> None:
    assert envelope("POST /orders", None, body=obj(a=TEXT), status="202").form is Form.JOB


def test_google_operations_are_jobs_unless_they_are_the_resource() -> None:
    google = family_named("google")
    job = obj(name=TEXT, done=FLAG, response=obj(), error=obj(code=NUMBER))
    definitions = {"Operation": job}
    answer = {"$ref": "#/definitions/Operation"}

    made = envelope(
        "POST /v1/{parent}/topics", answer, name="x.projects.topics.create", family=google, definitions=definitions
    )
    read = envelope("GET /v1/{name}", answer, name="x.projects.operations.get", family=google, definitions=definitions)

    assert (made.form, read.form) == (Form.JOB, Form.ROW)


def test_page_facts_and_constants_stand_beside_the_rows() -> None:
    answer = obj(
        data=ORDERS,
        success=FLAG,
        object={"type": "string", "enum": ["list"]},
        error=FLAG,
        code=NUMBER,
        has_more=FLAG,
        meta=obj(pagination=obj(total=NUMBER, per_page=NUMBER, current_page=NUMBER, total_pages=NUMBER, next=TEXT)),
        next_cursor=TEXT,
    )

    found = envelope("GET /orders", answer)

    assert dict(found.page_facts) == {
        ("has_more",): PageFact.HAS_MORE,
        ("meta", "pagination", "total"): PageFact.TOTAL,
        ("meta", "pagination", "per_page"): PageFact.SIZE,
        ("meta", "pagination", "current_page"): PageFact.PAGE,
        ("meta", "pagination", "total_pages"): PageFact.NUM_PAGES,
        ("next_cursor",): PageFact.NEXT_CURSOR,
    }
    assert dict(found.constants) == {("success",): True, ("object",): "list", ("error",): False, ("code",): 200}


def test_a_bare_count_is_of_all_rows_only_when_nothing_pages() -> None:
    answer = obj(orders=ORDERS, count=NUMBER)
    told = obj(orders=ORDERS, count={"type": "integer", "description": "Total number of orders."})

    assert envelope("GET /orders", answer).page_facts == ((("count",), PageFact.TOTAL),)
    assert envelope("GET /orders", answer, query={"page": NUMBER}).page_facts == ()
    assert envelope("GET /orders", told, query={"page": NUMBER}).page_facts == ((("count",), PageFact.TOTAL),)


def test_totals_may_name_what_they_count() -> None:
    found = envelope("GET /orders", obj(orders=ORDERS, num_orders=NUMBER), query={"page": NUMBER})

    assert found.page_facts == ((("num_orders",), PageFact.TOTAL),)


def test_links_to_the_next_page_are_no_cursors() -> None:
    answer = obj(orders=ORDERS, after={"type": "string", "format": "uri"})

    assert envelope("GET /orders", answer).page_facts == ()


def test_json_api_rows_stand_under_data() -> None:
    row = obj(id=TEXT, type=TEXT, attributes=obj(name=TEXT), relationships=obj(), links=obj())
    answer = obj(data=array(row), included=array(obj(id=TEXT, type=TEXT)), links=obj(next=TEXT))

    found = envelope("GET /articles", answer, family=family_named("jsonapi"))

    assert (found.form, found.place) == (Form.ROWS, ("data",))
