"""Snapshots that anybody may have written: what is no state of the pack is refused, and nothing has changed."""

import contextlib
import copy
import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from environments.runtime.engine import Engine
from environments.runtime.engine.errors import EngineError
from environments.runtime.records import CallStatus
from tests.factories.little_pack import library

ENGINE = Engine(library())


def played():
    """An episode with an insert, an update and a delete in it, and a moved clock."""
    episode = ENGINE.open("small")
    for tool, arguments in (
        ("lend", {"member_id": 1, "book_id": "bk-1"}),
        ("give_back", {"loan_id": "loan_a"}),
        ("draw", {}),
    ):
        assert episode.call(tool, arguments).status is CallStatus.SUCCESS
    return episode


SNAPSHOT = json.loads(played().snapshot())


def change(document, table, kind):
    return next(each for each in document["changes"] if (each["table"], each["kind"]) == (table, kind))


def with_change(**parts):
    """Adds one change to a snapshot."""

    def edit(document):
        document["changes"].append({"before": None, "after": None, **parts})

    return edit


def with_image(table, kind, **columns):
    """Overwrites columns of a changed row's new image."""
    return lambda document: change(document, table, kind)["after"].update(columns)


MEMBER = {"id": 9, "name": "Cy", "email": "cy@example.org", "is_active": 1}
EDITS: dict[str, Callable[[dict], object]] = {
    "a row whose CHECK does not hold": with_change(
        table="members", kind="insert", key={"id": 9}, after={**MEMBER, "is_active": 7}
    ),
    "a row that is there twice": with_change(
        table="members", kind="insert", key={"id": 1}, after={**MEMBER, "id": 1}
    ),
    "a value that is unique": with_change(
        table="members", kind="insert", key={"id": 9}, after={**MEMBER, "email": "ada@example.org"}
    ),
    "a foreign key to nothing": with_image("loans", "insert", book_id="none"),
    "text that is no JSON": with_change(
        table="books", kind="update", key={"id": "bk-2"}, before={"tags": '["green"]'}, after={"tags": "{"}
    ),
    "a row of another key": with_change(table="members", kind="insert", key={"id": 10}, after=MEMBER),
    "a key that is null": with_change(table="members", kind="insert", key={"id": None}, after={**MEMBER, "id": None}),
    "a key of another type": with_change(table="members", kind="insert", key={"id": 9.0}, after={**MEMBER, "id": 9}),
    "a key of other columns": with_change(table="members", kind="insert", key={"name": "Cy"}, after=MEMBER),
    "a key of more columns": with_change(table="members", kind="insert", key={"id": 9, "name": "Cy"}, after=MEMBER),
    "a text that looks like a key": with_change(
        table="members", kind="delete", key={"id": "1"}, before={**MEMBER, "id": 1}
    ),
    "a column too few": with_change(table="tickets", kind="insert", key={"id": "x"}, after={"id": "x"}),
    "a column that there is not": with_change(
        table="shelf", kind="insert", key={"room": "west", "place": 1}, after={"room": "west", "place": 1, "x": None}
    ),
    "a column too many": with_image("loans", "insert", x=1),
    "text where a number belongs": with_image("books", "update", copies="1"),
    "a number where text belongs": with_image("loans", "insert", note=5),
    "an integer past 2^53": with_image("tickets", "insert", number=2**53 + 1),
    "an integer past 64 bits": with_image("tickets", "insert", number=10**69),
    "a boolean": with_image("tickets", "insert", number=True),
    "a list": with_image("loans", "insert", note=["x"]),
    "null where there is none": with_image("loans", "insert", lent_at=None),
    "a value of a megabyte and more": with_image("loans", "insert", note="x" * (1 << 21)),
    "an insert with an image before": lambda document: change(document, "loans", "insert").update(before={}),
    "an insert without an image": lambda document: change(document, "loans", "insert").update(after=None),
    "an update of nothing": with_change(
        table="books", kind="update", key={"id": "none"}, before={"copies": 1}, after={"copies": 2}
    ),
    "an update from another value": with_change(
        table="books", kind="update", key={"id": "bk-2"}, before={"title": "Moss"}, after={"title": "x"}
    ),
    "an update to the same value": with_change(
        table="books", kind="update", key={"id": "bk-2"}, before={"title": "Fern"}, after={"title": "Fern"}
    ),
    "an update of a key": with_change(
        table="members", kind="update", key={"id": 7}, before={"id": 7}, after={"id": 8}
    ),
    "an update without columns": with_change(
        table="members", kind="update", key={"id": 7}, before={}, after={}
    ),
    "an update with a column of its own": with_change(
        table="members", kind="update", key={"id": 7}, before={"name": "Bo"}, after={"x": 1}
    ),
    "a delete of nothing": with_change(table="members", kind="delete", key={"id": 99}, before=MEMBER),
    "a delete of another image": with_change(table="members", kind="delete", key={"id": 7}, before=MEMBER),
    "a delete with an image after": lambda document: change(document, "loans", "delete").update(after=MEMBER),
    "one row twice": lambda document: document["changes"].append(change(document, "loans", "insert")),
    "a table that there is not": with_change(table="sqlite_schema", kind="delete", key={"name": "x"}, before={}),
    "a table's name with SQL in it": with_change(
        table='members" WHERE 1=1; --', kind="insert", key={"id": 9}, after=MEMBER
    ),
    "a column's name with SQL in it": with_change(
        table="members", kind="insert", key={"id": 9}, after={**MEMBER, 'x") VALUES (1); --': 1}
    ),
    "a kind that there is not": with_change(table="members", kind="replace", key={"id": 9}, after=MEMBER),
    "a clock before the start": lambda document: document.update(clock="2026-03-02T08:59:00Z"),
    "a clock beyond the calls": lambda document: document.update(clock="2026-03-02T09:04:00Z"),
    "a clock between two steps": lambda document: document.update(clock="2026-03-02T09:01:30Z"),
    "a clock at the end of time": lambda document: document.update(clock="9999-12-31T23:59:00Z"),
    "a clock in another form": lambda document: document.update(clock="2026-3-2T9:3:0Z"),
    "a clock that is none": lambda document: document.update(clock="soon"),
    "ids of a table without": lambda document: document.update(ids={"books": 1}),
    "a negative count of ids": lambda document: document.update(ids={"loans": -1}),
    "ids past all bounds": lambda document: document.update(ids={"members": 2**62}),
    "a count of equal calls by another key": lambda document: document.update(equal_calls={"draw": 1}),
    "a negative count of equal calls": lambda document: document.update(equal_calls={"0" * 64: -1}),
    "a negative count of calls": lambda document: document.update(num_calls=-1),
    "a fraction of a call": lambda document: document.update(num_calls=1.5),
    "a seed past 64 bits": lambda document: document.update(seed=2**63),
    "a negative offset": lambda document: document.update(id_offset=-1),
    "a scenario that there is not": lambda document: document.update(scenario="none"),
    "a scenario that is none": lambda document: document.update(scenario={"rows": 5}),
    "another hash": lambda document: document.update(content_sha256="0" * 64),
    "another format": lambda document: document.update(format="envfactory-snapshot/2"),
    "changes that are none": lambda document: document.update(changes={"a": 1}),
    "a change that is none": lambda document: document["changes"].append([]),
    "a change without its parts": lambda document: document["changes"].append({}),
}  # fmt: skip


