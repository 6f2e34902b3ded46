"""The life of a job: created, sent, claimed, run, cancelled, retried, swept.

Celery is reached through a `Sender` only, which the tasks and jobs modules hand in, so everything here can be tried
without a broker. The row is the truth: a message lost or delivered twice changes nothing.
"""

import logging
import os
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Protocol, Self
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import Error as DatabaseFault
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models.functions import Now

from environments.core.errors import (
    EnvFactoryError,
    FieldError,
    IdempotencyConflictError,
    InvalidInputError,
    JobCancelledError,
    JobLostError,
    PermissionDeniedError,
    StaleStateError,
    TransientError,
)
from environments.core.jobs import ChildOutcome, JobKind, LogLevel, Waiting, job_kind
from environments.models import Job, User
from environments.services.audit import record_audit
from environments.services.manifest import run_manifest

logger = logging.getLogger(__name__)

PROGRESS_SECONDS = 1.0
"""Progress and the wish to cancel are written and read at most this often."""


class Sender(Protocol):
    """Puts a job on its queue."""

    def __call__(self, job_code: UUID) -> bool:
        """True if the broker took it; False if it can't be reached, and the sweep will send it later."""


def create_job(
    *,
    kind: str,
    parameters: Mapping[str, Any],
    user: User | None,
    idempotency_key: str = "",
    address: str | None = None,
) -> tuple[Job, bool]:
    """Creates a queued row, or finds the one that the same person created with the same key.

    Returns:
        The job, and whether it is new.

    Raises:
        UnknownJobKindError: If no app registered the kind.
        InvalidInputError: If the parameters do not fit the kind's schema, or people may not start it.
        PermissionDeniedError: If the person may not start the kind.
        IdempotencyConflictError: If the key was used for something else.
    """
    definition = job_kind(kind)
    if not definition.is_startable:
        fault = FieldError("/kind", "not_startable", f"Jobs of kind {kind} are only started by other jobs.")
        raise InvalidInputError(fault.detail, fields=(fault,))
    if user is not None and not user.may(definition.permission):
        raise PermissionDeniedError(f"Starting {kind} needs the permission {definition.permission}.")
    filled = definition.check_parameters(parameters)
    with transaction.atomic():
        job, is_new = _get_or_create(definition, filled, user, idempotency_key)
        if is_new:
            record_audit(
                actor=user,
                action="job.start",
                subject_kind="job",
                subject_code=str(job.code),
                detail={"kind": kind},
                address=address,
            )
    if not is_new and (job.kind, job.parameters) != (kind, filled):
        raise IdempotencyConflictError(
            f"The idempotency key was used for job {job.code} with other parameters; use a new key."
        )
    return job, is_new


def _get_or_create(
    definition: JobKind, parameters: dict[str, Any], user: User | None, idempotency_key: str
) -> tuple[Job, bool]:
    values = {
        "kind": definition.name,
        "queue": definition.queue,
        "parameters": parameters,
        "max_attempts": definition.max_attempts,
        "manifest": run_manifest(),
    }
    if idempotency_key and user is not None:
        return Job.objects.get_or_create(created_by=user, idempotency_key=idempotency_key, defaults=values)
    return Job.objects.create(created_by=user, **values), True


def cancel_job(*, job: Job, user: User, address: str | None = None) -> Job:
    """Cancels a job and everything it spawned: unclaimed rows at once, running ones as soon as their loop looks.

    Raises:
        PermissionDeniedError: If the person may not cancel the kind.
        StaleStateError: If the job is already final.
    """
    _require_permission(job, user)
    if job.is_final:
        raise StaleStateError(f"The job is already {job.get_status_display().lower()}.")
    with transaction.atomic():
        record_audit(actor=user, action="job.cancel", subject_kind="job", subject_code=str(job.code), address=address)
        _cancel_tree(job)
    job.refresh_from_db()
    return job


def _cancel_tree(job: Job) -> None:
    # The parent first: a woken parent would otherwise collect the half that finished.
    if not job.cancel_unclaimed():
        job.request_cancel()
    _cancel_children(job)


def _cancel_children(job: Job) -> None:
    for child in job.children.unfinished().order_by("pk"):
        _cancel_tree(child)


