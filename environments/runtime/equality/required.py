"""What required changes must be like before a task is let in (docs/contracts.md, C6.2; sentences 2, 8, 15, 16)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from environments.runtime.equality.changes import Key, StartState, fold_changes
from environments.runtime.equality.comparison import check_allowed_tables
from environments.runtime.equality.sides import Node, Side
from environments.runtime.equality.values import Judge, is_free_text
from environments.runtime.records import RowChange


class RequiredFaultCode(StrEnum):
    """Why a task's required changes are refused."""

    NOTHING_COMPARED = "nothing_compared"
    """A change whose compared columns all equal the start state: doing nothing has it too."""
    EQUALS_START = "equals_start"
    """A changed column that equals its start value under the normalised rule."""
    ALLOWED_TABLE = "allowed_table"
    """A row of an allowed table: a table with a required row is not to be listed."""
    ONLY_SEMANTIC = "only_semantic"
    """Every required change is in semantic columns, so only fuzzy text would stand between right and wrong."""


@dataclass(frozen=True, slots=True)
class RequiredFault:
    """One reason for refusing a task; table and the rest are None where it is about all changes together."""

    code: RequiredFaultCode
    table: str | None = None
    key: Key | None = None
    column: str | None = None


def check_required_changes(
    start: StartState, required: Iterable[RowChange], *, allowed_tables: Iterable[str] = ()
) -> tuple[RequiredFault, ...]:
    """Why these required changes are refused; empty if they are fit for a task.

    Args:
        start: The task's start state.
        required: The reference run's changes; none at all is no fault here.
        allowed_tables: Tables whose inserted rows the verdict leaves out.

    Raises:
        EqualityError: The input is malformed.
    """
    left_out = check_allowed_tables(start, allowed_tables)
    images = fold_changes(start, required)
    touched = frozenset(row_id for row_id in images if start.holds(*row_id))
    judge = Judge(start.language)
    side = Side(start, images, touched, frozenset(), judge)
    faults = [
        RequiredFault(RequiredFaultCode.ALLOWED_TABLE, *node.row_id)
        for node in side.nodes
        if node.table.info.name in left_out
    ]
    for node in side.nodes:
        if node.is_inserted or node.row is None:
            continue
        if not node.changed:
            faults.append(RequiredFault(RequiredFaultCode.NOTHING_COMPARED, *node.row_id))
        before = start.row(*node.row_id) or {}
        faults += [
            RequiredFault(RequiredFaultCode.EQUALS_START, *node.row_id, column.name)
            for column in node.table.compared
            if column.name not in (node.changed or ()) and node.row[column.name] != before[column.name]
        ]
    compared = [node for node in side.nodes if node.is_inserted or node.row is None or node.changed]
    if compared and all(_is_only_semantic(node) for node in compared):
        faults.append(RequiredFault(RequiredFaultCode.ONLY_SEMANTIC))
    return tuple(faults)


def _is_only_semantic(node: Node) -> bool:
    """Whether free text alone tells the required row from the start state, or from any other inserted row."""
    if node.row is None:
        return False
    free_text = {column.name for column in node.table.compared if is_free_text(column)}
    if node.is_inserted:
        return bool(free_text) and len(free_text) == len(node.table.compared) and not node.table.info.foreign_keys
    return free_text.issuperset(node.changed or ())
