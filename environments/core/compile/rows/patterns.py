"""Texts that match a pattern: enough of regular expressions for what API documents write.

Understood are literals, escapes, classes, groups, alternatives, anchors and quantifiers. Look-around, back-references
and Unicode properties are not: for them there is no text.
"""

import string
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from environments.core.compile.rows.draws import Draws

_LOWER: Final = string.ascii_lowercase
_UPPER: Final = string.ascii_uppercase
_DIGITS: Final = string.digits
_WORD: Final = _LOWER + _UPPER + _DIGITS + "_"
_PRINTABLE: Final = _LOWER + _UPPER + _DIGITS + "_-.,:;@#/+*=()[]{}!?&%$'\" "
_CLASSES: Final = {
    "d": _DIGITS,
    "w": _WORD,
    "s": " ",
    "D": _LOWER + _UPPER + "-_",
    "W": "-. ",
    "S": _LOWER + _DIGITS,
}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_MORE: Final = 64
"""How far beyond its least number an open quantifier goes at most."""
_PREFERRED: Final = _LOWER + _DIGITS
"""What a wide class is drawn from, so that texts stay readable."""

_Node = Callable[[Draws, int], str]
"""Makes a text; the number says how long open quantifiers should be."""


class _NotUnderstoodError(ValueError):
    """The pattern uses something that this module does not know."""


@lru_cache(4096)
def _parsed(pattern: str) -> _Node | None:
    try:
        return _Parser(pattern).whole()
    except (_NotUnderstoodError, IndexError, ValueError):
        return None


def text_matching(pattern: str, draws: Draws, more: int = 4) -> str | None:
    """A text that matches the pattern from its start to its end; None if the pattern is not understood.

    Args:
        pattern: A regular expression as JSON Schema has them.
        draws: Is moved on.
        more: How often open quantifiers repeat beyond their least number, at most.
    """
    node = _parsed(pattern)
    return None if node is None else node(draws, more)


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def whole(self) -> _Node:
        node = self.alternatives()
        if self.at < len(self.pattern):
            raise _NotUnderstoodError
        return node

    def peek(self) -> str:
        return self.pattern[self.at] if self.at < len(self.pattern) else ""

    def take(self) -> str:
        self.at += 1
        return self.pattern[self.at - 1]

    def alternatives(self) -> _Node:
        branches = [self.sequence()]
        while self.peek() == "|":
            self.take()
            branches.append(self.sequence())
        if len(branches) == 1:
            return branches[0]
        return lambda draws, more: draws.choice(branches)(draws, more)

    def sequence(self) -> _Node:
        parts: list[_Node] = []
        while self.peek() not in ("", "|", ")"):
            part = self.atom()
            if part is not None:
                parts.append(self.repeated(part))
        return lambda draws, more: "".join([part(draws, more) for part in parts])

    def atom(self) -> _Node | None:
        sign = self.take()
        if sign in "^$":
            return None
        if sign == "(":
            return self.group()
        if sign == "[":
            return _one_of(self.members())
        if sign == ".":
            return _one_of(_PREFERRED)
        if sign == "\\":
            return self.escape()
        if sign in "*+?":
            raise _NotUnderstoodError
        return lambda draws, more: sign

    def group(self) -> _Node:
        if self.peek() == "?":
            self.take()
            sign = self.take()
            if sign == "P" or (sign == "<" and self.peek() not in "=!"):
                while self.take() != ">":
                    pass
            elif sign != ":":
                raise _NotUnderstoodError
        node = self.alternatives()
        if self.take() != ")":
            raise _NotUnderstoodError
        return node

    def escape(self) -> _Node | None:
        sign = self.take()
        if sign in "bBAzZ":
            return None
        if sign in _CLASSES:
            return _one_of(_CLASSES[sign])
        literal = self.literal_escape(sign)
        return lambda draws, more: literal

    def literal_escape(self, sign: str) -> str:
        if sign in "xu":
            length = 2 if sign == "x" else 4
            digits = self.pattern[self.at : self.at + length]
            self.at += length
            return chr(int(digits, 16))
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        if sign.isalnum():
            raise _NotUnderstoodError
        return sign

    def members(self) -> str:
        """The characters of a class."""
        is_negated = self.peek() == "^"
        if is_negated:
            self.take()
        found: list[str] = []
        is_first = True
        while self.peek() != "]" or is_first:
            is_first = False
            low = self.class_part()
            if len(low) == 1 and self.peek() == "-" and self.pattern[self.at + 1] != "]":
                self.take()
                high = self.class_part()
                if len(high) != 1 or ord(high) < ord(low):
                    raise _NotUnderstoodError
                top = min(ord(high), ord(low) + 127)
                found.extend(chr(number) for number in range(ord(low), top + 1))
            else:
                found.extend(low)
        self.take()
        if is_negated:
            found = [sign for sign in _PRINTABLE if sign not in found]
        if not found:
            raise _NotUnderstoodError
        return "".join(dict.fromkeys(found))

    def class_part(self) -> str:
        sign = self.take()
        if sign == "[" and self.peek() == ":":
            raise _NotUnderstoodError
        if sign != "\\":
            return sign
        sign = self.take()
        if sign == "b":
            return "\b"
        return _CLASSES[sign] if sign in _CLASSES else self.literal_escape(sign)

    def repeated(self, part: _Node) -> _Node:
        least, most = 1, 1
        sign = self.peek()
        if sign == "?":
            least, most = 0, 1
        elif sign == "*":
            least, most = 0, -1
        elif sign == "+":
            least, most = 1, -1
        elif sign == "{":
            end = self.pattern.find("}", self.at)
            body = self.pattern[self.at + 1 : end]
            low, comma, high = body.partition(",")
            if end < 0 or not low.isdigit() or (high and not high.isdigit()):
                raise _NotUnderstoodError
            least, most = int(low), (int(high) if high else -1) if comma else int(low)
            self.at = end
        else:
            return part
        self.take()
        if self.peek() in ("?", "+"):
            self.take()

        def make(draws: Draws, more: int) -> str:
            top = least + min(more, _MORE) if most < 0 else min(most, least + more)
            return "".join([part(draws, more) for _ in range(draws.between(least, max(least, top)))])

        return make


def _one_of(characters: str) -> _Node:
    nice = "".join(sign for sign in characters if sign in _PREFERRED)
    chosen = nice or "".join(sign for sign in characters if sign in _UPPER) or characters
    return lambda draws, more: draws.choice(chosen)
