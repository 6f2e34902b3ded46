"""Random worlds for tests of equality: an abstract end state, made concrete with any ids, in any order, by any route.

Rows of an abstract state refer to rows, not to ids, so two concrete runs of one world are equal by construction.
"""

import heapq
from dataclasses import dataclass, field, replace
from random import Random  # noqa: F401, TID251 - for all tests here; as the runtime itself, they use no numpy

from environments.runtime.equality import StartState
from environments.runtime.records import ChangeKind, RowChange
from environments.runtime.tables import ColumnInfo, ForeignKey, TableInfo

WORDS = ["the", "customer", "wants", "a", "green", "bicycle", "with", "two", "small", "baskets", "and", "a", "bell"]
HAN = ["我想预订明天晚上的桌子", "请取消昨天早上的房间", "不要给客户打电话", "请给客户打电话"]
STRAY_ID = 99_999


def column(name, kind="TEXT", comparison="hard", generated=None, *, is_json=False):
    return ColumnInfo(name, kind, is_nullable=True, comparison=comparison, generated=generated, is_json=is_json)


ID = column("id", "INTEGER", "exempt", "id")
NOTE = column("note", comparison="semantic")


def table(name, *columns, key=("id",), foreign_keys=(), role="entity", unique=()):
    return TableInfo(name, role, tuple(columns), tuple(key), tuple(foreign_keys), tuple(unique))


def insert(table_name, row, key=("id",)):
    return RowChange(table_name, {name: row[name] for name in key}, ChangeKind.INSERT, None, row)


def update(table_name, key, **after):
    return RowChange(table_name, key, ChangeKind.UPDATE, None, after)


def delete(table_name, key):
    return RowChange(table_name, key, ChangeKind.DELETE)


@dataclass(eq=False)
class Item:
    """One row of the abstract state."""

    table: str
    values: dict
    refs: list  # one item or None for each foreign key
    in_start: bool
    number: int


@dataclass(eq=False)
class World:
    """An abstract start and end state."""

    tables: dict[str, TableInfo]
    language: str = "en"
    items: list[Item] = field(default_factory=list)
    start: StartState | None = None
    start_rows: dict = field(default_factory=dict)
    deleted: list[Item] = field(default_factory=list)

    def rows_in_start(self, name):
        return [self.start_rows[item.number] for item in self.items if item.in_start and item.table == name]


def random_tables(rng):
    names = [f"t{number}" for number in range(rng.randint(1, 6))]
    kinds = {name: rng.choice(["integer", "integer", "text", "natural", "composite"]) for name in names}
    kinds[names[0]] = "integer"
    keys = {"natural": ("code",), "composite": ("owner", "line")}
    types = {"integer": ("INTEGER",), "composite": ("INTEGER", "INTEGER")}
    tables = {}
    for name in names:
        kind = kinds[name]
        columns = [column("count", "INTEGER"), column("word")]
        if rng.random() < 0.4:
            columns.append(column("size", "REAL"))
        if rng.random() < 0.4:
            columns.append(column("data", is_json=True))
        if rng.random() < 0.5:
            columns.append(NOTE)
        columns.append(column("at", comparison="exempt", generated="now"))
        foreign_keys = []
        if kind in ("integer", "text"):
            columns.insert(0, replace(ID, type="INTEGER" if kind == "integer" else "TEXT"))
        elif kind == "natural":
            columns.insert(0, column("code"))
        else:
            columns += [column("owner", "INTEGER"), column("line", "INTEGER")]
            foreign_keys.append(ForeignKey(("owner",), names[0], ("id",)))
        for number in range(rng.randint(0, 3)):
            target = rng.choice(names)  # self-references and cycles included
            target_types = types.get(kinds[target], ("TEXT",))
            linked = tuple(f"f{number}_{part}" for part in range(len(target_types)))
            columns += [column(part, kind) for part, kind in zip(linked, target_types, strict=True)]
            foreign_keys.append(ForeignKey(linked, target, keys.get(kinds[target], ("id",))))
        tables[name] = table(name, *columns, key=keys.get(kind, ("id",)), foreign_keys=foreign_keys)
    return tables


def random_values(rng, info, number):
    values = {
        "count": rng.randint(0, 1),
        "word": rng.choice("ab"),
        "at": f"2026-03-02T09:00:0{number % 10}Z",
        "size": rng.choice([1.5, 2.5]),
        "data": rng.choice(['{"a":1,"b":[1,true]}', "[]", "null"]),
        "note": rng.choice([" ".join(rng.sample(WORDS, 9)), rng.choice(HAN), f"call 5 not {rng.randint(4, 5)} times"]),
        "code": f"c{number}",
        "line": number,
    }
    return {each.name: values[each.name] for each in info.columns if each.name in values}


