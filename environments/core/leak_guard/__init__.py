"""Keeps public benchmarks out of what environments are made from (docs/leak_guard.md)."""

from environments.core.leak_guard.comparison import Comparison, compare_sets
from environments.core.leak_guard.data import GuardData
from environments.core.leak_guard.guard import Guard
from environments.core.leak_guard.model import (
    Examination,
    GuardSubject,
    GuardTable,
    GuardTool,
    Hit,
    Measure,
    Member,
    Nearness,
    Neighbour,
    Rule,
)
from environments.core.leak_guard.subjects import subject_of, subject_of_pack

__all__ = [
    "Comparison",
    "Examination",
    "Guard",
    "GuardData",
    "GuardSubject",
    "GuardTable",
    "GuardTool",
    "Hit",
    "Measure",
    "Member",
    "Nearness",
    "Neighbour",
    "Rule",
    "compare_sets",
    "subject_of",
    "subject_of_pack",
]
