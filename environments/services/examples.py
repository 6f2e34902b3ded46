"""Verification cases as examples: the calls of a case with every earlier result that they refer to filled in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from environments.models import Case, EnvironmentVersion
from environments.runtime.references import resolve
from environments.runtime.session import Call
from environments.services.sessions import close_quietly, sandbox_errors
from environments.services.workers import environment_of


@dataclass(frozen=True, slots=True)
class Example:
    """One call of a case, ready to be made.

    Attributes:
        scenario: Where the case starts.
        earlier: The calls that the case makes before it.
        arguments: Of the call.
    """

    scenario: str
    earlier: tuple[Call, ...]
    arguments: Mapping[str, Any]


def case_example(*, version: EnvironmentVersion, case: Case, tool: str) -> Example | None:
    """The last call of a tool in a case; calls before it are played in a worker, for what it refers to.

    Returns:
        None for a case with rows of its own, which no session can start from, without a call of the tool, or whose
        references lead nowhere.

    Raises:
        SandboxFailedError: The worker can't be had, or was lost.
    """
    positions = [position for position, call in enumerate(case.calls) if call["tool"] == tool]
    if case.scenario is None or not positions:
        return None
    earlier, last = case.calls[: positions[-1]], case.calls[positions[-1]]
    if not earlier:
        return Example(case.scenario, (), last["arguments"])
    results: list[Any] = []
    made: list[Call] = []
    with sandbox_errors():
        session = environment_of(version).open(case.scenario)
        try:
            for call in earlier:
                made.append((call["tool"], resolve(call["arguments"], results)))
                results.append(orjson.loads(session.call(*made[-1], audience=None).observation))
            return Example(case.scenario, tuple(made), resolve(last["arguments"], results))
        except LookupError:
            return None
        finally:
            close_quietly(session)
