"""Names of tables, tools, views and arguments, and the words about them: the API's own, made regular."""

import keyword
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from environments.core.compile.inference.drafts import TableDraft
from environments.core.compile.reading.calls import Act
from environments.core.compile.reading.words import plural, singular, snake, squash
from environments.core.compile.semantics import ArgumentRole, Kind

if TYPE_CHECKING:
    from environments.core.compile.inference.plans import ArgumentDraft, Plan

MAX_TOOL_NAME: Final = 38
MAX_TABLE_NAME: Final = 40
MAX_PYTHON_NAME: Final = 40
Role = ArgumentRole
_RESERVED: Final = frozenset({"ctx", "result", "json", "row", "rows", "dict", "list", "str", "int", "float", "bool"})
_PAST: Final = {
    "pay": "paid", "void": "voided", "ship": "shipped", "stop": "stopped", "pin": "pinned", "ban": "banned",
    "submit": "submitted", "freeze": "frozen", "hide": "hidden", "withdraw": "withdrawn", "unpin": "unpinned",
    "unban": "unbanned", "unfreeze": "unfrozen", "unhide": "shown", "cancel": "cancelled",
}  # fmt: skip
_VIEW_WORDS: Final = ("simple", "minimal", "summary", "full", "detail", "details", "compact", "base", "short", "list")


def name_tables(tables: Sequence[TableDraft]) -> None:
    """Gives tables their names: the plural of the noun, with the parent's noun before it where two have the same."""
    taken: set[str] = set()
    for table in sorted(tables, key=lambda each: (len(each.home), each.home)):
        base = _fit(_safe(plural(table.noun)), MAX_TABLE_NAME)
        if base in taken and len(table.home) > 1:
            table.noun = f"{singular(table.home[-2])}_{table.noun}"
            base = _fit(_safe(plural(table.noun)), MAX_TABLE_NAME)
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        if number > 1:
            table.noun = f"{table.noun}_{number}"
        taken.add(name)
        table.name = name


def _safe(name: str) -> str:
    made = re.sub(r"_+", "_", name).strip("_") or "rows"
    return made if made[0].isalpha() else f"n{made}"


def _fit(name: str, limit: int) -> str:
    """The name cut at a word, from the front: the last words say what it is."""
    words = name.split("_")
    while len("_".join(words)) > limit and len(words) > 1:
        words = words[1:]
    return "_".join(words)[:limit].strip("_")


def tool_names(plans: Sequence["Plan"]) -> dict[int, str]:
    """By identity of each plan, its tool's name; plans that would need a number get none: they say the same twice."""
    names: dict[int, str] = {}
    taken: dict[str, Plan] = {}
    for plan in plans:
        for name in _candidates(plan):
            if name and name not in taken:
                taken[name] = plan
                names[id(plan)] = name
                break
    return names


def _candidates(plan: "Plan") -> Iterable[str]:
    noun = plan.table.noun
    many = plural(noun)
    verb = plan.call.verb if plan.kind is Kind.TRANSITION else ""
    above = [singular(step.literal) for step in plan.call.steps[:-1] if step.literal and step.parameter]
    own = plan.call.noun
    if plan.through is not None:
        link = plan.through[0]
        yield _tool(f"list_{plural(link.noun)}")
        yield _tool(f"list_linked_{many}")
        return
    if plan.kind in (Kind.LINK, Kind.UNLINK):
        near, far = singular(plan.call.steps[-2].literal), own
        yield _tool(f"add_{far}_to_{near}" if plan.kind is Kind.LINK else f"remove_{far}_from_{near}")
        yield _tool(f"link_{noun}" if plan.kind is Kind.LINK else f"unlink_{noun}")
        return
    patterns = {
        Kind.LIST: "search_{many}" if plan.call.act is Act.LIST and plan.of(Role.SEARCH) else "list_{many}",
        Kind.LIST_KEYS: "list_{noun}_keys", Kind.GET: "get_{noun}", Kind.COUNT: "count_{many}",
        Kind.SUM: "sum_{many}", Kind.CREATE: "create_{noun}", Kind.REPLACE: "replace_{noun}",
        Kind.PATCH: "update_{noun}", Kind.UPSERT: "put_{noun}", Kind.DELETE: "delete_{noun}",
        Kind.TRANSITION: "{verb}_{noun}",
    }  # fmt: skip
    pattern = patterns[plan.kind]
    yield _tool(pattern.format(noun=noun, many=many, verb=verb))
    if above:
        low = f"{above[-1]}_{noun}"
        yield _tool(pattern.format(noun=low, many=plural(low), verb=verb))
    if plan.kind is Kind.LIST:
        scope = [each for each in plan.arguments if each.is_required and each.column is not None]
        if scope:
            yield _tool(f"list_{many}_by_{snake(scope[-1].name)}")
        if plan.of(Role.SEARCH):
            yield _tool(f"search_{many}")


