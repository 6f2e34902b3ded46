"""A pack made ready to run: tools with their conditions prepared, and everything in source and SQL that is wrong.

Nothing of the pack is executed here; a zygote may build this before it forks.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from environments.runtime.engine.database import Database
from environments.runtime.engine.errors import FailureReason, ToolFailure
from environments.runtime.engine.gate import FILE
from environments.runtime.engine.sets import nodes_of
from environments.runtime.engine.statements import Statement
from environments.runtime.faults import Fault
from environments.runtime.pack.model import Condition, Tool
from environments.runtime.records import ColumnRef
from environments.runtime.schema import ResultValidator

_QUERY_METHODS = frozenset({"one", "all", "run"})
_REFUSED = FailureReason.SQL_REFUSED


@dataclass(frozen=True, slots=True)
class Check:
    """One prepared condition."""

    code: str
    message: str
    sql: str
    reads: frozenset[ColumnRef]


@dataclass(slots=True)
class ToolProgram:
    """One tool, laid out for the hot path.

    Attributes:
        parameters: JSON name, Python name, value if absent, and whether that value could be changed by the tool.
        names: The JSON names.
        required: JSON names that must be given.
        integers: Python names of arguments that are integers, which JSON may write as 1.0.
        captures: Parameter name and SQL of each.
        reads_before: Columns read once the first n pre-conditions were evaluated, captures included, for n from 0.
        reads_all: Columns that all its conditions read.
        codes: Codes that its code may reject with.
    """

    tool: Tool
    parameters: tuple[tuple[str, str, Any, bool], ...]
    names: frozenset[str]
    required: frozenset[str]
    integers: frozenset[str]
    validator: ResultValidator
    captures: tuple[tuple[str, str], ...] = ()
    preconditions: tuple[Check, ...] = ()
    postconditions: tuple[Check, ...] = ()
    reads_before: tuple[frozenset[ColumnRef], ...] = (frozenset(),)
    reads_all: frozenset[ColumnRef] = frozenset()
    codes: frozenset[str] = frozenset()

    @property
    def writes(self) -> bool:
        """Whether the tool may change the state."""
        return self.tool.effect == "write"

    def bind(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by Python name; absent ones have their default, and nested values are copies.

        A copy, because a tool that changes its arguments must not change the record of the call.
        """
        bound: dict[str, Any] = {}
        for json_name, name, default, is_mutable in self.parameters:
            if json_name in arguments:
                value = arguments[json_name]
                kind = value.__class__
                if kind is dict or kind is list:
                    value = orjson.loads(orjson.dumps(value))
                elif kind is float and name in self.integers and value.is_integer():
                    value = int(value)
                bound[name] = value
            else:
                bound[name] = orjson.loads(orjson.dumps(default)) if is_mutable else default
        return bound

    def sql_parameters(self, bound: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as parameters of conditions: booleans 0 and 1, objects and arrays as JSON text."""
        found: dict[str, Any] = {}
        for json_name, name, _, _ in self.parameters:
            value = bound[name]
            kind = value.__class__
            if kind is bool:
                value = int(value)
            elif kind is dict or kind is list:
                value = orjson.dumps(value).decode()
            found[json_name] = found[name] = value
        return found


@dataclass(slots=True)
class Program:
    """The tools by name and what is wrong with them."""

    tools: dict[str, ToolProgram] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


def prepare_tools(tools: tuple[Tool, ...], database: Database) -> Program:
    """Prepares every tool's conditions over an empty state.

    A tool whose schemas cannot be compiled raises: the host has checked them before.
    """
    program = Program()
    for tool in tools:
        program.tools[tool.name] = _prepare_tool(tool, database, program.faults)
    return program


def _prepare_tool(tool: Tool, database: Database, faults: list[Fault]) -> ToolProgram:
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    parameters = []
    integers = set()
    for json_name, schema in properties.items():
        name = tool.argument_names.get(json_name, json_name)
        schema = schema if isinstance(schema, Mapping) else {}
        default = schema.get("default")
        parameters.append((json_name, name, default, isinstance(default, dict | list)))
        kind = schema.get("type")
        if kind == "integer" or (isinstance(kind, list) and "integer" in kind and "number" not in kind):
            integers.add(name)
    place = f"tools/{tool.name}"
    captures = []
    read: frozenset[ColumnRef] = frozenset()
    for name, sql in sorted(tool.captures.items()):
        statement = _learn_condition(sql, f"{place}/captures/{name}", database, faults)
        if statement is not None:
            captures.append((f"before_{name}", sql))
            read |= statement.reads
    before = _checks(tool.preconditions, f"{place}/preconditions", database, faults)
    after = _checks(tool.postconditions, f"{place}/postconditions", database, faults)
    reads_before = [read]
    for check in before:
        reads_before.append(reads_before[-1] | check.reads)
    return ToolProgram(
        tool=tool,
        parameters=tuple(parameters),
        names=frozenset(properties),
        required=frozenset(tool.input_schema.get("required", ())),
        integers=frozenset(integers),
        validator=ResultValidator(tool),
        captures=tuple(captures),
        preconditions=before,
        postconditions=after,
        reads_before=tuple(reads_before),
        reads_all=reads_before[-1].union(*(check.reads for check in after)),
        codes=frozenset(rejection.code for rejection in tool.rejections),
    )


def _checks(
    conditions: tuple[Condition, ...], place: str, database: Database, faults: list[Fault]
) -> tuple[Check, ...]:
    found = []
    for position, condition in enumerate(conditions):
        statement = _learn_condition(condition.sql, f"{place}/{position}/sql", database, faults)
        if statement is not None:
            found.append(Check(condition.code, condition.message, condition.sql, statement.reads))
    return tuple(found)


def _learn_condition(sql: str, place: str, database: Database, faults: list[Fault]) -> Statement | None:
    try:
        statement = database.learn(sql)
    except ToolFailure as failure:
        code = "condition_forbidden" if failure.reason is _REFUSED else "condition_sql"
        faults.append(Fault(code, place, str(failure)))
        return None
    if not statement.is_readonly:
        faults.append(Fault("condition_forbidden", place, "a condition only reads"))
        return None
    if len(statement.columns) != 1:
        faults.append(Fault("condition_columns", place, f"it selects {len(statement.columns)} columns"))
        return None
    return statement


# The source against the declarations


def check_functions(tree: ast.Module, tools: tuple[Tool, ...], database: Database) -> Iterator[Fault]:
    """Signatures, rejection codes and SQL texts of tools.py against what environment.json declares."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    texts = _constant_texts(tree)
    declared = {tool.name for tool in tools}
    for name, function in functions.items():
        if name not in declared and not name.startswith("_"):
            yield Fault("function_unknown", _at(function), f"no tool is called {name}")
    nodes = {name: nodes_of(function) for name, function in functions.items()}
    calls = {name: _calls(nodes[name], functions) for name in functions}
    rejections = {name: list(_rejections(nodes[name], texts)) for name in functions}
    reachable_from: dict[str, set[str]] = {}
    for tool in tools:
        place = f"tools/{tool.name}"
        own = functions.get(tool.name)
        if own is None:
            yield Fault("function_missing", place, f"tools.py has no function {tool.name}")
            continue
        yield from _check_signature(tool, own)
        reachable = _reachable(tool.name, calls)
        for name in reachable:
            reachable_from.setdefault(name, set()).add(tool.name)
        raised = {code for name in reachable for code, _ in rejections[name] if code}
        for rejection in tool.rejections:
            if rejection.code not in raised:
                yield Fault("rejection_unused", place, f"nothing rejects with {rejection.code}")
    codes = {tool.name: {rejection.code for rejection in tool.rejections} for tool in tools}
    for name in functions:
        callers = reachable_from.get(name, set())
        for code, node in rejections[name]:
            if code is None:
                yield Fault("reject_undeclared", _at(node), "the code of ctx.reject is not written here")
            elif callers and not any(code in codes[caller] for caller in callers):
                yield Fault("reject_undeclared", _at(node), f"{', '.join(sorted(callers))} do not declare {code}")
        yield from _check_sql(nodes[name], texts, database)


def _at(node: ast.AST) -> str:
    return f"{FILE}:{getattr(node, 'lineno', 1)}"


def _check_signature(tool: Tool, function: ast.FunctionDef) -> Iterator[Fault]:
    arguments = function.args
    properties = tool.input_schema.get("properties", {})
    wanted = {tool.argument_names.get(name, name): name for name in properties}
    given = {
        argument.arg: default for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    }
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    if positional != ["ctx"] or arguments.defaults or arguments.vararg or arguments.kwarg:
        yield Fault("signature", _at(function), f"write def {tool.name}(ctx, *, ...) with keyword-only arguments")
    if missing := sorted(wanted.keys() - given.keys()):
        yield Fault("signature", _at(function), f"{tool.name} lacks {', '.join(missing)}")
    if unknown := sorted(given.keys() - wanted.keys()):
        yield Fault("signature", _at(function), f"the schema of {tool.name} has no {', '.join(unknown)}")
    required = set(tool.input_schema.get("required", ()))
    for name in sorted(wanted.keys() & given.keys()):
        default = given[name]
        if wanted[name] in required:
            if default is not None:
                yield Fault("signature", _at(function), f"{name} is required and has a default")
            continue
        schema = properties[wanted[name]]
        expected = schema.get("default") if isinstance(schema, Mapping) else None
        if default is None:
            yield Fault("signature", _at(function), f"{name} is optional and has no default")
        elif isinstance(expected, dict | list):
            continue  # a literal would be a default that can change; the caller always passes a copy of the schema's
        elif not _is_literal(default, expected):
            yield Fault("signature", _at(function), f"the default of {name} is not the schema's {expected!r}")


def _is_literal(node: ast.expr, expected: Any) -> bool:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return bool(value == expected) and isinstance(value, bool) == isinstance(expected, bool)


def _constant_texts(tree: ast.Module) -> dict[str, str]:
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.update({target.id: node.value.value for target in node.targets if isinstance(target, ast.Name)})
    return found


def _text(node: ast.expr, texts: Mapping[str, str]) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        return texts.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left, texts), _text(node.right, texts)
        return None if left is None or right is None else left + right
    return None


