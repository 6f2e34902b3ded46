"""Between the registry's rows and JSON; no logic."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from environments.api.serializers import InputSerializer, StringField
from environments.models import (
    Decision,
    Environment,
    EnvironmentVersion,
    Provenance,
    Scenario,
    StatusChange,
    Table,
    Tool,
    VerificationRun,
)
from environments.services import REJECT_REASONS

VERDICTS: Final = [
    verdict.value
    for verdict in (
        Decision.Verdict.APPROVE, Decision.Verdict.REJECT, Decision.Verdict.RETIRE, Decision.Verdict.DISCARD,
    )
]  # fmt: skip
"""What can be decided about a version; that it be verified is asked for at an address of its own."""
REASONS: Final = list(REJECT_REASONS)
MAX_NOTE: Final = 4000
_APPROVAL: Final = "The verdict of the newest decision that stands; null if nobody has decided."


class VersionHeadSerializer(serializers.ModelSerializer[EnvironmentVersion]):
    """A version, as its environment shows it."""

    class Meta:
        model = EnvironmentVersion
        fields = [
            "code", "number", "status", "origin", "content_sha256", "num_tools", "num_tables", "num_scenarios",
            "num_cases", "created_at",
        ]  # fmt: skip
        read_only_fields = fields


class EnvironmentSerializer(serializers.ModelSerializer[Environment]):
    """An environment: its title, domain, description and approval are those of the latest version."""

    title = serializers.CharField(source="latest_version.title", read_only=True)
    domain = serializers.CharField(source="latest_version.domain", read_only=True)
    description = serializers.CharField(source="latest_version.description", read_only=True)
    approval = serializers.ChoiceField(
        choices=Decision.Verdict.choices, read_only=True, allow_null=True, help_text=_APPROVAL
    )
    latest_version = VersionHeadSerializer(read_only=True)
    verified_version = VersionHeadSerializer(
        read_only=True, allow_null=True, help_text="The newest verified version, which is the one that is played."
    )

    class Meta:
        model = Environment
        fields = [
            "code", "name", "title", "domain", "description", "approval", "latest_version", "verified_version",
            "created_at",
        ]  # fmt: skip
        read_only_fields = fields


class LicenceSerializer(serializers.Serializer[Any]):
    """Terms of use: an SPDX identifier, or a name and an address."""

    spdx = serializers.CharField(allow_null=True)
    name = serializers.CharField(allow_null=True)
    address = serializers.CharField(allow_null=True)


class ProvenanceSerializer(serializers.ModelSerializer[Provenance]):
    """One authentic source."""

    version = serializers.CharField(source="source_version", read_only=True, allow_null=True)
    licence = LicenceSerializer(read_only=True, allow_null=True)

    class Meta:
        model = Provenance
        fields = ["kind", "address", "sha256", "retrieved_at", "version", "licence"]
        read_only_fields = fields


class RateSerializer(serializers.Serializer[Any]):
    """How many of what was looked at were as they must be."""

    num_held = serializers.IntegerField(min_value=0)
    num = serializers.IntegerField(min_value=0)


class RatesSerializer(serializers.Serializer[Any]):
    """The three rates of a verification, each told apart."""

    interface = RateSerializer(required=False, help_text="Declarations without fault, answers and codes as declared.")
    execution = RateSerializer(required=False, help_text="Calls that ended as a success or an anticipated rejection.")
    transition = RateSerializer(required=False, help_text="Cases that ended with the expected answers and changes.")


class RunSummarySerializer(serializers.ModelSerializer[VerificationRun]):
    """One verification, in figures."""

    job = serializers.UUIDField(source="job.code", read_only=True, allow_null=True)
    num_findings = serializers.SerializerMethodField()
    rates = RatesSerializer(read_only=True, help_text="Over all tools; empty if nothing was played.")
    completeness_ratio = serializers.FloatField(
        read_only=True, allow_null=True, min_value=0, max_value=1,
        help_text="Share of random valid calls that were answered, or refused by a declared code.",
    )  # fmt: skip

    class Meta:
        model = VerificationRun
        fields = [
            "code", "number", "outcome", "verifier_version", "num_findings", "num_cases", "num_cases_held", "num_calls",
            "num_answered", "completeness_ratio", "rates", "job", "created_at",
        ]  # fmt: skip
        read_only_fields = fields

    def get_num_findings(self, run: VerificationRun) -> int:
        """How much was found."""
        return len(run.findings)


class FindingSerializer(serializers.Serializer[Any]):
    """One thing that the environment does not do as it must."""

    check = serializers.CharField(help_text="Which rule.")
    code = serializers.CharField(help_text="Exactly what: a fault's code, a failure's reason, else the rule's own.")
    place = serializers.CharField(help_text="A scenario and call, a tool, or a file.")
    message = serializers.CharField()
    tool = serializers.CharField(
        required=False, help_text="The tool that it is about; empty or missing if that is not known."
    )


class EffectsSerializer(serializers.Serializer[Any]):
    """What was seen of a tool's writes while its cases were played."""

    is_destructive = serializers.BooleanField(help_text="It changed or deleted a row that was there before.")
    is_idempotent = serializers.BooleanField(help_text="An equal call right after it changed nothing more.")


