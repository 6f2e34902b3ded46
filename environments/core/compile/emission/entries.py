"""The tools as environment.json describes them."""

from environments.core.compile.emission.conditions import captures, postconditions, preconditions
from environments.core.compile.emission.names import argument_names
from environments.core.compile.emission.schemas import input_schema, output_schema
from environments.core.compile.emission.sql import Subject
from environments.core.compile.emission.wording import description_of, title_of
from environments.core.compile.semantics import Blueprint, PlannedTool
from environments.runtime.pack.model import Origin, Tool


def tool_entries(blueprint: Blueprint) -> tuple[Tool, ...]:
    """Every tool with its schemas and conditions, in the blueprint's order; deterministic.

    Raises:
        ValueError: A meaning has no conditions: its arguments do not name its row, say.
    """
    return tuple(_entry(tool, blueprint) for tool in blueprint.tools)


def _entry(tool: PlannedTool, blueprint: Blueprint) -> Tool:
    subject = Subject.of(tool.meaning, blueprint)
    return Tool(
        name=tool.name,
        title=title_of(tool),
        description=description_of(tool, blueprint),
        effect="read" if tool.meaning.reads_only else "write",
        audience="agent",
        input_schema=input_schema(subject),
        output_schema=output_schema(subject, blueprint),
        argument_names=argument_names(tool.meaning),
        captures=captures(subject),
        preconditions=preconditions(subject, blueprint),
        postconditions=postconditions(subject),
        origin=Origin(tool.source, tool.operation, "compiler"),
    )
