"""`manage.py serve_mcp <environment>`: one state of an environment as an MCP server on standard input and output."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from environments.api.mcp import serve_stdio
from environments.core.errors import InvalidInputError, NotVerifiedError
from environments.services.memory_sessions import find_memory_start


class Command(BaseCommand):
    help = "Serves one state of an environment to an MCP client over standard input and output."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="The environment's name.")
        parser.add_argument("--scenario", help="Where it starts; by default its simplest scenario.")
        parser.add_argument("--seed", type=int, help="Of ids and randomness; by default the scenario's own.")
        parser.add_argument("--number", type=int, help="By default the newest verified version.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            start = find_memory_start(
                name=options["name"], scenario=options["scenario"], seed=options["seed"],
                number=options["number"],
            )  # fmt: skip
        except (InvalidInputError, NotVerifiedError) as error:
            raise CommandError(str(error)) from error
        if sys.stdin.isatty():
            sys.stderr.write("An MCP client starts this command; it speaks JSON-RPC here. Ctrl-D ends it.\n")
        serve_stdio(start)
