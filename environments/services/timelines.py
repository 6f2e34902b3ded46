"""What a session's calls did, read from its rows: states at any step, playing again, and forks beside their record.

Nothing here changes a session. Results of calls are not read but by the replay check, which needs their bytes.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from django.db.models import TextField
from django.db.models.functions import MD5

from environments.core.errors import ReplayDiffersError
from environments.core.timeline import Timeline
from environments.models import EnvironmentSession, ToolCall, ToolCallQuerySet
from environments.runtime.net_changes import NetChanges, change_from_json
from environments.runtime.records import Row, RowChange
from environments.runtime.session import Start, State
from environments.runtime.tables import TableInfo
from environments.services.descriptions import describe_tables
from environments.services.sessions import UNPLAYED, close_quietly, open_at, sandbox_errors
from environments.services.workers import environment_of

MAX_TIMELINE_VALUES: Final = 2_000_000
"""Values of rows that all timelines kept in this process hold together: about 200 MB."""
MAX_COMPARISONS: Final = 128

Made = TypeVar("Made")


class _Kept(Generic[Made]):
    """What was made for a key, the longest unused let go first; thread-safe."""

    def __init__(self, most: int, weigh: Callable[[Made], int]) -> None:
        self._most = most
        self._weigh = weigh
        self._lock = threading.Lock()
        self._made: OrderedDict[Hashable, tuple[Made, int]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key][0]
        made = make()
        with self._lock:
            self._made[key] = (made, self._weigh(made))
            weight = sum(each for _, each in self._made.values())
            while weight > self._most and len(self._made) > 1:
                weight -= self._made.popitem(last=False)[1][1]
        return made


_timelines: _Kept[Timeline] = _Kept(MAX_TIMELINE_VALUES, lambda made: made.num_values)
_comparisons: "_Kept[Comparison]" = _Kept(MAX_COMPARISONS, lambda _: 1)


# --- Episodes and their states ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Episode:
    """One run of calls of a session: the one in hand, or one that a reset or a restored snapshot ended.

    Attributes:
        session: Whose.
        number: From 0.
        scenario: Where it began.
        seed: Of ids and randomness; None is the scenario's own.
        start_snapshot: If it began at a snapshot.
        num_calls: How many calls it has.
        is_past: Whether it can get no more.
    """

    session: EnvironmentSession
    number: int
    scenario: str
    seed: int | None
    start_snapshot: str | None
    num_calls: int
    is_past: bool

    @property
    def record(self) -> "Record | None":
        """What its calls are compared with; None for what is no fork, or whose record is deleted."""
        fork = self.session
        if self.number != 0 or fork.forked_from is None or fork.forked_calls is None or fork.forked_episode is None:
            return None
        return Record(fork.forked_from, fork.forked_episode, fork.forked_calls)

    @property
    def start(self) -> Start:
        """Where its transcript begins."""
        snapshot = self.start_snapshot
        return Start(
            self.scenario, self.seed, snapshot.encode("utf-8", "surrogatepass") if snapshot is not None else None
        )


@dataclass(frozen=True, slots=True)
class Record:
    """Where a fork came from.

    Attributes:
        session: The session that was forked.
        episode: Which of its episodes.
        num_calls: How many calls the fork took over.
    """

    session: EnvironmentSession
    episode: int
    num_calls: int

    def calls(self) -> ToolCallQuerySet:
        """The record's calls behind the fork."""
        return self.session.calls.filter(episode=self.episode, index__gte=self.num_calls).order_by("index")


def find_episode(*, session: EnvironmentSession, number: int | None = None) -> Episode | None:
    """An episode of the session, by default the one in hand; None if there is no such."""
    if number is None or number == session.episode:
        return Episode(
            session, session.episode, session.scenario, session.seed, session.start_snapshot, session.num_calls, False
        )
    past = session.past_episode(number)
    if past is None:
        return None
    return Episode(session, past.number, past.scenario, past.seed, past.start_snapshot, past.num_calls, True)


