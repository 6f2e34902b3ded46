"""The compiler as a person meets it: started at the sources, followed, and read operation by operation."""

import re
from collections.abc import Callable
from typing import Literal

import orjson
import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from environments import services
from environments.adapters.pack_verification import Verified
from environments.core.sources.model import Fetched
from environments.models import Compilation, Job, SourceDocument, User
from environments.services.compilation import Scope, compile_environments
from environments.services.source_imports import DOCUMENTS
from tests.e2e.test_sources import AXE, HOSTILE, RUN_AXE, log_in
from tests.factories.environments import UserFactory

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

SignIn = Callable[[User], Page]
ENVIRONMENT = "rbaskets_in_baskets"
COMPILED = f"/environments/{ENVIRONMENT}/1/compiled/"


@pytest.fixture
def operator() -> User:
    return UserFactory.create(username="otto", role=User.Role.OPERATOR)


@pytest.fixture
def document() -> SourceDocument:
    return services.import_shipped_document(name="rbaskets.in")


def run_jobs() -> None:
    """What workers do: runs jobs, and those that they give work to, until none is left."""
    while queued := list(Job.objects.filter(status=Job.Status.QUEUED).order_by("pk")):
        for job in queued:
            services.execute_job(job_code=job.code, send=lambda _code: True)


def compile_at_sources(page: Page) -> None:
    """From the list of sources to the page of the compilation that a person started there."""
    page.goto("/sources/")
    page.get_by_role("button", name=re.compile(r"Compile \d+ operations")).click()
    expect(page).to_have_url(re.compile(r"/jobs/[0-9a-f-]{36}/$"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Compile environments")


class TestFromSourcesToTool:
    def test_is_followed_and_says_what_became_of_every_operation(
        self, sign_in: SignIn, operator: User, document: SourceDocument
    ) -> None:
        page = sign_in(operator)
        compile_at_sources(page)
        parent = Job.objects.get(kind="compile_environments")
        services.execute_job(job_code=parent.code, send=lambda _code: True)
        # The job's page follows by itself, and so does the compilation's link to its job.
        expect(page.get_by_text("Compile documents of a provider").first).to_be_visible()
        compilation = Compilation.objects.get()
        page.goto(f"/compilations/{compilation.code}/")
        expect(page.get_by_text("It is still running")).to_be_visible()
        page.get_by_role("link", name="Follow its job").click()
        run_jobs()
        page.get_by_role("link", name="Go to the compilation").click()

        compilation.refresh_from_db()
        counted = compilation.to_core()
        expect(page.locator(".page-head .status")).to_have_text(re.compile("Finished"))
        funnel = page.locator(".compilation-figures .funnel").first
        expect(funnel).to_contain_text(f"n = {document.num_kept} operations of 1 document")
        expect(funnel.get_by_role("row").filter(has_text=re.compile(r"^\s*Tools"))).to_contain_text(str(counted.tools))
        reasons = page.locator(".reason-table tbody tr")
        expect(reasons).to_have_count(len(counted.reasons))
        assert counted.tools + sum(each.num for each in counted.reasons) == document.num_kept
        for place, each in enumerate(counted.reasons):
            expect(reasons.nth(place).get_by_role("cell").first).to_have_text(str(each.num))
        reasons.first.get_by_role("link").first.click()
        expect(page.locator("#operations tbody tr")).to_have_count(counted.reasons[0].num)
        expect(page.locator(".facet [aria-current='true']").first).to_be_visible()

    def test_tool_stands_beside_its_operation(self, sign_in: SignIn, operator: User, document: SourceDocument) -> None:
        page = sign_in(operator)
        compile_at_sources(page)
        run_jobs()
        page.goto("/compilations/")
        page.locator("#compilations .row-link").first.click()

        page.locator("#environments").get_by_role("link", name=ENVIRONMENT).click()
        expect(page.get_by_role("link", name="Compiled", exact=True)).to_have_attribute("aria-current", "page")
        kept = page.locator(".kept-table tbody tr")
        expect(kept.filter(has_text="replace_basket")).to_contain_text("PUT /api/baskets/{name}")
        left_out = page.locator("#left-out tbody tr")
        expect(left_out.filter(has_text="GET /api/stats")).to_have_count(1)
        kept.get_by_role("link", name="replace_basket").click()
        expect(page.get_by_label("The source", exact=True)).to_contain_text("PUT /api/baskets/{name}")
        tool = page.get_by_label("The tool", exact=True)
        expect(tool.get_by_role("region", name="Code of the tool")).to_contain_text("def replace_basket(")
        expect(tool.get_by_role("table", name="Arguments")).to_contain_text("name")
        page.get_by_role("link", name="Next").click()
        expect(page.get_by_role("heading", level=1)).not_to_have_text("Replace basket")


class TestWithoutScripts:
    def test_everything_works_on_a_phone(
        self, browser: Browser, console_server: str, operator: User, document: SourceDocument
    ) -> None:
        context = browser.new_context(
            base_url=console_server, java_script_enabled=False, viewport={"width": 390, "height": 844}
        )
        page = context.new_page()
        log_in(page, operator)

        compile_at_sources(page)
        run_jobs()
        page.reload()
        page.get_by_role("link", name="Go to the compilation").click()
        expect(page.locator(".reason-table tbody tr").first).to_be_visible()
        page.get_by_role("link", name=re.compile("Every operation")).click()
        page.get_by_label("Path, tool, table or words of the reason").fill("stats")
        page.get_by_role("button", name="Search").click()
        expect(page.locator("#operations tbody tr")).to_have_count(1)
        page.goto(COMPILED)
        page.locator(".reason-choices a").first.click()
        expect(page.locator(".reason-choices [aria-current='true']")).to_have_count(1)
        page.locator(".kept-table .row-link").first.click()
        expect(page.get_by_label("The tool", exact=True)).to_be_visible()
        context.close()


class TestEveryPage:
    @pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
    def test_is_accessible_fits_the_window_and_runs_nothing_of_a_document(
        self, browser: Browser, console_server: str, operator: User, width: int, scheme: Literal["light", "dark"]
    ) -> None:
        compilation = hostile_compilation()
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
        own = f"/compilations/{compilation.code}/"

        faults = {}
        for path in (
            *("/sources/", "/compilations/", own, f"{own}?q=nothing", f"{own}operations/", f"{own}operations/?q=none"),
            *(COMPILED, f"{COMPILED}replace_basket/", f"{COMPILED}list_basket_keys/"),
        ):
            page.goto(path)
            expect(page.locator("main h1")).to_be_visible()
            page.add_script_tag(path=AXE)
            faults[path] = [each for each in page.evaluate(RUN_AXE) if each[1] in {"serious", "critical"}]
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                faults[path].append(["wider than the window"])

        assert {path: found for path, found in faults.items() if found} == {}
        assert dialogs == []
        context.close()


def hostile_compilation() -> Compilation:
    """Of a document whose every text is an attempt; nothing is run."""
    content = orjson.loads((DOCUMENTS / "rbaskets.in.json").read_bytes())
    content["info"]["title"] = content["info"]["version"] = HOSTILE
    for item in content["paths"].values():
        for operation in item.values():
            if isinstance(operation, dict):
                operation["summary"] = operation["description"] = HOSTILE
    fetched = Fetched("https://example.org/baskets.json", orjson.dumps(content), "application/json")
    services.import_fetched(fetched=fetched)
    return compile_environments(scope=Scope(), prove=lambda pack: Verified((), pack=pack))
