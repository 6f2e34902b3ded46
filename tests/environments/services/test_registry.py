"""Packs into the registry, and people's decisions about versions."""

import dataclasses
import io
import threading
import zipfile

import pytest
from django.db import IntegrityError, connection, transaction

from environments import services
from environments.core.errors import InvalidInputError, InvalidPackError, PermissionDeniedError, StaleStateError
from environments.models import AuditEvent, Decision, Environment, EnvironmentVersion, StatusChange
from environments.runtime.faults import FAULT_KINDS
from environments.runtime.pack import zip_pack
from environments.runtime.pack.model import Licence
from environments.services.registry import REJECT_REASONS, allowed_verdicts
from tests.factories.little_pack import TOOL_LIST
from tests.factories.registry import PERSON, finished_run, little_pack, little_version

pytestmark = pytest.mark.django_db
Status = EnvironmentVersion.Status
Verdict = Decision.Verdict
UPLOADED = EnvironmentVersion.Origin.UPLOADED


def import_(pack):
    return services.import_pack(pack=pack, origin=UPLOADED, user=None)


# --- Importing --------------------------------------------------------------------------------------------------------


def test_imported_pack_is_a_draft_with_history_and_audit(operator):
    imported = services.import_pack_file(data=zip_pack(little_pack()), user=operator, address="192.0.2.7")

    version = imported.version
    assert (imported.is_new, version.number, version.status, version.origin) == (True, 1, "draft", "uploaded")
    assert (version.created_by, version.environment.latest_version) == (operator, version)
    step = version.history.get()
    assert (step.before, step.after, step.actor) == ("", "draft", operator)
    event = AuditEvent.objects.get(action="environment.import")
    assert (event.actor, event.subject_code, event.address) == (operator, str(version.code), "192.0.2.7")
    assert event.detail == {"name": "library", "number": 1, "origin": "uploaded"}
    assert not version.is_usable


def test_same_content_gives_the_version_that_it_is():
    first = import_(little_pack())
    later = dataclasses.replace(PERSON, retrieved_at="2027-01-01T00:00:00Z")

    again, another_day = import_(little_pack()), import_(little_pack(provenance=(later,)))

    assert (first.is_new, again.is_new, another_day.is_new) == (True, False, False)
    assert first.version == again.version == another_day.version
    assert AuditEvent.objects.filter(action="environment.import").count() == StatusChange.objects.count() == 1


def test_numbers_follow_one_another_in_each_environment():
    numbers = [import_(little_pack(title=f"Title {number}")).version.number for number in range(3)]
    other = import_(little_pack(name="other_library")).version

    assert numbers == [1, 2, 3]
    assert (other.number, other.environment.name) == (1, "other_library")
    assert Environment.objects.get(name="library").latest_version.number == 3


def in_threads(count, act):
    barrier, outcomes = threading.Barrier(count), []

    def run(position):
        barrier.wait()
        try:
            outcomes.append(act(position))
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[position]) for position in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == count
    return outcomes


@pytest.mark.django_db(transaction=True)
def test_concurrent_imports_of_one_pack_make_one_version():
    outcomes = in_threads(6, lambda _position: import_(little_pack()))

    assert sum(outcome.is_new for outcome in outcomes) == 1
    assert len({outcome.version.pk for outcome in outcomes}) == 1
    version = EnvironmentVersion.objects.get()
    assert zip_pack(version.to_core()) == zip_pack(little_pack())


@pytest.mark.django_db(transaction=True)
def test_concurrent_imports_of_one_name_are_numbered_without_a_gap():
    outcomes = in_threads(6, lambda position: import_(little_pack(title=f"Title {position}")))

    assert all(outcome.is_new for outcome in outcomes)
    assert sorted(outcome.version.number for outcome in outcomes) == [1, 2, 3, 4, 5, 6]
    assert Environment.objects.get().latest_version.number == 6


