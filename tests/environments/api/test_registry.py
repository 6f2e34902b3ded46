"""The registry over the API: lists and single rows, packs in and out, verification and decisions."""

import copy
import dataclasses
import io
import json
import stat
import threading
import zipfile

import pytest
from django.db import connection
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from environments import jobs
from environments.core.access import Scope
from environments.core.errors import NotVerifiedError
from environments.models import (
    AuditEvent,
    CaseResult,
    Decision,
    Environment,
    EnvironmentVersion,
    Job,
    Scenario,
    Tool,
    User,
    VerificationRun,
)
from environments.runtime.pack import read_pack, zip_pack
from environments.runtime.pack.documents import pack_files
from environments.runtime.pack.limits import MAX_ZIP_BYTES
from environments.services import create_api_token, create_session, decide_version, import_pack
from environments.services.registry import PACKS
from tests.environments.api.test_jobs import NOWHERE, pointers, problem
from tests.factories.environments import JobFactory, UserFactory
from tests.factories.registry import shipped_version

pytestmark = pytest.mark.django_db
URL = "/api/v1/"
VERSIONS = "/api/v1/versions/"
ZIP = "application/zip"
BANK = read_pack(PACKS / "seed_bank")
SMALL = dataclasses.replace(BANK, scenarios=BANK.scenarios[:1], cases=())
"""The shipped pack with little in it, for tests that only need some pack."""


def small_version(name="seed_bank", *, status="draft", origin=EnvironmentVersion.Origin.UPLOADED, **changes):
    pack = dataclasses.replace(SMALL, name=name, **changes)
    version = import_pack(pack=pack, origin=origin, user=None).version
    if status != "draft":
        assert version.move(EnvironmentVersion.Status(status))
    return version


def upload(client, data, content_type=ZIP):
    return client.post(VERSIONS, data, content_type=content_type)


def found(client, path, **filters):
    response = client.get(URL + path, filters)
    assert response.status_code == 200, response.content
    return response.json()["results"]


def names(client, path, **filters):
    return [row["name"] for row in found(client, path, **filters)]


def a_run(version, *, outcome="passed", **changes):
    number = version.runs.count() + 1
    code = Environment.code_of(f"{version.code}/{number}")
    return VerificationRun.objects.create(
        code=code, version=version, number=number, outcome=outcome, verifier_version="conformance/1", **changes
    )


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    """Codes of jobs that were sent; there is no broker in these tests."""
    codes = []
    monkeypatch.setattr(jobs, "send_job", lambda code: bool(codes.append(code)) or True)
    return codes


# --- Environments -----------------------------------------------------------------------------------------------------


def test_environment_shows_its_latest_and_its_verified_version(api):
    verified = small_version(status="verified")
    draft = small_version(title="Seed bank, again")

    row = api.get(f"{URL}environments/seed_bank/").json()

    assert found(api, "environments/") == [row]
    assert (row["name"], row["title"], row["domain"], row["approval"]) == (
        "seed_bank", "Seed bank, again", BANK.domain, None,
    )  # fmt: skip
    assert row["latest_version"]["code"] == str(draft.code)
    assert (row["latest_version"]["number"], row["latest_version"]["status"]) == (2, "draft")
    assert row["verified_version"]["code"] == str(verified.code)
    assert row["verified_version"]["num_tools"] == len(BANK.tools)


def test_environments_filter(api, reviewer):
    shipped = small_version("first", status="verified", domain="farming", title="Zeppelins")
    small_version("second", domain="farming")
    small_version("third", status="rejected", domain="lending")
    decide_version(version=shipped, verdict=Decision.Verdict.APPROVE, user=reviewer)

    assert names(api, "environments/") == ["first", "second", "third"]
    assert names(api, "environments/", status=["verified", "rejected"]) == ["first", "third"]
    assert names(api, "environments/", domain="farming") == ["first", "second"]
    assert names(api, "environments/", approval="approve") == ["first"]
    assert names(api, "environments/", approval="none") == ["second", "third"]
    assert names(api, "environments/", approval=["approve", "none"]) == ["first", "second", "third"]
    assert names(api, "environments/", approval="retire") == []
    assert names(api, "environments/", is_verified="true") == ["first"]
    assert names(api, "environments/", is_verified="false") == ["second", "third"]
    assert names(api, "environments/", search="zeppelins") == ["first"]
    assert names(api, "environments/", search=f"second {BANK.tools[0].name}") == ["second"]
    assert names(api, "environments/", search="second lending") == []


