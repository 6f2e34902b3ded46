"""The columns of a table: one for each property that a column can hold, after promotion; the rest is left out.

The one rule for nested values: an object that is another resource of the service is a foreign key (its key is shown in
its place); one that the family wraps around its resources, or that holds at most four plain values, is promoted; an
array of rows that have a table of their own is that table; everything else is a JSON column.
"""

import keyword
import re
from collections.abc import Iterable

from environments.core.compile.inference.drafts import ColumnDraft, Service, TableDraft
from environments.core.compile.inference.resources import core_name
from environments.core.compile.reading.calls import Act, Call, Form, Place, Property, Shape, ShapeType
from environments.core.compile.reading.vocabulary import CREATED, STATUS, UPDATED
from environments.core.compile.reading.words import singular, snake, squash, words_of
from environments.core.compile.semantics import MAX_COLUMNS, ColumnRole, ValueKind

MAX_VALUES = 60
"""Of an enum; longer ones (currencies, time zones) say nothing about the state and would drown the schema."""
MIN_KNOWN = 0.5
"""Share of another answer's or a body's properties that must be the table's for it to add columns."""

_TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
_DATES = re.compile(r"\d{4}-\d\d-\d\d")
_IDENTITY = re.compile(r"(^|[^a-z])id(entifier)?\b", re.IGNORECASE)
_WRITES = frozenset({Act.ITEM, Act.CREATE, Act.COLLECTION, Act.UPDATE, Act.REPLACE})
_RESERVED = frozenset({"rowid", "oid", "_rowid_"})
_REFERENCE_KEYS = ("id", "gid", "uuid", "guid", "sid", "arn", "key", "code", "slug", "login")
_SECRETS = ("password", "secret", "passphrase", "privatekey", "pin")
_MILLISECONDS = 10**11
"""Epoch values beyond it can't be seconds before the year 5138."""


def add_columns(service: Service) -> None:
    """Gives every table its columns."""
    nouns = {table.noun: table for table in service.tables}
    entities = {table.noun: table for table in service.tables if core_name(table.entity.name) == table.noun}
    for table in service.tables:
        for each in sorted(table.properties(table.entity), key=lambda each: len(table.short(each.path)) > 1):
            _add(table, each, nouns, entities)
        for call in table.calls:
            _add_shown(table, call, service, nouns, entities)
        for call in table.calls:
            _add_written(table, call)
        _cap(table)


def ident(name: str, taken: Iterable[str] = ()) -> str:
    """A free SQL and Python name for something that the API calls so: at most 40 characters."""
    base = snake(name)[:40].strip("_") or "value"
    if not base[0].isalpha():
        base = f"n{base}"
    if keyword.iskeyword(base) or base in _RESERVED or base.startswith("sqlite_"):
        base = f"{base}_"
    found, number = base, 1
    names = set(taken)
    while found in names:
        number += 1
        found = f"{base}_{number}"
    return found


def add_column(
    table: TableDraft, name: str, kind: ValueKind, shape: Shape | None, path: tuple[str, ...] = ()
) -> ColumnDraft:
    """A new column, not yet findable by any name."""
    made = ColumnDraft(ident(name, table.columns), kind, path, shape)
    table.columns[made.name] = made
    return made


def kind_of(shape: Shape, name: str) -> ValueKind | None:
    """How a column holds values of a shape; None where the document leaves it open."""
    squashed = squash(name)
    is_time = squashed in CREATED or squashed in UPDATED
    if shape.type is ShapeType.STRING:
        given = str(shape.keywords.get("format", ""))
        example = next((each for each in shape.examples if isinstance(each, str)), "")
        if given == "date" or (not given and is_time and _DATES.fullmatch(example)):
            return ValueKind.DATE
        if given in ("date-time", "datetime") or (is_time and (_TIMES.match(example) or not example)):
            return ValueKind.TIME
        return ValueKind.TEXT
    if shape.type is ShapeType.BOOLEAN:
        return ValueKind.BOOLEAN
    if shape.type is ShapeType.INTEGER or (shape.type is ShapeType.NUMBER and is_time):
        unit = _epoch_unit(shape, is_time)
        return unit or ValueKind.INTEGER
    if shape.type is ShapeType.NUMBER:
        if words_of(name)[-1:] == ("id",) or (squashed.endswith("id") and _IDENTITY.search(shape.description[:60])):
            return ValueKind.INTEGER
        return ValueKind.REAL
    if shape.type is ShapeType.ANY:
        return None
    return ValueKind.JSON


