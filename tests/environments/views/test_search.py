"""The search of the top bar: both kinds, counted, each with the way to its own list."""

import re
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from tests.factories.registry import little_version
from tests.factories.sources import openapi_document

pytestmark = pytest.mark.django_db


def sections(response: Any) -> list[str]:
    """The words of each kind's section."""
    assert response.status_code == 200
    parts = re.findall(r'<section class="section">(.*?)</section>', response.content.decode(), re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", " ", part).split()) for part in parts]


def test_finds_environments_and_sources_and_leads_to_their_lists(operator_client: Client) -> None:
    little_version(description="Books, and pets that read.")
    openapi_document()

    response = operator_client.get("/search/", {"q": "PET"})

    assert sections(response) == [
        "Environments All 1 library Library · lending",
        "Sources All 1 Pet shelter https://example.org/pets.json",
    ]
    for address in ("/environments/?q=PET", "/sources/?q=PET"):
        assert f'href="{address}"' in response.content.decode()


def test_says_of_which_kind_there_is_none(operator_client: Client) -> None:
    openapi_document()

    assert sections(operator_client.get("/search/?q=shelter")) == [
        "Environments None holds every word.",
        "Sources All 1 Pet shelter https://example.org/pets.json",
    ]


def test_shows_the_first_of_many_and_counts_all(
    operator_client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(12):
        openapi_document(f"https://example.org/{number}.json")

    with django_assert_max_num_queries(7):  # session, person, unfinished jobs; two for each kind
        response = operator_client.get("/search/?q=example")

    found = sections(response)[1]
    assert found.startswith("Sources All 12 ")
    assert found.count("https://") == 10


@pytest.mark.parametrize("words", ["", "   ", "\0", "x" * 201])
def test_teaches_when_there_is_nothing_to_look_for(operator_client: Client, words: str) -> None:
    response = operator_client.get("/search/", {"q": words})

    assert response.status_code == 200
    assert "Type words into the field above." in response.content.decode()


@pytest.mark.parametrize("words", ["<script>alert(1)</script>", "%", "\\", "'", "\u202e", "a & b = c # d"])
def test_words_are_text_everywhere(operator_client: Client, words: str) -> None:
    response = operator_client.get("/search/", {"q": words})

    assert response.status_code == 200
    assert "<script>alert" not in response.content.decode()
