"""Which rows a new row points to: parents that agree with each other and with what is fixed already."""

from collections.abc import Mapping, Sequence

from environments.core.compile.rows.draws import Draws
from environments.core.compile.rows.facts import RowFacts
from environments.core.compile.rows.plans import TablePlan
from environments.core.compile.semantics import ForeignKey, Value

Row = dict[str, Value]

_TRIES = 6
_MAX_STEPS = 400
"""Parents that are looked at before a row is given up."""
_FAVOURED = 0.7
_NULL_RATE = 0.15


class Made:
    """The rows of one table so far, in the order in which they were made.

    Args:
        plan: Of the table.
    """

    __slots__ = ("_indexes", "facts", "num_reserved", "plan", "rows")

    def __init__(self, plan: TablePlan) -> None:
        self.plan = plan
        self.rows: list[Row] = []
        self.facts: list[RowFacts] = []
        self.num_reserved = 0
        """Rows, counted from the second, that get no children, so that they can be deleted and lists be empty."""
        self._indexes: dict[tuple[str, ...], dict[tuple[Value, ...], list[int]]] = {}

    def add(self, row: Row, facts: RowFacts) -> None:
        """Takes a row in."""
        number = len(self.rows)
        self.rows.append(row)
        self.facts.append(facts)
        for columns, index in self._indexes.items():
            index.setdefault(tuple([row[name] for name in columns]), []).append(number)

    def where(self, columns: tuple[str, ...], values: tuple[Value, ...]) -> Sequence[int]:
        """Numbers of the rows that hold these values."""
        if not columns:
            return range(len(self.rows))
        index = self._indexes.get(columns)
        if index is None:
            index = self._indexes[columns] = {}
            for number, row in enumerate(self.rows):
                index.setdefault(tuple([row[name] for name in columns]), []).append(number)
        return index.get(values, ())

    def is_reserved(self, number: int) -> bool:
        """Whether the row stays without children."""
        return 0 < number <= self.num_reserved


class ParentChoice:
    """Chooses the rows that rows of one table point to.

    Args:
        plan: Of the table.
        made: Rows of all tables so far.
        draws: Of the table; moved on.
    """

    def __init__(self, plan: TablePlan, made: Mapping[str, Made], draws: Draws) -> None:
        self.plan = plan
        self.made = made
        self.draws = draws
        self._steps = 0
        self._required = {column.name for column in plan.table.columns if column.is_required}
        self._required |= set(plan.table.primary_key) | plan.scoped_by

    def choose(self, fixed: Row, favourite: frozenset[str] = frozenset(), *, has_nulls: bool = True) -> Row | None:
        """Values of all linked columns.

        Args:
            fixed: Columns that are settled; kept.
            favourite: Columns whose foreign keys should point to the first row possible.
            has_nulls: Whether foreign keys that may be NULL sometimes are.

        Returns:
            The fixed values and those of the foreign keys; None if no parents agree.
        """
        self._steps = 0
        return self._next(0, dict(fixed), favourite, has_nulls)

    def columns_of(self, key: ForeignKey) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Columns that a parent fills, and the parent's: the foreign key, then what repeats the parent's."""
        pairs = self.plan.copies.get(key, ())
        return (
            (*key.columns, *(child for child, _ in pairs)),
            (*key.targets, *(parent for _, parent in pairs)),
        )

    def _next(self, position: int, row: Row, favourite: frozenset[str], has_nulls: bool) -> Row | None:
        if position == len(self.plan.parents):
            return row
        key = self.plan.parents[position]
        mine, theirs = self.columns_of(key)
        known = tuple(place for place, name in enumerate(mine) if name in row)
        if any(row.get(name, 0) is None for name in key.columns):
            return self._without(key, position, row, favourite, has_nulls)
        may_be_null = any(name not in row and name not in self._required for name in key.columns)
        if may_be_null and has_nulls and self.draws.happens(_NULL_RATE):
            found = self._without(key, position, row, favourite, has_nulls)
            if found is not None:
                return found
        columns = tuple(theirs[place] for place in known)
        values = tuple(row[mine[place]] for place in known)
        there = self.made[key.table]
        for number in self._in_order(there, there.where(columns, values), key, favourite):
            self._steps += 1
            if self._steps > _MAX_STEPS:
                break
            filled = dict(row)
            parent = there.rows[number]
            for name, target in zip(mine, theirs, strict=True):
                filled[name] = parent[target]
            found = self._next(position + 1, filled, favourite, has_nulls)
            if found is not None:
                return found
        return self._without(key, position, row, favourite, has_nulls) if may_be_null else None

    def _without(
        self, key: ForeignKey, position: int, row: Row, favourite: frozenset[str], has_nulls: bool
    ) -> Row | None:
        """Goes on with NULL in what may be NULL of a foreign key."""
        filled = dict(row)
        is_null = False
        for name in key.columns:
            if name not in filled:
                if name in self._required:
                    if not is_null and any(
                        other not in filled and other not in self._required for other in key.columns
                    ):
                        continue
                    return None
                filled[name] = None
            is_null = is_null or filled[name] is None
        if any(name not in filled for name in key.columns):
            return None
        return self._next(position + 1, filled, favourite, has_nulls) if is_null else None

    def _in_order(
        self, there: Made, numbers: Sequence[int], key: ForeignKey, favourite: frozenset[str]
    ) -> Sequence[int]:
        """Candidates: mostly the first few, never a reserved row unless there is no other."""
        usable = [number for number in numbers if not there.is_reserved(number)] or list(numbers)
        if len(usable) < 2 or favourite.intersection(key.columns):
            return usable
        few = max(1, min(3, len(usable) // 3))
        first = self.draws.below(few) if self.draws.happens(_FAVOURED) else self.draws.below(len(usable))
        return [*usable[first:], *usable[:first]]

    def beside(self, row: Row, column: str) -> Row | None:
        """The linked columns of a row under another parent that differs in that column and in little else."""
        owners = [key for key in self.plan.parents if column in key.columns] or [
            key for key in self.plan.parents if column in self.columns_of(key)[0]
        ]
        best: Row | None = None
        least = 1 << 30
        key = owners[0]
        there = self.made[key.table]
        mine, theirs = self.columns_of(key)
        target = theirs[mine.index(column)]
        for number, parent in enumerate(there.rows):
            if parent[target] == row[column] or there.is_reserved(number):
                continue
            fixed = {name: parent[its] for name, its in zip(mine, theirs, strict=True)}
            far = sum(fixed[name] != row[name] for name in mine)
            if far >= least:
                continue
            found = self._keeping(row, fixed)
            if found is not None:
                best, least = found, far
        return best

    def _keeping(self, row: Row, fixed: Row) -> Row | None:
        """Fixed values, and of the other linked columns as many as can stay."""
        for keeps_rest in (True, False):
            kept = dict(fixed)
            if keeps_rest:
                kept.update({name: row[name] for name in self.plan.linked if name not in fixed})
            found = self.choose(kept, has_nulls=False)
            if found is not None:
                return found
        return None
