"""What a tool's SQL must not do, and what it costs at most: refused by name, with the state as it was."""

import pytest

from environments.runtime.engine import Engine, EngineError, FailureReason, PackRefusedError, database
from environments.runtime.engine.statements import StatementBook
from environments.runtime.records import CallStatus
from tests.factories.little_pack import library, object_schema, with_tool


def run(body, *, effect="write", calls=1, gate=False):
    episode = Engine(with_tool(body, effect=effect), gate=gate).open("small")
    episode.call("lend", {"member_id": 1, "book_id": "bk-1"})
    before, state = episode.snapshot(), episode.state()
    for _ in range(calls):
        record = episode.call("act", {})
    if record.status is not CallStatus.SUCCESS:
        assert episode.snapshot() == before
        assert episode.state() == state
        assert episode.broken_foreign_keys() == 0
        # The next call of the same episode is right.
        assert episode.call("give_back", {"loan_id": "loan_a"}).status is CallStatus.SUCCESS
    return episode, record


def why(body, **more):
    engine = Engine(with_tool(body, effect=more.pop("effect", "write")), gate=False)
    episode = engine.open("small")
    episode.call("lend", {"member_id": 1, "book_id": "bk-1"})
    before, state = episode.snapshot(), episode.state()
    record = episode.call("act", {})
    assert record.status is CallStatus.FAILURE, record
    failure = episode.failure
    assert episode.snapshot() == before
    assert episode.state() == state
    assert episode.call("give_back", {"loan_id": "loan_a"}).status is CallStatus.SUCCESS
    return failure.reason


def statement(sql, method="run"):
    return f'def act(ctx):\n    ctx.db.{method}("""{sql}""")\n    return {{}}'


REFUSED = [
    "ATTACH '/tmp/x.db' AS x",
    "DETACH main",
    "VACUUM INTO '/tmp/x.db'",
    "VACUUM",
    "PRAGMA writable_schema = 1",
    "PRAGMA foreign_keys = 0",
    "PRAGMA max_page_count = 100000000",
    "PRAGMA defer_foreign_keys = 1",
    "PRAGMA table_info(books)",
    "SELECT * FROM pragma_table_info('books')",
    "SELECT count(*) FROM pragma_table_info('books')",
    "SELECT name FROM sqlite_schema",
    "SELECT count(*) FROM sqlite_master",
    "SELECT * FROM dbstat",
    "DROP TABLE loans",
    "ALTER TABLE loans ADD COLUMN x TEXT",
    "CREATE TABLE x (a INTEGER PRIMARY KEY) STRICT",
    "CREATE TEMP TABLE x (a)",
    "CREATE VIEW v AS SELECT 1",
    "CREATE TRIGGER t AFTER DELETE ON loans BEGIN SELECT 1; END",
    "CREATE INDEX i ON loans (note)",
    "CREATE VIRTUAL TABLE f USING fts5(x)",
    "REINDEX",
    "ANALYZE",
    "BEGIN",
    "COMMIT",
    "END",
    "ROLLBACK",
    "SAVEPOINT mine",
    "SAVEPOINT envfactory_call",
    "RELEASE envfactory_call",
    "ROLLBACK TO envfactory_base",
    "RELEASE envfactory_base",
    "UPDATE OR ROLLBACK members SET email = 'ada@example.org'",
    "EXPLAIN SELECT 1",
    "EXPLAIN QUERY PLAN SELECT 1",
    "SELECT 1 AS a; SELECT 2 AS a",
    "DELETE FROM loans; DROP TABLE loans",
    "",
    "-- nothing",
    "SELECT load_extension('/tmp/x.so') AS x",
    "SELECT random() AS x",
    "SELECT hex(randomblob(4)) AS x",
    "SELECT zeroblob(1000000000) AS x",
    "SELECT printf('%.*c', 900000000, 'x') AS x",
    "SELECT format('%.*c', 900000000, 'x') AS x",
    "SELECT changes() AS x",
    "SELECT total_changes() AS x",
    "SELECT last_insert_rowid() AS x",
    "SELECT sqlite_version() AS x",
    "SELECT fts3_tokenizer('x') AS x",
    "SELECT date('now') AS x",
    "SELECT datetime( 'NOW' , '-1 day') AS x",
    "SELECT datetime() AS x",
    "SELECT strftime('%s') AS x",
    "SELECT CURRENT_TIMESTAMP AS x",
    "SELECT datetime('2026-01-01', 'localtime') AS x",
    "SELECT ? AS x",
    "SELECT ?1 AS x",
    "SELECT id, id FROM books",
]


