"""The one job table and its append-only events.

State changes are conditional updates that also check the attempt, which serves as a fencing token: a worker that was
believed dead and comes back finds that its attempt is over and can write nothing more.

    queued ──claim──> running ──> succeeded | failed | cancelled
      ^  ^               │
      │  └──release──────┤        (worker died, or a transient error)
      └──wake── waiting <┘        (children spawned; woken by the last one)
"""

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Self

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models, transaction
from django.db.models import Case, Exists, F, OuterRef, Q, When
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext_lazy as _

from environments.core.errors import UnknownJobKindError
from environments.core.jobs import COLLECT_STAGE, LogLevel, Queue, job_kind


class JobQuerySet(models.QuerySet["Job"]):
    """Chains over jobs."""

    def unfinished(self) -> Self:
        """Queued, running or waiting."""
        return self.filter(status__in=Job.UNFINISHED_STATUSES)  # in the words of the index job_unfinished

    def final(self) -> Self:
        """Succeeded, failed or cancelled."""
        return self.filter(status__in=Job.FINAL_STATUSES)

    def top_level(self) -> Self:
        """Started by a person, not spawned by a job."""
        return self.filter(parent__isnull=True)

    def stale(self) -> Self:
        """Running, but with a heart that stopped beating."""
        limit = timedelta(seconds=settings.JOB_STALE_SECONDS)
        return self.filter(status=Job.Status.RUNNING, heartbeat_at__lt=Now() - limit)

    def wakeable(self) -> Self:
        """Waiting, and every child is final."""
        children = Job.objects.unfinished().filter(parent=OuterRef("pk"))
        return self.filter(~Exists(children), status=Job.Status.WAITING)

    def due_to_send(self) -> Self:
        """Queued and not on the queue: never sent, or sent so long ago that the message must be lost."""
        lost = timedelta(seconds=settings.JOB_RESEND_SECONDS)
        return self.filter(
            Q(not_before_at__isnull=True) | Q(not_before_at__lte=Now()),
            Q(sent_at__isnull=True) | Q(sent_at__lt=Now() - lost),
            status=Job.Status.QUEUED,
        )

    def claim(self, code: uuid.UUID, *, worker: str) -> "Job | None":
        """Claims a queued job, or a running one whose worker died; None if somebody else has it or it is final."""
        claimable = Q(status=Job.Status.QUEUED) & (Q(not_before_at__isnull=True) | Q(not_before_at__lte=Now()))
        stale = Now() - timedelta(seconds=settings.JOB_STALE_SECONDS)
        dead = Q(status=Job.Status.RUNNING, heartbeat_at__lt=stale, num_failures__lt=F("max_attempts") - 1)
        was_running = When(status=Job.Status.RUNNING, then=F("num_failures") + 1)
        with transaction.atomic():
            updated = self.filter(claimable | dead, code=code).update(
                status=Job.Status.RUNNING,
                attempt=F("attempt") + 1,
                worker=worker,
                heartbeat_at=Now(),
                started_at=Coalesce(F("started_at"), Now()),
                num_failures=Case(was_running, default=F("num_failures"), output_field=models.IntegerField()),
                not_before_at=None,
            )
            if not updated:
                return None
            job = self.select_related("created_by").get(code=code)
            job.add_event(JobEvent.Kind.STATUS, text=Job.Status.RUNNING, data={"attempt": job.attempt})
        return job