def _epoch_unit(shape: Shape, is_time: bool) -> ValueKind | None:
    given = str(shape.keywords.get("format", ""))
    says_epoch = given in ("unix-time", "timestamp", "epoch") or bool(
        re.search(r"\b(unix|epoch|since 1970|since the epoch)\b", shape.description, re.IGNORECASE)
    )
    if not (says_epoch or is_time):
        return None
    numbers = [each for each in shape.examples if isinstance(each, int) and not isinstance(each, bool)]
    in_milliseconds = "millisecond" in shape.description.lower() or any(each > _MILLISECONDS for each in numbers)
    return ValueKind.EPOCH_MILLISECONDS if in_milliseconds else ValueKind.EPOCH


def _add(
    table: TableDraft, each: Property, nouns: dict[str, TableDraft], entities: dict[str, TableDraft]
) -> ColumnDraft | None:
    """The column of one property; None for one that no column holds."""
    shape, short = each.shape, table.short(each.path)
    known = squash("".join(short))
    if known in table.by_name:
        return table.by_name[known]
    if shape.type is ShapeType.OBJECT:
        other = _resource(shape, each.name, table, nouns, entities)
        if other is not None:
            return _add_reference(table, each, other)
    if shape.type is ShapeType.ARRAY:
        items = table.shapes.of(shape.items)
        other = _resource(items, singular(snake(each.name)), table, nouns, entities)
        if other is not None and other is not table and items.type is ShapeType.OBJECT:
            table.nested[each.path] = other
            return None
    kind = kind_of(shape, each.name)
    if kind is None or (len(shape.values) == 1 and kind is ValueKind.TEXT):
        return None  # what can only have one value is a constant of the answer
    made = add_column(table, "_".join(short), kind, shape, each.path)
    _describe(made, each)
    table.by_name.setdefault(known, made)
    return made


def _describe(column: ColumnDraft, each: Property) -> None:
    shape, squashed = each.shape, squash(each.name)
    is_enum = column.kind in (ValueKind.TEXT, ValueKind.INTEGER) and 0 < len(shape.values) <= MAX_VALUES
    wanted = str if column.kind is ValueKind.TEXT else int
    if is_enum and all(type(value) is wanted for value in shape.values):
        column.values = tuple(dict.fromkeys(shape.values))
    column.is_required = each.is_required and not shape.is_nullable
    column.is_secret = shape.is_write_only
    if column.kind is not ValueKind.JSON and squashed in CREATED:
        column.role = ColumnRole.CREATED
    elif column.kind is not ValueKind.JSON and squashed in UPDATED:
        column.role = ColumnRole.UPDATED
    elif column.values and squashed in STATUS:
        column.role = ColumnRole.STATUS


def _resource(
    shape: Shape, name: str, table: TableDraft, nouns: dict[str, TableDraft], entities: dict[str, TableDraft]
) -> TableDraft | None:
    """The table whose row (or a short form of it) an embedded object is."""
    if shape.type is not ShapeType.OBJECT or not shape.properties:
        return None
    found = entities.get(core_name(shape.name)) if shape.name else None
    by_name = nouns.get(snake(name))
    if found is None and by_name is not None:
        # A definition with a name of its own is not what only its place is called: a tenant's group is no user group.
        own, theirs = core_name(shape.name), {by_name.noun, core_name(by_name.entity.name)}
        found = by_name if not shape.name or own in theirs else None
    if found is None or _reference_property(table, shape, found) is None:
        return None
    return found


def _reference_property(table: TableDraft, shape: Shape, other: TableDraft) -> Property | None:
    """The member of an embedded object that is the other table's key, as far as names can tell before keys are."""
    members = {squash(each.name): each for each in table.shapes.properties(shape) if len(each.path) == 1}
    theirs = {squash(each.name) for each in other.properties(other.entity)}
    for key in _REFERENCE_KEYS:
        if key in members and key in theirs and members[key].shape.is_scalar:
            return members[key]
    return None


def _add_reference(table: TableDraft, each: Property, other: TableDraft) -> ColumnDraft | None:
    key = _reference_property(table, each.shape, other)
    if key is None:
        return None
    short = table.short(each.path)
    name = "_".join([*short, key.name])
    made = add_column(table, name, kind_of(key.shape, key.name) or ValueKind.TEXT, key.shape, (*each.path, key.name))
    made.target, made.embedded = other, each.shape
    for known in ("".join(short), name):
        table.by_name.setdefault(squash(known), made)
    return made


