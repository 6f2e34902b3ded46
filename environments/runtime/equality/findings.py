"""What matched, what is missing and what was not expected, with the rule that decided (C6, sentence 20).

A column that the reference changed and that differs is `missing`; one that only the candidate changed is `unexpected`;
a row without a partner is one finding with column None; a foreign key is one finding. The same reading proves every
Equal: under the bijection found, no finding may be left.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from environments.runtime.equality.changes import Key, sort_key
from environments.runtime.equality.search import Pairs, is_lenient
from environments.runtime.equality.sides import Node, Side
from environments.runtime.equality.values import Judge, Rule

SameRow = tuple[str, Key, Key]
"""(table, key in the reference, key in the candidate) of an answer that is an id."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One compared column, foreign key or whole row.

    Attributes:
        table: Its table.
        key: The row's key in the reference, or in the candidate where only that has the row.
        column: The column; its columns joined by commas for a foreign key; None for a whole row.
        reference: The reference's value: of a column a value, of a foreign key a list of values, of a row a mapping
            or None.
        candidate: The candidate's value, likewise.
        rule: What decided.
        candidate_key: The row's key in the candidate; None where it has no such row.
    """

    table: str
    key: Key
    column: str | None
    reference: Any
    candidate: Any
    rule: Rule
    candidate_key: Key | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """The three lists."""

    matched: tuple[Finding, ...]
    missing: tuple[Finding, ...]
    unexpected: tuple[Finding, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing is missing and nothing unexpected."""
        return not self.missing and not self.unexpected


def collect_findings(
    reference: Side, candidate: Side, pairs: Pairs, judge: Judge, same_rows: Sequence[SameRow] = ()
) -> Findings:
    """Reads every row of both sides under a pairing."""
    partners = {id(one): other for one, other in pairs}
    paired = {id(other) for _, other in pairs}
    matched: list[Finding] = []
    missing = [
        Finding(*node.row_id, None, node.row, None, Rule.ROW) for node in reference.nodes if id(node) not in partners
    ]
    unexpected = [
        Finding(*node.row_id, None, None, node.row, Rule.ROW, node.key)
        for node in candidate.nodes
        if id(node) not in paired
    ]
    for one, other in sorted(pairs, key=lambda pair: sort_key(pair[0].row_id)):
        for is_equal, is_required, finding in _read_pair(reference, candidate, partners, judge, one, other):
            if not is_equal:
                (missing if is_required else unexpected).append(finding)
            elif is_required:
                matched.append(finding)
    missing += _read_same_rows(reference, candidate, partners, same_rows)
    return Findings(tuple(matched), tuple(missing), tuple(unexpected))


def _read_pair(
    reference: Side, candidate: Side, partners: Mapping[int, Node], judge: Judge, one: Node, other: Node
) -> Iterator[tuple[bool, bool, Finding]]:
    """(whether equal, whether the reference changed it, finding) for what a pair of rows holds."""
    name = one.table.info.name
    if one.row is None or other.row is None:
        is_required = one.row is None or bool(one.changed)
        finding = Finding(name, one.key, None, one.row, other.row, Rule.ROW, other.key)
        yield one.row is other.row, is_required, finding
        return
    foreign_keys = one.table.info.foreign_keys
    if one.is_inserted and not one.table.compared and not foreign_keys:
        yield True, True, Finding(name, one.key, None, one.row, other.row, Rule.ROW, other.key)
    for column in one.table.compared:
        values = one.row[column.name], other.row[column.name]
        ruling = judge.judge(column, *values, is_lenient=is_lenient(one, other, column.name))
        is_required = one.changed is None or column.name in one.changed
        finding = Finding(name, one.key, column.name, *values, ruling.rule, other.key)
        yield ruling.is_equal, is_required, finding
    for number, foreign_key in enumerate(foreign_keys):
        is_equal = one.targets[number] == other.targets[number]
        target, other_target = one.target_node(number), other.target_node(number)
        if is_equal and target is not None and other_target is not None:
            is_equal = partners.get(id(reference.nodes[target])) is candidate.nodes[other_target]
        is_required = one.changed is None or any(column in one.changed for column in foreign_key.columns)
        held, other_held = ([row[column] for column in foreign_key.columns] for row in (one.row, other.row))
        columns = ",".join(foreign_key.columns)
        finding = Finding(name, one.key, columns, held, other_held, Rule.FOREIGN_KEY, other.key)
        yield is_equal, is_required, finding


def _read_same_rows(
    reference: Side, candidate: Side, partners: Mapping[int, Node], same_rows: Sequence[SameRow]
) -> Iterator[Finding]:
    """A finding for each answer whose two ids do not mean one row."""
    for table, key, candidate_key in same_rows:
        left, right = reference.inserted.get((table, key)), candidate.inserted.get((table, candidate_key))
        if left is None or right is None:
            is_same = left is right and key == candidate_key and reference.is_start_row((table, key))
        else:
            is_same = partners.get(id(reference.nodes[left])) is candidate.nodes[right]
        if not is_same:
            yield Finding(table, key, None, list(key), list(candidate_key), Rule.SAME_ROW, candidate_key)
