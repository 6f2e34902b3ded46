"""What the values of one row have in common: its name, its people and places, its times."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Final

from environments.core.compile.rows.draws import Draws
from environments.core.compile.rows.nouns import numbered
from environments.core.compile.rows.pools import PLACES, Company, Person, Place, companies, people

CLOCK_TEXT: Final = "2026-03-02T09:00:00Z"
CLOCK: Final = int(datetime.datetime(2026, 3, 2, 9, tzinfo=datetime.UTC).timestamp())
"""Seconds at which every scenario starts."""
DAY: Final = 86_400
_FIRST: Final = CLOCK - 420 * DAY
_STEP: Final = 300
"""Times fall on whole five minutes, as people's do."""


def time_text(seconds: int) -> str:
    """`YYYY-MM-DDTHH:MM:SSZ`."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat()[:19] + "Z"


def date_text(seconds: int) -> str:
    """`YYYY-MM-DD`."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat()[:10]


class TableFacts:
    """What the rows of one table have in common.

    Args:
        noun: Of the table, snake case.
        names: What its rows may be called, in the order in which they are used.
        draws: Is moved on.
    """

    __slots__ = ("company_offset", "names", "noun", "person_offset", "place_offset", "spoken")

    def __init__(self, noun: str, names: Sequence[str], draws: Draws) -> None:
        self.noun = noun
        self.spoken = noun.replace("_", " ")
        self.names = names
        self.person_offset = draws.below(len(people()))
        self.company_offset = draws.below(len(companies()))
        self.place_offset = draws.below(len(PLACES))

    def name(self, index: int) -> str:
        """The name of the row with this number; every number has another."""
        turn, place = divmod(index, len(self.names))
        return numbered(self.names[place], turn) if turn else self.names[place]


class RowFacts:
    """One row's facts; drawn when they are first asked for.

    Args:
        table: Of its table.
        index: Number of the row: other numbers give other names and people.
        draws: Is moved on.
        since: Seconds at which the row's parents were made.
    """

    __slots__ = (
        "_companies", "_people", "_periods", "_places", "created", "draws", "index", "known", "name", "table",
        "updated",
    )  # fmt: skip

    def __init__(self, table: TableFacts, index: int, draws: Draws, since: int = _FIRST) -> None:
        self.table = table
        self.index = index
        self.draws = draws
        low = max(_FIRST, min(since, CLOCK - DAY))
        self.created = low + draws.below((CLOCK - 2 * 3600 - low) // _STEP) * _STEP + _STEP
        self.updated = self.created + draws.below((CLOCK - self.created) // _STEP + 1) * _STEP
        self.name = table.name(index)
        self.known: Mapping[str, object] = {}
        """What the row holds so far."""
        self._people: dict[tuple[str, ...], Person] = {}
        self._places: dict[tuple[str, ...], Place] = {}
        self._companies: dict[tuple[str, ...], Company] = {}
        self._periods: dict[tuple[str, ...], tuple[int, int]] = {}

    def person(self, role: tuple[str, ...] = ()) -> Person:
        """Who plays a role in the row; without a role whom the row is about."""
        found = self._people.get(role)
        if found is None:
            everyone = people()
            number = self.table.person_offset + self.index if not role else self.draws.below(len(everyone))
            found = self._people[role] = everyone[number % len(everyone)]
        return found

    def place(self, role: tuple[str, ...] = ()) -> Place:
        """Where something of the row is."""
        found = self._places.get(role)
        if found is None:
            number = self.table.place_offset + self.index if not role else self.draws.below(len(PLACES))
            found = self._places[role] = PLACES[number % len(PLACES)]
        return found

    def company(self, role: tuple[str, ...] = ()) -> Company:
        """A business that plays a role in the row."""
        found = self._companies.get(role)
        if found is None:
            every = companies()
            number = self.table.company_offset + self.index if not role else self.draws.below(len(every))
            found = self._companies[role] = every[number % len(every)]
        return found

    def period(self, role: tuple[str, ...] = ()) -> tuple[int, int]:
        """Start and end of something, in seconds; it starts after the row was made."""
        found = self._periods.get(role)
        if found is None:
            start = self.created + self.draws.below(max(1, (CLOCK - self.created) // _STEP)) * _STEP
            end = start + self.draws.between(1, 30) * DAY // self.draws.choice((1, 1, 2, 24))
            found = self._periods[role] = (start, end)
        return found

    def future(self) -> int:
        """Seconds of something that is due: after the row was made, mostly after the episode's start."""
        base = CLOCK if self.draws.happens(0.75) else self.created
        return base + self.draws.between(1, 120) * DAY - self.draws.below(24) * 3600

    def past(self) -> int:
        """Seconds between the row's making and its last change."""
        return self.created + self.draws.below((self.updated - self.created) // _STEP + 1) * _STEP

    def item(self, table: TableFacts, number: int) -> "RowFacts":
        """Facts of one member of a list in this row: the same times, names and people of its own."""
        made = RowFacts(table, self.index + number, self.draws)
        made.created, made.updated = self.created, self.updated
        return made
