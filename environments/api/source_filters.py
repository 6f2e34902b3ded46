"""Filters of the lists of sources, documents and operations."""

# mypy: disable-error-code="misc"
# django-filter has no types, and strict mode allows no class below an untyped one.

from typing import Any, ClassVar

from django.db.models import QuerySet
from django_filters import rest_framework as filters

from environments.api.filters import OneOfFilter, TextFilter, TrueOrFalseFilter
from environments.api.registry_filters import SearchFilter
from environments.core.cleaning import REASONS
from environments.models import Operation, Source, SourceDocument


class ReasonFilter(filters.ChoiceFilter):
    """Rows that have it among their reasons."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=[(code, code) for code in REASONS], **kwargs)

    def filter(self, qs: QuerySet[Any], value: str) -> QuerySet[Any]:
        """The rows that have it."""
        return qs.filter(reasons__contains=[value]) if value else qs


class SourceFilter(filters.FilterSet):
    """Which sources."""

    kind = OneOfFilter(choices=Source.Kind.choices)
    collection = TextFilter()
    provider = TextFilter()
    terms = OneOfFilter(
        field_name="latest_document__terms", choices=SourceDocument.Terms.choices, label="Of the newest document."
    )
    status = OneOfFilter(
        field_name="latest_document__status", choices=SourceDocument.Status.choices, label="Of the newest document."
    )
    search = SearchFilter(label="Words of the address, the provider or the newest document's title.")

    class Meta:
        model = Source
        fields: ClassVar[list[str]] = []


class DocumentFilter(filters.FilterSet):
    """Which documents."""

    source = filters.UUIDFilter(field_name="source__code", label="Code of a source.")
    sha256 = TextFilter()
    terms = OneOfFilter(choices=SourceDocument.Terms.choices)
    status = OneOfFilter(choices=SourceDocument.Status.choices)

    class Meta:
        model = SourceDocument
        fields: ClassVar[list[str]] = []


class OperationFilter(filters.FilterSet):
    """Which operations: without a document, those of each source's newest one."""

    document = filters.UUIDFilter(field_name="document__code", label="Code of a document; each newest unless given.")
    source = filters.UUIDFilter(field_name="document__source__code", label="Code of a source.")
    effect = filters.ChoiceFilter(choices=Operation.Effect.choices)
    is_kept = TrueOrFalseFilter(label="Whether cleaning kept it.")
    reason = ReasonFilter(label="One of the reasons why it was left out.")
    search = SearchFilter(label="Words of the key, name, title or description.")

    class Meta:
        model = Operation
        fields: ClassVar[list[str]] = []

    def filter_queryset(self, queryset: Any) -> QuerySet[Any]:
        """The rows."""
        rows: Any = super().filter_queryset(queryset)
        found: QuerySet[Any] = rows if self.form.cleaned_data["document"] else rows.latest()
        return found