def episode_timeline(*, episode: Episode) -> Timeline:
    """The states of an episode; kept in this process until calls are added or memory is short.

    Raises:
        NotVerifiedError: If the version has gone back to quarantine.
        SandboxFailedError: If the worker that knows the tables' keys can't be had.
        ReplayDiffersError: If the recorded changes don't fit the start.
    """
    key = (episode.session.pk, episode.number, episode.num_calls)
    return _timelines.get(key, lambda: _make_timeline(episode))


def _make_timeline(episode: Episode) -> Timeline:
    tables = describe_tables(version=episode.session.version)
    calls = episode.session.calls.filter(episode=episode.number, index__lt=episode.num_calls).order_by("index")
    steps = [[change_from_json(change) for change in changes] for changes in calls.values_list("changes", flat=True)]
    columns = {table.name: [column.name for column in table.columns] for table in tables}
    keys = {table.name: table.primary_key for table in tables}
    try:
        return Timeline(columns, keys, _start_rows(episode, tables), steps)
    except ValueError as error:
        raise ReplayDiffersError(f"The recorded changes don't fit the start: {error}. The record is suspect.") from None


def _start_rows(episode: Episode, tables: tuple[TableInfo, ...]) -> dict[str, list[Row]]:
    """Rows at the start: the scenario's own, or the worker's if the episode began at a snapshot."""
    version = episode.session.version
    if episode.start_snapshot is not None:
        with sandbox_errors():
            live = open_at(environment_of(version), episode.scenario, episode.seed, episode.start_snapshot)
            try:
                return {name: list(rows) for name, rows in live.state().items()}
            finally:
                close_quietly(live)
    rows = version.scenarios.values_list("rows", flat=True).get(name=episode.scenario)
    return {table.name: [_as_stored(row, table) for row in rows.get(table.name, ())] for table in tables}


def _as_stored(row: Row, table: TableInfo) -> Row:
    """A scenario's row as SQLite gives it back: columns in their order, whole numbers of REAL columns as floats."""
    values: dict[str, Any] = {column.name: row[column.name] for column in table.columns}
    for column in table.columns:
        value = values[column.name]
        if column.type == "REAL" and isinstance(value, int):
            values[column.name] = float(value)
    return values


# --- Played again -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Difference:
    """The first call that answered otherwise when played again."""

    index: int
    tool: str
    recorded_status: str
    recorded: str
    made_status: str
    made: str


@dataclass(frozen=True, slots=True)
class ReplayCheck:
    """What came of playing an episode again in a forked child.

    Attributes:
        num_calls: Calls of the record.
        num_played: Those that were played; calls that never reached a tool are not.
        difference: The first that answered otherwise, None if all bytes are the same.
        is_same_end: Whether the recorded changes lead to the state that was reached.
    """

    num_calls: int
    num_played: int
    difference: Difference | None
    is_same_end: bool

    @property
    def is_same(self) -> bool:
        """Whether nothing differs."""
        return self.difference is None and self.is_same_end


def check_replay(*, episode: Episode) -> ReplayCheck:
    """Plays the recorded calls again in a forked child and compares every observation, and the end, with the record.

    Raises:
        NotVerifiedError: If the version is in quarantine.
        SandboxFailedError: If the worker can't be had, or a call ended it.
    """
    version = episode.session.version
    describe_tables(version=version)  # refuses what is in quarantine
    rows = episode.session.calls.filter(episode=episode.number, index__lt=episode.num_calls).order_by("index")
    records = [row.to_core() for row in rows]
    played = [record for record in records if record.status not in UNPLAYED]
    with sandbox_errors():
        again = environment_of(version).play(
            episode.start, [(record.tool, record.arguments) for record in played], ("state",)
        )
    difference = next(
        (
            Difference(record.index, record.tool, record.status.value, record.observation,
                       made.status.value, made.observation)
            for record, made in zip(played, again.records, strict=True)
            if (record.status, record.observation) != (made.status, made.observation)
        ),
        None,
    )  # fmt: skip
    return ReplayCheck(len(records), len(played), difference, _is_recorded_end(episode, again.state))


