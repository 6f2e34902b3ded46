"""Whose API a document describes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from environments.core.sources.text_values import clean_text

_SECOND_LEVEL: Final = frozenset(
    {"ac", "co", "com", "edu", "gob", "gouv", "gov", "govt", "mil", "net", "nhs", "or", "org"}
)
"""Labels below which country domains are registered, as in `co.uk`."""
_ADDRESS: Final = re.compile(r"[0-9.]*|.*:.*")


def provider_of(info: Mapping[str, Any], servers: Sequence[str], address: str) -> str:
    """The provider's registrable domain name: what a collection wrote into the document, else that of the first server.

    Args:
        info: The document's head; collections add `x-providerName`.
        servers: Where the API is served.
        address: Where the document was read; the last resort.

    Returns:
        Lower case; empty if nothing names a host.
    """
    given = clean_text(info.get("x-providerName"), 200).lower()
    if given:
        return given
    for each in (*servers, address):
        name = registrable_name(each)
        if name:
            return name
    return ""


def registrable_name(address: str) -> str:
    """The name under which an address's host was registered: `example.co.uk` for `https://api.v2.example.co.uk/x`."""
    try:
        host = (urlsplit(address).hostname or "").rstrip(".").lower()
    except ValueError:
        return ""
    if _ADDRESS.fullmatch(host) or host == "localhost":
        return ""
    labels = host.split(".")
    has_second_level = len(labels) >= 3 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL
    name = ".".join(labels[-3:] if has_second_level else labels[-2:])
    return "" if "{" in name or "\0" in name else name
