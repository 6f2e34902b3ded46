"""Which collections become tables."""

from environments.core.compile.inference.resources import core_name
from environments.core.compile.semantics import Kind, TableRole
from tests.environments.core.compile.inference.documents import (
    NUMBER,
    TEXT,
    TIME,
    arguments_of,
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
    ref,
    tool_of,
)

ORDER = obj(("id", "name"), id=TEXT, name=TEXT, total=NUMBER)
SHOP = obj(("id", "name"), id=TEXT, name=TEXT, city=TEXT)
COMMENT = obj(("id", "body"), id=TEXT, body=TEXT, likes=NUMBER)


def test_two_collections_are_one_table_when_noun_and_shape_are_the_same() -> None:
    paths = crud("/orders", ref("Order")) | {
        "GET /customers/{customer_id}/orders": op(array(ref("Order"))),
        **crud("/customers", obj(("id", "name"), id=TEXT, name=TEXT, phone=TEXT), key="customer_id"),
    }
    order = obj(("id", "name"), id=TEXT, name=TEXT, total=NUMBER, customer_id=TEXT)

    blueprint = blueprint_of(paths, {"Order": order})

    assert names_of(blueprint.tables) == {"customers", "orders"}
    assert meaning_of(blueprint, "GET /customers/{customer_id}/orders").table == "orders"


def test_two_tables_stand_when_the_noun_is_the_same_and_the_shape_another() -> None:
    paths = crud("/orders", ORDER) | {
        **crud("/blogs/{blog_id}/orders", obj(("id", "title"), id=TEXT, title=TEXT, sequence=NUMBER, mood=TEXT)),
        **crud("/blogs", obj(("id", "name"), id=TEXT, name=TEXT), key="blog_id"),
    }

    tables = names_of(blueprint_of(paths).tables)

    assert tables == {"orders", "blogs", "blog_orders"}


def test_two_tables_stand_when_one_shape_has_items_below_two_parents() -> None:
    paths = {
        **crud("/shops", SHOP, key="shop_id"),
        **crud("/blogs", obj(("id", "name"), id=TEXT, name=TEXT, theme=TEXT), key="blog_id"),
        **crud("/shops/{shop_id}/comments", ref("Comment"), obj(("body",), body=TEXT)),
        **crud("/blogs/{blog_id}/comments", ref("Comment"), obj(("body",), body=TEXT)),
    }

    blueprint = blueprint_of(paths, {"Comment": COMMENT})

    assert names_of(blueprint.tables) == {"shops", "blogs", "comments", "shop_comments"}
    assert {key.table for key in blueprint.table("comments").foreign_keys} == {"blogs"}
    assert {key.table for key in blueprint.table("shop_comments").foreign_keys} == {"shops"}


def test_one_table_stands_when_only_one_parent_names_its_items() -> None:
    comment = obj(("id", "body"), id=TEXT, body=TEXT, user_id=TEXT)
    paths = {
        **crud("/users", obj(("id", "name"), id=TEXT, name=TEXT), key="user_id"),
        **crud("/shops", SHOP, key="shop_id"),
        **crud("/shops/{shop_id}/comments", ref("Comment"), obj(("body", "user_id"), body=TEXT, user_id=TEXT)),
        "GET /users/{user_id}/comments": op(array(ref("Comment"))),
    }

    blueprint = blueprint_of(paths, {"Comment": comment})

    assert names_of(blueprint.tables) == {"users", "shops", "comments"}
    assert arguments_of(meaning_of(blueprint, "GET /users/{user_id}/comments")) == {"user_id": "scope"}


def test_a_list_is_left_out_when_no_column_holds_its_parent() -> None:
    paths = {
        **crud("/users", obj(("id", "name"), id=TEXT, name=TEXT, age=NUMBER), key="user_id"),
        **crud("/orders", ref("Order")),
        "GET /users/{user_id}/orders": op(array(ref("Order"))),
    }

    assert reasons(compile_document(paths, {"Order": ORDER})) == {"GET /users/{user_id}/orders": "relation_unknown"}


def test_a_collection_is_a_view_when_it_only_lists_rows_of_another_table() -> None:
    paths = crud("/orders", ref("Order")) | {"GET /backlog": op(array(ref("Order")))}

    made = compile_document(paths, {"Order": ORDER})

    assert reasons(made) == {"GET /backlog": "view_of_other_table"}
    assert names_of(made.blueprints[0].tables) == {"orders"}


