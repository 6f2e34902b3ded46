"""The least that the official SDK can serve: one tool that does nothing. `bench_doors` compares the MCP door with it.

    uvicorn environments.management.noop_mcp:application

Answers are plain JSON. Protocol 2025-11-25 keeps a transport for each client at one path and nothing at the other;
2026-07-28 never keeps any.
"""

from contextlib import AsyncExitStack
from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

TOOL: Final = "noop"
STATELESS: Final = "/mcp/stateless"
STATEFUL: Final = "/mcp/stateful"


async def _list_tools(
    context: ServerRequestContext[Any], parameters: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    return types.ListToolsResult(tools=[types.Tool(name=TOOL, description="Does nothing.", input_schema=schema)])


async def _call_tool(
    context: ServerRequestContext[Any], parameters: types.CallToolRequestParams
) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text="{}")])


def _manager(*, stateless: bool) -> StreamableHTTPSessionManager:
    server: Server[Any] = Server("noop", on_list_tools=_list_tools, on_call_tool=_call_tool)
    return StreamableHTTPSessionManager(server, json_response=True, stateless=stateless)


_MANAGERS: Final = {STATELESS: _manager(stateless=True), STATEFUL: _manager(stateless=False)}


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Serves the two paths."""
    if scope["type"] == "http":
        await _MANAGERS[scope["path"]].handle_request(scope, receive, send)
        return
    async with AsyncExitStack() as stack:  # the whole life of the server is one "lifespan" scope
        for manager in _MANAGERS.values():
            await stack.enter_async_context(manager.run())
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
