"""How much may be written of one document: a few lines that refer to one another can stand for terabytes."""

from typing import Any, Final, TypeVar

from environments.core.errors import UnreadableSourceError

MAX_WRITTEN: Final = 250_000_000
"""Bytes, near enough, of all operations and schemas written out; the largest real document takes a sixth."""
_OF_A_PART: Final = 64

_Value = TypeVar("_Value")


class Budget:
    """Counts what is taken from a document, however often the same part of it is taken."""

    def __init__(self, limit: int = MAX_WRITTEN) -> None:
        self._left = limit
        self._limit = limit
        self._weights: dict[int, tuple[Any, int]] = {}

    def spend(self, amount: int = _OF_A_PART) -> None:
        """Takes an amount.

        Raises:
            UnreadableSourceError: None is left.
        """
        self._left -= amount
        if self._left < 0:
            raise UnreadableSourceError(
                f"The document stands for more than {self._limit // 1_000_000} MB once its references are followed."
            )

    def keep(self, value: _Value) -> _Value:
        """Takes what a value weighs, and gives the value back."""
        self.spend(self._weight(value))
        return value

    def _weight(self, value: Any) -> int:
        """Near the length of its JSON; each part that others may share is measured once."""
        if isinstance(value, str):
            return len(value) + 8
        if not isinstance(value, dict | list) or not value:
            return 8
        known = self._weights.get(id(value))
        if known is None:
            parts = sum(map(self._weight, value.values() if isinstance(value, dict) else value))
            names = sum(map(len, value)) if isinstance(value, dict) else 0
            # The value stays beside its weight: another one could get its identity otherwise.
            known = self._weights[id(value)] = value, _OF_A_PART + names + parts
        return known[1]
