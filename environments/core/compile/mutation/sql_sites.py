"""SQL in Python source: whole statements, clauses, and the orders that a lookup chooses among."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from environments.core.compile.mutation.model import Operator
from environments.core.compile.mutation.sql_faults import Surroundings, parsed, sql_faults

_STATEMENT: Final = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b", re.IGNORECASE)
_CLAUSE: Final = re.compile(r"\s*WHERE\b", re.IGNORECASE)
_ORDER: Final = re.compile(
    r'\s*(?:"[^"]+"|\w+)(?: (?:ASC|DESC))?(?:,\s*(?:"[^"]+"|\w+)(?: (?:ASC|DESC))?)*\s*', re.IGNORECASE
)
_FROM: Final = "SELECT 1 FROM somewhere "


@dataclass(frozen=True, slots=True)
class SqlSite:
    """A SQL text in source, with its holes filled by names that it can be parsed with.

    Attributes:
        sql: A whole statement.
        before: What was put before the text to make it one.
        holes: What stood in the holes, by the name that stands for it.
    """

    sql: str
    before: str
    holes: tuple[tuple[str, ast.expr], ...]

    def faults(self, around: Surroundings, rng: np.random.Generator) -> Iterator[tuple[Operator, ast.expr]]:
        """Each fault, as the expression that takes the text's place."""
        for operator, text in sql_faults(self.sql, around, rng):
            made = self._rebuilt(text)
            if made is not None:
                yield operator, made

    def _rebuilt(self, text: str) -> ast.expr | None:
        start = self.before.rstrip()
        if start and not text.startswith(start):
            return None
        # What remains of a clause keeps the space before it, since it is put behind a statement.
        text = text[len(start) :] if start else text
        if self.before.endswith("ORDER BY "):
            text = text.lstrip()
        parts: list[ast.expr] = []
        rest = text
        for name, value in self.holes:
            head, found, rest = rest.partition(name)
            if not found:
                return None  # the fault took the hole away; the text that fills it has faults of its own
            parts += [ast.Constant(head), value]
        if not parts:
            return ast.Constant(rest)
        return ast.JoinedStr([*parts, ast.Constant(rest)])


def site_of(node: ast.expr, *, is_order: bool = False) -> SqlSite | None:
    """The SQL that a string is.

    Args:
        node: A constant or an f-string.
        is_order: It is one of the texts that a lookup chooses among.
    """
    holes: tuple[tuple[str, ast.expr], ...] = ()
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    elif isinstance(node, ast.JoinedStr):
        text, holes = _with_names(node)
    else:
        return None
    if is_order:
        before = f"{_FROM}ORDER BY " if _ORDER.fullmatch(text) else None
    else:
        before = "" if _STATEMENT.match(text) else _FROM if _CLAUSE.match(text) else None
    if before is None:
        return None
    # A clause begins with a space, or with none where it is put behind one.
    sql = before + text.lstrip() if before else text
    return SqlSite(sql, before, holes) if parsed(sql) is not None else None


def _with_names(node: ast.JoinedStr) -> tuple[str, tuple[tuple[str, ast.expr], ...]]:
    text = ""
    holes: list[tuple[str, ast.expr]] = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            text += str(part.value)
            continue
        # What is put right behind a word is a clause of its own.
        is_clause = bool(text) and not text[-1].isspace() and text[-1] != "("
        name = f" WHERE hole_{len(holes)}" if is_clause else f"hole_{len(holes)}"
        holes.append((name, part))
        text += name
    return text, tuple(holes)
