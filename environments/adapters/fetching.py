"""The one way in which the product reads an address that somebody gave it; imports now, webhooks later.

A name is resolved once, every address that it stands for is checked, and the connection goes to a checked one: an
answer of DNS that changes between check and connection changes nothing. Redirects pass the same checks again. Private,
link-local, metadata and own addresses are refused unless the settings list them.
"""

import ipaddress
import queue
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urljoin, urlsplit, urlunsplit

import httpcore

from environments.core.errors import FetchFailedError, FetchRefusedError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver = Callable[[str, int], Sequence[str]]
"""Every address that a name stands for."""

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_RETRYABLE: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_CHUNK_BYTES: Final = 64 << 10
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
_RESERVED: Final[tuple[Network, ...]] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "168.63.129.16/32",  # a cloud's metadata service at an address that looks public
        "192.0.0.0/24",
        "192.88.99.0/24",  # relays of 6to4
        "2001::/23",
        "3fff::/20",
    )
)
"""Public by their form only; what Python itself calls not global depends on its version."""
_MAX_ADDRESS_LENGTH: Final = 2_000
_MAX_TRIED: Final = 6
"""Addresses of one name that are tried; all of them are checked."""
_MAX_GZIP_MEMBERS: Final = 1_000


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """What may be fetched.

    Attributes:
        allowed_networks: Networks that are let through although they are not public.
        max_bytes: Of the content, unpacked.
        max_redirects: Each is checked like a first address.
        connect_seconds: To open the connection.
        read_seconds: Between two pieces of the answer.
        total_seconds: From first to last, redirects included.
        user_agent: What servers are told.
    """

    allowed_networks: tuple[Network, ...] = ()
    max_bytes: int = 64 << 20
    max_redirects: int = 5
    connect_seconds: float = 10.0
    read_seconds: float = 20.0
    total_seconds: float = 120.0
    user_agent: str = "EnvFactory"


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """An answer.

    Attributes:
        address: After redirects.
        status: The HTTP status, 200 to 299.
        media_type: Lower case, without parameters.
        data: The content, unpacked.
        headers: By lower-case name.
    """

    address: str
    status: int
    media_type: str
    data: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def resolve_name(host: str, port: int) -> list[str]:
    """Every address that the system's resolver gives for a name.

    Raises:
        FetchFailedError: It gives none.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise FetchFailedError(f"{host}: the name can't be resolved ({error}).") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def refusal_of(text: str, allowed: Iterable[Network] = ()) -> str | None:
    """Why an IP address must not be connected to; None if it may.

    IPv6 forms that carry an IPv4 address (mapped, compatible, 6to4, Teredo, NAT64) are judged by both.
    """
    try:
        address = ipaddress.ip_address(text.split("%", 1)[0])
    except ValueError:
        return f"{text[:100]!r} is no address"
    if _is_listed(address, allowed):
        return None
    if not all(_is_public(each) for each in (address, *_carried(address))):
        return f"{text} is not a public address"
    return None


def _is_listed(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks if network.version == address.version)


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address in _NAT64:
        return True  # what it carries decides
    if not address.is_global or address.is_multicast or address.is_reserved or _is_listed(address, _RESERVED):
        return False
    return address.version == 4 or address in _GLOBAL_UNICAST


def _carried(address: Address) -> list[Address]:
    if isinstance(address, ipaddress.IPv4Address):
        return []
    found: list[Address | None] = [address.ipv4_mapped, address.sixtofour]
    if address.teredo:
        found.extend(address.teredo)
    if address in _NAT64:
        found.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return [each for each in found if each is not None]


def checked_addresses(host: str, port: int, policy: FetchPolicy, resolve: Resolver, deadline: float) -> list[str]:
    """Every address that a name stands for now; the caller connects to one of them and never to the name.

    Args:
        host: A name or an address.
        port: Of the service.
        policy: Which networks are let through.
        resolve: The name service.
        deadline: Of `time.monotonic()`; a name service that says nothing is waited for until then.

    Raises:
        FetchRefusedError: One of them is not allowed.
        FetchFailedError: There is none.
    """
    addresses = _resolve_in_time(host, port, resolve, deadline)
    if not addresses:
        raise FetchFailedError(f"{host}: the name stands for no address.")
    for each in addresses:
        refusal = refusal_of(each, policy.allowed_networks)
        if refusal is not None:
            raise FetchRefusedError(f"{host}: {refusal}; FETCH_ALLOWED_NETWORKS lists what may be read besides.")
    return addresses[:_MAX_TRIED]


def _resolve_in_time(host: str, port: int, resolve: Resolver, deadline: float) -> list[str]:
    """The system's resolver has no time limit of its own: it is waited for in a thread."""
    answers: queue.SimpleQueue[list[str] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(list(resolve(host, port)))
        except Exception as error:  # noqa: BLE001 - raised again by whoever waits
            answers.put(error)

    threading.Thread(target=ask, name="resolve-name", daemon=True).start()
    try:
        answer = answers.get(timeout=time_left(deadline))
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def is_own_address(stream_info: Callable[[str], Any], address: str, policy: FetchPolicy) -> bool:
    """Whether a connection goes from this machine to itself, by a public address of its own that is not listed."""
    own, peer = stream_info("client_addr"), stream_info("server_addr")
    if not own or not peer or own[0] != peer[0]:
        return False
    return not _is_listed(ipaddress.ip_address(address.split("%", 1)[0]), policy.allowed_networks)


def fetch(
    address: str, policy: FetchPolicy, *, headers: Mapping[str, str] | None = None, resolve: Resolver = resolve_name
) -> FetchedPage:
    """Reads an http(s) address.

    Args:
        address: With its scheme; user and password in it are refused.
        policy: What may be read, and how much.
        headers: More request headers; never passed on to another host by a redirect.
        resolve: The name service; another one in tests.

    Raises:
        FetchRefusedError: The policy does not allow it: scheme, address, redirect, size.
        FetchFailedError: No answer, too slow, or an error status.
    """
    deadline = time.monotonic() + policy.total_seconds
    current, sent = address, dict(headers or {})
    for _ in range(policy.max_redirects + 1):
        status, received, data = _exchange(current, policy, sent, resolve, deadline)
        if status in REDIRECTS and "location" in received:
            current, sent = _redirected(current, received["location"], sent)
            continue
        if not 200 <= status < 300:
            error = FetchFailedError if status in _RETRYABLE else FetchRefusedError
            raise error(f"{current}: the server answered {status}.")
        media_type = received.get("content-type", "").split(";", 1)[0].strip().lower()
        return FetchedPage(current, status, media_type, data, received)
    raise FetchRefusedError(f"{address}: more than {policy.max_redirects} redirects.")


def _redirected(address: str, location: str, headers: dict[str, str]) -> tuple[str, dict[str, str]]:
    """The next address, and what is still sent to it: nothing of the caller's to another host, port or scheme."""
    try:
        following = urljoin(address, location)
    except ValueError as error:
        raise FetchRefusedError(f"{address}: it redirects to no address ({error}).") from None
    is_https, host, port, _ = check_address(following)
    before_https, before_host, before_port, _ = check_address(address)
    if before_https and not is_https:
        raise FetchRefusedError(f"{address}: it redirects to an address without TLS.")
    same = (is_https, host, port) == (before_https, before_host, before_port)
    return following, headers if same else {}


def check_address(address: str) -> tuple[bool, str, int, str]:
    """An address's parts: whether it is https, host, port and request target.

    Raises:
        FetchRefusedError: It is no plain http(s) address.
    """
    shown = ascii(address[:200])[1:-1]
    if len(address) > _MAX_ADDRESS_LENGTH or not address.isascii() or not address.isprintable() or " " in address:
        raise FetchRefusedError(f"{shown}: not an address of at most {_MAX_ADDRESS_LENGTH} plain characters.")
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise FetchRefusedError(f"{shown}: {error}.") from None
    if parts.scheme not in ("http", "https"):
        raise FetchRefusedError(f"{shown}: only http and https addresses are read.")
    if "@" in parts.netloc:
        raise FetchRefusedError(f"{parts.scheme}: an address must not carry a user name or password.")
    if not parts.hostname or "\\" in address or port == 0:
        raise FetchRefusedError(f"{shown}: it names no host and port.")
    is_https = parts.scheme == "https"
    target = urlunsplit(("", "", parts.path or "/", parts.query, ""))
    return is_https, parts.hostname, port or (443 if is_https else 80), target


def _exchange(
    address: str, policy: FetchPolicy, headers: Mapping[str, str], resolve: Resolver, deadline: float
) -> tuple[int, dict[str, str], bytes]:
    is_https, host, port, target = check_address(address)
    backend = _CheckedBackend(policy, resolve, deadline)
    request_headers = {
        "Host": urlsplit(address).netloc,
        "User-Agent": policy.user_agent,
        "Accept": "*/*",
        "Accept-Encoding": "gzip, identity",
        **headers,
    }.items()
    timeouts = {"connect": policy.connect_seconds, "read": policy.read_seconds, "write": policy.read_seconds}
    url = httpcore.URL(scheme=b"https" if is_https else b"http", host=host.encode(), port=port, target=target.encode())
    try:
        # A connection for each exchange: a pooled one would skip the check of the name's next meaning.
        with (
            httpcore.ConnectionPool(
                ssl_context=ssl.create_default_context(), network_backend=backend, http2=False, max_connections=1
            ) as pool,
            pool.stream("GET", url, headers=list(request_headers), extensions={"timeout": timeouts}) as response,
        ):
            received = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            if response.status in REDIRECTS:
                return response.status, received, b""
            data = _read(address, response.iter_stream(), received, policy, deadline)
            return response.status, received, data
    except (httpcore.TimeoutException, TimeoutError):
        raise FetchFailedError(f"{address}: no complete answer in time.") from None
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError, UnicodeError) as error:
        raise FetchFailedError(f"{address}: {type(error).__name__}: {str(error)[:200]}.") from None


