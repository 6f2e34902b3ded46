"""Plausible values for callers, limits, examples, and what must agree within a row."""

import json
import random  # noqa: TID251 - callers have instances of it
from dataclasses import replace

import numpy as np
import pytest

from environments.core.compile.rows import RowsError, make_scenarios, plausible_argument, plausible_value
from environments.core.compile.rows.naming import joined
from environments.core.compile.semantics import (
    Answer,
    Argument,
    ArgumentRole,
    Blueprint,
    Column,
    ColumnRole,
    Exists,
    ForeignKey,
    Generated,
    Kind,
    Meaning,
    OnDelete,
    PlannedTool,
    Result,
    Table,
    ValueKind,
)
from environments.runtime.schema.compiled import compile_schema
from tests.factories.blueprints import shop

ID = Column("id", ValueKind.TEXT, ("id",), {"type": "string"}, "", ColumnRole.KEY, True, generated=Generated.ID)


def text(name: str, schema=None, **more) -> Column:
    return Column(name, more.pop("kind", ValueKind.TEXT), (name,), schema or {"type": "string"}, **more)


def blueprint_of(noun: str, *columns: Column, family: str = "plain", others: tuple[Table, ...] = ()) -> Blueprint:
    table = Table(f"{noun}s", noun, "", (ID, *columns), ("id",))
    return Blueprint("some_service", "t", "d", "d", "p", family, (table, *others), (), ())


def rows_of(noun: str, *columns: Column, family: str = "plain", level: int = 2):
    return make_scenarios(blueprint_of(noun, *columns, family=family), 3)[level].rows[f"{noun}s"]


# --- For callers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rng", [random.Random(1), np.random.default_rng(1)], ids=["random", "numpy"])
def test_arguments_of_the_shop_fit_their_schemas(rng):
    blueprint = shop()
    seen = 0
    for tool in blueprint.tools:
        for argument in tool.meaning.with_role(ArgumentRole.SET, ArgumentRole.ONE_OF, ArgumentRole.SIZE):
            table = blueprint.table(tool.meaning.table)
            for _ in range(5):
                value = plausible_argument(argument, table, blueprint, rng)
                assert compile_schema(argument.schema).is_valid(value), (tool.name, argument.name, value)
                seen += 1
    assert seen > 50


def test_arguments_keep_to_the_values_of_their_column():
    table = Table("tickets", "ticket", "", (ID, text("state", values=("open", "shut"))), ("id",))
    blueprint = Blueprint("some_service", "t", "d", "d", "p", "plain", (table,), (), ())
    argument = Argument("State", "state", ArgumentRole.SET, {"type": "string"}, "x", False, "state")
    rng = random.Random(0)
    assert {plausible_argument(argument, table, blueprint, rng) for _ in range(30)} == {"open", "shut"}
    assert {plausible_argument(argument, table, blueprint, rng, avoid=("open",)) for _ in range(30)} == {"shut"}


def test_values_avoid_what_they_should():
    blueprint = shop()
    table = blueprint.table("customers")
    column = table.column("name")
    first = plausible_value(column, table, blueprint, random.Random(5))
    second = plausible_value(column, table, blueprint, random.Random(5), avoid=(first,))
    assert first != second
    assert first == plausible_value(column, table, blueprint, random.Random(5))


def test_times_come_in_the_form_of_their_column():
    blueprint = shop()
    orders = blueprint.table("orders")
    rng = random.Random(2)
    assert plausible_value(orders.column("created"), orders, blueprint, rng) > 1_700_000_000
    assert plausible_value(orders.column("updated"), orders, blueprint, rng) > 1_700_000_000_000
    customers = blueprint.table("customers")
    assert plausible_value(customers.column("created_at"), customers, blueprint, rng).endswith("Z")
    assert plausible_value(customers.column("is_active"), customers, blueprint, rng) in (True, False)


# --- Limits -----------------------------------------------------------------------------------------------------------


def test_a_required_column_without_any_value_is_named():
    with pytest.raises(RowsError) as caught:
        rows_of("ticket", text("odd", {"type": "string", "pattern": "^a$", "minLength": 5}, is_required=True))
    assert (caught.value.table, caught.value.column) == ("tickets", "odd")
    rows = rows_of("ticket", text("odd", {"type": "string", "pattern": "^a$", "minLength": 5}))
    assert {row["odd"] for row in rows} == {None}


def test_patterns_are_met_by_names_where_they_can_be():
    column = text("name", {"type": "string", "pattern": "^[a-z][a-z0-9-]{1,30}$"}, is_required=True)
    names = [row["name"] for row in rows_of("campaign", column)]
    assert "spring-newsletter" in names


def test_short_columns_get_short_texts():
    for most in (1, 2, 3, 8, 20):
        column = text("title", {"type": "string", "maxLength": most}, is_required=True)
        for level in range(4):
            assert all(0 < len(row["title"]) <= most for row in rows_of("album", column, level=level))


# --- Examples ---------------------------------------------------------------------------------------------------------


