"""Sources as a person meets them: imported, followed, narrowed, overruled and allowed."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import orjson
import pytest
from playwright.sync_api import Browser, Dialog, FilePayload, Page, expect

from environments import services
from environments.models import Job, SourceDocument, User
from tests.factories.environments import PASSWORD, UserFactory
from tests.factories.sources import PETS, guarded_document, leak_hit

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

AXE = Path(__file__).parent / "vendor" / "axe-core-4.14.1.min.js"
RUN_AXE = "() => axe.run().then((found) => found.violations.map((rule) => [rule.id, rule.impact, rule.nodes[0].html]))"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"
NO_TERMS = {"title": "Pet shelter", "version": "1.2"}

SignIn = Callable[[User], Page]


@pytest.fixture
def operator() -> User:
    return UserFactory.create(username="otto", role=User.Role.OPERATOR)


def run_jobs() -> None:
    """What a worker does: runs every queued job."""
    for job in Job.objects.filter(status=Job.Status.QUEUED):
        services.execute_job(job_code=job.code, send=lambda _code: True)


def pets_file(data: bytes | None = None) -> FilePayload:
    buffer = orjson.dumps(PETS) if data is None else data
    return {"name": "pets.json", "mimeType": "application/json", "buffer": buffer}


def log_in(page: Page, user: User) -> None:
    page.goto("/accounts/login/")
    page.get_by_label("Username").fill(user.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/")


class TestImport:
    def test_upload_is_read_by_its_job_and_leads_to_the_source(self, sign_in: SignIn, operator: User) -> None:
        page = sign_in(operator)
        page.expected_problems = ("422",)  # type: ignore[attr-defined]
        page.get_by_role("link", name="Sources", exact=True).first.click()
        page.get_by_role("link", name="Import source").click()

        page.get_by_label("File", exact=True).set_input_files(pets_file(b"no description"))
        page.get_by_role("button", name="Import the file").click()
        expect(page.locator("#upload .field-error")).to_contain_text("No reader knows this form")
        expect(page.get_by_label("File", exact=True)).to_be_focused()
        page.get_by_label("File", exact=True).set_input_files(pets_file())
        page.get_by_role("button", name="Import the file").click()
        expect(page).to_have_url(re.compile(r"/jobs/[0-9a-f-]{36}/$"))
        run_jobs()

        # The job's page follows by itself.
        page.get_by_role("link", name="Go to the source").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Pet shelter")
        expect(page.locator(".page-head .status")).to_contain_text("Usable")
        expect(page.locator("#operations .operation-table tbody tr")).to_have_count(3)

    def test_address_is_refused_at_its_field(self, sign_in: SignIn, operator: User) -> None:
        page = sign_in(operator)
        page.expected_problems = ("422",)  # type: ignore[attr-defined]
        page.goto("/sources/import/")

        page.get_by_label("Address", exact=True).fill("file:///etc/passwd")
        page.get_by_role("button", name="Import the address").click()

        expect(page.locator("#address .field-error")).to_contain_text("only http and https addresses are read")
        expect(page.get_by_label("Address", exact=True)).to_have_value("file:///etc/passwd")


class TestList:
    def test_is_narrowed_and_searched_without_a_new_page(self, sign_in: SignIn, operator: User) -> None:
        guarded_document()
        guarded_document("https://example.org/other.json", info={**NO_TERMS, "title": "Other"})
        page = sign_in(operator)
        page.goto("/sources/")
        rows = page.locator("#sources tbody:has(.row-link) tr")
        expect(rows).to_have_count(2)
        page.evaluate("window.isSamePage = true")

        page.locator(".facet").get_by_role("link", name="Says nothing").click()
        expect(rows).to_have_count(1)
        expect(page.locator(".funnel")).to_contain_text("n = 3 operations of 1 document")
        page.get_by_label("Title, provider or address").fill("nothing like it")
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_text("No source fits")).to_be_visible()
        expect(page).to_have_url(re.compile(r"terms=unknown.*q=nothing"))
        page.go_back()
        expect(rows).to_have_count(1)
        assert page.evaluate("window.isSamePage")


class TestSource:
    def test_operations_are_narrowed_by_the_funnel(self, sign_in: SignIn, operator: User) -> None:
        document = guarded_document()
        page = sign_in(operator)
        page.goto(f"/sources/{document.source.code}/")

        page.locator(".funnel").get_by_role("link", name="deprecated").click()
        rows = page.locator(".operation-table tbody tr")
        expect(rows).to_have_count(1)
        rows.get_by_role("link").first.click()

        expect(page.get_by_role("heading", level=1)).to_have_text("getPet")
        expect(page.get_by_text("Its source advises against it.")).to_be_visible()
        expect(page.locator("#definitions .panel")).to_contain_text("Pet")

    def test_hit_is_overruled_with_a_reason(self, sign_in: SignIn, operator: User) -> None:
        document = guarded_document(info=NO_TERMS)
        leak_hit(document)
        page = sign_in(operator)
        page.goto("/sources/")
        expect(page.get_by_role("cell", name="1 hit")).to_be_visible()
        page.get_by_role("link", name="Pet shelter").click()
        expect(page.locator(".page-head .status")).to_contain_text("Kept out")

        page.get_by_role("link", name="See the nearest neighbours").click()
        expect(page.get_by_role("row").filter(has_text="list_pets")).to_contain_text("0.75")
        page.get_by_label("Why this is no copy of the benchmark").fill("Every shelter lists its pets.")
        page.get_by_role("button", name="Overrule this hit").click()

        expect(page.get_by_text("Overruled by otto")).to_be_visible()
        expect(page.locator(".page-head .status")).to_contain_text("Usable here, not for export")
        page.get_by_role("link", name="See its terms, allow or refuse it").click()
        page.get_by_label("Reason", exact=True).first.fill("Its owner agrees.")
        page.get_by_role("button", name="Allow the document").click()
        expect(page.locator(".page-head .status")).to_have_text("Usable")
        expect(page.get_by_role("row").filter(has_text="otto").first).to_contain_text("Its owner agrees.")


class TestWithoutScripts:
    def test_everything_works(self, browser: Browser, console_server: str, operator: User) -> None:
        document = guarded_document(info=NO_TERMS)
        leak_hit(document)
        guarded_document("https://example.org/free.json")
        context = browser.new_context(base_url=console_server, java_script_enabled=False)
        page = context.new_page()
        log_in(page, operator)

        page.goto("/sources/")
        page.get_by_label("Title, provider or address").fill("shelter")
        page.get_by_role("button", name="Search").click()
        page.locator(".facet").get_by_role("link", name="Says nothing").click()
        expect(page.locator("#sources tbody:has(.row-link) tr")).to_have_count(1)
        page.get_by_role("link", name="Pet shelter").click()
        page.locator(".facet").get_by_role("link", name="Left out").click()
        expect(page.locator(".operation-table tbody tr")).to_have_count(1)
        page.get_by_role("link", name="Leak guard").click()
        page.get_by_label("Why this is no copy of the benchmark").fill("Every shelter lists its pets.")
        page.get_by_role("button", name="Overrule this hit").click()
        expect(page.get_by_text("Overruled by otto")).to_be_visible()
        page.get_by_role("button", name="Read again").click()
        run_jobs()
        page.reload()
        page.get_by_role("link", name="Go to the source").click()
        expect(page.locator(".page-head .status")).to_contain_text("Usable here")
        with page.expect_download() as download:
            page.get_by_role("link", name="Document").click()
        assert orjson.loads(download.value.path().read_bytes())["info"] == NO_TERMS
        context.close()


class TestEveryPage:
    @pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
    def test_is_accessible_fits_the_window_and_runs_nothing_of_a_document(
        self, browser: Browser, console_server: str, operator: User, width: int, scheme: Literal["light", "dark"]
    ) -> None:
        document = hostile_document()
        operation = document.operations.get(name="addPet")
        left_out = document.operations.get(name="getPet")
        context = browser.new_context(
            base_url=console_server, viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True
        )
        page = context.new_page()
        dialogs: list[str] = []

        def note(dialog: Dialog) -> None:
            dialogs.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", note)
        log_in(page, operator)
        source = f"/sources/{document.source.code}/"

        faults = {}
        for path in (
            *("/", "/sources/", "/sources/?q=nothing", "/sources/import/"),
            *(source, f"{source}?kept=no", f"{source}guard/", f"{source}terms/", f"{source}problems/"),
            *(f"{source}operations/{each.code}/" for each in (operation, left_out)),
        ):
            page.goto(path)
            page.add_script_tag(path=AXE)
            faults[path] = [each for each in page.evaluate(RUN_AXE) if each[1] in {"serious", "critical"}]
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                faults[path].append(["wider than the window"])

        assert {path: found for path, found in faults.items() if found} == {}
        assert dialogs == []
        context.close()


def hostile_document() -> SourceDocument:
    licence = {"name": HOSTILE, "url": "javascript:alert(1)"}
    document = guarded_document(
        f"https://example.org/{'long' * 60}.json",
        info={"title": HOSTILE, "version": HOSTILE, "description": HOSTILE * 20, "license": licence},
    )
    problems = [{"code": "reference_unresolved", "place": f"/paths/{'x' * 200}", "message": HOSTILE}]
    SourceDocument.objects.filter(pk=document.pk).update(problems=problems)
    leak_hit(document, benchmark=HOSTILE, evidence={"embedder": None, "neighbours": [["x" * 200, HOSTILE, 1.0]]})
    leak_hit(document, benchmark=HOSTILE, rule="schemas")
    return document
