"""Values for arguments of cases: where plausible ones come from, and ones that no row has."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from environments.core.compile.semantics import Argument, Blueprint, Table


class ArgumentValues(Protocol):
    """Draws plausible values that fit an argument's schema."""

    def __call__(
        self,
        argument: Argument,
        table: Table,
        blueprint: Blueprint,
        rng: np.random.Generator,
        avoid: Collection[Any] = (),
    ) -> Any:
        """A value, not one of those to avoid if there are others; None if none is known."""


def absent_values(taken: Sequence[Any], fits: Callable[[Any], bool]) -> Iterator[Any]:
    """Values that look like those that are taken, and aren't.

    Args:
        taken: Values of a column, in any order.
        fits: Whether a value may be given at all.
    """
    seen = {repr(value) for value in taken}
    for value in _alike(taken):
        if repr(value) not in seen and fits(value):
            seen.add(repr(value))
            yield value


def _alike(taken: Sequence[Any]) -> Iterator[Any]:
    numbers = [value for value in taken if isinstance(value, int | float) and not isinstance(value, bool)]
    if numbers:
        yield max(numbers) + 1
        yield max(numbers) + 1_000
        yield min(numbers) - 1
        yield from (value + 1 for value in sorted(numbers))
    texts = [value for value in taken if isinstance(value, str)]
    for text in (*texts[-3:], *texts[:3]):
        yield from (_changed(text, place) for place in range(len(text) - 1, -1, -1) if text[place].isalnum())
        yield f"{text}x"
        yield f"{text}0"
        yield text[:-1]
        yield text.swapcase()
    if not taken:
        yield from ("missing", 987_654, "00000000-0000-4000-8000-00000000dead", "nobody@example.com", "missing-1", "m1")


def _changed(text: str, place: int) -> str:
    """The text with another letter or digit at a place."""
    letter = text[place]
    if letter.isdigit():
        other = str((int(letter) + 5) % 10) if letter.isascii() else "7"
    else:
        other = "q" if letter.lower() != "q" else "k"
        other = other.upper() if letter.isupper() else other
    if re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text) and not letter.isdigit():
        other = "f" if letter.lower() != "f" else "e"
    return text[:place] + other + text[place + 1 :]
