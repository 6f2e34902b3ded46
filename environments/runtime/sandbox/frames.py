"""What host and worker say to each other: a length in four bytes, then one msgpack message of a known shape.

Both sides decode into typed structs and accept nothing else. The worker does so because a bug of ours must not look
like its own; the host because whatever comes out of a worker is data from an attacker. There is no resynchronising:
a frame that is too long, of another shape, or with another sequence number ends the worker.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeVar

import msgspec

from environments.runtime.faults import Fault
from environments.runtime.pack.model import Scenario
from environments.runtime.records import CallRecord, CallStatus, ColumnRef, Explanation, RowChange, Value
from environments.runtime.sketches import SketchListing
from environments.runtime.tables import TableInfo

PROTOCOL: Final = 1
HEADER_BYTES: Final = 4
State = dict[str, list[dict[str, Value]]]
"""Rows by key in each table."""
Message = TypeVar("Message")


class FrameError(ValueError):
    """Bytes that are no message of the protocol."""


class _Message(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A message is an array: its tag, then its fields in order."""


# Host to worker


class Start(_Message, frozen=True):
    """Where an episode begins: a scenario of the pack by name or a whole one, a seed, and perhaps a later snapshot.

    `id_offset` lifts every id counter (the conformance check that no id is copied into text).
    """

    scenario: str | Scenario
    seed: int | None = None
    snapshot: bytes | None = None
    id_offset: int = 0


class Opening(_Message, frozen=True):
    """An episode to open or to reset."""

    episode: int
    start: Start


class Call(_Message, frozen=True):
    """One call of a tool in an episode."""

    episode: int
    tool: str
    arguments: dict[str, Any]


class Load(_Message, frozen=True, tag="load"):
    """The pack, as `encode_pack` writes it; `is_gated` is off only where tests assume that the gate was bypassed.

    `content_sha256` is its identity where the host knows it; finding it out takes longer than loading.
    """

    seq: int
    pack: bytes
    is_gated: bool = True
    content_sha256: str | None = None


class Open(_Message, frozen=True, tag="open"):
    """Open episodes under new numbers."""

    seq: int
    openings: list[Opening]


class Reset(_Message, frozen=True, tag="reset"):
    """Put open episodes at a start."""

    seq: int
    openings: list[Opening]


class Calls(_Message, frozen=True, tag="calls"):
    """Calls in order; those of one episode are never reordered."""

    seq: int
    calls: list[Call]


class Ask(_Message, frozen=True, tag="ask"):
    """What episodes hold: their state, what changed (since a snapshot), or a snapshot; or close them."""

    seq: int
    what: Literal["state", "diff", "snapshot", "close"]
    episodes: list[int]
    since: bytes | None = None


class Transaction(_Message, frozen=True, tag="transaction"):
    """One episode from its start to its end in a forked child that nothing survives.

    With `explains` its last call is explained before it is made, and only that call's outcome is sent.
    """

    seq: int
    start: Start
    calls: list[Call]
    seconds: float
    wants: list[Literal["state", "diff", "snapshot"]]
    explains: bool = False


class Sketch(_Message, frozen=True, tag="sketch"):
    """A Python source, to be listed and not run; a worker that does this needs no pack."""

    seq: int
    source: bytes


class Ping(_Message, frozen=True, tag="ping"):
    """Asks for a sign of life."""

    seq: int


Request = Load | Open | Reset | Calls | Ask | Transaction | Sketch | Ping


# Worker to host


class Hello(_Message, frozen=True, tag="hello"):
    """The first frame: what the worker reached before it would read anything."""

    protocol: int
    layers: dict[str, str]
    holes: list[str]
    python: str
    sqlite: str


class Locked(_Message, frozen=True, tag="refused_lock"):
    """Instead of hello: the required layer that is not to be had."""

    layer: str
    message: str


class Recorded(_Message, frozen=True, tag="r"):
    """A finished call: CallRecord without what the host knows itself.

    `failure` is why a failure failed (reason and detail): for reports and logs, kept apart from the record, which an
    agent's data may hold.
    """

    status: CallStatus
    code: str | None
    observation: str
    changes: tuple[RowChange, ...]
    reads: frozenset[ColumnRef]
    writes: frozenset[ColumnRef]
    condition_reads: frozenset[ColumnRef]
    microseconds: float
    failure: tuple[str, str] | None = None


class Broken(_Message, frozen=True, tag="b"):
    """A call that did not finish; its episode is closed in the worker."""

    kind: Literal["timeout", "memory", "lost"]
    message: str


Outcome = Recorded | Broken


class Loaded(_Message, frozen=True, tag="loaded"):
    """The pack is in: the worker's half of its validation."""

    seq: int
    faults: list[Fault]
    tables: list[TableInfo]


