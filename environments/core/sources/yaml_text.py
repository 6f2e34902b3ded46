"""YAML as API documents mean it, without what makes it dangerous: tags, merge bombs, aliases that hold themselves."""

import math
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from environments.core.errors import UnreadableSourceError

MAX_YAML_BYTES: Final = 16 << 20
MAX_YAML_MARKS: Final = 1_000_000
"""Marks that begin a value or a pair; the largest real document has a quarter of it, and each takes some 15 µs."""
MAX_MERGED: Final = 1_000_000
"""Pairs that merge keys (`<<`) copy; nine lines that merge nine times each would copy billions."""

_MARKS: Final = (b"\n", b"\r", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9", b",", b"[", b"{", b"- ", b"-\t", b"? ",
                 b"?\t")  # fmt: skip
_TAG: Final = "tag:yaml.org,2002:"
_MERGE: Final = f"{_TAG}merge"
_MIN_INTEGER: Final = -(2**63)
_MAX_INTEGER: Final = 2**64 - 1
_UNKEEPABLE: Final = re.compile("[\0\ud800-\udfff]")
"""What neither a database nor UTF-8 can hold: NUL and half surrogate pairs."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # the C parser where it is built
    """YAML 1.2's core types only: dates, `on` and `12:30` stay text, and so does `010`."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    yaml_constructors = {
        f"{_TAG}{kind}": yaml.SafeLoader.yaml_constructors[f"{_TAG}{kind}"]
        for kind in ("null", "bool", "int", "float", "str", "seq", "map")
    } | {None: yaml.SafeLoader.yaml_constructors[None]}  # fmt: skip

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Takes merge keys apart, each pair once and no more than `MAX_MERGED` in all."""
        own = [pair for pair in node.value if pair[0].tag != _MERGE]
        if len(own) == len(node.value):
            return
        given = [value for key, value in node.value if key.tag == _MERGE]
        sources = [part for value in given for part in (value.value if value.id == "sequence" else [value])]
        node.value = own  # first, so that a mapping that merges itself comes to an end
        taken = {(key.tag, key.value) for key, _ in own if isinstance(key, yaml.ScalarNode)}
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                raise yaml.constructor.ConstructorError(None, None, "expected a mapping for merging", source.start_mark)
            self.flatten_mapping(source)
            self._num_merged = getattr(self, "_num_merged", 0) + len(source.value) + 1
            if self._num_merged > MAX_MERGED:
                raise UnreadableSourceError(f"The document's merge keys copy more than {MAX_MERGED:,} pairs.")
            for key, value in source.value:
                if isinstance(key, yaml.ScalarNode) and (key.tag, key.value) not in taken:
                    taken.add((key.tag, key.value))
                    node.value.append((key, value))


for _kind, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,18})", list("-+0123456789")),
    ("float", r"[-+]?(?:(?:[0-9]{1,40}\.[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,3})?)", list("-+.0123456789")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"{_TAG}{_kind}", re.compile(rf"^(?:{_pattern})$"), _first)


def load_yaml(data: bytes, before: str, *, max_depth: int, max_values: int) -> Any:
    """The value of a YAML text as JSON would have it: text keys, no NaN, numbers of 64 bits.

    Args:
        data: UTF-8.
        before: What was found out about the text until now; stands in messages.
        max_depth: Levels of nesting.
        max_values: Values once aliases are taken apart; ten lines can stand for billions.

    Raises:
        UnreadableSourceError: It is no YAML or breaks a bound.
    """
    if len(data) > MAX_YAML_BYTES:
        raise UnreadableSourceError(
            f"The document is {before} and has {len(data) >> 20} MiB; at most {MAX_YAML_BYTES >> 20} of YAML are read."
        )
    if sum(map(data.count, _MARKS)) > MAX_YAML_MARKS:
        raise UnreadableSourceError(f"The document is {before} and has too many values for YAML.")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UnreadableSourceError(f"The document is {before}, and its byte {error.start} is not UTF-8.") from None
    try:
        value = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        said = getattr(error, "problem", None) or str(error)
        raise UnreadableSourceError(f"The document is {before} and no YAML: {place}{said[:200]}.") from None
    except (RecursionError, ValueError, OverflowError) as error:
        raise UnreadableSourceError(f"The document is no YAML that can be read: {str(error)[:200]}.") from None
    _check_size(value, max_depth, max_values)
    return _plain(value, {})


def _check_size(value: Any, max_depth: int, max_values: int) -> None:
    """Refuses what is too deep, cyclic, or too large once aliases are taken apart; looks at each part once."""
    weights: dict[int, int] = {}
    heights: dict[int, int] = {}
    on_path: set[int] = set()
    stack: list[tuple[Any, Iterator[Any]]] = []

    def enter(node: Any) -> None:
        if id(node) in on_path:
            raise UnreadableSourceError("The document holds itself (a cyclic alias).")
        on_path.add(id(node))
        if len(on_path) > max_depth:
            raise UnreadableSourceError(f"The document is nested deeper than {max_depth} levels.")
        stack.append((node, iter(_parts(node))))

    if isinstance(value, dict | list):
        enter(value)
    while stack:
        node, parts = stack[-1]
        part = next((part for part in parts if isinstance(part, dict | list) and id(part) not in weights), None)
        if part is not None:
            enter(part)
            continue
        weights[id(node)] = 1 + sum(weights.get(id(part), 1) for part in _parts(node))
        heights[id(node)] = 1 + max((heights.get(id(part), 0) for part in _parts(node)), default=0)
        if weights[id(node)] > max_values:
            raise UnreadableSourceError(
                f"The document stands for more than {max_values:,} values once its aliases are taken apart."
            )
        if heights[id(node)] > max_depth:
            raise UnreadableSourceError(f"The document is nested deeper than {max_depth} levels.")
        on_path.discard(id(node))
        stack.pop()


def _parts(node: Any) -> Any:
    return node.values() if isinstance(node, dict) else node


def _plain(node: Any, made: dict[int, Any]) -> Any:
    """A value as JSON would have it; shared parts stay shared."""
    if isinstance(node, dict):
        if id(node) not in made:
            made[id(node)] = {_key(key): _plain(part, made) for key, part in node.items()}
        return made[id(node)]
    if isinstance(node, list):
        if id(node) not in made:
            made[id(node)] = [_plain(part, made) for part in node]
        return made[id(node)]
    if isinstance(node, str):
        return keepable(node)
    if isinstance(node, float):
        return node if math.isfinite(node) else None
    if isinstance(node, int) and not _MIN_INTEGER <= node <= _MAX_INTEGER:
        return str(node) if node.bit_length() < 1_000 else None
    return node


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int) and key.bit_length() > 1_000:
        return "number"
    return "null" if key is None else keepable(str(key))


def keepable(text: str) -> str:
    """Text in which whatever can't be kept is replaced by the mark for it."""
    return _UNKEEPABLE.sub("\ufffd", text)
