"""What is seen of a tool's writes: whether they touch what was there, and what a second equal call does."""

import pytest

from environments.runtime.effects import Effects, observe_effects
from environments.runtime.pack.model import Case, CaseCall, Expectation
from environments.runtime.records import CallStatus
from environments.runtime.sandbox.pool import WorkerPool
from environments.runtime.session import Environment
from tests.factories.little_pack import ROWS, library

SUCCESS = Expectation(CallStatus.SUCCESS)
ADDS_ONLY = Effects(is_destructive=False, is_idempotent=False)
UNSEEN = Effects(is_destructive=True, is_idempotent=False)


@pytest.fixture(scope="module")
def pool():
    with WorkerPool() as found:
        yield found


def case(tool, *calls, kind="success", **start):
    return Case(
        name=f"{tool}_case", tool=tool, kind=kind, calls=tuple(CaseCall(name, arguments) for name, arguments in calls),
        expect=tuple(SUCCESS for _ in calls), changes=(), author="person", **(start or {"scenario": "small"}),
    )  # fmt: skip


def effects_of(pool, tool, *cases):
    return observe_effects(Environment(library(cases=cases), pool))[tool]


LEND = ("lend", {"member_id": 1, "book_id": "bk-1"})
SEEN = {
    "changes a row, and again": (case("lend", LEND), Effects(is_destructive=True, is_idempotent=False)),
    "adds a row, and another": (case("draw", ("draw", {})), ADDS_ONLY),
    "adds a row, and is then refused": (
        case("join", ("join", {"name": "Cy", "email": "cy@example.org"})),
        Effects(is_destructive=False, is_idempotent=True),
    ),
    "deletes a row, and is then refused": (
        case("remove_book", ("remove_book", {"book_id": "bk-1", "from": "east"})),
        Effects(is_destructive=True, is_idempotent=True),
    ),
    "sets a value, and the same again": (
        case("tag_book", ("tag_book", {"book_id": "bk-1", "tags": ["new"]})),
        Effects(is_destructive=True, is_idempotent=True),
    ),
    "after an earlier call of another tool": (
        case("give_back", LEND, ("give_back", {"loan_id": {"$result": [0, "/loan_id"]}})),
        Effects(is_destructive=True, is_idempotent=True),
    ),
    "from rows of its own": (case("draw", ("draw", {}), rows=ROWS), ADDS_ONLY),
    "at a boundary": (case("draw", ("draw", {"count": 0}), kind="boundary"), ADDS_ONLY),
}


@pytest.mark.parametrize("name", SEEN)
def test_effects_are_what_the_successful_cases_show(pool, name):
    played, expected = SEEN[name]
    assert effects_of(pool, played.tool, played) == expected


UNSEEN_CASES = {
    "no case": (),
    "a rejection only": (case("draw", ("draw", {}), kind="rejection"),),
    "a case that ends with another tool": (case("draw", ("draw", {}), LEND),),
    "a case that does not succeed": (case("draw", ("draw", {"count": "three"})),),
    "a case that refers to a result that is not there": (
        case("draw", ("list_books", {}), ("draw", {"count": {"$result": [0, "/no"]}})),
    ),
}


@pytest.mark.parametrize("name", UNSEEN_CASES)
def test_writing_tool_is_taken_for_dangerous_when_no_success_was_seen(pool, name):
    assert effects_of(pool, "draw", *UNSEEN_CASES[name]) == UNSEEN


def test_one_case_that_changes_a_row_is_enough_when_others_only_add(pool):
    quiet = case("join", ("join", {"name": "Cy", "email": "cy@example.org"}))
    returning = case("join", ("join", {"name": "Di", "email": "di@example.org"}), rows={})

    assert effects_of(pool, "join", quiet, returning) == Effects(is_destructive=False, is_idempotent=True)
    many = (
        case("tag_book", ("tag_book", {"book_id": "none", "tags": []})),
        SEEN["sets a value, and the same again"][0],
    )
    assert effects_of(pool, "tag_book", many[0]) == Effects(is_destructive=False, is_idempotent=True)
    assert effects_of(pool, "tag_book", *many) == Effects(is_destructive=True, is_idempotent=True)


def test_reading_tool_is_harmless_without_a_case(pool):
    assert effects_of(pool, "get_book") == Effects(is_destructive=False, is_idempotent=True)


def test_every_tool_is_told_about(pool):
    pack = library()
    assert observe_effects(Environment(pack, pool)).keys() == {tool.name for tool in pack.tools}
