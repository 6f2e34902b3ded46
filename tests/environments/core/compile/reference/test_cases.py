"""Cases of the shop: every kind, check and argument is looked at, they hold in the locked worker, and they repeat."""

import dataclasses
import hashlib
import os
import subprocess
import sys

import orjson
import pytest

from environments.core.compile.emission import emit_pack
from environments.core.compile.reference import Interpreter, Uncovered, make_cases, uncovered
from environments.core.compile.reference.cases import MAX_CALLS, MAX_CASES
from environments.core.compile.reference.playing import CLOCK_START, INVALID, Plan, Stage, make_case
from environments.core.compile.semantics import ArgumentRole, Kind
from environments.runtime.cases import run_cases
from environments.runtime.pack import check_pack
from environments.runtime.pack.model import CaseCall, Scenario
from environments.runtime.records import CallStatus, ChangeKind
from environments.runtime.sandbox.pool import WorkerPool
from environments.runtime.session import Environment
from tests.environments.core.compile.reference.shop_rows import CLOCK, SMALL, scenarios
from tests.factories.blueprints import shop

SHOP = shop()
SCENARIOS = scenarios()
CASES = make_cases(SHOP, SCENARIOS, 1)
TOOLS = {tool.name: tool for tool in SHOP.tools}
_PRINT = """
import hashlib, orjson
from environments.core.compile.reference import make_cases
from tests.environments.core.compile.reference.shop_rows import scenarios
from tests.factories.blueprints import shop
print(hashlib.sha256(orjson.dumps(make_cases(shop(), scenarios(), 1))).hexdigest())
"""


def digest_of(cases):
    return hashlib.sha256(orjson.dumps(cases)).hexdigest()


def of(tool):
    return [case for case in CASES if case.tool == tool]


def with_tools(*tools):
    return dataclasses.replace(SHOP, tools=tools)


def test_every_tool_is_covered():
    assert uncovered(SHOP, CASES) == ()
    for tool in SHOP.tools:
        assert {case.kind for case in of(tool.name)} == {"success", "boundary", "rejection"}


