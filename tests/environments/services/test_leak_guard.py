import threading
from typing import Any

import orjson
import pytest
from django.db import connection

from environments import services
from environments.core.embedding import LexicalEmbedder
from environments.core.errors import InvalidInputError, PermissionDeniedError, StaleStateError
from environments.core.leak_guard import Rule
from environments.core.sources.model import Fetched
from environments.models import Decision, LeakHit, SourceDocument
from environments.services import leak_guard

pytestmark = pytest.mark.django_db
NOTE = "A travel agency's own interface; the names are the usual ones."


def _planted(names: list[str] | None = None, title: str = "Planted") -> SourceDocument:
    """A document whose tools have a benchmark's names."""
    wanted = names or ["bookReservation", "cancelReservation", "getReservationDetails", "updateReservationBaggages"]
    paths: dict[str, Any] = {
        f"/{name}": {
            "post": {"operationId": name, "summary": f"Does {name}", "responses": {"200": {"description": "ok"}}}
        }
        for name in wanted
    }
    value = {"openapi": "3.0.3", "info": {"title": title, "version": "1"}, "paths": paths}
    document, _ = services.store_document(
        fetched=Fetched(f"https://example.org/{title}.json", orjson.dumps(value), "application/json")
    )
    services.read_document(document=document)
    return document


def _clean() -> SourceDocument:
    return _planted(["waterBed", "openVents", "listBeds"], "Garden")


def test_planted_document_is_blocked_and_says_by_what():
    document = _planted()

    hits = leak_guard.check_document(document=document)

    names = {hit.benchmark: hit for hit in hits if hit.rule == Rule.NAMES}
    assert "tau2/airline" in names
    hit = names["tau2/airline"]
    assert (hit.score, hit.threshold) == (1.0, 0.2)
    assert ["bookReservation", "book_reservation", 1.0] in hit.evidence["neighbours"]
    assert hit.evidence["embedder"] == LexicalEmbedder.name
    assert hit.subject_sha256 == document.sha256
    assert hit.guard_version == SourceDocument.objects.get(pk=document.pk).guard_version
    assert leak_guard.is_blocked(document)


def test_second_check_adds_nothing():
    document = _planted()

    first = leak_guard.check_document(document=document)
    second = leak_guard.check_document(document=document)

    assert [hit.pk for hit in first] == [hit.pk for hit in second]
    assert LeakHit.objects.count() == len(first)


def test_document_stays_out_until_the_guard_has_seen_it():
    document = _clean()

    assert leak_guard.is_blocked(document)
    assert leak_guard.check_document(document=document) == []
    assert not leak_guard.is_blocked(document)


def test_nearest_benchmarks_are_named_for_a_clean_document():
    examination = leak_guard.examine_document(document=_planted(["bookReservation", "openVents", "listBeds"], "Near"))

    assert examination.hits == ()
    assert any(near.benchmark.endswith("/airline") for near in examination.nearest)


def test_hits_stay_and_no_longer_block_once_each_is_overruled(reviewer):
    document = _planted()
    hits = leak_guard.check_document(document=document)

    for hit in hits:
        assert leak_guard.is_blocked(document)
        decision = leak_guard.overrule_hit(hit=hit, user=reviewer, note=f"  {NOTE} ")

    assert not leak_guard.is_blocked(document)
    assert LeakHit.objects.count() == len(hits)
    assert (decision.subject_kind, decision.subject_code, decision.note) == ("leak_hit", hits[-1].code, NOTE)
    assert decision.verdict == Decision.Verdict.APPROVE


def test_overruling_holds_for_a_later_version_of_the_guard(reviewer):
    document = _planted()
    for hit in leak_guard.check_document(document=document):
        # What an older version left.
        old = LeakHit.objects.get(pk=hit.pk)
        LeakHit.objects.filter(pk=hit.pk).delete()
        old.pk, old.guard_version, old.code = None, "0-older", f"{hit.code.hex[:-4]}0000"
        old.save()
        leak_guard.overrule_hit(hit=old, user=reviewer, note=NOTE)

    hits = leak_guard.check_document(document=document)

    assert hits
    assert not leak_guard.is_blocked(document)


def test_withdrawn_overruling_blocks_again(reviewer):
    document = _planted()
    hits = leak_guard.check_document(document=document)
    decisions = [leak_guard.overrule_hit(hit=hit, user=reviewer, note=NOTE) for hit in hits]

    services.record_decision(
        actor=reviewer, subject_kind="leak_hit", subject_code=hits[0].code, subject_sha256=hits[0].subject_sha256,
        verdict=Decision.Verdict.REJECT, reason_codes=["leak"], supersedes=decisions[0],
    )  # fmt: skip

    assert leak_guard.open_hits(document) == [hits[0]]


def test_overruling_needs_a_reason_a_reviewer_and_an_open_hit(reviewer, viewer):
    hit = leak_guard.check_document(document=_planted())[0]

    with pytest.raises(InvalidInputError) as caught:
        leak_guard.overrule_hit(hit=hit, user=reviewer, note="  ")
    assert caught.value.fields[0].pointer == "/note"
    with pytest.raises(PermissionDeniedError):
        leak_guard.overrule_hit(hit=hit, user=viewer, note=NOTE)
    leak_guard.overrule_hit(hit=hit, user=reviewer, note=NOTE)
    with pytest.raises(StaleStateError):
        leak_guard.overrule_hit(hit=hit, user=reviewer, note=NOTE)
    assert Decision.objects.count() == 1


def test_embedder_without_vectors_in_the_file_gives_way_to_the_lexical_one(settings):
    settings.EMBEDDING_BACKEND, settings.EMBEDDING_URL = "endpoint", "https://example.org/v1"
    settings.EMBEDDING_MODEL = "some-model"

    assert leak_guard.guard().embedder == LexicalEmbedder.name


@pytest.mark.django_db(transaction=True)
def test_only_one_of_two_concurrent_overrulings_is_recorded(reviewer):
    hit = leak_guard.check_document(document=_planted())[0]
    outcomes: list[str] = []
    start = threading.Barrier(2)

    def overrule() -> None:
        try:
            start.wait(timeout=10)
            leak_guard.overrule_hit(hit=hit, user=reviewer, note=NOTE)
            outcomes.append("recorded")
        except StaleStateError:
            outcomes.append("stale")
        finally:
            connection.close()

    threads = [threading.Thread(target=overrule) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert sorted(outcomes) == ["recorded", "stale"]
    assert Decision.objects.count() == 1
