"""Sessions over the API: rows that any process serves, each request from the stored state to the stored state."""

# mypy: disable-error-code="misc"
# django-filter has no types, and strict mode allows no class below an untyped one.

from typing import Any, ClassVar, Final
from uuid import UUID

from django import forms
from django.db.models import F, QuerySet
from django.http import HttpResponse
from django_filters import rest_framework as filters
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_field,
    extend_schema_view,
)
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from environments import services
from environments.api import session_serializers as shapes
from environments.api.endpoint import Endpoint, invalid_parameter
from environments.api.filters import OneOfFilter, TextFilter, TrueOrFalseFilter
from environments.api.pagination import AppendedPages
from environments.api.parsers import ExactJSONParser
from environments.api.throttling import CallThrottle
from environments.core.access import Permission
from environments.models import ApiToken, EnvironmentSession, Tool, ToolCall, User
from environments.models.fields import exact_json
from environments.runtime.net_changes import change_to_json
from environments.runtime.records import CallRecord
from environments.runtime.transcripts import record_to_json

MAX_COUNT: Final = shapes.MAX_COUNT
AUDIENCES: Final = [audience.value for audience in Tool.Audience]
_TABLE: Final = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"


class SessionFilter(filters.FilterSet):
    """Which sessions."""

    status = OneOfFilter(choices=EnvironmentSession.Status.choices)
    environment = TextFilter(field_name="version__environment__name")

    class Meta:
        model = EnvironmentSession
        fields: ClassVar[list[str]] = []


@extend_schema_field({"type": "integer", "minimum": 0, "maximum": MAX_COUNT})
class EpisodeFilter(filters.Filter):
    """One episode by its number; the one in hand unless it is given."""

    field_class = forms.IntegerField

    def __init__(self) -> None:
        super().__init__(min_value=0, max_value=MAX_COUNT, label="Number of the episode; the one in hand by default.")


class CallPages(AppendedPages):
    """Calls by their place in the episode."""

    ordering = "index"
    max_page_size = 256


_WHOLE: Final[dict[str, Any]] = {"pagination_class": None, "filterset_class": None}
"""What makes an action of a list one answer."""
_LOCATION: Final = OpenApiParameter(
    "Location", {"type": "string", "format": "uri"}, OpenApiParameter.HEADER, description="Address of the session.",
    response=[201],
)  # fmt: skip
_CREATED: Final = {201: OpenApiResponse(shapes.SessionSerializer, "The session, open.")}
_STATE_SCHEMA: Final = {
    "type": "object",
    "additionalProperties": {"type": "array", "items": {"type": "object"}},
    "description": "Rows by table, by primary key.",
}


