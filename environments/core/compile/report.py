"""What a compilation came to: figures of single environments, what repeats among them, and the report over all.

Everything here is derived from `Blueprint`s and from what verification kept of them; `EnvironmentFacts` is the part
that is stored, so that a report can be made again without compiling again.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations
from typing import Any, Final

from environments.core.compile.apis import api_of, edition_order
from environments.core.compile.inference.reasons import INFERENCE_REASONS
from environments.core.compile.reading.reasons import READING_REASONS
from environments.core.compile.semantics import ArgumentRole, Blueprint, Kind, Table, TableRole

LARGEST: Final[Mapping[str, str]] = {
    "azure.com": "Azure and Microsoft Graph",
    "microsoft.com": "Azure and Microsoft Graph",
    "amazonaws.com": "AWS",
    "googleapis.com": "Google",
    "github.com": "GitHub",
}
"""The four largest families by provider; everything else is "others"."""
OTHERS: Final = "Others"
MAX_OF_ONE_PROVIDER: Final = 40
"""Environments of one provider that count among the others."""
LOOSE_MIN_TOOLS: Final = 5
ALIKE: Final = 0.9
"""Jaccard index of tool and argument names from which two environments are near copies."""

RUN_REASONS: Final[Mapping[str, str]] = {
    "document_blocked": "Nothing may be made from its document; the detail says what stands against it.",
    "duplicate_document": "Another document of the compilation has the same bytes.",
    "document_unreadable": "Its document can't be read any more.",
    "compiler_fault": "The compiler itself failed on it; the detail is its message.",
    "tool_failed": "Its tool did not pass verification and was dropped.",
    "depends_on_failed": "Its tool was dropped with another one that it depends on.",
    "below_bar": "Too little of its environment was left: five tools are asked for, a read and a write among them.",
    "environment_discarded": "Its environment did not pass verification.",
    "undecided": "The machinery lost a call while its environment was verified; compiling again may help.",
    "version_out_of_use": "The version that it makes was retired or discarded before.",
}
"""What keeps an operation out of every environment beyond its own meaning."""
REASONS: Final[Mapping[str, str]] = {**READING_REASONS, **INFERENCE_REASONS, **RUN_REASONS}
"""Reason codes with a sentence each."""


# --- One environment --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """A planned tool as the ledger keeps it.

    Attributes:
        name: In the environment.
        kind: What it does, a value of `Kind`.
        table: What it is about.
        arguments: Their JSON names.
        num_optional: Arguments that may be left away.
        dropped: (parameter, reason) pairs of the source's parameters that it does not have.
        source: sha256 of the document.
        operation: Its key there.
    """

    name: str
    kind: str
    table: str
    arguments: tuple[str, ...]
    num_optional: int
    dropped: tuple[tuple[str, str], ...]
    source: str
    operation: str


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """A document of an environment: which API in which edition."""

    sha256: str
    api: str
    version: str
    address: str
    title: str


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What makes a person look twice; shares from 0 to 1 (docs/compiler.md).

    Attributes:
        keyless_lists: Of tables with a list: those of which no tool addresses a single row.
        create_only: Of tables with tools: those that are written and never read.
        dropped_filters: Of optional parameters that the source names: those that no tool has.
        twin_tables: Of tables: those with the columns of another one and no foreign key between the two.
    """

    keyless_lists: float = 0.0
    create_only: float = 0.0
    dropped_filters: float = 0.0
    twin_tables: float = 0.0

    @property
    def score(self) -> float:
        """The mean of the four."""
        return (self.keyless_lists + self.create_only + self.dropped_filters + self.twin_tables) / 4


