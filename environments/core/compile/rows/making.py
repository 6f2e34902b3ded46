"""Values by meaning: one small function for each sense, and what is done where a name says nothing."""

from collections.abc import Callable
from typing import Any, Final

from environments.core.compile.reading.words import plural, singular
from environments.core.compile.rows import pools, texts
from environments.core.compile.rows.draws import Draws, draws_for
from environments.core.compile.rows.facts import RowFacts
from environments.core.compile.rows.nouns import CLOUD_FAMILIES, Style, names_for, slug, style_of
from environments.core.compile.rows.senses import Sense
from environments.core.compile.rows.specs import Spec, named_noun, own_style
from environments.core.compile.rows.stated import Gap, known_in

TextMaker = Callable[[Spec, RowFacts, Draws], str]

_ADJECTIVES: Final = (
    "standard",
    "primary",
    "spare",
    "shared",
    "regional",
    "seasonal",
    "main",
    "backup",
    "local",
    "extended",
)
_SHORT_NOUN: Final = 5
_NUM_KEPT: Final = 4
"""Different ids of things that have no table: few, so that they recur."""
_SYMBOLS: Final = ("STD", "PRO", "MAX", "ECO", "REG", "SPR", "WIN", "LOC", "INT", "EXP")
_REGIONS: Final = {"azure": pools.AZURE_REGIONS, "aws": pools.AWS_REGIONS, "google": pools.GOOGLE_REGIONS}
_PATH_PARTS: Final = ("reports", "images", "exports", "shared", "archive", "inbox", "assets", "data")
_SITE_NOUNS: Final = frozenset({"website", "homepage", "blog", "domain", "site"})
_GLUE: Final = frozenset({"of", "the", "for", "and", "in", "to", "by", "is", "a"})


def regions_of(family: str) -> tuple[str, ...]:
    """Regions of the one provider that a family of conventions belongs to."""
    return _REGIONS.get(family, pools.OTHER_REGIONS)


def id_prefix(noun: str) -> str:
    """The start of ids of a thing: `order_`, `cust_`, `pm_` for payment methods."""
    words = singular(noun).split("_")
    if len(words) > 1:
        return "".join(word[0] for word in words[-3:]) + "_"
    return f"{noun if len(noun) <= _SHORT_NOUN else noun[:4]}_"


