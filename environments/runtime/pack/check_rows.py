"""Checks of tables, scenarios and rows that JSON and names can show; keys and types are in the SQL, for the worker."""

from collections.abc import Iterator, Mapping, Sequence

from environments.runtime.faults import Fault
from environments.runtime.pack.limits import MAX_COLUMNS, MAX_DESCRIPTION, MAX_ROWS, MAX_SCENARIOS, MAX_TABLES
from environments.runtime.pack.model import Column, Pack, Table
from environments.runtime.pack.names import UUID, check_name, check_text, is_time
from environments.runtime.records import Row


def check_tables(pack: Pack) -> Iterator[Fault]:
    """Faults of the tables' descriptions."""
    if not pack.tables:
        yield Fault("table_missing", "tables", "the pack has no table")
    if len(pack.tables) > MAX_TABLES:
        yield Fault("too_many", "tables", f"more than {MAX_TABLES}")
    for name, table in pack.tables.items():
        place = f"tables/{name}"
        found = [
            check_name("table", name, place),
            check_text(table.description, f"{place}/description", MAX_DESCRIPTION),
        ]
        yield from filter(None, found)
        if not table.columns:
            yield Fault("table_without_columns", place, "no column is described")
        if len(table.columns) > MAX_COLUMNS:
            yield Fault("too_many", f"{place}/columns", f"more than {MAX_COLUMNS}")
        for column_name, column in table.columns.items():
            yield from _check_column(column_name, column, f"{place}/columns/{column_name}")
        if len(_generated_ids(table)) > 1:
            yield Fault("generated_id_duplicate", place, "two columns are its generated id")


def check_scenarios(pack: Pack) -> Iterator[Fault]:
    """Faults of the scenarios."""
    if not pack.scenarios:
        yield Fault("scenario_missing", "scenarios", "the pack has no scenario")
    if len(pack.scenarios) > MAX_SCENARIOS:
        yield Fault("too_many", "scenarios", f"more than {MAX_SCENARIOS}")
    seen: set[str] = set()
    for scenario in pack.scenarios:
        place = f"scenarios/{scenario.name}"
        fault = check_name("scenario", scenario.name, place)
        if fault:
            yield fault
        if scenario.name in seen:
            yield Fault("scenario_duplicate", place, "two scenarios have this name")
        seen.add(scenario.name)
        if not is_time(scenario.clock_start):
            yield Fault("time_form", f"{place}/clock_start", f"{scenario.clock_start[:40]!r} is no such time")
        if scenario.seed < 0:
            yield Fault("value_wrong", f"{place}/seed", "a seed is 0 or more")
        if sum(map(len, scenario.rows.values())) > MAX_ROWS:
            yield Fault("too_many", f"{place}/rows", f"more than {MAX_ROWS} rows")
        else:
            yield from check_rows(pack, scenario.rows, f"{place}/rows")


def check_rows(pack: Pack, rows: Mapping[str, Sequence[Row]], place: str) -> Iterator[Fault]:
    """Faults of rows by table, of a scenario or a case."""
    for name, items in rows.items():
        table = pack.tables.get(name)
        if table is None:
            yield Fault("scenario_table", f"{place}/{name}", "the pack has no such table")
            continue
        uuids = [column for column, entry in table.columns.items() if entry.format == "uuid"]
        for index, row in enumerate(items):
            where = f"{place}/{name}/{index}"
            if row.keys() != table.columns.keys():
                odd = ", ".join(sorted(row.keys() ^ table.columns.keys()))
                yield Fault("scenario_column", where, f"missing or unknown: {odd[:200]}")
            for column in uuids:
                value = row.get(column)
                if value is not None and not (isinstance(value, str) and UUID.fullmatch(value)):
                    yield Fault("scenario_uuid", f"{where}/{column}", "not a lower-case uuid")
        yield from _check_order(table, items, f"{place}/{name}")


def _check_column(name: str, column: Column, place: str) -> Iterator[Fault]:
    found = [
        check_name("column", name, place),
        check_text(column.description, f"{place}/description", MAX_DESCRIPTION, may_be_empty=True),
    ]
    yield from filter(None, found)
    if column.generated and column.comparison not in (None, "exempt"):
        yield Fault("column_generated_class", place, f"a generated column cannot be {column.comparison}")
    if column.format == "uuid" and (column.generated in {"now", "random"} or column.comparison == "semantic"):
        yield Fault("column_format", place, "this column cannot hold uuids")


def _check_order(table: Table, rows: Sequence[Row], place: str) -> Iterator[Fault]:
    # A generated id is the whole primary key; other keys are known to the worker only.
    for column in _generated_ids(table)[:1]:
        keys = [row.get(column) for row in rows]
        for index in range(1, len(keys)):
            before, after = keys[index - 1], keys[index]
            if isinstance(before, int) and isinstance(after, int):
                is_sorted = before < after
            else:
                is_sorted = str(before) < str(after)
            if not is_sorted:
                yield Fault("scenario_order", f"{place}/{index}", f"{after!r} does not come after {before!r}")
                break


def _generated_ids(table: Table) -> list[str]:
    return [name for name, column in table.columns.items() if column.generated == "id"]
