"""`manage.py create_token <user> --scope jobs`: an API token, whose key is printed once."""

import sys
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from environments import services
from environments.core.access import Scope
from environments.models import User


class Command(BaseCommand):
    help = "Creates an API token for a person; its key is printed this once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--name", default="command line")
        parser.add_argument("--scope", action="append", required=True, choices=[scope.value for scope in Scope])
        parser.add_argument("--days", type=int, help="How long it is valid; without it, until revoked.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = User.objects.get(username=options["username"])
        except User.DoesNotExist as error:
            raise CommandError(f"No user is named {options['username']}; see manage.py create_user.") from error
        expires_at = timezone.now() + timedelta(days=options["days"]) if options["days"] else None
        scopes = [Scope(scope) for scope in options["scope"]]
        issued = services.create_api_token(user=user, name=options["name"], scopes=scopes, expires_at=expires_at)
        sys.stdout.write(f"{issued.key}\n")
