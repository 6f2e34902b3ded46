"""Between JSON values and the dataclasses of `model`, in both directions, driven by their type hints."""

import dataclasses
import types
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from environments.runtime.faults import Fault
from environments.runtime.pack.model import Case, Column, Expectation, Pack

T = TypeVar("T")

_JSON_NAMES: dict[tuple[type, str], str] = {(Column, "comparison"): "class"}
_LEFT_OUT_WHEN_NONE = {(Case, "scenario"), (Case, "rows"), (Expectation, "result")}
_ORDER: dict[type, tuple[str, ...]] = {
    Case: ("name", "tool", "kind", "scenario", "rows", "calls", "expect", "changes", "author")
}
_OTHER_FILES: dict[type, frozenset[str]] = {Pack: frozenset({"schema_sql", "tools_py", "scenarios", "cases"})}
"""Fields that are files of their own."""

_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
"""What JSON has as it is."""
_WORDS = {str: "text", int: "an integer", float: "a number", type(None): "null"}


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One field of a dataclass as JSON has it."""

    field: str
    key: str
    hint: Any
    is_required: bool
    is_left_out_when_none: bool


@cache
def entries(kind: Any) -> tuple[Entry, ...]:
    """The fields of a dataclass in the order of the contract."""
    hints = get_type_hints(kind)
    fields = {item.name: item for item in dataclasses.fields(kind)}
    order = _ORDER.get(kind, tuple(fields))
    return tuple(
        Entry(
            name,
            _JSON_NAMES.get((kind, name), name),
            hints[name],
            fields[name].default is dataclasses.MISSING and fields[name].default_factory is dataclasses.MISSING,
            (kind, name) in _LEFT_OUT_WHEN_NONE,
        )
        for name in order
        if name not in _OTHER_FILES.get(kind, ())
    )


@cache
def _written(kind: Any) -> tuple[tuple[str, str, bool], ...]:
    """Field, key and whether it is left out when it is None, of what a dataclass is written as."""
    return tuple((entry.field, entry.key, entry.is_left_out_when_none) for entry in entries(kind))


def to_json(value: Any) -> Any:
    """The JSON value of a dataclass and everything in it, with the contract's keys in the contract's order."""
    # The exact types of JSON come first: a pack has some 100,000 of them, and the tests below are slow.
    kind: Any = value.__class__
    if kind in _PLAIN:
        return value
    if kind is dict:
        return {key: item if item.__class__ in _PLAIN else to_json(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [item if item.__class__ in _PLAIN else to_json(item) for item in value]
    if dataclasses.is_dataclass(kind):
        document = {}
        for name, key, is_left_out_when_none in _written(value.__class__):
            item = getattr(value, name)
            if item is not None or not is_left_out_when_none:
                document[key] = item if item.__class__ in _PLAIN else to_json(item)
        return document
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


def from_json(kind: type[T], value: Any, place: str, faults: list[Fault], **rest: Any) -> T | None:
    """The dataclass that a JSON value holds.

    Args:
        kind: A dataclass of `model`.
        value: Parsed JSON.
        place: Where it stands; faults are named below it.
        faults: Receives what is wrong.
        rest: Fields that are not in this value.

    Returns:
        None exactly if something was wrong.
    """
    if not isinstance(value, dict):
        faults.append(Fault("type_wrong", place, f"an object is expected, not {_name(value)}"))
        return None
    before = len(faults)
    shape = entries(kind)  # type: ignore[arg-type]
    known = {entry.key for entry in shape}
    faults.extend(Fault("key_unknown", f"{place}/{key}", "the format has no such key") for key in value.keys() - known)
    arguments = dict(rest)
    for entry in shape:
        if entry.key in value:
            arguments[entry.field] = _read(entry.hint, value[entry.key], f"{place}/{entry.key}", faults)
        elif entry.is_required:
            faults.append(Fault("key_missing", f"{place}/{entry.key}", "the key is needed"))
    return kind(**arguments) if len(faults) == before else None


def from_document(kind: type[T], document: Any) -> T:
    """The dataclass of a value that `to_json` wrote, as it comes back from where it was kept.

    Raises:
        ValueError: The value is not one of its kind: what kept it changed it.
    """
    faults: list[Fault] = []
    found = from_json(kind, document, kind.__name__, faults)
    if found is None:
        raise ValueError("; ".join(map(str, faults)))
    return found


def _read(hint: Any, value: Any, place: str, faults: list[Fault]) -> Any:
    """The value as the hint has it; anything at all once a fault was added."""
    if hint is Any:
        return value
    origin = get_origin(hint)
    if origin is Literal:
        return _read_word(get_args(hint), value, place, faults)
    if origin in (Union, types.UnionType):
        return _read_union(get_args(hint), value, place, faults)
    if origin is tuple:
        return _read_items(get_args(hint)[0], value, place, faults)
    if origin is Mapping:
        return _read_mapping(get_args(hint)[1], value, place, faults)
    if dataclasses.is_dataclass(hint):
        return from_json(hint, value, place, faults)  # type: ignore[arg-type]
    if issubclass(hint, StrEnum):
        word = _read_word(tuple(item.value for item in hint), value, place, faults)
        return hint(word) if word is not None else None
    if type(value) is not hint:
        faults.append(Fault("type_wrong", place, f"{_WORDS[hint]} is expected, not {_name(value)}"))
    return value


def _read_word(words: tuple[Any, ...], value: Any, place: str, faults: list[Fault]) -> Any:
    if not isinstance(value, str) or value not in words:
        faults.append(Fault("value_wrong", place, f"one of {', '.join(words)} is expected"))
        return None
    return value


def _read_union(hints: tuple[Any, ...], value: Any, place: str, faults: list[Fault]) -> Any:
    if value is None and type(None) in hints:
        return None
    others = [hint for hint in hints if hint is not type(None)]
    if len(others) == 1:
        return _read(others[0], value, place, faults)
    if type(value) not in others:
        words = " or ".join(_WORDS[hint] for hint in hints)
        faults.append(Fault("type_wrong", place, f"{words} is expected, not {_name(value)}"))
    return value


def _read_items(hint: Any, value: Any, place: str, faults: list[Fault]) -> tuple[Any, ...]:
    if not isinstance(value, list):
        faults.append(Fault("type_wrong", place, f"an array is expected, not {_name(value)}"))
        return ()
    return tuple(_read(hint, item, f"{place}/{index}", faults) for index, item in enumerate(value))


def _read_mapping(hint: Any, value: Any, place: str, faults: list[Fault]) -> dict[str, Any]:
    if not isinstance(value, dict):
        faults.append(Fault("type_wrong", place, f"an object is expected, not {_name(value)}"))
        return {}
    return {key: _read(hint, item, f"{place}/{key}", faults) for key, item in value.items()}


def _name(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return _WORDS.get(type(value), type(value).__name__)
