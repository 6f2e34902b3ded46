"""Finds the tools in a value, and says for each in which published form it is written."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from environments.core.sources.text_values import parse_json

MAX_PROMPT: Final = 200_000
MAX_LISTS_TRIED: Final = 20
"""Beginnings of lists in one prompt; each may be parsed to the prompt's end."""

_LIST_OF_OBJECTS: Final = re.compile(r"\[\s*\{")


@dataclass(frozen=True, slots=True)
class Found:
    """A tool as it stands in a list.

    Attributes:
        dialect: `openai`, `mcp`, `anthropic`, `envfactory`, `toolbench`, `xlam` or `toolace`.
        tool: Its own object.
        row: The object around it; empty if it stands alone.
        place: JSON pointer of the row.
    """

    dialect: str
    tool: Mapping[str, Any]
    row: Mapping[str, Any]
    place: str


def tools_in(value: Any) -> Iterator[Found]:
    """Every tool of a document: of one object, of a list of tools, or of a dataset's rows.

    Raises:
        UnreadableSourceError: A list that a row holds as text breaks a bound.
    """
    if isinstance(value, Mapping):
        yield from _tools_of_row(value, "")
    for index, row in enumerate(value if isinstance(value, list) else ()):
        if isinstance(row, Mapping):
            yield from _tools_of_row(row, f"/{index}")


def _tools_of_row(row: Mapping[str, Any], place: str) -> Iterator[Found]:
    answer = row.get("result")
    if isinstance(answer, Mapping) and "tools" in answer:  # of JSON-RPC
        row = answer
    if isinstance(row.get("api_list"), list):
        yield from (Found("toolbench", tool, row, place) for tool in row["api_list"] if isinstance(tool, Mapping))
        return
    if isinstance(row.get("system"), str) and "conversations" in row:
        yield from (Found("toolace", tool, row, place) for tool in _tools_of_prompt(row["system"]))
        return
    listed = row.get("tools", row.get("functions"))
    if isinstance(listed, str):
        listed = _parsed(listed)
    if isinstance(listed, Mapping):
        listed = [listed]
    if not isinstance(listed, list):
        dialect = _dialect(row, {})
        if dialect:
            yield Found(dialect, row, {}, place)
        return
    for tool in listed:
        dialect = _dialect(tool, row) if isinstance(tool, Mapping) else None
        if dialect:
            yield Found(dialect, tool, row, place)


def _dialect(tool: Mapping[str, Any], row: Mapping[str, Any]) -> str | None:
    if isinstance(tool.get("function"), Mapping):
        return "openai"
    if "inputSchema" in tool or "outputSchema" in tool:
        return "mcp"
    if "input_schema" in tool or "output_schema" in tool:
        return "envfactory" if "class_name" in row or "output_schema" in tool else "anthropic"
    if "required_parameters" in tool or "optional_parameters" in tool:
        return "toolbench"
    parameters = tool.get("parameters")
    if not isinstance(tool.get("name"), str) or not isinstance(parameters, Mapping | None):
        return None
    if parameters and (
        _is_named_words(parameters) or ("query" in row and not {"type", "properties"} & set(parameters))
    ):
        return "xlam"
    return "openai" if "parameters" in tool or "description" in tool else None


def _is_named_words(parameters: Mapping[str, Any]) -> bool:
    """Whether these are arguments by name, each with its type, where others have one schema."""
    return all(isinstance(each, Mapping) and "type" in each for each in parameters.values())


def _parsed(text: str) -> Any:
    """The value of JSON inside JSON, as datasets write lists; None if it is none."""
    try:
        return parse_json(text.encode())
    except orjson.JSONDecodeError:
        return None


def _tools_of_prompt(text: str) -> Iterator[Mapping[str, Any]]:
    """Tools of the first JSON list of objects with names that stands in a prompt."""
    decoder = json.JSONDecoder()
    text = text[:MAX_PROMPT]
    for number, match in enumerate(_LIST_OF_OBJECTS.finditer(text)):
        if number == MAX_LISTS_TRIED:
            return
        try:
            _, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        listed = _parsed(text[match.start() : end])
        tools = [each for each in listed or () if isinstance(each, Mapping) and isinstance(each.get("name"), str)]
        if tools:
            yield from tools
            return
