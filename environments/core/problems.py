"""The body of an RFC 9457 problem, the one form of every error of the API."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from environments.core.errors import FieldError

PROBLEM_TYPE = "application/problem+json"


def problem_body(
    status: HTTPStatus, *, code: str, detail: str, instance: str, fields: Sequence[FieldError] = ()
) -> dict[str, Any]:
    """The problem as JSON-ready values.

    Args:
        status: HTTP status.
        code: Stable name of the error; its help is at the address in `type`.
        detail: What happened and what to do, for people.
        instance: Path of the request.
        fields: The faults of single fields.
    """
    return {
        "type": f"/help/errors/#{code}",
        "title": status.phrase,
        "status": int(status),
        "detail": detail,
        "instance": instance,
        "code": code,
        "errors": [{"pointer": field.pointer, "code": field.code, "detail": field.detail} for field in fields],
    }
