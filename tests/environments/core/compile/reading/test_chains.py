import pytest

from environments.core.compile.reading.calls import Act
from environments.core.compile.reading.chains import chain_of
from environments.core.compile.reading.errors import UnreadOperationError
from environments.core.compile.reading.families import PLAIN, Family, family_named
from environments.core.compile.reading.reasons import READING_REASONS
from environments.core.sources.model import Location, Operation, Parameter
from tests.environments.core.compile.reading.operations import operation


def steps_of(key: str, name: str = "", family: Family = PLAIN) -> tuple[list[tuple[str, str | None]], Act, str]:
    chain = chain_of(operation(key, name=name), family)
    return [(step.literal, step.parameter) for step in chain.steps], chain.act, chain.verb


@pytest.mark.parametrize(
    ("key", "steps", "act", "verb"),
    [
        ("GET /api/v1/users", [("users", None)], Act.COLLECTION, ""),
        ("GET /2010-04-01/Accounts/{Sid}.json", [("accounts", "Sid")], Act.ITEM, ""),
        ("GET /disputes/v1/{id}", [("disputes", "id")], Act.ITEM, ""),
        ("GET /dns/v2/projects/{p}/managedZones", [("projects", "p"), ("managed_zones", None)], Act.COLLECTION, ""),
        ("GET /{format}/Stadiums", [("stadiums", None)], Act.COLLECTION, ""),
        ("GET /repos/{owner}/{repo}/issues", [("", "owner"), ("repos", "repo"), ("issues", None)], Act.COLLECTION, ""),
        ("POST /orders/{id}/cancel", [("orders", "id")], Act.ACTION, "cancel"),
        ("POST /orders/{id}:cancel", [("orders", "id")], Act.ACTION, "cancel"),
        ("POST /orders/{id}/cancelOrder", [("orders", "id")], Act.ACTION, "cancel"),
        ("POST /users/{id}/lifecycle/activate", [("users", "id")], Act.ACTION, "activate"),
        ("POST /invoices/{id}/mark-as-paid", [("invoices", "id")], Act.ACTION, "pay"),
        ("PUT /apps/{id}/suspended", [("apps", "id")], Act.ACTION, "suspend"),
        ("DELETE /issues/{id}/lock", [("issues", "id")], Act.ACTION, "unlock"),
        ("POST /unarchive/coupon/{code}", [("coupon", "code")], Act.ACTION, "unarchive"),
        ("GET /users/search", [("users", None)], Act.LIST, ""),
        ("GET /search/users", [("users", None)], Act.LIST, ""),
        ("GET /apps/textSearch", [("apps", None)], Act.LIST, ""),
        ("GET /orders/count.json", [("orders", None)], Act.COUNT, ""),
        ("GET /users/{id}/messages/$count", [("users", "id"), ("messages", None)], Act.COUNT, ""),
        ("POST /orders/create", [("orders", None)], Act.CREATE, ""),
        ("POST /orders/createOrder", [("orders", None)], Act.CREATE, ""),
        ("POST /users/{id}/edit", [("users", "id")], Act.UPDATE, ""),
        ("DELETE /users/delete/{id}", [("users", "id")], Act.ITEM, ""),
        ("POST /delete/user/{id}", [("user", "id")], Act.DELETE, ""),
        ("GET /accounts/{id}/getOrders", [("accounts", "id"), ("orders", None)], Act.COLLECTION, ""),
        ("GET /pets/findByStatus", [("pets", None)], Act.LIST, ""),
        ("GET /pets/by_owner/{owner}", [("pets", None)], Act.GET, ""),
        ("GET /things({id})", [("things", "id")], Act.ITEM, ""),
        ("GET /commits/{ref}/check-suites", [("commits", "ref"), ("check_suites", None)], Act.COLLECTION, ""),
        ("POST /createOrder", [("orders", None)], Act.CREATE, ""),
        ("POST /conversations.archive", [("conversations", None)], Act.ACTION, "archive"),
        ("GET /rest?method=flickr.photos.getSizes", [("flickr_photos_sizes", None)], Act.GET, ""),
    ],
)
def test_a_path_says_where_and_what(key: str, steps: list[tuple[str, str | None]], act: Act, verb: str) -> None:
    assert steps_of(key) == (steps, act, verb)


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("GET /", "no_resource_in_path"),
        ("GET /{id}", "no_resource_in_path"),
        ("GET /a/{b}-{c}", "complex_path_segment"),
        ("GET /b/{bucket}#acl", "path_fragment"),
        ("HEAD /orders", "method_unknown"),
        ("GET /orders/{id}/cancel", "verb_in_path"),
        ("DELETE /orders/{id}/send", "verb_in_path"),
        ("POST /orders/check_availability", "verb_in_path"),
        ("POST /users/{id}/create", "verb_in_path"),
        ("POST /batch/users", "verb_in_path"),
        ("GET /reports/microsoft.graph.top(n={n})", "function_call"),
        ("GET /owners/microsoft.graph.device", "type_cast"),
        ("POST /things:batchGet", "bulk_operation"),
    ],
)
def test_what_is_not_certain_has_a_reason(key: str, reason: str) -> None:
    with pytest.raises(UnreadOperationError) as caught:
        steps_of(key)
    assert caught.value.reason == reason
    assert reason in READING_REASONS


