"""Sessions over real web processes: any of them serves any session, and a killed one takes nothing with it."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psutil
import pytest
from django.conf import settings
from django.db import connection

from environments import services
from environments.core.access import Scope
from environments.models import EnvironmentSession, EnvironmentVersion, ToolCall
from environments.services import create_api_token
from tests.factories.environments import UserFactory
from tests.factories.little_pack import TOOL_LIST, TOOLS, object_schema, tool
from tests.factories.registry import little_pack
from tests.faults.conftest import free_port

pytestmark = [pytest.mark.kill, pytest.mark.django_db(transaction=True)]
READY_SECONDS = 60
DRAW = {"tool": "draw", "arguments": {}}
WAIT = """
def wait(ctx, *, rounds):
    number = 0
    for round in range(rounds):
        number = (number * 31 + round) % 1000003
    return {"number": number}
"""


class Web:
    """One web process on the test's database."""

    def __init__(self, key: str) -> None:
        self.port = free_port()
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "envfactory_site.settings.test",
            "TEST_DATABASE_NAME": connection.settings_dict["NAME"],
            "DATABASE_POOL_SIZE": "8",
        }
        command = [
            sys.executable, "-m", "uvicorn", "envfactory_site.asgi:application", "--port", str(self.port),
            "--log-level", "warning", "--timeout-graceful-shutdown", "1",
        ]  # fmt: skip
        self.process = subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment, start_new_session=True)
        self.http = httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}/api/v1/sessions/", timeout=60,
            headers={"Authorization": f"Bearer {key}"},
        )  # fmt: skip

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, "uvicorn ended"
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"http://127.0.0.1:{self.port}/healthz").status_code == 200:
                    return
            time.sleep(0.1)
        raise AssertionError("the web process did not become ready")

    def post(self, path: str, body: dict[str, Any]) -> Any:
        answer = self.http.post(path, json=body)
        assert answer.status_code in {200, 201}, answer.text
        return answer.json()

    def get(self, path: str) -> Any:
        answer = self.http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def kill(self) -> None:
        """SIGKILL to the web process alone; its sandbox workers see their host's end by themselves."""
        workers = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        self.process.wait()
        _, alive = psutil.wait_procs(workers, timeout=60)
        assert not alive, "workers without a host"

    def stop(self) -> None:
        self.http.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)


@pytest.fixture
def version():
    added = tool("wait", "read", object_schema(("rounds",), rounds={"type": "integer"}))
    pack = little_pack(tools=(*TOOL_LIST, added), tools_py=TOOLS + WAIT)
    found = services.import_pack(pack=pack, origin=EnvironmentVersion.Origin.UPLOADED, user=None).version
    assert found.move(EnvironmentVersion.Status.VERIFIED)
    return found


@pytest.fixture
def webs(version) -> Iterator[list[Web]]:
    """Two web processes, and one key for both."""
    operator = UserFactory.create(role="operator")
    key = create_api_token(user=operator, name="test", scopes=[Scope.SESSIONS]).key
    started = [Web(key), Web(key)]
    try:
        for web in started:
            web.wait_until_ready()
        yield started
    finally:
        for web in started:
            web.stop()


def opened(web: Web, **body: Any) -> str:
    return str(web.post("", {"environment": "library", "scenario": "small", **body})["code"])


def test_two_processes_serve_one_session_when_both_are_hammered(webs, version):
    code = opened(webs[0])
    calls = [DRAW, {"tool": "get_book", "arguments": {"book_id": "bk-1"}}, DRAW]

    def hammer(number: int) -> list[dict[str, Any]]:
        web = webs[number % 2]
        made: list[dict[str, Any]] = []
        for _ in range(5):
            made += web.post(f"{code}/calls/", {"calls": calls})
            made.append(web.post(f"{code}/call/", DRAW))
            assert len(web.get(f"{code}/state/?table=tickets")["tickets"]) > 0
        return made

    with ThreadPoolExecutor(8) as pool:
        records = [record for each in pool.map(hammer, range(8)) for record in each]

    records.sort(key=lambda record: record["index"])
    assert [record["index"] for record in records] == list(range(160)), "no gap, nothing twice"
    live = services.environment_of(version).open("small")
    expected = live.calls([(record["tool"], record["arguments"]) for record in records])
    assert [record["observation"] for record in records] == [record.observation for record in expected]
    for web in webs:
        assert web.get(f"{code}/snapshot/")["snapshot"].encode() == live.snapshot()


def test_fifty_sessions_never_see_one_another_when_two_processes_serve_them(webs, version):
    codes = [opened(webs[number % 2], seed=number) for number in range(50)]

    def hammer(first: int) -> None:
        for turn in range(4):
            for number in range(first, 50, 8):
                web = webs[(number + turn) % 2]  # each call in the other process than the one before
                member = {"name": f"{number}", "email": f"{number}.{turn}@example.org"}
                web.post(f"{codes[number]}/calls/", {"calls": [{"tool": "join", "arguments": member}, DRAW]})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(hammer, range(8)))

    for number, code in enumerate(codes):
        live = services.environment_of(version).open("small", number)
        for turn in range(4):
            live.calls([("join", {"name": f"{number}", "email": f"{number}.{turn}@example.org"}), ("draw", {})])
        assert webs[number % 2].get(f"{code}/snapshot/")["snapshot"].encode() == live.snapshot()
        found = webs[0].get(f"{code}/calls/")["results"]
        assert [each["observation"] for each in found] == [record.observation for record in live.transcript]
        live.close()


def test_batch_is_whole_or_not_there_when_its_process_is_killed(webs, version):
    doomed, other = webs
    code, bystander = opened(other), opened(other)
    other.post(f"{code}/calls/", {"calls": [DRAW] * 3})
    doomed.post(f"{code}/call/", DRAW)
    batch = [DRAW, {"tool": "wait", "arguments": {"rounds": 1_500_000}}] * 100
    ended: list[Any] = []

    def send() -> None:
        try:
            ended.append(doomed.http.post(f"{code}/calls/", json={"calls": batch}).status_code)
        except httpx.TransportError as error:
            ended.append(error)

    sender = threading.Thread(target=send)
    sender.start()
    time.sleep(1.5)
    assert not ended, "the batch is under way"
    doomed.kill()
    sender.join(30)

    assert isinstance(ended[0], httpx.TransportError)
    assert other.post(f"{bystander}/call/", DRAW)["index"] == 0, "the other process goes on"
    made = other.post(f"{code}/call/", DRAW)  # waits for no lock: the dead one's connection is gone
    assert made["index"] == 4
    session = EnvironmentSession.objects.get(code=code)
    indices = ToolCall.objects.filter(session=session).order_by("index").values_list("index", flat=True)
    assert (session.num_calls, list(indices)) == (5, [0, 1, 2, 3, 4])
    live = services.environment_of(version).open("small")
    live.calls([("draw", {})] * 5)
    assert other.get(f"{code}/snapshot/")["snapshot"].encode() == live.snapshot()


def test_stored_calls_are_there_after_every_process_was_killed(webs, version):
    first, second = webs
    code = opened(first)
    made = [web.post(f"{code}/call/", DRAW) for web in (first, second, first)]
    first.kill()
    second.kill()

    key = first.http.headers["Authorization"].split()[1]
    third = Web(key)
    try:
        third.wait_until_ready()
        made.append(third.post(f"{code}/call/", DRAW))
    finally:
        third.stop()

    live = services.environment_of(version).open("small")
    assert [record["observation"] for record in made] == [
        record.observation for record in live.calls([("draw", {})] * 4)
    ]
