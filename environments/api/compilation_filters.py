"""Filters of compilations, their environments and their ledgers."""

# mypy: disable-error-code="misc"
# django-filter has no types, and strict mode allows no class below an untyped one.

from typing import Any, ClassVar

from django.db.models import QuerySet
from django_filters import rest_framework as filters

from environments.api.filters import OneOfFilter, TextFilter, TrueOrFalseFilter
from environments.models import Compilation, CompiledEnvironment, CompiledOperation


class CompilationFilter(filters.FilterSet):
    """Which compilations."""

    status = OneOfFilter(choices=Compilation.Status.choices)

    class Meta:
        model = Compilation
        fields: ClassVar[list[str]] = []


class CompiledEnvironmentFilter(filters.FilterSet):
    """Which environments of a compilation."""

    outcome = OneOfFilter(choices=CompiledEnvironment.Outcome.choices)
    provider = TextFilter()
    family = TextFilter()
    meets_bar = TrueOrFalseFilter(label="Whether it counts.")

    class Meta:
        model = CompiledEnvironment
        fields: ClassVar[list[str]] = []


class CompiledOperationFilter(filters.FilterSet):
    """Which operations of a compilation."""

    document = filters.UUIDFilter(field_name="document__code", label="Code of a document.")
    operation = filters.UUIDFilter(field_name="operation_code", label="Code of an operation.")
    environment = TextFilter(field_name="environment__name", label="Name of an environment.")
    reason = TextFilter(label="Why it is in no environment.")
    is_tool = TrueOrFalseFilter(method="filter_is_tool", label="Whether it is a tool of an environment.")

    class Meta:
        model = CompiledOperation
        fields: ClassVar[list[str]] = []

    def filter_is_tool(self, rows: QuerySet[Any], name: str, value: bool) -> QuerySet[Any]:
        """Those that are tools, or those that are not."""
        return rows.filter(reason="") if value else rows.exclude(reason="")
