"""Faults in one function of tools.py: in its SQL, in what it binds, computes and answers."""

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from environments.core.compile.mutation.model import Operator
from environments.core.compile.mutation.sql_faults import Surroundings
from environments.core.compile.mutation.sql_sites import site_of

_METHODS: Final = frozenset({"one", "all", "run"})
_STRICTER: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
}


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in a tree that holds one node."""

    parent: ast.AST
    name: str
    place: int | None
    node: Any

    def put(self, node: Any) -> None:
        """Puts a node there."""
        if self.place is None:
            setattr(self.parent, self.name, node)
        else:
            getattr(self.parent, self.name)[self.place] = node


@dataclass(frozen=True, slots=True)
class Edit:
    """A fault: what is put into a slot."""

    operator: Operator
    slot: Slot
    node: Any

    def text(self, function: ast.FunctionDef) -> str:
        """The function's source with the fault; the tree is as before afterwards."""
        self.slot.put(self.node)
        try:
            return ast.unparse(function)
        finally:
            self.slot.put(self.slot.node)


def slots_of(root: ast.AST) -> Iterator[Slot]:
    """Every place below a node, in the order of the source."""
    for name, value in ast.iter_fields(root):
        if isinstance(value, ast.AST):
            yield Slot(root, name, None, value)
            yield from slots_of(value)
        elif isinstance(value, list):
            for place, node in enumerate(value):
                if isinstance(node, ast.AST):
                    yield Slot(root, name, place, node)
                    yield from slots_of(node)


def python_faults(function: ast.FunctionDef, around: Surroundings, rng: np.random.Generator) -> Iterator[Edit]:
    """Every fault of a function.

    Args:
        function: Its tree, which is never changed for good.
        around: Of the pack.
        rng: Chooses among tables, values and arguments.
    """
    names = [each.arg for each in (*function.args.args[1:], *function.args.kwonlyargs)]
    chosen = {id(node) for node in _chosen_texts(function)}
    is_of_one = _texts_of_one(function)
    for slot in slots_of(function):
        node = slot.node
        if isinstance(node, ast.Constant | ast.JoinedStr):
            if isinstance(slot.parent, ast.Expr | ast.JoinedStr):
                continue  # a docstring; a part of an f-string
            site = site_of(node, is_order=id(node) in chosen)
            if site is not None:
                here = Surroundings(around.columns, around.values, id(node) in is_of_one)
                for operator, made in site.faults(here, rng):
                    yield Edit(operator, slot, made)
                continue
        yield from _edits(slot, names)


