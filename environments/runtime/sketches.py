"""What a Python source declares, as plain values: the locked worker lists it, and nothing of it is ever run."""

from dataclasses import dataclass
from typing import Literal

ArgumentKind = Literal["positional_only", "positional", "keyword_only", "var_positional", "var_keyword"]


@dataclass(frozen=True, slots=True)
class SketchArgument:
    """One argument of a function, or one field of a class.

    Attributes:
        name: Without stars.
        kind: How it is passed.
        annotation: As written, brought into one line; None without one.
        has_default: Whether it may be left out.
        default: The default as JSON text if it is a literal that JSON has; else None.
    """

    name: str
    kind: ArgumentKind
    annotation: str | None
    has_default: bool
    default: str | None


@dataclass(frozen=True, slots=True)
class SketchFunction:
    """One function or method.

    Attributes:
        name: Its own.
        class_name: Of the class that holds it; empty for a function.
        line: On which its `def` stands, from 1.
        is_async: Whether it is a coroutine.
        arguments: In order.
        returns: Annotation of the result, as written; None without one.
        docstring: As written, not unindented; empty without one.
        decorators: Their names, without arguments.
    """

    name: str
    class_name: str
    line: int
    is_async: bool
    arguments: tuple[SketchArgument, ...]
    returns: str | None
    docstring: str
    decorators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SketchClass:
    """One class, whose annotated names may be the fields of a value.

    Attributes:
        name: Its own.
        bases: Names of its bases.
        docstring: As written; empty without one.
        fields: Annotated names of its body.
        decorators: Their names, without arguments.
    """

    name: str
    bases: tuple[str, ...]
    docstring: str
    fields: tuple[SketchArgument, ...]
    decorators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SketchListing:
    """A whole source.

    Attributes:
        docstring: Of the module; empty without one.
        functions: In the source's order, methods too; those inside other functions are left out.
        classes: In the source's order.
    """

    docstring: str
    functions: tuple[SketchFunction, ...]
    classes: tuple[SketchClass, ...]
