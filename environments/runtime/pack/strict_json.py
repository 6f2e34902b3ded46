"""JSON as the contract means it: read strictly, and written in one canonical form."""

import json
import math
from typing import Any, Final, NoReturn

import orjson

from environments.runtime.faults import Fault
from environments.runtime.pack.errors import PackError
from environments.runtime.pack.limits import MAX_FAULTS, MAX_INTEGER, MAX_JSON_DEPTH

_MAX_DIGITS = 400
"""Longer numbers are refused before Python's quadratic conversion sees them."""

_CONTAINERS: Final = (dict, list, tuple)
_finite: Final = json.JSONEncoder(allow_nan=False, check_circular=False, ensure_ascii=False)


def canonical_json(value: Any) -> bytes:
    """The one text of a JSON value: sorted keys, no spaces, UTF-8, no NaN.

    Raises:
        ValueError: The value holds NaN, an infinity or half a surrogate pair.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def parse_json(data: bytes, place: str) -> Any:
    """The value of strict JSON text.

    Raises:
        PackError: Not UTF-8, not JSON, a key given twice, NaN or an infinity, an integer past 2^53 either way, half a
            surrogate pair, or nested deeper than `MAX_JSON_DEPTH`; each with its place.
    """
    text = decode_text(data, place)
    repeated: dict[int, str] = {}
    kept: list[dict[str, Any]] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(result) != len(items):
            seen: set[str] = set()
            repeated[id(result)] = next(key for key, _ in items if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            kept.append(result)  # keeps the id from being used again
        return result

    try:
        value = json.loads(
            text, object_pairs_hook=pairs, parse_constant=_refuse_constant, parse_int=_integer, parse_float=_real
        )
    except json.JSONDecodeError as error:
        raise PackError(
            [Fault("json_syntax", place, f"line {error.lineno}, column {error.colno}: {error.msg}")]
        ) from None
    except _NumberError as error:
        raise PackError([Fault("json_number", place, f"{error} is no number of JSON")]) from None
    except RecursionError:
        raise PackError([Fault("json_too_deep", place, f"nested deeper than {MAX_JSON_DEPTH}")]) from None
    faults = check_values(value, place, repeated)
    if faults:
        raise PackError(faults)
    return value


def decode_text(data: bytes, place: str) -> str:
    """The text of a UTF-8 file whose lines end with a line feed.

    Raises:
        PackError: It is another encoding, has a byte order mark, a NUL or carriage returns.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise PackError([Fault("text_encoding", place, f"byte {error.start} is not UTF-8")]) from None
    if text.startswith("\ufeff"):
        raise PackError([Fault("text_encoding", place, "it begins with a byte order mark")])
    for character, name in (("\0", "a NUL"), ("\r", "a carriage return")):
        if character in text:
            line = text[: text.index(character)].count("\n") + 1
            raise PackError([Fault("text_encoding", place, f"line {line} holds {name}")])
    return text


def check_values(value: Any, place: str, repeated: dict[int, str] | None = None) -> list[Fault]:
    """The faults of a JSON value that no shape shows: depth, integers, NaN, broken text and repeated keys.

    Args:
        value: Parsed JSON.
        place: Where it stands.
        repeated: By the id of an object: a key that its text gave twice.
    """
    if not repeated and _is_clean(value):
        return []
    faults: list[Fault] = []
    stack: list[tuple[Any, str, int]] = [(value, place, 0)]
    while stack and len(faults) < MAX_FAULTS:
        item, where, depth = stack.pop()
        if isinstance(item, str):
            if not item.isascii() and _is_broken(item):
                faults.append(Fault("text_encoding", where, "half a surrogate pair is no text"))
        elif isinstance(item, bool) or item is None:
            continue
        elif isinstance(item, int):
            if abs(item) > MAX_INTEGER:
                faults.append(Fault("integer_range", where, "the integer lies beyond 2^53"))
        elif isinstance(item, float):
            if not math.isfinite(item):
                faults.append(Fault("json_number", where, "it is not finite"))
        elif depth >= MAX_JSON_DEPTH:
            faults.append(Fault("json_too_deep", where, f"nested deeper than {MAX_JSON_DEPTH}"))
        elif isinstance(item, dict):
            if repeated and id(item) in repeated:
                faults.append(Fault("json_duplicate_key", where, f"{repeated[id(item)]!r} is given twice"))
            for key, entry in reversed(item.items()):
                if not key.isascii() and _is_broken(key):
                    faults.append(Fault("text_encoding", where, "a key holds half a surrogate pair"))
                    continue
                stack.append((entry, f"{where}/{key}", depth + 1))
        else:
            stack.extend((item[index], f"{where}/{index}", depth + 1) for index in range(len(item) - 1, -1, -1))
    return faults


def _is_clean(value: Any) -> bool:
    """Whether the libraries' own checks find nothing, which takes a tenth of the time of looking for places."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER | orjson.OPT_PASSTHROUGH_DATACLASS)
        if b"null" in text:  # what is not finite is written so
            _finite.encode(value)
    except (orjson.JSONEncodeError, ValueError, TypeError, RecursionError):
        return False
    level = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(MAX_JSON_DEPTH):
        if not level:
            return True
        level = [
            item
            for outer in level
            for item in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(item, _CONTAINERS)
        ]
    return not level


def format_json(value: Any, *, width: int = 120) -> str:
    """JSON for people: indent 2, keys as they stand; what fits in a line of `width` stays on it."""
    return _format(value, 0, width) + "\n"


def _format(value: Any, indent: int, width: int) -> str:
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if not isinstance(value, dict | list) or not value or len(line) + indent <= width:
        return line
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        entries = [
            f"{inner}{json.dumps(key, ensure_ascii=False)}: {_format(entry, indent + 2, width)}"
            for key, entry in value.items()
        ]
    else:
        entries = [inner + _format(entry, indent + 2, width) for entry in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + "\n" + ",\n".join(entries) + "\n" + " " * indent + closing


class _NumberError(Exception):
    """A number or constant that JSON does not have."""


def _refuse_constant(name: str) -> NoReturn:
    raise _NumberError(name)


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise _NumberError(digits[:20] + "...")
    return int(digits)


def _real(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _NumberError(digits[:20])
    return number


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
