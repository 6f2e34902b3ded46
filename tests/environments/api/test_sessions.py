"""Sessions over the API: open, call, read, restore, fork, close, each from the stored row and only by its owner."""

import json
from datetime import timedelta
from uuid import UUID

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone

from environments import services
from environments.api.throttling import MethodThrottle
from environments.core.access import Scope
from environments.core.errors import SandboxFailedError
from environments.models import EnvironmentSession, EnvironmentVersion, ToolCall
from environments.runtime.transcripts import read_transcript
from environments.services import create_api_token
from tests.environments.api.test_jobs import NOWHERE, pointers, problem
from tests.factories.environments import UserFactory
from tests.factories.little_pack import TOOL_LIST, TOOLS, object_schema, tool
from tests.factories.registry import little_pack, shipped_version, unchecked_version

pytestmark = pytest.mark.django_db
URL = "/api/v1/sessions/"
LEND = {"tool": "lend", "arguments": {"member_id": 1, "book_id": "bk-1"}}
DRAW = {"tool": "draw", "arguments": {}}
VERBS = [
    ("get", ""), ("get", "calls/"), ("get", "state/"), ("get", "diff/"), ("get", "snapshot/"), ("get", "transcript/"),
    ("get", "tools/"), ("post", "call/"), ("post", "calls/"), ("post", "diff/"), ("post", "restore/"),
    ("post", "reset/"), ("post", "fork/"), ("post", "close/"),
]  # fmt: skip
BODIES = {
    "call/": DRAW, "calls/": {"calls": [DRAW]}, "diff/": {"since": "x"}, "restore/": {"snapshot": "x"}, "reset/": {},
    "fork/": {}, "close/": {},
}  # fmt: skip
CONFIRM = tool("confirm", "write", object_schema(), audience="user")


def library_version(**changes):
    """The lending library, verified, with a tool that only the user may call."""
    source = f"{TOOLS}\n\ndef confirm(ctx):\n    return {{'ok': True}}\n"
    parts = {"tools": (*TOOL_LIST, CONFIRM), "tools_py": source, **changes}
    version = services.import_pack(
        pack=little_pack(**parts), origin=EnvironmentVersion.Origin.UPLOADED, user=None
    ).version
    assert version.move(EnvironmentVersion.Status.VERIFIED)
    return version


@pytest.fixture
def version(db):
    return library_version()


@pytest.fixture
def url(api, version):
    """Address of a new session."""
    return opened(api)


def opened(api, **body):
    response = api.post(URL, {"environment": "library", "scenario": "small", **body})
    assert response.status_code == 201, response.content
    return response["Location"]


def call(api, url, tool="draw", **arguments):
    response = api.post(f"{url}call/", {"tool": tool, "arguments": arguments})
    assert response.status_code == 200, response.content
    return response.json()


def snapshot_of(api, url):
    return api.get(f"{url}snapshot/").json()["snapshot"]


def row(url):
    return EnvironmentSession.objects.get(code=url.rstrip("/").rsplit("/", 1)[1])


# --- Opening ----------------------------------------------------------------------------------------------------------


def test_session_opens_on_the_newest_verified_version(api, version, operator):
    response = api.post(URL, {"environment": "library", "scenario": "small", "seed": 11, "title": "Mine"})

    assert response.status_code == 201
    session = EnvironmentSession.objects.get()
    body = response.json()
    assert response["Location"] == f"http://testserver{URL}{session.code}/"
    assert body["mcp_url"] == f"http://testserver/mcp/s/{session.code}/"
    assert (body["environment"], body["version"], body["version_number"]) == ("library", str(version.code), 1)
    assert (body["scenario"], body["seed"], body["title"]) == ("small", 11, "Mine")
    assert (body["status"], body["num_calls"], body["episode"], body["is_leased"]) == ("open", 0, 0, False)
    assert body["expires_at"] > body["used_at"]
    assert (session.user, session.token.name) == (operator, "test")


