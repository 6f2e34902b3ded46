"""Python sources listed in the locked worker: what they declare, and texts that are built to hurt a parser."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.runtime.sandbox import frames
from environments.runtime.sandbox.errors import RequestError, SandboxError, ToolTimeout
from environments.runtime.sandbox.limits import MEBIBYTE, Limits
from environments.runtime.sandbox.pool import PoolSettings, WorkerPool
from environments.runtime.sandbox.sketching import MAX_SOURCE_BYTES, UnreadableSketchError, list_sketch
from environments.runtime.sketches import SketchArgument, SketchClass, SketchFunction, SketchListing

N = 1_000_000
HOSTILE = {
    "parentheses": b"(" * N,
    "brackets": b"[" * N,
    "signs": b"-" * N + b"1",
    "words": b"not " * (N // 4) + b"1",
    "functions": b"lambda:" * (N // 7) + b"1",
    "members": b"a" + b".b" * (N // 2),
    "calls": b"a" + b"()" * (N // 2),
    "sum": b"1" + b"+1" * (N // 2),
    "powers": b"1" + b"**1" * (N // 3),
    "conditions": b"1 if 1 else " * (N // 12) + b"1",
    "branches": b"if 1: pass\n" + b"elif 1: pass\n" * (N // 14),
    "zeros": b"\0" * N,
    "digits": b"x = " + b"9" * N,
    "no utf-8": b"\xff\xfe" * 9,
    "no python": b"<html>",
    "too long": b"#" * (MAX_SOURCE_BYTES + 1),
    "arguments": b"def f(" + b",".join(b"a%d" % n for n in range(90_000)) + b"): ...",
    "many functions": b"def f():0\n" * 90_000,
    "many classes": b"class A:0\n" * 90_000,
}
READ = {
    "long text": b"'''" + b"\\x00" * (N // 4) + b"'''",
    "texts": b"'a' " * (N // 4),
    "comparison": b"a<" * 100_000 + b"a",
    "long annotation": b"def f(a: Union[" + b"x, " * 90_000 + b"y]): ...",
    "long default": b"def f(a=[" + b"1," * 200_000 + b"]): ...",
    "decorators": b"@a\n" * 90_000 + b"def f(): ...",
    "escapes": b"def f(): '\\d \\ud800'",
    "deep": b"".join(b" " * n + b"if 1:\n" for n in range(90)) + b" " * 90 + b"def f(): ...",
}
SLOW = b"f'" + b"{a}" * 250_000 + b"'"
"""Ninety seconds of Python 3.11's parser."""


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    limits = Limits(memory_bytes=1024 * MEBIBYTE, sketch_seconds=5.0)
    with WorkerPool(PoolSettings(limits=limits, num_spares=0)) as made:
        yield made


def test_declarations_are_listed_by_the_locked_worker(pool: WorkerPool) -> None:
    source = b'''"""All."""
@tool(name="x")
def f(a, /, b: "int" = 1, *c, d: list[str]=["x"], e=f(), **g) -> dict:
    """Does."""
class A(B.C, metaclass=D):
    """Holds."""
    x: int = 3
    async def m(self): ...
'''
    argument = SketchArgument
    expected = SketchListing(
        "All.",
        (
            SketchFunction(
                "f", "", 3, False,
                (
                    argument("a", "positional_only", None, False, None),
                    argument("b", "positional", "'int'", True, "1"),
                    argument("c", "var_positional", None, False, None),
                    argument("d", "keyword_only", "list[str]", True, '["x"]'),
                    argument("e", "keyword_only", None, True, None),
                    argument("g", "var_keyword", None, False, None),
                ),
                "dict", "Does.", ("tool",),
            ),
            SketchFunction("m", "A", 8, True, (argument("self", "positional", None, False, None),), None, "", ()),
        ),
        (SketchClass("A", ("B.C",), "Holds.", (argument("x", "keyword_only", "int", True, "3"),), ()),),
    )  # fmt: skip
    assert pool.sketch(source) == expected
    assert pool.sketch(b"\xef\xbb\xbf" + source) == expected


def test_nothing_of_a_source_is_run(pool: WorkerPool, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    source = f"""
open({str(mark)!r}, "w")
def f(a=open({str(mark)!r}, "w"), b=__import__("os").abort()): ...
@print("x")
class A: x: exit(3) = exit(4)
exit(5)
"""
    for listing in (pool.sketch(source.encode()), list_sketch(source.encode())):
        assert [argument.default for argument in listing.functions[0].arguments] == [None, None]
    assert not mark.exists()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_source_is_a_fault_and_the_host_goes_on(name: str, pool: WorkerPool) -> None:
    started = time.monotonic()
    with pytest.raises(SandboxError) as caught:
        pool.sketch(HOSTILE[name])
    assert isinstance(caught.value, RequestError | ToolTimeout) or "memory" in caught.value.code
    assert time.monotonic() - started < 25.0
    assert pool.workers == []


@pytest.mark.parametrize("name", READ)
def test_large_source_is_read(name: str, pool: WorkerPool) -> None:
    listing = pool.sketch(READ[name])
    assert all(argument.annotation is None and argument.default is None for each in listing.functions
               for argument in each.arguments)  # fmt: skip


def test_slow_source_is_ended_at_the_deadline(pool: WorkerPool) -> None:
    started = time.monotonic()
    with pytest.raises(SandboxError) as caught:
        pool.sketch(SLOW)
    assert isinstance(caught.value, ToolTimeout | RequestError)  # newer parsers refuse it at once
    assert time.monotonic() - started < 20.0
    assert pool.sketch(b"def f(): ...").functions[0].name == "f"


@given(st.text(alphabet="def fab():=,*@class\n \"'#[]->.0\\{}", max_size=120))
@settings(max_examples=300, deadline=None)
def test_any_text_is_listed_or_refused(text: str) -> None:
    try:
        listing = list_sketch(text.encode())
    except UnreadableSketchError:
        return
    frame = frames.encode(frames.Sketched(1, listing), 1 << 20)
    assert frames.decode_reply(frame[4:]) == frames.Sketched(1, listing)
