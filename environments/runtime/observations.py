"""What an agent reads when a call gives no result: the same bytes in every door (docs/contracts.md, C4)."""

from collections.abc import Sequence
from typing import Any

import orjson

INTERNAL_ERROR = '{"error":{"code":"internal_error","message":"The environment failed to carry out this call."}}'
"""A failure, whatever its reason; the reason is for logs."""


def error_observation(code: str, message: str, details: Sequence[dict[str, str]] | None = None) -> str:
    """A refused call.

    Args:
        code: `unknown_tool`, `invalid_arguments`, or a code that the tool declares.
        message: What to tell the agent.
        details: For `invalid_arguments`: pointer and message of each error.
    """
    error: dict[str, Any] = {"code": code, "message": message}
    if details is not None:
        error["details"] = list(details)
    return orjson.dumps({"error": error}).decode()


def unknown_tool(name: object) -> str:
    """A call of a tool that is not there, or not for this caller."""
    # A name may hold what JSON cannot, such as a lone surrogate.
    shown = str(name)[:80].encode("utf-8", "replace").decode()
    return error_observation("unknown_tool", f"There is no tool named {shown}.")


def invalid_arguments(details: Sequence[dict[str, str]]) -> str:
    """A call whose arguments do not fit the tool's input schema."""
    return error_observation("invalid_arguments", "The arguments do not fit the tool's input schema.", details)
