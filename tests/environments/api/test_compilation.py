"""Compilations over the API."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from environments.models import Compilation, CompiledEnvironment, CompiledOperation
from tests.environments.api.test_jobs import NOWHERE, problem
from tests.factories.compilation import a_compilation

pytestmark = pytest.mark.django_db

LIST = "/api/v1/compilations/"


def of(compilation: Compilation, part: str = "") -> str:
    return f"{LIST}{compilation.code}/{part}"


def test_list_is_short_and_newest_first(api: APIClient) -> None:
    first, second = a_compilation(), a_compilation(is_finished=False)

    page = api.get(LIST).json()

    assert [row["code"] for row in page["results"]] == [str(second.code), str(first.code)]
    assert "report" not in page["results"][0]
    assert [row["code"] for row in api.get(f"{LIST}?status=running").json()["results"]] == [str(second.code)]


def test_detail_has_the_report_once_it_is_made(api: APIClient) -> None:
    finished, running = a_compilation(), a_compilation(is_finished=False)

    report = api.get(of(finished)).json()["report"]

    assert report["reasons"] == [{"name": "resource_has_no_key", "num": 1}, {"name": "tool_failed", "num": 1}]
    assert (report["operations"], report["tools"], report["strict"]["distinct"]) == (3, 1, 1)
    assert api.get(of(running)).json()["report"] is None


def test_environments_name_their_version_or_why_there_is_none(api: APIClient) -> None:
    compilation = a_compilation()
    version = CompiledEnvironment.objects.get(outcome="verified").version

    rows = api.get(of(compilation, "environments/")).json()["results"]

    assert version is not None
    assert [(row["name"], row["version"], row["reason"]) for row in rows] == [
        ("library", str(version.code), ""), ("lost_library", None, "environment_discarded"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "keys"),
    [("", ["GET /pets", "POST /pets", "GET /pets/{petId}"]), ("is_tool=true", ["GET /pets"]),
     ("is_tool=false", ["POST /pets", "GET /pets/{petId}"]), ("reason=tool_failed", ["POST /pets"]),
     ("environment=library", ["GET /pets", "POST /pets"])],
)  # fmt: skip
def test_ledger_is_narrowed(api: APIClient, query: str, keys: list[str]) -> None:
    compilation = a_compilation()

    rows = api.get(of(compilation, f"operations/?{query}")).json()["results"]

    assert [row["key"] for row in rows] == keys


def test_ledger_comes_in_pages_by_cursor(api: APIClient) -> None:
    compilation = a_compilation()

    first = api.get(of(compilation, "operations/?page_size=2")).json()
    second = api.get(first["next"]).json()

    assert [row["key"] for row in first["results"] + second["results"]] == [
        "GET /pets", "POST /pets", "GET /pets/{petId}",
    ]  # fmt: skip
    assert second["next"] is None


def test_rows_are_of_the_compilation_alone(api: APIClient) -> None:
    first, second = a_compilation(), a_compilation()

    assert len(api.get(of(first, "operations/")).json()["results"]) == 3
    assert CompiledOperation.objects.filter(compilation=second).count() == 3


@pytest.mark.parametrize("part", ["", "environments/", "operations/"])
def test_unknown_compilation_is_not_found(api: APIClient, part: str) -> None:
    problem(api.get(f"{LIST}{NOWHERE}/{part}"), 404, "not_found")


@pytest.mark.parametrize("query", ["is_tool=yes", "document=x", "state=running"])
def test_bad_filter_is_refused(api: APIClient, query: str) -> None:
    problem(api.get(of(a_compilation(), f"operations/?{query}")), 400, "invalid_input")


def test_queries_do_not_grow_with_rows(api: APIClient, django_assert_max_num_queries: Any) -> None:
    compilation = a_compilation()

    with django_assert_max_num_queries(8):
        api.get(of(compilation, "operations/"))
    with django_assert_max_num_queries(8):
        api.get(of(compilation, "environments/"))
