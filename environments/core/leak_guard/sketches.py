"""Hashed word shingles: they tell whether two texts have the same wording, and give back no sentence."""

import base64
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Final

import numpy as np

from environments.core.embedding.lexical import split_words

Sketch = tuple[int, ...]
"""The smallest hashes of a text's shingles, ascending; of a short text all."""

SHINGLE_WORDS: Final = 3
SKETCH_SIZE: Final = 48
"""The standard error of a similarity of 0.5 is then 0.07."""


def sketch_of(text: str) -> Sketch:
    """A text's sketch; empty if it has fewer than three words."""
    words = split_words(text)
    shingles = {" ".join(words[start : start + SHINGLE_WORDS]) for start in range(len(words) - SHINGLE_WORDS + 1)}
    return tuple(sorted({_hash(shingle) for shingle in shingles})[:SKETCH_SIZE])


def resemblance(one: Sketch, other: Sketch) -> float:
    """Estimated Jaccard similarity of two texts' shingles, exact for texts whose sketches are complete.

    Of the smallest hashes of both texts together it is the share that both have.

    Reference: Broder, 1997, On the resemblance and containment of documents, section 4 (estimate from the smallest s).
    """
    smallest = sorted({*one, *other})[:SKETCH_SIZE]
    if not smallest:
        return 0.0
    common = {*one} & {*other}
    return sum(each in common for each in smallest) / len(smallest)


class SketchIndex:
    """Finds those of many sketches that have something in common with a given one, in time linear in what is shared."""

    def __init__(self, sketches: Sequence[Sketch]) -> None:
        self._sketches = sketches
        places: dict[int, list[int]] = {}
        for place, sketch in enumerate(sketches):
            for each in sketch:
                places.setdefault(each, []).append(place)
        self._places: Mapping[int, list[int]] = places

    def __len__(self) -> int:
        return len(self._sketches)

    def similar(self, sketch: Sketch) -> dict[int, float]:
        """Resemblance by place, of those above 0."""
        found = {place for each in sketch for place in self._places.get(each, ())}
        return {place: resemblance(sketch, self._sketches[place]) for place in sorted(found)}


def to_text(sketch: Sketch) -> str:
    """A sketch as base64 of little-endian 32-bit numbers."""
    return base64.b64encode(np.array(sketch, dtype="<u4").tobytes()).decode()


def from_text(text: str) -> Sketch:
    """The sketch that `to_text` wrote."""
    return tuple(int(each) for each in np.frombuffer(base64.b64decode(text), dtype="<u4"))


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "big")
