"""A small pack with one of everything, as the documents of its files, and ways to spoil it."""

import copy
import io
import json
import zipfile

from environments.runtime.pack import check_pack
from environments.runtime.pack.documents import pack_from_files
from environments.runtime.pack.errors import PackError

SOURCE = "a" * 64
SCHEMA = """CREATE TABLE boards (
    board_code TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    remark TEXT
) STRICT;
CREATE TABLE loans (
    loan_id INTEGER PRIMARY KEY,
    board_code TEXT NOT NULL REFERENCES boards (board_code),
    borrower TEXT NOT NULL,
    lent_at TEXT NOT NULL
) STRICT;
CREATE TABLE members (
    member_id TEXT PRIMARY KEY,
    name TEXT NOT NULL
) STRICT;
"""
TOOLS = '''"""Tools of the board library."""


def borrow(ctx, *, board_code: str, from_: str, remark: str = "none") -> dict:
    loan_id = ctx.new_id("loans")
    ctx.db.run(
        "INSERT INTO loans (loan_id, board_code, borrower, lent_at) VALUES (:loan_id, :board_code, :borrower, :now)",
        loan_id=loan_id,
        board_code=board_code,
        borrower=from_,
        now=ctx.now(),
    )
    if from_ == "nobody":
        ctx.reject("nobody", "Somebody has to borrow it.")
    if remark != "none":
        ctx.db.run(
            "UPDATE boards SET remark = :remark WHERE board_code = :board_code", remark=remark, board_code=board_code
        )
    return {"loan_id": loan_id}


def look(ctx, *, board_code: str | None = None) -> dict:
    boards = ctx.db.all(
        "SELECT board_code FROM boards WHERE :code IS NULL OR board_code = :code ORDER BY board_code", code=board_code
    )
    return {"boards": boards}
'''
CODE = {"type": "string", "description": "Code of the board.", "pattern": "^[A-Z]{3}$"}
LOAN = {"loan_id": 3, "board_code": "OAK", "borrower": "Ida", "lent_at": "2026-03-02T09:00:00Z"}


def column(comparison, generated=None, format_=None):
    return {"class": comparison, "generated": generated, "format": format_, "description": ""}


