from typing import Any

import pytest

from environments.core.sources.references import MAX_REFERENCE, References, UnresolvedError
from environments.core.sources.text_values import parse_text

BASE = "https://api.example.org/v1/openapi.json"
ROOT = {
    "a": {"b c": [{"x": 1}, {"x": 2}]},
    "one": {"$ref": "#/two"},
    "two": {"$ref": "#/a/b c/1"},
    "circle": {"$ref": "#/elcric"},
    "elcric": {"$ref": "#/circle"},
    "self": {"$ref": "#/self"},
    "a/b~c": 3,
    "a%2Fb": 4,
    "out": {"$ref": "schemas/pet.yaml#/Pet"},
}
RELATED = {
    "https://api.example.org/v1/schemas/pet.yaml": b"Pet: {type: object}\nTag: {$ref: '../openapi.json#/a'}\n"
    b"Next: {$ref: tag.yaml}\n",
    "https://api.example.org/v1/schemas/tag.yaml": b"type: string\n",
    "broken.json": b'{"a": ',
    "named.json": b'{"x": {"$ref": "#/y"}, "y": 5}',
}


def follow(reference: Any, file: str = "") -> Any:
    return References(ROOT, BASE, RELATED).follow(reference, file)


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ("#/a/b c/0/x", 1),
        ("#/a/b%20c/1/x", 2),
        ("#/a~1b~0c", 3),
        ("#/a%2Fb", 4),
        ("#/one", {"x": 2}),
        ("#", ROOT),
        ("openapi.json#/a/b c/0/x", 1),
        (f"{BASE}#/a/b c/0/x", 1),
        ("schemas/pet.yaml#/Pet", {"type": "object"}),
        ("#/out", {"type": "object"}),
        ("schemas/pet.yaml#/Next", {"type": "string"}),
        ("schemas/pet.yaml#/Tag", ROOT["a"]),
        ("named.json#/x", 5),
    ],
)
def test_a_reference_is_followed_when_it_leads_somewhere(reference: str, value: Any) -> None:
    assert follow(reference).value == value


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("#/none", "leads nowhere"),
        ("#/a/b c/01", "leads nowhere"),
        ("#/a/b c/2", "leads nowhere"),
        ("#/a/b c/-1", "leads nowhere"),
        ("#/a/b c/x", "leads nowhere"),
        ("#/a~1b~0c/0", "leads nowhere"),
        ("#anchor", "no JSON pointer"),
        ("#/circle", "circle"),
        ("#/self", "circle"),
        ("other.json#/a", "was not fetched"),
        ("https://elsewhere.example/a.json", "was not fetched"),
        ("broken.json#/a", "broken.json: "),
        ("http://[a#/b", "is no address"),
        ("#/" + "a/" * MAX_REFERENCE, "too long"),
        (None, "not text"),
        (7, "not text"),
        ({"a": 1}, "not text"),
    ],
)
def test_a_reference_is_unresolved_when_it_leads_nowhere(reference: Any, message: str) -> None:
    references = References(ROOT, BASE, RELATED)
    for _ in range(2):  # the second answer is remembered
        with pytest.raises(UnresolvedError, match=message):
            references.follow(reference, "")


def test_a_relative_reference_starts_from_its_own_file_when_that_was_fetched() -> None:
    target = follow("tag.yaml", "https://api.example.org/v1/schemas/pet.yaml")
    assert target.file == "https://api.example.org/v1/schemas/tag.yaml"
    assert target.value == parse_text(RELATED[target.file])


def test_references_stay_inside_when_a_value_is_added_as_a_file() -> None:
    references = References({"x": 1}, "", {})
    references.add("1/tool", {"x": 2})
    assert references.follow("#/x", "1/tool").value == 2
    assert references.follow("#/x", "").value == 1
