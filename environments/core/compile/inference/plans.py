"""An operation's meaning while tables may still change: kind, arguments and answer, but no defaults and no SQL types.

`plan_call` reads each operation of a service once its tables have keys; `meanings` then makes the plans final.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from environments.core.compile.inference.columns import MIN_KNOWN, is_known
from environments.core.compile.inference.drafts import (
    ColumnDraft,
    LeftOutError,
    Service,
    TableDraft,
    parents_of,
)
from environments.core.compile.inference.key_names import key_name
from environments.core.compile.inference.keys import key_inputs
from environments.core.compile.inference.resources import VERBS
from environments.core.compile.inference.schemas import accepts
from environments.core.compile.inference.states import TransitionDraft, find_transition
from environments.core.compile.reading.calls import Act, Call, Form, Input, Place, ShapeType
from environments.core.compile.reading.words import singular, squash
from environments.core.compile.semantics import ArgumentRole, ColumnRole, Kind, ValueKind

Role = ArgumentRole
ROW_KINDS = frozenset({Kind.GET, Kind.PATCH, Kind.REPLACE, Kind.DELETE, Kind.TRANSITION})
LIST_KINDS = frozenset({Kind.LIST, Kind.LIST_KEYS, Kind.COUNT, Kind.SUM})
SETTING = frozenset({Kind.CREATE, Kind.PATCH, Kind.REPLACE, Kind.UPSERT, Kind.TRANSITION})
_POSITIONS = (Role.CURSOR, Role.AFTER, Role.PAGE, Role.OFFSET)
_GIVEN_KEYS = ("name", "slug", "code", "key", "login", "username", "handle", "tag", "title", "sku", "domain", "email")
_LOOSE = re.compile(
    r"\b(contain(s|ing)?|partial(ly)?|substring|part of|fuzzy|like|wildcards?|starts? with|prefix|regex|pattern)\b",
    re.IGNORECASE,
)
"""Descriptions of filters that do not ask for equality."""
MAX_SEARCHED = 4
_COMMANDS = frozenset({"action", "command", "operation", "event", "request", "batch", "bulk"})
"""Nouns of which posting one does something else than to keep it."""
_LANGUAGE = re.compile(
    r"\b(query language|syntax|expressions?|operators?|lucene|kql|sql|jql|odata|cel|regex|regular expression|json"
    r"|clauses?|filter(ing)? language|query string)\b",
    re.IGNORECASE,
)
"""Descriptions of parameters that take a language of their own, not words to look for."""
_SEARCHED = (
    "name", "title", "fullname", "displayname", "subject", "label", "headline", "summary", "description", "text",
    "body", "content", "message", "comment", "note", "notes", "email", "username", "login", "slug", "keywords",
    "firstname", "lastname",
)  # fmt: skip


@dataclass(slots=True, eq=False)
class ArgumentDraft:
    """An argument before its schema is made."""

    name: str
    role: ArgumentRole
    source: Input | None
    is_required: bool
    column: ColumnDraft | None = None


@dataclass(slots=True, eq=False)
class Plan:
    """An operation with its table and arguments."""

    call: Call
    kind: Kind
    table: TableDraft
    arguments: list[ArgumentDraft] = field(default_factory=list)
    dropped: list[tuple[str, str]] = field(default_factory=list)
    transition: TransitionDraft | None = None
    generates_key: bool = False
    through: "tuple[TableDraft, list[tuple[ColumnDraft, str]]] | None" = None
    """The link table, and (its column, argument) pairs of the parent's side."""
    searched: list[ColumnDraft] = field(default_factory=list)
    sorts: list[tuple[str, ColumnDraft]] = field(default_factory=list)
    descending: tuple[str, ...] = ()

    def with_column(self, column: ColumnDraft) -> ArgumentDraft | None:
        """The argument that names or sets a column."""
        return next((each for each in self.arguments if each.column is column), None)

    def add(self, argument: ArgumentDraft) -> None:
        """Takes an argument; one whose name is taken is called after its column."""
        names = {each.name for each in self.arguments}
        base = argument.column.name if argument.name in names and argument.column is not None else argument.name
        name, number = base, 1
        while name in names:
            number += 1
            name = f"{base}_{number}"
        argument.name = name
        self.arguments.append(argument)

    def of(self, *roles: ArgumentRole) -> list[ArgumentDraft]:
        """Its arguments of these roles."""
        return [each for each in self.arguments if each.role in roles]