def documents():
    """The files' documents by name; JSON as values."""
    borrow = {
        "name": "borrow",
        "title": "Borrow",
        "description": "Lends a board.",
        "effect": "write",
        "audience": "agent",
        "input_schema": {
            "type": "object",
            "properties": {
                "board_code": CODE,
                "from": {"type": "string", "description": "Who borrows it."},
                "remark": {"type": "string", "default": "none"},
            },
            "required": ["board_code", "from"],
            "additionalProperties": False,
        },
        "output_schema": {
            "type": "object",
            "properties": {"loan_id": {"type": "integer", "minimum": 1}},
            "required": ["loan_id"],
            "additionalProperties": False,
        },
        "argument_names": {"from": "from_"},
        "captures": {"loans": "SELECT count(*) FROM loans WHERE board_code = :board_code"},
        "preconditions": [
            {
                "code": "board_not_found",
                "sql": "SELECT EXISTS (SELECT 1 FROM boards WHERE board_code = :board_code AND name <> ':odd') -- :odd",
                "message": "There is no such board.",
                "policy": "Only boards of the library are lent.",
            }
        ],
        "postconditions": [
            {
                "code": "loan_not_counted",
                "sql": "SELECT count(*) = :before_loans + 1 AND :result IS NOT NULL FROM loans"
                " WHERE board_code = :board_code",
                "message": "There is not one loan more.",
            }
        ],
        "rejections": [{"code": "nobody", "message": "Somebody has to borrow it."}],
        "origin": {"source": SOURCE, "operation": "POST /loans", "author": "person"},
    }
    look = {
        "name": "look",
        "title": "Look",
        "description": "Lists boards.",
        "effect": "read",
        "audience": "user",
        "input_schema": {"type": "object", "properties": {"board_code": CODE}, "additionalProperties": False},
        "output_schema": {
            "type": "object",
            "properties": {"boards": {"type": "array", "items": {"$ref": "#/$defs/board"}}},
            "$defs": {"board": {"type": "object", "properties": {"board_code": CODE}}},
        },
        "argument_names": {},
        "captures": {},
        "preconditions": [],
        "postconditions": [],
        "rejections": [],
        "origin": None,
    }
    environment = {
        "format": "envfactory-pack/1",
        "name": "board_library",
        "title": "Board library",
        "domain": "Lending",
        "description": "Lends boards.",
        "language": "en",
        "licence": {"spdx": "CC0-1.0", "name": None, "address": None},
        "clock_start": "2026-03-02T09:00:00Z",
        "clock_step_seconds": 0,
        "tables": {
            "boards": {
                "description": "A board.",
                "role": "entity",
                "columns": {"board_code": column("hard"), "name": column("hard"), "remark": column("semantic")},
            },
            "loans": {
                "description": "A loan.",
                "role": "link",
                "columns": {
                    "loan_id": column("exempt", "id"),
                    "board_code": column(None),
                    "borrower": column("hard"),
                    "lent_at": column("exempt", "now"),
                },
            },
            "members": {
                "description": "A member.",
                "role": "log",
                "columns": {"member_id": column(None, "id", "uuid"), "name": column("hard")},
            },
        },
        "tools": [borrow, look],
        "provenance": [
            {
                "kind": "openapi",
                "address": "https://example.org/openapi.json",
                "sha256": SOURCE,
                "retrieved_at": "2026-02-01T00:00:00Z",
                "version": "1.2",
                "licence": {"spdx": "MIT", "name": None, "address": "https://example.org/licence"},
            }
        ],
    }
    scenario = {
        "name": "medium",
        "level": "medium",
        "clock_start": "2026-03-02T09:00:00Z",
        "seed": 7,
        "rows": {
            "boards": [
                {"board_code": "ASH", "name": "Ash", "remark": None},
                {"board_code": "OAK", "name": "Oak", "remark": "Heavy, and 1.5 m long \u2013 not for children"},
            ],
            "loans": [{**LOAN, "loan_id": 1}, {**LOAN, "loan_id": 2}],
            "members": [{"member_id": "0b7e3c52-6a41-4d0f-9c38-5f2a7d1e8b64", "name": "Ida"}],
        },
    }
    insert = {"table": "loans", "key": {"loan_id": 3}, "kind": "insert", "before": None, "after": LOAN}
    good = {"board_code": "OAK", "from": "Ida"}

    def case(name, tool, kind, calls, expect, changes=(), **start):
        start = start or {"scenario": "medium"}
        calls = [{"tool": called, "arguments": arguments} for called, arguments in calls]
        expect = [
            {"status": status, "code": code, **({"result": result} if result else {})}
            for status, code, result in expect
        ]
        return {
            "name": name,
            "tool": tool,
            "kind": kind,
            **start,
            "calls": calls,
            "expect": expect,
            "changes": list(changes),
            "author": "person",
        }

    success = ("success", None, None)
    rows = {"boards": scenario["rows"]["boards"]}
    cases = [
        case("borrow_oak", "borrow", "success", [("borrow", good)], [("success", None, {"loan_id": 3})], [insert]),
        case(
            "borrow_listed",
            "borrow",
            "boundary",
            [("look", {}), ("borrow", {**good, "board_code": {"$result": [0, "/boards/1/board_code"]}})],
            [success, ("success", None, {"loan_id": 1})],
            [{**insert, "key": {"loan_id": 1}, "after": {**LOAN, "loan_id": 1}}],
            rows=rows,
        ),
        case(
            "borrow_elm",
            "borrow",
            "rejection",
            [("borrow", {**good, "board_code": "ELM"})],
            [("rejection", "board_not_found", None)],
        ),
        case(
            "borrow_nobody",
            "borrow",
            "rejection",
            [("borrow", {**good, "from": "nobody"})],
            [("rejection", "nobody", None)],
        ),
        case("look_all", "look", "success", [("look", {})], [success]),
        case("look_none", "look", "boundary", [("look", {"board_code": "ELM"})], [("success", None, {"boards": []})]),
        case(
            "look_bad", "look", "rejection", [("look", {"board_code": "elm"})], [("invalid", "invalid_arguments", None)]
        ),
        case(
            "look_wrong",
            "look",
            "rejection",
            [("look", {}), ("peek", {})],
            [success, ("invalid", "unknown_tool", None)],
        ),
    ]
    return copy.deepcopy(
        {
            "environment.json": environment,
            "schema.sql": SCHEMA,
            "tools.py": TOOLS,
            "cases.json": cases,
            "scenarios/medium.json": scenario,
        }
    )


def files(docs=None):
    """The files' bytes."""
    docs = docs or documents()
    return {
        name: value if isinstance(value, bytes) else (value if isinstance(value, str) else json.dumps(value)).encode()
        for name, value in docs.items()
    }


def small_pack():
    return pack_from_files(files())


def faults_of(docs):
    """Every fault of the documents, of reading or of checking."""
    try:
        pack = pack_from_files(files(docs))
    except PackError as error:
        return error.faults
    return check_pack(pack, require_cases=True)


def make_zip(content, **changes):
    """A zip of files; `changes` set attributes of every entry."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            for attribute, value in changes.items():
                setattr(entry, attribute, value)
            archive.writestr(entry, data)
    return buffer.getvalue()