def test_session_opens_on_the_version_given(api, version):
    other = library_version(title="Another")

    first = api.post(URL, {"version": str(version.code), "scenario": "small"}).json()
    second = api.post(URL, {"environment": "library", "scenario": "empty"}).json()

    assert (first["version"], second["version"]) == (str(version.code), str(other.code))


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/scenario"),
        ({"scenario": "small"}, "/environment"),
        ({"scenario": "small", "environment": "library", "version": str(NOWHERE)}, "/environment"),
        ({"scenario": "small", "environment": "nothing"}, "/environment"),
        ({"scenario": "small", "environment": 5}, "/environment"),
        ({"scenario": "small", "version": str(NOWHERE)}, "/version"),
        ({"scenario": "small", "version": "x"}, "/version"),
        ({"scenario": "none", "environment": "library"}, "/scenario"),
        ({"scenario": "small", "environment": "library", "seed": 2**53 + 1}, "/seed"),
        ({"scenario": "small", "environment": "library", "seed": 10**69}, "/seed"),
        ({"scenario": "small", "environment": "library", "seed": 1.5}, "/seed"),
        ({"scenario": "small", "environment": "library", "seed": "1"}, "/seed"),
        ({"scenario": "small", "environment": "library", "seed": True}, "/seed"),
        ({"scenario": "small", "environment": "library", "title": "x" * 201}, "/title"),
        ({"scenario": "small", "environment": "library", "sede": 1}, "/sede"),
    ],
)
def test_session_is_not_opened_by_a_body_that_is_wrong(api, version, body, pointer):
    assert pointers(problem(api.post(URL, body), 400, "invalid_input")) == [pointer]
    assert not EnvironmentSession.objects.exists()


@pytest.mark.parametrize("status", ["draft", "rejected", "retired"])
def test_session_is_not_opened_on_a_version_that_is_not_verified(api, version, status):
    EnvironmentVersion.objects.update(status=status)
    version.environment.point_at_versions()

    problem(api.post(URL, {"version": str(version.code), "scenario": "small"}), 409, "not_verified")
    problem(api.post(URL, {"environment": "library", "scenario": "small"}), 409, "not_verified")


def test_quota_of_open_sessions_holds_for_each_person(api, version, settings):
    settings.SESSION_QUOTA = 2
    first, second = opened(api), opened(api)

    problem(api.post(URL, {"environment": "library", "scenario": "small"}), 429, "quota_exceeded")
    problem(api.post(f"{first}fork/", {}), 429, "quota_exceeded")

    api.post(f"{second}close/")
    opened(api)
    other = UserFactory.create(role="operator")
    services.create_session(user=other, version=version, scenario="small")


# --- Calling ----------------------------------------------------------------------------------------------------------


def test_call_gives_its_record_and_is_stored(api, url):
    found = call(api, url, "lend", member_id=1, book_id="bk-1")

    assert (found["index"], found["status"], found["code"]) == (0, "success", None)
    assert json.loads(found["observation"])["lent_at"] == "2026-03-02T09:00:00Z"
    assert [(each["table"], each["kind"]) for each in found["changes"]] == [("books", "update"), ("loans", "insert")]
    assert ["loans", "book_id"] in found["writes"]
    assert ["books", "copies"] in found["condition_reads"]
    stored = ToolCall.objects.get().to_core()
    assert (stored.index, stored.observation) == (0, found["observation"])
    assert row(url).num_calls == 1


def test_batch_gives_a_record_for_each_call(api, url):
    calls = [LEND, {"tool": "none", "arguments": {}}, {"tool": "lend", "arguments": {"x": 1}}, DRAW,
             {"tool": "get_book", "arguments": {"book_id": "none"}}]  # fmt: skip

    records = api.post(f"{url}calls/", {"calls": calls}).json()

    assert [record["index"] for record in records] == [0, 1, 2, 3, 4]
    assert [record["status"] for record in records] == ["success", "invalid", "invalid", "success", "rejection"]
    assert [record["code"] for record in records] == [None, "unknown_tool", "invalid_arguments", None, "no_book"]
    assert [each.index for each in ToolCall.objects.order_by("pk")] == [0, 1, 2, 3, 4]


def test_calls_answer_as_in_process(api, url, version):
    calls = [LEND, DRAW, {"tool": "give_back", "arguments": {"loan_id": "loan_a"}}, DRAW, LEND]
    live = services.environment_of(version).open("small")

    expected = live.calls([(each["tool"], each["arguments"]) for each in calls])
    single = [call(api, url, each["tool"], **each["arguments"]) for each in calls]
    batch = api.post(f"{opened(api)}calls/", {"calls": calls}).json()

    for made in (single, batch):
        assert [record["observation"] for record in made] == [record.observation for record in expected]
    assert api.get(f"{url}state/").json() == live.state()
    assert json.loads(snapshot_of(api, url)) == json.loads(live.snapshot())