class ToolFiguresSerializer(serializers.Serializer[Any]):
    """How one tool's cases ended."""

    tool = serializers.CharField()
    num_cases = serializers.IntegerField(min_value=0)
    num_cases_held = serializers.IntegerField(min_value=0)


class ToolOutcomesSerializer(serializers.Serializer[Any]):
    """What was seen of one tool: outcomes of its calls and cases, and what its three rates are made of."""

    num_successes = serializers.IntegerField(min_value=0)
    num_rejections = serializers.IntegerField(min_value=0, help_text="Anticipated ones.")
    num_failures = serializers.IntegerField(min_value=0, help_text="Unexpected ones.")
    num_interface_held = serializers.IntegerField(min_value=0)
    num_interface = serializers.IntegerField(min_value=0)
    num_execution_held = serializers.IntegerField(min_value=0)
    num_execution = serializers.IntegerField(min_value=0)
    num_transition_held = serializers.IntegerField(min_value=0)
    num_transition = serializers.IntegerField(min_value=0)
    num_cases_success = serializers.IntegerField(min_value=0, required=False)
    num_cases_anticipated_rejection = serializers.IntegerField(min_value=0, required=False)
    num_cases_unexpected_failure = serializers.IntegerField(min_value=0, required=False)


class WarningSerializer(serializers.Serializer[Any]):
    """Something that the static check would have somebody look at."""

    code = serializers.CharField()
    place = serializers.CharField()
    message = serializers.CharField()
    severity = serializers.CharField()
    tool = serializers.CharField(allow_blank=True)


class ToolTablesSerializer(serializers.Serializer[Any]):
    """Which tables a tool uses, by its SQL and by what its calls were seen to do."""

    reads = serializers.ListField(child=serializers.CharField())
    writes = serializers.ListField(child=serializers.CharField())


class DroppedToolSerializer(serializers.Serializer[Any]):
    """A tool that was left out because it failed, or because it depends on one that did."""

    tool = serializers.CharField()
    source = serializers.CharField(allow_blank=True)  # type: ignore[assignment]  # also an attribute of fields
    operation = serializers.CharField(allow_blank=True)
    code = serializers.CharField()
    detail = serializers.CharField()


class RunSerializer(RunSummarySerializer):
    """One verification: what was found, and how each tool's cases ended."""

    findings = FindingSerializer(many=True, read_only=True)
    effects = serializers.DictField(child=EffectsSerializer(), read_only=True, help_text="By tool; empty if it failed.")
    tools = ToolFiguresSerializer(source="tool_figures", many=True, read_only=True)
    figures = serializers.DictField(child=ToolOutcomesSerializer(), read_only=True, help_text="By tool.")
    warnings = WarningSerializer(many=True, read_only=True)
    tool_tables = serializers.DictField(child=ToolTablesSerializer(), read_only=True, help_text="By tool.")
    dropped = DroppedToolSerializer(many=True, read_only=True)

    class Meta(RunSummarySerializer.Meta):
        fields = [
            *RunSummarySerializer.Meta.fields, "findings", "effects", "tools", "figures", "warnings", "tool_tables",
            "dropped",
        ]  # fmt: skip
        read_only_fields = fields


class VersionSummarySerializer(serializers.ModelSerializer[EnvironmentVersion]):
    """A version in a list."""

    environment = serializers.CharField(source="environment.name", read_only=True)
    approval = serializers.ChoiceField(
        choices=Decision.Verdict.choices, read_only=True, allow_null=True, help_text=_APPROVAL
    )
    is_usable = serializers.BooleanField(
        read_only=True, help_text="Whether it can be played; if not, it is in quarantine."
    )
    created_by = serializers.CharField(source="created_by.username", read_only=True, allow_null=True)

    class Meta:
        model = EnvironmentVersion
        fields = [
            "code", "environment", "number", "status", "is_usable", "approval", "origin", "title", "domain",
            "content_sha256", "num_tools", "num_tables", "num_scenarios", "num_cases", "created_by", "created_at",
        ]  # fmt: skip
        read_only_fields = fields


class VersionSerializer(VersionSummarySerializer):
    """A version as it stands; its pack has the rest."""

    licence = LicenceSerializer(read_only=True)
    provenance = ProvenanceSerializer(many=True, read_only=True)
    newest_run = RunSummarySerializer(read_only=True, allow_null=True, help_text="The last verification.")

    class Meta(VersionSummarySerializer.Meta):
        fields = [
            *VersionSummarySerializer.Meta.fields, "description", "language", "licence", "provenance", "clock_start",
            "clock_step_seconds", "newest_run",
        ]  # fmt: skip
        read_only_fields = fields


