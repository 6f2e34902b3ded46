"""Which documents belong together: versions of one API, and batches of one provider's work."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

MAX_BATCH_OPERATIONS: Final = 1_500
"""A provider with more operations is shared between several batches."""

Item = TypeVar("Item")

_ENDING: Final = re.compile(r"\.(json|ya?ml|html?|md|py|txt)$", re.IGNORECASE)
_UPLOAD: Final = re.compile(r"^upload:[0-9a-f]{16}/")
_VERSION: Final = re.compile(
    r"(?<![a-z0-9])(v?\d+(?:[._]\d+)*(?:-\d\d-\d\d)?(?:[._-]?(?:preview|alpha|beta|rc)\d*)*|alpha|beta|preview)(?![a-z0-9])",
    re.IGNORECASE,
)
_EARLY: Final = re.compile(r"(?<![a-z])(preview|alpha|beta|rc|draft|dev)", re.IGNORECASE)


def api_of(provider: str, address: str) -> str:
    """The API that a document describes, whichever of its versions: its provider and its address without versions."""
    path = _path(address)
    bare = re.sub(r"[-_. /]{2,}", "-", _VERSION.sub("", path)).strip("-_. /")
    return f"{provider} {bare.lower()}".strip()


def version_order(text: str) -> tuple[Any, ...]:
    """Sorts versions: by their numbers, an early one (preview, beta) below the release; no version comes first."""
    numbers = tuple(int(number[:12]) for number in re.findall(r"\d+", text))
    early = _EARLY.search(text)
    # Without the suffix's own number: beta2 of 1.0 stays below 1.0.
    head = tuple(int(number[:12]) for number in re.findall(r"\d+", text[: early.start()])) if early else numbers
    return (head, early is None, numbers, text)


def edition_order(version: str, address: str) -> tuple[Any, ...]:
    """Sorts documents of one API, the newest last: by their own version, and by the address where that is the same.

    Any release is newer than any early version, since an early one may never have been released.
    """
    in_address = version_order(" ".join(_VERSION.findall(_path(address))))
    return _EARLY.search(version) is None, version_order(version), in_address


def _path(address: str) -> str:
    """Of an address, what names the document: without scheme, host of a collection, ending."""
    bare = _UPLOAD.sub("", address.partition("?")[0].partition("#")[0])
    bare = re.sub(r"^[a-z][a-z0-9+.-]*:(//)?", "", bare)
    return _ENDING.sub("", bare)


@dataclass(frozen=True, slots=True)
class DocumentSize:
    """A document as far as batches care.

    Attributes:
        key: What the caller calls it.
        provider: Whose API.
        address: Of its source.
        num_operations: That would be compiled.
    """

    key: str
    provider: str
    address: str
    num_operations: int


@dataclass(frozen=True, slots=True)
class Batch:
    """A share of one provider's environments: its documents are compiled together, since siblings belong together.

    Compiling is cheap and verifying is not, so each batch of a large provider compiles all of its documents and goes on
    with its own share of the environments; names and sizes then don't depend on how the work was cut.

    Attributes:
        key: Unique: the provider, and which share of how many.
        provider: Whose.
        documents: Keys of documents, by address.
        part: Which share, from 1.
        num_parts: Of how many.
        num_operations: Of all documents.
    """

    key: str
    provider: str
    documents: tuple[str, ...]
    part: int
    num_parts: int
    num_operations: int


def make_batches(documents: Iterable[DocumentSize], max_operations: int = MAX_BATCH_OPERATIONS) -> tuple[Batch, ...]:
    """Batches by provider, the order given does not matter.

    A document without a provider is a provider of its own: nothing says that two of them belong together.
    """
    providers: dict[str, list[DocumentSize]] = {}
    for document in sorted(documents, key=lambda each: (each.provider, each.address, each.key)):
        providers.setdefault(document.provider or document.address, []).append(document)
    return tuple(batch for name in sorted(providers) for batch in _batches(name, providers[name], max_operations))


def _batches(name: str, documents: Sequence[DocumentSize], max_operations: int) -> list[Batch]:
    size = sum(document.num_operations for document in documents)
    parts = max(1, -(-size // max_operations))
    keys = tuple(document.key for document in documents)
    return [
        Batch(name if parts == 1 else f"{name} {part}/{parts}", documents[0].provider, keys, part, parts, size)
        for part in range(1, parts + 1)
    ]


def share_of(items: Sequence[Item], part: int, num_parts: int) -> Sequence[Item]:
    """The share of a batch: every `num_parts`-th, so that large and small ones are spread."""
    return items[part - 1 :: num_parts]
