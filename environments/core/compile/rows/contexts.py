"""Names whose words mislead: what they mean beside these nouns, in these conventions, under these descriptions."""

import re
from typing import Final

from environments.core.compile.reading.words import singular
from environments.core.compile.rows.nouns import is_person
from environments.core.compile.rows.senses import Match, Sense

_IS_ID: Final = re.compile(
    r"^(?:the |an? )?(?:[\w-]+ ){0,3}?(?:id|ids|identifier|identification)\b(?! card)"
    r"|\b(?:id|identifier) of (?:the|an?)\b",
    re.IGNORECASE,
)
_MAY_BE_ID: Final = frozenset({Sense.JOB_TITLE, Sense.PERSON, Sense.COMPANY, Sense.MESSAGE, Sense.SUBJECT, Sense.QUERY})
_MACHINES: Final = frozenset({
    "vm", "machine", "instance", "node", "compute", "server", "droplet", "cluster", "worker", "agent", "sku", "host",
})  # fmt: skip
_SIZES: Final = {
    "azure": ("Standard_D2s_v3", "Standard_B2ms", "Standard_E4s_v3", "Standard_F4s_v2", "Standard_D4s_v5"),
    "aws": ("t3.medium", "m5.large", "c5.xlarge", "r5.large", "t3.small"),
    "google": ("e2-standard-2", "n2-standard-4", "e2-medium", "n1-highmem-2", "c2-standard-4"),
}
_PLAIN_SIZES: Final = ("small", "medium", "large")
_STORED: Final = frozenset({
    "file", "image", "blob", "object", "attachment", "document", "disk", "volume", "snapshot", "backup", "artifact",
    "archive", "video", "audio", "media", "asset", "upload", "download", "log", "dataset", "database", "layer",
    "storage", "payload", "content", "package", "recording", "photo", "picture", "memory", "page", "batch", "buffer",
    "block", "response", "request", "max", "min", "total", "byte",
})  # fmt: skip
_MEASURED: Final = re.compile(r"\b(?:bytes?|[KMGT]i?B|mega|giga|kilo|tera)\w*\b", re.IGNORECASE)
_PAYING: Final = frozenset({
    "card", "payment", "charge", "transaction", "refund", "wallet", "issuer", "acquirer", "authorization", "dispute",
})  # fmt: skip
_NO_MEASURE: Final = frozenset({
    "scale", "organizational", "organisational", "organization", "business", "storage", "capacity", "deployment", "ad",
    "rental", "compute", "time", "stream", "execution", "processing",
})  # fmt: skip
"""Words whose `unit` is a thing and no measure."""


def sense_in_context(found: Match | None, tokens: tuple[str, ...], noun: str, description: str) -> Match | None:
    """The sense of a text by more than its own words; the one that was found where there is no more to say."""
    is_open = found is None or found.sense in _MAY_BE_ID
    if tokens and is_open and description and _IS_ID.search(description):
        return Match(Sense.ID, tokens, ())
    if found is not None and found.sense is Sense.JOB_TITLE and found.word == ("job",) and not is_person(noun):
        return Match(Sense.NAME, (*found.before, "job"), ())
    if found is None and tokens[-1:] == ("network",) and not _PAYING & {*tokens, *noun.split("_")}:
        return Match(Sense.NAME, tokens, ())
    if found is None and tokens[-1:] == ("unit",) and _NO_MEASURE & set(tokens[-2:-1]):
        return Match(Sense.NAME, tokens, ())
    return found


def sizes_of(tokens: tuple[str, ...], noun: str, description: str, family: str) -> tuple[str, ...]:
    """Words that a text called a size is one of; empty where it is a number of bytes, or no size at all."""
    is_type = tokens[-2:] in (("machine", "type"), ("instance", "type"), ("vm", "type"), ("instance", "class"))
    if tokens[-1:] != ("size",) and not is_type:
        return ()
    about = {singular(word) for word in (*tokens[:-1], *noun.split("_"))}
    if is_type or (_MACHINES & about and not _STORED & set(tokens[:-1])):
        return _SIZES.get(family, _PLAIN_SIZES)
    return () if _STORED & about or _MEASURED.search(description) else _PLAIN_SIZES
