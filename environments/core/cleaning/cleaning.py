"""Cleans one document: what is kept, why the rest is not, what each operation is taken to do, and in whose words."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from environments.core.cleaning.descriptions import Coverage, complete_description
from environments.core.cleaning.effects import propose_effect
from environments.core.cleaning.reasons import reasons_of
from environments.core.sources.model import Document, Effect

CLEANER_VERSION: Final = "1"
"""Raised whenever a rule changes; a document that an earlier one cleaned can be cleaned again."""


@dataclass(frozen=True, slots=True)
class CleanedOperation:
    """What cleaning says of one operation.

    Attributes:
        key: The operation's.
        reasons: Codes of `REASONS`; none means that it is kept. Duplicates are found over many documents, not here.
        effect: Proposed.
        effect_rule: What it was proposed by.
        description: The source's words, completed.
    """

    key: str
    reasons: tuple[str, ...]
    effect: Effect
    effect_rule: str
    description: str

    @property
    def is_kept(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.reasons


@dataclass(frozen=True, slots=True)
class Cleaning:
    """What came of a document, operation by operation in its order.

    Attributes:
        operations: One for each of the document's.
        coverage: Of the descriptions of what was kept.
    """

    operations: tuple[CleanedOperation, ...]
    coverage: Coverage

    @property
    def num_by_reason(self) -> dict[str, int]:
        """How many each reason speaks against; one operation may have several."""
        return dict(Counter(reason for operation in self.operations for reason in operation.reasons))


def clean(document: Document) -> Cleaning:
    """Looks at every operation of a document; deterministic, cost linear in its operations."""
    operations = []
    coverage = Coverage()
    for operation in document.operations:
        reasons = reasons_of(operation, document)
        effect, rule = propose_effect(operation)
        description, covered = complete_description(operation, document.definitions)
        if not reasons:
            coverage += covered
        operations.append(CleanedOperation(operation.key, reasons, effect, rule, description))
    return Cleaning(tuple(operations), coverage)
