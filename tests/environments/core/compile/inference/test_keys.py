"""Keys, the scope above them and foreign keys."""

import pytest

from environments.core.compile.inference.key_names import key_name, names_other
from environments.core.compile.semantics import ColumnRole, Generated, ValueKind
from tests.environments.core.compile.inference.documents import (
    NUMBER,
    TEXT,
    array,
    blueprint_of,
    columns_of,
    compile_document,
    crud,
    enum,
    meaning_of,
    names_of,
    obj,
    op,
    reasons,
    table_of,
    tool_of,
)

USER = obj(("id", "login"), id=NUMBER, login=TEXT, bio=TEXT)
SHOP = obj(("id", "name"), id=TEXT, name=TEXT, city=TEXT)


# --- Keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "schema", "key"),
    [
        ("user_id", NUMBER, "id"),
        ("user", TEXT, "login"),
        ("user", NUMBER, "id"),
        ("username", TEXT, "login"),
        ("login", TEXT, "login"),
        ("id", TEXT, "id"),
    ],
)
def test_the_key_is_the_member_that_has_the_parameters_type_when_two_could_be_meant(
    parameter: str, schema: dict, key: str
) -> None:
    paths = crud("/users", USER, obj(("login",), login=TEXT, bio=TEXT), key=parameter, key_schema=schema)

    assert table_of(paths).primary_key == (key,)


@pytest.mark.parametrize(
    ("noun", "parameter", "members", "key"),
    [
        ("stores", "storeName", ("name", "tier"), "name"),
        ("calls", "Sid", ("sid", "direction"), "sid"),
        ("calls", "CallSid", ("sid", "direction"), "sid"),
        ("topics", "topicArn", ("arn", "title"), "arn"),
        ("topics", "TopicArn", ("TopicArn", "title"), "topic_arn"),
        ("orders", "orderNumber", ("number", "title"), "number"),
        ("pages", "slug", ("id", "slug"), "slug"),
        ("orders", "order_uuid", ("uuid", "title"), "uuid"),
        ("tasks", "task_gid", ("gid", "title"), "gid"),
    ],
)
def test_the_key_is_the_member_that_the_parameter_names_when_it_is_no_id(
    noun: str, parameter: str, members: tuple[str, ...], key: str
) -> None:
    schema = obj(members, **dict.fromkeys(members, TEXT), note=TEXT)
    paths = crud(f"/{noun}", schema, obj((members[0], members[1]), **dict.fromkeys(members, TEXT)), key=parameter)

    assert table_of(paths).primary_key == (key,)


def test_the_key_is_its_own_column_when_only_the_path_names_the_row() -> None:
    order = obj(("name",), name=TEXT, note=TEXT)
    paths = {
        "GET /orders": op(array(order)),
        "GET /orders/{ticket}": op(order),
        "PUT /orders/{ticket}": op(order, body=obj(("name",), name=TEXT), status="201"),
        "PATCH /orders/{ticket}": op(order, body=obj(("name",), name=TEXT)),
        "DELETE /orders/{ticket}": op(status="204"),
    }

    column = columns_of(table_of(paths))["ticket"]

    assert (column.role, column.path, column.is_required) == (ColumnRole.KEY, (), True)


def test_operations_are_left_out_when_the_path_ends_in_another_things_key() -> None:
    analysis = obj(("id", "name"), id=TEXT, name=TEXT, grade=TEXT)
    paths = {
        **crud("/projects", SHOP, key="project_id"),
        **crud("/analyses", analysis),
        "GET /analyses/{project_id}": op(analysis, path={"project_id": TEXT}),
    }
    del paths["GET /analyses/{id}"]

    made = compile_document(paths)

    assert reasons(made) == {"GET /analyses/{project_id}": "key_parameter_differs"}
    assert made.blueprints[0].table("analyses").primary_key == ("id",)


def test_a_key_has_second_names_when_paths_call_it_differently() -> None:
    paths = crud("/orders", SHOP) | {"GET /orders/{orderId}": op(SHOP), "DELETE /orders/{order_id}": op(status="204")}
    del paths["GET /orders/{id}"], paths["DELETE /orders/{id}"]

    blueprint = blueprint_of(paths)
    keys = {tool.operation: tool.meaning.arguments[0].column for tool in blueprint.tools if "{" in tool.operation}

    assert set(keys.values()) == {"id"}
    assert len(keys) == 3


