"""The one error of this package: raised by the manager, caught by the command line, never stored."""


class EmbeddedServiceError(RuntimeError):
    """A server cannot be found, started, reached or stopped; the message says what to do about it."""
