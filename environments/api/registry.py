"""The registry over the API: environments, their versions, tools and scenarios; packs in and out; decisions."""

from typing import Any, ClassVar, Final
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseBase, HttpResponseNotModified
from django.utils.http import parse_etags, quote_etag
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import mixins, status, viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from environments import jobs, services
from environments.api import registry_filters, serializers
from environments.api import registry_serializers as shapes
from environments.api.endpoint import Endpoint
from environments.api.pagination import AppendedPages
from environments.api.parsers import StrictJSONParser, ZipParser
from environments.core.access import Permission
from environments.models import (
    Decision,
    Environment,
    EnvironmentVersion,
    Job,
    Scenario,
    StatusChange,
    Table,
    Tool,
    User,
    VerificationRun,
)
from environments.runtime.pack import zip_pack

ZIP: Final = "application/zip"


class ZipRenderer(BaseRenderer):
    """Lets callers ask for a zip; errors are JSON all the same."""

    media_type = ZIP
    format = "zip"
    charset = None
    render_style = "binary"

    def render(self, data: bytes, media_type: str | None = None, renderer_context: Any = None) -> bytes:
        """The bytes as they are."""
        return data


def _location(*statuses: int | str, of: str) -> OpenApiParameter:
    return OpenApiParameter(
        "Location", {"type": "string", "format": "uri"}, OpenApiParameter.HEADER,
        description=f"Address of the {of}.", response=list(statuses),
    )  # fmt: skip


def _user(request: Request) -> User:
    assert isinstance(request.user, User)  # noqa: S101 - MayDo lets nobody else in
    return request.user


@extend_schema_view(
    list=extend_schema(description="Environments by name."),
    retrieve=extend_schema(
        description="One environment.", parameters=[OpenApiParameter("name", str, OpenApiParameter.PATH)]
    ),
)
class EnvironmentViewSet(
    Endpoint, mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Environment]
):
    """Names in the registry, each with its latest version and the one that is played."""

    queryset = Environment.objects.with_versions().with_approval().order_by("name")
    serializer_class = shapes.EnvironmentSerializer
    filterset_class = registry_filters.EnvironmentFilter
    lookup_field = "name"
    lookup_value_converter = "slug"
    required_permissions: ClassVar = {"list": Permission.VIEW, "retrieve": Permission.VIEW}


