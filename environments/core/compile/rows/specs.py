"""What is known of a value before any is made: form, meaning, limits and words, nested members included."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from environments.core.compile.reading.words import singular, snake, squash
from environments.core.compile.rows.categories import siblings, words_for
from environments.core.compile.rows.checks import validity
from environments.core.compile.rows.contexts import sense_in_context, sizes_of
from environments.core.compile.rows.draws import draws_for
from environments.core.compile.rows.facts import TableFacts
from environments.core.compile.rows.nouns import CLOUD_FAMILIES, Style, family_of, names_for, style_of
from environments.core.compile.rows.senses import Match, Sense, sense_of, tokens_of
from environments.core.compile.rows.stated import Shape, listed_values, stated_shape
from environments.core.compile.semantics import Blueprint, Schema, ValueKind

MAX_EXAMPLE: Final = 160
"""Characters of a text that is taken over as an example."""
MAX_POOL: Final = 6
MAX_DEPTH: Final = 4
MAX_NESTED: Final = 1_500
"""Bytes of an object or array as JSON, where nothing says less."""
_SAFE_INTEGER: Final = 1 << 53


class Form(StrEnum):
    """How a value is written in JSON."""

    TEXT = "text"
    INTEGER = "integer"
    REAL = "real"
    BOOLEAN = "boolean"
    TIME = "time"
    DATE = "date"
    EPOCH = "epoch"
    EPOCH_MILLISECONDS = "epoch_milliseconds"
    ARRAY = "array"
    OBJECT = "object"
    ANY = "any"


TIMES: Final = frozenset({Form.TIME, Form.DATE, Form.EPOCH, Form.EPOCH_MILLISECONDS})
NUMBERS: Final = frozenset({Form.INTEGER, Form.REAL})
_FORMS: Final = {
    ValueKind.TEXT: Form.TEXT,
    ValueKind.INTEGER: Form.INTEGER,
    ValueKind.REAL: Form.REAL,
    ValueKind.BOOLEAN: Form.BOOLEAN,
    ValueKind.TIME: Form.TIME,
    ValueKind.DATE: Form.DATE,
    ValueKind.EPOCH: Form.EPOCH,
    ValueKind.EPOCH_MILLISECONDS: Form.EPOCH_MILLISECONDS,
}
_TYPES: Final = {
    "string": Form.TEXT,
    "integer": Form.INTEGER,
    "number": Form.REAL,
    "boolean": Form.BOOLEAN,
    "array": Form.ARRAY,
    "object": Form.OBJECT,
}
_BY_FORMAT: Final = {
    "email": Sense.EMAIL,
    "idn-email": Sense.EMAIL,
    "uri": Sense.URL,
    "url": Sense.URL,
    "iri": Sense.URL,
    "uri-reference": Sense.URL,
    "uuid": Sense.UUID,
    "guid": Sense.UUID,
    "ipv4": Sense.IP,
    "ip": Sense.IP,
    "ipv6": Sense.IPV6,
    "hostname": Sense.HOST,
    "idn-hostname": Sense.HOST,
    "duration": Sense.DURATION,
    "time": Sense.CLOCK_TIME,
    "password": Sense.PASSWORD,
    "byte": Sense.BASE64,
    "binary": Sense.BASE64,
    "base64": Sense.BASE64,
    "phone": Sense.PHONE,
    "currency": Sense.CURRENCY,
    "html": Sense.HTML,
    "arn": Sense.ARN,
}
_AGREEING: Final = {
    Sense.URL: frozenset({Sense.URL, Sense.IMAGE_URL}),
    Sense.UUID: frozenset({Sense.UUID}),
    Sense.HOST: frozenset({Sense.HOST}),
}
"""Senses of a name that stand beside a format; any other gives way to the format."""
_BY_DESCRIPTION: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), sense)
    for pattern, sense in (
        (r"\bISO[- ]?4217\b|\bcurrency code\b", Sense.CURRENCY),
        (r"\bISO[- ]?3166\b|\bcountry code\b", Sense.COUNTRY_CODE),
        (r"\bISO[- ]?639\b|\bBCP[- ]?47\b|\blanguage code\b", Sense.LANGUAGE),
        (r"\bAmazon Resource Names?\b|\bARN\b", Sense.ARN),
        (r"^(the |an? )?(\w+ ){0,2}e-?mail address\b", Sense.EMAIL),
        (r"^(the |an? )?(\w+ ){0,2}(URL|URI|web address)\b", Sense.URL),
        (r"^(the |an? )?(\w+ ){0,2}IP address\b", Sense.IP),
        (r"\b(IANA|Olson) time ?zone\b|\btime ?zone (name|id)", Sense.TIMEZONE),
        (r"\bMIME\b|\bmedia type\b", Sense.MIME),
        (r"^(the |an? )?(\w+ ){0,2}(UUID|GUID)\b", Sense.UUID),
        (r"\bphone number\b", Sense.PHONE),
        (r"\bBase64\b", Sense.BASE64),
    )
)
_GOOGLE_PATH: Final = {
    ("project",): Sense.CLOUD_PROJECT,
    ("project", "id"): Sense.CLOUD_PROJECT,
    ("projects", "id"): Sense.CLOUD_PROJECT,
    ("locations", "id"): Sense.REGION,
    ("parent",): Sense.RESOURCE_NAME,
}
"""Parts of a path that mean the same in every service of the family."""
_PLACEHOLDERS: Final = frozenset({
    "string", "str", "text", "foo", "bar", "baz", "example", "test", "testing", "null", "none", "na", "value", "name",
    "id", "xxx", "abc", "loremipsum", "sample", "todo", "tbd", "unknown", "undefined", "johndoe", "asdf", "qwerty",
    "somestring", "mystring", "anystring", "123", "1234", "abc123", "lorem", "description", "title", "object", "array",
    "boolean", "integer", "number", "x", "foobar", "default", "type", "hello", "helloworld", "true", "false",
})  # fmt: skip
"""Examples, squashed, that say nothing."""
_WRAPPERS: Final = frozenset({
    "data", "item", "value", "attribute", "relationship", "node", "edge", "object", "resource", "result", "record",
    "entry", "link", "meta", "detail", "content", "payload", "properties", "info", "linkage", "member", "element",
})  # fmt: skip
"""Members that hold things without saying what they are."""
_NO_SHAPE: Final = frozenset({
    Sense.URL, Sense.IMAGE_URL, Sense.DESCRIPTION, Sense.NOTE, Sense.MESSAGE, Sense.EMAIL, Sense.UUID, Sense.MIME,
    Sense.PASSWORD, Sense.HTML, Sense.DURATION, Sense.CREATED, Sense.UPDATED, Sense.PAST, Sense.START, Sense.END,
    Sense.FUTURE, Sense.HASH, Sense.TOKEN, Sense.QUERY,
})  # fmt: skip
"""Senses of texts that hold more than the one shape which their description speaks of."""
COHERENT: Final = frozenset({
    Sense.FIRST_NAME, Sense.LAST_NAME, Sense.PERSON, Sense.INITIALS, Sense.USERNAME, Sense.EMAIL, Sense.COMPANY,
    Sense.CITY, Sense.STATE_NAME, Sense.STATE_CODE, Sense.POSTCODE, Sense.COUNTRY, Sense.COUNTRY_CODE, Sense.STREET,
    Sense.ADDRESS, Sense.TIMEZONE, Sense.CURRENCY, Sense.LOCALE, Sense.LANGUAGE, Sense.LATITUDE, Sense.LONGITUDE,
    Sense.NAME, Sense.TITLE, Sense.SLUG, Sense.URL, Sense.IMAGE_URL, Sense.HOST, Sense.FILE_NAME, Sense.MIME,
    Sense.DESCRIPTION, Sense.NOTE, Sense.MESSAGE, Sense.REASON, Sense.SUBJECT, Sense.HTML, Sense.PHONE, Sense.UUID,
    Sense.ID, Sense.TOKEN, Sense.PASSWORD, Sense.HASH, Sense.COMMIT, Sense.CODE, Sense.TAG, Sense.BASE64, Sense.IBAN,
    Sense.CARD_DIGITS, Sense.BARCODE, Sense.SKU, Sense.ISBN, Sense.IP, Sense.IPV6, Sense.MAC, Sense.HOUSE_NUMBER,
    Sense.PLATE, Sense.TAX_NUMBER, Sense.ACCOUNT, Sense.REGION, Sense.ARN, Sense.QUERY, Sense.PATH,
})  # fmt: skip
"""Senses whose values are made, since one example cannot agree with every row."""
IDENTITY: Final = frozenset({
    Sense.FIRST_NAME, Sense.LAST_NAME, Sense.PERSON, Sense.INITIALS, Sense.USERNAME, Sense.EMAIL, Sense.NAME,
    Sense.TITLE, Sense.SLUG, Sense.DESCRIPTION, Sense.NOTE, Sense.MESSAGE, Sense.SUBJECT, Sense.HTML, Sense.URL,
    Sense.IMAGE_URL, Sense.FILE_NAME, Sense.COMPANY, Sense.PHONE, Sense.HOST, Sense.TOKEN, Sense.HASH, Sense.COMMIT,
    Sense.UUID, Sense.CODE, Sense.BARCODE, Sense.SKU, Sense.IBAN, Sense.ARN, Sense.PATH, Sense.PASSWORD,
})  # fmt: skip
"""Senses that tell one row from another in people's eyes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all values of a blueprint share."""

    family: str
    provider: str
    service: str

    @property
    def is_cloud(self) -> bool:
        """Whether machines name most things."""
        return self.family in CLOUD_FAMILIES


