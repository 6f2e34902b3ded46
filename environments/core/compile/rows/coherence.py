"""What must agree within a row: least and greatest, used and available, parts and totals."""

import datetime
from collections.abc import Callable
from typing import Final

from environments.core.compile.reading.words import singular
from environments.core.compile.rows.events import is_before
from environments.core.compile.rows.facts import date_text, time_text
from environments.core.compile.rows.plans import TablePlan
from environments.core.compile.rows.specs import NUMBERS, TIMES, Form, Spec
from environments.core.compile.semantics import ColumnRole, Value, ValueKind

Row = dict[str, Value]

_PASSES: Final = 3
"""Times that all pairs are looked at: one may put another out of order."""
_GREATEST: Final = frozenset({"max", "maximum", "best", "highest"})
_LEAST: Final = frozenset({"min", "minimum", "worst", "lowest"})
_COUNTING: Final = frozenset({"count", "num", "number", "of", "current", "allowed", "value"})
_PAIRS: Final = (
    ("min", "max"), ("minimum", "maximum"), ("lower", "upper"), ("low", "high"), ("start", "end"), ("starts", "ends"),
    ("started", "ended"), ("begin", "end"), ("from", "to"), ("from", "until"), ("first", "last"), ("since", "until"),
    ("used", "total"), ("available", "total"), ("completed", "total"), ("created", "updated"), ("created", "modified"),
    ("opened", "closed"), ("started", "finished"), ("started", "completed"), ("start", "finish"), ("net", "gross"),
    ("subtotal", "total"), ("paid", "total"), ("remaining", "total"), ("discount", "total"), ("issued", "expires"),
    ("before", "after"), ("creation", "modification"), ("creation", "expiration"), ("created", "expires"),
    ("current", "max"),
    ("used", "limit"), ("left", "total"), ("tax", "total"), ("old", "new"), ("effective", "expiration"),
)  # fmt: skip
"""Words that, exchanged, name the lesser and the greater of two columns."""
_NOT_ORDERED: Final = frozenset({("old", "new"), ("before", "after"), ("first", "last")})
"""Of these only times are ordered."""


def ordered_pairs(plan: TablePlan) -> tuple[tuple[str, str], ...]:
    """Pairs of columns of which the first is never the greater."""
    by_words = {tuple(spec.tokens): name for name, spec in plan.specs.items()}
    kinds = {column.name: column for column in plan.made}
    found: dict[tuple[str, str], None] = {}
    for name, spec in plan.specs.items():
        if name not in kinds or (spec.form not in NUMBERS and spec.form not in TIMES):
            continue
        for low, high in _PAIRS:
            if low not in spec.tokens:
                continue
            other = by_words.get(tuple(high if token == low else token for token in spec.tokens))
            if other is None or other == name or other not in kinds:
                continue
            theirs = plan.specs[other].form
            is_time = spec.form in TIMES and theirs in TIMES
            is_number = spec.form in NUMBERS and theirs in NUMBERS and (low, high) not in _NOT_ORDERED
            if is_time or is_number:
                found[(name, other)] = None
    _add_events(found, plan)
    _add_limits(found, plan)
    created = [column.name for column in plan.made if column.role is ColumnRole.CREATED]
    updated = [column.name for column in plan.made if column.role is ColumnRole.UPDATED]
    for first in created:
        for second in updated:
            if plan.specs[first].form in TIMES and plan.specs[second].form in TIMES:
                found[(first, second)] = None
    return tuple(found)


def _add_events(found: dict[tuple[str, str], None], plan: TablePlan) -> None:
    """Times whose events follow one another."""
    times = [column.name for column in plan.made if plan.specs[column.name].form in TIMES]
    for first in times:
        for second in times:
            if first != second and is_before(plan.specs[first].tokens, plan.specs[second].tokens):
                found[(first, second)] = None


