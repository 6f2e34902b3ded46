"""Dropping tools: what stands on them goes, the rest stays as it was, and everything is listed."""

import dataclasses

from environments.core.logic.reduction import reduce_pack, without_functions
from environments.runtime.pack.model import Case, CaseCall, Expectation, Origin
from environments.runtime.records import CallStatus
from tests.factories.little_pack import library

SOURCE = '''"""Tools."""
import json

_SQL = "SELECT 1"
_OTHER = "SELECT 2"


# What it is for.
def one(ctx):
    return _help(ctx, _SQL)


def two(ctx):
    return {"x": _OTHER}


def _help(ctx, sql):
    return _again(ctx, sql)


def _again(ctx, sql):
    return json.loads(ctx.db.one(sql))
'''


def test_function_goes_with_the_helpers_and_names_that_only_it_used():
    left = without_functions(SOURCE, {"one"})
    assert left == '"""Tools."""\nimport json\n\n_OTHER = "SELECT 2"\n\n\ndef two(ctx):\n    return {"x": _OTHER}\n'
    assert "def _help" in without_functions(SOURCE, {"two"})
    assert "_OTHER" not in without_functions(SOURCE, {"two"})


def case(name, tool, kind, *calls):
    statuses = {"rejection": CallStatus.REJECTION}
    expect = tuple(
        Expectation(statuses.get(kind, CallStatus.SUCCESS) if one == tool else CallStatus.SUCCESS) for one in calls
    )
    return Case(name, tool, kind, tuple(CaseCall(one, {}) for one in calls), expect, (), "person", scenario="small")


def test_tool_that_is_left_without_a_needed_case_goes_too():
    pack = library()
    kept = {"draw", "join", "list_books"}
    origin = Origin("a" * 64, "POST /draw", "compiler")
    tools = tuple(
        dataclasses.replace(tool, preconditions=(), postconditions=(), rejections=(), captures={}, origin=origin)
        for tool in pack.tools
        if tool.name in kept
    )
    cases = [case(f"{tool.name}_{kind}", tool.name, kind, tool.name)
             for tool in tools for kind in ("boundary", "rejection")]  # fmt: skip
    cases += [
        case("draw_success", "draw", "success", "draw"),
        case("join_success", "join", "success", "draw", "join"),
        case("books_success", "list_books", "success", "list_books"),
        case("books_after_join", "list_books", "success", "join", "list_books"),
    ]
    pack = dataclasses.replace(pack, tools=tools, cases=tuple(cases))

    reduction = reduce_pack(pack, {"draw": ("failure", "it broke")})

    assert [tool.name for tool in reduction.pack.tools] == ["list_books"]
    assert [one.name for one in reduction.pack.cases] == [
        "list_books_boundary",
        "list_books_rejection",
        "books_success",
    ]
    assert [(one.tool, one.code, one.operation) for one in reduction.dropped] == [
        ("draw", "failure", "POST /draw"), ("join", "depends_on_dropped", "POST /draw"),
    ]  # fmt: skip
    assert reduction.dropped[0].detail == "it broke"
    assert "def draw" not in reduction.pack.tools_py
    assert "def join" not in reduction.pack.tools_py
    assert "def list_books" in reduction.pack.tools_py


def test_nothing_to_drop_leaves_the_pack_as_it_is():
    tools = (library().tools[5],)
    cases = tuple(case(kind, "draw", kind, "draw") for kind in ("success", "boundary", "rejection"))
    pack = library(tools=tools, cases=cases)
    assert reduce_pack(pack, {}).pack is pack
    assert reduce_pack(pack, {}).dropped == ()
