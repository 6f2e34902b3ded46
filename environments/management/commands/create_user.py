"""`manage.py create_user <name> --role operator`: a login with a random password, printed once."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from environments import services
from environments.models import User


class Command(BaseCommand):
    help = "Creates a login with a random password, which is printed this once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--role", choices=User.Role.values, default=User.Role.VIEWER.value)
        parser.add_argument("--lead", action="store_true", help="May adjudicate.")

    def handle(self, *args: Any, **options: Any) -> None:
        password = services.issue_login(
            username=options["username"], role=User.Role(options["role"]), is_lead=options["lead"]
        )
        if password is None:
            name = options["username"]
            raise CommandError(f"{name} exists already; for a new password: manage.py changepassword {name}")
        sys.stdout.write(f"{password}\n")
