"""Job events as streams: the broadcaster of this process, fed from the table."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import reduce
from operator import or_
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.db import connections
from django.db.models import Q

from environments.adapters.job_events import Backlog, StreamEvent, broadcaster
from environments.models import Job, JobEvent

BACKLOG_EVENTS = 500

Value = TypeVar("Value")


async def watch_job(*, job: Job, after: int) -> AsyncGenerator[StreamEvent | None, None]:
    """Yields the job's events after an id until it ends; None now and then to keep the line alive."""
    newest = await _read(lambda: JobEvent.objects.filter(job=job).order_by("-pk").values_list("pk", flat=True).first())
    watched = broadcaster(_read_news).watch(job.pk, after=after, newest=newest or 0, read_backlog=_read_backlog)
    async with aclosing(watched):
        async for event in watched:
            yield event


def release_connections() -> None:
    """Gives back this thread's database connections, but for one in a transaction, which whoever began it needs."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


def event_data(event: JobEvent) -> dict[str, Any]:
    """An event as the API shows it."""
    return {
        "id": event.pk,
        "at": event.at.isoformat(),
        "kind": event.kind,
        "level": event.level,
        "stage": event.stage,
        "text": event.text,
        "data": event.data,
    }


def _stream_event(event: JobEvent) -> StreamEvent:
    ends_job = event.kind == JobEvent.Kind.STATUS and event.text in Job.FINAL_STATUSES
    return StreamEvent(event.pk, event.kind, event_data(event), ends_job)


async def _read_backlog(job: int, after: int) -> Backlog:
    def read() -> Backlog:
        # The status first: if it is final now, every event of the job is there to be read after it.
        is_final = Job.objects.final().filter(pk=job).exists()
        rows = JobEvent.objects.filter(job_id=job).after(after)[:BACKLOG_EVENTS]
        return Backlog([_stream_event(row) for row in rows], is_final)

    return await _read(read)


async def _read_news(cursors: Mapping[int, int]) -> Mapping[int, Sequence[StreamEvent]]:
    def read() -> Mapping[int, Sequence[StreamEvent]]:
        newer = reduce(or_, (Q(job_id=job, pk__gt=cursor) for job, cursor in cursors.items()))
        news: dict[int, list[StreamEvent]] = {}
        for row in JobEvent.objects.filter(newer).order_by("pk")[:BACKLOG_EVENTS]:
            news.setdefault(row.job_id, []).append(_stream_event(row))
        return news

    return await _read(read) if cursors else {}


async def _read(read: Callable[[], Value]) -> Value:
    """Runs a reading function in a thread and gives its database connection back at once."""

    def closing() -> Value:
        try:
            return read()
        finally:
            release_connections()

    return await sync_to_async(closing, thread_sensitive=False)()
