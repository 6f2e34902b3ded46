"""Sessions over the locked workers: the same object in every door, replayed before it is believed."""

import dataclasses
import json

import pytest

from environments.runtime.pack.model import Scenario
from environments.runtime.records import CallStatus
from environments.runtime.sandbox.errors import RequestError
from environments.runtime.sandbox.pool import WorkerPool
from environments.runtime.session import (
    Environment,
    Players,
    ReplayError,
    SessionError,
    call_many,
)
from environments.runtime.session_group import SessionGroup
from tests.factories.little_pack import ROWS, TEXT, TOOL_LIST, TOOLS, library, object_schema, tool, with_tool

LEND = ("lend", {"member_id": 1, "book_id": "bk-1"})


@pytest.fixture(scope="module")
def pool():
    with WorkerPool() as found:
        players: Players = found
        yield players


@pytest.fixture(scope="module")
def environment(pool):
    return Environment(library(), pool)


@pytest.fixture
def session(environment):
    found = environment.open("small")
    yield found
    found.close()


def test_calls_and_transcript(session):
    records = session.calls([("get_book", {"book_id": "bk-1"}), LEND, ("get_book", {"book_id": "no"})])
    assert [record.status for record in records] == [CallStatus.SUCCESS, CallStatus.SUCCESS, CallStatus.REJECTION]
    assert [record.index for record in records] == [0, 1, 2]
    assert session.transcript == records
    assert session.state()["books"][0]["copies"] == 1
    assert session.diff() == records[1].changes


def test_refused_calls_never_reach_the_worker_and_have_their_details(session):
    before = session.snapshot()
    records = session.calls(
        [("nothing", {}), LEND, ("lend", {"member_id": "1", "more": 2}), ("lend", {"member_id": 1, "book_id": "bk-2"})]
    )
    assert [record.index for record in records] == [0, 1, 2, 3]
    assert [record.code for record in records] == ["unknown_tool", None, "invalid_arguments", "no_copies"]
    assert records[0].observation == '{"error":{"code":"unknown_tool","message":"There is no tool named nothing."}}'
    details = json.loads(records[2].observation)["error"]["details"]
    assert {entry["pointer"] for entry in details} == {"", "/member_id"}
    assert session.snapshot() != before


@pytest.mark.parametrize("name", ["\ud800", "x" * 500, None, 5])
def test_any_name_of_a_tool_is_answered(session, name):
    record = session.call(name, {})
    assert record.code == "unknown_tool"
    assert json.loads(record.observation)["error"]["code"] == "unknown_tool"


@pytest.mark.parametrize("arguments", [{"member_id": 1, "book_id": "\ud800"}, {"member_id": 2**60, "book_id": "x"}])
def test_arguments_that_are_no_json_are_invalid(session, arguments):
    assert session.call("lend", arguments).code == "invalid_arguments"


def test_tools_of_the_user_are_not_the_agents(pool):
    mine = tool("confirm", "write", object_schema(), audience="user")
    pack = library(tools=(*TOOL_LIST, mine), tools_py=f"{TOOLS}\n\ndef confirm(ctx):\n    return {{'ok': True}}\n")
    environment = Environment(pack, pool)
    session = environment.open("small")
    assert "confirm" not in {entry["function"]["name"] for entry in session.tools()}
    assert [entry["function"]["name"] for entry in session.tools("user")] == ["confirm"]
    assert session.call("confirm", {}).code == "unknown_tool"
    assert session.call("draw", {}, audience="user").code == "unknown_tool"
    assert session.call("confirm", {}, audience="user").status is CallStatus.SUCCESS
    assert session.call("confirm", {}, audience=None).status is CallStatus.SUCCESS
    assert session.call("draw", {}, audience=None).status is CallStatus.SUCCESS


def test_tools_are_openai_functions(session):
    entry = next(entry for entry in session.tools() if entry["function"]["name"] == "get_book")
    assert entry["type"] == "function"
    assert entry["function"]["parameters"]["required"] == ["book_id"]


