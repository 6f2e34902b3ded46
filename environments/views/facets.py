"""Facets: a property's values, each with how many rows it would leave, as links that keep the rest of the address."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

NUM_CHOICES_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a facet.

    Attributes:
        label: How it reads.
        num: How many rows it would leave, all other facets kept.
        url: The address with this value chosen, or with none for "any".
        is_current: Whether it is what is shown now.
    """

    label: Any
    num: int
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """One property to narrow a list by.

    Attributes:
        name: Its parameter in the address.
        label: How it reads.
        choices: "Any" first, then what is shown at once.
        more: The rest, folded.
    """

    name: str
    label: Any
    choices: Sequence[Choice]
    more: Sequence[Choice]


@dataclass(frozen=True, slots=True)
class FacetKind:
    """A facet before anything is counted.

    Attributes:
        name: Its parameter in the address.
        label: How it reads.
        labels: How its values read, in the order that they are shown in; values not named here follow, the most
            frequent first, as themselves.
        most: At most so many values; the rest is left to the search. None lists them all.
    """

    name: str
    label: Any
    labels: Mapping[str, Any]
    most: int | None = None


def make_facets(
    kinds: Sequence[FacetKind],
    counted: Iterable[tuple[Sequence[str], int]],
    wanted: Mapping[str, str],
    query: QueryDict,
    *,
    any_label: Any,
) -> tuple[list[Facet], int]:
    """Facets and the number of rows that are left.

    Args:
        kinds: The facets.
        counted: For each combination of their values, in the order of the kinds, how many rows have it.
        wanted: The chosen value of each facet; nothing or an empty one is any.
        query: The present address, whose other parameters the links keep.
        any_label: How "any" reads.
    """
    totals: list[Counter[str]] = [Counter() for _ in kinds]
    num_left = 0
    for values, num in counted:
        misses = [place for place, kind in enumerate(kinds) if wanted.get(kind.name, "") not in {"", values[place]}]
        if not misses:
            num_left += num
            for place, value in enumerate(values):
                totals[place][value] += num
        elif len(misses) == 1:
            totals[misses[0]][values[misses[0]]] += num
    facets = [
        _facet(kind, total, wanted.get(kind.name, ""), address_maker(query, kind.name), any_label)
        for kind, total in zip(kinds, totals, strict=True)
    ]
    return facets, num_left


def address_maker(query: QueryDict, name: str) -> Callable[[str], str]:
    """Makes the present address with another value of one parameter, from the first page on."""

    def address(value: str) -> str:
        changed = query.copy()
        changed.pop("page", None)
        changed.pop(name, None)
        if value:
            changed[name] = value
        return "?" + changed.urlencode()

    return address


def _facet(
    kind: FacetKind, total: "Counter[str]", current: str, address: Callable[[str], str], any_label: Any
) -> Facet:
    known = [value for value in kind.labels if total[value] or value == current]
    others = sorted(
        (value for value in {*total, current} - kind.labels.keys() - {""}), key=lambda value: (-total[value], value)
    )
    values = [*known, *others]
    if kind.most is not None:
        values = [value for place, value in enumerate(values) if place < kind.most or value == current]
    shown = [value for place, value in enumerate(values) if place < NUM_CHOICES_SHOWN or value == current]
    more = [value for value in values if value not in shown]

    def choice(value: str) -> Choice:
        return Choice(kind.labels.get(value, value), total[value], address(value), value == current)

    every = Choice(any_label, total.total(), address(""), not current)
    return Facet(kind.name, kind.label, [every, *map(choice, shown)], [choice(value) for value in more])
