"""Environments of a good size: tables that belong together stay together, small clusters are joined, large ones cut."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from environments.core.compile.inference.drafts import TableDraft
from environments.core.compile.inference.plans import LIST_KINDS, Plan
from environments.core.compile.semantics import MAX_TABLES, MAX_TOOLS, Kind

MIN_TOOLS = 5
SOFT_TOOLS = 30
"""An environment takes in no further cluster once it has so many tools."""


@dataclass(slots=True, eq=False)
class Cluster:
    """Tables with their tools that can be an environment, or a part of one."""

    title: str
    tables: list[TableDraft] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)

    @property
    def is_enough(self) -> bool:
        """Whether it can stand alone: five tools, something read and something written."""
        reads = sum(plan.kind in LIST_KINDS or plan.kind is Kind.GET for plan in self.plans)
        return len(self.plans) >= MIN_TOOLS and 0 < reads < len(self.plans)

    def joined(self, other: "Cluster") -> "Cluster":
        """Both together."""
        tables = [*self.tables, *(table for table in other.tables if table not in self.tables)]
        return Cluster(self.title or other.title, tables, [*self.plans, *other.plans])

    def fits(self, other: "Cluster", tools: int) -> bool:
        """Whether both together are small enough."""
        union = {id(table) for table in with_parents([*self.tables, *other.tables])}
        return len(self.plans) + len(other.plans) <= tools and len(union) <= MAX_TABLES


def with_parents(tables: Iterable[TableDraft]) -> list[TableDraft]:
    """The tables and those above them, which foreign keys of paths and pairs need; parents first."""
    needed: dict[int, TableDraft] = {}
    waiting = list(reversed(list(tables)))
    while waiting:
        table = waiting.pop()
        if id(table) not in needed:
            needed[id(table)] = table
            waiting += [each.table for each in table.parents if _is_needed(table, each.columns)]
    ordered: dict[int, TableDraft] = {}

    def add(table: TableDraft) -> None:
        if id(table) in ordered or id(table) not in needed:
            return
        for parent in table.parents:
            if parent.table is not table:
                add(parent.table)
        ordered[id(table)] = table

    for table in needed.values():
        add(table)
    return list(ordered.values())


def _is_needed(table: TableDraft, columns: Sequence[object]) -> bool:
    return table.link is not None or any(
        column in table.primary_key or column in table.scope.values() for column in columns
    )


def clusters_of(title: str, tables: Sequence[TableDraft], plans: Sequence[Plan]) -> list[Cluster]:
    """Tables joined along foreign keys as far as they fit into one environment, in path order."""
    own: dict[int, list[Plan]] = {id(table): [] for table in tables}
    for plan in plans:
        own[id(_owner(plan))].append(plan)
    group = {id(table): Cluster(title, [table], own[id(table)]) for table in tables if own[id(table)]}
    for table in tables:
        for parent in sorted(table.parents, key=lambda each: not _is_needed(table, each.columns)):
            mine, theirs = group.get(id(table)), group.get(id(parent.table))
            if mine is None or theirs is None or mine is theirs or not theirs.fits(mine, MAX_TOOLS):
                continue
            both = theirs.joined(mine)
            for member in both.tables:
                group[id(member)] = both
    distinct = {id(cluster): cluster for cluster in group.values()}
    found = [part for cluster in distinct.values() for part in _cut(cluster)]
    return sorted(found, key=lambda cluster: min(table.home for table in cluster.tables))


def _owner(plan: Plan) -> TableDraft:
    """The table that a plan goes with: lists through a link go with the link."""
    return plan.through[0] if plan.through is not None else plan.table


def _cut(cluster: Cluster) -> Iterable[Cluster]:
    """Parts of a cluster that has more tools than an environment may have: a single table with very many."""
    for first in range(0, len(cluster.plans), MAX_TOOLS):
        yield Cluster(cluster.title, cluster.tables, cluster.plans[first : first + MAX_TOOLS])


def pack(clusters: Sequence[Cluster], target: int | None = None) -> list[Cluster]:
    """Neighbouring clusters joined until each environment has a good size.

    Args:
        clusters: Of one service, in path order.
        target: Tools that each should come close to; None for what suits the service.
    """
    soft = min(target, MAX_TOOLS) if target else SOFT_TOOLS
    hard = min(soft + soft // 5, MAX_TOOLS) if target else MAX_TOOLS
    packed: list[Cluster] = []
    current: Cluster | None = None
    for cluster in clusters:
        if current is None:
            current = cluster
        elif (len(current.plans) < soft or not current.is_enough) and current.fits(cluster, hard):
            current = current.joined(cluster)
        else:
            packed.append(current)
            current = cluster
    if current is not None:
        packed.append(current)
    return packed


def pool(clusters: Sequence[Cluster]) -> list[Cluster]:
    """What is too small alone, of all services of a provider, joined with each other or with a neighbour."""
    enough = [cluster for cluster in clusters if cluster.is_enough]
    small = [cluster for cluster in clusters if not cluster.is_enough]
    for cluster in small:
        home = next(
            (
                position
                for position in range(len(enough) - 1, -1, -1)
                if enough[position].title == cluster.title and enough[position].fits(cluster, MAX_TOOLS)
            ),
            None,
        )
        if home is not None:
            enough[home] = enough[home].joined(cluster)
        else:
            enough.append(cluster)
    merged: list[Cluster] = []
    waiting: Cluster | None = None
    for cluster in enough:
        if cluster.is_enough:
            merged.append(cluster)
        elif waiting is None:
            waiting = cluster
        elif waiting.fits(cluster, SOFT_TOOLS):
            waiting = waiting.joined(cluster)
            if waiting.is_enough:
                merged.append(waiting)
                waiting = None
        else:
            merged.append(waiting)
            waiting = cluster
    return [*merged, waiting] if waiting is not None else merged
