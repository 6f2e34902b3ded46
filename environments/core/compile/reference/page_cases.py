"""Cases of the order and the pages of a list."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from environments.core.compile.reference.forms import Row, shown, stored
from environments.core.compile.reference.interpreter import filled
from environments.core.compile.reference.own_rows import MAX_COPIES, OwnRows, multiplied, with_parents
from environments.core.compile.reference.playing import Plan, reference
from environments.core.compile.reference.reader import Reader, Spot
from environments.core.compile.reference.selection import ordered, steps_of
from environments.core.compile.semantics import Argument, ArgumentRole, PageFact
from environments.runtime.pack.model import CaseCall

_MAX_SORTS: Final = 8
_MAX_TIED_CALLS: Final = 12


class PageCases(Reader):
    """Plans cases of one list: every order, and the pages at its ends and in its middle."""

    def plans(self) -> Iterator[Plan]:
        """The plans, orders first."""
        yield from self._sorts()
        yield from self._ties()
        yield from self._pages()

    def _sorts(self) -> Iterator[Plan]:
        asked = self._asked()
        for number, given in enumerate(asked[1 : _MAX_SORTS + 1]):
            spot = max(self._spots, key=lambda spot, given=given: self._says(spot, given, asked), default=None)  # type: ignore[misc]
            if spot is not None and spot.num_rows > 1 and self._fits(spot, given):
                yield self._plan(f"sorted_{number + 1}", "success", spot, given, is_short=True)

    def _asked(self) -> list[dict[str, Any]]:
        """Every way to ask for an order, the list's own first."""
        sorts = self._meaning.with_role(ArgumentRole.SORT)
        directions = self._meaning.with_role(ArgumentRole.DIRECTION)
        values = sorts[0].schema.get("enum", [name for name, _ in self._meaning.sorts]) if sorts else []
        ways = directions[0].schema.get("enum", ()) if directions else ()
        turns = [{directions[0].name: way} for way in ways if way] or [{}]
        return [{}, *({sorts[0].name: value, **turn} for value in values if value for turn in turns)]

    def _says(self, spot: Spot, given: Mapping[str, Any], asked: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
        """From how many other orders one differs at a place, and how many steps of it are seen there."""
        if spot.num_rows < 2:
            return 0, 0
        own = self._first_page(self._rows(spot.scenario, {**spot.base, **given}))
        others = [self._first_page(self._rows(spot.scenario, {**spot.base, **other})) for other in asked]
        return sum(other != own for other in others), self._num_steps_seen(spot, given)

    def _ties(self) -> Iterator[Plan]:
        """Rows of its own that are alike in what is sorted by, if no scenario has them: what comes then decides."""
        asked = self._asked()[:_MAX_TIED_CALLS]
        spots = [spot for spot in self._spots if spot.num_rows]
        if len(self._meaning.order) + len(self._meaning.sorts) < 2 or not spots:
            return
        if all(self._all_steps_seen(given) for given in asked):
            return
        for spot in spots[:3]:
            row = self._rows(spot.scenario, spot.base)[0]
            rows = multiplied(self._stage, spot.scenario, self._meaning, row, 3, self._link_of(spot, row))
            if rows is None:
                continue
            rows = self._with_another(spot.scenario, rows, row)
            calls = tuple(
                CaseCall(self._tool.name, {**spot.base, **given}) for given in asked if self._fits(spot, given)
            )
            yield Plan("ties", "success", spot.scenario, calls, shows=self._shows({}), rows=rows)
            return

    def _all_steps_seen(self, given: Mapping[str, Any]) -> bool:
        most = max((self._num_steps_seen(spot, given) for spot in self._spots), default=0)
        return most == len(steps_of(self._meaning, given))

    def _with_another(self, scenario: str, rows: OwnRows, row: Row) -> OwnRows:
        """The rows, the last of which has another value in what the list is sorted by of itself."""
        table = self._stage.blueprint.table(self._meaning.table)
        column = self._columns[self._meaning.order[0].column] if self._meaning.order else None
        if column is None or column.name in table.primary_key:
            return rows
        values = [each[column.name] for each in self._stage.rows(scenario, table.name)]
        other = next((value for value in values if value is not None and value != row[column.name]), None)
        if other is None:
            return rows
        last = {**rows[table.name][-1], column.name: other}
        kept = [(name, each) for name, found in rows.items() for each in found if name != table.name]
        return with_parents(
            self._stage, scenario, [*((table.name, each) for each in rows[table.name][:-1]), (table.name, last), *kept]
        )

    def _pages(self) -> Iterator[Plan]:
        meaning = self._meaning
        roles = {argument.role: argument for argument in meaning.arguments}
        if meaning.page_size is None and ArgumentRole.SIZE not in roles:
            return
        yield from self._longer_than_a_page(roles)
        spot = max(self._spots, key=lambda spot: spot.num_rows, default=None)
        if spot is None:
            return
        total = spot.num_rows
        yield self._plan("first_page", "boundary", spot, {}, is_short=True)
        size = roles.get(ArgumentRole.SIZE)
        small: dict[str, Any] = {}
        length = meaning.page_size or total
        if size is not None:
            yield self._plan("size_one", "boundary", spot, {size.name: 1}, is_short=True)
            if self._wide:
                yield self._plan("size_largest", "boundary", spot, self._wide, is_short=True)
            length = 2 if total > 2 else 1
            small = {size.name: length}
            # A page that is just full, and one that just isn't.
            for slug, number in (("size_of_all", total), ("size_of_all_but_one", total - 1)):
                if number > 0 and self._fits(spot, {size.name: number}):
                    yield self._plan(slug, "boundary", spot, {size.name: number}, is_short=True)
        last = max(-(-total // length), 1)
        if ArgumentRole.PAGE in roles:
            name = roles[ArgumentRole.PAGE].name
            for slug, page in (("second_page", 2), ("last_page", last), ("behind_last_page", last + 1)):
                given = {**small, name: page - 1 + meaning.first_page}
                yield self._plan(slug, "boundary", spot, given, is_short=True)
            yield self._plan("second_page_default", "boundary", spot, {name: 1 + meaning.first_page}, is_short=True)
            yield from self._walk(spot, small, name, PageFact.NEXT_PAGE)
        if ArgumentRole.OFFSET in roles:
            name = roles[ArgumentRole.OFFSET].name
            for slug, skip in (("offset_one", 1), ("offset_last", total - 1), ("offset_all", total)):
                if skip >= 0:
                    yield self._plan(slug, "boundary", spot, {**small, name: skip}, is_short=True)
        if ArgumentRole.CURSOR in roles:
            name = roles[ArgumentRole.CURSOR].name
            yield from self._walk(spot, small, name, PageFact.NEXT_CURSOR)
            for slug, skip in (("cursor_last", total - 1), ("cursor_behind", total)):
                if skip >= 0:
                    yield self._plan(slug, "boundary", spot, {**small, name: str(skip)}, is_short=True)
        if ArgumentRole.AFTER in roles:
            yield from self._behind(spot, small, roles[ArgumentRole.AFTER])

    def _longer_than_a_page(self, roles: Mapping[ArgumentRole, Argument]) -> Iterator[Plan]:
        """Rows of its own where no scenario has more than a page holds."""
        size = self._meaning.page_size
        if size is None or size >= MAX_COPIES:
            return
        if not any(spot.num_rows > size for spot in self._spots):
            yield from self._copies(roles, size, size + 1)
        if ArgumentRole.SIZE in roles:
            return
        full = next((spot for spot in self._spots if spot.num_rows == size), None)
        if full is not None:
            yield self._plan("just_a_page", "boundary", full, {}, is_short=True)
        else:
            yield from self._copies({}, size, size)

    def _copies(self, roles: Mapping[ArgumentRole, Argument], size: int, count: int) -> Iterator[Plan]:
        """Lists of so many rows: each page of them."""
        for spot in [spot for spot in self._spots if spot.num_rows][:3]:
            row = self._rows(spot.scenario, spot.base)[0]
            rows = multiplied(self._stage, spot.scenario, self._meaning, row, count, self._link_of(spot, row))
            if rows is None:
                continue
            turns: list[dict[str, Any]] = [{}]
            for role, value in (
                (ArgumentRole.PAGE, self._meaning.first_page + 1),
                (ArgumentRole.OFFSET, size),
                (ArgumentRole.CURSOR, str(size)),
            ):
                if role in roles:
                    turns.append({roles[role].name: value})
            for number, turn in enumerate(turns):
                call = CaseCall(self._tool.name, {**spot.base, **turn})
                slug = f"longer_than_a_page_{number + 1}" if count > size else "just_a_page"
                yield Plan(slug, "boundary", spot.scenario, (call,), shows=self._shows({}), rows=rows)
            return

    def _link_of(self, spot: Spot, row: Row) -> Row | None:
        through = self._meaning.through
        if through is None:
            return None
        columns = self._stage.columns[through.table]
        where = {name: stored(columns[name], spot.base[argument]) for name, argument in through.scope}
        where |= {name: row[target] for name, target in through.join}
        return next(iter(self._stage.look(spot.scenario).state.find(through.table, where)), None)

    def _behind(self, spot: Spot, small: Mapping[str, Any], after: Argument) -> Iterator[Plan]:
        table = self._stage.blueprint.table(self._meaning.table)
        rows = self._rows(spot.scenario, spot.base)
        column = self._columns[table.key]
        tied = [one for one, other in itertools.pairwise(rows) if self._is_tie(one, other)]
        for slug, row in (
            ("after_first", rows[:1]),
            ("after_tie", tied[:1]),
            ("after_namesake", self._namesakes(spot, rows)[:1]),
            ("after_middle", rows[1:-1][-1:]),
            ("after_last", rows[-1:]),
        ):
            for each in row:
                given = {**small, after.name: shown(column, each[column.name])}
                yield self._plan(slug, "boundary", spot, given, is_short=True)
        yield from self._walk(spot, small, after.name, PageFact.NEXT_AFTER)

    def _namesakes(self, spot: Spot, rows: Sequence[Row]) -> list[Row]:
        """Rows whose key is another's, too, below another parent, where that one would begin another page."""
        key = self._stage.blueprint.table(self._meaning.table).key
        steps = steps_of(self._meaning, filled(self._meaning, spot.base))
        state = self._stage.look(spot.scenario).state
        found = []
        for place, row in enumerate(rows):
            for other in state.find(self._meaning.table, {key: row[key]}):
                if not any(other is each for each in rows):
                    there = next(n for n, each in enumerate(ordered([*rows, other], steps, state)) if each is other)
                    if there != place + 1 and there != place:
                        found.append(row)
        return found

    def _is_tie(self, one: Row, other: Row) -> bool:
        """Whether only a later step of the order parts two rows."""
        first = self._meaning.order[0].column if len(self._meaning.order) > 1 else None
        return first is not None and one[first] == other[first]

    def _walk(self, spot: Spot, small: Mapping[str, Any], name: str, fact: PageFact) -> Iterator[Plan]:
        """Page after page, each asked for by what the one before says."""
        path = next((path for path, each in self._meaning.result.page_facts if each is fact), None)
        if path is None:
            return
        calls = [CaseCall(self._tool.name, {**spot.base, **small})]
        given = dict(calls[0].arguments)
        for _ in range(3):
            answer: Any = self._answer(spot.scenario, given)
            for part in path:
                answer = answer[part] if answer is not None else None
            if answer is None:
                break
            pointer = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)
            given = {**given, name: answer}
            calls.append(CaseCall(self._tool.name, {**calls[0].arguments, name: reference(len(calls) - 1, pointer)}))
        if len(calls) > 1:
            yield Plan("walk", "success", spot.scenario, tuple(calls), shows=self._shows({}))