@dataclass(frozen=True, slots=True)
class EnvironmentFacts:
    """One environment in figures.

    Attributes:
        provider: Whose API.
        name: Unique within its provider.
        family: Of conventions.
        tools: That are left after verification, in the pack's order.
        failed: Tools that verification dropped: (name, reason) pairs.
        tables: Names of its tables.
        num_link_tables: Of these, pairs.
        meets_bar: Whether it counts (docs/compiler.md): tells a whole story and refuses for a reason of state.
    """

    provider: str
    name: str
    title: str
    family: str
    documents: tuple[DocumentFacts, ...]
    tools: tuple[ToolFacts, ...]
    failed: tuple[tuple[str, str], ...]
    tables: tuple[str, ...]
    num_link_tables: int
    num_columns: int
    num_foreign_keys: int
    num_checks: int
    num_rows: int
    num_cases: int
    suspicion: Suspicion
    meets_bar: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """What identifies it in a report."""
        return self.provider, self.name

    @property
    def group(self) -> str:
        """One of the four largest families, or others."""
        return LARGEST.get(self.provider, OTHERS)

    @property
    def meets_loose_bar(self) -> bool:
        """Five tools or more, a read and a write among them."""
        readings = sum(Kind(tool.kind) in _READING for tool in self.tools)
        return len(self.tools) >= LOOSE_MIN_TOOLS and 0 < readings < len(self.tools)

    @property
    def has_transition(self) -> bool:
        """Whether a tool moves a state."""
        return any(tool.kind == Kind.TRANSITION for tool in self.tools)


_READING: Final = frozenset({Kind.LIST, Kind.LIST_KEYS, Kind.GET, Kind.COUNT, Kind.SUM})
_MAKING: Final = frozenset({Kind.CREATE, Kind.UPSERT, Kind.LINK})


def environment_facts(
    blueprint: Blueprint,
    *,
    failed: Mapping[str, str] | None = None,
    num_rows: int = 0,
    num_cases: int = 0,
    meets_bar: bool = False,
) -> EnvironmentFacts:
    """The figures of an environment.

    Args:
        blueprint: As it was planned.
        failed: Tools that verification dropped, each with its reason.
        num_rows: Of all scenarios.
        num_cases: That are left.
        meets_bar: Whether it counts.
    """
    dropped = failed or {}
    tools = tuple(
        ToolFacts(
            tool.name, tool.meaning.kind.value, tool.meaning.table,
            tuple(argument.name for argument in tool.meaning.arguments),
            sum(not argument.is_required for argument in tool.meaning.arguments),
            tool.dropped, tool.source, tool.operation,
        )
        for tool in blueprint.tools
        if tool.name not in dropped
    )  # fmt: skip
    return EnvironmentFacts(
        provider=blueprint.provider,
        name=blueprint.name,
        title=blueprint.title,
        family=blueprint.family,
        documents=tuple(
            DocumentFacts(each.sha256, api_of(each.provider, each.address), each.version, each.address, each.title)
            for each in blueprint.sources
        ),
        tools=tools,
        failed=tuple(sorted(dropped.items())),
        tables=tuple(table.name for table in blueprint.tables),
        num_link_tables=sum(table.role is TableRole.LINK for table in blueprint.tables),
        num_columns=sum(len(table.columns) for table in blueprint.tables),
        num_foreign_keys=sum(len(table.foreign_keys) for table in blueprint.tables),
        num_checks=sum(bool(column.values) for table in blueprint.tables for column in table.columns),
        num_rows=num_rows,
        num_cases=num_cases,
        suspicion=find_suspicion(blueprint, dropped),
        meets_bar=meets_bar,
    )


def find_suspicion(blueprint: Blueprint, failed: Mapping[str, str] | None = None) -> Suspicion:
    """What of an environment looks as if its source had been misread."""
    dropped = failed or {}
    planned = [tool for tool in blueprint.tools if tool.name not in dropped]
    kinds: dict[str, set[Kind]] = {}
    addressed: set[str] = set()
    for tool in planned:
        meaning = tool.meaning
        kinds.setdefault(meaning.table, set()).add(meaning.kind)
        if meaning.with_role(ArgumentRole.KEY):
            addressed.add(meaning.table)
    listed = [table for table, found in kinds.items() if Kind.LIST in found]
    written = [table for table, found in kinds.items() if found & _MAKING and not found & _READING]
    joined = {tool.meaning.through.table for tool in planned if tool.meaning.through is not None}
    create_only = [table for table in written if table not in joined]
    lost = sum(len(tool.dropped) for tool in planned)
    optional = sum(not argument.is_required for tool in planned for argument in tool.meaning.arguments)
    return Suspicion(
        keyless_lists=_ratio(sum(table not in addressed for table in listed), len(listed)),
        create_only=_ratio(len(create_only), len(kinds)),
        dropped_filters=_ratio(lost, lost + optional),
        twin_tables=_ratio(len(_twins(blueprint.tables)), len(blueprint.tables)),
    )


