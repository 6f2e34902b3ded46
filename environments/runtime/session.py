"""One object by which everything outside uses an environment (docs/contracts.md, C5): trainers, console, REST, MCP.

An `Environment` is a pack with the workers that run it; a `Session` is one state of it with its transcript;
`session_group` joins up to three under one list of tools. Arguments are checked here, so nothing that is off its schema
reaches a worker, and every refusal has the same bytes in every door.

A live session is never believed in a verdict: `Session.replay` plays its calls again from the start in a child process
that nothing survives, and what that child holds is compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

import msgspec

from environments.runtime.net_changes import NetChanges
from environments.runtime.observations import invalid_arguments, unknown_tool
from environments.runtime.pack import content_sha256, encode_pack
from environments.runtime.pack.model import Pack, Scenario, Tool
from environments.runtime.records import CallRecord, CallStatus, Explanation, RowChange, Value
from environments.runtime.schema import ArgumentValidator

Audience = Literal["agent", "user"]
Mode = Literal["warm", "fork"]
Want = Literal["state", "diff", "snapshot"]
State = dict[str, list[dict[str, Value]]]
Call = tuple[str, Mapping[str, Any]]

_UNPLAYED = frozenset({CallStatus.INVALID, CallStatus.INFRASTRUCTURE})
"""Statuses of calls that never reached a tool or were never made."""


class SessionError(Exception):
    """A session was asked for what it cannot do; nothing has changed. Raised to the caller, who made the mistake."""


class ReplayError(SessionError):
    """The recorded calls gave other observations when played again: infrastructure's fault, and the pack is suspect."""


class Player(Protocol):
    """What holds one state: an episode of a worker pool."""

    def calls(self, calls: Sequence[Call]) -> list[CallRecord]:
        """Makes calls in order."""

    def state(self) -> State:
        """Every row."""

    def diff(self) -> tuple[RowChange, ...]:
        """Net changes since the start."""

    def snapshot(self) -> bytes:
        """Enough to go on elsewhere."""

    def reset(self, scenario: str | Scenario, seed: int | None = None, snapshot: bytes | None = None) -> None:
        """A start, or a snapshot of an episode from that start."""

    def close(self) -> None:
        """Lets go of it."""


class Played(Protocol):
    """What an episode in a forked child did and held at its end."""

    @property
    def records(self) -> tuple[CallRecord, ...]:
        """One for each call."""

    @property
    def state(self) -> State | None:
        """Every row, if asked for."""

    @property
    def diff(self) -> tuple[RowChange, ...] | None:
        """Net changes, if asked for."""

    @property
    def snapshot(self) -> bytes | None:
        """A snapshot, if asked for."""


class Explained(Protocol):
    """A call that was explained and then made in a forked child."""

    @property
    def record(self) -> CallRecord:
        """Of the call."""

    @property
    def failure(self) -> tuple[str, str] | None:
        """Reason and detail if it failed: for reports, never for the agent."""

    @property
    def explanation(self) -> Explanation | None:
        """What each condition gave; None if evaluating them ended badly."""


class Players(Protocol):
    """What opens states: a worker pool."""

    def open(
        self,
        pack: bytes,
        starts: Sequence[tuple[str | Scenario, int | None] | tuple[str | Scenario, int | None, bytes]],
        *,
        mode: Mode = "warm",
        content_sha256: str | None = None,
    ) -> Sequence[Player]:
        """One for each start: scenario and seed, perhaps a snapshot of an episode from there."""

    def calls(self, calls: Sequence[tuple[Any, str, Mapping[str, Any]]]) -> list[CallRecord]:
        """Makes calls of many players in as few frames as fit."""

    def reset(self, episodes: Sequence[Any], scenario: str | Scenario, seed: int | None = None) -> None:
        """Puts players of one pack at a start, in one frame."""

    def diffs(self, episodes: Sequence[Any]) -> list[tuple[RowChange, ...]]:
        """Net changes of players of one pack, in one frame."""

    def close_episodes(self, episodes: Sequence[Any]) -> None:
        """Lets go of players of one pack, in one frame."""

    def transact(
        self,
        pack: bytes,
        scenario: str | Scenario,
        seed: int | None,
        calls: Sequence[Call],
        *,
        wants: Sequence[Want] = (),
        snapshot: bytes | None = None,
        content_sha256: str | None = None,
    ) -> Played:
        """A whole episode in a forked child."""

    def explain(
        self,
        pack: bytes,
        scenario: str | Scenario,
        seed: int | None,
        calls: Sequence[Call],
        *,
        snapshot: bytes | None = None,
        content_sha256: str | None = None,
    ) -> Explained:
        """The last of these calls, explained in a forked child."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where a session's transcript begins.

    Attributes:
        snapshot: If it was restored; then of an episode from this scenario and seed.
    """

    scenario: str | Scenario
    seed: int | None = None
    snapshot: bytes | None = None


