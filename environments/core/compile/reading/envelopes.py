"""What a success answer holds: the row or rows under whatever envelope, and what stands beside them.

Precision goes before yield: an answer that could be read in two ways is `Form.OTHER`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from environments.core.compile.reading.calls import Act, Envelope, Form, Shape, ShapeType
from environments.core.compile.reading.chains import Chain
from environments.core.compile.reading.families import Family
from environments.core.compile.reading.page_facts import names_of_totals, page_facts
from environments.core.compile.reading.shapes import Shapes
from environments.core.compile.reading.vocabulary import (
    COUNT,
    FAILURE,
    HERE,
    IDENTITY_MEMBERS,
    LIST_MEMBERS,
    META_MEMBERS,
    META_PATTERN,
    NOT_ROWS,
    NUM_PAGES,
    ROW_MEMBERS,
    STATUS_CODES,
    SUCCESS,
    TOTAL,
)
from environments.core.compile.reading.words import is_plural, singular, snake, squash
from environments.core.compile.semantics import PageFact
from environments.core.sources.model import Operation, Response, success_response

MAX_DEPTH: Final = 4
"""Envelopes inside one another."""

_META: Final = re.compile(META_PATTERN)
_JOB_NAMES: Final = re.compile(r"(google)?(longrunning|long_running_?)?operation", re.IGNORECASE)
_LIST_NAME: Final = re.compile(
    r"(list|page|paged\w*|collection)(results?|response|output|dto|model|v\d)*$|^(list|paged|search)", re.IGNORECASE
)
_NUMBERS: Final = frozenset({ShapeType.INTEGER, ShapeType.NUMBER})
_COUNTS: Final = frozenset({"count", "total", "value", "result", "size", "number"}) | TOTAL
_COUNTED: Final = TOTAL | HERE | NUM_PAGES | COUNT
_ONE_IN_LIST: Final = frozenset({"data", "result", "results", "value", "response"})
"""Arrays that APIs with one form of answer show single rows in, too."""
_ONE_OF_MANY: Final = frozenset({Act.ITEM, Act.GET, Act.CREATE, Act.UPDATE, Act.REPLACE})


@dataclass(frozen=True, slots=True)
class _Expected:
    """What an operation is asked for.

    Attributes:
        noun: Squashed singular of its resource.
        is_many: Whether several rows are expected.
        is_one: Whether one row is.
        is_new: Whether that is a new one.
        is_paged: Whether its inputs page through rows.
    """

    noun: str
    is_many: bool
    is_one: bool
    is_new: bool
    is_paged: bool


@dataclass(frozen=True, slots=True)
class _Found:
    form: Form
    entity: Shape | None = None
    place: tuple[str, ...] = ()
    beside: tuple[tuple[tuple[str, ...], Shape], ...] = ()
    """Envelopes on the way, outermost first, with their place."""
    is_one: bool = False


def read_envelope(operation: Operation, chain: Chain, family: Family, shapes: Shapes, *, is_paged: bool) -> Envelope:
    """The operation's success answer, unwrapped.

    Args:
        operation: Any.
        chain: What it does.
        family: Its conventions.
        shapes: Of its document.
        is_paged: Whether one of its inputs is a page, offset, cursor or size.
    """
    answer = success_response(operation)
    if answer is None or answer.schema is None:
        return Envelope(_form_without_schema(operation, chain))
    expected = _expected(chain, is_paged=is_paged)
    top = shapes.of(answer.schema)
    if _is_job(top, expected, family):
        return Envelope(Form.JOB)
    if family.empty_answers and re.search(family.empty_answers, top.name):
        return Envelope(Form.EMPTY)
    if _is_text(answer) and top.type not in (ShapeType.OBJECT, ShapeType.ARRAY, *_NUMBERS):
        return Envelope(Form.OTHER)
    found = _Unwrapping(shapes, family, expected).unwrap(top, (), 0)
    facts: tuple[tuple[tuple[str, ...], PageFact], ...] = ()
    if found.form in (Form.ROWS, Form.SCALARS):
        facts = tuple(page_facts(found.beside, found.place, shapes, is_paged=is_paged, noun=expected.noun))
    return Envelope(
        form=found.form,
        entity=found.entity,
        place=found.place,
        page_facts=facts,
        constants=tuple(_constants(found, answer, shapes, {path for path, _ in facts})),
        one_in_list=found.is_one,
        examples=answer.examples or _whole_examples(top),
    )


def _form_without_schema(operation: Operation, chain: Chain) -> Form:
    if any(response.status == "202" for response in operation.responses) and chain.method != "GET":
        successes = [response for response in operation.responses if response.status[:1] == "2"]
        if all(response.status == "202" for response in successes):
            return Form.JOB
    return Form.EMPTY


def _expected(chain: Chain, *, is_paged: bool) -> _Expected:
    last = chain.steps[-1]
    is_collection = chain.act is Act.COLLECTION and chain.method == "GET"
    is_plural_name = is_plural(last.literal) or (singular(last.literal) == last.literal and is_paged)
    is_many = chain.act is Act.LIST or (is_collection and is_plural_name) or (chain.act is Act.GET and chain.names_many)
    is_create = chain.act is Act.CREATE or (chain.act is Act.COLLECTION and chain.method == "POST")
    is_one = chain.act in _ONE_OF_MANY or is_create
    return _Expected(squash(chain.noun), is_many, is_one and not is_many, is_create, is_paged)


def _is_job(shape: Shape, expected: _Expected, family: Family) -> bool:
    """Google's long-running operations; the operation as a resource of its own is a row."""
    if family.name != "google" or expected.noun == "operation":
        return False
    names = {squash(name) for name in shape.properties}
    is_generic = bool(_JOB_NAMES.fullmatch(shape.name)) and {"name"} <= names
    return is_generic and ({"done"} <= names or {"operationtype"} <= names or {"status", "targetlink"} <= names)


