"""What the documents promise to hold: every endpoint, error code and term, and no dead reference."""

import ast
import inspect
import re

import pytest
import yaml
from django.conf import settings
from django.urls import reverse

from environments.adapters.fetching import FetchPolicy
from environments.adapters.sources import address, collections, mcp_http, mcp_servers
from environments.adapters.sources.mcp_stdio import StdioLimits
from environments.core import errors
from environments.core.access import Permission, Role, Scope
from environments.core.cleaning.reasons import FATAL
from environments.core.compile.report import REASONS
from environments.core.sources import budget, references, schemas, text_values, yaml_text
from environments.core.sources.openapi import reader
from environments.core.sources.tool_lists import reader as tool_lists
from environments.core.sources.web_pages import blocks, html_tokens, sections
from environments.runtime.sandbox import sketching

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


def problem_codes(module: ast.Module) -> set[str]:
    """What stands for `code` where a problem is made, and where a function with such an argument is called."""
    places = {"Problem": 0}
    given: list[ast.expr | None] = []
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and "code" in (names := [each.arg for each in node.args.args]):
            place = names.index("code")
            places[node.name] = place - (names[0] == "self")
            given.append(dict(zip(reversed(names), reversed(node.args.defaults), strict=False)).get("code"))
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            place = places.get(getattr(node.func, "attr", getattr(node.func, "id", "")), len(node.args))
            given += node.args[place : place + 1]
    return {each.value for each in given if isinstance(each, ast.Constant)}


def test_every_problem_of_a_source_is_in_its_document():
    files = (settings.BASE_DIR / "environments" / "core" / "sources").rglob("*.py")
    codes = set().union(*(problem_codes(ast.parse(file.read_text(encoding="utf-8"))) for file in files))
    section = read("sources.md").partition("## Problems")[2].partition("\n## ")[0]
    listed = dict(re.findall(r"^\| `(\w+)`( †)? \|", section, re.MULTILINE))

    assert {"discriminator_unresolved", "media_not_an_object", "reference_unresolved", "unclear"} <= codes
    assert set(listed) == codes
    assert {code for code, mark in listed.items() if mark} == FATAL | {"unclear"}


POLICY, STDIO = FetchPolicy(), StdioLimits()
LIMITS = {
    "fetched: whole time": (f"{POLICY.total_seconds:.0f} s", f"{POLICY.connect_seconds:.0f} s",
                            f"{POLICY.read_seconds:.0f} s"),
    "fetched: redirects": (POLICY.max_redirects,),
    "files that a document refers to": (address.MAX_RELATED, f"{address.MAX_RELATED_BYTES >> 20} MiB",
                                        address.MAX_NAMED),
    "links to a description": (address.MAX_LINKS,),
    "a collection's list": (f"{collections.MAX_ENTRIES:,} entries",),
    "document: bytes": (f"{text_values.MAX_BYTES >> 20} MiB", text_values.MAX_DEPTH, text_values.MAX_VALUES),
    "the same in YAML": (f"{yaml_text.MAX_YAML_BYTES >> 20} MiB", yaml_text.MAX_YAML_MARKS, yaml_text.MAX_MERGED),
    "written out": (f"{budget.MAX_WRITTEN // 1_000_000} MB",),
    "OpenAPI: paths": (reader.MAX_OPERATIONS, reader.MAX_OPERATIONS),
    "OpenAPI: characters": (reader.MAX_PATH,),
    "OpenAPI: servers": (reader.MAX_LISTED,),
    "named schemas": (schemas.MAX_DEFINITIONS,),
    "levels of a schema": (schemas.MAX_INLINE_DEPTH, schemas.MAX_ENUM),
    "steps of a reference": (references.MAX_HOPS, references.MAX_REFERENCE),
    "problems that are kept": (schemas.MAX_PROBLEMS,),
    "list of tools": (tool_lists.MAX_TOOLS,),
    "Python sketch": (f"{sketching.MAX_SOURCE_BYTES >> 20} MiB", sketching.MAX_FUNCTIONS, sketching.MAX_CLASSES,
                      sketching.MAX_ARGUMENTS),
    "page: HTML": (f"{blocks.MAX_HTML_BYTES >> 20} MiB", f"{blocks.MAX_MARKDOWN_BYTES >> 20} MiB", blocks.MAX_LINES,
                   html_tokens.MAX_TOKENS),
    "page: blocks": (blocks.MAX_BLOCKS, sections.MAX_SECTIONS),
    "MCP server: tools": (mcp_servers.MAX_TOOLS, mcp_servers.MAX_PAGES, mcp_http.MAX_REQUESTS,
                          f"{mcp_servers.MAX_LISTING_BYTES >> 20} MiB"),
    "MCP server that is started: whole time": (f"{STDIO.seconds:.0f} s", f"{STDIO.cpu_seconds} s",
                                               f"{STDIO.output_bytes >> 20} MiB"),
    "MCP server that is started: processes": (STDIO.processes, f"{STDIO.memory_bytes >> 30} GiB", STDIO.threads),
    "MCP server that is started: a file": (f"{STDIO.file_bytes >> 20} MiB", STDIO.descriptors,
                                           f"{STDIO.address_bytes >> 30} GiB"),
}  # fmt: skip


@pytest.mark.parametrize("what", LIMITS)
def test_limits_of_sources_are_those_of_the_code(what):
    (row,) = [line for line in read("sources.md").splitlines() if line.startswith(f"| {what}")]
    shown = row.split("|")[2].strip().split("; ")

    wanted = [f"{value:,}" if isinstance(value, int) else value for value in LIMITS[what]]
    assert shown[: len(wanted)] == wanted


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


def test_every_reason_of_the_compiler_is_in_its_document():
    text = read("compiler.md")

    assert [code for code, sentence in REASONS.items() if f"| `{code}` | {sentence} |" not in text] == []
