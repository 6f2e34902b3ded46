"""A tool as a person tries it: with fields and as JSON, again in the same session, with and without scripts."""

import dataclasses
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from environments.models import EnvironmentSession, EnvironmentVersion, ToolCall, User
from environments.runtime.pack.model import Condition, Pack
from tests.factories.environments import PASSWORD, UserFactory
from tests.factories.little_pack import TEXT, object_schema, with_tool
from tests.factories.registry import finished_run, little_pack, shipped_version, unchecked_version

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

AXE = Path(__file__).parent / "vendor" / "axe-core-4.14.1.min.js"
RUN_AXE = "() => axe.run().then((found) => found.violations.map((rule) => [rule.id, rule.impact, rule.nodes[0].html]))"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"
NEVER = (Condition("never", "SELECT 0", "It never holds."),)

SignIn = Callable[[User], Page]


@pytest.fixture
def operator() -> User:
    return UserFactory.create(username="otto", role=User.Role.OPERATOR)


@pytest.fixture
def sign_in_elsewhere(browser: Browser, console_server: str) -> Iterator[Callable[..., Page]]:
    """Signs a person in, in a context with its own options."""
    contexts = []

    def open_page(user: User, **options: Any) -> Page:
        context = browser.new_context(base_url=console_server, **options)
        contexts.append(context)
        page = context.new_page()
        page.goto("/accounts/login/")
        page.get_by_label("Username").fill(user.username)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/")
        return page

    yield open_page
    for context in contexts:
        context.close()


def playable(pack: Pack | None = None) -> EnvironmentVersion:
    version = unchecked_version(pack or little_pack())
    assert version.move(EnvironmentVersion.Status.VERIFIED, reason="as the test needs it")
    return version


def address(version: EnvironmentVersion, tool: str) -> str:
    return f"/environments/{version.environment.name}/{version.number}/tools/{tool}/"


def result(page: Page) -> Locator:
    return page.locator(".try-result")


def call(page: Page, name: str) -> None:
    page.get_by_role("button", name=re.compile(f"^(Call {name}|Try again in this session)")).last.click()


def test_success_rejection_and_invalid_call_in_one_session(sign_in: SignIn, operator: User) -> None:
    page = sign_in(operator)
    version = playable()
    page.goto(f"/environments/library/{version.number}/")
    page.get_by_role("link", name="lend", exact=True).click()
    page.evaluate("window.isSamePage = true")
    page.get_by_label("New session from").select_option("small")
    page.get_by_label("member_id").fill("1")
    page.get_by_label("book_id").fill("bk-1")
    page.get_by_label("note").fill("first\nsecond")

    call(page, "lend")

    expect(result(page).get_by_text("success", exact=True)).to_be_visible()
    books = page.get_by_role("region", name="Changed rows: books")
    expect(books.locator("tbody")).to_contain_text("copies")
    expect(books.locator("del")).to_have_text("2")
    expect(books.locator("ins")).to_have_text("1")
    expect(page.get_by_role("region", name="Changed rows: loans").locator("tbody")).to_contain_text("first\nsecond")
    expect(result(page).locator('[data-state="held"]')).to_have_count(4)
    expect(page).to_have_url(re.compile(r"\?session=[0-9a-f-]{36}&step=0"))
    expect(page.get_by_label("note")).to_have_value("first\nsecond")

    call(page, "lend")
    expect(books.locator("ins")).to_have_text("0")
    call(page, "lend")
    expect(result(page).get_by_text("rejected", exact=True)).to_be_visible()
    expect(result(page).get_by_text("this decided it")).to_be_visible()
    expect(result(page).locator('[data-state="failed"]')).to_contain_text("no_copies")
    expect(result(page).get_by_text("None: whatever is no success is undone.")).to_be_visible()

    page.get_by_label("member_id").fill("one")
    call(page, "lend")
    expect(result(page).get_by_text("invalid", exact=True)).to_be_visible()
    member = page.get_by_label("member_id")
    expect(member).to_have_value("one")
    expect(member).to_be_focused()
    expect(page.locator(f"#{member.get_attribute('id')}-error")).to_contain_text("integer")
    assert page.evaluate("window.isSamePage") is True

    session = EnvironmentSession.objects.get()
    assert [each.status for each in session.transcript] == ["success", "success", "rejection", "invalid"]
    page.reload()
    expect(result(page).get_by_text("invalid", exact=True)).to_be_visible()
    page.get_by_role("link", name="3 in the replay").click()
    expect(page).to_have_url(re.compile(f"/sessions/{session.code}/"))


