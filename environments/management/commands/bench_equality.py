"""`manage.py bench_equality`: what comparing two end states costs, by kind of change and number of changed rows.

Times are this process's own (CPU), the median of three rounds that take every workload in turn. Comparing is pure
computation on one core, so what else the machine does changes them little.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from environments.management.benchmarks import ROUNDS, BenchCommand, Figure
from environments.runtime.equality import Comparison, Outcome, StartState, compare
from environments.runtime.equality.comparison import DEFAULT_BUDGET
from environments.runtime.records import ChangeKind, Row, RowChange
from environments.runtime.tables import ColumnInfo, ForeignKey, TableInfo

SIZES: Final = (10, 100, 1_000, 5_000)
QUICK_SIZES: Final = (10, 100)
TARGET_MS: Final = 1_000.0
"""For 5,000 changed rows."""
CFI_SIZES: Final = (6, 10, 20, 40, 100)
QUICK_CFI_SIZES: Final = (6,)
SEED: Final = 1
NOTE: Final = "please leave the parcel with the friendly neighbour at the green door today"


def _column(name: str, kind: Any = "TEXT", comparison: Any = "hard", **others: Any) -> ColumnInfo:
    return ColumnInfo(name, kind, is_nullable=True, comparison=comparison, **others)


def _to(table: str, column: str) -> ForeignKey:
    return ForeignKey((column,), table, ("id",))


_ID = _column("id", "INTEGER", "exempt", generated="id")
_NUMBER = "INTEGER"
_SHOP = (
    TableInfo("customers", "entity", (_ID, _column("name"), _column("level", _NUMBER)), ("id",)),
    TableInfo(
        "orders",
        "entity",
        (
            _ID,
            _column("customer", _NUMBER),
            _column("status"),
            _column("note", comparison="semantic"),
            _column("total", "REAL"),
        ),
        ("id",),
        (_to("customers", "customer"),),
    ),
    TableInfo(
        "lines",
        "link",
        (_column("owner", _NUMBER), _column("line", _NUMBER), _column("item"), _column("data", is_json=True)),
        ("owner", "line"),
        (_to("orders", "owner"),),
    ),
)
_GRAPH = (
    TableInfo("nodes", "entity", (_ID, _column("label"), _column("next", _NUMBER)), ("id",), (_to("nodes", "next"),)),
    TableInfo(
        "edges",
        "link",
        (_ID, _column("a", _NUMBER), _column("b", _NUMBER)),
        ("id",),
        (_to("nodes", "a"), _to("nodes", "b")),
    ),
    TableInfo("texts", "entity", (_ID, _column("note", comparison="semantic")), ("id",)),
)


@dataclass(slots=True)
class _Workload:
    """Two sets of changes, the outcome they must have (None: whichever), and what measuring them gave."""

    name: str
    num_rows: int
    start: StartState
    reference: Sequence[RowChange]
    candidate: Sequence[RowChange]
    outcomes: frozenset[Outcome]
    is_adversary: bool = False
    seconds: list[float] = field(default_factory=list)
    result: Comparison | None = None

    def measure(self) -> None:
        """One run."""
        started = time.process_time()
        self.result = compare(self.start, self.reference, self.candidate)
        self.seconds.append(time.process_time() - started)
        if self.result.outcome not in self.outcomes:
            raise AssertionError(f"{self.name}, {self.num_rows} rows: {self.result.outcome}")

    @property
    def milliseconds(self) -> float:
        """The median run."""
        return 1_000 * statistics.median(self.seconds)


class Command(BenchCommand):
    help = "Measures the comparison of end states: workloads by number of changed rows, and adversarial graphs."

    def measure(self, *, is_quick: bool, say: Callable[[str], None]) -> list[Figure]:
        workloads = [*_workloads(QUICK_SIZES if is_quick else SIZES), *_adversaries(is_quick=is_quick)]
        for number in range(ROUNDS):
            say(f"Round {number + 1} of {ROUNDS} …")
            for workload in workloads:
                workload.measure()
        say(_render(workloads))
        figures = []
        for workload in workloads:
            name = f"{workload.name}, {workload.num_rows:,} rows"
            target = TARGET_MS if workload.num_rows == SIZES[-1] else None
            figures.append(Figure(name, workload.milliseconds, "ms", target))
        most = max(workload.result.num_steps for workload in workloads if workload.result)
        return [*figures, Figure("Most steps of a comparison", most, "steps", DEFAULT_BUDGET)]


def _render(workloads: Sequence[_Workload]) -> str:
    """Milliseconds by workload and number of changed rows, then the adversaries with their outcomes and steps."""
    names = list(dict.fromkeys(workload.name for workload in workloads if not workload.is_adversary))
    sizes = sorted({workload.num_rows for workload in workloads if not workload.is_adversary})
    cells = {(workload.name, workload.num_rows): workload.milliseconds for workload in workloads}
    lines = [f"{'milliseconds by changed rows':36}" + "".join(f"{size:>10,}" for size in sizes)]
    lines += [f"{name:36}" + "".join(f"{cells[name, size]:>10,.1f}" for size in sizes) for name in names]
    for workload in workloads:
        if workload.is_adversary and workload.result is not None:
            outcome, steps = workload.result.outcome, workload.result.num_steps
            lines.append(
                f"{workload.name:36}{workload.num_rows:>10,}{workload.milliseconds:>10,.1f} {outcome} {steps:,} steps"
            )
    return "\n".join(lines)


def _workloads(sizes: Sequence[int]) -> Iterator[_Workload]:
    equal, different = frozenset({Outcome.EQUAL}), frozenset({Outcome.DIFFERENT})
    customers: list[Row] = [{"id": number, "name": f"c{number}", "level": 1} for number in range(1, 2_001)]
    shop, graphs = StartState(_SHOP, {"customers": customers}), StartState(_GRAPH, {})
    for size in sizes:
        reference = _shop(size, 1)
        yield _Workload("shop, equal", size, shop, reference, _shop(size, 2), equal)
        near = _shop(size, 3, is_near=True)
        yield _Workload("shop, near texts and totals", size, shop, reference, near, equal)
        one = _shop(size, 4, num_wrong=1)
        yield _Workload("shop, one wrong value", size, shop, reference, one, different)
        some = _shop(size, 5, num_wrong=max(1, size // 50))
        yield _Workload("shop, a tenth of the orders wrong", size, shop, reference, some, different)
        shapes: Mapping[str, list[int | None]] = {
            "identical rows": [None] * size,
            "one chain of identical rows": [None, *range(size - 1)],
            "one ring of identical rows": [*range(1, size), 0],
            "rings of five": [5 * (place // 5) + (place + 1) % 5 for place in range(size)],
        }
        for name, links in shapes.items():
            yield _Workload(name, size, graphs, _nodes(links, 6), _nodes(links, 7), equal)


def _shop(num_rows: int, seed: int, *, is_near: bool = False, num_wrong: int = 0) -> list[RowChange]:
    """Orders of three lines each, and as many customers with another level as make up the number of rows."""
    rng = np.random.default_rng((SEED, seed))
    num_orders = max(1, num_rows // 5)
    changes = []
    for number, order in enumerate((10**6 + rng.permutation(2 * num_orders)[:num_orders]).tolist()):
        row = {
            "id": order,
            "customer": 1 + number % 1_500,
            "status": "wrong" if number < num_wrong else "new",
            "note": NOTE.replace("today", "tonight") if is_near else NOTE,
            "total": (10.0 + number % 7) * (1 + 2e-7 * is_near),
        }
        changes.append(_insert("orders", row))
        for line in range(3):
            row = {"owner": order, "line": line, "item": f"i{number % 11}", "data": f'{{"n":{number % 5}}}'}
            changes.append(_insert("lines", row, ("owner", "line")))
    changes += [
        RowChange("customers", {"id": number}, ChangeKind.UPDATE, {"level": 1}, {"level": 2})
        for number in range(1, num_rows - len(changes) + 1)
    ]
    return [changes[place] for place in rng.permutation(len(changes))]


def _nodes(links: Sequence[int | None], seed: int) -> list[RowChange]:
    """Alike rows, each pointing to the row at the place given."""
    rng = np.random.default_rng((SEED, seed))
    ids = (1 + rng.permutation(10 * len(links))[: len(links)]).tolist()
    rows = [
        {"id": own, "label": "x", "next": None if link is None else ids[link]}
        for own, link in zip(ids, links, strict=True)
    ]
    return [_insert("nodes", rows[place]) for place in rng.permutation(len(rows))]


def _adversaries(*, is_quick: bool) -> Iterator[_Workload]:
    """What refinement cannot tell apart, and texts that are all near each other: right or undecided, never wrong."""
    start = StartState(_GRAPH, {})
    not_different = frozenset({Outcome.EQUAL, Outcome.UNDECIDED})
    not_equal = frozenset({Outcome.DIFFERENT, Outcome.UNDECIDED})
    rook, shrikhande = _strongly_regular()
    for name, other, outcomes in (
        ("rook and rook", rook, not_different),
        ("rook and Shrikhande", shrikhande, not_equal),
    ):
        changes = _graph(16, rook, 8), _graph(16, other, 9)
        yield _Workload(name, len(changes[0]), start, *changes, outcomes, is_adversary=True)
    for base in QUICK_CFI_SIZES if is_quick else CFI_SIZES:
        size, plain, twisted = _cai_furer_immerman(base)
        for name, edges, outcomes in (("same", plain, not_different), ("twisted", twisted, not_equal)):
            changes = _graph(size, plain, 10), _graph(size, edges, 11)
            yield _Workload(
                f"CFI graph over {base}, {name}", len(changes[0]), start, *changes, outcomes, is_adversary=True
            )
    for size in (50,) if is_quick else (200, 500):
        reference, candidate = (
            [_insert("texts", {"id": number, "note": f"{NOTE} {_letters(number)} {word}"}) for number in range(size)]
            for word in ("early", "late")
        )
        name = "alike rows with near texts"
        yield _Workload(name, size, start, reference, candidate, not_different, is_adversary=True)


def _letters(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def _graph(num_nodes: int, edges: Sequence[tuple[int, int]], seed: int) -> list[RowChange]:
    changes = _nodes([None] * num_nodes, seed)
    ids = [change.key["id"] for change in changes]
    rows = [{"id": number, "a": ids[a], "b": ids[b]} for number, (a, b) in enumerate(edges)]
    return [*changes, *(_insert("edges", row) for row in rows)]


def _strongly_regular() -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The 4 x 4 rook's graph and Shrikhande's, which has the same parameters."""
    pairs = [(a, b) for a in range(16) for b in range(16) if a != b]
    rook = [(a, b) for a, b in pairs if a // 4 == b // 4 or a % 4 == b % 4]
    steps = {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)}
    return rook, [(a, b) for a, b in pairs if ((b // 4 - a // 4) % 4, (b % 4 - a % 4) % 4) in steps]


def _cai_furer_immerman(num_nodes: int) -> tuple[int, list[tuple[int, int]], list[tuple[int, int]]]:
    """(number of nodes, edges, edges with one twist) over a random cubic graph.

    Reference: J.-Y. Cai, M. Fürer, N. Immerman, "An optimal lower bound on the number of variables for graph
        identification", Combinatorica 12(4), 1992.
    """
    rng = np.random.default_rng((SEED, 12))
    base: set[tuple[int, int]] = set()
    while len(base) < 3 * num_nodes // 2 or any(a == b for a, b in base):
        stubs = rng.permutation(np.repeat(np.arange(num_nodes), 3)).tolist()
        base = {(min(pair), max(pair)) for pair in zip(stubs[::2], stubs[1::2], strict=True)}
    ends = [end for a, b in sorted(base) for end in ((a, b), (b, a))]
    place = {(a, b, bit): 2 * number + bit for number, (a, b) in enumerate(ends) for bit in (0, 1)}
    size, edges = len(place), []
    for node in range(num_nodes):
        around = [b for a, b in ends if a == node]
        for bits in ((0, 0, 0), (1, 1, 0), (1, 0, 1), (0, 1, 1)):
            edges += [(size, place[node, other, bit]) for other, bit in zip(around, bits, strict=True)]
            size += 1
    joins = [
        [(place[a, b, bit], place[b, a, bit ^ twist]) for bit in (0, 1)] for a, b in sorted(base) for twist in (0, 1)
    ]
    plain = [edge for join in joins[::2] for edge in join]
    return size, [*edges, *plain], [*edges, *joins[1], *plain[2:]]


def _insert(table: str, row: Row, key: Sequence[str] = ("id",)) -> RowChange:
    return RowChange(table, {name: row[name] for name in key}, ChangeKind.INSERT, None, row)
