"""The console as a person meets it: uvicorn in a process of its own, and the system's Chromium."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import httpx
import pytest
from django.conf import settings
from django.db import connection
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from environments.models import User
from tests.factories.environments import PASSWORD

READY_SECONDS = 30
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


@pytest.fixture(scope="session")
def console_server(django_db_setup: None) -> Iterator[str]:
    """Address of a console that serves the test database."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "envfactory_site.settings.test",
        "TEST_DATABASE_NAME": connection.settings_dict["NAME"],
    }
    command = [
        sys.executable, "-m", "uvicorn", "envfactory_site.asgi:application", "--port", str(port),
        "--log-level", "warning", "--timeout-graceful-shutdown", "1",
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_until_ready(address, process)
        yield address
    finally:
        process.terminate()
        process.wait(20)


def _wait_until_ready(address: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, "uvicorn ended"
        try:
            if httpx.get(f"{address}/healthz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("the console did not become ready")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = os.environ.get("CHROMIUM") or "/usr/bin/chromium"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def context(browser: Browser, console_server: str, transactional_db: None) -> Iterator[BrowserContext]:
    opened = browser.new_context(base_url=console_server, viewport={"width": 1280, "height": 900})
    opened.set_default_timeout(10_000)
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page that fails the test when the console logs an error or the content security policy is broken."""
    opened = context.new_page()
    problems: list[str] = []
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    yield opened
    expected = getattr(opened, "expected_problems", ())
    assert [problem for problem in problems if not any(part in problem for part in expected)] == []


@pytest.fixture
def sign_in(page: Page) -> Callable[[User], Page]:
    """Logs a person in through the log-in page."""

    def sign_in(user: User) -> Page:
        page.goto("/accounts/login/")
        page.get_by_label("Username").fill(user.username)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/")
        return page

    return sign_in
