"""tools.py as a program: compiled once, executed when the first call of an episode needs it.

Each episode gets functions of its own, so that what a tool stores on them or in its module is gone with the reset.
Executing the module costs some 40 µs; where it holds only imports, constants and plain functions (nearly always) it is
executed once, never called, and its functions are copied for an episode when they are first needed, in about 2 µs.
"""

import ast
import builtins
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from environments.runtime.engine.gate import FILE, FORBIDDEN_NAMES
from environments.runtime.engine.preload import module_copies
from environments.runtime.engine.sets import nodes_of

_ABSENT = frozenset(FORBIDDEN_NAMES) | {"exit", "quit", "copyright", "credits", "license", "__import__", "__debug__"}
_FUTURE = types.ModuleType("__future__")
_FUTURE.__dict__["annotations"] = None

Namespace = dict[str, Any]


class Source:
    """A compiled tools.py.

    Attributes:
        drawing: Functions that may reach `ctx.rng`; equal calls are counted for these only.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._code = compile(tree, FILE, "exec", dont_inherit=True)
        self._is_plain = all(_is_plain(node) for node in tree.body)
        self._builtins = _tool_builtins()
        self._template: Namespace | None = None
        self._values: Namespace = {}
        self._needed: dict[str, tuple[str, ...]] = {}
        self.drawing = _drawing(tree)

    def new_namespace(self) -> Namespace:
        """The module of a new episode; executes the pack's code."""
        if not self._is_plain:
            return self._execute()
        if self._template is None:
            self._template = template = self._execute()
            self._values = {
                name: value for name, value in template.items() if not isinstance(value, types.FunctionType)
            }
        return self._values.copy()

    def function(self, namespace: Namespace, name: str) -> Callable[..., Any]:
        """A tool's function in an episode's module.

        Raises:
            KeyError: tools.py has no function of that name.
        """
        found = namespace.get(name)
        if found is None:
            if self._template is None:
                raise KeyError(name)
            for needed in self._needed.get(name) or self._find_needed(name):
                if needed not in namespace:
                    namespace[needed] = _copy(self._template[needed], namespace)
            found = namespace[name]
        function: Callable[..., Any] = found
        return function

    def _execute(self) -> Namespace:
        namespace: Namespace = {"__builtins__": self._builtins, "__name__": "tools"}
        exec(self._code, namespace)  # noqa: S102 - what this process is for; it is locked
        return namespace

    def _find_needed(self, name: str) -> tuple[str, ...]:
        """The function and every function of the module that it may call."""
        template = self._template or {}
        needed: dict[str, None] = {}
        waiting = [name]
        while waiting:
            one = waiting.pop()
            function = template.get(one)
            if one in needed or not isinstance(function, types.FunctionType):
                continue
            needed[one] = None
            waiting.extend(_names(function.__code__))
        if name not in needed:
            raise KeyError(name)
        self._needed[name] = tuple(needed)
        return self._needed[name]


def _names(code: types.CodeType) -> list[str]:
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += _names(constant)
    return names


def _copy(function: types.FunctionType, namespace: Namespace) -> types.FunctionType:
    copied = types.FunctionType(function.__code__, namespace, function.__name__, function.__defaults__)
    if function.__kwdefaults__:
        copied.__kwdefaults__ = dict(function.__kwdefaults__)
    return copied


def _drawing(tree: ast.Module) -> frozenset[str]:
    nodes = [(node.name, nodes_of(node)) for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    drawing = {
        name
        for name, inside in nodes
        if any(isinstance(inner, ast.Attribute) and inner.attr == "rng" for inner in inside)
    }
    if not drawing:
        return frozenset()
    names = {name: {inner.id for inner in inside if isinstance(inner, ast.Name)} for name, inside in nodes}
    while more := {name for name, used in names.items() if name not in drawing and used & drawing}:
        drawing |= more
    return frozenset(drawing)


def _is_plain(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef):
        return not node.decorator_list
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign | ast.Expr)


def _tool_builtins() -> dict[str, Any]:
    copies = module_copies()

    def import_copy(
        name: str,
        globals_: Mapping[str, Any] | None = None,
        locals_: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> types.ModuleType:
        if isinstance(fromlist, list):
            # The interpreter's own C code imports by the running function's builtins, and passes a list: strptime asks
            # for _strptime, strftime for time, a long int() for _pylong. An import statement passes a tuple or None.
            module: types.ModuleType = builtins.__import__(name, globals_, locals_, fromlist, level)
            return module
        if name == "__future__":
            return _FUTURE
        if level or name not in copies:
            raise ImportError(f"{name} cannot be imported by a tool")
        return copies[name if fromlist else name.partition(".")[0]]

    usable = {name: value for name, value in vars(builtins).items() if name not in _ABSENT}
    usable["__import__"] = import_copy
    return usable