def _add_limits(found: dict[tuple[str, str], None], plan: TablePlan) -> None:
    """Numbers and their own least and greatest: `attempts` and `max_attempts`, `rating` and `best_rating`."""
    by_stem: dict[tuple[str, ...], dict[str, str]] = {}
    for column in plan.made:
        tokens = plan.specs[column.name].tokens
        if plan.specs[column.name].form not in NUMBERS:
            continue
        words = set(tokens)
        side = "high" if words & _GREATEST else "low" if words & _LEAST else "own"
        stem = tuple(singular(token) for token in tokens if token not in _GREATEST | _LEAST | _COUNTING)
        by_stem.setdefault(stem or ("value",), {}).setdefault(side, column.name)
    for sides in by_stem.values():
        for low, high in (("low", "own"), ("own", "high"), ("low", "high")):
            if low in sides and high in sides:
                found[(sides[low], sides[high])] = None


def size_of(spec: Spec, value: Value) -> float | None:
    """What orders the values of a column: numbers themselves, times as seconds."""
    if value is None:
        return None
    if spec.form is Form.TIME or spec.form is Form.DATE:
        return datetime.datetime.fromisoformat(str(value)).replace(tzinfo=datetime.UTC).timestamp()
    number = float(value)
    return number / 1000 if spec.form is Form.EPOCH_MILLISECONDS else number


def settle(
    row: Row,
    plan: TablePlan,
    fits: Callable[[Spec, Value], bool],
    pinned: frozenset[str] = frozenset(),
) -> None:
    """Puts pairs of columns in order, and makes a total of its parts; pinned columns keep their values."""
    for _ in range(_PASSES):
        if not _put_in_order(row, plan, fits, pinned):
            break
    if not pinned:
        _add_up(row, plan, fits)


def _put_in_order(row: Row, plan: TablePlan, fits: Callable[[Spec, Value], bool], pinned: frozenset[str]) -> bool:
    """Puts each pair in order; whether one was out of it."""
    has_changed = False
    for low, high in plan.ordered:
        first, second = size_of(plan.specs[low], row[low]), size_of(plan.specs[high], row[high])
        if first is None or second is None or _is_ordered(plan, low, high, first, second):
            continue
        has_changed = True
        is_same = plan.specs[low].form is plan.specs[high].form
        if is_same and plan.specs[low].form in NUMBERS and not pinned & {low, high}:
            if fits(plan.specs[low], row[high]) and fits(plan.specs[high], row[low]):
                row[low], row[high] = row[high], row[low]
        elif high not in pinned:
            _set(row, plan, high, first, row[low], fits)
        elif low not in pinned:
            _set(row, plan, low, second, row[high], fits)
    return has_changed


def _set(row: Row, plan: TablePlan, name: str, size: float, value: Value, fits: Callable[[Spec, Value], bool]) -> None:
    """Makes a column as great as its partner."""
    spec = plan.specs[name]
    if spec.form in TIMES:
        row[name] = _written(spec.form, size)
    elif fits(spec, value):
        row[name] = float(size) if spec.form is Form.REAL else int(size)


def _is_ordered(plan: TablePlan, low: str, high: str, first: float, second: float) -> bool:
    if Form.DATE in (plan.specs[low].form, plan.specs[high].form):  # midnight of the same day is no contradiction
        return first // 86_400 <= second // 86_400
    return first <= second


def _written(form: Form, seconds: float) -> Value:
    whole = int(seconds)
    if form is Form.TIME:
        return time_text(whole)
    if form is Form.DATE:
        return date_text(whole)
    return whole if form is not Form.EPOCH_MILLISECONDS else whole * 1000


def _add_up(row: Row, plan: TablePlan, fits: Callable[[Spec, Value], bool]) -> None:
    """`total` = `subtotal` + `tax`, and a line's amount = its quantity times its price."""
    for total, parts, is_product in (
        ("total", ("subtotal", "tax"), False),
        ("amount", ("quantity", "unit_price"), True),
        ("total", ("quantity", "unit_price"), True),
        ("total_price", ("quantity", "unit_price"), True),
        ("line_total", ("quantity", "unit_price"), True),
    ):
        if total not in row or any(part not in row for part in parts):
            continue
        first, second = row[parts[0]], row[parts[1]]
        if not isinstance(first, int | float) or not isinstance(second, int | float):
            continue
        column = plan.table.column(total)
        if column.kind not in (ValueKind.INTEGER, ValueKind.REAL) or row[total] is None:
            continue
        exact = round(first * second if is_product else first + second, 2)
        value = int(exact) if column.kind is ValueKind.INTEGER else float(exact)
        if fits(plan.specs[total], value):
            row[total] = value
