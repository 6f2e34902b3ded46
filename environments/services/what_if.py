"""What if a call had been another one: played in a fork, so that the record stays what it is."""

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

from environments.core.access import Permission
from environments.core.errors import (
    EnvFactoryError,
    FieldError,
    InvalidInputError,
    PermissionDeniedError,
)
from environments.models import EnvironmentSession, ToolCall, User
from environments.services.sessions import MAX_BATCH, call_session, check_calls, close_session, fork_session
from environments.services.timelines import Episode
from environments.services.workers import environment_of

MAX_GO_ON: Final = 2000
"""Recorded calls that are played on behind an edited one: a few seconds, for which a person waits."""


def try_what_if(
    *, episode: Episode, user: User, index: int, arguments: Mapping[str, Any], goes_on: bool = False
) -> EnvironmentSession:
    """Forks before a call, makes it with other arguments, and perhaps the recorded calls that follow.

    Args:
        episode: Of the person's own session.
        user: Who asks; the fork is theirs and counts as an open session.
        index: Which call.
        arguments: What it is given instead.
        goes_on: Whether the calls that follow in the record are made too, at most `MAX_GO_ON`.

    Returns:
        The fork.

    Raises:
        PermissionDeniedError: If the person may not open sessions.
        InvalidInputError: If there is no such call, or the arguments don't fit the tool; `fields` name each fault.
        NotVerifiedError: If the version may not be played now.
        QuotaExceededError: If the person has as many open sessions as the settings allow.
        ReplayDiffersError, SandboxFailedError: The fork could not be played; it is closed.
    """
    if not user.may(Permission.OPEN_SESSIONS):
        raise PermissionDeniedError("Playing a call needs the permission open_sessions.")
    calls = episode.session.calls.filter(episode=episode.number, index__lt=episode.num_calls)
    edited = calls.filter(index=index).defer("observation", "changes", "columns").first()
    if edited is None:
        raise InvalidInputError(f"The episode has no call {index}.", fields=(FieldError("/index", "unknown", ""),))
    _check_arguments(episode, edited.tool, arguments)
    fork = fork_session(
        session=episode.session, user=user, at=index, episode=episode.number,
        title=f"What if: {edited.tool} at step {index}"[:200],
    )  # fmt: skip
    try:
        call_session(session=fork, calls=[(edited.tool, arguments)], audience=None)
        if goes_on:
            _go_on(fork, calls.filter(index__gt=index, index__lte=index + MAX_GO_ON).order_by("index"))
    except EnvFactoryError:
        close_session(session=fork)
        raise
    fork.refresh_from_db()
    return fork


def _go_on(fork: EnvironmentSession, calls: Any) -> None:
    later = calls.defer("observation", "changes", "columns")
    # A call that was refused to the agent is refused again; what reached a tool was let through.
    for was_refused, group in groupby(later, lambda call: call.status == ToolCall.Status.INVALID):
        for batch in _batches(list(group)):
            call_session(
                session=fork,
                calls=[(call.tool, call.arguments) for call in batch],
                audience="agent" if was_refused else None,
            )


def _batches(calls: list[ToolCall]) -> Iterator[list[ToolCall]]:
    for first in range(0, len(calls), MAX_BATCH):
        yield calls[first : first + MAX_BATCH]


def _check_arguments(episode: Episode, tool: str, arguments: Mapping[str, Any]) -> None:
    """Refuses what the tool's schema refuses before anything is forked; pointers are those of the arguments."""
    try:
        check_calls([(tool, arguments)])
    except InvalidInputError as error:
        found = tuple(
            FieldError(fault.pointer.removeprefix("/calls/0/arguments"), fault.code, fault.detail)
            for fault in error.fields
        )
        raise InvalidInputError(str(error), fields=found) from None
    refused = environment_of(episode.session.version).refusal(tool, arguments, None)
    if refused is None:
        return
    code, observation = refused
    told = json.loads(observation)["error"]
    faults = tuple(FieldError(each["pointer"], code, each["message"]) for each in told.get("details", ()))
    raise InvalidInputError(told["message"], fields=faults or (FieldError("", code, told["message"]),))
