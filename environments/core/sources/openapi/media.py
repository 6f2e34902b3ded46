"""Which of several representations is read: JSON first, then forms, then text."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

MAX_KINDS: Final = 100
"""Media types of one place that are looked at."""

_ORDER: Final = ("application/json", "json", "x-www-form-urlencoded", "form-data", "*/*", "text/plain", "xml")


def choose(content: Any) -> tuple[str, Mapping[str, Any] | None]:
    """The media type and object of `content` that is read; no object if there is none."""
    objects = {kind: value for kind, value in _looked_at(content) if isinstance(value, Mapping)}
    kind = preferred(objects.keys())
    return (kind, objects[kind]) if kind in objects else ("", None)


def not_objects(content: Any) -> Iterator[tuple[str, Any]]:
    """Media type and value of what stands in `content` in the place of an object; null stands for nothing."""
    return ((kind, value) for kind, value in _looked_at(content) if not isinstance(value, Mapping | None))


def _looked_at(content: Any) -> Iterator[tuple[str, Any]]:
    return islice(content.items() if isinstance(content, Mapping) else (), MAX_KINDS)


def preferred(kinds: Any) -> str:
    """The media type that is taken of several; empty if none is given."""
    found = kinds if isinstance(kinds, Iterable) and not isinstance(kinds, str | Mapping) else ()
    given = [kind for kind in islice(found, MAX_KINDS) if isinstance(kind, str)]
    for wanted in _ORDER:
        for kind in given:
            if wanted in kind.lower():
                return kind
    return given[0] if given else ""
