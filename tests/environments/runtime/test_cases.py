"""The case runner: the shipped packs hold, and every kind of wrong expectation or wrong tool is found."""

import dataclasses
import re
from pathlib import Path

import pytest

from environments.runtime.cases import run_cases
from environments.runtime.engine import Engine
from environments.runtime.pack import read_pack
from environments.runtime.pack.model import Case, CaseCall, Expectation
from environments.runtime.records import CallStatus, ChangeKind, RowChange
from environments.runtime.sandbox.pool import WorkerPool
from environments.runtime.session import Environment
from tests.factories.little_pack import ROWS, library

PACKS = sorted((Path(__file__).parents[3] / "environments" / "packs").glob("*/environment.json"))
SUCCESS = Expectation(CallStatus.SUCCESS)
LEND = CaseCall("lend", {"member_id": 1, "book_id": "bk-1"})
LOAN = {"id": "loan_xx", "member_id": 1, "book_id": "bk-1", "lent_at": "any", "note": None}
LENT = (
    RowChange("books", {"id": "bk-1"}, ChangeKind.UPDATE, {"copies": 2}, {"copies": 1}),
    RowChange("loans", {"id": "loan_xx"}, ChangeKind.INSERT, None, LOAN),
)
REFERENCE = {"$result": [0, "/loan_id"]}


@pytest.fixture(scope="module")
def pool():
    with WorkerPool() as found:
        yield found


@pytest.fixture(scope="module")
def run(pool):
    environment = Environment(library(), pool)
    tables = Engine(library()).tables

    def run_one(**parts):
        case = Case(
            **{
                "name": "one",
                "tool": "lend",
                "kind": "success",
                "calls": (LEND,),
                "expect": (SUCCESS,),
                "changes": LENT,
                "author": "person",
                "scenario": "small",
                **parts,
            }
        )
        (result,) = run_cases(environment, tables, [case]).cases
        return result

    return run_one


@pytest.mark.parametrize("path", PACKS, ids=lambda path: path.parent.name)
def test_the_cases_of_the_shipped_packs_hold(pool, path):
    pack = read_pack(path.parent)
    result = run_cases(Environment(pack, pool), Engine(pack).tables)
    assert [(case.name, case.problems) for case in result.failed] == []
    assert len(result.cases) == len(pack.cases)
    assert set(result.by_tool()) == {case.tool for case in pack.cases}


HOLDING = {
    "ids of another run": {},
    "an id in the result": {"expect": (Expectation(CallStatus.SUCCESS, None, {"loan_id": "loan_xx"}),)},
    "part of a result": {
        "expect": (Expectation(CallStatus.SUCCESS, None, {"lent_at": "2026-03-02T09:00:00Z"}),),
    },
    "rows of its own": {"scenario": None, "rows": ROWS},
    "a rejection": {
        "calls": (CaseCall("lend", {"member_id": 7, "book_id": "bk-1"}),),
        "expect": (Expectation(CallStatus.REJECTION, "no_member"),),
        "changes": (),
    },
    "an invalid call": {
        "calls": (CaseCall("lend", {"member_id": 7}),),
        "expect": (Expectation(CallStatus.INVALID, "invalid_arguments"),),
        "changes": (),
    },
    "an earlier result": {
        "calls": (LEND, CaseCall("give_back", {"loan_id": REFERENCE})),
        "expect": (SUCCESS, Expectation(CallStatus.SUCCESS, None, {"given_back": True})),
        "changes": (),
    },
    "an earlier result in a list and in changes": {
        "calls": (LEND, CaseCall("tag_book", {"book_id": "bk-1", "tags": [REFERENCE]})),
        "expect": (SUCCESS, SUCCESS),
        "changes": (
            dataclasses.replace(
                LENT[0],
                before={"copies": 2, "tags": None},
                after={"copies": 1, "tags": '["loan_5ul74khqbk"]'},
            ),
            dataclasses.replace(LENT[1], key={"id": REFERENCE}, after={**LOAN, "id": REFERENCE}),
        ),
    },
}


@pytest.mark.parametrize("name", sorted(HOLDING))
def test_cases_that_hold(run, name):
    assert run(**HOLDING[name]).problems == ()


