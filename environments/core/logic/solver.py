"""Whether formulas can hold together: a search over the few values that can make a difference."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from environments.core.logic.formulas import Formula, Node, Unknown

MAX_STEPS = 4_000
"""Values tried before a question is given up, which counts as "perhaps"."""
_NUM_FRESH = 3


class _Open:
    """A value that is not known yet."""


_OPEN: Final = _Open()
Domain = tuple[Any, ...]


def can_hold(formulas: Sequence[Formula], domains: "Domains") -> bool:
    """False only if no state and no arguments make all formulas true."""
    unknowns = list(dict.fromkeys(one for formula in formulas for one in _unknowns(formula)))
    given = [one for formula in formulas for one in _constants(formula)]
    # What one unknown may be by its declaration, another that is compared with it must be able to be, too.
    constants = list(dict.fromkeys([*given, *(value for one in unknowns for value in domains.declared(one))]))
    choices = {one: domains.of(one, constants, len(unknowns)) for one in unknowns}
    unknowns.sort(key=lambda one: len(choices[one]))
    budget = [MAX_STEPS]

    def search(position: int, values: dict[Unknown, Any]) -> bool:
        found = [_evaluate(formula, values) for formula in formulas]
        if any(value is not _OPEN and not _is_true(value) for value in found):
            return False
        if position == len(unknowns) or all(value is not _OPEN for value in found):
            return True
        for choice in choices[unknowns[position]]:
            budget[0] -= 1
            if budget[0] <= 0:
                return True
            values[unknowns[position]] = choice
            if search(position + 1, values):
                return True
        values.pop(unknowns[position], None)
        return False

    return search(0, {})


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


def _evaluate(formula: Formula, values: Mapping[Unknown, Any]) -> Any:
    if isinstance(formula, Unknown):
        return values.get(formula, _OPEN)
    if not isinstance(formula, Node):
        return formula
    operator, parts = formula.operator, formula.parts
    if operator in ("and", "or"):
        return _junction(operator, parts, values)
    if operator == "row":
        is_there = _junction("and", parts[:-1], values)
        if is_there is _OPEN:
            return _OPEN
        return _evaluate(parts[-1], values) if _is_true(is_there) else None
    found = [_evaluate(part, values) for part in parts]
    if any(value is _OPEN for value in found):
        return _OPEN
    if operator == "holds":
        return 1 if found[0] is not None and not isinstance(found[0], str) and found[0] == 1 else 0
    if operator == "fails":
        return 0 if _is_true(found[0]) else 1
    if operator == "true":
        return 1 if _is_true(found[0]) else 0
    if operator == "not":
        return None if found[0] is None else int(not _is_true(found[0]))
    if operator == "is_null":
        return int(found[0] is None)
    return _compared(operator, found[0], found[1])


def _junction(operator: str, parts: Sequence[Formula], values: Mapping[Unknown, Any]) -> Any:
    """AND is decided by the first part that is false, OR by the first that is true; the last part's value counts."""
    decisive = operator == "or"
    is_open = is_null = False
    for part in parts:
        value = _evaluate(part, values)
        if value is _OPEN:
            is_open = True
        elif value is None:
            is_null = True
        elif _is_true(value) is decisive:
            return int(decisive)
    if is_open:
        return _OPEN
    return None if is_null else int(not decisive)


def _compared(operator: str, one: Any, other: Any) -> Any:
    if operator in ("is", "is not"):
        return int((one == other) is (operator == "is"))
    if one is None or other is None:
        return None
    if isinstance(one, str) is not isinstance(other, str):
        return _OPEN  # a column's type may turn one into the other
    return int({
        "=": one == other, "<>": one != other, ">": one > other, ">=": one >= other, "<": one < other,
        "<=": one <= other,
    }[operator])  # fmt: skip


def _is_true(value: Any) -> bool:
    return value is not None and not isinstance(value, str) and value != 0
