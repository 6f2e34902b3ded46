"""Faults in one SQL text: whatever it is, as sqlglot reads it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from environments.core.compile.mutation.model import Operator

_STRICTER: Final[Mapping[type[exp.Expr], type[exp.Expr]]] = {
    exp.GT: exp.GTE,
    exp.GTE: exp.GT,
    exp.LT: exp.LTE,
    exp.LTE: exp.LT,
}
Fault = tuple[Operator, str]
"""The operator, and the text with the fault."""
_Change = Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What faults are made of.

    Attributes:
        columns: Of each table of the pack.
        values: Texts that a column of a name holds in scenarios, if they are few.
        is_of_one: The text is about one row, as conditions and single reads are.
    """

    columns: Mapping[str, Sequence[str]]
    values: Mapping[str, Sequence[str]]
    is_of_one: bool = False


def parsed(sql: str) -> exp.Expr | None:
    """The statement that a text is; None if it is none."""
    try:
        found = sqlglot.parse_one(sql, read="sqlite")
    except SqlglotError:
        return None
    return found if isinstance(found, exp.Select | exp.Insert | exp.Update | exp.Delete | exp.SetOperation) else None


def sql_faults(sql: str, around: Surroundings, rng: np.random.Generator) -> Iterator[Fault]:
    """Every fault of a statement; none that reads as the statement itself.

    Args:
        sql: The statement.
        around: Of the pack.
        rng: Chooses among tables and values that could be put in another's place.
    """
    tree = parsed(sql)
    if tree is None:
        return
    original = tree.sql(dialect="sqlite")
    for place, node in enumerate(tree.walk()):
        for operator, change in _changes(tree, node, around, rng):
            copy = tree.copy()
            target = next(each for number, each in enumerate(copy.walk()) if number == place)
            change(target)
            made = copy.sql(dialect="sqlite")
            if made != original:
                yield operator, made


def _changes(
    tree: exp.Expr, node: exp.Expr, around: Surroundings, rng: np.random.Generator
) -> Iterator[tuple[Operator, _Change]]:
    if isinstance(node, exp.Table):
        yield from _tables(tree, node, around, rng)
    elif isinstance(node, exp.Where):
        yield from _conditions(tree, node, around)
    elif type(node) in _STRICTER:
        yield Operator.COMPARISON_OFF, _other_comparison
    elif isinstance(node, exp.Limit | exp.Offset):
        off = Operator.LIMIT_OFF if isinstance(node, exp.Limit) else Operator.OFFSET_OFF
        if isinstance(node.expression, exp.Neg):
            return  # -1 is no limit, and -2 is none either
        if off is Operator.OFFSET_OFF or not isinstance(node.expression, exp.Add):
            # One that already reads a row more than is answered only peeks: yet one more would be the same.
            yield off, lambda it: it.set("expression", exp.Add(this=it.expression.copy(), expression=_one()))
        yield off, lambda it: it.set("expression", exp.Sub(this=it.expression.copy(), expression=_one()))
    elif isinstance(node, exp.Order):
        yield from _orders(node)
    elif isinstance(node, exp.Update):
        yield from _lost(node.expressions)
        yield from _swapped(node.expressions)
    elif isinstance(node, exp.OnConflict):
        yield from _lost(node.expressions)
    elif isinstance(node, exp.Insert):
        yield from _inserted(node)
    elif isinstance(node, exp.Select) and node.parent is None:
        yield from _selected(node)
    elif isinstance(node, exp.Coalesce) and node.expressions:
        yield Operator.FALLBACK_DROPPED, lambda it: it.replace(it.this.copy())
    elif isinstance(node, exp.Literal):
        yield from _constants(node, around, rng)


def _tables(
    tree: exp.Expr, node: exp.Table, around: Surroundings, rng: np.random.Generator
) -> Iterator[tuple[Operator, _Change]]:
    used = {column.name for column in tree.find_all(exp.Column)}
    others = [name for name in around.columns if name != node.name and node.name in around.columns]
    # One that has the same columns would go unnoticed longest.
    alike = [name for name in others if used <= set(around.columns[name])] or others
    if alike:
        other = alike[int(rng.integers(len(alike)))]
        yield Operator.WRONG_TABLE, lambda it: it.set("this", exp.to_identifier(other, quoted=True))


def _conditions(tree: exp.Expr, node: exp.Where, around: Surroundings) -> Iterator[tuple[Operator, _Change]]:
    parts = _conjuncts(node.this)
    is_write = isinstance(tree, exp.Update | exp.Delete)
    if is_write and node.parent is tree:
        yield Operator.EVERY_ROW, lambda it: it.pop()
    if is_write and len(parts) < 2:
        return
    for place, part in enumerate(parts):
        if _may_be_absent(part):
            operator = Operator.DROPPED_FILTER
        else:
            is_of_one = is_write or around.is_of_one
            operator = Operator.DROPPED_ROW_SCOPE if is_of_one else Operator.DROPPED_LIST_SCOPE
        yield operator, lambda it, place=place: _drop(it, place)  # type: ignore[misc]