def retry_job(*, job: Job, user: User, send: Sender, address: str | None = None) -> Job:
    """Queues a failed or cancelled job again, with its failed or cancelled children; what succeeded is kept.

    Raises:
        PermissionDeniedError: If the person may not start the kind.
        StaleStateError: If the job is neither failed nor cancelled.
    """
    _require_permission(job, user)
    with transaction.atomic():
        if not job.requeue():
            raise StaleStateError("Only a failed or cancelled job can be tried again.")
        _requeue_children(job, send)
        record_audit(actor=user, action="job.retry", subject_kind="job", subject_code=str(job.code), address=address)
        transaction.on_commit(partial(send, job.code))
    job.refresh_from_db()
    return job


def _requeue_children(job: Job, send: Sender) -> None:
    for child in job.children.filter(status__in=(Job.Status.FAILED, Job.Status.CANCELLED)).order_by("pk"):
        if child.requeue():
            _requeue_children(child, send)
            transaction.on_commit(partial(send, child.code))


def _require_permission(job: Job, user: User) -> None:
    permission = job_kind(job.kind).permission
    if not user.may(permission):
        raise PermissionDeniedError(f"Jobs of kind {job.kind} need the permission {permission}.")


def execute_job(*, job_code: UUID, send: Sender, interruption: type[Exception] | tuple[()] = ()) -> None:
    """Claims the job and runs its kind; does nothing if the job is not there to be claimed.

    Called at least once for each job, perhaps twice at the same time; the claim decides.

    Args:
        job_code: The job.
        send: Puts jobs on their queues.
        interruption: What the worker raises in the run when its soft time limit is over.
    """
    job = Job.objects.claim(job_code, worker=f"{socket.gethostname()}:{os.getpid()}")
    if job is None:
        logger.info("event=job_not_claimed job=%s", job_code)
        return
    logger.info("event=job_started job=%s kind=%s attempt=%d", job.code, job.kind, job.attempt)
    start = time.monotonic()
    with _Heart(job) as heart:
        _run(job, _Context(job, send, heart), interruption)
    logger.info("event=job_ended job=%s status=%s seconds=%.2f", job.code, job.status, time.monotonic() - start)
    if job.status == Job.Status.WAITING:
        _wake(job, send)
    elif job.is_final and job.parent_id is not None:
        _wake(Job.objects.get(pk=job.parent_id), send)


def _run(job: Job, context: "_Context", interruption: type[Exception] | tuple[()]) -> None:
    """Runs the kind once and writes how it ended; every outcome but a bug in this function is a state of the row."""
    try:
        context.check_cancelled(at_once=True)
        result = job_kind(job.kind).run(context)
        context.flush_progress()
        if isinstance(result, Waiting):
            context.check_cancelled(at_once=True)
            job.wait_for_children()
        else:
            job.finish(Job.Status.SUCCEEDED, result=result)
    except JobCancelledError:
        job.finish(Job.Status.CANCELLED)
        _cancel_children(job)  # those that it spawned after the wish was uttered
    except JobLostError:
        logger.warning("event=job_lost job=%s attempt=%d", job.code, job.attempt)
    except (TransientError, OperationalError, InterfaceError) as error:
        if not isinstance(error, TransientError) and not connection.in_atomic_block:
            connection.close()  # the server may have restarted: the row is written on a fresh connection
        _release_or_fail(job, code=getattr(error, "code", "database"), message=str(error))
    except EnvFactoryError as error:
        job.finish(Job.Status.FAILED, error_code=error.code, error_message=str(error))
    except interruption:
        seconds = job_kind(job.kind).soft_seconds
        job.finish(Job.Status.FAILED, error_code="timed_out", error_message=f"It took longer than {seconds} s.")
    except Exception as error:  # a worker survives the bugs of a kind
        logger.exception("event=job_failed job=%s kind=%s", job.code, job.kind)
        message = f"{type(error).__name__}: {error}"[:2000]
        job.finish(Job.Status.FAILED, error_code="internal_error", error_message=message)


def _release_or_fail(job: Job, *, code: str, message: str) -> bool:
    """Queues the row again with backoff and jitter, or fails it when its attempts are used up."""
    if job.num_failures + 1 >= job.max_attempts:
        return job.finish(Job.Status.FAILED, error_code=code, error_message=message[:2000])
    jitter = np.random.default_rng().uniform(0.5, 1.5)
    delay = min(settings.JOB_RETRY_SECONDS * 2**job.num_failures, 600) * jitter
    return job.release(reason=code, delay_seconds=delay)


def _wake(parent: Job, send: Sender) -> None:
    # After the child's own commit: of two children that end together, the later look sees both.
    if parent.wake():
        send(parent.code)


