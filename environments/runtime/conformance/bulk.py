"""The same rules for the many packs of a compiler: each shown once, with few frames and one worker.

What the full suite shows by looking at the state after each call, this one shows by playing the successful writes
alone beside the whole run: reads and refused calls that changed anything, took an id or moved the clock would make the
two end differently. What it shows by episodes of its own in a used worker, this one shows by the first scenario once
more after everything else was played there, against a forked child of another process.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from environments.runtime.conformance.checker import ID_SHIFT, Checker, literals, short
from environments.runtime.conformance.model import Check, Depth
from environments.runtime.fuzz import CallFuzzer
from environments.runtime.pack.model import CaseCall, Scenario
from environments.runtime.records import CallRecord, CallStatus
from environments.runtime.references import resolve
from environments.runtime.session import Call, Environment, Session, Start, State, call_many
from environments.runtime.tables import TableInfo

MAX_EXPLAINED = 20
"""Failures whose reason is looked up; the others are told as the agent sees them."""


@dataclass(frozen=True, slots=True)
class _Played:
    """A scenario's run.

    Attributes:
        calls: As drawn, with references.
        frames: How many of them went together, frame by frame.
        made: As made.
        records: What came of them.
        state: The rows at the end.
        num_shiftable: Calls from the first on of which none holds, by chance, a new row's id as a value of its own.
    """

    calls: tuple[CaseCall, ...]
    frames: tuple[int, ...]
    made: tuple[Call, ...]
    records: tuple[CallRecord, ...]
    state: State
    num_shiftable: int


class BulkChecker(Checker):
    """Plays a compiled pack."""

    def __init__(self, environment: Environment, tables: Sequence[TableInfo], depth: Depth) -> None:
        super().__init__(environment, tables)
        self._depth = depth
        self._called = {tool.name: 0 for tool in environment.pack.tools}
        self._num_explained = 0
        self._first: tuple[Scenario, _Played] | None = None

    def check_scenario(self, scenario: Scenario, num_calls: int, seed: int) -> None:
        """Everything that is checked from one start."""
        place = f"scenarios/{scenario.name}"
        pack = self._environment.pack
        session, other = self._environment.open_many([(scenario.name, None), (scenario.name, None)])
        try:
            rows = session.state()
            if other.state() != rows:
                self.add(Check.RESET, place, "two sessions of one start differ before any call")
            fuzzer = CallFuzzer(pack, self._tables, rows, seed, scenario.name, self._fuzz)
            wanted = -(-self._depth.calls_of_tool * len(pack.tools) // max(1, len(pack.scenarios)))
            played = self._play_together(session, place, fuzzer, max(num_calls, wanted))
            self._check_foreign_keys(played.state, place)
            self._check_again(session, other, scenario, played, place)
            self._check_restore(session, session.snapshot(), place)
            self._check_shifted_together(scenario, rows, played, place)
        finally:
            for one in (session, other):
                one.close()
        self._check_close(session, place)
        if self._first is None:
            self._first = scenario, played

    def finish(self) -> None:
        """The first scenario once more in the worker that has seen everything since, and in another process."""
        if self._first is None:
            return
        scenario, played = self._first
        place = f"scenarios/{scenario.name}"
        session = self._environment.open(scenario.name)
        try:
            records = session.calls(played.made, audience=None)
            if self._compare(Check.LEAK, place, played.records, records) and session.state() != played.state:
                self.add(Check.LEAK, place, "the same calls led to another state in a used worker")
        finally:
            session.close()
        if self._depth.plays_alone:
            self._check_process(Start(scenario.name), played.made, played.records, played.state, place)

    def _play_together(self, session: Session, place: str, fuzzer: CallFuzzer, num_calls: int) -> _Played:
        """Plays calls frame by frame; those of one frame refer to results of earlier frames only."""
        calls: list[CaseCall] = []
        frames: list[int] = []
        results: list[Any] = []
        fresh: set[Any] = set()
        num_shiftable: int | None = None
        while len(calls) < num_calls:
            batch: list[CaseCall] = []
            while len(batch) < min(self._depth.num_together, num_calls - len(calls)):
                least = sorted(self._called, key=lambda name: self._called[name])
                call = fuzzer.next_call(results, least)
                if call is None:
                    break
                self._called[call.tool] += 1
                batch.append(call)
            if not batch:
                break
            made = [(call.tool, resolve(dict(call.arguments), results)) for call in batch]
            records = session.calls(made, audience=None)
            failures = self._failures(session, records)
            for call, record, failure in zip(batch, records, failures, strict=True):
                if num_shiftable is None and literals(call.arguments) & fresh:
                    num_shiftable = len(calls)
                result = orjson.loads(record.observation)
                where = f"{place}/{record.index}/{record.tool}"
                if self._judge_call(failure, record, result, where):
                    self.num_answered += 1
                self._judge_changes(record, where)
                calls.append(call)
                results.append(result)
                fresh |= self._fresh(record.changes)
            frames.append(len(batch))
        records = session.transcript
        return _Played(
            tuple(calls),
            tuple(frames),
            tuple((record.tool, record.arguments) for record in records),
            tuple(records),
            session.state(),
            len(calls) if num_shiftable is None else num_shiftable,
        )

    def _failures(self, session: Session, records: Sequence[CallRecord]) -> list[tuple[str, str] | None]:
        """Why each call failed; a session tells it of its last call only, so the others are made again, alone."""
        failures: list[tuple[str, str] | None] = [None] * len(records)
        for position, record in enumerate(records):
            if record.status is not CallStatus.FAILURE:
                continue
            if record is records[-1]:
                failures[position] = session.failure
            elif self._num_explained < MAX_EXPLAINED:
                self._num_explained += 1
                again = self._environment.open(session.start.scenario)
                try:
                    before = session.transcript[: record.index + 1]
                    again.calls([(one.tool, one.arguments) for one in before], audience=None)
                    failures[position] = again.failure
                finally:
                    again.close()
        return failures

    def _judge_changes(self, record: CallRecord, place: str) -> None:
        if not record.changes:
            return
        tool = self._environment.tool(record.tool, None)
        if record.status is not CallStatus.SUCCESS:
            message = f"a call that ended as {record.status} changed the state"
            self.add(Check.REFUSED_CHANGED, place, message, tool=record.tool)
        elif tool is not None and tool.effect == "read":
            self.add(Check.READ_CHANGED, place, "a tool that reads changed the state", tool=record.tool)

    def _check_again(self, session: Session, other: Session, scenario: Scenario, played: _Played, place: str) -> None:
        """The same calls after a reset, while another session makes those alone that changed something."""
        for one in (session, other):
            one.reset(scenario.name)
        steps = []
        for call, record in zip(played.made, played.records, strict=True):
            steps.append((session, *call))
            if record.changes:
                steps.append((other, *call))
        records = [record for (one, *_), record in zip(steps, call_many(steps, audience=None), strict=True)
                   if one is session]  # fmt: skip
        if self._compare(Check.RESET, place, played.records, records) and session.state() != played.state:
            self.add(Check.RESET, place, "the same calls after a reset led to another state")
        if other.state() != played.state:
            self.add(Check.REFUSED_CHANGED, place, "without its reads and refused calls the run ends in another state")

    def _check_shifted_together(self, scenario: Scenario, rows: State, played: _Played, place: str) -> None:
        """The same calls with every id counter moved on: they end alike and the changes are Equal."""
        shifted = self._environment.open(scenario.name)
        records: list[CallRecord] = []
        results: list[Any] = []
        try:
            start = orjson.loads(shifted.snapshot())
            shifted.restore(orjson.dumps({**start, "id_offset": ID_SHIFT}))
            for size in played.frames:
                batch = played.calls[len(records) : min(len(records) + size, played.num_shiftable)]
                try:
                    made = [(call.tool, resolve(dict(call.arguments), results)) for call in batch]
                except LookupError:
                    where = f"{place}/{len(records)}"
                    self.add(Check.SHIFTED_IDS, where, "an earlier result lacks a part", tool=batch[0].tool)
                    return
                for record in shifted.calls(made, audience=None):
                    before = played.records[len(records)]
                    records.append(record)
                    results.append(orjson.loads(record.observation))
                    if (record.status, record.code) != (before.status, before.code):
                        message = f"with other ids, {short(before)} became {short(record)}"
                        where = f"{place}/{before.index}/{before.tool}"
                        self.add(Check.SHIFTED_IDS, where, message, tool=before.tool)
                        return
        finally:
            shifted.close()
        self._compare_shifted(rows, played.records[: len(records)], records, place)
