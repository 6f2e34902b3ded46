"""Servers on 127.0.0.1 that say exactly what a test wants, byte by byte."""

import contextlib
import re
import socket
import ssl
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.utils import timezone

Handler = Callable[[socket.socket, bytes], None]
"""Gets the connection and the head of the request."""


class Loopback:
    """One thread for each connection; the handler says everything itself.

    Attributes:
        port: Where it listens.
        heads: Of the requests that came, in order.
    """

    def __init__(self, handler: Handler, context: ssl.SSLContext | None = None) -> None:
        self.heads: list[bytes] = []
        self.num_connections = 0
        self._handler = handler
        self._context = context
        self._ending = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(5)

    def address(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http{'s' if self._context else ''}://{host}:{self.port}{path}"

    def wait(self, seconds: float) -> bool:
        """Waits as a slow server does; True once the test is over."""
        return self._ending.wait(seconds)

    def _accept(self) -> None:
        while not self._ending.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.num_connections += 1
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(10)
        with contextlib.suppress(OSError):  # the client may leave at any time, and in most of these tests does
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            head = b""
            while b"\r\n\r\n" not in head:
                part = connection.recv(65536)
                if not part:
                    break
                head += part
            head, _, body = head.partition(b"\r\n\r\n")
            stated = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
            # A connection that ends with unread bytes is reset, and what was said last is lost.
            while stated and len(body) < int(stated[1]) and (part := connection.recv(65536)):
                body += part
            self.heads.append(head)
            self._handler(connection, head)
        connection.close()


def answer(
    body: bytes = b"", status: str = "200 OK", headers: tuple[str, ...] = (), *, is_measured: bool = True
) -> bytes:
    """A whole HTTP answer after which the connection ends."""
    lines = [f"HTTP/1.1 {status}", "Connection: close", *headers]
    if is_measured:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def path_of(head: bytes) -> str:
    return head.split(b" ", 2)[1].decode()


def certificate(folder: Path, names: list[str], days: int = 1) -> ssl.SSLContext:
    """A context with a self-made certificate, which `SSL_CERT_FILE` may then name."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    now = timezone.now()
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=9))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(each) for each in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    own, secret = folder / "own.pem", folder / "key.pem"
    own.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own, secret)
    return context
