"""Where the state is that a request over HTTP means: a session's row, or memory that ends with its connection."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import mcp_types as types
from django.conf import settings
from mcp.server.context import CallNext, HandlerResult
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from environments.adapters.threads import DatabaseThreads
from environments.api.mcp.server import Context, make_server
from environments.api.mcp.tools import about, tool_list
from environments.core.errors import PermissionDeniedError, QuotaExceededError, SessionClosedError
from environments.models import EnvironmentVersion
from environments.runtime.records import CallRecord
from environments.services.admission import Admission, AdmittedSession
from environments.services.held_sessions import HeldSessions
from environments.services.memory_sessions import MemorySession

ADMITTED: Final = "envfactory.admitted"
"""Under this name the scope of a request carries the state that it was admitted to."""
REFUSED: Final = "envfactory.refused"
"""Under this name it carries the answer in place of the library's, if it turns out that it may not come in."""
MAX_STATES: Final = 1000
"""States in the memory of one process."""
MAX_STATES_OF_USER: Final = 100
SWEEP_SECONDS: Final = 5.0

NEEDS_SESSION: Final = (
    "Protocol version 2026-07-28 has no sessions of its own, so here your calls can't be told from another's. Make a "
    "session with POST /api/v1/sessions/ and connect to the mcp_url that it answers with; or connect here with "
    "protocol version 2025-11-25."
)


@dataclass(frozen=True, slots=True)
class RowAdmission:
    """What a request for a session was let in with.

    Attributes:
        admission: Who asks, and for which session.
        check_again: Asks the database, if what is known is not from this request; raises what the request is refused
            with. A call does not need it: it is stored only if the token and the session are still good.
    """

    admission: Admission
    check_again: Callable[[], Awaitable[None]] | None

    @property
    def session(self) -> AdmittedSession:
        """The session that the request is for."""
        session = self.admission.session
        assert session is not None  # noqa: S101 - others are refused before
        return session


def _scope(context: Context) -> Any:
    request: Any = context.request
    return request.scope


class RowDoor:
    """`/mcp/s/`: the state is the row's; transports keep nothing, so any process answers any request."""

    def __init__(self, threads: DatabaseThreads) -> None:
        self.held = HeldSessions(threads)
        self.manager = StreamableHTTPSessionManager(
            make_server(self, _check_again), json_response=True, stateless=True,
            max_request_body_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
        )  # fmt: skip
        self._threads = threads

    async def about(self, context: Context) -> str:
        """See `Door`."""
        admitted: RowAdmission = _scope(context)[ADMITTED]
        return await self._threads.run(_about_version, admitted.session.version)

    async def tools(self, context: Context) -> dict[str, Any]:
        """See `Door`."""
        admitted: RowAdmission = _scope(context)[ADMITTED]
        return await self._threads.run(tool_list, admitted.session.version)

    async def call(self, context: Context, tool: str, arguments: Mapping[str, Any]) -> CallRecord:
        """See `Door`."""
        scope = _scope(context)
        admitted: RowAdmission = scope[ADMITTED]
        try:
            session, bearer = admitted.session, admitted.admission.bearer
            return await self.held.call(session.pk, tool, arguments, bearer, version=session.version)
        except (PermissionDeniedError, SessionClosedError) as error:
            scope[REFUSED] = error
            raise


class MemoryDoor:
    """`/mcp/e/`: a state in memory for each MCP session id, which protocol version 2026-07-28 has none of."""

    def __init__(self, threads: DatabaseThreads) -> None:
        self.states = MemoryStates()
        self.manager = StreamableHTTPSessionManager(
            make_server(self, _refuse_modern), json_response=True,
            session_idle_timeout=settings.SESSION_IDLE_SECONDS, max_sessions=MAX_STATES,
            max_request_body_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
        )  # fmt: skip
        self._threads = threads

    async def about(self, context: Context) -> str:
        """See `Door`."""
        session: MemorySession = _scope(context)[ADMITTED]
        return about(session.start.version)

    async def tools(self, context: Context) -> dict[str, Any]:
        """See `Door`."""
        session: MemorySession = _scope(context)[ADMITTED]
        return await self._threads.run(tool_list, session.start.version.pk)

    async def call(self, context: Context, tool: str, arguments: Mapping[str, Any]) -> CallRecord:
        """See `Door`."""
        session: MemorySession = _scope(context)[ADMITTED]
        return await session.call(tool, arguments)


class MemoryStates:
    """The states behind `/mcp/e/` by MCP session id, and how many each person has."""

    def __init__(self) -> None:
        self._by_id: dict[str, tuple[Admission, MemorySession]] = {}
        self._num_of_user: Counter[int] = Counter()

    def find(self, session_id: str, admission: Admission) -> MemorySession | None:
        """The state of a connection, if the same token opened it."""
        opener, found = self._by_id.get(session_id, (None, None))
        return found if opener is not None and opener.bearer.token == admission.bearer.token else None

    @contextmanager
    def place(self, user: int) -> Iterator[None]:
        """A place for one more state of the person's while it is being opened.

        Raises:
            QuotaExceededError: If the person has as many as one process lets one person have.
        """
        if self._num_of_user[user] >= MAX_STATES_OF_USER:
            raise QuotaExceededError(
                f"You have {MAX_STATES_OF_USER} connections of this kind, which is the limit. Close some, or make "
                "sessions with POST /api/v1/sessions/."
            )
        self._num_of_user[user] += 1
        try:
            yield
        finally:
            self._num_of_user[user] -= 1

    def add(self, session_id: str, admission: Admission, session: MemorySession) -> None:
        """Keeps a state under the id that its connection was given."""
        self._by_id[session_id] = admission, session
        self._num_of_user[admission.user] += 1

    async def close(self, session_id: str) -> None:
        """Ends a state; one that is not there is fine."""
        opener, session = self._by_id.pop(session_id, (None, None))
        if opener is not None and session is not None:
            self._num_of_user[opener.user] -= 1
            await session.close()

    async def close_all(self) -> None:
        """Ends every state."""
        for session_id in list(self._by_id):
            await self.close(session_id)

    async def tend(self) -> None:
        """Ends what nobody has used for long, as its transport does, until it is cancelled."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            oldest = time.monotonic() - settings.SESSION_IDLE_SECONDS
            idle = [key for key, (_, found) in self._by_id.items() if not found.is_busy and found.used < oldest]
            for session_id in idle:
                await self.close(session_id)


async def _check_again(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Lets through only what may still come in, where the request itself does not show it."""
    if ctx.method != "tools/call" and ctx.request_id is not None:
        scope = _scope(ctx)
        admitted: RowAdmission = scope[ADMITTED]
        if admitted.check_again is not None:
            try:
                await admitted.check_again()
            except Exception as error:
                scope[REFUSED] = error
                raise
    return await call_next(ctx)


async def _refuse_modern(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Says what to do instead; a client that may choose takes the older protocol, as `supported` tells it."""
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        versions = {"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": ctx.protocol_version}
        raise MCPError(code=types.UNSUPPORTED_PROTOCOL_VERSION, message=NEEDS_SESSION, data=versions)
    return await call_next(ctx)


def _about_version(version: int) -> str:
    return about(EnvironmentVersion.objects.only("title", "description").get(pk=version))
