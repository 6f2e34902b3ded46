from typing import Any

import pytest

from environments.core.sources.tool_lists.words import schema_of_words

STRING, INTEGER = {"type": "string"}, {"type": "integer"}


@pytest.mark.parametrize(
    ("words", "schema", "is_optional"),
    [
        ("str", STRING, False),
        ("STRING", STRING, False),
        (" Int ", INTEGER, False),
        ("str, optional", STRING, True),
        ("str, required", STRING, False),
        ("string (optional)", STRING, True),
        ("int, default 5", INTEGER, True),
        ("optional", {}, True),
        ("Optional[str]", STRING, True),
        ("typing.Optional[typing.List[int]]", {"type": "array", "items": INTEGER}, True),
        ("List[str], optional", {"type": "array", "items": STRING}, True),
        ("list<string>", {"type": "array", "items": STRING}, False),
        ("string[]", {"type": "array", "items": STRING}, False),
        ("int[][]", {"type": "array", "items": {"type": "array", "items": INTEGER}}, False),
        ("Tuple[int, int]", {"type": "array", "items": INTEGER}, False),
        ("Tuple[int, ...]", {"type": "array", "items": INTEGER}, False),
        ("Tuple[int, str]", {"type": "array"}, False),
        ("Set", {"type": "array", "uniqueItems": True}, False),
        ("dict", {"type": "object"}, False),
        ("Dict[str, int]", {"type": "object", "additionalProperties": INTEGER}, False),
        ("Dict[str, Any]", {"type": "object"}, False),
        ("Union[int, str]", {"anyOf": [INTEGER, STRING]}, False),
        ("int | None", INTEGER, True),
        ("Union[int, Thing]", {}, False),
        ("Literal['Small', 'LARGE', 3]", {"enum": ["Small", "LARGE", 3]}, False),
        ("Callable[[float], float]", {"type": "string"}, False),
        ("DATE (YYYY-MM-DD)", {"type": "string", "format": "date"}, False),
        ("Any", {}, False),
        ("Thing", {}, False),
        ("", {}, False),
        (None, {}, False),
        (["str"], {}, False),
        ("[" * 200, {}, False),
        ("List[" * 50 + "str" + "]" * 50, None, False),
        ("x" * 400, {}, False),
    ],
)
def test_words_become_a_schema_when_they_are_known(words: Any, schema: Any, is_optional: bool) -> None:
    found = schema_of_words(words)
    assert found[1] is is_optional
    assert schema is None or found[0] == schema
