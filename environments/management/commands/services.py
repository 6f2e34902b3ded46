"""`manage.py services start|stop|status`: the embedded PostgreSQL and Valkey."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from environments.adapters.embedded import EmbeddedServiceError, EmbeddedServices


class Command(BaseCommand):
    help = "Starts, stops or shows the embedded PostgreSQL and Valkey. Without `start` they end with their last user."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["start", "stop", "status"])
        parser.add_argument("--force", action="store_true", help="Stop them even while other processes use them.")

    def handle(self, *args: Any, **options: Any) -> None:
        services: EmbeddedServices | None = getattr(settings, "EMBEDDED_SERVICES", None)
        if services is None:
            raise CommandError("These settings use real servers; there is nothing embedded to start or stop.")
        try:
            if options["action"] == "start":
                with services:
                    services.keep()
            elif options["action"] == "stop":
                services.stop(force=options["force"])
        except EmbeddedServiceError as error:
            raise CommandError(str(error)) from error
        for status in services.status():
            state = f"up, pid {status.pid}, version {status.version}" if status.is_running else "down"
            sys.stdout.write(f"{status.name:9} {state:40} {status.address}\n")
