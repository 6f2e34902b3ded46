"""Verbs as changes of state: where the schema has the state that a verb leads to, and only there."""

from collections.abc import Iterable
from dataclasses import dataclass

from environments.core.compile.inference.drafts import ColumnDraft, TableDraft
from environments.core.compile.reading.vocabulary import STATUS, TRANSITIONS
from environments.core.compile.reading.words import squash
from environments.core.compile.semantics import ColumnRole, Value, ValueKind

INITIAL_STATES = (
    "draft", "new", "open", "created", "pending", "queued", "requested", "submitted", "todo", "scheduled", "active",
    "enabled", "available", "ready", "provisioning", "creating", "incomplete", "requirespaymentmethod",
    "unpaid", "unverified", "inactive",
)  # fmt: skip
"""What a new thing is, likeliest first."""
_NEVER_FIRST = (
    "unspecified", "unknown", "cancel", "fail", "error", "deleting", "deleted", "delete", "archive", "archiving",
    "complete", "completing", "succe", "closed", "closing", "expire", "expiring", "reject", "decline", "declining",
    "paid", "refund", "void", "terminate", "terminating", "stopped", "stopping", "abort", "disable", "disabling",
    "suspend", "finish", "done", "remove", "removing", "stateunspecified", "statusunspecified", "none", "inactive",
    "approved", "resolved", "sent", "delivered", "shipped", "deprecated", "obsolete", "retired",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class TransitionDraft:
    """What a verb sets, and which states let it.

    Attributes:
        sets: Columns with their new values, stored form.
        column: The one whose value decides.
        allowed: Values from which the verb leads away, where the verb itself says so; else empty.
        refused: Values in which it is refused: it is there already.
    """

    sets: tuple[tuple[ColumnDraft, Value], ...]
    column: ColumnDraft
    allowed: tuple[Value, ...]
    refused: tuple[Value, ...]


def find_transition(table: TableDraft, verb: str) -> TransitionDraft | None:
    """The change of state that a verb means for the table; None without such a state, or with two."""
    known = TRANSITIONS.get(verb)
    if known is None:
        return None
    found: list[TransitionDraft] = []
    for column in _state_columns(table):
        values = _by_word(column)
        target = next((values[name] for name in known.targets if name in values), None)
        if target is not None:
            allowed = tuple(values[name] for name in known.origins if name in values and values[name] != target)
            refused = (target,) if known.is_terminal and not allowed else ()
            found.append(TransitionDraft(((column, target),), column, allowed, refused))
    if found:
        main = [each for each in found if squash(_last(each.column)) in ("status", "state")]
        chosen = main if len(main) == 1 else found
        return chosen[0] if len(chosen) == 1 else None
    flags: list[TransitionDraft] = []
    for name, is_on in known.flags:
        flag = table.column_for(name)
        if flag is not None and flag.kind is ValueKind.BOOLEAN and all(flag is not each.column for each in flags):
            value = int(is_on)
            flags.append(TransitionDraft(((flag, value),), flag, (), (value,) if known.is_terminal else ()))
    return flags[0] if len(flags) == 1 else None


def initial_state(column: ColumnDraft) -> Value:
    """The state of a new row: what the document says, else the value that says so by its name, else the first."""
    default = column.shape.default if column.shape is not None else None
    if isinstance(default, str | int) and default in column.values:
        return default
    values = _by_word(column)
    # What is made is there when the call returns, so it is provisioned.
    wanted = ("succeeded",) if squash(_last(column)) == "provisioningstate" else ()
    for word in (*wanted, *INITIAL_STATES):
        if word in values:
            return str(values[word]) if column.kind is ValueKind.TEXT else int(values[word])
    real = [value for value in column.values if not squash(str(value)).startswith(_NEVER_FIRST)]
    first: Value = (real or list(column.values))[0]
    return first


def begins(column: ColumnDraft) -> bool:
    """Whether one of the values says by its name that something begins."""
    return any(word in _by_word(column) for word in INITIAL_STATES)


def _by_word(column: ColumnDraft) -> dict[str, str | int]:
    """Values by their squashed text, without words that all begin with: `STATE_PAUSED` is `paused`."""
    parts = [str(value).split("_") for value in column.values]
    shared = 0
    while all(len(part) > shared + 1 and part[shared] == parts[0][shared] for part in parts) and len(parts) > 1:
        shared += 1
    return {squash("_".join(part[shared:])): value for part, value in zip(parts, column.values, strict=True)}


def _state_columns(table: TableDraft) -> Iterable[ColumnDraft]:
    for column in table.columns.values():
        name = squash(_last(column))
        is_status = column.role is ColumnRole.STATUS or name in STATUS or name.endswith(("status", "state"))
        if column.values and is_status and column is not table.key and column.role is not ColumnRole.SCOPE:
            yield column


def _last(column: ColumnDraft) -> str:
    return column.path[-1] if column.path else column.name
