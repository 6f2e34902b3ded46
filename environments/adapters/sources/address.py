"""One address with the files that it refers to; of a documentation page the description that it links to."""

import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final
from urllib.parse import urldefrag, urljoin, urlsplit

from environments.adapters.fetching import FetchedPage, FetchPolicy, fetch
from environments.core.errors import FetchFailedError, FetchRefusedError
from environments.core.sources.model import Fetched
from environments.core.sources.openapi import OpenApiReader
from environments.core.sources.web_pages import description_links

MAX_RELATED: Final = 64
MAX_RELATED_BYTES: Final = 64 << 20
MAX_NAMED: Final = 1_000
"""Files that one document may name; a real one names some dozens."""
MAX_LINKS: Final = 6
"""Links to a description that are tried on a page."""
_REFERENCE: Final = re.compile(rb"""\$ref["']?\s*:\s*["']?([^"'#\s,}\]]{1,500})""")
_DATA: Final = re.compile(r"\.(json|ya?ml)$", re.IGNORECASE)

Fetch = Callable[[str, FetchPolicy], FetchedPage]


def fetch_source(address: str, policy: FetchPolicy, *, get: Fetch = fetch) -> Fetched:
    """Reads an address, and the JSON and YAML files of the same host that its `$ref`s name.

    A documentation page that links to an OpenAPI document stands for that document, which is read instead. A file that
    can't be had is left out: what refers to it is then noted as unresolved by the reader. All of it together takes no
    longer than the policy allows for one address.

    Raises:
        FetchRefusedError, FetchFailedError: As `fetch` does, for the address itself.
    """
    deadline = time.monotonic() + policy.total_seconds
    page = get(address, policy)
    described = _linked_description(page, policy, deadline, get)
    if described is not None:
        page = described
    related = dict(_related(page, policy, deadline, get))
    return Fetched(urldefrag(page.address).url, page.data, page.media_type, related)


def _linked_description(page: FetchedPage, policy: FetchPolicy, deadline: float, get: Fetch) -> FetchedPage | None:
    """The OpenAPI document that a page links to, one hop away."""
    reader = OpenApiReader()
    for link in description_links(Fetched(page.address, page.data, page.media_type))[:MAX_LINKS]:
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        try:
            found = get(link, replace(policy, total_seconds=left))
        except (FetchRefusedError, FetchFailedError):
            continue
        if reader.recognises(Fetched(found.address, found.data, found.media_type)):
            return found
    return None


def _related(page: FetchedPage, policy: FetchPolicy, deadline: float, get: Fetch) -> Iterator[tuple[str, bytes]]:
    waiting = deque(named_files(page.address, page.data))
    seen = {urldefrag(page.address).url}
    num_files = num_bytes = 0
    while waiting and num_files < MAX_RELATED and num_bytes < MAX_RELATED_BYTES:
        following = waiting.popleft()
        left = deadline - time.monotonic()
        if left <= 0:
            return
        if following in seen or not _is_same_host(following, page.address):
            continue
        seen.add(following)
        size = min(policy.max_bytes, MAX_RELATED_BYTES - num_bytes)
        try:
            part = get(following, replace(policy, max_bytes=size, total_seconds=left))
        except (FetchRefusedError, FetchFailedError):
            continue
        if not _is_same_host(part.address, page.address):
            continue
        num_files += 1
        num_bytes += len(part.data)
        yield following, part.data
        waiting.extend(named_files(following, part.data))


def _is_same_host(address: str, other: str) -> bool:
    return urlsplit(address)[:2] == urlsplit(other)[:2]


def named_files(address: str, data: bytes) -> list[str]:
    """JSON and YAML files that a document refers to, by their whole addresses, in order; at most `MAX_NAMED`."""
    found: dict[str, None] = {}
    for match in _REFERENCE.finditer(data):
        try:
            whole = urldefrag(urljoin(address, match.group(1).decode(errors="replace"))).url
            if _DATA.search(urlsplit(whole).path):
                found[whole] = None
        except ValueError:
            continue
        if len(found) >= MAX_NAMED:
            break
    return list(found)
