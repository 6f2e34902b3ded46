"""Seeded faults in emitted packs, to measure whether their cases would notice a wrong tool."""

from environments.core.compile.mutation.model import Mutant, Operator, Score, score
from environments.core.compile.mutation.mutants import mutants

__all__ = ["Mutant", "Operator", "Score", "mutants", "score"]
