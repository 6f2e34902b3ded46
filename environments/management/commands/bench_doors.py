"""`manage.py bench_doors`: what the REST and the MCP door add to a call, and how many calls they let through.

Web processes are real ones on loopback with a database of their own. Times are those of a client on kept connections;
the MCP door is compared, call by call, with a no-op tool that the same SDK serves to the same client over the same
protocol, with a transport of the same kind. Two processes play the part of the two that share a site: a session that is
asked for at each in turn is restored anew every time.
"""

import asyncio
import json
import operator
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import httpx2
from django.core.management.base import CommandError

from environments import services
from environments.core.access import Scope
from environments.management import benchmarks, noop_mcp
from environments.management.benchmarks import ROUNDS, BenchCommand, Figure, percentile
from environments.management.doors import (
    CLIENTS,
    NUM_ROWS,
    SCENARIO,
    Caller,
    Rest,
    Served,
    bench_pack,
    http_client,
    mcp_address,
    mcp_client,
    noop_process,
    text_of,
    web_processes,
)
from environments.models import EnvironmentSession, EnvironmentVersion, User
from environments.runtime.session import Call, Session
from environments.services.workers import environment_of

USERNAME: Final = "bench"
NUM_SESSIONS: Final = 500
QUICK_SESSIONS: Final = 10
SESSION_CALLS: Final = 20
BATCH: Final = 64
NUM_CLIENTS: Final = 16
WARM_CALLS: Final = 20
STEPS: Final = 10

