"""One pack's process on the host's side: batches, rebuilding after a loss, the search for a culprit, quarantine."""

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from environments.runtime.records import CallRecord, Explanation, RowChange
from environments.runtime.sandbox import frames
from environments.runtime.sandbox.episodes import HeldEpisode
from environments.runtime.sandbox.errors import (
    EpisodeLost,
    HarnessTampered,
    PackQuarantinedError,
    ReplayMismatch,
    RequestError,
    SandboxError,
    SandboxUnavailableError,
    ToolMemory,
    ToolTimeout,
)
from environments.runtime.sandbox.host import Mode, Worker
from environments.runtime.sandbox.limits import MEBIBYTE, Limits

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")
BROKEN_ERRORS: dict[str, type[SandboxError]] = {"timeout": ToolTimeout, "memory": ToolMemory, "lost": EpisodeLost}
USAGE_EVERY_FRAMES = 64


@dataclass(frozen=True, slots=True)
class Upkeep:
    """When a pack's worker is replaced, and when a pack is given up.

    Attributes:
        recycle_calls: Calls after which a worker is replaced.
        recycle_resident_bytes: Memory at which it is.
        recycle_cpu_share: Share of its CPU limit at which it is.
        checkpoint_calls: Logged calls after which an episode's rebuild starts from a snapshot instead.
        breaker_crashes: Crashes within `breaker_seconds` that open the circuit breaker.
        breaker_seconds: See above; also how long a call that crashed twice alone is refused unmade.
    """

    recycle_calls: int = 200_000
    recycle_resident_bytes: int = 1536 * MEBIBYTE
    recycle_cpu_share: float = 0.5
    checkpoint_calls: int = 256
    breaker_crashes: int = 3
    breaker_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class TransactionResult:
    """What an episode in a forked child did and held at its end; what was not asked for is None."""

    records: tuple[CallRecord, ...]
    state: frames.State | None
    diff: tuple[RowChange, ...] | None
    snapshot: bytes | None


@dataclass(frozen=True, slots=True)
class ExplainedCall:
    """A call made in a forked child.

    Attributes:
        record: Of the call; its index counts the calls before it.
        failure: Reason and detail if it failed.
        explanation: What each condition gave; None if evaluating them ended badly.
    """

    record: CallRecord
    failure: tuple[str, str] | None
    explanation: Explanation | None


@dataclass(slots=True)
class Crashes:
    """The circuit breaker of one pack."""

    upkeep: Upkeep
    times: deque[float] = field(default_factory=deque)
    calls: dict[str, float] = field(default_factory=dict)
    reason: str | None = None

    def check(self) -> None:
        """Raises PackQuarantinedError if the pack runs no more."""
        if self.reason is not None:
            raise PackQuarantinedError(self.reason)

    def note(self, error: SandboxError) -> None:
        """Counts a lost worker; a slow one is no crash, a lying one is the last."""
        if isinstance(error, ToolTimeout):
            return
        now = time.monotonic()
        self.times.append(now)
        while self.times and self.times[0] < now - self.upkeep.breaker_seconds:
            self.times.popleft()
        if error.is_hostile:
            self.reason = f"{error.code}: {error}"
        elif len(self.times) >= self.upkeep.breaker_crashes:
            self.reason = f"{len(self.times)} crashes in {self.upkeep.breaker_seconds:.0f} s, the last: {error}"

    def set_aside(self, call: frames.Call) -> None:
        """Remembers a call that was lost twice, the second time alone."""
        self.calls[_key(call)] = time.monotonic() + self.upkeep.breaker_seconds

    def is_set_aside(self, call: frames.Call) -> bool:
        """Whether that call was lost twice a short time ago."""
        if not self.calls:
            return False
        until = self.calls.get(_key(call))
        if until is None:
            return False
        if until < time.monotonic():
            del self.calls[_key(call)]
            return False
        return True


def _key(call: frames.Call) -> str:
    return json.dumps([call.tool, call.arguments], sort_keys=True, default=str)


