"""Plausible values for callers: what a person or a program would send for a column."""

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, Final

from environments.core.compile.rows.draws import Chance, Draws
from environments.core.compile.rows.facts import RowFacts, TableFacts
from environments.core.compile.rows.fitting import suffixed
from environments.core.compile.rows.generating import make
from environments.core.compile.rows.nouns import names_for
from environments.core.compile.rows.specs import Setting, Spec, build_spec, setting_of
from environments.core.compile.semantics import Argument, Blueprint, Column, Schema, Table, ValueKind

_TRIES: Final = 12
_SUFFIXES: Final = 40


class _Known:
    """A blueprint and the specs that were built for it; equal only to itself, so that a cache can hold it."""

    __slots__ = ("blueprint", "setting", "specs")

    def __init__(self, blueprint: Blueprint) -> None:
        self.blueprint = blueprint
        self.setting: Setting = setting_of(blueprint)
        self.specs: dict[tuple[str, str, str, int], tuple[Schema, Spec]] = {}

    def __hash__(self) -> int:
        return id(self.blueprint)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and other.blueprint is self.blueprint


@lru_cache(8)
def _known(wanted: _Known) -> _Known:
    return wanted


def plausible_value(
    column: Column, table: Table, blueprint: Blueprint, rng: Chance, avoid: Collection[Any] = ()
) -> Any:
    """A value for the column in JSON form; None if its schema takes none that could be found.

    Args:
        column: Of the table; for a foreign key the value points to no row.
        table: Whose meaning the column's name has.
        blueprint: Whose table it is.
        rng: Moved on: `random.Random` or a numpy Generator.
        avoid: JSON values that it should not be, if there are others.
    """
    values = column.values if column.kind is not ValueKind.BOOLEAN else ()
    spec = _spec(column.name, column.schema, column.kind, values, column.description, table, blueprint)
    return _value(spec, table, blueprint, rng, avoid)


def plausible_argument(
    argument: Argument, table: Table, blueprint: Blueprint, rng: Chance, avoid: Collection[Any] = ()
) -> Any:
    """A value for the argument that its schema takes and its column can store; None if there is none.

    Args:
        argument: Of a tool; its column, if it names one of the table, says what the value means.
        table: That the argument's column is of.
        blueprint: Whose table it is.
        rng: Moved on: `random.Random` or a numpy Generator.
        avoid: JSON values that it should not be, if there are others.
    """
    column = next((each for each in table.columns if each.name == argument.column), None)
    if column is None:
        spec = _spec(argument.name, argument.schema, None, (), argument.description, table, blueprint)
        return _value(spec, table, blueprint, rng, avoid)
    values = column.values if column.kind is not ValueKind.BOOLEAN else ()
    words = column.description or argument.description
    items = argument.schema.get("items")
    is_list = argument.schema.get("type") == "array" and column.kind is not ValueKind.JSON
    own = items if is_list and isinstance(items, Mapping) else argument.schema
    if is_list and own is argument.schema:
        own = column.schema
    spec = _spec(column.name, _joined(own, column.schema), column.kind, values, words, table, blueprint, own=own)
    value = _value(spec, table, blueprint, rng, avoid)
    return [value] if is_list and value is not None else value


def _joined(argument: Schema, column: Schema) -> Schema:
    """The argument's schema with the examples that only the column has."""
    extra = {key: column[key] for key in ("examples", "example") if key in column and key not in argument}
    return {**argument, **extra} if extra else argument


def _spec(
    name: str,
    schema: Schema,
    kind: ValueKind | None,
    values: tuple[str | int, ...],
    description: str,
    table: Table,
    blueprint: Blueprint,
    own: Schema | None = None,
) -> Spec:
    known = _known(_Known(blueprint))
    source = schema if own is None else own
    place = (table.name, name, str(kind), id(source))
    found = known.specs.get(place)
    if found is None or found[0] is not source:
        spec = build_spec(name, schema, known.setting, table.noun, kind=kind, values=values, description=description)
        found = known.specs[place] = (source, spec)
    return found[1]


def _value(spec: Spec, table: Table, blueprint: Blueprint, rng: Chance, avoid: Collection[Any]) -> Any:
    draws = Draws(rng)
    is_cloud = _known(_Known(blueprint)).setting.is_cloud
    names = names_for(table.noun, is_cloud)
    value = None
    for _ in range(_TRIES):
        facts = TableFacts(table.noun, names, draws)
        value = make(spec, RowFacts(facts, draws.below(len(names)), draws), draws)
        if value not in avoid:
            return value
    if spec.values:
        return next((each for each in spec.values if each not in avoid), value)
    if isinstance(value, str):
        for turn in range(1, _SUFFIXES + 1):
            made = suffixed(spec, value, turn, draws)
            if made is not None and made not in avoid:
                return made
    return value
