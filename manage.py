#!/usr/bin/env python
"""Runs management commands, with the embedded services up for those that need them."""

import os
import sys
from contextlib import nullcontext


def main() -> None:
    """Runs the command that the arguments name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "envfactory_site.settings.local")
    try:
        from django.conf import settings
        from django.core.management import execute_from_command_line

        from environments.adapters.embedded import EmbeddedServiceError
    except ModuleNotFoundError as error:
        sys.exit(f"{error.name} is not installed: run `make setup`, then use .venv/bin/python.")
    # Commands that read no data run without starting a database.
    without = {"help", "services", "spectacular", "collectstatic", "compilemessages", "makemessages"}
    needs_services = len(sys.argv) > 1 and sys.argv[1] not in without and not {"-h", "--help"} & set(sys.argv)
    embedded = getattr(settings, "EMBEDDED_SERVICES", None) if needs_services else None
    try:
        with embedded or nullcontext():
            execute_from_command_line(sys.argv)
    except EmbeddedServiceError as error:
        sys.exit(f"manage.py: {error}")


if __name__ == "__main__":
    main()