def test_a_collection_is_a_table_when_it_has_items_of_its_own_shape() -> None:
    archive = obj(("id", "name"), id=TEXT, name=TEXT, reason=TEXT, closed_by=TEXT)
    paths = crud("/orders", ref("Order")) | crud("/archives", archive)

    assert names_of(blueprint_of(paths, {"Order": ORDER}).tables) == {"orders", "archives"}


def test_a_union_is_no_table_when_two_that_create_share_its_noun() -> None:
    pipeline = obj(("id", "name"), id=TEXT, name=TEXT, kind=TEXT)
    paths = {
        **crud("/media_capture_pipelines", obj(("id", "name"), id=TEXT, name=TEXT, source=TEXT, sink=TEXT)),
        **crud("/media_live_pipelines", obj(("id", "name"), id=TEXT, name=TEXT, rate=NUMBER, codec=TEXT)),
        "GET /media_pipelines": op(array(pipeline)),
        "GET /media_pipelines/{id}": op(pipeline),
    }

    made = compile_document(paths)

    assert names_of(made.blueprints[0].tables) == {"media_capture_pipelines", "media_live_pipelines"}
    assert reasons(made) == dict.fromkeys(("GET /media_pipelines", "GET /media_pipelines/{id}"), "view_of_other_table")


def test_a_union_is_a_table_when_it_creates_itself() -> None:
    paths = {
        **crud("/media_capture_pipelines", obj(("id", "name"), id=TEXT, name=TEXT, source=TEXT, sink=TEXT)),
        **crud("/media_live_pipelines", obj(("id", "name"), id=TEXT, name=TEXT, rate=NUMBER, codec=TEXT)),
        **crud("/media_pipelines", obj(("id", "name"), id=TEXT, name=TEXT, stage=TEXT, owner=TEXT)),
    }

    assert "media_pipelines" in names_of(blueprint_of(paths).tables)


def test_an_aspect_is_no_table_when_it_is_only_read() -> None:
    state = obj(("id", "phase"), id=TEXT, phase=TEXT, since=TIME)
    paths = crud("/orders", ORDER) | {"GET /order_statuses": op(array(state)), "GET /order_statuses/{id}": op(state)}

    made = compile_document(paths)

    assert names_of(made.blueprints[0].tables) == {"orders"}
    assert set(reasons(made).values()) == {"view_of_other_table"}


def test_pairs_become_a_link_table_when_members_go_in_and_out_by_their_path() -> None:
    paths = {
        **crud("/teams", obj(("id", "name"), id=TEXT, name=TEXT), key="team_id"),
        **crud("/users", ref("User"), key="user_id"),
        "PUT /teams/{team_id}/users/{user_id}": op(status="204"),
        "DELETE /teams/{team_id}/users/{user_id}": op(status="204"),
        "GET /teams/{team_id}/users": op(array(ref("User"))),
    }

    blueprint = blueprint_of(paths, {"User": obj(("id", "name"), id=TEXT, name=TEXT, email=TEXT)})
    link = blueprint.table("team_users")
    listing = meaning_of(blueprint, "GET /teams/{team_id}/users")

    assert link.role is TableRole.LINK
    assert link.primary_key == ("team_id", "user_id")
    assert [(key.columns, key.table, key.on_delete.value) for key in link.foreign_keys] == [
        (("team_id",), "teams", "cascade"),
        (("user_id",), "users", "cascade"),
    ]
    assert meaning_of(blueprint, "PUT /teams/{team_id}/users/{user_id}").kind is Kind.LINK
    assert meaning_of(blueprint, "DELETE /teams/{team_id}/users/{user_id}").kind is Kind.UNLINK
    assert (listing.table, listing.through.table, listing.through.scope, listing.through.join) == (
        "users",
        "team_users",
        (("team_id", "team_id"),),
        (("user_id", "id"),),
    )


def test_a_link_refuses_pairs_when_an_end_is_not_there() -> None:
    paths = {
        **crud("/teams", obj(("id", "name"), id=TEXT, name=TEXT), key="team_id"),
        **crud("/users", ref("User"), key="user_id"),
        "PUT /teams/{team_id}/users/{user_id}": op(status="204"),
        "DELETE /teams/{team_id}/users/{user_id}": op(status="204"),
        "GET /teams/{team_id}/users": op(array(ref("User"))),
    }

    blueprint = blueprint_of(paths, {"User": obj(("id", "name"), id=TEXT, name=TEXT, email=TEXT)})
    checks = {tool.operation: [check.code for check in tool.meaning.checks] for tool in blueprint.tools}

    assert checks["PUT /teams/{team_id}/users/{user_id}"] == ["team_not_found", "user_not_found"]
    assert checks["DELETE /teams/{team_id}/users/{user_id}"] == ["team_user_not_found"]
    assert checks["GET /teams/{team_id}/users"] == ["team_not_found"]


