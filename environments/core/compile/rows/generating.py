"""One value of a spec in JSON form: an ordinary one, or an extreme one that the schema still takes."""

from typing import Any, Final

import orjson

from environments.core.compile.rows.draws import Draws
from environments.core.compile.rows.facts import CLOCK, DAY, RowFacts, date_text, time_text
from environments.core.compile.rows.fitting import fit_length, fit_number, fit_text, matching
from environments.core.compile.rows.making import number_for, text_for
from environments.core.compile.rows.nouns import names_for
from environments.core.compile.rows.senses import Sense
from environments.core.compile.rows.specs import NUMBERS, TIMES, Form, Spec
from environments.core.compile.rows.texts import UNICODE_TEXT
from environments.core.compile.semantics import Value, ValueKind

_TRIES: Final = 4
_LONGEST: Final = 1_000
"""Characters of an extreme text whose schema allows more."""
_UNBOUNDED_LONGEST: Final = 200
_GREATEST: Final = (1 << 31) - 1
_GREATEST_REAL: Final = 999_999_999.75
_NO_ZERO: Final = frozenset({Sense.YEAR, Sense.MONTH, Sense.DAY, Sense.PORT, Sense.ID, Sense.HTTP_STATUS})
_BOUNDED: Final = _NO_ZERO | {Sense.LATITUDE, Sense.LONGITUDE, Sense.PERCENT, Sense.HOUR, Sense.MINUTE, Sense.RATIO}
"""Senses with a greatest value that schemas seldom name."""
_FREE: Final = frozenset({
    Sense.NAME, Sense.TITLE, Sense.DESCRIPTION, Sense.NOTE, Sense.MESSAGE, Sense.REASON, Sense.SUBJECT, Sense.PERSON,
    Sense.COMPANY, Sense.CITY, Sense.STREET, Sense.ADDRESS, Sense.FIRST_NAME, Sense.LAST_NAME, Sense.JOB_TITLE,
    Sense.TAG, Sense.QUERY,
})  # fmt: skip
"""Senses of texts that may hold any character."""
_DONE: Final = frozenset({
    "ended", "finished", "completed", "closed", "stopped", "resolved", "departed", "delivered", "completion", "finish",
})  # fmt: skip
"""Words of ends that lie in the past."""
_TIME_SENSES: Final = frozenset({
    Sense.CREATED, Sense.UPDATED, Sense.PAST, Sense.START, Sense.END, Sense.FUTURE, Sense.BIRTHDAY,
})  # fmt: skip
_BIRTHS: Final = -631_152_000
"""Seconds of 1950-01-01."""
_CATEGORY_MEMBERS: Final = {"team": "billing", "environment": "production", "owner": "operations"}


def make(spec: Spec, facts: RowFacts, draws: Draws) -> Any:
    """An ordinary value in JSON form; None if the schema takes none that could be found."""
    if spec.values:
        return draws.choice(usual(spec))
    form = spec.form
    if form is Form.TEXT:
        return _text(spec, facts, draws)
    if form in NUMBERS:
        made = fit_number(spec, number_for(spec, facts, draws, is_whole=form is Form.INTEGER))
        return made if made is not None else next(iter(spec.examples), None)
    if form is Form.BOOLEAN:
        return draws.happens(0.5)
    if form in TIMES:
        return in_form(spec, moment(spec, facts, draws))
    if form is Form.ANY:
        return next(iter(spec.examples), None)
    return _nested(spec, facts, draws)


def usual(spec: Spec) -> tuple[Any, ...]:
    """The values of an enum without those that say nothing, if there are others."""
    good = tuple(value for value in spec.values if not _is_empty_word(value))
    return good or spec.values


def _is_empty_word(value: Any) -> bool:
    return isinstance(value, str) and (
        not value or value.lower().endswith(("unspecified", "unknown", "undefined", "unrecognized"))
    )


def _text(spec: Spec, facts: RowFacts, draws: Draws) -> str | None:
    for _ in range(_TRIES):
        if spec.sense in _TIME_SENSES and not spec.pool:
            seconds = moment(spec, facts, draws)
            text = date_text(seconds) if "date" in spec.tokens or spec.sense is Sense.BIRTHDAY else time_text(seconds)
        else:
            text = text_for(spec, facts, draws)
        made = fit_text(spec, text, draws)
        if made is not None:
            return made
    return None


