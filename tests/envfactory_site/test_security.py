"""Who gets into which page, the admin site, and what protects every answer."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin as admin_package
from django.core.cache import cache
from django.db import connection, models
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from envfactory_site import views
from environments.core.access import Scope
from environments.models import (
    ApiToken,
    AuditEvent,
    CaseResult,
    Compilation,
    CompiledEnvironment,
    CompiledOperation,
    Decision,
    Environment,
    EnvironmentSession,
    EnvironmentVersion,
    Job,
    JobEvent,
    LeakHit,
    Operation,
    PastEpisode,
    Source,
    SourceDocument,
    StatusChange,
    TextEmbedding,
    ToolCall,
    User,
    VerificationRun,
)
from environments.services import create_api_token, record_audit
from tests.factories.compilation import a_compilation
from tests.factories.environments import PASSWORD, JobFactory, UserFactory
from tests.factories.registry import finished_run, little_version, session_with_calls
from tests.factories.sessions import add_calls
from tests.factories.sources import leak_hit, openapi_document, text_embedding

ROLES = User.Role.values
NO_CODE = "00000000-0000-4000-8000-000000000000"


def client_of(user: User | None, **options: Any) -> Client:
    client = Client(**options)
    if user is not None:
        client.force_login(user)
    return client


def patterns(
    entries: list[URLPattern | URLResolver] | None = None, prefix: str = "", namespaces: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    """Every address of the site: its name with namespaces, and its route."""
    for entry in get_resolver().url_patterns if entries is None else entries:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            below = (*namespaces, entry.namespace) if entry.namespace else namespaces
            yield from patterns(entry.url_patterns, route, below)
        else:
            yield ":".join((*namespaces, entry.name or "")), route


ADDRESSES = list(patterns())
CONSOLE = sorted({name for name, route in ADDRESSES if not route.startswith(("api/", "admin/"))})
API = sorted({route for _name, route in ADDRESSES if route.startswith("api/")})


def path_of(route: str) -> str:
    return "/" + re.sub(r"<[^>]+>", NO_CODE, route)


# --- Pages by role ----------------------------------------------------------------------------------------------------


def a_job(user: User) -> dict[str, Any]:
    return {"code": JobFactory.create().code}


def a_stopped_job(user: User) -> dict[str, Any]:
    return {"code": JobFactory.create(status=Job.Status.CANCELLED, finished_at=timezone.now()).code}


def an_own_token(user: User) -> dict[str, Any]:
    return {"code": create_api_token(user=user, name="mine", scopes=[Scope.READ]).token.code}


def a_draft(user: User) -> dict[str, Any]:
    version = little_version()
    return {"name": version.environment.name, "number": version.number}


def a_verified_version(user: User) -> dict[str, Any]:
    version = little_version()
    assert version.move(EnvironmentVersion.Status.VERIFIED)
    return {"name": version.environment.name, "number": version.number}


def a_compiled_version(user: User) -> dict[str, Any]:
    version = CompiledEnvironment.objects.get(compilation=a_compilation(), outcome="verified").version
    assert version is not None
    return {"name": version.environment.name, "number": version.number}


def a_source(user: User) -> dict[str, Any]:
    """A source whose document says nothing of its terms."""
    return {"code": openapi_document(info={"title": "Pet shelter", "version": "1.2"}).source.code}


def an_operation(user: User) -> dict[str, Any]:
    document = openapi_document()
    return {"code": document.source.code, "operation": document.operations.get(name="addPet").code}


def a_leak_hit(user: User) -> dict[str, Any]:
    document = openapi_document()
    return {"code": document.source.code, "hit": leak_hit(document).code}


def own_session(user: User) -> EnvironmentSession:
    """A session with one call that its tool can make again; made here, as not every role may open one."""
    versions = EnvironmentVersion.objects.filter(environment__name=a_verified_version(user)["name"])
    session = EnvironmentSession.objects.create(user=user, version=versions.get(), scenario="small")
    add_calls(session, ['{"never":"played"}'], tool="get_book", arguments={"book_id": "bk-1"})
    return session


def a_session(user: User) -> dict[str, Any]:
    return {"code": own_session(user).code}


def a_step(user: User) -> dict[str, Any]:
    return a_session(user) | {"index": 0}


def a_fork(user: User) -> dict[str, Any]:
    source = own_session(user)
    fork = EnvironmentSession.objects.create(
        user=user, version=source.version, scenario="small", forked_from=source, forked_calls=0, forked_episode=0
    )
    return {"code": fork.code}


@dataclass(frozen=True)
class Page:
    """What a page answers to viewer, reviewer, operator and admin; `public` ones also to nobody in particular."""

    viewer: int
    reviewer: int
    operator: int
    admin: int
    method: str = "get"
    arguments: Callable[[User], dict[str, Any]] = lambda _user: {}
    data: dict[str, Any] = field(default_factory=dict)
    public: bool = False


def everyone(status: int = 200, **options: Any) -> Page:
    return Page(status, status, status, status, **options)


def workers_only(status: int = 200, **options: Any) -> Page:
    return Page(403, 403, status, status, **options)


# A new page of the console needs a line here.
PAGES = {
    "home": everyone(),
    "help": everyone(),
    "help_errors": everyone(),
    "healthz": everyone(public=True),
    "readyz": everyone(public=True),
    "login": everyone(302, public=True),
    "logout": everyone(302, method="post"),
    "password_change": everyone(),
    "password_change_done": everyone(),
    "search": everyone(),
    "source_list": everyone(),
    "source_import": workers_only(),
    "source_detail": everyone(arguments=a_source),
    "source_guard": everyone(arguments=a_source),
    "source_overrule": Page(
        403, 303, 303, 303, method="post", arguments=a_leak_hit, data={"note": "The names are common."}
    ),
    "source_terms": everyone(arguments=a_source),
    "source_allow": Page(403, 303, 303, 303, method="post", arguments=a_source, data={"note": "Its owner agrees."}),
    "source_refuse": Page(
        403,
        303,
        303,
        303,
        method="post",
        arguments=a_source,
        data={"reason_codes": ["licence"], "note": "Its owner does not agree."},
    ),
    "source_problems": everyone(arguments=a_source),
    "source_raw": everyone(arguments=a_source),
    "source_read": workers_only(303, method="post", arguments=a_source),
    "source_clean": workers_only(303, method="post", arguments=a_source),
    "operation_detail": everyone(arguments=an_operation),
    "compilation_list": everyone(),
    "compilation_start": workers_only(303, method="post"),
    "compilation_detail": everyone(arguments=lambda user: {"code": a_compilation().code}),
    "compilation_operations": everyone(arguments=lambda user: {"code": a_compilation().code}),
    "environment_list": everyone(),
    "environment_import": workers_only(),
    "environment_detail": everyone(arguments=lambda user: {"name": a_draft(user)["name"]}),
    "version_detail": everyone(arguments=a_verified_version),
    "version_tables": everyone(arguments=a_draft),
    "version_table": everyone(arguments=lambda user: a_draft(user) | {"table": "books"}),
    "version_scenarios": everyone(arguments=a_verified_version),
    "version_open_session": Page(
        403, 303, 303, 303, method="post", arguments=a_verified_version, data={"scenario": "small"}
    ),
    "version_verification": everyone(arguments=a_draft),
    "version_verify": workers_only(303, method="post", arguments=a_draft),
    "version_decide": Page(403, 200, 200, 200, arguments=a_verified_version),
    "version_history": everyone(arguments=a_draft),
    "version_sources": everyone(arguments=a_draft),
    "version_compiled": everyone(arguments=a_compiled_version),
    "version_compiled_tool": everyone(arguments=lambda user: a_compiled_version(user) | {"tool": "list_books"}),
    "version_code": everyone(arguments=lambda user: a_draft(user) | {"file": "tools.py"}),
    "version_pack": everyone(arguments=a_draft),
    "tool_detail": everyone(arguments=lambda user: a_draft(user) | {"tool": "lend"}),
    "tool_try": Page(
        403,
        303,
        303,
        303,
        method="post",
        arguments=lambda user: a_verified_version(user) | {"tool": "draw"},
        data={"scenario": "small"},
    ),
    "job_list": everyone(),
    "job_new": workers_only(),
    "running_jobs": everyone(),
    "job_detail": everyone(arguments=a_job),
    "job_cancel": workers_only(303, method="post", arguments=a_job),
    "job_retry": workers_only(303, method="post", arguments=a_stopped_job),
    "job_log": everyone(arguments=a_job),
    "job_curve": everyone(arguments=a_job),
    "session_list": everyone(),
    "session_close_many": everyone(303, method="post"),
    "session_detail": everyone(arguments=a_session),
    "session_step": everyone(arguments=a_step),
    "session_result": everyone(arguments=a_step),
    "session_raw": everyone(arguments=a_step),
    "session_state": everyone(arguments=a_session),
    "session_comparison": everyone(arguments=a_fork),
    "session_what_if": Page(
        403,
        303,
        303,
        303,
        method="post",
        arguments=a_session,
        data={"episode": "0", "index": "0", "arguments": '{"book_id": "bk-2"}'},
    ),
    "session_replay_check": Page(403, 200, 200, 200, method="post", arguments=a_session),
    "session_close": everyone(303, method="post", arguments=a_session),
    "settings": everyone(),
    "preferences": everyone(303, method="post", data={"theme": "dark"}),
    "token_create": everyone(303, method="post", data={"name": "mine", "scopes": ["read"], "days": "30"}),
    "token_revoke": everyone(303, method="post", arguments=an_own_token),
    "audit": Page(403, 403, 403, 200),
}


def test_every_page_of_the_console_is_in_the_table_and_no_other():
    assert set(PAGES) == set(CONSOLE)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", sorted(PAGES))
def test_page_lets_in_whom_it_should(db, name, role):
    page = PAGES[name]
    user = UserFactory.create(role=role)
    address = reverse(name, kwargs=page.arguments(user))

    answer = getattr(client_of(user), page.method)(address, page.data)

    assert answer.status_code == getattr(page, role)


@pytest.mark.parametrize("name", sorted(PAGES))
def test_page_sends_strangers_to_the_login(db, name):
    page = PAGES[name]
    address = reverse(name, kwargs=page.arguments(UserFactory.create()))
    before = AuditEvent.objects.count()

    for answer in (Client().get(address), Client().post(address, page.data)):
        if page.public:
            assert answer.status_code in {200, 405, 422}
        else:
            assert answer.status_code == 302
            assert answer["Location"] == f"/accounts/login/?next={address}"
    assert AuditEvent.objects.count() == before


@pytest.mark.parametrize("name", sorted(name for name, page in PAGES.items() if page.method == "post"))
def test_page_that_changes_something_refuses_get(admin, name):
    address = reverse(name, kwargs=PAGES[name].arguments(admin))

    assert client_of(admin).get(address).status_code == 405


@pytest.mark.parametrize("name", sorted(name for name, page in PAGES.items() if page.method == "post"))
def test_page_that_changes_something_refuses_a_form_without_token(admin, name):
    address = reverse(name, kwargs=PAGES[name].arguments(admin))

    answer = client_of(admin, enforce_csrf_checks=True).post(address, PAGES[name].data)

    assert answer.status_code == 403
    assert "csrf_failed" in answer.content.decode()


def test_person_is_let_in_nowhere_when_made_inactive(viewer):
    client = client_of(viewer)
    User.objects.filter(pk=viewer.pk).update(is_active=False)

    assert client.get("/")["Location"].startswith("/accounts/login/")


def test_token_of_another_person_is_not_found(viewer, admin):
    token = create_api_token(user=viewer, name="hers", scopes=[Scope.READ]).token

    answer = client_of(admin).post(reverse("token_revoke", args=[token.code]))

    assert answer.status_code == 404
    assert ApiToken.objects.usable().filter(pk=token.pk).exists()


# Read by people, so it leads to the login as every page does.
API_PAGES = {"api/v1/docs/"}


@pytest.mark.parametrize("route", sorted(set(API) - API_PAGES))
def test_api_answers_strangers_with_401(db, route):
    for method in ("get", "post", "delete"):
        answer = getattr(Client(), method)(path_of(route))
        assert answer.status_code == 401 or (method, answer.status_code) in {("post", 405), ("delete", 405)}, method
        assert answer["Content-Type"] == "application/problem+json"
        if answer.status_code == 401:
            assert answer.json()["code"] == "not_authenticated"


@pytest.mark.parametrize("route", sorted(API_PAGES))
def test_page_of_the_api_sends_strangers_to_the_login(db, route):
    assert route in API
    assert Client().get(path_of(route))["Location"] == f"/accounts/login/?next={path_of(route)}"


def test_api_was_found():
    assert len(API) >= 12


# --- The admin site ---------------------------------------------------------------------------------------------------

MODELS = sorted(apps.get_app_config("environments").get_models(), key=lambda model: model._meta.model_name or "")
READ_ONLY = [model for model in MODELS if model is not User]
# Every role of Django's permissions is decided by EnvFactory's roles; sessions and content types are no one's business.
REGISTERED = admin_package.site._registry


@pytest.fixture
def rows(admin: User) -> dict[type[models.Model], models.Model]:
    """One row of every model."""
    job = JobFactory.create(created_by=admin)
    version = little_version()
    run = finished_run(version)
    session = session_with_calls(version, admin)
    document = openapi_document()
    compilation = a_compilation()
    parts = (version.tables, version.tools, version.scenarios, version.cases, version.provenance)
    return {
        **{part.model: part.get_queryset()[0] for part in parts},
        Environment: version.environment,
        EnvironmentVersion: version,
        StatusChange: version.history.get(),
        VerificationRun: run,
        CaseResult: run.case_results.get(),
        EnvironmentSession: session,
        PastEpisode: session.past_episodes.create(number=3, scenario="small", num_calls=0),
        ToolCall: session.calls.get(),
        User: admin,
        ApiToken: create_api_token(user=admin, name="token", scopes=[Scope.READ]).token,
        Job: job,
        JobEvent: job.add_event(JobEvent.Kind.LOG, level="info", text="text"),
        Decision: Decision.objects.create(
            actor=admin, subject_kind="tool", subject_code=job.code, subject_sha256="0" * 64, verdict="approve"
        ),
        AuditEvent: record_audit(actor=admin, action="test.it", subject_kind="job", subject_code=str(job.code)),
        Source: document.source,
        SourceDocument: document,
        Operation: document.operations.all()[0],
        LeakHit: leak_hit(document),
        TextEmbedding: text_embedding(),
        Compilation: compilation,
        CompiledEnvironment: compilation.environments.all()[0],
        CompiledOperation: compilation.operations.all()[0],
    }


def admin_address(model: type[models.Model], page: str, *arguments: Any) -> str:
    return reverse(f"admin:environments_{model._meta.model_name}_{page}", args=arguments)


def test_every_model_is_in_the_admin_site_with_columns_filters_and_search(rows):
    assert set(rows) == set(MODELS)
    assert set(MODELS) <= set(REGISTERED)
    for model in MODELS:
        shown = REGISTERED[model]
        assert len(shown.list_display) >= 3, model
        assert shown.list_filter, model
        assert shown.search_fields, model


@pytest.mark.parametrize("role", ["viewer", "reviewer"])
def test_admin_site_lets_nobody_in_who_only_looks_or_reviews(role, rows):
    client = client_of(UserFactory.create(role=role, is_lead=True))

    addresses = [admin_address(model, "changelist") for model in MODELS]
    addresses += [admin_address(model, "change", row.pk) for model, row in rows.items()]
    for address in ["/admin/", *addresses]:
        answer = client.get(address)
        assert answer.status_code == 302
        assert "/login/" in answer["Location"]


def test_admin_site_sends_strangers_to_a_login(rows):
    for address in ["/admin/", *(admin_address(model, "changelist") for model in MODELS)]:
        answer = Client().get(address)
        assert answer.status_code == 302
        assert "/login/" in answer["Location"]


@pytest.mark.parametrize("role", ["operator", "admin"])
@pytest.mark.parametrize("model", MODELS)
def test_admin_pages_show_a_row(rows, model, role):
    client = client_of(UserFactory.create(role=role))

    listed = client.get(admin_address(model, "changelist"), {"q": "a"})
    detail = client.get(admin_address(model, "change", rows[model].pk))
    history = client.get(admin_address(model, "history", rows[model].pk))

    assert (listed.status_code, detail.status_code, history.status_code) == (200, 200, 200)
    may_change = model is User and role == "admin"
    assert ('name="_save"' in detail.content.decode()) is may_change


@pytest.mark.parametrize("model", MODELS)
def test_operators_change_nothing_in_the_admin_site(rows, operator, model):
    client = client_of(operator)
    row = rows[model]

    assert client.get(admin_address(model, "add")).status_code == 403
    assert client.post(admin_address(model, "add"), {}).status_code == 403
    assert client.post(admin_address(model, "change", row.pk), {"username": "x"}).status_code == 403
    assert client.get(admin_address(model, "delete", row.pk)).status_code == 403
    assert client.post(admin_address(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    client.post(admin_address(model, "changelist"), chosen)
    assert model._default_manager.filter(pk=row.pk).exists()


@pytest.mark.parametrize("model", READ_ONLY)
def test_admins_cannot_change_read_only_rows_either(rows, model):
    client = client_of(UserFactory.create(role=User.Role.ADMIN))
    row = rows[model]

    assert client.get(admin_address(model, "add")).status_code == 403
    assert client.post(admin_address(model, "change", row.pk), {"name": "x"}).status_code == 403
    assert client.post(admin_address(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    client.post(admin_address(model, "changelist"), chosen)
    assert model._default_manager.filter(pk=row.pk).exists()


def test_admins_delete_no_person(rows, viewer):
    client = client_of(rows[User])

    assert client.post(admin_address(User, "delete", viewer.pk), {"post": "yes"}).status_code == 403


def more_rows(count: int) -> None:
    for number in range(count):
        user = UserFactory.create()
        job = JobFactory.create(created_by=user)
        job.add_event(JobEvent.Kind.LOG, text="text")
        create_api_token(user=user, name=f"token{number}", scopes=[Scope.READ])
        Decision.objects.create(
            actor=user, subject_kind="tool", subject_code=job.code, subject_sha256="0" * 64, verdict="approve"
        )
        past = EnvironmentVersion.objects.count()
        version = little_version(name=f"library_{past}", description=f"Version {past}", title=f"Version {past}")
        finished_run(version)
        session = session_with_calls(version, user, 3)
        session.past_episodes.create(number=3, scenario="small", num_calls=0)
        leak_hit(openapi_document(f"https://example.org/{past}.json"))
        text_embedding(past + 1)
        a_compilation()


@pytest.mark.parametrize("model", MODELS)
def test_admin_list_asks_as_often_for_many_rows_as_for_few(rows, model):
    client = client_of(UserFactory.create(role=User.Role.ADMIN))
    address = admin_address(model, "changelist")
    client.get(address)

    counts = []
    for count in (1, 10):
        more_rows(count)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert client.get(address).status_code == 200
        counts.append(len(queries))

    assert counts[0] == counts[1] <= 15


@pytest.mark.parametrize("model", MODELS)
def test_admin_detail_asks_a_bounded_number_of_times(rows, model, django_assert_max_num_queries):
    more_rows(10)
    client = client_of(UserFactory.create(role=User.Role.ADMIN))

    with django_assert_max_num_queries(15):
        assert client.get(admin_address(model, "change", rows[model].pk)).status_code == 200


def test_admin_creates_a_person_and_the_audit_trail_says_so(admin):
    data = {
        "username": "newcomer", "role": "reviewer", "usable_password": "true",
        "password1": PASSWORD, "password2": PASSWORD,
    }  # fmt: skip

    answer = client_of(admin).post(admin_address(User, "add"), data)

    assert answer.status_code == 302, answer.context["adminform"].form.errors
    made = User.objects.get(username="newcomer")
    event = AuditEvent.objects.get(action="user.create", subject_code=str(made.code))
    assert (event.actor, event.address, event.detail["role"]) == (admin, "127.0.0.1", "reviewer")
    assert PASSWORD not in str(event.detail)
    assert (made.is_staff, made.is_superuser) == (False, False)
    assert made.check_password(PASSWORD)


def user_form(user: User, **changes: Any) -> dict[str, Any]:
    names = ("username", "first_name", "last_name", "email", "role", "theme", "density")
    data = {name: getattr(user, name) for name in names}
    data |= {name: "on" for name in ("is_lead", "is_active") if getattr(user, name)}
    return {name: value for name, value in {**data, **changes}.items() if value is not None}


def test_admin_changes_a_role_and_the_audit_trail_says_so(admin, viewer):
    answer = client_of(admin).post(
        admin_address(User, "change", viewer.pk), user_form(viewer, role="operator", is_active=None)
    )

    assert answer.status_code == 302, answer.context["adminform"].form.errors
    viewer.refresh_from_db()
    assert (viewer.role, viewer.is_staff, viewer.is_superuser, viewer.is_active) == ("operator", True, False, False)
    event = AuditEvent.objects.get(action="user.change", subject_code=str(viewer.code))
    assert (event.actor, event.detail) == (admin, {"fields": ["is_active", "role"], "role": "operator"})


def test_admin_sets_a_password_and_the_audit_trail_says_so(admin, viewer):
    address = reverse("admin:auth_user_password_change", args=[viewer.pk])
    new = "entirely different staple"

    answer = client_of(admin).post(
        address, {"usable_password": "true", "set-password": "1", "password1": new, "password2": new}
    )

    assert answer.status_code == 302
    viewer.refresh_from_db()
    assert viewer.check_password(new)
    event = AuditEvent.objects.get(subject_code=str(viewer.code))
    assert event.actor == admin
    assert new not in str(event.detail)


# --- Logging in and out -----------------------------------------------------------------------------------------------


def log_in(client: Client, *, password: str = PASSWORD, **data: str) -> Any:
    return client.post("/accounts/login/", {"username": "vera", "password": password, **data})


def test_session_cookie_is_kept_from_scripts_and_other_sites(viewer):
    client = Client()

    assert log_in(client).status_code == 302

    cookie = client.cookies["sessionid"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/")


def test_session_changes_its_key_at_login(viewer):
    client = Client()
    log_in(client)
    first = client.cookies["sessionid"].value
    client.post("/accounts/logout/")

    log_in(client)

    assert client.cookies["sessionid"].value not in {first, ""}


def test_logout_is_by_post_only(viewer):
    client = client_of(viewer)

    assert client.get("/accounts/logout/").status_code == 405
    assert client.get("/").status_code == 200
    assert client.post("/accounts/logout/")["Location"] == "/accounts/login/"
    assert client.get("/").status_code == 302


@pytest.mark.parametrize(
    "wanted",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "http:///evil.example"],
)
def test_next_address_of_another_site_is_not_followed(viewer, wanted):
    client = Client()

    assert wanted not in client.get("/accounts/login/", {"next": wanted})["Content-Security-Policy"]
    assert log_in(client, next=wanted)["Location"] == "/"
    assert client.get("/accounts/login/", {"next": wanted})["Location"] == "/"
    assert client.post("/settings/preferences/", {"theme": "dark", "next": wanted})["Location"] == "/settings/"
    assert client.post("/accounts/logout/", {"next": wanted})["Location"] == "/accounts/login/"


def test_next_address_of_this_site_is_followed(viewer):
    assert log_in(Client(), next="/jobs/?status=failed")["Location"] == "/jobs/?status=failed"


@pytest.mark.parametrize(
    ("password", "words"),
    [
        ("short1x", "too short"),
        ("password123", "too common"),
        ("4820175936", "entirely numeric"),
        ("vera-vera", "similar"),
    ],
)
def test_weak_password_is_refused(viewer, password, words):
    data = {"old_password": PASSWORD, "new_password1": password, "new_password2": password}
    User.objects.filter(pk=viewer.pk).update(first_name="vera-vera")

    answer = client_of(viewer).post("/accounts/password/", data)

    assert answer.status_code in {200, 422}
    assert words in answer.content.decode()
    viewer.refresh_from_db()
    assert viewer.check_password(PASSWORD)


def test_other_sessions_end_when_the_password_is_changed(viewer):
    own, other = client_of(viewer), client_of(viewer)
    data = {"old_password": PASSWORD, "new_password1": "entirely different", "new_password2": "entirely different"}

    assert own.post("/accounts/password/", data).status_code == 302

    assert own.get("/").status_code == 200
    assert other.get("/").status_code == 302


def test_password_change_needs_the_old_one(viewer):
    data = {"old_password": "guess", "new_password1": "entirely different", "new_password2": "entirely different"}

    client_of(viewer).post("/accounts/password/", data)

    viewer.refresh_from_db()
    assert viewer.check_password(PASSWORD)


def test_csrf_failure_is_a_page_that_says_what_to_do(viewer):
    answer = Client(enforce_csrf_checks=True).post("/accounts/login/", {"username": "vera", "password": PASSWORD})

    assert answer.status_code == 403
    assert "403_csrf.html" in [template.name for template in answer.templates]
    assert "Reload the page" in answer.content.decode()


def test_csrf_failure_is_a_problem_body_in_the_api(operator):
    client = client_of(operator, enforce_csrf_checks=True)

    answer = client.post("/api/v1/jobs/", {"kind": "self_check"}, content_type="application/json")

    assert answer.status_code == 403
    assert answer["Content-Type"] == "application/problem+json"
    assert Job.objects.count() == 0


# --- Headers ----------------------------------------------------------------------------------------------------------

POLICY = {
    "default-src": "'self'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "object-src": "'none'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
    "form-action": "'self'",
}


def policy(answer: HttpResponse) -> dict[str, str]:
    directives = answer["Content-Security-Policy"].split(";")
    return dict(directive.strip().split(maxsplit=1) for directive in directives)


def assert_guarded(answer: HttpResponse) -> None:
    assert policy(answer) == POLICY
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_headers_guard_every_page_of_the_console(admin, name):
    page = PAGES[name]
    address = reverse(name, kwargs=page.arguments(admin))

    answer = getattr(client_of(admin), page.method)(address, page.data)

    assert_guarded(answer)
    if answer["Content-Type"] == "application/zip":
        return
    text = answer.content.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)(?![^>]*type=\"application/json\")", text)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=\"|hx-on|javascript:", text)
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", re.sub(r"<a [^>]*>", "", text))


def test_headers_guard_the_login_the_admin_site_and_the_api(rows):
    client = client_of(rows[User])
    addresses = ["/admin/", "/admin/login/", "/api/v1/docs/", "/api/v1/schema/", "/api/v1/jobs/", "/api/v1/me/"]
    for model in MODELS:
        addresses += [admin_address(model, "changelist"), admin_address(model, "change", rows[model].pk)]
    addresses += [admin_address(User, "add"), reverse("admin:auth_user_password_change", args=[rows[User].pk])]

    for address in addresses:
        answer = client.get(address)
        assert answer.status_code in {200, 302}, address
        assert_guarded(answer)
    assert_guarded(Client().get("/accounts/login/"))
    assert_guarded(Client().get("/api/v1/jobs/"))


def test_headers_guard_error_pages(admin, monkeypatch):
    client = client_of(admin, raise_request_exception=False)

    answers = {
        400: client.get("/", headers={"Host": "evil.example"}),
        403: client_of(UserFactory.create()).get("/audit/"),
        404: client.get("/nothing/"),
        405: client.get("/accounts/logout/"),
    }
    monkeypatch.setattr(views, "home_panels", lambda _user: 1 / 0)
    answers[500] = client.get("/")

    for status, answer in answers.items():
        assert answer.status_code == status
        assert_guarded(answer)
    assert "ZeroDivisionError" not in answers[500].content.decode()


def test_error_pages_of_a_form_out_of_date_are_guarded(viewer):
    assert_guarded(Client(enforce_csrf_checks=True).post("/accounts/login/", {}))


def test_cache_holds_no_count_from_another_test():
    assert cache.get("throttle_login_address-127.0.0.1") is None
