"""Environments as a person meets them: found, imported, verified, approved and opened."""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Dialog, FilePayload, Page, expect

from environments import services
from environments.models import EnvironmentVersion, Job, User
from environments.runtime.pack import zip_pack
from environments.runtime.pack.model import Scenario
from tests.factories.environments import PASSWORD, UserFactory
from tests.factories.little_pack import ROWS
from tests.factories.registry import finished_run, little_pack, little_version, shipped_version

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

AXE = Path(__file__).parent / "vendor" / "axe-core-4.14.1.min.js"
RUN_AXE = "() => axe.run().then((found) => found.violations.map((rule) => [rule.id, rule.impact, rule.nodes[0].html]))"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"

SignIn = Callable[[User], Page]


@pytest.fixture
def operator() -> User:
    return UserFactory.create(username="otto", role=User.Role.OPERATOR)


def run_jobs() -> None:
    """What a worker does: runs every queued job, each in locked workers as in production."""
    for job in Job.objects.filter(status=Job.Status.QUEUED):
        services.execute_job(job_code=job.code, send=lambda _code: True)


def pack_file(pack: bytes) -> FilePayload:
    return {"name": "pack.zip", "mimeType": "application/zip", "buffer": pack}


def hostile_version() -> EnvironmentVersion:
    rows: dict[str, Any] = {**ROWS, "members": ({**ROWS["members"][0], "name": HOSTILE},)}
    scenario = Scenario("small", "boundary", "2026-03-02T09:00:00Z", 5, rows)
    version = little_version(name="hostile", title=HOSTILE, domain=HOSTILE, description=HOSTILE, scenarios=(scenario,))
    finding = {"check": "cases", "code": "case", "place": HOSTILE, "message": HOSTILE}
    finished_run(version, outcome="failed", findings=[finding], num_cases=1)
    return version


class TestList:
    def test_is_narrowed_sorted_and_searched_without_a_new_page(self, sign_in: SignIn, operator: User) -> None:
        shipped_version("seed_bank")
        shipped_version("tide_gauges", status="draft")
        page = sign_in(operator)
        page.get_by_role("link", name="Environments", exact=True).first.click()
        rows = page.locator("#environments tbody tr")
        expect(rows).to_have_count(2)
        page.evaluate("window.isSamePage = true")

        page.locator(".facet").get_by_role("link", name="Draft").click()
        expect(rows).to_have_count(1)
        expect(rows.first).to_contain_text("tide_gauges")
        expect(page).to_have_url(re.compile(r"\?status=draft$"))
        page.locator(".facet").get_by_role("link", name="Any").first.click()
        expect(rows).to_have_count(2)
        assert page.evaluate("window.isSamePage")
        page.go_back()
        expect(rows).to_have_count(1)

        page.keyboard.press("/")
        expect(page.get_by_role("searchbox", name="Search")).to_be_focused()
        page.keyboard.type("germination")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(r"/search/\?q=germination$"))
        page.get_by_role("link", name="All 1").click()
        expect(page).to_have_url(re.compile(r"/environments/\?q=germination$"))
        expect(rows).to_have_count(1)
        expect(rows.first).to_contain_text("seed_bank")

    def test_rows_are_reached_by_key(self, sign_in: SignIn, operator: User) -> None:
        shipped_version("tide_gauges", status="draft")
        page = sign_in(operator)
        page.goto("/environments/")

        page.keyboard.press("j")
        page.keyboard.press("Enter")

        expect(page.get_by_role("heading", level=1)).to_have_text("Tide-gauge network")


class TestImport:
    def test_faults_are_listed_and_the_mended_pack_is_taken(self, sign_in: SignIn, operator: User) -> None:
        page = sign_in(operator)
        page.expected_problems = ("422",)  # type: ignore[attr-defined]
        page.goto("/environments/")
        page.get_by_role("link", name="Import pack").click()

        page.get_by_label("Pack", exact=True).set_input_files(pack_file(zip_pack(little_pack(title=""))))
        page.get_by_role("button", name="Import pack").click()
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("The pack has 1 fault; nothing was stored")
        expect(alert.get_by_role("row").nth(1)).to_contain_text("title")
        expect(alert.get_by_role("row").nth(1)).to_contain_text("Write the text")

        page.get_by_label("Pack", exact=True).set_input_files(pack_file(zip_pack(little_pack())))
        page.get_by_role("button", name="Import the mended pack").click()
        expect(page).to_have_url(re.compile(r"/environments/library/1/$"))
        expect(page.get_by_text("It is in quarantine until verified")).to_be_visible()
        expect(page.locator(".page-head .status")).to_contain_text("Draft")


