"""How free text is read: its normal form for exact comparison, its numbers, and its tokens for F1."""

import re
import unicodedata
from collections import Counter

from environments.runtime.equality.negation import count_negations
from environments.runtime.equality.numerals import find_numbers

NormalForm = tuple[str, tuple[str, ...]]
"""(letters and symbols with a mark for each number, the numbers in order)."""

_MARK = "\0"  # stands for a number; no letter or symbol can be it, since characters of category C are taken out
_LAST_KEPT = 0xFFFF

# Scripts written without spaces (or, for Hangul, with spaces that writers place freely).
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u19e0-\u19ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUN = re.compile(f"(?P<unspaced>[{_UNSPACED}]+)|[^\\s{_UNSPACED}]+")


class _Separators(dict[int, str]):
    """A table for `str.translate`: characters of categories P, Z and C become `replacement`, others stay.

    Filled as characters are met, at most with the 65,536 of the basic plane.
    """

    def __init__(self, replacement: str) -> None:
        super().__init__()
        self._replacement = replacement

    def __missing__(self, code: int) -> str:
        character = chr(code)
        result = self._replacement if unicodedata.category(character)[0] in "PZC" else character
        if code <= _LAST_KEPT:
            self[code] = result
        return result


_REMOVED = _Separators("")
_SPACED = _Separators(" ")


class Text:
    """One text, read once; tokens and negation words only when fuzzy comparison asks for them.

    Attributes:
        normal_form: Equal normal forms are equal texts under the exact rule for semantic columns.
    """

    __slots__ = ("_folded", "_negations", "_tokens", "_words", "normal_form")

    def __init__(self, text: str) -> None:
        folded = fold(text)
        numbers, pieces, end = [], [], 0
        for start, stop, number in find_numbers(folded):
            numbers.append(number)
            pieces.append(folded[end:start])
            end = stop
        pieces.append(folded[end:])
        letters = _MARK.join(piece.translate(_REMOVED) for piece in pieces)
        self.normal_form: NormalForm = (letters or folded.strip(), tuple(numbers))
        self._folded = folded
        self._words = " ".join(pieces)
        self._tokens: Counter[str] | None = None
        self._negations: Counter[str] | None = None

    @property
    def numbers(self) -> tuple[str, ...]:
        """Every number, in order."""
        return self.normal_form[1]

    @property
    def tokens(self) -> Counter[str]:
        """Runs between characters of P, Z and C, numbers left out; character pairs where words are not spaced."""
        if self._tokens is None:
            self._tokens = Counter()
            for match in _RUN.finditer(self._words.translate(_SPACED)):
                run = match[0]
                if match["unspaced"] and len(run) > 1:
                    self._tokens.update(run[place : place + 2] for place in range(len(run) - 1))
                else:
                    self._tokens[run] += 1
        return self._tokens

    def negations(self, language: str) -> Counter[str]:
        """How often each negation word of the language stands here; a text is always asked for the same one."""
        if self._negations is None:
            self._negations = count_negations(self._folded, language)
        return self._negations


def fold(text: str) -> str:
    """NFKC, casefold, NFKC; a raised number (10², 1½) stays apart from the number before it."""
    if not text.isascii():
        text = "".join(f" {character}" if unicodedata.category(character) == "No" else character for character in text)
        return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return text.casefold()


def is_f1_enough(one: Counter[str], other: Counter[str]) -> bool:
    """Whether the F1 of two multisets of tokens is 0.8 or more; never for two empty ones."""
    smaller, larger = (one, other) if len(one) <= len(other) else (other, one)
    common = sum(min(count, larger[token]) for token, count in smaller.items() if token in larger)
    return common > 0 and 5 * common >= 2 * (one.total() + other.total())
