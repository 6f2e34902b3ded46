"""Texts made of patterns."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.core.compile.rows.draws import draws_for
from environments.core.compile.rows.patterns import text_matching

PATTERNS = (
    "^[a-z]{3}$", "^SM[0-9a-fA-F]{32}$", "^(live|test)_[A-Za-z0-9]{8,}$", r"^\d{4}-\d{2}$", "^arn:aws:[a-z0-9]+:x$",
    "^[^/]+/[^/]+$", r"^(?:[a-z]+\.)*example$", "^a?b*c+d{2,3}$", r"^\+[1-9]\d{6,14}$", "[A-Z0-9_]+", "^.{5}$",
    r"^[\w.-]+@[\w-]+\.[a-z]{2,}$", "^$", r"^\S+\s\S+$", "^[A-Za-z0-9\\-\\.]*$", "^(?<name>[ab])x$", "^[]a]$", "^[a-]$",
    r"^v\x31\u0032$", "^(|x)$", r"^[\d\-]{3}$", "^a{0}$",
)  # fmt: skip
STRANGE = (r"(?=a)b", r"(a)\1", r"\p{L}", "[", "(", "a{2", "*a", "(?<!x)y", "[[:alpha:]]", "a{b}")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_texts_match_their_pattern(pattern):
    python = pattern.replace("(?<name>", "(?P<name>")
    for number in range(20):
        text = text_matching(pattern, draws_for(pattern, number), more=number % 6)
        assert text is not None
        assert re.search(python, text), (pattern, text)


@pytest.mark.parametrize("pattern", STRANGE)
def test_patterns_that_are_not_understood_give_nothing(pattern):
    assert text_matching(pattern, draws_for(1)) is None


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.text("ab[](){}|?*+^$\\d-,.0123", max_size=14))
def test_no_pattern_breaks_the_reader(pattern):
    text = text_matching(pattern, draws_for(pattern))
    assert text is None or isinstance(text, str)
