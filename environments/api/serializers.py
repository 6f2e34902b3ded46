"""Between rows and JSON; no logic."""

from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from environments.core.access import Permission, Scope
from environments.core.jobs import JobKind, Queue
from environments.models import ApiToken, AuditEvent, Decision, Job, JobEvent, User

PERMISSIONS = [permission.value for permission in Permission]
QUEUES = [queue.value for queue in Queue]
SCOPES = [scope.value for scope in Scope]


class JobKindSerializer(serializers.Serializer[JobKind]):
    """A registered kind of job."""

    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    queue = serializers.ChoiceField(choices=QUEUES)
    permission = serializers.ChoiceField(choices=PERMISSIONS, help_text="What starting, cancelling and retrying need.")
    parameters = serializers.JSONField(help_text="JSON Schema of the parameters.")
    is_startable = serializers.BooleanField(help_text="False for kinds that only other jobs start.")


class JobSummarySerializer(serializers.ModelSerializer[Job]):
    """A job in a list: without what may hold megabytes."""

    title = serializers.CharField(read_only=True)
    parent = serializers.UUIDField(source="parent.code", read_only=True, allow_null=True)  # type: ignore[assignment]  # also an attribute of fields
    created_by = serializers.CharField(source="created_by.username", read_only=True, allow_null=True)
    is_cancelling = serializers.BooleanField(
        read_only=True, help_text="True from a wish to cancel until the worker has stopped."
    )
    is_unsent = serializers.BooleanField(
        read_only=True, help_text="True while the row waits because the broker can't be reached."
    )
    progress_ratio = serializers.FloatField(
        read_only=True, allow_null=True, min_value=0, max_value=1, help_text="0 to 1 within the stage."
    )

    class Meta:
        model = Job
        fields = [
            "code", "kind", "title", "queue", "status", "stage", "done_units", "total_units", "progress_ratio",
            "attempt", "num_failures", "max_attempts", "is_cancelling", "is_unsent", "parent", "key", "created_by",
            "created_at", "started_at", "heartbeat_at", "finished_at", "cancel_requested_at", "error_code",
        ]  # fmt: skip
        read_only_fields = fields


class JobSerializer(JobSummarySerializer):
    """A job as it stands."""

    parameters = serializers.JSONField(read_only=True)
    result = serializers.JSONField(read_only=True)
    manifest = serializers.JSONField(read_only=True)

    class Meta(JobSummarySerializer.Meta):
        fields = [*JobSummarySerializer.Meta.fields, "error_message", "parameters", "result", "manifest"]
        read_only_fields = fields


class InputSerializer(serializers.Serializer[Any]):
    """Base of what callers send: a field that is not known is refused."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """The values; a misspelt name must not be taken for a default.

        Raises:
            ValidationError: If a value does not fit or a field is not known.
        """
        values: dict[str, Any] = super().to_internal_value(data)
        unknown = {name: ErrorDetail("This field is not known.", "unknown") for name in set(data) - set(self.fields)}
        if unknown:
            raise serializers.ValidationError(unknown)
        return values


class StringField(serializers.CharField):
    """A JSON string as it is; DRF's own field also takes numbers, and cuts blanks off."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        """The text.

        Raises:
            ValidationError: If it is no string.
        """
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


class JobSubmissionSerializer(InputSerializer):
    """What a caller sends to start a job."""

    kind = serializers.CharField(max_length=64)
    parameters = serializers.DictField(default=dict)


class JobEventSerializer(serializers.ModelSerializer[JobEvent]):
    """A log line, a stage, a progress mark or a change of status."""

    id = serializers.IntegerField(source="pk", read_only=True, help_text="Also the id of the server-sent event.")
    data = serializers.JSONField(read_only=True)  # type: ignore[assignment]  # also an attribute of serializers

    class Meta:
        model = JobEvent
        fields = ["id", "at", "kind", "level", "stage", "text", "data"]
        read_only_fields = fields


class ApiTokenSerializer(serializers.ModelSerializer[ApiToken]):
    """A token without its key."""

    scopes = serializers.ListField(child=serializers.ChoiceField(choices=SCOPES))
    is_usable = serializers.BooleanField(read_only=True)

    class Meta:
        model = ApiToken
        fields = [
            "code", "name", "prefix", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at", "is_usable",
        ]  # fmt: skip
        read_only_fields = fields


class UserSerializer(serializers.ModelSerializer[User]):
    """The person who calls."""

    permissions = serializers.ListField(child=serializers.ChoiceField(choices=PERMISSIONS), read_only=True)

    class Meta:
        model = User
        fields = ["code", "username", "role", "is_lead", "permissions"]
        read_only_fields = fields


class DecisionSerializer(serializers.ModelSerializer[Decision]):
    """A person's verdict."""

    actor = serializers.CharField(source="actor.username", read_only=True)
    reason_codes = serializers.ListField(child=serializers.CharField(), read_only=True)
    supersedes = serializers.UUIDField(source="supersedes_id", read_only=True, allow_null=True)

    class Meta:
        model = Decision
        fields = [
            "code", "at", "actor", "subject_kind", "subject_code", "subject_sha256", "verdict", "reason_codes", "note",
            "supersedes",
        ]  # fmt: skip
        read_only_fields = fields


class AuditEventSerializer(serializers.ModelSerializer[AuditEvent]):
    """Who changed what."""

    actor = serializers.CharField(source="actor.username", read_only=True, allow_null=True)
    detail = serializers.JSONField(read_only=True)

    class Meta:
        model = AuditEvent
        fields = ["code", "at", "actor", "action", "subject_kind", "subject_code", "detail", "address"]
        read_only_fields = fields