def moment(spec: Spec, facts: RowFacts, draws: Draws) -> int:
    """Seconds of a time by its sense."""
    sense = spec.sense
    if sense is Sense.CREATED:
        return facts.created
    if sense is Sense.UPDATED:
        return facts.updated
    if sense is Sense.START or sense is Sense.END:
        start, end = facts.period(spec.role)
        if sense is Sense.START:
            return start
        return max(start, min(end, CLOCK)) if _DONE & set(spec.tokens) else end
    if sense is Sense.FUTURE:
        return facts.future()
    if sense is Sense.BIRTHDAY:
        return _BIRTHS + draws.below(55 * 365) * DAY
    return facts.past()


def in_form(spec: Spec, seconds: int) -> str | int | None:
    """A moment as the spec's form writes it; None if the schema has bounds that it is not in."""
    if spec.form is Form.TIME:
        return time_text(seconds)
    if spec.form is Form.DATE:
        return date_text(seconds)
    value = seconds if spec.form is Form.EPOCH else seconds * 1000
    if spec.low is None and spec.high is None:
        return value
    made = fit_number(spec, value)
    return None if made is None else int(made)


# --- Nested values ----------------------------------------------------------------------------------------------------


def _nested(spec: Spec, facts: RowFacts, draws: Draws) -> Any:
    for attempt in range(_TRIES):
        made = _array(spec, facts, draws) if spec.form is Form.ARRAY else _object(spec, facts, draws, attempt)
        made = _shortened(spec, made, spec.most_bytes)
        if spec.check is None or spec.check(made):
            return made
    return _simplest(spec, facts, draws)


