"""Longer cases: a write, and then what the other tools show of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from environments.core.compile.reference.errors import UnspecifiedError
from environments.core.compile.reference.forms import Row, shown
from environments.core.compile.reference.interpreter import Interpreter
from environments.core.compile.reference.playing import Plan, Stage, pointer_of, reference
from environments.core.compile.semantics import Argument, ArgumentRole, Kind, PlannedTool
from environments.runtime.pack.model import CaseCall
from environments.runtime.records import ChangeKind, RowChange

_MAX_LISTS: Final = 3
LISTING: Final = frozenset({Kind.LIST, Kind.LIST_KEYS, Kind.COUNT, Kind.SUM})


class Stories:
    """Plans cases that begin with a write by one tool."""

    def __init__(self, stage: Stage, tool: PlannedTool) -> None:
        self._stage = stage
        self._tool = tool
        self._readers = [each for each in stage.blueprint.tools if each.meaning.reads_only]

    def of(self, scenario: str, arguments: Mapping[str, Any], prefix: str = "") -> Iterator[Plan]:
        """The write, then a look at its row, then at lists that it changes.

        Args:
            scenario: Where it starts.
            arguments: Of the write, which succeeds.
            prefix: Of the cases' names.
        """
        episode = self._stage.play(scenario)
        try:
            outcome = episode.call(self._tool.name, arguments)
        except UnspecifiedError:
            return
        if outcome.code is not None or not outcome.changes:
            return
        first = CaseCall(self._tool.name, dict(arguments))
        own = [change for change in outcome.changes if change.table == self._tool.meaning.table]
        for change in own[:1]:
            row = self._row_of(scenario, episode, change)
            yield from self._looks(scenario, episode, first, row, prefix)
        yield from self._lists(scenario, episode, first, outcome.changes, prefix)

    def twice(self, scenario: str, arguments: Mapping[str, Any]) -> Iterator[Plan]:
        """The same write again, with whatever that gives."""
        episode = self._stage.play(scenario)
        call = CaseCall(self._tool.name, dict(arguments))
        try:
            first = episode.call(self._tool.name, arguments)
            code = episode.call(self._tool.name, arguments).code
        except UnspecifiedError:
            return
        if first.code is None:
            yield Plan("twice", "boundary" if code is None else "rejection", scenario, (call, call), code)

    def _row_of(self, scenario: str, episode: Interpreter, change: RowChange) -> Row:
        """The row that a change left, or took away."""
        if change.kind is ChangeKind.DELETE:
            return change.before or {}
        key = self._stage.blueprint.table(change.table).primary_key
        return episode.state.rows[change.table][tuple(change.key[name] for name in key)]

    def _looks(self, scenario: str, episode: Interpreter, first: CaseCall, row: Row, prefix: str) -> Iterator[Plan]:
        """The row by itself: as it is now, or gone."""
        for reader in self._readers:
            if reader.meaning.kind is not Kind.GET or reader.meaning.table != self._tool.meaning.table:
                continue
            arguments = self._naming(reader, row, episode)
            if arguments is None:
                continue
            code = self._code(episode, reader, arguments)
            kind: Any = "success" if code is None else "rejection"
            yield Plan(
                f"{prefix}then_{reader.name}"[:57], kind, scenario, (first, CaseCall(reader.name, arguments[0])), code
            )
            return

    def _lists(
        self, scenario: str, episode: Interpreter, first: CaseCall, changes: Sequence[RowChange], prefix: str
    ) -> Iterator[Plan]:
        """Lists and counts that are not what they were before."""
        tables = dict.fromkeys(change.table for change in changes)
        rows = {change.table: self._row_of(scenario, episode, change) for change in reversed(changes)}
        count = 0
        for reader in self._readers:
            meaning = reader.meaning
            through = meaning.through.table if meaning.through else None
            table = through if through in tables else meaning.table
            if meaning.kind not in LISTING or table not in tables or count == _MAX_LISTS:
                continue
            for arguments in self._questions(reader, table, rows[table], episode):
                now, then = self._pair(scenario, episode, reader, arguments)
                if now is not None and now != then:
                    count += 1
                    yield Plan(
                        f"{prefix}seen_by_{reader.name}"[:57],
                        "success",
                        scenario,
                        (first, CaseCall(reader.name, arguments[0])),
                        shows=self._written(changes, meaning.table),
                    )
                    break

    def _written(self, changes: Sequence[RowChange], table: str) -> frozenset[str]:
        """Columns that the write changed: lists are to show them."""
        updated = [change for change in changes if change.table == table and change.kind is ChangeKind.UPDATE]
        return frozenset(name for change in updated for name in change.after or {})

    def _questions(
        self, reader: PlannedTool, table: str, row: Row, episode: Interpreter
    ) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Ways to ask for a list that the row is in: whole first, then narrowed to it."""
        base = self._naming(reader, row, episode, table)
        if base is None:
            return
        wide: dict[str, Any] = {}
        for argument in reader.meaning.with_role(ArgumentRole.SIZE):
            wide = {argument.name: min(int(argument.schema.get("maximum", 100)), 1_000)}
        yield {**base[0], **wide}, {**base[1], **wide}
        if table != reader.meaning.table:
            return
        for argument in reader.meaning.with_role(ArgumentRole.FILTER, ArgumentRole.ONE_OF):
            value = self._value(reader.meaning.table, argument, row)
            pointer = pointer_of(self._tool.meaning.result, argument.column or "")
            is_fresh = isinstance(value, str) and value in episode.state.fresh
            if value is None or (is_fresh and pointer is None):
                continue
            told: Any = reference(0, pointer) if is_fresh and pointer is not None else value
            is_many = argument.role is ArgumentRole.ONE_OF
            yield (
                {**base[0], **wide, argument.name: [told] if is_many else told},
                {**base[1], **wide, argument.name: [value] if is_many else value},
            )

    def _naming(
        self, reader: PlannedTool, row: Row, episode: Interpreter, table: str | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The required arguments of a reader about a row: as a case writes them, and as they are."""
        meaning = reader.meaning
        joined = {argument: column for column, argument in meaning.through.scope} if meaning.through else {}
        written: dict[str, Any] = {}
        real: dict[str, Any] = {}
        for argument in meaning.arguments:
            if not argument.is_required:
                continue
            if meaning.through and table == meaning.through.table:
                column = joined.get(argument.name)
                source = meaning.through.table
            else:
                column = argument.column if argument.name not in joined else None
                source = meaning.table
            if column is None or argument.role is ArgumentRole.SEARCH or row.get(column) is None:
                return None
            value = shown(self._stage.columns[source][column], row[column])
            real[argument.name] = [value] if argument.role is ArgumentRole.ONE_OF else value
            written[argument.name] = real[argument.name]
            if isinstance(value, str) and value in episode.state.fresh:
                pointer = pointer_of(self._tool.meaning.result, column)
                if pointer is None:
                    return None
                written[argument.name] = reference(0, pointer)
        return written, real

    def _value(self, table: str, argument: Argument, row: Row) -> Any:
        column = self._stage.columns[table].get(argument.column or "")
        return None if column is None else shown(column, row[column.name])

    def _code(
        self, episode: Interpreter, reader: PlannedTool, arguments: tuple[dict[str, Any], dict[str, Any]]
    ) -> str | None:
        refused = episode.refused_by(reader.name, arguments[1])
        return reader.meaning.checks[refused[0]].code if refused else None

    def _pair(
        self,
        scenario: str,
        episode: Interpreter,
        reader: PlannedTool,
        arguments: tuple[dict[str, Any], dict[str, Any]],
    ) -> tuple[Any, Any]:
        """What the reader answers after the write, and before it."""
        try:
            now = episode.call(reader.name, arguments[1]).result
            then = self._stage.look(scenario).call(reader.name, arguments[1]).result
        except UnspecifiedError:
            return None, None
        return now, then
