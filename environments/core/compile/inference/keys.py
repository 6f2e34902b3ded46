"""What names a row: keys, the scope above them, and the foreign keys between tables.

A key that is an id of its own (`id`, `uuid`, `sid`, `arn`) is global; any other names its row only below the parameters
of the path above it, which then belong to the primary key.
"""

import re
from collections import Counter
from collections.abc import Collection as Names
from collections.abc import Iterable, Mapping, Sequence

from environments.core.compile.inference.columns import MIN_KNOWN, add_column, refer
from environments.core.compile.inference.drafts import (
    Collection,
    ColumnDraft,
    ParentKey,
    Service,
    TableDraft,
    parents_of,
)
from environments.core.compile.inference.key_names import key_name, names_other, says_name
from environments.core.compile.reading.calls import Act, Call, Form, Input, Place, Shape, ShapeType
from environments.core.compile.reading.families import KeyStyle
from environments.core.compile.reading.shapes import EXPANDS
from environments.core.compile.reading.words import singular, snake, squash
from environments.core.compile.semantics import ColumnRole, ValueKind

MAX_SCOPE = 8
"""Columns above the key in one primary key."""
_GLOBAL = re.compile(r"(id|uuid|guid|sid|gid|arn)$")
_ID_WORDS = re.compile(r"\b(ids?|uuid|guid|identifiers?|unique|reference)\b", re.IGNORECASE)
_NAMING = frozenset({ValueKind.TEXT, ValueKind.INTEGER})
_BARE = frozenset({"id", "name", "key", "uuid", "code", "slug"})
_KEYED = frozenset({Act.GET, Act.DELETE, Act.UPDATE, Act.REPLACE, Act.ACTION})


def choose_keys(service: Service) -> None:
    """Gives each table its key; tables without one are taken out, with their collections noted."""
    kept = []
    nouns = {table.noun for table in service.tables}
    for table in service.tables:
        if _choose(table, nouns):
            kept.append(table)
        else:
            for collection in table.collections:
                service.by_collection.pop(collection, None)
                service.keyless.add(collection)
    service.tables[:] = kept


def key_inputs(call: Call) -> list[Input]:
    """Inputs of an RPC call that may name its row, likeliest first."""
    noun = squash(call.noun)
    found = []
    for each in call.inputs:
        name = squash(each.name)
        rest = name[len(noun) :] if name.startswith(noun) else None
        tail = re.fullmatch(r"(.{3,}?)(id|arn|name)", name)
        if (
            name in ("id", "name", "arn", "resourcearn", "key", "uuid")
            or rest in ("id", "name", "arn", "identifier", "key", "", "uuid", "number", "code")
            or (tail is not None and noun.endswith(tail[1]))
        ) and each.shape.is_scalar:
            found.append(each)
    return sorted(found, key=lambda each: not each.is_required)


def _choose(table: TableDraft, nouns: Names[str]) -> bool:
    names = {
        squashed: column.name
        for squashed, column in table.by_name.items()
        if column.kind in _NAMING and column.path and column.target is None
    }
    asked: list[tuple[str, Shape]] = []
    named: set[str] = set()
    for call in table.calls:
        if call.is_rpc:
            if call.act in _KEYED:
                asked += [(each.name, each.shape) for each in key_inputs(call)[:1]]
        elif call.steps[-1].parameter is not None and call.envelope.form is not Form.ROWS:
            parameter = call.steps[-1].parameter
            if names_other(parameter, table.noun, nouns):
                table.other_parameters.add(squash(parameter))
            else:
                asked.append((parameter, _parameter_shape(call, parameter)))
                if says_name(_parameter_text(call, parameter)):
                    named.add(parameter)
    votes = Counter(
        key_name(name, table.noun, _of_type(names, table, name, shape), is_name=name in named) for name, shape in asked
    )
    if len(votes) > 1:
        votes.pop(None, None)
    chosen = votes.most_common(1)[0][0] if votes else None
    if chosen is not None:
        table.key = table.columns[chosen]
    elif asked:
        # Only the path names the row: the answers do not show its key.
        name, shape = asked[0]
        if len({squash(each) for each, _ in asked}) > 1:
            return False
        table.key = add_column(table, name, _key_kind(shape), shape)
        table.by_name.setdefault(squash(name), table.key)
    else:
        found = key_name(f"{table.noun}_id", table.noun, names) or key_name(table.noun, table.noun, names)
        if found is None:
            return False
        table.key = table.columns[found]
    table.key_parameters = {squash(name) for name, _ in asked}
    table.key.role = ColumnRole.KEY
    table.key.is_required = True
    table.key.values = ()
    return table.key.kind in _NAMING


