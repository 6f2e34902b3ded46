"""Static checks of packs: what does not fit together is found without running anything."""

from environments.core.logic.check import check_logic
from environments.core.logic.model import LogicFinding, LogicReport, Severity, ToolUse
from environments.core.logic.source import Source, read_source

__all__ = ["LogicFinding", "LogicReport", "Severity", "Source", "ToolUse", "check_logic", "read_source"]