def test_shipped_packs_are_imported_by_name():
    assert services.shipped_packs() == ["repair_cafe", "seed_bank", "tide_gauges"]
    version = services.import_shipped_pack(name="tide_gauges").version

    assert (version.origin, version.created_by, version.history.get().reason) == (
        "shipped", None, "Shipped with EnvFactory",
    )  # fmt: skip
    with pytest.raises(InvalidInputError, match="seed_bank") as caught:
        services.import_shipped_pack(name="../seed_bank")
    assert caught.value.fields[0].pointer == "/name"


def test_import_needs_the_permission_to_run_jobs(reviewer):
    with pytest.raises(PermissionDeniedError, match="run_jobs"):
        services.import_pack_file(data=zip_pack(little_pack()), user=reviewer)
    assert not Environment.objects.exists()


def zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


NUL = "a\0b"
HEADS = {
    "title": {"title": NUL}, "domain": {"domain": NUL}, "description": {"description": NUL},
    "language": {"language": "en" + "-abcdefgh" * 5},
    "licence/name": {"licence": Licence("CC0-1.0", NUL)}, "licence/spdx": {"licence": Licence("x" * 300)},
    "licence/address": {"licence": Licence("CC0-1.0", None, "https://example.org/\0")},
    "provenance/0/version": {"provenance": (dataclasses.replace(PERSON, version=NUL),)},
    "provenance/0/kind": {"provenance": (dataclasses.replace(PERSON, kind=NUL),)},
    "provenance/0/address": {"provenance": (dataclasses.replace(PERSON, address=f"https://example.org/{'x' * 3000}"),)},
    "provenance/0/licence/name": {"provenance": (dataclasses.replace(PERSON, licence=Licence(None, NUL)),)},
    "tools/draw/title": {"tools": (*TOOL_LIST[:5], dataclasses.replace(TOOL_LIST[5], title=NUL), *TOOL_LIST[6:])},
}  # fmt: skip


@pytest.mark.parametrize("place", HEADS)
def test_text_that_no_column_holds_is_a_fault_with_its_place(place, operator):
    with pytest.raises(InvalidPackError) as caught:
        services.import_pack_file(data=zip_pack(little_pack(**HEADS[place])), user=operator)

    assert [fault.pointer for fault in caught.value.fields] == [f"/{place}"]
    assert not Environment.objects.exists()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "zip_invalid"),
        (b"no zip at all", "zip_invalid"),
        (zipped(), "file_missing"),
        (zipped(**{"../tools.py": ""}), "zip_name"),
        (zipped(**{"environment.json": "{", "schema.sql": "", "tools.py": ""}), "json_syntax"),
        (zipped(**{"environment.json": "[]", "schema.sql": "", "tools.py": ""}), "type_wrong"),
    ],
)
def test_file_that_is_no_pack_is_refused_by_name(data, code, operator):
    with pytest.raises(InvalidPackError) as caught:
        services.import_pack_file(data=data, user=operator)

    assert code in {fault.code for fault in caught.value.fields}
    assert not Environment.objects.exists()
    assert not AuditEvent.objects.filter(action="environment.import").exists()


def test_every_fault_is_told_with_place_and_remedy():
    with pytest.raises(InvalidPackError, match="more") as caught:
        import_(little_pack(title="", language="English", provenance=()))

    found = {(fault.pointer, fault.code) for fault in caught.value.fields}
    assert {("/title", "text_empty"), ("/language", "value_wrong"), ("/provenance", "provenance_missing")} <= found
    for fault in caught.value.fields:
        assert fault.detail.endswith(FAULT_KINDS[fault.code].remedy)
    assert not Environment.objects.exists()


# --- Deciding ---------------------------------------------------------------------------------------------------------

