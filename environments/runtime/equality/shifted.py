"""Where a run holds ids outside foreign keys: the same calls with all id counters moved on must end Equal (sentence 4).

The renaming of fresh ids cannot follow an id into text, JSON or a reference number, so an honest run with other ids
would be Different. Validation replays every case with its counters moved on by 1,000 and asks here for the columns that
differ: each must become a foreign key or exempt. A hard column drawn from `ctx.rng` with a fresh id among the
arguments is found the same way.
"""

from collections.abc import Iterable, Sequence

from environments.runtime.equality.changes import Images, StartState, fold_changes
from environments.runtime.equality.comparison import compare
from environments.runtime.equality.findings import Finding, collect_findings
from environments.runtime.equality.search import Pairs
from environments.runtime.equality.sides import Node, Side
from environments.runtime.equality.values import Judge
from environments.runtime.records import RowChange


def find_id_copies(
    start: StartState, run: Iterable[RowChange], shifted_run: Iterable[RowChange]
) -> tuple[Finding, ...]:
    """The columns that make two runs of the same calls with other id counters not Equal.

    Both runs made the same calls in the same order, so the n-th row inserted into a table in one is the n-th of the
    other: no search is needed to name the column, nor to prove two runs equal that the search might not decide.

    Args:
        start: The start state of both.
        run: The changes of one run, call by call in order, or net in order of insertion.
        shifted_run: The changes of the other.

    Returns:
        One finding for each table and column that differs (column None: a row without its like), empty if Equal.

    Raises:
        EqualityError: The input is malformed.
    """
    judge = Judge(start.language)
    changes = [tuple(run), tuple(shifted_run)]
    images = [fold_changes(start, side) for side in changes]
    touched = frozenset(row_id for side in images for row_id in side if start.holds(*row_id))
    left, right = (Side(start, side, touched, frozenset(), judge) for side in images)
    findings = collect_findings(left, right, _pair_in_order(images, left, right), judge)
    if findings.is_clean:
        return ()
    comparison = compare(start, changes[0], changes[1])
    if comparison.is_equal:
        return ()
    # Net changes sorted by key may not be in order of insertion; the better explanation counts then.
    in_order, aligned = ((*each.missing, *each.unexpected) for each in (findings, comparison))
    first_of: dict[tuple[str, str | None], Finding] = {}
    for finding in min(in_order, aligned, key=len):
        first_of.setdefault((finding.table, finding.column), finding)
    return tuple(first_of.values())


def _pair_in_order(images: Sequence[Images], left: Side, right: Side) -> Pairs:
    start_rows = {node.row_id: node for node in right.nodes if not node.is_inserted}
    pairs = [(node, start_rows[node.row_id]) for node in left.nodes if not node.is_inserted]
    inserted = [_inserted_in_order(image, side) for image, side in zip(images, (left, right), strict=True)]
    for table, nodes in inserted[0].items():
        pairs += zip(nodes, inserted[1].get(table, ()), strict=False)
    return pairs


def _inserted_in_order(images: Images, side: Side) -> dict[str, list[Node]]:
    result: dict[str, list[Node]] = {}
    for row_id in images:
        if row_id in side.inserted:
            result.setdefault(row_id[0], []).append(side.nodes[side.inserted[row_id]])
    return result