def sweep_jobs(*, send: Sender) -> dict[str, int]:
    """Takes up what got lost: dead workers' rows, parents nobody woke, rows the broker never got.

    Returns:
        How many rows of each sort were taken up.
    """
    counts = {"released": 0, "failed": 0, "cancelled": 0, "woken": 0, "sent": 0}
    for job in Job.objects.stale().order_by("pk")[:1000]:
        if job.cancel_requested_at is not None:
            counts["cancelled"] += job.finish(Job.Status.CANCELLED)
        elif _release_or_fail(job, code="worker_lost", message="The worker died, more often than may be tried again."):
            counts["failed" if job.is_final else "released"] += 1
        if job.is_final and job.parent_id is not None:
            _wake(Job.objects.get(pk=job.parent_id), send)
    for parent in Job.objects.wakeable().order_by("pk")[:1000]:
        counts["woken"] += parent.wake()
    for job in Job.objects.due_to_send().order_by("pk")[: settings.JOB_SWEEP_SENDS]:
        if not send(job.code):
            break
        counts["sent"] += 1
    return counts


def mark_sent(*, job_code: UUID) -> None:
    """Notes that the broker has the message."""
    Job.objects.filter(code=job_code, status=Job.Status.QUEUED).update(sent_at=Now())


class _Heart(threading.Thread):
    """Beats the row's heart while the run works, on a database connection of its own."""

    def __init__(self, job: Job) -> None:
        super().__init__(name=f"heart-{job.code}", daemon=True)
        self._job = Job(pk=job.pk, attempt=job.attempt)
        self._stop_event = threading.Event()
        self.is_lost = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_event.set()
        self.join()

    def run(self) -> None:
        """Beats until stopped or until the row belongs to another attempt."""
        try:
            while not self.is_lost and not self._stop_event.wait(settings.JOB_HEARTBEAT_SECONDS):
                try:
                    self.is_lost = not self._job.beat()
                except DatabaseFault:
                    logger.warning("event=heartbeat_missed")
                    connection.close()
        finally:
            connection.close()


class _Context:
    """The `JobContext` of one attempt."""

    def __init__(self, job: Job, send: Sender, heart: _Heart) -> None:
        self._job = job
        self._send = send
        self._heart = heart
        self._pending: tuple[str, int, int | None] | None = None
        self._written_at = float("-inf")
        self._looked_at = float("-inf")
        self.job_code: UUID = job.code
        self.parameters: Mapping[str, Any] = job.parameters
        self.stage: str = job.stage
        self.attempt: int = job.attempt

    def progress(self, stage: str, done: int, total: int | None) -> None:
        self._pending = (stage, done, total)
        is_news = stage != self._job.stage or self._job.stage_started_at is None or done == total
        if is_news or time.monotonic() - self._written_at >= PROGRESS_SECONDS:
            self.flush_progress()
        self.check_cancelled()

    def flush_progress(self) -> None:
        """Writes the progress that the once-a-second rule held back."""
        if self._pending is not None:
            self._require(self._job.set_progress(*self._pending))
            self._pending = None
            self._written_at = time.monotonic()

    def log(self, level: LogLevel, text: str) -> None:
        self._require(self._job.add_log(level, text))

    def check_cancelled(self, *, at_once: bool = False) -> None:
        self._require(not self._heart.is_lost)
        if not at_once and time.monotonic() - self._looked_at < PROGRESS_SECONDS:
            return
        self._looked_at = time.monotonic()
        if Job.objects.filter(pk=self._job.pk, cancel_requested_at__isnull=False).exists():
            raise JobCancelledError("Cancelled on request.")

    def spawn(self, kind: str, parameters: Mapping[str, Any], key: str) -> UUID:
        definition = job_kind(kind)
        filled = definition.check_parameters(parameters)
        with transaction.atomic():
            child, is_new = Job.objects.get_or_create(
                parent=self._job,
                key=key,
                defaults={
                    "kind": definition.name,
                    "queue": definition.queue,
                    "parameters": filled,
                    "max_attempts": definition.max_attempts,
                    "created_by": self._job.created_by,
                    "manifest": self._job.manifest,
                },
            )
            if is_new:
                transaction.on_commit(partial(self._send, child.code))
        return child.code

    def children(self) -> Sequence[ChildOutcome]:
        fields = ("code", "key", "status", "result", "error_code", "error_message")
        rows = self._job.children.order_by("key").values_list(*fields)
        return [ChildOutcome(*row) for row in rows]

    def _require(self, is_ours: bool) -> None:
        if not is_ours:
            raise JobLostError("Another worker has taken this job over.")
