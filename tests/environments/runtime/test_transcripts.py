"""Transcripts and snapshots as bytes: written, read back, played again, and the same as the golden files."""

import json
import os
from pathlib import Path

import pytest

from environments.runtime.pack.model import Scenario
from environments.runtime.sandbox.pool import WorkerPool
from environments.runtime.session import Environment, ReplayError, SessionError
from environments.runtime.transcripts import read_transcript, write_transcript
from tests.factories.little_pack import ROWS, library

GOLDEN = Path(__file__).parent / "golden"
CALLS = [
    ("get_book", {"book_id": "bk-1"}),
    ("lend", {"member_id": 1, "book_id": "bk-1", "note": "für Anna"}),
    ("lend", {"member_id": 7, "book_id": "bk-1"}),
    ("lend", {"member_id": "1", "book_id": "bk-1"}),
    ("nothing", {}),
    ("draw", {}),
    ("draw", {}),
    ("join", {"name": "Cy", "email": "cy@example.org"}),
    ("remove_book", {"book_id": "bk-2", "from": "the shelf"}),
    ("tag_book", {"book_id": "bk-1", "tags": ["moss", "green"]}),
]


@pytest.fixture(scope="module")
def pool():
    with WorkerPool() as found:
        yield found


@pytest.fixture
def session(pool):
    found = Environment(library(), pool).open("small", 11)
    found.calls(CALLS)
    yield found
    found.close()


def golden(name, text):
    """Holds bytes against a file; REGENERATE_GOLDEN=1 writes it, which a change of format has to justify."""
    path = GOLDEN / name
    if os.environ.get("REGENERATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text)
    assert path.read_bytes() == text


def test_the_transcript_is_the_golden_one(session):
    golden("transcript.json", write_transcript(session))


def test_the_snapshot_is_the_golden_one(session):
    golden("snapshot.json", session.snapshot())


def test_the_golden_transcript_plays_to_the_golden_snapshot(pool):
    transcript = read_transcript((GOLDEN / "transcript.json").read_bytes())
    environment = Environment(library(), pool)
    played = transcript.replay(environment, ("snapshot",))
    assert played.snapshot == (GOLDEN / "snapshot.json").read_bytes()


def test_a_transcript_is_read_as_written(session):
    transcript = read_transcript(write_transcript(session))
    assert transcript.start == session.start
    for record, again in zip(session.transcript, transcript.records, strict=True):
        assert (record.index, record.tool, record.arguments, record.status, record.code) == (
            again.index, again.tool, again.arguments, again.status, again.code,
        )  # fmt: skip
        assert (record.observation, record.changes) == (again.observation, again.changes)
        assert (record.reads, record.writes, record.condition_reads) == (
            again.reads, again.writes, again.condition_reads,
        )  # fmt: skip


def test_a_transcript_of_a_start_of_its_own_and_of_a_snapshot(pool, session):
    environment = session.environment
    own = environment.open(Scenario("mine", "simple", "2026-05-01T00:00:00Z", 4, {"books": ROWS["books"]}))
    own.call("tag_book", {"book_id": "bk-1", "tags": []})
    assert read_transcript(write_transcript(own)).replay(environment).diff == own.diff()
    own.restore(session.snapshot())
    own.call("draw", {})
    assert read_transcript(write_transcript(own)).replay(environment).diff == own.diff()


def test_a_forged_or_foreign_transcript_is_found(pool, session):
    text = json.loads(write_transcript(session))
    text["records"][5]["observation"] = "{}"
    with pytest.raises(ReplayError):
        read_transcript(json.dumps(text)).replay(session.environment)
    with pytest.raises(SessionError):
        read_transcript(write_transcript(session)).replay(Environment(library(title="Other"), pool))


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{}", b'{"format": "x"}', b'{"format": "envfactory-transcript/1"}', b"5"]
)
def test_what_is_no_transcript(text):
    with pytest.raises(ValueError, match=r"."):
        read_transcript(text)


@pytest.mark.parametrize("arguments", [{"count": 10**69}, {"count": "\ud800"}, {"count": 2**63}, {"\udc00": [2**64]}])
def test_arguments_that_no_frame_carries_come_back_as_they_were(session, arguments):
    refused = session.call("draw", arguments)
    assert refused.code == "invalid_arguments"

    transcript = read_transcript(write_transcript(session))

    assert transcript.records[-1].arguments == arguments
    assert transcript.records[-1].observation == refused.observation
    assert transcript.replay(session.environment).diff == session.diff()
