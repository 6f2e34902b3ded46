"""A whole pack of a blueprint, with scenarios and cases that others have made of it."""

from collections.abc import Iterable
from typing import Final, Literal

from environments.core.compile.emission.entries import tool_entries
from environments.core.compile.emission.schema import emit_schema
from environments.core.compile.emission.tools import emit_tools
from environments.core.compile.emission.wording import cut, on_one_line, words
from environments.core.compile.semantics import Blueprint, Generated, SourceFacts, Table, TableRole, ValueKind
from environments.core.compile.semantics import Column as PlannedColumn
from environments.runtime.pack.limits import MAX_ADDRESS, MAX_DESCRIPTION, MAX_LICENCE, MAX_TITLE
from environments.runtime.pack.model import Case, Column, Licence, Pack, Provenance, Scenario
from environments.runtime.pack.model import Table as DescribedTable
from environments.runtime.pack.names import ADDRESS

CLOCK_START: Final = "2026-03-02T09:00:00Z"
LANGUAGE: Final = "en"
_UNKNOWN: Final = "Not stated by the source"
_SEVERAL: Final = "Several; each source states its own"

Comparison = Literal["hard", "semantic", "exempt"]


def emit_pack(blueprint: Blueprint, scenarios: Iterable[Scenario], cases: Iterable[Case]) -> Pack:
    """The pack that a blueprint is; the same bytes for the same blueprint, scenarios and cases.

    Args:
        blueprint: The environment as planned.
        scenarios: Its initial states.
        cases: What it is verified by.

    Raises:
        ValueError: A meaning has no code.
    """
    return Pack(
        name=blueprint.name,
        title=cut(on_one_line(blueprint.title), MAX_TITLE),
        domain=cut(on_one_line(blueprint.domain), MAX_TITLE),
        description=cut(blueprint.description.strip(), MAX_DESCRIPTION),
        language=LANGUAGE,
        licence=_common_licence(blueprint.sources),
        clock_start=CLOCK_START,
        clock_step_seconds=0,
        tables={table.name: _described(table, blueprint) for table in blueprint.tables},
        tools=tool_entries(blueprint),
        provenance=tuple(_provenance(source) for source in blueprint.sources),
        schema_sql=emit_schema(blueprint),
        tools_py=emit_tools(blueprint),
        scenarios=tuple(sorted(scenarios, key=lambda scenario: scenario.name)),
        cases=tuple(cases),
    )


# --- Tables -----------------------------------------------------------------------------------------------------------


def _described(table: Table, blueprint: Blueprint) -> DescribedTable:
    text = cut(on_one_line(table.description), MAX_DESCRIPTION) or f"{words(table.name).capitalize()}."
    role: Literal["entity", "link"] = "link" if table.role is TableRole.LINK else "entity"
    return DescribedTable(text, role, {column.name: _column(column, table, blueprint) for column in table.columns})


def _column(column: PlannedColumn, table: Table, blueprint: Blueprint) -> Column:
    generated: Literal["id", "now"] | None = None
    if column.generated is Generated.ID:
        generated = "id"
    elif column.generated is Generated.NOW and column.kind in (ValueKind.TIME, ValueKind.DATE):
        generated = "now"  # of numbers of seconds a pack says only that they are not compared
    is_uuid = generated == "id" and column.kind is ValueKind.TEXT and column.schema.get("format") == "uuid"
    return Column(
        comparison=_comparison(column, table, blueprint),
        generated=generated,
        format="uuid" if is_uuid else None,
        description=cut(on_one_line(column.description), MAX_DESCRIPTION),
    )


def _comparison(column: PlannedColumn, table: Table, blueprint: Blueprint) -> Comparison | None:
    """The class of a column: none for foreign keys, `hard` for other keys, whatever else was planned."""
    if any(column.name in key.columns for key in table.foreign_keys):
        return None
    if column.generated is Generated.ID:
        return "exempt"
    pointed_to = {
        name
        for other in blueprint.tables
        for key in other.foreign_keys
        if key.table == table.name
        for name in key.targets
    }
    if column.name in {*table.primary_key, *pointed_to, *(name for names in table.unique for name in names)}:
        return "hard"
    if column.generated is Generated.NOW:
        return "exempt"
    if column.comparison == "semantic":
        return "semantic" if column.kind is ValueKind.TEXT else "hard"
    return "exempt" if column.comparison == "exempt" else "hard"


# --- Sources ----------------------------------------------------------------------------------------------------------


def _provenance(source: SourceFacts) -> Provenance:
    has_licence = source.licence_spdx or source.licence_name or source.licence_address
    return Provenance(
        kind=source.kind,
        address=_address(source),
        sha256=source.sha256,
        retrieved_at=source.retrieved_at,
        version=cut(on_one_line(source.version), MAX_TITLE) or None,
        licence=_licence(source) if has_licence else None,
    )


def _address(source: SourceFacts) -> str:
    if len(source.address) <= MAX_ADDRESS and ADDRESS.fullmatch(source.address):
        return source.address
    return f"urn:sha256:{source.sha256}"


def _licence(source: SourceFacts) -> Licence:
    address = source.licence_address
    return Licence(
        cut(source.licence_spdx, MAX_LICENCE) if source.licence_spdx else None,
        cut(on_one_line(source.licence_name), MAX_LICENCE) if source.licence_name else None,
        address if address and len(address) <= MAX_ADDRESS and ADDRESS.fullmatch(address) else None,
    )


def _common_licence(sources: tuple[SourceFacts, ...]) -> Licence:
    """The licence that all sources have; without one, words that say so and where to look."""
    found = list(dict.fromkeys(_licence(source) for source in sources))
    if len(found) == 1 and (found[0].spdx or (found[0].name and found[0].address)):
        return found[0]
    name = _SEVERAL if len(found) > 1 else found[0].name or _UNKNOWN
    return Licence(None, name, _address(sources[0]))
