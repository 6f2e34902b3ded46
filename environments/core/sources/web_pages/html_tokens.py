"""HTML as a flat row of tags and texts, in time that grows with the page's length and nothing else.

No tree is built: a parser that follows the standard's tree construction needs time in the square of how deep tags are
nested, or of how many attributes one has, and a hostile page has millions of both.

Reference: WHATWG HTML, section 13.2.5 (tokenization). Differs: character references in attribute values and texts are
replaced afterwards, and foreign content (SVG, MathML) is tokenized like everything else.
"""

import html
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from environments.core.errors import UnreadableSourceError

_NAME: Final = re.compile(r"[a-zA-Z][^\s/>]{0,100}")
_ATTRIBUTE: Final = re.compile(
    r"""[\s/]*(?:(>)|([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)(?:"|\Z)|'([^']*)(?:'|\Z)|([^\s>]*)))?)"""
)
_COMMENT_END: Final = re.compile(r"--!?>")
_RAW: Final = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes")
}
"""Elements that hold text only, whatever it looks like."""
MAX_ATTRIBUTES: Final = 100
"""That are kept of one tag."""
MAX_TOKENS: Final = 300_000
"""Tags, attributes and texts."""
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


class Tag(NamedTuple):
    """A tag; of an end tag the attributes mean nothing.

    Attributes:
        name: Lower case.
        is_end: Whether it ends an element.
        attributes: By lower-case name; the first of a name counts.
        raw: The text of an element that holds text only, whose end is thereby passed.
    """

    name: str
    is_end: bool = False
    attributes: Mapping[str, str] = _NONE
    raw: str | None = None


def tokens_of(text: str) -> list[Tag | str]:
    """Tags and the texts between them, in order.

    Raises:
        UnreadableSourceError: There are too many.
    """
    found: list[Tag | str] = []
    count = 0
    for token in _tokens(text):
        count += 1 if isinstance(token, str) else 1 + len(token.attributes)
        if count > MAX_TOKENS:
            raise UnreadableSourceError(f"The page has more than {MAX_TOKENS:,} tags, attributes and texts.")
        found.append(token)
    return found


def _tokens(text: str) -> Iterator[Tag | str]:
    position = 0
    while position < len(text):
        start = text.find("<", position)
        if start < 0:
            yield html.unescape(text[position:])
            return
        if start > position:
            yield html.unescape(text[position:start])
        following = text[start + 1 : start + 2]
        is_end = following == "/"
        name = _NAME.match(text, start + 1 + is_end)
        if name is not None:
            attributes, position = _attributes(text, name.end())
            tag = Tag(name[0].lower(), is_end, attributes)
            if not is_end and tag.name in _RAW:
                end = _RAW[tag.name].search(text, position)
                stop = end.start() if end else len(text)
                tag = Tag(tag.name, False, attributes, text[position:stop])
                position = _attributes(text, end.end())[1] if end else stop
            yield tag
        elif text.startswith("<!--", start):
            position = _after_comment(text, start + 4)
        elif following in ("!", "?", "/") and following:
            end_at = text.find(">", start)
            position = end_at + 1 if end_at >= 0 else len(text)
        else:
            yield "<"
            position = start + 1


def _attributes(text: str, position: int) -> tuple[Mapping[str, str], int]:
    """The attributes of a tag, and where it ends."""
    if text.startswith(">", position):
        return _NONE, position + 1
    found: dict[str, str] = {}
    while match := _ATTRIBUTE.match(text, position):
        position = match.end()
        if match[1]:
            return found, position
        if len(found) < MAX_ATTRIBUTES:
            value = next((part for part in match.group(3, 4, 5) if part is not None), "")
            found.setdefault(match[2].lower()[:100], html.unescape(value[:4_000]))
    return found, len(text)


def _after_comment(text: str, position: int) -> int:
    for abrupt in (">", "->"):
        if text.startswith(abrupt, position):
            return position + len(abrupt)
    end = _COMMENT_END.search(text, position)
    return end.end() if end else len(text)
