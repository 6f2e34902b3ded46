"""An MCP server's own listing of its tools, by the official client, over standard input and output or over HTTP."""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, Protocol

import anyio
import httpx2
import orjson
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation, Tool
from pydantic import ValidationError

from environments.adapters.fetching import FetchPolicy, Resolver, check_address, resolve_name
from environments.adapters.sources.mcp_http import CheckedTransport
from environments.adapters.sources.mcp_stdio import StdioLimits, StdioServer
from environments.core.errors import EnvFactoryError, FetchFailedError, FetchRefusedError
from environments.core.sources.model import Fetched

logger = logging.getLogger(__name__)

MAX_TOOLS: Final = 10_000
MAX_PAGES: Final = 1_000
MAX_LISTING_BYTES: Final = 16 << 20
"""Of everything that a server says, by whatever way."""
_FIELDS: Final = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
_FAILURES: Final = (
    MCPError, httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError,
    anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream,
)  # fmt: skip


class _Faulty(Protocol):
    """What knows why a server no longer answers."""

    fault: EnvFactoryError | None


def list_server_tools(
    server: str, command: Sequence[str] | None = None, *, policy: FetchPolicy | None = None
) -> Fetched:
    """A server's tools: of a command under the name `server`, or else of the http(s) address `server`.

    Args:
        server: A name that the command has here, or an address.
        command: Its words. Who calls decides whose word is taken: only the command line passes on a person's own.
        policy: For an address.

    Raises:
        FetchRefusedError, FetchFailedError: As `list_stdio_tools` and `list_http_tools` do.
    """
    if command is not None:
        return list_stdio_tools(server, command)
    return list_http_tools(server, policy or FetchPolicy())


def list_stdio_tools(name: str, command: Sequence[str], limits: StdioLimits | None = None) -> Fetched:
    """Starts a server, asks it for its tools and ends it with everything that it started.

    Args:
        name: Under which its tools are kept, at `mcp+stdio:<name>`.
        command: Its words, run without a shell, without the host's environment, in an empty folder of its own.
        limits: What it may use.

    Raises:
        FetchRefusedError: There is no such command, or what it says is no MCP, endless, or too much.
        FetchFailedError: It ended, or gave no answer in time.
    """
    if not command:
        raise FetchRefusedError(f"{name}: the command has no words.")
    chosen = limits or StdioLimits()
    server = StdioServer(name, command, chosen)
    return _fetched(f"mcp+stdio:{name}", server.connect, server, chosen.seconds)


def list_http_tools(address: str, policy: FetchPolicy, *, resolve: Resolver = resolve_name) -> Fetched:
    """Asks a server at an address for its tools, over Streamable HTTP.

    Args:
        address: An http(s) address; redirects are followed within its origin only.
        policy: What may be read.
        resolve: The name service; another one in tests.

    Raises:
        FetchRefusedError: The policy does not allow the address, or what it says is no MCP, endless, or too much.
        FetchFailedError: It can't be had, or gave no answer in time.
    """
    check_address(address)
    bounded = FetchPolicy(
        allowed_networks=policy.allowed_networks,
        max_bytes=min(policy.max_bytes, MAX_LISTING_BYTES),
        max_redirects=policy.max_redirects,
        connect_seconds=policy.connect_seconds,
        read_seconds=policy.read_seconds,
        total_seconds=policy.total_seconds,
        user_agent=policy.user_agent,
    )
    transport = CheckedTransport(address, bounded, resolve)

    @asynccontextmanager
    async def connect() -> AsyncIterator[Any]:
        timeout = httpx2.Timeout(policy.read_seconds, connect=policy.connect_seconds)
        headers = {"User-Agent": policy.user_agent}
        async with (
            httpx2.AsyncClient(
                transport=transport,
                trust_env=False,
                timeout=timeout,
                headers=headers,
                max_redirects=policy.max_redirects,
            ) as client,
            streamable_http_client(address, http_client=client, max_sse_event_size=bounded.max_bytes) as streams,
        ):
            yield streams

    return _fetched(address, connect, transport, policy.total_seconds)


def _fetched(
    address: str, connect: Callable[[], AbstractAsyncContextManager[Any]], server: _Faulty, seconds: float
) -> Fetched:
    async def ask() -> dict[str, Any]:
        with anyio.fail_after(seconds):
            return await _listing(address, connect())

    try:
        listing = anyio.run(ask)
    except Exception as error:  # noqa: BLE001 - told apart in `_explained`, which gives back what is none of ours
        raise _explained(address, error, server.fault, seconds) from None
    return Fetched(address, orjson.dumps(listing, option=orjson.OPT_INDENT_2), "application/json")


async def _listing(address: str, transport: AbstractAsyncContextManager[Any]) -> dict[str, Any]:
    # Roots, sampling and elicitation are not offered, so a server can ask for nothing; no answer is kept for later.
    own = Implementation(name="envfactory", version="1")
    async with Client(transport, client_info=own, cache=None) as client:
        tools: list[dict[str, Any]] = []
        seen: set[str] = set()
        cursor: str | None = None
        while client.server_capabilities.tools is not None:
            page = await client.list_tools(cursor=cursor)
            tools.extend(map(_as_json, page.tools))
            cursor = page.next_cursor
            if len(tools) > MAX_TOOLS:
                raise FetchRefusedError(f"{address}: more than {MAX_TOOLS:,} tools.")
            if cursor is None:
                break
            if cursor in seen or len(seen) >= MAX_PAGES:
                raise FetchRefusedError(f"{address}: its list of tools never ends.")
            seen.add(cursor)
        if not tools:
            raise FetchRefusedError(f"{address}: the server has no tools.")
        info = client.server_info
        return {
            "server": info.model_dump(mode="json", by_alias=True, exclude_none=True) if info is not None else {},
            "protocolVersion": client.protocol_version,
            "instructions": client.instructions,
            "tools": tools,
        }


def _as_json(tool: Tool) -> dict[str, Any]:
    whole = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {name: whole[name] for name in _FIELDS if name in whole}


def _explained(address: str, error: Exception, fault: EnvFactoryError | None, seconds: float) -> Exception:
    """What a person can be told of a failure; a fault of our own stays what it is."""
    leaves = list(_leaves(error))
    known = next((each for each in leaves if isinstance(each, EnvFactoryError)), None)
    if fault is not None or known is not None:
        return fault or known or error
    if any(isinstance(each, TimeoutError) for each in leaves):
        return FetchFailedError(f"{address}: no whole answer within {seconds:.0f} seconds.")
    if not all(isinstance(each, _FAILURES) for each in leaves):
        return error
    logger.info("mcp listing failed address=%s error=%s", address, type(leaves[0]).__name__)
    if isinstance(leaves[0], ValidationError):
        return FetchRefusedError(f"{address}: what it says is no MCP ({leaves[0].error_count()} faults).")
    said = (str(leaves[0]).splitlines() or [""])[0][:300].rstrip(".")
    return FetchFailedError(f"{address}: {said or type(leaves[0]).__name__}.")


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for each in error.exceptions for leaf in _leaves(each)]
    return [error]
