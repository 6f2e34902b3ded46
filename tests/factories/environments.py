"""Factories of the environments app; each makes a valid row by default."""

from typing import Any

import factory
from django.contrib.auth.hashers import make_password

from environments.core.jobs import Queue
from environments.models import Job, User

PASSWORD = "correct horse battery"


class UserFactory(factory.django.DjangoModelFactory[User]):
    class Meta:
        model = User

    username = factory.Sequence(lambda number: f"person{number}")
    password = factory.LazyFunction(lambda: make_password(PASSWORD))
    role = User.Role.VIEWER


class JobFactory(factory.django.DjangoModelFactory[Job]):
    class Meta:
        model = Job

    kind = "seed_row"
    queue = Queue.BUILD
    parameters: Any = factory.LazyFunction(lambda: {"seed": 0, "index": 0, "milliseconds": 0})