def plan_call(call: Call, service: Service) -> Plan:
    """What the operation means among the service's tables.

    Raises:
        LeftOutError: Its meaning is not certain.
    """
    table = service.table_of(call.literals)
    if table is None:
        raise LeftOutError(_missing(call, service), "/".join(call.literals))
    plan = Plan(call, _kind(call, table), table)
    rest = _take_path(plan, service)
    if plan.kind in LIST_KINDS:
        take_filters(plan, rest)
    else:
        rest = _take_row_key(plan, rest)
        _take_values(plan, rest)
    _check(plan)
    return plan


def _missing(call: Call, service: Service) -> str:
    if call.literals in service.keyless:
        return "resource_has_no_key"
    if call.literals and call.literals[-1] in VERBS:
        return "verb_in_path"
    if call.literals in service.views:
        return "view_of_other_table"
    if call.act is Act.ACTION:
        return "action_without_resource"
    if call.act in (Act.ADD, Act.REMOVE):
        return "pair_ends_unknown"
    return "resource_has_no_schema"


# --- Kind -------------------------------------------------------------------------------------------------------------

_ITEM_KINDS = {"GET": Kind.GET, "PUT": Kind.REPLACE, "PATCH": Kind.PATCH, "DELETE": Kind.DELETE}
_ACT_KINDS = {
    Act.LIST: Kind.LIST,
    Act.GET: Kind.GET,
    Act.CREATE: Kind.CREATE,
    Act.UPDATE: Kind.PATCH,
    Act.REPLACE: Kind.UPSERT,
    Act.DELETE: Kind.DELETE,
    Act.COUNT: Kind.COUNT,
}


def _kind(call: Call, table: TableDraft) -> Kind:
    form = call.envelope.form
    if call.body_is_list:
        raise LeftOutError("bulk_operation")
    if call.act is Act.ITEM:
        kind = _item_kind(call, table)
    elif call.act is Act.COLLECTION:
        kind = _collection_kind(call, table)
    elif call.act is Act.ACTION:
        kind = Kind.TRANSITION
    elif call.act in (Act.ADD, Act.REMOVE):
        raise LeftOutError("pair_ends_unknown", call.verb)
    elif call.act is Act.DELETE and call.method == "POST" and not call.is_rpc and _takes_more(call):
        raise LeftOutError("no_state_for_verb", "remove")  # something is taken out of the row, the row stays
    else:
        kind = _ACT_KINDS[call.act]
        if kind is Kind.GET and form is Form.ROWS and not call.envelope.one_in_list:
            kind = Kind.LIST
        if kind is Kind.LIST and form is Form.SCALARS:
            kind = Kind.LIST_KEYS
    _check_answer(kind, call, table)
    return kind


def _takes_more(call: Call) -> bool:
    """Whether a call that names its row by its path says something else besides."""
    return call.steps[-1].parameter is not None and any(each.place is not Place.PATH for each in call.inputs)


def _item_kind(call: Call, table: TableDraft) -> Kind:
    if call.method == "POST":
        if call.creates:
            return Kind.CREATE
        if table.family.post_updates:
            return Kind.PATCH
        raise LeftOutError("post_on_item")
    kind = _ITEM_KINDS.get(call.method)
    if kind is None:
        raise LeftOutError("method_unknown", call.method)
    if kind is Kind.GET and call.envelope.form is Form.ROWS and not call.envelope.one_in_list:
        raise LeftOutError("get_gives_rows")
    return Kind.UPSERT if kind is Kind.REPLACE and call.creates else kind


