"""The admin as the environment registry: what its pages show, what they let people do, and what they never read."""

import dataclasses
import html
import io
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from environments import services
from environments.admin import actions
from environments.admin.base import PREVIEW_CHARACTERS, SECTION_ROWS
from environments.models import (
    Case,
    Decision,
    Environment,
    EnvironmentVersion,
    Job,
    Scenario,
    Table,
    ToolCall,
    User,
)
from environments.runtime.faults import FAULT_KINDS
from environments.runtime.pack import zip_pack
from environments.runtime.pack.model import Licence
from environments.runtime.pack.model import Scenario as PackScenario
from tests.factories.environments import UserFactory
from tests.factories.registry import (
    DRAW,
    PERSON,
    finished_run,
    little_pack,
    little_version,
    session_with_calls,
    shipped_version,
    unchecked_version,
)

pytestmark = pytest.mark.django_db
Status = EnvironmentVersion.Status
LIST = "admin:environments_environmentversion_changelist"
IMPORT = "admin:environments_environmentversion_import"


@pytest.fixture
def client(admin):
    made = Client()
    made.force_login(admin)
    return made


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    """Codes of jobs that were put on the queue."""
    codes = []
    monkeypatch.setattr("environments.jobs.send_job", lambda code: codes.append(code) or True)
    return codes


def client_of(user):
    made = Client()
    made.force_login(user)
    return made


def page_of(row):
    return reverse(f"admin:environments_{row._meta.model_name}_change", args=[row.pk])


def list_of(model):
    return reverse(f"admin:environments_{model._meta.model_name}_changelist")


def decision_page(version, verdict):
    return reverse("admin:environments_environmentversion_decide", args=[version.pk, verdict])


def text_of(answer):
    assert answer.status_code in {200, 409, 422}, answer
    text = answer.content.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=\"|javascript:", text)
    return text


def messages_of(answer):
    return [str(message) for message in answer.context["messages"]]


def fresh(version):
    return EnvironmentVersion.objects.get(pk=version.pk)


# --- What the pages show ----------------------------------------------------------------------------------------------


def test_version_page_shows_all_that_a_person_decides_by(client, reviewer):
    version = shipped_version("seed_bank")
    run = finished_run(version, num_cases=version.num_cases, num_cases_held=version.num_cases, num_calls=180,
                       num_answered=179)  # fmt: skip
    services.decide_version(version=version, verdict="approve", user=reviewer, note="Read it all")

    text = text_of(client.get(page_of(version)))

    source = version.provenance.all()[0]
    for wanted in (
        "seed_bank", version.title, version.domain, str(version.code), version.content_sha256, "Verified", "Approve",
        "Shipped with EnvFactory", version.licence_spdx, source.sha256, "CREATE TABLE", "Read it all", "rosa",
        f">{run.number}</a>", "as the test needs it",
    ):  # fmt: skip
        assert html.escape(wanted) in text or wanted in text, wanted
    assert f'<a href="{html.escape(source.address)}" rel="noopener noreferrer nofollow">' in text
    for part in (version.tools, version.tables, version.scenarios, version.cases):
        rows = list(part.all())
        assert f"({len(rows)})" in text
        assert f'href="{page_of(rows[0])}"' in text
        assert (f'href="{page_of(rows[-1])}"' in text) is (len(rows) <= SECTION_ROWS)
    assert "179</td><td>180</td>" in re.sub(r"\s+", "", text)


def test_environment_page_shows_its_versions(client):
    first, second = little_version(), little_version(title="Second library")
    first.move(Status.VERIFIED)

    text = text_of(client.get(page_of(first.environment)))

    for version in (first, second):
        assert version.content_sha256 in text
        assert f'href="{page_of(version)}"' in text
    assert "Second library" in text
    assert "2, Draft" in text


def test_run_page_shows_findings_cases_and_effects(client):
    version = little_version()
    run = finished_run(
        version, outcome="failed", num_cases=1, num_cases_held=0,
        findings=[
            {"check": "shifted_ids", "code": "shifted_ids", "place": "tables/books", "message": "<b>differs</b>"}
        ],
        effects={"draw": {"is_destructive": False, "is_idempotent": True}},
    )  # fmt: skip

    text = text_of(client.get(page_of(run)))

    for wanted in ("Shifted ids", "<code>tables/books</code>", "&lt;b&gt;differs&lt;/b&gt;", "0 / 1", "draw_once"):
        assert wanted in text
    assert page_of(version) in text
    version_page = text_of(client.get(page_of(version)))
    assert "Findings of the latest run" in version_page
    assert "&lt;b&gt;differs&lt;/b&gt;" in version_page


