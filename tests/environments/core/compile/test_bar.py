"""The bar: what counts as a story, over one call and over several."""

import dataclasses

import pytest

from environments.core.compile.bar import STRICT, standing_of
from environments.core.compile.emission import emit_pack
from environments.core.compile.reference import make_cases
from environments.core.logic.model import ToolUse
from environments.runtime.pack.model import Case, CaseCall, Expectation
from environments.runtime.records import CallStatus, ChangeKind, RowChange
from tests.environments.core.compile.reference.shop_rows import scenarios
from tests.factories.blueprints import shop

PACK = emit_pack(shop(), scenarios(), ())
USES = {
    "create_customer": ToolUse(read_tables=frozenset({"customers"}), written_tables=frozenset({"customers"})),
    "update_customer": ToolUse(read_tables=frozenset({"customers"}), written_tables=frozenset({"customers"})),
    "get_customer": ToolUse(read_tables=frozenset({"customers"})),
}
ROW = {"id": 9, "name": "Kim"}
MADE = RowChange("customers", {"id": 9}, ChangeKind.INSERT, None, ROW)
CHANGED = RowChange("customers", {"id": 1}, ChangeKind.UPDATE, {"name": "Kim"}, {"name": "Ida"})


def case(tools, changes=(), status=CallStatus.SUCCESS):
    calls = tuple(CaseCall(tool, {}) for tool in tools)
    expect = tuple(Expectation(status, None) for _ in tools)
    return Case("_then_".join(tools), tools[0], "success", calls, expect, tuple(changes), "test", "medium", None)


def stories(*cases):
    return standing_of(dataclasses.replace(PACK, cases=cases), (), USES).stories


CREATE, GET = case(["create_customer"], [MADE]), case(["get_customer"])


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        ([CREATE, GET, case(["update_customer"], [CHANGED])], ("customers",)),
        ([CREATE, case(["create_customer", "get_customer", "update_customer"], [MADE])], ("customers",)),
        ([case(["create_customer", "get_customer"], [MADE]), case(["update_customer", "get_customer"], [CHANGED])],
         ("customers",)),
        ([CREATE, GET], ()),
        ([CREATE, case(["update_customer"], [CHANGED])], ()),
        ([GET, case(["update_customer"], [CHANGED])], ()),
        ([CREATE, GET, case(["create_customer", "create_customer"], [MADE])], ()),
        ([case(["create_customer"], [], CallStatus.REJECTION), GET, case(["update_customer"], [CHANGED])], ()),
    ],
)  # fmt: skip
def test_story_needs_a_row_made_shown_and_changed(cases, expected):
    assert stories(*cases) == expected


def test_cases_of_a_blueprint_tell_whole_stories_of_its_tables():
    cases = make_cases(shop(), scenarios(), 1)
    whole = [each for each in cases if "_whole_story" in each.name]

    assert {each.tool for each in whole} >= {"create_customer", "create_order"}
    for each in whole:
        tools = [call.tool for call in each.calls]
        assert tools[0] == each.tool
        assert any(tool.startswith(("get_", "list_")) for tool in tools[1:-1])
    ended = [each for each in whole if any(call.tool.startswith("delete_") for call in each.calls)]
    assert ended
    assert all(each.expect[-1].status is CallStatus.REJECTION or each.kind == "success" for each in ended)


def test_strict_bar_asks_for_a_story():
    assert "no_story" in STRICT.problems(standing_of(PACK, (), USES))
