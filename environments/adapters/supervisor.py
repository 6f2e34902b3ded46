"""Keeping the processes of one machine up together: web and workers under one Ctrl-C."""

import logging
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

logger = logging.getLogger(__name__)

STOP_SECONDS: Final = 10.0
"""How long a process may take to stop by itself before it is killed."""
MAX_RESTART_DELAY_SECONDS: Final = 30.0
STEADY_SECONDS: Final = 60.0
"""A process that lived this long is restarted at once when it dies."""


@dataclass(slots=True)
class _Child:
    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    num_quick_deaths: int = 0
    restart_at: float = 0.0


@dataclass(slots=True)
class Supervisor:
    """Starts processes, each in a session of its own so that a terminal's Ctrl-C reaches only this one.

    A process that dies is started again, with a delay that doubles while it keeps dying at once.

    Attributes:
        log_directory: Where each process writes `<name>.log`; None for this process's own output.
    """

    log_directory: Path | None = None
    _children: list[_Child] = field(default_factory=list)

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
        """Starts a process and returns its pid."""
        child = _Child(name, command, {**os.environ, **(environment or {})})
        self._children.append(child)
        self._launch(child)
        assert child.process is not None  # noqa: S101 - just launched
        return child.process.pid

    def tend(self) -> None:
        """Starts again what died; call it about once a second."""
        now = time.monotonic()
        for child in self._children:
            if child.process is not None and child.process.poll() is not None:
                is_steady = now - child.started_at >= STEADY_SECONDS
                child.num_quick_deaths = 0 if is_steady else child.num_quick_deaths + 1
                delay = 0.0 if is_steady else min(2.0**child.num_quick_deaths / 2, MAX_RESTART_DELAY_SECONDS)
                logger.error(
                    "event=process_died name=%s status=%d restart_in=%.0fs", child.name, child.process.returncode, delay
                )
                _signal_session(child.process, signal.SIGKILL)  # its children, beside which a new one must not run
                child.process, child.restart_at = None, now + delay
            if child.process is None and now >= child.restart_at:
                self._launch(child)

    def stop(self) -> None:
        """Asks every process to stop, then kills what is left of its session."""
        running = [child.process for child in self._children if child.process is not None]
        for process in running:
            _signal_session(process, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        for process in running:
            try:
                process.wait(max(deadline - time.monotonic(), 0.01))
            except subprocess.TimeoutExpired:
                logger.warning("event=process_killed pid=%d", process.pid)
            # Also after a clean end: a worker's children outlive it when it was killed.
            _signal_session(process, signal.SIGKILL)
            process.wait()
        self._children.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _launch(self, child: _Child) -> None:
        with self._output(child.name) as output:
            child.process = subprocess.Popen(  # noqa: S603 - commands are built in this project
                child.command,
                env=dict(child.environment),
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        child.started_at = time.monotonic()

    def _output(self, name: str) -> AbstractContextManager[IO[bytes] | None]:
        if self.log_directory is None:
            return nullcontext()
        self.log_directory.mkdir(parents=True, exist_ok=True)
        return (self.log_directory / f"{name}.log").open("ab")


def _signal_session(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return
