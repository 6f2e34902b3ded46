"""The one way in which a schema becomes a validator: linear-time patterns, checked formats, no network."""

from functools import lru_cache
from typing import Any, Final

import jsonschema_rs
import orjson

from environments.runtime.schema.keywords import PATTERN_SIZE_LIMIT

MAX_KEPT: Final = 160
"""Compiled schemas kept, more than one pack has: its check, its doors and the runners of its cases share them."""


class SchemaError(ValueError):
    """The schema cannot be compiled; raised by `compile_schema`, caught by `check_schema` as a fault of the pack."""


def compile_schema(schema: Any) -> jsonschema_rs.Draft202012Validator:
    """A validator of a JSON Schema 2020-12.

    Messages call the value "the value", since values can be long and are known by their pointer.

    Raises:
        SchemaError: A keyword has a wrong value, a pattern needs look-around, back-references or too much memory.
    """
    try:
        # Keys are sorted so that the order of errors does not depend on how the schema was written.
        return _compile(orjson.dumps(schema, option=orjson.OPT_SORT_KEYS))
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise SchemaError(str(getattr(error, "message", error))) from None


@lru_cache(maxsize=MAX_KEPT)
def _compile(schema: bytes) -> jsonschema_rs.Draft202012Validator:
    """The validator of a schema's one text; it never changes, so whoever has the same schema may share it."""
    return jsonschema_rs.Draft202012Validator(
        orjson.loads(schema),
        pattern_options=jsonschema_rs.RegexOptions(size_limit=PATTERN_SIZE_LIMIT, dfa_size_limit=PATTERN_SIZE_LIMIT),
        validate_formats=True,
        ignore_unknown_formats=False,
        offline=True,
        email_options=jsonschema_rs.EmailOptions(allow_display_text=False),
        mask="the value",
    )
