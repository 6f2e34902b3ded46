"""Workers for many packs in one process: one each, started when needed, kept warm, closed when idle.

Create it anywhere, also before a fork: it starts no process and no thread until it is used, and a forked child (as
of Celery's prefork) finds it empty and starts its own. `close` it, or leave that to the end of the process.
"""

import atexit
import hashlib
import logging
import os
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from environments.runtime.pack.model import Scenario
from environments.runtime.records import CallRecord, RowChange
from environments.runtime.sandbox import frames
from environments.runtime.sandbox.episodes import HeldEpisode
from environments.runtime.sandbox.errors import PoolClosedError, SandboxError
from environments.runtime.sandbox.host import Mode, Worker
from environments.runtime.sandbox.limits import Limits
from environments.runtime.sandbox.policy import Policy
from environments.runtime.sandbox.runner import ExplainedCall, PackRunner, TransactionResult, Upkeep
from environments.runtime.sketches import SketchListing

logger = logging.getLogger(__name__)

_pools: "weakref.WeakSet[WorkerPool]" = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """How a pool behaves.

    Attributes:
        limits: Of each worker.
        policy: What it insists on.
        upkeep: When workers are replaced and packs given up.
        max_packs: Packs with running processes at a time; the longest unused is closed for a new one.
        num_spares: Locked workers without a pack kept ready, so that a new or lost one costs no start.
        idle_seconds: After which an unused pack's processes are closed; its episodes are rebuilt when next used.
        is_gated: Off only in tests that assume the engine's gate was bypassed.
    """

    limits: Limits = field(default_factory=Limits)
    policy: Policy = field(default_factory=Policy)
    upkeep: Upkeep = field(default_factory=Upkeep)
    max_packs: int = 16
    num_spares: int = 1
    idle_seconds: float = 60.0
    is_gated: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class PoolEpisode:
    """An episode of a pool; survives the loss of its worker.

    Attributes:
        runner: What runs its pack.
        held: Its account.
    """

    runner: PackRunner
    held: HeldEpisode
    pool: "WorkerPool"

    @property
    def failure(self) -> tuple[str, str] | None:
        """Reason and detail of the last call's failure, for reports; None if it did not fail."""
        return self.held.failure

    def call(self, tool: str, arguments: Mapping[str, Any]) -> CallRecord:
        """Makes one call."""
        return self.calls([(tool, arguments)])[0]

    def calls(self, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[CallRecord]:
        """Makes calls in order."""
        return self.pool.calls([(self, tool, arguments) for tool, arguments in calls])

    def state(self) -> frames.State:
        """All rows by key."""
        return self._ask("state").state or {}

    def diff(self) -> tuple[RowChange, ...]:
        """What changed since the episode began."""
        return self._ask("diff").diff or ()

    def snapshot(self) -> bytes:
        """State, clock, counters: enough to go on in another process."""
        return self._ask("snapshot").snapshot or b""

    def reset(self, scenario: str | Scenario, seed: int | None = None, snapshot: bytes | None = None) -> None:
        """Puts the episode at a start, or at a snapshot of an episode from that start."""
        self.pool.check()
        self.runner.reset(self.held, frames.Start(scenario, seed, snapshot))

    def close(self) -> None:
        """Lets go of it; closing twice is nothing."""
        if not self.held.is_closed and not self.pool.is_closed:
            self.runner.close_episodes([self.held])

    def _ask(self, what: Literal["state", "diff", "snapshot"]) -> TransactionResult:
        self.pool.check()
        return self.runner.ask(self.held, what)


class WorkerPool:
    """All workers of this process; thread-safe, one frame at a time for each pack."""

    def __init__(self, settings: PoolSettings | None = None) -> None:
        self.settings = settings or PoolSettings()
        self.is_closed = False
        self._runners: dict[str, PackRunner] = {}
        self._prepare()
        _pools.add(self)
        atexit.register(_close_at_exit, weakref.ref(self))

    def _prepare(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._spares: list[Worker] = []
        self._wake = threading.Event()
        self._wants_spares = False
        self._last_taken = 0.0
        self._manager: threading.Thread | None = None

    def check(self) -> None:
        """Raises PoolClosedError if the pool was closed; takes the pool over in a forked child."""
        if self._owner != os.getpid():  # a fork that did not run Python's hooks
            self._forget_after_fork()
        if self.is_closed:
            raise PoolClosedError("the pool was closed")

    # Packs and episodes

    def runner(self, pack: bytes, content_sha256: str | None = None) -> PackRunner:
        """What runs a pack.

        Args:
            pack: As `encode_pack` writes it.
            content_sha256: The pack's identity; by default that of the bytes.
        """
        self.check()
        key = content_sha256 or hashlib.sha256(pack).hexdigest()
        with self._lock:
            runner = self._runners.get(key)
            if runner is None:
                settings = self.settings
                runner = PackRunner(
                    key, pack, self._take, settings.limits, settings.upkeep,
                    is_gated=settings.is_gated, identity=content_sha256,
                )  # fmt: skip
                self._runners[key] = runner
        self._make_room(runner)
        return runner

    def describe(self, pack: bytes, content_sha256: str | None = None) -> frames.Loaded:
        """The worker's half of a pack's validation: its faults and tables."""
        return self.runner(pack, content_sha256).describe()

    def open(
        self,
        pack: bytes,
        starts: Sequence[tuple[str | Scenario, int | None] | tuple[str | Scenario, int | None, bytes]],
        *,
        mode: Mode = "warm",
        content_sha256: str | None = None,
    ) -> list[PoolEpisode]:
        """Opens an episode for each (scenario, seed), or (scenario, seed, snapshot of an episode from there)."""
        runner = self.runner(pack, content_sha256)
        held = runner.open([frames.Start(*start) for start in starts], mode)
        return [PoolEpisode(runner, episode, self) for episode in held]

    def calls(self, calls: Sequence[tuple[PoolEpisode, str, Mapping[str, Any]]]) -> list[CallRecord]:
        """Makes calls of any episodes, those of one pack in as few frames as fit; records come in the same order.

        Calls of one episode are made in order; a call that the sandbox ended has status `infrastructure` (or `failure`
        when it ran out of memory) and its error's code.
        """
        self.check()
        by_runner: dict[int, list[int]] = {}
        for position, (episode, _, _) in enumerate(calls):
            by_runner.setdefault(id(episode.runner), []).append(position)
        records: list[CallRecord | None] = [None] * len(calls)
        for positions in by_runner.values():
            runner = calls[positions[0]][0].runner
            self._make_room(runner)
            requests = [
                (episode.held, frames.Call(episode.held.number, tool, dict(arguments)))
                for episode, tool, arguments in (calls[position] for position in positions)
            ]
            for position, record in zip(positions, runner.calls(requests), strict=True):
                records[position] = record
        return [record for record in records if record is not None]

    def reset(self, episodes: Sequence[PoolEpisode], scenario: str | Scenario, seed: int | None = None) -> None:
        """Puts episodes of one pack at a start, in one frame."""
        self.check()
        if episodes:
            episodes[0].runner.reset_many([episode.held for episode in episodes], frames.Start(scenario, seed))

    def diffs(self, episodes: Sequence[PoolEpisode]) -> list[tuple[RowChange, ...]]:
        """What changed in each of one pack's episodes since it began, in one frame."""
        self.check()
        return episodes[0].runner.diffs([episode.held for episode in episodes]) if episodes else []

    def close_episodes(self, episodes: Sequence[PoolEpisode]) -> None:
        """Lets go of episodes of one pack, in one frame."""
        if episodes and not self.is_closed:
            episodes[0].runner.close_episodes([episode.held for episode in episodes if not episode.held.is_closed])

    def transact(
        self,
        pack: bytes,
        scenario: str | Scenario,
        seed: int | None,
        calls: Sequence[tuple[str, Mapping[str, Any]]],
        *,
        wants: Sequence[Literal["state", "diff", "snapshot"]] = (),
        snapshot: bytes | None = None,
        content_sha256: str | None = None,
    ) -> TransactionResult:
        """Runs a whole episode in a forked child that nothing survives: what verdicts and rewards stand on.

        Raises:
            SandboxError: How it ended, if not well.
        """
        runner = self.runner(pack, content_sha256)
        requests = [frames.Call(0, tool, dict(arguments)) for tool, arguments in calls]
        return runner.transact(frames.Start(scenario, seed, snapshot), requests, wants)

    def explain(
        self,
        pack: bytes,
        scenario: str | Scenario,
        seed: int | None,
        calls: Sequence[tuple[str, Mapping[str, Any]]],
        *,
        snapshot: bytes | None = None,
        content_sha256: str | None = None,
    ) -> ExplainedCall:
        """Makes calls in a forked child that nothing survives and tells what each condition of the last one gave.

        Raises:
            SandboxError: How it ended, if not well.
        """
        runner = self.runner(pack, content_sha256)
        return runner.explain(
            frames.Start(scenario, seed, snapshot), [frames.Call(0, tool, dict(arguments)) for tool, arguments in calls]
        )

    def sketch(self, source: bytes) -> SketchListing:
        """What a Python source declares, listed in a worker of its own that nothing else is ever done in.

        Raises:
            RequestError: It is no Python, or breaks a limit.
            SandboxUnavailableError: No process can be locked here.
            SandboxError: The parser took too long, too much, or died.
        """
        with self._take("warm") as worker:
            return worker.sketch(source)

    def release(self, content_sha256: str) -> None:
        """Lets a quarantined pack run again."""
        with self._lock:
            runner = self._runners.get(content_sha256)
        if runner is not None:
            runner.crashes.reason = None
            runner.crashes.times.clear()
            runner.crashes.calls.clear()

    def quarantined(self) -> dict[str, str]:
        """The packs that run no more and why."""
        with self._lock:
            return {key: runner.crashes.reason for key, runner in self._runners.items() if runner.crashes.reason}

    # Processes

    @property
    def workers(self) -> list[Worker]:
        """Every running process, spares too."""
        with self._lock:
            return [*self._spares, *(worker for runner in self._runners.values() for worker in runner.workers)]

    def _take(self, mode: Mode) -> Worker:
        """A locked worker without a pack: a spare, or a new one."""
        self.check()
        try:
            while mode == "warm":
                with self._lock:
                    if not self._spares:
                        break
                    worker = self._spares.pop()
                if worker.is_alive:
                    return worker
                worker.kill()
            return self._start(mode)
        finally:
            self._manage()

    def _start(self, mode: Mode) -> Worker:
        return Worker(mode, self.settings.limits, self.settings.policy)

    def _make_room(self, wanted: PackRunner) -> None:
        """Closes the longest unused pack's processes if there are too many; one in use is passed over."""
        wanted.last_used = time.monotonic()
        with self._lock:
            running = [runner for runner in self._runners.values() if runner.workers and runner is not wanted]
        running.sort(key=lambda runner: runner.last_used)
        for runner in running[: max(0, len(running) + 1 - self.settings.max_packs)]:
            _close_if_free(runner, float("inf"))

    def _manage(self) -> None:
        """Starts the thread that makes spares and closes what is idle; wakes it if it runs."""
        with self._lock:
            if self.is_closed:
                return
            self._wants_spares, self._last_taken = True, time.monotonic()
            if self._manager is None or not self._manager.is_alive():
                # A worker does not die with the thread that started it: PDEATHSIG is not used.
                self._manager = threading.Thread(target=self._keep, name="sandbox-pool", daemon=True)
                self._manager.start()
        self._wake.set()

    def _keep(self) -> None:
        while not self.is_closed and self._owner == os.getpid():
            self._wake.clear()
            with self._lock:
                is_short = self._wants_spares and len(self._spares) < self.settings.num_spares
            if is_short and self._add_spare():
                continue
            self._close_idle()
            self._wake.wait(max(0.05, self.settings.idle_seconds / 4))

    def _add_spare(self) -> bool:
        """Starts a spare; False if that failed, so that the loop waits before it tries again."""
        try:
            spare = self._start("warm")
        except SandboxError as error:
            logger.warning("sandbox spare not started error=%s", error)
            return False
        with self._lock:
            if not self.is_closed:
                self._spares.append(spare)
                return True
        spare.kill()
        return False

    def _close_idle(self) -> None:
        oldest = time.monotonic() - self.settings.idle_seconds
        with self._lock:
            runners = list(self._runners.values())
        for runner in runners:
            if runner.workers:
                _close_if_free(runner, oldest)
        with self._lock:
            spares: list[Worker] = []
            if self._last_taken < oldest and not any(runner.workers for runner in runners):
                spares, self._spares, self._wants_spares = self._spares, [], False
        for spare in spares:
            spare.kill()

    def close(self) -> None:
        """Ends every process at once; may be called again."""
        with self._lock:
            if self.is_closed:
                return
            self.is_closed = True
            spares, self._spares = self._spares, []
            manager = self._manager
        self._wake.set()
        if self._owner != os.getpid():
            return
        for worker in spares:
            worker.kill()
        for runner in list(self._runners.values()):
            for worker in runner.workers:
                worker.kill()  # not under the runner's lock: a frame in flight ends at once
            runner.close()
        if manager is not None and manager is not threading.current_thread():
            manager.join(self.settings.limits.start_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _forget_after_fork(self) -> None:
        """In a forked child: starts empty; what the parent opened is rebuilt in own workers when used."""
        self._prepare()
        for runner in self._runners.values():
            runner.forget_after_fork()


def _close_if_free(runner: PackRunner, unused_since: float) -> None:
    if runner.lock.acquire(blocking=False):
        try:
            if runner.last_used < unused_since:
                runner.close()
        finally:
            runner.lock.release()


def _close_at_exit(reference: "weakref.ref[WorkerPool]") -> None:
    pool = reference()
    if pool is not None:
        pool.close()


def _forget_all() -> None:
    for pool in list(_pools):
        pool._forget_after_fork()


os.register_at_fork(after_in_child=_forget_all)
