"""Columns of a row that repeat its parent's: what tools check together must be said by both rows alike.

A tool that looks for a deployment by its id and its project finds nothing below a release that names the deployment
and another project.
"""

from collections.abc import Mapping
from typing import Final

from environments.core.compile.semantics import (
    ArgumentRole,
    Blueprint,
    Column,
    ColumnRole,
    Exists,
    ForeignKey,
    PlannedTool,
    Table,
)

Copies = Mapping[ForeignKey, tuple[tuple[str, str], ...]]
"""By foreign key: (column of the child, column of the parent) pairs that agree beside it."""

_NAMING: Final = frozenset({ArgumentRole.KEY, ArgumentRole.SCOPE, ArgumentRole.FILTER, ArgumentRole.SET})
_OWN: Final = frozenset({ColumnRole.KEY, ColumnRole.STATUS, ColumnRole.CREATED, ColumnRole.UPDATED})


def copies_of(table: Table, blueprint: Blueprint) -> Copies:
    """What rows of the table repeat of the rows that they point to, by the checks of the tools about them."""
    parents = {each.name: each for each in blueprint.tables}
    found: dict[ForeignKey, dict[str, str]] = {}
    for tool in blueprint.tools:
        if tool.meaning.table != table.name or tool.meaning.through is not None:
            continue
        for check, pairs in _checked(tool):
            for key in table.foreign_keys:
                if key.table != check.table:
                    continue
                own = list(zip(key.columns, key.targets, strict=True))
                if not all(pair in pairs for pair in own):
                    continue
                for child, parent in pairs:
                    known = found.setdefault(key, {})
                    if child not in key.columns and _may_repeat(table, child, parents[key.table], parent):
                        known.setdefault(child, parent)
    return {key: tuple(pairs.items()) for key, pairs in found.items() if pairs}


def _checked(tool: PlannedTool) -> list[tuple[Exists, list[tuple[str, str]]]]:
    columns = {
        argument.name: argument.column
        for argument in tool.meaning.arguments
        if argument.column is not None and argument.role in _NAMING
    }
    return [
        (check, [(columns[name], theirs) for theirs, name in check.where if name in columns])
        for check in tool.meaning.checks
        if isinstance(check, Exists)
    ]


def _may_repeat(table: Table, child: str, other: Table, parent: str) -> bool:
    mine, theirs = _column(table, child), _column(other, parent)
    if mine is None or theirs is None or child == table.key:
        return False
    is_made = mine.template is not None or mine.generated is not None or mine.role in _OWN
    can_be_null = mine.is_required and not (theirs.is_required or parent in other.primary_key)
    fits = not mine.values or bool(theirs.values and set(theirs.values) <= set(mine.values))
    return mine.kind is theirs.kind and fits and not is_made and not can_be_null


def _column(table: Table, name: str) -> Column | None:
    return next((each for each in table.columns if each.name == name), None)