_BATCH: Final[list[Call]] = [
    call
    for number in range(BATCH // 2)
    for call in (("get_entry", {"id": number + 1}), ("note_entry", {"id": number + 1, "note": f"note {number}"}))
]


@dataclass(frozen=True, slots=True)
class _Site:
    """What is measured.

    Attributes:
        web: Web processes of one site.
        noop: The no-op MCP server.
        key: An API token's.
        version: What the sessions play.
    """

    web: Sequence[Served]
    noop: Served
    key: str
    version: EnvironmentVersion

    def rest(self, place: int = 0) -> Rest:
        """A connection to one of the web processes."""
        return Rest(self.web[place].address, self.key)

    def open_sessions(self, number: int) -> list[dict[str, Any]]:
        """New sessions, as the API describes them."""
        rest = self.rest()
        return [rest.open_session(self.version.environment.name) for _ in range(number)]


@dataclass(slots=True)
class _Times:
    """Milliseconds by name and round."""

    rounds: list[dict[str, list[float]]] = field(default_factory=list)

    def begin_round(self) -> None:
        """What follows belongs to the next round."""
        self.rounds.append({})

    def take(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Calls the function and notes how long it took."""
        started = time.perf_counter()
        result = function(*args)
        self.add(name, started)
        return result

    def add(self, name: str, started: float) -> None:
        """One time, up to now."""
        self.note(name, (time.perf_counter() - started) * 1e3)

    def note(self, name: str, milliseconds: float) -> None:
        """One time."""
        self.rounds[-1].setdefault(name, []).append(milliseconds)

    def of(self, name: str, share: float) -> float:
        """The median over the rounds of a round's percentile."""
        return statistics.median(percentile(times[name], share) for times in self.rounds)

    def over_rounds(self, compare: Callable[[float, float], float], name: str, other: str) -> float:
        """The median over the rounds of what comes of comparing two round's medians."""
        return statistics.median(
            compare(percentile(times[name], 0.5), percentile(times[other], 0.5)) for times in self.rounds
        )

    def figures(self, names: Mapping[str, str]) -> list[Figure]:
        """p50 and p95 of each, under the name that people read."""
        shares = (("p50", 0.5), ("p95", 0.95))
        return [
            Figure(f"{shown}, {label}", self.of(name, share), "ms")
            for name, shown in names.items()
            for label, share in shares
        ]


class Command(BenchCommand):
    help = "Measures calls through the REST and the MCP door, with their targets."

    def measure(self, *, is_quick: bool, say: Callable[[str], None]) -> list[Figure]:
        num_calls, num_batches = (20, 4) if is_quick else (400, 40)
        num_sessions = QUICK_SESSIONS if is_quick else NUM_SESSIONS
        say("Starting a database and three web processes …")
        with ExitStack() as stack:
            environment = stack.enter_context(benchmarks.throwaway_services())
            stack.callback(services.close_worker_pool)
            web = stack.enter_context(web_processes(2, environment))
            site = _Site(web, stack.enter_context(noop_process()), *_prepare())
            say("Measuring MCP calls against a no-op …")
            figures = _mcp_figures(site, num_calls)
            say(f"Playing {num_sessions:,} sessions of {SESSION_CALLS} calls over MCP …")
            figures += _crowd_figures(site, num_sessions, say)
            say(f"Measuring batches of {BATCH} over REST …")
            figures += _batch_figures(site, num_batches)
            say("Measuring single requests …")
            figures += _step_figures(site, num_calls // 4)
            say(f"Calling from {NUM_CLIENTS} clients at once …")
            return [*figures, _throughput_figure(site, num_calls // 8)]


def _prepare() -> tuple[str, EnvironmentVersion]:
    services.issue_login(username=USERNAME, role=User.Role.OPERATOR)
    user = User.objects.get(username=USERNAME)
    key = services.create_api_token(user=user, name="bench", scopes=[Scope.SESSIONS]).key
    version = services.import_pack(pack=bench_pack(), origin=EnvironmentVersion.Origin.SHIPPED, user=user).version
    # The pack is part of this bench and lives in a database that ends with it.
    version.move(EnvironmentVersion.Status.VERIFIED, reason="bench")
    return key, version


# --- MCP: one call ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A door and the no-op that is served in the same way.

    Attributes:
        protocol: Which both speak.
        door: Whether the address is a session's or an environment's.
        noop: Path of the no-op.
    """

    protocol: str
    door: Literal["s", "e"]
    noop: str

    @property
    def shown(self) -> str:
        """What people read."""
        kept = "stateful" if self.noop == noop_mcp.STATEFUL else "stateless"
        return f"MCP {self.protocol} {kept} by {CLIENTS[self.protocol]}, /mcp/{self.door}/"

    def address(self, site: _Site) -> str:
        """A new state behind the door."""
        if self.door == "e":
            return f"{site.web[0].address}/mcp/e/{site.version.environment.name}/"
        (session,) = site.open_sessions(1)
        return mcp_address(site.web[0].address, session)


COMPARISONS: Final = (
    _Comparison("2025-11-25", "s", noop_mcp.STATELESS),
    _Comparison("2026-07-28", "s", noop_mcp.STATELESS),
    _Comparison("2025-11-25", "e", noop_mcp.STATEFUL),
)


def _mcp_figures(site: _Site, num_calls: int) -> list[Figure]:
    times = _Times()
    for _ in range(ROUNDS):
        times.begin_round()
        for comparison in COMPARISONS:
            asyncio.run(_compare(comparison, site, num_calls, times))
    figures = []
    for comparison in COMPARISONS:
        shown = comparison.shown
        door, noop = f"{shown}: read", f"{shown}: no-op"
        figures += [
            *times.figures({door: door, noop: noop}),
            *(Figure(f"{name}, web process's CPU", times.of(f"{name}, CPU", 0.5), "ms") for name in (door, noop)),
            Figure(f"{door} over no-op at p50", times.over_rounds(operator.truediv, door, noop), "times", 1.3),
            Figure(f"{door} beyond no-op at p50", times.over_rounds(operator.sub, door, noop), "ms", 1.0),
        ]
    return figures


async def _compare(comparison: _Comparison, site: _Site, num_calls: int, times: _Times) -> None:
    """Calls the door and the no-op in turn, so that whatever else the machine does meets both."""
    address, protocol, shown = comparison.address(site), comparison.protocol, comparison.shown
    async with (
        http_client(site.key) as http,
        mcp_client(protocol, address, http) as door,
        mcp_client(protocol, f"{site.noop.address}{comparison.noop}", http) as noop,
    ):
        for number in range(-WARM_CALLS, num_calls):
            for name, caller, tool, arguments in (
                ("read", door, "get_entry", {"id": number % NUM_ROWS + 1}),
                ("no-op", noop, noop_mcp.TOOL, {}),
            ):
                started = time.perf_counter()
                result = await caller.call_tool(tool, arguments)
                if number >= 0:
                    times.add(f"{shown}: {name}", started)
                if result.is_error:
                    raise CommandError(f"{tool} ends with an error: {text_of(result)}")
            if number == -1:
                before = site.web[0].cpu_seconds(), site.noop.cpu_seconds()
        for name, served, seconds in zip(("read", "no-op"), (site.web[0], site.noop), before, strict=True):
            times.note(f"{shown}: {name}, CPU", (served.cpu_seconds() - seconds) / num_calls * 1e3)


# --- MCP: many sessions -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Played:
    """What one client saw of its session: tool, arguments and text of each answer, or what went wrong."""

    session: Mapping[str, Any]
    protocol: str
    seen: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)
    error: str | None = None
    num_foreign: int = 0


def _crowd_figures(site: _Site, num_sessions: int, say: Callable[[str], None]) -> list[Figure]:
    """Every session writes what only it knows, and reads it back; all are live at once."""
    started = time.perf_counter()
    sessions = site.open_sessions(num_sessions)
    creating = time.perf_counter() - started
    protocols = list(CLIENTS)
    played = [_Played(session, protocols[index % len(protocols)]) for index, session in enumerate(sessions)]
    seconds = asyncio.run(_play_all(site, played))
    errors = [each for each in played if each.error is not None]
    if errors:
        say(f"{len(errors)} of {num_sessions} sessions failed, the first with: {errors[0].error}")
    num_stored_otherwise = sum(_stored(each) != each.seen for each in played)
    shown = f"{num_sessions} MCP sessions of {SESSION_CALLS} calls, half by each client"
    return [
        Figure(f"{shown}: sessions with an error", len(errors), "sessions", 0),
        Figure(f"{shown}: answers with another's writes", sum(each.num_foreign for each in played), "answers", 0),
        Figure(f"{shown}: transcripts that differ from what was seen", num_stored_otherwise, "sessions", 0),
        Figure(f"{shown}: throughput", num_sessions * SESSION_CALLS / seconds, "calls/s"),
        Figure(f"{num_sessions} sessions created over REST, one after another", num_sessions / creating, "sessions/s"),
    ]


class _Gate:
    """Opens once everybody has come, those too whose client failed."""

    def __init__(self, number: int) -> None:
        self._number_missing = number
        self._is_open = asyncio.Event()

    def arrive(self) -> None:
        """One more is here."""
        self._number_missing -= 1
        if self._number_missing == 0:
            self._is_open.set()

    async def passed(self) -> None:
        """Waits for the others."""
        await self._is_open.wait()


async def _play_all(site: _Site, played: Sequence[_Played]) -> float:
    """Seconds of the calls: every client is connected before the first call, and none leaves before the last."""
    connected, finished = _Gate(len(played)), _Gate(len(played))
    async with http_client(site.key) as http:
        tasks = [
            asyncio.create_task(_play_or_fail(site, each, place, http, (connected, finished)))
            for place, each in enumerate(played)
        ]
        await connected.passed()
        started = time.perf_counter()
        await finished.passed()
        seconds = time.perf_counter() - started
        await asyncio.gather(*tasks)
    return seconds


async def _play_or_fail(
    site: _Site, played: _Played, place: int, http: httpx2.AsyncClient, gates: tuple[_Gate, _Gate]
) -> None:
    waiting = list(gates)

    async def pass_next() -> None:
        gate = waiting.pop(0)
        gate.arrive()
        await gate.passed()

    try:
        async with mcp_client(played.protocol, mcp_address(site.web[0].address, played.session), http) as caller:
            await pass_next()
            await _play(played, place, caller)
            await pass_next()
    except Exception as error:  # noqa: BLE001 - whatever a client meets is what is counted
        played.error = repr(error)
    finally:
        for gate in waiting:
            gate.arrive()


async def _play(played: _Played, place: int, caller: Caller) -> None:
    for number in range(SESSION_CALLS // 2):
        # All write to the same rows, so that a state that leaks shows.
        entry, secret = number + 1, f"only session {place} knows {played.session['code']} at {number}"
        for tool, arguments in (("note_entry", {"id": entry, "note": secret}), ("get_entry", {"id": entry})):
            result = await caller.call_tool(tool, arguments)
            text = text_of(result)
            if result.is_error:
                played.error = played.error or text
            elif json.loads(text)["note"] != secret:
                played.num_foreign += 1
            played.seen.append((tool, arguments, text))


def _stored(played: _Played) -> list[tuple[str, dict[str, Any], str]]:
    session = EnvironmentSession.objects.get(code=played.session["code"])
    return [(call.tool, call.arguments, call.observation) for call in session.transcript]


# --- REST: batches ----------------------------------------------------------------------------------------------------


def _batch_figures(site: _Site, num_batches: int) -> list[Figure]:
    """The same calls over the same state in process, at one web process, and at two in turn."""
    kept, moved = (session["code"] for session in site.open_sessions(2))
    here, there = site.rest(0), site.rest(1)
    bare = _open_changed(site)
    for code in (kept, moved):
        here.call_many(code, [("raise_amounts", {})])
    times = _Times()
    for _ in range(ROUNDS):
        times.begin_round()
        for number in range(num_batches):
            times.take("runtime", bare.calls, _BATCH)
            times.take("kept", here.call_many, kept, _BATCH)
            times.take("moved", (there, here)[number % 2].call_many, moved, _BATCH)
    bare.close()
    if any(len(EnvironmentSession.objects.get(code=code).transcript) == 0 for code in (kept, moved)):
        raise CommandError("Batches left no transcript.")
    shown = f"batch of {BATCH} over {NUM_ROWS} changed rows"
    names = {
        "runtime": f"Runtime in process, {shown}",
        "kept": f"REST, {shown}, state kept",
        "moved": f"REST, {shown}, restored anew",
    }
    return [
        *times.figures(names),
        *(
            Figure(
                f"{names[name]}: beyond the runtime at p50",
                times.over_rounds(operator.sub, name, "runtime"),
                "ms",
                5.0,
            )
            for name in ("kept", "moved")
        ),
    ]


def _open_changed(site: _Site) -> Session:
    session = environment_of(site.version).open(SCENARIO)
    session.call("raise_amounts", {})
    if len(session.diff()) != NUM_ROWS:
        raise CommandError("The state has not the changes that it is to have.")
    return session


# --- REST: single requests --------------------------------------------------------------------------------------------


def _step_figures(site: _Site, num_calls: int) -> list[Figure]:
    """Steps and resets in process, then what a client of the API waits for."""
    rest, bare = site.rest(), environment_of(site.version).open(SCENARIO)
    path = f"sessions/{rest.open_session(site.version.environment.name)['code']}/"
    times = _Times()
    for _ in range(ROUNDS):
        times.begin_round()
        for number in range(num_calls):
            arguments = {"id": number % NUM_ROWS + 1, "note": "noted"}
            for _ in range(STEPS):  # in a row: a worker that has slept takes longer to begin
                times.take("step", bare.call, "note_entry", arguments)
            for _ in range(STEPS):
                times.take("bare reset", _reset_and_step, bare)
            times.take("call", rest.ask, "POST", f"{path}call/", {"tool": "note_entry", "arguments": arguments})
            times.take("state", rest.ask, "GET", f"{path}state/")
            times.take("snapshot", rest.ask, "GET", f"{path}snapshot/")
            forked = times.take("fork", rest.ask, "POST", f"{path}fork/", {})
            created = times.take("create", rest.open_session, site.version.environment.name)
            times.take("reset", rest.ask, "POST", f"{path}reset/", {})
            for session in (forked, created):
                rest.ask("POST", f"sessions/{session['code']}/close/")
    bare.close()
    return times.figures(
        {
            "step": "Environment step in process",
            "bare reset": "Environment reset and first step in process",
            "call": "REST call",
            "reset": "REST reset",
            "create": "REST session creation",
            "fork": "REST fork of one call",
            "snapshot": "REST snapshot",
            "state": f"REST state of {NUM_ROWS} rows",
        }
    )


def _reset_and_step(session: Session) -> None:
    session.reset(SCENARIO)
    session.call("get_entry", {"id": 1})


def _throughput_figure(site: _Site, num_calls: int) -> Figure:
    """Single REST calls from clients side by side, each with a session of its own, over two web processes."""
    clients = [(site.rest(index % 2), session["code"]) for index, session in enumerate(site.open_sessions(NUM_CLIENTS))]
    failures: list[Exception] = []

    def call(rest: Rest, code: str) -> None:
        body = {"tool": "note_entry", "arguments": {"id": 1, "note": "noted"}}
        try:
            for _ in range(num_calls):
                rest.ask("POST", f"sessions/{code}/call/", body)
        except (CommandError, OSError) as error:
            failures.append(error)

    def measure() -> float:
        threads = [threading.Thread(target=call, args=client) for client in clients]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return len(clients) * num_calls / (time.perf_counter() - started)

    rate = benchmarks.median_of_rounds(measure)
    if failures:
        raise CommandError(f"{len(failures)} clients failed: {failures[0]}")
    return Figure(f"REST calls from {NUM_CLIENTS} clients at two web processes", rate, "calls/s")
