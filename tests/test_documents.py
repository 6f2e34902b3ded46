"""What the documents promise to hold: every endpoint, error code and term, and no dead reference."""

import inspect
import re

import pytest
import yaml
from django.conf import settings
from django.urls import reverse

from environments.core import errors
from environments.core.access import Permission, Role, Scope

DOCUMENTS = settings.BASE_DIR / "docs"
ERROR_CODES = sorted(
    {
        error.code
        for _, error in inspect.getmembers(errors, inspect.isclass)
        if issubclass(error, errors.EnvFactoryError)
    }
    - {errors.EnvFactoryError.code}
    - {errors.JobCancelledError.code, errors.JobLostError.code}  # signals inside a run, which no caller sees
)
TERMS = (
    "environment", "tool", "toolset", "scenario", "tool graph", "dependency edge", "seed chain", "task", "tool call",
    "observation", "step", "turn", "episode", "rollout", "trajectory", "verifier", "verdict", "reward", "metric",
    "terminated", "truncated", "policy", "checkpoint", "group", "advantage", "review", "reviewer",
)  # fmt: skip


def read(name: str) -> str:
    return (DOCUMENTS / name).read_text(encoding="utf-8")


def test_every_endpoint_is_in_the_api_document():
    paths = yaml.safe_load(read("openapi.yaml"))["paths"]
    text = read("api.md")

    short = {path: path.removeprefix("/api/v1").replace("{", "<").replace("}", ">") for path in paths}
    missing = [path for path, written in short.items() if written not in text]

    assert len(paths) > 10
    assert missing == []


@pytest.mark.django_db
def test_every_error_code_has_its_help(operator_client):
    page = operator_client.get(reverse("help_errors")).content.decode()

    assert [code for code in ERROR_CODES if f'id="{code}"' not in page] == []
    assert [code for code in ERROR_CODES if f"`{code}`" not in read("api.md")] == []


@pytest.mark.parametrize("term", TERMS)
def test_every_term_is_in_the_glossary(term):
    first_cells = [line.split("|")[1] for line in read("glossary.md").splitlines() if line.startswith("|")]

    assert any(term in [word.strip() for word in cell.split(",")] for cell in first_cells)


def test_every_role_permission_and_scope_is_in_the_access_document():
    text = read("access.md")

    for word in (*Role, *Permission, *Scope):
        assert f"`{word}`" in text, word


@pytest.mark.parametrize("document", ["README.md", *(f"docs/{path.name}" for path in sorted(DOCUMENTS.glob("*.md")))])
def test_every_link_and_named_file_is_there(document):
    text = (settings.BASE_DIR / document).read_text(encoding="utf-8")
    base = (settings.BASE_DIR / document).parent
    links = re.findall(r"\]\((?!https?:|#|/)([^)#]+)", text)
    named = re.findall(
        r"`((?:docs|docker|requirements|static|environments|envfactory_site|tests)/[\w./-]+\.\w+)`", text
    )

    missing = [link for link in links if not (base / link).exists()]
    missing += [name for name in named if not (settings.BASE_DIR / name).exists()]

    assert missing == []


@pytest.mark.parametrize("document", ["README.md", *(f"docs/{path.name}" for path in sorted(DOCUMENTS.glob("*.md")))])
def test_every_make_target_that_is_named_exists(document):
    targets = set(re.findall(r"^([a-z-]+):", (settings.BASE_DIR / "Makefile").read_text(), re.MULTILINE))
    text = (settings.BASE_DIR / document).read_text(encoding="utf-8")

    assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets
