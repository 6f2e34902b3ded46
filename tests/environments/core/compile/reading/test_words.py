import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.core.compile.reading.words import is_plural, plural, singular, snake, squash, words_of

NAMES = st.from_regex(r"([a-z]{1,8}_)?[a-z]{2,8}[bdfgklmnprtw]", fullmatch=True)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("vmSize", "vm_size"),
        ("HTTPServer", "http_server"),
        ("IPv4Address", "ipv4_address"),
        ("accountIDs", "account_ids"),
        ("ListAWSServices", "list_aws_services"),
        ("OAuthToken", "oauth_token"),
        ("EC2Instance", "ec2_instance"),
        ("@odata.type", "odata_type"),
        ("Café-Größe", "cafe_gro_e"),
        ("+1", "1"),
        ("$", "x"),
    ],
)
def test_snake_splits_humps_and_acronyms(name: str, expected: str) -> None:
    assert snake(name) == expected


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("status", "statuses"),
        ("order_status", "order_statuses"),
        ("orderstatus", "orderstatuses"),
        ("analysis", "analyses"),
        ("sku", "skus"),
        ("policy", "policies"),
        ("gateway", "gateways"),
        ("address", "addresses"),
        ("database", "databases"),
        ("cache", "caches"),
        ("box", "boxes"),
        ("person", "people"),
        ("index", "indices"),
        ("api", "apis"),
        ("bus", "buses"),
        ("movie", "movies"),
        ("license", "licenses"),
        ("vm", "vms"),
    ],
)
def test_singular_and_plural_are_inverse_when_a_word_has_both(one: str, many: str) -> None:
    assert (singular(many), plural(one)) == (one, many)
    assert (singular(one), plural(many)) == (one, many)
    assert is_plural(many)
    assert not is_plural(one)


@pytest.mark.parametrize("word", ["data", "metadata", "user_data", "news", "series", "aws", "dns", "sms", "software"])
def test_uncountable_words_are_their_own_plural(word: str) -> None:
    assert singular(word) == plural(word) == word


def test_other_plurals_have_a_singular() -> None:
    assert singular("indexes") == "index"
    assert singular("queries") == "query"
    assert singular("ties") == "tie"


def test_squash_keeps_letters_and_digits_only() -> None:
    assert squash("Created-At_2") == "createdat2"
    assert words_of("createdAt") == ("created", "at")


@given(NAMES)
def test_plural_and_singular_settle(name: str) -> None:
    assert plural(plural(name)) == plural(name)
    assert singular(plural(singular(name))) == singular(plural(singular(singular(name))))


@given(st.text(max_size=30))
def test_snake_is_a_name_and_settles(text: str) -> None:
    made = snake(text)
    assert re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", made)
    assert snake(made) == made
