"""The one way out of reading an operation: raised by readers, caught by inference, stored with the operation."""


class UnreadOperationError(Exception):
    """An operation that by itself already says that it can't be compiled.

    Attributes:
        reason: Code of `reasons.READING_REASONS`.
        detail: For people: what was not understood.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