HOSTILE = '"><script>alert(1)</script>'


def test_hostile_content_is_shown_as_text(client):
    pack = little_pack(
        title=HOSTILE, description=HOSTILE,
        licence=Licence("CC0-1.0", HOSTILE, "https://example.org/" + HOSTILE),
        provenance=(
            dataclasses.replace(PERSON, address="https://example.org/" + HOSTILE, version=HOSTILE),
            dataclasses.replace(PERSON, kind=HOSTILE, address="urn:evil:javascript:alert(1)"),
        ),
        scenarios=(PackScenario("small", "simple", "2026-03-02T09:00:00Z", 0, {"books": ({"id": HOSTILE},)}),),
        cases=(dataclasses.replace(DRAW, author=HOSTILE),),
    )  # fmt: skip
    version = unchecked_version(pack)
    rows = [version, version.environment, *version.provenance.all(), *version.cases.all(), *version.scenarios.all()]

    for row in rows:
        text = client.get(page_of(row)).content.decode()
        assert "<script>alert" not in text
        assert 'href="urn:' not in text
        assert 'href="javascript' not in text
    for model in {type(row) for row in rows}:
        assert "<script>alert" not in client.get(list_of(model)).content.decode()


def test_address_that_is_no_web_page_is_not_linked(client):
    source = unchecked_version(
        little_pack(provenance=(dataclasses.replace(PERSON, address="javascript:alert(1)"),))
    ).provenance.get()  # fmt: skip

    answer = client.get(page_of(source))

    assert "javascript:alert(1)" in answer.content.decode()
    assert 'href="javascript' not in answer.content.decode()


# --- What the pages never read ----------------------------------------------------------------------------------------


def big_version():
    rows = {"books": tuple({"id": f"bk-{number}", "title": "x" * 1000} for number in range(100))}
    cases = tuple(dataclasses.replace(DRAW, name=f"draw_{number}") for number in range(60))
    scenario = PackScenario("small", "simple", "2026-03-02T09:00:00Z", 0, rows)
    return unchecked_version(little_pack(scenarios=(scenario,), cases=cases))


def queries_of(client, address):
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(address)
    assert answer.status_code == 200
    return [query["sql"] for query in queries], answer.content.decode()


LONG_COLUMNS = ("schema_sql", "tools_py", "input_schema", "rows", "expect", "observation", "snapshot", "start_snapshot",
                "findings", "effects", "problems")  # fmt: skip


def test_no_list_reads_a_long_column(client, admin):
    version = big_version()
    finished_run(version)
    session_with_calls(version, admin, 3)

    for model in [*(part.model for part in (version.tools, version.tables, version.scenarios, version.cases)),
                  *(part.model for part in (version.provenance, version.runs, version.history, version.sessions)),
                  Environment, EnvironmentVersion, ToolCall]:  # fmt: skip
        queries, _text = queries_of(client, list_of(model))
        read = {column for column in LONG_COLUMNS for sql in queries if f'"{column}"' in sql}
        assert read == set(), (model, read)


def test_version_page_lists_the_first_rows_and_links_to_the_rest(client):
    version = big_version()

    queries, text = queries_of(client, page_of(version))

    assert len(queries) <= 15
    assert len(re.findall(r"/admin/environments/case/\d+/", text)) == SECTION_ROWS
    assert f"{SECTION_ROWS} of 60 are shown." in text
    rest = f"{list_of(Case)}?version={version.pk}"
    assert f'href="{rest}"' in text
    listed = client.get(rest)
    assert listed.context["cl"].result_count == 60
    assert client.get(f"{list_of(Table)}?version={version.pk + 1}").context["cl"].result_count == 0
    assert not any('"rows"' in sql or '"expect"' in sql for sql in queries)


def test_page_of_a_long_row_shows_its_start_and_its_length(client):
    scenario = big_version().scenarios.get()
    length = len(Scenario.objects.values_list("rows", flat=True).get(pk=scenario.pk)["books"]) * 1000

    queries, text = queries_of(client, page_of(scenario))

    assert f"The first {PREVIEW_CHARACTERS:,} of " in text
    assert len(text) < length
    assert not any(re.search(r'(?<!LEFT\()(?<!LENGTH\()"environments_scenario"\."rows"', sql) for sql in queries)


def test_short_json_is_laid_out(client):
    tool = little_version().tools.all()[0]

    text = html.unescape(text_of(client.get(page_of(tool))))

    assert '{\n  "type": "object",\n  "properties": {\n    "book_id": {' in text


# --- Import and export ------------------------------------------------------------------------------------------------