def _twins(tables: Sequence[Table]) -> set[str]:
    found: set[str] = set()
    shapes = [(table, {column.name for column in table.columns}) for table in tables if table.role is TableRole.ENTITY]
    for (first, names), (second, others) in combinations(shapes, 2):
        is_tied = any(key.table == second.name for key in first.foreign_keys) or any(
            key.table == first.name for key in second.foreign_keys
        )
        if len(names) >= 3 and not is_tied and len(names & others) >= ALIKE * len(names | others):
            found |= {first.name, second.name}
    return found


# --- What repeats -----------------------------------------------------------------------------------------------------


class Copy(StrEnum):
    """Why an environment does not count beside another one."""

    OLDER_VERSION = "older_version"
    """Every document of it has a newer version that made environments, too."""
    NEAR_COPY = "near_copy"
    """Another environment has nearly the same tools and arguments."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """An environment that does not count.

    Attributes:
        kind: Why.
        of: Key of the environment that counts instead; of a newer version, the first of its environments.
        alike: Jaccard index of the two; 0 for versions, which are not compared.
    """

    kind: Copy
    of: tuple[str, str]
    alike: float = 0.0


def find_repetitions(environments: Iterable[EnvironmentFacts]) -> dict[tuple[str, str], Repetition]:
    """By key, the environments that count as another one; the order given does not matter.

    Versions of one API go first: the newest by the document's version stays. Of near copies the one with most tools
    stays, and among equal ones the first by key.
    """
    ordered = sorted(environments, key=lambda each: (-len(each.tools), each.key))
    found = _older_versions(ordered)
    kept: list[tuple[EnvironmentFacts, frozenset[str]]] = []
    for each in ordered:
        if each.key in found:
            continue
        names = _names(each)
        copy = _first_alike(names, kept)
        if copy is None:
            kept.append((each, names))
        else:
            found[each.key] = copy
    return found


def _older_versions(ordered: Sequence[EnvironmentFacts]) -> dict[tuple[str, str], Repetition]:
    newest: dict[str, tuple[Any, tuple[str, str]]] = {}
    for each in sorted(ordered, key=lambda environment: environment.key):
        for document in each.documents:
            edition = edition_order(document.version, document.address)
            if document.api not in newest or edition > newest[document.api][0]:
                newest[document.api] = (edition, each.key)
    found = {}
    for each in ordered:
        editions = [
            (edition_order(document.version, document.address), newest[document.api]) for document in each.documents
        ]
        if editions and all(own < best for own, (best, _) in editions):
            found[each.key] = Repetition(Copy.OLDER_VERSION, editions[0][1][1])
    return found


def _names(environment: EnvironmentFacts) -> frozenset[str]:
    """Names of tools, and of arguments below their tool."""
    return frozenset(
        name
        for tool in environment.tools
        for name in (tool.name, *(f"{tool.name}.{argument}" for argument in tool.arguments))
    )


def _first_alike(names: frozenset[str], kept: Sequence[tuple[EnvironmentFacts, frozenset[str]]]) -> Repetition | None:
    for other, others in kept:
        # Sets whose sizes differ by more can't be that much alike; most pairs end here.
        if not ALIKE * max(len(names), len(others)) <= min(len(names), len(others)):
            continue
        common = len(names & others)
        alike = _ratio(common, len(names) + len(others) - common)
        if alike >= ALIKE:
            return Repetition(Copy.NEAR_COPY, other.key, round(alike, 3))
    return None


# --- The report -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Distribution:
    """Numbers, summed up; a percentile is the smallest value that its share of all does not exceed.

    Attributes:
        bars: (first value, last value, how many) of each bar; the last value of the last bar is the maximum.
    """

    num: int = 0
    mean: float = 0.0
    minimum: int = 0
    p10: int = 0
    median: int = 0
    p90: int = 0
    maximum: int = 0
    bars: tuple[tuple[int, int, int], ...] = ()


TOOL_BARS: Final = (1, 5, 10, 20, 30, 40, 50, 61)
TABLE_BARS: Final = (1, 2, 3, 5, 8, 12, 16, 21)
"""First values of bars."""


def describe(values: Iterable[int], bars: Sequence[int] = ()) -> Distribution:
    """The distribution of whole numbers.

    Args:
        values: The numbers.
        bars: First values of bars, rising; what lies below the first is counted in it.
    """
    ordered = sorted(values)
    if not ordered:
        return Distribution()
    counts = Counter(max((place for place, first in enumerate(bars) if value >= first), default=0) for value in ordered)
    lasts = [*(first - 1 for first in bars[1:]), max(ordered[-1], bars[-1] if bars else 0)]
    return Distribution(
        num=len(ordered),
        mean=round(sum(ordered) / len(ordered), 2),
        minimum=ordered[0],
        p10=_percentile(ordered, 0.1),
        median=_percentile(ordered, 0.5),
        p90=_percentile(ordered, 0.9),
        maximum=ordered[-1],
        bars=tuple((first, lasts[place], counts[place]) for place, first in enumerate(bars)),
    )


@dataclass(frozen=True, slots=True)
class Counted:
    """How often something is there."""

    name: str
    num: int


@dataclass(frozen=True, slots=True)
class Bar:
    """How many environments pass one bar, counted in the ways that matter.

    Attributes:
        all: With copies and versions.
        distinct: Without them.
        others: Distinct ones outside the four largest families.
        others_capped: Of these, at most `MAX_OF_ONE_PROVIDER` of one provider.
        providers: Of distinct ones.
        tools: In distinct ones.
    """

    all: int = 0
    distinct: int = 0
    others: int = 0
    others_capped: int = 0
    providers: int = 0
    tools: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """A compilation in figures; all distributions are over distinct environments.

    Attributes:
        operations: That came in.
        reasons: Operations that are in no environment, by reason, most frequent first.
        tools: That are in environments.
        dropped: Tools that verification dropped, in all environments.
        loose: Environments of five tools with reads and writes.
        strict: Environments that count.
        tools_of_each, tables_of_each: Distributions over environments.
        columns_of_each, rows_of_each, keys_of_each, cases_of_each: The same for columns, rows, foreign keys and cases.
        tools_per_table: How many tools share a table, over tables that have tools.
        kinds: Tools by kind, most frequent first.
        families: Environments by family of conventions.
        groups: Environments by the four largest families and others.
        transitions_share: Environments with a state transition, 0 to 1.
        repetitions: How many do not count, by why.
        suspicion_mean: Mean score.
        suspicious: Those with a score of a quarter and more.
        repeated_names: Names that environments of different providers share.
    """

    operations: int = 0
    reasons: tuple[Counted, ...] = ()
    tools: int = 0
    dropped: int = 0
    loose: Bar = field(default_factory=Bar)
    strict: Bar = field(default_factory=Bar)
    tools_of_each: Distribution = field(default_factory=Distribution)
    tables_of_each: Distribution = field(default_factory=Distribution)
    columns_of_each: Distribution = field(default_factory=Distribution)
    rows_of_each: Distribution = field(default_factory=Distribution)
    keys_of_each: Distribution = field(default_factory=Distribution)
    cases_of_each: Distribution = field(default_factory=Distribution)
    tools_per_table: Distribution = field(default_factory=Distribution)
    kinds: tuple[Counted, ...] = ()
    families: tuple[Counted, ...] = ()
    groups: tuple[Counted, ...] = ()
    transitions_share: float = 0.0
    repetitions: tuple[Counted, ...] = ()
    suspicion_mean: float = 0.0
    suspicious: int = 0
    repeated_names: tuple[str, ...] = ()


SUSPICIOUS: Final = 0.25


def make_report(
    environments: Sequence[EnvironmentFacts],
    reasons: Mapping[str, int],
    repetitions: Mapping[tuple[str, str], Repetition] | None = None,
) -> Report:
    """Sums up a compilation.

    Args:
        environments: Those that verification let through.
        reasons: Operations that are in none of them, by reason.
        repetitions: As `find_repetitions` finds them; found here if not given.
    """
    copies = find_repetitions(environments) if repetitions is None else repetitions
    distinct = [each for each in environments if each.key not in copies]
    tools = sum(len(each.tools) for each in environments)
    names: dict[str, set[str]] = {}
    for each in environments:
        names.setdefault(each.name, set()).add(each.provider)
    return Report(
        operations=tools + sum(reasons.values()),
        reasons=_most_frequent(reasons),
        tools=tools,
        dropped=sum(len(each.failed) for each in environments),
        loose=_bar([each for each in environments if each.meets_loose_bar], copies),
        strict=_bar([each for each in environments if each.meets_bar], copies),
        tools_of_each=describe((len(each.tools) for each in distinct), TOOL_BARS),
        tables_of_each=describe((len(each.tables) for each in distinct), TABLE_BARS),
        columns_of_each=describe(each.num_columns for each in distinct),
        rows_of_each=describe(each.num_rows for each in distinct),
        keys_of_each=describe(each.num_foreign_keys for each in distinct),
        cases_of_each=describe(each.num_cases for each in distinct),
        tools_per_table=describe(
            count for each in distinct for count in Counter(tool.table for tool in each.tools).values()
        ),
        kinds=_most_frequent(Counter(tool.kind for each in distinct for tool in each.tools)),
        families=_most_frequent(Counter(each.family for each in distinct)),
        groups=_most_frequent(Counter(each.group for each in distinct)),
        transitions_share=_ratio(sum(each.has_transition for each in distinct), len(distinct)),
        repetitions=_most_frequent(Counter(copies[each.key].kind.value for each in environments if each.key in copies)),
        suspicion_mean=round(_ratio(sum(each.suspicion.score for each in distinct), len(distinct)), 4),
        suspicious=sum(each.suspicion.score >= SUSPICIOUS for each in distinct),
        repeated_names=tuple(sorted(name for name, providers in names.items() if len(providers) > 1)),
    )


def _bar(environments: Sequence[EnvironmentFacts], copies: Mapping[tuple[str, str], Repetition]) -> Bar:
    distinct = [each for each in environments if each.key not in copies]
    others = Counter(each.provider for each in distinct if each.group == OTHERS)
    return Bar(
        all=len(environments),
        distinct=len(distinct),
        others=others.total(),
        others_capped=sum(min(count, MAX_OF_ONE_PROVIDER) for count in others.values()),
        providers=len({each.provider for each in distinct}),
        tools=sum(len(each.tools) for each in distinct),
    )


def _most_frequent(counts: Mapping[str, int]) -> tuple[Counted, ...]:
    return tuple(Counted(name, num) for name, num in sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def _percentile(ordered: Sequence[int], share: float) -> int:
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


# --- An earlier probe -------------------------------------------------------------------------------------------------

PROBE: Final[Mapping[str, float]] = {
    "operations": 90_764,
    "tools": 36_841,
    "dropped": 348,
    "environments": 1_378,
    "distinct": 1_310,
    "others": 514,
    "providers": 247,
    "tools_median": 20,
    "tools_p10": 6,
    "tools_p90": 59,
    "tables_median": 7,
    "tables_p10": 2,
    "tables_p90": 20,
    "cases_median": 112,
    "transitions": 330,
    "near_copies": 67,
    "seconds": 390,
    "slope": 1.24,
    "peak_mebibytes": 171,
}
"""What an earlier probe found in the same collection without Microsoft Graph: its loose bar (five tools, a read and a
write), one process, no sandbox, no fuzzing. Its peak and time are not those of this compiler's work."""
