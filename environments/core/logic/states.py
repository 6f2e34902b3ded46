"""Whether a condition can hold in a given state, whatever the arguments are: rows are known, parameters are not."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from sqlglot import exp

from environments.core.logic.statements import literal, parse
from environments.runtime.records import Row


class Truth(Enum):
    """What is known of a value."""

    TRUE = 1
    FALSE = 0
    OPEN = 2


class _Open:
    """A value that depends on arguments, or on what is not looked into."""


_OPEN = _Open()
State = Mapping[str, Sequence[Row]]


def truth_in(sql: str, state: State) -> Truth:
    """Whether a condition holds in a state: for all arguments, for none, or that is not known."""
    tree = parse(sql)
    if not isinstance(tree, exp.Select) or len(tree.selects) != 1:
        return Truth.OPEN
    value = _scalar(tree, state, {})
    if isinstance(value, _Open):
        return Truth.OPEN
    return Truth.TRUE if value == 1 and not isinstance(value, str) else Truth.FALSE


def _scalar(tree: exp.Select, state: State, outer: Mapping[str, Row]) -> Any:
    """The value of a SELECT of one column of one row; NULL without a row."""
    wanted = tree.selects[0].unalias()
    odd = any(tree.args.get(name) for name in ("with_", "with", "group", "having", "limit", "offset", "distinct"))
    source = tree.args.get("from_") or tree.args.get("from")
    if odd:
        return _OPEN
    if source is None:
        return _value(wanted, state, outer)
    if any(wanted.find_all(exp.AggFunc)):
        return _OPEN
    # Which of several rows it is, arguments say: the value is known only if it is the same for each that may be it.
    values: list[Any] = []
    for is_sure, bound in _rows(tree, state, outer):
        value = _value(wanted, state, bound)
        if not is_sure and None not in values:
            values.append(None)
        values.append(value)
        if isinstance(value, _Open) or (_is_one(value) and len(values) > 1):
            return _OPEN
    if not values:
        return None
    holding = [value for value in values if _is_one(value)]
    if not holding:
        return 0 if all(not isinstance(value, str) for value in values) else _OPEN
    return _OPEN if len(holding) != len(values) else 1


def _rows(tree: exp.Select, state: State, outer: Mapping[str, Row]) -> Any:
    """Each row that the WHERE may let through, and whether it surely does; one that is not known if there is a join."""
    source = (tree.args.get("from_") or tree.args["from"]).this
    joins = tree.args.get("joins")
    if joins or not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        names = [source, *(join.this for join in joins or ())]
        is_inner = all(not join.side for join in joins or ())
        if is_inner and any(isinstance(one, exp.Table) and one.name in state and not state[one.name] for one in names):
            return
        yield False, _Unreadable(outer)
        return
    if source.name not in state:
        yield False, _Unreadable(outer)
        return
    where = tree.args.get("where")
    for row in state[source.name]:
        bound = {**outer, source.alias_or_name: row}
        found = 1 if where is None else _value(where.this, state, bound)
        if isinstance(found, _Open):
            yield False, bound
        elif _is_true(found):
            yield True, bound


class _Unreadable(dict[str, Row]):
    """Rows of which nothing is known."""


def _value(node: exp.Expr, state: State, bound: Mapping[str, Row]) -> Any:
    if isinstance(node, exp.Paren):
        return _value(node.this, state, bound)
    if isinstance(node, exp.Null):
        return None
    constant = literal(node)
    if constant is not None:
        return constant
    if isinstance(node, exp.Column):
        return _column(node, bound)
    if isinstance(node, exp.And | exp.Or):
        return _junction(node, state, bound)
    if isinstance(node, exp.Not):
        value = _value(node.this, state, bound)
        return value if value is None or isinstance(value, _Open) else int(not _is_true(value))
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        value = _value(node.this, state, bound)
        return value if isinstance(value, _Open) else int(value is None)
    if isinstance(node, exp.Exists) and isinstance(node.this, exp.Select) and not node.this.args.get("limit"):
        found = list(_rows(node.this, state, bound))
        return 1 if any(is_sure for is_sure, _ in found) else _OPEN if found else 0
    if isinstance(node, exp.In) and not node.args.get("query") and node.expressions:
        return _any_equal(_value(node.this, state, bound), [_value(one, state, bound) for one in node.expressions])
    if type(node) in _COMPARED:
        return _compared(node, _value(node.this, state, bound), _value(node.expression, state, bound))
    return _OPEN


def _column(node: exp.Column, bound: Mapping[str, Row]) -> Any:
    if isinstance(bound, _Unreadable):
        return _OPEN
    rows = [bound[node.table]] if node.table in bound else [] if node.table else list(bound.values())[::-1]
    for row in rows:
        if node.name in row:
            return row[node.name]
    return _OPEN


def _junction(node: exp.And | exp.Or, state: State, bound: Mapping[str, Row]) -> Any:
    decisive = isinstance(node, exp.Or)
    values = [_value(part, state, bound) for part in node.flatten()]
    known = [value for value in values if not isinstance(value, _Open)]
    if any(value is not None and _is_true(value) is decisive for value in known):
        return int(decisive)
    if len(known) < len(values):
        return _OPEN
    return None if None in known else int(not decisive)


def _any_equal(value: Any, others: Sequence[Any]) -> Any:
    if value is None:
        return None
    if isinstance(value, _Open):
        return _OPEN
    if any(not isinstance(other, _Open) and other == value and _is_alike(other, value) for other in others):
        return 1
    unsure = any(isinstance(other, _Open) or not _is_alike(other, value) for other in others)
    return _OPEN if unsure else None if None in others else 0


_COMPARED: dict[type[exp.Expr], str] = {
    exp.EQ: "__eq__", exp.NEQ: "__ne__", exp.GT: "__gt__", exp.GTE: "__ge__", exp.LT: "__lt__", exp.LTE: "__le__",
}  # fmt: skip


def _compared(node: exp.Expr, one: Any, other: Any) -> Any:
    # NULL beside a comparison gives NULL whatever the other side is.
    if one is None or other is None:
        return None
    if isinstance(one, _Open) or isinstance(other, _Open) or not _is_alike(one, other):
        return _OPEN
    if isinstance(one, str):
        return int(getattr(one, _COMPARED[type(node)])(other))
    return int(getattr(float(one), _COMPARED[type(node)])(float(other)))


def _is_alike(one: Any, other: Any) -> bool:
    return one is None or other is None or isinstance(one, str) is isinstance(other, str)


def _is_true(value: Any) -> bool:
    return value is not None and not isinstance(value, str) and value != 0


def _is_one(value: Any) -> bool:
    return not isinstance(value, str | _Open) and value is not None and value == 1
