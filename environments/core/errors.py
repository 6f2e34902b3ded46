"""Errors of the environments app, named after the boundary that failed.

`core` and `services` raise them; `environments.services.jobs` turns one that leaves a job's run into the row's
`error_code` and `error_message`; the console and `envfactory_site.problems` turn one that leaves a request into a
page or a problem body. `code` is stable and part of the API; the message is for people and may change.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault of one input field: a JSON pointer to it, a stable code and a sentence."""

    pointer: str
    code: str
    detail: str


class EnvFactoryError(Exception):
    """Base of all errors that a person or a caller can act on."""

    code = "error"

    def __init__(self, message: str, *, fields: tuple[FieldError, ...] = ()) -> None:
        super().__init__(message)
        self.fields = fields


class InvalidInputError(EnvFactoryError):
    """Input that does not fit its schema; `fields` names each fault."""

    code = "invalid_input"


class UnknownJobKindError(InvalidInputError):
    """A job kind that no app registered."""

    code = "unknown_job_kind"


class InvalidPackError(InvalidInputError):
    """A pack with faults that the host sees; `fields` names each by its place in the pack."""

    code = "invalid_pack"


class IdempotencyConflictError(EnvFactoryError):
    """An idempotency key that was already used for other parameters."""

    code = "idempotency_conflict"


class StaleStateError(EnvFactoryError):
    """An operation that the object's present state does not allow, such as retrying a running job."""

    code = "stale_state"


class NotVerifiedError(StaleStateError):
    """A version in quarantine, rejected or retired was to be run: only verified ones are."""

    code = "not_verified"


class SessionClosedError(StaleStateError):
    """A closed session was to be used."""

    code = "session_closed"


class SessionLeasedError(StaleStateError):
    """A session that an agent is using over MCP was to be changed over REST or in the console."""

    code = "session_leased"


class ReplayDiffersError(StaleStateError):
    """Recorded calls gave other observations when played again, so the environment is suspect."""

    code = "replay_differs"


class QuotaExceededError(EnvFactoryError):
    """More sessions or calls than the settings allow one person."""

    code = "quota_exceeded"


class SandboxFailedError(EnvFactoryError):
    """The locked worker can't be had or was lost; the message names the layer or the cause."""

    code = "sandbox_failed"


class PermissionDeniedError(EnvFactoryError):
    """A person or token without the permission that the operation needs."""

    code = "permission_denied"


class TransientError(EnvFactoryError):
    """A fault outside the product that is likely to pass; the job is tried again with backoff."""

    code = "transient"


class JobCancelledError(EnvFactoryError):
    """Raised inside a job's run once somebody asked to cancel it."""

    code = "cancelled"


class JobLostError(EnvFactoryError):
    """Raised inside a job's run whose row another worker has taken over; nothing more may be written."""

    code = "lost"


class UnreadableSourceError(EnvFactoryError):
    """A source that no reader can read, or that breaks a limit; the message names the place."""

    code = "unreadable_source"


class FetchRefusedError(EnvFactoryError):
    """An address that the fetch policy does not allow, or that broke one of its limits."""

    code = "fetch_refused"


class FetchFailedError(TransientError):
    """An address that did not answer, or not well; it may later."""

    code = "fetch_failed"