def _of_type(names: Mapping[str, str], table: TableDraft, parameter: str, shape: Shape) -> Mapping[str, str]:
    """Properties that a parameter of that type can name: a text without `id` in its name is no number."""
    if shape.type is ShapeType.INTEGER:
        kinds = {ValueKind.INTEGER}
    elif shape.type is ShapeType.STRING and not squash(parameter).endswith(("id", "number", "no", "identifier", "key")):
        kinds = {ValueKind.TEXT}
    else:
        return names
    return {squashed: name for squashed, name in names.items() if table.columns[name].kind in kinds}


def _parameter_shape(call: Call, name: str) -> Shape:
    for each in call.inputs:
        if each.place is Place.PATH and each.name == name:
            return each.shape
    return Shape(ShapeType.STRING)


def _parameter_text(call: Call, name: str) -> str:
    return next((each.description for each in call.inputs if each.place is Place.PATH and each.name == name), "")


def _key_kind(shape: Shape) -> ValueKind:
    return ValueKind.INTEGER if shape.type is ShapeType.INTEGER else ValueKind.TEXT


# --- Scope ------------------------------------------------------------------------------------------------------------


def add_scopes(service: Service) -> None:
    """Columns for what paths say above the key, with the tables that they point to."""
    for table in service.tables:
        _add_scope(table, service)


def _add_scope(table: TableDraft, service: Service) -> None:
    homes = _homes(table)
    for call in sorted(table.calls, key=lambda each: each.literals not in homes):
        if call.is_rpc:
            continue
        for collection, step in parents_of(call):
            mark = service.mark(collection, step)
            if mark in table.scope:
                continue
            parent = service.parent(collection, step)
            parent = None if parent is table else parent
            if parent is None and service.table_of(collection) not in (None, table):
                continue  # a second name of the parent's rows, which no column here holds
            column = _scope_column(table, step.literal, step.parameter or "", parent)
            if column is None:
                if call.literals not in homes:
                    continue  # listed below another parent, by a relation that no column holds
                column = _new_scope_column(table, call, step.literal, step.parameter or "", parent)
            if parent is not None and parent.key is not None:
                column.kind, column.target = parent.key.kind, parent
                column.shape = parent.key.shape or column.shape
            column.role, column.values = ColumnRole.SCOPE, ()
            table.scope[mark] = column


def _homes(table: TableDraft) -> set[Collection]:
    """The collections whose paths say where a row belongs; other ones only list or link rows.

    These are the ones with items that have the fewest parents, and those in which rows are made.
    """
    items = {call.literals: len(list(parents_of(call))) for call in table.calls if call.act in (Act.ITEM, Act.DELETE)}
    making = {
        call.literals
        for call in table.calls
        if (call.act is Act.CREATE or (call.act is Act.COLLECTION and call.method == "POST"))
        and _speaks_of(table, call)
    }
    if items:
        return {collection for collection, depth in items.items() if depth == min(items.values())} | making
    if making:
        return making
    counts = Counter(call.literals for call in table.calls)
    return {min(counts, key=lambda each: (-counts[each], len(each), each))}


def _speaks_of(table: TableDraft, call: Call) -> bool:
    """Whether the body of a creation is about one row of the table."""
    body = [each for each in call.inputs if each.place is not Place.PATH and not each.shape.is_read_only]
    known = sum(table.column_at(each.path) is not None for each in body)
    return not call.body_is_list and known > 0 and known >= MIN_KNOWN * len(body)


def _scope_column(table: TableDraft, literal: str, parameter: str, parent: TableDraft | None) -> ColumnDraft | None:
    """The property that holds this part of the path."""
    noun = singular(literal) if literal else ""
    # A bare {id} is the parent's, and the row's own member of that name is something else.
    wanted = [f"{noun}_{parameter}"] if noun and squash(parameter) in _BARE else [parameter]
    if noun:
        wanted += [f"{noun}_id"] + ([noun] if parent is not None else [])
    kind = parent.key.kind if parent is not None and parent.key is not None else ValueKind.TEXT
    for name in wanted:
        column = table.column_for(name)
        if column is not None:
            refer(table, column, kind)
        if (
            column is not None
            and column is not table.key
            and column.kind in _NAMING
            and not column.values
            and column not in table.scope.values()
            and (parent is None or column.target in (None, parent))
            and (parent is None or parent.key is None or column.kind is parent.key.kind)
        ):
            return column
    return None


