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


class IdempotencyConflictError(EnvFactoryError):
    """An idempotency key that was already used for other parameters."""

    code = "idempotency_conflict"


class StaleStateError(EnvFactoryError):
    """An operation that the object's present state does not allow, such as retrying a running job."""

    code = "stale_state"


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
