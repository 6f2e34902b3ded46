"""Runs one pack inside this process; the sandbox locks the process around it.

`Engine(pack)` validates and prepares, `Engine.open` starts an episode, `Episode.call` runs one call in the order that
docs/contracts.md, C4 gives. Importing this package imports everything that a tool may ever import.
"""

from environments.runtime.engine.engine import Engine
from environments.runtime.engine.episode import Episode
from environments.runtime.engine.errors import (
    CallFailure,
    EngineError,
    EpisodeLostError,
    FailureReason,
    PackRefusedError,
)

__all__ = [
    "CallFailure",
    "Engine",
    "EngineError",
    "Episode",
    "EpisodeLostError",
    "FailureReason",
    "PackRefusedError",
]
