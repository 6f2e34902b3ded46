"""`manage.py clean_operations`: cleans over many documents, and prints what came in and what was kept."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from environments.core.cleaning import REASONS
from environments.services.source_imports import clean_collection


class Command(BaseCommand):
    help = "Decides again which operations are kept, finds those that repeat, and prints the funnel."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--collection", default="", help="Only its sources; by default all.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object and nothing else.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(clean_collection(options["collection"])))
            return
        with _bar() as report:
            funnel = clean_collection(options["collection"], report)
        _print(funnel)


@contextmanager
def _bar() -> Iterator[Any]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("Clean", total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total)


def _print(funnel: dict[str, Any]) -> None:
    console = Console(file=sys.stdout, width=120, highlight=False)
    table = Table("What", title="Funnel", title_justify="left")
    table.add_column("Operations", justify="right")
    table.add_column("Share", justify="right")
    total, kept, covered = funnel["read"], funnel["kept"], funnel["coverage"]["total"]

    def row(words: str, count: int, whole: int) -> None:
        table.add_row(words, f"{count:,}", f"{count / whole:.1%}" if whole else "")

    row(f"Came in, from {funnel['documents']:,} documents", total, total)
    for reason, count in funnel["reasons"].items():
        row(f"  {reason}: {REASONS.get(reason, reason)}", count, total)
    row("Kept", kept, total)
    table.add_section()
    for effect, count in funnel["effects"].items():
        row(f"Kept, taken to {effect}" if effect != "unknown" else "Kept, effect unknown", count, kept)
    table.add_section()
    for name, words in (("inputs", "Inputs stated"), ("outputs", "Outputs stated")):
        row(f"{words} by the source", funnel["coverage"][f"{name}_before"], covered)
        row(f"{words} in the completed description", funnel["coverage"][f"{name}_after"], covered)
    console.print(table)
    console.print("One operation may be left out for several reasons.")
    for address, message in funnel["failures"].items():
        console.print(f"Not cleaned: {address}: {message}", markup=False)