def _ident(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    """An id of something else: one of few for each thing, the same in every table."""
    example = next((each for each in spec.examples if isinstance(each, str)), "")
    stem = "_".join(word for word in spec.role if word not in _GLUE) or spec.noun
    kept = draws_for("ident", stem, draws.below(_NUM_KEPT))
    if example:
        return like(example, kept)
    if (
        spec.sense is Sense.ID
        and spec.setting.family == "azure"
        and stem in ("subscription", "tenant", "object", "client")
    ):
        return kept.uuid()
    return f"{id_prefix(stem)}{kept.text(12, '0123456789abcdefghijkmnpqrstuvwxyz')}"


def like(example: str, draws: Draws) -> str:
    """A text of the same form as an id: the prefix up to its last separator stays, what follows changes."""
    cut = max(example.rfind(mark) for mark in "_-:./#") + 1
    if len(example) - cut < 3 or example.count("-") == 4:
        cut = 0 if example.count("-") == 4 else max(0, cut)
    body = example[cut:]
    is_hexadecimal = len(body) >= 8 and all(sign in "0123456789abcdefABCDEF-" for sign in body)
    made = []
    for sign in body:
        if sign.isdigit():
            made.append(draws.choice("0123456789abcdef" if is_hexadecimal and not body.isdigit() else "123456789"))
        elif is_hexadecimal and sign.isalpha():
            made.append(draws.choice("0123456789abcdef" if sign.islower() else "0123456789ABCDEF"))
        elif sign.isalpha() and sign.isascii():
            made.append(draws.letters(1) if sign.islower() else draws.letters(1).upper())
        else:
            made.append(sign)
    return example[:cut] + "".join(made)


def _name(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    noun = named_noun(spec)
    if noun == spec.noun and noun == facts.table.noun:
        style = own_style(spec)
        if style is Style.PERSON:
            return facts.person().name
        return facts.company().name if style is Style.COMPANY else facts.name
    style = style_of(noun, spec.setting.is_cloud)
    if style is Style.PERSON:
        return facts.person(spec.role).name
    if style is Style.COMPANY:
        return facts.company(spec.role).name
    names = names_for(noun, spec.setting.is_cloud)
    return names[(facts.table.person_offset + facts.index) % len(names)] if not spec.role else draws.choice(names)


def _email(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    role = tuple(word for word in spec.role if word not in ("from", "to", "notification", "primary", "work", "contact"))
    if not role and own_style(spec) is Style.COMPANY:
        return f"{draws.choice(('info', 'office', 'hello', 'accounts'))}@{facts.company().domain}"
    return f"{facts.person(role).mailbox}@{facts.company(role).domain}"


def _phone(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    return f"{facts.place().dial}{draws.digits(9)}"


def _filled(templates: tuple[str, ...], spec: Spec, facts: RowFacts, draws: Draws) -> str:
    style = own_style(spec)
    name = facts.person().name if style is Style.PERSON else facts.name
    name = facts.company().name if style is Style.COMPANY else name
    person = facts.person(("other",))
    return draws.choice(templates).format(
        Name=name if style is Style.SLUG else name[:1].upper() + name[1:],
        name=name,
        noun=facts.table.spoken,
        city=facts.place().city,
        company=facts.company(("other",)).name,
        person=person.name,
        first=person.first,
    )


def _arn(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    stem = "_".join(word for word in spec.role if word not in _GLUE) or spec.noun
    service = spec.setting.service
    for word, known in (("role", "iam"), ("kms", "kms"), ("topic", "sns"), ("bucket", "s3"), ("lambda", "lambda"),
                        ("queue", "sqs"), ("log", "logs"), ("certificate", "acm"), ("user", "iam")):  # fmt: skip
        if word in spec.role:
            service = known
    noun = singular(stem).replace("_", "-")
    is_own = stem == spec.noun
    names = names_for(singular(stem), True)
    name = slug(facts.name) if is_own else draws.choice(names[:_NUM_KEPT])
    region = "" if service in ("iam", "s3") else pools.AWS_REGIONS[0]
    return f"arn:aws:{service}:{region}:{pools.AWS_ACCOUNTS[0]}:{noun}/{name}"


def _url(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    words = [word for word in spec.role if word not in _GLUE and word not in ("link", "links", "api", "self", "href")]
    domain = facts.company().domain
    if (words and words[-1] in _SITE_NOUNS) or (spec.tokens[-1:] and spec.tokens[-1] in _SITE_NOUNS):
        return f"https://www.{domain}"
    part = "-".join(words) or singular(spec.noun).replace("_", "-")
    return f"https://{domain}/{part}/{slug(facts.name)}"


def _image_url(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    kind = spec.tokens[-2] if len(spec.tokens) > 1 and spec.tokens[-1] in ("url", "uri", "link") else spec.tokens[-1]
    return f"https://images.{facts.company().domain}/{kind}/{slug(_own_name(spec, facts))}.png"


def _own_name(spec: Spec, facts: RowFacts) -> str:
    style = own_style(spec)
    if style is Style.PERSON:
        return facts.person().name
    return facts.company().name if style is Style.COMPANY else facts.name


def _file_name(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    return f"{slug(_own_name(spec, facts)).replace('.', '-')}.{pools.EXTENSIONS[facts.index % len(pools.EXTENSIONS)]}"


def _host(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    domain = facts.company().domain
    if "domain" in spec.tokens[-2:]:
        return domain
    return f"{slug(facts.name).replace('.', '-')[:40].strip('-')}.{domain}"


def _state(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    return facts.place(_address_role(spec)).region


def _address_role(spec: Spec) -> tuple[str, ...]:
    """Whose address: words like `address` and `mailing` before the part do not part one address from another."""
    return tuple(word for word in spec.role if word not in ("address", "location", "primary", "street", "postal"))


def _region(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    regions = regions_of(spec.setting.family)
    if spec.setting.family not in CLOUD_FAMILIES and spec.tokens[-1:] == ("location",):
        return facts.place(_address_role(spec)).city
    return draws.choice(regions[:3])


def _street(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    place = facts.place(_address_role(spec))
    number = 1 + (facts.index * 7 + facts.table.place_offset) % 120
    return f"{draws.choice(place.streets)} {number}"


def _address(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    role = (*_address_role(spec), *(word for word in spec.tokens[-2:-1] if word in ("billing", "shipping")))
    place = facts.place(role)
    number = 1 + (facts.index * 7 + facts.table.place_offset) % 120
    return f"{draws.choice(place.streets)} {number}, {place.postcode} {place.city}"


def _code(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    stem = next((word for word in reversed(spec.role) if word not in _GLUE), spec.noun.split("_")[-1])
    if spec.tokens[-1:] in (("abbreviation",), ("symbol",), ("acronym",)):
        return _SYMBOLS[(facts.index + facts.table.place_offset) % len(_SYMBOLS)]
    return f"{stem[:3].upper()}-{draws.digits(5)}"


def _version(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    return f"{draws.between(1, 4)}.{draws.between(0, 9)}.{draws.between(0, 5)}"


def _path(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    return f"/{draws.choice(_PATH_PARTS)}/{slug(_own_name(spec, facts))}"


def _mac(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    return ":".join(["02", *(draws.hexadecimal(2) for _ in range(5))])


def _resource_name(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    return f"projects/{draws.choice(pools.GOOGLE_PROJECTS)}/locations/{pools.GOOGLE_REGIONS[0]}"


def _barcode(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    body = f"40{draws.digits(10)}"
    total = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(body))
    return f"{body}{-total % 10}"


def _iban(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    bank = draws.digits(18)
    rest = int(f"{bank}131400") % 97
    return f"DE{98 - rest:02d}{bank}"


def _token(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    stem = next((word for word in spec.tokens if word in ("secret", "key", "token", "public", "private")), "token")
    return f"{stem[:3]}_{draws.text(24)}"


def _tag(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    names = names_for("tag")
    return names[(facts.index * 3 + draws.below(3)) % len(names)]


def _base64(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    return f"{draws.text(22)}=="


def _initials(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    person = facts.person(spec.role)
    return person.first[:1] + person.last[:1]


def _html(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    return f"<p>{_filled(texts.MESSAGES, spec, facts, draws)}</p>"


def _title(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    name = _name(spec, facts, draws)
    return name.replace("-", " ").capitalize() if name.islower() and not spec.setting.is_cloud else name


def _username(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    return facts.person(tuple(word for word in spec.role if word not in ("twitter", "github", "skype"))).username


TEXT_MAKERS: Final[dict[Sense, TextMaker]] = {
    Sense.FIRST_NAME: lambda spec, facts, draws: facts.person(spec.role).first,
    Sense.LAST_NAME: lambda spec, facts, draws: facts.person(spec.role).last,
    Sense.PERSON: lambda spec, facts, draws: facts.person(spec.role or spec.tokens[:1]).name,
    Sense.INITIALS: _initials,
    Sense.USERNAME: _username,
    Sense.EMAIL: _email,
    Sense.PHONE: _phone,
    Sense.JOB_TITLE: lambda spec, facts, draws: draws.choice(names_for("position")),
    Sense.COMPANY: lambda spec, facts, draws: facts.company(spec.role).name,
    Sense.TAX_NUMBER: lambda spec, facts, draws: f"{facts.place().code}{draws.digits(9)}",
    Sense.STREET: _street,
    Sense.HOUSE_NUMBER: lambda spec, facts, draws: str(draws.between(1, 120)),
    Sense.ADDRESS: _address,
    Sense.UNIT_LINE: lambda spec, facts, draws: f"{draws.choice(('Floor', 'Suite', 'Unit'))} {draws.between(1, 24)}",
    Sense.CITY: lambda spec, facts, draws: facts.place(_address_role(spec)).city,
    Sense.STATE_NAME: _state,
    Sense.STATE_CODE: lambda spec, facts, draws: facts.place(_address_role(spec)).region_code,
    Sense.POSTCODE: lambda spec, facts, draws: facts.place(_address_role(spec)).postcode,
    Sense.COUNTRY: lambda spec, facts, draws: facts.place(_address_role(spec)).country,
    Sense.COUNTRY_CODE: lambda spec, facts, draws: facts.place(_address_role(spec)).code,
    Sense.TIMEZONE: lambda spec, facts, draws: facts.place(_address_role(spec)).timezone,
    Sense.LOCALE: lambda spec, facts, draws: facts.place(_address_role(spec)).locale,
    Sense.LANGUAGE: lambda spec, facts, draws: facts.place(_address_role(spec)).language,
    Sense.CURRENCY: lambda spec, facts, draws: facts.place(_address_role(spec)).currency,
    Sense.NAME: _name,
    Sense.TITLE: _title,
    Sense.SLUG: lambda spec, facts, draws: slug(_own_name(spec, facts)),
    Sense.SUBJECT: lambda spec, facts, draws: _filled(texts.SUBJECTS, spec, facts, draws),
    Sense.DESCRIPTION: lambda spec, facts, draws: _filled(texts.DESCRIPTIONS, spec, facts, draws),
    Sense.NOTE: lambda spec, facts, draws: _filled(texts.NOTES, spec, facts, draws),
    Sense.MESSAGE: lambda spec, facts, draws: _filled(texts.MESSAGES, spec, facts, draws),
    Sense.REASON: lambda spec, facts, draws: _filled(texts.REASONS, spec, facts, draws),
    Sense.TAG: _tag,
    Sense.URL: _url,
    Sense.IMAGE_URL: _image_url,
    Sense.PATH: _path,
    Sense.HOST: _host,
    Sense.IP: lambda spec, facts, draws: f"10.{draws.between(0, 40)}.{draws.between(0, 255)}.{draws.between(4, 250)}",
    Sense.IPV6: lambda spec, facts, draws: f"2001:db8:{draws.between(1, 9999):x}::{draws.between(1, 9999):x}",
    Sense.CIDR: lambda spec, facts, draws: f"10.{draws.between(0, 40)}.{draws.between(0, 15) * 16}.0/20",
    Sense.MAC: _mac,
    Sense.VERSION: _version,
    Sense.COLOUR: lambda spec, facts, draws: draws.choice(pools.COLOURS),
    Sense.MIME: lambda spec, facts, draws: pools.MIME_TYPES[facts.index % len(pools.MIME_TYPES)],
    Sense.FILE_NAME: _file_name,
    Sense.CRON: lambda spec, facts, draws: draws.choice(pools.CRONS),
    Sense.HASH: lambda spec, facts, draws: draws.hexadecimal(32 if "md5" in spec.tokens else 64),
    Sense.COMMIT: lambda spec, facts, draws: draws.hexadecimal(40),
    Sense.TOKEN: _token,
    Sense.PASSWORD: lambda spec, facts, draws: f"{draws.choice(('Harbour', 'Lantern', 'Maple'))}-{draws.text(9)}!7",
    Sense.UUID: lambda spec, facts, draws: draws.uuid(),
    Sense.ID: _ident,
    Sense.CODE: _code,
    Sense.ARN: _arn,
    Sense.REGION: _region,
    Sense.ACCOUNT: lambda spec, facts, draws: (
        pools.AWS_ACCOUNTS[draws.below(2)] if spec.setting.family == "aws" else draws.digits(10)
    ),
    Sense.RESOURCE_GROUP: lambda spec, facts, draws: draws.choice(pools.RESOURCE_GROUPS),
    Sense.RESOURCE_NAME: _resource_name,
    Sense.CLOUD_PROJECT: lambda spec, facts, draws: draws.choice(pools.GOOGLE_PROJECTS),
    Sense.USER_AGENT: lambda spec, facts, draws: draws.choice(pools.USER_AGENTS),
    Sense.DURATION: lambda spec, facts, draws: draws.choice(pools.DURATIONS),
    Sense.CLOCK_TIME: lambda spec, facts, draws: draws.choice(pools.CLOCK_TIMES),
    Sense.BASE64: _base64,
    Sense.HTML: _html,
    Sense.QUERY: lambda spec, facts, draws: f"{draws.choice(('status', 'owner', 'city'))} = open",
    Sense.IBAN: _iban,
    Sense.CARD_DIGITS: lambda spec, facts, draws: draws.digits(4),
    Sense.BARCODE: _barcode,
    Sense.SKU: lambda spec, facts, draws: f"{slug(facts.name)[:3].upper().replace('-', 'X')}-{draws.digits(4)}",
    Sense.ISBN: lambda spec, facts, draws: f"978-0-{draws.digits(3)}-{draws.digits(5)}-{draws.between(0, 9)}",
    Sense.PLATE: lambda spec, facts, draws: f"{draws.letters(2).upper()}-{draws.digits(3)}-{draws.letters(2).upper()}",
}


def fallback(spec: Spec, facts: RowFacts, draws: Draws) -> str:
    """For names that say nothing: an adjective and the column's own words."""
    words = [word for word in spec.tokens if word not in _GLUE] or [singular(spec.noun)]
    adjective = draws.choice(_ADJECTIVES)
    return (
        "-".join([adjective, *words[-3:]]) if spec.setting.is_cloud else " ".join([adjective, *words[-3:]]).capitalize()
    )


_RANGES: Final[dict[Sense, tuple[float, float, int]]] = {
    Sense.QUANTITY: (1, 40, 1),
    Sense.COUNT: (0, 180, 0),
    Sense.PERCENT: (1, 99, 1),
    Sense.RATIO: (0.02, 0.98, 2),
    Sense.RATING: (1, 5, 1),
    Sense.SCORE: (20, 98, 1),
    Sense.AGE: (18, 79, 0),
    Sense.YEAR: (2012, 2026, 0),
    Sense.MONTH: (1, 12, 0),
    Sense.DAY: (1, 28, 0),
    Sense.HOUR: (6, 21, 0),
    Sense.MINUTE: (0, 59, 0),
    Sense.MILLISECONDS: (40, 9000, 0),
    Sense.DAYS: (1, 60, 0),
    Sense.LENGTH: (5, 240, 1),
    Sense.WEIGHT: (0.2, 40, 2),
    Sense.BYTES: (2_048, 9_000_000, 0),
    Sense.CORES: (1, 8, 0),
    Sense.ORDER: (1, 30, 0),
    Sense.TEMPERATURE: (-4, 29, 1),
    Sense.DISTANCE: (1, 400, 1),
    Sense.LEVEL: (1, 10, 0),
    Sense.PORT: (1024, 9999, 0),
    Sense.LATITUDE: (-60, 60, 4),
    Sense.LONGITUDE: (-170, 170, 4),
    Sense.HOUSE_NUMBER: (1, 120, 0),
    Sense.POSTCODE: (10_000, 98_000, 0),
    Sense.CODE: (1_000, 9_900, 0),
    Sense.ID: (1_001, 1_040, 0),
    Sense.ACCOUNT: (10_000_000, 99_000_000, 0),
    Sense.BARCODE: (4_000_000_000_000, 4_009_999_999_999, 0),
    Sense.PHONE: (200_000_000, 999_999_999, 0),
}
"""Least, greatest and decimals of numbers by their sense."""
_LISTS: Final[dict[Sense, tuple[int, ...]]] = {
    Sense.SECONDS: (30, 60, 120, 300, 600, 900, 1800, 3600, 7200),
    Sense.PIXELS: (320, 480, 640, 800, 1024, 1280, 1600, 1920),
    Sense.GIGABYTES: (8, 16, 32, 50, 64, 100, 128, 250, 500),
    Sense.LIMIT: (10, 20, 25, 50, 75, 100, 150, 200, 500),
    Sense.PORT: (22, 80, 443, 3306, 5432, 6379, 8080, 8443, 9200),
    Sense.HTTP_STATUS: (200, 200, 201, 204, 301, 400, 403, 404, 500, 503),
}
_ENDINGS: Final = (0.0, 0.5, 0.9, 0.95, 0.99, 0.25, 0.75)
_DEFAULT_RANGE: Final = (1.0, 60.0, 1)


def number_for(spec: Spec, facts: RowFacts, draws: Draws, *, is_whole: bool) -> float:
    """A number by its sense, before the schema's bounds are looked at."""
    sense = spec.sense
    if sense is Sense.LATITUDE or sense is Sense.LONGITUDE:
        place = facts.place(_address_role(spec))
        return place.latitude if sense is Sense.LATITUDE else place.longitude
    if sense is Sense.MONEY:
        whole = draws.between(4, 60) if draws.happens(0.6) else draws.between(60, 900)
        amount = whole + draws.choice(_ENDINGS)
        return round(amount * 100) if is_whole else round(amount, 2)
    if sense in _LISTS:
        return draws.choice(_LISTS[sense])
    example = spec.examples[0] if spec.examples else None
    if sense is not None and sense in _RANGES:
        low, high, decimals = _RANGES[sense]
    elif isinstance(example, int | float) and example:
        low, high, decimals = example * 0.4, example * 1.6, 0 if float(example).is_integer() else 2
    else:
        low, high, decimals = _DEFAULT_RANGE
    made = low + draws.random() * (high - low)
    return round(made) if is_whole else round(made, decimals)


def text_for(spec: Spec, facts: RowFacts, draws: Draws) -> Any:
    """A text by its meaning, before its schema's limits are looked at."""
    if spec.pool:
        return draws.choice(spec.pool)
    if spec.shape:
        return "".join(part if isinstance(part, str) else _gap(part, spec, facts, draws) for part in spec.shape)
    sense = spec.sense
    if sense is None:
        return fallback(spec, facts, draws)
    maker = TEXT_MAKERS.get(sense)
    if maker is not None:
        return maker(spec, facts, draws)
    number = number_for(spec, facts, draws, is_whole=sense is not Sense.MONEY)
    return f"{number:.2f}" if sense is Sense.MONEY else number_text(number)


def number_text(number: float) -> str:
    """A number as people write it: an integer, or a few decimals, never with an exponent."""
    return str(int(number)) if float(number).is_integer() else f"{number:.4f}".rstrip("0").rstrip(".")


def _gap(gap: Gap, spec: Spec, facts: RowFacts, draws: Draws) -> str:
    """What stands in one place of a shape: what the row says, a project, a region, or a name of such a thing."""
    known = known_in(facts.known, gap) if gap.word != spec.name else None
    if known is not None:
        return known
    noun = (gap.noun or gap.word).removesuffix("_id").removesuffix("_name").removesuffix("_number")
    word = noun.split("_")[-1]
    if word in ("project", "consumer"):
        return draws.choice(pools.GOOGLE_PROJECTS)
    if word == "subscription" and spec.setting.family == "azure":
        return draws_for("ident", "subscription", draws.below(2)).uuid()
    if noun in ("resource_group", "group") and spec.setting.family == "azure":
        return draws.choice(pools.RESOURCE_GROUPS)
    if gap.word == "resource_provider_namespace":
        return f"Microsoft.{spec.setting.service.capitalize()}"
    if gap.word == "resource_type":
        return plural(spec.noun).replace("_", "-")
    if gap.word == "resource_name":
        return slug(facts.name)
    if word in ("location", "region"):
        return draws.choice(regions_of(spec.setting.family)[:3])
    if word == "zone":
        return f"{draws.choice(regions_of(spec.setting.family)[:3])}-{draws.choice('abc')}"
    if word == "account" and spec.setting.family == "aws":
        return pools.AWS_ACCOUNTS[draws.below(2)]
    if word in ("organization", "folder", "account", "customer"):
        return draws_for("ident", word, draws.below(_NUM_KEPT)).digits(12)
    if noun == singular(spec.noun) and gap is spec.shape[-1]:
        return slug(facts.name)
    if word in ("version", "revision", "number"):
        return str(draws.between(1, 9))
    return slug(draws.choice(names_for(noun or spec.noun, True)[: 2 * _NUM_KEPT]))
