"""The guard's data file: facts and names of public benchmarks, hashes and vectors of their texts, and thresholds."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final, Self

import numpy as np
import orjson

from environments.core.embedding import Vectors
from environments.core.leak_guard import sketches
from environments.core.leak_guard.library import Entry
from environments.core.leak_guard.model import Member, Rule
from environments.core.leak_guard.schemas import Weights

FORMAT: Final = "envfactory-leak-guard/1"


@dataclass(frozen=True, slots=True)
class Limits:
    """When a rule fires: all three are reached.

    Attributes:
        threshold: Of the score.
        min_matched: Counterparts.
        min_evidence: Rare arguments in common.
    """

    threshold: float
    min_matched: int
    min_evidence: float = 0.0


@dataclass(frozen=True, slots=True)
class BenchmarkData:
    """One benchmark, or one domain or class of it.

    Attributes:
        source: The repository that it was read from.
        entry: What is compared; without vectors.
        vectors: By model.
        keywords: Words of its field; never a hit by themselves.
    """

    source: str
    entry: Entry
    vectors: Mapping[str, Vectors] = field(default_factory=dict)
    keywords: tuple[str, ...] = ()

    def with_vectors(self, model: str | None) -> Entry:
        """What is compared, with the vectors of one model or without any."""
        return self.entry if model is None else replace(self.entry, vectors=self.vectors.get(model))


@dataclass(frozen=True, slots=True)
class GuardData:
    """The whole file.

    Attributes:
        sources: Name, address, commit and licence of each repository that it was read from.
        limits: By rule; the vector rule's threshold is the model's own.
        vector_thresholds: By model; vectors of other models can't be compared.
        weights: How common argument names are in public API documents.
        benchmarks: In name order.
        sha256: Of the file's content.
    """

    sources: tuple[Mapping[str, str], ...]
    limits: Mapping[Rule, Limits]
    vector_thresholds: Mapping[str, float]
    weights: Weights
    benchmarks: tuple[BenchmarkData, ...]
    sha256: str = ""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The data of a parsed file.

        Raises:
            ValueError: It has another format.
        """
        if value.get("format") != FORMAT:
            raise ValueError(f"The leak guard's data file has format {value.get('format')!r}, not {FORMAT!r}.")
        weights = value["weights"]
        return cls(
            sources=tuple(value["sources"]),
            limits={Rule(rule): Limits(**limits) for rule, limits in value["limits"].items()},
            vector_thresholds=dict(value["vector_thresholds"]),
            weights=Weights(weights["num_documents"], weights["counts"]),
            benchmarks=tuple(_benchmark(each) for each in value["benchmarks"]),
            sha256=sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest(),
        )

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        return {
            "format": FORMAT,
            "sources": [dict(source) for source in self.sources],
            "limits": {
                rule.value: {
                    "threshold": limits.threshold,
                    "min_matched": limits.min_matched,
                    "min_evidence": limits.min_evidence,
                }
                for rule, limits in self.limits.items()
            },
            "vector_thresholds": dict(self.vector_thresholds),
            "weights": {
                "num_documents": self.weights.num_documents,
                "counts": dict(sorted(self.weights.counts.items())),
            },
            "benchmarks": [_to_json(each) for each in self.benchmarks],
        }


def quantise(vector: Vectors) -> str:
    """A vector's direction in base64 of signed bytes; its length is 1 again after reading."""
    largest = float(np.abs(vector).max(initial=0.0))
    scaled = np.zeros(len(vector)) if largest == 0 else vector / largest * 127
    return base64.b64encode(np.round(scaled).astype(np.int8).tobytes()).decode()


def dequantise(texts: Sequence[str]) -> Vectors:
    """(num_texts, dimension) float32, rows of length 1; zero vectors stay zero."""
    rows = [np.frombuffer(base64.b64decode(text), dtype=np.int8) for text in texts]
    vectors = np.stack(rows).astype(np.float32) if rows else np.zeros((0, 0), dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


def to_text(value: Mapping[str, Any]) -> str:
    """The file's text: one line for each tool and table, so that two versions can be compared line by line."""
    lines = ["{"]
    for key, content in value.items():
        if key != "benchmarks":
            lines.append(f"{_dump(key)}: {_dump(content)},")
    lines.append('"benchmarks": [')
    for number, benchmark in enumerate(value["benchmarks"]):
        lines.append("{")
        parts = []
        for key, content in benchmark.items():
            if isinstance(content, list) and content and key != "keywords":
                rows = ",\n  ".join(_dump(each) for each in content)
                parts.append(f" {_dump(key)}: [\n  {rows}]")
            else:
                parts.append(f" {_dump(key)}: {_dump(content)}")
        lines.append(",\n".join(parts))
        lines.append("}," if number + 1 < len(value["benchmarks"]) else "}")
    lines += ["]", "}", ""]
    return "\n".join(lines)


def _dump(value: Any) -> str:
    return orjson.dumps(value).decode()


def _benchmark(value: Mapping[str, Any]) -> BenchmarkData:
    tools, tables = value["tools"], value["tables"]
    entry = Entry(
        name=value["name"],
        tool_names=tuple(tool["name"] for tool in tools),
        arguments=tuple(_members(tool["arguments"]) for tool in tools),
        wordings=tuple(sketches.from_text(tool["wording"]) for tool in tools),
        table_names=tuple(table["name"] for table in tables),
        columns=tuple(_members(table["columns"]) for table in tables),
        texts=tuple(sketches.from_text(text) for text in value["texts"]),
    )
    models = sorted({model for tool in tools for model in tool["vectors"]})
    vectors = {model: dequantise([tool["vectors"][model] for tool in tools]) for model in models}
    return BenchmarkData(value["source"], entry, vectors, tuple(value["keywords"]))


def _to_json(benchmark: BenchmarkData) -> dict[str, Any]:
    entry = benchmark.entry
    tools = [
        {
            "name": name,
            "arguments": [_member_json(member) for member in entry.arguments[place]],
            "wording": sketches.to_text(entry.wordings[place]),
            "vectors": {model: quantise(vectors[place]) for model, vectors in sorted(benchmark.vectors.items())},
        }
        for place, name in enumerate(entry.tool_names)
    ]
    tables = [
        {"name": name, "columns": [_member_json(member) for member in columns]}
        for name, columns in zip(entry.table_names, entry.columns, strict=True)
    ]
    return {
        "name": entry.name,
        "source": benchmark.source,
        "keywords": list(benchmark.keywords),
        "tools": tools,
        "tables": tables,
        "texts": [sketches.to_text(text) for text in entry.texts],
    }


def _members(value: Sequence[Sequence[Any]]) -> tuple[Member, ...]:
    return tuple(Member(name, kind, bool(is_required)) for name, kind, is_required in value)


def _member_json(member: Member) -> list[Any]:
    return [member.name, member.kind, int(member.is_required)]
