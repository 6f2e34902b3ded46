"""What can go wrong at the sandbox's boundary.

Raised by the host side (`host`, `pool`) about a worker that is lost, slow or lying; caught by the pool, which kills,
replays and looks for the culprit, and stored as the `code` of the call's record. `SandboxUnavailableError` alone is
meant for people: it names the missing layer and the remedy. A tool that merely fails raises nothing of
this: its failure is a record.
"""


class SandboxError(Exception):
    """Base of everything that the sandbox raises.

    Attributes:
        code: Stable name, stored in records and shown to people.
        is_hostile: Whether the pack itself is suspect, so that it is quarantined at once.
    """

    code = "sandbox_error"
    is_hostile = False


class SoftTimeoutError(BaseException):
    """Raised inside a call by the worker's own timer.

    Not an Exception, so that a tool's `except Exception` does not swallow it; the engine rolls the call back and lets
    it pass. Never leaves the worker.
    """


class SandboxUnavailableError(SandboxError):
    """The lock can't be had here: names the layer, the reason and the remedy."""

    code = "sandbox_unavailable"


class ToolTimeout(SandboxError):  # noqa: N818 - what came of a call, not an error of ours
    """A call ran past its time; the worker may have been killed for it."""

    code = "tool_timeout"


class ToolMemory(SandboxError):  # noqa: N818
    """A call needed more memory than a worker may have."""

    code = "tool_memory"


class ToolCrash(SandboxError):  # noqa: N818
    """The worker process died during a call (segmentation fault, abort, exit)."""

    code = "tool_crash"


class HarnessTampered(ToolCrash):
    """A tool changed the worker's own code or signal handlers; the pack runs in fork mode from then on."""

    code = "harness_tampered"


class SandboxViolation(SandboxError):  # noqa: N818
    """The worker was killed by the kernel for a system call that no tool has a reason to make."""

    code = "sandbox_violation"
    is_hostile = True


class SandboxProtocolError(SandboxError):
    """The worker sent something that is no valid answer; it was killed and nothing of it is believed."""

    code = "sandbox_protocol"
    is_hostile = True


class EpisodeLost(SandboxError):  # noqa: N818
    """The episode's state is gone from the worker (its SQLite transaction was rolled back as a whole)."""

    code = "episode_lost"


class ReplayMismatch(SandboxError):  # noqa: N818
    """The same calls gave another answer than before: the pack is not deterministic, and suspect."""

    code = "replay_mismatch"


class PackQuarantinedError(SandboxError):
    """The pack crashed too often or broke a rule; it runs no more in this process until released."""

    code = "pack_quarantined"


class PoolClosedError(SandboxError):
    """The pool was closed, or belongs to the process this one was forked from."""

    code = "pool_closed"


class RequestError(SandboxError):
    """The worker refused a request that names something it does not have, or a pack that does not load.

    Attributes:
        kind: The worker's own word for it: the name of what it raised.
    """

    code = "bad_request"
    OF_PACK_OR_WORKER = frozenset({"PackRefusedError", "RequestFailedError"})
    """Kinds that no argument of a caller's can bring about."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
