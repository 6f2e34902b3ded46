"""What may be made from a document: terms, the leak guard and people together."""

import pytest

from environments.core.errors import InvalidInputError, PermissionDeniedError, StaleStateError
from environments.models import Decision, SourceDocument
from environments.services import allow_document, document_use, is_usable, refuse_document
from environments.services.leak_guard import LEAK_HIT_KIND
from tests.factories.sources import PETS, leak_hit, openapi_document

pytestmark = pytest.mark.django_db
OTHER = {**PETS["info"], "license": {"name": "All rights reserved"}}


def guarded(**changes):
    document = openapi_document(**changes)
    SourceDocument.objects.update(guard_version="1")
    document.refresh_from_db()
    return document


def test_free_document_may_be_used_for_everything():
    use = document_use(guarded())

    assert (use.obstacles, use.may_build, use.may_ship) == ((), True, True)


def test_other_terms_forbid_only_that_it_ships():
    document = guarded(info=OTHER)

    assert document_use(document).obstacles == ("terms",)
    assert is_usable(document)
    assert not is_usable(document, ships=True)


def test_document_that_says_nothing_does_not_ship():
    document = guarded(info={"title": "x", "version": "1"})

    assert (document.terms, is_usable(document, ships=True)) == ("unknown", False)


def test_leak_hit_forbids_everything():
    document = guarded()
    leak_hit(document)

    assert document_use(document).obstacles == ("leak",)
    assert not is_usable(document)


def test_document_that_was_not_read_or_guarded_is_not_used():
    document = openapi_document()
    assert document_use(document).obstacles == ("unguarded",)
    SourceDocument.objects.update(status="unreadable")
    document.refresh_from_db()

    assert document_use(document).obstacles == ("unread", "unguarded")


def test_person_lets_terms_and_hits_through(reviewer):
    document = guarded(info=OTHER)
    hit = leak_hit(document)

    decisions = allow_document(document=document, user=reviewer, note=" The provider agreed by letter. ")

    found = [(each.subject_kind, each.subject_code, each.subject_sha256, each.verdict) for each in decisions]
    assert found == [
        ("source_document", document.code, document.sha256, "approve"),
        (LEAK_HIT_KIND, hit.code, document.sha256, "approve"),
    ]
    assert {each.note for each in decisions} == {"The provider agreed by letter."}
    assert decisions[0].reason_codes == ["terms"]
    assert is_usable(document, ships=True)


def test_permission_is_about_the_content_that_was_looked_at(reviewer):
    allow_document(document=guarded(info=OTHER), user=reviewer, note="agreed")

    newer = guarded(info={**OTHER, "version": "2"})

    assert not is_usable(newer, ships=True)


def test_nothing_to_allow_is_said(reviewer):
    document = guarded()
    with pytest.raises(StaleStateError):
        allow_document(document=document, user=reviewer, note="why not")
    document = openapi_document("https://example.org/other.json")  # not guarded yet: no person can overrule that
    with pytest.raises(StaleStateError):
        allow_document(document=document, user=reviewer, note="why not")


def test_allowing_twice_records_once(reviewer):
    document = guarded(info=OTHER)
    allow_document(document=document, user=reviewer, note="agreed")

    with pytest.raises(StaleStateError):
        allow_document(document=document, user=reviewer, note="agreed")
    assert Decision.objects.count() == 1


def test_refusal_stands_until_somebody_allows_again(reviewer, admin):
    document = guarded(info=OTHER)
    allow_document(document=document, user=reviewer, note="agreed")

    refuse_document(document=document, user=admin, reason_codes=["licence"], note="They took it back.")
    assert document_use(document).obstacles == ("refused", "terms")
    with pytest.raises(StaleStateError):
        refuse_document(document=document, user=admin, reason_codes=["licence"], note="again")
    (decision,) = allow_document(document=document, user=admin, note="Settled.")

    assert decision.reason_codes == ["refused", "terms"]
    assert is_usable(document, ships=True)


@pytest.mark.parametrize(
    ("values", "pointer"),
    [({"reason_codes": ["licence"], "note": " "}, "/note"), ({"reason_codes": [], "note": "x"}, "/reason_codes"),
     ({"reason_codes": ["mood"], "note": "x"}, "/reason_codes")],
)  # fmt: skip
def test_refusal_needs_a_known_reason_and_a_note(reviewer, values, pointer):
    with pytest.raises(InvalidInputError) as raised:
        refuse_document(document=guarded(), user=reviewer, **values)
    assert raised.value.fields[0].pointer == pointer


def test_note_is_needed_to_allow(reviewer):
    with pytest.raises(InvalidInputError):
        allow_document(document=guarded(info=OTHER), user=reviewer, note="\n")


def test_only_reviewers_decide(viewer):
    document = guarded(info=OTHER)
    with pytest.raises(PermissionDeniedError):
        allow_document(document=document, user=viewer, note="x")
    with pytest.raises(PermissionDeniedError):
        refuse_document(document=document, user=viewer, reason_codes=["other"], note="x")
    assert not Decision.objects.exists()
