from typing import Any

import pytest

from environments.core.cleaning import REASONS, clean
from environments.core.sources.model import Location, Problem, Response
from tests.environments.core.cleaning.operations import TEXT, THING, body, document, operation, parameter

FILE = {"type": "string", "format": "binary"}
NOTHING: dict[str, Any] = {"parameters": (), "responses": (Response("204"),)}
OPEN: dict[str, Any] = {"parameters": (parameter("page"),)}

HITS = [
    ("no_description", operation("do_it", title="")),
    ("no_inputs_and_outputs", operation("GET /things", **NOTHING)),
    ("no_inputs_and_outputs", operation("GET /things", parameters=(), responses=(Response("200", "a/b", {}),))),
    ("no_inputs_and_outputs", operation("GET /things", parameters=(), responses=(Response("404", "a/b", THING),))),
    ("schema_unreadable", operation(problems=(Problem("reference_unresolved", "/a", "lost"),))),
    ("schema_unreadable", operation(parameters=(parameter("q", type="string", minLength="x"),))),
    ("deprecated", operation(is_deprecated=True)),
    ("test_or_demo", operation("GET /v1/ping", **OPEN)),
    ("test_or_demo", operation("GET /system/health-check/", **OPEN)),
    ("test_or_demo", operation("GET /x", title="Test endpoint", **OPEN)),
    ("test_or_demo", operation("GET /x", title="Says hello world", **OPEN)),
    ("test_or_demo", operation("ping", title="Is it there?")),
    ("binary", operation("POST /files", title="Send", body=body(media_type="application/octet-stream"))),
    ("binary", operation("POST /files", body=body({"type": "object", "properties": {"file": FILE}}))),
    (
        "binary",
        operation("POST /files", body=body({"properties": {"file": FILE, "name": TEXT}, "required": ["file"]})),
    ),
    ("binary", operation("POST /files", body=body({"properties": {"files": {"type": "array", "items": FILE}}}))),
    ("binary", operation("GET /image", responses=(Response("200", "image/png", TEXT),))),
    ("binary", operation("GET /report", responses=(Response("200", "application/json", FILE),))),
    ("binary", operation("GET /a", responses=(Response("200", "a/b", {**TEXT, "contentMediaType": "image/png"}),))),
    ("auth_only", operation("POST /login", title="Log in", **OPEN)),
    ("auth_only", operation("POST /v2/oauth/access_token", title="Get one", **OPEN)),
    ("auth_only", operation("GET /api/v1/users/logout", title="Bye", **OPEN)),
    ("auth_only", operation("POST /auth/token", title="Exchanges a password for a token", **OPEN)),
    ("auth_only", operation("POST /sessions", title="Sign in", **OPEN)),
    ("auth_only", operation("log_in", title="Log in with a password")),
    ("method", operation("HEAD /things/{id}")),
    ("method", operation("OPTIONS /things")),
    ("unclear", operation(problems=(Problem("unclear", "line 7", "no table"),))),
]
MISSES = [
    ("no_description", operation("do_it", title="Does it")),
    ("no_description", operation("GET /things", title="")),
    ("no_inputs_and_outputs", operation("GET /things", parameters=())),
    ("no_inputs_and_outputs", operation("GET /things", responses=(Response("204"),))),
    ("schema_unreadable", operation(problems=(Problem("enum_too_long", "/a", "many"),))),
    ("schema_unreadable", operation(problems=(Problem("discriminator_unresolved", "/a", "lost"),))),
    ("schema_unreadable", operation(parameters=(parameter("id"), parameter("id", Location.PATH)))),
    ("deprecated", operation(title="Deprecated things")),
    ("test_or_demo", operation("GET /instances/{id}/health")),
    ("test_or_demo", operation("POST /webhooks/{id}/ping")),
    ("test_or_demo", operation("GET /health-records", **OPEN)),
    ("test_or_demo", operation("GET /samples/sample", **OPEN)),
    ("test_or_demo", operation("GET /tests/{id}", title="Get the results of a test")),
    ("test_or_demo", operation("POST /echo", title="Get an echocardiogram", body=body())),
    ("binary", operation("POST /files", body=body({"properties": {"file": FILE, "name": TEXT}}))),
    ("binary", operation("GET /files", responses=(Response("200", "application/json", {**TEXT, "format": "byte"}),))),
    ("binary", operation("GET /images", responses=(Response("200", "application/json", THING),))),
    ("auth_only", operation("GET /sessions", title="Sessions of the conference", **OPEN)),
    ("auth_only", operation("GET /v1/tokens", title="Coins that are traded", **OPEN)),
    ("auth_only", operation("DELETE /users/{id}/tokens", title="Revoke a user's access tokens")),
    ("auth_only", operation("GET /me/authentication", title="Methods that are set up", **OPEN)),
    ("auth_only", operation("POST /login-attempts/report", title="Report login attempts", **OPEN)),
    ("method", operation("PATCH /things/{id}")),
    ("unclear", operation(problems=(Problem("reference_unresolved", "/a", "lost"),))),
]


@pytest.mark.parametrize(("reason", "given"), HITS)
def test_an_operation_is_left_out_when_a_reason_speaks_against_it(reason: str, given: Any) -> None:
    (found,) = clean(document(given)).operations
    assert reason in found.reasons
    assert not found.is_kept


@pytest.mark.parametrize(("reason", "given"), MISSES)
def test_an_operation_is_kept_when_it_only_resembles_those_left_out(reason: str, given: Any) -> None:
    (found,) = clean(document(given)).operations
    assert reason not in found.reasons


def test_every_reason_is_explained_and_tested_when_it_is_given() -> None:
    # Duplicates are found over many documents.
    assert {reason for reason, _ in HITS} == {reason for reason, _ in MISSES} == REASONS.keys() - {"duplicate"}


def test_reasons_are_counted_when_several_speak_against_operations() -> None:
    cleaning = clean(document(operation("HEAD /things/{id}", is_deprecated=True), operation("HEAD /x"), operation()))
    assert cleaning.num_by_reason == {"deprecated": 1, "method": 2}
    assert [each.is_kept for each in cleaning.operations] == [False, False, True]
    assert [each.key for each in cleaning.operations] == ["HEAD /things/{id}", "HEAD /x", "GET /things/{id}"]
    assert cleaning.coverage.total == 1