def test_snapshot_restore_and_fork(environment, session):
    session.call(*LEND)
    snapshot = session.snapshot()
    other = environment.open("empty")
    other.restore(snapshot)
    assert other.snapshot() == snapshot
    assert other.transcript == []
    forked = session.fork()
    assert forked.transcript == session.transcript
    first, second, third = (one.call("draw", {}) for one in (session, other, forked))
    assert first.observation == second.observation == third.observation
    forked.call("join", {"name": "x", "email": "x"})
    assert len(session.state()["members"]) == 2
    assert {change.table for change in session.diff(snapshot)} == {"tickets"}
    assert {change.table for change in session.diff()} == {"books", "loans", "tickets"}
    session.restore(snapshot)
    assert session.snapshot() == snapshot


def test_fork_and_restore_of_a_start_of_its_own(environment):
    scenario = Scenario("mine", "simple", "2026-05-01T00:00:00Z", 4, {"books": ROWS["books"]})
    session = environment.open(scenario, 8)
    session.call("tag_book", {"book_id": "bk-1", "tags": ["x"]})
    forked = session.fork()
    assert forked.state() == session.state()
    assert forked.snapshot() == session.snapshot()
    session.reset("small")
    session.restore(forked.snapshot())
    assert session.diff(forked.snapshot()) == ()
    session.reset("small")
    with pytest.raises(SessionError, match="another scenario"):
        session.diff(forked.snapshot())


def test_bad_snapshots_are_refused(environment, session, pool):
    foreign = Environment(library(title="Other"), pool).open("small").snapshot()
    for bad in (b"", b"{}", b"\xff", foreign):
        with pytest.raises(SessionError):
            session.restore(bad)
        with pytest.raises(SessionError):
            session.diff(bad)


def misfit(session):
    """A snapshot of the right form and hash that only the worker finds wrong."""
    document = json.loads(session.snapshot())
    document["changes"] = [{"table": "books", "key": {"id": "none"}, "kind": "delete", "before": {}, "after": None}]
    return json.dumps(document).encode()


def test_snapshot_that_the_worker_refuses_leaves_the_session_where_it_was(environment, session):
    session.call(*LEND)
    before, bad = session.snapshot(), misfit(session)
    for _ in range(3):
        with pytest.raises(RequestError, match="does not fit"):
            session.restore(bad)
        with pytest.raises(RequestError, match="does not fit"):
            session.diff(bad)
        with pytest.raises(RequestError, match="does not fit"):
            environment.open_snapshot(bad)
    assert session.snapshot() == before
    assert session.call("draw", {}).status is CallStatus.SUCCESS


def test_refused_snapshots_leave_nothing_in_the_worker(pool, environment, session):
    session.call(*LEND)
    bad = misfit(session)
    # A test before may have left a second worker, for forks.
    worker = pool.runner(environment.encoded, environment.content_sha256).workers[0]
    for _ in range(50):
        with pytest.raises(RequestError):
            environment.open_snapshot(bad)
    before = worker.resident_bytes()
    for _ in range(300):  # a state has at least 100 KB
        with pytest.raises(RequestError):
            environment.open_snapshot(bad)
    assert worker.resident_bytes() - before < 8 << 20


def test_session_at_a_snapshot_needs_one_frame(environment, session):
    session.call(*LEND)
    opened = environment.open_snapshot(session.snapshot())
    assert (opened.snapshot(), opened.transcript) == (session.snapshot(), [])
    assert opened.start.scenario == "small"
    assert opened.call("draw", {}).observation == session.call("draw", {}).observation
    with pytest.raises(SessionError, match="another version"):
        environment.open_snapshot(session.snapshot().replace(environment.content_sha256.encode(), b"0" * 64))
    with pytest.raises(SessionError, match="not a snapshot"):
        environment.open_snapshot(b'{"x":' * 100_000)


def test_replay_confirms_a_transcript(session):
    session.calls(
        [
            LEND,
            ("nothing", {}),
            ("draw", {}),
            ("lend", {"member_id": 7, "book_id": "bk-1"}),
            ("draw", {}),
            ("draw", {"count": "x"}),
        ]
    )
    played = session.replay(("diff", "state"))
    assert played.diff == session.diff()
    assert played.state == session.state()
    restored = session.fork()
    restored.restore(session.snapshot())
    restored.call("draw", {})
    assert restored.replay().diff == restored.diff()


def test_replay_finds_a_forged_record(session):
    session.calls([LEND, ("draw", {})])
    session.transcript[1] = dataclasses.replace(session.transcript[1], observation='{"ticket":"x","number":7}')
    with pytest.raises(ReplayError, match="call 1"):
        session.replay()


