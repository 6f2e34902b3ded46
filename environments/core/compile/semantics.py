"""The meaning of operations, as data: one plan for each tool, from which everything else of a pack is derived.

Inference (`inference`) writes these values; emission turns them into SQL and Python, the reference interpreter plays
them over plain rows, and the report explains them. None of the three looks at an API document, and none shares code
with another: what they have in common is said here, completely.

Rows are plain mappings from column name to what SQLite stores: text, int, float or None; booleans are 0 and 1, JSON
columns hold JSON text. Arguments and results are JSON values.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from environments.core.sources.model import Operation

Schema = Mapping[str, Any]
Value = str | int | float | None

MAX_TOOLS: Final = 60
MAX_TABLES: Final = 20
"""An environment is split before it holds more; tables that only keep foreign keys whole count, too."""
MAX_COLUMNS: Final = 60
MAX_ARGUMENTS: Final = 36
DEFAULT_PAGE_SIZE: Final = 20
"""Of lists whose document names no default."""


# --- State ------------------------------------------------------------------------------------------------------------


class ValueKind(StrEnum):
    """What a column holds, and so how it is stored and shown."""

    TEXT = "text"
    INTEGER = "integer"
    REAL = "real"
    BOOLEAN = "boolean"
    """Stored as 0 and 1, shown as true and false."""
    TIME = "time"
    """TEXT, `YYYY-MM-DDTHH:MM:SSZ`."""
    DATE = "date"
    """TEXT, `YYYY-MM-DD`."""
    EPOCH = "epoch"
    """INTEGER seconds since 1970."""
    EPOCH_MILLISECONDS = "epoch_milliseconds"
    """INTEGER milliseconds since 1970."""
    JSON = "json"
    """TEXT with an object or array; shown parsed."""


class ColumnRole(StrEnum):
    """What a column is for, beyond its value."""

    KEY = "key"
    """Names the row, alone or below its scope."""
    SCOPE = "scope"
    """Holds a part of the path above the row: its parent's key."""
    STATUS = "status"
    """The row's state: an enum or a flag that transitions set."""
    CREATED = "created"
    UPDATED = "updated"
    PLAIN = "plain"


class Generated(StrEnum):
    """Who gives the value when a row is made."""

    ID = "id"
    """`ctx.new_id`."""
    NOW = "now"
    """The episode's time, in the column's own form."""


