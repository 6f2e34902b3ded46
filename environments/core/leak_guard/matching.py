"""Counterparts: which part of one set stands for which part of another."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Pairs = tuple[tuple[int, int, float], ...]
"""(row, column, similarity), best first; each row and column at most once."""

_CROWD: Final = 4
"""From that many rows for each column on, only each column's best rows are looked at."""


def match(similarities: NDArray[np.float32], floor: float) -> Pairs:
    """Pairs rows with columns one to one, the most alike first; of equals, the earlier ones.

    Greedy pairs reach at least half of the best total, and the same input always gives the same pairs.

    Args:
        similarities: (num_rows, num_columns) float32.
        floor: Pairs below it are none.
    """
    num_rows, num_columns = similarities.shape
    if not num_rows or not num_columns:
        return ()
    if num_rows > _CROWD * num_columns:
        # A column's best row may be taken by at most num_columns - 1 others.
        best = np.argpartition(-similarities, num_columns - 1, axis=0)[:num_columns]
        rows = np.unique(best)
    else:
        rows = np.arange(num_rows)
    part = similarities[rows]
    found = np.argwhere(part >= floor)
    scores = part[found[:, 0], found[:, 1]]
    order = np.lexsort((found[:, 1], found[:, 0], -scores))
    pairs: list[tuple[int, int, float]] = []
    taken_rows: set[int] = set()
    taken_columns: set[int] = set()
    for index in order:
        row, column = int(rows[found[index, 0]]), int(found[index, 1])
        if row not in taken_rows and column not in taken_columns:
            taken_rows.add(row)
            taken_columns.add(column)
            pairs.append((row, column, float(scores[index])))
            if len(taken_columns) == num_columns:
                break
    return tuple(pairs)
