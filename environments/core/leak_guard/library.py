"""Comparison of one set of tools with many others, in every respect; the guard and train-test reports both use it."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from environments.core.embedding import Vectors
from environments.core.leak_guard.matching import Pairs, match
from environments.core.leak_guard.model import GuardSubject, Measure, Member, Neighbour, Rule
from environments.core.leak_guard.schemas import SchemaIndex, Weights, name_key
from environments.core.leak_guard.sketches import Sketch, SketchIndex, sketch_of

Embed = Callable[[Sequence[str]], Vectors]

SCHEMA_FLOOR: Final = 0.35
"""Argument lists less alike than that have nothing to do with each other."""
CLEAR_SCHEMA: Final = 0.5
"""Counterparts that count as matched."""
CLEAR_WORDING: Final = 0.5
VECTOR_FLOOR: Final = 0.2
MIN_SHINGLES: Final = 4
"""Shorter descriptions (six words) are alike by chance."""
MIN_TEXT_SHINGLES: Final = 20
MIN_WORDED_TOOLS: Final = 3
"""Counterparts that the wording rule needs at least, and a fifth of the subject's tools."""
TOOL_SHARE: Final = 0.2
MIN_VECTOR_TOOLS: Final = 6
"""Counterparts that the vector rule needs at least: any two message APIs can send, list, search, read and delete."""
VECTOR_SHARE: Final = 0.5
"""Of the smaller set, which the vector rule needs, too."""
OWN_VECTOR_SHARE: Final = 0.5
"""Of the subject's tools, which the vector rule needs, too."""
NUM_NEIGHBOURS: Final = 12


@dataclass(frozen=True, slots=True)
class Entry:
    """One set that others are compared with: a public benchmark, or one side of a train-test report.

    Attributes:
        name: Its identity.
        tool_names: In its order, as are the next two.
        arguments: Of each tool.
        wordings: Sketch of each tool's description.
        table_names: In its order.
        columns: Of each table.
        texts: Sketches of longer texts.
        vectors: (num_tools, dimension) float32 of the tools' descriptions; None without.
    """

    name: str
    tool_names: tuple[str, ...]
    arguments: tuple[tuple[Member, ...], ...]
    wordings: tuple[Sketch, ...]
    table_names: tuple[str, ...] = ()
    columns: tuple[tuple[Member, ...], ...] = ()
    texts: tuple[Sketch, ...] = ()
    vectors: Vectors | None = None


def entry_of(subject: GuardSubject, embed: Embed | None = None) -> Entry:
    """A subject as the other side of a comparison."""
    return Entry(
        name=subject.name,
        tool_names=tuple(tool.name for tool in subject.tools),
        arguments=tuple(tool.arguments for tool in subject.tools),
        wordings=tuple(sketch_of(tool.text) for tool in subject.tools),
        table_names=tuple(table.name for table in subject.tables),
        columns=tuple(table.columns for table in subject.tables),
        texts=tuple(sketch_of(text) for text in subject.texts),
        vectors=embed([tool.text for tool in subject.tools]) if embed and subject.tools else None,
    )


