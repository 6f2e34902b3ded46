"""Who may do what over the API: every route that the URLconf has, for every role and token scope."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import orjson
import pytest
from django.test import Client
from django.urls import URLPattern, get_resolver
from django.utils import timezone
from rest_framework.test import APIClient

from environments.api.throttling import MethodThrottle
from environments.core.access import Scope
from environments.models import ApiToken, AuditEvent, Decision, EnvironmentSession, EnvironmentVersion, User
from environments.runtime.pack import zip_pack
from environments.services import create_api_token, record_audit, record_decision, session_snapshot
from tests.environments.api.test_jobs import NOWHERE, problem
from tests.factories.compilation import a_compilation
from tests.factories.environments import JobFactory, UserFactory
from tests.factories.registry import little_pack, little_version
from tests.factories.sources import PETS, openapi_document

pytestmark = pytest.mark.django_db

V, R, O, A = "viewer", "reviewer", "operator", "admin"  # noqa: E741 - one column each in the table below
EVERYONE = {V, R, O, A}
MATRIX = {
    ("GET", "audit/"): {A},
    ("GET", "compilations/"): EVERYONE,
    ("GET", "compilations/<uuid:code>/"): EVERYONE,
    ("GET", "compilations/<uuid:code>/environments/"): EVERYONE,
    ("GET", "compilations/<uuid:code>/operations/"): EVERYONE,
    ("GET", "decisions/"): EVERYONE,
    ("GET", "decisions/<uuid:code>/"): EVERYONE,
    ("GET", "docs/"): EVERYONE,
    ("GET", "documents/"): EVERYONE,
    ("POST", "documents/"): {O, A},
    ("GET", "documents/<uuid:code>/"): EVERYONE,
    ("POST", "documents/<uuid:code>/allow/"): {R, O, A},
    ("GET", "documents/<uuid:code>/content/"): EVERYONE,
    ("POST", "documents/<uuid:code>/refuse/"): {R, O, A},
    ("GET", "environments/"): EVERYONE,
    ("GET", "environments/<slug:name>/"): EVERYONE,
    ("GET", "job-kinds/"): EVERYONE,
    ("GET", "job-kinds/<slug:name>/"): EVERYONE,
    ("GET", "jobs/"): EVERYONE,
    ("POST", "jobs/"): {O, A},
    ("GET", "jobs/<uuid:code>/"): EVERYONE,
    ("POST", "jobs/<uuid:code>/cancel/"): {O, A},
    ("GET", "jobs/<uuid:code>/events/"): EVERYONE,
    ("POST", "jobs/<uuid:code>/retry/"): {O, A},
    ("GET", "jobs/<uuid:code>/stream/"): EVERYONE,
    ("GET", "me/"): EVERYONE,
    ("GET", "operations/"): EVERYONE,
    ("GET", "operations/<uuid:code>/"): EVERYONE,
    ("GET", "scenarios/"): EVERYONE,
    ("GET", "scenarios/<uuid:code>/"): EVERYONE,
    ("GET", "schema/"): EVERYONE,
    ("GET", "sessions/"): EVERYONE,
    ("POST", "sessions/"): {R, O, A},
    ("GET", "sessions/<uuid:code>/"): EVERYONE,
    ("POST", "sessions/<uuid:code>/call/"): {R, O, A},
    ("GET", "sessions/<uuid:code>/calls/"): EVERYONE,
    ("POST", "sessions/<uuid:code>/calls/"): {R, O, A},
    ("POST", "sessions/<uuid:code>/close/"): {R, O, A},
    ("GET", "sessions/<uuid:code>/diff/"): EVERYONE,
    ("POST", "sessions/<uuid:code>/diff/"): EVERYONE,
    ("POST", "sessions/<uuid:code>/fork/"): {R, O, A},
    ("POST", "sessions/<uuid:code>/reset/"): {R, O, A},
    ("POST", "sessions/<uuid:code>/restore/"): {R, O, A},
    ("GET", "sessions/<uuid:code>/snapshot/"): EVERYONE,
    ("GET", "sessions/<uuid:code>/state/"): EVERYONE,
    ("GET", "sessions/<uuid:code>/tools/"): EVERYONE,
    ("GET", "sessions/<uuid:code>/transcript/"): EVERYONE,
    ("GET", "sources/"): EVERYONE,
    ("POST", "sources/"): {O, A},
    ("GET", "sources/<uuid:code>/"): EVERYONE,
    ("GET", "tokens/"): EVERYONE,
    ("GET", "tokens/<uuid:code>/"): EVERYONE,
    ("POST", "tokens/<uuid:code>/revoke/"): EVERYONE,
    ("GET", "tools/"): EVERYONE,
    ("GET", "tools/<uuid:code>/"): EVERYONE,
    ("GET", "versions/"): EVERYONE,
    ("POST", "versions/"): {O, A},
    ("GET", "versions/<uuid:code>/"): EVERYONE,
    ("POST", "versions/<uuid:code>/decide/"): {R, O, A},
    ("GET", "versions/<uuid:code>/history/"): EVERYONE,
    ("GET", "versions/<uuid:code>/pack/"): EVERYONE,
    ("GET", "versions/<uuid:code>/runs/"): EVERYONE,
    ("GET", "versions/<uuid:code>/tables/"): EVERYONE,
    ("POST", "versions/<uuid:code>/verify/"): {O, A},
}
"""Roles that each route is open to. A route without an entry fails the test: decide, then write it down."""

SCOPES = {
    Scope.READ: {("GET", path) for method, path in MATRIX if method == "GET"} - {("GET", "audit/")}
    | {("POST", "sessions/<uuid:code>/diff/")},
    Scope.ADMIN: set(MATRIX),
}
SCOPES[Scope.EXPORT] = SCOPES[Scope.READ]
SCOPES[Scope.SESSIONS] = SCOPES[Scope.READ] | {key for key in MATRIX if key[1].startswith("sessions/")}
SCOPES[Scope.REVIEW] = SCOPES[Scope.READ] | {
    ("POST", "versions/<uuid:code>/decide/"),
    ("POST", "documents/<uuid:code>/allow/"),
    ("POST", "documents/<uuid:code>/refuse/"),
}
SCOPES[Scope.JOBS] = (
    SCOPES[Scope.READ]
    | {key for key in MATRIX if key[0] == "POST" and key[1].startswith("jobs/")}
    | {("POST", "versions/"), ("POST", "versions/<uuid:code>/verify/"), ("POST", "documents/"), ("POST", "sources/")}
)


def routes(patterns=None, prefix="") -> Iterator[tuple[str, str]]:
    """Each method and path below /api/v1/ that the URLconf has."""
    if patterns is None:
        (api,) = [entry for entry in get_resolver().url_patterns if str(entry.pattern) == "api/v1/"]
        patterns = api.url_patterns
    for entry in patterns:
        path = prefix + str(entry.pattern)
        if isinstance(entry, URLPattern):
            actions = getattr(entry.callback, "actions", None)
            view = getattr(entry.callback, "cls", None)
            methods = actions or [name for name in ("get", "post", "put", "patch", "delete") if hasattr(view, name)]
            # DRF adds `head` to a route's actions when it is first asked for.
            yield from ((method.upper(), path) for method in methods or ["get"] if method != "head")
        else:
            yield from routes(entry.url_patterns, path)


@pytest.fixture
def ask(admin):
    """Calls a route with an object that is there: the caller's own token and session, and what others have made."""
    job = JobFactory.create(status="cancelled", finished_at=timezone.now())
    queued = JobFactory.create()
    decision = record_decision(
        actor=admin,
        subject_kind="x",
        subject_code=UUID(int=1),
        subject_sha256="0" * 64,
        verdict=Decision.Verdict.APPROVE,
    )
    version = little_version()
    assert version.move(EnvironmentVersion.Status.VERIFIED)
    compilation = a_compilation()
    document = openapi_document(info={"title": "Pets", "version": "1"})  # says nothing of its terms

    def ask(client, method, path, token):
        noun = path.split("/")[0]
        session = EnvironmentSession.objects.create(user=token.user, version=version, scenario="small")
        subjects = {"decisions": decision, "tokens": token, "versions": version, "sessions": session}
        subjects |= {"tools": version.tools.first(), "scenarios": version.scenarios.first()}
        subjects |= {"compilations": compilation, "documents": document, "sources": document.source}
        subjects |= {"operations": document.operations.first()}
        subject = subjects.get(noun, queued if "cancel" in path else job)
        name = "library" if noun == "environments" else "seed_load"
        url = "/api/v1/" + path.replace("<uuid:code>", str(subject.code)).replace("<slug:name>", name)
        draw = {"tool": "draw", "arguments": {}}
        bodies = {
            "jobs/": {"kind": "seed_load"},
            "versions/<uuid:code>/decide/": {"verdict": "approve"},
            "sessions/": {"environment": "library", "scenario": "small"},
            "sessions/<uuid:code>/call/": draw,
            "sessions/<uuid:code>/calls/": {"calls": [draw]},
            "sessions/<uuid:code>/fork/": {},
            "sessions/<uuid:code>/reset/": {},
            "sources/": {"address": "https://example.org/pets.json"},
            "documents/<uuid:code>/allow/": {"note": "agreed"},
            "documents/<uuid:code>/refuse/": {"reason_codes": ["licence"], "note": "not agreed"},
        }
        if path.endswith(("/diff/", "/restore/")) and method == "POST":
            name = "since" if path.endswith("/diff/") else "snapshot"
            bodies[path] = {name: session_snapshot(session=session)}
        if (method, path) == ("POST", "versions/"):
            return client.post(url, zip_pack(little_pack(title="Another")), content_type="application/zip")
        if (method, path) == ("POST", "documents/"):
            return client.post(f"{url}?name=pets.json", orjson.dumps(PETS), content_type="application/json")
        body = bodies.get(path) if method == "POST" else None
        return client.generic(method, url) if body is None else client.post(url, body, content_type="application/json")

    return ask