def test_start_over_and_a_new_session(sign_in: SignIn, operator: User) -> None:
    page = sign_in(operator)
    version = playable()
    page.goto(address(version, "draw"))
    call(page, "draw")
    expect(result(page).get_by_text("success", exact=True)).to_be_visible()

    page.get_by_role("button", name="Start over").click()
    expect(page.get_by_text("after 0 calls")).to_be_visible()
    call(page, "draw")
    expect(page.get_by_text("after 1 call")).to_be_visible()
    page.get_by_role("link", name="Use a new one").click()
    expect(page.get_by_label("New session from")).to_be_visible()

    assert EnvironmentSession.objects.get().episode == 1


def test_failure_says_why_to_people(sign_in: SignIn, operator: User) -> None:
    page = sign_in(operator)
    version = playable(with_tool("def act(ctx):\n    return {}", postconditions=NEVER))
    page.goto(address(version, "act"))

    call(page, "act")

    expect(result(page).get_by_text("failed", exact=True)).to_be_visible()
    expect(result(page).get_by_text("Why it failed: postcondition.")).to_be_visible()
    expect(result(page).locator('[data-state="failed"]')).to_contain_text("It never holds.")
    expect(result(page).locator(".observation")).to_contain_text("internal_error")


def test_rows_fields_and_json(sign_in: SignIn, operator: User) -> None:
    page = sign_in(operator)
    page.expected_problems = ("422",)  # type: ignore[attr-defined]
    version = shipped_version()
    page.goto(address(version, "open_request"))
    page.get_by_label("institution").fill("Kew")
    page.get_by_label("contact").fill("seeds@kew.example")
    page.get_by_label("purpose").fill("Research on germination")

    page.get_by_role("button", name="Add a row to items").click()
    expect(page.get_by_label("species_code")).to_be_focused()
    page.keyboard.type("CENCYA")
    page.get_by_label("num_seeds").fill("50")
    page.get_by_role("button", name="Add a row to items").click()
    expect(page.get_by_label("species_code")).to_have_count(2)
    page.get_by_role("button", name="Remove row 2").click()
    expect(page.get_by_label("species_code")).to_have_count(1)

    page.get_by_role("button", name="Edit as JSON").click()
    raw = page.get_by_label("Arguments as JSON")
    expect(raw).to_have_value(re.compile('"species_code": "CENCYA"'))
    raw.fill("{")
    page.get_by_role("button", name="Edit as fields").click()
    expect(page.get_by_role("alert")).to_contain_text("This is not JSON")
    raw.fill('{"institution": "Kew", "contact": "a@b.example", "purpose": "Study", "items": []}')
    page.get_by_role("button", name="Edit as fields").click()
    expect(page.get_by_label("species_code")).to_have_count(0)
    expect(page.get_by_label("contact")).to_have_value("a@b.example")
    page.get_by_label("purpose").press("Control+Enter")
    expect(result(page).get_by_text("invalid", exact=True)).to_be_visible()

    assert ToolCall.objects.get().arguments["items"] == []


def test_enter_in_a_field_calls_the_tool_and_no_other_button(sign_in: SignIn, operator: User) -> None:
    page = sign_in(operator)
    page.goto(address(shipped_version(), "get_species"))

    page.get_by_label("species_code").fill("AAAAAA")
    page.get_by_label("species_code").press("Enter")

    expect(result(page).get_by_text("rejected", exact=True)).to_be_visible()


