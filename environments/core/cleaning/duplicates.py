"""Operations that are another one under a new address: MinHash finds candidates, their sets decide."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from datasketch import MinHash, MinHashLSH

from environments.core.cleaning.descriptions import plain_text
from environments.core.embedding.lexical import split_words
from environments.core.sources.model import Document, Operation, Schema, input_schema, named, success_response

SIMILARITY: Final = 0.9
NUM_PERMUTATIONS: Final = 128
CANDIDATE_SIMILARITY: Final = 0.7
"""At which MinHash proposes: set to 0.9 it would miss two thirds of the pairs that are just that similar."""
MIN_FEATURES: Final = 10
"""Below it, operations of two different APIs are alike by chance: `list_tags(resource)`."""

_VERSION: Final = re.compile(r"v?\d+|alpha|beta|preview|latest|stable")
_TWIN: Final = re.compile(r"(?:GET|POST)_(.+)")
"""Some collections list an action that may be called by GET and POST twice."""


@dataclass(frozen=True, slots=True)
class _Known:
    number: int
    api: tuple[str, ...]
    identity: tuple[str, tuple[str, ...], tuple[str, ...]]
    features: frozenset[str]
    details: frozenset[str]


@cache
def _bands() -> tuple[int, int]:
    """Bands and rows for the similarity; finding them takes 40 ms, and each document has an index of its own."""
    index = MinHashLSH(threshold=CANDIDATE_SIMILARITY, num_perm=NUM_PERMUTATIONS)
    return index.b, index.r


class DuplicateIndex:
    """Finds for each operation the earlier one that it repeats.

    Two are alike if their names and paths have the same words in the same order, versions apart, and the Jaccard
    similarity of names and arguments is at least 0.9. If they belong to different APIs (by provider and title), their
    answers and descriptions must be as alike, too, and there must be enough to compare. Of two alike the first added
    is kept, so the result depends on the order of adding and on nothing else. Cost is near linear.

    Reference: Broder, 1997, On the resemblance and containment of documents.
    """

    def __init__(self) -> None:
        self._index = MinHashLSH(num_perm=NUM_PERMUTATIONS, params=_bands())
        self._known: dict[str, _Known] = {}

    def __len__(self) -> int:
        return len(self._known)

    def add(self, code: str, operation: Operation, document: Document) -> str | None:
        """Adds an operation unless it repeats one.

        Args:
            code: Its identity; each is added once.
            operation: What it is.
            document: Where it stands.

        Returns:
            The code of the operation that it repeats, or None: then it is the first of its kind.
        """
        found = _describe(len(self._known), operation, document)
        sketch = MinHash(num_perm=NUM_PERMUTATIONS, seed=1)
        sketch.update_batch([feature.encode() for feature in sorted(found.features)])
        candidates: list[str] = self._index.query(sketch)
        for candidate in sorted(candidates, key=lambda candidate: self._known[candidate].number):
            if _are_alike(found, self._known[candidate]):
                return candidate
        self._known[code] = found
        self._index.insert(code, sketch)
        return None


def _are_alike(one: _Known, other: _Known) -> bool:
    if one.identity != other.identity or jaccard(one.features, other.features) < SIMILARITY:
        return False
    if one.api == other.api:
        return True
    return len(one.features) >= MIN_FEATURES and jaccard(one.details, other.details) >= SIMILARITY


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Share of what two sets have in common, 0 to 1; 1 for two empty ones."""
    return len(one & other) / len(one | other) if one or other else 1.0


def _describe(number: int, operation: Operation, document: Document) -> _Known:
    definitions = document.definitions
    twin = _TWIN.match(operation.name)
    method, name = ("", _plain_words(twin[1])) if twin else (operation.method, _plain_words(operation.name))
    path = _plain_words(operation.path)
    inputs = input_schema(operation, definitions)["properties"]
    features = {f"name {word}" for word in name} | {f"path {word}" for word in path}
    features |= {f"input {each} {_type(schema, definitions)}" for each, schema in inputs.items()}
    said = plain_text(f"{operation.title} {operation.description}")
    details = features | {f"said {word}" for word in split_words(said)} | _outputs(operation, definitions)
    api = (document.provider, *sorted(_plain_words(document.title)))
    return _Known(number, api, (method, name, path), frozenset(features), frozenset(details))


def _plain_words(text: str) -> tuple[str, ...]:
    return tuple(word for word in split_words(text) if not _VERSION.fullmatch(word))


def _outputs(operation: Operation, definitions: Mapping[str, Schema]) -> set[str]:
    answer = success_response(operation)
    if answer is None or answer.schema is None:
        return set()
    result = named(answer.schema, definitions)
    if isinstance(result.get("items"), Mapping):
        result = named(result["items"], definitions)
    members: Iterable[str] = result.get("properties") or ()
    return {f"output {name}" for name in members}


def _type(schema: Mapping[str, Any], definitions: Mapping[str, Schema]) -> str:
    kind = named(schema, definitions).get("type", "")
    return "|".join(map(str, kind)) if isinstance(kind, list) else str(kind)
