"""A plausible pairing of two sides that differ, so that a report names the one wrong value and not two whole rows.

Rows of the start state are paired by key. Inserted rows are paired table by table, targets of foreign keys first, by
ever weaker likeness: same values and surroundings, same values and targets, same values, all but one column, and last
the share of columns that agree. Every pair pulls along the like rows around it. A best effort (sentence 20) under an
allowance of its own: where that is spent, the rest stays unpaired.
"""

import contextlib
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping

from environments.runtime.equality.partition import BudgetSpentError, Steps
from environments.runtime.equality.search import Pairs, exact_colour
from environments.runtime.equality.sides import Node, Side
from environments.runtime.equality.values import Judge, judging_steps
from environments.runtime.tables import TableInfo

ALIGNMENT_BUDGET = 300_000
"""Steps, as those of the search."""
_MIN_LIKENESS = 0.5
_MAX_LIKENESS_PAIRS = 40_000

_Numbers = tuple[list[int], list[int]]
"""A number for each node of each side; equal numbers are equal colours."""
_Signature = Callable[[int, int], Hashable]
"""What a node, given as (side, index), must share with its partner."""


def align(reference: Side, candidate: Side, judge: Judge) -> Pairs:
    """Pairs of nodes; some may stay without a partner."""
    alignment = _Alignment(reference, candidate, judge)
    with contextlib.suppress(BudgetSpentError):
        alignment.run()
    return [(reference.nodes[left], candidate.nodes[right]) for left, right in alignment.pairs]


