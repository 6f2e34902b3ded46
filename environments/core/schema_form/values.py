"""What a form is made of and what it sends."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

MAX_DEPTH: Final = 4
"""Objects and arrays inside one another that are drawn; deeper parts are written as JSON."""
MAX_FIELDS: Final = 300
"""Controls of one form; what comes after them is written as JSON."""
MAX_ROWS: Final = 50
"""Rows of one array that are drawn."""
MAX_CHOICES: Final = 200
LONG_TEXT: Final = 120
"""Characters from which a text has several lines."""
MAX_JSON_CHARACTERS: Final = 256 << 10

Kind = Literal["text", "long_text", "integer", "number", "boolean", "choice", "date", "object", "array", "json"]
State = Literal["", "empty", "null", "given"]


class Absent:
    """Type of `ABSENT`."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()
"""No value: an argument that is left out, or a row that nothing was typed into yet."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Text that is no JSON where JSON is due; stands in a value for what was typed."""

    text: str


@dataclass(frozen=True, slots=True)
class FormField:
    """One part of a form.

    Attributes:
        kind: How it is drawn.
        pointer: Where its value is in the whole; empty for the whole.
        number: Position among all fields of the form, for the ids of its controls.
        label: Its name, as programs write it.
        title: What people call it.
        is_required: Whether the schema asks for it.
        is_given: Whether there is a value.
        description: From the schema.
        constraints: What the schema asks of the value, in words.
        default: What leaving it out means, as JSON.
        text: What stands in its control; of a choice the number of the chosen value.
        state: Which flag beside the control is set.
        flags: Which there are.
        choices: Numbers and texts of a choice.
        children: Members of an object, rows of an array.
        is_row: Whether it is a row, which can be taken out.
    """

    kind: Kind
    pointer: str
    number: int
    label: str
    title: str = ""
    is_required: bool = False
    is_given: bool = False
    description: str = ""
    constraints: tuple[str, ...] = ()
    default: str | None = None
    text: str = ""
    state: State = ""
    flags: tuple[State, ...] = ()
    choices: tuple[tuple[str, str], ...] = ()
    children: tuple["FormField", ...] = ()
    is_row: bool = False
    was_drawn_otherwise: bool = False

    @property
    def every(self) -> Iterator["FormField"]:
        """The field and all that are in it."""
        yield self
        for child in self.children:
            yield from child.every


@dataclass(frozen=True, slots=True)
class Problem:
    """Typed text that is no JSON value."""

    pointer: str
    message: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a form sent.

    Attributes:
        value: The value; parts that can't be read are `Unread`, new rows `ABSENT`.
        problems: Why each of them can't.
    """

    value: Any
    problems: tuple[Problem, ...] = ()