@pytest.mark.parametrize(
    ("body", "pointers_"),
    [
        ({}, ["/calls"]),
        ({"calls": []}, ["/calls"]),
        ({"calls": {}}, ["/calls"]),
        ({"calls": [DRAW] * 257}, ["/calls"]),
        ({"calls": [5]}, ["/calls/0"]),
        ({"calls": [DRAW, {"tool": 5, "arguments": []}]}, ["/calls/1/tool", "/calls/1/arguments"]),
        ({"calls": [{**DRAW, "audience": "user"}]}, ["/calls/0/audience"]),
        ({"calls": [DRAW], "audience": "judge"}, ["/audience"]),
        ({"calls": [DRAW], "more": 1}, ["/more"]),
    ],
)
def test_batch_that_is_wrong_makes_no_call(api, url, body, pointers_):
    assert pointers(problem(api.post(f"{url}calls/", body), 400, "invalid_input")) == pointers_
    assert not ToolCall.objects.exists()


@pytest.mark.parametrize("body", [{}, {"tool": "draw"}, {"tool": "draw", "arguments": []}, {"arguments": {}}, []])
def test_call_that_is_wrong_is_not_made(api, url, body):
    problem(api.post(f"{url}call/", body), 400, "invalid_input")
    assert not ToolCall.objects.exists()


def test_agent_cannot_call_the_users_tools_nor_the_user_the_agents(api, url):
    asked = {"tool": "confirm", "arguments": {}}

    as_agent = api.post(f"{url}call/", asked).json()
    as_user = api.post(f"{url}call/", {**asked, "audience": "user"}).json()
    crossed = api.post(f"{url}calls/", {"calls": [DRAW], "audience": "user"}).json()[0]

    assert (as_agent["code"], as_user["status"], crossed["code"]) == ("unknown_tool", "success", "unknown_tool")


def nested(levels):
    return '{"tool": "get_book", "arguments": ' + '{"a":' * levels + "1" + "}" * levels + "}"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('{"tool": "draw", "arguments": {"count": %s}}' % ("1" * 70), 200),
        ('{"tool": "draw", "arguments": {"count": 18446744073709551616}}', 200),
        ('{"tool": "get_book", "arguments": {"book_id": "\\u0000"}}', 400),
        ('{"tool": "get_book", "arguments": {"book_id": "\\ud800"}}', 400),
        ('{"tool": "get_book", "arguments": {"book_id": NaN}}', 400),
        ('{"tool": "get_book", "arguments": {"book_id": 1e999}}', 400),
        (nested(60), 200),
        (nested(64), 400),
        (nested(100_000), 400),
        ('{"tool": "get_book", "arguments": {"book_id": "%s"}}' % ("x" * 1_900_000), 200),
        ('{"tool": "get_book", "arguments": {"book_id": "%s"}}' % ("x" * 10_000_000), 413),
        ('{"tool": "%s", "arguments": {}}' % ("x" * 201), 400),
        ('{"tool": "", "arguments": {}}', 200),
        ('{"tool": "<img src=x>", "arguments": {"<b>": "<script>"}}', 200),
    ],
)  # fmt: skip
def test_arguments_from_hell_have_a_proper_answer_each(api, url, text, status):
    response = api.generic("POST", f"{url}call/", text, content_type="application/json")

    assert response.status_code == status, response.content[:300]
    if status == 200:
        record = response.json()
        assert record["status"] in {"invalid", "rejection"}
        assert record["arguments"] == json.loads(text)["arguments"]
        stored = ToolCall.objects.get()
        assert (stored.arguments, stored.observation) == (record["arguments"], record["observation"])
    else:
        assert not ToolCall.objects.exists()
    assert call(api, url)["status"] == "success"


def test_long_integers_are_refused_as_in_process(api, url, version):
    arguments = {"count": int("1" * 70)}
    expected = services.environment_of(version).open("small").call("draw", arguments)

    found = call(api, url, **arguments)

    assert (found["code"], found["observation"]) == (expected.code, expected.observation)
    assert found["arguments"] == arguments
    again = api.get(f"{url}calls/").json()["results"][0]
    assert again["arguments"] == arguments
    assert b"1" * 70 in api.get(f"{url}transcript/").content


