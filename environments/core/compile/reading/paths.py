"""Paths as literals and parameters, without what names no resource: versions, prefixes, extensions, providers."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from environments.core.compile.reading.calls import Step
from environments.core.compile.reading.errors import UnreadOperationError
from environments.core.compile.reading.words import is_plural, snake, squash

VERSION: Final = re.compile(
    r"v\d+([._-]?\d+)*([._-]?(alpha|beta|preview|rc|eap|p|b|c)\d*)*|\d{4}-\d\d(-\d\d)?(-preview)?|\d+(\.\d+)+|ver\d+",
    re.IGNORECASE,
)
_PREFIXES: Final = frozenset(
    {
        "api", "apis", "rest", "api_public", "public_api", "rest_api", "restapi", "webapi", "web_api", "restv2", "ws",
        "gateway", "public", "odata", "json", "services", "service", "rpc", "open_api", "openapi", "external", "ext",
        "controller", "pub", "private", "internal", "api_v1", "api_v2", "beta", "alpha", "v", "index_php", "wp_json",
    }
)  # fmt: skip
"""First parts of paths that name no resource."""
_TRANSPORT: Final = frozenset(
    {"version", "apiversion", "format", "responseformat", "outputformat", "ext", "extension", "v", "apiver"}
)
"""Path parameters that say how, not what."""
_API: Final = re.compile(r"api[_-]?v?\d+", re.IGNORECASE)
_SMALL: Final = re.compile(r"\d{1,2}")
"""A version only among the first parts of a path."""
_EXTENSION: Final = re.compile(
    r"(?<=[\w})])\.(json|xml|php|aspx?|do|cgi|html?|jsp|ashx|svc|\{(?P<name>\w*(format|ext|type)\w*)\})$", re.IGNORECASE
)
_PARAMETER: Final = re.compile(r"'?\{\+?([^{}]+?)\*?\}'?")
_COLON: Final = re.compile(r"(?P<head>\{\+?[^{}]+\}|[\w\-.$]*):(?P<verb>[A-Za-z][\w\-.]*)")
_ODATA: Final = re.compile(r"(?P<name>[\w.\-$]+)\((?P<inside>.*)\)")
_ONLY_KEY: Final = re.compile(r"(?:\w+=)?'?\{([^{}]+)\}'?")
_PROVIDER: Final = re.compile(r"[A-Za-z]+(\.[A-Za-z]+)+")
_CASTS: Final = "microsoft.graph."


@dataclass(frozen=True, slots=True)
class ReadPath:
    """A path, taken apart.

    Attributes:
        steps: Literals with the parameters behind them.
        verb: A verb that the path's syntax marks as one: `:cancel`, `microsoft.graph.cancel`, `$count`; in snake case.
        ignored: Parameters that are about the transport.
        first: The parameter that the path begins with, which may hold a whole resource name; empty without one.
        is_namespaced: Whether the verb stands behind a namespace, where types stand, too.
    """

    steps: tuple[Step, ...]
    verb: str = ""
    ignored: frozenset[str] = frozenset()
    first: str = ""
    is_namespaced: bool = False


def read_path(path: str, noise: frozenset[str] = frozenset()) -> ReadPath:
    """The steps of a path template.

    Args:
        path: Without query and fragment.
        noise: Literals in snake case that name no resource, wherever they stand.

    Raises:
        UnreadOperationError: A segment is neither a name nor a parameter.
    """
    raw = [_EXTENSION.sub("", part) for part in path.split("/") if part]
    tokens: list[tuple[str, str]] = []
    verb = ""
    ignored = [found["name"] for part in path.split("/") if (found := _EXTENSION.search(part)) and found["name"]]
    for place, part in enumerate(_without_providers(_without_prefixes(raw))):
        if verb:
            raise UnreadOperationError("complex_path_segment", part)
        made, verb = _segment(part)
        for kind, name in made:
            if kind == "parameter" and squash(name) in _TRANSPORT:
                ignored.append(name)
            elif kind == "literal" and (VERSION.fullmatch(name) or snake(name) in noise) and (place or len(raw) > 1):
                continue
            else:
                tokens.append((kind, name))
    steps = _steps(tokens)
    first = tokens[0][1] if tokens and tokens[0][0] == "parameter" else ""
    is_namespaced = bool(raw) and raw[-1].lower().startswith(_CASTS)
    return ReadPath(steps, verb, frozenset(ignored), first, is_namespaced)


def _without_prefixes(parts: Sequence[str]) -> list[str]:
    """The parts behind the version, or behind words that every path of an API begins with."""
    head = next((place for place, part in enumerate(parts) if "{" in part), len(parts))
    versions = [place for place in range(head) if VERSION.fullmatch(parts[place]) or _SMALL.fullmatch(parts[place])]
    rest = list(parts)
    if versions:
        last = versions[-1]
        behind = rest[last + 1 :]
        # `/disputes/v1/{id}`: the name stands before the version.
        rest = behind if last + 1 < head or not last else [rest[last - 1], *behind]
    while len(rest) > 1 and "{" not in rest[0] and "{" not in rest[1] and _is_prefix(rest[0]):
        rest.pop(0)
    return rest


def _is_prefix(part: str) -> bool:
    return snake(part) in _PREFIXES or _API.fullmatch(part) is not None


def _without_providers(parts: Iterable[str]) -> list[str]:
    """Without Azure's `providers/Microsoft.Compute`."""
    rest: list[str] = []
    was_provider = False
    for part in parts:
        if was_provider and _PROVIDER.fullmatch(part):
            rest.pop()
        else:
            rest.append(part)
        was_provider = part.lower() == "providers"
    return rest


def _segment(part: str) -> tuple[list[tuple[str, str]], str]:
    """(kind, name) pairs of a segment, and the verb that its syntax marks."""
    whole = _PARAMETER.fullmatch(part)
    if whole:
        return [("parameter", whole[1])], ""
    colon = _COLON.fullmatch(part)
    if colon:
        head = _segment(colon["head"])[0] if colon["head"] else []
        return head, snake(colon["verb"])
    odata = _ODATA.fullmatch(part)
    if odata:
        return _function(odata["name"], odata["inside"])
    if "{" in part or "}" in part or "," in part or "=" in part:
        raise UnreadOperationError("complex_path_segment", part)
    if part.lower().startswith(_CASTS):
        return [], snake(part[len(_CASTS) :])
    if part.startswith("$") and len(part) > 1:
        return [], part.lower()
    return [("literal", part)], ""


def _function(name: str, inside: str) -> tuple[list[tuple[str, str]], str]:
    """`things({id})` is an item; `verb(a={a})` is not."""
    key = _ONLY_KEY.fullmatch(inside)
    if key and not name.startswith(_CASTS) and is_plural(snake(name)):
        return [("literal", name), ("parameter", key[1])], ""
    raise UnreadOperationError("function_call", f"{name}({inside})")


def _steps(tokens: Iterable[tuple[str, str]]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for kind, name in tokens:
        if kind == "literal":
            steps.append(Step(snake(name)))
        elif steps and steps[-1].literal and steps[-1].parameter is None:
            steps[-1] = Step(steps[-1].literal, name)
        elif steps and steps[-1].literal:
            # Two in a row: the collection belongs to the last one.
            last = steps.pop()
            steps += [Step("", last.parameter), Step(last.literal, name)]
        else:
            steps.append(Step("", name))
    return tuple(steps)
