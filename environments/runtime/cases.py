"""Runs a pack's verification cases: the one runner that every later verification uses (docs/contracts.md, C2, C6).

Each case starts from a scenario or from rows of its own, makes its calls, and holds if every call gave the status, code
and part of a result that was expected and the net changes equal the expected ones as C6 says. Ids that a case's author
saw are those of the author's run: an id in an expected result stands for its row, so it must be the id of the row that
the comparison pairs with the author's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from environments.runtime.equality import EqualityError, Outcome, StartState, compare, explain
from environments.runtime.pack.model import Case, Pack, Scenario
from environments.runtime.records import CallRecord, CallStatus, ChangeKind, Row, RowChange, Value
from environments.runtime.references import may_hold_references, resolve
from environments.runtime.session import Environment, Session, call_many
from environments.runtime.tables import TableInfo

BATCH = 64
"""Cases that are played at the same time, a call of each in one frame."""
NUM_LANES = 16
"""The same where sessions are reused: fewer, since a new one costs more than a frame."""
_MAX_PROBLEMS = 8
SameRow = tuple[str, tuple[Value, ...], tuple[Value, ...]]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case ended.

    Attributes:
        problems: What was not as expected, one sentence each; empty if the case holds.
        records: Its calls.
        changes: Net changes that it made.
        is_infrastructure: Whether a call was lost by the machinery, so that the case says nothing about the pack.
        failures: Reason and detail of each call that failed, as the worker tells them apart from the records.
        culprit: The tool whose call was not as expected; the case's own where it is the changes that were not.
        again: What the last call did when it was made once more, if that was asked for and it is a success of a tool
            that writes; the case itself had ended before.
    """

    name: str
    tool: str
    kind: str
    problems: tuple[str, ...]
    records: tuple[CallRecord, ...]
    changes: tuple[RowChange, ...]
    is_infrastructure: bool = False
    failures: tuple[tuple[str, str], ...] = ()
    culprit: str = ""
    again: CallRecord | None = None

    @property
    def holds(self) -> bool:
        """Whether everything was as expected."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class CasesResult:
    """How all cases ended, in the order of the pack."""

    cases: tuple[CaseResult, ...]

    @property
    def holds(self) -> bool:
        """Whether every case holds."""
        return all(case.holds for case in self.cases)

    @property
    def failed(self) -> tuple[CaseResult, ...]:
        """The cases that do not hold."""
        return tuple(case for case in self.cases if not case.holds)

    def by_tool(self) -> dict[str, tuple[int, int]]:
        """Cases that hold and all cases of each tool."""
        found: dict[str, tuple[int, int]] = {}
        for case in self.cases:
            held, total = found.get(case.tool, (0, 0))
            found[case.tool] = (held + case.holds, total + 1)
        return found


def run_cases(
    environment: Environment,
    tables: Iterable[TableInfo],
    cases: Sequence[Case] | None = None,
    *,
    repeats_last: bool = False,
    reuses_sessions: bool = False,
) -> CasesResult:
    """Runs cases of a pack.

    Args:
        environment: The pack with its workers; its worker half of validation found nothing.
        tables: Its tables, as the worker described them.
        cases: Some of them or others; by default the pack's own.
        repeats_last: Whether each success of a tool that writes is called once more when its case has ended, for what
            `effects` tells of it.
        reuses_sessions: Whether cases of one scenario are played one after the other in a few sessions, each reset
            before, instead of in one of its own each. Several times as fast; what a case leaves for the next one
            would be seen, as anything else that differs is.

    Returns:
        One result for each case, in order. Deterministic but for `is_infrastructure`.
    """
    chosen = environment.pack.cases if cases is None else tuple(cases)
    infos = tuple(tables)
    starts = _Starts(environment.pack, infos)
    if reuses_sessions:
        return CasesResult(_play_in_lanes(environment, starts, chosen, repeats_last=repeats_last))
    results: list[CaseResult] = []
    for first in range(0, len(chosen), BATCH):
        batch = chosen[first : first + BATCH]
        sessions = environment.open_many([(starts.scenario(case), None) for case in batch])
        try:
            plays = [_Play(case, session, starts) for case, session in zip(batch, sessions, strict=True)]
            _play_in_step(plays)
            played = [play.result(play.net_changes()) for play in plays]
            results.extend(_repeated(plays, played) if repeats_last else played)
        finally:
            for session in sessions:
                session.close()
    return CasesResult(tuple(results))


def _play_in_lanes(
    environment: Environment, starts: "_Starts", chosen: Sequence[Case], *, repeats_last: bool
) -> tuple[CaseResult, ...]:
    """Plays cases by where they start, those of one start in a few sessions that are reset in between."""
    by_start: dict[str | None, list[int]] = {}
    for position, case in enumerate(chosen):
        by_start.setdefault(case.scenario, []).append(position)
    found: dict[int, CaseResult] = {}
    for name, positions in by_start.items():
        lanes: list[Session] = []
        try:
            for first in range(0, len(positions), NUM_LANES):
                wave = positions[first : first + NUM_LANES]
                cases = [chosen[position] for position in wave]
                if name is not None and lanes:
                    environment.reset_many(lanes[: len(wave)], name)
                else:
                    environment.close_many(lanes)
                    lanes = environment.open_many([(starts.scenario(case), None) for case in cases])
                plays = [_Play(case, session, starts) for case, session in zip(cases, lanes, strict=False)]
                _play_in_step(plays)
                whole = [play for play in plays if not play.is_lost]
                diffs = iter(environment.diff_many([play.session for play in whole]))
                played = [play.result(() if play.is_lost else next(diffs)) for play in plays]
                found.update(zip(wave, _repeated(plays, played) if repeats_last else played, strict=True))
        finally:
            environment.close_many(lanes)
    return tuple(found[position] for position in range(len(chosen)))


class _Starts:
    """Start states by case, each scenario's indexed once."""

    def __init__(self, pack: Pack, tables: tuple[TableInfo, ...]) -> None:
        self._pack = pack
        self.tables = {table.name: table for table in tables}
        self._by_scenario: dict[str, StartState] = {}

    def scenario(self, case: Case) -> str | Scenario:
        """Where a case starts; rows of its own run with the pack's clock and seed 0."""
        if case.scenario is not None:
            return case.scenario
        return Scenario(f"case_{case.name}", "boundary", self._pack.clock_start, 0, case.rows or {})

    def state(self, case: Case) -> StartState:
        """The rows that a case starts from."""
        if case.scenario is None:
            return self._state(case.rows or {})
        found = self._by_scenario.get(case.scenario)
        if found is None:
            scenario = self._pack.scenario(case.scenario)
            found = self._by_scenario[case.scenario] = self._state(scenario.rows if scenario is not None else {})
        return found

    def _state(self, rows: Mapping[str, Sequence[Row]]) -> StartState:
        return StartState(self.tables.values(), rows, language=self._pack.language)


