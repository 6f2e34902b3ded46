"""Sessions as rows, so that any process serves any session and a restart loses nothing (docs/contracts.md, C5).

A session is its start (version, scenario, seed, perhaps a snapshot), its calls, and a snapshot of where they led. Two
numbers guard it: `revision` counts changes, so that a process knows whether the state it holds in memory is still the
stored one, and `fence` counts holders, so that a process that lost the session to another can store nothing more.
"""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final, Self

from django.conf import settings
from django.db import connection, models
from django.db.models import F, Q
from django.db.models.functions import Left, Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from environments.models.accounts import ApiToken, Bearer
from environments.models.fields import ExactJSONField, PackedTextField, exact_json, pack_text, unpack_text
from environments.models.registry import EnvironmentVersion
from environments.models.statements import execute_prepared
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
        content = [f"version__{column}" for column in EnvironmentVersion.CONTENT_COLUMNS]
        return self.defer("start_snapshot", "snapshot", *content).select_related("version__environment", "user")


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
    start_snapshot = PackedTextField(null=True)
    episode = models.PositiveIntegerField(default=0)
    snapshot = PackedTextField(null=True)
    snapshot_calls = models.PositiveIntegerField(default=0)
    num_calls = models.PositiveIntegerField(default=0)
    revision = models.PositiveBigIntegerField(default=0)
    fence = models.PositiveBigIntegerField(default=0)
    leased_until = models.DateTimeField(null=True)
    forked_from = models.ForeignKey("self", models.SET_NULL, null=True, related_name="forks")
    forked_calls = models.PositiveIntegerField(null=True)
    forked_episode = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    used_at = models.DateTimeField(db_default=Now())
    closed_at = models.DateTimeField(null=True)

    objects = EnvironmentSessionQuerySet.as_manager()

    is_held: bool
    """See `read_to_play`."""

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

    def past_episode(self, number: int) -> "PastEpisode | None":
        """Where an earlier episode began; None for the one in hand and for one that there is not."""
        return self.past_episodes.filter(number=number).first() if number != self.episode else None

    @classmethod
    def read_to_play(
        cls, *, pk: int | None = None, code: uuid.UUID | None = None, user: int | None = None, locks: bool = False
    ) -> Self | None:
        """A row with what a call needs of it and of its version if the process holds the state; None if there is none.

        One statement whose text is fixed: Django takes a millisecond to write it anew. Everything else is read when it
        is first asked for. `is_held` says whether a process holds the row under a lease, by the database's clock.

        Args:
            pk: The row's key, or else
            code: its public code and
            user: its owner's key.
            locks: Whether it is locked to the end of the transaction.
        """
        statement = _read_sql(by_key=pk is not None, locks=locks)
        found = execute_prepared(statement, {"pk": pk} if pk is not None else {"code": code, "user": user})
        if found is None:
            return None
        of_row, of_version = len(_played_columns(cls)), len(_played_columns(EnvironmentVersion))
        row = cls.from_db(connection.alias, _played_columns(cls), found[:of_row])
        row.version = EnvironmentVersion.from_db(
            connection.alias, _played_columns(EnvironmentVersion), found[of_row : of_row + of_version]
        )
        row.is_held = found[-1]
        return row

    def read_state(self) -> None:
        """Reads where the episode stands: its start, its snapshots and its counts, all as of one moment."""
        found = execute_prepared(_READ_STATE, {"pk": self.pk})
        if found is None:
            raise self.DoesNotExist
        for name, value in zip(_STATE_COLUMNS, found, strict=True):
            packed = value is not None and name in {"start_snapshot", "snapshot"}
            setattr(self, name, unpack_text(value) if packed else value)

    def append(
        self,
        records: Sequence[CallRecord],
        *,
        snapshot: str | None = None,
        leases: bool = False,
        bearer: Bearer | None = None,
    ) -> bool:
        """Stores calls and where they led, in one statement: a call must cost a millisecond, not a form.

        Args:
            records: Calls after the stored ones, numbered from `num_calls`.
            snapshot: The state after them; None leaves the stored one, from which these calls lead on.
            leases: Whether this process goes on holding the session.
            bearer: Whose token must still be good; asking in the same statement costs nothing.

        Returns:
            False, and nothing is stored, if the row has changed or its holder is another since this object was read, or
            the token is good no more.
        """
        found = execute_prepared(_APPEND, {
            "id": self.pk,
            "revision": self.revision,
            "fence": self.fence,
            "count": len(records),
            "snapshot": pack_text(snapshot) if snapshot is not None else None,
            "lease": LEASE_SECONDS if leases else None,
            "token": bearer.token if bearer is not None else None,
            "role": bearer.role if bearer is not None else None,
            # One text, which costs a sixth of nine arrays: psycopg writes each element of an array in Python.
            "calls": exact_json([_stored(record) for record in records]),
        })  # fmt: skip
        if found != (1,):
            return False
        self.revision += 1
        self.num_calls += len(records)
        if snapshot is not None:
            self.snapshot, self.snapshot_calls = snapshot, self.num_calls
        return True

    def take_calls(self, source: "EnvironmentSession", *, episode: int, num_calls: int) -> None:
        """Copies the first calls of another session's episode, times included, without reading them."""
        with connection.cursor() as cursor:
            cursor.execute(_TAKE_CALLS, {
                "id": self.pk, "episode": self.episode, "from_id": source.pk, "from_episode": episode,
                "count": num_calls,
            })  # fmt: skip


