"""The same document gives the same bytes, whatever order Python's sets and dictionaries happen to have."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
SCRIPT = """
import hashlib, pathlib
from environments.core.compile.emission import emit_pack
from environments.core.compile.inference import compile_operations
from environments.core.compile.reference import make_cases
from environments.core.compile.rows import make_scenarios
from environments.core.compile.semantics import SourcedOperation, SourceFacts
from environments.core.sources import readers
from environments.core.sources.model import Fetched
from environments.runtime.pack import content_sha256

operations = []
for name in ("rbaskets.in",):
    data = (pathlib.Path("environments/documents") / f"{name}.json").read_bytes()
    document = readers.read(Fetched(f"x:{name}.json", data, "application/json"))
    facts = SourceFacts(hashlib.sha256(data).hexdigest(), "openapi", f"x:{name}.json", "2026-01-01T00:00:00Z",
                        document.title, name, document.version, definitions=document.definitions)
    operations += [SourcedOperation(each, facts) for each in document.operations]
plan = compile_operations(operations)
for blueprint in plan.blueprints:
    scenarios = make_scenarios(blueprint, 7)
    pack = emit_pack(blueprint, scenarios, make_cases(blueprint, scenarios, 7))
    print(blueprint.name, content_sha256(pack))
print(sorted((each.operation, each.reason) for each in plan.left_out))
"""


def compiled(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_hash_seed_changes_nothing():
    first = compiled("1")

    assert first.count("\n") >= 2
    assert compiled("2") == first