class TestVerification:
    def test_version_is_verified_approved_and_opened(self, sign_in: SignIn, operator: User) -> None:
        version = shipped_version("tide_gauges", status="draft")
        page = sign_in(operator)
        page.goto("/environments/tide_gauges/")

        page.get_by_role("button", name=f"Verify {version.num_tools} tools").click()
        expect(page.get_by_role("heading", name="Verification waits for a worker")).to_be_visible()
        run_jobs()

        # The page follows by itself: its record, its status and its main action.
        expect(page.get_by_role("heading", name="Run 1")).to_be_visible()
        expect(page.locator(".page-head .status")).to_contain_text("Verified")
        expect(page.get_by_text(f"{version.num_cases} of {version.num_cases} held").first).to_be_visible()

        page.get_by_role("button", name="Approve").click()
        expect(page.locator(".page-head")).to_contain_text("Approved")
        expect(page.get_by_role("cell", name="Approved").first).to_be_visible()

        page.get_by_role("link", name="Open a session").click()
        page.get_by_role("button", name="Open a session simple").click()
        expect(page).to_have_url(re.compile(r"/sessions/[0-9a-f-]{36}/$"))

    def test_faulty_version_is_rejected_with_what_was_found(self, sign_in: SignIn, operator: User) -> None:
        pack = services.environment_of(shipped_version("tide_gauges", status="draft")).pack
        broken = dataclasses.replace(pack, name="broken_gauges", cases=pack.cases[:-1])
        services.import_pack(pack=broken, origin=EnvironmentVersion.Origin.UPLOADED, user=operator)
        page = sign_in(operator)
        page.goto("/environments/broken_gauges/1/")

        page.get_by_role("button", name="Verify").click()
        run_jobs()

        expect(page.locator(".page-head .status")).to_contain_text("Rejected")
        expect(page.get_by_role("heading", name="Findings")).to_be_visible()
        expect(page.get_by_role("row").filter(has_text="case_coverage").first).to_be_visible()

    def test_rejection_without_a_reason_keeps_what_was_written(self, sign_in: SignIn, operator: User) -> None:
        shipped_version("tide_gauges")
        page = sign_in(operator)
        page.expected_problems = ("422",)  # type: ignore[attr-defined]
        page.goto("/environments/tide_gauges/1/")
        page.keyboard.press("d")

        page.get_by_label("Reject:").check()
        page.get_by_role("textbox", name="Note").fill("The levels are made up.")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_text("A rejection needs at least one reason.")).to_be_visible()
        page.get_by_label("Rows or texts that no such system would hold").check()
        page.get_by_role("button", name="Record the decision").click()

        expect(page.locator(".page-head .status")).to_contain_text("Rejected")
        expect(page.get_by_role("row").filter(has_text="otto").first).to_contain_text("The levels are made up.")


class TestWithoutScripts:
    def test_everything_works(self, browser: Browser, console_server: str, operator: User) -> None:
        shipped_version("tide_gauges", status="draft")
        context = browser.new_context(base_url=console_server, java_script_enabled=False)
        page = context.new_page()
        page.goto("/accounts/login/")
        page.get_by_label("Username").fill(operator.username)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()

        page.goto("/environments/")
        little_version()
        page.reload()
        page.locator(".facet").get_by_role("link", name="Uploaded").click()
        expect(page.locator("#environments tbody tr")).to_have_count(1)
        page.goto("/environments/tide_gauges/1/tables/")
        page.get_by_label("Rows of the scenario").select_option("simple")
        page.get_by_role("button", name="Show its rows").click()
        expect(page).to_have_url(re.compile(r"\?scenario=simple$"))
        page.get_by_role("button", name="Verify").click()
        expect(page.get_by_role("heading", name="Verification waits for a worker")).to_be_visible()
        run_jobs()
        page.reload()
        page.get_by_role("button", name="Approve").click()
        expect(page.locator(".page-head")).to_contain_text("Approved")
        page.goto("/environments/tide_gauges/1/scenarios/")
        page.get_by_role("button", name="Open a session").first.click()
        expect(page).to_have_url(re.compile(r"/sessions/"))
        context.close()


class TestEveryPage:
    @pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
    def test_is_accessible_fits_the_window_and_runs_nothing_of_the_pack(
        self, browser: Browser, console_server: str, operator: User, width: int, scheme: Literal["light", "dark"]
    ) -> None:
        hostile_version()
        shipped_version("tide_gauges")
        context = browser.new_context(
            base_url=console_server, viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True
        )
        page = context.new_page()
        dialogs: list[str] = []

        def note(dialog: Dialog) -> None:
            dialogs.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", note)
        page.goto("/accounts/login/")
        page.get_by_label("Username").fill(operator.username)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/")
        sections = ("", "tables/", "scenarios/", "verification/", "history/", "sources/", "code/tools.py/", "decide/")

        faults = {}
        for path in (
            *("/", "/environments/", "/environments/?q=nothing", "/environments/import/"),
            *(f"/environments/{name}/1/{section}" for name in ("hostile", "tide_gauges") for section in sections),
            *("/environments/hostile/1/tables/members/", "/environments/tide_gauges/1/tables/stations/"),
        ):
            page.goto(path)
            page.add_script_tag(path=AXE)
            faults[path] = [each for each in page.evaluate(RUN_AXE) if each[1] in {"serious", "critical"}]
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                faults[path].append(["wider than the window"])

        assert {path: found for path, found in faults.items() if found} == {}
        assert dialogs == []
        context.close()
