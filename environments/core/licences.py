"""What a document's own words allow: what ships with the project and what later exports take must be free."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from environments.core.sources.model import DocumentLicence
from environments.core.sources.text_values import clean_text

Terms = Literal["free", "other", "unknown"]

_FREE: Final = re.compile(
    r"CC0(-1\.0)?|0BSD|MIT(-0)?|BSD-[1-4]-Clause(-[A-Z-]+)?|Apache-(1\.[01]|2\.0)|CC-BY-[1-4]\.[05](-[A-Z]{2})?|"
    r"Unlicense|PDDL-1\.0",
    re.IGNORECASE,
)
"""SPDX identifiers that are free here: CC0, MIT, BSD, Apache, CC BY and dedications to the public domain."""

_FREE_BY_WORD: Final = re.compile(
    r"(in the )?(u\.? ?s\.? )?public domain|(the )?apache( software)?|(the )?bsd|"
    r"(cc|creative commons)[ -](by|attribution)"
)
"""Free in whatever version is meant, though no identifier stands for it."""

_LICENCE: Final = r"([ ,-]*licen[sc]e)?"
_NAMES: Final = tuple(
    (re.compile(pattern), identifier)
    for pattern, identifier in (
        (rf"(the )?mit{_LICENCE}", "MIT"),
        (rf"(the )?apache([ ,-]*(software )?licen[sc]e)?[ ,-]*(version |v)?2(\.0)?{_LICENCE}", "Apache-2.0"),
        (rf"(new |revised |modified )?bsd[ -]?3([ -]clause)?{_LICENCE}", "BSD-3-Clause"),
        (rf"(simplified )?bsd[ -]?2([ -]clause)?{_LICENCE}", "BSD-2-Clause"),
        (rf"(cc[ -]?0|cc[ -]zero)( 1\.0)?( universal)?{_LICENCE}", "CC0-1.0"),
        (rf"(cc[ -]by|creative commons attribution)[ -](v)?4\.0( international)?{_LICENCE}", "CC-BY-4.0"),
        (rf"(cc[ -]by|creative commons attribution)[ -](v)?3\.0( unported)?{_LICENCE}", "CC-BY-3.0"),
        (r"(the )?unlicense", "Unlicense"),
    )
)
"""Names beyond doubt; everything else stays without an identifier."""

_OPEN_SOURCE: Final = r"(www\.)?opensource\.org/licen[sc]es?/"
_ADDRESSES: Final = tuple(
    (re.compile(pattern), identifier)
    for pattern, identifier in (
        (rf"{_OPEN_SOURCE}mit(-license)?(\.php|\.html)?", "MIT"),
        (r"(www\.)?mit-license\.org", "MIT"),
        (r"(www\.)?apache\.org/licenses/license-2\.0(\.html|\.txt)?", "Apache-2.0"),
        (rf"{_OPEN_SOURCE}apache-2\.0(\.php|\.html)?", "Apache-2.0"),
        (rf"{_OPEN_SOURCE}bsd-3-clause(\.php|\.html)?", "BSD-3-Clause"),
        (rf"{_OPEN_SOURCE}bsd-2-clause(\.php|\.html)?", "BSD-2-Clause"),
        (r"(www\.)?creativecommons\.org/publicdomain/zero/1\.0(/.*)?", "CC0-1.0"),
        (r"(www\.)?unlicense\.org", "Unlicense"),
    )
)
_CREATIVE_COMMONS: Final = re.compile(r"(www\.)?creativecommons\.org/licenses/(by[a-z-]*)/([1-4]\.[05])(/.*)?")
_GNU: Final = re.compile(
    r"(www\.)?gnu\.org/(licenses|copyleft)/(?:old-licenses/)?((?:a|l|f)?gpl)(?:-([0-9.]+?))?(\.\w+)*"
)


def licence_of(node: Any) -> DocumentLicence:
    """The licence that a document names, as OpenAPI writes it: an object with name, url and (3.1) identifier."""
    if isinstance(node, str):
        node = {"name": node}
    if not isinstance(node, Mapping):
        return DocumentLicence()
    name = clean_text(node.get("name"), 300) or None
    address = clean_text(node.get("url"), 1_000) or None
    spdx = clean_text(node.get("identifier"), 100) or spdx_of(name, address)
    return DocumentLicence(spdx or None, name, address)


def spdx_of(name: str | None, address: str | None) -> str | None:
    """The SPDX identifier of a licence that its name or address gives beyond doubt.

    A name and an address that stand for two different licences give none.
    """
    found = {identifier for identifier in (_by_name(name), _by_address(address)) if identifier}
    return found.pop() if len(found) == 1 else None


def terms_of(licence: DocumentLicence) -> Terms:
    """Whether the terms are free, something else, or not given at all.

    Of an SPDX expression `A OR B` one must be free, of `A AND B` each. A name that is free in every version counts
    without an identifier, unless the address leads to another licence.
    """
    if licence.spdx:
        return "free" if _is_free(licence.spdx) else "other"
    is_conflict = _by_name(licence.name) is not None  # else there were an identifier
    plain = re.sub(rf"{_LICENCE}$", "", _plain_name(licence.name))
    if plain and _FREE_BY_WORD.fullmatch(plain) and not is_conflict and _by_address(licence.address) is None:
        return "free"
    return "other" if licence.name or licence.address else "unknown"


def _is_free(expression: str) -> bool:
    for word, combine in ((" OR ", any), (" AND ", all)):
        if word in expression:
            return combine(_is_free(part) for part in expression.split(word))
    return _FREE.fullmatch(expression.strip()) is not None


def _plain_name(name: str | None) -> str:
    return re.sub(r"\s+", " ", (name or "").replace('"', "")).strip(" .").lower()


def _by_name(name: str | None) -> str | None:
    plain = _plain_name(name)
    if _FREE.fullmatch(plain):
        return (name or "").strip(' ".')
    return next((identifier for pattern, identifier in _NAMES if pattern.fullmatch(plain)), None)


def _by_address(address: str | None) -> str | None:
    """The licence that an address is the home of; also of those that are not free, so that a conflict shows."""
    if not address:
        return None
    try:
        parts = urlsplit(address if "//" in address else f"https://{address}")
    except ValueError:
        return None
    plain = f"{(parts.hostname or '').lower()}{parts.path}".lower().rstrip("/")
    if found := _CREATIVE_COMMONS.fullmatch(plain):
        return f"CC-{found[2].upper()}-{found[3]}"
    if found := _GNU.fullmatch(plain):
        return f"{found[3].upper()}{f'-{found[4]}' if found[4] else ''}"
    return next((identifier for pattern, identifier in _ADDRESSES if pattern.fullmatch(plain)), None)
