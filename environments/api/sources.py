"""Sources over the API: what was read from where, its operations, new ones, and decisions on documents."""

from typing import Any, ClassVar, Final
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseBase, HttpResponseNotModified
from django.utils.http import content_disposition_header, parse_etags, quote_etag
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import mixins, status, viewsets
from rest_framework.decorators import action
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from environments import jobs, services
from environments.api import serializers, source_filters
from environments.api import source_serializers as shapes
from environments.api.endpoint import Endpoint, invalid_parameter
from environments.api.parsers import DocumentParser, JSONDocumentParser, TextDocumentParser, YAMLDocumentParser
from environments.core.access import Permission
from environments.core.sources.model import SourceKind
from environments.models import Job, Operation, Source, SourceDocument, User

BINARY: Final = "application/octet-stream"
NEWEST: Final = 20
"""Documents that a source shows of its own; the list of documents has all."""


class BinaryRenderer(BaseRenderer):
    """Lets callers ask for bytes; errors are JSON all the same."""

    media_type = BINARY
    format = "bin"
    charset = None
    render_style = "binary"

    def render(self, data: bytes, media_type: str | None = None, renderer_context: Any = None) -> bytes:
        """The bytes as they are."""
        return data


def _user(request: Request) -> User:
    assert isinstance(request.user, User)  # noqa: S101 - MayDo lets nobody else in
    return request.user


def _accepted(job: Job, request: Request) -> Response:
    return Response(
        serializers.JobSerializer(job).data,
        status=status.HTTP_202_ACCEPTED,
        headers={"Location": reverse("job-detail", args=[job.code], request=request)},
    )


_JOB: Final = OpenApiResponse(serializers.JobSerializer, "The job that reads, cleans and guards it.")
_JOB_LOCATION: Final = OpenApiParameter(
    "Location", {"type": "string", "format": "uri"}, OpenApiParameter.HEADER, description="Address of the job.",
    response=[202],
)  # fmt: skip


@extend_schema_view(list=extend_schema(description="Sources by provider and address, each with its newest document."))
class SourceViewSet(Endpoint, mixins.ListModelMixin, viewsets.GenericViewSet[Source]):
    """Addresses and uploads from which descriptions of tools were read."""

    queryset = (
        Source.objects.select_related("latest_document__source", "created_by")
        .defer(*(f"latest_document__{column}" for column in SourceDocument.WIDE_COLUMNS))
        .order_by("provider", "address")
    )
    serializer_class = shapes.SourceSerializer
    filterset_class = source_filters.SourceFilter
    lookup_field = "code"
    lookup_value_converter = "uuid"
    required_permissions: ClassVar = {
        "list": Permission.VIEW, "retrieve": Permission.VIEW, "create": Permission.RUN_JOBS,
    }  # fmt: skip

    @extend_schema(responses=shapes.SourceWithDocumentsSerializer)
    def retrieve(self, request: Request, code: UUID) -> Response:
        """One source with its newest documents."""
        source: Any = self.get_object()
        source.newest_documents = source.documents.select_related("source").without_data().order_by("-id")[:NEWEST]
        return Response(shapes.SourceWithDocumentsSerializer(source).data)

    @extend_schema(request=shapes.NewSourceSerializer, responses={202: _JOB}, parameters=[_JOB_LOCATION])
    def create(self, request: Request) -> Response:
        """Starts reading an address (an MCP server's with `kind` `mcp_server`), or a server of the settings.

        `fetch_refused` says at once that it is no address that could be read; what the fetch policy says is in the job.
        """
        given = shapes.NewSourceSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        values = given.validated_data
        job = jobs.start_import(
            user=_user(request),
            source_address=values.get("address", ""),
            server=values.get("server", ""),
            kind=values.get("kind", ""),
            address=request.META.get("REMOTE_ADDR"),
        )
        return _accepted(job, request)


