"""Reads documentation pages: sections with a method, a path, tables and examples become operations."""

import html
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

from environments.core.errors import UnreadableSourceError
from environments.core.licences import licence_of
from environments.core.sources.model import Document, Fetched, Operation, Problem, SourceKind
from environments.core.sources.providers import provider_of
from environments.core.sources.text_values import clean_text
from environments.core.sources.web_pages.blocks import (
    MAX_BLOCKS,
    MAX_HTML_BYTES,
    MAX_MARKDOWN_BYTES,
    Block,
    Code,
    Heading,
    Text,
    decode,
    html_blocks,
    is_html,
    markdown_blocks,
)
from environments.core.sources.web_pages.html_tokens import Tag, tokens_of
from environments.core.sources.web_pages.links import links_of_html, links_of_markdown
from environments.core.sources.web_pages.operations import operation_of
from environments.core.sources.web_pages.sections import sections_of

_MARKDOWN_NAME: Final = re.compile(r"\.(?:md|markdown|mdx)(?:[?#].*)?$", re.IGNORECASE)
_MARKDOWN_TYPES: Final = ("text/markdown", "text/x-markdown")
_MARKDOWN_CALL: Final = re.compile(rb"^#{1,6}[^\n]{0,200}\b(?:GET|POST|PUT|PATCH|DELETE)\b[\s:`]{1,5}/", re.MULTILINE)
_BASE: Final = re.compile(
    r"\b(?:base|root|api)\s(?:url|uri|address|endpoint)\b[^\n]{0,40}?(https?://[^\s`\"'<>()]{1,300})", re.IGNORECASE
)
_VERSION: Final = re.compile(r"\bversion:?\s{0,3}v?(\d+(?:\.\d+){0,3})\b", re.IGNORECASE)


class WebPageReader:
    """Reads HTML and Markdown; the last to be asked, since it takes what it does not understand for words."""

    kind = SourceKind.WEB_PAGE

    def recognises(self, fetched: Fetched) -> bool:
        """Whether it is an HTML page, or Markdown by its name, its type or a heading with a method and a path."""
        if is_html(fetched.data, fetched.media_type) or fetched.media_type in _MARKDOWN_TYPES:
            return True
        if fetched.data.lstrip()[:1] in (b"{", b"["):
            return False
        return bool(_MARKDOWN_NAME.search(fetched.address)) or bool(
            _MARKDOWN_CALL.search(fetched.data[:MAX_MARKDOWN_BYTES])
        )

    def read(self, fetched: Fetched) -> Document:
        """The document.

        Raises:
            UnreadableSourceError: No section names a method and a path, or the page breaks a limit.
        """
        if is_html(fetched.data, fetched.media_type):
            tokens, dialect = tokens_of(decode(fetched.data, MAX_HTML_BYTES)), "html"
            blocks = list(islice(html_blocks(tokens), MAX_BLOCKS))
            links = links_of_html(tokens, fetched.address)
            title, licence = _head(tokens)
        else:
            text, dialect = decode(fetched.data, MAX_MARKDOWN_BYTES), "markdown"
            blocks = list(islice(markdown_blocks(text), MAX_BLOCKS))
            links = links_of_markdown(text, fetched.address)
            title, licence = "", None
        sections = sections_of(blocks)
        if not sections:
            hint = f" It links to a description that can be read: {links[0]}." if links else ""
            raise UnreadableSourceError(f"No section of the page names a method and a path.{hint}")
        operations: dict[str, Operation] = {}
        problems = [Problem("description_linked", "", f"The page links to a description: {link}") for link in links[:3]]
        for section in sections:
            operation = operation_of(section)
            known = operations.setdefault(operation.key, operation)
            if known is not operation:
                problems.append(Problem("repeated_operation", section.place, f"{operation.key} is described twice"))
                if known.problems and not operation.problems:
                    operations[operation.key] = operation
        servers = _servers(blocks, [section.server for section in sections])
        heading = next((block.text for block in blocks if isinstance(block, Heading)), "")
        return Document(
            kind=self.kind,
            dialect=dialect,
            title=clean_text(heading or title, 300) or fetched.address.rsplit("/", 1)[-1],
            version=_version(blocks),
            description=_introduction(blocks),
            licence=licence_of(licence),
            provider=provider_of({}, servers, fetched.address),
            servers=servers,
            operations=tuple(operations.values()),
            problems=tuple(problems[:200]),
        )


def _head(tokens: Iterable[Tag | str]) -> tuple[str, dict[str, Any] | None]:
    """A page's title, and what it marks as its licence; words about licences in its text may mean anything."""
    title, licence = "", None
    for token in tokens:
        if isinstance(token, str) or token.is_end:
            continue
        if token.name == "title" and not title:
            title = clean_text(html.unescape(token.raw or ""), 300)
        elif token.name in ("link", "a") and "license" in token.attributes.get("rel", "").lower().split():
            licence = licence or {"url": token.attributes.get("href")}
    return title, licence


def _servers(blocks: Sequence[Block], named: Sequence[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for block in blocks:
        if isinstance(block, Text | Code) and (match := _BASE.search(block.text[:2_000])):
            found[match[1].rstrip("/.,;")] = None
    found.update(dict.fromkeys(filter(None, named)))
    return tuple(found)[:20]


def _version(blocks: Sequence[Block]) -> str:
    for block in blocks[:40]:
        if isinstance(block, Heading | Text) and (match := _VERSION.search(block.text[:1_000])):
            return match[1]
    return ""


def _introduction(blocks: Sequence[Block]) -> str:
    """The first paragraphs, before the second heading."""
    words: list[str] = []
    num_headings = 0
    for block in blocks:
        num_headings += isinstance(block, Heading)
        if num_headings > 1:
            break
        if isinstance(block, Text):
            words.append(block.text)
    return clean_text("\n\n".join(words), 4_000)
