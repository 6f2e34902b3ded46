"""`manage.py sandbox_check`: each layer that locks tool code in, its state here, and the remedy."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand
from rich.console import Console
from rich.table import Table

from environments.runtime.sandbox.report import is_available, sandbox_report
from environments.services.sandbox import sandbox_policy


class Command(BaseCommand):
    help = "Shows each layer of the sandbox, its state on this machine and the remedy. Exit code 1: nothing can run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON object and nothing else.")

    def handle(self, *args: Any, **options: Any) -> None:
        policy = sandbox_policy()
        layers = sandbox_report(policy)
        available = is_available(layers)
        if options["json"]:
            report = {
                "is_available": available,
                "is_unsafe": policy.is_unsafe,
                "layers": [asdict(each) for each in layers],
            }
            sys.stdout.write(json.dumps(report) + "\n")
        else:
            console = Console()
            table = Table("Layer", "State", "Needed", "What it stops", "Found")
            for layer in layers:
                state = "[green]✓ on[/]" if layer.state == "on" else "[red]✗ missing[/]"
                table.add_row(layer.name, state, "yes" if layer.is_required else "no", layer.purpose, layer.detail)
            console.print(table)
            for layer in layers:
                if layer.remedy:
                    console.print(f"[bold]{layer.name}[/]: {layer.remedy}")
            console.print("Tool code can be run here." if available else "[red]Tool code can't be run here.[/]")
            if policy.is_unsafe:
                console.print("[red]SANDBOX_ALLOW_UNSAFE is on: tool code runs without the layers that are missing.[/]")
        if not available:
            sys.exit(1)