ROUTES = {
    Status.DRAFT: (), Status.VERIFIED: (Status.VERIFIED,), Status.REJECTED: (Status.REJECTED,),
    Status.RETIRED: (Status.VERIFIED, Status.RETIRED), Status.DISCARDED: (Status.DISCARDED,),
}  # fmt: skip
OUTCOMES = {
    (Status.DRAFT, Verdict.VERIFY): Status.DRAFT,
    (Status.DRAFT, Verdict.REJECT): Status.REJECTED,
    (Status.DRAFT, Verdict.DISCARD): Status.DISCARDED,
    (Status.DRAFT, Verdict.REQUEST_CHANGES): Status.DRAFT,
    (Status.VERIFIED, Verdict.VERIFY): Status.VERIFIED,
    (Status.VERIFIED, Verdict.APPROVE): Status.VERIFIED,
    (Status.VERIFIED, Verdict.REJECT): Status.REJECTED,
    (Status.VERIFIED, Verdict.RETIRE): Status.RETIRED,
    (Status.VERIFIED, Verdict.REQUEST_CHANGES): Status.VERIFIED,
    (Status.REJECTED, Verdict.VERIFY): Status.REJECTED,
    (Status.REJECTED, Verdict.DISCARD): Status.DISCARDED,
    (Status.REJECTED, Verdict.REQUEST_CHANGES): Status.REJECTED,
    (Status.RETIRED, Verdict.REQUEST_CHANGES): Status.RETIRED,
    (Status.DISCARDED, Verdict.REQUEST_CHANGES): Status.DISCARDED,
}
"""Where each decision leads that is allowed; all others are refused."""


def version_that_is(status):
    version = little_version()
    for step in ROUTES[status]:
        assert version.move(step)
    return version


def decide(version, verdict, user, **more):
    return services.decide_version(version=version, verdict=verdict, user=user, **more)


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("status", Status)
def test_decision_moves_the_status_as_the_machine_allows(status, verdict, reviewer):
    version = version_that_is(status)
    num_steps = version.history.count()

    if (status, verdict) not in OUTCOMES:
        with pytest.raises(StaleStateError, match=status):
            decide(version, verdict, reviewer, reason_codes=["other"], note="why")
        assert not Decision.objects.exists()
        assert version.history.count() == num_steps
        return
    decision = decide(version, verdict, reviewer, reason_codes=["licence", "leak"], note="why")

    after = OUTCOMES[status, verdict]
    found = EnvironmentVersion.objects.get(pk=version.pk)
    assert found.status == after
    stored = Decision.objects.get()
    assert stored == decision
    assert (stored.actor, stored.verdict, stored.reason_codes, stored.note) == (
        reviewer, verdict, ["licence", "leak"], "why",
    )  # fmt: skip
    assert (stored.subject_kind, stored.subject_code) == ("environment_version", version.code)
    assert stored.subject_sha256 == version.content_sha256
    assert version.history.count() == num_steps + (after != status)
    if after != status:
        step = version.history.first()
        assert (step.before, step.after, step.actor, step.decision) == (status, after, reviewer, decision)
        assert step.reason == "licence, leak"


@pytest.mark.parametrize("status", Status)
def test_allowed_verdicts_are_those_that_decide_version_takes(status):
    version = version_that_is(status)
    buttons = set(allowed_verdicts(version))

    assert buttons == {verdict for at, verdict in OUTCOMES if at == status and verdict != Verdict.REQUEST_CHANGES}


def test_note_is_the_reason_when_no_code_is_given(reviewer):
    version = version_that_is(Status.VERIFIED)

    decide(version, Verdict.RETIRE, reviewer, note="replaced by version 2")

    assert version.history.first().reason == "replaced by version 2"


def test_decision_needs_the_permission_to_review(viewer):
    version = version_that_is(Status.VERIFIED)

    for verdict in (Verdict.APPROVE, Verdict.REJECT, Verdict.RETIRE, Verdict.VERIFY):
        with pytest.raises(PermissionDeniedError):
            decide(version, verdict, viewer, reason_codes=["other"])
    assert not Decision.objects.exists()
    assert EnvironmentVersion.objects.get(pk=version.pk).status == Status.VERIFIED


