"""What stands beside the rows of a page: totals, cursors, numbers of pages."""

from collections.abc import Iterable, Iterator
from typing import Final

from environments.core.compile.reading.calls import Shape, ShapeType
from environments.core.compile.reading.shapes import Shapes
from environments.core.compile.reading.vocabulary import (
    COUNT,
    HAS_MORE,
    HERE,
    NEXT_CURSOR,
    NEXT_PAGE,
    NUM_PAGES,
    OFFSET_MEMBERS,
    PAGE_MEMBERS,
    PAGING_OBJECTS,
    SIZE_MEMBERS,
    TOTAL,
)
from environments.core.compile.reading.words import plural, squash
from environments.core.compile.semantics import PageFact

MAX_DEPTH: Final = 2
"""`meta.pagination.total`."""

_NUMBERS: Final = frozenset({ShapeType.INTEGER, ShapeType.NUMBER})
_NUMERIC: Final = (
    (TOTAL, PageFact.TOTAL),
    (HERE, PageFact.HERE),
    (NUM_PAGES, PageFact.NUM_PAGES),
    (NEXT_PAGE, PageFact.NEXT_PAGE),
    (PAGE_MEMBERS, PageFact.PAGE),
    (SIZE_MEMBERS, PageFact.SIZE),
    (OFFSET_MEMBERS, PageFact.OFFSET),
)
_LINKS: Final = frozenset({"uri", "url", "uri-reference"})


def page_facts(
    envelopes: Iterable[tuple[tuple[str, ...], Shape]],
    rows: tuple[str, ...],
    shapes: Shapes,
    *,
    is_paged: bool,
    noun: str = "",
) -> Iterator[tuple[tuple[str, ...], PageFact]]:
    """(path, fact) pairs of what envelopes say of a page; each fact but `SIZE` once.

    Args:
        envelopes: Places with the objects that stand there.
        rows: Place of the rows, which are not looked into.
        shapes: Of the document.
        is_paged: Whether inputs page through the rows; else a count is of all of them.
        noun: Of the rows, squashed: `total_posts` and `num_posts` are totals of posts.
    """
    listed = tuple(envelopes)
    totals = names_of_totals(noun)
    found = [pair for place, shape in listed for pair in _inside(shape, place, rows, shapes, 0)]
    found += [
        ((*place, name), PageFact.TOTAL)
        for place, shape in listed
        for name, node in shape.properties.items()
        if squash(name) in totals and shapes.of(node).type in _NUMBERS
    ]
    counts = [pair for place, shape in listed for pair in _counts(shape, place, rows, shapes, 0)]
    seen: set[PageFact] = set()
    for path, fact in found:
        if fact not in seen:
            seen.add(fact)
            yield path, fact
    for path, shape in counts:
        counted = _count_fact(shape, seen, is_paged=is_paged)
        if counted is not None and counted not in seen:
            seen.add(counted)
            yield path, counted


def names_of_totals(noun: str) -> frozenset[str]:
    """Names of totals that name what they count; `noun` is squashed."""
    many = squash(plural(noun)) if noun else ""
    patterns = ("total{}", "num{}", "numberof{}", "totalnumberof{}", "nb{}") if many else ()
    return frozenset({pattern.format(many) for pattern in patterns} | ({f"total{noun}count"} if many else set()))


def _inside(
    shape: Shape, place: tuple[str, ...], rows: tuple[str, ...], shapes: Shapes, depth: int
) -> Iterator[tuple[tuple[str, ...], PageFact]]:
    for name, node in shape.properties.items():
        path, squashed = (*place, name), squash(name)
        if path == rows[: len(path)]:
            continue
        each = shapes.of(node)
        if each.type is ShapeType.OBJECT and squashed in PAGING_OBJECTS and depth < MAX_DEPTH:
            yield from _inside(each, path, rows, shapes, depth + 1)
            continue
        if each.type in _NUMBERS:
            # `page.number`, as Spring has it.
            if squashed == "number" and place and squash(place[-1]) in PAGING_OBJECTS:
                yield path, PageFact.PAGE
            for names, fact in _NUMERIC:
                if squashed in names and not (squashed == "pages" and depth == 0 and not place):
                    yield path, fact
                    break
        elif each.type is ShapeType.BOOLEAN and squashed in HAS_MORE:
            yield path, PageFact.HAS_MORE
        elif each.type is ShapeType.STRING and squashed in NEXT_CURSOR and each.keywords.get("format") not in _LINKS:
            yield path, PageFact.NEXT_CURSOR


def _counts(
    shape: Shape, place: tuple[str, ...], rows: tuple[str, ...], shapes: Shapes, depth: int
) -> Iterator[tuple[tuple[str, ...], Shape]]:
    """Numbers that are either of all rows or of those here."""
    for name, node in shape.properties.items():
        path, squashed = (*place, name), squash(name)
        if path == rows[: len(path)]:
            continue
        each = shapes.of(node)
        if each.type in _NUMBERS and squashed in COUNT:
            yield path, each
        elif each.type is ShapeType.OBJECT and squashed in PAGING_OBJECTS and depth < MAX_DEPTH:
            yield from _counts(each, path, rows, shapes, depth + 1)


def _count_fact(shape: Shape, seen: set[PageFact], *, is_paged: bool) -> PageFact | None:
    """What a bare `count` counts; None where only one who knows the API could say."""
    text = shape.description.lower()
    if PageFact.TOTAL in seen:
        return PageFact.HERE
    if any(word in text for word in ("total", "overall", "all pages", "matching")):
        return PageFact.TOTAL
    if any(word in text for word in ("returned", "in this page", "on this page", "in the response", "current page")):
        return PageFact.HERE
    return None if is_paged else PageFact.TOTAL
