"""The host's side of one worker process: spawn, attest, ask, watch the clock, kill.

The host trusts nothing that a worker says: replies are decoded into known shapes, in order, in time and in size, and
whatever is off ends the worker. No preexec_fn, no fork without exec, no pickle, no shared memory.
"""

import contextlib
import dataclasses
import importlib.util
import json
import logging
import os
import platform
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, Self, TypeVar

from environments.runtime.records import RowChange
from environments.runtime.sandbox import attestation, frames
from environments.runtime.sandbox.endings import explain_child, explain_end
from environments.runtime.sandbox.errors import (
    PoolClosedError,
    RequestError,
    SandboxError,
    SandboxProtocolError,
    ToolCrash,
    ToolTimeout,
)
from environments.runtime.sandbox.layers import RULES
from environments.runtime.sandbox.limits import Limits
from environments.runtime.sandbox.policy import Policy, unavailable
from environments.runtime.sketches import SketchListing

logger = logging.getLogger(__name__)

Mode = Literal["warm", "fork"]
WORKER_PROGRAM = Path(__file__).with_name("worker.py")
# What a locked worker imports from disk before it locks.
WORKER_PACKAGES = ("environments", "apsw", "msgspec", "jsonschema_rs", "orjson")
RECEIVE_BYTES = 1 << 18
ERROR_TEXT_BYTES = 2000
ReplyType = TypeVar("ReplyType", bound=frames.Reply)

_live: "weakref.WeakSet[Worker]" = weakref.WeakSet()


@cache
def import_roots() -> tuple[str, ...]:
    """The folders that a worker imports from."""
    roots = []
    for name in WORKER_PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            raise unavailable("process", f"{name} is not installed")
        roots.append(str(Path(next(iter(spec.submodule_search_locations))).resolve().parent))
    return tuple(dict.fromkeys(roots))


@cache
def _warn_once(message: str) -> None:
    logger.warning(message)