def _collection_kind(call: Call, table: TableDraft) -> Kind:
    if call.method == "POST":
        if call.noun in _COMMANDS and all(other is call or other.method == "GET" for other in table.calls):
            raise LeftOutError("no_state_for_verb", call.noun)
        return Kind.CREATE
    if call.method != "GET":
        raise LeftOutError("bulk_delete" if call.method == "DELETE" else "put_on_collection")
    kinds = {Form.ROWS: Kind.LIST, Form.SCALARS: Kind.LIST_KEYS, Form.NUMBER: Kind.COUNT}
    kind = kinds.get(call.envelope.form)
    if kind is None:
        raise LeftOutError("read_only_singleton" if call.envelope.form is Form.ROW else "response_without_schema")
    return kind


def _check_answer(kind: Kind, call: Call, table: TableDraft) -> None:
    form, entity = call.envelope.form, call.envelope.entity
    if kind is Kind.LIST and form is not Form.ROWS:
        raise LeftOutError("list_without_rows")
    if kind is Kind.GET and form is not Form.ROW:
        raise LeftOutError("get_without_row")
    if kind is Kind.COUNT and form is not Form.NUMBER:
        raise LeftOutError("count_without_number")
    if kind is Kind.LIST_KEYS:
        is_key = entity is not None and table.key is not None and accepts(table.key.kind, entity)
        place = squash(call.envelope.place[-1]) if call.envelope.place else ""
        names = {squash(table.noun), squash(singular(place)), squash(table.key.name if table.key else "")}
        if not is_key or (place and not any(squash(singular(place)).endswith(each) for each in names if each)):
            raise LeftOutError("list_without_rows")
    if form is Form.OTHER or (form in (Form.SCALARS, Form.NUMBER) and kind not in LIST_KINDS):
        raise LeftOutError("response_unlike_resource")


# --- Path and key -----------------------------------------------------------------------------------------------------


def _take_path(plan: Plan, service: Service) -> list[Input]:
    """Makes arguments of path parameters; gives the inputs that are left."""
    call, table = plan.call, plan.table
    by_name = {each.name: each for each in call.inputs if each.place is Place.PATH}
    placed: set[str] = set()
    if not call.is_rpc:
        for collection, step in parents_of(call):
            column = table.scope.get(service.mark(collection, step))
            if column is None:
                raise LeftOutError("relation_unknown", f"{table.name} by {step.literal}/{step.parameter}")
            _place(plan, step.parameter or "", by_name, column, placed)
        last = call.steps[-1]
        if last.parameter is not None:
            if plan.kind in LIST_KINDS or (plan.kind is Kind.CREATE and call.act is not Act.ITEM):
                raise LeftOutError("item_without_row_meaning", call.method)
            if not table.is_key(last.parameter):
                raise LeftOutError("key_parameter_differs", last.parameter)
            _place(plan, last.parameter, by_name, table.named_key, placed)
    if by_name.keys() - placed and plan.kind not in LIST_KINDS:
        raise LeftOutError("path_parameter_unplaced", ", ".join(sorted(by_name.keys() - placed)))
    # What a path says besides, as /products/status/{status} does, filters.
    return [each for each in call.inputs if each.name not in placed or each.place is not Place.PATH]


def _place(plan: Plan, name: str, by_name: dict[str, Input], column: ColumnDraft, placed: set[str]) -> None:
    if name in placed or plan.with_column(column) is not None:
        raise LeftOutError("path_parameter_twice", name)
    placed.add(name)
    is_key = column in plan.table.primary_key and plan.kind in (*ROW_KINDS, Kind.UPSERT)
    is_new = plan.kind is Kind.CREATE and column is plan.table.key
    role = Role.KEY if is_key else Role.SET if is_new else Role.SCOPE
    plan.add(ArgumentDraft(name, role, by_name.get(name), True, column))


