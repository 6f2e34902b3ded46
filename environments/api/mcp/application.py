"""`/mcp/` as an ASGI application beside Django's: who may come in, and which state is meant (docs/mcp.md)."""

import asyncio
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, NoReturn
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import mcp_types as types
import orjson
from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http.request import split_domain_port, validate_host
from django.utils.http import is_same_domain
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from rest_framework.throttling import SimpleRateThrottle
from starlette.types import Message, Receive, Scope, Send

from environments.adapters.threads import DatabaseThreads
from environments.api.mcp.doors import ADMITTED, REFUSED, MemoryDoor, RowAdmission, RowDoor
from environments.core.errors import (
    InvalidInputError,
    NotVerifiedError,
    PermissionDeniedError,
    QuotaExceededError,
    SessionClosedError,
)
from environments.services.accounts import hash_api_key
from environments.services.admission import Admission, admit, on_live_connection
from environments.services.held_sessions import ANOTHER, check_open
from environments.services.memory_sessions import MemorySession, MemoryStart, find_memory_start

logger = logging.getLogger(__name__)

NUM_THREADS: Final = 8
RECENT_SECONDS: Final = 30.0
MAX_RECENT: Final = 4096
CHALLENGE: Final = 'Bearer realm="envfactory"'

_SESSION: Final = re.compile(r"/mcp/s/([0-9a-fA-F-]{32,36})/?")
_ENVIRONMENT: Final = re.compile(r"/mcp/e/([a-z0-9_]{1,64})/?")
_SEED: Final = re.compile(r"-?[0-9]{1,18}")
_ID_HEADER: Final = b"mcp-session-id"
_UNKNOWN: Final = "Nothing of yours is at this address. See POST /api/v1/sessions/ for one that is."


class McpApplication:
    """Serves every path below /mcp/; starts with the first request where the server sends no lifespan events."""

    def __init__(self) -> None:
        self._site: _Site | None = None

    async def start(self) -> None:
        """Starts the transports; called again it does nothing."""
        await self._running()

    async def stop(self) -> None:
        """Gives every session back and ends the states in memory."""
        site, self._site = self._site, None
        if site is not None:
            await site.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        site = await self._running()
        try:
            await site.serve(scope, receive, send)
        except _Refusal as refusal:
            await _answer(send, refusal)

    async def _running(self) -> "_Site":
        site = self._site
        if site is None or site.loop is not asyncio.get_running_loop():
            site = self._site = _Site()
        await site.ready()
        return site


