"""Types as tool lists write them, from `STRING` to `Optional[List[str]]`, as JSON Schema."""

import re
from collections.abc import Mapping
from typing import Any, Final

MAX_LENGTH: Final = 300
MAX_WORD_DEPTH: Final = 6
MAX_SCHEMA_DEPTH: Final = 48

_SIMPLE: Final[dict[str, dict[str, Any]]] = {
    "str": {"type": "string"}, "string": {"type": "string"}, "text": {"type": "string"}, "char": {"type": "string"},
    "int": {"type": "integer"}, "integer": {"type": "integer"}, "long": {"type": "integer"},
    "float": {"type": "number"}, "double": {"type": "number"}, "number": {"type": "number"},
    "decimal": {"type": "number"}, "numeric": {"type": "number"}, "complex": {"type": "string"},
    "bool": {"type": "boolean"}, "boolean": {"type": "boolean"},
    "list": {"type": "array"}, "array": {"type": "array"}, "tuple": {"type": "array"}, "sequence": {"type": "array"},
    "iterable": {"type": "array"}, "set": {"type": "array", "uniqueItems": True}, "frozenset": {"type": "array"},
    "dict": {"type": "object"}, "object": {"type": "object"}, "map": {"type": "object"}, "hash": {"type": "object"},
    "mapping": {"type": "object"}, "json": {"type": "object"}, "struct": {"type": "object"},
    "null": {"type": "null"}, "none": {"type": "null"}, "nonetype": {"type": "null"},
    "any": {}, "": {}, "callable": {"type": "string"}, "enum": {"type": "string"},
    "date": {"type": "string", "format": "date"}, "datetime": {"type": "string", "format": "date-time"},
    "date-time": {"type": "string", "format": "date-time"}, "timestamp": {"type": "string", "format": "date-time"},
    "time": {"type": "string", "format": "time"}, "uuid": {"type": "string", "format": "uuid"},
    "url": {"type": "string", "format": "uri"}, "uri": {"type": "string", "format": "uri"},
    "email": {"type": "string", "format": "email"}, "file": {"type": "string", "format": "binary"},
    "binary": {"type": "string", "format": "binary"}, "bytes": {"type": "string", "format": "binary"},
    "geopoint (latitude, longitude)": {"type": "string"},
}  # fmt: skip
_GENERIC: Final = re.compile(r"^([A-Za-z_.]+)\s*[\[<(](.*)[\])>]$")
_ASIDE: Final = re.compile(r"(?:,\s*|\s+|^|\()(optional|required|default\b[^()]*)\)?\s*$", re.IGNORECASE)
_NOTHING: Final = frozenset({"none", "null", "nonetype"})
_MAPS: Final = frozenset({"dict", "mapping", "map", "defaultdict"})
_LISTS: Final = frozenset({"list", "array", "sequence", "iterable", "set", "tuple", "frozenset"})
_SCHEMA_MAPS: Final = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_SCHEMA_KEYS: Final = frozenset({"items", "additionalProperties", "not", "contains", "propertyNames"})
_SCHEMA_LISTS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems", "items"})


def schema_of_words(words: Any) -> tuple[dict[str, Any], bool]:
    """The schema that a type's words stand for, and whether they say that the value may be left out.

    Args:
        words: `str`, `STRING`, `List[int]`, `string[]`, `str, optional`, `Optional[dict]`, `Union[int, str]`,
            `int | None`, `Literal['a', 'b']`.

    Returns:
        An empty schema for words that stand for nothing known.
    """
    if not isinstance(words, str) or len(words) > MAX_LENGTH:
        return {}, False
    plain = words.strip()
    is_optional = False
    while match := _ASIDE.search(plain):
        is_optional = is_optional or match[1].lower() != "required"
        plain = plain[: match.start()].strip()
    schema, is_nullable = _parse(plain, 0)
    return schema, is_optional or is_nullable


def _parse(words: str, depth: int) -> tuple[dict[str, Any], bool]:
    simple = words.lower().removeprefix("typing.")
    if simple in _SIMPLE:
        return dict(_SIMPLE[simple]), False
    if depth > MAX_WORD_DEPTH:
        return {}, False
    alternatives = _split(words, "|")
    if len(alternatives) > 1:
        return _union(alternatives, depth)
    if words.endswith("[]"):
        return _array(_parse(words[:-2].strip(), depth + 1)[0]), False
    match = _GENERIC.match(words)
    if match is None:
        return {}, False
    return _generic(match[1].lower().removeprefix("typing."), match[2].strip(), depth)


def _generic(name: str, inside: str, depth: int) -> tuple[dict[str, Any], bool]:
    inner = _split(inside, ",")
    if name == "optional":
        return _parse(inside, depth + 1)[0], True
    if name == "union":
        return _union(inner, depth)
    if name == "literal":
        return {"enum": [_literal(part) for part in inner]}, False
    if name in _MAPS:
        values = _parse(inner[-1], depth + 1)[0] if len(inner) == 2 else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}, False
    if name in _LISTS:
        parts = [part for part in inner if part != "..."]
        return _array(_parse(parts[0], depth + 1)[0] if parts and parts == parts[:1] * len(parts) else {}), False
    return dict(_SIMPLE.get(name, {})), False


def _array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", **({"items": items} if items else {})}


def _union(parts: list[str], depth: int) -> tuple[dict[str, Any], bool]:
    given = [part for part in parts if part.lower() not in _NOTHING]
    schemas = [_parse(part, depth + 1)[0] for part in given]
    is_nullable = len(given) < len(parts)
    if len(schemas) == 1:
        return schemas[0], is_nullable
    return ({"anyOf": schemas} if schemas and all(schemas) else {}), is_nullable


def _literal(words: str) -> str | int:
    plain = words.strip("'\" ")
    return int(plain) if plain == words.strip() and re.fullmatch(r"-?[0-9]{1,18}", plain) else plain


def _split(words: str, mark: str) -> list[str]:
    """Parts between marks that stand in no bracket."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(words):
        depth += (character in "[<(") - (character in "])>")
        if character == mark and depth == 0:
            parts.append(words[start:position].strip())
            start = position + 1
    return [*parts, words[start:].strip()]


def plain_schema(node: Any, depth: int = 0) -> dict[str, Any]:
    """A schema whose types may be words of Python or of other lists, with JSON Schema's types instead.

    Everything else stays as it is: missing `required`, maps, untyped values, `$ref`s into the tool's own `$defs`.
    """
    if not isinstance(node, Mapping) or depth > MAX_SCHEMA_DEPTH:
        return {}
    made: dict[str, Any] = {}
    for key, value in node.items():
        if key == "type":
            made.update(_types(value))
        elif key in _SCHEMA_MAPS and isinstance(value, Mapping):
            made[key] = {name: _part(part, depth) for name, part in value.items()}
        elif key in _SCHEMA_KEYS and isinstance(value, Mapping):
            made[key] = plain_schema(value, depth + 1)
        elif key in _SCHEMA_LISTS and isinstance(value, list):
            made[key] = [_part(part, depth) for part in value]
        else:
            made[key] = value
    return made


def _part(node: Any, depth: int) -> Any:
    """A member; what is no schema stays for the reader to note."""
    if isinstance(node, str):  # `{"city": "string"}`
        return schema_of_words(node)[0]
    return plain_schema(node, depth + 1) if isinstance(node, Mapping) else node


def _types(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        kinds = [schema_of_words(each)[0].get("type") for each in value[:10]]
        return {"type": [kind for kind in dict.fromkeys(kinds) if kind]} if any(kinds) else {}
    return schema_of_words(value)[0]
