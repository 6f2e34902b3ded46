"""What tools ask of the texts that name rows: nothing could be done with a row whose key no argument may hold."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from environments.core.compile.semantics import ArgumentRole, Blueprint, Exists, PlannedTool, Schema, Table, ValueKind

_FORM: Final = ("pattern", "format", "minLength", "maxLength")
_NAMING: Final = frozenset({ArgumentRole.KEY, ArgumentRole.SCOPE, ArgumentRole.SET})
Forms = Mapping[tuple[str, str], tuple[Schema, ...]]


def forms_asked(blueprint: Blueprint) -> Forms:
    """By table and column: the forms that arguments demand which name its rows, the most usual first.

    Ids that the runtime makes and closed lists of values are not among them.
    """
    tables = {table.name: table for table in blueprint.tables}
    found: dict[tuple[str, str], dict[tuple[Any, ...], int]] = {}
    for tool in blueprint.tools:
        for place, schema in _named(tool, tables):
            table = tables[place[0]]
            column = table.column(place[1])
            if column.kind is not ValueKind.TEXT or column.generated or column.template or column.values:
                continue
            form = tuple((key, schema[key]) for key in _FORM if key in schema)
            if form and dict(form) != {key: column.schema[key] for key in _FORM if key in column.schema}:
                counts = found.setdefault(place, {})
                counts[form] = counts.get(form, 0) + 1
    return {
        place: tuple(dict(form) for form in sorted(counts, key=lambda form, counts=counts: -counts[form]))  # type: ignore[misc]
        for place, counts in found.items()
    }


def _named(tool: PlannedTool, tables: Mapping[str, Table]) -> Iterator[tuple[tuple[str, str], Schema]]:
    """Columns of keys that arguments of a tool name, with the arguments' schemas."""
    schemas = {argument.name: argument.schema for argument in tool.meaning.arguments}
    for check in tool.meaning.checks:
        if isinstance(check, Exists):
            yield from (((check.table, column), schemas[name]) for column, name in check.where if name in schemas)
    table = tables[tool.meaning.table]
    for argument in tool.meaning.arguments:
        if argument.role in _NAMING:
            for key in table.foreign_keys:
                for column, target in zip(key.columns, key.targets, strict=True):
                    if column == argument.column:
                        yield (key.table, target), argument.schema


def joined(own: Schema, forms: Iterable[Schema]) -> dict[str, Any]:
    """A schema that asks for all of these forms at once."""
    made = dict(own)
    rest: list[Schema] = list(made.get("allOf", ()))
    for form in forms:
        for key, value in form.items():
            if key == "minLength":
                made[key] = max(value, made.get(key, value))
            elif key == "maxLength":
                made[key] = min(value, made.get(key, value))
            elif key in made and made[key] != value:
                # Texts are made from the form that is asked for, and held against the column's own.
                rest.append({key: made[key]})
                made[key] = value
            else:
                made[key] = value
    if rest:
        made["allOf"] = rest
    return made
