"""Compilations: what one run made of which documents, environment by environment and operation by operation.

The ledger (`CompiledEnvironment`, `CompiledOperation`) only grows. The run's own row gets its report when its last
batch has ended, and is made again if a batch is tried again.
"""

from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from environments.core.compile import report as core
from environments.models.fields import ExactJSONField
from environments.models.registry import EnvironmentVersion
from environments.models.sources import SourceDocument
from environments.runtime.pack.shapes import from_document, to_json


class CompilationQuerySet(models.QuerySet["Compilation"]):
    """Chains over compilations."""

    def without_report(self) -> Self:
        """For lists: leaves what is long out."""
        return self.defer("report", "copies", "failures")


class Compilation(models.Model):
    """One run of the compiler over some documents."""

    class Status(models.TextChoices):
        """How far it has come."""

        RUNNING = "running", _("Running")
        FINISHED = "finished", _("Finished")

    code = models.UUIDField(unique=True, editable=False)
    job = models.OneToOneField("Job", models.PROTECT, null=True, related_name="compilation")
    status = models.CharField(max_length=16, choices=Status, default=Status.RUNNING)
    compiler_version = models.CharField(max_length=40)
    seed = models.PositiveBigIntegerField()
    target_tools = models.PositiveIntegerField(null=True)
    scope = ExactJSONField(default=dict)
    num_documents = models.PositiveIntegerField(default=0)
    num_batches = models.PositiveIntegerField(default=0)
    num_operations = models.PositiveIntegerField(default=0)
    num_tools = models.PositiveIntegerField(default=0)
    num_environments = models.PositiveIntegerField(default=0)
    num_verified = models.PositiveIntegerField(default=0)
    num_distinct = models.PositiveIntegerField(default=0)
    report = ExactJSONField(default=dict)
    copies = ExactJSONField(default=list)
    failures = ExactJSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")

    objects = CompilationQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(status__in=["running", "finished"]), name="compilation_status_known"),
            models.CheckConstraint(
                condition=Q(status="running") | Q(finished_at__isnull=False), name="compilation_finished_has_time"
            ),
        ]

    def __str__(self) -> str:
        return f"compilation {str(self.code)[:8]}"

    @property
    def is_finished(self) -> bool:
        """Whether its report is made."""
        return self.status == self.Status.FINISHED

    def to_core(self) -> core.Report:
        """Its report; an empty one while it runs."""
        return from_document(core.Report, self.report) if self.report else core.Report()


class CompiledEnvironmentQuerySet(models.QuerySet["CompiledEnvironment"]):
    """Chains over environments of compilations."""

    def verified(self) -> Self:
        """Those that came through verification."""
        return self.filter(outcome=CompiledEnvironment.Outcome.VERIFIED)

    def without_facts(self) -> Self:
        """For lists: leaves what is long out."""
        return self.defer("facts")


class CompiledEnvironment(models.Model):
    """A planned environment and what came of it, append-only."""

    class Outcome(models.TextChoices):
        """What verification said."""

        VERIFIED = "verified", _("Verified")
        REJECTED = "rejected", _("Rejected")
        UNDECIDED = "undecided", _("Undecided")
        DISCARDED = "discarded", _("Discarded")

    compilation = models.ForeignKey(Compilation, models.PROTECT, related_name="environments")
    batch = models.TextField()
    provider = models.TextField(blank=True)
    name = models.CharField(max_length=24)
    title = models.TextField()
    family = models.CharField(max_length=40)
    version = models.ForeignKey(EnvironmentVersion, models.PROTECT, null=True, related_name="compiled_as")
    outcome = models.CharField(max_length=16, choices=Outcome)
    reason = models.CharField(max_length=64, blank=True)
    detail = models.TextField(blank=True)
    num_tools = models.PositiveIntegerField()
    num_dropped = models.PositiveIntegerField()
    num_tables = models.PositiveIntegerField()
    meets_bar = models.BooleanField()
    suspicion = models.FloatField()
    facts = ExactJSONField()
    seconds = models.FloatField()
    created_at = models.DateTimeField(db_default=Now())

    objects = CompiledEnvironmentQuerySet.as_manager()

    class Meta:
        ordering = ["compilation", "batch", "name"]
        indexes = [models.Index(fields=["compilation", "outcome", "name"], name="compiled_environment_outcome")]
        constraints = [
            models.UniqueConstraint(fields=["compilation", "batch", "name"], name="compiled_environment_name_unique"),
            models.CheckConstraint(
                condition=Q(outcome__in=["verified", "rejected", "undecided", "discarded"]),
                name="compiled_environment_outcome_known",
            ),
            models.CheckConstraint(
                condition=Q(outcome="discarded") | Q(version__isnull=False), name="compiled_environment_has_version"
            ),
            models.CheckConstraint(
                condition=Q(outcome="verified") | ~Q(reason=""), name="compiled_environment_failed_has_reason"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.outcome}"

    def to_core(self) -> core.EnvironmentFacts:
        """Its figures."""
        return from_document(core.EnvironmentFacts, self.facts)

    @classmethod
    def from_core(cls, facts: core.EnvironmentFacts, compilation: Compilation, **more: Any) -> Self:
        """The unsaved row."""
        return cls(
            compilation=compilation,
            provider=facts.provider,
            name=facts.name,
            title=facts.title,
            family=facts.family,
            num_tools=len(facts.tools),
            num_dropped=len(facts.failed),
            num_tables=len(facts.tables),
            meets_bar=facts.meets_bar,
            suspicion=facts.suspicion.score,
            facts=to_json(facts),
            **more,
        )


class CompiledOperationQuerySet(models.QuerySet["CompiledOperation"]):
    """Chains over the ledger's operations."""

    def left_out(self) -> Self:
        """Those that are in no environment."""
        return self.exclude(reason="")

    def search(self, words: str) -> Self:
        """Those whose key, tool, table or detail holds every word."""
        rows = self
        for word in words.split():
            rows = rows.filter(
                Q(key__icontains=word) | Q(tool__icontains=word) | Q(table__icontains=word) | Q(detail__icontains=word)
            )
        return rows


class CompiledOperation(models.Model):
    """What came of one operation in one compilation: a tool of an environment, or the reason why not; append-only."""

    compilation = models.ForeignKey(Compilation, models.PROTECT, related_name="operations")
    batch = models.TextField()
    document = models.ForeignKey(SourceDocument, models.PROTECT, related_name="compiled_operations")
    key = models.TextField()
    operation_code = models.UUIDField()
    environment = models.ForeignKey(CompiledEnvironment, models.PROTECT, null=True, related_name="operations")
    tool = models.CharField(max_length=64, blank=True)
    kind = models.CharField(max_length=16, blank=True)
    table = models.CharField(max_length=64, blank=True)
    reason = models.CharField(max_length=64, blank=True)
    detail = models.TextField(blank=True)

    objects = CompiledOperationQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["compilation", "reason", "id"], name="compiled_operation_reason"),
            models.Index(fields=["operation_code", "-id"], name="compiled_operation_operation"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["compilation", "operation_code", "environment", "tool"],
                name="compiled_operation_unique",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                condition=~Q(reason="") | (Q(environment__isnull=False) & ~Q(tool="")),
                name="compiled_operation_tool_or_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.key}: {self.tool or self.reason}"
