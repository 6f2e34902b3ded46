"""The pages of environments: list, import, and the sections of a version."""

import dataclasses
import html
import io
import re
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from environments import services
from environments.core.errors import SandboxFailedError
from environments.management.registry_rows import make_environments
from environments.models import (
    Decision,
    Environment,
    EnvironmentSession,
    EnvironmentVersion,
    Job,
    User,
)
from environments.runtime.pack import zip_pack
from environments.runtime.pack.model import Scenario
from environments.views.registry_page import is_web_address
from tests.factories.environments import JobFactory
from tests.factories.little_pack import ROWS, TOOL_LIST
from tests.factories.registry import finished_run, little_pack, little_version, shipped_version

pytestmark = pytest.mark.django_db

PARTIAL = {"HX-Request": "true", "HX-Request-Type": "partial"}
Status = EnvironmentVersion.Status
HOSTILE = "<script>alert(1)</script>"
SECTIONS = (
    "version_detail", "version_tables", "version_scenarios", "version_verification", "version_history",
    "version_sources",
)  # fmt: skip


def text(response: Any) -> str:
    return str(response.content.decode())


def words(response: Any) -> str:
    """What a person reads: no tags, entities as characters, spaces as one."""
    body = text(response).split("<main", 1)[-1].split('<div id="toasts"')[0]
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", body)))


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page(version: EnvironmentVersion, name: str = "version_detail", *arguments: Any) -> str:
    return reverse(name, args=[version.environment.name, version.number, *arguments])


def verified(**changes: Any) -> EnvironmentVersion:
    version = little_version(**changes)
    assert version.move(Status.VERIFIED, reason="as the test needs it")
    return version


def decide(version: EnvironmentVersion, user: User, verdict: str, **options: Any) -> Decision:
    return services.decide_version(version=version, verdict=Decision.Verdict(verdict), user=user, **options)


