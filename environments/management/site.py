"""What `run` and `demo` share: the processes of a site on this machine, and waiting until it answers."""

import contextlib
import http.client
import logging
import os
import signal
import socket
import time
from collections.abc import Iterator
from types import FrameType

from django.conf import settings
from django.core.management.base import CommandError

from environments.adapters.embedded import EmbeddedServiceError, EmbeddedServices
from environments.adapters.processes import beat_command, web_command, worker_command
from environments.adapters.supervisor import Supervisor
from environments.core.jobs import Queue

logger = logging.getLogger(__name__)

WORK_QUEUES = [Queue.DEFAULT.value, Queue.BUILD.value, Queue.ROLLOUT.value]
READY_SECONDS = 60
POOL_SIZE = 8


def start_workers(supervisor: Supervisor, *, concurrency: int) -> None:
    """Starts one worker for short work, one that trains one model at a time, and beat."""
    supervisor.start("worker", worker_command(queues=WORK_QUEUES, concurrency=concurrency))
    supervisor.start("train", worker_command(queues=[Queue.TRAIN.value], concurrency=1))
    supervisor.start("beat", beat_command())


def start_web(supervisor: Supervisor, *, host: str, port: int) -> None:
    """Starts the console and waits until it is ready.

    Raises:
        CommandError: If the port is taken or the console does not become ready.
    """
    require_free_port(host, port)
    # Opening a connection costs more than most pages; the workers, which fork, go without a pool.
    pool = {"DATABASE_POOL_SIZE": os.environ.get("DATABASE_POOL_SIZE") or str(POOL_SIZE)}
    supervisor.start("web", web_command(host=host, port=port), pool)
    deadline = time.monotonic() + READY_SECONDS
    while not _is_ready(host, port):
        if time.monotonic() > deadline:
            raise CommandError(f"The console did not become ready in {READY_SECONDS} s; its messages are above.")
        supervisor.tend()
        time.sleep(0.2)


def require_free_port(host: str, port: int) -> None:
    """Makes sure that the console can listen.

    Raises:
        CommandError: If it can't, naming the port and the remedy.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CommandError(
                f"{host}:{port} can't be used ({error.strerror}): stop what listens there, or choose PORT=8001."
            ) from error


def tend_until_stopped(supervisor: Supervisor) -> None:
    """Keeps the processes and the embedded services up until Ctrl-C or SIGTERM."""
    embedded: EmbeddedServices | None = getattr(settings, "EMBEDDED_SERVICES", None)
    with _stop_signals() as stop:
        while not stop:
            supervisor.tend()
            try:
                if embedded is not None and not all(status.is_running for status in embedded.status()):
                    logger.error("event=embedded_service_down action=restart")
                    embedded.acquire()
            except EmbeddedServiceError as error:
                logger.error("event=embedded_service_unavailable error=%s", error)
            time.sleep(1)


@contextlib.contextmanager
def _stop_signals() -> Iterator[list[int]]:
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_ready(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=5)
    try:
        connection.request("GET", "/readyz", headers={"Host": "localhost"})
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def default_concurrency() -> int:
    """Two, or one for each core that this process may use where there are more."""
    return max(2, len(os.sched_getaffinity(0)))