SQL_TOOL = """
def act(ctx, *, sql, method):
    if method == "run":
        ctx.db.run(sql)
    elif method == "one":
        ctx.db.one(sql)
    else:
        ctx.db.all(sql)
    return {}
"""
SQL_ENGINE = Engine(
    with_tool(SQL_TOOL, inputs=object_schema(("sql", "method"), sql={"type": "string"}, method={"type": "string"}))
)


@pytest.mark.parametrize("sql", REFUSED)
@pytest.mark.parametrize("method", ["run", "one", "all"])
def test_sql_that_a_tool_must_not_run(sql, method):
    episode = SQL_ENGINE.open("small")
    episode.call("lend", {"member_id": 1, "book_id": "bk-1"})
    before, state = episode.snapshot(), episode.state()
    for _ in range(2):
        assert episode.call("act", {"sql": sql, "method": method}).status is CallStatus.FAILURE
        assert episode.failure.reason is FailureReason.SQL_REFUSED
    assert (episode.snapshot(), episode.state()) == (before, state)
    assert episode.call("give_back", {"loan_id": "loan_a"}).status is CallStatus.SUCCESS


@pytest.mark.parametrize("sql", ["UPDATE sqlite_schema SET sql = ''", "DELETE FROM sqlite_master"])
def test_the_schema_itself_cannot_be_written(sql):
    assert why(statement(sql)) is FailureReason.SQL_ERROR


@pytest.mark.parametrize(
    "sql",
    ["SELEC 1", "SELECT * FROM nothing", "SELECT nothing FROM books", 'SELECT "text" AS x', "SELECT rowid FROM books"],
)
def test_sql_that_cannot_be_prepared(sql):
    assert why(statement(sql)) is FailureReason.SQL_ERROR


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) AS n FROM (SELECT DISTINCT book_id FROM loans)",
        "WITH c AS (SELECT id FROM books) SELECT count(*) AS n FROM c",
        "SELECT value FROM books, json_each(books.tags)",
        "SELECT json_group_array(json_object('id', id)) AS x FROM books",
        "SELECT id, row_number() OVER (ORDER BY copies) AS n FROM books",
        "SELECT date('2026-01-01', '+1 day') AS x",
        "SELECT strftime('%Y', lent_at) AS y FROM loans",
        "SELECT 'now and then' AS x /* date('now') */ -- random()",
        "SELECT a.id AS first, b.id AS second FROM books a JOIN books b ON a.id < b.id",
        "INSERT INTO shelf (room, place) VALUES ('west', 1) ON CONFLICT (room, place) DO UPDATE SET book_id = NULL",
        "REPLACE INTO shelf (room, place) VALUES ('east', 2)",
        "INSERT OR IGNORE INTO shelf (room, place) VALUES ('east', 2)",
        "WITH big AS (SELECT id FROM books WHERE copies > 1) UPDATE books SET copies = 0 WHERE id IN big",
    ],
)
def test_sql_that_an_honest_tool_writes(sql):
    _, record = run(statement(sql, "all"))
    assert record.status is CallStatus.SUCCESS