def _is_text(answer: Response) -> bool:
    media = answer.media_type or ""
    return bool(media) and "json" not in media and media != "*/*"


def _whole_examples(top: Shape) -> tuple[Any, ...]:
    kind = list if top.type is ShapeType.ARRAY else dict
    return tuple(each for each in top.examples if isinstance(each, kind))


_MARKS: Final = SUCCESS | (STATUS_CODES - {"status", "code"})


class _Unwrapping:
    """Looks for the rows inside an answer."""

    def __init__(self, shapes: Shapes, family: Family, expected: _Expected) -> None:
        self._shapes = shapes
        self._family = family
        self._expected = expected
        self._totals = names_of_totals(expected.noun)

    def unwrap(self, shape: Shape, place: tuple[str, ...], depth: int) -> _Found:
        if shape.type is ShapeType.ARRAY:
            return self._array(shape, place)
        if shape.type in _NUMBERS:
            return _Found(Form.NUMBER, shape, place)
        if shape.type is ShapeType.ANY:
            is_open = not shape.keywords and not shape.examples and not shape.values and not place
            return _Found(Form.EMPTY if is_open and not self._expected.is_many else Form.OTHER, place=place)
        if shape.type is not ShapeType.OBJECT:
            return _Found(Form.OTHER, place=place)
        if not shape.properties:
            is_map = isinstance(shape.schema.get("additionalProperties"), Mapping)
            return _Found(Form.OTHER if is_map or place else Form.EMPTY, place=place)
        return self._object(shape, place, depth)

    def _array(self, shape: Shape, place: tuple[str, ...]) -> _Found:
        item = self._shapes.of(shape.items)
        if item.is_scalar:
            return _Found(Form.SCALARS, item, place)
        if item.type is not ShapeType.OBJECT or not item.properties:
            return _Found(Form.OTHER, place=place)
        only = self._shapes.of(next(iter(item.properties.values()))) if len(item.properties) == 1 else None
        if only is not None and ((only.type is ShapeType.OBJECT and only.properties) or only.type is ShapeType.ARRAY):
            return _Found(Form.OTHER, place=place)  # each row in an envelope of its own
        return _Found(Form.ROWS, item, place)

    # --- Objects ----------------------------------------------------------------------------------------------------

    def _object(self, shape: Shape, place: tuple[str, ...], depth: int) -> _Found:
        members = {name: self._shapes.of(node) for name, node in shape.properties.items()}
        if depth < MAX_DEPTH:
            found = self._list_inside(shape, members, place) or self._row_inside(members, place, depth)
            if found is not None:
                return _Found(found.form, found.entity, found.place, ((place, shape), *found.beside), found.is_one)
        number = self._number(members)
        if number is not None:
            return _Found(Form.NUMBER, members[number], (*place, number), ((place, shape),))
        if not self._expected.is_many and self._says_only_that_all_is_well(members):
            return _Found(Form.EMPTY, None, place, ((place, shape),))
        has_lists = any(self._is_list(each) for each in members.values())
        if self._expected.is_many and has_lists and not self._has_identity(members):
            return _Found(Form.OTHER, place=place)
        return _Found(Form.ROW, shape, place)

    def _is_list(self, shape: Shape) -> bool:
        return shape.type is ShapeType.ARRAY and shape.items is not None

    def _is_meta(self, name: str, shape: Shape) -> bool:
        squashed = squash(name)
        if shape.type in _NUMBERS and (squashed in _COUNTED | self._totals or squashed.endswith("count")):
            return True
        return squashed in META_MEMBERS or bool(_META.search(squashed)) or name.startswith(("@", "$", "_links"))

    def _has_identity(self, members: Mapping[str, Shape]) -> bool:
        noun = self._expected.noun
        own = {f"{noun}id", f"{noun}name", f"{noun}arn", f"{noun}key", f"{noun}uuid", noun} if noun else set()
        return any(squash(name) in IDENTITY_MEMBERS | own and shape.is_scalar for name, shape in members.items())

    def _is_marked(self, members: Mapping[str, Shape]) -> bool:
        """Whether an object says of itself that it is an answer: it has a status code, and no identity."""
        return any(squash(name) in _MARKS and each.is_scalar for name, each in members.items())

    def _is_named_after(self, name: str) -> bool:
        """Whether a member is called as the resource is."""
        noun, mine = self._expected.noun, squash(singular(snake(name)))
        return bool(noun) and (mine == noun or _is_tail(noun, mine) or _is_tail(mine, noun))

    def _list_inside(self, shape: Shape, members: Mapping[str, Shape], place: tuple[str, ...]) -> _Found | None:
        arrays = {name: each for name, each in members.items() if self._is_list(each) and squash(name) not in NOT_ROWS}
        if not arrays:
            return None
        name = self._picked(arrays)
        if name is None:
            return None
        is_marked = squash(name) in LIST_MEMBERS and self._is_marked(members)
        rest = [
            other for other, each in members.items()
            if other != name and not self._is_meta(other, each) and not self._is_family_noise(other)
            and not (is_marked and each.is_scalar)
        ]  # fmt: skip
        is_strong = squash(name) in LIST_MEMBERS
        pages = any(True for _ in page_facts((((), shape),), (name,), self._shapes, is_paged=True))
        is_envelope = pages or bool(_LIST_NAME.search(shape.name))
        if self._has_identity(members) and not (is_strong and is_envelope and self._expected.is_many):
            return None
        if rest and not (is_envelope and self._expected.is_many and (is_strong or self._is_named_after(name))):
            return None
        if not self._expected.is_many and not pages and not is_strong and not self._is_named_after(name):
            return None  # a row that holds nothing but a list
        found = self._array(arrays[name], (*place, name))
        is_single = squash(name) in _ONE_IN_LIST or self._is_named_after(name)
        if self._expected.is_one and not self._expected.is_new and found.form is Form.ROWS and not pages and is_single:
            return _Found(Form.ROW, found.entity, found.place, is_one=True)
        return found

    def _picked(self, arrays: Mapping[str, Shape]) -> str | None:
        """The array that holds the rows; None if several could."""
        rich = [name for name, each in arrays.items() if not self._shapes.of(each.items).is_scalar]
        named = [name for name in rich or arrays if self._is_named_after(name)]
        exact = [name for name in named if squash(singular(snake(name))) == self._expected.noun]
        for candidates in (exact, named):
            if len(candidates) == 1:
                return candidates[0]
        strong = [name for name in rich or arrays if squash(name) in LIST_MEMBERS]
        if len(strong) == 1:
            return strong[0]
        if len(rich) == 1:
            return rich[0]
        return next(iter(arrays)) if len(arrays) == 1 else None

    def _row_inside(self, members: Mapping[str, Shape], place: tuple[str, ...], depth: int) -> _Found | None:
        inner = {
            name: each
            for name, each in members.items()
            if each.type is ShapeType.OBJECT and each.properties and not self._is_plain_meta(name)
        }
        if not inner and len(members) == 1:
            return self._empty_wrapper(members, place)
        if len(inner) != 1 or self._has_identity(members):
            return None
        name, shape = next(iter(inner.items()))
        is_generic = squash(name) in ROW_MEMBERS | self._family.wrappers
        is_marked = is_generic and self._is_marked(members)
        others = [
            other for other, each in members.items()
            if other != name and not self._is_meta(other, each) and not (is_marked and each.is_scalar)
        ]  # fmt: skip
        if others or not (is_generic or self._is_named_after(name)) or name in self._family.promoted:
            return None
        if len(members) > 1 and not is_generic and squash(singular(snake(name))) != self._expected.noun:
            return None
        return self.unwrap(shape, (*place, name), depth + 1)

    def _empty_wrapper(self, members: Mapping[str, Shape], place: tuple[str, ...]) -> _Found | None:
        """`{data: {}}`: the form of all answers, with nothing in it."""
        name, shape = next(iter(members.items()))
        is_wrapper = squash(name) in ROW_MEMBERS | self._family.wrappers and shape.type is ShapeType.OBJECT
        if not is_wrapper or isinstance(shape.schema.get("additionalProperties"), Mapping) or self._expected.is_many:
            return None
        return _Found(Form.EMPTY, None, place)

    def _is_plain_meta(self, name: str) -> bool:
        squashed = squash(name)
        return (squashed in META_MEMBERS or bool(_META.search(squashed))) and squashed not in ROW_MEMBERS

    def _is_family_noise(self, name: str) -> bool:
        return squash(name) in self._family.body_noise

    def _number(self, members: Mapping[str, Shape]) -> str | None:
        """The only number of an answer that counts."""
        numbers = [name for name, each in members.items() if each.type in _NUMBERS and squash(name) in _COUNTS]
        rest = [name for name, each in members.items() if name not in numbers and squash(name) not in META_MEMBERS]
        return numbers[0] if len(numbers) == 1 and not rest and not self._expected.is_one else None

    def _says_only_that_all_is_well(self, members: Mapping[str, Shape]) -> bool:
        names = {squash(name) for name in members}
        said = SUCCESS | FAILURE | STATUS_CODES | {"message", "msg", "errors", "result", "deleted", "messages"}
        is_short = names <= said and all(
            each.is_scalar or squash(name) in FAILURE | {"errors", "messages"} for name, each in members.items()
        )
        return is_short and bool(names & (SUCCESS | FAILURE | STATUS_CODES | {"message", "msg"}))


def _is_tail(word: str, tail: str) -> bool:
    return len(tail) > 3 and word.endswith(tail)


# --- What stands beside -----------------------------------------------------------------------------------------------


def _constants(
    found: _Found, answer: Response, shapes: Shapes, taken: Iterable[tuple[str, ...]]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    known = set(taken)
    for place, shape in found.beside:
        for name, node in shape.properties.items():
            path = (*place, name)
            if path in known or path == found.place[: len(path)]:
                continue
            each = shapes.of(node)
            value = _only_value(name, each, answer)
            if value is not None:
                yield path, value


def _only_value(name: str, shape: Shape, answer: Response) -> Any:
    """The value that a member has in every success, if the document says it."""
    squashed = squash(name)
    if len(shape.values) == 1:
        return shape.values[0]
    if shape.type is ShapeType.BOOLEAN and squashed in SUCCESS:
        return True
    if shape.type is ShapeType.BOOLEAN and squashed in FAILURE:
        return False
    if shape.type is ShapeType.INTEGER and squashed in STATUS_CODES and answer.status.isdigit():
        return int(answer.status)
    if squashed in ("kind", "object", "type", "apiversion") and isinstance(shape.default, str):
        return shape.default
    return None
