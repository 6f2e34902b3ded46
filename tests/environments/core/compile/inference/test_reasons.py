"""Every reason that inference has is given by some small document."""

from typing import Any

import pytest

from environments.core.compile.inference import compile_operations
from environments.core.compile.inference.reasons import INFERENCE_REASONS
from tests.environments.core.compile.inference.consistency import faults_of
from tests.environments.core.compile.inference.documents import (
    NUMBER,
    TEXT,
    array,
    crud,
    enum,
    obj,
    op,
    reasons,
    ref,
    sourced,
)

ORDER = obj(("id", "name"), id=TEXT, name=TEXT, note=TEXT, total=NUMBER)
SHELF = obj(("name",), name=TEXT, width=NUMBER)
SHOP = obj(("id", "name"), id=TEXT, name=TEXT, city=TEXT)
SCHEMAS = {"Order": ORDER, "Shelf": SHELF, "Shop": SHOP, "User": obj(("id", "name"), id=TEXT, name=TEXT, email=TEXT)}

ORDERS = crud("/orders", ref("Order"))
SHELVES = {
    **crud("/shops", ref("Shop"), key="shop_id"),
    **crud("/shops/{shop_id}/shelves", ref("Shelf"), obj(("name",), name=TEXT, width=NUMBER), key="name"),
}
TEAMS = crud("/teams", obj(("id", "name"), id=TEXT, name=TEXT, motto=TEXT), key="team_id")
PAIRS = {
    **TEAMS,
    **crud("/users", ref("User"), key="user_id"),
    "PUT /teams/{team_id}/users/{user_id}": op(status="204"),
    "DELETE /teams/{team_id}/users/{user_id}": op(status="204"),
    "GET /teams/{team_id}/users": op(array(ref("User"))),
}

ROW, ROWS = ref("Order"), array(ref("Order"))
CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    # (reason, operation, the operation itself, the others)
    ("action_without_resource", "POST /rockets/{id}/start", op(status="204"), ORDERS),
    ("body_unlike_resource", "POST /orders", op(ROW, body=obj(a=TEXT, b=TEXT, name=TEXT)), ORDERS),
    ("bulk_delete", "DELETE /orders", op(status="204"), ORDERS),
    ("bulk_operation", "POST /orders", op(ROW, body=array(obj(name=TEXT))), ORDERS),
    ("count_without_number", "GET /orders/count", op(ROW), ORDERS),
    ("create_without_fields", "POST /orders", op(ROW), ORDERS),
    ("duplicate_meaning", "GET /orders/search", op(ROWS), ORDERS),
    ("environment_read_only", "GET /orders", op(ROWS), {"GET /orders/{id}": op(ROW)}),
    ("environment_too_small", "GET /orders", op(ROWS), {"DELETE /orders/{id}": op(status="204")}),
    ("get_gives_rows", "GET /orders/{id}", op(ROWS), ORDERS),
    ("get_without_row", "GET /orders/{id}", op(), ORDERS),
    ("item_without_row_meaning", "POST /orders/{id}", op(ROW, body=obj(name=TEXT), name="CreateOrder"), ORDERS),
    ("key_argument_unknown", "POST /orders/delete", op(status="204"), ORDERS),
    ("key_incomplete", "POST /shelves/delete", op(status="204", body=obj(("name",), name=TEXT)),
     SHELVES | {"GET /shelves": op(array(ref("Shelf")))}),
    ("key_not_given", "POST /stores", op(SHELF, body=obj(width=NUMBER)), crud("/stores", SHELF, key="name")),
    ("key_parameter_differs", "GET /orders/{team_id}", op(ROW),
     {**TEAMS, **{key: ORDERS[key] for key in ORDERS if key != "GET /orders/{id}"}}),
    ("list_without_rows", "GET /orders/search", op(ROW), ORDERS),
    ("no_state_for_verb", "POST /orders/{id}/cancel", op(ROW), ORDERS),
    ("pair_ends_unknown", "PUT /teams/{team_id}/badges/{badge}", op(status="204"),
     TEAMS | {"DELETE /teams/{team_id}/badges/{badge}": op(status="204")}),
    ("pair_without_meaning", "GET /teams/{team_id}/users/{user_id}", op(ref("User")), PAIRS),
    ("path_parameter_twice", "GET /shops/{id}/shelves/{id}", op(ref("Shelf")), SHELVES),
    ("path_parameter_unplaced", "GET /orders/name/{name}", op(ROW), ORDERS),
    ("post_on_item", "POST /orders/{id}", op(ROW, body=obj(name=TEXT)), ORDERS),
    ("put_on_collection", "PUT /orders", op(ROW, body=obj(name=TEXT)), ORDERS),
    ("read_only_singleton", "GET /shops/{shop_id}/profile", op(obj(id=TEXT, colour=TEXT, mood=TEXT)), SHELVES),
    ("relation_unknown", "GET /teams/{team_id}/orders", op(ROWS), TEAMS | ORDERS),
    ("required_parameter_unknown", "GET /orders", op(ROWS, query={"x": TEXT}, required=("x",)), ORDERS),
    ("resource_has_no_key", "GET /moods", op(array(obj(colour=TEXT, depth=NUMBER))), ORDERS),
    ("resource_has_no_schema", "GET /moods", op(array(obj(colour=TEXT))), ORDERS),
    ("resource_never_read", "POST /quotes", op(ref("Shop"), body=obj(name=TEXT, city=TEXT)), ORDERS),
    ("response_unlike_resource", "PATCH /orders/{id}", op(obj(id=TEXT, a=TEXT, b=TEXT, c=TEXT), body=obj(name=TEXT)),
     ORDERS),
    ("response_without_schema", "GET /orders", op(), ORDERS),
    ("scope_not_given", "POST /shelves", op(ref("Shelf"), body=obj(("name",), name=TEXT, width=NUMBER)), SHELVES),
    ("update_without_fields", "PATCH /orders/{id}", op(ROW), ORDERS),
    ("view_of_other_table", "GET /backlog", op(ROWS), ORDERS),
]  # fmt: skip
PROVIDERS = {"item_without_row_meaning": "amazonaws.com"}