class Worker:
    """One locked worker process and everything that can be asked of it.

    Thread-safe: one request at a time. Any SandboxError but RequestError means that the process is dead.
    """

    def __init__(
        self,
        mode: Mode = "warm",
        limits: Limits | None = None,
        policy: Policy | None = None,
    ) -> None:
        """Starts a process and returns once it is locked and attested.

        Args:
            mode: `warm` holds many episodes; `fork` runs each transaction in a child of its own.
            limits: What it may use.
            policy: What to insist on.

        Raises:
            SandboxUnavailableError: The lock can't be had; names the layer and the remedy.
        """
        self.mode = mode
        self.limits = limits or Limits()
        self.policy = policy or Policy()
        self.num_calls = 0
        self._lock = threading.RLock()
        self._sequence = 0
        self._buffer = bytearray()
        self._is_usable = True
        self._owner = os.getpid()
        if platform.system() != "Linux" and not self.policy.is_unsafe:
            raise unavailable("seccomp", f"{platform.system()} has none")
        self._spawn()
        _live.add(self)
        try:
            self.hello = self._greet()
        except BaseException:
            self.kill()
            raise

    # Life

    def _spawn(self) -> None:
        own_end, worker_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        errors_read, errors_write = os.pipe()
        # Nobody reads errors while the worker lives: a full pipe must not block it.
        os.set_blocking(errors_write, False)
        os.set_blocking(errors_read, False)
        setup = {
            "descriptor": worker_end.fileno(),
            "mode": self.mode,
            "limits": dataclasses.asdict(self.limits),
            "roots": import_roots(),
            "is_unsafe": self.policy.is_unsafe,
        }
        interpreter = sys.executable or "/nonexistent"
        try:
            # -s -S -P -B: no user's packages, no site, no script folder on the path, no bytecode written.
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and program
                [interpreter, "-s", "-S", "-P", "-B", str(WORKER_PROGRAM), json.dumps(setup)],
                env={"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors_write,
                pass_fds=[worker_end.fileno()],
                close_fds=True,
                start_new_session=True,
            )
        except OSError as error:
            own_end.close()
            os.close(errors_read)
            raise unavailable("process", f"{interpreter} does not start: {error}") from error
        finally:
            worker_end.close()
            os.close(errors_write)
        own_end.setblocking(False)
        self._socket = own_end
        self._errors = errors_read
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(own_end, select.POLLIN)
        self._writable.register(own_end, select.POLLOUT)

    def _greet(self) -> frames.Hello:
        deadline = time.monotonic() + self.limits.start_seconds
        try:
            reply = self._receive(deadline)
        except SandboxError as error:
            raise unavailable("process", f"the worker did not start: {error}") from error
        if isinstance(reply, frames.Locked):
            raise unavailable(reply.layer, reply.message)
        if not isinstance(reply, frames.Hello) or reply.protocol != frames.PROTOCOL:
            raise unavailable("process", "the worker's first word is no hello of this version")
        if self.policy.is_unsafe:
            missing = {name: state for name, state in reply.layers.items() if state.startswith("missing")}
            if missing or reply.holes:
                logger.error(
                    "UNSAFE sandbox: tool code runs without its lock missing=%s holes=%s", missing, reply.holes
                )
            return reply
        if reply.holes:
            raise unavailable("self_test", ", ".join(reply.holes))
        if not reply.layers.get("landlock", "missing").startswith("ABI"):
            if self.policy.require_landlock:
                raise unavailable("landlock", reply.layers.get("landlock", "missing"))
            _warn_once(
                f"sandbox layer=landlock state={reply.layers.get('landlock')!r} remedy={RULES['landlock'].remedy!r}"
            )
        if reply.layers.get("uid", "").startswith("stays root"):
            _warn_once(f"sandbox layer=uid state={reply.layers['uid']!r} remedy={RULES['uid'].remedy!r}")
        try:
            wrong = attestation.find_missing(self.process_id, may_fork=self.mode == "fork")
        except OSError as error:
            raise unavailable("process", f"/proc can't be read to attest the worker: {error}") from error
        if wrong:
            raise unavailable(wrong[0][0], "the kernel says " + "; ".join(text for _, text in wrong))
        return reply

    @property
    def process_id(self) -> int:
        """The worker's process id, also its group's."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether requests may be made."""
        return self._is_usable and self._owner == os.getpid() and self._process.poll() is None

    def resident_bytes(self) -> int:
        """Memory in use, by the kernel's word."""
        return attestation.resident_bytes(self.process_id)

    def cpu_seconds(self) -> float:
        """CPU time used, by the kernel's word."""
        return attestation.cpu_seconds(self.process_id)

    def kill(self) -> None:
        """Ends the process and its children at once, a frame in flight too; may be called again."""
        self._is_usable = False
        if self._owner != os.getpid():
            return
        if not self._signal():
            return
        with self._lock:  # whoever waits for an answer has seen the end of the channel by now
            self._socket.close()
            self._process.wait()
            if self._errors >= 0:
                os.close(self._errors)
                self._errors = -1
            _live.discard(self)

    def _signal(self) -> bool:
        """Sends SIGKILL to the process group; False if that is not permitted."""
        if self._process.poll() is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            except PermissionError:
                logger.exception("sandbox worker can't be killed pid=%s", self._process.pid)
                self._socket.close()  # an honest one ends by itself
                return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _abandon(self) -> None:
        """In a forked child: lets go of the parent's worker without touching it."""
        self._is_usable = False
        self._lock = threading.RLock()
        # Else the worker would not see its host's end while this child lives.
        self._socket.close()
        if self._errors >= 0:
            with contextlib.suppress(OSError):
                os.close(self._errors)
            self._errors = -1
        self._process.returncode = 0  # not ours to wait for

    # Frames

    def request(self, message: frames.Request, seconds: float, expected: type[ReplyType]) -> ReplyType:
        """Sends one request and returns its reply.

        Args:
            message: The request; its `seq` must come from `next_sequence`.
            seconds: When to give up and kill.
            expected: The one kind of reply that this request has.

        Raises:
            RequestError: No frame can carry it (kind `unsendable`), or the worker refused it; the worker lives.
            SandboxError: Everything else; the worker is dead.
        """
        try:
            encoded = frames.encode(message, self.limits.frame_bytes)
        except frames.FrameError as error:
            raise RequestError("unsendable", str(error)) from error
        with self._lock:
            if self._owner != os.getpid():
                raise PoolClosedError("this worker belongs to the process that this one was forked from")
            if not self._is_usable:
                raise ToolCrash("the worker has ended")
            deadline = time.monotonic() + seconds
            try:
                if self._buffer:  # a worker speaks only when asked; what comes later has an old number
                    raise SandboxProtocolError("more than one answer")
                self._send(encoded, deadline)
                reply = self._receive(deadline)
                if isinstance(reply, frames.Hello | frames.Locked) or reply.seq != message.seq:
                    raise SandboxProtocolError("an answer to another request")
                if not isinstance(reply, expected | frames.Refused):
                    raise SandboxProtocolError(f"{type(reply).__name__} where {expected.__name__} was due")
            except BaseException:
                self.kill()
                raise
        if isinstance(reply, frames.Refused):
            raise RequestError(reply.kind, reply.message)
        return reply

    def next_sequence(self) -> int:
        """The number of the next request."""
        with self._lock:
            self._sequence += 1
            return self._sequence

    def _send(self, encoded: bytes, deadline: float) -> None:
        view = memoryview(encoded)
        while view:
            try:
                view = view[self._socket.send(view) :]
            except BlockingIOError:
                if not self._writable.poll(max(0.0, deadline - time.monotonic()) * 1000):
                    raise ToolTimeout("the worker did not read its request in time") from None
            except OSError:
                raise self._death() from None

    def _receive(self, deadline: float) -> frames.Reply:
        try:
            header = self._read(frames.HEADER_BYTES, deadline)
            length = frames.body_length(header, self.limits.frame_bytes)
            return frames.decode_reply(self._read(length, deadline))
        except frames.FrameError as error:
            raise SandboxProtocolError(str(error)) from error

    def _read(self, num_bytes: int, deadline: float) -> bytes:
        buffer = self._buffer
        while len(buffer) < num_bytes:
            if not self._readable.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise ToolTimeout("no answer in time")
            try:
                part = self._socket.recv(RECEIVE_BYTES)
            except OSError:
                part = b""
            if not part:
                raise self._death()
            buffer += part
        taken = bytes(buffer[:num_bytes])
        del buffer[:num_bytes]
        return taken

    def _death(self) -> SandboxError:
        """Why the channel ended, by the kernel's word."""
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return SandboxProtocolError("the worker closed its channel")
        try:
            text = os.read(self._errors, ERROR_TEXT_BYTES).decode("utf-8", "replace").strip()
        except OSError:
            text = ""
        return explain_end(code, text)

    # What can be asked

    def load(self, pack: bytes, *, is_gated: bool = True, content_sha256: str | None = None) -> frames.Loaded:
        """Gives the worker its one pack, as `encode_pack` writes it; returns the faults that it finds."""
        message = frames.Load(self.next_sequence(), pack, is_gated, content_sha256)
        return self.request(message, self.limits.load_seconds, frames.Loaded)

    def open(self, starts: Mapping[int, frames.Start]) -> None:
        """Opens episodes under the given numbers; a number that is open is put at its start."""
        openings = [frames.Opening(number, start) for number, start in starts.items()]
        self.request(frames.Open(self.next_sequence(), openings), self.limits.load_seconds, frames.Done)

    def calls(self, calls: Sequence[frames.Call], seconds: float | None = None) -> list[frames.Outcome]:
        """Makes calls in one frame and returns their outcomes in order.

        Args:
            calls: At most `limits.batch_calls`.
            seconds: Deadline of the frame; by default that of the limits.
        """
        deadline = self.limits.frame_seconds(len(calls)) if seconds is None else seconds
        reply = self.request(frames.Calls(self.next_sequence(), list(calls)), deadline, frames.Answered)
        if len(reply.outcomes) != len(calls):
            self.kill()
            raise SandboxProtocolError(f"{len(reply.outcomes)} outcomes for {len(calls)} calls")
        self.check_outcomes(reply.outcomes)
        self.num_calls += len(calls)
        return reply.outcomes

    def check_outcomes(self, outcomes: Sequence[frames.Outcome]) -> None:
        """Sizes that the decoder does not know.

        Raises:
            SandboxProtocolError: An observation is longer than the engine may make one; the worker is dead.
        """
        for outcome in outcomes:
            if isinstance(outcome, frames.Recorded) and len(outcome.observation) > self.limits.observation_bytes:
                self.kill()
                raise SandboxProtocolError("an observation longer than the limit")

    def states(self, episodes: Sequence[int]) -> list[frames.State]:
        """The rows of each episode."""
        return self._ask("state", episodes).states

    def diffs(self, episodes: Sequence[int], since: bytes | None = None) -> list[tuple[RowChange, ...]]:
        """What changed in each episode since its start, or since a snapshot."""
        return self._ask("diff", episodes, since).diffs

    def snapshots(self, episodes: Sequence[int]) -> list[bytes]:
        """A snapshot of each episode, opaque to the host."""
        return self._ask("snapshot", episodes).snapshots

    def close_episodes(self, episodes: Sequence[int]) -> None:
        """Closes episodes; one that is not open is passed over."""
        message = frames.Ask(self.next_sequence(), "close", list(episodes))
        self.request(message, self.limits.load_seconds, frames.Done)

    def _ask(
        self, what: Literal["state", "diff", "snapshot"], episodes: Sequence[int], since: bytes | None = None
    ) -> frames.Held:
        message = frames.Ask(self.next_sequence(), what, list(episodes), since)
        held = self.request(message, self.limits.load_seconds, frames.Held)
        counts = {"state": len(held.states), "diff": len(held.diffs), "snapshot": len(held.snapshots)}
        if counts[what] != len(episodes) or sum(counts.values()) != len(episodes):
            self.kill()
            raise SandboxProtocolError(f"another number of {what}s than asked for")
        return held

    def transact(
        self,
        start: frames.Start,
        calls: Sequence[frames.Call],
        *,
        wants: Sequence[Literal["state", "diff", "snapshot"]] = (),
        seconds: float | None = None,
    ) -> frames.Result:
        """Runs an episode from its start in a forked child that nothing survives (`fork` mode only).

        Raises:
            SandboxError: How the child ended; the zygote lives unless it is no longer `is_alive`.
        """
        limit = self.limits.frame_seconds(len(calls)) if seconds is None else seconds
        return self._transact(frames.Transaction(self.next_sequence(), start, list(calls), limit, list(wants)))

    def explain(self, start: frames.Start, calls: Sequence[frames.Call]) -> frames.Result:
        """As `transact`, but tells of the last call only: its outcome, and what each of its conditions gave before.

        Raises:
            SandboxError: How the child ended.
        """
        limit = self.limits.frame_seconds(len(calls)) + self.limits.soft_seconds
        return self._transact(frames.Transaction(self.next_sequence(), start, list(calls), limit, [], explains=True))

    def _transact(self, message: frames.Transaction) -> frames.Result:
        ended = self.request(message, message.seconds + self.limits.frame_grace_seconds + 1.0, frames.Ended)
        if ended.end != "ok":
            raise explain_child(ended)
        try:
            result = frames.decode_result(ended.result)
        except frames.FrameError as error:
            raise SandboxProtocolError(str(error)) from error
        if result.refusal is not None:
            kind, _, detail = result.refusal.partition(": ")
            raise RequestError(kind, detail)
        num_outcomes = 1 if message.explains else len(message.calls)
        if len(result.outcomes) != num_outcomes or any(
            isinstance(outcome, frames.Recorded) and len(outcome.observation) > self.limits.observation_bytes
            for outcome in result.outcomes
        ):
            raise SandboxProtocolError("another number or size of outcomes than there can be")
        self.num_calls += len(message.calls)
        return result

    def sketch(self, source: bytes) -> SketchListing:
        """What a Python source declares; nothing of it is run.

        Raises:
            RequestError: It is no Python, or breaks a limit.
            SandboxError: The parser took too long, too much, or died; so has the worker.
        """
        message = frames.Sketch(self.next_sequence(), source)
        return self.request(message, self.limits.sketch_seconds, frames.Sketched).listing

    def ping(self, seconds: float = 5.0) -> None:
        """Asks for a sign of life."""
        self.request(frames.Ping(self.next_sequence()), seconds, frames.Done)


def _abandon_all() -> None:
    for worker in list(_live):
        worker._abandon()
    _live.clear()


# Celery's prefork and any other fork without exec: the child must hold no end of its parent's sockets.
os.register_at_fork(after_in_child=_abandon_all)
