"""Pages of lists: numbered where rows can be counted, a cursor where they are only ever appended."""

import re
from typing import Any

from rest_framework.exceptions import NotFound
from rest_framework.pagination import Cursor, CursorPagination, PageNumberPagination
from rest_framework.request import Request

from environments.api.endpoint import invalid_parameter
from environments.models import LatePaginator

MAX_PAGE = 2**31 - 1
_LINK = {"type": ["string", "null"], "format": "uri"}


class NumberedPages(PageNumberPagination):
    """`?page=2&page_size=100`, with the count of all rows."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500
    django_paginator_class = LatePaginator
    invalid_page_message = "The list has no such page."

    def get_page_size(self, request: Request) -> int:
        """Rows on a page."""
        return _whole_number(request, "page_size", default=self.page_size, maximum=self.max_page_size)

    def get_page_number(self, request: Request, paginator: Any) -> int:
        """The page asked for."""
        return _whole_number(request, "page", default=1, maximum=MAX_PAGE)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """The parameters, for the OpenAPI description and for the check of names."""
        return [
            _parameter("page", "Number of the page, from 1; 404 behind the last.", 1, MAX_PAGE),
            _parameter("page_size", "Rows on a page.", self.page_size, self.max_page_size),
        ]

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The page, for the OpenAPI description."""
        return _page_schema(schema, {"count": {"type": "integer", "minimum": 0, "description": "Rows on all pages."}})


class AppendedPages(CursorPagination):
    """`?cursor=…&page_size=100`, oldest first; stays right while rows are appended."""

    page_size = 100
    page_size_query_param = "page_size"
    max_page_size = 1000
    ordering = "pk"

    def get_page_size(self, request: Request) -> int:
        """Rows on a page."""
        return _whole_number(request, "page_size", default=self.page_size, maximum=self.max_page_size)

    def decode_cursor(self, request: Request) -> Cursor | None:
        """The place in the list that a `next` or `previous` link points to.

        Raises:
            InvalidInputError: If it is none of ours. DRF passes any text on to the database.
        """
        try:
            cursor = super().decode_cursor(request)
        except NotFound as error:
            raise _not_a_cursor() from error
        position = cursor.position if cursor else None
        if position is not None and not re.fullmatch(r"[0-9]{1,18}", str(position)):
            raise _not_a_cursor()
        return cursor

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """The parameters, for the OpenAPI description and for the check of names."""
        words = "Place in the list; take it from the links `next` and `previous`."
        cursor = {"name": "cursor", "required": False, "in": "query", "description": words}
        return [
            # Only links of this server hold valid ones, so no pattern could describe them.
            {**cursor, "schema": {"type": "string", "minLength": 1}},
            _parameter("page_size", "Rows on a page.", self.page_size, self.max_page_size),
        ]

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The page, for the OpenAPI description."""
        return _page_schema(schema, {})


def _whole_number(request: Request, name: str, *, default: int, maximum: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,10}", text) or not 1 <= int(text) <= maximum:
        raise invalid_parameter(name, "invalid", f"Must be a whole number from 1 to {maximum}.")
    return int(text)


def _not_a_cursor() -> Exception:
    return invalid_parameter("cursor", "invalid", "Take the cursor from the links next and previous.")


def _parameter(name: str, words: str, default: int, maximum: int) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": 1, "maximum": maximum, "default": default}
    return {"name": name, "required": False, "in": "query", "description": words, "schema": schema}


def _page_schema(rows: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    properties = {**more, "next": _LINK, "previous": _LINK, "results": rows}
    return {"type": "object", "required": list(properties), "properties": properties}
