"""Starting, cancelling and retrying jobs: what views, the API and commands call."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db import transaction

from environments import services
from environments.core.errors import PermissionDeniedError
from environments.models import Decision, EnvironmentVersion, Job, SourceDocument, User
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


def start_verification(*, version: EnvironmentVersion, user: User, address: str | None = None) -> Job:
    """Records that a person wants a version verified, and starts the job that does it.

    Returns:
        The job; while one for the version is unfinished that one, and nothing is recorded.

    Raises:
        PermissionDeniedError: If the person may not start jobs.
        StaleStateError: If the version is retired or discarded.
    """
    kind, parameters = services.VERIFY_ENVIRONMENT, {"version": str(version.code)}
    if not user.may(kind.permission):
        raise PermissionDeniedError(f"Verifying an environment needs the permission {kind.permission}.")
    with transaction.atomic():
        # Of two people who ask at once, the second waits here and then finds the first one's job.
        EnvironmentVersion.objects.select_for_update().only("pk").get(pk=version.pk)
        running = Job.objects.unfinished().filter(kind=kind.name, parameters=parameters).first()
        if running is not None:
            return running
        services.decide_version(version=version, verdict=Decision.Verdict.VERIFY, user=user)
        job, _ = start_job(kind=kind.name, parameters=parameters, user=user, address=address)
    job.refresh_from_db()
    return job


def start_import(
    *,
    user: User,
    source_address: str = "",
    server: str = "",
    document: SourceDocument | None = None,
    kind: str = "",
    address: str | None = None,
) -> Job:
    """Starts the job that reads an address, the tools of a configured MCP server, or an uploaded document.

    Args:
        user: Who asks.
        source_address: An http(s) address.
        server: A name of `MCP_STDIO_SERVERS`.
        document: What was uploaded.
        kind: Its form; recognised if empty.
        address: From where the person asks.

    Raises:
        PermissionDeniedError: If the person may not start jobs.
        InvalidInputError: Not exactly one of the three is given, or no server has that name.
        FetchRefusedError: It is no http(s) address.
    """
    given = {
        "address": source_address, "server": server, "document": str(document.code) if document else "", "kind": kind,
    }  # fmt: skip
    parameters = {name: value for name, value in given.items() if value}
    services.check_place(address=source_address, server=server)
    job, _ = start_job(kind=services.IMPORT_SOURCE.name, parameters=parameters, user=user, address=address)
    return job


def cancel_job(*, job: Job, user: User, address: str | None = None) -> Job:
    """Cancels a job and what it spawned; see `services.cancel_job`."""
    return services.cancel_job(job=job, user=user, address=address)


def retry_job(*, job: Job, user: User, address: str | None = None) -> Job:
    """Queues a failed or cancelled job again; see `services.retry_job`."""
    return services.retry_job(job=job, user=user, send=send_job, address=address)
