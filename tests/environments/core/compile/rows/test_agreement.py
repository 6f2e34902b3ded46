"""What rows must say alike: scopes of parents, times, limits, labels, names of other tables, and stated forms."""

import re
from dataclasses import replace

import pytest

from environments.core.compile.rows import make_scenarios
from environments.core.compile.rows.copies import copies_of
from environments.core.compile.rows.events import event_of, is_before
from environments.core.compile.rows.senses import Sense, sense_of, tokens_of
from environments.core.compile.rows.stated import listed_values, stated_shape
from environments.core.compile.semantics import (
    Answer,
    Argument,
    ArgumentRole,
    Blueprint,
    Column,
    ColumnRole,
    Exists,
    ForeignKey,
    Kind,
    Meaning,
    OnDelete,
    PlannedTool,
    Result,
    Table,
    ValueKind,
)
from tests.environments.core.compile.rows.constraints import faults
from tests.environments.core.compile.rows.test_values import ID, blueprint_of, rows_of, text

SCOPE = {"role": ColumnRole.SCOPE, "is_required": True}


def _argument(name: str, role: ArgumentRole) -> Argument:
    return Argument(name, name, role, {"type": "string"}, "x", True, name)


def _releases(*, is_in_key: bool = False, is_nullable: bool = False) -> Blueprint:
    deployments = Table("deployments", "deployment", "", (ID, text("project", **SCOPE)), ("id",))
    link = text("deployment_id", is_required=not is_nullable)
    releases = Table(
        "releases",
        "release",
        "",
        (text("project", **SCOPE), link, ID),
        ("project", "id") if is_in_key else ("id",),
        (ForeignKey(("deployment_id",), "deployments", ("id",), OnDelete.CASCADE),),
    )
    arguments = (_argument("project", ArgumentRole.SCOPE), _argument("deployment_id", ArgumentRole.SCOPE))
    check = Exists("deployment_not_found", "deployments", (("project", "project"), ("id", "deployment_id")))
    releases_tool = Meaning(Kind.LIST, "releases", arguments, (check,), Result(Answer.ROWS, ("data",)), page_size=20)
    listing = Meaning(Kind.LIST, "deployments", arguments[:1], (), Result(Answer.ROWS, ("data",)), page_size=20)
    tools = (
        PlannedTool("deployments_list", "t", "d", listing, "s", "o"),
        PlannedTool("releases_list", "t", "d", releases_tool, "s", "o"),
    )
    return Blueprint("some_service", "t", "d", "d", "p", "plain", (deployments, releases), tools, ())


# --- Parents ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_in_key", [False, True])
@pytest.mark.parametrize("is_nullable", [False, True])
def test_children_are_in_the_scope_of_their_parents(is_in_key, is_nullable):
    blueprint = _releases(is_in_key=is_in_key, is_nullable=is_nullable)
    assert list(copies_of(blueprint.tables[1], blueprint).values()) == [(("project", "project"),)]
    for seed in range(6):
        for scenario in make_scenarios(blueprint, seed):
            assert faults(blueprint, scenario) == []
            scopes = {row["id"]: row["project"] for row in scenario.rows["deployments"]}
            rows = scenario.rows["releases"]
            assert rows or scenario.name == "boundary"
            assert all(row["project"] == scopes.get(row["deployment_id"], row["project"]) for row in rows)
            if scenario.name == "complex":
                assert len({row["project"] for row in rows}) > 1, "a near miss in another project"


def test_nothing_is_repeated_without_a_check_of_both():
    blueprint = _releases()
    bare = tuple(replace(tool, meaning=replace(tool.meaning, checks=())) for tool in blueprint.tools)
    assert not copies_of(blueprint.tables[1], replace(blueprint, tools=bare))


# --- Texts ------------------------------------------------------------------------------------------------------------


def test_texts_hold_plain_numbers():
    for name in ("file_size", "total_bytes", "latency", "score"):
        for row in rows_of("file", text(name, is_required=True)):
            assert re.fullmatch(r"\d+(\.\d{1,4})?", row[name]), (name, row[name])


def test_sizes_of_machines_are_words_and_those_of_files_are_numbers():
    assert {row["vm_size"] for row in rows_of("pool", text("vm_size", is_required=True))} <= {
        "small",
        "medium",
        "large",
    }
    azure = rows_of("machine", text("size", is_required=True), family="azure")
    assert all(row["size"].startswith("Standard_") for row in azure)
    assert all(row["size"].isdigit() for row in rows_of("file", text("size", is_required=True)))


# --- Times ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("created_date_time", "last_updated_date"), ("createdDateTime", "lastModifiedDateTime"),
        ("accept_time", "approval_time"), ("accept_time", "rejection_time"), ("start", "end"),
        ("build_start_time", "build_finished_at"), ("created", "failure_time"), ("creation_timestamp", "update_time"),
    ],
)  # fmt: skip
def test_times_are_in_order_however_they_are_spelled(first, second):
    assert is_before(tokens_of(first), tokens_of(second))
    columns = (text(first, kind=ValueKind.TIME, is_required=True), text(second, kind=ValueKind.TIME, is_required=True))
    for level in range(4):
        assert all(row[first] <= row[second] for row in rows_of("job", *columns, level=level))


def test_spellings_of_times_mean_the_same():
    for name, sense in (("created_date_time", Sense.CREATED), ("lastUpdatedDateTime", Sense.UPDATED),
                        ("end_date_time_utc", Sense.END)):  # fmt: skip
        assert sense_of(tokens_of(name), "time").sense is sense
    assert event_of(("shipping",)) is None