class Library:
    """Sets that any subject can be compared with.

    Args:
        entries: The sets; their names differ.
        weights: How much each argument's name tells.
        embed: Makes vectors of the same model as the entries'; without it vectors are not compared.
    """

    def __init__(self, entries: Sequence[Entry], weights: Weights, embed: Embed | None = None) -> None:
        self.entries = tuple(entries)
        self._embed = embed
        self._tools = _slices([len(entry.tool_names) for entry in entries])
        self._tables = _slices([len(entry.table_names) for entry in entries])
        self._texts = _slices([len(entry.texts) for entry in entries])
        self._names = [_by_words(entry.tool_names) for entry in entries]
        self._arguments = SchemaIndex([each for entry in entries for each in entry.arguments], weights)
        self._columns = SchemaIndex([each for entry in entries for each in entry.columns], weights)
        self._wordings = SketchIndex([each for entry in entries for each in entry.wordings])
        self._long_texts = SketchIndex([each for entry in entries for each in entry.texts])
        self._largest = max((len(entry.tool_names) for entry in entries if entry.vectors is not None), default=0)

    def compare(self, subject: GuardSubject) -> list[dict[Rule, Measure]]:
        """The measures of the subject with each entry, in the entries' order; rules that don't apply are missing.

        Cost: linear in the subject's tools times all entries' tools, a few microseconds each; vectors cost extra and
        are made only where the vector rule could fire at all.
        """
        measures: list[dict[Rule, Measure]] = [{} for _ in self.entries]
        names = _by_words([tool.name for tool in subject.tools])
        for found, others in zip(measures, self._names, strict=True):
            found[Rule.NAMES] = _names(names, others, len(subject.tools))
        self._add_schemas(subject, measures)
        self._add_tables(subject, measures)
        self._add_wordings(subject, measures)
        self._add_texts(subject, measures)
        self._add_vectors(subject, measures)
        return measures

    def _add_schemas(self, subject: GuardSubject, measures: list[dict[Rule, Measure]]) -> None:
        own_names = [tool.name for tool in subject.tools]
        similar, own = self._arguments.compare([tool.arguments for tool in subject.tools])
        for entry, part, found in zip(self.entries, self._tools, measures, strict=True):
            found[Rule.SCHEMAS] = _schemas(
                similar[:, part], own, self._arguments.information[part], own_names, entry.tool_names
            )

    def _add_tables(self, subject: GuardSubject, measures: list[dict[Rule, Measure]]) -> None:
        if not subject.tables:
            return
        own_names = [table.name for table in subject.tables]
        similar, own = self._columns.compare([table.columns for table in subject.tables])
        for entry, part, found in zip(self.entries, self._tables, measures, strict=True):
            if entry.table_names:
                found[Rule.TABLES] = _schemas(
                    similar[:, part], own, self._columns.information[part], own_names, entry.table_names
                )

    def _add_wordings(self, subject: GuardSubject, measures: list[dict[Rule, Measure]]) -> None:
        sketches = [sketch_of(tool.text) for tool in subject.tools]
        similar = _sketched(sketches, self._wordings, MIN_SHINGLES)
        own_names = [tool.name for tool in subject.tools]
        least = max(MIN_WORDED_TOOLS, math.ceil(TOOL_SHARE * len(own_names)))
        for entry, part, found in zip(self.entries, self._tools, measures, strict=True):
            pairs = match(similar[:, part], floor=VECTOR_FLOOR)
            found[Rule.WORDING] = _kth(pairs, least, own_names, entry.tool_names)

    def _add_texts(self, subject: GuardSubject, measures: list[dict[Rule, Measure]]) -> None:
        if not subject.texts:
            return
        sketches = [sketch_of(text) for text in subject.texts]
        similar = _sketched(sketches, self._long_texts, MIN_TEXT_SHINGLES)
        own_names = [f"text {number}" for number in range(1, len(sketches) + 1)]
        for entry, part, found in zip(self.entries, self._texts, measures, strict=True):
            if entry.texts:
                others = [f"text {number}" for number in range(1, len(entry.texts) + 1)]
                found[Rule.TEXTS] = _kth(match(similar[:, part], floor=VECTOR_FLOOR), 1, own_names, others)

    def _add_vectors(self, subject: GuardSubject, measures: list[dict[Rule, Measure]]) -> None:
        count = len(subject.tools)
        if self._embed is None or not MIN_VECTOR_TOOLS <= count <= self._largest / OWN_VECTOR_SHARE:
            return
        own = self._embed([tool.text for tool in subject.tools])
        own_names = [tool.name for tool in subject.tools]
        for entry, found in zip(self.entries, measures, strict=True):
            if entry.vectors is None:
                continue
            smaller = min(count, len(entry.tool_names))
            least = max(MIN_VECTOR_TOOLS, math.ceil(VECTOR_SHARE * smaller), math.ceil(OWN_VECTOR_SHARE * count))
            pairs = match((own @ entry.vectors.T).astype(np.float32), floor=VECTOR_FLOOR)
            found[Rule.VECTORS] = _kth(pairs, least, own_names, entry.tool_names)


def _names(own: Mapping[str, list[str]], others: Mapping[str, list[str]], count: int) -> Measure:
    """Score: the share of the subject's tools whose names the other side has, after taking words apart."""
    common = [words for words in own if words in others]
    if not common:
        return Measure()
    neighbours = tuple(Neighbour(own[words][0], others[words][0], 1.0) for words in common[:NUM_NEIGHBOURS])
    return Measure(sum(len(own[words]) for words in common) / count, len(common), float(len(common)), neighbours)


def _schemas(
    similar: NDArray[np.float32],
    own: NDArray[np.float32],
    other: NDArray[np.float32],
    own_names: Sequence[str],
    other_names: Sequence[str],
) -> Measure:
    """Score: the larger of the shares of both sides' information that counterparts have in common."""
    pairs = match(similar, floor=SCHEMA_FLOOR)
    if not pairs:
        return Measure()
    rows = np.array([row for row, _, _ in pairs])
    columns = np.array([column for _, column, _ in pairs])
    scores = np.array([score for _, _, score in pairs], dtype=np.float32)
    of_own = float((own[rows] * scores).sum() / own.sum())
    of_other = float((other[columns] * scores).sum() / other.sum())
    clear = scores >= CLEAR_SCHEMA
    evidence = float((np.minimum(own[rows], other[columns]) * scores)[clear].sum())
    return Measure(max(of_own, of_other), int(clear.sum()), evidence, _neighbours(pairs, own_names, other_names))


def _kth(pairs: Pairs, least: int, own_names: Sequence[str], other_names: Sequence[str]) -> Measure:
    """Score: the similarity that at least `least` counterparts reach."""
    score = pairs[least - 1][2] if len(pairs) >= least else 0.0
    matched = sum(similarity >= score for _, _, similarity in pairs) if score else len(pairs)
    return Measure(score, matched, float(matched), _neighbours(pairs, own_names, other_names))


def _neighbours(pairs: Pairs, own_names: Sequence[str], other_names: Sequence[str]) -> tuple[Neighbour, ...]:
    best = pairs[:NUM_NEIGHBOURS]
    return tuple(Neighbour(own_names[row], other_names[column], round(score, 4)) for row, column, score in best)


def _sketched(sketches: Sequence[Sketch], index: SketchIndex, shortest: int) -> NDArray[np.float32]:
    similar = np.zeros((len(sketches), len(index)), dtype=np.float32)
    for line, sketch in zip(similar, sketches, strict=True):
        if len(sketch) >= shortest:
            for place, score in index.similar(sketch).items():
                line[place] = score
    return similar


def _by_words(names: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        words = name_key(name)
        if words:
            found.setdefault(words, []).append(name)
    return found


def _slices(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum([0, *sizes])
    return [slice(int(start), int(end)) for start, end in itertools.pairwise(ends)]
