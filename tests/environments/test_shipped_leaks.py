"""Nothing that ships in the project may resemble a public benchmark: these tests fail the build if it does."""

from pathlib import Path

import pytest

from environments.core.leak_guard import Guard, subject_of, subject_of_pack
from environments.core.sources import readers
from environments.core.sources.model import Fetched
from environments.runtime.pack.store import read_pack
from environments.services import leak_guard

ROOT = Path(leak_guard.__file__).parents[1]
PACKS = sorted(path for path in (ROOT / "packs").iterdir() if path.is_dir() and path.name != "__pycache__")
DOCUMENTS = sorted(
    path for path in (ROOT / "documents").rglob("*") if path.suffix in {".json", ".yaml", ".yml", ".md", ".html"}
)


@pytest.fixture(scope="module")
def guard() -> Guard:
    return leak_guard.guard()


@pytest.mark.parametrize("path", PACKS, ids=lambda path: path.name)
def test_shipped_packs_resemble_no_benchmark(guard, path):
    subject = subject_of_pack(read_pack(path))

    assert subject.tools
    assert subject.tables
    assert guard.check(subject) == ()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_shipped_documents_resemble_no_benchmark(guard, path):
    assert guard.check(subject_of(readers.read(Fetched(path.as_uri(), path.read_bytes())))) == ()


def test_the_shipped_packs_are_looked_at():
    assert len(PACKS) >= 3
