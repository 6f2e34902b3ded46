"""What one operation says by itself: where it acts, how, with which inputs, and what it answers.

Which resources there are, and what an operation means among them, is decided afterwards, over all operations together
(`environments.core.compile.inference`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from environments.core.compile.semantics import ArgumentRole, PageFact, Schema
from environments.core.sources.model import Operation


class ShapeType(StrEnum):
    """The one JSON type of a shape."""

    OBJECT = "object"
    ARRAY = "array"
    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ANY = "any"
    """The document leaves it open."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A schema with references, `allOf` and variants merged into one level; what is below is shaped when asked for.

    Shapes are made once for each schema node and are never expanded into trees: the largest document would not fit.

    Attributes:
        type: Its JSON type; null is left out and noted.
        name: Name of the definition that it comes from; empty for inline schemas and for unions of several.
        properties: Schemas of an object's members, in the document's order (not merged yet: see `Shapes.of`).
        required: Names of required members; of a union, those that every variant requires.
        items: Schema of an array's items.
        values: An enum without null; empty without one.
        is_nullable: Whether null is among its values.
        is_read_only: The document says that requests do not carry it.
        is_write_only: The document says that answers do not carry it.
        is_deprecated: The document advises against it.
        examples: Examples and defaults of the schema, as given.
        default: None without one.
        description: Cleaned of mark-up, at most 400 characters.
        keywords: format, pattern, minimum, maximum, exclusive bounds, minLength, maxLength, minItems, maxItems,
            multipleOf, uniqueItems, as given.
        schema: The node itself, for `Shapes.plain`.
    """

    type: ShapeType
    name: str = ""
    properties: Mapping[str, Schema] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    items: Schema | None = None
    values: tuple[Any, ...] = ()
    is_nullable: bool = False
    is_read_only: bool = False
    is_write_only: bool = False
    is_deprecated: bool = False
    examples: tuple[Any, ...] = ()
    default: Any = None
    description: str = ""
    keywords: Mapping[str, Any] = field(default_factory=dict)
    schema: Schema = field(default_factory=dict, repr=False)

    @property
    def is_scalar(self) -> bool:
        """Whether it is one value that a column can hold as it is."""
        return self.type in (ShapeType.STRING, ShapeType.INTEGER, ShapeType.NUMBER, ShapeType.BOOLEAN)


@dataclass(frozen=True, slots=True)
class Property:
    """A member of a resource after promotion: `properties.state` of an Azure resource is one, `properties` is none.

    Attributes:
        path: From the resource's root: ("name",) or ("properties", "state").
        shape: Of its value.
        is_required: Every object on the path requires the next.
    """

    path: tuple[str, ...]
    shape: Shape
    is_required: bool

    @property
    def name(self) -> str:
        """The last name of the path, as the API writes it."""
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a path: a literal and the parameter behind it.

    Attributes:
        literal: In snake case, without version, extension and provider prefix; empty where two parameters follow each
            other (`/repos/{owner}/{repo}` is read as ("", "owner"), ("repos", "repo")).
        parameter: Name of the path parameter; None for a collection, a singleton or a fixed part.
    """

    literal: str
    parameter: str | None = None


class Act(StrEnum):
    """What method, path and name say that an operation does; the verb is already off the path."""

    ITEM = "item"
    """The path ends in a parameter; the method says the rest."""
    COLLECTION = "collection"
    """The path ends in a literal; the method says the rest."""
    LIST = "list"
    """A word says it: /search, /list, ListThings, DescribeThings."""
    GET = "get"
    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    """RPC Put: makes or replaces."""
    DELETE = "delete"
    COUNT = "count"
    ACTION = "action"
    """Any other verb, in `verb`: cancel, approve, send."""
    ADD = "add"
    """AddXToY, AssociateXWithY, Attach...: a pair, `verb` says which word."""
    REMOVE = "remove"


class Place(StrEnum):
    """Where an input travels."""

    PATH = "path"
    QUERY = "query"
    BODY = "body"
    ARGUMENT = "argument"
    """Of a tool, which has no HTTP request."""


@dataclass(frozen=True, slots=True)
class Input:
    """One input: a path or query parameter, or a member of the body after its wrapper and promotion.

    Inputs that are about the transport (keys, versions, formats, presentation, idempotency tokens) are none.

    Attributes:
        name: As the API has it, the last name of a promoted path.
        path: Of a body member, from the wrapper's inside; (name,) for parameters.
        place: Where it travels.
        shape: Of its value.
        is_required: Whether a call without it is refused.
        description: The document's words, cleaned.
        role: What its name and the family's conventions say it does beyond naming a column: PAGE, SIZE, OFFSET, CURSOR,
            AFTER, SORT, DIRECTION, SEARCH, AT_LEAST, AT_MOST, ONE_OF. None: it names a column or nothing.
        target: For AT_LEAST, AT_MOST and ONE_OF, and for filters with a decorated name (`filter[status]`,
            `status__in`), the name of the column that is meant; else its own name.
    """

    name: str
    path: tuple[str, ...]
    place: Place
    shape: Shape
    is_required: bool
    description: str = ""
    role: ArgumentRole | None = None
    target: str = ""


class Form(StrEnum):
    """What an answer holds, under its envelope."""

    ROW = "row"
    ROWS = "rows"
    SCALARS = "scalars"
    """An array of texts or numbers."""
    NUMBER = "number"
    EMPTY = "empty"
    """Nothing, or an object without known members."""
    JOB = "job"
    """A long-running operation (Google's Operation, a bare 202): the work is done at once, nothing else is known."""
    OTHER = "other"
    """Something that no rule reads."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A success answer, unwrapped.

    Attributes:
        form: What is inside.
        entity: Shape of the row, of each row, of the scalar or of the number.
        place: Path to it: () or ("data",) or ("result", "items").
        page_facts: (path, fact) pairs of what stands beside it.
        constants: (path, value) pairs of what stands beside it and can only have one value, or says that all is well:
            `("success",)` is True, `("object",)` is "list".
        one_in_list: A ROW that the document shows as an array of one.
        examples: Whole answers of the document, for rows (still wrapped).
    """

    form: Form
    entity: Shape | None = None
    place: tuple[str, ...] = ()
    page_facts: tuple[tuple[tuple[str, ...], PageFact], ...] = ()
    constants: tuple[tuple[tuple[str, ...], Any], ...] = ()
    one_in_list: bool = False
    examples: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One operation as read by itself.

    Attributes:
        operation: As its source describes it.
        source: sha256 of its document.
        method: Upper case; for tools without HTTP what their act suggests: GET, POST, DELETE.
        steps: The resource's path. RPC operations have one step, the plural of their noun, and the parameter None.
        act: What it does.
        verb: For ACTION, ADD and REMOVE: the word, in snake case.
        noun: Singular of the last literal, or of the RPC name's noun, in snake case.
        is_rpc: Whether the name, not the path, says what it does: keys then are inputs.
        inputs: Path parameters in path order, then query, then body.
        envelope: Of its success answer.
        creates: Whether the document says that it may make something new: a 201, or words like "create or update".
        body_is_list: The body is an array (a bulk operation); `inputs` then has no body members.
    """

    operation: Operation
    source: str
    method: str
    steps: tuple[Step, ...]
    act: Act
    verb: str
    noun: str
    is_rpc: bool
    inputs: tuple[Input, ...]
    envelope: Envelope
    creates: bool = False
    body_is_list: bool = False

    @property
    def literals(self) -> tuple[str, ...]:
        """The non-empty literals of its path: the name of its collection."""
        return tuple(step.literal for step in self.steps if step.literal)