def test_approval_is_the_newest_verdict_that_stands(api, reviewer):
    version = small_version(status="verified")
    for verdict in (Decision.Verdict.VERIFY, Decision.Verdict.APPROVE, Decision.Verdict.VERIFY):
        decide_version(version=version, verdict=verdict, user=reviewer)
    assert api.get(f"{VERSIONS}{version.code}/").json()["approval"] == "approve"

    decide_version(version=version, verdict=Decision.Verdict.RETIRE, user=reviewer, reason_codes=["licence"])

    assert api.get(f"{URL}environments/seed_bank/").json()["approval"] == "retire"
    assert [row["code"] for row in found(api, "versions/", approval="retire")] == [str(version.code)]


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("environments/", {"status": "done"}),
        ("environments/", {"approval": "verify"}),
        ("environments/", {"is_verified": "yes"}),
        ("environments/", {"search": "x" * 101}),
        ("environments/", {"search": "a\0b"}),
        ("versions/", {"origin": "bought"}),
        ("versions/", {"page": "0"}),
        ("versions/", {"environments": "seed_bank"}),
        ("tools/", {"version": "7"}),
        ("tools/", {"effect": ["read", "write"]}),
        ("tools/", {"audience": "nobody"}),
        ("scenarios/", {"level": "hard"}),
        ("versions/{code}/runs/", {"cursor": "x"}),
        ("versions/{code}/tables/", {"role": "log"}),
        ("versions/{code}/history/", {"status": "draft"}),
        ("versions/{code}/pack/", {"page": "1"}),
    ],
)
def test_wrong_parameter_is_named(api, path, wrong):
    url = URL + path.replace("{code}", str(small_version().code))

    body = problem(api.get(url, wrong), 400, "invalid_input")

    assert pointers(body) == [f"?{next(iter(wrong))}"]


@pytest.mark.parametrize(
    "path",
    [
        "environments/nothing/", "versions/{code}/", "versions/{code}/pack/", "versions/{code}/tables/",
        "versions/{code}/runs/", "versions/{code}/history/", "tools/{code}/", "scenarios/{code}/",
    ],
)  # fmt: skip
def test_nothing_is_a_404(api, path):
    small_version()

    problem(api.get(URL + path.replace("{code}", str(NOWHERE))), 404, "not_found")


# --- Versions ---------------------------------------------------------------------------------------------------------


def test_versions_filter_newest_first_and_page(api):
    first = small_version(status="verified", origin=EnvironmentVersion.Origin.SHIPPED)
    second = small_version(title="Other")
    third = small_version("other_bank")

    def codes(**filters):
        return [row["code"] for row in found(api, "versions/", **filters)]

    assert codes() == [str(version.code) for version in (third, second, first)]
    assert codes(environment="seed_bank") == [str(second.code), str(first.code)]
    assert codes(environment="nothing") == []
    assert codes(status="verified") == codes(origin="shipped") == [str(first.code)]
    assert codes(status=["verified", "draft"], origin=["uploaded"], approval="none") == [
        str(third.code), str(second.code),
    ]  # fmt: skip
    page = api.get(VERSIONS, {"page_size": 2, "page": 2}).json()
    assert (page["count"], [row["code"] for row in page["results"]], page["next"]) == (3, [str(first.code)], None)
    problem(api.get(VERSIONS, {"page": 2}), 404, "not_found")


