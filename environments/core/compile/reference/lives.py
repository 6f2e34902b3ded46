"""Cases that follow a new row from its making to its end: looked at, changed, looked at again, deleted, gone."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from environments.core.compile.reference.errors import UnspecifiedError
from environments.core.compile.reference.filling import Filler
from environments.core.compile.reference.forms import Row, shown
from environments.core.compile.reference.interpreter import Interpreter
from environments.core.compile.reference.playing import CLOCK_START, Plan, Stage, pointer_of, reference
from environments.core.compile.reference.stories import LISTING, Stories
from environments.core.compile.semantics import ArgumentRole, Exists, Kind, PlannedTool
from environments.runtime.pack.model import CaseCall, Scenario
from environments.runtime.records import ChangeKind

_MAX_CHANGES: Final = 3
_CHANGING: Final = (Kind.PATCH, Kind.REPLACE, Kind.TRANSITION, Kind.UPSERT)
Asked = tuple[dict[str, Any], dict[str, Any]]
"""Arguments as a case writes them, and as they are."""


class Lives(Stories):
    """Plans whole stories that begin with one tool that makes a row."""

    def __init__(self, stage: Stage, tool: PlannedTool, filler: Filler) -> None:
        super().__init__(stage, tool)
        self._filler = filler

    def whole(self, scenario: str, arguments: Mapping[str, Any]) -> Iterator[Plan]:
        """The row's life, if other tools can see it and then change or delete it.

        Args:
            scenario: Where it starts.
            arguments: Of the call that makes the row.
        """
        found = self._told(self._stage.play(scenario), scenario, arguments)
        if found is None:
            found = self._told_alone()
        if found is not None:
            yield found

    def _told_alone(self) -> Plan | None:
        """The life of the only row of its table: lists show it, wherever its new id puts it among others."""
        scenario = self._stage.named("simple")
        if scenario is None:
            return None
        given = self._filler.fill(scenario, self._tool, self._tool.meaning.arguments)
        if given is None:
            return None
        gone = [self._tool.meaning.table]
        for name in gone:
            pointing = [
                each for each in self._stage.blueprint.tables if any(key.table == name for key in each.foreign_keys)
            ]
            gone += [each.name for each in pointing if each.name not in gone]
        names = [table.name for table in self._stage.blueprint.tables]
        rows = {name: tuple(self._stage.rows(scenario, name)) if name not in gone else () for name in names}
        episode = Interpreter(self._stage.blueprint, Scenario("own", "boundary", CLOCK_START, 0, rows))
        return self._told(episode, scenario, given, rows)

    def _told(
        self,
        episode: Interpreter,
        scenario: str,
        arguments: Mapping[str, Any],
        rows: Mapping[str, tuple[Row, ...]] | None = None,
    ) -> Plan | None:
        """The whole of it, as far as tools go; None if none shows the row, or none changes it."""
        try:
            outcome = episode.call(self._tool.name, arguments)
        except UnspecifiedError:
            return None
        table = self._tool.meaning.table
        made = [each for each in outcome.changes if each.table == table and each.kind is ChangeKind.INSERT]
        if outcome.code is not None or len(made) != 1:
            return None
        calls = [CaseCall(self._tool.name, dict(arguments))]
        key = tuple(made[0].key[name] for name in self._stage.blueprint.table(table).primary_key)
        if not self._look(episode, key, calls):
            return None
        num_seen = len(calls)
        num_changes = 0
        for changer in self._stage.tools_of(table, *_CHANGING):
            row = episode.state.rows[table].get(key)
            if row is None or num_changes == _MAX_CHANGES:
                break
            if self._change(episode, changer, row, calls):
                num_changes += 1
                if not self._look(episode, key, calls):
                    break
        code = self._end(episode, key, calls)
        if len(calls) == num_seen:
            return None
        kind: Any = "success" if code is None else "boundary"
        return Plan("whole_story", kind, scenario, tuple(calls), code, shows=frozenset(), rows=rows)

    def _look(self, episode: Interpreter, key: tuple[Any, ...], calls: list[CaseCall]) -> bool:
        """Adds a call that shows the row."""
        row = episode.state.rows[self._tool.meaning.table].get(key)
        found = None if row is None else self._view_of(episode, row)
        if found is None:
            return False
        reader, (written, _) = found
        calls.append(CaseCall(reader.name, written))
        return True

    def _view_of(self, episode: Interpreter, row: Row) -> tuple[PlannedTool, Asked] | None:
        """A tool that shows a row, by itself if there is one, and what it is asked."""
        table = self._tool.meaning.table
        for reader in self._readers:
            if reader.meaning.kind is Kind.GET and reader.meaning.table == table:
                asked = self._naming(reader, row, episode)
                if asked is not None and self._code(episode, reader, asked) is None:
                    return reader, asked
        for reader in self._readers:
            through = reader.meaning.through.table if reader.meaning.through else None
            if reader.meaning.kind in LISTING and table in (reader.meaning.table, through):
                for asked in self._questions(reader, table, row, episode):
                    if self._code(episode, reader, asked) is None and self._holds(episode, reader, asked, row):
                        return reader, asked
        return None

    def _holds(self, episode: Interpreter, reader: PlannedTool, asked: Asked, row: Row) -> bool:
        """Whether a list shows a row of its own table, or of the link table that it goes by."""
        if reader.meaning.table != self._tool.meaning.table:
            return True
        try:
            return any(each is row for each in episode.rows_for(reader.name, asked[1]))
        except UnspecifiedError:
            return False

    def _change(self, episode: Interpreter, changer: PlannedTool, row: Row, calls: list[CaseCall]) -> bool:
        """Adds a call that changes the row: in all that may be set, or else in one thing."""
        base = self._about(changer, row, episode)
        if base is None:
            return False
        named, bound = set(base[1]), _bound(changer)
        free = [
            argument
            for argument in changer.meaning.with_role(ArgumentRole.SET)
            if argument.name not in named and argument.name not in bound
        ]
        drawn = {argument.name: self._draw(changer, argument, row) for argument in free}
        drawn = {name: value for name, value in drawn.items() if value is not None}
        needed = {
            argument.name: drawn[argument.name] for argument in free if argument.is_required and argument.name in drawn
        }
        for extra in (drawn, *({**needed, name: value} for name, value in drawn.items()), needed):
            written, real = {**base[0], **extra}, {**base[1], **extra}
            if not self._stage.fits(changer.name, real):
                continue
            try:
                outcome = episode.call(changer.name, real)
            except UnspecifiedError:
                continue
            if outcome.code is None and outcome.changes:
                calls.append(CaseCall(changer.name, written))
                return True
            if outcome.code is None:
                return False
        return False

    def _draw(self, tool: PlannedTool, argument: Any, row: Row) -> Any:
        columns = self._stage.columns[tool.meaning.table]
        held = shown(columns[argument.column], row[argument.column]) if argument.column in columns else None
        return self._filler.draw(tool, argument, held)

    def _about(self, tool: PlannedTool, row: Row, episode: Interpreter) -> Asked | None:
        """The arguments that name a row, and those that a call must set to what other rows are called."""
        columns = self._stage.columns[tool.meaning.table]
        bound = _bound(tool)
        written: dict[str, Any] = {}
        real: dict[str, Any] = {}
        for argument in tool.meaning.arguments:
            is_naming = argument.role in (ArgumentRole.KEY, ArgumentRole.SCOPE)
            if not is_naming and not (argument.is_required and argument.name in bound):
                continue
            value = row.get(argument.column or "")
            if value is None or argument.column not in columns:
                return None
            real[argument.name] = written[argument.name] = shown(columns[argument.column], value)
            if isinstance(value, str) and value in episode.state.fresh:
                pointer = pointer_of(self._tool.meaning.result, argument.column)
                if pointer is None:
                    return None
                written[argument.name] = reference(0, pointer)
        return written, real

    def _end(self, episode: Interpreter, key: tuple[Any, ...], calls: list[CaseCall]) -> str | None:
        """Adds the row's deletion and a last look; gives the code with which that is refused."""
        table = self._tool.meaning.table
        for deleter in self._stage.tools_of(table, Kind.DELETE, Kind.UNLINK):
            row = episode.state.rows[table].get(key)
            if row is None:
                return None
            seen = self._view_of(episode, row)
            asked = self._about(deleter, row, episode)
            if asked is None or not self._stage.fits(deleter.name, asked[1]):
                continue
            try:
                outcome = episode.call(deleter.name, asked[1])
            except UnspecifiedError:
                continue
            if outcome.code is not None:
                continue
            calls.append(CaseCall(deleter.name, asked[0]))
            if seen is not None:
                calls.append(CaseCall(seen[0].name, seen[1][0]))
                return self._code(episode, seen[0], seen[1])
        return None


def _bound(tool: PlannedTool) -> set[str]:
    """Arguments that name rows which must be there."""
    return {name for check in tool.meaning.checks if isinstance(check, Exists) for _, name in check.where}
