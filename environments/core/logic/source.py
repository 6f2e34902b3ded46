"""What tools.py says of its SQL: which function runs which statements, and which arguments go into them as they are."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

_METHODS = frozenset({"one", "all", "run"})


@dataclass(frozen=True, slots=True)
class SqlCall:
    """A statement that a function runs.

    Attributes:
        sql: Its text.
        arguments: By parameter of the statement, the function's own argument that is passed unchanged.
    """

    sql: str
    arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Source:
    """The functions of tools.py.

    Attributes:
        calls: By function, the statements that it runs itself.
        callees: By function, the functions of the module that it calls.
        lines: By function, its first and last line.
    """

    calls: Mapping[str, tuple[SqlCall, ...]]
    callees: Mapping[str, tuple[str, ...]]
    lines: Mapping[str, tuple[int, int]]

    def statements(self, function: str) -> Iterator[SqlCall]:
        """Those of a function and of everything that it calls."""
        for name in self.reached(function):
            yield from self.calls.get(name, ())

    def reached(self, function: str) -> list[str]:
        """A function and everything that it calls, each once."""
        found = [function]
        for name in found:
            found.extend(other for other in self.callees.get(name, ()) if other not in found)
        return found

    def users(self, functions: Iterable[str], line: int) -> list[str]:
        """Which of the functions reach the code at a line."""
        owner = next((name for name, (first, last) in self.lines.items() if first <= line <= last), None)
        return [name for name in functions if owner is not None and owner in self.reached(name)]


def read_source(tools_py: str) -> Source | None:
    """Reads tools.py without running it; None if it is no Python."""
    try:
        tree = ast.parse(tools_py)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    texts = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    calls, callees, lines = {}, {}, {}
    for name, node in functions.items():
        nodes = list(ast.walk(node))
        assigned = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        own = {one.arg for one in node.args.kwonlyargs} - assigned
        found = [one for one in nodes if isinstance(one, ast.Call)]
        calls[name] = tuple(call for one in found if (call := _sql_call(one, texts, own)) is not None)
        named = dict.fromkeys(one.func.id for one in found if isinstance(one.func, ast.Name))
        callees[name] = tuple(one for one in named if one in functions)
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        lines[name] = (first, node.end_lineno or node.lineno)
    return Source(calls, callees, lines)


def _sql_call(call: ast.Call, texts: Mapping[str, str], own: set[str]) -> SqlCall | None:
    function = call.func
    is_database = (
        isinstance(function, ast.Attribute)
        and function.attr in _METHODS
        and isinstance(function.value, ast.Attribute)
        and function.value.attr == "db"
    )
    sql = _text(call.args[0], texts) if is_database and call.args else None
    if sql is None:
        return None
    arguments = {
        keyword.arg: keyword.value.id
        for keyword in call.keywords
        if keyword.arg is not None and isinstance(keyword.value, ast.Name) and keyword.value.id in own
    }
    return SqlCall(sql, arguments)


def _text(node: ast.expr, texts: Mapping[str, str]) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        return texts.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left, texts), _text(node.right, texts)
        return left + right if left is not None and right is not None else None
    return None
