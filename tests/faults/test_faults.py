"""Killing real processes of a real installation: nothing is lost, nothing is done twice."""

import contextlib
import signal
from pathlib import Path

import httpx
import psutil
import pytest

from environments.adapters.embedded import EmbeddedServices
from tests.faults.conftest import Installation

pytestmark = [pytest.mark.kill]
ROWS = 20_000


def start_load(installation: Installation) -> str:
    """Starts a job of some seconds and waits until it is in the middle of its work."""
    code = installation.submit("seed_load", mode="rows", count=ROWS)
    installation.wait_until(lambda: 0 < installation.children(code) < ROWS, "some rows are there")
    return code


def workers(installation: Installation) -> list[psutil.Process]:
    return [process for process in installation.processes() if "celery" in " ".join(process.cmdline())]


def kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def test_job_is_taken_up_again_when_every_worker_is_killed(installation):
    code = start_load(installation)

    kill(workers(installation))

    job = installation.wait_for(code, "succeeded")
    assert (job["attempt"], job["num_failures"]) == (2, 1)
    assert job["result"] == {"rows": ROWS}
    assert installation.children(code) == ROWS


def test_job_is_taken_up_again_when_only_its_own_process_is_killed(installation):
    code = start_load(installation)
    main = {process.pid for process in workers(installation)}
    children = [process for process in workers(installation) if process.ppid() in main]

    kill(children)

    job = installation.wait_for(code, "succeeded")
    assert job["attempt"] == 2
    assert installation.children(code) == ROWS


def test_nothing_is_lost_when_postgresql_is_killed(installation):
    code = start_load(installation)
    before = installation.children(code)

    psutil.Process(installation.database_pid()).kill()

    job = installation.wait_for(code, "succeeded")
    assert job["result"] == {"rows": ROWS}
    assert installation.children(code) == ROWS >= before
    assert installation.http.get("/readyz").status_code == 200


def test_job_waits_in_its_row_when_the_broker_is_down_at_submit(tmp_path: Path):
    broker = EmbeddedServices(tmp_path / "broker", postgres=False)
    broker.acquire()
    var = tmp_path / "var"
    var.mkdir(mode=0o700)
    installation = Installation(var, REDIS_URL=broker.redis_url)
    try:
        installation.start()
        broker.release()
        assert installation.http.get("/readyz").status_code == 503

        answer = installation.http.post("/api/v1/jobs/", json={"kind": "self_check"})
        assert (answer.status_code, answer.json()["is_unsent"]) == (202, True)
        assert answer.elapsed.total_seconds() < 10

        broker.acquire()
        job = installation.wait_for(answer.json()["code"], "succeeded")
        assert job["is_unsent"] is False
        assert job["attempt"] == 2, "claimed once, collected once"
    finally:
        installation.stop()
        broker.release()


def test_one_interrupt_stops_everything(installation):
    installation.submit("seed_load", mode="jobs", count=200, milliseconds=500)
    assert len(installation.processes()) > 5

    installation.process.send_signal(signal.SIGINT)

    assert installation.process.wait(40) == 0
    assert installation.processes() == []
    with pytest.raises(httpx.ConnectError):
        installation.http.get("/healthz")


def test_second_start_finds_what_the_first_left(installation):
    code = installation.submit("self_check")
    installation.wait_for(code, "succeeded")
    kill(installation.processes())
    installation.process.wait()

    installation.start_again()

    assert installation.job(code)["status"] == "succeeded"
