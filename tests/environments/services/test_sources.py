"""Documents: bytes stored first, then read and cleaned as a whole; each step again changes nothing."""

import copy
from hashlib import sha256

import orjson
import pytest
import yaml

from environments.core.cleaning import DuplicateIndex
from environments.core.errors import InvalidInputError, UnreadableSourceError
from environments.core.sources import readers
from environments.core.sources.model import Fetched, SourceKind
from environments.models import AuditEvent, Operation, Source, SourceDocument
from environments.services import (
    add_funnels,
    clean_document,
    read_document,
    source_imports,
    store_document,
    store_upload,
)
from environments.services import sources as module
from environments.services.source_imports import clean_collection
from tests.factories.sites import api
from tests.factories.sources import PETS, openapi_document

pytestmark = pytest.mark.django_db
ADDRESS = "https://example.org/pets.json"


def fetched(address=ADDRESS, **changes):
    return Fetched(address, orjson.dumps({**PETS, **changes}), "application/json")


def stored(value, address=ADDRESS, **arguments):
    document, _ = store_document(fetched=Fetched(address, orjson.dumps(value)), **arguments)
    return document


def rows():
    """Everything that was read, as far as it must be the same each time."""
    names = [
        "document__code", "position", "code", "key", "content", "is_kept", "reasons", "effect", "effect_rule",
        "completed_description", "duplicate_of__code",
    ]  # fmt: skip
    heads = SourceDocument.objects.order_by("code").values_list(
        "code", "status", "num_operations", "num_kept", "funnel"
    )
    return list(heads), list(Operation.objects.order_by("document__code", "position").values_list(*names))


def kept():
    return dict(Operation.objects.order_by("document__source__address", "position").values_list("key", "is_kept"))


# --- Storing ----------------------------------------------------------------------------------------------------------


def test_same_content_is_stored_once(operator):
    first, is_new = store_document(fetched=fetched(), user=operator)
    again, is_new_again = store_document(fetched=fetched(), user=operator)

    assert (first.pk, is_new, is_new_again) == (again.pk, True, False)
    assert first.to_core() == fetched()
    source = Source.objects.get()
    assert (source.address, source.kind, source.latest_document) == (ADDRESS, "openapi", first)
    assert AuditEvent.objects.filter(action="source.import", actor=operator).count() == 1


def test_other_content_is_another_document_of_the_same_source():
    first, _ = store_document(fetched=fetched())
    read_document(document=first)
    second, is_new = store_document(fetched=fetched(info={"title": "Newer", "version": "2"}))
    read_document(document=second)

    assert is_new
    assert Source.objects.get().latest_document == second
    assert (first.operations.count(), second.operations.count()) == (3, 3)
    assert set(Operation.objects.latest().values_list("document", flat=True)) == {second.pk}


def test_source_is_what_was_asked_for_when_a_redirect_led_elsewhere():
    document, _ = store_document(fetched=fetched("https://cdn.example.org/v2/pets.json"), address=ADDRESS)

    assert (document.source.address, document.address) == (ADDRESS, "https://cdn.example.org/v2/pets.json")


def test_files_that_it_refers_to_are_part_of_its_content():
    alone, _ = store_document(fetched=fetched())
    whole = Fetched(ADDRESS, fetched().data, "", {"https://example.org/pet.json": b"\x00\xff{}"})
    together, is_new = store_document(fetched=whole)

    assert is_new
    assert alone.sha256 == sha256(fetched().data).hexdigest() != together.sha256
    assert together.to_core() == whole


def test_nothing_is_stored_when_no_reader_knows_the_form():
    with pytest.raises(UnreadableSourceError):
        store_document(fetched=Fetched("https://example.org/x.bin", b"\x00\x01\x02"))
    assert not Source.objects.exists()


@pytest.mark.parametrize("name", ["pets.json", "Tierheim (öffentlich).json", "x" * 200])
def test_upload_has_the_start_of_its_hash_as_address(name, operator):
    data = fetched().data

    document = store_upload(data=data, name=name, media_type="application/json", user=operator)

    assert document.source.address == f"upload:{sha256(data).hexdigest()[:16]}/{name}"
    assert (document.source.created_by, document.media_type) == (operator, "application/json")


