"""Statements of a function while they are written: its lines, its local names, what its SQL's parameters hold."""

from collections.abc import Iterable

from environments.core.compile.emission.names import unused
from environments.core.compile.emission.python_text import (
    Call,
    Dict,
    Expression,
    Sql,
    value_literal,
    written,
)
from environments.core.compile.emission.sql import Subject, parameters
from environments.core.compile.emission.views import tree
from environments.core.compile.semantics import Argument, ArgumentRole, ValueKind


class Statements:
    """The statements of one tool.

    Attributes:
        subject: What the tool is about.
        meaning: Of the tool.
        lines: What was written so far.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.meaning = subject.meaning
        self.lines: list[str] = []
        self._taken = {"ctx", *subject.names.values()}
        self._bound = {subject.python(argument): self._passed(argument) for argument in self.meaning.arguments}
        self._bound[subject.now] = "ctx.now()"

    def local(self, name: str) -> str:
        """A name for a local variable, close to this one."""
        made = unused(name, self._taken)
        self._taken.add(made)
        return made

    def bind(self, parameter: str, value: str) -> None:
        """Says which expression a parameter of SQL holds."""
        self._bound[parameter] = value

    def is_bound(self, parameter: str) -> bool:
        """Whether SQL has a parameter of that name."""
        return parameter in self._bound

    def write(self, before: str, expression: Expression) -> None:
        """Adds a statement."""
        self.lines += written(before, expression)

    def query(self, method: str, sql: str, *, besides: str = "", known: Dict | None = None, ending: str = "") -> Call:
        """A call of `ctx.db` with the values of the SQL's parameters.

        Args:
            method: `one`, `all` or `run`.
            sql: The text.
            besides: A local object with more values.
            known: What that object holds.
            ending: What follows the call.
        """
        values: list[tuple[str, Expression]] = [("", Sql(sql))]
        if besides:
            values.append(("**", besides))
        held = {name for name, _ in known.entries} if known is not None else set()
        values += [(name, self._bound[name]) for name in parameters(sql) if name not in held]
        return Call(f"ctx.db.{method}", tuple(values), ending)

    def values_of(self, sql: str) -> Dict:
        """The values of a text's parameters as an object."""
        return Dict(tuple((name, self._bound[name]) for name in parameters(sql)))

    def give(self, entries: Iterable[tuple[tuple[str, ...], Expression]]) -> None:
        """Writes the return statement: constants first, then these values at their paths."""
        made = [(path, value_literal(value)) for path, value in self.meaning.result.constants]
        rest = list(entries)
        whole = [value for path, value in rest if not path]
        if whole and not made:
            self.write("return ", whole[0])
            return
        found = tree([*made, *(entry for entry in rest if entry[0])])
        self.write("return ", Dict((*found.entries, *((None, value) for value in whole))))

    def _passed(self, argument: Argument) -> str:
        """An argument as SQL gets it."""
        name = self.subject.python(argument)
        if argument.role is ArgumentRole.ONE_OF:
            return f"json.dumps({name}) if {name} else None"
        if argument.role is not ArgumentRole.SET or argument.column is None:
            return name
        if self.subject.table.column(argument.column).kind is not ValueKind.JSON:
            return name
        text = f"json.dumps({name})"
        return text if self.subject.is_given(argument) else f"None if {name} is None else {text}"
