"""The canonical text of a JSON text: equal canonical texts are equal JSON.

Objects have no order, arrays have; 1 is 1.0 and true is not 1; numbers are exact, however long. An explicit stack and
SQLite's own limit on depth keep hostile nesting harmless, and the result is flat, so that comparing it never recurses.
"""

import json
import re
from dataclasses import dataclass, field
from itertools import pairwise

from environments.runtime.equality.errors import MalformedValueError

MAX_DEPTH = 1_000
"""As SQLite's json_valid."""
_MAX_EXPONENT_DIGITS = 18

_LEXEME = re.compile(
    r"""[ \t\n\r]*(?:
        (?P<mark>[\[\]{},:])
      | (?P<string>"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*")
      | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
      | (?P<word>true|false|null)
      | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_CLOSING = {"]": "[", "}": "{"}


@dataclass(slots=True)
class _Container:
    opened: str
    items: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


def canonical_json(text: str) -> str:
    """The canonical text of a JSON text.

    Raises:
        MalformedValueError: It is no JSON, is nested too deep, or an object has two members of one name.
    """
    stack = [_Container("")]
    position, expected = 0, "value"
    while True:
        match = _LEXEME.match(text, position)
        if match is None:
            raise MalformedValueError(f"a JSON column holds a text that is no JSON (at character {position})")
        position, kind, lexeme = match.end(), match.lastgroup, match[match.lastgroup or 0]
        top = stack[-1]
        if kind == "end":
            if len(stack) > 1 or expected != "next":
                raise MalformedValueError("a JSON column holds a text that ends too early")
            return top.items[0]
        if expected in {"value", "first"} and lexeme in {"[", "{"}:
            if len(stack) > MAX_DEPTH:
                raise MalformedValueError(f"a JSON column holds a text nested deeper than {MAX_DEPTH}")
            stack.append(_Container(lexeme))
            expected = "first" if lexeme == "[" else "first name"
        elif lexeme in _CLOSING and top.opened == _CLOSING[lexeme] and expected in {"next", "first", "first name"}:
            stack.pop()
            stack[-1].items.append(_closed(top))
            expected = "next"
        elif expected in {"value", "first"} and kind in {"string", "number", "word"}:
            top.items.append(_scalar(kind, lexeme))
            expected = "next"
        elif expected in {"name", "first name"} and kind == "string":
            top.names.append(_scalar(kind, lexeme))
            expected = ":"
        elif expected == lexeme == ":":
            expected = "value"
        elif expected == "next" and lexeme == "," and top.opened:
            expected = "value" if top.opened == "[" else "name"
        else:
            raise MalformedValueError(f"a JSON column holds a text that is no JSON (before character {position})")


def _closed(container: _Container) -> str:
    if container.opened == "[":
        return f"[{','.join(container.items)}]"
    members = sorted(zip(container.names, container.items, strict=True))
    for (name, _), (next_name, _) in pairwise(members):
        if name == next_name:
            raise MalformedValueError(f"a JSON column holds an object with two members named {name}")
    return f"{{{','.join(f'{name}:{item}' for name, item in members)}}}"


def _scalar(kind: str, lexeme: str) -> str:
    if kind == "string":
        # Printable ASCII without escapes is its own form; DEL is ASCII, but written as an escape.
        is_plain = "\\" not in lexeme and lexeme.isascii() and lexeme.isprintable()
        return lexeme if is_plain else json.dumps(json.loads(lexeme))
    return _number(lexeme) if kind == "number" else lexeme


def _number(lexeme: str) -> str:
    """Sign, digits without zeros at either end, and the power of ten: one form for each number."""
    mantissa, _, power = lexeme.lower().partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return "0"
    if len(power) > _MAX_EXPONENT_DIGITS:
        raise MalformedValueError("a JSON column holds a number with an exponent that no number has")
    shift = int(power or 0) - len(fraction) + len(digits) - len(digits.rstrip("0"))
    return f"{sign}{digits.rstrip('0')}e{shift}"
