"""Plans and drafts made final: tables, columns, meanings and views of one environment."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from environments.core.compile.inference.drafts import ColumnDraft, LeftOutError, ParentKey, TableDraft
from environments.core.compile.inference.names import argument_description, past_participle, python_name, view_name
from environments.core.compile.inference.plans import LIST_KINDS, ROW_KINDS, ArgumentDraft, Plan
from environments.core.compile.inference.schemas import (
    argument_schema,
    column_schema,
    size_schema,
)
from environments.core.compile.inference.settling import is_free_text
from environments.core.compile.reading.calls import Form, Shape
from environments.core.compile.reading.shapes import Shapes
from environments.core.compile.reading.words import plural, snake, squash
from environments.core.compile.semantics import (
    DEFAULT_PAGE_SIZE,
    MAX_ARGUMENTS,
    Absent,
    Answer,
    Argument,
    ArgumentRole,
    Assignment,
    Check,
    Column,
    ColumnRole,
    Exists,
    ForeignKey,
    Generated,
    InUse,
    Kind,
    Meaning,
    OnDelete,
    Order,
    PageFact,
    Result,
    Shown,
    Source,
    StateAllows,
    Table,
    TableRole,
    Template,
    Through,
    ValueKind,
    View,
)

Role = ArgumentRole
_FROM_ZERO: Final = re.compile(
    r"\b(starts?|begins?|starting|beginning|first page)\b[^.]{0,24}\b(0|zero)\b|\b(0|zero)[- ](based|indexed)\b",
    re.IGNORECASE,
)
_DEFAULT: Final = re.compile(r"\bdefaults?\b[^.\d]{0,40}?\b(\d{1,3})\b", re.IGNORECASE)
MIN_SHOWN: Final = 0.5
"""Share of an answer's properties that columns must show for it to be the table's row."""
_PAGED_FACTS: Final = {
    PageFact.NEXT_CURSOR: Role.CURSOR,
    PageFact.NEXT_AFTER: Role.AFTER,
    PageFact.NEXT_PAGE: Role.PAGE,
    PageFact.PAGE: Role.PAGE,
    PageFact.OFFSET: Role.OFFSET,
    PageFact.SIZE: Role.SIZE,
}


class Schema:
    """The tables of one environment, final: foreign keys lead to tables that are in it, or are plain columns.

    Args:
        tables: Parents before children.
    """

    def __init__(self, tables: Sequence[TableDraft]) -> None:
        self.drafts = tuple(tables)
        self._inside = {id(table) for table in tables}
        self.views: dict[tuple[Any, ...], View] = {}
        self._names: set[str] = set()

    def parents(self, table: TableDraft) -> list[ParentKey]:
        """The foreign keys of a table that lead to tables of this environment."""
        return [parent for parent in table.parents if id(parent.table) in self._inside]

    def children(self, table: TableDraft) -> list[tuple[TableDraft, ParentKey]]:
        """The foreign keys that point to a table."""
        return [(child, parent) for child in self.drafts for parent in self.parents(child) if parent.table is table]

    def on_delete(self, child: TableDraft, parent: ParentKey) -> OnDelete:
        """What becomes of the child's row: what lives below a path goes, too; what only refers loses its reference."""
        is_below = parent.columns[-1].role is ColumnRole.SCOPE or child.link is not None
        if is_below:
            return OnDelete.CASCADE
        is_free = all(not column.is_required and column not in child.primary_key for column in parent.columns)
        return OnDelete.SET_NULL if is_free and parent.table is not child else OnDelete.RESTRICT

    def table(self, draft: TableDraft, has_tools: bool, description: str) -> Table:
        """The final form of a table."""
        keys = tuple(
            ForeignKey(
                tuple(column.name for column in parent.columns),
                parent.table.name,
                tuple(column.name for column in parent.table.primary_key),
                self.on_delete(draft, parent),
            )
            for parent in self.parents(draft)
        )
        linked = {name for key in keys for name in key.columns}
        return Table(
            name=draft.name,
            noun=draft.noun,
            description=description,
            columns=tuple(_column(column, draft, column.name in linked) for column in _ordered(draft)),
            primary_key=tuple(column.name for column in draft.primary_key),
            foreign_keys=keys,
            role=TableRole.ENTITY if draft.link is None else TableRole.LINK,
            has_tools=has_tools,
        )

    def view(self, table: TableDraft, entity: Shape, shapes: Shapes) -> View:
        """How a row is shown in answers of a shape.

        Raises:
            LeftOutError: Too little of the shape is in the table.
        """
        properties: list[Shown] = []
        constants: list[tuple[tuple[str, ...], Any]] = []
        shown: set[tuple[str, ...]] = set()
        every = shapes.properties(entity, table.family.promoted)
        for each in every:
            column = table.column_of(each.path)
            if each.path in table.constants:
                constants.append((each.path, table.constants[each.path]))
            elif len(each.shape.values) == 1 and (column is None or not column.values):
                constants.append((each.path, each.shape.values[0]))
            elif column is not None and not column.is_secret and column.path not in shown and column.path:
                shown.add(column.path)
                properties.append(Shown(column.path, column.name))
        if not properties or len(properties) + len(constants) + len(table.nested) < MIN_SHOWN * len(every):
            raise LeftOutError("response_unlike_resource", f"{len(properties)} of {len(every)} members are columns")
        properties = _without_clashes(properties)
        content = (table.name, tuple(properties), tuple((path, repr(value)) for path, value in constants))
        if content not in self.views:
            name = view_name(table.noun, entity.name, self._names)
            self._names.add(name)
            self.views[content] = View(name, table.name, tuple(properties), tuple(constants))
        return self.views[content]


