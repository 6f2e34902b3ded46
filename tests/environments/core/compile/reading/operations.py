"""Operations written shortly, for tests of readers."""

from collections.abc import Mapping
from typing import Any

from environments.core.compile.reading.calls import Call
from environments.core.compile.reading.families import PLAIN, Family
from environments.core.compile.reading.reading import read_call
from environments.core.compile.reading.shapes import Shapes
from environments.core.sources.model import Body, Location, Operation, Parameter, Response

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
TIME = {"type": "string", "format": "date-time"}
SOURCE = "0" * 64


def obj(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


ORDER = obj(id=TEXT, status={"type": "string", "enum": ["open", "closed"]}, total=NUMBER, created_at=TIME)


def operation(
    key: str,
    answer: Any = None,
    *,
    name: str = "",
    query: Mapping[str, Any] | None = None,
    required: tuple[str, ...] = (),
    headers: tuple[str, ...] = (),
    body: Any = None,
    media: str = "application/json",
    body_media: str = "application/json",
    status: str = "200",
    title: str = "",
    description: str = "",
    descriptions: Mapping[str, str] | None = None,
    is_deprecated: bool = False,
) -> Operation:
    method, _, path = key.partition(" ")
    names = [part.split("}")[0].lstrip("+") for part in path.split("{")[1:]]
    parameters = [Parameter(each, Location.PATH, True, TEXT) for each in names]
    parameters += [
        Parameter(each, Location.QUERY, each in required, schema, (descriptions or {}).get(each, ""))
        for each, schema in (query or {}).items()
    ]
    parameters += [Parameter(each, Location.HEADER, True, TEXT) for each in headers]
    return Operation(
        key=key,
        name=name or key.lower(),
        title=title,
        description=description,
        method=method,
        path=path,
        parameters=tuple(parameters),
        body=Body(body_media, body, True) if body is not None else None,
        responses=(Response(status, media if answer is not None else None, answer),),
        is_deprecated=is_deprecated,
    )


def call(key: str, answer: Any = None, *, family: Family = PLAIN, definitions: Any = None, **given: Any) -> Call:
    return read_call(operation(key, answer, **given), SOURCE, family, Shapes(definitions or {}))
