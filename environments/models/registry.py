"""The environment registry: versions of packs as rows, what they hold, and how far each has come.

A version's content is written once and never changed (database triggers refuse it): its rows and its pack are the same
thing in two forms. What changes is its status, and every change is a row of its history.

    draft ──> verified ──> retired
      │ │        │^
      │ └──> rejected ──> discarded
      └───────────────────────^
"""

import uuid
from collections.abc import Iterable
from typing import Any, ClassVar, Self

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.db import models, transaction
from django.db.models import Count, F, OuterRef, Q, Subquery
from django.db.models.functions import JSONObject, Now
from django.utils.translation import gettext_lazy as _

from environments.core.seeds import content_code
from environments.models.fields import ExactJSONField
from environments.models.review import Decision
from environments.runtime.pack import Pack, content_sha256
from environments.runtime.pack import model as core
from environments.runtime.pack.shapes import from_document, to_json

VERSION_KIND = "environment_version"
"""What decisions and audit rows call a version."""

SHA256 = r"^[0-9a-f]{64}$"


class EnvironmentQuerySet(models.QuerySet["Environment"]):
    """Chains over environments."""

    def verified(self) -> Self:
        """Those with a version that may be used."""
        return self.filter(verified_version__isnull=False)

    def search(self, words: str) -> Self:
        """Those of whose latest version the name, title, domain, description or a tool's name holds every word."""
        rows = self
        for word in words.split():
            # Not by a subquery for each row: this one is run once and hashed.
            tools = Tool.objects.filter(name__icontains=word).order_by()
            rows = rows.filter(
                Q(name__icontains=word)
                | Q(latest_version__title__icontains=word)
                | Q(latest_version__domain__icontains=word)
                | Q(latest_version__description__icontains=word)
                | Q(latest_version__in=tools.values("version"))
            )
        return rows

    def with_approval(self) -> Self:
        """Adds `approval`: that of the latest version."""
        return self.annotate(approval=_newest_verdict("latest_version__code"))

    def with_versions(self) -> Self:
        """Reads the latest and the verified version along, without their content."""
        content = [f"{version}__{column}" for version in ("latest_version", "verified_version")
                   for column in EnvironmentVersion.CONTENT_COLUMNS]  # fmt: skip
        return self.select_related("latest_version", "verified_version").defer(*content)

    def with_record(self) -> Self:
        """Adds of the latest version: `changed_at`, `outcome`, and `num_cases_held` of `num_cases_run` in its last run.

        All but the first are None where no run was made yet.
        """
        changes = StatusChange.objects.filter(version=OuterRef("latest_version")).order_by("-pk")
        runs = VerificationRun.objects.filter(version=OuterRef("latest_version")).order_by("-pk")
        return self.annotate(
            changed_at=Subquery(changes.values("at")[:1]),
            outcome=Subquery(runs.values("outcome")[:1]),
            num_cases_held=Subquery(runs.values("num_cases_held")[:1]),
            num_cases_run=Subquery(runs.values("num_cases")[:1]),
        )


class Environment(models.Model):
    """A name in the registry; everything else belongs to its versions."""

    code = models.UUIDField(unique=True, editable=False)
    name = models.CharField(max_length=24, unique=True)
    created_at = models.DateTimeField(db_default=Now())
    latest_version = models.OneToOneField(
        "EnvironmentVersion", models.PROTECT, null=True, editable=False, related_name="latest_of"
    )
    verified_version = models.OneToOneField(
        "EnvironmentVersion", models.PROTECT, null=True, editable=False, related_name="verified_of"
    )

    objects = EnvironmentQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=Q(name__regex=r"^[a-z][a-z0-9_]{2,23}$"), name="environment_name_form")
        ]

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def code_of(name: str) -> uuid.UUID:
        """The public code of the environment with that name."""
        return content_code("environment", 0, name)

    def point_at_versions(self) -> None:
        """Sets the latest version and the one that is used when only the environment is named: the newest verified."""
        versions = EnvironmentVersion.objects.filter(environment=OuterRef("pk")).order_by("-number")
        verified = versions.filter(status=EnvironmentVersion.Status.VERIFIED)
        Environment.objects.filter(pk=self.pk).update(
            latest_version=Subquery(versions.values("pk")[:1]), verified_version=Subquery(verified.values("pk")[:1])
        )
        self.refresh_from_db(fields=["latest_version", "verified_version"])


