import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.environments.core.sources.openapi.attacks import ATTACKS, MAX_SECONDS, SLOW

ROOT = Path(__file__).parents[5]


@pytest.mark.timeout(2 * MAX_SECONDS)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in ATTACKS]
)
def test_time_and_memory_stay_bounded_when_a_document_is_hostile(name: str) -> None:
    command = [sys.executable, "-m", "tests.environments.core.sources.openapi.attacks", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=2 * MAX_SECONDS, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2_000:]
    found = orjson.loads(done.stdout)
    expected = ATTACKS[name][1]
    assert found["result"] == expected if expected.startswith("read ") else expected in found["result"]
    assert len(found["result"]) < 500
    assert found["seconds"] < MAX_SECONDS