def test_examples_are_used_and_varied():
    column = text("tier", {"type": "string", "example": "premium"}, is_required=True)
    assert {row["tier"] for row in rows_of("album", column)} >= {"premium", "basic"}
    column = text("cadence_word", {"type": "string", "examples": ["DAILY"]}, is_required=True)
    assert {row["cadence_word"] for row in rows_of("album", column)} >= {"DAILY", "WEEKLY"}


@pytest.mark.parametrize("example", ["string", "foo", "<name>", "{id}", "tier", "x" * 400])
def test_examples_that_say_nothing_are_not_used(example):
    column = text("tier", {"type": "string", "example": example}, is_required=True)
    assert example not in {row["tier"] for row in rows_of("album", column)}


def test_words_that_a_description_lists_are_used():
    words = "How it is sent. One of `pigeon`, `drum` or `smoke`."
    column = text("carriage", description=words, is_required=True)
    assert {row["carriage"] for row in rows_of("album", column)} == {"pigeon", "drum", "smoke"}


def test_ids_are_like_the_documents_example():
    key = replace(ID, schema={"type": "string", "example": "cus_NffrFeUfNV2Hib"})
    table = Table("customers", "customer", "", (key,), ("id",))
    rows = make_scenarios(Blueprint("b", "t", "d", "d", "p", "stripe", (table,), (), ()), 1)[1].rows["customers"]
    assert all(row["id"].startswith("cus_") for row in rows)


# --- What must agree --------------------------------------------------------------------------------------------------


def test_parts_of_an_address_are_of_one_place():
    columns = [text(name, is_required=True) for name in ("billing_city", "billing_country", "billing_zip", "city")]
    by_city = {}
    for row in rows_of("customer", *columns):
        by_city.setdefault(row["billing_city"], set()).add((row["billing_country"], row["billing_zip"]))
    assert len(by_city) > 3
    assert all(len(found) == 1 for found in by_city.values())


def test_lesser_columns_are_not_greater():
    columns = [
        text("min_price", {"type": "number"}, kind=ValueKind.REAL, is_required=True),
        text("max_price", {"type": "number"}, kind=ValueKind.REAL, is_required=True),
        text("start_date", {"type": "string"}, kind=ValueKind.DATE, is_required=True),
        text("end_date", {"type": "string"}, kind=ValueKind.DATE, is_required=True),
        text("created", {"type": "string"}, kind=ValueKind.TIME, is_required=True),
        text("expires_at", {"type": "string"}, kind=ValueKind.TIME, is_required=True),
        text("completed_at", {"type": "string"}, kind=ValueKind.TIME, is_required=True),
    ]
    for level in range(4):
        for row in rows_of("coupon", *columns, level=level):
            assert row["min_price"] <= row["max_price"]
            assert row["start_date"] <= row["end_date"]
            assert row["created"] < row["expires_at"]
            assert row["completed_at"] <= "2026-03-02T09:00:00Z"


def test_counts_are_of_the_children_that_are_there():
    counts = [text(name, {"type": "integer"}, kind=ValueKind.INTEGER) for name in ("track_count", "num_open_tracks")]
    parent = Table("albums", "album", "", (ID, *counts), ("id",))
    child = Table(
        "tracks", "track", "", (ID, text("album_id", is_required=True)), ("id",),
        (ForeignKey(("album_id",), "albums", ("id",), OnDelete.CASCADE),),
    )  # fmt: skip
    blueprint = Blueprint("music", "t", "d", "d", "p", "plain", (parent, child), (), ())
    for scenario in make_scenarios(blueprint, 1):
        owners = [row["album_id"] for row in scenario.rows["tracks"]]
        assert all(row["track_count"] == owners.count(row["id"]) for row in scenario.rows["albums"])


def test_a_time_of_a_state_is_there_in_that_state_only():
    columns = [
        text("status", {"type": "string"}, role=ColumnRole.STATUS, values=("open", "cancelled"), is_required=True),
        text("cancelled_at", {"type": "string"}, kind=ValueKind.TIME),
    ]
    rows = rows_of("booking", *columns)
    assert {row["status"] for row in rows} == {"open", "cancelled"}
    assert all(row["cancelled_at"] is None for row in rows if row["status"] == "open")
    assert any(row["cancelled_at"] is not None for row in rows if row["status"] == "cancelled")


def test_nested_objects_agree_and_fit():
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "country": {"type": "string"}, "ratio": {"maximum": 1}},
        "required": ["city", "country"],
        "additionalProperties": False,
    }  # fmt: skip
    column = text("address", schema, kind=ValueKind.JSON, is_required=True)
    by_city = {}
    for row in rows_of("customer", column):
        value = json.loads(row["address"])
        assert compile_schema(schema).is_valid(value)
        by_city.setdefault(value["city"], set()).add(value["country"])
    assert all(len(found) == 1 for found in by_city.values())


