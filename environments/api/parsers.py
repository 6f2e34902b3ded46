"""Reading request bodies."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from django.conf import settings
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser

from environments.core.jobs import unstorable_strings

MAX_DEPTH = 64


class PayloadTooLarge(APIException):
    """A body above the limit."""

    status_code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    default_code = "payload_too_large"


class StrictJSONParser(BaseParser):
    """RFC 8259 JSON: no NaN, no lone surrogates; and no NUL character, which PostgreSQL can't keep."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        """Returns the value of the body.

        Raises:
            PayloadTooLarge: If the body is longer than `DATA_UPLOAD_MAX_MEMORY_SIZE`, which Django applies to forms.
            ParseError: If the body is not such JSON, or nested deeper than any parameter needs.
        """
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise PayloadTooLarge(f"The body has more than {limit} bytes.")
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ParseError(f"The body is not JSON: {error}") from error
        if _is_deeper_than(value, MAX_DEPTH):
            raise ParseError(f"The body is nested more than {MAX_DEPTH} deep.")
        if unstorable_strings(value):
            raise ParseError("The body holds a NUL character.")
        return value


def _is_deeper_than(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True