def align_references(service: Service) -> None:
    """Lets columns that stand for an embedded row hold that row's key, now that keys are known."""
    for table in service.tables:
        for column in list(table.columns.values()):
            target, embedded = column.target, column.embedded
            if target is None or embedded is None:
                continue
            if target.key is None or not target.key.path:
                column.target = None
                continue
            wanted = squash(target.key.path[-1])
            members = {squash(each.name): each for each in table.shapes.properties(embedded) if len(each.path) == 1}
            member = members.get(wanted)
            if member is None or kind_of(member.shape, member.name) is not target.key.kind:
                column.target = None
            elif squash(column.path[-1]) != wanted:
                _rename(table, column, member)


def refer(table: TableDraft, column: ColumnDraft, kind: ValueKind) -> bool:
    """Lets the column of an embedded object hold the member that names it, if that has the wanted kind."""
    if column.kind is not ValueKind.JSON or column.shape is None or column.shape.type is not ShapeType.OBJECT:
        return False
    members = {squash(each.name): each for each in table.shapes.properties(column.shape) if len(each.path) == 1}
    for name in (*_REFERENCE_KEYS, "username", "name"):
        member = members.get(name)
        if member is not None and kind_of(member.shape, member.name) is kind:
            column.path = (*column.path, "")
            _rename(table, column, member)
            return True
    return False


def _rename(table: TableDraft, column: ColumnDraft, member: Property) -> None:
    path = (*column.path[:-1], member.name)
    name = ident("_".join(table.short(path)), table.columns)
    table.columns = {(name if found is column else known): found for known, found in table.columns.items()}
    column.name, column.path, column.shape = name, path, member.shape
    column.kind = kind_of(member.shape, member.name) or column.kind
    table.by_name.setdefault(squash(name), column)


def _add_shown(
    table: TableDraft, call: Call, service: Service, nouns: dict[str, TableDraft], entities: dict[str, TableDraft]
) -> None:
    """What other answers about the same thing show besides."""
    entity = call.envelope.entity
    if entity is None or entity is table.entity or call.envelope.form not in (Form.ROW, Form.ROWS):
        return
    shown = service.shapes[call.source].properties(entity, table.family.promoted)
    known = sum(table.column_of(each.path) is not None for each in shown)
    if service.shapes[call.source] is not table.shapes or known < MIN_KNOWN * len(shown):
        return
    for each in shown:
        _add(table, each, nouns, entities)


def _add_written(table: TableDraft, call: Call) -> None:
    """Write-only fields, where the request otherwise speaks of this resource: secrets, and what a new row must have."""
    if call.act not in _WRITES or call.method == "GET":
        return
    body = [each for each in call.inputs if each.place is Place.BODY and not each.shape.is_read_only]
    known = sum(is_known(table, each.path) for each in body)
    if known < MIN_KNOWN * len(body) or not known:
        return
    for each in body:
        if is_known(table, each.path) or _is_key_like(table, each.name) or not each.shape.is_scalar:
            continue
        kind = kind_of(each.shape, each.name)
        is_stored = each.is_required or each.shape.is_write_only or squash(each.name).endswith(_SECRETS)
        if kind is None or not is_stored:
            continue  # what no answer shows is a command or a detail of the call, not a part of the row
        made = add_column(table, "_".join(table.short(each.path)), kind, each.shape)
        _describe(made, Property(each.path, each.shape, False))
        made.is_secret = True
        table.by_name.setdefault(squash("".join(table.short(each.path))), made)


def is_known(table: TableDraft, path: tuple[str, ...]) -> bool:
    """Whether a property or input of that place is a column, or an array that is a table of its own."""
    return table.column_at(path) is not None or path in table.nested


def _is_key_like(table: TableDraft, name: str) -> bool:
    """`OrganizationalUnitId` of an organizational unit that is keyed by `Id`: no second id column."""
    squashed, noun = squash(name), squash(table.noun)
    return squashed.startswith(noun) and squashed[len(noun) :] in ("id", "arn", "name", "uuid", "sid", "key")


def _cap(table: TableDraft) -> None:
    """Leaves out the last plain columns of a table that has more than SQLite rows should."""
    extra = len(table.columns) - (MAX_COLUMNS - 8)
    if extra <= 0:
        return
    candidates = [
        column
        for column in reversed(table.columns.values())
        if column.role is ColumnRole.PLAIN and column.target is None
    ]
    candidates.sort(key=lambda column: (column.is_required, bool(column.values), column.kind is not ValueKind.JSON))
    for column in candidates[:extra]:
        if squash(column.name) in ("id", "name", "title", "slug", "key", "uuid"):
            continue
        del table.columns[column.name]
        for name in [name for name, found in table.by_name.items() if found is column]:
            del table.by_name[name]
