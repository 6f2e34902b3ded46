"""Where descriptions of tools are fetched from: addresses, files, MCP servers, collections.

Parsing what was fetched is in `environments.core.sources`.
"""

from environments.adapters.sources.address import fetch_source
from environments.adapters.sources.collections import FolderCollection, IndexCollection
from environments.adapters.sources.entries import Collection, CollectionEntry
from environments.adapters.sources.files import find_files, read_files
from environments.adapters.sources.mcp_servers import list_server_tools

__all__ = [
    "Collection",
    "CollectionEntry",
    "FolderCollection",
    "IndexCollection",
    "fetch_source",
    "find_files",
    "list_server_tools",
    "read_files",
]