def setting_of(blueprint: Blueprint) -> Setting:
    """The setting of a blueprint."""
    words = [word for word in blueprint.name.split("_") if word not in (blueprint.family, "amazonaws", "api")]
    return Setting(blueprint.family, blueprint.provider, words[0] if words else blueprint.name)


@dataclass(slots=True)
class Spec:
    """One value to be made.

    Attributes:
        name: As the document has it, or the column's.
        tokens: Its words, without the noun in front.
        form: How it is written.
        sense: What it means, if the name says it.
        role: Words before those of the sense: whose name, which address.
        noun: What the row (or the nested object) is.
        schema: Its own limits.
        setting: Of the blueprint.
        description: The document's words.
        values: The only values, in JSON form, without null.
        examples: Of the document, those that say something and fit.
        pool: Words that the value is one of; empty where it is made.
        shape: What the description says the text looks like, in parts; empty where it says nothing.
        check: Whether a value fits the schema, where more than type and bounds is asked; None: it does by making.
        low: Least number, or None.
        high: Greatest.
        step: Numbers are multiples of it, or 0.
        min_length: Of a text or array.
        max_length: Of a text or array, or None.
        pattern: Of a text, or empty.
        items: Of an array.
        members: Of an object, with whether they are required.
        is_open: Whether an object takes members that its schema does not list.
        most_bytes: What is left out of an object or array that is longer as JSON is up to its schema.
    """

    name: str
    tokens: tuple[str, ...]
    form: Form
    sense: Sense | None
    role: tuple[str, ...]
    noun: str
    schema: Schema
    setting: Setting
    description: str = ""
    values: tuple[Any, ...] = ()
    examples: tuple[Any, ...] = ()
    pool: tuple[str, ...] = ()
    shape: Shape = ()
    check: Callable[[Any], bool] | None = None
    low: float | None = None
    high: float | None = None
    step: float = 0.0
    min_length: int = 0
    max_length: int | None = None
    pattern: str = ""
    items: "Spec | None" = None
    members: tuple[tuple[str, "Spec", bool], ...] = ()
    is_open: bool = True
    most_bytes: int = MAX_NESTED
    item_facts: TableFacts | None = field(default=None, repr=False)

    @property
    def is_identity(self) -> bool:
        """Whether it tells one row from another in people's eyes."""
        return self.form is Form.TEXT and self.sense in IDENTITY and not self.values


