"""Checks of tools that JSON, names and texts can show."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from environments.runtime.faults import Fault
from environments.runtime.pack.limits import (
    MAX_ARGUMENTS,
    MAX_CONDITION_SQL,
    MAX_CONDITIONS,
    MAX_DESCRIPTION,
    MAX_MESSAGE,
    MAX_TITLE,
    MAX_TOOLS,
)
from environments.runtime.pack.model import Condition, Pack, Rejection, Tool
from environments.runtime.pack.names import check_name, check_text
from environments.runtime.pack.parameters import condition_parameters
from environments.runtime.schema.check import check_input_schema, check_output_schema


@dataclass(frozen=True, slots=True)
class SchemaFaults:
    """What is wrong with the schemas of a tool; they are judged once, since hostile ones are not free."""

    input: tuple[Fault, ...]
    output: tuple[Fault, ...]

    @classmethod
    def of(cls, tool: Tool) -> Self:
        """The faults of a tool's schemas."""
        place = f"tools/{tool.name}"
        return cls(
            check_input_schema(tool.input_schema, f"{place}/input_schema"),
            check_output_schema(tool.output_schema, f"{place}/output_schema"),
        )


def check_tools(pack: Pack, schemas: Sequence[SchemaFaults]) -> Iterator[Fault]:
    """Faults of every tool, in the pack's order.

    Args:
        pack: The pack.
        schemas: One for each of its tools, up to `MAX_TOOLS`.
    """
    if not pack.tools:
        yield Fault("tool_missing", "tools", "the pack has no tool")
    if len(pack.tools) > MAX_TOOLS:
        yield Fault("too_many", "tools", f"more than {MAX_TOOLS}")
    sources = {entry.sha256 for entry in pack.provenance}
    seen: set[str] = set()
    for tool, faults in zip(pack.tools, schemas, strict=False):
        place = f"tools/{tool.name}"
        if tool.name in seen:
            yield Fault("tool_duplicate", place, "two tools have this name")
        seen.add(tool.name)
        yield from _check_tool(tool, faults, place)
        if tool.origin and tool.origin.source is not None and tool.origin.source not in sources:
            yield Fault("origin_source", f"{place}/origin/source", "no entry of provenance has this hash")


def argument_parameters(tool: Tool) -> dict[str, str]:
    """By JSON name of each argument: its name in Python and in SQL."""
    names = tool.input_schema.get("properties", {})
    return {name: tool.argument_names.get(name, name) for name in names}


def declared_codes(tool: Tool) -> set[str]:
    """The codes that the tool may reject with."""
    return {item.code for item in tool.preconditions} | {item.code for item in tool.rejections}


def _check_tool(tool: Tool, faults: SchemaFaults, place: str) -> Iterator[Fault]:
    found = [
        check_name("tool", tool.name, place),
        check_text(tool.title, f"{place}/title", MAX_TITLE),
        check_text(tool.description, f"{place}/description", MAX_DESCRIPTION),
    ]
    yield from filter(None, found)
    yield from faults.input
    yield from faults.output
    yield from _check_codes(tool, place)
    if not faults.input:
        yield from _check_argument_names(tool, place)
        yield from _check_conditions(tool, place)


def _check_argument_names(tool: Tool, place: str) -> Iterator[Fault]:
    names = argument_parameters(tool)
    if len(names) > MAX_ARGUMENTS:
        yield Fault("too_many", f"{place}/input_schema/properties", f"more than {MAX_ARGUMENTS} arguments")
    for name in tool.argument_names:
        if name not in names or tool.argument_names[name] == name:
            yield Fault("argument_name_unknown", f"{place}/argument_names/{name}", "no argument needs it")
    seen: set[str] = set()
    for name, python_name in names.items():
        fault = check_name("argument", python_name, f"{place}/input_schema/properties/{name}")
        if fault:
            yield Fault("argument_name", fault.place, fault.message)
        elif python_name in seen:
            yield Fault("argument_name", f"{place}/argument_names/{name}", f"{python_name!r} is there twice")
        seen.add(python_name)


def _check_codes(tool: Tool, place: str) -> Iterator[Fault]:
    seen: set[str] = set()
    parts: tuple[tuple[str, tuple[Condition | Rejection, ...]], ...] = (
        ("preconditions", tool.preconditions),
        ("postconditions", tool.postconditions),
        ("rejections", tool.rejections),
    )
    for part, items in parts:
        if len(items) > MAX_CONDITIONS:
            yield Fault("too_many", f"{place}/{part}", f"more than {MAX_CONDITIONS}")
        for index, item in enumerate(items):
            where = f"{place}/{part}/{index}"
            found = [
                check_name("code", item.code, f"{where}/code"),
                check_text(item.message, f"{where}/message", MAX_MESSAGE),
            ]
            if isinstance(item, Condition) and item.policy is not None:
                found.append(check_text(item.policy, f"{where}/policy", MAX_MESSAGE))
            yield from filter(None, found)
            if item.code in seen:
                yield Fault("code_duplicate", f"{where}/code", f"{item.code!r} is declared twice")
            seen.add(item.code)


def _check_conditions(tool: Tool, place: str) -> Iterator[Fault]:
    names = argument_parameters(tool)
    arguments = frozenset(names) | frozenset(names.values())
    before = frozenset(f"before_{name}" for name in tool.captures)
    used: set[str] = set()
    texts = [(f"captures/{name}", sql, arguments) for name, sql in tool.captures.items()]
    texts += [(f"preconditions/{n}/sql", item.sql, arguments | before) for n, item in enumerate(tool.preconditions)]
    texts += [
        (f"postconditions/{n}/sql", item.sql, arguments | before | {"result"})
        for n, item in enumerate(tool.postconditions)
    ]
    for name in tool.captures:
        fault = check_name("capture", name, f"{place}/captures/{name}")
        if fault:
            yield fault
    for part, sql, allowed in texts:
        where = f"{place}/{part}"
        if len(sql) > MAX_CONDITION_SQL:
            yield Fault("text_length", where, f"{len(sql)} characters, not {MAX_CONDITION_SQL}")
            continue
        parameters, problem = condition_parameters(sql)
        if problem:
            yield Fault("condition_form", where, problem)
        for name in sorted(parameters - allowed):
            yield Fault("condition_parameter", where, f":{name} is neither an argument nor a capture seen here")
        used |= parameters
    for name in tool.captures:
        if f"before_{name}" not in used:
            yield Fault("capture_unused", f"{place}/captures/{name}", "no condition compares with it")
