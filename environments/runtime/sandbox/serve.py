"""A worker's life: import, lock, say hello, then run one pack's calls for the host until the host is gone.

Everything in this process, this module too, is in reach of a tool that escapes the engine's gate. So nothing here is a
boundary: that is the kernel's work (`lockdown`) and the host's (`host`), and what this module promises is only that
honest packs get deterministic answers.
"""

import contextlib
import gc
import os
import signal
import sys
from typing import NoReturn

import msgspec

from environments.runtime.engine import Engine, Episode
from environments.runtime.pack import decode_pack
from environments.runtime.records import Explanation
from environments.runtime.sandbox import frames
from environments.runtime.sandbox.errors import SoftTimeoutError
from environments.runtime.sandbox.limits import Limits
from environments.runtime.sandbox.sketching import list_sketch

# Exit codes, read by `host` when a worker ends.
EXIT_HOST_GONE, EXIT_BAD_REQUEST, EXIT_NO_LOCK, EXIT_TAMPERED, EXIT_STRAY_TIMER, EXIT_BUG = 0, 3, 4, 5, 6, 7
# CPU time beyond a frame's deadline at which the kernel ends a frame whose host is no longer there to do it.
ORPHAN_SECONDS = 0.5
READ_BYTES = 1 << 14


class RequestFailedError(Exception):
    """A request that this worker refuses without harm."""


class Channel:
    """The host's socket; the only thing that this process can read from."""

    def __init__(self, descriptor: int, limit_bytes: int) -> None:
        self.descriptor = descriptor
        self.limit_bytes = limit_bytes
        self._buffer = bytearray()

    def receive(self) -> frames.Request:
        """The next request; ends the process when the host is gone or sends no frame."""
        try:
            length = frames.body_length(self._read(frames.HEADER_BYTES), self.limit_bytes)
            return frames.decode_request(self._read(length))
        except frames.FrameError as error:
            leave(EXIT_BAD_REQUEST, f"bad request: {error}")

    def send(self, reply: frames.Reply) -> None:
        """Sends a reply; ends the process when the host is gone."""
        try:
            encoded = frames.encode(reply, self.limit_bytes)
        except frames.FrameError as error:
            leave(EXIT_BUG, f"an answer that can't be sent: {error}")
        view = memoryview(encoded)
        try:
            while view:
                view = view[os.write(self.descriptor, view) :]
        except OSError:
            leave(EXIT_HOST_GONE)

    def _read(self, num_bytes: int) -> bytes:
        buffer = self._buffer
        while len(buffer) < num_bytes:
            try:
                part = os.read(self.descriptor, max(READ_BYTES, min(num_bytes - len(buffer), 1 << 20)))
            except OSError:
                leave(EXIT_HOST_GONE)
            if not part:
                leave(EXIT_HOST_GONE)
            buffer += part
        taken = bytes(buffer[:num_bytes])
        del buffer[:num_bytes]
        return taken


def leave(code: int, message: str = "") -> NoReturn:
    """Ends the process at once; what it says goes to the host's error pipe."""
    if message:
        os.write(2, message.encode("utf-8", "replace")[:2000])
    os._exit(code)


def interrupt(_signal: int, _frame: object) -> NoReturn:
    """The soft timer's signal handler."""
    raise SoftTimeoutError


