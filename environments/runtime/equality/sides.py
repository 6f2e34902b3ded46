"""The changed rows of both sides as the nodes of a graph (C6, sentences 2, 14, 15 and 17).

A node is a row that a side inserted, or a row of the start state that *either* side touched, as it is in that side's
end state. An edge is a foreign key to an inserted row: the id it holds means nothing but the row. All other keys are
part of a node's colour: to a row of the start state, to nothing (NULL), or dangling.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from environments.runtime.equality.changes import ComparedTable, Images, Key, RowId, StartState, sort_key
from environments.runtime.equality.values import Canonical, Judge, canonical_row
from environments.runtime.records import Row
from environments.runtime.tables import ForeignKey

Target = tuple[Literal["inserted", "left_out", "start", "none", "dangling"], Key]
"""What a foreign key points to; the key is empty for inserted rows, whose ids are fresh."""


@dataclass(slots=True, eq=False)
class Node:
    """One row in one side's end state.

    Attributes:
        table: Its table.
        key: Its key in this side.
        row: Its columns; None where this side deleted it.
        is_inserted: Whether the episode made it.
        changed: For a row of the start state, the columns that this side changed; None (all) for an inserted row.
        values: Exact forms of the compared columns.
        targets: What each foreign key points to.
        links: (label, node of this side) for each foreign key to an inserted row; the label is the key's number over
            all tables.
        pins: Numbers of the `same_rows` it belongs to.
    """

    table: ComparedTable
    key: Key
    row: Row | None
    is_inserted: bool
    changed: frozenset[str] | None
    values: tuple[Canonical, ...]
    targets: tuple[Target, ...] = ()
    links: tuple[tuple[int, int], ...] = ()
    pins: tuple[int, ...] = ()

    @property
    def row_id(self) -> RowId:
        """Its table and key."""
        return self.table.info.name, self.key

    def target_node(self, number: int) -> int | None:
        """The node of this side that the table's n-th foreign key points to; None if it points to no inserted row."""
        if self.targets[number][0] != "inserted":
            return None
        return self.links[sum(target[0] == "inserted" for target in self.targets[:number])][1]


class Side:
    """One side's nodes, in order of table and key.

    Args:
        start: The start state.
        images: This side's changes, folded.
        touched: Rows of the start state that either side touched.
        left_out: Tables whose inserted rows are not compared.
        judge: The judge of this comparison.
    """

    def __init__(
        self, start: StartState, images: Images, touched: frozenset[RowId], left_out: frozenset[str], judge: Judge
    ) -> None:
        self.nodes: list[Node] = []
        self.inserted: dict[RowId, int] = {}
        self._start, self._images, self._left_out = start, images, left_out
        self._by_columns: dict[tuple[str, tuple[str, ...]], dict[Key, Key]] = {}
        labels = _number_foreign_keys(start)
        for row_id in sorted(touched.union(images), key=sort_key):
            node = self._make_node(row_id, judge)
            if node is not None:
                if node.is_inserted:
                    self.inserted[row_id] = len(self.nodes)
                self.nodes.append(node)
        for node in self.nodes:
            if node.row is not None:
                self._resolve(node, node.row, labels[node.table.info.name])

    def is_start_row(self, row_id: RowId) -> bool:
        """Whether the start state has that row; it may be deleted since."""
        return self._start.holds(*row_id)

    def _make_node(self, row_id: RowId, judge: Judge) -> Node | None:
        name, key = row_id
        table = self._start.tables[name]
        before = self._start.row(name, key)
        row = self._images.get(row_id, before)
        if before is None:
            if row is None or name in self._left_out:
                return None
            return Node(table, key, row, True, None, canonical_row(judge, table.compared, row))
        if row is None:
            return Node(table, key, None, False, frozenset(), ())
        values = canonical_row(judge, table.compared, row)
        changed: set[str] = set()
        if row is not before:
            old_values = canonical_row(judge, table.compared, before)
            changed = {
                column.name for column, old, new in zip(table.compared, old_values, values, strict=True) if old != new
            }
            linked = {column for foreign_key in table.info.foreign_keys for column in foreign_key.columns}
            changed |= {column for column in linked if row[column] != before[column]}
        return Node(table, key, row, False, frozenset(changed), values)

    def _resolve(self, node: Node, row: Row, labels: Sequence[int]) -> None:
        targets: list[Target] = []
        links = []
        for label, foreign_key in zip(labels, node.table.info.foreign_keys, strict=True):
            values = tuple(row[name] for name in foreign_key.columns)
            key = None if None in values else self._find(foreign_key, values)
            if key is None:
                targets.append(("none" if None in values else "dangling", values))
            elif (index := self.inserted.get((foreign_key.table, key))) is not None:
                targets.append(("inserted", ()))
                links.append((label, index))
            elif self._start.holds(foreign_key.table, key):
                targets.append(("start", key))
            else:
                targets.append(("left_out", ()))
        node.targets, node.links = tuple(targets), tuple(links)

    def _find(self, foreign_key: ForeignKey, values: Key) -> Key | None:
        """The key of the row that a foreign key points to in this side's end state."""
        name, columns = foreign_key.table, foreign_key.targets
        index = self._by_columns.get((name, columns))
        if index is None:
            index = {
                tuple(row[column] for column in columns): key
                for (table, key), row in self._images.items()
                if table == name and row is not None
            }
            self._by_columns[name, columns] = index
        if values in index:
            return index[values]
        key = self._start.find(name, columns, values)
        return None if key is None or (name, key) in self._images else key


def _number_foreign_keys(start: StartState) -> dict[str, range]:
    """A number for every foreign key of every table, the same for both sides."""
    numbers = {}
    total = 0
    for name, table in start.tables.items():
        numbers[name] = range(total, total + len(table.info.foreign_keys))
        total += len(table.info.foreign_keys)
    return numbers
