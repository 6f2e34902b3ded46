"""A cluster made into the plan of an environment: names, final tables, meanings."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from environments.core.compile.inference.drafts import LeftOutError, TableDraft
from environments.core.compile.inference.meanings import Schema, make_meaning
from environments.core.compile.inference.names import name_tables, tool_names
from environments.core.compile.inference.plans import LIST_KINDS, Plan
from environments.core.compile.inference.splitting import Cluster, with_parents
from environments.core.compile.reading.calls import Call
from environments.core.compile.reading.shapes import Shapes
from environments.core.compile.reading.words import plural, snake, words_of
from environments.core.compile.semantics import Blueprint, Kind, PlannedTool, SourceFacts, Table

MAX_NAME: Final = 24
MAX_LABEL: Final = 12
MAX_TITLE: Final = 100
_KIND_ORDER: Final = {kind: position for position, kind in enumerate(Kind)}
_EMPTY_WORDS: Final = frozenset({
    "api", "apis", "rest", "the", "service", "services", "client", "management", "openapi", "swagger", "resource",
    "provider", "public", "v1", "v2", "v3", "web", "http",
})  # fmt: skip
Left = list[tuple[Call, LeftOutError]]


def make_blueprint(
    cluster: Cluster,
    provider: str,
    shapes: Mapping[str, Shapes],
    facts: Mapping[str, SourceFacts],
    taken: set[str],
    left: Left,
) -> Blueprint | None:
    """The environment that a cluster is; None if too little of it stands, with every operation then in `left`.

    Args:
        cluster: Tables and plans.
        provider: Whose API.
        shapes: By sha256 of the document.
        facts: By sha256 of the document.
        taken: Names of environments that are taken; grows.
        left: Takes what was left out.
    """
    plans = list(cluster.plans)
    while True:
        tables = with_parents(_tables_of(plans))
        name_tables(tables)
        plans.sort(
            key=lambda plan: (plan.table.home, _KIND_ORDER[plan.kind], plan.call.operation.key, plan.call.source)
        )
        names = tool_names(plans)
        schema = Schema(tables)
        tools: list[PlannedTool] = []
        failed: Left = []
        for plan in plans:
            try:
                if id(plan) not in names:
                    raise LeftOutError("duplicate_meaning", plan.table.name)
                tools.append(_tool(plan, names[id(plan)], schema, shapes[plan.call.source]))
            except LeftOutError as error:
                failed.append((plan.call, error))
        gone = {id(call) for call, _ in failed}
        stands = [plan for plan in plans if id(plan.call) not in gone]
        unread = _never_read(stands)
        failed += [(plan.call, LeftOutError("resource_never_read", plan.table.name)) for plan in unread]
        left += failed
        if not failed:
            break
        gone = {id(call) for call, _ in failed}
        plans = [plan for plan in plans if id(plan.call) not in gone]
    reason = _too_little(plans)
    if reason:
        left += [(plan.call, LeftOutError(reason)) for plan in plans]
        return None
    used = {plan.call.source for plan in plans}
    sources = tuple(facts[sha256] for sha256 in sorted(used))
    with_tools = {id(table) for table in _tables_of(plans)}
    finals = tuple(_table(table, id(table) in with_tools, schema) for table in tables)
    title = _title(cluster, tables, plans)
    name = _name(provider, plans, taken)
    taken.add(name)
    many = [plural(table.noun).replace("_", " ") for table in tables if id(table) in with_tools and table.link is None]
    return Blueprint(
        name=name,
        title=title,
        domain=_domain(cluster.title or provider),
        description=_description(title, provider, many),
        provider=provider,
        family=tables[0].family.name,
        tables=finals,
        tools=tuple(tools),
        sources=sources,
    )


def _tables_of(plans: Sequence[Plan]) -> list[TableDraft]:
    """The tables that plans are about, each once."""
    found: dict[int, TableDraft] = {}
    for plan in plans:
        if plan.through is not None:
            found.setdefault(id(plan.through[0]), plan.through[0])
        found.setdefault(id(plan.table), plan.table)
    return sorted(found.values(), key=lambda table: (len(table.home), table.home))


def _never_read(plans: Sequence[Plan]) -> list[Plan]:
    """Plans about tables that nothing shows: what they write, nobody could see."""
    shown = {id(plan.table) for plan in plans if plan.kind in LIST_KINDS or plan.kind is Kind.GET}
    shown |= {id(plan.through[0]) for plan in plans if plan.through is not None}
    linked = {id(end) for plan in plans if plan.table.link is not None for end in plan.table.link}
    return [plan for plan in plans if id(plan.table) not in shown and id(plan.table) not in linked]


def _too_little(plans: Sequence[Plan]) -> str:
    reads = sum(plan.kind in LIST_KINDS or plan.kind is Kind.GET for plan in plans)
    if plans and reads == len(plans):
        return "environment_read_only"
    return "environment_too_small" if len(plans) < 5 else ""


def _tool(plan: Plan, name: str, schema: Schema, shapes: Shapes) -> PlannedTool:
    meaning = make_meaning(plan, schema, shapes)
    operation = plan.call.operation
    title = name.replace("_", " ").capitalize()
    words = _sentence(operation.title) or _sentence(operation.description) or f"{title}."
    return PlannedTool(name, title, words, meaning, plan.call.source, operation.key, tuple(plan.dropped))


def _sentence(text: str) -> str:
    """The first sentence, ended by a full stop; empty for what says nothing."""
    flat = re.sub(r"\s+", " ", re.sub(r"<[^>]+>|[`*#]", " ", text)).strip()
    if len(flat) < 8 or " " not in flat:
        return ""
    first = re.split(r"(?<=[.!?])\s", flat, maxsplit=1)[0][:240].strip()
    return first if first.endswith((".", "!", "?")) else f"{first}."


def _table(table: TableDraft, has_tools: bool, schema: Schema) -> Table:
    if table.link is not None:
        near, far = (end.noun.replace("_", " ") for end in table.link)
        description = f"Which {far} belongs to which {near}."
    else:
        noun = table.noun.replace("_", " ")
        description = _sentence(table.entity.description) or f"{'An' if noun[0] in 'aeiou' else 'A'} {noun}."
    made = schema.table(table, has_tools, description)
    if has_tools:
        return made
    # Nothing shows it: what keeps foreign keys whole is enough.
    needed = set(made.primary_key) | {name for key in made.foreign_keys for name in key.columns}
    needed |= {column.name for column in table.scope.values()}
    columns = tuple(column for column in made.columns if column.name in needed)
    return Table(
        made.name, made.noun, made.description, columns, made.primary_key, made.foreign_keys, made.role, has_tools=False
    )


# --- Names ------------------------------------------------------------------------------------------------------------


def _label(provider: str) -> str:
    """`stripe` for stripe.com, `example_io` for example.io."""
    parts = [snake(part) for part in provider.split(".") if part]
    if not parts:
        return "tools"
    return parts[0] if parts[1:] in ([], ["com"]) else f"{parts[0]}_{parts[-1]}"


def _main_noun(plans: Sequence[Plan]) -> str:
    counts: dict[str, int] = {}
    for plan in plans:
        if plan.table.link is None:
            counts[plural(plan.table.noun)] = counts.get(plural(plan.table.noun), 0) + 1
    return min(counts, key=lambda noun: (-counts[noun], noun), default="tools")


def _name(provider: str, plans: Sequence[Plan], taken: set[str]) -> str:
    """Provider and main noun in whole words: the last words of a noun say what it is."""
    label = _whole_words(re.sub(r"[^a-z0-9_]", "", _label(provider)).split("_"), MAX_LABEL)
    label = label if label[:1].isalpha() else f"n{label}"
    words = [word for word in _main_noun(plans).split("_") if word]
    noun = _whole_words(words[::-1], MAX_NAME - len(label) - 1)
    base = f"{label}_{'_'.join(reversed(noun.split('_')))}"
    found, number = base, 1
    while found in taken or len(found) < 3:
        number += 1
        found = f"{base[: MAX_NAME - len(str(number)) - 1].strip('_')}_{number}"
    return found


def _whole_words(words: Sequence[str], limit: int) -> str:
    """As many words as fit, joined; of a first one that does not fit, its beginning."""
    text = words[0][:limit] if words else ""
    for word in words[1:]:
        if len(text) + len(word) + 1 > limit:
            break
        text = f"{text}_{word}"
    return text


def _title(cluster: Cluster, tables: Sequence[TableDraft], plans: Sequence[Plan]) -> str:
    service = re.sub(r"\s+", " ", cluster.title).strip() or _label(tables[0].family.name)
    noun = _main_noun(plans).replace("_", " ")
    return f"{service[: MAX_TITLE - len(noun) - 3]}: {noun}"


def _domain(title: str) -> str:
    words = [word for word in words_of(title) if word not in _EMPTY_WORDS and not word.isdigit()]
    return " ".join(words[:4]) or "general"


def _description(title: str, provider: str, many: Sequence[str]) -> str:
    shown = ", ".join(many[:8]) + (f" and {len(many) - 8} more" if len(many) > 8 else "")
    return f"{title}, after the API of {provider or 'its document'}. It keeps {shown}."