def test_version_shows_figures_terms_sources_and_newest_run(api, operator):
    version = shipped_version()
    job = JobFactory.create(kind="verify_environment")
    a_run(version, outcome="failed", findings=[{"check": "cases", "code": "x", "place": "y", "message": "z"}])
    run = a_run(version, job=job, num_cases=9, num_cases_held=9, num_calls=8, num_answered=6)

    row = api.get(f"{VERSIONS}{version.code}/").json()

    assert (row["environment"], row["number"], row["status"], row["is_usable"]) == ("seed_bank", 1, "verified", True)
    assert row["licence"] == {"spdx": BANK.licence.spdx, "name": BANK.licence.name, "address": BANK.licence.address}
    assert row["content_sha256"] == version.content_sha256
    assert [each["sha256"] for each in row["provenance"]] == [entry.sha256 for entry in BANK.provenance]
    assert (row["num_tools"], row["num_tables"]) == (len(BANK.tools), len(BANK.tables))
    assert (row["num_scenarios"], row["num_cases"]) == (len(BANK.scenarios), len(BANK.cases))
    newest = row["newest_run"]
    assert (newest["code"], newest["number"], newest["job"]) == (str(run.code), 2, str(job.code))
    assert (newest["num_findings"], newest["completeness_ratio"]) == (0, 0.75)
    assert "schema_sql" not in row
    assert "findings" not in newest


def test_version_without_a_run_shows_none(api):
    assert api.get(f"{VERSIONS}{small_version().code}/").json()["newest_run"] is None


def test_tables_come_in_the_packs_order(api):
    version = small_version()

    rows = found(api, f"versions/{version.code}/tables/")

    assert [row["name"] for row in rows] == list(BANK.tables)
    assert {row["name"]: row["role"] for row in rows} == {name: table.role for name, table in BANK.tables.items()}
    assert list(rows[0]["columns"]) == list(BANK.tables[rows[0]["name"]].columns)


def test_runs_show_findings_and_each_tools_cases(api):
    version = shipped_version()
    finding = {"check": "cases", "code": "case", "place": "cases/x", "message": "no"}
    first = a_run(version, outcome="failed", findings=[finding])
    second = a_run(version, effects={"x": {"is_destructive": True, "is_idempotent": False}})
    cases = list(version.cases.all())
    failing = cases[0].tool
    CaseResult.objects.bulk_create(CaseResult(run=first, case=case, holds=case.tool != failing) for case in cases)

    rows = found(api, f"versions/{version.code}/runs/")

    assert [row["code"] for row in rows] == [str(first.code), str(second.code)]
    assert (rows[0]["findings"], rows[0]["num_findings"]) == ([finding], 1)
    figures = {each["tool"]: (each["num_cases"], each["num_cases_held"]) for each in rows[0]["tools"]}
    of_tool = {tool.name: sum(case.tool == tool.name for case in BANK.cases) for tool in BANK.tools}
    assert figures == {name: (num, 0 if name == failing else num) for name, num in of_tool.items()}
    assert list(figures) == sorted(figures)
    assert (rows[1]["tools"], rows[1]["effects"]["x"]["is_destructive"]) == ([], True)


def test_history_tells_who_and_why(api, reviewer):
    version = small_version()
    run = a_run(version)
    assert version.move(EnvironmentVersion.Status.VERIFIED, reason="held", run=run)
    decision = decide_version(
        version=version, verdict=Decision.Verdict.REJECT, user=reviewer, reason_codes=["leak"], note="seen before"
    )

    rows = found(api, f"versions/{version.code}/history/")

    assert [(row["before"], row["after"]) for row in rows] == [
        (None, "draft"), ("draft", "verified"), ("verified", "rejected"),
    ]  # fmt: skip
    assert (rows[1]["reason"], rows[1]["run"], rows[1]["decision"]) == ("held", str(run.code), None)
    assert (rows[2]["actor"], rows[2]["reason"], rows[2]["decision"]) == ("rosa", "leak", str(decision.code))


# --- Tools and scenarios ----------------------------------------------------------------------------------------------


def test_tools_are_those_of_verified_versions_unless_a_version_is_given(api):
    verified = small_version(status="verified")
    draft = small_version(title="Newer", tools=SMALL.tools[:2])
    small_version("other_bank")

    everywhere = found(api, "tools/")
    of_draft = found(api, "tools/", version=draft.code)

    assert {row["version"] for row in everywhere} == {str(verified.code)}
    assert [row["name"] for row in everywhere] == [tool.name for tool in BANK.tools]
    assert [(row["name"], row["version_number"]) for row in of_draft] == [(tool.name, 2) for tool in BANK.tools[:2]]
    assert names(api, "tools/", environment="seed_bank") == [tool.name for tool in BANK.tools]
    assert names(api, "tools/", environment="other_bank") == []
    assert names(api, "tools/", environment="other_bank", version=draft.code) == []


