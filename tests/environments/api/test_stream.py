"""The stream of a job's events: complete, in order, resumable, and without a database connection while it waits."""

import asyncio
import threading
import time
from contextlib import asynccontextmanager

import pytest
from django.db import OperationalError, connection
from django.test import AsyncClient
from django.utils import timezone

from environments.adapters import job_events
from environments.core.access import Scope
from environments.models import JobEvent
from environments.services import create_api_token, streams
from tests.environments.api.test_jobs import NOWHERE, problem
from tests.factories.environments import JobFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(job_events, "POLL_SECONDS", 0.02)


@pytest.fixture
def headers(operator):
    issued = create_api_token(user=operator, name="x", scopes=[Scope.READ])
    return {"Authorization": f"Bearer {issued.key}"}


@pytest.fixture
def job(db):
    return JobFactory.create(status="running", heartbeat_at=timezone.now(), attempt=1)


def log(job, count):
    return [job.add_event(JobEvent.Kind.LOG, level="info", text=str(number)).pk for number in range(count)]


def end(job):
    assert job.finish(job.Status.SUCCEEDED)


def url(job):
    return f"/api/v1/jobs/{job.code}/stream/"


@asynccontextmanager
async def opened(address, headers, session=""):
    client = AsyncClient()
    client.cookies["sessionid"] = session
    response = await client.get(address, headers=headers)
    assert response.status_code == 200, response.content
    assert response["Content-Type"] == "text/event-stream"
    assert response["Cache-Control"] == "no-cache"
    content = response.streaming_content
    try:
        yield content
    finally:
        await content.aclose()
        await response._iterator.aclose()  # type: ignore[union-attr]  # which the response holds while it is there


async def read(address, headers, session=""):
    """Every message until the stream closes, as pairs of id and event."""
    async with opened(address, headers, session) as content:
        return parsed([part.decode() async for part in content])


def parsed(messages):
    found = []
    for message in messages:
        fields = dict(line.split(": ", 1) for line in message.strip().splitlines() if not line.startswith(":"))
        if fields:
            found.append((int(fields["id"]) if "id" in fields else None, fields["event"]))
    return found


def ids(messages):
    return [event_id for event_id, _event in messages if event_id is not None]


def test_ended_job_gives_all_events_and_closes_at_once(job, headers, monkeypatch):
    monkeypatch.setattr(job_events, "POLL_SECONDS", 60)
    monkeypatch.setattr(streams, "BACKLOG_EVENTS", 3)
    logged = log(job, 10)
    end(job)

    messages = asyncio.run(asyncio.wait_for(read(url(job), headers), 5))

    assert ids(messages)[:10] == logged
    assert messages[-2:] == [(job.events.last().pk, "status"), (None, "done")]
    assert len(messages) == 12


def test_watchers_of_a_running_job_miss_nothing_and_get_nothing_twice(job, headers, monkeypatch):
    monkeypatch.setattr(streams, "BACKLOG_EVENTS", 7)
    first = log(job, 20)
    other = JobFactory.create()

    def write():
        try:
            for number in range(200):
                log(job, 1)
                other.add_event(JobEvent.Kind.LOG, text="other")
                time.sleep(0.005 if number % 10 else 0.03)
            end(job)
        finally:
            connection.close()

    async def watch_late(seconds, after):
        await asyncio.sleep(seconds)
        return await read(f"{url(job)}?after={after}", headers)

    async def watch_all():
        writer = threading.Thread(target=write)
        writer.start()
        found = await asyncio.gather(
            read(url(job), headers), watch_late(0, first[9]), watch_late(0.3, 0), watch_late(0.6, first[-1])
        )
        writer.join()
        return found

    found = asyncio.run(asyncio.wait_for(watch_all(), 60))

    stored = list(job.events.order_by("pk").values_list("pk", flat=True))
    assert [ids(messages) for messages in found] == [stored, stored[10:], stored, stored[20:]]
    assert all(messages[-1] == (None, "done") for messages in found)


def test_stream_resumes_behind_the_last_event_id(job, headers):
    logged = log(job, 5)
    end(job)
    resumed = {**headers, "Last-Event-ID": str(logged[2])}

    assert ids(asyncio.run(read(url(job), resumed)))[:2] == logged[3:]
    assert ids(asyncio.run(read(f"{url(job)}?after={logged[3]}", headers)))[0] == logged[4]
    # The header is of this connection, the address of the first one.
    assert ids(asyncio.run(read(f"{url(job)}?after={logged[0]}", resumed)))[0] == logged[3]


