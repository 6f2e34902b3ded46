"""Lists of tools in every form that the field has published, and what MCP servers say of themselves."""

from environments.core.sources.tool_lists.reader import McpServerReader, ToolListReader

__all__ = ["McpServerReader", "ToolListReader"]
