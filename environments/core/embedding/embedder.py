"""What makes vectors of texts. Vectors of two models are never compared."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""(num_texts, dimension) float32, each row of length 1 (a text without any content has the zero vector)."""


class Embedder(Protocol):
    """A back-end."""

    @property
    def name(self) -> str:
        """What the vectors are stored under; another name whenever the same text could get another vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, in order; at most 2,000 numbers long.

        Raises:
            TransientError: The back-end can't be reached; it may be later.
            InvalidInputError: It refuses for good, and says why.
        """
