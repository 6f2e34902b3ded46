"""What the replay of a session shows, made from its rows: outline, one step, the state at a step, a fork's record."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.db import models
from django.db.models.functions import Greatest, Left, Lower, StrIndex, Substr
from django.http import Http404
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from environments import services
from environments.core.access import Permission
from environments.core.timeline import START, RowAt, Timeline
from environments.forms import ReplayForm
from environments.models import EnvironmentSession, ToolCall, ToolCallQuerySet
from environments.models.fields import exact_json
from environments.runtime.records import ChangeKind, Value
from environments.services.timelines import ADDED, DIFFERS, SAME, Comparison, Episode
from environments.services.what_if import MAX_GO_ON
from environments.templatetags.replay import on_lines
from environments.web import HtmxHttpRequest

OUTLINE_SIZE: Final = 1000
"""Steps that the outline lists at once."""
PREVIEW_CHARACTERS: Final = 4096
"""Of a result, at first."""
MORE_CHARACTERS: Final = 102_400
"""Of a result, with each "show more"."""
MAX_CHARACTERS: Final = 1_048_576
"""Of a result in a page; the rest is opened raw or downloaded."""
EXCERPT_CHARACTERS: Final = 240
ARGUMENT_CHARACTERS: Final = 20_000
ROWS_SHOWN: Final = 200
MORE_ROWS: Final = 1000
MAX_TOOL_CHARACTERS: Final = 120


@dataclass(frozen=True, slots=True)
class Replay:
    """A session as one address shows it.

    Attributes:
        episode: Which episode.
        words: What is searched for; steps that do not hold it are left out.
        failed: Whether only calls that gave no result are listed.
    """

    episode: Episode
    words: str
    failed: bool

    @property
    def session(self) -> EnvironmentSession:
        """Whose."""
        return self.episode.session

    @property
    def calls(self) -> ToolCallQuerySet:
        """All steps of the episode."""
        calls = self.session.calls.filter(episode=self.episode.number, index__lt=self.episode.num_calls)
        return calls.order_by("index")

    @property
    def listed(self) -> ToolCallQuerySet:
        """The steps that the outline lists."""
        calls = self.calls
        if self.failed:
            calls = calls.failed()
        return calls.search(self.words) if self.words else calls

    @property
    def is_filtered(self) -> bool:
        """Whether the outline leaves steps out."""
        return bool(self.words or self.failed)

    def query(self, **changes: Any) -> str:
        """The filters as the end of an address, with or without its question mark; None leaves one out."""
        values: dict[str, Any] = {
            "episode": self.episode.number if self.episode.is_past else None,
            "q": self.words or None,
            "failed": "on" if self.failed else None,
            **changes,
        }
        text = urlencode({name: value for name, value in values.items() if value is not None})
        return f"?{text}" if text else ""

    def step_url(self, index: int, **changes: Any) -> str:
        """The address of a step under the same filters."""
        return reverse("session_step", args=[self.session.code, index]) + self.query(**changes)

    def state_url(self, at: int, **changes: Any) -> str:
        """The address of the state after a step."""
        shown = "start" if at == START else at
        return reverse("session_state", args=[self.session.code]) + self.query(at=shown, **changes)


def read_replay(request: HtmxHttpRequest, session: EnvironmentSession) -> Replay:
    """What the address asks for; nonsense in it is left out.

    Raises:
        Http404: There is no such episode.
    """
    form = ReplayForm(request.GET)
    form.is_valid()
    wanted = form.cleaned_data
    episode = services.find_episode(session=session, number=wanted.get("episode"))
    if episode is None:
        raise Http404("The session has no such episode.")
    return Replay(episode, wanted.get("q") or "", bool(wanted.get("failed")))


# --- The frame --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OutlineLine:
    """One step in the outline."""

    index: int
    url: str
    tool: str
    status: str
    num_changes: int
    num_bytes: int
    compared: str
    is_current: bool


def frame_context(request: HtmxHttpRequest, replay: Replay, *, at: int) -> dict[str, Any]:
    """What every page of a replay shows around its own region; `at` is the step in hand."""
    session, episode = replay.session, replay.episode
    comparison = services.compare_with_record(episode=episode)
    may_play = request.user.may(Permission.OPEN_SESSIONS)
    return {
        "session": session,
        "replay": replay,
        "episode": episode,
        "at": at,
        "comparison": comparison,
        "may_play": may_play,
        "last_index": episode.num_calls - 1,
        "check_query": replay.query(q=None, failed=None),
        "record_url": _recorded_url(replay, session.forked_calls or 0),
        "comparison_url": reverse("session_comparison", args=[session.code]),
        "step_url": replay.step_url(max(at, 0)) if episode.num_calls else "",
        "state_url": replay.state_url(at),
        **_outline(replay, at, comparison),
        **_episodes(replay),
    }


def _outline(replay: Replay, at: int, comparison: Comparison | None) -> dict[str, Any]:
    listed = replay.listed
    num_listed = listed.count() if replay.is_filtered else replay.episode.num_calls
    before = listed.filter(index__lt=at).count() if replay.is_filtered else max(at, 0)
    window = before // OUTLINE_SIZE
    first = window * OUTLINE_SIZE
    tool = Left("tool", MAX_TOOL_CHARACTERS)
    rows = listed.for_outline().values_list("index", tool, "status", "num_changes", "observation_bytes")
    words = comparison.words if comparison is not None else {}
    base = reverse("session_step", args=[replay.session.code, 0]).removesuffix("0/")
    query = replay.query()
    lines = [
        OutlineLine(index, f"{base}{index}/{query}", name, status, changes, length, words.get(index, ""), index == at)
        for index, name, status, changes, length in rows[first : first + OUTLINE_SIZE]
    ]
    places = listed.values_list("index", flat=True)
    has_later = num_listed > first + OUTLINE_SIZE
    return {
        "lines": lines,
        "num_listed": num_listed,
        "first_listed": first + 1,
        "last_listed": first + len(lines),
        "earlier_url": replay.step_url(places[first - OUTLINE_SIZE]) if first else "",
        "later_url": replay.step_url(places[first + OUTLINE_SIZE]) if has_later else "",
    }


@dataclass(frozen=True, slots=True)
class EpisodeChoice:
    """One episode to look at."""

    number: int
    scenario: str
    num_calls: int
    url: str
    is_current: bool


def _episodes(replay: Replay) -> dict[str, Any]:
    session = replay.session
    url = reverse("session_detail", args=[session.code])
    if session.episode == 0:
        return {"episodes": []}
    past = session.past_episodes.order_by("number").values_list("number", "scenario", "num_calls")
    choices = [
        EpisodeChoice(number, scenario, num, f"{url}?episode={number}", number == replay.episode.number)
        for number, scenario, num in past
    ]
    now = EpisodeChoice(session.episode, session.scenario, session.num_calls, url, not replay.episode.is_past)
    return {"episodes": [*choices, now]}


# --- One step ---------------------------------------------------------------------------------------------------------


def step_context(replay: Replay, index: int, *, shown: int = PREVIEW_CHARACTERS) -> dict[str, Any]:
    """One step with the start of its result, and the record's beside it in a fork.

    Raises:
        Http404: There is no such step.
    """
    shown = min(max(shown, PREVIEW_CHARACTERS), MAX_CHARACTERS)
    call = replay.calls.filter(index=index).with_preview(shown + 1).first()
    if call is None:
        raise Http404("The episode has no such step.")
    preview: str = call.preview  # type: ignore[attr-defined]  # annotated
    is_whole = len(preview) <= shown
    comparison = services.compare_with_record(episode=replay.episode)
    recorded = services.recorded_call(episode=replay.episode, index=index, characters=PREVIEW_CHARACTERS)
    return {
        "call": call,
        "tool": call.tool[:MAX_TOOL_CHARACTERS],
        "arguments": [(name, plain_value(value)) for name, value in call.arguments.items()],
        "arguments_text": _cut_json(call.arguments),
        "arguments_left_out": max(len(exact_json(call.arguments)) - ARGUMENT_CHARACTERS, 0),
        "milliseconds": number_format(round(call.microseconds / 1000, 2), decimal_pos=2),
        "preview": preview[:shown],
        "is_whole": is_whole,
        "is_pretty": is_whole and shown == PREVIEW_CHARACTERS,
        "more_url": "" if is_whole or shown >= MAX_CHARACTERS else _more_url(replay, index, shown),
        "excerpt": _excerpt(replay, index) if replay.words and not is_whole else None,
        "columns_read": _by_table(call.columns["reads"]),
        "columns_written": _by_table(call.columns["writes"]),
        "columns_of_conditions": _by_table(call.columns["condition_reads"]),
        "recorded": recorded,
        "recorded_preview": recorded.preview if recorded is not None else "",  # type: ignore[attr-defined]
        "recorded_arguments": _cut_json(recorded.arguments) if recorded is not None else "",
        "compared": comparison.words.get(index, "") if comparison is not None else "",
        "recorded_url": _recorded_url(replay, index) if recorded is not None else "",
        "step": step_moves(replay, index),
        "raw_url": reverse("session_raw", args=[replay.session.code, index]) + replay.query(q=None, failed=None),
        "state_url": replay.state_url(index),
        "max_go_on": MAX_GO_ON,
        "num_behind": replay.episode.num_calls - index - 1,
        "tool_url": tool_url(replay, call),
    }


def _more_url(replay: Replay, index: int, shown: int) -> str:
    address = reverse("session_result", args=[replay.session.code, index])
    return address + replay.query(shown=min(shown + MORE_CHARACTERS, MAX_CHARACTERS))


def _recorded_url(replay: Replay, index: int) -> str:
    """The record's step; without one the session that was forked."""
    record = replay.episode.record
    if record is None:
        source = replay.session.forked_from
        return reverse("session_detail", args=[source.code]) if source is not None else ""
    query = f"?episode={record.episode}" if record.episode != record.session.episode else ""
    return reverse("session_step", args=[record.session.code, index]) + query