def test_a_table_is_left_out_when_nothing_names_its_rows() -> None:
    paths = crud("/shops", SHOP) | {"GET /moods": op(array(obj(colour=TEXT, strength=NUMBER)))}

    assert reasons(compile_document(paths)) == {"GET /moods": "resource_has_no_key"}


def test_a_key_is_given_by_the_environment_when_a_creation_does_not_take_it() -> None:
    key = columns_of(table_of(crud("/shops", SHOP)))["id"]

    assert (key.generated, key.comparison) == (Generated.ID, "exempt")


def test_a_key_is_given_by_the_caller_when_a_creation_takes_it() -> None:
    store = obj(("name",), name=TEXT, tier=TEXT)
    paths = crud("/stores", store, obj(("name",), name=TEXT, tier=TEXT), key="name")

    blueprint = blueprint_of(paths)
    codes = [check.code for check in meaning_of(blueprint, "POST /stores").checks]

    assert columns_of(blueprint.tables[0])["name"].generated is None
    assert codes == ["store_exists"]
    assert "name" not in [each.column for each in meaning_of(blueprint, "PATCH /stores/{name}").arguments[1:]]


def test_a_body_may_name_the_row_again_when_its_path_does() -> None:
    shop = obj(("id", "name"), id=TEXT, name=TEXT, city=TEXT)
    paths = crud("/shops", shop) | {"PUT /shops/{id}": op(shop, body=shop)}

    made = compile_document(paths)

    assert reasons(made) == {}
    assert tool_of(made.blueprints[0], "PUT /shops/{id}").dropped == (("id", "given_by_path"),)


# --- Scope ------------------------------------------------------------------------------------------------------------


def nested(schema: dict, body: dict, key: str = "name", key_schema: dict | None = None) -> dict:
    return {
        **crud("/shops", SHOP, key="shop_id"),
        **crud("/shops/{shop_id}/shelves", schema, body, key=key, key_schema=key_schema),
    }


def test_the_key_is_composite_when_people_choose_it_below_a_parent() -> None:
    shelf = obj(("name",), name=TEXT, width=NUMBER)
    table = blueprint_of(nested(shelf, obj(("name",), name=TEXT, width=NUMBER))).table("shelves")

    assert table.primary_key == ("shop_id", "name")
    assert [(key.columns, key.targets, key.on_delete.value) for key in table.foreign_keys] == [
        (("shop_id",), ("id",), "cascade")
    ]
    assert columns_of(table)["shop_id"].role is ColumnRole.SCOPE


def test_the_key_is_global_when_it_is_an_id() -> None:
    shelf = obj(("id", "name"), id=TEXT, name=TEXT)
    table = blueprint_of(nested(shelf, obj(("name",), name=TEXT), "id")).table("shelves")

    assert table.primary_key == ("id",)
    assert columns_of(table)["shop_id"].is_required


def test_the_key_is_global_when_the_environment_numbers_rows_below_a_parent() -> None:
    shelf = obj(("number", "name"), number=NUMBER, name=TEXT)
    table = blueprint_of(nested(shelf, obj(("name",), name=TEXT), "number", NUMBER)).table("shelves")

    assert table.primary_key == ("number",)
    assert columns_of(table)["number"].generated is Generated.ID


def test_the_scope_is_a_member_when_the_answer_shows_the_parent() -> None:
    shelf = obj(("name", "shop_id"), name=TEXT, shop_id=TEXT, width=NUMBER)
    table = blueprint_of(nested(shelf, obj(("name",), name=TEXT, width=NUMBER))).table("shelves")

    assert columns_of(table)["shop_id"].path == ("shop_id",)
    assert len(table.columns) == 3


def test_a_scope_stands_for_itself_when_no_table_is_above() -> None:
    shelf = obj(("name",), name=TEXT, width=NUMBER)
    table = table_of(crud("/zones/{zone}/shelves", shelf, obj(("name",), name=TEXT, width=NUMBER), key="name"))

    assert table.primary_key == ("zone", "name")
    assert table.foreign_keys == ()


def test_scopes_keep_apart_when_every_parameter_is_called_id() -> None:
    part = obj(("name",), name=TEXT, weight=NUMBER)
    paths = {
        **crud("/shops", SHOP, key="id"),
        **crud("/zones", obj(("id", "name"), id=TEXT, name=TEXT), key="id"),
        **crud("/shops/{id}/parts", part, obj(("name",), name=TEXT, weight=NUMBER), key="name"),
        **crud("/zones/{id}/spots", obj(("name",), name=TEXT, depth=NUMBER), obj(("name",), name=TEXT), key="name"),
    }

    blueprint = blueprint_of(paths)

    assert blueprint.table("parts").primary_key == ("shop_id", "name")
    assert blueprint.table("spots").primary_key == ("zone_id", "name")
    assert [key.table for key in blueprint.table("spots").foreign_keys] == ["zones"]


