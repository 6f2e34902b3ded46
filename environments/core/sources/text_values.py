"""JSON and YAML text as plain values, with bounds on everything that a hostile document could blow up."""

from typing import Any, Final

import orjson

from environments.core.errors import UnreadableSourceError
from environments.core.sources.yaml_text import keepable, load_yaml

MAX_BYTES: Final = 96 << 20
"""The largest real document known has 47 MB."""
MAX_DEPTH: Final = 128
"""The deepest real document known has 30 levels; what reads values later stops at some 250."""
MAX_VALUES: Final = 6_000_000
"""The largest real document known has 1.5 million."""

_NUL_ESCAPE: Final = b"\\u0000"


def parse_text(data: bytes) -> Any:
    """The value of a JSON or YAML text, whichever it is.

    Args:
        data: UTF-8, with or without a byte order mark; other encodings are refused.

    Returns:
        Objects have text keys only; no text holds NUL or half a surrogate pair; numbers fit into 64 bits. Parts that
        YAML's aliases repeat are shared, never cyclic.

    Raises:
        UnreadableSourceError: It is neither, or too large, too deep, or a bomb. A message says where.
    """
    _check_bytes(data)
    stripped = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not stripped:
        raise UnreadableSourceError("The document is empty.")
    if stripped[:1] not in (b"{", b"["):
        return load_yaml(stripped, "not JSON", max_depth=MAX_DEPTH, max_values=MAX_VALUES)
    try:
        return parse_json(stripped)
    except orjson.JSONDecodeError as error:
        # YAML's flow style begins alike: `{openapi: 3.0.0}`.
        return load_yaml(stripped, f"not JSON ({error})", max_depth=MAX_DEPTH, max_values=MAX_VALUES)


def parse_json(data: bytes) -> Any:
    """The value of a JSON text within the bounds of `parse_text`.

    Raises:
        JSONDecodeError: It is no JSON.
        UnreadableSourceError: It breaks a bound.
    """
    _check_bytes(data)
    # No more values than marks before them: counting bytes costs nothing, where parsing first would cost the memory.
    if data.count(b",") + data.count(b"[") + data.count(b"{") > MAX_VALUES:
        raise UnreadableSourceError(f"The document has more than {MAX_VALUES:,} values.")
    value = orjson.loads(data)
    _check_depth(value)
    return _without_nul(value) if _NUL_ESCAPE in data else value


def parse_rows(data: bytes) -> Any:
    """The value of a JSON or YAML text, or the list of the values of JSON lines.

    Raises:
        UnreadableSourceError: As `parse_text` does; a message names the line.
    """
    _check_bytes(data)
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    numbers = [number for number, line in enumerate(lines) if line.strip()]
    if len(numbers) < 2 or not _is_whole_object(lines[numbers[0]]):
        return parse_text(data)
    if data.count(b",") + data.count(b"[") + data.count(b"{") > MAX_VALUES:
        raise UnreadableSourceError(f"The document has more than {MAX_VALUES:,} values.")
    rows = []
    for number in numbers:
        try:
            rows.append(parse_json(lines[number]))
        except orjson.JSONDecodeError as error:
            raise UnreadableSourceError(f"Line {number + 1} of the JSON lines is no JSON: {error}.") from None
    return rows


def _is_whole_object(line: bytes) -> bool:
    if not line.strip().startswith(b"{"):
        return False
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def _check_bytes(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise UnreadableSourceError(f"The document has {len(data) >> 20} MiB; at most {MAX_BYTES >> 20} are read.")


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            part
            for node in level
            if isinstance(node, dict | list)
            for part in (node.values() if isinstance(node, dict) else node)
            if isinstance(part, dict | list)
        ]
        if not level:
            return
    raise UnreadableSourceError(f"The document is nested deeper than {MAX_DEPTH} levels.")


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return keepable(value)
    if isinstance(value, list):
        return [_without_nul(part) for part in value]
    if isinstance(value, dict):
        return {keepable(key): _without_nul(part) for key, part in value.items()}
    return value


def clean_text(value: Any, limit: int = 20_000) -> str:
    """Text of a document as it can be kept: within the limit and without blanks around; empty for no text."""
    if not isinstance(value, str):
        return ""
    return keepable(value[: 2 * limit].strip()[:limit])


def scalar_text(value: Any, limit: int) -> str:
    """Text of what should be text and may have been written as a number: versions, names."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    return clean_text(value, limit)
