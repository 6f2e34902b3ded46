"""What collections and folders consist of."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from environments.core.sources.model import Fetched


@dataclass(frozen=True, slots=True)
class CollectionEntry:
    """One document of a collection.

    Attributes:
        key: Its place; entries come in the order of their keys, and a crawl goes on behind the last finished one.
        provider: Whose API it is, as the collection says; empty if it says nothing.
        address: The document's own.
        load: Reads it.
    """

    key: str
    provider: str
    address: str
    load: Callable[[], Fetched]


class Collection(Protocol):
    """Many documents under one name."""

    name: str

    def entries(self, after: str = "") -> Iterator[CollectionEntry]:
        """Entries with keys behind `after`, in the order of their keys."""
