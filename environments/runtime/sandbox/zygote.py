"""Fork mode: a locked process that runs no tool code and forks one locked child for each transaction.

The zygote holds the pack decoded and compiled and one opened episode for each scenario it was asked for, none of
which executes tools.py (the engine does that at an episode's first call). The child takes away from itself what the
zygote still has (fork, kill, the host's socket) before the first call, and nothing survives it.
"""

import gc
import os
import select
import signal
import time
from typing import NoReturn

from environments.runtime.engine import Episode
from environments.runtime.sandbox import bpf, frames, lockdown, rehearsal
from environments.runtime.sandbox.limits import Limits
from environments.runtime.sandbox.serve import EXIT_HOST_GONE, ORPHAN_SECONDS, Channel, Server, describe, leave

EXIT_CHILD_FAILED = 17
READ_BYTES = 1 << 18
YOUNG_OBJECTS = 100_000


def serve(channel: Channel, server: Server, child_filter: "lockdown._SockFprog | None") -> None:
    """Answers requests until the host is gone."""
    rehearse(server.limits)
    gc.disable()  # a collection would touch, and so copy, pages that children share
    zygote = Zygote(channel, server, child_filter)
    while True:
        request = channel.receive()
        if isinstance(request, frames.Transaction):
            channel.send(zygote.transact(request))
        elif isinstance(request, frames.Load | frames.Ping):
            channel.send(server.handle(request))
            gc.collect()
            gc.freeze()
        else:
            channel.send(frames.Refused(request.seq, "RequestFailedError", "a zygote only runs transactions"))


def rehearse(limits: Limits) -> None:
    """Plays the trusted pack as a child would, so that the children's code and caches are warm."""
    stage = Server(limits)
    stage.engine = rehearsal.make_engine()
    for _ in range(rehearsal.NUM_ROUNDS):
        stage.open(frames.Opening(0, frames.Start("start")))
        outcomes = [stage.call(0, frames.Call(0, tool, dict(arguments))) for tool, arguments in rehearsal.CALLS]
        episode = stage.episode(0)
        result = frames.Result(outcomes, episode.state(), tuple(episode.diff()), episode.snapshot())
        frames.encode_result(result, limits.frame_bytes)
    stage.forget(0)