def test_a_bare_parameter_is_the_parents_when_the_row_has_such_a_member_too() -> None:
    shelf = obj(("id", "name"), id=TEXT, name=TEXT, width=NUMBER)
    paths = {
        **crud("/shops", obj(("name",), name=TEXT, city=TEXT), obj(("name",), name=TEXT, city=TEXT), key="name"),
        **crud("/shops/{name}/shelves", shelf, obj(("name",), name=TEXT, width=NUMBER), key="id"),
    }

    table = blueprint_of(paths).table("shelves")

    assert [key.columns for key in table.foreign_keys] == [("shop_name",)]
    assert columns_of(table)["name"].role is ColumnRole.PLAIN


def test_the_path_above_must_agree_when_a_parent_has_a_global_key() -> None:
    part = obj(("name",), name=TEXT, weight=NUMBER)
    paths = {
        **crud("/shops", SHOP, key="shop_id"),
        **crud("/shops/{shop_id}/shelves", obj(("id", "name"), id=TEXT, name=TEXT), key="shelf_id"),
        **crud("/shops/{shop_id}/shelves/{shelf_id}/parts", part, obj(("name",), name=TEXT, weight=NUMBER), key="name"),
    }

    listing = meaning_of(blueprint_of(paths), "GET /shops/{shop_id}/shelves/{shelf_id}/parts")

    assert [(check.code, check.where) for check in listing.checks] == [
        ("shop_not_found", (("id", "shop_id"),)),
        ("shelf_not_found", (("id", "shelf_id"), ("shop_id", "shop_id"))),
    ]


def test_an_owner_without_a_literal_is_a_scope_when_two_parameters_follow_each_other() -> None:
    repo = obj(("name",), name=TEXT, stars=NUMBER)
    paths = {
        "GET /repos": op(array(repo)),
        "GET /repos/{owner}/{repo}": op(repo),
        "PUT /repos/{owner}/{repo}": op(repo, body=obj(stars=NUMBER), status="201"),
        "PATCH /repos/{owner}/{repo}": op(repo, body=obj(stars=NUMBER)),
        "DELETE /repos/{owner}/{repo}": op(status="204"),
    }

    table = table_of(paths)

    assert table.primary_key == ("owner", "name")


def test_an_owner_is_found_inside_the_row_when_an_object_shows_it() -> None:
    repo = obj(("name",), name=TEXT, stars=NUMBER, owner=obj(id=NUMBER, login=TEXT, site=TEXT))
    paths = {
        "GET /repos": op(array(repo)),
        "GET /repos/{owner}/{repo}": op(repo),
        "PUT /repos/{owner}/{repo}": op(repo, body=obj(stars=NUMBER), status="201"),
        "PATCH /repos/{owner}/{repo}": op(repo, body=obj(stars=NUMBER)),
        "DELETE /repos/{owner}/{repo}": op(status="204"),
    }

    table = table_of(paths)

    assert table.primary_key == ("owner_login", "name")
    assert columns_of(table)["owner_login"].path == ("owner", "login")


# --- Foreign keys -----------------------------------------------------------------------------------------------------


def with_shops(**members: object) -> dict:
    order = obj(("id", "name"), id=TEXT, name=TEXT, **members)
    return crud("/orders", order) | crud("/shops", SHOP)


@pytest.mark.parametrize(
    ("member", "schema"),
    [
        ("shop_id", TEXT),
        ("shopId", TEXT),
        ("shopUuid", TEXT),
        ("home_shop_id", TEXT),
        ("shop", {"type": "string", "description": "The id of the shop."}),
    ],
)
def test_a_column_points_to_a_table_when_it_is_named_after_it(member: str, schema: dict) -> None:
    table = blueprint_of(with_shops(**{member: schema})).table("orders")

    assert [key.table for key in table.foreign_keys] == ["shops"]


