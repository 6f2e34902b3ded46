"""What an environment must have to count: as data, so that a report can hold packs against several bars."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from environments.core.logic.model import ToolUse
from environments.core.logic.statements import Literal, StatementReader
from environments.runtime.pack.model import Case, Pack, Tool
from environments.runtime.records import CallStatus, ChangeKind
from environments.runtime.tables import TableInfo


@dataclass(frozen=True, slots=True)
class Standing:
    """What a pack has, as far as cases that held show it.

    Attributes:
        num_reads: Tools that read.
        num_writes: Tools that write.
        stories: Tables of which rows are made, shown, and changed or deleted: each by a case, or all by one.
        refusals: (tool, code) of refusals by the state of a row or by what points where; that the named row itself is
            not there, or that its key is taken, is none.
    """

    num_tools: int
    num_tables: int
    num_reads: int
    num_writes: int
    stories: tuple[str, ...]
    refusals: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """What is asked of a pack."""

    name: str
    min_tools: int = 5
    needs_read: bool = True
    needs_write: bool = True
    needs_story: bool = False
    needs_refusal: bool = False

    def problems(self, standing: Standing) -> tuple[str, ...]:
        """What a pack lacks, as stable codes; empty if it counts."""
        lacks = {
            "few_tools": standing.num_tools < self.min_tools,
            "no_read": self.needs_read and not standing.num_reads,
            "no_write": self.needs_write and not standing.num_writes,
            "no_story": self.needs_story and not standing.stories,
            "no_refusal": self.needs_refusal and not standing.refusals,
        }
        return tuple(code for code, is_lacking in lacks.items() if is_lacking)


LOOSE: Final = Bar("loose")
"""Five tools that read and write."""
STRICT: Final = Bar("strict", needs_story=True, needs_refusal=True)
"""Also a whole create-read-change story, and one refusal of state or reference."""


def standing_of(
    pack: Pack, tables: Sequence[TableInfo], uses: Mapping[str, ToolUse], held: Collection[str] | None = None
) -> Standing:
    """What a pack has.

    Args:
        pack: The pack.
        tables: Its tables.
        uses: By tool, the tables that it uses.
        held: Names of the cases that held; None: all did.
    """
    cases = [case for case in pack.cases if held is None or case.name in held]
    effects = [tool.effect for tool in pack.tools]
    return Standing(
        num_tools=len(pack.tools),
        num_tables=len(pack.tables),
        num_reads=effects.count("read"),
        num_writes=effects.count("write"),
        stories=tuple(_stories(pack, cases, uses)),
        refusals=tuple(_refusals(pack, cases, uses, tables)),
    )


def _stories(pack: Pack, cases: Sequence[Case], uses: Mapping[str, ToolUse]) -> Iterator[str]:
    """Tables of which tools make rows, show them, and change or delete them: each in a case, or all in one."""
    effects = {tool.name: tool.effect for tool in pack.tools}
    calls = [
        (
            case,
            [
                call.tool
                for call, expect in zip(case.calls, case.expect, strict=False)
                if expect.status is CallStatus.SUCCESS and call.tool in effects
            ],
        )
        for case in cases
    ]
    shown = {
        table
        for _, done in calls
        for tool in done
        if effects[tool] == "read"
        for table in uses.get(tool, ToolUse()).read_tables
    }
    for table in pack.tables:
        writers = {name for name, use in uses.items() if table in use.written_tables}
        written = [(case, [tool for tool in done if tool in writers]) for case, done in calls]
        if table in shown and _is_made_and_changed(table, [pair for pair in written if pair[1]]):
            yield table


def _is_made_and_changed(table: str, written: Sequence[tuple[Case, Sequence[str]]]) -> bool:
    """Whether tools make rows of a table and change or delete them, by cases and the calls in each that write it."""
    makers: set[str] = set()
    is_changed = False
    for case, tools in written:
        # Only where one call writes a table does the case say what that call did to it.
        kinds = {change.kind for change in case.changes if change.table == table} if len(tools) == 1 else set()
        if ChangeKind.INSERT in kinds:
            makers.add(tools[0])
        is_changed = is_changed or bool(kinds - {ChangeKind.INSERT})
    # What else writes the table after a row was made, without making one, changes or deletes.
    follows = any(tools[0] in makers and not makers.issuperset(tools) for _, tools in written)
    return bool(makers) and (is_changed or follows)


def _refusals(
    pack: Pack, cases: Sequence[Case], uses: Mapping[str, ToolUse], tables: Sequence[TableInfo]
) -> Iterator[tuple[str, str]]:
    met = {
        (call.tool, expect.code)
        for case in cases
        for call, expect in zip(case.calls, case.expect, strict=False)
        if expect.status is CallStatus.REJECTION
    }
    reader = StatementReader({table.name: table for table in tables})
    for tool in pack.tools:
        if tool.effect == "write":
            for condition in tool.preconditions:
                written = uses.get(tool.name, ToolUse()).written_tables
                if (tool.name, condition.code) in met and _is_of_state(tool, condition.sql, written, reader):
                    yield tool.name, condition.code


def _is_of_state(tool: Tool, sql: str, written: Collection[str], reader: StatementReader) -> bool:
    """Whether a condition asks more than whether the row that the call is about is there."""
    statement = reader.read(sql)
    if statement.use.read_tables - frozenset(written):
        return True
    return any(
        isinstance(meeting.other, Literal) and meeting.column[1] not in reader.tables[meeting.column[0]].primary_key
        for meeting in statement.meetings
    )
