"""The rows of one table: ordinary ones, near misses of them, and enough below one parent for a second page."""

from dataclasses import dataclass
from typing import Any, Final

from environments.core.compile.rows.coherence import Row, settle, size_of
from environments.core.compile.rows.draws import draws_for
from environments.core.compile.rows.errors import RowsError
from environments.core.compile.rows.facts import CLOCK, RowFacts, TableFacts
from environments.core.compile.rows.fitting import fit_length, suffixed
from environments.core.compile.rows.generating import extreme, in_form, make, stored, titled, usual
from environments.core.compile.rows.keys import next_integer, opaque_key
from environments.core.compile.rows.nouns import names_for
from environments.core.compile.rows.parents import Made, ParentChoice
from environments.core.compile.rows.plans import Change, Probe, Step, TablePlan, parts_of
from environments.core.compile.rows.senses import Sense
from environments.core.compile.rows.specs import NUMBERS, TIMES, Form, Setting, Spec
from environments.core.compile.semantics import Column, ColumnRole, TableRole, Value, ValueKind

_TRIES: Final = 40
_NULL_RATE: Final = 0.12
_MAX_SCOPES: Final = 3
"""Different values of a part of the path that has no table."""
_ROOT_RATE: Final = 0.4
"""Rows of a table that points to itself which point nowhere."""


