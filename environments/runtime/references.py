"""`{"$result": [call index, "/pointer"]}`: a value that stands for an earlier result (docs/contracts.md, C2)."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

REFERENCE = "$result"
_WRITTEN = REFERENCE.encode()


def may_hold_references(value: Any) -> bool:
    """False only if there is no reference in a JSON value: told from its text, much faster than by looking."""
    try:
        return _WRITTEN in orjson.dumps(value)
    except (orjson.JSONEncodeError, RecursionError):
        return True


def resolve(value: Any, results: Sequence[Any]) -> Any:
    """The value with every reference replaced by what it stands for.

    Args:
        value: Any JSON value.
        results: The parsed results of the calls so far.

    Raises:
        LookupError: A reference stands for nothing.
    """
    if isinstance(value, Mapping):
        if value.keys() == {REFERENCE}:
            position, pointer = value[REFERENCE]
            return at_pointer(results[position], pointer)
        return {name: resolve(item, results) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [resolve(item, results) for item in value]
    return value


def shift_references(value: Any, first: int) -> Any:
    """The value with every reference meant for calls that begin at another index."""
    if isinstance(value, Mapping):
        if value.keys() == {REFERENCE}:
            position, pointer = value[REFERENCE]
            return {REFERENCE: [position + first, pointer]}
        return {name: shift_references(item, first) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [shift_references(item, first) for item in value]
    return value


def at_pointer(value: Any, pointer: str) -> Any:
    """What a JSON pointer points to.

    Raises:
        LookupError: Nothing.
    """
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            if not name.isdigit():
                raise LookupError(pointer)
            value = value[int(name)]
        elif isinstance(value, Mapping):
            value = value[name]
        else:
            raise LookupError(pointer)
    return value


def pointer_part(name: str | int) -> str:
    """One step of a JSON pointer."""
    return "/" + str(name).replace("~", "~0").replace("/", "~1")
