"""What is known of a table before its rows are made: which columns hold what, and what its tools will ask of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from environments.core.compile.reading.words import plural, singular
from environments.core.compile.rows.copies import Copies, copies_of
from environments.core.compile.rows.draws import draws_for
from environments.core.compile.rows.events import EXCLUSIVE, event_of, states_after
from environments.core.compile.rows.facts import RowFacts, TableFacts
from environments.core.compile.rows.generating import make
from environments.core.compile.rows.naming import Forms, forms_asked, joined
from environments.core.compile.rows.nouns import names_for
from environments.core.compile.rows.senses import Sense
from environments.core.compile.rows.specs import TIMES, Setting, Spec, build_spec
from environments.core.compile.semantics import (
    ArgumentRole,
    Blueprint,
    Column,
    ColumnRole,
    Exists,
    ForeignKey,
    Generated,
    InUse,
    Kind,
    PlannedTool,
    Schema,
    Source,
    StateAllows,
    Table,
    Template,
    Value,
    ValueKind,
)

MAX_SIZED_PAGE: Final = 22
"""Rows that fill a page at most whose size a caller can choose: smaller pages show the same."""
MAX_FIXED_PAGE: Final = 60
MAX_NESTED_IN_ROW: Final = 2_400
"""Bytes of all objects and arrays of a row together, so that a full page is no longer than an answer may be."""
MIN_NESTED: Final = 120
_FILTERS: Final = frozenset({ArgumentRole.FILTER, ArgumentRole.ONE_OF})
_SELECTING: Final = _FILTERS | {ArgumentRole.AT_LEAST, ArgumentRole.AT_MOST}


class Change(StrEnum):
    """How a near miss differs from the row that it is like."""

    OTHER = "other"
    NULL = "null"
    BELOW = "below"
    ABOVE = "above"
    TIE = "tie"
    """Only in its key."""
    WILDCARD = "wildcard"
    """A searched text with `%` and `_` in it."""
    NO_WILDCARD = "no_wildcard"
    """The same text with other characters in their place."""
    CASE = "case"
    SCOPE = "scope"
    """Under another parent."""


_PROSE: Final = frozenset({Sense.DESCRIPTION, Sense.NOTE, Sense.MESSAGE, Sense.SUBJECT, Sense.REASON, Sense.TITLE})
"""Texts in which nobody minds an odd word."""
_TELLING: Final = (
    Change.OTHER, Change.BELOW, Change.ABOVE, Change.CASE, Change.WILDCARD, Change.NO_WILDCARD, Change.NULL, Change.TIE,
    Change.SCOPE,
)  # fmt: skip
"""Near misses that come first where there is no room for all."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One near miss.

    Attributes:
        change: How it differs.
        column: In which column.
        kept: Columns that the same tools filter or search by, which must not differ as well.
    """

    change: Change
    column: str
    kept: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Step:
    """One column that is made.

    Attributes:
        column: The column.
        spec: Of its value.
        states: Values that rows get in turn, if it is a state.
        may_be_missing: Whether NULL is as good as a value.
    """

    column: Column
    spec: Spec
    states: tuple[Value, ...] | None
    may_be_missing: bool


@dataclass(slots=True)
class TablePlan:
    """What is known of a table.

    Attributes:
        table: The table.
        specs: By column, in order; foreign keys and templates have one, too.
        parents: Foreign keys to other tables; those within the primary key first.
        own_keys: Foreign keys to the table itself.
        copies: What rows repeat of those that they point to, beside the foreign key.
        linked: Columns of `parents`, and those that repeat a parent's.
        copied: Of them, those that are no part of a foreign key: made like others where there is no parent.
        self_linked: Columns of `own_keys` that nothing else fills.
        scopes: Columns that hold a part of the path for which there is no table.
        key: The column that tells rows below one scope apart; None if foreign keys do.
        made: The remaining columns, without templates.
        steps: The same with all that making them needs.
        ordered: Pairs of columns of which the first is never the greater.
        dated: Times that only rows in some states have: the state's column and values by the time's column.
        exclusive: Pairs of times of which a row has one at most.
        labels: Columns that say in words what another says in a code: (the words', the code's).
        templates: Columns that are computed.
        probes: Near misses, the most telling first.
        probed: Columns that tools filter, sort or search by.
        states: Values of state columns, in the order in which rows get them; every transition is allowed in some of
            the first `num_covering` and refused in others.
        num_covering: Rows that it takes.
        scoped_by: Foreign keys and scope columns that lists go by.
        page: Rows that a list needs for more than one page, or 0.
        is_needed: Whether a tool asks for a row of it by its key.
    """

    table: Table
    specs: dict[str, Spec]
    parents: tuple[ForeignKey, ...] = ()
    own_keys: tuple[ForeignKey, ...] = ()
    copies: Copies = field(default_factory=dict)
    linked: frozenset[str] = frozenset()
    copied: frozenset[str] = frozenset()
    self_linked: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    key: str | None = None
    made: tuple[Column, ...] = ()
    steps: tuple[Step, ...] = ()
    ordered: tuple[tuple[str, str], ...] = ()
    dated: dict[str, tuple[str, frozenset[Value]]] = field(default_factory=dict)
    exclusive: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    templates: tuple[Column, ...] = ()
    probes: tuple[Probe, ...] = ()
    probed: frozenset[str] = frozenset()
    states: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    num_covering: int = 0
    scoped_by: frozenset[str] = frozenset()
    page: int = 0
    is_needed: bool = False


def plan_tables(blueprint: Blueprint, setting: Setting) -> dict[str, TablePlan]:
    """The plans of all tables, in their order."""
    forms = forms_asked(blueprint)
    plans = {table.name: _plan(table, setting, forms, copies_of(table, blueprint)) for table in blueprint.tables}
    for name, plan in plans.items():
        _add_demands(plan, blueprint)
        plan.is_needed = plan.is_needed or any(
            key.table == name for other in blueprint.tables if other.name != name for key in other.foreign_keys
        )
        plan.steps = tuple(
            Step(
                column,
                plan.specs[column.name],
                plan.states.get(column.name),
                _may_be_missing(column, plan.specs[column.name]),
            )
            for column in (*plan.made, *(plan.table.column(name) for name in sorted(plan.copied)))
        )
        plan.dated = _dated(plan)
        plan.exclusive = _exclusive(plan)
        plan.labels = labels_of(plan)
    return plans


def _may_be_missing(column: Column, spec: Spec) -> bool:
    has_use = column.role in (ColumnRole.CREATED, ColumnRole.UPDATED, ColumnRole.STATUS)
    is_own_name = spec.sense in (Sense.NAME, Sense.TITLE) and not spec.role
    return not column.is_required and not has_use and not is_own_name


def _dated(plan: TablePlan) -> dict[str, tuple[str, frozenset[Value]]]:
    """`cancelled_at` and the states in which there is such a time."""
    found: dict[str, tuple[str, frozenset[Value]]] = {}
    for column in plan.made:
        spec = plan.specs[column.name]
        if spec.form not in TIMES or column.role is not ColumnRole.PLAIN or column.name in plan.states:
            continue
        words = spec.tokens
        for other in plan.made:
            if other.name == column.name:
                continue
            if other.kind is ValueKind.TEXT and _is_state(plan, other):
                given: tuple[Value, ...] = (
                    other.values or plan.states.get(other.name, ()) or plan.specs[other.name].pool
                )
                after = {value for value in states_after(words, given) if isinstance(value, str)}
                is_short = len(words) == 2 and words[1] in ("at", "on", "date", "time")
                if is_short:
                    after |= {value for value in given if isinstance(value, str) and value.lower() == words[0]}
                if after:
                    found[column.name] = (other.name, frozenset(after))
            elif other.kind is ValueKind.BOOLEAN and len(words) == 2 and other.name in (words[0], f"is_{words[0]}"):
                found[column.name] = (other.name, frozenset({1}))
    return found


def _is_state(plan: TablePlan, column: Column) -> bool:
    is_called_so = plan.specs[column.name].tokens[-1:] in (("status",), ("state",), ("phase",))
    return column.role is ColumnRole.STATUS or column.name in plan.states or is_called_so


def _exclusive(plan: TablePlan) -> tuple[tuple[str, str], ...]:
    """Pairs of times of which a row has one at most, where one of them may be missing."""
    times: dict[str, str] = {}
    for column in plan.made:
        event = event_of(plan.specs[column.name].tokens) if plan.specs[column.name].form in TIMES else None
        if event is not None and not event[1]:
            times.setdefault(event[0], column.name)
    pairs = [(times[one], times[other]) for one, other in EXCLUSIVE if one in times and other in times]
    return tuple(pair for pair in pairs if not all(plan.table.column(name).is_required for name in pair))


def labels_of(plan: TablePlan) -> tuple[tuple[str, str], ...]:
    """`status_label` and `status_value`, or `status` alone."""
    made = {column.name: column for column in plan.made if column.kind is ValueKind.TEXT}
    found = []
    for name, column in made.items():
        for ending in ("_label", "_title", "_text", "_display", "_display_name"):
            stem = name.removesuffix(ending)
            if stem == name or column.values:
                continue
            for other in (f"{stem}_value", f"{stem}_code", f"{stem}_key", stem):
                if other in made and (made[other].values or plan.specs[other].pool):
                    found.append((name, other))
                    break
    return tuple(dict(found).items())


def _column_spec(table: Table, column: Column, setting: Setting, forms: Sequence[Schema]) -> Spec:
    """The spec of a column's value in JSON form, and in the forms that tools ask for if there is such a text."""
    for number in range(len(forms), 0, -1):
        spec = _spec(table, column, setting, joined(column.schema, forms[:number]))
        facts = TableFacts(table.noun, names_for(table.noun, setting.is_cloud), draws_for(table.name, column.name))
        draws = draws_for("form", table.name, column.name)
        if make(spec, RowFacts(facts, 0, draws), draws) is not None:
            return spec
    return _spec(table, column, setting, column.schema)