def test_session_holds_no_more_calls_than_the_settings_say(api, url, settings):
    settings.SESSION_MAX_CALLS = 3
    call(api, url)

    problem(api.post(f"{url}calls/", {"calls": [DRAW] * 3}), 429, "quota_exceeded")
    assert row(url).num_calls == 1
    assert len(api.post(f"{url}calls/", {"calls": [DRAW] * 2}).json()) == 2
    problem(api.post(f"{url}call/", DRAW), 429, "quota_exceeded")
    api.post(f"{url}reset/", {})
    assert call(api, url)["index"] == 0


# --- Reading ----------------------------------------------------------------------------------------------------------


def test_recorded_calls_come_in_pages_without_their_changes(api, url, django_assert_max_num_queries):
    api.post(f"{url}calls/", {"calls": [LEND, DRAW, DRAW, DRAW, DRAW]})

    with django_assert_max_num_queries(4):  # token, session, calls
        first = api.get(f"{url}calls/", {"page_size": 2}).json()
    second = api.get(first["next"]).json()

    assert [each["index"] for each in first["results"] + second["results"]] == [0, 1, 2, 3]
    assert set(first["results"][0]) == {
        "index", "tool", "arguments", "status", "code", "observation", "reads", "writes", "condition_reads",
        "microseconds", "at",
    }  # fmt: skip
    assert api.get(second["previous"]).json()["results"] == first["results"]


def test_recorded_calls_show_their_changes_when_asked(api, url):
    made = call(api, url, "lend", member_id=1, book_id="bk-1")

    (found,) = api.get(f"{url}calls/", {"changes": "true"}).json()["results"]

    assert {name: found[name] for name in made} == made
    assert "changes" not in api.get(f"{url}calls/", {"changes": "false"}).json()["results"][0]


def test_recorded_calls_of_an_earlier_episode_stay_readable(api, url):
    call(api, url)
    api.post(f"{url}reset/", {"scenario": "empty"})
    call(api, url, "list_books")

    now, before = api.get(f"{url}calls/").json(), api.get(f"{url}calls/", {"episode": 0}).json()

    assert ([each["tool"] for each in now["results"]], [each["tool"] for each in before["results"]]) == (
        ["list_books"], ["draw"],
    )  # fmt: skip
    assert api.get(f"{url}calls/", {"episode": 7}).json()["results"] == []


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("calls/", {"episode": "-1"}), ("calls/", {"episode": "x"}), ("calls/", {"changes": "yes"}),
        ("calls/", {"cursor": "x"}), ("calls/", {"page_size": "257"}), ("calls/", {"tool": "draw"}),
        ("state/", {"table": "none"}), ("state/", {"table": "\x00"}), ("state/", {"at": "1"}),
        ("tools/", {"audience": "judge"}), ("diff/", {"since": "x"}), ("snapshot/", {"at": "1"}),
        ("transcript/", {"episode": "1"}),
    ],
)  # fmt: skip
def test_parameters_that_are_wrong_are_named(api, url, path, query):
    assert pointers(problem(api.get(url + path, query), 400, "invalid_input")) == [f"?{next(iter(query))}"]


def test_state_is_the_stored_one_whole_or_of_one_table(api, url):
    call(api, url, "lend", member_id=1, book_id="bk-1")

    whole = api.get(f"{url}state/").json()
    books = api.get(f"{url}state/", {"table": "books"}).json()

    assert list(whole) == ["members", "books", "loans", "tickets", "shelf"]
    assert books == {"books": whole["books"]}
    assert whole["books"][0] == {"id": "bk-1", "title": "Moss", "copies": 1, "weight": 0.5, "tags": None}
    assert len(whole["loans"]) == 3


def test_diff_is_since_the_scenario_or_since_a_snapshot(api, url):
    assert api.get(f"{url}diff/").json() == []
    call(api, url, "lend", member_id=1, book_id="bk-1")
    snapshot = snapshot_of(api, url)
    call(api, url)

    assert {each["table"] for each in api.get(f"{url}diff/").json()} == {"books", "loans", "tickets"}
    (since,) = api.post(f"{url}diff/", {"since": snapshot}).json()
    assert (since["table"], since["kind"], since["before"]) == ("tickets", "insert", None)
    elsewhere = snapshot_of(api, opened(api, scenario="empty"))
    assert pointers(problem(api.post(f"{url}diff/", {"since": elsewhere}), 400, "invalid_input")) == ["/since"]


