"""Python text as people format it: calls, objects and long SQL, broken where a line would be longer than 120."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

WIDTH: Final = 120
INDENT: Final = "    "

_SLOT: Final = re.compile(r"\{\{(\w+)\}\}")
"""`{{where}}` in SQL stands for a local variable of the function."""
_QUOTED: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_WORD: Final = re.compile(r"(?:'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[^\s'\"])+|\s+")
_CLAUSE: Final = re.compile(r" (?=(?:SELECT|FROM|WHERE|AND|ORDER BY|LIMIT|VALUES|ON CONFLICT)\b)")
_PART: Final = re.compile(r"(?<=,) | (?=(?:AND|OR|FROM|WHERE) )")
"""Where a clause that is longer than a line is cut."""


@dataclass(frozen=True, slots=True)
class Sql:
    """A SQL text; `{{name}}` in it is replaced by a local variable."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call.

    Attributes:
        function: As written.
        arguments: Positional ones with the name "".
        ending: What follows the closing parenthesis.
    """

    function: str
    arguments: tuple[tuple[str, "Expression"], ...]
    ending: str = ""


@dataclass(frozen=True, slots=True)
class Dict:
    """An object; an entry with the name None is unpacked into it."""

    entries: tuple[tuple[str | None, "Expression"], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Dict keys that are written as they are: `("when", True)`."""

    entries: tuple[tuple[str, "Expression"], ...]
    ending: str = ""


Expression = str | Sql | Call | Dict | Group


def text_literal(text: str) -> str:
    """A text as Python source, in the quotation marks that need fewer escapes."""
    escaped = text.replace("\\", "\\\\") if text.isprintable() else "".join(map(_escaped, text))
    if escaped.count('"') > escaped.count("'"):
        return "'" + escaped.replace("'", "\\'") + "'"
    return '"' + escaped.replace('"', '\\"') + '"'


def _escaped(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()


def value_literal(value: Any) -> str:
    """A JSON value as Python source."""
    if isinstance(value, str):
        return text_literal(value)
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{text_literal(str(name))}: {value_literal(item)}" for name, item in value.items()) + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(value_literal, value)) + "]"
    return repr(value)


def written(before: str, expression: Expression, depth: int = 1) -> list[str]:
    """The lines of a statement: what stands before its expression, and the expression.

    Args:
        before: `rows = `, `return `, or nothing.
        expression: What it is about.
        depth: Of the block that it stands in.
    """
    return list(_laid_out(before, expression, "", INDENT * depth))


def signature(name: str, parameters: Sequence[str]) -> list[str]:
    """The first lines of a tool's function, whose parameters are all named."""
    if not parameters:
        return [f"def {name}(ctx) -> dict:"]
    inner = ", ".join(["ctx", "*", *parameters])
    if len(flat := f"def {name}({inner}) -> dict:") <= WIDTH:
        return [flat]
    if len(INDENT + inner) <= WIDTH:
        return [f"def {name}(", INDENT + inner, ") -> dict:"]
    return [f"def {name}(", *(f"{INDENT}{each}," for each in ("ctx", "*", *parameters)), ") -> dict:"]


def _laid_out(before: str, expression: Expression, after: str, indent: str) -> Iterator[str]:
    flat = indent + before + _flat(expression) + after
    if len(flat) <= WIDTH or isinstance(expression, str):
        yield flat
    elif isinstance(expression, Sql):
        pieces = _pieces(expression.text, WIDTH - len(indent) - len(INDENT) - len('f"",'))
        yield f"{indent}{before}("
        yield from (f"{indent}{INDENT}{piece}" for piece in pieces)
        yield f"{indent}){after}"
    elif isinstance(expression, Call):
        yield f"{indent}{before}{expression.function}("
        yield from _arguments(expression, indent + INDENT)
        yield f"{indent}){expression.ending}{after}"
    else:
        ending = expression.ending if isinstance(expression, Group) else ""
        yield f"{indent}{before}{{"
        for name, item in expression.entries:
            start = name if isinstance(expression, Group) else None if name is None else text_literal(name)
            yield from _laid_out("**" if start is None else f"{start}: ", item, ",", indent + INDENT)
        yield f"{indent}}}{ending}{after}"


