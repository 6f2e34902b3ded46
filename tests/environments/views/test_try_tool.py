"""The page of a tool, and trying it: form, call, why it ended so; who may; what it never does."""

import dataclasses
import html
import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from environments import services
from environments.core.errors import SandboxFailedError
from environments.models import EnvironmentSession, EnvironmentVersion, ToolCall
from environments.runtime.pack.model import Condition, Pack
from environments.runtime.records import CallRecord, CallStatus
from environments.services import explanations
from environments.views import try_tool
from tests.factories.environments import UserFactory
from tests.factories.little_pack import ROWS, TEXT, object_schema, with_tool
from tests.factories.registry import finished_run, little_pack, shipped_version, unchecked_version

pytestmark = pytest.mark.django_db

PARTIAL = {"HX-Request": "true", "HX-Request-Type": "partial"}
HOSTILE = "<script>alert('x')</script>\x00\u202e"
Status = EnvironmentVersion.Status


def playable(pack: Pack | None = None) -> EnvironmentVersion:
    """The lending library, or another pack, as if it had been verified."""
    version = unchecked_version(pack or little_pack())
    assert version.move(Status.VERIFIED, reason="as the test needs it")
    return version


def page(version: EnvironmentVersion, tool: str) -> str:
    return reverse("tool_detail", args=[version.environment.name, version.number, tool])


def attempt(version: EnvironmentVersion, tool: str) -> str:
    return reverse("tool_try", args=[version.environment.name, version.number, tool])


def body(response: Any) -> str:
    return str(response.content.decode())


