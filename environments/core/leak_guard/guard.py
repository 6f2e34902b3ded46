"""The guard: what resembles a public benchmark stays out (docs/leak_guard.md)."""

from collections.abc import Mapping
from typing import Final

from environments.core.embedding.lexical import split_words
from environments.core.leak_guard.data import GuardData, Limits
from environments.core.leak_guard.library import Embed, Library
from environments.core.leak_guard.model import Examination, GuardSubject, Hit, Measure, Nearness, Rule

RULES_VERSION: Final = 1
"""Raised whenever the same data would lead to other hits."""
NUM_NEAREST: Final = 5


class Guard:
    """Compares subjects with the public benchmarks of a data file.

    A subject is hit by a benchmark if any rule of the file's limits fires. One generic name, one common argument list
    or one usual sentence never is enough: each rule needs several counterparts, and common arguments count little.
    Words of a benchmark's field (`airline`) are only reported. Same input, same result.

    Args:
        data: The file.
        embed: Makes vectors of the model `embedder`; without it the vector rule is not applied.
        embedder: A model that the file has vectors and a threshold of.

    Raises:
        ValueError: The file has no vectors of that model.
    """

    def __init__(self, data: GuardData, embed: Embed | None = None, embedder: str | None = None) -> None:
        if embed is not None and embedder not in data.vector_thresholds:
            raise ValueError(f"The leak guard has no vectors of {embedder!r}.")
        self.embedder = embedder if embed is not None else None
        self.version = "-".join(str(part) for part in (RULES_VERSION, data.sha256[:12], self.embedder or "no vectors"))
        self._keywords = [frozenset(benchmark.keywords) for benchmark in data.benchmarks]
        self._limits = _limits(data, self.embedder)
        entries = [benchmark.with_vectors(self.embedder) for benchmark in data.benchmarks]
        self._library = Library(entries, data.weights, embed)

    def check(self, subject: GuardSubject) -> tuple[Hit, ...]:
        """What the subject is hit by; nothing if it may come in."""
        return self.examine(subject).hits

    def examine(self, subject: GuardSubject) -> Examination:
        """What the subject is hit by, and which benchmarks come nearest."""
        words = {*split_words(subject.name)}
        for tool in subject.tools:
            words.update(split_words(tool.name))
        hits: list[Hit] = []
        near: list[tuple[float, Nearness]] = []
        entries = zip(self._library.entries, self._library.compare(subject), self._keywords, strict=True)
        for entry, measures, keywords in entries:
            for rule, measure in measures.items():
                limits = self._limits.get(rule)
                if limits is not None and _fires(measure, limits):
                    hits.append(
                        Hit(entry.name, rule, measure.score, limits.threshold, measure.num_matched, measure.neighbours)
                    )
            near.append((self._nearness(measures), Nearness(entry.name, measures, tuple(sorted(keywords & words)))))
        # Equally near ones keep the order of their names.
        near.sort(key=lambda each: -each[0])
        nearest = tuple(each for score, each in near[:NUM_NEAREST] if score > 0)
        return Examination(tuple(hits), nearest, self.embedder)

    def _nearness(self, measures: Mapping[Rule, Measure]) -> float:
        """How far the nearest rule has come: 1 where it would fire."""
        return max(
            (_progress(measure, self._limits[rule]) for rule, measure in measures.items() if rule in self._limits),
            default=0.0,
        )


def _limits(data: GuardData, embedder: str | None) -> dict[Rule, Limits]:
    limits = dict(data.limits)
    if embedder is not None:
        limits[Rule.VECTORS] = Limits(data.vector_thresholds[embedder], 1)
    return limits


def _fires(measure: Measure, limits: Limits) -> bool:
    return (
        measure.score >= limits.threshold
        and measure.num_matched >= limits.min_matched
        and measure.evidence >= limits.min_evidence
    )


def _progress(measure: Measure, limits: Limits) -> float:
    evidence = measure.evidence / limits.min_evidence if limits.min_evidence else 1.0
    return min(measure.score / limits.threshold, measure.num_matched / limits.min_matched, evidence, 1.0)
