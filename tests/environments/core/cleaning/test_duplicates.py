import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from environments.core.cleaning import DuplicateIndex
from environments.core.cleaning.duplicates import jaccard
from environments.core.sources.model import Document, Location, Operation, Response
from tests.environments.core.cleaning.operations import TEXT, THING, document, operation, parameter

ROOT = Path(__file__).parents[4]
SEVERAL = tuple(parameter(name) for name in ("state", "since", "until", "sort", "page", "size", "owner", "label"))
THINGS = operation("GET /shop/v1/things", name="listThings", title="List all things of a shop", parameters=SEVERAL)
SHOP = document(title="Shop API v1")


def found(*given: tuple[Operation, Document]) -> list[str | None]:
    index = DuplicateIndex()
    return [index.add(f"code{number}", each, where) for number, (each, where) in enumerate(given)]


def like(base: Operation, key: str = "", **changes: Any) -> Operation:
    values = {name: getattr(base, name) for name in ("name", "title", "description", "parameters", "responses", "body")}
    return operation(key or base.key, **{**values, **changes})


@pytest.mark.parametrize(
    ("other", "where"),
    [
        (THINGS, SHOP),
        (like(THINGS, "GET /shop/v2/things"), document(title="Shop API v2")),  # a version
        (like(THINGS, "GET /shop/v1/things/"), SHOP),
        (like(THINGS, name="list_things"), SHOP),
        (like(THINGS, title="In other words"), SHOP),
        (like(THINGS, parameters=(*SEVERAL, parameter("cursor"))), SHOP),  # 11 of 12 features
        (THINGS, document(title="Another shop", provider="other.org")),  # word for word
    ],
)
def test_an_operation_repeats_another_when_only_little_differs(other: Operation, where: Document) -> None:
    assert found((THINGS, SHOP), (other, where)) == [None, "code0"]


@pytest.mark.parametrize(
    ("other", "where"),
    [
        (like(THINGS, "POST /shop/v1/things"), SHOP),
        (like(THINGS, "GET /shop/v1/boxes"), SHOP),  # the same name at another path
        (like(THINGS, name="findThings"), SHOP),
        (like(THINGS, "GET /things/v1/shop"), SHOP),  # the same words in another order
        (like(THINGS, parameters=SEVERAL[:4]), SHOP),
        (like(THINGS, parameters=tuple(parameter(each.name, type="integer") for each in SEVERAL)), SHOP),
        (
            like(THINGS, title="What a library has on its shelves today"),
            document(title="Library", provider="other.org"),
        ),
        (
            like(THINGS, responses=(Response("200", "a/b", {"type": "array", "items": {"properties": {"x": TEXT}}}),)),
            document(title="Library", provider="other.org"),
        ),
    ],
)
def test_an_operation_stands_for_itself_when_something_tells_it_apart(other: Operation, where: Document) -> None:
    assert found((THINGS, SHOP), (other, where)) == [None, None]


def test_small_operations_of_two_apis_are_kept_when_they_are_alike_by_chance() -> None:
    tags = operation("GET /tags/{id}", name="getTag", title="Get a tag", responses=(Response("200", "a/b", THING),))
    assert found((tags, SHOP), (tags, document(title="Blog", provider="blog.org"))) == [None, None]
    assert found((tags, SHOP), (tags, document(title="Shop API v2"))) == [None, "code0"]
    # Many documents are called `API`.
    assert found((tags, document(title="API")), (tags, document(title="API", provider="blog.org"))) == [None, None]


def test_twins_are_one_when_a_collection_lists_an_action_under_two_methods() -> None:
    twins = [
        operation(f"{method} /#Action=DescribeThings", name=f"{method}_DescribeThings", parameters=SEVERAL)
        for method in ("GET", "POST")
    ]
    assert found(*((twin, SHOP) for twin in twins)) == [None, "code0"]


def test_the_first_is_kept_when_operations_come_in_any_order() -> None:
    old, new = (THINGS, SHOP), (like(THINGS, "GET /shop/v2/things"), document(title="Shop API v2"))
    other = (like(THINGS, name="findThings"), SHOP)
    assert found(old, other, new) == [None, None, "code0"]
    assert found(new, old, other) == [None, "code0", None]
    # What a repeated operation is compared with is what was kept, never what was left out.
    assert len([each for each in found(old, new, old, new) if each is None]) == 1


def test_just_similar_enough_operations_are_found_when_there_are_many_kinds() -> None:
    """MinHash only proposes: at a similarity of 0.9 it must miss next to none."""
    missed = 0
    for number in range(200):
        names = [f"argument{number}x{part}" for part in range(15)]
        one = operation(f"GET /a{number}", name="getA", parameters=tuple(map(parameter, names)))
        other = like(one, parameters=tuple(map(parameter, [*names, "one", "two"])))
        missed += found((one, SHOP), (other, SHOP))[1] is None
    assert missed <= 2


def test_similarity_is_a_share_when_sets_are_compared() -> None:
    assert jaccard(frozenset("abc"), frozenset("abx")) == 0.5
    assert jaccard(frozenset(), frozenset()) == 1.0
    assert jaccard(frozenset("a"), frozenset()) == 0.0


PROGRAM = """
from tests.environments.core.cleaning.test_duplicates import SHOP, found, like, operation, parameter
from environments.core.cleaning import clean
from tests.environments.core.cleaning.operations import document
given = [
    operation(f"GET /a{n % 40}/{{id}}", name=f"get{n % 7}", parameters=tuple(parameter(f"p{m}") for m in range(n % 9)))
    for n in range(300)
]
print(found(*((each, SHOP) for each in given)), clean(document(*given)))
"""


def test_the_result_is_the_same_when_hashes_of_texts_are_salted_otherwise() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "4711")
    }  # fmt: skip
    assert len(outputs) == 1


def test_arguments_count_by_place_when_two_have_one_name() -> None:
    both = (parameter("id", Location.PATH), parameter("id"))
    assert found((like(THINGS, parameters=both), SHOP), (like(THINGS, parameters=both[:1]), SHOP)) == [None, None]
