"""`manage.py run`: the console and the workers in the foreground; one Ctrl-C stops all."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from environments.adapters.supervisor import Supervisor
from environments.management import site


class Command(BaseCommand):
    help = "Serves the console and runs the workers in the foreground; Ctrl-C stops everything."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--concurrency", type=int, default=site.default_concurrency())

    def handle(self, *args: Any, **options: Any) -> None:
        site.require_free_port(options["host"], options["port"])
        call_command("migrate", verbosity=0, interactive=False)
        with Supervisor() as supervisor:
            site.start_workers(supervisor, concurrency=options["concurrency"])
            site.start_web(supervisor, host=options["host"], port=options["port"])
            sys.stdout.write(f"EnvFactory at http://{options['host']}:{options['port']}/ (Ctrl-C stops it)\n")
            sys.stdout.flush()
            site.tend_until_stopped(supervisor)
