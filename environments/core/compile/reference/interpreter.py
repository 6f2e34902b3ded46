"""The reference interpreter: plays what operations mean over plain rows, without SQL and without their tools.

It is written from `semantics` alone and shares no code with emission, so that the expectations of cases are a second
reading of the meaning and not a recording of the tool.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from environments.core.compile.reference.errors import UnspecifiedError
from environments.core.compile.reference.forms import Row, Stored, moment, put, shown, stored, total_of
from environments.core.compile.reference.rows import Draft, Shape, State
from environments.core.compile.reference.selection import Page, matching, ordered, page_of, steps_of
from environments.core.compile.semantics import (
    Absent,
    Answer,
    Assignment,
    Blueprint,
    Check,
    Exists,
    InUse,
    Kind,
    Meaning,
    Part,
    Result,
    Source,
    View,
)
from environments.runtime.pack.model import Scenario
from environments.runtime.records import CallStatus, RowChange


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call must give.

    Attributes:
        status: Success or rejection.
        code: Of the rejection.
        result: Of a success.
        changes: What the call changed.
    """

    status: CallStatus
    code: str | None
    result: dict[str, Any] | None
    changes: tuple[RowChange, ...]


class Interpreter:
    """An episode, played by the meanings of its tools.

    Arguments are taken to fit the schemas of the tool. New INTEGER ids are the runtime's own; new TEXT ids are
    placeholders, which a case pairs with the runtime's by the row that they name.

    Args:
        blueprint: The environment as planned.
        scenario: Where the episode starts.
    """

    def __init__(self, blueprint: Blueprint, scenario: Scenario) -> None:
        shape = Shape(blueprint)
        self._meanings = {tool.name: tool.meaning for tool in blueprint.tools}
        self._now = scenario.clock_start
        self._start = self.state = State.of(shape, scenario.rows)
        self._highest = {
            table: max((int(row[column] or 0) for row in self._start.all(table)), default=0)
            for table, column in shape.generated.items()
            if all(isinstance(row[column], int) for row in self._start.all(table))
        }

    def fork(self) -> "Interpreter":
        """Another episode from the same start; it costs nothing, since states are values."""
        twin = object.__new__(Interpreter)
        twin._meanings, twin._now, twin._highest = self._meanings, self._now, self._highest
        twin._start = twin.state = self._start
        return twin

    @property
    def changes(self) -> tuple[RowChange, ...]:
        """The net changes since the start."""
        return self.state.changes_since(self._start)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Outcome:
        """Plays one call.

        Args:
            tool: Name of a tool of the blueprint.
            arguments: By JSON name, fitting the tool's schemas; null is the same as absent.

        Raises:
            UnspecifiedError: The meaning leaves the outcome open; the state is as before.
            KeyError: There is no such tool.
        """
        meaning = self._meanings[tool]
        given = filled(meaning, arguments)
        for check in meaning.checks:
            if not holds(check, meaning, given, self.state):
                return Outcome(CallStatus.REJECTION, check.code, None, ())
        before = self.state
        result, self.state = _KINDS[meaning.kind](self, meaning, given)
        return Outcome(CallStatus.SUCCESS, None, result, self.state.changes_since(before))

    def refused_by(self, tool: str, arguments: Mapping[str, Any]) -> tuple[int, ...]:
        """Positions of all checks that refuse a call, not only of the first."""
        meaning = self._meanings[tool]
        given = filled(meaning, arguments)
        return tuple(
            place for place, check in enumerate(meaning.checks) if not holds(check, meaning, given, self.state)
        )

    def rows_for(self, tool: str, arguments: Mapping[str, Any]) -> list[Row]:
        """The rows that a call is about, in the order that it asks for, of all pages."""
        meaning = self._meanings[tool]
        given = filled(meaning, arguments)
        return ordered(matching(meaning, given, self.state), steps_of(meaning, given), self.state)

    # Reading

    def _list(self, meaning: Meaning, given: Mapping[str, Any]) -> tuple[dict[str, Any], State]:
        page = page_of(meaning, given, matching(meaning, given, self.state), self.state)
        return self._rows_result(meaning, page), self.state

    def _get(self, meaning: Meaning, given: Mapping[str, Any]) -> tuple[dict[str, Any], State]:
        row = self._only(meaning, given)
        if row is None:
            raise UnspecifiedError(f"no row of {meaning.table}, and no check says so")
        return self._row_result(meaning.result, row), self.state

    def _count(self, meaning: Meaning, given: Mapping[str, Any]) -> tuple[dict[str, Any], State]:
        return self._number_result(meaning.result, len(matching(meaning, given, self.state))), self.state

    def _sum(self, meaning: Meaning, given: Mapping[str, Any]) -> tuple[dict[str, Any], State]:
        if meaning.sum_column is None:
            raise UnspecifiedError("a sum of no column")
        values = [row[meaning.sum_column] for row in matching(meaning, given, self.state)]
        return self._number_result(meaning.result, total_of(values)), self.state

    # Writing

    def _create(self, meaning: Meaning, given: Mapping[str, Any]) -> tuple[dict[str, Any], State]:
        draft = self._draft()
        row = self._new_row(meaning, given, draft)
        draft.insert(meaning.table, row)
        return self._row_result(meaning.result, row), draft.finished()

    def _replace(self, meaning: Meaning, given: Mapping[str, Any]) -> tuple[dict[str, Any], State]:
        return self._change(meaning, given, meaning.assignments, keeps_old=False)

    def _patch(self, meaning: Meaning, given: Mapping[str, Any]) -> tuple[dict[str, Any], State]:
        return self._change(meaning, given, meaning.assignments, keeps_old=True)

    def _upsert(self, meaning: Meaning, given: Mapping[str, Any]) -> tuple[dict[str, Any], State]:
        if self._only(meaning, given) is None:
            return self._create(meaning, given)
        return self._change(meaning, given, meaning.updates, keeps_old=False)

    def _delete(self, meaning: Meaning, given: Mapping[str, Any]) -> tuple[dict[str, Any], State]:
        row = self._only(meaning, given)
        if row is None:
            raise UnspecifiedError(f"no row of {meaning.table} to delete, and no check says so")
        draft = self._draft()
        draft.delete(meaning.table, row)
        return self._row_result(meaning.result, row), draft.finished()

    def _link(self, meaning: Meaning, given: Mapping[str, Any]) -> tuple[dict[str, Any], State]:
        draft = self._draft()
        row = self._new_row(meaning, given, draft)
        there = self.state.rows[meaning.table].get(self.state.shape.key_of(meaning.table, row))
        if there is not None:
            return self._row_result(meaning.result, there), self.state
        draft.insert(meaning.table, row)
        return self._row_result(meaning.result, row), draft.finished()

    def _unlink(self, meaning: Meaning, given: Mapping[str, Any]) -> tuple[dict[str, Any], State]:
        row = self._only(meaning, given)
        draft = self._draft()
        if row is not None:
            draft.delete(meaning.table, row)
        elif meaning.result.form is Answer.ROW:
            raise UnspecifiedError(f"no row of {meaning.table} to show")
        return self._row_result(meaning.result, row or {}), draft.finished()

    # Rows

    def _draft(self) -> Draft:
        return Draft(self.state, self._highest)

    def _only(self, meaning: Meaning, given: Mapping[str, Any]) -> Row | None:
        """The one row that the arguments name."""
        found = matching(meaning, given, self.state)
        if len(found) > 1:
            raise UnspecifiedError(f"{len(found)} rows of {meaning.table} are meant")
        return found[0] if found else None

    def _new_row(self, meaning: Meaning, given: Mapping[str, Any], draft: Draft) -> dict[str, Stored]:
        columns = self.state.shape.columns[meaning.table]
        row: dict[str, Stored] = {name: column.default for name, column in columns.items()}
        self._assign(meaning, given, meaning.assignments, row, draft, keeps_old=False)
        return row

    def _change(
        self, meaning: Meaning, given: Mapping[str, Any], assignments: Iterable[Assignment], *, keeps_old: bool
    ) -> tuple[dict[str, Any], State]:
        before = self._only(meaning, given)
        if before is None:
            raise UnspecifiedError(f"no row of {meaning.table} to change, and no check says so")
        draft = self._draft()
        row = dict(before)
        self._assign(meaning, given, assignments, row, draft, keeps_old=keeps_old)
        draft.update(meaning.table, before, row)
        return self._row_result(meaning.result, row), draft.finished()

    def _assign(
        self,
        meaning: Meaning,
        given: Mapping[str, Any],
        assignments: Iterable[Assignment],
        row: dict[str, Stored],
        draft: Draft,
        *,
        keeps_old: bool,
    ) -> None:
        columns = self.state.shape.columns[meaning.table]
        templates = []
        for assignment in assignments:
            column = columns[assignment.column]
            if assignment.source is Source.TEMPLATE:
                templates.append(column)  # made of the others, so after them
            elif assignment.source is Source.ARGUMENT:
                value = given.get(assignment.argument or "")
                if value is not None:
                    row[column.name] = stored(column, value)
                elif not keeps_old:
                    row[column.name] = column.default
            elif assignment.source is Source.NEW_ID:
                row[column.name] = draft.new_id(meaning.table)
            elif assignment.source is Source.NOW:
                row[column.name] = moment(column, self._now)
            else:
                is_constant = assignment.source is Source.CONSTANT
                row[column.name] = assignment.constant if is_constant else column.default
        for column in templates:
            parts = column.template.parts if column.template else ()
            row[column.name] = "".join(str(row[part.column]) if isinstance(part, Part) else part for part in parts)

    # Answers

    def _shown(self, view: View, row: Row) -> dict[str, Any]:
        columns = self.state.shape.columns[view.table]
        result: dict[str, Any] = {}
        for entry in view.properties:
            put(result, entry.path, shown(columns[entry.column], row[entry.column]))
        for path, value in view.constants:
            put(result, path, value)
        return result

    def _row_result(self, result: Result, row: Row) -> dict[str, Any]:
        made: dict[str, Any] = {}
        if result.form is Answer.ROW and result.view is not None:
            view = self._shown(result.view, row)
            if result.place:
                put(made, result.place, [view] if result.one_in_list else view)
            else:
                made.update(view)
        return _with_constants(result, made)

    def _rows_result(self, meaning: Meaning, page: Page) -> dict[str, Any]:
        result = meaning.result
        made: dict[str, Any] = {}
        if result.form is Answer.KEYS or result.view is None:
            column = self.state.shape.columns[meaning.table][page.key]
            put(made, result.place, [shown(column, row[column.name]) for row in page.rows])
        else:
            view = result.view
            put(made, result.place, [self._shown(view, row) for row in page.rows])
        for path, fact in result.page_facts:
            put(made, path, page.fact(fact))
        return _with_constants(result, made)

    def _number_result(self, result: Result, number: float) -> dict[str, Any]:
        made: dict[str, Any] = {}
        put(made, result.place, number)
        return _with_constants(result, made)