class Environment:
    """A pack and the workers that run it; any number of sessions.

    Attributes:
        pack: The pack; its host half of validation has passed.
        content_sha256: Its identity.
        encoded: The pack as it travels to workers.
        players: What opens its states: a worker pool.
    """

    def __init__(self, pack: Pack, players: Players, *, mode: Mode = "warm") -> None:
        self.pack = pack
        self.content_sha256 = content_sha256(pack)
        self.encoded = encode_pack(pack)
        self.players = players
        self._mode: Mode = mode
        self._validators = {tool.name: ArgumentValidator(tool) for tool in pack.tools}
        self._tools = {tool.name: tool for tool in pack.tools}

    def open(self, scenario: str | Scenario, seed: int | None = None) -> "Session":
        """A new session; seed None is the scenario's own."""
        return self.open_many([(scenario, seed)])[0]

    def open_many(self, starts: Sequence[tuple[str | Scenario, int | None]]) -> list["Session"]:
        """A new session for each start, in one frame."""
        players = self.players.open(self.encoded, starts, mode=self._mode, content_sha256=self.content_sha256)
        return [
            Session(self, player, Start(scenario, seed))
            for player, (scenario, seed) in zip(players, starts, strict=True)
        ]

    def reset_many(self, sessions: Sequence["Session"], scenario: str | Scenario, seed: int | None = None) -> None:
        """Starts sessions of this environment anew from one start, in one frame."""
        self.players.reset([session.player for session in sessions], scenario, seed)
        for session in sessions:
            session.begin(Start(scenario, seed))

    def diff_many(self, sessions: Sequence["Session"]) -> list[tuple[RowChange, ...]]:
        """Net changes of sessions of this environment since their scenarios, in one frame."""
        return self.players.diffs([session.player for session in sessions])

    def close_many(self, sessions: Sequence["Session"]) -> None:
        """Lets go of sessions of this environment, in one frame; of one that was closed, this is nothing."""
        self.players.close_episodes([player for session in sessions if (player := session.leave()) is not None])

    def open_snapshot(self, snapshot: bytes) -> "Session":
        """A new session that goes on from a snapshot; its transcript begins there.

        Raises:
            SessionError: It is no snapshot of this environment; what of it only the worker can judge, the worker
                refuses in its own way.
        """
        head = self.read_snapshot(snapshot)
        start = (head.scenario, head.seed, snapshot)
        players = self.players.open(self.encoded, [start], mode=self._mode, content_sha256=self.content_sha256)
        return Session(self, players[0], Start(*start))

    def tools(self, audience: Audience = "agent") -> list[dict[str, Any]]:
        """The tools for agents or for the simulated user, as OpenAI function schemas."""
        return [function_schema(tool.name, tool) for tool in self.pack.tools if tool.audience == audience]

    def tool(self, name: str, audience: Audience | None) -> Tool | None:
        """A tool that this caller may use; audience None may use all."""
        tool = self._tools.get(name) if isinstance(name, str) else None
        return tool if tool is not None and audience in (None, tool.audience) else None

    def refusal(self, name: str, arguments: Mapping[str, Any], audience: Audience | None) -> tuple[str, str] | None:
        """Code and observation of a call that must not reach a tool; None for a good one."""
        if self.tool(name, audience) is None:
            return "unknown_tool", unknown_tool(name)
        errors = self._validators[name].errors(arguments)
        if errors:
            return "invalid_arguments", invalid_arguments(errors)
        return None

    def play(self, start: Start, calls: Sequence[Call], wants: Sequence[Want] = ("diff",)) -> Played:
        """A whole episode in a forked child that nothing survives."""
        return self.players.transact(
            self.encoded,
            start.scenario,
            start.seed,
            calls,
            wants=wants,
            snapshot=start.snapshot,
            content_sha256=self.content_sha256,
        )

    def explain(self, start: Start, calls: Sequence[Call]) -> Explained:
        """Plays calls in a forked child and tells what every condition of the last one gave there.

        Args:
            start: Where the calls begin.
            calls: Good ones only, at least one: what never reached a tool has no conditions to explain.
        """
        return self.players.explain(
            self.encoded,
            start.scenario,
            start.seed,
            calls,
            snapshot=start.snapshot,
            content_sha256=self.content_sha256,
        )

    def read_snapshot(self, snapshot: bytes) -> "SnapshotHead":
        """The parts of a snapshot of this pack that the host needs.

        Raises:
            SessionError: It is another pack's, or none.
        """
        try:
            head = msgspec.json.decode(snapshot, type=SnapshotHead)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise SessionError(f"not a snapshot: {error}") from None
        if head.content_sha256 != self.content_sha256:
            raise SessionError("the snapshot is of another version of the environment")
        return head