def _tool(name: str) -> str:
    made = re.sub(r"_+", "_", name)
    if len(made) > MAX_TOOL_NAME:
        verb, _, rest = made.partition("_")
        made = f"{verb}_{_fit(rest, MAX_TOOL_NAME - len(verb) - 1)}"
    return made if re.fullmatch(r"[a-z][a-z0-9_]{0,37}", made) and not keyword.iskeyword(made) else ""


def view_name(noun: str, entity: str, taken: Iterable[str]) -> str:
    """A name for a way to show a row."""
    words = [word for word in snake(entity).split("_") if word in _VIEW_WORDS]
    base = f"{noun}_{words[0]}" if words else noun
    names = set(taken)
    found, number = base, 1
    while found in names:
        number += 1
        found = f"{base}_{number}"
    return found


def python_name(name: str, taken: Iterable[str]) -> str:
    """The name of an argument in Python and in SQL."""
    base = name if re.fullmatch(r"[a-z_][a-z0-9_]{0,39}", name) else snake(name)[:MAX_PYTHON_NAME].strip("_")
    if not base or not (base[0].isalpha() or base[0] == "_"):
        base = f"n_{base}"
    if keyword.iskeyword(base) or base in _RESERVED or base.startswith("before_"):
        base = f"{base}_" if not base.startswith("before_") else f"arg_{base}"
    names = set(taken)
    found, number = base, 1
    while found in names:
        number += 1
        found = f"{base}_{number}"
    return found


def past_participle(verb: str) -> str:
    """`cancel`: cancelled."""
    if verb in _PAST:
        return _PAST[verb]
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ied"
    return f"{verb}ed"


def argument_description(each: "ArgumentDraft", plan: "Plan") -> str:
    """What an argument is for: the document's words, else what its role says."""
    given = each.source.description if each.source is not None else ""
    if given.strip() and each.role not in (Role.CURSOR, Role.SORT):
        return given.strip()[:400]
    noun = plan.table.noun.replace("_", " ")
    what = each.column.name.replace("_", " ") if each.column is not None else each.name.replace("_", " ")
    texts = {
        Role.KEY: f"The {what} of the {noun}." if squash(noun) not in squash(what) else f"The {what}.",
        Role.SCOPE: f"The {what} above the {noun}.",
        Role.FILTER: f"Only those with this {what}.",
        Role.ONE_OF: f"Only those with one of these values of {what}.",
        Role.AT_LEAST: f"Only those whose {what} is this or later or more.",
        Role.AT_MOST: f"Only those whose {what} is this or earlier or less.",
        Role.SEARCH: "Only those in whose texts this occurs.",
        Role.SET: f"The {what} of the {noun}." if squash(noun) not in squash(what) else f"The {what}.",
        Role.SORT: "What to sort by.",
        Role.DIRECTION: "Which way to sort.",
        Role.PAGE: "Which page.",
        Role.OFFSET: "How many to skip.",
        Role.CURSOR: "Where the page starts: the cursor that the page before gave.",
        Role.AFTER: f"The {what} of the last one that you have.",
        Role.SIZE: "How many at most.",
    }
    return texts[each.role]
