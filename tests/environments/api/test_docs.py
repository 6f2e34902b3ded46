"""docs/api.md says what the API does: its examples run, and every route, filter, error code and limit is in it."""

import json
import re
import shlex
from pathlib import Path

import orjson
import pytest
from django.conf import settings
from rest_framework import exceptions

from envfactory_site.problems import STATUS_OF_ERROR
from environments import jobs
from environments.api import parsers, registry, sources, viewsets
from environments.api.registry_serializers import REASONS, VERDICTS
from environments.core import errors
from environments.core.access import Scope
from environments.models import EnvironmentVersion, Job, JobEvent, SourceDocument
from environments.runtime.pack import zip_pack
from tests.environments.api.test_access import MATRIX
from tests.factories.registry import little_pack, little_version
from tests.factories.sources import PETS

TEXT = (Path(settings.BASE_DIR) / "docs" / "api.md").read_text(encoding="utf-8")


def curl(client, command, **variables):
    """What the command would ask for, asked through the client."""
    for name, value in {"API": "/api/v1", **variables}.items():
        command = command.replace(f"${name}", value)
    words = shlex.split(command.replace("\\\n", " "))
    headers = dict(words[at + 1].split(": ", 1) for at, word in enumerate(words) if word == "-H")
    url = next(word for word in words if word.startswith("/api/v1"))
    if "--data-binary" in words:
        content_type = headers.pop("Content-Type")
        data = zip_pack(little_pack()) if content_type == "application/zip" else orjson.dumps(PETS)
        return client.post(url, data, content_type=content_type, headers=headers)
    if "-X" in words:
        return client.generic(words[words.index("-X") + 1], url, headers=headers)
    if "-d" in words:
        content_type = headers.pop("Content-Type")
        return client.post(url, words[words.index("-d") + 1], content_type=content_type, headers=headers)
    return client.get(url, headers=headers)


def examples(path):
    """The document's commands that ask below that path."""
    commands = re.findall(r"^curl (?:.*\\\n)*.*$", TEXT, re.MULTILINE)
    return [command for command in commands if f"$API{path}" in command]


@pytest.mark.django_db(transaction=True)
def test_examples_run(api, client, monkeypatch):
    monkeypatch.setattr(jobs, "send_job", lambda code: True)
    token = api._credentials["HTTP_AUTHORIZATION"].removeprefix("Bearer ")
    submit, watch, compilation = examples("/jobs/")

    first = curl(client, submit, TOKEN=token)
    again = curl(client, submit, TOKEN=token)
    stream = curl(client, watch, TOKEN=token, CODE=first.json()["code"])
    compiled = curl(client, compilation, TOKEN=token)

    assert (first.status_code, again.status_code, stream.status_code) == (202, 200, 200)
    assert compiled.status_code == 202
    assert stream["Content-Type"] == "text/event-stream"


@pytest.mark.django_db
def test_registry_examples_run(api, client, monkeypatch):
    monkeypatch.setattr(jobs, "send_job", lambda code: True)
    token = api._credentials["HTTP_AUTHORIZATION"].removeprefix("Bearer ")
    code = str(little_version().code)

    download, upload, verify = (curl(client, command, TOKEN=token, CODE=code) for command in examples("/versions/"))

    assert (download.status_code, upload.status_code, verify.status_code) == (200, 200, 202)
    assert upload.json()["code"] == code


@pytest.mark.django_db
def test_source_examples_run(api, client, monkeypatch):
    monkeypatch.setattr(jobs, "send_job", lambda code: True)
    token = api._credentials["HTTP_AUTHORIZATION"].removeprefix("Bearer ")
    (create,), (upload,) = examples("/sources/"), examples("/documents/")

    assert curl(client, create, TOKEN=token).json()["parameters"] == {"address": "https://api.example.org/openapi.json"}
    assert curl(client, upload, TOKEN=token).status_code == 202
    assert SourceDocument.objects.get().source.address.endswith("/pets.yaml")


def test_every_code_is_explained_with_its_status():
    rows = {code: int(status) for status, code in re.findall(r"^\| (\d{3}) \| `(\w+)` \|", TEXT, re.MULTILINE)}
    raised = {error.code: int(status) for error, status in STATUS_OF_ERROR.items()} | {
        error.default_code: error.status_code
        for error in (
            exceptions.ParseError, exceptions.NotAuthenticated, exceptions.AuthenticationFailed, exceptions.NotFound,
            exceptions.MethodNotAllowed, exceptions.NotAcceptable, exceptions.UnsupportedMediaType,
            exceptions.Throttled, parsers.PayloadTooLarge,
        )
    }  # fmt: skip

    assert rows == raised | {"bad_request": 400, "csrf_failed": 403, "internal_error": 500}
    assert errors.PermissionDeniedError.code == exceptions.PermissionDenied.default_code


def test_every_route_scope_and_filter_is_named():
    for _method, path in MATRIX:
        shown = re.sub(r"<\w+:(\w+)>", r"<\1>", path)
        spellings = (shown, shown.replace("<code>", "$CODE"), re.sub(r"<\w+>/", "", shown))
        assert any(words in TEXT for words in spellings), path
    for scope in Scope:
        assert f"`{scope}`" in TEXT
    lists = (
        viewsets.JobViewSet, viewsets.JobEventViewSet, viewsets.DecisionViewSet, viewsets.AuditEventViewSet,
        registry.EnvironmentViewSet, registry.VersionViewSet, registry.ToolViewSet, registry.ScenarioViewSet,
        sources.SourceViewSet, sources.DocumentViewSet, sources.OperationViewSet,
    )  # fmt: skip
    for viewset in lists:
        for name in viewset.filterset_class.base_filters:
            assert f"`{name}`" in TEXT, name
    for kind in JobEvent.Kind:
        assert f"`{kind}`" in TEXT
    for name in (*Job.WIDE_COLUMNS, *EnvironmentVersion.Status, *VERDICTS, *REASONS):
        assert f"`{name}`" in TEXT


def test_limits_are_what_is_said():
    code = (Path(settings.BASE_DIR) / "envfactory_site" / "settings" / "base.py").read_text(encoding="utf-8")
    read, write = (re.search(rf'"THROTTLE_{name}", "(\d+)/min"', code)[1] for name in ("READ", "WRITE"))
    assert f"{read} and {write} a\nminute" in TEXT
    assert settings.DATA_UPLOAD_MAX_MEMORY_SIZE == 2 * 2**20
    assert parsers.MAX_ZIP_BYTES == 16 * 2**20
    assert parsers.MAX_DEPTH == 64
    for paginator in (viewsets.JobViewSet.pagination_class, viewsets.AppendedPages):
        assert f"({paginator.page_size}, at most {paginator.max_page_size})" in TEXT
    example = json.loads(re.search(r"```json\n(.*?)```", TEXT, re.DOTALL)[1])
    assert set(example) == {"type", "title", "status", "detail", "instance", "code", "errors"}
