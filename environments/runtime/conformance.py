"""`check_environment`: what every environment must do before it may be used, in the manner of Gymnasium's checker.

It plays random valid calls from every scenario in the locked workers and holds what happens against the rules: the same
start and calls give the same bytes (after a reset, beside other sessions, in another process), reads and refused calls
change nothing, answers fit their schema, foreign keys are whole, and ids are nothing but names (a run with all id
counters moved on by 1,000 is Equal). Everything that is wrong is a finding with a stable name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import orjson

from environments.runtime.cases import CasesResult, run_cases
from environments.runtime.equality import EqualityError, StartState, find_id_copies
from environments.runtime.faults import Fault
from environments.runtime.fuzz import CallFuzzer
from environments.runtime.pack.model import CaseCall, Scenario, Tool
from environments.runtime.records import CallRecord, CallStatus, ChangeKind, RowChange
from environments.runtime.references import resolve
from environments.runtime.sandbox.differential import find_differences
from environments.runtime.schema import ResultValidator
from environments.runtime.session import Call, Environment, Session, SessionError, Start, State, call_many
from environments.runtime.tables import TableInfo

ID_SHIFT = 1_000
MIN_COMPLETENESS = 0.99
"""Share of valid calls that must be answered or rejected by a declared code."""
MAX_FINDINGS = 100
MAX_LEAK_CALLS = 20
NUM_LEAK_EPISODES = 10
"""Other episodes that run in the worker before an episode is compared with one that runs alone."""


class Check(StrEnum):
    """What a finding is about."""

    VALIDATION = "validation"
    CASES = "cases"
    FAILURE = "failure"
    UNDECLARED_CODE = "undeclared_code"
    OUTPUT_SCHEMA = "output_schema"
    READ_CHANGED = "read_changed_state"
    REFUSED_CHANGED = "refused_changed_state"
    FOREIGN_KEYS = "foreign_keys"
    RESET = "reset_determinism"
    ISOLATION = "isolation"
    PROCESS = "process_determinism"
    RESTORE = "restore_determinism"
    LEAK = "leak"
    SHIFTED_IDS = "shifted_ids"
    CLOSE = "close"
    COMPLETENESS = "completeness"
    INFRASTRUCTURE = "infrastructure"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that an environment does not do as it must.

    Attributes:
        check: Which rule.
        code: The exact name: a fault's code, a failure's reason, else the rule's own.
        place: Where: a scenario and call, a tool, a file.
        message: What happened, for people.
    """

    check: Check
    code: str
    place: str
    message: str


