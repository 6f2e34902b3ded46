"""How the replay writes sizes, JSON and found words."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.templatetags.replay import on_lines, size, with_marks

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("num_bytes", "written"),
    [(None, ""), (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KB"), (5_200_011, "5.0 MB"), (1 << 32, "4096.0 MB")],
)
def test_size_has_its_largest_whole_unit(num_bytes: int | None, written: str) -> None:
    assert size(num_bytes) == written


def test_json_stands_on_lines_with_every_token_as_it_was() -> None:
    assert on_lines('{"a":[1.10,{}],"b":"x, {y}","c":[]}') == (
        '{\n  "a": [\n    1.10,\n    {}\n  ],\n  "b": "x, {y}",\n  "c": []\n}'
    )


@pytest.mark.parametrize("text", ["", "{oh", "NaN", "[" * 5000, '"\\ud800"', "1 2"])
def test_what_is_no_json_stays_as_it_is(text: str) -> None:
    assert on_lines(text) == text


@given(VALUES)
def test_lines_hold_the_same_value_in_the_same_bytes(value: object) -> None:
    text = json.dumps(value, separators=(",", ":"))

    lines = on_lines(text)

    if lines != text:  # numbers beyond 64 bits are JSON to one reader and none to the other
        assert json.dumps(json.loads(lines), separators=(",", ":")) == text
        assert re.sub(r"\s", "", lines) == re.sub(r"\s", "", text)


@pytest.mark.parametrize("words", ["<b>", "(", "B>x"])
def test_found_words_are_marked_and_all_is_escaped(words: str) -> None:
    marked = str(with_marks("a <b>x</b> (\u202e", words))

    assert "<b>" not in marked
    assert marked.count("<mark>") == 1
    assert "\u202e" not in marked
