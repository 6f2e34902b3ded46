"""Killing the workers of a compilation: it goes on with the next environment, and ends with the same rows and packs."""

from typing import Any

import pytest

from environments import services
from environments.models import CompiledEnvironment, CompiledOperation
from environments.services.compilation import Scope, compile_environments
from tests.faults.conftest import Installation

pytestmark = [pytest.mark.kill]
PROVIDER, DOCUMENT = "slicebox.local", "slicebox.local"
"""One batch, from which several environments are made."""


def test_batch_ends_with_the_same_rows_when_its_worker_is_killed_between_two_environments(
    installation: Installation, db: None
) -> None:
    installation.wait_for(installation.submit("import_shipped_documents", names=[DOCUMENT]), "succeeded")
    code = installation.submit("compile_environments", provider=PROVIDER)
    installation.wait_until(lambda: len(environments(installation)) >= 1, "an environment is stored")

    installation.kill_workers()

    stored = environments(installation)
    job = installation.wait_for(code, "succeeded")
    children = installation.rows(f"/api/v1/jobs/?parent={code}")
    services.import_shipped_document(name=DOCUMENT)
    whole = compile_environments(scope=Scope(provider=PROVIDER))
    expected = list(
        CompiledEnvironment.objects.order_by("pk").values_list(
            "name", "outcome", "reason", "num_tools", "version__code"
        )
    )
    assert [child["attempt"] for child in children] == [2]
    assert job["result"]["failures"] == {}
    assert len(stored) < len(expected) == whole.num_environments
    # A version's code is made of its content.
    assert environments(installation) == [(*row[:4], str(row[4])) for row in expected]
    ledger = CompiledOperation.objects.values_list("key", "environment__name", "tool", "reason", "detail")
    assert operations(installation) == sorted(ledger, key=str)
    assert len({key for key, *_rest in ledger}) == len(ledger)


def compilation(installation: Installation) -> str:
    found = installation.rows("/api/v1/compilations/")
    return f"/api/v1/compilations/{found[0]['code']}" if found else ""


def environments(installation: Installation) -> list[tuple[Any, ...]]:
    """In the order in which they were stored."""
    address = compilation(installation)
    rows = installation.rows(f"{address}/environments/") if address else []
    return [(row["name"], row["outcome"], row["reason"], row["num_tools"], row["version"]) for row in rows]


def operations(installation: Installation) -> list[tuple[Any, ...]]:
    rows = installation.rows(f"{compilation(installation)}/operations/?page_size=500")
    return sorted(
        ((row["key"], row["environment"], row["tool"], row["reason"], row["detail"]) for row in rows), key=str
    )
