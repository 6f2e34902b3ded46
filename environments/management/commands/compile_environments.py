"""`manage.py compile_environments`: compiles documents into verified environments, and prints what became of them."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from environments.core.compile.semantics import MAX_TOOLS
from environments.core.errors import EnvFactoryError
from environments.management.compilation_summary import print_summary
from environments.models import Compilation
from environments.services.compilation import Report, Scope, compile_environments, quiet
from environments.services.source_imports import import_shipped_document, shipped_documents


class Command(BaseCommand):
    help = "Compiles documents into environments without a model, verifies each, and prints the funnel."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--provider", default="", help="Only its documents.")
        parser.add_argument("--document", action="append", default=[], help="Code of a document; may be repeated.")
        parser.add_argument("--collection", default="", help="Only its documents.")
        parser.add_argument("--shipped", action="store_true", help="Only what ships; imported where missing.")
        parser.add_argument("--target", type=int, default=0, help="Tools of an environment to aim at, such as 50.")
        parser.add_argument("--seed", type=int, default=0, help="Of rows and cases.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object and nothing else.")

    def handle(self, *args: Any, **options: Any) -> None:
        if not 0 <= options["target"] <= MAX_TOOLS or options["seed"] < 0:
            raise CommandError(f"--target is 0 to {MAX_TOOLS}, --seed 0 or more.")
        scope = Scope(options["provider"], options["collection"], tuple(options["document"]), options["shipped"])
        try:
            if options["shipped"]:
                for name in shipped_documents():
                    import_shipped_document(name=name)
            if options["json"]:
                compilation = self._compile(scope, options, quiet)
            else:
                with _bar() as report:
                    compilation = self._compile(scope, options, report)
        except EnvFactoryError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(as_json(compilation)))
        else:
            _print(compilation)

    def _compile(self, scope: Scope, options: dict[str, Any], report: Report) -> Compilation:
        return compile_environments(
            scope=scope, seed=options["seed"], target_tools=options["target"] or None, report=report
        )


def as_json(compilation: Compilation) -> dict[str, Any]:
    """A compilation with its report and its environments."""
    rows = compilation.environments.select_related("version__environment").order_by("batch", "name")
    return {
        "compilation": str(compilation.code),
        "compiler_version": compilation.compiler_version,
        "seed": compilation.seed,
        "target": compilation.target_tools,
        "scope": compilation.scope,
        "documents": compilation.num_documents,
        "operations": compilation.num_operations,
        "tools": compilation.num_tools,
        "report": compilation.report,
        "environments": [
            {
                "name": row.version.environment.name if row.version else row.name, "title": row.title,
                "provider": row.provider, "outcome": row.outcome,
                "reason": row.reason, "detail": row.detail, "tools": row.num_tools, "dropped": row.num_dropped,
                "tables": row.num_tables, "meets_bar": row.meets_bar,
                "version": str(row.version.code) if row.version else None,
                "content_sha256": row.version.content_sha256 if row.version else None,
            }
            for row in rows
        ],
    }  # fmt: skip


@contextmanager
def _bar() -> Iterator[Report]:
    columns = (TextColumn("{task.description:40.40}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("Compile", total=None)
        yield lambda words, done, total: progress.update(bar, completed=done, total=total, description=words)


def _print(compilation: Compilation) -> None:
    console = Console(file=sys.stdout, width=120, highlight=False, markup=False)
    for row in compilation.environments.exclude(outcome="verified").order_by("batch", "name"):
        console.print(f"{row.name}: {row.outcome}: {row.reason}: {row.detail[:200]}")
    print_summary(console, compilation.to_core())
    console.print(
        f"{compilation.num_verified:,} of {compilation.num_environments:,} planned environments are verified; the "
        f"ledger is at /compilations/{compilation.code}/"
    )