@pytest.mark.parametrize(
    ("member", "schema"),
    [
        ("shop", {"type": "string", "description": "Its name."}),
        ("shop_id", NUMBER),
        ("shop_arn", TEXT),
        ("shop_name", TEXT),
        ("workshop_id", TEXT),
        ("shop_id", enum("a", "b")),
        ("shop_ids", array(TEXT)),
    ],
    ids=["its name", "other type", "arn", "no key", "other noun", "enum", "several"],
)
def test_a_column_points_nowhere_when_it_cannot_hold_the_key(member: str, schema: dict) -> None:
    assert blueprint_of(with_shops(**{member: schema})).table("orders").foreign_keys == ()


def test_a_column_points_to_its_own_table_when_it_is_a_parent() -> None:
    table = table_of(crud("/folders", obj(("id", "name"), id=TEXT, name=TEXT, parent_id=TEXT)))

    assert [(key.columns, key.table) for key in table.foreign_keys] == [(("parent_id",), "folders")]


def test_a_column_is_no_reference_when_it_is_the_rows_own_id_again() -> None:
    folder = obj(("id", "name"), id=TEXT, name=TEXT, folder_id=TEXT)

    assert table_of(crud("/folders", folder)).foreign_keys == ()


def test_no_circle_is_made_when_two_tables_point_to_each_other() -> None:
    paths = crud("/orders", obj(("id", "name"), id=TEXT, name=TEXT, shop_id=TEXT)) | crud(
        "/shops", obj(("id", "name"), id=TEXT, name=TEXT, order_id=TEXT)
    )

    blueprint = blueprint_of(paths)

    assert sum(len(table.foreign_keys) for table in blueprint.tables) == 1
    assert {"shop_id", "order_id"} <= {column.name for table in blueprint.tables for column in table.columns}


def test_a_circle_is_broken_elsewhere_when_one_of_its_parts_is_a_path() -> None:
    paths = {
        **crud("/shops", obj(("id", "name"), id=TEXT, name=TEXT, shelf_id=TEXT), key="shop_id"),
        **crud("/shops/{shop_id}/shelves", obj(("id", "name"), id=TEXT, name=TEXT), key="shelf_id"),
    }

    blueprint = blueprint_of(paths)

    assert [key.table for key in blueprint.table("shelves").foreign_keys] == ["shops"]
    assert blueprint.table("shops").foreign_keys == ()


def test_a_foreign_key_is_composite_when_the_parents_key_is() -> None:
    shelf = obj(("name",), name=TEXT, width=NUMBER)
    part = obj(("code",), code=TEXT, weight=NUMBER)
    paths = nested(shelf, obj(("name",), name=TEXT, width=NUMBER), "shelf_name") | crud(
        "/shops/{shop_id}/shelves/{shelf_name}/parts", part, obj(("code",), code=TEXT, weight=NUMBER), key="code"
    )

    table = blueprint_of(paths).table("parts")

    assert table.primary_key == ("shop_id", "shelf_name", "code")
    assert (("shop_id", "shelf_name"), "shelves", ("shop_id", "name")) in [
        (key.columns, key.table, key.targets) for key in table.foreign_keys
    ]


def test_a_plain_column_points_nowhere_when_the_others_key_is_composite() -> None:
    shelf = obj(("name",), name=TEXT, width=NUMBER)
    order = obj(("id", "name"), id=TEXT, name=TEXT, shelf_name=TEXT)
    paths = nested(shelf, obj(("name",), name=TEXT, width=NUMBER), "shelf_name") | crud("/orders", order)

    assert blueprint_of(paths).table("orders").foreign_keys == ()


def test_foreign_keys_agree_when_they_share_a_column() -> None:
    part = obj(("code",), code=TEXT, weight=NUMBER)
    paths = nested(obj(("name",), name=TEXT, width=NUMBER), obj(("name",), name=TEXT, width=NUMBER), "shelf_name")
    paths |= crud("/shops/{shop_id}/shelves/{shelf_name}/parts", part, obj(("code",), code=TEXT), key="code")

    keys = {key.table: key.columns for key in blueprint_of(paths).table("parts").foreign_keys}

    # Both may stand, since a shelf points to the shop of its part.
    assert keys == {"shops": ("shop_id",), "shelves": ("shop_id", "shelf_name")}