def test_case_fills_the_form(sign_in: SignIn, operator: User) -> None:
    page = sign_in(operator)
    version = shipped_version()
    finished_run(version)
    page.goto(address(version, "open_request"))
    page.get_by_text("Use the arguments of one of").click()
    page.get_by_role("link", name="open_request_two_species").first.click()

    expect(page.get_by_label("institution")).not_to_have_value("")
    call(page, "open_request")

    expect(result(page).get_by_text("success", exact=True)).to_be_visible()
    expect(page.get_by_role("region", name="Changed rows: request_items").locator("tbody")).to_have_count(2)


def test_all_of_it_works_without_scripts(sign_in_elsewhere: Callable[..., Page], operator: User) -> None:
    page = sign_in_elsewhere(operator, java_script_enabled=False)
    page.goto(address(shipped_version(), "open_request"))
    page.get_by_label("institution").fill("Kew")
    page.get_by_label("contact").fill("seeds@kew.example")
    page.get_by_label("purpose").fill("Research on germination")
    page.get_by_role("button", name="Add a row to items").click()
    page.get_by_label("species_code").fill("CENCYA")
    page.get_by_label("num_seeds").fill("fifty")
    call(page, "open_request")
    expect(result(page).get_by_text("invalid", exact=True)).to_be_visible()
    page.get_by_label("num_seeds").fill("50")
    call(page, "open_request")

    expect(result(page).get_by_text("success", exact=True)).to_be_visible()
    expect(page.get_by_role("region", name="Changed rows: requests")).to_contain_text("Kew")
    assert EnvironmentSession.objects.get().num_calls == 2


def test_hostile_content_is_text(sign_in: SignIn, operator: User) -> None:
    page = sign_in(operator)  # its fixture fails on whatever the browser logs or runs
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    inputs = object_schema((), word={**TEXT, "description": HOSTILE})
    pack = with_tool(f"def act(ctx, *, word=None):\n    return {{'said': {HOSTILE!r}, 'word': word}}", inputs=inputs)
    tool = dataclasses.replace(pack.tools[-1], title=HOSTILE, description=HOSTILE)
    version = playable(dataclasses.replace(pack, tools=(*pack.tools[:-1], tool)))
    page.goto(address(version, "act"))
    page.get_by_label("word").fill(HOSTILE)

    call(page, "act")

    expect(result(page).locator(".observation")).to_contain_text(HOSTILE)
    assert page.locator("main img, main script").count() == 0


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_page_has_no_fault_for_axe_and_fits_the_window(
    sign_in_elsewhere: Callable[..., Page], operator: User, width: int, scheme: str
) -> None:
    # axe writes inline styles of its own, so this page alone goes without the policy.
    page = sign_in_elsewhere(operator, viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True)
    version = shipped_version()
    finished_run(version, effects={"open_request": {"is_destructive": False, "is_idempotent": True}})
    draft = unchecked_version(little_pack())
    faults = {}

    def check(name: str) -> None:
        page.add_script_tag(path=AXE)
        faults[name] = page.evaluate(RUN_AXE)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            faults[name].append("wider than the window")

    page.goto(address(draft, "lend"))
    check("draft")
    page.goto(address(version, "open_request"))
    page.get_by_role("button", name="Add a row to items").click()
    expect(page.get_by_label("species_code")).to_be_visible()
    check("form")
    call(page, "open_request")
    expect(result(page).get_by_text("invalid", exact=True)).to_be_visible()
    check("invalid")
    page.goto(f"{address(version, 'open_request')}?case=open_request_two_species")
    call(page, "open_request")
    expect(result(page).get_by_text("success", exact=True)).to_be_visible()
    check("success")

    assert {name: found for name, found in faults.items() if found} == {}