def build_spec(
    name: str,
    schema: Schema,
    setting: Setting,
    noun: str,
    *,
    kind: ValueKind | None = None,
    values: Sequence[Any] = (),
    description: str = "",
    depth: int = 0,
) -> Spec:
    """What is known of a value.

    Args:
        name: Of the column, argument or member.
        schema: Of its JSON form.
        setting: Of the blueprint.
        noun: Of the row that it is in.
        kind: Of the column; None for members.
        values: An enum that the schema may not repeat.
        description: The document's words.
        depth: How deeply it is nested.
    """
    form = _form(schema, kind)
    tokens = tokens_of(name, noun)
    found = _sense(tokens, form, schema, description, setting.family)
    if form is Form.TEXT and "format" not in schema:
        found = sense_in_context(found, tokens, noun, description)
    spec = Spec(
        name=name,
        tokens=tokens,
        form=form,
        sense=found.sense if found else None,
        role=found.before if found else (),
        noun=noun,
        schema=schema,
        setting=setting,
        description=description,
    )
    spec.values = _values(schema, values)
    _add_limits(spec)
    if form is Form.ARRAY:
        _add_items(spec, depth)
    elif form is Form.OBJECT:
        _add_members(spec, depth)
    if depth == 0 or form is Form.TEXT:
        spec.check = _check(spec, depth)
    spec.examples = _examples(spec)
    if form is Form.TEXT and not spec.values:
        spec.pool = _stated(spec) or _pool(spec)
        is_shaped = spec.sense not in _NO_SHAPE and not {"filter", "revision"} & set(tokens)
        if not spec.pool and "format" not in schema and is_shaped:
            spec.shape = stated_shape(description)
    return spec


