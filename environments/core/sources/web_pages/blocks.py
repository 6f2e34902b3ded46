"""A page as what it consists of, in order: headings, text, code, tables and lists, whether HTML or Markdown."""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from environments.core.errors import UnreadableSourceError
from environments.core.sources.text_values import clean_text
from environments.core.sources.web_pages.html_tokens import Tag, tokens_of

MAX_HTML_BYTES: Final = 4 << 20
MAX_MARKDOWN_BYTES: Final = 1 << 20
MAX_BLOCKS: Final = 100_000
MAX_LINES: Final = 50_000
MAX_COLUMNS: Final = 200
MAX_ROWS: Final = 2_000
MAX_CELLS: Final = 16
MAX_CELL_LENGTH: Final = 2_000
MAX_TEXT_LENGTH: Final = 8_000
MAX_CODE_LENGTH: Final = 200_000

_HTML: Final = re.compile(
    rb"\s*(?:<!--.{0,4000}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_LISTS: Final = frozenset({"ul", "ol", "dl"})
_UNREAD: Final = frozenset(
    {"noscript", "template", "svg", "math", "nav", "footer", "button", "select", "canvas", "object"}
)
"""What holds no words of the page itself; ended by its own end tag."""
_INLINE: Final = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "del", "dfn", "em", "font", "i", "img", "ins", "kbd", "label",
    "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip
_MARKS: Final = (
    (re.compile(r"!?\[([^\[\]]{0,300})\]\([^()]{0,500}\)"), r"\1"),
    (
        re.compile(
            r"</?(?:a|abbr|b|br|code|del|em|font|i|img|ins|kbd|mark|p|s|small|span|strong|su[bp]|u)\b[^<>]{0,200}>"
        ),
        " ",
    ),
    (re.compile(r"(?<!\\)\*{1,3}|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|~~"), ""),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
)
"""Links, tags, emphasis and escapes of Markdown, in this order."""
_SPACES: Final = re.compile(r"[\s\u00a0]+")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; level 1 is the highest."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """A block of code."""

    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list; of a list of definitions each item is `term: definition`."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first row is its head."""

    rows: tuple[tuple[str, ...], ...]


Block = Heading | Text | Code | Items | Table


def is_html(data: bytes, media_type: str = "") -> bool:
    """Whether bytes are an HTML page."""
    return media_type in ("text/html", "application/xhtml+xml") or bool(
        _HTML.match(data[:20_000].lstrip(b"\xef\xbb\xbf"))
    )


def decode(data: bytes, limit: int) -> str:
    """A page's text.

    Raises:
        UnreadableSourceError: It is larger than the limit.
    """
    if len(data) > limit:
        raise UnreadableSourceError(f"The page has {len(data) / 2**20:.0f} MiB; at most {limit >> 20} are read.")
    return data.decode("utf-8-sig", "replace")


def html_blocks(tokens: Iterable[Tag | str]) -> Iterator[Block]:
    """The blocks of an HTML page."""
    builder = _Builder()
    for token in tokens:
        yield from builder.take(token)
    yield from builder.end()


class _Builder:
    """Where in a page the tokens are: in a heading, code, a table, a list, or plain text."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._unread: tuple[str, int] | None = None  # tag and how often it is open
        self._level: int | None = None
        self._is_code = False
        self._num_tables = 0
        self._rows: list[list[str]] = []
        self._has_cell = False
        self._num_lists = 0
        self._items: list[str] = []
        self._term = ""
        self._has_item = False
        self._codes: list[Code] = []  # of a list or table, which come after it

    def take(self, token: Tag | str) -> Iterator[Block]:
        """The blocks that end with a token."""
        if isinstance(token, str):
            if self._unread is None:
                self._parts.append(token)
        elif self._unread is not None:
            name, depth = self._unread
            if token.name == name:
                depth += -1 if token.is_end else 1
                self._unread = (name, depth) if depth else None
        elif token.raw is not None:
            return
        elif token.name in _UNREAD and not token.is_end:
            self._unread = (token.name, 1)
        elif token.name == "pre":
            yield from self._take_code(token)
        elif self._is_code:
            if token.name == "br":
                self._parts.append("\n")
        elif token.name in _HEADINGS and not self._num_tables:
            yield from self._take_heading(token)
        elif token.name == "table" or self._num_tables:
            yield from self._take_table(token)
        elif token.name in _LISTS or self._num_lists:
            yield from self._take_list(token)
        elif token.name not in _INLINE and self._level is None:
            yield from self._take_text()
        elif token.name not in _INLINE:
            self._parts.append(" ")

    def end(self) -> Iterator[Block]:
        """The blocks that the page's end ends."""
        if self._level is not None:
            yield Heading(self._level, self._text()[:500])
        if self._is_code:
            yield Code(self._code())
        if self._num_tables:
            yield from self._end_table()
        if self._num_lists:
            yield from self._end_list()
        yield from self._take_text()

    def _text(self) -> str:
        text = _clean("".join(self._parts))
        self._parts.clear()
        return text

    def _code(self) -> str:
        text = clean_text("".join(self._parts), MAX_CODE_LENGTH)
        self._parts.clear()
        return text

    def _take_text(self) -> Iterator[Block]:
        if text := self._text():
            yield Text(text)

    def _take_code(self, token: Tag) -> Iterator[Block]:
        if token.is_end and self._is_code:
            self._is_code = False
            made = Code(self._code())
            if self._num_tables or self._num_lists:
                self._codes.append(made)
            else:
                yield made
        elif not token.is_end and not self._is_code and self._level is None:
            if self._num_tables:
                self._end_cell()
            elif self._num_lists:
                self._end_item()
            else:
                yield from self._take_text()
            self._is_code = True

    def _take_heading(self, token: Tag) -> Iterator[Block]:
        if token.is_end:
            if self._level is not None:
                yield Heading(self._level, self._text()[:500])
                self._level = None
            return
        if self._level is not None:  # one that was never ended
            yield Heading(self._level, self._text()[:500])
        elif self._num_lists:
            yield from self._end_list()
        else:
            yield from self._take_text()
        self._level = _HEADINGS[token.name]

    def _take_table(self, token: Tag) -> Iterator[Block]:
        if token.name == "table":
            if token.is_end:
                self._num_tables -= 1
                if self._num_tables == 0:
                    yield from self._end_table()
                return
            if self._num_tables == 0:
                self._level = None
                yield from self._end_list() if self._num_lists else self._take_text()
            self._num_tables += 1
        elif self._num_tables == 1 and token.name == "tr":
            self._end_cell()
            if not token.is_end and len(self._rows) < MAX_ROWS:
                self._rows.append([])
        elif self._num_tables == 1 and token.name in ("td", "th"):
            self._end_cell()
            self._has_cell = not token.is_end
        elif token.name not in _INLINE:
            self._parts.append(" ")

    def _end_cell(self) -> None:
        text = self._text()[:MAX_CELL_LENGTH]
        if self._has_cell:
            if not self._rows:
                self._rows.append([])
            if len(self._rows[-1]) < MAX_CELLS:
                self._rows[-1].append(text)
        self._has_cell = False

    def _end_table(self) -> Iterator[Block]:
        self._end_cell()
        self._num_tables = 0
        rows = tuple(tuple(row) for row in self._rows if row)
        self._rows = []
        if rows:
            yield Table(rows)
        yield from self._take_codes()

    def _take_list(self, token: Tag) -> Iterator[Block]:
        if token.name in _LISTS:
            self._end_item()
            if not token.is_end:
                if self._num_lists == 0:
                    self._level = None
                self._num_lists += 1
            elif self._num_lists:
                self._num_lists -= 1
                if self._num_lists == 0:
                    yield from self._end_list()
        elif token.name in ("li", "dd", "dt"):
            self._end_item()
            self._has_item = not token.is_end
            if token.name == "dt" and not token.is_end:
                self._term = "\0"  # its text follows
        elif token.name not in _INLINE:
            self._parts.append(" ")

    def _end_item(self) -> None:
        text = self._text()[:MAX_CELL_LENGTH]
        if self._term == "\0":
            self._term = text
        elif text and len(self._items) < MAX_ROWS:
            self._items.append(f"{self._term}: {text}" if self._term and self._has_item else text)
            if self._has_item:
                self._term = ""
        self._has_item = False

    def _end_list(self) -> Iterator[Block]:
        self._end_item()
        self._num_lists, self._term = 0, ""
        items = tuple(self._items)
        self._items = []
        if items:
            yield Items(items)
        yield from self._take_codes()

    def _take_codes(self) -> Iterator[Block]:
        codes, self._codes = self._codes, []
        yield from codes


def _clean(text: str) -> str:
    return clean_text(_SPACES.sub(" ", text), MAX_TEXT_LENGTH)


# Markdown


def markdown_blocks(text: str) -> Iterator[Block]:
    """The blocks of a Markdown page; HTML in it is read as HTML.

    Raises:
        UnreadableSourceError: It has too many lines, or a table with too many columns.
    """
    lines = text.split("\n")
    if len(lines) > MAX_LINES or any(line.count("|") > MAX_COLUMNS for line in lines):
        raise UnreadableSourceError(f"The page has more than {MAX_LINES:,} lines or {MAX_COLUMNS} columns.")
    # What stands inside a line is cleaned below: the library's own rules for it take a hostile line's square.
    tokens = MarkdownIt("commonmark", {"maxNesting": 20}).enable("table").disable(["inline", "reference"]).parse(text)
    position = 0
    while position < len(tokens):
        token = tokens[position]
        end = _end(tokens, position)
        if token.type == "heading_open":
            yield Heading(int(token.tag[1]), _inline(tokens[position + 1])[:500])
        elif token.type in ("fence", "code_block"):
            yield Code(clean_text(token.content, MAX_CODE_LENGTH))
        elif token.type == "table_open":
            yield Table(tuple(_table_rows(tokens[position:end])))
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            yield from _list_blocks(tokens[position : end + 1])
        elif token.type == "html_block":
            yield from html_blocks(tokens_of(token.content))
        elif token.type == "inline":
            yield Text(_inline(token))
            end = position
        else:
            end = position  # what only holds others
        position = end + 1


def _end(tokens: Sequence[Token], start: int) -> int:
    """Where what begins at a token ends."""
    if tokens[start].nesting != 1:
        return start
    depth = 0
    for position in range(start, len(tokens)):
        depth += tokens[position].nesting
        if depth == 0:
            return position
    return len(tokens) - 1


def _inline(token: Token) -> str:
    """A line's words without its marks; every second part between backticks is code and stays as it is."""
    parts = token.content[: 2 * MAX_TEXT_LENGTH].split("`")
    return _clean("".join(part if place % 2 else _without_marks(part) for place, part in enumerate(parts)))


def _without_marks(text: str) -> str:
    for pattern, replacement in _MARKS:
        text = pattern.sub(replacement, text)
    return html.unescape(text)


def _table_rows(tokens: Sequence[Token]) -> Iterator[tuple[str, ...]]:
    cells: list[str] = []
    count = 0
    for token in tokens:
        if token.type == "tr_open":
            cells = []
        elif token.type == "inline" and len(cells) < MAX_CELLS:
            cells.append(_inline(token)[:MAX_CELL_LENGTH])
        elif token.type == "tr_close":
            yield tuple(cells)
            count += 1
            if count >= MAX_ROWS:
                return


def _list_blocks(tokens: Sequence[Token]) -> Iterator[Block]:
    """One list of all items, and the code that stands in them."""
    items: list[str] = []
    codes: list[Code] = []
    for token in tokens:
        if token.type == "list_item_open":
            items.append("")
        elif token.type == "inline" and items:
            items[-1] = f"{items[-1]} {_inline(token)}".strip()[:MAX_CELL_LENGTH]
        elif token.type in ("fence", "code_block"):
            codes.append(Code(clean_text(token.content, MAX_CODE_LENGTH)))
    yield Items(tuple(items[:MAX_ROWS]))
    yield from codes