def _conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def _may_be_absent(part: exp.Expr) -> bool:
    """Whether an absent argument switches the condition off."""
    inner = part.unnest()
    if not isinstance(inner, exp.Or):
        return False
    return any(isinstance(each, exp.Is | exp.EQ) and each.find(exp.Placeholder) for each in inner.flatten())


def _drop(where: exp.Where, place: int) -> None:
    parts = [part.copy() for number, part in enumerate(_conjuncts(where.this)) if number != place]
    if parts:
        where.set("this", exp.and_(*parts, copy=False))
    else:
        where.pop()


def _other_comparison(node: exp.Expr) -> None:
    node.replace(_STRICTER[type(node)](this=node.this.copy(), expression=node.expression.copy()))


def _orders(node: exp.Order) -> Iterator[tuple[Operator, _Change]]:
    for place in range(len(node.expressions)):
        yield Operator.SORT_REVERSED, lambda it, place=place: _reverse(it.expressions[place])  # type: ignore[misc]
        if place + 1 < len(node.expressions):
            # Without its last step an order falls back on that of the stored rows, which is mostly the same.
            yield Operator.SORT_DROPPED, lambda it, place=place: it.expressions[place].pop()  # type: ignore[misc]


def _reverse(step: exp.Expr) -> None:
    if isinstance(step, exp.Ordered):
        step.set("desc", not step.args.get("desc"))
        step.set("nulls_first", not step.args.get("desc"))
    else:
        step.replace(exp.Ordered(this=step.copy(), desc=True, nulls_first=False))


def _lost(entries: Sequence[exp.Expr]) -> Iterator[tuple[Operator, _Change]]:
    if len(entries) > 1:
        for place in range(len(entries)):
            yield Operator.LOST_UPDATE, lambda it, place=place: it.expressions[place].pop()  # type: ignore[misc]


def _swapped(entries: Sequence[exp.Expr]) -> Iterator[tuple[Operator, _Change]]:
    for place in range(len(entries) - 1):
        yield Operator.SWAPPED_COLUMNS, lambda it, place=place: _swap_values(it, place)  # type: ignore[misc]


def _swap_values(node: exp.Expr, place: int) -> None:
    one, other = node.expressions[place], node.expressions[place + 1]
    first, second = one.expression.copy(), other.expression.copy()
    one.set("expression", second)
    other.set("expression", first)


def _inserted(node: exp.Insert) -> Iterator[tuple[Operator, _Change]]:
    schema, values = node.this, node.expression
    rows = values.expressions if isinstance(values, exp.Values) else []
    if not isinstance(schema, exp.Schema) or len(rows) != 1:
        return
    count = len(schema.expressions)
    for place in range(count):
        yield Operator.LOST_UPDATE, lambda it, place=place: _drop_column(it, place)  # type: ignore[misc]
        if place + 1 < count:
            yield Operator.SWAPPED_COLUMNS, lambda it, place=place: _swap_names(it.this, place)  # type: ignore[misc]


def _drop_column(node: exp.Insert, place: int) -> None:
    node.this.expressions[place].pop()
    node.expression.expressions[0].expressions[place].pop()


def _swap_names(schema: exp.Expr, place: int) -> None:
    names = [name.copy() for name in schema.expressions]
    names[place], names[place + 1] = names[place + 1], names[place]
    schema.set("expressions", names)


def _selected(node: exp.Select) -> Iterator[tuple[Operator, _Change]]:
    for place in range(len(node.expressions)):
        if len(node.expressions) > 1:
            yield Operator.RESULT_LOST, lambda it, place=place: it.expressions[place].pop()  # type: ignore[misc]
        if place + 1 < len(node.expressions):
            yield Operator.SWAPPED_COLUMNS, lambda it, place=place: _swap_selected(it, place)  # type: ignore[misc]


def _swap_selected(node: exp.Select, place: int) -> None:
    """Each is answered under the other's name."""
    one, other = node.expressions[place], node.expressions[place + 1]
    first = exp.alias_(one.unalias().copy(), other.alias_or_name, quoted=True)
    second = exp.alias_(other.unalias().copy(), one.alias_or_name, quoted=True)
    one.replace(second)
    other.replace(first)


def _constants(node: exp.Literal, around: Surroundings, rng: np.random.Generator) -> Iterator[tuple[Operator, _Change]]:
    if node.find_ancestor(exp.Order, exp.Limit, exp.Offset):
        return
    if not node.is_string:
        if _is_of_a_column(node):
            yield Operator.CONSTANT_CHANGED, lambda it: it.replace(exp.Literal.number(int(it.this) + 1))
        return
    text = str(node.this)
    known = [value for values in around.values.values() if text in values for value in values if value != text]
    other = known[int(rng.integers(len(known)))] if known else f"{text}_x"
    yield Operator.CONSTANT_CHANGED, lambda it: it.replace(exp.Literal.string(other))


def _is_of_a_column(node: exp.Literal) -> bool:
    """Whether a whole number is written to a column or compared with one, and not an idiom such as `SELECT 1`."""
    parent = node.parent
    return node.this.isdecimal() and (
        (isinstance(parent, exp.EQ | exp.NEQ | exp.In | exp.Is) and parent.find(exp.Column) is not None)
        or isinstance(parent, exp.Tuple | exp.Coalesce)
    )


def _one() -> exp.Expr:
    return exp.Literal.number(1)
