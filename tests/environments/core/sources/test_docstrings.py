"""Docstrings in the forms of Google, NumPy and reST, and in none."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.core.sources.docstrings import Described, Docstring, read_docstring

GOOGLE = """Books a table.

    Only for today.

    Args:
        guests (int): How many
            people come.
        name: Whose table.
        note (str, optional): Anything: even this.
        **rest: Ignored.

    Returns:
        dict: The booking, with its id.

    Raises:
        ValueError: No table.
    """
NUMPY = """Books a table.

    Only for today.

    Parameters
    ----------
    guests : int
        How many
        people come.
    name
        Whose table.
    note, remark : str, optional
        Anything: even this.

    Returns
    -------
    dict
        The booking, with its id.

    Raises
    ------
    ValueError
        No table.
    """
REST = """Books a table.

    Only for today.

    :param int guests: How many
        people come.
    :param name: Whose table.
    :param note: Anything: even this.
    :type note: str, optional
    :returns: The booking, with its id.
    :rtype: dict
    :raises ValueError: No table,
        or none free.
    """
GUESTS, NAME = Described("int", "How many people come."), Described("", "Whose table.")
NOTE = Described("str, optional", "Anything: even this.")
RESULT = Described("dict", "The booking, with its id.")


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (GOOGLE, {"guests": GUESTS, "name": NAME, "note": NOTE, "rest": Described("", "Ignored.")}),
        (NUMPY, {"guests": GUESTS, "name": NAME, "note": NOTE, "remark": NOTE}),
        (REST, {"guests": GUESTS, "name": NAME, "note": NOTE}),
    ],
    ids=["google", "numpy", "rest"],
)
def test_docstring_is_taken_apart(text: str, arguments: dict[str, Described]) -> None:
    assert read_docstring(text) == Docstring("Books a table.", "Only for today.", arguments, RESULT)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("Returns:\n    The whole list.", Described("", "The whole list.")),
        ("Returns:\n    list[dict]: All of them.", Described("list[dict]", "All of them.")),
        ("Yields:\n    int: One.", Described("int", "One.")),
        ("Returns\n-------\nok : bool\n    Whether.", Described("bool", "Whether.")),
        (":return: Words.", Described("", "Words.")), (":rtype: int", Described("int", "")), ("Words.", None),
    ],
)  # fmt: skip
def test_result_is_read(text: str, result: Described | None) -> None:
    assert read_docstring(f"Does.\n\n{text}").result == result


def test_text_behind_a_section_is_description() -> None:
    found = read_docstring("Does.\n\nArgs:\n    a: One.\n\nMore words.\n")

    assert (found.summary, found.description, found.arguments) == ("Does.", "More words.", {"a": Described("", "One.")})


@pytest.mark.parametrize("text", ["", "\n", "    ", "Args:", "Parameters\n---", ":param:", "Returns:\n", ":param x y"])
def test_docstring_without_content_is_empty(text: str) -> None:
    found = read_docstring(text)
    assert not found.arguments


@given(st.text(alphabet="Args:Return\n -_ab(),:*.param", max_size=200))
def test_any_text_is_taken_apart(text: str) -> None:
    read_docstring(text)


@pytest.mark.parametrize(
    "text", [":param " * 4_000, "a(" * 10_000, "Args:\n" + "    x (" * 5_000, "Returns:\n  " + "a, " * 7_000,
             "Args:\n" * 4_000, "a : " * 5_000, "Parameters\n---\n" * 1_500, "x, " * 7_000],
)  # fmt: skip
def test_hostile_text_is_taken_apart_in_time(text: str) -> None:
    started = time.monotonic()
    for form in (
        text,
        f"Does.\n\nArgs:\n    {text}",
        f"Does.\n\nParameters\n----------\n{text}",
        f"Returns:\n  {text}",
    ):
        read_docstring(form[:20_000])
    assert time.monotonic() - started < 5.0
