"""Where a meaning says nothing."""

from environments.core.errors import EnvFactoryError


class UnspecifiedError(EnvFactoryError):
    """A call whose outcome the meaning leaves open.

    Raised by the interpreter: a write that would break a key or a foreign key which no check protects, or an order
    that depends on the text of an id which only the runtime makes. Whoever writes cases makes none of such a call.
    """

    code = "unspecified"
