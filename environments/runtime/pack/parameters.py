"""The :names in condition SQL, found without preparing it; the worker prepares it and has the last word."""

import re

_SKIPPED = re.compile(
    r"""
    '(?:[^']|'')*(?:'|(?P<text>\Z)) | "(?:[^"]|"")*(?:"|(?P<name>\Z)) | `(?:[^`]|``)*(?:`|(?P<quoted>\Z))
    | \[[^\]]*(?:\]|(?P<bracketed>\Z)) | --[^\n]* | /\*(?:.*?\*/|(?P<comment>.*\Z))
    """,
    re.VERBOSE | re.DOTALL,
)
"""Each alternative ends at the end of the text if nothing closes it, so that scanning stays linear."""
_PARAMETER = re.compile(r"(?<![\w:]):([A-Za-z_]\w*)", re.ASCII)
_OTHER_PARAMETER = re.compile(r"[?@$]|::|(?<![\w:]):(?![A-Za-z_])", re.ASCII)
_BEGINS = re.compile(r"\s*(SELECT|WITH)\b", re.IGNORECASE)


def condition_parameters(sql: str) -> tuple[frozenset[str], str | None]:
    """The names a condition uses, and what is wrong with its form (None: nothing seen)."""
    if any(match.lastgroup for match in _SKIPPED.finditer(sql)):
        return frozenset(), "a quotation or comment is not closed"
    bare = _SKIPPED.sub(" ", sql)
    if not _BEGINS.match(bare):
        return frozenset(), "it does not begin with SELECT"
    if ";" in bare:
        return frozenset(), "a condition is one statement without ';'"
    if _OTHER_PARAMETER.search(bare):
        return frozenset(), "only parameters like :name are accepted"
    return frozenset(_PARAMETER.findall(bare)), None