def upload(client, data, name="pack.zip"):
    return client.post(reverse(IMPORT), {"pack": SimpleUploadedFile(name, data)}, follow=True)


def test_uploaded_pack_becomes_a_draft(client, admin):
    form = text_of(client.get(reverse(IMPORT)))
    answer = upload(client, zip_pack(little_pack()))

    version = EnvironmentVersion.objects.get()
    assert 'enctype="multipart/form-data"' in form
    assert answer.redirect_chain == [(page_of(version), 303)]
    assert messages_of(answer) == ["library 1 is imported. It stays in quarantine until it is verified."]
    assert (version.status, version.origin, version.created_by) == ("draft", "uploaded", admin)
    assert messages_of(upload(client, zip_pack(little_pack()))) == [
        "This content is in the registry already, as library 1."
    ]
    assert EnvironmentVersion.objects.count() == 1


def test_faults_of_a_pack_are_listed_by_place_and_remedy(client):
    answer = upload(client, zip_pack(little_pack(title="", language="English", provenance=())))

    text = html.unescape(text_of(answer))
    assert answer.status_code == 422
    assert "The pack has 3 faults. Nothing was stored." in text
    for place, code in (("title", "text_empty"), ("language", "value_wrong"), ("provenance", "provenance_missing")):
        assert f"<td><code>/{place}</code></td><td><code>{code}</code></td>" in text
        assert FAULT_KINDS[code].remedy in text
    assert not Environment.objects.exists()


@pytest.mark.parametrize("data", [b"", b"no zip"])
def test_file_that_is_no_pack_is_refused(client, data):
    answer = upload(client, data)

    assert answer.status_code == 422
    assert "errornote" in text_of(answer) or "errorlist" in text_of(answer)


def test_file_is_asked_for_and_not_read_when_it_is_too_large(client, monkeypatch):
    assert client.post(reverse(IMPORT)).status_code == 422
    monkeypatch.setattr(actions, "MAX_ZIP_BYTES", 10)
    monkeypatch.setattr(services, "import_pack_file", lambda **_arguments: pytest.fail("it was read"))

    answer = upload(client, b"x" * 11)

    assert answer.status_code == 422
    assert "larger than 10 bytes" in text_of(answer)


@pytest.mark.parametrize("status", [Status.DRAFT, Status.VERIFIED])
def test_exported_pack_is_the_one_that_was_imported(client, status):
    data = zip_pack(little_pack())
    upload(client, data)
    version = EnvironmentVersion.objects.get()
    if status != version.status:
        version.move(status)
    address = reverse("admin:environments_environmentversion_export", args=[version.pk])

    answer = client.get(address)

    assert answer.content == data
    assert answer["Content-Type"] == "application/zip"
    assert answer["Content-Disposition"] == 'attachment; filename="library-1.zip"'
    assert f'href="{address}"' in client.get(page_of(version)).content.decode()
    assert io.BytesIO(answer.content).read(2) == b"PK"
    assert client.get(address.replace(str(version.pk), "987654")).status_code == 404


# --- Deciding ---------------------------------------------------------------------------------------------------------

BUTTONS = {
    Status.DRAFT: {"verify", "reject", "discard"},
    Status.VERIFIED: {"verify", "approve", "reject", "retire"},
    Status.REJECTED: {"verify", "discard"},
    Status.RETIRED: set(),
    Status.DISCARDED: set(),
}
ROUTES = {Status.RETIRED: (Status.VERIFIED, Status.RETIRED), Status.DRAFT: ()}


def version_that_is(status, **changes):
    version = little_version(**changes)
    for step in ROUTES.get(status, (status,)):
        assert version.move(step)
    return version


@pytest.mark.parametrize("role", ["operator", "admin"])
@pytest.mark.parametrize("status", Status)
def test_page_has_the_buttons_that_the_status_allows_and_others_are_refused(status, role):
    client = client_of(UserFactory.create(role=role))
    version = version_that_is(status)
    text = text_of(client.get(page_of(version)))

    shown = {
        name for name in ("verify", "approve", "reject", "retire", "discard") if decision_page(version, name) in text
    }
    assert shown == BUTTONS[status]
    for name in ("verify", "approve", "reject", "retire", "discard"):
        answer = client.get(decision_page(version, name))
        assert answer.status_code == (200 if name in shown else 409), name
        assert ("<form method" in text_of(answer).split("content-main")[1]) is (name in shown)
    for name in {"verify", "approve", "reject", "retire", "discard"} - shown:
        data = {"seen": version.status, "reason_codes": ["other"]}
        assert client.post(decision_page(version, name), data).status_code == 409
    assert fresh(version).status == status
    assert not Decision.objects.exists()


