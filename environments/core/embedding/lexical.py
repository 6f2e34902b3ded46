"""Vectors of hashed words and character n-grams: deterministic, offline, and good at names that look alike."""

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from environments.core.embedding.embedder import Vectors

_WORD: Final = re.compile(r"[^\W_]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SIZES: Final = (3, 4, 5)
_WORD_WEIGHT: Final = 2.0
"""A whole word in common says more than a few of its letters."""
_MAX_WORDS: Final = 2_000


class LexicalEmbedder:
    """Signed feature hashing (Weinberger et al., 2009, arXiv 0902.2206) of words and the n-grams inside them.

    Each feature adds its sublinear count, 1 + ln(tf), to one of `dimension` places, with a sign that its hash also
    gives, so that collisions cancel out on average; rows then have length 1. CamelCase and snake_case names are taken
    apart first. Cost is linear in the text; there is no randomness.
    """

    name = "lexical-1"
    dimension = 512

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, in order."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for (feature, weight), count in Counter(_features(text)).items():
                hashed = zlib.crc32(feature.encode())
                sign = 1.0 if hashed & 1 else -1.0
                row[(hashed >> 1) % self.dimension] += sign * weight * (1.0 + np.log(count))
            length = np.linalg.norm(row)
            if length > 0:
                row /= length
        return vectors


def split_words(text: str) -> list[str]:
    """The words of a text or name, case folded: `getUserDetails` and `get_user_details` have the same three."""
    plain = unicodedata.normalize("NFKC", _CAMEL.sub(" ", text)).casefold()
    return _WORD.findall(plain)[:_MAX_WORDS]


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in split_words(text):
        yield f"w:{word}", _WORD_WEIGHT
        framed = f"<{word}>"
        for size in _SIZES:
            for start in range(len(framed) - size + 1):
                yield framed[start : start + size], 1.0
