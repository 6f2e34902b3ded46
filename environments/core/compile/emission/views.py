"""How tools read rows and show them: one SELECT list and, where plain columns do not say it, one function a view."""

import keyword
from collections.abc import Iterable
from dataclasses import dataclass

from environments.core.compile.emission.names import quoted, unused
from environments.core.compile.emission.python_text import Dict, Expression, text_literal, value_literal
from environments.core.compile.emission.sql import may_be_null
from environments.core.compile.semantics import Blueprint, PageFact, Table, ValueKind, View

_DECODED = frozenset({ValueKind.BOOLEAN, ValueKind.JSON})


@dataclass(frozen=True, slots=True)
class ShownView:
    """A view as tools.py has it.

    Attributes:
        view: What is shown.
        table: Whose rows.
        is_plain: A SELECT with aliases gives exactly what is shown; no function is needed.
    """

    view: View
    table: Table
    is_plain: bool

    @classmethod
    def of(cls, view: View, blueprint: Blueprint) -> "ShownView":
        """How a view is shown."""
        table = blueprint.table(view.table)
        shows_key = any(entry.column == table.key for entry in view.properties)
        needs_key = any(
            fact is PageFact.NEXT_AFTER
            for tool in blueprint.tools
            if tool.meaning.result.view == view
            for _, fact in tool.meaning.result.page_facts
        )
        return cls(view, table, _is_plain(view, table) and (shows_key or not needs_key))

    @property
    def show_name(self) -> str:
        """The function that makes a shown row of a read one."""
        return f"_show_{self.view.name}"

    @property
    def find_name(self) -> str:
        """The function that reads one row by its key and shows it."""
        return f"_find_{self.view.name}"

    def selected(self, besides: Iterable[str] = ()) -> str:
        """What stands behind SELECT.

        Args:
            besides: Columns that the tool itself needs.
        """
        if self.is_plain:
            return ", ".join(
                quoted(entry.column)
                if entry.column == entry.path[0]
                else f"{quoted(entry.column)} AS {quoted(entry.path[0])}"
                for entry in self.view.properties
            )
        columns = dict.fromkeys([*(entry.column for entry in self.view.properties), *besides])
        return ", ".join(map(quoted, columns))

    def shown(self, row: str) -> str:
        """The expression that shows a row that was read."""
        return row if self.is_plain else f"{self.show_name}({row})"

    def key_of(self, row: str) -> str:
        """The expression of the key of a row that was read."""
        if self.is_plain:
            for entry in self.view.properties:
                if entry.column == self.table.key:
                    return f"{row}[{text_literal(entry.path[0])}]"
        return f"{row}[{text_literal(self.table.key)}]"

    def object(self) -> Expression:
        """The object that `_show_...` returns."""
        entries = [(path, value_literal(value)) for path, value in self.view.constants]
        entries += [(entry.path, _decoded(entry.column, self.table)) for entry in self.view.properties]
        return tree(entries)


def tree(entries: Iterable[tuple[tuple[str, ...], Expression]]) -> Dict:
    """An object of values at their paths, in order."""
    grouped: dict[str, list[tuple[tuple[str, ...], Expression]]] = {}
    for path, value in entries:
        grouped.setdefault(path[0], []).append((path[1:], value))
    return Dict(tuple((name, parts[-1][1] if not parts[-1][0] else tree(parts)) for name, parts in grouped.items()))


def key_parameters(table: Table) -> tuple[str, ...]:
    """Names of the parameters of `_find_...`, one for each column of the primary key."""
    names: list[str] = []
    for column in table.primary_key:
        names.append(unused(f"{column}_" if keyword.iskeyword(column) else column, {"ctx", "row", *names}))
    return tuple(names)


def _decoded(name: str, table: Table) -> str:
    column = table.column(name)
    value = f"row[{text_literal(name)}]"
    if column.kind not in _DECODED:
        return value
    made = f"{value} == 1" if column.kind is ValueKind.BOOLEAN else f"json.loads({value})"
    return f"None if {value} is None else {made}" if may_be_null(column, table) else made


def _is_plain(view: View, table: Table) -> bool:
    names = [entry.path[0] for entry in view.properties]
    columns = {column.name.lower() for column in table.columns}
    return (
        not view.constants
        and all(len(entry.path) == 1 for entry in view.properties)
        and all(table.column(entry.column).kind not in _DECODED for entry in view.properties)
        # An alias that is another column's name would be what WHERE and ORDER BY mean by it.
        and all(entry.path[0] == entry.column or entry.path[0].lower() not in columns for entry in view.properties)
        and len({name.lower() for name in names}) == len(names)
    )
