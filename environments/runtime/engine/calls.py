"""One call, in the order of docs/contracts.md, C4.

Captures, pre-conditions in listed order, the tool, foreign keys, post-conditions, output schema, then release;
anything but success rolls back, with the clock, the ids and the counters. The savepoint is opened by the first
statement that can write: before it nothing has changed, so the order is the contract's and a call that only reads pays
for no savepoint.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from environments.runtime.engine.changes import collect
from environments.runtime.engine.context import MAX_MESSAGE_CHARACTERS, start_call, swallowed_rejection
from environments.runtime.engine.errors import (
    CallFailure,
    FailureReason,
    LimitExceeded,
    Rejected,
    RerunFresh,
    ToolFailure,
    describe_exception,
)
from environments.runtime.engine.live import LiveState
from environments.runtime.engine.program import ToolProgram
from environments.runtime.observations import INTERNAL_ERROR, error_observation
from environments.runtime.records import (
    CallStatus,
    ChangeKind,
    ColumnRef,
    Evaluated,
    Explanation,
    RowChange,
    Value,
)

MAX_OBSERVATION_BYTES = 256 << 10
MAX_EXPLAINED_CHARACTERS = 1000
"""Of a value in an explanation."""
_RESULT_OPTIONS = (
    orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_TOOL_ERRORS = (Exception, SystemExit, KeyboardInterrupt, GeneratorExit)
"""What a tool may raise, which is anything, and end its call by; `MemoryError` is sorted out before."""
NO_ROW = "no row"
_NO_CHANGES: tuple[RowChange, ...] = ()
_NO_COLUMNS: frozenset[ColumnRef] = frozenset()


class Outcome:
    """How a call ended, before it becomes a record."""

    __slots__ = ("changes", "code", "condition_reads", "failure", "observation", "status", "writes")

    def __init__(self, status: CallStatus, code: str | None, observation: str, reads: frozenset[ColumnRef]) -> None:
        self.status = status
        self.code = code
        self.observation = observation
        self.condition_reads = reads
        self.changes = _NO_CHANGES
        self.writes = _NO_COLUMNS
        self.failure: CallFailure | None = None


def run_call(live: LiveState, program: ToolProgram, arguments: Mapping[str, Any], *, is_fresh: bool) -> Outcome:
    """Runs one call and leaves the state as the outcome says; does not step the clock.

    Args:
        live: The episode's state.
        program: The tool.
        arguments: Valid against the tool's input schema.
        is_fresh: The connection has no history, so a heavy call is decided here.

    Raises:
        RerunFresh: The call was heavy and the connection has history; everything is rolled back.
        BaseException: What is no `Exception` and none of the engine's (a worker's timer), and `MemoryError`; everything
            is rolled back, as if the call had not been made.
    """
    live.database.begin()
    live.clock.show_to_sqlite()
    reads = program.reads_before[0]
    try:
        bound = program.bind(arguments)
        parameters: dict[str, Any] = {}
        if program.captures or program.preconditions or program.postconditions:
            parameters = program.sql_parameters(bound)
            for name, sql in program.captures:
                parameters[name] = _captured(live, sql, parameters)
            for position, check in enumerate(program.preconditions, 1):
                reads = program.reads_before[position]
                if not _holds(live, check.sql, parameters):
                    _decide_heavy(live, is_fresh)
                    live.roll_back()
                    return Outcome(
                        CallStatus.REJECTION, check.code, error_observation(check.code, check.message), reads
                    )
        outcome = _run_tool(live, program, bound, parameters)
        _decide_heavy(live, is_fresh)
        live.release()
        return outcome
    except Rejected as rejected:
        _decide_heavy(live, is_fresh)
        return _refused(live, program, rejected, reads)
    except (ToolFailure, LimitExceeded) as failure:
        _decide_heavy(live, is_fresh)
        return _failed(live, failure.reason, str(failure), reads)
    except MemoryError:
        live.roll_back()
        raise
    except _TOOL_ERRORS as error:
        _decide_heavy(live, is_fresh)
        return _failed(live, FailureReason.EXCEPTION, describe_exception(error), reads)
    except BaseException:
        live.roll_back()
        raise


def explain_call(live: LiveState, program: ToolProgram, arguments: Mapping[str, Any]) -> Explanation:
    """Evaluates every capture and condition of a call in the call's own order, and undoes it all.

    Unlike a call it does not stop at the first pre- or post-condition that does not hold. The tool is run, so that its
    post-conditions have something to look at, if every pre-condition holds.

    Args:
        live: The episode's state; left as it was, unless the tool lost it.
        program: The tool.
        arguments: Valid against the tool's input schema.

    Raises:
        BaseException: As `run_call`.
    """
    live.database.begin()
    live.clock.show_to_sqlite()
    try:
        bound = program.bind(arguments)
        parameters = program.sql_parameters(bound)
        captures = []
        for name, sql in program.captures:
            found = _evaluate(live, name.removeprefix("before_"), sql, parameters)
            parameters[name] = found.value
            captures.append(replace(found, problem="" if found.problem == NO_ROW else found.problem))
        if any(found.problem for found in captures):
            return Explanation(_shown(captures))
        before = [_evaluate(live, check.code, check.sql, parameters) for check in program.preconditions]
        after: list[Evaluated] = []
        if all(found.holds for found in before):
            try:
                _, outcome = _make(live, program, bound)
            except MemoryError:
                raise
            except (Rejected, LimitExceeded, *_TOOL_ERRORS):
                pass  # the call's own record says how the tool ended
            else:
                parameters["result"] = outcome.observation
                after = [_evaluate(live, check.code, check.sql, parameters) for check in program.postconditions]
        return Explanation(_shown(captures), _shown(before), _shown(after))
    finally:
        live.roll_back()


def _evaluate(live: LiveState, name: str, sql: str, parameters: Mapping[str, Any]) -> Evaluated:
    try:
        values = live.database.value(sql, parameters)
    except (ToolFailure, LimitExceeded) as failure:
        return Evaluated(name, None, str(failure)[:MAX_EXPLAINED_CHARACTERS])
    if not values:
        return Evaluated(name, None, NO_ROW)
    return Evaluated(name, values[0], "" if len(values) == 1 else "more than one row")


def _shown(found: Sequence[Evaluated]) -> tuple[Evaluated, ...]:
    def cut(value: Value) -> Value:
        is_long = isinstance(value, str) and len(value) > MAX_EXPLAINED_CHARACTERS
        return f"{str(value)[:MAX_EXPLAINED_CHARACTERS]}…" if is_long else value

    return tuple(replace(each, value=cut(each.value)) for each in found)


def _decide_heavy(live: LiveState, is_fresh: bool) -> None:
    if not is_fresh and live.database.is_heavy:
        live.roll_back()
        raise RerunFresh


def _captured(live: LiveState, sql: str, parameters: Mapping[str, Any]) -> Any:
    values = live.database.value(sql, parameters)
    if len(values) > 1:
        raise ToolFailure(FailureReason.CONDITION_ERROR, "a capture gave more than one row")
    return values[0] if values else None


def _holds(live: LiveState, sql: str, parameters: Mapping[str, Any]) -> bool:
    values = live.database.value(sql, parameters)
    if not values:
        return False
    if len(values) > 1:
        raise ToolFailure(FailureReason.CONDITION_ERROR, "a condition gave more than one row")
    value = values[0]
    return value.__class__ is int and value == 1


def _run_tool(live: LiveState, program: ToolProgram, bound: dict[str, Any], parameters: dict[str, Any]) -> Outcome:
    result, outcome = _make(live, program, bound)
    if program.postconditions:
        parameters["result"] = outcome.observation
        for check in program.postconditions:
            if not _holds(live, check.sql, parameters):
                raise ToolFailure(FailureReason.POSTCONDITION, f"{check.code}: {check.message}")
    errors = program.validator.errors(result)
    if errors:
        first = errors[0]
        raise ToolFailure(FailureReason.OUTPUT_SCHEMA, f"{first['pointer'] or '/'}: {first['message']}")
    return outcome


def _make(live: LiveState, program: ToolProgram, bound: dict[str, Any]) -> tuple[dict[str, Any], Outcome]:
    """The tool's own part of a call: its result, and the outcome if nothing after it objects."""
    tool = program.tool
    start_call(live.context, live.chance_seed(program, bound))
    result = live.function(tool.name)(live.context, **bound)
    swallowed = swallowed_rejection(live.context)
    if swallowed is not None:
        raise ToolFailure(FailureReason.REJECTION_SWALLOWED, f"the tool swallowed its own rejection {swallowed}")
    live.database.check_spent()
    observation = _observation(result)
    outcome = Outcome(CallStatus.SUCCESS, None, observation, program.reads_all)
    if live.database.log:
        _take_changes(live, program, outcome)
    return result, outcome


