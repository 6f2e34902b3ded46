"""Arguments and results against their schemas: compiled once for each tool, about a microsecond for each call."""

import copy
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from environments.runtime.schema.compiled import compile_schema
from environments.runtime.schema.references import References

if TYPE_CHECKING:  # the pack's validation imports this module
    from environments.runtime.pack.model import Tool

_finite = json.JSONEncoder(allow_nan=False, check_circular=False, ensure_ascii=False)
"""Of values that orjson has written; refuses what is not finite, several times as fast as a walk in Python."""
MAX_VALUE_BYTES = 256 << 10
MAX_ERRORS = 16
MAX_MESSAGE_CHARACTERS = 300
MAX_WORK = 2_000_000
"""Values in a value times schemas in the expanded schema; each look takes about 0.15 microseconds."""
MAX_LISTED_WORK = 20_000
"""Beyond it errors are not listed: one for each branch of an anyOf is built first, at ten microseconds each."""


class _Validator:
    """One compiled schema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._validator = compile_schema(schema)
        self._expanded = References(schema).expanded
        self._max_values = MAX_WORK // self._expanded

    def errors(self, value: Any) -> list[dict[str, str]]:
        """What is wrong with a value: JSON pointer and message of each error, in order, at most `MAX_ERRORS`.

        A value that is no JSON, holds NaN or an integer past 53 bits, is larger than 256 KiB or has so many parts
        that checking it would take long has one error, at its root.
        """
        try:
            # Also keeps deep nesting from the validator, which recurses; orjson stops at 254 levels.
            text = orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER)
        except (orjson.JSONEncodeError, RecursionError) as error:
            return _root_error(f"not JSON: {error}")
        if len(text) > MAX_VALUE_BYTES:
            return _root_error(f"larger than {MAX_VALUE_BYTES} bytes")
        # orjson writes NaN and infinities as null, so only a text with null can hide one.
        if b"null" in text and _holds_nan(value):
            return _root_error("not JSON: NaN and infinities are no numbers")
        num_values = len(text) // 2  # no value with its comma is shorter
        if num_values > self._max_values:
            num_values = _count_values(value)
            if num_values > self._max_values:
                return _root_error(f"more than {self._max_values} values in it")
        if self._validator.is_valid(value):
            return []
        if num_values * self._expanded > MAX_LISTED_WORK and _count_values(value) * self._expanded > MAX_LISTED_WORK:
            return _root_error("it does not fit the schema, and is too large to say where")
        errors = sorted(
            {(_pointer(error.instance_path), _shorten(error.message)) for error in self._validator.iter_errors(value)}
        )
        return [{"pointer": pointer, "message": message} for pointer, message in errors[:MAX_ERRORS]]


class ArgumentValidator(_Validator):
    """Checks a tool's arguments in the host and fills their defaults."""

    def __init__(self, tool: "Tool") -> None:
        super().__init__(tool.input_schema)
        properties = tool.input_schema.get("properties", {})
        self._defaults = {
            name: entry["default"]
            for name, entry in properties.items()
            if isinstance(entry, Mapping) and "default" in entry
        }
        self._mutable = frozenset(name for name, value in self._defaults.items() if isinstance(value, dict | list))

    def fill_defaults(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A copy of the arguments with the schema's default for each absent property that has one."""
        filled = dict(arguments)
        for name, value in self._defaults.items():
            if name not in filled:
                filled[name] = copy.deepcopy(value) if name in self._mutable else value
        return filled


class ResultValidator(_Validator):
    """Checks a tool's result in the worker."""

    def __init__(self, tool: "Tool") -> None:
        super().__init__(tool.output_schema)


def _root_error(message: str) -> list[dict[str, str]]:
    return [{"pointer": "", "message": _shorten(message)}]


def _count_values(value: Any) -> int:
    num_values = 0
    stack = [value]
    while stack:
        item = stack.pop()
        num_values += 1
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)
    return num_values


def _pointer(path: list[str | int]) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)[:MAX_MESSAGE_CHARACTERS]


def _shorten(message: str) -> str:
    return message if len(message) <= MAX_MESSAGE_CHARACTERS else message[: MAX_MESSAGE_CHARACTERS - 3] + "..."


def _holds_nan(value: Any) -> bool:
    try:
        _finite.encode(value)
    except ValueError:
        return True
    except TypeError:  # orjson writes dates and the like, too
        return _walk_for_nan(value)
    return False


def _walk_for_nan(value: Any) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float):
            if not math.isfinite(item):
                return True
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)
    return False
