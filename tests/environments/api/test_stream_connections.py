"""Fifty open streams of a real uvicorn: what they hold of the database, and what is left once they are gone."""

import asyncio
import time

import httpx
import pytest
from django.db import connection
from django.utils import timezone

from environments.core.access import Scope
from environments.models import JobEvent
from environments.services import create_api_token
from tests.factories.environments import JobFactory

pytestmark = [pytest.mark.django_db(transaction=True)]

NUM_STREAMS = 50
HELD = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
SESSIONS = "SELECT sessions FROM pg_stat_database WHERE datname = current_database()"


def scalar(query):
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchone()[0]


def test_open_streams_hold_no_connection_and_leave_nothing(console_server, operator):
    issued = create_api_token(user=operator, name="x", scopes=[Scope.READ])
    job = JobFactory.create(status="running", heartbeat_at=timezone.now(), attempt=1)
    first = job.add_event(JobEvent.Kind.LOG, text="first")

    async def watch(client, opened):
        async with client.stream("GET", f"/api/v1/jobs/{job.code}/stream/") as response:
            assert response.status_code == 200
            lines = response.aiter_lines()
            found = [await anext(lines)]
            opened.append(True)
            found += [line async for line in lines]
        return [int(line.removeprefix("id: ")) for line in found if line.startswith("id: ")]

    async def leave_early(client):
        async with client.stream("GET", f"/api/v1/jobs/{job.code}/stream/") as response:
            assert await anext(response.aiter_lines()) == f"id: {first.pk}"

    async def watch_all():
        limits = httpx.Limits(max_connections=None)
        headers = {"Authorization": f"Bearer {issued.key}"}
        async with httpx.AsyncClient(base_url=console_server, headers=headers, limits=limits, timeout=60) as client:
            opened = []
            watchers = [asyncio.ensure_future(watch(client, opened)) for _ in range(NUM_STREAMS)]
            await asyncio.gather(*(leave_early(client) for _ in range(10)))
            while len(opened) < NUM_STREAMS:
                await asyncio.sleep(0.05)
            await asyncio.sleep(1)  # the connections that found the job are still being closed
            held = []
            for _ in range(40):
                held.append(await asyncio.to_thread(in_thread, scalar, HELD))
                await asyncio.sleep(0.05)
            await asyncio.to_thread(in_thread, write_and_end)
            return held, await asyncio.gather(*watchers)

    def write_and_end():
        for number in range(20):
            job.add_event(JobEvent.Kind.LOG, text=str(number))
        job.finish(job.Status.SUCCEEDED)

    held, found = asyncio.run(watch_all())

    # The one loop of the process that asks for news is there for some milliseconds twice a second.
    own = 1  # this test's main thread
    assert sorted(held)[len(held) // 2] - own == 0
    assert max(held) - own <= 1
    stored = list(job.events.order_by("pk").values_list("pk", flat=True))
    assert found == [stored] * NUM_STREAMS

    time.sleep(1.5)
    before = scalar(SESSIONS)
    time.sleep(2)
    assert scalar(SESSIONS) - before == 0, "nobody watches, yet the loop still asks"


def in_thread(function, *args):
    try:
        return function(*args)
    finally:
        connection.close()
