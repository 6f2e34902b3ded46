"""What a column is about, by whole words of its name: never by parts of words (`authorized` has no `author` in it)."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from environments.core.compile.reading.words import words_of
from environments.core.compile.rows.sense_rules import NUMBER_RULES, TEXT_RULES, TIME_RULES, Sense

__all__ = ["Match", "Sense", "sense_of", "tokens_of"]


@dataclass(frozen=True, slots=True)
class Match:
    """A sense and the words before it.

    Attributes:
        sense: What the name ends in.
        before: What qualifies it: `("billing",)` of `billing_city`.
        word: The words that matched.
    """

    sense: Sense
    before: tuple[str, ...]
    word: tuple[str, ...]


_WANTS_TEXT: Final = "text"
_WANTS_NUMBER: Final = "number"
_WANTS_TIME: Final = "time"


def _table(rules: dict[Sense, str]) -> dict[tuple[str, ...], Sense]:
    made: dict[tuple[str, ...], Sense] = {}
    for sense, phrases in rules.items():
        for phrase in phrases.split("|"):
            made.setdefault(tuple(phrase.split()), sense)
    return made


_RULES: Final = {_WANTS_TEXT: _table(TEXT_RULES), _WANTS_NUMBER: _table(NUMBER_RULES), _WANTS_TIME: _table(TIME_RULES)}
_LONGEST: Final = 5
_MODIFIERS: Final = frozenset({
    "primary", "secondary", "default", "new", "old", "original", "current", "previous", "raw", "en", "de", "fr",
    "localized", "value", "text", "string", "str", "short", "long", "full", "plain", "html", "markdown", "md", "utc",
    "gmt", "iso", "override", "alternate", "alternative", "a", "b", "main", "cents", "usd", "eur", "gbp", "optional",
    "native", "rgb", "rgba", "hex", "encoded", "formatted", "template", "x", "y", "public", "private", "translated",
    "english",
})  # fmt: skip
"""Words after the one that counts: `name_en`, `price_usd`, `description_html`."""
_MONEY_WORDS: Final = frozenset({"price", "amount", "cost", "fee", "revenue", "salary", "budget", "balance", "spend"})
_COUNT_STARTS: Final = (("num",), ("number", "of"), ("no", "of"), ("count", "of"), ("total", "number", "of"), ("n",))
_BARE_TIMES: Final = (("date",), ("time",), ("timestamp",))
"""Of the row's making where they stand alone; else what stands before them says of what."""
_DATE_WORDS: Final = frozenset({"at", "on", "date", "time", "datetime", "timestamp", "ts", "utc", "epoch", "day"})
_DATED: Final = frozenset({
    "date", "datetime", "timestamp", "created", "updated", "modified", "deleted", "expires", "birthday", "dob",
    "deadline",
})  # fmt: skip
"""Single words that are the name of a time even where the document says text."""
_FUTURE_WORDS: Final = frozenset({"next", "future", "planned", "expected", "estimated", "scheduled", "due", "until"})


def tokens_of(name: str, noun: str = "") -> tuple[str, ...]:
    """The words of a name, without numbers that stick to them and without the noun of its own table in front.

    `customer_name` of a customer is its `name`; `address1` is `address 1`.
    """
    return _tokens(name, noun)


@lru_cache(1 << 16)
def _tokens(name: str, noun: str) -> tuple[str, ...]:
    words: list[str] = []
    for word in words_of(name):
        stem = word.rstrip("0123456789")
        if stem and stem != word and stem in ("address", "line", "street", "addressline", "last"):
            words += [stem, word[len(stem) :]]
        else:
            words.append(word)
    own = words_of(noun) if noun else ()
    if own and len(words) > len(own) and tuple(words[: len(own)]) == own:
        words = words[len(own) :]
    return tuple(words)


@lru_cache(1 << 16)
def sense_of(tokens: tuple[str, ...], wants: str) -> Match | None:
    """What a name says about its values.

    Args:
        tokens: Of the name.
        wants: `text`, `number` or `time`; texts may also hold numbers and times.
    """
    found = _ending(tokens, wants)
    if found is None and wants == _WANTS_TEXT:
        found = _ending(tokens, _WANTS_NUMBER) or (sense_of(tokens, _WANTS_TIME) if _is_dated(tokens) else None)
    if wants == _WANTS_NUMBER and (found is None or found.before in _COUNT_STARTS):
        found = _number_inside(tokens)
    if wants == _WANTS_TIME and found is not None and found.before and found.word in _BARE_TIMES:
        found = None
    if found is None and wants == _WANTS_TIME:
        found = _respelled_time(tokens)
    if found is None and wants == _WANTS_TIME:
        found = Match(_loose_time(tokens), tokens, ())
    return found


def _respelled_time(tokens: tuple[str, ...]) -> Match | None:
    """The sense of a time whose name ends in other words than the rules have: `created_date_time`."""
    stem = tokens
    while len(stem) > 1 and stem[-1] in _DATE_WORDS:
        stem = stem[:-1]
    if not stem or stem == tokens:
        return None
    for end in (("at",), ("time",), ("date",), ()):
        found = _ending((*stem, *end), _WANTS_TIME)
        if found is not None and not (found.before and found.word in _BARE_TIMES):
            return found
    return None


def _ending(tokens: tuple[str, ...], wants: str) -> Match | None:
    rules = _RULES[wants]
    while tokens:
        for length in range(min(_LONGEST, len(tokens)), 0, -1):
            sense = rules.get(tokens[-length:])
            if sense is not None:
                return Match(sense, tokens[:-length], tokens[-length:])
        if len(tokens) == 1:
            break
        if tokens[-1] in _MODIFIERS or (tokens[-1].isdigit() and len(tokens) > 1):
            tokens = tokens[:-1]
            continue
        break
    return None


def _number_inside(tokens: tuple[str, ...]) -> Match | None:
    for start in _COUNT_STARTS:
        if tokens[: len(start)] == start and len(tokens) > len(start):
            return Match(Sense.COUNT, tokens[len(start) :], start)
    for position, token in enumerate(tokens):
        if token in _MONEY_WORDS:
            return Match(Sense.MONEY, tokens[:position], (token,))
    if tokens and tokens[0] in ("max", "maximum", "min", "minimum"):
        return Match(Sense.LIMIT, tokens[1:], tokens[:1])
    return None


def _is_dated(tokens: tuple[str, ...]) -> bool:
    """Whether a text is a time by its name alone: `created_at` and `modified`, but not `from`, `to` or `end`."""
    return bool(tokens) and (tokens[-1] in _DATED if len(tokens) == 1 else tokens[-1] in _DATE_WORDS)


def _loose_time(tokens: tuple[str, ...]) -> Sense:
    words = set(tokens)
    if words & _FUTURE_WORDS:
        return Sense.FUTURE
    if words & {"start", "begin", "from"}:
        return Sense.START
    if words & {"end", "finish", "to"}:
        return Sense.END
    return Sense.PAST
