"""Between compilations with their ledger and JSON; no logic."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from environments.models import Compilation, CompiledEnvironment, CompiledOperation


class CompilationScopeSerializer(serializers.Serializer[Any]):
    """Which documents were compiled; empty values narrow nothing."""

    provider = serializers.CharField(allow_blank=True)
    collection = serializers.CharField(allow_blank=True)
    documents = serializers.ListField(child=serializers.UUIDField(), help_text="Codes of documents.")
    shipped = serializers.BooleanField(help_text="Only documents that ship with EnvFactory.")


class CountedSerializer(serializers.Serializer[Any]):
    """How often something is there."""

    name = serializers.CharField()
    num = serializers.IntegerField(min_value=0)


class BarSerializer(serializers.Serializer[Any]):
    """How many environments pass a bar."""

    all = serializers.IntegerField(min_value=0)
    distinct = serializers.IntegerField(min_value=0, help_text="Without near copies and older versions.")
    others = serializers.IntegerField(min_value=0, help_text="Distinct ones outside the four largest families.")
    others_capped = serializers.IntegerField(min_value=0, help_text="Of these at most 40 of one provider.")
    providers = serializers.IntegerField(min_value=0)
    tools = serializers.IntegerField(min_value=0, help_text="In distinct ones.")


class DistributionSerializer(serializers.Serializer[Any]):
    """Numbers, summed up."""

    num = serializers.IntegerField(min_value=0)
    mean = serializers.FloatField(min_value=0)
    minimum = serializers.IntegerField(min_value=0)
    p10 = serializers.IntegerField(min_value=0)
    median = serializers.IntegerField(min_value=0)
    p90 = serializers.IntegerField(min_value=0)
    maximum = serializers.IntegerField(min_value=0)
    bars = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField(min_value=0), min_length=3, max_length=3),
        help_text="First value, last value, how many.",
    )


class CompilationReportSerializer(serializers.Serializer[Any]):
    """A compilation in figures; distributions and shares are over distinct environments."""

    operations = serializers.IntegerField(min_value=0)
    reasons = CountedSerializer(many=True, help_text="Why operations are in no environment, most frequent first.")
    tools = serializers.IntegerField(min_value=0)
    dropped = serializers.IntegerField(min_value=0, help_text="Tools that verification dropped.")
    loose = BarSerializer(help_text="Five tools or more, a read and a write among them.")
    strict = BarSerializer(help_text="Also a whole story and a refusal of state or reference.")
    tools_of_each = DistributionSerializer()
    tables_of_each = DistributionSerializer()
    columns_of_each = DistributionSerializer()
    rows_of_each = DistributionSerializer()
    keys_of_each = DistributionSerializer(help_text="Foreign keys.")
    cases_of_each = DistributionSerializer()
    tools_per_table = DistributionSerializer(help_text="Over tables that have tools.")
    kinds = CountedSerializer(many=True, help_text="Tools by what they do.")
    families = CountedSerializer(many=True, help_text="Environments by the conventions that they follow.")
    groups = CountedSerializer(many=True, help_text="Environments by the four largest families and others.")
    transitions_share = serializers.FloatField(
        min_value=0, max_value=1, help_text="Environments with a tool that moves a state."
    )
    repetitions = CountedSerializer(many=True, help_text="Environments that do not count, by why.")
    suspicion_mean = serializers.FloatField(min_value=0, max_value=1)
    suspicious = serializers.IntegerField(min_value=0, help_text="Environments with a suspicion from 0.25.")
    repeated_names = serializers.ListField(child=serializers.CharField())


class CopySerializer(serializers.Serializer[Any]):
    """An environment that does not count beside another one; each is named by its provider and its name."""

    environment = serializers.ListField(child=serializers.CharField(), min_length=2, max_length=2)
    kind = serializers.ChoiceField(choices=["near_copy", "older_version"])
    of = serializers.ListField(child=serializers.CharField(), min_length=2, max_length=2)
    alike = serializers.FloatField(min_value=0, max_value=1, help_text="Jaccard index; 0 for versions.")


class CompilationSummarySerializer(serializers.ModelSerializer[Compilation]):
    """A compilation in a list."""

    job = serializers.UUIDField(source="job.code", read_only=True, allow_null=True)
    created_by = serializers.CharField(source="created_by.username", read_only=True, allow_null=True)
    scope = CompilationScopeSerializer(read_only=True)

    class Meta:
        model = Compilation
        fields = [
            "code", "status", "scope", "seed", "target_tools", "compiler_version", "num_documents", "num_batches",
            "num_operations", "num_tools", "num_environments", "num_verified", "num_distinct", "job", "created_by",
            "created_at", "finished_at",
        ]  # fmt: skip
        read_only_fields = fields


class CompilationSerializer(CompilationSummarySerializer):
    """A compilation with its report."""

    report = serializers.SerializerMethodField()
    copies = CopySerializer(many=True, read_only=True)
    failures = serializers.DictField(
        child=serializers.CharField(), read_only=True, help_text="Batches that did not come to an end, and why."
    )

    class Meta(CompilationSummarySerializer.Meta):
        fields = [*CompilationSummarySerializer.Meta.fields, "report", "copies", "failures"]
        read_only_fields = fields

    @extend_schema_field(CompilationReportSerializer(allow_null=True))
    def get_report(self, compilation: Compilation) -> dict[str, Any] | None:
        """The report; null while it runs."""
        return compilation.report or None


class CompiledEnvironmentSerializer(serializers.ModelSerializer[CompiledEnvironment]):
    """A planned environment and what came of it."""

    version = serializers.UUIDField(source="version.code", read_only=True, allow_null=True)
    suspicion = serializers.FloatField(
        read_only=True, min_value=0, max_value=1, help_text="How much looks as if its source had been misread."
    )

    class Meta:
        model = CompiledEnvironment
        fields = [
            "name", "title", "provider", "family", "outcome", "reason", "detail", "version", "num_tools", "num_dropped",
            "num_tables", "meets_bar", "suspicion", "seconds", "created_at",
        ]  # fmt: skip
        read_only_fields = fields


class CompiledOperationSerializer(serializers.ModelSerializer[CompiledOperation]):
    """What came of one operation: a tool, or the reason why not."""

    document = serializers.UUIDField(source="document.code", read_only=True)
    operation = serializers.UUIDField(
        source="operation_code", read_only=True, help_text="Its code; a newer reading of the document may not have it."
    )
    environment = serializers.CharField(
        source="environment.name", read_only=True, allow_null=True, help_text="Where its tool is, or was planned."
    )
    reason = serializers.CharField(read_only=True, help_text="Why it is in no environment; empty if it is a tool.")

    class Meta:
        model = CompiledOperation
        fields = ["document", "operation", "key", "environment", "tool", "kind", "table", "reason", "detail"]
        read_only_fields = fields