def _form(schema: Schema, kind: ValueKind | None) -> Form:
    if kind is not None and kind is not ValueKind.JSON:
        return _FORMS[kind]
    given = schema.get("type")
    types = [each for each in (given if isinstance(given, list | tuple) else [given]) if each in _TYPES]
    if types:
        form = _TYPES[types[0]]
        if form is Form.TEXT and schema.get("format") in ("date-time", "datetime"):
            return Form.TIME
        return Form.DATE if form is Form.TEXT and schema.get("format") == "date" else form
    if schema.get("properties"):
        return Form.OBJECT
    if schema.get("items"):
        return Form.ARRAY
    return Form.OBJECT if kind is ValueKind.JSON else Form.ANY


def _sense(tokens: tuple[str, ...], form: Form, schema: Schema, description: str, family: str) -> Match | None:
    if form in TIMES:
        return sense_of(tokens, "time")
    if form in NUMBERS:
        return sense_of(tokens, "number")
    if form is Form.ARRAY:
        return sense_of((*tokens[:-1], singular(tokens[-1])), "text") or sense_of(tokens, "text") if tokens else None
    if form is not Form.TEXT:
        return None
    if family == "google" and tokens in _GOOGLE_PATH:
        return Match(_GOOGLE_PATH[tokens], (), tokens)
    found = sense_of(tokens, "text")
    given = _BY_FORMAT.get(str(schema.get("format", "")))
    if given is not None:
        allowed = _AGREEING.get(given, frozenset({given}))
        return found if found is not None and found.sense in allowed else Match(given, tokens[:-1], tokens[-1:])
    if found is None and description:
        for pattern, sense in _BY_DESCRIPTION:
            if pattern.search(description):
                return Match(sense, tokens[:-1], tokens[-1:])
    return found


