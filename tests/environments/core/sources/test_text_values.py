from typing import Any

import orjson
import pytest

from environments.core.errors import UnreadableSourceError
from environments.core.sources.budget import Budget
from environments.core.sources.text_values import MAX_BYTES, clean_text, parse_rows, parse_text, scalar_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, null, true]}', {"a": [1, 2.5, None, True]}),
        ('\ufeff {"a": "x"}\n', {"a": "x"}),
        ("a: 1\nb: [yes, no, on, true, NULL, ~]\n", {"a": 1, "b": ["yes", "no", "on", True, None, None]}),
        ("200: {1.5: a, true: b, null: c}", {"200": {"1.5": "a", "true": "b", "null": "c"}}),
        ("a: 010\nb: 0x1F\nc: 1_000\nd: 12:30\ne: 2024-01-31\nf: 1e3\ng: 1.50\nh: -7\n",
         {"a": "010", "b": "0x1F", "c": "1_000", "d": "12:30", "e": "2024-01-31", "f": "1e3", "g": 1.5, "h": -7}),
        ("a: 9999999999999999999\nb: .inf\nc: .nan\nd: =\n",
         {"a": 9999999999999999999, "b": ".inf", "c": ".nan", "d": "="}),
        ("a: -9999999999999999999", {"a": "-9999999999999999999"}),
        ("a: 99999999999999999999999", {"a": "99999999999999999999999"}),
        ("x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}\nz: {b: 3, <<: [*x, {c: 4, a: 5}]}",
         {"x": {"a": 1, "b": 2}, "y": {"b": 3, "a": 1}, "z": {"b": 3, "a": 1, "c": 4}}),
        ("{openapi: 3.0.0, paths: {/a: }}", {"openapi": "3.0.0", "paths": {"/a": None}}),
        ('{"a\\u0000b": ["\\u0000"]}', {"a\ufffdb": ["\ufffd"]}),
        ('"a\\0": "\\0"', {"a\ufffd": "\ufffd"}),
    ],
)  # fmt: skip
def test_text_becomes_plain_values_when_it_is_json_or_yaml(text: str, value: Any) -> None:
    found = parse_text(text.encode())
    assert found == value
    orjson.dumps(found)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf \n", "is empty"),
        (b'{"a": 1', "not JSON .* and no YAML: line 2"),
        (b"a: [1\nb: 2", "no YAML: line 2"),
        (b"a: b: c", "no YAML: line 1, column 5"),
        ("{'a': 'ü'}".encode("latin-1"), "byte 7 is not UTF-8"),
        ("a: 1".encode("utf-16"), "is not UTF-8"),
        (b"a: !!python/object:os.system x", "could not determine a constructor"),
        (b"a: !!binary aGk=", "could not determine a constructor"),
        (b"a: !include other.yaml", "could not determine a constructor"),
        (b"a: !!int x", "no YAML that can be read"),
        (b"? [a]\n: 1", "unhashable key"),
        (b"a: *b", "undefined alias"),
        (b"{<<: 1}", "expected a mapping for merging"),
        (b"\0", "no YAML"),
        (b"x" * (MAX_BYTES + 1), "has 96 MiB; at most 96"),
    ],
)
def test_a_clear_error_is_raised_when_text_cannot_be_read(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableSourceError, match=message):
        parse_text(data)


def test_parts_stay_shared_when_yaml_repeats_them() -> None:
    found = parse_text(b"a: &x {b: [1]}\nc: *x\n")
    assert found["a"] is found["c"]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('{"a": 1}\n{"a": 2}\n\n', [{"a": 1}, {"a": 2}]),
        ('\ufeff{"a": 1}\r\n{"a": 2}', [{"a": 1}, {"a": 2}]),
        ('{"a": 1}', {"a": 1}),
        ('{"a":\n{"b": 1}\n}', {"a": {"b": 1}}),
        ('[\n{"a": 1}\n]', [{"a": 1}]),
    ],
)
def test_rows_are_found_when_lines_are_json(text: str, rows: Any) -> None:
    assert parse_rows(text.encode()) == rows


def test_the_line_is_named_when_one_of_the_json_lines_is_broken() -> None:
    with pytest.raises(UnreadableSourceError, match="Line 3 of the JSON lines"):
        parse_rows(b'{"a": 1}\n\n{"a": \n{"a": 3}')


def test_text_is_cut_and_cleaned_when_it_is_kept() -> None:
    assert clean_text(" a\0b\ud800 ") == "a\ufffdb\ufffd"
    assert clean_text("x" * 50, 10) == "x" * 10
    assert clean_text(7) == clean_text(None) == clean_text(["a"]) == ""
    assert scalar_text(7, 10) == "7"
    assert scalar_text(True, 10) == scalar_text(None, 10) == ""


def test_a_budget_counts_shared_parts_each_time_when_they_are_kept() -> None:
    part = {"a": ["x" * 100]}
    budget = Budget(1_200)
    for _ in range(3):
        assert budget.keep(part) is part
    for _ in range(2):
        budget.keep(part)
    with pytest.raises(UnreadableSourceError, match="stands for more than"):
        budget.keep(part)
