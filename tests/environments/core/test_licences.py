from typing import Any

import pytest

from environments.core.licences import licence_of, spdx_of, terms_of
from environments.core.sources.model import DocumentLicence


@pytest.mark.parametrize(
    ("name", "address", "spdx", "terms"),
    [
        ("MIT", None, "MIT", "free"),
        ("The MIT License", None, "MIT", "free"),
        ("MIT-0", None, "MIT-0", "free"),
        ("Apache 2.0", None, "Apache-2.0", "free"),
        ("Apache License, Version 2.0", "https://www.apache.org/licenses/LICENSE-2.0.html", "Apache-2.0", "free"),
        ("Apache-2.0", None, "Apache-2.0", "free"),
        ('"BSD 3-Clause License".', None, "BSD-3-Clause", "free"),
        ("Creative Commons Attribution 3.0", "http://creativecommons.org/licenses/by/3.0/", "CC-BY-3.0", "free"),
        ("CC BY 4.0", None, "CC-BY-4.0", "free"),
        ("CC0 1.0 Universal", None, "CC0-1.0", "free"),
        ("The Unlicense", "https://unlicense.org/", "Unlicense", "free"),
        (None, "https://opensource.org/licenses/MIT", "MIT", "free"),
        (None, "opensource.org/license/apache-2.0/", "Apache-2.0", "free"),
        ("License", "https://creativecommons.org/publicdomain/zero/1.0/deed.en", "CC0-1.0", "free"),
        ("Terms", "http://www.creativecommons.org/licenses/by/2.5/", "CC-BY-2.5", "free"),
        # Free in any version, by the document's own word.
        ("U.S. Public Domain License", None, None, "free"),
        ("Public Domain", "https://data.example.gov/terms", None, "free"),
        ("CC-BY", None, None, "free"),
        ("Apache License", None, None, "free"),
        ("BSD", None, None, "free"),
        # Something else.
        ("GPL-3.0", None, None, "other"),
        ("CC BY-NC 4.0", None, None, "other"),
        ("CC-BY-SA-4.0", None, None, "other"),
        ("CC BY-ND", None, None, "other"),
        ("MIT with exceptions", None, None, "other"),
        ("Permit", None, None, "other"),
        ("not public domain", None, None, "other"),
        ("BSD License 2.0", None, None, "other"),
        (None, "https://example.com/terms", None, "other"),
        (None, "https://creativecommons.org/licenses/by-nc-sa/4.0/", "CC-BY-NC-SA-4.0", "other"),
        (None, "http://[", None, "other"),
        (None, None, None, "unknown"),
        # Name and address that disagree.
        ("MIT", "https://www.apache.org/licenses/LICENSE-2.0", None, "other"),
        ("CC BY 4.0", "https://creativecommons.org/licenses/by-nc/4.0/", None, "other"),
        ("MIT", "https://www.gnu.org/licenses/gpl-3.0.html", None, "other"),
        ("Public Domain", "https://creativecommons.org/licenses/by-nc/4.0/", "CC-BY-NC-4.0", "other"),
        ("CC-BY", "https://creativecommons.org/licenses/by/4.0/", "CC-BY-4.0", "free"),
    ],
)
def test_terms_are_those_of_name_and_address_when_a_licence_is_given(
    name: str | None, address: str | None, spdx: str | None, terms: str
) -> None:
    assert spdx_of(name, address) == spdx
    assert terms_of(licence_of({"name": name, "url": address})) == terms


@pytest.mark.parametrize(
    ("identifier", "terms"),
    [
        ("MIT", "free"),
        ("mit", "free"),
        ("BSD-3-Clause-Clear", "free"),
        ("MIT OR GPL-3.0-only", "free"),
        ("MIT AND Apache-2.0", "free"),
        ("MIT AND GPL-3.0-only", "other"),
        ("GPL-3.0-only OR AGPL-3.0-only", "other"),
        ("CC-BY-NC-4.0", "other"),
        ("MITNFA", "other"),
        ("LicenseRef-own", "other"),
    ],
)
def test_an_identifier_decides_when_the_document_gives_one(identifier: str, terms: str) -> None:
    found = licence_of({"identifier": identifier, "name": "Our terms"})
    assert (found.spdx, terms_of(found)) == (identifier, terms)


@pytest.mark.parametrize("node", [None, 7, [], {}, {"name": 7, "url": []}])
def test_nothing_is_known_when_a_document_names_no_licence(node: Any) -> None:
    assert licence_of(node) == DocumentLicence()
    assert terms_of(licence_of(node)) == "unknown"


def test_a_name_alone_is_enough_when_the_licence_is_a_text() -> None:
    assert licence_of("MIT") == DocumentLicence("MIT", "MIT", None)