def random_refs(rng, world, info):
    refs = []
    for foreign_key in info.foreign_keys:
        targets = [item for item in world.items if item.table == foreign_key.table]
        is_in_key = set(foreign_key.columns) & set(info.primary_key)
        refs.append(rng.choice(targets) if targets and (is_in_key or rng.random() < 0.8) else None)
    return refs


def random_world(rng, num_fresh):
    world = World(random_tables(rng))
    names = list(world.tables)

    def add(name, in_start):
        if "owner" in world.tables[name].primary_key and not any(item.table == "t0" for item in world.items):
            name = "t0"
        info = world.tables[name]
        number = len(world.items)
        refs = random_refs(rng, world, info)
        world.items.append(Item(name, random_values(rng, info, number), refs, in_start, number))

    for _ in range(rng.randint(1, 8)):
        add(rng.choice(names), True)
    rows = {}
    for item in world.items:
        world.start_rows[item.number] = concrete_row(world, item, {})
        rows.setdefault(item.table, []).append(world.start_rows[item.number])
    world.start = StartState(world.tables.values(), rows)
    for _ in range(num_fresh):
        add(rng.choice(names), False)
    for item in rng.sample(world.items, min(3, len(world.items))):  # updates; start rows may now point to fresh ones
        info = world.tables[item.table]
        for number, foreign_key in enumerate(info.foreign_keys):
            if not set(foreign_key.columns) & set(info.primary_key):
                targets = [other for other in world.items if other.table == foreign_key.table]
                item.refs[number] = rng.choice(targets or [None])
        item.values["count"] = rng.randint(0, 3)
    pointed_at = {id(ref) for item in world.items for ref in item.refs}
    world.deleted = [
        item for item in world.items if item.in_start and id(item) not in pointed_at and rng.random() < 0.2
    ]
    return world


def concrete_row(world, item, fresh):
    info = world.tables[item.table]
    row = dict(item.values)
    if info.generated_id:
        own = item.number + 1 if info.column("id").type == "INTEGER" else f"{item.table}_{item.number}"
        row["id"] = fresh.get(item.number, own)
    for foreign_key, ref in zip(info.foreign_keys, item.refs, strict=True):
        target = {} if ref is None else concrete_key(world, ref, fresh)
        for name, target_name in zip(foreign_key.columns, foreign_key.targets, strict=True):
            row[name] = target.get(target_name)
    return row


def concrete_key(world, item, fresh):
    info = world.tables[item.table]
    refs = [
        ref if "owner" in foreign_key.columns else None
        for foreign_key, ref in zip(info.foreign_keys, item.refs, strict=True)
    ]
    row = concrete_row(world, replace(item, refs=refs), fresh)
    return {name: row[name] for name in info.primary_key}


def run_changes(world, rng):
    """The changes of one run: ids moved and permuted, calls in any order, with detours that leave no net change."""
    fresh_items = [item for item in world.items if not item.in_start]
    offset = rng.choice([100, 1_000, 5_000])
    fresh = {}
    for item, place in zip(fresh_items, rng.sample(range(len(fresh_items)), len(fresh_items)), strict=True):
        info = world.tables[item.table]
        is_integer = info.columns[0].type == "INTEGER"
        fresh[item.number] = offset + place if is_integer else f"{item.table}_x{offset + place}"
    groups = [group for item in world.items for group in [_item_changes(world, rng, item, fresh)] if group]
    if rng.random() < 0.5:
        row = {each.name: None for each in world.tables["t0"].columns} | {"id": STRAY_ID}
        groups.append([insert("t0", row), RowChange("t0", {"id": STRAY_ID}, ChangeKind.DELETE, row)])
    # The order within a row's changes stays, everything else is interleaved.
    placed = ([(rng.random(), number) for _ in group] for number, group in enumerate(groups))
    slots = list(heapq.merge(*[sorted(group) for group in placed]))
    iterators = [iter(group) for group in groups]
    return [next(iterators[number]) for _, number in slots]


def _item_changes(world, rng, item, fresh):
    info = world.tables[item.table]
    row = concrete_row(world, item, fresh)
    key = {name: row[name] for name in info.primary_key}
    before = world.start_rows.get(item.number)
    if item in world.deleted:
        return [RowChange(item.table, key, ChangeKind.DELETE, before)]
    if before is None:
        first = {**row, "word": "detour"} if rng.random() < 0.3 else row
        changes = [insert(item.table, first, info.primary_key)]
        if first is not row:
            told = {"word": "detour"}
            changes.append(RowChange(item.table, key, ChangeKind.UPDATE, told, {"word": row["word"]}))
        return changes
    changed = {name: value for name, value in row.items() if value != before[name]}
    if not changed:
        return []
    if rng.random() < 0.3:
        return [
            RowChange(item.table, key, ChangeKind.DELETE, before),
            RowChange(item.table, key, ChangeKind.INSERT, None, row),
        ]
    told = {name: before[name] for name in changed}
    return [RowChange(item.table, key, ChangeKind.UPDATE, told, changed)]


