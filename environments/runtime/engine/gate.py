"""The gate over tools.py: what an honest, repeatable tool does not do, each named with its line.

This is a gate of quality and determinism, not a boundary: CPython has none inside a process, the locked process is it.
It catches what makes two runs differ (clock, chance, the order of sets, state kept in the module) and what reaches for
more than `ctx` (files, frames, attributes of the interpreter).
"""

import ast
import string
from collections.abc import Iterable, Iterator

from environments.runtime.engine.preload import HIDDEN, IMPORTABLE
from environments.runtime.engine.sets import SetOrder
from environments.runtime.faults import Fault

FILE = "tools.py"
FORBIDDEN_NAMES = {
    "open": "a tool has no files",
    "exec": "code is written, not made",
    "eval": "code is written, not made",
    "compile": "code is written, not made",
    "globals": "the module is not state",
    "locals": "name the variables",
    "vars": "name the attributes",
    "dir": "name the attributes",
    "getattr": "name the attribute",
    "setattr": "attributes are not set",
    "delattr": "attributes are not deleted",
    "id": "an object's address differs from run to run",
    "hash": "a text's hash differs from process to process",
    "input": "a tool has no console",
    "print": "a tool has no console; return what matters",
    "breakpoint": "a tool has no console",
    "help": "a tool has no console",
    "memoryview": "a tool has no buffers",
    "BaseException": "catch Exception; refusals and limits must pass",
    "SystemExit": "use ctx.reject or return",
    "KeyboardInterrupt": "use ctx.reject or return",
    "GeneratorExit": "use ctx.reject or return",
}
"""Builtins that a tool must not name, with the reason; they are also absent when it runs."""
_CLOCK_ATTRIBUTES = frozenset({"now", "today", "utcnow"})
_PURE_CALLS = frozenset(
    {
        "frozenset",
        "tuple",
        "Decimal",
        "Fraction",
        "timedelta",
        "date",
        "datetime",
        "compile",
        "itemgetter",
        "UUID",
        "int",
        "float",
        "str",
    }
)
_METHOD_DECORATORS = frozenset({"staticmethod", "classmethod", "property"})


def check_source(source: str) -> tuple[ast.Module | None, list[Fault]]:
    """Parses tools.py and lists what is wrong with it.

    Returns:
        The tree, None if it does not parse, and the faults in the order of their lines.
    """
    try:
        tree = ast.parse(source, FILE)
        compile(tree, FILE, "exec", dont_inherit=True)  # finds what the grammar allows: return outside a function
    except SyntaxError as error:
        return None, [Fault("source_syntax", f"{FILE}:{error.lineno or 1}", str(error.msg))]
    except (ValueError, RecursionError, MemoryError) as error:
        return None, [Fault("source_syntax", f"{FILE}:1", f"{type(error).__name__}: too deep or not text")]
    gate = _Gate(tree)
    try:
        gate.check()
        gate.faults.extend(SetOrder(tree).faults(_fault))
    except RecursionError:
        gate.faults.append(Fault("source_syntax", f"{FILE}:1", "nested too deeply"))
    unique = dict.fromkeys(gate.faults)
    return tree, sorted(unique, key=lambda fault: int(fault.place.rpartition(":")[2]))


def _fault(node: ast.AST, message: str, code: str = "source_forbidden") -> Fault:
    return Fault(code, f"{FILE}:{getattr(node, 'lineno', 1)}", message)


