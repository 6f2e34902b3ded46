"""What every condition of a call gives: evaluated where the call is made, in its order, and undone."""

import pytest

from environments.runtime.engine import Engine
from environments.runtime.engine.calls import MAX_EXPLAINED_CHARACTERS
from environments.runtime.engine.errors import EngineError
from environments.runtime.pack.model import Condition
from environments.runtime.records import CallStatus, Evaluated
from environments.runtime.sandbox.errors import ToolTimeout
from environments.runtime.sandbox.pool import WorkerPool
from environments.runtime.session import Environment, Start
from tests.factories.little_pack import TEXT, library, object_schema, with_tool

LEND = ("lend", {"member_id": 1, "book_id": "bk-1"})
BOOKS = "SELECT copies FROM books WHERE id = 'bk-1'"


@pytest.fixture(scope="module")
def engine():
    return Engine(library())


@pytest.fixture(scope="module")
def pool():
    with WorkerPool() as found:
        yield found


def explain(source, arguments=None, **more):
    return Engine(with_tool(source, **more), gate=False).open("small").explain("act", arguments or {})


def states(found):
    return [(each.name, each.holds) for each in found]


# --- In the engine ----------------------------------------------------------------------------------------------------


def test_every_condition_of_a_success_holds_and_the_state_is_as_before(engine):
    episode = engine.open("small")
    before = episode.snapshot()

    found = episode.explain(*LEND)

    assert found.captures == (Evaluated("copies", 2),)
    assert states(found.preconditions) == [("no_member", True), ("no_copies", True)]
    assert states(found.postconditions) == [("one_less", True), ("loan_there", True)]
    assert episode.snapshot() == before


def test_a_call_gives_the_same_bytes_whether_it_was_explained_or_not(engine):
    plain, explained = engine.open("small"), engine.open("small")
    explained.explain(*LEND)

    assert explained.call(*LEND).observation == plain.call(*LEND).observation
    assert explained.snapshot() == plain.snapshot()


def test_later_preconditions_are_evaluated_too_when_one_does_not_hold(engine):
    found = engine.open("small").explain("lend", {"member_id": 7, "book_id": "bk-2"})

    assert states(found.preconditions) == [("no_member", False), ("no_copies", False)]
    assert [each.value for each in found.preconditions] == [0, 0]
    assert found.postconditions == ()


def test_no_row_is_told_apart_from_a_value(engine):
    found = engine.open("small").explain("lend", {"member_id": 99, "book_id": "bk-1"})

    assert found.preconditions[0] == Evaluated("no_member", None, "no row")
    assert found.preconditions[1].holds


def test_each_postcondition_is_evaluated_with_its_value():
    source = "def act(ctx):\n    ctx.db.run(\"UPDATE books SET copies = 5 WHERE id = 'bk-1'\")\n    return {'n': 5}"
    after = (
        Condition("is_three", "SELECT copies = 3 FROM books WHERE id = 'bk-1'", "Three are there."),
        Condition("copies", BOOKS, "As many as one."),
        Condition("result", "SELECT json_extract(:result, '$.n') = 5", "The result tells it."),
    )

    found = explain(source, postconditions=after)

    assert [(each.name, each.value, each.holds) for each in found.postconditions] == [
        ("is_three", 0, False),
        ("copies", 5, False),
        ("result", 1, True),
    ]


def test_a_tool_that_ends_badly_leaves_no_postconditions():
    after = (Condition("copies", BOOKS, "As many as one."),)
    for source in ("def act(ctx):\n    return 1 / 0", "def act(ctx):\n    ctx.reject('no', 'No.')", "def act(ctx): 1"):
        found = explain(source, postconditions=after)
        assert found.postconditions == ()


@pytest.mark.parametrize(
    ("sql", "value", "problem"),
    [
        ("SELECT copies FROM books", 2, "more than one row"),
        ("SELECT json_extract('{', '$')", None, "malformed JSON"),
        ("SELECT 1.0", 1.0, ""),
        ("SELECT NULL", None, ""),
        ("SELECT '1'", "1", ""),
        (f"SELECT '{'x' * (MAX_EXPLAINED_CHARACTERS + 5)}'", f"{'x' * MAX_EXPLAINED_CHARACTERS}…", ""),
    ],
)
def test_only_the_integer_one_holds(sql, value, problem):
    source = "def act(ctx):\n    return {}"

    (found,) = explain(source, preconditions=(Condition("odd", sql, "Odd."),)).preconditions

    assert found.value == value
    assert problem in found.problem
    assert bool(found.problem) == bool(problem)
    assert not found.holds


def test_conditions_are_not_reached_when_a_capture_gives_several_rows():
    before = (Condition("fine", "SELECT 1", "Fine."),)

    found = explain("def act(ctx):\n    return {}", captures={"all": "SELECT copies FROM books"}, preconditions=before)

    assert found.captures == (Evaluated("all", 2, "more than one row"),)
    assert found.preconditions == ()


def test_a_call_that_reaches_no_tool_is_not_explained(engine):
    episode = engine.open("small")
    for tool, arguments in (("nothing", {}), ("lend", {}), ("lend", {"member_id": 1, "book_id": "x", "more": 1})):
        with pytest.raises(EngineError, match="reaches a tool"):
            episode.explain(tool, arguments)


# --- In a locked child ------------------------------------------------------------------------------------------------


def test_the_last_call_is_explained_where_the_calls_before_it_led(pool):
    environment = Environment(library(), pool)

    second = environment.explain(Start("small"), [LEND, LEND])
    third = environment.explain(Start("small"), [LEND, LEND, LEND])

    assert second.record.status == CallStatus.SUCCESS
    assert second.record.index == 1
    assert second.explanation.captures == (Evaluated("copies", 1),)
    assert third.record.code == "no_copies"
    assert states(third.explanation.preconditions) == [("no_member", True), ("no_copies", False)]


def test_an_explained_call_is_the_call_that_a_session_makes(pool):
    environment = Environment(library(), pool)
    session = environment.open("small")
    made = session.calls([LEND, LEND])

    explained = environment.explain(session.start, [LEND, LEND])

    assert explained.record.observation == made[1].observation
    assert explained.record.changes == made[1].changes
    session.close()


def test_explaining_goes_on_from_a_snapshot(pool):
    environment = Environment(library(), pool)
    session = environment.open("small")
    session.call(*LEND)
    start = Start("small", None, session.snapshot())

    assert environment.explain(start, [LEND]).explanation.captures == (Evaluated("copies", 1),)
    session.close()


def test_why_a_call_failed_is_told(pool):
    after = (Condition("never", "SELECT 0", "Never holds."),)
    environment = Environment(with_tool("def act(ctx):\n    return {}", postconditions=after), pool)

    found = environment.explain(Start("small"), [("act", {})])

    assert found.record.status == CallStatus.FAILURE
    assert found.failure == ("postcondition", "never: Never holds.")
    assert states(found.explanation.postconditions) == [("never", False)]


def test_a_call_that_never_ends_is_stopped(pool):
    source = "def act(ctx, *, word):\n    while word:\n        word += 'x'\n    return {}"
    environment = Environment(with_tool(source, inputs=object_schema(("word",), word=TEXT)), pool)

    with pytest.raises(ToolTimeout):
        environment.explain(Start("small"), [("act", {"word": "x"})])