def test_ends_and_failures_wait_for_their_state():
    state = text("status", values=("RUNNING", "SUCCEEDED", "FAILED"), role=ColumnRole.STATUS, is_required=True)
    columns = (state, text("end_time", kind=ValueKind.TIME), text("failure_time", kind=ValueKind.TIME))
    rows = rows_of("job", *columns)
    assert any(row["end_time"] for row in rows)
    assert all(row["end_time"] is None for row in rows if row["status"] == "RUNNING")
    assert all(row["failure_time"] is None for row in rows if row["status"] != "FAILED")


def test_nothing_is_both_approved_and_rejected():
    times = [text(name, kind=ValueKind.TIME) for name in ("approval_time", "rejection_time")]
    rows = rows_of("quote", *times)
    assert not any(row["approval_time"] and row["rejection_time"] for row in rows)
    assert any(row["approval_time"] for row in rows)


# --- Words ------------------------------------------------------------------------------------------------------------


def test_words_mean_what_their_context_says():
    jobs = rows_of("task", text("job", description="The ID of the job.", is_required=True))
    assert all(row["job"].startswith("job_") for row in jobs)
    assert not {row["scale_unit"] for row in rows_of("cluster", text("scale_unit", is_required=True))} & {"litre", "kg"}
    assert not {row["network"] for row in rows_of("router", text("network", is_required=True))} & {"visa", "amex"}
    assert {row["network"] for row in rows_of("card", text("network", is_required=True))} & {"visa", "amex"}
    assert all(
        re.fullmatch("#[0-9a-f]{6}", row["color_rgb"]) for row in rows_of("label", text("color_rgb", is_required=True))
    )


def test_numbers_keep_to_what_they_count():
    columns = [text(name, {"type": "integer"}, kind=ValueKind.INTEGER, is_required=True) for name in
               ("http_status", "attempts", "max_attempts", "worst_rating", "rating", "best_rating")]  # fmt: skip
    for level in range(3):
        for row in rows_of("delivery", *columns, level=level):
            assert row["attempts"] <= row["max_attempts"]
            assert row["worst_rating"] <= row["rating"] <= row["best_rating"]
    assert all(200 <= row["http_status"] <= 599 for row in rows_of("delivery", columns[0], level=3))


# --- Stated forms -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("description", "values"),
    [
        ("Provisioning state (Succeeded, Deploying, Failed).", ("Succeeded", "Deploying", "Failed")),
        ("One of: draft, live, retired.", ("draft", "live", "retired")),
        ("Allowed values: 'x1', 'y1'", ("x1", "y1")),
        ("Always `compute#router`.", ("compute#router",)),
        ("The state (see above).", ()),
        ("The state of the thing, e.g. (i.e., none).", ()),
    ],
)
def test_listed_values_are_read_from_descriptions(description, values):
    assert listed_values(description, True) == values
    if values:
        column = text("state", description=description, is_required=True)
        assert {row["state"] for row in rows_of("thing", column)} <= set(values)


@pytest.mark.parametrize(
    ("description", "form"),
    [
        ("Format: `projects/{project}/locations/{location}`.", r"projects/[\w-]+/locations/[\w-]+"),
        ("For example, 'projects/*/rulesets/*'.", r"projects/[\w-]+/rulesets/[\w.-]+"),
        ("Such as projects/my-project/topics/my-topic.", r"projects/(?!my-)[\w-]+/topics/(?!my-)[\w-]+"),
        ("`arn:aws:iam::123456789012:role/my-role`", r"arn:aws:iam::\d{12}:role/[\w-]+"),
    ],
)
def test_stated_shapes_are_filled(description, form):
    assert stated_shape(description)
    for row in rows_of("thing", text("target", description=description, is_required=True), family="google"):
        assert re.fullmatch(form, row["target"]), row["target"]


@pytest.mark.parametrize("words", ["Accepts `image/*` and and/or", "application/json", "See https://a.example/{x}", ""])
def test_other_slashes_are_no_shapes(words):
    assert stated_shape(words) == ()


# --- Within a row, and across tables ----------------------------------------------------------------------------------


def test_labels_say_what_their_values_say():
    columns = (text("status_value", values=("in_progress", "done"), is_required=True), text("status_label"))
    rows = rows_of("case", *columns)
    pairs = {(row["status_value"], row["status_label"]) for row in rows if row["status_label"]}
    assert pairs == {("in_progress", "In progress"), ("done", "Done")}


def test_names_of_other_tables_are_names_that_are_there():
    hubs = Table("hubs", "hub", "", (ID, text("name", is_required=True)), ("id",))
    link = ForeignKey(("service_id",), "services", ("id",), OnDelete.CASCADE)
    columns: tuple[Column, ...] = (ID, text("service_id", is_required=True), text("name", is_required=True))
    deployments = Table("deployments", "deployment", "", columns, ("id",), (link,))
    own = (text("active_deployment_name"), text("hub", is_required=True))
    blueprint = blueprint_of("service", *own, others=(hubs, deployments))
    for scenario in make_scenarios(blueprint, 4):
        assert faults(blueprint, scenario) == []
        rows = scenario.rows
        there = {(row["service_id"], row["name"]) for row in rows["deployments"]}
        for row in rows["services"]:
            assert row["active_deployment_name"] is None or (row["id"], row["active_deployment_name"]) in there
            if rows["hubs"]:
                assert row["hub"] in {each["id"] for each in rows["hubs"]}
    assert any(row["active_deployment_name"] for row in make_scenarios(blueprint, 4)[2].rows["services"])
