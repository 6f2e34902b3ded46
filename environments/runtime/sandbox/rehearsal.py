"""A small trusted episode that a zygote plays before it forks, so that its children find everything warm.

From 3.11 on CPython specialises code where it runs, SQLite fills its caches and the allocators their pools; a child
that had to do this itself would copy some hundred pages more (20 calls took 4.5 ms instead of 4.0). The pack below is
ours, so the zygote still executes nothing untrusted.
"""

from environments.runtime.engine import Engine
from environments.runtime.pack.model import Column, Condition, Licence, Pack, Rejection, Scenario, Table, Tool

CLOCK = "2026-01-01T00:00:00Z"
NUM_ROUNDS = 12

_SCHEMA = """\
CREATE TABLE shelves (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
CREATE TABLE jars (
    id INTEGER PRIMARY KEY,
    shelf_id INTEGER NOT NULL REFERENCES shelves (id),
    label TEXT NOT NULL,
    grams INTEGER NOT NULL CHECK (grams >= 0)
) STRICT;
CREATE INDEX jars_by_shelf ON jars (shelf_id);
"""
_TOOLS = """
def put(ctx, *, shelf_id, label, grams):
    if grams > 1000:
        ctx.reject("too_heavy", "A jar holds at most 1000 grams.")
    number = ctx.new_id("jars")
    ctx.db.run(
        "INSERT INTO jars (id, shelf_id, label, grams) VALUES (:id, :shelf, :label, :grams)",
        id=number, shelf=shelf_id, label=label, grams=grams,
    )
    ctx.db.run("UPDATE jars SET grams = grams + 1 WHERE id = :id", id=number)
    return {"id": number, "at": ctx.now()}


def look(ctx, *, shelf_id):
    jars = ctx.db.all("SELECT id, label, grams FROM jars WHERE shelf_id = :shelf ORDER BY id", shelf=shelf_id)
    first = ctx.db.one("SELECT name FROM shelves WHERE id = :shelf", shelf=shelf_id)
    return {"jars": jars, "name": first["name"] if first else None, "draw": ctx.rng.random()}
"""
_INTEGER = {"type": "integer"}
_TEXT = {"type": "string"}


def _tool(name: str, properties: dict[str, object], **more: object) -> Tool:
    schema = {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }
    return Tool(name, name, name, "read" if name == "look" else "write", "agent", schema, {"type": "object"}, **more)  # type: ignore[arg-type]


PACK = Pack(
    name="rehearsal",
    title="Rehearsal",
    domain="rehearsal",
    description="Plays before the play.",
    language="en",
    licence=Licence("CC0-1.0"),
    clock_start=CLOCK,
    clock_step_seconds=1,
    tables={
        "shelves": Table("Shelves.", "entity", {"id": Column("hard"), "name": Column("hard")}),
        "jars": Table(
            "Jars.",
            "entity",
            {
                "id": Column(generated="id"),
                "shelf_id": Column(),
                "label": Column("hard"),
                "grams": Column("hard"),
            },
        ),
    },
    tools=(
        _tool(
            "put",
            {"shelf_id": _INTEGER, "label": _TEXT, "grams": _INTEGER},
            captures={"jars": "SELECT count(*) FROM jars"},
            preconditions=(
                Condition("no_shelf", "SELECT EXISTS (SELECT 1 FROM shelves WHERE id = :shelf_id)", "No such shelf."),
            ),
            postconditions=(
                Condition("not_put", "SELECT count(*) = :before_jars + 1 FROM jars", "The jar was not put."),
            ),
            rejections=(Rejection("too_heavy", "A jar holds at most 1000 grams."),),
        ),
        _tool("look", {"shelf_id": _INTEGER}),
    ),
    provenance=(),
    schema_sql=_SCHEMA,
    tools_py=_TOOLS,
    scenarios=(Scenario("start", "simple", CLOCK, 0, {"shelves": ({"id": 1, "name": "low"},)}),),
)
CALLS = (
    ("put", {"shelf_id": 1, "label": "rye", "grams": 10}),
    ("look", {"shelf_id": 1}),
    ("put", {"shelf_id": 2, "label": "rye", "grams": 10}),
    ("put", {"shelf_id": 1, "label": "rye", "grams": 2000}),
    ("look", {"shelf_id": 3}),
)


def make_engine() -> Engine:
    """The rehearsal's engine."""
    return Engine(PACK)
