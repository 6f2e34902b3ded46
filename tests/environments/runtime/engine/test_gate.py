"""The gate over tools.py: each finding by its line, and honest code that passes."""

from pathlib import Path

import pytest

from environments.runtime.engine.gate import check_source

FUNCTION = "def act(ctx, *, item=None):\n"


def findings(source):
    return [(fault.code, int(fault.place.rpartition(":")[2])) for fault in check_source(source)[1]]


BODIES = {
    "open": "    return open('x')",
    "exec": "    exec('1')",
    "eval": "    return eval('1')",
    "compile": "    return compile('1', 'x', 'eval')",
    "import function": "    return __import__('os')",
    "builtins": "    return __builtins__",
    "getattr": "    return getattr(item, 'x')",
    "setattr": "    setattr(item, 'x', 1)",
    "vars": "    return vars(item)",
    "globals": "    return globals()",
    "locals": "    return locals()",
    "dir": "    return dir(item)",
    "id": "    return id(item)",
    "hash": "    return hash(item)",
    "sort by id": "    return sorted(item, key=id)",
    "print": "    print(item)",
    "input": "    return input()",
    "three-argument type": "    return type('X', (), {})",
    "dunder attribute": "    return item.__class__",
    "private attribute": "    return ctx.db._database",
    "subclasses": "    return ().__class__.__base__.__subclasses__()",
    "function attribute": "    act.count = 1",
    "argument attribute": "    item.count = 1",
    "deleted attribute": "    del item.count",
    "augmented attribute": "    item.count += 1",
    "attribute by unpacking": "    item.a, b = 1, 2",
    "attribute by loop": "    for item.a in (1, 2):\n        pass",
    "attribute by with": "    with item as item.a:\n        pass",
    "global": "    global act",
    "bare except": "    try:\n        pass\n    except:\n        pass",
    "except BaseException": "    try:\n        pass\n    except BaseException:\n        pass",
    "except a tuple": "    try:\n        pass\n    except (ValueError, BaseException):\n        pass",
    "raise SystemExit": "    raise SystemExit(0)",
    "format of a name": "    return item.format(ctx)",
    "format with attributes": "    return '{0.__class__}'.format(ctx)",
    "format with items": "    return '{0[x]}'.format(ctx)",
    "format_map": "    return '{x}'.format_map(item)",
    "class pattern": "    match item:\n        case str(__class__=found):\n            return found",
    "class pattern with private name": "    match item:\n        case dict(_x=found):\n            return found",
    "import os": "    import os",
    "import time": "    import time",
    "import random": "    import random",
    "from os": "    from os import path",
    "from star": "    from json import *",
    "relative import": "    from . import x",
    "private import": "    from json import _default_decoder",
    "class inside": "    class X:\n        pass",
    "for over a set": "    for x in {1, 2}:\n        pass",
    "list of a set": "    return list(set(item))",
    "join of a set": "    return ','.join({'a', 'b'})",
    "comprehension over a set": "    return [x for x in {'a', 'b'}]",
    "dict over a set": "    return {x: 1 for x in frozenset(item)}",
    "named set": "    seen = set()\n    seen.add('a')\n    return [x for x in seen]",
    "difference of sets": "    return list(set(item) - {'a'})",
    "union of sets": "    return tuple({'a'}.union(item))",
    "pop of a set": "    seen = {'a', 'b'}\n    return seen.pop()",
    "starred set": "    return [*{'a', 'b'}]",
    "text of a set": "    return f'{set(item)}'",
    "str of a set": "    return str({'a', 'b'})",
    "generator over a set": "    return list(x for x in {'a'})",
    "async function": "    return item\n\n\nasync def other(ctx):\n    await ctx",
    "mutable default inside": "    def inner(x=[]):\n        return x\n    return inner()",
    "mutable default of a lambda": "    return (lambda x={}: x)()",
    "decorated inside": "    @item\n    def inner():\n        pass",
}


@pytest.mark.parametrize("name", sorted(BODIES))
def test_what_a_function_must_not_do(name):
    source = FUNCTION + BODIES[name]
    found = findings(source)
    assert found, name
    assert {code for code, _ in found} <= {"source_forbidden", "source_statement", "source_syntax"}
    assert all(1 <= line <= source.count("\n") + 1 for _, line in found)


