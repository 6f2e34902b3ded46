"""Frames: what goes out comes in, and nothing that is no message ever passes or raises anything else."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.runtime.records import CallRecord, CallStatus, ChangeKind, RowChange
from environments.runtime.sandbox import frames
from environments.runtime.sketches import SketchArgument, SketchClass, SketchFunction, SketchListing

LIMIT = 1 << 20
RECORD = CallRecord(
    index=3,
    tool="add_seed",
    arguments={"name": "rye"},
    status=CallStatus.SUCCESS,
    code=None,
    observation='{"id":13}',
    changes=(RowChange("seeds", {"id": 13}, ChangeKind.INSERT, None, {"id": 13, "name": "rye", "grams": None}),),
    reads=frozenset({("seeds", "id")}),
    writes=frozenset({("seeds", "id"), ("seeds", "name")}),
    condition_reads=frozenset({("seeds", "grams")}),
    microseconds=12.5,
)
REPLIES: list[frames.Reply] = [
    frames.Hello(frames.PROTOCOL, {"seccomp": "on"}, [], "3.11", "3.54"),
    frames.Locked("seccomp", "ENOSYS"),
    frames.Loaded(1, [], []),
    frames.Done(2),
    frames.Answered(3, [frames.from_record(RECORD), frames.Broken("timeout", "slow")]),
    frames.Held(4, [{"seeds": [{"id": 1, "name": "a", "grams": 2.5}]}], [RECORD.changes], [b"x"]),
    frames.Sketched(
        4,
        SketchListing(
            "All.",
            (
                SketchFunction(
                    "f", "", 1, False, (SketchArgument("a", "positional", "int", True, "1"),), None, "", ("x",)
                ),
            ),
            (SketchClass("A", ("B",), "", (), ()),),
        ),
    ),
    frames.Refused(5, "EngineError", "no"),
    frames.Ended(6, "signal", 11, b""),
]
JSON_LIKE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)


def test_record_is_whole_when_it_crossed() -> None:
    answered = frames.decode_reply(frames.encode(frames.Answered(1, [frames.from_record(RECORD)]), LIMIT)[4:])
    assert isinstance(answered, frames.Answered)
    (outcome,) = answered.outcomes
    assert isinstance(outcome, frames.Recorded)
    assert frames.to_record(outcome, 3, RECORD.tool, RECORD.arguments) == RECORD


@pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: type(reply).__name__)
def test_reply_comes_back_the_same(reply: frames.Reply) -> None:
    encoded = frames.encode(reply, LIMIT)
    assert frames.body_length(encoded[:4], LIMIT) == len(encoded) - 4
    assert frames.decode_reply(encoded[4:]) == reply


def decode_or_refuse(body: bytes) -> None:
    for decode in (frames.decode_reply, frames.decode_request, frames.decode_result):
        try:
            decode(body)
        except frames.FrameError:
            continue


@given(st.binary(max_size=300))
@settings(max_examples=500)
def test_any_bytes_are_a_message_or_a_frame_error(body: bytes) -> None:
    decode_or_refuse(body)


@given(JSON_LIKE)
@settings(max_examples=500)
def test_any_value_is_a_message_or_a_frame_error(value: object) -> None:
    try:
        body = msgspec.msgpack.encode(value)
    except (OverflowError, UnicodeEncodeError):
        return
    decode_or_refuse(body)


@given(st.sampled_from(REPLIES), st.data())
@settings(max_examples=500)
def test_damaged_replies_are_messages_or_frame_errors(reply: frames.Reply, data: st.DataObject) -> None:
    body = bytearray(frames.encode(reply, LIMIT)[4:])
    for _ in range(data.draw(st.integers(1, 6))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    decode_or_refuse(bytes(body[: data.draw(st.integers(0, len(body)))]))
    decode_or_refuse(bytes(body))


@given(st.sampled_from(REPLIES), JSON_LIKE)
@settings(max_examples=300)
def test_fields_of_another_type_are_refused(reply: frames.Reply, value: object) -> None:
    fields = msgspec.msgpack.decode(frames.encode(reply, LIMIT)[4:])
    fields[-1] = value
    try:
        body = msgspec.msgpack.encode(fields)
    except (OverflowError, UnicodeEncodeError):
        return
    decode_or_refuse(body)
    fields.append(value)
    with pytest.raises(frames.FrameError):
        frames.decode_reply(msgspec.msgpack.encode(fields))


@pytest.mark.parametrize("value", [2**64, "\ud800", object(), {1, 2}], ids=["large", "half", "object", "set"])
def test_value_that_no_frame_carries_is_a_frame_error(value: object) -> None:
    call = frames.Call(1, "add_seed", {"name": value if not isinstance(value, set) else [object()]})
    with pytest.raises(frames.FrameError):
        frames.encode(frames.Calls(1, [call]), LIMIT)


def test_nesting_beyond_any_stack_is_a_frame_error() -> None:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(frames.FrameError):
        frames.encode(frames.Calls(1, [frames.Call(1, "x", {"value": value})]), LIMIT)
    with pytest.raises(frames.FrameError):
        frames.decode_reply(b"\x91" * 1_000_000)


def test_frame_of_more_than_the_limit_is_refused_both_ways() -> None:
    with pytest.raises(frames.FrameError):
        frames.encode(frames.Load(1, bytes(LIMIT)), LIMIT)
    for length in (0, LIMIT + 1, 2**32 - 1):
        with pytest.raises(frames.FrameError):
            frames.body_length(length.to_bytes(4, "little"), LIMIT)