def test_missing_and_foreign_parameters():
    assert why("def act(ctx):\n    ctx.db.run('SELECT :x AS x')\n    return {}") is FailureReason.SQL_ERROR
    assert why("def act(ctx):\n    return ctx.db.one('SELECT :x AS x', x=[1])") is FailureReason.EXCEPTION
    assert why("def act(ctx):\n    return ctx.db.one('SELECT :x AS x', x=2**70)") is FailureReason.EXCEPTION
    assert why("def act(ctx):\n    return ctx.db.one('SELECT :x AS x', x='\\ud800')") is FailureReason.EXCEPTION
    assert why("def act(ctx):\n    return ctx.db.one('SELECT ? AS x', (1,))") is FailureReason.EXCEPTION
    assert why("def act(ctx):\n    return ctx.db.one(['x'])") is FailureReason.EXCEPTION


FOREVER = "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
ENDLESS = {
    "recursion": (statement(f"{FOREVER} SELECT count(*) AS n FROM c", "one"), FailureReason.LIMIT_STEPS),
    "recursion that writes": (
        statement(f"{FOREVER} INSERT INTO shelf (room, place) SELECT 'x', x FROM c"),
        FailureReason.LIMIT_STEPS,
    ),
    "cross join": (
        "def act(ctx):\n    for i in range(200):\n"
        "        ctx.db.run(\"INSERT INTO shelf (room, place) VALUES ('w', :i)\", i=i)\n"
        "    return ctx.db.one('SELECT count(*) AS n FROM shelf a, shelf b, shelf c, shelf d')",
        FailureReason.LIMIT_STEPS,
    ),
    "many rows": (
        statement(f"{FOREVER} SELECT x FROM c LIMIT 20000", "all"),
        FailureReason.LIMIT_ROWS,
    ),
    "wide rows": (
        "def act(ctx):\n    ctx.db.run(\"UPDATE books SET title = :t\", t='x' * 600_000)\n"
        "    return {'x': ctx.db.all('SELECT a.title, b.title AS other FROM books a, books b, loans')}",
        FailureReason.LIMIT_ROWS,
    ),
    "long value": (
        "def act(ctx):\n    ctx.db.run('UPDATE books SET title = :t', t='x' * 2_000_000)\n    return {}",
        FailureReason.SQL_ERROR,
    ),
    "doubled value": (
        "def act(ctx):\n    for _ in range(40):\n        ctx.db.run('UPDATE books SET title = title || title')\n"
        "    return {}",
        FailureReason.SQL_ERROR,
    ),
    "many statements": (
        "def act(ctx):\n    while True:\n        ctx.db.one('SELECT 1 AS x')",
        FailureReason.LIMIT_STATEMENTS,
    ),
    "many changes": (
        statement(f"{FOREVER} INSERT INTO shelf (room, place) SELECT 'x', x FROM c LIMIT 15000"),
        FailureReason.LIMIT_CHANGES,
    ),
    "full": (
        "def act(ctx):\n    for i in range(100):\n"
        "        ctx.db.run(\"INSERT INTO shelf (room, place) VALUES (:r, :i)\", r='x' * 900_000, i=i)\n    return {}",
        FailureReason.LIMIT_STATE,
    ),
    "long text of SQL": ("def act(ctx):\n    ctx.db.run('SELECT 1 ' + ' ' * 30_000)", FailureReason.SQL_REFUSED),
    "deep expression": (
        "def act(ctx):\n    ctx.db.run('SELECT 1' + ' + 1' * 900)",
        FailureReason.SQL_ERROR,
    ),
    "long pattern": (
        "def act(ctx):\n    return ctx.db.one('SELECT title LIKE :p AS x FROM books', p='%a' * 500)",
        FailureReason.SQL_ERROR,
    ),
}


@pytest.mark.parametrize("name", sorted(ENDLESS))
def test_limits_end_the_call_by_name(name):
    body, reason = ENDLESS[name]
    assert why(body) is reason


@pytest.mark.parametrize("name", ["recursion that writes", "many rows", "full", "many statements"])
def test_a_swallowed_limit_is_still_a_failure(name):
    body, reason = ENDLESS[name]
    first, *rest = body.split("\n")
    swallowing = "\n".join([first, "    try:", *(f"    {line}" for line in rest), "    except:", "        pass"])
    assert why(f"{swallowing}\n    return {{}}") is reason


