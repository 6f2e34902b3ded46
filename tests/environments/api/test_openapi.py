"""The committed OpenAPI description: up to date, free of hosts, and kept by the running API."""

import re
from io import StringIO
from pathlib import Path
from uuid import UUID

import orjson
import pytest
import schemathesis
from django.conf import settings
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.utils import timezone
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import positive_data_acceptance

from environments import jobs
from environments.core.access import Scope
from environments.core.jobs import job_kinds
from environments.models import Decision, EnvironmentVersion, JobEvent, User
from environments.runtime.pack import zip_pack
from environments.services import create_api_token, create_session, record_decision, session_snapshot
from tests.environments.api.test_access import MATRIX
from tests.environments.api.test_jobs import NOWHERE
from tests.factories.compilation import a_compilation
from tests.factories.environments import JobFactory, UserFactory
from tests.factories.registry import finished_run, little_pack, little_version
from tests.factories.sources import PETS, openapi_document

FILE = Path(settings.BASE_DIR) / "docs" / "openapi.yaml"
PACK = zip_pack(little_pack())


@st.composite
def zips(draw):
    """Packs, packs with some bytes changed, and anything."""
    data = bytearray(draw(st.sampled_from([PACK, zip_pack(little_pack(title="Another"))]) | st.binary()))
    for at, byte in draw(st.dictionaries(st.integers(0, 2**16), st.integers(0, 255), max_size=3)).items():
        if data:
            data[at % len(data)] = byte
    return bytes(data)


schemathesis.openapi.media_type("application/zip", zips())
schemathesis.openapi.media_type("application/octet-stream", st.sampled_from([orjson.dumps(PETS)]) | st.binary())
schema = schemathesis.openapi.from_path(FILE)


def test_committed_file_is_what_the_code_says():
    fresh = StringIO()

    call_command("spectacular", "--validate", "--fail-on-warn", stdout=fresh)

    assert fresh.getvalue() == FILE.read_text(encoding="utf-8"), "run `make schema`"


def test_file_names_no_host():
    assert re.findall(r"https?://\S+|localhost|127\.0\.0\.1|example\.\w+", FILE.read_text(encoding="utf-8")) == []


def test_every_route_but_the_description_itself_is_described():
    described = {
        (method.upper(), re.sub(r"\{(\w+)\}", r"<\1>", path.removeprefix("/api/v1/")))
        for path, methods in schema.raw_schema["paths"].items()
        for method in methods
    }

    routed = {(method, re.sub(r"<\w+:(\w+)>", r"<\1>", path)) for method, path in MATRIX}
    assert described == routed - {("GET", "docs/"), ("GET", "schema/")}


def test_every_operation_describes_its_problems():
    for path, methods in schema.raw_schema["paths"].items():
        for method, operation in methods.items():
            assert {"400", "401", "403", "429"} <= set(operation["responses"]), (method, path)
            assert operation["description"], (method, path)
            assert operation["security"] == [{"token": []}, {"session": []}]


def test_submission_describes_every_kind_that_people_may_start():
    alternatives = schema.raw_schema["components"]["schemas"]["JobSubmissionRequest"]["oneOf"]

    assert [each["title"] for each in alternatives] == [kind.name for kind in job_kinds() if kind.is_startable]


# --- schemathesis -----------------------------------------------------------------------------------------------------


@pytest.fixture
def objects(operator, monkeypatch):
    """An operator's key, and the codes of objects that are there, so that not every path ends at a 404."""
    monkeypatch.setattr(jobs, "send_job", lambda code: True)
    issued = create_api_token(user=operator, name="fuzz", scopes=[Scope.READ, Scope.JOBS, Scope.REVIEW, Scope.SESSIONS])
    admin = UserFactory.create(role=User.Role.ADMIN)
    audited = create_api_token(user=admin, name="fuzz", scopes=[Scope.ADMIN])
    job = JobFactory.create(status="failed", error_code="x", finished_at=timezone.now(), created_by=operator)
    for number in range(5):
        job.add_event(JobEvent.Kind.LOG, level="info", text=str(number))
    decision = record_decision(
        actor=admin,
        subject_kind="x",
        subject_code=UUID(int=1),
        subject_sha256="0" * 64,
        verdict=Decision.Verdict.APPROVE,
    )
    version = little_version()
    finished_run(version)
    codes = {"jobs": job.code, "tokens": issued.token.code, "decisions": decision.code, "versions": version.code}
    codes |= {"tools": version.tools.first().code, "scenarios": version.scenarios.first().code}
    played = little_version(title="Played")
    assert played.move(EnvironmentVersion.Status.VERIFIED)
    session = create_session(user=operator, version=played, scenario="small")
    document = openapi_document(info={"title": "Pets", "version": "1"})  # says nothing of its terms
    codes |= {"documents": document.code, "sources": document.source.code}
    codes |= {"operations": document.operations.first().code, "compilations": a_compilation().code}
    codes |= {"sessions": session.code, "snapshot": session_snapshot(session=session)}
    for signal in (request_started, request_finished):  # as Django's own client does, to keep the test's transaction
        signal.disconnect(close_old_connections)
    yield issued.key, audited.key, {name: str(code) for name, code in codes.items()}
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def name_what_there_is(values, snapshot):
    """Names, counts and snapshots: any text is one to a schema, and a few are of something."""
    there = {"environment": "library", "scenario": "small", "snapshot": snapshot, "since": snapshot, "at": 0}
    there["table"] = "books"
    values |= {name: value for name, value in there.items() if name in values}


def check(case, objects):
    key, admin_key, codes = objects
    subject = case.operation.path.split("/")[3]
    is_spoiled = case.meta is not None and case.meta.generation.mode.is_negative
    if "code" in (case.path_parameters or {}) and subject in codes and not is_spoiled:
        # A drawn code is of nothing; the revoked key would end the run.
        case.path_parameters["code"] = str(NOWHERE) if "revoke" in case.operation.path else codes[subject]
    if "cursor" in (case.query or {}) and not is_spoiled:
        case.query["cursor"] = "cD0w"  # p=0: a schema can't say what links hold
    if "name" in (case.path_parameters or {}) and subject == "environments" and not is_spoiled:
        case.path_parameters["name"] = "library"
    for values in (case.body, case.query):
        if subject == "sessions" and isinstance(values, dict) and not is_spoiled:
            name_what_there_is(values, codes["snapshot"])
    # Nor can it say what a zip or a document must hold, or what is an address: most are refused.
    is_file = case.media_type in ("application/zip", "application/octet-stream")
    is_free = is_file or (subject in ("sessions", "sources") and case.method == "POST")
    excluded = [positive_data_acceptance] if is_free else []
    used = admin_key if subject == "audit" else key
    case.call_and_validate(headers={"Authorization": f"Bearer {used}"}, excluded_checks=excluded)


def bounded(num_examples):
    return hypothesis_settings(
        max_examples=num_examples,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


schema.app = get_wsgi_application()
fuzzed = schema.exclude(path_regex="/stream/$")  # has no end while the job has none; test_stream.py tries it


@fuzzed.parametrize()
@bounded(40)
@pytest.mark.django_db
def test_api_keeps_what_it_describes(case, objects):
    check(case, objects)


@fuzzed.parametrize()
@bounded(400)
@pytest.mark.django_db
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_api_keeps_what_it_describes_over_many_requests(case, objects):
    check(case, objects)
