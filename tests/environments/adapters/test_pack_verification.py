"""Verification without a database: three rates, dropping with dependants, and the bar."""

import dataclasses
from pathlib import Path

import pytest

from environments.adapters.pack_verification import examine, sampled_depth, verify_pack
from environments.core.compile.bar import LOOSE, STRICT, Standing
from environments.runtime.conformance import BULK, FULL, Check, check_environment
from environments.runtime.effects import effects_of, observe_effects
from environments.runtime.pack import content_sha256, read_pack
from environments.runtime.sandbox.errors import EpisodeLost, SandboxViolation
from environments.runtime.sandbox.pool import WorkerPool
from environments.runtime.session import Environment

PACKS = Path(__file__).parents[3] / "environments" / "packs"


@pytest.fixture(scope="module")
def pool():
    with WorkerPool() as found:
        yield found


@pytest.fixture(scope="module")
def cafe():
    return read_pack(PACKS / "repair_cafe")


def changed(pack, old, new):
    assert old in pack.tools_py
    return dataclasses.replace(pack, tools_py=pack.tools_py.replace(old, new))


# --- Packs that are right ---------------------------------------------------------------------------------------------


def test_right_pack_has_all_three_rates_full_and_says_what_it_has(pool, cafe):
    found = verify_pack(cafe, pool, depth=BULK, may_drop=True)

    assert found.passes
    assert (found.pack, found.dropped, found.lacks) == (cafe, (), ())
    rates = found.all_figures.rates
    assert rates.are_full
    assert rates.transition.num == len(cafe.cases)
    assert rates.execution.num == found.all_figures.num_calls > len(cafe.cases)
    assert all(figures.rates.are_full for figures in found.figures.values())
    assert found.figures.keys() == {tool.name for tool in cafe.tools}
    document = found.figures_document()["start_repair"]
    assert document["num_cases_success"] + document["num_cases_anticipated_rejection"] == document["num_transition"]
    assert document["num_cases_unexpected_failure"] == document["num_failures"] == 0
    assert found.uses_document()["start_repair"]["writes"] == ["items", "repairs"]
    assert found.standing.stories
    assert ("register_item", "visitor_not_found") in found.standing.refusals


def test_bulk_plays_every_tool_twice_and_says_the_same_twice(pool, cafe):
    environment = Environment(cafe, pool)
    described = pool.describe(environment.encoded, environment.content_sha256)
    first, second = (check_environment(environment, described, depth=BULK) for _ in range(2))
    assert (first.findings, first.num_calls, first.figures) == ((), second.num_calls, second.figures)
    alone = check_environment(environment, described, depth=BULK, with_cases=False)
    assert min(figures.num_calls for figures in alone.figures.values()) >= BULK.calls_of_tool


def test_effects_from_the_run_cases_are_those_that_are_observed(pool, cafe):
    environment = Environment(cafe, pool)
    described = pool.describe(environment.encoded, environment.content_sha256)
    played = check_environment(environment, described, depth=BULK).cases.cases
    assert effects_of(cafe, played) == observe_effects(environment)


def test_other_process_is_asked_for_a_share_of_packs_by_their_content(cafe):
    packs = [dataclasses.replace(cafe, title=f"Cafe {number}") for number in range(20)]
    chosen = [sampled_depth(BULK, pack).plays_alone for pack in packs]
    assert 1 <= sum(chosen) <= 12
    assert chosen == [sampled_depth(BULK, pack).plays_alone for pack in packs]


# --- The rates apart --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [FULL, BULK], ids=["full", "bulk"])
def test_wrong_change_costs_the_transition_rate_alone(pool, cafe, depth):
    pack = changed(cafe, "SET has_agreed = 1 WHERE", "SET has_agreed = 1, cost_limit_cents = 5 WHERE")
    found = verify_pack(pack, pool, depth=depth)
    rates = found.figures["agree_to_house_rules"].rates
    assert (rates.interface.is_full, rates.execution.is_full, rates.transition.is_full) == (True, True, False)
    assert not found.passes


def test_exception_costs_the_execution_rate(pool, cafe):
    pack = changed(cafe, 'return {"parts": parts}', 'return {"parts": parts, "x": 1 // len(parts)}')
    rates = verify_pack(pack, pool, depth=BULK).figures["list_parts"].rates
    assert not rates.execution.is_full
    assert rates.execution.num_held > 0


