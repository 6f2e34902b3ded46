"""The SQL that tools and their conditions have in common: literals, written values, filters and orders."""
# ruff: noqa: S608 - names are quoted, values are parameters or literals

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from environments.core.compile.emission.names import listed, python_names, quoted, unused
from environments.core.compile.semantics import (
    Argument,
    ArgumentRole,
    Assignment,
    Blueprint,
    Column,
    Exists,
    Meaning,
    Order,
    Part,
    Source,
    Table,
    Value,
    ValueKind,
)

_EQUAL: Final = frozenset({ArgumentRole.KEY, ArgumentRole.SCOPE, ArgumentRole.FILTER})
_BOUNDS: Final = {ArgumentRole.AT_LEAST: ">=", ArgumentRole.AT_MOST: "<="}
_CLOCK_WORDS: Final = frozenset({"now", "localtime", "utc"})
_PARAMETER: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|:(?P<name>[A-Za-z_]\w*)", re.ASCII)


def literal(value: Value) -> str:
    """A stored value as SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, int | float):
        return repr(value)
    if value.lower() in _CLOCK_WORDS:  # a pack's SQL must not hold these words, whatever they mean there
        return f"({literal(value[:2])} || {literal(value[2:])})"
    escaped = value.replace("'", "''")
    return f"'{escaped}'"


def literals(values: Iterable[Value]) -> str:
    """Stored values as a list of SQL."""
    return ", ".join(map(literal, values))


def may_be_null(column: Column, table: Table) -> bool:
    """Whether rows may have NULL in it."""
    return not column.is_required and column.name not in table.primary_key


def parameters(sql: str) -> tuple[str, ...]:
    """Names of the parameters of a text, in the order in which they first occur."""
    names = (match["name"] for match in _PARAMETER.finditer(sql))
    return tuple(dict.fromkeys(name for name in names if name))


def as_time(column: Column, parameter: str) -> str:
    """A time of the form `YYYY-MM-DDTHH:MM:SSZ` in the form of a column."""
    if column.kind is ValueKind.DATE:
        return f"date(:{parameter})"
    if column.kind is ValueKind.EPOCH_MILLISECONDS:
        return f"unixepoch(:{parameter}) * 1000"
    if column.kind in (ValueKind.TIME, ValueKind.TEXT):
        return f":{parameter}"
    return f"unixepoch(:{parameter})"


def default_of(argument: Argument, meaning: Meaning) -> Any:
    """What a missing argument means; None if missing means missing."""
    if argument.default is not None or argument.is_required:
        return argument.default
    if argument.role is ArgumentRole.PAGE:
        return meaning.first_page
    if argument.role is ArgumentRole.OFFSET:
        return 0
    if argument.role is ArgumentRole.SIZE:
        return meaning.page_size
    return None


@dataclass(frozen=True, slots=True)
class Subject:
    """A meaning with what its SQL needs at hand.

    Attributes:
        meaning: Of the tool.
        table: Its table.
        names: Python names of its arguments by JSON name.
        arguments: By JSON name.
    """

    meaning: Meaning
    table: Table
    names: Mapping[str, str]
    arguments: Mapping[str, Argument]

    @classmethod
    def of(cls, meaning: Meaning, blueprint: Blueprint) -> "Subject":
        """What a meaning is about."""
        return cls(
            meaning,
            blueprint.table(meaning.table),
            python_names(meaning),
            {argument.name: argument for argument in meaning.arguments},
        )

    def is_given(self, argument: Argument) -> bool:
        """Whether its value is there in every call."""
        return argument.is_required or default_of(argument, self.meaning) is not None

    def python(self, argument: Argument) -> str:
        """Its name in Python and SQL."""
        return self.names[argument.name]

    def one(self, role: ArgumentRole) -> Argument | None:
        """The only argument of that role."""
        return next(iter(self.meaning.with_role(role)), None)

    @property
    def now(self) -> str:
        """Parameter that holds the episode's time."""
        return unused("now", self.names.values())

    # Rows that are meant

    @property
    def key(self) -> tuple[tuple[str, Argument], ...]:
        """(column, argument) pairs that name the one row that the call is about.

        Columns beyond the primary key are among them only where no check has already held them against the row.

        Raises:
            ValueError: The arguments do not name one row.
        """
        given = {
            argument.column: argument
            for argument in self.meaning.arguments
            if argument.role in _EQUAL and argument.column is not None
        }
        missing = [name for name in self.table.primary_key if name not in given]
        if missing:
            raise ValueError(f"no argument of {self.table.name} names {', '.join(missing)}")
        own = [(name, given[name]) for name in self.table.primary_key]
        pairs = {(name, argument.name) for name, argument in given.items()}
        is_checked = any(
            isinstance(check, Exists) and check.table == self.table.name and pairs <= set(check.where)
            for check in self.meaning.checks
        )
        rest = () if is_checked else [pair for pair in given.items() if pair[0] not in self.table.primary_key]
        return (*own, *rest)

    def row(self) -> str:
        """The condition for the one row that the call is about."""
        return " AND ".join(f"{quoted(name)} = :{self.python(argument)}" for name, argument in self.key)

    def filters(self, *, of_condition: bool = False, without: Collection[str] = ()) -> list[str]:
        """The conditions for the rows of a list.

        Args:
            of_condition: Of a condition, which gets an absent or empty array as it is; a tool passes NULL for both.
            without: Columns that are fixed elsewhere.
        """
        through = self.meaning.through
        joined = {name for _, name in through.scope} if through is not None else set()
        found = [
            text
            for argument in self.meaning.arguments
            if argument.name not in joined
            and argument.column not in without
            and (text := self._filter(argument, of_condition=of_condition))
        ]
        if through is not None:
            scope = " AND ".join(f"{quoted(name)} = :{self.names[argument]}" for name, argument in through.scope)
            there, here = listed(name for name, _ in through.join), listed(name for _, name in through.join)
            here = f"({here})" if len(through.join) > 1 else here
            found.append(f"{here} IN (SELECT {there} FROM {quoted(through.table)} WHERE {scope})")
        return found

    def _filter(self, argument: Argument, *, of_condition: bool) -> str:
        parameter = f":{self.python(argument)}"
        is_given = self.is_given(argument)
        if argument.role is ArgumentRole.SEARCH:
            parts = [f"instr(lower({quoted(name)}), lower({parameter})) > 0" for name in self.meaning.search_columns]
            text = " OR ".join(parts)
            is_one = len(parts) == 1
            return _unless_absent(text if is_one or not is_given else f"({text})", parameter, is_given=is_given)
        if argument.column is None:
            return ""
        column = quoted(argument.column)
        if argument.role in _EQUAL:
            return _unless_absent(f"{column} = {parameter}", parameter, is_given=is_given)
        if argument.role in _BOUNDS:
            return _unless_absent(f"{column} {_BOUNDS[argument.role]} {parameter}", parameter, is_given=is_given)
        if argument.role is ArgumentRole.ONE_OF:
            among = f"{column} IN (SELECT value FROM json_each({parameter}))"
            if of_condition:
                return f"(coalesce(json_array_length({parameter}), 0) = 0 OR {among})"
            return f"({parameter} IS NULL OR {among})"
        return ""

    # Orders

    @property
    def fixed(self) -> dict[str, Argument]:
        """Columns that are the same in all rows of the list, and the arguments that say so."""
        joined = {name for _, name in self.meaning.through.scope} if self.meaning.through is not None else set()
        return {
            argument.column: argument
            for argument in self.meaning.arguments
            if argument.role in _EQUAL
            and argument.is_required
            and argument.column is not None
            and argument.name not in joined
        }

    def order(self, first: Order | None = None, fixed: Iterable[str] | None = None) -> tuple[Order, ...]:
        """The steps of an order that matter: none on a column that is the same in all rows, none behind a whole key.

        Args:
            first: What SORT asks for; the meaning's own order breaks ties.
            fixed: Columns that are the same in all rows; without it, those of the list.
        """
        required = {column.name for column in self.table.columns if column.is_required}
        keys = [self.table.primary_key, *(names for names in self.table.unique if required.issuperset(names))]
        seen, steps = set(self.fixed if fixed is None else fixed), []
        for step in (*((first,) if first else ()), *self.meaning.order):
            if any(seen.issuperset(names) for names in keys):
                break
            if step.column not in seen:
                steps.append(step)
                seen.add(step.column)
        return tuple(steps)

    # Written values

    def written(
        self, assignment: Assignment, assignments: Sequence[Assignment], *, keeps_old: bool, new_id: str = ""
    ) -> str:
        """The SQL of what a column becomes.

        Args:
            assignment: Of the column.
            assignments: All that are made at once: a template is made of the new values.
            keeps_old: Whether an absent argument leaves the old value, not the default.
            new_id: Parameter that holds the new id.
        """
        column = self.table.column(assignment.column)
        if assignment.source is Source.ARGUMENT:
            argument = self.arguments[assignment.argument or ""]
            parameter = f":{self.python(argument)}"
            if self.is_given(argument):
                return parameter
            if keeps_old:
                return f"coalesce({parameter}, {quoted(column.name)})"
            return parameter if column.default is None else f"coalesce({parameter}, {literal(column.default)})"
        if assignment.source is Source.NEW_ID:
            return f":{new_id}"
        if assignment.source is Source.NOW:
            return as_time(column, self.now)
        if assignment.source is Source.TEMPLATE:
            others = {each.column: each for each in assignments if each.source is not Source.TEMPLATE}
            parts = [
                literal(part)
                if not isinstance(part, Part)
                else self.written(others[part.column], assignments, keeps_old=keeps_old, new_id=new_id)
                if part.column in others
                else quoted(part.column)
                for part in (column.template.parts if column.template else ())
            ]
            return " || ".join(parts)
        return literal(assignment.constant if assignment.source is Source.CONSTANT else column.default)

    def of_new_row(self) -> tuple[Assignment, ...]:
        """The assignments of a new row, with those columns whose default is a value, in the table's order."""
        given = {assignment.column: assignment for assignment in self.meaning.assignments}
        return tuple(
            given.get(column.name) or Assignment(column.name, Source.DEFAULT)
            for column in self.table.columns
            if column.name in given or column.default is not None
        )


def order_text(steps: Iterable[Order]) -> str:
    """Steps as what stands behind ORDER BY."""
    return ", ".join(f"{quoted(step.column)} DESC" if step.is_descending else quoted(step.column) for step in steps)


def where(conditions: Sequence[str]) -> str:
    """Conditions as a clause with its leading space; nothing without any."""
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _unless_absent(condition: str, parameter: str, *, is_given: bool) -> str:
    return condition if is_given else f"({parameter} IS NULL OR {condition})"
