"""A transport for the official MCP client's HTTP library that keeps the fetch policy."""

import ssl
import time
from collections.abc import AsyncIterator, Iterable
from typing import Any, Final

import anyio
import anyio.to_thread
import httpcore2
import httpx2

from environments.adapters.fetching import (
    FetchPolicy,
    Resolver,
    check_address,
    checked_addresses,
    is_own_address,
    time_left,
)
from environments.core.errors import EnvFactoryError, FetchFailedError, FetchRefusedError

MAX_CONNECTIONS: Final = 4
MAX_REQUESTS: Final = 2_000


class CheckedTransport(httpx2.AsyncBaseTransport):
    """Every request's address is checked, every connection goes to a checked one, and all answers together are bounded.

    Args:
        address: Of the server, for messages.
        policy: What may be read, and how much in all.
        resolve: The name service.
    """

    def __init__(self, address: str, policy: FetchPolicy, resolve: Resolver) -> None:
        self._address = address
        self._policy = policy
        self._num_bytes = 0
        self._num_requests = 0
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=ssl.create_default_context(),
            network_backend=_CheckedBackend(policy, resolve, time.monotonic() + policy.total_seconds),
            max_connections=MAX_CONNECTIONS,
            http2=False,
        )
        self.fault: EnvFactoryError | None = None
        """What first went wrong beneath the client, which tells of its own errors only."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """One exchange.

        Raises:
            httpx2.TransportError: See `fault`.
        """
        try:
            return await self._exchange(request)
        except EnvFactoryError as error:
            fault: EnvFactoryError = error
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, OSError) as error:
            fault = self._failure(error)
        self.fault = self.fault or fault
        raise httpx2.ConnectError(str(fault), request=request)

    async def _exchange(self, request: httpx2.Request) -> httpx2.Response:
        check_address(str(request.url))
        self._num_requests += 1
        if self._num_requests > MAX_REQUESTS:
            raise FetchRefusedError(f"{request.url}: more than {MAX_REQUESTS} requests.")
        # Packed answers would be unpacked by the client, without a limit.
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"accept-encoding"]
        url = request.url
        response = await self._pool.handle_async_request(
            httpcore2.Request(
                method=request.method,
                url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=[*headers, (b"Accept-Encoding", b"identity")],
                content=request.stream,
                extensions=request.extensions,
            )
        )
        if any(name.lower() == b"content-encoding" and value != b"identity" for name, value in response.headers):
            await response.aclose()
            raise FetchRefusedError(f"{url}: its answer is packed although that was not asked for.")
        return httpx2.Response(response.status, headers=response.headers, stream=_BoundedStream(response, self))

    def count(self, num_bytes: int) -> None:
        """Adds to what was read.

        Raises:
            httpx2.TransportError: It is too much.
        """
        self._num_bytes += num_bytes
        if self._num_bytes > self._policy.max_bytes:
            limit = f"{self._policy.max_bytes >> 20} MiB"
            self.fault = self.fault or FetchRefusedError(f"{self._address}: it says more than {limit}.")
            raise httpx2.ReadError("too much")

    def fail(self, error: Exception) -> httpx2.ReadError:
        """Keeps what went wrong while an answer was read."""
        fault = self._failure(error)
        self.fault = self.fault or fault
        return httpx2.ReadError(str(fault))

    def _failure(self, error: Exception) -> EnvFactoryError:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ssl.SSLCertVerificationError):
                return FetchRefusedError(f"{self._address}: {cause.verify_message}.")
            cause = cause.__cause__ or cause.__context__
        if isinstance(error, httpcore2.TimeoutException | TimeoutError):
            return FetchFailedError(f"{self._address}: no answer in time.")
        return FetchFailedError(f"{self._address}: {type(error).__name__}: {str(error)[:200]}.")

    async def aclose(self) -> None:
        """Ends every connection."""
        await self._pool.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, response: httpcore2.Response, transport: CheckedTransport) -> None:
        self._response = response
        self._transport = transport

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._response.aiter_stream():
                self._transport.count(len(part))
                yield part
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, OSError) as error:
            raise self._transport.fail(error) from None

    async def aclose(self) -> None:
        await self._response.aclose()


class _CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to checked addresses only; waits end with the caller's own deadline."""

    def __init__(self, policy: FetchPolicy, resolve: Resolver, deadline: float) -> None:
        self._policy = policy
        self._resolve = resolve
        self._deadline = deadline
        self._backend = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """A connection to one of the name's addresses, all of which are allowed.

        Raises:
            FetchRefusedError: One of them is not.
        """
        addresses = await anyio.to_thread.run_sync(
            checked_addresses, host, port, self._policy, self._resolve, self._deadline, abandon_on_cancel=True
        )
        last: Exception | None = None
        for each in addresses:
            seconds = time_left(self._deadline, min(timeout or 60.0, self._policy.connect_seconds))
            try:
                stream = await self._backend.connect_tcp(each, port, seconds, local_address)
            except (httpcore2.NetworkError, httpcore2.TimeoutException) as error:
                last = error
                continue
            if is_own_address(stream.get_extra_info, each, self._policy):
                await stream.aclose()
                raise FetchRefusedError(f"{host}: {each} is this machine's own address.")
            return stream
        raise last if last is not None else FetchFailedError(f"{host}: no connection.")

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        await anyio.sleep(seconds)
