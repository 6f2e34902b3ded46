"""Why a recorded call ended as it did: every capture and condition of it, evaluated again where it was made."""

from dataclasses import dataclass
from typing import Final

from environments.core.errors import InvalidInputError
from environments.models import EnvironmentVersion, ToolCall
from environments.runtime.records import Explanation
from environments.services.sessions import UNPLAYED, sandbox_errors
from environments.services.timelines import Episode
from environments.services.workers import environment_of

MAX_EXPLAINED_CALLS: Final = 2000
"""Calls before the explained one that are played again for it: a few tenths of a second."""

PLAYABLE: Final = frozenset({EnvironmentVersion.Status.VERIFIED, EnvironmentVersion.Status.RETIRED})
"""What was verified once; nothing plays a version in quarantine."""


@dataclass(frozen=True, slots=True)
class CallExplanation:
    """A recorded call, made again in a locked worker that nothing survives.

    Attributes:
        found: What each capture and condition gave; None if evaluating them ended badly.
        failure: Why it failed, reason and detail, for people; the agent reads only `internal_error`.
        is_as_recorded: Whether the call answered as its record says; if not, the environment is suspect.
    """

    found: Explanation | None
    failure: tuple[str, str] | None
    is_as_recorded: bool


def explain_call(*, episode: Episode, call: ToolCall) -> CallExplanation | None:
    """Plays an episode up to one of its calls and tells what decided that.

    Args:
        episode: Of a session; nothing of it is changed.
        call: One of its calls.

    Returns:
        None for a call that never reached a tool, for one behind more than `MAX_EXPLAINED_CALLS`, and for a version
        that has gone back to quarantine, since nothing plays that.

    Raises:
        SandboxFailedError: The worker can't be had, or was lost.
    """
    version = episode.session.version
    if call.status in UNPLAYED or call.index > MAX_EXPLAINED_CALLS or version.status not in PLAYABLE:
        return None
    earlier = episode.session.calls.filter(episode=episode.number, index__lt=call.index).order_by("index")
    played = earlier.exclude(status__in=[status.value for status in UNPLAYED])
    calls = [*played.values_list("tool", "arguments"), (call.tool, call.arguments)]
    try:
        with sandbox_errors():
            made = environment_of(version).explain(episode.start, calls)
    except InvalidInputError:
        # The worker refuses a call that reaches no tool; the record is of one that did, so it is not believed.
        return CallExplanation(None, None, is_as_recorded=False)
    is_same = (made.record.status, made.record.observation) == (call.status, call.observation)
    return CallExplanation(made.explanation, made.failure, is_as_recorded=is_same)
