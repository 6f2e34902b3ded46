"""What must hold of every planned environment, whatever document it comes from."""

import re
from collections.abc import Iterator

from environments.core.compile.semantics import (
    MAX_ARGUMENTS,
    MAX_COLUMNS,
    MAX_TABLES,
    MAX_TOOLS,
    READING,
    ArgumentRole,
    Blueprint,
    Column,
    Compilation,
    Kind,
    Meaning,
    Part,
    PlannedTool,
    Source,
    SourcedOperation,
    Table,
)

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TOOL = re.compile(r"[a-z][a-z0-9_]{0,37}")
_BLUEPRINT = re.compile(r"[a-z][a-z0-9_]{2,23}")
_CODE = re.compile(r"[a-z][a-z0-9_]{1,47}")
_WITH_COLUMN = (
    ArgumentRole.KEY, ArgumentRole.SCOPE, ArgumentRole.FILTER, ArgumentRole.ONE_OF, ArgumentRole.AT_LEAST,
    ArgumentRole.AT_MOST, ArgumentRole.SET,
)  # fmt: skip


def faults_of(compilation: Compilation, operations: list[SourcedOperation]) -> list[str]:
    """Everything that is wrong; empty if nothing is."""
    found = list(_accounts(compilation, operations))
    names = [blueprint.name for blueprint in compilation.blueprints]
    if len(set(names)) != len(names):
        found.append(f"environments share a name: {names}")
    for blueprint in compilation.blueprints:
        found += [f"{blueprint.name}: {fault}" for fault in _of_blueprint(blueprint)]
    return found


def _accounts(compilation: Compilation, operations: list[SourcedOperation]) -> Iterator[str]:
    given = sorted((each.facts.sha256, each.operation.key) for each in operations)
    tools = [(tool.source, tool.operation) for blueprint in compilation.blueprints for tool in blueprint.tools]
    ended = sorted([*tools, *((each.source, each.operation) for each in compilation.left_out)])
    if given != ended:
        missing, extra = set(given) - set(ended), [each for each in ended if ended.count(each) > 1]
        yield f"operations do not end once: missing {sorted(missing)}, twice {sorted(set(extra))}"


def _of_blueprint(blueprint: Blueprint) -> Iterator[str]:
    tables = {table.name: table for table in blueprint.tables}
    if not _BLUEPRINT.fullmatch(blueprint.name) or "__" in blueprint.name:
        yield f"name {blueprint.name!r}"
    if len(blueprint.tools) > MAX_TOOLS or len(blueprint.tables) > MAX_TABLES:
        yield f"{len(blueprint.tools)} tools, {len(blueprint.tables)} tables"
    if len(tables) != len(blueprint.tables):
        yield "tables share a name"
    reads = sum(tool.meaning.kind in READING for tool in blueprint.tools)
    if len(blueprint.tools) < 5 or reads in (0, len(blueprint.tools)):
        yield "too little"
    names = [tool.name for tool in blueprint.tools]
    if len(set(names)) != len(names) or not all(_TOOL.fullmatch(name) and "__" not in name for name in names):
        yield f"names of tools: {names}"
    seen: set[str] = set()
    for table in blueprint.tables:
        yield from (f"{table.name}: {fault}" for fault in _of_table(table, tables, seen))
        seen.add(table.name)
        if table.has_tools is not any(_is_about(tool, table) for tool in blueprint.tools):
            yield f"{table.name}: has_tools is {table.has_tools}"
    views = {}
    for tool in blueprint.tools:
        yield from (f"{tool.name}: {fault}" for fault in _of_meaning(tool.meaning, tables))
        if not tool.description or not tool.title:
            yield f"{tool.name}: no words"
        view = tool.meaning.result.view
        if view is not None and views.setdefault(view.name, view) != view:
            yield f"{tool.name}: two views are called {view.name}"
    sources = {each.sha256 for each in blueprint.sources}
    if sources != {tool.source for tool in blueprint.tools}:
        yield "sources are not those of the tools"


def _is_about(tool: PlannedTool, table: Table) -> bool:
    through = tool.meaning.through
    return table.name in (tool.meaning.table, through.table if through is not None else "")


def _of_table(table: Table, tables: dict[str, Table], seen: set[str]) -> Iterator[str]:
    names = [column.name for column in table.columns]
    if len(set(names)) != len(names) or not all(_NAME.fullmatch(name) for name in names):
        yield f"names of columns: {names}"
    if not _NAME.fullmatch(table.name) or "__" in table.name:
        yield "name"
    if len(names) > MAX_COLUMNS:
        yield f"{len(names)} columns"
    if not table.primary_key or not set(table.primary_key) <= set(names):
        yield f"primary key {table.primary_key}"
    for column in table.columns:
        yield from _of_column(column, table)
    for key in table.foreign_keys:
        target = tables.get(key.table)
        if target is None or (key.table not in seen and target is not table):
            yield f"foreign key to {key.table}, which does not come before it"
        elif key.targets != target.primary_key or len(key.columns) != len(key.targets):
            yield f"foreign key {key.columns} to {key.targets} of {key.table}, whose key is {target.primary_key}"
        elif not set(key.columns) <= set(names):
            yield f"foreign key of unknown columns {key.columns}"
        else:
            for mine, theirs in zip(key.columns, key.targets, strict=True):
                if table.column(mine).kind is not target.column(theirs).kind:
                    yield f"{mine} is no {theirs} of {key.table}"
    yield from _contradictions(table, tables)


