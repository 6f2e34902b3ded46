"""The endpoints: narrow viewsets, each action one service or job call."""

import re
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import mixins, status, viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from environments import jobs, services
from environments.api import filters, serializers
from environments.api.endpoint import Endpoint
from environments.api.pagination import AppendedPages
from environments.api.permissions import caller_permissions
from environments.core.access import Permission
from environments.core.errors import FieldError, InvalidInputError
from environments.core.jobs import JobKind, job_kind, job_kinds
from environments.models import ApiToken, AuditEvent, Decision, Job, JobEvent, User

IDEMPOTENCY_KEY = r"[!-~]{1,200}"
"""Printable ASCII without spaces: what every HTTP client and proxy passes on unchanged."""


class JobKindViewSet(Endpoint, viewsets.ViewSet):
    """What can be started, and with which parameters."""

    required_permissions: ClassVar = {"list": Permission.VIEW, "retrieve": Permission.VIEW}
    serializer_class = serializers.JobKindSerializer
    lookup_field = "name"
    lookup_value_converter = "slug"

    @extend_schema(responses=serializers.JobKindSerializer(many=True))
    def list(self, request: Request) -> Response:
        """All kinds by name, on one page."""
        return Response([serializers.JobKindSerializer(kind).data for kind in job_kinds()])

    @extend_schema(
        parameters=[OpenApiParameter("name", str, OpenApiParameter.PATH)], responses=serializers.JobKindSerializer
    )
    def retrieve(self, request: Request, name: str) -> Response:
        """One kind."""
        return Response(serializers.JobKindSerializer(self._kind(name)).data)

    def _kind(self, name: str) -> JobKind:
        try:
            return job_kind(name)
        except InvalidInputError as error:
            raise NotFound(str(error)) from error


@extend_schema_view(retrieve=extend_schema(description="One job."))
class JobViewSet(Endpoint, mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Job]):
    """Work of every kind: submit, watch, cancel, try again."""

    queryset = Job.objects.select_related("parent", "created_by").order_by("-id")
    serializer_class = serializers.JobSerializer
    filterset_class = filters.JobFilter
    lookup_field = "code"
    lookup_value_converter = "uuid"
    required_permissions: ClassVar = {
        "list": Permission.VIEW,
        "retrieve": Permission.VIEW,
        "create": Permission.VIEW,  # the kind's own permission is checked when it is known
        "cancel": Permission.VIEW,
        "retry": Permission.VIEW,
    }

    def get_queryset(self) -> QuerySet[Job]:
        """The rows with what is shown of them, which of a parent is its code."""
        rows = super().get_queryset().defer(*(f"parent__{column}" for column in Job.WIDE_COLUMNS))
        return rows.defer(*Job.WIDE_COLUMNS) if self.action == "list" else rows

    @extend_schema(responses=serializers.JobSummarySerializer(many=True))
    def list(self, request: Request) -> Response:
        """Jobs, newest first, without their parameters, results and manifests."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(serializers.JobSummarySerializer(page, many=True).data)

    @extend_schema(
        request=serializers.JobSubmissionSerializer,
        responses={
            202: OpenApiResponse(serializers.JobSerializer, "The job is queued."),
            200: OpenApiResponse(serializers.JobSerializer, "The idempotency key was used before: the same job."),
        },
        parameters=[
            OpenApiParameter(
                "Idempotency-Key",
                {"type": "string", "pattern": f"^{IDEMPOTENCY_KEY}$"},
                OpenApiParameter.HEADER,
                description="The same key again gives the same job; with another kind or parameters it is a 409.",
            ),
            OpenApiParameter(
                "Location",
                {"type": "string", "format": "uri"},
                OpenApiParameter.HEADER,
                description="Address of the job.",
                response=[200, 202],
            ),
        ],
    )
    def create(self, request: Request) -> Response:
        """Starts a job. Its `is_unsent` is true if the broker can't be reached: it then starts by itself later."""
        submission = serializers.JobSubmissionSerializer(data=request.data)
        submission.is_valid(raise_exception=True)
        self._check_permission(submission.validated_data["kind"])
        job, is_new = jobs.start_job(
            **submission.validated_data,
            user=self._user(),
            idempotency_key=_idempotency_key(request),
            address=request.META.get("REMOTE_ADDR"),
        )
        return Response(
            self.get_serializer(job).data,
            status=status.HTTP_202_ACCEPTED if is_new else status.HTTP_200_OK,
            headers={"Location": self.reverse_action("detail", args=[job.code])},
        )

    @extend_schema(operation_id="jobs_cancel", request=None, responses={202: serializers.JobSerializer})
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, code: str) -> Response:
        """Cancels the job and what it spawned; a running one stops as soon as its loop looks."""
        return self._change(jobs.cancel_job)

    @extend_schema(operation_id="jobs_retry", request=None, responses={202: serializers.JobSerializer})
    @action(detail=True, methods=["post"])
    def retry(self, request: Request, code: str) -> Response:
        """Queues a failed or cancelled job again; what it finished is kept."""
        return self._change(jobs.retry_job)

    def _change(self, change: Any) -> Response:
        job = self.get_object()
        self._check_permission(job.kind)
        changed = change(job=job, user=self._user(), address=self.request.META.get("REMOTE_ADDR"))
        return Response(self.get_serializer(changed).data, status=status.HTTP_202_ACCEPTED)

    def _check_permission(self, kind: str) -> None:
        """The person's permission is checked by the service; this is about the token's."""
        needed = job_kind(kind).permission
        if needed not in caller_permissions(self.request):
            self.permission_denied(self.request, message=f"This needs the permission {needed}.")

    def _user(self) -> User:
        assert isinstance(self.request.user, User)  # noqa: S101 - MayDo lets nobody else in
        return self.request.user