def _shortened(spec: Spec, value: Any, most: int) -> Any:
    """The value without what its schema can do without, the longest first, until it is no longer than asked."""
    size = len(orjson.dumps(value))
    if size <= most:
        return value
    if isinstance(value, list):
        kept = value[: max(spec.min_length, 1)]
        return [_shortened(spec.items, each, most // len(kept)) for each in kept] if spec.items and kept else kept
    if not isinstance(value, dict):
        return value
    inner = {name: each for name, each, _ in spec.members}
    needed = {name for name, _, is_required in spec.members if is_required}
    sizes = {name: len(orjson.dumps(each)) for name, each in value.items()}
    made = dict(value)
    for name in sorted(made, key=lambda name: (-sizes[name], name)):
        if size <= most:
            break
        less = _shortened(inner[name], made[name], max(most - size + sizes[name], 0)) if name in inner else None
        if name in needed or (less and less != made[name]):
            made[name] = made[name] if less is None else less
        elif len(made) > 1:
            del made[name]
        size = len(orjson.dumps(made))
    return made


def _simplest(spec: Spec, facts: RowFacts, draws: Draws) -> Any:
    """An example, or the value with nothing that is not asked for."""
    candidates: list[Any] = list(spec.examples)
    if spec.form is Form.OBJECT:
        candidates.append({name: make(inner, facts, draws) for name, inner, is_required in spec.members if is_required})
        candidates.append({})
    else:
        candidates.append([])
    return next((each for each in candidates if spec.check is None or spec.check(each)), None)


def _array(spec: Spec, facts: RowFacts, draws: Draws) -> list[Any]:
    if spec.examples and draws.happens(0.3):
        return list(draws.choice(spec.examples))
    if spec.items is None:
        return _untyped_items(spec, facts, draws)
    most = spec.max_length if spec.max_length is not None else 3
    number = min(max(draws.between(1, 3), spec.min_length), max(most, spec.min_length))
    found: dict[bytes, Any] = {}
    inner = spec.items
    for position in range(number * 3):
        item_facts = facts.item(spec.item_facts, position) if spec.item_facts else facts
        value = make(inner, item_facts, draws)
        if value is None:
            continue
        found.setdefault(orjson.dumps(value), value)
        if len(found) == number:
            break
    made = list(found.values())
    while made and len(made) < spec.min_length:
        made.append(made[-1])
    return made


def _untyped_items(spec: Spec, facts: RowFacts, draws: Draws) -> list[Any]:
    if spec.sense is Sense.TAG:
        names = names_for("tag")
        start = draws.below(len(names) - 2)
        return list(names[start : start + draws.between(1, 2)])
    return []


def _object(spec: Spec, facts: RowFacts, draws: Draws, attempt: int) -> dict[str, Any]:
    if spec.examples and draws.happens(0.3):
        return dict(draws.choice(spec.examples))
    made: dict[str, Any] = {}
    for name, inner, is_required in spec.members:
        if not is_required and draws.happens(0.2 if attempt == 0 else 0.6):
            continue
        value = make(inner, facts, draws)
        if value is not None or is_required:
            made[name] = value
    label, value = made.get("label"), made.get("value")
    if isinstance(label, str) and isinstance(value, str) and not _spec_of(spec, "label").values:
        made["label"] = fit_text(_spec_of(spec, "label"), titled(value), draws) or label
    if not spec.members and spec.is_open:
        made.update(_free_members(spec, facts, draws))
    return made


def _spec_of(spec: Spec, name: str) -> Spec:
    return next(inner for member, inner, _ in spec.members if member == name)


def titled(value: str) -> str:
    """A code as people read it: `In progress` for `in_progress`."""
    words = value.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:].lower() if words.isupper() else words[:1].upper() + words[1:]


def _free_members(spec: Spec, facts: RowFacts, draws: Draws) -> dict[str, Any]:
    """Members of an object that takes any, where it is one of people's own labels."""
    if not {"metadata", "tags", "labels", "annotations", "custom", "properties", "attributes"} & set(spec.tokens[-2:]):
        return {}
    names = draws.shuffled(sorted(_CATEGORY_MEMBERS))[: draws.between(1, 2)]
    if spec.items is None:
        return {name: _CATEGORY_MEMBERS[name] for name in sorted(names)}
    if spec.items.form is Form.TEXT:
        return {name: fit_text(spec.items, _CATEGORY_MEMBERS[name], draws) for name in sorted(names)}
    values = {name: make(spec.items, facts, draws) for name in sorted(names)}
    return {name: value for name, value in values.items() if value is not None}


# --- Extreme values ---------------------------------------------------------------------------------------------------


def extreme(spec: Spec, facts: RowFacts, draws: Draws, *, is_high: bool) -> Any:
    """The longest, latest or greatest value that the schema takes, or the shortest, earliest or least."""
    if spec.values:
        return spec.values[-1 if is_high else 0]
    form = spec.form
    if form is Form.TEXT:
        return _extreme_text(spec, facts, draws, is_high=is_high)
    if form in NUMBERS:
        return _extreme_number(spec, facts, draws, is_high=is_high)
    if form is Form.BOOLEAN:
        return is_high
    if form in (Form.ARRAY, Form.OBJECT) and not is_high:
        return _emptiest(spec, facts, draws)
    return make(spec, facts, draws)


def _extreme_text(spec: Spec, facts: RowFacts, draws: Draws, *, is_high: bool) -> str | None:
    is_free = (spec.sense in _FREE or spec.sense is None) and not (spec.pool or spec.shape)
    if spec.check is not None or not is_free or spec.setting.is_cloud:
        ordinary = _text(spec, facts, draws)
        if is_high and spec.pattern:
            longer = matching(spec, draws)
            return max((each for each in (ordinary, longer) if each is not None), key=len, default=None)
        return ordinary
    if not is_high:
        return fit_length(spec, "a")
    most = min(spec.max_length, _LONGEST) if spec.max_length is not None else _UNBOUNDED_LONGEST
    text = UNICODE_TEXT
    while len(text) < most:
        text = f"{text} {UNICODE_TEXT}"
    text = text[:most]
    return text if text == text.strip() else text[:-1].strip().ljust(most, "ö")


def _extreme_number(spec: Spec, facts: RowFacts, draws: Draws, *, is_high: bool) -> Any:
    ordinary = make(spec, facts, draws)
    is_whole = spec.form is Form.INTEGER
    if is_high:
        wanted = spec.high if spec.high is not None else _GREATEST if is_whole else _GREATEST_REAL
        if spec.high is None and spec.sense in _BOUNDED:
            return ordinary
    else:
        wanted = spec.low if spec.low is not None else 0
        if spec.low is None and spec.sense in _NO_ZERO:
            return ordinary
    made = fit_number(spec, wanted)
    return ordinary if made is None else made


def _emptiest(spec: Spec, facts: RowFacts, draws: Draws) -> Any:
    empty: Any = [] if spec.form is Form.ARRAY else {}
    if spec.check is None or spec.check(empty):
        return empty
    if spec.form is Form.OBJECT:
        least = {name: make(inner, facts, draws) for name, inner, is_required in spec.members if is_required}
        if spec.check(least):
            return least
    return make(spec, facts, draws)


# --- Stored form ------------------------------------------------------------------------------------------------------


def stored(kind: ValueKind, value: Any) -> Value:
    """A JSON value as a column of the kind stores it."""
    if value is None:
        return None
    if kind is ValueKind.JSON:
        return orjson.dumps(value).decode()
    if kind is ValueKind.BOOLEAN:
        return int(bool(value))
    if kind is ValueKind.REAL:
        return float(value)
    if kind is ValueKind.TEXT and not isinstance(value, str):
        return orjson.dumps(value).decode()
    return value  # type: ignore[no-any-return]
