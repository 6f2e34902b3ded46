"""What a Python docstring says of arguments and result, in the forms of Google, NumPy and reST."""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

_GOOGLE: Final = re.compile(
    r"^(args|arguments|parameters|params|keyword args|keyword arguments|returns?|yields?|raises|examples?|notes?|"
    r"attributes|warnings?|references?|see also|todo|usage)\s*:\s*$",
    re.IGNORECASE,
)
_NUMPY_LINE: Final = re.compile(r"^\s*-{3,}\s*$")
_NUMPY: Final = frozenset(
    {"parameters", "other parameters", "returns", "yields", "raises", "examples", "notes", "see also", "references",
     "attributes", "warnings", "warns", "methods"}
)  # fmt: skip
_REST: Final = re.compile(
    r"^\s*:(param|parameter|arg|argument|key|keyword|type|returns?|rtype|raises?|raise)\b([^:\n]{0,200}):(.*)$"
)
_GOOGLE_ENTRY: Final = re.compile(r"^\*{0,2}([A-Za-z_]\w{0,200})(?:\s*\(([^\n]{0,300}?)\))?:(?:\s+(.*)|\s*)$")
_NUMPY_ENTRY: Final = re.compile(
    r"^\*{0,2}([A-Za-z_]\w{0,200}(?:\s*,\s*\*{0,2}[A-Za-z_]\w{0,200}){0,9})\s*(?::\s*(.*))?$"
)
_RETURN_TYPE: Final = re.compile(r"^([A-Za-z_][\w.\[\], |]{0,200}?)\s*:\s+(.*)$", re.DOTALL)
_ARGUMENTS: Final = frozenset(
    {"args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters"}
)
_RESULTS: Final = frozenset({"return", "returns", "yield", "yields"})
MAX_ENTRIES: Final = 200


@dataclass(frozen=True, slots=True)
class Described:
    """What is said of an argument or of the result.

    Attributes:
        words: Of its type, as written; empty without them.
        text: Of its meaning.
    """

    words: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring taken apart.

    Attributes:
        summary: The first paragraph, in one line.
        description: What follows before any section.
        arguments: By name, in order.
        result: None if nothing is said of it.
    """

    summary: str = ""
    description: str = ""
    arguments: Mapping[str, Described] = field(default_factory=dict)
    result: Described | None = None


def read_docstring(text: str) -> Docstring:
    """The parts of a docstring, whichever form it has; text of no known form is all description."""
    lines = inspect.cleandoc(text).splitlines()
    free: list[str] = []
    arguments: dict[str, Described] = {}
    result: Described | None = None
    for name, body in _sections(lines):
        if name in _ARGUMENTS:
            for key, described in _entries(body):
                arguments.setdefault(key, described)
        elif name in _RESULTS:
            result = result or _result(body)
        elif name == "":
            free += body
    rest, fields = _without_fields(free)
    for key, described in fields.items():
        if key == "":
            result = result or described
        else:
            arguments.setdefault(key, described)
    paragraphs = [part.strip() for part in "\n".join(rest).strip().split("\n\n") if part.strip()]
    summary = " ".join(paragraphs[0].split()) if paragraphs else ""
    return Docstring(summary, "\n\n".join(paragraphs[1:]), dict(list(arguments.items())[:MAX_ENTRIES]), result)


def _sections(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """(name in lower case, lines) of each section; the free text has an empty name."""
    name, body = "", list[str]()
    place = 0
    while place < len(lines):
        line = lines[place]
        google = _GOOGLE.match(line)
        following = lines[place + 1] if place + 1 < len(lines) else ""
        if google:
            yield name, body
            name, body = google[1].lower(), []
        elif line.strip().lower() in _NUMPY and _NUMPY_LINE.match(following):
            yield name, body
            name, body = line.strip().lower(), []
            place += 1
        elif name and line and not line[0].isspace() and google is None and _ends_google(body, line):
            yield name, body
            name, body = "", [line]
        else:
            body.append(line)
        place += 1
    yield name, body


def _ends_google(body: Sequence[str], line: str) -> bool:
    """Whether a line at the margin is behind a section whose own lines are indented."""
    first = next((each for each in body if each.strip()), "")
    return first[:1].isspace() and not _REST.match(line)


def _entries(body: Sequence[str]) -> Iterator[tuple[str, Described]]:
    lines = inspect.cleandoc("\n" + "\n".join(body)).splitlines()
    heads = [place for place, line in enumerate(lines) if line and not line[0].isspace()]
    for number, place in enumerate(heads):
        end = heads[number + 1] if number + 1 < len(heads) else len(lines)
        below = " ".join(" ".join(lines[place + 1 : end]).split())
        if google := _GOOGLE_ENTRY.match(lines[place]):
            yield google[1], Described((google[2] or "").strip(), f"{google[3] or ''} {below}".strip())
        elif numpy := _NUMPY_ENTRY.match(lines[place]):
            for name in numpy[1].split(","):
                yield name.strip(" *"), Described((numpy[2] or "").strip(), below)


def _result(body: Sequence[str]) -> Described:
    lines = inspect.cleandoc("\n" + "\n".join(body)).splitlines()
    if len(lines) > 1 and lines[1][:1].isspace() and lines[0][:1].strip() and ": " not in lines[0].rstrip():
        return Described(
            lines[0].strip(), " ".join(" ".join(lines[1:]).split())
        )  # NumPy: the type, then indented words
    text = " ".join(" ".join(lines).split())
    typed = _RETURN_TYPE.match(text)
    if typed is None:
        return Described("", text)
    words = typed[1].strip()
    named = re.match(r"^[A-Za-z_]\w*\s*:\s*(\S[^:]{0,100})$", lines[0]) if lines else None
    if named and len(lines) > 1 and lines[1][:1].isspace():  # NumPy: name and type
        return Described(named[1].strip(), " ".join(" ".join(lines[1:]).split()))
    return Described(words, typed[2].strip())


def _without_fields(lines: Sequence[str]) -> tuple[list[str], dict[str, Described]]:
    """Lines without reST's fields, and those by name; the result's name is empty."""
    rest: list[str] = []
    words: dict[str, str] = {}
    texts: dict[str, str] = {}
    current: str | None = None
    for line in lines:
        match = _REST.match(line)
        if match:
            kind, inside, text = match[1], match[2].split(), match[3].strip()
            current = None
            if kind in ("type", "rtype"):
                words["" if kind == "rtype" else inside[-1] if inside else ""] = text
            elif kind.startswith("return"):
                current = ""
                texts[""] = text
            elif not kind.startswith("raise") and inside:
                current = inside[-1].lstrip("*")
                texts[current] = text
                if len(inside) > 1:
                    words.setdefault(current, " ".join(inside[:-1]))
            else:
                current = "\0"  # what is said of errors
        elif current is not None and line[:1].isspace() and line.strip():
            if current != "\0":
                texts[current] = f"{texts[current]} {line.strip()}"
        else:
            current = None
            rest.append(line)
    names = dict.fromkeys([*texts, *words])
    return rest, {name: Described(words.get(name, ""), texts.get(name, "")) for name in names}