def test_contradictory_declaration_costs_the_interface_rate(pool, cafe):
    position, tool = next((at, one) for at, one in enumerate(cafe.tools) if one.name == "get_item")
    wrong = dataclasses.replace(tool.preconditions[0], code="item_gone", sql="SELECT 1 = 2")
    tools = list(cafe.tools)
    tools[position] = dataclasses.replace(tool, preconditions=(*tool.preconditions, wrong))
    pack = dataclasses.replace(cafe, tools=tuple(tools))
    found = examine(Environment(pack, pool), pool, depth=BULK)
    assert Check.VALIDATION in {one.check for one in found.findings}  # no case is rejected with the new code
    cases = [
        dataclasses.replace(
            case, expect=tuple(dataclasses.replace(one, code="item_gone", result=None) if one.code else one
                               for one in case.expect),
        )
        if case.tool == "get_item" and case.kind == "rejection" and case.expect[-1].status == "rejection" else case
        for case in cafe.cases
    ]  # fmt: skip
    tools[position] = dataclasses.replace(tool, preconditions=(wrong,))
    pack = dataclasses.replace(pack, tools=tuple(tools), cases=tuple(cases))
    found = examine(Environment(pack, pool), pool, depth=BULK)
    assert (Check.LOGIC, "condition_never_holds", "get_item") in {
        (one.check, one.code, one.tool) for one in found.findings
    }
    assert not found.figures["get_item"].rates.interface.is_full


# --- Dropping ---------------------------------------------------------------------------------------------------------


def test_failing_tool_is_dropped_and_what_is_left_is_checked_again(pool, cafe):
    pack = changed(cafe, "status = 'collected'", "status = 'repaired'")

    found = verify_pack(pack, pool, depth=BULK, may_drop=True)

    assert found.passes
    assert [one.tool for one in found.dropped] == ["confirm_collection"]
    assert found.dropped[0].code == "cases"
    assert "confirm_collection" in found.dropped[0].detail
    assert found.pack.tool("confirm_collection") is None
    assert not any(call.tool == "confirm_collection" for case in found.pack.cases for call in case.calls)
    assert content_sha256(found.pack) != content_sha256(pack)
    assert found.all_figures.rates.are_full
    assert verify_pack(found.pack, pool, depth=BULK).passes


def test_nothing_is_dropped_unless_that_is_allowed(pool, cafe):
    found = verify_pack(changed(cafe, "status = 'collected'", "status = 'repaired'"), pool, depth=BULK)
    assert (found.passes, found.dropped, len(found.pack.tools)) == (False, (), len(cafe.tools))
    assert {one.tool for one in found.findings} == {"confirm_collection"}


def test_tool_whose_source_is_wrong_is_dropped_by_its_line(pool, cafe):
    found = verify_pack(changed(cafe, "SELECT visitor_id, name, email FROM visitors", "SELECT nothing FROM visitors"),
                        pool, depth=BULK, may_drop=True)  # fmt: skip
    assert ("find_visitor", "tool_sql") in {(one.tool, one.code) for one in found.dropped}
    assert found.passes


def test_tool_that_is_said_to_write_and_never_does_is_found(pool, cafe):
    tools = tuple(
        dataclasses.replace(tool, effect="write") if tool.name == "list_events" else tool for tool in cafe.tools
    )
    found = verify_pack(dataclasses.replace(cafe, tools=tools), pool, depth=BULK, may_drop=True)
    assert [(one.tool, one.code) for one in found.dropped] == [("list_events", "write_changed_nothing")]


def test_pack_of_which_too_little_is_left_is_below_the_bar(pool, cafe):
    pack = changed(cafe, "ctx.db.", "ctx.nothing.")
    found = verify_pack(pack, pool, depth=BULK, may_drop=True)
    assert (found.passes, found.lacks) == (False, ("few_tools",))
    assert len(found.dropped) > len(cafe.tools) - STRICT.min_tools


def test_what_is_wrong_with_no_tool_discards_the_whole(pool, cafe):
    pack = dataclasses.replace(cafe, schema_sql=cafe.schema_sql.replace(") STRICT;", ");", 1))
    found = verify_pack(pack, pool, depth=BULK, may_drop=True)
    assert not found.passes
    assert (found.dropped, [one.check for one in found.findings]) == ((), [Check.VALIDATION])


def test_bars_say_what_lacks():
    standing = Standing(5, 2, 3, 2, ("books",), (("lend", "no_copies"),))
    assert STRICT.problems(standing) == LOOSE.problems(standing) == ()
    lesser = dataclasses.replace(standing, stories=(), refusals=())
    assert LOOSE.problems(lesser) == ()
    assert STRICT.problems(lesser) == ("no_story", "no_refusal")
    assert LOOSE.problems(dataclasses.replace(standing, num_tools=4, num_reads=4, num_writes=0)) == (
        "few_tools", "no_write",
    )  # fmt: skip


# --- When the machinery or the pack breaks ----------------------------------------------------------------------------


def test_what_the_pack_broke_is_a_finding_and_what_the_machinery_lost_is_raised(pool, cafe):
    def raising(error):
        def check(_environment, _described):
            raise error

        return check

    environment = Environment(cafe, pool)
    found = examine(environment, pool, checker=raising(SandboxViolation("killed")))
    assert [one.code for one in found.findings] == ["sandbox_violation"]
    with pytest.raises(EpisodeLost):
        examine(environment, pool, checker=raising(EpisodeLost("gone")))