def test_tools_filter(api):
    tools = list(BANK.tools)
    tools[0] = dataclasses.replace(tools[0], audience="user", title="Zeppelin 100%")
    small_version(status="verified", tools=tuple(tools))

    assert names(api, "tools/", audience="user") == names(api, "tools/", search="zeppelin 0%") == [tools[0].name]
    for effect in ("read", "write"):
        assert names(api, "tools/", effect=effect) == [tool.name for tool in tools if tool.effect == effect]
    assert names(api, "tools/", search="zeppelin", effect="write" if tools[0].effect == "read" else "read") == []


def test_tool_shows_its_interface_whole_and_effects_once_seen(api):
    version = shipped_version()
    tool = next(tool for tool in BANK.tools if tool.preconditions and tool.effect == "write")
    url = f"{URL}tools/{version.tools.get(name=tool.name).code}/"

    before = api.get(url).json()
    seen = {"is_destructive": True, "is_idempotent": False}
    a_run(version, effects={tool.name: seen})
    a_run(version, outcome="undecided")
    after = api.get(url).json()

    assert (before["effects_seen"], after["effects_seen"]) == (None, seen)
    assert before["input_schema"] == tool.input_schema
    assert before["output_schema"] == tool.output_schema
    assert before["captures"] == tool.captures
    assert [dict(row) for row in before["preconditions"]] == [dataclasses.asdict(row) for row in tool.preconditions]
    assert [row["code"] for row in before["postconditions"]] == [row.code for row in tool.postconditions]
    assert [row["code"] for row in before["rejections"]] == [row.code for row in tool.rejections]
    assert before["origin"] == (dataclasses.asdict(tool.origin) if tool.origin else None)
    assert (before["environment"], before["version"]) == ("seed_bank", str(version.code))


def test_scenario_has_its_rows_and_the_list_has_none(api):
    version = shipped_version()
    draft = small_version("other_bank")

    rows = found(api, "scenarios/")
    one = api.get(f"{URL}scenarios/{rows[0]['code']}/").json()
    scenario = BANK.scenario(rows[0]["name"])

    assert {row["version"] for row in rows} == {str(version.code)}
    assert all("rows" not in row for row in rows)
    assert one.pop("rows") == {name: list(table) for name, table in scenario.rows.items()}
    assert one == rows[0]
    assert names(api, "scenarios/", version=draft.code) == [SMALL.scenarios[0].name]
    assert names(api, "scenarios/", level=rows[0]["level"]) == [
        each.name for each in BANK.scenarios if each.level == rows[0]["level"]
    ]


# --- What a list costs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_versions", [1, 8])
@pytest.mark.parametrize(
    ("path", "num_queries"),
    [
        ("environments/", 4),  # token, count, keys, rows
        ("environments/?status=verified&approval=none&search=bank", 4),
        ("versions/", 4),
        ("versions/?environment=bank_0&approval=none", 4),
        ("tools/", 4),
        ("tools/?environment=bank_0&search=e", 4),
        ("scenarios/", 4),
        ("versions/{code}/tables/", 5),  # the version too
        ("versions/{code}/runs/", 3),
        ("versions/{code}/history/", 3),
        ("environments/bank_0/", 2),
        ("versions/{code}/", 4),  # token, version, sources, newest run
        ("tools/{tool}/", 3),  # token, tool, effects
        ("scenarios/{scenario}/", 2),
        ("versions/{code}/pack/", 7),  # token, version, and the five of to_core
    ],
)
def test_queries_do_not_grow_and_lists_read_no_content(api, django_assert_num_queries, path, num_queries, num_versions):
    made = [small_version(f"bank_{number}", status="verified") for number in range(num_versions)]
    for _ in range(num_versions):
        run = a_run(made[0])
        made[0].move(EnvironmentVersion.Status.REJECTED, run=run)
        made[0].move(EnvironmentVersion.Status.VERIFIED, run=run)
    tool, scenario = made[0].tools.first(), made[0].scenarios.first()
    url = URL + path.format(code=made[0].code, tool=tool.code, scenario=scenario.code)
    api.get(f"{URL}me/")

    with django_assert_num_queries(num_queries) as queries:
        response = api.get(url)

    assert response.status_code == 200
    executed = " ".join(query["sql"] for query in queries)
    if "pack" not in path:
        assert "tools_py" not in executed
        assert "schema_sql" not in executed
    if "{" not in path:
        assert '."rows"' not in executed
        assert "input_schema" not in executed