class SnapshotHead(msgspec.Struct, frozen=True):
    """What a host reads of a snapshot; the worker reads the rest."""

    format: Literal["envfactory-snapshot/1"]
    content_sha256: str
    scenario: str | Scenario
    seed: Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class Session:
    """One state of an environment with the transcript that led to it.

    Attributes:
        start: Where the transcript begins.
        transcript: A record for each call since then, refused ones too.
    """

    def __init__(self, environment: Environment, player: Player, start: Start) -> None:
        self.environment = environment
        self.start = start
        self.transcript: list[CallRecord] = []
        self._player = player
        self._is_closed = False

    @property
    def player(self) -> Player:
        """What holds the state.

        Raises:
            SessionError: The session is closed.
        """
        if self._is_closed:
            raise SessionError("the session is closed")
        return self._player

    def reset(self, scenario: str | Scenario, seed: int | None = None) -> None:
        """Starts anew with an empty transcript; seed None is the scenario's own."""
        self.player.reset(scenario, seed)
        self.begin(Start(scenario, seed))

    def begin(self, start: Start) -> None:
        """Notes that the player was put at a start, where an empty transcript begins."""
        self.start = start
        self.transcript = []

    def call(self, tool: str, arguments: Mapping[str, Any], *, audience: Audience | None = "agent") -> CallRecord:
        """Makes one call; audience None may use every tool."""
        return call_many([(self, tool, arguments)], audience=audience)[0]

    def calls(self, calls: Sequence[Call], *, audience: Audience | None = "agent") -> list[CallRecord]:
        """Makes calls in order, in one frame where they fit."""
        return call_many([(self, tool, arguments) for tool, arguments in calls], audience=audience)

    @property
    def failure(self) -> tuple[str, str] | None:
        """Why the last call failed (reason and detail), for reports and logs, never for the agent; None if it did not.

        None, too, where the workers do not tell.
        """
        found: tuple[str, str] | None = getattr(self._player, "failure", None)
        return found

    def state(self) -> State:
        """Every row of every table by primary key."""
        return self.player.state()

    def diff(self, since: bytes | None = None) -> tuple[RowChange, ...]:
        """Net changes since the scenario, or since a snapshot of the same start.

        Raises:
            SessionError: The snapshot is of another environment or start.
        """
        changes = self.player.diff()
        if since is None:
            return changes
        here = self.environment.read_snapshot(self.player.snapshot())
        if self.environment.read_snapshot(since).scenario != here.scenario:
            raise SessionError("the snapshot starts from another scenario")
        # Restored, not read: anybody can write a snapshot, and only the worker knows what fits the start.
        earlier = self.environment.open_snapshot(since)
        try:
            return NetChanges(changes).since(NetChanges(earlier.diff()))
        finally:
            earlier.close()

    def snapshot(self) -> bytes:
        """State, clock, id counters and call count; restores in any process that has the same pack."""
        return self.player.snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Continues from a snapshot; the transcript begins anew there.

        Raises:
            SessionError: It is no snapshot of this environment.
        """
        head = self.environment.read_snapshot(snapshot)
        start = Start(head.scenario, head.seed, snapshot)
        self.player.reset(start.scenario, start.seed, snapshot)
        self.begin(start)

    def fork(self) -> "Session":
        """A second session with the same state and transcript; from here on they never see one another."""
        forked = self.environment.open_snapshot(self.player.snapshot())
        forked.start = self.start
        forked.transcript = list(self.transcript)
        return forked

    def close(self) -> None:
        """Lets go of the state; closing twice is harmless."""
        player = self.leave()
        if player is not None:
            player.close()

    def leave(self) -> Player | None:
        """Closes the session but not its player, which the caller lets go of; None if it was closed."""
        if self._is_closed:
            return None
        self._is_closed = True
        return self._player

    def tools(self, audience: Audience = "agent") -> list[dict[str, Any]]:
        """The tools for this audience as OpenAI function schemas."""
        return self.environment.tools(audience)

    def replay(self, wants: Sequence[Want] = ("diff",)) -> Played:
        """Plays the transcript again in a forked child; what that holds is what a verdict compares.

        Raises:
            ReplayError: An observation differs from the record.
        """
        return replay(self.environment, self.start, self.transcript, wants)


def replay(
    environment: Environment, start: Start, transcript: Sequence[CallRecord], wants: Sequence[Want] = ("diff",)
) -> Played:
    """Plays a stored transcript again in a forked child.

    Raises:
        ReplayError: An observation differs from the record, byte for byte.
    """
    made = [record for record in transcript if record.status not in _UNPLAYED]
    played = environment.play(start, [(record.tool, record.arguments) for record in made], wants)
    for record, again in zip(made, played.records, strict=True):
        if (record.status, record.observation) != (again.status, again.observation):
            raise ReplayError(f"call {record.index} ({record.tool}) answered otherwise when played again")
    return played


def call_many(
    calls: Sequence[tuple[Session, str, Mapping[str, Any]]], *, audience: Audience | None = "agent"
) -> list[CallRecord]:
    """Makes calls of any sessions of one pool, those of one session in order; the fastest way to play many at once.

    Returns:
        The records in the order of the calls; each is also in its session's transcript.
    """
    records: list[CallRecord | None] = []
    good: list[int] = []
    for position, (session, tool, arguments) in enumerate(calls):
        session.player  # noqa: B018 - raises for a closed session before anything is called
        refused = session.environment.refusal(tool, arguments, audience)
        if refused is None:
            good.append(position)
            records.append(None)
        else:
            code, observation = refused
            records.append(CallRecord(0, tool, arguments, CallStatus.INVALID, code, observation))
    if good:
        players = calls[good[0]][0].environment.players
        if any(calls[position][0].environment.players is not players for position in good):
            raise SessionError("the sessions belong to different pools")
        requests = [(session.player, tool, arguments) for session, tool, arguments in (calls[p] for p in good)]
        for position, record in zip(good, players.calls(requests), strict=True):
            records[position] = record
    finished = []
    for (session, _, _), found in zip(calls, records, strict=True):
        if found is None:  # pragma: no cover - each call was refused or made
            raise SessionError("a call was not answered")
        # The worker counts only calls that reached it; the transcript is the session's.
        record = found.numbered(len(session.transcript))
        session.transcript.append(record)
        finished.append(record)
    return finished


def function_schema(name: str, tool: Tool) -> dict[str, Any]:
    """A tool as an OpenAI function schema under a name."""
    return {
        "type": "function",
        "function": {"name": name, "description": tool.description, "parameters": dict(tool.input_schema)},
    }
