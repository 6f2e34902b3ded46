"""The ASGI application, served by uvicorn: the MCP door below /mcp/, everything else by Django."""

import os
import warnings
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "envfactory_site.settings.local")

# WhiteNoise sends files from a synchronous iterator, a thread hop for each; browsers keep them, so it is rarely asked.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")

django.setup(set_prefix=False)

# The registry of models must be ready before they are imported.
from envfactory_site.handler import OneHopHandler  # noqa: E402
from environments.api.mcp import McpApplication, serve_lifespan  # noqa: E402

console = OneHopHandler()
mcp = McpApplication()


async def application(scope: Any, receive: Any, send: Any) -> None:
    """One connection of the server's, or its start and end."""
    if scope["type"] == "lifespan":
        await serve_lifespan(mcp, receive, send)
    elif scope["type"] == "http" and scope["path"].startswith("/mcp/"):
        await mcp(scope, receive, send)
    else:
        await console(scope, receive, send)