@pytest.mark.parametrize(
    ("before", "verdict", "after"),
    [
        (Status.VERIFIED, "approve", Status.VERIFIED), (Status.VERIFIED, "reject", Status.REJECTED),
        (Status.VERIFIED, "retire", Status.RETIRED), (Status.DRAFT, "reject", Status.REJECTED),
        (Status.DRAFT, "discard", Status.DISCARDED), (Status.REJECTED, "discard", Status.DISCARDED),
    ],
)  # fmt: skip
def test_decision_is_asked_for_and_recorded(client, admin, before, verdict, after):
    version = version_that_is(before)
    form = text_of(client.get(decision_page(version, verdict)))
    reasons = [] if verdict == "approve" else ["leak", "other"]

    answer = client.post(
        decision_page(version, verdict), {"seen": before, "reason_codes": reasons, "note": "Seen before"}, follow=True
    )

    assert html.escape(str(actions.CONSEQUENCES[verdict])) in form
    assert version.content_sha256 in form
    assert ("reason_codes" in form) is bool(reasons)
    assert answer.redirect_chain == [(page_of(version), 303)]
    assert len(messages_of(answer)) == 1
    decision = Decision.objects.get()
    assert (decision.actor, decision.verdict, decision.reason_codes, decision.note) == (
        admin, verdict, reasons, "Seen before",
    )  # fmt: skip
    assert (decision.subject_code, decision.subject_sha256) == (version.code, version.content_sha256)
    assert fresh(version).status == after
    assert "Seen before" in text_of(answer)


def test_verification_is_asked_for_and_starts_a_job(client, admin, sent):
    version = little_version()
    assert "conformance in locked workers" in text_of(client.get(decision_page(version, "verify")))

    answer = client.post(decision_page(version, "verify"), {"seen": "draft"}, follow=True)

    job = Job.objects.get()
    assert (job.kind, job.parameters, job.created_by) == ("verify_environment", {"version": str(version.code)}, admin)
    decision = Decision.objects.get()
    assert (decision.verdict, decision.actor, decision.subject_code) == ("verify", admin, version.code)
    assert fresh(version).status == "draft"
    (message,) = messages_of(answer)
    assert reverse("job_detail", args=[job.code]) in message


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"note": "x"}, "A rejection needs at least one reason."),
        ({"reason_codes": ["ugly"]}, "Select a valid choice"),
        ({"reason_codes": ["leak"], "note": "x" * 4001}, "at most 4000 characters"),
        ({"reason_codes": ["leak"], "note": "a\0b"}, "Null characters are not allowed"),
    ],
)
def test_decision_that_lacks_something_is_not_recorded(client, data, words):
    version = version_that_is(Status.VERIFIED)

    answer = client.post(decision_page(version, "reject"), {"seen": "verified", **data})

    assert answer.status_code == 422
    assert words in text_of(answer)
    assert fresh(version).status == "verified"
    assert not Decision.objects.exists()


def test_decision_is_refused_when_the_version_has_moved_since_the_page_was_opened(client):
    version = version_that_is(Status.VERIFIED)

    answer = client.post(decision_page(version, "reject"), {"seen": "draft", "reason_codes": ["leak"]})

    assert answer.status_code == 409
    text = text_of(answer)
    assert "library 1 has become verified since this page was opened." in text
    assert 'name="seen" value="verified"' in text
    assert fresh(version).status == "verified"


def test_page_for_an_unknown_decision_or_version_is_not_found(client):
    version = little_version()

    assert client.get(decision_page(version, "request_changes")).status_code == 404
    assert client.get(decision_page(version, "praise")).status_code == 404
    assert client.get(decision_page(version, "verify").replace(f"/{version.pk}/", "/987654/")).status_code == 404


@pytest.mark.parametrize("role", ["viewer", "reviewer", None])
def test_nobody_else_reaches_the_pages_of_the_registry(role):
    version = version_that_is(Status.VERIFIED)
    client = Client() if role is None else client_of(UserFactory.create(role=role, is_lead=True))
    export = reverse("admin:environments_environmentversion_export", args=[version.pk])

    for address in (reverse(IMPORT), export, decision_page(version, "retire"), decision_page(version, "verify")):
        for answer in (client.get(address), client.post(address, {"seen": "verified", "reason_codes": ["other"]})):
            assert answer.status_code == 302
            assert "/login/" in answer["Location"]
    assert fresh(version).status == "verified"
    assert not Decision.objects.exists()