def tool_url(replay: Replay, call: ToolCall) -> str:
    """Where the tool can be tried on in the session; nothing for a tool that the version has not."""
    version = replay.session.version
    if not version.tools.filter(name=call.tool).exists():
        return ""
    address = reverse("tool_detail", args=[version.environment.name, version.number, call.tool])
    return f"{address}?{urlencode({'session': replay.session.code})}"


def _excerpt(replay: Replay, index: int) -> dict[str, Any] | None:
    """The searched words in a result that is not shown whole, with what stands around them."""
    around = EXCERPT_CHARACTERS // 2
    place = StrIndex(Lower("observation"), Lower(models.Value(replay.words)))
    found = replay.calls.filter(index=index).annotate(place=place).filter(place__gt=PREVIEW_CHARACTERS)
    start = Greatest(models.F("place") - around, 1)
    row = found.values_list("place", Substr("observation", start, EXCERPT_CHARACTERS)).first()
    return {"place": row[0], "text": row[1]} if row is not None else None


def _cut_json(arguments: Any) -> str:
    """Arguments on many lines, or the start of very long ones as they are."""
    return on_lines(exact_json(arguments)[:ARGUMENT_CHARACTERS])


def plain_value(value: Any) -> Value:
    """An argument as a cell shows it: JSON in one line for what is no text and no number."""
    return value if isinstance(value, str) else exact_json(value)