def _values(schema: Schema, values: Sequence[Any]) -> tuple[Any, ...]:
    given = schema.get("enum")
    listed = [value for value in given if value is not None] if isinstance(given, list | tuple) else []
    if values and listed:
        both = [value for value in values if value in listed]
        return tuple(both or values)
    if "const" in schema and schema["const"] is not None:
        return (schema["const"],)
    return tuple(values or listed)


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _add_limits(spec: Spec) -> None:
    schema, form = spec.schema, spec.form
    if form in NUMBERS or form in TIMES:
        unit = 1 if form is not Form.REAL else 0.01
        low, high = _number(schema.get("minimum")), _number(schema.get("maximum"))
        above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
        if above is True and low is not None:
            low += unit
        elif (number := _number(above)) is not None:
            low = number + unit if low is None else max(low, number + unit)
        if below is True and high is not None:
            high -= unit
        elif (number := _number(below)) is not None:
            high = number - unit if high is None else min(high, number - unit)
        if form is Form.INTEGER:
            low = None if low is None else max(low, -_SAFE_INTEGER)
            high = None if high is None else min(high, _SAFE_INTEGER)
        spec.low, spec.high = low, high
        spec.step = float(_number(schema.get("multipleOf")) or 0.0)
    elif form is Form.TEXT:
        spec.min_length = int(_number(schema.get("minLength")) or 0)
        most = _number(schema.get("maxLength"))
        spec.max_length = None if most is None else int(most)
        pattern = schema.get("pattern")
        spec.pattern = pattern if isinstance(pattern, str) else ""
    elif form is Form.ARRAY:
        spec.min_length = int(_number(schema.get("minItems")) or 0)
        most = _number(schema.get("maxItems"))
        spec.max_length = None if most is None else int(most)


def _add_items(spec: Spec, depth: int) -> None:
    items = spec.schema.get("items")
    if not isinstance(items, Mapping) or depth >= MAX_DEPTH:
        return
    name = singular(spec.name)
    noun = _inner_noun(spec) if _form(items, None) in (Form.OBJECT, Form.ANY) else spec.noun
    spec.items = build_spec(name, items, spec.setting, noun, description=spec.description, depth=depth + 1)
    _add_facts(spec, noun)


def _add_members(spec: Spec, depth: int) -> None:
    extra = spec.schema.get("additionalProperties")
    spec.is_open = extra is not False
    members = spec.schema.get("properties")
    if not isinstance(members, Mapping) or depth >= MAX_DEPTH:
        members = {}
    required = spec.schema.get("required", ())
    noun = _inner_noun(spec)
    made = []
    for name, schema in members.items():
        if isinstance(schema, Mapping):
            words = str(schema.get("description", ""))
            inner = build_spec(name, schema, spec.setting, noun, description=words, depth=depth + 1)
            inner.role = (*spec.tokens, *inner.role)
            made.append((name, inner, name in required))
    spec.members = tuple(made)
    if isinstance(extra, Mapping) and not made and depth < MAX_DEPTH:
        spec.items = build_spec("value", extra, spec.setting, noun, depth=depth + 1)


def _inner_noun(spec: Spec) -> str:
    """What an object within the value is: named like its member, unless that is a wrapper's name."""
    name = singular(snake(spec.name))
    return spec.noun if name in _WRAPPERS else name


def _add_facts(spec: Spec, noun: str) -> None:
    draws = draws_for("items", spec.setting.service, spec.name)
    spec.item_facts = TableFacts(noun, draws.shuffled(names_for(noun, spec.setting.is_cloud)), draws)


def _check(spec: Spec, depth: int) -> Callable[[Any], bool] | None:
    schema = spec.schema
    if spec.form is Form.TEXT:
        keys = {"pattern", "format", "anyOf", "oneOf", "allOf", "not"} & schema.keys()
    elif spec.form in (Form.ARRAY, Form.OBJECT, Form.ANY) and depth == 0:
        keys = schema.keys() - {"description", "title", "examples", "example", "default"}
    elif spec.form in NUMBERS or spec.form in TIMES:
        keys = {"anyOf", "oneOf", "allOf", "not", "multipleOf", "pattern"} & schema.keys()
    else:
        keys = set()
    return validity(schema) if keys else None