def test_every_route_has_an_entry():
    assert set(routes()) == set(MATRIX)


@pytest.mark.parametrize("role", [V, R, O, A])
@pytest.mark.parametrize(("method", "path"), sorted(MATRIX))
def test_role_opens_exactly_its_routes(ask, method, path, role):
    user = UserFactory.create(role=role)
    token = create_api_token(user=user, name="own", scopes=[Scope.READ]).token
    client = Client()
    client.force_login(user)

    response = ask(client, method, path, token)

    if role in MATRIX[method, path]:
        assert response.status_code in {200, 201, 202}, response.content
    else:
        problem(response, 403, "permission_denied")


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize(("method", "path"), sorted(set(MATRIX) - {("GET", "docs/")}))
def test_scope_cuts_an_admins_token_down(ask, admin, method, path, scope):
    issued = create_api_token(user=admin, name="scoped", scopes=[scope])
    client = Client(headers={"Authorization": f"Bearer {issued.key}"})

    response = ask(client, method, path, issued.token)

    if (method, path) in SCOPES[scope] | {("POST", "tokens/<uuid:code>/revoke/")}:
        assert response.status_code in {200, 201, 202}, response.content
    else:
        problem(response, 403, "permission_denied")


@pytest.mark.parametrize(("method", "path"), sorted(set(MATRIX) - {("GET", "docs/")}))
def test_nobody_gets_in_without_logging_in(ask, admin, method, path):
    token = create_api_token(user=admin, name="x", scopes=[Scope.READ]).token

    response = ask(Client(), method, path, token)

    problem(response, 401, "not_authenticated")
    assert response["WWW-Authenticate"] == 'Bearer realm="envfactory"'