def _by_table(columns: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    tables: dict[str, list[str]] = {}
    for table, column in columns:
        tables.setdefault(table, []).append(column)
    return [(table, ", ".join(names)) for table, names in tables.items()]


@dataclass(frozen=True, slots=True)
class Moves:
    """Where one can go from a step; empty addresses lead nowhere."""

    first: str
    previous: str
    next: str
    last: str
    previous_failed: str
    next_failed: str


def step_moves(replay: Replay, index: int) -> Moves:
    """The steps around one, among those that the outline lists."""
    before, after = replay.listed.filter(index__lt=index), replay.listed.filter(index__gt=index)

    def url(found: ToolCallQuerySet) -> str:
        index = found.values_list("index", flat=True).first()
        return replay.step_url(index) if index is not None else ""

    # Without filters every step is there, and nothing need be looked up.
    last = replay.episode.num_calls - 1
    if replay.is_filtered:
        backward, forward = (url(before), url(before.reverse())), (url(after), url(after.reverse()))
    else:
        backward = (replay.step_url(0), replay.step_url(index - 1)) if index > 0 else ("", "")
        forward = (replay.step_url(index + 1), replay.step_url(last)) if index < last else ("", "")
    return Moves(*backward, *forward, url(before.failed().reverse()), url(after.failed()))


# --- The state at a step ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StateCell:
    """One cell of the state: its value, what it was before the step if the step wrote it, and who wrote it last."""

    value: Value
    before: Value
    is_written: bool
    writer: int | None
    url: str


@dataclass(frozen=True, slots=True)
class StateRow:
    """One row of the state with its sign."""

    sign: str
    tint: str
    word: str
    is_here: bool
    is_removed: bool
    cells: list[StateCell]


MARKS = {
    ChangeKind.INSERT: ("+", "inserted"),
    ChangeKind.DELETE: ("−", "deleted"),  # noqa: RUF001 - the minus sign, as wide as the plus
    ChangeKind.UPDATE: ("~", "changed"),
}


def state_context(replay: Replay, timeline: Timeline, at: int, form: ReplayForm) -> dict[str, Any]:
    """The state after a step: tables in figures, and the rows of one of them, changed ones first."""
    wanted = form.cleaned_data
    only_changed = bool(wanted.get("changed"))
    counts = timeline.counts(at)
    offered = [each for each in counts if each.is_changed] if only_changed else counts
    names = [each.name for each in offered]
    table = wanted.get("table") or ""
    if table not in names:
        table = next((each.name for each in offered if each.num_here), None) or next(
            (each.name for each in offered if each.is_changed), names[0] if names else ""
        )
    limit = max(wanted.get("rows") or ROWS_SHOWN, 1)
    rows = timeline.changed_first(table, at) if table else []
    only = {"changed": "on"} if only_changed else {}
    last = replay.episode.num_calls - 1
    return {
        "tables": [(each, replay.state_url(at, table=each.name, **only)) for each in offered],
        "count": next((each for each in counts if each.name == table), None),
        "table": table,
        "columns": timeline.columns(table) if table else (),
        "key_columns": timeline.key_columns(table) if table else (),
        "rows": [_state_row(replay, timeline, table, row, at) for row in rows[:limit]],
        "num_state_rows": len(rows),
        "num_rows_left": max(len(rows) - limit, 0),
        "more_rows_url": replay.state_url(at, table=table, rows=limit + MORE_ROWS, **only),
        "num_tables_changed": sum(each.is_changed for each in counts),
        "num_tables": len(counts),
        "only_changed": only_changed,
        "toggle_url": replay.state_url(at, table=table, changed=None if only_changed else "on"),
        "state": Moves(
            first=replay.state_url(START, table=table, **only) if at > START else "",
            previous=replay.state_url(at - 1, table=table, **only) if at > START else "",
            next=replay.state_url(at + 1, table=table, **only) if at < last else "",
            last=replay.state_url(last, table=table, **only) if at < last else "",
            previous_failed="",
            next_failed="",
        ),
        "last_index": last,
        "written_here": [each for each in counts if each.num_here],
    }


def _state_row(replay: Replay, timeline: Timeline, table: str, row: RowAt, at: int) -> StateRow:
    kind = row.here.kind if row.here is not None else row.kind
    sign, tint = MARKS[kind] if kind is not None else ("", "")
    before = (row.here.before or {}) if row.here is not None and row.here.kind is ChangeKind.UPDATE else {}
    cells = []
    for column in timeline.columns(table):
        writer = timeline.last_writer(table, row.key, column, at)
        url = replay.step_url(writer, q=None, failed=None) if writer is not None else ""
        cells.append(StateCell(row.row.get(column), before.get(column), column in before, writer, url))
    return StateRow(sign, tint, _word(row), row.here is not None, row.is_removed, cells)


def _word(row: RowAt) -> str:
    if row.here is not None:
        words = {
            ChangeKind.INSERT: _("added by this step"),
            ChangeKind.DELETE: _("removed by this step"),
            ChangeKind.UPDATE: _("changed by this step"),
        }
        return words[row.here.kind]
    if row.kind is None:
        return ""
    words = {
        ChangeKind.INSERT: _("added before"),
        ChangeKind.DELETE: _("removed before"),
        ChangeKind.UPDATE: _("changed before"),
    }
    return words[row.kind]


# --- A fork beside its record -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """One call of a fork beside the record's at the same place."""

    index: int
    tool: str
    status: str
    word: str
    url: str
    recorded_status: str
    recorded_url: str


def comparison_context(replay: Replay, comparison: Comparison) -> dict[str, Any]:
    """Every call that is not the same, the first that differs, and how the end states differ."""
    record = replay.episode.record
    statuses = dict(record.calls().values_list("index", "status")) if record is not None else {}
    tool = Left("tool", MAX_TOOL_CHARACTERS)
    others = [index for index, word in comparison.words.items() if word != SAME]
    rows = replay.calls.filter(index__in=others[:OUTLINE_SIZE]).values_list("index", tool, "status")
    return {
        "compared": [
            ComparedLine(
                index, name, status, comparison.words[index], replay.step_url(index),
                statuses.get(index, ""), _recorded_url(replay, index) if index in statuses else "",
            )
            for index, name, status in rows
        ],
        "difference": services.end_difference(episode=replay.episode),
        "record": record,
        "num_same": comparison.count(SAME),
        "num_differing": comparison.count(DIFFERS),
        "num_added": comparison.count(ADDED),
    }  # fmt: skip