def _take_row_key(plan: Plan, rest: list[Input]) -> list[Input]:
    """The key of calls that name their row by an input, and the parents that they name so."""
    call, table, kind = plan.call, plan.table, plan.kind
    key = table.named_key
    needs_key = kind in ROW_KINDS or kind is Kind.UPSERT
    if needs_key and plan.with_column(key) is None:
        names = {squash(key.path[-1] if key.path else key.name): "key", squash(key.name): "key"}
        candidates = key_inputs(call) if call.is_rpc else [each for each in rest if each.is_required]
        hit = next((each for each in candidates if key_name(each.name, table.noun, names) is not None), None)
        if hit is None or not accepts(key.kind, hit.shape):
            raise LeftOutError("key_argument_unknown")
        plan.add(ArgumentDraft(hit.name, Role.KEY, hit, True, key))
        rest = [each for each in rest if each is not hit]
    if needs_key:
        for column in table.primary_key:
            if plan.with_column(column) is not None:
                continue
            hit = next((each for each in rest if table.column_for(each.target or each.name) is column), None)
            if hit is None or not hit.is_required or not accepts(column.kind, hit.shape):
                raise LeftOutError("key_incomplete", column.name)
            plan.add(ArgumentDraft(hit.name, Role.KEY, hit, True, column))
            rest = [each for each in rest if each is not hit]
    return rest


# --- Values -----------------------------------------------------------------------------------------------------------


def _take_values(plan: Plan, rest: list[Input]) -> None:
    """SET arguments of writes; what reads of one row take besides their key."""
    table, kind = plan.table, plan.kind
    body = [each for each in rest if each.place in (Place.BODY, Place.ARGUMENT)]
    if kind in (Kind.CREATE, Kind.PATCH, Kind.REPLACE, Kind.UPSERT) and body:
        known = sum(is_known(table, each.path) for each in body)
        if known < MIN_KNOWN * len(body):
            raise LeftOutError("body_unlike_resource", f"{known} of {len(body)} members are columns")
    if kind is Kind.TRANSITION:
        plan.transition = find_transition(table, plan.call.verb)
        if plan.transition is None:
            raise LeftOutError("no_state_for_verb", plan.call.verb)
    for each in rest:
        column = _value_column(table, each)
        if column is not None and plan.with_column(column) is not None:
            plan.dropped.append((each.name, "given_by_path"))
            continue
        if column is None or not _may_set(plan, column, each):
            _drop(plan, each, "no_column" if column is None else "not_settable")
            continue
        is_id = squash(column.name).endswith(("id", "arn"))
        is_scope = plan.call.is_rpc and each.is_required and (kind is Kind.TRANSITION or (kind is Kind.PATCH and is_id))
        names_row = kind not in SETTING or is_scope
        if names_row or (each.place is Place.QUERY and (not each.is_required or body)):
            if each.is_required and kind in ROW_KINDS and column.kind in (ValueKind.TEXT, ValueKind.INTEGER):
                plan.add(ArgumentDraft(each.name, Role.SCOPE, each, True, column))
                continue
            _drop(plan, each, "not_settable")
            continue
        name = "_".join(table.short(each.path))
        if each.shape.type is ShapeType.OBJECT and column.target is not None:
            name = column.name
        plan.add(ArgumentDraft(name, Role.SET, each, each.is_required, column))
    if kind is Kind.TRANSITION and plan.transition is not None:
        states = {id(column) for column, _ in plan.transition.sets}
        plan.arguments = [each for each in plan.arguments if each.role is not Role.SET or id(each.column) not in states]


def _value_column(table: TableDraft, each: Input) -> ColumnDraft | None:
    column = table.column_at(each.path)
    if column is None:
        return None
    if each.shape.type is ShapeType.OBJECT and column.target is not None:
        return column
    return column if accepts(column.kind, each.shape) else None