class Done(_Message, frozen=True, tag="done"):
    """Nothing to say but that it is done."""

    seq: int


class Answered(_Message, frozen=True, tag="answered"):
    """One outcome for each call, in order."""

    seq: int
    outcomes: list[Outcome]


class Held(_Message, frozen=True, tag="held"):
    """What was asked for, one for each episode; the lists that were not asked for are empty."""

    seq: int
    states: list[State]
    diffs: list[tuple[RowChange, ...]]
    snapshots: list[bytes]


class Sketched(_Message, frozen=True, tag="sketched"):
    """What a source declares."""

    seq: int
    listing: SketchListing


class Refused(_Message, frozen=True, tag="refused"):
    """A request that names something the worker does not have, or that failed; nothing was lost by it."""

    seq: int
    kind: str
    message: str


class Ended(_Message, frozen=True, tag="ended"):
    """How a transaction's child ended, by its zygote's word, and what the child wrote (an encoded Result)."""

    seq: int
    end: Literal["ok", "timeout", "exit", "signal", "too_big", "silent"]
    number: int
    result: bytes


class Result(_Message, frozen=True, tag="result"):
    """What a transaction's child says."""

    outcomes: list[Outcome]
    state: State | None
    diff: tuple[RowChange, ...] | None
    snapshot: bytes | None
    refusal: str | None = None
    explanation: Explanation | None = None


Reply = Hello | Locked | Loaded | Done | Answered | Held | Sketched | Refused | Ended

_encoder = msgspec.msgpack.Encoder()
_requests = msgspec.msgpack.Decoder(Request)
_replies = msgspec.msgpack.Decoder(Reply)
_results = msgspec.msgpack.Decoder(Result)


def encode(message: Request | Reply, limit_bytes: int) -> bytes:
    """The frame of a message, header and all.

    Raises:
        FrameError: As encode_result.
    """
    body = encode_result(message, limit_bytes)
    return len(body).to_bytes(HEADER_BYTES, "little") + body


def encode_result(message: Request | Reply | Result, limit_bytes: int) -> bytes:
    """A message without a header, for a pipe that ends after it.

    Raises:
        FrameError: It has a value that no frame can carry (an integer of more than 64 bits, a lone surrogate, a value
            of another type than JSON has) or is too long.
    """
    try:
        body = _encoder.encode(message)
    except (OverflowError, UnicodeEncodeError, TypeError, ValueError, RecursionError) as error:
        raise FrameError(f"not to be encoded: {error}") from error
    if len(body) > limit_bytes:
        raise FrameError(f"{len(body)} bytes, more than the {limit_bytes} of a frame")
    return body


def body_length(header: bytes, limit_bytes: int) -> int:
    """How long the message after this header is.

    Raises:
        FrameError: Longer than any frame may be, or empty.
    """
    length = int.from_bytes(header, "little")
    if not 0 < length <= limit_bytes:
        raise FrameError(f"a frame of {length} bytes")
    return length


def decode_request(body: bytes) -> Request:
    """A message from the host.

    Raises:
        FrameError: It is none.
    """
    return _decode(_requests, body)


def decode_reply(body: bytes) -> Reply:
    """A message from a worker, not believed beyond its shape.

    Raises:
        FrameError: It is none.
    """
    return _decode(_replies, body)


def decode_result(body: bytes) -> Result:
    """What a transaction's child wrote, not believed beyond its shape.

    Raises:
        FrameError: It is none.
    """
    return _decode(_results, body)


def _decode(decoder: "msgspec.msgpack.Decoder[Message]", body: bytes) -> Message:
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, TypeError) as error:
        raise FrameError(str(error)[:200]) from error


def to_record(outcome: Recorded, index: int, tool: str, arguments: Mapping[str, Any]) -> CallRecord:
    """The record of a finished call; the call and its position are the host's word, not the worker's.

    The worker's own index starts anew at a restored snapshot, which counts successes only.
    """
    return CallRecord(
        index=index,
        tool=tool,
        arguments=arguments,
        status=outcome.status,
        code=outcome.code,
        observation=outcome.observation,
        changes=outcome.changes,
        reads=outcome.reads,
        writes=outcome.writes,
        condition_reads=outcome.condition_reads,
        microseconds=outcome.microseconds,
    )


def from_record(record: CallRecord, failure: tuple[str, str] | None = None) -> Recorded:
    """What of a record the host does not know, and why the call failed if it did."""
    return Recorded(
        record.status,
        record.code,
        record.observation,
        record.changes,
        record.reads,
        record.writes,
        record.condition_reads,
        record.microseconds,
        failure,
    )
