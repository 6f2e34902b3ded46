"""What a seeded fault is, and how many of them were caught."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from environments.runtime.pack.model import Pack


class Operator(StrEnum):
    """Kinds of faults."""

    WRONG_TABLE = "wrong_table"
    DROPPED_FILTER = "dropped_filter"
    """A condition that an absent argument switches off."""
    DROPPED_LIST_SCOPE = "dropped_list_scope"
    """A condition that is always there, where many rows are read."""
    DROPPED_ROW_SCOPE = "dropped_row_scope"
    """A condition of what reads or writes one row."""
    EVERY_ROW = "every_row"
    """An update or deletion without any condition."""
    MISSING_CHECK = "missing_check"
    COMPARISON_OFF = "comparison_off"
    LIMIT_OFF = "limit_off"
    OFFSET_OFF = "offset_off"
    SORT_REVERSED = "sort_reversed"
    SORT_DROPPED = "sort_dropped"
    LOST_UPDATE = "lost_update"
    """One column is not written."""
    FALLBACK_DROPPED = "fallback_dropped"
    """What stands for an absent value does not any more."""
    SWAPPED_COLUMNS = "swapped_columns"
    CONSTANT_CHANGED = "constant_changed"
    WRITE_DROPPED = "write_dropped"
    WRONG_ARGUMENT = "wrong_argument"
    RESULT_LOST = "result_lost"
    RESULT_SWAPPED = "result_swapped"
    DEFAULT_CHANGED = "default_changed"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A pack with one fault.

    Attributes:
        operator: Kind of the fault.
        tool: Whose code, condition or default it is in; of a helper function, the first tool that calls it.
        place: `tools.py:12`, `preconditions/0`, `input_schema/limit`, with what is different there.
        pack: The whole pack.
    """

    operator: Operator
    tool: str
    place: str
    pack: Pack


@dataclass(frozen=True, slots=True)
class Score:
    """Faults of one kind, and how many of them were noticed."""

    operator: Operator
    num_caught: int
    num_mutants: int

    @property
    def caught_ratio(self) -> float:
        """Share that was noticed; 1 where there was none."""
        return self.num_caught / self.num_mutants if self.num_mutants else 1.0


def score(results: Iterable[tuple[Mutant, bool]]) -> tuple[Score, ...]:
    """Counts by operator, in the order of `Operator`; operators without a mutant are left out.

    Args:
        results: Each mutant, and whether a case noticed it.
    """
    caught: dict[Operator, int] = {}
    total: dict[Operator, int] = {}
    for mutant, is_caught in results:
        total[mutant.operator] = total.get(mutant.operator, 0) + 1
        caught[mutant.operator] = caught.get(mutant.operator, 0) + is_caught
    return tuple(Score(operator, caught[operator], total[operator]) for operator in Operator if operator in total)
