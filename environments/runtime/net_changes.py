"""Changes of several calls folded per key (docs/contracts.md, C4), and changes as JSON.

Pure: the engine keeps an episode's changes with it, sessions compare and store them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from environments.runtime.records import ChangeKind, Row, RowChange, Value

Key = tuple[str, tuple[Value, ...]]
"""(table, values of its primary key by column name)."""


def sort_key(change: RowChange) -> Key:
    """What identifies a changed row and sorts changes: the same however its key's columns are listed."""
    return change.table, tuple(value for _, value in sorted(change.key.items()))


class NetChanges:
    """Changes of several calls since a start, folded per key (docs/contracts.md, C4)."""

    __slots__ = ("_by_key",)

    def __init__(self, changes: Iterable[RowChange] = ()) -> None:
        self._by_key: dict[Key, RowChange] = {}
        self.add(changes)

    def add(self, changes: Iterable[RowChange]) -> None:
        """Folds later changes in."""
        for change in changes:
            key = sort_key(change)
            earlier = self._by_key.get(key)
            folded = change if earlier is None else fold(earlier, change)
            if folded is None:
                del self._by_key[key]
            else:
                self._by_key[key] = folded

    def sorted(self) -> tuple[RowChange, ...]:
        """The changes by table and key, keys by column name."""
        return tuple(self._by_key[key] for key in sorted(self._by_key))

    def since(self, earlier: "NetChanges") -> tuple[RowChange, ...]:
        """What leads from the state after `earlier` to this one; both must have the same start."""
        between: dict[Key, RowChange] = {}
        for key in self._by_key.keys() | earlier._by_key.keys():
            old, new = earlier._by_key.get(key), self._by_key.get(key)
            if old is None:
                change = new
            else:
                undone = RowChange(old.table, old.key, _INVERSE[old.kind], old.after, old.before)
                change = undone if new is None else fold(undone, new)
            if change is not None:
                between[key] = change
        return tuple(between[key] for key in sorted(between))


_INVERSE = {
    ChangeKind.INSERT: ChangeKind.DELETE,
    ChangeKind.DELETE: ChangeKind.INSERT,
    ChangeKind.UPDATE: ChangeKind.UPDATE,
}


def fold(earlier: RowChange, later: RowChange) -> RowChange | None:
    """One change for two that follow one another on one key; None when they cancel out.

    Raises:
        ValueError: They cannot follow one another, as an update after a delete.
    """
    table, key = earlier.table, earlier.key
    kinds = (earlier.kind, later.kind)
    if kinds == (ChangeKind.INSERT, ChangeKind.UPDATE):
        return RowChange(table, key, ChangeKind.INSERT, None, {**_image(earlier.after), **_image(later.after)})
    if kinds == (ChangeKind.INSERT, ChangeKind.DELETE):
        return None
    if kinds == (ChangeKind.UPDATE, ChangeKind.DELETE):
        return RowChange(table, key, ChangeKind.DELETE, {**_image(later.before), **_image(earlier.before)}, None)
    if kinds == (ChangeKind.UPDATE, ChangeKind.UPDATE):
        before = {**_image(later.before), **_image(earlier.before)}
        after = {**_image(earlier.after), **_image(later.after)}
        return _update(table, key, before, after)
    if kinds == (ChangeKind.DELETE, ChangeKind.INSERT):
        return _update(table, key, _image(earlier.before), _image(later.after))
    raise ValueError(f"{later.kind} cannot follow {earlier.kind} on {table} {dict(key)}")


def _image(row: Row | None) -> Row:
    return row if row is not None else {}


def _update(table: str, key: Row, before: Row, after: Row) -> RowChange | None:
    differing = [column for column in before if before[column] != after[column]]
    if not differing:
        return None
    return RowChange(
        table,
        key,
        ChangeKind.UPDATE,
        {column: before[column] for column in differing},
        {column: after[column] for column in differing},
    )


def change_to_json(change: RowChange) -> dict[str, Any]:
    """A change as the contract's JSON."""
    return {
        "table": change.table,
        "key": dict(change.key),
        "kind": change.kind.value,
        "before": None if change.before is None else dict(change.before),
        "after": None if change.after is None else dict(change.after),
    }


def change_from_json(value: Mapping[str, Any]) -> RowChange:
    """The change that `change_to_json` wrote."""
    return RowChange(value["table"], value["key"], ChangeKind(value["kind"]), value["before"], value["after"])