def test_rejection_needs_reasons_that_are_known(reviewer):
    version = version_that_is(Status.VERIFIED)

    with pytest.raises(InvalidInputError) as missing:
        decide(version, Verdict.REJECT, reviewer)
    with pytest.raises(InvalidInputError, match="ugly") as unknown:
        decide(version, Verdict.REJECT, reviewer, reason_codes=["ugly", "leak"])

    assert missing.value.fields[0].pointer == unknown.value.fields[0].pointer == "/reason_codes"
    assert all(code in str(unknown.value) for code in REJECT_REASONS)
    assert not Decision.objects.exists()
    assert EnvironmentVersion.objects.get(pk=version.pk).status == Status.VERIFIED


@pytest.mark.parametrize("note", ["", " \n\t"])
@pytest.mark.parametrize("verdict", [Verdict.REJECT, Verdict.RETIRE])
def test_other_reason_needs_a_note_that_says_which(reviewer, verdict, note):
    version = version_that_is(Status.VERIFIED)

    with pytest.raises(InvalidInputError) as raised:
        decide(version, verdict, reviewer, reason_codes=["leak", "other"], note=note)

    assert [(fault.pointer, fault.code) for fault in raised.value.fields] == [("/note", "required")]
    assert not Decision.objects.exists()
    assert decide(version, verdict, reviewer, reason_codes=["other"], note="Its clock stands still.").note


def test_decision_is_about_the_row_and_not_about_what_somebody_saw(reviewer):
    version = version_that_is(Status.VERIFIED)
    seen = EnvironmentVersion.objects.get(pk=version.pk)
    version.move(Status.REJECTED)

    with pytest.raises(StaleStateError, match="rejected"):
        decide(seen, Verdict.APPROVE, reviewer)
    assert not Decision.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_one_of_many_concurrent_decisions_moves_the_version(reviewer):
    version = version_that_is(Status.VERIFIED)

    def retire_or_reject(position):
        mine = EnvironmentVersion.objects.select_related("environment").get(pk=version.pk)
        try:
            return decide(mine, [Verdict.RETIRE, Verdict.REJECT][position % 2], reviewer, reason_codes=["licence"])
        except StaleStateError:
            return None

    outcomes = in_threads(6, retire_or_reject)

    (decision,) = [outcome for outcome in outcomes if outcome]
    assert Decision.objects.get() == decision
    assert version.history.first().decision == decision


def test_discarded_version_stays_in_the_ledger_with_its_history(reviewer):
    version = version_that_is(Status.REJECTED)
    finished_run(version, outcome="failed")
    decide(version, Verdict.DISCARD, reviewer, reason_codes=["implausible_data"])

    again = import_(little_pack())

    assert (again.is_new, again.version.pk, again.version.status) == (False, version.pk, Status.DISCARDED)
    assert [step.after for step in version.history.all()] == ["discarded", "rejected", "draft"]
    assert version.runs.count() == Decision.objects.count() == 1
    assert zip_pack(again.version.to_core()) == zip_pack(little_pack())
    with pytest.raises(IntegrityError), transaction.atomic():
        EnvironmentVersion.objects.filter(pk=version.pk)._raw_delete("default")
    assert not Environment.objects.verified().exists()


def test_approval_is_that_of_the_newest_decision_that_stands(reviewer):
    version = version_that_is(Status.VERIFIED)

    def approval():
        return EnvironmentVersion.objects.with_approval().get(pk=version.pk).approval

    assert approval() is None
    decide(version, Verdict.VERIFY, reviewer)
    assert approval() is None
    first = decide(version, Verdict.APPROVE, reviewer)
    assert approval() == "approve"
    services.record_decision(
        actor=reviewer, subject_kind="environment_version", subject_code=version.code,
        subject_sha256=version.content_sha256, verdict=Verdict.REQUEST_CHANGES, supersedes=first,
    )  # fmt: skip
    assert approval() == "request_changes"
    decide(version, Verdict.REJECT, reviewer, reason_codes=["leak"])
    assert approval() == "reject"
