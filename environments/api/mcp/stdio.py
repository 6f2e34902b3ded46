"""One environment over standard input and output, for clients that start their servers themselves."""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Mapping
from typing import Any, Final, cast

import anyio
from mcp.server.stdio import stdio_server

from environments.adapters.threads import DatabaseThreads
from environments.api.mcp.server import Context, make_server
from environments.api.mcp.tools import about, tool_list
from environments.runtime.records import CallRecord
from environments.services.memory_sessions import MemorySession, MemoryStart

READ_BYTES: Final = 1 << 16


def serve_stdio(start: MemoryStart) -> None:
    """Serves one state until standard input ends or the process is asked to stop."""
    asyncio.run(_serve(start))


class _OneState:
    """The door to the process's only state."""

    def __init__(self, start: MemoryStart, threads: DatabaseThreads) -> None:
        self.session = MemorySession(start, threads)
        self._threads = threads

    async def about(self, context: Context) -> str:
        """See `Door`."""
        return about(self.session.start.version)

    async def tools(self, context: Context) -> dict[str, Any]:
        """See `Door`."""
        return await self._threads.run(tool_list, self.session.start.version.pk)

    async def call(self, context: Context, tool: str, arguments: Mapping[str, Any]) -> CallRecord:
        """See `Door`."""
        return await self.session.call(tool, arguments)


class _Lines:
    """Standard input line by line.

    The SDK's own reader can't be cancelled while it waits for a line, so SIGTERM would wait for the client.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        # Whatever else reads standard input in this process or its children finds it empty.
        self._input = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def __aiter__(self) -> "_Lines":
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")

    def _read(self) -> None:
        rest = b""
        # The loop may have ended while this thread waited.
        with contextlib.suppress(RuntimeError):
            while read := os.read(self._input, READ_BYTES):
                *lines, rest = (rest + read).split(b"\n")
                for line in lines:
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None)


async def _serve(start: MemoryStart) -> None:
    threads = DatabaseThreads(1)
    door = _OneState(start, threads)
    server = make_server(door)
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # noqa: S101 - this is one
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        with contextlib.suppress(asyncio.CancelledError):
            async with stdio_server(stdin=cast("anyio.AsyncFile[str]", _Lines())) as (read, write):
                await server.run(read, write, server.create_initialization_options())
    finally:
        await door.session.close()
        threads.close()
