"""The MCP door: environments as tool servers for agents, over Streamable HTTP and stdio (docs/mcp.md)."""

from environments.api.mcp.application import McpApplication, serve_lifespan
from environments.api.mcp.stdio import serve_stdio

__all__ = ["McpApplication", "serve_lifespan", "serve_stdio"]