def test_docs_send_a_stranger_to_the_login():
    assert Client().get("/api/v1/docs/")["Location"] == "/accounts/login/?next=/api/v1/docs/"


@pytest.mark.parametrize("change", ["expired", "revoked", "inactive"])
def test_key_that_is_over_is_refused(operator, change):
    issued = create_api_token(user=operator, name="x", scopes=[Scope.READ])
    past = timezone.now() - timedelta(days=1)
    if change == "inactive":
        User.objects.filter(pk=operator.pk).update(is_active=False)
    elif change == "expired":
        ApiToken.objects.update(created_at=past - timedelta(days=1), expires_at=past)
    else:
        ApiToken.objects.update(revoked_at=past)
    client = APIClient(headers={"Authorization": f"Bearer {issued.key}"})

    for url in ("/api/v1/me/", f"/api/v1/jobs/{NOWHERE}/stream/"):
        response = client.get(url)
        problem(response, 401, "authentication_failed")
        assert response["WWW-Authenticate"]


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer x", "Bearer evf_x", "Bearer evf_é", "bearer a b", "Basic YTpi", "Bearer \x00", "x"]
)
def test_other_authorization_headers_are_refused(db, header):
    response = Client(headers={"Authorization": header}).get("/api/v1/me/")

    assert response.status_code == 401
    assert response["Content-Type"] == "application/problem+json"


