"""Times by the event that their names tell, however it is spelled: `created_date_time`, `lastUpdatedDate`."""

from collections.abc import Iterable
from typing import Final

_TAILS: Final = frozenset({"at", "on", "date", "time", "datetime", "timestamp", "ts", "utc", "epoch", "last", "ms"})
_EVENTS: Final = {
    "created": "create creation created inserted registered registration",
    "submitted": "submit submitted submission requested queued enqueued ordered received",
    "accepted": "accept accepted acceptance assigned acknowledged",
    "approved": "approve approved approval",
    "rejected": "reject rejected rejection declined denied denial",
    "started": "start started starts begin began begins",
    "ended": "end ended ends finish finished stop stopped stops complete completed completion terminated termination",
    "failed": "fail failed failure",
    "closed": "close closed resolved",
    "cancelled": "cancel cancelled canceled cancellation",
    "deleted": "delete deleted deletion removed",
    "updated": "update updated modify modified modification changed edited",
    "expires": "expire expires expiry expiration",
}
_BY_WORD: Final = {word: event for event, words in _EVENTS.items() for word in words.split()}
_BEFORE: Final = {
    "created": ("submitted", "accepted", "approved", "rejected", "ended", "failed", "closed", "cancelled", "deleted",
                "updated", "expires"),
    "submitted": ("accepted", "approved", "rejected", "ended", "failed", "closed"),
    "accepted": ("approved", "rejected", "ended"),
    "started": ("ended", "failed"),
}  # fmt: skip
_STATES: Final = {
    "accepted": "accepted acknowledged assigned",
    "approved": "approved",
    "rejected": "rejected declined denied",
    "failed": "failed failure error errored",
    "closed": "closed resolved done",
    "cancelled": "cancelled canceled",
    "deleted": "deleted removed",
    "ended": "ended finished completed complete succeeded success successful failed failure done stopped terminated",
}
"""States in which the event has happened."""
_ALSO_ENDED: Final = frozenset({"cancelled", "canceled", "aborted", "error", "expired", "timed_out", "timedout"})
"""States that end what others end as well."""
EXCLUSIVE: Final = (("approved", "rejected"),)
"""Events of which a row has one at most."""


def event_of(tokens: Iterable[str]) -> tuple[str, tuple[str, ...]] | None:
    """The event that the words of a time tell, and the other words; None if they tell none."""
    stem = [token for token in tokens if token not in _TAILS]
    for place in range(len(stem) - 1, -1, -1):
        event = _BY_WORD.get(stem[place])
        if event is not None:
            return event, tuple(stem[:place] + stem[place + 1 :])
    return None


def is_before(first: Iterable[str], second: Iterable[str]) -> bool:
    """Whether what the first words tell of always comes before what the second ones do."""
    one, other = event_of(first), event_of(second)
    if one is None or other is None:
        return False
    about_same = one[1] == other[1] or (not one[1] and one[0] == "created" and other[0] != "expires")
    return about_same and other[0] in _BEFORE.get(one[0], ())


def states_after(tokens: Iterable[str], states: Iterable[object]) -> frozenset[object]:
    """Those of the states in which the event that the words tell has happened; empty where they say nothing of it."""
    found = event_of(tokens)
    if found is None or found[1] or found[0] not in _STATES:
        return frozenset()
    wanted = set(_STATES[found[0]].split())
    listed = [(state, _squashed(state)) for state in states if isinstance(state, str)]
    chosen = {state for state, word in listed if word in wanted}
    if found[0] == "ended" and chosen:
        chosen |= {state for state, word in listed if word in _ALSO_ENDED}
    return frozenset(chosen)


def _squashed(state: str) -> str:
    word = state.lower().replace("-", "_")
    return word.removeprefix("state_").removeprefix("status_")