def test_rows_below_a_parent_go_with_it_and_others_keep_it_when_it_is_deleted() -> None:
    shelf = obj(("id", "name"), id=TEXT, name=TEXT)
    paths = nested(shelf, obj(("name",), name=TEXT), "shelf_id") | {
        **crud("/orders", obj(("id", "name", "shop_id"), id=TEXT, name=TEXT, shop_id=TEXT),
               obj(("name", "shop_id"), name=TEXT, shop_id=TEXT)),
        **crud("/notes", obj(("id", "name"), id=TEXT, name=TEXT, shop_id=TEXT)),
    }  # fmt: skip

    blueprint = blueprint_of(paths)
    found = {table.name: [key.on_delete.value for key in table.foreign_keys] for table in blueprint.tables}
    in_use = [check for check in meaning_of(blueprint, "DELETE /shops/{shop_id}").checks if "in_use" in check.code]

    assert found == {"shops": [], "shelves": ["cascade"], "orders": ["restrict"], "notes": ["set_null"]}
    assert [(check.code, check.table, check.where) for check in in_use] == [
        ("shop_in_use", "orders", (("shop_id", "shop_id"),))
    ]


def test_an_embedded_row_points_nowhere_when_it_does_not_show_the_others_key() -> None:
    user = obj(("id", "login"), id=NUMBER, login=TEXT, bio=TEXT)
    short = obj(id=NUMBER, avatar=TEXT)
    paths = crud("/orders", obj(("id", "name"), id=TEXT, name=TEXT, user=short)) | crud(
        "/users", user, obj(("login",), login=TEXT), key="username"
    )

    table = blueprint_of(paths).table("orders")

    assert table.foreign_keys == ()
    assert columns_of(table)["user_id"].kind is ValueKind.INTEGER


def test_a_reference_is_checked_when_a_call_sets_it() -> None:
    order = obj(("id", "name"), id=TEXT, name=TEXT, shop_id=TEXT)
    paths = crud("/orders", order, obj(("name",), name=TEXT, shop_id=TEXT)) | crud("/shops", SHOP)

    blueprint = blueprint_of(paths)

    assert [check.code for check in meaning_of(blueprint, "POST /orders").checks] == ["shop_not_found"]
    assert [check.code for check in meaning_of(blueprint, "PATCH /orders/{id}").checks] == [
        "order_not_found",
        "shop_not_found",
    ]


def test_two_references_have_codes_of_their_own_when_they_lead_to_one_table() -> None:
    order = obj(("id", "name"), id=TEXT, name=TEXT, home_shop_id=TEXT, next_shop_id=TEXT)
    body = obj(("name",), name=TEXT, home_shop_id=TEXT, next_shop_id=TEXT)

    codes = [
        check.code
        for check in meaning_of(
            blueprint_of(crud("/orders", order, body) | crud("/shops", SHOP)), "POST /orders"
        ).checks
    ]

    assert len(codes) == 2
    assert len(set(codes)) == 2


def test_tables_without_tools_stay_when_a_path_needs_them() -> None:
    shelf = obj(("name",), name=TEXT, width=NUMBER)
    paths = nested(shelf, obj(("name",), name=TEXT, width=NUMBER))
    paths = {key: paths[key] for key in paths if "shelves" in key} | {"GET /shops/{shop_id}": op(SHOP)}

    assert names_of(blueprint_of(paths).tables) == {"shops", "shelves"}


# --- Names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "noun", "members", "expected"),
    [
        ("orderId", "order", ("id", "name"), "id"),
        ("order", "order", ("name", "id"), "id"),
        ("id_or_slug", "order", ("slug",), "slug"),
        ("orderName", "order", ("name",), "name"),
        ("order_code", "order", ("code",), "code"),
        ("ServerArn", "file_server", ("arn",), "arn"),
        ("colour", "order", ("id", "name"), None),
    ],
)
def test_a_parameter_names_the_likeliest_member_when_it_is_no_name_of_one(
    parameter: str, noun: str, members: tuple[str, ...], expected: str | None
) -> None:
    assert key_name(parameter, noun, {each: each for each in members}) == expected


def test_a_parameter_names_another_thing_when_that_has_its_noun() -> None:
    nouns = {"project", "analysis", "pipeline", "media_pipeline"}

    assert names_other("project_id", "analysis", nouns)
    assert not names_other("analysis_id", "analysis", nouns)
    assert not names_other("pipeline_id", "media_pipeline", nouns)
    assert not names_other("colour_id", "analysis", nouns)


def test_an_embedded_row_points_nowhere_when_its_key_is_of_another_kind() -> None:
    order = obj(("id", "name"), id=TEXT, name=TEXT, shop=obj(id=NUMBER, label=TEXT))

    assert blueprint_of(crud("/orders", order) | crud("/shops", SHOP)).table("orders").foreign_keys == ()
