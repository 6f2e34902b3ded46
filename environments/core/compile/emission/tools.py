"""tools.py: the tools of a blueprint as a reviewer would write them.

Nothing is emitted that could not matter: what pre-conditions have made sure of is not asked again, what is not shown is
not read, what is not paged is not limited.
"""
# ruff: noqa: S608 - names are quoted, values are parameters or literals

from collections import Counter
from typing import Final

from environments.core.compile.emission.bodies import body_of
from environments.core.compile.emission.names import quoted
from environments.core.compile.emission.python_text import (
    INDENT,
    Call,
    Expression,
    Sql,
    signature,
    value_literal,
    written,
)
from environments.core.compile.emission.sql import Subject, default_of, where
from environments.core.compile.emission.views import ShownView, key_parameters
from environments.core.compile.emission.wording import cut, on_one_line
from environments.core.compile.semantics import Answer, Argument, Blueprint, PlannedTool, View

_TYPES: Final = {
    "string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict",
}  # fmt: skip
_MAX_DOCSTRING: Final = 100
_MIN_READERS: Final = 2
"""Tools that read one row of a view, before a function does it for them."""


def emit_tools(blueprint: Blueprint) -> str:
    """The text of tools.py; deterministic.

    Raises:
        ValueError: A meaning has no code: its arguments do not name its row, say.
    """
    views = _views(blueprint)
    readers = Counter(
        tool.meaning.result.view.name
        for tool in blueprint.tools
        if tool.meaning.result.form is Answer.ROW and tool.meaning.result.view is not None
    )
    found = {name for name, count in readers.items() if count >= _MIN_READERS}
    blocks = []
    for tool in blueprint.tools:
        subject = Subject.of(tool.meaning, blueprint)
        blocks.append(_function(tool, subject, body_of(subject, views, found)))
    blocks += [_find(view) for name, view in views.items() if name in found]
    blocks += [_show(view) for view in views.values() if not view.is_plain]
    code = "\n\n\n".join(blocks)
    imports = "\nimport json\n" if "json.dumps(" in code or "json.loads(" in code else ""
    return f'"""Tools of {_in_docstring(blueprint.title)}."""\n{imports}\n\n{code}\n'


def _views(blueprint: Blueprint) -> dict[str, ShownView]:
    """Every view that a tool shows, by name, in the order of the tools."""
    views: dict[str, View] = {}
    for tool in blueprint.tools:
        view = tool.meaning.result.view
        if view is not None and views.setdefault(view.name, view) != view:
            raise ValueError(f"two views are called {view.name}")
    return {name: ShownView.of(view, blueprint) for name, view in views.items()}


def _function(tool: PlannedTool, subject: Subject, body: list[str]) -> str:
    parameters = [
        f"{subject.python(argument)}: {_annotation(argument, subject)}" for argument in tool.meaning.arguments
    ]
    return "\n".join([*signature(tool.name, parameters), f'{INDENT}"""{_docstring(tool)}"""', *body])


def _annotation(argument: Argument, subject: Subject) -> str:
    kind = argument.schema.get("type")
    if isinstance(kind, list | tuple):
        kinds = [each for each in kind if each != "null"]
        kind = kinds[0] if len(kinds) == 1 else None
    name = _TYPES.get(str(kind), "object")
    if argument.is_required:
        return name
    default = default_of(argument, subject.meaning)
    if default is None or isinstance(default, dict | list):  # such a default would be shared by all calls
        return f"{name} | None = None"
    return f"{name} = {value_literal(default)}"


def _docstring(tool: PlannedTool) -> str:
    text = on_one_line(tool.description) or on_one_line(tool.title)
    return f"{_in_docstring(cut(text.partition('. ')[0].rstrip('.'), _MAX_DOCSTRING))}."


def _in_docstring(text: str) -> str:
    return on_one_line(text).replace("\\", "/").replace('"', "'")


def _find(view: ShownView) -> str:
    names = key_parameters(view.table)
    keys = zip(view.table.primary_key, names, strict=True)
    clause = where([f"{quoted(column)} = :{name}" for column, name in keys])
    values: list[tuple[str, Expression]] = [(name, name) for name in names]
    sql = Sql(f"SELECT {view.selected()} FROM {quoted(view.table.name)}{clause}")
    call = Call("ctx.db.one", (("", sql), *values))
    head = f"def {view.find_name}(ctx, {', '.join(names)}):"
    if view.is_plain:
        return "\n".join([head, *written("return ", call)])
    return "\n".join([head, *written("row = ", call), f"{INDENT}return {view.shown('row')}"])


def _show(view: ShownView) -> str:
    return "\n".join([f"def {view.show_name}(row):", *written("return ", view.object())])
