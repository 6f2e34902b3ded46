import pytest

from environments.core.cleaning.effects import propose_effect
from environments.core.sources.model import Effect, Hints
from tests.environments.core.cleaning.operations import operation


@pytest.mark.parametrize(
    ("key", "name", "effect", "rule"),
    [
        # The method decides, whatever the words say.
        ("GET /things/delete", "deleteThings", "read", "method"),
        ("PUT /things/search", "getThings", "write", "method"),
        ("PATCH /things/{id}", "listThings", "write", "method"),
        ("DELETE /things/{id}", "getThings", "write", "method"),
        # POST and actions go by the verb, in every order of words.
        ("POST /things/search", "searchThings", "read", "name"),
        ("POST /things", "createThing", "write", "name"),
        ("POST /things", "things_create", "write", "name"),
        ("POST /x", "Things_ListByGroup", "read", "name"),
        ("POST /x", "ThingCreate", "write", "name"),
        ("POST /x", "compute.projects.things.insert", "write", "name"),
        ("POST /x", "dcim_virtual-device-contexts_create", "write", "name"),
        ("POST /x", "pulls/request-reviewers", "write", "name"),
        ("POST /x", "things_bulk_delete", "write", "name"),
        ("POST /x", "batchGetThings", "read", "name"),
        ("POST /v1/{name}:export", "x", "read", "path"),
        ("POST /things/{id}/cancel", "x", "write", "path"),
        ("POST /things/{cancel}", "x", "write", "method"),
        ("POST /things", "post_things", "write", "method"),
        ("POST /things/search", "post_things_search", "read", "name"),
        # AWS names its action behind the address and lists it under both methods.
        ("GET /#Action=TerminateInstances", "GET_TerminateInstances", "write", "name"),
        ("POST /#Action=DescribeInstances", "POST_DescribeInstances", "read", "name"),
        ("POST /#X-Amz-Target=Service.GetUser", "x", "read", "path"),
        ("POST /x?action=deleteThing", "x", "write", "path"),
        ("GET /x?Action=DeleteThing", "x", "write", "path"),
        # Verbs that are nouns as often.
        ("orders_list", "", "read", "name"),
        ("order_search", "", "read", "name"),
        ("orderPizza", "", "write", "name"),
        ("list_orders", "", "read", "name"),
        ("list_add", "", "write", "name"),
        ("report_create", "", "write", "name"),
        ("get_report", "", "read", "name"),
        ("book_search", "", "read", "name"),
        ("book_flight", "", "write", "name"),
        ("return_order", "", "write", "name"),
        ("check_in_passenger", "", "write", "name"),
        ("check_balance", "", "read", "name"),
        ("weather", "", "unknown", ""),
    ],
)
def test_the_effect_follows_method_and_verb_when_there_is_one(key: str, name: str, effect: str, rule: str) -> None:
    assert propose_effect(operation(key, name=name, title="Thing")) == (Effect(effect), rule)


@pytest.mark.parametrize(
    ("title", "description", "effect", "rule"),
    [
        ("Creates an order", "Gets it", "write", "title"),
        ("Search for orders", "", "read", "title"),
        ("Copies them", "", "write", "title"),
        ("", "Returns the weather", "read", "description"),
        ("", "Fetches the weather", "read", "description"),
        ("The weather", "It can delete things", "unknown", ""),
    ],
)
def test_sentences_decide_when_the_name_has_no_verb(title: str, description: str, effect: str, rule: str) -> None:
    found = propose_effect(operation("weather", title=title, description=description))
    assert found == (Effect(effect), rule)


def test_a_hint_decides_only_when_no_verb_does() -> None:
    claims = Hints(read_only=True)
    assert propose_effect(operation("weather", title="", hints=claims)) == (Effect.READ, "hint")
    assert propose_effect(operation("weather", title="", hints=Hints(read_only=False))) == (Effect.WRITE, "hint")
    assert propose_effect(operation("delete_weather", title="", hints=claims)) == (Effect.WRITE, "name")
    assert propose_effect(operation("POST /weather", name="x", title="", hints=claims)) == (Effect.READ, "hint")
