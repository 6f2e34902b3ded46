"""The little that is read from SQL text itself; everything else is asked of SQLite.

SQLite's authorizer tells tables, columns and functions, but not arguments: `date(:day)` and `date('now')` look the
same to it, and so do a plain foreign key and a deferred one.
"""

import re
from itertools import pairwise

_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|$)   # comments
    |'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]   # text and quoted names
    |[A-Za-z_][A-Za-z0-9_$]*|\S""",
    re.DOTALL | re.VERBOSE,
)
_CLOCK_FUNCTIONS = frozenset({"DATE", "TIME", "DATETIME", "JULIANDAY", "UNIXEPOCH"})
_CLOCK_WORDS = frozenset({"CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME"})
_CLOCK_TEXTS = frozenset({"'now'", "'localtime'", "'utc'"})
_RANDOM_WORDS = frozenset({"RANDOM", "RANDOMBLOB"})


def quote(name: str) -> str:
    """A name as SQL."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def tokens(sql: str) -> list[str]:
    """The tokens of a statement without comments; words in upper case, texts and quoted names as written."""
    found = []
    for match in _TOKEN.finditer(sql):
        token = match.group()
        if token.startswith(("--", "/*")):
            continue
        found.append(token.upper() if token[0].isalpha() or token[0] == "_" else token)
    return found


def undoes_everything(sql: str) -> bool:
    """Whether a conflict in this statement would roll the whole episode back."""
    words = tokens(sql)
    return any(pair == ("OR", "ROLLBACK") for pair in pairwise(words))


def clock_or_chance(sql: str) -> str | None:
    """The first word by which a statement would ask the clock or draw a random number, None for an honest one.

    A parameter may still hold 'now'; then SQLite gets the episode's own clock (`database.EpisodeTime`), so that the
    answer stays the same in every replay.
    """
    words = tokens(sql)
    for index, word in enumerate(words):
        following = words[index + 1 : index + 4]
        if word in _CLOCK_WORDS or word.lower() in _CLOCK_TEXTS:
            return word
        if word in _RANDOM_WORDS and following[:1] == ["("]:
            return f"{word}()"
        if word in _CLOCK_FUNCTIONS and following[:2] == ["(", ")"]:
            return f"{word}() without a time"
        if word == "STRFTIME" and following[:1] == ["("] and following[2:3] == [")"]:
            return "STRFTIME() without a time"
    return None
