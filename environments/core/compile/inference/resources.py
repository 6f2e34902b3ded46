"""Which resources there are: collections of paths grouped into tables.

A resource is what the last literal of a path names, if its answers agree in shape. The same noun with another shape is
another table; so is the same shape below two parents that both have items of their own. A collection that only lists
rows of a table under another name is a view, not a table.
"""

import re
from collections.abc import Iterable, Sequence

from environments.core.compile.inference.drafts import Collection, Service, TableDraft
from environments.core.compile.reading.calls import Act, Call, Form, Property, Shape, ShapeType
from environments.core.compile.reading.verbs import ACTIONS
from environments.core.compile.reading.vocabulary import (
    HAS_MORE,
    LIST_MEMBERS,
    NEXT_CURSOR,
    NEXT_PAGE,
    NUM_PAGES,
    PAGE_MEMBERS,
    SIZE_MEMBERS,
    TOTAL,
    TRANSITIONS,
    words,
)
from environments.core.compile.reading.words import singular, squash, words_of

MIN_PROPERTIES = 2
MIN_OVERLAP = 0.6
"""Share of the smaller shape's properties that two shapes of one resource have in common."""

_SHOWING = frozenset({Act.ITEM, Act.COLLECTION, Act.LIST, Act.GET, Act.CREATE, Act.UPDATE, Act.REPLACE})
_STORING = frozenset({Act.ITEM, Act.COLLECTION, Act.LIST, Act.GET, Act.CREATE, Act.REPLACE})
VERBS = ACTIONS | TRANSITIONS.keys() | {"search", "searches", "query", "queries", "lookup", "lookups", "autocomplete"}
"""Literals that name no resource, wherever they stand."""
_ABOUT_PAGES = (TOTAL | HAS_MORE | NEXT_CURSOR | NEXT_PAGE | PAGE_MEMBERS | SIZE_MEMBERS | NUM_PAGES) | words(
    "hasprevious previouspagenumber hasprev prevpage previouspage prevcursor pagination paging links meta iterator"
    " previterator done"
)
_ASPECTS = words(
    "state status detail details statistic statistics stats summary info information health metric metrics usage quota"
    " progress report overview"
)
"""Last words of a noun that name a side of something else, which changes when that does."""
_SHELL = words(
    "response result resource dto model entity request input output schema object summary detail details full simple"
    " minimal base compact view body payload data info read write create update new post put patch"
)
"""Last words of a definition's name that only say how it is used."""
_SIZES = words(
    "minimal full simple base basic nullable short brief compact detailed partial extended public private my nested"
)
_NUMBERED = re.compile(r"v?\d+")


def core_name(name: str) -> str:
    """The name of a definition without words that only say how it is used: `order` of `OrderResponseV2`."""
    words = list(words_of(name))
    while len(words) > 1 and words[0] in _SIZES:
        words.pop(0)
    while len(words) > 1 and (words[-1] in _SHELL or _NUMBERED.fullmatch(words[-1])):
        words.pop()
    return "_".join(words)


def find_tables(service: Service) -> None:
    """Fills `service.tables` and `service.by_collection` with tables that have an entity, no columns yet."""
    groups: dict[Collection, list[Call]] = {}
    for call in service.calls:
        groups.setdefault(call.literals, []).append(call)
    by_noun: dict[str, list[TableDraft]] = {}
    entities: list[tuple[Collection, list[Call], Shape]] = []
    for collection, calls in sorted(groups.items(), key=lambda each: (not _has_items(each[1]), len(each[0]), each[0])):
        if is_pairing(calls) or not collection or collection[-1] in VERBS:
            continue
        entity = _entity(calls, service)
        if entity is not None:
            entities.append((collection, calls, entity))
    for collection, calls, entity in entities:
        table = _home(by_noun.get(_noun(collection), ()), collection, calls, entity, service)
        if table is None:
            if _is_view(calls, entity, service.tables, _noun(collection)):
                service.views.add(collection)
                continue
            call = calls[0]
            table = TableDraft(_noun(collection), entity, service.shapes[call.source], service.family)
            by_noun.setdefault(table.noun, []).append(table)
            service.tables.append(table)
        elif len(entity.properties) > len(table.entity.properties) and table.shapes is service.shapes[calls[0].source]:
            table.entity = entity
        table.collections.append(collection)
        table.calls.extend(calls)
        service.by_collection[collection] = table
    _drop_unions(service)


def _noun(collection: Collection) -> str:
    """What one of a collection is called; a name that begins with a letter, as all names of tables and tools do."""
    noun = singular(collection[-1])
    return noun if noun[:1].isalpha() else f"n{noun}"


def is_pairing(calls: Sequence[Call]) -> bool:
    """Whether a collection holds pairs: members are put in and taken out by their path alone, nothing else is sent."""
    puts = [call for call in calls if call.act is Act.ITEM and call.method == "PUT"]
    takes = [call for call in calls if call.act is Act.ITEM and call.method == "DELETE"]
    if not puts or not takes:
        return False
    if any(call.act in (Act.CREATE, Act.REPLACE, Act.UPDATE) or call.method == "PATCH" for call in calls):
        return False
    if any(call.method == "POST" and call.act in (Act.COLLECTION, Act.ITEM) for call in calls):
        return False
    return all(not any(each.place.value == "body" for each in call.inputs) and not call.body_is_list for call in puts)


