"""The state of an episode: start, ids, clock, chance, snapshots, the same bytes everywhere."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.runtime.engine import Engine, EngineError
from environments.runtime.engine.context import IdRule, digest, id_rule
from environments.runtime.pack.model import Column, Scenario
from environments.runtime.records import CallStatus
from environments.runtime.tables import ColumnInfo, TableInfo
from tests.factories.little_pack import ROWS, TABLES, library, with_tool

ENGINE = Engine(library())
CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("get_book"), st.fixed_dictionaries({"book_id": st.sampled_from(["bk-1", "bk-2", "no"])})),
        st.tuples(
            st.just("lend"),
            st.fixed_dictionaries({"member_id": st.sampled_from([1, 7]), "book_id": st.sampled_from(["bk-1", "bk-2"])}),
        ),
        st.tuples(st.just("give_back"), st.fixed_dictionaries({"loan_id": st.sampled_from(["loan_a", "loan_b"])})),
        st.tuples(st.just("draw"), st.just({})),
        st.tuples(
            st.just("join"), st.fixed_dictionaries({"name": st.text(max_size=5), "email": st.sampled_from("abc")})
        ),
        st.tuples(
            st.just("tag_book"),
            st.fixed_dictionaries(
                {"book_id": st.sampled_from(["bk-1", "bk-2"]), "tags": st.lists(st.text(max_size=3), max_size=3)}
            ),
        ),
        st.tuples(st.just("remove_book"), st.just({"book_id": "bk-2", "from": "x"})),
    ),
    max_size=12,
)


def play(episode, calls):
    return [without_time(episode.call(tool, arguments)) for tool, arguments in calls]


def without_time(record):
    return dataclasses.replace(record, microseconds=0.0)


@settings(max_examples=60, deadline=None)
@given(CALLS, CALLS)
def test_the_same_calls_give_the_same_bytes_whatever_came_before(calls, earlier):
    fresh, used = ENGINE.open("small"), ENGINE.open("small")
    play(used, earlier)
    used.reset()
    assert play(fresh, calls) == play(used, calls)
    assert fresh.snapshot() == used.snapshot()
    assert fresh.state() == used.state()


@settings(max_examples=60, deadline=None)
@given(CALLS, CALLS)
def test_a_restored_episode_goes_on_like_the_one_it_came_from(before, after):
    first, second = ENGINE.open("small"), ENGINE.open("empty", 99)
    play(first, before)
    second.restore(first.snapshot())
    assert second.snapshot() == first.snapshot()
    assert second.state() == first.state()
    answers = [(r.observation, r.changes, r.reads) for r in play(first, after)]
    assert answers == [(r.observation, r.changes, r.reads) for r in play(second, after)]
    assert second.snapshot() == first.snapshot()


@settings(max_examples=60, deadline=None)
@given(CALLS, CALLS)
def test_diff_is_what_really_differs(before, after):
    episode = ENGINE.open("small")
    start = episode.state()
    play(episode, before)
    snapshot, middle = episode.snapshot(), episode.state()
    play(episode, after)
    end = episode.state()
    assert _applied(start, episode.diff()) == end
    assert _applied(middle, episode.diff(snapshot)) == end
    assert episode.diff(episode.snapshot()) == ()
    assert episode.broken_foreign_keys() == 0
    for change in (*episode.diff(), *episode.diff(snapshot)):
        assert change.before != change.after


def _applied(state, changes):
    keys = {table.name: table.primary_key for table in ENGINE.tables}
    found = {
        table: {tuple(row[column] for column in keys[table]): row for row in rows} for table, rows in state.items()
    }
    for change in changes:
        key = tuple(change.key[column] for column in keys[change.table])
        row = found[change.table].pop(key, None)
        if change.before is not None:
            assert {column: row[column] for column in change.before} == change.before
        if change.after is not None:
            found[change.table][key] = {**(row or {}), **change.after}
    return {table: [rows[key] for key in sorted(rows)] for table, rows in found.items()}


@settings(max_examples=40, deadline=None)
@given(CALLS)
def test_changes_of_a_call_are_what_a_sqlite_session_sees(calls):
    engine = Engine(library(clock_step_seconds=0))
    episode, twin = engine.open("small"), engine.open("small")
    database = twin._live.database
    database._guard.is_trusted = True  # the session asks for the schema; every text of the pack is known already
    for tool, arguments in calls:
        # A session takes the hook's place, so it watches a twin that makes the same calls.
        session = apsw.Session(database._connection, "main")
        session.attach()
        record, other = episode.call(tool, arguments), twin.call(tool, arguments)
        seen = [(change.name, change.op, change.old, change.new) for change in apsw.Changeset.iter(session.changeset())]
        session.close()
        assert other.observation == record.observation
        assert sorted(seen, key=repr) == sorted((_as_session(change) for change in record.changes), key=repr)


def _as_session(change):
    shape = ENGINE.shapes[change.table]
    images = []
    for image in (change.before, change.after):
        if image is None:
            images.append(None)
            continue
        known = {**image, **change.key} if image is change.before else image
        images.append(tuple(known.get(column, apsw.no_change) for column in shape.columns))
    return change.table, change.kind.upper(), *images


PROGRAM = """
import json, sys
from environments.runtime.engine import Engine
from tests.factories.little_pack import library
episode = Engine(library()).open("small", 3)
out = []
for tool, arguments in json.loads(sys.stdin.read()):
    record = episode.call(tool, arguments)
    out.append([record.status, record.observation, sorted(record.reads), sorted(record.writes)])
