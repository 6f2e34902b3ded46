"""Sizes of environments."""

import pytest

from environments.core.compile.inference import compile_operations
from environments.core.compile.semantics import MAX_TABLES, MAX_TOOLS, Compilation
from tests.environments.core.compile.inference.consistency import faults_of
from tests.environments.core.compile.inference.documents import (
    NUMBER,
    TEXT,
    array,
    compile_document,
    crud,
    enum,
    names_of,
    obj,
    op,
    reasons,
    ref,
    sourced,
)

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def thing(number: int, **members: object) -> dict:
    """A shape that no other number has."""
    return obj(("id", "name"), id=TEXT, name=TEXT, **{f"size_{LETTERS[number % 26]}{number}": NUMBER}, **members)


def many(count: int, noun: str = "things") -> dict:
    """Collections that have nothing to do with each other."""
    return {
        key: each
        for number in range(count)
        for key, each in crud(f"/{LETTERS[number % 26]}{LETTERS[number // 26]}_{noun}", thing(number)).items()
    }


def sizes(made: Compilation) -> list[int]:
    return [len(blueprint.tools) for blueprint in made.blueprints]


def test_a_large_document_is_cut_when_it_has_more_tools_than_an_environment() -> None:
    made = compile_document(many(30))

    assert sum(sizes(made)) == 150
    assert all(30 <= size <= MAX_TOOLS for size in sizes(made))


@pytest.mark.parametrize("target", [10, 25, 50])
def test_environments_come_close_to_a_target_when_there_is_one(target: int) -> None:
    made = compile_document(many(30), target=target)

    assert sum(sizes(made)) == 150
    assert all(target <= size <= target + target // 5 for size in sizes(made)[:-1])


def test_a_target_is_bounded_when_it_is_larger_than_an_environment_may_be() -> None:
    assert max(sizes(compile_document(many(30), target=500))) <= MAX_TOOLS


def test_tables_stay_together_when_foreign_keys_join_them() -> None:
    paths = many(12)
    paths |= crud("/zz_orders", thing(90, aa_thing_id=TEXT))

    made = compile_document(paths)
    home = next(each for each in made.blueprints if "zz_orders" in names_of(each.tables))

    assert "aa_things" in names_of(home.tables)
    assert [key.table for key in home.table("zz_orders").foreign_keys] == ["aa_things"]


def test_a_column_is_plain_when_its_table_is_in_another_environment() -> None:
    # Thirty collections that all point to one: too many for one environment.
    paths = crud("/hubs", obj(("id", "name"), id=TEXT, name=TEXT, city=TEXT))
    for number in range(30):
        paths |= crud(f"/{LETTERS[number % 26]}{LETTERS[number // 26]}_things", thing(number, hub_id=TEXT))

    made = compile_document(paths)

    assert len(made.blueprints) > 1
    for blueprint in made.blueprints:
        has_hub = "hubs" in names_of(blueprint.tables)
        keys = [key for table in blueprint.tables for key in table.foreign_keys]
        assert bool(keys) is has_hub
        assert all(
            "hub_id" in [column.name for column in table.columns] for table in blueprint.tables if table.name != "hubs"
        )


def test_a_parent_comes_along_without_tools_when_its_children_are_elsewhere() -> None:
    paths = crud("/hubs", obj(("id", "name"), id=TEXT, name=TEXT, city=TEXT), key="hub_id")
    for number in range(30):
        noun = f"{LETTERS[number % 26]}{LETTERS[number // 26]}_things"
        paths |= crud(f"/hubs/{{hub_id}}/{noun}", thing(number))

    made = compile_document(paths)
    alone = [each for each in made.blueprints if not each.table("hubs").has_tools]

    assert alone
    for blueprint in alone:
        assert [column.name for column in blueprint.table("hubs").columns] == ["id"]
        assert all(len(table.foreign_keys) == 1 for table in blueprint.tables if table.name != "hubs")


def test_an_environment_has_twenty_tables_at_most_when_each_has_few_tools() -> None:
    paths: dict = {}
    for number in range(45):
        noun, schema = f"{LETTERS[number % 26]}{LETTERS[number // 26]}_things", thing(number)
        paths |= {f"GET /{noun}": op(array(schema)), f"DELETE /{noun}/{{id}}": op(status="204")}

    made = compile_document(paths)

    assert sum(sizes(made)) == 90
    assert all(len(blueprint.tables) <= MAX_TABLES for blueprint in made.blueprints)


def test_small_services_are_pooled_when_they_are_of_one_provider() -> None:
    one, other = thing(1), thing(2)
    left = sourced({"GET /ones": op(array(one)), "POST /ones": op(one, body=one), "GET /ones/{id}": op(one)}, title="A")
    right = sourced({"GET /others": op(array(other)), "DELETE /others/{id}": op(status="204")}, title="B")

    made = compile_operations([*left, *right])

    assert sizes(made) == [5]
    assert made.left_out == ()


def test_small_services_stay_apart_when_their_providers_differ() -> None:
    one, other = thing(1), thing(2)
    left = sourced({"GET /ones": op(array(one)), "POST /ones": op(one, body=one), "GET /ones/{id}": op(one)})
    right = sourced({"GET /others": op(array(other)), "DELETE /others/{id}": op(status="204")}, provider="b.example")

    made = compile_operations([*left, *right])

    assert made.blueprints == ()
    assert set(reasons(made).values()) == {"environment_too_small"}


def test_every_operation_is_accounted_for_when_one_table_has_too_many_tools() -> None:
    parts = {f"part_{number}": TEXT for number in range(MAX_TOOLS - 12)}
    schema = obj(("id", "name"), id=TEXT, name=TEXT, **parts)
    paths = crud("/things", ref("Thing"))
    for part in parts:
        paths[f"GET /things/{part}/{{{part}}}"] = op(array(ref("Thing")))
    for verb, value in (("cancel", "cancelled"), ("close", "closed"), ("pause", "paused"), ("approve", "approved")):
        paths[f"POST /things/{{id}}/{verb}"] = op(ref("Thing"))
        schema["properties"].setdefault("status", enum("new", "pending"))["enum"].append(value)
    for number in range(8):
        paths[f"POST /things/{{id}}/update_thing_{number}"] = op(ref("Thing"), body=obj(name=TEXT))
    paths["POST /things/{id}/update"] = op(ref("Thing"), body=obj(name=TEXT))
    paths["PUT /things/{id}"] = op(ref("Thing"), body=obj(name=TEXT))
    paths["GET /things/count"] = op(obj(count=NUMBER))
    paths["GET /things/ids"] = op(array(TEXT))
    operations = sourced(paths, {"Thing": schema})

    made = compile_operations(operations)

    assert faults_of(made, operations) == []
    assert all(size <= MAX_TOOLS for size in sizes(made))
