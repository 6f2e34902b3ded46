"""The static check of a pack, whoever wrote it: what cannot be as it says is found before anything is played."""

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from environments.core.logic.conditions import ConditionChecker
from environments.core.logic.keys import check_keys
from environments.core.logic.model import LogicFinding, LogicReport, Severity, ToolUse
from environments.core.logic.source import Source, read_source
from environments.core.logic.statements import Statement, StatementReader, column_values, parse
from environments.core.logic.types import TypeChecker, condition_texts
from environments.runtime.pack.model import Pack, Tool
from environments.runtime.tables import TableInfo


def check_logic(pack: Pack, tables: Sequence[TableInfo], observed: Mapping[str, ToolUse] | None = None) -> LogicReport:
    """Checks types, keys, reachability and conditions.

    Args:
        pack: Its host half of validation has passed.
        tables: Its tables, as the worker described them.
        observed: By tool, the columns that its calls were seen to use, if it has been played.

    Returns:
        Findings in the pack's order, and which tables each tool uses. Deterministic.
    """
    named = {table.name: table for table in tables}
    reader = StatementReader(named)
    source = read_source(pack.tools_py)
    values = column_values(pack.schema_sql)
    filled = {name for scenario in pack.scenarios for name, rows in scenario.rows.items() if rows}
    used = {tool.name: _statements(tool, source, reader) for tool in pack.tools}
    tools = {name: _use(statements) | (observed or {}).get(name, ToolUse()) for name, statements in used.items()}
    findings = list(check_keys(named, filled))
    types = TypeChecker(reader, values)
    for tool in pack.tools:
        findings.extend(types.check(tool, source))
    findings.extend(_check_reachable(pack, used, filled, named))
    written = {column for use in tools.values() for column in use.writes}
    grown = {name for statements in used.values() for one in statements for name in _grown(one)}
    conditions = ConditionChecker(named, values, pack.scenarios, reader)
    for tool in pack.tools:
        findings.extend(conditions.check(tool, written, grown))
    findings.extend(_check_unused(named, tools))
    return LogicReport(tuple(dict.fromkeys(findings)), tools)


def _statements(tool: Tool, source: Source | None, reader: StatementReader) -> list[Statement]:
    found = [reader.read(sql) for _, sql in condition_texts(tool)]
    if source is not None:
        found += [reader.read(call.sql) for call in source.statements(tool.name)]
    return found


def _use(statements: Sequence[Statement]) -> ToolUse:
    found = ToolUse()
    for one in statements:
        found |= one.use
    return found


def _grown(statement: Statement) -> frozenset[str]:
    """Tables whose rows become more or fewer."""
    is_growing = isinstance(statement.tree, exp.Insert | exp.Delete)
    return statement.use.written_tables if is_growing else frozenset()


def _check_reachable(
    pack: Pack, used: Mapping[str, Sequence[Statement]], filled: set[str], tables: Mapping[str, TableInfo]
) -> Iterator[LogicFinding]:
    """Tools that need a row of a table that nothing can ever fill."""
    needs = {tool.name: _needed(tool, tables) for tool in pack.tools}
    inserts = {name: frozenset().union(*(one.inserts for one in statements)) for name, statements in used.items()}
    there = set(filled)
    while True:
        more = {
            table for name, found in inserts.items() if needs[name].keys() <= there for table in found
        } - there  # fmt: skip
        if not more:
            break
        there |= more
    for tool in pack.tools:
        for table, place in needs[tool.name].items():
            if table not in there:
                message = f"it needs a row of {table}: no scenario has one, and no tool that can be called makes one"
                yield LogicFinding("tool_unreachable", place, message, tool=tool.name)


def _needed(tool: Tool, tables: Mapping[str, TableInfo]) -> dict[str, str]:
    """Tables that must have a row for the pre-conditions to hold, each with the first condition that says so."""
    found: dict[str, str] = {}
    for position, condition in enumerate(tool.preconditions):
        tree = parse(condition.sql)
        if tree is not None:
            for name in _needed_rows(tree):
                if name in tables:
                    found.setdefault(name, f"tools/{tool.name}/preconditions/{position}")
    return found


def _needed_rows(node: exp.Expr) -> Iterator[str]:
    if isinstance(node, exp.Paren | exp.Subquery):
        yield from _needed_rows(node.this)
    elif isinstance(node, exp.And):
        for part in node.flatten():
            yield from _needed_rows(part)
    elif isinstance(node, exp.Exists):
        if isinstance(node.this, exp.Select):
            yield from _from_tables(node.this)
    elif isinstance(node, exp.Select) and len(node.selects) == 1:
        wanted = node.selects[0].unalias()
        if not any(wanted.find_all(exp.AggFunc)):
            yield from _from_tables(node)
        yield from _needed_rows(wanted)


def _from_tables(tree: exp.Select) -> Iterator[str]:
    start = tree.args.get("from_") or tree.args.get("from")
    nodes = [start.this] if start is not None else []
    nodes += [join.this for join in tree.args.get("joins") or () if not join.side]
    for node in nodes:
        if isinstance(node, exp.Table):
            yield node.name


def _check_unused(tables: Mapping[str, TableInfo], tools: Mapping[str, ToolUse]) -> Iterator[LogicFinding]:
    """Tables that no tool uses: kept for the keys that point to them, or left over."""
    used = {name for use in tools.values() for name in use.tables}
    used |= {table for use in tools.values() for table, _ in use.reads | use.writes}
    pointed_to = {key.table for table in tables.values() for key in table.foreign_keys}
    for name in tables:
        if name not in used:
            why = "only foreign keys point to it" if name in pointed_to else "nothing points to it either"
            message = f"no tool reads or writes {name}; {why}"
            yield LogicFinding("table_unused", f"tables/{name}", message, Severity.WARNING)
