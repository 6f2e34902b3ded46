"""Sessions as rows, so that any process serves any session and a restart loses nothing (docs/contracts.md, C5).

A session is its start (version, scenario, seed, perhaps a snapshot), its calls, and a snapshot of where they led. Two
numbers guard it: `revision` counts changes, so that a process knows whether the state it holds in memory is still the
stored one, and `fence` counts holders, so that a process that lost the session to another can store nothing more.
"""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Self

from django.conf import settings
from django.db import connection, models
from django.db.models import F, Q
from django.db.models.functions import Left, Length, Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from environments.models.accounts import ApiToken
from environments.models.fields import ExactJSONField, exact_json
from environments.models.registry import EnvironmentVersion
from environments.runtime.net_changes import change_from_json, change_to_json
from environments.runtime.records import CallRecord, CallStatus, ColumnRef

LEASE_SECONDS: Final = 10
"""How long after its last call a process alone may write to a session that it holds in memory."""


class EnvironmentSessionQuerySet(models.QuerySet["EnvironmentSession"]):
    """Chains over sessions."""

    def for_user(self, user: Any) -> Self:
        """The person's own; nobody sees another's."""
        return self.filter(user=user)

    def open(self) -> Self:
        """Those in use."""
        return self.filter(status=EnvironmentSession.Status.OPEN)

    def idle(self) -> Self:
        """Open, but unused for so long that their address ends."""
        limit = timedelta(seconds=settings.SESSION_IDLE_SECONDS)
        return self.open().filter(used_at__lt=Now() - limit)

    def for_list(self) -> Self:
        """With what lists show and without snapshots."""
        return self.defer("start_snapshot", "snapshot").select_related("version__environment", "user")


class EnvironmentSession(models.Model):
    """One state of an environment and the calls that led to it."""

    class Status(models.TextChoices):
        """Whether it can be used."""

        OPEN = "open", _("Open")
        PARKED = "parked", _("Parked")
        CLOSED = "closed", _("Closed")

    code = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="environment_sessions")
    token = models.ForeignKey(ApiToken, models.SET_NULL, null=True, related_name="+")
    version = models.ForeignKey(EnvironmentVersion, models.PROTECT, related_name="sessions")
    title = models.CharField(max_length=200, blank=True)
    status = models.CharField(max_length=16, choices=Status, default=Status.OPEN)
    scenario = models.CharField(max_length=64)
    seed = models.BigIntegerField(null=True)
    start_snapshot = models.TextField(null=True)
    episode = models.PositiveIntegerField(default=0)
    snapshot = models.TextField(null=True)
    snapshot_calls = models.PositiveIntegerField(default=0)
    num_calls = models.PositiveIntegerField(default=0)
    revision = models.PositiveBigIntegerField(default=0)
    fence = models.PositiveBigIntegerField(default=0)
    leased_until = models.DateTimeField(null=True)
    forked_from = models.ForeignKey("self", models.SET_NULL, null=True, related_name="forks")
    forked_calls = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    used_at = models.DateTimeField(db_default=Now())
    closed_at = models.DateTimeField(null=True)

    objects = EnvironmentSessionQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["user", "status", "-id"], name="session_user_status"),
            models.Index(fields=["used_at"], name="session_open_used_at", condition=Q(status="open")),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(status__in=["open", "parked", "closed"]), name="session_status_known"),
            models.CheckConstraint(
                condition=Q(status="closed", closed_at__isnull=False)
                | (~Q(status="closed") & Q(closed_at__isnull=True)),
                name="session_closed_at_when_closed",
            ),
            models.CheckConstraint(condition=Q(snapshot_calls__lte=F("num_calls")), name="session_snapshot_not_ahead"),
        ]

    def __str__(self) -> str:
        return f"{self.version} {self.code}"

    @property
    def is_leased(self) -> bool:
        """Whether a process holds it in memory and alone may write."""
        return self.leased_until is not None and self.leased_until > timezone.now()

    @property
    def expires_at(self) -> datetime:
        """When its MCP address ends unless it is used."""
        return self.used_at + timedelta(seconds=settings.SESSION_IDLE_SECONDS)

    @property
    def transcript(self) -> "ToolCallQuerySet":
        """The calls of the episode in hand, in order."""
        return self.calls.filter(episode=self.episode).order_by("index")

    def append(self, records: Sequence[CallRecord], *, snapshot: str | None = None, leases: bool = False) -> bool:
        """Stores calls and where they led, in one statement: a call must cost a millisecond, not a form.

        Args:
            records: Calls after the stored ones, numbered from `num_calls`.
            snapshot: The state after them; None leaves the stored one, from which these calls lead on.
            leases: Whether this process goes on holding the session.

        Returns:
            False, and nothing is stored, if the row has changed or its holder is another since this object was read.
        """
        with connection.cursor() as cursor:
            cursor.execute(_APPEND, {
                "id": self.pk,
                "revision": self.revision,
                "fence": self.fence,
                "count": len(records),
                "snapshot": snapshot,
                "lease": LEASE_SECONDS if leases else None,
                "index": [record.index for record in records],
                "tool": [record.tool for record in records],
                "arguments": [exact_json(record.arguments) for record in records],
                "status": [record.status.value for record in records],
                "error": [record.code for record in records],
                "observation": [record.observation for record in records],
                "changes": [exact_json([change_to_json(change) for change in record.changes]) for record in records],
                "columns": [exact_json(_columns(record)) for record in records],
                "microseconds": [record.microseconds for record in records],
            })  # fmt: skip
            (stored,) = cursor.fetchone()
        if not stored:
            return False
        self.revision += 1
        self.num_calls += len(records)
        if snapshot is not None:
            self.snapshot, self.snapshot_calls = snapshot, self.num_calls
        return True


