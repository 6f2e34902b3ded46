"""The schema that an example allows to conclude; what it does not show stays open."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

MAX_DEPTH: Final = 20
MAX_MEMBERS: Final = 500
MAX_ITEMS: Final = 50


def schema_of_example(value: Any, depth: int = 0) -> dict[str, Any]:
    """A schema that the value fits; nothing is required, since one example says nothing of that."""
    if depth > MAX_DEPTH:
        return {}
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int):
        return {"type": "integer"}
    if isinstance(value, float):
        return {"type": "number"}
    if isinstance(value, str):
        return {"type": "string"}
    if isinstance(value, Mapping):
        members = list(value.items())[:MAX_MEMBERS]
        return {
            "type": "object",
            "properties": {str(name): schema_of_example(part, depth + 1) for name, part in members},
        }
    if isinstance(value, list):
        items = merged([schema_of_example(part, depth + 1) for part in value[:MAX_ITEMS]])
        return {"type": "array", **({"items": items} if items else {})}
    return {}


def merged(schemas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One schema for values that fit different ones: members of objects joined, other types beside each other."""
    kinds = list(dict.fromkeys(schema["type"] for schema in schemas if "type" in schema))
    if set(kinds) == {"integer", "number"}:
        kinds = ["number"]
    if not kinds:
        return {}
    made: dict[str, Any] = {"type": kinds[0] if len(kinds) == 1 else kinds}
    if "object" in kinds:
        names = dict.fromkeys(name for schema in schemas for name in schema.get("properties", ()))
        made["properties"] = {
            name: merged([schema["properties"][name] for schema in schemas if name in schema.get("properties", ())])
            for name in list(names)[:MAX_MEMBERS]
        }
    if "array" in kinds:
        items = merged([schema["items"] for schema in schemas if "items" in schema])
        if items:
            made["items"] = items
    return made
