"""From an operation to a `Call`, or to the reason why it can't be read."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from environments.core.compile.reading.calls import Act, Call, Envelope, Form, Shape, ShapeType, Step
from environments.core.compile.reading.chains import Chain, chain_of
from environments.core.compile.reading.envelopes import read_envelope
from environments.core.compile.reading.errors import UnreadOperationError
from environments.core.compile.reading.families import Family, Naming
from environments.core.compile.reading.inputs import check_headers, is_paged, read_inputs
from environments.core.compile.reading.shapes import Shapes
from environments.core.compile.reading.words import is_plural, snake, squash
from environments.core.sources.model import Operation, success_response

__all__ = ["UnreadOperationError", "read_call"]

MAX_SAID: Final = 160
"""Characters of a title or description that may say that something is made."""

_MAKES: Final = r"(creates?|adds?|inserts?|registers?)"
_CHANGES: Final = r"(updates?|replaces?|modif(y|ies)|overwrites?|edits?)"
_CREATING: Final = re.compile(
    rf"^({_MAKES}|upserts?)\b|\bupsert|\b{_MAKES}\b( an?| new)*\s*(or|/|and/or|and)\s*{_CHANGES}\b|"
    rf"\b{_CHANGES}\s*(or|/|and/or)\s*{_MAKES}\b|"
    rf"\b{_MAKES}\b[^.]{{0,60}}\b(if|when)\b[^.]{{0,30}}\b(no|not|none|never|n't)\b"
)
_CREATING_NAME: Final = re.compile(
    r"(^|_)(upsert|createorupdate|(create|add|insert)_or_\w+|\w+_or_(create|insert))(_|$)"
)
_CHANGING: Final = re.compile(rf"{_CHANGES}\b")
_KEYS: Final = frozenset({"ids", "id", "keys"})
_JSON_LIKE: Final = ("json", "*/*", "xml", "form", "text/plain")


def read_call(operation: Operation, source: str, family: Family, shapes: Shapes) -> Call:
    """What the operation says by itself.

    Args:
        operation: As its document has it.
        source: sha256 of the document.
        family: The document's conventions.
        shapes: Of the document.

    Raises:
        UnreadOperationError: With the reason code.
    """
    if operation.is_deprecated:
        raise UnreadOperationError("deprecated")
    for pattern, reason in _leave_out(family):
        if pattern.search(f"{operation.key} {operation.name}"):
            raise UnreadOperationError(reason)
    check_headers(operation)
    _check_answer(operation, shapes)
    chain = chain_of(operation, family)
    if not chain.noun:
        raise UnreadOperationError("no_resource_in_path", operation.path)
    envelope = read_envelope(operation, chain, family, shapes, is_paged=is_paged(operation, shapes))
    columns = _columns(envelope, family, shapes)
    chain = _as_lookup(chain, envelope, columns)
    inputs, body_is_list = read_inputs(operation, chain, family, shapes, envelope.form, columns)
    return Call(
        operation=operation,
        source=source,
        method=chain.method,
        steps=chain.steps,
        act=chain.act,
        verb=chain.verb,
        noun=chain.noun,
        is_rpc=chain.is_rpc,
        inputs=inputs,
        envelope=envelope,
        creates=operation.method in ("PUT", "POST") and _creates(operation, family),
        body_is_list=body_is_list,
    )


@lru_cache(64)
def _leave_out(family: Family) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(each.pattern), each.reason) for each in family.leave_out)


def _check_answer(operation: Operation, shapes: Shapes) -> None:
    """Answers without structure are no rows.

    Raises:
        UnreadOperationError: The operation gives a file or a page.
    """
    answer = success_response(operation)
    if answer is None or not answer.media_type:
        return
    media = answer.media_type.lower()
    shape = shapes.of(answer.schema)
    if shape.properties or shape.items is not None or shape.type in (ShapeType.INTEGER, ShapeType.NUMBER):
        return
    is_file = shape.keywords.get("format") == "binary"
    if (
        is_file
        or not any(kind in media for kind in _JSON_LIKE)
        or (operation.method == "GET" and media == "text/plain")
    ):
        raise UnreadOperationError("non_json_response", media)


def _columns(envelope: Envelope, family: Family, shapes: Shapes) -> Mapping[str, Shape]:
    """The members of the rows that an answer shows, by squashed name; the first of a name counts."""
    if envelope.entity is None or envelope.form not in (Form.ROW, Form.ROWS):
        return {}
    found: dict[str, Shape] = {}
    for each in shapes.properties(envelope.entity, family.promoted):
        found.setdefault(squash(each.name), each.shape)
        found.setdefault(squash("".join(each.path)), each.shape)
    return found


def _as_lookup(chain: Chain, envelope: Envelope, columns: Mapping[str, Shape]) -> Chain:
    """`/products/status/{status}`, `/skus/ids`: the path goes on to a value of the rows, not to another resource."""
    is_keys = chain.steps[-1].literal in _KEYS and envelope.form is Form.SCALARS and chain.act is Act.COLLECTION
    if is_keys and chain.method == "GET" and len(chain.steps) > 1 and chain.steps[-2].parameter is None:
        return replace(chain, steps=chain.steps[:-1], act=Act.LIST)
    if chain.act is not Act.ITEM or chain.method != "GET" or len(chain.steps) < 2 or chain.is_rpc:
        return chain
    *above, last = chain.steps
    before = above[-1]
    is_value = squash(last.literal) == squash(last.parameter or "") and columns.get(squash(last.literal)) is not None
    if not is_value or before.parameter is not None or not is_plural(before.literal):
        return chain
    if not columns[squash(last.literal)].is_scalar:
        return chain
    act = Act.LIST if envelope.form is Form.ROWS else Act.GET
    return replace(chain, steps=(*above[:-1], Step(before.literal)), act=act)


def _creates(operation: Operation, family: Family) -> bool:
    if any(response.status == "201" for response in operation.responses):
        return True
    name = snake(operation.name)
    if _CREATING_NAME.search(name) or (family.naming is Naming.VERB_NAME and name.split("_")[0] == "put"):
        return True
    title, text = operation.title.lower(), operation.description[:MAX_SAID].lower()
    if _CREATING.search(title):
        return True
    return _CREATING.search(text) is not None and _CHANGING.match(title) is None
