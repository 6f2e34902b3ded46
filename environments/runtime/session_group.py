"""Up to three sessions under one list of tools, one transcript and one snapshot (docs/contracts.md, C5)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import msgspec
import orjson

from environments.runtime.observations import unknown_tool
from environments.runtime.pack.model import Scenario
from environments.runtime.records import CallRecord, CallStatus, RowChange
from environments.runtime.session import Audience, Call, Session, SessionError, State, function_schema

MAX_JOINED_SESSIONS = 3
MAX_JOINED_NAME = 64
GROUP_FORMAT = "envfactory-group-snapshot/1"


class SessionGroup:
    """Up to three sessions under one list of tools, named `<environment>__<tool>`, with one snapshot.

    Attributes:
        sessions: By the names of their environments, in the order given.
        transcript: A record for each call of the group, by its joined name.
    """

    def __init__(self, sessions: Sequence[Session]) -> None:
        """Joins sessions.

        Raises:
            SessionError: None or too many, two of one environment, or a joined name that is too long or unclear.
        """
        if not 1 <= len(sessions) <= MAX_JOINED_SESSIONS:
            raise SessionError(f"a group has one to {MAX_JOINED_SESSIONS} sessions")
        self.sessions = {session.environment.pack.name: session for session in sessions}
        if len(self.sessions) != len(sessions):
            raise SessionError("two sessions of one group are of the same environment")
        for name, session in self.sessions.items():
            for tool in session.environment.pack.tools:
                if "__" in name or "__" in tool.name or len(f"{name}__{tool.name}") > MAX_JOINED_NAME:
                    raise SessionError(f"{name} and {tool.name} cannot be joined to one name")
        self.transcript: list[CallRecord] = []

    def call(self, tool: str, arguments: Mapping[str, Any], *, audience: Audience | None = "agent") -> CallRecord:
        """Makes one call by its joined name."""
        return self.calls([(tool, arguments)], audience=audience)[0]

    def calls(self, calls: Sequence[Call], *, audience: Audience | None = "agent") -> list[CallRecord]:
        """Makes calls in order."""
        finished = []
        for tool, arguments in calls:
            name, _, own = tool.partition("__") if isinstance(tool, str) else ("", "", "")
            session = self.sessions.get(name)
            if session is None or session.environment.tool(own, audience) is None:
                record = CallRecord(0, tool, arguments, CallStatus.INVALID, "unknown_tool", unknown_tool(tool))
            else:
                record = session.call(own, arguments, audience=audience)
            finished.append(replace(record, index=len(self.transcript), tool=tool))
            self.transcript.append(finished[-1])
        return finished

    def reset(self, starts: Mapping[str, tuple[str | Scenario, int | None]]) -> None:
        """Starts every session anew.

        Raises:
            SessionError: A start is missing, or names no session.
        """
        if starts.keys() != self.sessions.keys():
            raise SessionError("give a start for each environment of the group and no other")
        for name, (scenario, seed) in starts.items():
            self.sessions[name].reset(scenario, seed)
        self.transcript = []

    def state(self) -> dict[str, State]:
        """The state of each environment."""
        return {name: session.state() for name, session in self.sessions.items()}

    def diff(self, since: bytes | None = None) -> dict[str, tuple[RowChange, ...]]:
        """Net changes of each environment."""
        earlier = {} if since is None else self._parts(since)
        return {name: session.diff(earlier.get(name)) for name, session in self.sessions.items()}

    def snapshot(self) -> bytes:
        """One snapshot of all."""
        parts = {name: orjson.Fragment(session.snapshot()) for name, session in self.sessions.items()}
        return orjson.dumps({"format": GROUP_FORMAT, "sessions": parts}, option=orjson.OPT_SORT_KEYS)

    def restore(self, snapshot: bytes) -> None:
        """Continues from a snapshot of a group of the same environments; all or none are restored.

        Raises:
            SessionError: It is none.
        """
        parts = self._parts(snapshot)
        for name, session in self.sessions.items():
            session.environment.read_snapshot(parts[name])
        for name, session in self.sessions.items():
            session.restore(parts[name])
        self.transcript = []

    def fork(self) -> "SessionGroup":
        """A second group with the same states and transcript."""
        forked = SessionGroup([session.fork() for session in self.sessions.values()])
        forked.transcript = list(self.transcript)
        return forked

    def close(self) -> None:
        """Closes every session."""
        for session in self.sessions.values():
            session.close()

    def tools(self, audience: Audience = "agent") -> list[dict[str, Any]]:
        """The tools of all under their joined names."""
        return [
            function_schema(f"{name}__{tool.name}", tool)
            for name, session in self.sessions.items()
            for tool in session.environment.pack.tools
            if tool.audience == audience
        ]

    def _parts(self, snapshot: bytes) -> dict[str, bytes]:
        try:
            whole = msgspec.json.decode(snapshot, type=_GroupSnapshot)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise SessionError(f"not a snapshot of a group: {error}") from None
        if whole.sessions.keys() != self.sessions.keys():
            raise SessionError("the snapshot is of other environments")
        return {name: bytes(part) for name, part in whole.sessions.items()}


class _GroupSnapshot(msgspec.Struct, frozen=True):
    format: Literal["envfactory-group-snapshot/1"]
    sessions: dict[str, msgspec.Raw]
