"""A small plan with everything that names, keys and orders can make awkward."""

from environments.core.compile.semantics import (
    Absent,
    Answer,
    ArgumentRole,
    Assignment,
    Blueprint,
    ColumnRole,
    Exists,
    ForeignKey,
    Generated,
    Kind,
    Meaning,
    OnDelete,
    Order,
    PageFact,
    Part,
    PlannedTool,
    Result,
    Shown,
    Source,
    SourceFacts,
    StateAllows,
    Table,
    TableRole,
    Template,
    Through,
    ValueKind,
    View,
)
from tests.factories.blueprints import INTEGER, SIZE, SOURCE, argument, column, given

Role = ArgumentRole
ZONES = ("UTC", "now", "it's", 'a "b"')
DAY = {"type": "string", "format": "date"}
UUID = {"type": "string", "format": "uuid"}

GROUPS = Table(
    "group",
    "group",
    'Says "when", and\nwhere {braces} stand.',
    (
        column("id", schema=UUID, role=ColumnRole.KEY, is_required=True, generated=Generated.ID, comparison="exempt"),
        column("order", ValueKind.INTEGER, INTEGER),
        column("values", schema={"type": "string", "enum": list(ZONES)}, values=ZONES, default="UTC"),
        column("is_open", ValueKind.BOOLEAN, {"type": "boolean"}, role=ColumnRole.STATUS),
        column("random", ValueKind.JSON, {"type": "object"}, is_required=True, default="{}"),
        column("parent", comparison=None),
        column("place", ValueKind.DATE, DAY, generated=Generated.NOW, comparison="exempt"),
    ),
    ("id",),
    (ForeignKey(("parent",), "group", ("id",), OnDelete.SET_NULL),),
)  # fmt: skip
ITEMS = Table(
    "items",
    "hour_item",
    "",
    (
        column("group", role=ColumnRole.SCOPE, is_required=True, comparison=None),
        column("name", role=ColumnRole.KEY, is_required=True, comparison="semantic"),
        column("rank", ValueKind.REAL, {"type": "number"}),
        column("path", is_required=True, template=Template(("/g/", Part("group"), "/i/", Part("name"), "'s"))),
        column("from", comparison="semantic"),
    ),
    ("group", "name"),
    (ForeignKey(("group",), "group", ("id",), OnDelete.CASCADE),),
    unique=(("path",),),
)
NOTES = Table(
    "notes",
    "note",
    "Keyed by a text that is made of others.",
    (
        column("name", role=ColumnRole.KEY, is_required=True, template=Template(("notes/", Part("json")))),
        column("json", is_required=True),
        column("count", ValueKind.INTEGER, INTEGER, is_required=True, default=0),
    ),
    ("name",),
)
PINS = Table(
    "pins",
    "pin",
    "An item that a note pins.",
    (
        column("note", role=ColumnRole.SCOPE, is_required=True, comparison=None),
        column("group", role=ColumnRole.SCOPE, is_required=True, comparison=None),
        column("item", role=ColumnRole.KEY, is_required=True, comparison=None),
    ),
    ("note", "group", "item"),
    (
        ForeignKey(("note",), "notes", ("name",), OnDelete.CASCADE),
        ForeignKey(("group", "item"), "items", ("group", "name"), OnDelete.CASCADE),
    ),
    TableRole.LINK,
)
GROUP = View(
    "group",
    "group",
    (
        Shown(("@id",), "id"), Shown(("a b",), "order"), Shown(('q"q',), "values"), Shown(("open",), "is_open"),
        Shown(("deep", "er", "json"), "random"), Shown(("deep", "parent"), "parent"), Shown(("on",), "place"),
    ),
    ((("deep", "kind"), "g"), (("flag",), None)),
)  # fmt: skip
ITEM = View(
    "item", "items", tuple(Shown((n,), c) for n, c in (("title", "name"), ("select", "rank"), ("path", "path")))
)
RANK = View("rank", "items", (Shown(("rank",), "rank"), Shown(("name",), "path")))
NOTE = View("note", "notes", tuple(Shown((name,), name) for name in ("name", "json", "count")))
PIN = View("pin", "pins", tuple(Shown((name,), name) for name in ("note", "group", "item")))

