"""The host that runs one attack after another and looks at the world after each."""

import gc
import json
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from environments.runtime.sandbox import frames
from environments.runtime.sandbox.attestation import resident_bytes
from environments.runtime.sandbox.errors import SandboxError
from environments.runtime.sandbox.host import Mode, Worker
from environments.runtime.sandbox.limits import MEBIBYTE, Limits
from tests.environments.runtime.sandbox.attacks.little import ADD_ANSWER, LIST_ANSWER

LIMITS = Limits(
    memory_bytes=512 * MEBIBYTE,
    cpu_seconds=120,
    soft_seconds=0.6,  # a search of the whole heap is done by then, also on a busy machine
    frame_grace_seconds=0.4,
)
START = frames.Start("shelf", 7)
CANARY_NAMES = ("DJANGO_SECRET_KEY", "DATABASE_URL")
WATCHED = ("/tmp", "/dev/shm", "/", ".")
MARK = "efx_attack"


class World:
    """What an attack must not touch: files, sockets, processes, this process."""

    def __init__(self) -> None:
        self.tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.tcp.bind(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.unix.bind(f"\0{MARK}{os.getpid()}")
        for listener in (self.tcp, self.unix):
            listener.listen(4)
        for each in (self.tcp, self.udp, self.unix):
            each.setblocking(False)

    @property
    def arguments(self) -> dict[str, int]:
        return {"host": os.getpid(), "tcp": self.tcp.getsockname()[1], "udp": self.udp.getsockname()[1]}

    def check(self, group_leader: int | None, most_processes: int) -> None:
        for folder in WATCHED:
            found = [path.name for path in Path(folder).glob(f"{MARK}*")]
            assert not found, f"{found} in {folder}"
        for listener in (self.tcp, self.unix):
            try:
                listener.accept()
            except BlockingIOError:
                continue
            raise AssertionError("somebody connected")
        try:
            self.udp.recv(10)
        except BlockingIOError:
            pass
        else:
            raise AssertionError("a datagram came")
        if group_leader is not None:
            members = processes_of_group(group_leader)
            assert len(members) <= most_processes, f"processes {members}"


def processes_of_group(leader: int) -> list[int]:
    """Living processes of a process group; a zombie is dead."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == leader and fields[0] not in "ZX":
            found.append(int(entry.name))
    return found


class Arena:
    """One mode's worker with the hostile pack, replaced when an attack took it down."""

    def __init__(self, mode: Mode, pack: bytes, world: World, *, is_gated: bool = False) -> None:
        self.mode = mode
        self.pack = pack
        self.world = world
        self.is_gated = is_gated
        self.next_episode = 1
        self.seen: list[str] = []
        self.notes: list[str] = []
        self._worker: Worker | None = None

    @property
    def worker(self) -> Worker:
        if self._worker is None or not self._worker.is_alive:
            self.close()
            self._worker = Worker(self.mode, LIMITS)
            self._worker.load(self.pack, is_gated=self.is_gated)
        return self._worker

    def close(self) -> None:
        if self._worker is not None:
            self._worker.kill()
        self._worker = None

    def run(self, calls: Sequence[tuple[str, dict[str, Any]]], start: frames.Start = START) -> list[frames.Outcome]:
        """The calls in an episode of their own."""
        if self.mode == "fork":
            requests = [frames.Call(0, tool, arguments) for tool, arguments in calls]
            return self.worker.transact(start, requests).outcomes
        number, self.next_episode = self.next_episode, self.next_episode + 1
        worker = self.worker
        worker.open({number: start})
        outcomes = worker.calls([frames.Call(number, tool, arguments) for tool, arguments in calls])
        worker.ping()  # a forged frame would be found here
        worker.close_episodes([number])
        return outcomes

    def outcome(self, tool: str, arguments: dict[str, Any] | None = None) -> str:
        """One word for what came of a tool; an interrupted worker is replaced, as the pool does."""
        try:
            (result,) = self.run([(tool, self.world.arguments if arguments is None else arguments)])
        except SandboxError as error:
            self.seen.append(str(error))
            return type(error).__name__
        if isinstance(result, frames.Broken):
            self.close()
            return result.kind
        self.seen.append(result.observation)
        if result.status != "success":
            return str(result.status)
        return str(json.loads(result.observation).get("outcome"))

    def check_next_session(self) -> None:
        """The next session's calls are right, to the byte."""
        outcomes = self.run([("list_seeds", {}), ("add_seed", {"name": "new", "grams": 1})])
        answers = [outcome.observation if isinstance(outcome, frames.Recorded) else outcome for outcome in outcomes]
        assert answers == [LIST_ANSWER, ADD_ANSWER], answers

    def check_world(self) -> None:
        """Nothing appeared, the canary was not seen, this process is as large as it was."""
        leader = self._worker.process_id if self._worker is not None else None
        self.world.check(leader, 1)
        for name in CANARY_NAMES:
            secret = os.environ[name]
            assert not any(secret in text for text in self.seen), "the canary was found"
        self.seen.clear()
        gc.collect()
        size = resident_bytes(os.getpid())
        assert size < 400 * MEBIBYTE, f"the host has grown to {size} bytes"
