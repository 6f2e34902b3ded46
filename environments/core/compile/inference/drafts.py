"""Tables while they are being found: everything may still change, until `meanings.Schema` makes them final."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from environments.core.compile.inference.key_names import key_name
from environments.core.compile.reading.calls import Call, Property, Shape, Step
from environments.core.compile.reading.families import Family
from environments.core.compile.reading.shapes import Shapes
from environments.core.compile.reading.words import singular, squash
from environments.core.compile.semantics import ColumnRole, Generated, Part, Value, ValueKind

Collection = tuple[str, ...]
"""The literals of a path: what names a collection, whatever its parameters are called."""


_IDS = ("id", "sid", "gid", "uuid", "arn")


class LeftOutError(Exception):
    """An operation whose meaning is not certain.

    Attributes:
        reason: Stable code.
        detail: For people.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


@dataclass(slots=True, eq=False)
class ColumnDraft:
    """A column that may still change."""

    name: str
    kind: ValueKind
    path: tuple[str, ...] = ()
    shape: Shape | None = None
    role: ColumnRole = ColumnRole.PLAIN
    values: tuple[Any, ...] = ()
    is_required: bool = False
    is_secret: bool = False
    generated: Generated | None = None
    template: tuple[str | Part, ...] = ()
    default: Value = None
    target: "TableDraft | None" = None
    """The table whose key it holds."""
    embedded: Shape | None = None
    """The object in whose place the key is shown, of a reference that is one."""

    @property
    def description(self) -> str:
        """The document's words."""
        return self.shape.description if self.shape is not None else ""


@dataclass(slots=True, eq=False)
class TableDraft:
    """A table that may still change.

    Attributes:
        noun: Singular, snake case.
        entity: Shape that shows the most of a row.
        collections: Every path collection that is about its rows; the first one is its home.
        calls: Operations of these collections.
        by_name: Columns by the squashed last name of their property, and by the squashed whole path.
        scope: Columns for what stands above the row in its path, by `Service.mark`.
        constants: Values that every row shows, by place.
        key: Names the row below its scope.
    """

    noun: str
    entity: Shape
    shapes: Shapes
    family: Family
    name: str = ""
    collections: list[Collection] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    columns: dict[str, ColumnDraft] = field(default_factory=dict)
    by_name: dict[str, ColumnDraft] = field(default_factory=dict)
    scope: dict[str, ColumnDraft] = field(default_factory=dict)
    key: ColumnDraft | None = None
    primary_key: list[ColumnDraft] = field(default_factory=list)
    parents: list["ParentKey"] = field(default_factory=list)
    key_parameters: set[str] = field(default_factory=set)
    """Squashed names of path parameters that give the key."""
    other_parameters: set[str] = field(default_factory=set)
    """Squashed names of path parameters that give another table's key, although they stand in its place."""
    link: "tuple[TableDraft, TableDraft] | None" = None
    """The two ends, of a link table."""
    constants: dict[tuple[str, ...], str] = field(default_factory=dict)
    nested: dict[tuple[str, ...], "TableDraft"] = field(default_factory=dict)
    """Arrays of the entity that another table holds: they are not shown."""

    def column_for(self, name: str) -> ColumnDraft | None:
        """The column that a property, parameter or path of that name means."""
        return self.by_name.get(squash(name))

    def short(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """A path without the member that the family wraps around its resources."""
        return path[1:] if len(path) > 1 and path[0] in self.family.promoted else path

    def column_of(self, path: tuple[str, ...]) -> ColumnDraft | None:
        """The column of a property."""
        return self.by_name.get(squash("".join(self.short(path))))

    def column_at(self, path: tuple[str, ...]) -> ColumnDraft | None:
        """The column that an input of that place means: `sim` may set `sim_sid`."""
        name = squash("".join(self.short(path)))
        return next(
            (self.by_name[each] for each in (name, *(name + tail for tail in _IDS)) if each in self.by_name), None
        )

    def properties(self, shape: Shape) -> tuple[Property, ...]:
        """The members of a shape after the family's promotion."""
        return self.shapes.properties(shape, self.family.promoted)

    @property
    def named_key(self) -> ColumnDraft:
        """Its key, once keys are chosen.

        Raises:
            LookupError: They are not.
        """
        if self.key is None:
            raise LookupError(f"{self.noun} has no key yet")
        return self.key

    def is_key(self, parameter: str) -> bool:
        """Whether a parameter of that name gives the table's key."""
        key = self.key
        if key is None:
            return False
        if squash(parameter) in self.key_parameters:
            return True
        names = {squash(key.path[-1] if key.path else key.name): key.name, squash(key.name): key.name}
        return squash(parameter) not in self.other_parameters and key_name(parameter, self.noun, names) is not None

    @property
    def home(self) -> Collection:
        """The collection after which it is named."""
        return self.collections[0]


@dataclass(frozen=True, slots=True, eq=False)
class ParentKey:
    """A foreign key: own columns in the order of the target's primary key."""

    columns: tuple[ColumnDraft, ...]
    table: TableDraft


def parents_of(call: Call) -> Iterator[tuple[Collection, Step]]:
    """Each step above the last that has a parameter, with the collection that its literals name.

    A parameter without a literal before it is named after the one that follows: the owner above `repos`.
    """
    literals: list[str] = []
    for step, following in pairwise(call.steps):
        if step.literal:
            literals.append(step.literal)
        if step.parameter is not None:
            yield (tuple(literals) if step.literal else ("", following.literal)), step


@dataclass(slots=True)
class Service:
    """The operations of one service as read, and what became of them."""

    calls: list[Call]
    shapes: dict[str, Shapes]
    """By sha256 of the document."""
    family: Family
    tables: list[TableDraft] = field(default_factory=list)
    by_collection: dict[Collection, TableDraft] = field(default_factory=dict)
    keyless: set[Collection] = field(default_factory=set)
    views: set[Collection] = field(default_factory=set)

    def mark(self, collection: Collection, step: Step) -> str:
        """Identity of a path parameter above a row.

        `{id}` recurs, so the table whose key it is belongs to it, whatever the parameter is called; where there is no
        such table, the literal before it does.
        """
        table = self.table_of(collection)
        if table is not None:
            is_key = table.is_key(step.parameter or "")
            return table.noun if is_key else f"{table.noun}:{squash(step.parameter or '')}"
        return singular(collection[-1]) if step.literal else f"above {collection[-1]}"

    def parent(self, collection: Collection, step: Step) -> TableDraft | None:
        """The table whose key a path parameter is."""
        table = self.table_of(collection)
        return table if table is not None and table.is_key(step.parameter or "") else None

    def table_of(self, collection: Collection) -> TableDraft | None:
        """The table whose rows a collection holds."""
        return self.by_collection.get(collection)
