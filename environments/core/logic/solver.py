"""Whether formulas can hold together: a search over the few values that can make a difference."""

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from environments.core.logic.formulas import Formula, Node, Unknown

MAX_STEPS = 4_000
"""Values tried before a question is given up, which counts as "perhaps"."""
_NUM_FRESH = 3
_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq, "<>": operator.ne, ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip


class _Open:
    """A value that is not known yet."""


_OPEN: Final = _Open()
Domain = tuple[Any, ...]


class _Slot:
    """An unknown with the value that is tried for it."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = _OPEN


def can_hold(formulas: Sequence[Formula], domains: "Domains") -> bool:
    """False only if no state and no arguments make all formulas true."""
    parts = dict.fromkeys(part for formula in formulas for part in _conjuncts(formula))
    return all(_group_can_hold(group, domains) for group in _groups(tuple(parts)))


def _conjuncts(formula: Formula) -> Iterator[Formula]:
    """Formulas that are all true exactly where this one is, as small as they get."""
    if not isinstance(formula, Node):
        yield formula
        return
    inner = formula.parts[0] if formula.operator in ("holds", "true") else None
    if formula.operator == "and":
        inner = formula
    if isinstance(inner, Node) and inner.operator == "and":
        for part in inner.parts:
            yield from _conjuncts(Node("true", (part,)))
    elif isinstance(inner, Node) and inner.operator == "row":
        for part in inner.parts[:-1]:
            yield from _conjuncts(Node("true", (part,)))
        yield from _conjuncts(Node(formula.operator, (inner.parts[-1],)))
    else:
        yield formula


def _groups(formulas: Sequence[Formula]) -> list[list[Formula]]:
    """The formulas by shared unknowns: those of different groups have nothing to do with one another."""
    groups: list[tuple[dict[Unknown, None], list[Formula]]] = []
    for formula in formulas:
        asked = dict.fromkeys(_unknowns(formula))
        together = [formula]
        apart = []
        for others, members in groups:
            if asked.keys().isdisjoint(others):
                apart.append((others, members))
            else:
                asked = others | asked
                together = [*members, *together]
        groups = [*apart, (asked, together)]
    return [members for _, members in groups]


def _group_can_hold(formulas: Sequence[Formula], domains: "Domains") -> bool:
    unknowns = list(dict.fromkeys(one for formula in formulas for one in _unknowns(formula)))
    given = [one for formula in formulas for one in _constants(formula)]
    # What one unknown may be by its declaration, another that is compared with it must be able to be, too.
    constants = list(dict.fromkeys([*given, *(value for one in unknowns for value in domains.declared(one))]))
    choices = {one: domains.of(one, constants, len(unknowns)) for one in unknowns}
    unknowns.sort(key=lambda one: len(choices[one]))
    slots = {one: _Slot() for one in unknowns}
    order = [(slots[one], choices[one]) for one in unknowns]
    bound = [_bind(formula, slots) for formula in formulas]
    budget = [MAX_STEPS]

    def search(position: int, waiting: Sequence[Any]) -> bool:
        """Whether those that are not decided yet can hold; what is decided stays so, whatever else is chosen."""
        still_open = []
        for formula in waiting:
            value = _evaluate(formula)
            if value is _OPEN:
                still_open.append(formula)
            elif not _is_true(value):
                return False
        if position == len(order) or not still_open:
            return True
        slot, values = order[position]
        for choice in values:
            budget[0] -= 1
            if budget[0] <= 0:
                return True
            slot.value = choice
            if search(position + 1, still_open):
                return True
        slot.value = _OPEN
        return False

    return search(0, bound)


def negated(formula: Formula) -> Node:
    """True where the formula is not: NULL counts as not true."""
    return Node("fails", (formula,))


class Domains:
    """Which values an unknown may have."""

    def __init__(
        self,
        parameters: Mapping[str, tuple[Iterable[Any] | None, bool, Sequence[str]]],
        columns: Mapping[tuple[str, str], tuple[str, bool, Iterable[Any]]],
        bounds: Mapping[str, tuple[float | None, float | None]],
    ) -> None:
        """Collects what declarations say.

        Args:
            parameters: By name: the values that it may have (None: any), whether it may be absent, and its JSON types.
            columns: By table and column: its type, whether it may be NULL, its only values (empty: any).
            bounds: By parameter, the least and the greatest value.
        """
        self._parameters = parameters
        self._columns = columns
        self._bounds = bounds

    def declared(self, unknown: Unknown) -> Iterable[Any]:
        """Values that an unknown's declaration names."""
        if unknown.kind == "column":
            return tuple(self._columns.get((unknown.key[0], unknown.key[1]), ("", True, ()))[2])
        if unknown.kind != "parameter" or unknown.key[0] not in self._parameters:
            return ()
        values = self._parameters[unknown.key[0]][0]
        edges = self._bounds.get(unknown.key[0], (None, None))
        return tuple(value for value in (*(values or ()), *edges) if value is not None)

    def of(self, unknown: Unknown, constants: Sequence[Any], num_unknowns: int) -> Domain:
        """The values that are tried for an unknown."""
        numbers = _numbers(constants, num_unknowns)
        texts = _texts(constants, num_unknowns)
        if unknown.kind == "there":
            return (1, 0)
        if unknown.kind == "count":
            return tuple(value for value in numbers if isinstance(value, int) and value >= 0)
        if unknown.kind == "column":
            kind, is_nullable, values = self._columns.get((unknown.key[0], unknown.key[1]), ("", True, ()))
            listed = tuple(values)
            found: Domain = listed or (texts if kind == "TEXT" else numbers if kind else (*numbers, *texts))
            if kind == "INTEGER":
                found = tuple(value for value in found if isinstance(value, int))
            return (*found, None) if is_nullable else found
        if unknown.kind == "parameter" and unknown.key[0] in self._parameters:
            return self._of_parameter(unknown.key[0], numbers, texts)
        return (*numbers, *texts, None)

    def _of_parameter(self, name: str, numbers: Domain, texts: Domain) -> Domain:
        values, is_optional, types = self._parameters[name]
        least, most = self._bounds.get(name, (None, None))
        found: Domain
        if values is not None:
            found = tuple(values)
        else:
            edges = tuple(value for value in (least, most) if value is not None)
            near = tuple(value + step for value in edges for step in (-1, 0, 1))
            found = tuple(
                value
                for value in dict.fromkeys((*numbers, *near))
                if (least is None or value >= least) and (most is None or value <= most)
            )
            is_number = bool(types) and set(types) <= {"integer", "number", "null"}
            if types and set(types) <= {"integer", "null"}:
                found = tuple(value for value in found if value == int(value))
            elif types and set(types) <= {"boolean", "null"}:
                found = (1, 0)
            elif types and set(types) <= {"string", "null"}:
                found = texts
            elif not is_number:
                found = (*found, *texts)
        return (*found, None) if is_optional or "null" in types else found


