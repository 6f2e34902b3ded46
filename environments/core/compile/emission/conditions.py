"""Pre- and post-conditions: what a call needs, and what must be true once it succeeded.

Post-conditions follow from the meaning alone: they hold after every call of a right tool, and not after those of most
wrong ones.
"""
# ruff: noqa: S608 - names are quoted, values are parameters or literals

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from environments.core.compile.emission.names import quoted
from environments.core.compile.emission.sql import Subject, literal, literals, may_be_null, parameters, where
from environments.core.compile.emission.wording import message_of, policy_of
from environments.core.compile.semantics import (
    Absent,
    Answer,
    ArgumentRole,
    Assignment,
    Blueprint,
    Check,
    Exists,
    InUse,
    Kind,
    PageFact,
    Source,
    StateAllows,
    ValueKind,
)
from environments.runtime.pack.limits import MAX_CONDITION_SQL
from environments.runtime.pack.model import Condition

CAPTURE: Final = "rows"
"""How many rows there were, where nothing names a new one."""
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OF_JSON_EACH: Final = frozenset({
    "atom", "fullkey", "id", "json", "key", "parent", "path", "root", "type", "value",
})  # fmt: skip
"""Columns of `json_each` itself, which hide a table's own within its query."""
_UNQUOTABLE: Final = re.compile(r'["\\\x00-\x1f]')


# --- Before -----------------------------------------------------------------------------------------------------------


def preconditions(subject: Subject, blueprint: Blueprint) -> tuple[Condition, ...]:
    """A condition for each check, in order; checks of one code are one condition, where the first of them stands."""
    found: dict[str, Condition] = {}
    for check in subject.meaning.checks:
        sql = f"SELECT {_check(check, subject, blueprint)}"
        known = found.get(check.code)
        if known is None:
            policy = policy_of(check, subject.meaning, blueprint)
            found[check.code] = Condition(check.code, sql, message_of(check, subject.meaning, blueprint), policy)
        else:
            found[check.code] = replace(known, sql=f"SELECT ({known.sql}) AND ({sql})")
    return tuple(found.values())


def _check(check: Check, subject: Subject, blueprint: Blueprint) -> str:
    row = _pairs(check.where, subject)
    table = quoted(check.table)
    absent = [name for _, name in check.where if not subject.is_given(subject.arguments[name])]
    if isinstance(check, Exists):
        unless = "".join(f":{subject.names[name]} IS NULL OR " for name in absent)
        return f"{unless}EXISTS (SELECT 1 FROM {table} WHERE {row})"
    if isinstance(check, Absent):
        own = f" AND NOT ({_pairs(check.besides, subject)})" if check.besides else ""
        return f"NOT EXISTS (SELECT 1 FROM {table} WHERE {row}{own})"
    if isinstance(check, InUse):
        return f"NOT EXISTS (SELECT 1 FROM {table} WHERE {row})"
    state = f"{_state(check, blueprint)} FROM {table} WHERE {row}"
    is_there = not absent and any(
        isinstance(other, Exists) and (other.table, other.where) == (check.table, check.where)
        for other in subject.meaning.checks
    )
    return state if is_there else f"coalesce((SELECT {state}), 1)"


def _pairs(pairs: Sequence[tuple[str, str]], subject: Subject) -> str:
    return " AND ".join(f"{quoted(column)} = :{subject.names[argument]}" for column, argument in pairs)


def _state(check: StateAllows, blueprint: Blueprint) -> str:
    column = quoted(check.column)
    table = blueprint.table(check.table)
    has_null = may_be_null(table.column(check.column), table)
    values = [value for value in check.allowed or check.refused if value is not None]
    names_null = None in (check.allowed or check.refused)
    if check.allowed:
        text = _among(column, values)
        if not has_null:
            return text
        return f"{column} IS NULL OR {text}" if names_null else f"{column} IS NOT NULL AND {text}"
    text = _among(column, values, is_among=False)
    if not has_null:
        return text
    return f"{column} IS NOT NULL AND {text}" if names_null else f"{column} IS NULL OR {text}"


def _among(column: str, values: Sequence[str | int | float], *, is_among: bool = True) -> str:
    if len(values) == 1:
        return f"{column} {'=' if is_among else '<>'} {literal(values[0])}"
    return f"{column} {'' if is_among else 'NOT '}IN ({literals(values)})"


# --- After ------------------------------------------------------------------------------------------------------------


def captures(subject: Subject) -> dict[str, str]:
    """What must be known of the state before the call."""
    if subject.meaning.kind is Kind.CREATE and _new_key(subject) is None:
        return {CAPTURE: f"SELECT count(*) FROM {quoted(subject.table.name)}"}
    return {}


