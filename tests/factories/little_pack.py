"""A small lending library as a pack, with every feature of a tool once; tests change single parts of it."""

import dataclasses
from typing import Any

from environments.runtime.pack.model import (
    Column,
    Condition,
    Licence,
    Pack,
    Rejection,
    Scenario,
    Table,
    Tool,
)

SCHEMA = """
CREATE TABLE members (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL UNIQUE,
    is_active INTEGER NOT NULL CHECK (is_active IN (0, 1))
) STRICT;
CREATE TABLE books (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    copies INTEGER NOT NULL CHECK (copies >= 0),
    weight REAL,
    tags TEXT CHECK (json_valid(tags))
) STRICT;
CREATE TABLE loans (
    id TEXT PRIMARY KEY,
    member_id INTEGER NOT NULL REFERENCES members (id),
    book_id TEXT NOT NULL REFERENCES books (id) ON DELETE CASCADE,
    lent_at TEXT NOT NULL,
    note TEXT
) STRICT;
CREATE TABLE tickets (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL
) STRICT;
CREATE TABLE shelf (
    room TEXT NOT NULL,
    place INTEGER NOT NULL,
    book_id TEXT REFERENCES books (id) ON DELETE SET NULL,
    PRIMARY KEY (room, place)
) STRICT;
CREATE INDEX loans_by_member ON loans (member_id);
"""

TOOLS = '''
"""Tools of a lending library."""
import json
from datetime import datetime, timedelta

_FIND = "SELECT id, title, copies FROM books WHERE id = :book_id"


def _book(ctx, book_id):
    return ctx.db.one(_FIND, book_id=book_id)


def get_book(ctx, *, book_id):
    book = _book(ctx, book_id)
    if book is None:
        ctx.reject("no_book", f"There is no book {book_id}.")
    return {"book": book}


def list_books(ctx, *, limit=10):
    return {"books": ctx.db.all("SELECT id, title FROM books ORDER BY id LIMIT :limit", limit=limit)}


def lend(ctx, *, member_id, book_id, note=None):
    ctx.db.run("UPDATE books SET copies = copies - 1 WHERE id = :book_id", book_id=book_id)
    loan = ctx.new_id("loans")
    ctx.db.run(
        "INSERT INTO loans (id, member_id, book_id, lent_at, note) VALUES (:id, :member_id, :book_id, :now, :note)",
        id=loan, member_id=member_id, book_id=book_id, now=ctx.now(), note=note,
    )
    return {"loan_id": loan, "lent_at": ctx.now()}


def give_back(ctx, *, loan_id):
    loan = ctx.db.one("SELECT book_id FROM loans WHERE id = :loan_id", loan_id=loan_id)
    if loan is None:
        ctx.reject("no_loan", "There is no such loan.")
    ctx.db.run("DELETE FROM loans WHERE id = :loan_id", loan_id=loan_id)
    ctx.db.run("UPDATE books SET copies = copies + 1 WHERE id = :book_id", book_id=loan["book_id"])
    return {"given_back": True}


def join(ctx, *, name, email):
    member = ctx.new_id("members")
    ctx.db.run(
        "INSERT INTO members (id, name, email, is_active) VALUES (:id, :name, :email, 1)",
        id=member, name=name, email=email,
    )
    return {"member_id": member}


def draw(ctx, *, count=1):
    ticket = ctx.new_id("tickets")
    number = ctx.rng.randint(1, 1_000_000)
    ctx.db.run("INSERT INTO tickets (id, number) VALUES (:id, :number)", id=ticket, number=number)
    return {"ticket": ticket, "number": number}


def remove_book(ctx, *, book_id, from_):
    removed = ctx.db.run("DELETE FROM books WHERE id = :book_id", book_id=book_id)
    if not removed:
        ctx.reject("no_book", "There is no such book.")
    return {"removed": removed, "from": from_}


def tag_book(ctx, *, book_id, tags):
    if len(tags) > 2:
        ctx.db.run("UPDATE books SET copies = 0 WHERE id = :book_id", book_id=book_id)
        ctx.reject("too_many", "Give at most two tags.")
    ctx.db.run("UPDATE books SET tags = :tags WHERE id = :book_id", tags=json.dumps(tags), book_id=book_id)
    tags.append("changed")
    return {"due": (datetime.strptime(ctx.now(), "%Y-%m-%dT%H:%M:%SZ") + timedelta(days=1)).isoformat()}
'''


