"""What a tool's writes are like, as its own cases show: whether they change what was there, what a second call does.

Agents are told so over MCP; nobody declares it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from environments.runtime.cases import CaseResult
from environments.runtime.pack.model import Case, Pack, Scenario
from environments.runtime.records import CallRecord, CallStatus, ChangeKind
from environments.runtime.references import resolve
from environments.runtime.session import Environment, Session


@dataclass(frozen=True, slots=True)
class Effects:
    """What was seen of one tool.

    Attributes:
        is_destructive: A success changed or deleted a row that was there before the call.
        is_idempotent: In every success an equal call right after it changed nothing more.
    """

    is_destructive: bool
    is_idempotent: bool


def observe_effects(environment: Environment) -> dict[str, Effects]:
    """Plays each tool's successful cases once more with the last call repeated.

    Returns:
        By tool; a reading tool is never destructive and always idempotent. A writing tool without a success is taken
        for destructive and not idempotent: agents should be careful with what nobody has seen.
    """
    pack = environment.pack
    seen: dict[str, list[tuple[CallRecord, CallRecord]]] = {tool.name: [] for tool in pack.tools}
    for case in pack.cases:
        tool = pack.tool(case.tool)
        if tool is not None and tool.effect == "write" and case.kind != "rejection":
            pair = _play_twice(environment, case)
            if pair is not None:
                seen[case.tool].append(pair)
    return _effects(pack, seen)


def effects_of(pack: Pack, played: Iterable[CaseResult]) -> dict[str, Effects]:
    """The same from cases that were run with `repeats_last`, without playing them again."""
    seen: dict[str, list[tuple[CallRecord, CallRecord]]] = {tool.name: [] for tool in pack.tools}
    for case in played:
        if case.again is not None:
            seen[case.tool].append((case.records[-1], case.again))
    return _effects(pack, seen)


def _effects(pack: Pack, seen: Mapping[str, Iterable[tuple[CallRecord, CallRecord]]]) -> dict[str, Effects]:
    return {
        tool.name: Effects(False, True) if tool.effect == "read" else _judge(seen[tool.name]) for tool in pack.tools
    }


def _judge(pairs: Iterable[tuple[CallRecord, CallRecord]]) -> Effects:
    found = list(pairs)
    if not found:
        return Effects(is_destructive=True, is_idempotent=False)
    return Effects(
        is_destructive=any(change.kind != ChangeKind.INSERT for first, _ in found for change in first.changes),
        is_idempotent=not any(second.changes for _, second in found),
    )


def _play_twice(environment: Environment, case: Case) -> tuple[CallRecord, CallRecord] | None:
    """The case's last call and its repetition; None if that is not a success of the case's tool."""
    rows = Scenario(f"case_{case.name}", "boundary", environment.pack.clock_start, 0, case.rows or {})
    session = environment.open(case.scenario if case.scenario is not None else rows)
    try:
        results: list[Any] = []
        for call in case.calls:
            try:
                arguments: Mapping[str, Any] = resolve(dict(call.arguments), results)
            except LookupError:
                return None
            record = session.call(call.tool, arguments, audience=None)
            results.append(orjson.loads(record.observation))
        if record.tool != case.tool or record.status != CallStatus.SUCCESS:
            return None
        return record, _again(session, record)
    finally:
        session.close()


def _again(session: Session, record: CallRecord) -> CallRecord:
    return session.call(record.tool, record.arguments, audience=None)