@pytest.mark.parametrize(("code", "key", "operation", "others"), CASES, ids=[each[0] for each in CASES])
def test_an_operation_is_left_out_with_its_reason_when_its_meaning_is_not_certain(
    code: str, key: str, operation: dict[str, Any], others: dict[str, Any]
) -> None:
    given = sourced(others | {key: operation}, SCHEMAS, provider=PROVIDERS.get(code, "shop.example"))

    made = compile_operations(given)

    assert reasons(made).get(key) == code
    assert faults_of(made, given) == []


def test_an_operation_is_left_out_when_a_newer_version_of_its_api_is_there() -> None:
    old = sourced(ORDERS, SCHEMAS, version="1.0.0", address="https://shop.example/v1.json")
    new = sourced(ORDERS, SCHEMAS, version="2.0.0", address="https://shop.example/v2.json")

    made = compile_operations([*old, *new])

    assert {(each.source, each.reason) for each in made.left_out} == {(old[0].facts.sha256, "older_version")}
    assert made.left_out[0].detail == "Shop 2.0.0"


def test_no_reason_stands_there_when_nothing_gives_it() -> None:
    assert {code for code, *_ in CASES} | {"older_version"} == set(INFERENCE_REASONS)


def test_reasons_are_sentences_when_people_read_them() -> None:
    assert all(sentence.endswith(".") and len(sentence) < 100 for sentence in INFERENCE_REASONS.values())
    assert list(INFERENCE_REASONS) == sorted(INFERENCE_REASONS)


def test_a_detail_names_the_culprit_when_a_parameter_is_one() -> None:
    paths = ORDERS | {"GET /orders": op(ROWS, query={"x": enum("a", "b")}, required=("x",))}
    paths |= {"GET /orders/search": op(ROWS)}

    made = compile_operations(sourced(paths, SCHEMAS))

    assert [(each.reason, each.detail) for each in made.left_out] == [("required_parameter_unknown", "x")]
