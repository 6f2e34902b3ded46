"""Names as words: snake case, singular and plural, and the bare form in which names are compared."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

_CACHED: Final = 1 << 17

_IRREGULAR: Final = {
    "aches": "ache", "aliases": "alias", "analyses": "analysis", "appendices": "appendix", "apparatuses": "apparatus",
    "atlases": "atlas", "axes": "axis", "biases": "bias", "bonuses": "bonus", "buses": "bus", "caches": "cache",
    "calories": "calorie", "campuses": "campus", "canvases": "canvas", "censuses": "census", "children": "child",
    "cookies": "cookie", "corpora": "corpus", "corpuses": "corpus", "crises": "crisis", "criteria": "criterion",
    "diagnoses": "diagnosis", "dies": "die", "echoes": "echo", "feet": "foot", "focuses": "focus", "gases": "gas",
    "halves": "half", "headaches": "headache", "heroes": "hero", "hypotheses": "hypothesis", "indices": "index",
    "knives": "knife", "leaves": "leaf", "lenses": "lens", "lies": "lie", "lives": "life", "loaves": "loaf",
    "matrices": "matrix", "men": "man", "mice": "mouse", "movies": "movie", "oases": "oasis", "parentheses":
    "parenthesis", "people": "person", "persons": "person", "phenomena": "phenomenon", "pies": "pie", "potatoes":
    "potato", "prognoses": "prognosis", "quizzes": "quiz", "radiuses": "radius", "schemata": "schema", "selfies":
    "selfie", "selves": "self", "shelves": "shelf", "statuses": "status", "surpluses": "surplus", "syllabuses":
    "syllabus", "syntheses": "synthesis", "synopses": "synopsis", "theses": "thesis", "ties": "tie", "tomatoes":
    "tomato", "vertices": "vertex", "vetoes": "veto", "viruses": "virus", "wolves": "wolf", "women": "woman",
    "zombies": "zombie",
    # Acronyms and others whose plural looks like a singular.
    "apis": "api", "cpus": "cpu", "dpus": "dpu", "emojis": "emoji", "gpus": "gpu", "gurus": "guru", "guis": "gui",
    "kpis": "kpi", "menus": "menu", "pois": "poi", "skus": "sku", "taxis": "taxi", "tpus": "tpu", "uris": "uri",
    "vcpus": "vcpu", "wikis": "wiki", "enis": "eni", "amis": "ami",
}  # fmt: skip
"""Singular by plural; the first plural of a singular is the one that is made of it."""

UNCOUNTABLE: Final = frozenset({
    "analytics", "aws", "baggage", "chaos", "css", "data", "dns", "ebs", "ecs", "efs", "eks", "equipment", "evidence",
    "feedback", "firmware", "furniture", "gps", "graphics", "hardware", "health", "https", "info", "information", "ios",
    "jwks", "kms", "knowledge", "kubernetes", "logistics", "luggage", "mathematics", "media", "merchandise", "metadata",
    "mfa", "money", "news", "nfs", "os", "oss", "physics", "politics", "postgres", "rds", "redis", "rss", "saas",
    "series", "sheep", "smb", "sms", "sns", "software", "species", "sports", "sqs", "ssl", "staff", "statistics",
    "stats", "tls", "traffic", "weather", "whois", "windows", "xms",
})  # fmt: skip
"""Words that are their own plural."""

_ACRONYMS: Final = {
    "eBay": "Ebay", "GitHub": "Github", "GitLab": "Gitlab", "GraphQL": "Graphql", "IaaS": "Iaas", "iOS": "Ios",
    "IPv4": "Ipv4", "IPv6": "Ipv6", "ipV4": "Ipv4", "ipV6": "Ipv6", "LinkedIn": "Linkedin", "macOS": "Macos",
    "MySQL": "Mysql", "OAuth": "Oauth", "PaaS": "Paas", "PayPal": "Paypal", "PostgreSQL": "Postgresql",
    "SaaS": "Saas", "vCPU": "Vcpu", "WhatsApp": "Whatsapp", "WiFi": "Wifi", "YouTube": "Youtube",
}  # fmt: skip

_SINGULARS: Final = frozenset(_IRREGULAR.values())
_PLURALS: Final = {one: many for many, one in reversed(_IRREGULAR.items())}
_COMPOUNDS: Final = ("statuses", "aliases", "analyses", "indices", "caches")
_COMPOUND_SINGULARS: Final = (("status", "statuses"), ("alias", "aliases"), ("analysis", "analyses"))
"""Ends of words written as one: `orderstatuses`."""
_UNCOUNTABLE_ENDS: Final = ("data", "media", "ware")
_WHOLE_ENDS: Final = ("ss", "us", "is")
"""Of singular words."""
_SHORT_IES: Final = 4
"""`ties` loses its `s` only."""
_MARKS: Final = re.compile(r"[\u0300-\u036f]")
"""Accents, after decomposition."""
_BARE: Final = re.compile(r"[^a-z0-9]")
_NOT_WORD: Final = re.compile(r"[^A-Za-z0-9]+")
_PLURAL_ACRONYM: Final = re.compile(r"([A-Z]{2,})s(?![a-z])")
_ACRONYM_END: Final = re.compile(r"([A-Z]+)([A-Z][a-z])")
_HUMP: Final = re.compile(r"([a-z0-9])([A-Z])")
_KNOWN: Final = re.compile("|".join(sorted(_ACRONYMS, key=lambda name: (-len(name), name))))


@lru_cache(_CACHED)
def snake(name: str) -> str:
    """The name in snake case: `vm_size` for `vmSize`, `x` if no letter or digit of ASCII is in it."""
    plain = unicodedata.normalize("NFKD", name)
    plain = _KNOWN.sub(lambda match: _ACRONYMS[match.group()], plain)
    plain = _PLURAL_ACRONYM.sub(lambda match: match.group(1).capitalize() + "s", plain)
    plain = _HUMP.sub(r"\1_\2", _ACRONYM_END.sub(r"\1_\2", plain))
    return _NOT_WORD.sub("_", _MARKS.sub("", plain)).strip("_").lower() or "x"


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case."""
    return tuple(snake(name).split("_"))


