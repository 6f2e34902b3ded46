"""A few threads for what an event loop must not wait for itself: database statements and calls into workers.

Unlike a general executor they keep their database connection from job to job, since a tool call costs little more than
its statement, and give it back when they have been idle for a while or when it broke.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

import anyio
from django.conf import settings
from django.db import Error, connections

IDLE_SECONDS: Final = 10.0
"""After which an idle thread gives its connection back."""

SHARE: Final = 4
"""Threads that the calls of one environment may have at a time."""

Result = TypeVar("Result")
_Job = tuple[Callable[..., Any], tuple[Any, ...], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class DatabaseThreads:
    """At most `limit` threads, each started when no other is free; the jobs of one caller may run side by side."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._num_threads = 0
        self._num_busy = 0
        self._shares: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()

    def share(self, environment: int) -> asyncio.Semaphore:
        """To be held while a call of that environment's runs, so that slow tools of one leave threads to the others."""
        share = self._shares.get(environment)
        if share is None:
            share = self._shares[environment] = asyncio.Semaphore(SHARE)
        return share

    async def run(self, function: Callable[..., Result], *args: Any) -> Result:
        """What the function returns or raises.

        It is always waited for, also when the caller is cancelled: a call that nobody waits for any more still ends
        before the next one of the same session begins.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Result] = loop.create_future()
        self._put((function, args, loop, done))
        cancelled: asyncio.CancelledError | None = None
        with anyio.CancelScope(shield=True):
            while not done.done():
                try:
                    await asyncio.shield(done)
                except asyncio.CancelledError as error:  # the task itself, by a loop that ends
                    cancelled = error
                except BaseException:  # noqa: BLE001 - `result` raises it below
                    break
        if cancelled is not None:
            raise cancelled
        return done.result()

    def close(self) -> None:
        """Ends the threads once the jobs before have been done; a later job starts others."""
        with self._lock:
            number, self._num_threads = self._num_threads, 0
        for _ in range(number):
            self._jobs.put(None)

    def _put(self, job: _Job) -> None:
        with self._lock:
            self._num_busy += 1
            starts = self._num_busy > self._num_threads and self._num_threads < self._limit
            if starts:
                self._num_threads += 1
        if starts:
            threading.Thread(target=self._work, name="database", daemon=True).start()
        self._jobs.put(job)

    def _work(self) -> None:
        keeps = not settings.DATABASES["default"].get("OPTIONS", {}).get("pool")
        while True:
            try:
                job = self._jobs.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                connections.close_all()
                continue
            if job is None:
                connections.close_all()
                return
            self._do(job, keeps=keeps)

    def _do(self, job: _Job, *, keeps: bool) -> None:
        function, args, loop, done = job
        result: Any = None
        raised: BaseException | None = None
        try:
            result = function(*args)
        except BaseException as error:  # noqa: BLE001 - it is the caller's
            raised = error
            if isinstance(error, Error):
                connections.close_all()
        if not keeps:  # a pool keeps it instead, for every thread of the process
            connections.close_all()
        with self._lock:
            self._num_busy -= 1
        try:
            loop.call_soon_threadsafe(_settle, done, result, raised)
        except RuntimeError:  # the loop has ended, and with it whoever waited
            return


def _settle(done: "asyncio.Future[Any]", result: Any, raised: BaseException | None) -> None:
    if done.done():
        return
    if raised is None:
        done.set_result(result)
    else:
        done.set_exception(raised)
