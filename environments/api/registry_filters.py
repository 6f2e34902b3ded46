"""Filters of the registry's lists."""

# mypy: disable-error-code="misc"
# django-filter has no types, and strict mode allows no class below an untyped one.

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from django.db.models import Q, QuerySet
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema_field

from environments.api.filters import NOT_BLANK, OneOfFilter, TextFilter, TrueOrFalseFilter
from environments.models import Decision, Environment, EnvironmentVersion, Scenario, Tool

APPROVALS: Final = [
    *(verdict.value for verdict in Decision.Verdict if verdict != Decision.Verdict.VERIFY),
    "none",
]
MAX_SEARCH: Final = 100


@extend_schema_field({"type": "string", "maxLength": MAX_SEARCH, "pattern": NOT_BLANK})
class SearchFilter(filters.CharFilter):
    """Rows that hold every word, by the QuerySet's own search."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_SEARCH, **kwargs)

    def filter(self, qs: Any, value: str) -> QuerySet[Any]:
        """The rows that hold them."""
        found: QuerySet[Any] = qs.search(value) if value else qs
        return found


class ApprovalFilter(OneOfFilter):
    """By the verdict that stands, which `with_approval` has added; `none` for rows that nobody has judged."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=[(value, value) for value in APPROVALS], **kwargs)

    def filter(self, qs: QuerySet[Any], value: Sequence[str]) -> QuerySet[Any]:
        """The rows with one of them."""
        if not value:
            return qs
        unjudged = Q(approval__isnull=True) if "none" in value else Q()
        return qs.filter(Q(approval__in=[verdict for verdict in value if verdict != "none"]) | unjudged)


class EnvironmentFilter(filters.FilterSet):
    """Which environments."""

    status = OneOfFilter(
        field_name="latest_version__status", choices=EnvironmentVersion.Status.choices, label="Of the latest version."
    )
    domain = TextFilter(field_name="latest_version__domain")
    approval = ApprovalFilter(label="The verdict that stands on the latest version.")
    is_verified = TrueOrFalseFilter(
        field_name="verified_version", lookup_expr="isnull", exclude=True, label="Whether a version can be played."
    )
    search = SearchFilter(label="Words of the name, title, domain, description or of a tool's name.")

    class Meta:
        model = Environment
        fields: ClassVar[list[str]] = []


class VersionFilter(filters.FilterSet):
    """Which versions."""

    environment = TextFilter(field_name="environment__name")
    status = OneOfFilter(choices=EnvironmentVersion.Status.choices)
    origin = OneOfFilter(choices=EnvironmentVersion.Origin.choices)
    approval = ApprovalFilter(label="The verdict that stands.")

    class Meta:
        model = EnvironmentVersion
        fields: ClassVar[list[str]] = []


class _OfVersions(filters.FilterSet):
    """Base for parts of versions: without a version, those of each environment's verified one."""

    environment = TextFilter(field_name="version__environment__name")
    version = filters.UUIDFilter(
        field_name="version__code", label="Code of a version; each environment's verified one unless given."
    )

    def filter_queryset(self, queryset: Any) -> QuerySet[Any]:
        """The rows."""
        rows: Any = super().filter_queryset(queryset)
        found: QuerySet[Any] = rows if self.form.cleaned_data["version"] else rows.current()
        return found


class ToolFilter(_OfVersions):
    """Which tools."""

    effect = filters.ChoiceFilter(choices=Tool.Effect.choices)
    audience = filters.ChoiceFilter(choices=Tool.Audience.choices)
    search = SearchFilter(label="Words of the name, title or description.")

    class Meta:
        model = Tool
        fields: ClassVar[list[str]] = []


class ScenarioFilter(_OfVersions):
    """Which scenarios."""

    level = OneOfFilter(choices=Scenario.Level.choices)

    class Meta:
        model = Scenario
        fields: ClassVar[list[str]] = []
