"""A transport for the official MCP client that starts a server apart from everything and ends all of it.

The client's own stdio transport hands down parts of the environment, keeps a line of any length, and ends a process
group that a child may have left; hence this one.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import mcp_types as types
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from environments.core.errors import EnvFactoryError, FetchFailedError, FetchRefusedError

LAUNCHER: Final = Path(__file__).with_name("stdio_launcher.py")
SYSTEM_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
ENDING_SECONDS: Final = 8.0
LAST_WORDS_BYTES: Final = 2_000
MAX_STRAY_LINES: Final = 50
"""Lines on standard output that are no messages: servers print a greeting, or what is meant for a log."""

Reading = MemoryObjectReceiveStream[SessionMessage | Exception]
Writing = MemoryObjectSendStream[SessionMessage]


@dataclass(frozen=True, slots=True)
class StdioLimits:
    """What a server may use.

    Attributes:
        seconds: From its start to its whole listing.
        output_bytes: That it may say in all; a single message too.
        cpu_seconds: Of each process.
        address_bytes: Address space of each process; a JavaScript engine reserves tens of GiB.
        memory_bytes: Resident, all processes together; watched, not enforced by the kernel.
        file_bytes: The largest file that it may write.
        descriptors: Open files of each process.
        processes: At a time, itself and what it starts; watched.
        threads: More than the user has at its start.
    """

    seconds: float = 60.0
    output_bytes: int = 16 << 20
    cpu_seconds: int = 60
    address_bytes: int = 64 << 30
    memory_bytes: int = 1 << 30
    file_bytes: int = 64 << 20
    descriptors: int = 512
    processes: int = 32
    threads: int = 512


class StdioServer:
    """A server that is started to be asked for its tools.

    Args:
        name: For messages.
        command: Its words; the first is looked up on the host's path.
        limits: What it may use.
    """

    def __init__(self, name: str, command: Sequence[str], limits: StdioLimits) -> None:
        self._name = name
        self._command = list(command)
        self._limits = limits
        self._last_words = b""
        self.fault: EnvFactoryError | None = None
        """Why there will be no more answers; the client itself only knows that there are none."""

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[tuple[Reading, Writing]]:
        """The two ends that the client speaks through; the server is gone when this ends, however it ends.

        Raises:
            FetchRefusedError: There is no such command.
        """
        program = shutil.which(self._command[0])
        if program is None:
            raise FetchRefusedError(f"{self._name}: there is no command {self._command[0]!r}.")
        folder = tempfile.mkdtemp(prefix="mcp-server-")
        try:
            async with self._running(os.path.abspath(program), folder) as streams:  # noqa: PTH100 - links are kept
                yield streams
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @asynccontextmanager
    async def _running(self, program: str, folder: str) -> AsyncIterator[tuple[Reading, Writing]]:
        control_read, control_write = os.pipe()
        setup = {
            "command": [program, *self._command[1:]],
            "environment": {
                # Next to a program is often the interpreter that its first line asks for.
                "PATH": f"{Path(program).parent}:{SYSTEM_PATH}",
                "HOME": folder,
                "TMPDIR": folder,
                "LANG": "C.UTF-8",
            },
            "folder": folder,
            "control": control_read,
            "limits": {name: getattr(self._limits, name) for name in StdioLimits.__slots__},
        }
        try:
            process = await anyio.open_process(
                [sys.executable, "-I", "-S", "-B", str(LAUNCHER), json.dumps(setup)],
                env={"LC_ALL": "C.UTF-8"},
                cwd="/",
                start_new_session=True,
                pass_fds=[control_read],
            )
        except BaseException:
            os.close(control_write)
            raise
        finally:
            os.close(control_read)
        into_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with anyio.create_task_group() as tasks:
                if process.stdin and process.stdout and process.stderr:
                    tasks.start_soon(self._read, process.stdout, process, into_session)
                    tasks.start_soon(self._write, process.stdin, from_session)
                    tasks.start_soon(self._listen, process.stderr)
                try:
                    yield from_server, to_server
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            os.close(control_write)  # the launcher's sign to end everything
            with anyio.CancelScope(shield=True):
                await _end(process)
            for stream in (into_session, from_server, to_server, from_session):
                stream.close()

    async def _read(
        self, stdout: ByteReceiveStream, process: Process, session: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        async with session:
            try:
                await self._read_messages(stdout, session)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the session is over
            except EnvFactoryError as fault:
                self.fault = fault
                return
            # The end of its output: give its last words time to arrive.
            with anyio.move_on_after(2.0):
                code = await process.wait()
                await anyio.sleep(0.05)
                said = self._last_words.decode("utf-8", "replace").strip()
                self.fault = FetchFailedError(f"{self._name}: it ended with exit code {code}. {said}".rstrip())
            if self.fault is None:
                self.fault = FetchFailedError(f"{self._name}: it closed its output.")

    async def _read_messages(
        self, stdout: ByteReceiveStream, session: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        num_bytes = num_stray = 0
        pending = bytearray()
        while True:
            try:
                part = await stdout.receive(65536)
            except anyio.EndOfStream:
                return
            num_bytes += len(part)
            if num_bytes > self._limits.output_bytes:
                raise FetchRefusedError(f"{self._name}: it says more than {self._limits.output_bytes >> 20} MiB.")
            start = len(pending)
            pending += part
            if b"\n" not in part:
                continue
            end = pending.rindex(b"\n", start)
            lines = bytes(pending[:end]).split(b"\n")
            del pending[: end + 1]
            for line in filter(bytes.strip, lines):
                try:
                    message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValidationError:
                    num_stray += 1
                    # A broken message is not passed over: the client would wait for it.
                    if num_stray > MAX_STRAY_LINES or line.lstrip().startswith(b'{"jsonrpc"'):
                        raise FetchRefusedError(f"{self._name}: what it says is no MCP.") from None
                    continue
                await session.send(SessionMessage(message))

    async def _write(self, stdin: ByteSendStream, session: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with session:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                async for each in session:
                    await stdin.send(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    async def _listen(self, stderr: ByteReceiveStream) -> None:
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while True:
                self._last_words = (self._last_words + await stderr.receive())[-LAST_WORDS_BYTES:]


async def _end(process: Process) -> None:
    """Waits for the launcher's end, which is everything's; kills what is left of its group if it does not come."""
    with anyio.move_on_after(ENDING_SECONDS):
        while process.returncode is None:
            await anyio.sleep(0.01)
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
    with anyio.move_on_after(2.0):
        await process.aclose()