def test_use_of_a_key_is_noted(api):
    api.get("/api/v1/me/")

    assert api.get("/api/v1/tokens/").json()["results"][0]["last_used_at"]


def test_me_shows_what_this_key_may_do(admin):
    issued = create_api_token(user=admin, name="x", scopes=[Scope.JOBS])

    found = APIClient(headers={"Authorization": f"Bearer {issued.key}"}).get("/api/v1/me/").json()

    assert (found["username"], found["role"], found["permissions"]) == ("ada", "admin", ["run_jobs", "view"])


# --- Sessions ---------------------------------------------------------------------------------------------------------


def test_session_needs_the_csrf_token_for_changes(operator):
    client = Client(enforce_csrf_checks=True)
    client.force_login(operator)

    assert client.get("/api/v1/jobs/").status_code == 200
    refused = client.post("/api/v1/jobs/", {"kind": "seed_load"}, content_type="application/json")
    problem(refused, 403, "csrf_failed")

    client.cookies["csrftoken"] = "x" * 32
    allowed = client.post(
        "/api/v1/jobs/", {"kind": "seed_load"}, content_type="application/json", headers={"X-CSRFToken": "x" * 32}
    )
    assert allowed.status_code == 202


def test_key_needs_no_csrf_token(operator):
    issued = create_api_token(user=operator, name="x", scopes=[Scope.JOBS])
    client = Client(enforce_csrf_checks=True, headers={"Authorization": f"Bearer {issued.key}"})

    assert client.post("/api/v1/jobs/", {"kind": "seed_load"}, content_type="application/json").status_code == 202


# --- Tokens -----------------------------------------------------------------------------------------------------------


def test_tokens_are_the_callers_own_and_show_no_key(api, admin):
    other = create_api_token(user=admin, name="other", scopes=[Scope.READ]).token

    (found,) = api.get("/api/v1/tokens/").json()["results"]

    assert set(found) == {
        "code", "name", "prefix", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at", "is_usable",
    }  # fmt: skip
    assert (found["name"], found["is_usable"]) == ("test", True)
    problem(api.get(f"/api/v1/tokens/{other.code}/"), 404, "not_found")
    problem(api.post(f"/api/v1/tokens/{other.code}/revoke/"), 404, "not_found")


def test_key_revokes_itself_only(api, operator):
    own = ApiToken.objects.get()
    other = create_api_token(user=operator, name="other", scopes=[Scope.READ]).token

    problem(api.post(f"/api/v1/tokens/{other.code}/revoke/"), 403, "permission_denied")
    assert api.post(f"/api/v1/tokens/{own.code}/revoke/").json()["is_usable"] is False
    problem(api.get("/api/v1/me/"), 401, "authentication_failed")
    assert AuditEvent.objects.filter(action="token.revoke").count() == 1