def test_pages_ask_for_the_same_permissions_as_elsewhere(client, monkeypatch):
    version = version_that_is(Status.VERIFIED)
    monkeypatch.setattr(User, "permissions", property(lambda _user: frozenset()))

    for address in (reverse(IMPORT), *(decision_page(version, name) for name in BUTTONS[Status.VERIFIED])):
        assert client.get(address).status_code == 403
        assert client.post(address, {"seen": "verified", "reason_codes": ["other"]}).status_code == 403
    assert "/decide/" not in client.get(page_of(version)).content.decode()
    assert reverse(IMPORT) not in client.get(reverse(LIST)).content.decode()
    assert not Decision.objects.exists()


@pytest.mark.parametrize("status", Status)
def test_no_form_changes_a_version(client, status):
    version = version_that_is(status)
    before = EnvironmentVersion.objects.filter(pk=version.pk).values().get()

    assert client.post(page_of(version), {"title": "Other", "status": "verified", "_save": "Save"}).status_code == 403
    for part in (version.tools, version.tables, version.scenarios, version.cases, version.provenance):
        assert client.post(page_of(part.all()[0]), {"name": "other", "_save": "Save"}).status_code == 403

    assert EnvironmentVersion.objects.filter(pk=version.pk).values().get() == before
    assert zip_pack(fresh(version).to_core()) == zip_pack(little_pack())
    assert 'name="_save"' not in text_of(client.get(page_of(version)))


# --- Many at once -----------------------------------------------------------------------------------------------------


def act(client, action, versions, **more):
    data = {"action": action, "_selected_action": [version.pk for version in versions], **more}
    return client.post(reverse(LIST), data, follow=True)


def one_of_each():
    return {status: version_that_is(status, title=str(status.label)) for status in Status}


def test_selected_versions_are_verified_and_the_others_skipped_by_name(client, sent):
    versions = one_of_each()

    asked = act(client, "verify_selected", versions.values())
    assert not Job.objects.exists()
    answer = act(client, "verify_selected", versions.values(), confirmed="yes")

    assert "Verify 3 versions" in text_of(asked)
    assert "Skipped, for their status does not allow it" in text_of(asked)
    codes = {versions[status].code for status in (Status.DRAFT, Status.REJECTED, Status.VERIFIED)}
    assert {decision.subject_code for decision in Decision.objects.filter(verdict="verify")} == codes
    assert {job.parameters["version"] for job in Job.objects.all()} == {str(code) for code in codes}
    said = messages_of(answer)
    assert said[0] == "3 versions are being verified."
    assert len(said) == 3
    assert all(message.startswith("Skipped: library ") for message in said[1:])


def test_selected_versions_are_approved_with_one_note(client, admin):
    versions = one_of_each()

    asked = act(client, "approve_selected", versions.values())
    answer = act(client, "approve_selected", versions.values(), confirmed="yes", note="All read")

    assert 'value="Approve 1 version"' in text_of(asked)
    decision = Decision.objects.get()
    assert (decision.actor, decision.verdict, decision.note) == (admin, "approve", "All read")
    assert decision.subject_code == versions[Status.VERIFIED].code
    assert messages_of(answer)[0] == "1 version is approved."
    assert len(messages_of(answer)) == 5


def test_nothing_is_offered_when_no_selected_version_allows_it(client):
    asked = act(client, "approve_selected", [little_version()])

    assert "confirmed" not in text_of(asked)
    assert "Back to the versions" in text_of(asked)


def test_many_are_approved_by_leads_and_admins_only(operator):
    version = version_that_is(Status.VERIFIED)
    client = client_of(operator)

    act(client, "approve_selected", [version], confirmed="yes")
    assert not Decision.objects.exists()
    assert "approve_selected" not in client.get(reverse(LIST)).content.decode()
    User.objects.filter(pk=operator.pk).update(is_lead=True)
    act(client, "approve_selected", [version], confirmed="yes")

    assert Decision.objects.get().actor == operator


def test_too_many_are_refused_whole(client, monkeypatch):
    monkeypatch.setattr(actions, "MAX_AT_ONCE", 1)
    versions = [little_version(title=f"Title {number}") for number in range(2)]

    answer = act(client, "verify_selected", versions, confirmed="yes")

    assert messages_of(answer) == ["Choose at most 1 versions at once. Nothing was changed."]
    assert not Job.objects.exists()


def test_note_of_many_is_checked_as_that_of_one(client):
    answer = act(client, "approve_selected", [version_that_is(Status.VERIFIED)], confirmed="yes", note="x" * 4001)

    assert "at most 4000 characters" in text_of(answer)
    assert not Decision.objects.exists()
