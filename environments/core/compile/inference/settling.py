"""Last decisions about columns, once it is known which operations write them: who gives the key, what is never NULL."""

import re

from environments.core.compile.inference.drafts import ColumnDraft, LeftOutError, TableDraft
from environments.core.compile.inference.plans import ArgumentDraft, Plan
from environments.core.compile.inference.schemas import stored
from environments.core.compile.inference.states import begins, initial_state
from environments.core.compile.reading.calls import Call
from environments.core.compile.reading.words import squash
from environments.core.compile.semantics import ArgumentRole, ColumnRole, Generated, Kind, Part, ValueKind

PATH_IDS = frozenset({"azure"})
"""Families that show as `id` the path of the item itself."""
_DEFAULT = re.compile(r"\bdefaults?(?: value)?(?: is| to|:| =)?[\s`'\"]+([A-Za-z0-9_-]+)", re.IGNORECASE)
_TIMES = frozenset({ValueKind.TIME, ValueKind.DATE, ValueKind.EPOCH, ValueKind.EPOCH_MILLISECONDS})
_MAKING = frozenset({Kind.CREATE, Kind.UPSERT})
_CHANGING = frozenset({Kind.PATCH, Kind.REPLACE})
_WRITING = frozenset({Kind.CREATE, Kind.UPSERT, Kind.PATCH, Kind.REPLACE})


def settle(tables: list[TableDraft], plans: list[Plan]) -> tuple[list[Plan], list[tuple[Call, LeftOutError]]]:
    """Decides keys, defaults and NOT NULL; gives the plans that stand and those that fell."""
    left: list[tuple[Call, LeftOutError]] = []
    kept: list[Plan] = []
    for table in tables:
        own = [plan for plan in plans if plan.table is table]
        natural = any(plan.kind is Kind.UPSERT or (plan.kind is Kind.CREATE and not plan.generates_key) for plan in own)
        for plan in own:
            if plan.kind is Kind.CREATE and plan.generates_key and (natural or len(table.primary_key) > 1):
                left.append((plan.call, LeftOutError("key_not_given", table.key.name if table.key else "")))
            else:
                kept.append(plan)
        own = [plan for plan in kept if plan.table is table]
        _settle_key(table, own)
        for plan in own:
            plan.arguments = [each for each in plan.arguments if _still_sets(each, table)]
        _settle_columns(table, own)
    stands = [plan for plan in kept if plan.kind not in _CHANGING or plan.of(ArgumentRole.SET)]
    gone = {id(plan) for plan in kept} - {id(plan) for plan in stands}
    left += [(plan.call, LeftOutError("update_without_fields")) for plan in kept if id(plan) in gone]
    return stands, left


def _still_sets(argument: ArgumentDraft, table: TableDraft) -> bool:
    """Whether what an argument sets is still for callers to say, now that some columns are derived."""
    column = argument.column
    if argument.role is not ArgumentRole.SET or column is None:
        return True
    return not column.template and any(column is each for each in table.columns.values())


def _settle_key(table: TableDraft, plans: list[Plan]) -> None:
    if table.key is not None and any(plan.kind is Kind.CREATE and plan.generates_key for plan in plans):
        table.key.generated = Generated.ID
    if table.family.name in PATH_IDS:
        _derive_path_id(table, plans)
        _derive_type(table, plans)


def _derive_path_id(table: TableDraft, plans: list[Plan]) -> None:
    """The text that some families show as id: the path of the item itself."""
    column = table.column_for("id")
    if column is None or column is table.key or column.kind is not ValueKind.TEXT or table.key is None:
        return
    if table.key.generated is not None:
        return
    for plan in plans:
        keys = {each.name: each.column for each in plan.arguments if each.role is ArgumentRole.KEY and each.column}
        path = plan.call.operation.path
        if plan.kind not in (Kind.GET, Kind.UPSERT, Kind.DELETE) or not path.endswith("}"):
            continue
        parts: list[str | Part] = []
        for position, text in enumerate(re.split(r"\{([^{}]+)\}", path)):
            if position % 2 == 0:
                parts += [text] if text else []
            elif text in keys:
                parts.append(Part(keys[text].name))
            else:
                break
        else:
            column.template = tuple(parts)
            column.target, column.values, column.is_required = None, (), True
            return


