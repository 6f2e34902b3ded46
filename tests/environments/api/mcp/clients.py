"""The official clients of both protocol generations, and servers of a test's own."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import asynccontextmanager

import httpx
import httpx2
from django.conf import settings
from django.db import connection, connections
from mcp import Client, ClientSession
from mcp.client.streamable_http import streamable_http_client

from environments.core.access import Scope
from environments.services import create_api_token

READY_SECONDS = 60


@asynccontextmanager
async def legacy_client(address, key):
    """`ClientSession`, which speaks 2025-11-25."""
    async with (
        httpx2.AsyncClient(headers=bearer(key), timeout=60) as http,
        streamable_http_client(address, http_client=http) as (read, write),
        ClientSession(read, write) as session,
    ):
        started = await session.initialize()
        assert started.protocol_version == "2025-11-25"
        yield session


@asynccontextmanager
async def modern_client(address, key, mode="2026-07-28"):
    """`Client`, which speaks 2026-07-28 unless it is told to choose."""
    async with (
        httpx2.AsyncClient(headers=bearer(key), timeout=60) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        yield client


CLIENTS = {"2025-11-25": legacy_client, "2026-07-28": modern_client}


async def beside(function, **arguments):
    """A service in a thread, so that its connection is closed with it."""

    def run():
        try:
            return function(**arguments)
        finally:
            connections.close_all()

    return await asyncio.to_thread(run)


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def issue(user, name="agent", scopes=(Scope.SESSIONS,)):
    return create_api_token(user=user, name=name, scopes=list(scopes))


def text_of(result):
    (content,) = result.content
    return content.text


def value_of(result):
    """The value of a success, which is the text's."""
    assert not result.is_error, text_of(result)
    assert json.loads(text_of(result)) == result.structured_content
    return result.structured_content


def error_code(result):
    assert result.is_error
    assert result.structured_content is None
    return json.loads(text_of(result))["error"]["code"]


def ask(address, key=None, *, method="tools/list", params=None, headers=None, modern=False, **more):
    """One request as bytes go, for what the official clients would not send."""
    params = dict(params or {})
    version = "2026-07-28" if modern else "2025-11-25"
    more_headers = {"Mcp-Protocol-Version": version, "Accept": "application/json, text/event-stream"}
    if modern:
        more_headers["Mcp-Method"] = method
        if "name" in params:
            more_headers["Mcp-Name"] = params["name"]
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    sent = {**more_headers, **(bearer(key) if key else {}), **(headers or {})}
    return httpx.post(address, json=message, headers=sent, timeout=60, **more)


def message_of(response):
    return response.json()["error"]["message"]


class Server:
    """A console in a process of its own on the test's database."""

    def __init__(self, **environment):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "uvicorn", "envfactory_site.asgi:application", "--port", str(port),
                   "--log-level", "warning", "--timeout-graceful-shutdown", "2"]  # fmt: skip
        known = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "envfactory_site.settings.test",
            "TEST_DATABASE_NAME": connection.settings_dict["NAME"],
        }
        self.process = subprocess.Popen(command, cwd=settings.BASE_DIR, env={**known, **environment})

    def wait(self):
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, "uvicorn ended"
            try:
                if httpx.get(f"{self.address}/healthz").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.1)
        raise AssertionError("the console did not become ready")

    def address_of(self, session):
        return f"{self.address}/mcp/s/{session.code}/"

    def kill(self):
        self.process.kill()
        self.process.wait(20)

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