async def serve_lifespan(application: McpApplication, receive: Receive, send: Send) -> None:
    """Answers the server's lifespan events; Django has no use for them."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await application.start()
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await application.stop()
            await send({"type": "lifespan.shutdown.complete"})
            return


class _Refusal(Exception):  # noqa: N818 - an answer, not a fault
    """A request that no server is asked about; its body is a JSON-RPC error, so that clients show the message."""

    def __init__(self, status: HTTPStatus, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


class _Site:
    """Both doors in one event loop."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._threads = DatabaseThreads(NUM_THREADS)
        self._rows = RowDoor(self._threads)
        self._memory = MemoryDoor(self._threads)
        self._recent = _Recent()
        self._started: asyncio.Future[None] = self.loop.create_future()
        self._stopping = asyncio.Event()
        # The transports' tasks belong to whoever entered them, so one task does both.
        self._task = self.loop.create_task(self._run())

    async def ready(self) -> None:
        """Waits until the transports are there."""
        if not self._started.done():
            await asyncio.shield(self._started)

    async def stop(self) -> None:
        """Ends everything in order."""
        self._stopping.set()
        await self._task

    async def _run(self) -> None:
        try:
            async with self._rows.manager.run(), self._memory.manager.run():
                keepers = (self._rows.held.tend, self._memory.states.tend)
                tending = [self.loop.create_task(_keep_tending(tend)) for tend in keepers]
                self._started.set_result(None)
                await self._stopping.wait()
                for task in tending:
                    task.cancel()
        except BaseException as error:
            if not self._started.done():
                self._started.set_exception(error)
            raise
        await self._memory.states.close_all()
        await self._rows.held.close()
        self._threads.close()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request.

        Raises:
            _Refusal: It comes to no server.
        """
        path: str = scope["path"]
        headers = dict(reversed(scope["headers"]))  # the first of two, as the library reads them
        _check_caller(scope, headers)
        if found := _SESSION.fullmatch(path):
            await self._serve_row(found[1], headers, scope, receive, send)
        elif found := _ENVIRONMENT.fullmatch(path):
            await self._serve_memory(found[1], headers, scope, receive, send)
        else:
            raise _Refusal(HTTPStatus.NOT_FOUND, "Addresses are /mcp/s/<code>/ and /mcp/e/<environment>/.")

    async def _serve_row(
        self, text: str, headers: Mapping[bytes, bytes], scope: Scope, receive: Receive, send: Send
    ) -> None:
        _check_method(scope, "POST")
        try:
            code = UUID(text)
        except ValueError:
            raise _Refusal(HTTPStatus.NOT_FOUND, _UNKNOWN) from None
        key = _key(headers)
        place = (hash_api_key(key), code)
        admission = self._recent.get(place)
        check_again = None
        if admission is None:
            admission = await self._admit_to_session(key, code)
            self._recent.add(place, admission)
        else:
            # A tool's call asks again when it is stored; this saves it a statement and a thread.
            async def check_again() -> None:
                await self._admit_to_session(key, code)

        scope[ADMITTED] = RowAdmission(admission, check_again)

        async def watch(message: Message) -> None:
            if REFUSED not in scope:
                await send(message)

        await self._rows.manager.handle_request(scope, receive, watch)
        if REFUSED in scope:
            self._recent.forget(place)
            _refuse_with(scope[REFUSED])

    async def _admit_to_session(self, key: str, code: UUID) -> Admission:
        admission = await self._admit(key, code)
        if admission.session is None:
            raise _Refusal(HTTPStatus.NOT_FOUND, f"No session of this token is at this address. {ANOTHER}")
        try:
            check_open(admission.session.status, has_expired=admission.session.has_expired)
        except SessionClosedError as error:
            raise _Refusal(HTTPStatus.NOT_FOUND, str(error)) from None
        return admission

    async def _serve_memory(
        self, name: str, headers: Mapping[bytes, bytes], scope: Scope, receive: Receive, send: Send
    ) -> None:
        _check_method(scope, "POST", "DELETE")
        admission = await self._admit(_key(headers))
        # The transport lets nobody but the token that opened a connection use it.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=str(admission.bearer.token), scopes=[]))
        session_id = headers.get(_ID_HEADER, b"").decode("latin-1")
        if session_id:
            await self._serve_known(session_id, name, admission, scope, receive, send)
        elif headers.get(b"mcp-protocol-version", b"").decode("latin-1") in {"", *HANDSHAKE_PROTOCOL_VERSIONS}:
            await self._open(name, admission, scope, receive, send)
        else:
            await self._memory.manager.handle_request(scope, receive, send)

    async def _serve_known(
        self, session_id: str, name: str, admission: Admission, scope: Scope, receive: Receive, send: Send
    ) -> None:
        found = self._memory.states.find(session_id, admission)
        if found is None or found.start.version.environment.name != name:
            raise _Refusal(HTTPStatus.NOT_FOUND, "The connection has ended. Connect again; it starts anew.")
        found.touch()
        scope[ADMITTED] = found
        status = 0

        async def watch(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        await self._memory.manager.handle_request(scope, receive, watch)
        if scope["method"] == "DELETE" and status < HTTPStatus.BAD_REQUEST:
            await self._memory.states.close(session_id)

    async def _open(self, name: str, admission: Admission, scope: Scope, receive: Receive, send: Send) -> None:
        """A new connection with a state of its own, once the transport has given it an id."""
        start = await self._start(name, admission, scope)
        session = scope[ADMITTED] = MemorySession(start, self._threads)

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < HTTPStatus.BAD_REQUEST:
                session_id = dict(message["headers"]).get(_ID_HEADER)
                if session_id is not None:
                    self._memory.states.add(session_id.decode("latin-1"), admission, session)
            await send(message)

        try:
            with self._memory.states.place(admission.user):
                await self._memory.manager.handle_request(scope, receive, watch)
        except QuotaExceededError as error:
            raise _Refusal(HTTPStatus.TOO_MANY_REQUESTS, str(error)) from None

    async def _start(self, name: str, admission: Admission, scope: Scope) -> MemoryStart:
        scenario, seed = _read_query(scope["query_string"])

        def find() -> MemoryStart:
            throttle = _OpeningThrottle()
            if not throttle.allow_request(admission, None):  # type: ignore[arg-type]  # only counted by token
                wait = int(throttle.wait() or 0) + 1
                raise _Refusal(
                    HTTPStatus.TOO_MANY_REQUESTS,
                    f"Too many connections; again in {wait} s.",
                    {"Retry-After": str(wait)},
                )
            return on_live_connection(lambda: find_memory_start(name=name, scenario=scenario, seed=seed))

        try:
            return await self._threads.run(find)
        except (InvalidInputError, NotVerifiedError) as error:
            is_missing = any(fault.pointer == "/environment" for fault in error.fields)
            raise _Refusal(HTTPStatus.NOT_FOUND if is_missing else HTTPStatus.BAD_REQUEST, str(error)) from None
        except (OperationalError, InterfaceError) as error:
            _refuse_without_database(error)

    async def _admit(self, key: str, code: UUID | None = None) -> Admission:
        try:
            admission = await self._threads.run(admit, key, code)
        except (OperationalError, InterfaceError) as error:
            _refuse_without_database(error)
        if admission is None:
            _refuse_token()
        if not admission.may_open:
            message, headline = "The token lacks the scope sessions.", f'{CHALLENGE}, error="insufficient_scope"'
            raise _Refusal(HTTPStatus.FORBIDDEN, message, {"WWW-Authenticate": headline})
        return admission


class _Recent:
    """Who was let in a moment ago, by the key's hash and the session, for calls that ask again when they are stored."""

    def __init__(self) -> None:
        self._until: OrderedDict[tuple[str, UUID], tuple[float, Admission]] = OrderedDict()

    def get(self, place: tuple[str, UUID]) -> Admission | None:
        """The admission, if it is recent."""
        until, admission = self._until.get(place, (0.0, None))
        return admission if until > time.monotonic() else None

    def add(self, place: tuple[str, UUID], admission: Admission) -> None:
        """Remembers an admission; the oldest give way."""
        self._until.pop(place, None)
        self._until[place] = time.monotonic() + RECENT_SECONDS, admission
        while len(self._until) > MAX_RECENT:
            self._until.popitem(last=False)

    def forget(self, place: tuple[str, UUID]) -> None:
        """Has the next request ask."""
        self._until.pop(place, None)


