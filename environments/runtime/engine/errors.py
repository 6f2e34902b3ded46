"""What can go wrong while a pack runs, and who answers for it.

`EngineError` is a caller's mistake (an unknown scenario, a foreign snapshot) and is raised to the worker, which reports
it. `ToolFailure` and `LimitExceeded` end one call as `failure` and never leave `Episode.call`. `Rejected` is a refusal
by `ctx.reject`. The last two are no `Exception`, so that a tool's own `except Exception` cannot swallow them.
"""

from dataclasses import dataclass
from enum import StrEnum

MAX_DETAIL_CHARACTERS = 500


class EngineError(Exception):
    """The engine cannot do what was asked; nothing has changed."""


class EpisodeLostError(EngineError):
    """The state of an episode is gone and could not be rebuilt from its changes; reopen it and replay."""


class PackRefusedError(EngineError):
    """The pack has faults, so no episode of it is opened."""


class FailureReason(StrEnum):
    """Why a call failed; the culprit is always the environment."""

    EXCEPTION = "exception"
    UNDECLARED_CODE = "undeclared_code"
    REJECTION_SWALLOWED = "rejection_swallowed"
    SQL_REFUSED = "sql_refused"
    SQL_ERROR = "sql_error"
    CONDITION_ERROR = "condition_error"
    POSTCONDITION = "postcondition"
    FOREIGN_KEY = "foreign_key"
    READ_TOOL_WROTE = "read_tool_wrote"
    ID_NOT_ISSUED = "id_not_issued"
    VALUE_RANGE = "value_range"
    RESULT_TYPE = "result_type"
    RESULT_TOO_LARGE = "result_too_large"
    OUTPUT_SCHEMA = "output_schema"
    LIMIT_STEPS = "limit_steps"
    LIMIT_STATEMENTS = "limit_statements"
    LIMIT_ROWS = "limit_rows"
    LIMIT_CHANGES = "limit_changes"
    LIMIT_STATE = "limit_state"


@dataclass(frozen=True, slots=True)
class CallFailure:
    """Why the last call failed, for logs and reports; the agent reads only `internal_error`.

    Attributes:
        reason: Which rule was broken.
        detail: What happened, at most 500 characters; may hold text that the pack or a caller chose.
    """

    reason: FailureReason
    detail: str


class ToolFailure(Exception):  # noqa: N818 - names the status of the call that it ends
    """A call ends as `failure`."""

    def __init__(self, reason: FailureReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class LimitExceeded(BaseException):
    """A call used more than it may; a tool cannot catch it by `except Exception`."""

    def __init__(self, reason: FailureReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Rejected(BaseException):
    """`ctx.reject` was called."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code)
        self.code = code
        self.message = message


class RerunFresh(BaseException):
    """The call used over half of its steps; decide it on a connection without history (see `database.StepBudget`)."""


def describe_exception(error: BaseException) -> str:
    """The type and message of an exception, bounded, whatever its `__str__` does."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a tool's exception may have a hostile __str__
        text = "<no text>"
    return f"{type(error).__name__[:80]}: {text[:MAX_DETAIL_CHARACTERS]}"[:MAX_DETAIL_CHARACTERS]