def _may_set(plan: Plan, column: ColumnDraft, each: Input) -> bool:
    if each.shape.is_read_only or column.template or column.role in (ColumnRole.CREATED, ColumnRole.UPDATED):
        return False
    if plan.kind in SETTING and column in plan.table.primary_key and plan.kind is not Kind.CREATE:
        return False
    is_id = column is plan.table.key and plan.kind is Kind.CREATE and not each.is_required
    return not (is_id and not is_natural(column))


def _drop(plan: Plan, each: Input, reason: str) -> None:
    if each.is_required and not each.shape.is_read_only:
        raise LeftOutError("required_parameter_unknown", each.name)
    plan.dropped.append((each.name, reason))


def is_natural(key: ColumnDraft) -> bool:
    """Whether people choose the key: a name, a slug, a code."""
    last = squash(key.path[-1] if key.path else key.name)
    return key.kind is ValueKind.TEXT and (last in _GIVEN_KEYS or last.endswith(("name", "slug", "login", "number")))


# --- Filters ----------------------------------------------------------------------------------------------------------


def take_filters(plan: Plan, rest: list[Input]) -> None:
    """Filters, paging and sorting of a list; a parameter that no column answers is dropped, a required one is not."""
    for each in rest:
        if not _take_filter(plan, each):
            _drop(plan, each, "no_column")
    if plan.of(Role.DIRECTION) and not plan.of(Role.SORT):
        plan.arguments = [each for each in plan.arguments if each.role is not Role.DIRECTION]
    if plan.sorts and not plan.of(Role.DIRECTION):
        plan.descending = ("-",) if any(name.startswith("-") for name, _ in plan.sorts) else ()
        plan.sorts = [(name, column) for name, column in plan.sorts if not name.startswith("-")]


def _take_filter(plan: Plan, each: Input) -> bool:
    table, role = plan.table, each.role
    pages = plan.kind in (Kind.LIST, Kind.LIST_KEYS)
    if role in _POSITIONS:
        if not pages or plan.of(*_POSITIONS):
            return False
        column = table.key if role is Role.AFTER else None
        plan.add(ArgumentDraft(each.name, role, each, False, column))
        return True
    if role is Role.SIZE:
        if not pages or plan.of(Role.SIZE):
            return False
        plan.add(ArgumentDraft(each.name, role, each, False))
        return True
    if role in (Role.SORT, Role.DIRECTION):
        return pages and _take_order(plan, each)
    if role is Role.SEARCH:
        column = table.column_for(each.name)
        if column is None or column.kind is not ValueKind.TEXT:
            return _take_search(plan, each)
    column = _filter_column(table, each)
    if column is None or (plan.with_column(column) is not None and role not in (Role.AT_LEAST, Role.AT_MOST)):
        return False
    if role in (Role.AT_LEAST, Role.AT_MOST):
        is_free = not any(other.role is role and other.column is column for other in plan.arguments)
        if not is_free or column.values or column.kind in (ValueKind.BOOLEAN, ValueKind.JSON, ValueKind.TEXT):
            return False
        plan.add(ArgumentDraft(each.name, role, each, each.is_required, column))
        return True
    if column.kind is ValueKind.JSON or column.is_secret:
        return False
    if each.shape.type is ShapeType.ARRAY or role is Role.ONE_OF:
        items = table.shapes.of(each.shape.items) if each.shape.items is not None else None
        if each.shape.type is not ShapeType.ARRAY or items is None or not accepts(column.kind, items):
            return False
        plan.add(ArgumentDraft(each.name, Role.ONE_OF, each, each.is_required, column))
        return True
    if not accepts(column.kind, each.shape) or column.kind is ValueKind.REAL:
        return False
    if column.kind is ValueKind.TEXT and not column.values and _LOOSE.search(each.description):
        return _take_part_of_text(plan, each, column)
    role = Role.SCOPE if each.is_required and column.target is not None else Role.FILTER
    plan.add(ArgumentDraft(each.name, role, each, each.is_required, column))
    return True