def test_transcript_plays_again_anywhere(api, url, version):
    api.post(f"{url}calls/", {"calls": [LEND, DRAW, {"tool": "none", "arguments": {}}]})

    response = api.get(f"{url}transcript/")

    assert response["Content-Disposition"] == f'attachment; filename="{row(url).code}.transcript.json"'
    transcript = read_transcript(response.content)
    environment = services.environment_of(version)
    assert transcript.replay(environment, ("snapshot",)).snapshot.decode() == snapshot_of(api, url)


def test_tools_are_function_schemas_of_one_audience(api, url):
    agents, users = api.get(f"{url}tools/").json(), api.get(f"{url}tools/", {"audience": "user"}).json()

    assert [each["function"]["name"] for each in agents] == [each.name for each in TOOL_LIST]
    assert [each["function"]["name"] for each in users] == ["confirm"]
    assert agents[0]["function"]["parameters"]["required"] == ["book_id"]


def test_list_shows_the_callers_own_newest_first(api, version, django_assert_max_num_queries):
    urls = [opened(api, title=str(number)) for number in range(5)]
    services.create_session(user=UserFactory.create(role="operator"), version=version, scenario="small")
    shipped = shipped_version("tide_gauges")
    api.post(URL, {"version": str(shipped.code), "scenario": "simple"})
    api.post(f"{urls[0]}close/")

    with django_assert_max_num_queries(4):  # token, count, keys, rows
        found = api.get(URL).json()

    assert found["count"] == 6
    assert [each["environment"] for each in found["results"]] == ["tide_gauges", *["library"] * 5]
    named = api.get(URL, {"environment": "library", "status": "open"}).json()["results"]
    assert [each["title"] for each in named] == ["4", "3", "2", "1"]
    assert api.get(URL, {"status": ["closed", "parked"]}).json()["count"] == 1
    problem(api.get(URL, {"status": "x"}), 400, "invalid_input")


# --- Restoring, resetting, forking, closing ---------------------------------------------------------------------------


def test_snapshot_restores_in_any_session_of_the_version(api, url):
    call(api, url, "lend", member_id=1, book_id="bk-1")
    snapshot, other = snapshot_of(api, url), opened(api, scenario="empty", seed=3)

    body = api.post(f"{other}restore/", {"snapshot": snapshot}).json()

    assert (body["episode"], body["num_calls"], body["scenario"]) == (1, 0, "small")
    assert snapshot_of(api, other) == snapshot
    assert call(api, other)["observation"] == call(api, url)["observation"]
    transcript = read_transcript(api.get(f"{other}transcript/").content)
    assert (transcript.start.snapshot.decode(), len(transcript.records)) == (snapshot, 1)


def test_reset_starts_anew(api, url):
    call(api, url)
    first = snapshot_of(api, opened(api))

    body = api.post(f"{url}reset/", {}).json()
    assert (body["episode"], body["num_calls"], body["scenario"], snapshot_of(api, url)) == (1, 0, "small", first)
    body = api.post(f"{url}reset/", {"scenario": "empty", "seed": 9}).json()
    assert (body["episode"], body["scenario"], body["seed"]) == (2, "empty", 9)
    assert api.get(f"{url}state/", {"table": "books"}).json() == {"books": []}
    problem(api.post(f"{url}reset/", {"scenario": "none"}), 400, "invalid_input")
    problem(api.post(f"{url}reset/", {"seed": "x"}), 400, "invalid_input")


@pytest.mark.parametrize("at", [None, 0, 1, 2])
def test_fork_has_the_same_calls_and_then_its_own(api, url, at):
    api.post(f"{url}calls/", {"calls": [LEND, DRAW]})
    original = snapshot_of(api, url)

    response = api.post(f"{url}fork/", {"at": at, "title": "Fork"} if at is not None else {})

    assert response.status_code == 201
    body, fork = response.json(), response["Location"]
    count = 2 if at is None else at
    assert (body["num_calls"], body["forked_calls"], body["forked_from"]) == (count, count, str(row(url).code))
    assert body["code"] != str(row(url).code)
    theirs, mine = (api.get(f"{address}calls/").json()["results"] for address in (url, fork))
    assert mine == theirs[:count]
    assert call(api, fork)["index"] == count
    assert snapshot_of(api, url) == original