def _new_scope_column(
    table: TableDraft, call: Call, literal: str, parameter: str, parent: TableDraft | None
) -> ColumnDraft:
    shape = _parameter_shape(call, parameter)
    noun = singular(literal) if literal else ""
    if parent is not None and parent.key is not None:
        name = parent.key.name if parent.key.name.startswith(noun) else f"{noun}_{parent.key.name}"
        return add_column(table, name, parent.key.kind, parent.key.shape)
    is_bare = squash(parameter) in _BARE
    return add_column(table, f"{noun}_{snake(parameter)}" if noun and is_bare else parameter, _key_kind(shape), shape)


# --- Primary and foreign keys -----------------------------------------------------------------------------------------


def finish_keys(service: Service) -> None:
    """Primary keys, foreign keys by name, none in a circle."""
    for table in service.tables:
        _set_primary_key(table, service)
    by_noun: dict[str, TableDraft] = {}
    for table in service.tables:
        by_noun.setdefault(squash(table.noun), table)
    for table in service.tables:
        for column in table.columns.values():
            _find_target(table, column, by_noun)
    service.tables[:] = _without_circles(service.tables)
    for table in service.tables:
        _set_parents(table)


def _set_primary_key(table: TableDraft, service: Service) -> None:
    key = table.named_key
    scope = _item_scope(table, service)
    last = squash(key.path[-1] if key.path else key.name)
    is_global = (
        _GLOBAL.search(last) is not None and not _names_other(table, service)
    ) or table.family.key_style is KeyStyle.RESOURCE_NAME
    is_alone = is_global or len(scope) > MAX_SCOPE or not scope or _is_generated(table)
    table.primary_key = [key] if is_alone else [*scope, key]
    for column in table.primary_key:
        column.is_required = True
        column.values = ()


def _is_generated(table: TableDraft) -> bool:
    """Whether rows are made without their key, which then has to be new in the whole table."""
    key = table.named_key
    making = [
        call
        for call in table.calls
        if call.act is Act.CREATE or (call.act is Act.COLLECTION and call.method == "POST" and not call.body_is_list)
    ]
    return any(all(table.column_at(each.path) is not key for each in call.inputs) for call in making)


def _names_other(table: TableDraft, service: Service) -> bool:
    """Whether the key is another table's: `channel_sid` of a user's channels."""
    key = table.named_key
    match = re.fullmatch(r"(.+?)_?(id|uuid|gid|sid|guid|arn)", snake(key.path[-1] if key.path else key.name))
    return match is not None and any(
        other is not table and squash(other.noun) == squash(match[1]) for other in service.tables
    )


def _item_scope(table: TableDraft, service: Service) -> list[ColumnDraft]:
    """The columns above the key that every path of an item names; the others only say where a row belongs, too."""
    homes = _homes(table)
    marks = [
        [service.mark(collection, step) for collection, step in parents_of(call)]
        for call in table.calls
        if not call.is_rpc and call.steps[-1].parameter is not None and call.literals in homes
    ]
    if not marks:
        return list(table.scope.values())
    common = set(marks[0]).intersection(*marks[1:])
    return [column for mark, column in table.scope.items() if mark in common]


def _find_target(table: TableDraft, column: ColumnDraft, by_noun: Mapping[str, TableDraft]) -> None:
    """A column that is named after another table points to it."""
    if column.target is not None or column is table.key or column.kind not in _NAMING or column.values:
        return
    if column.role is not ColumnRole.PLAIN or (not column.path and not column.is_secret):
        return
    name = snake(column.path[-1] if column.path else column.name)
    match = re.fullmatch(r"(.+?)_?(id|uuid|gid|sid|guid|arn)", name)
    found: TableDraft | None = None
    if match:
        stem = singular(match[1])
        found = by_noun.get(squash(stem)) or (table if stem == "parent" else None)
        if found is None and "_" in stem:
            found = by_noun.get(squash(stem.rsplit("_", 1)[1]))
        if found is table and not stem.startswith(("parent", "original", "source", "previous", "next", "duplicate")):
            found = None  # the row's own id once more
    elif (named := re.fullmatch(r"(.+?)_?(identifier|name|number|code|key|slug)", name)) is not None:
        found = by_noun.get(squash(named[1]))
        if found is None or found is table or found.key is None or squash(found.key.name) != squash(name):
            found = None
    elif name == singular(name):
        found = by_noun.get(squash(name)) if _says_id(column) else None
        if found is not None and (found is table or found.key is None or not _GLOBAL.search(squash(found.key.name))):
            found = None
    if found is None or found.key is None or found.key.kind is not column.kind or len(found.primary_key) > 1:
        return
    if name.endswith("arn") is not found.key.name.endswith("arn"):
        return  # an id is no ARN
    column.target = found


