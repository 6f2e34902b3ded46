"""What things are called: names by the noun that they are instances of.

A family is found by the last two words of a noun, then by single ones.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from environments.core.compile.reading.words import singular
from environments.core.compile.rows.noun_families import FAMILIES, Family, Style

__all__ = ["Style", "family_of", "is_company", "is_person", "names_for", "numbered", "slug", "style_of"]

_GENERIC_FIRST: Final = (
    "Spring", "Summer", "Autumn", "Winter", "Harbour", "Northgate", "Riverside", "Central", "Weekend", "Annual",
    "Regional", "Pilot", "Standard", "Evening", "Coastal", "Partner",
)  # fmt: skip
_QUALIFIERS: Final = (
    "North", "South", "East", "West", "Lyon", "Leeds", "Bergen", "Porto", "Spring", "Autumn", "Pilot", "Annex",
)  # fmt: skip

_BY_WORD: Final[dict[str, Family]] = {}
for _each in FAMILIES:
    for _noun in _each.nouns:
        _BY_WORD.setdefault(_noun, _each)

CLOUD_FAMILIES: Final = frozenset({"azure", "aws", "google"})
"""Conventions under which nearly everything is named by machines or for them."""


@lru_cache(4096)
def family_of(noun: str) -> Family | None:
    """The family that a snake-case noun belongs to; its last two words are looked at first, then single ones."""
    words = singular(noun).split("_")
    if len(words) > 1:
        found = _BY_WORD.get("_".join(words[-2:]))
        if found is not None:
            return found
    return _BY_WORD.get(words[-1]) or (_BY_WORD.get(words[-2]) if len(words) > 1 else None)


@lru_cache(4096)
def style_of(noun: str, is_cloud: bool = False) -> Style:
    """How instances of the noun are named."""
    family = family_of(noun)
    style = family.style if family else Style.TITLE
    if is_cloud and style in (Style.TITLE, Style.PLACE, Style.COMPANY):
        return Style.SLUG
    return style


def is_person(noun: str) -> bool:
    """Whether the noun is a human being."""
    return style_of(noun) is Style.PERSON


def is_company(noun: str) -> bool:
    """Whether the noun is a business."""
    return style_of(noun) is Style.COMPANY


@lru_cache(4096)
def names_for(noun: str, is_cloud: bool = False) -> tuple[str, ...]:
    """A dozen names or more for instances of a noun, all different; people and companies have names of their own."""
    family = family_of(noun)
    names: Sequence[str] = family.names if family else ()
    if not names:
        head = singular(noun).split("_")[-1]
        names = [f"{first} {head}" for first in _GENERIC_FIRST]
    if style_of(noun, is_cloud) is Style.SLUG:
        names = [slug(name) for name in names]
    return tuple(dict.fromkeys(names))


def numbered(name: str, turn: int) -> str:
    """Another name like one that is taken: `Spring Newsletter North`, `web-01-lyon`, then with numbers."""
    qualifier = _QUALIFIERS[(turn - 1) % len(_QUALIFIERS)]
    number = (turn - 1) // len(_QUALIFIERS)
    is_slug = " " not in name and name == name.lower()
    joined = f"{name}-{qualifier.lower()}" if is_slug else f"{name} {qualifier}"
    return joined if not number else f"{joined}{'-' if is_slug else ' '}{number + 1}"


@lru_cache(16384)
def slug(text: str) -> str:
    """Lower-case words of ASCII joined by hyphens; dots stay."""
    folded = text.translate(_FOLD).lower()
    made = "".join(character if character in _SLUG_CHARACTERS else "-" for character in folded)
    while "--" in made:
        made = made.replace("--", "-")
    return made.strip("-.") or "x"


_FOLD: Final = str.maketrans({"ö": "o", "ä": "a", "ü": "u", "é": "e", "è": "e", "ø": "o", "å": "a", "ç": "c", "'": ""})
_SLUG_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-.")