def _contradictions(table: Table, tables: dict[str, Table]) -> Iterator[str]:
    """Foreign keys that share a column must lead to the same row by both ways, or rows could not exist."""
    for wide in table.foreign_keys:
        for narrow in table.foreign_keys:
            if wide is narrow or len(wide.columns) <= len(narrow.columns) or wide.table not in tables:
                continue
            for column in set(wide.columns) & set(narrow.columns):
                theirs = wide.targets[wide.columns.index(column)]
                if not any(theirs in up.columns and up.table == narrow.table for up in tables[wide.table].foreign_keys):
                    yield f"{column} points to {wide.table} and to {narrow.table}, which need not agree"


def _of_column(column: Column, table: Table) -> Iterator[str]:
    if column.name in table.primary_key and not column.is_required:
        yield f"{column.name} of the key may be NULL"
    if column.default is not None and column.values and column.default not in column.values:
        yield f"{column.name} cannot hold its default"
    if column.template is not None:
        parts = {part.column for part in column.template.parts if isinstance(part, Part)}
        if not parts <= {each.name for each in table.columns}:
            yield f"{column.name} is made of unknown columns"
        elif any(table.column(name).generated for name in parts):
            yield f"{column.name} is made of a column that the environment gives"


def _of_meaning(meaning: Meaning, tables: dict[str, Table]) -> Iterator[str]:
    table = tables.get(meaning.table)
    if table is None:
        yield f"no table {meaning.table}"
        return
    through = tables.get(meaning.through.table) if meaning.through is not None else None
    columns = {column.name for column in table.columns}
    computed = {column.name for column in table.columns if column.template is not None}
    reachable = columns | ({column.name for column in through.columns} if through is not None else set())
    names = [argument.name for argument in meaning.arguments]
    python = [argument.python_name for argument in meaning.arguments]
    if len(names) > MAX_ARGUMENTS:
        yield f"{len(names)} arguments"
    if len(set(names)) != len(names) or len(set(python)) != len(python):
        yield f"arguments share a name: {names} {python}"
    required = [argument.is_required for argument in meaning.arguments]
    if required != sorted(required, reverse=True):
        yield "required arguments do not come first"
    for argument in meaning.arguments:
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,41}", argument.python_name):
            yield f"argument {argument.python_name!r} is no Python name"
        if argument.column is not None and argument.column not in reachable:
            yield f"argument {argument.name} is about {argument.column}, which is no column"
        if argument.role in _WITH_COLUMN and argument.column is None:
            yield f"argument {argument.name} is about no column"
        if argument.role is ArgumentRole.SET and argument.column in computed:
            yield f"argument {argument.name} sets a column that is computed"
        if argument.role is ArgumentRole.KEY and not argument.is_required:
            yield f"key {argument.name} may be missing"
    yield from _of_checks(meaning, tables, set(names))
    yield from _of_writes(meaning, table, set(names))
    yield from _of_answer(meaning, table, columns)


def _of_checks(meaning: Meaning, tables: dict[str, Table], arguments: set[str]) -> Iterator[str]:
    codes = [check.code for check in meaning.checks]
    if len(set(codes)) != len(codes) or not all(_CODE.fullmatch(code) for code in codes):
        yield f"codes {codes}"
    for check in meaning.checks:
        target = tables.get(check.table)
        if target is None:
            yield f"{check.code} looks into {check.table}, which is no table"
            continue
        wanted = {column for column, _ in check.where} | ({check.column} if hasattr(check, "column") else set())
        if not wanted <= {column.name for column in target.columns}:
            yield f"{check.code} compares {sorted(wanted)} of {check.table}"
        if not {argument for _, argument in check.where} <= arguments:
            yield f"{check.code} names unknown arguments"


def _of_writes(meaning: Meaning, table: Table, arguments: set[str]) -> Iterator[str]:
    written = [*meaning.assignments, *meaning.updates]
    for each in written:
        if each.column not in {column.name for column in table.columns}:
            yield f"{each.column} is written, and is no column"
        if each.source is Source.ARGUMENT and each.argument not in arguments:
            yield f"{each.column} becomes {each.argument}, which is no argument"
    if meaning.kind in READING and written:
        yield "a read writes"
    if meaning.kind in (Kind.CREATE, Kind.UPSERT, Kind.LINK):
        given = {each.column for each in meaning.assignments}
        optional = {argument.name for argument in meaning.arguments if not argument.is_required}
        for column in table.columns:
            from_caller = next((each for each in meaning.assignments if each.column == column.name), None)
            is_safe = column.default is not None or (from_caller is not None and from_caller.argument not in optional)
            if column.is_required and (column.name not in given or not is_safe):
                yield f"{column.name} may be NULL in a new row"


def _of_answer(meaning: Meaning, table: Table, columns: set[str]) -> Iterator[str]:
    result, view = meaning.result, meaning.result.view
    if view is not None:
        shown = [each.path for each in view.properties]
        if not shown or not {each.column for each in view.properties} <= columns:
            yield f"the view {view.name} shows what is no column"
        if len(set(shown)) != len(shown):
            yield f"the view {view.name} shows a place twice"
        places = [*shown, *(path for path, _ in view.constants)]
        if any(one != other and other[: len(one)] == one for one in places for other in places):
            yield f"the view {view.name} has a place inside another one"
        if any(table.column(each.column).is_secret for each in view.properties):
            yield f"the view {view.name} shows a secret"
    for path in [path for path, _ in (*result.page_facts, *result.constants)]:
        if path[: len(result.place)] == result.place and result.place:
            yield f"{path} stands inside the rows"
    order = tuple(each.column for each in meaning.order)
    if meaning.kind in (Kind.LIST, Kind.LIST_KEYS) and order[-len(table.primary_key) :] != table.primary_key:
        yield "the order of the list is not total"
    if not {column for _, column in meaning.sorts} | set(meaning.search_columns) <= columns:
        yield "it sorts or searches by what is no column"
