"""RFC 9457 problem bodies for every error of the API, from one handler."""

import logging
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpResponse, JsonResponse
from rest_framework import exceptions
from rest_framework.views import exception_handler

from environments.core import errors
from environments.core.errors import FieldError
from environments.core.problems import PROBLEM_TYPE, problem_body

logger = logging.getLogger(__name__)

STATUS_OF_ERROR: dict[type[errors.EnvFactoryError], HTTPStatus] = {
    errors.UnknownJobKindError: HTTPStatus.BAD_REQUEST,
    errors.InvalidInputError: HTTPStatus.BAD_REQUEST,
    errors.InvalidPackError: HTTPStatus.BAD_REQUEST,
    errors.UnreadableSourceError: HTTPStatus.BAD_REQUEST,
    errors.FetchRefusedError: HTTPStatus.BAD_REQUEST,
    errors.PermissionDeniedError: HTTPStatus.FORBIDDEN,
    errors.StaleStateError: HTTPStatus.CONFLICT,
    errors.NotVerifiedError: HTTPStatus.CONFLICT,
    errors.SessionClosedError: HTTPStatus.CONFLICT,
    errors.SessionLeasedError: HTTPStatus.CONFLICT,
    errors.ReplayDiffersError: HTTPStatus.CONFLICT,
    errors.QuotaExceededError: HTTPStatus.TOO_MANY_REQUESTS,
    errors.SandboxFailedError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.IdempotencyConflictError: HTTPStatus.CONFLICT,
    errors.TransientError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.FetchFailedError: HTTPStatus.SERVICE_UNAVAILABLE,
}
"""The HTTP status of each domain error; one that is not here is a bug and becomes a 500."""


def problem_handler(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """The problem response, or None for a bug, which Django then reports as a 500."""
    instance = context["request"].path
    if isinstance(error, errors.EnvFactoryError) and type(error) in STATUS_OF_ERROR:
        return _response(STATUS_OF_ERROR[type(error)], error.code, str(error), instance, error.fields)
    if isinstance(error, OperationalError | InterfaceError):
        # The log has what happened; the caller need only know that it passes.
        logger.error("event=database_unavailable error=%s", error)
        detail = "The database can't be reached; try again in a few seconds."
        unavailable = _response(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", detail, instance, ())
        unavailable["Retry-After"] = "5"
        return unavailable
    response = exception_handler(error, context)
    if response is None:
        return None
    code, fields = _code_and_fields(error)
    detail = fields[0].detail if len(fields) == 1 else _sentence(error, len(fields))
    problem = _response(HTTPStatus(response.status_code), code, detail, instance, fields)
    for name in ("WWW-Authenticate", "Retry-After", "Allow"):
        if response.has_header(name):
            problem[name] = response[name]
    return problem


def _code_and_fields(error: Exception) -> tuple[str, Sequence[FieldError]]:
    if isinstance(error, Http404):
        return "not_found", []
    if isinstance(error, PermissionDenied):
        return "permission_denied", []
    assert isinstance(error, exceptions.APIException)  # noqa: S101 - DRF's handler takes nothing else
    if isinstance(error, exceptions.ValidationError):
        return "invalid_input", list(_faults(error.detail, ""))
    codes = error.get_codes()
    return codes if isinstance(codes, str) else error.default_code, []


def _faults(detail: Any, pointer: str) -> Iterator[FieldError]:
    if isinstance(detail, dict):
        for name, inner in detail.items():
            step = str(name).replace("~", "~0").replace("/", "~1")
            own = pointer if name == "non_field_errors" else f"{pointer}/{step}"
            yield from _faults(inner, own)
    elif isinstance(detail, list):
        for position, inner in enumerate(detail):
            is_leaf = isinstance(inner, exceptions.ErrorDetail)
            yield from _faults(inner, pointer if is_leaf else f"{pointer}/{position}")
    else:
        yield FieldError(pointer, getattr(detail, "code", "invalid"), str(detail))


def _sentence(error: Exception, num_fields: int) -> str:
    if num_fields:
        return f"{num_fields} fields are not as they must be."
    detail = getattr(error, "detail", None)
    return str(detail) if detail is not None else str(error) or "Not found."


def _response(status: HTTPStatus, code: str, detail: str, instance: str, fields: Sequence[FieldError]) -> HttpResponse:
    # Not DRF's Response: that renders as the caller accepts, and a problem is JSON even where the answer is not.
    body = problem_body(status, code=code, detail=detail, instance=instance, fields=fields)
    return JsonResponse(body, status=int(status), content_type=PROBLEM_TYPE)
