"""Differential replay: the same calls in a child that nothing survives, and in a worker that has seen other episodes.

What one episode leaves for the next (an attribute on a library function, a decimal context), and anything that differs
from process to process, shows as a difference. Run at acceptance and on a sample of production rollouts; a pack that
differs runs in fork mode or is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from environments.runtime.pack.model import Scenario
from environments.runtime.session import Players

Calls = Sequence[tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Difference:
    """One answer that is not the forked child's.

    Attributes:
        where: `first`: an unused episode of the warm worker; `later`: one after others; `reversed`: after the same
            episodes in the other order; each also as `... state`.
        index: Which call; -1 for the state.
        alone: What the forked child answered.
        warm: What the warm worker answered.
    """

    where: str
    index: int
    alone: str
    warm: str


def find_differences(
    pool: Players,
    pack: bytes,
    scenario: str | Scenario,
    seed: int,
    calls: Calls,
    others: Sequence[Calls] = (),
    *,
    repeats: int = 2,
    content_sha256: str | None = None,
) -> tuple[Difference, ...]:
    """Where warm answers are not, byte for byte, the forked child's; empty for a pack that leaks nothing.

    Args:
        pool: Where it runs; its warm worker of the pack may have any history.
        pack: As `encode_pack` writes it.
        scenario: The start.
        seed: Its seed.
        calls: What is compared.
        others: Call lists of other episodes that run in between; by default the compared one itself.
        repeats: How many times the others run before the comparison.
        content_sha256: The pack's identity.

    Raises:
        SandboxError: A run ended badly.
    """
    alone = pool.transact(pack, scenario, seed, calls, wants=["state"], content_sha256=content_sha256)
    expected = [record.observation for record in alone.records]
    found: list[Difference] = []

    def compare(where: str) -> None:
        (episode,) = pool.open(pack, [(scenario, seed)], content_sha256=content_sha256)
        try:
            answers = [record.observation for record in episode.calls(calls)]
            pairs = enumerate(zip(expected, answers, strict=True))
            found.extend(Difference(where, index, first, second) for index, (first, second) in pairs if first != second)
            state = episode.state()
            if state != alone.state:
                found.append(Difference(f"{where} state", -1, str(alone.state)[:2000], str(state)[:2000]))
        finally:
            episode.close()

    compare("first")
    between = list(others) or [calls]
    _run(pool, pack, scenario, seed, between * repeats, content_sha256)
    compare("later")
    _run(pool, pack, scenario, seed, list(reversed(between)) * repeats, content_sha256)
    compare("reversed")
    return tuple(found)


def _run(
    pool: Players, pack: bytes, scenario: str | Scenario, seed: int, episodes: list[Calls], sha256: str | None
) -> None:
    for number, calls in enumerate(episodes):
        (opened,) = pool.open(pack, [(scenario, seed + number + 1)], content_sha256=sha256)
        opened.calls(calls)
        opened.close()
