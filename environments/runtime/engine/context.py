"""`ctx`: everything of the world that a tool sees (docs/contracts.md, C3).

Ids, the clock and chance come from the state and its seed. What a call moved of them is taken back if the call does
not succeed.
"""

import base64
import datetime
import hashlib
import random  # noqa: TID251 - a seeded instance for each call, part of the contract with tools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import orjson

from environments.runtime.engine.database import JULIAN_MILLISECONDS, TIME, Database
from environments.runtime.engine.errors import FailureReason, Rejected, ToolFailure
from environments.runtime.records import Row, Value
from environments.runtime.tables import TableInfo

MAX_MESSAGE_CHARACTERS = 400
_TIME_FORM = "%Y-%m-%dT%H:%M:%SZ"
_SEPARATORS = "_-:./#"
_ID_CHARACTERS = 10


def digest(*parts: Any) -> bytes:
    """SHA-256 over the canonical JSON of the parts."""
    return hashlib.sha256(canonical(list(parts))).digest()


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no spaces."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


@dataclass(frozen=True, slots=True)
class IdRule:
    """How the ids of one table look in one scenario.

    Attributes:
        kind: INTEGER ids count on, TEXT ids have a prefix and a hash, uuid ids are a hash.
        highest: The greatest INTEGER id of the scenario, at least 0.
        prefix: The start of TEXT ids.
    """

    kind: str
    highest: int = 0
    prefix: str = ""


def id_rule(table: TableInfo, rows: Iterable[Row]) -> IdRule | None:
    """The rule that a table's generated id follows in a scenario; None for a table with natural keys."""
    name = table.generated_id
    if name is None:
        return None
    column = table.column(name)
    if column.type == "INTEGER":
        return IdRule("integer", highest=max((int(row[name] or 0) for row in rows), default=0))
    if column.format == "uuid":
        return IdRule("uuid")
    return IdRule("text", prefix=_prefix(table.name, [str(row[name]) for row in rows]))


def _prefix(table: str, ids: list[str]) -> str:
    """What the ids of a scenario start with: up to the last separator that all share, or their common letters."""
    fallback = f"{table[:3]}_"
    if not ids:
        return fallback
    low, high = min(ids), max(ids)
    shared = 0
    while shared < min(len(low), len(high)) and low[shared] == high[shared]:
        shared += 1
    common = low[:shared]
    for position in range(len(common) - 1, -1, -1):
        if common[position] in _SEPARATORS:
            return common[: position + 1]
    letters = re.match(r"[^\W\d_]*", common)
    return (letters.group() if letters else "") or fallback


class Ids:
    """The ids issued in an episode."""

    __slots__ = ("_issued_now", "_rules", "_seed", "counts", "offset")

    def __init__(self, rules: Mapping[str, IdRule], seed: int, offset: int) -> None:
        self._rules = rules
        self._seed = seed
        self.offset = offset
        self.counts: dict[str, int] = {}
        """How many ids of each table successful calls issued."""
        self._issued_now: list[tuple[str, Value]] = []

    def issue(self, table: str) -> int | str:
        """The next id of a table."""
        rule = self._rules.get(table)
        if rule is None:
            raise ToolFailure(FailureReason.ID_NOT_ISSUED, f"{table} has no generated id")
        number = self.counts.get(table, 0) + 1
        self.counts[table] = number
        made = self._make(rule, table, number + self.offset)
        self._issued_now.append((table, made))
        return made

    def _make(self, rule: IdRule, table: str, number: int) -> int | str:
        if rule.kind == "integer":
            return rule.highest + number
        hashed = digest(self._seed, table, number)
        if rule.kind == "text":
            return rule.prefix + base64.b32encode(hashed)[:_ID_CHARACTERS].decode().lower()
        raw = bytearray(hashed[:16])
        raw[6] = raw[6] & 0x0F | 0x40  # version 4
        raw[8] = raw[8] & 0x3F | 0x80  # the variant of RFC 9562
        text = raw.hex()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def was_issued(self, table: str, value: Value) -> bool:
        """Whether the running call got this id."""
        return (table, value) in self._issued_now

    def keep(self) -> None:
        """The call succeeded."""
        if self._issued_now:
            self._issued_now = []

    def take_back(self) -> None:
        """The call did not succeed."""
        for table, _ in self._issued_now:
            self.counts[table] -= 1
            if not self.counts[table]:
                del self.counts[table]
        self._issued_now = []


def seconds_of(text: str) -> int:
    """A time of the contract's form in seconds since 1970.

    Raises:
        ValueError: It has another form.
    """
    moment = datetime.datetime.strptime(text, _TIME_FORM).replace(tzinfo=datetime.UTC)
    return int(moment.timestamp())


class Clock:
    """The episode's time; it moves only by whole steps after calls that changed something."""

    __slots__ = ("_milliseconds", "_seconds", "text")

    def __init__(self, start: str, seconds: int) -> None:
        self.text = start
        self._seconds = seconds
        self._milliseconds = JULIAN_MILLISECONDS + seconds * 1000

    def step(self, seconds: int) -> None:
        """Moves the time on."""
        self._seconds += seconds
        self._milliseconds += seconds * 1000
        moment = datetime.datetime.fromtimestamp(self._seconds, datetime.UTC)
        self.text = moment.strftime(_TIME_FORM)

    def show_to_sqlite(self) -> None:
        """SQLite's own date functions see this episode's time from now on."""
        TIME.milliseconds = self._milliseconds


class StateAccess:
    """`ctx.db`: SQL with named parameters over the episode's state."""

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def one(self, sql: str, /, **parameters: Any) -> dict[str, Value] | None:
        """The first row as a dict, None if there is none."""
        return self._database.one(sql, parameters)

    def all(self, sql: str, /, **parameters: Any) -> list[dict[str, Value]]:
        """Every row as a dict."""
        return self._database.all(sql, parameters)

    def run(self, sql: str, /, **parameters: Any) -> int:
        """How many rows the statement changed."""
        return self._database.run(sql, parameters)


class Context:
    """What a tool gets as its first argument."""

    __slots__ = ("_chance", "_chance_seed", "_clock", "_ids", "_rejected", "db")

    def __init__(self, database: Database, ids: Ids, clock: Clock) -> None:
        self.db = StateAccess(database)
        self._ids = ids
        self._clock = clock
        self._chance: random.Random | None = None
        self._chance_seed: tuple[Any, ...] = ()
        self._rejected: str | None = None

    def now(self) -> str:
        """The episode's time, `YYYY-MM-DDTHH:MM:SSZ`."""
        return self._clock.text

    def new_id(self, table: str) -> int | str:
        """A new id for one row of the table."""
        return self._ids.issue(table)

    @property
    def rng(self) -> random.Random:
        """A generator that draws the same in every replay of this call."""
        if self._chance is None:
            seed = int.from_bytes(digest(*self._chance_seed), "big")
            self._chance = random.Random(seed)  # noqa: S311 - a simulation, no secret
        return self._chance

    def reject(self, code: str, message: str) -> NoReturn:
        """Refuses the call with a declared code."""
        self._rejected = str(code)[:80]
        raise Rejected(code, message)


def start_call(context: Context, chance_seed: tuple[Any, ...]) -> None:
    """Makes a context ready for the next call.

    Args:
        context: The episode's.
        chance_seed: Seed, tool, canonical arguments and how many equal calls came before.
    """
    context._chance = None
    context._chance_seed = chance_seed
    context._rejected = None


def swallowed_rejection(context: Context) -> str | None:
    """The code of a rejection that the tool raised and then swallowed."""
    return context._rejected
