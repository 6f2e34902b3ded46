import threading
import uuid

import pytest
from django.db import IntegrityError, connection, transaction

from environments.core.errors import InvalidInputError, PermissionDeniedError, StaleStateError
from environments.models import Decision, User
from environments.services import record_decision
from tests.factories.environments import UserFactory

pytestmark = pytest.mark.django_db
SUBJECT = {"subject_kind": "query", "subject_code": uuid.UUID(int=7), "subject_sha256": "a" * 64}


def test_decision_is_recorded_with_author_and_hash(reviewer):
    decision = record_decision(actor=reviewer, verdict="reject", reason_codes=["unnatural"], note="stiff", **SUBJECT)

    stored = Decision.objects.get()
    assert stored == decision
    assert (stored.actor, stored.subject_sha256, stored.reason_codes) == (reviewer, "a" * 64, ["unnatural"])


def test_viewer_may_not_and_a_rejection_needs_a_reason(viewer, reviewer):
    with pytest.raises(PermissionDeniedError):
        record_decision(actor=viewer, verdict="approve", **SUBJECT)
    with pytest.raises(InvalidInputError) as caught:
        record_decision(actor=reviewer, verdict="reject", **SUBJECT)
    assert caught.value.fields[0].pointer == "/reason_codes"
    assert not Decision.objects.exists()


def test_own_decision_can_be_replaced_and_that_of_another_only_by_a_lead(reviewer):
    first = record_decision(actor=reviewer, verdict="approve", **SUBJECT)
    colleague = UserFactory.create(role=User.Role.REVIEWER)
    lead = UserFactory.create(role=User.Role.REVIEWER, is_lead=True)

    with pytest.raises(PermissionDeniedError):
        record_decision(actor=colleague, verdict="approve", supersedes=first, **SUBJECT)
    second = record_decision(actor=reviewer, verdict="request_changes", supersedes=first, **SUBJECT)
    third = record_decision(actor=lead, verdict="approve", supersedes=second, **SUBJECT)

    assert first.superseded_by == second
    assert second.superseded_by == third
    with pytest.raises(StaleStateError):
        record_decision(actor=lead, verdict="approve", supersedes=first, **SUBJECT)


def test_replacement_must_be_about_the_same_thing(reviewer):
    first = record_decision(actor=reviewer, verdict="approve", **SUBJECT)

    with pytest.raises(StaleStateError):
        record_decision(actor=reviewer, verdict="approve", supersedes=first, **{**SUBJECT, "subject_kind": "edge"})


@pytest.mark.django_db(transaction=True)
def test_one_of_two_concurrent_replacements_wins():
    actor = UserFactory.create(role=User.Role.REVIEWER)
    first = record_decision(actor=actor, verdict="approve", **SUBJECT)
    barrier, outcomes = threading.Barrier(2), []

    def replace():
        barrier.wait()
        try:
            record_decision(actor=actor, verdict="approve", supersedes=first, **SUBJECT)
            outcomes.append("won")
        except (StaleStateError, IntegrityError):
            outcomes.append("lost")
        finally:
            connection.close()

    threads = [threading.Thread(target=replace) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["lost", "won"]


def test_database_refuses_a_hash_that_is_none(reviewer):
    with pytest.raises(IntegrityError, match="sha256"), transaction.atomic():
        record_decision(actor=reviewer, verdict="approve", **{**SUBJECT, "subject_sha256": "short"})
