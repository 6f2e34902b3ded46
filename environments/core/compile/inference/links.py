"""Pairs: collections whose members are put in and taken out by their path alone become link tables.

`PUT /teams/{team}/repos/{repo}` without a body links a team and a repository that both have tables; a list of that
collection shows the rows of the far table that the link joins to the near one.
"""

from environments.core.compile.inference.columns import add_column
from environments.core.compile.inference.drafts import (
    Collection,
    ColumnDraft,
    LeftOutError,
    ParentKey,
    Service,
    TableDraft,
    parents_of,
)
from environments.core.compile.inference.plans import ArgumentDraft, Plan, take_filters
from environments.core.compile.inference.resources import core_name, is_alike, is_pairing
from environments.core.compile.reading.calls import Act, Call, Form, Place
from environments.core.compile.reading.words import singular, squash
from environments.core.compile.semantics import ArgumentRole, ColumnRole, Kind


def plan_links(service: Service) -> tuple[list[Plan], list[tuple[Call, LeftOutError]]]:
    """Plans of all operations on pairs, with link tables added to the service; and what was left out of them."""
    groups: dict[Collection, list[Call]] = {}
    for call in service.calls:
        groups.setdefault(call.literals, []).append(call)
    plans: list[Plan] = []
    left: list[tuple[Call, LeftOutError]] = []
    for collection, calls in sorted(groups.items()):
        if service.table_of(collection) is not None or not is_pairing(calls):
            continue
        ends = _ends(calls, service)
        if ends is None:
            left += [(call, LeftOutError("pair_ends_unknown", "/".join(collection))) for call in calls]
            continue
        link = _link_table(collection, *ends)
        used = []
        for call in calls:
            try:
                used.append(_plan(call, link, *ends))
            except LeftOutError as error:
                left.append((call, error))
        if any(plan.kind is Kind.LINK for plan in used):
            service.tables.append(link)
            plans += used
        else:
            left += [(plan.call, LeftOutError("pair_ends_unknown", "/".join(collection))) for plan in used]
    return plans, left


def _ends(calls: list[Call], service: Service) -> tuple[TableDraft, TableDraft] | None:
    """The near table (the last parent of the path) and the far one (what the members are)."""
    item = next(call for call in calls if call.act is Act.ITEM)
    above = list(parents_of(item))
    if not above:
        return None
    near = service.table_of(above[-1][0])
    if near is None or near.key is None:
        return None
    noun, parameter = singular(item.literals[-1]), item.steps[-1].parameter or ""
    entity = next(
        (call.envelope.entity for call in calls if call.envelope.form is Form.ROWS and call.envelope.entity), None
    )
    candidates = []
    for table in service.tables:
        if table is near or table.key is None or table.link is not None or len(table.primary_key) != 1:
            continue
        is_named = table.noun == noun or squash(parameter).startswith(squash(table.noun))
        if entity is not None:
            is_shown = (entity.name and core_name(entity.name) == core_name(table.entity.name)) or (
                is_named and is_alike(entity, table.entity)
            )
            if not is_shown:
                continue
        elif not is_named:
            continue
        candidates.append(table)
    named = [table for table in candidates if table.noun == noun]
    chosen = named if len(named) == 1 else candidates
    return (near, chosen[0]) if len(chosen) == 1 else None


def _link_table(collection: Collection, near: TableDraft, far: TableDraft) -> TableDraft:
    noun = f"{near.noun}_{singular(collection[-1])}"
    link = TableDraft(noun, far.entity, far.shapes, far.family, link=(near, far))
    link.collections.append(collection)
    own = [_end_column(link, near, column) for column in near.primary_key]
    other = _end_column(link, far, far.named_key)
    for column in own:
        column.role = ColumnRole.SCOPE
    other.role = ColumnRole.KEY
    link.key = other
    link.primary_key = [*own, other]
    link.parents = [ParentKey(tuple(own), near), ParentKey((other,), far)]
    return link


def _end_column(link: TableDraft, table: TableDraft, column: ColumnDraft) -> ColumnDraft:
    name = column.name if column.name.startswith(table.noun) else f"{table.noun}_{column.name}"
    made = add_column(link, name if column is table.key else column.name, column.kind, column.shape)
    made.is_required = True
    return made


def _plan(call: Call, link: TableDraft, near: TableDraft, far: TableDraft) -> Plan:
    """LINK, UNLINK, or the list of the far rows that are linked."""
    if call.act is Act.ITEM and call.method in ("PUT", "DELETE"):
        if call.envelope.form not in (Form.EMPTY, Form.JOB):
            raise LeftOutError("response_unlike_resource")
        plan = Plan(call, Kind.LINK if call.method == "PUT" else Kind.UNLINK, link)
        names = [*_near_names(call, near), call.steps[-1].parameter or ""]
        inputs = {each.name: each for each in call.inputs if each.place is Place.PATH}
        for name, column in zip(names, link.primary_key, strict=True):
            plan.add(ArgumentDraft(name, ArgumentRole.KEY, inputs.get(name), True, column))
        if any(each.is_required and each.place is not Place.PATH for each in call.inputs):
            raise LeftOutError("required_parameter_unknown")
        return plan
    if call.act in (Act.COLLECTION, Act.LIST) and call.method == "GET" and call.envelope.form is Form.ROWS:
        plan = Plan(call, Kind.LIST, far)
        inputs = {each.name: each for each in call.inputs if each.place is Place.PATH}
        pairs = list(zip(link.primary_key[:-1], _near_names(call, near), strict=True))
        for column, name in pairs:
            plan.add(ArgumentDraft(name, ArgumentRole.SCOPE, inputs.get(name), True, column))
        plan.through = (link, pairs)
        take_filters(plan, [each for each in call.inputs if each.place is not Place.PATH])
        return plan
    raise LeftOutError("pair_without_meaning", call.method)


def _near_names(call: Call, near: TableDraft) -> list[str]:
    """Names of the path parameters that give the near table's primary key, in its order."""
    steps = [step for _, step in parents_of(call)]
    if call.act is not Act.ITEM and call.steps[-1].parameter is None:
        steps = [step for step in call.steps[:-1] if step.parameter is not None]
    names = [step.parameter or "" for step in steps]
    if len(names) < len(near.primary_key):
        raise LeftOutError("key_incomplete")
    if len(names) > len(near.primary_key):
        raise LeftOutError("relation_unknown")
    return names
