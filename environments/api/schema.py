"""The OpenAPI description beyond what the views say: problem bodies, the event stream, parameters of each job kind."""

from collections.abc import Iterator
from typing import Any, Final

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension

from environments.api.filters import MAX_ID, NOT_BLANK
from environments.api.registry_serializers import MAX_NOTE, REASONS, VERDICTS
from environments.core.jobs import job_kinds
from environments.core.problems import PROBLEM_TYPE
from environments.models import Decision
from environments.services.review import OTHER

SECURITY: Final[list[dict[str, list[str]]]] = [{"token": []}, {"session": []}]
SESSION_PATH: Final = "/api/v1/sessions/{code}/"
STREAM_PATH: Final = "/api/v1/jobs/{code}/stream/"
_TEXT: Final = {"type": "string"}

FIELD_PROBLEM: Final = {
    "type": "object",
    "description": "One fault of one field.",
    "properties": {
        "pointer": {
            "type": "string",
            "description": "JSON pointer into the body (`/parameters/count`), `?name` for a query parameter, "
            "or the name of a header.",
        },
        "code": {"type": "string", "description": "Stable name of the fault."},
        "detail": _TEXT,
    },
    "required": ["pointer", "code", "detail"],
}
PROBLEM: Final = {
    "type": "object",
    "description": "RFC 9457 problem details: the body of every error.",
    "properties": {
        "type": {"type": "string", "format": "uri-reference", "description": "Page that describes the code."},
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What happened and what to do."},
        "instance": {"type": "string", "description": "Path of the request."},
        "code": {"type": "string", "description": "Stable name of the error."},
        "errors": {"type": "array", "items": {"$ref": "#/components/schemas/FieldProblem"}},
    },
    "required": ["type", "title", "status", "detail", "instance", "code", "errors"],
    "example": {
        "type": "/help/errors/#invalid_input",
        "title": "Bad Request",
        "status": 400,
        "detail": "The parameters of seed_load do not fit its schema.",
        "instance": "/api/v1/jobs/",
        "code": "invalid_input",
        "errors": [{"pointer": "/parameters/count", "code": "invalid", "detail": "0 is less than the minimum of 1"}],
    },
}
PROBLEMS: Final = {
    "400": ("BadRequest", "A field, parameter or header is not as it must be; `errors` names it."),
    "401": ("Unauthorized", "No token or session, or one that is not accepted."),
    "403": ("Forbidden", "The role or the token's scopes do not allow it, or the CSRF token of a session is missing."),
    "404": ("NotFound", "Nothing has this code, or the page is behind the last."),
    "406": ("NotAcceptable", "`Accept` leaves out what the operation sends: JSON, or a file's bytes."),
    "409": ("Conflict", "The present state, or an earlier use of the idempotency key, does not allow it."),
    "413": ("PayloadTooLarge", "The body is longer than 2 MiB, a pack's zip than 16 MiB, a document than is set."),
    "415": (
        "UnsupportedMediaType",
        "The body is not `application/json`, for a pack `application/zip`, or for a document JSON, YAML or text.",
    ),
    "429": ("TooManyRequests", "Too many requests (`Retry-After` says when to go on), or more than a quota allows."),
    "503": ("Unavailable", "A locked worker can't be had, or the database can't; try again a little later."),
}
HEADERS: Final = {
    "401": {"WWW-Authenticate": {"schema": _TEXT, "required": True}},
    "429": {"Retry-After": {"schema": {"type": "integer", "description": "Seconds."}}},
}