GROUP_FOUND = Exists("group_not_found", "group", (("id", "group"),))
ITEM_FOUND = Exists("item_not_found", "items", (("group", "group"), ("name", "name")))
IN_GROUP = argument("group", Role.SCOPE)
OF_ITEM = (argument("group", Role.KEY), argument("name", Role.KEY))
PLACES = (argument("note", Role.KEY), argument("group", Role.KEY), argument("item", Role.KEY))
BY_RANK = (Order("rank", is_descending=True), Order("group"), Order("name"))


def _tool(name, kind, table, *arguments, checks=(), result=None, **more):
    result = result or Result(Answer.NOTHING)
    ordered = sorted(arguments, key=lambda each: not each.is_required)
    meaning = Meaning(kind, table, tuple(ordered), tuple(checks), result, **more)
    return PlannedTool(name, name, f'Does "{name}" with \\n. More.', meaning, SOURCE, name)


def odd() -> Blueprint:
    """The whole plan."""
    after = argument("after", Role.AFTER)
    size = argument("len", Role.SIZE, SIZE)
    seen = Exists("item_not_found", "items", (("group", "group"), ("name", "after")))
    more = ((("more",), PageFact.HAS_MORE), (("last",), PageFact.NEXT_AFTER), (("all",), PageFact.TOTAL))
    sort = argument("rows", Role.SORT, {"type": "string", "enum": ["rank", "-rank", "path", "-path"]})
    sorts = {"sorts": (("rank", "rank"), ("path", "path")), "descending_values": ("-",)}
    tools = (
        _tool(
            "create_group", Kind.CREATE, "group", argument("order", Role.SET, INTEGER), argument("values", Role.SET),
            argument("open", Role.SET, {"type": "boolean"}, column="is_open"),
            argument("json", Role.SET, {"type": "object"}, column="random"),
            argument("now", Role.SET, column="parent"),
            checks=(Exists("parent_not_found", "group", (("id", "now"),)),),
            assignments=(
                Assignment("id", Source.NEW_ID), *given("order", "values"),
                Assignment("is_open", Source.ARGUMENT, "open"),
                Assignment("random", Source.ARGUMENT, "json"),
                Assignment("parent", Source.ARGUMENT, "now"),
                Assignment("place", Source.NOW),
            ),
        ),
        _tool(
            "get_group", Kind.GET, "group", argument("id", Role.KEY),
            checks=(Exists("group_not_found", "group", (("id", "id"),)),),
            result=Result(Answer.ROW, (), GROUP, constants=((("st atus",), "ok"),)),
        ),
        _tool(
            "close_group", Kind.TRANSITION, "group", argument("id", Role.KEY),
            checks=(
                Exists("group_not_found", "group", (("id", "id"),)),
                StateAllows("group_not_open", "group", (("id", "id"),), "is_open", allowed=(1, None)),
            ),
            assignments=(Assignment("is_open", Source.CONSTANT, constant=0),), verb="close",
        ),
        _tool(
            "list_groups", Kind.LIST, "group", argument("total", Role.PAGE, {"type": "integer", "minimum": 0}),
            argument("where", Role.FILTER, {"type": "boolean"}, column="is_open"),
            argument("filters", Role.ONE_OF, {"type": "array", "items": {"type": "integer"}}, column="order"),
            result=Result(Answer.ROWS, ("value",), GROUP, (
                (("next",), PageFact.NEXT_PAGE), (("p",), PageFact.PAGE), (("skip",), PageFact.OFFSET),
                (("n",), PageFact.NUM_PAGES),
            )),
            order=(Order("order", is_descending=True), Order("id")), page_size=2, first_page=0,
        ),
        _tool(
            "delete_group", Kind.DELETE, "group", argument("id", Role.KEY),
            checks=(Exists("group_not_found", "group", (("id", "id"),)),),
        ),
        _tool(
            "list_items", Kind.LIST, "items", IN_GROUP, after, size, checks=(GROUP_FOUND, seen),
            result=Result(Answer.ROWS, ("value",), ITEM, more), order=BY_RANK, page_size=2,
        ),
        _tool(
            "sort_items", Kind.LIST, "items", IN_GROUP, after, sort, checks=(GROUP_FOUND, seen),
            result=Result(Answer.ROWS, ("value",), RANK, more[:2]), order=BY_RANK, page_size=3, **sorts,
        ),
        _tool(
            "list_item_keys", Kind.LIST_KEYS, "items", IN_GROUP, after, size, checks=(GROUP_FOUND, seen),
            result=Result(Answer.KEYS, ("keys",), page_facts=more[1:2]), order=BY_RANK[1:], page_size=2,
        ),
        _tool(
            "put_item", Kind.UPSERT, "items", *OF_ITEM, argument("rank", Role.SET, {"type": "number"}),
            argument("from", Role.SET, python_name="from_"), checks=(GROUP_FOUND,),
            result=Result(Answer.ROW, ("item",), ITEM),
            assignments=(*given("group", "name", "rank"), Assignment("path", Source.TEMPLATE), *given("from")),
            updates=given("rank"),
        ),
        _tool(
            "get_item", Kind.GET, "items", *OF_ITEM, checks=(ITEM_FOUND,), result=Result(Answer.ROW, ("a", "b"), ITEM),
        ),
        _tool(
            "create_note", Kind.CREATE, "notes", argument("json", Role.SET, is_required=True),
            argument("count", Role.SET, INTEGER), checks=(Absent("note_exists", "notes", (("json", "json"),)),),
            result=Result(Answer.ROW, (), NOTE),
            assignments=(Assignment("name", Source.TEMPLATE), *given("json", "count")),
        ),
        _tool(
            "sum_notes", Kind.SUM, "notes", argument("json", Role.SEARCH), search_columns=("json",), sum_column="count",
            result=Result(Answer.NUMBER, ("data", "sum"), constants=((("ok",), True),)),
        ),
        _tool(
            "pin_item", Kind.LINK, "pins", *PLACES,
            checks=(
                Exists("note_not_found", "notes", (("name", "note"),)),
                Exists("item_not_found", "items", (("group", "group"), ("name", "item"))),
            ),
            result=Result(Answer.ROW, ("pins",), PIN, one_in_list=True), assignments=given("note", "group", "item"),
        ),
        _tool(
            "unpin_item", Kind.UNLINK, "pins", *PLACES,
            checks=(Exists("pin_not_found", "pins", tuple((name, name) for name in ("note", "group", "item"))),),
            result=Result(Answer.ROW, (), PIN),
        ),
        _tool(
            "list_pinned", Kind.LIST, "items", argument("note", Role.SCOPE),
            argument("skip", Role.CURSOR), checks=(Exists("note_not_found", "notes", (("name", "note"),)),),
            result=Result(Answer.ROWS, ("items",), ITEM, ((("next",), PageFact.NEXT_CURSOR),)), order=BY_RANK,
            page_size=2, through=Through("pins", (("note", "note"),), (("group", "group"), ("item", "name"))),
        ),
    )  # fmt: skip
    return Blueprint(
        "odd", "Odd", "tests", "Awkward.", "odd.example", "plain", (GROUPS, ITEMS, NOTES, PINS), tools,
        (SourceFacts(SOURCE, "openapi", "odd.json", "2026-03-01T00:00:00Z", "Odd", "odd.example"),),
    )  # fmt: skip
