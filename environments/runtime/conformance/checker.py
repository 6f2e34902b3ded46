"""Plays one pack from each of its scenarios and compares; collects findings and figures."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from environments.runtime.cases import CasesResult
from environments.runtime.conformance.model import Check, Finding, Touched
from environments.runtime.equality import EqualityError, StartState, find_id_copies
from environments.runtime.figures import FigureCounter
from environments.runtime.fuzz import CallFuzzer, FuzzValues
from environments.runtime.pack.model import CaseCall, Scenario, Tool
from environments.runtime.records import CallRecord, CallStatus, ChangeKind, ColumnRef, RowChange
from environments.runtime.references import resolve
from environments.runtime.sandbox.differential import find_differences
from environments.runtime.session import Call, Environment, Session, SessionError, Start, State, call_many
from environments.runtime.tables import TableInfo

ID_SHIFT = 1_000
MIN_COMPLETENESS = 0.99
"""Share of valid calls that must be answered or rejected by a declared code."""
MAX_LEAK_CALLS = 20
NUM_LEAK_EPISODES = 10
"""Other episodes that run in the worker before an episode is compared with one that runs alone."""


class Checker:
    """Plays and compares; collects findings."""

    def __init__(self, environment: Environment, tables: Sequence[TableInfo]) -> None:
        self.findings: list[Finding] = []
        self.num_calls = 0
        self.num_answered = 0
        self.counter = FigureCounter(environment.pack)
        self.changed: set[str] = set()
        self._environment = environment
        self._tables = tables
        self._fuzz = FuzzValues(environment.pack)
        # For these an empty object is the whole answer.
        self._silent = {tool.name for tool in environment.pack.tools if _says_nothing(tool)}
        self._generated = {table.name: table.generated_id for table in tables}
        self._reads: dict[str, set[ColumnRef]] = {tool.name: set() for tool in environment.pack.tools}
        self._writes: dict[str, set[ColumnRef]] = {tool.name: set() for tool in environment.pack.tools}

    def add(self, check: Check, place: str, message: str, code: str | None = None, tool: str = "") -> None:
        """Notes a finding once."""
        finding = Finding(check, code or check.value, place, message[:500], tool)
        if finding not in self.findings:
            self.findings.append(finding)

    def touched(self) -> dict[str, Touched]:
        """By tool, the columns that its calls used."""
        return {name: Touched(frozenset(reads), frozenset(self._writes[name])) for name, reads in self._reads.items()}

    def note_cases(self, cases: CasesResult) -> None:
        """Takes the pack's own cases into account, and says which do not hold."""
        for case in cases.cases:
            self.counter.note_case(case)
            for record in case.records:
                self._note_touched(record)
        for case in cases.failed:
            lost = next((record for record in case.records if record.status is CallStatus.INFRASTRUCTURE), None)
            check, code = (Check.INFRASTRUCTURE, lost.code) if lost else (Check.CASES, None)
            self.add(check, f"cases/{case.name}", "; ".join(case.problems), code, case.culprit)
            for reason, detail in case.failures:
                self.add(Check.FAILURE, f"cases/{case.name}", detail, reason, case.culprit)

    def check_effects(self, cases: CasesResult) -> None:
        """Whether each tool that is said to write was seen to change something when it succeeded."""
        succeeded = {case.tool for case in cases.cases if case.holds and case.kind == "success"}
        for tool in self._environment.pack.tools:
            if tool.effect == "write" and tool.name in succeeded and tool.name not in self.changed:
                self.add(
                    Check.WRITE_UNCHANGED, f"tools/{tool.name}", "no success of a tool that writes changed anything",
                    tool=tool.name,
                )  # fmt: skip

    def check_scenario(self, scenario: Scenario, num_calls: int, seed: int) -> None:
        """Everything that is checked from one start."""
        place = f"scenarios/{scenario.name}"
        session = self._environment.open(scenario.name)
        idle = self._environment.open(scenario.name)
        try:
            start, rows = session.snapshot(), session.state()
            if idle.snapshot() != start:
                self.add(Check.RESET, place, "two sessions of one start differ before any call")
            fuzzer = CallFuzzer(self._environment.pack, self._tables, rows, seed, scenario.name, self._fuzz)
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

    def finish(self) -> None:
        """What is checked once every scenario was played."""

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
            if literals(call.arguments) & fresh:
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
        result = self._judge_call(session.failure, record, orjson.loads(record.observation), place)
        if record.status is CallStatus.SUCCESS:
            tool = self._environment.tool(record.tool, None)
            if tool is not None and tool.effect == "read" and (record.changes or _content(before) != _content(after)):
                self.add(Check.READ_CHANGED, place, "a tool that reads changed the state", tool=record.tool)
        elif before != after or record.changes:
            message = f"a call that ended as {record.status} changed the state"
            self.add(Check.REFUSED_CHANGED, place, message, tool=record.tool)
        if result:
            self.num_answered += 1

    def _judge_call(self, failure: tuple[str, str] | None, record: CallRecord, result: Any, place: str) -> bool:
        """Holds what one call says of itself against its declaration; whether it is a complete answer."""
        self.num_calls += 1
        self.counter.note_call(record, result=result)
        self._note_touched(record)
        tool = record.tool
        if record.status is CallStatus.SUCCESS:
            errors = self.counter.validators[tool].errors(result)
            if errors:
                message = f"{errors[0]['pointer']}: {errors[0]['message']}"
                self.add(Check.OUTPUT_SCHEMA, place, message, tool=tool)
            return not errors and (bool(result) or tool in self._silent)
        if record.status is CallStatus.REJECTION:
            if record.code in self.counter.codes[tool]:
                return True
            self.add(Check.UNDECLARED_CODE, place, f"{tool} does not declare {record.code}", tool=tool)
        elif record.status is CallStatus.INFRASTRUCTURE:
            self.add(Check.INFRASTRUCTURE, place, f"the call was lost: {record.code}", record.code, tool)
        else:
            # The pool tells a failure's reason apart from the record, which an agent's data may hold.
            reason, detail = failure or (str(record.code), "")
            self.add(Check.FAILURE, place, f"{record.status} {record.arguments}: {detail}", reason, tool)
        return False

    def _note_touched(self, record: CallRecord) -> None:
        if record.tool not in self._reads:
            return
        self._reads[record.tool] |= record.reads
        self._reads[record.tool] |= record.condition_reads
        self._writes[record.tool] |= record.writes
        if record.changes:
            self.changed.add(record.tool)

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
                message = f"{short(first)} became {short(second)}"
                self.add(check, f"{place}/{first.index}/{first.tool}", message, tool=first.tool)
                return False
            if (first.reads, first.writes, first.condition_reads) != (
                second.reads,
                second.writes,
                second.condition_reads,
            ):
                message = "other columns were read or written"
                self.add(check, f"{place}/{first.index}/{first.tool}", message, tool=first.tool)
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
            tool = made[difference.index][0] if difference.index >= 0 else ""
            self.add(Check.LEAK, f"{place}/{difference.index}", message, tool=tool)

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
                where = f"{place}/{before.index}/{call.tool}"
                try:
                    arguments = resolve(dict(call.arguments), results)
                except LookupError:
                    self.add(Check.SHIFTED_IDS, where, "an earlier result lacks a part", tool=call.tool)
                    return
                record = shifted.call(call.tool, arguments, audience=None)
                results.append(orjson.loads(record.observation))
                records.append(record)
                if (record.status, record.code) != (before.status, before.code):
                    message = f"with other ids, {short(before)} became {short(record)}"
                    self.add(Check.SHIFTED_IDS, where, message, tool=call.tool)
                    return
        finally:
            shifted.close()
        self._compare_shifted(rows, played, records, place)

    def _compare_shifted(
        self, rows: State, played: Sequence[CallRecord], records: Sequence[CallRecord], place: str
    ) -> None:
        """Whether what two runs with other ids changed differs in nothing but ids."""
        state = StartState(self._tables, rows, language=self._environment.pack.language)
        runs = [tuple(change for record in run for change in record.changes) for run in (played, records)]
        try:
            copies = find_id_copies(state, *runs)
        except EqualityError as error:
            self.add(Check.SHIFTED_IDS, place, f"the changes cannot be compared: {error}")
            return
        for copy in copies:
            writer = next((one.tool for one in played if (copy.table, copy.column) in one.writes), "")
            self.add(
                Check.SHIFTED_IDS,
                f"tables/{copy.table}/columns/{copy.column}",
                f"differs when ids do: {copy.reference!r} became {copy.candidate!r}; make it a foreign key or exempt",
                tool=writer,
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


def _says_nothing(tool: Tool) -> bool:
    schema = tool.output_schema
    return not schema.get("properties") and schema.get("additionalProperties") is False


def _content(snapshot: bytes) -> dict[str, Any]:
    """A snapshot without what a successful read may count."""
    parts: dict[str, Any] = orjson.loads(snapshot)
    return {name: value for name, value in parts.items() if name not in ("num_calls", "equal_calls")}


def literals(value: Any) -> set[Any]:
    """Texts and numbers that arguments hold themselves, references left out."""
    if isinstance(value, Mapping):
        if "$result" in value:
            return set()
        return {item for part in value.values() for item in literals(part)}
    if isinstance(value, list):
        return {item for part in value for item in literals(part)}
    return {value} if isinstance(value, str | int) and not isinstance(value, bool) else set()


def short(record: CallRecord) -> str:
    """How a call ended, for messages."""
    return f"{record.status} {record.observation[:160]}"
