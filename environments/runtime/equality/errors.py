"""What is wrong with the input of a comparison.

`compare` raises these and never gives a verdict on what it could not read; the caller stores the verdict as not given
(culprit `environment`), since the engine makes well-formed changes and a check of the pack makes well-formed tables.
"""


class EqualityError(ValueError):
    """Base of everything that a comparison refuses to read."""


class MalformedTablesError(EqualityError):
    """The tables cannot be compared: a foreign key to nothing, a generated id that is no key, a semantic key."""


class MalformedStateError(EqualityError):
    """The rows of the start state do not fit the tables."""


class MalformedChangeError(EqualityError):
    """A change does not fit the tables or the rows before it."""


class MalformedValueError(EqualityError):
    """A value is not of its column's type, or the text of a JSON column is no JSON that can be compared."""


class MalformedRequestError(EqualityError):
    """The other arguments of a comparison: allowed tables, rows that must be the same, the budget."""


class MalformedReportError(EqualityError):
    """A stored report is not one of this format."""
