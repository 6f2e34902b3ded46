"""One episode: calls over a state that starts from a scenario and a seed."""

from collections.abc import Mapping
from time import perf_counter_ns
from typing import TYPE_CHECKING, Annotated, Any

import apsw
import msgspec

from environments.runtime.engine.calls import Outcome, explain_call, run_call
from environments.runtime.engine.context import Clock, canonical, seconds_of
from environments.runtime.engine.errors import CallFailure, EngineError, EpisodeLostError, RerunFresh
from environments.runtime.engine.live import LiveState
from environments.runtime.engine.program import ToolProgram
from environments.runtime.net_changes import NetChanges, change_to_json
from environments.runtime.observations import invalid_arguments, unknown_tool
from environments.runtime.pack.model import Scenario
from environments.runtime.records import CallRecord, CallStatus, ColumnRef, Explanation, RowChange, Value

if TYPE_CHECKING:
    from environments.runtime.engine.engine import Base, Engine

SNAPSHOT_FORMAT = "envfactory-snapshot/1"
_UNFIT = ({"pointer": "", "message": "not the properties of the schema"},)
_NO_COLUMNS: frozenset[ColumnRef] = frozenset()


class Episode:
    """Calls from one start; made by `Engine.open`.

    Attributes:
        scenario: Where it started.
        seed: What ids and chance are drawn from.
        failure: Why the last call failed; None if it did not.
        num_calls: Calls seen since the start, whatever their status; the index of the next record.
    """

    def __init__(self, engine: "Engine", base: "Base", seed: int, id_offset: int) -> None:
        self._engine = engine
        self._base = base
        self._id_offset = id_offset
        self._is_closed = False
        self.failure: CallFailure | None = None
        self._live = engine.new_live_state(base)
        self._start(base, seed)

    def _start(self, base: "Base", seed: int) -> None:
        self._base = base
        self.scenario: Scenario = base.scenario
        self.seed = seed
        self.num_calls = 0
        self._num_successes = 0
        self._is_unclean = False
        self._net = NetChanges()
        self._unfolded: list[RowChange] = []
        self._live.start(
            rules=base.id_rules,
            clock=Clock(base.scenario.clock_start, base.start_seconds),
            seed=seed,
            id_offset=self._id_offset,
        )

    # Calls

    def call(self, tool: str, arguments: Mapping[str, Any]) -> CallRecord:
        """Runs one call in the order of docs/contracts.md, C4.

        The arguments were checked against the input schema by the host. An unknown tool or argument is answered as
        `invalid` all the same, so that nothing reaches a tool unchecked.

        Raises:
            EpisodeLostError: The state is gone and could not be rebuilt.
            MemoryError: As is every `BaseException` that is not the engine's (a timer); the call has not been made.
        """
        started = perf_counter_ns()
        self.failure = None
        live = self._open_live()
        program = self._engine.programs.get(tool)
        if program is None:
            return self._record(tool, arguments, _invalid("unknown_tool", unknown_tool(tool)), _NO_COLUMNS, started)
        if not program.names.issuperset(arguments) or not program.required.issubset(arguments):
            return self._record(
                tool, arguments, _invalid("invalid_arguments", invalid_arguments(_UNFIT)), _NO_COLUMNS, started
            )
        self._is_unclean = True
        outcome = self._run(live, program, arguments)
        reads = _reads(live)
        if live.database.is_lost:
            self._rebuild()
        self._is_unclean = False
        if outcome.status is CallStatus.SUCCESS:
            self._num_successes += 1
            if outcome.changes:
                self._unfolded += outcome.changes
                step = self._engine.pack.clock_step_seconds
                if step:
                    live.clock.step(step)
        self.failure = outcome.failure
        return self._record(tool, arguments, outcome, reads, started)

    def explain(self, tool: str, arguments: Mapping[str, Any]) -> Explanation:
        """What every capture and condition of a call would give here; the call is not made.

        It counts as no call, but a heavy one may be interrupted where the call would be decided afresh: ask an episode
        that is thrown away afterwards.

        Raises:
            EngineError: There is no such tool, or the arguments are not those of its schema.
        """
        live = self._open_live()
        program = self._engine.programs.get(tool)
        if program is None or not program.required <= arguments.keys() <= program.names:
            raise EngineError(f"no call of {tool[:80]} with these arguments reaches a tool")
        self._is_unclean = True
        found = explain_call(live, program, arguments)
        if live.database.is_lost:
            self._rebuild()
        self._is_unclean = False
        return found

    def _run(self, live: LiveState, program: ToolProgram, arguments: Mapping[str, Any]) -> Outcome:
        try:
            return run_call(live, program, arguments, is_fresh=False)
        except RerunFresh:
            self._rebuild()
            return run_call(live, program, arguments, is_fresh=True)

    def _record(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        outcome: Outcome,
        reads: frozenset[ColumnRef],
        started: int,
    ) -> CallRecord:
        index = self.num_calls
        self.num_calls += 1
        return CallRecord(
            index,
            tool,
            arguments,
            outcome.status,
            outcome.code,
            outcome.observation,
            outcome.changes,
            reads,
            outcome.writes,
            outcome.condition_reads,
            (perf_counter_ns() - started) / 1000,
        )

    def prepare(self) -> None:
        """Prepares every SQL text of the pack without running any, so that calls in forked children start warm."""
        self._open_live().database.prepare_known()

    # State

    def state(self) -> dict[str, list[dict[str, Value]]]:
        """Every row of every table by primary key; the canonical dump."""
        return self._open_live().database.dump()

    def diff(self, since: bytes | None = None) -> tuple[RowChange, ...]:
        """Net changes since the start of the episode, or since a snapshot taken in it or in one like it.

        Raises:
            EngineError: The snapshot is of another pack or start.
        """
        net = self._folded()
        if since is None:
            return net.sorted()
        snapshot = self._engine.read_snapshot(since)
        if snapshot.scenario != self._scenario_reference():
            raise EngineError("the snapshot starts from another scenario")
        try:
            return net.since(NetChanges(snapshot.changes))
        except (ValueError, KeyError, TypeError) as error:
            raise EngineError(f"the snapshot does not fit: {error}") from None

    def snapshot(self) -> bytes:
        """State, clock, ids, counters and seed as canonical bytes; equal states of equal starts give equal bytes."""
        live = self._open_live()
        return canonical(
            {
                "format": SNAPSHOT_FORMAT,
                "content_sha256": self._engine.content_sha256,
                "scenario": self._scenario_reference(),
                "seed": self.seed,
                "id_offset": self._id_offset,
                "clock": live.clock.text,
                "ids": live.ids.counts,
                "equal_calls": live.equal_calls,
                "num_calls": self._num_successes,
                "changes": [change_to_json(change) for change in self._folded().sorted()],
            }
        )

    def restore(self, snapshot: bytes) -> None:
        """Continues from a snapshot of the same pack, taken in any process.

        Raises:
            EngineError: It is no snapshot of this pack; the episode is unchanged.
        """
        found = self._engine.read_snapshot(snapshot)
        base = self._engine.base_of_reference(found.scenario)
        clock = self._clock_of(found, base)
        if not found.ids.keys() <= base.id_rules.keys():
            raise EngineError("the snapshot does not fit: ids of a table that has none")
        live = self._engine.new_live_state(base)
        try:
            live.database.apply(found.changes)
        except BaseException as error:
            live.close()
            if isinstance(error, ValueError):
                raise EngineError(f"the snapshot does not fit: {error}") from None
            raise
        self._live.close()
        self._live = live
        self._id_offset = found.id_offset
        self._start(base, found.seed)
        live.clock = clock
        live.ids.counts.update(found.ids)
        live.equal_calls.update(found.equal_calls)
        live.refresh_context()
        self._net = NetChanges(found.changes)
        self._num_successes = found.num_calls
        self.num_calls = found.num_calls
        self._is_closed = False

    def reset(self, scenario: Scenario | str | None = None, seed: int | None = None, id_offset: int = 0) -> None:
        """Starts anew; the same scenario again costs one rollback.

        Args:
            scenario: Another start, None for the same.
            seed: None for the scenario's own.
            id_offset: Every id counter starts so much higher (a run that must be equal all the same).

        Raises:
            EngineError: The scenario is unknown or does not fit the schema.
        """
        base = self._base if scenario is None else self._engine.base(scenario)
        self._id_offset = id_offset
        if self._is_closed or base is not self._base or self._is_unclean or self._live.database.is_lost:
            self._live.close()
            self._live = self._engine.new_live_state(base)
            self._is_closed = False
        else:
            self._live.database.reset()
        self._start(base, base.scenario.seed if seed is None else seed)

    def close(self) -> None:
        """Frees the state; closing twice is harmless."""
        self._is_closed = True
        self._live.close()

    @property
    def now(self) -> str:
        """The episode's time."""
        return self._live.clock.text

    def broken_foreign_keys(self) -> int:
        """How many rows point to nothing, by a check of the whole state."""
        return self._open_live().database.broken_keys()

    # Inside

    def _open_live(self) -> LiveState:
        if self._is_closed:
            raise EngineError("the episode is closed")
        if self._is_unclean:
            # A timer struck between a call's end and its bookkeeping: the last sure state is the changes kept.
            self._is_unclean = False
            self._live.roll_back()
            self._rebuild()
        return self._live

    def _folded(self) -> NetChanges:
        if self._unfolded:
            self._net.add(self._unfolded)
            self._unfolded = []
        return self._net

    def _rebuild(self) -> None:
        try:
            self._live.reopen()
            self._live.database.apply(self._folded().sorted())
        except (ValueError, apsw.Error) as error:
            raise EpisodeLostError(f"the state could not be rebuilt: {error}") from error

    def _clock_of(self, snapshot: "Snapshot", base: "Base") -> Clock:
        """The snapshot's time, which is as many steps from the start as calls can have made."""
        step = self._engine.pack.clock_step_seconds
        try:
            seconds = seconds_of(snapshot.clock)
        except ValueError:
            raise EngineError("not a snapshot: its clock is no time") from None
        clock = Clock(base.scenario.clock_start, base.start_seconds)
        if step:
            num_steps, rest = divmod(seconds - base.start_seconds, step)
            if rest == 0 and 0 < num_steps <= snapshot.num_calls:
                clock.step(num_steps * step)
        if clock.text != snapshot.clock:
            raise EngineError("the snapshot does not fit: its clock is none that its calls lead to")
        return clock

    def _scenario_reference(self) -> Any:
        return self._base.reference


