"""What agents see of an environment over MCP: its tools, and what a call gives."""

import json
import threading
from collections import OrderedDict
from typing import Any, Final

import mcp_types as types

from environments.core.errors import FieldError
from environments.models import EnvironmentVersion, Tool, VerificationRun
from environments.runtime.observations import invalid_arguments
from environments.runtime.records import CallRecord, CallStatus

MAX_LISTS: Final = 64
"""Versions whose list is kept ready."""

_lock = threading.Lock()
_lists: OrderedDict[tuple[int, int | None], dict[str, Any]] = OrderedDict()


def tool_list(version: int) -> dict[str, Any]:
    """The agent's tools of a version as the result of `tools/list`; reads the database.

    Resetting and snapshots are no tools: an agent could undo its mistakes with them.

    Args:
        version: The version's key.
    """
    passed = VerificationRun.objects.filter(version=version, outcome=VerificationRun.Outcome.PASSED)
    run = passed.order_by("-pk").values_list("pk", flat=True).first()
    with _lock:
        found = _lists.get((version, run))
        if found is not None:
            _lists.move_to_end((version, run))
            return found
    effects = passed.values_list("effects", flat=True).get(pk=run) if run is not None else {}
    rows = Tool.objects.filter(version=version, audience=Tool.Audience.AGENT).order_by("position")
    result = types.ListToolsResult(tools=[_tool(row, effects.get(row.name)) for row in rows])
    made = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    with _lock:
        _lists[version, run] = made
        while len(_lists) > MAX_LISTS:
            _lists.popitem(last=False)
    return made


def about(version: EnvironmentVersion) -> str:
    """What the server says of itself to an agent."""
    return f"{version.title}\n\n{version.description}".strip()


def call_result(record: CallRecord) -> dict[str, Any]:
    """What a call gives: the observation's bytes, and for a success the same as a value."""
    if record.status != CallStatus.SUCCESS:
        return error_result(record.observation)
    # Not orjson, which reads integers beyond 64 bits as floats.
    value = json.loads(record.observation)
    return {"resultType": "complete", "content": _text(record.observation), "structuredContent": value}


def error_result(observation: str) -> dict[str, Any]:
    """A call that was refused or failed: the agent reads why, and the protocol's errors stay for the protocol."""
    return {"resultType": "complete", "content": _text(observation), "isError": True}


def unstorable_result(fields: tuple[FieldError, ...]) -> dict[str, Any]:
    """A call whose arguments no record can keep, such as half of a surrogate pair."""
    details = [{"pointer": _pointer(field.pointer), "message": field.detail} for field in fields]
    return error_result(invalid_arguments(details))


def _pointer(pointer: str) -> str:
    """A pointer into the arguments, from one into a list of calls; a name may hold half of a surrogate pair."""
    pointer = pointer.encode("utf-8", "replace").decode()
    return pointer.removeprefix("/calls/0").removeprefix("/arguments")


def _text(observation: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": observation}]


def _tool(tool: Tool, seen: dict[str, bool] | None) -> types.Tool:
    """The tool with hints that say what its verification saw; without one, an agent is told to be careful."""
    reads = tool.effect == Tool.Effect.READ
    seen = seen or {"is_destructive": not reads, "is_idempotent": reads}
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=reads,
            destructive_hint=seen["is_destructive"],
            idempotent_hint=seen["is_idempotent"],
            open_world_hint=False,
        ),
    )
