"""Are two end states equal, up to the names of fresh ids (docs/contracts.md, C6, with its 21 sentences)?

| module | what it does |
| --- | --- |
| `changes` | the start state; changes folded per key against it; what tables must be like |
| `sides` | changed rows as the nodes of a graph, foreign keys to inserted rows as its edges |
| `values`, `text`, `json_text`, `numerals`, `negation` | when two values are equal, and by which rule |
| `search`, `partition`, `matching`, `closure` | the bijection: refinement, pairing with undo, two passes, one budget |
| `alignment`, `findings` | what matched, is missing or unexpected |
| `comparison` | `compare`, which joins them |
| `report` | a comparison as JSON and as sentences |
| `required`, `shifted` | what is asked of required changes and of runs with other ids before they are let in |
"""

from environments.runtime.equality.changes import StartState, find_table_faults
from environments.runtime.equality.comparison import Comparison, Outcome, compare
from environments.runtime.equality.errors import EqualityError
from environments.runtime.equality.findings import Finding
from environments.runtime.equality.report import explain, from_json, to_json
from environments.runtime.equality.required import check_required_changes
from environments.runtime.equality.shifted import find_id_copies
from environments.runtime.equality.values import Rule

__all__ = [
    "Comparison",
    "EqualityError",
    "Finding",
    "Outcome",
    "Rule",
    "StartState",
    "check_required_changes",
    "compare",
    "explain",
    "find_id_copies",
    "find_table_faults",
    "from_json",
    "to_json",
]
