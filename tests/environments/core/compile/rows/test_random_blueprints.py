"""Rows of blueprints that nobody wrote: any keys, foreign keys, kinds and limits together."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from environments.core.compile.rows import make_scenarios
from environments.core.compile.semantics import (
    Answer,
    Argument,
    ArgumentRole,
    Blueprint,
    Column,
    ColumnRole,
    Exists,
    ForeignKey,
    Generated,
    Kind,
    Meaning,
    OnDelete,
    Order,
    Part,
    PlannedTool,
    Result,
    StateAllows,
    Table,
    TableRole,
    Template,
    ValueKind,
)
from tests.environments.core.compile.rows.constraints import faults, load, rows_by_key

NOUNS = ("customer", "album", "server", "ticket", "policy", "device", "widget", "virtual_machine", "payment_method")
NAMES = (
    "name", "title", "description", "email", "phone", "city", "country_code", "price", "quantity", "status", "kind",
    "created_at", "updated_at", "start_date", "end_date", "min_size", "max_size", "url", "ip_address", "tags", "config",
    "is_open", "nanoble", "region", "arn", "version", "note", "zip", "expires_on", "ratio", "external_id", "code",
)  # fmt: skip
SCHEMAS = {
    ValueKind.TEXT: [
        {"type": "string"},
        {"type": "string", "maxLength": 12},
        {"type": "string", "minLength": 3, "maxLength": 5},
        {"type": "string", "minLength": 40},
        {"type": "string", "maxLength": 1},
        {"type": "string", "pattern": "^[a-z][a-z0-9-]{2,20}$"},
        {"type": "string", "pattern": "^[A-Z]{2}\\d{4}$"},
        {"type": "string", "pattern": "^(live|test)_[A-Za-z0-9]{8,}$"},
        {"type": ["string", "null"], "examples": ["standard", "string"]},
        {"type": "string", "example": "R-100-EU", "maxLength": 10},
        {"type": "string", "format": "email"},
        {"type": "string", "format": "uri"},
        {"type": "string", "format": "uuid"},
        {"type": "string", "format": "ipv4"},
        {"type": "string", "format": "hostname"},
        {"type": "string", "format": "duration"},
        {"type": "string", "format": "byte"},
    ],
    ValueKind.INTEGER: [
        {"type": "integer"},
        {"type": "integer", "minimum": 5, "maximum": 7},
        {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5},
        {"type": "integer", "maximum": -3},
        {"type": "integer", "minimum": 100000, "format": "int64"},
    ],
    ValueKind.REAL: [
        {"type": "number"},
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "number", "minimum": -90, "maximum": 90},
        {"type": "number", "multipleOf": 0.5},
        {"type": "number", "exclusiveMinimum": 10, "exclusiveMaximum": 11},
    ],
    ValueKind.BOOLEAN: [{"type": "boolean"}],
    ValueKind.TIME: [{"type": "string", "format": "date-time"}],
    ValueKind.DATE: [{"type": "string", "format": "date"}],
    ValueKind.EPOCH: [{"type": "integer"}, {"type": "integer", "minimum": 0}],
    ValueKind.EPOCH_MILLISECONDS: [{"type": "integer"}],
    ValueKind.JSON: [
        {"type": "object"},
        {"type": "array"},
        {"type": "array", "items": {"type": "string", "format": "email"}, "minItems": 2, "uniqueItems": True},
        {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 3}, "maxItems": 2},
        {
            "type": "object",
            "properties": {
                "city": {"type": "string", "maxLength": 8},
                "zip": {"type": "string", "pattern": "^[0-9]{5}$"},
                "level": {"type": "integer", "enum": [1, 2]},
                "parts": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
                "since": {"type": "string", "format": "date-time"},
            },
            "required": ["city", "zip"],
            "additionalProperties": False,
        },
        {"type": "object", "additionalProperties": {"type": "string", "maxLength": 20}, "minProperties": 0},
    ],
}


@st.composite
def columns(draw, taken: set[str]) -> Column:
    name = draw(st.sampled_from([each for each in NAMES if each not in taken]))
    taken.add(name)
    kind = draw(st.sampled_from(list(SCHEMAS)))
    schema = draw(st.sampled_from(SCHEMAS[kind]))
    values: tuple[str | int, ...] = ()
    role = ColumnRole.PLAIN
    if kind is ValueKind.TEXT and draw(st.integers(0, 3)) == 0:
        values = draw(st.sampled_from([("open", "closed"), ("A",), ("UNSPECIFIED", "small", "it's")]))
        schema = {"type": "string", "enum": list(values)}
        role = ColumnRole.STATUS
    return Column(name, kind, (name,), schema, "", role, draw(st.booleans()), values)


def key_column(name: str, kind: ValueKind, schema, generated: Generated | None = None) -> Column:
    return Column(name, kind, (name,), schema, "", ColumnRole.KEY, True, generated=generated)


@st.composite
def keys(draw, noun: str) -> Column:
    return draw(
        st.sampled_from(
            [
                key_column("id", ValueKind.TEXT, {"type": "string"}, Generated.ID),
                key_column("id", ValueKind.TEXT, {"type": "string", "format": "uuid"}, Generated.ID),
                key_column("id", ValueKind.TEXT, {"type": "string", "example": "cus_NffrFeUfNV2Hib"}, Generated.ID),
                key_column("id", ValueKind.INTEGER, {"type": "integer"}, Generated.ID),
                key_column("id", ValueKind.INTEGER, {"type": "integer", "example": 1296269}, Generated.ID),
                key_column(f"{noun}_name", ValueKind.TEXT, {"type": "string"}),
                key_column(f"{noun}_name", ValueKind.TEXT, {"type": "string", "pattern": "^[a-z][a-z0-9-]{1,11}$"}),
                key_column("sid", ValueKind.TEXT, {"type": "string", "pattern": "^SM[0-9a-f]{32}$"}),
                key_column("kind_code", ValueKind.TEXT, {"type": "string", "enum": ["a", "b", "c"]}),
                key_column("day", ValueKind.DATE, {"type": "string", "format": "date"}),
            ]
        )
    )


@st.composite
def tables(draw, noun: str, earlier: list[Table]) -> Table:
    taken: set[str] = set()
    made: list[Column] = []
    primary: list[str] = []
    foreign: list[ForeignKey] = []
    known = {table.name: table for table in earlier}

    def link(table: Table, prefix: str, is_required: bool, role: ColumnRole) -> tuple[str, ...]:
        names = []
        for target in table.primary_key:
            theirs = table.column(target)
            # A part of the path that both have is one column: it is shared between foreign keys.
            is_shared = theirs.role is ColumnRole.SCOPE
            name = target if is_shared else f"{prefix}{table.noun}_{target}"[:40]
            if name not in taken:
                taken.add(name)
                given = replace_role(theirs, name, role, is_required or is_shared)
                made.append(given)
            names.append(name)
        columns = tuple(names)
        on_delete = OnDelete.CASCADE if is_required else OnDelete.SET_NULL
        foreign.append(ForeignKey(columns, table.name, table.primary_key, on_delete))
        return columns

    shape = (
        draw(st.sampled_from(["plain", "plain", "below", "scoped", "link"]))
        if earlier
        else draw(st.sampled_from(["plain", "scoped"]))
    )
    role = TableRole.ENTITY
    if shape == "scoped":
        for name in draw(st.sampled_from([("subscription_id", "resource_group_name"), ("owner",)])):
            taken.add(name)
            made.append(Column(name, ValueKind.TEXT, (), {"type": "string"}, "", ColumnRole.SCOPE, True))
            primary.append(name)
    elif shape == "below":
        primary += link(known[draw(st.sampled_from(sorted(known)))], "", True, ColumnRole.SCOPE)
    elif shape == "link" and len(known) > 1:
        role = TableRole.LINK
        for name in draw(st.lists(st.sampled_from(sorted(known)), min_size=2, max_size=2, unique=True)):
            primary += [each for each in link(known[name], "", True, ColumnRole.SCOPE) if each not in primary]
    if role is TableRole.ENTITY:
        key = draw(keys(noun))
        if (shape in ("scoped", "below")) and key.generated is not None:
            key = replace_role(key, key.name, ColumnRole.KEY, True)
        taken.add(key.name)
        made.append(key)
        primary.append(key.name)
        made += [draw(columns(taken)) for _ in range(draw(st.integers(0, 7)))]
        if earlier and draw(st.booleans()):
            link(known[draw(st.sampled_from(sorted(known)))], "other_", draw(st.booleans()), ColumnRole.PLAIN)
        if len(primary) == 1 and draw(st.integers(0, 2)) == 0:
            own = replace_role(key, "parent_key", ColumnRole.PLAIN, draw(st.booleans()))
            made.append(own)
            foreign.append(ForeignKey(("parent_key",), noun + "s", (key.name,), OnDelete.SET_NULL))
        if key.generated is None and draw(st.booleans()):
            parts = ("/things/", *(Part(name) for name in primary))
            made.append(
                Column("full_path", ValueKind.TEXT, (), {"type": "string"}, is_required=True, template=Template(parts))
            )
    plain = [
        column for column in made
        if column.name not in primary and column.kind is ValueKind.TEXT and not column.values
        and column.template is None and column.schema.get("maxLength", 99) > 3
        and not any(column.name in each.columns for each in foreign)
    ]  # fmt: skip
    unique = ((plain[0].name,),) if plain and draw(st.booleans()) else ()
    return Table(noun + "s", noun, "", tuple(made), tuple(primary), tuple(foreign), role, unique)


def replace_role(column: Column, name: str, role: ColumnRole, is_required: bool) -> Column:
    return Column(name, column.kind, (name,), column.schema, "", role, is_required, column.values)


@st.composite
def blueprints(draw) -> Blueprint:
    made: list[Table] = []
    for noun in draw(st.lists(st.sampled_from(NOUNS), min_size=1, max_size=5, unique=True)):
        made.append(draw(tables(noun, made)))
    tools = []
    for table in made:
        filters = [each for each in table.columns if each.kind is not ValueKind.JSON]
        chosen = draw(st.lists(st.sampled_from(filters), max_size=3, unique_by=lambda each: each.name))
        roles = [
            draw(st.sampled_from([ArgumentRole.FILTER, ArgumentRole.AT_LEAST, ArgumentRole.AT_MOST])) for _ in chosen
        ]
        arguments = tuple(
            Argument(each.name, each.name, role, each.schema, "x", False, each.name)
            for each, role in zip(chosen, roles, strict=True)
        )
        order = tuple(Order(name) for name in table.primary_key)
        texts = tuple(each.name for each in table.columns if each.kind is ValueKind.TEXT)[:2]
        meaning = Meaning(
            Kind.LIST, table.name, arguments, (), Result(Answer.ROWS, ("data",)), order=order, page_size=5,
            search_columns=texts,
        )  # fmt: skip
        tools.append(PlannedTool(f"list_{table.name}", "t", "d", meaning, "s", "o"))
        states = [each for each in table.columns if each.role is ColumnRole.STATUS and len(each.values) > 1]
        if states:
            where = tuple((name, name) for name in table.primary_key)
            checks = (
                Exists("gone", table.name, where),
                StateAllows("no", table.name, where, states[0].name, ("closed",)),
            )
            done = Meaning(Kind.TRANSITION, table.name, (), checks, Result(Answer.NOTHING))
            tools.append(PlannedTool(f"end_{table.name}", "t", "d", done, "s", "o"))
    family = draw(st.sampled_from(["plain", "azure", "aws", "google"]))
    return Blueprint("any_service", "t", "d", "d", "p", family, tuple(made), tuple(tools), ())


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(blueprints(), st.integers(0, 5))
def test_rows_of_any_blueprint_obey_its_constraints(blueprint, seed):
    scenarios = make_scenarios(blueprint, seed)
    assert [each.name for each in scenarios] == ["simple", "medium", "complex", "boundary"]
    for scenario in scenarios:
        assert faults(blueprint, scenario) == []
        connection = load(blueprint, scenario)
        for table in blueprint.tables:
            assert rows_by_key(connection, table) == [tuple(row.values()) for row in scenario.rows[table.name]]
        connection.close()
    assert make_scenarios(blueprint, seed) == scenarios
    roots = [table for table in blueprint.tables if not table.foreign_keys]
    assert all(scenario.rows[table.name] for scenario in scenarios[:3] for table in roots)
