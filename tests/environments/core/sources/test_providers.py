import pytest

from environments.core.sources.providers import provider_of, registrable_name


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://api.v2.example.co.uk/x", "example.co.uk"),
        ("https://API.Example.COM./", "example.com"),
        ("https://{region}.api.example.com/{base}", "example.com"),
        ("https://example.org", "example.org"),
        ("https://co.uk", "co.uk"),
        ("https://{host}", ""),
        ("https://{host}.com", ""),
        ("http://127.0.0.1:8000/", ""),
        ("http://[::1]/", ""),
        ("http://[x", ""),
        ("http://localhost/", ""),
        ("/v1", ""),
        ("file:///home/me/a.json", ""),
        ("", ""),
    ],
)
def test_the_registered_name_is_found_when_an_address_has_one(address: str, name: str) -> None:
    assert registrable_name(address) == name


def test_what_a_collection_says_comes_first_when_the_provider_is_sought() -> None:
    assert provider_of({"x-providerName": "Example.COM"}, ["https://a.other.org"], "") == "example.com"
    assert provider_of({"x-providerName": 7}, ["/v1", "https://a.other.org"], "https://raw.host.net/x") == "other.org"
    assert provider_of({}, [], "https://raw.host.net/x") == "host.net"
