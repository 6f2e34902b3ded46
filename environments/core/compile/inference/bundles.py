"""Which documents are compiled together: siblings of one service joined, older versions of an API left out."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from environments.core.compile.apis import api_of, edition_order
from environments.core.compile.reading.words import squash
from environments.core.compile.semantics import SourcedOperation, SourceFacts

MIN_SHARED: Final = 0.7
"""Share of the smaller document's operations that another has, too, for both to be versions of one API."""
_VERSION_PART: Final = re.compile(r"/(v?\d[\w.\-]*|api|rest|beta|alpha|preview)(?=/|$)", re.IGNORECASE)
_PARAMETER: Final = re.compile(r"\{[^{}]*\}")
_NAMESPACE: Final = re.compile(r"/providers/([A-Za-z]+\.[A-Za-z.]+?)(?=/|$)")


@dataclass(frozen=True, slots=True)
class Document:
    """The operations of one document."""

    facts: SourceFacts
    operations: tuple[SourcedOperation, ...]

    @property
    def keys(self) -> frozenset[str]:
        """What its operations are called, versions and parameter names apart."""
        return frozenset(_plain_key(each) for each in self.operations)


def _plain_key(each: SourcedOperation) -> str:
    path = _PARAMETER.sub("{}", _VERSION_PART.sub("", each.operation.path))
    return f"{each.operation.method} {path}" if path else each.operation.key


def documents_of(operations: Iterable[SourcedOperation]) -> list[Document]:
    """The operations by their document, documents by address and hash: the order in which they came says nothing."""
    found: dict[str, list[SourcedOperation]] = defaultdict(list)
    for each in operations:
        found[each.facts.sha256].append(each)
    documents = [Document(each[0].facts, tuple(each)) for each in found.values()]
    return sorted(documents, key=lambda each: (each.facts.provider, each.facts.address, each.facts.sha256))


def newest(documents: Sequence[Document]) -> tuple[list[Document], list[tuple[Document, Document]]]:
    """Of versions of one API the newest.

    Returns:
        Documents to compile, and pairs of an older one with the one that stands for it.
    """
    editions: dict[str, Document] = {}
    for document in documents:
        api = api_of(document.facts.provider, document.facts.address)
        known = editions.get(api)
        editions[api] = document if known is None else max(known, document, key=_edition)
    heads = {id(document) for document in editions.values()}
    # The newest of each API first: whatever an older one shares with it, it is the older one.
    ranked = sorted(documents, key=lambda each: (id(each) in heads, *_rank(each)), reverse=True)
    owners: dict[str, list[int]] = defaultdict(list)
    kept: list[Document] = []
    older: list[tuple[Document, Document]] = []
    for document in ranked:
        keys = document.keys
        shared: Counter[int] = Counter()
        for key in keys:
            shared.update(owners[key])
        best = max(shared.items(), key=lambda each: (each[1], -each[0]), default=None)
        if best is not None and best[1] >= MIN_SHARED * min(len(keys), len(kept[best[0]].keys)) and best[1] > 1:
            older.append((document, kept[best[0]]))
            continue
        for key in keys:
            owners[key].append(len(kept))
        kept.append(document)
    order = {id(document): position for position, document in enumerate(documents)}
    return sorted(kept, key=lambda each: order[id(each)]), older


def _edition(document: Document) -> tuple[object, ...]:
    """Sorts readings of one API, the newest last."""
    return edition_order(document.facts.version, document.facts.address), document.facts.sha256


def _rank(document: Document) -> tuple[int, object]:
    """Across APIs the larger document stands for the smaller one."""
    return len(document.operations).bit_length(), _edition(document)


def services(documents: Sequence[Document]) -> list[tuple[str, list[Document]]]:
    """Documents by service: those of one namespace or title together.

    Returns:
        (title, documents) pairs in the order of their first document.
    """
    found: dict[str, list[Document]] = {}
    titles: dict[str, str] = {}
    for document in documents:
        name, title = _service(document)
        found.setdefault(name, []).append(document)
        titles.setdefault(name, title)
    return [(titles[name], each) for name, each in found.items()]


def _service(document: Document) -> tuple[str, str]:
    spaces = Counter(
        match[1] for each in document.operations for match in [_NAMESPACE.search(each.operation.path)] if match
    )
    if spaces:
        space, count = spaces.most_common(1)[0]
        if count * 2 >= len(document.operations):
            return f"namespace {space.lower()}", space.split(".")[-1]
    return f"title {squash(document.facts.title) or document.facts.sha256}", document.facts.title