def add_problems(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Spectacular's hook: gives each operation the problem responses that the one error handler can send."""
    components = result["components"]
    components["schemas"] |= {"FieldProblem": FIELD_PROBLEM, "Problem": PROBLEM}
    components["responses"] = {name: _problem_response(status, words) for status, (name, words) in PROBLEMS.items()}
    for path, methods in result["paths"].items():
        for method, operation in methods.items():
            if "requestBody" in operation:
                operation["requestBody"]["required"] = True
            problems = {status: _reference(status) for status in _problem_statuses(path, method, operation)}
            operation["responses"] = dict(sorted((problems | operation["responses"]).items()))
    return result


def _reference(status: str) -> dict[str, str]:
    return {"$ref": f"#/components/responses/{PROBLEMS[status][0]}"}


def _problem_statuses(path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    yield from ("400", "401", "403", "429")
    if path != STREAM_PATH:
        yield "406"
    names = {parameter["name"] for parameter in operation.get("parameters", [])}
    if "{" in path or "page" in names:
        yield "404"
    plays = path.startswith(SESSION_PATH)
    if method == "post" or plays:
        yield "409"
    if plays:
        yield "503"
    if "requestBody" in operation:
        yield from ("413", "415")


def _problem_response(status: str, words: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    response = {"description": words, "content": {PROBLEM_TYPE: {"schema": schema}}}
    return response | ({"headers": HEADERS[status]} if status in HEADERS else {})


def add_event_stream(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Spectacular's hook: describes the stream of events, a plain view that spectacular does not see."""
    event_id = {"type": "integer", "minimum": 0, "maximum": MAX_ID}
    resume = "Resumes behind this event; the header counts if both are given."
    result["paths"][STREAM_PATH] = {
        "get": {
            "operationId": "jobs_stream",
            "description": "The job's events as they come, as server-sent events: `id` is the event's id, `event` its "
            "kind, `data` the JSON of a JobEvent. Stored events come first, each once. When the job has ended, a last "
            "`event: done` follows and the stream closes; until then a comment every 15 seconds keeps it open. "
            "OpenAPI has no way to describe single events, so the schema below is that of the whole text.",
            "parameters": [
                {"in": "path", "name": "code", "schema": {"type": "string", "format": "uuid"}, "required": True},
                {"in": "header", "name": "Last-Event-ID", "schema": event_id, "description": resume},
                {"in": "query", "name": "after", "schema": event_id, "description": resume},
            ],
            "tags": ["jobs"],
            "security": SECURITY,
            "responses": {
                "200": {
                    "description": "The events, until the job ends.",
                    "content": {
                        "text/event-stream": {
                            "schema": _TEXT,
                            "example": 'id: 7\nevent: stage\ndata: {"id": 7, "kind": "stage", "stage": "rows", '
                            '"data": {"done": 0, "total": 100}, …}\n\nevent: done\ndata: {}\n\n',
                        }
                    },
                }
            },
        }
    }
    return result


class JobSubmissionExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """One alternative for each kind that people may start, with the schema of its parameters."""

    target_class = "environments.api.serializers.JobSubmissionSerializer"

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        """The OpenAPI schema, made from the registered kinds."""
        return {
            "description": "What a caller sends to start a job: the kind and its parameters.",
            "oneOf": [
                {
                    "type": "object",
                    "title": kind.name,
                    "description": kind.description,
                    "properties": {
                        "kind": {"type": "string", "const": kind.name},
                        "parameters": dict(kind.parameters),
                    },
                    "required": ["kind", *(["parameters"] if kind.parameters.get("required") else [])],
                    "additionalProperties": False,
                }
                for kind in job_kinds()
                if kind.is_startable
            ],
        }


class VersionDecisionExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Two alternatives: only a rejection must give a reason; and `other` needs a note, whatever the verdict."""

    target_class = "environments.api.registry_serializers.VersionDecisionSerializer"

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        """The OpenAPI schema."""
        others = [verdict for verdict in VERDICTS if verdict != Decision.Verdict.REJECT]
        return {
            "description": "What a caller sends to decide about a version.",
            "oneOf": [
                _decision("Rejection", {"type": "string", "const": Decision.Verdict.REJECT.value}, min_reasons=1),
                _decision("Other decision", {"type": "string", "enum": others}, min_reasons=0),
            ],
            "anyOf": [
                {
                    "title": "Reasons that need no note",
                    "properties": {"reason_codes": {"not": {"contains": {"const": OTHER}}}},
                },
                {"title": "With a note", "properties": {"note": {"pattern": NOT_BLANK}}, "required": ["note"]},
            ],
        }


def _decision(title: str, verdict: dict[str, Any], *, min_reasons: int) -> dict[str, Any]:
    codes = {"type": "string", "enum": REASONS}
    reasons = {"type": "array", "items": codes, "minItems": min_reasons, "maxItems": len(REASONS)}
    note = {"type": "string", "maxLength": MAX_NOTE, "pattern": r"^[^\u0000]*$"}
    return {
        "type": "object",
        "title": title,
        "properties": {"verdict": verdict, "reason_codes": reasons, "note": note},
        "required": ["verdict", *(["reason_codes"] if min_reasons else [])],
        "additionalProperties": False,
    }


class NewSessionExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Says that the environment or the version is given, and not both."""

    target_class = "environments.api.session_serializers.NewSessionSerializer"

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        """The OpenAPI schema."""
        mapped: dict[str, Any] = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {**mapped, "oneOf": [{"required": ["environment"]}, {"required": ["version"]}]}


class NewSourceExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Says that an address or a server is given, and not both."""

    target_class = "environments.api.source_serializers.NewSourceSerializer"

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        """The OpenAPI schema."""
        mapped: dict[str, Any] = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        one = [{"required": ["address"]}, {"required": ["server"]}]
        return {**mapped, "oneOf": one, "additionalProperties": False}


class AllowExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Says that other fields are refused."""

    target_class = "environments.api.source_serializers.AllowSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        """The OpenAPI schema."""
        mapped: dict[str, Any] = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {**mapped, "additionalProperties": False}


class ApiTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes the bearer token."""

    target_class = "environments.api.authentication.ApiTokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """The OpenAPI security scheme."""
        return {"type": "http", "scheme": "bearer", "description": "An API token, made in the console's Settings."}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes the console's session."""

    target_class = "environments.api.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """The OpenAPI security scheme."""
        words = "The console's session; changes also need its CSRF token in `X-CSRFToken`."
        return {"type": "apiKey", "in": "cookie", "name": "sessionid", "description": words}
