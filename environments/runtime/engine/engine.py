"""One pack, ready to run in this process: validated, prepared, with its base images."""

import ast
import itertools
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import apsw
import orjson

from environments.runtime.engine.changes import TableShape
from environments.runtime.engine.context import IdRule, canonical, id_rule, seconds_of
from environments.runtime.engine.database import MAX_PAGES, Database, insert_row, open_connection
from environments.runtime.engine.episode import Episode, Snapshot, decode_snapshot
from environments.runtime.engine.errors import EngineError, PackRefusedError
from environments.runtime.engine.gate import check_source
from environments.runtime.engine.live import LiveState
from environments.runtime.engine.program import ToolProgram, check_functions, prepare_tools
from environments.runtime.engine.schema_rules import LoadedSchema
from environments.runtime.engine.source import Source
from environments.runtime.engine.statements import StatementBook
from environments.runtime.faults import Fault
from environments.runtime.pack import content_sha256
from environments.runtime.pack.model import Pack, Scenario
from environments.runtime.tables import TableInfo

MAX_BASES = 64
"""Base images kept; one of 500 rows has some 170 KB."""
MAX_ROW_FAULTS = 20
"""Faults listed for one set of rows."""
_BLOCKING = frozenset(
    {"sql_syntax", "sql_statement", "sql_type", "table_without_key", "table_not_strict", "foreign_key_target"}
)


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """A scenario as an image that episodes start from.

    Attributes:
        reference: How a snapshot names it: by name if it is the pack's, else whole.
    """

    scenario: Scenario
    image: bytes
    id_rules: dict[str, IdRule]
    start_seconds: int
    reference: Any