def _play_in_step(plays: Sequence["_Play"]) -> None:
    """Plays the n-th call of every case in one go."""
    for position in range(max((len(play.case.calls) for play in plays), default=0)):
        waiting = [(play, request) for play in plays if (request := play.request(position)) is not None]
        # A case may be about a tool of the simulated user, so every tool may be called.
        records = call_many([request for _, request in waiting], audience=None)
        for (play, _), record in zip(waiting, records, strict=True):
            play.take(record)


def _repeated(plays: Sequence["_Play"], played: Sequence[CaseResult]) -> list[CaseResult]:
    """The results with the last call of each success of a writing tool made again."""
    again: dict[int, tuple[Session, str, Mapping[str, Any]]] = {}
    for position, (play, result) in enumerate(zip(plays, played, strict=True)):
        if is_written_success(play.session.environment, play.case, result.records):
            last = result.records[-1]
            again[position] = (play.session, last.tool, last.arguments)
    records = dict(zip(again, call_many(list(again.values()), audience=None), strict=True))
    return [replace(result, again=records.get(position)) for position, result in enumerate(played)]


def is_written_success(environment: Environment, case: Case, records: Sequence[CallRecord]) -> bool:
    """Whether a case ended with a success of its own tool, and that tool writes."""
    if case.kind == "rejection" or len(records) != len(case.calls):
        return False
    tool = environment.tool(case.tool, None)
    is_writing = tool is not None and tool.effect == "write"
    return is_writing and records[-1].tool == case.tool and records[-1].status is CallStatus.SUCCESS