FAULTS = (
    "value",
    "null",
    "json",
    "real",
    "text",
    "number_in_text",
    "negation",
    "dangling",
    "to_start",
    "missing",
    "extra",
    "start_row",
    "stray_delete",
)


def break_one(world, changes, fault, rng):
    """The changes with one fault in them; None where this world has no place for it."""
    if fault == "extra":
        row = {each.name: None for each in world.tables["t0"].columns} | {"id": 88_888, "count": 1}
        return [*changes, insert("t0", row)]
    if fault in {"start_row", "stray_delete"}:
        return _break_start_row(world, changes, fault)
    places = [
        place
        for place, change in enumerate(changes)
        if change.kind == "insert" and STRAY_ID not in change.key.values() and not _is_start_key(world, change)
    ]
    if not places:
        return None
    place = rng.choice(places)
    change = changes[place]
    info = world.tables[change.table]
    if fault == "missing":
        return [each for each in changes if (each.table, each.key) != (change.table, change.key)]
    names = {each.name for each in info.columns}
    edits = {
        "value": {"count": 77},
        "null": {"count": None},
        "json": {"data": '{"a":true,"b":[1,true]}'},
        "real": {"size": (change.after.get("size") or 0.0) * 1.00001},
        "text": {"note": "none of these at all"},
        "number_in_text": {"note": f"{change.after.get('note')} 7"},
        "negation": {"note": f"{change.after.get('note')} never"},
    }
    if fault in edits:
        return edit(changes, place, edits[fault]) if edits[fault].keys() <= names else None
    free = [key for key in info.foreign_keys if not set(key.columns) & set(info.primary_key)]
    if not free:
        return None
    foreign_key = free[0]
    if fault == "dangling":
        kinds = [info.column(name).type for name in foreign_key.columns]
        nowhere = [-5 if kind == "INTEGER" else "nowhere" for kind in kinds]
        return edit(changes, place, dict(zip(foreign_key.columns, nowhere, strict=True)))
    gone = [world.start_rows[item.number] for item in world.deleted]
    for row in world.rows_in_start(foreign_key.table):
        values = [row[name] for name in foreign_key.targets]
        if row not in gone and values != [change.after[name] for name in foreign_key.columns]:
            return edit(changes, place, dict(zip(foreign_key.columns, values, strict=True)))
    return None


def _is_start_key(world, change):
    names = world.tables[change.table].primary_key
    keys = [[row[name] for name in names] for row in world.rows_in_start(change.table)]
    return [change.key[name] for name in names] in keys


def _break_start_row(world, changes, fault):
    touched = {(change.table, *change.key.values()) for change in changes}
    for name, info in world.tables.items():
        for row in world.rows_in_start(name):
            key = {part: row[part] for part in info.primary_key}
            if (name, *key.values()) not in touched:
                return [*changes, update(name, key, count=77) if fault == "start_row" else delete(name, key)]
    return None


def edit(changes, place, values):
    change = changes[place]
    edited = replace(change, after={**change.after, **values})
    # A later update of the same row may say what the row was before; it says nothing then.
    later = [
        replace(each, before=None) if (each.table, each.key) == (change.table, change.key) and each.after else each
        for each in changes[place + 1 :]
    ]
    return [*changes[:place], edited, *later]


def disturb(world, changes, rng):
    """Near values, near texts and redirected foreign keys, which may leave the changes equal or not."""
    result = []
    for change in changes:
        if change.kind == "delete" or STRAY_ID in change.key.values():
            result.append(change)
            continue
        info, after = world.tables[change.table], dict(change.after)
        if after.get("size") is not None and rng.random() < 0.5:
            after["size"] *= 1 + rng.choice([3e-7, -3e-7, 9e-7, 3e-6])
        if after.get("note") is not None and rng.random() < 0.5:
            words = after["note"].split()
            words[rng.randrange(len(words))] = rng.choice(["red", "blue", "5", "not"])
            after["note"] = " ".join(words).upper() + "!"
        free = [
            key for key in info.foreign_keys if not set(key.columns) & set(info.primary_key) and key.columns[0] in after
        ]
        if free and rng.random() < 0.15:
            foreign_key = rng.choice(free)
            rows = [
                each.key
                for each in changes
                if each.kind == "insert" and each.table == foreign_key.table and STRAY_ID not in each.key.values()
            ]
            if rows:
                row = rng.choice(rows)
                values = [row[name] for name in foreign_key.targets]
                after |= dict(zip(foreign_key.columns, values, strict=True))
        result.append(replace(change, after=after, before=None))
    return [replace(each, before=None) for each in result]