class PackRunner:
    """Runs one pack; thread-safe by one lock, since its worker answers one request at a time."""

    def __init__(
        self,
        content_sha256: str,
        pack: bytes,
        spawn: Callable[[Mode], Worker],
        limits: Limits,
        upkeep: Upkeep,
        *,
        is_gated: bool,
        identity: str | None = None,
    ) -> None:
        """Keeps what it takes to start; nothing runs yet.

        Args:
            content_sha256: What the pack is known by: its identity, or the hash of its bytes.
            pack: As `encode_pack` writes it.
            spawn: Gives a locked process.
            limits: Of a worker.
            upkeep: When workers are replaced.
            is_gated: Whether tools.py is held to the gate.
            identity: The pack's identity, if it is known; else the worker finds it out when it needs it.
        """
        self.content_sha256 = content_sha256
        self.identity = identity
        self.pack = pack
        self.limits = limits
        self.upkeep = upkeep
        self.is_gated = is_gated
        self.lock = threading.RLock()
        self.crashes = Crashes(upkeep)
        self.is_forked = False
        self.last_used = time.monotonic()
        self.loaded: frames.Loaded | None = None
        self.episodes: dict[int, HeldEpisode] = {}
        self._spawn = spawn
        self._workers: dict[Mode, Worker] = {}
        self._open: set[int] = set()
        self._num_frames = 0
        self._next_number = 1

    # Workers

    @property
    def workers(self) -> list[Worker]:
        """The processes that are running for this pack."""
        return list(self._workers.values())

    def worker(self, mode: Mode) -> Worker:
        """The pack's process of that mode, started and loaded if it is not there.

        Raises:
            SandboxUnavailableError: No process can be locked here.
            PackQuarantinedError: The pack runs no more.
            SandboxError: The pack does not load.
        """
        self.crashes.check()
        worker = self._workers.get(mode)
        if worker is not None and worker.is_alive:
            return worker
        self.discard(mode)
        worker = self._spawn(mode)
        try:
            self.loaded = worker.load(self.pack, is_gated=self.is_gated, content_sha256=self.identity)
        except BaseException:
            worker.kill()
            raise
        self._workers[mode] = worker
        return worker

    def discard(self, mode: Mode) -> None:
        """Ends a process of this pack; its episodes are rebuilt when next used."""
        worker = self._workers.pop(mode, None)
        if worker is not None:
            worker.kill()
        if mode == "warm":
            self._open.clear()

    def close(self) -> None:
        """Ends the pack's processes."""
        with self.lock:
            self.discard("warm")
            self.discard("fork")

    def forget_after_fork(self) -> None:
        """In a forked child: the parent's processes are not ours; episodes are rebuilt in own ones."""
        self.lock = threading.RLock()
        self._workers.clear()
        self._open.clear()

    def describe(self) -> frames.Loaded:
        """The worker's half of the pack's validation, and its tables."""
        with self._use():
            if self.loaded is None:
                self._guarded(lambda: self.worker("warm"), "warm")
            if self.loaded is None:
                raise EpisodeLost("the pack did not load")
            return self.loaded

    def _use(self) -> threading.RLock:
        self.last_used = time.monotonic()
        return self.lock

    def _lost(self, mode: Mode, error: SandboxError) -> None:
        """Takes note of a lost process."""
        self.discard(mode)
        if isinstance(error, HarnessTampered):
            self.is_forked = True
        logger.warning("sandbox worker lost pack=%s mode=%s code=%s", self.content_sha256[:12], mode, error.code)

    def _recycle_if_due(self) -> None:
        """Replaces a worker that has used much; only looks now and then, since /proc costs 30 µs."""
        worker = self._workers.get("warm")
        self._num_frames += 1
        if worker is None or self._num_frames % USAGE_EVERY_FRAMES:
            return
        if (
            worker.num_calls >= self.upkeep.recycle_calls
            or worker.resident_bytes() >= self.upkeep.recycle_resident_bytes
            or worker.cpu_seconds() >= self.upkeep.recycle_cpu_share * self.limits.cpu_seconds
        ):
            logger.info("sandbox worker recycled pack=%s calls=%s", self.content_sha256[:12], worker.num_calls)
            self.discard("warm")

    # Episodes

    def open(self, starts: Sequence[frames.Start], mode: Mode) -> list[HeldEpisode]:
        """Opens episodes; warm ones at once in one frame, so that a scenario that does not load is told now.

        Raises:
            SandboxError: As the worker ends or refuses.
        """
        with self._use():
            episodes = [HeldEpisode(self._next_number + position, mode, start) for position, start in enumerate(starts)]
            self._next_number += len(starts)
            if self._mode_of(mode) == "fork":
                for episode in episodes:
                    self._transact(episode.start, [], ())
            else:
                self._guarded(lambda: self._ensure_open(episodes), "warm")
            self.episodes.update({episode.number: episode for episode in episodes})
            return episodes

    def reset(self, episode: HeldEpisode, start: frames.Start) -> None:
        """Puts an episode at a start.

        Raises:
            RequestError: The worker refuses the start; the episode stays where it was.
            SandboxError: As the worker ends.
        """
        with self._use():
            self._check_open(episode)
            if self._mode_of(episode.mode) == "fork":
                self._transact(start, [], ())
            else:
                try:
                    self._guarded(lambda: self.worker("warm").open({episode.number: start}), "warm")
                except RequestError:
                    self._open.discard(episode.number)  # the worker closed it; it is rebuilt when next used
                    raise
                self._open.add(episode.number)
            episode.start, episode.log, episode.num_calls = start, [], 0

    def reset_many(self, episodes: Sequence[HeldEpisode], start: frames.Start) -> None:
        """Puts episodes at one start, in one frame where they are warm.

        Raises:
            RequestError: The worker refuses the start; the episodes stay where they were.
            SandboxError: As the worker ends.
        """
        with self._use():
            for episode in episodes:
                self._check_open(episode)
            if any(self._mode_of(episode.mode) == "fork" for episode in episodes):
                for episode in episodes:
                    self.reset(episode, start)
                return
            numbers = {episode.number: start for episode in episodes}
            try:
                self._guarded(lambda: self.worker("warm").open(numbers), "warm")
            except RequestError:
                self._open.difference_update(numbers)  # the worker closed some; they are rebuilt when next used
                raise
            self._open.update(numbers)
            for episode in episodes:
                episode.start, episode.log, episode.num_calls = start, [], 0

    def diffs(self, episodes: Sequence[HeldEpisode]) -> list[tuple[RowChange, ...]]:
        """What changed in each episode since it began, in one frame where they are warm.

        Raises:
            SandboxError: As the worker ends.
        """
        with self._use():
            for episode in episodes:
                self._check_open(episode)
            if any(self._mode_of(episode.mode) == "fork" for episode in episodes):
                return [self.ask(episode, "diff").diff or () for episode in episodes]

            def tell() -> list[tuple[RowChange, ...]]:
                self._ensure_open(episodes)
                return self.worker("warm").diffs([episode.number for episode in episodes])

            return self._guarded(tell, "warm")

    def close_episodes(self, episodes: Iterable[HeldEpisode]) -> None:
        """Closes episodes; closing twice is nothing."""
        with self._use():
            numbers = []
            for episode in episodes:
                episode.is_closed = True
                self.episodes.pop(episode.number, None)
                if episode.number in self._open:
                    self._open.discard(episode.number)
                    numbers.append(episode.number)
            worker = self._workers.get("warm")
            if numbers and worker is not None and worker.is_alive:
                try:
                    worker.close_episodes(numbers)
                except SandboxError as error:
                    self._lost("warm", error)
                    self.crashes.note(error)

    def ask(self, episode: HeldEpisode, what: Literal["state", "diff", "snapshot"]) -> TransactionResult:
        """What an episode holds, as the one field that was asked for."""
        with self._use():
            self._check_open(episode)
            if self._mode_of(episode.mode) == "fork":
                return self._transact(episode.start, self._logged(episode), (what,))

            def tell() -> TransactionResult:
                self._ensure_open([episode])
                worker = self.worker("warm")
                numbers = [episode.number]
                return TransactionResult(
                    (),
                    worker.states(numbers)[0] if what == "state" else None,
                    worker.diffs(numbers)[0] if what == "diff" else None,
                    worker.snapshots(numbers)[0] if what == "snapshot" else None,
                )

            return self._guarded(tell, "warm")

    def transact(
        self,
        start: frames.Start,
        calls: Sequence[frames.Call],
        wants: Sequence[Literal["state", "diff", "snapshot"]],
    ) -> TransactionResult:
        """Runs a whole episode in a forked child.

        Raises:
            SandboxError: How it ended; a time-out only if it happened twice.
        """
        with self._use():
            return self._transact(start, calls, wants)

    def _transact(
        self,
        start: frames.Start,
        calls: Sequence[frames.Call],
        wants: Sequence[Literal["state", "diff", "snapshot"]],
    ) -> TransactionResult:
        def run() -> TransactionResult:
            result = self.worker("fork").transact(start, calls, wants=wants)
            records = []
            for index, (call, outcome) in enumerate(zip(calls, result.outcomes, strict=True)):
                if isinstance(outcome, frames.Broken):
                    raise BROKEN_ERRORS[outcome.kind](f"call {index}, of {call.tool[:80]}: {outcome.message}")
                records.append(frames.to_record(outcome, index, call.tool, call.arguments))
            return TransactionResult(tuple(records), result.state, result.diff, result.snapshot)

        try:
            return self._guarded(run, "fork")
        except ToolTimeout:
            return self._guarded(run, "fork")

    def explain(self, start: frames.Start, calls: Sequence[frames.Call]) -> ExplainedCall:
        """Makes calls in a forked child and tells what each condition of the last one gave.

        Raises:
            SandboxError: How it ended, or that the last call did not finish.
        """

        def run() -> ExplainedCall:
            result = self.worker("fork").explain(start, calls)
            last, outcome = calls[-1], result.outcomes[0]
            if isinstance(outcome, frames.Broken):
                raise BROKEN_ERRORS[outcome.kind](f"of {last.tool[:80]}: {outcome.message}")
            record = frames.to_record(outcome, len(calls) - 1, last.tool, last.arguments)
            return ExplainedCall(record, outcome.failure, result.explanation)

        with self._use():
            return self._guarded(run, "fork")

    def _guarded(self, action: Callable[[], Answer], mode: Mode, *, is_retried: bool = False) -> Answer:
        """Runs an action and takes note of a process that it lost.

        Args:
            action: What to do.
            mode: The process that does it.
            is_retried: The caller tries again and counts the crash itself, so that one bad call counts once.
        """
        try:
            return action()
        except (RequestError, SandboxUnavailableError, PackQuarantinedError):
            raise
        except SandboxError as error:
            worker = self._workers.get(mode)
            if worker is None or not worker.is_alive:  # else only a transaction's child died
                self._lost(mode, error)
            if error.is_hostile or not is_retried:
                self.crashes.note(error)
            raise

    def _mode_of(self, mode: Mode) -> Mode:
        return "fork" if self.is_forked else mode

    def _check_open(self, episode: HeldEpisode) -> None:
        if episode.is_closed:
            raise EpisodeLost("the episode was closed")

    @staticmethod
    def _logged(episode: HeldEpisode) -> list[frames.Call]:
        return [frames.Call(episode.number, call.tool, dict(call.arguments)) for call in episode.log]

    def _ensure_open(self, episodes: Iterable[HeldEpisode]) -> None:
        """Opens in the worker what is not open there, and replays what was called since each start.

        Raises:
            ReplayMismatch: An answer differs from the logged one: the pack is not deterministic.
            SandboxError: The worker ended.
        """
        worker = self.worker("warm")
        missing = {episode.number: episode for episode in episodes if episode.number not in self._open}
        if not missing:
            return
        worker.open({number: episode.start for number, episode in missing.items()})
        for episode in missing.values():
            calls = self._logged(episode)
            for first in range(0, len(calls), self.limits.batch_calls):
                outcomes = worker.calls(calls[first : first + self.limits.batch_calls])
                for logged, outcome in zip(episode.log[first:], outcomes, strict=False):
                    if isinstance(outcome, frames.Broken) or outcome.observation != logged.observation:
                        worker.kill()
                        raise ReplayMismatch(f"{logged.tool} answers otherwise when replayed")
        self._open.update(missing)

    # Calls

    def calls(self, requests: Sequence[tuple[HeldEpisode, frames.Call]]) -> list[CallRecord]:
        """Makes calls in order and returns a record of each; one that the sandbox ended has its error's code.

        Raises:
            SandboxUnavailableError: No process can be locked here.
        """
        with self._use():
            records: list[CallRecord] = []
            size = self.limits.batch_calls
            for first in range(0, len(requests), size):
                records += self._frame(requests[first : first + size])
                self._recycle_if_due()
            return records

    def _frame(self, requests: Sequence[tuple[HeldEpisode, frames.Call]]) -> list[CallRecord]:
        """One frame of calls; after a loss, the same calls one by one."""
        fits = all(
            not episode.is_closed and self._mode_of(episode.mode) == "warm" and not self.crashes.is_set_aside(call)
            for episode, call in requests
        )
        if not fits:
            return [self._alone(episode, call) for episode, call in requests]
        try:
            outcomes = self._attempt(requests)
        except SandboxUnavailableError:
            raise
        except SandboxError as error:
            if len(requests) == 1:
                return [self._alone(*requests[0], earlier=error)]
            return [self._alone(episode, call) for episode, call in requests]
        records = []
        for (episode, call), outcome in zip(requests, outcomes, strict=True):
            if isinstance(outcome, frames.Recorded):
                records.append(episode.note(call, outcome))
            else:
                # "lost" alone says nothing of this call: it follows a call of its episode that broke.
                self._after_broken(episode, outcome)
                earlier = BROKEN_ERRORS[outcome.kind](outcome.message) if outcome.kind != "lost" else None
                records.append(self._alone(episode, call, earlier=earlier))
        self._checkpoint({episode.number: episode for episode, _ in requests})
        return records

    def _after_broken(self, episode: HeldEpisode, outcome: frames.Broken) -> None:
        """A worker that was interrupted or ran out of memory is not trusted with more."""
        self._open.discard(episode.number)
        if outcome.kind != "lost":
            self.discard("warm")

    def _attempt(self, requests: Sequence[tuple[HeldEpisode, frames.Call]]) -> list[frames.Outcome]:
        def run() -> list[frames.Outcome]:
            self._ensure_open(episode for episode, _ in requests)
            return self.worker("warm").calls([call for _, call in requests])

        return self._guarded(run, "warm", is_retried=True)

    def _alone(self, episode: HeldEpisode, call: frames.Call, earlier: SandboxError | None = None) -> CallRecord:
        """One call in a frame of its own, twice at most; the second loss is the call's own.

        Args:
            episode: Its episode.
            call: The call.
            earlier: How it was already lost alone.
        """
        if episode.is_closed:
            return episode.broken_record(call, EpisodeLost("the episode was closed"))
        if self.crashes.is_set_aside(call):
            return episode.broken_record(call, ToolTimeout("this call was lost twice a short time ago"))
        error = earlier
        for _ in range(1 if earlier else 2):
            try:
                outcome = self._once(episode, call)
            except SandboxUnavailableError:
                raise
            except SandboxError as lost:
                error = lost
                if isinstance(lost, PackQuarantinedError | RequestError | ReplayMismatch):
                    return episode.broken_record(call, lost)
                continue
            if isinstance(outcome, frames.Recorded):
                record = episode.note(call, outcome)
                self._checkpoint({episode.number: episode})
                return record
            self._after_broken(episode, outcome)
            error = BROKEN_ERRORS[outcome.kind](outcome.message)
        error = error or EpisodeLost("the call was lost")
        self.crashes.set_aside(call)
        if not error.is_hostile:  # that was noted when it happened
            self.crashes.note(error)
        return episode.broken_record(call, error)

    def _once(self, episode: HeldEpisode, call: frames.Call) -> frames.Outcome:
        if self._mode_of(episode.mode) == "warm":
            return self._attempt([(episode, call)])[0]
        logged = self._logged(episode)
        result = self._guarded(
            lambda: self.worker("fork").transact(episode.start, [*logged, call], wants=("snapshot",)),
            "fork",
            is_retried=True,
        )
        for held, outcome in zip(episode.log, result.outcomes, strict=False):
            if isinstance(outcome, frames.Broken) or outcome.observation != held.observation:
                raise ReplayMismatch(f"{held.tool} answers otherwise when replayed")
        return result.outcomes[-1]

    def _checkpoint(self, episodes: dict[int, HeldEpisode]) -> None:
        """Bounds what a rebuild replays."""
        due = [episode for episode in episodes.values() if len(episode.log) >= self.upkeep.checkpoint_calls]
        for episode in due:
            try:
                snapshot = self.ask(episode, "snapshot").snapshot
            except SandboxError as error:
                logger.warning("sandbox checkpoint failed code=%s", error.code)
                continue
            if snapshot is not None:
                episode.rebase(snapshot)