def _numbers(constants: Sequence[Any], num_unknowns: int) -> Domain:
    given = sorted({one for one in constants if isinstance(one, int | float)})
    near = [one + step for one in given for step in (-1, 0, 1)]
    between = [(one + other) / 2 for one, other in itertools.pairwise(given)]
    top = int(max(given, default=0))
    fresh = [top + 2 + step for step in range(num_unknowns + _NUM_FRESH)]
    return tuple(dict.fromkeys((*near, *between, 0, 1, *fresh)))


def _texts(constants: Sequence[Any], num_unknowns: int) -> Domain:
    given = sorted({one for one in constants if isinstance(one, str)})
    fresh = [f"~{step}" for step in range(num_unknowns + _NUM_FRESH)]
    return tuple(dict.fromkeys((*given, *(f"{one}~" for one in given), "", *fresh)))


def _unknowns(formula: Formula) -> Iterable[Unknown]:
    if isinstance(formula, Unknown):
        yield formula
    elif isinstance(formula, Node):
        for part in formula.parts:
            yield from _unknowns(part)


def _constants(formula: Formula) -> Iterable[Any]:
    if isinstance(formula, Node):
        for part in formula.parts:
            yield from _constants(part)
    elif not isinstance(formula, Unknown) and formula is not None:
        yield formula


# Values as SQL has them: True and False are 1 and 0, None is NULL, and what is open may still become any.


def _bind(formula: Formula, slots: Mapping[Unknown, _Slot]) -> Any:
    """The formula with a slot for each unknown: asking a slot is much cheaper than looking an unknown up."""
    if isinstance(formula, Unknown):
        return slots[formula]
    if isinstance(formula, Node):
        return Node(formula.operator, tuple(_bind(part, slots) for part in formula.parts))
    return formula


def _evaluate(formula: Any) -> Any:
    kind = formula.__class__
    if kind is _Slot:
        return formula.value
    if kind is not Node:
        return formula
    name, parts = formula.operator, formula.parts
    if name in ("and", "or"):
        return _junction(parts, decisive=name == "or")
    if name == "row":
        is_there = _junction(parts[:-1], decisive=False)
        if is_there is _OPEN:
            return _OPEN
        return _evaluate(parts[-1]) if _is_true(is_there) else None
    first = _evaluate(parts[0])
    if first is _OPEN:
        return _OPEN
    if name == "holds":
        return 1 if first is not None and not isinstance(first, str) and first == 1 else 0
    if name == "fails":
        return 0 if _is_true(first) else 1
    if name == "true":
        return 1 if _is_true(first) else 0
    if name == "not":
        return None if first is None else int(not _is_true(first))
    if name == "is_null":
        return int(first is None)
    second = _evaluate(parts[1])
    return _OPEN if second is _OPEN else _compared(name, first, second)


def _junction(parts: Sequence[Any], *, decisive: bool) -> Any:
    """AND is decided by the first part that is false, OR by the first that is true; the last part's value counts."""
    is_open = is_null = False
    for part in parts:
        value = _evaluate(part)
        if value is _OPEN:
            is_open = True
        elif value is None:
            is_null = True
        elif _is_true(value) is decisive:
            return int(decisive)
    if is_open:
        return _OPEN
    return None if is_null else int(not decisive)


def _compared(name: str, one: Any, other: Any) -> Any:
    if name in ("is", "is not"):
        return int((one == other) is (name == "is"))
    if one is None or other is None:
        return None
    if isinstance(one, str) is not isinstance(other, str):
        return _OPEN  # a column's type may turn one into the other
    return int(_COMPARISONS[name](one, other))


def _is_true(value: Any) -> bool:
    return value is not None and not isinstance(value, str) and value != 0