class _OfCaller(Endpoint):
    """Mixin of views of the caller's own sessions."""

    parser_classes = (ExactJSONParser,)
    request: Request
    kwargs: dict[str, Any]

    def _session(self) -> EnvironmentSession:
        """The session in the address; another person's is as good as none."""
        session = services.find_session_to_play(user=self._user(), code=self.kwargs["code"])
        if session is None:
            raise NotFound(f"You have no session with the code {self.kwargs['code']}.")
        return session

    def _given(self, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        given = serializer(data=self.request.data)
        given.is_valid(raise_exception=True)
        values: dict[str, Any] = given.validated_data
        return values

    def _user(self) -> User:
        assert isinstance(self.request.user, User)  # noqa: S101 - MayDo lets nobody else in
        return self.request.user


@extend_schema_view(
    list=extend_schema(description="The caller's own sessions, newest first."),
    retrieve=extend_schema(description="One of the caller's own sessions."),
)
class SessionViewSet(
    _OfCaller, mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[EnvironmentSession]
):
    """States of environments that calls change. Everybody sees their own; another's is not found, whatever is asked."""

    queryset = EnvironmentSession.objects.for_list().annotate(forked_from_code=F("forked_from__code")).order_by("-id")
    serializer_class = shapes.SessionSerializer
    filterset_class = SessionFilter
    lookup_field = "code"
    lookup_value_converter = "uuid"
    required_permissions: ClassVar = {
        "list": Permission.VIEW,
        "retrieve": Permission.VIEW,
        "state": Permission.VIEW,
        "diff": Permission.VIEW,
        "diff_since": Permission.VIEW,
        "snapshot": Permission.VIEW,
        "transcript": Permission.VIEW,
        "tools": Permission.VIEW,
        "create": Permission.OPEN_SESSIONS,
        "call": Permission.OPEN_SESSIONS,
        "restore": Permission.OPEN_SESSIONS,
        "reset": Permission.OPEN_SESSIONS,
        "fork": Permission.OPEN_SESSIONS,
        "close": Permission.OPEN_SESSIONS,
    }

    parameters: ClassVar = {"state": ("table",), "tools": ("audience",)}

    def get_queryset(self) -> QuerySet[EnvironmentSession]:
        """Only the caller's."""
        return super().get_queryset().filter(user=self._user())

    def _known_parameters(self) -> dict[str, bool]:
        named = dict.fromkeys(self.parameters.get(self.action, ()), False)
        return super()._known_parameters() | named

    @extend_schema(request=shapes.NewSessionSerializer, responses=_CREATED, parameters=[_LOCATION])
    def create(self, request: Request) -> Response:
        """Opens a session on an environment's newest verified version, or on the version given."""
        given = self._given(shapes.NewSessionSerializer)
        session = services.create_session(
            user=self._user(),
            token=_token(request),
            version=services.find_version(environment=given.get("environment"), version=given.get("version")),
            scenario=given["scenario"],
            seed=given["seed"],
            title=given["title"],
        )
        return self._created(session)

    # What changes it

    @extend_schema(
        operation_id="sessions_call", request=shapes.CallSerializer, responses={200: shapes.CallRecordSerializer}
    )
    @action(detail=True, methods=["post"], throttle_classes=[CallThrottle])
    def call(self, request: Request, code: UUID) -> HttpResponse:
        """Makes one call. Whatever it came to is a record; it is stored before it is answered."""
        given = self._given(shapes.CallSerializer)
        records = services.call_session(
            session=self._session(), calls=[(given["tool"], given["arguments"])], audience=given["audience"]
        )
        return _json(_record(records[0]))

    @extend_schema(
        operation_id="sessions_restore", request=shapes.SnapshotSerializer, responses={200: shapes.SessionSerializer}
    )
    @action(detail=True, methods=["post"])
    def restore(self, request: Request, code: UUID) -> Response:
        """Goes on from a snapshot of the same version in a new episode; earlier calls can still be read."""
        session = self._session()
        services.restore_snapshot(session=session, snapshot=self._given(shapes.SnapshotSerializer)["snapshot"])
        return Response(self._shown(session))

    @extend_schema(
        operation_id="sessions_reset", request=shapes.ResetSerializer, responses={200: shapes.SessionSerializer}
    )
    @action(detail=True, methods=["post"])
    def reset(self, request: Request, code: UUID) -> Response:
        """Starts anew at a scenario in a new episode; earlier calls can still be read."""
        session, given = self._session(), self._given(shapes.ResetSerializer)
        services.reset_session(session=session, scenario=given.get("scenario"), seed=given["seed"])
        return Response(self._shown(session))

    @extend_schema(
        operation_id="sessions_fork", request=shapes.ForkSerializer, responses=_CREATED, parameters=[_LOCATION]
    )
    @action(detail=True, methods=["post"])
    def fork(self, request: Request, code: UUID) -> Response:
        """A second session with the first calls of this one; from here on they never see one another."""
        session, given = self._session(), self._given(shapes.ForkSerializer)
        forked = services.fork_session(
            session=session, user=self._user(), token=_token(request), at=given["at"], title=given["title"]
        )
        return self._created(forked)

    @extend_schema(operation_id="sessions_close", request=None, responses={200: shapes.SessionSerializer})
    @action(detail=True, methods=["post"])
    def close(self, request: Request, code: UUID) -> Response:
        """Ends it at once, also for an agent; its transcript stays readable. Closing twice is harmless."""
        session = self._session()
        services.close_session(session=session)
        return Response(self._shown(session))

    # What reads it

    @extend_schema(
        operation_id="sessions_state",
        parameters=[OpenApiParameter("table", {"type": "string", "pattern": _TABLE}, description="Only this table.")],
        responses={200: OpenApiResponse(_STATE_SCHEMA, "The rows.")},
    )
    @action(detail=True, methods=["get"])
    def state(self, request: Request, code: UUID) -> HttpResponse:
        """Every row of every table, as stored last."""
        rows = services.session_state(session=self._session())
        table = request.query_params.get("table")
        if table is not None and table not in rows:
            raise invalid_parameter("table", "unknown", f"Its tables: {', '.join(rows)}.")
        return _json(rows if table is None else {table: rows[table]})

    @extend_schema(operation_id="sessions_diff", responses={200: shapes.RowChangeSerializer(many=True)})
    @action(detail=True, methods=["get"], **_WHOLE)
    def diff(self, request: Request, code: UUID) -> HttpResponse:
        """Net changes since the scenario, by table and key."""
        return self._diff(None)

    @extend_schema(
        operation_id="sessions_diff_since",
        request=shapes.DiffSerializer,
        responses={200: shapes.RowChangeSerializer(many=True)},
    )
    @diff.mapping.post
    def diff_since(self, request: Request, code: UUID) -> HttpResponse:
        """Net changes since a snapshot of the same start, by table and key."""
        return self._diff(self._given(shapes.DiffSerializer)["since"])

    @extend_schema(operation_id="sessions_snapshot", responses={200: shapes.SnapshotSerializer})
    @action(detail=True, methods=["get"])
    def snapshot(self, request: Request, code: UUID) -> HttpResponse:
        """State, clock, id counters and call count as one text; any session of the same version goes on from it."""
        return _json({"snapshot": services.session_snapshot(session=self._session())})

    @extend_schema(
        operation_id="sessions_transcript",
        responses={200: OpenApiResponse({"type": "object"}, "The file, `format` is `envfactory-transcript/1`.")},
        parameters=[
            OpenApiParameter(
                "Content-Disposition", str, OpenApiParameter.HEADER, response=[200], description="A name for the file."
            )
        ],
    )
    @action(detail=True, methods=["get"])
    def transcript(self, request: Request, code: UUID) -> HttpResponse:
        """The calls of the episode in hand as a file: enough to play them again, byte for byte, in any process."""
        session = self._session()
        response = HttpResponse(services.session_transcript(session=session), content_type="application/json")
        response["Content-Disposition"] = f'attachment; filename="{session.code}.transcript.json"'
        return response

    @extend_schema(
        operation_id="sessions_tools",
        parameters=[
            OpenApiParameter(
                "audience", {"type": "string", "enum": AUDIENCES, "default": "agent"}, description="Whose tools."
            )
        ],
        responses={200: shapes.ToolSchemaSerializer(many=True)},
    )
    @action(detail=True, methods=["get"], **_WHOLE)
    def tools(self, request: Request, code: UUID) -> HttpResponse:
        """The tools as OpenAI function schemas, for `tools` of a chat completion."""
        audience: Any = request.query_params.get("audience", "agent")
        if audience not in AUDIENCES:
            raise invalid_parameter("audience", "invalid_choice", f"One of {', '.join(AUDIENCES)}.")
        return _json(services.environment_of(self._session().version).tools(audience))

    # Inside

    def _diff(self, since: str | None) -> HttpResponse:
        changes = services.session_diff(session=self._session(), since=since)
        return _json([change_to_json(change) for change in changes])

    def _shown(self, session: EnvironmentSession) -> dict[str, Any]:
        shown: dict[str, Any] = self.get_serializer(self.get_queryset().get(pk=session.pk)).data
        return shown

    def _created(self, session: EnvironmentSession) -> Response:
        return Response(
            self._shown(session),
            status=status.HTTP_201_CREATED,
            headers={"Location": self.reverse_action("detail", args=[session.code])},
        )


class CallFilter(filters.FilterSet):
    """Which calls, and whether with what they changed."""

    episode = EpisodeFilter()
    changes = TrueOrFalseFilter(method="with_changes", label="Whether with the rows that each changed.")

    class Meta:
        model = ToolCall
        fields: ClassVar[list[str]] = []

    def with_changes(self, rows: QuerySet[ToolCall], name: str, value: bool) -> QuerySet[ToolCall]:
        """The same rows; `SessionCallViewSet` leaves the column out unless it is asked for."""
        return rows.defer(None) if value else rows


@extend_schema(parameters=[OpenApiParameter("code", UUID, OpenApiParameter.PATH)])
class SessionCallViewSet(_OfCaller, mixins.ListModelMixin, viewsets.GenericViewSet[ToolCall]):
    """The calls of one session, append-only."""

    queryset = ToolCall.objects.defer("changes")
    throttle_classes = (CallThrottle,)
    serializer_class = shapes.ToolCallSerializer
    filterset_class = CallFilter
    required_permissions: ClassVar = {"list": Permission.VIEW, "create": Permission.OPEN_SESSIONS}

    @property
    def pagination_class(self) -> type[CallPages] | None:  # type: ignore[override]  # DRF only reads it
        """Pages for what is read only: a batch is answered whole."""
        return CallPages if self.action == "list" else None

    def get_queryset(self) -> QuerySet[ToolCall]:
        """The session's own; of the episode in hand unless another is asked for."""
        session = self._session()
        rows = super().get_queryset().filter(session=session)
        return rows if "episode" in self.request.query_params else rows.filter(episode=session.episode)

    def list(self, request: Request, code: UUID) -> Response:
        """Recorded calls of one episode, oldest first."""
        return super().list(request)

    @extend_schema(
        operation_id="sessions_call_many",
        request=shapes.CallsSerializer,
        responses={200: shapes.CallRecordSerializer(many=True)},
        filters=False,
    )
    def create(self, request: Request, code: UUID) -> HttpResponse:
        """Makes up to 256 calls in order; either all are stored or, when the answer is an error, none."""
        session, given = self._session(), self._given(shapes.CallsSerializer)
        records = services.call_session(session=session, calls=given["calls"], audience=given["audience"])
        return _json([_record(record) for record in records])


def _token(request: Request) -> ApiToken | None:
    return request.auth if isinstance(request.auth, ApiToken) else None


def _record(record: CallRecord) -> dict[str, Any]:
    return {**record_to_json(record), "microseconds": record.microseconds}


def _json(value: Any) -> HttpResponse:
    """Written at once and exactly: DRF's renderer takes a millisecond for a batch."""
    return HttpResponse(exact_json(value), content_type="application/json")
