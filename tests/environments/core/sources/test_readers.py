import json
from typing import Any

import pytest

from environments.core.errors import UnreadableSourceError
from environments.core.sources import readers
from environments.core.sources.model import Fetched, SourceKind

OPENAPI = {"openapi": "3.0.0", "paths": {"/a": {"get": {}}}}
TOOL = {"name": "t", "description": "d", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
LISTING = {"server": {"name": "s"}, "protocolVersion": "2025-06-18", "instructions": "", "tools": [TOOL]}


def fetched(value: Any) -> Fetched:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Fetched("upload:document", data)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (OPENAPI, SourceKind.OPENAPI),
        (b"openapi: 3.0.0\npaths: {/a: {get: {}}}\n", SourceKind.OPENAPI),
        (LISTING, SourceKind.MCP_SERVER),
        ({"tools": [TOOL]}, SourceKind.TOOL_LIST),
        ([TOOL], SourceKind.TOOL_LIST),
    ],
)
def test_a_document_goes_to_its_reader_when_no_kind_is_given(value: Any, kind: SourceKind) -> None:
    found = fetched(value)
    assert readers.kind_of(found) == kind
    assert readers.read(found).kind == kind
    assert readers.read(found, kind) == readers.read(found)


def test_an_error_is_raised_when_no_reader_recognises_a_document() -> None:
    with pytest.raises(UnreadableSourceError, match="No reader knows this form"):
        readers.read(fetched(b"\0\1\2"))


def test_an_error_is_raised_when_the_document_is_of_another_kind_than_said() -> None:
    with pytest.raises(UnreadableSourceError, match="names no OpenAPI version"):
        readers.read(fetched([TOOL][0]), SourceKind.OPENAPI)
    with pytest.raises(UnreadableSourceError, match="No tool"):
        readers.read(fetched(OPENAPI), SourceKind.TOOL_LIST)


def test_every_kind_has_one_reader_or_a_clear_error_when_it_is_asked_for() -> None:
    kinds = [reader.kind for reader in readers.READERS]
    assert len(kinds) == len(set(kinds))
    for kind in SourceKind:
        if kind not in kinds:
            with pytest.raises(UnreadableSourceError, match="No reader"):
                readers.read(fetched(b"x"), kind)
