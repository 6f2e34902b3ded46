"""New events of watched jobs, read once for each process however many people watch.

No watcher holds a database connection: one loop asks for all of them and gives its connection back each time.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.5
KEEP_ALIVE_SECONDS: Final = 15.0
"""A silent stream sends a comment this often, so that proxies keep it and a dead client is noticed."""


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event as it goes out: `id` is the row's, `data` is JSON-ready."""

    id: int
    kind: str
    data: Mapping[str, Any]
    ends_job: bool


@dataclass(frozen=True, slots=True)
class Backlog:
    """Stored events after an id, and whether the job had ended before they were read."""

    events: Sequence[StreamEvent]
    is_final: bool


ReadBacklog = Callable[[int, int], Awaitable[Backlog]]
"""(job's key, after id) to the next stored events; empty when there are no more."""
ReadNews = Callable[[Mapping[int, int]], Awaitable[Mapping[int, Sequence[StreamEvent]]]]
"""{job's key: after id} to the newer events of each."""


class JobEventBroadcaster:
    """Asks for new events of all watched jobs in one query, twice a second, while anybody watches."""

    def __init__(self, read_news: ReadNews) -> None:
        self._read_news = read_news
        self._watchers: defaultdict[int, set[asyncio.Queue[StreamEvent]]] = defaultdict(set)
        self._cursors: dict[int, int] = {}
        self._task: asyncio.Task[None] | None = None

    async def watch(
        self, job: int, *, after: int, newest: int, read_backlog: ReadBacklog
    ) -> AsyncGenerator[StreamEvent | None, None]:
        """Yields every event after an id, stored ones first, each once; None now and then to keep the line alive.

        Ends once the job has.

        Args:
            job: The job's key.
            after: The id that the watcher has seen last; 0 for none.
            newest: Id of the job's newest event at present.
            read_backlog: Reads stored events.
        """
        queue: asyncio.Queue[StreamEvent] = asyncio.Queue()
        after = min(after, newest)
        # News is collected from before the backlog is read, and what is in both is passed over by id.
        self._subscribe(job, queue, newest)
        try:
            while True:
                backlog = await read_backlog(job, after)
                for event in backlog.events:
                    yield event
                    after = event.id
                if not backlog.events:
                    break
            if backlog.is_final:
                return
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), KEEP_ALIVE_SECONDS)
                except TimeoutError:
                    yield None
                    continue
                if event.id > after:
                    yield event
                    after = event.id
                    if event.ends_job:
                        return
        finally:
            self._unsubscribe(job, queue)

    def _subscribe(self, job: int, queue: asyncio.Queue[StreamEvent], newest: int) -> None:
        self._watchers[job].add(queue)
        self._cursors.setdefault(job, newest)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._poll())

    def _unsubscribe(self, job: int, queue: asyncio.Queue[StreamEvent]) -> None:
        self._watchers[job].discard(queue)
        if not self._watchers[job]:
            del self._watchers[job]
            self._cursors.pop(job, None)

    async def _poll(self) -> None:
        while self._watchers:
            try:
                news = await self._read_news(dict(self._cursors))
            except Exception as error:  # noqa: BLE001 - a database that restarts must not end the streams
                logger.warning("event=job_events_unread error=%s", type(error).__name__)
                news = {}
            for job, events in news.items():
                for event in events:
                    for queue in self._watchers.get(job, ()):
                        queue.put_nowait(event)
                if events and job in self._cursors:
                    self._cursors[job] = events[-1].id
            await asyncio.sleep(POLL_SECONDS)
        self._task = None  # which holds the event loop, and this object lives in a table weak by loops


_BROADCASTERS: WeakKeyDictionary[asyncio.AbstractEventLoop, JobEventBroadcaster] = WeakKeyDictionary()


def broadcaster(read_news: ReadNews) -> JobEventBroadcaster:
    """This event loop's broadcaster."""
    return _BROADCASTERS.setdefault(asyncio.get_running_loop(), JobEventBroadcaster(read_news))
