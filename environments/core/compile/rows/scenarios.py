"""Four states to start from: a few rows, some, many, and the extremes that the schemas still allow."""

from typing import Final, Literal

from environments.core.compile.rows.borrowed import borrow, borrowed_columns
from environments.core.compile.rows.coherence import ordered_pairs
from environments.core.compile.rows.facts import CLOCK_TEXT
from environments.core.compile.rows.fitting import fit_number
from environments.core.compile.rows.parents import Made
from environments.core.compile.rows.plans import TablePlan, counts_of, plan_tables
from environments.core.compile.rows.specs import setting_of
from environments.core.compile.rows.tables import Size, TableMaker
from environments.core.compile.semantics import Blueprint, Value
from environments.runtime.pack.model import Scenario

Level = Literal["simple", "medium", "complex", "boundary"]

LEVELS: Final[tuple[Level, ...]] = ("simple", "medium", "complex", "boundary")
SIZES: Final[dict[Level, Size]] = {
    "simple": Size(base=3, links=2, most=3, null_rate=0.0),
    "medium": Size(base=6, links=6, most=16),
    "complex": Size(base=14, links=14, most=30, is_paged=True, num_reserved=2),
    "boundary": Size(base=2, links=1, most=2, is_extreme=True),
}


def make_scenarios(blueprint: Blueprint, seed: int) -> tuple[Scenario, ...]:
    """The four scenarios of a blueprint, named after their levels, rows in primary-key order.

    Args:
        blueprint: Whose foreign keys never run in a circle but within one table.
        seed: Decides everything else; each table's values are drawn apart.

    Raises:
        RowsError: A required column takes no value that could be found.
    """
    setting = setting_of(blueprint)
    plans = plan_tables(blueprint, setting)
    order = _parents_first(blueprint)
    for plan in plans.values():
        plan.ordered = ordered_pairs(plan)
    counted = {name: counts_of(plan, blueprint) for name, plan in plans.items()}
    borrowed = {name: borrowed_columns(plan, blueprint) for name, plan in plans.items()}
    scenarios = []
    for level in LEVELS:
        made: dict[str, Made] = {}
        for name in order:
            TableMaker(plans[name], setting, SIZES[level], made, (seed, blueprint.name), level).fill()
        for name, counts in counted.items():
            for column, key, children in counts:
                _count(made[name], column, made[children], key.columns, key.targets)
        for name, columns in borrowed.items():
            for each in columns:
                borrow(each, made[name], made[each.table])
        rows = {name: _in_key_order(plan, made[name]) for name, plan in plans.items()}
        scenarios.append(Scenario(level, level, CLOCK_TEXT, seed, rows))
    return tuple(scenarios)


def _parents_first(blueprint: Blueprint) -> list[str]:
    """Names of tables, each after those that it points to; otherwise in the blueprint's order."""
    parents = {
        table.name: {key.table for key in table.foreign_keys if key.table != table.name} for table in blueprint.tables
    }
    found: list[str] = []
    while len(found) < len(parents):
        ready = [name for name, needed in parents.items() if name not in found and needed.issubset(found)]
        if not ready:
            raise ValueError(f"foreign keys in a circle: {sorted(parents.keys() - set(found))}")
        found += ready
    return found


def _count(parents: Made, column: str, children: Made, columns: tuple[str, ...], targets: tuple[str, ...]) -> None:
    """Sets a column to how many children there are, where its schema takes that number."""
    spec = parents.plan.specs[column]
    for row in parents.rows:
        number = len(children.where(columns, tuple(row[target] for target in targets)))
        if fit_number(spec, number) == number:
            row[column] = number


def _in_key_order(plan: TablePlan, table: Made) -> tuple[dict[str, Value], ...]:
    key = plan.table.primary_key
    return tuple(sorted(table.rows, key=lambda row: tuple(_sortable(row[name]) for name in key)))


def _sortable(value: Value) -> tuple[int, float, str]:
    """Numbers before texts, texts by code point, as SQLite sorts."""
    return (1, 0.0, value) if isinstance(value, str) else (0, value or 0, "")
