"""Which parts of a page describe one operation each: a method and a path in a heading, or right below one."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from environments.core.sources.web_pages.blocks import Block, Code, Heading, Items, Table, Text
from environments.core.sources.web_pages.fields import columns_of

_METHODS: Final = "GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS"
_ADDRESS: Final = r"""(?:https?://|/)(?:<[A-Za-z_][\w -]{0,60}>|[^\s`"'<>]){0,500}"""
_CALL: Final = re.compile(rf"(?<![A-Za-z])({_METHODS})(?![A-Za-z])[\s:`|\]]{{0,9}}({_ADDRESS})")
_WHOLE: Final = re.compile(rf"^\s*`?({_METHODS})[\s:`]{{1,9}}({_ADDRESS})`?(?:\s+HTTP/[0-9.]+)?\s*$")
_METHOD: Final = re.compile(rf"^({_METHODS})$")
_CURL: Final = re.compile(r"\bcurl\b")
_CURL_METHOD: Final = re.compile(rf"(?:-X|--request)[\s=]{{0,3}}[\"']?({_METHODS})\b")
_CURL_DATA: Final = re.compile(r"\s(?:-d|--data(?:-raw|-binary)?|--json|-F|--form)\b")
_CURL_ADDRESS: Final = re.compile(r"""https?://[^\s"'\\<>]{1,500}""")
_PATH: Final = re.compile(r"^/[^\s]*$")
_COLON: Final = re.compile(r"/:([A-Za-z_][\w-]*)")
_ANGLE: Final = re.compile(r"[<\[]([A-Za-z_][\w -]{0,60})[>\]]")
_PATH_NAME: Final = re.compile(r"\{([^{}/]{1,100})\}")
_PATH_COLUMNS: Final = frozenset({"path", "endpoint", "url", "uri", "route", "resource", "address", "request"})
_METHOD_COLUMNS: Final = frozenset({"method", "verb", "http method", "http verb", "action", "type", "request"})
MAX_SECTIONS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Section:
    """What a page says of one operation.

    Attributes:
        method: Upper case.
        path: With its arguments in braces.
        server: Before the path, if the page writes whole addresses.
        title: What the heading says besides.
        place: The heading, or the row of a table of operations.
        blocks: All that belongs to it, without its heading.
        query: Names of arguments that the address shows behind a question mark.
    """

    method: str
    path: str
    server: str
    title: str
    place: str
    blocks: tuple[Block, ...]
    query: tuple[str, ...] = ()


def sections_of(blocks: Sequence[Block]) -> list[Section]:
    """Sections in the page's order; what a table of operations lists counts where no section tells more of it."""
    found = list(_headed(blocks))
    known = {(section.method, section.path) for section in found}
    for section in _listed(blocks):
        if (section.method, section.path) not in known:
            known.add((section.method, section.path))
            found.append(section)
    return found[:MAX_SECTIONS]


def _headed(blocks: Sequence[Block]) -> Iterator[Section]:
    starts: list[tuple[int, int, str, str, str]] = []  # place, level, method, address, title
    heading: tuple[int, Heading] | None = None
    open_level: int | None = None
    for place, block in enumerate(blocks):
        if isinstance(block, Heading):
            heading = (place, block)
            if open_level is not None and block.level <= open_level:
                open_level = None
            if match := _CALL.search(block.text):
                title = (block.text[: match.start()] + block.text[match.end() :]).strip(" -\u2013\u2014:|()`")
                starts.append((place, block.level, match[1], match[2], title))
                open_level = block.level
        elif heading is not None and open_level is None:
            call = _call_of(block)
            if call is not None:
                starts.append((heading[0], heading[1].level, *call, heading[1].text))
                open_level = heading[1].level
    for number, (place, level, method, address, title) in enumerate(starts):
        following = starts[number + 1][0] if number + 1 < len(starts) else len(blocks)
        end = place + 1
        while end < following:
            block = blocks[end]
            if isinstance(block, Heading) and block.level <= level:
                break
            end += 1
        made = _section(method, address, title, blocks[place], blocks[place + 1 : end])
        if made is not None:
            yield made


def _call_of(block: Block) -> tuple[str, str] | None:
    """Method and address of a block that consists of them, or that shows how to call them."""
    if isinstance(block, Text):
        match = _WHOLE.match(block.text)
        return (match[1], match[2]) if match else None
    if not isinstance(block, Code):
        return None
    text = block.text[:5_000]
    match = _WHOLE.match(text.split("\n", 1)[0])
    if match:
        return match[1], match[2]
    if _CURL.search(text) and (address := _CURL_ADDRESS.search(text)):
        method = _CURL_METHOD.search(text)
        return (method[1] if method else "POST" if _CURL_DATA.search(text) else "GET"), address[0]
    return None


def _listed(blocks: Sequence[Block]) -> Iterator[Section]:
    """Operations that a table lists, one in each row."""
    for block in blocks:
        if not isinstance(block, Table) or len(block.rows) < 2:
            continue
        head = [" ".join(text.lower().split()) for text in block.rows[0]]
        path_at = next((place for place, text in enumerate(head) if text in _PATH_COLUMNS), None)
        method_at = next((place for place, text in enumerate(head) if text in _METHOD_COLUMNS), None)
        described_at = columns_of(block.rows[0]).get("description")
        if path_at is None:
            continue
        for row in block.rows[1:]:
            described = row[described_at] if described_at is not None and described_at < len(row) else ""
            cell = row[path_at] if path_at < len(row) else ""
            match = _WHOLE.match(cell)
            if match is None and method_at is not None and method_at < len(row):
                method = _METHOD.match(row[method_at].strip(" `").upper())
                address = cell.strip(" `")
                call = (method[1], address) if method and _PATH.match(address) else None
            else:
                call = (match[1], match[2]) if match else None
            if call is not None:
                made = _section(
                    *call, described[:200], Heading(6, " ".join(call)), [Text(described)] if described else []
                )
                if made is not None:
                    yield made


def _section(method: str, address: str, title: str, place: Block, blocks: Sequence[Block]) -> Section | None:
    server = ""
    if not address.startswith("/"):
        try:
            parts = urlsplit(address)
        except ValueError:
            return None
        server = f"{parts.scheme}://{parts.netloc}"
        address = address[len(server) :] or "/"
    path, _, query = address.rstrip(".,;:)`").partition("?")
    path = _COLON.sub(r"/{\1}", path.split("#", 1)[0])
    path = _ANGLE.sub(lambda match: "{" + match[1].strip().replace(" ", "_") + "}", path) or "/"
    names = [part.partition("=")[0] for part in query.split("&") if part.partition("=")[0].replace("_", "").isalnum()]
    shown = place.text if isinstance(place, Heading) else ""
    return Section(method, path, server, title, shown[:300], tuple(blocks), tuple(names[:50]))


def is_call(text: str) -> bool:
    """Whether a text is a method and an address, and nothing else."""
    return _WHOLE.match(text) is not None


def path_names(path: str) -> list[str]:
    """The arguments in a path."""
    return list(dict.fromkeys(_PATH_NAME.findall(path)))


def shown(blocks: Sequence[Block], limit: int) -> str:
    """Blocks as text, for whoever reads them instead of a rule."""
    parts: list[str] = []
    left = limit
    for block in blocks:
        if isinstance(block, Heading):
            text = f"{'#' * block.level} {block.text}"
        elif isinstance(block, Items):
            text = "\n".join(f"- {item}" for item in block.items)
        elif isinstance(block, Table):
            text = "\n".join(" | ".join(row) for row in block.rows)
        else:
            text = block.text
        parts.append(text[:left])
        left -= len(text) + 2
        if left <= 0:
            break
    return "\n\n".join(parts)[:limit]