print(json.dumps([out, episode.snapshot().decode(), episode.state()]))
"""


def test_the_same_bytes_in_other_processes_under_other_hash_seeds():
    calls = [
        ("draw", {}),
        ("lend", {"member_id": 1, "book_id": "bk-1", "note": "ä"}),
        ("draw", {}),
        ("join", {"name": "Cy", "email": "cy"}),
        ("remove_book", {"book_id": "bk-2", "from": "x"}),
        ("list_books", {}),
    ]
    answers = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=json.dumps(calls),
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[4],
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone},
        ).stdout
        for seed, zone in (("0", "UTC"), ("1", "Asia/Tokyo"), ("77", "America/New_York"))
    }
    assert len(answers) == 1


def test_snapshot_of_a_scenario_of_its_own_holds_it_whole():
    scenario = Scenario("mine", "simple", "2026-05-01T00:00:00Z", 4, {"books": ROWS["books"]})
    first = ENGINE.open(scenario)
    first.call("tag_book", {"book_id": "bk-1", "tags": ["x"]})
    second = Engine(library()).open("small")
    second.restore(first.snapshot())
    assert second.snapshot() == first.snapshot()
    assert second.state() == first.state()
    assert second.now == "2026-05-01T00:01:00Z"


def test_snapshot_of_another_pack_or_no_snapshot_is_refused_and_changes_nothing():
    episode = ENGINE.open("small")
    before = episode.snapshot()
    other = Engine(library(description="another")).open("small").snapshot()
    changed = json.loads(before)
    changed["changes"] = [
        {"table": "books", "key": {"id": "none"}, "kind": "delete", "before": {}, "after": None},
    ]
    for bad in (other, b"", b"[]", b"{}", b'{"format":"x"}', json.dumps(changed).encode()):
        with pytest.raises(EngineError):
            episode.restore(bad)
        assert episode.snapshot() == before


def test_unsorted_answers_do_not_depend_on_how_the_state_was_reached():
    source = "def act(ctx):\n    return {'rows': ctx.db.all('SELECT * FROM loans')}"
    engine = Engine(with_tool(source, effect="read"))
    first = engine.open("small")
    first.call("give_back", {"loan_id": "loan_a"})
    first.call("lend", {"member_id": 1, "book_id": "bk-2"})
    second = engine.open("small")
    second.restore(first.snapshot())
    assert first.call("act", {}).observation == second.call("act", {}).observation


def test_reset_to_another_scenario_and_seed():
    episode = ENGINE.open("small")
    episode.call("draw", {})
    episode.reset("empty", 9)
    assert episode.state() == ENGINE.open("empty", 9).state()
    assert play(episode, [("draw", {})]) == play(ENGINE.open("empty", 9), [("draw", {})])
    with pytest.raises(EngineError, match="no scenario"):
        episode.reset("nowhere")


def test_closing_twice_and_using_a_closed_episode():
    episode = ENGINE.open("small")
    episode.close()
    episode.close()
    with pytest.raises(EngineError, match="closed"):
        episode.call("draw", {})
    episode.reset()
    assert episode.call("draw", {}).status is CallStatus.SUCCESS


def test_two_episodes_never_see_one_another():
    first, second = ENGINE.open("small"), ENGINE.open("small")
    first.call("join", {"name": "x", "email": "x"})
    assert len(second.state()["members"]) == 2
    assert second.diff() == ()


def test_a_scenario_that_does_not_fit_is_refused():
    for rows in (
        {"books": ({"id": "x", "title": None, "copies": 1, "weight": None, "tags": None},)},
        {"loans": ({"id": "x", "member_id": 5, "book_id": "no", "lent_at": "x", "note": None},)},
        {"nothing": ({"id": "x"},)},
    ):
        with pytest.raises(EngineError, match="does not fit"):
            ENGINE.open(Scenario("bad", "simple", "2026-05-01T00:00:00Z", 4, rows))
    with pytest.raises(EngineError, match="does not fit"):
        ENGINE.open(Scenario("bad", "simple", "yesterday", 4, {}))


# Ids


def table(kind, name="orders", form=None):
    return TableInfo(name, "entity", (ColumnInfo("id", kind, False, "exempt", "id", form),), ("id",))


@pytest.mark.parametrize(
    ("ids", "prefix"),
    [
        ([], "ord_"),
        (["ord_0001", "ord_0002"], "ord_"),
        (["ord-2026-01", "ord-2026-02"], "ord-2026-"),
        (["ord-2025-01", "ord-2026-02"], "ord-"),
        (["A12", "A13"], "A"),
        (["K7"], "K"),
        (["12", "13"], "ord_"),
        (["a-1", "b-1"], "ord_"),
    ],
)
def test_text_ids_start_like_those_of_the_scenario(ids, prefix):
    assert id_rule(table("TEXT"), [{"id": value} for value in ids]) == IdRule("text", prefix=prefix)


def test_integer_ids_go_on_from_the_highest_of_the_scenario():
    assert id_rule(table("INTEGER"), [{"id": 4}, {"id": 9}]) == IdRule("integer", highest=9)
    assert id_rule(table("INTEGER"), []) == IdRule("integer", highest=0)
    first = ENGINE.open("small")
    ids = [json.loads(first.call("join", {"name": "x", "email": mail}).observation)["member_id"] for mail in "ab"]
    assert ids == [8, 9]


def test_ids_are_the_nth_of_their_table_and_seed():
    loan = json.loads(ENGINE.open("small").call("lend", {"member_id": 1, "book_id": "bk-1"}).observation)["loan_id"]
    other = json.loads(ENGINE.open("small", 6).call("lend", {"member_id": 1, "book_id": "bk-1"}).observation)["loan_id"]
    assert loan.startswith("loan_")
    assert len(loan) == len("loan_") + 10
    assert loan != other
    ticket = json.loads(ENGINE.open("small").call("draw", {}).observation)["ticket"]
    raw = digest(5, "tickets", 1).hex()
    assert ticket.replace("-", "")[:12] == raw[:12]
    assert ticket[14] == "4"
    assert ticket[19] in "89ab"


def test_shifted_counters_give_other_ids_and_the_same_rest():
    plain, shifted = ENGINE.open("small"), ENGINE.open("small", id_offset=1000)
    calls = [("join", {"name": "x", "email": "x"}), ("lend", {"member_id": 1, "book_id": "bk-1"}), ("draw", {})]
    first, second = play(plain, calls), play(shifted, calls)
    assert json.loads(second[0].observation)["member_id"] == json.loads(first[0].observation)["member_id"] + 1000
    assert json.loads(second[1].observation)["loan_id"] != json.loads(first[1].observation)["loan_id"]
    assert json.loads(second[2].observation)["number"] == json.loads(first[2].observation)["number"]
    assert len(plain.diff()) == len(shifted.diff())
    other = ENGINE.open("small")
    other.restore(shifted.snapshot())
    assert play(other, calls[2:])[0].observation == play(shifted, calls[2:])[0].observation


def test_new_id_of_a_table_with_natural_keys_is_a_failure():
    episode = Engine(with_tool("def act(ctx):\n    return {'id': ctx.new_id('books')}")).open("small")
    assert episode.call("act", {}).status is CallStatus.FAILURE


# Chance and time


def test_chance_does_not_depend_on_the_route():
    direct, around = ENGINE.open("small"), ENGINE.open("small")
    around.call("join", {"name": "x", "email": "x"})
    around.call("get_book", {"book_id": "bk-1"})
    numbers = [
        [json.loads(episode.call("draw", {}).observation)["number"] for _ in range(2)] for episode in (direct, around)
    ]
    assert numbers[0] == numbers[1]
    assert numbers[0][0] != numbers[0][1]


def test_an_agents_now_means_the_episodes_time():
    source = "def act(ctx, *, day):\n    return ctx.db.one('SELECT date(:day) AS day', day=day)"
    inputs = {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}
    engine = Engine(with_tool(source, effect="read", inputs=inputs))
    assert engine.faults == ()
    assert engine.open("small").call("act", {"day": "now"}).observation == '{"day":"2026-03-02"}'


def test_real_columns_stay_real():
    source = (
        "def act(ctx):\n    ctx.db.run('UPDATE books SET weight = 7')\n"
        "    return ctx.db.one('SELECT weight FROM books')"
    )
    record = Engine(with_tool(source)).open("small").call("act", {})
    assert record.observation == '{"weight":7.0}'
    assert {type(change.after["weight"]) for change in record.changes} == {float}


def test_tables_tell_what_equality_needs():
    by_name = {table.name: table for table in ENGINE.tables}
    assert by_name["shelf"].primary_key == ("room", "place")
    assert by_name["members"].unique == (("email",),)
    assert by_name["books"].column("tags").is_json
    assert by_name["books"].column("weight").is_nullable
    assert by_name["tickets"].column("id").format == "uuid"
    assert by_name["loans"].generated_id == "id"
    assert TABLES["loans"].columns["book_id"] == Column()


def test_composite_keys_sort_alike_before_and_after_a_snapshot():
    source = (
        "def act(ctx):\n    for place in (5, 3, 4):\n        for room in ('b', 'a'):\n"
        "            ctx.db.run('INSERT INTO shelf (room, place) VALUES (:room, :place)', room=room, place=place)\n"
        "    return {}"
    )
    engine = Engine(with_tool(source))
    first, second = engine.open("small"), engine.open("small")
    record = first.call("act", {})
    second.restore(first.snapshot())
    assert second.snapshot() == first.snapshot()
    assert second.diff() == first.diff() == record.changes
    assert first.diff(second.snapshot()) == ()


def test_preparing_changes_nothing_and_spares_the_calls_the_work():
    engine = Engine(library())
    plain, prepared = engine.open("small"), engine.open("small")
    prepared.prepare()
    connection = prepared._live.database._connection
    before = connection.cache_stats()["misses"]
    calls = [("get_book", {"book_id": "bk-1"}), ("lend", {"member_id": 1, "book_id": "bk-1"}), ("draw", {})]
    assert play(prepared, calls) == play(plain, calls)
    assert prepared.snapshot() == plain.snapshot()
    assert connection.cache_stats()["misses"] - before <= 1