@dataclass(frozen=True, slots=True)
class ConformanceReport:
    """What `check_environment` found.

    Attributes:
        content_sha256: The pack that was checked.
        findings: What is wrong, at most `MAX_FINDINGS`.
        num_calls: Valid calls made.
        num_answered: Those with an answer or a declared rejection.
        cases: How the pack's own cases ended; None if they were not run.
    """

    content_sha256: str
    findings: tuple[Finding, ...]
    num_calls: int
    num_answered: int
    cases: CasesResult | None

    @property
    def conforms(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    @property
    def completeness_ratio(self) -> float:
        """Share of valid calls that were answered or rejected by a declared code; 1 where none was made."""
        return self.num_answered / self.num_calls if self.num_calls else 1.0


class Described(Protocol):
    """The worker's half of validation."""

    @property
    def faults(self) -> Sequence[Fault]:
        """What is wrong with the pack."""

    @property
    def tables(self) -> Sequence[TableInfo]:
        """Its tables."""


def check_environment(
    environment: Environment, described: Described, *, num_calls: int = 60, seed: int = 0, with_cases: bool = True
) -> ConformanceReport:
    """Checks an environment.

    Args:
        environment: The pack with its workers.
        described: The worker's half of its validation.
        num_calls: Random calls from each scenario.
        seed: Of the random calls.
        with_cases: Whether the pack's own cases are run, too.

    Returns:
        The report; deterministic for an environment that conforms.
    """
    faults = tuple(described.faults)
    if faults:
        found = [Finding(Check.VALIDATION, fault.code, fault.place, fault.message) for fault in faults[:MAX_FINDINGS]]
        return ConformanceReport(environment.content_sha256, tuple(found), 0, 0, None)
    tables = tuple(described.tables)
    checker = _Checker(environment, tables)
    cases = None
    if with_cases:
        cases = run_cases(environment, tables)
        for case in cases.failed:
            lost = next((record for record in case.records if record.status is CallStatus.INFRASTRUCTURE), None)
            check, code = (Check.INFRASTRUCTURE, lost.code) if lost else (Check.CASES, None)
            checker.add(check, f"cases/{case.name}", "; ".join(case.problems), code)
            for reason, detail in case.failures:
                checker.add(Check.FAILURE, f"cases/{case.name}", detail, reason)
    for position, scenario in enumerate(environment.pack.scenarios):
        checker.check_scenario(scenario, num_calls, seed + position)
    checker.check_completeness()
    return ConformanceReport(
        environment.content_sha256,
        tuple(checker.findings[:MAX_FINDINGS]),
        checker.num_calls,
        checker.num_answered,
        cases,
    )


class _Checker:
    """Plays and compares; collects findings."""

    def __init__(self, environment: Environment, tables: Sequence[TableInfo]) -> None:
        self.findings: list[Finding] = []
        self.num_calls = 0
        self.num_answered = 0
        self._environment = environment
        self._tables = tables
        self._validators = {tool.name: ResultValidator(tool) for tool in environment.pack.tools}
        self._codes = {tool.name: _codes(tool) for tool in environment.pack.tools}
        self._generated = {table.name: table.generated_id for table in tables}

    def add(self, check: Check, place: str, message: str, code: str | None = None) -> None:
        """Notes a finding once."""
        finding = Finding(check, code or check.value, place, message[:500])
        if finding not in self.findings:
            self.findings.append(finding)

    def check_scenario(self, scenario: Scenario, num_calls: int, seed: int) -> None:
        """Everything that is checked from one start."""
        place = f"scenarios/{scenario.name}"
        session = self._environment.open(scenario.name)
        idle = self._environment.open(scenario.name)
        try:
            start, rows = session.snapshot(), session.state()
            if idle.snapshot() != start:
                self.add(Check.RESET, place, "two sessions of one start differ before any call")
            fuzzer = CallFuzzer(self._environment.pack, self._tables, rows, seed, scenario.name)
            calls = self._play(session, place, fuzzer, num_calls)
            played = list(session.transcript)
            made = [(record.tool, record.arguments) for record in played]
            end, state = session.snapshot(), session.state()
            self._check_foreign_keys(state, place)
            if idle.snapshot() != start:
                self.add(Check.ISOLATION, place, "a session that made no call changed while another made some")
            self._check_restore(session, end, place)
            session.reset(scenario.name)
            if session.snapshot() != start or session.state() != rows:
                self.add(Check.RESET, place, "the state after a reset is not the start")
            self._compare(Check.RESET, place, played, session.calls(made, audience=None))
            if session.snapshot() != end:
                self.add(Check.RESET, place, "the same calls after a reset led to another state")
            self._check_isolation(session, idle, scenario, made, played, place)
            self._check_process(Start(scenario.name), made, played, state, place)
            self._check_leaks(scenario, made, place)
            self._check_shifted(scenario, rows, calls, played, place)
        finally:
            for one in (session, idle):
                one.close()
        self._check_close(session, place)

    def check_completeness(self) -> None:
        """Whether enough of the valid calls were answered."""
        if self.num_calls and self.num_answered / self.num_calls < MIN_COMPLETENESS:
            self.add(
                Check.COMPLETENESS,
                "",
                f"{self.num_answered} of {self.num_calls} valid calls were answered or rejected by a declared code",
            )

    # Playing

    def _play(self, session: Session, place: str, fuzzer: CallFuzzer, num_calls: int) -> list[CaseCall]:
        calls: list[CaseCall] = []
        results: list[Any] = []
        fresh: set[Any] = set()
        before = session.snapshot()
        for _ in range(num_calls * 2):
            if len(calls) >= num_calls:
                break
            call = fuzzer.next_call(results)
            if call is None:
                break
            if _literals(call.arguments) & fresh:
                continue  # a number that happens to be a new row's id would be none in the run with other ids
            record = session.call(call.tool, resolve(dict(call.arguments), results), audience=None)
            calls.append(call)
            results.append(orjson.loads(record.observation))
            after = session.snapshot()
            self._judge(session, record, before, after, f"{place}/{record.index}/{record.tool}")
            fresh |= self._fresh(record.changes)
            before = after
        return calls

    def _judge(self, session: Session, record: CallRecord, before: bytes, after: bytes, place: str) -> None:
        self.num_calls += 1
        if record.status is CallStatus.SUCCESS:
            result = orjson.loads(record.observation)
            errors = self._validators[record.tool].errors(result)
            if errors:
                self.add(Check.OUTPUT_SCHEMA, place, f"{errors[0]['pointer']}: {errors[0]['message']}")
            elif result:
                self.num_answered += 1
            tool = self._environment.tool(record.tool, None)
            if tool is not None and tool.effect == "read" and (record.changes or _content(before) != _content(after)):
                self.add(Check.READ_CHANGED, place, "a tool that reads changed the state")
            return
        if before != after or record.changes:
            self.add(Check.REFUSED_CHANGED, place, f"a call that ended as {record.status} changed the state")
        if record.status is CallStatus.REJECTION:
            if record.code in self._codes[record.tool]:
                self.num_answered += 1
            else:
                self.add(Check.UNDECLARED_CODE, place, f"{record.tool} does not declare {record.code}")
        elif record.status is CallStatus.INFRASTRUCTURE:
            self.add(Check.INFRASTRUCTURE, place, f"the call was lost: {record.code}", record.code)
        else:
            # The pool tells a failure's reason apart from the record, which an agent's data may hold.
            reason, detail = session.failure or (str(record.code), "")
            self.add(Check.FAILURE, place, f"{record.status} {record.arguments}: {detail}", reason)

    def _fresh(self, changes: Sequence[RowChange]) -> set[Any]:
        found: set[Any] = set()
        for change in changes:
            name = self._generated.get(change.table)
            if name is not None and change.kind is ChangeKind.INSERT:
                value = change.key[name]
                found.add(value)
                if isinstance(value, int):
                    found.add(value + ID_SHIFT)
        return found

    # Comparing

    def _compare(self, check: Check, place: str, played: Sequence[CallRecord], again: Sequence[CallRecord]) -> bool:
        for first, second in zip(played, again, strict=True):
            if (first.status, first.observation, first.changes) != (second.status, second.observation, second.changes):
                self.add(check, f"{place}/{first.index}/{first.tool}", f"{_short(first)} became {_short(second)}")
                return False
            if (first.reads, first.writes, first.condition_reads) != (
                second.reads,
                second.writes,
                second.condition_reads,
            ):
                self.add(check, f"{place}/{first.index}/{first.tool}", "other columns were read or written")
                return False
        return True

    def _check_isolation(
        self,
        session: Session,
        other: Session,
        scenario: Scenario,
        made: Sequence[Call],
        played: Sequence[CallRecord],
        place: str,
    ) -> None:
        """The same calls give the same answers while another session makes other calls in between."""
        session.reset(scenario.name)
        other.reset(scenario.name, scenario.seed + 1)
        half = len(made) // 2
        mixed = [*made[half:], *made[:half]]
        steps = [step for mine, its in zip(made, mixed, strict=True) for step in ((session, *mine), (other, *its))]
        records = call_many(steps, audience=None)[::2]
        self._compare(Check.ISOLATION, place, played, records)

    def _check_process(
        self, start: Start, made: Sequence[Call], played: Sequence[CallRecord], state: State, place: str
    ) -> None:
        again = self._environment.play(start, made, ("state",))
        if self._compare(Check.PROCESS, place, played, again.records) and again.state != state:
            self.add(Check.PROCESS, place, "the same calls led to another state in another process")

    def _check_leaks(self, scenario: Scenario, made: Sequence[Call], place: str) -> None:
        """What one episode leaves for the next in a worker that is reused."""
        environment = self._environment
        for difference in find_differences(
            environment.players,
            environment.encoded,
            scenario.name,
            scenario.seed,
            made[:MAX_LEAK_CALLS],
            repeats=NUM_LEAK_EPISODES,
            content_sha256=environment.content_sha256,
        ):
            message = f"{difference.where}: {difference.warm[:200]} in a used worker, {difference.alone[:200]} alone"
            self.add(Check.LEAK, f"{place}/{difference.index}", message)

    def _check_restore(self, session: Session, end: bytes, place: str) -> None:
        forked = session.fork()
        try:
            if forked.snapshot() != end or forked.state() != session.state():
                self.add(Check.RESTORE, place, "a restored snapshot holds another state")
        finally:
            forked.close()

    def _check_shifted(
        self, scenario: Scenario, rows: State, calls: Sequence[CaseCall], played: Sequence[CallRecord], place: str
    ) -> None:
        """The same calls with every id counter moved on: answers end alike and the changes are Equal."""
        shifted = self._environment.open(scenario.name)
        try:
            start = orjson.loads(shifted.snapshot())
            shifted.restore(orjson.dumps({**start, "id_offset": ID_SHIFT}))
            results: list[Any] = []
            records = []
            for call, before in zip(calls, played, strict=True):
                try:
                    arguments = resolve(dict(call.arguments), results)
                except LookupError:
                    self.add(Check.SHIFTED_IDS, f"{place}/{before.index}/{call.tool}", "an earlier result lacks a part")
                    return
                record = shifted.call(call.tool, arguments, audience=None)
                results.append(orjson.loads(record.observation))
                records.append(record)
                if (record.status, record.code) != (before.status, before.code):
                    self.add(
                        Check.SHIFTED_IDS,
                        f"{place}/{before.index}/{call.tool}",
                        f"with other ids, {_short(before)} became {_short(record)}",
                    )
                    return
        finally:
            shifted.close()
        state = StartState(self._tables, rows, language=self._environment.pack.language)
        runs = [tuple(change for record in run for change in record.changes) for run in (played, records)]
        try:
            copies = find_id_copies(state, *runs)
        except EqualityError as error:
            self.add(Check.SHIFTED_IDS, place, f"the changes cannot be compared: {error}")
            return
        for copy in copies:
            self.add(
                Check.SHIFTED_IDS,
                f"tables/{copy.table}/columns/{copy.column}",
                f"differs when ids do: {copy.reference!r} became {copy.candidate!r}; make it a foreign key or exempt",
            )

    def _check_foreign_keys(self, state: State, place: str) -> None:
        rows_by: dict[tuple[str, tuple[str, ...]], set[tuple[Any, ...]]] = {}
        for table in self._tables:
            for key in table.foreign_keys:
                targets = rows_by.setdefault(
                    (key.table, key.targets),
                    {tuple(row[column] for column in key.targets) for row in state[key.table]},
                )
                for row in state[table.name]:
                    values = tuple(row[column] for column in key.columns)
                    if None not in values and values not in targets:
                        self.add(
                            Check.FOREIGN_KEYS,
                            f"{place}/{table.name}",
                            f"{', '.join(key.columns)} = {values} points to nothing in {key.table}",
                        )

    def _check_close(self, session: Session, place: str) -> None:
        session.close()
        try:
            session.state()
        except SessionError:
            return
        self.add(Check.CLOSE, place, "a closed session still answers")


def _codes(tool: Tool) -> frozenset[str]:
    return frozenset(condition.code for condition in tool.preconditions) | {entry.code for entry in tool.rejections}


def _content(snapshot: bytes) -> dict[str, Any]:
    """A snapshot without what a successful read may count."""
    parts: dict[str, Any] = orjson.loads(snapshot)
    return {name: value for name, value in parts.items() if name not in ("num_calls", "equal_calls")}


def _literals(value: Any) -> set[Any]:
    """Texts and numbers that arguments hold themselves, references left out."""
    if isinstance(value, Mapping):
        if "$result" in value:
            return set()
        return {item for part in value.values() for item in _literals(part)}
    if isinstance(value, list):
        return {item for part in value for item in _literals(part)}
    return {value} if isinstance(value, str | int) and not isinstance(value, bool) else set()


def _short(record: CallRecord) -> str:
    return f"{record.status} {record.observation[:160]}"
