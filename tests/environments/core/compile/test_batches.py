"""Batches never part what the compiler joins or leaves out together."""

import hashlib
import json
from pathlib import Path

import pytest

from environments.core.compile.apis import DocumentSize, make_batches, share_of
from environments.core.compile.inference import compile_operations
from environments.core.compile.semantics import SourcedOperation, SourceFacts
from environments.core.sources import readers
from environments.core.sources.model import Fetched

DOCUMENTS = Path(__file__).resolve().parents[4] / "environments" / "documents"


def operations(name: str, version: str, provider: str) -> list[SourcedOperation]:
    """The operations of a shipped document, as if it were of that version and provider."""
    found = json.loads((DOCUMENTS / f"{name}.json").read_bytes())
    found["info"]["version"] = version
    data = json.dumps(found).encode()
    address = f"x:{provider}/{name}/{version}.json"
    document = readers.read(Fetched(address, data, "application/json"))
    facts = SourceFacts(
        hashlib.sha256(data).hexdigest(), "openapi", address, "2026-01-01T00:00:00Z", document.title, provider,
        document.version, definitions=document.definitions,
    )  # fmt: skip
    return [SourcedOperation(each, facts) for each in document.operations]


@pytest.mark.parametrize("max_operations", [10, 100_000])
def test_batches_together_make_what_the_whole_makes(max_operations):
    documents = {
        f"{provider} {name} {version}": operations(name, version, provider)
        for provider, name, version in (
            ("a.org", "rbaskets.in", "1"), ("a.org", "rbaskets.in", "2"), ("a.org", "mailscript.com", "1"),
            ("b.org", "microcks.local", "1"),
        )
    }  # fmt: skip
    sizes = [DocumentSize(key, key[:5], found[0].facts.address, len(found)) for key, found in documents.items()]

    blueprints, left_out = [], []
    for batch in make_batches(sizes, max_operations):
        plan = compile_operations([each for key in batch.documents for each in documents[key]])
        blueprints += share_of(plan.blueprints, batch.part, batch.num_parts)
        left_out += plan.left_out if batch.part == 1 else ()
    whole = compile_operations([each for found in documents.values() for each in found])

    assert sorted(blueprints, key=lambda each: each.name) == sorted(whole.blueprints, key=lambda each: each.name)
    assert sorted(left_out, key=repr) == sorted(whole.left_out, key=repr)
    assert "older_version" in {each.reason for each in left_out}
    assert len(blueprints) >= 3