MAX_COUNT = 1 << 31
"""Ids, calls and the like that a snapshot may count; far more than any episode reaches."""
_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]
_Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Snapshot(msgspec.Struct, frozen=True):
    """A snapshot as read back; its shape is checked while it is decoded."""

    format: str
    content_sha256: str
    scenario: Any
    seed: Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
    id_offset: _Count
    clock: str
    ids: dict[str, _Count]
    equal_calls: dict[_Digest, _Count]
    num_calls: _Count
    changes: list[RowChange]


_snapshots = msgspec.json.Decoder(Snapshot)


def decode_snapshot(snapshot: bytes) -> Snapshot:
    """The snapshot's parts.

    Raises:
        EngineError: It is no snapshot of this format.
    """
    try:
        found = _snapshots.decode(snapshot)
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise EngineError(f"not a snapshot: {error}") from None
    if found.format != SNAPSHOT_FORMAT:
        raise EngineError(f"the snapshot's format is {found.format}, not {SNAPSHOT_FORMAT}")
    return found


def _invalid(code: str, observation: str) -> Outcome:
    return Outcome(CallStatus.INVALID, code, observation, _NO_COLUMNS)


def _reads(live: LiveState) -> frozenset[ColumnRef]:
    used = live.database.used
    if not used:
        return _NO_COLUMNS
    if len(used) == 1:
        return used[0].reads
    return _NO_COLUMNS.union(*(statement.reads for statement in set(used)))