def _spec(table: Table, column: Column, setting: Setting, schema: Schema) -> Spec:
    values = column.values if column.kind is not ValueKind.BOOLEAN else ()
    return build_spec(
        column.name,
        schema,
        setting,
        table.noun,
        kind=column.kind,
        values=values,
        description=column.description,
    )


def _plan(table: Table, setting: Setting, forms: Forms, copies: Copies) -> TablePlan:
    plan = TablePlan(
        table,
        {
            column.name: _column_spec(table, column, setting, forms.get((table.name, column.name), ()))
            for column in table.columns
        },
    )
    nested = [plan.specs[column.name] for column in table.columns if column.kind is ValueKind.JSON]
    for spec in nested:
        spec.most_bytes = max(MIN_NESTED, min(spec.most_bytes, MAX_NESTED_IN_ROW // len(nested)))
    key = set(table.primary_key)
    parents = [each for each in table.foreign_keys if each.table != table.name]
    parents.sort(
        key=lambda each: (  # those that say most about the others first: few rows of the others agree with them
            -len(copies.get(each, ())),
            not key.issuperset(each.columns),
            not key.intersection(each.columns),
        )
    )
    plan.parents = tuple(parents)
    plan.own_keys = tuple(each for each in table.foreign_keys if each.table == table.name)
    pointing = frozenset(name for each in parents for name in each.columns)
    plan.copies = copies
    plan.copied = frozenset(child for each in parents for child, _ in copies.get(each, ())) - pointing
    plan.linked = pointing | plan.copied
    plan.templates = tuple(column for column in table.columns if column.template is not None)
    computed = {column.name for column in plan.templates}
    free = [name for name in table.primary_key if name not in plan.linked and name not in computed]
    plan.key = _key_of(table, free)
    plan.scopes = tuple(
        column.name
        for column in table.columns
        if column.name not in plan.linked
        and column.name not in computed
        and column.name != plan.key
        and (column.name in free or column.role == "scope")
    )
    settled = plan.linked | computed | set(plan.scopes) | {plan.key}
    plan.self_linked = tuple(
        dict.fromkeys(name for each in plan.own_keys for name in each.columns if name not in settled)
    )
    settled |= set(plan.self_linked)
    plan.made = tuple(column for column in table.columns if column.name not in settled)
    return plan


def _key_of(table: Table, free: list[str]) -> str | None:
    if free:
        return free[-1]
    last = table.column(table.key)
    if last.template is None:
        return None
    # A computed key differs if the last of its own parts does.
    linked = {name for each in table.foreign_keys for name in each.columns}
    for part in reversed(parts_of(last.template)):
        column = table.column(part)
        if column.template is None and part not in linked and column.role != "scope":
            return part
    return None


def parts_of(template: Template) -> list[str]:
    """Columns that a template is made of."""
    return [part.column for part in template.parts if not isinstance(part, str)]


# --- What tools ask for -----------------------------------------------------------------------------------------------


def _add_demands(plan: TablePlan, blueprint: Blueprint) -> None:
    table = plan.table
    names = {column.name for column in table.columns}
    probes: dict[tuple[Change, str], set[str]] = {}
    scoped: dict[str, set[str]] = {}
    for tool in blueprint.tools:
        meaning = tool.meaning
        if meaning.through is not None and meaning.through.table == table.name:
            for column, _ in meaning.through.scope:
                scoped.setdefault(column, set())
            plan.page = max(plan.page, _page(tool))
        if any(
            check.table == table.name and isinstance(check, Exists | StateAllows | InUse) for check in meaning.checks
        ):
            plan.is_needed = True
        if meaning.table != table.name:
            continue
        if meaning.with_role(ArgumentRole.KEY) and meaning.kind is not Kind.LINK:
            plan.is_needed = True
        if meaning.reads_only and meaning.kind is not Kind.GET:
            asked = _asked(tool, names)
            for change, column in _probes(tool, plan.specs):
                probes.setdefault((change, column), set()).update(asked)
            if meaning.through is None:
                for each in meaning.with_role(ArgumentRole.SCOPE):
                    if each.column in names:
                        scoped.setdefault(str(each.column), set()).update(asked)
                plan.page = max(plan.page, _page(tool))
    plan.scoped_by = frozenset(scoped)
    parts = [name for name in table.primary_key if name in plan.linked or name in plan.scopes]
    scopes = [Probe(Change.SCOPE, name, frozenset(scoped.get(name, ()))) for name in dict.fromkeys((*parts, *scoped))]
    if plan.key is None:  # every part is someone else's key: pairs differ by themselves
        scopes = []
    others = [Probe(change, column, frozenset(kept - {column})) for (change, column), kept in probes.items()]
    others.sort(key=lambda probe: _TELLING.index(probe.change))
    plan.probes = (*scopes, *others)
    plan.probed = frozenset(column for _, column in probes)
    _add_states(plan, blueprint)


def _asked(tool: PlannedTool, names: set[str]) -> set[str]:
    """Columns that decide whether a row is in a list."""
    by_argument = {
        str(each.column) for each in tool.meaning.arguments if each.role in _SELECTING and each.column in names
    }
    return by_argument | set(tool.meaning.search_columns)


def _page(tool: PlannedTool) -> int:
    size = tool.meaning.page_size
    if size is None:
        return 0
    most = MAX_SIZED_PAGE if tool.meaning.with_role(ArgumentRole.SIZE) else MAX_FIXED_PAGE
    return min(size, most) + 2


def _probes(tool: PlannedTool, specs: Mapping[str, Spec]) -> Iterable[tuple[Change, str]]:
    meaning = tool.meaning
    for argument in meaning.arguments:
        column = argument.column
        if column is None or column not in specs:
            continue
        if argument.role in _FILTERS:
            yield Change.OTHER, column
            yield Change.NULL, column
        elif argument.role is ArgumentRole.AT_LEAST:
            yield Change.BELOW, column
            yield Change.NULL, column
        elif argument.role is ArgumentRole.AT_MOST:
            yield Change.ABOVE, column
            yield Change.NULL, column
    for column in meaning.search_columns:
        yield Change.CASE, column
    for column in sorted(meaning.search_columns, key=lambda name: specs[name].sense not in _PROSE)[:1]:
        yield Change.WILDCARD, column
        yield Change.NO_WILDCARD, column
    for column in dict.fromkeys([*(column for _, column in meaning.sorts), *(step.column for step in meaning.order)]):
        if column in specs:
            yield Change.TIE, column


# --- States -----------------------------------------------------------------------------------------------------------


def _add_states(plan: TablePlan, blueprint: Blueprint) -> None:
    """Orders the values of each state column so that few rows let every transition through once and refuse it once."""
    checks: dict[str, dict[StateAllows, None]] = {}
    constants: dict[str, list[Value]] = {}
    for tool in blueprint.tools:
        for check in tool.meaning.checks:
            if isinstance(check, StateAllows) and check.table == plan.table.name:
                checks.setdefault(check.column, {})[check] = None
        if tool.meaning.table == plan.table.name:
            for each in tool.meaning.assignments:
                if each.source is Source.CONSTANT:
                    constants.setdefault(each.column, []).append(each.constant)
    for name, asked in checks.items():
        column = plan.table.column(name)
        if name in plan.linked or name in plan.table.primary_key or column.generated is Generated.ID:
            continue
        universe = _universe(column, asked, constants.get(name, []))
        covering = _covering(universe, list(asked))
        rest = [value for value in universe if value not in covering and not _says_nothing(value)]
        plan.states[name] = (*covering, *rest)
        plan.num_covering = max(plan.num_covering, len(covering))


def _universe(column: Column, asked: Mapping[StateAllows, None], constants: list[Value]) -> list[Value]:
    listed: list[Value] = [0, 1] if column.kind is ValueKind.BOOLEAN else list(column.values)
    if not listed:
        named = [value for check in asked for value in (*check.allowed, *check.refused)]
        listed = [value for value in (*named, *constants) if value is not None]
    has_null = not column.is_required and any(
        None in check.allowed or None in check.refused or not check.allowed for check in asked
    )
    if column.values:
        listed = [value for value in listed if value in column.values]
    found = list(dict.fromkeys(listed))
    return [*found, None] if has_null else found


def allows(check: StateAllows, value: Value) -> bool:
    """Whether a row with this state may change."""
    return value in check.allowed if check.allowed else value not in check.refused


def _covering(universe: list[Value], checks: list[StateAllows]) -> list[Value]:
    open_pairs = {
        (number, outcome)
        for number, check in enumerate(checks)
        for outcome in (True, False)
        if any(allows(check, value) is outcome for value in universe)
    }
    chosen: list[Value] = []
    while open_pairs:
        gains = [
            sum((number, allows(check, value)) in open_pairs for number, check in enumerate(checks))
            for value in universe
        ]
        best = universe[max(range(len(universe)), key=lambda place: (gains[place], -place))]
        chosen.append(best)
        open_pairs -= {(number, allows(check, best)) for number, check in enumerate(checks)}
    return chosen


def _says_nothing(value: Value) -> bool:
    return isinstance(value, str) and value.lower().endswith(("unspecified", "unknown", "undefined"))


def counts_of(plan: TablePlan, blueprint: Blueprint) -> list[tuple[str, ForeignKey, str]]:
    """Columns that count children: (column, the children's foreign key, their table)."""
    found = []
    for column in plan.made:
        if column.kind is not ValueKind.INTEGER or column.values:
            continue
        thing = _counted(column.name)
        if thing is None:
            continue
        for other in blueprint.tables:
            keys = [each for each in other.foreign_keys if each.table == plan.table.name]
            names = {other.name, plural(other.noun), plural(other.noun.removeprefix(f"{plan.table.noun}_"))}
            if len(keys) == 1 and thing in names and other.name != plan.table.name:
                found.append((column.name, keys[0], other.name))
                break
    return found


def _counted(name: str) -> str | None:
    """The plural of what a column's name says it counts."""
    words = name.split("_")
    if len(words) > 1 and words[-1] == "count":
        words = words[:-1]
    elif len(words) > 1 and words[0] in ("num", "total", "count"):
        words = words[1:]
    elif len(words) > 2 and words[:2] == ["number", "of"]:
        words = words[2:]
    else:
        return None
    if words and words[0] == "of":
        words = words[1:]
    return plural(singular("_".join(words))) if words else None
