"""Two collections of environments compared, everything with everything: what a train-test report shows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from environments.core.leak_guard.library import Embed, Library, entry_of
from environments.core.leak_guard.model import GuardSubject, Measure, Rule
from environments.core.leak_guard.schemas import Weights

PairMeasure = Callable[[GuardSubject, GuardSubject], Measure]
"""A further way of comparing two sets, under a name of its own: the place of the graph kernel."""

NO_MEASURE: Final = Measure()


@dataclass(frozen=True, slots=True)
class Comparison:
    """What each set of one collection has in common with each of the other.

    Attributes:
        train: Names of the rows.
        evaluation: Names of the columns.
        measures: By what was compared (a `Rule`, or the name of a further measure): row by row.
    """

    train: tuple[str, ...]
    evaluation: tuple[str, ...]
    measures: Mapping[str, tuple[tuple[Measure, ...], ...]]

    def matrix(self, name: str) -> NDArray[np.float32]:
        """(num_train, num_evaluation) float32 of scores, 0 to 1."""
        rows = self.measures[name]
        shape = (len(self.train), len(self.evaluation))
        return np.array([[measure.score for measure in row] for row in rows], dtype=np.float32).reshape(shape)

    def nearest(self, name: str) -> tuple[tuple[str, str, Measure], ...]:
        """For each training set the evaluation set that is most like it, with the parts that match."""
        rows = zip(self.train, self.measures[name], strict=True)
        return tuple(
            (train, *max(zip(self.evaluation, row, strict=True), key=lambda each: each[1].score))
            for train, row in rows
            if row
        )


def compare_sets(
    train: Sequence[GuardSubject],
    evaluation: Sequence[GuardSubject],
    weights: Weights,
    embed: Embed | None = None,
    further: Mapping[str, PairMeasure] | None = None,
) -> Comparison:
    """Compares by names, schemas, tables, wording, longer texts and vectors, with the guard's own code.

    Args:
        train: One collection.
        evaluation: The other.
        weights: How much each argument's name tells: the guard's data has them.
        embed: For the vectors; without it they are not compared.
        further: More measures by name, called for each pair.
    """
    library = Library([entry_of(subject, embed) for subject in evaluation], weights, embed)
    rows = [library.compare(subject) for subject in train]
    measures = {
        rule.value: tuple(tuple(found.get(rule, NO_MEASURE) for found in row) for row in rows)
        for rule in Rule
        if embed is not None or rule is not Rule.VECTORS
    }
    for name, measure in (further or {}).items():
        measures[name] = tuple(tuple(measure(one, other) for other in evaluation) for one in train)
    return Comparison(tuple(subject.name for subject in train), tuple(subject.name for subject in evaluation), measures)