def test_person_revokes_any_of_theirs_once(operator_client, operator):
    token = create_api_token(user=operator, name="x", scopes=[Scope.READ]).token

    assert operator_client.post(f"/api/v1/tokens/{token.code}/revoke/").json()["revoked_at"]
    problem(operator_client.post(f"/api/v1/tokens/{token.code}/revoke/"), 409, "stale_state")


# --- Audit and decisions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_rows", [1, 30])
def test_audit_rows_filter_and_take_constant_queries(admin, operator, django_assert_num_queries, num_rows):
    for index in range(num_rows):
        record_audit(actor=operator, action="job.start", subject_kind="job", subject_code=str(index))
    record_audit(actor=None, action="user.create", subject_kind="user")
    client = Client()
    client.force_login(admin)

    with django_assert_num_queries(3):  # session, person, rows
        rows = client.get("/api/v1/audit/").json()["results"]
    filtered = client.get("/api/v1/audit/", {"actor": "otto", "action": "job.start", "subject_code": "0"})

    assert (len(rows), rows[-1]["actor"]) == (num_rows + 1, None)
    assert [row["subject_code"] for row in filtered.json()["results"]] == ["0"]
    problem(client.get("/api/v1/audit/", {"at_after": "x"}), 400, "invalid_input")


@pytest.mark.parametrize("num_rows", [1, 30])
def test_decisions_filter_and_take_constant_queries(api, reviewer, django_assert_num_queries, num_rows):
    common = {"actor": reviewer, "subject_kind": "task", "subject_sha256": "0" * 64}
    made = [
        record_decision(**common, subject_code=UUID(int=index), verdict=Decision.Verdict.APPROVE)
        for index in range(num_rows)
    ]
    api.get("/api/v1/me/")

    with django_assert_num_queries(2):  # token, rows
        rows = api.get("/api/v1/decisions/").json()["results"]
    filtered = api.get("/api/v1/decisions/", {"subject_code": made[0].subject_code, "verdict": ["approve", "reject"]})

    assert [row["code"] for row in rows] == [str(decision.code) for decision in made]
    assert [row["code"] for row in filtered.json()["results"]] == [str(made[0].code)]
    assert api.get(f"/api/v1/decisions/{made[0].code}/").json()["actor"] == "rosa"
    problem(api.get("/api/v1/decisions/", {"verdict": "maybe"}), 400, "invalid_input")


# --- Throttles --------------------------------------------------------------------------------------------------------


@pytest.fixture
def rates(monkeypatch):
    monkeypatch.setattr(MethodThrottle, "THROTTLE_RATES", {"read": "3/min", "write": "1/min"})


def test_reads_and_writes_are_counted_apart(rates, api):
    assert [api.get("/api/v1/me/").status_code for _ in range(3)] == [200, 200, 200]
    assert api.post("/api/v1/jobs/", {"kind": "seed_load"}).status_code == 202

    for response in (api.get("/api/v1/me/"), api.post("/api/v1/jobs/", {"kind": "seed_load"})):
        problem(response, 429, "throttled")
        assert 0 < int(response["Retry-After"]) <= 60


def test_stream_counts_as_a_read(rates, api):
    for _ in range(3):
        problem(api.get(f"/api/v1/jobs/{NOWHERE}/stream/"), 404, "not_found")

    response = api.get(f"/api/v1/jobs/{NOWHERE}/stream/")
    problem(response, 429, "throttled")
    assert int(response["Retry-After"]) > 0


def test_each_key_is_counted_by_itself(rates, operator):
    statuses = []
    for name in "ab":
        issued = create_api_token(user=operator, name=name, scopes=[Scope.READ])
        client = APIClient(headers={"Authorization": f"Bearer {issued.key}"})
        statuses += [client.get("/api/v1/me/").status_code for _ in range(3)]

    assert statuses == [200] * 6