class Job(models.Model):
    """One piece of work: what was asked, how far it is, and what came of it."""

    class Status(models.TextChoices):
        """Where the job is in its life."""

        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        WAITING = "waiting", _("Waiting for its parts")
        SUCCEEDED = "succeeded", _("Succeeded")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    UNFINISHED_STATUSES = (Status.QUEUED, Status.RUNNING, Status.WAITING)
    WIDE_COLUMNS = ("parameters", "result", "manifest", "error_message")
    """Columns that may hold megabytes; no list reads them."""
    FINAL_STATUSES = (Status.SUCCEEDED, Status.FAILED, Status.CANCELLED)

    code = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(max_length=64)
    queue = models.CharField(max_length=16, choices=[(queue.value, queue.value) for queue in Queue])
    parameters = models.JSONField(default=dict)
    status = models.CharField(max_length=16, choices=Status, default=Status.QUEUED)
    stage = models.CharField(max_length=64, blank=True)
    done_units = models.PositiveBigIntegerField(default=0)
    total_units = models.PositiveBigIntegerField(null=True, blank=True)
    attempt = models.PositiveIntegerField(default=0)
    num_failures = models.PositiveIntegerField(default=0)
    max_attempts = models.PositiveIntegerField(default=3)
    parent = models.ForeignKey("self", models.CASCADE, null=True, blank=True, related_name="children")
    key = models.CharField(max_length=200, blank=True)
    idempotency_key = models.CharField(max_length=200, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="jobs")
    created_at = models.DateTimeField(db_default=Now())
    sent_at = models.DateTimeField(null=True, blank=True)
    not_before_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    stage_started_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    worker = models.CharField(max_length=200, blank=True)
    result = models.JSONField(null=True, blank=True, encoder=DjangoJSONEncoder)
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.TextField(blank=True)
    manifest = models.JSONField(default=dict)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["status", "-id"], name="job_status_id"),
            models.Index(fields=["kind", "-id"], name="job_kind_id"),
            models.Index(fields=["created_by", "-id"], name="job_created_by_id"),
            models.Index(fields=["parent", "status"], name="job_parent_status"),
            models.Index(fields=["-id"], name="job_top_level", condition=Q(parent__isnull=True)),
            models.Index(
                fields=["id"], name="job_unfinished", condition=Q(status__in=["queued", "running", "waiting"])
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["parent", "key"], name="job_parent_key_unique", condition=Q(parent__isnull=False)
            ),
            models.UniqueConstraint(
                fields=["created_by", "idempotency_key"],
                name="job_idempotency_key_unique",
                condition=~Q(idempotency_key=""),
            ),
            models.CheckConstraint(
                condition=Q(status__in=["queued", "running", "waiting", "succeeded", "failed", "cancelled"]),
                name="job_status_known",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["succeeded", "failed", "cancelled"], finished_at__isnull=False)
                | Q(status__in=["queued", "running", "waiting"], finished_at__isnull=True),
                name="job_finished_at_when_final",
            ),
            models.CheckConstraint(
                condition=~Q(status="running") | Q(heartbeat_at__isnull=False), name="job_running_has_heartbeat"
            ),
            models.CheckConstraint(condition=~Q(status="failed") | ~Q(error_code=""), name="job_failed_has_error_code"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.code}"

    @property
    def title(self) -> str:
        """The kind's title, or its bare name when no app registers it any more."""
        try:
            return job_kind(self.kind).title
        except UnknownJobKindError:
            return self.kind

    @property
    def is_final(self) -> bool:
        """Whether nothing more happens by itself."""
        return self.status in self.FINAL_STATUSES

    @property
    def is_cancelling(self) -> bool:
        """Whether somebody asked to cancel and the worker has not yet stopped."""
        return self.cancel_requested_at is not None and not self.is_final

    @property
    def is_unsent(self) -> bool:
        """Whether the row waits because the broker could not be reached."""
        return self.status == self.Status.QUEUED and self.sent_at is None and self.not_before_at is None

    @property
    def can_retry(self) -> bool:
        """Whether it can be queued again: what is finished is kept."""
        return self.status in {self.Status.FAILED, self.Status.CANCELLED}

    @property
    def progress_ratio(self) -> float | None:
        """Share of the stage's units that are done, 0 to 1; None while the total is unknown."""
        return min(self.done_units / self.total_units, 1.0) if self.total_units else None

    def rate(self, now: datetime) -> float | None:
        """Units a second in this stage so far; None before the first unit or outside a run."""
        if self.stage_started_at is None or not self.done_units:
            return None
        seconds = ((self.finished_at or now) - self.stage_started_at).total_seconds()
        return self.done_units / seconds if seconds > 0 else None

    def seconds_left(self, now: datetime) -> float | None:
        """Seconds to the end of the stage at the present rate; None when that can't be told."""
        rate = self.rate(now)
        if self.status != self.Status.RUNNING or not rate or self.total_units is None:
            return None
        return max(self.total_units - self.done_units, 0) / rate

    def _advance(self, *, held: bool = True, from_statuses: Iterable[str] = (Status.RUNNING,), **changes: Any) -> bool:
        """Applies changes if the row is still in one of the statuses (and, when `held`, still at this attempt)."""
        rows = Job.objects.filter(pk=self.pk, status__in=list(from_statuses))
        if held:
            rows = rows.filter(attempt=self.attempt)
        if not rows.update(**changes):
            return False
        self.refresh_from_db()
        return True

    def beat(self) -> bool:
        """Says that the worker lives; False if the row is no longer this attempt's."""
        rows = Job.objects.filter(pk=self.pk, status=self.Status.RUNNING, attempt=self.attempt)
        return bool(rows.update(heartbeat_at=Now()))

    def set_progress(self, stage: str, done: int, total: int | None) -> bool:
        """Writes progress and its event; False if the row is no longer this attempt's."""
        new_stage = stage != self.stage or self.stage_started_at is None
        changes: dict[str, Any] = {"stage": stage, "done_units": done, "total_units": total, "heartbeat_at": Now()}
        if new_stage:
            changes["stage_started_at"] = Now()
        with transaction.atomic():
            if not self._advance(**changes):
                return False
            kind = JobEvent.Kind.STAGE if new_stage else JobEvent.Kind.PROGRESS
            self.add_event(kind, stage=stage, data={"done": done, "total": total})
        return True

    def add_log(self, level: LogLevel, text: str) -> bool:
        """Appends a log line; False if the row is no longer this attempt's."""
        with transaction.atomic():
            if not self.beat():
                return False
            self.add_event(JobEvent.Kind.LOG, level=level, stage=self.stage, text=text)
        return True

    def finish(self, status: Status, *, result: Any = None, error_code: str = "", error_message: str = "") -> bool:
        """Ends this attempt's run; False if the row is no longer this attempt's."""
        return self._end(
            status, held=True, from_statuses=(self.Status.RUNNING,),
            result=result, error_code=error_code, error_message=error_message,
        )  # fmt: skip

    def cancel_unclaimed(self) -> bool:
        """Cancels a row that no worker holds; False if one has just claimed it or it is final."""
        return self._end(
            self.Status.CANCELLED, held=False, from_statuses=(self.Status.QUEUED, self.Status.WAITING),
            cancel_requested_at=Now(),
        )  # fmt: skip

    def _end(self, status: Status, *, held: bool, from_statuses: Iterable[str], **changes: Any) -> bool:
        with transaction.atomic():
            ended = self._advance(
                held=held, from_statuses=from_statuses, status=status, finished_at=Now(), not_before_at=None, **changes
            )
            if ended:
                self.add_event(JobEvent.Kind.STATUS, text=status, data={"error_code": self.error_code})
        return ended

    def wait_for_children(self) -> bool:
        """Lets go of the worker until the last child is final."""
        with transaction.atomic():
            waiting = self._advance(status=self.Status.WAITING, heartbeat_at=None)
            if waiting:
                self.add_event(JobEvent.Kind.STATUS, text=self.Status.WAITING)
        return waiting

    def wake(self) -> bool:
        """Queues a waiting parent again at stage `collect` once every child is final."""
        with transaction.atomic():
            woken = Job.objects.wakeable().filter(pk=self.pk).update(
                status=self.Status.QUEUED, stage=COLLECT_STAGE, stage_started_at=None, sent_at=None
            )  # fmt: skip
            if woken:
                self.refresh_from_db()
                self.add_event(JobEvent.Kind.STATUS, stage=COLLECT_STAGE, text=self.Status.QUEUED)
        return bool(woken)

    def release(self, *, reason: str, delay_seconds: float) -> bool:
        """Queues a running row again after a dead worker or a transient error, which counts as a failure."""
        with transaction.atomic():
            released = self._advance(
                status=self.Status.QUEUED,
                num_failures=F("num_failures") + 1,
                heartbeat_at=None,
                sent_at=None,
                not_before_at=Now() + timedelta(seconds=delay_seconds),
            )
            if released:
                self.add_event(JobEvent.Kind.STATUS, text=self.Status.QUEUED, data={"reason": reason})
        return released

    def requeue(self) -> bool:
        """Queues a failed or cancelled row again; what it finished is kept."""
        with transaction.atomic():
            requeued = self._advance(
                held=False,
                from_statuses=(self.Status.FAILED, self.Status.CANCELLED),
                status=self.Status.QUEUED,
                stage="",
                stage_started_at=None,
                done_units=0,
                total_units=None,
                num_failures=0,
                heartbeat_at=None,
                finished_at=None,
                cancel_requested_at=None,
                sent_at=None,
                error_code="",
                error_message="",
            )
            if requeued:
                self.add_event(JobEvent.Kind.STATUS, text=self.Status.QUEUED, data={"reason": "retried"})
        return requeued

    def request_cancel(self) -> bool:
        """Asks the worker that holds the row to stop; False if none does or it was asked before."""
        with transaction.atomic():
            rows = Job.objects.filter(pk=self.pk, status=self.Status.RUNNING, cancel_requested_at__isnull=True)
            asked = bool(rows.update(cancel_requested_at=Now()))
            if asked:
                self.refresh_from_db()
                self.add_event(JobEvent.Kind.STATUS, text="cancelling")
        return asked

    def add_event(
        self,
        kind: "JobEvent.Kind",
        *,
        level: str = "",
        stage: str = "",
        text: str = "",
        data: dict[str, Any] | None = None,
    ) -> "JobEvent":
        """Appends an event. Call it after an update of the row in the same transaction.

        The row lock that the update took makes ids grow in commit order within a job, so a reader that has seen id n
        never misses a smaller one.
        """
        # PostgreSQL keeps no NUL, which a line that quotes a tool may hold.
        text = text.replace("\0", "\\0")
        return JobEvent.objects.create(job=self, kind=kind, level=level, stage=stage, text=text, data=data or {})


class JobEventQuerySet(models.QuerySet["JobEvent"]):
    """Chains over job events."""

    def after(self, event_id: int) -> Self:
        """Those with a larger id, oldest first."""
        return self.filter(pk__gt=event_id).order_by("pk")

    def log_lines(self) -> Self:
        """What a person reads as the log: lines, stages and changes of status, oldest first."""
        return self.exclude(kind=JobEvent.Kind.PROGRESS).order_by("pk")


class JobEvent(models.Model):
    """A log line, a progress mark or a change of status, append-only; its id is the id of its server-sent event."""

    class Kind(models.TextChoices):
        """What happened."""

        STATUS = "status"
        STAGE = "stage"
        PROGRESS = "progress"
        LOG = "log"

    job = models.ForeignKey(Job, models.CASCADE, related_name="events")
    at = models.DateTimeField(db_default=Now())
    kind = models.CharField(max_length=16, choices=Kind)
    level = models.CharField(max_length=16, blank=True)
    stage = models.CharField(max_length=64, blank=True)
    text = models.TextField(blank=True)
    data = models.JSONField(default=dict)

    objects = JobEventQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["job", "id"], name="job_event_job_id")]

    def __str__(self) -> str:
        return f"{self.kind} {self.text or self.stage}"