def _arguments(call: Call, indent: str) -> Iterator[str]:
    together = indent + ", ".join(f"{_named(name)}{_flat(item)}" for name, item in call.arguments)
    if len(together) <= WIDTH:
        yield together
        return
    for name, item in call.arguments:
        if isinstance(item, Sql) and len(indent + _flat(item) + ",") > WIDTH:
            pieces = _pieces(item.text, WIDTH - len(indent) - len('f"",'))
            yield from (f"{indent}{piece}" for piece in pieces[:-1])
            yield f"{indent}{pieces[-1]}{',' if len(call.arguments) > 1 else ''}"
        else:
            yield from _laid_out(_named(name), item, ",", indent)


def _named(name: str) -> str:
    return f"{name}=" if name and name != "**" else name


def _flat(expression: Expression) -> str:
    if isinstance(expression, str):
        return expression
    if isinstance(expression, Sql):
        return _sql_literal(expression.text)
    if isinstance(expression, Call):
        inner = ", ".join(f"{_named(name)}{_flat(item)}" for name, item in expression.arguments)
        return f"{expression.function}({inner}){expression.ending}"
    if isinstance(expression, Group):
        return "{" + ", ".join(f"{name}: {_flat(item)}" for name, item in expression.entries) + "}" + expression.ending
    return (
        "{"
        + ", ".join(
            f"**{_flat(item)}" if name is None else f"{text_literal(name)}: {_flat(item)}"
            for name, item in expression.entries
        )
        + "}"
    )


def _sql_literal(text: str) -> str:
    if not _SLOT.search(text):
        return text_literal(text)
    parts = _SLOT.split(text)
    literal = text_literal("".join(part.replace("{", "{{").replace("}", "}}") for part in parts[::2]))
    mark = literal[0]
    made = [_inside(part, mark) if place % 2 == 0 else f"{{{part}}}" for place, part in enumerate(parts)]
    return f"f{mark}{''.join(made)}{mark}"


def _inside(text: str, mark: str) -> str:
    """A plain part of an f-string between marks of that kind."""
    escaped = "".join(_escaped(character) for character in text)
    return escaped.replace(mark, f"\\{mark}").replace("{", "{{").replace("}", "}}")


def _pieces(text: str, width: int) -> list[str]:
    """Literals that together are the text: whole clauses on a line, or parts of them where one is too long."""
    parts: list[str] = []
    for clause in _cut(text, _CLAUSE, is_flat=True):
        for part in [clause] if _fits(clause, width) else _cut(clause, _PART, is_flat=False):
            parts += [part] if _fits(part, width) else _WORD.findall(part)
    lines = [""]
    for part in parts:
        if lines[-1] and not _fits(lines[-1] + part.rstrip(), width):
            lines.append("")
        lines[-1] += part
    return [_sql_literal(line) for line in _leading(lines)]


def _fits(text: str, width: int) -> bool:
    return len(_sql_literal(text)) <= width


def _cut(text: str, pattern: re.Pattern[str], *, is_flat: bool) -> list[str]:
    """The text cut before each match; never inside quotation marks, nor (if flat) inside parentheses."""
    found, start = [], 0
    for match in pattern.finditer(text):
        before = _QUOTED.sub("", text[start : match.start()])
        if "'" in before or '"' in before or (is_flat and before.count("(") != before.count(")")):
            continue
        found.append(text[start : match.start()])
        start = match.start()
    return [*found, text[start:]]


def _leading(lines: Sequence[str]) -> list[str]:
    """Spaces between lines stand at the beginning of the next, where one sees them."""
    made = list(lines)
    for place in range(len(made) - 1):
        bare = made[place].rstrip(" ")
        made[place + 1] = made[place][len(bare) :] + made[place + 1]
        made[place] = bare
    return [line for line in made if line]