class Zygote:
    """Forks, waits, and tells how it went."""

    def __init__(self, channel: Channel, server: Server, child_filter: "lockdown._SockFprog | None") -> None:
        self.channel = channel
        self.server = server
        self.child_filter = child_filter
        self.prepared: dict[str, Episode] = {}
        self.own_id = os.getpid()

    def transact(self, request: frames.Transaction) -> frames.Ended | frames.Refused:
        """Runs one transaction in a child and returns how it ended."""
        try:
            self.prepare(request.start)
        except Exception as error:  # noqa: BLE001 - a scenario that does not load is the request's fault
            return frames.Refused(request.seq, type(error).__name__[:80], describe(error))
        receiving, sending = os.pipe()
        child = os.fork()
        if child == 0:
            self.run_child(request, receiving, sending)
        os.close(sending)
        end, result = self.collect(receiving, time.monotonic() + request.seconds)
        if end != "ok":
            os.kill(child, signal.SIGKILL)
        os.close(receiving)
        _, status = os.waitpid(child, 0)
        if end != "ok":
            return frames.Ended(request.seq, "timeout" if end == "timeout" else "too_big", 0, b"")
        if os.WIFSIGNALED(status):
            return frames.Ended(request.seq, "signal", os.WTERMSIG(status), b"")
        if os.WEXITSTATUS(status):
            return frames.Ended(request.seq, "exit", os.WEXITSTATUS(status), b"")
        # Exit code 0 without an answer is a death too: a tool called os._exit(0).
        return frames.Ended(request.seq, "ok" if result else "silent", 0, result)

    def prepare(self, start: frames.Start) -> None:
        """Puts an episode at a named scenario's start, so that the child need not: there it would copy pages."""
        if not isinstance(start.scenario, str):
            return
        episode = self.prepared.get(start.scenario)
        if episode is None:
            episode = self.prepared[start.scenario] = self.server.open_new(start)
            episode.prepare()
            gc.collect()
            gc.freeze()
        else:
            episode.reset(start.scenario, start.seed, start.id_offset)

    def collect(self, receiving: int, deadline: float) -> tuple[str, bytes]:
        """Reads the child's answer until its end, its deadline, the size limit, or the host's end."""
        poll = select.poll()
        poll.register(receiving, select.POLLIN)
        poll.register(self.channel.descriptor, select.POLLHUP)
        parts: list[bytes] = []
        num_bytes = 0
        while True:
            left = deadline - time.monotonic()
            events = dict(poll.poll(max(0.0, left) * 1000)) if left > 0 else {}
            if not events:
                return "timeout", b""
            if self.channel.descriptor in events:
                leave(EXIT_HOST_GONE)  # the child's PDEATHSIG ends it
            part = os.read(receiving, READ_BYTES)
            if not part:
                return "ok", b"".join(parts)
            parts.append(part)
            num_bytes += len(part)
            if num_bytes > self.server.limits.frame_bytes - 1024:
                return "too_big", b""

    def run_child(self, request: frames.Transaction, receiving: int, sending: int) -> NoReturn:
        """The child: lock, run, answer, end."""
        code = EXIT_CHILD_FAILED
        try:
            os.close(receiving)
            os.close(self.channel.descriptor)
            # A zygote has one thread, so the signal can't fire for a thread's end; getppid closes the race.
            lockdown.raw_prctl(bpf.PR_SET_PDEATHSIG, bpf.SIGKILL)
            if os.getppid() != self.own_id:
                os._exit(EXIT_HOST_GONE)
            lockdown.lower_limit("NPROC", 0)
            lockdown.lower_limit("CPU", int(request.seconds) + 2)
            if self.child_filter is not None:
                lockdown.install_filter(self.child_filter)
            signal.setitimer(signal.ITIMER_PROF, request.seconds + ORPHAN_SECONDS)
            gc.set_threshold(YOUNG_OBJECTS)  # a short child should not copy pages for a collection
            gc.enable()
            view = memoryview(frames.encode_result(self.answer(request), self.server.limits.frame_bytes))
            while view:
                view = view[os.write(sending, view) :]
            code = 0
        except BaseException as error:  # noqa: BLE001 - nothing may return into the zygote's loop
            os.write(2, f"{type(error).__name__}: {describe(error)}".encode("utf-8", "replace")[:500])
        finally:
            os._exit(code)

    def answer(self, request: frames.Transaction) -> frames.Result:
        """Runs the transaction's calls and gathers what it wants."""
        server = self.server
        start = request.start
        try:
            if not isinstance(start.scenario, str):
                server.open(frames.Opening(0, start))
            else:
                server.episodes[0] = self.prepared[start.scenario]
                if start.snapshot is not None:
                    server.episodes[0].restore(start.snapshot)
        except Exception as error:  # noqa: BLE001
            return frames.Result([], None, None, None, f"{type(error).__name__[:80]}: {describe(error)}")
        if request.explains:
            return self.explain(request)
        outcomes = [server.call(0, call) for call in request.calls]
        episode = server.episodes.get(0)
        if episode is None:  # a call broke; there is no state to tell of
            return frames.Result(outcomes, None, None, None)
        return frames.Result(
            outcomes,
            episode.state() if "state" in request.wants else None,
            tuple(episode.diff()) if "diff" in request.wants else None,
            episode.snapshot() if "snapshot" in request.wants else None,
        )

    def explain(self, request: frames.Transaction) -> frames.Result:
        """Makes the calls before the last one, explains that, makes it, and tells of it alone."""
        *earlier, last = request.calls
        for call in earlier:
            self.server.call(0, call)
        explanation = self.server.explain(0, last)
        return frames.Result([self.server.call(0, last)], None, None, None, explanation=explanation)