def _take_part_of_text(plan: Plan, each: Input, column: ColumnDraft) -> bool:
    """A filter by a part of a text is a search in that column; a tool has one search."""
    if plan.of(Role.SEARCH) or re.search(r"wildcard|\*|%|pattern|regex", each.description, re.IGNORECASE):
        return False
    plan.searched = [column]
    plan.add(ArgumentDraft(each.name, Role.SEARCH, each, each.is_required))
    return True


def _filter_column(table: TableDraft, each: Input) -> ColumnDraft | None:
    for name in (each.target, each.name, f"{each.name}_id"):
        column = table.column_for(name) if name else None
        if column is not None:
            return column
    return table.column_at(each.path)


def _take_search(plan: Plan, each: Input) -> bool:
    if each.shape.type is not ShapeType.STRING or plan.of(Role.SEARCH) or _LANGUAGE.search(each.description):
        return False
    plan.searched = searched_columns(plan.table)
    if not plan.searched:
        return False
    plan.add(ArgumentDraft(each.name, Role.SEARCH, each, each.is_required))
    return True


def searched_columns(table: TableDraft) -> list[ColumnDraft]:
    """Columns that a free search looks into: texts that people write."""
    found = {
        squash(column.path[-1] if column.path else column.name): column
        for column in reversed(list(table.columns.values()))
        if column.kind is ValueKind.TEXT and not column.values and not column.is_secret and column.path
    }
    return [found[name] for name in _SEARCHED if name in found][:MAX_SEARCHED]


def _take_order(plan: Plan, each: Input) -> bool:
    """SORT with the values that name columns, or DIRECTION with its two words."""
    values = [value for value in each.shape.values if isinstance(value, str)]
    if each.role is Role.DIRECTION:
        down = tuple(value for value in values if value.lower().startswith(("desc", "down", "reverse")))
        if len(values) != 2 or len(down) != 1 or plan.of(Role.DIRECTION):
            return False
        plan.descending = down
        plan.add(ArgumentDraft(each.name, Role.DIRECTION, each, False))
        return True
    if plan.of(Role.SORT):
        return False
    sorts = list(_sorts(plan.table, values))
    if not sorts:
        return False
    plan.sorts = sorts
    plan.add(ArgumentDraft(each.name, Role.SORT, each, False))
    return True


def _sorts(table: TableDraft, values: Iterable[str]) -> Iterable[tuple[str, ColumnDraft]]:
    for value in values:
        column = table.column_for(value.lstrip("-"))
        for tail in ("at", "date", "on"):
            column = column or table.column_for(f"{value.lstrip('-')}{tail}")
        if column is not None and column.kind is not ValueKind.JSON and not column.is_secret:
            yield value, column


# --- Whole ------------------------------------------------------------------------------------------------------------


def _check(plan: Plan) -> None:
    """What a plan as a whole must have."""
    table, kind = plan.table, plan.kind
    key = table.named_key
    sets = plan.of(Role.SET)
    if kind is Kind.CREATE:
        given = plan.with_column(key)
        plan.generates_key = given is None
        if given is not None:
            given.is_required = True
        if not sets:
            raise LeftOutError("create_without_fields")
        if plan.generates_key and (is_natural(key) or not key.path):
            raise LeftOutError("key_not_given", key.name)
        for column in table.primary_key:
            if column is not key and plan.with_column(column) is None:
                raise LeftOutError("scope_not_given", column.name)
    if kind in (Kind.PATCH, Kind.REPLACE, Kind.UPSERT) and not sets:
        raise LeftOutError("update_without_fields")
    if kind is Kind.SUM or (kind is Kind.COUNT and plan.of(*_POSITIONS)):
        raise LeftOutError("count_without_number")