# --- Packs out and in -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["seed_bank", "repair_cafe", "tide_gauges"])
def test_pack_goes_out_and_back_in_as_the_same_version(api, name):
    version = shipped_version(name)

    out = api.get(f"{VERSIONS}{version.code}/pack/")
    back = upload(api, out.content)

    assert (out.status_code, out["Content-Type"]) == (200, ZIP)
    assert out["ETag"] == f'"{version.content_sha256}"'
    assert out["Content-Disposition"] == f'attachment; filename="{name}-1.zip"'
    assert out.content == zip_pack(read_pack(PACKS / name))
    assert (back.status_code, back.json()["code"]) == (200, str(version.code))
    assert back["Location"] == f"http://testserver{VERSIONS}{version.code}/"
    assert EnvironmentVersion.objects.count() == 1


def test_uploaded_content_goes_out_byte_for_byte(api):
    data = zip_pack(SMALL)

    code = upload(api, data).json()["code"]

    assert api.get(f"{VERSIONS}{code}/pack/").content == data


@pytest.mark.parametrize("spelt", ['"{}"', 'W/"{}"', '"other", "{}"', "*"])
def test_pack_that_the_caller_has_is_not_sent_again(api, spelt):
    version = small_version()

    response = api.get(
        f"{VERSIONS}{version.code}/pack/", headers={"If-None-Match": spelt.format(version.content_sha256)}
    )

    assert (response.status_code, response.content) == (304, b"")
    assert response["ETag"] == f'"{version.content_sha256}"'


@pytest.mark.parametrize("spelt", ["", '"other"', "{}", '"', "é"])
def test_pack_is_sent_when_the_tag_is_another(api, spelt):
    version = small_version()

    response = api.get(
        f"{VERSIONS}{version.code}/pack/", headers={"If-None-Match": spelt.format(version.content_sha256)}
    )

    assert response.status_code == 200


def test_pack_is_a_zip_to_who_asks_for_one_and_errors_are_problems(api):
    version = small_version()

    assert api.get(f"{VERSIONS}{version.code}/pack/", headers={"Accept": ZIP}).status_code == 200
    problem(api.get(f"{VERSIONS}{version.code}/pack/", headers={"Accept": "text/html"}), 406, "not_acceptable")
    problem(api.get(f"{VERSIONS}{NOWHERE}/pack/", headers={"Accept": ZIP}), 404, "not_found")


def test_new_content_is_a_draft_in_quarantine(api, operator, django_capture_on_commit_callbacks):
    response = upload(api, zip_pack(SMALL))

    row = response.json()
    assert (response.status_code, row["status"], row["is_usable"]) == (201, "draft", False)
    assert (row["origin"], row["created_by"], row["number"]) == ("uploaded", "otto", 1)
    assert response["Location"] == f"http://testserver{VERSIONS}{row['code']}/"
    assert AuditEvent.objects.get(action="environment.import").address == "127.0.0.1"
    assert not Job.objects.exists()
    assert found(api, "tools/") == found(api, "scenarios/") == []
    with pytest.raises(NotVerifiedError):
        create_session(
            version=EnvironmentVersion.objects.get(), scenario=SMALL.scenarios[0].name, seed=0, user=operator
        )


def test_every_fault_is_named_and_nothing_is_stored(api):
    pack = dataclasses.replace(SMALL, title="", language="?", domain="a\0b")

    body = problem(upload(api, zip_pack(pack)), 400, "invalid_pack")

    assert {(fault["pointer"], fault["code"]) for fault in body["errors"]} == {
        ("/title", "text_empty"), ("/language", "value_wrong"), ("/domain", "text_encoding"),
    }  # fmt: skip
    assert not Environment.objects.exists()


def a_zip(*entries, mode=0):
    """A zip with entries, each a name and its bytes, beside a pack's own."""
    buffer = io.BytesIO(zip_pack(SMALL))
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = mode << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def a_name_twice():
    with pytest.warns(UserWarning, match="Duplicate name"):
        return a_zip(("tools.py", b""))