@pytest.mark.parametrize("at", [-1, 3, 1.5, "1", True, 10**20])
def test_fork_at_a_call_that_there_is_not_is_refused(api, url, at):
    api.post(f"{url}calls/", {"calls": [DRAW, DRAW]})

    assert pointers(problem(api.post(f"{url}fork/", {"at": at}), 400, "invalid_input")) == ["/at"]


def test_closed_session_can_be_read_but_not_played(api, url):
    call(api, url)

    body = api.post(f"{url}close/").json()

    assert body["status"] == "closed"
    assert body["closed_at"]
    assert api.post(f"{url}close/").json()["closed_at"] == body["closed_at"]
    for path in ("call/", "calls/", "restore/", "reset/"):
        problem(api.post(url + path, BODIES[path]), 409, "session_closed")
    for path in ("state/", "diff/", "snapshot/"):
        problem(api.get(url + path), 409, "session_closed")
    assert len(api.get(f"{url}calls/").json()["results"]) == 1
    assert len(read_transcript(api.get(f"{url}transcript/").content).records) == 1
    assert call(api, api.post(f"{url}fork/", {})["Location"])["index"] == 1


# --- Whose it is ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("verb", "path"), VERBS)
@pytest.mark.parametrize("role", ["operator", "admin"])
def test_another_persons_session_is_not_found_whatever_is_asked(api, url, verb, path, role):
    call(api, url)
    before = EnvironmentSession.objects.values().get()
    other = Client()
    other.force_login(UserFactory.create(role=role))
    asked = url + path

    found = other.get(asked) if verb == "get" else other.post(asked, BODIES[path], content_type="application/json")
    nothing = asked.replace(str(row(url).code), str(UUID(int=7, version=4)))
    same = other.get(nothing) if verb == "get" else other.post(nothing, BODIES[path], content_type="application/json")

    body, expected = problem(found, 404, "not_found"), problem(same, 404, "not_found")
    assert body["title"] == expected["title"]
    assert body["detail"].rsplit(" ", 1)[0] == expected["detail"].rsplit(" ", 1)[0], "nothing tells that it is there"
    assert EnvironmentSession.objects.values().get() == before
    assert other.get(URL).json()["count"] == 0


def test_codes_do_not_follow_from_one_another(api, version):
    codes = [row(opened(api)).code for _ in range(8)]

    assert all(code.version == 4 for code in codes)
    assert len({code.hex[:8] for code in codes}) == 8


@pytest.mark.parametrize(("verb", "path"), VERBS)
@pytest.mark.parametrize("scope", [Scope.READ, Scope.JOBS, Scope.SESSIONS])
def test_changing_needs_the_scope_and_reading_does_not(operator, api, url, verb, path, scope):
    issued = create_api_token(user=operator, name="scoped", scopes=[scope])
    client = Client(headers={"Authorization": f"Bearer {issued.key}"})
    asked = url + path

    found = client.get(asked) if verb == "get" else client.post(asked, BODIES[path], content_type="application/json")

    if verb == "get" or path == "diff/" or scope == Scope.SESSIONS:
        assert found.status_code in {200, 201, 400}, found.content
    else:
        problem(found, 403, "permission_denied")


def test_session_of_another_token_of_the_same_person_is_theirs(operator, api, url):
    issued = create_api_token(user=operator, name="second", scopes=[Scope.SESSIONS])
    client = Client(headers={"Authorization": f"Bearer {issued.key}"})

    assert client.post(f"{url}call/", DRAW, content_type="application/json").json()["status"] == "success"


# --- Snapshots from hell ----------------------------------------------------------------------------------------------


def edited(text, **parts):
    return json.dumps({**json.loads(text), **parts})