def _derive_type(table: TableDraft, plans: list[Plan]) -> None:
    """The text that some families show as type: the namespace and the literals of the item's path."""
    column = table.column_for("type")
    if column is None or column.path != ("type",) or column in table.primary_key or column.values:
        return
    for plan in plans:
        match = re.search(
            r"/providers/([A-Za-z]+(?:\.[A-Za-z]+)+)((?:/[^/{}]+/\{[^/{}]+\})+)$", plan.call.operation.path
        )
        if match and not plan.with_column(column):
            literals = re.sub(r"/\{[^/{}]+\}", "", match[2])
            table.constants[column.path] = f"{match[1]}{literals}"
            del table.columns[column.name]
            table.by_name = {name: found for name, found in table.by_name.items() if found is not column}
            return


def _settle_columns(table: TableDraft, plans: list[Plan]) -> None:
    making = [plan for plan in plans if plan.kind in _MAKING]
    for column in table.columns.values():
        if column.role in (ColumnRole.CREATED, ColumnRole.UPDATED):
            if column.kind in _TIMES:
                column.generated = Generated.NOW
            else:
                column.role = ColumnRole.PLAIN
        if column in table.primary_key or column.template or table.link is not None:
            continue
        column.default = _default(column, making)
        column.is_required = _is_never_null(column, plans, making)


def _default(column: ColumnDraft, making: list[Plan]) -> "str | int | float | None":
    """What a new row holds where nobody says."""
    if column.generated is not None or column.target is not None:
        return None
    given = column.shape.default if column.shape is not None else None
    value = stored(given, column.kind, column.values) if given is not None else None
    if value is not None:
        return value  # type: ignore[no-any-return]  # in stored form
    said = _said_default(column)
    if said is not None:
        return said
    if column.role is ColumnRole.STATUS and (column.is_required or begins(column)):
        return initial_state(column)
    always = making and all((each := plan.with_column(column)) is not None and each.is_required for plan in making)
    if column.kind is ValueKind.BOOLEAN and making and not always:
        return 0
    return None


def _said_default(column: ColumnDraft) -> "str | int | float | None":
    """The default that a description names: "Defaults to true"."""
    match = _DEFAULT.search(column.description)
    if match is None:
        return None
    word = match[1].lower()
    if column.kind is ValueKind.BOOLEAN:
        return {"true": 1, "false": 0}.get(word)
    return next((value for value in column.values if str(value).lower() == word), None)


def _is_never_null(column: ColumnDraft, plans: list[Plan], making: list[Plan]) -> bool:
    """Whether no way of writing leaves it without a value."""
    if column.role is ColumnRole.SCOPE and column.target is not None:
        given = all((each := plan.with_column(column)) is not None and each.is_required for plan in making)
        return given and all(
            (each := plan.with_column(column)) is None or each.is_required
            for plan in plans
            if plan.kind in (Kind.REPLACE, Kind.UPSERT)
        )
    if column.generated is Generated.NOW:
        return True
    if not column.is_required and column.default is None:
        return False
    for plan in plans:
        if plan.kind not in _WRITING:
            continue
        argument = plan.with_column(column)
        is_given = argument is not None and argument.is_required
        if not is_given and column.default is None and (plan.kind in _MAKING or argument is not None):
            if plan.kind is Kind.PATCH:
                continue
            return False
    return True


def is_free_text(column: ColumnDraft) -> bool:
    """Whether two wordings of it may mean the same."""
    name = squash(column.path[-1] if column.path else column.name)
    return (
        column.kind is ValueKind.TEXT
        and not column.values
        and name.endswith(
            ("description", "note", "notes", "comment", "comments", "message", "body", "text", "summary", "content",
             "reason", "bio", "about", "remarks", "instructions", "details", "abstract", "feedback")
        )
    )  # fmt: skip
