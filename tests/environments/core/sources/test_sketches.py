"""Listings of Python sketches as documents; the listing itself is the locked worker's and is tested there."""

from typing import Any

import pytest

from environments.core.errors import UnreadableSourceError
from environments.core.sources import readers
from environments.core.sources.model import Document, Fetched, Location, SourceKind
from environments.core.sources.sketches import SketchReader, document_of
from environments.runtime.sandbox.sketching import list_sketch

SOURCE = '''"""Table bookings.

For a restaurant of one room.
"""
from dataclasses import dataclass
from typing import Literal, Optional, TypedDict

@dataclass
class Guest:
    """A guest.

    Attributes:
        name: As on the door.
    """
    name: str
    friends: "list[Guest]" = ()
    born: Optional[datetime.date] = None

class Unused(TypedDict):
    a: int

class Desk:
    """Takes calls."""
    def find(self, guest: Guest, day: "datetime.date | None" = None) -> list[Guest]:
        """Finds bookings of a guest."""
    @staticmethod
    def count(room: Literal["Inside", "terrace"] = "Inside") -> int: ...
    @property
    def name(self) -> str: ...
    def _own(self): ...

async def book(guests: int, note: str = "", *, tags: list[str] | None = None, **rest) -> dict[str, int]:
    """Books a table.

    Only for today.

    Args:
        guests: How many.
        note: Anything.

    Returns:
        The booking.
    """

def cancel(code, reason=None, times=3):
    """Cancels.

    :param str code: Which.
    """

@deprecated("no")
def old() -> None: ...
def _private(): ...
if True:
    def maybe(x: "Annotated[float, 'In metres.']") -> None:
        def inner(): ...
'''


def read(source: str = SOURCE, address: str = "file:///x/bookings.py") -> Document:
    return document_of(list_sketch(source.encode()), address)


def test_sketch_becomes_a_document() -> None:
    document = read()

    assert (document.kind, document.dialect, document.title) == (
        SourceKind.PYTHON_SKETCH, "python", "Table bookings.",
    )  # fmt: skip
    assert document.description == "For a restaurant of one room."
    assert [operation.key for operation in document.operations] == [
        "Desk.find", "Desk.count", "book", "cancel", "old", "maybe",
    ]  # fmt: skip
    assert [operation.key for operation in document.operations if operation.is_deprecated] == ["old"]
    assert [operation.tags for operation in document.operations][:3] == [("Desk",), ("Desk",), ()]


def test_arguments_are_read_from_annotations_and_docstring() -> None:
    found = {operation.key: operation for operation in read().operations}

    assert [(each.name, each.is_required, each.schema, each.description) for each in found["book"].parameters] == [
        ("guests", True, {"type": "integer"}, "How many."),
        ("note", False, {"type": "string", "default": ""}, "Anything."),
        ("tags", False, {"type": "array", "items": {"type": "string"}}, ""),
    ]
    assert {each.location for each in found["book"].parameters} == {Location.ARGUMENT}
    assert (found["book"].title, found["book"].description) == ("Books a table.", "Only for today.")
    assert [(problem.code, problem.message) for problem in found["book"].problems] == [
        ("more_arguments", "it takes any number of others as rest")
    ]
    assert [(each.name, each.is_required, each.schema) for each in found["cancel"].parameters] == [
        ("code", True, {"type": "string"}), ("reason", False, {}), ("times", False, {"type": "integer", "default": 3}),
    ]  # fmt: skip
    assert [problem.message for problem in found["cancel"].problems] == ["no known type is given for reason"]


def test_results_are_read() -> None:
    found = {operation.key: operation.responses for operation in read().operations}

    assert [(each.status, each.schema, each.description) for each in found["book"]] == [
        ("result", {"type": "object", "additionalProperties": {"type": "integer"}}, "The booking.")
    ]
    assert [(each.media_type, each.schema) for each in found["old"]] == [(None, None)]
    assert found["cancel"] == ()


