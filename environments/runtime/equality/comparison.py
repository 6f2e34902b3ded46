"""`compare`: are two end states from one start equal up to the names of fresh ids (docs/contracts.md, C6)?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from environments.runtime.equality.alignment import align
from environments.runtime.equality.changes import Key, RowId, StartState, fold_changes, sort_key
from environments.runtime.equality.errors import EqualityError, MalformedRequestError
from environments.runtime.equality.findings import Finding, SameRow, collect_findings
from environments.runtime.equality.partition import BudgetSpentError, Steps
from environments.runtime.equality.search import Pairs, find_bijection
from environments.runtime.equality.sides import Side
from environments.runtime.equality.values import Judge, Rule, cast
from environments.runtime.records import RowChange

DEFAULT_BUDGET = 500_000


class Outcome(StrEnum):
    """How a comparison ended; only `equal` is ever a pass."""

    EQUAL = "equal"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


class BrokenBijectionError(AssertionError):
    """A bijection was found under which the states are not equal: a bug here, never a verdict."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison.

    Attributes:
        outcome: What was decided. On `different` and `undecided` the findings are a best effort.
        matched: What the reference changed and the candidate has as well.
        missing: What the reference changed and the candidate has not, or otherwise.
        unexpected: What only the candidate changed.
        renaming: On `equal`, each inserted row of the reference, as (table, key), and its key in the candidate.
        num_steps: Steps of the budget that were used.
    """

    outcome: Outcome
    matched: tuple[Finding, ...]
    missing: tuple[Finding, ...]
    unexpected: tuple[Finding, ...]
    renaming: Mapping[RowId, Key]
    num_steps: int

    @property
    def is_equal(self) -> bool:
        """Whether the two end states are equal."""
        return self.outcome is Outcome.EQUAL

    @property
    def fuzzy(self) -> tuple[Finding, ...]:
        """What matched only as fuzzy text."""
        return tuple(finding for finding in self.matched if finding.rule in {Rule.FUZZY, Rule.FUZZY_UNCHECKED})

    @property
    def needs_review(self) -> bool:
        """Whether a fuzzy match is in a language without a list of negation words (sentence 10)."""
        return any(finding.rule is Rule.FUZZY_UNCHECKED for finding in self.matched)


def compare(
    start: StartState,
    reference: Iterable[RowChange],
    candidate: Iterable[RowChange],
    *,
    allowed_tables: Iterable[str] = (),
    same_rows: Sequence[SameRow] = (),
    budget: int = DEFAULT_BUDGET,
) -> Comparison:
    """Compares two sets of changes from one start state; near-linear in their number but for adversarial graphs.

    Args:
        start: The start state of both.
        reference: The changes that are required; net, or call by call in order. Their fresh ids mean only their rows.
        candidate: The changes that were made.
        allowed_tables: Log tables that no other table references; rows inserted there are left out on both sides.
        same_rows: Rows that the bijection must pair: answers that are ids. Ids of the start state mean themselves; an
            id whose row is gone by the end, or left out, is no answer.
        budget: Steps of the search before it gives up as `undecided`.

    Returns:
        The comparison; the same bytes (`report.to_json`) in every process.

    Raises:
        EqualityError: The input is malformed (`errors` lists how); there is no verdict then.
        BrokenBijectionError: A bug: an Equal did not stand the second reading.
    """
    left_out = check_allowed_tables(start, allowed_tables)
    answers = _check_same_rows(start, same_rows)
    if budget < 1:
        raise MalformedRequestError(f"a budget of {budget} steps")
    judge = Judge(start.language)
    images = [fold_changes(start, changes) for changes in (reference, candidate)]
    touched = frozenset(row_id for side in images for row_id in side if start.holds(*row_id))
    left, right = (Side(start, side, touched, left_out, judge) for side in images)
    steps = Steps(budget)
    pairs: Pairs | None = None
    outcome = Outcome.DIFFERENT
    if _pin(left, right, answers):
        try:
            pairs = find_bijection(left, right, judge, steps)
        except BudgetSpentError:
            outcome = Outcome.UNDECIDED
    if pairs is not None:
        outcome = Outcome.EQUAL
    pairing = pairs if pairs is not None else align(left, right, judge)
    findings = collect_findings(left, right, pairing, judge, answers)
    if pairs is not None and not findings.is_clean:
        raise BrokenBijectionError(f"{len(findings.missing)} missing, {len(findings.unexpected)} unexpected")
    renamed = sorted((pair for pair in pairs or () if pair[0].is_inserted), key=lambda pair: sort_key(pair[0].row_id))
    renaming = {one.row_id: other.key for one, other in renamed}
    return Comparison(outcome, findings.matched, findings.missing, findings.unexpected, renaming, steps.used)


def check_allowed_tables(start: StartState, names: Iterable[str]) -> frozenset[str]:
    """The names of tables whose inserted rows may be left out (sentence 15).

    Raises:
        MalformedRequestError: One is no table, no log, or referenced by another table.
    """
    result = frozenset(names)
    for name in sorted(result):
        table = start.tables.get(name)
        if table is None:
            raise MalformedRequestError(f"the allowed table {name} is no table")
        if table.info.role != "log" or table.is_referenced:
            raise MalformedRequestError(
                f"{name} cannot be an allowed table: it is no log, or another table points to it"
            )
    return result


def _check_same_rows(start: StartState, same_rows: Sequence[SameRow]) -> tuple[SameRow, ...]:
    result = []
    for name, key, candidate_key in same_rows:
        table = start.tables.get(name)
        if table is None:
            raise MalformedRequestError(f"an answer names rows of {name}, which is no table")
        columns = [table.columns[part] for part in table.info.primary_key]
        try:
            keys = [tuple(map(cast, columns, values)) for values in (key, candidate_key) if len(values) == len(columns)]
        except EqualityError as error:
            raise MalformedRequestError(f"an answer that names a row of {name}: {error}") from error
        if len(keys) < 2:
            raise MalformedRequestError(f"an answer names a row of {name} by a key of another length")
        result.append((name, keys[0], keys[1]))
    return tuple(result)


def _pin(reference: Side, candidate: Side, same_rows: Sequence[SameRow]) -> bool:
    """Marks the rows that must be paired; False where two ids cannot mean one row."""
    is_possible = True
    for number, (table, key, candidate_key) in enumerate(same_rows):
        left, right = reference.inserted.get((table, key)), candidate.inserted.get((table, candidate_key))
        if left is None or right is None:
            # An id of the start state is compared as a value; any other id without a row is no answer.
            is_same = left is right and key == candidate_key and reference.is_start_row((table, key))
            is_possible = is_possible and is_same
            continue
        reference.nodes[left].pins += (number,)
        candidate.nodes[right].pins += (number,)
    return is_possible
