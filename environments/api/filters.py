"""Filters and order of lists, over QuerySet methods; a value that does not fit is a 400 that names its parameter."""

# mypy: disable-error-code="misc"
# django-filter has no types, and strict mode allows no class below an untyped one.

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django_filters import rest_framework as filters
from django_filters.fields import IsoDateTimeField
from drf_spectacular.utils import extend_schema_field
from rest_framework.request import Request

from environments.core.errors import FieldError, InvalidInputError
from environments.core.jobs import Queue
from environments.models import AuditEvent, Decision, Job, JobEvent

MAX_ID = 2**63 - 1
NOT_BLANK = r"^[^\u0000]*[^\s\u0000\u001c-\u001f][^\u0000]*$"
"""Text without a NUL character that is not blank; Python strips the separators U+001C to U+001F, too."""


class StrictFilterBackend(filters.DjangoFilterBackend):
    """Names query parameters as such (`?status`), so that they are not taken for fields of a body."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: Any) -> QuerySet[Any]:
        """The rows that the parameters ask for.

        Raises:
            InvalidInputError: If a value does not fit its filter.
        """
        filterset = self.get_filterset(request, queryset, view)
        if filterset is None:
            return queryset
        if not filterset.is_valid():
            faults = tuple(
                FieldError(f"?{name}", fault.code or "invalid", " ".join(fault.messages))
                for name, found in filterset.errors.as_data().items()
                for fault in found
            )
            raise InvalidInputError("A query parameter has a value that it can't have.", fields=faults)
        rows: QuerySet[Any] = filterset.qs
        return rows


@extend_schema_field({"type": "string", "pattern": NOT_BLANK})
class TextFilter(filters.CharFilter):
    """Exactly this text, which must not be blank or hold a NUL character."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strip=False, **kwargs)


class OneOfFilter(filters.MultipleChoiceFilter):
    """Any of several values of the row's own column, so that no row comes twice and none need be compared."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(distinct=False, **kwargs)


@extend_schema_field({"type": "boolean"})
class TrueOrFalseFilter(filters.TypedChoiceFilter):
    """`true` or `false`; django-filter's own takes every other word for no filter at all."""

    def __init__(self, **kwargs: Any) -> None:
        choices = [("true", "true"), ("false", "false")]
        super().__init__(choices=choices, coerce=lambda word: word == "true", **kwargs)


@extend_schema_field({"type": "integer", "minimum": 0, "maximum": MAX_ID})
class AfterIdFilter(filters.Filter):
    """Rows with a larger id."""

    field_class = forms.IntegerField

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(field_name="pk", lookup_expr="gt", min_value=0, max_value=MAX_ID, **kwargs)


class MomentField(IsoDateTimeField):
    """A moment in UTC; PostgreSQL takes no offset of 16 hours or more, which RFC 3339 allows."""

    def clean(self, value: Any) -> datetime | None:
        """The moment.

        Raises:
            ValidationError: If it is none, or in no year that both sides know.
        """
        moment: datetime | None = super().clean(value)
        try:
            return moment.astimezone(UTC) if moment else None
        except OverflowError as error:
            raise forms.ValidationError(_("This moment is out of range."), code="invalid") from error


@extend_schema_field({"type": "string", "format": "date-time"})
class MomentFilter(filters.Filter):
    """Before or from a moment on."""

    field_class = MomentField


class OrderFilter(filters.ChoiceFilter):
    """One of several orders, each total so that pages never overlap; `-` before its name turns it round.

    Args:
        orders: The columns of each order. An index must have them in these directions: it serves both ways.
    """

    def __init__(self, **orders: tuple[str, ...]) -> None:
        self._orders = orders | {f"-{name}": tuple(map(_reverse, columns)) for name, columns in orders.items()}
        choices = [(name, name) for name in self._orders]
        super().__init__(choices=choices, label="Newest first unless given.", empty_label=None)

    def filter(self, qs: QuerySet[Any], value: str) -> QuerySet[Any]:
        """The rows in that order."""
        return qs.order_by(*self._orders[value]) if value else qs


def _reverse(column: str) -> str:
    return column[1:] if column.startswith("-") else f"-{column}"


class JobFilter(filters.FilterSet):
    """Which jobs."""

    status = OneOfFilter(choices=Job.Status.choices)
    kind = TextFilter()
    queue = filters.ChoiceFilter(choices=[(queue.value, queue.value) for queue in Queue])
    parent = filters.UUIDFilter(field_name="parent__code", label="Code of the job that started them.")
    is_top_level = TrueOrFalseFilter(
        field_name="parent", lookup_expr="isnull", label="Whether a person started it, not another job."
    )
    created_by = TextFilter(field_name="created_by__username")
    created_after = MomentFilter(field_name="created_at", lookup_expr="gte")
    created_before = MomentFilter(field_name="created_at", lookup_expr="lt")
    ordering = OrderFilter(created=("pk",), kind=("kind", "-pk"), status=("status", "-pk"))

    class Meta:
        model = Job
        fields: list[str] = []


class JobEventFilter(filters.FilterSet):
    """Which events."""

    after = AfterIdFilter(label="Only events with a larger id.")
    kind = OneOfFilter(choices=JobEvent.Kind.choices)

    class Meta:
        model = JobEvent
        fields: list[str] = []


class DecisionFilter(filters.FilterSet):
    """Which decisions."""

    actor = TextFilter(field_name="actor__username")
    subject_kind = TextFilter()
    subject_code = filters.UUIDFilter()
    verdict = OneOfFilter(choices=Decision.Verdict.choices)

    class Meta:
        model = Decision
        fields: list[str] = []


class AuditEventFilter(filters.FilterSet):
    """Which audit rows."""

    actor = TextFilter(field_name="actor__username")
    action = TextFilter()
    subject_kind = TextFilter()
    subject_code = TextFilter()
    at_after = MomentFilter(field_name="at", lookup_expr="gte")
    at_before = MomentFilter(field_name="at", lookup_expr="lt")

    class Meta:
        model = AuditEvent
        fields: list[str] = []
