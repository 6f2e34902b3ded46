"""Pages that are built to take a parser's time or memory: read or refused, but soon."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.core.errors import UnreadableSourceError
from environments.core.sources.model import Fetched
from environments.core.sources.web_pages import WebPageReader, description_links
from environments.core.sources.web_pages.blocks import MAX_HTML_BYTES, MAX_MARKDOWN_BYTES
from environments.core.sources.web_pages.html_tokens import Tag, tokens_of

SECONDS = 20.0
"""On a busy machine; each takes two at most on a free one."""

HTML = {
    "deep": b"<div>" * 1_000_000,
    "deep tables": b"<table><tr><td>" * 90_000,
    "deep lists": b"<ul><li>x" * 90_000,
    "never closed": b"<b><h1><pre><table><dl>" * 12_000,
    "wrong ends": b"<span>" * 10_000 + b"</x>" * 280_000,
    "one tag of many attributes": b"<div " + b"".join(b"a%d " % n for n in range(500_000)) + b">",
    "many tags of many attributes": b"<div a b c d e f g h i>" * 170_000,
    "open quotes": b'<a x="' * 600_000,
    "open tags": b"<a " * 1_300_000,
    "open comments": b"<!--" * 1_000_000,
    "bogus comments": b"<!x" * 1_300_000,
    "open scripts": b"<script>" * 500_000,
    "script of addresses": b"<script>" + b"url:" * 900_000 + b"</script>",
    "script of quotes": b"<script>" + b'url: "a' * 500_000 + b"</script>",
    "links": b"<a href=/openapi.json>x</a>" * 90_000,
    "character references": b"&amp;" * 800_000,
    "wide table": b"<table><tr>" + b"<td>a" * 140_000,
    "long table": b"<h1>POST /a</h1><table><tr><td>name<td>type" + b"<tr><td>a.b.c.d.e.f[].g<td>array of x" * 40_000,
    "operations": b"".join(b"<h2>GET /a%d</h2><p>x</p>" % n for n in range(49_000)),
    "heading of methods": b"<h1>" + b"GET " * 900_000,
    "deep example": b"<h1>GET /a</h1><pre>" + b"[" * 900_000,
    "nested example": b"<h1>GET /a</h1><pre>" + b'{"a":' * 900 + b"1" + b"}" * 900,
    "angles": b"<" * 280_000,
    "fifty megabytes": b"x" * (50 << 20),
}
MARKDOWN = {
    "brackets": b"[" * 900_000,
    "images": b"![[" * 300_000,
    "quotes": b">" * 900_000,
    "emphasis": b"*a **a " * 140_000,
    "backticks": b"".join(b"`" * n + b" " for n in range(1_300)),
    "deep list": b"".join(b" " * (2 * n) + b"- a\n" for n in range(900)),
    "dashes": b"- " * 450_000,
    "wide table": b"|a" * 5_000 + b"\n" + b"|-" * 5_000 + b"\n" + b"|x\n" * 30_000,
    "long table": b"|name|type|\n|-|-|\n" + b"|a|int|\n" * 49_000,
    "html": b"<div>\n\n" * 24_000,
    "references": b"".join(b"[a%d]: /x\n" % n for n in range(49_000)),
    "links": b"[a](b" * 180_000,
    "underscores": b"_a" * 450_000,
    "zeros": b"\0" * 900_000,
    "lines": b"\n" * 900_000,
    "fifty megabytes": b"x" * (50 << 20),
}


@pytest.mark.parametrize("name", HTML)
def test_hostile_html_takes_no_longer_than_its_length(name: str) -> None:
    content = b"<!doctype html><html><body>" + HTML[name]
    bounded = content if name == "fifty megabytes" else content[:MAX_HTML_BYTES]
    read_in_time(Fetched("https://a.example/docs", bounded))


@pytest.mark.parametrize("name", MARKDOWN)
def test_hostile_markdown_takes_no_longer_than_its_length(name: str) -> None:
    content = b"# GET /a\n\n" + MARKDOWN[name]
    bounded = content if name == "fifty megabytes" else content[:MAX_MARKDOWN_BYTES]
    read_in_time(Fetched("https://a.example/docs.md", bounded))


def read_in_time(page: Fetched) -> None:
    started = time.monotonic()
    reader = WebPageReader()
    assert reader.recognises(page)
    try:
        assert reader.read(page).operations
    except UnreadableSourceError as error:
        assert str(error)  # noqa: PT017
    assert len(description_links(page)) <= 20
    assert time.monotonic() - started < SECONDS


@given(st.text(alphabet="<>/!-=\"'&;abhprtdscGET /{}[]|#`*\n", max_size=200))
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    for page in (f"<html>{text}", f"# GET /a\n{text}"):
        fetched = Fetched("https://a.example/a.md", page.encode())
        description_links(fetched)
        try:
            WebPageReader().read(fetched)
        except UnreadableSourceError:
            continue


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a<b>c</b>", ["a", Tag("b"), "c", Tag("b", True)]),
        ("<A HREF='x&amp;y' b c=d>", [Tag("a", False, {"href": "x&y", "b": "", "c": "d"})]),
        ('<a b="1>2" b=3/>', [Tag("a", False, {"b": "1>2"})]),
        ("<script>a<b></SCRIPT >c", [Tag("script", False, {}, "a<b>"), "c"]),
        ("<script>a</scripts>", [Tag("script", False, {}, "a</scripts>")]),
        ("x<!-- a > b -->y<!-->z<!--->w<!-- --!>v", ["x", "y", "z", "w", "v"]),
        ("<!doctype html><?xml a?></ b>c", ["c"]),
        ("1 < 2 &lt; 3", ["1 ", "<", " 2 < 3"]),
        ("<a", [Tag("a")]), ("<", ["<"]), ("</", []), ("<!--", []), ("", []),
    ],
)  # fmt: skip
def test_html_is_cut_as_browsers_cut_it(text: str, tokens: list[Tag | str]) -> None:
    assert tokens_of(text) == tokens
