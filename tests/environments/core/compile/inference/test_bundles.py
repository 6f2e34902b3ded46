"""Which documents are compiled together."""

from typing import Any

from environments.core.compile.inference import compile_operations
from environments.core.compile.inference.bundles import documents_of, newest, services
from tests.environments.core.compile.inference.documents import (
    NUMBER,
    TEXT,
    array,
    crud,
    names_of,
    obj,
    op,
    sourced,
)

SHOP = obj(("id", "name"), id=TEXT, name=TEXT, city=TEXT)
SHOPS = crud("/shops", SHOP)


def versions(*given: tuple[str, dict[str, Any], str]) -> tuple[list[str], list[str]]:
    """Versions that stay, and those that are older, of documents (version, paths, address)."""
    operations = [
        each
        for version, paths, address in given
        for each in sourced(paths, version=version, address=f"https://shop.example/{address}.json")
    ]
    kept, older = newest(documents_of(operations))
    return [each.facts.version for each in kept], [each.facts.version for each, _ in older]


def test_the_newest_stays_when_documents_have_the_same_operations() -> None:
    assert versions(("1.9.0", SHOPS, "a"), ("1.10.0", SHOPS, "b")) == (["1.10.0"], ["1.9.0"])


def test_a_release_stays_when_a_later_preview_is_there() -> None:
    given = ("2020-01-01", SHOPS, "a"), ("2021-01-01-preview", SHOPS, "b")

    assert versions(*given) == (["2020-01-01"], ["2021-01-01-preview"])


def test_versions_in_paths_count_for_nothing_when_documents_are_compared() -> None:
    later = {key.replace("/shops", "/api/v2/shops").replace("{id}", "{shop}"): each for key, each in SHOPS.items()}

    assert versions(("1", SHOPS, "a"), ("2", later, "b")) == (["2"], ["1"])


def test_both_stay_when_less_than_most_operations_are_shared() -> None:
    other = {**crud("/users", SHOP), "GET /shops": SHOPS["GET /shops"], "POST /shops": SHOPS["POST /shops"]}

    assert versions(("1", SHOPS, "a"), ("2", other, "b"))[1] == []


def test_a_single_shared_operation_says_nothing_when_documents_are_small() -> None:
    one = {"GET /ping": op(obj(word=TEXT))}

    assert versions(("1", one, "a"), ("2", one | {"GET /pong": op(obj(word=TEXT))}, "b"))[1] == []


def test_documents_of_other_providers_are_no_versions_when_they_say_the_same() -> None:
    one, other = sourced(SHOPS, title="A", provider="a.example"), sourced(SHOPS, title="B", provider="b.example")

    made = compile_operations([*one, *other])

    assert [blueprint.provider for blueprint in made.blueprints] == ["a.example", "b.example"]


def test_siblings_are_one_environment_when_they_have_one_title() -> None:
    shelf = obj(("id", "name"), id=TEXT, name=TEXT, shop_id=TEXT)
    one = sourced(SHOPS, title="Shop API", address="https://shop.example/shops.json")
    other = sourced(crud("/shelves", shelf), title="Shop API", address="https://shop.example/shelves.json")

    made = compile_operations([*one, *other])

    assert len(made.blueprints) == 1
    assert names_of(made.blueprints[0].tables) == {"shops", "shelves"}
    assert [key.table for key in made.blueprints[0].table("shelves").foreign_keys] == ["shops"]
    assert len(made.blueprints[0].sources) == 2


def test_siblings_are_apart_when_their_titles_differ() -> None:
    one = sourced(SHOPS, title="Shops")
    other = sourced(crud("/users", obj(("id", "name"), id=TEXT, name=TEXT, age=NUMBER)), title="Users")

    assert [title for title, _ in services(documents_of([*one, *other]))] == ["Shops", "Users"]
    assert len(compile_operations([*one, *other]).blueprints) == 2


def test_siblings_are_one_service_when_their_paths_have_one_namespace() -> None:
    base = "/subscriptions/{sub}/providers/Microsoft.Shop"
    one = sourced({f"GET {base}/stores": op(array(SHOP))}, title="StoreClient", provider="azure.com")
    other = sourced({f"GET {base}/shelves": op(array(SHOP))}, title="ShelfClient", provider="azure.com")

    found = services(documents_of([*one, *other]))

    assert [(title, len(documents)) for title, documents in found] == [("Shop", 2)]


def test_documents_are_in_one_order_when_operations_come_in_any() -> None:
    operations = [*sourced(SHOPS, title="B"), *sourced(crud("/users", SHOP), title="A")]

    there = documents_of(operations)
    back = documents_of(reversed(operations))

    assert [each.facts for each in there] == [each.facts for each in back]