def _observation(result: Any) -> str:
    if result.__class__ is not dict:
        raise ToolFailure(FailureReason.RESULT_TYPE, f"the result is {type(result).__name__}, not dict")
    try:
        text = orjson.dumps(result, option=_RESULT_OPTIONS)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolFailure(FailureReason.RESULT_TYPE, f"the result is no JSON: {describe_exception(error)}") from None
    if len(text) > MAX_OBSERVATION_BYTES:
        raise ToolFailure(FailureReason.RESULT_TOO_LARGE, f"the result has {len(text)} bytes")
    return text.decode()


def _take_changes(live: LiveState, program: ToolProgram, outcome: Outcome) -> None:
    database = live.database
    if database.has_broken_keys:
        raise ToolFailure(FailureReason.FOREIGN_KEY, "a foreign key points to nothing")
    log, has_failed_statement = database.changed()
    changes, writes = collect(log, live.shapes, database.reread if has_failed_statement else None)
    if not changes:
        return
    if not program.writes:
        raise ToolFailure(FailureReason.READ_TOOL_WROTE, f"a tool that reads changed {changes[0].table}")
    for change in changes:
        if change.kind is ChangeKind.INSERT:
            generated = live.shapes[change.table].generated
            if generated is not None and not live.ids.was_issued(change.table, change.key[generated]):
                raise ToolFailure(
                    FailureReason.ID_NOT_ISSUED,
                    f"{change.table}.{generated} is {change.key[generated]!r}, which ctx.new_id did not give",
                )
    outcome.changes = changes
    outcome.writes = writes


def _refused(live: LiveState, program: ToolProgram, rejected: Rejected, reads: frozenset[ColumnRef]) -> Outcome:
    code, message = rejected.code, rejected.message
    if code.__class__ is not str or code not in program.codes:
        return _failed(live, FailureReason.UNDECLARED_CODE, f"the tool rejected with {str(code)[:80]!r}", reads)
    try:
        observation = error_observation(code, str(message)[:MAX_MESSAGE_CHARACTERS])
    except (TypeError, ValueError) as error:
        return _failed(live, FailureReason.RESULT_TYPE, f"the message is no text: {describe_exception(error)}", reads)
    live.roll_back()
    return Outcome(CallStatus.REJECTION, code, observation, reads)


def _failed(live: LiveState, reason: FailureReason, detail: str, reads: frozenset[ColumnRef]) -> Outcome:
    live.roll_back()
    outcome = Outcome(CallStatus.FAILURE, "internal_error", INTERNAL_ERROR, reads)
    outcome.failure = CallFailure(reason, detail[:500])
    return outcome