@extend_schema_view(
    retrieve=extend_schema(description="One version: its figures, terms, sources and last verification.")
)
class VersionViewSet(
    Endpoint, mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[EnvironmentVersion]
):
    """Versions of environments: whole packs, each with one status and its history."""

    queryset = EnvironmentVersion.objects.select_related("environment", "created_by").with_approval().order_by("-id")
    serializer_class = shapes.VersionSerializer
    filterset_class = registry_filters.VersionFilter
    parser_classes = (ZipParser,)
    lookup_field = "code"
    lookup_value_converter = "uuid"
    required_permissions: ClassVar = {
        "list": Permission.VIEW,
        "retrieve": Permission.VIEW,
        "create": Permission.RUN_JOBS,
        "pack": Permission.VIEW,
        "verify": Permission.RUN_JOBS,
        "decide": Permission.REVIEW,
    }

    def get_queryset(self) -> QuerySet[EnvironmentVersion]:
        """The rows with what is shown of them: only the pack is made of source and schema."""
        rows = super().get_queryset()
        return rows if self.action == "pack" else rows.defer(*EnvironmentVersion.CONTENT_COLUMNS)

    @extend_schema(responses=shapes.VersionSummarySerializer(many=True))
    def list(self, request: Request) -> Response:
        """Versions, newest first."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(shapes.VersionSummarySerializer(page, many=True).data)

    @extend_schema(
        request={ZIP: OpenApiTypes.BINARY},
        responses={
            201: OpenApiResponse(shapes.VersionSerializer, "A draft, in quarantine until it is verified."),
            200: OpenApiResponse(shapes.VersionSerializer, "The registry has this content: the version that it is."),
        },
        parameters=[_location(200, 201, of="version")],
    )
    def create(self, request: Request) -> Response:
        """Uploads a pack: the body is its zip, at most 16 MiB. `invalid_pack` names every fault by its place."""
        data: Any = request.data
        imported = services.import_pack_file(
            data=data if isinstance(data, bytes) else b"",  # without a body DRF gives an empty dict
            user=_user(request),
            address=request.META.get("REMOTE_ADDR"),
        )
        version = self.get_queryset().get(pk=imported.version.pk)
        return Response(
            self.get_serializer(version).data,
            status=status.HTTP_201_CREATED if imported.is_new else status.HTTP_200_OK,
            headers={"Location": self.reverse_action("detail", args=[version.code])},
        )

    @extend_schema(
        operation_id="versions_pack",
        responses={
            (200, ZIP): OpenApiResponse(OpenApiTypes.BINARY, "The zip: the same bytes each time."),
            304: OpenApiResponse(None, "`If-None-Match` names this content."),
        },
        parameters=[
            OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="An `ETag` of before."),
            OpenApiParameter(
                "ETag", str, OpenApiParameter.HEADER, response=[200, 304], description="The content's SHA-256, quoted."
            ),
            OpenApiParameter(
                "Content-Disposition", str, OpenApiParameter.HEADER, response=[200], description="A name for the file."
            ),
        ],
    )
    @action(detail=True, methods=["get"], renderer_classes=[ZipRenderer])
    def pack(self, request: Request, code: UUID) -> HttpResponseBase:
        """The version's pack; uploading it again gives the same version."""
        version = self.get_object()
        tag = quote_etag(version.content_sha256)
        known = {each.removeprefix("W/") for each in parse_etags(request.headers.get("If-None-Match", ""))}
        response: HttpResponse = HttpResponseNotModified()
        if not known & {tag, "*"}:
            response = HttpResponse(zip_pack(version.to_core()), content_type=ZIP)
            name = f"{version.environment.name}-{version.number}.zip"
            response["Content-Disposition"] = f'attachment; filename="{name}"'
        response["ETag"] = tag
        return response

    @extend_schema(
        operation_id="versions_verify",
        request=None,
        responses={202: OpenApiResponse(serializers.JobSerializer, "The job; the same one until it has ended.")},
        parameters=[_location(202, of="job")],
    )
    @action(detail=True, methods=["post"])
    def verify(self, request: Request, code: UUID) -> Response:
        """Has the version's cases and its conformance run in a locked worker; the outcome moves its status."""
        job = jobs.start_verification(
            version=self.get_object(), user=_user(request), address=request.META.get("REMOTE_ADDR")
        )
        return Response(
            serializers.JobSerializer(job).data,
            status=status.HTTP_202_ACCEPTED,
            headers={"Location": reverse("job-detail", args=[job.code], request=request)},
        )

    @extend_schema(
        operation_id="versions_decide",
        request=shapes.VersionDecisionSerializer,
        responses={201: OpenApiResponse(serializers.DecisionSerializer, "The decision, which nothing changes again.")},
        parameters=[_location(201, of="decision")],
    )
    @action(detail=True, methods=["post"], parser_classes=[StrictJSONParser])
    def decide(self, request: Request, code: UUID) -> Response:
        """Approves a verified version, or rejects, retires or discards one, which moves its status."""
        given = shapes.VersionDecisionSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        values = given.validated_data
        decision = services.decide_version(
            version=self.get_object(),
            verdict=Decision.Verdict(values["verdict"]),
            user=_user(request),
            reason_codes=values["reason_codes"],
            note=values["note"],
        )
        return Response(
            serializers.DecisionSerializer(decision).data,
            status=status.HTTP_201_CREATED,
            headers={"Location": reverse("decision-detail", args=[decision.code], request=request)},
        )


