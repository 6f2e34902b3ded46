"""Makes the guard's data file: from here on only names, hashes and vectors of the benchmarks are left."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from environments.core.leak_guard.checkouts import Found
from environments.core.leak_guard.data import BenchmarkData, GuardData, Limits
from environments.core.leak_guard.library import Embed, Library, entry_of
from environments.core.leak_guard.model import GuardSubject, GuardTool, Member, Rule
from environments.core.leak_guard.schemas import Weights, name_key
from environments.core.leak_guard.subjects import MAX_TEXT

LIMITS: Final[Mapping[Rule, Limits]] = {
    Rule.NAMES: Limits(threshold=0.2, min_matched=3),
    Rule.SCHEMAS: Limits(threshold=0.5, min_matched=3, min_evidence=3.0),
    Rule.TABLES: Limits(threshold=0.5, min_matched=2, min_evidence=4.0),
    Rule.WORDING: Limits(threshold=0.6, min_matched=3),
    Rule.TEXTS: Limits(threshold=0.5, min_matched=1),
}
MIN_DOCUMENTS: Final = 5
"""Names that fewer background documents have count as rare, and need not be kept."""
COPY: Final = 1.0
"""What a copy word for word scores: all that a model can catch that does not tell other words from chance."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a model says of the planted and the innocent sets.

    Attributes:
        threshold: Halfway between the innocent and the planted sets, or halfway to a copy where they overlap.
        planted: Score of each planted set with its own benchmark.
        innocent: Highest score of each innocent set with any benchmark.
    """

    threshold: float
    planted: Mapping[str, float]
    innocent: Mapping[str, float]


def count_names(subjects: Iterable[GuardSubject]) -> Weights:
    """In how many of the documents each name of an argument or column stands; rare ones are left out."""
    counts: Counter[str] = Counter()
    num_documents = 0
    for subject in subjects:
        lists = [*(tool.arguments for tool in subject.tools), *(table.columns for table in subject.tables)]
        counts.update({name_key(member.name) for members in lists for member in members} - {""})
        num_documents += 1
    kept = {name: count for name, count in sorted(counts.items()) if count >= MIN_DOCUMENTS}
    return Weights(num_documents, kept)


def build(
    sources: Sequence[Mapping[str, str]],
    found: Mapping[str, Sequence[Found]],
    weights: Weights,
    embedders: Mapping[str, Embed],
) -> GuardData:
    """The data without the models' thresholds, which `calibrate` finds.

    Args:
        sources: What is told of each repository.
        found: Benchmarks by repository.
        weights: How common names are; those of no benchmark are kept only where they are common.
        embedders: By model.
    """
    benchmarks = []
    for source, group in found.items():
        for each in group:
            subject = _cut(each.subject)
            entry = entry_of(subject)
            texts = [tool.text for tool in subject.tools]
            vectors = {model: embed(texts) for model, embed in embedders.items()} if any(texts) else {}
            benchmarks.append(BenchmarkData(source, entry, vectors, each.keywords))
    benchmarks.sort(key=lambda each: each.entry.name)
    return GuardData(tuple(sources), LIMITS, {}, _needed(weights, benchmarks), tuple(benchmarks))


def calibrate(
    data: GuardData, model: str, embed: Embed, planted: Mapping[str, GuardSubject], innocent: Sequence[GuardSubject]
) -> Calibration:
    """Finds a model's threshold.

    Args:
        data: With the model's vectors.
        model: Its name.
        embed: Makes its vectors.
        planted: Sets whose descriptions say the same as a benchmark's in other words, by the benchmark's name.
        innocent: Sets that only look like one.
    """
    library = Library([benchmark.with_vectors(model) for benchmark in data.benchmarks], data.weights, embed)
    names = [entry.name for entry in library.entries]

    def scores(subject: GuardSubject) -> dict[str, float]:
        measures = library.compare(subject)
        return {
            name: found[Rule.VECTORS].score
            for name, found in zip(names, measures, strict=True)
            if Rule.VECTORS in found
        }

    of_planted = {name: scores(subject).get(name, 0.0) for name, subject in planted.items()}
    of_innocent = {subject.name: max(scores(subject).values(), default=0.0) for subject in innocent}
    highest = max(of_innocent.values(), default=0.0)
    lowest = min(of_planted.values(), default=COPY)
    if lowest <= highest:
        lowest = COPY
    return Calibration(round((highest + lowest) / 2, 3), of_planted, of_innocent)


def written_sets(value: Mapping[str, Mapping[str, Sequence[str]]]) -> list[GuardSubject]:
    """Sets written by hand: by title, then by tool, a description and the arguments.

    Arguments are separated by commas; `name!` is required, `name:number` says a kind other than string.
    """
    return [
        GuardSubject(title, tuple(GuardTool(name, text, _members(given)) for name, (text, given) in tools.items()))
        for title, tools in value.items()
    ]


def _members(given: str) -> tuple[Member, ...]:
    parts = [part.partition(":") for part in given.split(", ") if part]
    return tuple(Member(name.rstrip("!"), kind or "string", name.endswith("!")) for name, _, kind in parts)


def _cut(subject: GuardSubject) -> GuardSubject:
    tools = tuple(GuardTool(tool.name, tool.text[:MAX_TEXT], tool.arguments) for tool in subject.tools)
    return GuardSubject(subject.name, tools, subject.tables, subject.texts)


def _needed(weights: Weights, benchmarks: Sequence[BenchmarkData]) -> Weights:
    used = {
        name_key(member.name)
        for benchmark in benchmarks
        for members in [*benchmark.entry.arguments, *benchmark.entry.columns]
        for member in members
    }
    common = int(np.ceil(0.02 * weights.num_documents))
    counts = {name: count for name, count in weights.counts.items() if name in used or count >= common}
    return Weights(weights.num_documents, counts)
