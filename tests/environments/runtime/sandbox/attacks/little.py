"""A small honest pack, and the same pack with hostile tools in it."""

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from environments.runtime.pack import encode_pack
from environments.runtime.pack.model import Column, Licence, Pack, Scenario, Table, Tool
from environments.runtime.records import Row
from tests.environments.runtime.sandbox.attacks.model import PREAMBLE, Attack

CLOCK = "2026-03-02T09:00:00Z"
SCHEMA = """\
CREATE TABLE seeds (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    grams INTEGER NOT NULL CHECK (grams >= 0)
) STRICT;
"""
HONEST = """
def list_seeds(ctx):
    return {"seeds": ctx.db.all("SELECT id, name, grams FROM seeds ORDER BY id")}


def find_seed(ctx, *, name):
    return {"seeds": ctx.db.all("SELECT id, name FROM seeds WHERE name = :name ORDER BY id", name=name)}


def add_seed(ctx, *, name, grams):
    number = ctx.new_id("seeds")
    ctx.db.run("INSERT INTO seeds (id, name, grams) VALUES (:id, :name, :grams)", id=number, name=name, grams=grams)
    return {"id": number}


def mix(ctx):
    words = sorted({"rye", "oats", "barley", ctx.now()})
    return {"draw": ctx.rng.random(), "pick": ctx.rng.choice(words), "now": ctx.now(), "words": words}
"""
LIST_ANSWER = '{"seeds":[' + ",".join(f'{{"id":{i},"name":"seed {i}","grams":{i * 10}}}' for i in range(1, 13)) + "]}"
ADD_ANSWER = '{"id":13}'
ATTACK_ARGUMENTS = {"host": {"type": "integer"}, "tcp": {"type": "integer"}, "udp": {"type": "integer"}}


def make_tool(name: str, properties: Mapping[str, Any]) -> Tool:
    schema = {
        "type": "object",
        "properties": dict(properties),
        "required": sorted(properties),
        "additionalProperties": False,
    }
    return Tool(name, name, name, "write", "agent", schema, {"type": "object"})


HONEST_TOOLS = (
    make_tool("list_seeds", {}),
    make_tool("find_seed", {"name": {"type": "string", "maxLength": 100}}),
    make_tool("add_seed", {"name": {"type": "string"}, "grams": {"type": "integer"}}),
    make_tool("mix", {}),
)


def make_pack(tools: Iterable[Tool] = (), source: str = "", name: str = "little") -> Pack:
    rows: tuple[Row, ...] = tuple({"id": i, "name": f"seed {i}", "grams": i * 10} for i in range(1, 13))
    columns = {
        "id": Column(generated="id"),
        "name": Column("hard"),
        "grams": Column("hard"),
    }
    return Pack(
        name=name,
        title="Little",
        domain="seeds",
        description="Seeds.",
        language="en",
        licence=Licence("CC0-1.0"),
        clock_start=CLOCK,
        clock_step_seconds=0,
        tables={"seeds": Table("Seeds.", "entity", columns)},
        tools=(*HONEST_TOOLS, *tools),
        provenance=(),
        schema_sql=SCHEMA,
        tools_py=source + HONEST,
        scenarios=(Scenario("shelf", "simple", CLOCK, 7, {"seeds": rows}),),
    )


def attack_tool(number: int) -> str:
    return f"attack_{number}"


def make_attack_pack(attacks: Iterable[Attack]) -> bytes:
    """The pack with one tool for each attack, by its position."""
    tools, source = [], [PREAMBLE]
    for number, attack in enumerate(attacks):
        name = attack_tool(number)
        body = textwrap.indent(attack.body.strip(), "    ")
        source.append(f"def _body_{number}(ctx, host, tcp, udp):\n{body}\n")
        source.append(
            f"def {name}(ctx, *, host, tcp, udp):\n    return {{'outcome': _body_{number}(ctx, host, tcp, udp)}}\n"
        )
        tools.append(make_tool(name, ATTACK_ARGUMENTS))
    return encode_pack(make_pack(tools, "\n\n".join(source), "hostile"))