class Engine:
    """One pack in this process.

    Attributes:
        pack: The pack.
        faults: What is wrong with it, as far as SQL and source tell.
        tables: Its tables as SQLite made them.
        programs: Its tools by name.

    Building it compiles tools.py and prepares every condition, but executes nothing of the pack: the first call of an
    episode does.
    """

    def __init__(self, pack: Pack, *, gate: bool = True, content_sha256: str | None = None) -> None:
        """Prepares a pack.

        Args:
            pack: Whose host half of validation has passed.
            gate: Whether tools.py is held to the gate; off only in tests of what the locked process itself stops.
            content_sha256: The pack's identity, if somebody has found it out.
        """
        self.pack = pack
        self._content_sha256 = content_sha256
        self.programs: dict[str, ToolProgram] = {}
        self._bases: OrderedDict[bytes, Base] = OrderedDict()
        self._named: dict[str, Base] = {}
        self._schema = LoadedSchema(pack)
        faults = list(self._schema.faults)
        can_be_made = not any(fault.code in _BLOCKING for fault in faults)
        # A table of a schema that cannot be made may have types that TableInfo has no word for.
        self.tables: tuple[TableInfo, ...] = self._schema.tables if can_be_made else ()
        self.shapes = {table.name: TableShape(table) for table in self.tables}
        self._book = StatementBook(self.tables)
        tree, source_faults = check_source(pack.tools_py)
        if gate or tree is None:
            faults += source_faults
        source, more_faults = self._prepare(tree, gate=gate) if can_be_made else (None, [])
        faults += more_faults
        self._source: Source | None = source
        self.faults: tuple[Fault, ...] = tuple(faults)
        self._can_run = source is not None and not (gate and faults)

    def _prepare(self, tree: ast.Module | None, *, gate: bool) -> tuple[Source | None, list[Fault]]:
        """Prepares conditions and source over an empty state, and tells what is wrong with them and the scenarios."""
        source: Source | None = None
        try:
            empty = Database(self._image({}), self._book, self.shapes)
        except apsw.Error as error:
            return None, [Fault("sql_syntax", "schema.sql", str(error))]
        try:
            program = prepare_tools(self.pack.tools, empty)
            self.programs = program.tools
            faults = program.faults
            if tree is not None:
                function_faults = list(check_functions(tree, self.pack.tools, empty))
                faults += function_faults if gate else ()
                source = Source(tree)
        finally:
            empty.close()
        return source, faults + self._scenario_faults()

    @cached_property
    def content_sha256(self) -> str:
        """The pack's identity."""
        return self._content_sha256 or content_sha256(self.pack)

    def open(self, scenario: Scenario | str, seed: int | None = None, *, id_offset: int = 0) -> Episode:
        """A new episode.

        Args:
            scenario: The name of one of the pack's, or any other.
            seed: None for the scenario's own.
            id_offset: Every id counter starts so much higher.

        Raises:
            PackRefusedError: The pack has faults.
            EngineError: The scenario is unknown or does not fit the schema.
        """
        if not self._can_run:
            listed = "; ".join(str(fault) for fault in self.faults[:5])
            raise PackRefusedError(f"{self.pack.name} has {len(self.faults)} faults: {listed}")
        base = self.base(scenario)
        return Episode(self, base, base.scenario.seed if seed is None else seed, id_offset)

    def new_live_state(self, base: Base) -> LiveState:
        """The moving parts of an episode over a base image."""
        if self._source is None:
            raise PackRefusedError("tools.py does not parse")
        return LiveState(image=base.image, book=self._book, shapes=self.shapes, source=self._source)

    def base(self, scenario: Scenario | str) -> Base:
        """The base image of a scenario, made once.

        Raises:
            EngineError: It is unknown or does not fit the schema.
        """
        if isinstance(scenario, str):
            named = self._named.get(scenario)
            if named is not None:
                return named
            found = self.pack.scenario(scenario)
            if found is None:
                raise EngineError(f"{self.pack.name} has no scenario {scenario[:80]}")
            base = self._named[scenario] = self._make_base(found, scenario)
            return base
        own = self.pack.scenario(scenario.name)
        if own is scenario or own == scenario:
            return self.base(scenario.name)
        whole = _scenario_json(scenario)
        key = canonical(whole)
        if key not in self._bases:
            self._bases[key] = self._make_base(scenario, whole)
            if len(self._bases) > MAX_BASES:
                self._bases.popitem(last=False)
        self._bases.move_to_end(key)
        return self._bases[key]

    def base_of_reference(self, reference: Any) -> Base:
        """The base image that a snapshot names."""
        if isinstance(reference, str):
            return self.base(reference)
        try:
            rows = {table: tuple(rows) for table, rows in reference["rows"].items()}
            scenario = Scenario(
                reference["name"], reference["level"], reference["clock_start"], reference["seed"], rows
            )
        except (TypeError, KeyError, AttributeError) as error:
            raise EngineError(f"the snapshot names no scenario: {error}") from None
        return self.base(scenario)

    def read_snapshot(self, snapshot: bytes) -> Snapshot:
        """A snapshot of this pack.

        Raises:
            EngineError: It is another pack's, or none.
        """
        found = decode_snapshot(snapshot)
        if found.content_sha256 != self.content_sha256:
            raise EngineError("the snapshot is of another version of the pack")
        return found

    def _make_base(self, scenario: Scenario, reference: Any) -> Base:
        faults: list[Fault] = []
        try:
            start_seconds = seconds_of(scenario.clock_start)
        except ValueError as error:
            raise EngineError(f"the scenario {scenario.name} does not fit: {error}") from None
        image = self._image(scenario.rows, faults, f"scenarios/{scenario.name}")
        if faults:
            raise EngineError(f"the scenario {scenario.name} does not fit: {faults[0]}")
        rules = {}
        for table in self.tables:
            rule = id_rule(table, scenario.rows.get(table.name, ()))
            if rule is not None:
                rules[table.name] = rule
        return Base(scenario, image, rules, start_seconds, reference)

    def _image(self, rows: Any, faults: list[Fault] | None = None, place: str = "") -> bytes:
        """The database of these rows as bytes; rows that do not fit become faults."""
        connection = open_connection()
        try:
            connection.execute("PRAGMA foreign_keys=0")
            for statement in self._schema.statements:
                connection.execute(statement)
            connection.execute("BEGIN")
            for table, table_rows in sorted(rows.items()):
                if faults is not None and table not in self.shapes:
                    faults.append(Fault("scenario_rows", f"{place}/rows/{table}", f"there is no table {table}"))
                    continue
                for position, row in enumerate(table_rows):
                    try:
                        insert_row(connection, table, row)
                    except (apsw.Error, TypeError, OverflowError, ValueError) as error:
                        if faults is not None:
                            faults.append(Fault("scenario_rows", f"{place}/rows/{table}/{position}", str(error)))
            if faults is not None and not faults:  # rows that were refused would be missed by those that refer to them
                broken = connection.execute("PRAGMA foreign_key_check").fetchall()
                faults.extend(
                    Fault(
                        "scenario_foreign_keys", f"{place}/rows/{table}", f"a row refers to a missing row of {target}"
                    )
                    for table, _, target, _ in broken[:5]
                )
            connection.execute("COMMIT")
            return connection.serialize("main")
        finally:
            connection.close()

    def _scenario_faults(self) -> list[Fault]:
        found: list[Fault] = []
        starts = [(f"scenarios/{scenario.name}", scenario.rows) for scenario in self.pack.scenarios]
        starts += [(f"cases/{case.name}", case.rows) for case in self.pack.cases if case.rows is not None]
        for place, rows in starts:
            faults: list[Fault] = []
            self._image(rows, faults, place)
            for table in self.tables:
                keys = [tuple(row.get(column) for column in table.primary_key) for row in rows.get(table.name, ())]
                if not _is_sorted(keys):
                    faults.append(
                        Fault("scenario_key_order", f"{place}/rows/{table.name}", "the rows are not in key order")
                    )
            found += faults[:MAX_ROW_FAULTS]
        return found


def _is_sorted(keys: list[tuple[Any, ...]]) -> bool:
    try:
        return all(first < second for first, second in itertools.pairwise(keys))
    except TypeError:  # a value of a wrong type is reported as such
        return True


def _scenario_json(scenario: Scenario) -> dict[str, Any]:
    rows = {table: [dict(row) for row in rows] for table, rows in scenario.rows.items()}
    # Through JSON, so that a scenario given and one read back from a snapshot have one reference.
    whole: dict[str, Any] = orjson.loads(
        canonical(
            {
                "name": scenario.name,
                "level": scenario.level,
                "clock_start": scenario.clock_start,
                "seed": scenario.seed,
                "rows": rows,
            }
        )
    )
    return whole


STATE_BYTES = MAX_PAGES * 4096
"""How large the state of an episode may grow."""