def test_or_rollback_is_refused_before_it_undoes_the_state():
    sql = "UPDATE OR ROLLBACK members SET email = 'ada@example.org' WHERE id = 7"
    assert why(statement(sql)) is FailureReason.SQL_REFUSED


def test_texts_made_for_each_call_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr("environments.runtime.engine.statements.MAX_TEXTS", 50)
    source = "def act(ctx, *, n):\n    return {'x': [ctx.db.one(f'SELECT {i} AS x')['x'] for i in range(n, n + 40)]}"
    inputs = object_schema(("n",), n={"type": "integer"})
    engine = Engine(with_tool(source, effect="read", inputs=inputs))
    episode = engine.open("small")
    for start in (0, 40, 20, 0):
        assert episode.call("act", {"n": start}).status is CallStatus.SUCCESS
    assert len(engine._book.known) <= 50


# The budget has no memory of what ran before


def counting():
    source = (
        "def act(ctx, *, n):\n"
        "    return ctx.db.one('WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT :n) "
        "SELECT count(*) AS n FROM c', n=n)"
    )
    return Engine(with_tool(source, effect="read", inputs=object_schema(("n",), n={"type": "integer"})))


def test_the_budget_is_the_same_whatever_ran_before(monkeypatch):
    monkeypatch.setattr(database, "MAX_TICKS", 100)
    monkeypatch.setattr(database, "HEAVY_TICKS", 50)
    engine = counting()
    low, high = 1_000, 20_000
    while high - low > 1:
        middle = (low + high) // 2
        if engine.open("small").call("act", {"n": middle}).status is CallStatus.SUCCESS:
            low = middle
        else:
            high = middle
    for earlier in (1, 37, 1_234, 3_001):
        used = engine.open("small")
        for _ in range(3):
            used.call("act", {"n": earlier})
        assert used.call("act", {"n": low}).status is CallStatus.SUCCESS
        assert used.call("act", {"n": high}).status is CallStatus.FAILURE
        assert used.failure.reason is FailureReason.LIMIT_STEPS


def test_heavy_calls_that_write_are_decided_once_and_counted_once():
    source = (
        "def act(ctx):\n"
        "    new = ctx.new_id('members')\n"
        "    ctx.db.run(\"INSERT INTO members VALUES (:id, 'x', 'x', 1)\", id=new)\n"
        "    ctx.db.one('WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 90000) "
        "SELECT count(*) AS n FROM c')\n"
        "    return {'id': new, 'draw': ctx.rng.random()}"
    )
    episode = Engine(with_tool(source)).open("small")
    episode.call("lend", {"member_id": 1, "book_id": "bk-1"})
    connection = episode._live.database
    record = episode.call("act", {})
    assert record.status is CallStatus.SUCCESS
    assert episode._live.database is not connection
    assert record.observation.startswith('{"id":8,')
    assert [change.table for change in record.changes] == ["members"]
    assert {change.table for change in episode.diff()} == {"books", "loans", "members"}


def test_a_statement_of_the_engine_cannot_be_reached_by_its_text():
    engine = Engine(library())
    live = engine.open("small")._live
    live.database._connection.execute("SAVEPOINT envfactory_call")
    live.database._connection.execute("RELEASE envfactory_call")
    assert isinstance(engine._book, StatementBook)
    assert "SAVEPOINT envfactory_call" not in engine._book.known


def test_a_pack_with_faults_is_refused_and_unknown_scenarios_too():
    with pytest.raises(PackRefusedError, match="function_missing"):
        Engine(library(tools_py="")).open("small")
    with pytest.raises(EngineError):
        Engine(library()).open("nowhere")


def test_limits_are_what_the_documents_say():
    assert database.MAX_TICKS * database.STEPS_PER_TICK == 2_000_000
    assert database.MAX_PAGES * 4096 == 16 << 20