async def _keep_tending(tend: Callable[[], Awaitable[None]]) -> None:
    """Keeps on when something went wrong: what is held would never be given back."""
    while True:
        try:
            await tend()
        except Exception:
            logger.exception("event=tending_failed")
            await asyncio.sleep(1)


class _OpeningThrottle(SimpleRateThrottle):
    """Counts new connections like the API's writes; calls are not counted, since each waits for the one before."""

    scope = "write"

    def get_cache_key(self, request: Any, view: Any) -> str:
        """Who is counted."""
        return self.cache_format % {"scope": "mcp", "ident": f"token-{request.bearer.token}"}


def _check_caller(scope: Scope, headers: Mapping[bytes, bytes]) -> None:
    """Refuses other sites' pages (rebound names, foreign origins) and, where the site wants TLS, what came without."""
    host = headers.get(b"host", b"").decode("latin-1")
    domain, _ = split_domain_port(host)
    allowed = settings.ALLOWED_HOSTS or ([".localhost", "127.0.0.1", "[::1]"] if settings.DEBUG else [])
    if not domain or not validate_host(domain, allowed):
        raise _Refusal(HTTPStatus.MISDIRECTED_REQUEST, "This host is not served here (ALLOWED_HOSTS).")
    origin = headers.get(b"origin")
    if origin is not None and not _is_own_origin(origin.decode("latin-1"), host):
        raise _Refusal(HTTPStatus.FORBIDDEN, "Pages of other origins may not use this address.")
    if settings.SECURE_SSL_REDIRECT and not _is_secure(scope, headers):
        raise _Refusal(HTTPStatus.FORBIDDEN, "This address is served over https only.")