def test_classes_of_values_become_definitions_where_they_are_named() -> None:
    document = read()
    (find,) = [operation for operation in document.operations if operation.key == "Desk.find"]

    assert [each.name for each in find.parameters] == ["guest", "day"]
    assert find.parameters[0].schema == {"$ref": "#/definitions/Guest"}
    assert find.parameters[1].schema == {"type": "string", "format": "date"}
    assert find.responses[0].schema == {"type": "array", "items": {"$ref": "#/definitions/Guest"}}
    assert document.definitions == {
        "Guest": {
            "type": "object",
            "description": "A guest.",
            "properties": {
                "name": {"type": "string"},
                "friends": {"type": "array", "items": {"$ref": "#/definitions/Guest"}},
                "born": {"type": "string", "format": "date"},
            },
            "required": ["name"],
        }
    }


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        ("Literal['A', 2, True]", {"enum": ["A", 2, True]}), ("Optional[Literal['A b']]", {"enum": ["A b"]}),
        ("typing.Union[int, str, None]", {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ("Annotated[int, 'Of guests.']", {"type": "integer", "description": "Of guests."}),
        ("tuple[int, ...]", {"type": "array", "items": {"type": "integer"}}), ("tuple[int, str]", {"type": "array"}),
        ("uuid.UUID", {"type": "string", "format": "uuid"}), ("decimal.Decimal", {"type": "number"}),
        ("'int'", {"type": "integer"}), ("Widget", {}), ("list[Widget]", {"type": "array"}), ("Any", {}),
        ("dict[str, list[int]]",
         {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}}),
        ("list[" * 40 + "int" + "]" * 40, None), ("int if x else str", {}), ("lambda: 1", {}), ("1 + 1", {}),
    ],
)  # fmt: skip
def test_annotation_is_a_schema(annotation: str, schema: dict[str, Any] | None) -> None:
    (operation,) = read(f"def f(x: {annotation}): ...").operations

    if schema is not None:
        assert operation.parameters[0].schema == schema


def test_second_function_of_a_name_is_a_problem() -> None:
    document = read("def f(a: int): ...\ndef f(b: str): ...\n@overload\ndef f(c): ...")

    assert [each.name for each in document.operations[0].parameters] == ["a"]
    assert [(problem.code, problem.place) for problem in document.problems] == [("repeated_operation", "line 2")]


@pytest.mark.parametrize("source", ["", "x = 1", "def _f(): ...", "class A:\n    def _b(self): ..."])
def test_source_without_public_functions_is_unreadable(source: str) -> None:
    with pytest.raises(UnreadableSourceError, match="no public function"):
        read(source)


@pytest.mark.parametrize(
    ("address", "data", "is_sketch"),
    [
        ("file:///a/b.py", b"", True), ("https://a.example/b.py?raw=1", b"", True), ("upload:x", b"def f(a):\n", True),
        ("upload:x", b"import os\n\nasync def f():\n", True), ("https://a.example/b.md", b"def f(a):\n", False),
        ("upload:x", b"# Words\n\n```python\ndef f(a):\n```", False), ("upload:x", b'{"a": "\ndef f(a):"}', False),
        ("upload:x", b"<pre>\ndef f(a):", False), ("upload:x", b"  def f(a):", False), ("upload:x", b"\0\xff", False),
    ],
)  # fmt: skip
def test_sketch_is_recognised(address: str, data: bytes, is_sketch: bool) -> None:
    assert SketchReader().recognises(Fetched(address, data)) is is_sketch


def test_sketch_is_read_with_a_lister_only() -> None:
    fetched = Fetched("file:///x/bookings.py", SOURCE.encode())

    assert readers.kind_of(fetched) == SourceKind.PYTHON_SKETCH
    assert readers.read(fetched, list_sketch=list_sketch) == read()
    assert readers.read(fetched, SourceKind.PYTHON_SKETCH, list_sketch=list_sketch) == read()
    with pytest.raises(UnreadableSourceError, match="locked worker"):
        readers.read(fetched)