def _read(
    address: str, chunks: Iterator[bytes], headers: Mapping[str, str], policy: FetchPolicy, deadline: float
) -> bytes:
    stated = headers.get("content-length", "")
    if stated.isascii() and stated.isdigit() and int(stated[:20]) > policy.max_bytes:
        raise _too_large(address, policy)
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "", "gzip", "x-gzip"):
        raise FetchRefusedError(f"{address}: content encoding {encoding[:40]!r} was not asked for.")
    unpacker = _Unpacker() if "gzip" in encoding else None
    kept = bytearray()
    for chunk in chunks:
        time_left(deadline)
        try:
            # At most one byte more than is allowed is ever unpacked.
            kept += chunk if unpacker is None else unpacker.unpack(chunk, policy.max_bytes + 1 - len(kept))
        except zlib.error as error:
            raise FetchFailedError(f"{address}: the packed answer is broken ({error}).") from None
        if len(kept) > policy.max_bytes:
            raise _too_large(address, policy)
    if unpacker is not None and not unpacker.is_complete:
        raise FetchFailedError(f"{address}: the packed answer ends too early.")
    return bytes(kept)


class _Unpacker:
    """gzip, of one member or of several one after the other."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)
        self._num_members = 1

    @property
    def is_complete(self) -> bool:
        return self._member.eof

    def unpack(self, chunk: bytes, limit: int) -> bytes:
        """At most so many bytes; what is left over at the limit is lost, since the caller then gives up."""
        found = self._member.decompress(chunk, limit)
        while self._member.eof and self._member.unused_data and len(found) < limit:
            rest = self._member.unused_data
            self._num_members += 1
            if self._num_members > _MAX_GZIP_MEMBERS:
                raise zlib.error("too many parts")
            self._member = zlib.decompressobj(wbits=31)
            found += self._member.decompress(rest, limit - len(found))
        return found


def _too_large(address: str, policy: FetchPolicy) -> FetchRefusedError:
    return FetchRefusedError(f"{address}: larger than {policy.max_bytes // 2**20} MiB.")


class _CheckedBackend(httpcore.NetworkBackend):
    """Connects to checked addresses only, and ends every wait at the deadline."""

    def __init__(self, policy: FetchPolicy, resolve: Resolver, deadline: float) -> None:
        self._policy = policy
        self._resolve = resolve
        self._deadline = deadline
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection to one of the name's addresses, all of which are allowed.

        Raises:
            FetchRefusedError: One of them is not.
        """
        last: Exception | None = None
        for each in checked_addresses(host, port, self._policy, self._resolve, self._deadline):
            try:
                stream = self._backend.connect_tcp(each, port, time_left(self._deadline, timeout), local_address)
            except (httpcore.NetworkError, httpcore.TimeoutException) as error:
                last = error
                continue
            if is_own_address(stream.get_extra_info, each, self._policy):
                stream.close()
                raise FetchRefusedError(f"{host}: {each} is this machine's own address.")
            return _TimedStream(stream, self._deadline)
        raise last if last is not None else FetchFailedError(f"{host}: no connection.")


class _TimedStream(httpcore.NetworkStream):
    """A stream whose every wait ends at the deadline, so that a server can't drip bytes for ever."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Some bytes."""
        return self._stream.read(min(max_bytes, _CHUNK_BYTES), time_left(self._deadline, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Sends all."""
        self._stream.write(buffer, time_left(self._deadline, timeout))

    def close(self) -> None:
        """Ends it."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """The same connection under TLS; the certificate is checked against the name, not the address."""
        try:
            secure = self._stream.start_tls(ssl_context, server_hostname, time_left(self._deadline, timeout))
        except httpcore.ConnectError as error:
            self._stream.close()
            if isinstance(error.__cause__, ssl.SSLCertVerificationError):
                raise FetchRefusedError(f"{server_hostname}: {error.__cause__.verify_message}.") from None
            raise
        return _TimedStream(secure, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """What the stream beneath knows."""
        return self._stream.get_extra_info(info)


def time_left(deadline: float, timeout: float | None = None) -> float:
    """Seconds that a wait may take: until the deadline, and no longer than its own limit.

    Raises:
        TimeoutError: None are left.
    """
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left if timeout is None else min(left, timeout)