def filled(meaning: Meaning, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are there, and the defaults of those that are not."""
    given = {name: value for name, value in arguments.items() if value is not None}
    for argument in meaning.arguments:
        if argument.name not in given and argument.default is not None:
            given[argument.name] = argument.default
    return given


def holds(check: Check, meaning: Meaning, given: Mapping[str, Any], state: State) -> bool:
    """Whether a check lets a call through; where a value that it needs is absent, it does."""
    where = _named(check.table, check.where, given, state)
    if where is None:
        return True
    found = state.find(check.table, where)
    if isinstance(check, Exists):
        return bool(found)
    if isinstance(check, InUse):
        return not found
    if isinstance(check, Absent):
        own = _named(check.table, check.besides, given, state) if check.besides else None
        if own is not None:
            found = [row for row in found if any(row[name] != value for name, value in own.items())]
        return not found
    for row in found:
        value = row[check.column]
        if value not in check.allowed if check.allowed else value in check.refused:
            return False
    return True


def _named(
    table: str, where: Iterable[tuple[str, str]], given: Mapping[str, Any], state: State
) -> dict[str, Stored] | None:
    """The values that columns must have; None if an argument is absent."""
    columns = state.shape.columns[table]
    named: dict[str, Stored] = {}
    for column, argument in where:
        if given.get(argument) is None:
            return None
        named[column] = stored(columns[column], given[argument])
    return named


def _with_constants(result: Result, made: dict[str, Any]) -> dict[str, Any]:
    for path, value in result.constants:
        put(made, path, value)
    return made


_Played = Callable[[Interpreter, Meaning, Mapping[str, Any]], tuple[dict[str, Any], State]]
_KINDS: Mapping[Kind, _Played] = {
    Kind.LIST: Interpreter._list,
    Kind.LIST_KEYS: Interpreter._list,
    Kind.GET: Interpreter._get,
    Kind.COUNT: Interpreter._count,
    Kind.SUM: Interpreter._sum,
    Kind.CREATE: Interpreter._create,
    Kind.REPLACE: Interpreter._replace,
    Kind.PATCH: Interpreter._patch,
    Kind.UPSERT: Interpreter._upsert,
    Kind.DELETE: Interpreter._delete,
    Kind.TRANSITION: Interpreter._patch,
    Kind.LINK: Interpreter._link,
    Kind.UNLINK: Interpreter._unlink,
}