def words(response: Any) -> str:
    """What a person reads: no tags, entities as characters, spaces as one."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", body(response))))


def region(response: Any) -> str:
    """What a person reads in the part where the tool is tried."""
    text = body(response)
    part = text[text.index('id="try-it"') : text.index('<h2 class="section-head">Arguments</h2>')]
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", part)))


def made(client: Client, version: EnvironmentVersion, tool: str, **data: Any) -> Any:
    """The page after a call without scripts: the browser follows the redirect."""
    response = client.post(attempt(version, tool), {"action": "call", "scenario": "small", **data})
    assert response.status_code == 303, words(response)
    return client.get(response["Location"])


LEND = {"v:/member_id": "1", "v:/book_id": "bk-1", "v:/note": ""}


# --- The page ---------------------------------------------------------------------------------------------------------


def test_page_shows_interface_conditions_code_and_cases(operator_client):
    version = shipped_version()
    run = finished_run(version, effects={"ship_seeds": {"is_destructive": True, "is_idempotent": False}})
    case = version.cases.filter(tool="ship_seeds").first()

    response = operator_client.get(page(version, "ship_seeds"))

    shown = words(response)
    assert response.status_code == 200
    assert "request_id text (uuid) yes Code of the request." in shown
    assert "Left out" not in shown
    assert "Kept from before" in shown
    assert "SELECT num_seeds FROM packets WHERE packet_id = :packet_id" in shown
    assert "def ship_seeds(ctx, *," in shown
    assert "def summarise_stock" not in shown
    assert "changes or deletes rows that were there, the same call again changes more" in shown
    assert f"{case.name} {case.kind}" in shown
    assert run.case_results.count() == version.num_cases
    assert "✓" not in shown  # signs are pictures with words
    assert " held" in shown


def test_page_says_which_case_did_not_hold(operator_client):
    version = playable()
    finished_run(version, outcome="failed")

    assert "draw_once success small 1 did not hold" in words(operator_client.get(page(version, "draw")))


def test_page_answers_404_for_what_is_not_there(operator_client):
    version = playable()
    assert operator_client.get(page(version, "nothing")).status_code == 404
    assert operator_client.get(f"/environments/library/{version.number + 1}/tools/lend/").status_code == 404
    assert operator_client.get("/environments/nowhere/1/tools/lend/").status_code == 404


def test_page_needs_few_queries_however_many_cases_there_are(operator_client, django_assert_max_num_queries):
    version = shipped_version()
    finished_run(version)
    with django_assert_max_num_queries(20):
        operator_client.get(page(version, "ship_seeds"))


def test_partial_holds_the_region_alone(operator_client):
    version = playable()

    response = operator_client.get(page(version, "lend"), headers=PARTIAL)

    assert body(response).strip().startswith('<section class="section region" id="try-it"')
    assert "<html" not in body(response)
    assert "HX-Request-Type" in response["Vary"]


def test_form_begins_with_a_medium_scenario_and_offers_cases_and_own_sessions(operator_client, operator):
    version = shipped_version()
    mine = services.create_session(user=operator, version=version, scenario="simple", title="Mine")
    services.create_session(user=UserFactory.create(role="operator"), version=version, scenario="simple", title="Hers")

    shown = body(operator_client.get(page(version, "ship_seeds")))

    assert re.search(r'<option value="medium" selected>', shown)
    assert f"?session={mine.code}#try-it" in shown
    assert "Hers" not in shown
    assert "?case=" in shown


# --- Who may ----------------------------------------------------------------------------------------------------------


def test_viewer_reads_the_page_and_is_told_what_is_missing(viewer):
    client, version = Client(), playable()
    client.force_login(viewer)

    response = client.get(page(version, "lend"))

    assert response.status_code == 200
    assert "needs the permission open_sessions" in words(response)
    assert "<form" not in body(response).split('id="try-it"')[1].split("</section>")[0]
    assert client.post(attempt(version, "lend"), LEND).status_code == 403
    assert not EnvironmentSession.objects.exists()


@pytest.mark.parametrize("status", [Status.DRAFT, Status.REJECTED, Status.RETIRED])
def test_version_that_is_not_verified_says_why_it_cant_be_tried(operator_client, status):
    version = unchecked_version(little_pack())
    if status == Status.RETIRED:
        version.move(Status.VERIFIED)
    if status != version.status:
        assert version.move(status)

    shown = operator_client.get(page(version, "lend"))
    answer = operator_client.post(attempt(version, "lend"), LEND)

    assert shown.status_code == 200
    assert "only verified versions are run" in words(shown)
    assert answer.status_code == 409
    assert "only verified versions are run" in words(answer)
    assert not EnvironmentSession.objects.exists()


def test_session_of_another_person_or_version_is_as_good_as_none(operator_client, operator):
    version, other = playable(), shipped_version()
    hers = services.create_session(user=UserFactory.create(role="admin"), version=version, scenario="small")
    elsewhere = services.create_session(user=operator, version=other, scenario="simple")

    for code in (hers.code, elsewhere.code, "nonsense"):
        assert operator_client.get(page(version, "lend"), {"session": code}).status_code == 404
        assert operator_client.post(attempt(version, "lend"), {**LEND, "session": code}).status_code == 404
    assert not ToolCall.objects.exists()


def test_trying_is_a_post_with_a_token(operator):
    version = playable()
    client = Client(enforce_csrf_checks=True)
    client.force_login(operator)

    assert client.get(attempt(version, "lend")).status_code == 405
    assert client.post(attempt(version, "lend"), LEND).status_code == 403


# --- What a call did --------------------------------------------------------------------------------------------------


def test_success_is_a_row_of_an_own_session_and_shows_what_it_did(operator_client, operator):
    version = playable()

    shown = region(made(operator_client, version, "lend", **LEND))

    session = EnvironmentSession.objects.get()
    (call,) = session.transcript
    assert (session.user, session.title, session.scenario) == (operator, "Try lend", "small")
    assert call.arguments == {"member_id": 1, "book_id": "bk-1"}
    assert " success " in shown
    assert '"loan_id": "' in shown
    assert call.observation in shown
    assert "~ changed id bk-1 copies 2 → becomes 1" in shown
    assert "+ inserted id loan_" in shown
    assert "held before no_member gives 1" in shown
    assert "kept copies 2" in shown
    assert "held after loan_there gives 1" in shown
    assert "members id, is_active" in shown
    assert "In your session from small , after 1 call" in shown
    assert "Try again in this session" in shown


def test_rejection_names_the_condition_that_decided_and_what_the_others_gave(operator_client):
    version = playable()

    shown = region(made(operator_client, version, "lend", **{**LEND, "v:/book_id": "bk-2"}))

    assert "rejected no_copies" in shown
    assert "held before no_member gives 1" in shown
    assert "does not hold before no_copies this decided it gives 0 There is no copy left." in shown
    assert "not reached after one_less" in shown
    assert "None: whatever is no success is undone." in shown


def test_rejection_by_the_tool_itself_blames_no_condition(operator_client):
    shown = region(made(operator_client, playable(), "get_book", **{"v:/book_id": "none"}))

    assert "rejected no_book" in shown
    assert "this decided it" not in shown


def test_invalid_call_shows_what_the_agent_reads_at_the_fields(operator_client):
    version = playable()

    response = made(operator_client, version, "lend", **{"v:/member_id": "one", "v:/book_id": ""})

    shown, call = region(response), ToolCall.objects.get()
    details = json.loads(call.observation)["error"]["details"]
    assert call.status == "invalid"
    assert call.arguments == {"member_id": "one"}
    assert {detail["pointer"] for detail in details} == {"", "/member_id"}
    for detail in details:
        assert detail["message"] in shown
    assert "Required, but not given." in shown
    assert "The call never reached the tool. The agent would read this:" in shown
    assert body(response).count('aria-invalid="true"') == 2
    assert 'value="one"' in body(response)


def test_failure_tells_people_why_and_shows_what_the_agent_reads(operator_client):
    after = (Condition("never", "SELECT 0", "It never holds."),)
    version = playable(with_tool("def act(ctx):\n    return {}", postconditions=after))

    shown = region(made(operator_client, version, "act"))

    assert "failed environment internal_error" in shown
    assert "Why it failed: postcondition. never: It never holds. The agent does not read this." in shown
    assert "does not hold after never this decided it gives 0" in shown
    assert "The environment failed to carry out this call." in shown


def test_call_that_never_ends_is_infrastructure(operator_client):
    version = playable(with_tool("def act(ctx):\n    while True:\n        pass"))

    shown = region(made(operator_client, version, "act"))

    assert "not made infrastructure" in shown
    assert "They are not evaluated again for this call." in shown


def test_tool_of_the_simulated_user_can_be_tried(operator_client):
    version = shipped_version("repair_cafe")

    response = operator_client.post(
        attempt(version, "agree_to_house_rules"), {"scenario": "medium", "v:/item_id": "itm_aaaaaaaaaa"}
    )

    assert response.status_code == 303
    assert ToolCall.objects.get().status == "rejection"


def test_next_call_goes_on_in_the_session(operator_client):
    version = playable()
    first = made(operator_client, version, "lend", **LEND)
    code = parse_qs(urlsplit(first.request["QUERY_STRING"]).path)["session"][0]

    second = region(made(operator_client, version, "lend", **LEND, session=code))
    third = region(made(operator_client, version, "lend", **LEND, session=code))

    assert EnvironmentSession.objects.count() == 1
    assert "kept copies 1" in second
    assert "rejected no_copies" in third
    assert "after 3 calls" in third


def test_earlier_step_is_explained_where_it_was_made(operator_client, operator):
    version = playable()
    session = services.create_session(user=operator, version=version, scenario="small")
    call = ("lend", {"member_id": 1, "book_id": "bk-1"})
    services.call_session(session=session, calls=[call, ("lend", {}), call])

    first = region(operator_client.get(page(version, "lend"), {"session": session.code, "step": 0}))
    last = region(operator_client.get(page(version, "lend"), {"session": session.code, "step": 2}))

    assert "kept copies 2" in first
    assert "kept copies 1" in last


@pytest.mark.parametrize("step", ["5", "-1", "x", "²", "9" * 30])
def test_step_that_is_not_there_shows_no_call(operator_client, operator, step):
    version = playable()
    session = services.create_session(user=operator, version=version, scenario="small")

    response = operator_client.get(page(version, "lend"), {"session": session.code, "step": step})

    assert response.status_code == 200
    assert "What the call did stands here" in words(response)


def test_start_over_begins_anew_and_keeps_what_was_typed(operator_client):
    version = playable()
    made(operator_client, version, "lend", **LEND)
    session = EnvironmentSession.objects.get()

    response = operator_client.post(
        attempt(version, "lend"), {**LEND, "v:/note": "again", "session": session.code, "action": "start_over"}
    )

    session.refresh_from_db()
    assert response.status_code == 200
    assert (session.episode, session.num_calls) == (1, 0)
    assert "after 0 calls" in region(response)
    assert "again" in body(response)


def test_seed_of_a_new_session_is_the_typed_one(operator_client):
    version = playable()

    made(operator_client, version, "draw", seed="77")
    refused = operator_client.post(attempt(version, "draw"), {"scenario": "small", "seed": "7.5"})

    assert EnvironmentSession.objects.get().seed == 77
    assert refused.status_code == 422
    assert "The seed is a whole number" in words(refused)


@pytest.mark.parametrize(
    ("values", "status", "said"),
    [({"scenario": "nothing"}, 422, "has no scenario named"), ({"scenario": ""}, 422, "has no scenario named")],
)
def test_call_that_can_not_be_made_keeps_what_was_typed(operator_client, values, status, said):
    version = playable()

    response = operator_client.post(attempt(version, "lend"), {**LEND, "v:/note": "kept text", **values})

    assert response.status_code == status
    assert said in words(response)
    assert "kept text" in body(response)
    assert not EnvironmentSession.objects.open().exists()
    assert not ToolCall.objects.exists()


def test_quota_and_closed_session_answer_409(operator_client, operator, settings):
    version = playable()
    session = services.create_session(user=operator, version=version, scenario="small")
    settings.SESSION_QUOTA = 1
    full = operator_client.post(attempt(version, "lend"), {**LEND, "scenario": "small"}, headers=PARTIAL)
    services.close_session(session=session)
    closed = operator_client.post(attempt(version, "lend"), {**LEND, "session": session.code}, headers=PARTIAL)

    assert full.status_code == closed.status_code == 409
    assert "SESSION_QUOTA" in words(full)
    assert "The session is closed" in words(closed)
    assert body(closed).strip().startswith('<section class="section region" id="try-it"')


def test_lost_worker_is_said_and_nothing_is_kept(operator_client, monkeypatch):
    version = playable()

    def lost(**_: Any) -> None:
        raise SandboxFailedError("crash: the worker ended")

    monkeypatch.setattr(try_tool.services, "call_session", lost)
    response = operator_client.post(attempt(version, "lend"), {**LEND, "scenario": "small"})

    assert response.status_code == 503
    assert "crash: the worker ended" in words(response)
    assert not EnvironmentSession.objects.open().exists()


def test_call_is_shown_though_its_conditions_can_not_be_evaluated(operator_client, monkeypatch):
    version = playable()
    made(operator_client, version, "lend", **LEND)
    session = EnvironmentSession.objects.get()

    def lost(*_: Any) -> None:
        raise SandboxFailedError("crash: the worker ended")

    monkeypatch.setattr(explanations, "environment_of", lost)
    shown = region(operator_client.get(page(version, "lend"), {"session": session.code, "step": 0}))

    assert "crash: the worker ended" in shown
    assert " success " in shown
    assert "not known" in shown


def test_record_that_the_environment_no_longer_gives_is_said_to_be_suspect(operator_client, operator):
    version = playable()
    session = services.create_session(user=operator, version=version, scenario="small")
    arguments = {"member_id": 1, "book_id": "bk-1"}
    assert session.append([CallRecord(0, "lend", arguments, CallStatus.SUCCESS, None, '{"loan_id":"another"}')])

    shown = region(operator_client.get(page(version, "lend"), {"session": session.code, "step": 0}))

    assert "the environment is suspect" in shown


# --- The form ---------------------------------------------------------------------------------------------------------


def test_fields_become_json_and_back_without_a_call(operator_client):
    version = playable()

    as_json = operator_client.post(attempt(version, "lend"), {**LEND, "action": "raw", "scenario": "empty"})
    raw = re.search(r'name="raw"[^>]*>\n(.*?)</textarea>', body(as_json), re.DOTALL)
    assert raw is not None
    text = html.unescape(raw[1])
    as_fields = operator_client.post(attempt(version, "lend"), {"raw": text, "action": "form", "scenario": "empty"})

    assert json.loads(text) == {"member_id": 1, "book_id": "bk-1"}
    assert re.search(r'name="v:/book_id"[^>]*>\nbk-1</textarea>', body(as_fields))
    assert '<option value="empty" selected>' in body(as_fields)
    assert not EnvironmentSession.objects.exists()


def test_json_is_called_as_it_is_and_stays_json(operator_client):
    version = playable()

    response = made(operator_client, version, "lend", raw='{"member_id": 1, "book_id": "bk-1", "note": "x"}')

    assert ToolCall.objects.get().arguments == {"member_id": 1, "book_id": "bk-1", "note": "x"}
    assert 'name="raw"' in body(response)


@pytest.mark.parametrize(
    ("raw", "said"),
    [("{", "This is not JSON"), ("[1]", "one JSON object"), ("5", "one JSON object"), ("NaN", "not JSON")],
)
def test_text_that_is_no_object_is_refused_where_it_was_typed(operator_client, raw, said):
    version = playable()

    for action in ("call", "form"):
        response = operator_client.post(attempt(version, "lend"), {"raw": raw, "action": action, "scenario": "small"})
        assert response.status_code == 422
        assert said in words(response)
        assert html.escape(raw) in body(response)
    assert not EnvironmentSession.objects.exists()


def test_rows_come_and_go_without_a_call(operator_client):
    version = shipped_version()
    data = {"action": "add:/items", "v:/institution": "Kew", "scenario": "medium"}

    one = operator_client.post(attempt(version, "open_request"), data)
    data |= {"r:/items": ["0"], "v:/items/0/species_code": "CENCYA"}
    two = operator_client.post(attempt(version, "open_request"), data)
    data |= {"r:/items": ["0", "1"], "v:/items/1/species_code": "PAPRHO", "action": "remove:/items/0"}
    after = operator_client.post(attempt(version, "open_request"), data)

    assert 'name="v:/items/0/species_code"' in body(one)
    assert re.search(r'name="v:/items/0/species_code"[^>]*autofocus', body(one))
    assert re.search(r'name="v:/items/1/species_code"[^>]*autofocus', body(two))
    assert 'value="PAPRHO"' in body(after)
    assert "CENCYA" not in body(after).split("try-result")[0].split("Use the arguments")[0]
    assert 'value="Kew"' in body(after)
    assert not EnvironmentSession.objects.exists()


def test_every_case_of_a_pack_fills_the_form_and_makes_its_call(operator_client):
    version = shipped_version("repair_cafe")
    for case in version.cases.all():
        positions = [position for position, call in enumerate(case.calls) if call["tool"] == case.tool]
        expected = case.expect[positions[-1]]

        filled = operator_client.get(page(version, case.tool), {"case": case.name, "input": "raw"})
        raw = re.search(r'name="raw"[^>]*>\n(.*?)</textarea>', body(filled), re.DOTALL)
        assert raw is not None
        data = {"raw": html.unescape(raw[1]), "scenario": case.scenario, "case": case.name}
        response = operator_client.post(attempt(version, case.tool), data)

        assert response.status_code == 303
        call = ToolCall.objects.order_by("-pk")[0]
        assert (call.status, call.error_code) == (expected["status"], expected["code"]), case.name
        assert call.index == positions[-1]


def test_unknown_case_fills_nothing(operator_client):
    response = operator_client.get(page(playable(), "lend"), {"case": "nothing"})

    assert response.status_code == 200
    assert "Arguments of the case" not in words(response)


def test_case_with_rows_of_its_own_can_not_be_used(operator_client):
    (case,) = little_pack().cases
    pack = little_pack(cases=(dataclasses.replace(case, scenario=None, rows=ROWS),))

    response = operator_client.get(page(playable(pack), "draw"), {"case": case.name})

    assert "starts from rows of its own" in words(response)


def test_characters_that_no_record_can_keep_are_refused(operator_client):
    version = playable()

    response = operator_client.post(attempt(version, "lend"), {**LEND, "v:/note": "a\x00b", "scenario": "small"})

    assert response.status_code == 422
    assert not EnvironmentSession.objects.open().exists()
    assert not ToolCall.objects.exists()
    assert "a\x00b" not in body(response)


# --- Hostile content --------------------------------------------------------------------------------------------------


def test_whatever_a_pack_and_its_results_say_is_shown_as_text(operator_client):
    text = HOSTILE.replace("\0", "")
    told = f"def act(ctx, *, word={text!r}):\n    return {{'said': {HOSTILE!r}, 'word': word}}"
    condition = (Condition("fine", f"SELECT 1 /* {HOSTILE.replace(chr(0), '')} */", HOSTILE.replace("\0", "")),)
    inputs = object_schema((), word={**TEXT, "description": text, "default": text, "title": text})
    pack = with_tool(told, inputs=inputs, preconditions=condition)
    tool = dataclasses.replace(pack.tools[-1], title=text, description=text)
    version = playable(dataclasses.replace(pack, tools=(*pack.tools[:-1], tool)))

    response = made(operator_client, version, "act", **{"v:/word": text})

    shown = body(response)
    assert ToolCall.objects.get().status == "success"
    assert "<script>alert" not in shown
    assert "\u202e" not in shown.replace(f'value="{html.escape(text)}"', "")
    assert "\\u202e" in shown


def test_names_of_arguments_are_text_too(operator_client):
    name = '"><img src=x onerror=alert(1)>'
    inputs = object_schema((), **{name: TEXT})
    pack = with_tool("def act(ctx, *, a=None):\n    return {}", inputs=inputs, argument_names={name: "a"})
    version = playable(pack)

    response = operator_client.post(attempt(version, "act"), {f"v:/{name}": "x", "scenario": "small"})
    shown = body(operator_client.get(response["Location"]))

    assert ToolCall.objects.get().arguments == {name: "x"}
    assert "<img" not in shown
    assert html.escape(name) in shown


def test_large_results_are_folded(operator_client):
    version = playable(with_tool("def act(ctx):\n    return {'text': 'x' * 100_000}"))

    shown = body(made(operator_client, version, "act"))

    assert "characters more" in shown
    assert "97.7\xa0KB" in shown