def test_the_limits_are_kept():
    counts = sorted(len(of(tool.name)) for tool in SHOP.tools)
    calls = [sum(len(case.calls) for case in of(tool.name)) for tool in SHOP.tools]

    assert counts[-1] <= MAX_CASES
    assert max(calls) <= 2 * MAX_CALLS
    assert 8 <= counts[len(counts) // 2] <= 18
    assert sum(calls) <= 20 * len(SHOP.tools)


def test_names_are_unique_and_say_the_tool():
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(case.name.startswith(case.tool) and len(case.name) <= 96 for case in CASES)


def test_the_same_cases_come_under_another_hash_seed():
    other = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"

    printed = subprocess.run(
        [sys.executable, "-c", _PRINT],
        env={**os.environ, "PYTHONHASHSEED": other},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert printed.strip() == digest_of(CASES)


def test_a_tools_cases_do_not_depend_on_its_neighbours():
    tools = tuple(tool for tool in SHOP.tools if tool.name in ("get_order", "update_customer"))

    alone = make_cases(with_tools(*tools), SCENARIOS, 1)

    for tool in tools:
        calls = [
            case.calls for case in of(tool.name) if {call.tool for call in case.calls} <= {each.name for each in tools}
        ]
        assert [case.calls for case in alone if case.tool == tool.name and len(case.calls) == 1] == [
            each for each in calls if len(each) == 1
        ]


def test_another_seed_draws_other_values():
    assert digest_of(make_cases(SHOP, SCENARIOS, 2)) != digest_of(CASES)


@pytest.mark.parametrize("tool", [tool.name for tool in SHOP.tools if tool.meaning.kind is Kind.LIST])
def test_each_optional_argument_of_a_list_makes_a_difference_in_a_case(tool):
    for argument in TOOLS[tool].meaning.arguments:
        if argument.is_required:
            continue
        differing = 0
        for case in of(tool):
            call = case.calls[0]
            if argument.name not in call.arguments or case.expect[0].status is not CallStatus.SUCCESS:
                continue
            start = Scenario("start", "simple", CLOCK, 0, case.rows or rows_of(case.scenario))
            with_it = Interpreter(SHOP, start).call(tool, call.arguments).result
            less = {name: value for name, value in call.arguments.items() if name != argument.name}
            differing += with_it != Interpreter(SHOP, start).call(tool, less).result
        if len(case.calls) > 1 and argument.role in (ArgumentRole.CURSOR, ArgumentRole.PAGE):
            continue
        assert differing, argument.name


def rows_of(name):
    return next(scenario.rows for scenario in SCENARIOS if scenario.name == name)


def test_bounds_are_met_exactly():
    for tool, name, column in [("list_products", "min_price", "price"), ("list_orders", "created_gte", "created")]:
        case = next(case for case in of(tool) if name in case.calls[0].arguments and case.kind == "boundary")
        table = TOOLS[tool].meaning.table
        values = [row[column] for row in rows_of(case.scenario)[table]]

        assert case.calls[0].arguments[name] in values
        assert min(value for value in values if value is not None) < case.calls[0].arguments[name]


def test_every_state_is_tried_and_judged():
    ended = {
        rows["status"]: case.expect[0].code
        for case in of("ship_order")
        for rows in rows_of(case.scenario or "medium")["orders"]
        if len(case.calls) == 1 and rows["id"] == case.calls[0].arguments.get("id")
        if case.expect[0].code not in (INVALID, "order_not_found")
    }
    assert ended == {"open": "order_not_paid", "paid": None, "shipped": "order_not_paid", "cancelled": "order_not_paid"}


def test_each_check_refuses_alone_where_it_can():
    for tool in SHOP.tools:
        for place, check in enumerate(tool.meaning.checks):
            refused = [
                Interpreter(SHOP, Scenario("s", "simple", CLOCK, 0, case.rows or rows_of(case.scenario))).refused_by(
                    tool.name, case.calls[0].arguments
                )
                for case in of(tool.name)
                if len(case.calls) == 1 and case.expect[0].code == check.code
            ]
            assert refused, (tool.name, check.code)
            if tool.name not in ("get_order_line", "delete_customer", "delete_product"):
                assert (place,) in refused, (tool.name, check.code)


def test_wrong_parents_are_tried_for_each_part_of_a_name():
    line = next(table for table in SHOP.tables if table.name == "order_lines")
    tried = set()
    for case in of("get_order_line"):
        if case.expect[0].code != "order_line_not_found" or len(case.calls) > 1:
            continue
        given = case.calls[0].arguments
        rows = rows_of(case.scenario)["order_lines"]
        tried |= {
            other
            for part, other in (line.primary_key, line.primary_key[::-1])
            if any(row[part] == given[part] for row in rows)
        }
    assert tried == {"order_id", "sku"}


def test_stories_follow_a_new_row_by_its_answered_id():
    case = next(case for case in of("create_customer") if case.name.endswith("then_get_customer"))

    assert case.calls[1].arguments == {"id": {"$result": [0, "/data/0/id"]}}
    assert case.expect[1].result["id"] == {"$result": [0, "/data/0/id"]}
    [change] = case.changes
    assert change.kind is ChangeKind.INSERT
    assert case.expect[0].result["data"][0]["id"] == change.key["id"]


def test_an_id_whose_row_is_gone_is_not_expected_of_the_first_answer():
    plan = Plan(
        "gone",
        "success",
        "medium",
        (
            CaseCall("create_customer", {"name": "Fay", "email": "fay@example.com"}),
            CaseCall("delete_customer", {"id": {"$result": [0, "/data/0/id"]}}),
        ),
    )
    case = make_case(Stage(SHOP, SCENARIOS), TOOLS["delete_customer"], plan)

    assert case.changes == ()
    assert case.expect[0].result["data"][0]["id"] == {"$result": [0, "/data/0/id"]}
    assert case.expect[1].result["id"] == {"$result": [0, "/data/0/id"]}


@pytest.mark.parametrize(
    "plan",
    [
        Plan("x", "success", "medium", (CaseCall("get_order", {"id": 999}),)),
        Plan("x", "rejection", "medium", (CaseCall("get_order", {"id": 1}),), "order_not_found"),
        Plan("x", "rejection", "medium", (CaseCall("get_order", {"id": 1}),), INVALID),
        Plan("x", "success", "medium", (CaseCall("get_order", {"id": "1"}),)),
    ],
)
def test_a_plan_that_does_not_come_true_is_no_case(plan):
    assert make_case(Stage(SHOP, SCENARIOS), TOOLS["get_order"], plan) is None


def test_rows_of_its_own_serve_where_no_scenario_has_a_row_in_the_state():
    orders = tuple({**row, "status": "open"} for row in SMALL["orders"])
    only = (Scenario("medium", "medium", CLOCK, 0, {**SMALL, "orders": orders}),)

    cases = [case for case in make_cases(SHOP, only, 1) if case.tool == "ship_order"]

    [success] = [case for case in cases if case.kind == "success"]
    assert success.scenario is None
    assert [row["status"] for row in success.rows["orders"]] == ["paid"]
    assert [row["id"] for row in success.rows["customers"]] == [success.rows["orders"][0]["customer_id"]]
    assert success.changes[0].before["status"] == "paid"


def test_rows_of_its_own_serve_where_no_list_is_longer_than_a_page():
    cases = [case for case in of("search_orders") if "longer_than_a_page" in case.name]

    assert [len(case.rows["orders"]) for case in cases] == [21, 21]
    assert [len(case.expect[0].result["found"]) for case in cases] == [20, 1]


def test_rows_of_its_own_tie_where_no_scenario_shows_every_step_of_an_order():
    [case] = [case for case in of("search_orders") if case.name.endswith("_ties")]
    first, second, third = case.rows["orders"]

    assert first["created"] == second["created"] != third["created"]
    assert first["total"] == second["total"] == third["total"]
    assert len(case.calls) == 5


def test_what_the_scenarios_do_not_allow_is_reported_and_never_faked():
    nothing = (Scenario("medium", "medium", CLOCK, 0, dict.fromkeys(SMALL, ())),)
    cases = make_cases(SHOP, nothing, 1)
    missing = uncovered(SHOP, cases)

    assert Uncovered("get_order", "success") in missing
    assert Uncovered("ship_order", "order_not_paid") in missing
    assert not [case for case in cases if case.tool == "get_order" and case.kind == "success"]
    assert {case.kind for case in cases if case.tool == "create_customer"} >= {"success"}


def test_all_cases_hold_in_the_locked_worker_and_a_wrong_one_does_not():
    case = next(case for case in CASES if case.name == "count_orders_plain")
    wrong = dataclasses.replace(case, expect=(dataclasses.replace(case.expect[0], result={"count": 3}),))
    pack = emit_pack(SHOP, SCENARIOS, CASES)
    assert check_pack(pack, require_cases=True) == ()
    assert pack.clock_start == CLOCK_START
    with WorkerPool() as pool:
        environment = Environment(pack, pool)
        described = pool.describe(environment.encoded, environment.content_sha256)
        assert not described.faults

        result = run_cases(environment, described.tables)
        other = run_cases(environment, described.tables, (wrong,))

    assert [(case.name, case.problems) for case in result.failed] == []
    assert len(result.cases) == len(CASES)
    assert not other.holds


# --- Whole stories ----------------------------------------------------------------------------------------------------


def stories_of(*names):
    blueprint = with_tools(*(TOOLS[name] for name in names))
    return [case for case in make_cases(blueprint, SCENARIOS, 1) if "_whole_story" in case.name]


def test_story_ends_with_the_row_gone():
    (story,) = stories_of("create_customer", "get_customer", "update_customer", "delete_customer")
    tools = [call.tool for call in story.calls]

    assert tools == [
        "create_customer", "get_customer", "update_customer", "get_customer", "delete_customer", "get_customer",
    ]  # fmt: skip
    assert [each.code for each in story.expect] == [None] * 5 + ["customer_not_found"]
    assert story.changes == ()
    assert story.kind == "boundary"


def test_story_without_a_tool_for_one_row_is_of_the_only_row_of_its_table():
    (story,) = stories_of("create_customer", "list_customers", "delete_customer")
    first, last = (each.result for each in (story.expect[1], story.expect[-1]))

    assert [call.tool for call in story.calls] == [
        "create_customer", "list_customers", "delete_customer", "list_customers",
    ]  # fmt: skip
    assert story.scenario is not None or not story.rows["customers"]
    assert first != last


def test_no_story_without_a_look_or_without_a_change():
    assert stories_of("create_customer", "update_customer", "delete_customer") == []
    assert stories_of("create_customer", "get_customer") == []


def test_upsert_is_first_shown_with_a_row_that_is_new():
    case = next(case for case in of("put_product") if case.name == "put_product_only_required")

    assert [change.kind for change in case.changes] == [ChangeKind.INSERT]


def test_long_names_are_cut_and_told_apart():
    tool = TOOLS["get_customer"]
    call = CaseCall("get_customer", {"id": SCENARIOS[0].rows["customers"][0]["id"]})
    plan = Plan("very" * 40, "success", SCENARIOS[0].name, (call,))
    case = make_case(Stage(SHOP, SCENARIOS), tool, plan)

    assert case.name.startswith("get_customer_veryvery")
    assert len(case.name) < 96
    assert len({each.name for each in CASES}) == len(CASES)