@pytest.mark.parametrize(
    ("data", "name", "pointer"),
    [(b"", "a.json", ""), (b"x" * (1 << 20) + b"x", "a.json", ""), (b"{}", " ", "?name"), (b"{}", "a/b", "?name"),
     (b"{}", "a\\b", "?name"), (b"{}", "a\nb", "?name"), (b"{}", "x" * 201, "?name"), (b"{}", "\ud800", "?name")],
)  # fmt: skip
def test_upload_that_does_not_do_is_refused(data, name, pointer, settings):
    settings.FETCH_MAX_MEGABYTES = 1

    with pytest.raises(InvalidInputError) as raised:
        store_upload(data=data, name=name)
    assert raised.value.fields[0].pointer == pointer
    assert not Source.objects.exists()


# --- Reading ----------------------------------------------------------------------------------------------------------


def test_document_is_read_and_cleaned_at_once():
    document, _ = store_document(fetched=fetched())

    read_document(document=document)

    assert kept() == {"GET /pets": True, "POST /pets": True, "GET /pets/{petId}": False}
    document.refresh_from_db()
    assert (document.status, document.title, document.version, document.terms) == ("read", "Pet shelter", "1.2", "free")
    assert (document.num_operations, document.num_kept, document.source.provider) == (3, 2, "example.org")
    assert document.funnel["reasons"] == {"deprecated": 1}
    assert document.funnel["effects"] == {"read": 1, "write": 1}
    assert document.funnel["coverage"]["outputs_after"] == document.funnel["coverage"]["total"] == 2


def test_reading_again_leaves_the_same_rows():
    document, _ = store_document(fetched=fetched())
    read_document(document=document)
    before = rows()

    read_document(document=SourceDocument.objects.get())

    assert rows() == before


def test_operations_come_back_as_they_were_read():
    value = copy.deepcopy(PETS)
    value["paths"]["/pets"]["get"]["parameters"][0]["schema"] = {"type": "integer", "default": 1.0, "maximum": "BIG"}
    text = yaml.safe_dump(value).replace("BIG", "9999999999999999999")  # beyond 64 bits, which orjson does not write
    document, _ = store_document(fetched=Fetched("https://example.org/pets.yaml", text.encode()))

    found = read_document(document=document)

    assert tuple(row.to_core() for row in document.operations.order_by("position")) == found.operations


def test_document_that_can_not_be_read_says_why_and_has_no_operations():
    document = stored({"openapi": "3.0.0", "info": {"title": "x", "version": "1"}, "paths": []})

    assert read_document(document=document) is None

    document.refresh_from_db()
    assert (document.status, document.num_operations) == ("unreadable", 0)
    assert document.problems[0]["code"] == "unreadable_source"
    assert document.problems[0]["message"]


def test_nothing_is_kept_of_a_document_that_fails_halfway(monkeypatch):
    document = stored(api("Big", num_operations=7))
    seen = []

    def fail(*arguments, **options):
        seen.append(Operation.objects.count())
        raise MemoryError

    monkeypatch.setattr(module, "_figures", fail)

    with pytest.raises(MemoryError):
        read_document(document=document)

    assert seen == [7]
    assert SourceDocument.objects.get().status == "fetched"
    assert not Operation.objects.exists()


def test_what_repeats_inside_a_document_points_at_the_first():
    value = api("Twice", num_operations=2)
    value["paths"]["/v2/pets/0/{id}"] = value["paths"]["/pets/0/{id}"]
    document = stored(value)

    read_document(document=document)

    row = document.operations.get(key="GET /v2/pets/0/{id}")
    assert (row.is_kept, row.reasons) == (False, ["duplicate"])
    assert row.duplicate_of.key == "GET /pets/0/{id}"


# --- Cleaning again ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_operations", [2, 40])
def test_cleaning_again_reads_once_and_writes_nothing_when_nothing_changed(django_assert_num_queries, num_operations):
    document = stored(api("Shelter", num_operations=num_operations))
    read_document(document=document)
    before = rows()

    with django_assert_num_queries(1) as queries:
        clean_document(document=document)

    assert queries.captured_queries[0]["sql"].startswith("SELECT")
    assert rows() == before