def _chosen_texts(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Texts that a lookup gives: `{...}[key]`, `{...}.get(key, text)`."""
    for node in ast.walk(function):
        table: ast.expr | None = None
        if isinstance(node, ast.Subscript):
            table = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            table = node.func.value
            yield from node.args[1:]
        if isinstance(table, ast.Dict):
            yield from table.values


def _texts_of_one(function: ast.FunctionDef) -> set[int]:
    """Texts of statements that are about one row: those of `one` that count nothing."""
    return {
        id(node.args[0])
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and _method(node) == "one"
        and node.args
        and "count(" not in ast.unparse(node.args[0])
    }


def _method(node: ast.AST) -> str:
    """Which of the database's methods a call is of; empty for other nodes."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
        owner = node.func.value
        if isinstance(owner, ast.Attribute) and owner.attr == "db":
            return node.func.attr
    return ""


def _edits(slot: Slot, names: Sequence[str]) -> Iterator[Edit]:
    node = slot.node
    if isinstance(node, ast.Expr) and _method(node.value) == "run":
        yield Edit(Operator.WRITE_DROPPED, slot, ast.Pass())
    elif isinstance(node, ast.Call):
        if _method(node) == "run" and not isinstance(slot.parent, ast.Expr):
            yield Edit(Operator.WRITE_DROPPED, slot, ast.Constant(1))
        if _method(node):
            yield from _bindings(slot, names)
    elif isinstance(node, ast.If) and _rejects(node):
        yield Edit(Operator.MISSING_CHECK, slot, ast.If(ast.Constant(value=False), node.body, node.orelse))
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in _STRICTER:
        other = _STRICTER[type(node.ops[0])]()
        yield Edit(Operator.COMPARISON_OFF, slot, ast.Compare(node.left, [other, *node.ops[1:]], node.comparators))
    elif isinstance(node, ast.Dict):
        yield from _objects(slot)
    elif isinstance(node, ast.Slice):
        if node.lower is not None:
            yield Edit(Operator.LIMIT_OFF, slot, ast.Slice(_one_more(node.lower), node.upper, node.step))
        if node.upper is not None:
            yield Edit(Operator.LIMIT_OFF, slot, ast.Slice(node.lower, _one_more(node.upper), node.step))
    elif isinstance(node, ast.Constant):
        yield from _constants(slot)


def _one_more(bound: ast.expr) -> ast.expr:
    return ast.BinOp(bound, ast.Add(), ast.Constant(1))


def _rejects(node: ast.If) -> bool:
    return any(
        isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "reject"
        for statement in node.body
        for each in ast.walk(statement)
    )


def _bindings(slot: Slot, names: Sequence[str]) -> Iterator[Edit]:
    """A parameter of SQL gets another's value."""
    call: ast.Call = slot.node
    places = [place for place, keyword in enumerate(call.keywords) if keyword.arg is not None]
    for one, other in itertools.pairwise(places):
        keywords = list(call.keywords)
        keywords[one] = ast.keyword(call.keywords[one].arg, call.keywords[other].value)
        keywords[other] = ast.keyword(call.keywords[other].arg, call.keywords[one].value)
        yield Edit(Operator.WRONG_ARGUMENT, slot, ast.Call(call.func, call.args, keywords))
    if len(places) == 1:
        keyword = call.keywords[places[0]]
        for name in [name for name in names if name != ast.unparse(keyword.value)][:1]:
            keywords = list(call.keywords)
            keywords[places[0]] = ast.keyword(keyword.arg, ast.Name(name))
            yield Edit(Operator.WRONG_ARGUMENT, slot, ast.Call(call.func, call.args, keywords))


def _objects(slot: Slot) -> Iterator[Edit]:
    """A property of an answer is lost, or holds its neighbour's value."""
    node: ast.Dict = slot.node
    if isinstance(slot.parent, ast.Subscript | ast.Attribute | ast.Assign):
        return  # a lookup or a set of parameters, not an answer
    for place in range(len(node.keys)):
        keys, values = list(node.keys), list(node.values)
        del keys[place], values[place]
        yield Edit(Operator.RESULT_LOST, slot, ast.Dict(keys, values))
        if place + 1 < len(node.keys) and None not in (node.keys[place], node.keys[place + 1]):
            values = list(node.values)
            values[place], values[place + 1] = values[place + 1], values[place]
            yield Edit(Operator.RESULT_SWAPPED, slot, ast.Dict(list(node.keys), values))


def _constants(slot: Slot) -> Iterator[Edit]:
    """Numbers that are computed with, and fixed values of answers."""
    value, parent = slot.node.value, slot.parent
    if isinstance(value, bool):
        if isinstance(parent, ast.Dict) and slot.name == "values":
            yield Edit(Operator.CONSTANT_CHANGED, slot, ast.Constant(not value))
    elif isinstance(value, int):
        if isinstance(parent, ast.BinOp | ast.UnaryOp):
            for step in (1, -1):
                yield Edit(Operator.OFFSET_OFF, slot, ast.Constant(value + step))
        elif isinstance(parent, ast.Compare):
            yield Edit(Operator.CONSTANT_CHANGED, slot, ast.Constant(value + 1))
    elif isinstance(value, str) and isinstance(parent, ast.Dict) and slot.name == "values":
        yield Edit(Operator.CONSTANT_CHANGED, slot, ast.Constant(f"{value}_x"))