HOSTILE = {
    "bomb": (lambda: a_zip(("scenarios/bomb.json", b"0" * (4 << 20))), "zip_ratio"),
    "large bomb": (lambda: a_zip(("scenarios/bomb.json", b"0" * (9 << 20))), "zip_too_large"),
    "link": (lambda: a_zip(("scenarios/link.json", b"/etc/passwd"), mode=stat.S_IFLNK | 0o777), "zip_link"),
    "device": (lambda: a_zip(("scenarios/zero.json", b""), mode=stat.S_IFCHR | 0o666), "zip_link"),
    "twice": (a_name_twice, "zip_duplicate"),
    "twice but for case": (lambda: a_zip(("Tools.py", b"")), "zip_duplicate"),
    "upwards": (lambda: a_zip(("../tools.py", b"")), "zip_name"),
    "absolute": (lambda: a_zip(("/etc/passwd", b"")), "zip_name"),
    "backslash": (lambda: a_zip(("..\\tools.py", b"")), "zip_name"),
    "folder": (lambda: a_zip(("scenarios/deep/x.json", b"{}")), "file_unknown"),
    "encrypted": (lambda: encrypted(a_zip(("scenarios/secret.json", b"{}"))), "zip_encrypted"),
    "too many": (lambda: a_zip(*((f"scenarios/s{number}.json", b"{}") for number in range(300))), "zip_too_many"),
    "in front": (lambda: b"#!/bin/sh\n" + zip_pack(SMALL), "zip_invalid"),
    "behind": (lambda: zip_pack(SMALL) + b"x", "zip_invalid"),
    "cut off": (lambda: zip_pack(SMALL)[:-1], "zip_invalid"),
    "empty": (lambda: b"", "zip_invalid"),
    "no zip": (lambda: b"PK\5\6", "zip_invalid"),
    "no pack": (lambda: b"PK\5\6" + bytes(18), "file_missing"),
}


def encrypted(data):
    """The zip with the flag of encryption on its last entry in the directory."""
    at = data.rindex(b"PK\1\2") + 8
    return data[:at] + bytes([data[at] | 1]) + data[at + 1 :]


