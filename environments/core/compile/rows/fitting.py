"""Values brought within their schema's limits: length, pattern, bounds, multiples."""

import math
import re
from typing import Any, Final

from environments.core.compile.rows.draws import Draws
from environments.core.compile.rows.nouns import slug
from environments.core.compile.rows.patterns import text_matching
from environments.core.compile.rows.specs import Form, Spec

_TRIES: Final = 12
_REAL_DECIMALS: Final = 6
_WORDS: Final = re.compile(r"[A-Za-z0-9]+")


def fit_text(spec: Spec, text: str, draws: Draws) -> str | None:
    """The text, or one like it that the schema takes; None if there is none."""
    if spec.check is None:
        return fit_length(spec, text)
    fitted = fit_length(spec, text)
    if fitted is not None and spec.check(fitted):
        return fitted
    for variant in _variants(text):
        fitted = fit_length(spec, variant)
        if fitted is not None and spec.check(fitted):
            return fitted
    return matching(spec, draws)


def fit_length(spec: Spec, text: str) -> str | None:
    """The text cut at a word or made longer; None where no length will do."""
    most, least = spec.max_length, spec.min_length
    if most is not None and len(text) > most:
        if most < max(least, 0):
            return None
        if most == 0:
            return ""
        text = _cut(text, most)
    if len(text) < least:
        text = _lengthened(text, least)
        if most is not None:
            text = text[:most]
    return text


def _cut(text: str, most: int) -> str:
    """The text at most that long: whole words if one fits."""
    if most <= 3:  # an abbreviation reads better than a stump
        initials = "".join(word[0] for word in _WORDS.findall(text)).upper()
        return (initials if len(initials) >= most else text)[:most]
    short = text[:most]
    for mark in (" ", "-", "."):
        place = short.rfind(mark)
        if place >= most // 2 and text[most : most + 1] not in ("", mark):
            return short[:place].rstrip(" ,.-:;") or short
    return short.rstrip(" -") or short


def _lengthened(text: str, least: int) -> str:
    base = text or "x"
    joint = " " if " " in base else "-" if "-" in base else ""
    while len(text) < least:
        text = f"{text}{joint}{base}" if text else base
    return (
        text[:least].rstrip() if len(text[:least].rstrip()) >= least else text[: least - 1].rstrip().ljust(least, "x")
    )


def _variants(text: str) -> list[str]:
    hyphened = slug(text)
    bare = hyphened.replace(".", "-")
    words = bare.split("-")
    return [
        bare,
        bare.replace("-", "_"),
        bare.replace("-", ""),
        "".join(word.capitalize() for word in words),
        bare.upper().replace("-", "_"),
        bare.upper().replace("-", ""),
        "/" + bare,
        bare[:1].upper() + bare[1:].replace("-", " "),
        words[0],
        words[0].upper()[:3],
        words[0].upper()[:2],
    ]


def matching(spec: Spec, draws: Draws) -> str | None:
    """A text made of the pattern alone; the examples where there is no other."""
    if spec.pattern:
        needed = max(spec.min_length, 1)
        for attempt in range(_TRIES):
            more = 4 if attempt < 4 else needed if attempt < 8 else 0
            text = text_matching(spec.pattern, draws, more)
            if text is not None and spec.check is not None and spec.check(text):
                return text
    texts = [each for each in spec.examples if isinstance(each, str)]
    return draws.choice(texts) if texts else None


def fit_number(spec: Spec, value: float) -> float | int | None:
    """The nearest number within the bounds that is a multiple as asked; None if there is none."""
    is_whole = spec.form is not Form.REAL
    low, high = spec.low, spec.high
    if low is not None and high is not None and low > high:
        return None
    if low is not None and value < low:
        span = (high - low) if high is not None else max(abs(low), 40.0)
        value = low + abs(value) % (span + (1 if is_whole else 0))
    elif high is not None and value > high:
        floor = low if low is not None else min(0.0, high - 40.0)
        span = high - floor
        value = floor + abs(value) % (span + (1 if is_whole else 0))
    if spec.step:
        value = math.floor(value / spec.step) * spec.step
        if low is not None and value < low:
            value += spec.step
        value = value if is_whole else round(value, _REAL_DECIMALS)
    made: float | int = int(value) if is_whole else float(value)
    if low is not None and made < low:
        made = math.ceil(low) if is_whole else float(low)
    if high is not None and made > high:
        made = math.floor(high) if is_whole else float(high)
    if low is not None and made < low:
        return None
    return made if spec.check is None or spec.check(made) else None


def suffixed(spec: Spec, value: Any, turn: int, draws: Draws) -> Any:
    """Another value like one that is taken; None if the schema allows none.

    Args:
        spec: Of the value.
        value: The one that is taken.
        turn: 1 for the first other one.
        draws: Is moved on where the pattern leaves no other way.
    """
    if spec.values:
        return None
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return _other_number(spec, value, turn)
    if isinstance(value, float):
        return _other_number(spec, value, turn if spec.step == 0 else turn * spec.step)
    if not isinstance(value, str):
        return None
    for candidate in _suffixes(spec, value, turn):
        if len(candidate) >= spec.min_length and (spec.check is None or spec.check(candidate)):
            return candidate
    return matching(spec, draws) if spec.pattern else None


def _suffixes(spec: Spec, value: str, turn: int) -> list[str]:
    number = str(turn + 1)
    name, at, domain = value.partition("@")
    if at:
        return [f"{name}{number}@{domain}"]
    most = spec.max_length if spec.max_length is not None else len(value) + 12
    room = most - len(number)
    if room < 0:
        return []
    joint = " " if " " in value else "-" if not value[-1:].isalnum() or "-" in value or value.islower() else ""
    return [f"{value[: max(0, room - len(joint))]}{joint}{number}"[:most], f"{value[:room]}{number}"[:most]]


def _other_number(spec: Spec, value: float, distance: float) -> float | int | None:
    for made in (value + distance, value - distance):
        if (spec.low is None or made >= spec.low) and (spec.high is None or made <= spec.high):
            whole = int(made) if spec.form is not Form.REAL else float(made)
            if spec.check is None or spec.check(whole):
                return whole
    return None
