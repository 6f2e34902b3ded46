"""A session's transcript as bytes: enough to play it again, byte for byte, in any process (docs/contracts.md, C5).

`format = "envfactory-transcript/1"`: `{format, content_sha256, start: {scenario, seed, snapshot}, records: [...]}`,
JSON with sorted names and no spaces. Times are left out: two runs of the same calls have the same bytes.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from environments.runtime.net_changes import change_from_json, change_to_json
from environments.runtime.pack.model import Scenario
from environments.runtime.records import CallRecord, CallStatus, ColumnRef
from environments.runtime.session import Environment, Played, Session, SessionError, Start, Want, replay

FORMAT = "envfactory-transcript/1"
_ONLY_PYTHON = re.compile(rb"\d{19}|\\ud[89a-f]", re.IGNORECASE)
"""What orjson reads as a float or refuses: maybe an integer beyond 64 bits, maybe half of a surrogate pair."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A stored transcript.

    Attributes:
        content_sha256: Of the pack that it was made with.
        start: Where it begins.
        records: Its calls; their times are 0.
    """

    content_sha256: str
    start: Start
    records: tuple[CallRecord, ...]

    def replay(self, environment: Environment, wants: tuple[Want, ...] = ("diff",)) -> Played:
        """Plays it again in a forked child.

        Raises:
            SessionError: The environment is another version.
            ReplayError: An observation differs.
        """
        if environment.content_sha256 != self.content_sha256:
            raise SessionError("the transcript is of another version of the environment")
        return replay(environment, self.start, self.records, wants)


def write_transcript(session: Session) -> bytes:
    """The session's transcript as bytes."""
    return dump_transcript(Transcript(session.environment.content_sha256, session.start, tuple(session.transcript)))


def dump_transcript(transcript: Transcript) -> bytes:
    """A transcript as bytes."""
    return dump_records(transcript.content_sha256, transcript.start, transcript.records)


def dump_records(content_sha256: str, start: Start, records: Iterable[CallRecord]) -> bytes:
    """A transcript as bytes, from records that need not all be in memory."""
    scenario = start.scenario
    begins = {
        "scenario": scenario if isinstance(scenario, str) else _scenario_to_json(scenario),
        "seed": start.seed,
        "snapshot": None if start.snapshot is None else start.snapshot.decode(),
    }
    head = _dumps({"content_sha256": content_sha256, "format": FORMAT})[:-1]
    listed = b",".join(_dumps(record_to_json(record)) for record in records)
    return b"".join((head, b',"records":[', listed, b'],"start":', _dumps(begins), b"}"))


def _dumps(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # arguments that were refused as such: integers beyond 64 bits, halves of surrogate pairs
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def read_transcript(text: bytes | str) -> Transcript:
    """The transcript that `write_transcript` wrote.

    Raises:
        ValueError: It is none.
    """
    try:
        encoded = text.encode() if isinstance(text, str) else text
        whole = (json if _ONLY_PYTHON.search(encoded) else orjson).loads(encoded)
        if whole["format"] != FORMAT:
            raise ValueError(f"a transcript of format {whole['format']!r}, not {FORMAT}")
        start = whole["start"]
        scenario, snapshot = start["scenario"], start["snapshot"]
        return Transcript(
            whole["content_sha256"],
            Start(
                scenario if isinstance(scenario, str) else _scenario_from_json(scenario),
                start["seed"],
                None if snapshot is None else snapshot.encode(),
            ),
            tuple(record_from_json(record) for record in whole["records"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a transcript: {error}") from None


def record_to_json(record: CallRecord) -> dict[str, Any]:
    """A record as JSON, without the time that it took; sets are sorted lists."""
    return {
        "index": record.index,
        "tool": record.tool,
        "arguments": dict(record.arguments),
        "status": record.status.value,
        "code": record.code,
        "observation": record.observation,
        "changes": [change_to_json(change) for change in record.changes],
        "reads": _columns_to_json(record.reads),
        "writes": _columns_to_json(record.writes),
        "condition_reads": _columns_to_json(record.condition_reads),
    }


def record_from_json(value: Mapping[str, Any]) -> CallRecord:
    """The record that `record_to_json` wrote.

    Raises:
        ValueError: A status or kind that there is not.
        KeyError: A part is missing.
    """
    return CallRecord(
        index=value["index"],
        tool=value["tool"],
        arguments=value["arguments"],
        status=CallStatus(value["status"]),
        code=value["code"],
        observation=value["observation"],
        changes=tuple(change_from_json(change) for change in value["changes"]),
        reads=_columns_from_json(value["reads"]),
        writes=_columns_from_json(value["writes"]),
        condition_reads=_columns_from_json(value["condition_reads"]),
    )


def _columns_to_json(columns: Iterable[ColumnRef]) -> list[ColumnRef]:
    return sorted(columns)


def _columns_from_json(columns: Iterable[Any]) -> frozenset[ColumnRef]:
    return frozenset((str(table), str(column)) for table, column in columns)


def _scenario_to_json(scenario: Scenario) -> dict[str, Any]:
    return {
        "name": scenario.name,
        "level": scenario.level,
        "clock_start": scenario.clock_start,
        "seed": scenario.seed,
        "rows": {table: [dict(row) for row in rows] for table, rows in scenario.rows.items()},
    }


def _scenario_from_json(value: Mapping[str, Any]) -> Scenario:
    rows = {table: tuple(rows) for table, rows in value["rows"].items()}
    return Scenario(value["name"], value["level"], value["clock_start"], value["seed"], rows)