def test_new_rule_changes_rows_and_figures(monkeypatch):
    document = openapi_document()
    strict = {"method": "post", "reason": "unclear"}
    clean = module.clean

    def stricter(found):
        cleaning = clean(found)
        from dataclasses import replace

        changed = tuple(
            replace(each, reasons=(strict["reason"],)) if each.key.startswith("POST") else each
            for each in cleaning.operations
        )
        return replace(cleaning, operations=changed)

    monkeypatch.setattr(module, "clean", stricter)
    monkeypatch.setattr(module, "CLEANER_VERSION", "next")

    clean_document(document=document)

    document.refresh_from_db()
    assert kept() == {"GET /pets": True, "POST /pets": False, "GET /pets/{petId}": False}
    assert (document.num_kept, document.cleaner_version) == (1, "next")
    assert document.funnel["reasons"] == {"unclear": 1, "deprecated": 1}


def test_operations_of_an_earlier_reader_stay_the_same_rows():
    document = openapi_document()
    before = dict(document.operations.values_list("key", "pk"))
    document.operations.filter(key="GET /pets").update(content={}, position=9, title="Older")
    content = rows()

    read_document(document=document)

    assert dict(document.operations.values_list("key", "pk")) == before
    assert document.operations.get(key="GET /pets").title == "Lists the pets of the shelter"
    assert rows() != content


def test_operations_that_an_earlier_reader_did_not_have_are_read_anew():
    document = openapi_document()
    document.operations.filter(key="GET /pets").delete()
    document.operations.filter(key="POST /pets").update(key="POST /animals", code=document.code)

    clean_document(document=document)

    assert kept() == {"GET /pets": True, "POST /pets": True, "GET /pets/{petId}": False}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_order_of_import_makes_no_difference_once_all_are_cleaned(order):
    documents = [api("Shelter"), api("Shelter", num_operations=6), api("Garage", "car")]
    for place in order:
        document = stored(documents[place], f"https://example.org/{place}.json", collection="few")
        read_document(document=document)
        SourceDocument.objects.update(guard_version="")

    funnel = clean_collection("few")

    found = {
        place: list(
            Operation.objects.filter(document__source__address__endswith=f"{place}.json")
            .order_by("position").values_list("is_kept", "duplicate_of__document__source__address")
        )
        for place in range(3)
    }  # fmt: skip
    first = "https://example.org/0.json"
    assert found == {0: [(True, None)] * 4, 1: [(False, first)] * 4 + [(True, None)] * 2, 2: [(True, None)] * 4}
    assert (funnel["documents"], funnel["read"], funnel["kept"], funnel["reasons"]) == (3, 14, 10, {"duplicate": 4})
    before = rows()
    assert clean_collection("few") == funnel
    assert rows() == before


def test_cleaning_all_finds_what_repeats_across_collections():
    for place, collection in enumerate(("one", "two")):
        read_document(document=stored(api("Shelter"), f"https://example.org/{place}.json", collection=collection))

    assert clean_collection("one")["kept"] + clean_collection("two")["kept"] == 8
    assert clean_collection()["kept"] == 4


def test_document_that_fails_does_not_keep_others_from_being_cleaned(monkeypatch):
    for name, noun in (("a", "pet"), ("b", "car"), ("c", "boat")):
        read_document(document=stored(api(name, noun), f"https://example.org/{name}.json"))
    parse = source_imports.parse_document

    def buggy(document):
        if document.title == "b":
            raise KeyError("a bug of the reader")
        return parse(document)

    monkeypatch.setattr(source_imports, "parse_document", buggy)

    funnel = clean_collection()

    assert (funnel["documents"], funnel["kept"]) == (2, 8)
    assert funnel["failures"] == {"https://example.org/b.json": "KeyError: 'a bug of the reader'"}


def test_duplicates_of_documents_that_went_before_are_counted():
    index = DuplicateIndex()
    clean_document(document=openapi_document("https://example.org/a.json"), duplicates=index)
    second = openapi_document("https://example.org/b.json")

    clean_document(document=second, duplicates=index)

    assert second.funnel["reasons"] == {"deprecated": 1, "duplicate": 2}
    assert second.num_kept == 0


def test_funnels_add_up():
    funnels = [openapi_document(f"https://example.org/{place}.json").funnel for place in range(3)]

    total = add_funnels([*funnels, {}])

    assert (total["documents"], total["read"], total["kept"]) == (4, 9, 6)
    assert total["reasons"] == {"deprecated": 3}
    assert total["coverage"]["total"] == 6
    assert add_funnels([])["kept"] == 0


def test_every_kind_of_source_is_a_kind_of_row():
    assert {kind.value for kind in Source.Kind} == {kind.value for kind in SourceKind}
    assert {reader.kind for reader in readers.READERS} <= set(SourceKind)
