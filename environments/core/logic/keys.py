"""Keys and foreign keys of a pack: whether they can do what they are for."""

from collections.abc import Collection, Iterator, Mapping

from environments.core.logic.model import LogicFinding, Severity
from environments.runtime.tables import ForeignKey, TableInfo


def check_keys(tables: Mapping[str, TableInfo], filled: Collection[str]) -> Iterator[LogicFinding]:
    """Findings about keys, table by table.

    Args:
        tables: By name.
        filled: Those that have a row in some scenario.
    """
    for table in tables.values():
        place = f"tables/{table.name}"
        if not table.primary_key:
            yield LogicFinding("key_missing", place, f"{table.name} has no primary key")
        for name in table.primary_key:
            if table.column(name).type == "REAL":
                yield LogicFinding("key_type", f"{place}/{name}", f"{table.name}.{name} is a key and REAL")
        for key in table.foreign_keys:
            yield from _check_foreign_key(tables, table, key)
    yield from _check_cycles(tables, filled)


def _check_foreign_key(tables: Mapping[str, TableInfo], table: TableInfo, key: ForeignKey) -> Iterator[LogicFinding]:
    place = f"tables/{table.name}/{','.join(key.columns)}"
    target = tables.get(key.table)
    if target is None:
        yield LogicFinding("foreign_key_unknown", place, f"it points to {key.table}, which is no table")
        return
    known = {column.name for column in target.columns}
    if set(key.targets) - known:
        names = ", ".join(sorted(set(key.targets) - known))
        yield LogicFinding("foreign_key_unknown", place, f"{key.table} has no {names}")
        return
    if not any(set(key.targets) == set(names) for names in (target.primary_key, *target.unique)):
        names = ", ".join(key.targets)
        yield LogicFinding("foreign_key_no_key", place, f"{key.table} ({names}) is no key: it may name several rows")
    for own, other in zip(key.columns, key.targets, strict=True):
        mine, its = table.column(own).type, target.column(other).type
        if mine != its:
            message = f"{table.name}.{own} is {mine}, {key.table}.{other} is {its}"
            yield LogicFinding("foreign_key_type", place, message)


def _check_cycles(tables: Mapping[str, TableInfo], filled: Collection[str]) -> Iterator[LogicFinding]:
    """Tables that point to one another in a circle; if each must and none has a row, no first one can be made."""

    def edges(*, is_required: bool) -> dict[str, list[str]]:
        return {
            table.name: [
                key.table
                for key in table.foreign_keys
                if key.table in tables
                and (not is_required or not any(table.column(name).is_nullable for name in key.columns))
            ]
            for table in tables.values()
        }

    required = _in_circles(edges(is_required=True))
    for name in sorted(_in_circles(edges(is_required=False))):
        place = f"tables/{name}"
        if name in required and name not in filled:
            message = f"a row of {name} needs, over foreign keys that may not be NULL, another row of {name}"
            yield LogicFinding("foreign_key_cycle", place, message)
        else:
            message = f"{name} points to itself by way of other tables"
            yield LogicFinding("foreign_key_cycle", place, message, Severity.WARNING)


def _in_circles(edges: Mapping[str, list[str]]) -> set[str]:
    """Tables from which a way over other tables leads back; one that only points to itself is a tree."""
    found = set()
    for start in edges:
        waiting = [name for name in edges[start] if name != start]
        seen: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name == start:
                found.add(start)
                break
            if name not in seen:
                seen.add(name)
                waiting.extend(edges.get(name, ()))
    return found
