"""A collection compiled without a database: batches in a folder, a run that goes on, faults seeded into packs."""

import json
import os
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from environments.adapters.sources import FolderCollection
from environments.management.commands import bench_mutants
from environments.management.corpus import Folder, Plan, make_plan, read_documents, work
from environments.runtime.pack import content_sha256
from environments.runtime.pack.shapes import to_json
from tests.factories.compilation import facts

DOCUMENTS = settings.BASE_DIR / "environments" / "documents"


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A collection of one document that gives an environment, one that gives none, and one that can't be read."""
    api = tmp_path / "package" / "api"
    api.mkdir(parents=True)
    shutil.copy(DOCUMENTS / "rbaskets.in.json", api)
    (api / "example.org.json").write_text('{"openapi": "3.0.0", "info": {"title": "x", "version": "1"}, "paths": {}}')
    (api / "broken.org.json").write_text('{"openapi": "3.0.0", "paths')
    return tmp_path / "package"


def plan_of(collection: Path, seed: int = 0) -> Plan:
    return make_plan(collection, share=1, seed=seed)


def line(**changes):
    return {"line": "batch", "key": "a", "provider": "a.org", "operations": 10, "seconds": 1.0, "planned": 1,
            "reasons": {}, "unread": {}, **changes}  # fmt: skip


class TestFolder:
    def test_same_plan_goes_on_and_another_begins_anew(self, collection, tmp_path):
        folder, plan = Folder(tmp_path / "work"), plan_of(collection)
        assert not folder.begin(plan)
        folder.finish(plan.batches[0], [line()])

        assert Folder(tmp_path / "work").begin(plan)
        assert folder.num_finished() == 1
        assert folder.plan() == plan
        assert not Folder(tmp_path / "work").begin(plan_of(collection, seed=1))
        assert folder.num_finished() == 0

    def test_batch_is_taken_once_until_a_new_run_begins(self, collection, tmp_path):
        folder, plan = Folder(tmp_path / "work"), plan_of(collection)
        folder.begin(plan)
        first, second = plan.batches[0], plan.batches[1]

        assert folder.claim(first)
        assert not folder.claim(first)
        folder.finish(first, [line()])
        folder.begin(plan)
        assert not folder.claim(first)
        assert folder.claim(second)

    def test_killed_run_counts_until_its_last_result(self, collection, tmp_path):
        folder, plan = Folder(tmp_path / "work"), plan_of(collection)
        folder.begin(plan)
        folder.note_run()
        folder.finish(plan.batches[0], [line()])
        folder.note_run()
        folder.note_run(is_over=True)

        assert 0 <= folder.seconds() < 5

    def test_results_are_of_environments_and_batches(self, collection, tmp_path):
        folder, plan = Folder(tmp_path / "work"), plan_of(collection)
        folder.begin(plan)
        made = {"line": "environment", "is_verified": True, "facts": to_json(facts())}
        lost = {"line": "environment", "is_verified": False, "facts": to_json(facts("lost"))}
        folder.finish(plan.batches[0], [made, lost, line(reasons={"x": 2}, unread={"k": "why"})])
        folder.finish(plan.batches[1], [line(key="b", provider="b.org", reasons={"x": 1, "y": 1})])

        results = folder.results()

        assert results.environments() == [facts()]
        assert results.reasons() == {"x": 3, "y": 1}
        assert results.unread() == {"k": "why"}

    @pytest.mark.parametrize(("power", "slope"), [(1.0, 1.0), (2.0, 2.0)])
    def test_slope_is_the_exponent(self, collection, tmp_path, power, slope):
        folder, plan = Folder(tmp_path / "work"), plan_of(collection)
        folder.begin(plan)
        lines = [
            line(provider=f"{size}.org", operations=size, seconds=0.01 * size**power) for size in (10, 20, 50, 100)
        ]
        folder.finish(plan.batches[0], lines)

        assert folder.results().slope() == pytest.approx(slope)