class TableSerializer(serializers.ModelSerializer[Table]):
    """A table; its types and keys are in the pack's schema.sql."""

    columns = serializers.JSONField(
        read_only=True, help_text="By name: how the column is compared, what fills it, its format and description."
    )

    class Meta:
        model = Table
        fields = ["name", "role", "description", "columns"]
        read_only_fields = fields


class StatusChangeSerializer(serializers.ModelSerializer[StatusChange]):
    """One step of a version's history."""

    before = serializers.SerializerMethodField()
    actor = serializers.CharField(source="actor.username", read_only=True, allow_null=True)
    run = serializers.UUIDField(source="run.code", read_only=True, allow_null=True)
    decision = serializers.UUIDField(source="decision.code", read_only=True, allow_null=True)

    class Meta:
        model = StatusChange
        fields = ["at", "before", "after", "reason", "actor", "run", "decision"]
        read_only_fields = fields

    @extend_schema_field(
        serializers.ChoiceField(
            choices=EnvironmentVersion.Status.choices, allow_null=True, help_text="Null for the first step."
        )
    )
    def get_before(self, change: StatusChange) -> str | None:
        """Where it came from."""
        return change.before or None


class VersionDecisionSerializer(InputSerializer):
    """What a caller sends to decide about a version; `schema.VersionDecisionExtension` describes it."""

    verdict = serializers.ChoiceField(choices=VERDICTS)
    reason_codes = serializers.ListField(
        child=serializers.ChoiceField(choices=REASONS), default=list, max_length=len(REASONS)
    )
    note = StringField(default="", allow_blank=True, max_length=MAX_NOTE)


class _OfVersionSerializer(serializers.ModelSerializer[Any]):
    """Base for parts of versions: which environment and version they belong to."""

    environment = serializers.CharField(source="version.environment.name", read_only=True)
    version = serializers.UUIDField(source="version.code", read_only=True)
    version_number = serializers.IntegerField(source="version.number", read_only=True, min_value=1)


class ToolSummarySerializer(_OfVersionSerializer):
    """A tool in a list: without its schemas and conditions."""

    class Meta:
        model = Tool
        fields = [
            "code", "name", "title", "description", "effect", "audience", "environment", "version", "version_number",
        ]  # fmt: skip
        read_only_fields = fields


class ConditionSerializer(serializers.Serializer[Any]):
    """A predicate over the state and a call, which holds if its SQL gives 1."""

    code = serializers.CharField()
    sql = serializers.CharField()
    message = serializers.CharField()
    policy = serializers.CharField(required=False, allow_null=True)


class RejectionSerializer(serializers.Serializer[Any]):
    """A code that the tool itself may reject with."""

    code = serializers.CharField()
    message = serializers.CharField()


class OriginSerializer(serializers.Serializer[Any]):
    """Where a tool comes from."""

    source = serializers.CharField(  # type: ignore[assignment]  # also an attribute of fields
        allow_null=True, help_text="SHA-256 of the source, as in the version's provenance."
    )
    operation = serializers.CharField(allow_null=True)
    author = serializers.CharField(help_text="compiler, model or person")


class ToolSerializer(ToolSummarySerializer):
    """A tool, whole but for its code."""

    input_schema = serializers.JSONField(read_only=True)
    output_schema = serializers.JSONField(read_only=True)
    argument_names = serializers.DictField(
        child=serializers.CharField(), read_only=True, help_text="Python names of the arguments, where they differ."
    )
    captures = serializers.DictField(
        child=serializers.CharField(), read_only=True, help_text="SQL whose value before the call is kept, by name."
    )
    preconditions = ConditionSerializer(many=True, read_only=True)
    postconditions = ConditionSerializer(many=True, read_only=True)
    rejections = RejectionSerializer(many=True, read_only=True)
    origin = OriginSerializer(read_only=True, allow_null=True)
    effects_seen = serializers.SerializerMethodField()

    class Meta(ToolSummarySerializer.Meta):
        fields = [
            *ToolSummarySerializer.Meta.fields, "input_schema", "output_schema", "argument_names", "captures",
            "preconditions", "postconditions", "rejections", "origin", "effects_seen",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(EffectsSerializer(allow_null=True))
    def get_effects_seen(self, tool: Tool) -> dict[str, bool] | None:
        """What the last verification that passed saw; null without one."""
        return tool.version.effects_seen.get(tool.name)


class ScenarioSummarySerializer(_OfVersionSerializer):
    """A scenario in a list: without its rows."""

    class Meta:
        model = Scenario
        fields = [
            "code", "name", "level", "clock_start", "seed", "num_rows", "environment", "version", "version_number",
        ]  # fmt: skip
        read_only_fields = fields


class ScenarioSerializer(ScenarioSummarySerializer):
    """A scenario with its rows."""

    rows = serializers.JSONField(read_only=True, help_text="By table, in primary-key order.")

    class Meta(ScenarioSummarySerializer.Meta):
        fields = [*ScenarioSummarySerializer.Meta.fields, "rows"]
        read_only_fields = fields
