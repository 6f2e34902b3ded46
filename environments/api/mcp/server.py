"""An MCP server on the official SDK whose tools are an environment's, wherever its state is held."""

import logging
from collections.abc import Mapping
from typing import Any, Final, Protocol

import mcp_types as types
from django.conf import settings
from django.db import InterfaceError, OperationalError
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from environments.api.mcp.tools import call_result, unstorable_result
from environments.core.errors import EnvFactoryError, InvalidInputError, ReplayDiffersError, SandboxFailedError
from environments.runtime.records import CallRecord

logger = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]

LIST_MILLISECONDS: Final = 600_000
"""How long a client may keep the list of tools, which never changes in a session."""


class Door(Protocol):
    """Where the state is that a request means."""

    async def about(self, context: Context) -> str:
        """What the agent is told about the environment when it connects."""

    async def tools(self, context: Context) -> dict[str, Any]:
        """The result of `tools/list`."""

    async def call(self, context: Context, tool: str, arguments: Mapping[str, Any]) -> CallRecord:
        """Makes one call."""


def make_server(door: Door, *middleware: ServerMiddleware[Any]) -> Server[Any]:
    """A server for one door, the same under every protocol version.

    Args:
        door: Where the state is.
        middleware: What comes before each request, outermost first.
    """

    async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> Any:
        return await _answered(door.tools(context))

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> Any:
        try:
            record = await door.call(context, params.name, params.arguments or {})
        except InvalidInputError as error:
            if not all(field.pointer.startswith("/calls") for field in error.fields):
                raise _protocol_error(error) from error  # the state behind the call, which the agent did not give
            return unstorable_result(error.fields)
        except Exception as error:
            raise _protocol_error(error) from error
        return call_result(record)

    async def introduce(ctx: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        if ctx.method in {"initialize", "server/discover"} and isinstance(result, dict):
            return {**result, "instructions": await _answered(door.about(ctx))}
        return result

    server: Server[Any] = Server(
        "envfactory",
        version=settings.ENVFACTORY_VERSION,
        title="EnvFactory",
        cache_hints={"tools/list": CacheHint(ttl_ms=LIST_MILLISECONDS, scope="private")},
        # The SDK would list all tools before each call, for a header that no schema of a pack can ask for.
        get_tool_input_schema=_no_schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware = [*middleware, introduce]
    return server


async def _answered(answer: Any) -> Any:
    try:
        return await answer
    except Exception as error:
        raise _protocol_error(error) from error


def _protocol_error(error: Exception) -> Exception:
    """An error of the door, not of the environment: the agent's record has no such call."""
    if isinstance(error, EnvFactoryError):
        is_ours = isinstance(error, SandboxFailedError | ReplayDiffersError | InvalidInputError)
        code = types.INTERNAL_ERROR if is_ours else types.INVALID_REQUEST
        return MCPError(code=code, message=str(error), data={"code": error.code})
    if isinstance(error, OperationalError | InterfaceError):
        logger.error("event=database_unavailable error=%s", error)
        message = "The database can't be reached; try again in a few seconds."
        return MCPError(code=types.INTERNAL_ERROR, message=message, data={"code": "unavailable"})
    return error


def _no_schema(_name: str) -> None:
    return None
