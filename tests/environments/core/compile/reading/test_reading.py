from typing import Any

import pytest

from environments.core.compile.reading.calls import Act, Form
from environments.core.compile.reading.families import FAMILIES, PLAIN, family_named, family_of
from environments.core.compile.reading.reading import UnreadOperationError
from environments.core.compile.reading.reasons import READING_REASONS
from environments.core.compile.reading.verbs import ACTIONS, CRUD_WORDS, VERB_FORMS
from environments.core.compile.reading.vocabulary import TRANSITIONS
from environments.core.compile.semantics import ArgumentRole
from tests.environments.core.compile.reading.operations import NUMBER, ORDER, TEXT, array, call, obj, operation


def test_a_call_holds_all_that_an_operation_says() -> None:
    found = call(
        "GET /v1/shops/{shop}/orders", obj(orders=array(ORDER), total=NUMBER),
        query={"status": TEXT, "limit": NUMBER, "api_key": TEXT},
    )  # fmt: skip

    assert (found.method, found.act, found.noun, found.literals) == (
        "GET",
        Act.COLLECTION,
        "order",
        ("shops", "orders"),
    )
    assert [(each.name, each.role) for each in found.inputs] == [
        ("shop", None),
        ("status", None),
        ("limit", ArgumentRole.SIZE),
    ]
    assert (found.envelope.form, found.envelope.place) == (Form.ROWS, ("orders",))


def test_a_value_of_the_rows_in_the_path_is_a_filter() -> None:
    rows = call("GET /orders/status/{status}", array(ORDER))
    row = call("GET /orders/id/{id}", ORDER)
    other = call("GET /orders/items/{item}", array(obj(id=TEXT, name=TEXT)))

    assert (rows.literals, rows.act, [each.name for each in rows.inputs]) == (("orders",), Act.LIST, ["status"])
    assert (row.literals, row.act) == (("orders",), Act.GET)
    assert other.literals == ("orders", "items")


def test_a_format_at_the_end_of_a_path_is_no_input() -> None:
    found = call("GET /orders/{id}.{output_format}", ORDER)

    assert (found.steps[-1].parameter, [each.name for each in found.inputs]) == ("id", ["id"])


def test_lists_of_keys_belong_to_the_collection() -> None:
    assert call("GET /skus/ids", array(TEXT)).literals == ("skus",)
    assert call("GET /skus/ids", array(ORDER)).literals == ("skus", "ids")


@pytest.mark.parametrize(
    ("given", "creates"),
    [
        ({"status": "201"}, True),
        ({"name": "Things_CreateOrUpdate"}, True),
        ({"title": "Add or update membership"}, True),
        ({"title": "Create a thing"}, True),
        ({"description": "Creates the thing if it does not exist."}, True),
        ({"title": "Update a thing", "description": "Create a new thing."}, False),
        ({"title": "Update the address of a created thing"}, False),
        ({"description": "Replaces a thing. Use POST to create one."}, False),
        ({"name": "put_things_by_id"}, False),
    ],
)
def test_a_put_creates_when_the_document_says_so(given: dict[str, str], creates: bool) -> None:
    status = given.pop("status", "200")
    assert call("PUT /things/{id}", ORDER, body=obj(a=TEXT), status=status, **given).creates is creates


def test_aws_puts_make_or_replace() -> None:
    found = call("PUT /things/{id}", ORDER, name="PutThing", family=family_named("aws"), body=obj(a=TEXT))

    assert (found.act, found.creates) == (Act.REPLACE, True)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"key": "GET /orders", "answer": array(ORDER), "is_deprecated": True}, "deprecated"),
        ({"key": "GET /orders/{id}/file", "answer": TEXT, "media": "text/csv"}, "non_json_response"),
        ({"key": "GET /orders/{id}/pdf", "answer": {"type": "string", "format": "binary"}}, "non_json_response"),
        ({"key": "GET /#Action=ListX", "answer": ORDER, "name": "GET_ListX", "family": family_named("aws")},
         "duplicate_of_post_form"),
        ({"key": "GET /providers/Microsoft.Web/operations", "answer": ORDER, "name": "Operations_List",
          "family": family_named("azure")}, "api_operations_list"),
        ({"key": "POST /v1/{resource}:setIamPolicy", "answer": ORDER, "name": "x.projects.topics.setIamPolicy",
          "family": family_named("google")}, "access_policy"),
    ],
)  # fmt: skip
def test_an_operation_that_is_about_no_row_is_left_out(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnreadOperationError) as caught:
        call(given.pop("key"), given.pop("answer"), **given)
    assert caught.value.reason == reason


def test_every_reason_of_a_family_is_explained() -> None:
    assert {each.reason for family in FAMILIES for each in family.leave_out} <= READING_REASONS.keys()
    assert all(text.endswith(".") for text in READING_REASONS.values())


# --- Families ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "operations", "name"),
    [
        ("azure.com", [operation("GET /things")], "azure"),
        ("example.com", [operation("GET /subscriptions/{s}/providers/Microsoft.X/things")], "azure"),
        ("microsoft.com", [operation("GET /users/{user-id}/messages")], "graph"),
        ("example.com", [operation("GET /v1/{name}")], "google"),
        ("example.com", [operation("GET /things", query={"size__gte": NUMBER})], "drf"),
        ("example.com", [operation("GET /things", ORDER, media="application/vnd.api+json")], "jsonapi"),
        ("example.com", [operation("GET /api/v1/namespaces/{namespace}/pods")], "kubernetes"),
        ("example.com", [operation("GET /things")] * 4 + [operation("GET /v1/{name}")], "plain"),
        ("example.com", [], "plain"),
    ],
)
def test_a_family_is_known_by_its_provider_or_its_marks(provider: str, operations: list[Any], name: str) -> None:
    assert family_of(provider, operations).name == name


def test_json_api_rows_are_known_whatever_the_media_type() -> None:
    row = obj(id=TEXT, type=TEXT, attributes=obj(name=TEXT))

    assert family_of("example.com", [operation("GET /things", obj(data=array(row)))]).name == "jsonapi"
    assert family_of("example.com", [operation("GET /things/{id}", obj(data=row))]).name == "jsonapi"
    assert family_of("example.com", [operation("GET /things/{id}", row)]).name == "plain"


def test_drf_answers_are_known_behind_a_reference() -> None:
    page = obj(count=NUMBER, next=TEXT, previous=TEXT, results=array(ORDER))

    found = family_of("example.com", [operation("GET /things", {"$ref": "#/definitions/Page"})], {"Page": page})

    assert found.name == "drf"


def test_families_have_names_of_their_own() -> None:
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
    assert family_named("plain") is PLAIN


# --- Tables of words --------------------------------------------------------------------------------------------------


def test_transitions_name_states_and_opposites() -> None:
    for verb, transition in TRANSITIONS.items():
        assert transition.targets, verb
        assert not set(transition.targets) & set(transition.origins), verb
        assert not transition.opposite or transition.opposite in TRANSITIONS, verb
        assert all(word.isalnum() and word == word.lower() for word in (*transition.targets, *transition.origins)), verb


def test_a_verb_stands_in_one_table_of_the_path() -> None:
    assert not TRANSITIONS.keys() & CRUD_WORDS.keys()
    assert all(not plain or plain in TRANSITIONS for plain in VERB_FORMS.values())
    assert not VERB_FORMS.keys() & TRANSITIONS.keys()
    assert not ACTIONS & CRUD_WORDS.keys()