class _Gate(ast.NodeVisitor):
    """One pass over the tree."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self.faults: list[Fault] = []
        self._modules: dict[str, str] = {}
        """Names bound to modules, to the module's own name."""
        self._top_names: set[str] = set()
        self._local_names: list[set[str]] = []
        self._in_class = False

    def check(self) -> None:
        """Fills `faults`."""
        for statement in self._tree.body:
            self._top_names.update(_bound_names(statement))
        for position, statement in enumerate(self._tree.body):
            self._check_top(statement, position)
        self.visit(self._tree)

    def _add(self, node: ast.AST, message: str, code: str = "source_forbidden") -> None:
        self.faults.append(_fault(node, message, code))

    def _check_top(self, node: ast.stmt, position: int) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef):
            return
        if isinstance(node, ast.ClassDef):
            self._check_class(node)
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return
        if isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets):
            if not _is_immutable(node.value):
                self._add(
                    node,
                    "a value that can change outlives the episode; use a tuple or frozenset, or build it in a function",
                    "source_statement",
                )
            return
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if node.value is not None and not _is_immutable(node.value):
                self._add(
                    node,
                    "a value that can change outlives the episode; use a tuple or frozenset, or build it in a function",
                    "source_statement",
                )
            return
        self._add(node, f"{type(node).__name__} is not allowed at the top of tools.py", "source_statement")

    def _check_class(self, node: ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            name = _dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
            if name not in ("dataclass", "dataclasses.dataclass", "enum.unique", "unique"):
                self._add(decorator, f"the decorator {name or '...'} is not allowed")
        if node.keywords:
            self._add(node, "class keywords are not allowed")
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef | ast.Pass):
                continue
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue
            value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
            if isinstance(statement, ast.Assign | ast.AnnAssign) and (value is None or _is_immutable(value)):
                continue
            self._add(statement, "a class holds methods and constants only", "source_statement")

    # Statements

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name not in IMPORTABLE:
                self._add(node, f"{alias.name} cannot be imported")
            elif alias.asname:
                self._modules[alias.asname] = alias.name
            else:
                self._modules[alias.name.partition(".")[0]] = alias.name.partition(".")[0]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if module == "__future__":
            return
        if node.level or module not in IMPORTABLE:
            self._add(node, f"{'.' * node.level}{module} cannot be imported")
            return
        for alias in node.names:
            if alias.name == "*":
                self._add(node, "import the names one by one")
            elif alias.name.startswith("_") or alias.name in HIDDEN.get(module, ()):
                self._add(node, f"{module}.{alias.name} cannot be imported: {_why_hidden(module)}")
            elif f"{module}.{alias.name}" in IMPORTABLE:
                self._modules[alias.asname or alias.name] = f"{module}.{alias.name}"

    def visit_Global(self, node: ast.Global) -> None:
        self._add(node, "the module is not state; write to the database")

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._add(node, "tools are plain functions")

    def visit_Await(self, node: ast.Await) -> None:
        self._add(node, "tools are plain functions")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for decorator in node.decorator_list:
            name = _dotted(decorator)
            if not (self._in_class and name in _METHOD_DECORATORS):
                self._add(decorator, f"the decorator {name or '...'} is not allowed")
        self._check_defaults(node.args)
        was_in_class, self._in_class = self._in_class, False
        self._local_names.append(_local_names(node))
        for part in node.body:
            self.visit(part)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self._local_names.pop()
        self._in_class = was_in_class

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._check_defaults(node.args)
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if self._local_names:
            self._add(node, "classes stand at the top of tools.py", "source_statement")
        self._in_class = True
        self.generic_visit(node)
        self._in_class = False

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is None:
            self._add(node, "name the exception; refusals and limits must pass")
        self.generic_visit(node)

    def _check_defaults(self, arguments: ast.arguments) -> None:
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None and not _is_immutable(default):
                self._add(default, "a default that can change outlives the call")

    # Expressions

    def visit_Name(self, node: ast.Name) -> None:
        if node.id.startswith("__"):
            self._add(node, f"{node.id} belongs to the interpreter")
        elif node.id in FORBIDDEN_NAMES and not self._is_own(node.id):
            self._add(node, f"{node.id} is not allowed: {FORBIDDEN_NAMES[node.id]}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = node.attr
        base = node.value.id if isinstance(node.value, ast.Name) else None
        if name.startswith("__") or (name.startswith("_") and base not in ("self", "cls")):
            self._add(node, f".{name} belongs to the interpreter or to another module")
        elif not isinstance(node.ctx, ast.Load) and base != "self":
            self._add(node, f"storing .{name} keeps state outside the database")
        elif name in _CLOCK_ATTRIBUTES and base != "ctx":
            self._add(node, f".{name} asks the clock: use ctx.now()")
        elif name == "format_map":
            self._add(node, ".format_map reaches attributes: use an f-string")
        elif base is not None and self._is_module(base) and name in HIDDEN.get(self._modules[base], ()):
            self._add(node, f"{self._modules[base]}.{name} is not allowed: {_why_hidden(self._modules[base])}")
        self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name):
            name = node.value.id
            if name in self._top_names and not self._is_local(name):
                self._add(node, f"{name} belongs to the module, which is not state")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            self._check_format(node.func)
        if isinstance(node.func, ast.Name) and node.func.id == "type" and (len(node.args) != 1 or node.keywords):
            self._add(node, "type() with three arguments makes a class")
        self.generic_visit(node)

    def _check_format(self, node: ast.Attribute) -> None:
        template = node.value
        if not (isinstance(template, ast.Constant) and isinstance(template.value, str)):
            self._add(node, ".format on a text that is not written here reaches attributes: use an f-string")
            return
        try:
            fields = [field or "" for _, field, _, _ in string.Formatter().parse(template.value)]
        except ValueError:
            return
        if any("." in field or "[" in field for field in fields):
            self._add(node, ".format with attributes or items: use an f-string")

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        # `case str(__class__=found)` reads attributes without any Attribute node.
        for name in node.kwd_attrs:
            if name.startswith("_"):
                self._add(node, f"the pattern reads .{name}, which belongs to the interpreter")
        self.generic_visit(node)

    def _is_local(self, name: str) -> bool:
        return any(name in names for names in self._local_names)

    def _is_own(self, name: str) -> bool:
        return self._is_local(name) or name in self._top_names

    def _is_module(self, name: str) -> bool:
        return name in self._modules and not self._is_local(name)


def _why_hidden(module: str) -> str:
    return {
        "functools": "it keeps results from one episode to the next",
        "uuid": "it asks the machine or chance: use ctx.new_id",
        "decimal": "it changes the context of later calls",
    }.get(module, "it reaches files or attributes")


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""


def _is_immutable(node: ast.expr) -> bool:
    """Whether a value written here can never change."""
    match node:
        case ast.Constant():
            return True
        case ast.Name() | ast.Attribute():
            return True
        case ast.Tuple(elts=parts):
            return all(_is_immutable(part) for part in parts)
        case ast.Starred(value=inner) | ast.UnaryOp(operand=inner):
            return _is_immutable(inner)
        case ast.BinOp(left=left, right=right):
            return _is_immutable(left) and _is_immutable(right)
        case ast.Subscript():  # a type: dict[str, int]
            return isinstance(node.value, ast.Name | ast.Attribute)
        case ast.JoinedStr():
            return True
        case ast.Call(func=function, args=arguments, keywords=keywords):
            name = _dotted(function).rpartition(".")[2]
            if name not in _PURE_CALLS:
                return False
            loose = ast.Set | ast.List | ast.Tuple
            return all(
                _is_immutable(part) or (isinstance(part, loose) and all(_is_immutable(item) for item in part.elts))
                for part in arguments
            ) and all(_is_immutable(keyword.value) for keyword in keywords)
        case _:
            return False


def _bound_names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id


def _local_names(function: ast.FunctionDef) -> set[str]:
    arguments = function.args
    every: Iterable[ast.arg | None] = (
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    )
    names = {argument.arg for argument in every if argument is not None}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef) and node is not function:
            names.add(node.name)
    return names