@pytest.mark.parametrize(
    ("key", "name", "steps", "act", "verb"),
    [
        ("GET /v1/{name}", "pubsub.projects.topics.get", [("projects", None), ("topics", "name")], Act.ITEM, ""),
        ("GET /v1/{+parent}/topics", "pubsub.projects.topics.list", [("projects", "parent"), ("topics", None)],
         Act.COLLECTION, ""),
        ("POST /v1/{name}:cancel", "svc.projects.jobs.cancel", [("projects", None), ("jobs", "name")], Act.ACTION,
         "cancel"),
        ("POST /projects/{p}/instances/{i}/setTags", "compute.instances.setTags",
         [("projects", "p"), ("instances", "i")], Act.ACTION, "set_tags"),
        ("PUT /projects/{p}/locks/{lock}", "svc.locks.update", [("projects", "p"), ("locks", "lock")], Act.ITEM, ""),
    ],
)  # fmt: skip
def test_google_names_say_what_whole_names_stand_for(
    key: str, name: str, steps: list[tuple[str, str | None]], act: Act, verb: str
) -> None:
    assert steps_of(key, name, family_named("google")) == (steps, act, verb)


@pytest.mark.parametrize(
    ("key", "name", "reason"),
    [
        ("GET /v1/{name}", "svc.projects.getAttributes", "path_and_name_differ"),
        ("DELETE /v1/{name}/events", "svc.projects.deleteEvents", "path_and_name_differ"),
        ("GET /projects/{p}/networks/{n}/getEffectiveFirewalls", "svc.networks.getEffectiveFirewalls", "verb_in_path"),
    ],
)
def test_google_paths_that_their_name_contradicts_are_left_out(key: str, name: str, reason: str) -> None:
    with pytest.raises(UnreadOperationError, match=reason):
        steps_of(key, name, family_named("google"))


@pytest.mark.parametrize(
    ("key", "name", "steps", "act"),
    [
        ("POST /#X-Amz-Target=Logs_2014.DescribeLogGroups", "DescribeLogGroups", [("log_groups", None)], Act.GET),
        ("POST /#Action=ModifyDBInstance", "POST_ModifyDBInstance", [("db_instances", None)], Act.UPDATE),
        ("POST /bots/{id}/list", "ListBotAliases", [("bots", "id")], Act.LIST),
        ("POST /update-connector-profile", "UpdateConnectorProfile", [("connector_profiles", None)], Act.UPDATE),
        ("PUT /apps/{app}", "UpdateApp", [("apps", "app")], Act.UPDATE),
        ("GET /apps/{app}", "GetApp", [("apps", "app")], Act.ITEM),
        ("POST /deleteapp#app", "DeleteApp", [("apps", None)], Act.DELETE),
        ("POST /#X-Amz-Target=X.AddTagsToStream", "AddTagsToStream", [("streams", None), ("tags", None)], Act.ADD),
    ],
)
def test_aws_names_say_what(key: str, name: str, steps: list[tuple[str, str | None]], act: Act) -> None:
    given = operation(key, name=name, query={"app": {"type": "string"}})
    chain = chain_of(given, family_named("aws"))
    assert ([(step.literal, step.parameter) for step in chain.steps], chain.act) == (steps, act)


def test_azure_providers_are_off_the_path_and_post_acts() -> None:
    key = "POST /subscriptions/{s}/providers/Microsoft.Web/certificateOrders/{o}/reissue"

    steps, act, verb = steps_of(key, family=family_named("azure"))

    assert steps == [("subscriptions", "s"), ("certificate_orders", "o")]
    assert (act, verb) == (Act.ACTION, "reissue")


@pytest.mark.parametrize(
    ("name", "steps", "act", "verb", "method"),
    [
        ("create_order", [("orders", None)], Act.CREATE, "", "POST"),
        ("listOrders", [("orders", None)], Act.LIST, "", "GET"),
        ("get_user_details", [("users", None)], Act.GET, "", "GET"),
        ("cancelOrder", [("orders", None)], Act.ACTION, "cancel", "POST"),
        ("order_delete", [("orders", None)], Act.DELETE, "", "DELETE"),
        ("add_member_to_group", [("groups", None), ("members", None)], Act.ADD, "add", "POST"),
        ("remove_tag_from_post", [("posts", None), ("tags", None)], Act.REMOVE, "remove", "DELETE"),
        ("list_tags_for_resource", [("tags", None)], Act.LIST, "", "GET"),
    ],
)
def test_tools_are_read_by_their_name(
    name: str, steps: list[tuple[str, str | None]], act: Act, verb: str, method: str
) -> None:
    chain = chain_of(Operation(name, name, parameters=(Parameter("id", Location.ARGUMENT, True, {}),)), PLAIN)

    assert [(step.literal, step.parameter) for step in chain.steps] == steps
    assert (chain.act, chain.verb, chain.method, chain.is_rpc) == (act, verb, method, True)


@pytest.mark.parametrize("name", ["frobnicate", "weather", "search", "batch_delete_users"])
def test_tools_without_a_known_verb_and_noun_are_left_out(name: str) -> None:
    with pytest.raises(UnreadOperationError):
        chain_of(Operation(name, name), PLAIN)
