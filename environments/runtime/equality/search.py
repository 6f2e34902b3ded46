"""The search for a bijection of inserted rows under which both sides' changes are equal (docs/contracts.md, C6.1).

1. **Colours.** Nodes of both sides share one partition; rows of different tables, values, kinds of foreign key or rows
   of the start state are apart from the beginning.
2. **Refinement.** Cells are split by the foreign keys between them until nothing changes: rows that look alike but
   point to, or are pointed at by, unlike rows come apart. An unbalanced cell proves Different.
3. **Individualisation.** If alike rows remain, one row of the reference is paired with one of the candidate, which
   refinement carries on through the foreign keys; a failure is undone and the next one tried. The stack is a list,
   not recursion. A cell all of whose neighbours are paired needs no search: any matching of its members will do.
4. **Two passes.** The first takes exact values as colours, so it finds an exact bijection if there is one. REAL
   tolerance and fuzzy text are not transitive and cannot be colours: the second pass colours those columns by the
   transitive closure of their rule, judges every pair by the rule itself, and decides cells by perfect matchings.
   After its first dead end it begins again and looks ahead: each pair must leave a matching in every cell it changed.
5. **Budget.** Every visit, pairing and judgement is charged (sentence 21). Graphs that refinement cannot tell apart
   (strongly regular ones, those of Cai, Fürer and Immerman) may spend it: undecided, the same on every machine.

Reference: B. D. McKay, A. Piperno, "Practical graph isomorphism, II", Journal of Symbolic Computation 60, 2014,
    arXiv:1301.1493, section 2 (refinement of colourings, individualisation, the search tree).
Differs: the two graphs are refined together in one partition instead of to two canonical forms; there is no pruning by
    automorphisms, since twins are mostly in cells that a matching decides and the budget bounds the rest.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from environments.runtime.equality.closure import close_classes
from environments.runtime.equality.matching import match_all
from environments.runtime.equality.partition import Partition, Steps
from environments.runtime.equality.sides import Node, Side
from environments.runtime.equality.values import Judge, judging_steps

Pairs = list[tuple[Node, Node]]

_ROWS_PASSED_PER_STEP = 32  # looking for a row of equal values is cheap, and not free


def find_bijection(reference: Side, candidate: Side, judge: Judge, steps: Steps) -> Pairs | None:
    """Pairs of nodes under which both sides are equal, exact values before lenient ones; None if there are none.

    Raises:
        BudgetSpentError: The budget is spent before either is certain.
    """
    if _count_rows(reference) != _count_rows(candidate):
        return None  # before any search, so that inserting freely cannot make one's own run undecided (sentence 19)
    pairs = _Search(reference, candidate, judge, steps, is_exact=True).run()
    if pairs is None and any(node.table.soft for node in reference.nodes):
        pairs = _Search(reference, candidate, judge, steps, is_exact=False).run()
    return pairs


def _count_rows(side: Side) -> dict[tuple[str, str], int]:
    """How many rows of each table were inserted, deleted or changed in place."""
    counts: dict[tuple[str, str], int] = {}
    for node in side.nodes:
        kind = "inserted" if node.is_inserted else "deleted" if node.row is None else "kept"
        counts[node.table.info.name, kind] = counts.get((node.table.info.name, kind), 0) + 1
    return counts


def exact_colour(node: Node) -> Hashable:
    """What tells a node apart by itself; a row of the start state is known by its key."""
    key = None if node.is_inserted else node.key
    return node.table.info.name, key, node.row is None, node.values, node.targets, node.pins


def _coarse_colour(node: Node) -> Hashable:
    """The colour without the columns that have a lenient rule; NULL equals only NULL even there."""
    soft = node.table.soft
    values = tuple(value is None if place in soft else value for place, value in enumerate(node.values))
    key = None if node.is_inserted else node.key
    return node.table.info.name, key, node.row is None, values, node.targets, node.pins


def is_lenient(reference: Node, candidate: Node, column: str) -> bool:
    """Whether tolerance and fuzzy text count: in a row of the start state only where both sides changed the column.

    Otherwise a small required edit would be passed by leaving the row alone (sentence 8).
    """
    return all(node.changed is None or column in node.changed for node in (reference, candidate))


class _Search:
    """One pass."""

    def __init__(self, reference: Side, candidate: Side, judge: Judge, steps: Steps, *, is_exact: bool) -> None:
        self._judge, self._steps, self._is_exact = judge, steps, is_exact
        self._nodes = reference.nodes + candidate.nodes
        self._half = len(reference.nodes)
        self._colours = _number([exact_colour(node) for node in self._nodes])
        self._neighbours = _connect(self._nodes, self._half)
        classes = self._colours if is_exact else self._coarse_classes()
        cells: dict[int, list[int]] = {}
        for index, number in enumerate(classes):
            cells.setdefault(number, []).append(index)
        self._is_careful = False  # whether every pair made must leave a matching in each cell it changed
        self._known: dict[int, int] = {}
        # Cells with lenient columns last, where the search begins: there the last matching tells whom to pair.
        ordered = sorted(cells.values(), key=lambda members: bool(self._nodes[members[0]].table.soft))
        self._partition = Partition(ordered, self._half, self._neighbours, steps)

    def run(self) -> Pairs | None:
        """Pairs of all nodes, or None where no bijection exists."""
        partition = self._partition
        numbers = range(len(partition.cells))
        if not all(partition.is_balanced(partition.cells[number]) for number in numbers):
            return None
        if partition.refine(numbers) is None:
            return None
        # A cheap proof of Different before any branching.
        if not self._is_exact and self._leaves_unmatched(range(len(partition.cells))):
            return None
        root = partition.mark
        stack: list[tuple[int, int, Iterator[int]]] = []
        while True:
            cell = self._next_open()
            if cell is None:
                pairs = self._pair_all()
                if pairs is not None:
                    return [(self._nodes[left], self._nodes[right]) for left, right in pairs]
            else:
                stack.append(self._branch(cell))
            is_dead_end = cell is None
            while stack:
                if is_dead_end and not self._is_exact and not self._is_careful:
                    # The pair to blame may be far up the stack: begin again and look ahead.
                    self._is_careful = True
                    stack.clear()
                    partition.undo(root)
                    break
                mark, first, others = stack[-1]
                partition.undo(mark)
                if any(self._try_pair(mark, first, other) for other in others):
                    break
                stack.pop()
                is_dead_end = True
            else:
                return None

    def _coarse_classes(self) -> list[int]:
        """Colours for the second pass: values with a lenient rule only by the closure of the rule."""
        colours = [_coarse_colour(node) for node in self._nodes]
        groups: dict[Hashable, list[int]] = {}
        for index, colour in enumerate(colours):
            if self._nodes[index].is_inserted:
                groups.setdefault(colour, []).append(index)
        closures: list[tuple[int, ...]] = [()] * len(colours)
        for members in groups.values():
            table = self._nodes[members[0]].table
            for place in table.soft:
                column = table.compared[place]
                rows = [self._nodes[index].row or {} for index in members]
                numbers = close_classes(column, [row[column.name] for row in rows], self._judge, self._steps)
                for index, number in zip(members, numbers, strict=True):
                    closures[index] += (number,)
        return _number(list(zip(colours, closures, strict=True)))

    def _next_open(self) -> int | None:
        """A large cell with a neighbour in a large cell; None if each that remains is decided by a matching.

        The partition is stable, so one member speaks for all. Cells that were looked at last are nearest to the last
        pair, so a ring or a chain is followed to its end before another is begun.
        """
        large = self._partition.large
        while large:
            cell = next(reversed(large))
            member = next(iter(self._partition.cells[cell]))
            if any(self._partition.cell_of[other] in large for _, other in self._neighbours[member]):
                return cell
            self._partition.settle(cell)
            self._steps.spend(1)
        return None

    def _branch(self, cell: int) -> tuple[int, int, Iterator[int]]:
        """Where to come back to, a row of the reference, and the candidate's rows to try with it."""
        first = next(node for node in self._partition.cells[cell] if node < self._half)
        return self._partition.mark, first, self._candidates(cell, first)

    def _candidates(self, cell: int, first: int) -> Iterator[int]:
        """The candidate's rows of a cell: the partner in the last matching, then those of equal values, then others.

        The first one is nearly always right, so the others are gathered only once it has failed (and was undone).
        """
        colour = self._colours[first]
        members = self._partition.cells[cell]
        chosen, num_passed = self._known.get(first, -1), 0
        if chosen not in members:
            chosen = -1
            for node in reversed(members):
                if node >= self._half and self._colours[node] == colour:
                    chosen = node
                    break
                if node >= self._half and chosen < 0:
                    chosen = node
                num_passed += 1
        self._steps.spend(num_passed // _ROWS_PASSED_PER_STEP)
        yield chosen
        _, rights = self._partition.halves(cell)
        rights.sort(key=lambda right: self._colours[right] != colour)
        yield from (right for right in rights if right != chosen)

    def _try_pair(self, mark: int, first: int, other: int) -> bool:
        self._steps.spend(1)
        cell = self._partition.cell_of[first]
        if self._are_alike(first, other):
            touched = self._partition.refine([self._partition.split(cell, (first, other))])
            if touched is not None and not (self._is_careful and self._leaves_unmatched([cell, *touched])):
                return True
        self._partition.undo(mark)
        return False

    def _leaves_unmatched(self, cells: Sequence[int]) -> bool:
        """Whether the rules leave no perfect matching in one of these cells."""
        return any(self._match(cell) is None for cell in dict.fromkeys(cells))

    def _are_alike(self, left: int, right: int) -> bool:
        """Whether two nodes of one cell agree in the columns with a lenient rule."""
        if self._colours[left] == self._colours[right]:
            return True
        reference, candidate = self._nodes[left], self._nodes[right]
        if reference.row is None or candidate.row is None:
            return reference.row is candidate.row
        for place in reference.table.soft:
            column = reference.table.compared[place]
            values = reference.row[column.name], candidate.row[column.name]
            self._steps.spend(judging_steps(column, *values))
            lenient = is_lenient(reference, candidate, column.name)
            if not self._judge.judge(column, *values, is_lenient=lenient).is_equal:
                return False
        return True

    def _pair_all(self) -> list[tuple[int, int]] | None:
        self._steps.spend(len(self._partition.cells))
        pairs: list[tuple[int, int]] = []
        for cell in range(len(self._partition.cells)):
            found = self._match(cell)
            if found is None:
                return None
            pairs += found
        return pairs

    def _match(self, cell: int) -> list[tuple[int, int]] | None:
        lefts, rights = self._partition.halves(cell)
        if self._is_exact:
            return list(zip(lefts, rights, strict=True))

        def are_alike(left: int, right: int) -> bool:
            self._steps.spend(1)
            return self._are_alike(left, right)

        self._steps.spend(len(lefts) // _ROWS_PASSED_PER_STEP)
        if any(left not in self._known for left in lefts):
            # Near values are mostly in the same place of their order, so few pairs need looking for.
            for left, right in zip(
                sorted(lefts, key=self._soft_values), sorted(rights, key=self._soft_values), strict=True
            ):
                if left not in self._known and are_alike(left, right):
                    self._known[left] = right
        return match_all(lefts, rights, self._colours.__getitem__, are_alike, self._known)

    def _soft_values(self, index: int) -> list[tuple[bool, Any]]:
        """The values of a node in columns with a lenient rule, to be put in order."""
        node = self._nodes[index]
        values = [node.values[place] for place in node.table.soft] if node.values else []
        return [(value is not None, value) for value in values]


def _number(colours: Sequence[Hashable]) -> list[int]:
    """Colours as small numbers in order of appearance, which compare in no time and alike in every process."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(colour, len(numbers)) for colour in colours]


def _connect(nodes: Sequence[Node], half: int) -> list[list[tuple[int, int]]]:
    """For each node its neighbours in both directions; even labels lead along a foreign key, odd ones back."""
    neighbours: list[list[tuple[int, int]]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        offset = half if index >= half else 0
        for label, target in node.links:
            neighbours[index].append((2 * label, target + offset))
            neighbours[target + offset].append((2 * label + 1, index))
    return neighbours
