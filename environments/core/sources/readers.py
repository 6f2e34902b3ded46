"""Every reader, and which one a document is for."""

from typing import Final

from environments.core.errors import UnreadableSourceError
from environments.core.sources.model import Document, Fetched, SourceKind, SourceReader
from environments.core.sources.openapi import OpenApiReader
from environments.core.sources.tool_lists import McpServerReader, ToolListReader
from environments.core.sources.web_pages import WebPageReader

READER_VERSION: Final = "1"
"""Raised whenever a reader reads something else than before; stored bytes can then be read again."""

READERS: Final[tuple[SourceReader, ...]] = (OpenApiReader(), McpServerReader(), ToolListReader(), WebPageReader())
"""In the order in which they are asked: the strictest first."""


def reader_of(fetched: Fetched) -> SourceReader:
    """The reader that recognises a document.

    Raises:
        UnreadableSourceError: None does.
    """
    for reader in READERS:
        if reader.recognises(fetched):
            return reader
    raise UnreadableSourceError(
        "No reader knows this form. OpenAPI and Swagger documents, lists of tools, Python sketches and documentation "
        "pages are read."
    )


def kind_of(fetched: Fetched) -> SourceKind:
    """The form of a document.

    Raises:
        UnreadableSourceError: It is of none.
    """
    return reader_of(fetched).kind


def read(fetched: Fetched, kind: SourceKind | None = None) -> Document:
    """The document, by the reader of its kind or by whichever recognises it.

    Raises:
        UnreadableSourceError: It can't be read; nothing is half-read.
    """
    if kind is None:
        return reader_of(fetched).read(fetched)
    for reader in READERS:
        if reader.kind == kind:
            return reader.read(fetched)
    raise UnreadableSourceError(f"No reader of this place reads the form {kind}.")
