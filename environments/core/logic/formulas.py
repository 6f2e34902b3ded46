"""Conditions as formulas over a few unknowns, so that one can ask whether several can hold together.

A condition looks at columns of the one row that its WHERE names, at parameters, at whether that row is there, and at
things that are not looked into (a sum, a call of a function). Each becomes an unknown; equal texts become the same
unknown. What is not looked into may have any value, so an answer "never together" is always right, and an answer
"perhaps" may be wrong.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from environments.core.logic.statements import literal, parse
from environments.runtime.tables import TableInfo

Value = str | int | float | None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that a condition asks the state or the call.

    Attributes:
        key: What it is; equal keys are the same thing.
        kind: `column`, `parameter`, `there` (0 or 1), `count` (0 or more) or `other`.
    """

    key: tuple[str, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class Node:
    """A formula.

    Attributes:
        operator: `and`, `or`, `not`, `true`, `holds` (is the integer 1), `fails` (is not true), `is_null`, `row` (the
            last part where all others are true, else NULL), or a comparison.
        parts: Formulas, unknowns and constants.
    """

    operator: str
    parts: tuple[Any, ...]


Formula = Node | Unknown | str | int | float | None
_COMPARED: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.NullSafeEQ: "is",
    exp.NullSafeNEQ: "is not",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where columns are looked up.

    Attributes:
        key: What names the row; None where columns are not looked into.
        table: Its table.
        fixed: Columns whose value the WHERE gives.
    """

    key: tuple[str, ...] | None
    table: TableInfo | None = None
    fixed: Mapping[str, Formula] | None = None


class Translator:
    """Makes formulas of the conditions of one tool."""

    def __init__(self, tables: Mapping[str, TableInfo], captures: Mapping[str, str]) -> None:
        self._tables = tables
        self._captures = captures

    def condition(self, sql: str, *, is_after: bool = False) -> Formula | None:
        """The formula that is true where the condition holds; None for what is no plain SELECT.

        Args:
            sql: Of the condition.
            is_after: Whether it is a post-condition: what it asks the state is asked after the call.
        """
        tree = parse(sql)
        if not isinstance(tree, exp.Select) or len(tree.selects) != 1:
            return None
        return Node("holds", (self._select(tree, "after" if is_after else "before"),))

    def _select(self, tree: exp.Select, phase: str) -> Formula:
        """The value of a SELECT of one column: that of its row, NULL if there is none."""
        wanted = tree.selects[0].unalias()
        if any(tree.args.get(name) for name in ("with_", "with", "group", "having", "limit", "offset", "distinct")):
            return self._other(tree, phase)
        if tree.args.get("from_") is None and tree.args.get("from") is None:
            return self._value(wanted, _Scope(None), phase)
        if any(wanted.find_all(exp.AggFunc)):
            return self._aggregate(tree, wanted, phase)
        there, scope, rest = self._row(tree, phase)
        value = self._value(wanted, scope, phase)
        return Node("row", (Node(">", (there, 0)), *(self._value(one, scope, phase) for one in rest), value))

    def _row(self, tree: exp.Select, phase: str) -> tuple[Formula, _Scope, Sequence[exp.Expr]]:
        """Whether the row is there, its scope, and what of the WHERE is not its key."""
        start: exp.Expr = tree.args.get("from_") or tree.args["from"]
        where = tree.args.get("where")
        table = self._tables.get(start.this.name) if isinstance(start.this, exp.Table) else None
        parts = list(where.this.flatten()) if where is not None and isinstance(where.this, exp.And) else []
        parts = parts or ([where.this] if where is not None else [])
        if table is None or tree.args.get("joins"):
            key = (phase, start.sql(), *(join.sql() for join in tree.args.get("joins") or ()),
                   where.sql() if where is not None else "")  # fmt: skip
            return Unknown(("count", *key), "count"), _Scope(key), ()
        fixed: dict[str, Formula] = {}
        rest = []
        for part in parts:
            column, other = _equality(part, table)
            if column is not None and other is not None and column not in fixed and _is_plain(other):
                fixed[column] = self._value(other, _Scope(None), phase)
            else:
                rest.append(part)
        for names in (table.primary_key, *table.unique):
            if names and set(names) <= fixed.keys():
                key = (phase, table.name, *(f"{name}={fixed[name]}" for name in sorted(names)))
                beyond = [part for part in parts if part not in rest and _equality(part, table)[0] not in names]
                scope = _Scope(key, table, {name: fixed[name] for name in names})
                return Unknown(("there", *key), "there"), scope, [*rest, *beyond]
        key = (phase, table.name, *sorted(_bare(part) for part in parts))
        return Unknown(("count", *key), "count"), _Scope(key, table, fixed), ()

    def _aggregate(self, tree: exp.Select, wanted: exp.Expr, phase: str) -> Formula:
        there, scope, rest = self._row(tree, phase)
        if rest:
            return self._other(tree, phase)

        def counted(node: exp.Expr) -> Formula | None:
            is_all = isinstance(node, exp.Count) and isinstance(node.this, exp.Star) and not node.args.get("filter")
            return there if is_all else None

        return self._value(wanted, _Scope(scope.key and ("all", *scope.key)), phase, counted)

    def _value(
        self, node: exp.Expr, scope: _Scope, phase: str, special: Callable[[exp.Expr], Formula] | None = None
    ) -> Formula:
        found = special(node) if special is not None else None
        if found is not None:
            return found
        if isinstance(node, exp.Paren):
            return self._value(node.this, scope, phase, special)
        if isinstance(node, exp.Null):
            return None
        constant = literal(node)
        if constant is not None:
            return constant
        if isinstance(node, exp.Placeholder):
            return self._parameter(node.name)
        if isinstance(node, exp.Column) and scope.table is not None and scope.key is not None:
            if scope.fixed and node.name in scope.fixed:
                return scope.fixed[node.name]
            if any(column.name == node.name for column in scope.table.columns):
                return Unknown((scope.table.name, node.name, *scope.key), "column")
        if isinstance(node, exp.And | exp.Or):
            operator = "and" if isinstance(node, exp.And) else "or"
            return Node(operator, tuple(self._value(part, scope, phase, special) for part in node.flatten()))
        if isinstance(node, exp.Not):
            return Node("not", (self._value(node.this, scope, phase, special),))
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return Node("is_null", (self._value(node.this, scope, phase, special),))
        if type(node) in _COMPARED:
            sides = (self._value(node.this, scope, phase, special), self._value(node.expression, scope, phase, special))
            return Node(_COMPARED[type(node)], sides)
        if isinstance(node, exp.In) and not node.args.get("query") and node.expressions:
            value = self._value(node.this, scope, phase, special)
            items = (self._value(one, scope, phase, special) for one in node.expressions)
            return Node("or", tuple(Node("=", (value, item)) for item in items))
        if isinstance(node, exp.Between):
            value = self._value(node.this, scope, phase, special)
            low, high = (self._value(node.args[name], scope, phase, special) for name in ("low", "high"))
            return Node("and", (Node(">=", (value, low)), Node("<=", (value, high))))
        if isinstance(node, exp.Exists) and isinstance(node.this, exp.Select) and self._is_alone(node.this):
            there, inner, rest = self._row(node.this, phase)
            parts = tuple(self._value(one, inner, phase) for one in rest)
            return Node("true", (Node("and", (Node(">", (there, 0)), *parts)),))
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select) and self._is_alone(node.this):
            return self._select(node.this, phase)
        return self._other(node, phase, scope)

    def _is_alone(self, tree: exp.Select) -> bool:
        """Whether a SELECT inside another names nothing of the outer one, so that it means the same by itself."""
        names = {name for table in tree.find_all(exp.Table) for name in (table.alias_or_name, table.name)}
        columns = {column.name for name in names if name in self._tables for column in self._tables[name].columns}
        odd = any(tree.args.get(name) for name in ("with_", "with", "group", "having", "limit", "offset", "distinct"))
        return not odd and all(
            column.table in names if column.table else column.name in columns for column in tree.find_all(exp.Column)
        )

    def _parameter(self, name: str) -> Formula:
        capture = self._captures.get(name.removeprefix("before_")) if name.startswith("before_") else None
        tree = parse(capture) if capture is not None else None
        if isinstance(tree, exp.Select) and len(tree.selects) == 1:
            return self._select(tree, "before")
        return Unknown((name,), "parameter")

    def _other(self, node: exp.Expr, phase: str, scope: _Scope = _Scope(None)) -> Unknown:
        asks_state = node.find(exp.Column, exp.Table, exp.Star) is not None
        key = (phase, *(scope.key or ())) if asks_state else ()
        return Unknown(("other", node.sql(), *key), "other")


def _equality(part: exp.Expr, table: TableInfo) -> tuple[str | None, exp.Expr | None]:
    if isinstance(part, exp.EQ):
        for one, other in ((part.this, part.expression), (part.expression, part.this)):
            if isinstance(one, exp.Column) and any(column.name == one.name for column in table.columns):
                return one.name, other
    return None, None


def _is_plain(node: exp.Expr) -> bool:
    return isinstance(node, exp.Placeholder) or literal(node) is not None


def _bare(node: exp.Expr) -> str:
    """The text without names of tables, so that an alias makes no difference."""
    copied = node.copy()
    for column in copied.find_all(exp.Column):
        column.set("table", None)
    return copied.sql()
