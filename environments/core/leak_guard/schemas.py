"""How alike argument lists are, common arguments counting little."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from environments.core.embedding.lexical import split_words
from environments.core.leak_guard.model import Member

_KIND_SHARE: Final = 0.3
_REQUIRED_SHARE: Final = 0.1
"""What a member in common loses where both sides say its kind and differ, and where one needs it and one doesn't."""
_KINDS: Final = ("string", "number", "boolean", "array", "object")
_BLOCKS: Final = np.array(
    [1.0 - _REQUIRED_SHARE, -_KIND_SHARE, *(_KIND_SHARE for _ in _KINDS), _REQUIRED_SHARE, _REQUIRED_SHARE],
    dtype=np.float32,
)
"""Worth of: the name; a known kind on both sides; each kind; optional on both sides; required on both sides."""
_MIN_WEIGHT: Final = 0.05
_DIGITS: Final = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")


@dataclass(frozen=True, slots=True)
class Weights:
    """How much a member's name tells: 1 if hardly any interface has it, near 0 for `id` or `limit`.

    Attributes:
        num_documents: Public API documents that were counted.
        counts: In how many of them a name (its words joined by spaces) stands; what is missing stands in none.
    """

    num_documents: int
    counts: Mapping[str, int]

    def of(self, key: str) -> float:
        """Inverse document frequency, scaled to 1 for a name that stands nowhere."""
        if self.num_documents < 2:
            return 1.0
        rarity = math.log((1 + self.num_documents) / (1 + self.counts.get(key, 0)))
        return max(_MIN_WEIGHT, rarity / math.log(1 + self.num_documents))


def name_key(name: str) -> str:
    """A name as it is compared: `userId2`, `user_id_2` and `User-ID-2` are one."""
    return " ".join(split_words(_DIGITS.sub(" ", name)))


class SchemaIndex:
    """Argument lists (or columns) of one side, ready to be compared with those of others.

    Args:
        lists: One for each tool or table.
        weights: How much each name tells.
    """

    def __init__(self, lists: Sequence[Sequence[Member]], weights: Weights) -> None:
        self._weights = weights
        self._rows = [_by_key(members) for members in lists]
        keys = sorted({key for row in self._rows for key in row})
        self._places = {key: place for place, key in enumerate(keys)}
        self._encoded = _encode(self._rows, self._places)
        self.information = self._information(self._rows)

    def compare(self, lists: Sequence[Sequence[Member]]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Weighted Jaccard similarity of each list with each indexed one, and what the list itself tells.

        Returns:
            (num_lists, num_indexed) float32, and (num_lists,) float32 in units of one name that stands nowhere else.
        """
        rows = [_by_key(members) for members in lists]
        own = self._information(rows)
        keys = sorted({key for row in rows for key in row if key in self._places})
        worth = np.array([self._weights.of(key) for key in keys], dtype=np.float32)
        mine = _encode(rows, {key: place for place, key in enumerate(keys)})
        others = self._encoded[:, :, [self._places[key] for key in keys]]
        shape = (len(rows), len(self._rows))
        names = (mine[:, 0] * worth) @ others[:, 0].T
        valued = mine * _BLOCKS[None, :, None] * worth
        common = valued.reshape(shape[0], -1) @ others.reshape(shape[1], -1).T
        union = own[:, None] + self.information[None, :] - names
        return np.divide(common, union, out=np.zeros(shape, dtype=np.float32), where=union > 0), own

    def _information(self, rows: Sequence[Mapping[str, Member]]) -> NDArray[np.float32]:
        return np.array([sum(self._weights.of(key) for key in row) for row in rows], dtype=np.float32)


def _by_key(members: Sequence[Member]) -> dict[str, Member]:
    found: dict[str, Member] = {}
    for member in members:
        key = name_key(member.name)
        if key:
            found.setdefault(key, member)
    return found


def _encode(rows: Sequence[Mapping[str, Member]], places: Mapping[str, int]) -> NDArray[np.float32]:
    """(num_rows, num_blocks, num_keys) float32 of zeros and ones."""
    encoded = np.zeros((len(rows), len(_BLOCKS), len(places)), dtype=np.float32)
    for line, row in zip(encoded, rows, strict=True):
        for key, member in row.items():
            place = places.get(key)
            if place is None:
                continue
            line[0, place] = 1.0
            if member.kind in _KINDS:
                line[1, place] = 1.0
                line[2 + _KINDS.index(member.kind), place] = 1.0
            line[7 + member.is_required, place] = 1.0
    return encoded
