"""What the leak guard compares, and what it finds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Rule(StrEnum):
    """What two sets may have in common."""

    NAMES = "names"
    SCHEMAS = "schemas"
    TABLES = "tables"
    WORDING = "wording"
    TEXTS = "texts"
    VECTORS = "vectors"


@dataclass(frozen=True, slots=True)
class Member:
    """One argument of a tool or one column of a table, members of nested objects among them.

    Attributes:
        name: As the source has it.
        kind: `string`, `number`, `boolean`, `array`, `object`, or `any` where the source leaves it open.
        is_required: Whether it must be there.
    """

    name: str
    kind: str = "any"
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class GuardTool:
    """A tool as the guard sees it.

    Attributes:
        name: As the source has it.
        text: What it says of itself.
        arguments: In the source's order.
    """

    name: str
    text: str = ""
    arguments: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True)
class GuardTable:
    """A table, a class or a named schema with its fields."""

    name: str
    columns: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True)
class GuardSubject:
    """One side of a comparison: a document, an environment, or a public benchmark.

    Attributes:
        name: What reports call it.
        tools: In the source's order.
        tables: Tables of an environment, named schemas of a document.
        texts: Longer texts: instructions of tasks, policies.
    """

    name: str
    tools: tuple[GuardTool, ...] = ()
    tables: tuple[GuardTable, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A part of the subject, the part of the other side that is most like it, and how much (0 to 1)."""

    own: str
    other: str
    score: float


@dataclass(frozen=True, slots=True)
class Measure:
    """How alike two sets are in one respect.

    Attributes:
        score: 0 to 1; what it is a share of stands at the function that makes it.
        num_matched: Counterparts found, each part used once.
        evidence: How much of what they share is rare elsewhere, in arguments that no other interface has.
        neighbours: The counterparts, best first.
    """

    score: float = 0.0
    num_matched: int = 0
    evidence: float = 0.0
    neighbours: tuple[Neighbour, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule that fired: the subject is taken for a copy of (a part of) a benchmark."""

    benchmark: str
    rule: Rule
    score: float
    threshold: float
    num_matched: int
    neighbours: tuple[Neighbour, ...]


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near a subject comes to one benchmark, whether or not a rule fires.

    Attributes:
        benchmark: Its name.
        measures: By rule; a rule that could not be applied is missing.
        keywords: Words of the benchmark's field that the subject's title or tool names hold; never a hit by themselves.
    """

    benchmark: str
    measures: Mapping[Rule, Measure]
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Examination:
    """All that the guard says of a subject.

    Attributes:
        hits: Empty if nothing is wrong; in the order of benchmarks and rules.
        nearest: The benchmarks that come nearest, nearest first, to be shown with a clean result, too.
        embedder: Whose vectors were compared; None if none were.
    """

    hits: tuple[Hit, ...]
    nearest: tuple[Nearness, ...] = field(default=())
    embedder: str | None = None
