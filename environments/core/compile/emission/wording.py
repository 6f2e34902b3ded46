"""What people and agents read: messages, policy sentences, descriptions."""

import re
from collections.abc import Sequence
from typing import Final

from environments.core.compile.reading.words import plural
from environments.core.compile.semantics import (
    Absent,
    Answer,
    Blueprint,
    Check,
    Exists,
    InUse,
    Kind,
    Meaning,
    PlannedTool,
    StateAllows,
    Table,
    Value,
    ValueKind,
)
from environments.runtime.pack.limits import MAX_DESCRIPTION, MAX_MESSAGE, MAX_TITLE

_VOWEL_SOUNDS: Final = re.compile(r"(?!uni|use|usu|uti|eu|one|ura|ubi)[aeiou]|hour|honest|heir", re.IGNORECASE)
_VERBS: Final = {
    Kind.CREATE: "create", Kind.REPLACE: "replace", Kind.PATCH: "change", Kind.UPSERT: "write", Kind.DELETE: "delete",
    Kind.TRANSITION: "change", Kind.LINK: "add", Kind.UNLINK: "remove",
}  # fmt: skip
_DONE: Final = {Kind.DELETE: "deleted", Kind.UNLINK: "removed", Kind.REPLACE: "replaced"}


def words(name: str) -> str:
    """A snake-case name as words."""
    return name.replace("_", " ").strip() or name


def on_one_line(text: str) -> str:
    """A text without line breaks and control characters."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def cut(text: str, limit: int) -> str:
    """A text of at most so many characters, ended at a word."""
    if len(text) <= limit:
        return text
    return text[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def many(noun: str) -> str:
    """The plural of a snake-case noun, as words."""
    return words(plural(noun))


def with_article(noun: str) -> str:
    """`a customer`, `an order`."""
    return f"{'an' if _VOWEL_SOUNDS.match(noun) else 'a'} {noun}"


def joined(parts: Sequence[str], last: str = "and") -> str:
    """`a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def message_of(check: Check, meaning: Meaning, blueprint: Blueprint) -> str:
    """What a refused caller reads."""
    table = blueprint.table(check.table)
    noun = words(table.noun)
    if isinstance(check, Exists):
        text = f"There is no {noun} with {_given(check, table)}."
    elif isinstance(check, Absent):
        text = f"There is already {with_article(noun)} with {_given(check, table)}."
    elif isinstance(check, InUse):
        own = words(blueprint.table(meaning.table).noun)
        text = f"There are still {many(table.noun)} that belong to this {own}."
    else:
        text = f"{_state(check, blueprint, f'The {noun}')}."
    return cut(text, MAX_MESSAGE)


def policy_of(check: Check, meaning: Meaning, blueprint: Blueprint) -> str | None:
    """The rule behind a refusal as a sentence for the policy; None where it only says that something is not there."""
    noun = words(blueprint.table(check.table).noun)
    nouns = many(blueprint.table(check.table).noun)
    own = words(blueprint.table(meaning.table).noun)
    if isinstance(check, Absent):
        columns = [words(column) for column, _ in check.where]
        text = f"No two {nouns} have the same {joined(columns)}."
    elif isinstance(check, InUse):
        done = _DONE.get(meaning.kind, "changed")
        text = f"{with_article(own).capitalize()} to which {nouns} still belong cannot be {done}."
    elif isinstance(check, StateAllows):
        verb = words(meaning.verb) or _VERBS.get(meaning.kind, "use")
        subject = "it" if check.table == meaning.table else f"the {noun}"
        text = f"To {verb} {with_article(own)}, {_state(check, blueprint, subject)}."
    else:
        return None
    return cut(text, MAX_MESSAGE)


def _given(check: Exists | Absent, table: Table) -> str:
    """`this id`, `this order id and sku`, `the id given as gift_for`."""
    said = {f"{table.noun}_{column}": column for column, _ in check.where} | {table.noun: table.key}
    if all(column in (argument, said.get(argument)) for column, argument in check.where):
        return f"this {joined([words(column) for column, _ in check.where])}"
    return joined([f"the {words(column)} given as {argument}" for column, argument in check.where])


def _state(check: StateAllows, blueprint: Blueprint, subject: str) -> str:
    """What must hold of a row's state: `the order's status must be paid`, `it must be active`."""
    column = blueprint.table(check.table).column(check.column)
    values = check.allowed or check.refused
    is_allowed = bool(check.allowed)
    label = words(column.name)
    is_flag = column.kind is ValueKind.BOOLEAN
    owner = "its" if subject == "it" else f"{subject}'s"
    owned = f"{owner} {column.name if is_flag else label}"
    if is_flag and len(values) == 1:
        wanted = bool(values[0]) == is_allowed
        prefix, _, rest = label.partition(" ")
        if prefix in ("is", "has") and rest:
            return f"{subject} must {'' if wanted else 'not '}{'be' if prefix == 'is' else 'have'} {rest}"
        return f"{owned} must be {'true' if wanted else 'false'}"
    named = joined([_value(value, is_flag=is_flag) for value in values], "or")
    return f"{owned} must {'' if is_allowed else 'not '}be {named}"


def _value(value: Value, *, is_flag: bool) -> str:
    if value is None:
        return "unset"
    if is_flag:
        return "true" if value else "false"
    return words(str(value))


def title_of(tool: PlannedTool) -> str:
    """A few words, sentence case."""
    return cut(on_one_line(tool.title) or words(tool.name).capitalize(), MAX_TITLE)


def description_of(tool: PlannedTool, blueprint: Blueprint) -> str:
    """What the tool does, needs and gives; what the plan's own words say already is not said again."""
    text = on_one_line(tool.description) or f"{title_of(tool)}."
    if text[-1] not in ".!?":
        text += "."
    meaning = tool.meaning
    needed = [argument.name for argument in meaning.arguments if argument.is_required]
    if needed and "Needs " not in text:
        text += f" Needs {joined(needed)}."
    if not re.search(r"\b(?:Gives|Returns) ", text):
        text += f" Gives {_answer(meaning, blueprint)}."
    return cut(text, MAX_DESCRIPTION)


def _answer(meaning: Meaning, blueprint: Blueprint) -> str:
    noun = words(blueprint.table(meaning.table).noun)
    nouns = many(blueprint.table(meaning.table).noun)
    form = meaning.result.form
    if form is Answer.ROWS:
        is_paged = meaning.page_size is not None
        return f"{'a page of ' if is_paged else 'the '}{nouns}"
    if form is Answer.KEYS:
        return f"the {words(blueprint.table(meaning.table).key)} of each {noun}"
    if form is Answer.NUMBER:
        if meaning.sum_column is not None:
            return f"the sum of their {words(meaning.sum_column)}"
        return f"the number of {nouns}"
    if form is Answer.NOTHING:
        return "no data back"
    return f"the {noun} as it was" if meaning.kind in (Kind.DELETE, Kind.UNLINK) else f"the {noun}"
