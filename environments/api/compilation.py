"""Compilations over the API: runs, their environments and their ledgers; they are started as jobs."""

from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins, viewsets
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from environments.api import compilation_filters as filters
from environments.api import compilation_serializers as shapes
from environments.api.endpoint import Endpoint
from environments.api.pagination import AppendedPages
from environments.core.access import Permission
from environments.models import Compilation, CompiledEnvironment, CompiledOperation, SourceDocument


@extend_schema_view(retrieve=extend_schema(description="One compilation with its report."))
class CompilationViewSet(
    Endpoint, mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Compilation]
):
    """Runs of the compiler."""

    queryset = Compilation.objects.select_related("job", "created_by").order_by("-id")
    serializer_class = shapes.CompilationSerializer
    filterset_class = filters.CompilationFilter
    lookup_field = "code"
    lookup_value_converter = "uuid"
    required_permissions: ClassVar = {"list": Permission.VIEW, "retrieve": Permission.VIEW}

    @extend_schema(responses=shapes.CompilationSummarySerializer(many=True))
    def list(self, request: Request) -> Response:
        """Compilations, newest first, without their reports. A job of kind `compile_environments` makes one."""
        rows: Any = self.get_queryset()
        page = self.paginate_queryset(self.filter_queryset(rows.without_report()))
        return self.get_paginated_response(shapes.CompilationSummarySerializer(page, many=True).data)


class _PartViewSet(Endpoint, mixins.ListModelMixin, viewsets.GenericViewSet[Any]):
    """Rows of one compilation, append-only."""

    pagination_class = AppendedPages
    required_permissions: ClassVar = {"list": Permission.VIEW}

    def get_queryset(self) -> QuerySet[Any]:
        """The compilation's own rows.

        Raises:
            NotFound: If there is no such compilation.
        """
        compilation = Compilation.objects.filter(code=self.kwargs["code"]).only("pk").first()
        if compilation is None:
            raise NotFound(f"No compilation has the code {self.kwargs['code']}.")
        return super().get_queryset().filter(compilation=compilation)


class CompiledEnvironmentViewSet(_PartViewSet):
    """Environments that a compilation planned."""

    queryset = (
        CompiledEnvironment.objects.without_facts()
        .select_related("version")
        .defer("version__schema_sql", "version__tools_py", "version__description")
        .order_by("pk")
    )
    serializer_class = shapes.CompiledEnvironmentSerializer
    filterset_class = filters.CompiledEnvironmentFilter

    @extend_schema(parameters=[OpenApiParameter("code", UUID, OpenApiParameter.PATH)])
    def list(self, request: Request, code: UUID) -> Response:
        """The compilation's environments in the order in which they were stored, discarded ones among them."""
        return super().list(request)


class CompiledOperationViewSet(_PartViewSet):
    """The ledger of a compilation."""

    queryset = (
        CompiledOperation.objects.select_related("document", "environment")
        .defer(*(f"document__{column}" for column in SourceDocument.WIDE_COLUMNS), "environment__facts")
        .order_by("pk")
    )
    serializer_class = shapes.CompiledOperationSerializer
    filterset_class = filters.CompiledOperationFilter

    @extend_schema(parameters=[OpenApiParameter("code", UUID, OpenApiParameter.PATH)])
    def list(self, request: Request, code: UUID) -> Response:
        """What became of each operation, in the order in which it was written down."""
        return super().list(request)
