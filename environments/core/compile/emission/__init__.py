"""From a blueprint to a pack: schema.sql, tools.py and environment.json, deterministic and readable."""

from environments.core.compile.emission.entries import tool_entries
from environments.core.compile.emission.pack import emit_pack
from environments.core.compile.emission.schema import emit_schema
from environments.core.compile.emission.tools import emit_tools

__all__ = ["emit_pack", "emit_schema", "emit_tools", "tool_entries"]