def test_pairs_are_found_by_what_they_list_when_they_have_another_noun() -> None:
    paths = {
        **crud("/teams", obj(("id", "name"), id=TEXT, name=TEXT), key="team_id"),
        **crud("/users", ref("User"), key="user_id"),
        "PUT /teams/{team_id}/members/{user_id}": op(status="204"),
        "DELETE /teams/{team_id}/members/{user_id}": op(status="204"),
        "GET /teams/{team_id}/members": op(array(ref("User"))),
    }

    blueprint = blueprint_of(paths, {"User": obj(("id", "name"), id=TEXT, name=TEXT, email=TEXT)})

    assert {key.table for key in blueprint.table("team_members").foreign_keys} == {"teams", "users"}
    assert tool_of(blueprint, "PUT /teams/{team_id}/members/{user_id}").name == "add_member_to_team"
    assert tool_of(blueprint, "DELETE /teams/{team_id}/members/{user_id}").name == "remove_member_from_team"
    assert tool_of(blueprint, "GET /teams/{team_id}/members").name == "list_team_members"


def test_pairs_are_left_out_when_one_end_has_no_table() -> None:
    paths = {
        **crud("/teams", obj(("id", "name"), id=TEXT, name=TEXT), key="team_id"),
        "PUT /teams/{team_id}/badges/{badge}": op(status="204"),
        "DELETE /teams/{team_id}/badges/{badge}": op(status="204"),
    }

    assert set(reasons(compile_document(paths)).values()) == {"pair_ends_unknown"}


def test_a_collection_is_a_table_when_putting_a_member_in_takes_a_body() -> None:
    seat = obj(("user_id", "role"), user_id=TEXT, role=enum("admin", "guest"), note=TEXT)
    paths = {
        **crud("/teams", obj(("id", "name"), id=TEXT, name=TEXT), key="team_id"),
        "GET /teams/{team_id}/seats": op(array(seat)),
        "GET /teams/{team_id}/seats/{user_id}": op(seat),
        "PUT /teams/{team_id}/seats/{user_id}": op(seat, body=obj(role=enum("admin", "guest")), status="201"),
        "DELETE /teams/{team_id}/seats/{user_id}": op(status="204"),
    }

    table = blueprint_of(paths).table("seats")

    assert table.role is TableRole.ENTITY
    assert set(columns_of(table)) == {"team_id", "user_id", "role", "note"}


def test_an_answer_shows_no_row_when_it_has_a_single_member_or_is_about_pages() -> None:
    paths = crud("/orders", ORDER) | {
        "GET /pings": op(array(obj(word=TEXT))),
        "GET /pages": op(array(obj(total=NUMBER, page=NUMBER, meta=TEXT))),
    }

    assert reasons(compile_document(paths)) == dict.fromkeys(("GET /pings", "GET /pages"), "resource_has_no_schema")


def test_a_table_takes_the_fuller_shape_when_collections_show_more_or_less() -> None:
    short, full = obj(id=TEXT, name=TEXT), obj(id=TEXT, name=TEXT, total=NUMBER, note=TEXT)
    paths = crud("/orders", ref("OrderDetail")) | {"GET /orders": op(array(ref("OrderSummary")))}

    blueprint = blueprint_of(paths, {"OrderDetail": full, "OrderSummary": short})

    assert list(columns_of(blueprint.table("orders"))) == ["id", "name", "total", "note"]
    assert [shown.column for shown in meaning_of(blueprint, "GET /orders").result.view.properties] == ["id", "name"]
    assert len(meaning_of(blueprint, "GET /orders/{id}").result.view.properties) == 4


def test_core_names_leave_out_words_when_they_only_say_how_a_definition_is_used() -> None:
    assert core_name("OrderResponseV2") == "order"
    assert core_name("MinimalRepository") == "repository"
    assert core_name("CreateOrderRequest") == "create_order"
    assert core_name("Detail") == "detail"