@pytest.mark.parametrize("path", ["restore/", "diff/"])
@pytest.mark.parametrize(
    "edit",
    [
        lambda text: "",
        lambda text: "null",
        lambda text: text[:-1],
        lambda text: text * 2,
        lambda text: "[" * 500_000,
        lambda text: text.replace('"changes":', '"more":' + '{"a":' * 20_000 + "1" + "}" * 20_000 + ',"changes":'),
        lambda text: text.replace('"', "'"),
        lambda text: edited(text, content_sha256="0" * 64),
        lambda text: edited(text, format="envfactory-snapshot/9"),
        lambda text: edited(text, seed=10**69),
        lambda text: edited(text, seed="x"),
        lambda text: edited(text, scenario="none"),
        lambda text: edited(text, scenario=None),
        lambda text: edited(text, scenario={"name": "mine", "level": "simple", "clock_start": "2026-03-02T09:00:00Z",
                                            "seed": 1, "rows": {}}),
        lambda text: edited(text, clock="9999-12-31T23:59:00Z", num_calls=2**31),
        lambda text: edited(text, ids={"loans": 2**62}),
        lambda text: edited(text, ids=5),
        lambda text: edited(text, changes=[{}]),
        lambda text: edited(text, changes=[{"table": "none", "key": {}, "kind": "insert", "after": {}}]),
        lambda text: edited(text, changes=[{"table": "members", "key": {"id": 9}, "kind": "insert", "before": None,
                                            "after": {"id": 9, "name": "x", "email": "x", "is_active": 7}}]),
        lambda text: edited(text, changes=[{"table": "loans", "key": {"id": "x"}, "kind": "insert", "before": None,
                                            "after": {"id": "x", "member_id": 99, "book_id": "bk-1",
                                                      "lent_at": "x", "note": None}}]),
        lambda text: edited(text, changes=[{"table": "members", "key": {"id": [1]}, "kind": "delete", "before": {}}]),
    ],
)  # fmt: skip
def test_snapshot_that_is_none_is_refused_and_harms_nobody(api, url, path, edit):
    call(api, url, "lend", member_id=1, book_id="bk-1")
    other = opened(api)
    state, text = snapshot_of(api, url), snapshot_of(api, other)
    workers = {each.process_id for each in services.worker_pool().workers}

    body = {"snapshot" if path == "restore/" else "since": edit(state)}
    found = api.post(url + path, body)

    assert pointers(problem(found, 400, "invalid_input")) == [f"/{next(iter(body))}"]
    assert len(found.json()["detail"]) < 700
    assert (snapshot_of(api, url), snapshot_of(api, other)) == (state, text)
    assert row(url).episode == 0
    assert {each.process_id for each in services.worker_pool().workers} >= workers, "none of them was ended"
    assert call(api, url)["index"] == 1


@pytest.mark.parametrize("value", [None, 5, {}, [], True])
def test_snapshot_that_is_no_text_is_refused(api, url, value):
    assert pointers(problem(api.post(f"{url}restore/", {"snapshot": value}), 400, "invalid_input")) == ["/snapshot"]
    assert pointers(problem(api.post(f"{url}diff/", {"since": value}), 400, "invalid_input")) == ["/since"]


def test_snapshot_that_is_too_long_is_refused(api, url):
    problem(api.post(f"{url}restore/", {"snapshot": "x" * (2 << 20)}), 413, "payload_too_large")


# --- Leases, parking, quarantine, workers -----------------------------------------------------------------------------


def lease(url, **ago):
    until = timezone.now() + timedelta(seconds=10) - timedelta(**ago)
    EnvironmentSession.objects.filter(code=row(url).code).update(leased_until=until, fence=F("fence") + 1)


@pytest.mark.parametrize("path", ["call/", "calls/", "restore/", "reset/"])
def test_session_that_an_agent_holds_is_not_changed(api, url, path):
    call(api, url)
    before = snapshot_of(api, url)
    lease(url)

    problem(api.post(url + path, BODIES[path]), 409, "session_leased")

    assert (snapshot_of(api, url), row(url).num_calls, row(url).episode) == (before, 1, 0)
    assert api.get(url).json()["is_leased"] is True


def test_session_that_an_agent_holds_can_be_read_forked_and_closed(api, url):
    call(api, url)
    lease(url)

    for path in ("state/", "diff/", "snapshot/", "calls/", "transcript/", "tools/"):
        assert api.get(url + path).status_code == 200
    assert api.post(f"{url}fork/", {}).status_code == 201
    fence = row(url).fence
    assert api.post(f"{url}close/").json()["status"] == "closed"
    assert (row(url).fence, row(url).leased_until) == (fence + 1, None)


def test_lease_that_ended_is_taken_from_its_holder(api, url):
    lease(url, seconds=11)
    holder = row(url)

    call(api, url)

    assert (row(url).fence, row(url).leased_until) == (holder.fence + 1, None)
    assert holder.append([]) is False, "the holder can store nothing more"