def _newest_verdict(code_column: str) -> Subquery:
    decisions = Decision.objects.filter(
        subject_kind=VERSION_KIND, subject_code=OuterRef(code_column), superseded_by__isnull=True
    ).exclude(verdict=Decision.Verdict.VERIFY)
    return Subquery(decisions.order_by("-pk").values("verdict")[:1])


class EnvironmentVersionQuerySet(models.QuerySet["EnvironmentVersion"]):
    """Chains over versions."""

    def verified(self) -> Self:
        """Those that may be used."""
        return self.filter(status=EnvironmentVersion.Status.VERIFIED)

    def with_approval(self) -> Self:
        """Adds `approval`: the verdict of the newest decision that stands, None without one."""
        return self.annotate(approval=_newest_verdict("code"))

    def without_content(self) -> Self:
        """For lists: leaves out source and schema."""
        return self.defer(*EnvironmentVersion.CONTENT_COLUMNS)


class EnvironmentVersion(models.Model):
    """One pack, whole: its head here, its tools, tables, scenarios, cases and sources in rows of their own."""

    class Status(models.TextChoices):
        """How far the version has come."""

        DRAFT = "draft", _("Draft")
        VERIFIED = "verified", _("Verified")
        REJECTED = "rejected", _("Rejected")
        DISCARDED = "discarded", _("Discarded")
        RETIRED = "retired", _("Retired")

    class Origin(models.TextChoices):
        """How the version came here."""

        SHIPPED = "shipped", _("Shipped with EnvFactory")
        UPLOADED = "uploaded", _("Uploaded")
        COMPILED = "compiled", _("Compiled")
        GENERATED = "generated", _("Generated")

    TRANSITIONS: ClassVar[dict[str, frozenset[str]]] = {
        Status.DRAFT: frozenset({Status.VERIFIED, Status.REJECTED, Status.DISCARDED}),
        Status.REJECTED: frozenset({Status.VERIFIED, Status.DISCARDED}),
        Status.VERIFIED: frozenset({Status.REJECTED, Status.RETIRED}),
        Status.RETIRED: frozenset(),
        Status.DISCARDED: frozenset(),
    }

    CONTENT_COLUMNS = ("schema_sql", "tools_py")
    """Columns that may hold megabytes; no list reads them."""

    code = models.UUIDField(unique=True, editable=False)
    environment = models.ForeignKey(Environment, models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    content_sha256 = models.CharField(max_length=64, unique=True)
    status = models.CharField(max_length=16, choices=Status, default=Status.DRAFT)
    origin = models.CharField(max_length=16, choices=Origin)
    title = models.CharField(max_length=200)
    domain = models.CharField(max_length=200)
    description = models.TextField()
    language = models.CharField(max_length=35)
    licence_spdx = models.CharField(max_length=200, null=True)
    licence_name = models.TextField(null=True)
    licence_address = models.TextField(null=True)
    clock_start = models.CharField(max_length=20)
    clock_step_seconds = models.PositiveIntegerField()
    schema_sql = models.TextField()
    tools_py = models.TextField()
    num_tools = models.PositiveIntegerField()
    num_tables = models.PositiveIntegerField()
    num_scenarios = models.PositiveIntegerField()
    num_cases = models.PositiveIntegerField()
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")

    objects = EnvironmentVersionQuerySet.as_manager()

    class Meta:
        ordering = ["environment__name", "-number"]
        indexes = [models.Index(fields=["status", "-id"], name="environment_version_status")]
        constraints = [
            models.UniqueConstraint(fields=["environment", "number"], name="environment_version_number_unique"),
            models.CheckConstraint(condition=Q(content_sha256__regex=SHA256), name="environment_version_sha256_hex"),
            models.CheckConstraint(
                condition=Q(status__in=["draft", "verified", "rejected", "discarded", "retired"]),
                name="environment_version_status_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.environment.name} {self.number}"

    @staticmethod
    def code_of(sha256: str) -> uuid.UUID:
        """The public code of the version with that content."""
        return content_code(VERSION_KIND, 0, sha256)

    @property
    def is_usable(self) -> bool:
        """Whether sessions may be opened on it; everything else is in quarantine."""
        return self.status == self.Status.VERIFIED

    @property
    def licence(self) -> core.Licence:
        """Under which terms the pack may be used."""
        return core.Licence(self.licence_spdx, self.licence_name, self.licence_address)

    @property
    def newest_run(self) -> "VerificationRun | None":
        """The last verification, whatever came of it."""
        return self.runs.order_by("-number").first()

    @property
    def effects_seen(self) -> dict[str, dict[str, bool]]:
        """By tool, what the last verification that passed saw of its writes; empty without one."""
        runs = self.runs.filter(outcome=VerificationRun.Outcome.PASSED).order_by("-number")
        effects: dict[str, dict[str, bool]] | None = runs.values_list("effects", flat=True).first()
        return effects or {}

    def may_become(self, status: str) -> bool:
        """Whether the state machine lets it."""
        return status in self.TRANSITIONS[self.Status(self.status)]

    def move(self, status: Status, *, reason: str = "", actor: Any = None, run: "VerificationRun | None" = None,
             decision: Decision | None = None) -> bool:  # fmt: skip
        """Changes the status and writes the history; False if the row is no longer where this object thinks it is."""
        before = self.status
        if not self.may_become(status):
            return False
        with transaction.atomic():
            rows = EnvironmentVersion.objects.filter(pk=self.pk, status=before)
            if not rows.update(status=status):
                return False
            StatusChange.objects.create(
                version=self, before=before, after=status, reason=reason, actor=actor, run=run, decision=decision
            )
            self.status = status
            self.environment.point_at_versions()
        return True

    def to_core(self) -> Pack:
        """The pack that the rows are; five queries, and as large as the pack."""
        return Pack(
            name=self.environment.name,
            title=self.title,
            domain=self.domain,
            description=self.description,
            language=self.language,
            licence=self.licence,
            clock_start=self.clock_start,
            clock_step_seconds=self.clock_step_seconds,
            tables={row.name: row.to_core() for row in self.tables.order_by("position")},
            tools=tuple(row.to_core() for row in self.tools.order_by("position")),
            provenance=tuple(row.to_core() for row in self.provenance.order_by("position")),
            schema_sql=self.schema_sql,
            tools_py=self.tools_py,
            scenarios=tuple(row.to_core() for row in self.scenarios.order_by("position")),
            cases=tuple(row.to_core() for row in self.cases.order_by("position")),
        )

    @classmethod
    def from_core(cls, pack: Pack, *, environment: Environment, number: int, origin: Origin, created_by: Any) -> Self:
        """The unsaved head of a pack; `parts_from_core` gives its rows."""
        sha256 = content_sha256(pack)
        return cls(
            code=cls.code_of(sha256),
            environment=environment,
            number=number,
            content_sha256=sha256,
            origin=origin,
            title=pack.title,
            domain=pack.domain,
            description=pack.description,
            language=pack.language,
            licence_spdx=pack.licence.spdx,
            licence_name=pack.licence.name,
            licence_address=pack.licence.address,
            clock_start=pack.clock_start,
            clock_step_seconds=pack.clock_step_seconds,
            schema_sql=pack.schema_sql,
            tools_py=pack.tools_py,
            num_tools=len(pack.tools),
            num_tables=len(pack.tables),
            num_scenarios=len(pack.scenarios),
            num_cases=len(pack.cases),
            created_by=created_by,
        )

    def parts_from_core(self, pack: Pack) -> "list[Iterable[Part]]":
        """The unsaved rows of everything that the pack holds, kind by kind."""
        return [
            [Table.from_core(table, name, self, place) for place, (name, table) in enumerate(pack.tables.items())],
            [Tool.from_core(tool, self, place) for place, tool in enumerate(pack.tools)],
            [Provenance.from_core(entry, self, place) for place, entry in enumerate(pack.provenance)],
            [Scenario.from_core(scenario, self, place) for place, scenario in enumerate(pack.scenarios)],
            [Case.from_core(case, self, place) for place, case in enumerate(pack.cases)],
        ]


class Part(models.Model):
    """A row of a version's content, in the pack's order."""

    version: models.ForeignKey[Any, Any]
    position = models.PositiveIntegerField()

    class Meta:
        abstract = True


class Table(Part):
    """A table's role and what its columns mean; types and keys are in the version's schema_sql."""

    version = models.ForeignKey(EnvironmentVersion, models.PROTECT, related_name="tables")
    name = models.CharField(max_length=64)
    description = models.TextField()
    role = models.CharField(max_length=16)
    columns = ExactJSONField()

    class Meta:
        ordering = ["version", "position"]
        constraints = [models.UniqueConstraint(fields=["version", "name"], name="table_name_unique")]

    def __str__(self) -> str:
        return self.name

    def to_core(self) -> core.Table:
        """The table of the pack."""
        document = {"description": self.description, "role": self.role, "columns": self.columns}
        return from_document(core.Table, document)

    @classmethod
    def from_core(cls, table: core.Table, name: str, version: EnvironmentVersion, position: int) -> Self:
        """The unsaved row."""
        return cls(version=version, position=position, name=name, **to_json(table))


class ToolQuerySet(models.QuerySet["Tool"]):
    """Chains over tools."""

    def current(self) -> Self:
        """Those of each environment's verified version."""
        return self.filter(version__verified_of__isnull=False)

    def for_version(self, version: EnvironmentVersion) -> Self:
        """Those of one version, in its order."""
        return self.filter(version=version).order_by("position")

    def with_version(self) -> Self:
        """Reads the version and its environment along, without the version's content."""
        content = [f"version__{column}" for column in EnvironmentVersion.CONTENT_COLUMNS]
        return self.select_related("version__environment").defer(*content)

    def search(self, words: str) -> Self:
        """Those whose name, title or description holds every word."""
        rows = self
        for word in words.split():
            rows = rows.filter(Q(name__icontains=word) | Q(title__icontains=word) | Q(description__icontains=word))
        return rows


class Tool(Part):
    """One tool's interface, conditions and effect; its code is the function of that name in the version's tools_py."""

    class Effect(models.TextChoices):
        """Whether it changes the state."""

        READ = "read", _("Reads")
        WRITE = "write", _("Writes")

    class Audience(models.TextChoices):
        """Who may call it."""

        AGENT = "agent", _("Agent")
        USER = "user", _("Simulated user")

    CONTENT_COLUMNS = ("input_schema", "output_schema", "argument_names", "captures", "preconditions",
                       "postconditions", "rejections", "origin")  # fmt: skip
    """Columns that no list reads."""

    code = models.UUIDField(unique=True, editable=False)
    version = models.ForeignKey(EnvironmentVersion, models.PROTECT, related_name="tools")
    name = models.CharField(max_length=38)
    title = models.CharField(max_length=200)
    description = models.TextField()
    effect = models.CharField(max_length=8, choices=Effect)
    audience = models.CharField(max_length=8, choices=Audience)
    input_schema = ExactJSONField()
    output_schema = ExactJSONField()
    argument_names = ExactJSONField()
    captures = ExactJSONField()
    preconditions = ExactJSONField()
    postconditions = ExactJSONField()
    rejections = ExactJSONField()
    origin = ExactJSONField(null=True)

    objects = ToolQuerySet.as_manager()

    class Meta:
        ordering = ["version", "position"]
        indexes = [models.Index(fields=["name"], name="tool_name")]
        constraints = [models.UniqueConstraint(fields=["version", "name"], name="tool_name_unique")]

    def __str__(self) -> str:
        return self.name

    def to_core(self) -> core.Tool:
        """The tool of the pack."""
        names = ("name", "title", "description", "effect", "audience", "input_schema", "output_schema",
                 "argument_names", "captures", "preconditions", "postconditions", "rejections", "origin")  # fmt: skip
        return from_document(core.Tool, {name: getattr(self, name) for name in names})

    @classmethod
    def from_core(cls, tool: core.Tool, version: EnvironmentVersion, position: int) -> Self:
        """The unsaved row."""
        code = content_code("tool", 0, f"{version.content_sha256}/{tool.name}")
        return cls(code=code, version=version, position=position, **to_json(tool))


class ScenarioQuerySet(models.QuerySet["Scenario"]):
    """Chains over scenarios."""

    def current(self) -> Self:
        """Those of each environment's verified version."""
        return self.filter(version__verified_of__isnull=False)

    def with_version(self) -> Self:
        """Reads the version and its environment along, without the version's content."""
        content = [f"version__{column}" for column in EnvironmentVersion.CONTENT_COLUMNS]
        return self.select_related("version__environment").defer(*content)

    def with_row_counts(self) -> Self:
        """Adds `row_counts`: how many rows each table has, counted without reading them."""
        # PostgreSQL reads no escaped NUL; what the text says does not matter to the count.
        counted = (
            "(SELECT jsonb_object_agg(key, json_array_length(value))"
            r" FROM json_each(replace(%(expressions)s, '\u0000', '')::json))"
        )
        return self.annotate(row_counts=models.Func("rows", template=counted, output_field=models.JSONField()))


class Scenario(Part):
    """A named initial state: rows by table, clock and seed; no goal."""

    class Level(models.TextChoices):
        """How much it holds."""

        SIMPLE = "simple", _("Simple")
        MEDIUM = "medium", _("Medium")
        COMPLEX = "complex", _("Complex")
        BOUNDARY = "boundary", _("Boundary")

    code = models.UUIDField(unique=True, editable=False)
    version = models.ForeignKey(EnvironmentVersion, models.PROTECT, related_name="scenarios")
    name = models.CharField(max_length=64)
    level = models.CharField(max_length=16, choices=Level)
    clock_start = models.CharField(max_length=20)
    seed = models.BigIntegerField()
    rows = ExactJSONField()
    num_rows = models.PositiveIntegerField()

    objects = ScenarioQuerySet.as_manager()

    class Meta:
        ordering = ["version", "position"]
        constraints = [models.UniqueConstraint(fields=["version", "name"], name="scenario_name_unique")]

    def __str__(self) -> str:
        return self.name

    def to_core(self) -> core.Scenario:
        """The scenario of the pack."""
        document = {name: getattr(self, name) for name in ("name", "level", "clock_start", "seed", "rows")}
        return from_document(core.Scenario, document)

    @classmethod
    def from_core(cls, scenario: core.Scenario, version: EnvironmentVersion, position: int) -> Self:
        """The unsaved row."""
        code = content_code("scenario", 0, f"{version.content_sha256}/{scenario.name}")
        num_rows = sum(map(len, scenario.rows.values()))
        return cls(code=code, version=version, position=position, num_rows=num_rows, **to_json(scenario))


class Case(Part):
    """One verification case: calls, what each must give, and what must change."""

    version = models.ForeignKey(EnvironmentVersion, models.PROTECT, related_name="cases")
    name = models.CharField(max_length=200)
    tool = models.CharField(max_length=38)
    kind = models.CharField(max_length=16)
    scenario = models.CharField(max_length=64, null=True)
    rows = ExactJSONField(null=True)
    calls = ExactJSONField()
    expect = ExactJSONField()
    changes = ExactJSONField()
    author = models.TextField()

    class Meta:
        ordering = ["version", "position"]
        constraints = [models.UniqueConstraint(fields=["version", "name"], name="case_name_unique")]

    def __str__(self) -> str:
        return self.name

    def to_core(self) -> core.Case:
        """The case of the pack."""
        names = ("name", "tool", "kind", "calls", "expect", "changes", "author")
        document = {name: getattr(self, name) for name in names}
        start = {"scenario": self.scenario, "rows": self.rows}
        return from_document(core.Case, document | {name: value for name, value in start.items() if value is not None})

    @classmethod
    def from_core(cls, case: core.Case, version: EnvironmentVersion, position: int) -> Self:
        """The unsaved row."""
        return cls(version=version, position=position, **to_json(case))


class Provenance(Part):
    """One authentic source of a version."""

    version = models.ForeignKey(EnvironmentVersion, models.PROTECT, related_name="provenance")
    kind = models.CharField(max_length=60)
    address = models.TextField()
    sha256 = models.CharField(max_length=64)
    retrieved_at = models.CharField(max_length=20)
    source_version = models.TextField(null=True)
    licence = ExactJSONField(null=True)

    class Meta:
        verbose_name_plural = "provenance"
        ordering = ["version", "position"]
        indexes = [models.Index(fields=["sha256"], name="provenance_sha256")]

    def __str__(self) -> str:
        return self.address

    def to_core(self) -> core.Provenance:
        """The source of the pack."""
        names = ("kind", "address", "sha256", "retrieved_at", "licence")
        document = {name: getattr(self, name) for name in names}
        return from_document(core.Provenance, document | {"version": self.source_version})

    @classmethod
    def from_core(cls, entry: core.Provenance, version: EnvironmentVersion, position: int) -> Self:
        """The unsaved row."""
        document = to_json(entry)
        return cls(version=version, position=position, source_version=document.pop("version"), **document)


class VerificationRunQuerySet(models.QuerySet["VerificationRun"]):
    """Chains over verification runs."""

    def with_tool_figures(self) -> Self:
        """Adds `tool_figures`: for each tool by name how many cases the run played, and how many held."""
        figures = JSONObject(
            tool=F("case__tool"), num_cases=Count("pk"), num_cases_held=Count("pk", filter=Q(holds=True))
        )
        results = CaseResult.objects.filter(run=OuterRef("pk")).order_by("case__tool").values("case__tool")
        return self.annotate(tool_figures=ArraySubquery(results.annotate(figures=figures).values("figures")))


class VerificationRun(models.Model):
    """One verification of one version, append-only: what was checked, what was found, how each case ended.

    Attributes:
        figures: By tool: outcomes of its calls and cases, and how often each of the three rates held.
        rates: The three rates over all tools, by name: `num_held` of `num`.
        warnings: What the static check would have somebody look at.
        tool_tables: By tool, the tables that it reads and writes.
        dropped: Tools that were left out before, each with its operation and reason.
    """

    class Outcome(models.TextChoices):
        """What the run says of the version."""

        PASSED = "passed", _("Passed")
        FAILED = "failed", _("Failed")
        UNDECIDED = "undecided", _("Undecided")

    code = models.UUIDField(unique=True, editable=False)
    version = models.ForeignKey(EnvironmentVersion, models.PROTECT, related_name="runs")
    number = models.PositiveIntegerField()
    job = models.OneToOneField("Job", models.PROTECT, null=True, related_name="verification_run")
    verifier_version = models.CharField(max_length=40)
    outcome = models.CharField(max_length=16, choices=Outcome)
    findings = ExactJSONField(default=list)
    effects = ExactJSONField(default=dict)
    figures = ExactJSONField(default=dict)
    rates = ExactJSONField(default=dict)
    warnings = ExactJSONField(default=list)
    tool_tables = ExactJSONField(default=dict)
    dropped = ExactJSONField(default=list)
    num_cases = models.PositiveIntegerField(default=0)
    num_cases_held = models.PositiveIntegerField(default=0)
    num_calls = models.PositiveIntegerField(default=0)
    num_answered = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())

    objects = VerificationRunQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["version", "number"], name="verification_run_number_unique"),
            models.CheckConstraint(
                condition=Q(outcome__in=["passed", "failed", "undecided"]), name="verification_run_outcome_known"
            ),
            models.CheckConstraint(
                condition=Q(num_cases_held__lte=F("num_cases")), name="verification_run_cases_held_of_all"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} {self.version}"

    @property
    def completeness_ratio(self) -> float | None:
        """Share of random valid calls that were answered or refused by a declared code; None where none was made."""
        return self.num_answered / self.num_calls if self.num_calls else None


class CaseResult(models.Model):
    """How one case ended in one run, append-only."""

    run = models.ForeignKey(VerificationRun, models.PROTECT, related_name="case_results")
    case = models.ForeignKey(Case, models.PROTECT, related_name="results")
    holds = models.BooleanField()
    problems = ExactJSONField(default=list)

    class Meta:
        ordering = ["run", "case__position"]
        constraints = [models.UniqueConstraint(fields=["run", "case"], name="case_result_unique")]

    def __str__(self) -> str:
        return f"{self.case}: {'holds' if self.holds else 'does not hold'}"


class StatusChange(models.Model):
    """One step of a version's history, append-only."""

    version = models.ForeignKey(EnvironmentVersion, models.PROTECT, related_name="history")
    at = models.DateTimeField(db_default=Now())
    before = models.CharField(max_length=16, choices=EnvironmentVersion.Status, blank=True)
    after = models.CharField(max_length=16, choices=EnvironmentVersion.Status)
    reason = models.TextField(blank=True)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    run = models.ForeignKey(VerificationRun, models.PROTECT, null=True, related_name="+")
    decision = models.ForeignKey(Decision, models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.before or 'new'} to {self.after}"
