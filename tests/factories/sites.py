"""A site on this machine that holds documents, as tests of imports need it."""

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from tests.environments.adapters.loopback import Loopback, answer, path_of
from tests.factories.sources import PETS

Page = bytes | Callable[[], bytes]


class Site:
    """Pages by path; a page is a body, or a function that gives a whole answer."""

    def __init__(self, server: Loopback) -> None:
        self.server = server
        self.pages: dict[str, Page] = {}
        self.asked: list[str] = []

    def address(self, path: str) -> str:
        return self.server.address(path)

    def put(self, path: str, value: Any) -> str:
        """Adds a page of JSON and gives its address."""
        self.pages[path] = value if isinstance(value, bytes) else orjson.dumps(value)
        return self.address(path)

    def put_list(self, path: str, documents: dict[str, str]) -> str:
        """Adds a list of APIs in the form of APIs.guru, of names and the paths of their documents."""
        return self.put(path, {
            name: {"preferred": "1", "versions": {"1": {"swaggerUrl": self.address(place)}}}
            for name, place in documents.items()
        })  # fmt: skip


@contextlib.contextmanager
def open_site() -> Iterator[Site]:
    """A site until the end of the block."""

    def handle(connection: Any, head: bytes) -> None:
        path = path_of(head)
        site.asked.append(path)
        page = site.pages.get(path)
        if page is None:
            connection.sendall(answer(b"", "404 Not Found"))
        elif callable(page):
            connection.sendall(page())
        else:
            connection.sendall(answer(page, headers=("Content-Type: application/json",)))

    with Loopback(handle) as server:
        site = Site(server)
        yield site


def api(title: str, noun: str = "pet", num_operations: int = 4) -> dict[str, Any]:
    """An OpenAPI document about something, with as many operations as asked for."""
    document = copy.deepcopy(PETS)
    document["info"]["title"] = title
    schema = document["components"]["schemas"]["Pet"]
    document["paths"] = {
        f"/{noun}s/{place}/{{id}}": {"get": {
            "operationId": f"get{noun.title()}{place}",
            "summary": f"Gives the {noun} of shelf {place}",
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "responses": {"200": {"description": "ok", "content": {"application/json": {"schema": schema}}}},
        }}
        for place in range(num_operations)
    }  # fmt: skip
    return document