_UNPLAYED_COLUMNS: Final = frozenset({"title", "start_snapshot", "snapshot"})
_VERSION_COLUMNS: Final = frozenset({"id", "code", "environment_id", "number", "content_sha256", "status"})


_STATE_COLUMNS: Final = (
    "scenario", "seed", "start_snapshot", "episode", "snapshot", "snapshot_calls", "num_calls", "revision",
)  # fmt: skip
_READ_STATE: Final = f"SELECT {', '.join(_STATE_COLUMNS)} FROM environments_environmentsession WHERE id = %(pk)s"  # noqa: S608


@cache
def _played_columns(model: type[models.Model]) -> tuple[str, ...]:
    """Columns that `read_to_play` reads, in the model's order."""
    names = tuple(field.attname for field in model._meta.concrete_fields)
    if model is EnvironmentVersion:
        return tuple(name for name in names if name in _VERSION_COLUMNS)
    return tuple(name for name in names if name not in _UNPLAYED_COLUMNS)


@cache
def _read_sql(*, by_key: bool, locks: bool) -> str:
    own = [f"s.{name}" for name in _played_columns(EnvironmentSession)]
    versions = [f"v.{name}" for name in _played_columns(EnvironmentVersion)]
    return f"""
        SELECT {", ".join(own + versions)}, COALESCE(s.leased_until > statement_timestamp(), false)
        FROM environments_environmentsession s JOIN environments_environmentversion v ON v.id = s.version_id
        WHERE {"s.id = %(pk)s" if by_key else "s.code = %(code)s AND s.user_id = %(user)s"}
        {"FOR NO KEY UPDATE OF s" if locks else ""}
    """  # noqa: S608 - names of columns


_APPEND: Final = """
WITH held AS (
    UPDATE environments_environmentsession SET
        revision = revision + 1,
        num_calls = num_calls + %(count)s,
        snapshot = COALESCE(%(snapshot)s::bytea, snapshot),
        snapshot_calls = CASE WHEN %(snapshot)s::bytea IS NULL THEN snapshot_calls ELSE num_calls + %(count)s END,
        leased_until = statement_timestamp() + %(lease)s * interval '1 second',
        used_at = statement_timestamp()
    WHERE id = %(id)s AND revision = %(revision)s AND fence = %(fence)s AND status = 'open'
      AND (%(token)s::bigint IS NULL OR EXISTS (
        SELECT FROM environments_apitoken AS token JOIN environments_user AS owner ON owner.id = token.user_id
        WHERE token.id = %(token)s AND token.revoked_at IS NULL AND owner.is_active AND owner.role = %(role)s::text
          AND (token.expires_at IS NULL OR token.expires_at > statement_timestamp())
      ))
    RETURNING id, episode
), added AS (
    INSERT INTO environments_toolcall
        (session_id, episode, index, tool, arguments, status, error_code, observation, changes, columns, microseconds)
    SELECT held.id, held.episode, made.*
    FROM held, json_to_recordset(%(calls)s::json) AS made(
        index int, tool text, arguments text, status text, error_code text, observation text, changes text,
        columns text, microseconds float8
    )
)
SELECT count(*) FROM held
"""
_TAKE_CALLS: Final = """
INSERT INTO environments_toolcall
    (session_id, episode, index, tool, arguments, status, error_code, observation, changes, columns, microseconds, at)
SELECT
    %(id)s, %(episode)s, index, tool, arguments, status, error_code, observation, changes, columns, microseconds, at
FROM environments_toolcall
WHERE session_id = %(from_id)s AND episode = %(from_episode)s AND index < %(count)s
ORDER BY index
"""