def _ordered(table: TableDraft) -> list[ColumnDraft]:
    """Keys first, then as the document has them."""
    keys = table.primary_key
    return [*keys, *(column for column in table.columns.values() if all(column is not key for key in keys))]


def _column(column: ColumnDraft, table: TableDraft, is_linked: bool) -> Column:
    comparison: str | None = "semantic" if is_free_text(column) else "hard"
    if column.generated is not None:
        comparison = "exempt"
    if is_linked:
        comparison = None
    return Column(
        name=column.name,
        kind=column.kind,
        path=column.path,
        schema=_without_form(column_schema(column, table.shapes))
        if column.generated
        else column_schema(column, table.shapes),
        description=column.description,
        role=column.role,
        is_required=column.is_required or column in table.primary_key,
        values=column.values,
        generated=column.generated,
        template=Template(column.template) if column.template else None,
        comparison=comparison,
        default=column.default,
        is_secret=column.is_secret,
    )


def _without_form(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that new ids fit, whatever form the document's own have."""
    return {key: value for key, value in schema.items() if key not in ("pattern", "minLength", "maxLength")}


def _without_clashes(properties: list[Shown]) -> list[Shown]:
    """No property stands inside another one: `owner` and `owner.id` can't both be shown."""
    leaves = {shown.path for shown in properties}
    return [
        shown
        for shown in properties
        if not any(len(path) > len(shown.path) and path[: len(shown.path)] == shown.path for path in leaves)
    ]


# --- Meanings ---------------------------------------------------------------------------------------------------------


def make_meaning(plan: Plan, schema: Schema, shapes: Shapes) -> Meaning:
    """The final meaning of a plan.

    Raises:
        LeftOutError: Its answer can't be shown.
    """
    result = _result(plan, schema, shapes)
    _cap(plan)
    arguments = _arguments(plan, shapes)
    pages = bool({argument.role for argument in arguments} & {Role.SIZE, *_PAGED_FACTS.values()})
    size = next((argument.default for argument in arguments if argument.role is Role.SIZE), DEFAULT_PAGE_SIZE)
    page = next((argument for argument in arguments if argument.role is Role.PAGE), None)
    is_list = plan.kind in (Kind.LIST, Kind.LIST_KEYS)
    through = None
    if plan.through is not None:
        link, pairs = plan.through
        through = Through(
            link.name,
            tuple((column.name, name) for column, name in pairs),
            tuple(
                (own.name, theirs.name)
                for own, theirs in zip(link.parents[1].columns, plan.table.primary_key, strict=True)
            ),
        )
    return Meaning(
        kind=plan.kind,
        table=plan.table.name,
        arguments=arguments,
        checks=_distinct(_checks(plan, schema)),
        result=result,
        assignments=_assignments(plan),
        updates=_updates(plan) if plan.kind is Kind.UPSERT else (),
        order=tuple(Order(column.name) for column in plan.table.primary_key) if is_list else (),
        sorts=tuple((value, column.name) for value, column in plan.sorts),
        descending_values=plan.descending,
        first_page=page.default if page is not None else 1,
        page_size=size if pages and is_list else None,
        search_columns=tuple(column.name for column in plan.searched),
        through=through,
        verb=plan.call.verb if plan.kind is Kind.TRANSITION else "",
    )


def _cap(plan: Plan) -> None:
    """Leaves out optional arguments beyond what a tool may have, last ones first."""
    ordered = sorted(plan.arguments, key=lambda each: not each.is_required)
    kept, extra = ordered[:MAX_ARGUMENTS], ordered[MAX_ARGUMENTS:]
    if any(each.is_required for each in extra):
        raise LeftOutError("required_parameter_unknown", f"more than {MAX_ARGUMENTS} arguments are required")
    plan.dropped += [(each.name, "too_many") for each in extra]
    plan.arguments = kept


def _arguments(plan: Plan, shapes: Shapes) -> tuple[Argument, ...]:
    made: list[Argument] = []
    taken: set[str] = set()
    for each in plan.arguments:
        schema, default = _argument_schema(each, plan, shapes)
        name = python_name(each.name, taken)
        taken.add(name)
        made.append(
            Argument(
                name=each.name,
                python_name=name,
                role=each.role,
                schema=schema,
                description=argument_description(each, plan),
                is_required=each.is_required,
                column=each.column.name if each.column is not None else None,
                default=default,
            )
        )
    return tuple(made)


def _argument_schema(each: ArgumentDraft, plan: Plan, shapes: Shapes) -> tuple[dict[str, Any], Any]:
    shape = each.source.shape if each.source is not None else None
    given = shape.default if shape is not None else None
    minimum = shape.keywords.get("minimum") if shape is not None else None
    if each.role is Role.SIZE:
        schema = size_schema(shape)
        number = given if type(given) is int else _said_default(each)
        return schema, max(1, min(number, schema["maximum"]))
    if each.role is Role.PAGE:
        text = each.source.description if each.source is not None else ""
        from_zero = minimum == 0 or (type(given) is int and given == 0) or _FROM_ZERO.search(text) is not None
        first = 0 if from_zero else 1
        return {"type": "integer", "minimum": first}, first
    if each.role is Role.OFFSET:
        return {"type": "integer", "minimum": 0}, 0
    if each.role is Role.CURSOR:
        return {"type": "string", "pattern": "^[0-9]{1,9}$"}, None
    if each.role is Role.SEARCH:
        return {"type": "string", "minLength": 1, "maxLength": 200}, None
    if each.role is Role.DIRECTION:
        return {"type": "string", "enum": list(shape.values) if shape is not None else []}, None
    if each.role is Role.SORT:
        names = [value for value, _ in plan.sorts]
        down = [f"-{value}" for value in names] if "-" in plan.descending else []
        return {"type": "string", "enum": [*names, *down]}, None
    if each.column is None:
        raise LeftOutError("required_parameter_unknown", each.name)
    if each.role is Role.ONE_OF:
        items = shapes.of(shape.items) if shape is not None and shape.items is not None else None
        return {"type": "array", "items": argument_schema(each.column, items, shapes, Role.FILTER)}, None
    schema = argument_schema(each.column, shape, shapes, each.role)
    target = each.column.target
    is_new = target is not None and target.key is not None and target.key.generated is not None
    return (_without_form(schema) if is_new else schema), None


def _said_default(each: ArgumentDraft) -> int:
    """The page size that a description names: "Defaults to 10"."""
    text = each.source.description if each.source is not None else ""
    match = _DEFAULT.search(text)
    return int(match[1]) if match else DEFAULT_PAGE_SIZE


def _assignments(plan: Plan) -> tuple[Assignment, ...]:
    """What is written; of an upsert, the new row."""
    kind, table = plan.kind, plan.table
    if kind is Kind.LINK:
        return tuple(
            Assignment(column.name, Source.ARGUMENT, each.name)
            for column in table.primary_key
            if (each := plan.with_column(column)) is not None
        )
    if kind in (Kind.CREATE, Kind.UPSERT):
        return tuple(filter(None, (_new_value(plan, column) for column in _ordered(table))))
    if kind in (Kind.PATCH, Kind.REPLACE, Kind.TRANSITION):
        return _changes(plan)
    return ()


def _new_value(plan: Plan, column: ColumnDraft) -> Assignment | None:
    if column.template:
        return Assignment(column.name, Source.TEMPLATE)
    argument = plan.with_column(column)
    if argument is not None:
        return Assignment(column.name, Source.ARGUMENT, argument.name)
    if column.generated is Generated.ID:
        return Assignment(column.name, Source.NEW_ID)
    if column.generated is Generated.NOW:
        return Assignment(column.name, Source.NOW)
    if column.default is not None:
        return Assignment(column.name, Source.DEFAULT)
    return None


def _changes(plan: Plan) -> tuple[Assignment, ...]:
    """Changed columns in the table's order."""
    constants = dict(plan.transition.sets) if plan.transition is not None else {}
    made = []
    for column in _ordered(plan.table):
        argument = plan.with_column(column)
        if column in constants:
            made.append(Assignment(column.name, Source.CONSTANT, constant=constants[column]))
        elif argument is not None and argument.role is Role.SET:
            made.append(Assignment(column.name, Source.ARGUMENT, argument.name))
        elif column.role is ColumnRole.UPDATED and column.generated is Generated.NOW:
            made.append(Assignment(column.name, Source.NOW))
    return tuple(made)


def _updates(plan: Plan) -> tuple[Assignment, ...]:
    return tuple(each for each in _changes(plan) if each.source is not Source.CONSTANT)


# --- Checks -----------------------------------------------------------------------------------------------------------


def _distinct(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Checks with codes of their own: of two about one table, the later is called after its argument."""
    made: list[Check] = []
    codes: set[str] = set()
    for check in checks:
        code, number = check.code, 1
        if code in codes and isinstance(check, Exists):
            code = f"{snake(check.where[-1][1])[:37].strip('_')}_not_found"
        while code in codes:
            number += 1
            code = f"{check.code[:45]}_{number}"
        codes.add(code)
        made.append(replace(check, code=code))
    return tuple(made)


def _checks(plan: Plan, schema: Schema) -> Iterable[Check]:
    kind, table = plan.kind, plan.table
    if plan.through is not None:
        link, pairs = plan.through
        names = {id(column): name for column, name in pairs}
        near = link.parents[0]
        where = tuple(
            (target.name, names[id(column)])
            for column, target in zip(near.columns, near.table.primary_key, strict=True)
        )
        yield Exists(f"{near.table.noun}_not_found"[:48], near.table.name, where)
    elif kind is Kind.UNLINK or kind in ROW_KINDS:
        yield Exists(_code(table, "not_found"), table.name, _key_pairs(plan))
    else:
        yield from _parent_checks(plan, schema, (Role.SCOPE, Role.KEY))
    yield from _after_check(plan)
    if kind not in LIST_KINDS:
        yield from _parent_checks(plan, schema, (Role.SET,))
    if kind is Kind.CREATE and not plan.generates_key:
        keys = tuple(
            (column.name, each.name) for column in table.primary_key if (each := plan.with_column(column)) is not None
        )
        yield Absent(_code(table, "exists"), table.name, keys)
    if kind is Kind.DELETE:
        yield from _use_checks(plan, schema)
    change = plan.transition
    if change is not None and (change.allowed or change.refused):
        state = str(change.refused[0] if change.refused else "")
        is_flag = change.column.kind is ValueKind.BOOLEAN
        code = (
            f"{table.noun}_cannot_be_{past_participle(plan.call.verb)}"
            if change.allowed or is_flag
            else f"{table.noun}_already_{squash(state)}"
        )
        yield StateAllows(
            code[:48].strip("_"), table.name, _key_pairs(plan), change.column.name, change.allowed, change.refused
        )


def _code(table: TableDraft, what: str) -> str:
    return f"{table.noun[: 47 - len(what)].strip('_')}_{what}"


def _key_pairs(plan: Plan) -> tuple[tuple[str, str], ...]:
    return tuple(
        (each.column.name, each.name)
        for each in plan.arguments
        if each.role in (Role.KEY, Role.SCOPE) and each.column is not None
    )


def _parent_checks(plan: Plan, schema: Schema, roles: tuple[ArgumentRole, ...]) -> Iterable[Check]:
    """Rows that arguments refer to must be there; below a parent with a global key, the path above it must agree."""
    seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    # From the outside in: what is wrong higher up in the path is said first.
    place = {id(each.column): position for position, each in enumerate(plan.arguments)}
    for parent in sorted(schema.parents(plan.table), key=lambda each: place.get(id(each.columns[-1]), -1)):
        last = plan.with_column(parent.columns[-1])
        if last is None or last.role not in roles:
            continue
        given = [plan.with_column(column) for column in parent.columns]
        pairs = [
            (target.name, each.name)
            for target, each in zip(parent.table.primary_key, given, strict=True)
            if each is not None
        ]
        if len(pairs) < len(parent.columns):
            continue
        if last.role is not Role.SET:
            for mark, column in plan.table.scope.items():
                theirs = parent.table.scope.get(mark)
                mine = plan.with_column(column)
                if theirs is not None and mine is not None and all(name != theirs.name for name, _ in pairs):
                    pairs.append((theirs.name, mine.name))
        key = (parent.table.name, tuple(pairs))
        if key not in seen:
            seen.add(key)
            yield Exists(_code(parent.table, "not_found"), *key)


def _after_check(plan: Plan) -> Iterable[Check]:
    after = next(iter(plan.of(Role.AFTER)), None)
    if after is None or plan.table.key is None:
        return
    scope = [each for each in plan.of(Role.SCOPE) if each.column is not None and plan.through is None]
    pairs = [(each.column.name, each.name) for each in scope if each.column is not None]
    yield Exists(_code(plan.table, "not_found"), plan.table.name, (*pairs, (plan.table.key.name, after.name)))


def _use_checks(plan: Plan, schema: Schema) -> Iterable[Check]:
    for child, parent in schema.children(plan.table):
        if schema.on_delete(child, parent) is not OnDelete.RESTRICT:
            continue
        names = [plan.with_column(column) for column in plan.table.primary_key]
        if any(each is None for each in names):
            continue
        where = tuple(
            (column.name, each.name) for column, each in zip(parent.columns, names, strict=True) if each is not None
        )
        yield InUse(_code(plan.table, "in_use"), child.name, where)


# --- Answers ----------------------------------------------------------------------------------------------------------


def _result(plan: Plan, schema: Schema, shapes: Shapes) -> Result:
    envelope, kind, table = plan.call.envelope, plan.kind, plan.table
    if kind is Kind.LIST_KEYS:
        key = table.key.name if table.key is not None else "key"
        return Result(Answer.KEYS, envelope.place or (plural(key),), None, _facts(plan))
    if kind is Kind.COUNT:
        return Result(Answer.NUMBER, envelope.place or ("count",))
    if kind is Kind.LIST:
        if envelope.entity is None:
            raise LeftOutError("list_without_rows")
        view = schema.view(table, envelope.entity, shapes)
        return Result(Answer.ROWS, envelope.place or (table.name,), view, _facts(plan), _constants(plan))
    if envelope.form in (Form.ROW, Form.ROWS) and envelope.entity is not None:
        is_listed = envelope.one_in_list or envelope.form is Form.ROWS
        try:
            view = schema.view(table, envelope.entity, shapes)
        except LeftOutError:
            if kind is not Kind.DELETE:
                raise
            return Result(Answer.NOTHING)
        place = envelope.place or ((table.noun,) if is_listed else ())
        return Result(Answer.ROW, place, view, (), _constants(plan), is_listed)
    if envelope.form in (Form.ROW, Form.ROWS):
        raise LeftOutError("response_unlike_resource")
    return Result(Answer.NOTHING, constants=_constants(plan))


def _constants(plan: Plan) -> tuple[tuple[tuple[str, ...], Any], ...]:
    envelope = plan.call.envelope
    inside = envelope.place
    if not inside:
        return ()
    return tuple((path, value) for path, value in envelope.constants if path[: len(inside)] != inside)


def _facts(plan: Plan) -> tuple[tuple[tuple[str, ...], PageFact], ...]:
    """What the envelope says that this list can answer."""
    roles = {each.role for each in plan.arguments}
    pages = bool(roles & {Role.SIZE, *_PAGED_FACTS.values()})
    found = []
    for path, fact in plan.call.envelope.page_facts:
        needed = _PAGED_FACTS.get(fact)
        if needed is not None and needed not in roles:
            if not (fact is PageFact.NEXT_CURSOR and Role.AFTER in roles):
                continue
            fact = PageFact.NEXT_AFTER
        if fact in (PageFact.HAS_MORE, PageFact.NUM_PAGES) and not pages:
            continue
        found.append((path, fact))
    return tuple(found)