def _examples(spec: Spec) -> tuple[Any, ...]:
    schema = spec.schema
    given = schema.get("examples")
    listed = (
        list(given) if isinstance(given, list | tuple) else list(given.values()) if isinstance(given, Mapping) else []
    )
    listed += [schema[key] for key in ("example", "default") if key in schema]
    found: list[Any] = []
    for value in listed:
        if value is None or any(value == other and type(value) is type(other) for other in found):
            continue
        if _says_something(spec, value) and (spec.check is None or spec.check(value)):
            found.append(value)
    return tuple(found)


def _says_something(spec: Spec, value: Any) -> bool:
    if spec.form is Form.TEXT:
        if not isinstance(value, str) or not value.strip() or len(value) > MAX_EXAMPLE or not value.isprintable():
            return False
        if len(value) < spec.min_length or len(value) > (spec.max_length or MAX_EXAMPLE):
            return False
        squashed = squash(value)
        return squashed not in _PLACEHOLDERS and squashed != squash(spec.name) and "<" not in value and "{" not in value
    if spec.form is Form.INTEGER:
        is_fit = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _SAFE_INTEGER
        return is_fit and _is_within(spec, value)
    if spec.form is Form.REAL:
        return isinstance(value, int | float) and not isinstance(value, bool) and _is_within(spec, value)
    if spec.form is Form.ARRAY:
        return isinstance(value, list) and bool(value) and spec.sense not in COHERENT
    return isinstance(value, Mapping) and bool(value) if spec.form is Form.OBJECT else False


def _is_within(spec: Spec, value: float) -> bool:
    return (spec.low is None or value >= spec.low) and (spec.high is None or value <= spec.high)


def _stated(spec: Spec) -> tuple[str, ...]:
    """Words that the description says the value is one of, or that every such size is."""
    if spec.sense in IDENTITY:
        return ()
    is_category = spec.sense is None and bool(words_for(spec.tokens))
    listed = listed_values(spec.description, is_category)
    return tuple(word for word in listed if _is_allowed(spec, word))


def _pool(spec: Spec) -> tuple[str, ...]:
    """Words that the value is one of: examples with their like, what such columns hold."""
    if spec.sense in COHERENT:
        return ()
    sizes = sizes_of(spec.tokens, spec.noun, spec.description, spec.setting.family)
    words: list[str] = []
    for example in spec.examples:
        words += [example, *siblings(example)]
    if sizes and len(words) < 2:
        return tuple(word for word in (*words, *sizes) if _is_allowed(spec, word))
    if spec.sense is None and len(words) < 2:
        words += words_for(spec.tokens) or (_variations(words[0]) if words else ())
    fitting = [word for word in dict.fromkeys(words) if _is_allowed(spec, word)]
    if spec.sense is not None and len(fitting) < 2:
        return ()
    return tuple(fitting[: max(MAX_POOL, len(spec.examples))])


def _variations(example: str) -> list[str]:
    """Texts like an example: other digits where it has some."""
    if not any(sign.isdigit() for sign in example):
        return []
    draws = draws_for("variations", example)
    return [
        "".join(draws.choice("123456789") if sign in "123456789" else sign for sign in example)
        for _ in range(MAX_POOL - 1)
    ]


def _is_allowed(spec: Spec, word: str) -> bool:
    if len(word) < spec.min_length or (spec.max_length is not None and len(word) > spec.max_length):
        return False
    return spec.check is None or spec.check(word)


def own_style(spec: Spec) -> Style:
    """How things of the spec's noun are named."""
    return style_of(spec.noun, spec.setting.is_cloud)


def named_noun(spec: Spec) -> str:
    """Whose name a name is: of what stands before it in the column's name, else of the row."""
    words = [word for word in spec.role if word not in ("display", "friendly", "short", "long", "full", "new", "old")]
    if not words:
        return spec.noun
    noun = "_".join(words[-2:])
    return noun if family_of(noun) else spec.noun if len(words) > 2 else noun