class PastEpisode(models.Model):
    """Where an episode began that a reset or a restored snapshot ended; its calls can still be read and played."""

    session = models.ForeignKey(EnvironmentSession, models.CASCADE, related_name="past_episodes")
    number = models.PositiveIntegerField()
    scenario = models.CharField(max_length=64)
    seed = models.BigIntegerField(null=True)
    start_snapshot = PackedTextField(null=True)
    num_calls = models.PositiveIntegerField()
    ended_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["session", "number"]
        constraints = [models.UniqueConstraint(fields=["session", "number"], name="past_episode_number_unique")]

    def __str__(self) -> str:
        return f"{self.session.code} {self.number}"


class ToolCallQuerySet(models.QuerySet["ToolCall"]):
    """Chains over calls."""

    def for_outline(self) -> Self:
        """One line each: neither arguments nor results are read, only how large the result is."""
        return self.defer("arguments", "observation", "changes", "columns").annotate(
            observation_bytes=_BYTES,
            num_changes=_NUM_CHANGES,
        )

    def with_preview(self, characters: int) -> Self:
        """With the start of each result instead of the whole."""
        return self.defer("observation").annotate(preview=Left("observation", characters), observation_bytes=_BYTES)

    def failed(self) -> Self:
        """Those that gave no result."""
        return self.exclude(status=ToolCall.Status.SUCCESS)

    def search(self, words: str) -> Self:
        """Those whose tool, arguments or result hold the words in any case, as they are or as JSON writes them."""
        escaped = exact_json(words)[1:-1]
        found = Q()
        for text in {words, escaped}:
            found |= Q(observation__icontains=text) | Q(arguments__icontains=text) | Q(tool__icontains=text)
        return self.filter(found)


# Not the length in characters: that would unpack each result.
# Not jsonb, which refuses what a text of a row may hold: NUL, half of a surrogate pair, numbers of any length.
_NUM_CHANGES: Final = models.Func(
    F("changes"), template="json_array_length((%(expressions)s)::json)", output_field=models.IntegerField()
)
_BYTES: Final = models.Func(F("observation"), function="octet_length", output_field=models.IntegerField())


class ToolCall(models.Model):
    """One call of a session with its observation and everything it did, append-only."""

    class Status(models.TextChoices):
        """How it ended (docs/contracts.md, C4)."""

        INVALID = CallStatus.INVALID.value, _("Invalid")
        SUCCESS = CallStatus.SUCCESS.value, _("Success")
        REJECTION = CallStatus.REJECTION.value, _("Rejection")
        FAILURE = CallStatus.FAILURE.value, _("Failure")
        INFRASTRUCTURE = CallStatus.INFRASTRUCTURE.value, _("Infrastructure")

    # Without an index of its own: the one of the unique constraint starts with it.
    session = models.ForeignKey(EnvironmentSession, models.CASCADE, related_name="calls", db_index=False)
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


def _stored(record: CallRecord) -> dict[str, Any]:
    """A call's row; its JSON columns are kept as texts."""
    return {
        "index": record.index,
        "tool": record.tool,
        "arguments": exact_json(record.arguments),
        "status": record.status.value,
        "error_code": record.code,
        "observation": record.observation,
        "changes": exact_json([change_to_json(change) for change in record.changes]),
        "columns": exact_json(_columns(record)),
        "microseconds": record.microseconds,
    }


def _columns(record: CallRecord) -> dict[str, list[ColumnRef]]:
    return {name: sorted(getattr(record, name)) for name in ("reads", "writes", "condition_reads")}


def _references(columns: Sequence[Sequence[str]]) -> frozenset[ColumnRef]:
    return frozenset((table, column) for table, column in columns)