def test_id_from_the_future_gets_only_what_is_new(job, headers):
    log(job, 3)

    async def watch():
        async with opened(f"{url(job)}?after={2**62}", headers) as content:
            reading = asyncio.ensure_future(anext(content))
            await asyncio.sleep(0.2)
            assert not reading.done()
            await asyncio.to_thread(in_thread, log, job, 1)
            return (await asyncio.wait_for(reading, 5)).decode()

    assert '"text": "0"' in asyncio.run(watch())


def in_thread(function, *args):
    try:
        return function(*args)
    finally:
        connection.close()


@pytest.mark.parametrize("given", ["x", "-1", "1.5", "٣", " 1", "", str(2**63), "9" * 5000])
def test_bogus_ids_are_refused(client, job, headers, given):
    in_query = problem(client.get(url(job), {"after": given}, headers=headers), 400, "invalid_input")
    in_header = problem(client.get(url(job), headers={**headers, "Last-Event-ID": given}), 400, "invalid_input")

    assert [body["errors"][0]["pointer"] for body in (in_query, in_header)] == ["?after", "Last-Event-ID"]


def test_other_parameters_and_methods_are_refused(client, job, headers):
    body = problem(client.get(url(job), {"since": 1}, headers=headers), 400, "invalid_input")
    assert body["errors"][0]["pointer"] == "?since"
    for method in ("post", "put", "delete", "head", "options"):
        response = getattr(client, method)(url(job), headers=headers)
        assert (response.status_code, response["Allow"]) == (405, "GET")


def test_session_opens_the_stream_and_a_stranger_does_not(client, job, operator):
    end(job)
    problem(client.get(url(job)), 401, "not_authenticated")
    refused = client.get(url(job), headers={"Authorization": "Bearer evf_wrong"})
    problem(refused, 401, "authentication_failed")
    assert refused["WWW-Authenticate"]

    client.force_login(operator)
    problem(client.get(f"/api/v1/jobs/{NOWHERE}/stream/"), 404, "not_found")
    assert asyncio.run(read(url(job), {}, client.session.session_key))[-1] == (None, "done")


def test_silent_stream_is_kept_open(job, headers, monkeypatch):
    monkeypatch.setattr(job_events, "KEEP_ALIVE_SECONDS", 0.05)

    async def watch():
        async with opened(url(job), headers) as content:
            return [await anext(content), await anext(content)]

    assert asyncio.run(watch()) == [b": still here\n\n"] * 2


async def becomes(condition, seconds=10):
    """Waits until the condition holds; fails if it does not in time."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.02)


def test_watcher_that_goes_away_leaves_nothing_behind(job, headers):
    log(job, 1)

    async def watch():
        broadcaster = streams.broadcaster(streams._read_news)
        async with opened(url(job), headers) as stays:
            await anext(stays)
            response = await AsyncClient().get(url(job), headers=headers)
            await anext(response.streaming_content)
            waiting = asyncio.ensure_future(anext(response.streaming_content))
            await asyncio.sleep(0.1)  # until it waits
            assert len(broadcaster._watchers[job.pk]) == 2
            task = broadcaster._task
            waiting.cancel()  # what Django's handler does when the client has gone
            await becomes(lambda: len(broadcaster._watchers.get(job.pk, ())) == 1)
            assert broadcaster._task is task
        await becomes(lambda: broadcaster._task is None)
        assert (broadcaster._watchers, broadcaster._cursors) == ({}, {})
        assert task.done()

    asyncio.run(watch())


def test_database_that_fails_for_a_while_does_not_end_the_stream(job, headers, monkeypatch):
    real, failed, read_backlog, backlogs = streams._read_news, [], streams._read_backlog, []

    async def noted(*args):
        backlogs.append(await read_backlog(*args))
        return backlogs[-1]

    async def unreliable(cursors):
        if len(failed) < 3:
            failed.append(True)
            raise OperationalError("the connection is closed")
        return await real(cursors)

    monkeypatch.setattr(streams, "_read_news", unreliable)
    monkeypatch.setattr(streams, "_read_backlog", noted)

    async def watch():
        async with opened(url(job), headers) as content:
            reading = asyncio.ensure_future(anext(content))
            while not (failed and backlogs):
                await asyncio.sleep(0.01)
            await asyncio.to_thread(in_thread, log, job, 1)
            return parsed([(await asyncio.wait_for(reading, 5)).decode()])

    assert asyncio.run(watch()) == [(job.events.get().pk, "log")]
    assert (len(failed), [list(backlog.events) for backlog in backlogs]) == (3, [[]])


def test_fault_of_the_program_is_a_problem(client, job, headers, monkeypatch):
    def fail(*args):
        raise ValueError("a secret")

    monkeypatch.setattr("environments.api.stream._find_job", fail)
    client.raise_request_exception = False

    response = client.get(url(job), headers=headers)

    problem(response, 500, "internal_error")
    assert b"secret" not in response.content
