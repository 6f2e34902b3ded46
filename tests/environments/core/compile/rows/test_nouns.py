"""What things are called."""

import re

import pytest

from environments.core.compile.rows.noun_families import FAMILIES, Style
from environments.core.compile.rows.nouns import is_person, names_for, numbered, slug, style_of
from environments.core.compile.rows.pools import PLACES, companies, people

WORDS = re.compile(r"[A-Za-z]")


def test_there_are_sixty_families_with_a_dozen_names_each():
    assert len(FAMILIES) >= 60
    for family in FAMILIES:
        if family.style not in (Style.PERSON, Style.COMPANY):
            assert len(set(family.names)) == len(family.names) >= 12, family.nouns[:3]
            assert all(WORDS.search(name) or name[0].isdigit() for name in family.names)


@pytest.mark.parametrize(
    ("noun", "name"),
    [
        ("album", "Paper Lanterns"), ("repository", "billing-service"), ("campaign", "Spring Newsletter"),
        ("warehouse", "Warehouse North"), ("virtual_machine", "web-01"), ("support_ticket", "Slow search results"),
        ("policies", "Remote access"), ("storage_bucket", "invoice-archive"), ("location_rule", "Remote access"),
    ],
)  # fmt: skip
def test_nouns_find_their_family(noun, name):
    assert name in names_for(noun)


def test_unknown_nouns_get_names_of_their_own_word():
    names = names_for("flux_capacitor")
    assert len(names) >= 12
    assert "Spring capacitor" in names


def test_clouds_name_things_as_slugs():
    assert style_of("policy") is Style.TITLE
    assert style_of("policy", is_cloud=True) is Style.SLUG
    assert all(re.fullmatch(r"[a-z0-9.-]+", name) for name in names_for("policy", is_cloud=True))


def test_people_are_people():
    assert is_person("customer")
    assert is_person("team_member")
    assert not is_person("customer_segment")


def test_numbered_names_all_differ():
    names = {numbered("Spring Newsletter", turn) for turn in range(1, 60)}
    assert len(names) == 59
    assert all(name.startswith("Spring Newsletter ") for name in names)
    assert numbered("web-01", 1) == "web-01-north"


def test_slugs_are_plain():
    assert slug("Travel mug 350 ml") == "travel-mug-350-ml"
    assert slug("Malmö & Söhne!") == "malmo-sohne"
    assert slug("???") == "x"


def test_pools_have_no_doubles():
    assert len({(person.first, person.last) for person in people()}) == len(people()) == 240
    assert len({person.username for person in people()}) == 240
    assert len({company.domain for company in companies()}) == len(companies()) == 80
    assert len({place.city for place in PLACES}) == len(PLACES) >= 20
