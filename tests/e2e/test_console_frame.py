"""The console's frame, and the pages that every step shares, as a person meets them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import factory
import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, Route, expect

from environments.models import Job, JobEvent, User
from environments.services import record_audit
from tests.factories.environments import PASSWORD, JobFactory, UserFactory

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

AXE = Path(__file__).parent / "vendor" / "axe-core-4.14.1.min.js"
RUN_AXE = "() => axe.run().then((found) => found.violations.map((rule) => [rule.id, rule.impact, rule.nodes[0].html]))"
SUFFICIENT_IMPACTS = {"serious", "critical"}

SignIn = Callable[[User], Page]


@pytest.fixture
def admin() -> User:
    return UserFactory.create(username="ada", role=User.Role.ADMIN)


@pytest.fixture
def operator() -> User:
    return UserFactory.create(username="otto", role=User.Role.OPERATOR)


def running_job(**values: Any) -> Job:
    now = timezone.now()
    clocks = {"started_at": now, "stage_started_at": now, "heartbeat_at": now}
    job: Job = JobFactory.create(**{"status": "running", "attempt": 1, "stage": "rows", **clocks, **values})
    job.add_event(JobEvent.Kind.STAGE, stage="rows", data={"done": 0, "total": 10})
    return job


def failed_job(**values: Any) -> Job:
    error = {"error_code": "worker_lost", "error_message": "The worker died."}
    return JobFactory.create(**{"status": "failed", "finished_at": timezone.now(), **error, **values})


@pytest.fixture
def paths(admin: User) -> list[str]:
    """Every page, with data."""
    parent = running_job(kind="seed_load", created_by=admin, done_units=3, total_units=10)
    JobFactory.create_batch(3, parent=parent, key=factory.Sequence("row-{}".format))
    failed = failed_job(created_by=admin)
    failed.add_event(JobEvent.Kind.LOG, level="error", text="MemoryError")
    for done in (1, 4, 9):
        parent.add_event(JobEvent.Kind.PROGRESS, stage="rows", data={"done": done, "total": 10})
    done = JobFactory.create(status="succeeded", finished_at=timezone.now(), result={"rows": 5, "parts": [{"a": 1}]})
    record_audit(actor=admin, action="job.start", subject_kind="job", subject_code=str(done.code))
    jobs = [f"/jobs/{job.code}/" for job in (parent, failed, done)]
    return [
        *("/", "/jobs/", "/jobs/?status=cancelled", "/jobs/new/?kind=seed_load", "/jobs/running/", *jobs),
        *("/settings/", "/audit/", "/audit/?show=decisions", "/help/", "/help/errors/", "/accounts/password/"),
    ]


@pytest.fixture
def open_page(browser: Browser, console_server: str) -> Iterator[Callable[..., Page]]:
    """Opens a page in a context of its own, logged in as the person if one is given."""
    contexts = []

    def open_page(user: User | None = None, **options: Any) -> Page:
        context = browser.new_context(base_url=console_server, **options)
        contexts.append(context)
        page = context.new_page()
        if user is not None:
            page.goto("/accounts/login/")
            page.get_by_label("Username").fill(user.username)
            page.get_by_label("Password").fill(PASSWORD)
            page.get_by_role("button", name="Log in").click()
            page.wait_for_url("**/")
        return page

    yield open_page
    for context in contexts:
        context.close()


class TestEveryPage:
    @pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (800, "dark"), (390, "light"), (390, "dark")])
    def test_has_no_serious_fault_for_axe_and_fits_the_window(
        self, open_page: Callable[..., Page], admin: User, paths: list[str], width: int, scheme: str
    ) -> None:
        # axe writes inline styles of its own, so this page alone goes without the policy.
        page = open_page(admin, viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True)

        faults = {}
        for path in ["/accounts/login/", *paths, "/nowhere/"]:
            page.goto(path)
            page.add_script_tag(path=AXE)
            faults[path] = [found for found in page.evaluate(RUN_AXE) if found[1] in SUFFICIENT_IMPACTS]
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                faults[path].append(["wider than the window"])

        assert {path: found for path, found in faults.items() if found} == {}

    def test_logs_no_error_and_keeps_the_content_security_policy(
        self, sign_in: SignIn, admin: User, paths: list[str]
    ) -> None:
        page = sign_in(admin)  # its fixture fails on whatever the browser logs

        for path in paths:
            page.goto(path)
            page.wait_for_load_state("load")

    def test_asks_no_other_host(self, sign_in: SignIn, admin: User, paths: list[str], console_server: str) -> None:
        page = sign_in(admin)
        elsewhere: list[str] = []
        page.on("request", lambda sent: elsewhere.append(sent.url) if not sent.url.startswith(console_server) else None)

        for path in paths:
            page.goto(path)

        assert [url for url in elsewhere if not url.startswith("data:")] == []


class TestKeyboard:
    def test_tab_reaches_the_skip_link_first_and_it_leads_to_the_content(self, sign_in: SignIn, admin: User) -> None:
        page = sign_in(admin)

        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
        page.keyboard.press("Tab")

        assert page.evaluate("document.activeElement.closest('main') !== null")

    def test_question_mark_lists_the_keys_of_this_page(self, sign_in: SignIn, operator: User) -> None:
        running_job()
        page = sign_in(operator)
        page.goto("/jobs/")

        page.keyboard.press("?")

        sheet = page.get_by_role("dialog")
        expect(sheet).to_be_visible()
        for label in ("New job", "Change the theme", "Next row", "Previous row"):
            expect(sheet.get_by_text(label, exact=True)).to_be_visible()
        page.keyboard.press("Escape")
        expect(sheet).to_be_hidden()

    def test_every_key_shown_on_a_button_works(self, sign_in: SignIn, operator: User) -> None:
        page = sign_in(operator)
        page.goto("/jobs/")
        expect(page.get_by_role("link", name="New job").locator("kbd")).to_have_text("n")

        page.keyboard.press("n")

        page.wait_for_url("**/jobs/new/")

    def test_j_and_k_walk_the_rows_and_enter_opens_one(self, sign_in: SignIn, operator: User) -> None:
        failed_job(kind="self_check")
        last = failed_job()
        page = sign_in(operator)
        page.goto("/jobs/")

        for key in ("j", "j", "k"):
            page.keyboard.press(key)
        page.keyboard.press("Enter")

        page.wait_for_url(f"**/jobs/{last.code}/")

    def test_keys_rest_while_typing(self, sign_in: SignIn, admin: User) -> None:
        page = sign_in(admin)
        page.goto("/audit/")

        page.get_by_label("Person").press_sequentially("tn?")

        expect(page.get_by_label("Person")).to_have_value("tn?")
        expect(page.get_by_role("dialog")).to_be_hidden()
        expect(page.locator("html")).to_have_attribute("data-theme", "system")


class TestFrame:
    def test_theme_switches_at_once_and_stays(self, sign_in: SignIn, operator: User) -> None:
        page = sign_in(operator)
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")

        for theme in ("light", "dark"):
            with page.expect_response("**/settings/preferences/"):
                page.keyboard.press("t")
                expect(page.locator("html")).to_have_attribute("data-theme", theme)
        page.reload()

        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light

    def test_last_of_two_quick_themes_stays_when_the_first_is_stored_slowly(
        self, sign_in: SignIn, operator: User
    ) -> None:
        page = sign_in(operator)
        sent: list[Route] = []
        page.route("**/settings/preferences/", lambda route: sent.append(route))

        page.keyboard.press("t")
        page.keyboard.press("t")
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        page.wait_for_timeout(300)
        assert len(sent) == 1
        with page.expect_response("**/settings/preferences/"):
            sent.pop().continue_()
        while not sent:
            page.wait_for_timeout(20)
        with page.expect_response("**/settings/preferences/"):
            sent.pop().continue_()
        page.reload()

        expect(page.locator("html")).to_have_attribute("data-theme", "dark")

    def test_rail_folds_to_icons_that_keep_their_names(self, sign_in: SignIn, operator: User) -> None:
        page = sign_in(operator)

        page.set_viewport_size({"width": 800, "height": 800})

        link = page.get_by_role("link", name="Jobs", exact=True)
        box = link.bounding_box()
        assert box is not None
        assert box["width"] < 60
        link.focus()
        expect(link.locator(".rail-word")).to_have_css("opacity", "1")

    def test_rail_is_a_bar_at_the_bottom_of_a_phone(self, sign_in: SignIn, operator: User) -> None:
        page = sign_in(operator)

        page.set_viewport_size({"width": 390, "height": 844})

        box = page.get_by_role("navigation", name="Main").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] == pytest.approx(844, abs=1)

    def test_count_of_unfinished_jobs_opens_their_list(self, sign_in: SignIn, operator: User) -> None:
        job = running_job(done_units=3, total_units=10)
        page = sign_in(operator)

        page.locator("#running-jobs-button").click()

        menu = page.locator("#running-jobs-menu")
        expect(menu.get_by_text("rows · 3 of 10")).to_be_visible()
        menu.get_by_role("link", name=job.title).click()
        page.wait_for_url(f"**/jobs/{job.code}/")

    def test_failed_request_is_told_once_and_the_page_stays(self, sign_in: SignIn, operator: User) -> None:
        running_job()
        page = sign_in(operator)
        page.expected_problems = ("500",)  # type: ignore[attr-defined]
        page.goto("/jobs/")
        page.route("**/jobs/?**", lambda route: answer_500(route))

        page.get_by_label("Status").select_option("failed")
        expect(page.get_by_text("The last request failed")).to_be_visible()
        page.get_by_label("Status").select_option("running")

        expect(page.get_by_text("The last request failed")).to_have_count(1)
        expect(page.locator("tbody tr")).to_have_count(1)

    def test_short_code_is_copied_whole(self, sign_in: SignIn, operator: User) -> None:
        job = failed_job()
        page = sign_in(operator)
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto("/jobs/")

        page.get_by_role("button", name=str(job.code)[:8]).click()

        expect(page.locator("#spoken")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == str(job.code)


def answer_500(route: Route) -> None:
    route.fulfill(status=500, body="broken")


class TestJobs:
    def test_filter_changes_the_table_and_the_address_and_back_undoes_it(self, sign_in: SignIn, operator: User) -> None:
        failed_job()
        running_job()
        page = sign_in(operator)
        page.goto("/jobs/")

        page.get_by_label("Status").select_option("failed")
        expect(page.locator("tbody tr")).to_have_count(1)
        assert "status=failed" in page.url
        page.go_back()

        expect(page.locator("tbody tr")).to_have_count(2)

    def test_form_shows_the_fault_at_its_field_and_then_starts_the_job(self, sign_in: SignIn, operator: User) -> None:
        page = sign_in(operator)
        page.expected_problems = ("422",)  # type: ignore[attr-defined]
        page.goto("/jobs/new/")

        page.get_by_label("Kind").select_option("seed_load")
        page.get_by_label("How many").fill("0")
        page.locator("#job-parameters form").evaluate("form => { form.noValidate = true; }")
        page.get_by_role("button", name="Start").click()
        expect(page.get_by_text("less than the minimum")).to_be_visible()
        page.get_by_label("How many").fill("5")
        page.get_by_label("How many").press("Control+Enter")

        page.wait_for_url("**/jobs/*-*/")
        expect(page.get_by_role("heading", level=1)).to_have_text("Load-test rows")

    def test_page_follows_a_running_job_to_its_end(self, sign_in: SignIn, operator: User) -> None:
        job = running_job(total_units=10)
        page = sign_in(operator)
        page.goto(f"/jobs/{job.code}/")
        lines = page.locator(".log li")
        expect(lines).to_have_count(1)

        job.add_log("info", "<b>first</b> line")
        expect(page.get_by_text("<b>first</b> line")).to_be_visible()
        job.set_progress("rows", 4, 10)
        expect(page.get_by_text("4 of 10")).to_be_visible()
        job.finish(Job.Status.SUCCEEDED, result={"rows": 10})

        expect(page.locator(".page-head .status")).to_have_text("Succeeded")
        expect(page.get_by_text("complete", exact=True)).to_be_visible()
        expect(lines).to_have_count(3)
        asked: list[str] = []
        page.on("request", lambda sent: asked.append(sent.url))
        page.wait_for_timeout(6000)
        assert [url for url in asked if str(job.code) in url] == []

    def test_log_goes_on_after_a_break_without_losing_or_repeating_a_line(
        self, sign_in: SignIn, operator: User
    ) -> None:
        job = running_job()
        page = sign_in(operator)
        page.expected_problems = ("ERR_INTERNET_DISCONNECTED", "Failed to fetch", "network error")  # type: ignore[attr-defined]
        page.goto(f"/jobs/{job.code}/")
        job.add_log("info", "before the break")
        expect(page.get_by_text("before the break")).to_have_count(1)

        page.context.set_offline(True)
        job.add_log("info", "during the break")
        page.wait_for_timeout(1500)
        page.context.set_offline(False)
        job.add_log("info", "after the break")

        for text in ("before", "during", "after"):
            expect(page.get_by_text(f"{text} the break")).to_have_count(1, timeout=20_000)

    def test_log_does_not_pull_back_a_person_who_reads_above_its_end(self, sign_in: SignIn, operator: User) -> None:
        job = running_job()
        for number in range(80):
            job.add_event(JobEvent.Kind.LOG, level="info", text=f"line {number}")
        page = sign_in(operator)
        page.goto(f"/jobs/{job.code}/")
        log = page.locator(".log")
        at_end = "log => log.scrollHeight - log.scrollTop - log.clientHeight < 30"
        assert log.evaluate(at_end)

        job.add_log("info", "followed")
        expect(page.get_by_text("followed")).to_have_count(1)
        assert log.evaluate(at_end)
        log.evaluate("log => { log.scrollTop = 0; }")
        job.add_log("info", "not followed")
        expect(page.get_by_text("not followed")).to_have_count(1)

        assert log.evaluate("log => log.scrollTop") == 0

    def test_cancelling_and_retrying_say_what_happened(self, sign_in: SignIn, operator: User) -> None:
        job = JobFactory.create()
        page = sign_in(operator)
        page.goto(f"/jobs/{job.code}/")

        page.get_by_role("button", name="Cancel job").click()
        expect(page.locator("#toasts")).to_contain_text("what is done is kept")
        expect(page.locator(".page-head .status")).to_have_text("Cancelled")
        page.get_by_role("button", name="Resume job").click()

        expect(page.locator("#toasts")).to_contain_text("queued again")

    def test_chart_is_painted_and_has_its_table(self, sign_in: SignIn, operator: User) -> None:
        job = running_job(total_units=10)
        for done in range(1, 8):
            job.add_event(JobEvent.Kind.PROGRESS, stage="rows", data={"done": done, "total": 10})
        page = sign_in(operator)
        page.goto(f"/jobs/{job.code}/")

        painted = page.locator("[data-chart] canvas").evaluate(
            "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean)"
        )
        page.get_by_text("The same as a table").click()

        assert painted
        expect(page.locator(".table-plain tbody tr")).to_have_count(8)


class TestWithoutScripts:
    @pytest.fixture
    def plain(self, open_page: Callable[..., Page], operator: User) -> Page:
        return open_page(operator, java_script_enabled=False)

    def test_jobs_are_filtered_started_and_cancelled(self, plain: Page) -> None:
        failed_job()
        plain.goto("/jobs/")
        plain.get_by_label("Status").select_option("failed")
        plain.get_by_role("button", name="Filter").click()
        expect(plain.locator("tbody tr")).to_have_count(1)

        plain.get_by_role("link", name="New job").click()
        plain.get_by_label("Kind").select_option("seed_load")
        plain.get_by_role("button", name="Show its parameters").click()
        plain.get_by_label("How many").fill("5")
        plain.get_by_role("button", name="Start").click()
        plain.get_by_role("button", name="Cancel job").click()

        expect(plain.locator(".page-head .status")).to_have_text("Cancelled")

    def test_theme_and_menus_work(self, plain: Page) -> None:
        plain.goto("/jobs/?status=failed")
        plain.locator("button[name=theme]").click()
        expect(plain.locator("html")).to_have_attribute("data-theme", "light")
        assert plain.url.endswith("/jobs/?status=failed")

        plain.get_by_role("button", name="otto").click()
        plain.get_by_role("button", name="Log out").click()

        plain.wait_for_url("**/accounts/login/")