class TestList:
    def test_shows_each_environment_by_its_newest_version(self, operator_client: Client) -> None:
        version = verified()
        finished_run(version, num_cases=1, num_cases_held=1)
        newer = little_version(title="Library of today")

        shown = words(operator_client.get("/environments/"))

        assert newer.number == 2
        assert "library version 2 Library of today · lending" in shown
        assert "Draft" in shown
        assert "— of 1" in shown  # the run was of version 1
        assert "CC0-1.0" in shown
        assert "1 of 1" in shown

    def test_counts_tools_by_effect_and_cases_of_the_last_run(self, operator_client: Client) -> None:
        version = verified()
        finished_run(version, outcome="failed", num_cases=1, num_cases_held=0)
        finished_run(version, num_cases=1, num_cases_held=1)
        reads = sum(tool.effect == "read" for tool in TOOL_LIST)

        shown = words(operator_client.get("/environments/"))

        assert f"{len(TOOL_LIST)} {reads}, {len(TOOL_LIST) - reads}" in shown
        assert "1 of 1 CC0-1.0" in shown

    def test_sends_only_its_region_when_htmx_asks(self, operator_client: Client) -> None:
        little_version()

        response = operator_client.get("/environments/", headers=PARTIAL)

        assert text(response).strip().startswith('<section class="region" id="environments"')
        assert "<html" not in text(response)
        assert response["Vary"].count("HX-Request-Type") == 1

    def test_facets_count_what_each_choice_would_leave(self, operator_client: Client, operator: User) -> None:
        lending = verified()
        verified(name="sailing", domain="boats")
        little_version(name="flying", domain="planes")
        decide(lending, operator, "approve")

        shown = words(operator_client.get("/environments/?status=verified"))

        assert "Status Any 3 Draft 1 Verified 2" in shown
        assert "Approval Any 2 Approved 1 Not decided 1" in shown
        assert "Domain Any 2 boats 1 lending 1" in shown
        assert "planes" not in shown

    @pytest.mark.parametrize(
        ("query", "names"),
        [
            ("?status=draft", ["flying"]),
            ("?domain=boats", ["sailing"]),
            ("?approval=approve", ["library"]),
            ("?approval=none", ["flying", "sailing"]),
            ("?origin=uploaded&status=verified", ["library", "sailing"]),
            ("?origin=shipped", []),
            ("?q=boats", ["sailing"]),
            ("?q=draw+library", ["library"]),
            ("?sort=-name", ["sailing", "library", "flying"]),
            ("?sort=domain", ["sailing", "library", "flying"]),
        ],
    )
    def test_address_says_which_rows_and_in_which_order(
        self, operator_client: Client, operator: User, query: str, names: list[str]
    ) -> None:
        library = verified()
        verified(name="sailing", title="Sailing", domain="boats", description="Boats", tools=library_tools("sail"))
        little_version(name="flying", title="Flying", domain="planes", description="Planes", tools=library_tools("fly"))
        decide(library, operator, "approve")

        response = operator_client.get(f"/environments/{query}")

        found = [line.environment.name for line in response.context["lines"]]
        assert found == names
        if names:
            assert f"{len(names)} of {len(names)}" in words(response)
        else:
            assert "No environment fits" in words(response)

    def test_links_of_facets_keep_the_rest_of_the_address(self, operator_client: Client) -> None:
        verified()
        little_version(name="flying")

        shown = html.unescape(text(operator_client.get("/environments/?q=l&sort=-name&page=1")))

        assert 'href="?q=l&sort=-name&status=draft"' in shown
        assert 'hx-get="?q=l&sort=-name&status=draft"' in shown

    def test_numbers_its_pages_and_says_which_rows_they_show(self, operator_client: Client, operator: User) -> None:
        make_environments(count=120, user=operator)

        second = operator_client.get("/environments/?page=2&sort=-name")

        assert "51–100 of 121" in words(second)  # noqa: RUF001 - a range is written with an en dash
        assert "?page=3&amp;sort=-name" in text(second)
        names = sorted(Environment.objects.values_list("name", flat=True), reverse=True)
        assert [line.environment.name for line in second.context["lines"]] == names[50:100]

    @pytest.mark.parametrize(
        "query", ["?status=nonsense", "?sort=nonsense", "?page=nonsense", "?q=%00", "?domain=%F0%9F%8E%BB", "?q=%25_"]
    )
    def test_stays_up_when_the_address_is_nonsense(self, operator_client: Client, query: str) -> None:
        little_version()

        assert operator_client.get(f"/environments/{query}").status_code == 200

    def test_tells_how_to_fill_it_when_empty(self, operator_client: Client) -> None:
        shown = text(operator_client.get("/environments/"))

        assert "The registry is empty" in shown
        assert "/jobs/new/?kind=install_packs" in shown

    def test_tells_a_viewer_who_fills_it_when_empty(self, viewer: User) -> None:
        shown = text(sign_in(viewer).get("/environments/"))

        assert "An operator or an admin can install" in shown
        assert "Import pack" not in shown
        assert "install_packs" not in shown

    def test_search_of_the_top_bar_keeps_the_words(self, operator_client: Client) -> None:
        shown = text(operator_client.get("/environments/?q=seed"))

        assert '<form class="search" action="/search/"' in shown
        assert 'name="q" value="seed"' in shown

    def test_costs_as_many_queries_for_many_rows_as_for_few(
        self, operator_client: Client, operator: User, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        make_environments(count=60, user=operator)

        with django_assert_max_num_queries(7):
            operator_client.get("/environments/")


def library_tools(name: str) -> Any:
    """The library's tools with its first renamed; the case that ships with the pack is of another."""
    kept = next(tool for tool in TOOL_LIST if tool.name == "draw")
    return (kept, dataclasses.replace(kept, name=name))


class TestImport:
    def upload(self, client: Client, data: bytes) -> Any:
        return client.post("/environments/import/", {"pack": SimpleUploadedFile("pack.zip", data)})

    def test_leads_to_the_new_version_in_quarantine(self, operator_client: Client, operator: User) -> None:
        response = self.upload(operator_client, zip_pack(little_pack()))

        version = EnvironmentVersion.objects.get()
        assert response.status_code == 303
        assert response["Location"] == "/environments/library/1/"
        assert (version.created_by, version.status, version.origin) == (operator, "draft", "uploaded")
        assert "It is in quarantine until verified" in text(operator_client.get(response["Location"]))

    def test_leads_to_the_old_version_when_the_content_is_known(self, operator_client: Client) -> None:
        version = little_version()

        response = self.upload(operator_client, zip_pack(little_pack()))

        assert response["Location"] == page(version)
        assert "nothing was added" in text(operator_client.get(response["Location"]))
        assert EnvironmentVersion.objects.count() == 1

    def test_lists_every_fault_by_place_when_the_pack_is_wrong(self, operator_client: Client) -> None:
        wrong = little_pack(title="", clock_start="yesterday", description="d" * 5000)

        response = self.upload(operator_client, zip_pack(wrong))

        shown = words(response)
        assert response.status_code == 422
        assert "The pack has 3 faults; nothing was stored" in shown
        for place, code, remedy in (
            ("title", "text_empty", "Write the text;"),
            ("clock_start", "time_form", "Write the time as YYYY-MM-DDTHH:MM:SSZ"),
            ("description", "text_length", "Shorten the text."),
        ):
            assert place in shown
            assert code in shown
            assert remedy in shown
        assert not EnvironmentVersion.objects.exists()

    def test_shows_what_a_hostile_pack_says_as_text(self, operator_client: Client) -> None:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("environment.json", '{"format": "<script>alert(1)</script>"}')
            archive.writestr("schema.sql", "")
            archive.writestr("tools.py", "")

        response = self.upload(operator_client, buffer.getvalue())

        assert response.status_code == 422
        assert HOSTILE not in text(response)

    @pytest.mark.parametrize(
        ("data", "said"), [(b"", "The submitted file is empty"), (b"no zip at all" * 9, "does not end with a zip")]
    )
    def test_says_what_is_wrong_when_the_file_is_no_zip(self, operator_client: Client, data: bytes, said: str) -> None:
        response = self.upload(operator_client, data)

        assert response.status_code == 422
        assert said in words(response)

    def test_refuses_a_large_file_before_it_is_read(
        self, operator_client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("environments.forms.MAX_ZIP_BYTES", 1 << 20)

        response = self.upload(operator_client, b"0" * ((1 << 20) + 1))

        assert response.status_code == 422
        assert "larger than 1 MiB" in words(response)

    def test_says_which_file_is_missing_when_none_is_sent(self, operator_client: Client) -> None:
        response = operator_client.post("/environments/import/", {})

        assert response.status_code == 422
        assert "This field is required" in words(response)

    def test_names_the_packs_that_ship(self, operator_client: Client) -> None:
        shown = words(operator_client.get("/environments/import/"))

        assert "repair_cafe, seed_bank, tide_gauges" in shown
        assert "Install 3 reference packs" in shown

    @pytest.mark.parametrize("role", ["viewer", "reviewer"])
    def test_is_closed_to_people_who_run_no_jobs(self, role: str, request: pytest.FixtureRequest) -> None:
        client = sign_in(request.getfixturevalue(role))

        assert client.get("/environments/import/").status_code == 403
        assert self.upload(client, zip_pack(little_pack())).status_code == 403
        assert not EnvironmentVersion.objects.exists()


class TestVersion:
    @pytest.mark.parametrize("section", SECTIONS)
    def test_every_section_has_head_facts_and_its_tab(
        self, operator_client: Client, viewer: User, section: str
    ) -> None:
        version = verified()

        response = operator_client.get(page(version, section))

        shown = words(response)
        assert response.status_code == 200
        assert f"{version.content_sha256[:8]} Domain lending Licence CC0-1.0" in shown
        assert text(response).count('aria-current="page"') >= 2
        assert sign_in(viewer).get(page(version, section)).status_code == 200

    def test_name_alone_shows_the_newest_version(self, operator_client: Client) -> None:
        verified()
        little_version(title="Library of today")

        shown = words(operator_client.get("/environments/library/"))

        assert "Library of today" in shown
        assert "Version 2 · 1" in shown

    def test_older_version_points_to_the_newest(self, operator_client: Client) -> None:
        old = verified()
        little_version(title="Library of today")

        assert "There is a newer version, 2." in words(operator_client.get(page(old)))

    @pytest.mark.parametrize(
        "address",
        [
            "/environments/nowhere/", "/environments/library/2/", "/environments/library/99999999999999999999/",
            "/environments/library/1/tables/nothing/", "/environments/library/1/code/secret.py/",
            "/environments/library/1/verification/?run=99999999999999999999",
        ],
    )  # fmt: skip
    def test_answers_404_and_no_error_when_there_is_no_such_thing(self, operator_client: Client, address: str) -> None:
        little_version()

        assert operator_client.get(address).status_code == (200 if "run=" in address else 404)

    @pytest.mark.parametrize("section", SECTIONS)
    def test_asks_as_often_for_a_large_version_as_for_a_small_one(self, operator_client: Client, section: str) -> None:
        small, large = verified(), shipped_version()
        counts = []
        for version in (small, large):
            finished_run(version)
            operator_client.get(page(version, section))
            with CaptureQueriesContext(
                connection,
            ) as asked:
                operator_client.get(page(version, section))
            counts.append(len(asked))

        assert counts[0] == counts[1] <= 16


class TestMainAction:
    def action(self, user: User, version: EnvironmentVersion) -> str:
        shown = text(sign_in(user).get(page(version)))
        found = re.search(r'class="btn btn-primary".*?</(?:button|a)>', shown, re.DOTALL)
        return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", found.group().split(">", 1)[1])).strip() if found else ""

    def test_is_the_next_step_of_the_person(self, viewer: User, reviewer: User, operator: User) -> None:
        version = little_version()
        num = version.num_tools
        assert [self.action(user, version) for user in (viewer, reviewer, operator)] == ["", "", f"Verify {num} tools"]

        assert version.move(Status.VERIFIED)
        assert [self.action(user, version) for user in (viewer, reviewer, operator)] == ["", "Approve", "Approve"]

        decide(version, reviewer, "approve")
        assert [self.action(user, version) for user in (viewer, reviewer, operator)] == [
            "", "Open a session", "Open a session",
        ]  # fmt: skip

        decide(version, reviewer, "retire", reason_codes=["licence"])
        assert [self.action(user, version) for user in (viewer, reviewer, operator)] == ["", "", ""]

    def test_follows_the_verification_that_is_at_work(self, operator: User) -> None:
        version = little_version()
        verification_job(version)

        assert self.action(operator, version) == "Follow the verification"

    def test_draft_says_that_it_is_in_quarantine(self, operator_client: Client) -> None:
        assert "In quarantine until verified" in words(operator_client.get(page(little_version())))

    def test_rejected_version_says_who_and_why(self, operator_client: Client, reviewer: User) -> None:
        version = verified()
        decide(version, reviewer, "reject", reason_codes=["leak"], note="It is <b>copied</b>.")

        response = operator_client.get(page(version))

        assert "In quarantine: rejected by rosa." in words(response)
        assert "It is <b>copied</b>." in words(response)
        assert "<b>copied</b>" not in text(response)


class TestTools:
    def test_shows_arguments_conditions_and_cases(self, operator_client: Client) -> None:
        version = verified()
        finished_run(version, num_cases=1, num_cases_held=1)

        response = operator_client.get(page(version))

        lines = {line.tool.name: line for line in response.context["lines"]}
        assert (lines["draw"].num_cases, lines["draw"].num_held) == (1, 1)
        assert set(lines) == {tool.name for tool in TOOL_LIST}
        assert f"{len(TOOL_LIST)} of {len(TOOL_LIST)}" in words(response)

    def test_marks_a_tool_whose_case_does_not_hold(self, operator_client: Client) -> None:
        version = verified()
        finished_run(version, outcome="failed", num_cases=1)

        assert "✗ 0 of 1" in words(operator_client.get(page(version)))

    def test_is_narrowed_by_effect_and_audience(self, operator_client: Client) -> None:
        version = verified()
        writes = {tool.name for tool in TOOL_LIST if tool.effect == "write"}

        response = operator_client.get(page(version) + "?effect=write", headers=PARTIAL)

        assert {line.tool.name for line in response.context["lines"]} == writes
        assert text(response).strip().startswith('<section class="region" id="tools"')
        assert f"{len(writes)} of {len(TOOL_LIST)}" in words(response)
        assert "No tool fits" in words(operator_client.get(page(version) + "?audience=nobody"))

    def test_leads_to_the_page_of_each_tool(self, operator_client: Client) -> None:
        assert 'href="/environments/library/1/tools/draw/"' in text(operator_client.get(page(verified())))


class TestTables:
    def test_lists_tables_with_keys_and_the_rows_of_a_scenario(self, operator_client: Client) -> None:
        version = shipped_version()

        response = operator_client.get(page(version, "version_tables") + "?scenario=simple")

        lines = {line.table.name: line for line in response.context["lines"]}
        assert lines["accessions"].info.primary_key == ("accession_id",)
        assert {key.table for key in lines["accessions"].info.foreign_keys} == {"species", "sites"}
        assert lines["species"].num_rows == 2

    def test_shows_columns_as_the_worker_describes_them(self, operator_client: Client) -> None:
        response = operator_client.get(page(shipped_version(), "version_table", "accessions"))

        shown = words(response)
        assert "accession_id TEXT primary key exempt id Code of the accession." in shown
        assert "site_id INTEGER → sites.site_id by its row" in shown
        assert "moisture_percent REAL or null" in shown

    def test_shows_no_types_but_all_meanings_while_in_quarantine(self, operator_client: Client) -> None:
        version = shipped_version(status="draft")

        shown = words(operator_client.get(page(version, "version_table", "accessions")))

        assert "read by a worker once the version is verified" in shown
        assert "Code of the accession." in shown
        assert "primary key" not in shown

    def test_says_so_when_no_worker_can_be_had(self, operator_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(**_: Any) -> None:
            raise SandboxFailedError("sandbox_unavailable: no seccomp here")

        monkeypatch.setattr(services, "describe_tables", refuse)

        response = operator_client.get(page(verified(), "version_table", "members"))

        assert response.status_code == 200
        assert "no seccomp here" in words(response)

    def test_shows_the_rows_of_the_chosen_scenario_by_page(self, operator_client: Client) -> None:
        rows: dict[str, Any] = {**ROWS, "members": tuple({**ROWS["members"][0], **member} for member in members(60))}
        many = Scenario("many", "complex", "2026-03-02T09:00:00Z", 5, rows)
        version = little_version(scenarios=(*little_pack().scenarios, many))

        first = operator_client.get(page(version, "version_table", "members") + "?scenario=many")
        second = operator_client.get(page(version, "version_table", "members") + "?scenario=many&page=2")

        assert "1–50 of 60" in words(first)  # noqa: RUF001
        assert "51–60 of 60" in words(second)  # noqa: RUF001
        assert len(second.context["cells"]) == 10
        empty = operator_client.get(page(version, "version_table", "members") + "?scenario=empty", headers=PARTIAL)
        assert "the table members is empty" in words(empty)
        assert text(empty).strip().startswith('<section class="region" id="table-rows"')

    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            (HOSTILE, "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("a\0b\x1b[31mc", "a␀b␛[31mc"),
            ("right\u202eleft", "right\\u202eleft"),
            ("two\nlines", "two\nlines"),
        ],
    )
    def test_shows_hostile_rows_as_text(self, operator_client: Client, value: str, shown: str) -> None:
        rows: dict[str, Any] = {**ROWS, "members": ({**ROWS["members"][0], "name": value},)}
        scenario = Scenario("small", "boundary", "2026-03-02T09:00:00Z", 5, rows)
        version = little_version(scenarios=(scenario,))

        answer = text(operator_client.get(page(version, "version_table", "members")))

        assert shown in answer
        assert value == "two\nlines" or value not in answer
        assert "1 of 1" in words(operator_client.get(page(version, "version_table", "members")))
        assert operator_client.get(page(version, "version_tables")).status_code == 200
        assert operator_client.get(page(version, "version_scenarios")).status_code == 200


def members(count: int) -> list[dict[str, Any]]:
    """Keys of that many members, in key order."""
    key = next(iter(ROWS["members"][0]))
    kind = type(ROWS["members"][0][key])
    return [{key: kind(f"{place:05}") if kind is str else place} for place in range(1000, 1000 + count)]


class TestScenarios:
    def test_lists_level_seed_and_rows_by_table(self, operator_client: Client) -> None:
        response = operator_client.get(page(shipped_version(), "version_scenarios"))

        shown = words(response)
        assert "simple Simple 2026-03-02T09:00:00Z 31 5 accessions 1, sites 1, species 2, vaults 1" in shown
        assert "4 of 4" in shown

    def test_opens_a_session_and_goes_to_it(self, reviewer: User) -> None:
        version = verified()

        response = sign_in(reviewer).post(page(version, "version_open_session"), {"scenario": "small"})

        session = EnvironmentSession.objects.get()
        assert response.status_code == 303
        assert response["Location"] == reverse("session_detail", args=[session.code])
        assert (session.user, session.version, session.scenario) == (reviewer, version, "small")

    def test_says_what_is_wrong_when_no_session_can_be_opened(self, reviewer: User) -> None:
        client = sign_in(reviewer)
        draft = client.post(page(little_version(), "version_open_session"), {"scenario": "small"})
        unknown = client.post(page(verified(name="sailing"), "version_open_session"), {"scenario": "stormy"})

        assert (draft.status_code, unknown.status_code) == (409, 422)
        assert "only verified versions can be played" in words(draft)
        assert "no scenario named 'stormy'" in words(unknown)
        assert not EnvironmentSession.objects.exists()

    def test_shows_no_button_where_nothing_can_be_opened(self, viewer: User, reviewer: User) -> None:
        usable, draft = verified(), little_version(name="sailing")
        pages = {
            (name, version.environment.name): text(sign_in(user).get(page(version, "version_scenarios")))
            for name, user in (("viewer", viewer), ("reviewer", reviewer))
            for version in (usable, draft)
        }

        assert {key for key, shown in pages.items() if 'name="scenario"' in shown} == {("reviewer", "library")}
        assert sign_in(viewer).post(page(usable, "version_open_session"), {"scenario": "small"}).status_code == 403


def verification_job(version: EnvironmentVersion, **values: Any) -> Job:
    now = timezone.now()
    running = {"status": "running", "attempt": 1, "started_at": now, "stage_started_at": now, "heartbeat_at": now}
    return JobFactory.create(
        **{"kind": "verify_environment", "parameters": {"version": str(version.code)}, **running, **values}
    )


class TestVerification:
    def test_teaches_when_it_was_never_verified(self, operator_client: Client) -> None:
        shown = words(operator_client.get(page(little_version(), "version_verification")))

        assert "It was never verified" in shown

    def test_starts_a_job_and_goes_where_it_can_be_followed(self, operator_client: Client, operator: User) -> None:
        version = little_version()

        response = operator_client.post(page(version, "version_verify"))

        job = Job.objects.get()
        assert response["Location"] == page(version, "version_verification")
        assert (job.kind, job.parameters, job.created_by) == (
            "verify_environment", {"version": str(version.code)}, operator,
        )  # fmt: skip
        assert Decision.objects.get().verdict == "verify"

    def test_leads_to_the_verification_at_work_instead_of_starting_a_second(self, operator_client: Client) -> None:
        version = little_version()
        verification_job(version)

        response = operator_client.post(page(version, "version_verify"))

        assert response["Location"] == page(version, "version_verification")
        assert Job.objects.count() == 1

    def test_answers_409_when_it_is_out_of_use_for_good(self, operator_client: Client, operator: User) -> None:
        version = verified()
        decide(version, operator, "retire", reason_codes=["licence"])

        response = operator_client.post(page(version, "version_verify"))

        assert response.status_code == 409
        assert "not verified any more" in words(response)
        assert not Job.objects.exists()

    def test_polls_itself_only_while_a_verification_runs(self, operator_client: Client) -> None:
        version = little_version()
        job = verification_job(version, stage="conform", done_units=1, total_units=4)

        running = operator_client.get(page(version, "version_verification"), headers=PARTIAL)
        Job.objects.filter(pk=job.pk).update(status="succeeded", finished_at=timezone.now())
        finished_run(version, job=job)
        final = operator_client.get(page(version, "version_verification"), headers=PARTIAL)

        assert 'hx-trigger="every 2s"' in text(running)
        assert "conform 1 of 4" in words(running)
        assert f'id="version-state-{version.code}"' in text(running)
        assert "hx-trigger" not in text(final)
        assert "Run 1 Passed" in words(final)

    def test_says_that_a_lost_job_says_nothing(self, operator_client: Client) -> None:
        version = little_version()
        lost = {"status": "failed", "finished_at": timezone.now(), "error_code": "sandbox_failed"}
        verification_job(version, **lost, error_message="no worker <b>here</b>")

        response = operator_client.get(page(version, "version_verification"))

        assert "it says nothing about the version. no worker <b>here</b>" in words(response)
        assert "<b>here</b>" not in text(response)

    def test_shows_findings_by_check_and_failures_first(self, operator_client: Client) -> None:
        version = little_version()
        findings = [
            {"check": "cases", "code": "case", "place": "cases/0", "message": HOSTILE},
            {"check": "leak", "code": "leak", "place": "tools/draw", "message": "memory\x1b grew"},
            {"check": "cases", "code": "case", "place": "cases/1", "message": "differs"},
        ]
        effects = {
            "look": {"is_destructive": False, "is_idempotent": True},
            "draw": {"is_destructive": True, "is_idempotent": False},
        }
        run = finished_run(
            version, outcome="failed", findings=findings, effects=effects, num_cases=1, num_calls=60, num_answered=58
        )
        run.case_results.all()

        response = operator_client.get(page(version, "version_verification"))

        shown = words(response)
        assert HOSTILE not in text(response)
        assert "cases 2 cases/0 <script>alert(1)</script> case cases/1 differs" in shown
        assert "memory␛ grew" in shown
        assert "58 of 60 answered or refused by a declared code" in shown
        assert "draw ✗ 0 of 1 destructive — — — — — look 0 of 0 idempotent" in shown
        assert "Cases that did not hold 1 of 1 Case Tool What differed draw_once success draw" in shown

    def test_shows_an_earlier_run_when_the_address_names_it(self, operator_client: Client) -> None:
        version = little_version()
        finished_run(version, outcome="failed", num_cases=1)
        finished_run(version, num_cases=1, num_cases_held=1)

        newest = words(operator_client.get(page(version, "version_verification")))
        earlier = words(operator_client.get(page(version, "version_verification") + "?run=1"))

        assert "Run 2 Passed" in newest
        assert "Run 1 Failed" in earlier.split("All runs")[0]

    def test_is_closed_to_people_who_run_no_jobs(self, reviewer: User) -> None:
        version = little_version()

        assert sign_in(reviewer).post(page(version, "version_verify")).status_code == 403
        assert "Verify" not in words(sign_in(reviewer).get(page(version))).replace("Verification", "")
        assert not Job.objects.exists()


class TestDecision:
    def test_approves_and_says_so_in_the_history(self, reviewer: User) -> None:
        version, client = verified(), sign_in(reviewer)

        response = client.post(page(version, "version_decide"), {"verdict": "approve", "note": "Reads well."})

        assert response["Location"] == page(version, "version_history")
        decision = Decision.objects.get()
        assert (decision.verdict, decision.actor, decision.subject_sha256, decision.note) == (
            "approve", reviewer, version.content_sha256, "Reads well.",
        )  # fmt: skip
        answer = client.get(response["Location"])
        assert "rosa Approved Reads well." in words(answer)
        assert "library 1 is approved." in text(answer)

    def test_rejects_with_reasons_and_moves_the_status(self, reviewer: User) -> None:
        version, client = verified(), sign_in(reviewer)

        client.post(
            page(version, "version_decide"),
            {"verdict": "reject", "reason_codes": ["leak", "licence"], "note": "See <i>here</i>."},
        )

        version.refresh_from_db()
        assert version.status == "rejected"
        response = client.get(page(version, "version_history"))
        assert "rosa Rejected It resembles a public benchmark. The licence does not allow the use." in words(response)
        assert "<i>here</i>" not in text(response)

    def test_shows_the_fault_at_its_field_when_a_rejection_has_no_reason(self, reviewer: User) -> None:
        response = sign_in(reviewer).post(page(verified(), "version_decide"), {"verdict": "reject", "note": "Bad"})

        assert response.status_code == 422
        assert "A rejection needs at least one reason." in words(response)
        assert "Bad" in text(response)
        assert not Decision.objects.exists()

    def test_shows_the_fault_at_the_note_when_the_reason_is_another_one(self, reviewer: User) -> None:
        data = {"verdict": "retire", "reason_codes": ["other"], "note": " "}

        response = sign_in(reviewer).post(page(verified(), "version_decide"), data)

        assert response.status_code == 422
        assert response.context["form"].errors.keys() == {"note"}
        assert "The reason 'other' needs a note that says which." in words(response)
        assert not Decision.objects.exists()

    @pytest.mark.parametrize("data", [{}, {"verdict": "nonsense"}, {"verdict": "reject", "reason_codes": ["nonsense"]}])
    def test_answers_422_when_the_form_is_wrong(self, reviewer: User, data: dict[str, Any]) -> None:
        assert sign_in(reviewer).post(page(verified(), "version_decide"), data).status_code == 422
        assert not Decision.objects.exists()

    def test_answers_409_when_the_state_has_moved_on(self, reviewer: User) -> None:
        version, client = verified(), sign_in(reviewer)
        decide(version, reviewer, "reject", reason_codes=["licence"])

        response = client.post(page(version, "version_decide"), {"verdict": "approve"})

        assert response.status_code == 409
        assert "The version is rejected now" in words(response)
        assert Decision.objects.count() == 1

    def test_offers_only_what_the_status_allows(self, reviewer: User) -> None:
        client, offered = sign_in(reviewer), {}
        for status in Status:
            version = little_version(name=f"in_{status}")
            EnvironmentVersion.objects.filter(pk=version.pk).update(status=status)
            response = client.get(page(version, "version_decide"))
            offered[status.value] = re.findall(r'type="radio" name="verdict" value="(\w+)"', text(response))

        assert offered == {
            "draft": ["reject", "discard"],
            "verified": ["approve", "reject", "retire"],
            "rejected": ["discard"],
            "discarded": [],
            "retired": [],
        }

    def test_is_closed_to_viewers(self, viewer: User) -> None:
        version, client = verified(), sign_in(viewer)

        assert client.get(page(version, "version_decide")).status_code == 403
        assert client.post(page(version, "version_decide"), {"verdict": "approve"}).status_code == 403
        assert not Decision.objects.exists()


class TestContent:
    def test_source_is_shown_as_text_with_its_lines_numbered(self, operator_client: Client) -> None:
        source = f"# {HOSTILE} \u202e\n" + little_pack().tools_py
        version = little_version(tools_py=source)

        response = operator_client.get(page(version, "version_code", "tools.py"))

        assert HOSTILE not in text(response)
        assert "\u202e" not in text(response)
        assert f"{len(source.splitlines())} lines" in words(response)
        assert "CREATE TABLE" in text(operator_client.get(page(version, "version_code", "schema.sql")))

    def test_sources_link_to_the_web(self, operator_client: Client) -> None:
        shown = text(operator_client.get(page(little_version(), "version_sources")))

        assert '<a href="https://example.org/library" rel="noopener noreferrer">' in shown

    @pytest.mark.parametrize("address", ["javascript:alert(1)", " https://example.org", "data:text/html,x", "", None])
    def test_address_that_could_run_something_is_no_link(self, address: str | None) -> None:
        assert not is_web_address(address)

    def test_pack_is_the_one_that_was_imported(self, viewer: User) -> None:
        version = shipped_version()

        response = sign_in(viewer).get(page(version, "version_pack"))

        assert response["Content-Type"] == "application/zip"
        assert response["Content-Disposition"] == 'attachment; filename="seed_bank-1.zip"'
        assert response.content == zip_pack(version.to_core())

    def test_hostile_words_of_a_pack_are_shown_as_text_everywhere(self, operator_client: Client) -> None:
        tool = dataclasses.replace(TOOL_LIST[0], title=HOSTILE)
        rest = TOOL_LIST[1:]
        tables = little_pack().tables
        first = next(iter(tables))
        hostile = dataclasses.replace(tables[first], description=HOSTILE)
        version = verified(
            title=HOSTILE, domain=HOSTILE, description=HOSTILE, tools=(tool, *rest), tables={**tables, first: hostile}
        )

        addresses = [
            "/environments/",
            page(version, "version_table", first),
            *(page(version, each) for each in SECTIONS),
        ]
        for address in addresses:
            response = operator_client.get(address)
            assert response.status_code == 200
            assert HOSTILE not in text(response)
            assert HOSTILE in words(response)


class TestHomePanel:
    def test_counts_environments_by_status_and_shows_the_newest_runs(self, operator_client: Client) -> None:
        version = verified()
        little_version(name="sailing")
        finished_run(version)

        shown = words(operator_client.get("/"))

        assert "Environments All 2 Draft 1 Verified 1" in shown
        assert "Newest verifications library 1 Passed" in shown

    def test_says_how_to_begin_when_there_is_none(self, operator_client: Client, viewer: User) -> None:
        assert "?kind=install_packs" in text(operator_client.get("/"))
        assert "?kind=install_packs" not in text(sign_in(viewer).get("/"))
