"""What a description says of a text in so many words: its values, or the shape that it has."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from environments.core.compile.reading.words import singular, words_of

_MOST: Final = 16
_WORD: Final = r"[A-Za-z][\w.-]{0,29}"
_ANY_QUOTED: Final = r"[`'\"“‘]+[\w.#:()-]{1,40}[`'\"”’]+"  # noqa: RUF001
_JOINT: Final = r"\s*(?:,\s*(?:and\s|or\s)?|\band\b|\bor\b|\||/)\s*"
_INTRODUCTION: Final = (
    r"(?:one of|can be|either|must be|"
    r"(?:possible|valid|allowed|accepted|supported|available|permitted|acceptable)"
    r" (?:values|options|types|states|statuses|kinds)(?: are| include| is)?)"
)
_QUOTED_LIST: Final = re.compile(
    rf"{_INTRODUCTION}\b[^.]{{0,16}}?((?:{_ANY_QUOTED}(?:{_JOINT})?){{2,}})", re.IGNORECASE
)
_BARE_LIST: Final = re.compile(
    rf"(?:one of|(?:possible|valid|allowed|accepted|supported|available|permitted|acceptable)"
    rf" (?:values|options|types|states|statuses|kinds)(?: are| include)?)(?: the following)?\s*[:-]\s*"
    rf"\(?({_WORD}(?:{_JOINT}{_WORD}){{1,{_MOST}}})\)?\s*(?=[.;)\n]|$)",
    re.IGNORECASE,
)
_BRACKETED: Final = re.compile(
    rf"[(\[]((?:{_WORD}|{_ANY_QUOTED})(?:\s*[,|/]\s*(?:or\s)?(?:{_WORD}|{_ANY_QUOTED}))+)[)\]]"
)
_ALWAYS: Final = re.compile(r"\b(?:always|fixed to)\s+[`'\"]([\w.#/-]{2,60})[`'\"]", re.IGNORECASE)
_MEMBER: Final = re.compile(r"[\w.#:()-]+")
_NO_VALUES: Final = frozenset({"e.g", "i.e", "etc", "eg", "ie", "and", "or", "see", "optional", "required", "default"})


@lru_cache(4096)
def listed_values(description: str, is_category: bool) -> tuple[str, ...]:
    """The values that a description lists, at least two, or the one that it always is; else none.

    Args:
        description: The document's words.
        is_category: Whether the column's name says that it holds one of a few words: then a bare list in brackets
            will do.
    """
    if not description:
        return ()
    patterns = (_QUOTED_LIST, _BARE_LIST, _BRACKETED) if is_category else (_QUOTED_LIST, _BARE_LIST)
    for pattern in patterns:
        for match in pattern.finditer(description):
            words = [word.rstrip(".-") for word in _MEMBER.findall(match.group(1))]
            if pattern is not _QUOTED_LIST or " or " in match.group(1) or " and " in match.group(1):
                words = [word for word in words if word.lower() not in ("and", "or")]
            found = tuple(dict.fromkeys(word for word in words if word))
            if len(found) > 1 and not _NO_VALUES & {word.lower() for word in found}:
                return found[:_MOST]
    always = _ALWAYS.search(description)
    return (always.group(1),) if always else ()


# --- Shapes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Gap:
    """A place in a shape that is filled.

    Attributes:
        word: What the description calls it; empty for `*`.
        noun: Of the thing that is named there.
    """

    word: str
    noun: str


Shape = tuple[str | Gap, ...]

_PLACE: Final = r"(?:\$?\{\{?[\w.=*-]+\}?\}|<[\w .-]+>|\[[A-Z_]+\]|\*|:[a-z]\w+)"
_SEGMENT: Final = rf"(?:[\w.@~-]|{_PLACE})*"
_SHAPED: Final = re.compile(rf"(?<![\w/:*-])((?://)?/?(?:[\w.-]+|{_PLACE})(?:[/:]{_SEGMENT})+)")
_GAP: Final = re.compile(_PLACE)
_RESOURCES: Final = re.compile(
    r"^(?:(?://[\w.]+/)?(?:projects|organizations|folders|billingAccounts|accounts|locations|customers)/|"
    r"/subscriptions/|arn:aws)"
)
_MOST_SEGMENTS: Final = 16
_ARN_GAPS: Final = {3: "region", 4: "account"}
_FIXED: Final = frozenset({"providers", "-", "global"})


@lru_cache(4096)
def stated_shape(description: str) -> Shape:
    """The first shape of a path or name that a description gives: `projects/{project}/locations/{location}`."""
    if "/" not in description and "arn:" not in description:
        return ()
    for match in _SHAPED.finditer(description):
        text = match.group(1).rstrip(".:,")
        gaps = _GAP.findall(text)
        is_resource = bool(_RESOURCES.match(text))
        is_plain_form = bool(gaps) and "/" in text and text.split("/")[0].endswith("s") and "://" not in text
        if text.count("/") > _MOST_SEGMENTS or not (is_resource or is_plain_form):
            continue
        shape = _arn(text) if text.startswith("arn:") else _segments(text, has_gaps=bool(gaps))
        if any(isinstance(part, Gap) for part in shape):
            return shape
    return ()


def _segments(text: str, *, has_gaps: bool) -> Shape:
    """A path; without placeholders every second part of it is an example."""
    parts: list[str | Gap] = []
    before = ""
    for number, segment in enumerate(text.split("/")):
        lead = "/" if number else ""
        gap = _GAP.fullmatch(segment)
        is_example = not has_gaps and before.endswith("s") and segment and before not in _FIXED
        if gap is not None or (is_example and segment not in _FIXED):
            word = "" if gap is None or segment == "*" else "_".join(words_of(segment.strip("${}<>[]:").split("=")[0]))
            parts += [lead, Gap(word, "_".join(words_of(singular(before))) or word)]
            before = ""
        else:
            parts.append(lead + segment)
            before = segment
    return tuple(parts)


def _arn(text: str) -> Shape:
    """`arn:aws:service:region:account:type/name`; only regions and accounts that are there are filled."""
    parts: list[str | Gap] = []
    fields = text.split(":", 5)
    for number, each in enumerate(fields):
        lead = ":" if number else ""
        if number in _ARN_GAPS and each:
            parts += [lead, Gap(_ARN_GAPS[number], _ARN_GAPS[number])]
        elif number == len(fields) - 1 and number > 2:
            noun, mark, name = each.rpartition("/") if "/" in each else each.rpartition(":")
            kind = "_".join(words_of(_GAP.sub("", noun).strip("/:") or fields[2]))
            is_literal = bool(noun) and not _GAP.search(noun)
            parts += [lead, f"{noun}{mark}" if is_literal else "", Gap("", kind)] if name else [lead, each]
        else:
            parts.append(lead + (_GAP.sub("aws", each) if number == 1 else each))
    return tuple(parts)


def known_in(row: Mapping[str, object], gap: Gap) -> str | None:
    """What the row itself holds for a gap: its `project` or `project_id`."""
    stem = gap.word.removesuffix("_id").removesuffix("_name") or gap.noun
    for name in (gap.word, stem, f"{stem}_id", f"{stem}_name"):
        value = row.get(name)
        if isinstance(value, str | int) and value != "" and "/" not in str(value):
            return str(value)
    return None