@dataclass(slots=True)
class _Play:
    """One case being played."""

    case: Case
    session: Session
    starts: _Starts
    records: list[CallRecord] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    same_rows: list[SameRow] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
    culprit: str = ""
    _seen: list[tuple[str, Any, Any]] = field(default_factory=list)

    def request(self, position: int) -> tuple[Session, str, Mapping[str, Any]] | None:
        """The case's next call; None if there is none or an earlier one went wrong."""
        if self.problems or position >= len(self.case.calls):
            return None
        call = self.case.calls[position]
        try:
            return self.session, call.tool, self._resolved(dict(call.arguments))
        except LookupError as error:
            self.problems.append(f"call {position} refers to a result that is not there: {error}")
            return None

    def take(self, record: CallRecord) -> None:
        """Holds a finished call against what was expected of it."""
        position = len(self.records)
        self.records.append(record)
        result = orjson.loads(record.observation)
        self.results.append(result)
        failure = self.session.failure if record.status is CallStatus.FAILURE else None
        if failure is not None:
            self.failures.append(failure)
        expected = self.case.expect[position]
        if (record.status, record.code) != (expected.status, expected.code):
            self.problems.append(
                f"call {position} ({record.tool}) ended as {_ending(record.status, record.code)}, not as "
                f"{_ending(expected.status, expected.code)}: {record.observation[:200]}"
            )
        elif expected.result is not None:
            try:
                wanted = self._resolved(expected.result)
            except LookupError as error:
                self.problems.append(f"call {position}: a result that is not there is expected: {error}")
            else:
                self._hold_part(wanted, result, f"call {position}: ")
        if self.problems:
            self.culprit = record.tool

    @property
    def is_lost(self) -> bool:
        """Whether a call was lost by the machinery."""
        return any(record.status is CallStatus.INFRASTRUCTURE for record in self.records)

    def net_changes(self) -> tuple[RowChange, ...]:
        """What the case changed; nothing is known of one that was lost."""
        return () if self.is_lost else self.session.diff()

    def result(self, changes: tuple[RowChange, ...]) -> CaseResult:
        """How the case ended, with these net changes."""
        if not self.problems:
            self._hold_changes(changes)
        case = self.case
        problems = tuple(self.problems[:_MAX_PROBLEMS])
        records, failures = tuple(self.records), tuple(self.failures)
        culprit = self.culprit or (case.tool if problems else "")
        return CaseResult(case.name, case.tool, case.kind, problems, records, changes, self.is_lost, failures, culprit)

    def _hold_changes(self, changes: tuple[RowChange, ...]) -> None:
        try:
            expected = tuple(self._resolved_change(change) for change in self.case.changes)
            start = self.starts.state(self.case)
            for place, wanted, given in self._seen:
                self._pair_ids(place, wanted, given, expected, changes)
            if self.problems or (expected == changes and not self.same_rows):
                return
            found = compare(start, expected, changes, same_rows=tuple(dict.fromkeys(self.same_rows)))
        except (EqualityError, LookupError) as error:
            self.problems.append(f"the changes cannot be compared: {error}")
            return
        if found.outcome is not Outcome.EQUAL:
            self.problems.append(f"the changes are {found.outcome}")
            self.problems.extend(explain(found))

    # Ids

    def _pair_ids(
        self, place: str, wanted: Any, given: Any, expected: Sequence[RowChange], changes: Sequence[RowChange]
    ) -> None:
        """Takes two differing values as the ids of one new row, or says that they differ."""
        for table in self._new_row_tables(wanted, expected):
            if table in self._new_row_tables(given, changes):
                self.same_rows.append((table, (wanted,), (given,)))
                return
        self.problems.append(f"{place} is {_short(given)}, not {_short(wanted)}")

    def _new_row_tables(self, value: Any, changes: Sequence[RowChange]) -> list[str]:
        found = []
        for change in changes:
            name = self.starts.tables[change.table].generated_id if change.table in self.starts.tables else None
            if name is not None and change.kind is ChangeKind.INSERT and _is_same(change.key.get(name), value):
                found.append(change.table)
        return found

    # Expected results

    def _hold_part(self, wanted: Any, given: Any, place: str) -> None:
        """The expected result is a part of the given one: members may be missing from it, items may not."""
        if isinstance(wanted, dict) and isinstance(given, dict):
            for name, value in wanted.items():
                if name not in given:
                    self.problems.append(f"{place}/{name} is missing")
                else:
                    self._hold_part(value, given[name], f"{place}/{name}")
        elif isinstance(wanted, list) and isinstance(given, list):
            if len(wanted) != len(given):
                self.problems.append(f"{place} has {len(given)} items, not {len(wanted)}")
                return
            for position, (one, other) in enumerate(zip(wanted, given, strict=True)):
                self._hold_part(one, other, f"{place}/{position}")
        elif not _is_same(wanted, given):
            if isinstance(wanted, str | int) and isinstance(given, str | int) and type(wanted) is type(given):
                self._seen.append((place, wanted, given))  # decided when the changes are known: they may be ids
            else:
                self.problems.append(f"{place} is {_short(given)}, not {_short(wanted)}")

    # References to earlier results

    def _resolved(self, value: Any) -> Any:
        return resolve(value, self.results) if may_hold_references(value) else value

    def _resolved_change(self, change: RowChange) -> RowChange:
        before, after = change.before, change.after
        return RowChange(
            change.table,
            self._resolved(change.key),
            change.kind,
            None if before is None else self._resolved(before),
            None if after is None else self._resolved(after),
        )


def _is_same(wanted: Any, given: Any) -> bool:
    """JSON equality of scalars: 1 equals 1.0, true does not equal 1."""
    return isinstance(wanted, bool) == isinstance(given, bool) and bool(wanted == given)


def _ending(status: CallStatus, code: str | None) -> str:
    return status.value if code is None else f"{status.value} {code}"


def _short(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 80 else f"{text[:77]}..."
