"""Where the order of a set becomes visible.

A set of texts is ordered by their hashes, which differ from process to process. Loops over a set, lists made of it and
texts joined from it therefore differ, too; sorting, counting and testing it do not.
"""

import ast
from collections.abc import Callable, Iterator

from environments.runtime.faults import Fault

_MAKERS = frozenset({"set", "frozenset"})
_SET_METHODS = frozenset({"union", "intersection", "difference", "symmetric_difference", "copy"})
_SHOWS_ORDER = frozenset({"list", "tuple", "enumerate", "iter", "next", "zip", "map", "filter", "dict", "str", "repr"})
_HIDES_ORDER = frozenset({"sorted", "sum", "min", "max", "any", "all", "len", "set", "frozenset"})
_MESSAGE = "the order of a set differs from process to process: sort it first"
_Make = Callable[[ast.AST, str], Fault]


class SetOrder:
    """Finds them in one module, function by function."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree

    def faults(self, make: _Make) -> Iterator[Fault]:
        """Each place at which an order shows."""
        nodes = nodes_of(self._tree)
        if not any(_makes_set(node) for node in nodes):
            return
        constants = _names_of_sets(self._tree.body, frozenset())
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                names = constants | _names_of_sets(node.body, constants)
                for place in _visible(node, names):
                    yield make(place, _MESSAGE)


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """What `ast.walk` gives, in its order, in a third of the time."""
    found = [tree]
    for node in found:
        for name in node._fields:
            value = getattr(node, name, None)
            if value.__class__ is list:
                found.extend(item for item in value if isinstance(item, ast.AST))
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


def _makes_set(node: ast.AST) -> bool:
    """Whether a set may come from here; where there is no such node, nothing is one."""
    return isinstance(node, ast.Set | ast.SetComp) or (isinstance(node, ast.Name) and node.id in _MAKERS)


def _names_of_sets(body: list[ast.stmt], known: frozenset[str]) -> frozenset[str]:
    """Names that are only ever bound to sets."""
    bound: dict[str, bool] = {}
    for statement in body:
        for node in ast.walk(statement):
            targets: list[ast.expr] = []
            value: ast.expr | None = None
            if isinstance(node, ast.Assign):
                targets, value = node.targets, node.value
            elif isinstance(node, ast.AnnAssign):
                targets, value = [node.target], node.value
            elif isinstance(node, ast.For):
                targets, value = [node.target], None
            for target in targets:
                if isinstance(target, ast.Name):
                    found = frozenset(name for name, is_set in bound.items() if is_set)
                    bound[target.id] = bound.get(target.id, True) and _is_set(value, found | known)
    return frozenset(name for name, is_set in bound.items() if is_set)


def _is_set(node: ast.expr | None, names: frozenset[str]) -> bool:
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Name(id=name):
            return name in names
        case ast.Call(func=ast.Name(id=name)):
            return name in _MAKERS
        case ast.Call(func=ast.Attribute(value=value, attr=method)):
            return method in _SET_METHODS and _is_set(value, names)
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor(), right=right):
            return _is_set(left, names) or _is_set(right, names)
        case ast.IfExp(body=first, orelse=second):
            return _is_set(first, names) or _is_set(second, names)
        case _:
            return False


def _visible(function: ast.FunctionDef, names: frozenset[str]) -> Iterator[ast.AST]:
    hidden: set[ast.AST] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _HIDES_ORDER:
            hidden.update(argument for argument in node.args if isinstance(argument, ast.GeneratorExp | ast.ListComp))
    for node in ast.walk(function):
        match node:
            case ast.For(iter=source) if _is_set(source, names):
                yield node
            case ast.ListComp() | ast.GeneratorExp() | ast.DictComp():
                if node not in hidden and any(_is_set(part.iter, names) for part in node.generators):
                    yield node
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in _SHOWS_ORDER:
                if any(_is_set(argument, names) for argument in arguments):
                    yield node
            case ast.Call(func=ast.Attribute(attr="join" | "fromkeys" | "extend"), args=[argument, *_]):
                if _is_set(argument, names):
                    yield node
            case ast.Call(func=ast.Attribute(value=value, attr="pop"), args=[]) if _is_set(value, names):
                yield node
            case ast.Starred(value=value) if _is_set(value, names):
                yield node
            case ast.FormattedValue(value=value) if _is_set(value, names):
                yield node
            case _:
                pass