@dataclass(frozen=True, slots=True)
class Template:
    """A text that is made of others of its row: `/subscriptions/{subscription_id}/.../{name}`.

    Attributes:
        parts: Literal texts and, as `Part`s, columns of the same row, in order. A column with a generated id is never
            among them, since the text would change with the id.
    """

    parts: tuple["str | Part", ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A column's value inside a template."""

    column: str


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        name: In SQL, `[a-z][a-z0-9_]*`.
        kind: What it holds.
        path: Where the API shows it, from the resource's root: `("properties", "state")`; empty if only requests
            know it.
        schema: Of its value, without `$ref`: type, format, enum, bounds, examples, items and properties to a few
            levels.
        description: The document's own words, one or two sentences; may be empty.
        role: What it is for.
        is_required: NOT NULL.
        values: The only values it may hold, in the document's order: a CHECK. Empty without an enum.
        generated: Who makes the value; None if a caller or a default gives it.
        template: It is computed from other columns; no argument sets it.
        comparison: How two end states are compared in it (docs/contracts.md, C6); None for foreign keys.
        default: What a new row holds where no argument gives a value (stored form); None is NULL, which a required
            column never has.
        is_secret: Write-only: set by requests, shown by no answer.
    """

    name: str
    kind: ValueKind
    path: tuple[str, ...]
    schema: Schema
    description: str = ""
    role: ColumnRole = ColumnRole.PLAIN
    is_required: bool = False
    values: tuple[str | int, ...] = ()
    generated: Generated | None = None
    template: Template | None = None
    comparison: str | None = "hard"
    default: Value = None
    is_secret: bool = False


class OnDelete(StrEnum):
    """What happens to a row when the row that it points to is deleted."""

    CASCADE = "cascade"
    """It lived below the other: it goes, too."""
    SET_NULL = "set_null"
    RESTRICT = "restrict"
    """The other can't be deleted: `InUse` among the checks of its delete says so."""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns that hold another table's primary key, in its order; a NULL among them points nowhere."""

    columns: tuple[str, ...]
    table: str
    targets: tuple[str, ...]
    on_delete: OnDelete


class TableRole(StrEnum):
    """What a row of a table is."""

    ENTITY = "entity"
    LINK = "link"
    """A pair: nothing but foreign keys (and perhaps a time)."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table.

    Attributes:
        name: Plural, in SQL.
        noun: Singular, for people and names of tools: `payment_method`.
        description: What a row is, one sentence.
        columns: In the order of schema.sql.
        primary_key: Columns in order: scope first, key last.
        foreign_keys: Never a cycle but a table's own.
        role: Entity or link.
        unique: Further sets of columns that no two rows share.
        has_tools: Whether a tool is about it; tables without one only keep foreign keys whole.
    """

    name: str
    noun: str
    description: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    foreign_keys: tuple[ForeignKey, ...] = ()
    role: TableRole = TableRole.ENTITY
    unique: tuple[tuple[str, ...], ...] = ()
    has_tools: bool = True

    def column(self, name: str) -> Column:
        """The column of that name.

        Raises:
            KeyError: There is none.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    @property
    def key(self) -> str:
        """The column that names a row below its scope."""
        return self.primary_key[-1]


# --- Arguments --------------------------------------------------------------------------------------------------------


class ArgumentRole(StrEnum):
    """What an argument does."""

    KEY = "key"
    """Equals a column of the primary key of the row that the call is about; always required."""
    SCOPE = "scope"
    """Equals a column that the path fixes: only rows below that parent, or the parent of the new row; required."""
    FILTER = "filter"
    """Only rows whose column equals it."""
    ONE_OF = "one_of"
    """Only rows whose column is among its items (an array); an empty array filters nothing."""
    AT_LEAST = "at_least"
    """Only rows whose column is that or more; NULL never is."""
    AT_MOST = "at_most"
    SEARCH = "search"
    """Only rows in one of whose `search_columns` it occurs, in any case of ASCII letters."""
    SET = "set"
    """The column's new value."""
    SORT = "sort"
    """Names the column to sort by; its values and their columns are in `Meaning.sorts`."""
    DIRECTION = "direction"
    """`asc` or `desc` (as `descending_values` say) for SORT."""
    PAGE = "page"
    """Number of the page, from `first_page`."""
    OFFSET = "offset"
    """Rows to skip, from 0."""
    CURSOR = "cursor"
    """Digits that an earlier answer gave as its next page: the rows to skip."""
    AFTER = "after"
    """The key of the last row that the caller has; the page begins behind it in the order of the list."""
    SIZE = "size"
    """Rows of a page at most."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool.

    Attributes:
        name: As the API has it: the JSON name.
        python_name: In tools.py and in condition SQL; the same where the API's name allows it.
        role: What it does.
        schema: Of its value, without `$ref`. Bounds that its role needs (a size of 1 or more) are in it.
        description: For the caller; never empty.
        is_required: Whether a call without it is invalid.
        column: Of the meaning's table (for link tables and `Through`, of the table that the role is about); None for
            roles without one.
        default: JSON value that stands for a missing argument; None: missing means missing.
    """

    name: str
    python_name: str
    role: ArgumentRole
    schema: Schema
    description: str
    is_required: bool
    column: str | None = None
    default: Any = None


# --- Refusals ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Exists:
    """A row must be there whose columns equal the arguments; where one of the arguments is absent, nothing is checked.

    Attributes:
        code: What the call is rejected with: `customer_not_found`.
        table: Where.
        where: (column, JSON name of the argument) pairs.
    """

    code: str
    table: str
    where: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """No such row may be there: a natural key or a unique value that is taken. Nothing is checked without a value.

    Attributes:
        besides: Columns and arguments that name the row which may have the value: the one that is changed.
    """

    code: str
    table: str
    where: tuple[tuple[str, str], ...]
    besides: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class InUse:
    """No row of another table may point to the row that the arguments name.

    Attributes:
        code: `plan_in_use`.
        table: The table that must not point.
        where: (its column, argument) pairs.
    """

    code: str
    table: str
    where: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class StateAllows:
    """The row that the arguments name must have a state from which the change is allowed.

    Attributes:
        code: `order_not_open`, `order_already_cancelled`.
        table: Of the row.
        where: (column, argument) pairs that name it.
        column: Its state.
        allowed: Values that let the change through (stored form); empty: all but `refused`. NULL is allowed only where
            it is listed or where `allowed` is empty.
        refused: Values that refuse it; used where `allowed` is empty.
    """

    code: str
    table: str
    where: tuple[tuple[str, str], ...]
    column: str
    allowed: tuple[Value, ...] = ()
    refused: tuple[Value, ...] = ()


Check = Exists | Absent | InUse | StateAllows


# --- Writing ----------------------------------------------------------------------------------------------------------


class Source(StrEnum):
    """Where a written value comes from."""

    ARGUMENT = "argument"
    """The argument's value; if it is absent: on insert the column's default, on replace the column's default, on patch
    the old value."""
    NEW_ID = "new_id"
    NOW = "now"
    """The episode's time in the column's form."""
    CONSTANT = "constant"
    DEFAULT = "default"
    """The column's default."""
    TEMPLATE = "template"
    """The column's template over the new row."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one column becomes.

    Attributes:
        column: Of the meaning's table.
        source: Where the value comes from.
        argument: JSON name, for ARGUMENT.
        constant: Stored form, for CONSTANT.
    """

    column: str
    source: Source
    argument: str | None = None
    constant: Value = None


# --- Answers ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    """One property of a shown row: where it stands, and the column it shows. NULL is shown as null."""

    path: tuple[str, ...]
    column: str


@dataclass(frozen=True, slots=True)
class View:
    """How a row is shown: properties in the document's order; nested paths make nested objects.

    Attributes:
        name: Unique within a pack for distinct content: a noun, or a noun with a word of its purpose.
        table: Whose rows.
        properties: At least one.
        constants: Paths with fixed values: `("object",)` is "customer".
    """

    name: str
    table: str
    properties: tuple[Shown, ...]
    constants: tuple[tuple[tuple[str, ...], Any], ...] = ()


class Answer(StrEnum):
    """The form of a result."""

    ROW = "row"
    ROWS = "rows"
    KEYS = "keys"
    """The key of each row."""
    NUMBER = "number"
    NOTHING = "nothing"


class PageFact(StrEnum):
    """What an envelope says of a list."""

    TOTAL = "total"
    """Rows that match, on all pages."""
    HERE = "here"
    """Rows of this page."""
    HAS_MORE = "has_more"
    NEXT_CURSOR = "next_cursor"
    """Digits for CURSOR, or null on the last page."""
    NEXT_AFTER = "next_after"
    """Key of the last row here for AFTER, or null on the last page."""
    NEXT_PAGE = "next_page"
    """Number of the next page, or null."""
    PAGE = "page"
    SIZE = "size"
    OFFSET = "offset"
    NUM_PAGES = "num_pages"


@dataclass(frozen=True, slots=True)
class Result:
    """What a successful call gives: always an object.

    Attributes:
        form: Of what stands at `place`.
        place: Where the row, rows, keys or number stand: `("data",)`; empty only for a ROW or NOTHING.
        view: How rows are shown; None for keys, numbers and nothing.
        page_facts: (path, fact) pairs beside them.
        constants: (path, JSON value) pairs beside them: `("status",)` is "ok".
        one_in_list: The document answers a single row inside an array at `place`.
    """

    form: Answer
    place: tuple[str, ...] = ()
    view: View | None = None
    page_facts: tuple[tuple[tuple[str, ...], PageFact], ...] = ()
    constants: tuple[tuple[tuple[str, ...], Any], ...] = ()
    one_in_list: bool = False


# --- The meaning of one operation -------------------------------------------------------------------------------------


class Kind(StrEnum):
    """What an operation does."""

    LIST = "list"
    """Rows that match, filtered, sorted, paged. Also searches, and lists below a parent."""
    LIST_KEYS = "list_keys"
    GET = "get"
    COUNT = "count"
    SUM = "sum"
    """Of `sum_column` over the rows that match; 0 without any."""
    CREATE = "create"
    REPLACE = "replace"
    """Sets the columns that its arguments name; absent ones get the column's default."""
    PATCH = "patch"
    """Sets the columns whose arguments are there."""
    UPSERT = "upsert"
    """CREATE if no row has the key, else REPLACE."""
    DELETE = "delete"
    TRANSITION = "transition"
    """PATCH of the state by constants, from states that allow it."""
    LINK = "link"
    """Makes the pair, if it is not there; done twice it changes nothing."""
    UNLINK = "unlink"


READING: Final = frozenset({Kind.LIST, Kind.LIST_KEYS, Kind.GET, Kind.COUNT, Kind.SUM})


@dataclass(frozen=True, slots=True)
class Through:
    """A list of rows that a link table joins to a parent: repositories of a team.

    Attributes:
        table: The link table.
        scope: (link column, argument) pairs: the parent's side.
        join: (link column, column of the meaning's table) pairs: the other side.
    """

    table: str
    scope: tuple[tuple[str, str], ...]
    join: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Order:
    """One step of an order; NULLs come first going up and last going down, as in SQLite; text by code point."""

    column: str
    is_descending: bool = False


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one operation means over the tables.

    Attributes:
        kind: What it does.
        table: Whose rows.
        arguments: In the order of the signature, required ones first.
        checks: Refusals in the order in which they are looked at, before anything is done.
        assignments: Written columns: of the new row (CREATE, UPSERT, LINK: every column that is not NULL by default),
            of the changed one (PATCH, REPLACE, TRANSITION), in the table's order.
        updates: For UPSERT, what a row that is there becomes.
        result: What is answered; the row as it is after the call, for DELETE as it was before.
        order: Of a list without SORT; always ends in the whole primary key, so that it is total.
        sorts: For SORT: value of the argument, and the column it sorts by; `order` breaks ties.
        descending_values: Values of DIRECTION that turn the order round; without DIRECTION, a leading `-` of SORT does
            if `"-"` is among them.
        first_page: Number of the first page, for PAGE.
        page_size: Rows of a page without SIZE; None: all rows, no paging.
        search_columns: For SEARCH.
        sum_column: For SUM.
        through: Joins the table to a parent by a link table.
        verb: For TRANSITION, the word of the action: `cancel`.
    """

    kind: Kind
    table: str
    arguments: tuple[Argument, ...]
    checks: tuple[Check, ...]
    result: Result
    assignments: tuple[Assignment, ...] = ()
    updates: tuple[Assignment, ...] = ()
    order: tuple[Order, ...] = ()
    sorts: tuple[tuple[str, str], ...] = ()
    descending_values: tuple[str, ...] = ()
    first_page: int = 1
    page_size: int | None = None
    search_columns: tuple[str, ...] = ()
    sum_column: str | None = None
    through: Through | None = None
    verb: str = ""

    def with_role(self, *roles: ArgumentRole) -> tuple[Argument, ...]:
        """Its arguments of these roles, in order."""
        return tuple(argument for argument in self.arguments if argument.role in roles)

    @property
    def reads_only(self) -> bool:
        """Whether it changes nothing."""
        return self.kind in READING


@dataclass(frozen=True, slots=True)
class PlannedTool:
    """A tool as it will be emitted.

    Attributes:
        name: `[a-z][a-z0-9_]{0,37}`, unique in its environment, without `__`.
        title: A few words, sentence case.
        description: What it does, what it needs and gives; the document's own words where they are good.
        meaning: What it does, exactly.
        source: sha256 of the document.
        operation: Key of the operation in it.
        dropped: (parameter, reason code) pairs of optional parameters that no column answers.
    """

    name: str
    title: str
    description: str
    meaning: Meaning
    source: str
    operation: str
    dropped: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What a document says of itself, beside its operations.

    Attributes:
        sha256: Identity.
        kind: Of the source: `openapi`, ...
        retrieved_at: `YYYY-MM-DDTHH:MM:SSZ`.
        provider: Whose API: `azure.com`.
        definitions: Named schemas that the operations' `$ref`s point to.
    """

    sha256: str
    kind: str
    address: str
    retrieved_at: str
    title: str
    provider: str
    version: str = ""
    description: str = ""
    licence_spdx: str | None = None
    licence_name: str | None = None
    licence_address: str | None = None
    definitions: Mapping[str, Schema] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class SourcedOperation:
    """An operation with the document that it comes from: what the compiler takes, whatever file or list it was in."""

    operation: Operation
    facts: SourceFacts


@dataclass(frozen=True, slots=True)
class Blueprint:
    """An environment as planned: everything that emission, rows and cases need.

    Attributes:
        name: `[a-z][a-z0-9_]{2,23}` without `__`; unique in a compilation.
        title: What people call it.
        domain: A few words: `payments`, `cloud compute`.
        description: Two or three sentences.
        provider: Whose API.
        family: Name of the conventions it follows: `azure`, `google`, `aws`, `github`, ..., `plain`.
        tables: Parents before children.
        tools: Sorted by table, then by kind.
        sources: Documents that its tools come from, sorted by sha256.
    """

    name: str
    title: str
    domain: str
    description: str
    provider: str
    family: str
    tables: tuple[Table, ...]
    tools: tuple[PlannedTool, ...]
    sources: tuple[SourceFacts, ...]

    def table(self, name: str) -> Table:
        """The table of that name.

        Raises:
            KeyError: There is none.
        """
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An operation that became no tool.

    Attributes:
        source: sha256 of its document.
        operation: Its key there.
        reason: Stable code; docs/compiler.md says what each means.
        detail: For people: the name that was not understood, the table it would have needed.
    """

    source: str
    operation: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Compilation:
    """What came of a list of operations: planned environments, and every operation that is in none of them."""

    blueprints: tuple[Blueprint, ...]
    left_out: tuple[LeftOut, ...]
