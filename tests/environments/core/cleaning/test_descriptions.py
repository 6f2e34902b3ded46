from typing import Any

import pytest

from environments.core.cleaning import Coverage, clean
from environments.core.cleaning.descriptions import complete_description, plain_text
from environments.core.sources.model import Location, Operation, Response
from tests.environments.core.cleaning.operations import TEXT, THING, body, document, operation, parameter


@pytest.mark.parametrize(
    ("given", "text", "coverage"),
    [
        (
            operation(title="Look one up"),
            "Look one up. Inputs: id (string, required). Returns object with id, label.",
            (0, 1, 0, 1),
        ),
        (operation(title="Get a thing by its id"), "Get a thing by its id.", (1, 1, 1, 1)),
        (
            operation("GET /things", title="All of them", parameters=()),
            "All of them. It takes no input. Returns object with id, label.",
            (1, 1, 0, 1),
        ),
        (
            operation("DELETE /things/{id}", title="Remove a thing!", responses=(Response("204"),)),
            "Remove a thing! Inputs: id (string, required). Returns nothing that its source describes.",
            (0, 1, 0, 1),
        ),
        (operation(title="Remove by id", responses=()), "Remove by id. Returns nothing.", (1, 1, 0, 1)),
        (
            operation("createOrder", title="", parameters=(), body=body({"type": "array", "items": THING})),
            "Create order. Inputs: body (list of object, required). Returns object with id, label.",
            (0, 1, 0, 1),
        ),
        (
            operation(
                title="Find",
                parameters=(
                    parameter("page", type="integer"),
                    parameter("q", Location.PATH),
                    parameter("since", type="string", format="date"),
                    parameter("state", enum=["a", "b"]),
                ),
                responses=(Response("200", "a/b", {"type": "array", "items": THING}),),
            ),
            "Find. Inputs: q (string, required), page (integer), since (string, date), state (one of 2 values). "
            "Returns list of object with id, label.",
            (0, 1, 0, 1),
        ),
    ],
)
def test_a_description_says_what_goes_in_and_out_when_it_is_completed(
    given: Operation, text: str, coverage: tuple[int, int, int, int]
) -> None:
    found, covered = complete_description(given, {})
    assert found == text
    assert covered == Coverage(1, coverage[0], coverage[1], coverage[2], coverage[3])


def test_all_that_is_required_is_named_when_there_is_much() -> None:
    many = tuple(parameter(f"field{number}", Location.PATH) for number in range(40))
    found, covered = complete_description(operation(title="Do", parameters=(*many, parameter("other"))), {})
    assert "field39 (string, required) and 1 more." in found
    assert covered.inputs_after == 1


def test_a_name_is_found_when_the_text_writes_it_in_words() -> None:
    given = operation(title="Looks up by the order ID.", parameters=(parameter("orderId", Location.PATH),))
    assert complete_description(given, {})[1].inputs_before == 1
    given = operation(title="Looks up by the border idea.", parameters=(parameter("orderId", Location.PATH),))
    assert complete_description(given, {})[1].inputs_before == 0


@pytest.mark.parametrize(
    "definitions",
    [
        {"A": {"type": "array", "items": {"$ref": "#/definitions/A"}}},
        {"A": {"$ref": "#/definitions/A"}},
        {"A": {"allOf": [{"$ref": "#/definitions/A"}]}},
        {},
    ],
)
def test_completion_ends_when_definitions_hold_themselves(definitions: dict[str, Any]) -> None:
    schema = {"$ref": "#/definitions/A"}
    given = operation(parameters=(parameter("a", **schema),), responses=(Response("200", "a/b", schema),))
    assert complete_description(given, definitions)[1].outputs_after == 1


def test_markup_is_taken_out_when_a_description_has_some() -> None:
    assert plain_text("<p>See [the *guide*](https://a.example)\n\n`now`</p>") == "See the guide now"
    assert plain_text("## Use\n**bold** _word_ order_id, C# and #7") == "Use bold word order_id, C# and #7"


def test_coverage_rises_when_a_document_is_cleaned() -> None:
    kept = (
        operation("GET /a", title="All", parameters=(parameter("page"),)),
        operation("GET /b", title="Returns them by page", parameters=(parameter("page"),)),
        operation("GET /c", title="All", parameters=(), responses=(Response("200", "a/b", TEXT),)),
    )
    cleaning = clean(document(*kept, operation("HEAD /d")))
    assert cleaning.coverage == Coverage(3, inputs_before=2, inputs_after=3, outputs_before=1, outputs_after=3)
