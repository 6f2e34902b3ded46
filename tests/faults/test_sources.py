"""Killing the workers of an import: a collection goes on where it was, and ends with the same rows."""

import ipaddress

import pytest

from environments.adapters.fetching import FetchPolicy
from environments.adapters.sources import IndexCollection
from environments.core.sources.model import SourceKind
from environments.models import Operation
from environments.services.source_imports import clean_collection, import_entries
from tests.factories.sites import api, open_site
from tests.faults.conftest import Installation

pytestmark = [pytest.mark.kill]
LOOPBACK = "127.0.0.0/8"
NUM_DOCUMENTS = 100
NOUNS = ("pet", "car", "boat", "room")


def test_collection_ends_with_the_same_rows_when_every_worker_is_killed(tmp_path, db, settings):
    var = tmp_path / "var"
    var.mkdir(mode=0o700)
    installation = Installation(var, FETCH_ALLOWED_NETWORKS=LOOPBACK)
    with open_site() as site:
        for place in range(NUM_DOCUMENTS):
            # Every fifth is a copy of the one before, so that what repeats is found across documents, too.
            number = place - 1 if place % 5 == 4 else place
            site.put(f"/{place}.json", api(f"API {number}", NOUNS[number % 4] + "x" * (number // 4), 12))
        address = site.put_list("/list.json", {f"api-{place:03}": f"/{place}.json" for place in range(NUM_DOCUMENTS)})
        try:
            installation.start()
            code = installation.submit("import_collection", address=address, name="few")
            installation.wait_until(lambda: 10 < num_read(installation) < NUM_DOCUMENTS, "some documents are read")

            installation.kill_workers()

            job = installation.wait_for(code, "succeeded")
            attempts = [child["attempt"] for child in children(installation, code)]
            found = operations(installation)
        finally:
            installation.stop()

        expected = import_without_a_break(site, address, settings)

    assert max(attempts) == 2
    assert sum(job["result"]["outcomes"].values()) == NUM_DOCUMENTS
    assert job["result"]["failures"] == {}
    assert job["result"]["funnel"]["reasons"] == {"duplicate": 12 * NUM_DOCUMENTS // 5}
    assert found == expected
    assert len(found) == 12 * NUM_DOCUMENTS


def num_read(installation: Installation) -> int:
    return installation.http.get("/api/v1/sources/", params={"status": "read", "page_size": 1}).json()["count"]


def children(installation: Installation, code: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = installation.http.get("/api/v1/jobs/", params={"parent": code}).json()["results"]
    return rows


def operations(installation: Installation) -> dict[str, tuple[object, ...]]:
    """Every operation by its code, as the API shows it."""
    found: dict[str, tuple[object, ...]] = {}
    address = "/api/v1/operations/?page_size=500"
    while address:
        page = installation.http.get(address).json()
        for row in page["results"]:
            found[row["code"]] = (row["key"], row["is_kept"], row["reasons"], row["effect"], row["duplicate_of"])
        address = page["next"]
    return found


def import_without_a_break(site, address, settings) -> dict[str, tuple[object, ...]]:
    """The same collection, imported here."""
    networks = (ipaddress.ip_network(LOOPBACK),)
    settings.FETCH_ALLOWED_NETWORKS = networks
    entries = IndexCollection(address, FetchPolicy(allowed_networks=networks), "few").entries()
    assert not [each for each in import_entries(entries, collection="few", kind=SourceKind.OPENAPI) if each.is_failure]
    clean_collection("few")
    return {
        str(row.code): (
            row.key, row.is_kept, row.reasons, row.effect, str(row.duplicate_of.code) if row.duplicate_of else None
        )
        for row in Operation.objects.select_related("duplicate_of")
    }  # fmt: skip
