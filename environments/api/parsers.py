"""Reading request bodies."""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from django.conf import settings
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser

from environments.core.jobs import unstorable_strings
from environments.runtime.pack.limits import MAX_ZIP_BYTES

MAX_DEPTH = 64
_LONG_INTEGER = re.compile(rb"\d{19}")


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
        body = _read(stream, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        try:
            value = self.decode(body)
        except orjson.JSONDecodeError as error:
            raise ParseError(f"The body is not JSON: {error}") from error
        if _is_deeper_than(value, MAX_DEPTH):
            raise ParseError(f"The body is nested more than {MAX_DEPTH} deep.")
        # In JSON a NUL can only be written so, and halves of surrogate pairs were refused: most bodies need no walk.
        if b"\\u0000" in body and unstorable_strings(value):
            raise ParseError("The body holds a NUL character.")
        return value

    def decode(self, body: bytes) -> Any:
        """The value of JSON text."""
        return orjson.loads(body)


class ExactJSONParser(StrictJSONParser):
    """Integers of any length stay integers: arguments must reach a tool's schema, and its record, as they were sent."""

    def decode(self, body: bytes) -> Any:
        """The value of JSON text; orjson reads integers beyond 64 bits as floats."""
        value = super().decode(body)
        return json.loads(body) if _LONG_INTEGER.search(body) else value


class ZipParser(BaseParser):
    """The bytes of a pack's zip; what they hold is for the import to judge."""

    media_type = "application/zip"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        """Returns the body as bytes.

        Raises:
            PayloadTooLarge: If the body is longer than a pack's zip may be.
        """
        return _read(stream, MAX_ZIP_BYTES)


class DocumentParser(BaseParser):
    """The bytes of a document, whatever it is; what they hold is for the readers to judge."""

    media_type = "application/octet-stream"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        """Returns the body as bytes.

        Raises:
            PayloadTooLarge: If the body is longer than `FETCH_MAX_MEGABYTES`.
        """
        return _read(stream, settings.FETCH_MAX_MEGABYTES << 20)


class JSONDocumentParser(DocumentParser):
    """A JSON document, unparsed."""

    media_type = "application/json"


class YAMLDocumentParser(DocumentParser):
    """A YAML document, unparsed."""

    media_type = "application/yaml"


class TextDocumentParser(DocumentParser):
    """Markdown, HTML, Python or any other text, unparsed."""

    media_type = "text/*"


def _read(stream: Any, limit: int) -> bytes:
    body: bytes = stream.read(limit + 1)
    if len(body) > limit:
        raise PayloadTooLarge(f"The body has more than {limit} bytes.")
    return body


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
