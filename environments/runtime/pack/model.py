"""The environment pack as values: e = (m, D, π, V) (docs/contracts.md, C2).

Reading checks that a file has this shape; `validation` then checks that it makes sense; schema.sql and tools.py are
only text here, since the host never prepares a pack's SQL or compiles its source.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from environments.runtime.records import CallStatus, Row, RowChange

FORMAT = "envfactory-pack/1"


@dataclass(frozen=True, slots=True)
class Licence:
    """Under which terms a pack or source may be used."""

    spdx: str | None = None
    name: str | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Provenance:
    """One authentic source of the pack."""

    kind: str
    address: str
    sha256: str
    retrieved_at: str
    version: str | None = None
    licence: Licence | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """How a column is compared (docs/contracts.md, C6); a foreign-key column has no class of its own (None)."""

    comparison: Literal["hard", "semantic", "exempt"] | None = None
    generated: Literal["id", "now", "random"] | None = None
    format: Literal["uuid"] | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table's role and its columns' meaning; types and keys are in schema.sql."""

    description: str
    role: Literal["entity", "link", "log"]
    columns: Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class Condition:
    """A predicate over the state and a call; holds only if its SQL gives the integer 1."""

    code: str
    sql: str
    message: str
    policy: str | None = None


@dataclass(frozen=True, slots=True)
class Rejection:
    """A code that the tool itself may reject with."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a tool comes from."""

    source: str | None
    operation: str | None
    author: Literal["compiler", "model", "person"]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its interface, its conditions and its effect; its code is the function of that name in tools.py."""

    name: str
    title: str
    description: str
    effect: Literal["read", "write"]
    audience: Literal["agent", "user"]
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    argument_names: Mapping[str, str] = field(default_factory=dict)
    captures: Mapping[str, str] = field(default_factory=dict)
    preconditions: tuple[Condition, ...] = ()
    postconditions: tuple[Condition, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """A named initial state: rows by table in primary-key order, clock and seed; no goal."""

    name: str
    level: Literal["simple", "medium", "complex", "boundary"]
    clock_start: str
    seed: int
    rows: Mapping[str, tuple[Row, ...]]


@dataclass(frozen=True, slots=True)
class CaseCall:
    """One call of a case; `{"$result": [index, "/pointer"]}` in the arguments stands for an earlier result."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What one call of a case must give: its status, code, and a subset of its result."""

    status: CallStatus
    code: str | None = None
    result: Any = None


@dataclass(frozen=True, slots=True)
class Case:
    """One verification case: calls from a scenario (or rows of its own), what each must give and what must change."""

    name: str
    tool: str
    kind: Literal["success", "boundary", "rejection"]
    calls: tuple[CaseCall, ...]
    expect: tuple[Expectation, ...]
    changes: tuple[RowChange, ...]
    author: str
    scenario: str | None = None
    rows: Mapping[str, tuple[Row, ...]] | None = None


@dataclass(frozen=True, slots=True)
class Pack:
    """The whole pack.

    Attributes:
        clock_start: When an episode starts, `YYYY-MM-DDTHH:MM:SSZ`.
        clock_step_seconds: Added after each successful write.
        schema_sql: D, the text of schema.sql.
        tools_py: π, the text of tools.py.
        scenarios: By name, in name order.
        cases: V, in file order.
    """

    name: str
    title: str
    domain: str
    description: str
    language: str
    licence: Licence
    clock_start: str
    clock_step_seconds: int
    tables: Mapping[str, Table]
    tools: tuple[Tool, ...]
    provenance: tuple[Provenance, ...]
    schema_sql: str
    tools_py: str
    scenarios: tuple[Scenario, ...] = ()
    cases: tuple[Case, ...] = ()

    def tool(self, name: str) -> Tool | None:
        """The tool with that name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def scenario(self, name: str) -> Scenario | None:
        """The scenario with that name."""
        return next((scenario for scenario in self.scenarios if scenario.name == name), None)
