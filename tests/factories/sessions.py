"""Sessions with calls, as tests need them."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from environments import services
from environments.models import EnvironmentSession, EnvironmentVersion, ToolCall, User
from environments.runtime.pack.model import Case
from environments.runtime.references import resolve
from tests.factories.registry import shipped_version


def open_session(user: User, name: str = "seed_bank", scenario: str | None = None) -> EnvironmentSession:
    """A session on a shipped pack, by default at the scenario that most of its cases start from."""
    version = EnvironmentVersion.objects.filter(environment__name=name).first() or shipped_version(name)
    return services.create_session(user=user, version=version, scenario=scenario or "medium")


def play_case(session: EnvironmentSession, case: Case) -> Iterator[EnvironmentSession]:
    """Plays a case's calls in the session, which yields after each; ends where an earlier result is missing."""
    results: list[Any] = []
    for call in case.calls:
        try:
            arguments = resolve(call.arguments, results)
        except LookupError:
            return
        (record,) = services.call_session(session=session, calls=[(call.tool, arguments)], audience=None)
        results.append(json.loads(record.observation))
        session.refresh_from_db()
        yield session


def played_session(user: User, name: str = "seed_bank") -> EnvironmentSession:
    """A session in which the pack's cases of one call each were played, one after another."""
    session = open_session(user, name)
    cases = [case for case in session.version.to_core().cases if case.scenario == session.scenario]
    calls = [(case.calls[0].tool, case.calls[0].arguments) for case in cases if len(case.calls) == 1]
    services.call_session(session=session, calls=calls, audience=None)
    session.refresh_from_db()
    return session


def add_calls(
    session: EnvironmentSession, observations: Sequence[str], *, tool: str = "list_batches", **values: Any
) -> None:
    """Adds rows of calls that were never played, as long sessions and hostile results need."""
    first = session.num_calls
    plain: dict[str, Any] = {
        "tool": tool, "arguments": {"page": 1}, "status": "success", "error_code": None, "changes": [],
        "columns": {"reads": [], "writes": [], "condition_reads": []}, "microseconds": 250.0,
    }  # fmt: skip
    ToolCall.objects.bulk_create(
        ToolCall(session=session, episode=session.episode, index=first + place, observation=text, **{**plain, **values})
        for place, text in enumerate(observations)
    )
    session.num_calls += len(observations)
    session.revision += 1
    session.save(update_fields=["num_calls", "revision"])
