"""Names in tools.py and in SQL: what arguments are called there, and which names need quotation marks."""

from collections.abc import Iterable, Mapping
from typing import Final

from environments.core.compile.semantics import Meaning

_TAKEN: Final = frozenset({"ctx", "int", "json", "len", "result", "str"})
"""What the functions themselves need; `result` is a parameter of conditions."""

_UNREADABLE: Final = frozenset({
    "alter", "between", "create", "cross", "distinct", "drop", "fetch", "glob", "grant", "having", "ilike", "inner",
    "insert", "intersect", "into", "join", "lateral", "like", "notnull", "on", "outer", "qualify", "regexp",
    "returning", "revoke", "rlike", "rollback", "select", "tablesample", "then", "uncache", "union", "using", "values",
    "when", "where", "xor",
})  # fmt: skip
"""Parameters that SQLite knows, but not every reader of SQL."""

_QUOTED: Final = frozenset({
    "add", "all", "alter", "and", "as", "autoincrement", "between", "case", "cast", "check", "collate", "commit",
    "constraint", "create", "current_date", "current_time", "current_timestamp", "default", "deferrable", "delete",
    "distinct", "drop", "else", "escape", "except", "exists", "foreign", "from", "group", "having", "if", "in", "index",
    "insert", "intersect", "into", "is", "isnull", "join", "limit", "not", "nothing", "notnull", "null", "on", "or",
    "order", "primary", "raise", "references", "returning", "select", "set", "table", "then", "to", "transaction",
    "union", "unique", "update", "using", "values", "when", "where",
    # Plain names or values to SQLite, but not to every reader of SQL.
    "any", "cross", "current_user", "describe", "exclude", "false", "fetch", "for", "glob", "grant", "ilike", "inner",
    "lateral", "like", "outer", "qualify", "regexp", "revoke", "rlike", "tablesample", "true", "uncache", "with", "xor",
    # Plain names to SQLite, but a pack's SQL must not say them unquoted: they would draw numbers or undo an episode.
    "conflict", "random", "randomblob", "rollback",
})  # fmt: skip
"""Words that are no names in SQLite unless quoted; every other keyword may be one."""


def quoted(name: str) -> str:
    """A table's, column's or result's name as SQL."""
    if name.isascii() and name.isidentifier() and name.lower() not in _QUOTED:
        return name
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def listed(names: Iterable[str]) -> str:
    """Names as SQL, separated by commas."""
    return ", ".join(map(quoted, names))


def python_names(meaning: Meaning) -> dict[str, str]:
    """By JSON name of each argument: its name in tools.py and as a parameter of SQL."""
    found: dict[str, str] = {}
    for argument in meaning.arguments:
        name = argument.python_name
        found[argument.name] = unused(name, {*_TAKEN, *_UNREADABLE, *found.values()})
    return found


def unused(name: str, taken: Iterable[str]) -> str:
    """The name, with as many underscores behind it as keep it apart from others."""
    used = frozenset(taken)
    while name in used:
        name += "_"
    return name


def argument_names(meaning: Meaning) -> Mapping[str, str]:
    """The entries of `argument_names` in environment.json: only where the two names differ."""
    return {name: python for name, python in python_names(meaning).items() if name != python}