def _has_items(calls: Iterable[Call]) -> bool:
    return any(call.act is Act.ITEM for call in calls)


def _entity(calls: Sequence[Call], service: Service) -> Shape | None:
    """The shape that shows most of a row; None where nothing does, or where nothing is stored."""
    if not any(call.act in _STORING for call in calls):
        return None
    seen: list[tuple[int, int, int, Shape]] = []
    for position, call in enumerate(calls):
        envelope = call.envelope
        if envelope.form in (Form.ROW, Form.ROWS) and envelope.entity is not None and call.act in _SHOWING:
            is_get = call.act is Act.GET or (call.act is Act.ITEM and call.method == "GET")
            weight = 3 * is_get + 2 * (envelope.form is Form.ROWS) + (call.method != "GET")
            seen.append((weight, len(envelope.entity.properties), -position, envelope.entity))
    if not seen:
        return None
    entity = max(seen, key=lambda each: each[:3])[3]
    every = service.shapes[calls[0].source].properties(entity, service.family.promoted)
    real = [each for each in every if squash(each.name) not in _ABOUT_PAGES and not _is_rows(each)]
    return entity if len(real) >= MIN_PROPERTIES and 2 * len(real) >= len(every) else None


def _is_rows(each: Property) -> bool:
    """Whether a member is what an envelope puts its rows into."""
    return each.shape.type is ShapeType.ARRAY and squash(each.name) in LIST_MEMBERS


def _names(shape: Shape) -> set[str]:
    return {squash(name) for name in shape.properties}


def is_alike(one: Shape, other: Shape) -> bool:
    """Whether two shapes show the same resource."""
    if one is other or (one.name and core_name(one.name) == core_name(other.name)):
        return True
    mine, theirs = _names(one), _names(other)
    # Two definitions with names of their own are two things unless they are nearly the same.
    whole = len(mine | theirs) if one.name and other.name else min(len(mine), len(theirs))
    return len(mine & theirs) >= MIN_OVERLAP * whole


def _above(calls: Iterable[Call]) -> set[str]:
    return {step.literal for call in calls for step in call.steps[:-1] if step.parameter and step.literal}


def _home(
    tables: Sequence[TableDraft], collection: Collection, calls: Sequence[Call], entity: Shape, service: Service
) -> TableDraft | None:
    """The table of the same noun that these rows belong to."""
    for table in tables:
        if not is_alike(table.entity, entity):
            continue
        mine, theirs = _above(calls), _above(table.calls)
        is_elsewhere = not (mine <= theirs or theirs <= mine)
        if is_elsewhere and _has_items(calls) and _has_items(table.calls):
            continue  # the same shape below two parents that both name its items: two tables
        return table
    return None


def _is_view(calls: Sequence[Call], entity: Shape, tables: Sequence[TableDraft], noun: str) -> bool:
    """Whether a collection shows another table's rows under another name."""
    for table in tables:
        same = bool(entity.name) and core_name(entity.name) == core_name(table.entity.name)
        if (
            same
            and table.noun != noun
            and core_name(entity.name) in (table.noun, noun)
            and _above(calls) == _above(table.calls)
        ):
            return True
    if _has_items(calls) or any(call.act in (Act.REPLACE, Act.DELETE) for call in calls):
        return False
    makes = any(call.method == "POST" and call.act in (Act.COLLECTION, Act.CREATE) for call in calls)
    for table in tables:
        if not any(call.act is Act.ITEM or call.act is Act.GET for call in table.calls) or table.noun == noun:
            continue
        same = entity is table.entity or (entity.name != "" and core_name(entity.name) == core_name(table.entity.name))
        if same and (not makes or core_name(entity.name) == table.noun):
            return True
    return False


def _drop_unions(service: Service) -> None:
    """Takes out tables that are only read and show what others hold.

    These are unions, whose noun is the common part of several that create, and aspects: the state of a pipeline.
    """
    creating = [table for table in service.tables if _creates(table)]
    nouns = {table.noun for table in service.tables}
    kept = []
    for table in service.tables:
        names = words_of(table.noun)
        parts = [other for other in creating if other is not table and _is_part(names, words_of(other.noun))]
        is_union = len(parts) >= 2 and len(names) > 1
        is_aspect = names[-1] in _ASPECTS and "_".join(names[:-1]) in nouns
        if not _creates(table) and (is_union or is_aspect):
            for collection in table.collections:
                del service.by_collection[collection]
                service.views.add(collection)
        else:
            kept.append(table)
    service.tables[:] = kept


def _creates(table: TableDraft) -> bool:
    return any(
        call.act in (Act.CREATE, Act.REPLACE)
        or (call.method in ("POST", "PUT") and call.act in (Act.COLLECTION, Act.ITEM))
        for call in table.calls
    )


def _is_part(words: Sequence[str], longer: Sequence[str]) -> bool:
    """Whether words stand in the longer name in order, first and last among them."""
    if len(longer) <= len(words) or longer[-1] != words[-1] or longer[0] != words[0]:
        return False
    rest = iter(longer)
    return all(word in rest for word in words)