def postconditions(subject: Subject) -> tuple[Condition, ...]:
    """What must be true after every success."""
    taken = {check.code for check in subject.meaning.checks}
    return tuple(
        Condition(code, f"SELECT {sql}", message)
        for code, sql, message in _after(subject)
        if code not in taken and len(sql) <= MAX_CONDITION_SQL - len("SELECT ")
    )


def _after(subject: Subject) -> Iterator[tuple[str, str, str]]:
    kind, noun = subject.meaning.kind, subject.table.noun.replace("_", " ")
    table = quoted(subject.table.name)
    if kind in (Kind.LIST, Kind.LIST_KEYS):
        yield from _after_list(subject)
    elif kind in (Kind.COUNT, Kind.SUM):
        yield from _after_number(subject)
    elif kind is Kind.GET:
        path = _key_path(subject)
        if path is not None:
            name = subject.python(dict(subject.key)[subject.table.key])
            yield "wrong_row", f"json_extract(:result, {path}) = :{name}", f"The answer is another {noun}."
    elif kind is Kind.CREATE:
        key = _new_key(subject)
        if key is None:
            sql = f"count(*) = :before_{CAPTURE} + 1 FROM {table}"
        else:
            sql = f"{_holding(subject, subject.of_new_row(), keeps_old=False)} FROM {table} WHERE {key}"
        yield "not_created", sql, f"The new {noun} is not there as asked for."
    elif kind in (Kind.DELETE, Kind.UNLINK):
        gone = f"NOT EXISTS (SELECT 1 FROM {table} WHERE {subject.row()})"
        yield "not_deleted", gone, f"The {noun} is still there."
    elif kind is Kind.LINK:
        there = f"EXISTS (SELECT 1 FROM {table} WHERE {subject.row()})"
        yield "not_linked", there, f"The {noun} is not there."
    else:
        is_upsert = kind is Kind.UPSERT
        assignments = subject.meaning.updates if is_upsert else subject.meaning.assignments
        keeps_old = kind in (Kind.PATCH, Kind.TRANSITION)
        holding = _holding(subject, assignments, keeps_old=keeps_old)
        yield "not_changed", f"{holding} FROM {table} WHERE {subject.row()}", f"The {noun} is not as asked for."


def _holding(subject: Subject, assignments: Sequence[Assignment], *, keeps_old: bool) -> str:
    """That a row's columns have the values that were written."""
    found = [text for each in assignments if (text := _written(subject, each, assignments, keeps_old=keeps_old))]
    return " AND ".join(found) or "count(*) = 1"


def _written(subject: Subject, each: Assignment, assignments: Sequence[Assignment], *, keeps_old: bool) -> str:
    """That one column has its value; empty where only the tool can know it."""
    if each.source in (Source.NEW_ID, Source.NOW):
        return ""
    column = subject.table.column(each.column)
    name = quoted(column.name)
    value = subject.written(each, assignments, keeps_old=keeps_old)
    if each.source is Source.TEMPLATE:
        return "" if subject.now in parameters(value) else f"{name} = {value}"
    if each.source is not Source.ARGUMENT:
        return f"{name} IS {value}"
    argument = subject.arguments[each.argument or ""]
    parameter = f":{subject.python(argument)}"
    if column.kind is ValueKind.JSON:
        # Two texts of one JSON value differ, but not in how many members it has.
        held = f"{quoted(subject.table.name)}.{name}" if column.name in _OF_JSON_EACH else name
        same = f"(SELECT count(*) FROM json_each({held})) = (SELECT count(*) FROM json_each({parameter}))"
        return same if subject.is_given(argument) else f"({parameter} IS NULL OR {same})"
    if subject.is_given(argument):
        return f"{name} = {parameter}"
    return f"({parameter} IS NULL OR {name} = {parameter})" if keeps_old else f"{name} IS {value}"


def _new_key(subject: Subject) -> str | None:
    """The condition that names the new row; None if nothing tells its key."""
    found = []
    assignments = {each.column: each for each in subject.of_new_row()}
    for name in subject.table.primary_key:
        each = assignments.get(name)
        if each is None:
            return None
        if each.source in (Source.NEW_ID, Source.NOW):
            path = _key_path(subject, name)
            if path is None:
                return None
            found.append(f"{quoted(name)} = json_extract(:result, {path})")
        else:
            value = subject.written(each, list(assignments.values()), keeps_old=False)
            found.append(f"{quoted(name)} = {value}")
    return " AND ".join(found)