def object_schema(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
ANY_OBJECT = {"type": "object"}


def tool(name: str, effect: Any, inputs: dict[str, Any], outputs: dict[str, Any] | None = None, **more: Any) -> Tool:
    return Tool(
        name=name,
        title=name,
        description=name,
        effect=effect,
        audience=more.pop("audience", "agent"),
        input_schema=inputs,
        output_schema=outputs or ANY_OBJECT,
        **more,
    )


NO_BOOK = Rejection("no_book", "There is no such book.")
TOOL_LIST = (
    tool("get_book", "read", object_schema(("book_id",), book_id=TEXT), rejections=(NO_BOOK,)),
    tool("list_books", "read", object_schema(limit={"type": "integer", "default": 10})),
    tool(
        "lend",
        "write",
        object_schema(("member_id", "book_id"), member_id=NUMBER, book_id=TEXT, note=TEXT),
        object_schema(("loan_id", "lent_at"), loan_id=TEXT, lent_at=TEXT),
        captures={"copies": "SELECT copies FROM books WHERE id = :book_id"},
        preconditions=(
            Condition("no_member", "SELECT is_active FROM members WHERE id = :member_id", "There is no such member."),
            Condition("no_copies", "SELECT copies > 0 FROM books WHERE id = :book_id", "There is no copy left."),
        ),
        postconditions=(
            Condition("one_less", "SELECT copies = :before_copies - 1 FROM books WHERE id = :book_id", "One less."),
            Condition(
                "loan_there",
                "SELECT count(*) FROM loans WHERE id = json_extract(:result, '$.loan_id')",
                "The loan is there.",
            ),
        ),
    ),
    tool(
        "give_back",
        "write",
        object_schema(("loan_id",), loan_id=TEXT),
        rejections=(Rejection("no_loan", "There is no such loan."),),
    ),
    tool(
        "join",
        "write",
        object_schema(("name", "email"), name=TEXT, email=TEXT),
        preconditions=(
            Condition("email_taken", "SELECT count(*) = 0 FROM members WHERE email = :email", "Somebody has that."),
        ),
    ),
    tool("draw", "write", object_schema(count={"type": "integer", "default": 1})),
    tool(
        "remove_book",
        "write",
        object_schema(("book_id", "from"), **{"book_id": TEXT, "from": TEXT}),
        argument_names={"from": "from_"},
        rejections=(NO_BOOK,),
    ),
    tool(
        "tag_book",
        "write",
        object_schema(("book_id", "tags"), book_id=TEXT, tags={"type": "array", "items": TEXT}),
        rejections=(Rejection("too_many", "Give at most two tags."),),
    ),
)

HARD = Column(comparison="hard")
SEMANTIC = Column(comparison="semantic")
ID = Column(generated="id")
NOW = Column(generated="now")
KEY = Column()
TABLES = {
    "members": Table("Members", "entity", {"id": ID, "name": SEMANTIC, "email": HARD, "is_active": HARD}),
    "books": Table("Books", "entity", {"id": HARD, "title": HARD, "copies": HARD, "weight": HARD, "tags": HARD}),
    "loans": Table("Loans", "link", {"id": ID, "member_id": KEY, "book_id": KEY, "lent_at": NOW, "note": SEMANTIC}),
    "tickets": Table(
        "Tickets", "log", {"id": Column(generated="id", format="uuid"), "number": Column(generated="random")}
    ),
    "shelf": Table("Shelves", "link", {"room": HARD, "place": HARD, "book_id": KEY}),
}
ROWS = {
    "members": (
        {"id": 1, "name": "Ada", "email": "ada@example.org", "is_active": 1},
        {"id": 7, "name": "Bo", "email": "bo@example.org", "is_active": 0},
    ),
    "books": (
        {"id": "bk-1", "title": "Moss", "copies": 2, "weight": 0.5, "tags": None},
        {"id": "bk-2", "title": "Fern", "copies": 0, "weight": 1.0, "tags": '["green"]'},
    ),
    "loans": (
        {"id": "loan_a", "member_id": 1, "book_id": "bk-2", "lent_at": "2026-02-01T09:00:00Z", "note": None},
        {"id": "loan_b", "member_id": 1, "book_id": "bk-2", "lent_at": "2026-02-02T09:00:00Z", "note": "soft"},
    ),
    "shelf": ({"room": "east", "place": 1, "book_id": "bk-1"}, {"room": "east", "place": 2, "book_id": None}),
}


def library(**changes: Any) -> Pack:
    """The pack, with some of its parts replaced."""
    pack = Pack(
        name="library",
        title="Library",
        domain="lending",
        description="A lending library",
        language="en",
        licence=Licence("CC0-1.0"),
        clock_start="2026-03-02T09:00:00Z",
        clock_step_seconds=60,
        tables=TABLES,
        tools=TOOL_LIST,
        provenance=(),
        schema_sql=SCHEMA,
        tools_py=TOOLS,
        scenarios=(
            Scenario("small", "simple", "2026-03-02T09:00:00Z", 5, ROWS),
            Scenario("empty", "boundary", "2026-03-02T09:00:00Z", 5, {}),
        ),
    )
    return dataclasses.replace(pack, **changes)


def with_tool(
    source: str, *, effect: str = "write", inputs: dict[str, Any] | None = None, name: str = "act", **more: Any
) -> Pack:
    """The pack with one tool more."""
    added = tool(name, effect, inputs or object_schema(), more.pop("outputs", None), **more)
    return library(tools=(*TOOL_LIST, added), tools_py=f"{TOOLS}\n\n{source}")