FAILING = {
    "status": ({"expect": (Expectation(CallStatus.REJECTION, "no_member"),)}, "ended as success, not as rejection"),
    "code": (
        {
            "calls": (CaseCall("lend", {"member_id": 7, "book_id": "bk-1"}),),
            "expect": (Expectation(CallStatus.REJECTION, "no_copies"),),
        },
        "rejection no_member, not as rejection no_copies",
    ),
    "value": ({"expect": (Expectation(CallStatus.SUCCESS, None, {"lent_at": "2026"}),)}, "/lent_at is"),
    "type": ({"expect": (Expectation(CallStatus.SUCCESS, None, {"loan_id": 5}),)}, "/loan_id is"),
    "member": ({"expect": (Expectation(CallStatus.SUCCESS, None, {"x": 5}),)}, "/x is missing"),
    "items": (
        {
            "calls": (CaseCall("list_books", {}),),
            "expect": (Expectation(CallStatus.SUCCESS, None, {"books": [{"id": "bk-1"}]}),),
            "changes": (),
        },
        "has 2 items, not 1",
    ),
    "an id of another row": (
        {
            "calls": (LEND, LEND),
            "expect": (SUCCESS, Expectation(CallStatus.SUCCESS, None, {"loan_id": "loan_first"})),
            "changes": (
                dataclasses.replace(LENT[0], after={"copies": 0}),
                dataclasses.replace(LENT[1], key={"id": "loan_first"}, after={**LOAN, "id": "loan_first", "note": "a"}),
                dataclasses.replace(LENT[1], key={"id": "loan_second"}, after={**LOAN, "id": "loan_second"}),
            ),
        },
        "different",
    ),
    "no changes": ({"changes": ()}, "the changes are different"),
    "a change missing": ({"changes": LENT[:1]}, "the changes are different"),
    "a value changed": (
        {"changes": (dataclasses.replace(LENT[0], after={"copies": 0}), LENT[1])},
        "the changes are different",
    ),
    "a foreign key": (
        {"changes": (LENT[0], dataclasses.replace(LENT[1], after={**LOAN, "book_id": "bk-2"}))},
        "the changes are different",
    ),
    "a reference to nothing": (
        {"calls": (LEND, CaseCall("give_back", {"loan_id": {"$result": [0, "/nothing"]}})), "expect": (SUCCESS,) * 2},
        "refers to a result that is not there",
    ),
}


@pytest.mark.parametrize("name", sorted(FAILING))
def test_cases_that_do_not_hold(run, name):
    parts, sentence = FAILING[name]
    problems = run(**parts).problems
    assert any(sentence in problem for problem in problems), problems


def test_twins_need_one_pairing_for_answers_and_changes(run):
    twins = (
        dataclasses.replace(LENT[0], after={"copies": 0}),
        dataclasses.replace(LENT[1], key={"id": "loan_first"}, after={**LOAN, "id": "loan_first"}),
        dataclasses.replace(LENT[1], key={"id": "loan_second"}, after={**LOAN, "id": "loan_second"}),
    )
    first, second = (Expectation(CallStatus.SUCCESS, None, {"loan_id": f"loan_{name}"}) for name in ("first", "second"))
    assert run(calls=(LEND, LEND), expect=(first, second), changes=twins).holds
    assert run(calls=(LEND, LEND), expect=(second, first), changes=twins).holds
    assert not run(calls=(LEND, LEND), expect=(first, first), changes=twins).holds


@pytest.mark.parametrize("path", PACKS, ids=lambda path: path.parent.name)
def test_a_pack_whose_tools_write_nothing_fails_its_cases(pool, path):
    """The cases look at the state: a tool that only says that it wrote is found, tool by tool."""
    pack = read_pack(path.parent)
    silent = re.sub(r"ctx\.db\.run\(", "_no(", pack.tools_py) + "\n\ndef _no(*_, **__):\n    return 1\n"
    mutant = dataclasses.replace(pack, tools_py=silent)
    with WorkerPool() as loose:
        result = run_cases(Environment(mutant, loose), Engine(pack).tables)
    failed = {case.tool for case in result.failed}
    writing = {tool.name for tool in pack.tools if tool.effect == "write"}
    assert writing <= failed


def test_cases_in_sessions_that_are_used_again_end_as_in_sessions_of_their_own(pool):
    # Twice over, so that each case of a scenario follows others, with a wrong one in between.
    pack = read_pack(PACKS[0].parent)
    wrong = dataclasses.replace(pack.cases[0], name="wrong", expect=(Expectation(CallStatus.REJECTION, "no_such"),))
    cases = (*pack.cases, wrong, *(dataclasses.replace(case, name=f"{case.name}_again") for case in pack.cases))
    environment, tables = Environment(pack, pool), Engine(pack).tables

    alone, used_again = (run_cases(environment, tables, cases, reuses_sessions=reuses).cases for reuses in (0, 1))

    assert [case.name for case in used_again if not case.holds] == ["wrong"]
    for one, other in zip(alone, used_again, strict=True):
        assert (one.name, one.problems, one.changes) == (other.name, other.problems, other.changes)
        assert [record.observation for record in one.records] == [record.observation for record in other.records]
    assert pool.runner(environment.encoded, environment.content_sha256).episodes == {}