@extend_schema_view(list=extend_schema(description="Documents, newest first, older readings of a source among them."))
class DocumentViewSet(
    Endpoint, mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[SourceDocument]
):
    """Single readings of sources."""

    queryset = SourceDocument.objects.select_related("source").order_by("-id")
    serializer_class = shapes.DocumentSerializer
    filterset_class = source_filters.DocumentFilter
    lookup_field = "code"
    lookup_value_converter = "uuid"
    required_permissions: ClassVar = {
        "list": Permission.VIEW,
        "retrieve": Permission.VIEW,
        "create": Permission.RUN_JOBS,
        "content": Permission.VIEW,
        "allow": Permission.REVIEW,
        "refuse": Permission.REVIEW,
    }

    def get_queryset(self) -> QuerySet[SourceDocument]:
        """The rows with what is shown of them."""
        rows = super().get_queryset()
        if self.action == "content":
            return rows
        return rows.defer(*(SourceDocument.WIDE_COLUMNS if self.action == "list" else ("data", "related")))

    def get_serializer_class(self) -> type[Any]:
        """Lists show less."""
        return shapes.DocumentSummarySerializer if self.action == "list" else shapes.DocumentSerializer

    def get_parsers(self) -> list[Any]:
        """A new document comes as it is, a decision as JSON."""
        # The action has no name yet when DRF asks for the parsers.
        method = self.request.method if self.request else None
        if (getattr(self, "action_map", None) or {}).get((method or "").lower()) == "create":
            return [JSONDocumentParser(), YAMLDocumentParser(), TextDocumentParser(), DocumentParser()]
        return super().get_parsers()

    def _known_parameters(self) -> dict[str, bool]:
        return {"name": False, "kind": False} if self.action == "create" else super()._known_parameters()

    @extend_schema(
        request={BINARY: OpenApiTypes.BINARY},
        responses={202: _JOB},
        parameters=[
            OpenApiParameter(
                "name", {"type": "string", "minLength": 1, "maxLength": 200}, required=True,
                description="The file's name; its ending helps to recognise the form.",
            ),
            OpenApiParameter(
                "kind", {"type": "string", "enum": [kind.value for kind in SourceKind]},
                description="Its form; by default that is recognised.",
            ),
            _JOB_LOCATION,
        ],
    )  # fmt: skip
    def create(self, request: Request) -> Response:
        """Uploads a document: the body is the file as it is, JSON, YAML or any text, at most `FETCH_MAX_MEGABYTES`."""
        kind, name = request.query_params.get("kind"), request.query_params.get("name")
        if name is None:
            raise invalid_parameter("name", "required", "Give the file's name.")
        if kind is not None and kind not in list(SourceKind):
            raise invalid_parameter("kind", "invalid", f"One of {', '.join(SourceKind)}.")
        data: Any = request.data
        document = services.store_upload(
            data=data if isinstance(data, bytes) else b"",  # without a body DRF gives an empty dict
            name=name,
            media_type=(request.content_type or "").partition(";")[0],
            kind=SourceKind(kind) if kind else None,
            user=_user(request),
        )
        job = jobs.start_import(user=_user(request), document=document, address=request.META.get("REMOTE_ADDR"))
        return _accepted(job, request)

    @extend_schema(
        operation_id="documents_content",
        responses={
            (200, BINARY): OpenApiResponse(OpenApiTypes.BINARY, "The bytes as they came."),
            304: OpenApiResponse(None, "`If-None-Match` names this content."),
        },
        parameters=[
            OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="An `ETag` of before."),
            OpenApiParameter(
                "ETag", str, OpenApiParameter.HEADER, response=[200, 304], description="The document's SHA-256, quoted."
            ),
            OpenApiParameter(
                "Content-Disposition", str, OpenApiParameter.HEADER, response=[200], description="A name for the file."
            ),
        ],
    )
    @action(detail=True, methods=["get"], renderer_classes=[BinaryRenderer])
    def content(self, request: Request, code: UUID) -> HttpResponseBase:
        """The document as it came, to be kept as a file: never a page or a script of this server."""
        document = self.get_object()
        tag = quote_etag(document.sha256)
        known = {each.removeprefix("W/") for each in parse_etags(request.headers.get("If-None-Match", ""))}
        response: HttpResponse = HttpResponseNotModified()
        if not known & {tag, "*"}:
            response = HttpResponse(document.to_core().data, content_type=BINARY)
            name = document.address.rstrip("/").rsplit("/", 1)[-1] or "document"
            response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name) or ""
        response["ETag"] = tag
        return response

    @extend_schema(
        operation_id="documents_allow",
        request=shapes.AllowSerializer,
        responses={201: OpenApiResponse(shapes.DocumentSerializer, "The document as it stands now.")},
    )
    @action(detail=True, methods=["post"])
    def allow(self, request: Request, code: UUID) -> Response:
        """Lets a document through in spite of its terms, a refusal and its leak hits: decisions with a reason."""
        given = shapes.AllowSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        document = self.get_object()
        services.allow_document(document=document, user=_user(request), note=given.validated_data["note"])
        return Response(shapes.DocumentSerializer(document).data, status=status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="documents_refuse",
        request=shapes.RefuseSerializer,
        responses={201: OpenApiResponse(shapes.DocumentSerializer, "The document as it stands now.")},
    )
    @action(detail=True, methods=["post"])
    def refuse(self, request: Request, code: UUID) -> Response:
        """Keeps a document out, or takes back that it was allowed."""
        given = shapes.RefuseSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        document = self.get_object()
        services.refuse_document(document=document, user=_user(request), **given.validated_data)
        return Response(shapes.DocumentSerializer(document).data, status=status.HTTP_201_CREATED)


@extend_schema_view(retrieve=extend_schema(description="One operation with its schemas."))
class OperationViewSet(Endpoint, mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Operation]):
    """Operations of documents, kept and left out."""

    queryset = (
        Operation.objects.select_related("document", "duplicate_of")
        .defer(
            *(f"document__{column}" for column in SourceDocument.WIDE_COLUMNS),
            *(f"duplicate_of__{column}" for column in Operation.CONTENT_COLUMNS),
        )
        .order_by("document_id", "position", "pk")
    )
    serializer_class = shapes.OperationSerializer
    filterset_class = source_filters.OperationFilter
    lookup_field = "code"
    lookup_value_converter = "uuid"
    required_permissions: ClassVar = {"list": Permission.VIEW, "retrieve": Permission.VIEW}

    @extend_schema(responses=shapes.OperationSummarySerializer(many=True))
    def list(self, request: Request) -> Response:
        """Operations of each source's newest document, or of the document given, without descriptions and schemas."""
        rows: Any = self.get_queryset()
        page = self.paginate_queryset(self.filter_queryset(rows.defer(*Operation.CONTENT_COLUMNS)))
        return self.get_paginated_response(shapes.OperationSummarySerializer(page, many=True).data)
