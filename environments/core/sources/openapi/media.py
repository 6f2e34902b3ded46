"""Which of several representations is read: JSON first, then forms, then text."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

MAX_KINDS: Final = 100
"""Media types of one place that are looked at."""

_ORDER: Final = ("application/json", "json", "x-www-form-urlencoded", "form-data", "*/*", "text/plain", "xml")


def choose(content: Any) -> tuple[str, Mapping[str, Any] | None]:
    """The media type and object of `content` that is read; no object if there is none."""
    if not isinstance(content, Mapping):
        return "", None
    kind = preferred(kind for kind, value in content.items() if isinstance(value, Mapping))
    return (kind, content[kind]) if kind in content else ("", None)


def preferred(kinds: Any) -> str:
    """The media type that is taken of several; empty if none is given."""
    found = kinds if isinstance(kinds, Iterable) and not isinstance(kinds, str | Mapping) else ()
    given = [kind for kind in islice(found, MAX_KINDS) if isinstance(kind, str)]
    for wanted in _ORDER:
        for kind in given:
            if wanted in kind.lower():
                return kind
    return given[0] if given else ""