@pytest.mark.parametrize(
    ("family", "region"), [("azure", "westeurope"), ("aws", "us-east-1"), ("google", "europe-west1")]
)
def test_regions_are_of_the_one_provider(family, region):
    rows = rows_of("cluster", text("region", is_required=True), text("name", is_required=True), family=family)
    assert region in {row["region"] for row in rows}
    assert all(("-" in row["region"]) == (family != "azure") for row in rows)
    assert all(row["name"] == row["name"].lower() for row in rows)


def test_arns_name_the_service_and_the_thing():
    rows = rows_of("cluster", text("cluster_arn", is_required=True), text("name", is_required=True), family="aws")
    assert all(row["cluster_arn"].startswith("arn:aws:some:us-east-1:") for row in rows)
    assert all(row["cluster_arn"].endswith(f"/{row['name']}") for row in rows)


def test_silent_names_are_read_as_they_stand():
    rows = rows_of("cluster", text("accelerator_nanoble", is_required=True), family="aws")
    assert all(row["accelerator_nanoble"].endswith("accelerator-nanoble") for row in rows)
    assert len({row["accelerator_nanoble"] for row in rows}) > 3


def test_times_in_text_columns_are_times():
    columns = [text(name, is_required=True) for name in ("date", "deleted", "created_date_utc", "event_timestamp")]
    for row in rows_of("invoice", *columns):
        assert all(row[name].startswith("202") and row[name][4] == "-" for name in ("date", "deleted"))
        assert len(row["created_date_utc"]) == 10
        assert row["event_timestamp"].endswith("Z")


def test_paths_of_google_name_projects():
    rows = rows_of("widget", text("parent", is_required=True), text("project", is_required=True), family="google")
    assert all(row["parent"].startswith("projects/") and row["project"].count("-") == 1 for row in rows)


# --- What tools ask of keys and sizes ---------------------------------------------------------------------------------


def test_rows_have_keys_that_arguments_may_name():
    own = Column("code", ValueKind.TEXT, ("code",), {"type": "string"}, "", ColumnRole.KEY, True)
    parts = Table("parts", "part", "", (own,), ("code",))
    key = ForeignKey(("part_code",), "parts", ("code",), OnDelete.SET_NULL)
    form = {"type": "string", "pattern": "^p-[0-9]{5}$", "minLength": 7, "maxLength": 7}
    named = Argument("partCode", "part_code", ArgumentRole.SET, form, "The part.", True, "part_code")
    orders = Table("orders", "order", "", (ID, text("part_code")), ("id",), (key,))
    check = Exists("part_not_found", "parts", (("code", "partCode"),))
    meaning = Meaning(Kind.CREATE, "orders", (named,), (check,), Result(Answer.NOTHING))
    tool = PlannedTool("create_order", "Create order", "Creates an order.", meaning, "s", "POST /orders")
    blueprint = Blueprint("some_service", "t", "d", "d", "p", "plain", (parts, orders), (tool,), ())

    fits = compile_schema(form).is_valid
    for scenario in make_scenarios(blueprint, 3):
        assert all(fits(row["code"]) for row in scenario.rows["parts"])
        assert all(row["part_code"] is None or fits(row["part_code"]) for row in scenario.rows["orders"])
    without = replace(blueprint, tools=())
    assert not any(fits(row["code"]) for row in make_scenarios(without, 3)[2].rows["parts"])


def test_form_that_no_text_has_is_left_out():
    form = {"minLength": 4, "maxLength": 9}
    assert joined({"type": "string", "pattern": "^[a-z]+$"}, [{"pattern": "^[0-9]+$", **form}, {"maxLength": 5}]) == {
        "type": "string",
        "pattern": "^[0-9]+$",
        "minLength": 4,
        "maxLength": 5,
        "allOf": [{"pattern": "^[a-z]+$"}],
    }


def test_nested_values_are_no_longer_than_a_page_of_rows_allows():
    member = {"type": "object", "properties": {f"part_{n}": {"type": "string", "minLength": 60} for n in range(40)}}
    listed = {"type": "array", "items": member, "minItems": 2}
    column = text(
        "details", {"type": "object", "properties": {"rows": listed, "id": {"type": "integer"}}}, kind=ValueKind.JSON
    )
    rows = rows_of("record", column)
    sizes = [len(row["details"]) for row in rows if row["details"] is not None]

    assert max(sizes) <= 1_500
    needed = text("details", {**column.schema, "required": ["rows"]}, kind=ValueKind.JSON)
    for row in rows_of("record", needed):
        assert row["details"] is None or len(json.loads(row["details"])["rows"]) >= 2


def test_value_is_none_of_those_to_avoid():
    column = text("code", {"type": "string", "pattern": "^[a-z0-9-]{3,30}$"})
    blueprint = blueprint_of("thing", column)
    rng = np.random.default_rng(4)
    seen: list[str] = []
    for _ in range(30):
        seen.append(plausible_value(column, blueprint.tables[0], blueprint, rng, avoid=seen))
    assert len(set(seen)) == 30
