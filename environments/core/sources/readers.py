"""Every reader, and which one a document is for."""

from typing import Final

from environments.core.errors import UnreadableSourceError
from environments.core.sources.model import Document, Fetched, SourceKind, SourceReader
from environments.core.sources.openapi import OpenApiReader
from environments.core.sources.sketches import SketchLister, SketchReader
from environments.core.sources.tool_lists import McpServerReader, ToolListReader
from environments.core.sources.web_pages import WebPageReader

READER_VERSION: Final = "2"
"""Raised whenever a reader reads something else than before; stored bytes can then be read again."""

READERS: Final[tuple[SourceReader, ...]] = (
    OpenApiReader(),
    McpServerReader(),
    ToolListReader(),
    SketchReader(),
    WebPageReader(),
)
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


def read(fetched: Fetched, kind: SourceKind | None = None, *, list_sketch: SketchLister | None = None) -> Document:
    """The document, by the reader of its kind or by whichever recognises it.

    Args:
        fetched: The bytes.
        kind: Its form; None lets the readers decide.
        list_sketch: What lists Python sources in the locked worker; without it no sketch is read.

    Raises:
        UnreadableSourceError: It can't be read; nothing is half-read.
    """
    reader = reader_of(fetched) if kind is None else next((each for each in READERS if each.kind == kind), None)
    if reader is None:
        raise UnreadableSourceError(f"No reader of this place reads the form {kind}.")
    if isinstance(reader, SketchReader) and list_sketch is not None:
        return reader.read_listed(fetched, list_sketch)
    return reader.read(fetched)
