"""The console as a person meets it: uvicorn in a process of its own, and the system's Chromium."""

import os
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from environments.models import User
from tests.factories.environments import PASSWORD

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


@pytest.fixture(scope="module")  # while it is open, an event loop runs in this thread, which other tests can't have
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
