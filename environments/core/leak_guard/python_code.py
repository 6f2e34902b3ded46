"""Tools and classes read from Python source, which is parsed and never run."""

import ast
from collections.abc import Iterator, Mapping
from typing import Any, Final

from environments.core.leak_guard.model import GuardTable, GuardTool, Member
from environments.core.leak_guard.subjects import MAX_MEMBERS

_KINDS: Final = {
    "str": "string",
    "datetime": "string",
    "int": "number",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "List": "array",
    "Sequence": "array",
    "tuple": "array",
    "dict": "object",
    "Dict": "object",
    "Mapping": "object",
}
_WRAPPERS: Final = frozenset({"Optional", "Annotated", "Union"})
_TOOL_MARKS: Final = frozenset({"is_tool", "is_discoverable_tool"})

Classes = Mapping[str, ast.ClassDef]


def classes_of(*sources: str) -> dict[str, ast.ClassDef]:
    """Top-level classes by name, of several modules."""
    bodies = [ast.parse(source).body for source in sources]
    return {node.name: node for body in bodies for node in body if isinstance(node, ast.ClassDef)}


def tables(classes: Classes) -> tuple[GuardTable, ...]:
    """Classes with two annotated fields or more, and state that is written out as nested dictionaries."""
    found = [GuardTable(name, tuple(_fields(node, classes).values())) for name, node in classes.items()]
    return tuple(table for table in found if len(table.columns) > 1)


def state_tables(source: str) -> tuple[GuardTable, ...]:
    """Tables of a module whose state is written out: each dictionary of records (or one record) under its name."""
    found: dict[str, GuardTable] = {}
    for node in ast.walk(ast.parse(source)):
        for name, value in _assigned(node):
            state = _literal(value)
            inner = state.items() if name.isupper() and isinstance(state, dict) else [(name, state)]
            for key, content in inner:
                record = _record(content)
                if len(record) > 1 and _is_field(next(iter(record))):
                    columns = tuple(Member(str(column), kind_of_value(each)) for column, each in record.items())
                    found.setdefault(str(key), GuardTable(str(key), columns[:MAX_MEMBERS]))
    return tuple(found.values())


def tools(node: ast.ClassDef, classes: Classes, *, marked_only: bool) -> tuple[GuardTool, ...]:
    """Methods of a class that agents may call: those marked as tools, or all public ones."""
    found = []
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or method.name.startswith("_"):
            continue
        if marked_only and not _TOOL_MARKS & {_name(mark) for mark in method.decorator_list}:
            continue
        found.append(GuardTool(method.name, _first_part(ast.get_docstring(method) or ""), _arguments(method, classes)))
    return tuple(found)


def assigned_literal(source: str, name: str) -> Any:
    """The value of a module's constant, or None if it is not written out."""
    for node in ast.parse(source).body:
        for target, value in _assigned(node):
            if target == name:
                return _literal(value)
    return None


def returned_literal(source: str, function: str) -> Any:
    """What a function returns, where that is written out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            for each in ast.walk(node):
                if isinstance(each, ast.Return) and each.value is not None:
                    return _literal(each.value)
    return None


def keyword_texts(source: str, keyword: str) -> list[str]:
    """Strings that a module passes under that keyword."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg == keyword:
            value = _literal(node.value)
            if isinstance(value, str):
                found.append(value)
    return found


def kind_of_value(value: Any) -> str:
    """The kind of a value that is written out."""
    if isinstance(value, bool):
        return "boolean"
    kinds: dict[type | tuple[type, ...], str] = {
        (int, float): "number",
        str: "string",
        (list, tuple): "array",
        dict: "object",
    }
    return next((kind for types, kind in kinds.items() if isinstance(value, types)), "any")


def _arguments(method: ast.FunctionDef, classes: Classes) -> tuple[Member, ...]:
    arguments = [each for each in [*method.args.args, *method.args.kwonlyargs] if each.arg != "self"]
    num_optional = len(method.args.defaults)
    num_required = len(method.args.args) - 1 - num_optional
    found: dict[str, Member] = {}
    inside: dict[str, Member] = {}
    for place, argument in enumerate(arguments):
        found[argument.arg] = Member(argument.arg, _kind(argument.annotation), place < num_required)
        for name in _names_in(argument.annotation):
            if name in classes:
                inside.update(_fields(classes[name], classes))
    for name, member in inside.items():
        found.setdefault(name, member)
    return tuple(found.values())[:MAX_MEMBERS]


def _fields(node: ast.ClassDef, classes: Classes) -> dict[str, Member]:
    found: dict[str, Member] = {}
    for base in node.bases:
        name = _name(base)
        if name in classes and name != node.name:
            found.update(_fields(classes[name], classes))
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and not each.target.id.startswith("_"):
            is_required = each.value is None or not _has_default(each.value)
            found[each.target.id] = Member(each.target.id, _kind(each.annotation), is_required)
    return found


def _has_default(value: ast.expr) -> bool:
    if isinstance(value, ast.Call) and _name(value.func) == "Field":
        return bool(value.args) or any(each.arg in {"default", "default_factory"} for each in value.keywords)
    return True


def _kind(annotation: ast.expr | None) -> str:
    if isinstance(annotation, ast.BinOp):
        sides = [_kind(annotation.left), _kind(annotation.right)]
        return next((kind for kind in sides if kind != "any"), "any")
    if isinstance(annotation, ast.Subscript):
        outer = _name(annotation.value)
        if outer in _WRAPPERS:
            inner = annotation.slice
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return next((kind for kind in map(_kind, parts) if kind != "any"), "any")
        if outer == "Literal":
            return "string"
        return _KINDS.get(outer, "any")
    return _KINDS.get(_name(annotation), "any") if annotation is not None else "any"


def _name(node: ast.expr | None) -> str:
    if isinstance(node, ast.Call):
        return _name(node.func)
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _names_in(annotation: ast.expr | None) -> Iterator[str]:
    if annotation is not None:
        for node in ast.walk(annotation):
            if isinstance(node, ast.Name):
                yield node.id


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if _target(target):
                yield _target(target), node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None and _target(node.target):
        yield _target(node.target), node.value


def _target(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if is_own and isinstance(node, ast.Attribute) else ""


def _literal(node: ast.expr) -> Any:
    """A value that is written out; entries that are computed are left away."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        found = {}
        for key, value in pairs:
            name = _literal(key) if key is not None else None
            if isinstance(name, str | int):
                found[name] = _literal(value)
        return found
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return None


def _record(value: Any) -> dict[Any, Any]:
    """The first record of a collection of records, or the value itself if it is one."""
    for _ in range(2):
        if isinstance(value, list) and value:
            value = value[0]
        elif isinstance(value, dict) and value and all(isinstance(each, dict) for each in value.values()):
            value = next(iter(value.values()))
    return value if isinstance(value, dict) else {}


def _is_field(key: Any) -> bool:
    """Whether a dictionary's key names a field; in a map from names to numbers keys are values of the state."""
    return isinstance(key, str) and key[:1].islower()


def _first_part(docstring: str) -> str:
    """A docstring up to its sections."""
    lines = []
    for line in docstring.splitlines():
        if line.strip().rstrip(":") in {"Args", "Arguments", "Returns", "Return", "Raises", "Parameters", "Example"}:
            break
        lines.append(line.strip())
    return " ".join(lines).strip()
