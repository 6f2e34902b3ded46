"""Sources and documents, as tests need them."""

from typing import Any

import orjson

from environments import services
from environments.core.seeds import content_code
from environments.core.sources.model import Fetched
from environments.models import LeakHit, SourceDocument, TextEmbedding

PETS: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Pet shelter", "version": "1.2", "license": {"name": "MIT"}},
    "servers": [{"url": "https://api.shelter.example.org/v1"}],
    "paths": {
        "/pets": {
            "get": {
                "operationId": "listPets",
                "summary": "Lists the pets of the shelter",
                "parameters": [{"name": "species", "in": "query", "schema": {"type": "string"}}],
                "responses": {"200": {"description": "ok", "content": {"application/json": {"schema": {
                    "type": "array", "items": {"$ref": "#/components/schemas/Pet"}}}}}},
            },
            "post": {
                "operationId": "addPet",
                "summary": "Takes a pet in",
                "requestBody": {"required": True, "content": {"application/json": {"schema": {
                    "$ref": "#/components/schemas/Pet"}}}},
                "responses": {"201": {"description": "made"}},
            },
        },
        "/pets/{petId}": {
            "get": {
                "operationId": "getPet",
                "deprecated": True,
                "parameters": [{"name": "petId", "in": "path", "required": True, "schema": {"type": "string"}}],
                "responses": {"200": {"description": "ok", "content": {"application/json": {"schema": {
                    "$ref": "#/components/schemas/Pet"}}}}},
            }
        },
    },
    "components": {"schemas": {"Pet": {
        "type": "object", "required": ["name"],
        "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "species": {"type": "string"}}}}},
}  # fmt: skip
"""An OpenAPI document of three operations, one of which is deprecated."""


def openapi_document(address: str = "https://example.org/pets.json", **changes: Any) -> SourceDocument:
    """A document in the database, read and cleaned."""
    fetched = Fetched(address, orjson.dumps({**PETS, **changes}), "application/json")
    document, _ = services.store_document(fetched=fetched)
    found = services.read_document(document=document)
    services.clean_document(document=document, found=found)
    return document


def guarded_document(address: str = "https://example.org/pets.json", **changes: Any) -> SourceDocument:
    """A document as if version 1 of the guard had looked at it and found nothing."""
    document = openapi_document(address, **changes)
    SourceDocument.objects.filter(pk=document.pk).update(guard_version="1")
    document.guard_version = "1"
    return document


def leak_hit(document: SourceDocument, **changes: Any) -> LeakHit:
    """A hit of version 1 of the guard on a document."""
    fields: dict[str, Any] = {
        "guard_version": "1", "benchmark": "a benchmark", "rule": "names", "score": 0.4, "threshold": 0.2,
        "evidence": {"num_matched": 1, "embedder": None, "neighbours": [["listPets", "list_pets", 0.75]]}, **changes,
    }  # fmt: skip
    key = " ".join((str(document.code), fields["guard_version"], fields["benchmark"], fields["rule"]))
    return LeakHit.objects.create(
        code=content_code("leak_hit", 0, key), subject_kind="source_document", subject_code=document.code,
        subject_sha256=document.sha256, **fields,
    )  # fmt: skip


def text_embedding(number: int = 0) -> TextEmbedding:
    """A vector."""
    return TextEmbedding.objects.create(text_sha256=f"{number:064x}", model="test", dimension=3, vector=[0, 0.6, 0.8])
