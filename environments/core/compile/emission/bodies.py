"""The statements of one tool's function."""
# ruff: noqa: S608 - names are quoted, values are parameters or literals

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from environments.core.compile.emission.lists import ListBody
from environments.core.compile.emission.names import listed, quoted
from environments.core.compile.emission.python_text import Expression, text_literal, value_literal
from environments.core.compile.emission.sql import Subject, where
from environments.core.compile.emission.statements import Statements
from environments.core.compile.emission.views import ShownView
from environments.core.compile.semantics import Answer, Assignment, Kind, Part, Source


def body_of(subject: Subject, views: Mapping[str, ShownView], found: Collection[str]) -> list[str]:
    """The lines of a tool's function.

    Args:
        subject: What the tool is about.
        views: Every view, by name.
        found: Names of those whose rows a function reads by their key.

    Raises:
        ValueError: The meaning has no code.
    """
    view = subject.meaning.result.view
    shown = None if view is None else views[view.name]
    has_finder = shown is not None and shown.view.name in found
    kind = subject.meaning.kind
    if kind in (Kind.LIST, Kind.LIST_KEYS):
        return ListBody(subject, shown).lines
    body = _Body(subject, shown, has_finder=has_finder)
    _WRITERS[kind](body)
    return body.lines


class _Body(Statements):
    """Statements of a tool that is about one row, or gives one number."""

    def __init__(self, subject: Subject, view: ShownView | None, *, has_finder: bool) -> None:
        super().__init__(subject)
        self._view = view
        self._has_finder = has_finder
        self._new_id = ""

    # Reading

    def get(self) -> None:
        self._answer(self._read(self._own_key()))

    def count(self) -> None:
        self._number("count(*)")

    def sum(self) -> None:
        self._number(f"coalesce(sum({quoted(self.meaning.sum_column or '')}), 0)")

    def _number(self, expression: str) -> None:
        place = self.meaning.result.place
        is_whole = len(place) == 1 and not self.meaning.result.constants
        name = place[-1] if is_whole else "number"
        sql = (
            f"SELECT {expression} AS {quoted(name)} FROM {quoted(self.subject.table.name)}"
            f"{where(self.subject.filters())}"
        )
        query = self.query("one", sql)
        if is_whole:
            self.write("return ", query)
            return
        found = self.local("found")
        self.write(f"{found} = ", query)
        self.give([(place, f'{found}["number"]')])

    # Writing

    def create(self) -> None:
        self._insert("")
        self._answer(self._read_new())

    def link(self) -> None:
        self._insert(" ON CONFLICT DO NOTHING")
        self._answer(self._read_new())

    def upsert(self) -> None:
        updates = self.meaning.updates
        target = listed(self.subject.table.primary_key)
        sets = ", ".join(f"{quoted(each.column)} = {self._replacing(each)}" for each in updates)
        self._insert(f" ON CONFLICT ({target}) DO {f'UPDATE SET {sets}' if sets else 'NOTHING'}")
        self._answer(self._read_new())

    def _replacing(self, update: Assignment) -> str:
        if update in self.meaning.assignments and update.source is not Source.TEMPLATE:
            return f"excluded.{quoted(update.column)}"
        return self.subject.written(update, self.meaning.updates, keeps_old=False, new_id=self._new_id)

    def _insert(self, conflict: str) -> None:
        assignments = self.subject.of_new_row()
        table = self.subject.table
        if any(each.source is Source.NEW_ID for each in assignments):
            self._new_id = self.local(f"{table.noun}_id")
            self.write(f"{self._new_id} = ", f"ctx.new_id({text_literal(table.name)})")
            self.bind(self._new_id, self._new_id)
        values = ", ".join(
            self.subject.written(each, assignments, keeps_old=False, new_id=self._new_id) for each in assignments
        )
        columns = listed(each.column for each in assignments)
        self.write("", self.query("run", f"INSERT INTO {quoted(table.name)} ({columns}) VALUES ({values}){conflict}"))

    def replace(self) -> None:
        self._update(keeps_old=False)

    def patch(self) -> None:
        self._update(keeps_old=True)

    def _update(self, *, keeps_old: bool) -> None:
        assignments = self.meaning.assignments
        values = [
            f"{quoted(each.column)} = {self.subject.written(each, assignments, keeps_old=keeps_old)}"
            for each in assignments
        ]
        table = quoted(self.subject.table.name)
        self.write("", self.query("run", f"UPDATE {table} SET {', '.join(values)} WHERE {self.subject.row()}"))
        self._answer(self._read(self._own_key()))

    def delete(self) -> None:
        shown = self._read(self._own_key())
        if shown is not None and self.meaning.result.form is Answer.ROW:
            was = self.local(self.subject.table.noun)
            self.write(f"{was} = ", shown)
            shown = was
        table = quoted(self.subject.table.name)
        self.write("", self.query("run", f"DELETE FROM {table} WHERE {self.subject.row()}"))
        self._answer(shown)

    # Answers

    def _own_key(self) -> tuple[str, ...]:
        """The row that the arguments name, as Python expressions of its primary key."""
        given = dict(self.subject.key)
        return tuple(self.subject.python(given[name]) for name in self.subject.table.primary_key)

    def _read(self, key: Sequence[str]) -> Expression | None:
        """The expression that reads and shows a row; None if the tool shows none."""
        if self._view is None:
            return None
        if self._has_finder:
            return f"{self._view.find_name}(ctx, {', '.join(key)})"
        table = self.subject.table
        conditions = []
        for column, value in zip(table.primary_key, key, strict=True):
            parameter = value if self.is_bound(value) else self.local(column)
            self.bind(parameter, value)
            conditions.append(f"{quoted(column)} = :{parameter}")
        sql = f"SELECT {self._view.selected()} FROM {quoted(table.name)}{where(conditions)}"
        query = self.query("one", sql)
        if self._view.is_plain:
            return query
        row = self.local("row")
        self.write(f"{row} = ", query)
        return self._view.shown(row)

    def _read_new(self) -> Expression | None:
        if self._view is None:
            return None
        assignments = {each.column: each for each in self.subject.of_new_row()}
        return self._read([self._python(name, assignments) for name in self.subject.table.primary_key])

    def _python(self, name: str, assignments: Mapping[str, Assignment]) -> str:
        """The value of a new row's key as a Python expression.

        Raises:
            ValueError: Only SQL knows it.
        """
        assignment = assignments[name]
        column = self.subject.table.column(name)
        if assignment.source is Source.ARGUMENT and assignment.argument is not None:
            return self.subject.names[assignment.argument]
        if assignment.source is Source.NEW_ID:
            return self._new_id
        if assignment.source is Source.CONSTANT:
            return value_literal(assignment.constant)
        if assignment.source is Source.TEMPLATE and column.template is not None:
            return self._f_string(column.template.parts, assignments)
        if assignment.source is Source.DEFAULT:
            return value_literal(column.default)
        raise ValueError(f"no tool can know the key {name} of a new row of {self.subject.table.name}")

    def _f_string(self, parts: Sequence[str | Part], assignments: Mapping[str, Assignment]) -> str:
        inner = "".join(
            f"{{{self._python(part.column, assignments)}}}"
            if isinstance(part, Part)
            else text_literal(part)[1:-1].replace("{", "{{").replace("}", "}}")
            for part in parts
        )
        return f'f"{inner}"'

    def _answer(self, shown: Expression | None) -> None:
        result = self.meaning.result
        if result.form is not Answer.ROW or shown is None:
            self.give([])
        elif result.one_in_list:
            if not isinstance(shown, str):
                row = self.local("row")
                self.write(f"{row} = ", shown)
                shown = row
            self.give([(result.place, f"[{shown}]")])
        else:
            self.give([(result.place, shown)])


_WRITERS: Final[Mapping[Kind, Callable[[_Body], None]]] = {
    Kind.GET: _Body.get,
    Kind.COUNT: _Body.count,
    Kind.SUM: _Body.sum,
    Kind.CREATE: _Body.create,
    Kind.REPLACE: _Body.replace,
    Kind.PATCH: _Body.patch,
    Kind.UPSERT: _Body.upsert,
    Kind.DELETE: _Body.delete,
    Kind.TRANSITION: _Body.patch,
    Kind.LINK: _Body.link,
    Kind.UNLINK: _Body.delete,
}