def test_a_failure_tells_the_agent_nothing(pool):
    environment = Environment(with_tool("def act(ctx):\n    raise ValueError('secret')"), pool)
    session = environment.open("small")
    record = session.call("act", {})
    assert (record.status, record.code) == (CallStatus.FAILURE, "internal_error")
    assert "secret" not in record.observation
    assert session.replay().diff == ()


def test_many_sessions_in_one_go(environment):
    sessions = environment.open_many([("small", seed) for seed in range(20)])
    records = call_many([(session, "draw", {}) for session in sessions for _ in range(3)])
    assert len({record.observation for record in records}) == 60
    assert [record.index for record in records[:3]] == [0, 1, 2]
    again = environment.open("small", 7)
    assert [record.observation for record in again.calls([("draw", {})] * 3)] == [
        record.observation for record in sessions[7].transcript
    ]


def test_a_closed_session_says_so(environment):
    session = environment.open("small")
    session.close()
    session.close()
    for use in (session.state, session.diff, session.snapshot, session.fork, lambda: session.call("draw", {})):
        with pytest.raises(SessionError, match="closed"):
            use()


def test_reset_empties_the_transcript(session):
    session.call(*LEND)
    session.reset("small", 9)
    assert session.transcript == []
    assert session.diff() == ()
    assert session.call("draw", {}).index == 0


# Groups


@pytest.fixture
def group(pool):
    sessions = [Environment(library(name=name), pool).open("small") for name in ("library", "archive")]
    found = SessionGroup(sessions)
    yield found
    found.close()


def test_a_group_joins_names_transcripts_states_and_snapshots(group):
    names = [entry["function"]["name"] for entry in group.tools()]
    assert names[0] == "library__get_book"
    assert len(names) == 2 * len(TOOL_LIST)
    records = group.calls(
        [
            ("library__draw", {}),
            ("archive__lend", LEND[1]),
            ("draw", {}),
            ("attic__draw", {}),
            ("library__nothing", {}),
            ("archive__lend", {}),
        ]
    )
    assert [record.code for record in records] == [
        None,
        None,
        "unknown_tool",
        "unknown_tool",
        "unknown_tool",
        "invalid_arguments",
    ]
    assert [record.index for record in records] == list(range(6))
    assert [record.tool for record in records] == [
        "library__draw", "archive__lend", "draw", "attic__draw", "library__nothing", "archive__lend",
    ]  # fmt: skip
    assert json.loads(records[4].observation)["error"]["message"].endswith("library__nothing.")
    assert {change.table for change in group.diff()["archive"]} == {"books", "loans"}
    snapshot = group.snapshot()
    forked = group.fork()
    group.call("library__join", {"name": "x", "email": "x"})
    assert [change.table for change in group.diff(snapshot)["library"]] == ["members"]
    group.restore(snapshot)
    assert group.snapshot() == snapshot == forked.snapshot()
    assert group.state() == forked.state()
    assert forked.transcript == records
    group.reset({"library": ("small", None), "archive": ("empty", 3)})
    assert group.diff() == {"library": (), "archive": ()}


def test_groups_that_cannot_be(pool, environment):
    with pytest.raises(SessionError, match="one to 3"):
        SessionGroup([])
    with pytest.raises(SessionError, match="same environment"):
        SessionGroup([environment.open("small"), environment.open("small")])
    long_name = tool("t" * 38, "read", object_schema(x=TEXT))
    pack = library(name="n" * 24, tools=(long_name,), tools_py=f"def {'t' * 38}(ctx, *, x=None):\n    return {{}}\n")
    SessionGroup([Environment(pack, pool).open("small")])
    longer = dataclasses.replace(pack, name="n" * 25)
    with pytest.raises(SessionError, match="joined"):
        SessionGroup([Environment(longer, pool).open("small")])


def test_groups_refuse_foreign_snapshots_and_starts(group):
    before = group.snapshot()
    parts = json.loads(before)
    parts["sessions"]["archive"]["content_sha256"] = "0" * 64
    other = {**parts, "sessions": {"library": parts["sessions"]["library"]}}
    for bad in (b"{}", json.dumps(parts).encode(), json.dumps(other).encode()):
        with pytest.raises(SessionError):
            group.restore(bad)
        assert group.snapshot() == before
    with pytest.raises(SessionError):
        group.reset({"library": ("small", None)})
