"""Inputs of an operation: parameters and members of the body, without what is about the transport."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from environments.core.compile.reading.calls import Act, Form, Input, Place, Shape, ShapeType
from environments.core.compile.reading.chains import Chain, parameters_of
from environments.core.compile.reading.errors import UnreadOperationError
from environments.core.compile.reading.families import DECORATIONS, Family
from environments.core.compile.reading.roles import Columns, role_of
from environments.core.compile.reading.shapes import Shapes, short_text
from environments.core.compile.reading.vocabulary import (
    BODY_NOISE,
    CURSOR,
    NOISE,
    NOISE_HEADERS,
    OFFSET,
    PAGE,
    ROW_MEMBERS,
    SIZE,
    SOFT_NOISE,
)
from environments.core.compile.reading.words import singular, snake, squash
from environments.core.sources.model import Body, Location, Operation, Parameter

_HEADER: Final = re.compile(NOISE_HEADERS)
_PRESENTING: Final = re.compile(r"\$?(fields|include|includes|expand|exists|limit|embed|select)\[", re.IGNORECASE)
"""`fields[articles]`: which parts of the answer are shown."""
_PATCH_STEPS: Final = frozenset({"op", "path"})
_BINARY: Final = ("octet-stream", "image/", "audio/", "video/", "zip", "pdf", "text/plain", "text/csv", "text/html")
_BODY_WRAPPERS: Final = ROW_MEMBERS | {"input", "request", "req", "params", "attributes", "model", "dto"}


@dataclass(frozen=True, slots=True)
class ReadBody:
    """What a request's body holds.

    Attributes:
        inputs: Its members.
        is_list: Whether it is an array of objects.
    """

    inputs: tuple[Input, ...] = ()
    is_list: bool = False


def is_paged(operation: Operation, shapes: Shapes) -> bool:
    """Whether an input pages through rows."""
    names = {squash(each.name) for each in operation.parameters if each.location is not Location.HEADER}
    if operation.body is not None:
        names |= {squash(name) for name in shapes.of(operation.body.schema).properties}
    return bool(names & (PAGE | SIZE | OFFSET | CURSOR))


def check_headers(operation: Operation) -> None:
    """Headers are never inputs.

    Raises:
        UnreadOperationError: One is required that is not about who calls and how.
    """
    for each in operation.parameters:
        if each.location is Location.HEADER and each.is_required and not _HEADER.search(squash(each.name)):
            raise UnreadOperationError("required_header_unknown", each.name)


def read_inputs(
    operation: Operation, chain: Chain, family: Family, shapes: Shapes, form: Form, columns: Columns
) -> tuple[tuple[Input, ...], bool]:
    """The operation's inputs, and whether its body is a list.

    Args:
        operation: Any.
        chain: Where it acts.
        family: Its conventions.
        shapes: Of its document.
        form: Of its answer.
        columns: Of the rows that it answers; empty if that is unknown.

    Raises:
        UnreadOperationError: The body holds no named values, or the path has a parameter that nothing describes.
    """
    reads = form in (Form.ROWS, Form.SCALARS, Form.NUMBER) and chain.act not in (Act.CREATE, Act.UPDATE, Act.REPLACE)
    is_list_call = reads and (chain.method == "GET" or chain.act in (Act.LIST, Act.GET, Act.COUNT))
    body = _body(operation, chain, family, shapes)
    given = [
        *_path_inputs(operation, chain, shapes),
        *_query_inputs(operation, chain, family, shapes, columns, body),
        *body.inputs,
    ]
    if is_list_call:
        patterns = tuple(map(re.compile, (*family.decorations, *DECORATIONS)))
        given = [_with_role(each, columns, patterns, shapes) for each in given]
    return tuple(given), body.is_list


def _with_role(each: Input, columns: Columns, patterns: tuple[re.Pattern[str], ...], shapes: Shapes) -> Input:
    if each.place is Place.PATH:
        return each
    role, target = role_of(each, columns, patterns, shapes)
    return replace(each, role=role, target=target or each.target)


# --- Parameters -------------------------------------------------------------------------------------------------------


def _path_inputs(operation: Operation, chain: Chain, shapes: Shapes) -> Iterator[Input]:
    given = {each.name: each for each in operation.parameters if each.location is Location.PATH}
    wanted = dict.fromkeys(parameters_of(chain.steps))
    # What the path holds beside its steps (`/pets/by_status/{status}`) follows.
    names = [name for name in wanted if name in given]
    path = operation.path.replace("{+", "{")
    names += [name for name in given if name not in wanted and name not in chain.ignored and f"{{{name}" in path]
    missing = [name for name in wanted if name not in given]
    if missing:
        raise UnreadOperationError("path_parameter_missing", ", ".join(missing))
    for name in names:
        yield _parameter_input(given[name], Place.PATH, shapes)


def _parameter_input(parameter: Parameter, place: Place, shapes: Shapes) -> Input:
    shape = shapes.of(parameter.schema)
    return Input(
        name=parameter.name,
        path=(parameter.name,),
        place=place,
        shape=shape,
        is_required=parameter.is_required,
        description=short_text(parameter.description) or shape.description,
        target=parameter.name,
    )


def _query_inputs(
    operation: Operation, chain: Chain, family: Family, shapes: Shapes, columns: Columns, body: ReadBody
) -> Iterator[Input]:
    in_body = {squash(each.name) for each in body.inputs}
    seen: set[str] = set()
    for parameter in operation.parameters:
        if parameter.location not in (Location.QUERY, Location.ARGUMENT):
            continue
        squashed = squash(parameter.name) or parameter.name
        if parameter.is_deprecated and not parameter.is_required:
            continue
        is_tool = parameter.location is Location.ARGUMENT
        # Some documents have an input twice, in two spellings; a sign at the end makes another one.
        key = squashed + parameter.name[-1] * (not parameter.name[-1].isalnum())
        if squashed in in_body or key in seen or _is_noise(parameter.name, squashed, columns, family, is_tool=is_tool):
            continue
        seen.add(key)
        place = Place.ARGUMENT if is_tool else Place.QUERY
        shape = shapes.of(parameter.schema)
        if shape.is_deprecated and not parameter.is_required:
            continue
        if not is_tool:
            parts = list(_range_members(parameter, shapes))
            if parts:
                yield from parts
                continue
        yield _parameter_input(parameter, place, shapes)


def _is_noise(name: str, squashed: str, columns: Columns, family: Family, *, is_tool: bool = False) -> bool:
    if is_tool:
        return squashed in BODY_NOISE
    if squashed in NOISE or squashed in family.noise or _PRESENTING.match(name):
        return True
    return squashed in SOFT_NOISE and squashed not in columns


def _range_members(parameter: Parameter, shapes: Shapes) -> Iterator[Input]:
    """Members of an object in the query, as they are written: `created[gte]`, `filter[status]`, `page[number]`."""
    for variant in shapes.variants(parameter.schema):
        if variant.type is ShapeType.OBJECT and variant.properties:
            for name, node in variant.properties.items():
                shape = shapes.of(node)
                yield Input(
                    name=f"{parameter.name}[{name}]",
                    path=(f"{parameter.name}[{name}]",),
                    place=Place.QUERY,
                    shape=shape,
                    is_required=parameter.is_required and name in variant.required,
                    description=shape.description or short_text(parameter.description),
                    target=f"{parameter.name}[{name}]",
                )
            return


# --- Body -------------------------------------------------------------------------------------------------------------


def _body(operation: Operation, chain: Chain, family: Family, shapes: Shapes) -> ReadBody:
    body = operation.body
    if body is None or (operation.method == "GET"):
        return ReadBody()
    shape = shapes.of(body.schema)
    _check_body(body, shape, shapes)
    if shape.type is ShapeType.ARRAY:
        return ReadBody(is_list=True)
    if not shape.properties:
        return ReadBody()
    shape = _unwrapped(shape, chain, family, shapes)
    return ReadBody(tuple(_members(shape, body, family, shapes)))


def _check_body(body: Body, shape: Shape, shapes: Shapes) -> None:
    media = body.media_type.lower()
    if "json-patch" in media:
        raise UnreadOperationError("json_patch_body")
    if any(kind in media for kind in _BINARY) and not shape.properties:
        if not body.is_required and shape.type is ShapeType.ANY:
            return  # an empty request that some tool gave a media type
        raise UnreadOperationError("binary_or_text_body", media)
    if any(_is_binary(shapes.of(node), shapes) for node in shape.properties.values()):
        raise UnreadOperationError("binary_or_text_body", "a member is a file")
    if shape.type is ShapeType.ARRAY:
        item = shapes.of(shape.items)
        if item.properties.keys() >= _PATCH_STEPS:
            raise UnreadOperationError("json_patch_body")
        if item.type is not ShapeType.OBJECT:
            raise UnreadOperationError("unstructured_body", "a list of bare values")
    elif shape.is_scalar:
        raise UnreadOperationError("binary_or_text_body" if _is_binary(shape, shapes) else "unstructured_body")
    elif not shape.properties and (
        isinstance(shape.schema.get("additionalProperties"), Mapping)
        or (body.is_required and shape.type is ShapeType.ANY)
    ):
        raise UnreadOperationError("unstructured_body", "a map")


def _is_binary(shape: Shape, shapes: Shapes) -> bool:
    if shape.type is ShapeType.ARRAY:
        shape = shapes.of(shape.items)
    return shape.type is ShapeType.STRING and shape.keywords.get("format") == "binary"


def _unwrapped(shape: Shape, chain: Chain, family: Family, shapes: Shapes) -> Shape:
    """The object that holds the members, out of one that holds nothing else."""
    wrappers = [name for name in shape.properties if name in family.wrappers]
    if wrappers:
        inner = shapes.of(shape.properties[wrappers[0]])
        if inner.type is ShapeType.OBJECT and inner.properties:
            return inner
    if len(shape.properties) == 1:
        name, node = next(iter(shape.properties.items()))
        inner = shapes.of(node)
        noun, mine = squash(chain.noun), squash(singular(snake(name)))
        is_noun = bool(noun) and (mine == noun or noun.endswith(mine) or mine.endswith(noun))
        is_wrapper = is_noun or squash(name) in _BODY_WRAPPERS
        if inner.type is ShapeType.OBJECT and inner.properties and is_wrapper and name not in family.promoted:
            return inner
    return shape


def _members(shape: Shape, body: Body, family: Family, shapes: Shapes) -> Iterator[Input]:
    for each in shapes.properties(shape, family.promoted):
        squashed = squash(each.name)
        if each.shape.is_read_only or (each.shape.is_deprecated and not each.is_required):
            continue
        if squashed in family.body_noise or squashed in BODY_NOISE:
            continue
        yield Input(
            name=each.name,
            path=each.path,
            place=Place.BODY,
            shape=each.shape,
            is_required=each.is_required,
            description=each.shape.description,
            target=each.name,
        )
