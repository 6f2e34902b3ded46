"""Classes of values under the transitive closure of a lenient rule.

Tolerance and fuzzy text are not transitive, so they cannot be colours; their closure can, and it never parts two values
that could be equal. Without it, twenty alike parents of whom one has a child with a wrong text cost twenty factorial
pairings.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from environments.runtime.equality.partition import Steps
from environments.runtime.equality.values import (
    RELATIVE_TOLERANCE,
    Judge,
    is_within_tolerance,
    judging_steps,
)
from environments.runtime.records import Value
from environments.runtime.tables import ColumnInfo

# Rounding can break a chain of values at the very edge of the tolerance; a closure may be too wide, never too narrow.
_WIDER_TOLERANCE = RELATIVE_TOLERANCE * 1.001

_Occurrence = tuple[str, int]
"""(token, how often it came before in its text): a multiset of tokens as a set."""


def close_classes(column: ColumnInfo, values: Sequence[Value], judge: Judge, steps: Steps) -> list[int]:
    """The number of each value's class; values that could be equal under the column's lenient rule share one.

    Raises:
        BudgetSpentError: Judging texts took the rest of the budget.
    """
    distinct = list(dict.fromkeys(values))
    numbers = [value for value in distinct if isinstance(value, float)]
    texts = [value for value in distinct if isinstance(value, str)]
    classes: list[Sequence[Value]] = [*_near_numbers(numbers), *_NearTexts(column, texts, judge, steps).classes()]
    class_of = {value: number for number, members in enumerate(classes) for value in members}
    return [class_of.get(value, -1) for value in values]  # NULL is near nothing


def _near_numbers(values: Sequence[float]) -> list[list[float]]:
    """In order of size only neighbours need a look: two near numbers are near everything between them."""
    classes: list[list[float]] = []
    for value in sorted(values):
        if classes and is_within_tolerance(classes[-1][-1], value, _WIDER_TOLERANCE):
            classes[-1].append(value)
        else:
            classes.append([value])
    return classes


class _NearTexts:
    """Joins texts that are near each other, and judges only those that share a rare token.

    If F1 is 0.8 or more, at least two thirds of the tokens of either text are common. So with tokens in one order,
    rarest first, the first common one is among the first third, and one more, of both: no other pair needs judging.

    Reference: S. Chaudhuri, V. Ganti, R. Kaushik, "A primitive operator for similarity joins in data cleaning",
        ICDE 2006, section 4 (prefix filter).
    """

    def __init__(self, column: ColumnInfo, texts: Sequence[str], judge: Judge, steps: Steps) -> None:
        self._column, self._texts, self._judge, self._steps = column, texts, judge, steps
        self._parents = {text: text for text in texts}
        self._frequencies = Counter(occurrence for text in texts for occurrence in self._occurrences(text))

    def classes(self) -> list[list[str]]:
        """The classes, in order of their first members."""
        first_of: dict[object, str] = {}
        groups_of: dict[object, list[list[str]]] = {}
        for text in self._texts:
            # Equal normal forms are equal, though their tokens may differ ("notable", "no table").
            self._join(first_of.setdefault(self._judge.canonical(self._column, text), text), text)
            refused: set[str] = set()
            numbers = self._judge.text(text).numbers  # texts of other numbers are never near
            for occurrence in self._rare(text):
                self._join_groups(text, groups_of.setdefault((numbers, occurrence), []), refused)
        found: dict[str, list[str]] = {}
        for text in self._texts:
            found.setdefault(self._root(text), []).append(text)
        return list(found.values())

    def _join_groups(self, text: str, groups: list[list[str]], refused: set[str]) -> None:
        """Joins a text with the groups that hold one near it; a group is the members of one class with a rare token."""
        joined, others = [], []
        for group in groups:
            if self._root(group[0]) != self._root(text):
                near = next((other for other in group if other not in refused and self._is_near(other, text)), None)
                if near is None:
                    refused.update(group)
                    others.append(group)
                    continue
                self._join(near, text)
            joined.append(group)
        largest = max(joined, key=len, default=[])
        for group in joined:
            if group is not largest:
                largest += group
        largest.append(text)
        groups[:] = [*others, largest]

    def _is_near(self, one: str, other: str) -> bool:
        self._steps.spend(judging_steps(self._column, one, other))
        return self._judge.judge(self._column, one, other).is_equal

    def _occurrences(self, text: str) -> Iterator[_Occurrence]:
        for token, count in self._judge.text(text).tokens.items():
            yield from ((token, number) for number in range(count))

    def _rare(self, text: str) -> list[_Occurrence]:
        occurrences = sorted(self._occurrences(text), key=lambda item: (self._frequencies[item], item))
        return occurrences[: len(occurrences) // 3 + 1]

    def _root(self, text: str) -> str:
        root = text
        while self._parents[root] != root:
            root = self._parents[root]
        while self._parents[text] != root:
            self._parents[text], text = root, self._parents[text]
        return root

    def _join(self, one: str, other: str) -> None:
        self._parents[self._root(other)] = self._root(one)