@pytest.mark.parametrize(("make", "code"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_zip_is_refused_by_name(api, make, code):
    body = problem(upload(api, make()), 400, "invalid_pack")

    assert code in {fault["code"] for fault in body["errors"]}
    assert not Environment.objects.exists()


def test_body_above_the_limit_is_refused_before_it_is_read(api):
    problem(upload(api, bytes(MAX_ZIP_BYTES + 1)), 413, "payload_too_large")
    problem(upload(api, bytes(MAX_ZIP_BYTES)), 400, "invalid_pack")


@pytest.mark.parametrize("content_type", ["application/json", "multipart/form-data; boundary=x", "text/plain"])
def test_other_body_than_a_zip_is_refused(api, content_type):
    problem(upload(api, b'{"a": 1}', content_type), 415, "unsupported_media_type")


def leaves(value, path=()):
    """Where each key and each simple value of a document stands."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield path, key
        if isinstance(inner, dict | list):
            yield from leaves(inner, (*path, key))


FILES = pack_files(SMALL)
DOCUMENTS = {name: json.loads(data) for name, data in FILES.items() if name.endswith(".json")}
PLACES = [(name, *place) for name, document in DOCUMENTS.items() for place in leaves(document)]
VALUES = st.sampled_from(["", "\0", "a\0b", "x" * 5000, "\ud800", "\u202e", 2**70, -1, 1e308, None, True, [], {}])


@given(place=st.sampled_from(PLACES), value=VALUES, is_key=st.booleans())
@example(place=("environment.json", ("licence",), "spdx"), value="x" * 5000, is_key=False)
@example(place=("environment.json", (), "title"), value="\0", is_key=False)
@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pack_with_any_value_in_any_place_is_imported_or_refused(api, place, value, is_key):
    name, path, key = place
    document = copy.deepcopy(DOCUMENTS[name])
    at = document
    for step in path:
        at = at[step]
    if is_key and isinstance(at, dict) and isinstance(value, str):
        at[value] = at.pop(key)
    else:
        at[key] = value
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for other, data in FILES.items():
            archive.writestr(other, json.dumps(document) if other == name else data)

    response = upload(api, buffer.getvalue())

    if response.status_code in {200, 201}:
        assert api.get(f"{VERSIONS}{response.json()['code']}/pack/").status_code == 200
    else:
        problem(response, 400, "invalid_pack")


@given(at=st.integers(0, len(zip_pack(SMALL)) - 1), byte=st.integers(0, 255))
@hypothesis_settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_zip_with_any_byte_changed_is_imported_or_refused(api, at, byte):
    data = bytearray(zip_pack(SMALL))
    data[at] = byte

    response = upload(api, bytes(data))

    if response.status_code not in {200, 201}:
        problem(response, 400, "invalid_pack")


@given(st.binary(max_size=2000))
@hypothesis_settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_bytes_are_refused(api, data):
    problem(upload(api, data), 400, "invalid_pack")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("are_equal", [False, True])
def test_concurrent_uploads_of_one_name_get_a_version_each_without_a_gap(are_equal):
    operator = UserFactory.create(role=User.Role.OPERATOR)
    key = create_api_token(user=operator, name="x", scopes=[Scope.JOBS]).key
    num_uploads = 4
    barrier, statuses = threading.Barrier(num_uploads), []
    packs = [dataclasses.replace(SMALL, title="Same" if are_equal else f"No. {at}") for at in range(num_uploads)]

    def send(data):
        try:
            client = APIClient(headers={"Authorization": f"Bearer {key}"})
            barrier.wait()
            statuses.append(upload(client, data).status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=send, args=(zip_pack(pack),)) for pack in packs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    numbers = sorted(EnvironmentVersion.objects.values_list("number", flat=True))
    assert sorted(statuses) == ([200, 200, 200, 201] if are_equal else [201] * num_uploads)
    assert numbers == ([1] if are_equal else [1, 2, 3, 4])
    assert Environment.objects.get().latest_version.number == numbers[-1]


# --- Verification -----------------------------------------------------------------------------------------------------


def test_verification_is_a_job_and_a_decision(api, operator, sent, django_capture_on_commit_callbacks):
    version = small_version()

    with django_capture_on_commit_callbacks(execute=True):
        response = api.post(f"{VERSIONS}{version.code}/verify/")

    job = Job.objects.get()
    assert (response.status_code, response.json()["code"]) == (202, str(job.code))
    assert response["Location"] == f"http://testserver/api/v1/jobs/{job.code}/"
    assert (job.kind, job.parameters, job.created_by) == (
        "verify_environment", {"version": str(version.code)}, operator,
    )  # fmt: skip
    assert sent == [job.code]
    decision = Decision.objects.get()
    assert (decision.verdict, decision.actor, decision.subject_sha256) == ("verify", operator, version.content_sha256)
    assert api.get(f"{VERSIONS}{version.code}/").json()["status"] == "draft"


def test_verification_asked_for_twice_is_one_job_until_it_has_ended(api):
    url = f"{VERSIONS}{small_version().code}/verify/"

    first, again = api.post(url), api.post(url)
    assert (first.status_code, again.status_code) == (202, 202)
    assert first["Location"] == again["Location"]
    assert (Job.objects.count(), Decision.objects.count()) == (1, 1)

    problem(api.post(f"/api/v1/jobs/{first.json()['code']}/retry/"), 409, "stale_state")
    assert api.post(f"/api/v1/jobs/{first.json()['code']}/cancel/").status_code == 202
    assert api.post(url).json()["code"] != first.json()["code"]
    assert Decision.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_two_people_who_ask_at_once_get_one_job():
    version = small_version()
    users = UserFactory.create_batch(2, role=User.Role.OPERATOR)
    barrier, codes = threading.Barrier(2), []

    def ask(user):
        try:
            barrier.wait()
            codes.append(jobs.start_verification(version=version, user=user).code)
        finally:
            connection.close()

    threads = [threading.Thread(target=ask, args=(user,)) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(codes) == 2
    assert set(codes) == {Job.objects.get().code}


@pytest.mark.parametrize("status", ["retired", "discarded"])
def test_version_at_its_end_is_not_verified(api, status):
    version = small_version(status="verified" if status == "retired" else "draft")
    assert version.move(EnvironmentVersion.Status(status))

    problem(api.post(f"{VERSIONS}{version.code}/verify/"), 409, "stale_state")
    assert not Job.objects.exists()


# --- Decisions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "body", "after"),
    [
        ("verified", {"verdict": "approve"}, "verified"),
        ("verified", {"verdict": "reject", "reason_codes": ["licence", "leak"], "note": " as is "}, "rejected"),
        ("verified", {"verdict": "retire", "note": "replaced"}, "retired"),
        ("draft", {"verdict": "discard"}, "discarded"),
        ("rejected", {"verdict": "discard", "reason_codes": ["other"], "note": "too small"}, "discarded"),
    ],
)
def test_decision_moves_the_status(api, operator, before, body, after):
    version = small_version(status=before)

    response = api.post(f"{VERSIONS}{version.code}/decide/", body)

    assert response.status_code == 201
    row = response.json()
    assert response["Location"] == f"http://testserver/api/v1/decisions/{row['code']}/"
    assert (row["verdict"], row["actor"]) == (body["verdict"], "otto")
    assert (row["reason_codes"], row["note"]) == (body.get("reason_codes", []), body.get("note", ""))
    assert (row["subject_code"], row["subject_sha256"]) == (str(version.code), version.content_sha256)
    shown = api.get(f"{VERSIONS}{version.code}/").json()
    assert (shown["status"], shown["approval"]) == (after, body["verdict"])


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        ("draft", "approve"),
        ("rejected", "approve"),
        ("draft", "retire"),
        ("rejected", "reject"),
        ("verified", "discard"),
    ],
)
def test_decision_that_the_status_does_not_allow_is_a_conflict(api, status, verdict):
    version = small_version(status=status)

    body = {"verdict": verdict, "reason_codes": ["other"]}

    problem(api.post(f"{VERSIONS}{version.code}/decide/", body), 409, "stale_state")
    assert not Decision.objects.exists()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, ["/verdict"]),
        ({"verdict": "verify"}, ["/verdict"]),
        ({"verdict": "request_changes"}, ["/verdict"]),
        ({"verdict": "reject"}, ["/reason_codes"]),
        ({"verdict": "reject", "reason_codes": ["ugly"]}, ["/reason_codes/0"]),
        ({"verdict": "reject", "reason_codes": "leak"}, ["/reason_codes"]),
        ({"verdict": "reject", "reason_codes": ["leak", "other"]}, ["/note"]),
        ({"verdict": "retire", "reason_codes": ["other"], "note": " "}, ["/note"]),
        ({"verdict": "approve", "note": 7}, ["/note"]),
        ({"verdict": "approve", "note": "x" * 4001}, ["/note"]),
        ({"verdict": "approve", "reason": "leak"}, ["/reason"]),
        ([], [""]),
    ],
)
def test_wrong_decision_names_its_field(api, body, expected):
    version = small_version(status="verified")

    found = problem(api.post(f"{VERSIONS}{version.code}/decide/", body), 400, "invalid_input")

    assert pointers(found) == expected
    assert not Decision.objects.exists()


# --- Who may ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", [Scope.READ, Scope.REVIEW, Scope.JOBS])
def test_a_tokens_scope_opens_uploads_or_decisions_not_both(operator, scope):
    version = small_version(status="verified")
    key = create_api_token(user=operator, name="x", scopes=[scope]).key
    client = APIClient(headers={"Authorization": f"Bearer {key}"})

    answers = {
        "upload": upload(client, zip_pack(SMALL)).status_code,
        "verify": client.post(f"{VERSIONS}{version.code}/verify/").status_code,
        "decide": client.post(f"{VERSIONS}{version.code}/decide/", {"verdict": "approve"}).status_code,
        "read": client.get(f"{VERSIONS}{version.code}/pack/").status_code,
    }

    may_jobs, may_review = scope == Scope.JOBS, scope == Scope.REVIEW
    assert answers == {
        "upload": 200 if may_jobs else 403,
        "verify": 202 if may_jobs else 403,
        "decide": 201 if may_review else 403,
        "read": 200,
    }


def test_codes_are_the_same_in_every_installation():
    version = small_version()

    assert version.code == EnvironmentVersion.code_of(version.content_sha256)
    assert Tool.objects.filter(version=version).count() == len(set(Tool.objects.values_list("code", flat=True)))
    assert Scenario.objects.get().code != version.code