@lru_cache(_CACHED)
def squash(name: str) -> str:
    """Letters and digits of the name in lower case: the form in which names are compared.

    A name without any in ASCII is compared as it is.
    """
    return _BARE.sub("", name.lower()) or name.casefold()


@lru_cache(_CACHED)
def singular(name: str) -> str:
    """A snake-case name with its last word in the singular."""
    head, mark, word = name.rpartition("_")
    return f"{head}{mark}{_singular_word(word)}"


@lru_cache(_CACHED)
def plural(name: str) -> str:
    """A snake-case name with its last word in the plural; words without one, and plurals, stay."""
    head, mark, word = name.rpartition("_")
    return f"{head}{mark}{_plural_word(word)}"


def is_plural(name: str) -> bool:
    """Whether the last word of a snake-case name is a plural with another singular."""
    return singular(name) != name


def _singular_word(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 3 or _is_uncountable(word) or word in _SINGULARS or word.endswith(_WHOLE_ENDS):
        return word
    if word.endswith("ies") and len(word) > _SHORT_IES:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    for end in _COMPOUNDS:
        if word.endswith(end):
            return word[: -len(end)] + _IRREGULAR[end]
    return word.removesuffix("s")


def _plural_word(word: str) -> str:
    if _is_uncountable(word) or _singular_word(word) != word:
        return word
    if word in _PLURALS:
        return _PLURALS[word]
    for end, whole in _COMPOUND_SINGULARS:
        if word.endswith(end):
            return word[: -len(end)] + whole
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")


def _is_uncountable(word: str) -> bool:
    return word in UNCOUNTABLE or word.endswith(_UNCOUNTABLE_ENDS)