class _OfVersion(Endpoint, mixins.ListModelMixin, viewsets.GenericViewSet[Any]):
    """Base for lists below one version."""

    required_permissions: ClassVar = {"list": Permission.VIEW}

    def get_queryset(self) -> QuerySet[Any]:
        """The version's own rows.

        Raises:
            NotFound: If there is no such version.
        """
        version = EnvironmentVersion.objects.filter(code=self.kwargs["code"]).only("pk").first()
        if version is None:
            raise NotFound(f"No version has the code {self.kwargs['code']}.")
        return super().get_queryset().filter(version=version)


@extend_schema(parameters=[OpenApiParameter("code", UUID, OpenApiParameter.PATH)])
@extend_schema_view(list=extend_schema(description="The version's tables, in its order."))
class VersionTableViewSet(_OfVersion):
    """Tables of one version."""

    queryset = Table.objects.order_by("position", "pk")
    serializer_class = shapes.TableSerializer


@extend_schema(parameters=[OpenApiParameter("code", UUID, OpenApiParameter.PATH)])
@extend_schema_view(list=extend_schema(description="The version's verifications, oldest first, with what each found."))
class VersionRunViewSet(_OfVersion):
    """Verifications of one version, append-only."""

    queryset = VerificationRun.objects.select_related("job").with_tool_figures().order_by("pk")
    serializer_class = shapes.RunSerializer
    pagination_class = AppendedPages

    def get_queryset(self) -> QuerySet[Any]:
        """The runs, and of their jobs the codes."""
        return super().get_queryset().defer(*(f"job__{column}" for column in Job.WIDE_COLUMNS))


@extend_schema(parameters=[OpenApiParameter("code", UUID, OpenApiParameter.PATH)])
@extend_schema_view(list=extend_schema(description="How the version's status changed, oldest first, and why."))
class VersionHistoryViewSet(_OfVersion):
    """Changes of one version's status, append-only."""

    queryset = (
        StatusChange.objects.select_related("actor", "run", "decision")
        .defer("run__findings", "run__effects")
        .order_by("pk")
    )
    serializer_class = shapes.StatusChangeSerializer
    pagination_class = AppendedPages


@extend_schema_view(retrieve=extend_schema(description="One tool: schemas, conditions, rejections, effects seen."))
class ToolViewSet(Endpoint, mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Tool]):
    """Tools of versions."""

    queryset = Tool.objects.with_version().order_by("version__environment__name", "-version_id", "position", "pk")
    serializer_class = shapes.ToolSerializer
    filterset_class = registry_filters.ToolFilter
    lookup_field = "code"
    lookup_value_converter = "uuid"
    required_permissions: ClassVar = {"list": Permission.VIEW, "retrieve": Permission.VIEW}

    @extend_schema(responses=shapes.ToolSummarySerializer(many=True))
    def list(self, request: Request) -> Response:
        """Tools of each environment's verified version, or of the version given, without schemas and conditions."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset().defer(*Tool.CONTENT_COLUMNS)))
        return self.get_paginated_response(shapes.ToolSummarySerializer(page, many=True).data)


@extend_schema_view(retrieve=extend_schema(description="One scenario with its rows."))
class ScenarioViewSet(Endpoint, mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Scenario]):
    """Initial states of versions."""

    queryset = Scenario.objects.with_version().order_by("version__environment__name", "-version_id", "position", "pk")
    serializer_class = shapes.ScenarioSerializer
    filterset_class = registry_filters.ScenarioFilter
    lookup_field = "code"
    lookup_value_converter = "uuid"
    required_permissions: ClassVar = {"list": Permission.VIEW, "retrieve": Permission.VIEW}

    @extend_schema(responses=shapes.ScenarioSummarySerializer(many=True))
    def list(self, request: Request) -> Response:
        """Scenarios of each environment's verified version, or of the version given, without their rows."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset().defer("rows")))
        return self.get_paginated_response(shapes.ScenarioSummarySerializer(page, many=True).data)
