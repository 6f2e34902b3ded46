"""Names that SQLite takes and that others who read a pack's SQL must be able to take, too."""

import keyword

import sqlglot
from sqlglot.dialects.sqlite import SQLite

from environments.core.compile.emission.names import python_names, quoted
from environments.core.compile.semantics import Answer, ArgumentRole, Kind, Meaning, Result
from tests.factories.blueprints import argument

WORDS = sorted(
    word.lower() for word in SQLite.Tokenizer.KEYWORDS if word.isascii() and word.isalpha() and len(word) < 40
)


def test_keywords_can_be_columns_and_tables():
    assert {"exclude", "false", "values", "with"} <= set(WORDS) | {"exclude"}
    for word in (*WORDS, "exclude"):
        name = quoted(word)
        for sql in (
            f"SELECT a, {name} FROM {name} WHERE {name} = :p ORDER BY {name} DESC, a",
            f"INSERT INTO t (a, {name}, b) VALUES (:a, :p, :b)",
            f"UPDATE t SET a = :a, {name} = coalesce(:p, {name}) WHERE {name} IS :k",
        ):
            tree = sqlglot.parse_one(sql, dialect="sqlite")
            assert word in {each.name for each in tree.find_all(sqlglot.exp.Identifier)}, sql


def test_keywords_can_be_arguments():
    for word in WORDS:
        meaning = Meaning(Kind.LIST, "t", (argument(word, ArgumentRole.FILTER),), (), Result(Answer.ROWS, ("data",)))
        name = python_names(meaning)[word]
        # What Python keeps for itself has another name before it comes here.
        if name.isidentifier() and not keyword.iskeyword(name):
            sql = f"SELECT a FROM t WHERE (:{name} IS NULL OR a = :{name}) LIMIT :{name}"
            found = {each.name for each in sqlglot.parse_one(sql, dialect="sqlite").find_all(sqlglot.exp.Placeholder)}
            assert found == {name}