def test_parked_session_wakes_when_it_is_played(api, url):
    call(api, url)
    EnvironmentSession.objects.update(used_at=timezone.now() - timedelta(days=2))
    assert services.park_idle_sessions() == 1
    assert api.get(url).json()["status"] == "parked"

    assert len(api.get(f"{url}state/").json()["tickets"]) == 1
    assert api.get(url).json()["status"] == "parked", "reading changes nothing"
    assert call(api, url)["index"] == 1
    assert api.get(url).json()["status"] == "open"


def test_waking_counts_as_opening(api, url, settings):
    call(api, url)
    EnvironmentSession.objects.update(status="parked")
    settings.SESSION_QUOTA = 1
    opened(api)

    problem(api.post(f"{url}call/", DRAW), 429, "quota_exceeded")
    assert row(url).status == "parked"


def test_sessions_of_a_version_that_was_rejected_run_no_more(api, url, version):
    call(api, url)
    assert version.move(EnvironmentVersion.Status.REJECTED)

    problem(api.post(f"{url}call/", DRAW), 409, "not_verified")
    problem(api.get(f"{url}state/"), 409, "not_verified")
    problem(api.post(f"{url}fork/", {}), 409, "not_verified")
    assert len(api.get(f"{url}calls/").json()["results"]) == 1


def test_sessions_of_a_version_that_was_retired_go_on(api, url, version):
    assert version.move(EnvironmentVersion.Status.RETIRED)

    assert call(api, url)["status"] == "success"


def test_zero_character_that_a_tool_stores_is_kept_and_shown(api, operator):
    source = f"{TOOLS}\n\ndef nul(ctx):\n    ctx.db.run(\"UPDATE books SET title = 'a' || char(0)\")\n    return {{}}\n"
    odd = library_version(tools=(*TOOL_LIST, tool("nul", "write", object_schema())), tools_py=source, title="Odd")
    place = f"{URL}{services.create_session(user=operator, version=odd, scenario='small').code}/"

    made = call(api, place, "nul")

    assert made["status"] == "success"
    assert any("\0" in change["after"]["title"] for change in made["changes"])
    for path in ("calls/?changes=true", "state/", "diff/", "transcript/"):
        assert api.get(f"{place}{path}").status_code == 200
    assert ToolCall.objects.for_outline().get().num_changes == len(made["changes"])


def test_caller_is_told_when_the_worker_does_not_take_the_pack(api, operator):
    broken = unchecked_version(little_pack(tools_py="def nothing(ctx):\n    return {}\n"))
    assert broken.move(EnvironmentVersion.Status.VERIFIED)
    session = EnvironmentSession.objects.create(user=operator, version=broken, scenario="small")

    problem(api.post(f"{URL}{session.code}/call/", DRAW), 503, "sandbox_failed")


def test_caller_is_told_when_no_worker_can_be_had(api, url, monkeypatch):
    call(api, url)

    def fail(*args, **options):
        raise SandboxFailedError("sandbox_unavailable: no lock")

    monkeypatch.setattr("environments.services.sessions.restore_session", fail)
    monkeypatch.setattr("environments.services.sessions._kept.take", lambda row: None)
    problem(api.post(f"{url}call/", DRAW), 503, "sandbox_failed")
    assert row(url).num_calls == 1


def test_unknown_methods_are_told(api, url):
    problem(api.delete(url), 405, "method_not_allowed")
    problem(api.put(url, {}), 405, "method_not_allowed")
    problem(api.get(f"{url}call/"), 405, "method_not_allowed")


def test_batch_takes_a_handful_of_queries(api, url, django_assert_max_num_queries):
    call(api, url)

    with django_assert_max_num_queries(6):  # token, session, savepoint, lock, calls, savepoint
        api.post(f"{url}calls/", {"calls": [DRAW] * 10})


def test_calls_are_counted_apart_from_other_changes(api, url, monkeypatch):
    monkeypatch.setattr(MethodThrottle, "THROTTLE_RATES", {"read": "9/min", "write": "1/min", "call": "3/min"})

    assert [api.post(f"{url}call/", DRAW).status_code for _ in range(2)] == [200, 200]
    assert api.post(f"{url}calls/", {"calls": [DRAW]}).status_code == 200
    problem(api.post(f"{url}call/", DRAW), 429, "throttled")
    problem(api.post(f"{url}calls/", {"calls": [DRAW]}), 429, "throttled")
    assert api.post(f"{url}reset/", {}).status_code == 200
    problem(api.post(f"{url}reset/", {}), 429, "throttled")
    assert api.get(f"{url}calls/").status_code == 200