def _is_own_origin(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    if parts.scheme in {"http", "https"} and parts.netloc == host:
        return True
    for trusted in settings.CSRF_TRUSTED_ORIGINS:
        pattern = urlsplit(trusted)
        if pattern.scheme == parts.scheme and is_same_domain(parts.netloc, pattern.netloc.lstrip("*")):
            return True
    return False


def _is_secure(scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
    if settings.SECURE_PROXY_SSL_HEADER is None:
        return bool(scope.get("scheme") == "https")
    name, value = settings.SECURE_PROXY_SSL_HEADER
    key = name.removeprefix("HTTP_").replace("_", "-").lower().encode()
    return headers.get(key, b"").split(b",")[0].strip() == value.encode()


def _check_method(scope: Scope, *allowed: str) -> None:
    if scope["method"] not in allowed:
        # No stream is ever opened towards a client, which the protocol lets a server say like this.
        message, headers = "Only requests by POST are answered here.", {"Allow": ", ".join(allowed)}
        raise _Refusal(HTTPStatus.METHOD_NOT_ALLOWED, message, headers)


def _read_query(query: bytes) -> tuple[str | None, int | None]:
    try:
        given = parse_qs(query.decode("latin-1"), keep_blank_values=True, max_num_fields=10)
    except ValueError:
        given = {"": []}
    if not given.keys() <= {"scenario", "seed"} or any(len(values) > 1 for values in given.values()):
        raise _Refusal(HTTPStatus.BAD_REQUEST, "The address takes ?scenario= and &seed=, each once, and nothing else.")
    (scenario,), (seed,) = given.get("scenario", [None]), given.get("seed", [None])
    if seed is not None and not _SEED.fullmatch(seed):
        raise _Refusal(HTTPStatus.BAD_REQUEST, "seed must be a whole number of at most 18 digits.")
    return scenario, int(seed) if seed is not None else None


def _key(headers: Mapping[bytes, bytes]) -> str:
    words = headers.get(b"authorization", b"").split()
    if len(words) != 2 or words[0].lower() != b"bearer":
        message = "Send an API token: 'Authorization: Bearer <key>'."
        raise _Refusal(HTTPStatus.UNAUTHORIZED, message, {"WWW-Authenticate": CHALLENGE})
    return words[1].decode("latin-1")


def _refuse_token() -> NoReturn:
    message, headline = "The token is unknown, expired or revoked.", f'{CHALLENGE}, error="invalid_token"'
    raise _Refusal(HTTPStatus.UNAUTHORIZED, message, {"WWW-Authenticate": headline})


def _refuse_with(error: Exception) -> NoReturn:
    """Refuses a request for what turned up on its way."""
    if isinstance(error, PermissionDeniedError):
        _refuse_token()
    if isinstance(error, SessionClosedError):
        raise _Refusal(HTTPStatus.NOT_FOUND, str(error)) from None
    raise error


def _refuse_without_database(error: Exception) -> NoReturn:
    logger.error("event=database_unavailable error=%s", error)
    message = "The database can't be reached; try again in a few seconds."
    raise _Refusal(HTTPStatus.SERVICE_UNAVAILABLE, message, {"Retry-After": "5"}) from error


async def _answer(send: Send, refusal: _Refusal) -> None:
    error = {"code": types.INVALID_REQUEST, "message": str(refusal)}
    body = orjson.dumps({"jsonrpc": "2.0", "id": None, "error": error})
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **refusal.headers}
    await send({
        "type": "http.response.start",
        "status": int(refusal.status),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
    })  # fmt: skip
    await send({"type": "http.response.body", "body": body})