def _calls(nodes: Iterable[ast.AST], functions: Mapping[str, ast.FunctionDef]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name) and node.id in functions}


def _reachable(name: str, calls: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting.extend(calls[one])
    return found


def _rejections(nodes: Iterable[ast.AST], texts: Mapping[str, str]) -> Iterator[tuple[str | None, ast.Call]]:
    for node in nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "reject"
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "ctx"
        ):
            first = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "code"), None)
            yield (None if first is None else _text(first, texts)), node


def _check_sql(nodes: Iterable[ast.AST], texts: Mapping[str, str], database: Database) -> Iterator[Fault]:
    for node in nodes:
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _QUERY_METHODS
            and isinstance(node.func.value, ast.Attribute)
            and node.func.value.attr == "db"
            and node.args
        ):
            continue
        sql = _text(node.args[0], texts)
        if sql is None:
            continue
        try:
            statement = database.learn(sql)
        except ToolFailure as failure:
            yield Fault("tool_sql", _at(node), str(failure))
            continue
        if any(keyword.arg is None for keyword in node.keywords):
            continue
        given = {str(keyword.arg) for keyword in node.keywords}
        if missing := sorted(set(statement.parameters) - given):
            yield Fault("tool_sql", _at(node), f"no value for {', '.join(missing)}")
        if unused := sorted(given - set(statement.parameters)):
            yield Fault("tool_sql", _at(node), f"the SQL has no parameter {', '.join(unused)}")
