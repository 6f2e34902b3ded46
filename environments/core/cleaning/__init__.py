"""Which operations are worth building from, and why the others are left out."""

from environments.core.cleaning.cleaning import CLEANER_VERSION, CleanedOperation, Cleaning, clean
from environments.core.cleaning.descriptions import Coverage
from environments.core.cleaning.duplicates import DuplicateIndex
from environments.core.cleaning.reasons import REASONS

__all__ = ["CLEANER_VERSION", "REASONS", "CleanedOperation", "Cleaning", "Coverage", "DuplicateIndex", "clean"]