@pytest.mark.parametrize(
    "source",
    [
        "CACHE = {}",
        "CACHE = []",
        "CACHE = set()",
        "CACHE = [x for x in (1, 2)]",
        "A = ([], 1)",
        "CACHE: dict = {}",
        "import collections\nCACHE = collections.defaultdict(list)",
        "import itertools\nCOUNTER = itertools.count()",
        "A = iter((1, 2))",
        "A = B = []",
        "(A, B) = 1, 2",
        "A = object()",
        "for x in (1, 2):\n    pass",
        "if True:\n    A = 1",
        "while True:\n    pass",
        "try:\n    A = 1\nexcept ValueError:\n    pass",
        "with open('x') as f:\n    pass",
        "print('x')",
        "1 + 1",
        "del x",
        "import os",
        "import sys as s",
        "import os.path",
        "from functools import lru_cache",
        "from functools import cache",
        "import functools\n@functools.lru_cache\ndef _f(x):\n    return x",
        "import functools\ndef _f(x):\n    return functools.cache(x)",
        "import uuid\ndef _f():\n    return uuid.uuid4()",
        "from uuid import uuid4",
        "import datetime\ndef _f():\n    return datetime.datetime.now()",
        "from datetime import datetime\ndef _f():\n    return datetime.utcnow()",
        "from datetime import date\ndef _f():\n    return date.today()",
        "import decimal\ndecimal.getcontext().prec = 5",
        "import decimal\ndef _f():\n    decimal.getcontext().prec = 5",
        "from decimal import setcontext",
        "import operator\ndef _f(x):\n    return operator.attrgetter('__class__')(x)",
        "import json\ndef _f():\n    json.leak = 1",
        "import json\ndef _f(x):\n    return json.codecs.open(x)",
        "import string\ndef _f(x):\n    return string.Formatter().format('{0.x}', x)",
        "def _f(x=[]):\n    return x",
        "def _f(*, x={}):\n    return x",
        "def _f(x=set()):\n    return x",
        "A = (1, 2)\ndef _f():\n    A[0] = 1",
        "class X:\n    items = []",
        "class X(Y, metaclass=Z):\n    pass",
        "@register\nclass X:\n    pass",
        "class X:\n    def f(self):\n        X.count = 1",
        "class X:\n    @cached\n    def f(self):\n        pass",
        "def f(ctx):\n    def g():\n        global h\n        h = 1\n    g()",
        "ALL = frozenset({'a', 'b'})\ndef f(ctx):\n    return [x for x in ALL]",
    ],
)
def test_what_a_module_must_not_hold(source):
    assert findings(source)


@pytest.mark.parametrize(
    "source",
    [
        "def f(:\n    pass",
        "x = '\\ud800",
        "\x00",
        "(" * 500 + ")" * 500,
        "return 1 +",
        "return 1",
        "def f():\n    nonlocal x",
    ],
)
def test_source_that_does_not_parse(source):
    tree, faults = check_source(source)
    assert tree is None or faults
    assert {fault.code for fault in faults} == {"source_syntax"} or tree is not None


HONEST = '''
"""A module's text."""
from __future__ import annotations

import collections
import datetime as dt
import json
import math
import re
import uuid
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from enum import Enum

LIMIT = 50
STATES = ("open", "closed")
KNOWN = frozenset({"a", "b"})
SQL = "SELECT id " "FROM books"
WORD = re.compile(r"[a-z]+")
CENT: Decimal = Decimal("0.01")
DAY = dt.timedelta(days=1)
AREA = 2 * math.pi
NEGATIVE = -1


class State(Enum):
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0

    def __post_init__(self):
        pass

    @property
    def norm(self):
        return math.hypot(self.x, self.y)


def _words(text: str, *, low: bool = True, stop: tuple[str, ...] = ("the",)) -> list[str]:
    return sorted({word for word in WORD.findall(text.lower() if low else text)} - set(stop))


def act(ctx, *, item: str, id: int | None = None, limit: int = LIMIT) -> dict:
    seen = set()
    counts = collections.Counter()
    for row in ctx.db.all(SQL):
        if row["id"] in seen or row["id"] not in KNOWN:
            continue
        seen.add(row["id"])
        counts[row["id"]] += 1
    total = sum(len(x) for x in seen)
    biggest = max(seen, default="")
    try:
        data = json.loads(item)
    except (ValueError, TypeError) as error:
        data = {"error": f"{error!s:.20}"}
    data["ids"] = sorted(seen)
    match data:
        case {"kind": str(kind)}:
            data["kind"] = kind
        case Point(x=0):
            pass
    now = dt.datetime.strptime(ctx.now(), "%Y-%m-%dT%H:%M:%SZ") + DAY
    draw = ctx.rng.choice(STATES)
    name = uuid.uuid5(uuid.NAMESPACE_DNS, item)
    money = (Decimal(total) / 3).quantize(CENT, rounding=ROUND_HALF_UP)
    line = "{}: {:>5}".format(item, limit)

    def inner(value):
        nonlocal biggest
        biggest = value
        return biggest

    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return {
        "data": data, "due": now.isoformat(), "draw": draw, "name": str(name), "money": str(money), "line": line,
        "inner": inner(id), "ordered": ordered, "any": any(x for x in seen), "state": State.OPEN.value,
        "norm": Point(3, 4).norm, "words": _words(item),
    }
'''


def test_honest_code_passes():
    assert check_source(HONEST)[1] == []


def test_the_shipped_packs_pass():
    folder = Path(__file__).parents[4] / "environments" / "packs"
    for source in sorted(folder.glob("*/tools.py")):
        assert check_source(source.read_text())[1] == [], source


def test_findings_are_sorted_by_line_and_name_it():
    source = "import os\n\n\ndef f(ctx):\n    x = open('a')\n    return ctx.db._x\n"
    faults = check_source(source)[1]
    assert [fault.place for fault in faults] == ["tools.py:1", "tools.py:5", "tools.py:6"]
    assert "os" in faults[0].message
