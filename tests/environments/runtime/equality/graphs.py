"""Graphs as changed rows: chains, rings, and those that colour refinement cannot tell apart."""

from environments.runtime.equality import StartState
from environments.runtime.tables import ForeignKey
from tests.environments.runtime.equality.worlds import ID, Random, column, insert, table

NODES = table(
    "nodes", ID, column("label"), column("next", "INTEGER"), foreign_keys=[ForeignKey(("next",), "nodes", ("id",))]
)
EDGES = table(
    "edges",
    ID,
    column("a", "INTEGER"),
    column("b", "INTEGER"),
    foreign_keys=[ForeignKey(("a",), "nodes", ("id",)), ForeignKey(("b",), "nodes", ("id",))],
)
EMPTY = StartState([NODES, EDGES], {})


def nodes(links, rng, label="x"):
    """One inserted row for each link, pointing to the row at that place."""
    ids = rng.sample(range(1, 10 * len(links) + 2), len(links))
    rows = [
        {"id": own, "label": label, "next": None if link is None else ids[link]}
        for own, link in zip(ids, links, strict=True)
    ]
    rng.shuffle(rows)
    return [insert("nodes", row) for row in rows]


def graph(num_nodes, edges, rng):
    """Inserted rows of a directed graph."""
    rows = nodes([None] * num_nodes, rng)
    ids = [change.key["id"] for change in rows]
    rng.shuffle(ids)
    rows += [insert("edges", {"id": number, "a": ids[a], "b": ids[b]}) for number, (a, b) in enumerate(edges)]
    return rows


def chain(length):
    return [None, *range(length - 1)]


def rings(*lengths):
    links = []
    for length in lengths:
        first = len(links)
        links += [first + (place + 1) % length for place in range(length)]
    return links


def rook():
    """The 4 x 4 rook's graph."""
    pairs = ((a, b) for a in range(16) for b in range(16) if a != b)
    return [(a, b) for a, b in pairs if a // 4 == b // 4 or a % 4 == b % 4]


def shrikhande():
    """Strongly regular with the parameters of `rook`, and another graph."""
    steps = {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)}
    pairs = ((a, b) for a in range(16) for b in range(16))
    return [(a, b) for a, b in pairs if ((b // 4 - a // 4) % 4, (b % 4 - a % 4) % 4) in steps]


def twisted(num_nodes, *, is_twisted):
    """The graphs of Cai, Fürer and Immerman (1992) over a random cubic graph: (number of nodes, edges).

    Refinement of any bounded dimension cannot tell the twisted one from the plain one.
    """
    rng = Random(5)
    while True:
        stubs = [node for node in range(num_nodes) for _ in range(3)]
        rng.shuffle(stubs)
        base = {tuple(sorted(pair)) for pair in zip(stubs[::2], stubs[1::2], strict=True)}
        if len(base) == 3 * num_nodes // 2 and all(a != b for a, b in base):
            break
    ends = {(n, m): None for pair in sorted(base) for n, m in (pair, pair[::-1])}
    place = {(n, m, bit): 2 * number + bit for number, (n, m) in enumerate(ends) for bit in (0, 1)}
    number, edges = len(place), []
    for n in range(num_nodes):
        around = [m for a, m in ends if a == n]
        for bits in [(0, 0, 0), (1, 1, 0), (1, 0, 1), (0, 1, 1)]:
            edges += [(number, place[n, m, bit]) for m, bit in zip(around, bits, strict=True)]
            number += 1
    for count, (n, m) in enumerate(sorted(base)):
        edges += [(place[n, m, bit], place[m, n, bit ^ (is_twisted and count == 0)]) for bit in (0, 1)]
    return number, edges