class Server:
    """One pack and its open episodes."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.engine: Engine | None = None
        self.episodes: dict[int, Episode] = {}

    def handle(self, request: frames.Request) -> frames.Reply:
        """The answer to a request; a failure that harms nothing is an answer too."""
        try:
            match request:
                case frames.Calls():
                    return frames.Answered(request.seq, [self.call(call.episode, call) for call in request.calls])
                case frames.Open() | frames.Reset():
                    for opening in request.openings:
                        self.open(opening)
                case frames.Ask():
                    return self.tell(request)
                case frames.Load():
                    return self.load(request)
                case frames.Sketch():
                    return frames.Sketched(request.seq, list_sketch(request.source))
                case frames.Ping():
                    pass
                case frames.Transaction():
                    raise RequestFailedError("transactions are a zygote's")
        except Exception as error:  # noqa: BLE001 - whatever it is, the host is told and the worker goes on
            return frames.Refused(request.seq, type(error).__name__[:80], describe(error))
        return frames.Done(request.seq)

    def load(self, request: frames.Load) -> frames.Loaded:
        """Takes the one pack of this process."""
        if self.engine is not None:
            raise RequestFailedError("this worker has its pack; another needs another process")
        self.engine = Engine(decode_pack(request.pack), gate=request.is_gated, content_sha256=request.content_sha256)
        return frames.Loaded(request.seq, list(self.engine.faults), list(self.engine.tables))

    def open_new(self, start: frames.Start) -> Episode:
        """A new episode, before its snapshot if it has one."""
        if self.engine is None:
            raise RequestFailedError("no pack is loaded")
        return self.engine.open(start.scenario, start.seed, id_offset=start.id_offset)

    def open(self, opening: frames.Opening) -> None:
        """Opens an episode, or puts an open one at a start; one that does not get there is closed."""
        start = opening.start
        episode = self.episodes.get(opening.episode)
        try:
            if episode is None:
                self.episodes[opening.episode] = episode = self.open_new(start)
            elif start.snapshot is None:
                episode.reset(start.scenario, start.seed, start.id_offset)
            if start.snapshot is not None:
                episode.restore(start.snapshot)
        except BaseException:
            self.forget(opening.episode)
            raise

    def episode(self, number: int) -> Episode:
        """An open episode."""
        try:
            return self.episodes[number]
        except KeyError:
            raise RequestFailedError(f"no episode {number}") from None

    def tell(self, request: frames.Ask) -> frames.Held | frames.Done:
        """What the asked episodes hold."""
        held = frames.Held(request.seq, [], [], [])
        for number in request.episodes:
            if request.what == "close":
                if number in self.episodes:
                    self.episodes.pop(number).close()
            elif request.what == "state":
                held.states.append(self.episode(number).state())
            elif request.what == "diff":
                held.diffs.append(tuple(self.episode(number).diff(request.since)))
            else:
                held.snapshots.append(self.episode(number).snapshot())
        return frames.Done(request.seq) if request.what == "close" else held

    def call(self, number: int, call: frames.Call) -> frames.Outcome:
        """Makes one call under the soft timer; an episode whose call broke is closed, the host replays it."""
        episode = self.episodes.get(number)
        if episode is None:
            return frames.Broken("lost", "the episode is not open")
        outcome: frames.Outcome
        try:
            signal.setitimer(signal.ITIMER_REAL, self.limits.soft_seconds)
            try:
                record = episode.call(call.tool, call.arguments)
                outcome = frames.from_record(record, failure_of(episode))
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            if self.can_be_sent(outcome):
                return outcome
            outcome = frames.Broken("memory", "the answer is too long")
        except SoftTimeoutError:
            outcome = frames.Broken("timeout", f"longer than {self.limits.soft_seconds} s")
        except MemoryError:
            outcome = frames.Broken("memory", "out of memory")
        except BaseException as error:  # noqa: BLE001 - the engine lost the episode, or has a bug: either way replay
            outcome = frames.Broken("lost", f"{type(error).__name__[:80]}: {describe(error)}")
        self.forget(number)
        return outcome

    def explain(self, number: int, call: frames.Call) -> Explanation | None:
        """What each condition of a call gives, under the soft timer; None if that ends badly, as the call then does."""
        try:
            signal.setitimer(signal.ITIMER_REAL, self.limits.soft_seconds)
            try:
                return self.episode(number).explain(call.tool, call.arguments)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except BaseException:  # noqa: BLE001 - a tool may raise anything
            return None

    def can_be_sent(self, outcome: frames.Recorded) -> bool:
        """Whether an answer fits; only long ones are measured, and text that is no UTF-8 is refused."""
        try:
            is_short = len(outcome.observation.encode()) <= self.limits.observation_bytes
        except UnicodeEncodeError:
            return False
        if is_short and len(outcome.changes) < 100:
            return True
        return is_short and len(msgspec.msgpack.encode(outcome.changes)) <= self.limits.frame_bytes // 4

    def forget(self, number: int) -> None:
        """Closes an episode that may be in any state."""
        with contextlib.suppress(Exception):
            self.episodes.pop(number).close()


def failure_of(episode: Episode) -> tuple[str, str] | None:
    """Why the episode's last call failed, as text that a frame can carry."""
    failure = episode.failure
    if failure is None:
        return None
    return failure.reason.value, failure.detail.encode("utf-8", "replace").decode()


def describe(error: BaseException) -> str:
    """An error's text, bounded; a tool's own exception class may refuse even that."""
    try:
        return str(error)[:500].encode("utf-8", "replace").decode()
    except BaseException:  # noqa: BLE001
        return "<unprintable>"


def frame_seconds(request: frames.Request, limits: Limits) -> float:
    """The host's deadline for a request."""
    if isinstance(request, frames.Calls):
        return limits.frame_seconds(len(request.calls))
    return limits.sketch_seconds if isinstance(request, frames.Sketch) else limits.load_seconds


def was_tampered_with() -> bool:
    """Whether a tool left something that would act in another episode; a mere sign, since it could hide it."""
    return (
        signal.getsignal(signal.SIGALRM) is not interrupt
        or not gc.isenabled()
        or sys.gettrace() is not None
        or sys.getprofile() is not None
    )


def serve_warm(channel: Channel, server: Server) -> None:
    """Answers requests until the host is gone."""
    while True:
        request = channel.receive()
        # The kernel's default action on SIGPROF ends a frame that spins on in C after its host has died. It is not
        # disarmed afterwards: waiting for the next frame uses no CPU time, and that frame sets it anew.
        signal.setitimer(signal.ITIMER_PROF, frame_seconds(request, server.limits) + ORPHAN_SECONDS)
        try:
            reply = server.handle(request)
        except SoftTimeoutError:  # it came between a call's end and its disarming
            leave(EXIT_STRAY_TIMER)
        if was_tampered_with():
            leave(EXIT_TAMPERED, "a tool changed the worker's signal handler, collector or trace function")
        channel.send(reply)