def edited(edit):
    document = copy.deepcopy(SNAPSHOT)
    edit(document)
    return json.dumps(document).encode()


@pytest.mark.parametrize("what", EDITS)
def test_snapshot_with_it_is_refused_and_nothing_changes(what):
    episode = played()
    before, state = episode.snapshot(), episode.state()

    with pytest.raises(EngineError):
        episode.restore(edited(EDITS[what]))

    assert (episode.snapshot(), episode.state()) == (before, state)


@pytest.mark.parametrize("what", EDITS)
def test_difference_to_it_is_refused_or_told(what):
    episode = played()
    before = episode.snapshot()

    with contextlib.suppress(EngineError):
        episode.diff(edited(EDITS[what]))

    assert episode.snapshot() == before


@pytest.mark.parametrize(
    "text",
    [
        b"", b"null", b"\xff\xfe", b"[" * 100_000, b'{"changes":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        json.dumps({**SNAPSHOT, "more": None}).encode().replace(b"null", b'{"x":' * 5_000 + b"1" + b"}" * 5_000),
        json.dumps(SNAPSHOT).encode()[:-1], json.dumps(SNAPSHOT).encode() + b"x",
        json.dumps(SNAPSHOT).encode().replace(b"bk-1", b"\\ud800"), json.dumps({**SNAPSHOT, "seed": 1e999}).encode(),
    ],
)  # fmt: skip
def test_bytes_that_are_no_snapshot_are_refused(text):
    episode = ENGINE.open("small")

    with pytest.raises(EngineError):
        episode.restore(text)
    with pytest.raises(EngineError):
        episode.diff(text)


def test_snapshot_in_another_order_and_form_is_the_same_state():
    document = copy.deepcopy(SNAPSHOT)
    document["changes"].reverse()
    text = json.dumps(dict(reversed(document.items())), indent=3).encode()
    episode = ENGINE.open("empty")

    episode.restore(text)

    assert episode.snapshot() == played().snapshot()


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5)
)
JSON = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_part_may_be_anything(data):
    document = copy.deepcopy(SNAPSHOT)
    path = data.draw(st.sampled_from([path for path in places(document) if path]))
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = data.draw(JSON)
    episode = played()
    before = episode.snapshot()

    try:
        episode.restore(json.dumps(document).encode())
    except EngineError:
        assert episode.snapshot() == before
    else:
        # What is taken is a state like any other: it can be written, read and played.
        again = ENGINE.open("empty")
        again.restore(episode.snapshot())
        assert (again.snapshot(), again.state()) == (episode.snapshot(), episode.state())
        assert episode.broken_foreign_keys() == 0
        assert episode.call("draw", {}).status in {CallStatus.SUCCESS, CallStatus.FAILURE}
