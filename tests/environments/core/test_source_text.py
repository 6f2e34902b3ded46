"""Code of a pack found by its lines."""

import pytest

from environments.core.source_text import function_text

SOURCE = '''"""Tools."""

import json

LIMIT = 5


def first(ctx):
    """Says
something at the margin."""
    return {}


# About the second.
@marked
@twice
def second(ctx, *, n: int) -> dict:
    if n:

        return {"n": n}

    def second(inner):
        return inner
    return {}
# Of nobody.

def first_of_all(ctx): return {}
'''


def test_function_is_found_with_its_decorators_up_to_the_next_statement():
    found = function_text(SOURCE, "second")

    assert found.first_line == 15
    assert found.text.startswith("@marked\n@twice\ndef second(ctx, *, n: int) -> dict:\n")
    assert found.text.endswith("        return inner\n    return {}")
    assert list(found.numbers) == list(range(15, 25))


def test_lines_at_the_margin_inside_a_text_do_not_end_it():
    assert function_text(SOURCE, "first").text.endswith('at the margin."""\n    return {}')


def test_last_function_ends_with_the_file():
    assert function_text(SOURCE, "first_of_all").text == "def first_of_all(ctx): return {}"


@pytest.mark.parametrize("name", ["inner", "third", "firs", "", ".*", "LIMIT"])
def test_nothing_is_found_where_no_line_begins_it(name):
    assert function_text(SOURCE, name) is None


@pytest.mark.parametrize("source", ["", "def", "def f", "\0", "def f(" * 100_000, "def f(ctx):\n" + " \n" * 100_000])
def test_no_source_breaks_it(source):
    function_text(source, "f")