def _idempotency_key(request: Request) -> str:
    key = request.headers.get("Idempotency-Key")
    if key is not None and not re.fullmatch(IDEMPOTENCY_KEY, key):
        detail = "Must be 1 to 200 printable ASCII characters without spaces."
        raise InvalidInputError(
            f"Idempotency-Key: {detail}", fields=(FieldError("Idempotency-Key", "invalid", detail),)
        )
    return key or ""


class JobEventViewSet(Endpoint, mixins.ListModelMixin, viewsets.GenericViewSet[JobEvent]):
    """What happened to one job, append-only."""

    queryset = JobEvent.objects.order_by("pk")
    serializer_class = serializers.JobEventSerializer
    pagination_class = AppendedPages
    filterset_class = filters.JobEventFilter
    required_permissions: ClassVar = {"list": Permission.VIEW}

    def get_queryset(self) -> QuerySet[JobEvent]:
        """The job's own events.

        Raises:
            NotFound: If there is no such job.
        """
        job = Job.objects.filter(code=self.kwargs["code"]).only("pk").first()
        if job is None:
            raise NotFound(f"No job has the code {self.kwargs['code']}.")
        return super().get_queryset().filter(job=job)

    @extend_schema(parameters=[OpenApiParameter("code", UUID, OpenApiParameter.PATH)])
    def list(self, request: Request, code: UUID) -> Response:
        """The job's log and progress, oldest first."""
        return super().list(request)


@extend_schema_view(retrieve=extend_schema(description="One token."))
class ApiTokenViewSet(Endpoint, mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[ApiToken]):
    """The caller's own tokens. New ones are made in the console: a key that leaked must not make others."""

    queryset = ApiToken.objects.order_by("-id")
    serializer_class = serializers.ApiTokenSerializer
    lookup_field = "code"
    lookup_value_converter = "uuid"
    required_permissions: ClassVar = {
        "list": Permission.VIEW,
        "retrieve": Permission.VIEW,
        "revoke": Permission.VIEW,
    }

    def get_queryset(self) -> QuerySet[ApiToken]:
        """Only the caller's."""
        rows = super().get_queryset()
        return rows.filter(user=self.request.user) if isinstance(self.request.user, User) else rows.none()

    @extend_schema(operation_id="tokens_revoke", request=None, responses=serializers.ApiTokenSerializer)
    @action(detail=True, methods=["post"])
    def revoke(self, request: Request, code: str) -> Response:
        """Revokes the token at once. A token can revoke itself only; a person any of theirs."""
        token = self.get_object()
        if isinstance(request.auth, ApiToken) and request.auth.pk != token.pk:
            self.permission_denied(request, message="A token can only revoke itself; revoke others in Settings.")
        revoked = services.revoke_api_token(user=token.user, code=token.code, address=request.META.get("REMOTE_ADDR"))
        return Response(self.get_serializer(revoked).data)


class MeView(Endpoint, APIView):
    """The person who calls."""

    required_permissions: ClassVar = {"get": Permission.VIEW}

    @extend_schema(operation_id="me_retrieve", responses=serializers.UserSerializer)
    def get(self, request: Request) -> Response:
        """Name, role and what this call may do (a token's scopes cut that down)."""
        assert isinstance(request.user, User)  # noqa: S101 - MayDo lets nobody else in
        data = serializers.UserSerializer(request.user).data
        return Response({**data, "permissions": sorted(caller_permissions(request))})


@extend_schema_view(retrieve=extend_schema(description="One verdict."))
class DecisionViewSet(Endpoint, mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Decision]):
    """People's verdicts, append-only."""

    queryset = Decision.objects.select_related("actor").order_by("pk")
    serializer_class = serializers.DecisionSerializer
    pagination_class = AppendedPages
    filterset_class = filters.DecisionFilter
    lookup_field = "code"
    lookup_value_converter = "uuid"
    required_permissions: ClassVar = {"list": Permission.VIEW, "retrieve": Permission.VIEW}


class AuditEventViewSet(Endpoint, mixins.ListModelMixin, viewsets.GenericViewSet[AuditEvent]):
    """Who changed what, append-only; for admins."""

    queryset = AuditEvent.objects.select_related("actor").order_by("pk")
    serializer_class = serializers.AuditEventSerializer
    pagination_class = AppendedPages
    filterset_class = filters.AuditEventFilter
    required_permissions: ClassVar = {"list": Permission.ADMINISTER}