def _is_recorded_end(episode: Episode, state: State | None) -> bool:
    """Whether the recorded changes lead to this state."""
    try:
        return episode_timeline(episode=episode).state(episode.num_calls - 1) == state
    except ReplayDiffersError:
        return False


# --- A fork beside its record -----------------------------------------------------------------------------------------

SAME: Final = "same"
DIFFERS: Final = "differs"
EDITED: Final = "edited"
ADDED: Final = "added"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A fork's own calls beside those of the record at the same places.

    Attributes:
        first: Index of the first call after the fork.
        words: By index: `same` bytes, `differs`, `edited` (another call was made), or `added` (the record has none).
        num_recorded: How many calls the record has.
    """

    first: int
    words: dict[int, str]
    num_recorded: int

    @property
    def divergence(self) -> int | None:
        """The first call after the fork, other than the edited ones, that answered otherwise."""
        return next((index for index, word in self.words.items() if word == DIFFERS), None)

    @property
    def edited(self) -> int | None:
        """The first call that is another one than the record's."""
        return next((index for index, word in self.words.items() if word == EDITED), None)

    def count(self, word: str) -> int:
        """How many calls have this word."""
        return sum(each == word for each in self.words.values())

    @property
    def num_compared(self) -> int:
        """How many of the fork's own calls have one of the record beside them."""
        return len(self.words) - self.count(ADDED)


def compare_with_record(*, episode: Episode) -> Comparison | None:
    """A fork's calls beside the record's; None for what is no fork, or whose record is deleted."""
    record = episode.record
    if record is None:
        return None
    key = (episode.session.pk, episode.num_calls, record.session.pk, record.session.revision)
    return _comparisons.get(key, lambda: _make_comparison(episode, record))


def _make_comparison(episode: Episode, record: Record) -> Comparison:
    columns = ("index", "tool", MD5("arguments", output_field=TextField()), "status", MD5("observation"))
    made = episode.session.calls.filter(episode=0, index__gte=record.num_calls, index__lt=episode.num_calls)
    recorded = {index: rest for index, *rest in record.calls().values_list(*columns)}
    words = {}
    for index, *rest in made.order_by("index").values_list(*columns):
        there = recorded.get(index)
        if there is None:
            words[index] = ADDED
        elif there[:2] != rest[:2]:
            words[index] = EDITED
        else:
            words[index] = SAME if there == rest else DIFFERS
    return Comparison(record.num_calls, words, record.num_calls + len(recorded))


def recorded_call(*, episode: Episode, index: int, characters: int) -> ToolCall | None:
    """The record's call beside a fork's own, with the start of its result; None where the record has none."""
    record = episode.record
    return record.calls().filter(index=index).with_preview(characters).first() if record is not None else None


@dataclass(frozen=True, slots=True)
class EndDifference:
    """How a fork's state differs from the record's after as many calls.

    Attributes:
        at: Index of the last call that both have.
        changes: What leads from the record's state to the fork's.
    """

    at: int
    changes: tuple[RowChange, ...]


def end_difference(*, episode: Episode) -> EndDifference | None:
    """The states of a fork and its record, both after the last call that both have; None for what is no fork.

    Raises:
        NotVerifiedError, SandboxFailedError, ReplayDiffersError: As for a timeline.
    """
    origin = episode.record
    record = find_episode(session=origin.session, number=origin.episode) if origin is not None else None
    if record is None:
        return None
    at = min(episode.num_calls, record.num_calls) - 1
    now, recorded = episode_timeline(episode=episode), episode_timeline(episode=record)
    return EndDifference(at, NetChanges(now.since_start(at)).since(NetChanges(recorded.since_start(at))))