_APPEND: Final = """
WITH held AS (
    UPDATE environments_environmentsession SET
        revision = revision + 1,
        num_calls = num_calls + %(count)s,
        snapshot = COALESCE(%(snapshot)s::text, snapshot),
        snapshot_calls = CASE WHEN %(snapshot)s::text IS NULL THEN snapshot_calls ELSE num_calls + %(count)s END,
        leased_until = statement_timestamp() + %(lease)s * interval '1 second',
        used_at = statement_timestamp()
    WHERE id = %(id)s AND revision = %(revision)s AND fence = %(fence)s AND status = 'open'
    RETURNING id, episode
), added AS (
    INSERT INTO environments_toolcall
        (session_id, episode, index, tool, arguments, status, error_code, observation, changes, columns, microseconds)
    SELECT held.id, held.episode, made.*
    FROM held, unnest(
        %(index)s::int[], %(tool)s::text[], %(arguments)s::text[], %(status)s::text[], %(error)s::text[],
        %(observation)s::text[], %(changes)s::text[], %(columns)s::text[], %(microseconds)s::float8[]
    ) AS made
)
SELECT count(*) FROM held
"""


class ToolCallQuerySet(models.QuerySet["ToolCall"]):
    """Chains over calls."""

    def for_outline(self) -> Self:
        """One line each: neither arguments nor results are read, only how long the result is."""
        return self.defer("arguments", "observation", "changes", "columns").annotate(
            observation_length=Length("observation"),
            num_changes=models.Func(
                models.functions.Cast("changes", models.JSONField()), function="jsonb_array_length",
                output_field=models.IntegerField(),
            ),
        )  # fmt: skip

    def with_preview(self, characters: int) -> Self:
        """With the start of each result instead of the whole."""
        return self.defer("observation").annotate(
            preview=Left("observation", characters), observation_length=Length("observation")
        )


class ToolCall(models.Model):
    """One call of a session with its observation and everything it did, append-only."""

    class Status(models.TextChoices):
        """How it ended (docs/contracts.md, C4)."""

        INVALID = CallStatus.INVALID.value, _("Invalid")
        SUCCESS = CallStatus.SUCCESS.value, _("Success")
        REJECTION = CallStatus.REJECTION.value, _("Rejection")
        FAILURE = CallStatus.FAILURE.value, _("Failure")
        INFRASTRUCTURE = CallStatus.INFRASTRUCTURE.value, _("Infrastructure")

    session = models.ForeignKey(EnvironmentSession, models.CASCADE, related_name="calls")
    episode = models.PositiveIntegerField()
    index = models.PositiveIntegerField()
    tool = models.TextField()
    arguments = ExactJSONField()
    status = models.CharField(max_length=16, choices=Status)
    error_code = models.CharField(max_length=64, null=True)
    observation = models.TextField()
    changes = ExactJSONField()
    columns = ExactJSONField()
    microseconds = models.FloatField()
    at = models.DateTimeField(db_default=Now())

    objects = ToolCallQuerySet.as_manager()

    class Meta:
        ordering = ["session", "episode", "index"]
        constraints = [
            models.UniqueConstraint(fields=["session", "episode", "index"], name="tool_call_index_unique"),
            models.CheckConstraint(
                condition=Q(status__in=["invalid", "success", "rejection", "failure", "infrastructure"]),
                name="tool_call_status_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.index} {self.tool}"

    def to_core(self) -> CallRecord:
        """The record of the call."""
        return CallRecord(
            index=self.index,
            tool=self.tool,
            arguments=self.arguments,
            status=CallStatus(self.status),
            code=self.error_code,
            observation=self.observation,
            changes=tuple(change_from_json(change) for change in self.changes),
            reads=_references(self.columns["reads"]),
            writes=_references(self.columns["writes"]),
            condition_reads=_references(self.columns["condition_reads"]),
            microseconds=self.microseconds,
        )


def _columns(record: CallRecord) -> dict[str, list[ColumnRef]]:
    return {name: sorted(getattr(record, name)) for name in ("reads", "writes", "condition_reads")}


def _references(columns: Sequence[Sequence[str]]) -> frozenset[ColumnRef]:
    return frozenset((table, column) for table, column in columns)
