"""A pack without some of its tools: what stands on them goes, too, and everything that went is listed."""

import ast
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from environments.core.logic.source import read_source
from environments.runtime.faults import Fault
from environments.runtime.pack.check_cases import check_coverage
from environments.runtime.pack.model import Pack


@dataclass(frozen=True, slots=True)
class Dropped:
    """A tool that was left out.

    Attributes:
        tool: Its name.
        source: sha256 of the document that it came from; empty if it came from none.
        operation: Key of the operation there.
        code: Stable reason: that of the first thing found, or `depends_on_dropped`.
        detail: That thing, for people.
    """

    tool: str
    source: str
    operation: str
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Reduction:
    """What is left of a pack, and what is not."""

    pack: Pack
    dropped: tuple[Dropped, ...]


def reduce_pack(pack: Pack, problems: Mapping[str, tuple[str, str]]) -> Reduction:
    """The pack without the tools that have problems, and without those that are left without a needed case then.

    Args:
        pack: The pack.
        problems: By tool: code and detail of the first thing that was found.

    Returns:
        The pack, which may have no tool left, and the dropped tools: first those with problems, in the pack's order.
    """
    dropped = [_dropped(pack, tool.name, *problems[tool.name]) for tool in pack.tools if tool.name in problems]
    reduced = _without(pack, problems.keys())
    while True:
        lacking = {fault.place.removeprefix("tools/"): fault for fault in _uncovered(reduced)}
        if not lacking:
            return Reduction(reduced, tuple(dropped))
        dropped += [
            _dropped(pack, tool.name, "depends_on_dropped", lacking[tool.name].message)
            for tool in reduced.tools
            if tool.name in lacking
        ]
        reduced = _without(reduced, lacking.keys())


def _uncovered(pack: Pack) -> list[Fault]:
    return list(reversed(list(check_coverage(pack))))


def _dropped(pack: Pack, name: str, code: str, detail: str) -> Dropped:
    tool = pack.tool(name)
    origin = tool.origin if tool is not None else None
    source, operation = (origin.source or "", origin.operation or "") if origin is not None else ("", "")
    return Dropped(name, source, operation, code, detail)


def _without(pack: Pack, names: Collection[str]) -> Pack:
    if not names:
        return pack
    tools = tuple(tool for tool in pack.tools if tool.name not in names)
    cases = tuple(
        case for case in pack.cases if case.tool not in names and not any(call.tool in names for call in case.calls)
    )
    used = {tool.origin.source for tool in tools if tool.origin is not None}
    # What no tool comes from any more is still where the tables come from, unless others are left.
    provenance = tuple(entry for entry in pack.provenance if entry.sha256 in used) or pack.provenance
    text = without_functions(pack.tools_py, names)
    return replace(pack, tools=tools, cases=cases, provenance=provenance, tools_py=text)


def without_functions(tools_py: str, names: Collection[str]) -> str:
    """tools.py without these functions, and without private functions and names that only they used."""
    source = read_source(tools_py)
    if source is None:
        return tools_py
    text = _cut(tools_py, set(names))
    while True:
        unused = _unused(text)
        if not unused:
            return text
        text = _cut(text, unused)


def _unused(text: str) -> set[str]:
    """Private functions and constants of the module that nothing uses but themselves."""
    tree = ast.parse(text)
    found = set()
    for node in tree.body:
        names = _names(node)
        if names and all(name.startswith("_") for name in names):
            others = (one for other in tree.body if other is not node for one in ast.walk(other))
            used = {one.id for one in others if isinstance(one, ast.Name)}
            if not used & names:
                found |= names
    return found


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _cut(text: str, names: set[str]) -> str:
    lines = text.split("\n")
    for node in reversed(ast.parse(text).body):
        if _names(node) and _names(node) <= names:
            decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
            first = min([node.lineno, *(one.lineno for one in decorators)]) - 1
            last = node.end_lineno or node.lineno
            while first > 0 and lines[first - 1].startswith("#"):
                first -= 1
            del lines[first:last]
    joined = re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).strip("\n")
    return f"{joined}\n"
