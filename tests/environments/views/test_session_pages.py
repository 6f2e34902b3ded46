"""The replay of sessions as pages: every view whole, as a partial, refused, and with nothing but HTML."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from environments import services
from environments.models import EnvironmentSession, EnvironmentVersion, ToolCall, User
from tests.factories.sessions import add_calls, open_session, played_session

pytestmark = pytest.mark.django_db

NO_CODE = "00000000-0000-4000-8000-000000000000"
PARTIAL = {"HX-Request": "true", "HX-Request-Type": "partial"}
NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\x07\u202eevil\u2066\u200b\x7f\x85"


def text(response: Any) -> str:
    return str(response.content.decode())


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def address(session: EnvironmentSession, rest: str = "") -> str:
    return f"/sessions/{session.code}/{rest}"


@pytest.fixture
def session(operator: User) -> EnvironmentSession:
    """A session with real calls, and so with changes."""
    return played_session(operator)


@pytest.fixture
def bare(operator: User) -> EnvironmentSession:
    """A session without calls; none of its pages but the state needs the worker."""
    return open_session(operator)


def write(session: EnvironmentSession) -> ToolCall:
    """The first call that changed something."""
    call = session.transcript.filter(tool="add_species", status="success").first()
    assert call is not None
    return call


class TestList:
    def test_shows_only_the_person_s_own(self, operator_client: Client, bare: EnvironmentSession, admin: User) -> None:
        other = open_session(admin)

        page = text(operator_client.get("/sessions/"))

        assert "1 of 1" in page
        assert str(bare.code) in page
        assert str(other.code) not in page

    def test_narrows_by_status_and_environment_and_says_how_many_each_leaves(
        self, operator: User, operator_client: Client, bare: EnvironmentSession
    ) -> None:
        services.close_session(session=open_session(operator))
        tides = open_session(operator, "tide_gauges")

        closed = text(operator_client.get("/sessions/?status=closed"))
        both = text(operator_client.get("/sessions/?status=open&environment=tide_gauges"))

        assert "1 of 1" in closed
        assert str(bare.code) not in closed
        assert re.search(r'\?status=open"[^>]*>Open <span class="count">2<', closed)
        assert "1 of 1" in both
        assert str(tides.code) in both

    def test_sends_only_its_region_when_htmx_asks(self, operator_client: Client) -> None:
        response = operator_client.get("/sessions/", headers=PARTIAL)

        assert text(response).strip().startswith("<section")
        assert "You have none" in text(response)

    def test_says_which_filters_leave_nothing(self, operator_client: Client, bare: EnvironmentSession) -> None:
        assert "No session fits" in text(operator_client.get("/sessions/?status=parked"))

    def test_costs_as_many_queries_for_many_as_for_one(
        self, operator: User, operator_client: Client, bare: EnvironmentSession,
        django_assert_max_num_queries: DjangoAssertNumQueries,
    ) -> None:  # fmt: skip
        for _ in range(10):
            services.fork_session(session=bare, user=operator)

        with django_assert_max_num_queries(8):
            operator_client.get("/sessions/")

    def test_closes_the_chosen_ones_and_passes_over_others(
        self, operator_client: Client, bare: EnvironmentSession, admin: User
    ) -> None:
        other = open_session(admin)
        chosen = [str(bare.code), str(other.code), "nonsense"]

        response = operator_client.post("/sessions/close/", {"session": chosen}, follow=True)

        bare.refresh_from_db()
        other.refresh_from_db()
        assert (bare.status, other.status) == ("closed", "open")
        assert "1 session is closed." in text(response)
        assert "No open session was chosen." in text(operator_client.post("/sessions/close/", follow=True))


class TestStep:
    def test_shows_the_first_step_of_a_session(self, operator_client: Client, session: EnvironmentSession) -> None:
        page = text(operator_client.get(address(session)))

        assert "Step 0" in page
        assert page.count("data-step=") == session.num_calls
        assert 'aria-current="step"' in page
        assert "<html" in page

    def test_shows_arguments_result_changes_and_columns(
        self, operator_client: Client, session: EnvironmentSession
    ) -> None:
        call = write(session)

        page = text(operator_client.get(address(session, f"steps/{call.index}/")))

        assert "Campanula rotundifolia" in page
        assert "+1 inserted" in page
        assert "Written" in page
        assert f'href="/sessions/{session.code}/state/?at={call.index}"' in page

    @pytest.mark.parametrize(
        ("rest", "region"),
        [("", "session-replay"), ("steps/1/", "session-view"), ("steps/1/result/", "session-result"),
         ("state/?at=1", "session-view")],
    )  # fmt: skip
    def test_sends_only_its_region_when_htmx_asks(
        self, operator_client: Client, session: EnvironmentSession, rest: str, region: str
    ) -> None:
        response = operator_client.get(address(session, rest), headers=PARTIAL)

        assert re.match(rf'<(section|div)[^>]* id="{region}-{session.code}"', text(response).strip())
        assert "HX-Request-Type" in response["Vary"]

    def test_leads_to_every_neighbour_without_scripts(
        self, operator_client: Client, session: EnvironmentSession
    ) -> None:
        failed = list(session.transcript.exclude(status="success").values_list("index", flat=True))
        at = failed[1]

        page = text(operator_client.get(address(session, f"steps/{at}/")))

        for index in (0, at - 1, at + 1, session.num_calls - 1, failed[0], failed[2]):
            assert f'href="{address(session, f"steps/{index}/")}"' in page
        assert 'data-key="j"' in page

    def test_goes_to_the_step_that_the_form_names(self, operator_client: Client, session: EnvironmentSession) -> None:
        response = operator_client.get(address(session, "?step=99999"))

        assert (response.status_code, response["Location"]) == (
            302, address(session, f"steps/{session.num_calls - 1}/"),
        )  # fmt: skip

    def test_lists_only_errors_when_asked_and_moves_among_them(
        self, operator_client: Client, session: EnvironmentSession
    ) -> None:
        failed = list(session.transcript.exclude(status="success").values_list("index", flat=True))

        page = text(operator_client.get(address(session, "?failed=on")))

        assert page.count("data-step=") == len(failed)
        assert f"Step {failed[0]}" in page
        assert f'href="{address(session, f"steps/{failed[1]}/")}?failed=on"' in page

    def test_finds_words_in_results_and_arguments_and_marks_them(
        self, operator_client: Client, session: EnvironmentSession
    ) -> None:
        page = text(operator_client.get(address(session, "?q=CAMPANULA+rotundifolia")))

        first = write(session).index
        assert f"Step {first}" in page
        assert "<mark>Campanula rotundifolia</mark>" in page
        assert "No step fits" in text(operator_client.get(address(session, "?q=no+such+words")))

    @pytest.mark.parametrize("words", ['say "hi"', "50%", "a\\b", "naïve", "line\nbreak"])
    def test_finds_words_that_json_escapes(self, operator_client: Client, bare: EnvironmentSession, words: str) -> None:
        add_calls(bare, ["{}"], arguments={"note": f"they {words} twice"})
        add_calls(bare, ["{}"], arguments={"note": "nothing"})

        page = text(operator_client.get(address(bare), {"q": words}))

        assert "1 of 2 steps" in page

    def test_shows_where_in_a_long_result_the_words_are(
        self, operator_client: Client, bare: EnvironmentSession
    ) -> None:
        add_calls(bare, ['{"a":"' + "x" * 50_000 + " needle here" + "y" * 50_000 + '"}'])

        page = text(operator_client.get(address(bare, "?q=needle")))

        assert "at character 50,008" in page
        assert "<mark>needle</mark> here" in page

    @pytest.mark.parametrize("rest", ["steps/9999/", "?episode=7", "steps/9999/raw/", "comparison/"])
    def test_is_not_found_when_there_is_none(
        self, operator_client: Client, session: EnvironmentSession, rest: str
    ) -> None:
        assert operator_client.get(address(session, rest)).status_code == 404

    @pytest.mark.parametrize("query", ["?q=%00", "?failed=x", "?episode=x", "?step=x", "?q=" + "a" * 300])
    def test_stays_up_when_the_address_is_nonsense(
        self, operator_client: Client, session: EnvironmentSession, query: str
    ) -> None:
        assert operator_client.get(address(session, query)).status_code == 200

    def test_lists_a_long_session_in_parts(self, operator_client: Client, bare: EnvironmentSession) -> None:
        add_calls(bare, ["{}"] * 2100)

        page = text(operator_client.get(address(bare, "steps/1500/")))

        assert "1,001–2,000 of 2,100 steps" in page  # noqa: RUF001 - a range is written with an en dash
        assert page.count("data-step=") == 1000
        assert f'href="{address(bare, "steps/0/")}"' in page
        assert f'href="{address(bare, "steps/2000/")}"' in page

    def test_teaches_when_there_is_no_call(self, operator_client: Client, bare: EnvironmentSession) -> None:
        assert "None was made yet" in text(operator_client.get(address(bare)))

    def test_costs_as_many_queries_for_many_steps_as_for_few(
        self, operator_client: Client, bare: EnvironmentSession, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        add_calls(bare, ["{}"] * 500)

        with django_assert_max_num_queries(12):
            operator_client.get(address(bare, "steps/250/"))
        with django_assert_max_num_queries(12):
            operator_client.get(address(bare, "steps/250/"), headers=PARTIAL)


class TestBigResults:
    def test_shows_the_first_4_kb_and_offers_the_rest(self, operator_client: Client, bare: EnvironmentSession) -> None:
        add_calls(bare, ['{"rows":"' + "é" * 2_600_000 + '"}'])

        page = text(operator_client.get(address(bare)))
        more = text(operator_client.get(address(bare, "steps/0/result/?shown=106496"), headers=PARTIAL))
        all_that_is_shown = text(operator_client.get(address(bare, "steps/0/result/?shown=99999999"), headers=PARTIAL))

        assert len(page) < 60_000
        assert "5.0 MB in all; the first 4,096 characters are shown" in page
        assert "Show 100 KB more" in page
        assert more.count("é") > 106_000
        assert all_that_is_shown.count("é") < 1_048_576
        assert "Show 100 KB more" not in all_that_is_shown

    def test_sends_the_whole_as_plain_text_that_no_browser_runs(
        self, operator_client: Client, bare: EnvironmentSession
    ) -> None:
        add_calls(bare, [NASTY])

        shown = operator_client.get(address(bare, "steps/0/raw/"))
        saved = operator_client.get(address(bare, "steps/0/raw/?download"))

        assert shown.content.decode() == NASTY
        assert shown["Content-Type"] == "text/plain; charset=utf-8"
        assert shown["X-Content-Type-Options"] == "nosniff"
        assert saved["Content-Disposition"].startswith("attachment;")


class TestHostileContent:
    @pytest.mark.parametrize("rest", ["", "steps/0/", "steps/0/result/", "?q=evil", "?q=%3Cscript%3E"])
    def test_is_shown_as_text(self, operator_client: Client, bare: EnvironmentSession, rest: str) -> None:
        change = {"table": "species", "key": {"species_code": NASTY}, "kind": "insert", "before": None,
                  "after": {"species_code": NASTY, "family": NASTY}}  # fmt: skip
        EnvironmentSession.objects.filter(pk=bare.pk).update(title=NASTY[:200])
        add_calls(
            bare, [f"{NASTY} not JSON"], tool=NASTY, arguments={NASTY: NASTY, "deep": {"a": [NASTY]}},
            status="failure", error_code=NASTY[:64], changes=[change],
            columns={"reads": [[NASTY, NASTY]], "writes": [], "condition_reads": [[NASTY, NASTY]]},
        )  # fmt: skip

        page = text(operator_client.get(address(bare, rest)))

        shown = re.sub(r'value="[^"]*"', "", page)  # a form field keeps what was typed, escaped
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "\u202e" not in shown
        assert "\x1b" not in shown
        assert "\u241b" in page

    def test_shows_a_change_with_nul(self, operator_client: Client, admin: User, bare: EnvironmentSession) -> None:
        change = {"table": "species", "key": {"species_code": "a\0b"}, "kind": "insert", "before": None,
                  "after": {"species_code": "a\0b", "family": None}}  # fmt: skip
        add_calls(bare, ['{"species_code":"a\\u0000b"}'], changes=[change])

        for rest in ("", "steps/0/", "steps/0/result/", "?q=species_code", "?status=errors"):
            assert operator_client.get(address(bare, rest)).status_code == 200
        for rest in ("calls/?changes=true", "transcript/"):
            assert operator_client.get(f"/api/v1/sessions/{bare.code}/{rest}").status_code == 200
        row = ToolCall.objects.for_outline().get()
        assert row.num_changes == 1
        for name, key in (("environmentsession", bare.pk), ("toolcall", row.pk)):
            shown = sign_in(admin).get(reverse(f"admin:environments_{name}_change", args=[key]))
            assert shown.status_code == 200

    def test_keeps_a_line_of_a_megabyte_and_broken_json_as_they_are(
        self, operator_client: Client, bare: EnvironmentSession
    ) -> None:
        add_calls(bare, ["x" * 1_000_000, '{"broken": [1, 2', "[" * 100_000, '"\\ud800"', "", "NaN"])

        for index in range(6):
            assert operator_client.get(address(bare, f"steps/{index}/")).status_code == 200
        assert "{&quot;broken&quot;: [1, 2" in text(operator_client.get(address(bare, "steps/1/")))

    def test_shows_exact_numbers(self, operator_client: Client, bare: EnvironmentSession) -> None:
        add_calls(bare, ['{"n":1.10,"big":12345678901234567890,"e":1E5,"s":"a\\u0041"}'])

        page = text(operator_client.get(address(bare)))

        for exact in ("1.10", "12345678901234567890", "1E5", "a\\u0041"):
            assert exact in page


class TestOthers:
    @pytest.mark.parametrize(
        ("method", "rest"),
        [("get", ""), ("get", "steps/0/"), ("get", "steps/0/result/"), ("get", "steps/0/raw/"), ("get", "state/"),
         ("get", "comparison/"), ("post", "what-if/"), ("post", "replay/"), ("post", "close/")],
    )  # fmt: skip
    def test_cannot_see_or_touch_a_session(self, bare: EnvironmentSession, admin: User, method: str, rest: str) -> None:
        add_calls(bare, ["{}"])
        client = sign_in(admin)

        for code in (bare.code, NO_CODE):
            assert getattr(client, method)(f"/sessions/{code}/{rest}").status_code == 404
        bare.refresh_from_db()
        assert bare.status == "open"

    @pytest.mark.parametrize("rest", ["what-if/", "replay/"])
    def test_play_nothing_without_the_permission(self, operator: User, bare: EnvironmentSession, rest: str) -> None:
        add_calls(bare, ["{}"])
        operator.role = User.Role.VIEWER
        operator.save()
        client = sign_in(operator)

        assert client.post(address(bare, rest)).status_code == 403
        page = text(client.get(address(bare)))
        assert "Play again" not in page
        assert "Change this call" not in page


class TestState:
    def test_shows_the_table_that_the_step_wrote_changed_rows_first(
        self, operator_client: Client, session: EnvironmentSession
    ) -> None:
        call = write(session)

        page = text(operator_client.get(address(session, f"state/?at={call.index}")))

        assert f"State after step {call.index}" in page
        assert "added by this step" in page
        assert page.index("CAMROT") < page.index("AGRGIT") if "AGRGIT" in page else "CAMROT" in page
        assert f'class="blame" href="{address(session, f"steps/{call.index}/")}"' in page

    def test_shows_the_start(self, operator_client: Client, session: EnvironmentSession) -> None:
        page = text(operator_client.get(address(session, "state/?at=start&table=species")))

        assert "State at the start" in page
        assert "0 added, 0 removed, 0 changed since the start" in page
        assert 'class="blame"' not in page

    def test_shows_cells_as_they_were_and_are(self, operator_client: Client, session: EnvironmentSession) -> None:
        call = session.transcript.filter(tool="edit_accession_notes", status="success").first()
        assert call is not None

        page = text(operator_client.get(address(session, f"state/?at={call.index}&table=accessions")))

        assert 'class="cell-written"' in page
        assert call.changes[0]["after"]["notes"] in page

    def test_leaves_out_unchanged_tables_when_asked(self, operator_client: Client, session: EnvironmentSession) -> None:
        call = write(session)

        page = text(operator_client.get(address(session, f"state/?at={call.index}&changed=on")))

        assert "table=species" in page
        assert "table=sites" not in page
        assert "No table has changed" in text(operator_client.get(address(session, "state/?at=start&changed=on")))

    @pytest.mark.parametrize("query", ["?at=x", "?at=99999", "?at=-7", "?table=no_such", "?rows=0", "?at=1&rows=1"])
    def test_stays_up_when_the_address_is_nonsense(
        self, operator_client: Client, session: EnvironmentSession, query: str
    ) -> None:
        assert operator_client.get(address(session, f"state/{query}")).status_code == 200

    def test_offers_the_rows_that_it_leaves_out(self, operator_client: Client, session: EnvironmentSession) -> None:
        page = text(operator_client.get(address(session, "state/?at=1&table=species&rows=2")))

        assert "2 of " in page
        assert "rows=1002" in page

    def test_says_why_when_the_version_is_in_quarantine(
        self, operator_client: Client, session: EnvironmentSession
    ) -> None:
        assert session.version.move(EnvironmentVersion.Status.REJECTED, reason="suspect")

        response = operator_client.get(address(session, "state/"))

        assert response.status_code == 409
        assert "nothing but its verification loads it" in text(response)
        assert operator_client.get(address(session)).status_code == 200


class TestEpisodes:
    def test_are_offered_and_read_after_a_reset(self, operator_client: Client, session: EnvironmentSession) -> None:
        num_calls = session.num_calls
        services.reset_session(session=session)

        now = text(operator_client.get(address(session)))
        past = text(operator_client.get(address(session, "?episode=0")))
        state = text(operator_client.get(address(session, "state/?episode=0&at=start")))

        assert "None was made yet" in now
        assert "?episode=0" in now
        assert past.count("data-step=") == num_calls
        assert f'href="{address(session, "steps/1/")}?episode=0"' in past
        assert "State at the start" in state


class TestReplayCheck:
    def test_says_that_the_record_is_byte_identical(self, operator_client: Client, session: EnvironmentSession) -> None:
        whole = operator_client.post(address(session, "replay/"))
        part = operator_client.post(address(session, "replay/"), headers=PARTIAL)

        assert "Byte-identical." in text(whole)
        assert "<html" in text(whole)
        assert text(part).strip().startswith("<div")

    def test_says_at_which_call_it_differs(self, operator_client: Client, session: EnvironmentSession) -> None:
        first = session.transcript[0]
        add_calls(session, ['{"forged":"<b>"}'], tool=first.tool, arguments=first.arguments)

        page = text(operator_client.post(address(session, "replay/")))

        assert f"Differs at step {session.num_calls - 1}, {first.tool}." in page
        assert "{&quot;forged&quot;:&quot;&lt;b&gt;&quot;}" in page

    def test_answers_409_when_the_version_is_in_quarantine(
        self, operator_client: Client, session: EnvironmentSession
    ) -> None:
        assert session.version.move(EnvironmentVersion.Status.REJECTED, reason="suspect")

        response = operator_client.post(address(session, "replay/"), headers=PARTIAL)

        assert response.status_code == 409
        assert "nothing but its verification loads it" in text(response)


class TestWhatIf:
    def post(self, client: Client, session: EnvironmentSession, call: ToolCall, **values: Any) -> Any:
        given = {"episode": 0, "index": call.index, "arguments": "{}", **values}
        return client.post(address(session, "what-if/"), given, headers=values.pop("headers", {}))

    def test_leads_to_the_fork_beside_its_record(self, operator_client: Client, session: EnvironmentSession) -> None:
        call = write(session)
        changed = '{"species_code":"CAMROT","scientific_name":"Campanula rotundifolia","common_name":"Bluebell",' \
            '"family":"Campanulaceae","storage_behaviour":"orthodox"}'  # fmt: skip

        response = self.post(operator_client, session, call, arguments=changed, goes_on="on")

        fork = EnvironmentSession.objects.latest("pk")
        assert response.status_code == 303
        assert response["Location"] == address(fork, f"steps/{call.index}/")
        page = text(operator_client.get(response["Location"]))
        assert "≠ edited" in page
        assert "Harebell" in page
        compared = text(operator_client.get(address(fork, "comparison/")))
        assert "Bluebell" in compared
        assert "End state" in compared
        assert f'href="{address(session, f"steps/{call.index}/")}"' in compared
        assert session.transcript.count() == session.num_calls

    def test_says_what_does_not_fit_and_keeps_what_was_typed(
        self, operator_client: Client, session: EnvironmentSession
    ) -> None:
        call = write(session)
        for typed, said in [
            ('{"species_code": 7}', "/species_code"), ("[1]", "a JSON object"), ("{oh", "This is not JSON"),
            ('{"a": "\\u0000"}', "/a"), ("[" * 100_000, "This is not JSON"),
        ]:  # fmt: skip
            response = self.post(operator_client, session, call, arguments=typed)

            assert response.status_code == 422
            assert said in text(response)
            assert 'aria-invalid="true"' in text(response)
        assert EnvironmentSession.objects.count() == 1

    def test_tells_of_what_the_session_s_state_does_not_allow(
        self, operator_client: Client, session: EnvironmentSession, settings: Any
    ) -> None:
        call = session.transcript[0]
        arguments = '{"text":"silene"}'

        settings.SESSION_QUOTA = 1
        full = self.post(operator_client, session, call, arguments=arguments)
        assert session.version.move(EnvironmentVersion.Status.RETIRED, reason="old")
        retired = self.post(operator_client, session, call, arguments=arguments)

        assert (full.status_code, retired.status_code) == (429, 409)
        assert "SESSION_QUOTA" in text(full)

    def test_is_not_found_when_there_is_no_such_step(
        self, operator_client: Client, session: EnvironmentSession
    ) -> None:
        call = session.transcript[0]

        assert self.post(operator_client, session, call, index=9999).status_code == 404
        assert self.post(operator_client, session, call, episode=3).status_code == 404
        assert self.post(operator_client, session, call, index="x").status_code == 404


class TestClose:
    def test_ends_the_session_and_keeps_its_steps(self, operator_client: Client, bare: EnvironmentSession) -> None:
        add_calls(bare, ["{}"])

        response = operator_client.post(address(bare, "close/"))

        page = text(operator_client.get(response["Location"]))
        assert "its steps can still be read" in page
        assert "Close session" not in page
        assert "Step 0" in page
