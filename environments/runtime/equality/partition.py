"""A partition of the nodes of both sides that can be split and put back.

Cells hold nodes of both sides that nothing tells apart yet. A cell that holds more of one side than of the other
proves that no bijection exists, so splits keep the balance or fail. Every split is on a trail: undoing it merges the
two cells again, so trying a pair costs what it changes and no copy of the partition is ever made.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence

Neighbours = Sequence[Sequence[tuple[int, int]]]
"""For each node: (label, node); the label tells the foreign key and the direction."""


class BudgetSpentError(Exception):
    """The budget of steps is spent: the answer is undecided."""


class Steps:
    """Counts steps against a budget. Never a time-out: the answer must not depend on the machine.

    Attributes:
        used: Steps so far.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self.used = 0

    def spend(self, amount: int) -> None:
        """Counts steps.

        Raises:
            BudgetSpentError: They are more than the budget.
        """
        self.used += amount
        if self.used > self._budget:
            self.used = self._budget
            raise BudgetSpentError


class Partition:
    """The cells and their history.

    Args:
        classes: The first cells; together they hold every node once.
        half: Nodes below this number are the reference's, the others the candidate's.
        neighbours: The edges, in both directions.
        steps: Charged 1 for each node and each edge that refinement visits.

    Attributes:
        cells: Members of each cell in the order they came (a dictionary for removal in constant time).
        cell_of: The cell of each node.
        large: Cells of more than one pair that are not settled.
    """

    def __init__(self, classes: Iterable[Sequence[int]], half: int, neighbours: Neighbours, steps: Steps) -> None:
        self._half, self._neighbours, self._steps = half, neighbours, steps
        self.cells: list[dict[int, None]] = [dict.fromkeys(members) for members in classes]
        self.cell_of = [0] * len(neighbours)
        for number, cell in enumerate(self.cells):
            for node in cell:
                self.cell_of[node] = number
        self.large = {number: None for number, cell in enumerate(self.cells) if len(cell) > 2}
        self._settled: dict[int, None] = {}
        self._trail: list[tuple[int, int]] = []

    @property
    def mark(self) -> int:
        """Where the history stands; `undo` goes back to it."""
        return len(self._trail)

    def is_balanced(self, members: Iterable[int]) -> bool:
        """Whether both sides have as many of these nodes."""
        return sum(1 if node < self._half else -1 for node in members) == 0

    def halves(self, cell: int) -> tuple[list[int], list[int]]:
        """The reference's and the candidate's members of a cell."""
        members = self.cells[cell]
        return [node for node in members if node < self._half], [node for node in members if node >= self._half]

    def refine(self, cells: Iterable[int]) -> list[int] | None:
        """Splits cells by their edges into the given ones, and on, until nothing changes.

        Of the fragments of a cell all but the largest are looked at again, which keeps chains and rings near-linear.

        Returns:
            Every cell that changed, or None where a cell lost its balance: no bijection exists.
        """
        queue = deque(cells)
        touched: dict[int, None] = {}
        while queue:
            labels_of: dict[int, list[int]] = defaultdict(list)
            for node in self.cells[queue.popleft()]:
                self._steps.spend(1 + len(self._neighbours[node]))
                for label, neighbour in self._neighbours[node]:
                    labels_of[neighbour].append(label)
            fragments_of: dict[int, dict[tuple[int, ...], list[int]]] = defaultdict(dict)
            for node, labels in labels_of.items():
                fragments_of[self.cell_of[node]].setdefault(tuple(sorted(labels)), []).append(node)
            for cell, by_labels in fragments_of.items():
                fragments = list(by_labels.values())
                if not all(map(self.is_balanced, fragments)):
                    return None
                for fragment in self._all_but_largest(cell, fragments):
                    queue.append(self.split(cell, fragment))
                    touched[cell] = touched[queue[-1]] = None
        return list(touched)

    def _all_but_largest(self, cell: int, fragments: list[list[int]]) -> list[list[int]]:
        """The fragments to split off; members of the cell in none of them are a fragment too."""
        fragments = sorted(fragments, key=len)
        num_rest = len(self.cells[cell]) - sum(map(len, fragments))
        if num_rest >= len(fragments[-1]):
            return fragments
        largest = fragments.pop()
        if num_rest:
            inside = set(largest).union(*fragments)
            fragments.append([node for node in self.cells[cell] if node not in inside])
        return fragments

    def split(self, cell: int, members: Iterable[int]) -> int:
        """Moves some members of a cell, not all, into a new one, whose number it returns."""
        number = len(self.cells)
        new = dict.fromkeys(members)
        old = self.cells[cell]
        for node in new:
            del old[node]
            self.cell_of[node] = number
        self.cells.append(new)
        self._trail.append((cell, number))
        self._note_size(cell)
        self._note_size(number)
        return number

    def settle(self, cell: int) -> None:
        """Takes a cell out of the large ones until the next undo: it needs no splitting."""
        self._settled[cell] = self.large.pop(cell)

    def undo(self, mark: int) -> None:
        """Goes back to where the history stood at `mark`."""
        if len(self._trail) > mark:
            self.large.update(self._settled)
            self._settled.clear()
        while len(self._trail) > mark:
            cell, number = self._trail.pop()
            self.large.pop(number, None)
            for node in self.cells.pop():
                self.cells[cell][node] = None
                self.cell_of[node] = cell
            self._note_size(cell)

    def _note_size(self, cell: int) -> None:
        if len(self.cells[cell]) > 2:
            self.large[cell] = None
        else:
            self.large.pop(cell, None)