def _says_id(column: ColumnDraft) -> bool:
    """Whether a column that is called like a thing holds its id, and not its name or a text of its own."""
    shape = column.shape
    if shape is None:
        return False
    is_expanded = EXPANDS in shape.keywords
    return is_expanded or column.kind is ValueKind.INTEGER or _ID_WORDS.search(shape.description) is not None


def _without_circles(tables: Sequence[TableDraft]) -> list[TableDraft]:
    """Parents before children; a reference that would close a circle is none, and rather than one of a path."""
    order: list[TableDraft] = []
    above = {id(table): _above(table) for table in tables}
    state: dict[int, int] = {}
    known = {id(table) for table in tables}

    def visit(first: TableDraft) -> None:
        stack: list[tuple[TableDraft, Iterable[ColumnDraft]]] = [(first, iter(_by_scope(first)))]
        state[id(first)] = 1
        while stack:
            table, columns = stack[-1]
            for column in columns:
                target = column.target
                if target is None or target is table:
                    continue
                closes = column.role is not ColumnRole.SCOPE and id(table) in above.get(id(target), ())
                if closes or id(target) not in known or state.get(id(target)) == 1:
                    column.target = None
                elif id(target) not in state:
                    state[id(target)] = 1
                    stack.append((target, iter(_by_scope(target))))
                    break
            else:
                stack.pop()
                state[id(table)] = 2
                order.append(table)

    for table in tables:
        if id(table) not in state:
            visit(table)
    return order


def _above(table: TableDraft) -> set[int]:
    """Identities of the tables that paths name above a table's rows, at any distance."""
    found: set[int] = set()
    waiting = [table]
    while waiting:
        for column in waiting.pop().columns.values():
            if column.role is ColumnRole.SCOPE and column.target is not None and id(column.target) not in found:
                found.add(id(column.target))
                waiting.append(column.target)
    return found


def _by_scope(table: TableDraft) -> list[ColumnDraft]:
    """Columns with those of the path first: a circle is better broken elsewhere."""
    return sorted(table.columns.values(), key=lambda column: column.role is not ColumnRole.SCOPE)


def _set_parents(table: TableDraft) -> None:
    """Foreign keys, whole: own columns for every column of the target's primary key, or none."""
    for column in list(table.columns.values()):
        target = column.target
        if target is None:
            continue
        own: list[ColumnDraft] = []
        for wanted in target.primary_key:
            if wanted is target.key:
                own.append(column)
                continue
            mark = next((mark for mark, scope in target.scope.items() if scope is wanted), None)
            found = table.scope.get(mark) if mark is not None else None
            if found is None or found.kind is not wanted.kind:
                break
            own.append(found)
        is_whole = len(own) == len(target.primary_key) and len({id(each) for each in own}) == len(own)
        is_ok = (
            is_whole
            and (len(own) == 1 or column.role is ColumnRole.SCOPE)
            and target.key is not None
            and column.kind is target.key.kind
        )
        if not is_ok:
            column.target = None
            continue
        for mine, theirs in zip(own, target.primary_key, strict=True):
            mine.shape = theirs.shape or mine.shape
        table.parents.append(ParentKey(tuple(own), target))
    _drop_contradictions(table)


def _drop_contradictions(table: TableDraft) -> None:
    """A column that two foreign keys share must lead to the same row by both ways, or rows could not exist."""
    kept: list[ParentKey] = []
    for parent in sorted(table.parents, key=lambda each: -len(each.columns)):
        wider = [other for other in kept if set(map(id, other.columns)) & set(map(id, parent.columns))]
        for other in wider:
            shared = [column for column in parent.columns if any(column is each for each in other.columns)]
            # The wider key's own table must point to the narrower one by the same column.
            for column in shared:
                theirs = other.table.primary_key[[id(each) for each in other.columns].index(id(column))]
                ours = parent.table.primary_key[[id(each) for each in parent.columns].index(id(column))]
                points = any(
                    theirs in up.columns and up.table is parent.table and len(parent.columns) == len(up.columns)
                    for up in other.table.parents
                )
                if not points and not (other.table is parent.table and theirs is ours):
                    break
            else:
                continue
            break
        else:
            kept.append(parent)
    dropped = [parent for parent in table.parents if parent not in kept]
    table.parents = [parent for parent in table.parents if parent in kept]
    for parent in dropped:
        parent.columns[-1].target = None
