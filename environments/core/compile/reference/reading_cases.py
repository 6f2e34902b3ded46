"""Cases of tools that read lists, counts and sums: every argument with a value that makes a difference."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

from environments.core.compile.reference.forms import shown
from environments.core.compile.reference.page_cases import PageCases
from environments.core.compile.reference.playing import Plan
from environments.core.compile.reference.reader import MAX_CHOICES, NARROWING, Reader, Spot, pieces_of
from environments.core.compile.semantics import Argument, ArgumentRole, Kind

_MAX_PAIRS: Final = 3


class ReadingCases(Reader):
    """Plans cases of one tool that reads many rows."""

    def plans(self) -> Iterator[Plan]:
        """The plans, the most telling first."""
        plain = self._plain()
        if plain is None:
            return
        yield self._plan("plain", "success", plain, {})
        yield from self._at_the_boundary(plain)
        yield from self._scopes(plain)
        found = list(self._filters())
        yield from (plan for plan, _, _ in found)
        if self._meaning.kind in (Kind.LIST, Kind.LIST_KEYS):
            yield from PageCases(self._stage, self._tool, self._spots).plans()
        yield from self._pairs([(spot, given) for _, spot, given in found])
        for spot in self._spots:
            if spot.scenario != plain.scenario and spot.num_rows:
                yield self._plan(f"plain_{spot.scenario}", "success", spot, {}, is_short=True)
                break

    # Without optional arguments

    def _plain(self) -> Spot | None:
        """Where a call without optional arguments says most: rows, and every scope makes a difference."""
        filled = [spot for spot in self._spots if spot.num_rows]
        scopes = [name for name in self._needed() if len(filled) > 1]
        best = max(
            filled,
            key=lambda spot: (
                sum(self._matters(spot, name) for name in scopes),
                min(spot.num_rows, 2),
                self._num_steps_seen(spot, {}),
                min(spot.num_rows, 4),
            ),
            default=None,
        )
        return best if best is not None else next(iter(self._spots), None)

    def _needed(self) -> list[str]:
        return [argument.name for argument in self._meaning.arguments if argument.is_required]

    def _matters(self, spot: Spot, name: str) -> bool:
        """Whether the answer would be another without an argument."""
        less = {key: value for key, value in spot.base.items() if key != name}
        return name in spot.base and self._answer(spot.scenario, less) != self._answer(spot.scenario, spot.base)

    def _at_the_boundary(self, plain: Spot) -> Iterator[Plan]:
        empty = next((spot for spot in self._spots if not spot.num_rows), None)
        if empty is not None:
            yield self._plan("empty", "boundary", empty, {})
        level = self._stage.named("boundary")
        spot = next((spot for spot in self._spots if spot.scenario == level and spot.num_rows), None)
        if spot is not None:
            yield self._plan("boundary", "boundary", spot, {})
        if spot is None and empty is None:
            other = next((one for one in self._spots if one.scenario != plain.scenario), plain)
            yield self._plan("at_start", "boundary", other, {}, is_short=True)

    def _scopes(self, plain: Spot) -> Iterator[Plan]:
        """For each required argument that makes no difference in the plain case, a case where it does."""
        for name in self._needed():
            if self._matters(plain, name):
                continue
            spot = next((spot for spot in self._spots if spot.num_rows and self._matters(spot, name)), None)
            if spot is not None:
                yield self._plan(f"below_{self._slug(name)}", "success", spot, {}, is_short=True)

    # Filters

    def _filters(self) -> Iterator[tuple[Plan, Spot, dict[str, Any]]]:
        for argument in self._meaning.with_role(*NARROWING):
            if argument.role is ArgumentRole.SEARCH:
                yield from self._searches(argument)
                continue
            found = self._telling(argument)
            if found is None:
                continue
            spot, value = found
            is_bound = argument.role in (ArgumentRole.AT_LEAST, ArgumentRole.AT_MOST)
            given = {argument.name: value}
            plan = self._plan(
                f"by_{self._slug(argument.name)}", "boundary" if is_bound else "success", spot, given, is_short=True
            )
            yield plan, spot, given
            if argument.role is ArgumentRole.ONE_OF:
                yield from self._more_of(argument, spot, value)

    def _more_of(self, argument: Argument, spot: Spot, value: Any) -> Iterator[tuple[Plan, Spot, dict[str, Any]]]:
        """Two items, and none."""
        column = str(argument.column)
        rows = self._rows(spot.scenario, spot.base)
        others = [shown(self._columns[column], row[column]) for row in rows if row[column] is not None]
        other = next((one for one in others if one not in value), None)
        for slug, items in (("two", [*value, other]), ("none", [])):
            if None not in items and self._fits(spot, {argument.name: items}):
                plan = self._plan(
                    f"by_{self._slug(argument.name)}_{slug}", "boundary", spot, {argument.name: items}, is_short=True
                )
                yield plan, spot, {}

    def _searches(self, argument: Argument) -> Iterator[tuple[Plan, Spot, dict[str, Any]]]:
        """A piece of each searched column in another case, and pieces with the wildcards of SQL."""
        first: tuple[Spot, str] | None = None
        for column in self._meaning.search_columns:
            found = self._piece_of(argument, column)
            if found is None:
                continue
            first = first or found
            given = {argument.name: found[1]}
            slug = f"search_{self._slug(argument.name)}_{column[:20]}"
            yield self._plan(slug, "success", found[0], given, is_short=True), found[0], given
        if first is None:
            return
        spot, piece = first
        for slug, text in (("percent", "%"), ("underscore", f"{piece[0]}_{piece[2:]}")):
            given = {argument.name: text}
            if self._fits(spot, given):
                plan = self._plan(f"search_{self._slug(argument.name)}_{slug}", "boundary", spot, given, is_short=True)
                yield plan, spot, {}

    def _piece_of(self, argument: Argument, column: str) -> tuple[Spot, str] | None:
        for spot in self._spots:
            rows = self._rows(spot.scenario, {key: v for key, v in spot.base.items() if key != argument.name})
            whole = self._answer(spot.scenario, {**spot.base, **self._wide, argument.name: ""})
            for row in rows[:MAX_CHOICES]:
                for piece in pieces_of(row[column]):
                    if not self._fits(spot, {argument.name: piece}):
                        continue
                    hits = self._rows(spot.scenario, {**spot.base, argument.name: piece})
                    others = [name for name in self._meaning.search_columns if name != column]
                    is_alone = any(
                        all(piece.lower() not in str(hit[name] or "").lower() for name in others) for hit in hits
                    )
                    answer = self._answer(spot.scenario, {**spot.base, **self._wide, argument.name: piece})
                    if hits and is_alone and answer != whole:
                        return spot, piece
        return None

    def _telling(self, argument: Argument) -> tuple[Spot, Any] | None:
        """A value for which the answer holds rows and is another than without it."""
        fallback = None
        for spot in self._spots:
            without = {key: value for key, value in spot.base.items() if key != argument.name}
            rows = self._rows(spot.scenario, without)
            whole = self._answer(spot.scenario, {**without, **self._wide})
            for value in itertools.islice(self._choices(argument, rows, spot.scenario), MAX_CHOICES):
                if not self._fits(spot, {argument.name: value}):
                    continue
                fallback = fallback or (spot, value)
                hits = self._rows(spot.scenario, {**without, argument.name: value})
                answer = self._answer(spot.scenario, {**without, **self._wide, argument.name: value})
                if hits and answer is not None and answer != whole:
                    return spot, value
        return fallback

    def _pairs(self, found: Sequence[tuple[Spot, dict[str, Any]]]) -> Iterator[Plan]:
        """Two filters that each take something from what the other leaves."""
        usable = [(spot, given) for spot, given in found if given]
        count = 0
        for (spot, one), (_, other) in itertools.combinations(usable, 2):
            if count == _MAX_PAIRS:
                return
            rows = self._rows(spot.scenario, spot.base)
            [name] = other
            argument = next(each for each in self._meaning.arguments if each.name == name)
            alone = len(self._rows(spot.scenario, {**spot.base, **one}))
            values = self._choices(argument, rows, spot.scenario)
            for value in itertools.chain(other.values(), itertools.islice(values, MAX_CHOICES)):
                both = {**one, name: value}
                if not self._fits(spot, both):
                    continue
                hits = len(self._rows(spot.scenario, {**spot.base, **both}))
                if 0 < hits < alone and hits < len(self._rows(spot.scenario, {**spot.base, name: value})):
                    slug = "_and_".join(self._slug(each)[:24] for each in both)
                    yield self._plan(f"by_{slug}", "success", spot, both, is_short=True)
                    count += 1
                    break
