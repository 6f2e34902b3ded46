"""Seeded chance for rows: one stream for each table, so that no table changes another's values."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Protocol, TypeVar

import numpy as np

T = TypeVar("T")

_BLOCK = 64
_PER_DRAW = 8
_WIDEST = 64
"""Characters of an alphabet of which eight fit the 53 bits of a float."""
_LOWER_CASE = "abcdefghijklmnopqrstuvwxyz"
_ALPHANUMERIC = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Chance(Protocol):
    """Where numbers come from: `random.Random` and `numpy.random.Generator` both will do."""

    def random(self) -> Any:
        """A float from 0 to below 1."""


class Draws:
    """Choices made with the one method that all generators have.

    Args:
        chance: Is moved on by every draw.
    """

    __slots__ = ("_random",)

    def __init__(self, chance: Chance) -> None:
        self._random = chance.random

    def random(self) -> float:
        """A float from 0 to below 1."""
        return float(self._random())

    def below(self, bound: int) -> int:
        """An integer from 0 to below the bound, at most 2**53."""
        return int(self._random() * bound)

    def between(self, low: int, high: int) -> int:
        """An integer from low to high, both possible."""
        return low + int(self._random() * (high - low + 1))

    def happens(self, probability: float) -> bool:
        """True that often."""
        return bool(self._random() < probability)

    def choice(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[int(self._random() * len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in another order."""
        made = list(items)
        for last in range(len(made) - 1, 0, -1):
            other = int(self._random() * (last + 1))
            made[last], made[other] = made[other], made[last]
        return made

    def text(self, length: int, alphabet: str = _ALPHANUMERIC) -> str:
        """Characters of an alphabet; one draw gives several."""
        size = len(alphabet)
        many = _PER_DRAW if size <= _WIDEST else 1
        made: list[str] = []
        while len(made) < length:
            number = int(self._random() * size**many)
            for _ in range(many):
                number, place = divmod(number, size)
                made.append(alphabet[place])
        return "".join(made[:length])

    def digits(self, length: int) -> str:
        """Digits, the first of them no zero."""
        return self.text(1, "123456789") + self.text(length - 1, "0123456789")

    def hexadecimal(self, length: int) -> str:
        """Lower-case hexadecimal digits."""
        return self.text(length, "0123456789abcdef")

    def letters(self, length: int) -> str:
        """Lower-case letters."""
        return self.text(length, _LOWER_CASE)

    def uuid(self) -> str:
        """A version-4-shaped UUID."""
        raw = self.text(31, "0123456789abcdef")
        variant = self.choice("89ab")
        return f"{raw[:8]}-{raw[8:12]}-4{raw[12:15]}-{variant}{raw[15:18]}-{raw[18:30]}"


class _Stream:
    """A numpy generator that is asked for many numbers at once: single ones cost it three times as much."""

    __slots__ = ("_generator", "_left")

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self._left: list[float] = []

    def random(self) -> float:
        if not self._left:
            self._left = self._generator.random(_BLOCK).tolist()
        return self._left.pop()


def draws_for(*parts: object) -> Draws:
    """Draws that depend on the parts alone."""
    key = "\x1f".join(map(str, parts)).encode()
    return Draws(_Stream(int.from_bytes(sha256(key).digest()[:16], "big")))
