"""Starting, cancelling and retrying jobs: what views, the API and commands call."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db import transaction

from environments import services
from environments.models import Job, User
from environments.tasks import send_job


def start_job(
    *,
    kind: str,
    parameters: Mapping[str, Any],
    user: User | None,
    idempotency_key: str = "",
    address: str | None = None,
) -> tuple[Job, bool]:
    """Creates a job and sends it once the row is committed; see `services.create_job` for what it raises.

    Returns:
        The job, and whether it is new. Its `is_unsent` is true if the broker could not be reached.
    """
    with transaction.atomic():
        job, is_new = services.create_job(
            kind=kind, parameters=parameters, user=user, idempotency_key=idempotency_key, address=address
        )
        if is_new:
            transaction.on_commit(partial(send_job, job.code))
    job.refresh_from_db()
    return job, is_new


def cancel_job(*, job: Job, user: User, address: str | None = None) -> Job:
    """Cancels a job and what it spawned; see `services.cancel_job`."""
    return services.cancel_job(job=job, user=user, address=address)


def retry_job(*, job: Job, user: User, address: str | None = None) -> Job:
    """Queues a failed or cancelled job again; see `services.retry_job`."""
    return services.retry_job(job=job, user=user, send=send_job, address=address)
