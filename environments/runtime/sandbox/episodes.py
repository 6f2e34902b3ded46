"""An episode as the host keeps it: where it started and what was called since, enough to rebuild it in any worker."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from environments.runtime.observations import INTERNAL_ERROR, invalid_arguments
from environments.runtime.records import CallRecord, CallStatus
from environments.runtime.sandbox import frames
from environments.runtime.sandbox.errors import RequestError, SandboxError, ToolMemory
from environments.runtime.sandbox.host import Mode

UNSENDABLE_OBSERVATION = invalid_arguments(
    [{"pointer": "", "message": "an integer beyond 64 bits, text that is not Unicode, or nesting beyond any schema"}]
)


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A finished call and what it answered, to be made and compared again after a loss."""

    tool: str
    arguments: Mapping[str, Any]
    observation: str


@dataclass(slots=True, eq=False)
class HeldEpisode:
    """The host's account of one episode.

    Attributes:
        number: Its number in the pack's workers, never used twice.
        mode: `warm`: lives in the pack's worker. `fork`: each frame of its calls is a transaction of its own.
        start: Where a rebuild begins: the scenario and seed, later perhaps a snapshot.
        log: Finished calls since `start`, refused and failed ones too: they count in indices and random draws.
        num_calls: Finished calls since the episode began.
        is_closed: Whether it was closed.
        failure: Reason and detail of its last call's failure, for reports; None if that did not fail.
    """

    number: int
    mode: Mode
    start: frames.Start
    log: list[LoggedCall] = field(default_factory=list)
    num_calls: int = 0
    is_closed: bool = False
    failure: tuple[str, str] | None = None

    def note(self, call: frames.Call, outcome: frames.Recorded) -> CallRecord:
        """Takes a finished call into the account and returns its record."""
        record = frames.to_record(outcome, self.num_calls, call.tool, call.arguments)
        self.log.append(LoggedCall(call.tool, call.arguments, outcome.observation))
        self.num_calls += 1
        self.failure = outcome.failure
        return record

    def rebase(self, snapshot: bytes) -> None:
        """Starts later rebuilds at a snapshot of now."""
        self.start = frames.Start(self.start.scenario, self.start.seed, snapshot, self.start.id_offset)
        self.log = []

    def broken_record(self, call: frames.Call, error: SandboxError) -> CallRecord:
        """The record of a call that the sandbox ended; it counts as not made.

        Out of memory is a limit that the call hit, so the environment's `failure`; arguments that no frame can carry
        (integers of more than 64 bits, lone surrogates) are the agent's; everything else is `infrastructure`.
        """
        if isinstance(error, RequestError) and error.kind == "unsendable":
            invalid = (self.num_calls, call.tool, call.arguments, CallStatus.INVALID, "invalid_arguments")
            return CallRecord(*invalid, UNSENDABLE_OBSERVATION)
        status = CallStatus.FAILURE if isinstance(error, ToolMemory) else CallStatus.INFRASTRUCTURE
        return CallRecord(self.num_calls, call.tool, call.arguments, status, error.code, INTERNAL_ERROR)
