"""Between sessions and JSON; no logic."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from environments.api.serializers import InputSerializer, StringField
from environments.models import EnvironmentSession, Tool, ToolCall
from environments.runtime.pack.limits import MAX_INTEGER
from environments.runtime.records import ChangeKind
from environments.runtime.session import Call
from environments.services.sessions import MAX_BATCH

MAX_NAME: Final = 200
"""Characters of the name of a tool; no tool's is longer than 38."""
MAX_TITLE: Final = 200
MAX_COUNT: Final = 2**31 - 1
CHANGE_KINDS: Final = [kind.value for kind in ChangeKind]

_CALL: Final[dict[str, Any]] = {
    "type": "object",
    "title": "Call",
    "properties": {
        "tool": {"type": "string", "maxLength": MAX_NAME, "description": "Name of the tool."},
        "arguments": {"type": "object", "description": "By the tool's input schema."},
    },
    "required": ["tool", "arguments"],
    "additionalProperties": False,
}


class SessionSerializer(serializers.ModelSerializer[EnvironmentSession]):
    """One state of an environment and where it came from."""

    environment = serializers.CharField(source="version.environment.name", read_only=True)
    version = serializers.UUIDField(source="version.code", read_only=True)
    version_number = serializers.IntegerField(source="version.number", read_only=True)
    forked_from = serializers.UUIDField(source="forked_from_code", read_only=True, allow_null=True)
    mcp_url = serializers.SerializerMethodField(help_text="Address for an MCP client; it takes the caller's token.")
    is_leased = serializers.BooleanField(
        read_only=True, help_text="True while an agent uses it over MCP: changes then answer 409 `session_leased`."
    )
    expires_at = serializers.DateTimeField(
        read_only=True, help_text="When it is parked unless it is used; its MCP address then ends, REST wakes it."
    )

    class Meta:
        model = EnvironmentSession
        fields = [
            "code", "title", "status", "environment", "version", "version_number", "scenario", "seed", "episode",
            "num_calls", "forked_from", "forked_episode", "forked_calls", "is_leased", "mcp_url", "created_at",
            "used_at", "expires_at", "closed_at",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = {
            "seed": {"help_text": "Of ids and chance; null is the scenario's own."},
            "episode": {"help_text": "How often it was reset or restored."},
            "num_calls": {"help_text": "Calls of the episode in hand."},
            "forked_calls": {"help_text": "How many calls it took over."},
        }

    @extend_schema_field({"type": "string", "format": "uri"})
    def get_mcp_url(self, session: EnvironmentSession) -> str:
        """The address."""
        url: str = self.context["request"].build_absolute_uri(f"/mcp/s/{session.code}/")
        return url


class RowChangeSerializer(serializers.Serializer[Any]):
    """One changed row."""

    table = serializers.CharField()
    key = serializers.DictField(help_text="Its primary key by column.")
    kind = serializers.ChoiceField(choices=CHANGE_KINDS)
    before = serializers.DictField(allow_null=True, help_text="Of an update the changed columns; null of an insert.")
    after = serializers.DictField(allow_null=True, help_text="Of an update the changed columns; null of a delete.")


class ColumnsField(serializers.ListField):
    """Columns as pairs of table and column."""

    child = serializers.ListField(child=serializers.CharField(), min_length=2, max_length=2)


class CallRecordSerializer(serializers.Serializer[Any]):
    """A call as it was made, and what it did. `views` write records themselves: a batch has 256 of them."""

    index = serializers.IntegerField(min_value=0, help_text="Place in the episode.")
    tool = serializers.CharField()
    arguments = serializers.DictField()
    status = serializers.ChoiceField(choices=ToolCall.Status.choices)
    code = serializers.CharField(source="error_code", allow_null=True, help_text="Of a rejection or error.")
    observation = serializers.CharField(help_text="What the agent reads: the same bytes at every door.")
    changes = RowChangeSerializer(many=True)
    reads = ColumnsField(source="columns.reads", help_text="Columns that the tool's SQL may read.")
    writes = ColumnsField(source="columns.writes", help_text="Columns that were written.")
    condition_reads = ColumnsField(source="columns.condition_reads", help_text="Columns that its conditions read.")
    microseconds = serializers.FloatField(min_value=0, help_text="Time in the worker.")


class ToolCallSerializer(serializers.ModelSerializer[ToolCall]):
    """A recorded call; `changes` only when asked for."""

    arguments = serializers.DictField(read_only=True)
    code = serializers.CharField(source="error_code", read_only=True, allow_null=True)
    reads = ColumnsField(source="columns.reads", read_only=True)
    writes = ColumnsField(source="columns.writes", read_only=True)
    condition_reads = ColumnsField(source="columns.condition_reads", read_only=True)
    changes = RowChangeSerializer(many=True, required=False, read_only=True)

    class Meta:
        model = ToolCall
        fields = [
            "index", "tool", "arguments", "status", "code", "observation", "reads", "writes", "condition_reads",
            "microseconds", "at", "changes",
        ]  # fmt: skip
        read_only_fields = [name for name in fields if name != "changes"]

    def to_representation(self, instance: ToolCall) -> dict[str, Any]:
        """The values as they are stored: they were written by this program, and fields would copy each."""
        shown = {
            "index": instance.index,
            "tool": instance.tool,
            "arguments": instance.arguments,
            "status": instance.status,
            "code": instance.error_code,
            "observation": instance.observation,
            **instance.columns,
            "microseconds": instance.microseconds,
            "at": self.fields["at"].to_representation(instance.at),
        }
        return shown if "changes" in instance.get_deferred_fields() else {**shown, "changes": instance.changes}


class FunctionSerializer(serializers.Serializer[Any]):
    """The part of a tool's schema that names it."""

    name = serializers.CharField()
    description = serializers.CharField()
    parameters = serializers.DictField(help_text="JSON Schema of the arguments.")


class ToolSchemaSerializer(serializers.Serializer[Any]):
    """A tool as OpenAI's function schema."""

    type = serializers.ChoiceField(choices=["function"])
    function = FunctionSerializer()


class SnapshotSerializer(InputSerializer):
    """State, clock, id counters and call count as one text, to be kept as it is."""

    snapshot = StringField()


# --- What callers send ------------------------------------------------------------------------------------------------


class WholeNumberField(serializers.IntegerField):
    """A JSON integer; DRF's own field also takes text and floats."""

    def to_internal_value(self, data: Any) -> int:
        """The number.

        Raises:
            ValidationError: If it is none.
        """
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return int(super().to_internal_value(data))


def _seed() -> WholeNumberField:
    return WholeNumberField(
        default=None, allow_null=True, min_value=-MAX_INTEGER, max_value=MAX_INTEGER,
        help_text="Of ids and chance; null is the scenario's own.",
    )  # fmt: skip


def _title() -> StringField:
    return StringField(default="", allow_blank=True, max_length=MAX_TITLE, help_text="For your own lists.")


@extend_schema_field({"type": "object"})
class ArgumentsField(serializers.Field[Any, Any, Any, Any]):
    """Any JSON object; the tool's own schema is applied later and gives a record, not an error."""

    default_error_messages = {"not_an_object": "An object is expected."}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """The object."""
        if not isinstance(data, dict):
            self.fail("not_an_object")
        arguments: dict[str, Any] = data
        return arguments


@extend_schema_field({"type": "array", "items": _CALL, "minItems": 1, "maxItems": MAX_BATCH})
class CallsField(serializers.Field[Any, Any, Any, Any]):
    """Calls in order, checked in one loop: nested serializers take 2 ms for 64 calls."""

    default_error_messages = {
        "not_a_list": "An array of calls is expected.",
        "count": f"Between 1 and {MAX_BATCH} calls are expected.",
    }

    def to_internal_value(self, data: Any) -> list[Call]:
        """The calls.

        Raises:
            ValidationError: By place and field.
        """
        if not isinstance(data, list):
            self.fail("not_a_list")
        if not 1 <= len(data) <= MAX_BATCH:
            self.fail("count")
        faults: Any = {place: found for place, item in enumerate(data) if (found := _call_faults(item))}
        if faults:
            raise serializers.ValidationError(faults)
        return [(item["tool"], item["arguments"]) for item in data]


def _call_faults(item: Any) -> dict[str, ErrorDetail]:
    if not isinstance(item, dict):
        return {"non_field_errors": ErrorDetail("An object with tool and arguments is expected.", "not_an_object")}
    faults = {
        name: ErrorDetail("This field is not known.", "unknown") for name in item if name not in {"tool", "arguments"}
    }
    tool, arguments = item.get("tool"), item.get("arguments")
    if not isinstance(tool, str) or len(tool) > MAX_NAME:
        faults["tool"] = ErrorDetail(f"A name of at most {MAX_NAME} characters is expected.", "invalid")
    if not isinstance(arguments, dict):
        faults["arguments"] = ErrorDetail("An object is expected.", "not_an_object")
    return faults


class NewSessionSerializer(InputSerializer):
    """What a caller sends to open a session: the environment's name, or the code of one version."""

    environment = StringField(required=False, max_length=24, help_text="Its newest verified version is played.")
    version = serializers.UUIDField(required=False, help_text="Instead of the environment: this version.")
    scenario = StringField(max_length=64)
    seed = _seed()
    title = _title()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The values.

        Raises:
            ValidationError: If neither or both of environment and version are given.
        """
        if ("environment" in attrs) == ("version" in attrs):
            message = "Give either an environment or a version."
            raise serializers.ValidationError({"environment": ErrorDetail(message, "one_of")})
        return attrs


class _AudienceSerializer(InputSerializer):
    audience = serializers.ChoiceField(
        choices=Tool.Audience.choices,
        default=Tool.Audience.AGENT.value,
        help_text="Whose tools may be called: the agent's, or those of the simulated user.",
    )


class CallSerializer(_AudienceSerializer):
    """One call."""

    tool = StringField(max_length=MAX_NAME, allow_blank=True)
    arguments = ArgumentsField()


class CallsSerializer(_AudienceSerializer):
    """Calls in order."""

    calls = CallsField()


class DiffSerializer(InputSerializer):
    """Since when."""

    since = StringField(help_text="A snapshot of the same start.")


class ResetSerializer(InputSerializer):
    """Where the session starts anew."""

    scenario = StringField(required=False, max_length=64, help_text="By default the one it started with.")
    seed = _seed()


class ForkSerializer(InputSerializer):
    """What the fork takes over."""

    at = WholeNumberField(
        default=None, allow_null=True, min_value=0, max_value=MAX_COUNT, help_text="How many calls; null is all."
    )
    title = _title()
