"""Python sketches through the locked worker of this process."""

import pytest

from environments.core.errors import SandboxFailedError, UnreadableSourceError
from environments.core.sources.model import Fetched, SourceKind
from environments.runtime.sandbox.errors import SandboxUnavailableError, ToolCrash
from environments.runtime.sandbox.pool import WorkerPool
from environments.services.sketches import list_sketch, read_source

SOURCE = b'def find(name: str) -> dict:\n    """Finds a guest.\n\n    Args:\n        name: As on the door.\n    """\n'


def test_sketch_is_read() -> None:
    fetched = Fetched("file:///x/guests.py", SOURCE)

    document = read_source(fetched)

    assert document == read_source(fetched, SourceKind.PYTHON_SKETCH)
    assert document.operations[0].parameters[0].description == "As on the door."


def test_other_forms_are_read_alike() -> None:
    page = Fetched("https://a.example/docs.md", b"# GET /a\n\nNo content.")
    assert read_source(page).kind == SourceKind.WEB_PAGE


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (b"def f(:", "line 1: "), (b"\0", "null bytes"), (b"(" * 1_000_000, "too many nested parentheses"),
        (b"\xff", "byte 0 is not UTF-8"), (b"#" * (2 << 20), "2,048 KiB; 1,024 are read"),
        (b"-" * 1_000_000 + b"1", "MemoryError"),
    ],
    ids=["syntax", "zero", "nested", "bytes", "long", "deep"],
)  # fmt: skip
def test_source_that_is_no_python_is_unreadable(source: bytes, words: str) -> None:
    with pytest.raises(UnreadableSourceError, match=words) as caught:
        list_sketch(source)
    assert "UnreadableSketchError" not in str(caught.value)


def test_source_that_kills_its_worker_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    def sketch(_: WorkerPool, source: bytes) -> None:
        raise ToolCrash("signal 11")

    monkeypatch.setattr(WorkerPool, "sketch", sketch)
    with pytest.raises(UnreadableSourceError, match="tool_crash"):
        list_sketch(SOURCE)


def test_machine_without_the_lock_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def sketch(_: WorkerPool, source: bytes) -> None:
        raise SandboxUnavailableError("Missing layer: seccomp")

    monkeypatch.setattr(WorkerPool, "sketch", sketch)
    with pytest.raises(SandboxFailedError, match="seccomp"):
        list_sketch(SOURCE)