def _key_path(subject: Subject, column: str | None = None) -> str | None:
    """Where the result shows a column of the key, as a JSON path in SQL; None if it does not."""
    result = subject.meaning.result
    if result.form is not Answer.ROW or result.view is None or result.view.table != subject.table.name:
        return None
    wanted = column or subject.table.key
    if subject.table.column(wanted).kind in (ValueKind.JSON, ValueKind.REAL):
        return None
    for entry in result.view.properties:
        if entry.column == wanted:
            return json_path(result.place, entry.path, first=result.one_in_list)
    return None


def json_path(place: Sequence[str], path: Sequence[str] = (), *, first: bool = False) -> str | None:
    """A place in the result as SQL; None if SQLite has no path to it.

    Args:
        place: Names from the root.
        path: Names below it.
        first: Whether an array of one stands between them.
    """
    if any(_UNQUOTABLE.search(name) for name in (*place, *path)):
        return None
    names = [f".{name}" if _PLAIN_NAME.fullmatch(name) else f'."{name}"' for name in (*place, *path)]
    if first:
        names.insert(len(place), "[0]")
    return literal("$" + "".join(names))


# Lists


def _after_list(subject: Subject) -> Iterator[tuple[str, str, str]]:
    path = json_path(subject.meaning.result.place)
    if path is None:
        return
    here = f"json_array_length(:result, {path})"
    matching = _matching(subject)
    size, skip = _size(subject), _skip(subject)
    follows = f"{skip} + {size} < {matching}" if skip != "0" else f"{size} < {matching}"
    if subject.one(ArgumentRole.AFTER) is not None:
        if size:
            yield "wrong_rows", f"{here} <= {size}", "The page is longer than it may be."
    else:
        rest = f"{matching} - {skip}" if skip != "0" else matching
        rest = f"max(0, {rest})" if skip != "0" else rest
        expected = f"min({size}, {rest})" if size else rest
        yield "wrong_rows", f"{here} = {expected}", "The page has not as many rows as belong on it."
        if size:
            yield from _after_facts(subject, follows)
    for place, fact in subject.meaning.result.page_facts:
        if fact is PageFact.TOTAL and (total := json_path(place)) is not None:
            yield "wrong_total", f"json_extract(:result, {total}) = {matching}", "The total is not the number of rows."
            return


def _after_facts(subject: Subject, follows: str) -> Iterator[tuple[str, str, str]]:
    """That the envelope says rightly whether more rows follow."""
    parts = []
    for place, fact in subject.meaning.result.page_facts:
        path = json_path(place)
        if path is None:
            continue
        if fact is PageFact.HAS_MORE:
            parts.append(f"json_extract(:result, {path}) = ({follows})")
        elif fact in (PageFact.NEXT_CURSOR, PageFact.NEXT_PAGE, PageFact.NEXT_AFTER):
            parts.append(f"(json_extract(:result, {path}) IS NOT NULL) = ({follows})")
    if parts:
        yield "wrong_next", " AND ".join(parts), "The answer does not say rightly whether more rows follow."


def _matching(subject: Subject) -> str:
    clause = where(subject.filters(of_condition=True))
    return f"(SELECT count(*) FROM {quoted(subject.table.name)}{clause})"


def _size(subject: Subject) -> str:
    argument = subject.one(ArgumentRole.SIZE)
    if argument is not None:
        return f":{subject.python(argument)}"
    return "" if subject.meaning.page_size is None else str(subject.meaning.page_size)


def _skip(subject: Subject) -> str:
    page, size = subject.one(ArgumentRole.PAGE), _size(subject)
    if page is not None and size:
        first = subject.meaning.first_page
        return f"(:{subject.python(page)} - {first}) * {size}" if first else f":{subject.python(page)} * {size}"
    if (offset := subject.one(ArgumentRole.OFFSET)) is not None:
        return f":{subject.python(offset)}"
    if (cursor := subject.one(ArgumentRole.CURSOR)) is not None:
        return f"CAST(coalesce(:{subject.python(cursor)}, 0) AS INTEGER)"
    return "0"


def _after_number(subject: Subject) -> Iterator[tuple[str, str, str]]:
    path = json_path(subject.meaning.result.place)
    if path is None:
        return
    given = f"json_extract(:result, {path})"
    if subject.meaning.sum_column is None:
        yield "wrong_count", f"{given} = {_matching(subject)}", "The answer is not the number of rows."
        return
    clause = where(subject.filters(of_condition=True))
    column = quoted(subject.meaning.sum_column)
    added = f"(SELECT coalesce(sum({column}), 0) FROM {quoted(subject.table.name)}{clause})"
    # A sum of doubles may lose its last digits on the way through JSON.
    yield "wrong_sum", f"abs({given} - {added}) <= 1e-9 * (1 + abs({added}))", "The answer is not the sum of the rows."
