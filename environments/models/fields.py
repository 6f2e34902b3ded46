"""Column types that PostgreSQL and Django do not have."""

import json
import re
import zlib
from typing import TYPE_CHECKING, Any, Final

import orjson
from django.db import models

if TYPE_CHECKING:  # generic to the type checker only
    BinaryField = models.BinaryField[Any, Any]
    TextField = models.TextField[Any, Any]
else:
    BinaryField = models.BinaryField
    TextField = models.TextField


_LONG_NUMBER: Final = re.compile(r"\d{19}")
"""What may be an integer beyond 64 bits, which orjson reads as a float and does not write."""


class ExactJSONField(TextField):
    """A JSON value kept as its text, so that it comes back exactly as it went in.

    `jsonb` sorts keys, drops trailing zeros and writes 1e22 as an integer; the bytes of an exported pack and of a
    replayed transcript hang on all three. Values are whole: nothing inside them is searched for.
    """

    _pyi_private_set_type: Any
    _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, _expression: Any, _connection: Any) -> Any:
        """The value that the text stands for."""
        return None if value is None else read_exact_json(value)

    def to_python(self, value: Any) -> Any:
        """The value, from a fixture's text too."""
        return read_exact_json(value) if isinstance(value, str) else value

    def get_prep_value(self, value: Any) -> str | None:
        """The text that is stored."""
        return None if value is None else exact_json(value)

    def value_to_string(self, obj: models.Model) -> str:
        """The text, for fixtures."""
        return exact_json(self.value_from_object(obj))


class PackedTextField(BinaryField):
    """A long text that is only ever read whole, kept compressed.

    A snapshot with 500 changed rows has 96 KB of text and 5 KB packed. PostgreSQL would compress it too, but takes ten
    times as long, and the text travels and is logged first.
    """

    _pyi_private_set_type: Any
    _pyi_private_get_type: Any

    def from_db_value(self, value: bytes | None, _expression: Any, _connection: Any) -> str | None:
        """The text."""
        return None if value is None else unpack_text(value)

    def get_db_prep_value(self, value: str | None, connection: Any, prepared: bool = False) -> Any:
        """What is stored."""
        packed = None if value is None else pack_text(value)
        return super().get_db_prep_value(packed, connection, prepared)


def pack_text(text: str) -> bytes:
    """The bytes under which a packed text is kept."""
    return zlib.compress(text.encode(), 1)


def unpack_text(packed: bytes | memoryview) -> str:
    """The text of bytes that `pack_text` wrote."""
    return zlib.decompress(packed).decode()


def exact_json(value: Any) -> str:
    """The text under which a JSON value is kept: its own key order, no spaces."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)


def read_exact_json(text: str) -> Any:
    """The value of a text that `exact_json` wrote."""
    return json.loads(text) if _LONG_NUMBER.search(text) else orjson.loads(text)