def test_documents_that_cannot_be_read_hold_up_no_other(collection):
    operations, unread = read_documents(list(FolderCollection(collection).entries()))

    assert set(unread) == {"broken.org.json", "example.org.json"}
    assert {each.facts.provider for each in operations} == {"rbaskets.in"}


@pytest.fixture
def finished(collection, tmp_path) -> Folder:
    """A folder whose batches have been worked on, in this process."""
    folder = Folder(tmp_path / "work")
    folder.begin(plan_of(collection))
    work(folder)
    return folder


def test_folder_holds_packs_and_faults_in_them_are_caught(finished, collection, tmp_path, monkeypatch):
    (name,) = finished.packs()
    (environment,) = finished.results().environments()
    monkeypatch.setattr(bench_mutants, "MAX_QUICK", 1)
    out = StringIO()

    assert name.endswith(environment.name)
    assert finished.results().made[0]["content_sha256"] == content_sha256(finished.read_pack(name))
    assert work(finished) == 0

    call_command("bench_mutants", str(finished.path), "--quick", "--json", stdout=out)
    figures = {each["name"]: each["value"] for each in json.loads(out.getvalue())["figures"]}
    assert figures["Packs"] == 1
    assert figures["Mutants"] >= 8
    assert figures["Caught, without equivalent ones"] >= 90


def test_hash_seed_and_number_of_processes_change_no_byte(collection, tmp_path):
    shutil.copy(DOCUMENTS / "microcks.local.json", collection / "api")
    found = []
    for seeds in (("1",), ("2", "3")):
        folder = Folder(tmp_path / f"work-{len(seeds)}")
        folder.begin(plan_of(collection))
        command = [sys.executable, "manage.py", "bench_corpus", "--worker", "--keep", str(folder.path)]
        processes = [
            subprocess.Popen(command, cwd=settings.BASE_DIR, env={**os.environ, "PYTHONHASHSEED": seed})
            for seed in seeds
        ]
        assert [process.wait(120) for process in processes] == [0] * len(seeds)
        made = sorted((each["facts"]["name"], each["content_sha256"]) for each in folder.results().made)
        found.append((made, folder.results().reasons(), [folder.read_pack(name) for name in folder.packs()]))

    assert found[0] == found[1]
    assert len(found[0][2]) >= 2


def test_whole_run_prints_figures_and_its_second_start_does_nothing_again(collection, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAPI_DIRECTORY", str(collection))
    monkeypatch.setattr("environments.management.commands.bench_corpus.QUICK_SHARE", 1)
    keep = tmp_path / "kept"
    values, stamps = [], []
    for _ in range(2):
        out = StringIO()
        call_command("bench_corpus", "--quick", "--json", "--keep", str(keep), stdout=out)
        values.append({each["name"]: each for each in json.loads(out.getvalue())["figures"]})
        stamps.append({file.name: file.stat().st_mtime_ns for file in (keep / "results").iterdir()})

    assert values[0]["Documents"]["value"] == 3
    assert values[0]["Documents that could not be read"]["value"] == 2
    assert values[0]["Distinct environments that count"]["ok"] is False
    assert values[0]["Environments planned"] == values[1]["Environments planned"]
    assert stamps[0] == stamps[1]


def test_folder_without_packs_is_refused(tmp_path):
    with pytest.raises(CommandError, match="has no packs"):
        call_command("bench_mutants", str(tmp_path))


def test_collection_must_be_named(monkeypatch):
    monkeypatch.delenv("OPENAPI_DIRECTORY", raising=False)

    with pytest.raises(CommandError, match="OPENAPI_DIRECTORY"):
        call_command("bench_corpus", "--json")


def test_mutant_that_a_person_found_equivalent_is_counted_apart(tmp_path):
    place = tmp_path / "equivalent.json"
    place.write_text(json.dumps([{"sha256": "a", "operator": "limit_off", "tool": "t", "place": "p", "reason": "why"}]))

    assert bench_mutants.read_equivalent(place) == {("a", "limit_off", "t", "p"): "why"}
    assert isinstance(bench_mutants.read_equivalent(), dict)