_ALIKE: Final = frozenset({Change.TIE, Change.CASE, Change.WILDCARD, Change.NO_WILDCARD})
"""Near misses whose changed column still tells the same thing."""


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows of a table a level has.

    Attributes:
        base: Ordinary rows.
        links: Pairs of a link table.
        most: Rows with near misses.
        is_paged: Whether lists get more rows than fit a page.
        is_extreme: Whether values are the extreme ones.
        null_rate: Of values that may be missing.
        num_reserved: Rows without children.
    """

    base: int
    links: int
    most: int
    is_paged: bool = False
    is_extreme: bool = False
    null_rate: float = _NULL_RATE
    num_reserved: int = 1


class TableMaker:
    """Makes the rows of one table of one scenario.

    Args:
        plan: Of the table.
        setting: Of the blueprint.
        size: How many.
        made: Rows of the tables before it; the table's own are added.
        names: What begins the keys of all draws: the seed and the blueprint.
        level: Of the scenario.
    """

    def __init__(
        self,
        plan: TablePlan,
        setting: Setting,
        size: Size,
        made: dict[str, Made],
        names: tuple[object, ...],
        level: str,
    ) -> None:
        self.plan = plan
        self.table = plan.table
        self.setting = setting
        self.size = size
        self.is_extreme = size.is_extreme
        self.names = names
        self.draws = draws_for(*names, level, self.table.name)
        self.facts = TableFacts(self.table.noun, self._names(), draws_for(*names, "facts", self.table.name))
        self.made = made
        self.own = made[self.table.name] = Made(plan)
        self.choice = ParentChoice(plan, made, self.draws)
        self.taken: dict[tuple[str, ...], set[tuple[Value, ...]]] = {
            columns: set() for columns in (self.table.primary_key, *self.table.unique)
        }
        self.unique = frozenset(name for columns in self.table.unique for name in columns)

    def _names(self) -> list[str]:
        draws = draws_for(*self.names, "names", self.table.name)
        listed = draws.shuffled(names_for(self.table.noun, self.setting.is_cloud))
        for spec in self.plan.specs.values():
            if spec.sense in (Sense.NAME, Sense.TITLE) and spec.form is Form.TEXT and not spec.role:
                shown_first = [each for each in spec.examples if isinstance(each, str) and len(each) <= 40]
                return list(dict.fromkeys([*shown_first[:3], *listed]))
        return listed

    def fill(self) -> None:
        """Makes all rows."""
        plan, size = self.plan, self.size
        base = size.links if self.table.role is TableRole.LINK or plan.key is None else size.base
        if size.is_extreme and not plan.is_needed:
            base = 0
        base = max(base, plan.num_covering) if base else 0
        for _ in range(base):
            self._add(self._new())
        self.own.num_reserved = size.num_reserved if len(self.own.rows) > size.num_reserved + 1 else 0
        if size.most > size.base and self.own.rows:
            self._add_near_misses()
        if size.is_paged:
            self._fill_page()

    # --- One row --------------------------------------------------------------------------------------------------

    def _add(self, made: tuple[Row, RowFacts] | None) -> bool:
        if made is None:
            return False
        row, facts = made
        for columns, taken in self.taken.items():
            taken.add(tuple([row[name] for name in columns]))
        self.own.add({column.name: row[column.name] for column in self.table.columns}, facts)
        return True

    def _new(self, fixed: Row | None = None, favourite: frozenset[str] = frozenset()) -> tuple[Row, RowFacts] | None:
        """An ordinary row; None if there are no parents for one more."""
        for _ in range(_TRIES):
            row: Row = dict(fixed or {})
            for name in self.plan.scopes:
                if name not in row:
                    row[name] = self._scope(name, is_favourite=name in favourite)
            chosen = self.choice.choose(row, self.plan.linked if self.size.is_extreme else favourite)
            if chosen is None and not self.own.rows:
                chosen = self._apart(row)
            if chosen is None:
                return None
            facts = self._facts(chosen, len(self.own.rows))
            self._make_own(chosen, facts)
            if self._finish(chosen, facts):
                return chosen, facts
        return None

    def _apart(self, row: Row) -> Row | None:
        """Parents that the row does not agree with, where there are no others: better than no rows at all."""
        copies, self.plan.copies = self.plan.copies, {}
        try:
            return self.choice.choose(row)
        finally:
            self.plan.copies = copies

    def _facts(self, row: Row, index: int) -> RowFacts:
        since = 0
        for key in self.plan.parents:
            values = tuple(row[name] for name in key.columns)
            for number in self.made[key.table].where(key.targets, values)[:1]:
                since = max(since, self.made[key.table].facts[number].created)
        return RowFacts(self.facts, index, self.draws, since)

    def _scope(self, name: str, *, is_favourite: bool) -> Value:
        values = self._scope_values(name)
        if is_favourite or self.size.is_extreme or self.draws.happens(0.5):
            return values[0]
        return self.draws.choice(values)

    def _scope_values(self, name: str) -> list[Value]:
        """The few values of a part of the path without a table, the same in every table that has it."""
        spec, column = self.plan.specs[name], self.table.column(name)
        if spec.values:
            return [stored(column.kind, value) for value in usual(spec)[:_MAX_SCOPES]]
        draws = draws_for(*self.names, "scope", name, column.kind.value)
        noun = name.removesuffix("_id").removesuffix("_name")
        facts = TableFacts(noun, names_for(noun, self.setting.is_cloud), draws)
        found: dict[Value, None] = {}
        for index in range(_TRIES):
            row_facts = RowFacts(facts, index, draws)
            if name in ("subscription_id", "tenant_id") and self.setting.family == "azure":
                value: Any = draws.uuid()
                value = value if spec.check is None or spec.check(value) else make(spec, row_facts, draws)
            else:
                value = make(spec, row_facts, draws)
            if value is not None:
                found[stored(column.kind, value)] = None
            if len(found) == _MAX_SCOPES:
                break
        if not found:
            raise RowsError(self.table.name, name)
        return list(found)

    def _make_own(self, row: Row, facts: RowFacts, pinned: frozenset[str] = frozenset()) -> None:
        key = self.plan.key
        facts.known = row
        if key is not None and key not in row:
            row[key] = self._key(self.table.column(key), row, facts)
        number = len(self.own.rows)
        for step in self.plan.steps:
            name = step.column.name
            if name not in row:
                is_scope = step.column.role is ColumnRole.SCOPE
                row[name] = self._scope(name, is_favourite=False) if is_scope else self._value(step, facts, number)
        self._settle_states(row, pinned)
        settle(row, self.plan, self._fits, pinned)

    def _value(self, step: Step, facts: RowFacts, number: int) -> Value:
        if step.states is not None:
            return step.states[number] if number < len(step.states) else self.draws.choice(step.states)
        if self.is_extreme:
            if step.may_be_missing and number % 2 == 1:
                return None
            value = extreme(step.spec, facts, self.draws, is_high=number % 2 == 0)
        else:
            if step.may_be_missing and number > 0 and self.draws.happens(self.size.null_rate):
                return None
            value = make(step.spec, facts, self.draws)
        if value is None and step.column.is_required:
            raise RowsError(self.table.name, step.column.name)
        return stored(step.column.kind, value)

    def _settle_states(self, row: Row, pinned: frozenset[str]) -> None:
        """`cancelled_at` has a value only where the row is cancelled, and nothing is both approved and rejected."""
        for name, (state, values) in self.plan.dated.items():
            if row[state] not in values and name not in pinned and not self.table.column(name).is_required:
                row[name] = None
        for pair in self.plan.exclusive:
            free = [name for name in pair if name not in pinned and not self.table.column(name).is_required]
            if free and all(row[name] is not None for name in pair):
                row[self.draws.choice(free)] = None
        for name, other in self.plan.labels:
            value, spec = row[other], self.plan.specs[name]
            if name not in pinned and isinstance(value, str) and row[name] is not None and not self.is_extreme:
                label = fit_length(spec, titled(value))
                if label is not None and (spec.check is None or spec.check(label)):
                    row[name] = label

    def _key(self, column: Column, row: Row, facts: RowFacts) -> Value:
        spec = self.plan.specs[column.name]
        if column.kind in (ValueKind.INTEGER, ValueKind.EPOCH, ValueKind.EPOCH_MILLISECONDS) and not spec.values:
            return self._integer_key(column, spec, row)
        if (
            column.kind is ValueKind.TEXT
            and not spec.values
            and (value := opaque_key(column, spec, self.draws)) is not None
        ):
            return value
        value = make(spec, facts, self.draws)
        if value is None:
            raise RowsError(self.table.name, column.name)
        return stored(column.kind, value)

    def _integer_key(self, column: Column, spec: Spec, row: Row) -> int:
        others = tuple(name for name in self.table.primary_key if name != column.name)
        numbers = self.own.where(others, tuple(row.get(name) for name in others))
        used = [int(self.own.rows[number][column.name] or 0) for number in numbers]
        return next_integer(spec, used, self.draws)

    # --- Constraints ----------------------------------------------------------------------------------------------

    def _finish(self, row: Row, facts: RowFacts) -> bool:
        """Own references, computed columns, and keys that no other row has; False if there is no way."""
        for _ in range(_TRIES):
            self._compute(row)
            clash = self._clash(row)
            if clash is None:
                self._point_to_own(row)
                self._compute(row)
                clash = self._clash(row)
                if clash is None:
                    return True
            if not self._change(row, clash, facts):
                return False
        return False

    def _clash(self, row: Row) -> tuple[str, ...] | None:
        for columns, taken in self.taken.items():
            values = tuple([row.get(name) for name in columns])
            if None not in values and values in taken:
                return columns
        return None

    def _change(self, row: Row, columns: tuple[str, ...], facts: RowFacts) -> bool:
        """Gives one of the columns another value, so that they are together no other row's."""
        free = [name for name in self._givers(columns) if name not in self.plan.linked]
        free.sort(key=lambda name: (name in self.plan.scopes, -columns.index(name) if name in columns else 0))
        for name in free:
            column, spec = self.table.column(name), self.plan.specs[name]
            for value in self._others(column, spec, row[name], facts):
                if value is not None and value != row[name]:
                    trial = {**row, name: value}
                    self._compute(trial)
                    if tuple([trial.get(each) for each in columns]) not in self.taken[columns]:
                        row[name] = value
                        return True
        return False

    def _givers(self, columns: tuple[str, ...]) -> list[str]:
        """The columns themselves, or those that they are computed from."""
        found: list[str] = []
        for name in columns:
            template = self.table.column(name).template
            found += self._givers(tuple(parts_of(template))) if template is not None else [name]
        return list(dict.fromkeys(found))

    def _others(self, column: Column, spec: Spec, value: Value, facts: RowFacts) -> list[Value]:
        if column.kind is ValueKind.BOOLEAN:
            return [0, 1]
        if spec.values:
            return [stored(column.kind, each) for each in self.draws.shuffled(spec.values)]
        if column.name in self.plan.scopes:
            return list(self._scope_values(column.name))
        if spec.form in TIMES:
            seconds = int(size_of(spec, value) or facts.created)
            step = 86_400 if spec.form is Form.DATE else 60
            return [in_form(spec, seconds - step * turn) for turn in range(1, 40)]
        if column.kind is ValueKind.JSON:
            return [stored(column.kind, make(spec, facts, self.draws)) for _ in range(4)]
        is_key = column.name == self.plan.key and column.kind is ValueKind.TEXT
        if is_key and (key := opaque_key(column, spec, self.draws)) is not None:
            return [key]
        fresh = [make(spec, RowFacts(self.facts, facts.index + 40 + turn, self.draws), self.draws) for turn in range(2)]
        is_shared = spec.is_identity and spec.sense is not Sense.NAME and not spec.pattern
        tries = [suffixed(spec, value, turn, self.draws) for turn in range(1, 30)]
        return [*tries, *fresh] if is_shared or column.name in self.unique else [*fresh, *tries]

    def _compute(self, row: Row) -> None:
        for _ in self.plan.templates:
            for column in self.plan.templates:
                template = column.template
                if template is not None and all(name in row for name in parts_of(template)):
                    parts = [part if isinstance(part, str) else _text(row[part.column]) for part in template.parts]
                    row[column.name] = "".join(parts)

    def _point_to_own(self, row: Row) -> None:
        """Foreign keys to the table itself: to an earlier row, to none, or (where one must be) to the row itself."""
        free = [name for name in self.plan.self_linked if name not in row]
        for key in self.plan.own_keys:
            unset = [name for name in key.columns if name in free and name not in row]
            if not unset:
                continue
            mine, theirs = self.choice.columns_of(key)
            known = tuple(place for place, name in enumerate(mine) if name in row)
            values = tuple(row[mine[place]] for place in known)
            numbers = self.own.where(tuple(theirs[place] for place in known), values)
            usable = [number for number in numbers if not self.own.is_reserved(number)]
            is_required = any(self.table.column(name).is_required for name in unset)
            if usable and (is_required or not self.draws.happens(_ROOT_RATE)):
                target = self.own.rows[usable[self.draws.below(min(3, len(usable)))]]
            elif is_required:
                target = row
            else:
                row.update(dict.fromkeys(unset))
                continue
            for name, its in zip(key.columns, key.targets, strict=True):
                if name in unset:
                    row[name] = target[its]

    def _fits(self, spec: Spec, value: Value) -> bool:
        if not isinstance(value, int | float):
            return True
        is_within = (spec.low is None or value >= spec.low) and (spec.high is None or value <= spec.high)
        return is_within and (spec.check is None or spec.check(value)) and abs(value) <= 1 << 53

    # --- Near misses ----------------------------------------------------------------------------------------------

    def _add_near_misses(self) -> None:
        num_base = len(self.own.rows)
        for turn, probe in enumerate(self.plan.probes):
            if len(self.own.rows) >= self.size.most:
                return
            number = turn % min(2, num_base)
            base, facts = self.own.rows[number], self.own.facts[number]
            if probe.change is Change.SCOPE:
                made = self._elsewhere(base, facts, probe)
            else:
                made = self._almost(base, facts, probe)
            self._add(made)

    def _elsewhere(self, base: Row, facts: RowFacts, probe: Probe) -> tuple[Row, RowFacts] | None:
        """The same key, or the same values, under another parent."""
        row = self._other_scope(base, probe.column)
        if row is None:
            return None
        key = self.plan.key
        if probe.column in self.table.primary_key and key is not None:
            row[key] = base[key]
            again = RowFacts(self.facts, facts.index, self.draws, facts.created - 1)
            self._make_own(row, again)
        else:
            again = self._like(row, base, facts, probe.kept)
            self._make_own(row, again, probe.kept)
        return (row, again) if self._finish(row, again) else None

    def _other_scope(self, base: Row, column: str) -> Row | None:
        """Scope and linked columns of a row that differs in one part."""
        row: Row = {name: base[name] for name in self.plan.scopes}
        if column in self.plan.linked:
            found = self.choice.beside(base, column)
            return None if found is None else {**row, **found}
        if column not in self.plan.scopes:
            return None
        others = [value for value in self._scope_values(column) if value != base[column]]
        if not others:
            return None
        row[column] = others[0]
        linked = {name: base[name] for name in self.plan.linked}
        return self.choice.choose({**linked, **row}, has_nulls=False)

    def _like(self, row: Row, base: Row, facts: RowFacts, kept: frozenset[str]) -> RowFacts:
        """Takes over what tools ask for, and gives the facts for the rest."""
        shares_name = False
        shares_times = False
        for column in self.plan.made:
            name = column.name
            if name in kept and name not in self.unique:
                row[name] = base[name]
                shares_name = shares_name or self.plan.specs[name].is_identity
                shares_times = shares_times or self.plan.specs[name].form in TIMES
        again = RowFacts(self.facts, facts.index if shares_name else len(self.own.rows), self.draws)
        if shares_times:
            again.created, again.updated = facts.created, facts.updated
        return again

    def _almost(self, base: Row, facts: RowFacts, probe: Probe) -> tuple[Row, RowFacts] | None:
        """A row with all the values that tools ask for of another but one."""
        name, plan = probe.column, self.plan
        if plan.key is None or name in self.table.primary_key or name in plan.self_linked:
            return None
        row: Row = {each: base[each] for each in (*plan.scopes, *plan.linked)}
        if name in plan.linked:
            found = self._without_parent(row, name) if probe.change is Change.NULL else self.choice.beside(base, name)
            if found is None:
                return None
            row.update(found)
        again = self._like(row, base, facts, probe.kept | {name} if probe.change in _ALIKE else probe.kept)
        if name not in plan.linked and name not in plan.scopes:
            column = self.table.column(name)
            if column.template is not None:
                return None
            value = self._changed(column, base[name], probe.change, again)
            if value == base[name] and probe.change is not Change.TIE:
                return None
            row[name] = value
            if plan.specs[name].form in TIMES:
                again.created, again.updated = facts.created, facts.updated
        self._make_own(row, again, probe.kept | {name})
        return (row, again) if self._finish(row, again) else None

    def _without_parent(self, row: Row, name: str) -> Row | None:
        """NULL in a foreign key of one column that may be so."""
        keys = [key for key in self.plan.parents if name in key.columns]
        is_required = self.table.column(name).is_required or name in self.plan.scoped_by
        if is_required or len(keys) != 1 or len(keys[0].columns) > 1:
            return None
        return {name: None} if row[name] is not None else None

    def _changed(self, column: Column, value: Value, change: Change, facts: RowFacts) -> Value:
        spec = self.plan.specs[column.name]
        if change is Change.TIE:
            return value
        if change is Change.NULL:
            return value if column.is_required or column.name in self.plan.states else None
        if value is None:
            return stored(column.kind, make(spec, facts, self.draws))
        if change in (Change.BELOW, Change.ABOVE):
            return self._neighbour(spec, value, -1 if change is Change.BELOW else 1)
        if change in (Change.WILDCARD, Change.NO_WILDCARD, Change.CASE):
            return _rewritten(spec, str(value), change) if column.kind is ValueKind.TEXT else value
        others = [each for each in self.plan.states.get(column.name, ()) if each != value]
        if others:
            return self.draws.choice(others)
        if spec.is_identity:
            for index in (facts.index, len(self.own.rows) + 1, len(self.own.rows) + 2):
                fresh = stored(column.kind, make(spec, RowFacts(self.facts, index, self.draws), self.draws))
                if fresh not in (value, None):
                    return fresh
        return next((each for each in self._others(column, spec, value, facts) if each not in (value, None)), value)

    def _neighbour(self, spec: Spec, value: Value, direction: int) -> Value:
        """The nearest value below or above."""
        if spec.form in TIMES:
            seconds = int(size_of(spec, value) or 0) + direction * (86_400 if spec.form is Form.DATE else 1)
            if seconds > CLOCK and (size_of(spec, value) or 0) <= CLOCK:
                return value
            found = in_form(spec, seconds)
            return value if found is None else found
        if spec.form in NUMBERS and isinstance(value, int | float) and not spec.values:
            step = spec.step or (1 if spec.form is Form.INTEGER else 0.01)
            near: float = value + direction * step
            moved = int(near) if spec.form is Form.INTEGER else round(near, 6)
            return moved if self._fits(spec, moved) else value
        return value

    # --- Pages ----------------------------------------------------------------------------------------------------

    def _fill_page(self) -> None:
        """Adds rows below the first parent until its list needs a second page."""
        plan = self.plan
        if not plan.page or not self.own.rows:
            return
        first = self.own.rows[0]
        scoped = tuple(name for name in plan.scoped_by if name in first)
        scoped = tuple(sorted(scoped))
        values = tuple(first[name] for name in scoped)
        missing = plan.page - len(self.own.where(scoped, values))
        for _ in range(max(0, missing)):
            fixed = dict(zip(scoped, values, strict=True)) if None not in values else {}
            own = set(plan.self_linked)
            if not self._add(self._new({name: value for name, value in fixed.items() if name not in own})):
                return


def _text(value: Value) -> str:
    return "" if value is None else str(value)


def _rewritten(spec: Spec, text: str, change: Change) -> str:
    """The text with wildcards of LIKE, with other characters in their place, or in other letters; the same if unfit."""
    if change is Change.CASE:
        made = text.upper() if text.upper() != text else text.lower()
    elif change is Change.WILDCARD:
        made = f"{text} 50%_off"
    else:
        made = f"{text} 50 x off"
    is_fit = spec.max_length is None or len(made) <= spec.max_length
    return made if is_fit and not spec.values and (spec.check is None or spec.check(made)) else text
