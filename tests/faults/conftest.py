"""A whole installation of its own, driven as a user drives it: `manage.py run`, and HTTP."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from django.conf import settings

from environments.adapters.embedded import EmbeddedServices

WAIT_SECONDS = 90


class Installation:
    """`manage.py run` on a var directory of its own."""

    def __init__(self, var: Path, **environment: str) -> None:
        self.var = var
        self.port = free_port()
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "envfactory_site.settings.local",
            "VAR_DIR": str(var),
            "JOB_HEARTBEAT_SECONDS": "1",
            "JOB_STALE_SECONDS": "4",
            "JOB_SWEEP_SECONDS": "1",
            "JOB_RETRY_SECONDS": "1",
            **environment,
        }
        self.process: subprocess.Popen[bytes] | None = None
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=30)

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(
            command, cwd=settings.BASE_DIR, env=self.environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def start(self) -> None:
        self.start_again()
        self.manage("create_user", "otto", "--role", "operator")
        key = self.manage("create_token", "otto", "--scope", "jobs")
        self.http.headers["Authorization"] = f"Bearer {key}"

    def start_again(self) -> None:
        command = [sys.executable, "manage.py", "run", "--port", str(self.port), "--concurrency", "2"]
        with (self.var / "run.log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=settings.BASE_DIR,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.wait_until(self.is_ready, "the console is ready")

    def is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.var / "run.log").read_text()
        try:
            return self.http.get("/readyz").status_code == 200
        except httpx.HTTPError:
            return False

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(40)
        self.http.close()

    def submit(self, kind: str, **parameters: Any) -> str:
        answer = self.http.post("/api/v1/jobs/", json={"kind": kind, "parameters": parameters})
        assert answer.status_code == 202, answer.text
        return answer.json()["code"]

    def job(self, code: str) -> dict[str, Any]:
        return self.http.get(f"/api/v1/jobs/{code}/").json()

    def children(self, code: str) -> int:
        return self.http.get("/api/v1/jobs/", params={"parent": code, "page_size": 1}).json()["count"]

    def wait_for(self, code: str, status: str) -> dict[str, Any]:
        job: dict[str, Any] = {}

        def reached() -> bool:
            with contextlib.suppress(httpx.HTTPError, ValueError, KeyError):
                job.update(self.job(code))
                return job["status"] == status
            return False

        self.wait_until(reached, f"job {code} is {status}", job)
        return job

    def wait_until(self, condition: Callable[[], bool], what: str, state: object = None) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                log = (self.var / "run.log").read_text()
                raise AssertionError(f"not within {WAIT_SECONDS} s: {what}; {state}\n{log}")
            time.sleep(0.1)

    def processes(self) -> list[psutil.Process]:
        """Every process that belongs to this installation: by its var directory, in the environment or the command."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.pid == os.getpid():
                    continue
                words = [process.environ().get("VAR_DIR", ""), *process.cmdline()]
                if any(str(self.var) in word for word in words):
                    found.append(process)
        return found

    def kill_workers(self) -> None:
        """kill -9 for every process that runs jobs."""
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                if "celery" in " ".join(process.cmdline()):
                    process.kill()

    def rows(self, address: str) -> list[dict[str, Any]]:
        """Every row of a list of the API."""
        found: list[dict[str, Any]] = []
        while address:
            page = self.http.get(address).json()
            found += page["results"]
            address = page["next"]
        return found

    def database_pid(self) -> int:
        services = EmbeddedServices(self.var)
        pid = next(status.pid for status in services.status() if status.name == "postgres")
        assert pid is not None
        return pid


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    var = tmp_path / "var"
    var.mkdir(mode=0o700)
    installed = Installation(var)
    try:
        installed.start()
        yield installed
    finally:
        installed.stop()
