"""What the `bench_*` commands share: figures with their targets, the report, and a site of their own to measure."""

import gzip
import json
import math
import os
import platform
import socket
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TextIO

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import connection
from rich.console import Console
from rich.table import Table

from environments.adapters.embedded import EmbeddedServices
from environments.adapters.processes import APPLICATION

ROUNDS: Final = 3
HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number; `target` is the most it may be (or the least), None where it is only reported."""

    name: str
    value: float
    unit: str
    target: float | None = None
    is_floor: bool = False

    @property
    def is_ok(self) -> bool | None:
        """Whether the target is met."""
        if self.target is None:
            return None
        return self.value >= self.target if self.is_floor else self.value <= self.target

    def as_json(self) -> dict[str, Any]:
        """The figure as every bench command prints it."""
        return {
            "name": self.name,
            "value": round(self.value, 3),
            "unit": self.unit,
            "target": self.target,
            "ok": self.is_ok,
        }


class BenchCommand(BaseCommand):
    """Base of the bench commands: `--json`, `--quick`, and a report whose misses do not fail the command."""

    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Adds what all bench commands take."""
        parser.add_argument("--json", action="store_true", help="Print one JSON object and nothing else.")
        parser.add_argument("--quick", action="store_true", help="A small run, to see that it works.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Measures and reports."""
        load = os.getloadavg()
        say = (lambda text: None) if options["json"] else (lambda text: self.stdout.write(text))
        figures = self.measure(is_quick=options["quick"], say=say)
        report = {
            "figures": [figure.as_json() for figure in figures],
            "machine": machine(),
            "load": [round(value, 2) for value in load],
            "version": settings.ENVFACTORY_VERSION,
        }
        if options["json"]:
            self.stdout.write(json.dumps(report))
        else:
            print_report(figures, report, self.stdout)

    def measure(self, *, is_quick: bool, say: Callable[[str], None]) -> list[Figure]:
        """Measures; `say` tells a person what happens now."""
        raise NotImplementedError


def print_report(figures: Sequence[Figure], report: Mapping[str, Any], out: Any) -> None:
    """Prints the table: each figure, its target beside it, and whether it is met."""
    table = Table("Figure", title="What was measured", title_justify="left")
    table.add_column("Value", justify="right")
    table.add_column("Target", justify="right")
    table.add_column("")
    for figure in figures:
        target = "" if figure.target is None else f"{'≥' if figure.is_floor else '≤'} {figure.target:g} {figure.unit}"
        verdict = {None: "", True: "met", False: "[bold red]missed[/]"}[figure.is_ok]
        table.add_row(figure.name, f"{figure.value:,.1f} {figure.unit}", target, verdict)
    stream: TextIO = out
    console = Console(file=stream, width=120)
    console.print(table)
    facts = {**report["machine"], "load before": report["load"], "version": report["version"]}
    console.print(", ".join(f"{name}: {value}" for name, value in facts.items()), highlight=False)


def machine() -> dict[str, Any]:
    """What it was measured on."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share (0 to 1) of the values does not exceed."""
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


def median_of_rounds(measure: Callable[[], float]) -> float:
    """The median of three measurements."""
    return statistics.median(measure() for _ in range(ROUNDS))


def gzip_bytes(content: bytes) -> int:
    """Size as a production server sends it."""
    return len(gzip.compress(content, 9))


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def throwaway_services() -> Iterator[dict[str, str]]:
    """PostgreSQL and Valkey of their own in a temporary directory, migrated; the user's are not touched.

    This process's default database connection leads there meanwhile.

    Yields:
        The environment of processes that are to use them.
    """
    with TemporaryDirectory(prefix="envfactory-bench-") as directory, EmbeddedServices(Path(directory)) as services:
        before = dict(connection.settings_dict)
        connection.close()
        connection.settings_dict.update({"PASSWORD": "", **services.database})
        try:
            call_command("migrate", verbosity=0, interactive=False)
            yield {
                "DJANGO_SETTINGS_MODULE": f"{APPLICATION}.settings.local",
                "DATABASE_URL": services.database_url,
                "REDIS_URL": services.redis_url,
                "SECRET_KEY": settings.SECRET_KEY,
                "VAR_DIR": directory,
                "THROTTLE_READ": "1000000/min",
                "THROTTLE_WRITE": "1000000/min",
            }
        finally:
            connection.close()
            connection.settings_dict.update(before)