class _Alignment:
    """The pairs so far; sides are 0 (reference) and 1 (candidate), nodes are given by their place in their side."""

    def __init__(self, reference: Side, candidate: Side, judge: Judge) -> None:
        self.pairs: list[tuple[int, int]] = []
        self._nodes = (reference.nodes, candidate.nodes)
        self._judge = judge
        self._steps = Steps(ALIGNMENT_BUDGET)
        self._pair_of: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._inserted = (_group_inserted(reference.nodes), _group_inserted(candidate.nodes))
        self._pointing = (_find_pointing(reference.nodes), _find_pointing(candidate.nodes))
        self._numbers: dict[Hashable, int] = {}
        self._own = self._number(lambda side, node: exact_colour(self._nodes[side][node]))
        self._ahead = self._number_ahead(self._number_ahead(self._own))
        self._around = self._number(
            lambda side, node: (
                self._ahead[side][node],
                *sorted((label, self._own[side][other]) for label, other in self._pointing[side][node]),
            )
        )

    def run(self) -> None:
        """Pairs what it can.

        Raises:
            BudgetSpentError: The allowance is spent.
        """
        start_rows = {node.row_id: place for place, node in enumerate(self._nodes[1]) if not node.is_inserted}
        for left, node in enumerate(self._nodes[0]):
            if not node.is_inserted and node.row_id in start_rows:
                self._join(left, start_rows[node.row_id])
        tables = {node.table.info.name: node.table.info for nodes in self._nodes for node in nodes}
        for name in _order_targets_first(tables):
            for signature in self._signatures(name):
                if not self._unpaired(0, name) or not self._unpaired(1, name):
                    break
                self._join_by(name, signature)
            self._join_likest(name)

    def _number(self, colour_of: _Signature) -> _Numbers:
        left, right = (
            [self._numbers.setdefault(colour_of(side, node), len(self._numbers)) for node in range(len(nodes))]
            for side, nodes in enumerate(self._nodes)
        )
        return left, right

    def _number_ahead(self, numbers: _Numbers) -> _Numbers:
        """A node's own colour with those of the rows it points to."""
        return self._number(
            lambda side, node: (
                self._own[side][node],
                *((label, numbers[side][target]) for label, target in self._nodes[side][node].links),
            )
        )

    def _signatures(self, name: str) -> Iterator[_Signature]:
        """Ever weaker grounds for pairing rows of a table."""
        yield from (self._by_colour(numbers) for numbers in (self._around, self._ahead, self._own))
        table = next(node.table for nodes in self._nodes for node in nodes if node.table.info.name == name)
        yield from (self._by_all_but(place) for place in range(len(table.compared)))
        yield lambda side, node: self._own[side][node]

    def _by_colour(self, numbers: _Numbers) -> _Signature:
        return lambda side, node: (numbers[side][node], self._linked_pairs(side, node))

    def _by_all_but(self, place: int) -> _Signature:
        def signature(side: int, node: int) -> Hashable:
            item = self._nodes[side][node]
            self._steps.spend(1 + len(item.values) // 8)
            return item.values[:place], item.values[place + 1 :], item.targets, self._linked_pairs(side, node)

        return signature

    def _linked_pairs(self, side: int, node: int) -> tuple[tuple[int, int], ...]:
        """The pairs that a row points to, -1 for rows without a partner so far."""
        return tuple((label, self._pair_of[side].get(target, -1)) for label, target in self._nodes[side][node].links)

    def _unpaired(self, side: int, name: str) -> list[int]:
        return [place for place in self._inserted[side].get(name, ()) if place not in self._pair_of[side]]

    def _join_by(self, name: str, signature: _Signature) -> None:
        buckets: dict[Hashable, deque[int]] = {}
        for right in self._unpaired(1, name):
            buckets.setdefault(signature(1, right), deque()).append(right)
        for left in self._unpaired(0, name):
            if left in self._pair_of[0]:
                continue  # pulled along by an earlier pair
            bucket = buckets.get(signature(0, left), deque())
            while bucket and bucket[0] in self._pair_of[1]:
                bucket.popleft()
            if bucket:
                self._join(left, bucket.popleft())

    def _join_likest(self, name: str) -> None:
        lefts, rights = self._unpaired(0, name), self._unpaired(1, name)
        if len(lefts) * len(rights) > _MAX_LIKENESS_PAIRS:
            return
        scored = sorted((-self._likeness(left, right), left, right) for left in lefts for right in rights)
        for score, left, right in scored:
            if -score >= _MIN_LIKENESS and left not in self._pair_of[0] and right not in self._pair_of[1]:
                self._join(left, right)

    def _likeness(self, left: int, right: int) -> float:
        """The share of compared columns and foreign keys that agree."""
        one, other = self._nodes[0][left], self._nodes[1][right]
        agreed = [mine == theirs for mine, theirs in zip(one.targets, other.targets, strict=True)]
        for column in one.table.compared:
            values = (one.row or {})[column.name], (other.row or {})[column.name]
            self._steps.spend(judging_steps(column, *values))
            agreed.append(self._judge.judge(column, *values).is_equal)
        return sum(agreed) / len(agreed) if agreed else 1.0

    def _join(self, left: int, right: int) -> None:
        """Pairs two rows, and on from them the like rows one foreign key away."""
        queue = deque([(left, right)])
        while queue:
            left, right = queue.popleft()
            if left in self._pair_of[0] or right in self._pair_of[1]:
                continue
            self._pair_of[0][left] = self._pair_of[1][right] = len(self.pairs)
            self.pairs.append((left, right))
            others = self._free_around(1, right)
            for like, places in self._free_around(0, left).items():
                queue.extend(zip(places, others.get(like, ()), strict=False))

    def _free_around(self, side: int, node: int) -> dict[tuple[int, int], list[int]]:
        """Inserted rows without a partner one foreign key away, by foreign key, direction and own colour."""
        found: dict[tuple[int, int], list[int]] = {}
        ahead = [(2 * label, target) for label, target in self._nodes[side][node].links]
        for label, other in [*ahead, *self._pointing[side][node]]:
            if other not in self._pair_of[side] and self._nodes[side][other].is_inserted:
                found.setdefault((label, self._own[side][other]), []).append(other)
        return found


def _group_inserted(nodes: list[Node]) -> dict[str, list[int]]:
    """The inserted rows of each table."""
    groups: dict[str, list[int]] = {}
    for place, node in enumerate(nodes):
        if node.is_inserted:
            groups.setdefault(node.table.info.name, []).append(place)
    return groups


def _find_pointing(nodes: list[Node]) -> list[list[tuple[int, int]]]:
    """For each node the rows that point to it, with an odd label for each foreign key."""
    found: list[list[tuple[int, int]]] = [[] for _ in nodes]
    for place, node in enumerate(nodes):
        for label, target in node.links:
            found[target].append((2 * label + 1, place))
    return found


def _order_targets_first(tables: Mapping[str, TableInfo]) -> list[str]:
    """Table names with those that are pointed to before those that point; cycles are cut where they are met."""
    done: dict[str, None] = {}
    for name in sorted(tables):
        path = [(name, iter(tables[name].foreign_keys))]
        on_path = {name}
        while path:
            current, foreign_keys = path[-1]
            target = next((key.table for key in foreign_keys if key.table in tables), None)
            if target is None:
                done[current] = None
                on_path.discard(current)
                path.pop()
            elif target not in done and target not in on_path:
                on_path.add(target)
                path.append((target, iter(tables[target].foreign_keys)))
    return list(done)
