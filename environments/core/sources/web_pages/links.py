"""Links of a page to a machine-readable description of the same API."""

import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import urljoin, urlsplit

from environments.core.errors import UnreadableSourceError
from environments.core.sources.model import Fetched
from environments.core.sources.web_pages.blocks import (
    MAX_HTML_BYTES,
    MAX_MARKDOWN_BYTES,
    decode,
    is_html,
)
from environments.core.sources.web_pages.html_tokens import Tag, tokens_of

MAX_LINKS: Final = 20
MAX_SCRIPT_LENGTH: Final = 1_000_000
_MAX_ANCHOR_PARTS: Final = 12
_MAX_ADDRESS_LENGTH: Final = 2_000
_DESCRIPTION: Final = re.compile(
    r"(?:^|[/._=-])(?:openapi|swagger|api-docs?|apispec)[^/?#]*(?:\.(?:json|ya?ml))?(?:[?#].*)?$", re.IGNORECASE
)
_DATA: Final = re.compile(r"\.(?:json|ya?ml)(?:[?#].*)?$", re.IGNORECASE)
_SAID: Final = re.compile(r"\b(?:openapi|swagger)\b", re.IGNORECASE)
_CONFIGURED: Final = re.compile(
    r"""\b(?:url|specUrl|spec_url|spec-url|definitionURL|apiDescriptionUrl|content_url|sourceUrl)["']?\s{0,9}[:=]\s{0,9}["']([^"'\s<>]{1,500})["']"""
    r"""|\bRedoc\.init\(\s{0,9}["']([^"'\s<>]{1,500})["']""",
    re.IGNORECASE,
)
_MARKDOWN: Final = re.compile(r"\[([^\[\]]{0,200})\]\(\s{0,9}<?([^\s()<>]{1,500})>?[^()]{0,200}\)")
_ATTRIBUTES: Final = ("spec-url", "apidescriptionurl", "data-url", "data-spec-url", "spec-src")
_DEMO: Final = "petstore.swagger.io"
"""What an unconfigured Swagger UI shows; nobody means it."""


def description_links(fetched: Fetched) -> list[str]:
    """Addresses of machine-readable descriptions that a page names, the most certain first; empty for what is no page.

    Args:
        fetched: A page; nothing in it is run, and nothing is fetched.
    """
    try:
        if is_html(fetched.data, fetched.media_type):
            return links_of_html(tokens_of(decode(fetched.data, MAX_HTML_BYTES)), fetched.address)
        if fetched.data.lstrip()[:1] in (b"{", b"["):
            return []
        return links_of_markdown(decode(fetched.data, MAX_MARKDOWN_BYTES), fetched.address)
    except UnreadableSourceError:
        return []


def links_of_html(tokens: Iterable[Tag | str], address: str) -> list[str]:
    """The same of an HTML page."""
    certain: list[str] = []
    configured: list[str] = []
    anchors: list[str] = []
    base = address
    anchor: list[str] | None = None  # address and text of the one that is open
    for token in tokens:
        if isinstance(token, str):
            if anchor is not None and len(anchor) < _MAX_ANCHOR_PARTS:
                anchor.append(token[:200])
            continue
        if token.name == "a":
            if anchor is not None and _is_meant(anchor[0], "".join(anchor[1:])):
                anchors.append(anchor[0])
            given = token.attributes.get("href", "") if not token.is_end else ""
            anchor = [given] if given else None
        if token.is_end:
            continue
        if token.name == "script" and token.raw:
            configured.extend(_of_script(token.raw[:MAX_SCRIPT_LENGTH]))
        elif token.name == "base" and base == address and "href" in token.attributes:
            base = _whole(address, token.attributes["href"]) or address
        elif token.name in ("link", "a"):
            relations = token.attributes.get("rel", "").lower().split()
            is_openapi = "openapi" in token.attributes.get("type", "").lower()
            if "service-desc" in relations or (token.name == "link" and "alternate" in relations and is_openapi):
                certain.append(token.attributes.get("href", ""))
        configured.extend(token.attributes[name] for name in _ATTRIBUTES if token.attributes.get(name))
        del certain[MAX_LINKS:], configured[MAX_LINKS:], anchors[MAX_LINKS:]
    return _whole_links([*certain, *configured, *anchors], base, address)


def links_of_markdown(text: str, address: str) -> list[str]:
    """The same of a Markdown page's text."""
    return _whole_links(_of_markdown(text), address, address)


def _whole_links(found: Iterable[str], base: str, own: str) -> list[str]:
    links: dict[str, None] = {}
    for each in found:
        whole = _whole(base, each)
        if whole and whole != own:
            links[whole] = None
        if len(links) == MAX_LINKS:
            break
    return list(links)


def _whole(base: str, address: str) -> str | None:
    try:
        whole = urljoin(base, address.strip())
        parts = urlsplit(whole)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or len(whole) > _MAX_ADDRESS_LENGTH:
        return None
    if parts.hostname == _DEMO and urlsplit(base).hostname != _DEMO:
        return None
    return whole


def _of_script(text: str) -> Iterator[str]:
    """Addresses that a script hands to a viewer of descriptions."""
    for match in _CONFIGURED.finditer(text):
        address = match.group(1) or match.group(2)
        if _DATA.search(address) or _DESCRIPTION.search(address):
            yield address


def _of_markdown(text: str) -> Iterator[str]:
    for match in _MARKDOWN.finditer(text):
        if _is_meant(match.group(2), match.group(1)):
            yield match.group(2)


def _is_meant(address: str, text: str) -> bool:
    """Whether a link's address or words name a description rather than a page about one."""
    path = address.split("#", 1)[0]
    return bool(_DATA.search(path)) and bool(_DESCRIPTION.search(path) or _SAID.search(text))
